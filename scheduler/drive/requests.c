/* Requests: durable wishes of people and programs (run now, enqueue, cancel, pause, resume). They are shown by every
 * poll until they are closed, so each is remembered while it is being carried out. A request is closed only after its
 * rows have committed and none was refused: should this node lose the slot in between, the next owner finds it open and
 * meets what is there already (a run's id is its request's id). */
#include <stdio.h>

#include "scheduler/call/call.h"
#include "scheduler/drive/drive.h"
#include "scheduler/fire/fire.h"
#include "scheduler/know/know.h"
#include "scheduler/own/own.h"
#include "scheduler/write/write.h"

#define GONE_AFTER (10 * SPAN_SECOND) /* the replica has everything, and the job has not come: it is deleted */

static void run_request(struct scheduler *s, struct job *job, const struct request_row *request, struct bundle *bundle)
{
    const struct job_spec *spec = version_spec(job->newest);
    char trigger[40];
    (void)snprintf(trigger, sizeof trigger, "manual-%lld", (long long)request->id);
    bool idle = !job->queue && overlap_may_start(spec->overlap, spec->max_parallel, (int64_t)job_running(s, job));
    bool made = driver_find(s, request->id) != NULL; /* by an owner that died before it closed the request */
    for (size_t i = 0; i < job->foreign.count; i++)
        made |= job->foreign.items[i].id == request->id;
    if (made) {
        bundle_request(bundle, request->id, "run");
        return;
    }
    if (request->kind == REQUEST_RUN && !idle && spec->overlap != OVERLAP_ALLOW) {
        bundle_request(bundle, request->id, "conflict");
        return;
    }
    const char *reason = !idle ? "overlap" : room_for(s, job, spec);
    struct run_row row = {
        .id = request->id,
        .job = job->id,
        .project = job->project_id,
        .version = job->newest->key.version,
        .trigger = trigger,
        .scheduled_at = instant_is_none(request->scheduled_at) ? request->created_at : request->scheduled_at,
        .due_at = s->now.wall,
        .fired_at = job_fired_at(s, job),
        .started_at = INSTANT_NONE,
        .ended_at = INSTANT_NONE,
        .state = RUN_QUEUED,
        .origin = ORIGIN_MANUAL,
        .reason = reason,
        .slot = job->slot,
        .boot = s->boot,
        .node = s->node,
        .zone = project_timezone(s, job->project),
        .params = request->params,
        .priority = PRIORITY_DEFAULT,
    };
    struct open_run *run = driver_run_new(s, &row, job, job->newest);
    bundle_request(bundle, request->id, run ? "run" : "failed");
    if (run)
        driver_fire(s, run, reason == NULL, bundle);
}

/* Is the run still a wish of its own, or on its way to us? */
static bool may_come(struct scheduler *s, int64_t run, const struct request_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i].id == run)
            return true;
    for (size_t i = 0; i < s->dead.count; i++)
        if (s->dead.items[i].phase != DEAD_DONE && s->dead.items[i].phase != DEAD_SUSPECT)
            return true;
    return false;
}

/* A cancel comes to whoever drives the run, which need not be the slot's owner. false: not now, it stays open. */
static bool cancel_request(struct scheduler *s, const struct job *job, const struct request_row *request,
                           const struct request_row *rows, size_t n, struct bundle *bundle)
{
    struct open_run *run = driver_find(s, request->run);
    if (seen_has(s->left, request->run))
        return false; /* it goes to the owner of its slot, and the wish with it */
    if (run && !run->ended) {
        driver_cancel(s, run, request->reason ? request->reason : "canceled");
        bundle_request(bundle, request->id, "canceled");
        return true;
    }
    for (size_t i = 0; job && i < job->foreign.count; i++)
        if (job->foreign.items[i].id == request->run)
            return false; /* another boot drives it; asked again until it has ended or is ours */
    if (may_come(s, request->run, rows, n))
        return false;
    bundle_request(bundle, request->id, "not_open");
    return true;
}

static bool carry_out(struct scheduler *s, const struct request_row *request, struct bundle *bundle)
{
    struct job *job = job_find(s, request->job);
    if (!slot_ruled(s, job ? job->slot : request->slot))
        return false; /* the slot of the request may be an earlier one of the job */
    if (!job && s->slots_coming == 0 && !move_pending(s, request->job) &&
        instant_sub(s->now.wall, request->created_at) > GONE_AFTER && s->feed_seq == s->feed_seen) {
        bundle_request(bundle, request->id, "not_found");
        return true;
    }
    if (!job || !job->loaded)
        return false; /* on its way through the feed */
    if (job->deleted) {
        bundle_request(bundle, request->id, "not_found");
        return true;
    }
    bool pause = request->kind == REQUEST_PAUSE || request->kind == REQUEST_RESUME;
    if (job->busy || (pause && instant_cmp(request->created_at, s->now.wall) > 0))
        return false; /* the store's clock is ahead: what lies before the wish is not due here yet */
    switch (request->kind) {
    case REQUEST_RUN:
    case REQUEST_ENQUEUE:
        if (job->changing && instant_cmp(job->newest_at, request->created_at) <= 0) {
            job->awaited = true; /* an edit that came before it has not been read yet */
            return false;
        }
        run_request(s, job, request, bundle);
        return true;
    case REQUEST_PAUSE:
        job->wished_pause = request->trigger ? job->wished_pause : INSTANT_NONE;
        bundle_request(bundle, request->id,
                       activation_pause(s, job, request->trigger, request->created_at, bundle) ? "paused"
                                                                                               : "unchanged");
        return true;
    case REQUEST_RESUME:
        bundle_request(bundle, request->id,
                       activation_resume(s, job, request->trigger, request->created_at, request->skip_missed, bundle)
                           ? "resumed"
                           : "unchanged");
        return true;
    case REQUEST_MOVE:
        return move_request(s, job, request, bundle);
    case REQUEST_RETRY:
        return wish_retry(s, job, request);
    case REQUEST_SUSPEND:
        return wish_suspend(s, job, request);
    case REQUEST_CANCEL: /* in the second round */
    case REQUEST_KINDS:
    default:
        return false;
    }
}

void requests_foresee(struct scheduler *s, const struct request_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct job *job = rows[i].kind == REQUEST_PAUSE && !rows[i].trigger ? job_find(s, rows[i].job) : NULL;
        if (job && !seen_has(s->requests, rows[i].id) && instant_is_none(job->wished_pause))
            job->wished_pause = rows[i].created_at;
    }
}

/* Cancels last: what they mean to cancel may stand in the same list. */
void requests_take(struct scheduler *s, const struct request_row *rows, size_t n)
{
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < n; i++) {
            bool cancel = rows[i].kind == REQUEST_CANCEL;
            if (cancel != (round == 1) || seen_has(s->requests, rows[i].id) || !batcher_open(s) || !clock_may_act(s))
                continue;
            struct bundle *bundle = bundle_new(s);
            if (cancel ? !cancel_request(s, job_find(s, rows[i].job), &rows[i], rows, n, bundle)
                       : !carry_out(s, &rows[i], bundle)) {
                bundle_free(s, bundle);
                continue;
            }
            seen_add(&s->requests, rows[i].id);
            bundle_put(s, bundle, false);
        }
}
