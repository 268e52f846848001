/* Edits of a job take effect here, and only here: a new version, pause, resume and delete are activation rows of the
 * slot's owner, from = max(commit time, last decided instant + 1 ms). What the earlier state promised before `from` is
 * decided in the same bundle; so the ledger can be recomputed from activations alone. */
#include <stdlib.h>
#include <string.h>

#include "scheduler/fire/fire.h"
#include "scheduler/know/know.h"
#include "scheduler/own/own.h"
#include "scheduler/write/write.h"

#define LATER 100 /* ms: the store does not take rows just now */

static bool held(const struct trigger *t)
{
    return t->paused || t->job->paused;
}

static instant after_decided(const struct job *job, const struct trigger *only, instant at)
{
    for (size_t i = 0; i < job->trigger_count; i++)
        if (!only || only == &job->triggers[i])
            at = instant_max(at, instant_add(job->triggers[i].decided, 1));
    return at;
}

static void look_again(struct scheduler *s, struct job *job, int64_t wall_ms)
{
    heap_remove(&s->switches, &job->switching);
    if (heap_add(&s->switches, &job->switching, wall_ms) != STATUS_OK)
        abort();
}

/* What the new state has promised by now is decided together with it. Were it left to a later batch, a crash in between
 * would lose it: the slot may be marked as decided up to now already, for the edit was not known when that was written.
 */
static void settle_since(struct scheduler *s, struct trigger *t, struct bundle *bundle)
{
    instant until = s->now.wall;
    if (!instant_is_none(t->job->wished_pause))
        until = instant_min(until, instant_add(t->job->wished_pause, -1));
    if (!held(t))
        planner_decide(s, t, until, DECIDE_NOW, bundle);
}

/* What the old state promised before `from`: decided; what a pause held back: recorded. */
static void settle_before(struct scheduler *s, struct job *job, instant from, enum decide_mode mode,
                          struct bundle *bundle)
{
    instant until = instant_min(instant_add(from, -1), s->now.wall);
    for (size_t i = 0; i < job->trigger_count; i++)
        planner_decide(s, &job->triggers[i], until, held(&job->triggers[i]) ? DECIDE_SKIP : mode, bundle);
}

/* What the store remembers of it must be what is known here: a trigger that comes back, or gets a limit, begins anew.
 */
static bool remembered(const struct trigger *t)
{
    return held(t) || t->spec->max_fires > 0 || (t->fresh && t->job->ruling_version > 1);
}

static void switch_version(struct scheduler *s, struct job *job, instant from)
{
    struct bundle *bundle = bundle_new(s);
    bool any = job->trigger_count > 0 || version_spec(job->newest)->trigger_count > 0;
    settle_before(s, job, from, DECIDE_NOW, bundle);
    if (any)
        bundle_activation(bundle, job, NULL, job->newest->key.version, ACTIVATION_VERSION, from);
    job_rule(s, job, job->newest, from);
    for (size_t i = 0; i < job->trigger_count; i++) {
        if (remembered(&job->triggers[i]))
            bundle_state(bundle, &job->triggers[i]);
        settle_since(s, &job->triggers[i], bundle);
    }
    bundle_put(s, bundle, false);
}

static void switch_off(struct scheduler *s, struct job *job, instant from)
{
    struct bundle *bundle = bundle_new(s);
    settle_before(s, job, from, DECIDE_GONE, bundle);
    bundle_activation(bundle, job, NULL, job->newest ? job->newest->key.version : job->ruling_version,
                      ACTIVATION_DELETE, from);
    bundle_put(s, bundle, false);
    if (job->ruling)
        count(&s->metrics.jobs_ruled, -1);
    job_disarm(s, job);
    version_unref(s, job->ruling);
    job->ruling = NULL;
    job->ruling_version = 0;
    job_forget_if_idle(s, job);
}

void activation_consider(struct scheduler *s, struct job *job)
{
    if (!job->loaded || job->busy || !job->newest || !slot_ruled(s, job->slot))
        return;
    if (job->deleted ? job->gone : job->newest->key.version == job->ruling_version)
        return;
    if (!batcher_open(s) || !clock_may_act(s)) {
        look_again(s, job, s->now.wall.ms + LATER);
        return;
    }
    instant at = !job->deleted ? job->newest_at : instant_is_none(job->deleted_at) ? s->now.wall : job->deleted_at;
    instant from = after_decided(job, NULL, at);
    if (instant_cmp(from, s->now.wall) > 0) { /* the store's clock is ahead of ours, or a burst */
        look_again(s, job, from.ms);
        return;
    }
    heap_remove(&s->switches, &job->switching);
    if (job->deleted) {
        job->gone = true;
        switch_off(s, job, from);
    } else {
        switch_version(s, job, from);
    }
}

