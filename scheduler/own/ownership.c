/* Who is there and who holds what: events of the coordination, the own node, claims won and given back. The
 * coordination only proposes; balance.c says which slots should be ours, slots.c tells the store, which disposes. A
 * slot that is ruled stays ruled until the store refuses it or the successor's epoch is seen there: losing the claim
 * alone stops nothing, so an outage of the coordination misses no fire. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/own/own.h"

#define SLOTS_READ_EVERY (10 * SPAN_SECOND)
#define SLOTS_READ_PAUSE (500 * SPAN_MS) /* not more often, however much happens */
#define STORE_DOWN_GRACE (3 * SPAN_SECOND)
#define STORE_SILENT (4 * SPAN_SECOND) /* a batch without any answer; one that waits for locks gives up after 3 s */

/* The store knows better who rules what: ask it soon. */
void ownership_look_soon(struct scheduler *s)
{
    mono earliest = mono_add(s->slots_read_at, SLOTS_READ_PAUSE);
    mono at = mono_cmp(earliest, s->now.mono) > 0 ? earliest : s->now.mono;
    s->next_slots_read = mono_min(s->next_slots_read, at);
}

static bool same_nodes(const struct scheduler *s, const struct coordination_event *event)
{
    bool same = s->nodes.count == event->node_count;
    for (size_t i = 0; same && i < s->nodes.count; i++)
        same = s->nodes.items[i].boot == event->nodes[i].boot && s->nodes.items[i].draining == event->nodes[i].draining;
    return same;
}

static void copy_nodes(struct scheduler *s, const struct coordination_event *event)
{
    if (!same_nodes(s, event))
        janitor_nodes_changed(s);
    for (size_t i = 0; i < s->nodes.count; i++) { /* who was here and is gone is a suspect */
        bool still = false;
        for (size_t j = 0; j < event->node_count; j++)
            still |= event->nodes[j].boot == s->nodes.items[i].boot;
        if (!still && s->nodes.items[i].boot != s->boot)
            recovery_suspect(s, s->nodes.items[i].boot);
    }
    vec_clear(&s->nodes);
    for (size_t i = 0; i < event->node_count; i++)
        vec_add(&s->nodes, event->nodes[i]);
    s->nodes_known = true;
}

static void copy_claims(struct scheduler *s, const struct coordination_event *event)
{
    vec_clear(&s->claims);
    for (size_t i = 0; i < event->claim_count; i++)
        vec_add(&s->claims, event->claims[i]);
    s->claims_known = true;
}

static void session_lost(struct scheduler *s)
{
    s->connected = s->nodes_known = s->claims_known = false;
    vec_clear(&s->claim_events); /* what was won is gone with it */
    s->claims_pending = 0;
    for (size_t i = 0; i < s->slot_count; i++) {
        struct slot *slot = &s->slots[i];
        slot->czxid = 0;
        slot->claim_boot = 0;
        slot->retaking = false;
        if (slot->phase == SLOT_CLAIMING || slot->phase == SLOT_WON)
            slot->phase = SLOT_FREE;
    }
}

