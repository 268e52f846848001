/* Life of a process in the store: the installation's identity, boots and the fence on them, leases. */
#include <string.h>

#include "adapters/store/rows.h"
#include "core/model/limits.h"

enum status sql_cluster(struct session *s, struct store_cluster *op)
{
    struct db_statement *q = NULL;
    enum status status = STATUS_OK;
    if (op->next_generation) /* by two after a lost reply: no harm, generations need only rise */
        status = db_exec(s->db, "UPDATE cluster SET generation = generation + 1 WHERE one = 1", NULL, 0, NULL);
    if (status == STATUS_OK)
        status = db_query(s->db, "SELECT cluster_id, generation, cluster_key FROM cluster WHERE one = 1", NULL, 0, &q);
    if (status == STATUS_OK)
        status = db_step(q);
    if (status == STATUS_OK) {
        size_t length;
        const void *bytes = db_column(q, 0, &length);
        if (bytes && length < sizeof op->id) {
            memcpy(op->id, bytes, length);
            op->id[length] = '\0';
        }
        op->generation = db_number(q, 1);
        bytes = db_column(q, 2, &length);
        if (!bytes || length != sizeof op->key)
            status = error_set(s->error, STATUS_CORRUPT, "the cluster's key in the store is damaged");
        else
            memcpy(op->key, bytes, length);
    } else if (status == STATUS_END) {
        status = error_set(s->error, STATUS_CORRUPT, "the store has no cluster identity");
    }
    db_end(q);
    return status == STATUS_OK ? db_now(s->db, &op->store_now) : status;
}

enum status sql_boot_start(struct session *s, struct store_boot_start *op)
{
    if (!op->node || !*op->node || strlen(op->node) > LIMIT_NODE || !op->role || strlen(op->role) > 32)
        return error_set(s->error, STATUS_INVALID, "the node's name must have 1 to 64 bytes");
    const char *address = op->address ? op->address : "";
    enum status status = db_now(s->db, &op->store_now);
    /* Taking the number first makes two starts of one node wait for each other. */
    if (status == STATUS_OK)
        status = sequence_take(s, "boot", 1, &op->boot);
    if (status == STATUS_OK)
        status = db_read_number(s->db, "SELECT MAX(boot) FROM boot WHERE node = ? AND role = ? AND fenced = 0",
                                VALUES(db_t(op->node), db_t(op->role)), &op->previous_boot);
    if (status == STATUS_OK)
        status = db_exec(s->db,
                         "INSERT INTO boot (boot, node, role, address, fenced, batch, started_at, seen_at) "
                         "VALUES (?, ?, ?, ?, 0, 0, ?, ?)",
                         VALUES(db_i(op->boot), db_t(op->node), db_t(op->role), db_cut(address, 255),
                                db_i(op->store_now.ms), db_i(op->store_now.ms)),
                         NULL);
    return status == STATUS_OK ? node_started(s, op) : status;
}

enum status sql_boot_read(struct session *s, struct store_boot_read *op)
{
    struct db_statement *q;
    enum status status = db_now(s->db, &op->store_now);
    if (status != STATUS_OK)
        return status;
    status =
        db_query(s->db, "SELECT fenced, batch, seen_at, draining FROM boot WHERE boot = ?", VALUES(db_i(op->boot)), &q);
    if (status == STATUS_OK)
        status = db_step(q);
    int64_t seen = 0;
    bool told = false;
    if (status == STATUS_OK) {
        op->fenced = db_number(q, 0) != 0;
        op->batch = db_number(q, 1);
        seen = db_number(q, 2);
        told = (db_number(q, 3) != 0) == op->draining;
    }
    db_end(q);
    if (status == STATUS_END)
        return error_set(s->error, STATUS_NOT_FOUND, "the store knows no such process start");
    if (status == STATUS_OK && !op->fenced && (!told || op->store_now.ms - seen >= SPAN_SECOND))
        status = db_exec(s->db, "UPDATE boot SET seen_at = ?, draining = ? WHERE boot = ?",
                         VALUES(db_i(op->store_now.ms), db_i(op->draining), db_i(op->boot)), NULL);
    return status;
}

