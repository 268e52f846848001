#include "adapters/store/rows.h"

#include <stdio.h>
#include <string.h>

#include "core/model/limits.h"

const char *definition_table(enum document_kind kind)
{
    static const char *const tables[DOCUMENT_KINDS] = {[DOCUMENT_PROJECT] = "project",
                                                       [DOCUMENT_APPLICATION] = "application",
                                                       [DOCUMENT_CALENDAR] = "calendar",
                                                       [DOCUMENT_JOB] = "job"};
    return tables[kind];
}

void definition_read(struct session *s, struct db_statement *q, enum document_kind kind, struct definition_row *ret)
{
    *ret = (struct definition_row){
        .kind = kind,
        .id = db_number(q, 0),
        .project_id = db_number(q, 1),
        .project = session_text(s, q, 2),
        .name = session_text(s, q, 3),
        .version = db_number(q, 4),
        .created_at = db_instant(q, 5),
        .first_created_at = db_instant(q, 6),
        .json = session_text(s, q, 7),
        .author = session_text(s, q, 8),
        .source = session_text(s, q, 9),
        .deleted = db_is_null(q, 10),
        .slot = -1,
        .deleted_at = INSTANT_NONE,
        .owner_since = INSTANT_NONE,
    };
    if (kind != DOCUMENT_JOB)
        return;
    ret->slot = (int32_t)db_number(q, 11);
    ret->paused = db_number(q, 12) != 0;
    ret->suspended = db_number(q, 13) != 0;
    ret->moves = db_number(q, 14);
    ret->deleted_at = db_instant(q, 15);
}

void run_read(struct session *s, struct db_statement *q, struct run_row *ret)
{
    *ret = (struct run_row){
        .id = db_number(q, 0),
        .job = db_number(q, 1),
        .project = db_number(q, 2),
        .version = db_number(q, 3),
        .trigger = session_text(s, q, 4),
        .generation = db_number(q, 5),
        .scheduled_at = db_instant(q, 6),
        .due_at = db_instant(q, 7),
        .fired_at = db_instant(q, 8),
        .started_at = db_instant(q, 9),
        .ended_at = db_instant(q, 10),
        .state = (enum run_state)db_number(q, 11),
        .origin = (enum run_origin)db_number(q, 12),
        .reason = session_text(s, q, 13),
        .error_code = session_text(s, q, 14),
        .error_args = session_text(s, q, 15),
        .family = db_number(q, 16),
        .retry_of = db_number(q, 17),
        .retry_no = (int32_t)db_number(q, 18),
        .slot = (int32_t)db_number(q, 19),
        .boot = db_number(q, 20),
        .node = session_text(s, q, 21),
        .zone = session_text(s, q, 22),
        .params = session_text(s, q, 23),
        .start = session_text(s, q, 24),
        .cancel_requested = db_number(q, 25) != 0,
        .priority = (int32_t)db_number(q, 26),
    };
}

void run_fill(const struct run_row *row, struct db_value *v)
{
    bool open = !run_state_terminal(row->state);
    *v++ = db_i(run_id_day(row->id));
    *v++ = open ? db_i(row->slot) : db_m(INSTANT_NONE);
    *v++ = db_i(row->id);
    *v++ = db_i(row->job);
    *v++ = db_i(row->project);
    *v++ = db_i(row->version);
    *v++ = db_t(row->trigger ? row->trigger : "");
    *v++ = db_i(row->generation);
    *v++ = db_i(row->scheduled_at.ms);
    *v++ = db_i(row->due_at.ms);
    *v++ = db_i(row->fired_at.ms);
    *v++ = db_m(row->started_at);
    *v++ = db_m(row->ended_at);
    *v++ = db_i(row->state);
    *v++ = db_i(row->origin);
    *v++ = db_bytes_cut(row->reason, LIMIT_ERROR);
    *v++ = db_bytes_cut(row->error_code, LIMIT_ERROR);
    *v++ = db_bytes(row->error_args);
    *v++ = db_i(row->family);
    *v++ = db_i(row->retry_of);
    *v++ = db_i(row->retry_no);
    *v++ = db_i(row->slot);
    *v++ = db_i(row->boot);
    *v++ = db_t(row->node ? row->node : "");
    *v++ = db_t(row->zone);
    *v++ = db_bytes(row->params);
    *v++ = db_bytes(row->start);
    *v++ = db_i(row->cancel_requested);
    *v = db_i(row->priority);
}

void step_read(struct session *s, struct db_statement *q, struct step_row *ret)
{
    *ret = (struct step_row){
        .run = db_number(q, 0),
        .step = session_text(s, q, 1),
        .item = (int32_t)db_number(q, 2),
        .seq = (int32_t)db_number(q, 3),
        .state = (enum step_state)db_number(q, 4),
        .reason = session_text(s, q, 5),
        .due = db_instant(q, 6),
        .since = db_instant(q, 7),
        .result = session_text(s, q, 8),
        .error = session_text(s, q, 9),
        .items = session_text(s, q, 10),
    };
}

