#include "core/logic/time/exclusion.h"

#include <stdlib.h>

#include "core/logic/time/segment.h"

static int by_start(const void *a, const void *b)
{
    const struct quiet_window *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* Windows over midnight become two; then sorted and joined. */
static size_t tidy(struct quiet_window *to, const struct quiet_window *from, size_t count)
{
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (from[i].end > from[i].start) {
            to[n++] = from[i];
            continue;
        }
        to[n++] = (struct quiet_window){from[i].start, (int32_t)SPAN_DAY};
        if (from[i].end > 0)
            to[n++] = (struct quiet_window){0, from[i].end};
    }
    if (n)
        qsort(to, n, sizeof *to, by_start);
    for (size_t i = 0; i < n; i++) {
        if (kept && to[i].start <= to[kept - 1].end)
            to[kept - 1].end = to[i].end > to[kept - 1].end ? to[i].end : to[kept - 1].end;
        else
            to[kept++] = to[i];
    }
    return kept;
}

static enum status check_quiet(const struct trigger_spec *spec, struct error *err)
{
    for (size_t i = 0; i < spec->quiet_count; i++) {
        const struct quiet_window *w = &spec->quiet[i];
        if (w->start < 0 || w->start >= SPAN_DAY || w->end < 0 || w->end > SPAN_DAY)
            return error_set(err, STATUS_INVALID, "quiet hours %zu: not within 00:00…24:00", i + 1);
    }
    return STATUS_OK;
}

enum status exclusion_create(const struct trigger_spec *spec, const struct calendar_spec *const *calendars,
                             struct exclusion **ret, struct error *err)
{
    *ret = NULL;
    if (!spec->calendar_count && !spec->quiet_count)
        return STATUS_OK;
    enum status status = check_quiet(spec, err);
    for (size_t i = 0; i < spec->calendar_count && status == STATUS_OK; i++)
        if (!calendars || !calendars[i])
            status = error_set(err, STATUS_INVALID, "there is no calendar \"%s\"", spec->calendars[i]);
    if (status != STATUS_OK)
        return status;
    struct exclusion *exclusion = calloc(1, sizeof *exclusion);
    struct quiet_window *quiet = calloc(spec->quiet_count * 2 + 1, sizeof *quiet);
    if (!exclusion || !quiet) {
        free(exclusion);
        free(quiet);
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    }
    *exclusion = (struct exclusion){.dated = spec->calendar_count, .quiet = quiet};
    exclusion->quiet_count = tidy(quiet, spec->quiet, spec->quiet_count);
    status = calendar_init(&exclusion->calendar, calendars, spec->calendar_count, err);
    if (status != STATUS_OK) {
        exclusion_free(exclusion);
        return status;
    }
    *ret = exclusion;
    return STATUS_OK;
}

void exclusion_free(struct exclusion *exclusion)
{
    if (!exclusion)
        return;
    calendar_release(&exclusion->calendar);
    free(exclusion->quiet);
    free(exclusion);
}

size_t exclusion_memory(const struct exclusion *exclusion)
{
    return exclusion ? sizeof *exclusion + calendar_memory(&exclusion->calendar) +
                           exclusion->quiet_count * sizeof *exclusion->quiet
                     : 0;
}

/* Narrows [from, until) of the day to the quiet window, or the pause between two, that holds the time. */
static enum verdict quiet_at(const struct exclusion *exclusion, int64_t time, int64_t *from, int64_t *until)
{
    for (size_t i = 0; i < exclusion->quiet_count; i++) {
        const struct quiet_window *w = &exclusion->quiet[i];
        if (time < w->start) {
            *until = w->start;
            return VERDICT_FIRE;
        }
        *from = time < w->end ? w->start : w->end;
        if (time < w->end) {
            *until = w->end;
            return VERDICT_QUIET;
        }
    }
    return VERDICT_FIRE;
}

struct stretch exclusion_at(const struct exclusion *exclusion, const struct zone *zone, instant at)
{
    if (!exclusion)
        return (struct stretch){INSTANT_NONE, INSTANT_MAX, VERDICT_FIRE};
    struct zone_segment segment = zone_segment_at(zone, floor_div(at.ms, 1000));
    int64_t local = ms_add(at.ms, (int64_t)segment.offset * 1000), day = floor_div(local, SPAN_DAY);
    int64_t from = 0, until = SPAN_DAY;
    enum verdict verdict = VERDICT_FIRE;
    if (exclusion->dated && calendar_excludes(&exclusion->calendar, day))
        verdict = VERDICT_CALENDAR;
    else
        verdict = quiet_at(exclusion, local - day * SPAN_DAY, &from, &until);
    int64_t midnight = day * SPAN_DAY - (int64_t)segment.offset * 1000;
    struct stretch stretch = {{midnight + from}, {midnight + until}, verdict};
    if (segment.from != SEGMENT_FIRST)
        stretch.from = instant_max(stretch.from, (instant){segment.from * 1000});
    if (segment.until != SEGMENT_LAST)
        stretch.until = instant_min(stretch.until, (instant){segment.until * 1000});
    return stretch;
}
