/* Runs in the hands of schedulers, what these write, and the table of operations. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/db_parts.h"

/* ---- runs in hand */

static enum status op_runs_adopt(struct db *db, struct store_op *op)
{
    struct store_runs_adopt *adopt = &op->runs_adopt;
    struct db_boot *from = db_find_boot(db, adopt->from_boot);
    size_t steps = 0, attempts = 0;
    if (fenced(db, adopt->boot))
        return STATUS_FENCED;
    if (adopt->from_boot != 0 && (!from || !from->fenced))
        return STATUS_INVALID; /* a living boot's runs are its own */
    adopt->runs = arena_array(&op->arena, struct run_row, adopt->limit + 1);
    struct db_run **taken = arena_array(&op->arena, struct db_run *, adopt->limit + 1);
    for (size_t i = 0; i < db->open.count && adopt->run_count < adopt->limit; i++) {
        struct db_run *run = db->open.items[i];
        if (run->row.boot != adopt->from_boot || (adopt->from_boot == 0 && !slot_owned(db, run->row.slot, adopt->boot)))
            continue;
        disown(&run->row.node);
        run->row.boot = adopt->boot;
        run->row.node = mem_copy_text(adopt->node);
        taken[adopt->run_count] = run;
        db_copy_run(&op->arena, &adopt->runs[adopt->run_count++], &run->row);
        steps += run->steps.count;
        attempts += run->attempts.count;
    }
    adopt->steps = arena_array(&op->arena, struct step_row, steps + 1);
    adopt->attempts = arena_array(&op->arena, struct attempt_row, attempts + 1);
    for (size_t r = 0; r < adopt->run_count; r++) {
        db_copy_rows(&op->arena, taken[r], adopt->steps + adopt->step_count, adopt->attempts + adopt->attempt_count);
        adopt->step_count += taken[r]->steps.count;
        adopt->attempt_count += taken[r]->attempts.count;
    }
    return STATUS_OK;
}

static enum status op_runs_open(struct db *db, struct store_op *op)
{
    op->runs_open.open = arena_array(&op->arena, bool, op->runs_open.count + 1);
    op->runs_open.ended_at = arena_array(&op->arena, instant, op->runs_open.count + 1);
    op->runs_open.linger = arena_array(&op->arena, instant, op->runs_open.count + 1);
    op->runs_open.left = arena_array(&op->arena, bool, op->runs_open.count + 1);
    for (size_t i = 0; i < op->runs_open.count; i++) {
        struct db_run *run = db_find_run(db, op->runs_open.runs[i]);
        op->runs_open.open[i] = run && !run_state_terminal(run->row.state);
        op->runs_open.ended_at[i] = run ? run->row.ended_at : INSTANT_NONE;
        op->runs_open.left[i] = op->runs_open.open[i] && run->row.boot == 0;
        op->runs_open.linger[i] = INSTANT_NONE;
        for (size_t k = 0; run && k < db->lingers.count; k++)
            if (db->lingers.items[k].row.run == run->id)
                op->runs_open.linger[i] = instant_max(op->runs_open.linger[i], db->lingers.items[k].row.until);
    }
    return STATUS_OK;
}

/* Where its job is now. */
static int32_t slot_of_request(struct db *db, size_t index)
{
    const struct request_row *row = &db->requests.items[index].row;
    const struct db_job *job = db_find_job(db, row->job);
    return job ? job->slot : row->slot;
}

/* Executors of the simulation promise no signs of life. */
static enum status op_alive_read(struct db *db, struct store_op *op)
{
    (void)db;
    op->alive_read.count = 0;
    return STATUS_OK;
}

