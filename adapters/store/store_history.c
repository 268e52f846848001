/* One run with everything, and the ledger. */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "adapters/store/rows.h"
#include "adapters/store/store_use.h"
#include "core/model/limits.h"

/* ---- RUN_READ ------------------------------------------------------------------------------------------------------
 */

static enum status read_run(struct session *s, int64_t id, struct run_row *ret)
{
    struct db_statement *q;
    enum status status = db_query(s->db, "SELECT " RUN_COLUMNS " FROM run WHERE day = ? AND id = ?",
                                  VALUES(db_i(run_id_day(id)), db_i(id)), &q);
    if (status == STATUS_OK && (status = db_step(q)) == STATUS_OK)
        run_read(s, q, ret);
    db_end(q);
    return status == STATUS_END ? STATUS_NOT_FOUND : status;
}

static enum status read_wish(struct session *s, int64_t id, struct run_row *ret)
{
    struct db_statement *q;
    enum status status = db_query(s->db,
                                  "SELECT " REQUEST_COLUMNS ", q.project FROM request q WHERE q.id = ? AND "
                                  "q.kind <= ? AND q.open_slot IS NOT NULL",
                                  VALUES(db_i(id), db_i(REQUEST_ENQUEUE)), &q);
    if (status == STATUS_OK && (status = db_step(q)) == STATUS_OK) {
        struct request_row request;
        request_read(s, q, &request);
        request_as_run(s, &request, db_number(q, REQUEST_COLUMN_COUNT), ret);
    }
    db_end(q);
    return status == STATUS_END ? STATUS_NOT_FOUND : status;
}

static enum status read_names(struct session *s, struct store_run_read *op)
{
    struct db_statement *q;
    enum status status = db_query(s->db,
                                  "SELECT d.name, p.name FROM job d JOIN project p ON p.id = d.project_id "
                                  "WHERE d.id = ?",
                                  VALUES(db_i(op->run.job)), &q);
    if (status == STATUS_OK && (status = db_step(q)) == STATUS_OK) {
        op->job_name = session_text(s, q, 0);
        op->project_name = session_text(s, q, 1);
    }
    db_end(q);
    if (status != STATUS_OK && status != STATUS_END)
        return status;
    /* A wish has no version yet: the newest is what it would run. */
    if (op->run.version)
        status = db_query(s->db, "SELECT json FROM job_version WHERE job = ? AND version = ?",
                          VALUES(db_i(op->run.job), db_i(op->run.version)), &q);
    else
        status = db_query(s->db, "SELECT json FROM job WHERE id = ?", VALUES(db_i(op->run.job)), &q);
    if (status == STATUS_OK && (status = db_step(q)) == STATUS_OK)
        op->job_json = session_text(s, q, 0);
    db_end(q);
    return status == STATUS_END ? STATUS_OK : status;
}

static const char *unpack(struct session *s, int64_t encoding, int64_t size, const void *bytes, size_t length)
{
    if (size < 0 || (size_t)size > 2 * LIMIT_RESPONSE)
        return NULL;
    if (encoding == 0)
        return arena_copy(s->arena, bytes, length);
    char *text = arena_alloc(s->arena, (size_t)size + 1);
    if (!text) {
        s->no_room = true;
        return NULL;
    }
    size_t got = ZSTD_decompress(text, (size_t)size, bytes, length);
    if (ZSTD_isError(got))
        return NULL;
    text[got] = '\0';
    return text;
}

static void put_body(struct store_run_read *op, const char *step, int64_t item, int64_t n, bool response,
                     const char *text)
{
    for (size_t i = 0; i < op->attempt_count; i++) {
        struct attempt_row *a = &op->attempts[i];
        if (a->item != item || a->n != n || !a->step || strcmp(a->step, step) != 0)
            continue;
        if (response)
            a->response = text;
        else
            a->request = text;
    }
}

static enum status read_bodies(struct session *s, struct store_run_read *op)
{
    struct db_statement *q;
    if (!op->attempts)
        return STATUS_OK;
    enum status status =
        db_query(s->db, "SELECT step, item, n, part, encoding, size, bytes FROM body WHERE day = ? AND run = ?",
                 VALUES(db_i(run_id_day(op->id)), db_i(op->id)), &q);
    while (status == STATUS_OK && (status = db_step(q)) == STATUS_OK) {
        size_t length;
        const void *bytes = db_column(q, 6, &length);
        const char *step = session_text(s, q, 0);
        const char *text = bytes ? unpack(s, db_number(q, 4), db_number(q, 5), bytes, length) : NULL;
        if (step)
            put_body(op, step, db_number(q, 1), db_number(q, 2), db_number(q, 3) == 1, text);
    }
    db_end(q);
    return status == STATUS_END ? STATUS_OK : status;
}

