#include "core/logic/time/calendar.h"

#include <stdlib.h>

#define LEAP_YEAR 2000 /* annual ranges may name 29 February */

static int by_first(const void *a, const void *b)
{
    const struct day_range *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

/* Sorts, and joins ranges that overlap or touch. */
static size_t tidy(struct day_range *ranges, size_t count)
{
    size_t kept = 0;
    if (count)
        qsort(ranges, count, sizeof *ranges, by_first);
    for (size_t i = 0; i < count; i++) {
        if (kept && ranges[i].first <= ranges[kept - 1].last + 1) {
            if (ranges[i].last > ranges[kept - 1].last)
                ranges[kept - 1].last = ranges[i].last;
        } else {
            ranges[kept++] = ranges[i];
        }
    }
    return kept;
}

static enum status add_ranges(struct day_range *to, size_t *count, const struct date_range *from, size_t n,
                              const char *name, struct error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (!civil_date_valid(from[i].first) || !civil_date_valid(from[i].last) ||
            civil_days(from[i].first) > civil_days(from[i].last))
            return error_set(err, STATUS_INVALID, "calendar %s: range %zu ends before it begins, or is no date",
                             name ? name : "", i + 1);
        to[(*count)++] = (struct day_range){civil_days(from[i].first), civil_days(from[i].last)};
    }
    return STATUS_OK;
}

/* Every day from the first to the last of a range that may run over the turn of the year. */
static enum status add_annual(struct calendar *calendar, const struct calendar_spec *spec, struct error *err)
{
    for (size_t i = 0; i < spec->annual_count; i++) {
        struct civil_date day = spec->annual[i].first, last = spec->annual[i].last;
        day.year = last.year = LEAP_YEAR;
        if (!civil_date_valid(day) || !civil_date_valid(last))
            return error_set(err, STATUS_INVALID, "calendar %s: annual range %zu is no date",
                             spec->name ? spec->name : "", i + 1);
        int64_t first = civil_days(day), end = civil_days(last);
        if (end < first)
            end += 366;
        for (int64_t d = first; d <= end; d++) {
            struct civil_date date = civil_from_days(d);
            calendar->annual[date.month] |= UINT32_C(1) << date.day;
            if (date.month == 2 && date.day == 28 && d < end)
                calendar->annual[2] |= UINT32_C(1) << 29; /* the year after the turn has no leap day of its own */
        }
    }
    return STATUS_OK;
}

enum status calendar_init(struct calendar *calendar, const struct calendar_spec *const *specs, size_t count,
                          struct error *err)
{
    struct calendar draft = {0};
    size_t excluded = 0, included = 0;
    for (size_t i = 0; i < count; i++) {
        excluded += specs[i]->excluded_count;
        included += specs[i]->included_count;
    }
    draft.excluded = calloc(excluded + 1, sizeof *draft.excluded);
    draft.included = calloc(included + 1, sizeof *draft.included);
    enum status status = STATUS_OK;
    if (!draft.excluded || !draft.included)
        status = error_set(err, STATUS_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        const struct calendar_spec *spec = specs[i];
        draft.weekly |= spec->weekly;
        status =
            add_ranges(draft.excluded, &draft.excluded_count, spec->excluded, spec->excluded_count, spec->name, err);
        if (status == STATUS_OK)
            status = add_ranges(draft.included, &draft.included_count, spec->included, spec->included_count, spec->name,
                                err);
        if (status == STATUS_OK)
            status = add_annual(&draft, spec, err);
    }
    if (status != STATUS_OK) {
        calendar_release(&draft);
        return status;
    }
    draft.excluded_count = tidy(draft.excluded, draft.excluded_count);
    draft.included_count = tidy(draft.included, draft.included_count);
    *calendar = draft;
    return STATUS_OK;
}

void calendar_release(struct calendar *calendar)
{
    free(calendar->excluded);
    free(calendar->included);
    *calendar = (struct calendar){0};
}

static bool holds(const struct day_range *ranges, size_t count, int64_t day)
{
    size_t low = 0, high = count; /* the first range that ends at or after the day */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges[middle].last < day)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && ranges[low].first <= day;
}

bool calendar_excludes(const struct calendar *calendar, int64_t day)
{
    if (holds(calendar->included, calendar->included_count, day))
        return false;
    if (calendar->weekly >> civil_weekday(day) & 1)
        return true;
    struct civil_date date = civil_from_days(day);
    return (calendar->annual[date.month] >> date.day & 1) || holds(calendar->excluded, calendar->excluded_count, day);
}

size_t calendar_memory(const struct calendar *calendar)
{
    return (calendar->excluded_count + calendar->included_count) * sizeof(struct day_range);
}
