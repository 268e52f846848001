/* Where jobs live: the shared slots, and those behind them, which are bound to a pool or a node while they have jobs.
 * And how a job goes from one to another: part of its owner's batch, fenced like a fire. Everything here runs under the
 * lock of the feed's head, so that nobody else chooses at the same time. */
#include <string.h>

#include "adapters/store/rows.h"
#include "core/model/limits.h"

#define SLOTS_OF_POOL 32 /* so that the nodes of a pool can share its jobs */
#define SLOTS_OF_NODE 4

static enum status take_place(struct session *s, int64_t slot)
{
    return db_exec(s->db, "UPDATE slot_load SET jobs = jobs + 1 WHERE slot = ?", VALUES(db_i(slot)), NULL);
}

/* The emptiest shared slot; the lowest among equals. */
static enum status place_shared(struct session *s, int32_t *ret)
{
    int64_t slot;
    enum status status = db_read_number(s->db, "SELECT slot FROM slot_load WHERE slot < ? ORDER BY jobs, slot LIMIT 1",
                                        VALUES(db_i(CLAIM_SLOTS)), &slot);
    if (status == STATUS_OK)
        status = take_place(s, slot);
    if (status == STATUS_OK)
        *ret = (int32_t)slot;
    return status;
}

struct bound {
    int64_t count, emptiest;
};

static enum status bound_slots(struct session *s, const char *pool, const char *node, struct bound *ret)
{
    struct db_statement *q;
    *ret = (struct bound){0, -1};
    enum status status = db_query(s->db,
                                  "SELECT slot FROM slot_load WHERE slot >= ? AND jobs > 0 AND pool = ? AND node = ? "
                                  "ORDER BY jobs, slot",
                                  VALUES(db_i(CLAIM_SLOTS), db_t(pool), db_t(node)), &q);
    while (status == STATUS_OK && (status = db_step(q)) == STATUS_OK)
        if (ret->count++ == 0)
            ret->emptiest = db_number(q, 0);
    db_end(q);
    return status == STATUS_END ? STATUS_OK : status;
}

static enum status bind_free(struct session *s, const char *pool, const char *node, int64_t *ret)
{
    enum status status =
        db_read_number(s->db, "SELECT slot FROM slot_load WHERE slot >= ? AND jobs = 0 ORDER BY slot LIMIT 1",
                       VALUES(db_i(CLAIM_SLOTS)), ret);
    return status != STATUS_OK ? status
                               : db_exec(s->db, "UPDATE slot_load SET pool = ?, node = ? WHERE slot = ?",
                                         VALUES(db_t(pool), db_t(node), db_i(*ret)), NULL);
}

enum status slot_place(struct session *s, const char *pool, const char *node, int32_t *ret)
{
    struct bound bound;
    int64_t slot = -1, most = node && *node ? SLOTS_OF_NODE : SLOTS_OF_POOL;
    if (!(node && *node) && !(pool && *pool))
        return place_shared(s, ret);
    if (node && *node)
        pool = "";
    else
        node = "";
    enum status status = bound_slots(s, pool, node, &bound);
    if (status == STATUS_OK && bound.count < most)
        status = bind_free(s, pool, node, &slot);
    if (status == STATUS_NOT_FOUND)
        status = STATUS_OK;
    if (status == STATUS_OK && slot < 0)
        slot = bound.emptiest;
    if (status == STATUS_OK && slot < 0)
        return error_set(s->error, STATUS_FULL, "all %d slots for pools and moved jobs are in use", CLAIM_SLOTS_EXTRA);
    if (status == STATUS_OK)
        status = take_place(s, slot);
    if (status == STATUS_OK)
        *ret = (int32_t)slot;
    return status;
}

/* ---- moving --------------------------------------------------------------------------------------------------------
 */

struct place { /* where the job is, and what that slot is bound to */
    int64_t slot;
    bool live, fits;
};

