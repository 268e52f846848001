/* Which slots this node should hold: the pure assignment (core/logic/assign) over what the coordination and the store
 * say. Two things follow from it: slots that nobody holds and that are ours are claimed; slots that we hold above our
 * bound are let go of, a few at a time, for those below theirs. Whoever lets go rules on until the store names the
 * successor, so no instant falls between two. */
#include <stdlib.h>
#include <string.h>

#include "core/logic/assign/assign.h"
#include "scheduler/own/own.h"

#define LATE_FIRST SPAN_SECOND           /* the preferred owner does not come: the next in order takes the slot */
#define LATE_MORE (250 * SPAN_MS)        /* and each further one so much later, so that not all of them try at once */
#define AGAIN SPAN_SECOND                /* while something is unowned */
#define LEAVING (4 * SPAN_SECOND)        /* nobody took it: it is claimed back */
#define MOVE_TICK (200 * SPAN_MS)        /* moves come in portions, so that their number a second is bounded anywhere */
#define MOVE_QUIET (2 * SPAN_SECOND)     /* no move so near to a fire, where the slot's fires leave such a gap */
#define MOVE_PATIENCE (10 * SPAN_SECOND) /* so long a move waits for the end of the slot's runs, or for a gap */
#define FLAP (60 * SPAN_SECOND)

struct view { /* of the cluster, in the terms of the assignment */
    struct assign_node *nodes;
    struct assign_slot *slots;
    int32_t *owners;
    size_t count;
    int32_t self;
};

static void look_again(struct scheduler *s, mono at)
{
    s->next_ownership = mono_min(s->next_ownership, at);
}

static bool is_leaving(const struct scheduler *s, const struct slot *slot)
{
    return mono_cmp(s->now.mono, slot->leaving) < 0;
}

/* ---- the view ------------------------------------------------------------------------------------------------------
 */

static void view_nodes(const struct scheduler *s, struct view *view)
{
    view->self = -1;
    for (size_t i = 0; i < view->count; i++) {
        const struct coordination_node *node = &s->nodes.items[i];
        view->nodes[i] = (struct assign_node){.name = node->node,
                                              .weight = node->weight,
                                              .capacity = node->capacity,
                                              .pool = node->pool,
                                              .unwilling = node->draining || !node->store_ok};
        if (node->boot == s->boot)
            view->self = (int32_t)i;
    }
}

static int32_t holder(const struct scheduler *s, const struct slot *slot)
{
    for (size_t i = 0; slot->claim_boot != 0 && i < s->nodes.count; i++)
        if (s->nodes.items[i].boot == slot->claim_boot)
            return (int32_t)i;
    return -1;
}

/* false: nothing can be said, for this node is not in the list. */
static bool view_make(const struct scheduler *s, struct view *view)
{
    view->count = s->nodes.count;
    view->nodes = mem_alloc((view->count + 1) * sizeof *view->nodes);
    view->slots = mem_alloc(s->slot_count * sizeof *view->slots);
    view->owners = mem_alloc(s->slot_count * sizeof *view->owners);
    view_nodes(s, view);
    for (size_t i = 0; i < s->slot_count; i++)
        view->slots[i] = (struct assign_slot){.slot = (int32_t)i,
                                              .jobs = s->slots[i].jobs_known,
                                              .pool = s->slots[i].pool,
                                              .node = s->slots[i].pin,
                                              .owner = holder(s, &s->slots[i])};
    return view->self >= 0 &&
           assign_slots(view->nodes, view->count, view->slots, s->slot_count, view->owners, NULL) == STATUS_OK;
}

static void view_release(struct view *view)
{
    free(view->nodes);
    free(view->slots);
    free(view->owners);
}

/* ---- claiming ------------------------------------------------------------------------------------------------------
 */

