/* The small tables of housekeeping, a bounded piece a call: process starts and nodes that are long gone, activations
 * that nothing in the kept ledger rests on, tombstones without history, tokens and leases that ended. */
#include "adapters/store/rows.h"
#include "adapters/store/store_retention.h"

#define PIECE 200 /* rows of a kind a call; jobs of one round */

struct keys {
    VEC(int64_t) v;
};

static enum status read_keys(struct session *s, struct query *q, struct keys *ret)
{
    enum status status = query_open(s, q);
    while (status == STATUS_OK && (status = query_step(q)) == STATUS_OK)
        vec_add(&ret->v, db_number(q->rows, 0));
    return query_close(q, status);
}

/* `remove` ends before its list of keys. */
static enum status remove_keys(struct session *s, struct keys *keys, const char *remove, int64_t *removed)
{
    enum status status = STATUS_OK;
    keys->v.count = int64_unique(keys->v.items, keys->v.count);
    for (size_t at = 0, n; at < keys->v.count && status == STATUS_OK; at += n) {
        int64_t changed = 0;
        struct query q;
        n = piece_length(at, keys->v.count);
        query_init(&q, remove);
        query_in(&q, keys->v.items + at, n);
        status = query_exec(s, &q, &changed);
        *removed += changed;
    }
    return status;
}

/* `select` has one `?` for the bound and one for how many. */
static enum status prune(struct session *s, struct store_retention *op, const char *select, instant bound,
                         const char *remove)
{
    struct keys keys = {0};
    struct db_statement *q;
    if (instant_is_none(bound))
        return STATUS_OK;
    enum status status = db_query(s->db, select, VALUES(db_i(bound.ms), db_i(PIECE)), &q);
    while (status == STATUS_OK && (status = db_step(q)) == STATUS_OK)
        vec_add(&keys.v, db_number(q, 0));
    db_end(q);
    status = status == STATUS_END ? STATUS_OK : status;
    op->more |= keys.v.count == PIECE;
    if (status == STATUS_OK)
        status = remove_keys(s, &keys, remove, &op->removed);
    vec_release(&keys.v);
    return status;
}

/* Boots that drive open runs. Read apart: the index of open runs must be used, whatever the optimizer thinks. */
static enum status busy_boots(struct session *s, struct keys *ret)
{
    struct query q;
    query_init(&q, "SELECT DISTINCT boot FROM run");
    query_add(&q, s->db->dialect->use_open_index);
    query_add(&q, " WHERE open_slot >= 0");
    return read_keys(s, &q, ret);
}

static bool has(const struct keys *keys, int64_t key)
{
    for (size_t i = 0; i < keys->v.count; i++)
        if (keys->v.items[i] == key)
            return true;
    return false;
}

/* A boot that is gone counts as fenced. It stays while a slot or an open run leads to it. */
static enum status prune_boots(struct session *s, struct store_retention *op)
{
    struct keys old = {0}, busy = {0};
    struct query q;
    if (instant_is_none(op->runs))
        return STATUS_OK;
    query_init(&q, "SELECT b.boot FROM boot b WHERE");
    query_with(&q, " b.seen_at < ?", db_i(op->runs.ms));
    query_add(&q, " AND NOT EXISTS (SELECT 1 FROM slot s WHERE s.owner_boot = b.boot)"
                  " AND NOT EXISTS (SELECT 1 FROM slot s WHERE s.previous_boot = b.boot)");
    query_with(&q, " ORDER BY b.boot LIMIT ?", db_i(PIECE));
    enum status status = read_keys(s, &q, &old);
    if (status == STATUS_OK && old.v.count)
        status = busy_boots(s, &busy);
    size_t kept = 0;
    for (size_t i = 0; i < old.v.count; i++)
        if (!has(&busy, old.v.items[i]))
            old.v.items[kept++] = old.v.items[i];
    op->more |= kept == PIECE;
    old.v.count = kept;
    if (status == STATUS_OK)
        status = remove_keys(s, &old, "DELETE FROM boot WHERE boot", &op->removed);
    vec_release(&old.v);
    vec_release(&busy.v);
    return status;
}

/* A node of which nobody asked anything, whose last boot is gone: names that an autoscaler makes up must not gather. */
static enum status prune_nodes(struct session *s, struct store_retention *op)
{
    int64_t changed = 0;
    if (instant_is_none(op->runs))
        return STATUS_OK;
    enum status status = db_exec(s->db,
                                 "DELETE FROM node WHERE seen_at < ? AND wish = 0 "
                                 "AND NOT EXISTS (SELECT 1 FROM boot b WHERE b.node = node.node)",
                                 VALUES(db_i(op->runs.ms)), &changed);
    op->removed += changed;
    return status;
}

/* ---- what belongs to jobs: along their ids, a round a call, begun anew behind the last one --------------------------
 */

struct spent { /* an activation that a later one stands before, both older than everything that is kept */
    int64_t job, from, kind, version;
    const char *trigger;
};

