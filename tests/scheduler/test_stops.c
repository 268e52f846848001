/* Stopping in order: what is left, to whom, and that a clean stop is not taken for a crash. */
#include "tests/scheduler/check.h"

#define URL_STEP "\"graph\":[{\"step\":\"ping\",\"url\":\"http://127.0.0.1:9000/ping\"}]"
#define START "2026-03-01T00:00:00.300Z"

static int64_t call_time;
static enum dispatch_end first_end;

static int takes(struct world *w, struct world_call *call)
{
    if (w->calls.count == 1)
        call->end = first_end;
    return (int)call_time;
}

static void drain(struct world *w, int node)
{
    scheduler_drain(w->nodes[node].scheduler, w->now);
    w->nodes[node].wake = w->now.mono.ms;
}

static void clean_stop_is_no_crash(void **state)
{
    (void)state;
    struct world *w = world_create(START);
    (void)world_put(w, DOCUMENT_JOB, "j", "{\"triggers\":[{\"every\":\"1s\",\"align\":true}]," URL_STEP "}");
    (void)world_start(w, 0, true);
    world_run(w, 3500);
    drain(w, 0);
    world_run(w, 500);
    assert_int_equal(scheduler_state(w->nodes[0].scheduler), SCHEDULER_STOPPED);
    assert_true(w->boots.items[0].fenced);
    world_stop(w, 0);
    (void)world_start(w, 0, true);
    world_run(w, 3000);
    assert_int_equal(w->warnings, 0);
    world_kill(w, 0, 0);
    (void)world_start(w, 0, true);
    world_run(w, 3000);
    assert_int_equal(w->warnings, 1); /* that one was a crash */
    world_free(w);
}

/* Nothing is in flight: the process does not stay for a run that waits for its next attempt. */
static void stop_leaves_what_waits(void **state)
{
    (void)state;
    for (int other = 0; other < 2; other++) {
        struct world *w = world_create(START);
        call_time = 100;
        first_end = DISPATCH_NOT_SENT;
        w->script = takes;
        int64_t job = world_put(
            w, DOCUMENT_JOB, "j",
            "{\"triggers\":[{\"at\":\"2026-03-01T00:00:02Z\"}],\"graph\":[{\"step\":\"ping\",\"url\":"
            "\"http://127.0.0.1:9000/ping\",\"on_failure\":\"retry\",\"retry\":{\"max\":3,\"delay\":\"5s\"}}]}");
        (void)world_start(w, 0, !other);
        world_run(w, 2200);
        assert_int_equal(world_runs(w, job, NULL, RUN_RUNNING), 1);
        if (other)
            (void)world_start(w, 1, false);
        world_run(w, 100);
        drain(w, 0);
        world_run(w, 1500);
        assert_int_equal(scheduler_state(w->nodes[0].scheduler), SCHEDULER_STOPPED);
        assert_int_equal(w->calls.count, 1);
        world_stop(w, 0);
        if (!other)
            (void)world_start(w, 0, true);
        world_run(w, 15000);
        assert_int_equal(world_runs(w, job, NULL, RUN_SUCCEEDED), 1);
        assert_int_equal(w->calls.count, 2);
        assert_int_equal(w->warnings, 1); /* the instance that could not be reached */
        world_free(w);
    }
}

/* Its job is deleted and forgotten, and the boot that drove it two lives ago: the run is found by its slot. */
static void run_of_a_deleted_job(void **state)
{
    (void)state;
    struct world *w = world_create(START);
    call_time = 60000;
    w->script = takes;
    first_end = DISPATCH_ANSWERED;
    int64_t job = world_put(w, DOCUMENT_JOB, "j", "{\"triggers\":[{\"at\":\"2026-03-01T00:00:02Z\"}]," URL_STEP "}");
    (void)world_start(w, 0, true);
    world_run(w, 3000);
    world_delete(w, job);
    w->jobs.items[w->jobs.count - 1].pending_delete = 0;
    world_kill(w, 0, 0);
    (void)world_start(w, 0, true);
    world_run(w, 1);
    world_kill(w, 0, 0);
    for (size_t i = 1; i < w->boots.count; i++)
        w->boots.items[i].fenced = false;
    call_time = 100;
    (void)world_start(w, 0, true);
    world_run(w, 30000);
    assert_true(run_state_terminal(w->runs.items[0].state));
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(clean_stop_is_no_crash),
                                       cmocka_unit_test(stop_leaves_what_waits),
                                       cmocka_unit_test(run_of_a_deleted_job)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
