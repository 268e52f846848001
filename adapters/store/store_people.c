/* Tokens of people and programs, and the record of what they did. */
#include <string.h>

#include "adapters/store/sql_session.h"
#include "adapters/store/store_use.h"

enum status sql_token_add(struct session *s, struct store_token_add *op)
{
    struct token_row *row = &op->row;
    if (!row->name || !*row->name || !row->role || strlen(row->role) > 32 || !row->hash || !*row->hash ||
        strlen(row->hash) > 128)
        return error_set(s->error, STATUS_INVALID, "a token needs a name, a role and a hash");
    if (row->project && strlen(row->project) > 128)
        return error_set(s->error, STATUS_INVALID, "the project's name is too long");
    instant now = INSTANT_NONE;
    enum status status = db_now(s->db, &now);
    if (status == STATUS_OK)
        status = sequence_take(s, "token", 1, &row->id);
    if (status != STATUS_OK)
        return status;
    row->created_at = now;
    status = db_exec(s->db,
                     "INSERT INTO token (id, name, role, project, hash, author, created_at, expires_at) "
                     "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                     VALUES(db_i(row->id), db_cut(row->name, 128), db_t(row->role), db_t(row->project), db_t(row->hash),
                            db_cut(op->author ? op->author : "", 255), db_i(now.ms), db_m(row->expires_at)),
                     NULL);
    if (status == STATUS_EXISTS)
        return error_set(s->error, STATUS_EXISTS, "this token exists already");
    if (status != STATUS_OK)
        return status;
    return audit_add(
        s, op->author, now,
        &(struct audit_write){.action = "create", .kind = "token", .project = row->project, .name = row->name}, 1);
}

#define TOKEN_COLUMNS "id, name, role, project, created_at, expires_at, last_used_at, revoked_at"

static void token_read(struct session *s, struct db_statement *q, struct token_row *ret)
{
    *ret = (struct token_row){.id = db_number(q, 0),
                              .name = session_text(s, q, 1),
                              .role = session_text(s, q, 2),
                              .project = session_text(s, q, 3),
                              .created_at = db_instant(q, 4),
                              .expires_at = db_instant(q, 5),
                              .last_used_at = db_instant(q, 6),
                              .revoked_at = db_instant(q, 7)};
}

enum status sql_token_find(struct session *s, struct store_token_find *op)
{
    instant now = INSTANT_NONE;
    struct db_statement *q;
    enum status status = db_now(s->db, &now);
    if (status != STATUS_OK)
        return status;
    status = db_query(s->db, "SELECT " TOKEN_COLUMNS " FROM token WHERE hash = ?",
                      VALUES(db_t(op->hash ? op->hash : "")), &q);
    if (status == STATUS_OK && (status = db_step(q)) == STATUS_OK)
        token_read(s, q, &op->row);
    db_end(q);
    if (status == STATUS_END)
        return error_set(s->error, STATUS_NOT_FOUND, "there is no such token");
    if (status == STATUS_OK && !instant_is_none(op->row.revoked_at))
        return error_set(s->error, STATUS_NOT_FOUND, "this token was taken back");
    if (status == STATUS_OK && !instant_is_none(op->row.expires_at) && instant_cmp(op->row.expires_at, now) <= 0)
        return error_set(s->error, STATUS_NOT_FOUND, "this token has expired");
    if (status == STATUS_OK && op->touch &&
        (instant_is_none(op->row.last_used_at) || instant_sub(now, op->row.last_used_at) >= SPAN_MINUTE))
        status = db_exec(s->db, "UPDATE token SET last_used_at = ? WHERE id = ?",
                         VALUES(db_i(now.ms), db_i(op->row.id)), NULL);
    return status;
}

