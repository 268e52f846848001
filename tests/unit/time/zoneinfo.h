/* Zones for tests: read from the system's tzdata, kept until the program ends. */
#ifndef CARILLON_TESTS_UNIT_TIME_ZONEINFO_H
#define CARILLON_TESTS_UNIT_TIME_ZONEINFO_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/logic/time/zone.h"
#include "core/ports/zones.h"

#define ZONEINFO_MAX 64

struct zoneinfo {
    struct zones port; /* first: the port's pointer is this struct's */
    struct zone *zones[ZONEINFO_MAX];
    size_t count;
};

/* Bytes of a file; NULL when it cannot be read. free() them. */
static inline unsigned char *zoneinfo_read(const char *path, size_t *ret_length)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    unsigned char *bytes = malloc(1 << 18);
    *ret_length = bytes ? fread(bytes, 1, 1 << 18, file) : 0;
    (void)fclose(file);
    return bytes;
}

static inline const struct zone *zoneinfo_get(struct zones *port, const char *name)
{
    struct zoneinfo *own = (struct zoneinfo *)(void *)port;
    char path[256];
    size_t length;
    struct error err;
    for (size_t i = 0; i < own->count; i++)
        if (strcmp(zone_name(own->zones[i]), name) == 0)
            return own->zones[i];
    if (strcmp(name, "UTC") == 0)
        return zone_utc();
    (void)snprintf(path, sizeof path, "/usr/share/zoneinfo/%s", name);
    unsigned char *bytes = zoneinfo_read(path, &length);
    if (!bytes || own->count == ZONEINFO_MAX ||
        zone_parse(name, bytes, length, &own->zones[own->count], &err) != STATUS_OK) {
        free(bytes);
        return NULL;
    }
    free(bytes);
    return own->zones[own->count++];
}

static inline void zoneinfo_init(struct zoneinfo *own)
{
    *own = (struct zoneinfo){.port = {zoneinfo_get}};
}

static inline void zoneinfo_release(struct zoneinfo *own)
{
    for (size_t i = 0; i < own->count; i++)
        zone_free(own->zones[i]);
    own->count = 0;
}

#endif
