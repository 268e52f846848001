/* What the end of a run sets off: its trigger may go on, a retry may follow, a job that keeps failing is suspended. */
#include "scheduler/parts.h"

static bool worth_a_retry(const struct open_run *run)
{
    const struct job_spec *spec = version_spec(run->version);
    return run->run->row.state == RUN_FAILED && run->run->row.retry_no < spec->retry.max && run->job->loaded &&
           !run->job->deleted;
}

static void retry_run(struct scheduler *s, struct open_run *run, struct bundle *bundle)
{
    const struct run_row *old = &run->run->row;
    const struct job_spec *spec = version_spec(run->version);
    double random = (double)(rng_next(&s->rng) >> 11) / (double)(1ULL << 53);
    struct run_row row = *old;
    row.id = run_id_make(day_of(s->now.wall), s->boot, ++s->sequence);
    row.generation = old->generation + 1;
    row.due_at = instant_add(s->now.wall, retry_delay(&spec->retry, old->retry_no + 1, -1, random));
    row.fired_at = job_fired_at(s, run->job);
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
    row.slot = run->job->slot;
    row.cancel_requested = false;
    struct open_run *next = driver_run_new(s, &row, run->job, run->version);
    if (next)
        driver_fire(s, next, false, bundle);
}

static void suspend_after_failures(struct scheduler *s, struct open_run *run, struct bundle *bundle)
{
    struct job *job = run->job;
    const struct job_spec *spec = version_spec(run->version);
    if (run->run->row.state == RUN_SUCCEEDED) {
        job->failures = 0;
        return;
    }
    if (run->run->row.state == RUN_CANCELED)
        return;
    job->failures++;
    if (spec->max_consecutive_failures <= 0 || job->failures < spec->max_consecutive_failures || !job->loaded ||
        job->deleted)
        return;
    job->failures = 0;
    vec_add(&bundle->suspended, job->id);
    sink_logf(s->ports.sink, LOG_WARN, "A job is suspended: too many runs in a row have failed. Resume it when mended.",
              "job=%s/%s failures=%d", job->project, job->name, spec->max_consecutive_failures);
    (void)activation_pause(s, job, NULL, s->now.wall, bundle);
}

void driver_ended(struct scheduler *s, struct open_run *run, struct bundle *bundle)
{
    const struct run_row *row = &run->run->row;
    run->ended = true;
    turns_forget(s, run);
    count(&s->metrics.runs_ended[row->state], 1);
    struct run_world world = world_of(s, run);
    instant linger = run_linger_until(run->run, &world);
    if (!instant_is_none(linger) && instant_cmp(linger, s->now.wall) > 0)
        turns_linger(s, run->job, linger);
    if (row->generation == 0)
        planner_trigger_ended(s, run->job, row->trigger, row->ended_at, bundle);
    suspend_after_failures(s, run, bundle);
    if (worth_a_retry(run))
        retry_run(s, run, bundle);
    turns_wake(s, run->job);
}
