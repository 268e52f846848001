/* Slots: epochs and owners, what an owner must know to rule them, how far they are decided; and the open runs of a
 * predecessor. */
#include <stdlib.h>
#include <string.h>

#include "adapters/store/rows.h"

/* A binding counts only while the slot has jobs: then somebody else may take it. */
static const char *bound_text(struct session *s, struct db_statement *q, unsigned column)
{
    const char *text = db_number(q, 7) > 0 ? session_text(s, q, column) : NULL;
    return text && *text ? text : NULL;
}

enum status sql_slots_read(struct session *s, struct store_slots_read *op)
{
    VEC(struct slot_row) rows = {0};
    struct db_statement *q;
    enum status status =
        db_query(s->db,
                 "SELECT s.slot, s.generation, s.czxid, s.owner_boot, b.node, s.since, "
                 "s.decided_through, l.jobs, l.pool, l.node FROM slot s JOIN slot_load l ON l.slot = s.slot "
                 "LEFT JOIN boot b ON b.boot = s.owner_boot ORDER BY s.slot",
                 NULL, 0, &q);
    while (status == STATUS_OK && (status = db_step(q)) == STATUS_OK)
        *vec_push(&rows) = (struct slot_row){.slot = (int32_t)db_number(q, 0),
                                             .generation = db_number(q, 1),
                                             .czxid = db_number(q, 2),
                                             .owner_boot = db_number(q, 3),
                                             .owner_node = session_text(s, q, 4),
                                             .since = db_instant(q, 5),
                                             .decided_through = db_instant(q, 6),
                                             .jobs = db_number(q, 7),
                                             .pool = bound_text(s, q, 8),
                                             .node = bound_text(s, q, 9)};
    db_end(q);
    op->rows = KEEP(s, rows);
    op->count = rows.count;
    vec_release(&rows);
    return status == STATUS_END ? STATUS_OK : status;
}

/* ---- taking --------------------------------------------------------------------------------------------------------
 */

struct raise {
    struct slot_take **takes;
    int64_t boot, *decided;
    instant now;
};

static void raise_fill(void *context, size_t index, struct db_value *v)
{
    const struct raise *r = context;
    const struct slot_take *take = r->takes[index];
    *v++ = db_i(take->slot);
    *v++ = db_i(take->generation);
    *v++ = db_i(take->czxid);
    *v++ = db_i(r->boot);
    *v++ = db_i(take->previous_boot);
    *v++ = db_i(r->now.ms);
    *v = db_i(take->decided_through.ms); /* only an INSERT would use it, and the rows exist */
}

static struct slot_take *take_of(struct slot_take *takes, size_t count, int32_t slot)
{
    for (size_t i = 0; i < count; i++)
        if (takes[i].slot == slot)
            return &takes[i];
    return NULL;
}

/* One row of `slot`, locked: mine to take? An equal epoch of my own is my earlier take, whose answer was lost. */
static bool judge(struct db_statement *q, int64_t boot, struct slot_take *take)
{
    int64_t generation = db_number(q, 1), czxid = db_number(q, 2), owner = db_number(q, 3);
    take->decided_through = db_instant(q, 5);
    take->previous_boot = owner;
    if (generation == take->generation && czxid == take->czxid && owner == boot) {
        take->previous_boot = db_number(q, 4);
        take->taken = true;
        return false;
    }
    take->taken = generation < take->generation || (generation == take->generation && czxid < take->czxid);
    return take->taken;
}

static enum status take_piece(struct session *s, int64_t boot, struct slot_take *takes, size_t count)
{
    struct slot_take *raised[LIST_MAX];
    int64_t slots[LIST_MAX];
    size_t raised_count = 0;
    for (size_t i = 0; i < count; i++) {
        slots[i] = takes[i].slot;
        takes[i].taken = false;
        takes[i].previous_boot = 0;
        takes[i].decided_through = INSTANT_NONE;
    }
    struct query q;
    query_init(&q, "SELECT slot, generation, czxid, owner_boot, previous_boot, decided_through FROM slot WHERE slot");
    query_in(&q, slots, count);
    query_add(&q, " ORDER BY slot");
    query_add(&q, s->db->dialect->for_update);
    enum status status = query_open(s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK) {
        struct slot_take *take = take_of(takes, count, (int32_t)db_number(q.rows, 0));
        if (take && judge(q.rows, boot, take))
            raised[raised_count++] = take;
    }
    status = query_close(&q, status);
    struct raise raise = {.takes = raised, .boot = boot};
    if (status == STATUS_OK)
        status = db_now(s->db, &raise.now);
    if (status != STATUS_OK)
        return status;
    return bulk_write(s, &(struct bulk){.id = BULK_SLOT, .count = raised_count, .fill = raise_fill, .context = &raise});
}

