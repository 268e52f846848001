/* Executors that accepted a call are told when nobody waits for it any more: at the place that they named, twice at
 * most, by whoever drives the run now, and never while the same key may be called again. */
#include "tests/scheduler/check.h"

#define START "2026-03-01T00:00:00.300Z"
#define JOB(more)                                                                                                 \
    "{\"triggers\":[{\"at\":\"2026-03-01T00:00:01Z\"}],\"graph\":[{\"step\":\"long\",\"timeout\":\"1h\",\"url\":" \
    "\"http://127.0.0.1:9000/task/long?day=1\"" more "}]}"

static const char *location = "/calls/7"; /* of the answer; "": none */
static int told_status = 202;             /* of a notice; 0: no connection */
static int told_ms = 5;

static bool is_notice(const struct world_call *call)
{
    return strcmp(call->method, "DELETE") == 0 || strstr(call->url, "/cancel") != NULL;
}

static int executor(struct world *w, struct world_call *call)
{
    (void)w;
    if (is_notice(call)) {
        call->end = told_status ? DISPATCH_ANSWERED : DISPATCH_NOT_SENT;
        call->http_status = told_status;
        return told_ms;
    }
    call->http_status = 202;
    (void)snprintf(call->answer, sizeof call->answer, "{\"status\":\"accepted\"}");
    (void)snprintf(call->location, sizeof call->location, "%s", location);
    return 5;
}

static struct world *begin(const char *document, int64_t *ret_job)
{
    struct world *w = world_create(START);
    location = "/calls/7";
    told_status = 202;
    told_ms = 5;
    w->script = executor;
    *ret_job = world_put(w, DOCUMENT_JOB, "j", document);
    (void)world_start(w, 0, true);
    return w;
}

static size_t notices(const struct world *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->calls.count; i++)
        n += is_notice(w->calls.items[i]);
    return n;
}

static const struct world_call *last(const struct world *w)
{
    return w->calls.items[w->calls.count - 1];
}

static enum notice_state state_of(const struct world *w, int32_t n)
{
    for (size_t i = 0; i < w->attempts.count; i++)
        if (w->attempts.items[i].n == n)
            return w->attempts.items[i].notice;
    fail_msg("there is no attempt %d", (int)n);
    return NOTICE_NONE;
}

static void cancel(struct world *w, int64_t job)
{
    (void)world_request(w,
                        &(struct request_row){.id = 9, .kind = REQUEST_CANCEL, .job = job, .run = w->runs.items[0].id});
    world_run(w, 600);
    assert_int_equal(world_runs(w, job, NULL, RUN_CANCELED), 1); /* whatever becomes of the notice */
}

static void a_canceled_run(void **state)
{
    (void)state;
    int64_t job;
    struct world *w = begin(JOB(""), &job);
    world_run(w, 3000);
    cancel(w, job);
    assert_int_equal(notices(w), 1);
    assert_string_equal(last(w)->method, "DELETE");
    assert_string_equal(last(w)->url, "http://127.0.0.1:9000/calls/7");
    assert_string_equal(last(w)->key, w->calls.items[0]->key);
    assert_string_equal(last(w)->run, w->calls.items[0]->run);
    assert_string_equal(last(w)->step, "long");
    world_run(w, 60000);
    assert_int_equal(state_of(w, 1), NOTICE_TOLD);
    assert_int_equal(notices(w), 1);
    assert_int_equal(w->lingers.count, 1);
    assert_null(w->lingers.items[0].notice_to);
    world_free(w);
}

/* Each Location and what it means beside http://127.0.0.1:9000/task/long?day=1. */
static void where_it_goes(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"/calls/7", "http://127.0.0.1:9000/calls/7"},
        {"calls/7?x=1", "http://127.0.0.1:9000/task/calls/7?x=1"},
        {"http://127.0.0.1:9000/calls/7", "http://127.0.0.1:9000/calls/7"},
        {"http://127.0.0.1:9001/calls/7", NULL}, /* another's port, host, scheme */
        {"http://127.0.0.1:9000@example.com/calls/7", NULL},
        {"https://127.0.0.1:9000/calls/7", NULL},
        {"//example.com/calls/7", NULL},
        {"/calls/7 8", NULL},
        {"/calls/7\nX-Header: 1", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t job;
        struct world *w = begin(JOB(",\"async\":true"), &job);
        location = cases[i][0];
        world_run(w, 3000);
        cancel(w, job);
        assert_int_equal(notices(w), cases[i][1] ? 1 : 0);
        assert_int_equal(state_of(w, 1), cases[i][1] ? NOTICE_TOLD : NOTICE_NONE);
        if (cases[i][1])
            assert_string_equal(last(w)->url, cases[i][1]);
        world_free(w);
    }
}

/* Without a Location, where the task says that it can be canceled. */
static void at_the_task(void **state)
{
    (void)state;
    int64_t job;
    struct world *w = begin(JOB(",\"cancel\":true"), &job);
    location = "";
    world_run(w, 3000);
    cancel(w, job);
    assert_int_equal(notices(w), 1);
    assert_string_equal(last(w)->method, "POST");
    assert_string_equal(last(w)->url, "http://127.0.0.1:9000/task/long/cancel");
    assert_string_equal(last(w)->body, "{}");
    assert_int_equal(state_of(w, 1), NOTICE_TOLD);
    world_free(w);
}

