/* The one writer. Bundles go out in the order in which they were made, one batch at a time: what arrives while a batch
 * commits makes up the next one (group commit). A batch that met an unavailable store is sent again as it is; one whose
 * COMMIT reply was lost is asked after first. Calls and all else that waits for the commit are released in `settled`.
 *
 *      idle ──send──▶ under way ──OK──▶ settled        FENCED ──▶ everything stops
 *                        │  ▲
 *                        │  └── UNAVAILABLE: the same batch after a pause
 *                        └───── UNKNOWN ──▶ BATCH_CHECK ──▶ settled, or the same batch again
 */
#include <stdlib.h>
#include <string.h>

#include "scheduler/call/call.h"
#include "scheduler/drive/drive.h"
#include "scheduler/know/know.h"
#include "scheduler/own/own.h"
#include "scheduler/write/write.h"

#define RETRY_FIRST ((span)100)
#define RETRY_MOST ((span)1000)

static void batch_answered(struct scheduler *s, struct work *work);
static void batch_send(struct scheduler *s);

static void clear_vectors(struct batch *b)
{
    vec_clear(&b->activations);
    vec_clear(&b->skips);
    vec_clear(&b->states);
    vec_clear(&b->fires);
    vec_clear(&b->runs);
    vec_clear(&b->steps);
    vec_clear(&b->attempts);
    vec_clear(&b->requests);
    vec_clear(&b->reports);
    vec_clear(&b->suspended);
    vec_clear(&b->moves);
    b->moves_unsure = false;
    vec_clear(&b->lingers);
    vec_clear(&b->notices);
    vec_clear(&b->wishes);
    vec_clear(&b->left);
    vec_clear(&b->through);
}

#define APPEND(batch, bundle, member)                      \
    for (size_t i_ = 0; i_ < (bundle)->member.count; i_++) \
    vec_add(&(batch)->member, (bundle)->member.items[i_])

static void take_bundle(struct batch *b, const struct bundle *bundle)
{
    APPEND(b, bundle, activations);
    APPEND(b, bundle, skips);
    APPEND(b, bundle, states);
    APPEND(b, bundle, fires);
    APPEND(b, bundle, runs);
    APPEND(b, bundle, steps);
    APPEND(b, bundle, attempts);
    APPEND(b, bundle, reports);
    APPEND(b, bundle, suspended);
    APPEND(b, bundle, moves);
    APPEND(b, bundle, lingers);
    APPEND(b, bundle, notices);
    APPEND(b, bundle, wishes);
    for (size_t i = 0; i < bundle->left.count; i++)
        vec_add(&b->left, bundle->left.items[i]->id);
    for (size_t i = 0; i < bundle->closing.count; i++)
        vec_add(&b->requests, bundle->closing.items[i]);
    for (size_t i = 0; i < bundle->fired.count; i++)
        bundle->fired.items[i]->in_batch = true;
}

/* Two states of one trigger may stand in one batch: the store would be asked to write a row twice. */
static void keep_last_states(struct batch *b)
{
    for (size_t i = 0; i < b->states.count; i++)
        for (size_t j = i + 1; j < b->states.count; j++)
            if (b->states.items[i].row.job == b->states.items[j].row.job &&
                strcmp(b->states.items[i].row.trigger, b->states.items[j].row.trigger) == 0) {
                memmove(&b->states.items[i], &b->states.items[i + 1],
                        (b->states.count - i - 1) * sizeof *b->states.items);
                b->states.count--;
                i--;
                break;
            }
}

/* A run's later rows must not share a batch with its fire: should the fire be refused, they must not exist either. */
static bool must_wait(const struct bundle *bundle)
{
    return bundle->run && bundle->run->in_batch;
}

static void batch_build(struct scheduler *s)
{
    struct batch *b = &s->batch;
    clear_vectors(b);
    size_t fires_most = s->queue_fires > FIRES_CALM ? FIRES_STAMPEDE : FIRES_CALM;
    size_t rows = 0, fires = 0;
    struct bundle **tail = &b->bundles;
    while (s->queue_head) {
        struct bundle *bundle = s->queue_head;
        size_t more = bundle_rows(bundle);
        if (b->bundles && (rows + more > BATCH_ROWS || fires + bundle->fires.count > fires_most || must_wait(bundle)))
            break;
        s->queue_head = bundle->next;
        bundle->next = NULL;
        s->queue_rows -= more;
        s->queue_bytes -= bundle->arena.used;
        s->queue_fires -= bundle->fires.count;
        if (bundle->run && bundle->run->forgotten) {
            for (size_t i = 0; i < bundle->sends.count; i++)
                dispatcher_drop(s, bundle->sends.items[i]);
            for (size_t i = 0; i < bundle->fired.count; i++) /* its retry */
                driver_forget(s, bundle->fired.items[i]);
            bundle_free(s, bundle);
            continue;
        }
        rows += more;
        fires += bundle->fires.count;
        take_bundle(b, bundle);
        *tail = bundle;
        tail = &bundle->next;
    }
    if (!s->queue_head) {
        s->queue_tail = &s->queue_head;
        s->urgent = false;
        if (mono_cmp(s->now.mono, s->next_decided) >= 0)
            (void)janitor_through(s);
    }
    keep_last_states(b);
}

