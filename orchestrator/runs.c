/* History: runs with their steps and attempts, and the ledger (runs and skips). */
#include <stdio.h>
#include <string.h>

#include "core/base/ids.h"
#include "core/logic/run/graph.h"
#include "core/logic/run/machine.h"
#include "orchestrator/definitions.h"
#include "orchestrator/routes.h"
#include "orchestrator/view.h"

/* ---- one run ---- */

static void write_error(struct call *call, const struct run_row *run, struct out *out)
{
    struct str message;
    if (!run->error_code || !*run->error_code) {
        out_json(out, "error", NULL);
        return;
    }
    str_init(&message, 4096);
    bool ours = problem_text_of_run(run->error_code, run->error_args, call->language, &message);
    out_open(out, "error", '{');
    out_text(out, "code", run->error_code);
    out_json(out, "args", run->error_args ? run->error_args : "{}");
    out_text(out, "message", ours ? str_text(&message) : NULL);
    out_close(out, '}');
    str_release(&message);
}

void run_write(struct call *call, const struct run_row *run, const char *job, const char *project, bool detail,
               struct out *out)
{
    /* Between the wish and its run's row, the wish was all there is: fired is when it was acknowledged. */
    instant fired = instant_is_none(run->fired_at) ? run->scheduled_at : run->fired_at;
    out_open(out, NULL, '{');
    out_id(out, "id", run->id);
    out_text(out, "job", job);
    out_text(out, "project", project);
    out_text(out, "trigger", run->trigger);
    out_text(out, "origin", run_origin_text(run->origin));
    out_int(out, "generation", run->generation);
    out_time(out, "scheduled_at", run->scheduled_at);
    out_time(out, "due_at", run->due_at);
    out_time(out, "fired_at", fired);
    out_time(out, "started_at", run->started_at);
    out_time(out, "ended_at", run->ended_at);
    out_text(out, "state", run_state_text(run->state));
    out_text(out, "reason", run->reason);
    write_error(call, run, out);
    out_text(out, "scheduler", run->node);
    out_id(out, "family", run->family ? run->family : run->id);
    out_id(out, "retry_of", run->retry_of);
    out_int(out, "retry_no", run->retry_no);
    out_int(out, "version", run->version);
    out_bool(out, "cancel_requested", run->cancel_requested);
    if (!detail)
        out_close(out, '}');
}

/* ---- list ---- */

static bool read_states(struct call *call, unsigned *ret)
{
    const char *text = http_query(call->request, "state");
    char name[32];
    *ret = 0;
    while (text && *text) {
        size_t length = strcspn(text, ",");
        enum run_state state = RUN_QUEUED;
        (void)snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name), text);
        if (length && !run_state_parse(name, &state))
            return call_fail(call, PARAMETER_INVALID, "name", "state", "reason",
                             "queued, running, succeeded, failed, canceled, lost; several joined by commas", NULL);
        if (length)
            *ret |= 1U << state;
        text += length + (text[length] == ',');
    }
    return true;
}

static bool read_origin(struct call *call, int *ret)
{
    const char *text = http_query(call->request, "origin");
    enum run_origin origin = ORIGIN_SCHEDULE;
    *ret = -1;
    if (!text || !*text)
        return true;
    if (!run_origin_parse(text, &origin))
        return call_fail(call, PARAMETER_INVALID, "name", "origin", "reason",
                         "schedule, misfire, manual, retry, recovery, plan, job, backfill, event", NULL);
    *ret = (int)origin;
    return true;
}

static const char *query_text(struct call *call, const char *name)
{
    const char *text = http_query(call->request, name);
    return text && *text ? text : NULL;
}

static bool read_filter(struct call *call, struct store_runs_list *list)
{
    bool has_error = false;
    const char *error = query_text(call, "has_error"), *family = query_text(call, "family");
    list->project = call->project;
    list->job = query_text(call, "job");
    list->trigger = query_text(call, "trigger");
    list->node = query_text(call, "scheduler");
    list->text = query_text(call, "q");
    if (!read_states(call, &list->states) || !read_origin(call, &list->origin) ||
        !query_time(call, "from", &list->from) || !query_time(call, "to", &list->to) ||
        !query_bool(call, "has_error", &has_error))
        return false;
    list->has_error = error ? has_error : -1;
    if (family && !id_parse(family, &list->family))
        return call_fail(call, PARAMETER_INVALID, "name", "family", "reason", "an id of a run", NULL);
    return true;
}

