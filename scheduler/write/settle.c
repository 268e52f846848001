/* After the commit: what became of each fire, and the release of all that waited for it. */
#include "scheduler/call/call.h"
#include "scheduler/drive/drive.h"
#include "scheduler/own/own.h"
#include "scheduler/write/write.h"

/* Did the slot's fence refuse any of it? `activation`, `fire`, `move`: where its rows stand in the batch. */
static bool refused_any(const struct bundle *bundle, const struct batch *b, size_t activation, size_t fire, size_t move)
{
    for (size_t i = 0; i < bundle->moves.count; i++)
        if (b->moves_unsure || b->moves.items[move + i].outcome == OUTCOME_SLOT_LOST)
            return true; /* asked for once more: it does nothing to a job that is there already */
    for (size_t i = 0; i < bundle->activations.count; i++)
        if (b->activations.items[activation + i].outcome == OUTCOME_SLOT_LOST)
            return true;
    for (size_t i = 0; i < bundle->fires.count; i++)
        if (b->fires.items[fire + i].outcome == OUTCOME_SLOT_LOST ||
            b->fires.items[fire + i].outcome == OUTCOME_DEFERRED)
            return true;
    return false;
}

static void release_bundle(struct scheduler *s, struct bundle *bundle, bool refused)
{
    for (size_t i = 0; i < bundle->sends.count; i++) {
        struct call *call = bundle->sends.items[i];
        if (call->run->forgotten)
            dispatcher_drop(s, call);
        else
            dispatcher_release(s, call);
    }
    for (size_t i = 0; i < bundle->tells.count; i++)
        notices_add(s, bundle->tells.items[i]);
    vec_clear(&bundle->tells);
    for (size_t i = 0; i < bundle->closing.count; i++)
        seen_closed(s->requests, bundle->closing.items[i].id, s->poll_number);
    for (size_t i = 0; i < bundle->reports.count; i++)
        seen_closed(s->reports, bundle->reports.items[i].id, s->poll_number);
    if (bundle->requests.count == 0)
        return;
    if (refused) { /* the slot's new owner will carry them out */
        for (size_t i = 0; i < bundle->requests.count; i++)
            seen_forget(&s->requests, bundle->requests.items[i].id);
        return;
    }
    struct bundle *closing = bundle_new(s);
    for (size_t i = 0; i < bundle->requests.count; i++) {
        struct request_done done = {.id = bundle->requests.items[i].id,
                                    .outcome = arena_text(&closing->arena, bundle->requests.items[i].outcome)};
        vec_add(&closing->closing, done);
    }
    bundle_put(s, closing, true);
}

static void tell(struct scheduler *s, const struct run_row *row)
{
    s->ports.sink->ops->run(s->ports.sink, row);
}

/* Not one whose epoch is not raised yet: retries are offered to the store whoever owns the slot. One that is deferred
 * may be so because its job has moved: the store is asked whose the slot is. */
static void lost(struct scheduler *s, enum store_outcome outcome, int32_t index, const char *why)
{
    const struct slot *slot = slot_get(s, index);
    bool ours = slot && slot->phase != SLOT_FREE && slot->phase != SLOT_CLAIMING && slot->phase != SLOT_WON &&
                slot->phase != SLOT_TAKING;
    if (ours && outcome == OUTCOME_SLOT_LOST)
        slot_lost(s, index, why);
    else if (ours && outcome == OUTCOME_DEFERRED)
        ownership_look_soon(s);
}

static void lost_slots(struct scheduler *s)
{
    const struct batch *b = &s->batch;
    for (size_t i = 0; i < b->activations.count; i++)
        lost(s, b->activations.items[i].outcome, b->activations.items[i].row.slot, "an activation was refused");
    for (size_t i = 0; i < b->skips.count; i++)
        lost(s, b->skips.items[i].outcome, b->skips.items[i].row.slot, "a skip was refused");
    for (size_t i = 0; i < b->fires.count; i++)
        lost(s, b->fires.items[i].outcome, b->fires.items[i].run.slot, "a fire was refused");
    for (size_t i = 0; i < b->states.count; i++)
        lost(s, b->states.items[i].outcome, b->states.items[i].row.slot, "a trigger's state was refused");
}

/* Mutation: a scheduler that does not listen to its fence. The simulation must notice. */
static void ignore_refusals(struct scheduler *s)
{
    struct batch *b = &s->batch;
    for (size_t i = 0; i < b->fires.count; i++)
        if (b->fires.items[i].outcome == OUTCOME_SLOT_LOST)
            b->fires.items[i].outcome = OUTCOME_DONE;
    for (size_t i = 0; i < b->activations.count; i++)
        b->activations.items[i].outcome = OUTCOME_DONE;
    for (size_t i = 0; i < b->skips.count; i++)
        b->skips.items[i].outcome = OUTCOME_DONE;
    for (size_t i = 0; i < b->states.count; i++)
        b->states.items[i].outcome = OUTCOME_DONE;
    for (size_t i = 0; i < b->moves.count; i++)
        if (b->moves.items[i].outcome == OUTCOME_SLOT_LOST)
            b->moves.items[i].outcome = OUTCOME_EXISTS;
}

void batch_settled(struct scheduler *s)
{
    struct batch *b = &s->batch;
    if (b->stalled) {
        sink_logf(s->ports.sink, LOG_INFO, "The store takes batches again.", "batch=%lld", (long long)b->number);
        s->able_since = s->now.wall;
    }
    b->busy = b->stalled = false;
    b->pause = 0;
    if (s->options.break_fence)
        ignore_refusals(s);
    count(&s->metrics.batches, 1);
    count(&s->metrics.batch_ms_sum, mono_sub(s->now.mono, b->sent_at));
    struct bundle *bundle = b->bundles;
    b->bundles = NULL;
    size_t activation = 0, fire = 0, move = 0;
    /* First what became of the fires, so that nothing of a refused one is released. */
    for (struct bundle *x = bundle; x; x = x->next) {
        count(&s->metrics.batch_items, (int64_t)bundle_rows(x));
        for (size_t i = 0; i < x->fires.count; i++, fire++) {
            x->fired.items[i]->in_batch = false;
            if (b->fires.items[fire].outcome == OUTCOME_DONE) {
                metrics_fired(s, &x->fires.items[i].run);
                tell(s, &x->fires.items[i].run);
            }
            driver_fire_answered(s, x->fired.items[i], b->fires.items[fire].outcome);
        }
    }
    fire = 0;
    while (bundle) {
        struct bundle *next = bundle->next;
        for (size_t i = 0; i < bundle->runs.count; i++)
            tell(s, &bundle->runs.items[i]);
        bool refused = refused_any(bundle, b, activation, fire, move);
        for (size_t i = 0; i < bundle->moves.count && !refused; i++)
            if (b->moves.items[move + i].outcome == OUTCOME_EXISTS)
                bundle->requests.items[i].outcome = "refused"; /* one request, one move */
        release_bundle(s, bundle, refused);
        giving_settled(s, bundle);
        move += bundle->moves.count;
        activation += bundle->activations.count;
        fire += bundle->fires.count;
        bundle_free(s, bundle);
        bundle = next;
    }
    lost_slots(s);
    moves_settled(s);
    for (size_t i = 0; i < b->wishes.count; i++) /* to ourselves, perhaps: do not wait for the next poll */
        s->poking |= slot_ruled(s, b->wishes.items[i].slot);
    if (b->through.count)
        janitor_decided(s);
    b->number++;
}
