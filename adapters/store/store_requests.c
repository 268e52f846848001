/* Wishes of people and programs, durable before they are acknowledged; and what a scheduler asks four times a second:
 * what is new for me? */
#include <stdio.h>
#include <string.h>

#include "adapters/store/rows.h"
#include "adapters/store/store_use.h"
#include "core/model/limits.h"

#define KEY_KEPT SPAN_DAY /* how long an idempotency key answers with the earlier request */
#define KEY_MAX 255

/* ---- REQUEST_ADD ---------------------------------------------------------------------------------------------------
 */

struct adding {
    struct session *s;
    struct store_request_add *op;
    int64_t project;
    instant now;
    VEC(size_t) rows; /* items that become rows */
    VEC(struct change_row) changes;
    VEC(struct audit_write) audits;
};

static bool needs_id(enum request_kind kind)
{
    return kind == REQUEST_RUN || kind == REQUEST_ENQUEUE;
}

/* The same key within a day: the earlier request is the answer. */
static enum status find_earlier(struct adding *a, struct request_add *item)
{
    struct query q;
    query_init(&q, "SELECT " REQUEST_COLUMNS " FROM request q");
    query_with(&q, " WHERE q.project = ?", db_i(a->project));
    query_with(&q, " AND q.idempotency_key = ?", db_bytes(item->idempotency_key));
    query_with(&q, " AND q.created_at > ? ORDER BY q.created_at LIMIT 1", db_i(a->now.ms - KEY_KEPT));
    enum status status = query_open(a->s, &q);
    if (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK) {
        request_read(a->s, q.rows, &item->row);
        item->status = STATUS_EXISTS;
    }
    return query_close(&q, status);
}

static enum status find_job(struct adding *a, struct request_add *item)
{
    struct db_statement *q;
    enum status status = db_query(a->s->db, "SELECT id, slot FROM job WHERE project_id = ? AND name = ? AND live = 1",
                                  VALUES(db_i(a->project), db_t(item->name)), &q);
    if (status == STATUS_OK && (status = db_step(q)) == STATUS_OK) {
        item->row.job = db_number(q, 0);
        item->row.slot = (int32_t)db_number(q, 1);
    }
    db_end(q);
    if (status == STATUS_END)
        item->status = STATUS_NOT_FOUND;
    return status == STATUS_END ? STATUS_OK : status;
}

/* The run to cancel: a row, or a request that has not become one yet. CONFLICT: it has ended. */
static enum status find_run(struct adding *a, struct request_add *item)
{
    static const char *const queries[] = {
        "SELECT job, slot, open_slot FROM run WHERE day = ? AND id = ? AND project = ?",
        "SELECT job, slot, open_slot FROM request WHERE run_day = ? AND id = ? AND project = ?"};
    enum status status = STATUS_END;
    for (size_t i = 0; i < 2 && status == STATUS_END; i++) {
        struct db_statement *q;
        status = db_query(a->s->db, queries[i],
                          VALUES(db_i(i ? 0 : run_id_day(item->row.run)), db_i(item->row.run), db_i(a->project)), &q);
        if (status == STATUS_OK && (status = db_step(q)) == STATUS_OK) {
            item->row.job = db_number(q, 0);
            item->row.slot = (int32_t)db_number(q, 1);
            item->status = db_is_null(q, 2) ? STATUS_CONFLICT : STATUS_OK;
        }
        db_end(q);
    }
    if (status == STATUS_END)
        item->status = STATUS_NOT_FOUND;
    return status == STATUS_END ? STATUS_OK : status;
}