static bool list_failed(struct call *call, const struct store_op *op)
{
    if (op->status == STATUS_INVALID)
        return call_fail(call, PARAMETER_INVALID, "name", "cursor", "reason", "must come from an earlier answer", NULL);
    if (op->status == STATUS_NOT_FOUND) {
        definition_missing(&call->problem, DOCUMENT_PROJECT, NULL, call->project);
        return false;
    }
    return problem_of_store(&call->problem, op);
}

void runs_list(struct call *call)
{
    struct page page;
    struct store_op op;
    struct out out = out_to(call_body(call));
    store_op_init(&op, STORE_RUNS_LIST);
    if (!read_filter(call, &op.runs_list) || !input_page(call, &page))
        return;
    op.runs_list.skip = page.skip;
    op.runs_list.limit = page.limit;
    op.runs_list.cursor = query_text(call, "cursor");
    if (call_store(call, &op) == STATUS_OK) {
        const struct store_runs_list *list = &op.runs_list;
        out_open(&out, NULL, '{');
        out_open(&out, "items", '[');
        for (size_t i = 0; i < list->count; i++)
            run_write(call, &list->rows[i], list->jobs[i], list->projects ? list->projects[i] : call->project, false,
                      &out);
        out_close(&out, ']');
        out_int(&out, "total", list->total);
        out_text(&out, "cursor", list->next_cursor);
        out_close(&out, '}');
    } else {
        (void)list_failed(call, &op);
    }
    store_op_release(&op);
}

void runs_count(struct call *call)
{
    struct store_op op;
    struct out out = out_to(call_body(call));
    store_op_init(&op, STORE_RUNS_LIST);
    if (!read_filter(call, &op.runs_list))
        return;
    op.runs_list.count_only = true;
    op.runs_list.limit = 1;
    if (call_store(call, &op) == STATUS_OK) {
        out_open(&out, NULL, '{');
        out_int(&out, "count", op.runs_list.total);
        out_close(&out, '}');
    } else {
        (void)list_failed(call, &op);
    }
    store_op_release(&op);
}

/* ---- detail ---- */

static void write_attempt(const struct attempt_row *attempt, struct out *out)
{
    char key[CALL_KEY_SIZE];
    out_open(out, NULL, '{');
    out_int(out, "n", attempt->n);
    out_int(out, "try", attempt->key_try);
    out_int(out, "item", attempt->item);
    out_text(out, "instance", attempt->instance);
    out_text(out, "scheduler", attempt->node);
    out_id(out, "epoch", attempt->boot);
    out_text(out, "state", attempt_state_text(attempt->state));
    out_text(out, "class", attempt->class == CALL_NONE ? NULL : call_class_text(attempt->class));
    out_time(out, "started_at", attempt->started_at);
    out_time(out, "ended_at", attempt->ended_at);
    if (attempt->http_status)
        out_int(out, "http_status", attempt->http_status);
    else
        out_json(out, "http_status", NULL);
    out_text(out, "error", attempt->error);
    out_text(out, "code", attempt->code);
    out_text(out, "idempotency_key", call_key_format(attempt, key));
    out_int(out, "bytes_sent", attempt->bytes_sent);
    out_bool(out, "reused_connection", attempt->reused_connection);
    out_bool(out, "stale", attempt->stale);
    out_text(out, "notice", notice_state_text(attempt->notice));
    out_int(out, "connect_ms", attempt->connect_ms);
    out_int(out, "first_byte_ms", attempt->first_byte_ms);
    out_int(out, "total_ms", attempt->total_ms);
    out_int(out, "request_size", attempt->request_size);
    out_int(out, "response_size", attempt->response_size);
    out_text(out, "request", attempt->request);
    out_text(out, "response", attempt->response);
    out_close(out, '}');
}

/* Bodies lie in the store's rows only; the machine knows the order and the state. */
static const struct attempt_row *stored_attempt(const struct store_run_read *read, const struct attempt_row *attempt)
{
    for (size_t i = 0; i < read->attempt_count; i++) {
        const struct attempt_row *row = &read->attempts[i];
        if (row->n == attempt->n && row->item == attempt->item && !strcmp(row->step, attempt->step))
            return row;
    }
    return attempt;
}

