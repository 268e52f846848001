/* What a node that drains gives away before it stops: its queued runs. Nothing of them is in flight, so whoever owns
 * their slot by now can begin them as well, and sooner. The batch that says so makes them nobody's (boot 0) in the
 * store; from the moment it is asked for, nothing is written of them here. Should this process die in between, they are
 * either still its own, and adopted with the rest, or nobody's, and the owner of the slot finds them so (recovery.c).
 */
#include "scheduler/drive/drive.h"
#include "scheduler/fire/fire.h"
#include "scheduler/own/own.h"
#include "scheduler/write/write.h"

#define GIVING_EVERY ((span)100) /* ms */

static bool may_give(struct scheduler *s, const struct open_run *run)
{
    const struct slot *slot = slot_get(s, run->job->slot);
    return run->queued && run->committed && !run->left && !run->ended && !run->forgotten &&
           !run->run->row.cancel_requested && slot && slot->phase == SLOT_FREE;
}

void giving_step(struct scheduler *s)
{
    if (!s->joined || node_serves(s) || !ownership_others(s) || !batcher_open(s) || !clock_may_act(s))
        return;
    if (mono_cmp(s->now.mono, s->next_giving) < 0) {
        wake_at(s, s->next_giving);
        return;
    }
    s->next_giving = mono_add(s->now.mono, GIVING_EVERY);
    struct bundle *bundle = bundle_new(s);
    for (struct open_run *run = s->runs; run && bundle->left.count < BATCH_ROWS / 2; run = run->hh.next) {
        if (!may_give(s, run))
            continue;
        run->left = true;
        turns_forget(s, run);
        heap_remove(&s->alarms, &run->timer);
        seen_forget(&s->left, run->id); /* it may have been given away, and come back, once before */
        seen_add(&s->left, run->id);
        bundle_left(bundle, run);
    }
    if (bundle->left.count > 0)
        sink_logf(s->ports.sink, LOG_INFO, "Queued runs are given to the owners of their slots.", "runs=%zu",
                  bundle->left.count);
    bundle_put(s, bundle, false);
}

void giving_settled(struct scheduler *s, const struct bundle *bundle)
{
    for (size_t i = 0; i < bundle->left.count; i++) {
        seen_closed(s->left, bundle->left.items[i]->id, s->poll_number);
        driver_forget(s, bundle->left.items[i]);
    }
}
