#include "core/logic/time/schedule.h"

#include <stdlib.h>

#include "core/base/hash.h"
#include "core/logic/time/schedule_raw.h"
#include "core/logic/time/segment.h"

/* ---- compiling ----------------------------------------------------------------------------------------------------
 */

static enum status compile_cron(struct schedule *s, const struct trigger_spec *spec, const char *key, struct error *err)
{
    s->dst = (struct cron_dst){spec->dst_gap, spec->dst_overlap};
    if (!spec->cron)
        return error_set(err, STATUS_INVALID, "cron: the expression is missing");
    return cron_parse(spec->cron, spec->dialect, key, &s->cron, NULL, err);
}

/* A thousand jobs with the same period shall not meet in one millisecond: without start or align the key decides. */
static enum status compile_period(struct schedule *s, const struct trigger_spec *spec, struct error *err)
{
    const char *kind = spec->kind == TRIGGER_EVERY ? "every" : "delay";
    if (spec->period <= 0 || spec->period > SCHEDULE_HORIZON)
        return error_set(err, STATUS_INVALID, "%s: the period must be longer than 0 and at most 40 years", kind);
    s->period = spec->period;
    if (spec->align)
        s->anchor = (instant){0};
    else if (!instant_is_none(spec->start))
        s->anchor = spec->start;
    else
        s->anchor = (instant){(int64_t)(s->key % (uint64_t)spec->period)};
    return STATUS_OK;
}

static enum status compile_kind(struct schedule *s, const struct trigger_spec *spec, const char *key, struct error *err)
{
    switch (spec->kind) {
    case TRIGGER_CRON:
        return compile_cron(s, spec, key, err);
    case TRIGGER_EVERY:
    case TRIGGER_DELAY:
        return compile_period(s, spec, err);
    case TRIGGER_AT:
        s->anchor = spec->at;
        if (instant_is_none(spec->at))
            return error_set(err, STATUS_INVALID, "at: the instant is missing");
        return STATUS_OK;
    default:
        return error_set(err, STATUS_INVALID, "unknown kind of trigger");
    }
}

/* From its start, or from 1970 on: what has only the past left is not wrong, but complete. */
static enum status check_fires(const struct schedule *s, const struct trigger_spec *spec, struct error *err)
{
    static const struct schedule_memory fresh = {{0}, {INT64_MIN}};
    if (!instant_is_none(s->start) && !instant_is_none(s->end) && instant_cmp(s->end, s->start) <= 0)
        return error_set(err, STATUS_INVALID, "the trigger can never fire: its end is not after its start");
    if (s->kind == TRIGGER_DELAY)
        return STATUS_OK;
    instant from =
        instant_is_none(s->start) ? instant_min((instant){-1}, just_before(s->anchor)) : just_before(s->start);
    if (instant_is_never(raw_next(s, from))) {
        bool bounded = !instant_is_none(spec->start) || !instant_is_none(spec->end);
        return error_set(err, STATUS_INVALID, "%s: it can never fire%s%s%s", trigger_kind_text(s->kind),
                         s->cron ? ": no date matches " : "", s->cron ? spec->cron : "",
                         bounded ? " between its start and end" : "");
    }
    if (instant_is_never(schedule_next_fire(s, &fresh, from)))
        return error_set(err, STATUS_INVALID,
                         "the trigger can never fire: its calendars and quiet hours exclude every instant");
    return STATUS_OK;
}

enum status schedule_compile(const struct trigger_spec *spec, const struct schedule_context *context,
                             struct schedule **ret, struct error *err)
{
    struct schedule *s = calloc(1, sizeof *s);
    if (!s)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    const char *key = context->key ? context->key : "";
    *s = (struct schedule){.kind = spec->kind,
                           .start = spec->start,
                           .end = spec->end,
                           .jitter = spec->jitter,
                           .key = hash_text(key, 0),
                           .zone = context->zone ? context->zone : zone_utc()};
    enum status status = compile_kind(s, spec, key, err);
    if (status == STATUS_OK)
        status = exclusion_create(spec, context->calendars, &s->exclusion, err);
    if (status == STATUS_OK)
        status = check_fires(s, spec, err);
    if (status != STATUS_OK) {
        schedule_free(s);
        return status;
    }
    *ret = s;
    return STATUS_OK;
}

void schedule_free(struct schedule *schedule)
{
    if (!schedule)
        return;
    cron_free(schedule->cron);
    exclusion_free(schedule->exclusion);
    free(schedule);
}

size_t schedule_memory(const struct schedule *schedule)
{
    return sizeof *schedule + (schedule->cron ? cron_memory(schedule->cron) : 0) +
           exclusion_memory(schedule->exclusion);
}

/* ---- the promised sequence ----------------------------------------------------------------------------------------
 */

/* Index of the last instant of `every` at or before t. */
static int64_t every_index(const struct schedule *s, instant t)
{
    return floor_div(instant_sub(t, s->anchor), s->period);
}

static instant every_at(const struct schedule *s, int64_t index)
{
    return instant_add(s->anchor, index * s->period);
}

instant raw_next(const struct schedule *s, instant after)
{
    instant next = INSTANT_MAX;
    after = instant_max(after, SCHEDULE_FIRST);
    if (!instant_is_none(s->start))
        after = instant_max(after, just_before(s->start));
    if (instant_cmp(after, SCHEDULE_LAST) >= 0)
        return INSTANT_MAX;
    if (s->kind == TRIGGER_CRON)
        next = cron_next(s->cron, s->zone, s->dst, after);
    else if (s->kind == TRIGGER_EVERY)
        next = every_at(s, every_index(s, after) + 1);
    else if (s->kind == TRIGGER_AT && instant_cmp(s->anchor, after) > 0)
        next = s->anchor;
    return !instant_is_none(s->end) && instant_cmp(next, s->end) >= 0 ? INSTANT_MAX : next;
}

