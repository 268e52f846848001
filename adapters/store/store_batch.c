/* The hot path: one transaction for everything that a scheduler found out in one turn (data-model.md §1, §3).
 *  1. the boot's fence (store_fence.c): its row is changed, so that whoever fences it waits for us, or we see that it
 * did;
 *  2. the slots' fence, if anything is fired or decided: rows of the slots are locked in share mode, what belongs to a
 *     slot that is no longer ours is left out;
 *  3. rows, many at a time. */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "adapters/store/rows.h"
#include "core/model/limits.h"

struct batch {
    struct session *s;
    const struct store_batch *op;
    bool owned[CLAIM_SLOTS_ALL];
    VEC(size_t) picked;  /* indices of the rows that are written now */
    VEC(int64_t) unmade; /* runs of fires that did not become rows: nothing may be written for them */
    VEC(struct body_part) bodies;
};

struct body_part {
    const struct attempt_row *attempt;
    int part; /* 0 request, 1 response */
    void *bytes;
    size_t length, size;
    int encoding;
};

static enum status fence_slots(struct batch *b)
{
    return batch_fence_slots(b->s, b->op, b->owned);
}

/* Which rows pass; the others are told so. */
#define PICK(b, items, number, field)                                            \
    do {                                                                         \
        vec_clear(&(b)->picked);                                                 \
        for (size_t i = 0; i < (b)->op->number; i++) {                           \
            int32_t slot = (b)->op->items[i].field.slot;                         \
            bool mine = slot_valid(slot) && (b)->owned[slot];                    \
            (b)->op->items[i].outcome = mine ? OUTCOME_DONE : OUTCOME_SLOT_LOST; \
            if (mine)                                                            \
                vec_add(&(b)->picked, i);                                        \
        }                                                                        \
    } while (false)

/* ---- what the slots' fence guards ----------------------------------------------------------------------------------
 */

static void activation_fill(void *context, size_t index, struct db_value *v)
{
    const struct batch *b = context;
    const struct activation_row *row = &b->op->activations[b->picked.items[index]].row;
    *v++ = db_i(row->job);
    *v++ = db_t(row->trigger ? row->trigger : "");
    *v++ = db_i(row->from.ms);
    *v++ = db_i(row->kind);
    *v++ = db_i(row->version);
    *v++ = db_i(row->slot);
    *v = db_i(b->op->boot);
}

static void activation_exists(void *context, size_t index)
{
    const struct batch *b = context;
    b->op->activations[b->picked.items[index]].outcome = OUTCOME_EXISTS;
}

static enum status write_activations(struct batch *b)
{
    PICK(b, activations, activation_count, row);
    enum status status = bulk_write(b->s, &(struct bulk){.id = BULK_ACTIVATION,
                                                         .count = b->picked.count,
                                                         .fill = activation_fill,
                                                         .exists = activation_exists,
                                                         .context = b});
    for (size_t i = 0; i < b->picked.count && status == STATUS_OK; i++) {
        const struct activation_row *row = &b->op->activations[b->picked.items[i]].row;
        if (row->kind == ACTIVATION_DELETE)
            status = db_exec(b->s->db, "UPDATE job SET pending_delete = 0 WHERE id = ?", VALUES(db_i(row->job)), NULL);
        else if (row->kind == ACTIVATION_RESUME && (!row->trigger || !*row->trigger)) /* it may have crossed the wish */
            status = db_exec(b->s->db, "UPDATE job SET suspended = 0 WHERE id = ? AND suspended = 1",
                             VALUES(db_i(row->job)), NULL);
    }
    return status;
}

static void skip_fill(void *context, size_t index, struct db_value *v)
{
    const struct batch *b = context;
    const struct skip_row *row = &b->op->skips[b->picked.items[index]].row;
    *v++ = db_i(day_of(row->to));
    *v++ = db_i(row->job);
    *v++ = db_t(row->trigger ? row->trigger : "");
    *v++ = db_i(row->from.ms);
    *v++ = db_i(row->to.ms);
    *v++ = db_i(row->count);
    *v++ = db_bytes_cut(row->reason ? row->reason : "", LIMIT_ERROR);
    *v++ = db_i(row->slot);
    *v = db_i(b->op->boot);
}

static void skip_exists(void *context, size_t index)
{
    const struct batch *b = context;
    b->op->skips[b->picked.items[index]].outcome = OUTCOME_EXISTS;
}

static enum status write_skips(struct batch *b)
{
    PICK(b, skips, skip_count, row);
    return bulk_write(
        b->s, &(struct bulk){
                  .id = BULK_SKIP, .count = b->picked.count, .fill = skip_fill, .exists = skip_exists, .context = b});
}

