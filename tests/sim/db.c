#include "tests/sim/db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROJECT_ID 1

void db_init(struct db *db)
{
    memset(db, 0, sizeof *db);
    db->next_id = 10;
    db->generation = 1;
    for (size_t i = 0; i < CLAIM_SLOTS_ALL; i++)
        db->slots[i].decided_through = INT64_MIN;
}

/* ---- texts of rows -------------------------------------------------------------------------------------------------
 */

static void own(const char **text)
{
    *text = mem_copy_text(*text);
}

static void disown(const char **text)
{
    union {
        const char *shown;
        void *memory;
    } u = {.shown = *text};
    free(u.memory);
    *text = NULL;
}

#define EACH(row, fn, ...)                                           \
    do {                                                             \
        const char **texts[] = {__VA_ARGS__};                        \
        for (size_t i_ = 0; i_ < sizeof texts / sizeof *texts; i_++) \
            fn(texts[i_]);                                           \
    } while (0)
#define RUN_TEXTS(r) \
    &(r)->trigger, &(r)->reason, &(r)->error_code, &(r)->error_args, &(r)->node, &(r)->zone, &(r)->params, &(r)->start
#define LINGER_TEXTS(r) &(r)->step, &(r)->application, &(r)->instance, &(r)->notice_to
#define STEP_TEXTS(r) &(r)->step, &(r)->reason, &(r)->result, &(r)->error, &(r)->items
#define ATTEMPT_TEXTS(r)                                                                                          \
    &(r)->step, &(r)->instance, &(r)->node, &(r)->error, &(r)->code, &(r)->request, &(r)->response, &(r)->result, \
        &(r)->notice_to

static void free_run(struct db_run *run)
{
    EACH(&run->row, disown, RUN_TEXTS(&run->row));
    for (size_t i = 0; i < run->steps.count; i++)
        EACH(&run->steps.items[i], disown, STEP_TEXTS(&run->steps.items[i]));
    for (size_t i = 0; i < run->attempts.count; i++)
        EACH(&run->attempts.items[i], disown, ATTEMPT_TEXTS(&run->attempts.items[i]));
    vec_release(&run->steps);
    vec_release(&run->attempts);
    free(run);
}

void db_release(struct db *db)
{
    struct db_run *run, *next;
    HASH_ITER(hh, db->runs, run, next)
    {
        HASH_DEL(db->runs, run);
        free_run(run);
    }
    for (size_t i = 0; i < db->jobs.count; i++) {
        struct db_job *job = &db->jobs.items[i];
        for (size_t v = 0; v < job->version_count; v++)
            free(job->versions[v].json);
        free(job->versions);
        free(job->name);
    }
    for (size_t i = 0; i < db->activations.count; i++)
        free(db->activations.items[i].trigger);
    for (size_t i = 0; i < db->skips.count; i++) {
        free(db->skips.items[i].trigger);
        free(db->skips.items[i].reason);
    }
    for (size_t i = 0; i < db->requests.count; i++) {
        free(db->requests.items[i].outcome);
        disown(&db->requests.items[i].row.reason);
    }
    for (size_t i = 0; i < db->lingers.count; i++)
        EACH(&db->lingers.items[i].row, disown, LINGER_TEXTS(&db->lingers.items[i].row));
    for (size_t i = 0; i < db->states.count; i++) {
        free(db->states.items[i].trigger);
        free(db->states.items[i].error);
    }
    vec_release(&db->boots);
    vec_release(&db->jobs);
    vec_release(&db->changes);
    vec_release(&db->order);
    vec_release(&db->open);
    vec_release(&db->activations);
    vec_release(&db->skips);
    vec_release(&db->requests);
    vec_release(&db->states);
    vec_release(&db->lingers);
    vec_release(&db->leases);
    vec_release(&db->nodes);
}

/* Copy of rows into an answer's arena. */
static void into(struct arena *arena, const char **text)
{
    *text = arena_text(arena, *text);
}
#define INTO(arena_, ...)                                            \
    do {                                                             \
        const char **texts[] = {__VA_ARGS__};                        \
        for (size_t i_ = 0; i_ < sizeof texts / sizeof *texts; i_++) \
            into(arena_, texts[i_]);                                 \
    } while (0)

/* ---- finding
 * --------------------------------------------------------------------------------------------------------- */

struct db_run *db_find_run(struct db *db, int64_t id)
{
    struct db_run *run;
    HASH_FIND(hh, db->runs, &id, sizeof id, run);
    return run;
}

struct db_job *db_find_job(struct db *db, int64_t id)
{
    for (size_t i = 0; i < db->jobs.count; i++)
        if (db->jobs.items[i].id == id)
            return &db->jobs.items[i];
    return NULL;
}