/* Free, or ruled by us without a claim; and nothing says that it is to go elsewhere. */
static bool claimable(const struct scheduler *s, const struct slot *slot)
{
    return (slot->phase == SLOT_FREE || (slot->phase == SLOT_RULED && slot->czxid == 0)) &&
           (slot->claim_boot == 0 || ownership_orphan(s, slot)) && !is_leaving(s, slot);
}

/* When may it be claimed? Ours at once; somebody else's when he has not come for a while. */
static mono due_at(const struct scheduler *s, const struct view *view, int32_t index)
{
    const struct slot *slot = &s->slots[index];
    bool idle = slot->phase == SLOT_FREE && slot->claim_boot == 0;
    mono at = slot->retry_at;
    if (idle && !ownership_settled(s) && mono_cmp(s->settled_at, at) > 0)
        at = s->settled_at;
    if (!idle || view->owners[index] == view->self)
        return at;
    int32_t rank = assign_rank(view->nodes, view->count, index, view->self);
    mono late = mono_add(slot->free_since, LATE_FIRST + rank * LATE_MORE);
    return mono_cmp(late, at) > 0 ? late : at;
}

static void claim_wanted(struct scheduler *s, const struct view *view)
{
    struct coordination *c = s->ports.coordination;
    for (size_t i = 0; i < s->slot_count; i++) {
        struct slot *slot = &s->slots[i];
        if (is_leaving(s, slot) && slot->claim_boot == 0)
            look_again(s, slot->leaving);
        if (!claimable(s, slot))
            continue;
        mono at = due_at(s, view, (int32_t)i);
        if (mono_cmp(s->now.mono, at) < 0) {
            look_again(s, at);
            continue;
        }
        if (slot->phase == SLOT_FREE)
            slot->phase = SLOT_CLAIMING;
        slot->retry_at = mono_add(s->now.mono, AGAIN);
        s->claims_pending++;
        c->ops->claim(c, (int32_t)i);
    }
}

/* ---- letting go ----------------------------------------------------------------------------------------------------
 */

struct pause { /* around now, in the fires of a slot */
    instant last, next;
};

static struct pause pause_of(const struct scheduler *s, const struct slot *slot)
{
    struct pause pause = {INSTANT_NONE, INSTANT_MAX};
    for (const struct job *job = slot->jobs; job; job = job->slot_next)
        for (size_t i = 0; i < job->trigger_count; i++) {
            const struct trigger *t = &job->triggers[i];
            if (instant_cmp(t->decided, s->now.wall) <= 0)
                pause.last = instant_is_none(pause.last) ? t->decided : instant_max(pause.last, t->decided);
            pause.next = instant_min(pause.next, t->next);
        }
    return pause;
}

static bool has_runs(const struct slot *slot)
{
    for (const struct job *job = slot->jobs; job; job = job->slot_next)
        if (job->all || job->foreign.count > 0)
            return true;
    return false;
}

/* Between two fires and between runs, as far as the slot has such times. */
static bool may_move(struct scheduler *s, const struct slot *slot)
{
    struct pause pause = pause_of(s, slot);
    bool patient = mono_sub(s->now.mono, slot->move_since) < MOVE_PATIENCE;
    span since = instant_is_none(pause.last) ? MOVE_QUIET : instant_sub(s->now.wall, pause.last);
    span ahead = instant_sub(pause.next, s->now.wall);
    if (since >= MOVE_QUIET && ahead >= MOVE_QUIET)
        return !patient || !has_runs(slot);
    if (since + ahead < 2 * MOVE_QUIET)
        return !patient; /* this pause is none */
    if (since < MOVE_QUIET)
        look_again(s, mono_add(s->now.mono, MOVE_QUIET - since));
    return false;
}

static bool should_move(const struct scheduler *s, const struct view *view, size_t index)
{
    const struct slot *slot = &s->slots[index];
    return slot->phase == SLOT_RULED && slot->czxid != 0 && view->slots[index].owner == view->self &&
           view->owners[index] >= 0 && view->owners[index] != view->self;
}

