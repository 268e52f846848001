/* The next instants of an expression, for `carillon cron next` and the API: nothing is stored, no trigger is needed. */
#ifndef CARILLON_CORE_LOGIC_TIME_PREVIEW_H
#define CARILLON_CORE_LOGIC_TIME_PREVIEW_H

#include "core/logic/time/zone.h"
#include "core/model/trigger.h"

/* Writes up to `count` instants strictly after `from` to ret, ascending. An expression that never comes again gives
 * fewer, or none: that is no error. A bad one is STATUS_INVALID with position and reason. Warnings may be NULL. */
enum status cron_preview(const char *expr, enum cron_dialect dialect, const struct zone *zone, enum dst_gap gap,
                         enum dst_overlap overlap, instant from /*exclusive*/, size_t count, instant *ret,
                         size_t *ret_count, struct faults *warnings, struct error *err) MUST_USE;

#endif