void step_fill(const struct step_row *row, struct db_value *v)
{
    *v++ = db_i(run_id_day(row->run));
    *v++ = db_i(row->run);
    *v++ = db_t(row->step ? row->step : "");
    *v++ = db_i(row->item);
    *v++ = db_i(row->seq);
    *v++ = db_i(row->state);
    *v++ = db_bytes_cut(row->reason, LIMIT_ERROR);
    *v++ = db_m(row->due);
    *v++ = db_i(row->since.ms);
    *v++ = db_bytes(row->result);
    *v++ = db_bytes_cut(row->error, LIMIT_ERROR);
    *v = db_bytes(row->items);
}

void attempt_read(struct session *s, struct db_statement *q, bool bodies, struct attempt_row *ret)
{
    *ret = (struct attempt_row){
        .run = db_number(q, 0),
        .step = session_text(s, q, 1),
        .item = (int32_t)db_number(q, 2),
        .n = (int32_t)db_number(q, 3),
        .key_try = (int32_t)db_number(q, 4),
        .seq = (int32_t)db_number(q, 5),
        .state = (enum attempt_state)db_number(q, 6),
        .class = (enum call_class)db_number(q, 7),
        .instance = session_text(s, q, 8),
        .boot = db_number(q, 9),
        .node = session_text(s, q, 10),
        .started_at = db_instant(q, 11),
        .ended_at = db_instant(q, 12),
        .http_status = (int32_t)db_number(q, 13),
        .bytes_sent = db_number(q, 14),
        .reused_connection = db_number(q, 15) != 0,
        .stale = db_number(q, 16) != 0,
        .connect_ms = (int32_t)db_number(q, 17),
        .first_byte_ms = (int32_t)db_number(q, 18),
        .total_ms = (int32_t)db_number(q, 19),
        .error = session_text(s, q, 20),
        .code = session_text(s, q, 21),
        .retry_after = db_number(q, 22),
        .result = session_text(s, q, 23),
        .request_size = db_number(q, 24),
        .response_size = db_number(q, 25),
        .notice_to = session_text(s, q, 26),
        .notice = (enum notice_state)db_number(q, 27),
    };
    if (!bodies)
        return;
    ret->request = session_text(s, q, 28);
    ret->response = session_text(s, q, 29);
}

bool body_is_inline(const char *body)
{
    return !body || strnlen(body, LIMIT_INLINE_BODY + 1) <= LIMIT_INLINE_BODY;
}

static struct db_value inline_body(const char *body)
{
    return db_bytes(body_is_inline(body) ? body : NULL);
}

void attempt_fill(const struct attempt_row *row, struct db_value *v)
{
    *v++ = db_i(run_id_day(row->run));
    *v++ = db_i(row->run);
    *v++ = db_t(row->step ? row->step : "");
    *v++ = db_i(row->item);
    *v++ = db_i(row->n);
    *v++ = db_i(row->key_try);
    *v++ = db_i(row->seq);
    *v++ = db_i(row->state);
    *v++ = db_i(row->class);
    *v++ = db_bytes_cut(row->instance, 300);
    *v++ = db_i(row->boot);
    *v++ = db_t(row->node ? row->node : "");
    *v++ = db_m(row->started_at);
    *v++ = db_m(row->ended_at);
    *v++ = db_i(row->http_status);
    *v++ = db_i(row->bytes_sent);
    *v++ = db_i(row->reused_connection);
    *v++ = db_i(row->stale);
    *v++ = db_i(row->connect_ms);
    *v++ = db_i(row->first_byte_ms);
    *v++ = db_i(row->total_ms);
    *v++ = db_bytes_cut(row->error, LIMIT_ERROR);
    *v++ = db_bytes_cut(row->code, LIMIT_ERROR);
    *v++ = db_i(row->retry_after);
    *v++ = db_bytes(row->result);
    *v++ = db_i(row->request_size);
    *v++ = db_i(row->response_size);
    *v++ = db_bytes_cut(row->notice_to, LIMIT_NOTICE_TO);
    *v++ = inline_body(row->request);
    *v = inline_body(row->response);
}

void state_read(struct session *s, struct db_statement *q, struct trigger_state_row *ret)
{
    *ret = (struct trigger_state_row){
        .job = db_number(q, 0),
        .trigger = session_text(s, q, 1),
        .slot = (int32_t)db_number(q, 2),
        .fires = db_number(q, 3),
        .last_end = db_instant(q, 4),
        .paused = db_number(q, 5) != 0,
        .job_paused = db_number(q, 6) != 0,
        .paused_since = db_instant(q, 7),
        .error = session_text(s, q, 8),
    };
}

