#include "core/logic/assign/assign.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"

#define ROUNDS 16 /* two are enough where no slot is much larger than others */

/* −log2 of u / 2^64 in 32.32 fixed point, u > 0: integers alone, so that every node of every build gets the same
 * answer. 16 fractional bits come from repeated squaring of the mantissa. */
static uint64_t minus_log2(uint64_t u)
{
    unsigned shift = (unsigned)__builtin_clzll(u);
    uint64_t mantissa = u << shift, fraction = 0; /* in [2^63, 2^64) = [1, 2) */
    for (int bit = 0; bit < 32; bit++) {
        uint64_t half = mantissa >> 32;
        uint64_t square = half * half; /* [1, 4) with 62 fractional bits */
        fraction <<= 1;
        if (square >> 63) {
            fraction |= 1;
            mantissa = square;
        } else {
            mantissa = square << 1;
        }
    }
    return ((uint64_t)(shift + 1) << 32) - fraction;
}

static int64_t weight_of(const struct assign_node *node)
{
    return node->weight < 1 ? 1 : node->weight > ASSIGN_WEIGHT_MAX ? ASSIGN_WEIGHT_MAX : node->weight;
}

/* Weighted rendezvous: the node with the smallest −log(u) / weight wins, u drawn from (node, slot). A node's share is
 * its share of all weights, and a slot moves only to a node that joins or from one that leaves. With equal weights the
 * largest u wins, which is the same and needs no logarithm. */
static uint64_t cost_of(const struct assign_node *node, int32_t slot, bool even)
{
    uint64_t u = hash_mix(hash_text(node->name, 0x736c6f74U) ^ hash_mix((uint64_t)(uint32_t)slot + 1));
    return even ? ~u : minus_log2(u ? u : 1) / (uint64_t)weight_of(node);
}

static bool weights_even(const struct assign_node *nodes, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (weight_of(&nodes[i]) != weight_of(&nodes[0]))
            return false;
    return true;
}

static bool before(const struct assign_node *a, uint64_t cost_a, const struct assign_node *b, uint64_t cost_b)
{
    return cost_a != cost_b ? cost_a < cost_b : strcmp(a->name, b->name) < 0;
}

void assign_preference(const struct assign_node *nodes, size_t node_count, int32_t slot, int32_t *ret)
{
    bool even = weights_even(nodes, node_count);
    for (size_t i = 0; i < node_count; i++) { /* insertion: a cluster has few nodes */
        uint64_t cost = cost_of(&nodes[i], slot, even);
        size_t at = i;
        for (; at > 0; at--) {
            const struct assign_node *other = &nodes[ret[at - 1]];
            if (!before(&nodes[i], cost, other, cost_of(other, slot, even)))
                break;
            ret[at] = ret[at - 1];
        }
        ret[at] = (int32_t)i;
    }
}

int32_t assign_rank(const struct assign_node *nodes, size_t node_count, int32_t slot, int32_t node)
{
    bool even = weights_even(nodes, node_count);
    uint64_t own = cost_of(&nodes[node], slot, even);
    int32_t rank = 0;
    for (int32_t i = 0; i < (int32_t)node_count; i++)
        rank +=
            i != node && !nodes[i].unwilling && before(&nodes[i], cost_of(&nodes[i], slot, even), &nodes[node], own);
    return rank;
}

/* ---- groups: the nodes that share a pool, and so the slots of it ----------------------------------------------------
 */

struct place {     /* of one node */
    int32_t group; /* −1: unwilling */
    int64_t jobs, slots;
    struct assign_bound bound, share;
};

struct item { /* a slot that waits for its place, or a present owner's that may have to go */
    int32_t index;
    int64_t jobs;
    uint64_t cost;
};

struct work {
    const struct assign_node *nodes;
    struct assign_slot *slots; /* a copy: owners change from round to round */
    size_t node_count, slot_count;
    struct place *places;
    int32_t *groups; /* by slot */
    int32_t *ret;
    struct item *items;
    bool even; /* all weights are the same */
};

static const char *text(const char *may_be_null)
{
    return may_be_null ? may_be_null : "";
}

