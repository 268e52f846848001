/* Runs as an owner leaves them in the store: waiting for one, refusal, detail with attempts and bodies, filters,
 * ledger. The test itself is the owner: it takes the slots, polls requests and commits batches. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/mem.h"
#include "tests/orchestrator/fixture.h"

static int64_t batch_number;

static instant clock_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (instant){(int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000};
}

static void must(struct api *api, struct store_op *op)
{
    if (store_execute(api->store, op) != STATUS_OK)
        fail_msg("%s: %s", store_op_name(op->kind), op->error.text);
}

static void make_job(struct api *api)
{
    api_shop(api);
    EXPECT(
        api, 201, "PUT", "/api/v1/projects/shop/jobs/j",
        "{\"spec\":{\"triggers\":[{\"name\":\"t\",\"cron\":\"0 2 * * *\"}],\"params\":{\"a\":1},"
        "\"graph\":[{\"step\":\"one\",\"task\":\"ledger/extract\"},{\"step\":\"two\",\"task\":\"ledger/post\",\"after\":[\"one\"]}]}}");
}

/* Become the owner of the job's slot. */
static void own(struct api *api, struct definition_row *ret)
{
    struct store_op op;
    const char *name = "j";
    store_op_init(&op, STORE_LIST);
    op.list.kind = DOCUMENT_JOB;
    op.list.project = "shop";
    op.list.names = &name;
    op.list.name_count = 1;
    op.list.limit = 1;
    must(api, &op);
    *ret = op.list.rows[0];
    store_op_release(&op);
    struct slot_take take = {.slot = ret->slot, .generation = 1, .czxid = 1};
    store_op_init(&op, STORE_SLOTS_TAKE);
    op.slots_take.boot = api->boot;
    op.slots_take.takes = &take;
    op.slots_take.count = 1;
    must(api, &op);
    assert_true(take.taken);
    store_op_release(&op);
}

static void commit(struct api *api, struct store_batch batch)
{
    struct store_op op;
    store_op_init(&op, STORE_BATCH);
    op.batch = batch;
    op.batch.boot = api->boot;
    op.batch.number = ++batch_number;
    must(api, &op);
    store_op_release(&op);
}

static struct run_row new_run(struct api *api, const struct definition_row *job, int64_t id, const char *trigger,
                              instant at)
{
    return (struct run_row){.id = id,
                            .job = job->id,
                            .project = job->project_id,
                            .version = job->version,
                            .trigger = trigger,
                            .scheduled_at = at,
                            .due_at = at,
                            .fired_at = clock_now(),
                            .started_at = clock_now(),
                            .ended_at = INSTANT_NONE,
                            .state = RUN_RUNNING,
                            .origin = ORIGIN_SCHEDULE,
                            .slot = job->slot,
                            .boot = api->boot,
                            .node = "test",
                            .zone = "Asia/Shanghai"};
}

static void fire(struct api *api, const struct run_row *run)
{
    struct store_fire fire = {.run = *run};
    commit(api, (struct store_batch){.fires = &fire, .fire_count = 1});
    assert_int_equal(fire.outcome, OUTCOME_DONE);
}

static void end(struct api *api, struct run_row *run, enum run_state state, const char *code, const char *args)
{
    run->state = state;
    run->ended_at = clock_now();
    run->error_code = code;
    run->error_args = args;
    commit(api, (struct store_batch){.runs = run, .run_count = 1});
}

/* ---- waiting ---- */

struct caller {
    struct api *api;
    const char *path;
    struct answer answer;
};

static void *call_run(void *context)
{
    struct caller *caller = context;
    caller->answer = api_call(caller->api, "POST", caller->path, "{\"params\":{\"x\":18446744073709551616}}");
    return NULL;
}

