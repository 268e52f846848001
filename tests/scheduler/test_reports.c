/* Calls that were accepted end by a report: before the 202, after a take-over, once. */
#include "tests/scheduler/check.h"

#define START "2026-03-01T00:00:00.300Z"
#define JOB                                                                                                       \
    "{\"triggers\":[{\"at\":\"2026-03-01T00:00:01Z\"}],\"graph\":[{\"step\":\"long\",\"timeout\":\"1h\",\"url\":" \
    "\"http://127.0.0.1:9000/long\"},{\"step\":\"next\",\"url\":\"http://127.0.0.1:9000/next\",\"params\":"       \
    "{\"rows\":\"${steps.long.result.rows}\"},\"after\":[\"long\"]}]}"

static int accept_long(struct world *w, struct world_call *call)
{
    (void)w;
    if (strcmp(call->step, "long") != 0)
        return 5;
    call->http_status = 202;
    (void)snprintf(call->answer, sizeof call->answer, "{\"status\":\"accepted\"}");
    return 5;
}

static int accept_late(struct world *w, struct world_call *call)
{
    return accept_long(w, call) + (strcmp(call->step, "long") == 0 ? 5000 : 0);
}

static struct world *begin(int (*script)(struct world *, struct world_call *), int64_t *ret_job)
{
    struct world *w = world_create(START);
    w->script = script;
    *ret_job = world_put(w, DOCUMENT_JOB, "j", JOB);
    (void)world_start(w, 0, true);
    world_run(w, 2000);
    assert_int_equal(world_sent(w, "long"), 1);
    return w;
}

static void taken(const struct world *w, size_t report, const char *outcome)
{
    assert_non_null(w->reports.items[report].outcome);
    assert_string_equal(w->reports.items[report].outcome, outcome);
    assert_int_equal(w->reports.items[report].closed, 1);
}

static void after_the_202(void **state)
{
    (void)state;
    int64_t job;
    struct world *w = begin(accept_long, &job);
    world_run(w, 60000);
    assert_int_equal(world_runs(w, job, NULL, RUN_RUNNING), 1);
    size_t report = world_report(w, w->calls.items[0], REPORT_SUCCEEDED, "{\"rows\":5}");
    world_run(w, 1000);
    taken(w, report, REPORT_OUTCOME_TAKEN);
    assert_int_equal(world_runs(w, job, NULL, RUN_SUCCEEDED), 1);
    assert_string_equal(w->calls.items[1]->body, "{\"rows\":5}");
    world_free(w);
}

/* The answer comes when all is over; it says nothing new. */
static void before_the_202(void **state)
{
    (void)state;
    int64_t job;
    struct world *w = begin(accept_late, &job);
    size_t report = world_report(w, w->calls.items[0], REPORT_SUCCEEDED, "{\"rows\":5}");
    world_run(w, 1000);
    taken(w, report, REPORT_OUTCOME_TAKEN);
    assert_int_equal(world_runs(w, job, NULL, RUN_SUCCEEDED), 1);
    world_run(w, 10000);
    assert_int_equal(world_sent(w, "long"), 1);
    for (size_t i = 0; i < w->attempts.count; i++)
        assert_int_equal(w->attempts.items[i].class, CALL_SUCCESS);
    world_free(w);
}

static void after_a_take_over(void **state)
{
    (void)state;
    int64_t job;
    struct world *w = begin(accept_long, &job);
    world_kill(w, 0, 0);
    world_run(w, 3000);
    size_t report = world_report(w, w->calls.items[0], REPORT_SUCCEEDED, "{\"rows\":5}");
    (void)world_start(w, 0, true);
    world_run(w, 5000);
    taken(w, report, REPORT_OUTCOME_TAKEN);
    assert_int_equal(world_runs(w, job, NULL, RUN_SUCCEEDED), 1);
    assert_int_equal(world_sent(w, "long"), 1);
    world_free(w);
}

/* Killed before the 202 was stored: the call is repeated under its key, and a report of the first is one of the second.
 */
static void of_an_earlier_call_of_the_key(void **state)
{
    (void)state;
    int64_t job;
    struct world *w = begin(accept_late, &job);
    world_kill(w, 0, 0);
    (void)world_start(w, 0, true);
    world_run(w, 3000);
    assert_int_equal(world_sent(w, "long"), 2);
    assert_string_equal(w->calls.items[0]->key, w->calls.items[1]->key);
    size_t report = world_report(w, w->calls.items[0], REPORT_SUCCEEDED, "{\"rows\":5}");
    world_run(w, 10000);
    taken(w, report, REPORT_OUTCOME_TAKEN);
    assert_int_equal(world_runs(w, job, NULL, RUN_SUCCEEDED), 1);
    world_free(w);
}