/* Both ends of (after, until] drawn in to what start and end allow; false: nothing is left. */
static bool clip(const struct schedule *s, instant *after, instant *until)
{
    *after = instant_max(*after, SCHEDULE_FIRST);
    *until = instant_min(*until, SCHEDULE_LAST);
    if (!instant_is_none(s->start))
        *after = instant_max(*after, just_before(s->start));
    if (!instant_is_none(s->end))
        *until = instant_min(*until, just_before(s->end));
    return instant_cmp(*after, *until) < 0;
}

instant raw_previous(const struct schedule *s, instant after, instant until)
{
    instant found = INSTANT_NONE;
    if (!clip(s, &after, &until))
        return INSTANT_NONE;
    if (s->kind == TRIGGER_CRON)
        return cron_previous(s->cron, s->zone, s->dst, after, until);
    if (s->kind == TRIGGER_EVERY)
        found = every_at(s, every_index(s, until));
    else if (s->kind == TRIGGER_AT && instant_cmp(s->anchor, until) <= 0)
        found = s->anchor;
    return instant_cmp(found, after) > 0 ? found : INSTANT_NONE;
}

int64_t raw_count(const struct schedule *s, instant after, instant until)
{
    if (!clip(s, &after, &until))
        return 0;
    if (s->kind == TRIGGER_CRON)
        return cron_count(s->cron, s->zone, s->dst, after, until);
    if (s->kind == TRIGGER_EVERY)
        return every_index(s, until) - every_index(s, after);
    return s->kind == TRIGGER_AT && instant_cmp(s->anchor, after) > 0 && instant_cmp(s->anchor, until) <= 0;
}

/* ---- next ---------------------------------------------------------------------------------------------------------
 */

static struct stretch stretch_at(const struct schedule *s, instant at)
{
    return exclusion_at(s->exclusion, s->zone, at);
}

/* End of all that is excluded without a break from `stretch` on: a night is two stretches, for midnight parts them. */
static instant excluded_until(const struct schedule *s, struct stretch stretch, instant horizon)
{
    while (stretch.verdict != VERDICT_FIRE && instant_cmp(stretch.until, horizon) < 0)
        stretch = stretch_at(s, stretch.until);
    return stretch.verdict == VERDICT_FIRE ? stretch.from : stretch.until;
}

/* A delay's instants are base + k·period: the first one that is not excluded fires, and the trigger then waits for its
 * run. An unbroken exclusion takes one of them; the next is the first behind it. */
static struct promised delay_next(const struct schedule *s, const struct schedule_memory *memory, instant after)
{
    static const struct promised none = {{INT64_MAX}, VERDICT_FIRE};
    instant base = instant_is_none(memory->last_end) ? memory->activated : memory->last_end;
    instant at = instant_add(base, s->period), horizon = instant_add(at, SCHEDULE_HORIZON);
    if (!instant_is_none(s->start))
        at = instant_max(at, s->start);
    horizon = instant_min(instant_max(horizon, at), SCHEDULE_LAST);
    while (instant_cmp(at, horizon) <= 0) {
        if (!instant_is_none(s->end) && instant_cmp(at, s->end) >= 0)
            return none;
        struct stretch stretch = stretch_at(s, at);
        if (instant_cmp(at, after) > 0)
            return (struct promised){at, stretch.verdict};
        if (stretch.verdict == VERDICT_FIRE)
            return none; /* fired, or missed: its run ends, and a new delay begins */
        span behind = instant_sub(excluded_until(s, stretch, horizon), at);
        at = instant_add(at, (behind + s->period - 1) / s->period * s->period);
    }
    return none;
}

struct promised schedule_next(const struct schedule *schedule, const struct schedule_memory *memory, instant after)
{
    if (schedule->kind == TRIGGER_DELAY)
        return delay_next(schedule, memory, after);
    instant at = raw_next(schedule, after);
    return (struct promised){at, instant_is_never(at) ? VERDICT_FIRE : stretch_at(schedule, at).verdict};
}

instant schedule_next_fire(const struct schedule *schedule, const struct schedule_memory *memory, instant after)
{
    instant horizon = INSTANT_MAX;
    for (;;) {
        struct promised next = schedule_next(schedule, memory, after);
        if (instant_is_never(next.at) || next.verdict == VERDICT_FIRE)
            return next.at;
        if (instant_is_never(horizon))
            horizon = instant_add(next.at, SCHEDULE_HORIZON);
        if (instant_cmp(next.at, horizon) > 0)
            return INSTANT_MAX;
        after = just_before(stretch_at(schedule, next.at).until);
    }
}

/* ---- jitter -------------------------------------------------------------------------------------------------------
 */

span schedule_jitter(const struct schedule *schedule, instant at)
{
    span window = schedule->jitter;
    if (window <= 0)
        return 0;
    instant next = raw_next(schedule, at);
    if (!instant_is_never(next) && instant_sub(next, at) < window)
        window = instant_sub(next, at);
    return (span)(hash_mix(schedule->key ^ hash_mix((uint64_t)at.ms)) % ((uint64_t)window + 1));
}