void request_read(struct session *s, struct db_statement *q, struct request_row *ret)
{
    *ret = (struct request_row){
        .id = db_number(q, 0),
        .kind = (enum request_kind)db_number(q, 1),
        .job = db_number(q, 2),
        .slot = (int32_t)db_number(q, 3),
        .trigger = session_text(s, q, 4),
        .run = db_number(q, 5),
        .params = session_text(s, q, 6),
        .scheduled_at = db_instant(q, 7),
        .skip_missed = db_number(q, 8) != 0,
        .created_at = db_instant(q, 9),
        .author = session_text(s, q, 10),
        .outcome = session_text(s, q, 11),
        .node = session_text(s, q, 12),
        .due_at = INSTANT_NONE,
    };
    if (ret->kind == REQUEST_CANCEL) {
        ret->reason = ret->params;
        ret->params = NULL;
    } else if (ret->kind == REQUEST_RETRY) {
        ret->due_at = ret->scheduled_at;
        ret->scheduled_at = INSTANT_NONE;
    }
}

void request_fill(const struct request_row *row, int64_t project, const char *author, const char *idempotency_key,
                  struct db_value *v)
{
    bool of_run = row->kind == REQUEST_CANCEL || row->kind == REQUEST_RETRY;
    *v++ = db_i(row->id);
    *v++ = db_i(row->kind);
    *v++ = db_i(project);
    *v++ = db_i(row->job);
    *v++ = db_i(row->slot);
    *v++ = db_i(row->slot);
    *v++ = db_t(row->trigger);
    *v++ = db_i(of_run ? row->run : 0);
    *v++ = db_i(of_run ? run_id_day(row->run) : 0);
    *v++ = db_bytes(row->kind == REQUEST_CANCEL ? row->reason : row->params);
    *v++ = db_m(row->kind == REQUEST_RETRY ? row->due_at : row->scheduled_at);
    *v++ = db_i(row->skip_missed);
    *v++ = db_i(row->created_at.ms);
    *v++ = db_cut(author ? author : "", 255);
    *v++ = db_bytes(idempotency_key);
    *v = db_t(row->node);
}

void request_as_run(struct session *s, const struct request_row *request, int64_t project, struct run_row *ret)
{
    char trigger[40];
    (void)snprintf(trigger, sizeof trigger, "manual-%lld", (long long)request->id);
    instant at = instant_is_none(request->scheduled_at) ? request->created_at : request->scheduled_at;
    *ret = (struct run_row){
        .id = request->id,
        .job = request->job,
        .project = project,
        .trigger = session_copy(s, trigger),
        .scheduled_at = at,
        .due_at = at,
        .fired_at = request->created_at,
        .started_at = INSTANT_NONE,
        .ended_at = INSTANT_NONE,
        .state = RUN_QUEUED,
        .origin = ORIGIN_MANUAL,
        .slot = request->slot,
        .params = request->params,
    };
}

enum status steps_of_runs(struct session *s, const int64_t *runs, size_t count, struct step_row **ret,
                          size_t *ret_count)
{
    VEC(struct step_row) rows = {0};
    enum status status = STATUS_OK;
    for (size_t at = 0, n; at < count && status == STATUS_OK; at += n) {
        n = piece_of_day(runs, at, count);
        struct query q;
        query_init(&q, "SELECT " STEP_COLUMNS " FROM step WHERE");
        query_with(&q, " day = ? AND run", db_i(run_id_day(runs[at])));
        query_in(&q, runs + at, n);
        query_add(&q, " ORDER BY run, seq, step, item");
        status = query_open(s, &q);
        while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
            step_read(s, q.rows, vec_push(&rows));
        status = query_close(&q, status);
    }
    *ret = KEEP(s, rows);
    *ret_count = rows.count;
    vec_release(&rows);
    return status;
}

enum status attempts_of_runs(struct session *s, const int64_t *runs, size_t count, bool bodies,
                             struct attempt_row **ret, size_t *ret_count)
{
    VEC(struct attempt_row) rows = {0};
    enum status status = STATUS_OK;
    for (size_t at = 0, n; at < count && status == STATUS_OK; at += n) {
        n = piece_of_day(runs, at, count);
        struct query q;
        query_init(&q, "SELECT " ATTEMPT_READ);
        query_add(&q, bodies ? ATTEMPT_BODIES : "");
        query_with(&q, " FROM attempt WHERE day = ? AND run", db_i(run_id_day(runs[at])));
        query_in(&q, runs + at, n);
        query_add(&q, " ORDER BY run, seq, step, item, n");
        status = query_open(s, &q);
        while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
            attempt_read(s, q.rows, bodies, vec_push(&rows));
        status = query_close(&q, status);
    }
    *ret = KEEP(s, rows);
    *ret_count = rows.count;
    vec_release(&rows);
    return status;
}
