/* Cancel: runs by id, or all open runs of a job. */
#include <string.h>

#include "core/base/ids.h"
#include "orchestrator/definitions.h"
#include "orchestrator/requests.h"
#include "orchestrator/routes.h"
#include "orchestrator/view.h"

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
    if (!requests_input(call, "ids", "id", &batch))
        return;
    struct request_add *adds = mem_alloc((batch.count + 1) * sizeof *adds);
    for (size_t i = 0; i < batch.count; i++)
        find_run(call, &batch.items[i], &adds[i]);
    if (requests_add(call, &batch, adds)) {
        if (call->id)
            call->response->status = 202;
        requests_answer(call, &batch, cancel_result, adds);
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
    if (requests_add(call, &inner, adds)) {
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
    if (!requests_input(call, "names", "name", &batch))
        return;
    char **runs = mem_alloc((batch.count + 1) * sizeof *runs);
    for (size_t i = 0; i < batch.count; i++)
        if (batch.items[i].problem.code == PROBLEM_NONE)
            cancel_job(call, &batch.items[i], &runs[i]);
    requests_answer(call, &batch, cancel_job_result, runs);
    for (size_t i = 0; i < batch.count; i++)
        free(runs[i]);
    free(runs);
    batch_release(&batch);
}
