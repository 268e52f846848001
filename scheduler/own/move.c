/* A job goes to another slot, by hand (`schedulers move`) or because its document names another pool. Only the owner of
 * the slot that it leaves brings it there, in a batch like a fire; from then on it is the other slot's owner who
 * decides for it, and its open runs are finished by whoever drives them, as after a hand-over of a whole slot.
 *
 * From the moment the move is asked of the store this node knows nothing of the job any more (what was decided stands
 * before it in the queue). What the feed brings of it is not looked at until it tells of the move itself: an answer
 * that was on its way would make a new job of it. */
#include <utlist.h>

#include "scheduler/know/know.h"
#include "scheduler/own/own.h"
#include "scheduler/write/write.h"

bool move_pending(const struct scheduler *s, int64_t job)
{
    for (size_t i = 0; i < s->moving.count; i++)
        if (s->moving.items[i].job == job)
            return true;
    return false;
}

static struct moving *moving_find(struct scheduler *s, int64_t job)
{
    for (size_t i = 0; i < s->moving.count; i++)
        if (s->moving.items[i].job == job)
            return &s->moving.items[i];
    return NULL;
}

static void moving_forget(struct scheduler *s, int64_t job)
{
    for (size_t i = 0; i < s->moving.count; i++)
        if (s->moving.items[i].job == job) {
            vec_remove_swap(&s->moving, i);
            return;
        }
}

bool move_request(struct scheduler *s, struct job *job, const struct request_row *request, struct bundle *bundle)
{
    if (!job->newest || heap_contains(&job->switching) || moving_find(s, job->id))
        return false; /* an edit is about to take effect */
    bundle_move(bundle, job, version_spec(job->newest)->pool, request->node);
    bundle_request(bundle, request->id, "moved");
    struct moving *moving = vec_push(&s->moving);
    *moving = (struct moving){.job = job->id, .slot = job->slot, .moves = job->moves};
    job_unrule(s, job);
    return true;
}

/* Its struct lives on while runs of it are open here. */
static void relocate(struct scheduler *s, struct job *job, int32_t to)
{
    struct slot *from = slot_get(s, job->slot), *at = slot_get(s, to);
    if (job->slot == to)
        return;
    if (from)
        DL_DELETE2(from->jobs, job, slot_prev, slot_next);
    job->slot = to;
    if (at)
        DL_APPEND2(at->jobs, job, slot_prev, slot_next);
}

bool move_stale(struct scheduler *s, const struct definition_row *row)
{
    struct moving *moving = moving_find(s, row->id);
    struct job *job = job_find(s, row->id);
    if (moving && row->moves <= moving->moves)
        return true;
    if (job && row->moves < job->moves)
        return true; /* from before it came here */
    if (moving)
        moving_forget(s, row->id);
    if (!job || job->moves == row->moves)
        return false;
    job->moves = row->moves;
    if (job->loaded)
        job_unrule(s, job); /* somebody else moved it: then this node does not own the old slot either */
    job = job_find(s, row->id);
    if (job)
        relocate(s, job, row->slot);
    return false;
}

/* It came from another slot, and where its triggers stand is not known here: the slot is read anew. */
bool move_arrived(struct scheduler *s, const struct definition_row *row)
{
    struct slot *slot = slot_get(s, row->slot);
    const struct job *job = job_find(s, row->id);
    if (row->moves == 0 || (job && job->loaded) || (job && job->newest && slot->phase != SLOT_RULED))
        return false;
    ownership_look_soon(s);
    if (slot->phase == SLOT_RULED)
        slot_reload(s, row->slot);
    else
        slot->stale = true;
    return true;
}

void move_loaded(struct scheduler *s, const struct definition_row *row)
{
    struct moving *moving = moving_find(s, row->id);
    if (moving && moving->unsure && moving->slot == row->slot)
        moving_forget(s, row->id); /* it has not moved after all */
}

void moves_load(struct scheduler *s, int32_t slot)
{
    for (size_t i = 0; i < s->moving.count; i++)
        s->moving.items[i].unsure |= s->moving.items[i].slot == slot && s->moving.items[i].reply_lost;
}

bool move_of_slot(const struct scheduler *s, int32_t slot)
{
    for (size_t i = 0; i < s->moving.count; i++)
        if (s->moving.items[i].slot == slot)
            return true;
    return false;
}

/* Is the job there? What is being loaded just now may be older than the move. */
static void look_again(struct scheduler *s, int32_t index)
{
    struct slot *slot = slot_get(s, index);
    if (slot->phase == SLOT_RULED)
        slot_reload(s, index);
    else if (slot->phase == SLOT_LOADING || slot->phase == SLOT_LOADED)
        slot->stale = true;
}

void moves_settled(struct scheduler *s)
{
    const struct batch *b = &s->batch;
    for (size_t i = 0; i < b->moves.count; i++) {
        const struct store_move *move = &b->moves.items[i];
        struct moving *moving = moving_find(s, move->row.job);
        struct job *job = job_find(s, move->row.job);
        bool moved = move->outcome == OUTCOME_DONE && move->to != move->row.slot;
        if (b->moves_unsure) {
            if (moving)
                moving->reply_lost = true;
        } else if (moved) {
            if (job && moving) {
                job->moves = moving->moves + 1;
                relocate(s, job, move->to);
            }
            count(&s->metrics.job_moves, 1);
            sink_logf(s->ports.sink, LOG_INFO, "A job has moved to another slot.", "job=%lld from=%d to=%d",
                      (long long)move->row.job, move->row.slot, move->to);
        } else {
            moving_forget(s, move->row.job);
        }
        if (move->outcome == OUTCOME_SLOT_LOST)
            slot_lost(s, move->row.slot, "a move was refused");
        else if (b->moves_unsure || !moved)
            look_again(s, move->row.slot);
        ownership_look_soon(s);
    }
}
