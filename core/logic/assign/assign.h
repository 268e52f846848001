/* Who should own which slot: a pure function of live schedulers (weight, pool, capacity), loads of slots, pins and
 * present owners. Rendezvous hashing with bounded load. The ephemeral node decides; this only proposes.
 *
 *  - A slot belongs to the willing nodes of its pool; with none there, to the common ones; with none of these either,
 *    to those of the largest pool. A pinned slot goes to its node while that one is willing.
 *  - Share: what a node would hold if jobs were split by weight. Nobody's share is above its capacity as long as all
 *    capacities together suffice; when they do not, capacity counts for nothing: no slot is left behind.
 *  - Bound: 1.1 × share + 1, of jobs (and not above the capacity) and of slots. A present owner keeps its slots up to
 *    there. What it lets go of, and what nobody holds, goes to the first node in order of preference that has room;
 *    when a slot of many jobs fits nowhere, to the least loaded.
 *  - Whoever has less than 0.9 of its share (it has just come, or is back) gets so much from those who have more than
 *    theirs.
 *  - What comes out is a fixed point: with these owners, nothing moves any more. */
#ifndef CARILLON_CORE_LOGIC_ASSIGN_ASSIGN_H
#define CARILLON_CORE_LOGIC_ASSIGN_ASSIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"

#define ASSIGN_WEIGHT_MAX 1000

struct assign_node {
    const char *name;
    int32_t weight;   /* 1 … ASSIGN_WEIGHT_MAX; what lies outside counts as the nearest */
    int32_t capacity; /* jobs; 0 = unlimited */
    const char *pool; /* "" = common */
    bool unwilling;   /* drains, is offline, or its store is away: gets nothing, keeps nothing */
};

struct assign_slot {
    int32_t slot;
    int64_t jobs;     /* load; slots without jobs are spread, too */
    const char *pool; /* "" or NULL = common */
    const char *node; /* pinned to it; "" or NULL = not */
    int32_t owner;    /* index into nodes; −1 = none alive */
};

struct assign_bound {
    int64_t jobs, slots; /* at most so many, as far as single slots are not larger than what is free */
};

/* ret[i] = index of the node that should own slots[i]; −1 only when no node is willing. Deterministic, the same on
 * every node whatever the order of `nodes`. bounds (may be NULL) has room for node_count. */
enum status assign_slots(const struct assign_node *nodes, size_t node_count, const struct assign_slot *slots,
                         size_t slot_count, int32_t *ret, struct assign_bound *bounds) MUST_USE; /* NO_MEMORY */
/* Order of preference for one slot (highest rendezvous weight first); ret has room for node_count. */
void assign_preference(const struct assign_node *nodes, size_t node_count, int32_t slot, int32_t *ret);
/* How many willing nodes stand before `node` in that order: who comes next when the first does not come. */
int32_t assign_rank(const struct assign_node *nodes, size_t node_count, int32_t slot, int32_t node);

#endif
