/* Run now: sequential, may wait for the end of each run. */
#include <time.h>

#include "orchestrator/definitions.h"
#include "orchestrator/requests.h"
#include "orchestrator/routes.h"
#include "orchestrator/view.h"

#define WAIT_MAX (10 * SPAN_MINUTE)  /* of ?wait= */
#define OWNER_WAIT (5 * SPAN_SECOND) /* until somebody takes the job */
#define POLL_FIRST 50                /* ms between two looks at a run */
#define POLL_LAST 200

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
    bool found, taken, ended; /* taken: an owner made a run of the request */
    enum run_state state;
    char *text; /* the run as JSON; owned */
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
    seen->found = status == STATUS_OK;
    if (seen->found) {
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

/* Until the run has ended, `until` has come, or (nobody has taken it) OWNER_WAIT is over. */
static void wait_for_run(struct call *call, int64_t id, int64_t until, struct seen *seen)
{
    int64_t owner_until = mono_ms() + OWNER_WAIT, pause = POLL_FIRST;
    for (;;) {
        if (!look_at(call, id, seen) || seen->ended)
            return;
        int64_t left = (seen->taken || owner_until > until ? until : owner_until) - mono_ms();
        if (left <= 0 || atomic_load(&call->o->stopping))
            return;
        sleep_ms(pause < left ? pause : left);
        pause = pause * 3 / 2 < POLL_LAST ? pause * 3 / 2 : POLL_LAST;
    }
}

/* CONFLICT_001 when the job is busy and its overlap policy is not `allow`. */
static bool may_run_now(struct catalog *catalog, const struct definition_row *row, struct problem *problem)
{
    const struct document *job = catalog_find(catalog, DOCUMENT_JOB, row->project, row->name);
    if (catalog->failed)
        return problem_set(problem, STORE_AWAY, NULL);
    if (!job || row->running == 0 || job->job.overlap == OVERLAP_ALLOW)
        return true;
    return problem_set(problem, RUN_BUSY, "job", row->name, "overlap", overlap_policy_text(job->job.overlap), NULL);
}

static bool find_job(struct call *call, struct batch_item *item)
{
    struct store_op op;
    struct catalog catalog;
    if (!definition_fetch(call, DOCUMENT_JOB, call->project, item->key, &op, &item->problem))
        return false;
    catalog_init(&catalog, call);
    bool ok = may_run_now(&catalog, &op.list.rows[0], &item->problem);
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

static bool run_one(struct call *call, struct batch *batch, size_t i, int64_t until, struct run_context *c)
{
    struct batch_item *item = &batch->items[i];
    if (item->problem.code != PROBLEM_NONE || !wish_read(call, batch, item, REQUEST_RUN, &c->adds[i]) ||
        !find_job(call, item))
        return true;
    if (!add_one(call, item, &c->adds[i]))
        return false;
    if (until < 0 || item->problem.code != PROBLEM_NONE)
        return true;
    wait_for_run(call, c->adds[i].row.id, until, &c->seen[i]);
    if (!c->seen[i].taken && mono_ms() < until && !atomic_load(&call->o->stopping))
        withdraw(call, item, c->adds[i].row.id);
    return true;
}

void jobs_run(struct call *call)
{
    struct batch batch;
    span wait;
    if (!query_span(call, "wait", WAIT_MAX, &wait) || !requests_input(call, "names", "name", &batch))
        return;
    struct run_context c = {mem_alloc((batch.count + 1) * sizeof *c.adds),
                            mem_alloc((batch.count + 1) * sizeof *c.seen)};
    bool waits = wait > 0 && waiting_begin(call->o), ok = true, all_ended = true;
    int64_t until = waits ? mono_ms() + wait : -1;
    for (size_t i = 0; ok && i < batch.count; i++) {
        ok = run_one(call, &batch, i, until, &c);
        all_ended = all_ended && (c.seen[i].ended || batch.items[i].problem.code != PROBLEM_NONE);
    }
    if (waits)
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