static void fill(struct batch *b, struct store_batch *op, int64_t boot)
{
    op->boot = boot;
    op->number = b->number;
    op->activations = b->activations.items;
    op->activation_count = b->activations.count;
    op->skips = b->skips.items;
    op->skip_count = b->skips.count;
    op->states = b->states.items;
    op->state_count = b->states.count;
    op->fires = b->fires.items;
    op->fire_count = b->fires.count;
    op->runs = b->runs.items;
    op->run_count = b->runs.count;
    op->steps = b->steps.items;
    op->step_count = b->steps.count;
    op->attempts = b->attempts.items;
    op->attempt_count = b->attempts.count;
    op->requests = b->requests.items;
    op->request_count = b->requests.count;
    op->reports = b->reports.items;
    op->report_count = b->reports.count;
    op->suspended_jobs = b->suspended.items;
    op->suspended_count = b->suspended.count;
    op->moves = b->moves.items;
    op->move_count = b->moves.count;
    op->lingers = b->lingers.items;
    op->linger_count = b->lingers.count;
    op->notices = b->notices.items;
    op->notice_count = b->notices.count;
    op->wishes = b->wishes.items;
    op->wish_count = b->wishes.count;
    op->left = b->left.items;
    op->left_count = b->left.count;
}

static void batch_send(struct scheduler *s)
{
    struct batch *b = &s->batch;
    struct work *work = work_new(s, STORE_BATCH, batch_answered);
    fill(b, &work->op.batch, s->boot);
    b->busy = true;
    b->retry_at = MONO_NEVER;
    b->sent_at = s->now.mono;
    work_submit(work);
}

static void again(struct scheduler *s)
{
    struct batch *b = &s->batch;
    b->pause = b->pause == 0 ? RETRY_FIRST : b->pause * 2 > RETRY_MOST ? RETRY_MOST : b->pause * 2;
    b->retry_at = mono_add(s->now.mono, b->pause);
}

static void check_answered(struct scheduler *s, struct work *work);

/* Ask after the batch again when the pause is over. */
static void check_later(struct scheduler *s)
{
    s->batch.work = work_new(s, STORE_BATCH_CHECK, check_answered);
    again(s);
}

static void verified(struct scheduler *s, struct work *work)
{
    struct batch *b = &s->batch;
    if (!work_ok(s, work)) {
        check_later(s);
        return;
    }
    for (size_t i = 0; i < b->fires.count; i++)
        if (!work->op.runs_open.open[i] && b->fires.items[i].outcome == OUTCOME_DONE)
            b->fires.items[i].outcome = OUTCOME_EXISTS;
    batch_settled(s);
}

/* The reply was lost, and with it perhaps the outcome of each fire: a fire that took place is an open run now. */
static void verify_fires(struct scheduler *s)
{
    struct batch *b = &s->batch;
    b->moves_unsure = b->moves.count > 0;
    if (b->fires.count == 0) {
        batch_settled(s);
        return;
    }
    struct work *work = work_new(s, STORE_RUNS_OPEN, verified);
    int64_t *ids = mem_alloc(b->fires.count * sizeof *ids);
    for (size_t i = 0; i < b->fires.count; i++)
        ids[i] = b->fires.items[i].run.id;
    work->memory = ids;
    work->op.runs_open.runs = ids;
    work->op.runs_open.count = b->fires.count;
    work_submit(work);
}

static void check_answered(struct scheduler *s, struct work *work)
{
    if (work->op.status == STATUS_OK && work->op.batch_check.committed)
        verify_fires(s);
    else if (work->op.status == STATUS_OK)
        batch_send(s);
    else if (work->op.status == STATUS_FENCED && !s->options.break_fence)
        scheduler_fenced(s, "the store refused this process while a batch was asked after");
    else
        check_later(s);
}

