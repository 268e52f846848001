/* Multi-row writes. Statements are prepared once per connection for 1, 4, 16, 64 and 256 rows; a batch is a sum of
 * these. A duplicate among many is found by halving down the same sizes, so that one existing row costs some twenty
 * statements and not 256. */
#include <string.h>

#include "adapters/store/rows.h"

static const unsigned sizes[DB_BULK_SIZES] = {1, 4, 16, 64, 256};
#define BULK_BYTES ((size_t)4 << 20) /* of one statement; far below any server's packet limit */

/* columns: order of the fill function. update: what an existing row takes over; NULL = plain INSERT. keep: likewise,
 * but NULL takes nothing away (a report ends a call long after its bodies were captured). clear: only NULL is taken
 * over (a run that ends leaves its slot; which slot that is, a move may have changed). */
static const struct bulk_table {
    const char *table, *columns, *update, *keep, *clear;
} tables[BULK_KINDS] = {
    [BULK_FIRE] = {"run", BULK_FIRE_COLUMNS, NULL, NULL, NULL},
    [BULK_RUN] = {"run", BULK_FIRE_COLUMNS,
                  "started_at, ended_at, state, reason, error_code, error_args, start_steps, cancel_requested", NULL,
                  "open_slot"},
    [BULK_STEP] = {"step", BULK_STEP_COLUMNS, "seq, state, reason, due, since, result, error, items", NULL, NULL},
    [BULK_ATTEMPT] =
        {"attempt", BULK_ATTEMPT_COLUMNS,
         "key_try, seq, state, class, instance, boot, node, started_at, ended_at, http_status, bytes_sent, "
         "reused_connection, stale, connect_ms, first_byte_ms, total_ms, error, code, retry_after, result, "
         "request_size, response_size",
         "request, response, notice_to", NULL},
    [BULK_BODY] = {"body", "day, run, step, item, n, part, encoding, size, bytes", "encoding, size, bytes", NULL, NULL},
    [BULK_SKIP] = {"skip", "day, job, trigger_name, from_at, to_at, skipped, reason, slot, boot", NULL, NULL, NULL},
    [BULK_ACTIVATION] = {"activation", "job, trigger_name, from_at, kind, version, slot, boot", NULL, NULL, NULL},
    [BULK_STATE] = {"trigger_state", STATE_COLUMNS, "slot, fires, last_end, paused, job_paused, paused_since, error",
                    NULL, NULL},
    [BULK_SLOT] = {"slot", "slot, generation, czxid, owner_boot, previous_boot, since, decided_through",
                   "generation, czxid, owner_boot, previous_boot, since", NULL, NULL},
    [BULK_SLOT_LOAD] = {"slot_load", "slot, jobs", NULL, NULL, NULL},
    [BULK_CHANGE] = {"`change`", "seq, kind, id, at", NULL, NULL, NULL},
    [BULK_AUDIT] = {"audit", "day, id, at, who, action, kind, project, name, before_json, after_json", NULL, NULL,
                    NULL},
    [BULK_REQUEST] = {"request",
                      "id, kind, project, job, slot, open_slot, trigger_name, run, run_day, params, scheduled_at, "
                      "skip_missed, created_at, author, idempotency_key, node",
                      NULL, NULL, NULL},
    [BULK_LINGER] = {"linger", LINGER_COLUMNS, "slot, key_try, application, instance, until_at, notice_to", NULL, NULL},
    [BULK_TRIGGER] = {"`trigger`", "job, name, live, paused, created_at", "live", NULL, NULL},
};

static size_t column_count(const char *columns)
{
    size_t count = 1;
    for (; *columns; columns++)
        count += *columns == ',';
    return count;
}

/* pattern: each %s stands for the column. */
static void add_updates(struct str *sql, const char *pattern, const char *columns)
{
    while (*columns) {
        char name[40];
        size_t length = strcspn(columns, ",");
        memcpy(name, columns, length < sizeof name - 1 ? length : sizeof name - 1);
        name[length < sizeof name - 1 ? length : sizeof name - 1] = '\0';
        for (const char *part = pattern; *part; part++) {
            if (part[0] == '%' && part[1] == 's') {
                str_add(sql, name);
                part++;
            } else {
                str_add_char(sql, *part);
            }
        }
        columns += length;
        columns += strspn(columns, ", ");
        if (*columns)
            str_add(sql, ", ");
    }
}