static void nobody_there(void **state)
{
    (void)state;
    int64_t job;
    struct world *w = begin(JOB(""), &job);
    world_run(w, 3000);
    told_status = 0;
    cancel(w, job);
    assert_int_equal(state_of(w, 1), NOTICE_DUE);
    world_run(w, 600000);
    assert_int_equal(notices(w), 2);
    assert_int_equal(state_of(w, 1), NOTICE_UNREACHED);
    world_free(w);

    w = begin(JOB(""), &job); /* it does not know the call: nothing to stop, and no second try */
    world_run(w, 3000);
    told_status = 404;
    cancel(w, job);
    world_run(w, 60000);
    assert_int_equal(notices(w), 1);
    assert_int_equal(state_of(w, 1), NOTICE_TOLD);
    world_free(w);
}

/* What has timed out is asked again under its key: until that is over, the work is wanted. */
static void a_time_out(void **state)
{
    (void)state;
    int64_t job;
    struct world *w =
        begin("{\"triggers\":[{\"at\":\"2026-03-01T00:00:01Z\"}],\"graph\":[{\"step\":\"long\",\"timeout\":\"10s\","
              "\"url\":\"http://127.0.0.1:9000/long\",\"retry\":{\"max\":1,\"delay\":\"5s\"}}]}",
              &job);
    world_run(w, 13000);
    assert_int_equal(world_runs(w, job, NULL, RUN_RUNNING), 1);
    assert_int_equal(notices(w), 0);
    world_run(w, 30000);
    assert_int_equal(world_runs(w, job, NULL, RUN_FAILED), 1);
    assert_int_equal(world_sent(w, "long"), 3); /* two calls of one key, one notice */
    assert_string_equal(w->calls.items[0]->key, w->calls.items[1]->key);
    assert_int_equal(notices(w), 1);
    assert_int_equal(state_of(w, 2), NOTICE_TOLD);
    world_free(w);
}

static void what_was_reported(void **state)
{
    (void)state;
    int64_t job;
    struct world *w = begin(JOB(",\"cancel\":true"), &job);
    world_run(w, 3000);
    (void)world_report(w, w->calls.items[0], REPORT_SUCCEEDED, NULL);
    world_run(w, 10000);
    assert_int_equal(world_runs(w, job, NULL, RUN_SUCCEEDED), 1);
    assert_int_equal(notices(w), 0);
    world_free(w);
}

/* Killed between the 202 and the cancel. */
static void by_the_next_owner(void **state)
{
    (void)state;
    int64_t job;
    struct world *w = begin(JOB(""), &job);
    world_run(w, 3000);
    world_kill(w, 0, 0);
    (void)world_start(w, 0, true);
    world_run(w, 5000);
    cancel(w, job);
    assert_int_equal(notices(w), 1);
    assert_int_equal(state_of(w, 1), NOTICE_TOLD);
    world_free(w);
}

/* Killed when the end has committed and the executor has not answered: of a run that has ended, and of one that goes
 * on. */
static void killed_while_telling(void **state)
{
    (void)state;
    int64_t job;
    struct world *w = begin(JOB(""), &job);
    world_run(w, 3000);
    told_ms = 4000;
    cancel(w, job);
    assert_int_equal(notices(w), 1);
    world_kill(w, 0, 0);
    told_ms = 5;
    (void)world_start(w, 0, true);
    world_run(w, 5000);
    assert_int_equal(notices(w), 2);
    assert_int_equal(state_of(w, 1), NOTICE_TOLD);
    assert_null(w->lingers.items[0].notice_to);
    world_free(w);

    w = begin(
        "{\"triggers\":[{\"at\":\"2026-03-01T00:00:01Z\"}],\"graph\":[{\"step\":\"long\",\"timeout\":\"3s\","
        "\"url\":\"http://127.0.0.1:9000/long\",\"on_failure\":\"ignore\"},{\"step\":\"other\",\"timeout\":\"1h\","
        "\"url\":\"http://127.0.0.1:9000/other\"}]}",
        &job);
    told_ms = 4000;
    world_run(w, 5500);
    assert_int_equal(notices(w), 1);
    world_kill(w, 0, 0);
    told_ms = 5;
    (void)world_start(w, 0, true);
    world_run(w, 5000);
    assert_int_equal(notices(w), 2);
    assert_int_equal(world_runs(w, job, NULL, RUN_RUNNING), 1);
    assert_int_equal(state_of(w, 1), NOTICE_TOLD);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_canceled_run),    cmocka_unit_test(where_it_goes),
        cmocka_unit_test(at_the_task),       cmocka_unit_test(nobody_there),
        cmocka_unit_test(a_time_out),        cmocka_unit_test(what_was_reported),
        cmocka_unit_test(by_the_next_owner), cmocka_unit_test(killed_while_telling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
