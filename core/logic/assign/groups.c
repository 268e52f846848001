/* Groups: the nodes that share a pool, and so the slots of it; and how much each node of a group may hold. */
#include <string.h>

#include "core/logic/assign/assign_parts.h"

static const char *text(const char *may_be_null)
{
    return may_be_null ? may_be_null : "";
}

/* A group is named by the index of its first node. */
static int32_t group_find(const struct assign_work *w, const char *pool)
{
    for (size_t i = 0; i < w->node_count; i++)
        if (!w->nodes[i].unwilling && strcmp(text(w->nodes[i].pool), pool) == 0)
            return (int32_t)i;
    return -1;
}

void assign_group_nodes(struct assign_work *w)
{
    for (size_t i = 0; i < w->node_count; i++)
        w->places[i].group = w->nodes[i].unwilling ? -1 : group_find(w, text(w->nodes[i].pool));
}

static size_t group_size(const struct assign_work *w, int32_t group)
{
    size_t count = 0;
    for (size_t i = 0; i < w->node_count; i++)
        count += w->places[i].group == group;
    return count;
}

/* Where slots go whose own pool has nobody: the common nodes, else the largest pool (the first by name among equals).
 */
static int32_t group_fallback(const struct assign_work *w)
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

int32_t assign_pinned_to(const struct assign_work *w, const struct assign_slot *slot)
{
    for (size_t i = 0; slot->node && *slot->node && i < w->node_count; i++)
        if (!w->nodes[i].unwilling && strcmp(w->nodes[i].name, slot->node) == 0)
            return (int32_t)i;
    return -1;
}

void assign_group_slots(struct assign_work *w)
{
    int32_t fallback = group_fallback(w);
    for (size_t i = 0; i < w->slot_count; i++) {
        const struct assign_slot *slot = &w->slots[i];
        const char *pool = text(slot->pool);
        w->ret[i] = assign_pinned_to(w, slot);
        if (w->ret[i] >= 0) {
            struct assign_place *place = &w->places[w->ret[i]];
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

static bool capacity_suffices(const struct assign_work *w, int32_t group, int64_t jobs)
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
static void bound_jobs(struct assign_work *w, int32_t group, int64_t jobs, int64_t weights)
{
    bool limited = capacity_suffices(w, group, jobs), again = limited;
    while (again) {
        again = false;
        for (size_t i = 0; i < w->node_count; i++) {
            int64_t capacity = w->nodes[i].capacity, weight = assign_weight(&w->nodes[i]);
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
        struct assign_place *place = &w->places[i];
        if (place->group != group || place->bound.jobs >= 0)
            continue;
        place->bound.jobs = bound_of(jobs, assign_weight(&w->nodes[i]), weights);
        place->share.jobs = jobs * assign_weight(&w->nodes[i]) / weights;
        if (limited && w->nodes[i].capacity > 0 && place->bound.jobs > w->nodes[i].capacity)
            place->bound.jobs = w->nodes[i].capacity;
    }
}

void assign_bound_group(struct assign_work *w, int32_t group)
{
    int64_t jobs = 0, slots = 0, weights = 0;
    for (size_t i = 0; i < w->slot_count; i++)
        if (w->groups[i] == group) {
            jobs += w->slots[i].jobs;
            slots++;
        }
    for (size_t i = 0; i < w->node_count; i++)
        if (w->places[i].group == group)
            weights += assign_weight(&w->nodes[i]);
    for (size_t i = 0; i < w->node_count; i++)
        if (w->places[i].group == group) {
            w->places[i].bound = (struct assign_bound){-1, bound_of(slots, assign_weight(&w->nodes[i]), weights)};
            w->places[i].share.slots = slots * assign_weight(&w->nodes[i]) / weights;
        }
    bound_jobs(w, group, jobs, weights);
}
