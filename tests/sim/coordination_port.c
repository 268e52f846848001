/* The coordination service: sessions, ephemeral claims, expiry, lost replies. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/scenario.h"

struct notice {
    struct coordination_event event;
    struct coordination_node *nodes;
    struct coordination_claim *claims;
};

static struct life *life_of(struct coordination *c)
{
    return LIFE_OF(c, coordination);
}

static bool reachable(const struct life *life)
{
    return !life->dead && !life->node->paused && !life->world->coordination_down && !life->node->cut_coordination;
}

static struct session *session_of(struct world *world, int64_t id)
{
    for (size_t i = 0; id && i < world->sessions.count; i++)
        if (world->sessions.items[i].id == id)
            return &world->sessions.items[i];
    return NULL;
}

static void tell_now(struct life *life, void *context)
{
    struct notice *notice = context;
    if (!life->dead && life->coordination.on_event)
        life->coordination.on_event(life->coordination.context, &notice->event);
    free(notice->nodes);
    free(notice->claims);
    free(notice);
}

static void send_notice(struct life *life, struct notice *notice, int64_t delay)
{
    int64_t at = life->world->now + delay;
    life->notices_at = at > life->notices_at ? at : life->notices_at;
    life_deliver(life, life->notices_at - life->world->now, tell_now, notice);
}

static void tell(struct life *life, enum coordination_event_kind kind, const struct coordination_claim *claim,
                 int64_t delay)
{
    struct notice *notice = mem_new(struct notice);
    notice->event.kind = kind;
    notice->event.text = "";
    if (claim)
        notice->event.claim = *claim;
    send_notice(life, notice, delay);
}

static uint64_t nodes_digest(const struct coordination_node *nodes, size_t count)
{
    uint64_t digest = count;
    for (size_t i = 0; i < count; i++) {
        const struct coordination_node *n = &nodes[i];
        char text[320];
        (void)snprintf(text, sizeof text, "%s %lld %s %d %d %s %d%d%d", n->node, (long long)n->boot, n->address,
                       n->weight, n->capacity, n->pool, n->store_ok, n->draining, n->offline);
        digest = hash_text(text, digest);
    }
    return digest | 1;
}

static uint64_t claims_digest(const struct coordination_claim *claims, size_t count)
{
    uint64_t digest = count;
    for (size_t i = 0; i < count; i++)
        digest = hash_mix(digest ^ hash_mix((uint64_t)claims[i].czxid ^ (uint64_t)claims[i].slot << 40));
    return digest | 1;
}

static void tell_nodes(struct life *life)
{
    struct world *world = life->world;
    struct notice *notice = mem_new(struct notice);
    notice->event.kind = COORDINATION_NODES;
    notice->nodes = mem_alloc((world->sessions.count + 1) * sizeof *notice->nodes);
    for (size_t i = 0; i < world->sessions.count; i++)
        if (world->sessions.items[i].has_node && world->sessions.items[i].self.boot != 0)
            notice->nodes[notice->event.node_count++] = world->sessions.items[i].self;
    notice->event.nodes = notice->nodes;
    uint64_t digest = nodes_digest(notice->nodes, notice->event.node_count);
    if (digest == life->told_nodes) { /* only what is new is told, as the service does */
        free(notice->nodes);
        free(notice);
        return;
    }
    life->told_nodes = digest;
    world->tally.node_reads += 1 + (int64_t)notice->event.node_count;
    send_notice(life, notice, 1);
}

/* As adapters/coordination/zookeeper_claims.c reads: the list, and the new ones; all of them when the list's version
 * has moved by more than names came and went. */
static void count_claim_reads(struct life *life)
{
    struct world *world = life->world;
    int64_t now[CLAIM_SLOTS_ALL] = {0}, changes = 0, fresh = 0;
    for (size_t i = 0; i < world->claims.count; i++)
        now[world->claims.items[i].slot] = world->claims.items[i].czxid;
    for (size_t i = 0; i < CLAIM_SLOTS_ALL; i++) {
        fresh += now[i] && !life->claims_seen[i];
        changes += !now[i] != !life->claims_seen[i];
    }
    bool whole = !life->claims_version || world->claims_version - life->claims_version != changes;
    world->tally.claim_reads += 1 + (whole ? (int64_t)world->claims.count : fresh);
    world->tally.whole_reads += whole;
    memcpy(life->claims_seen, now, sizeof now);
    life->claims_version = world->claims_version;
}