struct db_boot *db_find_boot(struct db *db, int64_t boot)
{
    for (size_t i = 0; i < db->boots.count; i++)
        if (db->boots.items[i].boot == boot)
            return &db->boots.items[i];
    return NULL;
}

static bool slot_owned(const struct db *db, int32_t slot, int64_t boot)
{
    return slot >= 0 && slot < CLAIM_SLOTS_ALL && db->slots[slot].owner_boot == boot;
}

/* ---- what people do
 * ---------------------------------------------------------------------------------------------------- */

static void add_change(struct db *db, int64_t id)
{
    struct change_row *change = vec_push(&db->changes);
    *change = (struct change_row){.seq = (int64_t)db->changes.count, .kind = DOCUMENT_JOB, .id = id};
}

int64_t db_put_job(struct db *db, const char *name, const char *json)
{
    struct db_job *job = NULL;
    for (size_t i = 0; i < db->jobs.count; i++)
        if (!db->jobs.items[i].deleted && !strcmp(db->jobs.items[i].name, name))
            job = &db->jobs.items[i];
    if (!job) {
        job = vec_push(&db->jobs);
        job->id = db->next_id++;
        job->slot = (int32_t)((db->jobs.count - 1) % CLAIM_SLOTS);
        job->name = mem_copy_text(name);
        job->first_created_at = db->now;
    }
    job->versions = mem_resize(job->versions, (job->version_count + 1) * sizeof *job->versions);
    job->version++;
    job->versions[job->version_count++] = (struct db_version){job->version, db->now, mem_copy_text(json)};
    add_change(db, job->id);
    return job->id;
}

void db_delete_job(struct db *db, int64_t id)
{
    struct db_job *job = db_find_job(db, id);
    if (job && !job->deleted) {
        job->deleted = true;
        job->deleted_at = db->now;
        add_change(db, id);
    }
}

int64_t db_request(struct db *db, enum request_kind kind, int64_t job, int64_t run, bool skip_missed)
{
    struct db_job *of = db_find_job(db, job);
    struct db_request *request = vec_push(&db->requests);
    request->row = (struct request_row){.kind = kind,
                                        .job = job,
                                        .slot = of ? of->slot : 0,
                                        .run = run,
                                        .scheduled_at = INSTANT_NONE,
                                        .due_at = INSTANT_NONE,
                                        .skip_missed = skip_missed,
                                        .created_at = {db->now},
                                        .author = "someone"};
    request->row.id = run_id_make(day_of((instant){db->now}), 16000, (uint64_t)db->requests.count);
    if (of && kind == REQUEST_PAUSE)
        of->paused = true;
    if (of && kind == REQUEST_RESUME)
        of->paused = of->suspended = false;
    return request->row.id;
}

int64_t db_move(struct db *db, int64_t job, const char *node)
{
    int64_t id = db_request(db, REQUEST_MOVE, job, 0, false);
    db->requests.items[db->requests.count - 1].row.node = node;
    return id;
}

static struct db_node *find_node(struct db *db, const char *name)
{
    for (size_t i = 0; i < db->nodes.count; i++)
        if (!strcmp(db->nodes.items[i].node, name))
            return &db->nodes.items[i];
    struct db_node *node = vec_push(&db->nodes);
    (void)snprintf(node->node, sizeof node->node, "%s", name);
    return node;
}

void db_wish(struct db *db, const char *node, enum node_wish wish)
{
    find_node(db, node)->wish = wish;
}

/* ---- operations
 * -------------------------------------------------------------------------------------------------------- */

static enum status op_cluster(struct db *db, struct store_op *op)
{
    (void)snprintf(op->cluster.id, sizeof op->cluster.id, "simulation");
    db->generation += op->cluster.next_generation;
    op->cluster.generation = db->generation;
    op->cluster.store_now.ms = db->now;
    return STATUS_OK;
}

static enum status op_boot_start(struct db *db, struct store_op *op)
{
    for (size_t i = 0; i < db->boots.count; i++)
        if (!db->boots.items[i].fenced && !strcmp(db->boots.items[i].node, op->boot_start.node))
            op->boot_start.previous_boot = db->boots.items[i].boot;
    struct db_boot *boot = vec_push(&db->boots);
    boot->boot = (int64_t)db->boots.count;
    boot->seen_at = db->now;
    (void)snprintf(boot->node, sizeof boot->node, "%s", op->boot_start.node);
    op->boot_start.boot = boot->boot;
    op->boot_start.wish = find_node(db, boot->node)->wish;
    op->boot_start.store_now.ms = db->now;
    return STATUS_OK;
}

