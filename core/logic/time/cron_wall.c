#include "core/logic/time/cron_wall.h"

#include "core/logic/time/segment.h"

#define DAY_SECONDS 86400
#define MONTHS_SEARCHED (400 * 12 + 1)

/* ---- days ---------------------------------------------------------------------------------------------------------
 */

static int workday_near(int day, int first_weekday, int length)
{
    int weekday = (first_weekday + day - 1) % 7;
    if (weekday == 6)
        return day > 1 ? day - 1 : day + 2; /* never into the month before */
    if (weekday == 0)
        return day < length ? day + 1 : day - 2; /* nor into the next */
    return day;
}

static uint32_t days_of_month(const struct cron_expression *e, int first_weekday, int length)
{
    uint32_t days = e->days;
    if (!(e->days_from_end | e->workdays | e->workdays_from_end))
        return days;
    for (int day = 1; day <= length; day++) {
        int from_end = length - day;
        if (e->days_from_end >> from_end & 1)
            days |= UINT32_C(1) << day;
        if ((e->workdays >> day & 1) || (e->workdays_from_end >> from_end & 1))
            days |= UINT32_C(1) << workday_near(day, first_weekday, length);
    }
    return days;
}

static uint32_t days_of_week(const struct cron_expression *e, int first_weekday, int length)
{
    uint32_t days = 0;
    for (int weekday = 0; weekday < 7; weekday++) {
        int first = 1 + (weekday - first_weekday + 7) % 7, last = first + (length - first) / 7 * 7;
        if (e->weekdays >> weekday & 1)
            days |= UINT32_C(0x10204081) << first;
        for (int n = 0; n < 5; n++) {
            if ((e->nth[n] >> weekday & 1) && first + n * 7 <= length)
                days |= UINT32_C(1) << (first + n * 7);
            if ((e->nth[CRON_NTH_LAST + n] >> weekday & 1) && last - n * 7 >= 1)
                days |= UINT32_C(1) << (last - n * 7);
        }
    }
    return days;
}

static bool year_matches(const struct cron_expression *e, int year)
{
    if (!e->years)
        return true;
    int index = year - CRON_YEAR_FIRST;
    return index >= 0 && year <= CRON_YEAR_LAST && (e->years->words[index / 64] >> index % 64 & 1);
}

uint32_t cron_month_days(const struct cron_expression *e, int year, int month, int64_t first)
{
    if (!(e->months >> month & 1) || !year_matches(e, year))
        return 0;
    int length = civil_month_length(year, month), first_weekday = civil_weekday(first);
    uint32_t valid = (uint32_t)((UINT64_C(2) << length) - 2), days;
    if (e->any_weekday)
        days = days_of_month(e, first_weekday, length);
    else if (e->both)
        days = days_of_month(e, first_weekday, length) & days_of_week(e, first_weekday, length);
    else
        days = days_of_month(e, first_weekday, length) | days_of_week(e, first_weekday, length);
    return days & valid;
}

/* ---- time of day --------------------------------------------------------------------------------------------------
 */

/* Bits at or above n; n may be 64. */
static uint64_t at_least(uint64_t bits, int n)
{
    return n > 63 ? 0 : bits >> n << n;
}

/* Bits at or below n; n may be −1. */
static uint64_t at_most(uint64_t bits, int n)
{
    return n < 0 ? 0 : n > 62 ? bits : bits & ((UINT64_C(2) << n) - 1);
}

static int lowest(uint64_t bits)
{
    return __builtin_ctzll(bits);
}

static int highest(uint64_t bits)
{
    return 63 - __builtin_clzll(bits);
}

static int of_day(int hour, int minute, int second)
{
    return hour * 3600 + minute * 60 + second;
}

/* First matching second of the day at or after `from`; −1: none. No field is ever empty. */
static int time_next(const struct cron_expression *e, int from)
{
    int hour = from / 3600, minute = from / 60 % 60, second = from % 60;
    if (e->hours >> hour & 1) {
        if (e->minutes >> minute & 1) {
            uint64_t seconds = at_least(e->seconds, second);
            if (seconds)
                return of_day(hour, minute, lowest(seconds));
        }
        uint64_t minutes = at_least(e->minutes, minute + 1);
        if (minutes)
            return of_day(hour, lowest(minutes), lowest(e->seconds));
    }
    uint64_t hours = at_least(e->hours, hour + 1);
    return hours ? of_day(lowest(hours), lowest(e->minutes), lowest(e->seconds)) : -1;
}

