/* The coordination port: one suite over the local hub and over a real ZooKeeper (CARILLON_TEST_ZOOKEEPER=host:port).
 * What only ZooKeeper can do to us is in test_coordination_zookeeper.c. */
#include <stdio.h>
#include <string.h>

#include "tests/contract/wires/coordination_world.h"

static void see_each_other(struct world *world)
{
    for (int i = 0; i < MEMBERS; i++) {
        char node[16];
        (void)snprintf(node, sizeof node, "n%d", i);
        member_join(world, i, node);
    }
    WAIT(world, all_see_all);
    for (int i = 0; i < MEMBERS; i++) {
        for (size_t n = 0; n < MEMBERS; n++) {
            const struct coordination_node *node = &world->members[i].nodes.items[n];
            int of = node->node[1] - '0';
            assert_in_range(of, 0, MEMBERS - 1);
            assert_int_equal(node->boot, 100 + of);
            assert_string_equal(node->address, world->members[of].self.address);
            assert_true(node->store_ok);
        }
    }
}

static bool third_is_draining(struct world *world)
{
    for (size_t n = 0; n < world->members[0].nodes.count; n++) {
        const struct coordination_node *node = &world->members[0].nodes.items[n];
        if (strcmp(node->node, "n2") == 0 && node->draining && !node->store_ok &&
            strcmp(node->pool, "p \"\xc3\xa9") == 0)
            return true;
    }
    return false;
}

static void members_come_and_go(struct world *world)
{
    see_each_other(world);
    struct member *third = &world->members[2];
    third->self.draining = true;
    third->self.store_ok = false;
    (void)snprintf(third->self.pool, sizeof third->self.pool, "p \"\xc3\xa9");
    third->coordination->ops->update(third->coordination, &third->self);
    WAIT(world, third_is_draining);
    member_close(world, 2);
    WAIT(world, all_see_all);
}

static void claims_are_exclusive(struct world *world)
{
    struct member *a = &world->members[0], *b = &world->members[1];
    member_join(world, 0, "n0");
    member_join(world, 1, "n1");
    WAIT(world, all_see_all);
    member_claim(a, 7);
    WAIT(world, one_answer);
    assert_int_equal(a->counts[COORDINATION_CLAIM_WON], 1);
    assert_int_equal(a->answer.slot, 7);
    assert_int_equal(a->answer.boot, 100);
    assert_string_equal(a->answer.node, "n0");
    int64_t first = a->answer.czxid;
    assert_true(first > 0);
    member_claim(b, 7);
    WAIT(world, second_answered);
    assert_int_equal(b->counts[COORDINATION_CLAIM_TAKEN], 1);
    assert_int_equal(b->answer.czxid, first);
    assert_string_equal(b->answer.node, "n0");
    WAIT(world, one_claim_seen);
    assert_int_equal(b->claims.items[0].slot, 7);
    assert_int_equal(b->claims.items[0].czxid, first);
    assert_int_equal(b->claims.items[0].boot, 100);
    /* Asking again for what one has is winning, with the same epoch. */
    memset(a->counts, 0, sizeof a->counts);
    member_claim(a, 7);
    WAIT(world, one_answer);
    assert_int_equal(a->counts[COORDINATION_CLAIM_WON], 1);
    assert_int_equal(a->answer.czxid, first);
    /* Given back, it goes to the other with a higher epoch. */
    member_release(a, 7);
    WAIT(world, no_claims_seen);
    memset(b->counts, 0, sizeof b->counts);
    member_claim(b, 7);
    WAIT(world, second_answered);
    assert_int_equal(b->counts[COORDINATION_CLAIM_WON], 1);
    assert_true(b->answer.czxid > first);
    WAIT(world, one_claim_seen);
    assert_string_equal(a->claims.items[0].node, "n1");
    /* Not ours to give back. */
    member_release(a, 7);
    world_run_for(world, 300);
    assert_int_equal(a->claims.count, 1);
}

static bool hundred_answers(struct world *world)
{
    return member_answers(&world->members[0]) == 200 && member_answers(&world->members[1]) == 200;
}

static bool all_claims_seen(struct world *world)
{
    return world->members[0].claims.count == 200 && world->members[1].claims.count == 200;
}