enum status sql_slots_take(struct session *s, struct store_slots_take *op)
{
    enum status status = boot_alive(s, op->boot);
    for (size_t at = 0, n; at < op->count && status == STATUS_OK; at += n) {
        n = piece_length(at, op->count);
        status = take_piece(s, op->boot, op->takes + at, n);
    }
    if (status == STATUS_OK)
        status = boot_hold(s, op->boot);
    /* Read last: the rows are locked, so every definition that a predecessor could have acted on lies below it. */
    if (status == STATUS_OK)
        status = db_read_number(s->db, "SELECT value FROM sequence WHERE name = ?", VALUES(db_t(SEQUENCE_CHANGE)),
                                &op->feed_head);
    return status;
}

/* ---- decided -------------------------------------------------------------------------------------------------------
 */

enum status sql_decided(struct session *s, struct store_decided *op)
{
    enum status status = boot_hold(s, op->boot);
    if (status != STATUS_OK || !op->count)
        return status;
    struct sql_case *cases = mem_alloc(op->count * sizeof *cases);
    size_t count = 0;
    for (size_t i = 0; i < op->count; i++)
        if (!instant_is_none(op->slots[i].through))
            cases[count++] = (struct sql_case){.key = op->slots[i].slot, .value = db_i(op->slots[i].through.ms)};
    struct str before;
    str_init(&before, 200);
    str_addf(&before, "UPDATE slot SET decided_through = %s(decided_through, CASE slot", s->db->dialect->greatest);
    /* owner_boot is the slots' fence: the row itself is locked by this very statement. */
    status = case_update(s,
                         &(struct case_update){.before = str_text(&before),
                                               .after = " END)",
                                               .keys = " WHERE slot",
                                               .tail = " AND owner_boot = ",
                                               .last = db_i(op->boot),
                                               .tail2 = " AND moved_seq <= ",
                                               .last2 = db_i(op->feed_seq)},
                         cases, count);
    str_release(&before);
    free(cases);
    return status;
}

/* ---- adopting ------------------------------------------------------------------------------------------------------
 */

struct run_ids {
    VEC(int64_t) v;
};

