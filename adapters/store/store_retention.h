/* Partitions by day. Private to adapters/store. */
#ifndef CARILLON_ADAPTERS_STORE_STORE_RETENTION_H
#define CARILLON_ADAPTERS_STORE_STORE_RETENTION_H

#include "adapters/store/sql_session.h"

#define PARTITIONS_AHEAD 14 /* days: housekeeping may rest that long before an insert finds no partition */

/* Outside a transaction. Makes the days from today on that are missing. */
enum status partitions_make(struct session *s, instant now) MUST_USE;

/* Within a transaction (store_prune.c). */
enum status prune_small(struct session *s, struct store_retention *op) MUST_USE;

#endif
