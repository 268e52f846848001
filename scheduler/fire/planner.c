/* Triggers → fires. A timer queue holds the next promised instant of each armed trigger; what is due is decided in
 * order per trigger: calendar and quiet hours, misfire, overlap, limits. Each decision is a bundle: the run with its
 * intent, and the skips that it moves past, so that nothing at or before it is ever evaluated again. */
#include <stdlib.h>
#include <string.h>

#include "scheduler/call/call.h"
#include "scheduler/drive/drive.h"
#include "scheduler/fire/fire.h"
#include "scheduler/know/know.h"
#include "scheduler/write/write.h"

#define EXCLUDED_AT_ONCE 32
#define ROUNDS_MAX 10000 /* of one decision; far above what limits allow, so that no fault can hang the loop */

static struct schedule_memory memory_of(const struct trigger *t)
{
    return (struct schedule_memory){.activated = t->activated, .last_end = t->last_end};
}

static bool complete(const struct trigger *t)
{
    return t->spec->max_fires > 0 && t->fires >= t->spec->max_fires;
}

void planner_arm(struct scheduler *s, struct trigger *t)
{
    heap_remove(&s->timers, &t->timer);
    t->next = INSTANT_MAX;
    if (!t->schedule || t->paused || t->job->paused || t->waiting || !t->job->loaded || complete(t))
        return;
    struct schedule_memory memory = memory_of(t);
    t->next = schedule_next(t->schedule, &memory, t->decided).at;
    if (instant_cmp(t->next, INSTANT_MAX) == 0)
        return;
    if (heap_add(&s->timers, &t->timer, t->next.ms) != STATUS_OK)
        abort();
}

static span threshold_of(const struct scheduler *s, const struct trigger *t)
{
    return t->spec->misfire_threshold >= 0 ? t->spec->misfire_threshold : s->settings->scheduler.misfire_threshold;
}

/* An instant whose rows retention would take away at once is only recorded. */
static span max_age_of(const struct scheduler *s, const struct trigger *t)
{
    span kept = s->settings->retention.runs, age = t->spec->max_age;
    return age >= 0 && (kept <= 0 || age < kept) ? age : kept;
}

/* ---- one instant ---------------------------------------------------------------------------------------------------
 */

/* Ours at once; those of other boots by a wish that commits with the fire that replaces them. */
static void cancel_others(struct scheduler *s, struct job *job, struct bundle *bundle)
{
    for (size_t i = 0; i < job->foreign.count; i++) {
        struct foreign_run *other = &job->foreign.items[i];
        if (other->replaced)
            continue;
        other->replaced = true;
        bundle_wish(
            s, bundle,
            &(struct request_row){
                .kind = REQUEST_CANCEL, .job = job->id, .slot = job->slot, .run = other->id, .reason = "replaced"});
    }
    for (struct open_run *run = job->all, *next; run; run = next) {
        next = run->job_next;
        run_ref(run);
        struct open_run *kept = run;
        driver_cancel(s, run, "replaced");
        next = kept->job_next;
        run_unref(s, kept);
    }
}

static void skip_one(struct scheduler *s, struct trigger *t, instant at, const char *reason, struct bundle *bundle)
{
    bundle_skip(s, bundle, t, at, at, 1, reason);
    if (t->spec->kind == TRIGGER_DELAY) { /* counts as an end, or the trigger would stand still */
        t->last_end = s->now.wall;
        bundle_state(bundle, t);
    }
}

static struct open_run *make_run(struct scheduler *s, struct trigger *t, instant at, enum run_origin origin,
                                 const char *reason, int64_t generation)
{
    struct job *job = t->job;
    const char *zone = t->spec->timezone ? t->spec->timezone : project_timezone(s, job->project);
    struct run_row row = {
        .id = run_id_make(day_of(generation == 0 ? at : s->now.wall), s->boot, ++s->sequence),
        .job = job->id,
        .project = job->project_id,
        .version = job->ruling->key.version,
        .trigger = t->spec->name,
        .generation = generation,
        .scheduled_at = at,
        .due_at = instant_add(at, schedule_jitter(t->schedule, at)),
        .fired_at = job_fired_at(s, job),
        .started_at = INSTANT_NONE,
        .ended_at = INSTANT_NONE,
        .state = RUN_QUEUED,
        .origin = origin,
        .reason = reason,
        .slot = job->slot,
        .boot = s->boot,
        .node = s->node,
        .zone = zone,
        .priority = t->spec->priority,
    };
    return driver_run_new(s, &row, job, job->ruling);
}