/* A group is named by the index of its first node. */
static int32_t group_find(const struct work *w, const char *pool)
{
    for (size_t i = 0; i < w->node_count; i++)
        if (!w->nodes[i].unwilling && strcmp(text(w->nodes[i].pool), pool) == 0)
            return (int32_t)i;
    return -1;
}

static void group_nodes(struct work *w)
{
    for (size_t i = 0; i < w->node_count; i++)
        w->places[i].group = w->nodes[i].unwilling ? -1 : group_find(w, text(w->nodes[i].pool));
}

static size_t group_size(const struct work *w, int32_t group)
{
    size_t count = 0;
    for (size_t i = 0; i < w->node_count; i++)
        count += w->places[i].group == group;
    return count;
}

/* Where slots go whose own pool has nobody: the common nodes, else the largest pool (the first by name among equals).
 */
static int32_t group_fallback(const struct work *w)
{
    int32_t best = group_find(w, "");
    for (size_t i = 0; best < 0 && i < w->node_count; i++)
        best = w->places[i].group;
    if (best < 0 || !*text(w->nodes[best].pool))
        return best;
    for (size_t i = 0; i < w->node_count; i++) {
        int32_t group = w->places[i].group;
        if (group < 0 || group == best)
            continue;
        size_t size = group_size(w, group), most = group_size(w, best);
        if (size > most || (size == most && strcmp(text(w->nodes[group].pool), text(w->nodes[best].pool)) < 0))
            best = group;
    }
    return best;
}

static int32_t pinned_to(const struct work *w, const struct assign_slot *slot)
{
    for (size_t i = 0; slot->node && *slot->node && i < w->node_count; i++)
        if (!w->nodes[i].unwilling && strcmp(w->nodes[i].name, slot->node) == 0)
            return (int32_t)i;
    return -1;
}

static void group_slots(struct work *w)
{
    int32_t fallback = group_fallback(w);
    for (size_t i = 0; i < w->slot_count; i++) {
        const struct assign_slot *slot = &w->slots[i];
        const char *pool = text(slot->pool);
        w->ret[i] = pinned_to(w, slot);
        if (w->ret[i] >= 0) {
            struct place *place = &w->places[w->ret[i]];
            w->groups[i] = place->group;
            place->jobs += slot->jobs;
            place->slots++;
            continue;
        }
        int32_t own = *pool ? group_find(w, pool) : -1;
        w->groups[i] = own >= 0 ? own : fallback;
    }
}

/* ---- bounds --------------------------------------------------------------------------------------------------------
 */

/* 1.1 × total × weight / weights, and one more. */
static int64_t bound_of(int64_t total, int64_t weight, int64_t weights)
{
    return 11 * total * weight / (10 * weights) + 1;
}

static bool capacity_suffices(const struct work *w, int32_t group, int64_t jobs)
{
    int64_t sum = 0;
    for (size_t i = 0; i < w->node_count; i++) {
        if (w->places[i].group != group)
            continue;
        if (w->nodes[i].capacity <= 0)
            return true;
        sum += w->nodes[i].capacity;
    }
    return sum >= jobs;
}

/* Nodes whose share would be above their capacity get just that; the others share the rest, which may bring further
 * ones there. */
static void bound_jobs(struct work *w, int32_t group, int64_t jobs, int64_t weights)
{
    bool limited = capacity_suffices(w, group, jobs), again = limited;
    while (again) {
        again = false;
        for (size_t i = 0; i < w->node_count; i++) {
            int64_t capacity = w->nodes[i].capacity, weight = weight_of(&w->nodes[i]);
            if (w->places[i].group != group || w->places[i].bound.jobs >= 0 || capacity <= 0 ||
                capacity * weights >= jobs * weight)
                continue;
            w->places[i].bound.jobs = w->places[i].share.jobs = capacity;
            jobs -= capacity;
            weights -= weight;
            again = true;
        }
    }
    for (size_t i = 0; i < w->node_count; i++) {
        struct place *place = &w->places[i];
        if (place->group != group || place->bound.jobs >= 0)
            continue;
        place->bound.jobs = bound_of(jobs, weight_of(&w->nodes[i]), weights);
        place->share.jobs = jobs * weight_of(&w->nodes[i]) / weights;
        if (limited && w->nodes[i].capacity > 0 && place->bound.jobs > w->nodes[i].capacity)
            place->bound.jobs = w->nodes[i].capacity;
    }
}