static void batch_check(struct scheduler *s)
{
    struct work *work = s->batch.work ? s->batch.work : work_new(s, STORE_BATCH_CHECK, check_answered);
    s->batch.work = NULL;
    s->batch.retry_at = MONO_NEVER;
    work->op.batch_check.boot = s->boot;
    work->op.batch_check.number = s->batch.number;
    work_submit(work);
}

static void stall(struct scheduler *s, const struct work *work)
{
    if (!s->batch.stalled)
        sink_logf(s->ports.sink, LOG_ERROR,
                  "The store does not take a batch; it is repeated until it does, and nothing is fired meanwhile.",
                  "batch=%lld status=\"%s\" error=\"%s\"", (long long)s->batch.number, status_text(work->op.status),
                  work->op.error.text);
    s->batch.stalled = true;
    replica_stale(s);
    count(&s->metrics.batches_refused, 1);
}

static void batch_answered(struct scheduler *s, struct work *work)
{
    switch ((int)work->op.status) {
    case STATUS_OK:
        batch_settled(s);
        break;
    case STATUS_FENCED:
        if (s->options.break_fence)
            batch_settled(s);
        else
            scheduler_fenced(s, "a batch was refused");
        break;
    case STATUS_UNKNOWN:
    case STATUS_EXISTS: /* this number has been committed: it was in doubt before */
        stall(s, work);
        batch_check(s);
        break;
    default:
        stall(s, work);
        again(s);
        break;
    }
}

void batcher_step(struct scheduler *s)
{
    struct batch *b = &s->batch;
    if (b->busy) {
        if (mono_cmp(b->retry_at, MONO_NEVER) < 0) {
            if (mono_cmp(s->now.mono, b->retry_at) < 0)
                wake_at(s, b->retry_at);
            else if (b->work)
                batch_check(s);
            else
                batch_send(s);
        }
        return;
    }
    if (!s->queue_head)
        return;
    mono patient = mono_add(s->queue_head->made, LAZY_MS);
    if (!s->urgent && s->queue_rows < BATCH_ROWS / 4 && mono_cmp(s->now.mono, patient) < 0) {
        wake_at(s, patient);
        return;
    }
    batch_build(s);
    if (b->bundles)
        batch_send(s);
}

#define ANY_OF_SLOT(holder, member, path)                  \
    for (size_t i_ = 0; i_ < (holder)->member.count; i_++) \
        if ((holder)->member.items[i_] path == slot)       \
    return true

bool batcher_holds(const struct scheduler *s, int32_t slot)
{
    for (const struct bundle *x = s->queue_head; x; x = x->next) {
        ANY_OF_SLOT(x, activations, .row.slot);
        ANY_OF_SLOT(x, skips, .row.slot);
        ANY_OF_SLOT(x, states, .row.slot);
        ANY_OF_SLOT(x, fires, .run.slot);
        ANY_OF_SLOT(x, moves, .row.slot);
        ANY_OF_SLOT(x, left, ->job->slot);
    }
    for (const struct bundle *x = s->batch.bundles; x; x = x->next)
        ANY_OF_SLOT(x, left, ->job->slot);
    if (s->batch.busy) {
        ANY_OF_SLOT(&s->batch, activations, .row.slot);
        ANY_OF_SLOT(&s->batch, skips, .row.slot);
        ANY_OF_SLOT(&s->batch, states, .row.slot);
        ANY_OF_SLOT(&s->batch, fires, .run.slot);
        ANY_OF_SLOT(&s->batch, moves, .row.slot);
    }
    return false;
}

bool batcher_quiet(const struct scheduler *s)
{
    return !s->batch.busy && !s->queue_head;
}

void batcher_release(struct scheduler *s)
{
    struct batch *b = &s->batch;
    for (struct bundle *x = b->bundles, *next; x; x = next) {
        next = x->next;
        bundle_free(s, x);
    }
    for (struct bundle *x = s->queue_head, *next; x; x = next) {
        next = x->next;
        bundle_free(s, x);
    }
    b->bundles = s->queue_head = NULL;
    s->queue_tail = &s->queue_head;
    if (b->work) {
        store_op_release(&b->work->op);
        free(b->work->memory);
        free(b->work);
        b->work = NULL;
    }
    vec_release(&b->activations);
    vec_release(&b->skips);
    vec_release(&b->states);
    vec_release(&b->fires);
    vec_release(&b->runs);
    vec_release(&b->steps);
    vec_release(&b->attempts);
    vec_release(&b->requests);
    vec_release(&b->reports);
    vec_release(&b->suspended);
    vec_release(&b->moves);
    vec_release(&b->lingers);
    vec_release(&b->notices);
    vec_release(&b->wishes);
    vec_release(&b->left);
    vec_release(&b->through);
}
