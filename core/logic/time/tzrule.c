#include "core/logic/time/tzrule.h"

#include <string.h>

#include "core/base/civil.h"

#define DAY_SECONDS 86400

/* ---- reading ------------------------------------------------------------------------------------------------------
 */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* "CET" or "<+0330>": at least three characters. */
static bool take_name(const char **p, char ret[TZ_NAME_SIZE])
{
    const char *begin = *p, *end;
    if (*begin == '<') {
        for (end = ++begin; is_letter(*end) || is_digit(*end) || *end == '+' || *end == '-'; end++)
            ;
        if (*end != '>')
            return false;
        *p = end + 1;
    } else {
        for (end = begin; is_letter(*end); end++)
            ;
        *p = end;
    }
    size_t length = (size_t)(end - begin);
    if (length < 3 || length >= TZ_NAME_SIZE)
        return false;
    memcpy(ret, begin, length);
    ret[length] = '\0';
    return true;
}

static bool take_number(const char **p, int low, int high, int *ret)
{
    int value = 0;
    if (!is_digit(**p))
        return false;
    for (; is_digit(**p) && value <= high; (*p)++)
        value = value * 10 + (**p - '0');
    *ret = value;
    return value >= low && value <= high;
}

static bool take_char(const char **p, char c)
{
    if (**p != c)
        return false;
    (*p)++;
    return true;
}

/* [+-]hh[:mm[:ss]] as seconds. */
static bool take_time(const char **p, int hours_max, int32_t *ret)
{
    int sign = 1, hours, minutes = 0, seconds = 0;
    if (take_char(p, '-'))
        sign = -1;
    else
        (void)take_char(p, '+');
    if (!take_number(p, 0, hours_max, &hours))
        return false;
    if (take_char(p, ':')) {
        if (!take_number(p, 0, 59, &minutes))
            return false;
        if (take_char(p, ':') && !take_number(p, 0, 59, &seconds))
            return false;
    }
    *ret = sign * (hours * 3600 + minutes * 60 + seconds);
    return true;
}

/* ",M3.2.0/2", ",J60", ",59/-1". */
static bool take_date(const char **p, struct tz_date *ret)
{
    *ret = (struct tz_date){.time = 2 * 3600};
    if (!take_char(p, ','))
        return false;
    if (take_char(p, 'M')) {
        ret->kind = TZ_WEEK;
        if (!take_number(p, 1, 12, &ret->month) || !take_char(p, '.') || !take_number(p, 1, 5, &ret->week) ||
            !take_char(p, '.') || !take_number(p, 0, 6, &ret->day))
            return false;
    } else if (take_char(p, 'J')) {
        ret->kind = TZ_JULIAN;
        if (!take_number(p, 1, 365, &ret->day))
            return false;
    } else {
        ret->kind = TZ_DAY;
        if (!take_number(p, 0, 365, &ret->day))
            return false;
    }
    return !take_char(p, '/') || take_time(p, 167, &ret->time);
}

enum status tz_rule_parse(const char *text, struct tz_rule *ret)
{
    const char *p = text;
    struct tz_rule rule = {0};
    int32_t west;
    if (!take_name(&p, rule.standard_name) || !take_time(&p, 24, &west))
        return STATUS_INVALID;
    rule.standard = -west; /* POSIX counts westwards */
    if (*p) {
        rule.changes = true;
        rule.summer = rule.standard + 3600;
        if (!take_name(&p, rule.summer_name))
            return STATUS_INVALID;
        if (*p != ',') {
            if (!take_time(&p, 24, &west))
                return STATUS_INVALID;
            rule.summer = -west;
        }
        if (!take_date(&p, &rule.start) || !take_date(&p, &rule.end) || *p)
            return STATUS_INVALID;
    }
    *ret = rule;
    return STATUS_OK;
}

/* ---- asking -------------------------------------------------------------------------------------------------------
 */

/* Local second of a date's change in a year, as if it were UTC. */
static int64_t date_in(const struct tz_date *date, int year)
{
    int64_t day;
    if (date->kind == TZ_WEEK) {
        int64_t first = civil_days((struct civil_date){year, date->month, 1});
        int length = civil_month_length(year, date->month);
        int offset = (date->day - civil_weekday(first) + 7) % 7 + (date->week - 1) * 7;
        day = first + (offset < length ? offset : offset - 7); /* week 5 = the last */
    } else {
        day = civil_days((struct civil_date){year, 1, 1}) + date->day;
        if (date->kind == TZ_JULIAN && !(date->day >= 60 && civil_is_leap(year)))
            day--;
    }
    return day * DAY_SECONDS + date->time;
}

/* Summer time of a year is [start(y), end(y)), or, south of the equator, [start(y), end(y + 1)). */
static struct tz_stretch summer_of(const struct tz_rule *rule, int year)
{
    int64_t start = date_in(&rule->start, year) - rule->standard;
    int64_t end = date_in(&rule->end, year) - rule->summer;
    if (end < start)
        end = date_in(&rule->end, year + 1) - rule->summer;
    return (struct tz_stretch){start, end, true};
}

struct tz_stretch tz_rule_at(const struct tz_rule *rule, int64_t second)
{
    int64_t local = second + rule->standard;
    int year = civil_from_days(local / DAY_SECONDS - (local % DAY_SECONDS < 0)).year;
    struct tz_stretch winter = {INT64_MIN, INT64_MAX, false};
    /* Extended hours move a change by a week at most, so the neighbouring years are enough. */
    for (int y = year - 2; y <= year + 2; y++) {
        struct tz_stretch summer = summer_of(rule, y);
        if (summer.from >= summer.until)
            continue;
        if (second >= summer.from && second < summer.until)
            return summer;
        if (summer.until <= second && summer.until > winter.from)
            winter.from = summer.until;
        if (summer.from > second && summer.from < winter.until)
            winter.until = summer.from;
    }
    return winter;
}
