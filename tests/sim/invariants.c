/* The invariants of docs/architecture.md §6. The oracle of promised instants is written here, apart from the product.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/logic/run/machine.h"
#include "tests/sim/scenario.h"

/* ---- (4), (5), (6): after every batch
 * ------------------------------------------------------------------------------------ */

static void check_keys(struct world *world, const struct db_run *run)
{
    for (size_t i = 0; i < run->attempts.count; i++)
        for (size_t j = 0; j < i; j++) {
            const struct attempt_row *a = &run->attempts.items[i], *b = &run->attempts.items[j];
            bool same = a->key_try == b->key_try && a->item == b->item && !strcmp(a->step, b->step);
            bool both = a->state == ATTEMPT_ENDED && b->state == ATTEMPT_ENDED && call_class_definite(a->class) &&
                        call_class_definite(b->class) && !a->stale && !b->stale;
            /* not_sent and busy leave no effect: they may stand beside the end that counts */
            bool harmless = a->class == CALL_NOT_SENT || b->class == CALL_NOT_SENT || a->class == CALL_BUSY ||
                            b->class == CALL_BUSY;
            if (same && both && !harmless)
                world_break(world, "invariant 5: two definite ends under key %lld.%s.%d.%d", (long long)run->id,
                            a->step, a->item, a->key_try);
        }
}

static void check_replay(struct world *world, const struct db_run *row)
{
    const struct db_job *job = db_find_job(&world->db, row->row.job);
    struct faults faults;
    struct error err = {0};
    struct run *run = NULL;
    if (!job || row->row.version < 1 || (size_t)row->row.version > job->version_count)
        return;
    const char *json = job->versions[row->row.version - 1].json;
    faults_init(&faults);
    struct document *document = document_parse(json, strlen(json), DOCUMENT_KINDS, &faults);
    faults_release(&faults);
    if (!document)
        return;
    if (run_replay(&row->row, &document->job, row->steps.items, row->steps.count, row->attempts.items,
                   row->attempts.count, &run, &err))
        world_break(world, "invariant 4: run %lld does not replay: %s", (long long)row->id, err.text);
    else if (run_check(run, &err))
        world_break(world, "invariant 4: replay of run %lld: %s", (long long)row->id, err.text);
    else
        for (size_t i = 0; run_state_terminal(row->row.state) && i < document->job.step_count; i++)
            if (!step_state_terminal(run->steps[i].state))
                world_break(world, "invariant 4: run %lld is %s, but step %s replays as %s", (long long)row->id,
                            run_state_text(row->row.state), document->job.steps[i].name,
                            step_state_text(run->steps[i].state));
    run_free(run);
    document_free(document);
}

static void check_touched(struct world *world, int64_t id)
{
    const struct db_run *run = db_find_run(&world->db, id);
    if (run) {
        if (run->row.started_at.ms > 0 && run->row.started_at.ms < run->row.due_at.ms)
            world_break(world, "run %lld began %lld ms before it was due", (long long)id,
                        (long long)(run->row.due_at.ms - run->row.started_at.ms));
        check_keys(world, run);
        if (world->steps % 8 == 0 || run_state_terminal(run->row.state))
            check_replay(world, run);
    }
}

static void check_overlap(struct world *world)
{
    for (size_t j = 0; j < sim_plan.job_count; j++) {
        const struct sim_job *job = &sim_plan.jobs[j];
        int running = 0;
        for (size_t i = 0; job->exclusive && i < world->db.open.count; i++)
            running += world->db.open.items[i]->row.job == job->id && world->db.open.items[i]->row.state == RUN_RUNNING;
        if (running > 1)
            world_break(world, "invariant 6: %d runs of %s at work, its overlap policy allows one", running, job->name);
    }
}

/* Nothing begins while the executor of an ended run may be at work. Nodes' clocks differ by a second at most; what both
 * of them heard of at the same time is in doubt. */
static void check_linger(struct world *world, const struct run_row *run)
{
    const struct sim_job *job = NULL;
    for (size_t j = 0; j < sim_plan.job_count && !job; j++)
        if (sim_plan.jobs[j].id == run->job && sim_plan.jobs[j].exclusive)
            job = &sim_plan.jobs[j];
    for (size_t i = 0; job && i < world->db.lingers.count; i++) {
        const struct linger_row *linger = &world->db.lingers.items[i].row;
        const struct db_run *ended = linger->job == job->id ? db_find_run(&world->db, linger->run) : NULL;
        if (ended && ended->id != run->id && ended->row.ended_at.ms + SIM_SKEW < run->started_at.ms &&
            run->started_at.ms < linger->until.ms - SIM_SKEW)
            world_break(world, "invariant 6: run %lld of %s begins %lld ms before %lld may be believed over",
                        (long long)run->id, job->name, (long long)(linger->until.ms - run->started_at.ms),
                        (long long)ended->id);
    }
}