enum status sql_tokens(struct session *s, struct store_tokens *op)
{
    VEC(struct token_row) rows = {0};
    struct query q;
    query_init(&q, "SELECT " TOKEN_COLUMNS " FROM token");
    if (op->project)
        query_with(&q, " WHERE project = ?", db_t(op->project));
    query_with(&q, " ORDER BY id DESC LIMIT ?", db_i(op->limit > 0 ? op->limit : 100));
    query_with(&q, " OFFSET ?", db_i(op->skip > 0 ? op->skip : 0));
    enum status status = query_open(s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
        token_read(s, q.rows, vec_push(&rows));
    status = query_close(&q, status);
    op->rows = KEEP(s, rows);
    op->count = op->rows ? rows.count : 0;
    vec_release(&rows);
    if (status != STATUS_OK)
        return status;
    if (op->project)
        return db_read_number(s->db, "SELECT COUNT(*) FROM token WHERE project = ?", VALUES(db_t(op->project)),
                              &op->total);
    return db_read_number(s->db, "SELECT COUNT(*) FROM token", NULL, 0, &op->total);
}

enum status sql_token_end(struct session *s, struct store_token_end *op)
{
    struct token_row row = {0};
    instant now = INSTANT_NONE;
    struct query q;
    enum status status = db_now(s->db, &now);
    if (status != STATUS_OK)
        return status;
    query_init(&q, "SELECT " TOKEN_COLUMNS " FROM token");
    query_with(&q, " WHERE id = ?", db_i(op->id));
    query_add(&q, s->db->dialect->for_update);
    status = query_open(s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
        token_read(s, q.rows, &row);
    status = query_close(&q, status);
    if (status != STATUS_OK)
        return status;
    if (!row.id || (op->project && (!row.project || strcmp(op->project, row.project) != 0)))
        return error_set(s->error, STATUS_NOT_FOUND, "there is no token %lld", (long long)op->id);
    op->unchanged = !instant_is_none(row.revoked_at);
    if (op->unchanged)
        return STATUS_OK;
    status = db_exec(s->db, "UPDATE token SET revoked_at = ? WHERE id = ?", VALUES(db_i(now.ms), db_i(op->id)), NULL);
    if (status != STATUS_OK)
        return status;
    return audit_add(
        s, op->author, now,
        &(struct audit_write){.action = "revoke", .kind = "token", .project = row.project, .name = row.name}, 1);
}

enum status sql_audit(struct session *s, struct store_audit *op)
{
    VEC(struct audit_entry) rows = {0};
    struct query q;
    query_init(&q, "SELECT id, at, who, action, kind, project, name, before_json, after_json FROM audit");
    if (op->project)
        query_with(&q, " WHERE project = ?", db_t(op->project));
    query_add(&q, " ORDER BY ");
    query_add(&q, s->db->dialect->audit_order);
    query_with(&q, " LIMIT ?", db_i(op->limit > 0 ? op->limit : 100));
    query_with(&q, " OFFSET ?", db_i(op->skip > 0 ? op->skip : 0));
    enum status status = query_open(s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
        *vec_push(&rows) = (struct audit_entry){.id = db_number(q.rows, 0),
                                                .at = db_instant(q.rows, 1),
                                                .who = session_text(s, q.rows, 2),
                                                .action = session_text(s, q.rows, 3),
                                                .kind = session_text(s, q.rows, 4),
                                                .project = session_text(s, q.rows, 5),
                                                .name = session_text(s, q.rows, 6),
                                                .before = session_text(s, q.rows, 7),
                                                .after = session_text(s, q.rows, 8)};
    status = query_close(&q, status);
    op->rows = KEEP(s, rows);
    op->count = rows.count;
    vec_release(&rows);
    if (status != STATUS_OK)
        return status;
    if (op->project)
        return db_read_number(s->db, "SELECT COUNT(*) FROM audit WHERE project = ?", VALUES(db_t(op->project)),
                              &op->total);
    return db_read_number(s->db, "SELECT COUNT(*) FROM audit", NULL, 0, &op->total);
}
