/* What the end of a run sets off: its trigger may go on, a retry may follow, a job that keeps failing is suspended.
 * Retry and suspension are the slot owner's to make, and whoever drives the run need not be that: the store turns a
 * retry whose slot is not ours into a wish, and the question whether a job has failed often enough is a wish always.
 * Both commit with the end itself, so neither is lost. */
#include "scheduler/call/call.h"
#include "scheduler/drive/drive.h"
#include "scheduler/fire/fire.h"
#include "scheduler/know/know.h"
#include "scheduler/own/own.h"
#include "scheduler/write/write.h"

static bool worth_a_retry(const struct open_run *run)
{
    const struct job_spec *spec = version_spec(run->version);
    return run->run->row.state == RUN_FAILED && run->run->row.retry_no < spec->retry.max && !run->job->deleted;
}

struct open_run *retry_make(struct scheduler *s, const struct run_row *old, struct job *job,
                            struct job_version *version, int64_t id, instant due)
{
    struct run_row row = *old;
    row.id = id;
    row.generation = old->generation + 1;
    row.due_at = due;
    row.fired_at = job_fired_at(s, job);
    row.started_at = row.ended_at = INSTANT_NONE;
    row.state = RUN_QUEUED;
    row.origin = ORIGIN_RETRY;
    row.reason = "retry";
    row.error_code = row.error_args = row.start = NULL;
    row.family = old->family ? old->family : old->id;
    row.retry_of = old->id;
    row.retry_no = old->retry_no + 1;
    row.boot = s->boot;
    row.node = s->node;
    row.slot = job->slot;
    row.cancel_requested = false;
    return driver_run_new(s, &row, job, version);
}

static void retry_run(struct scheduler *s, struct open_run *run, struct bundle *bundle)
{
    const struct run_row *old = &run->run->row;
    const struct job_spec *spec = version_spec(run->version);
    double random = (double)(rng_next(&s->rng) >> 11) / (double)(1ULL << 53);
    struct open_run *next =
        retry_make(s, old, run->job, run->version, run_id_make(day_of(s->now.wall), s->boot, ++s->sequence),
                   instant_add(s->now.wall, retry_delay(&spec->retry, old->retry_no + 1, -1, random)));
    if (!next)
        return;
    if (!run->job->loaded) { /* should the store take it after all: who else runs the job? */
        next->held = true;
        recovery_others(s, run->job);
    }
    driver_fire(s, next, false, bundle);
}

/* One failure is enough: at once, so that nothing fires in between. */
static void suspend_now(struct scheduler *s, struct job *job, struct bundle *bundle)
{
    if (!job->loaded || job->deleted || job->busy || !activation_pause(s, job, NULL, s->now.wall, bundle))
        return;
    vec_add(&bundle->suspended, job->id);
    sink_logf(s->ports.sink, LOG_WARN, "A job is suspended: too many runs in a row have failed. Resume it when mended.",
              "job=%s/%s failures=1", job->project, job->name);
}

static void note_failure(struct scheduler *s, struct open_run *run, struct bundle *bundle)
{
    struct job *job = run->job;
    const struct job_spec *spec = version_spec(run->version);
    enum run_state state = run->run->row.state;
    if (spec->max_consecutive_failures <= 0 || (state != RUN_FAILED && state != RUN_LOST) ||
        (job->loaded && (job->paused || job->deleted)))
        return;
    if (spec->max_consecutive_failures == 1)
        suspend_now(s, job, bundle);
    bundle_wish(s, bundle,
                &(struct request_row){.kind = REQUEST_SUSPEND, .job = job->id, .slot = job->slot, .run = run->id});
}

void driver_ended(struct scheduler *s, struct open_run *run, struct bundle *bundle)
{
    const struct run_row *row = &run->run->row;
    run->ended = true;
    turns_forget(s, run);
    count(&s->metrics.runs_ended[row->state], 1);
    lingers_run(s, run, bundle);
    if (row->generation == 0)
        planner_trigger_ended(s, run->job, row->trigger, row->ended_at, bundle);
    if (worth_a_retry(run))
        retry_run(s, run, bundle);
    note_failure(s, run, bundle);
    turns_wake(s, run->job);
}
