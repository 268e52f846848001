/* Stretches of constant offset of a zone: what cron and exclusions walk along. All in whole seconds of UTC. */
#ifndef CARILLON_CORE_LOGIC_TIME_SEGMENT_H
#define CARILLON_CORE_LOGIC_TIME_SEGMENT_H

#include "core/logic/time/zone.h"

#define SEGMENT_FIRST INT64_MIN /* `from` of the first one */
#define SEGMENT_LAST INT64_MAX  /* `until` of the last one */

struct zone_segment {
    int64_t from, until; /* [from, until) */
    int32_t offset;      /* seconds east; neighbours may have the same one */
};

struct zone_segment zone_segment_at(const struct zone *zone, int64_t second);

/* Division that rounds towards the past. */
static inline int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

#endif