static double seconds(const struct world *world, instant at)
{
    return instant_is_none(at) ? -1 : (double)(at.ms - world->begin) / 1000;
}

/* What a batch changed: into the trace, and so into the digest of the course. */
static void tell_batch(struct world *world, const struct store_batch *b)
{
    static const char *const kinds[] = {"version", "pause", "resume", "delete"};
    static const char *const outcomes[] = {"", ", exists", ", slot lost", ", deferred"};
    for (size_t i = 0; i < b->activation_count; i++) {
        const struct activation_row *row = &b->activations[i].row;
        world_trace(world, "  boot %lld activates %s %lld of job %lld from %.3f%s", (long long)b->boot,
                    kinds[row->kind], (long long)row->version, (long long)row->job, seconds(world, row->from),
                    outcomes[b->activations[i].outcome]);
    }
    for (size_t i = 0; i < b->skip_count; i++) {
        const struct skip_row *row = &b->skips[i].row;
        world_trace(world, "  boot %lld skips %lld of job %lld: %.3f to %.3f, %s%s", (long long)b->boot,
                    (long long)row->count, (long long)row->job, seconds(world, row->from), seconds(world, row->to),
                    row->reason, outcomes[b->skips[i].outcome]);
    }
    for (size_t i = 0; i < b->state_count; i++) {
        const struct trigger_state_row *row = &b->states[i].row;
        world_trace(world, "  boot %lld state of job %lld: fires %lld last_end %.3f paused %d%d since %.3f%s",
                    (long long)b->boot, (long long)row->job, (long long)row->fires, seconds(world, row->last_end),
                    row->paused, row->job_paused, seconds(world, row->paused_since), outcomes[b->states[i].outcome]);
    }
    for (size_t i = 0; i < b->fire_count; i++) {
        const struct run_row *row = &b->fires[i].run;
        world_trace(world, "  boot %lld fires %s of job %lld at %.3f as %lld, generation %lld, %s%s",
                    (long long)b->boot, row->trigger, (long long)row->job, seconds(world, row->scheduled_at),
                    (long long)row->id, (long long)row->generation, run_state_text(row->state),
                    outcomes[b->fires[i].outcome]);
    }
    for (size_t i = 0; i < b->run_count; i++)
        world_trace(world, "  boot %lld writes run %lld %s %s%s", (long long)b->boot, (long long)b->runs[i].id,
                    run_state_text(b->runs[i].state), b->runs[i].reason ? b->runs[i].reason : "",
                    b->runs[i].cancel_requested ? " (cancel)" : "");
    for (size_t i = 0; i < b->attempt_count; i++) {
        const struct attempt_row *row = &b->attempts[i];
        world_trace(world, "  boot %lld writes attempt %lld.%s.%d.%d n %d at %s: %s %s%s", (long long)b->boot,
                    (long long)row->run, row->step, row->item, row->key_try, row->n,
                    row->instance ? row->instance : "-", attempt_state_text(row->state), call_class_text(row->class),
                    row->stale ? " stale" : "");
    }
    for (size_t i = 0; i < b->left_count; i++)
        world_trace(world, "  boot %lld leaves run %lld", (long long)b->boot, (long long)b->left[i]);
    for (size_t i = 0; i < b->request_count; i++)
        world_trace(world, "  boot %lld closes request %lld: %s", (long long)b->boot, (long long)b->requests[i].id,
                    b->requests[i].outcome);
}

/* Who has left a run, or was never its driver, writes nothing of it. */
static void check_driver(struct world *world, const struct store_batch *batch, int64_t id)
{
    const struct db_run *run = db_find_run(&world->db, id);
    bool own = !run || run->row.boot == batch->boot;
    for (size_t i = 0; i < batch->left_count && !own; i++)
        own = batch->left[i] == id; /* in this very batch, after the rest */
    if (!own)
        world_break(world, "boot %lld writes of run %lld, which boot %lld drives", (long long)batch->boot,
                    (long long)id, (long long)run->row.boot);
}