/* The one open request, as the owner sees it. */
static int64_t await_request(struct api *api, char *ret_params, size_t size)
{
    for (int i = 0; i < 300; i++) {
        struct store_op op;
        struct timespec pause = {0, 10 * 1000000};
        int64_t id = 0;
        store_op_init(&op, STORE_POLL);
        op.poll.boot = api->boot;
        op.poll.since = -1;
        op.poll.limit = 100;
        must(api, &op);
        for (size_t k = 0; k < op.poll.request_count; k++)
            if (op.poll.requests[k].kind == REQUEST_RUN) {
                id = op.poll.requests[k].id;
                (void)snprintf(ret_params, size, "%s", op.poll.requests[k].params);
            }
        store_op_release(&op);
        if (id)
            return id;
        (void)nanosleep(&pause, NULL);
    }
    fail_msg("no request came");
    return 0;
}

static void test_wait(void **state)
{
    struct api *api = *state;
    struct definition_row job;
    struct caller caller = {.api = api, .path = "/api/v1/projects/shop/jobs/j/run?wait=20s"};
    pthread_t thread;
    char params[64], trigger[40];
    make_job(api);
    own(api, &job);
    assert_int_equal(pthread_create(&thread, NULL, call_run, &caller), 0);
    int64_t id = await_request(api, params, sizeof params);
    assert_string_equal(params, "{\"x\":18446744073709551616}");
    (void)snprintf(trigger, sizeof trigger, "manual-%lld", (long long)id);
    struct run_row run = new_run(api, &job, id, trigger, clock_now());
    run.origin = ORIGIN_MANUAL;
    run.params = params;
    struct store_fire row = {.run = run};
    struct request_done done = {id, "run"};
    commit(api, (struct store_batch){.fires = &row, .fire_count = 1, .requests = &done, .request_count = 1});
    end(api, &run, RUN_FAILED, "APP_7", NULL);
    (void)pthread_join(thread, NULL);
    struct answer a = caller.answer;
    assert_int_equal(a.status, 200);
    assert_string_equal(answer_text(&a, "state"), "failed");
    assert_string_equal(answer_text(&a, "detail.error.code"), "APP_7");
    assert_true(cJSON_IsNull(answer_at(&a, "detail.error.message")));
    answer_release(&a);
}

static void test_refused_by_owner(void **state)
{
    struct api *api = *state;
    struct definition_row job;
    struct caller caller = {.api = api, .path = "/api/v1/projects/shop/jobs/j/run"};
    pthread_t thread;
    char params[64];
    make_job(api);
    own(api, &job);
    assert_int_equal(pthread_create(&thread, NULL, call_run, &caller), 0);
    struct request_done done = {await_request(api, params, sizeof params), "conflict"};
    commit(api, (struct store_batch){.requests = &done, .request_count = 1});
    (void)pthread_join(thread, NULL);
    assert_int_equal(caller.answer.status, 409);
    assert_string_equal(answer_text(&caller.answer, "error.code"), "SCHEDULING_CONFLICT_001");
    answer_release(&caller.answer);
    /* A run that is on its way makes the job busy at once. */
    struct run_row run = new_run(api, &job, run_id_make(day_of(clock_now()), 7, 1), "t", clock_now());
    fire(api, &run);
    REFUSED(api, 409, "SCHEDULING_CONFLICT_001", "POST", "/api/v1/projects/shop/jobs/j/run", NULL);
    EXPECT(api, 202, "POST", "/api/v1/projects/shop/jobs/j/enqueue", NULL);
}

/* ---- history ---- */

