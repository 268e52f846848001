/* What schedulers ask of each other through the store: a retry whose driver did not own the slot, and whether a job has
 * failed often enough to be suspended. Both need to be read up on first; the request stays open until what came of it
 * has committed, so a slot that changes hands in between takes its wishes along. */
#include <stdlib.h>

#include "scheduler/drive/drive.h"
#include "scheduler/fire/fire.h"
#include "scheduler/know/know.h"
#include "scheduler/own/own.h"
#include "scheduler/write/write.h"

#define FAILURES_MOST 1000 /* of max_consecutive_failures that are looked for */

struct asked {
    int64_t request, job, retry;
    instant due;
};

static struct work *ask(struct scheduler *s, enum store_op_kind kind, const struct request_row *request,
                        void (*then)(struct scheduler *s, struct work *work))
{
    struct asked *asked = mem_new(struct asked);
    *asked = (struct asked){.request = request->id, .job = request->job, .retry = request->id, .due = request->due_at};
    struct work *work = work_new(s, kind, then);
    work->memory = asked;
    return work;
}

/* The job, if it is still ours to decide about; else the request shows up again, here or elsewhere. */
static struct job *still_ours(struct scheduler *s, const struct work *work)
{
    const struct asked *asked = work->memory;
    struct job *job = job_find(s, asked->job);
    bool answered = work_ok(s, work) || work->op.status == STATUS_NOT_FOUND;
    if (answered && job && job->loaded && !job->busy && !job->deleted && slot_ruled(s, job->slot) && batcher_open(s) &&
        clock_may_act(s))
        return job;
    seen_forget(&s->requests, asked->request);
    return NULL;
}

/* ---- retry ---------------------------------------------------------------------------------------------------------
 */

static void failed_read(struct scheduler *s, struct work *work)
{
    const struct asked *asked = work->memory;
    const struct store_run_read *read = &work->op.run_read;
    struct job *job = still_ours(s, work);
    if (!job)
        return;
    struct bundle *bundle = bundle_new(s);
    struct job_version *version = work->op.status == STATUS_OK && read->job_json
                                      ? version_add(s, job->id, read->run.version, read->job_json)
                                      : NULL;
    struct open_run *run = version ? retry_make(s, &read->run, job, version, asked->retry,
                                                instant_is_none(asked->due) ? s->now.wall : asked->due)
                                   : NULL;
    bundle_request(bundle, asked->request, run ? "run" : "not_found"); /* retention has taken it away */
    if (run)
        driver_fire(s, run, false, bundle);
    version_unref(s, version);
    bundle_put(s, bundle, false);
}

bool wish_retry(struct scheduler *s, struct job *job, const struct request_row *request)
{
    bool made = driver_find(s, request->id) != NULL; /* by an owner that died before it closed the request */
    for (size_t i = 0; i < job->foreign.count; i++)
        made |= job->foreign.items[i].id == request->id;
    if (made) {
        struct bundle *bundle = bundle_new(s);
        bundle_request(bundle, request->id, "run");
        bundle_put(s, bundle, true);
        return true;
    }
    struct work *work = ask(s, STORE_RUN_READ, request, failed_read);
    work->op.run_read.id = request->run;
    work_submit(work);
    return true;
}

/* ---- suspension ----------------------------------------------------------------------------------------------------
 */

static void failures_read(struct scheduler *s, struct work *work)
{
    const struct asked *asked = work->memory;
    struct job *job = still_ours(s, work);
    if (!job)
        return;
    struct bundle *bundle = bundle_new(s);
    int64_t allowed = version_spec(job->newest)->max_consecutive_failures;
    bool enough = work->op.status == STATUS_OK && allowed > 0 && (int64_t)work->op.failures.failed >= allowed;
    bool suspended = enough && activation_pause(s, job, NULL, s->now.wall, bundle);
    if (suspended) {
        vec_add(&bundle->suspended, job->id);
        sink_logf(s->ports.sink, LOG_WARN,
                  "A job is suspended: too many runs in a row have failed. Resume it when mended.",
                  "job=%s/%s failures=%lld", job->project, job->name, (long long)allowed);
    }
    bundle_request(bundle, asked->request, suspended ? "suspended" : "unchanged");
    bundle_put(s, bundle, false);
}

bool wish_suspend(struct scheduler *s, struct job *job, const struct request_row *request)
{
    int64_t allowed = version_spec(job->newest)->max_consecutive_failures;
    if (allowed <= 0 || job->paused) {
        struct bundle *bundle = bundle_new(s);
        bundle_request(bundle, request->id, "unchanged");
        bundle_put(s, bundle, true);
        return true;
    }
    struct work *work = ask(s, STORE_FAILURES, request, failures_read);
    work->op.failures.job = job->id;
    work->op.failures.limit = (size_t)(allowed < FAILURES_MOST ? allowed : FAILURES_MOST);
    work_submit(work);
    return true;
}
