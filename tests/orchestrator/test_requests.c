/* Run now, enqueue, cancel, pause, resume; runs, ledger, tools; bounds of pages and batches. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/ids.h"
#include "core/base/mem.h"
#include "tests/orchestrator/fixture.h"

static void make_job(struct api *api, const char *name, const char *more)
{
    char path[128], body[1024];
    (void)snprintf(path, sizeof path, "/api/v1/projects/shop/jobs/%s", name);
    (void)snprintf(body, sizeof body,
                   "{\"spec\":{\"triggers\":[{\"name\":\"t\",\"cron\":\"0 2 * * *\"}]%s,\"params\":{\"a\":1,\"b\":2},"
                   "\"graph\":[{\"step\":\"last\",\"url\":\"http://h/2\",\"after\":[\"first\"]},"
                   "{\"step\":\"first\",\"url\":\"http://h/1\"}]}}",
                   more);
    EXPECT(api, 201, "PUT", path, body);
}

static void test_enqueue(void **state)
{
    struct api *api = *state;
    api_shop(api);
    make_job(api, "j", "");
    struct answer a =
        api_call(api, "POST", "/api/v1/projects/shop/jobs:enqueue",
                 "{\"names\":[\"j\",\"nope\",\"j\"],\"params\":{\"b\":98765432109876543210,\"c\":\"日\\u5317\"}}");
    assert_int_equal(a.status, 200);
    assert_true(cJSON_IsTrue(answer_at(&a, "items.0.ok")));
    assert_string_equal(answer_text(&a, "items.1.key"), "nope");
    assert_string_equal(answer_text(&a, "items.1.error.code"), "SCHEDULING_NOTFOUND_001");
    assert_true(cJSON_IsTrue(answer_at(&a, "items.2.ok")));
    assert_string_not_equal(answer_text(&a, "items.0.result.run"), answer_text(&a, "items.2.result.run"));
    char run[40], path[128], manual[64];
    (void)snprintf(run, sizeof run, "%s", answer_text(&a, "items.0.result.run"));
    (void)snprintf(manual, sizeof manual, "manual-%s", run);
    assert_string_equal(answer_text(&a, "items.0.result.trigger"), manual);
    answer_release(&a);
    assert_true(__atomic_load_n(&api->pokes, __ATOMIC_RELAXED) > 0);

    /* What was acknowledged is there at once: as queued, from the request. */
    (void)snprintf(path, sizeof path, "/api/v1/projects/shop/runs/%s", run);
    a = api_call(api, "GET", path, NULL);
    if (a.status != 200)
        fail_msg("%d %s", a.status, a.text);
    assert_string_equal(answer_text(&a, "state"), "queued");
    assert_string_equal(answer_text(&a, "job"), "j");
    assert_string_equal(answer_text(&a, "trigger"), manual);
    assert_string_equal(answer_text(&a, "origin"), "manual");
    assert_string_equal(answer_text(&a, "family"), run);
    assert_non_null(strstr(a.text, "\"params\":{\"a\":1,\"b\":98765432109876543210,\"c\":\"日\\u5317\"}"));
    assert_true(cJSON_IsNull(answer_at(&a, "ended_at")));
    assert_true(cJSON_IsNull(answer_at(&a, "error")));
    assert_non_null(answer_text(&a, "fired_at"));
    /* Every step of the version, in the order of the graph. */
    assert_int_equal(cJSON_GetArraySize(answer_at(&a, "steps")), 2);
    assert_string_equal(answer_text(&a, "steps.0.step"), "first");
    assert_string_equal(answer_text(&a, "steps.0.state"), "waiting");
    assert_string_equal(answer_text(&a, "steps.1.step"), "last");
    answer_release(&a);

    a = api_call(api, "GET", "/api/v1/projects/shop/runs?job=j&state=queued", NULL);
    assert_true(answer_number(&a, "total") == 2);
    answer_release(&a);
    a = api_call(api, "GET", "/api/v1/projects/shop/runs:count?job=j", NULL);
    assert_true(answer_number(&a, "count") == 2);
    answer_release(&a);
}

