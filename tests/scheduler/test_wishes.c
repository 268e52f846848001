/* What one scheduler leaves to another: retries, replaced runs, suspensions, calls that linger. */
#include "tests/scheduler/check.h"

#define URL_STEP "\"graph\":[{\"step\":\"ping\",\"url\":\"http://127.0.0.1:9000/ping\",\"timeout\":\"8s\"}]"
#define START "2026-03-01T00:00:00.300Z"

static int64_t call_time;
static enum dispatch_end call_end;

static int takes(struct world *w, struct world_call *call)
{
    (void)w;
    call->end = call_end;
    return (int)call_time;
}

static int fails(struct world *w, struct world_call *call)
{
    (void)w;
    (void)strcpy(call->answer, "{\"status\":\"failed\",\"code\":\"E1\",\"message\":\"no\"}");
    return (int)call_time;
}

/* Node 0 has a call under way when node 1 gets all slots. */
static int64_t hand_over(struct world *w, const char *spec)
{
    int64_t job = world_put(w, DOCUMENT_JOB, "j", spec);
    struct scheduler *first = world_start(w, 0, false);
    world_run(w, 3000);
    (void)world_start(w, 1, false);
    world_run(w, 1000);
    scheduler_drain(first, w->now);
    w->nodes[0].wake = w->now.mono.ms;
    return job;
}

static void retry_goes_to_the_owner(void **state)
{
    (void)state;
    struct world *w = world_create(START);
    call_time = 5000;
    w->script = fails;
    int64_t job = hand_over(
        w, "{\"triggers\":[{\"at\":\"2026-03-01T00:00:02Z\"}],\"retry\":{\"max\":2,\"delay\":\"1s\"}," URL_STEP "}");
    world_run(w, 30000);
    assert_int_equal(world_runs(w, job, NULL, RUN_FAILED), 3);
    for (int64_t i = 0; i < 3; i++) {
        assert_int_equal(w->runs.items[i].generation, i);
        assert_int_equal(w->runs.items[i].retry_no, i);
        assert_int_equal(w->runs.items[i].boot, i == 0 ? 1 : 2);
        if (i)
            assert_int_equal(w->runs.items[i].retry_of, w->runs.items[i - 1].id);
    }
    assert_true(instant_sub(w->runs.items[1].started_at, w->runs.items[0].ended_at) >= 1000);
    assert_int_equal(w->requests.count, 1);
    assert_int_equal(w->requests.items[0].id, w->runs.items[1].id);
    assert_string_equal(w->requests.items[0].outcome, "run");
    world_free(w);
}

/* Nobody owned the slot for a while; and whoever takes the retry up dies before it could say so. */
static void retry_waits_for_an_owner(void **state)
{
    (void)state;
    struct world *w = world_create(START);
    call_time = 3000;
    w->script = fails;
    int64_t job = world_put(
        w, DOCUMENT_JOB, "j",
        "{\"triggers\":[{\"at\":\"2026-03-01T00:00:02Z\"}],\"retry\":{\"max\":1,\"delay\":\"2s\"}," URL_STEP "}");
    (void)world_start(w, 0, true);
    world_run(w, 3000);
    int32_t slot = w->runs.items[0].slot;
    struct world_boot *stranger = vec_push(&w->boots); /* takes the slot, and is gone before it does anything */
    stranger->boot = (int64_t)w->boots.count;
    w->slots[slot].owner = stranger->boot;
    w->slots[slot].czxid += 1000;
    world_run(w, 4000);
    assert_int_equal(world_runs(w, job, NULL, RUN_FAILED), 1);
    assert_int_equal(w->requests.count, 1);
    assert_null(w->requests.items[0].outcome);
    world_kill(w, 0, 0);
    for (int i = 0; i < WORLD_SLOTS; i++)
        w->next_czxid = w->next_czxid < w->slots[i].czxid ? w->slots[i].czxid : w->next_czxid;
    (void)world_start(w, 0, true);
    world_run(w, 300);
    world_kill(w, 0, 0);
    (void)world_start(w, 0, true);
    world_run(w, 10000);
    assert_int_equal(world_runs(w, job, NULL, RUN_FAILED), 2);
    assert_int_equal(w->runs.count, 2);
    assert_string_equal(w->requests.items[0].outcome, "run");
    world_free(w);
}

