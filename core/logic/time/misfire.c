/* What becomes of instants that nobody decided in time. The time since then falls into three parts:
 *
 *   after          expired_until              late_until              now
 *     |--- expired ----|------ missed: policy ------|-- merely late ----|
 *
 * Expired ones are recorded. The policy takes the newest of the missed ones and records the others. The merely late run
 * each, as if nothing had happened. */
#include <stdlib.h>

#include "core/logic/time/schedule_raw.h"

#define MISFIRE_RUNS_MAX 10000 /* newest missed instants that one plan may run */
#define LATE_BATCH 1000        /* merely late ones of one plan; the caller asks again */
#define SKIPS_MAX 400          /* recorded ranges of one plan; the caller asks again */

struct parts {
    instant after, expired_until, late_until, now;
};

static struct parts parts_of(instant after, instant now, const struct misfire_options *options)
{
    span threshold = options->threshold > 0 ? options->threshold : 0;
    struct parts p = {after, after, now, now};
    if (!options->resume)
        p.late_until = instant_add(now, -threshold - 1);
    p.late_until = instant_max(instant_min(p.late_until, now), after);
    if (options->max_age >= 0)
        p.expired_until = instant_add(now, -options->max_age - 1);
    p.expired_until = instant_max(instant_min(p.expired_until, p.late_until), after);
    return p;
}

static size_t wanted_runs(const struct misfire_options *options)
{
    if (options->skip_all || options->policy == MISFIRE_SKIP)
        return 0;
    if (options->policy == MISFIRE_LATEST)
        return 1;
    return options->max < 0 ? 0 : options->max > MISFIRE_RUNS_MAX ? MISFIRE_RUNS_MAX : (size_t)options->max;
}

/* Records the firing instants of (after, until]: one range for each unbroken row of them, for what calendars and quiet
 * hours take out between has a range, and a reason, of its own. false: the plan is full, and ends with the last range.
 */
static bool add_skips(const struct schedule *schedule, struct misfire_plan *plan, instant after, instant until,
                      const char *reason)
{
    for (;;) {
        instant from = schedule_next_fire(schedule, NULL, after);
        if (instant_cmp(from, until) > 0)
            return true;
        if (plan->skip_count == SKIPS_MAX) {
            plan->more = true;
            plan->covered = plan->skips[SKIPS_MAX - 1].to;
            return false;
        }
        struct excluded gap;
        instant covered, end = until;
        if (schedule_excluded(schedule, from, until, &gap, 1, &covered) > 0)
            end = just_before(gap.from);
        struct missed_range *range = &plan->skips[plan->skip_count++];
        *range = (struct missed_range){.from = from, .reason = reason};
        range->count = schedule_count(schedule, just_before(from), end);
        (void)schedule_newest(schedule, just_before(from), end, &range->to, 1);
        after = end;
    }
}

static bool add_missed(const struct schedule *schedule, struct misfire_plan *plan, instant *newest, size_t wanted,
                       const struct parts *p, const char *reason)
{
    size_t kept = schedule_newest(schedule, p->expired_until, p->late_until, newest, wanted);
    if (!add_skips(schedule, plan, p->expired_until, kept ? just_before(newest[0]) : p->late_until, reason))
        return false;
    for (size_t i = 0; i < kept; i++)
        plan->runs[plan->run_count++] = (struct missed_run){newest[i], true};
    return true;
}

static void add_late(const struct schedule *schedule, struct misfire_plan *plan, const struct parts *p)
{
    instant at = p->late_until;
    for (size_t i = 0; i <= LATE_BATCH; i++) {
        at = schedule_next_fire(schedule, NULL, at);
        if (instant_cmp(at, p->now) > 0)
            break;
        if (i == LATE_BATCH) {
            plan->more = true;
            plan->covered = plan->runs[plan->run_count - 1].at;
            return;
        }
        plan->runs[plan->run_count++] = (struct missed_run){at, false};
    }
    plan->covered = p->now;
}

enum status misfire_decide(const struct schedule *schedule, instant after, instant now,
                           const struct misfire_options *options, struct misfire_plan *ret)
{
    struct misfire_plan plan = {.covered = instant_max(after, now)};
    if (schedule->kind == TRIGGER_DELAY || instant_cmp(after, now) >= 0) {
        *ret = plan;
        return STATUS_OK;
    }
    struct parts p = parts_of(after, now, options);
    size_t wanted = wanted_runs(options);
    instant *newest = calloc(wanted + 1, sizeof *newest);
    plan.runs = calloc(wanted + LATE_BATCH, sizeof *plan.runs);
    plan.skips = calloc(SKIPS_MAX, sizeof *plan.skips);
    if (!newest || !plan.runs || !plan.skips) {
        free(newest);
        misfire_plan_release(&plan);
        return STATUS_NO_MEMORY;
    }
    if (add_skips(schedule, &plan, p.after, p.expired_until, options->resume ? "paused" : "expired") &&
        add_missed(schedule, &plan, newest, wanted, &p, options->resume ? "paused" : "misfire"))
        add_late(schedule, &plan, &p);
    free(newest);
    *ret = plan;
    return STATUS_OK;
}

void misfire_plan_release(struct misfire_plan *plan)
{
    free(plan->runs);
    free(plan->skips);
    *plan = (struct misfire_plan){0};
}
