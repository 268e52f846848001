/* Jobs: documents with their status; list, status, explain. */
#include <string.h>

#include "orchestrator/definitions.h"
#include "orchestrator/requests.h"
#include "orchestrator/routes.h"
#include "orchestrator/view.h"

void job_get(struct call *call)
{
    definition_handle_get(call, DOCUMENT_JOB, call->name);
}

void job_put(struct call *call)
{
    definition_handle_put(call, DOCUMENT_JOB, call->name);
}

void job_delete(struct call *call)
{
    definition_handle_delete(call, DOCUMENT_JOB, call->name);
}

static bool state_known(struct call *call)
{
    static const char *const states[] = {"active", "paused", "suspended"};
    const char *state = http_query(call->request, "state");
    for (size_t i = 0; state && i < sizeof states / sizeof *states; i++)
        if (!strcmp(state, states[i]))
            return true;
    return !state || call_fail(call, PARAMETER_INVALID, "name", "state", "reason", "active, paused or suspended", NULL);
}

static void write_views(struct catalog *catalog, const struct store_list *list, const struct store_op *asked,
                        struct out *out)
{
    for (size_t i = 0; i < list->count; i++) {
        struct job_view view;
        if (!job_view_open_of(catalog, asked, &list->rows[i], &view))
            return;
        job_view_write(catalog->call, &view, out);
        job_view_release(&view);
    }
}

void jobs_list(struct call *call)
{
    struct page page;
    struct store_op op, asked;
    struct catalog catalog;
    struct out out = out_to(call_body(call));
    if (!input_page(call, &page) || !state_known(call))
        return;
    store_op_init(&op, STORE_LIST);
    op.list.kind = DOCUMENT_JOB;
    op.list.project = call->project;
    op.list.text = http_query(call->request, "q");
    op.list.state = http_query(call->request, "state");
    op.list.owner = http_query(call->request, "owner");
    op.list.skip = page.skip;
    op.list.limit = page.limit;
    catalog_init(&catalog, call);
    if (call_store(call, &op) == STATUS_OK) {
        out_page_begin(&out);
        if (job_views_ask(call, op.list.rows, op.list.count, &asked)) {
            write_views(&catalog, &op.list, &asked, &out);
            store_op_release(&asked);
        }
        out_page_end(&out, op.list.total);
    } else if (op.status == STATUS_NOT_FOUND) {
        definition_missing(&call->problem, DOCUMENT_PROJECT, NULL, call->project);
    } else {
        problem_of_store(&call->problem, &op);
    }
    catalog_release(&catalog);
    store_op_release(&op);
}

static void write_view(struct call *call,
                       void (*write)(struct call *call, const struct job_view *view, struct out *out))
{
    struct store_op op;
    struct catalog catalog;
    struct job_view view;
    struct out out = out_to(call_body(call));
    if (!definition_fetch(call, DOCUMENT_JOB, call->project, call->name, &op, &call->problem))
        return;
    catalog_init(&catalog, call);
    if (job_view_open(&catalog, &op.list.rows[0], &view)) {
        write(call, &view, &out);
        job_view_release(&view);
    }
    catalog_release(&catalog);
    store_op_release(&op);
}

void job_status_get(struct call *call)
{
    write_view(call, job_view_write);
}

void job_explain(struct call *call)
{
    write_view(call, job_view_explain);
}

/* ---- jobs:status ---- */

struct status_context {
    struct store_op op, asked;
    struct catalog catalog;
};

static void status_result(struct call *call, struct batch *batch, size_t index, struct out *out, void *context)
{
    struct status_context *c = context;
    for (size_t i = 0; i < c->op.list.count; i++) {
        struct job_view view;
        if (strcmp(c->op.list.rows[i].name, batch->items[index].key) != 0)
            continue;
        if (!job_view_open_of(&c->catalog, &c->asked, &c->op.list.rows[i], &view))
            break;
        job_view_write(call, &view, out);
        job_view_release(&view);
        return;
    }
    out_json(out, NULL, "null"); /* unknown jobs are no error: they hold nothing */
}