static enum status op_boot_read(struct db *db, struct store_op *op)
{
    struct db_boot *boot = db_find_boot(db, op->boot_read.boot);
    if (!boot)
        return STATUS_NOT_FOUND;
    boot->seen_at = db->now;
    op->boot_read.fenced = boot->fenced;
    op->boot_read.batch = boot->batch;
    op->boot_read.store_now.ms = db->now;
    return STATUS_OK;
}

static enum status fenced(struct db *db, int64_t boot)
{
    struct db_boot *row = db_find_boot(db, boot);
    return row && !row->fenced ? STATUS_OK : STATUS_FENCED;
}

static enum status op_boot_fence(struct db *db, struct store_op *op)
{
    if (fenced(db, op->boot_fence.boot))
        return STATUS_FENCED;
    struct db_boot *dead = db_find_boot(db, op->boot_fence.dead_boot);
    if (!dead)
        return STATUS_NOT_FOUND;
    op->boot_fence.already = dead->fenced;
    dead->fenced = true;
    return STATUS_OK;
}

static enum status op_boots(struct db *db, struct store_op *op)
{
    op->boots.rows = arena_array(&op->arena, struct boot_row, db->boots.count);
    for (size_t i = 0; i < db->boots.count; i++) {
        struct db_boot *boot = &db->boots.items[i];
        op->boots.rows[op->boots.count++] = (struct boot_row){.boot = boot->boot,
                                                              .node = arena_text(&op->arena, boot->node),
                                                              .address = "",
                                                              .fenced = boot->fenced,
                                                              .started_at = {boot->seen_at},
                                                              .seen_at = {boot->seen_at}};
    }
    return STATUS_OK;
}

static struct db_lease *find_lease(struct db *db, const char *name)
{
    for (size_t i = 0; i < db->leases.count; i++)
        if (!strcmp(db->leases.items[i].name, name))
            return &db->leases.items[i];
    struct db_lease *lease = vec_push(&db->leases);
    (void)snprintf(lease->name, sizeof lease->name, "%s", name);
    return lease;
}

static enum status op_lease(struct db *db, struct store_op *op)
{
    struct store_lease *wish = &op->lease;
    struct db_lease *lease = find_lease(db, wish->name);
    wish->held = false;
    if (wish->release) {
        if (lease->boot == wish->boot)
            lease->boot = 0;
        return STATUS_OK;
    }
    if (fenced(db, wish->boot))
        return STATUS_FENCED;
    if (!lease->boot || lease->boot == wish->boot || lease->until < db->now || fenced(db, lease->boot)) {
        lease->boot = wish->boot;
        lease->until = db->now + wish->ttl;
        wish->held = true;
    }
    return STATUS_OK;
}

static enum status op_slots_read(struct db *db, struct store_op *op)
{
    op->slots_read.rows = arena_array(&op->arena, struct slot_row, CLAIM_SLOTS_ALL);
    op->slots_read.count = CLAIM_SLOTS_ALL;
    for (int32_t i = 0; i < CLAIM_SLOTS_ALL; i++) {
        struct db_slot *slot = &db->slots[i];
        struct db_boot *owner = db_find_boot(db, slot->owner_boot);
        op->slots_read.rows[i] = (struct slot_row){.slot = i,
                                                   .generation = slot->generation,
                                                   .czxid = slot->czxid,
                                                   .owner_boot = slot->owner_boot,
                                                   .owner_node = owner ? arena_text(&op->arena, owner->node) : NULL,
                                                   .since = {0},
                                                   .decided_through = {slot->decided_through}};
    }
    for (size_t i = 0; i < db->jobs.count; i++)
        op->slots_read.rows[db->jobs.items[i].slot].jobs += !db->jobs.items[i].deleted;
    for (size_t i = 0; i < CLAIM_SLOTS_ALL; i++)
        op->slots_read.rows[i].node = op->slots_read.rows[i].jobs ? db->slots[i].node : NULL;
    return STATUS_OK;
}

static enum status op_slots_take(struct db *db, struct store_op *op)
{
    struct store_slots_take *take = &op->slots_take;
    if (fenced(db, take->boot))
        return STATUS_FENCED;
    for (size_t i = 0; i < take->count; i++) {
        struct slot_take *one = &take->takes[i];
        struct db_slot *slot = &db->slots[one->slot];
        one->previous_boot = slot->owner_boot;
        one->decided_through.ms = slot->decided_through;
        one->taken =
            slot->generation < one->generation || (slot->generation == one->generation && slot->czxid < one->czxid) ||
            (slot->generation == one->generation && slot->czxid == one->czxid && slot->owner_boot == take->boot);
        if (one->taken) {
            slot->generation = one->generation;
            slot->czxid = one->czxid;
            slot->owner_boot = take->boot;
        }
    }
    take->feed_head = (int64_t)db->changes.count;
    return STATUS_OK;
}