static enum status op_poll(struct db *db, struct store_op *op)
{
    struct store_poll *poll = &op->poll;
    int64_t head = (int64_t)db->changes.count;
    poll->head = head;
    poll->store_now.ms = db->now;
    const struct db_boot *boot = db_find_boot(db, poll->boot);
    poll->wish = boot ? db_find_node(db, boot->node)->wish : NODE_WORK;
    if (poll->since >= 0 && poll->since < head) {
        size_t count = (size_t)(head - poll->since);
        count = count < poll->limit ? count : poll->limit;
        poll->changes = arena_array(&op->arena, struct change_row, count + 1);
        memcpy(poll->changes, db->changes.items + poll->since, count * sizeof *poll->changes);
        poll->change_count = count;
    }
    poll->requests = arena_array(&op->arena, struct request_row, db->requests.count + 1);
    for (size_t i = 0; i < db->requests.count; i++) {
        const struct request_row *row = &db->requests.items[i].row;
        const struct db_run *run = row->run ? db_find_run(db, row->run) : NULL; /* goes to whoever drives it */
        bool ours = run && !run_state_terminal(run->row.state) ? run->row.boot == poll->boot
                                                               : slot_owned(db, slot_of_request(db, i), poll->boot);
        if (db->requests.items[i].outcome || !ours)
            continue;
        poll->requests[poll->request_count] = *row;
        into(&op->arena, &poll->requests[poll->request_count++].reason);
    }
    return STATUS_OK;
}

/* ---- batch */

static struct db_run *twin(struct db *db, const struct run_row *row)
{
    struct db_run *same = db_find_run(db, row->id);
    for (size_t i = db->order.count; i-- > 0 && !same;) {
        const struct run_row *r = &db->order.items[i]->row;
        if (r->job == row->job && r->scheduled_at.ms == row->scheduled_at.ms && r->generation == row->generation &&
            !strcmp(r->trigger, row->trigger) && run_id_day(r->id) == run_id_day(row->id))
            same = db->order.items[i];
    }
    return same;
}

static void insert_run(struct db *db, const struct run_row *row)
{
    struct db_run *run = mem_new(struct db_run);
    run->id = row->id;
    run->row = *row;
    EACH(&run->row, own, RUN_TEXTS(&run->row));
    HASH_ADD(hh, db->runs, id, sizeof run->id, run);
    vec_add(&db->order, run);
    if (!run_state_terminal(row->state))
        vec_add(&db->open, run);
}

static void update_run(struct db *db, const struct run_row *row)
{
    struct db_run *run = db_find_run(db, row->id);
    if (!run)
        return;
    struct run_row *to = &run->row;
    const char **changed[] = {&to->reason, &to->error_code, &to->error_args, &to->start};
    const char *fresh[] = {row->reason, row->error_code, row->error_args, row->start};
    for (size_t i = 0; i < 4; i++) {
        disown(changed[i]);
        *changed[i] = mem_copy_text(fresh[i]);
    }
    to->state = row->state;
    to->started_at = row->started_at;
    to->ended_at = row->ended_at;
    to->cancel_requested = row->cancel_requested;
    for (size_t i = 0; run_state_terminal(to->state) && i < db->open.count; i++)
        if (db->open.items[i] == run) {
            memmove(db->open.items + i, db->open.items + i + 1, (db->open.count - i - 1) * sizeof *db->open.items);
            db->open.count--;
            break;
        }
}

static void upsert_step(struct db *db, const struct step_row *row)
{
    struct db_run *run = db_find_run(db, row->run);
    struct step_row *to = NULL;
    if (!run)
        return;
    for (size_t i = 0; i < run->steps.count && !to; i++)
        if (run->steps.items[i].item == row->item && !strcmp(run->steps.items[i].step, row->step))
            to = &run->steps.items[i];
    if (to)
        EACH(to, disown, STEP_TEXTS(to));
    else
        to = vec_push(&run->steps);
    *to = *row;
    EACH(to, own, STEP_TEXTS(to));
}

static void upsert_attempt(struct db *db, const struct attempt_row *row)
{
    struct db_run *run = db_find_run(db, row->run);
    struct attempt_row *to = NULL;
    if (!run)
        return;
    for (size_t i = 0; i < run->attempts.count && !to; i++)
        if (run->attempts.items[i].item == row->item && run->attempts.items[i].n == row->n &&
            !strcmp(run->attempts.items[i].step, row->step))
            to = &run->attempts.items[i];
    enum notice_state notice = to ? to->notice : NOTICE_NONE;
    if (to)
        EACH(to, disown, ATTEMPT_TEXTS(to));
    else
        to = vec_push(&run->attempts);
    *to = *row;
    to->notice = notice;
    EACH(to, own, ATTEMPT_TEXTS(to));
}

