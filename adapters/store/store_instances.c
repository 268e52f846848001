/* Instances of applications that announce themselves. A number rises when one comes, changes or leaves, so that a poll
 * tells in one look whether the list has to be read again; a renewal changes the row alone. */
#include <string.h>

#include "adapters/store/rows.h"
#include "core/model/limits.h"

#define INSTANCES_MAX 20000 /* of one answer */

struct known {
    bool there, live, same;
};

static enum status read_known(struct session *s, const struct instance_row *row, instant now, struct known *ret)
{
    struct db_statement *q;
    enum status status = db_query(
        s->db,
        "SELECT expires_at, document, version FROM instance WHERE project = ? AND application = ? AND address = ?",
        VALUES(db_t(row->project), db_t(row->application), db_t(row->address)), &q);
    *ret = (struct known){0};
    if (status == STATUS_OK && (status = db_step(q)) == STATUS_OK) {
        const char *document = session_text(s, q, 1), *version = session_text(s, q, 2);
        ret->there = true;
        ret->live = db_number(q, 0) > now.ms;
        ret->same = document && row->document && strcmp(document, row->document) == 0 &&
                    strcmp(version ? version : "", row->version ? row->version : "") == 0;
    }
    db_end(q);
    return status == STATUS_END ? STATUS_OK : status;
}

static enum status write(struct session *s, const struct instance_row *row, bool there, instant now, span ttl)
{
    if (there)
        return db_exec(s->db,
                       "UPDATE instance SET source = ?, version = ?, document = ?, seen_at = ?, expires_at = ? "
                       "WHERE project = ? AND application = ? AND address = ?",
                       VALUES(db_i(row->source), db_cut(row->version, 64), db_t(row->document), db_i(now.ms),
                              db_i(now.ms + ttl), db_t(row->project), db_t(row->application), db_t(row->address)),
                       NULL);
    return db_exec(
        s->db,
        "INSERT INTO instance (project, application, address, source, version, document, first_seen, seen_at, "
        "expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        VALUES(db_t(row->project), db_t(row->application), db_t(row->address), db_i(row->source),
               db_cut(row->version, 64), db_t(row->document), db_i(now.ms), db_i(now.ms), db_i(now.ms + ttl)),
        NULL);
}

static enum status leave(struct session *s, const struct instance_row *row, instant now)
{
    return db_exec(s->db, "UPDATE instance SET expires_at = ? WHERE project = ? AND application = ? AND address = ?",
                   VALUES(db_i(now.ms), db_t(row->project), db_t(row->application), db_t(row->address)), NULL);
}

enum status sql_instance_set(struct session *s, struct store_instance_set *op)
{
    instant now = INSTANT_NONE;
    struct known known;
    int64_t number;
    enum status status = db_now(s->db, &now);
    if (status == STATUS_OK)
        status = read_known(s, &op->row, now, &known);
    if (status != STATUS_OK)
        return status;
    op->fresh = op->remove ? known.live : !known.live || !known.same;
    if (op->fresh) /* also makes two who announce the same address wait for each other */
        status = sequence_take(s, SEQUENCE_INSTANCE, 1, &number);
    if (status == STATUS_OK && !op->remove)
        status = write(s, &op->row, known.there, now, op->ttl);
    else if (status == STATUS_OK && known.live)
        status = leave(s, &op->row, now);
    return status;
}

enum status sql_instances(struct session *s, struct store_instances *op)
{
    VEC(struct instance_row) rows = {0};
    struct query q;
    enum status status = db_now(s->db, &op->store_now);
    if (status != STATUS_OK)
        return status;
    query_init(&q, "SELECT project, application, address, source, version, document, first_seen, seen_at, expires_at "
                   "FROM instance");
    query_with(&q, " WHERE expires_at > ?", db_i(op->store_now.ms));
    if (op->project)
        query_with(&q, " AND project = ?", db_t(op->project));
    if (op->application)
        query_with(&q, " AND application = ?", db_t(op->application));
    query_with(&q, " ORDER BY project, application, address LIMIT ?", db_i(INSTANCES_MAX));
    status = query_open(s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
        *vec_push(&rows) = (struct instance_row){.project = session_text(s, q.rows, 0),
                                                 .application = session_text(s, q.rows, 1),
                                                 .address = session_text(s, q.rows, 2),
                                                 .source = (enum instance_source)db_number(q.rows, 3),
                                                 .version = session_text(s, q.rows, 4),
                                                 .document = op->project ? session_text(s, q.rows, 5) : NULL,
                                                 .first_seen = db_instant(q.rows, 6),
                                                 .seen_at = db_instant(q.rows, 7),
                                                 .expires_at = db_instant(q.rows, 8)};
    status = query_close(&q, status);
    op->rows = KEEP(s, rows);
    op->count = rows.count;
    vec_release(&rows);
    return status;
}
