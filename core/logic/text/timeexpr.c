#include "core/logic/text/timeexpr.h"

#include <string.h>

static const struct unit {
    char name;
    const char *format; /* when a time that was cut to it is shown without a format */
} units[] = {
    {'y', "yyyy"},       {'M', "yyyyMM"},       {'w', "yyyyww"},         {'d', "yyyyMMdd"},
    {'H', "yyyyMMddHH"}, {'m', "yyyyMMddHHmm"}, {'s', "yyyyMMddHHmmss"},
};
#define UNITS (sizeof units / sizeof *units)

static const struct unit *find(char name)
{
    for (size_t i = 0; i < UNITS; i++)
        if (units[i].name == name)
            return &units[i];
    return NULL;
}

bool time_unit_valid(char unit)
{
    return find(unit);
}

const char *time_default_format(char unit)
{
    const struct unit *u = find(unit);
    return u ? u->format : NULL;
}

/* ---- arithmetic ---------------------------------------------------------------------------------------------------
 */

static bool in_range(instant at)
{
    static const struct civil_time first = {.date = {1, 1, 2}}, last = {.date = {9999, 12, 30}};
    return at.ms >= civil_to_instant(first).ms && at.ms < civil_to_instant(last).ms;
}

/* Length of units that are counted on the real time line; 0 for the calendar's. */
static span real_length(char unit)
{
    return unit == 'H' ? SPAN_HOUR : unit == 'm' ? SPAN_MINUTE : unit == 's' ? SPAN_SECOND : 0;
}

instant time_truncate(const struct zone *zone, instant at, char unit)
{
    struct civil_time local = zone_local(zone, at);
    if (real_length(unit)) {
        span rest = local.millisecond;
        if (unit != 's')
            rest += local.second * SPAN_SECOND;
        if (unit == 'H')
            rest += local.minute * SPAN_MINUTE;
        return instant_add(at, -rest);
    }
    struct civil_time cut = {.date = local.date};
    if (unit == 'M' || unit == 'y')
        cut.date.day = 1;
    if (unit == 'y')
        cut.date.month = 1;
    return zone_instants(zone, cut).first;
}

static bool add_months(struct civil_date *date, int64_t count)
{
    int64_t months = (int64_t)date->year * 12 + date->month - 1 + count;
    if (months < 12 || months >= INT64_C(10000) * 12)
        return false;
    date->year = (int)(months / 12);
    date->month = (int)(months % 12) + 1;
    int length = civil_month_length(date->year, date->month);
    if (date->day > length)
        date->day = length;
    return true;
}

bool time_add(const struct zone *zone, instant at, char unit, int64_t count, instant *ret)
{
    const int64_t far = INT64_C(400000000000); /* seconds in 9999 years, and some */
    if (!in_range(at) || count > far || count < -far)
        return false;
    instant sum;
    if (real_length(unit)) {
        sum = instant_add(at, count * real_length(unit));
    } else {
        struct civil_time local = zone_local(zone, at);
        if (unit == 'd' || unit == 'w') {
            int64_t days = civil_days(local.date) + count * (unit == 'w' ? 7 : 1);
            if (!in_range((instant){ms_add(0, days > far || days < -far ? INT64_MAX : days * SPAN_DAY)}))
                return false;
            local.date = civil_from_days(days);
        } else if (!add_months(&local.date, unit == 'y' ? count * 12 : count)) {
            return false;
        }
        sum = zone_instants(zone, local).first;
    }
    if (!in_range(sum))
        return false;
    *ret = sum;
    return true;
}

/* ---- formats ------------------------------------------------------------------------------------------------------
 */

/* ISO 8601 week, and the year that it belongs to: that of the week's Thursday. */
static int iso_week(struct civil_date date, int *ret_year)
{
    int64_t day = civil_days(date);
    int weekday = civil_weekday(day);
    int64_t thursday = day + 4 - (weekday ? weekday : 7);
    struct civil_date in = civil_from_days(thursday);
    *ret_year = in.year;
    return (int)((thursday - civil_days((struct civil_date){in.year, 1, 1})) / 7) + 1;
}

struct formatter {
    struct civil_time local;
    int32_t offset; /* seconds */
    bool week_year; /* yyyy is the ISO week's */
    struct str *ret;
};

static void add_number(struct str *ret, int number, size_t width)
{
    str_addf(ret, "%0*d", (int)width, number);
}

