#include "adapters/store/sql_session.h"

#include <stdlib.h>
#include <string.h>

/* ---- answers -------------------------------------------------------------------------------------------------------
 */

const char *session_text(struct session *s, struct db_statement *q, unsigned column)
{
    size_t length;
    const void *bytes = db_column(q, column, &length);
    if (!bytes)
        return NULL;
    char *copy = arena_copy(s->arena, bytes, length);
    if (!copy)
        s->no_room = true;
    return copy;
}

const char *session_copy(struct session *s, const char *text)
{
    char *copy = arena_text(s->arena, text);
    if (text && !copy)
        s->no_room = true;
    return copy;
}

void *session_keep(struct session *s, const void *items, size_t count, size_t size)
{
    if (!count)
        return NULL;
    void *kept = arena_copy(s->arena, items, count * size);
    if (!kept)
        s->no_room = true;
    return kept;
}

/* ---- queries from parts --------------------------------------------------------------------------------------------
 */

void query_init(struct query *q, const char *sql)
{
    *q = (struct query){.rows = NULL};
    str_init(&q->sql, SQL_MAX);
    str_add(&q->sql, sql);
}

void query_add(struct query *q, const char *sql)
{
    str_add(&q->sql, sql);
}

void query_value(struct query *q, struct db_value value)
{
    vec_add(&q->values, value);
}

void query_with(struct query *q, const char *sql, struct db_value value)
{
    query_add(q, sql);
    query_value(q, value);
}

static size_t list_size(size_t count)
{
    size_t size = 1;
    while (size < count)
        size *= 4;
    return size;
}

void query_in(struct query *q, const int64_t *numbers, size_t count)
{
    size_t size = list_size(count);
    query_add(q, " IN (?");
    for (size_t i = 1; i < size; i++)
        query_add(q, ",?");
    query_add(q, ")");
    for (size_t i = 0; i < size; i++)
        query_value(q, db_i(numbers[i < count ? i : count - 1]));
}

enum status query_open(struct session *s, struct query *q)
{
    if (str_status(&q->sql) != STATUS_OK)
        return error_set(s->error, STATUS_TOO_BIG, "the query is too long");
    return db_query(s->db, str_text(&q->sql), q->values.items, q->values.count, &q->rows);
}

enum status query_step(struct query *q)
{
    return db_step(q->rows);
}

enum status query_close(struct query *q, enum status status)
{
    db_end(q->rows);
    str_release(&q->sql);
    vec_release(&q->values);
    return status == STATUS_END ? STATUS_OK : status;
}

enum status query_exec(struct session *s, struct query *q, int64_t *ret_changed)
{
    enum status status = str_status(&q->sql);
    if (status == STATUS_OK)
        status = db_exec(s->db, str_text(&q->sql), q->values.items, q->values.count, ret_changed);
    return query_close(q, status);
}

size_t piece_length(size_t at, size_t count)
{
    return count - at < LIST_MAX ? count - at : LIST_MAX;
}

size_t piece_of_day(const int64_t *runs, size_t at, size_t count)
{
    size_t most = piece_length(at, count), n = 1;
    while (n < most && run_id_day(runs[at + n]) == run_id_day(runs[at]))
        n++;
    return n;
}