enum status sql_run_read(struct session *s, struct store_run_read *op)
{
    op->job_name = op->project_name = op->params = op->job_json = NULL;
    enum status status = read_run(s, op->id, &op->run);
    if (status == STATUS_NOT_FOUND)
        status = read_wish(s, op->id, &op->run);
    if (status == STATUS_OK)
        status = read_names(s, op);
    if (status == STATUS_OK && op->project && (!op->project_name || strcmp(op->project, op->project_name) != 0))
        status = STATUS_NOT_FOUND;
    if (status == STATUS_NOT_FOUND)
        return error_set(s->error, STATUS_NOT_FOUND, "there is no run %lld", (long long)op->id);
    op->params = op->run.params;
    if (status == STATUS_OK)
        status = steps_of_runs(s, &op->id, 1, &op->steps, &op->step_count);
    if (status == STATUS_OK)
        status = attempts_of_runs(s, &op->id, 1, true, &op->attempts, &op->attempt_count);
    return status == STATUS_OK ? read_bodies(s, op) : status;
}

/* ---- LEDGER --------------------------------------------------------------------------------------------------------
 */

/* Runs of instants that a trigger promised, and skips that touch [from, to). */
static void add_arms(struct query *q, const struct store_ledger *op, const int64_t *jobs, size_t count)
{
    int64_t from = instant_is_none(op->from) ? INT64_MIN + 1 : op->from.ms;
    int64_t to = instant_is_none(op->to) ? INT64_MAX : op->to.ms;
    query_add(q, "SELECT trigger_name, scheduled_at AS at, 1 AS is_run, id, state, reason, scheduled_at AS to_at, "
                 "1 AS skipped FROM run WHERE generation = 0");
    query_with(q, " AND origin IN (?", db_i(ORIGIN_SCHEDULE));
    query_with(q, ", ?", db_i(ORIGIN_MISFIRE));
    query_with(q, ", ?) AND job", db_i(ORIGIN_RECOVERY));
    query_in(q, jobs, count);
    query_with(q, " AND scheduled_at >= ?", db_i(from));
    query_with(q, " AND scheduled_at < ?", db_i(to));
    if (op->trigger)
        query_with(q, " AND trigger_name = ?", db_t(op->trigger));
    query_add(q, " UNION ALL SELECT trigger_name, from_at, 0, 0, 0, reason, to_at, skipped FROM skip WHERE job");
    query_in(q, jobs, count);
    query_with(q, " AND to_at >= ?", db_i(from));
    query_with(q, " AND from_at < ?", db_i(to));
    if (op->trigger)
        query_with(q, " AND trigger_name = ?", db_t(op->trigger));
}

static enum status count_ledger(struct session *s, struct store_ledger *op, const int64_t *jobs, size_t count)
{
    struct query q;
    query_init(&q, "SELECT COUNT(*) FROM (");
    add_arms(&q, op, jobs, count);
    query_add(&q, ") l");
    enum status status = query_open(s, &q);
    if (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
        op->total = db_number(q.rows, 0);
    return query_close(&q, status);
}

enum status sql_ledger(struct session *s, struct store_ledger *op)
{
    int64_t project = 0, jobs[LIST_MAX];
    size_t count = 0;
    op->count = 0;
    op->total = 0;
    enum status status = project_find(s, op->project ? op->project : "default", &project);
    if (status == STATUS_OK)
        status = jobs_named(s, project, op->job ? op->job : "", jobs, &count);
    if (status == STATUS_OK && !count)
        return error_set(s->error, STATUS_NOT_FOUND, "there is no job \"%s\"", op->job ? op->job : "");
    if (status == STATUS_OK)
        status = count_ledger(s, op, jobs, count);
    if (status != STATUS_OK)
        return status;
    VEC(struct ledger_item) items = {0};
    struct query q;
    query_init(&q, "SELECT trigger_name, at, is_run, id, state, reason, to_at, skipped FROM (");
    add_arms(&q, op, jobs, count);
    query_with(&q, ") l ORDER BY at, trigger_name, is_run, to_at, id LIMIT ?", db_i(op->limit > 0 ? op->limit : 100));
    query_with(&q, " OFFSET ?", db_i(op->skip > 0 ? op->skip : 0));
    status = query_open(s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
        *vec_push(&items) = (struct ledger_item){.trigger = session_text(s, q.rows, 0),
                                                 .scheduled_at = db_instant(q.rows, 1),
                                                 .is_run = db_number(q.rows, 2) != 0,
                                                 .run = db_number(q.rows, 3),
                                                 .state = (enum run_state)db_number(q.rows, 4),
                                                 .reason = session_text(s, q.rows, 5),
                                                 .from = db_instant(q.rows, 1),
                                                 .to = db_instant(q.rows, 6),
                                                 .count = db_number(q.rows, 7)};
    status = query_close(&q, status);
    op->items = KEEP(s, items);
    op->count = items.count;
    vec_release(&items);
    return status;
}