static struct definition_row job_definition(struct db *db, struct arena *arena, const struct db_job *job,
                                            const struct db_version *version)
{
    struct db_boot *owner = db_find_boot(db, db->slots[job->slot].owner_boot);
    return (struct definition_row){.kind = DOCUMENT_JOB,
                                   .id = job->id,
                                   .project_id = PROJECT_ID,
                                   .project = "default",
                                   .name = arena_text(arena, job->name),
                                   .version = version->version,
                                   .created_at = {version->created_at},
                                   .first_created_at = {job->first_created_at},
                                   .json = arena_text(arena, version->json),
                                   .author = "someone",
                                   .source = "api",
                                   .deleted = job->deleted,
                                   .deleted_at = job->deleted ? (instant){job->deleted_at} : INSTANT_NONE,
                                   .slot = job->slot,
                                   .paused = job->paused,
                                   .suspended = job->suspended,
                                   .moves = job->moves,
                                   .owner_node = owner ? arena_text(arena, owner->node) : NULL,
                                   .owner_boot = db->slots[job->slot].owner_boot,
                                   .owner_since = {0}};
}

static bool in_slots(const struct store_slots_load *load, int32_t slot)
{
    for (size_t i = 0; i < load->slot_count; i++)
        if (load->slots[i] == slot)
            return true;
    return false;
}

/* Where a trigger of a job stands (all jobs of the scenarios have `t`, some versions `u`, too): the newest activation
 * of a version, and the last instant that is a run or a skip, as far as decided_through does not say more. */
static void load_cursor(struct db *db, struct arena *arena, const struct db_job *job, const char *trigger,
                        struct trigger_cursor *ret)
{
    int64_t through = db->slots[job->slot].decided_through;
    *ret = (struct trigger_cursor){
        .job = job->id, .trigger = arena_text(arena, trigger), .from = INSTANT_NONE, .decided = INSTANT_NONE};
    for (size_t i = 0; i < db->activations.count; i++) {
        const struct activation_row *row = &db->activations.items[i].row;
        if (row->job != job->id || row->kind != ACTIVATION_VERSION || row->from.ms < ret->from.ms ||
            (row->from.ms == ret->from.ms && row->version < ret->version))
            continue;
        ret->version = row->version;
        ret->from = row->from;
    }
    for (size_t i = 0; i < db->order.count; i++) {
        const struct run_row *run = &db->order.items[i]->row;
        if (run->job == job->id && run->generation == 0 && !strcmp(run->trigger, trigger) &&
            run->scheduled_at.ms >= through)
            ret->decided = instant_max(ret->decided, run->scheduled_at);
    }
    for (size_t i = 0; i < db->skips.count; i++)
        if (db->skips.items[i].row.job == job->id && db->skips.items[i].row.to.ms >= through &&
            !strcmp(db->skips.items[i].trigger, trigger))
            ret->decided = instant_max(ret->decided, db->skips.items[i].row.to);
    if (ret->version && through >= ret->from.ms)
        ret->decided = instant_max(ret->decided, (instant){through});
}

/* Of each trigger that the job ever had. */
static void load_cursors_of(struct db *db, struct arena *arena, const struct db_job *job, struct trigger_cursor *rows,
                            size_t *count)
{
    bool second = false;
    for (size_t i = 0; i < job->version_count; i++)
        second = second || strstr(job->versions[i].json, "{\"name\":\"u\"");
    load_cursor(db, arena, job, "t", &rows[(*count)++]);
    if (second)
        load_cursor(db, arena, job, "u", &rows[(*count)++]);
}

static void load_cursors(struct db *db, struct store_op *op)
{
    struct store_slots_load *load = &op->slots_load;
    load->cursors = arena_array(&op->arena, struct trigger_cursor, 2 * db->jobs.count + 1);
    for (size_t i = 0; i < db->jobs.count; i++)
        if (in_slots(load, db->jobs.items[i].slot))
            load_cursors_of(db, &op->arena, &db->jobs.items[i], load->cursors, &load->cursor_count);
}

static void copy_run(struct arena *arena, struct run_row *to, const struct run_row *from)
{
    *to = *from;
    INTO(arena, RUN_TEXTS(to));
}

static void copy_linger(struct arena *arena, struct linger_row *to, const struct linger_row *from)
{
    *to = *from;
    INTO(arena, LINGER_TEXTS(to));
}