int int64_compare(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

size_t int64_unique(int64_t *numbers, size_t count)
{
    if (!count)
        return 0;
    qsort(numbers, count, sizeof *numbers, int64_compare);
    size_t kept = 1;
    for (size_t i = 1; i < count; i++)
        if (numbers[i] != numbers[kept - 1])
            numbers[kept++] = numbers[i];
    return kept;
}

/* ---- small things --------------------------------------------------------------------------------------------------
 */

enum status sequence_take(struct session *s, const char *name, int64_t count, int64_t *ret_first)
{
    int64_t changed, value = 0;
    enum status status = db_exec(s->db, "UPDATE sequence SET value = value + ? WHERE name = ?",
                                 VALUES(db_i(count), db_t(name)), &changed);
    if (status == STATUS_OK && changed != 1)
        return error_set(s->error, STATUS_CORRUPT, "the store lacks the row of a number sequence (%s)", name);
    if (status == STATUS_OK)
        status = db_read_number(s->db, "SELECT value FROM sequence WHERE name = ?", VALUES(db_t(name)), &value);
    if (status == STATUS_OK)
        *ret_first = value - count + 1;
    return status;
}

enum status feed_lock(struct session *s)
{
    struct query q;
    query_init(&q, "SELECT value FROM sequence");
    query_with(&q, " WHERE name = ?", db_t(SEQUENCE_CHANGE));
    query_add(&q, s->db->dialect->for_update);
    enum status status = query_open(s, &q);
    if (status == STATUS_OK)
        status = query_step(&q);
    return query_close(&q, status);
}

struct feed_rows {
    const struct change_row *changes;
    int64_t first;
    instant now;
};

static void change_fill(void *context, size_t index, struct db_value *v)
{
    const struct feed_rows *rows = context;
    *v++ = db_i(rows->first + (int64_t)index);
    *v++ = db_i(rows->changes[index].kind);
    *v++ = db_i(rows->changes[index].id);
    *v = db_i(rows->now.ms);
}

enum status feed_add(struct session *s, const struct change_row *changes, size_t count, instant now)
{
    if (!count)
        return STATUS_OK;
    struct feed_rows rows = {.changes = changes, .now = now};
    enum status status = sequence_take(s, SEQUENCE_CHANGE, (int64_t)count, &rows.first);
    if (status != STATUS_OK)
        return status;
    return bulk_write(s, &(struct bulk){.id = BULK_CHANGE, .count = count, .fill = change_fill, .context = &rows});
}

struct audit_rows {
    const struct audit_write *rows;
    const char *who;
    int64_t first;
    instant now;
};

static void audit_fill(void *context, size_t index, struct db_value *v)
{
    const struct audit_rows *all = context;
    const struct audit_write *row = &all->rows[index];
    *v++ = db_i(day_of(all->now));
    *v++ = db_i(all->first + (int64_t)index);
    *v++ = db_i(all->now.ms);
    *v++ = db_cut(all->who ? all->who : "", 255);
    *v++ = db_t(row->action);
    *v++ = db_t(row->kind);
    *v++ = db_cut(row->project, 128);
    *v++ = db_cut(row->name ? row->name : "", 128);
    *v++ = db_t(row->before);
    *v = db_t(row->after);
}

enum status audit_add(struct session *s, const char *who, instant now, const struct audit_write *rows, size_t count)
{
    if (!count)
        return STATUS_OK;
    struct audit_rows all = {.rows = rows, .who = who, .now = now};
    enum status status = sequence_take(s, "audit", (int64_t)count, &all.first);
    if (status != STATUS_OK)
        return status;
    return bulk_write(s, &(struct bulk){.id = BULK_AUDIT, .count = count, .fill = audit_fill, .context = &all});
}

enum status fenced(struct session *s)
{
    return error_set(s->error, STATUS_FENCED, "this process has been replaced by a successor; it must stop");
}

static enum status boot_check(struct session *s, int64_t boot, const char *lock)
{
    struct query q;
    query_init(&q, "SELECT fenced FROM boot");
    query_with(&q, " WHERE boot = ?", db_i(boot));
    query_add(&q, lock);
    bool alive = false;
    enum status status = query_open(s, &q);
    if (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
        alive = db_number(q.rows, 0) == 0;
    status = query_close(&q, status);
    return status != STATUS_OK ? status : alive ? STATUS_OK : fenced(s);
}

enum status boot_hold(struct session *s, int64_t boot)
{
    return boot_check(s, boot, s->db->dialect->in_share);
}

enum status boot_alive(struct session *s, int64_t boot)
{
    return boot_check(s, boot, "");
}
