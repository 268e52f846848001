/* The fences of a batch: its boot must not have a successor, and its slots must still be the boot's. */
#include "adapters/store/rows.h"
#include "core/model/limits.h"

static bool snapshot_fence(const struct session *s)
{
    return s->db->hooks && s->db->hooks->fence_by_snapshot;
}

static enum status why_not(struct session *s, const struct store_batch *op)
{
    int64_t dead = 1;
    enum status status = db_read_number(s->db, "SELECT fenced FROM boot WHERE boot = ?", VALUES(db_i(op->boot)), &dead);
    if (status != STATUS_OK && status != STATUS_NOT_FOUND)
        return status;
    if (dead)
        return fenced(s);
    return error_set(s->error, STATUS_EXISTS, "batch %lld has been committed already", (long long)op->number);
}

enum status batch_fence_boot(struct session *s, const struct store_batch *op)
{
    int64_t changed;
    if (snapshot_fence(s)) {
        int64_t dead = 1;
        enum status status =
            db_read_number(s->db, "SELECT fenced FROM boot WHERE boot = ?", VALUES(db_i(op->boot)), &dead);
        return status != STATUS_OK ? status : dead ? fenced(s) : STATUS_OK;
    }
    enum status status = db_exec(s->db, "UPDATE boot SET batch = ? WHERE boot = ? AND fenced = 0 AND batch < ?",
                                 VALUES(db_i(op->number), db_i(op->boot), db_i(op->number)), &changed);
    if (status != STATUS_OK)
        return status;
    return changed == 1 ? STATUS_OK : why_not(s, op);
}

static size_t slots_of(const struct store_batch *op, int64_t slots[CLAIM_SLOTS_ALL])
{
    bool wanted[CLAIM_SLOTS_ALL] = {false};
    size_t count = 0;
#define WANT(field, items, number)                                                     \
    for (size_t i = 0; i < op->number; i++)                                            \
        if (slot_valid(op->items[i].field.slot) && !wanted[op->items[i].field.slot]) { \
            wanted[op->items[i].field.slot] = true;                                    \
            slots[count++] = op->items[i].field.slot;                                  \
        }
    WANT(row, activations, activation_count)
    WANT(row, skips, skip_count)
    WANT(row, states, state_count)
    WANT(run, fires, fire_count)
    WANT(row, moves, move_count)
#undef WANT
    return count;
}

enum status batch_fence_slots(struct session *s, const struct store_batch *op, bool owned[CLAIM_SLOTS_ALL])
{
    int64_t slots[CLAIM_SLOTS_ALL];
    size_t count = slots_of(op, slots);
    enum status status = STATUS_OK;
    for (size_t at = 0, n; at < count && status == STATUS_OK; at += n) {
        n = piece_length(at, count);
        struct query q;
        query_init(&q, "SELECT slot FROM slot WHERE");
        query_with(&q, " owner_boot = ? AND slot", db_i(op->boot));
        query_in(&q, slots + at, n);
        if (!snapshot_fence(s))
            query_add(&q, s->db->dialect->in_share);
        status = query_open(s, &q);
        while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
            owned[db_number(q.rows, 0)] = true;
        status = query_close(&q, status);
    }
    return status;
}
