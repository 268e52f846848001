/* Civil dates of the proleptic Gregorian calendar, and RFC 3339 text. No zones here (core/logic/time/zone.h).
 * Days are counted from 1970-01-01; weekdays are 0 = Sunday … 6 = Saturday. Years −9999 … 9999. */
#ifndef CARILLON_CORE_BASE_CIVIL_H
#define CARILLON_CORE_BASE_CIVIL_H

#include <stddef.h>

#include "core/base/error.h"
#include "core/base/instant.h"

struct civil_date {
    int year;
    int month; /* 1…12 */
    int day;   /* 1…31 */
};

struct civil_time { /* a local date and time, no zone attached */
    struct civil_date date;
    int hour, minute, second, millisecond;
};

int64_t civil_days(struct civil_date date);
struct civil_date civil_from_days(int64_t days);
int civil_weekday(int64_t days);
int civil_month_length(int year, int month);
bool civil_is_leap(int year);
bool civil_date_valid(struct civil_date date);

/* A local time as if it were UTC, and back. */
instant civil_to_instant(struct civil_time t);
struct civil_time civil_from_instant(instant t);

/* "2026-03-08T02:30:00.125Z" or with an offset "+08:00"; seconds' fraction optional (cut to ms). STATUS_INVALID with a
 * reason. */
enum status rfc3339_parse(const char *text, instant *ret, struct error *err) MUST_USE;
/* "2026-10-01". */
enum status civil_date_parse(const char *text, struct civil_date *ret) MUST_USE;

#define RFC3339_SIZE 32
/* UTC with milliseconds: "2026-03-08T02:30:00.125Z". INSTANT_NONE gives "". Returns `buffer`. */
const char *rfc3339_format(instant t, char buffer[RFC3339_SIZE]);
/* The same without ".000" when the instant lies on a whole second. */
const char *rfc3339_format_short(instant t, char buffer[RFC3339_SIZE]);

#endif
