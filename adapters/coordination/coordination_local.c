#include "adapters/coordination/coordination_local.h"

#include <stdlib.h>
#include <string.h>

#include "adapters/loop/loop.h"
#include "core/base/mem.h"
#include "core/base/vec.h"

/* A member's session:
 *   new ──join──▶ connected ◀──mend── suspended
 *                  │  ▲  └────cut────────▲
 *                  └──┘ expire: LOST, CONNECTED          refused: for good */
enum member_state { MEMBER_NEW, MEMBER_CONNECTED, MEMBER_SUSPENDED, MEMBER_REFUSED };

struct queued_event {
    enum coordination_event_kind kind;
    struct coordination_claim claim;
};

struct member {
    struct coordination coordination; /* first: the face */
    struct coordination_hub *hub;
    struct member *next;
    struct coordination_node self;
    enum member_state state;
    bool present;                   /* its node exists */
    bool expired;                   /* while suspended: to be told when the connection is back */
    bool nodes_due, claims_due;     /* a whole list is to be told */
    uint64_t round;                 /* of the last delivery */
    bool delivering, closed;        /* closed from inside its own callback: freed afterwards */
    VEC(struct queued_event) queue; /* to be told, in order */
};

struct held {
    struct coordination_claim claim;
    const struct member *owner;
};

struct coordination_hub {
    struct loop *loop;
    struct loop_notice *notice;
    struct member *members;
    VEC(struct held) claims;
    int64_t next_epoch;
    uint64_t round;
};

/* ---- telling ------------------------------------------------------------------------------------------------------
 */

static void member_tell(struct member *member, enum coordination_event_kind kind,
                        const struct coordination_claim *claim)
{
    struct queued_event *event = vec_push(&member->queue);
    event->kind = kind;
    if (claim)
        event->claim = *claim;
    loop_notice_send(member->hub->notice);
}

static void hub_changed(struct coordination_hub *hub, bool nodes, bool claims)
{
    for (struct member *member = hub->members; member; member = member->next) {
        member->nodes_due = member->nodes_due || nodes;
        member->claims_due = member->claims_due || claims;
    }
    loop_notice_send(hub->notice);
}

static void emit(struct member *member, const struct coordination_event *event)
{
    if (!member->closed && member->coordination.on_event)
        member->coordination.on_event(member->coordination.context, event);
}

/* What a callback adds is told in the next round, so that "failed, ask again" does not spin. */
static void emit_queue(struct member *member)
{
    struct queued_event *items = member->queue.items;
    size_t count = member->queue.count;
    member->queue.items = NULL;
    member->queue.count = member->queue.room = 0;
    for (size_t i = 0; i < count && !member->closed; i++) {
        struct coordination_event event = {.kind = items[i].kind, .claim = items[i].claim};
        if (event.kind == COORDINATION_REFUSED) {
            event.status = STATUS_IN_USE;
            event.text =
                "another live process has joined with this node id; give each node a scheduler.node_id of its own";
        }
        emit(member, &event);
    }
    free(items);
}

static void emit_nodes(struct member *member)
{
    VEC(struct coordination_node) nodes = {0};
    member->nodes_due = false;
    for (const struct member *at = member->hub->members; at; at = at->next) {
        if (at->present && at->self.boot != 0)
            vec_add(&nodes, at->self);
    }
    emit(member,
         &(struct coordination_event){.kind = COORDINATION_NODES, .nodes = nodes.items, .node_count = nodes.count});
    vec_release(&nodes);
}

static void emit_claims(struct member *member)
{
    const struct coordination_hub *hub = member->hub;
    VEC(struct coordination_claim) claims = {0};
    member->claims_due = false;
    for (size_t i = 0; i < hub->claims.count; i++)
        vec_add(&claims, hub->claims.items[i].claim);
    emit(member, &(struct coordination_event){
                     .kind = COORDINATION_CLAIMS, .claims = claims.items, .claim_count = claims.count});
    vec_release(&claims);
}

static void member_free(struct member *member)
{
    vec_release(&member->queue);
    free(member);
}

static bool member_has_news(const struct member *member)
{
    return member->queue.count > 0 || (member->state == MEMBER_CONNECTED && (member->nodes_due || member->claims_due));
}

static void member_deliver(struct member *member)
{
    member->delivering = true;
    emit_queue(member);
    if (!member->closed && member->nodes_due && member->state == MEMBER_CONNECTED)
        emit_nodes(member);
    if (!member->closed && member->claims_due && member->state == MEMBER_CONNECTED)
        emit_claims(member);
    member->delivering = false;
    if (member->closed)
        member_free(member);
    else if (member_has_news(member))
        loop_notice_send(member->hub->notice);
}

/* A callback may close any member, so the walk goes by round numbers, anew after each delivery. */
static void on_notice(void *context)
{
    struct coordination_hub *hub = context;
    struct member *member;
    hub->round++;
    do {
        for (member = hub->members; member; member = member->next) {
            if (member->round != hub->round && !member->delivering && member_has_news(member))
                break;
        }
        if (member) {
            member->round = hub->round;
            member_deliver(member);
        }
    } while (member);
}

/* ---- claims -------------------------------------------------------------------------------------------------------
 */