static void test_idempotency(void **state)
{
    struct api *api = *state;
    api_shop(api);
    make_job(api, "j", "");
    const char *body = "{\"items\":[{\"name\":\"j\",\"idempotency_key\":\"k1\",\"params\":{\"n\":1}}]}";
    struct answer a = api_call(api, "POST", "/api/v1/projects/shop/jobs:enqueue", body);
    struct answer b = api_call(api, "POST", "/api/v1/projects/shop/jobs:enqueue", body);
    assert_string_equal(answer_text(&a, "items.0.result.run"), answer_text(&b, "items.0.result.run"));
    assert_true(cJSON_IsTrue(answer_at(&b, "items.0.result.repeated")));
    answer_release(&a);
    answer_release(&b);
    /* The single form takes it from a header, and answers 202. */
    static const char *const key[] = {"Idempotency-Key: k2", NULL};
    a = api_call_as(api, api->admin, "POST", "/api/v1/projects/shop/jobs/j/enqueue", NULL, key);
    b = api_call_as(api, api->admin, "POST", "/api/v1/projects/shop/jobs/j/enqueue", "{}", key);
    assert_int_equal(a.status, 202);
    assert_string_equal(answer_text(&a, "run"), answer_text(&b, "run"));
    answer_release(&a);
    answer_release(&b);
    a = api_call(
        api, "POST", "/api/v1/projects/shop/jobs:enqueue",
        "{\"items\":[{\"name\":\"j\",\"scheduled_at\":\"2026-01-02T03:04:05.678+08:00\"},"
        "{\"name\":\"j\",\"scheduled_at\":\"yesterday\"},{\"name\":\"j\",\"params\":[]},{\"name\":\"j\",\"scheduled_at\":\"2100-01-01T00:00:00Z\"}]}");
    int64_t id;
    char path[128];
    assert_true(id_parse(answer_text(&a, "items.0.result.run"), &id));
    assert_string_equal(answer_text(&a, "items.1.error.code"), "REQUEST_VALIDATION_002");
    assert_string_equal(answer_text(&a, "items.2.error.code"), "REQUEST_VALIDATION_002");
    assert_string_equal(answer_text(&a, "items.3.error.code"), "REQUEST_VALIDATION_002");
    answer_release(&a);
    (void)snprintf(path, sizeof path, "/api/v1/projects/shop/runs/%lld", (long long)id);
    a = api_call(api, "GET", path, NULL);
    assert_string_equal(answer_text(&a, "scheduled_at"), "2026-01-01T19:04:05.678Z");
    answer_release(&a);
    assert_int_equal(run_id_day(id), 20454); /* 2026-01-01 */
}

static void test_run_without_scheduler(void **state)
{
    struct api *api = *state;
    api_shop(api);
    make_job(api, "j", "");
    /* Nobody rules the job: after five seconds it is said, and what was asked for is taken back. */
    struct answer a = api_call(api, "POST", "/api/v1/projects/shop/jobs:run?wait=20s", "{\"names\":[\"j\"]}");
    assert_int_equal(a.status, 200);
    assert_string_equal(answer_text(&a, "items.0.error.code"), "SCHEDULING_UNAVAILABLE_001");
    answer_release(&a);
    a = api_call(api, "POST", "/api/v1/projects/shop/jobs/j/run?wait=1s", NULL);
    assert_int_equal(a.status, 202);
    assert_string_equal(answer_text(&a, "state"), "queued");
    answer_release(&a);
    REFUSED(api, 400, "REQUEST_VALIDATION_002", "POST", "/api/v1/projects/shop/jobs/j/run?wait=11m", NULL);
    REFUSED(api, 400, "REQUEST_VALIDATION_002", "POST", "/api/v1/projects/shop/jobs/j/run?wait=5", NULL);
    REFUSED(api, 404, "SCHEDULING_NOTFOUND_001", "POST", "/api/v1/projects/shop/jobs/nope/run", NULL);
}

