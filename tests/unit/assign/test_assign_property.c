/* Thousands of random clusters whose nodes come, go, drain and change: every slot has an owner that may hold it, the
 * bound holds, no move is made that need not be, and what came out is a fixed point. */
/* cmocka.h wants these before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
/* clang-format on */

#include "core/base/rng.h"
#include "core/logic/assign/assign.h"

#define NODES 12
#define SLOTS 200
#define CLUSTERS 1000
#define CHANGES 12

struct cluster {
    struct rng rng;
    struct assign_node all[NODES], nodes[NODES]; /* nodes: those alive */
    bool alive[NODES];
    int32_t index[NODES]; /* of all[i] in nodes; −1: not alive */
    size_t count;
    struct assign_slot slots[SLOTS];
    int32_t owners[SLOTS]; /* index into all, −1 */
    bool even;             /* slots of no or one job */
    bool pinned;           /* some slots are */
};

static const char *const names[NODES] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
static const char *const pools[] = {"", "", "", "p", "q"};

static int64_t draw(struct cluster *c, int64_t low, int64_t high)
{
    return rng_between(&c->rng, low, high);
}

static int64_t jobs_of_slot(struct cluster *c)
{
    if (c->even)
        return draw(c, 0, 3) > 0;
    int64_t dice = draw(c, 1, 100);
    return dice <= 20 ? 0 : dice <= 95 ? draw(c, 1, 5) : draw(c, 20, 400);
}

static void cluster_init(struct cluster *c, uint64_t seed)
{
    memset(c, 0, sizeof *c);
    rng_seed(&c->rng, seed);
    c->even = draw(c, 0, 1);
    c->pinned = draw(c, 0, 1);
    bool pooled = draw(c, 0, 2) == 0, weighted = draw(c, 0, 1), limited = draw(c, 0, 3) == 0;
    for (int i = 0; i < NODES; i++) {
        c->all[i] = (struct assign_node){.name = names[i],
                                         .weight = weighted ? (int32_t)draw(c, 1, 5) : 1,
                                         .capacity = limited && draw(c, 0, 1) ? (int32_t)draw(c, 1, 200) : 0,
                                         .pool = pooled ? pools[draw(c, 0, 4)] : ""};
        c->alive[i] = draw(c, 0, 1);
    }
    for (int32_t i = 0; i < SLOTS; i++) {
        c->slots[i] = (struct assign_slot){.slot = i, .jobs = jobs_of_slot(c), .pool = "", .owner = -1};
        if (pooled && i >= 150)
            c->slots[i].pool = pools[draw(c, 0, 4)];
        if (c->pinned && i >= 190)
            c->slots[i].node = names[draw(c, 0, NODES - 1)];
        c->owners[i] = -1;
    }
}

static void cluster_change(struct cluster *c)
{
    int64_t i = draw(c, 0, NODES - 1);
    switch (draw(c, 0, 5)) {
    case 0:
    case 1:
        c->alive[i] = true;
        break;
    case 2:
        c->alive[i] = false;
        break;
    case 3:
        c->all[i].unwilling = !c->all[i].unwilling;
        break;
    case 4:
        c->all[i].weight = (int32_t)draw(c, 1, 5);
        break;
    default:
        c->slots[draw(c, 0, SLOTS - 1)].jobs = jobs_of_slot(c);
    }
}

/* Nodes in any order: the answer may not depend on it. */
static void cluster_nodes(struct cluster *c)
{
    int order[NODES];
    c->count = 0;
    for (int i = 0; i < NODES; i++) {
        int64_t at = draw(c, 0, i);
        order[i] = order[at];
        order[at] = i;
    }
    for (int i = 0; i < NODES; i++) {
        c->index[order[i]] = c->alive[order[i]] ? (int32_t)c->count : -1;
        if (c->alive[order[i]])
            c->nodes[c->count++] = c->all[order[i]];
    }
    for (int i = 0; i < SLOTS; i++)
        c->slots[i].owner = c->owners[i] < 0 ? -1 : c->index[c->owners[i]];
}