static void test_detail(void **state)
{
    struct api *api = *state;
    struct definition_row job;
    char path[128];
    make_job(api);
    own(api, &job);
    instant at = {1767225600000}; /* 2026-01-01T00:00:00Z */
    struct run_row run = new_run(api, &job, run_id_make(day_of(at), 7, 2), "t", at);
    fire(api, &run);
    struct attempt_row attempts[2] = {{.run = run.id,
                                       .step = "one",
                                       .n = 1,
                                       .key_try = 1,
                                       .seq = 1,
                                       .state = ATTEMPT_ENDED,
                                       .class = CALL_SUCCESS,
                                       .instance = "127.0.0.1:9001",
                                       .boot = api->boot,
                                       .node = "test",
                                       .started_at = at,
                                       .ended_at = at,
                                       .http_status = 200,
                                       .bytes_sent = 99,
                                       .connect_ms = 1,
                                       .first_byte_ms = 2,
                                       .total_ms = 3,
                                       .request = "{\"n\":12345678901234567890,\"北\":\"🎐\"}",
                                       .response = "{\"status\":\"success\"}",
                                       .result = "{\"rows\":98765432109876543210}",
                                       .retry_after = -1},
                                      {.run = run.id,
                                       .step = "two",
                                       .n = 1,
                                       .key_try = 1,
                                       .seq = 2,
                                       .state = ATTEMPT_ENDED,
                                       .class = CALL_HTTP_5XX,
                                       .instance = "127.0.0.1:9002",
                                       .boot = api->boot,
                                       .node = "test",
                                       .started_at = at,
                                       .ended_at = at,
                                       .http_status = 500,
                                       .error = "500 Internal Server Error",
                                       .connect_ms = -1,
                                       .first_byte_ms = -1,
                                       .total_ms = -1,
                                       .retry_after = -1}};
    struct step_row steps[2] = {{.run = run.id,
                                 .step = "one",
                                 .seq = 1,
                                 .state = STEP_SUCCEEDED,
                                 .due = INSTANT_NONE,
                                 .since = at,
                                 .result = "{\"rows\":98765432109876543210}"},
                                {.run = run.id,
                                 .step = "two",
                                 .seq = 2,
                                 .state = STEP_FAILED,
                                 .due = INSTANT_NONE,
                                 .since = at,
                                 .error = "500 Internal Server Error"}};
    run.state = RUN_FAILED;
    run.ended_at = clock_now();
    run.error_code = "SCHEDULING_TIMEOUT_001";
    run.error_args = "{\"step\":\"two\"}";
    commit(
        api,
        (struct store_batch){
            .runs = &run, .run_count = 1, .steps = steps, .step_count = 2, .attempts = attempts, .attempt_count = 2});
    (void)snprintf(path, sizeof path, "/api/v1/projects/shop/runs/%lld", (long long)run.id);
    struct answer a = api_call(api, "GET", path, NULL);
    if (a.status != 200)
        fail_msg("%d %s", a.status, a.text);
    assert_string_equal(answer_text(&a, "state"), "failed");
    assert_string_equal(answer_text(&a, "scheduled_at"), "2026-01-01T00:00:00.000Z");
    assert_string_equal(answer_text(&a, "zone"), "Asia/Shanghai");
    assert_string_equal(answer_text(&a, "error.code"), "SCHEDULING_TIMEOUT_001");
    assert_string_equal(answer_text(&a, "error.args.step"), "two");
    assert_string_equal(answer_text(&a, "error.message"), "The run passed its time limit.");
    assert_string_equal(answer_text(&a, "steps.0.step"), "one");
    assert_string_equal(answer_text(&a, "steps.0.attempts.0.class"), "success");
    assert_string_equal(answer_text(&a, "steps.0.attempts.0.request"), "{\"n\":12345678901234567890,\"北\":\"🎐\"}");
    assert_non_null(strstr(a.text, "\"result\":{\"rows\":98765432109876543210}"));
    assert_string_equal(answer_text(&a, "steps.1.attempts.0.error"), "500 Internal Server Error");
    assert_int_equal(answer_number(&a, "steps.1.attempts.0.http_status"), 500);
    char key[64];
    (void)snprintf(key, sizeof key, "%lld.two.0.1", (long long)run.id);
    assert_string_equal(answer_text(&a, "steps.1.attempts.0.idempotency_key"), key);
    answer_release(&a);
    static const char *const chinese[] = {"Accept-Language: zh-CN", NULL};
    a = api_call_as(api, api->admin, "GET", path, NULL, chinese);
    assert_string_equal(answer_text(&a, "error.message"), "运行超过了时间限制。");
    answer_release(&a);
    REFUSED(api, 404, "SCHEDULING_NOTFOUND_004", "GET", "/api/v1/projects/default/runs/1", NULL);
    (void)snprintf(path, sizeof path, "/api/v1/projects/default/runs/%lld", (long long)run.id);
    REFUSED(api, 404, "SCHEDULING_NOTFOUND_004", "GET", path, NULL); /* of another project */
    (void)snprintf(path, sizeof path, "/api/v1/projects/shop/runs/%lld/cancel", (long long)run.id);
    REFUSED(api, 404, "SCHEDULING_NOTFOUND_004", "POST", path, NULL); /* has ended */
}

