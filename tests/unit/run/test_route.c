/* Routing and overlap: tables. */
#include "core/logic/run/overlap.h"
#include "core/logic/run/route.h"
#include "tests/unit/run/support.h"

#define ROWS(table) (sizeof(table) / sizeof *(table))

/* Instances as letters: A = usable, a = away, F = full; addresses h0, h1, … */
static size_t world_of(const char *pattern, struct route_instance *ret)
{
    static const char *const addresses[] = {"h0", "h1", "h2", "h3", "h4", "h5"};
    size_t count = strlen(pattern);
    for (size_t i = 0; i < count; i++)
        ret[i] = (struct route_instance){.address = addresses[i],
                                         .usable = pattern[i] != 'a',
                                         .full = pattern[i] == 'F',
                                         .in_flight = (int32_t)(10 - i)};
    return count;
}

static void test_pick(void **state)
{
    (void)state;
    static const char *const h0[] = {"h0"}, *const h01[] = {"h0", "h1"};
    static const struct {
        int line;
        const char *world;
        struct route_query query;
        const char *picked; /* NULL: none, then reason */
        const char *reason;
    } cases[] = {
        {__LINE__, "AAA", {.cursor = 0}, "h0", NULL},
        {__LINE__, "AAA", {.cursor = 1}, "h1", NULL},
        {__LINE__, "AAA", {.cursor = 5}, "h2", NULL},
        {__LINE__, "AaA", {.cursor = 1}, "h2", NULL},
        {__LINE__, "AFa", {.cursor = 1}, "h0", NULL},
        {__LINE__, "AAA", {.cursor = UINT32_MAX}, "h0", NULL},
        {__LINE__, "AAA", {.after = "h1"}, "h2", NULL},
        {__LINE__, "AAA", {.after = "h2"}, "h0", NULL},
        {__LINE__, "AAA", {.after = "gone", .cursor = 1}, "h1", NULL},
        {__LINE__, "AAA", {.tried = h0, .tried_count = 1}, "h1", NULL},
        {__LINE__, "AAA", {.after = "h2", .tried = h01, .tried_count = 2}, "h2", NULL},
        {__LINE__, "AA", {.tried = h01, .tried_count = 2}, NULL, "all_tried"},
        {__LINE__, "AAa", {.tried = h01, .tried_count = 2}, NULL, "no_instance"},
        {__LINE__, "AAF", {.tried = h01, .tried_count = 2}, NULL, "instance_limit"},
        {__LINE__, "FF", {.cursor = 0}, NULL, "instance_limit"},
        {__LINE__, "aF", {.cursor = 0}, NULL, "instance_limit"},
        {__LINE__, "aa", {.cursor = 0}, NULL, "no_instance"},
        {__LINE__, "", {.cursor = 0}, NULL, "no_instance"},
        {__LINE__, "AAA", {.routing = ROUTE_FIRST, .cursor = 2}, "h0", NULL},
        {__LINE__, "aAA", {.routing = ROUTE_FIRST, .cursor = 2}, "h1", NULL},
        {__LINE__, "AAA", {.routing = ROUTE_FIXED, .fixed = "h2"}, "h2", NULL},
        {__LINE__, "AAa", {.routing = ROUTE_FIXED, .fixed = "h2"}, NULL, "fixed_gone"},
        {__LINE__, "AAA", {.routing = ROUTE_FIXED, .fixed = "hx"}, NULL, "fixed_gone"},
        {__LINE__, "AAF", {.routing = ROUTE_FIXED, .fixed = "h2"}, NULL, "instance_limit"},
        {__LINE__, "AAA", {.routing = ROUTE_FIXED}, NULL, "fixed_gone"},
        {__LINE__, "AAA", {.routing = ROUTE_LEAST_BUSY}, "h2", NULL},
        {__LINE__, "AAa", {.routing = ROUTE_LEAST_BUSY}, "h1", NULL},
        {__LINE__, "aAa", {.routing = ROUTE_RANDOM, .random = 77}, "h1", NULL},
        {__LINE__, "aa", {.routing = ROUTE_RANDOM, .random = 77}, NULL, "no_instance"},
        {__LINE__, "aAa", {.routing = ROUTE_HASH, .key = 5}, "h1", NULL},
    };
    for (size_t i = 0; i < ROWS(cases); i++) {
        struct route_instance world[6];
        const char *reason = NULL;
        size_t count = world_of(cases[i].world, world);
        size_t at = route_pick(&cases[i].query, world, count, &reason);
        bool right = cases[i].picked ? at < count && !strcmp(world[at].address, cases[i].picked) && !reason
                                     : at == SIZE_MAX && reason && !strcmp(reason, cases[i].reason);
        if (!right)
            fail_msg("line %d: %s, reason %s", cases[i].line, at < count ? world[at].address : "none",
                     reason ? reason : "-");
    }
}

