/* Overlap, pause, delay, edits, jitter, limits of fires, retries, requests. */
#include "tests/scheduler/check.h"

#define URL_STEP "\"graph\":[{\"step\":\"ping\",\"url\":\"http://127.0.0.1:9000/ping\"}]"
#define START "2026-03-01T00:00:00.300Z"

static int64_t call_time;

static int takes(struct world *w, struct world_call *call)
{
    (void)w;
    (void)call;
    return (int)call_time;
}

static int fails(struct world *w, struct world_call *call)
{
    (void)w;
    (void)strcpy(call->answer, "{\"status\":\"failed\",\"code\":\"E1\",\"message\":\"no\"}");
    return 5;
}

struct overlap_row {
    int line;
    const char *policy;
    int64_t call_ms;
    size_t runs, canceled;
    int64_t skips;
};

/* 10 s of `every 1s`. */
static void overlap(void **state)
{
    (void)state;
    static const struct overlap_row rows[] = {
        {__LINE__, "wait", 5, 10, 0, 0},
        {__LINE__, "skip", 1500, 5, 0, 5},
        {__LINE__, "allow", 1500, 10, 0, 0},
        {__LINE__, "replace", 1500, 10, 9, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct world *w = world_create(START);
        char spec[512];
        call_time = rows[i].call_ms;
        w->script = takes;
        (void)snprintf(spec, sizeof spec,
                       "{\"overlap\":\"%s\",\"triggers\":[{\"every\":\"1s\",\"align\":true}]," URL_STEP "}",
                       rows[i].policy);
        int64_t job = world_put(w, DOCUMENT_JOB, "j", spec);
        (void)world_start(w, 0, true);
        world_run(w, 10000);
        if (world_runs(w, job, NULL, -1) != rows[i].runs ||
            world_runs(w, job, NULL, RUN_CANCELED) != rows[i].canceled ||
            world_skipped(w, job, "overlap") != rows[i].skips)
            fail_msg("row %d: %zu runs, %zu canceled, %lld skipped", rows[i].line, world_runs(w, job, NULL, -1),
                     world_runs(w, job, NULL, RUN_CANCELED), (long long)world_skipped(w, job, "overlap"));
        world_free(w);
    }
}

static void one_may_wait(void **state)
{
    (void)state;
    struct world *w = world_create(START);
    call_time = 3500;
    w->script = takes;
    int64_t job = world_put(w, DOCUMENT_JOB, "j", "{\"triggers\":[{\"every\":\"1s\",\"align\":true}]," URL_STEP "}");
    (void)world_start(w, 0, true);
    world_run(w, 20000);
    size_t running = 0;
    for (size_t i = 0; i < w->calls.count; i++) /* one at a time */
        for (size_t k = i + 1; k < w->calls.count; k++)
            running += instant_sub(w->calls.items[k]->at, w->calls.items[i]->at) < 3500;
    assert_int_equal(running, 0);
    assert_int_equal(world_runs(w, job, NULL, -1) + (size_t)world_skipped(w, job, "overlap"), 20);
    assert_true(world_runs(w, job, NULL, RUN_SUCCEEDED) >= 4);
    world_free(w);
}

static void pause_and_resume(void **state)
{
    (void)state;
    struct world *w = world_create(START);
    int64_t job = world_put(w, DOCUMENT_JOB, "j",
                            "{\"triggers\":[{\"every\":\"1s\",\"align\":true,\"misfire\":\"latest\"}]," URL_STEP "}");
    (void)world_start(w, 0, true);
    world_run(w, 4500);
    (void)world_request(w, &(struct request_row){.kind = REQUEST_PAUSE, .job = job});
    world_run(w, 10000);
    size_t before = world_runs(w, job, NULL, -1);
    assert_true(before <= 5);
    (void)world_request(w, &(struct request_row){.kind = REQUEST_RESUME, .job = job});
    world_run(w, 3000);
    size_t after = world_runs(w, job, NULL, -1);
    assert_int_equal(after, before + 4); /* one for the newest of the pause, three since */
    assert_int_equal(world_skipped(w, job, "paused") + (int64_t)after, 17);
    assert_int_equal(w->activations.count, 3);
    assert_string_equal(w->requests.items[0].outcome, "paused");
    assert_string_equal(w->requests.items[1].outcome, "resumed");
    /* and nothing of it is forgotten over a restart */
    (void)world_request(w, &(struct request_row){.kind = REQUEST_PAUSE, .job = job});
    world_run(w, 5000);
    world_kill(w, 0, 0);
    (void)world_start(w, 0, true);
    world_run(w, 5000);
    assert_true(world_runs(w, job, NULL, -1) <= after + 1);
    (void)world_request(w, &(struct request_row){.kind = REQUEST_RESUME, .job = job, .skip_missed = true});
    world_run(w, 3000);
    assert_int_equal(world_skipped(w, job, "paused") + (int64_t)world_runs(w, job, NULL, -1), 30);
    world_free(w);
}

static void delay_counts_from_the_end(void **state)
{
    (void)state;
    struct world *w = world_create(START);
    call_time = 700;
    w->script = takes;
    int64_t job = world_put(w, DOCUMENT_JOB, "j", "{\"triggers\":[{\"delay\":\"2s\"}]," URL_STEP "}");
    (void)world_start(w, 0, true);
    world_run(w, 11000);
    assert_int_equal(world_runs(w, job, NULL, -1), 4); /* 2.3, 5.0, 7.7, 10.4 and what commits cost */
    for (size_t i = 1; i < w->runs.count; i++)
        assert_int_equal(instant_sub(w->runs.items[i].scheduled_at, w->runs.items[i - 1].ended_at), 2000);
    size_t runs = w->runs.count;
    world_kill(w, 0, 0);
    (void)world_start(w, 0, true);
    world_run(w, 10000);
    assert_true(w->runs.count >= runs + 3);
    world_free(w);
}

static void edit_rules_within_a_second(void **state)
{
    (void)state;
    struct world *w = world_create(START);
    int64_t job = world_put(w, DOCUMENT_JOB, "j", "{\"triggers\":[{\"every\":\"1s\",\"align\":true}]," URL_STEP "}");
    (void)world_start(w, 0, true);
    world_run(w, 5000);
    (void)world_put(w, DOCUMENT_JOB, "j", "{\"triggers\":[{\"every\":\"5s\",\"align\":true}]," URL_STEP "}");
    world_run(w, 10000);
    assert_int_equal(world_runs(w, job, NULL, -1), 5 + 2); /* 1…5, then 10, 15 */
    assert_int_equal(w->activations.count, 2);
    assert_int_equal(w->runs.items[w->runs.count - 1].version, 2);
    world_delete(w, job);
    world_run(w, 10000);
    assert_int_equal(world_runs(w, job, NULL, -1), 7);
    assert_int_equal(w->activations.count, 3);
    assert_int_equal(w->activations.items[2].kind, ACTIVATION_DELETE);
    world_free(w);
}

static void edit_while_down(void **state)
{
    (void)state;
    struct world *w = world_create(START);
    int64_t job = world_put(w, DOCUMENT_JOB, "j", "{\"triggers\":[{\"every\":\"1s\",\"align\":true}]," URL_STEP "}");
    (void)world_start(w, 0, true);
    world_run(w, 5000);
    world_kill(w, 0, 0);
    world_run(w, 5000);
    (void)world_put(w, DOCUMENT_JOB, "j", "{\"triggers\":[{\"every\":\"4s\",\"align\":true}]," URL_STEP "}");
    world_run(w, 5000);
    (void)world_start(w, 0, true);
    world_run(w, 5000);
    /* 1…10 by the first version (5 of them late), then 12, 16, 20 by the second */
    assert_int_equal(world_runs(w, job, NULL, -1), 10 + 3);
    world_free(w);
}

static void shorter_delay_goes_on(void **state)
{
    (void)state;
    struct world *w = world_create(START);
    int64_t job = world_put(w, DOCUMENT_JOB, "j", "{\"triggers\":[{\"delay\":\"5s\"}]," URL_STEP "}");
    (void)world_start(w, 0, true);
    world_run(w, 9000);
    assert_int_equal(world_runs(w, job, NULL, -1), 1);
    (void)world_put(w, DOCUMENT_JOB, "j", "{\"triggers\":[{\"delay\":\"1s\"}]," URL_STEP "}");
    world_run(w, 2000);
    assert_int_equal(world_runs(w, job, NULL, -1), 2);
    world_kill(w, 0, 0);
    (void)world_start(w, 0, true);
    world_run(w, 5000);
    assert_true(world_runs(w, job, NULL, -1) >= 6);
    world_free(w);
}

static void clock_far_off(void **state)
{
    (void)state;
    struct world *w = world_create(START);
    int64_t job = world_put(w, DOCUMENT_JOB, "j", "{\"triggers\":[{\"every\":\"1s\",\"align\":true}]," URL_STEP "}");
    (void)world_start(w, 0, false);
    world_run(w, 5000);
    w->nodes[0].skew = SPAN_HOUR;
    world_run(w, 5000);
    w->nodes[0].skew = -SPAN_HOUR;
    world_run(w, 5000);
    w->nodes[0].skew = 0;
    world_run(w, 5000);
    assert_int_equal(world_runs(w, job, NULL, RUN_SUCCEEDED), 20);
    for (size_t i = 0; i < w->calls.count; i++) {
        span late = instant_sub(w->calls.items[i]->at, w->runs.items[i].scheduled_at);
        assert_true(late >= 0 && late < 50);
    }
    assert_int_equal(w->nodes[0].told, 40); /* each began and ended */
    world_free(w);
}

static void error_is_shown_and_mended(void **state)
{
    (void)state;
    struct world *w = world_create(START);
    int64_t job = world_put(w, DOCUMENT_JOB, "j",
                            "{\"triggers\":[{\"every\":\"1s\",\"align\":true,\"calendar\":\"cal\"}]," URL_STEP "}");
    (void)world_start(w, 0, true);
    world_run(w, 3000);
    assert_int_equal(world_runs(w, job, NULL, -1), 0);
    assert_int_equal(w->states.count, 1);
    assert_non_null(w->states.items[0].error);
    (void)world_put(w, DOCUMENT_CALENDAR, "cal", "{\"exclude\":{\"weekly\":[\"MON\"]}}");
    world_run(w, 3000);
    assert_null(w->states.items[0].error);
    assert_true(world_runs(w, job, NULL, -1) >= 3);
    world_free(w);
}

static void jitter_and_max_fires(void **state)
{
    (void)state;
    struct world *w = world_create(START);
    int64_t job =
        world_put(w, DOCUMENT_JOB, "j",
                  "{\"triggers\":[{\"every\":\"2s\",\"align\":true,\"jitter\":\"1s\",\"max_fires\":3}]," URL_STEP "}");
    (void)world_start(w, 0, true);
    world_run(w, 20000);
    assert_int_equal(world_runs(w, job, NULL, RUN_SUCCEEDED), 3);
    for (size_t i = 0; i < w->runs.count; i++) {
        span shift = instant_sub(w->runs.items[i].due_at, w->runs.items[i].scheduled_at);
        assert_true(shift >= 0 && shift <= 1000);
        assert_true(instant_cmp(w->calls.items[i]->at, w->runs.items[i].due_at) >= 0);
    }
    world_free(w);
}

static void whole_run_retried(void **state)
{
    (void)state;
    struct world *w = world_create(START);
    w->script = fails;
    int64_t job = world_put(
        w, DOCUMENT_JOB, "j",
        "{\"triggers\":[{\"at\":\"2026-03-01T00:00:02Z\"}],\"retry\":{\"max\":2,\"delay\":\"1s\"}," URL_STEP "}");
    (void)world_start(w, 0, true);
    world_run(w, 10000);
    assert_int_equal(world_runs(w, job, NULL, RUN_FAILED), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(w->runs.items[i].generation, i);
        assert_int_equal(w->runs.items[i].retry_no, i);
        assert_int_equal(w->runs.items[i].scheduled_at.ms, world_instant("2026-03-01T00:00:02Z").ms);
    }
    world_free(w);
}

static void suspended_after_failures(void **state)
{
    (void)state;
    struct world *w = world_create(START);
    w->script = fails;
    int64_t job =
        world_put(w, DOCUMENT_JOB, "j",
                  "{\"triggers\":[{\"every\":\"1s\",\"align\":true}],\"max_consecutive_failures\":3," URL_STEP "}");
    (void)world_start(w, 0, true);
    world_run(w, 10000);
    assert_int_equal(world_runs(w, job, NULL, -1), 3);
    assert_int_equal(w->suspended.count, 1);
    world_free(w);
}

static void requests(void **state)
{
    (void)state;
    struct world *w = world_create(START);
    call_time = 2000;
    w->script = takes;
    int64_t job = world_put(w, DOCUMENT_JOB, "j", "{\"triggers\":[],\"params\":{\"a\":1}," URL_STEP "}");
    (void)world_start(w, 0, true);
    world_run(w, 1000);
    int32_t day = day_of(w->now.wall);
    struct request_row row = {.kind = REQUEST_RUN, .job = job, .scheduled_at = INSTANT_NONE, .params = "{\"b\":2}"};
    row.id = run_id_make(day, 77, 1);
    (void)world_request(w, &row);
    world_run(w, 500);
    assert_int_equal(w->runs.count, 1);
    assert_int_equal(w->runs.items[0].id, row.id);
    assert_string_equal(w->runs.items[0].params, "{\"b\":2}");
    assert_string_equal(w->requests.items[0].outcome, "run");
    row.id = run_id_make(day, 77, 2); /* busy */
    (void)world_request(w, &row);
    row.kind = REQUEST_ENQUEUE;
    row.id = run_id_make(day, 77, 3);
    (void)world_request(w, &row);
    int64_t third = row.id;
    row.id = run_id_make(day, 77, 4);
    (void)world_request(w, &row);
    (void)world_request(w, &(struct request_row){.id = 4, .kind = REQUEST_CANCEL, .job = job, .run = row.id});
    world_run(w, 1000);
    assert_string_equal(w->requests.items[1].outcome, "conflict");
    assert_int_equal(w->runs.count, 3);
    world_run(w, 6000);
    assert_int_equal(world_runs(w, job, NULL, RUN_SUCCEEDED), 2);
    assert_int_equal(world_runs(w, job, NULL, RUN_CANCELED), 1);
    for (size_t i = 0; i < 3; i++)
        if (w->runs.items[i].id == third)
            assert_int_equal(w->runs.items[i].state, RUN_SUCCEEDED);
    for (size_t i = 0; i < w->requests.count; i++)
        assert_non_null(w->requests.items[i].outcome);
    /* a running one */
    row.id = run_id_make(day, 77, 5);
    (void)world_request(w, &row);
    world_run(w, 1000);
    (void)world_request(w, &(struct request_row){.id = 9, .kind = REQUEST_CANCEL, .job = job, .run = row.id});
    world_run(w, 700);
    assert_int_equal(world_runs(w, job, NULL, RUN_CANCELED), 2);
    world_free(w);
}

static int refuse_first(struct world *w, struct world_call *call)
{
    (void)w;
    if (strstr(call->url, "h1:1"))
        call->end = DISPATCH_NOT_SENT;
    return 5;
}

static void dead_instance_is_set_aside(void **state)
{
    (void)state;
    struct world *w = world_create(START);
    w->script = refuse_first;
    (void)world_put(w, DOCUMENT_APPLICATION, "shop",
                    "{\"instances\":[\"h1:1\",\"h2:1\"],\"tasks\":[{\"name\":\"t\",\"path\":\"/t\"}]}");
    int64_t job = world_put(
        w, DOCUMENT_JOB, "j",
        "{\"triggers\":[{\"every\":\"1s\",\"align\":true}],\"graph\":[{\"step\":\"s\",\"task\":\"shop/t\"}]}");
    (void)world_start(w, 0, true);
    world_run(w, 20000);
    assert_int_equal(world_runs(w, job, NULL, RUN_SUCCEEDED), 20);
    size_t refused = 0;
    for (size_t i = 0; i < w->calls.count; i++)
        refused += w->calls.items[i]->end == DISPATCH_NOT_SENT;
    assert_true(refused >= 2 && refused <= 6); /* probes: 1, 2, 4, 8 s apart */
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overlap),
        cmocka_unit_test(one_may_wait),
        cmocka_unit_test(pause_and_resume),
        cmocka_unit_test(delay_counts_from_the_end),
        cmocka_unit_test(edit_rules_within_a_second),
        cmocka_unit_test(edit_while_down),
        cmocka_unit_test(shorter_delay_goes_on),
        cmocka_unit_test(clock_far_off),
        cmocka_unit_test(error_is_shown_and_mended),
        cmocka_unit_test(jitter_and_max_fires),
        cmocka_unit_test(whole_run_retried),
        cmocka_unit_test(suspended_after_failures),
        cmocka_unit_test(requests),
        cmocka_unit_test(dead_instance_is_set_aside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