static void note_notice(struct db *db, const struct store_notice *notice)
{
    struct db_run *run = db_find_run(db, notice->run);
    for (size_t i = 0; run && i < run->attempts.count; i++) {
        struct attempt_row *row = &run->attempts.items[i];
        if (row->item == notice->item && row->n == notice->n && !strcmp(row->step, notice->step))
            row->notice = notice->state;
    }
    for (size_t i = 0; i < db->lingers.count && notice->state != NOTICE_DUE; i++) {
        struct linger_row *row = &db->lingers.items[i].row;
        if (row->run == notice->run && row->item == notice->item && row->n == notice->n &&
            !strcmp(row->step, notice->step))
            disown(&row->notice_to);
    }
}

static void upsert_state(struct db *db, const struct trigger_state_row *row)
{
    struct db_state *to = NULL;
    for (size_t i = 0; i < db->states.count && !to; i++)
        if (db->states.items[i].row.job == row->job && !strcmp(db->states.items[i].trigger, row->trigger))
            to = &db->states.items[i];
    if (!to) {
        to = vec_push(&db->states);
        to->trigger = mem_copy_text(row->trigger);
    }
    free(to->error);
    to->row = *row;
    to->error = mem_copy_text(row->error);
}

static enum store_outcome outcome(struct db *db, int32_t slot, int64_t boot)
{
    return slot_owned(db, slot, boot) ? OUTCOME_DONE : OUTCOME_SLOT_LOST;
}
#define OUTCOME(item) ((item)->outcome = outcome(db, (item)->row.slot, b->boot))

static void apply_slot_rows(struct db *db, struct store_batch *b)
{
    for (size_t i = 0; i < b->activation_count; i++)
        if (OUTCOME(&b->activations[i]) == OUTCOME_DONE) {
            struct db_activation *row = vec_push(&db->activations);
            row->row = b->activations[i].row;
            row->trigger = mem_copy_text(row->row.trigger ? row->row.trigger : "");
            if (row->row.kind == ACTIVATION_RESUME && !*row->trigger && db_find_job(db, row->row.job))
                db_find_job(db, row->row.job)->suspended = false;
        }
    for (size_t i = 0; i < b->skip_count; i++)
        if (OUTCOME(&b->skips[i]) == OUTCOME_DONE) {
            struct db_skip *row = vec_push(&db->skips);
            row->row = b->skips[i].row;
            row->trigger = mem_copy_text(row->row.trigger);
            row->reason = mem_copy_text(row->row.reason);
        }
    for (size_t i = 0; i < b->state_count; i++)
        if (OUTCOME(&b->states[i]) == OUTCOME_DONE)
            upsert_state(db, &b->states[i].row);
}

static void add_wish(struct db *db, const struct request_row *wish)
{
    for (size_t i = 0; i < db->requests.count; i++)
        if (db->requests.items[i].row.id == wish->id)
            return; /* its owner lost the slot before it could close it */
    struct db_request *request = vec_push(&db->requests);
    request->row = *wish;
    request->row.trigger = request->row.params = NULL;
    request->row.reason = mem_copy_text(wish->reason);
    request->row.author = "scheduler";
    request->row.created_at.ms = db->now;
}

/* What others have to do: see store_wishes.c. */
static void apply_rest(struct db *db, const struct store_batch *b)
{
    for (size_t i = 0; i < b->linger_count; i++) {
        struct linger_row *row = &((struct db_linger *)vec_push(&db->lingers))->row;
        *row = b->lingers[i];
        EACH(row, own, LINGER_TEXTS(row));
    }
    for (size_t i = 0; i < b->notice_count; i++)
        note_notice(db, &b->notices[i]);
    for (size_t i = 0; i < b->fire_count; i++)
        if (b->fires[i].outcome == OUTCOME_DEFERRED)
            add_wish(db, &(struct request_row){.id = b->fires[i].run.id,
                                               .kind = REQUEST_RETRY,
                                               .job = b->fires[i].run.job,
                                               .slot = b->fires[i].run.slot,
                                               .run = b->fires[i].run.retry_of,
                                               .due_at = b->fires[i].run.due_at,
                                               .scheduled_at = INSTANT_NONE});
    for (size_t i = 0; i < b->wish_count; i++)
        if (b->wishes[i].kind != REQUEST_CANCEL || slot_owned(db, b->wishes[i].slot, b->boot))
            add_wish(db, &b->wishes[i]);
}

