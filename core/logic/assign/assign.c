#include "core/logic/assign/assign.h"

#include <stdlib.h>
#include <string.h>

#include "core/logic/assign/assign_parts.h"

#define ROUNDS 16 /* two are enough where no slot is much larger than others */

/* ---- who comes late gets something, too ----------------------------------------------------------------------------
 */

/* May the slot's owner give it to `node`, who has too little? Nobody falls below his own share by that. */
static bool may_give(const struct assign_work *w, size_t index, int32_t node, bool loaded)
{
    const struct assign_slot *slot = &w->slots[index];
    int32_t owner = w->ret[index];
    if (owner < 0 || owner == node || w->groups[index] != w->places[node].group || (slot->jobs > 0) != loaded ||
        assign_pinned_to(w, slot) >= 0)
        return false;
    const struct assign_place *from = &w->places[owner], *to = &w->places[node];
    return loaded ? from->jobs - slot->jobs >= from->share.jobs && to->jobs + slot->jobs <= to->share.jobs
                  : from->slots > from->share.slots;
}

static bool lacks(const struct assign_place *place, bool loaded)
{
    return loaded ? place->jobs < 9 * place->share.jobs / 10 : place->slots < 9 * place->share.slots / 10;
}

/* Up to 0.9 of its share, from those who hold more than theirs, what it prefers first. */
static void fill(struct assign_work *w, int32_t node, bool loaded)
{
    size_t count = 0;
    if (!lacks(&w->places[node], loaded))
        return;
    for (size_t i = 0; i < w->slot_count; i++)
        if (may_give(w, i, node, loaded))
            w->items[count++] =
                (struct assign_item){(int32_t)i, 0, assign_cost(&w->nodes[node], w->slots[i].slot, w->even)};
    qsort(w->items, count, sizeof *w->items, assign_item_compare);
    for (size_t i = 0; i < count && lacks(&w->places[node], loaded); i++) {
        int32_t index = w->items[i].index;
        if (!may_give(w, (size_t)index, node, loaded))
            continue;
        w->places[w->ret[index]].jobs -= w->slots[index].jobs;
        w->places[w->ret[index]].slots--;
        assign_put(w, index, node);
    }
}

/* In the order of their names, so that the order in which they are listed does not matter. */
static void fill_all(struct assign_work *w)
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

static void assign_once(struct assign_work *w)
{
    memset(w->places, 0, w->node_count * sizeof *w->places);
    assign_group_nodes(w);
    assign_group_slots(w);
    for (size_t i = 0; i < w->node_count; i++)
        if (w->places[i].group == (int32_t)i)
            assign_bound_group(w, (int32_t)i);
    for (size_t i = 0; i < w->node_count; i++)
        if (w->places[i].group >= 0)
            assign_keep(w, (int32_t)i);
    assign_place_rest(w);
    fill_all(w);
}

/* The answer becomes the next question; true: it was the same. */
static bool at_rest(struct assign_work *w)
{
    bool rest = true;
    for (size_t i = 0; i < w->slot_count; i++) {
        rest = rest && w->slots[i].owner == w->ret[i];
        w->slots[i].owner = w->ret[i];
    }
    return rest;
}

static enum status work_init(struct assign_work *w, const struct assign_slot *slots)
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
    struct assign_work w = {.nodes = nodes,
                            .node_count = node_count,
                            .slot_count = slot_count,
                            .ret = ret,
                            .even = assign_weights_even(nodes, node_count)};
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