void check_batch(struct world *world, const struct store_batch *batch)
{
    tell_batch(world, batch);
    world->fires += (int64_t)batch->fire_count;
    world->skips += (int64_t)batch->skip_count;
    for (size_t i = 0; i < batch->fire_count; i++) {
        const struct run_row *run = &batch->fires[i].run;
        bool scheduled = run->origin == ORIGIN_SCHEDULE || run->origin == ORIGIN_MISFIRE;
        if (batch->fires[i].outcome == OUTCOME_DONE && scheduled && run->generation)
            world_break(world, "invariant 1: a schedule fired generation %lld of %s at %lld",
                        (long long)run->generation, run->trigger, (long long)run->scheduled_at.ms);
        check_touched(world, run->id);
    }
    for (size_t i = 0; i < batch->run_count; i++) {
        check_touched(world, batch->runs[i].id);
        check_driver(world, batch, batch->runs[i].id);
    }
    for (size_t i = 0; i < batch->fire_count; i++)
        if (batch->fires[i].outcome == OUTCOME_DONE && batch->fires[i].run.state == RUN_RUNNING)
            check_linger(world, &batch->fires[i].run);
    for (size_t i = 0; i < batch->run_count; i++)
        if (batch->runs[i].state == RUN_RUNNING)
            check_linger(world, &batch->runs[i]);
    for (size_t i = 0; i < batch->attempt_count; i++) {
        check_touched(world, batch->attempts[i].run);
        check_driver(world, batch, batch->attempts[i].run);
    }
    for (size_t i = 0; i < batch->move_count; i++)
        world_trace(world, "  boot %lld moves job %lld from slot %d to %d%s", (long long)batch->boot,
                    (long long)batch->moves[i].row.job, batch->moves[i].row.slot, batch->moves[i].to,
                    batch->moves[i].outcome == OUTCOME_DONE     ? ""
                    : batch->moves[i].outcome == OUTCOME_EXISTS ? ", refused"
                                                                : ", slot lost");
    check_overlap(world);
}

/* ---- (5): at every send and arrival
 * ---------------------------------------------------------------------------------------- */

static bool intent_committed(struct world *world, const struct sent_call *call)
{
    const struct db_run *run = db_find_run(&world->db, call->run);
    char quoted[CALL_KEY_SIZE + 16];
    const char *dot = strchr(call->step, '.'), *end = dot ? strrchr(call->step, '.') : NULL;
    const char *number = strrchr(call->key, '.');
    if (!run || !dot || end <= dot)
        return false;
    (void)snprintf(quoted, sizeof quoted, "\"step\":\"%.*s\"", (int)(end - dot - 1), dot + 1);
    if (!strcmp(number + 1, "1") && end[1] == '0' && run->row.start && strstr(run->row.start, quoted))
        return true;
    int32_t item = (int32_t)strtol(end + 1, NULL, 10);
    for (size_t i = 0; i < run->attempts.count; i++)
        if (run->attempts.items[i].key_try == (int32_t)strtol(number + 1, NULL, 10) &&
            run->attempts.items[i].item == item && strlen(run->attempts.items[i].step) == (size_t)(end - dot - 1) &&
            !strncmp(run->attempts.items[i].step, dot + 1, (size_t)(end - dot - 1)))
            return true;
    return false;
}

void check_send(struct world *world, struct life *life, const struct sent_call *call)
{
    world_trace(world, "%s sends %s", life->node->name, call->key);
    if (!intent_committed(world, call))
        world_break(world, "invariant 5: %s sends %s without committed intent", life->node->name, call->key);
    if (call->epoch != life->self.boot)
        world_break(world, "%s sends %s with epoch %lld, its boot is %lld", life->node->name, call->key,
                    (long long)call->epoch, (long long)life->self.boot);
}

void check_arrival(struct world *world, const struct sent_call *call)
{
    world_trace(world, "%s arrives", call->key);
    for (size_t i = 0; i < world->calls.count; i++) {
        const struct sent_call *other = &world->calls.items[i];
        if (other->arrived && !other->definite && other != call && !strcmp(other->step, call->step) &&
            strcmp(other->key, call->key))
            world_break(world, "doubled: %s arrives although %s has no definite end", call->key, other->key);
    }
}

/* ---- (2), (7), (8), (9): when all is healed and settled
 * ------------------------------------------------------------------------ */