static void cluster_assign(struct cluster *c, int32_t *ret, struct assign_bound *bounds)
{
    assert_int_equal(assign_slots(c->nodes, c->count, c->slots, SLOTS, ret, bounds), STATUS_OK);
}

static int32_t original(const struct cluster *c, int32_t node)
{
    for (int32_t i = 0; node >= 0 && i < NODES; i++)
        if (c->index[i] == node)
            return i;
    return -1;
}

static bool willing(const struct cluster *c, const char *pool, const char *name)
{
    for (size_t i = 0; i < c->count; i++)
        if (!c->nodes[i].unwilling && (!pool || !strcmp(c->nodes[i].pool, pool)) &&
            (!name || !strcmp(c->nodes[i].name, name)))
            return true;
    return false;
}

static void check_places(const struct cluster *c, const int32_t *owners)
{
    for (int i = 0; i < SLOTS; i++) {
        const struct assign_slot *slot = &c->slots[i];
        if (!willing(c, NULL, NULL)) {
            assert_int_equal(owners[i], -1);
            continue;
        }
        assert_in_range(owners[i], 0, c->count - 1);
        const struct assign_node *node = &c->nodes[owners[i]];
        assert_false(node->unwilling);
        if (slot->node && willing(c, NULL, slot->node))
            assert_string_equal(node->name, slot->node);
        else if (willing(c, slot->pool, NULL))
            assert_string_equal(node->pool, slot->pool);
        else if (willing(c, "", NULL))
            assert_string_equal(node->pool, "");
    }
}

struct held {
    int64_t jobs, slots, pinned_jobs, pinned_slots, loaded, largest;
};

static struct held held_by(const struct cluster *c, const int32_t *owners, int32_t node)
{
    struct held held = {0};
    for (int i = 0; i < SLOTS; i++) {
        const struct assign_slot *slot = &c->slots[i];
        if (owners[i] != node)
            continue;
        bool pinned = slot->node && !strcmp(slot->node, c->nodes[node].name);
        held.jobs += slot->jobs;
        held.slots++;
        held.loaded += slot->jobs > 0;
        held.pinned_jobs += pinned ? slot->jobs : 0;
        held.pinned_slots += pinned;
        if (slot->jobs > held.largest)
            held.largest = slot->jobs;
    }
    return held;
}

/* The share by weight among nodes of one pool, reckoned from what they hold together; capacity only lowers bounds of
 * those that have one, and raises those of the others. */
static int64_t plain_bound(const struct cluster *c, const int32_t *owners, int32_t node, bool jobs)
{
    int64_t sum = 0, weights = 0;
    for (int i = 0; i < SLOTS; i++)
        if (!strcmp(c->nodes[owners[i]].pool, c->nodes[node].pool))
            sum += jobs ? c->slots[i].jobs : 1;
    for (size_t i = 0; i < c->count; i++)
        if (!c->nodes[i].unwilling && !strcmp(c->nodes[i].pool, c->nodes[node].pool))
            weights += c->nodes[i].weight;
    return 11 * sum * c->nodes[node].weight / (10 * weights) + 1;
}

static bool limited(const struct cluster *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->nodes[i].capacity)
            return true;
    return false;
}

static void check_bounds(const struct cluster *c, const int32_t *owners, const struct assign_bound *bounds)
{
    for (int32_t i = 0; i < (int32_t)c->count; i++) {
        if (c->nodes[i].unwilling)
            continue;
        struct held held = held_by(c, owners, i);
        if (!limited(c)) {
            assert_int_equal(bounds[i].jobs, plain_bound(c, owners, i, true));
            assert_int_equal(bounds[i].slots, plain_bound(c, owners, i, false));
        }
        if (c->even && held.pinned_jobs == 0) /* pins know no bound */
            assert_in_range(held.jobs, 0, bounds[i].jobs);
        else if (held.jobs > bounds[i].jobs && !held.pinned_jobs) /* some slot did not fit anywhere */
            assert_true(held.jobs - (limited(c) ? 2 : 1) * held.largest <= bounds[i].jobs);
        if (c->even && held.pinned_slots == 0 && !limited(c))
            assert_in_range(held.slots, 0, bounds[i].slots);
    }
}