static void count(struct api *api, int line, int expected, const char *query)
{
    char path[256];
    (void)snprintf(path, sizeof path, "/api/v1/projects/shop/runs?job=j&%s", query);
    struct answer a = api_call(api, "GET", path, NULL);
    if (a.status != 200 || answer_number(&a, "total") != expected)
        fail_msg("line %d: %s: %d %.300s", line, query, a.status, a.text);
    answer_release(&a);
    (void)snprintf(path, sizeof path, "/api/v1/projects/shop/runs:count?job=j&%s", query);
    a = api_call(api, "GET", path, NULL);
    assert_int_equal(answer_number(&a, "count"), expected);
    answer_release(&a);
}

static void test_filters_and_pages(void **state)
{
    struct api *api = *state;
    struct definition_row job;
    make_job(api);
    own(api, &job);
    for (int i = 0; i < 7; i++) {
        instant at = {1767225600000 + i / 2 * 60000}; /* in pairs of one instant */
        struct run_row run = new_run(api, &job, run_id_make(day_of(at), 7, (uint64_t)(10 + i)), i % 2 ? "t" : "u", at);
        fire(api, &run);
        if (i < 5)
            end(api, &run, i < 3 ? RUN_SUCCEEDED : RUN_FAILED, i < 3 ? NULL : "SCHEDULING_UNEXPECTED_001", NULL);
    }
    count(api, __LINE__, 7, "limit=100");
    count(api, __LINE__, 3, "state=succeeded");
    count(api, __LINE__, 4, "state=failed,running");
    count(api, __LINE__, 2, "has_error=true");
    count(api, __LINE__, 5, "has_error=false");
    count(api, __LINE__, 4, "trigger=u");
    count(api, __LINE__, 7, "origin=schedule");
    count(api, __LINE__, 0, "origin=manual");
    count(api, __LINE__, 7, "scheduler=test");
    count(api, __LINE__, 0, "scheduler=other");
    count(api, __LINE__, 2, "from=2026-01-01T00:01:00Z&to=2026-01-01T00:02:00Z"); /* from belongs to it, to does not */

    /* Walking by skip and by cursor gives each run once, newest first. */
    char seen[2][7][32], path[256], cursor[128] = "";
    for (int way = 0; way < 2; way++)
        for (int i = 0; i < 7; i++) {
            if (!way)
                (void)snprintf(path, sizeof path, "/api/v1/projects/shop/runs?limit=1&skip=%d", i);
            else
                (void)snprintf(path, sizeof path, "/api/v1/projects/shop/runs?limit=1&cursor=%s", cursor);
            struct answer a = api_call(api, "GET", path, NULL);
            assert_int_equal(answer_number(&a, "total"), 7);
            (void)snprintf(seen[way][i], sizeof seen[way][i], "%s", answer_text(&a, "items.0.id"));
            if (way && i < 6)
                (void)snprintf(cursor, sizeof cursor, "%s", answer_text(&a, "cursor"));
            answer_release(&a);
        }
    for (int i = 0; i < 7; i++) {
        assert_string_equal(seen[0][i], seen[1][i]);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(seen[0][i], seen[0][k]);
    }

    struct skip_row skip = {.job = job.id,
                            .trigger = "t",
                            .from = {1767226200000},
                            .to = {1767226260000},
                            .count = 2,
                            .reason = "quiet",
                            .slot = job.slot};
    struct store_skip skips = {.row = skip};
    commit(api, (struct store_batch){.skips = &skips, .skip_count = 1});
    struct answer a = api_call(api, "GET", "/api/v1/projects/shop/ledger?job=j&limit=1000", NULL);
    assert_int_equal(answer_number(&a, "total"), 8);
    assert_string_equal(answer_text(&a, "items.0.outcome"), "run");
    assert_string_equal(answer_text(&a, "items.7.outcome"), "skip");
    assert_string_equal(answer_text(&a, "items.7.reason"), "quiet");
    assert_int_equal(answer_number(&a, "items.7.count"), 2);
    assert_string_equal(answer_text(&a, "items.7.to"), "2026-01-01T00:11:00.000Z");
    answer_release(&a);
    a = api_call(api, "GET", "/api/v1/projects/shop/jobs/j/status", NULL);
    assert_int_equal(answer_number(&a, "running"), 2);
    assert_string_equal(answer_text(&a, "owner_node"), "test");
    assert_string_equal(answer_text(&a, "last_run.state"), "failed");
    answer_release(&a);
}

