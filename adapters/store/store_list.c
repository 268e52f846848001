/* Pages of definitions for people, with what is going on in each job. */
#include <stdlib.h>
#include <string.h>

#include "adapters/store/rows.h"
#include "adapters/store/store_use.h"
#include "core/model/limits.h"

static void add_conditions(struct query *q, const struct store_list *op, int64_t project)
{
    query_add(q, " WHERE d.live = 1");
    if (op->project && op->kind != DOCUMENT_PROJECT)
        query_with(q, " AND d.project_id = ?", db_i(project));
    if (op->text && *op->text) {
        query_with(q, " AND (INSTR(LOWER(d.name), LOWER(?)) > 0", db_t(op->text));
        query_with(q, " OR INSTR(LOWER(d.description), LOWER(?)) > 0)", db_t(op->text));
    }
    if (op->name_count) {
        query_add(q, " AND d.name IN (");
        for (size_t i = 0; i < op->name_count; i++)
            query_with(q, i ? ", ?" : "?", db_t(op->names[i]));
        query_add(q, ")");
    }
    if (op->kind != DOCUMENT_JOB)
        return;
    if (op->state && strcmp(op->state, "suspended") == 0)
        query_add(q, " AND d.suspended = 1");
    else if (op->state && strcmp(op->state, "paused") == 0)
        query_add(q, " AND d.paused = 1 AND d.suspended = 0");
    else if (op->state)
        query_add(q, " AND d.paused = 0 AND d.suspended = 0");
    if (op->owner)
        query_with(q,
                   " AND d.slot IN (SELECT s.slot FROM slot s JOIN boot b ON b.boot = s.owner_boot WHERE b.node = ?)",
                   db_t(op->owner));
}

