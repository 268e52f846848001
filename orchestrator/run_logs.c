/* What executors tell while they work: lines of their logs, and how far they are. */
#include <string.h>

#include "core/base/ids.h"
#include "core/base/utf8.h"
#include "orchestrator/routes.h"
#include "orchestrator/view.h"

/* What is no UTF-8 is shown as "?" byte by byte, so that the answer stays JSON. */
static const char *readable(struct call *call, const char *text)
{
    if (!text || utf8_valid(text, strlen(text)))
        return text;
    char *copy = call_copy(call, slice_of(text, strlen(text)));
    for (char *p = copy; p && *p; p++)
        if ((unsigned char)*p >= 0x80)
            *p = '?';
    return copy;
}

void run_write_alive(struct call *call, int64_t run, struct out *out)
{
    struct store_op op;
    store_op_init(&op, STORE_ALIVE_READ);
    op.alive_read.run = run;
    out_open(out, "progress", '[');
    if (call_store(call, &op) == STATUS_OK)
        for (size_t i = 0; i < op.alive_read.count; i++) {
            const struct alive_row *row = &op.alive_read.rows[i];
            out_open(out, NULL, '{');
            out_text(out, "step", row->step);
            out_int(out, "item", row->item);
            out_int(out, "try", row->key_try);
            out_time(out, "at", row->at);
            if (row->progress >= 0)
                out_int(out, "progress", row->progress);
            out_text(out, "message", readable(call, row->message));
            out_int(out, "lines", row->lines);
            out_close(out, '}');
        }
    out_close(out, ']');
    store_op_release(&op);
}

/* The run must be of the project. */
static bool run_there(struct call *call, int64_t id)
{
    struct store_op op;
    store_op_init(&op, STORE_RUN_READ);
    op.run_read.project = call->project;
    op.run_read.id = id;
    bool there = call_store(call, &op) == STATUS_OK;
    if (!there && op.status == STATUS_NOT_FOUND)
        call_fail(call, RUN_UNKNOWN, "run", call->id, NULL);
    else if (!there)
        problem_of_store(&call->problem, &op);
    store_op_release(&op);
    return there;
}

void run_logs_get(struct call *call)
{
    struct store_op op;
    struct page page;
    struct out out = out_to(call_body(call));
    int64_t id;
    if (!id_parse(call->id, &id)) {
        call_fail(call, RUN_UNKNOWN, "run", call->id, NULL);
        return;
    }
    if (!input_page(call, &page) || !run_there(call, id))
        return;
    store_op_init(&op, STORE_LOG_READ);
    op.log_read = (struct store_log_read){
        .run = id, .step = http_query(call->request, "step"), .skip = page.skip, .limit = page.limit};
    if (call_store(call, &op) == STATUS_OK) {
        out_open(&out, NULL, '{');
        out_open(&out, "items", '[');
        for (size_t i = 0; i < op.log_read.count; i++) {
            const struct log_line *line = &op.log_read.lines[i];
            out_open(&out, NULL, '{');
            out_text(&out, "step", line->step);
            out_int(&out, "item", line->item);
            out_int(&out, "try", line->key_try);
            out_int(&out, "line", line->line);
            out_time(&out, "at", line->at);
            out_text(&out, "text", readable(call, line->text));
            out_close(&out, '}');
        }
        out_close(&out, ']');
        out_close(&out, '}');
    } else {
        problem_of_store(&call->problem, &op);
    }
    store_op_release(&op);
}
