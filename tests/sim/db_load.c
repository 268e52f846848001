/* Operations that read jobs: their definitions, and where their triggers stand. */
#include <string.h>

#include "tests/sim/db_parts.h"

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

void db_copy_run(struct arena *arena, struct run_row *to, const struct run_row *from)
{
    *to = *from;
    INTO(arena, RUN_TEXTS(to));
}

void db_copy_linger(struct arena *arena, struct linger_row *to, const struct linger_row *from)
{
    *to = *from;
    INTO(arena, LINGER_TEXTS(to));
}

void db_copy_rows(struct arena *arena, const struct db_run *run, struct step_row *steps, struct attempt_row *attempts)
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

enum status db_op_slots_load(struct db *db, struct store_op *op)
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
            db_copy_run(&op->arena, &load->open_runs[load->open_run_count++], run);
    }
    load->lingers = arena_array(&op->arena, struct linger_row, db->lingers.count + 1);
    for (size_t i = 0; i < db->lingers.count; i++)
        if (in_slots(load, db->lingers.items[i].row.slot) && db->lingers.items[i].row.until.ms > db->now)
            db_copy_linger(&op->arena, &load->lingers[load->linger_count++], &db->lingers.items[i].row);
    return STATUS_OK;
}

enum status db_op_triggers(struct db *db, struct store_op *op)
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
            db_copy_run(&op->arena, &triggers->open_runs[triggers->open_run_count++], &db->open.items[i]->row);
    triggers->lingers = arena_array(&op->arena, struct linger_row, db->lingers.count + 1);
    for (size_t i = 0; i < db->lingers.count; i++)
        if (db->lingers.items[i].row.job == job->id && db->lingers.items[i].row.until.ms > db->now)
            db_copy_linger(&op->arena, &triggers->lingers[triggers->linger_count++], &db->lingers.items[i].row);
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

enum status db_op_definitions(struct db *db, struct store_op *op)
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