static int setup(void **state)
{
    batch_number = 0;
    return api_setup(state);
}

/* ---- reports ---- */

/* The address that a scheduler would give for this call of step one. */
static void callback(struct api *api, int64_t run, int key_try, char ret[256])
{
    char key[CALL_KEY_SIZE], token[SIGNATURE_SIZE];
    struct attempt_row attempt = {.run = run, .step = "one", .key_try = key_try};
    api->signer->token(api->signer, call_key_format(&attempt, key), token);
    (void)snprintf(ret, 256, "/api/v1/report/%lld/one/0/%d/%s", (long long)run, key_try, token);
}

static void expect_report(struct api *api, int line, const char *path, const char *body, int status, const char *word)
{
    struct answer a = api_call_as(api, NULL, "POST", path, body, NULL);
    if (a.status != status || !strstr(a.text, word))
        fail_msg("line %d: %d %s, not %d with %s", line, a.status, a.text, status, word);
    answer_release(&a);
}
#define REPORT(path, body, status, word) expect_report(api, __LINE__, (path), (body), (status), (word))

static size_t open_reports(struct api *api)
{
    struct store_op op;
    store_op_init(&op, STORE_POLL);
    op.poll.boot = api->boot;
    op.poll.since = -1;
    op.poll.limit = 100;
    must(api, &op);
    size_t count = op.poll.report_count;
    store_op_release(&op);
    return count;
}

static void accept_one(struct api *api, int64_t run)
{
    struct attempt_row row = {.run = run,
                              .step = "one",
                              .n = 1,
                              .key_try = 1,
                              .seq = 2,
                              .state = ATTEMPT_ACCEPTED,
                              .class = CALL_ACCEPTED,
                              .instance = "127.0.0.1:9001",
                              .boot = api->boot,
                              .node = "test",
                              .started_at = clock_now(),
                              .ended_at = INSTANT_NONE,
                              .http_status = 202,
                              .retry_after = -1};
    commit(api, (struct store_batch){.attempts = &row, .attempt_count = 1});
}

