/* Who should own which slot: a pure function of live schedulers (weight, pool, capacity), slot loads and present
 * owners. Rendezvous hashing; a present owner that is alive keeps its slot (bounded load comes with balancing). The
 * ephemeral node decides; this only proposes. */
#ifndef CARILLON_CORE_LOGIC_ASSIGN_ASSIGN_H
#define CARILLON_CORE_LOGIC_ASSIGN_ASSIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"

struct assign_node {
    const char *name;
    int32_t weight;   /* > 0 */
    int32_t capacity; /* jobs; 0 = unlimited */
    const char *pool; /* "" = common */
    bool draining;
};

struct assign_slot {
    int32_t slot;
    int64_t jobs;     /* load; slots without jobs are assigned, too */
    const char *pool; /* "" = common */
    int32_t owner;    /* index into nodes; −1 = none alive */
};

/* ret[i] = index of the node that should own slots[i]; −1 only when there is no node at all. Deterministic, the same on
 * every node. */
enum status assign_slots(const struct assign_node *nodes, size_t node_count, const struct assign_slot *slots,
                         size_t slot_count, int32_t *ret) MUST_USE; /* STATUS_NO_MEMORY */
/* Order of preference for one slot (highest rendezvous weight first); ret has room for node_count. */
void assign_preference(const struct assign_node *nodes, size_t node_count, int32_t slot, int32_t *ret);

#endif
