#include "core/logic/assign/assign.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"

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

/* Weighted rendezvous: the node with the smallest −log(u) / weight wins, u drawn from (node, slot). A node's share is
 * its share of all weights, and a slot moves only to a node that joins or from one that leaves. */
static uint64_t cost_of(const struct assign_node *node, int32_t slot)
{
    uint64_t u = hash_mix(hash_text(node->name, 0x736c6f74U) ^ hash_mix((uint64_t)(uint32_t)slot + 1));
    return minus_log2(u ? u : 1) / (uint64_t)(node->weight > 0 ? node->weight : 1);
}

static bool before(const struct assign_node *a, uint64_t cost_a, const struct assign_node *b, uint64_t cost_b)
{
    return cost_a != cost_b ? cost_a < cost_b : strcmp(a->name, b->name) < 0;
}

void assign_preference(const struct assign_node *nodes, size_t node_count, int32_t slot, int32_t *ret)
{
    for (size_t i = 0; i < node_count; i++) { /* insertion: a cluster has few nodes */
        uint64_t cost = cost_of(&nodes[i], slot);
        size_t at = i;
        for (; at > 0; at--) {
            const struct assign_node *other = &nodes[ret[at - 1]];
            if (!before(&nodes[i], cost, other, cost_of(other, slot)))
                break;
            ret[at] = ret[at - 1];
        }
        ret[at] = (int32_t)i;
    }
}

static const char *pool_text(const char *pool)
{
    return pool ? pool : "";
}

/* Which kinds of node may take a slot, best first: capacity and pool bend before a slot stays without an owner. */
enum fit { FIT_NONE, FIT_DRAINING, FIT_OTHER_POOL, FIT_FULL, FIT_GOOD };

static enum fit fit_of(const struct assign_node *node, int64_t load, const struct assign_slot *slot)
{
    if (node->draining)
        return FIT_DRAINING;
    if (strcmp(pool_text(node->pool), pool_text(slot->pool)) != 0)
        return FIT_OTHER_POOL;
    if (node->capacity > 0 && slot->jobs > 0 && load + slot->jobs > node->capacity)
        return FIT_FULL;
    return FIT_GOOD;
}

/* Present owner in good standing: it keeps the slot even above its capacity (it alarms; moving is balancing's). */
static bool keeps(const struct assign_node *nodes, size_t node_count, const struct assign_slot *slot)
{
    return slot->owner >= 0 && (size_t)slot->owner < node_count &&
           fit_of(&nodes[slot->owner], 0, &(struct assign_slot){.pool = slot->pool}) >= FIT_FULL;
}

static int32_t choose(const struct assign_node *nodes, size_t node_count, const int64_t *loads,
                      const struct assign_slot *slot)
{
    int32_t best = -1;
    enum fit best_fit = FIT_NONE;
    uint64_t best_cost = 0;
    for (size_t i = 0; i < node_count; i++) {
        enum fit fit = fit_of(&nodes[i], loads[i], slot);
        uint64_t cost = fit == FIT_FULL ? (uint64_t)loads[i] : cost_of(&nodes[i], slot->slot); /* full: least loaded */
        if (fit > best_fit || (fit == best_fit && before(&nodes[i], cost, &nodes[best], best_cost))) {
            best = (int32_t)i;
            best_fit = fit;
            best_cost = cost;
        }
    }
    return best;
}

enum status assign_slots(const struct assign_node *nodes, size_t node_count, const struct assign_slot *slots,
                         size_t slot_count, int32_t *ret)
{
    int64_t *loads = calloc(node_count ? node_count : 1, sizeof *loads);
    if (!loads)
        return STATUS_NO_MEMORY;
    for (size_t i = 0; i < slot_count; i++) {
        ret[i] = -1;
        if (!keeps(nodes, node_count, &slots[i]))
            continue;
        ret[i] = slots[i].owner;
        loads[ret[i]] += slots[i].jobs;
    }
    for (size_t i = 0; i < slot_count; i++) {
        if (ret[i] >= 0)
            continue;
        ret[i] = choose(nodes, node_count, loads, &slots[i]);
        if (ret[i] >= 0)
            loads[ret[i]] += slots[i].jobs;
    }
    free(loads);
    return STATUS_OK;
}
