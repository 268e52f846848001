/* Requests: run now, enqueue, cancel, pause, resume. Durable in the store before they are acknowledged; the owner of
 * the job's slot carries them out. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/ids.h"
#include "orchestrator/catalog.h"
#include "orchestrator/definitions.h"
#include "orchestrator/routes.h"
#include "orchestrator/view.h"

#define AHEAD_MAX (7 * SPAN_DAY)     /* of scheduled_at: partitions are made 14 days ahead */
#define WAIT_MAX (10 * SPAN_MINUTE)  /* of ?wait= */
#define OWNER_WAIT (5 * SPAN_SECOND) /* until somebody takes the job */
#define POLL_FIRST 50                /* ms between two looks at a run */
#define POLL_LAST 200
#define KEY_MAX 255 /* bytes of an idempotency key */

static bool input_batch_or_one(struct call *call, const char *list, const char *key_member, struct batch *ret)
{
    const char *one = call->name ? call->name : call->id;
    return one ? input_single(call, one, ret) : input_batch(call, list, key_member, ret);
}

static void answer_batch(struct call *call, struct batch *batch, batch_result *result, void *context)
{
    if (call->name || call->id)
        batch_write_single(call, batch, result, context);
    else
        batch_write(call, batch, result, context);
}

/* Adds what has no problem yet; statuses of items become their problems. adds[i] belongs to items[i]. */
static bool add_requests(struct call *call, struct batch *batch, struct request_add *adds)
{
    struct store_op op;
    size_t *index = mem_alloc((batch->count + 1) * sizeof *index);
    struct request_add *list = mem_alloc((batch->count + 1) * sizeof *list);
    size_t n = 0;
    for (size_t i = 0; i < batch->count; i++)
        if (batch->items[i].problem.code == PROBLEM_NONE) {
            index[n] = i;
            list[n++] = adds[i];
        }
    store_op_init(&op, STORE_REQUEST_ADD);
    op.request_add.project = call->project;
    op.request_add.author = call->who.name;
    op.request_add.items = list;
    op.request_add.count = n;
    bool ok = !n || call_store(call, &op) == STATUS_OK || op.status == STATUS_NOT_FOUND;
    for (size_t k = 0; ok && k < n; k++) {
        struct batch_item *item = &batch->items[index[k]];
        enum status status = op.status == STATUS_NOT_FOUND ? STATUS_NOT_FOUND : list[k].status;
        adds[index[k]] = list[k];
        if (status == STATUS_EXISTS && list[k].idempotency_key)
            continue; /* asked before under this key: `row` is the earlier one */
        bool gone = status == STATUS_NOT_FOUND || status == STATUS_CONFLICT; /* CONFLICT: the run has ended */
        if (gone && list[k].row.kind == REQUEST_CANCEL)
            problem_set(&item->problem, RUN_UNKNOWN, "run", item->key, NULL);
        else if (status == STATUS_NOT_FOUND)
            problem_set(&item->problem, JOB_UNKNOWN, "project", call->project, "job", item->key, NULL);
        else if (status != STATUS_OK && status != STATUS_EXISTS)
            problem_set(&item->problem, INTERNAL, NULL);
    }
    if (!ok)
        problem_of_store(&call->problem, &op);
    store_op_release(&op);
    free(index);
    free(list);
    if (ok && n)
        call_poke(call);
    return ok;
}

/* ---- run and enqueue ---- */

static struct slice args_of(const struct batch_item *item)
{
    return item->args.length ? item->args : slice_of("{}", 2);
}

static int64_t next_run_id(struct orchestrator *o, instant scheduled_at)
{
    return run_id_make(day_of(scheduled_at), o->options.boot, atomic_fetch_add(&o->sequence, 1));
}

/* Arguments of one item; what it does not say, the common ones do. */
static bool read_wish(struct call *call, const struct batch *batch, struct batch_item *item, enum request_kind kind,
                      struct request_add *add)
{
    struct problem *problem = &item->problem;
    struct slice own = args_of(item);
    const char *params, *key;
    instant at;
    if (!input_params(call, problem, own, &params) || !input_time(call, problem, own, "scheduled_at", &at) ||
        !input_text(call, problem, own, "idempotency_key", &key))
        return false;
    if (!params && !input_params(call, problem, batch->common, &params))
        return false;
    if (instant_is_none(at) && !input_time(call, problem, batch->common, "scheduled_at", &at))
        return false;
    if (!key && (call->name || batch->count == 1) && !input_text(call, problem, batch->common, "idempotency_key", &key))
        return false;
    if (!key && (call->name || batch->count == 1))
        key = http_header(call->request, "Idempotency-Key");
    if (key && (!*key || strlen(key) > KEY_MAX))
        return problem_set(problem, PARAMETER_INVALID, "name", "idempotency_key", "reason", "1 to 255 bytes", NULL);
    if (instant_is_none(at))
        at = call->now.wall;
    if (at.ms < 0 || instant_sub(at, call->now.wall) > AHEAD_MAX)
        return problem_set(problem, PARAMETER_INVALID, "name", "scheduled_at", "reason",
                           "from 1970 to at most 7 days ahead", NULL);
    *add = (struct request_add){.name = item->key, .idempotency_key = key};
    add->row.kind = kind;
    add->row.params = params;
    add->row.scheduled_at = at;
    add->row.id = next_run_id(call->o, at);
    return true;
}