/* Why the run may not begin at once; NULL: it may. */
static const char *held_by(struct scheduler *s, const struct trigger *t, instant due, enum overlap_verdict verdict,
                           bool catching_up)
{
    if (verdict == OVERLAP_CANCEL_OTHERS)
        return "replace";
    if (verdict == OVERLAP_QUEUE)
        return catching_up ? "catching_up" : "overlap";
    if (instant_cmp(due, s->now.wall) > 0)
        return "jitter";
    return room_for(s, t->job, version_spec(t->job->ruling));
}

static void fire(struct scheduler *s, struct trigger *t, instant at, enum run_origin origin, bool catching_up,
                 struct bundle *bundle)
{
    struct job *job = t->job;
    const struct job_spec *spec = version_spec(job->ruling);
    enum overlap_verdict verdict = turns_judge(s, job, spec, t->spec, at, &catching_up);
    if (verdict == OVERLAP_DROP) {
        skip_one(s, t, at, "overlap", bundle);
        return;
    }
    if (verdict == OVERLAP_CANCEL_OTHERS)
        cancel_others(s, job, bundle);
    instant due = instant_add(at, schedule_jitter(t->schedule, at));
    const char *reason = held_by(s, t, due, verdict, catching_up);
    struct open_run *run = make_run(s, t, at, origin, reason, 0);
    if (!run)
        return;
    t->fires++;
    t->waiting = t->spec->kind == TRIGGER_DELAY;
    if (t->spec->max_fires > 0)
        bundle_state(bundle, t);
    driver_fire(s, run, reason == NULL, bundle);
    s->turn_fires++;
    if (s->options.break_double && rng_below(&s->rng, 50) == 0) {
        struct open_run *twin = make_run(s, t, at, origin, NULL, 1); /* mutation: the simulation must notice */
        if (twin)
            driver_fire(s, twin, true, bundle);
    }
}

/* ---- many instants -------------------------------------------------------------------------------------------------
 */

static void skip_excluded(struct scheduler *s, struct trigger *t, instant until, struct bundle *bundle)
{
    static const char *const reasons[] = {[VERDICT_CALENDAR] = "calendar", [VERDICT_QUIET] = "quiet"};
    struct excluded ranges[EXCLUDED_AT_ONCE];
    instant after = t->decided;
    for (int round = 0; instant_cmp(after, until) < 0 && round < ROUNDS_MAX; round++) {
        instant covered = until;
        size_t n = schedule_excluded(t->schedule, after, until, ranges, EXCLUDED_AT_ONCE, &covered);
        for (size_t i = 0; i < n; i++)
            if (ranges[i].verdict != VERDICT_FIRE)
                bundle_skip(s, bundle, t, ranges[i].from, ranges[i].to, ranges[i].count, reasons[ranges[i].verdict]);
        if (n < EXCLUDED_AT_ONCE || instant_cmp(covered, after) <= 0)
            break;
        after = covered;
    }
}

/* Everything in (decided, until] by the misfire policy. false: nothing more can be decided. */
static bool decide_range(struct scheduler *s, struct trigger *t, instant until, enum decide_mode mode,
                         struct bundle *bundle)
{
    struct misfire_options options = {
        .policy = t->spec->misfire,
        .max = t->spec->misfire_max,
        .threshold = threshold_of(s, t),
        .max_age = max_age_of(s, t),
        .resume = mode != DECIDE_NOW,
        .skip_all = mode == DECIDE_SKIP || mode == DECIDE_GONE,
    };
    struct misfire_plan plan = {0};
    if (misfire_decide(t->schedule, t->decided, until, &options, &plan) != STATUS_OK)
        return false;
    instant covered = plan.more ? plan.covered : until;
    skip_excluded(s, t, covered, bundle);
    for (size_t i = 0; i < plan.skip_count; i++)
        bundle_skip(s, bundle, t, plan.skips[i].from, plan.skips[i].to, plan.skips[i].count,
                    mode == DECIDE_GONE ? "deleted" : plan.skips[i].reason);
    for (size_t i = 0; i < plan.run_count && !complete(t); i++) {
        fire(s, t, plan.runs[i].at, plan.runs[i].misfire ? ORIGIN_MISFIRE : ORIGIN_SCHEDULE,
             plan.runs[i].misfire || mode != DECIDE_NOW, bundle);
    }
    bool moved = instant_cmp(covered, t->decided) > 0;
    if (moved)
        t->decided = covered;
    misfire_plan_release(&plan);
    return moved;
}