/* Outcomes of one instant: runs of generation 0 and skips that cover it. */
static int outcomes(const struct db *db, int64_t job, const char *trigger, int64_t at, int *ret_runs)
{
    int skips = 0;
    *ret_runs = 0;
    for (size_t i = 0; i < db->order.count; i++) {
        const struct run_row *run = &db->order.items[i]->row;
        *ret_runs +=
            run->job == job && run->generation == 0 && run->scheduled_at.ms == at && !strcmp(run->trigger, trigger);
    }
    for (size_t i = 0; i < db->skips.count; i++) {
        const struct db_skip *skip = &db->skips.items[i];
        skips +=
            skip->row.job == job && !strcmp(skip->trigger, trigger) && skip->row.from.ms <= at && at <= skip->row.to.ms;
    }
    return skips;
}

/* For the trace: what the instant has. */
static void tell_outcomes(struct world *world, const struct sim_job *job, int64_t at)
{
    const struct db *db = &world->db;
    for (size_t i = 0; i < db->order.count; i++) {
        const struct run_row *run = &db->order.items[i]->row;
        if (run->job == job->id && run->scheduled_at.ms == at)
            world_trace(world, "  run %lld generation %lld trigger %s version %lld %s %s fired %.3f boot %lld",
                        (long long)run->id, (long long)run->generation, run->trigger, (long long)run->version,
                        run_origin_text(run->origin), run_state_text(run->state),
                        (double)(run->fired_at.ms - world->begin) / 1000, (long long)run->boot);
    }
    for (size_t i = 0; i < db->skips.count; i++) {
        const struct skip_row *skip = &db->skips.items[i].row;
        if (skip->job == job->id && skip->from.ms <= at && at <= skip->to.ms)
            world_trace(world, "  skip %.3f to %.3f, %lld, %s", (double)(skip->from.ms - world->begin) / 1000,
                        (double)(skip->to.ms - world->begin) / 1000, (long long)skip->count, db->skips.items[i].reason);
    }
}

static void check_segment(struct world *world, const struct sim_job *job, const char *trigger, int64_t period,
                          int64_t from, int64_t until)
{
    for (int64_t at = (from + period - 1) / period * period; at < until; at += period) {
        int runs, skips = outcomes(&world->db, job->id, trigger, at, &runs);
        if (runs + skips != 1) {
            tell_outcomes(world, job, at);
            world_break(world, "invariant 2: %s of %s at %.3f has %d runs and %d skips", trigger, job->name,
                        (double)(at - world->begin) / 1000, runs, skips);
        }
    }
}

/* Everything from the first activation to its pause, deletion or the end must be decided. period: by version. */
static void check_promises(struct world *world, const struct sim_job *job, const char *name, const int64_t *periods)
{
    const struct db *db = &world->db;
    int64_t until = world->now - 3000, from = 0, period = 0;
    for (size_t i = 0; i < db->states.count; i++)
        if (db->states.items[i].row.job == job->id && !strcmp(db->states.items[i].trigger, name) &&
            (db->states.items[i].row.paused || db->states.items[i].row.job_paused))
            until = until < db->states.items[i].row.paused_since.ms ? until : db->states.items[i].row.paused_since.ms;
    for (size_t i = 0; i < db->activations.count; i++) {
        const struct activation_row *row = &db->activations.items[i].row;
        const char *trigger = db->activations.items[i].trigger;
        if (row->job != job->id || (*trigger && strcmp(trigger, name)))
            continue;
        if (row->kind == ACTIVATION_VERSION) {
            if (period)
                check_segment(world, job, name, period, from, row->from.ms < until ? row->from.ms : until);
            from = row->from.ms;
            period = periods[row->version];
        } else if (row->kind == ACTIVATION_DELETE) {
            until = until < row->from.ms ? until : row->from.ms;
            if (row->from.ms < job->deleted_at)
                world_break(world, "invariant 2: the end of %s counts from %lld ms before it was deleted", job->name,
                            (long long)(job->deleted_at - row->from.ms));
        }
    }
    if (period)
        check_segment(world, job, name, period, from, until);
    else if (!from && !job->deleted) /* deleted: before anybody could activate it */
        world_break(world, "invariant 9: %s was acknowledged, but no version of it was ever activated", job->name);
}

static void check_ledger(struct world *world, const struct sim_job *job)
{
    const struct db *db = &world->db;
    int64_t fires = 0;
    for (size_t i = 0; i < db->order.count; i++)
        fires += db->order.items[i]->row.job == job->id && db->order.items[i]->row.generation == 0 &&
                 !strcmp(db->order.items[i]->row.trigger, "t");
    if (job->max_fires && fires > job->max_fires)
        world_break(world, "%s has %lld runs, max_fires is %lld", job->name, (long long)fires,
                    (long long)job->max_fires);
    if (job->kind > SIM_CRON)
        return;
    if (!job->max_fires || fires < job->max_fires)
        check_promises(world, job, "t", job->period);
    check_promises(world, job, "u", job->more);
}