/* What a node holds above its bounds, that and no more leaves it (slots of one job, where each finds room). */
static void check_moves(const struct cluster *c, const int32_t *owners, const struct assign_bound *bounds)
{
    for (int32_t i = 0; i < (int32_t)c->count; i++) {
        int64_t jobs = 0, slots = 0, left = 0;
        for (int k = 0; k < SLOTS; k++) {
            const struct assign_slot *slot = &c->slots[k];
            if (slot->owner != i ||
                strcmp(c->nodes[owners[k]].pool, c->nodes[i].pool) != 0) /* not its group's any more */
                continue;
            jobs += slot->jobs;
            slots++;
            left += owners[k] != i;
        }
        if (c->nodes[i].unwilling)
            continue;
        int64_t above = jobs > bounds[i].jobs ? jobs - bounds[i].jobs : 0;
        above += slots - above > bounds[i].slots ? slots - above - bounds[i].slots : 0;
        struct held held = held_by(c, owners, i);
        assert_true(left >= above);
        if (left > above) /* for somebody who had too little, and never below the own share */
            assert_true(held.jobs >= 10 * (bounds[i].jobs - 1) / 11 - 1 ||
                        held.slots >= 10 * (bounds[i].slots - 1) / 11 - 1);
    }
}

/* 0.9 of the share, where each slot finds room. */
static void check_everybody_has_some(const struct cluster *c, const int32_t *owners)
{
    for (int32_t i = 0; i < (int32_t)c->count; i++) {
        if (c->nodes[i].unwilling)
            continue;
        struct held held = held_by(c, owners, i);
        assert_true(held.jobs >= 9 * ((plain_bound(c, owners, i, true) - 1) * 10 / 11) / 10 - 1);
        assert_true(held.slots >= 9 * ((plain_bound(c, owners, i, false) - 1) * 10 / 11) / 10 - 1);
    }
}

static void check_fixed_point(struct cluster *c, const int32_t *owners)
{
    int32_t again[SLOTS];
    struct assign_slot before[SLOTS];
    memcpy(before, c->slots, sizeof before);
    for (int i = 0; i < SLOTS; i++)
        c->slots[i].owner = owners[i];
    cluster_assign(c, again, NULL);
    for (int i = 0; i < SLOTS; i++)
        assert_int_equal(again[i], owners[i]);
    memcpy(c->slots, before, sizeof before);
}

static void run_cluster(uint64_t seed)
{
    static struct cluster c;
    int32_t owners[SLOTS], other[SLOTS], names_then[SLOTS];
    struct assign_bound bounds[NODES];
    cluster_init(&c, seed);
    for (int change = 0; change < CHANGES; change++) {
        cluster_nodes(&c);
        cluster_assign(&c, owners, bounds);
        check_places(&c, owners);
        if (willing(&c, NULL, NULL)) {
            check_bounds(&c, owners, bounds);
            if (c.even && !c.pinned && !limited(&c)) {
                check_moves(&c, owners, bounds);
                check_everybody_has_some(&c, owners);
            }
            check_fixed_point(&c, owners);
        }
        for (int i = 0; i < SLOTS; i++)
            names_then[i] = original(&c, owners[i]);
        cluster_nodes(&c); /* in another order */
        cluster_assign(&c, other, bounds);
        for (int i = 0; i < SLOTS; i++) {
            assert_int_equal(original(&c, other[i]), names_then[i]);
            c.owners[i] = names_then[i];
        }
        cluster_change(&c);
    }
}

static void test_random_clusters(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CLUSTERS; seed++) {
        run_cluster(seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_clusters)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
