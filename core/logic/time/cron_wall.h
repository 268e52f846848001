/* Cron on the wall clock alone, before any zone: local seconds since 1970 as if they were UTC. Private to cron_*.c. */
#ifndef CARILLON_CORE_LOGIC_TIME_CRON_WALL_H
#define CARILLON_CORE_LOGIC_TIME_CRON_WALL_H

#include "core/logic/time/cron_fields.h"

#define WALL_NONE INT64_MAX
#define WALL_BEFORE INT64_MIN

/* Smallest match in [from, limit); WALL_NONE: none. 400 years are searched at most. */
int64_t wall_next(const struct cron_expression *e, int64_t from, int64_t limit);
/* Greatest match in [limit, from]; WALL_BEFORE: none. */
int64_t wall_previous(const struct cron_expression *e, int64_t from, int64_t limit);
/* Matches in [from, until) of any of the expressions whose bit is in `active`. */
int64_t wall_count(const struct cron *cron, uint32_t active, int64_t from, int64_t until);

#endif
