/* Calendars and quiet hours of one trigger. Both look at the local date and time, in the trigger's zone, of the instant
 * itself (after DST). A calendar is named before quiet hours when both exclude. */
#ifndef CARILLON_CORE_LOGIC_TIME_EXCLUSION_H
#define CARILLON_CORE_LOGIC_TIME_EXCLUSION_H

#include "core/logic/time/calendar.h"
#include "core/logic/time/schedule.h"

struct exclusion {
    bool used; /* false: everything fires */
    bool dated;
    struct calendar calendar;
    struct quiet_window *quiet; /* ascending, disjoint, none crosses midnight; owned */
    size_t quiet_count;
};

enum status exclusion_init(struct exclusion *exclusion, const struct trigger_spec *spec,
                           const struct calendar_spec *const *calendars, struct error *err) MUST_USE;
void exclusion_release(struct exclusion *exclusion);
size_t exclusion_memory(const struct exclusion *exclusion);

/* The stretch [from, until) of one verdict around an instant: at most a day long when anything is excluded. */
struct stretch {
    instant from, until;
    enum verdict verdict;
};
struct stretch exclusion_at(const struct exclusion *exclusion, const struct zone *zone, instant at);

#endif