/* Read without a lock: a locking scan would wait for every open run that a living process has in its hands. */
static enum status orphans(struct session *s, int64_t boot, int64_t owner, size_t limit, struct run_ids *ret)
{
    struct query q;
    vec_clear(&ret->v);
    query_init(&q, "SELECT id FROM run");
    query_add(&q, s->db->dialect->use_open_index);
    query_with(&q, " WHERE open_slot >= 0 AND boot = ?", db_i(boot));
    if (boot == 0) /* nobody's: they go with their slots */
        query_with(&q, " AND open_slot IN (SELECT slot FROM slot WHERE owner_boot = ?)", db_i(owner));
    query_with(&q, " ORDER BY id LIMIT ?", db_i((int64_t)(limit ? limit : 1)));
    enum status status = query_open(s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
        vec_add(&ret->v, db_number(q.rows, 0));
    return query_close(&q, status);
}

/* Those that are still the dead boot's become mine; another adopter may have been faster. */
static enum status adopt_piece(struct session *s, const struct store_runs_adopt *op, const int64_t *ids, size_t n)
{
    struct query q;
    query_init(&q, "UPDATE run SET");
    query_with(&q, " boot = ?,", db_i(op->boot));
    query_with(&q, " node = ?", db_t(op->node));
    query_with(&q, " WHERE day = ? AND id", db_i(run_id_day(ids[0])));
    query_in(&q, ids, n);
    query_with(&q, " AND boot = ? AND open_slot IS NOT NULL", db_i(op->from_boot));
    return query_exec(s, &q, NULL);
}

struct adopted {
    VEC(struct run_row) rows;
    VEC(int64_t) ids;
};

static enum status read_piece(struct session *s, const struct store_runs_adopt *op, const int64_t *ids, size_t n,
                              struct adopted *ret)
{
    struct query q;
    query_init(&q, "SELECT " RUN_COLUMNS " FROM run WHERE");
    query_with(&q, " day = ? AND id", db_i(run_id_day(ids[0])));
    query_in(&q, ids, n);
    query_with(&q, " AND boot = ? ORDER BY id", db_i(op->boot));
    enum status status = query_open(s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK) {
        run_read(s, q.rows, vec_push(&ret->rows));
        vec_add(&ret->ids, ret->rows.items[ret->rows.count - 1].id);
    }
    return query_close(&q, status);
}

static enum status adopt_runs(struct session *s, const struct store_runs_adopt *op, struct adopted *ret)
{
    struct run_ids ids = {0};
    enum status status;
    do {
        status = orphans(s, op->from_boot, op->boot, op->limit, &ids);
        for (size_t at = 0, n; at < ids.v.count && status == STATUS_OK; at += n) {
            n = piece_of_day(ids.v.items, at, ids.v.count);
            status = adopt_piece(s, op, ids.v.items + at, n);
            if (status == STATUS_OK)
                status = read_piece(s, op, ids.v.items + at, n, ret);
        }
    } while (status == STATUS_OK && ids.v.count && !ret->rows.count);
    vec_release(&ids.v);
    return status;
}

enum status sql_runs_adopt(struct session *s, struct store_runs_adopt *op)
{
    int64_t dead = 1;
    enum status status = boot_alive(s, op->boot);
    if (status == STATUS_OK && op->boot == op->from_boot)
        return error_set(s->error, STATUS_INVALID, "a process cannot adopt its own runs");
    if (status == STATUS_OK)
        status = db_read_number(s->db, "SELECT fenced FROM boot WHERE boot = ?", VALUES(db_i(op->from_boot)), &dead);
    if (status == STATUS_OK && !dead)
        return error_set(s->error, STATUS_CONFLICT, "the former owner of these runs has not been fenced");
    if (status != STATUS_OK && status != STATUS_NOT_FOUND)
        return status;
    struct adopted adopted = {0};
    status = adopt_runs(s, op, &adopted);
    if (status == STATUS_OK)
        status = boot_hold(s, op->boot);
    if (status == STATUS_OK)
        status = steps_of_runs(s, adopted.ids.items, adopted.ids.count, &op->steps, &op->step_count);
    if (status == STATUS_OK)
        status = attempts_of_runs(s, adopted.ids.items, adopted.ids.count, false, &op->attempts, &op->attempt_count);
    op->runs = KEEP(s, adopted.rows);
    op->run_count = adopted.rows.count;
    vec_release(&adopted.rows);
    vec_release(&adopted.ids);
    return status;
}

struct run_place {
    int64_t id;
    size_t index;
};

static int place_compare(const void *a, const void *b)
{
    const struct run_place *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

enum status sql_runs_open(struct session *s, struct store_runs_open *op)
{
    op->open = arena_array(s->arena, bool, op->count);
    op->ended_at = arena_array(s->arena, instant, op->count);
    op->linger = arena_array(s->arena, instant, op->count);
    op->left = arena_array(s->arena, bool, op->count);
    if (!op->open || !op->ended_at || !op->linger || !op->left)
        return error_set(s->error, STATUS_TOO_BIG, "too many runs asked for at once");
    struct run_place *places = mem_alloc(op->count * sizeof *places);
    int64_t *ids = mem_alloc(op->count * sizeof *ids);
    for (size_t i = 0; i < op->count; i++) {
        places[i] = (struct run_place){op->runs[i], i};
        op->ended_at[i] = op->linger[i] = INSTANT_NONE;
    }
    qsort(places, op->count, sizeof *places, place_compare);
    for (size_t i = 0; i < op->count; i++)
        ids[i] = places[i].id;
    enum status status = STATUS_OK;
    for (size_t at = 0, n; at < op->count && status == STATUS_OK; at += n) {
        n = piece_of_day(ids, at, op->count);
        struct query q;
        query_init(&q, "SELECT id, open_slot, ended_at, boot FROM run WHERE");
        query_with(&q, " day = ? AND id", db_i(run_id_day(ids[at])));
        query_in(&q, ids + at, n);
        status = query_open(s, &q);
        while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK) {
            int64_t id = db_number(q.rows, 0);
            for (size_t i = at; i < at + n; i++)
                if (ids[i] == id) {
                    op->open[places[i].index] = !db_is_null(q.rows, 1);
                    op->ended_at[places[i].index] = db_instant(q.rows, 2);
                    op->left[places[i].index] = !db_is_null(q.rows, 1) && db_number(q.rows, 3) == 0;
                }
        }
        status = query_close(&q, status);
    }
    struct lingers lingers = {0};
    if (status == STATUS_OK)
        status = lingers_read(s, "run", ids, op->count, &lingers);
    for (size_t k = 0; k < lingers.rows.count; k++)
        for (size_t i = 0; i < op->count; i++)
            if (op->runs[i] == lingers.rows.items[k].run)
                op->linger[i] = instant_max(op->linger[i], lingers.rows.items[k].until);
    vec_release(&lingers.rows);
    free(places);
    free(ids);
    return status;
}