static void test_reason_of_the_instance(void **state)
{
    (void)state;
    const struct route_instance world[] = {{.address = "h0", .why = "circuit_open"},
                                           {.address = "h1", .why = "cordoned"}};
    const char *reason;
    assert_int_equal(route_pick(&(struct route_query){0}, world, 2, &reason), SIZE_MAX);
    assert_string_equal(reason, "circuit_open");
}

/* A hash key keeps its instance when another one goes; random reaches all. */
static void test_spread(void **state)
{
    (void)state;
    struct route_instance world[6];
    int hits[6] = {0}, random_hits[6] = {0};
    size_t count = world_of("AAAAAA", world);
    for (uint64_t key = 0; key < 600; key++) {
        struct route_query query = {.routing = ROUTE_HASH, .key = key};
        size_t before = route_pick(&query, world, count, NULL);
        hits[before]++;
        world[3].usable = false;
        size_t after = route_pick(&query, world, count, NULL);
        assert_true(after != 3 && (before == 3 || after == before));
        world[3].usable = true;
        random_hits[route_pick(&(struct route_query){.routing = ROUTE_RANDOM, .random = key}, world, count, NULL)]++;
    }
    for (int i = 0; i < 6; i++) {
        assert_in_range(hits[i], 60, 150);
        assert_in_range(random_hits[i], 60, 150);
    }
}

static void test_overlap(void **state)
{
    (void)state;
    static const struct {
        int line;
        enum overlap_policy policy;
        int max_parallel;
        struct overlap_state state;
        enum overlap_verdict verdict;
    } cases[] = {
        {__LINE__, OVERLAP_WAIT, 16, {0, 0, false, 100}, OVERLAP_RUN},
        {__LINE__, OVERLAP_WAIT, 16, {1, 0, false, 100}, OVERLAP_QUEUE},
        {__LINE__, OVERLAP_WAIT, 16, {1, 1, false, 100}, OVERLAP_DROP},
        {__LINE__, OVERLAP_WAIT, 16, {0, 1, false, 100}, OVERLAP_DROP},
        {__LINE__, OVERLAP_WAIT, 16, {1, 1, true, 100}, OVERLAP_QUEUE},
        {__LINE__, OVERLAP_WAIT, 16, {1, 100, true, 100}, OVERLAP_DROP},
        {__LINE__, OVERLAP_SKIP, 16, {0, 0, false, 100}, OVERLAP_RUN},
        {__LINE__, OVERLAP_SKIP, 16, {1, 0, false, 100}, OVERLAP_DROP},
        {__LINE__, OVERLAP_SKIP, 16, {1, 5, true, 100}, OVERLAP_QUEUE},
        {__LINE__, OVERLAP_SKIP, 16, {0, 0, true, 100}, OVERLAP_RUN},
        {__LINE__, OVERLAP_ALLOW, 3, {2, 0, false, 100}, OVERLAP_RUN},
        {__LINE__, OVERLAP_ALLOW, 3, {3, 0, false, 100}, OVERLAP_QUEUE},
        {__LINE__, OVERLAP_ALLOW, 3, {3, 1, false, 100}, OVERLAP_DROP},
        {__LINE__, OVERLAP_ALLOW, 3, {0, 2, false, 100}, OVERLAP_QUEUE},
        {__LINE__, OVERLAP_ALLOW, 3, {1, 2, false, 100}, OVERLAP_DROP},
        {__LINE__, OVERLAP_ALLOW, 0, {15, 0, false, 100}, OVERLAP_RUN},
        {__LINE__, OVERLAP_REPLACE, 16, {0, 0, false, 100}, OVERLAP_RUN},
        {__LINE__, OVERLAP_REPLACE, 16, {1, 0, false, 100}, OVERLAP_CANCEL_OTHERS},
        {__LINE__, OVERLAP_REPLACE, 16, {1, 1, false, 100}, OVERLAP_CANCEL_OTHERS},
        {__LINE__, OVERLAP_REPLACE, 16, {1, 1, true, 100}, OVERLAP_QUEUE},
    };
    for (size_t i = 0; i < ROWS(cases); i++)
        if (overlap_decide(cases[i].policy, cases[i].max_parallel, &cases[i].state) != cases[i].verdict)
            fail_msg("line %d", cases[i].line);
    assert_true(overlap_may_start(OVERLAP_WAIT, 16, 0));
    assert_false(overlap_may_start(OVERLAP_WAIT, 16, 1));
    assert_true(overlap_may_start(OVERLAP_ALLOW, 2, 1));
    assert_false(overlap_may_start(OVERLAP_ALLOW, 2, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pick),
        cmocka_unit_test(test_reason_of_the_instance),
        cmocka_unit_test(test_spread),
        cmocka_unit_test(test_overlap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