static void bound_group(struct work *w, int32_t group)
{
    int64_t jobs = 0, slots = 0, weights = 0;
    for (size_t i = 0; i < w->slot_count; i++)
        if (w->groups[i] == group) {
            jobs += w->slots[i].jobs;
            slots++;
        }
    for (size_t i = 0; i < w->node_count; i++)
        if (w->places[i].group == group)
            weights += weight_of(&w->nodes[i]);
    for (size_t i = 0; i < w->node_count; i++)
        if (w->places[i].group == group) {
            w->places[i].bound = (struct assign_bound){-1, bound_of(slots, weight_of(&w->nodes[i]), weights)};
            w->places[i].share.slots = slots * weight_of(&w->nodes[i]) / weights;
        }
    bound_jobs(w, group, jobs, weights);
}

static bool has_jobs_room(const struct place *place, int64_t jobs)
{
    return jobs == 0 || place->jobs + jobs <= place->bound.jobs;
}

static void put(struct work *w, int32_t slot, int32_t node)
{
    w->ret[slot] = node;
    w->places[node].jobs += w->slots[slot].jobs;
    w->places[node].slots++;
}

/* ---- present owners keep what their bounds allow -------------------------------------------------------------------
 */

/* Slots with many jobs first, so that a large one never goes round; then by preference. */
static int item_compare(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->jobs != y->jobs)
        return x->jobs > y->jobs ? -1 : 1;
    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return x->index - y->index;
}

static bool may_keep(const struct work *w, size_t slot, int32_t node)
{
    return w->ret[slot] < 0 && w->slots[slot].owner == node && w->groups[slot] == w->places[node].group;
}

static void keep_all(struct work *w, int32_t node)
{
    for (size_t i = 0; i < w->slot_count; i++)
        if (may_keep(w, i, node))
            put(w, (int32_t)i, node);
}

static void keep_best(struct work *w, int32_t node)
{
    struct place *place = &w->places[node];
    size_t count = 0;
    bool first = place->jobs == 0;
    for (size_t i = 0; i < w->slot_count; i++)
        if (may_keep(w, i, node))
            w->items[count++] =
                (struct item){(int32_t)i, w->slots[i].jobs, cost_of(&w->nodes[node], w->slots[i].slot, w->even)};
    qsort(w->items, count, sizeof *w->items, item_compare);
    for (size_t i = 0; i < count; i++) {
        bool alone = first && i == 0; /* larger than the bound by itself: nobody else would have room either */
        if (place->slots < place->bound.slots && (alone || has_jobs_room(place, w->items[i].jobs)))
            put(w, w->items[i].index, node);
    }
}

static void keep(struct work *w, int32_t node)
{
    const struct place *place = &w->places[node];
    int64_t jobs = place->jobs, slots = place->slots;
    for (size_t i = 0; i < w->slot_count; i++)
        if (may_keep(w, i, node)) {
            jobs += w->slots[i].jobs;
            slots++;
        }
    if (jobs <= place->bound.jobs && slots <= place->bound.slots)
        keep_all(w, node);
    else
        keep_best(w, node);
}

/* ---- the others find a place ---------------------------------------------------------------------------------------
 */

/* How well a slot fits; the best kind wins. */
enum fit { FIT_NONE, FIT_OVER_CAPACITY, FIT_OVER_BOUND, FIT_JOBS, FIT_GOOD };

static enum fit fit_of(const struct work *w, int32_t node, const struct assign_slot *slot)
{
    const struct place *place = &w->places[node];
    int64_t capacity = w->nodes[node].capacity;
    if (has_jobs_room(place, slot->jobs))
        return place->slots < place->bound.slots ? FIT_GOOD : FIT_JOBS;
    return capacity <= 0 || place->jobs + slot->jobs <= capacity ? FIT_OVER_BOUND : FIT_OVER_CAPACITY;
}