void ownership_event(void *context, const struct coordination_event *event)
{
    struct scheduler *s = context;
    s->ownership_dirty |= event->kind != COORDINATION_CLAIM_WON; /* a thousand of them come at once */
    switch (event->kind) {
    case COORDINATION_CONNECTED:
        s->connected = true;
        if (s->was_lost) /* the others may be on their way back, too: a moment for everybody */
            s->settled_at = mono_add(s->now.mono, s->settings->coordination.session_timeout / 2);
        s->was_lost = false;
        sink_logf(s->ports.sink, LOG_INFO, "Coordination is connected.", "node=%s", s->node);
        break;
    case COORDINATION_SUSPENDED:
        s->connected = false;
        sink_logf(s->ports.sink, LOG_WARN,
                  "Coordination is not reachable: nothing new is claimed, owned slots go on firing.", "%s", "");
        break;
    case COORDINATION_LOST:
        session_lost(s);
        s->was_lost = true;
        sink_logf(s->ports.sink, LOG_WARN, "The coordination session is over; claims are made anew.", "%s", "");
        break;
    case COORDINATION_NODES:
        copy_nodes(s, event);
        break;
    case COORDINATION_CLAIMS:
        copy_claims(s, event);
        break;
    case COORDINATION_CLAIM_WON:
    case COORDINATION_CLAIM_TAKEN:
    case COORDINATION_CLAIM_FAILED:
        vec_add(&s->claim_events, *event);
        break;
    case COORDINATION_REFUSED:
        s->refused = true;
        s->connected = false;
        free(s->refusal);
        s->refusal = mem_copy_text(event->text ? event->text : "");
        s->refusal_status = event->status;
        sink_logf(s->ports.sink, LOG_ERROR, "Coordination refused this node for good.", "reason=\"%s\"",
                  event->text ? event->text : "");
        break;
    default:
        break;
    }
}

bool node_alive(const struct scheduler *s, int64_t boot)
{
    for (size_t i = 0; i < s->nodes.count; i++)
        if (s->nodes.items[i].boot == boot)
            return true;
    return false;
}

struct slot *slot_get(struct scheduler *s, int32_t slot)
{
    return slot >= 0 && (size_t)slot < s->slot_count ? &s->slots[slot] : NULL;
}

bool ownership_others(const struct scheduler *s)
{
    for (size_t i = 0; i < s->nodes.count; i++) {
        const struct coordination_node *node = &s->nodes.items[i];
        if (node->boot != s->boot && !node->draining && node->store_ok)
            return true;
    }
    return false;
}

/* After a lost session: has everybody had the time to come back? */
bool ownership_settled(const struct scheduler *s)
{
    return mono_cmp(s->now.mono, s->settled_at) >= 0;
}

/* A cut line says nothing: the connection would take long to find out. */
static bool store_silent(const struct scheduler *s)
{
    return s->batch.busy && mono_sub(s->now.mono, s->batch.sent_at) >= STORE_SILENT;
}

static bool store_ok(const struct scheduler *s)
{
    if (store_silent(s))
        return false;
    return mono_cmp(s->store_down_since, MONO_NEVER) == 0 ||
           mono_sub(s->now.mono, s->store_down_since) < STORE_DOWN_GRACE;
}

/* ---- node and claims -----------------------------------------------------------------------------------------------
 */

/* Others should not count on this node: it drains, or its clock is off. */
static bool willing(const struct scheduler *s)
{
    return s->state != SCHEDULER_DRAINING && s->wish == NODE_WORK && !s->clock_bad;
}

static bool is_offline(const struct scheduler *s)
{
    return s->wish == NODE_DRAIN && s->begun == 0 && ownership_handed_over(s);
}

void ownership_wished(struct scheduler *s, enum node_wish wish)
{
    if (wish == s->wish)
        return;
    s->wish = wish;
    s->ownership_dirty = s->node_dirty = true;
    sink_logf(s->ports.sink, LOG_INFO,
              wish == NODE_DRAIN ? "An operator wishes this node to be offline: slots are handed over, runs in flight "
                                   "are finished, nothing new is claimed."
                                 : "An operator wishes this node to work: it claims its share again.",
              "node=%s", s->node);
}

void ownership_tell(struct scheduler *s)
{
    struct coordination_node self = {.boot = s->boot,
                                     .weight = (int32_t)s->settings->scheduler.weight,
                                     .capacity = (int32_t)s->settings->scheduler.capacity,
                                     .store_ok = store_ok(s),
                                     .draining = !willing(s),
                                     .offline = is_offline(s)};
    (void)snprintf(self.node, sizeof self.node, "%s", s->node);
    (void)snprintf(self.address, sizeof self.address, "%s", s->address);
    (void)snprintf(self.pool, sizeof self.pool, "%.63s", s->settings->scheduler.pool);
    struct coordination *c = s->ports.coordination;
    if (s->node_told)
        c->ops->update(c, &self);
    else
        c->ops->join(c, &self);
    s->node_told = true;
    s->told_store_down = !self.store_ok;
    s->told_offline = self.offline;
    s->node_dirty = false;
}

