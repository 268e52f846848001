/* Who should own which slot: keeps, spreads, moves little, leaves none behind. */
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

#include "core/logic/assign/assign.h"
#include "core/model/limits.h"

#define SLOTS CLAIM_SLOTS
#define NODES 6

static const char *const names[NODES] = {"s1", "s2", "s3", "s4", "s5", "s6"};

static void make_nodes(struct assign_node *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        nodes[i] = (struct assign_node){.name = names[i], .weight = 1, .pool = ""};
}

static void make_slots(struct assign_slot *slots, int64_t jobs)
{
    for (int32_t i = 0; i < SLOTS; i++)
        slots[i] = (struct assign_slot){.slot = i, .jobs = jobs, .pool = "", .owner = -1};
}

static void assign(const struct assign_node *nodes, size_t count, const struct assign_slot *slots, int32_t *ret)
{
    assert_int_equal(assign_slots(nodes, count, slots, SLOTS, ret, NULL), STATUS_OK);
}

static void count_owned(const int32_t *owners, int *ret)
{
    memset(ret, 0, NODES * sizeof *ret);
    for (int i = 0; i < SLOTS; i++)
        ret[owners[i]]++;
}

static void test_spread(void **state)
{
    (void)state;
    struct assign_node nodes[NODES];
    static struct assign_slot slots[SLOTS];
    static int32_t owners[SLOTS];
    int owned[NODES];
    make_nodes(nodes, 4);
    make_slots(slots, 1);
    assign(nodes, 4, slots, owners);
    count_owned(owners, owned);
    for (int i = 0; i < 4; i++)
        assert_in_range(owned[i], 256 * 3 / 4, 256 * 5 / 4);
    nodes[0].weight = 3;
    assign(nodes, 4, slots, owners);
    count_owned(owners, owned);
    assert_in_range(owned[0], 512 * 7 / 8, 512 * 9 / 8);
    for (int i = 1; i < 4; i++)
        assert_in_range(owned[i], 170 * 3 / 4, 170 * 5 / 4);
}

/* Every node computes the same, whatever order it sees the others in. */
static void test_same_everywhere(void **state)
{
    (void)state;
    struct assign_node nodes[NODES], other[NODES];
    static struct assign_slot slots[SLOTS];
    static int32_t owners[SLOTS], owners_of_other[SLOTS];
    make_nodes(nodes, NODES);
    make_slots(slots, 1);
    for (size_t i = 0; i < NODES; i++)
        other[i] = nodes[NODES - 1 - i];
    assign(nodes, NODES, slots, owners);
    assign(other, NODES, slots, owners_of_other);
    for (int i = 0; i < SLOTS; i++)
        assert_string_equal(nodes[owners[i]].name, other[owners_of_other[i]].name);
}

/* When a node goes, only its slots move; when one comes, only what the others hold above their bounds. */
static void test_moves_little(void **state)
{
    (void)state;
    struct assign_node nodes[NODES];
    static struct assign_slot slots[SLOTS];
    static int32_t owners[SLOTS], after[SLOTS];
    int owned[NODES], moved = 0, above = 0;
    make_nodes(nodes, 5);
    make_slots(slots, 1);
    assign(nodes, 5, slots, owners);
    for (int i = 0; i < SLOTS; i++)
        slots[i].owner = owners[i] == 4 ? -1 : owners[i]; /* s5 is gone */
    assign(nodes, 4, slots, after);
    for (int i = 0; i < SLOTS; i++)
        if (owners[i] != 4)
            assert_int_equal(after[i], owners[i]);
    count_owned(after, owned);
    make_nodes(nodes, 6); /* s5 is back, with s6 */
    for (int i = 0; i < SLOTS; i++)
        slots[i].owner = after[i];
    assign(nodes, 6, slots, owners);
    for (int i = 0; i < SLOTS; i++) {
        assert_true(owners[i] == after[i] || owners[i] >= 4);
        moved += owners[i] != after[i];
    }
    for (int i = 0; i < 4; i++)
        above += owned[i] > 1024 * 11 / 60 + 1 ? owned[i] - (1024 * 11 / 60 + 1) : 0;
    count_owned(owners, owned);
    for (int i = 4; i < 6; i++) /* 0.9 of the share of 170 */
        assert_in_range(owned[i], 153, 188);
    assert_in_range(moved, above, 2 * 160);
}

static void test_preference(void **state)
{
    (void)state;
    struct assign_node nodes[NODES];
    int32_t preference[NODES];
    make_nodes(nodes, NODES);
    for (int32_t slot = 0; slot < 50; slot++) {
        unsigned seen = 0;
        assign_preference(nodes, NODES, slot, preference);
        for (int i = 0; i < NODES; i++)
            seen |= 1U << preference[i];
        assert_int_equal(seen, (1U << NODES) - 1);
        for (int32_t i = 0; i < NODES; i++)
            assert_int_equal(assign_rank(nodes, NODES, slot, preference[i]), i);
        struct assign_slot one = {.slot = slot, .pool = "", .owner = -1};
        int32_t owner;
        assert_int_equal(assign_slots(nodes, NODES, &one, 1, &owner, NULL), STATUS_OK);
        assert_int_equal(owner, preference[0]);
    }
}