static int time_previous(const struct cron_expression *e, int from)
{
    int hour = from / 3600, minute = from / 60 % 60, second = from % 60;
    if (e->hours >> hour & 1) {
        if (e->minutes >> minute & 1) {
            uint64_t seconds = at_most(e->seconds, second);
            if (seconds)
                return of_day(hour, minute, highest(seconds));
        }
        uint64_t minutes = at_most(e->minutes, minute - 1);
        if (minutes)
            return of_day(hour, highest(minutes), highest(e->seconds));
    }
    uint64_t hours = at_most(e->hours, hour - 1);
    return hours ? of_day(highest(hours), highest(e->minutes), highest(e->seconds)) : -1;
}

/* ---- next and previous --------------------------------------------------------------------------------------------
 */

static int64_t year_start(int year)
{
    return civil_days((struct civil_date){year, 1, 1}) * DAY_SECONDS;
}

int64_t wall_next(const struct cron_expression *e, int64_t from, int64_t limit)
{
    if (e->years && from < year_start(CRON_YEAR_FIRST))
        from = year_start(CRON_YEAR_FIRST);
    int64_t day = floor_div(from, DAY_SECONDS);
    struct civil_date date = civil_from_days(day);
    int64_t first = day - (date.day - 1);
    int time = time_next(e, (int)(from - day * DAY_SECONDS));
    uint64_t days = cron_month_days(e, date.year, date.month, first);
    if (time < 0 || !(days >> date.day & 1)) {
        time = time_next(e, 0);
        days = at_least(days, date.day + 1);
    } else {
        days = at_least(days, date.day);
    }
    for (int i = 0; !days && i < MONTHS_SEARCHED; i++) {
        first += civil_month_length(date.year, date.month);
        if (first * DAY_SECONDS >= limit || (e->years && date.year > CRON_YEAR_LAST))
            return WALL_NONE;
        if (++date.month > 12) {
            date.month = 1;
            date.year++;
        }
        days = cron_month_days(e, date.year, date.month, first);
    }
    if (!days)
        return WALL_NONE;
    int64_t found = (first + lowest(days) - 1) * DAY_SECONDS + time;
    return found < limit ? found : WALL_NONE;
}

int64_t wall_previous(const struct cron_expression *e, int64_t from, int64_t limit)
{
    if (e->years && from >= year_start(CRON_YEAR_LAST + 1))
        from = year_start(CRON_YEAR_LAST + 1) - 1;
    int64_t day = floor_div(from, DAY_SECONDS);
    struct civil_date date = civil_from_days(day);
    int64_t first = day - (date.day - 1);
    int time = time_previous(e, (int)(from - day * DAY_SECONDS));
    uint64_t days = cron_month_days(e, date.year, date.month, first);
    if (time < 0 || !(days >> date.day & 1)) {
        time = time_previous(e, DAY_SECONDS - 1);
        days = at_most(days, date.day - 1);
    } else {
        days = at_most(days, date.day);
    }
    for (int i = 0; !days && i < MONTHS_SEARCHED; i++) {
        if (first * DAY_SECONDS <= limit || (e->years && date.year < CRON_YEAR_FIRST))
            return WALL_BEFORE;
        if (--date.month < 1) {
            date.month = 12;
            date.year--;
        }
        first -= civil_month_length(date.year, date.month);
        days = cron_month_days(e, date.year, date.month, first);
    }
    if (!days)
        return WALL_BEFORE;
    int64_t found = (first + highest(days) - 1) * DAY_SECONDS + time;
    return found >= limit ? found : WALL_BEFORE;
}

/* ---- counting -----------------------------------------------------------------------------------------------------
 */

/* Number of set bits; by hand, since the builtin is a call into the compiler's library on plain x86-64. */
static int64_t ones(uint64_t bits)
{
    bits -= bits >> 1 & UINT64_C(0x5555555555555555);
    bits = (bits & UINT64_C(0x3333333333333333)) + (bits >> 2 & UINT64_C(0x3333333333333333));
    bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (int64_t)(bits * UINT64_C(0x0101010101010101) >> 56);
}