enum status sql_boot_fence(struct session *s, struct store_boot_fence *op)
{
    /* Waits for a batch that the dead process may have under way: its row is locked until that ends. */
    int64_t changed = 0;
    enum status status = db_exec(s->db, "UPDATE boot SET fenced = 1 WHERE boot = ? AND fenced = 0",
                                 VALUES(db_i(op->dead_boot)), &changed);
    op->already = changed == 0;
    return status == STATUS_OK && op->boot != op->dead_boot ? boot_hold(s, op->boot) : status;
}

enum status sql_boots(struct session *s, struct store_boots *op)
{
    VEC(struct boot_row) rows = {0};
    struct db_statement *q;
    enum status status = db_query(s->db,
                                  "SELECT boot, node, address, fenced, started_at, seen_at, role FROM boot "
                                  "WHERE boot IN (SELECT MAX(boot) FROM boot GROUP BY node, role) ORDER BY node, role",
                                  NULL, 0, &q);
    while (status == STATUS_OK && (status = db_step(q)) == STATUS_OK)
        *vec_push(&rows) = (struct boot_row){.boot = db_number(q, 0),
                                             .node = session_text(s, q, 1),
                                             .address = session_text(s, q, 2),
                                             .fenced = db_number(q, 3) != 0,
                                             .started_at = db_instant(q, 4),
                                             .seen_at = db_instant(q, 5),
                                             .role = session_text(s, q, 6)};
    db_end(q);
    op->rows = KEEP(s, rows);
    op->count = rows.count;
    vec_release(&rows);
    return status == STATUS_END ? STATUS_OK : status;
}

/* A lease of somebody who has a successor, or was never there, holds nothing. */
static enum status holder_alive(struct session *s, int64_t holder, bool *ret)
{
    int64_t dead = 1;
    enum status status = db_read_number(s->db, "SELECT fenced FROM boot WHERE boot = ?", VALUES(db_i(holder)), &dead);
    *ret = status == STATUS_OK && !dead;
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

enum status sql_lease(struct session *s, struct store_lease *op)
{
    op->held = false;
    if (!op->name || !*op->name || strlen(op->name) > 128)
        return error_set(s->error, STATUS_INVALID, "a lease's name must have 1 to 128 bytes");
    instant now = INSTANT_NONE;
    enum status status = db_now(s->db, &now);
    if (status != STATUS_OK)
        return status;
    int64_t holder = 0, until = 0;
    bool found = false;
    struct query q;
    query_init(&q, "SELECT boot, until_at FROM lease");
    query_with(&q, " WHERE name = ?", db_t(op->name));
    query_add(&q, s->db->dialect->for_update);
    status = query_open(s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK) {
        found = true;
        holder = db_number(q.rows, 0);
        until = db_number(q.rows, 1);
    }
    status = query_close(&q, status);
    if (status != STATUS_OK)
        return status;
    status = boot_hold(s, op->boot);
    if (status != STATUS_OK)
        return status;
    bool mine = found && holder == op->boot;
    if (op->release)
        return mine ? db_exec(s->db, "UPDATE lease SET until_at = 0 WHERE name = ?", VALUES(db_t(op->name)), NULL)
                    : status;
    bool taken = found && !mine && until > now.ms;
    if (taken)
        status = holder_alive(s, holder, &taken);
    if (status != STATUS_OK || taken)
        return status;
    instant end = instant_add(now, op->ttl);
    if (!found)
        status = db_exec(s->db, "INSERT INTO lease (name, boot, since, until_at) VALUES (?, ?, ?, ?)",
                         VALUES(db_t(op->name), db_i(op->boot), db_i(now.ms), db_i(end.ms)), NULL);
    else if (mine)
        status =
            db_exec(s->db, "UPDATE lease SET until_at = ? WHERE name = ?", VALUES(db_i(end.ms), db_t(op->name)), NULL);
    else
        status = db_exec(s->db, "UPDATE lease SET boot = ?, since = ?, until_at = ? WHERE name = ?",
                         VALUES(db_i(op->boot), db_i(now.ms), db_i(end.ms), db_t(op->name)), NULL);
    if (status == STATUS_EXISTS)
        return STATUS_OK; /* another took it at the same moment */
    op->held = status == STATUS_OK;
    return status;
}
