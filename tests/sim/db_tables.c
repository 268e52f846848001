/* The tables themselves: what they begin as, what they own, and rows by their ids. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/db_parts.h"

void db_init(struct db *db)
{
    memset(db, 0, sizeof *db);
    db->next_id = 10;
    db->generation = 1;
    for (size_t i = 0; i < CLAIM_SLOTS_ALL; i++)
        db->slots[i].decided_through = INT64_MIN;
}

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