static enum status find_place(struct session *s, const struct store_move *move, struct place *ret)
{
    const char *node = move->row.node ? move->row.node : "";
    const char *pool = *node || !move->row.pool ? "" : move->row.pool;
    struct db_statement *q;
    enum status status =
        db_query(s->db,
                 "SELECT j.slot, j.live, l.pool, l.node FROM job j JOIN slot_load l ON l.slot = j.slot "
                 "WHERE j.id = ?",
                 VALUES(db_i(move->row.job)), &q);
    *ret = (struct place){.slot = -1};
    if (status == STATUS_OK && (status = db_step(q)) == STATUS_OK) {
        const char *own_pool = session_text(s, q, 2), *own_node = session_text(s, q, 3);
        ret->slot = db_number(q, 0);
        ret->live = !db_is_null(q, 1);
        bool shared = ret->slot < CLAIM_SLOTS;
        ret->fits = shared ? !*pool && !*node
                           : strcmp(own_pool ? own_pool : "", pool) == 0 && strcmp(own_node ? own_node : "", node) == 0;
    }
    db_end(q);
    return status == STATUS_END ? STATUS_OK : status;
}

/* The new slot may be marked as decided past instants of this job that nobody has decided: its mark goes back to where
 * the old slot's stands, and may rise again only by an owner who knows the job (moved_seq). */
static enum status mark_slot(struct session *s, int64_t from, int64_t to, int64_t seq)
{
    int64_t through = 0;
    enum status status =
        db_read_number(s->db, "SELECT decided_through FROM slot WHERE slot = ?", VALUES(db_i(from)), &through);
    return status != STATUS_OK
               ? status
               : db_exec(s->db,
                         "UPDATE slot SET moved_seq = ?, decided_through = CASE WHEN decided_through > ? THEN ? ELSE "
                         "decided_through END WHERE slot = ?",
                         VALUES(db_i(seq), db_i(through), db_i(through), db_i(to)), NULL);
}

static enum status carry(struct session *s, const struct store_move *move, instant now)
{
    const int64_t job = move->row.job, from = move->row.slot, to = move->to;
    static const char *const updates[] = {
        "UPDATE run SET slot = ?, open_slot = ? WHERE job = ? AND open_slot = ?",
        "UPDATE request SET slot = ?, open_slot = ? WHERE job = ? AND open_slot = ?",
    };
    static const char *const slots_of[] = {"UPDATE trigger_state SET slot = ? WHERE job = ?",
                                           "UPDATE linger SET slot = ? WHERE job = ?"};
    int64_t seq = 0;
    enum status status =
        db_exec(s->db, "UPDATE job SET slot = ?, moves = moves + 1 WHERE id = ?", VALUES(db_i(to), db_i(job)), NULL);
    if (status == STATUS_OK)
        status = db_exec(s->db, "UPDATE slot_load SET jobs = jobs - 1 WHERE slot = ? AND jobs > 0", VALUES(db_i(from)),
                         NULL);
    for (size_t i = 0; i < sizeof updates / sizeof *updates && status == STATUS_OK; i++)
        status = db_exec(s->db, updates[i], VALUES(db_i(to), db_i(to), db_i(job), db_i(from)), NULL);
    for (size_t i = 0; i < sizeof slots_of / sizeof *slots_of && status == STATUS_OK; i++)
        status = db_exec(s->db, slots_of[i], VALUES(db_i(to), db_i(job)), NULL);
    if (status == STATUS_OK)
        status = feed_add(s, &(struct change_row){.kind = DOCUMENT_JOB, .id = job}, 1, now);
    if (status == STATUS_OK)
        status =
            db_read_number(s->db, "SELECT value FROM sequence WHERE name = ?", VALUES(db_t(SEQUENCE_CHANGE)), &seq);
    return status == STATUS_OK ? mark_slot(s, from, to, seq) : status;
}

enum status job_move(struct session *s, struct store_move *move, instant now)
{
    struct place place;
    enum status status = find_place(s, move, &place);
    move->to = -1;
    move->outcome = OUTCOME_EXISTS;
    if (status != STATUS_OK || !place.live || place.slot != move->row.slot)
        return status;
    if (place.fits) {
        move->to = move->row.slot;
        move->outcome = OUTCOME_DONE;
        return STATUS_OK;
    }
    status = slot_place(s, move->row.pool, move->row.node, &move->to);
    if (status == STATUS_FULL)
        return STATUS_OK;
    if (status == STATUS_OK)
        status = carry(s, move, now);
    if (status == STATUS_OK)
        move->outcome = OUTCOME_DONE;
    return status;
}
