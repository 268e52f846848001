/* Projects, applications with their instances and tasks, calendars. */
#include <stdio.h>
#include <string.h>

#include "orchestrator/definitions.h"
#include "orchestrator/routes.h"

void projects_list(struct call *call)
{
    definition_handle_list(call, DOCUMENT_PROJECT);
}

void project_get(struct call *call)
{
    definition_handle_get(call, DOCUMENT_PROJECT, call->project);
}

void project_put(struct call *call)
{
    definition_handle_put(call, DOCUMENT_PROJECT, call->project);
}

void project_delete(struct call *call)
{
    definition_handle_delete(call, DOCUMENT_PROJECT, call->project);
}

void applications_list(struct call *call)
{
    definition_handle_list(call, DOCUMENT_APPLICATION);
}

void application_get(struct call *call)
{
    definition_handle_get(call, DOCUMENT_APPLICATION, call->app);
}

void application_put(struct call *call)
{
    definition_handle_put(call, DOCUMENT_APPLICATION, call->app);
}

void application_delete(struct call *call)
{
    definition_handle_delete(call, DOCUMENT_APPLICATION, call->app);
}

void calendars_list(struct call *call)
{
    definition_handle_list(call, DOCUMENT_CALENDAR);
}

void calendar_get(struct call *call)
{
    definition_handle_get(call, DOCUMENT_CALENDAR, call->name);
}

void calendar_put(struct call *call)
{
    definition_handle_put(call, DOCUMENT_CALENDAR, call->name);
}

void calendar_delete(struct call *call)
{
    definition_handle_delete(call, DOCUMENT_CALENDAR, call->name);
}

static struct document *parse_application(const struct definition_row *row)
{
    struct faults faults;
    faults_init(&faults);
    struct document *document = document_parse(row->json, strlen(row->json), DOCUMENT_APPLICATION, &faults);
    faults_release(&faults);
    return document;
}

static void write_static(const struct application_spec *application, struct out *out)
{
    for (size_t i = 0; i < application->instance_count; i++) {
        out_open(out, NULL, '{');
        out_text(out, "address", application->instances[i]);
        out_text(out, "source", "static");
        out_close(out, '}');
    }
}

static void write_registered(const struct store_instances *read, struct out *out)
{
    static const char *const sources[] = {[INSTANCE_HTTP] = "http", [INSTANCE_ZOOKEEPER] = "zookeeper"};
    for (size_t i = 0; i < read->count; i++) {
        const struct instance_row *row = &read->rows[i];
        out_open(out, NULL, '{');
        out_text(out, "address", row->address);
        out_text(out, "source", sources[row->source == INSTANCE_ZOOKEEPER]);
        out_text(out, "version", row->version);
        out_time(out, "first_seen", row->first_seen);
        out_time(out, "last_seen", row->seen_at);
        out_time(out, "expires_at", row->expires_at);
        out_close(out, '}');
    }
}

/* Those of the document, then those that announce themselves. */
void instances_list(struct call *call)
{
    struct store_op op, live;
    struct out out = out_to(call_body(call));
    if (!definition_fetch(call, DOCUMENT_APPLICATION, call->project, call->app, &op, &call->problem))
        return;
    store_op_init(&live, STORE_INSTANCES);
    live.instances.project = call->project;
    live.instances.application = call->app;
    struct document *document = parse_application(&op.list.rows[0]);
    if (call_store(call, &live) == STATUS_OK) {
        out_page_begin(&out);
        if (document)
            write_static(&document->application, &out);
        write_registered(&live.instances, &out);
        out_page_end(&out, (int64_t)((document ? document->application.instance_count : 0) + live.instances.count));
    } else {
        problem_of_store(&call->problem, &live);
    }
    store_op_release(&live);
    document_free(document);
    store_op_release(&op);
}

static void write_task(const struct application_spec *application, const struct task_spec *task, struct out *out)
{
    const struct call_spec *call = &task->call;
    char name[2 * LIMIT_NAME + 2];
    (void)snprintf(name, sizeof name, "%s/%s", application->meta.name, task->name);
    out_open(out, NULL, '{');
    out_text(out, "name", name);
    out_text(out, "application", application->meta.name);
    out_text(out, "task", task->name);
    out_text(out, "description", task->description);
    out_text(out, "method", call->method);
    out_text(out, "path", call->path);
    out_span(out, "timeout", call->timeout < 0 ? CALL_TIMEOUT_DEFAULT : call->timeout);
    out_text(out, "repeat", repeat_rule_text(call->repeat == REPEAT_UNSET ? REPEAT_SAME_INSTANCE : call->repeat));
    out_bool(out, "serial", call->serial);
    out_int(out, "instances", (int64_t)application->instance_count);
    out_close(out, '}');
}

/* Tasks of one application, or of all of the project: the page is over tasks, in order of application and document. */
void tasks_list(struct call *call)
{
    struct page page;
    struct store_op op;
    struct out out = out_to(call_body(call));
    int64_t total = 0;
    const char *app = call->app;
    if (!input_page(call, &page))
        return;
    if (app) {
        if (!definition_fetch(call, DOCUMENT_APPLICATION, call->project, app, &op, &call->problem))
            return;
    } else {
        store_op_init(&op, STORE_LIST);
        op.list.kind = DOCUMENT_APPLICATION;
        op.list.project = call->project;
        op.list.limit = LIMIT_BATCH_ITEMS;
        if (call_store(call, &op) != STATUS_OK) {
            if (op.status == STATUS_NOT_FOUND)
                definition_missing(&call->problem, DOCUMENT_PROJECT, NULL, call->project);
            else
                problem_of_store(&call->problem, &op);
            store_op_release(&op);
            return;
        }
    }
    out_page_begin(&out);
    for (size_t i = 0; i < op.list.count; i++) {
        struct document *document = parse_application(&op.list.rows[i]);
        for (size_t t = 0; document && t < document->application.task_count; t++, total++)
            if (total >= page.skip && total < page.skip + page.limit)
                write_task(&document->application, &document->application.tasks[t], &out);
        document_free(document);
    }
    out_page_end(&out, total);
    store_op_release(&op);
}