static void failure_and_delay(void **state)
{
    (void)state;
    int64_t job;
    struct world *w = begin(accept_long, &job);
    size_t delay = world_report(w, w->calls.items[0], REPORT_DELAY, NULL);
    w->reports.items[delay].row.until = instant_add(w->now.wall, 20000);
    world_run(w, 15000);
    taken(w, delay, REPORT_OUTCOME_TAKEN);
    assert_int_equal(world_sent(w, "long"), 1);
    world_run(w, 10000);
    assert_int_equal(world_sent(w, "long"), 2);
    assert_string_not_equal(w->calls.items[0]->key, w->calls.items[1]->key);
    size_t failure = world_report(w, w->calls.items[1], REPORT_FAILED, NULL);
    w->reports.items[failure].row.code = "LEDGER_7";
    world_run(w, 1000);
    taken(w, failure, REPORT_OUTCOME_TAKEN);
    assert_int_equal(world_runs(w, job, NULL, RUN_FAILED), 1);
    assert_string_equal(w->runs.items[0].error_code, "LEDGER_7");
    world_free(w);
}

/* Of an earlier key, of a run that has ended: closed, and of no effect. */
static void too_late(void **state)
{
    (void)state;
    int64_t job;
    struct world *w = begin(accept_long, &job);
    (void)world_report(w, w->calls.items[0], REPORT_DELAY, NULL);
    world_run(w, 5000);
    assert_int_equal(world_sent(w, "long"), 2);
    size_t old = world_report(w, w->calls.items[0], REPORT_SUCCEEDED, "{\"rows\":1}");
    world_run(w, 1000);
    taken(w, old, REPORT_OUTCOME_STALE);
    assert_int_equal(world_runs(w, job, NULL, RUN_RUNNING), 1);
    (void)world_report(w, w->calls.items[1], REPORT_SUCCEEDED, "{\"rows\":2}");
    world_run(w, 1000);
    assert_int_equal(world_runs(w, job, NULL, RUN_SUCCEEDED), 1);
    size_t late = world_report(w, w->calls.items[1], REPORT_FAILED, NULL);
    world_run(w, 1000);
    taken(w, late, REPORT_OUTCOME_STALE);
    assert_int_equal(world_runs(w, job, NULL, RUN_SUCCEEDED), 1);
    world_free(w);
}

/* The store shows it again and again while its batch cannot be written: it counts once. */
static void store_away_meanwhile(void **state)
{
    (void)state;
    int64_t job;
    struct world *w = begin(accept_long, &job);
    w->fail_batches = 4;
    w->fail_status = STATUS_UNAVAILABLE;
    size_t report = world_report(w, w->calls.items[0], REPORT_SUCCEEDED, "{\"rows\":5}");
    world_run(w, 10000);
    taken(w, report, REPORT_OUTCOME_TAKEN);
    assert_int_equal(world_runs(w, job, NULL, RUN_SUCCEEDED), 1);
    assert_int_equal(world_sent(w, "next"), 1);
    world_free(w);
}

static enum call_class class_of_first(const struct world *w)
{
    for (size_t i = 0; i < w->attempts.count; i++)
        if (strcmp(w->attempts.items[i].step, "long") == 0 && w->attempts.items[i].n == 1)
            return w->attempts.items[i].class;
    return CALL_NONE;
}

/* One that promises the next sign of life and breaks it ends; one that keeps it goes on, whatever time it takes. */
static void silence(void **state)
{
    (void)state;
    int64_t job;
    struct world *w = begin(accept_long, &job);
    for (int i = 0; i < 20; i++) {
        world_beat(w, w->calls.items[0], 30000);
        world_run(w, 20000);
    }
    assert_int_equal(world_runs(w, job, NULL, RUN_RUNNING), 1);
    world_run(w, 6000);
    assert_int_equal(world_runs(w, job, NULL, RUN_RUNNING), 1);
    world_run(w, 10000);
    assert_int_equal(class_of_first(w), CALL_HEARTBEAT);
    assert_int_equal(world_runs(w, job, NULL, RUN_FAILED), 1);
    world_free(w);
}

/* A promise is known to the next owner, too, who grants a full period. */
static void silence_after_a_take_over(void **state)
{
    (void)state;
    int64_t job;
    struct world *w = begin(accept_long, &job);
    world_beat(w, w->calls.items[0], 30000);
    world_run(w, 20000);
    world_kill(w, 0, 0);
    world_run(w, 20000);
    (void)world_start(w, 0, true);
    world_run(w, 20000);
    assert_int_equal(world_runs(w, job, NULL, RUN_RUNNING), 1);
    world_run(w, 30000);
    assert_int_equal(class_of_first(w), CALL_HEARTBEAT);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_the_202),
        cmocka_unit_test(before_the_202),
        cmocka_unit_test(after_a_take_over),
        cmocka_unit_test(of_an_earlier_call_of_the_key),
        cmocka_unit_test(failure_and_delay),
        cmocka_unit_test(too_late),
        cmocka_unit_test(store_away_meanwhile),
        cmocka_unit_test(silence),
        cmocka_unit_test(silence_after_a_take_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