static bool owner_alive(const struct world *world, int64_t boot)
{
    for (size_t i = 0; i < world->node_count; i++)
        if (world->nodes[i].life && world->nodes[i].life->self.boot == boot)
            return true;
    return false;
}

/* A run that has begun ends within its deadline; one that waits has somebody to wait for. */
static void check_run_end(struct world *world, const struct run_row *run)
{
    const struct db *db = &world->db;
    bool turn = true; /* nobody of the job is or was at work */
    if (run->state == RUN_RUNNING && run->started_at.ms < world->now - SIM_TIMEOUT - SIM_PATIENCE)
        world_break(world, "invariant 7: run %lld is still running%s%s", (long long)run->id, run->reason ? ", " : "",
                    run->reason ? run->reason : "");
    if (run->state != RUN_QUEUED || run->due_at.ms > world->now - SIM_PATIENCE ||
        run->fired_at.ms > world->now - SIM_PATIENCE)
        return;
    for (size_t i = 0; i < db->order.count; i++) {
        const struct run_row *other = &db->order.items[i]->row;
        if (other->job == run->job && (other->state == RUN_RUNNING || other->ended_at.ms > world->now - SIM_PATIENCE))
            turn = false;
    }
    if (turn)
        world_break(world, "invariant 7: run %lld of job %lld is queued%s%s, and nothing of its job is at work",
                    (long long)run->id, (long long)run->job, run->reason ? ", " : "", run->reason ? run->reason : "");
}

/* Everything is healed and has had its time: nobody holds more than 1.1 of its share and one more. */
static void check_balance(struct world *world)
{
    int64_t jobs = 0, nodes = (int64_t)world->sessions.count;
    bool moved = false; /* by hand: then that node may hold more */
    for (size_t i = 0; i < world->db.jobs.count; i++) {
        jobs += !world->db.jobs.items[i].deleted;
        moved = moved || world->db.jobs.items[i].slot >= CLAIM_SLOTS;
    }
    for (size_t n = 0; n < world->sessions.count; n++) {
        const struct session *session = &world->sessions.items[n];
        int64_t slots = 0, load = 0;
        for (size_t i = 0; i < world->claims.count; i++) {
            if (world->claims.items[i].session != session->id)
                continue;
            slots++;
            for (size_t k = 0; k < world->db.jobs.count; k++)
                load += !world->db.jobs.items[k].deleted && world->db.jobs.items[k].slot == world->claims.items[i].slot;
        }
        if (slots > 11 * CLAIM_SLOTS_ALL / (10 * nodes) + 1 || (load > 11 * jobs / (10 * nodes) + 1 && !moved))
            world_break(world, "balance: %s of %lld nodes holds %lld slots and %lld of %lld jobs", session->self.node,
                        (long long)nodes, (long long)slots, (long long)load, (long long)jobs);
    }
}

void check_end(struct world *world)
{
    const struct db *db = &world->db;
    check_balance(world);
    for (size_t j = 0; j < sim_plan.job_count && !world->broken; j++) {
        const struct sim_job *job = &sim_plan.jobs[j];
        const struct db_job *row = db_find_job(&world->db, job->id);
        if (row && !job->deleted && !owner_alive(world, db->slots[row->slot].owner_boot))
            world_break(world, "invariant 8: slot %d of %s has no living owner", row->slot, job->name);
        check_ledger(world, job);
        check_outcomes(world, job);
    }
    check_requests(world);
    for (size_t i = 0; i < db->open.count; i++)
        check_run_end(world, &db->open.items[i]->row);
    for (size_t i = 0; i < sim_plan.enqueued.count; i++)
        if (!db_find_run(&world->db, sim_plan.enqueued.items[i])) {
            bool refused = false; /* a request may be closed with a reason (job deleted) */
            for (size_t r = 0; r < db->requests.count; r++)
                refused = refused ||
                          (db->requests.items[r].row.id == sim_plan.enqueued.items[i] && db->requests.items[r].outcome);
            bool deleted = false;
            for (size_t r = 0; r < db->requests.count; r++)
                if (db->requests.items[r].row.id == sim_plan.enqueued.items[i]) {
                    const struct db_job *job = db_find_job(&world->db, db->requests.items[r].row.job);
                    deleted = job && job->deleted;
                }
            if (!(refused && deleted))
                world_break(world, "invariant 9: the enqueued run %lld never came to be",
                            (long long)sim_plan.enqueued.items[i]);
        }
}