static void test_pause(void **state)
{
    struct api *api = *state;
    api_shop(api);
    make_job(api, "j", "");
    make_job(api, "k", "");
    struct answer a = api_call(api, "POST", "/api/v1/projects/shop/jobs:pause", "{\"names\":[\"j\",\"nope\",\"k\"]}");
    assert_true(cJSON_IsTrue(answer_at(&a, "items.0.ok")));
    assert_true(cJSON_IsFalse(answer_at(&a, "items.1.ok")));
    assert_true(cJSON_IsTrue(answer_at(&a, "items.2.ok")));
    answer_release(&a);
    a = api_call(api, "GET", "/api/v1/projects/shop/jobs/j/status", NULL);
    assert_string_equal(answer_text(&a, "state"), "paused");
    assert_string_equal(answer_text(&a, "triggers.0.state"), "paused");
    assert_int_equal(cJSON_GetArraySize(answer_at(&a, "triggers.0.next")), 0);
    answer_release(&a);
    EXPECT(api, 200, "POST", "/api/v1/projects/shop/jobs/j/resume", "{\"skip_missed\":true}");
    a = api_call(api, "GET", "/api/v1/projects/shop/jobs/j/status", NULL);
    assert_string_equal(answer_text(&a, "state"), "active");
    answer_release(&a);
    a = api_call(
        api, "POST", "/api/v1/projects/shop/triggers:pause",
        "{\"keys\":[{\"job\":\"j\",\"trigger\":\"t\"},{\"job\":\"j\",\"trigger\":\"u\"},{\"job\":\"x\",\"trigger\":\"t\"},{\"job\":\"j\"}]}");
    assert_string_equal(answer_text(&a, "items.0.key"), "j/t");
    assert_true(cJSON_IsTrue(answer_at(&a, "items.0.ok")));
    assert_string_equal(answer_text(&a, "items.1.error.code"), "SCHEDULING_NOTFOUND_003");
    assert_string_equal(answer_text(&a, "items.2.error.code"), "SCHEDULING_NOTFOUND_001");
    assert_string_equal(answer_text(&a, "items.3.error.code"), "REQUEST_VALIDATION_001");
    answer_release(&a);
}

static void test_cancel(void **state)
{
    struct api *api = *state;
    char path[128], body[128];
    api_shop(api);
    make_job(api, "j", "");
    struct answer a = api_call(api, "POST", "/api/v1/projects/shop/jobs:enqueue", "{\"names\":[\"j\"]}");
    (void)snprintf(body, sizeof body, "{\"ids\":[\"%s\",\"7\",\"x\"]}", answer_text(&a, "items.0.result.run"));
    (void)snprintf(path, sizeof path, "/api/v1/projects/shop/runs/%s/cancel", answer_text(&a, "items.0.result.run"));
    answer_release(&a);
    a = api_call(api, "POST", "/api/v1/projects/shop/runs:cancel", body);
    if (!cJSON_IsTrue(answer_at(&a, "items.0.ok")))
        fail_msg("%s", a.text);
    assert_string_equal(answer_text(&a, "items.1.error.code"), "SCHEDULING_NOTFOUND_004");
    assert_string_equal(answer_text(&a, "items.2.error.code"), "SCHEDULING_NOTFOUND_004");
    answer_release(&a);
    REFUSED(api, 404, "SCHEDULING_NOTFOUND_004", "POST", "/api/v1/projects/shop/runs/99/cancel", NULL);
    REFUSED(api, 404, "SCHEDULING_NOTFOUND_004", "GET", "/api/v1/projects/shop/runs/99", NULL);
    a = api_call(api, "POST", "/api/v1/projects/shop/jobs:cancel", "{\"names\":[\"j\",\"nope\"]}");
    assert_true(cJSON_IsTrue(answer_at(&a, "items.0.ok")));
    assert_string_equal(answer_text(&a, "items.1.error.code"), "SCHEDULING_NOTFOUND_001");
    answer_release(&a);
}

