/* Composition: lifetime of everything, the inbox of store answers, the order of a turn. */
#include "scheduler/scheduler.h"

#include <stdlib.h>
#include <string.h>

#include "scheduler/call/call.h"
#include "scheduler/drive/drive.h"
#include "scheduler/fire/fire.h"
#include "scheduler/know/know.h"
#include "scheduler/own/own.h"
#include "scheduler/write/write.h"

#define LEAVE_PATIENCE (2 * SPAN_SECOND) /* the store may be away: then the successor finds out by itself */

static void stop(struct scheduler *s);

static void store_done(struct store_op *op)
{
    struct work *work = op->owner;
    struct scheduler *s = work->scheduler;
    work->next = NULL;
    *s->inbox_tail = work;
    s->inbox_tail = &work->next;
}

struct work *work_new(struct scheduler *s, enum store_op_kind kind,
                      void (*then)(struct scheduler *s, struct work *work))
{
    struct work *work = mem_new(struct work);
    store_op_init(&work->op, kind);
    work->scheduler = s;
    work->then = then;
    return work;
}

void work_submit(struct work *work)
{
    struct scheduler *s = work->scheduler;
    work->op.done = store_done;
    work->op.owner = work;
    work->submitted = s->now.mono;
    work->submitted_wall = s->raw.wall;
    s->works++;
    store_submit(s->ports.store, &work->op);
}

bool work_ok(struct scheduler *s, const struct work *work)
{
    if (work->op.status == STATUS_OK) {
        if (mono_cmp(s->store_down_since, MONO_NEVER) < 0) {
            s->store_down_since = MONO_NEVER;
            __atomic_store_n(&s->metrics.store_down, 0, __ATOMIC_RELAXED);
            s->ownership_dirty = true;
            sink_logf(s->ports.sink, LOG_INFO, "The store answers again.", "%s", "");
        }
        return true;
    }
    if (work->op.status == STATUS_FENCED) {
        if (!s->options.break_fence)
            scheduler_fenced(s, store_op_name(work->op.kind));
        return false;
    }
    if (work->op.status == STATUS_UNAVAILABLE && mono_cmp(s->store_down_since, MONO_NEVER) == 0) {
        s->store_down_since = s->now.mono;
        __atomic_store_n(&s->metrics.store_down, 1, __ATOMIC_RELAXED);
        sink_logf(s->ports.sink, LOG_ERROR, "The store cannot be reached; asking again until it answers.",
                  "operation=%s error=\"%s\"", store_op_name(work->op.kind), work->op.error.text);
    } else if (work->op.status != STATUS_UNAVAILABLE && work->op.status != STATUS_CANCELED) {
        sink_logf(s->ports.sink, LOG_WARN, "A store operation failed.", "operation=%s status=\"%s\" error=\"%s\"",
                  store_op_name(work->op.kind), status_text(work->op.status), work->op.error.text);
    }
    return false;
}

static void work_free(struct work *work)
{
    store_op_release(&work->op);
    free(work->memory);
    free(work);
}

static void inbox_step(struct scheduler *s)
{
    while (s->inbox_head) {
        struct work *work = s->inbox_head;
        s->inbox_head = work->next;
        if (!s->inbox_head)
            s->inbox_tail = &s->inbox_head;
        s->works--;
        work->keep = false;
        if (s->state != SCHEDULER_FENCED && s->state != SCHEDULER_STOPPED && work->op.status != STATUS_CANCELED)
            work->then(s, work);
        if (!work->keep)
            work_free(work);
    }
}

