/* Slots find their places: present owners keep what their bounds allow, the others go where they fit best. */
#include <stdlib.h>

#include "core/logic/assign/assign_parts.h"

static bool has_jobs_room(const struct assign_place *place, int64_t jobs)
{
    return jobs == 0 || place->jobs + jobs <= place->bound.jobs;
}

void assign_put(struct assign_work *w, int32_t slot, int32_t node)
{
    w->ret[slot] = node;
    w->places[node].jobs += w->slots[slot].jobs;
    w->places[node].slots++;
}

/* ---- present owners keep what their bounds allow -------------------------------------------------------------------
 */

/* Slots with many jobs first, so that a large one never goes round; then by preference. */
int assign_item_compare(const void *a, const void *b)
{
    const struct assign_item *x = a, *y = b;
    if (x->jobs != y->jobs)
        return x->jobs > y->jobs ? -1 : 1;
    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return x->index - y->index;
}

static bool may_keep(const struct assign_work *w, size_t slot, int32_t node)
{
    return w->ret[slot] < 0 && w->slots[slot].owner == node && w->groups[slot] == w->places[node].group;
}

static void keep_all(struct assign_work *w, int32_t node)
{
    for (size_t i = 0; i < w->slot_count; i++)
        if (may_keep(w, i, node))
            assign_put(w, (int32_t)i, node);
}

static void keep_best(struct assign_work *w, int32_t node)
{
    struct assign_place *place = &w->places[node];
    size_t count = 0;
    bool first = place->jobs == 0;
    for (size_t i = 0; i < w->slot_count; i++)
        if (may_keep(w, i, node))
            w->items[count++] = (struct assign_item){(int32_t)i, w->slots[i].jobs,
                                                     assign_cost(&w->nodes[node], w->slots[i].slot, w->even)};
    qsort(w->items, count, sizeof *w->items, assign_item_compare);
    for (size_t i = 0; i < count; i++) {
        bool alone = first && i == 0; /* larger than the bound by itself: nobody else would have room either */
        if (place->slots < place->bound.slots && (alone || has_jobs_room(place, w->items[i].jobs)))
            assign_put(w, w->items[i].index, node);
    }
}

void assign_keep(struct assign_work *w, int32_t node)
{
    const struct assign_place *place = &w->places[node];
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

static enum fit fit_of(const struct assign_work *w, int32_t node, const struct assign_slot *slot)
{
    const struct assign_place *place = &w->places[node];
    int64_t capacity = w->nodes[node].capacity;
    if (has_jobs_room(place, slot->jobs))
        return place->slots < place->bound.slots ? FIT_GOOD : FIT_JOBS;
    return capacity <= 0 || place->jobs + slot->jobs <= capacity ? FIT_OVER_BOUND : FIT_OVER_CAPACITY;
}

/* Among nodes that fit equally well: is `a` the better one? Good ones by preference, the others by how little they
 * hold; who has it already keeps it when nothing is won. */
static bool better(const struct assign_work *w, const struct assign_slot *slot, enum fit fit, int32_t a, int32_t b)
{
    int64_t load_a = fit == FIT_JOBS ? w->places[a].slots : w->places[a].jobs;
    int64_t load_b = fit == FIT_JOBS ? w->places[b].slots : w->places[b].jobs;
    int64_t own = fit == FIT_JOBS ? 1 : slot->jobs;
    int64_t of_a = (load_a + own) * assign_weight(&w->nodes[b]), of_b = (load_b + own) * assign_weight(&w->nodes[a]);
    if (fit != FIT_GOOD && of_a != of_b)
        return of_a < of_b;
    if (fit != FIT_GOOD && (slot->owner == a || slot->owner == b))
        return slot->owner == a;
    return assign_before(&w->nodes[a], assign_cost(&w->nodes[a], slot->slot, w->even), &w->nodes[b],
                         assign_cost(&w->nodes[b], slot->slot, w->even));
}

static int32_t choose(const struct assign_work *w, int32_t index)
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
static bool helps(const struct assign_work *w, const struct assign_slot *slot, int32_t node)
{
    const struct assign_place *owner = &w->places[slot->owner];
    enum fit fit = fit_of(w, node, slot);
    if (fit == FIT_GOOD || has_jobs_room(owner, slot->jobs))
        return fit == FIT_GOOD;
    return fit == FIT_JOBS || (owner->jobs + slot->jobs) * assign_weight(&w->nodes[node]) >
                                  (w->places[node].jobs + slot->jobs) * assign_weight(&w->nodes[slot->owner]);
}

void assign_place_rest(struct assign_work *w)
{
    size_t count = 0;
    for (size_t i = 0; i < w->slot_count; i++)
        if (w->ret[i] < 0)
            w->items[count++] = (struct assign_item){(int32_t)i, w->slots[i].jobs, 0};
    qsort(w->items, count, sizeof *w->items, assign_item_compare);
    for (size_t i = 0; i < count; i++) {
        const struct assign_slot *slot = &w->slots[w->items[i].index];
        int32_t node = choose(w, w->items[i].index);
        bool has_owner = slot->owner >= 0 && w->places[slot->owner].group == w->groups[w->items[i].index];
        if (node >= 0 && has_owner && node != slot->owner && !helps(w, slot, node))
            node = slot->owner;
        if (node >= 0)
            assign_put(w, w->items[i].index, node);
    }
}