static void copy_rows(struct arena *arena, const struct db_run *run, struct step_row *steps,
                      struct attempt_row *attempts)
{
    for (size_t i = 0; i < run->steps.count; i++) {
        steps[i] = run->steps.items[i];
        INTO(arena, STEP_TEXTS(&steps[i]));
    }
    for (size_t i = 0; i < run->attempts.count; i++) {
        attempts[i] = run->attempts.items[i];
        INTO(arena, ATTEMPT_TEXTS(&attempts[i]));
    }
}

static enum status op_slots_load(struct db *db, struct store_op *op)
{
    struct store_slots_load *load = &op->slots_load;
    load->jobs = arena_array(&op->arena, struct definition_row, db->jobs.count + 1);
    load->states = arena_array(&op->arena, struct trigger_state_row, db->states.count + 1);
    load->open_runs = arena_array(&op->arena, struct run_row, db->open.count + 1);
    for (size_t i = 0; i < db->jobs.count; i++) {
        struct db_job *job = &db->jobs.items[i];
        bool done = false; /* a deleted job whose end is activated is history */
        for (size_t a = 0; a < db->activations.count; a++)
            done = done || (db->activations.items[a].row.job == job->id &&
                            db->activations.items[a].row.kind == ACTIVATION_DELETE);
        if (in_slots(load, job->slot) && !(job->deleted && done))
            load->jobs[load->job_count++] = job_definition(db, &op->arena, job, &job->versions[job->version_count - 1]);
    }
    load_cursors(db, op);
    for (size_t i = 0; i < db->states.count; i++) {
        const struct db_job *job = db_find_job(db, db->states.items[i].row.job);
        if (!job || !in_slots(load, job->slot))
            continue;
        struct trigger_state_row *state = &load->states[load->state_count++];
        *state = db->states.items[i].row;
        state->trigger = arena_text(&op->arena, db->states.items[i].trigger);
        state->error = arena_text(&op->arena, db->states.items[i].error);
    }
    for (size_t i = 0; i < db->open.count; i++) {
        const struct run_row *run = &db->open.items[i]->row;
        const struct db_job *job = db_find_job(db, run->job);
        if (job && in_slots(load, job->slot) && run->boot != load->boot)
            copy_run(&op->arena, &load->open_runs[load->open_run_count++], run);
    }
    load->lingers = arena_array(&op->arena, struct linger_row, db->lingers.count + 1);
    for (size_t i = 0; i < db->lingers.count; i++)
        if (in_slots(load, db->lingers.items[i].row.slot) && db->lingers.items[i].row.until.ms > db->now)
            copy_linger(&op->arena, &load->lingers[load->linger_count++], &db->lingers.items[i].row);
    return STATUS_OK;
}

static enum status op_decided(struct db *db, struct store_op *op)
{
    if (fenced(db, op->decided.boot))
        return STATUS_FENCED;
    for (size_t i = 0; i < op->decided.count; i++) {
        int32_t slot = op->decided.slots[i].slot;
        if (slot_owned(db, slot, op->decided.boot) && db->slots[slot].moved_seq <= op->decided.feed_seq &&
            db->slots[slot].decided_through < op->decided.slots[i].through.ms)
            db->slots[slot].decided_through = op->decided.slots[i].through.ms;
    }
    return STATUS_OK;
}

static enum status op_runs_adopt(struct db *db, struct store_op *op)
{
    struct store_runs_adopt *adopt = &op->runs_adopt;
    struct db_boot *from = db_find_boot(db, adopt->from_boot);
    size_t steps = 0, attempts = 0;
    if (fenced(db, adopt->boot))
        return STATUS_FENCED;
    if (!from || !from->fenced)
        return STATUS_INVALID; /* a living boot's runs are its own */
    adopt->runs = arena_array(&op->arena, struct run_row, adopt->limit + 1);
    struct db_run **taken = arena_array(&op->arena, struct db_run *, adopt->limit + 1);
    for (size_t i = 0; i < db->open.count && adopt->run_count < adopt->limit; i++) {
        struct db_run *run = db->open.items[i];
        if (run->row.boot != adopt->from_boot)
            continue;
        disown(&run->row.node);
        run->row.boot = adopt->boot;
        run->row.node = mem_copy_text(adopt->node);
        taken[adopt->run_count] = run;
        copy_run(&op->arena, &adopt->runs[adopt->run_count++], &run->row);
        steps += run->steps.count;
        attempts += run->attempts.count;
    }
    adopt->steps = arena_array(&op->arena, struct step_row, steps + 1);
    adopt->attempts = arena_array(&op->arena, struct attempt_row, attempts + 1);
    for (size_t r = 0; r < adopt->run_count; r++) {
        copy_rows(&op->arena, taken[r], adopt->steps + adopt->step_count, adopt->attempts + adopt->attempt_count);
        adopt->step_count += taken[r]->steps.count;
        adopt->attempt_count += taken[r]->attempts.count;
    }
    return STATUS_OK;
}