static enum status prepared(struct session *s, enum bulk_id id, unsigned size, struct db_statement **ret)
{
    struct db *db = s->db;
    if (db->bulk[id][size]) {
        *ret = db->bulk[id][size];
        return STATUS_OK;
    }
    const struct bulk_table *t = &tables[id];
    size_t columns = column_count(t->columns);
    struct str sql;
    str_init(&sql, SQL_MAX);
    str_addf(&sql, "INSERT INTO %s (%s) VALUES ", t->table, t->columns);
    for (unsigned row = 0; row < sizes[size]; row++) {
        str_add(&sql, row ? ", (?" : "(?");
        for (size_t i = 1; i < columns; i++)
            str_add(&sql, ",?");
        str_add(&sql, ")");
    }
    if (t->update) {
        str_add(&sql, db->dialect->upsert);
        add_updates(&sql, db->dialect->upsert_value, t->update);
    }
    if (t->keep) {
        str_add(&sql, ", ");
        add_updates(&sql, db->dialect->upsert_keep, t->keep);
    }
    if (t->clear) {
        str_add(&sql, ", ");
        add_updates(&sql, db->dialect->upsert_clear, t->clear);
    }
    enum status status = str_status(&sql);
    if (status == STATUS_OK)
        status = db_prepare(db, str_text(&sql), &db->bulk[id][size]);
    str_release(&sql);
    *ret = db->bulk[id][size];
    return status;
}

struct work {
    struct session *s;
    const struct bulk *bulk;
    size_t columns;
    struct db_value *values; /* of all rows */
};

/* Rows [at, at + sizes[size]): written, or split where one of them exists. */
static enum status write_piece(const struct work *w, size_t at, unsigned size)
{
    struct db_statement *statement;
    enum status status = prepared(w->s, w->bulk->id, size, &statement);
    if (status != STATUS_OK)
        return status;
    status = db_run(statement, w->values + at * w->columns, sizes[size] * w->columns, NULL);
    w->s->db->driver->reset(statement);
    if (status == STATUS_OK || w->s->db->class != DB_DUPLICATE || !w->bulk->exists)
        return status;
    if (size == 0) {
        w->bulk->exists(w->bulk->context, at);
        return STATUS_OK;
    }
    status = STATUS_OK;
    for (size_t i = 0; i < 4 && status == STATUS_OK; i++)
        status = write_piece(w, at + i * sizes[size - 1], size - 1);
    return status;
}

static size_t bytes_of(const struct work *w, size_t at, size_t rows)
{
    size_t bytes = 0;
    for (size_t i = at * w->columns; i < (at + rows) * w->columns; i++)
        bytes += w->values[i].length + 8;
    return bytes;
}

enum status bulk_write(struct session *s, const struct bulk *bulk)
{
    if (!bulk->count)
        return STATUS_OK;
    struct work w = {.s = s, .bulk = bulk, .columns = column_count(tables[bulk->id].columns)};
    w.values = mem_alloc(bulk->count * w.columns * sizeof *w.values);
    for (size_t i = 0; i < bulk->count; i++)
        bulk->fill(bulk->context, i, w.values + i * w.columns);
    enum status status = STATUS_OK;
    for (size_t at = 0; at < bulk->count && status == STATUS_OK;) {
        unsigned size = DB_BULK_SIZES - 1;
        while (size && (sizes[size] > bulk->count - at || bytes_of(&w, at, sizes[size]) > BULK_BYTES))
            size--;
        status = write_piece(&w, at, size);
        at += sizes[size];
    }
    free(w.values);
    return status;
}

static size_t case_size(size_t count)
{
    size_t size = 1;
    while (size < count)
        size *= 4;
    return size;
}

static void add_optional(struct query *q, const char *sql, struct db_value value)
{
    query_add(q, sql ? sql : "");
    if (value.type != DB_NULL)
        query_with(q, "?", value);
}

enum status case_update(struct session *s, const struct case_update *update, const struct sql_case *cases, size_t count)
{
    enum status status = STATUS_OK;
    for (size_t at = 0, n; at < count && status == STATUS_OK; at += n) {
        n = piece_length(at, count);
        int64_t keys[LIST_MAX];
        struct query q;
        query_init(&q, update->before);
        for (size_t i = 0; i < case_size(n); i++) {
            const struct sql_case *c = &cases[at + (i < n ? i : n - 1)];
            query_with(&q, " WHEN ?", db_i(c->key));
            query_with(&q, " THEN ?", c->value);
        }
        for (size_t i = 0; i < n; i++)
            keys[i] = cases[at + i].key;
        add_optional(&q, update->after, update->set);
        query_add(&q, update->keys);
        query_in(&q, keys, n);
        add_optional(&q, update->tail, update->last);
        add_optional(&q, update->tail2, update->last2);
        status = query_exec(s, &q, NULL);
    }
    return status;
}