static void replaces_what_another_drives(void **state)
{
    (void)state;
    struct world *w = world_create(START);
    call_time = 7000;
    call_end = DISPATCH_ANSWERED;
    w->script = takes;
    int64_t job = hand_over(w, "{\"overlap\":\"replace\",\"triggers\":[{\"cron\":\"2,6 * * * * ?\"}]," URL_STEP "}");
    world_run(w, 4500);
    assert_int_equal(world_runs(w, job, NULL, -1), 2);
    assert_int_equal(w->runs.items[0].boot, 1);
    assert_int_equal(w->runs.items[0].state, RUN_CANCELED);
    assert_string_equal(w->runs.items[0].reason, "replaced");
    assert_int_equal(w->runs.items[1].boot, 2);
    world_run(w, 20000);
    assert_int_equal(w->runs.items[1].state, RUN_SUCCEEDED);
    world_free(w);
}

static void failures_outlive_a_restart(void **state)
{
    (void)state;
    struct world *w = world_create(START);
    call_time = 5;
    w->script = fails;
    int64_t job =
        world_put(w, DOCUMENT_JOB, "j",
                  "{\"triggers\":[{\"every\":\"1s\",\"align\":true}],\"max_consecutive_failures\":3," URL_STEP "}");
    (void)world_start(w, 0, true);
    world_run(w, 2500);
    assert_int_equal(world_runs(w, job, NULL, -1), 2);
    assert_int_equal(w->suspended.count, 0);
    world_kill(w, 0, 0);
    (void)world_start(w, 0, true);
    world_run(w, 8000);
    assert_int_equal(world_runs(w, job, NULL, -1), 3);
    assert_int_equal(w->suspended.count, 1);
    /* What lies before a resume does not count. */
    (void)world_request(w, &(struct request_row){.kind = REQUEST_RESUME, .job = job, .skip_missed = true});
    world_run(w, 2000);
    assert_int_equal(w->suspended.count, 1);
    world_kill(w, 0, 0);
    (void)world_start(w, 0, true);
    world_run(w, 8000);
    assert_int_equal(w->suspended.count, 2);
    assert_int_equal(world_runs(w, job, NULL, -1), 6);
    world_free(w);
}

static void suspended_by_the_owner(void **state)
{
    (void)state;
    for (int allowed = 1; allowed <= 2; allowed++) {
        char spec[300];
        struct world *w = world_create(START);
        call_time = 3500;
        w->script = fails;
        (void)snprintf(
            spec, sizeof spec,
            "{\"triggers\":[{\"cron\":\"%s * * * * ?\"}],\"overlap\":\"allow\",\"max_consecutive_failures\":%d," URL_STEP
            "}",
            allowed == 1 ? "2" : "2,3", allowed);
        int64_t job = hand_over(w, spec);
        world_run(w, 10000);
        assert_int_equal(world_runs(w, job, NULL, RUN_FAILED), allowed);
        assert_int_equal(w->suspended.count, 1);
        assert_int_equal(w->activations.items[w->activations.count - 1].kind, ACTIVATION_PAUSE);
        world_free(w);
    }
}

/* ---- linger --------------------------------------------------------------------------------------------------------
 */

