/* Nodes: what each told at its newest start, what is wished of it, what it holds. */
#include <stdio.h>
#include <string.h>

#include "adapters/store/rows.h"
#include "core/model/limits.h"

static bool is_orchestrator(const char *role)
{
    return strcmp(role, "orchestrator") == 0;
}

static enum status insert_node(struct session *s, const struct store_boot_start *op)
{
    return db_exec(s->db,
                   "INSERT INTO node (node, address, role, version, pool, weight, capacity, first_seen, seen_at) "
                   "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                   VALUES(db_t(op->node), db_cut(op->address ? op->address : "", 255), db_t(op->role),
                          db_cut(op->version ? op->version : "", 64), db_cut(op->pool ? op->pool : "", LIMIT_NAME),
                          db_i(op->weight > 0 ? op->weight : 1), db_i(op->capacity), db_i(op->store_now.ms),
                          db_i(op->store_now.ms)),
                   NULL);
}

static enum status update_node(struct session *s, const struct store_boot_start *op)
{
    return db_exec(s->db,
                   "UPDATE node SET address = ?, role = ?, version = ?, pool = ?, weight = ?, capacity = ?, "
                   "seen_at = ? WHERE node = ?",
                   VALUES(db_cut(op->address ? op->address : "", 255), db_t(op->role),
                          db_cut(op->version ? op->version : "", 64), db_cut(op->pool ? op->pool : "", LIMIT_NAME),
                          db_i(op->weight > 0 ? op->weight : 1), db_i(op->capacity), db_i(op->store_now.ms),
                          db_t(op->node)),
                   NULL);
}

/* The caller holds the number of boots, so starts and a FORGET come one after another. */
enum status node_started(struct session *s, struct store_boot_start *op)
{
    const char *role = NULL;
    struct db_statement *q;
    enum status status = db_query(s->db, "SELECT role, wish FROM node WHERE node = ?", VALUES(db_t(op->node)), &q);
    op->wish = NODE_WORK;
    if (status == STATUS_OK && (status = db_step(q)) == STATUS_OK) {
        role = session_text(s, q, 0);
        op->wish = db_number(q, 1) == NODE_DRAIN ? NODE_DRAIN : NODE_WORK;
    }
    db_end(q);
    if (status == STATUS_END)
        return insert_node(s, op);
    /* The API of a machine must not be taken for its scheduler. */
    if (status == STATUS_OK && !(is_orchestrator(op->role) && role && *role && !is_orchestrator(role)))
        status = update_node(s, op);
    return status;
}

/* ---- list ----------------------------------------------------------------------------------------------------------
 */

#define NODE_QUERY                                                                                                  \
    "SELECT n.node, n.role, n.address, n.version, n.pool, n.weight, n.capacity, n.wish, n.wish_by, n.wish_at, "     \
    "n.first_seen, b.boot, b.fenced, b.started_at, b.seen_at, b.draining FROM node n LEFT JOIN boot b ON b.boot = " \
    "(SELECT MAX(x.boot) FROM boot x WHERE x.node = n.node AND x.role = n.role)"

static void node_read(struct session *s, struct db_statement *q, struct node_row *ret)
{
    bool known = !db_is_null(q, 11);
    *ret = (struct node_row){
        .node = session_text(s, q, 0),
        .role = session_text(s, q, 1),
        .address = session_text(s, q, 2),
        .version = session_text(s, q, 3),
        .pool = session_text(s, q, 4),
        .weight = db_number(q, 5),
        .capacity = db_number(q, 6),
        .wish = db_number(q, 7) == NODE_DRAIN ? NODE_DRAIN : NODE_WORK,
        .wish_by = session_text(s, q, 8),
        .wish_at = db_instant(q, 9),
        .first_seen = db_instant(q, 10),
        .boot = known ? db_number(q, 11) : 0,
        .fenced = known && db_number(q, 12) != 0,
        .started_at = db_instant(q, 13),
        .seen_at = db_instant(q, 14),
        .draining = known && db_number(q, 15) != 0,
    };
}

struct node_rows {
    VEC(struct node_row) v;
};