/* How many nodes hold too much just now: they share what the cluster may move in a second. */
static int64_t count_donors(const struct scheduler *s, const struct view *view)
{
    int64_t donors = 0;
    for (int32_t node = 0; node < (int32_t)view->count; node++)
        for (size_t i = 0; i < s->slot_count; i++)
            if (view->slots[i].owner == node && view->owners[i] != node && view->owners[i] >= 0 &&
                !view->nodes[node].unwilling) {
                donors++;
                break;
            }
    return donors ? donors : 1;
}

static void let_go(struct scheduler *s, const struct view *view)
{
    int64_t rate = s->settings->coordination.moves_per_second, donors = count_donors(s, view);
    int64_t portion = rate * MOVE_TICK / (donors * SPAN_SECOND), moved = 0, waiting = 0;
    bool due = rate > 0 && ownership_settled(s) && mono_cmp(s->now.mono, s->next_move) >= 0;
    for (size_t i = 0; i < s->slot_count; i++) {
        struct slot *slot = &s->slots[i];
        if (!should_move(s, view, i)) {
            slot->move_since = (mono){0};
            continue;
        }
        if (mono_cmp(slot->move_since, (mono){0}) == 0)
            slot->move_since = s->now.mono;
        if (!due || moved >= (portion > 0 ? portion : 1) || !may_move(s, slot)) {
            waiting++;
            continue;
        }
        ownership_release(s, (int32_t)i);
        slot->leaving = mono_add(s->now.mono, LEAVING);
        slot->free_since = s->now.mono;
        moved++;
    }
    if (moved) {
        count(&s->metrics.slot_moves, moved);
        s->next_move = mono_add(s->now.mono, portion > 0 ? MOVE_TICK : donors * SPAN_SECOND / rate);
    }
    if (waiting && rate > 0)
        look_again(s, mono_cmp(s->next_move, s->now.mono) > 0 ? s->next_move : mono_add(s->now.mono, MOVE_TICK));
}

/* ---- what operators see --------------------------------------------------------------------------------------------
 */

void balance_gauges(struct scheduler *s)
{
    int64_t owned = 0, unowned = 0, capacity = s->settings->scheduler.capacity;
    for (size_t i = 0; i < s->slot_count; i++) {
        const struct slot *slot = &s->slots[i];
        if (slot->phase == SLOT_RULED)
            owned += slot->jobs_known;
        else if (s->claims_known && slot->claim_boot == 0)
            unowned += slot->jobs_known;
    }
    __atomic_store_n(&s->metrics.jobs_owned, owned, __ATOMIC_RELAXED);
    __atomic_store_n(&s->metrics.jobs_unowned, unowned, __ATOMIC_RELAXED);
    bool alarm = capacity > 0 && owned * 100 >= capacity * s->settings->scheduler.alarm_at;
    if (alarm != s->capacity_alarm)
        sink_logf(s->ports.sink, alarm ? LOG_WARN : LOG_INFO,
                  alarm ? "This node holds more jobs than scheduler.alarm_at of its capacity; nothing is refused, but "
                          "another node, or a higher scheduler.capacity, is needed."
                        : "This node is below its alarm threshold again.",
                  "jobs=%lld capacity=%lld", (long long)owned, (long long)capacity);
    s->capacity_alarm = alarm;
    __atomic_store_n(&s->metrics.capacity_alarm, alarm ? 1 : 0, __ATOMIC_RELAXED);
}

void balance_slot_ruled(struct scheduler *s, struct slot *slot)
{
    if (mono_cmp(slot->left_at, (mono){0}) != 0 && mono_sub(s->now.mono, slot->left_at) < FLAP)
        count(&s->metrics.slot_flaps, 1);
    slot->left_at = slot->leaving = (mono){0};
}

void balance_step(struct scheduler *s)
{
    struct view view = {0};
    if (view_make(s, &view)) {
        claim_wanted(s, &view);
        let_go(s, &view);
    }
    view_release(&view);
}