static void write_calls(const struct store_run_read *read, const struct run_step *step, struct out *out)
{
    for (size_t i = 0; i < step->calls.attempt_count; i++)
        write_attempt(stored_attempt(read, &step->calls.attempts[i]), out);
}

static void write_state(const struct run_step *step, struct out *out)
{
    out_text(out, "state", step_state_text(step->state));
    out_text(out, "reason", step->reason);
    out_time(out, "since", step->since);
    out_time(out, "due", step->due);
    out_text(out, "error", step->error);
    out_json(out, "result", step->result);
}

/* Of a broadcast, shard or map: what its list holds, and how far each has come. */
static void write_items(const struct run_step *step, struct out *out)
{
    struct json_walk walk = json_walk_begin(slice_of(step->list, strlen(step->list)));
    struct str value;
    str_init(&value, LIMIT_REQUEST);
    out_int(out, "item_count", (int64_t)step->item_count);
    out_open(out, "items", '[');
    for (size_t i = 0; i < step->item_count && i < LIMIT_BATCH_ITEMS && json_walk_next(&walk); i++) {
        str_clear(&value);
        str_add_bytes(&value, walk.value.bytes, walk.value.length);
        out_open(out, NULL, '{');
        out_int(out, "item", step->items[i].item);
        out_json(out, "value", str_text(&value));
        write_state(&step->items[i], out);
        out_close(out, '}');
    }
    out_close(out, ']');
    str_release(&value);
}

static void write_step(const struct store_run_read *read, const struct run_step *step, struct out *out)
{
    out_open(out, NULL, '{');
    out_text(out, "step", step->spec->name);
    write_state(step, out);
    if (step->list)
        write_items(step, out);
    out_open(out, "attempts", '[');
    write_calls(read, step, out);
    for (size_t i = 0; i < step->item_count && i < LIMIT_BATCH_ITEMS; i++)
        write_calls(read, &step->items[i], out);
    out_close(out, ']');
    out_close(out, '}');
}

/* The run as its rows tell it, steps in graph order. false: the document of its version is gone, or does not fit. */
static bool write_replayed(struct store_run_read *read, struct out *out)
{
    struct faults faults;
    struct run *run = NULL;
    struct error err;
    bool ok = false;
    if (!read->job_json)
        return false;
    faults_init(&faults);
    struct document *document = document_parse(read->job_json, strlen(read->job_json), DOCUMENT_JOB, &faults);
    faults_release(&faults);
    if (!document)
        return false;
    const struct job_spec *job = &document->job;
    size_t *order = mem_alloc((job->step_count + 1) * sizeof *order);
    if (graph_order(job, order) && run_replay(&read->run, job, read->steps, read->step_count, read->attempts,
                                              read->attempt_count, &run, &err) == STATUS_OK) {
        for (size_t i = 0; i < job->step_count; i++)
            write_step(read, &run->steps[order[i]], out);
        ok = true;
    }
    run_free(run);
    free(order);
    document_free(document);
    return ok;
}

/* Without the document: what there is, by step in order of its first row. */
static void write_raw(const struct store_run_read *read, struct out *out)
{
    for (size_t i = 0; i < read->step_count + read->attempt_count; i++) {
        bool from_step = i < read->step_count;
        const char *name = from_step ? read->steps[i].step : read->attempts[i - read->step_count].step;
        const struct step_row *last = NULL;
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++)
            seen =
                !strcmp(name, k < read->step_count ? read->steps[k].step : read->attempts[k - read->step_count].step);
        if (seen)
            continue;
        for (size_t k = 0; k < read->step_count; k++)
            if (!strcmp(read->steps[k].step, name))
                last = &read->steps[k];
        out_open(out, NULL, '{');
        out_text(out, "step", name);
        out_text(out, "state", last ? step_state_text(last->state) : "running");
        out_text(out, "reason", last ? last->reason : NULL);
        out_open(out, "attempts", '[');
        for (size_t k = 0; k < read->attempt_count; k++)
            if (!strcmp(read->attempts[k].step, name))
                write_attempt(&read->attempts[k], out);
        out_close(out, ']');
        out_close(out, '}');
    }
}