void activation_step(struct scheduler *s)
{
    struct heap_entry *entry;
    while ((entry = heap_first(&s->switches)) && entry->due <= s->now.wall.ms) {
        struct job *job = (struct job *)(void *)((char *)entry - offsetof(struct job, switching));
        heap_remove(&s->switches, entry);
        if (job->busy)
            activation_fetch(s, job);
        else
            activation_consider(s, job);
    }
    if (entry)
        wake_at_wall(s, entry->due);
}

/* ---- the version that ruled before we came --------------------------------------------------------------------------
 */

static void fetched(struct scheduler *s, struct work *work)
{
    struct job *job = job_find(s, work->number);
    if (!job || !job->busy)
        return;
    if (!work_ok(s, work) && work->op.status != STATUS_NOT_FOUND) {
        look_again(s, job, s->now.wall.ms + LATER);
        return;
    }
    if (work->op.definitions.version != job->ruling_version)
        return; /* the slot was lost and taken again meanwhile: another answer is on its way */
    job->busy = false;
    if (!job->loaded) {
        job_forget_if_idle(s, job);
        return;
    }
    const struct store_definitions *d = &work->op.definitions;
    struct job_version *version =
        work->op.status == STATUS_OK && d->count ? version_add(s, job->id, d->version, d->rows[0].json) : NULL;
    if (version)
        job_rule(s, job, version, INSTANT_NONE);
    version_unref(s, version);
    activation_consider(s, job);
    replica_stale(s); /* what was wished meanwhile comes first */
    s->poking = true;
}

void activation_fetch(struct scheduler *s, struct job *job)
{
    int64_t *id = mem_new(int64_t);
    *id = job->id;
    struct work *work = work_new(s, STORE_DEFINITIONS, fetched);
    work->memory = id;
    work->number = job->id;
    work->op.definitions.kind = DOCUMENT_JOB;
    work->op.definitions.ids = id;
    work->op.definitions.id_count = 1;
    work->op.definitions.version = job->ruling_version;
    job->busy = true;
    work_submit(work);
}

void activation_loaded(struct scheduler *s, struct job *job)
{
    if (!job->newest || job->busy)
        return;
    if (job->ruling_version != 0 && job->ruling_version != job->newest->key.version) {
        activation_fetch(s, job);
        return;
    }
    if (job->ruling_version == job->newest->key.version)
        job_rule(s, job, job->newest, INSTANT_NONE);
    activation_consider(s, job);
}

/* ---- pause and resume
 * ------------------------------------------------------------------------------------------------ */

bool activation_pause(struct scheduler *s, struct job *job, const char *name, instant at, struct bundle *bundle)
{
    struct trigger *only = name ? job_trigger(job, name) : NULL;
    if (name ? !only || only->paused : job->paused)
        return false;
    instant from = after_decided(job, only, at);
    instant until = instant_min(instant_add(from, -1), s->now.wall);
    for (size_t i = 0; i < job->trigger_count; i++) {
        struct trigger *t = &job->triggers[i];
        if ((only && only != t) || held(t))
            continue;
        planner_decide(s, t, until, DECIDE_NOW, bundle);
        t->paused_since = from;
    }
    if (only)
        only->paused = true;
    else
        job->paused = true;
    bundle_activation(bundle, job, name, job->ruling_version, ACTIVATION_PAUSE, from);
    if (!only)
        bundle_job_state(bundle, job, from);
    for (size_t i = 0; i < job->trigger_count; i++)
        if (!only || only == &job->triggers[i]) {
            bundle_state(bundle, &job->triggers[i]);
            planner_arm(s, &job->triggers[i]);
        }
    return true;
}

bool activation_resume(struct scheduler *s, struct job *job, const char *name, instant at, bool skip_missed,
                       struct bundle *bundle)
{
    struct trigger *only = name ? job_trigger(job, name) : NULL;
    if (name ? !only || !only->paused : !job->paused)
        return false;
    instant from = after_decided(job, only, at);
    if (only)
        only->paused = false;
    else
        job->paused = false;
    bundle_activation(bundle, job, name, job->ruling_version, ACTIVATION_RESUME, from);
    if (!only)
        bundle_job_state(bundle, job, INSTANT_NONE);
    for (size_t i = 0; i < job->trigger_count; i++) {
        struct trigger *t = &job->triggers[i];
        if (only && only != t)
            continue;
        if (!held(t)) {
            t->paused_since = INSTANT_NONE;
            planner_decide(s, t, instant_min(instant_add(from, -1), s->now.wall),
                           skip_missed ? DECIDE_SKIP : DECIDE_RESUME, bundle);
        }
        bundle_state(bundle, t);
        settle_since(s, t, bundle);
        planner_arm(s, t);
    }
    return true;
}