/* Both ask for the same 200 slots at once: each slot has one winner, and both see the same list. */
static void races_have_one_winner(struct world *world)
{
    int owner[200];
    member_join(world, 0, "n0");
    member_join(world, 1, "n1");
    WAIT(world, all_see_all);
    for (int slot = 0; slot < 200; slot++) {
        member_claim(&world->members[slot % 2], slot);
        member_claim(&world->members[1 - slot % 2], slot);
    }
    WAIT(world, hundred_answers);
    memset(owner, -1, sizeof owner);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(world->members[i].counts[COORDINATION_CLAIM_FAILED], 0);
        for (size_t n = 0; n < world->members[i].won.count; n++) {
            assert_int_equal(owner[world->members[i].won.items[n].slot], -1);
            owner[world->members[i].won.items[n].slot] = i;
        }
    }
    WAIT(world, all_claims_seen);
    for (size_t n = 0; n < 200; n++) {
        const struct coordination_claim *seen = &world->members[0].claims.items[n];
        assert_int_equal(seen->node[1] - '0', owner[seen->slot]);
    }
}

static void expiry_loses_all(struct world *world)
{
    struct member *a = &world->members[0], *b = &world->members[1];
    member_join(world, 0, "n0");
    member_join(world, 1, "n1");
    WAIT(world, all_see_all);
    member_claim(a, 3);
    WAIT(world, one_claim_seen);
    int64_t first = a->answer.czxid;
    member_expire(world, 0);
    WAIT(world, first_lost_and_back);
    WAIT(world, no_claims_seen);
    WAIT(world, all_see_all); /* its node is back */
    member_claim(b, 3);
    WAIT(world, second_answered);
    assert_int_equal(b->counts[COORDINATION_CLAIM_WON], 1);
    assert_true(b->answer.czxid > first);
}

static void disconnection_keeps_all(struct world *world)
{
    struct member *a = &world->members[0], *b = &world->members[1];
    member_join(world, 0, "n0");
    member_join(world, 1, "n1");
    WAIT(world, all_see_all);
    member_claim(a, 3);
    WAIT(world, one_claim_seen);
    member_cut(world, 0, true);
    WAIT(world, first_suspended);
    memset(&a->counts[COORDINATION_CLAIM_WON], 0, 3 * sizeof(int));
    member_claim(a, 4); /* fails, told later */
    WAIT(world, one_answer);
    assert_int_equal(a->counts[COORDINATION_CLAIM_FAILED], 1);
    member_claim(b, 3);
    WAIT(world, second_answered);
    assert_int_equal(b->counts[COORDINATION_CLAIM_TAKEN], 1); /* the session lives */
    member_cut(world, 0, false);
    WAIT(world, first_back);
    assert_int_equal(a->counts[COORDINATION_LOST], 0);
    WAIT(world, one_claim_seen);
}

static void second_process_is_refused(struct world *world)
{
    member_join(world, 0, "same");
    WAIT(world, all_connected);
    member_make(world, 1, "same");
    struct coordination *second = world->members[1].coordination;
    second->ops->join(second, &world->members[1].self);
    WAIT(world, second_refused);
    assert_non_null(strstr(world->members[1].text, "scheduler.node_id"));
    assert_int_equal(world->members[1].counts[COORDINATION_CONNECTED], 0);
    assert_int_equal(world->members[0].counts[COORDINATION_LOST], 0);
    /* The refused one claims nothing. */
    member_claim(&world->members[1], 1);
    WAIT(world, second_answered);
    assert_int_equal(world->members[1].counts[COORDINATION_CLAIM_FAILED], 1);
}

static bool first_closed(struct world *world)
{
    return world->members[0].coordination == NULL;
}

/* close from inside an event, with answers outstanding. */
static void closing_inside_an_event(struct world *world)
{
    member_join(world, 0, "n0");
    member_join(world, 1, "n1");
    WAIT(world, all_see_all);
    for (int slot = 0; slot < 20; slot++)
        member_claim(&world->members[0], slot);
    world->members[0].close_on_event = world->members[0].coordination;
    WAIT(world, first_closed);
    WAIT(world, no_claims_seen);
    WAIT(world, all_see_all);
}

static const struct {
    const char *name;
    void (*run)(struct world *world);
} suite[] = {
    {"members come and go", members_come_and_go},           {"claims are exclusive", claims_are_exclusive},
    {"races have one winner", races_have_one_winner},       {"expiry loses all", expiry_loses_all},
    {"a disconnection keeps all", disconnection_keeps_all}, {"a second process is refused", second_process_is_refused},
    {"closing inside an event", closing_inside_an_event}};

static void suite_run(const struct backend *backend)
{
    for (size_t i = 0; i < sizeof suite / sizeof *suite; i++) {
        struct world *world = world_make(backend);
        print_message("  %s: %s\n", backend->name, suite[i].name);
        suite[i].run(world);
        world_free(world);
    }
}

static void test_local(void **state)
{
    (void)state;
    suite_run(&backends[0]);
}

static void test_zookeeper(void **state)
{
    (void)state;
    if (!zookeeper_there())
        skip();
    suite_run(&backends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_local), cmocka_unit_test(test_zookeeper)};
    return cmocka_run_group_tests_name("coordination", tests, NULL, NULL);
}
