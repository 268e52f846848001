/* Run now: sequential, may wait for the end of each run. */
#include <time.h>

#include "orchestrator/definitions.h"
#include "orchestrator/requests.h"
#include "orchestrator/routes.h"
#include "orchestrator/view.h"

#define WAIT_MAX (10 * SPAN_MINUTE)  /* of ?wait= */
#define OWNER_WAIT (5 * SPAN_SECOND) /* until somebody takes the job */
#define TAKEN_WAIT SPAN_SECOND       /* the same for calls that do not wait for the end */
#define POLL_FIRST 20                /* ms between two looks at a run */
#define POLL_LAST 200
#define REFUSED 2 /* looks: a single one may fall between the run's commit and the request's */

static void sleep_ms(int64_t ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    (void)nanosleep(&t, NULL);
}

static int64_t mono_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool waiting_begin(struct orchestrator *o)
{
    if (atomic_fetch_add(&o->waiting, 1) < o->waiting_max)
        return true;
    atomic_fetch_sub(&o->waiting, 1);
    return false;
}

/* What a waiting call has seen of its run. */
struct seen {
    bool taken, ended; /* taken: an owner made a run of the request */
    int missing;       /* looks in a row that found neither request nor run: its owner refused it, the job was busy */
    enum run_state state;
    enum overlap_policy overlap; /* of the job */
    char *text;                  /* the run as JSON; owned */
};

struct run_context {
    struct request_add *adds;
    struct seen *seen;
};

static bool look_at(struct call *call, int64_t id, struct seen *seen)
{
    struct store_op op;
    store_op_init(&op, STORE_RUN_READ);
    op.run_read.project = call->project;
    op.run_read.id = id;
    enum status status = call_store(call, &op);
    const struct run_row *run = &op.run_read.run;
    seen->missing = status == STATUS_NOT_FOUND ? seen->missing + 1 : 0;
    if (status == STATUS_OK) {
        struct str text;
        struct out out = out_to(&text);
        str_init(&text, LIMIT_DOCUMENT);
        seen->state = run->state;
        seen->taken = run->boot > 0;
        seen->ended = run_state_terminal(run->state);
        run_write(call, run, op.run_read.job_name, op.run_read.project_name, false, &out);
        free(seen->text);
        seen->text = str_take(&text);
    }
    store_op_release(&op);
    return status == STATUS_OK || status == STATUS_NOT_FOUND || status == STATUS_UNAVAILABLE;
}

/* How long a call stays: to the end of the run, or only until somebody has taken (or refused) it. */
struct patience {
    bool granted, to_the_end;
    int64_t until; /* ms, CLOCK_BOOTTIME */
};

/* Until the run has ended, patience is over, or (nobody has taken it) OWNER_WAIT is over. */
static void wait_for_run(struct call *call, int64_t id, const struct patience *patience, struct seen *seen)
{
    int64_t owner_until = mono_ms() + OWNER_WAIT, pause = POLL_FIRST;
    for (;;) {
        if (!look_at(call, id, seen) || seen->ended || seen->missing == REFUSED)
            return;
        if (seen->taken && !patience->to_the_end)
            return;
        int64_t until = seen->taken || owner_until > patience->until ? patience->until : owner_until;
        int64_t left = until - mono_ms();
        if (left <= 0 || atomic_load(&call->o->stopping))
            return;
        sleep_ms(pause < left ? pause : left);
        pause = pause * 3 / 2 < POLL_LAST ? pause * 3 / 2 : POLL_LAST;
    }
}

static bool is_busy(struct problem *problem, const char *job, enum overlap_policy overlap)
{
    return problem_set(problem, RUN_BUSY, "job", job, "overlap", overlap_policy_text(overlap), NULL);
}

/* CONFLICT_001 when the job is busy and its overlap policy is not `allow`. */
static bool may_run_now(struct catalog *catalog, const struct definition_row *row, enum overlap_policy *ret_overlap,
                        struct problem *problem)
{
    const struct document *job = catalog_find(catalog, DOCUMENT_JOB, row->project, row->name);
    if (catalog->failed)
        return problem_set(problem, STORE_AWAY, NULL);
    if (job)
        *ret_overlap = job->job.overlap;
    return !job || row->running == 0 || *ret_overlap == OVERLAP_ALLOW || is_busy(problem, row->name, *ret_overlap);
}

static bool find_job(struct call *call, struct batch_item *item, enum overlap_policy *ret_overlap)
{
    struct store_op op;
    struct catalog catalog;
    if (!definition_fetch(call, DOCUMENT_JOB, call->project, item->key, &op, &item->problem))
        return false;
    catalog_init(&catalog, call);
    bool ok = may_run_now(&catalog, &op.list.rows[0], ret_overlap, &item->problem);
    catalog_release(&catalog);
    store_op_release(&op);
    return ok;
}