static void tell_claims(struct life *life)
{
    struct world *world = life->world;
    struct notice *notice = mem_new(struct notice);
    notice->event.kind = COORDINATION_CLAIMS;
    notice->claims = mem_alloc((world->claims.count + 1) * sizeof *notice->claims);
    for (size_t i = 0; i < world->claims.count; i++) {
        const struct claim *from = &world->claims.items[i];
        struct coordination_claim *to = &notice->claims[notice->event.claim_count++];
        to->slot = from->slot;
        to->czxid = from->czxid;
        to->boot = from->boot;
        (void)snprintf(to->node, sizeof to->node, "%s", from->node);
    }
    notice->event.claims = notice->claims;
    uint64_t digest = claims_digest(notice->claims, notice->event.claim_count);
    if (digest == life->told_claims) {
        free(notice->claims);
        free(notice);
        return;
    }
    life->told_claims = digest;
    count_claim_reads(life);
    send_notice(life, notice, 2);
}

static void tell_lists(struct life *life)
{
    tell_nodes(life);
    tell_claims(life);
}

static void open_session(struct life *life)
{
    struct world *world = life->world;
    for (size_t i = 0; i < world->sessions.count;
         i++) /* an earlier process of this id still lives, or is not known to be dead yet */
        if (world->sessions.items[i].has_node && !strcmp(world->sessions.items[i].self.node, life->node->name))
            return;
    struct session *session = vec_push(&world->sessions);
    *session = (struct session){
        .id = ++world->next_session, .life = life, .heard_at = world->now, .self = life->self, .has_node = true};
    life->session = session->id;
    life->connected = true;
    life->told_suspended = false;
    life->told_nodes = life->told_claims = 0;
    world_trace(world, "%s has session %lld", life->node->name, (long long)session->id);
    tell(life, COORDINATION_CONNECTED, NULL, 0);
}

/* ---- the port
 * ------------------------------------------------------------------------------------------------------------ */

static void join(struct coordination *c, const struct coordination_node *self)
{
    struct life *life = life_of(c);
    life->self = *self;
    life->joined = true;
}

static void update(struct coordination *c, const struct coordination_node *self)
{
    struct life *life = life_of(c);
    struct session *session = session_of(life->world, life->session);
    life->self = *self;
    if (session)
        session->self = *self;
}

struct wish {
    int32_t slot;
};

static struct claim *find_claim(struct world *world, int32_t slot)
{
    for (size_t i = 0; i < world->claims.count; i++)
        if (world->claims.items[i].slot == slot)
            return &world->claims.items[i];
    return NULL;
}

static void claim_arrives(struct life *life, void *context)
{
    struct wish *wish = context;
    struct world *world = life->world;
    struct coordination_claim answer = {.slot = wish->slot};
    enum coordination_event_kind kind = COORDINATION_CLAIM_FAILED;
    free(wish);
    if (life->dead)
        return;
    if (reachable(life) && session_of(world, life->session)) {
        struct claim *claim = find_claim(world, answer.slot);
        world->tally.creates++;
        world->tally.taken += claim && claim->session != life->session;
        if (!claim) {
            world->claims_version++;
            claim = vec_push(&world->claims);
            *claim = (struct claim){
                .slot = answer.slot, .session = life->session, .czxid = ++world->next_czxid, .boot = life->self.boot};
            (void)snprintf(claim->node, sizeof claim->node, "%s", life->node->name);
        }
        kind = claim->session == life->session ? COORDINATION_CLAIM_WON : COORDINATION_CLAIM_TAKEN;
        answer.czxid = claim->czxid;
        answer.boot = claim->boot;
        (void)snprintf(answer.node, sizeof answer.node, "%s", claim->node);
        if (world_chance(world, 2) && !world->calm) /* "create may have succeeded" */
            kind = COORDINATION_CLAIM_FAILED;
    }
    if (answer.slot < SIM_JOBS)
        world_trace(world, "%s claims slot %d: %s %lld of %s", life->node->name, answer.slot,
                    kind == COORDINATION_CLAIM_WON     ? "won"
                    : kind == COORDINATION_CLAIM_TAKEN ? "taken"
                                                       : "failed",
                    (long long)answer.czxid, answer.node);
    tell(life, kind, &answer, world_draw(world, 0, 3));
}

