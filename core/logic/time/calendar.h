/* Calendars made ready to ask: is a local date excluded? Several calendars of a trigger act as one: a day that any of
 * them includes is open, whatever the others say (make-up days beside a calendar of weekends); else a day that any of
 * them excludes is closed. */
#ifndef CARILLON_CORE_LOGIC_TIME_CALENDAR_H
#define CARILLON_CORE_LOGIC_TIME_CALENDAR_H

#include "core/base/error.h"
#include "core/model/trigger.h"

struct day_range {
    int64_t first, last; /* days since 1970-01-01, both included */
};

struct calendar {
    unsigned weekly;                       /* bit 0 = Sunday */
    struct day_range *excluded, *included; /* ascending, disjoint; owned */
    size_t excluded_count, included_count;
    uint32_t annual[13]; /* by month, bits 1…31 */
};

/* Copies what it needs. STATUS_INVALID: a range that is no range. On failure nothing is kept. */
enum status calendar_init(struct calendar *calendar, const struct calendar_spec *const *specs, size_t count,
                          struct error *err) MUST_USE;
void calendar_release(struct calendar *calendar);
bool calendar_excludes(const struct calendar *calendar, int64_t day);
size_t calendar_memory(const struct calendar *calendar);

#endif