static void state_fill(void *context, size_t index, struct db_value *v)
{
    const struct batch *b = context;
    const struct trigger_state_row *row = &b->op->states[b->picked.items[index]].row;
    *v++ = db_i(row->job);
    *v++ = db_t(row->trigger ? row->trigger : "");
    *v++ = db_i(row->slot);
    *v++ = db_i(row->fires);
    *v++ = db_m(row->last_end);
    *v++ = db_i(row->paused);
    *v++ = db_i(row->job_paused);
    *v++ = db_m(row->paused_since);
    *v = db_bytes_cut(row->error, LIMIT_ERROR);
}

static enum status write_states(struct batch *b)
{
    PICK(b, states, state_count, row);
    return bulk_write(b->s,
                      &(struct bulk){.id = BULK_STATE, .count = b->picked.count, .fill = state_fill, .context = b});
}

static void fire_fill(void *context, size_t index, struct db_value *v)
{
    const struct batch *b = context;
    run_fill(&b->op->fires[b->picked.items[index]].run, v);
}

static void fire_exists(void *context, size_t index)
{
    const struct batch *b = context;
    b->op->fires[b->picked.items[index]].outcome = OUTCOME_EXISTS;
}

/* Whoever drives a run to its end may not have heard that its job has moved: then its retry is the new slot's. */
static enum status leave_out_moved(struct batch *b)
{
    enum status status = STATUS_OK;
    size_t kept = 0;
    for (size_t i = 0; i < b->picked.count && status == STATUS_OK; i++) {
        struct store_fire *fire = &b->op->fires[b->picked.items[i]];
        int64_t slot = fire->run.slot;
        if (fire->run.origin == ORIGIN_RETRY)
            status = db_read_number(b->s->db, "SELECT slot FROM job WHERE id = ?", VALUES(db_i(fire->run.job)), &slot);
        if (status == STATUS_NOT_FOUND)
            status = STATUS_OK;
        if (slot == fire->run.slot)
            b->picked.items[kept++] = b->picked.items[i];
        else
            fire->outcome = OUTCOME_SLOT_LOST;
    }
    b->picked.count = kept;
    return status;
}

static enum status write_fires(struct batch *b)
{
    PICK(b, fires, fire_count, run);
    enum status status = leave_out_moved(b);
    if (status == STATUS_OK)
        status = bulk_write(
            b->s,
            &(struct bulk){
                .id = BULK_FIRE, .count = b->picked.count, .fill = fire_fill, .exists = fire_exists, .context = b});
    for (size_t i = 0; i < b->op->fire_count; i++) {
        struct store_fire *fire = &b->op->fires[i];
        if (fire->outcome == OUTCOME_SLOT_LOST && fire->run.origin == ORIGIN_RETRY)
            fire->outcome = OUTCOME_DEFERRED; /* write_wishes */
        if (fire->outcome != OUTCOME_DONE)
            vec_add(&b->unmade, fire->run.id);
    }
    b->unmade.count = int64_unique(b->unmade.items, b->unmade.count);
    return status;
}

/* ---- what the boot's fence guards ----------------------------------------------------------------------------------
 */

static bool made(const struct batch *b, int64_t run)
{
    return !b->unmade.count || !bsearch(&run, b->unmade.items, b->unmade.count, sizeof *b->unmade.items, int64_compare);
}

#define PICK_MADE(b, items, number, field)           \
    do {                                             \
        vec_clear(&(b)->picked);                     \
        for (size_t i = 0; i < (b)->op->number; i++) \
            if (made((b), (b)->op->items[i].field))  \
                vec_add(&(b)->picked, i);            \
    } while (false)

static void end_fill(void *context, size_t index, struct db_value *v)
{
    const struct batch *b = context;
    run_fill(&b->op->runs[b->picked.items[index]], v);
}

static void one_step_fill(void *context, size_t index, struct db_value *v)
{
    const struct batch *b = context;
    step_fill(&b->op->steps[b->picked.items[index]], v);
}

static void one_attempt_fill(void *context, size_t index, struct db_value *v)
{
    const struct batch *b = context;
    attempt_fill(&b->op->attempts[b->picked.items[index]], v);
}

static enum status write_runs(struct batch *b)
{
    PICK_MADE(b, runs, run_count, id);
    return bulk_write(b->s, &(struct bulk){.id = BULK_RUN, .count = b->picked.count, .fill = end_fill, .context = b});
}