static enum status prune_activations(struct session *s, struct store_retention *op, struct keys *jobs, instant bound)
{
    VEC(struct spent) rows = {0};
    struct query q;
    query_init(&q, "SELECT a.job, a.trigger_name, a.from_at, a.kind, a.version FROM activation a WHERE a.job");
    query_in(&q, jobs->v.items, jobs->v.count);
    query_with(&q, " AND a.from_at < ?", db_i(bound.ms));
    query_with(&q,
               " AND EXISTS (SELECT 1 FROM activation b WHERE b.job = a.job AND b.trigger_name = a.trigger_name "
               "AND b.from_at > a.from_at AND b.from_at < ? ",
               db_i(bound.ms));
    query_add(&q, "AND ((a.kind = 0 AND b.kind = 0) OR (a.kind IN (1, 2) AND b.kind IN (1, 2))))");
    enum status status = query_open(s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
        *vec_push(&rows) = (struct spent){.job = db_number(q.rows, 0),
                                          .trigger = session_text(s, q.rows, 1),
                                          .from = db_number(q.rows, 2),
                                          .kind = db_number(q.rows, 3),
                                          .version = db_number(q.rows, 4)};
    status = query_close(&q, status);
    for (size_t i = 0; i < rows.count && status == STATUS_OK; i++) {
        const struct spent *r = &rows.items[i];
        status = db_exec(s->db,
                         "DELETE FROM activation WHERE job = ? AND trigger_name = ? AND from_at = ? AND kind = ? "
                         "AND version = ?",
                         VALUES(db_i(r->job), db_t(r->trigger), db_i(r->from), db_i(r->kind), db_i(r->version)), NULL);
        op->removed++;
    }
    vec_release(&rows);
    return status;
}

/* Deleted jobs whose end is activated and of which neither run, skip, open request nor line of the feed is left. */
static enum status prune_tombstones(struct session *s, struct store_retention *op, struct keys *jobs)
{
    static const char *const removals[] = {"DELETE FROM activation WHERE job", "DELETE FROM trigger_state WHERE job",
                                           "DELETE FROM `trigger` WHERE job", "DELETE FROM job_version WHERE job",
                                           "DELETE FROM job WHERE live IS NULL AND id"};
    struct keys dead = {0};
    struct query q;
    query_init(&q, "SELECT j.id FROM job j WHERE j.live IS NULL AND j.pending_delete = 0 AND j.id");
    query_in(&q, jobs->v.items, jobs->v.count);
    query_add(&q, " AND NOT EXISTS (SELECT 1 FROM run r WHERE r.job = j.id)"
                  " AND NOT EXISTS (SELECT 1 FROM skip k WHERE k.job = j.id)"
                  " AND NOT EXISTS (SELECT 1 FROM request w WHERE w.job = j.id)");
    query_with(&q, " AND NOT EXISTS (SELECT 1 FROM `change` c WHERE c.kind = ? AND c.id = j.id)", db_i(DOCUMENT_JOB));
    enum status status = read_keys(s, &q, &dead);
    for (size_t i = 0; i < sizeof removals / sizeof *removals && status == STATUS_OK && dead.v.count; i++)
        status = remove_keys(s, &dead, removals[i], &op->removed);
    vec_release(&dead.v);
    return status;
}

static enum status prune_jobs(struct session *s, struct store_retention *op)
{
    struct keys jobs = {0};
    int64_t at = 0;
    if (instant_is_none(op->runs) || instant_is_none(op->skips))
        return STATUS_OK;
    enum status status =
        db_read_number(s->db, "SELECT value FROM sequence WHERE name = ?", VALUES(db_t(SEQUENCE_SWEPT)), &at);
    struct query q;
    query_init(&q, "SELECT id FROM job");
    query_with(&q, " WHERE id > ?", db_i(at));
    query_with(&q, " ORDER BY id LIMIT ?", db_i(PIECE));
    status = status == STATUS_OK ? read_keys(s, &q, &jobs) : query_close(&q, status);
    bool whole = jobs.v.count == PIECE;
    at = whole ? jobs.v.items[jobs.v.count - 1] : 0;
    if (status == STATUS_OK && jobs.v.count)
        status = prune_activations(s, op, &jobs, instant_min(op->runs, op->skips));
    if (status == STATUS_OK && jobs.v.count)
        status = prune_tombstones(s, op, &jobs);
    if (status == STATUS_OK)
        status = db_exec(s->db, "UPDATE sequence SET value = ? WHERE name = ?", VALUES(db_i(at), db_t(SEQUENCE_SWEPT)),
                         NULL);
    vec_release(&jobs.v);
    return status;
}

enum status prune_small(struct session *s, struct store_retention *op)
{
    enum status status = prune_boots(s, op);
    if (status == STATUS_OK)
        status = prune_nodes(s, op);
    if (status == STATUS_OK)
        status = prune_jobs(s, op);
    if (status == STATUS_OK)
        status = prune(s, op, "SELECT id FROM token WHERE COALESCE(revoked_at, expires_at) < ? ORDER BY id LIMIT ?",
                       op->audit, "DELETE FROM token WHERE id");
    if (status == STATUS_OK && !instant_is_none(op->audit)) /* late: a name that is taken again begins to count anew */
        status = db_exec(s->db, "DELETE FROM app_lease WHERE until_at < ?", VALUES(db_i(op->audit.ms)), NULL);
    return status;
}