static void claim_answered(struct scheduler *s, const struct coordination_event *event)
{
    struct slot *slot = slot_get(s, event->claim.slot);
    if (!slot)
        return;
    if (s->claims_pending > 0)
        s->claims_pending--;
    if (event->kind == COORDINATION_CLAIM_WON) {
        slot->czxid = event->claim.czxid;
        slot->claim_boot = s->boot;
        slot->free_since = MONO_NEVER;
        if (slot->phase == SLOT_CLAIMING)
            slot->phase = SLOT_WON;
        else if (slot->phase == SLOT_RULED)
            slot->retaking = true;
        else if (slot->phase == SLOT_FREE)
            slot->phase = SLOT_WON;
        return;
    }
    if (slot->phase == SLOT_CLAIMING)
        slot->phase = SLOT_FREE;
    slot->retry_at = mono_add(s->now.mono, 500);
    if (event->kind == COORDINATION_CLAIM_TAKEN)
        ownership_look_soon(s); /* if we still rule it */
}

static void see_claims(struct scheduler *s)
{
    for (size_t i = 0; i < s->slot_count; i++) {
        struct slot *slot = &s->slots[i];
        bool known = slot->claim_boot == 0 && mono_cmp(slot->free_since, MONO_NEVER) != 0 &&
                     mono_cmp(slot->free_since, (mono){0}) != 0;
        if (!known)
            slot->free_since = s->now.mono; /* unless seen below */
        slot->claim_boot = 0;
    }
    for (size_t i = 0; i < s->claims.count; i++) {
        const struct coordination_claim *claim = &s->claims.items[i];
        struct slot *slot = slot_get(s, claim->slot);
        if (!slot)
            continue;
        slot->claim_boot = claim->boot;
        slot->free_since = MONO_NEVER;
        if (claim->boot != s->boot && slot->phase == SLOT_RULED)
            ownership_look_soon(s);
    }
    for (size_t i = 0; i < s->slot_count; i++) /* won, and the list is older than the win */
        if (s->slots[i].czxid != 0) {
            s->slots[i].claim_boot = s->boot;
            s->slots[i].free_since = MONO_NEVER;
        }
}

/* The coordination lists a claim of ours that we do not know: the reply of its creation was lost, or its release did
 * not arrive. Nobody else can claim the slot, so it is asked for, or let go of, once more. */
bool ownership_orphan(const struct scheduler *s, const struct slot *slot)
{
    return slot->czxid == 0 && slot->claim_boot == s->boot && (slot->phase == SLOT_FREE || slot->phase == SLOT_RULED);
}

void ownership_release(struct scheduler *s, int32_t index)
{
    struct slot *slot = &s->slots[index];
    if (slot->czxid == 0 && !ownership_orphan(s, slot))
        return;
    struct coordination *c = s->ports.coordination;
    c->ops->release(c, index);
    slot->czxid = 0;
    slot->claim_boot = 0;
    slot->retry_at = mono_add(s->now.mono, SPAN_SECOND); /* until then a list may be older than the release */
    slot->retaking = false;
    if (slot->phase == SLOT_WON)
        slot->phase = SLOT_FREE;
}

void ownership_release_all(struct scheduler *s)
{
    for (size_t i = 0; i < s->slot_count; i++)
        ownership_release(s, (int32_t)i);
}

/* A process that ends does not wait for a successor; a node that is wished offline does while there is one whose store
 * will come back. */
static bool lets_go(const struct scheduler *s)
{
    bool hope = !s->connected || !s->nodes_known;
    for (size_t i = 0; i < s->nodes.count; i++)
        hope = hope || (s->nodes.items[i].boot != s->boot && !s->nodes.items[i].draining);
    return s->state == SCHEDULER_DRAINING || (s->wish == NODE_DRAIN && !hope);
}

