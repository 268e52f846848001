/* What people do to the store of the simulation behind the schedulers' backs. */
#include <stdio.h>
#include <string.h>

#include "tests/sim/db_parts.h"

void db_add_change(struct db *db, int64_t id)
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
    db_add_change(db, job->id);
    return job->id;
}

void db_delete_job(struct db *db, int64_t id)
{
    struct db_job *job = db_find_job(db, id);
    if (job && !job->deleted) {
        job->deleted = true;
        job->deleted_at = db->now;
        db_add_change(db, id);
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

struct db_node *db_find_node(struct db *db, const char *name)
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
    db_find_node(db, node)->wish = wish;
}
