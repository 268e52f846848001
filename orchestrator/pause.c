/* Pause and resume of jobs and of single triggers. */
#include <string.h>

#include "orchestrator/definitions.h"
#include "orchestrator/requests.h"
#include "orchestrator/routes.h"
#include "orchestrator/view.h"

struct pausing {
    struct request_add *adds;
    char **missed;     /* of a resume: what it will fire now, as JSON text; owned */
    int64_t *will_run; /* how many instants these are */
    enum request_kind kind;
    bool skip_missed;
};

static bool pausing_begin(struct call *call, const struct batch *batch, enum request_kind kind, struct pausing *ret)
{
    *ret = (struct pausing){.kind = kind};
    ret->adds = mem_alloc((batch->count + 1) * sizeof *ret->adds);
    ret->missed = mem_alloc((batch->count + 1) * sizeof *ret->missed);
    ret->will_run = mem_alloc((batch->count + 1) * sizeof *ret->will_run);
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
    free(p->will_run);
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
            p->will_run[i] = job_view_missed(catalog, &view, p->adds[i].row.trigger, &out);
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
    if (p->kind == REQUEST_RESUME) {
        out_int(out, "will_run", p->will_run[index]);
        out_json(out, "fires_now", p->missed[index] ? p->missed[index] : "[]");
    }
    out_close(out, '}');
}

static void pause_or_resume(struct call *call, enum request_kind kind)
{
    struct batch batch;
    struct pausing p;
    struct catalog catalog;
    if (!requests_input(call, "names", "name", &batch))
        return;
    catalog_init(&catalog, call);
    if (pausing_begin(call, &batch, kind, &p)) {
        foresee(&catalog, &batch, &p);
        if (requests_add(call, &batch, p.adds))
            requests_answer(call, &batch, pause_result, &p);
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
    struct slice args = item->args.length ? item->args : slice_of("{}", 2);
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
        if (requests_add(call, &batch, p.adds))
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