/* A `delay` trigger promises one instant at a time. */
static void decide_delay(struct scheduler *s, struct trigger *t, struct promised p, enum decide_mode mode,
                         struct bundle *bundle)
{
    span late = instant_sub(s->now.wall, p.at);
    bool misfire = mode != DECIDE_NOW || late > threshold_of(s, t);
    t->decided = p.at;
    if (p.verdict != VERDICT_FIRE) /* the schedule itself goes on behind an exclusion */
        bundle_skip(s, bundle, t, p.at, p.at, 1, p.verdict == VERDICT_QUIET ? "quiet" : "calendar");
    else if (mode == DECIDE_SKIP || mode == DECIDE_GONE)
        skip_one(s, t, p.at, mode == DECIDE_GONE ? "deleted" : "paused", bundle);
    else if (misfire && (t->spec->misfire == MISFIRE_SKIP || late > max_age_of(s, t)))
        skip_one(s, t, p.at,
                 mode == DECIDE_RESUME     ? "paused"
                 : late > max_age_of(s, t) ? "expired"
                                           : "misfire",
                 bundle);
    else
        fire(s, t, p.at, misfire ? ORIGIN_MISFIRE : ORIGIN_SCHEDULE, misfire, bundle);
}

void planner_decide(struct scheduler *s, struct trigger *t, instant until, enum decide_mode mode, struct bundle *bundle)
{
    struct bundle *into = bundle ? bundle : bundle_new(s);
    for (int round = 0; round < ROUNDS_MAX && t->schedule && !complete(t) && !t->waiting; round++) {
        struct schedule_memory memory = memory_of(t);
        struct promised p = schedule_next(t->schedule, &memory, t->decided);
        if (instant_cmp(p.at, until) > 0)
            break;
        if (t->spec->kind == TRIGGER_DELAY) {
            decide_delay(s, t, p, mode, into);
            continue;
        }
        bool alone = mode == DECIDE_NOW && p.verdict == VERDICT_FIRE &&
                     instant_sub(s->now.wall, p.at) <= threshold_of(s, t) &&
                     instant_cmp(schedule_next(t->schedule, &memory, p.at).at, until) > 0;
        if (alone) { /* nearly always */
            t->decided = p.at;
            fire(s, t, p.at, ORIGIN_SCHEDULE, false, into);
            break;
        }
        if (!decide_range(s, t, until, mode, into))
            break;
    }
    if (!bundle)
        bundle_put(s, into, into->sends.count == 0 && into->fires.count == 0);
    planner_arm(s, t);
}

void planner_trigger_ended(struct scheduler *s, struct job *job, const char *name, instant end, struct bundle *bundle)
{
    struct trigger *t = job_trigger(job, name);
    if (!t)
        delay_ended_early(job, name, end);
    if (!t || !t->waiting || job_run_open(job, name))
        return; /* the end of an earlier one may be heard of late: the trigger goes on waiting */
    t->waiting = false;
    delay_ended(t, end);
    bundle_state(bundle, t);
    planner_arm(s, t);
}

void planner_step(struct scheduler *s)
{
    s->turn_fires = 0;
    struct heap_entry *entry;
    while ((entry = heap_first(&s->timers)) && entry->due <= s->now.wall.ms) {
        if (!batcher_open(s) || !clock_may_act(s) || !replica_fresh(s) || s->queue_fires >= FIRES_STAMPEDE)
            return; /* an answer of the store brings the next turn */
        if (s->turn_fires >= FIRES_STAMPEDE) {
            s->busy = true;
            return;
        }
        struct trigger *t = (struct trigger *)(void *)((char *)entry - offsetof(struct trigger, timer));
        planner_decide(s, t, s->now.wall, DECIDE_NOW, NULL);
    }
    if (entry)
        wake_at_wall(s, entry->due);
}