void jobs_status(struct call *call)
{
    struct batch batch;
    struct status_context c;
    if (!input_batch(call, "names", "name", &batch))
        return;
    const char **names = mem_alloc((batch.count + 1) * sizeof *names);
    for (size_t i = 0; i < batch.count; i++)
        names[i] = batch.items[i].key;
    store_op_init(&c.op, STORE_LIST);
    c.op.list.kind = DOCUMENT_JOB;
    c.op.list.project = call->project;
    c.op.list.names = names;
    c.op.list.name_count = batch.count;
    c.op.list.limit = LIMIT_BATCH_ITEMS;
    catalog_init(&c.catalog, call);
    if (!batch.count || call_store(call, &c.op) == STATUS_OK || c.op.status == STATUS_NOT_FOUND) {
        if (job_views_ask(call, c.op.list.rows, c.op.list.count, &c.asked)) {
            batch_write(call, &batch, status_result, &c);
            store_op_release(&c.asked);
        }
    } else {
        problem_of_store(&call->problem, &c.op);
    }
    catalog_release(&c.catalog);
    store_op_release(&c.op);
    free(names);
    batch_release(&batch);
}

/* ---- jobs:schedule, jobs:unschedule ---- */

/* {"name","document":{…}}, or the document itself (named by its metadata). */
static void schedule_item(struct call *call, struct batch_item *item, const struct put_options *options,
                          struct put_result *ret)
{
    struct slice body = json_member(item->args, "document");
    struct catalog catalog;
    if (!body.length)
        body = item->args;
    if (json_type_of(body) != JSON_OBJECT) {
        problem_set(&item->problem, JSON_INVALID, "reason", "every item needs a document (an object)", NULL);
        return;
    }
    catalog_init(&catalog, call);
    struct document *document =
        definition_parse(&catalog, body, DOCUMENT_JOB, call->project, item->key, &item->problem);
    if (document)
        (void)definition_store(call, document, options, ret, &item->problem);
    document_free(document);
    catalog_release(&catalog);
}

static void schedule_result(struct call *call, struct batch *batch, size_t index, struct out *out, void *context)
{
    const struct put_result *result = &((struct put_result *)context)[index];
    out_open(out, NULL, '{');
    out_int(out, "version", result->version);
    out_bool(out, "created", result->created);
    out_bool(out, "unchanged", result->unchanged);
    out_key(out, "warnings");
    details_write(&batch->items[index].problem.details, true, call->language, out->to);
    out_close(out, '}');
}

/* Items that carry a whole document name themselves in its metadata. */
static void name_items(struct call *call, struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct batch_item *item = &batch->items[i];
        const char *name;
        struct problem ignored = {0};
        struct slice document = json_member(item->args, "document");
        struct slice metadata = json_member(document.length ? document : item->args, "metadata");
        if (*item->key || !metadata.length || !input_text(call, &ignored, metadata, "name", &name) || !name)
            continue;
        item->key = name;
        problem_release(&item->problem);
    }
}

void jobs_schedule(struct call *call)
{
    struct batch batch;
    struct put_options options = {0};
    if (!query_bool(call, "dry_run", &options.dry_run) || !input_batch(call, "items", "name", &batch))
        return;
    struct put_result *results = mem_alloc((batch.count + 1) * sizeof *results);
    name_items(call, &batch);
    for (size_t i = 0; i < batch.count; i++)
        if (batch.items[i].problem.code == PROBLEM_NONE)
            schedule_item(call, &batch.items[i], &options, &results[i]);
    batch_write(call, &batch, schedule_result, results);
    for (size_t i = 0; i < batch.count; i++)
        put_result_release(&results[i]);
    free(results);
    batch_release(&batch);
}

void jobs_unschedule(struct call *call)
{
    struct batch batch;
    if (!input_batch(call, "names", "name", &batch))
        return;
    for (size_t i = 0; i < batch.count; i++)
        if (batch.items[i].problem.code == PROBLEM_NONE)
            (void)definition_remove(call, DOCUMENT_JOB, call->project, batch.items[i].key, 0, &batch.items[i].problem);
    batch_write(call, &batch, empty_result, NULL);
    batch_release(&batch);
}
