/* Random triggers for property tests, and the slow way to list what they promise: one schedule_next after the other,
 * with calendars and quiet hours judged here a second time, from the text book. */
#ifndef CARILLON_TESTS_UNIT_TIME_RANDOM_SCHEDULE_H
#define CARILLON_TESTS_UNIT_TIME_RANDOM_SCHEDULE_H

#include "core/base/rng.h"
#include "core/logic/time/schedule.h"
#include "tests/unit/time/zoneinfo.h"

struct random_schedule {
    struct trigger_spec spec;
    struct calendar_spec calendar;
    struct date_range excluded[2], included[2], annual[2];
    struct quiet_window quiet[3];
    const char *calendar_name;
    char cron[128];
    struct schedule *schedule;
    const struct zone *zone;
};

/* One of some shapes, with a number from 1 to 59 for its '@'. */
static inline void random_cron(struct rng *rng, char *text, size_t size)
{
    static const char *const shapes[] = {
        "@ * * * *",        "*/@ * * * *",       "@ 1,2,3 * * 1-5",         "@ */3 * * *",
        "0 */@ 1-4 * * ?",  "0 @ 2 ? * MON-FRI", "@ 2 * * *; 15 2,3 * * *", "0 @ H ? * *",
        "*/20 @ 1-2 * * ?",
    };
    const char *shape = shapes[rng_below(rng, sizeof shapes / sizeof *shapes)];
    int before = (int)strcspn(shape, "@");
    (void)snprintf(text, size, "%.*s%d%s", before, shape, (int)rng_between(rng, 1, 59), shape + before + 1);
}

static inline struct date_range random_range(struct rng *rng, instant around)
{
    int64_t day = around.ms / SPAN_DAY + rng_between(rng, -4, 4);
    return (struct date_range){civil_from_days(day), civil_from_days(day + rng_between(rng, 0, 3))};
}

static inline void random_exclusions(struct rng *rng, struct random_schedule *r, instant around)
{
    if (rng_below(rng, 2)) {
        for (size_t i = 0; i < 2; i++) {
            r->excluded[i] = random_range(rng, around);
            r->included[i] = random_range(rng, around);
            r->annual[i] = random_range(rng, around);
        }
        r->calendar = (struct calendar_spec){.name = "c",
                                             .weekly = (unsigned)rng_below(rng, 128),
                                             .excluded = r->excluded,
                                             .excluded_count = (size_t)rng_below(rng, 3),
                                             .included = r->included,
                                             .included_count = (size_t)rng_below(rng, 3),
                                             .annual = r->annual,
                                             .annual_count = (size_t)rng_below(rng, 3)};
        r->calendar_name = "c";
        r->spec.calendars = &r->calendar_name;
        r->spec.calendar_count = 1;
    }
    if (rng_below(rng, 2)) {
        r->spec.quiet = r->quiet;
        r->spec.quiet_count = (size_t)rng_between(rng, 1, 3);
        for (size_t i = 0; i < r->spec.quiet_count; i++) {
            int64_t start = rng_between(rng, 0, 95) * 15 * SPAN_MINUTE,
                    length = rng_between(rng, 1, 30) * 15 * SPAN_MINUTE;
            r->quiet[i] = (struct quiet_window){(int32_t)start, (int32_t)((start + length) % SPAN_DAY)};
        }
    }
}

/* A trigger whose instants lie around a moment. NULL schedule: the dice made one that can never fire. */
static inline void random_schedule_make(struct rng *rng, const struct zone *zone, instant around,
                                        struct random_schedule *r)
{
    struct error err;
    *r = (struct random_schedule){.zone = zone};
    r->spec = (struct trigger_spec){.name = "t", .start = INSTANT_NONE, .end = INSTANT_NONE, .cron = r->cron};
    r->spec.kind = rng_below(rng, 3) ? TRIGGER_CRON : TRIGGER_EVERY;
    r->spec.dst_gap = (enum dst_gap)rng_below(rng, 3);
    r->spec.dst_overlap = (enum dst_overlap)rng_below(rng, 4);
    r->spec.period = rng_between(rng, 5, 500) * SPAN_MINUTE + rng_between(rng, 0, 999);
    r->spec.align = rng_below(rng, 2);
    random_cron(rng, r->cron, sizeof r->cron);
    if (rng_below(rng, 4) == 0)
        r->spec.start = instant_add(around, rng_between(rng, -4, 1) * SPAN_DAY + rng_between(rng, 0, SPAN_DAY));
    if (rng_below(rng, 4) == 0)
        r->spec.end = instant_add(around, rng_between(rng, 2, 4) * SPAN_DAY + rng_between(rng, 0, SPAN_DAY));
    random_exclusions(rng, r, around);
    const struct calendar_spec *calendars[] = {&r->calendar};
    struct schedule_context context = {"p/j/t", zone, calendars};
    if (schedule_compile(&r->spec, &context, &r->schedule, &err) != STATUS_OK)
        r->schedule = NULL;
}

static inline bool naive_in_ranges(const struct date_range *ranges, size_t count, int64_t day, bool annual)
{
    struct civil_date d = civil_from_days(day);
    for (size_t i = 0; i < count; i++) {
        int first = ranges[i].first.month * 100 + ranges[i].first.day, today = d.month * 100 + d.day;
        int last = ranges[i].last.month * 100 + ranges[i].last.day;
        if (!annual && civil_days(ranges[i].first) <= day && day <= civil_days(ranges[i].last))
            return true;
        if (annual && (first <= last ? first <= today && today <= last : today >= first || today <= last))
            return true;
    }
    return false;
}

static inline enum verdict naive_verdict(const struct random_schedule *r, instant at)
{
    struct civil_time local = zone_local(r->zone, at);
    int64_t day = civil_days(local.date), time = civil_to_instant(local).ms - day * SPAN_DAY;
    const struct calendar_spec *c = &r->calendar;
    if (r->spec.calendar_count && !naive_in_ranges(c->included, c->included_count, day, false) &&
        ((c->weekly >> civil_weekday(day) & 1) || naive_in_ranges(c->excluded, c->excluded_count, day, false) ||
         naive_in_ranges(c->annual, c->annual_count, day, true)))
        return VERDICT_CALENDAR;
    for (size_t i = 0; i < r->spec.quiet_count; i++) {
        const struct quiet_window *w = &r->quiet[i];
        if (w->start < w->end ? time >= w->start && time < w->end : time >= w->start || time < w->end)
            return VERDICT_QUIET;
    }
    return VERDICT_FIRE;
}

/* Everything promised in (after, until]; the verdicts are the naive ones. */
static inline size_t naive_promised(const struct random_schedule *r, instant after, instant until, struct promised *ret,
                                    size_t cap)
{
    static const struct schedule_memory none = {{0}, {INT64_MIN}};
    size_t count = 0;
    for (instant t = after; count < cap; count++) {
        t = schedule_next(r->schedule, &none, t).at;
        if (instant_cmp(t, until) > 0)
            break;
        ret[count] = (struct promised){t, naive_verdict(r, t)};
    }
    return count;
}

#endif