struct scheduler *scheduler_create(const struct scheduler_options *options, const struct scheduler_ports *ports)
{
    struct scheduler *s = mem_new(struct scheduler);
    s->options = *options;
    s->ports = *ports;
    s->settings = options->settings;
    s->node = mem_copy_text(options->node);
    s->address = mem_copy_text(options->address ? options->address : "");
    s->options.node = s->node;
    s->options.address = s->address;
    rng_seed(&s->rng, options->seed);
    s->inbox_tail = &s->inbox_head;
    s->answers_tail = &s->answers_head;
    s->ready_tail = &s->ready_head;
    s->queue_tail = &s->queue_head;
    s->batch.number = 1;
    s->batch.retry_at = MONO_NEVER;
    s->feed_seq = s->feed_seen = -1;
    s->reload_kind = DOCUMENT_KINDS;
    s->reload_retry = MONO_NEVER;
    s->store_down_since = MONO_NEVER;
    s->drain_until = MONO_NEVER;
    s->last_step.mono = MONO_NEVER;
    heap_init(&s->timers);
    heap_init(&s->switches);
    heap_init(&s->alarms);
    s->slot_count = (size_t)s->settings->coordination.claim_slots + CLAIM_SLOTS_EXTRA;
    s->slots = mem_alloc(s->slot_count * sizeof *s->slots);
    s->ports.coordination->on_event = ownership_event;
    s->ports.coordination->context = s;
    return s;
}

void scheduler_free(struct scheduler *s)
{
    if (!s)
        return;
    s->state = SCHEDULER_STOPPED;
    inbox_step(s);
    recovery_release(s);
    lingers_release(s);
    notices_release(s);
    batcher_release(s);
    for (struct open_run *run = s->runs, *next; run; run = next) {
        next = run->hh.next;
        driver_forget(s, run);
    }
    for (struct job *job = s->jobs, *next; job; job = next) {
        next = job->hh.next;
        job_free(s, job);
    }
    replica_release(s);
    applications_release(s);
    alive_release(s);
    seen_release(&s->requests);
    seen_release(&s->reports);
    seen_release(&s->left);
    for (size_t k = 0; k < SCHEDULER_CALLBACKS; k++)
        free(s->callbacks[k]);
    vec_release(&s->nodes);
    vec_release(&s->claims);
    vec_release(&s->claim_events);
    vec_release(&s->dead);
    vec_release(&s->turns);
    heap_release(&s->timers);
    heap_release(&s->switches);
    heap_release(&s->alarms);
    for (size_t i = 0; i < s->slot_count; i++) {
        free(s->slots[i].pool);
        free(s->slots[i].pin);
    }
    vec_release(&s->moving);
    free(s->slots);
    free(s->refusal);
    free(s->node);
    free(s->address);
    free(s);
}

void scheduler_fenced(struct scheduler *s, const char *why)
{
    if (s->state == SCHEDULER_FENCED)
        return;
    if (s->leaving) { /* by our own wish */
        stop(s);
        return;
    }
    s->state = SCHEDULER_FENCED;
    ownership_release_all(s); /* a successor must not wait for this process to be ended */
    sink_logf(s->ports.sink, LOG_ERROR,
              "This process has a successor: it stops at once, nothing of it is accepted any more. Start it again to "
              "join as a new boot.",
              "boot=%lld by=\"%s\"", (long long)s->boot, why);
}

/* ---- drain ---------------------------------------------------------------------------------------------------------
 */

static void stop(struct scheduler *s)
{
    s->state = SCHEDULER_STOPPED;
    s->wake = s->now.mono;
}

static void left(struct scheduler *s, struct work *work)
{
    (void)work;
    if (s->state == SCHEDULER_DRAINING)
        stop(s);
}

/* The store is told that this boot ends: whoever comes next has nobody to fence, and takes what is left at once. */
static void leave(struct scheduler *s)
{
    if (s->begun > 0)
        sink_logf(s->ports.sink, LOG_INFO, "Runs that wait for something are left to whoever comes next.", "runs=%lld",
                  (long long)s->begun);
    ownership_release_all(s);
    if (s->boot == 0 || !batcher_quiet(s)) {
        stop(s);
        return;
    }
    s->leaving = true;
    s->leave_until = mono_add(s->now.mono, LEAVE_PATIENCE);
    struct work *work = work_new(s, STORE_BOOT_FENCE, left);
    work->op.boot_fence.boot = work->op.boot_fence.dead_boot = s->boot;
    work_submit(work);
}