static enum status count_all(struct session *s, struct store_list *op, int64_t project)
{
    struct query q;
    query_init(&q, "SELECT COUNT(*) FROM ");
    query_add(&q, definition_table(op->kind));
    query_add(&q, " d");
    add_conditions(&q, op, project);
    enum status status = query_open(s, &q);
    if (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
        op->total = db_number(q.rows, 0);
    return query_close(&q, status);
}

static enum status read_page(struct session *s, struct store_list *op, int64_t project)
{
    VEC(struct definition_row) rows = {0};
    struct query q;
    query_init(&q, "SELECT " DEFINITION_COLUMNS);
    query_add(&q, op->kind == DOCUMENT_JOB ? DEFINITION_JOB : "");
    query_add(&q, " FROM ");
    query_add(&q, definition_table(op->kind));
    query_add(&q, " d LEFT JOIN project p ON p.id = d.project_id");
    add_conditions(&q, op, project);
    query_add(&q, " ORDER BY d.name, d.project_id");
    if (!op->name_count) {
        query_with(&q, " LIMIT ?", db_i(op->limit > 0 ? op->limit : 100));
        query_with(&q, " OFFSET ?", db_i(op->skip > 0 ? op->skip : 0));
    }
    enum status status = query_open(s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
        definition_read(s, q.rows, op->kind, vec_push(&rows));
    status = query_close(&q, status);
    op->rows = KEEP(s, rows);
    op->count = op->rows ? rows.count : 0;
    vec_release(&rows);
    return status;
}

/* The rows in the order in which their names were asked for. */
static void order_by_names(struct session *s, struct store_list *op)
{
    struct definition_row *rows = arena_array(s->arena, struct definition_row, op->count);
    size_t count = 0;
    if (!rows) {
        s->no_room = true;
        return;
    }
    for (size_t n = 0; n < op->name_count; n++)
        for (size_t i = 0; i < op->count && count < op->count; i++)
            if (op->rows[i].name && strcmp(op->rows[i].name, op->names[n]) == 0) {
                rows[count++] = op->rows[i];
                op->rows[i].name = NULL; /* a name asked for twice is answered once */
            }
    op->rows = rows;
    op->count = count;
    op->total = (int64_t)count;
}

/* ---- status of jobs ------------------------------------------------------------------------------------------------
 */

static enum status add_owners(struct session *s, struct store_list *op)
{
    struct db_statement *q;
    struct owner {
        const char *node;
        int64_t boot;
        instant since;
    } *owners = mem_alloc(CLAIM_SLOTS_ALL * sizeof *owners);
    enum status status = db_query(s->db,
                                  "SELECT s.slot, s.owner_boot, b.node, s.since FROM slot s JOIN boot b ON "
                                  "b.boot = s.owner_boot",
                                  NULL, 0, &q);
    while (status == STATUS_OK && (status = db_step(q)) == STATUS_OK) {
        int64_t slot = db_number(q, 0);
        if (slot >= 0 && slot < CLAIM_SLOTS_ALL)
            owners[slot] = (struct owner){session_text(s, q, 2), db_number(q, 1), db_instant(q, 3)};
    }
    db_end(q);
    for (size_t i = 0; i < op->count; i++) {
        struct definition_row *job = &op->rows[i];
        const struct owner *owner = job->slot >= 0 && job->slot < CLAIM_SLOTS_ALL ? &owners[job->slot] : NULL;
        if (!owner || !owner->boot)
            continue;
        job->owner_node = owner->node;
        job->owner_boot = owner->boot;
        job->owner_since = owner->since;
    }
    free(owners);
    return status == STATUS_END ? STATUS_OK : status;
}

static enum status add_running(struct session *s, struct store_list *op, size_t at, size_t n)
{
    int64_t slots[LIST_MAX], jobs[LIST_MAX];
    for (size_t i = 0; i < n; i++) {
        slots[i] = op->rows[at + i].slot;
        jobs[i] = op->rows[at + i].id;
    }
    struct query q;
    query_init(&q, "SELECT job, COUNT(*) FROM run");
    query_add(&q, s->db->dialect->use_open_index);
    query_add(&q, " WHERE open_slot");
    query_in(&q, slots, n);
    query_add(&q, " AND job");
    query_in(&q, jobs, n);
    query_add(&q, " GROUP BY job");
    enum status status = query_open(s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
        for (size_t i = at; i < at + n; i++)
            if (op->rows[i].id == db_number(q.rows, 0))
                op->rows[i].running = db_number(q.rows, 1);
    return query_close(&q, status);
}

struct last_ids {
    VEC(int64_t) v;
};

/* Ids of the newest run that has ended of each job that has none yet, among those scheduled at `since` or later (which
 * spares a look into every day). One question for many jobs: each is answered along (job, scheduled_at). */
static enum status find_last_runs(struct session *s, const struct store_list *op, size_t at, size_t n, instant since,
                                  struct last_ids *ret)
{
    int64_t jobs[LIST_MAX];
    size_t count = 0;
    for (size_t i = at; i < at + n; i++)
        if (!op->rows[i].last_run)
            jobs[count++] = op->rows[i].id;
    if (!count)
        return STATUS_OK;
    struct query q;
    query_init(&q, "SELECT (SELECT r.id FROM run r WHERE r.job = j.id");
    query_with(&q, " AND r.scheduled_at >= ?", db_i(since.ms));
    query_with(&q, " AND r.day >= ?", db_i(day_of(since)));
    query_add(&q, " AND r.open_slot IS NULL ORDER BY r.scheduled_at DESC LIMIT 1) FROM job j WHERE j.id");
    query_in(&q, jobs, count);
    enum status status = query_open(s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
        if (!db_is_null(q.rows, 0))
            vec_add(&ret->v, db_number(q.rows, 0));
    ret->v.count = int64_unique(ret->v.items, ret->v.count);
    return query_close(&q, status);
}

static enum status read_last_runs(struct session *s, struct store_list *op, const int64_t *ids, size_t n)
{
    struct query q;
    query_init(&q, "SELECT " RUN_COLUMNS " FROM run WHERE");
    query_with(&q, " day = ? AND id", db_i(run_id_day(ids[0])));
    query_in(&q, ids, n);
    enum status status = query_open(s, &q);
    while (status == STATUS_OK && !s->no_room && (status = query_step(&q)) == STATUS_OK) {
        struct run_row *run = arena_new(s->arena, struct run_row);
        if (!run) {
            s->no_room = true;
            break;
        }
        run_read(s, q.rows, run);
        for (size_t i = 0; i < op->count; i++)
            if (op->rows[i].id == run->job)
                op->rows[i].last_run = run;
    }
    return query_close(&q, status);
}

static enum status add_last_runs(struct session *s, struct store_list *op)
{
    instant now = INSTANT_NONE;
    enum status status = db_now(s->db, &now);
    const instant since[] = {instant_add(now, -SPAN_DAY), {0}};
    for (size_t round = 0; round < 2 && status == STATUS_OK && !s->no_room; round++) {
        struct last_ids found = {0};
        for (size_t at = 0, n; at < op->count && status == STATUS_OK; at += n) {
            n = piece_length(at, op->count);
            status = find_last_runs(s, op, at, n, since[round], &found);
        }
        found.v.count = int64_unique(found.v.items, found.v.count);
        for (size_t at = 0, n; at < found.v.count && status == STATUS_OK; at += n) {
            n = piece_of_day(found.v.items, at, found.v.count);
            status = read_last_runs(s, op, found.v.items + at, n);
        }
        vec_release(&found.v);
    }
    return status;
}

enum status sql_list(struct session *s, struct store_list *op)
{
    int64_t project = 0;
    enum status status = STATUS_OK;
    if (op->name_count > LIMIT_BATCH_ITEMS)
        return error_set(s->error, STATUS_TOO_BIG, "at most %d names at once", LIMIT_BATCH_ITEMS);
    if (op->project && op->kind != DOCUMENT_PROJECT)
        status = project_find(s, op->project, &project);
    if (status == STATUS_OK)
        status = read_page(s, op, project);
    if (status == STATUS_OK && !op->name_count)
        status = count_all(s, op, project);
    if (status == STATUS_OK && op->name_count && !s->no_room)
        order_by_names(s, op);
    if (status != STATUS_OK || op->kind != DOCUMENT_JOB || s->no_room || !op->count)
        return status;
    status = add_owners(s, op);
    for (size_t at = 0, n; at < op->count && status == STATUS_OK; at += n) {
        n = piece_length(at, op->count);
        status = add_running(s, op, at, n);
    }
    return status == STATUS_OK && !op->brief ? add_last_runs(s, op) : status;
}
