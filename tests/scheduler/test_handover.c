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

/* One run is in flight for long on the node that drains; what waits goes on elsewhere meanwhile. `wish`: it was told by
 * an operator, and stays. */
static void queued_runs_are_given(bool wish, bool lose_reply)
{
    struct world *w = world_create(START);
    call_time = 20000;
    w->script = takes;
    int64_t job = world_put(
        w, DOCUMENT_JOB, "j",
        "{\"triggers\":[{\"every\":\"1s\",\"align\":true,\"max_fires\":2}],\"overlap\":\"wait\"," URL_STEP "}");
    (void)world_start(w, 0, false);
    world_run(w, 3500); /* one is at work, one waits */
    assert_int_equal(world_runs(w, job, NULL, RUN_RUNNING), 1);
    assert_int_equal(world_runs(w, job, NULL, RUN_QUEUED), 1);
    (void)world_start(w, 1, false);
    world_run(w, 1000);
    w->lose_adopt = lose_reply;
    if (wish)
        w->nodes[0].wish = NODE_DRAIN;
    else
        drain(w, 0);
    world_run(w, 4000);
    assert_int_equal(scheduler_state(w->nodes[0].scheduler), wish ? SCHEDULER_WORKING : SCHEDULER_DRAINING);
    assert_int_equal(w->boots.items[0].draining, !wish); /* the store is told why it does so */
    int64_t first = w->boots.items[0].boot, second = w->boots.items[1].boot;
    for (size_t i = 0; i < w->runs.count; i++) /* while the call is still under way */
        assert_int_equal(w->runs.items[i].boot, w->runs.items[i].state == RUN_QUEUED ? second : first);
    assert_int_equal(world_runs(w, job, NULL, RUN_QUEUED), 1);
    assert_int_equal(w->calls.count, 1);
    world_run(w, 60000);
    assert_int_equal(world_runs(w, job, NULL, RUN_SUCCEEDED), 2);
    assert_int_equal(w->calls.count, 2);
    world_free(w);
}

static void draining_gives_its_queue(void **state)
{
    (void)state;
    queued_runs_are_given(false, false);
    queued_runs_are_given(true, false);
    queued_runs_are_given(false, true);
}

/* It has given a run away and dies at any moment around it, or whoever took it does: it is carried out once. */
static void given_and_killed(void **state)
{
    (void)state;
    for (span when = 0; when < 4000; when += 100) {
        struct world *w = world_create(START);
        call_time = 2500;
        w->script = takes;
        int64_t job = world_put(
            w, DOCUMENT_JOB, "j",
            "{\"triggers\":[{\"every\":\"1s\",\"align\":true,\"max_fires\":5}],\"overlap\":\"wait\"," URL_STEP "}");
        (void)world_start(w, 0, false);
        world_run(w, 3500);
        (void)world_start(w, 1, false);
        (void)world_start(w, 2, false);
        world_run(w, 500);
        drain(w, 0);
        world_run(w, when);
        world_kill(w, when % 200 ? 0 : w->slots[0].owner == w->boots.items[2].boot ? 2 : 1, 100);
        world_run(w, 60000);
        assert_int_equal(world_runs(w, job, NULL, RUN_QUEUED), 0);
        assert_int_equal(world_runs(w, job, NULL, RUN_RUNNING), 0);
        assert_true(world_runs(w, job, NULL, RUN_SUCCEEDED) >= 3);
        for (size_t i = 1; i < w->runs.count; i++)
            assert_true(instant_cmp(w->runs.items[i].started_at, w->runs.items[i - 1].started_at) >= 0);
        world_free(w);
    }
}

/* A cancel for a run that is being given away reaches whoever gets it. */
static void cancel_goes_along(void **state)
{
    (void)state;
    for (span when = 0; when < 2000; when += 50) {
        struct world *w = world_create(START);
        call_time = 20000;
        w->script = takes;
        int64_t job = world_put(
            w, DOCUMENT_JOB, "j",
            "{\"triggers\":[{\"every\":\"1s\",\"align\":true,\"max_fires\":2}],\"overlap\":\"wait\"," URL_STEP "}");
        (void)world_start(w, 0, false);
        world_run(w, 3500);
        (void)world_start(w, 1, false);
        world_run(w, 500);
        assert_int_equal(w->runs.items[1].state, RUN_QUEUED);
        drain(w, 0);
        world_run(w, when);
        struct request_row cancel = {.kind = REQUEST_CANCEL, .job = job, .run = w->runs.items[1].id};
        size_t asked = w->requests.count;
        (void)world_request(w, &cancel);
        world_run(w, 6000);
        assert_string_equal(w->requests.items[asked].outcome, "canceled");
        assert_int_equal(w->runs.items[1].state, RUN_CANCELED);
        world_free(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claim_is_won_unheard),     cmocka_unit_test(sibling_elsewhere),
        cmocka_unit_test(draining_gives_its_queue), cmocka_unit_test(given_and_killed),
        cmocka_unit_test(cancel_goes_along),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
