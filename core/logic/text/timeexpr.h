/* Arithmetic and formats of times in templates (semantics.md §3). A time is an instant, seen in one zone.
 *
 * Terms as in AntJob: +1M first cuts the time to its month, then adds one; -0d only cuts to midnight. addMonths and its
 * kin do not cut. Years, months, days and weeks are counted on the local calendar, hours and less on the real time
 * line, so that "three hours ago" is right on the days when clocks change.
 *
 * Formats: yyyy yy y MMMM MMM MM M dddd ddd dd d HH H hh h mm m ss s fff ff f tt t zzz K, ww (ISO week), 'text' and
 * "text" verbatim, \x the character x; everything else stands for itself. With ww, yyyy is the year that the ISO week
 * belongs to, unless the format names month or day too. */
#ifndef CARILLON_CORE_LOGIC_TEXT_TIMEEXPR_H
#define CARILLON_CORE_LOGIC_TEXT_TIMEEXPR_H

#include "core/base/str.h"
#include "core/logic/time/zone.h"

/* 'y' 'M' 'w' 'd' 'H' 'm' 's' */
bool time_unit_valid(char unit);
/* Cut to the unit ('w': midnight of the same day). */
instant time_truncate(const struct zone *zone, instant at, char unit);
/* false: the result lies outside of the years 1…9999. A day that the month does not have becomes its last. */
bool time_add(const struct zone *zone, instant at, char unit, int64_t count, instant *ret);
/* "yyyyMMdd" for 'd' … of a time whose last term had this unit; 0: NULL (RFC 3339 with the zone's offset). */
const char *time_default_format(char unit);
/* format NULL: RFC 3339 with the zone's offset. */
void time_format(const struct zone *zone, instant at, const char *format, size_t length, struct str *ret);

#endif
