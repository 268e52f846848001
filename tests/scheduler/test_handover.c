/* Slots and runs that change hands at awkward moments: replies that are lost, siblings that are driven elsewhere. */
#include "tests/scheduler/check.h"

#define URL_STEP "\"graph\":[{\"step\":\"ping\",\"url\":\"http://127.0.0.1:9000/ping\"}]"
#define START "2026-03-01T00:00:00.300Z"
#define TICK "{\"triggers\":[{\"every\":\"1s\",\"align\":true}],\"overlap\":\"allow\"," URL_STEP "}"

static int64_t call_time;

static int takes(struct world *w, struct world_call *call)
{
    (void)w;
    (void)call;
    return (int)call_time;
}

static void drain(struct world *w, int node)
{
    scheduler_drain(w->nodes[node].scheduler, w->now);
    w->nodes[node].wake = w->now.mono.ms;
}

/* Nobody else can claim the slot, and whoever holds it does not know: it is asked for once more. */
static void claim_is_won_unheard(void **state)
{
    (void)state;
    struct world *w = world_create(START);
    int64_t job = world_put(w, DOCUMENT_JOB, "j", TICK);
    w->lose_claims = true;
    (void)world_start(w, 0, false);
    world_run(w, 3000);
    assert_int_equal(world_runs(w, job, NULL, -1), 0);
    assert_int_equal(w->claim_boot[0], w->nodes[0].self.boot);
    w->lose_claims = false;
    world_run(w, 7000);
    assert_true(world_runs(w, job, NULL, -1) >= 4);
    world_free(w);
}

/* Its sibling is driven by a node that drains, its own driver dies: whoever takes it waits for the sibling. */
static void sibling_elsewhere(void **state)
{
    (void)state;
    for (span when = 0; when < 1000; when += 50) {
        struct world *w = world_create(START);
        call_time = 16000;
        w->script = takes;
        int64_t job =
            world_put(w, DOCUMENT_JOB, "j", "{\"triggers\":[{\"every\":\"4s\",\"align\":true}]," URL_STEP "}");
        (void)world_start(w, 0, false);
        world_run(w, 4500);
        assert_int_equal(world_runs(w, job, NULL, RUN_RUNNING), 1);
        (void)world_start(w, 1, false);
        world_run(w, 500);
        drain(w, 0);
        world_run(w, 4000 + when);
        assert_int_equal(world_runs(w, job, NULL, RUN_QUEUED), 1);
        (void)world_start(w, 2, false);
        world_run(w, 500);
        world_kill(w, 1, 1000);
        world_run(w, 25000);
        for (size_t i = 1; i < w->runs.count; i++)
            if (!instant_is_none(w->runs.items[i].started_at))
                assert_true(instant_cmp(w->runs.items[i].started_at, w->runs.items[i - 1].ended_at) >= 0);
        assert_true(world_runs(w, job, NULL, RUN_SUCCEEDED) >= 1);
        assert_false(instant_is_none(w->runs.items[1].started_at));
        world_free(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(claim_is_won_unheard), cmocka_unit_test(sibling_elsewhere)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