static enum status op_batch(struct db *db, struct store_op *op)
{
    struct store_batch *b = &op->batch;
    if (fenced(db, b->boot))
        return STATUS_FENCED;
    db_find_boot(db, b->boot)->batch = b->number;
    apply_slot_rows(db, b);
    for (size_t i = 0; i < b->fire_count; i++) {
        struct store_fire *fire = &b->fires[i];
        fire->outcome = outcome(db, fire->run.slot, b->boot);
        if (fire->outcome == OUTCOME_DONE && twin(db, &fire->run))
            fire->outcome = OUTCOME_EXISTS;
        const struct db_job *job = db_find_job(db, fire->run.job);
        bool moved = job && job->slot != fire->run.slot; /* and its driver has not heard of it */
        if ((fire->outcome == OUTCOME_SLOT_LOST || moved) && fire->run.origin == ORIGIN_RETRY)
            fire->outcome = OUTCOME_DEFERRED;
        if (fire->outcome == OUTCOME_DONE)
            insert_run(db, &fire->run);
    }
    for (size_t i = 0; i < b->run_count; i++)
        update_run(db, &b->runs[i]);
    for (size_t i = 0; i < b->step_count; i++)
        upsert_step(db, &b->steps[i]);
    for (size_t i = 0; i < b->attempt_count; i++)
        upsert_attempt(db, &b->attempts[i]);
    for (size_t i = 0; i < b->left_count; i++) {
        struct db_run *run = db_find_run(db, b->left[i]);
        if (run && run->row.boot == b->boot && run->row.state == RUN_QUEUED)
            run->row.boot = 0;
    }
    for (size_t i = 0; i < b->request_count; i++)
        for (size_t r = 0; r < db->requests.count; r++)
            if (db->requests.items[r].row.id == b->requests[i].id && !db->requests.items[r].outcome)
                db->requests.items[r].outcome = mem_copy_text(b->requests[i].outcome ? b->requests[i].outcome : "");
    for (size_t i = 0; i < b->suspended_count; i++)
        if (db_find_job(db, b->suspended_jobs[i]))
            db_find_job(db, b->suspended_jobs[i])->suspended = true;
    apply_rest(db, b);
    for (size_t i = 0; i < b->move_count; i++)
        db_apply_move(db, &b->moves[i], b->boot);
    return STATUS_OK;
}

static enum status op_batch_check(struct db *db, struct store_op *op)
{
    struct db_boot *boot = db_find_boot(db, op->batch_check.boot);
    if (!boot)
        return STATUS_NOT_FOUND;
    op->batch_check.committed = boot->batch >= op->batch_check.number;
    return STATUS_OK;
}

enum status db_execute(struct db *db, struct store_op *op)
{
    static enum status (*const table[STORE_OPS])(struct db *, struct store_op *) = {
        [STORE_CLUSTER] = db_op_cluster,       [STORE_BOOT_START] = db_op_boot_start,
        [STORE_BOOT_READ] = db_op_boot_read,   [STORE_BOOT_FENCE] = db_op_boot_fence,
        [STORE_BOOTS] = db_op_boots,           [STORE_LEASE] = db_op_lease,
        [STORE_RETENTION] = db_op_retention,   [STORE_SLOTS_READ] = db_op_slots_read,
        [STORE_SLOTS_TAKE] = db_op_slots_take, [STORE_SLOTS_LOAD] = db_op_slots_load,
        [STORE_DECIDED] = db_op_decided,       [STORE_RUNS_ADOPT] = op_runs_adopt,
        [STORE_RUNS_OPEN] = op_runs_open,      [STORE_TRIGGERS] = db_op_triggers,
        [STORE_FAILURES] = db_op_failures,     [STORE_RUNS_LIST] = db_op_runs_list,
        [STORE_RUN_READ] = db_op_run_read,     [STORE_POLL] = op_poll,
        [STORE_ALIVE_READ] = op_alive_read,    [STORE_BATCH] = op_batch,
        [STORE_BATCH_CHECK] = op_batch_check,  [STORE_DEFINITIONS] = db_op_definitions,
    };
    op->status = table[op->kind] ? table[op->kind](db, op) : STATUS_INVALID;
    if (op->status)
        (void)error_set(&op->error, op->status, "%s", status_text(op->status));
    return op->status;
}