static void add_offset(struct str *ret, int32_t offset, size_t letters)
{
    int32_t minutes = (offset < 0 ? -offset : offset) / 60;
    str_add_char(ret, offset < 0 ? '-' : '+');
    add_number(ret, minutes / 60, letters > 1 ? 2 : 1);
    if (letters > 2)
        str_addf(ret, ":%02d", minutes % 60);
}

static void add_year(const struct formatter *f, size_t letters)
{
    int year = f->local.date.year;
    if (f->week_year)
        (void)iso_week(f->local.date, &year);
    if (letters <= 2)
        add_number(f->ret, year % 100, letters);
    else
        add_number(f->ret, year, letters);
}

static void add_name(struct str *ret, const char *name, size_t letters)
{
    str_add_bytes(ret, name, letters == 3 ? 3 : strlen(name));
}

static void add_letters(const struct formatter *f, char letter, size_t n)
{
    static const char *const months[] = {"January", "February", "March",     "April",   "May",      "June",
                                         "July",    "August",   "September", "October", "November", "December"};
    static const char *const days[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
    const struct civil_time *t = &f->local;
    size_t two = n > 2 ? 2 : n;
    int unused;
    switch (letter) {
    case 'y':
        add_year(f, n);
        return;
    case 'M':
        if (n > 2)
            add_name(f->ret, months[t->date.month - 1], n);
        else
            add_number(f->ret, t->date.month, n);
        return;
    case 'd':
        if (n > 2)
            add_name(f->ret, days[civil_weekday(civil_days(t->date))], n);
        else
            add_number(f->ret, t->date.day, n);
        return;
    case 'w':
        add_number(f->ret, iso_week(t->date, &unused), two);
        return;
    case 'H':
        add_number(f->ret, t->hour, two);
        return;
    case 'h':
        add_number(f->ret, (t->hour + 11) % 12 + 1, two);
        return;
    case 'm':
        add_number(f->ret, t->minute, two);
        return;
    case 's':
        add_number(f->ret, t->second, two);
        return;
    case 'f':
        add_number(f->ret,
                   n == 1   ? t->millisecond / 100
                   : n == 2 ? t->millisecond / 10
                            : t->millisecond,
                   n > 3 ? 3 : n);
        for (; n > 3; n--)
            str_add_char(f->ret, '0');
        return;
    case 't':
        str_add_bytes(f->ret, t->hour < 12 ? "AM" : "PM", two);
        return;
    case 'z':
        add_offset(f->ret, f->offset, n);
        return;
    default: /* 'K' */
        if (f->offset)
            add_offset(f->ret, f->offset, 3);
        else
            str_add_char(f->ret, 'Z');
    }
}

/* Does the format hold a letter outside of quotes? */
static bool has_letter(const char *format, size_t length, char letter)
{
    char quote = '\0';
    for (size_t i = 0; i < length; i++) {
        if (quote)
            quote = format[i] == quote ? '\0' : quote;
        else if (format[i] == '\'' || format[i] == '"')
            quote = format[i];
        else if (format[i] == '\\')
            i++;
        else if (format[i] == letter)
            return true;
    }
    return false;
}

void time_format(const struct zone *zone, instant at, const char *format, size_t length, struct str *ret)
{
    static const char letters[] = "yMdwHhmsftzK", rfc3339[] = "yyyy-MM-dd'T'HH:mm:ssK",
                      precise[] = "yyyy-MM-dd'T'HH:mm:ss.fffK";
    struct formatter f = {.local = zone_local(zone, at), .offset = zone_offset(zone, at), .ret = ret};
    if (!format) {
        format = f.local.millisecond ? precise : rfc3339;
        length = strlen(format);
    }
    f.week_year =
        has_letter(format, length, 'w') && !has_letter(format, length, 'M') && !has_letter(format, length, 'd');
    for (size_t i = 0; i < length;) {
        char c = format[i];
        if (c == '\\' && i + 1 < length) {
            str_add_char(ret, format[i + 1]);
            i += 2;
        } else if (c == '\'' || c == '"') {
            const char *end = memchr(format + i + 1, c, length - i - 1);
            size_t stop = end ? (size_t)(end - format) : length;
            str_add_bytes(ret, format + i + 1, stop - i - 1);
            i = stop + 1;
        } else if (c && strchr(letters, c)) {
            size_t n = 1;
            while (i + n < length && format[i + n] == c)
                n++;
            add_letters(&f, c, n > 9 ? 9 : n);
            i += n;
        } else {
            str_add_char(ret, c);
            i++;
        }
    }
}
