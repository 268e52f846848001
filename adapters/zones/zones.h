/* The zones port on the system's tzdata: TZif files read once, checked, kept. */
#ifndef CARILLON_ADAPTERS_ZONES_ZONES_H
#define CARILLON_ADAPTERS_ZONES_ZONES_H

#include "core/ports/zones.h"

/* folder: NULL = /usr/share/zoneinfo. "UTC" is there even when the folder is not. */
struct zones *zones_create(const char *folder);
void zones_free(struct zones *zones); /* NULL is fine */

#endif