static void test_bounds(void **state)
{
    struct api *api = *state;
    api_shop(api);
    make_job(api, "j", "");
    static const char *const lists[] = {"/projects/shop/runs",  "/projects/shop/jobs",
                                        "/projects/shop/apps",  "/projects",
                                        "/projects/shop/tasks", "/audit",
                                        "/projects/shop/ledger"};
    static const char *const bad[] = {"limit=1001", "limit=0", "skip=-1", "limit=x", "skip=1.5", "limit="};
    char path[200];
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
            (void)snprintf(path, sizeof path, "/api/v1%s?job=j&%s", lists[i], bad[k]);
            REFUSED(api, 400, "SCHEDULING_VALIDATION_002", "GET", path, NULL);
        }
        (void)snprintf(path, sizeof path, "/api/v1%s?job=j&limit=1000", lists[i]);
        EXPECT(api, 200, "GET", path, NULL);
    }
    EXPECT(api, 200, "GET", "/api/v1/projects/shop/runs:count?limit=99999", NULL);
    REFUSED(api, 400, "REQUEST_VALIDATION_002", "GET", "/api/v1/projects/shop/runs?state=sleeping", NULL);
    REFUSED(api, 400, "REQUEST_VALIDATION_002", "GET", "/api/v1/projects/shop/runs?from=today", NULL);
    REFUSED(api, 400, "REQUEST_VALIDATION_002", "GET", "/api/v1/projects/shop/ledger", NULL);
    EXPECT(api, 200, "POST", "/api/v1/projects/shop/jobs:pause", "{\"names\":[]}");
    REFUSED(api, 400, "REQUEST_VALIDATION_001", "POST", "/api/v1/projects/shop/jobs:pause", "{}");
    REFUSED(api, 400, "REQUEST_VALIDATION_002", "POST", "/api/v1/projects/shop/jobs:pause", "{\"names\":\"j\"}");

    struct str body;
    str_init(&body, 1 << 20);
    str_add(&body, "{\"names\":[\"j\"");
    for (int i = 0; i < 1000; i++)
        str_add(&body, ",\"j\"");
    str_add(&body, "]}");
    REFUSED(api, 413, "REQUEST_TOOLARGE_001", "POST", "/api/v1/projects/shop/jobs:pause", str_text(&body));
    str_clear(&body);
    str_add(&body, "{\"names\":[\"j\"],\"params\":{\"a\":\"");
    for (int i = 0; i < 70; i++)
        for (int k = 0; k < 1000; k++)
            str_add_char(&body, 'x');
    str_add(&body, "\"}}");
    struct answer a = api_call(api, "POST", "/api/v1/projects/shop/jobs:enqueue", str_text(&body));
    assert_string_equal(answer_text(&a, "items.0.error.code"), "REQUEST_TOOLARGE_002");
    answer_release(&a);
    str_release(&body);
}

static void test_tools(void **state)
{
    struct api *api = *state;
    struct answer a = api_call(
        api, "POST", "/api/v1/cron/next",
        "{\"cron\":\"30 2 * * *\",\"timezone\":\"America/New_York\",\"from\":\"2026-03-07T07:30:00Z\",\"count\":2}");
    if (a.status != 200)
        fail_msg("%s", a.text);
    /* 8 March 2026 has no 02:30 in New York: the first instant after the gap is 03:00 EDT. */
    assert_string_equal(answer_text(&a, "next.0"), "2026-03-08T07:00:00.000Z");
    assert_string_equal(answer_text(&a, "next.1"), "2026-03-09T06:30:00.000Z");
    answer_release(&a);
    a = api_call(
        api, "GET",
        "/api/v1/cron/next?cron=30%202%20*%20*%20*&timezone=America/New_York&from=2026-03-07T07:30:00Z&count=1&dst_gap=skip",
        NULL);
    assert_string_equal(answer_text(&a, "next.0"), "2026-03-09T06:30:00.000Z");
    answer_release(&a);
    REFUSED(api, 400, "SCHEDULING_VALIDATION_001", "GET", "/api/v1/cron/next?cron=61%20*%20*%20*%20*", NULL);
    REFUSED(api, 400, "REQUEST_VALIDATION_002", "GET", "/api/v1/cron/next?cron=*%20*%20*%20*%20*&count=1001", NULL);
    REFUSED(api, 400, "REQUEST_VALIDATION_002", "GET", "/api/v1/cron/next?cron=*%20*%20*%20*%20*&timezone=Mars/X",
            NULL);
    REFUSED(api, 400, "REQUEST_VALIDATION_002", "GET", "/api/v1/cron/next?cron=*%20*%20*%20*%20*&dialect=klingon",
            NULL);
    REFUSED(api, 400, "REQUEST_VALIDATION_002", "GET", "/api/v1/cron/next", NULL);

    a = api_call(
        api, "POST", "/api/v1/render",
        "{\"template\":{\"day\":\"${scheduled-1d:yyyyMMdd}\",\"n\":\"${params.n}\",\"rows\":\"${steps.a.result.rows}\"},"
        "\"params\":{\"n\":12345678901234567890},\"steps\":{\"a\":{\"result\":{\"rows\":[1,2]}}},"
        "\"scheduled_at\":\"2026-03-01T00:00:00Z\"}");
    if (a.status != 200)
        fail_msg("%s", a.text);
    assert_non_null(strstr(a.text, "{\"result\":{\"day\":\"20260228\",\"n\":12345678901234567890,\"rows\":[1,2]}}"));
    answer_release(&a);
    a = api_call(api, "POST", "/api/v1/render", "{\"text\":\"${params.none}\"}");
    assert_int_equal(a.status, 400);
    assert_non_null(strstr(a.text, "none"));
    answer_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_enqueue, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_idempotency, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_run_without_scheduler, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_pause, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_cancel, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_bounds, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_tools, api_setup, api_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
