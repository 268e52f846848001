/* Calendars and quiet hours of one trigger. Both look at the local date and time, in the trigger's zone, of the instant
 * itself (after DST). A calendar is named before quiet hours when both exclude. */
#ifndef CARILLON_CORE_LOGIC_TIME_EXCLUSION_H
#define CARILLON_CORE_LOGIC_TIME_EXCLUSION_H

#include "core/logic/time/calendar.h"
#include "core/logic/time/schedule.h"

struct exclusion {
    bool dated; /* there is a calendar */
    struct calendar calendar;
    struct quiet_window *quiet; /* ascending, disjoint, none crosses midnight; owned */
    size_t quiet_count;
};

/* NULL when the trigger has neither: most have none, so it costs them a pointer. */
enum status exclusion_create(const struct trigger_spec *spec, const struct calendar_spec *const *calendars,
                             struct exclusion **ret, struct error *err) MUST_USE;
void exclusion_free(struct exclusion *exclusion); /* NULL is fine, here and below */
size_t exclusion_memory(const struct exclusion *exclusion);

/* The stretch [from, until) of one verdict around an instant: at most a day long when anything is excluded. */
struct stretch {
    instant from, until;
    enum verdict verdict;
};
struct stretch exclusion_at(const struct exclusion *exclusion, const struct zone *zone, instant at);

#endif