static void linger_outlives_a_restart(void **state)
{
    (void)state;
    struct world *w = world_create(START);
    call_time = 500;
    call_end = DISPATCH_UNKNOWN;
    w->script = takes;
    int64_t job = world_put(
        w, DOCUMENT_JOB, "j",
        "{\"overlap\":\"skip\",\"triggers\":[{\"every\":\"1s\",\"align\":true}],\"graph\":[{\"step\":\"ping\","
        "\"url\":\"http://127.0.0.1:9000/ping\",\"timeout\":\"8s\",\"repeat\":\"never\"}]}");
    (void)world_start(w, 0, true);
    world_run(w, 2000); /* ends at 1.5 s, lingers until 9.5 s */
    assert_int_equal(w->lingers.count, 1);
    world_kill(w, 0, 0);
    (void)world_start(w, 0, true);
    world_run(w, 7000);
    assert_int_equal(world_runs(w, job, NULL, -1), 1);
    assert_true(world_skipped(w, job, "overlap") >= 6);
    world_run(w, 1000);
    assert_int_equal(world_runs(w, job, NULL, -1), 2);
    world_free(w);
}

static void linger_of_another_boot(void **state)
{
    (void)state;
    struct world *w = world_create(START);
    call_time = 4000; /* ends at 6 s, lingers until 14 s */
    call_end = DISPATCH_TIMEOUT;
    w->script = takes;
    int64_t job =
        hand_over(w, "{\"overlap\":\"skip\",\"triggers\":[{\"every\":\"2s\",\"align\":true}],\"graph\":[{\"step\":"
                     "\"ping\",\"url\":\"http://127.0.0.1:9000/ping\",\"timeout\":\"8s\",\"repeat\":\"never\"}]}");
    world_run(w, 9000);
    assert_int_equal(world_runs(w, job, NULL, -1), 1);
    world_run(w, 3000);
    assert_int_equal(world_runs(w, job, NULL, -1), 2);
    world_free(w);
}

static int first_is_lost(struct world *w, struct world_call *call)
{
    if (w->calls.count == 1)
        call->end = DISPATCH_UNKNOWN;
    return 100;
}

#define CALL(name) \
    "{\"triggers\":[{\"at\":\"2026-03-01T00:00:0" name "Z\"}],\"graph\":[{\"step\":\"a\",\"task\":\"app/work\"}]}"

/* An instance of a serial task waits out a call whose end is not known, also over a restart. */
static void serial_instance_stays_busy(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct world *w = world_create(START);
        w->script = first_is_lost;
        (void)world_put(
            w, DOCUMENT_APPLICATION, "app",
            "{\"instances\":[\"127.0.0.1:9000\"],\"tasks\":[{\"name\":\"work\",\"path\":\"/w\",\"serial\":true,"
            "\"timeout\":\"6s\",\"repeat\":\"never\"}]}");
        int64_t first = world_put(w, DOCUMENT_JOB, "one", CALL("2"));
        int64_t second = world_put(w, DOCUMENT_JOB, "two", CALL("4"));
        (void)world_start(w, 0, true);
        world_run(w, 3000);
        assert_int_equal(world_runs(w, first, NULL, -1), 1);
        assert_int_equal(world_runs(w, first, NULL, RUN_RUNNING), 0);
        if (restart) {
            world_kill(w, 0, 0);
            (void)world_start(w, 0, true);
        }
        world_run(w, 3000); /* until 6.3 s; the call may be at work until 8.1 s */
        assert_int_equal(w->calls.count, 1);
        const struct run_row *waits = world_run_at(w, second, world_instant("2026-03-01T00:00:04Z"));
        assert_non_null(waits);
        assert_string_equal(waits->reason, "linger");
        world_run(w, 4000);
        assert_int_equal(w->calls.count, 2);
        assert_int_equal(world_runs(w, second, NULL, RUN_SUCCEEDED), 1);
        world_free(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(retry_goes_to_the_owner),      cmocka_unit_test(retry_waits_for_an_owner),
        cmocka_unit_test(replaces_what_another_drives), cmocka_unit_test(failures_outlive_a_restart),
        cmocka_unit_test(suspended_by_the_owner),       cmocka_unit_test(linger_outlives_a_restart),
        cmocka_unit_test(linger_of_another_boot),       cmocka_unit_test(serial_instance_stays_busy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