/* Matches of one expression before a second of the day: closed form. */
static int64_t time_count_one(const struct cron_expression *e, int before)
{
    int hour = before / 3600, minute = before / 60 % 60, second = before % 60;
    int64_t per_minute = ones(e->seconds), per_hour = ones(e->minutes) * per_minute;
    int64_t count = ones(at_most(e->hours, hour - 1)) * per_hour;
    if (hour < 24 && (e->hours >> hour & 1)) {
        count += ones(at_most(e->minutes, minute - 1)) * per_minute;
        if (e->minutes >> minute & 1)
            count += ones(at_most(e->seconds, second - 1));
    }
    return count;
}

/* Seconds of one minute at which any of the expressions matches. */
static uint64_t seconds_of(const struct cron *cron, uint32_t active, int hour, int minute)
{
    uint64_t seconds = 0;
    for (; active; active &= active - 1) {
        const struct cron_expression *e = &cron->expressions[__builtin_ctz(active)];
        if ((e->hours >> hour & 1) && (e->minutes >> minute & 1))
            seconds |= e->seconds;
    }
    return seconds;
}

static int64_t time_count(const struct cron *cron, uint32_t active, int from, int until)
{
    if (!active || from >= until)
        return 0;
    if (!(active & (active - 1))) {
        const struct cron_expression *e = &cron->expressions[__builtin_ctz(active)];
        return time_count_one(e, until) - time_count_one(e, from);
    }
    int64_t count = 0;
    for (int minute = from / 60; minute * 60 < until; minute++) {
        uint64_t seconds = seconds_of(cron, active, minute / 60, minute % 60);
        seconds = at_least(seconds, from - minute * 60 > 0 ? from - minute * 60 : 0);
        count += ones(at_most(seconds, until - 1 - minute * 60));
    }
    return count;
}

/* Whole days repeat themselves: the last few sets of matching expressions are remembered. */
struct day_counts {
    struct {
        uint32_t active;
        int64_t count;
    } slots[8];
};

static int64_t whole_day(const struct cron *cron, uint32_t active, struct day_counts *known)
{
    size_t slot = active % 7 + 1; /* slot 0 stays empty: active is never 0 here */
    if (known->slots[slot].active != active) {
        known->slots[slot].active = active;
        known->slots[slot].count = time_count(cron, active, 0, DAY_SECONDS);
    }
    return known->slots[slot].count;
}

struct month {
    struct civil_date date;
    int64_t first, next; /* day numbers of this 1st and the next one */
    uint32_t days[CRON_EXPRESSIONS_MAX];
};

static void month_load(struct month *month, const struct cron *cron, uint32_t active, int64_t day)
{
    month->date = civil_from_days(day);
    month->first = day - (month->date.day - 1);
    month->next = month->first + civil_month_length(month->date.year, month->date.month);
    for (uint32_t rest = active; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        month->days[i] = cron_month_days(&cron->expressions[i], month->date.year, month->date.month, month->first);
    }
}

static uint32_t month_matching(const struct month *month, uint32_t active, int64_t day)
{
    uint32_t matching = 0;
    for (uint32_t rest = active; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        matching |= (month->days[i] >> (day - month->first + 1) & 1) << i;
    }
    return matching;
}

int64_t wall_count(const struct cron *cron, uint32_t active, int64_t from, int64_t until)
{
    if (from >= until || !active)
        return 0;
    struct day_counts known = {0};
    struct month month = {.next = INT64_MIN};
    int64_t count = 0, last = floor_div(until - 1, DAY_SECONDS);
    for (int64_t day = floor_div(from, DAY_SECONDS); day <= last; day++) {
        if (day >= month.next)
            month_load(&month, cron, active, day);
        uint32_t matching = month_matching(&month, active, day);
        if (!matching)
            continue;
        int64_t begin = from - day * DAY_SECONDS, end = until - day * DAY_SECONDS;
        if (begin <= 0 && end >= DAY_SECONDS)
            count += whole_day(cron, matching, &known);
        else
            count += time_count(cron, matching, begin > 0 ? (int)begin : 0, end < DAY_SECONDS ? (int)end : DAY_SECONDS);
    }
    return count;
}
