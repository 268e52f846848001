#include "core/base/civil.h"

#include <stdio.h>
#include <string.h>

/* Days from civil: eras of 400 years, year beginning in March, so that the leap day is the last (Hinnant's method). */
int64_t civil_days(struct civil_date date)
{
    int64_t y = (int64_t)date.year - (date.month <= 2);
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t year_of_era = y - era * 400;
    int64_t month = date.month + (date.month > 2 ? -3 : 9);
    int64_t day_of_year = (153 * month + 2) / 5 + date.day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

struct civil_date civil_from_days(int64_t days)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t doe = days - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;
    int day = (int)(doy - (153 * mp + 2) / 5 + 1);
    int month = (int)(mp < 10 ? mp + 3 : mp - 9);
    int year = (int)(yoe + era * 400 + (month <= 2));
    return (struct civil_date){year, month, day};
}

int civil_weekday(int64_t days)
{
    int64_t weekday = (days + 4) % 7; /* 1970-01-01 was a Thursday */
    return (int)(weekday < 0 ? weekday + 7 : weekday);
}

bool civil_is_leap(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int civil_month_length(int year, int month)
{
    static const int length[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return month == 2 && civil_is_leap(year) ? 29 : length[month - 1];
}

bool civil_date_valid(struct civil_date date)
{
    return date.year >= -9999 && date.year <= 9999 && date.month >= 1 && date.month <= 12 && date.day >= 1 &&
           date.day <= civil_month_length(date.year, date.month);
}

instant civil_to_instant(struct civil_time t)
{
    int64_t seconds = civil_days(t.date) * 86400 + t.hour * 3600 + t.minute * 60 + t.second;
    return (instant){seconds * 1000 + t.millisecond};
}

struct civil_time civil_from_instant(instant t)
{
    int64_t days = t.ms / SPAN_DAY;
    int64_t rest = t.ms % SPAN_DAY;
    if (rest < 0) {
        rest += SPAN_DAY;
        days--;
    }
    return (struct civil_time){civil_from_days(days), (int)(rest / SPAN_HOUR), (int)(rest / SPAN_MINUTE % 60),
                               (int)(rest / SPAN_SECOND % 60), (int)(rest % 1000)};
}

/* Reads exactly `digits` decimal digits; false when there are fewer. */
static bool take_number(const char **p, int digits, int *ret)
{
    int value = 0;
    for (int i = 0; i < digits; i++, (*p)++) {
        if (**p < '0' || **p > '9')
            return false;
        value = value * 10 + (**p - '0');
    }
    *ret = value;
    return true;
}

static bool take_char(const char **p, char c)
{
    if (**p != c)
        return false;
    (*p)++;
    return true;
}

static bool take_date(const char **p, struct civil_date *ret)
{
    return take_number(p, 4, &ret->year) && take_char(p, '-') && take_number(p, 2, &ret->month) && take_char(p, '-') &&
           take_number(p, 2, &ret->day) && civil_date_valid(*ret);
}

enum status civil_date_parse(const char *text, struct civil_date *ret)
{
    struct civil_date date;
    if (!take_date(&text, &date) || *text)
        return STATUS_INVALID;
    *ret = date;
    return STATUS_OK;
}

static bool take_fraction(const char **p, int *ret_ms)
{
    int scale = 100;
    if (**p < '0' || **p > '9')
        return false;
    for (*ret_ms = 0; **p >= '0' && **p <= '9'; (*p)++, scale /= 10)
        *ret_ms += (**p - '0') * scale;
    return true;
}

static bool take_offset(const char **p, int *ret_minutes)
{
    if (take_char(p, 'Z') || take_char(p, 'z')) {
        *ret_minutes = 0;
        return true;
    }
    int sign = **p == '-' ? -1 : 1, hours = 0, minutes = 0;
    if (**p != '+' && **p != '-')
        return false;
    (*p)++;
    if (!take_number(p, 2, &hours) || !take_char(p, ':') || !take_number(p, 2, &minutes) || hours > 23 || minutes > 59)
        return false;
    *ret_minutes = sign * (hours * 60 + minutes);
    return true;
}

enum status rfc3339_parse(const char *text, instant *ret, struct error *err)
{
    struct civil_time t = {0};
    const char *p = text;
    int offset = 0;
    bool ok = take_date(&p, &t.date) && (take_char(&p, 'T') || take_char(&p, 't') || take_char(&p, ' ')) &&
              take_number(&p, 2, &t.hour) && take_char(&p, ':') && take_number(&p, 2, &t.minute) &&
              take_char(&p, ':') && take_number(&p, 2, &t.second) &&
              (!take_char(&p, '.') || take_fraction(&p, &t.millisecond)) && take_offset(&p, &offset) && !*p &&
              t.hour < 24 && t.minute < 60 && t.second < 60;
    if (!ok)
        return error_set(err, STATUS_INVALID,
                         "\"%.40s\" is no RFC 3339 time; write it as 2026-03-08T02:30:00Z or 2026-03-08T02:30:00+08:00",
                         text);
    *ret = instant_add(civil_to_instant(t), -(span)offset * SPAN_MINUTE);
    return STATUS_OK;
}

const char *rfc3339_format(instant t, char buffer[RFC3339_SIZE])
{
    if (instant_is_none(t)) {
        buffer[0] = '\0';
        return buffer;
    }
    struct civil_time c = civil_from_instant(t);
    (void)snprintf(buffer, RFC3339_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", c.date.year % 10000, c.date.month & 15,
                   c.date.day & 31, c.hour & 31, c.minute & 63, c.second & 63, c.millisecond & 1023);
    return buffer;
}

const char *rfc3339_format_short(instant t, char buffer[RFC3339_SIZE])
{
    rfc3339_format(t, buffer);
    char *fraction = strstr(buffer, ".000Z");
    if (fraction)
        memcpy(fraction, "Z", 2);
    return buffer;
}