/* Parameters that rule the run: job < trigger < request. */
static void write_params(const struct store_run_read *read, struct out *out)
{
    const char *given = read->params ? read->params : read->run.params;
    struct faults faults;
    faults_init(&faults);
    struct document *document =
        read->job_json ? document_parse(read->job_json, strlen(read->job_json), DOCUMENT_JOB, &faults) : NULL;
    faults_release(&faults);
    struct str base, all;
    str_init(&base, LIMIT_DOCUMENT);
    str_init(&all, LIMIT_DOCUMENT);
    const char *trigger = NULL;
    for (size_t i = 0; document && i < document->job.trigger_count; i++)
        if (read->run.trigger && !strcmp(document->job.triggers[i].name, read->run.trigger))
            trigger = document->job.triggers[i].params;
    json_merge(document ? document->job.params : NULL, trigger, &base);
    json_merge(str_text(&base), given, &all);
    out_json(out, "params", str_text(&all));
    str_release(&base);
    str_release(&all);
    document_free(document);
}

void run_get(struct call *call)
{
    struct store_op op;
    struct out out = out_to(call_body(call));
    int64_t id;
    if (!id_parse(call->id, &id)) {
        call_fail(call, RUN_NONE, "run", call->id, "project", call->project, NULL);
        return;
    }
    store_op_init(&op, STORE_RUN_READ);
    op.run_read.project = call->project;
    op.run_read.id = id;
    if (call_store(call, &op) == STATUS_OK) {
        struct store_run_read *read = &op.run_read;
        run_write(call, &read->run, read->job_name, read->project_name ? read->project_name : call->project, true,
                  &out);
        write_params(read, &out);
        out_text(&out, "zone", read->run.zone ? read->run.zone : "UTC");
        out_open(&out, "steps", '[');
        if (!write_replayed(read, &out))
            write_raw(read, &out);
        out_close(&out, ']');
        run_write_alive(call, id, &out);
        out_close(&out, '}');
    } else if (op.status == STATUS_NOT_FOUND) {
        call_fail(call, RUN_NONE, "run", call->id, "project", call->project, NULL);
    } else {
        problem_of_store(&call->problem, &op);
    }
    store_op_release(&op);
}

/* ---- ledger ---- */

static void write_ledger_item(const struct ledger_item *item, struct out *out)
{
    out_open(out, NULL, '{');
    out_text(out, "trigger", item->trigger);
    out_time(out, "scheduled_at", item->scheduled_at);
    out_text(out, "outcome", item->is_run ? "run" : "skip");
    out_id(out, "run", item->is_run ? item->run : 0);
    out_text(out, "state", item->is_run ? run_state_text(item->state) : NULL);
    out_text(out, "reason", item->reason);
    out_time(out, "from", item->is_run ? item->scheduled_at : item->from);
    out_time(out, "to", item->is_run ? item->scheduled_at : item->to);
    out_int(out, "count", item->is_run ? 1 : item->count);
    out_close(out, '}');
}

void ledger_list(struct call *call)
{
    struct page page;
    struct store_op op;
    struct out out = out_to(call_body(call));
    store_op_init(&op, STORE_LEDGER);
    struct store_ledger *ledger = &op.ledger;
    ledger->project = call->project;
    ledger->job = query_text(call, "job");
    ledger->trigger = query_text(call, "trigger");
    if (!input_page(call, &page) || !query_time(call, "from", &ledger->from) || !query_time(call, "to", &ledger->to))
        return;
    if (!ledger->job) {
        call_fail(call, PARAMETER_INVALID, "name", "job", "reason", "say whose ledger: ?job=NAME", NULL);
        return;
    }
    ledger->skip = page.skip;
    ledger->limit = page.limit;
    if (call_store(call, &op) == STATUS_OK) {
        out_page_begin(&out);
        for (size_t i = 0; i < ledger->count; i++)
            write_ledger_item(&ledger->items[i], &out);
        out_page_end(&out, ledger->total);
    } else if (op.status == STATUS_NOT_FOUND) {
        definition_missing(&call->problem, DOCUMENT_JOB, call->project, ledger->job);
    } else {
        problem_of_store(&call->problem, &op);
    }
    store_op_release(&op);
}