static enum status write_steps(struct batch *b)
{
    PICK_MADE(b, steps, step_count, run);
    return bulk_write(b->s,
                      &(struct bulk){.id = BULK_STEP, .count = b->picked.count, .fill = one_step_fill, .context = b});
}

/* Compressed when that saves something. */
static void add_body(struct batch *b, const struct attempt_row *attempt, int part, const char *text)
{
    if (body_is_inline(text))
        return;
    struct body_part *body = vec_push(&b->bodies);
    *body = (struct body_part){.attempt = attempt, .part = part, .size = strlen(text)};
    size_t room = ZSTD_compressBound(body->size);
    body->bytes = mem_alloc(room);
    size_t length = ZSTD_compress(body->bytes, room, text, body->size, 1);
    body->encoding = 1;
    if (ZSTD_isError(length) || length >= body->size) {
        memcpy(body->bytes, text, body->size);
        length = body->size;
        body->encoding = 0;
    }
    body->length = length;
}

static void body_fill(void *context, size_t index, struct db_value *v)
{
    const struct batch *b = context;
    const struct body_part *body = &b->bodies.items[index];
    *v++ = db_i(run_id_day(body->attempt->run));
    *v++ = db_i(body->attempt->run);
    *v++ = db_t(body->attempt->step);
    *v++ = db_i(body->attempt->item);
    *v++ = db_i(body->attempt->n);
    *v++ = db_i(body->part);
    *v++ = db_i(body->encoding);
    *v++ = db_i((int64_t)body->size);
    *v = db_blob(body->bytes, body->length);
}

static enum status write_attempts(struct batch *b)
{
    PICK_MADE(b, attempts, attempt_count, run);
    enum status status = bulk_write(
        b->s, &(struct bulk){.id = BULK_ATTEMPT, .count = b->picked.count, .fill = one_attempt_fill, .context = b});
    for (size_t i = 0; i < b->picked.count && status == STATUS_OK; i++) {
        const struct attempt_row *attempt = &b->op->attempts[b->picked.items[i]];
        add_body(b, attempt, 0, attempt->request);
        add_body(b, attempt, 1, attempt->response);
    }
    if (status == STATUS_OK)
        status = bulk_write(b->s,
                            &(struct bulk){.id = BULK_BODY, .count = b->bodies.count, .fill = body_fill, .context = b});
    for (size_t i = 0; i < b->bodies.count; i++)
        free(b->bodies.items[i].bytes);
    vec_release(&b->bodies);
    return status;
}

static enum status write_left(struct batch *b)
{
    const struct store_batch *op = b->op;
    if (!op->left_count)
        return STATUS_OK;
    int64_t *ids = mem_alloc(op->left_count * sizeof *ids);
    memcpy(ids, op->left, op->left_count * sizeof *ids);
    qsort(ids, op->left_count, sizeof *ids, int64_compare);
    enum status status = STATUS_OK;
    for (size_t at = 0, n; at < op->left_count && status == STATUS_OK; at += n) {
        n = piece_of_day(ids, at, op->left_count);
        struct query q;
        query_init(&q, "UPDATE run SET boot = 0");
        query_with(&q, " WHERE day = ? AND id", db_i(run_id_day(ids[at])));
        query_in(&q, ids + at, n);
        query_with(&q, " AND boot = ?", db_i(op->boot));
        query_with(&q, " AND state = ? AND open_slot IS NOT NULL", db_i(RUN_QUEUED));
        status = query_exec(b->s, &q, NULL);
    }
    free(ids);
    return status;
}

/* A wish whose fire was refused with its slot stays open: the slot's next owner carries it out. */
static bool slot_lost(const struct batch *b, int64_t request)
{
    if (made(b, request))
        return false;
    for (size_t i = 0; i < b->op->fire_count; i++)
        if (b->op->fires[i].run.id == request)
            return b->op->fires[i].outcome == OUTCOME_SLOT_LOST || b->op->fires[i].outcome == OUTCOME_DEFERRED;
    return false;
}

static enum status write_requests(struct batch *b)
{
    const struct store_batch *op = b->op;
    if (!op->request_count)
        return STATUS_OK;
    instant now = INSTANT_NONE;
    enum status status = db_now(b->s->db, &now);
    struct sql_case *cases = mem_alloc(op->request_count * sizeof *cases);
    size_t count = 0;
    for (size_t i = 0; i < op->request_count; i++) {
        const char *outcome = op->requests[i].outcome ? op->requests[i].outcome : "";
        if (!slot_lost(b, op->requests[i].id))
            cases[count++] = (struct sql_case){.key = op->requests[i].id, .value = db_bytes_cut(outcome, LIMIT_ERROR)};
    }
    if (status == STATUS_OK)
        status = case_update(b->s,
                             &(struct case_update){.before = "UPDATE request SET open_slot = NULL, outcome = CASE id",
                                                   .after = " END, closed_at = ",
                                                   .set = db_i(now.ms),
                                                   .keys = " WHERE id"},
                             cases, count);
    free(cases);
    return status;
}