static struct held *held_find(struct coordination_hub *hub, int32_t slot)
{
    for (size_t i = 0; i < hub->claims.count; i++) {
        if (hub->claims.items[i].claim.slot == slot)
            return &hub->claims.items[i];
    }
    return NULL;
}

static void held_drop(struct coordination_hub *hub, const struct member *owner, int32_t slot)
{
    bool any = false;
    for (size_t i = hub->claims.count; i-- > 0;) {
        if (hub->claims.items[i].owner == owner && (slot < 0 || hub->claims.items[i].claim.slot == slot)) {
            vec_remove_swap(&hub->claims, i);
            any = true;
        }
    }
    if (any)
        hub_changed(hub, false, true);
}

static void local_claim(struct coordination *c, int32_t slot)
{
    struct member *member = (struct member *)c;
    struct coordination_hub *hub = member->hub;
    struct coordination_claim claim = {.slot = slot};
    if (member->state != MEMBER_CONNECTED) {
        member_tell(member, COORDINATION_CLAIM_FAILED, &claim);
        return;
    }
    struct held *held = held_find(hub, slot);
    if (held) {
        member_tell(member, held->owner == member ? COORDINATION_CLAIM_WON : COORDINATION_CLAIM_TAKEN, &held->claim);
        return;
    }
    claim.czxid = hub->next_epoch++;
    claim.boot = member->self.boot;
    memcpy(claim.node, member->self.node, sizeof claim.node);
    held = vec_push(&hub->claims);
    *held = (struct held){.claim = claim, .owner = member};
    member_tell(member, COORDINATION_CLAIM_WON, &claim);
    hub_changed(hub, false, true);
}

static void local_release(struct coordination *c, int32_t slot)
{
    struct member *member = (struct member *)c;
    if (slot >= 0)
        held_drop(member->hub, member, slot);
}

/* ---- membership ---------------------------------------------------------------------------------------------------
 */

static void member_enter(struct member *member)
{
    member->state = MEMBER_CONNECTED;
    member->present = true;
    member_tell(member, COORDINATION_CONNECTED, NULL);
    member->claims_due = true;
    hub_changed(member->hub, true, false);
}

static void local_join(struct coordination *c, const struct coordination_node *self)
{
    struct member *member = (struct member *)c;
    for (const struct member *at = member->hub->members; at; at = at->next) {
        if (at->present && strcmp(at->self.node, self->node) == 0) {
            member->state = MEMBER_REFUSED;
            member_tell(member, COORDINATION_REFUSED, NULL);
            return;
        }
    }
    member->self = *self;
    member_enter(member);
}

static void local_update(struct coordination *c, const struct coordination_node *self)
{
    struct member *member = (struct member *)c;
    member->self = *self;
    if (member->present)
        hub_changed(member->hub, true, false);
}

static void member_vanish(struct member *member)
{
    held_drop(member->hub, member, -1);
    if (member->present) {
        member->present = false;
        hub_changed(member->hub, true, false);
    }
}

static void local_close(struct coordination *c)
{
    struct member *member = (struct member *)c;
    struct member **link = &member->hub->members;
    member_vanish(member);
    while (*link != member)
        link = &(*link)->next;
    *link = member->next;
    member->closed = true;
    if (!member->delivering)
        member_free(member);
}

static const struct coordination_ops local_ops = {.name = "local",
                                                  .join = local_join,
                                                  .update = local_update,
                                                  .claim = local_claim,
                                                  .release = local_release,
                                                  .close = local_close};

struct coordination *coordination_local_create(struct coordination_hub *hub)
{
    struct member *member = mem_new(struct member);
    member->coordination.ops = &local_ops;
    member->hub = hub;
    member->next = hub->members;
    hub->members = member;
    return &member->coordination;
}

void coordination_local_cut(struct coordination *c)
{
    struct member *member = (struct member *)c;
    if (member->state != MEMBER_CONNECTED)
        return;
    member->state = MEMBER_SUSPENDED;
    member_tell(member, COORDINATION_SUSPENDED, NULL);
}

void coordination_local_mend(struct coordination *c)
{
    struct member *member = (struct member *)c;
    if (member->state != MEMBER_SUSPENDED)
        return;
    if (member->expired)
        member_tell(member, COORDINATION_LOST, NULL);
    member->expired = false;
    member_enter(member);
}

void coordination_local_expire(struct coordination *c)
{
    struct member *member = (struct member *)c;
    member_vanish(member);
    if (member->state == MEMBER_SUSPENDED) {
        member->expired = true;
    } else if (member->state == MEMBER_CONNECTED) {
        member_tell(member, COORDINATION_LOST, NULL);
        member_enter(member);
    }
}

/* ---- hub ----------------------------------------------------------------------------------------------------------
 */

struct coordination_hub *coordination_hub_create(struct loop *loop, int64_t first_epoch)
{
    struct coordination_hub *hub = mem_new(struct coordination_hub);
    hub->loop = loop;
    hub->next_epoch = first_epoch;
    hub->notice = loop_notice_create(loop, on_notice, hub);
    return hub;
}

void coordination_hub_free(struct coordination_hub *hub)
{
    if (!hub)
        return;
    loop_notice_free(hub->notice);
    vec_release(&hub->claims);
    free(hub);
}