static void claim(struct coordination *c, int32_t slot)
{
    struct life *life = life_of(c);
    struct wish *wish = mem_new(struct wish);
    wish->slot = slot;
    life_deliver(life, world_draw(life->world, 1, 10), claim_arrives, wish);
}

static void drop_claims(struct world *world, int64_t session, int32_t slot)
{
    for (size_t i = world->claims.count; i-- > 0;)
        if (world->claims.items[i].session == session && (slot < 0 || world->claims.items[i].slot == slot)) {
            memmove(world->claims.items + i, world->claims.items + i + 1,
                    (world->claims.count - i - 1) * sizeof *world->claims.items);
            world->claims.count--;
            world->claims_version++;
        }
}

static void release(struct coordination *c, int32_t slot)
{
    struct life *life = life_of(c);
    if (slot < SIM_JOBS)
        world_trace(life->world, "%s releases slot %d%s", life->node->name, slot, reachable(life) ? "" : ", in vain");
    life->world->tally.releases++;
    if (reachable(life) && life->session)
        drop_claims(life->world, life->session, slot);
}

static void close_coordination(struct coordination *c)
{
    struct life *life = life_of(c);
    life->joined = false;
}

void coordination_port_init(struct life *life)
{
    static const struct coordination_ops ops = {"simulation", join, update, claim, release, close_coordination};
    life->coordination.ops = &ops;
}

/* kill -9: the session stays until it expires. A process that ended in peace takes it along. */
void coordination_leave(struct life *life)
{
    struct session *session = session_of(life->world, life->session);
    if (!session)
        return;
    session->life = NULL;
    if (scheduler_state(life->scheduler) == SCHEDULER_STOPPED) {
        drop_claims(life->world, session->id, -1);
        *session = life->world->sessions.items[--life->world->sessions.count];
    }
}

/* ---- time passes there
 * ----------------------------------------------------------------------------------------------------- */

static void expire_sessions(struct world *world)
{
    for (size_t i = world->sessions.count; i-- > 0;) {
        struct session *session = &world->sessions.items[i];
        bool heard = world->coordination_down || (session->life && reachable(session->life));
        if (heard)
            session->heard_at = world->now;
        if (world->now - session->heard_at <= 6000)
            continue;
        world_trace(world, "session %lld of %s expires", (long long)session->id, session->self.node);
        drop_claims(world, session->id, -1);
        *session = world->sessions.items[--world->sessions.count];
    }
}

static void tend(struct life *life)
{
    bool alive = session_of(life->world, life->session) != NULL;
    if (!life->joined || life->dead || life->node->paused)
        return;
    if (!reachable(life)) {
        if (life->connected && !life->told_suspended) {
            life->told_suspended = true;
            tell(life, COORDINATION_SUSPENDED, NULL, world_draw(life->world, 0, 1500));
        }
        return;
    }
    if (life->session && !alive) {
        life->session = 0;
        life->connected = false;
        tell(life, COORDINATION_LOST, NULL, world_draw(life->world, 0, 100));
        return; /* a new session comes with a later tick, behind LOST */
    }
    if (!life->session)
        open_session(life);
    else if (life->told_suspended) {
        life->told_suspended = false;
        life->told_nodes = life->told_claims = 0;
        tell(life, COORDINATION_CONNECTED, NULL, 0);
    }
    if (life->session)
        tell_lists(life);
}

void coordination_tick(struct world *world)
{
    expire_sessions(world);
    for (size_t i = 0; i < world->node_count; i++)
        if (world->nodes[i].life)
            tend(world->nodes[i].life);
}

void coordination_wipe(struct world *world)
{
    vec_clear(&world->sessions);
    vec_clear(&world->claims);
    world->next_czxid = 1;
}