static void enqueue_result(struct call *call, struct batch *batch, size_t index, struct out *out, void *context)
{
    const struct request_add *add = &((const struct request_add *)context)[index];
    (void)call, (void)batch;
    out_open(out, NULL, '{');
    out_id(out, "run", add->row.id);
    out_text(out, "trigger", call_printf(call, "manual-%lld", (long long)add->row.id));
    if (add->status == STATUS_EXISTS)
        out_bool(out, "repeated", true);
    out_close(out, '}');
}

void jobs_enqueue(struct call *call)
{
    struct batch batch;
    if (!input_batch_or_one(call, "names", "name", &batch))
        return;
    struct request_add *adds = mem_alloc((batch.count + 1) * sizeof *adds);
    for (size_t i = 0; i < batch.count; i++)
        if (batch.items[i].problem.code == PROBLEM_NONE)
            (void)read_wish(call, &batch, &batch.items[i], REQUEST_ENQUEUE, &adds[i]);
    if (add_requests(call, &batch, adds)) {
        if (call->name)
            call->response->status = 202;
        answer_batch(call, &batch, enqueue_result, adds);
    }
    free(adds);
    batch_release(&batch);
}

/* ---- run now: sequential, may wait ---- */

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
    return add_requests(call, &one, add);
}

static void run_result(struct call *call, struct batch *batch, size_t index, struct out *out, void *context)
{
    const struct run_context *c = context;
    const struct seen *seen = &c->seen[index];
    if (!seen->text) {
        enqueue_result(call, batch, index, out, c->adds);
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
    if (item->problem.code != PROBLEM_NONE || !read_wish(call, batch, item, REQUEST_RUN, &c->adds[i]) ||
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
    if (!query_span(call, "wait", WAIT_MAX, &wait) || !input_batch_or_one(call, "names", "name", &batch))
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
        answer_batch(call, &batch, run_result, &c);
    }
    for (size_t i = 0; i < batch.count; i++)
        free(c.seen[i].text);
    free(c.adds);
    free(c.seen);
    batch_release(&batch);
}

/* ---- pause and resume ---- */

struct pausing {
    struct request_add *adds;
    char **missed; /* of a resume: what it will fire now, as JSON text; owned */
    enum request_kind kind;
    bool skip_missed;
};

static bool pausing_begin(struct call *call, const struct batch *batch, enum request_kind kind, struct pausing *ret)
{
    *ret = (struct pausing){.kind = kind};
    ret->adds = mem_alloc((batch->count + 1) * sizeof *ret->adds);
    ret->missed = mem_alloc((batch->count + 1) * sizeof *ret->missed);
    bool ok = input_bool(&call->problem, batch->common, "skip_missed", &ret->skip_missed);
    for (size_t i = 0; i < batch->count; i++) {
        ret->adds[i].name = batch->items[i].key;
        ret->adds[i].row = (struct request_row){
            .kind = kind, .skip_missed = ret->skip_missed, .scheduled_at = INSTANT_NONE, .created_at = INSTANT_NONE};
    }
    return ok;
}

static void pausing_end(struct pausing *p, struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        free(p->missed[i]);
    free(p->missed);
    free(p->adds);
    batch_release(batch);
}

/* Looked up before the request is written: afterwards the owner may have resumed already. */
static void foresee(struct catalog *catalog, const struct batch *batch, struct pausing *p)
{
    struct call *call = catalog->call;
    for (size_t i = 0; i < batch->count && p->kind == REQUEST_RESUME && !p->skip_missed; i++) {
        struct store_op op;
        struct job_view view;
        struct problem ignored = {0};
        struct str text;
        struct out out = out_to(&text);
        if (batch->items[i].problem.code != PROBLEM_NONE ||
            !definition_fetch(call, DOCUMENT_JOB, call->project, p->adds[i].name, &op, &ignored))
            continue;
        str_init(&text, 64 << 10);
        out_open(&out, NULL, '[');
        if (job_view_open(catalog, &op.list.rows[0], &view)) {
            job_view_missed(catalog, &view, p->adds[i].row.trigger, &out);
            job_view_release(&view);
        } else {
            problem_release(&call->problem); /* the request itself will tell */
            catalog->failed = false;
        }
        out_close(&out, ']');
        p->missed[i] = str_take(&text);
        store_op_release(&op);
    }
}

static void pause_result(struct call *call, struct batch *batch, size_t index, struct out *out, void *context)
{
    const struct pausing *p = context;
    (void)call, (void)batch;
    out_open(out, NULL, '{');
    out_bool(out, "paused", p->kind == REQUEST_PAUSE);
    if (p->kind == REQUEST_RESUME)
        out_json(out, "fires_now", p->missed[index] ? p->missed[index] : "[]");
    out_close(out, '}');
}

static void pause_or_resume(struct call *call, enum request_kind kind)
{
    struct batch batch;
    struct pausing p;
    struct catalog catalog;
    if (!input_batch_or_one(call, "names", "name", &batch))
        return;
    catalog_init(&catalog, call);
    if (pausing_begin(call, &batch, kind, &p)) {
        foresee(&catalog, &batch, &p);
        if (add_requests(call, &batch, p.adds))
            answer_batch(call, &batch, pause_result, &p);
    }
    catalog_release(&catalog);
    pausing_end(&p, &batch);
}

void jobs_pause(struct call *call)
{
    pause_or_resume(call, REQUEST_PAUSE);
}

void jobs_resume(struct call *call)
{
    pause_or_resume(call, REQUEST_RESUME);
}

static bool has_trigger(const struct job_spec *job, const char *name)
{
    for (size_t i = 0; i < job->trigger_count; i++)
        if (!strcmp(job->triggers[i].name, name))
            return true;
    return false;
}

/* {"job","trigger"} of the item → job and trigger, both known. */
static void find_trigger(struct catalog *catalog, struct batch_item *item, struct request_add *add)
{
    struct call *call = catalog->call;
    const char *job = NULL, *trigger = NULL;
    struct slice args = args_of(item);
    if (item->problem.code != PROBLEM_NONE || !input_text(call, &item->problem, args, "job", &job) ||
        !input_text(call, &item->problem, args, "trigger", &trigger))
        return;
    if (!job || !trigger) {
        problem_set(&item->problem, JSON_INVALID, "reason", "every key needs \"job\" and \"trigger\"", NULL);
        return;
    }
    const struct document *document = catalog_find(catalog, DOCUMENT_JOB, call->project, job);
    if (catalog->failed)
        problem_set(&item->problem, STORE_AWAY, NULL);
    else if (!document)
        problem_set(&item->problem, JOB_UNKNOWN, "project", call->project, "job", job, NULL);
    else if (!has_trigger(&document->job, trigger))
        problem_set(&item->problem, TRIGGER_UNKNOWN, "job", job, "trigger", trigger, NULL);
    add->name = job;
    add->row.trigger = trigger;
}

static void triggers_pause_or_resume(struct call *call, enum request_kind kind)
{
    struct batch batch;
    struct pausing p;
    struct catalog catalog;
    if (!input_batch(call, "keys", "trigger", &batch))
        return;
    catalog_init(&catalog, call);
    if (pausing_begin(call, &batch, kind, &p)) {
        for (size_t i = 0; i < batch.count; i++)
            find_trigger(&catalog, &batch.items[i], &p.adds[i]);
        foresee(&catalog, &batch, &p);
        if (add_requests(call, &batch, p.adds))
            batch_write(call, &batch, pause_result, &p);
    }
    catalog_release(&catalog);
    pausing_end(&p, &batch);
}

void triggers_pause(struct call *call)
{
    triggers_pause_or_resume(call, REQUEST_PAUSE);
}

void triggers_resume(struct call *call)
{
    triggers_pause_or_resume(call, REQUEST_RESUME);
}

/* ---- cancel ---- */

static void cancel_result(struct call *call, struct batch *batch, size_t index, struct out *out, void *context)
{
    const struct request_add *add = &((const struct request_add *)context)[index];
    (void)call, (void)batch;
    out_open(out, NULL, '{');
    out_id(out, "run", add->row.run);
    out_close(out, '}');
}

/* Is there such a run in this project, and is it open? */
static void find_run(struct call *call, struct batch_item *item, struct request_add *add)
{
    struct store_op op;
    *add = (struct request_add){.row = {.kind = REQUEST_CANCEL, .scheduled_at = INSTANT_NONE}};
    if (item->problem.code != PROBLEM_NONE)
        return;
    if (!id_parse(item->key, &add->row.run)) {
        problem_set(&item->problem, RUN_UNKNOWN, "run", item->key, NULL);
        return;
    }
    store_op_init(&op, STORE_RUN_READ);
    op.run_read.project = call->project;
    op.run_read.id = add->row.run;
    enum status status = call_store(call, &op);
    if (status == STATUS_NOT_FOUND || (status == STATUS_OK && run_state_terminal(op.run_read.run.state)))
        problem_set(&item->problem, RUN_UNKNOWN, "run", item->key, NULL);
    else
        problem_of_store(&item->problem, &op);
    store_op_release(&op);
}

void runs_cancel(struct call *call)
{
    struct batch batch;
    if (!input_batch_or_one(call, "ids", "id", &batch))
        return;
    struct request_add *adds = mem_alloc((batch.count + 1) * sizeof *adds);
    for (size_t i = 0; i < batch.count; i++)
        find_run(call, &batch.items[i], &adds[i]);
    if (add_requests(call, &batch, adds)) {
        if (call->id)
            call->response->status = 202;
        answer_batch(call, &batch, cancel_result, adds);
    }
    free(adds);
    batch_release(&batch);
}

/* Open runs of a job, newest first. */
static bool open_runs(struct call *call, struct batch_item *item, struct store_op *op)
{
    store_op_init(op, STORE_RUNS_LIST);
    op->runs_list.project = call->project;
    op->runs_list.job = item->key;
    op->runs_list.states = 1U << RUN_QUEUED | 1U << RUN_RUNNING;
    op->runs_list.from = op->runs_list.to = INSTANT_NONE;
    op->runs_list.has_error = op->runs_list.origin = -1;
    op->runs_list.limit = LIMIT_BATCH_ITEMS;
    if (call_store(call, op) == STATUS_OK)
        return true;
    if (op->status == STATUS_NOT_FOUND)
        problem_set(&item->problem, JOB_UNKNOWN, "project", call->project, "job", item->key, NULL);
    else
        problem_of_store(&item->problem, op);
    store_op_release(op);
    return false;
}

static void cancel_job(struct call *call, struct batch_item *item, char **ret_runs)
{
    struct store_op op;
    struct str text;
    struct out out = out_to(&text);
    struct catalog catalog;
    catalog_init(&catalog, call);
    bool known = catalog_find(&catalog, DOCUMENT_JOB, call->project, item->key) != NULL;
    catalog_release(&catalog);
    if (!known) {
        problem_set(&item->problem, JOB_UNKNOWN, "project", call->project, "job", item->key, NULL);
        return;
    }
    if (!open_runs(call, item, &op))
        return;
    struct batch inner = {.items = mem_alloc((op.runs_list.count + 1) * sizeof *inner.items),
                          .count = op.runs_list.count};
    struct request_add *adds = mem_alloc((inner.count + 1) * sizeof *adds);
    str_init(&text, 64 << 10);
    out_open(&out, NULL, '[');
    for (size_t i = 0; i < inner.count; i++) {
        inner.items[i].key = item->key;
        adds[i].row =
            (struct request_row){.kind = REQUEST_CANCEL, .run = op.runs_list.rows[i].id, .scheduled_at = INSTANT_NONE};
    }
    if (add_requests(call, &inner, adds)) {
        for (size_t i = 0; i < inner.count; i++)
            if (inner.items[i].problem.code == PROBLEM_NONE) /* else it has ended meanwhile */
                out_id(&out, NULL, adds[i].row.run);
    } else {
        item->problem = call->problem;
        call->problem = (struct problem){0};
    }
    out_close(&out, ']');
    *ret_runs = str_take(&text);
    free(adds);
    batch_release(&inner);
    store_op_release(&op);
}

static void cancel_job_result(struct call *call, struct batch *batch, size_t index, struct out *out, void *context)
{
    (void)call, (void)batch;
    out_open(out, NULL, '{');
    out_json(out, "runs", ((char **)context)[index]);
    out_close(out, '}');
}

void jobs_cancel(struct call *call)
{
    struct batch batch;
    if (!input_batch_or_one(call, "names", "name", &batch))
        return;
    char **runs = mem_alloc((batch.count + 1) * sizeof *runs);
    for (size_t i = 0; i < batch.count; i++)
        if (batch.items[i].problem.code == PROBLEM_NONE)
            cancel_job(call, &batch.items[i], &runs[i]);
    answer_batch(call, &batch, cancel_job_result, runs);
    for (size_t i = 0; i < batch.count; i++)
        free(runs[i]);
    free(runs);
    batch_release(&batch);
}