/* Nobody took it: it shall not run behind the back of a caller who was told so. */
static void withdraw(struct call *call, struct batch_item *item, int64_t id)
{
    struct store_op op;
    struct request_add cancel = {.row = {.kind = REQUEST_CANCEL, .run = id, .scheduled_at = INSTANT_NONE}};
    store_op_init(&op, STORE_REQUEST_ADD);
    op.request_add.project = call->project;
    op.request_add.author = call->who.name;
    op.request_add.items = &cancel;
    op.request_add.count = 1;
    (void)call_store(call, &op);
    store_op_release(&op);
    problem_set(&item->problem, SCHEDULER_AWAY, "job", item->key, "seconds", "5", NULL);
}

/* One element of a batch whose other elements must not be touched. */
static bool add_one(struct call *call, struct batch_item *item, struct request_add *add)
{
    struct batch one = {.items = item, .count = 1};
    return requests_add(call, &one, add);
}

static void run_result(struct call *call, struct batch *batch, size_t index, struct out *out, void *context)
{
    const struct run_context *c = context;
    const struct seen *seen = &c->seen[index];
    if (!seen->text) {
        wish_result(call, batch, index, out, c->adds);
        return;
    }
    out_open(out, NULL, '{');
    out_id(out, "run", c->adds[index].row.id);
    out_text(out, "trigger", call_printf(call, "manual-%lld", (long long)c->adds[index].row.id));
    out_text(out, "state", run_state_text(seen->state));
    out_json(out, "detail", seen->text);
    out_close(out, '}');
}

static bool run_one(struct call *call, struct batch *batch, size_t i, const struct patience *patience,
                    struct run_context *c)
{
    struct batch_item *item = &batch->items[i];
    struct seen *seen = &c->seen[i];
    if (item->problem.code != PROBLEM_NONE || !wish_read(call, batch, item, REQUEST_RUN, &c->adds[i]))
        return true;
    /* A key may have been seen before, and then its run is why the job is busy: its owner decides. */
    bool ask_owner = c->adds[i].idempotency_key && patience->granted;
    if (!find_job(call, item, &seen->overlap) && !(ask_owner && item->problem.code == RUN_BUSY))
        return true;
    problem_release(&item->problem);
    if (!add_one(call, item, &c->adds[i]))
        return false;
    if (!patience->granted || item->problem.code != PROBLEM_NONE)
        return true;
    wait_for_run(call, c->adds[i].row.id, patience, seen);
    if (seen->missing == REFUSED) /* somebody else was first */
        (void)is_busy(&item->problem, item->key, seen->overlap);
    else if (!seen->taken && patience->to_the_end && mono_ms() < patience->until && !atomic_load(&call->o->stopping))
        withdraw(call, item, c->adds[i].row.id);
    if (!patience->to_the_end) { /* nobody asked how it goes on */
        free(seen->text);
        seen->text = NULL;
    }
    return true;
}

/* Without ?wait= a single run is still followed until it is taken, so that a refusal is told. */
static struct patience grant(struct call *call, const struct batch *batch, span wait)
{
    struct patience patience = {.to_the_end = wait > 0};
    patience.granted = (wait > 0 || batch->count == 1) && waiting_begin(call->o);
    patience.until = mono_ms() + (wait > 0 ? wait : TAKEN_WAIT);
    return patience;
}

void jobs_run(struct call *call)
{
    struct batch batch;
    span wait;
    if (!query_span(call, "wait", WAIT_MAX, &wait) || !requests_input(call, "names", "name", &batch))
        return;
    struct run_context c = {mem_alloc((batch.count + 1) * sizeof *c.adds),
                            mem_alloc((batch.count + 1) * sizeof *c.seen)};
    struct patience patience = grant(call, &batch, wait);
    bool ok = true, all_ended = true;
    for (size_t i = 0; ok && i < batch.count; i++) {
        ok = run_one(call, &batch, i, &patience, &c);
        all_ended = all_ended && (c.seen[i].ended || batch.items[i].problem.code != PROBLEM_NONE);
    }
    if (patience.granted)
        atomic_fetch_sub(&call->o->waiting, 1);
    if (ok) {
        if (!all_ended && (wait > 0 || call->name))
            call->response->status = 202;
        requests_answer(call, &batch, run_result, &c);
    }
    for (size_t i = 0; i < batch.count; i++)
        free(c.seen[i].text);
    free(c.adds);
    free(c.seen);
    batch_release(&batch);
}