static struct node_row *row_of(struct node_rows *rows, const char *node, size_t length)
{
    for (size_t i = 0; node && i < rows->v.count; i++) {
        const char *name = rows->v.items[i].node;
        if (name && strlen(name) == length && memcmp(name, node, length) == 0)
            return &rows->v.items[i];
    }
    return NULL;
}

/* Every boot of a node counts: an earlier one may not be succeeded yet. */
static enum status add_slots(struct session *s, struct node_rows *rows)
{
    struct db_statement *q;
    enum status status = db_query(s->db,
                                  "SELECT b.node, COUNT(*), CAST(SUM(l.jobs) AS SIGNED) FROM slot s "
                                  "JOIN slot_load l ON l.slot = s.slot JOIN boot b ON b.boot = s.owner_boot "
                                  "GROUP BY b.node",
                                  NULL, 0, &q);
    while (status == STATUS_OK && (status = db_step(q)) == STATUS_OK) {
        size_t length;
        const char *name = db_column(q, 0, &length);
        struct node_row *row = row_of(rows, name, length);
        if (row) {
            row->slots = db_number(q, 1);
            row->jobs = db_number(q, 2);
        }
    }
    db_end(q);
    return status == STATUS_END ? STATUS_OK : status;
}

static enum status add_runs(struct session *s, struct node_rows *rows)
{
    struct query q;
    query_init(&q, "SELECT b.node, r.n FROM (SELECT boot, COUNT(*) AS n FROM run");
    query_add(&q, s->db->dialect->use_open_index);
    query_add(&q, " WHERE open_slot >= 0 GROUP BY boot) r JOIN boot b ON b.boot = r.boot");
    enum status status = query_open(s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK) {
        size_t length;
        const char *name = db_column(q.rows, 0, &length);
        struct node_row *row = row_of(rows, name, length);
        if (row)
            row->runs_open += db_number(q.rows, 1);
    }
    return query_close(&q, status);
}

