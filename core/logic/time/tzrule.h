/* The footer of a TZif file: a POSIX TZ string with RFC 8536 §3.3.1's extended hours (−167 … 167).
 * "EST5EDT,M3.2.0,M11.1.0", "<-03>3<-02>,M3.5.0/-2,M10.5.0/-1", "IST-1GMT0,M10.5.0,M3.5.0/1". */
#ifndef CARILLON_CORE_LOGIC_TIME_TZRULE_H
#define CARILLON_CORE_LOGIC_TIME_TZRULE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/status.h"

#define TZ_NAME_SIZE 16
#define TZ_OFFSET_MAX (INT64_C(26) * 3600) /* seconds; no offset of a zone goes beyond it */

struct tz_date {
    enum { TZ_JULIAN, TZ_DAY, TZ_WEEK } kind; /* Jn (no 29 February), n (with it), Mm.w.d */
    int month, week, day;                     /* day: weekday of TZ_WEEK, else the number of the day */
    int32_t time;                             /* seconds after local midnight, may lie outside of the day */
};

struct tz_rule {
    char standard_name[TZ_NAME_SIZE], summer_name[TZ_NAME_SIZE];
    int32_t standard, summer; /* seconds east */
    bool changes;             /* false: standard for ever */
    struct tz_date start, end;
};

enum status tz_rule_parse(const char *text, struct tz_rule *ret) MUST_USE;

/* The stretch around a second of UTC: whether it is summer time, and its ends. `changes` must be true. */
struct tz_stretch {
    int64_t from, until;
    bool summer;
};
struct tz_stretch tz_rule_at(const struct tz_rule *rule, int64_t second);

#endif