static enum status op_triggers(struct db *db, struct store_op *op)
{
    struct store_triggers *triggers = &op->triggers;
    const struct db_job *job = db_find_job(db, triggers->job);
    if (!job)
        return STATUS_NOT_FOUND;
    triggers->cursors = arena_array(&op->arena, struct trigger_cursor, 2);
    load_cursors_of(db, &op->arena, job, triggers->cursors, &triggers->cursor_count);
    triggers->open_runs = arena_array(&op->arena, struct run_row, db->open.count + 1);
    for (size_t i = 0; i < db->open.count; i++)
        if (db->open.items[i]->row.job == job->id)
            copy_run(&op->arena, &triggers->open_runs[triggers->open_run_count++], &db->open.items[i]->row);
    triggers->lingers = arena_array(&op->arena, struct linger_row, db->lingers.count + 1);
    for (size_t i = 0; i < db->lingers.count; i++)
        if (db->lingers.items[i].row.job == job->id && db->lingers.items[i].row.until.ms > db->now)
            copy_linger(&op->arena, &triggers->lingers[triggers->linger_count++], &db->lingers.items[i].row);
    return STATUS_OK;
}

static bool listed(struct db *db, const struct store_runs_list *list, const struct run_row *row)
{
    return (!list->states || list->states & 1u << row->state) && (!list->node || !strcmp(list->node, row->node)) &&
           (!list->trigger || !strcmp(list->trigger, row->trigger)) &&
           (!list->job || !strcmp(list->job, db_find_job(db, row->job)->name));
}

static int newest_first(const void *a, const void *b)
{
    const struct run_row *x = a, *y = b;
    int64_t order = y->scheduled_at.ms != x->scheduled_at.ms ? y->scheduled_at.ms - x->scheduled_at.ms : y->id - x->id;
    return (order > 0) - (order < 0);
}

static enum status op_runs_list(struct db *db, struct store_op *op)
{
    struct store_runs_list *list = &op->runs_list;
    struct run_row *all = arena_array(&op->arena, struct run_row, db->order.count + 1);
    size_t count = 0;
    for (size_t i = 0; i < db->order.count; i++)
        if (listed(db, list, &db->order.items[i]->row))
            copy_run(&op->arena, &all[count++], &db->order.items[i]->row);
    qsort(all, count, sizeof *all, newest_first);
    size_t skip = (size_t)list->skip < count ? (size_t)list->skip : count;
    list->rows = all + skip;
    list->count = count - skip < (size_t)list->limit ? count - skip : (size_t)list->limit;
    list->total = (int64_t)count;
    list->next_cursor = skip + list->count < count ? "more" : NULL;
    return STATUS_OK;
}

static enum status op_run_read(struct db *db, struct store_op *op)
{
    struct store_run_read *read = &op->run_read;
    const struct db_run *run = db_find_run(db, read->id);
    const struct db_job *job = run ? db_find_job(db, run->row.job) : NULL;
    if (!run || !job)
        return STATUS_NOT_FOUND;
    copy_run(&op->arena, &read->run, &run->row);
    read->step_count = run->steps.count;
    read->attempt_count = run->attempts.count;
    read->steps = arena_array(&op->arena, struct step_row, read->step_count + 1);
    read->attempts = arena_array(&op->arena, struct attempt_row, read->attempt_count + 1);
    copy_rows(&op->arena, run, read->steps, read->attempts);
    read->job_name = arena_text(&op->arena, job->name);
    read->project_name = "default";
    if (run->row.version >= 1 && (size_t)run->row.version <= job->version_count)
        read->job_json = arena_text(&op->arena, job->versions[run->row.version - 1].json);
    return STATUS_OK;
}