/* Among nodes that fit equally well: is `a` the better one? Good ones by preference, the others by how little they
 * hold; who has it already keeps it when nothing is won. */
static bool better(const struct work *w, const struct assign_slot *slot, enum fit fit, int32_t a, int32_t b)
{
    int64_t load_a = fit == FIT_JOBS ? w->places[a].slots : w->places[a].jobs;
    int64_t load_b = fit == FIT_JOBS ? w->places[b].slots : w->places[b].jobs;
    int64_t own = fit == FIT_JOBS ? 1 : slot->jobs;
    int64_t of_a = (load_a + own) * weight_of(&w->nodes[b]), of_b = (load_b + own) * weight_of(&w->nodes[a]);
    if (fit != FIT_GOOD && of_a != of_b)
        return of_a < of_b;
    if (fit != FIT_GOOD && (slot->owner == a || slot->owner == b))
        return slot->owner == a;
    return before(&w->nodes[a], cost_of(&w->nodes[a], slot->slot, w->even), &w->nodes[b],
                  cost_of(&w->nodes[b], slot->slot, w->even));
}

static int32_t choose(const struct work *w, int32_t index)
{
    const struct assign_slot *slot = &w->slots[index];
    int32_t best = -1;
    enum fit best_fit = FIT_NONE;
    for (size_t i = 0; i < w->node_count; i++) {
        if (w->places[i].group < 0 || w->places[i].group != w->groups[index])
            continue;
        enum fit fit = fit_of(w, (int32_t)i, slot);
        if (fit > best_fit || (fit == best_fit && better(w, slot, fit, (int32_t)i, best))) {
            best = (int32_t)i;
            best_fit = fit;
        }
    }
    return best;
}

/* Does it help to move the slot from its living owner to `node`? Each such move makes the fullest less full, so that
 * repeated assignments come to rest. */
static bool helps(const struct work *w, const struct assign_slot *slot, int32_t node)
{
    const struct place *owner = &w->places[slot->owner];
    enum fit fit = fit_of(w, node, slot);
    if (fit == FIT_GOOD || has_jobs_room(owner, slot->jobs))
        return fit == FIT_GOOD;
    return fit == FIT_JOBS || (owner->jobs + slot->jobs) * weight_of(&w->nodes[node]) >
                                  (w->places[node].jobs + slot->jobs) * weight_of(&w->nodes[slot->owner]);
}

static void place_rest(struct work *w)
{
    size_t count = 0;
    for (size_t i = 0; i < w->slot_count; i++)
        if (w->ret[i] < 0)
            w->items[count++] = (struct item){(int32_t)i, w->slots[i].jobs, 0};
    qsort(w->items, count, sizeof *w->items, item_compare);
    for (size_t i = 0; i < count; i++) {
        const struct assign_slot *slot = &w->slots[w->items[i].index];
        int32_t node = choose(w, w->items[i].index);
        bool has_owner = slot->owner >= 0 && w->places[slot->owner].group == w->groups[w->items[i].index];
        if (node >= 0 && has_owner && node != slot->owner && !helps(w, slot, node))
            node = slot->owner;
        if (node >= 0)
            put(w, w->items[i].index, node);
    }
}

/* ---- who comes late gets something, too ----------------------------------------------------------------------------
 */

/* May the slot's owner give it to `node`, who has too little? Nobody falls below his own share by that. */
static bool may_give(const struct work *w, size_t index, int32_t node, bool loaded)
{
    const struct assign_slot *slot = &w->slots[index];
    int32_t owner = w->ret[index];
    if (owner < 0 || owner == node || w->groups[index] != w->places[node].group || (slot->jobs > 0) != loaded ||
        pinned_to(w, slot) >= 0)
        return false;
    const struct place *from = &w->places[owner], *to = &w->places[node];
    return loaded ? from->jobs - slot->jobs >= from->share.jobs && to->jobs + slot->jobs <= to->share.jobs
                  : from->slots > from->share.slots;
}

