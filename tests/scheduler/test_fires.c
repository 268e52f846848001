/* Fires on time, one step and graphs, standalone. */
#include "tests/scheduler/check.h"

#define URL_STEP "\"graph\":[{\"step\":\"ping\",\"url\":\"http://127.0.0.1:9000/ping\"}]"

static void every_second_on_time(void **state)
{
    (void)state;
    struct world *w = world_create("2026-03-01T00:00:00.300Z");
    int64_t job = world_put(w, DOCUMENT_JOB, "tick", "{\"triggers\":[{\"every\":\"1s\",\"align\":true}]," URL_STEP "}");
    struct scheduler *s = world_start(w, 0, true);
    world_run(w, 10000);
    assert_int_equal(world_runs(w, job, NULL, RUN_SUCCEEDED), 10);
    assert_int_equal(world_sent(w, "ping"), 10);
    assert_int_equal(w->runs.count, 10);
    assert_int_equal(w->activations.count, 1);
    assert_int_equal(w->skips.count, 0);
    const struct run_row *row = world_run_at(w, job, world_instant("2026-03-01T00:00:05Z"));
    assert_non_null(row);
    assert_int_equal(row->origin, ORIGIN_SCHEDULE);
    assert_true(instant_sub(row->fired_at, row->scheduled_at) <= 2);
    assert_int_equal(scheduler_metrics(s)->fires, 10);
    assert_int_equal(scheduler_metrics(s)->runs_open, 0);
    assert_true(scheduler_ready(s, NULL));
    world_free(w);
}

static int results(struct world *w, struct world_call *call)
{
    (void)w;
    if (strcmp(call->step, "a") == 0)
        (void)strcpy(call->answer, "{\"status\":\"success\",\"result\":{\"rows\":12345678901234567890}}");
    return 20;
}

static void graph_in_order(void **state)
{
    (void)state;
    struct world *w = world_create("2026-03-01T00:00:00.300Z");
    w->script = results;
    (void)world_put(w, DOCUMENT_APPLICATION, "shop",
                    "{\"instances\":[\"h1:1\",\"h2:1\"],\"tasks\":[{\"name\":\"t\",\"path\":\"/t\"}]}");
    int64_t job = world_put(w, DOCUMENT_JOB, "graph",
                            "{\"triggers\":[{\"at\":\"2026-03-01T00:00:02Z\"}],\"graph\":["
                            "{\"step\":\"a\",\"task\":\"shop/t\"},{\"step\":\"b\",\"task\":\"shop/t\"},"
                            "{\"step\":\"c\",\"task\":\"shop/t\",\"after\":[\"a\",\"b\"],"
                            "\"params\":{\"rows\":\"${steps.a.result.rows}\"}}]}");
    (void)world_start(w, 0, true);
    world_run(w, 4000);
    assert_int_equal(world_runs(w, job, NULL, RUN_SUCCEEDED), 1);
    assert_int_equal(w->calls.count, 3);
    assert_string_equal(w->calls.items[2]->step, "c");
    assert_string_equal(w->calls.items[2]->body, "{\"rows\":12345678901234567890}");
    assert_true(instant_sub(w->calls.items[2]->at, w->calls.items[0]->at) >= 20);
    world_free(w);
}

static void stampede_drains(void **state)
{
    (void)state;
    struct world *w = world_create("2026-03-01T00:00:00.300Z");
    int64_t first = 0;
    for (int i = 0; i < 1500; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "j%d", i);
        int64_t id =
            world_put(w, DOCUMENT_JOB, name, "{\"triggers\":[{\"at\":\"2026-03-01T00:00:02Z\"}]," URL_STEP "}");
        first = first ? first : id;
    }
    w->settings.dispatch.max_per_instance = 100;
    struct scheduler *s = world_start(w, 0, true);
    world_run(w, 8000);
    assert_int_equal(w->runs.count, 1500);
    for (int i = 0; i < 1500; i++)
        assert_int_equal(world_runs(w, first + i, NULL, RUN_SUCCEEDED), 1);
    assert_int_equal(w->calls.count, 1500);
    assert_int_equal(scheduler_metrics(s)->runs_open, 0);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_second_on_time),
        cmocka_unit_test(graph_in_order),
        cmocka_unit_test(stampede_drains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
