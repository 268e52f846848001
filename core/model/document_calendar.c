/* Calendars: weekdays, dates and yearly dates that are left out, dates that are kept all the same. */
#include <string.h>

#include "core/model/document_parts.h"

#define RANGES_MAX 10000 /* ranges of one list: a date for every day of 27 years */
#define LEAP_YEAR 2000   /* stands for "any year": it has a 29 February */

struct ranges {
    struct date_range *items;
    size_t count;
};

struct calendar_members {
    unsigned weekly;
    struct ranges excluded, annual, included;
};

static char upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 32) : c;
}

/* SUN or Sunday, in any case; −1 otherwise. */
static int weekday_parse(const char *text)
{
    static const char *const days[] = {"SUNDAY", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY"};
    size_t length = strlen(text);
    for (int d = 0; d < 7; d++) {
        size_t i = 0;
        while (i < length && days[d][i] && upper(text[i]) == days[d][i])
            i++;
        if (i == length && (length == 3 || !days[d][i]))
            return d;
    }
    return -1;
}

static void read_weekly(struct reader *reader, const struct place *place, struct slice value, void *target,
                        const struct field *field)
{
    size_t count;
    struct json_walk walk = {0};
    (void)field;
    if (!take_list(reader, place, value, 7, true, &count))
        return;
    for (size_t i = 0; i < count; i++) {
        const struct place *here = PLACE_INDEX(place, i);
        const char *text = take_text(reader, here, list_element(value, &walk, i == 0));
        int day = text ? weekday_parse(text) : 0;
        if (day < 0)
            read_fault(reader, here, "\"%.40s\" is no weekday; write SUN, MON, TUE, WED, THU, FRI or SAT", text);
        else if (text)
            *(unsigned *)target |= 1U << day;
    }
}

/* One date: "2026-10-01", or "10-01" and "--10-01" of any year. `text` is `length` bytes. */
static bool date_parse(const char *text, size_t length, bool annual, struct civil_date *ret)
{
    char full[16] = "2000-";
    if (annual && length > 2 && !strncmp(text, "--", 2)) {
        text += 2;
        length -= 2;
    }
    size_t from = annual ? 5 : 0;
    if (length != 10 - from)
        return false;
    memcpy(full + from, text, length);
    full[from + length] = '\0';
    return civil_date_parse(full, ret) == STATUS_OK;
}

static void add_range(struct ranges *ranges, struct civil_date first, struct civil_date last)
{
    ranges->items[ranges->count++] = (struct date_range){first, last};
}

static void range_read(struct reader *reader, const struct place *place, const char *text, bool annual,
                       struct ranges *ranges)
{
    struct civil_date first = {0}, last = {0};
    const char *dots = strstr(text, "..");
    size_t length = dots ? (size_t)(dots - text) : strlen(text);
    bool ok = date_parse(text, length, annual, &first);
    if (!dots)
        last = first;
    else
        ok = ok && date_parse(dots + 2, strlen(dots + 2), annual, &last);
    if (!ok) {
        read_fault(reader, place,
                   annual ? "\"%.60s\" is no day of the year; write 10-01, --10-01 or 10-01..10-07"
                          : "\"%.60s\" is no date; write 2026-10-01 or 2026-10-01..2026-10-08",
                   text);
        return;
    }
    bool backwards = civil_days(last) < civil_days(first);
    if (!backwards) {
        add_range(ranges, first, last);
    } else if (annual) { /* over the turn of the year: two ranges within it */
        add_range(ranges, first, (struct civil_date){LEAP_YEAR, 12, 31});
        add_range(ranges, (struct civil_date){LEAP_YEAR, 1, 1}, last);
    } else {
        read_fault(reader, place, "\"%.60s\" ends before it begins", text);
    }
}

static void ranges_read(struct reader *reader, const struct place *place, struct slice value, bool annual,
                        struct ranges *ret)
{
    size_t count;
    struct json_walk walk = {0};
    if (!take_list(reader, place, value, RANGES_MAX, true, &count) || !count)
        return;
    ret->items = take_array(reader, struct date_range, count * 2);
    for (size_t i = 0; i < count && ret->items; i++) {
        const struct place *here = PLACE_INDEX(place, i);
        const char *text = take_text(reader, here, list_element(value, &walk, i == 0));
        if (text)
            range_read(reader, here, text, annual, ret);
    }
}

static void read_dates(struct reader *reader, const struct place *place, struct slice value, void *target,
                       const struct field *field)
{
    (void)field;
    ranges_read(reader, place, value, false, target);
}

static void read_annual(struct reader *reader, const struct place *place, struct slice value, void *target,
                        const struct field *field)
{
    (void)field;
    ranges_read(reader, place, value, true, target);
}

static void read_exclude(struct reader *reader, const struct place *place, struct slice value, void *target,
                         const struct field *field)
{
    static const struct field fields[] = {
        {"weekly", read_weekly, offsetof(struct calendar_members, weekly), 0, 0, NULL, NULL},
        {"dates", read_dates, offsetof(struct calendar_members, excluded), 0, 0, NULL, NULL},
        {"annual", read_annual, offsetof(struct calendar_members, annual), 0, 0, NULL, NULL},
    };
    (void)field;
    read_object(reader, place, value, fields, 3, target);
}

static void read_include(struct reader *reader, const struct place *place, struct slice value, void *target,
                         const struct field *field)
{
    static const struct field fields[] = {
        {"dates", read_dates, offsetof(struct calendar_members, included), 0, 0, NULL, NULL},
    };
    (void)field;
    read_object(reader, place, value, fields, 1, target);
}

void calendar_read(struct reader *reader, const struct place *place, struct slice value, struct calendar_spec *ret)
{
    static const struct field fields[] = {
        {"exclude", read_exclude, 0, 0, 0, NULL, NULL},
        {"include", read_include, 0, 0, 0, NULL, NULL},
    };
    struct calendar_members m = {0};
    if (json_type_of(value) != JSON_NONE)
        read_object(reader, place, value, fields, 2, &m);
    ret->weekly = m.weekly;
    ret->excluded = m.excluded.items;
    ret->excluded_count = m.excluded.count;
    ret->annual = m.annual.items;
    ret->annual_count = m.annual.count;
    ret->included = m.included.items;
    ret->included_count = m.included.count;
    if (m.weekly == 0x7f && !m.included.count)
        read_fault(reader, PLACE_MEMBER(PLACE_MEMBER(place, "exclude"), "weekly"),
                   "all seven weekdays are excluded and no date is included; nothing could ever fire");
}