static enum status id_free(struct adding *a, struct request_add *item)
{
    int64_t found;
    enum status status =
        db_read_number(a->s->db, "SELECT 1 FROM request WHERE id = ?", VALUES(db_i(item->row.id)), &found);
    if (status == STATUS_NOT_FOUND)
        status = db_read_number(a->s->db, "SELECT 1 FROM run WHERE day = ? AND id = ?",
                                VALUES(db_i(run_id_day(item->row.id)), db_i(item->row.id)), &found);
    if (status == STATUS_OK)
        item->status = STATUS_EXISTS;
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

static enum status resolve(struct adding *a, struct request_add *item)
{
    enum status status = STATUS_OK;
    item->status = STATUS_OK;
    item->row.created_at = a->now;
    item->row.author = a->op->author;
    item->row.outcome = NULL;
    if ((unsigned)item->row.kind > REQUEST_MOVE || (needs_id(item->row.kind) && item->row.id <= 0) ||
        (item->idempotency_key && strlen(item->idempotency_key) > KEY_MAX) ||
        (item->row.trigger && strlen(item->row.trigger) > LIMIT_NAME) ||
        (item->row.node && strlen(item->row.node) > LIMIT_NODE)) {
        item->status = STATUS_INVALID;
        return STATUS_OK;
    }
    if (item->idempotency_key)
        status = find_earlier(a, item);
    if (status == STATUS_OK && item->status == STATUS_OK)
        status = item->row.kind == REQUEST_CANCEL ? find_run(a, item) : find_job(a, item);
    if (status == STATUS_OK && item->status == STATUS_OK && needs_id(item->row.kind))
        status = id_free(a, item);
    return status;
}

/* What is asked for, on the definition: shown at once, effective when the owner's activation says so. */
static enum status mark_definition(struct adding *a, const struct request_row *row)
{
    int64_t paused = row->kind == REQUEST_PAUSE;
    enum status status;
    if (row->trigger && *row->trigger)
        status = db_exec(a->s->db, "UPDATE `trigger` SET paused = ? WHERE job = ? AND name = ?",
                         VALUES(db_i(paused), db_i(row->job), db_t(row->trigger)), NULL);
    else if (paused)
        status = db_exec(a->s->db, "UPDATE job SET paused = 1 WHERE id = ?", VALUES(db_i(row->job)), NULL);
    else
        status =
            db_exec(a->s->db, "UPDATE job SET paused = 0, suspended = 0 WHERE id = ?", VALUES(db_i(row->job)), NULL);
    *vec_push(&a->changes) = (struct change_row){.kind = DOCUMENT_JOB, .id = row->job};
    return status;
}

static void item_fill(void *context, size_t index, struct db_value *v)
{
    const struct adding *a = context;
    const struct request_add *item = &a->op->items[a->rows.items[index]];
    request_fill(&item->row, a->project, a->op->author, item->idempotency_key, v);
}

static const char *move_json(struct session *s, const char *node)
{
    struct str text;
    str_init(&text, 8 * LIMIT_NODE);
    str_add(&text, "{\"node\":");
    if (node)
        str_add_json(&text, node);
    else
        str_add(&text, "null");
    str_add(&text, "}");
    const char *kept = session_copy(s, str_text(&text));
    str_release(&text);
    return kept;
}

enum status request_move_add(struct session *s, int64_t job, int32_t slot, int64_t project, const char *author,
                             instant now)
{
    struct request_add item = {.row = {.kind = REQUEST_MOVE,
                                       .job = job,
                                       .slot = slot,
                                       .scheduled_at = INSTANT_NONE,
                                       .due_at = INSTANT_NONE,
                                       .created_at = now}};
    struct store_request_add op = {.author = author, .items = &item, .count = 1};
    struct adding a = {.s = s, .op = &op, .project = project, .now = now};
    enum status status = sequence_take(s, "request", 1, &item.row.id);
    vec_add(&a.rows, 0);
    if (status == STATUS_OK)
        status = bulk_write(s, &(struct bulk){.id = BULK_REQUEST, .count = 1, .fill = item_fill, .context = &a});
    vec_release(&a.rows);
    return status;
}

static enum status add_item(struct adding *a, size_t index, int64_t *next_id)
{
    struct request_add *item = &a->op->items[index];
    enum status status = resolve(a, item);
    if (status != STATUS_OK || item->status != STATUS_OK)
        return status;
    if (!needs_id(item->row.kind))
        item->row.id = (*next_id)++;
    vec_add(&a->rows, index);
    const char *name = item->name;
    if (item->row.kind == REQUEST_CANCEL) {
        char number[24];
        (void)snprintf(number, sizeof number, "%lld", (long long)item->row.run);
        name = session_copy(a->s, number);
    }
    *vec_push(&a->audits) = (struct audit_write){
        .action = request_kind_text(item->row.kind),
        .kind = item->row.kind == REQUEST_CANCEL ? "run" : "job",
        .project = a->op->project,
        .name = name,
        .after = item->row.kind == REQUEST_MOVE ? move_json(a->s, item->row.node) : item->row.params};
    if (item->row.kind == REQUEST_PAUSE || item->row.kind == REQUEST_RESUME)
        status = mark_definition(a, &item->row);
    if (status != STATUS_OK)
        return status;
    /* Written one by one, so that a key that comes twice in one call meets itself. */
    vec_clear(&a->rows);
    vec_add(&a->rows, index);
    return bulk_write(a->s, &(struct bulk){.id = BULK_REQUEST, .count = 1, .fill = item_fill, .context = a});
}

enum status sql_request_add(struct session *s, struct store_request_add *op)
{
    struct adding a = {.s = s, .op = op};
    int64_t next_id = 0;
    bool pauses = false;
    if (op->count > LIMIT_BATCH_ITEMS)
        return error_set(s->error, STATUS_TOO_BIG, "at most %d requests at once", LIMIT_BATCH_ITEMS);
    for (size_t i = 0; i < op->count; i++)
        pauses |= op->items[i].row.kind == REQUEST_PAUSE || op->items[i].row.kind == REQUEST_RESUME;
    enum status status = pauses ? feed_lock(s) : STATUS_OK;
    /* Taking numbers first makes requests with equal keys wait for each other. */
    if (status == STATUS_OK)
        status = sequence_take(s, "request", (int64_t)op->count + 1, &next_id);
    if (status == STATUS_OK)
        status = db_now(s->db, &a.now);
    if (status == STATUS_OK)
        status = project_find(s, op->project ? op->project : "default", &a.project);
    for (size_t i = 0; i < op->count && status == STATUS_OK; i++)
        status = add_item(&a, i, &next_id);
    if (status == STATUS_OK)
        status = feed_add(s, a.changes.items, a.changes.count, a.now);
    if (status == STATUS_OK)
        status = audit_add(s, op->author, a.now, a.audits.items, a.audits.count);
    vec_release(&a.rows);
    vec_release(&a.changes);
    vec_release(&a.audits);
    return status;
}

/* ---- POLL ----------------------------------------------------------------------------------------------------------
 */

static enum status poll_changes(struct session *s, struct store_poll *op)
{
    VEC(struct change_row) rows = {0};
    struct db_statement *q;
    int64_t limit = op->limit ? (int64_t)op->limit : LIMIT_BATCH_ITEMS;
    enum status status = db_query(s->db, "SELECT seq, kind, id FROM `change` WHERE seq > ? ORDER BY seq LIMIT ?",
                                  VALUES(db_i(op->since), db_i(limit)), &q);
    while (status == STATUS_OK && (status = db_step(q)) == STATUS_OK)
        *vec_push(&rows) = (struct change_row){
            .seq = db_number(q, 0), .kind = (enum document_kind)db_number(q, 1), .id = db_number(q, 2)};
    db_end(q);
    op->changes = KEEP(s, rows);
    op->change_count = rows.count;
    vec_release(&rows);
    return status == STATUS_END ? STATUS_OK : status;
}

/* Open requests of jobs in my slots, wherever the job was when it was asked; a cancel goes to whoever drives the run,
 * which may be the slot's former owner. */
static enum status poll_requests(struct session *s, struct store_poll *op)
{
    VEC(struct request_row) rows = {0};
    struct db_statement *q;
    int64_t limit = op->limit ? (int64_t)op->limit : LIMIT_BATCH_ITEMS;
    enum status status = db_query(s->db,
                                  "SELECT " REQUEST_COLUMNS " FROM request q LEFT JOIN job j ON j.id = q.job "
                                  "JOIN slot s ON s.slot = COALESCE(j.slot, q.open_slot) "
                                  "LEFT JOIN run r ON r.day = q.run_day AND r.id = q.run AND r.open_slot IS NOT NULL "
                                  "WHERE q.open_slot >= 0 AND COALESCE(r.boot, s.owner_boot) = ? ORDER BY q.id LIMIT ?",
                                  VALUES(db_i(op->boot), db_i(limit)), &q);
    while (status == STATUS_OK && (status = db_step(q)) == STATUS_OK)
        request_read(s, q, vec_push(&rows));
    db_end(q);
    op->requests = KEEP(s, rows);
    op->request_count = rows.count;
    vec_release(&rows);
    return status == STATUS_END ? STATUS_OK : status;
}

/* Where the feed ends and begins, and what is wished of the node, in one question. */
static enum status poll_marks(struct session *s, struct store_poll *op, int64_t *ret_low)
{
    struct db_statement *q;
    enum status status =
        db_query(s->db,
                 "SELECT (SELECT value FROM sequence WHERE name = ?), (SELECT value FROM sequence WHERE name = ?), "
                 "(SELECT n.wish FROM boot b JOIN node n ON n.node = b.node WHERE b.boot = ?), "
                 "(SELECT value FROM sequence WHERE name = ?)",
                 VALUES(db_t(SEQUENCE_CHANGE), db_t(SEQUENCE_TRIMMED), db_i(op->boot), db_t(SEQUENCE_INSTANCE)), &q);
    if (status == STATUS_OK && (status = db_step(q)) == STATUS_OK) {
        op->head = db_number(q, 0);
        *ret_low = db_number(q, 1);
        op->wish = !db_is_null(q, 2) && db_number(q, 2) == NODE_DRAIN ? NODE_DRAIN : NODE_WORK;
        op->instances = db_number(q, 3);
    }
    db_end(q);
    return status;
}

enum status sql_poll(struct session *s, struct store_poll *op)
{
    int64_t low = 0;
    enum status status = db_now(s->db, &op->store_now);
    if (status == STATUS_OK)
        status = poll_requests(s, op); /* before the changes: a request of a job that came by a move comes with it */
    if (status == STATUS_OK)
        status = poll_marks(s, op, &low);
    op->trimmed = op->since >= 0 && op->since < low;
    if (status == STATUS_OK && op->since >= 0 && op->since < op->head)
        status = poll_changes(s, op);
    return status == STATUS_OK ? poll_reports(s, op) : status;
}