/* Draining, wished offline, store away, or clock off: others should have the slots. With nobody to take them they stay
 * where they are, unless somebody wants this node to be without them. */
static bool give_away(struct scheduler *s)
{
    bool away = !willing(s) || !store_ok(s);
    if (!away)
        return false;
    if (ownership_others(s))
        ownership_release_all(s);
    else if (lets_go(s))
        for (size_t i = 0; i < s->slot_count; i++)
            if (s->slots[i].phase != SLOT_FREE)
                slot_lost(s, (int32_t)i, NULL);
    return true;
}

/* ---- what the store says of the slots ------------------------------------------------------------------------------
 */

static void bind(char **text, const char *said)
{
    if (*text && said && strcmp(*text, said) == 0)
        return;
    free(*text);
    *text = said ? mem_copy_text(said) : NULL;
}

void slots_answered(struct scheduler *s, struct work *work)
{
    s->reading_slots = false;
    s->slots_read_at = s->now.mono;
    s->next_slots_read = mono_add(s->now.mono, SLOTS_READ_EVERY);
    if (!work_ok(s, work)) {
        s->next_slots_read = mono_add(s->now.mono, SPAN_SECOND);
        return;
    }
    s->slots_read_once = true;
    s->ownership_dirty = true;
    for (size_t i = 0; i < work->op.slots_read.count; i++) {
        const struct slot_row *row = &work->op.slots_read.rows[i];
        struct slot *slot = slot_get(s, row->slot);
        if (!slot)
            continue;
        slot->jobs_known = row->jobs;
        bind(&slot->pool, row->pool);
        bind(&slot->pin, row->node);
        if (slot->phase == SLOT_RULED && row->owner_boot != s->boot)
            slot_lost(s, row->slot, "the store names a successor");
    }
}

static void read_slots(struct scheduler *s)
{
    if (s->reading_slots)
        return;
    if (mono_cmp(s->now.mono, s->next_slots_read) < 0) {
        wake_at(s, s->next_slots_read);
        return;
    }
    s->reading_slots = true;
    work_submit(work_new(s, STORE_SLOTS_READ, slots_answered));
}

bool ownership_handed_over(const struct scheduler *s)
{
    for (size_t i = 0; i < s->slot_count; i++)
        if (s->slots[i].phase != SLOT_FREE)
            return false;
    return true;
}

void ownership_step(struct scheduler *s)
{
    if (!s->joined)
        return;
    if (s->told_store_down == store_ok(s) || s->told_offline != is_offline(s))
        s->node_dirty = true;
    if (s->node_dirty)
        ownership_tell(s);
    if (!store_ok(s))
        s->ownership_dirty = true;
    else if (s->batch.busy)
        wake_at(s, mono_add(s->batch.sent_at, STORE_SILENT));
    read_slots(s);
    if (mono_cmp(s->now.mono, s->next_ownership) >= 0 && mono_cmp(s->next_ownership, MONO_NEVER) < 0)
        s->ownership_dirty = true;
    for (size_t i = 0; i < s->claim_events.count; i++)
        claim_answered(s, &s->claim_events.items[i]);
    vec_clear(&s->claim_events);
    if (s->ownership_dirty) {
        s->ownership_dirty = false;
        s->next_ownership = MONO_NEVER;
        if (s->claims_known)
            see_claims(s);
        balance_gauges(s);
        if (!give_away(s) && s->connected && s->nodes_known && s->claims_known && s->slots_read_once && !s->refused &&
            clock_may_act(s))
            balance_step(s);
        if (!willing(s) && ownership_others(s) && !ownership_handed_over(s))
            s->next_slots_read = mono_min(s->next_slots_read, mono_add(s->now.mono, SPAN_SECOND));
    }
    if (mono_cmp(s->next_ownership, MONO_NEVER) < 0)
        wake_at(s, s->next_ownership);
}
