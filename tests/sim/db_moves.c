/* A job moves to another slot. */
#include <string.h>

#include "tests/sim/db_parts.h"

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

void db_apply_move(struct db *db, struct store_move *move, int64_t boot)
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
    db_add_change(db, job->id);
    to->moved_seq = (int64_t)db->changes.count;
    if (to->decided_through > from->decided_through)
        to->decided_through = from->decided_through;
}