static enum status write_reports(struct batch *b)
{
    return close_reports(b->s, b->op->reports, b->op->report_count);
}

static enum status write_suspensions(struct batch *b)
{
    const struct store_batch *op = b->op;
    if (!op->suspended_count)
        return STATUS_OK;
    instant now = INSTANT_NONE;
    enum status status = db_now(b->s->db, &now);
    if (status == STATUS_OK)
        status = feed_lock(b->s);
    struct change_row *changes = mem_alloc(op->suspended_count * sizeof *changes);
    for (size_t i = 0; i < op->suspended_count && status == STATUS_OK; i++) {
        changes[i] = (struct change_row){.kind = DOCUMENT_JOB, .id = op->suspended_jobs[i]};
        status =
            db_exec(b->s->db, "UPDATE job SET suspended = 1 WHERE id = ?", VALUES(db_i(op->suspended_jobs[i])), NULL);
    }
    if (status == STATUS_OK)
        status = feed_add(b->s, changes, op->suspended_count, now);
    free(changes);
    return status;
}

static enum status write_moves(struct batch *b)
{
    if (!b->op->move_count)
        return STATUS_OK;
    instant now = INSTANT_NONE;
    enum status status = db_now(b->s->db, &now);
    PICK(b, moves, move_count, row);
    if (status == STATUS_OK)
        status = feed_lock(b->s);
    for (size_t i = 0; i < b->picked.count && status == STATUS_OK; i++)
        status = job_move(b->s, &b->op->moves[b->picked.items[i]], now);
    return status;
}

/* An instant's own run must lie in the partition of its instant: that is what makes the unique key see it. */
static enum status check(struct session *s, const struct store_batch *op)
{
    for (size_t i = 0; i < op->fire_count; i++) {
        const struct run_row *run = &op->fires[i].run;
        bool own = run->generation == 0 && (run->origin == ORIGIN_SCHEDULE || run->origin == ORIGIN_MISFIRE);
        if (run->id <= 0 || (own && run_id_day(run->id) != day_of(run->scheduled_at)))
            return error_set(s->error, STATUS_INVALID, "run %lld does not carry the day of its instant",
                             (long long)run->id);
        if (run->trigger && strlen(run->trigger) > LIMIT_NAME + 32)
            return error_set(s->error, STATUS_INVALID, "the name of a trigger is longer than %d bytes", LIMIT_NAME);
    }
    return STATUS_OK;
}

static enum status write_after(struct batch *b)
{
    enum status status = write_lingers(b->s, b->op);
    if (status == STATUS_OK)
        status = write_notices(b->s, b->op);
    return status == STATUS_OK ? write_wishes(b->s, b->op, b->owned) : status;
}

enum status sql_batch(struct session *s, struct store_batch *op)
{
    enum status status = check(s, op);
    if (status == STATUS_OK)
        status = batch_fence_boot(s, op);
    if (status != STATUS_OK)
        return status;
    struct batch *b = mem_new(struct batch);
    b->s = s;
    b->op = op;
    static enum status (*const parts[])(struct batch *) = {
        fence_slots,    write_activations, write_skips,    write_states,  write_fires,       write_runs,  write_steps,
        write_attempts, write_left,        write_requests, write_reports, write_suspensions, write_after, write_moves};
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == STATUS_OK; i++)
        status = parts[i](b);
    vec_release(&b->picked);
    vec_release(&b->unmade);
    vec_release(&b->bodies);
    free(b);
    return status;
}

enum status sql_batch_check(struct session *s, struct store_batch_check *op)
{
    /* Locking: a COMMIT that is still on its way is waited for, not missed. */
    struct query q;
    int64_t batch = 0;
    query_init(&q, "SELECT batch FROM boot");
    query_with(&q, " WHERE boot = ?", db_i(op->boot));
    query_add(&q, s->db->dialect->in_share);
    enum status status = query_open(s, &q);
    if (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
        batch = db_number(q.rows, 0);
    bool missing = status == STATUS_END;
    status = query_close(&q, status);
    if (missing)
        return error_set(s->error, STATUS_NOT_FOUND, "the store knows no such process start");
    op->committed = status == STATUS_OK && batch >= op->number;
    return status;
}