/* Which runs: found by their boots, as run_open has them. */
static enum status list_runs(struct session *s, struct store_nodes *op)
{
    VEC(struct node_run) runs = {0};
    struct query q;
    query_init(&q, "SELECT o.id, p.name, j.name, o.state, o.fired_at FROM (SELECT id, job, state, fired_at FROM run");
    query_add(&q, s->db->dialect->use_open_index);
    query_with(&q, " WHERE open_slot >= 0 AND boot IN (SELECT boot FROM boot WHERE node = ?)", db_t(op->node));
    query_with(&q, " ORDER BY id LIMIT ?) o", db_i((int64_t)op->run_limit));
    query_add(&q, " LEFT JOIN job j ON j.id = o.job LEFT JOIN project p ON p.id = j.project_id ORDER BY o.id");
    enum status status = query_open(s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
        *vec_push(&runs) = (struct node_run){.run = db_number(q.rows, 0),
                                             .project = session_text(s, q.rows, 1),
                                             .job = session_text(s, q.rows, 2),
                                             .state = (enum run_state)db_number(q.rows, 3),
                                             .fired_at = db_instant(q.rows, 4)};
    status = query_close(&q, status);
    op->runs = KEEP(s, runs);
    op->run_count = op->runs ? runs.count : 0;
    vec_release(&runs);
    return status;
}

enum status sql_nodes(struct session *s, struct store_nodes *op)
{
    struct node_rows rows = {0};
    struct query q;
    query_init(&q, NODE_QUERY);
    if (op->node)
        query_with(&q, " WHERE n.node = ?", db_t(op->node));
    query_add(&q, " ORDER BY n.node");
    enum status status = query_open(s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
        node_read(s, q.rows, vec_push(&rows.v));
    status = query_close(&q, status);
    if (status == STATUS_OK && op->node && !rows.v.count)
        status = error_set(s->error, STATUS_NOT_FOUND, "no node \"%s\" was ever seen", op->node);
    if (status == STATUS_OK)
        status = add_slots(s, &rows);
    if (status == STATUS_OK)
        status = add_runs(s, &rows);
    if (status == STATUS_OK && op->node && op->run_limit)
        status = list_runs(s, op);
    op->rows = KEEP(s, rows.v);
    op->count = op->rows ? rows.v.count : 0;
    vec_release(&rows.v);
    return status;
}

/* ---- wish ----------------------------------------------------------------------------------------------------------
 */

/* The row, locked; a scheduler's. */
static enum status lock_node(struct session *s, const char *node, enum node_wish *ret_wish)
{
    bool found = false;
    struct query q;
    query_init(&q, "SELECT role, wish FROM node");
    query_with(&q, " WHERE node = ?", db_t(node ? node : ""));
    query_add(&q, s->db->dialect->for_update);
    enum status status = query_open(s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK) {
        const char *role = session_text(s, q.rows, 0);
        found = role && !is_orchestrator(role);
        *ret_wish = db_number(q.rows, 1) == NODE_DRAIN ? NODE_DRAIN : NODE_WORK;
    }
    status = query_close(&q, status);
    if (status == STATUS_OK && !found)
        return error_set(s->error, STATUS_NOT_FOUND, "there is no scheduler \"%s\"", node ? node : "");
    return status;
}

static const char *wish_json(struct session *s, enum node_wish wish)
{
    char text[40];
    (void)snprintf(text, sizeof text, "{\"wish\":\"%s\"}", node_wish_text(wish));
    return session_copy(s, text);
}

enum status sql_node_set(struct session *s, struct store_node_set *op)
{
    enum node_wish before = NODE_WORK;
    instant now = INSTANT_NONE;
    enum status status = db_now(s->db, &now);
    if (status == STATUS_OK)
        status = lock_node(s, op->node, &before);
    op->unchanged = before == op->wish;
    if (status != STATUS_OK || op->unchanged)
        return status;
    status =
        db_exec(s->db, "UPDATE node SET wish = ?, wish_by = ?, wish_at = ? WHERE node = ?",
                VALUES(db_i(op->wish), db_cut(op->author ? op->author : "", 255), db_i(now.ms), db_t(op->node)), NULL);
    if (status != STATUS_OK)
        return status;
    return audit_add(s, op->author, now,
                     &(struct audit_write){.action = op->wish == NODE_DRAIN ? "drain" : "online",
                                           .kind = "scheduler",
                                           .name = op->node,
                                           .before = wish_json(s, before),
                                           .after = wish_json(s, op->wish)},
                     1);
}

/* ---- forget --------------------------------------------------------------------------------------------------------
 */

static enum status refuse_living(struct session *s, struct store_node_forget *op, instant now)
{
    struct store_nodes nodes = {.node = op->node};
    enum status status = sql_nodes(s, &nodes);
    if (status != STATUS_OK)
        return status;
    const struct node_row *row = &nodes.rows[0];
    op->why = FORGET_LIVES;
    if (row->boot && !row->fenced && instant_sub(now, row->seen_at) < op->timeout)
        return error_set(s->error, STATUS_CONFLICT, "it lives");
    op->why = row->slots ? FORGET_HOLDS_SLOTS : FORGET_DRIVES_RUNS;
    op->held = row->slots ? row->slots : row->runs_open;
    if (row->slots)
        return error_set(s->error, STATUS_CONFLICT, "it holds %lld slots: another scheduler must take them over first",
                         (long long)row->slots);
    if (row->runs_open)
        return error_set(s->error, STATUS_CONFLICT,
                         "%lld open runs are its own: another scheduler must take them over first",
                         (long long)row->runs_open);
    return STATUS_OK;
}

enum status sql_node_forget(struct session *s, struct store_node_forget *op)
{
    enum node_wish wish;
    int64_t number;
    instant now = INSTANT_NONE;
    enum status status = sequence_take(s, "boot", 1, &number); /* no start of this node meanwhile */
    if (status == STATUS_OK)
        status = db_now(s->db, &now);
    if (status == STATUS_OK)
        status = lock_node(s, op->node, &wish);
    if (status == STATUS_OK)
        status = refuse_living(s, op, now);
    if (status == STATUS_OK)
        status = db_exec(s->db, "UPDATE boot SET fenced = 1 WHERE node = ? AND role <> 'orchestrator' AND fenced = 0",
                         VALUES(db_t(op->node)), NULL);
    if (status == STATUS_OK)
        status = db_exec(s->db, "DELETE FROM node WHERE node = ?", VALUES(db_t(op->node)), NULL);
    if (status != STATUS_OK)
        return status;
    return audit_add(s, op->author, now,
                     &(struct audit_write){.action = "forget", .kind = "scheduler", .name = op->node}, 1);
}
