/* The parts of an assignment: who would like which slot (preference.c), groups and bounds (groups.c), places
 * (places.c); assign.c brings them together. */
#ifndef CARILLON_CORE_LOGIC_ASSIGN_ASSIGN_PARTS_H
#define CARILLON_CORE_LOGIC_ASSIGN_ASSIGN_PARTS_H

#include "core/logic/assign/assign.h"

struct assign_place { /* of one node */
    int32_t group;    /* −1: unwilling */
    int64_t jobs, slots;
    struct assign_bound bound, share;
};

struct assign_item { /* a slot that waits for its place, or a present owner's that may have to go */
    int32_t index;
    int64_t jobs;
    uint64_t cost;
};

struct assign_work {
    const struct assign_node *nodes;
    struct assign_slot *slots; /* a copy: owners change from round to round */
    size_t node_count, slot_count;
    struct assign_place *places;
    int32_t *groups; /* by slot */
    int32_t *ret;
    struct assign_item *items;
    bool even; /* all weights are the same */
};

/* Within its limits. */
int64_t assign_weight(const struct assign_node *node);
/* The lower, the better the slot suits the node. `even`: all weights are the same. */
uint64_t assign_cost(const struct assign_node *node, int32_t slot, bool even);
bool assign_weights_even(const struct assign_node *nodes, size_t count);
bool assign_before(const struct assign_node *a, uint64_t cost_a, const struct assign_node *b, uint64_t cost_b);

void assign_group_nodes(struct assign_work *w);
/* Pinned slots take their places by that. */
void assign_group_slots(struct assign_work *w);
void assign_bound_group(struct assign_work *w, int32_t group);
/* The node that the slot is pinned to; −1 = none that is willing. */
int32_t assign_pinned_to(const struct assign_work *w, const struct assign_slot *slot);

void assign_put(struct assign_work *w, int32_t slot, int32_t node);
/* Slots with many jobs first, so that a large one never goes round; then by preference. */
int assign_item_compare(const void *a, const void *b);
/* A present owner keeps what its bounds allow. */
void assign_keep(struct assign_work *w, int32_t node);
/* Whoever waits still. */
void assign_place_rest(struct assign_work *w);

#endif
