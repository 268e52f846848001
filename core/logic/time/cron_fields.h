/* What a parsed cron expression is made of. Private to cron_*.c. */
#ifndef CARILLON_CORE_LOGIC_TIME_CRON_FIELDS_H
#define CARILLON_CORE_LOGIC_TIME_CRON_FIELDS_H

#include <stdint.h>

#include "core/logic/time/cron.h"

enum cron_field { CRON_SECOND, CRON_MINUTE, CRON_HOUR, CRON_DAY, CRON_MONTH, CRON_WEEKDAY, CRON_YEAR, CRON_FIELDS };

#define CRON_YEAR_FIRST 1970
#define CRON_YEAR_LAST 2199
#define CRON_YEAR_WORDS 4 /* 230 years */
#define CRON_NTH_LAST 5   /* nth[5 + k]: the (k+1)-th from the end of the month */
#define CRON_NTH 10

struct cron_years {
    uint64_t words[CRON_YEAR_WORDS]; /* bit 0 = CRON_YEAR_FIRST */
};

struct cron_expression {
    uint64_t seconds, minutes; /* bits 0…59 */
    uint32_t hours;            /* bits 0…23 */
    uint32_t months;           /* bits 1…12 */
    uint32_t days;             /* bits 1…31 */
    uint32_t days_from_end;    /* bit n: `L-n`; bit 0: `L` */
    uint32_t workdays;         /* bit n: `nW` */
    uint32_t workdays_from_end;
    uint8_t weekdays;          /* bits 0 = Sunday … 6 */
    uint8_t nth[CRON_NTH];     /* weekdays of `#1` … `#5`, then of `L`, `#L2` … */
    bool any_day, any_weekday; /* `*` or `?`: the field says nothing */
    bool both;                 /* day and weekday must match; else one of them */
    bool wild;                 /* hour or minute starts with `*`: follows real time */
    uint8_t stars;             /* bit f: field f starts with `*` */
    uint8_t dialect;           /* enum cron_dialect as it was read; never CRON_AUTO */
    struct cron_years *years;  /* owned; NULL: any year */
};

struct cron {
    size_t count;
    struct cron_expression expressions[];
};

/* Days of a month that match, bits 1…31. `first` is the day number of its 1st. */
uint32_t cron_month_days(const struct cron_expression *e, int year, int month, int64_t first);

#endif