static void test_reports(void **state)
{
    struct api *api = *state;
    struct definition_row job;
    static const char head[] = "{\"state\":\"succeeded\",\"result\":\"";
    char path[256], other[256], big[70100];
    make_job(api);
    own(api, &job);
    instant at = clock_now();
    struct run_row run = new_run(api, &job, run_id_make(day_of(at), api->boot, 1), "t", at);
    fire(api, &run);
    accept_one(api, run.id);
    callback(api, run.id, 1, path);

    REPORT(path, "{\"state\":\"running\",\"progress\":40}", 200, "\"noted\",\"canceled\":false");
    static const struct {
        int line;
        const char *body, *word;
    } bad[] = {{__LINE__, "", "REQUEST_VALIDATION_001"},
               {__LINE__, "[]", "REQUEST_VALIDATION_001"},
               {__LINE__, "{\"state\":\"succeeded\",}", "REQUEST_VALIDATION_001"},
               {__LINE__, "{}", "running, succeeded, failed or delay"},
               {__LINE__, "{\"state\":\"done\"}", "running, succeeded, failed or delay"},
               {__LINE__, "{\"state\":1}", "must be a string"},
               {__LINE__, "{\"state\":\"running\",\"progress\":101}", "progress"},
               {__LINE__, "{\"state\":\"failed\",\"code\":7}", "code"},
               {__LINE__, "{\"state\":\"delay\",\"after\":\"soon\"}", "after"},
               {__LINE__, "{\"state\":\"delay\",\"until\":\"soon\"}", "until"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect_report(api, bad[i].line, path, bad[i].body, 400, bad[i].word);
    memset(big, 'x', sizeof big);
    memcpy(big, head, sizeof head - 1);
    memcpy(big + sizeof big - 3, "\"}", 3);
    REPORT(path, big, 413, "REQUEST_TOOLARGE_002");
    assert_int_equal(open_reports(api), 0);

    (void)snprintf(other, sizeof other, "%.*s", (int)strlen(path) - 1, path);
    REPORT(other, "{\"state\":\"succeeded\"}", 410, "SCHEDULING_NOTFOUND_005");
    callback(api, run.id + 1, 1, other); /* a right token of a run that is not there */
    REPORT(other, "{\"state\":\"succeeded\"}", 410, "SCHEDULING_NOTFOUND_005");
    REPORT(other, "{\"state\":\"running\"}", 410, "SCHEDULING_NOTFOUND_005");

    int pokes = api->pokes;
    REPORT(path, "{\"state\":\"succeeded\",\"result\":{ \"rows\": 5 }}", 200, "\"stored\"");
    REPORT(path, "{\"result\":{\"rows\":5},\"state\":\"succeeded\",\"progress\":100}", 200, "\"repeated\"");
    assert_true(api->pokes > pokes);
    REPORT(path, "{\"state\":\"failed\"}", 409, "SCHEDULING_CONFLICT_005");
    assert_int_equal(open_reports(api), 1);
}

/* Who reports about a canceled run is told so. */
static void test_report_of_canceled_run(void **state)
{
    struct api *api = *state;
    struct definition_row job;
    char path[256];
    make_job(api);
    own(api, &job);
    instant at = clock_now();
    struct run_row run = new_run(api, &job, run_id_make(day_of(at), api->boot, 1), "t", at);
    fire(api, &run);
    accept_one(api, run.id);
    callback(api, run.id, 1, path);
    run.cancel_requested = true;
    end(api, &run, RUN_CANCELED, "SCHEDULING_CONFLICT_003", NULL);
    REPORT(path, "{\"state\":\"running\"}", 200, "\"canceled\":true");
    REPORT(path, "{\"state\":\"succeeded\"}", 409, "\"canceled\":\"true\"");
    assert_int_equal(open_reports(api), 0);
}

/* Guessing tokens is braked; the right one still works. */
static void test_report_tokens_are_braked(void **state)
{
    struct api *api = *state;
    int refused = 0, braked = 0;
    for (int i = 0; i < 40; i++) {
        struct answer a =
            api_call_as(api, NULL, "POST", "/api/v1/report/1/one/0/1/guess", "{\"state\":\"failed\"}", NULL);
        refused += a.status == 410;
        braked += a.status == 429;
        answer_release(&a);
    }
    assert_true(refused >= 20 && refused <= 30);
    assert_true(braked >= 10);
    char path[256];
    callback(api, 77, 1, path);
    REPORT(path, "{\"state\":\"failed\"}", 410, "SCHEDULING_NOTFOUND_005");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_wait, setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_refused_by_owner, setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_detail, setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_filters_and_pages, setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_reports, setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_report_of_canceled_run, setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_report_tokens_are_braked, setup, api_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
