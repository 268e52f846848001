/* Inside of a schedule: the instants that its trigger promises, before calendars and quiet hours. Private to
 * schedule*.c and misfire.c. A `delay` trigger promises nothing here: its instants hang on its runs (schedule_next). */
#ifndef CARILLON_CORE_LOGIC_TIME_SCHEDULE_RAW_H
#define CARILLON_CORE_LOGIC_TIME_SCHEDULE_RAW_H

#include "core/logic/time/cron.h"
#include "core/logic/time/exclusion.h"

#define SCHEDULE_HORIZON (INT64_C(14610) * SPAN_DAY) /* 40 years of excluded instants, then it counts as never */
#define SCHEDULE_FIRST ((instant){INT64_C(-62135596800000)}) /* year 1 */
#define SCHEDULE_LAST ((instant){INT64_C(221845392000000)})  /* year 9000 */

struct schedule {
    enum trigger_kind kind;
    struct cron *cron; /* TRIGGER_CRON; owned */
    struct cron_dst dst;
    span period;        /* EVERY, DELAY */
    instant anchor;     /* EVERY: one of its instants; AT: the instant */
    instant start, end; /* [start, end) */
    span jitter;
    uint64_t key;
    const struct zone *zone;     /* borrowed */
    struct exclusion *exclusion; /* owned; NULL: everything fires */
};

/* First one strictly after; INSTANT_MAX: none. */
instant raw_next(const struct schedule *schedule, instant after);
/* Last one in (after, until]; INSTANT_NONE: none. */
instant raw_previous(const struct schedule *schedule, instant after, instant until);
int64_t raw_count(const struct schedule *schedule, instant after, instant until);

static inline bool instant_is_never(instant t)
{
    return t.ms == INT64_MAX;
}
static inline instant just_before(instant t)
{
    return instant_add(t, -1);
}

#endif