static enum status op_runs_open(struct db *db, struct store_op *op)
{
    op->runs_open.open = arena_array(&op->arena, bool, op->runs_open.count + 1);
    op->runs_open.ended_at = arena_array(&op->arena, instant, op->runs_open.count + 1);
    op->runs_open.linger = arena_array(&op->arena, instant, op->runs_open.count + 1);
    for (size_t i = 0; i < op->runs_open.count; i++) {
        struct db_run *run = db_find_run(db, op->runs_open.runs[i]);
        op->runs_open.open[i] = run && !run_state_terminal(run->row.state);
        op->runs_open.ended_at[i] = run ? run->row.ended_at : INSTANT_NONE;
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
    poll->wish = boot ? find_node(db, boot->node)->wish : NODE_WORK;
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

/* ---- batch
 * --------------------------------------------------------------------------------------------------------------- */

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

static int64_t jobs_in(const struct db *db, int32_t slot)
{
    int64_t jobs = 0;
    for (size_t i = 0; i < db->jobs.count; i++)
        jobs += db->jobs.items[i].slot == slot && !db->jobs.items[i].deleted;
    return jobs;
}

static bool bound_to(const struct db *db, int32_t slot, const char *node)
{
    return node ? db->slots[slot].node && !strcmp(db->slots[slot].node, node) : slot < CLAIM_SLOTS;
}

/* The first slot of the node that has a job (so that jobs meet), else a free one. */
static int32_t place(struct db *db, const char *node)
{
    int32_t from = node ? CLAIM_SLOTS : 0, to = node ? CLAIM_SLOTS_ALL : CLAIM_SLOTS, found = -1;
    for (int32_t i = from; i < to && found < 0; i++)
        if (node ? jobs_in(db, i) && bound_to(db, i, node) : !jobs_in(db, i))
            found = i;
    for (int32_t i = from; i < to && found < 0; i++)
        if (!jobs_in(db, i))
            found = i;
    if (found >= CLAIM_SLOTS)
        db->slots[found].node = node;
    return found;
}

static void apply_move(struct db *db, struct store_move *move, int64_t boot)
{
    struct db_job *job = db_find_job(db, move->row.job);
    move->outcome = slot_owned(db, move->row.slot, boot) ? OUTCOME_EXISTS : OUTCOME_SLOT_LOST;
    if (move->outcome == OUTCOME_SLOT_LOST || !job || job->deleted || job->slot != move->row.slot)
        return;
    move->outcome = OUTCOME_DONE;
    move->to = job->slot;
    const char *node = NULL; /* the row's text is the caller's; that of a request stays */
    for (size_t i = 0; i < db->requests.count; i++)
        if (move->row.node && db->requests.items[i].row.node && !strcmp(db->requests.items[i].row.node, move->row.node))
            node = db->requests.items[i].row.node;
    if (bound_to(db, job->slot, node))
        return;
    struct db_slot *from = &db->slots[job->slot];
    move->to = place(db, node);
    struct db_slot *to = &db->slots[move->to];
    for (size_t i = 0; i < db->open.count; i++)
        if (db->open.items[i]->row.job == job->id)
            db->open.items[i]->row.slot = move->to;
    for (size_t i = 0; i < db->lingers.count; i++)
        if (db->lingers.items[i].row.job == job->id)
            db->lingers.items[i].row.slot = move->to;
    job->slot = move->to;
    job->moves++;
    add_change(db, job->id);
    to->moved_seq = (int64_t)db->changes.count;
    if (to->decided_through > from->decided_through)
        to->decided_through = from->decided_through;
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
    for (size_t i = 0; i < b->request_count; i++)
        for (size_t r = 0; r < db->requests.count; r++)
            if (db->requests.items[r].row.id == b->requests[i].id && !db->requests.items[r].outcome)
                db->requests.items[r].outcome = mem_copy_text(b->requests[i].outcome ? b->requests[i].outcome : "");
    for (size_t i = 0; i < b->suspended_count; i++)
        if (db_find_job(db, b->suspended_jobs[i]))
            db_find_job(db, b->suspended_jobs[i])->suspended = true;
    apply_rest(db, b);
    for (size_t i = 0; i < b->move_count; i++)
        apply_move(db, &b->moves[i], b->boot);
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

static int newest_end(const void *a, const void *b)
{
    const struct run_row *x = a, *y = b;
    return instant_cmp(y->ended_at, x->ended_at);
}

static enum status op_failures(struct db *db, struct store_op *op)
{
    struct store_failures *f = &op->failures;
    struct run_row *ended = arena_array(&op->arena, struct run_row, db->order.count + 1);
    instant resumed = INSTANT_NONE;
    size_t n = 0;
    for (size_t i = 0; i < db->activations.count; i++) {
        const struct activation_row *row = &db->activations.items[i].row;
        if (row->job == f->job && row->kind == ACTIVATION_RESUME)
            resumed = instant_max(resumed, row->from);
    }
    for (size_t i = 0; i < db->order.count; i++) {
        const struct run_row *row = &db->order.items[i]->row;
        if (row->job == f->job && run_state_terminal(row->state) && row->state != RUN_CANCELED)
            ended[n++] = *row;
    }
    qsort(ended, n, sizeof *ended, newest_end);
    f->failed = 0;
    while (f->failed < n && f->failed < f->limit && ended[f->failed].state != RUN_SUCCEEDED &&
           instant_cmp(ended[f->failed].ended_at, resumed) > 0)
        f->failed++;
    return STATUS_OK;
}

#define APPLICATION_ID 2
static const char application[] =
    "{\"apiVersion\":\"carillon/v1\",\"kind\":\"Application\",\"metadata\":{\"project\":\"default\",\"name\":\"app\"},"
    "\"spec\":{\"instances\":[\"10.0.0.0:80\",\"10.0.0.1:80\",\"10.0.0.2:80\"],\"tasks\":[{\"name\":\"all\",\"path\":\"/all\","
    "\"timeout\":\"4s\",\"wait_timeout\":\"10s\"}]}}";

/* The only definition of its kind, as far as it is asked for. */
static bool is_asked(const struct store_definitions *d, enum document_kind kind, int64_t id)
{
    return d->kind == kind && !(d->ids && d->id_count && d->ids[0] != id) && d->after < id;
}

static enum status op_definitions(struct db *db, struct store_op *op)
{
    struct store_definitions *d = &op->definitions;
    d->rows = arena_array(&op->arena, struct definition_row, db->jobs.count + 1);
    if (is_asked(d, DOCUMENT_APPLICATION, APPLICATION_ID)) {
        d->rows[d->count++] = (struct definition_row){.kind = DOCUMENT_APPLICATION,
                                                      .id = APPLICATION_ID,
                                                      .project_id = PROJECT_ID,
                                                      .project = "default",
                                                      .name = "app",
                                                      .version = 1,
                                                      .json = application};
        return STATUS_OK;
    }
    if (is_asked(d, DOCUMENT_PROJECT, PROJECT_ID)) {
        d->rows[d->count++] = (struct definition_row){
            .kind = DOCUMENT_PROJECT,
            .id = PROJECT_ID,
            .project_id = PROJECT_ID,
            .project = "default",
            .name = "default",
            .version = 1,
            .json =
                "{\"apiVersion\":\"carillon/v1\",\"kind\":\"Project\",\"metadata\":{\"name\":\"default\"},\"spec\":{\"timezone\":\"UTC\"}}"};
        return STATUS_OK;
    }
    for (size_t i = 0; d->kind == DOCUMENT_JOB && i < db->jobs.count; i++) {
        struct db_job *job = &db->jobs.items[i];
        bool asked = !d->ids && job->id > d->after && d->count < d->limit;
        for (size_t n = 0; d->ids && n < d->id_count; n++)
            asked = asked || d->ids[n] == job->id;
        for (size_t v = 0; asked && v < job->version_count; v++)
            if (d->version ? job->versions[v].version == d->version : v == job->version_count - 1)
                d->rows[d->count++] = job_definition(db, &op->arena, job, &job->versions[v]);
    }
    return STATUS_OK;
}

static enum status op_retention(struct db *db, struct store_op *op)
{
    return fenced(db, op->retention.boot);
}

enum status db_execute(struct db *db, struct store_op *op)
{
    static enum status (*const table[STORE_OPS])(struct db *, struct store_op *) = {
        [STORE_CLUSTER] = op_cluster,         [STORE_BOOT_START] = op_boot_start, [STORE_BOOT_READ] = op_boot_read,
        [STORE_BOOT_FENCE] = op_boot_fence,   [STORE_BOOTS] = op_boots,           [STORE_LEASE] = op_lease,
        [STORE_RETENTION] = op_retention,     [STORE_SLOTS_READ] = op_slots_read, [STORE_SLOTS_TAKE] = op_slots_take,
        [STORE_SLOTS_LOAD] = op_slots_load,   [STORE_DECIDED] = op_decided,       [STORE_RUNS_ADOPT] = op_runs_adopt,
        [STORE_RUNS_OPEN] = op_runs_open,     [STORE_TRIGGERS] = op_triggers,     [STORE_FAILURES] = op_failures,
        [STORE_RUNS_LIST] = op_runs_list,     [STORE_RUN_READ] = op_run_read,     [STORE_POLL] = op_poll,
        [STORE_ALIVE_READ] = op_alive_read,   [STORE_BATCH] = op_batch,           [STORE_BATCH_CHECK] = op_batch_check,
        [STORE_DEFINITIONS] = op_definitions,
    };
    op->status = table[op->kind] ? table[op->kind](db, op) : STATUS_INVALID;
    if (op->status)
        (void)error_set(&op->error, op->status, "%s", status_text(op->status));
    return op->status;
}
