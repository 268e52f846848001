/* Leases of applications. Time is the database's; whoever holds the row's lock decides; a lease that is over belongs to
 * nobody, its row waits for the next taker. */
#include <string.h>

#include "adapters/store/sql_session.h"
#include "core/model/limits.h"

struct present {
    bool found;
    struct app_lease row;
    const char *hash;
};

static enum status check(struct session *s, const struct store_app_lease *op)
{
    if (!op->row.name || !*op->row.name || strlen(op->row.name) > LIMIT_NAME ||
        (op->row.project && strlen(op->row.project) > LIMIT_NAME))
        return error_set(s->error, STATUS_INVALID, "a lease's name must have 1 to %d bytes", LIMIT_NAME);
    if (!op->token_hash || !*op->token_hash || strlen(op->token_hash) > 128)
        return error_set(s->error, STATUS_INVALID, "a lease needs the hash of a token");
    return STATUS_OK;
}

#define LEASE_COLUMNS "project, name, holder, token_hash, fence, since, until_at, author"

static void lease_read(struct session *s, struct db_statement *q, struct app_lease *ret, const char **ret_hash)
{
    *ret = (struct app_lease){.project = session_text(s, q, 0),
                              .name = session_text(s, q, 1),
                              .holder = session_text(s, q, 2),
                              .fence = db_number(q, 4),
                              .since = db_instant(q, 5),
                              .until = db_instant(q, 6),
                              .author = session_text(s, q, 7)};
    *ret_hash = session_text(s, q, 3);
}

static enum status lock_row(struct session *s, const struct store_app_lease *op, struct present *ret)
{
    struct query q;
    query_init(&q, "SELECT " LEASE_COLUMNS " FROM app_lease");
    query_with(&q, " WHERE project = ?", db_t(op->row.project ? op->row.project : ""));
    query_with(&q, " AND name = ?", db_t(op->row.name));
    query_add(&q, s->db->dialect->for_update);
    enum status status = query_open(s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK) {
        ret->found = true;
        lease_read(s, q.rows, &ret->row, &ret->hash);
    }
    return query_close(&q, status);
}

static enum status record(struct session *s, const struct store_app_lease *op, const char *action, instant now)
{
    return audit_add(
        s, op->row.author, now,
        &(struct audit_write){.action = action, .kind = "lease", .project = op->row.project, .name = op->row.name}, 1);
}

static enum status take(struct session *s, struct store_app_lease *op, const struct present *present, instant now)
{
    const char *project = op->row.project ? op->row.project : "";
    const struct db_value holder = db_cut(op->row.holder ? op->row.holder : "", 255),
                          author = db_cut(op->row.author ? op->row.author : "", 255);
    enum status status;
    op->row.fence = present->found ? present->row.fence + 1 : 1;
    op->row.since = now;
    op->row.until = instant_add(now, op->ttl);
    if (present->found)
        status = db_exec(s->db,
                         "UPDATE app_lease SET holder = ?, token_hash = ?, fence = ?, since = ?, until_at = ?, "
                         "author = ? WHERE project = ? AND name = ?",
                         VALUES(holder, db_t(op->token_hash), db_i(op->row.fence), db_i(now.ms), db_i(op->row.until.ms),
                                author, db_t(project), db_t(op->row.name)),
                         NULL);
    else
        status = db_exec(s->db, "INSERT INTO app_lease (" LEASE_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                         VALUES(db_t(project), db_t(op->row.name), holder, db_t(op->token_hash), db_i(1), db_i(now.ms),
                                db_i(op->row.until.ms), author),
                         NULL);
    if (status == STATUS_EXISTS) /* another came at the same moment */
        return error_set(s->error, STATUS_CONFLICT, "another holds this lease");
    return status == STATUS_OK ? record(s, op, "acquire", now) : status;
}

static enum status move_end(struct session *s, const struct store_app_lease *op, instant until)
{
    return db_exec(s->db, "UPDATE app_lease SET until_at = ? WHERE project = ? AND name = ?",
                   VALUES(db_i(until.ms), db_t(op->row.project ? op->row.project : ""), db_t(op->row.name)), NULL);
}

/* By a token that may have come before: an answer that was lost is asked for again. */
static enum status decide(struct session *s, struct store_app_lease *op, const struct present *present, instant now)
{
    bool held = present->found && instant_cmp(present->row.until, now) > 0;
    bool mine = present->found && strcmp(present->hash, op->token_hash) == 0;
    if (op->action == LEASE_ACQUIRE && (!held || mine)) {
        if (!held)
            return take(s, op, present, now);
        op->row = present->row;
        return STATUS_OK;
    }
    if (op->action == LEASE_RELEASE && mine) {
        op->row = present->row;
        op->row.until = held ? now : present->row.until;
        enum status status = held ? move_end(s, op, now) : STATUS_OK;
        return status == STATUS_OK && held ? record(s, op, "release", now) : status;
    }
    if (op->action == LEASE_RENEW && mine && held) {
        op->row = present->row;
        op->row.until = instant_add(now, op->ttl);
        return move_end(s, op, op->row.until);
    }
    op->row.holder = held ? present->row.holder : NULL;
    op->row.until = held ? present->row.until : INSTANT_NONE;
    return error_set(s->error, STATUS_CONFLICT, held ? "another holds this lease" : "this lease was lost");
}

enum status sql_app_lease(struct session *s, struct store_app_lease *op)
{
    struct present present = {0};
    struct app_lease asked = op->row;
    instant now = INSTANT_NONE;
    enum status status = check(s, op);
    if (status == STATUS_OK)
        status = lock_row(s, op, &present);
    if (status == STATUS_OK)
        status = db_now(s->db, &now);
    if (status == STATUS_OK)
        status = decide(s, op, &present, now);
    op->row.project = asked.project;
    op->row.name = asked.name;
    op->row.author = asked.author;
    return status;
}

enum status sql_app_leases(struct session *s, struct store_app_leases *op)
{
    VEC(struct app_lease) rows = {0};
    const char *hash;
    struct query q;
    instant now = INSTANT_NONE;
    enum status status = db_now(s->db, &now);
    if (status != STATUS_OK)
        return status;
    query_init(&q, "SELECT " LEASE_COLUMNS " FROM app_lease");
    query_with(&q, " WHERE until_at > ?", db_i(now.ms));
    if (op->project)
        query_with(&q, " AND project = ?", db_t(op->project));
    query_add(&q, " ORDER BY project, name");
    status = query_open(s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
        lease_read(s, q.rows, vec_push(&rows), &hash);
    status = query_close(&q, status);
    op->total = (int64_t)rows.count;
    size_t skip = op->skip < op->total ? (size_t)op->skip : rows.count;
    size_t left = rows.count - skip;
    op->count = op->limit > 0 && (size_t)op->limit < left ? (size_t)op->limit : left;
    op->rows = session_keep(s, rows.items + skip, op->count, sizeof *rows.items);
    vec_release(&rows);
    return status;
}