/* Runs with a call under way are finished; those that wait for a time or an instance go on elsewhere. */
static void drain_step(struct scheduler *s)
{
    if (s->state != SCHEDULER_DRAINING)
        return;
    if (s->leaving) {
        if (mono_cmp(s->now.mono, s->leave_until) >= 0)
            stop(s);
        else
            wake_at(s, s->leave_until);
        return;
    }
    bool over = mono_cmp(s->now.mono, s->drain_until) >= 0;
    if (!over && s->boot > 0 && (!ownership_handed_over(s) || s->in_flight > 0 || s->notices || !batcher_quiet(s))) {
        wake_at(s, mono_min(s->drain_until, mono_add(s->now.mono, 200)));
        return;
    }
    if (over && s->in_flight > 0)
        sink_logf(s->ports.sink, LOG_WARN,
                  "Grace is over: what still runs is left to the next owner, its outcome counts as unknown.",
                  "calls=%d reason=drained", (int)s->in_flight);
    leave(s);
}

/* Whoever is refused goes on ruling what nobody else can take over, and ends when nothing is left. */
static void refused_step(struct scheduler *s)
{
    if (s->refused && s->state != SCHEDULER_FENCED && ownership_handed_over(s) && s->begun == 0 && batcher_quiet(s))
        s->state = SCHEDULER_REFUSED;
}

static bool has_ended(const struct scheduler *s)
{
    return s->state == SCHEDULER_FENCED || s->state == SCHEDULER_STOPPED || s->state == SCHEDULER_REFUSED;
}

const char *scheduler_refusal(const struct scheduler *s, enum status *ret_status)
{
    *ret_status = s->refusal_status;
    return s->refusal;
}

mono scheduler_step(struct scheduler *s, struct moment now)
{
    clock_read(s, now);
    s->wake = MONO_NEVER;
    s->busy = false;
    clock_step(s);
    inbox_step(s);
    if (has_ended(s))
        return MONO_NEVER;
    start_step(s);
    ownership_step(s);
    slots_step(s);
    dispatcher_collect(s);
    replica_step(s);
    registered_step(s);
    alive_step(s);
    recovery_step(s);
    activation_step(s);
    driver_step(s);
    lingers_step(s);
    notices_step(s);
    planner_step(s);
    turns_step(s);
    giving_step(s);
    dispatcher_step(s);
    janitor_step(s);
    batcher_step(s);
    drain_step(s);
    refused_step(s);
    metrics_gauges(s);
    if (has_ended(s))
        return MONO_NEVER;
    return s->busy || s->inbox_head ? now.mono : s->wake;
}

void scheduler_poke(struct scheduler *s)
{
    s->poking = true;
}

void scheduler_drain(struct scheduler *s, struct moment now)
{
    if (s->state != SCHEDULER_STARTING && s->state != SCHEDULER_WORKING)
        return;
    s->state = SCHEDULER_DRAINING;
    s->drain_until = mono_add(now.mono, s->settings->scheduler.shutdown_grace);
    s->ownership_dirty = s->node_dirty = true;
    s->next_boot_read = now.mono; /* tells the store, for whoever looks at the nodes */
    sink_logf(s->ports.sink, LOG_INFO, "Draining: slots are handed over, runs in flight are finished.", "runs=%zu",
              (size_t)HASH_COUNT(s->runs));
}

enum scheduler_state scheduler_state(const struct scheduler *s)
{
    return s->state;
}

const struct scheduler_metrics *scheduler_metrics(const struct scheduler *s)
{
    return &s->metrics;
}

bool scheduler_ready(const struct scheduler *s, const char **ret_reason)
{
    const char *reason = NULL;
    if (s->state == SCHEDULER_FENCED)
        reason = "fenced";
    else if (s->refused)
        reason = "coordination refused this node";
    else if (s->state == SCHEDULER_DRAINING || s->state == SCHEDULER_STOPPED)
        reason = "draining";
    else if (mono_cmp(s->store_down_since, MONO_NEVER) < 0 || s->batch.stalled)
        reason = "store is unavailable";
    else if (s->unanswered)
        reason = "coordination does not answer: check coordination.url";
    else if (s->boot == 0)
        reason = "starting";
    else if (!s->connected)
        reason = "coordination is unavailable";
    else if (s->feed_seq < 0)
        reason = "definitions are loading";
    else if (s->claims_pending > 0 || s->slots_coming > 0)
        reason = "slots are being claimed";
    else if (s->clock_bad)
        reason = "clock is off";
    if (ret_reason)
        *ret_reason = reason;
    return reason == NULL;
}