static bool lacks(const struct place *place, bool loaded)
{
    return loaded ? place->jobs < 9 * place->share.jobs / 10 : place->slots < 9 * place->share.slots / 10;
}

/* Up to 0.9 of its share, from those who hold more than theirs, what it prefers first. */
static void fill(struct work *w, int32_t node, bool loaded)
{
    size_t count = 0;
    if (!lacks(&w->places[node], loaded))
        return;
    for (size_t i = 0; i < w->slot_count; i++)
        if (may_give(w, i, node, loaded))
            w->items[count++] = (struct item){(int32_t)i, 0, cost_of(&w->nodes[node], w->slots[i].slot, w->even)};
    qsort(w->items, count, sizeof *w->items, item_compare);
    for (size_t i = 0; i < count && lacks(&w->places[node], loaded); i++) {
        int32_t index = w->items[i].index;
        if (!may_give(w, (size_t)index, node, loaded))
            continue;
        w->places[w->ret[index]].jobs -= w->slots[index].jobs;
        w->places[w->ret[index]].slots--;
        put(w, index, node);
    }
}

/* In the order of their names, so that the order in which they are listed does not matter. */
static void fill_all(struct work *w)
{
    const struct assign_node *last = NULL;
    for (size_t n = 0; n < w->node_count; n++) {
        int32_t next = -1;
        for (int32_t i = 0; i < (int32_t)w->node_count; i++)
            if ((!last || strcmp(w->nodes[i].name, last->name) > 0) &&
                (next < 0 || strcmp(w->nodes[i].name, w->nodes[next].name) < 0))
                next = i;
        if (next < 0)
            return;
        last = &w->nodes[next];
        if (w->places[next].group >= 0) {
            fill(w, next, true);
            fill(w, next, false);
        }
    }
}

static void assign_once(struct work *w)
{
    memset(w->places, 0, w->node_count * sizeof *w->places);
    group_nodes(w);
    group_slots(w);
    for (size_t i = 0; i < w->node_count; i++)
        if (w->places[i].group == (int32_t)i)
            bound_group(w, (int32_t)i);
    for (size_t i = 0; i < w->node_count; i++)
        if (w->places[i].group >= 0)
            keep(w, (int32_t)i);
    place_rest(w);
    fill_all(w);
}

/* The answer becomes the next question; true: it was the same. */
static bool at_rest(struct work *w)
{
    bool rest = true;
    for (size_t i = 0; i < w->slot_count; i++) {
        rest = rest && w->slots[i].owner == w->ret[i];
        w->slots[i].owner = w->ret[i];
    }
    return rest;
}

static enum status work_init(struct work *w, const struct assign_slot *slots)
{
    w->places = calloc(w->node_count + 1, sizeof *w->places);
    w->groups = calloc(w->slot_count + 1, sizeof *w->groups);
    w->items = calloc(w->slot_count + 1, sizeof *w->items);
    w->slots = calloc(w->slot_count + 1, sizeof *w->slots);
    if (!w->places || !w->groups || !w->items || !w->slots)
        return STATUS_NO_MEMORY;
    for (size_t i = 0; i < w->slot_count; i++) {
        w->slots[i] = slots[i];
        if (slots[i].owner < 0 || (size_t)slots[i].owner >= w->node_count)
            w->slots[i].owner = -1;
    }
    return STATUS_OK;
}

enum status assign_slots(const struct assign_node *nodes, size_t node_count, const struct assign_slot *slots,
                         size_t slot_count, int32_t *ret, struct assign_bound *bounds)
{
    struct work w = {.nodes = nodes,
                     .node_count = node_count,
                     .slot_count = slot_count,
                     .ret = ret,
                     .even = weights_even(nodes, node_count)};
    enum status status = work_init(&w, slots);
    if (status == STATUS_OK) {
        for (int round = 0; round < ROUNDS; round++) {
            assign_once(&w);
            if (at_rest(&w))
                break;
        }
        for (size_t i = 0; bounds && i < node_count; i++)
            bounds[i] = w.places[i].bound;
    }
    free(w.places);
    free(w.groups);
    free(w.items);
    free(w.slots);
    return status;
}