static void test_pools_and_unwilling(void **state)
{
    (void)state;
    struct assign_node nodes[3] = {{.name = "s1", .weight = 1, .pool = ""},
                                   {.name = "s2", .weight = 1, .pool = "gpu"},
                                   {.name = "s3", .weight = 1, .pool = "", .unwilling = true}};
    struct assign_slot slots[4] = {{.slot = 1, .jobs = 1, .pool = "gpu", .owner = -1},
                                   {.slot = 2, .jobs = 1, .pool = "", .owner = 2},
                                   {.slot = 3, .jobs = 1, .pool = "gone", .owner = -1},
                                   {.slot = 4, .jobs = 1, .pool = NULL, .owner = 1}};
    int32_t owners[4];
    assert_int_equal(assign_slots(nodes, 3, slots, 4, owners, NULL), STATUS_OK);
    assert_int_equal(owners[0], 1); /* its pool */
    assert_int_equal(owners[1], 0); /* the draining one gives it up */
    assert_int_equal(owners[2], 0); /* nobody is in that pool: the common nodes */
    assert_int_equal(owners[3], 0); /* common again */
    nodes[0].unwilling = true;      /* no common node is left: those of the other pool */
    assert_int_equal(assign_slots(nodes, 3, slots, 4, owners, NULL), STATUS_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(owners[i], 1);
    nodes[1].unwilling = true;
    assert_int_equal(assign_slots(nodes, 3, slots, 4, owners, NULL), STATUS_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(owners[i], -1);
}

static void test_pins(void **state)
{
    (void)state;
    struct assign_node nodes[3];
    static struct assign_slot slots[SLOTS];
    static int32_t owners[SLOTS];
    int owned[NODES];
    make_nodes(nodes, 3);
    nodes[2].pool = "gpu";
    make_slots(slots, 1);
    for (int i = 0; i < 100; i++)
        slots[i].node = i < 50 ? "s2" : "s3"; /* also out of its own pool, and whoever holds it */
    slots[0].owner = 0;
    assign(nodes, 3, slots, owners);
    for (int i = 0; i < 100; i++)
        assert_int_equal(owners[i], i < 50 ? 1 : 2);
    count_owned(owners, owned);
    assert_int_equal(owned[2], 50); /* the common ones do not go there */
    assert_in_range(owned[0], 487 - 49, 487 * 11 / 10 + 1);
    nodes[2].unwilling = true; /* away: somebody else holds what is pinned to it */
    assign(nodes, 3, slots, owners);
    for (int i = 50; i < 100; i++)
        assert_in_range(owners[i], 0, 1);
}

static void test_capacity(void **state)
{
    (void)state;
    struct assign_node nodes[2] = {{.name = "s1", .weight = 1, .capacity = 10, .pool = ""},
                                   {.name = "s2", .weight = 1, .capacity = 30, .pool = ""}};
    struct assign_slot slots[60];
    struct assign_bound bounds[2];
    int32_t owners[60];
    int64_t load[2] = {0};
    for (int32_t i = 0; i < 60; i++)
        slots[i] = (struct assign_slot){.slot = i, .jobs = 1, .pool = "", .owner = i < 20 ? 0 : -1};
    assert_int_equal(assign_slots(nodes, 2, slots, 40, owners, bounds), STATUS_OK);
    assert_int_equal(bounds[0].jobs, 10);
    assert_int_equal(bounds[1].jobs, 30);
    for (int i = 0; i < 40; i++)
        load[owners[i]] += slots[i].jobs;
    assert_int_equal(load[0], 10); /* a present owner lets go of what is above its capacity, while others have room */
    assert_int_equal(load[1], 30);
    load[0] = load[1] = 0; /* all are full: by share, as if there were no capacity */
    assert_int_equal(assign_slots(nodes, 2, slots, 60, owners, bounds), STATUS_OK);
    for (int i = 0; i < 60; i++)
        load[owners[i]] += slots[i].jobs;
    assert_int_equal(load[0] + load[1], 60);
    assert_in_range(load[0], 27, 34);
    assert_int_equal(bounds[0].jobs, 34);
}

/* A slot that is larger than any bound stays where it is, and its owner holds nothing else. */
static void test_large_slot(void **state)
{
    (void)state;
    struct assign_node nodes[3];
    struct assign_slot slots[100];
    int32_t owners[100];
    make_nodes(nodes, 3);
    for (int32_t i = 0; i < 100; i++)
        slots[i] = (struct assign_slot){.slot = i, .jobs = i == 57 ? 1000 : 1, .pool = "", .owner = 1};
    assert_int_equal(assign_slots(nodes, 3, slots, 100, owners, NULL), STATUS_OK);
    for (int i = 0; i < 100; i++)
        assert_true(i == 57 ? owners[i] == 1 : owners[i] != 1);
}

static void test_nobody(void **state)
{
    (void)state;
    struct assign_slot slot = {.slot = 1, .jobs = 1, .pool = "", .owner = -1};
    int32_t owner = 5;
    assert_int_equal(assign_slots(NULL, 0, &slot, 1, &owner, NULL), STATUS_OK);
    assert_int_equal(owner, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spread),
        cmocka_unit_test(test_same_everywhere),
        cmocka_unit_test(test_moves_little),
        cmocka_unit_test(test_preference),
        cmocka_unit_test(test_pools_and_unwilling),
        cmocka_unit_test(test_pins),
        cmocka_unit_test(test_capacity),
        cmocka_unit_test(test_large_slot),
        cmocka_unit_test(test_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
