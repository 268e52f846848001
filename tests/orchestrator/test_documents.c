/* Documents over the API: PUT, GET, list, DELETE, apply; faults, versions, characters, big numbers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/orchestrator/fixture.h"

#define JOB "/api/v1/projects/shop/jobs/nightly"

static const char nightly[] =
    "{\"apiVersion\":\"carillon/v1\",\"kind\":\"Job\",\"metadata\":{\"project\":\"shop\",\"name\":\"nightly\","
    "\"description\":\"日结 🎐\",\"owner\":\"pay-team\"},\"spec\":{\"triggers\":[{\"name\":\"nightly\",\"cron\":\"0 30 2 * * ?\"}],"
    "\"params\":{\"region\":\"cn\",\"big\":123456789012345678901234567890,\"small\":1.10},"
    "\"graph\":[{\"step\":\"extract\",\"task\":\"ledger/extract\",\"params\":{\"day\":\"${scheduled-1d:yyyyMMdd}\"}},"
    "{\"step\":\"post\",\"task\":\"ledger/post\",\"after\":[\"extract\"],\"params\":{\"rows\":\"${steps.extract.result.rows}\"}}]}}";

static void test_put_get_list_delete(void **state)
{
    struct api *api = *state;
    api_shop(api);
    struct answer put = api_call(api, "PUT", JOB, nightly);
    if (put.status != 201)
        fail_msg("%d %s", put.status, put.text);
    assert_true(cJSON_IsTrue(answer_at(&put, "created")));
    assert_int_equal(cJSON_GetArraySize(answer_at(&put, "status.triggers.0.next")), 3);
    assert_string_equal(answer_text(&put, "status.triggers.0.zone"), "Asia/Shanghai");
    assert_string_equal(answer_text(&put, "status.triggers.0.kind"), "cron");
    assert_string_equal(answer_text(&put, "status.triggers.0.schedule"), "0 30 2 * * ?");
    assert_string_equal(answer_text(&put, "status.state"), "active");
    /* 02:30 in Shanghai is 18:30 UTC of the day before */
    assert_string_equal(answer_text(&put, "status.triggers.0.next.0") + 10, "T18:30:00.000Z");
    assert_non_null(strstr(put.headers, "ETag: \"1\""));
    answer_release(&put);

    struct answer get = api_call(api, "GET", JOB, NULL);
    assert_int_equal(get.status, 200);
    assert_string_equal(answer_text(&get, "metadata.description"), "日结 🎐");
    assert_non_null(strstr(get.text, "123456789012345678901234567890"));
    assert_non_null(strstr(get.text, "\"small\":1.10"));
    assert_true(answer_number(&get, "status.version") == 1);

    /* What was read can be written back as it is, and is nothing new. */
    struct answer again = api_call(api, "PUT", JOB, get.text);
    if (again.status != 200)
        fail_msg("%d %s", again.status, again.text);
    assert_true(cJSON_IsTrue(answer_at(&again, "unchanged")));
    assert_true(answer_number(&again, "status.version") == 1);
    answer_release(&again);
    answer_release(&get);

    struct answer list = api_call(api, "GET", "/api/v1/projects/shop/jobs", NULL);
    assert_int_equal(list.status, 200);
    assert_true(answer_number(&list, "total") == 1);
    assert_string_equal(answer_text(&list, "items.0.name"), "nightly");
    assert_string_equal(answer_text(&list, "items.0.description"), "日结 🎐");
    assert_true(cJSON_IsNull(answer_at(&list, "items.0.last_run")));
    answer_release(&list);

    struct answer full = api_call(api, "GET", JOB "?effective=true", NULL);
    assert_string_equal(answer_text(&full, "spec.overlap"), "wait");
    assert_string_equal(answer_text(&full, "spec.triggers.0.misfire"), "latest");
    assert_non_null(strstr(full.text, "123456789012345678901234567890"));
    answer_release(&full);

    EXPECT(api, 200, "GET", JOB "/status", NULL);
    EXPECT(api, 200, "GET", JOB "/explain", NULL);
    EXPECT(api, 204, "DELETE", JOB, NULL);
    REFUSED(api, 404, "SCHEDULING_NOTFOUND_001", "GET", JOB, NULL);
    REFUSED(api, 404, "SCHEDULING_NOTFOUND_001", "DELETE", JOB, NULL);
}

static void test_forms_of_body(void **state)
{
    struct api *api = *state;
    api_shop(api);
    /* Neither apiVersion nor kind nor metadata. */
    EXPECT(api, 201, "PUT", "/api/v1/projects/shop/jobs/a",
           "{\"spec\":{\"graph\":[{\"step\":\"s\",\"url\":\"http://h/\"}]}}");
    /* Metadata without name and project. */
    EXPECT(api, 201, "PUT", "/api/v1/projects/shop/jobs/b",
           "{\"metadata\":{\"owner\":\"x\"},\"spec\":{\"graph\":[{\"step\":\"s\",\"url\":\"http://h/\"}]}}");
    struct answer wrong = api_call(api, "PUT", "/api/v1/projects/shop/jobs/c",
                                   "{\"kind\":\"Calendar\",\"metadata\":{\"project\":\"mall\",\"name\":\"d\"},"
                                   "\"spec\":{\"graph\":[{\"step\":\"s\",\"url\":\"http://h/\"}]}}");
    assert_int_equal(wrong.status, 400);
    assert_non_null(strstr(wrong.text, "\"path\":\"kind\""));
    assert_non_null(strstr(wrong.text, "\"path\":\"metadata.name\""));
    assert_non_null(strstr(wrong.text, "\"path\":\"metadata.project\""));
    answer_release(&wrong);
    REFUSED(api, 400, "SCHEDULING_VALIDATION_001", "PUT", "/api/v1/projects/shop/jobs/Bad_Upper",
            "{\"spec\":{\"graph\":[{\"step\":\"s\",\"url\":\"http://h/\"}]}}");
    REFUSED(api, 404, "PROJECT_NOTFOUND_001", "PUT", "/api/v1/projects/nowhere/jobs/c",
            "{\"spec\":{\"graph\":[{\"step\":\"s\",\"url\":\"http://h/\"}]}}");
    static const struct {
        int line;
        const char *body;
    } bad[] = {
        {__LINE__, NULL},
        {__LINE__, "{"},
        {__LINE__, "[]"},
        {__LINE__, "{\"a\":1,\"a\":2}"},
        {__LINE__, "{\"a\":\"\\u0000\"}"},
        {__LINE__, "{}x"},
        {__LINE__, "{\"a\":\"\xff\"}"},
        {__LINE__, "{\"a\":01}"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        api_refused(api, bad[i].line, 400, "REQUEST_VALIDATION_001", "PUT", "/api/v1/projects/shop/jobs/c",
                    bad[i].body);
    char deep[400];
    memset(deep, '[', 200);
    memset(deep + 200, ']', 199);
    deep[399] = '\0';
    REFUSED(api, 400, "REQUEST_VALIDATION_001", "PUT", "/api/v1/projects/shop/jobs/c", deep);
}

/* Every fault of a document is told at once, each with its path. */
static void test_all_faults(void **state)
{
    struct api *api = *state;
    api_shop(api);
    struct answer a = api_call(
        api, "PUT", "/api/v1/projects/shop/jobs/bad",
        "{\"spec\":{\"triggers\":[{\"name\":\"a\",\"cron\":\"61 * * * *\"},{\"name\":\"b\",\"cron\":\"* * * * *\","
        "\"timezone\":\"Mars/Base\"},{\"name\":\"c\",\"cron\":\"* * * * *\",\"calendar\":\"none\"},"
        "{\"name\":\"d\",\"cron\":\"0 0 0 30 2 ?\"}],"
        "\"graph\":[{\"step\":\"a\",\"task\":\"ledger/nothing\",\"after\":[]},{\"step\":\"b\",\"task\":\"ghost/x\"},"
        "{\"step\":\"c\",\"url\":\"http://h/${steps.zzz.result}\",\"after\":[\"a\"]},"
        "{\"step\":\"d\",\"url\":\"http://h/${params.\"}]}}");
    assert_int_equal(a.status, 400);
    assert_string_equal(answer_text(&a, "error.code"), "SCHEDULING_VALIDATION_001");
    static const char *const expected[] = {
        "\"path\":\"spec.triggers[0].cron\"",
        "\"path\":\"spec.triggers[1].timezone\"",
        "\"path\":\"spec.triggers[2].calendars\"",
        "\"path\":\"spec.triggers[3].cron\"",
        "\"path\":\"spec.graph[0].task\"",
        "\"path\":\"spec.graph[1].task\"",
        "\"path\":\"spec.graph[2].url\"",
        "\"path\":\"spec.graph[3].url\"",
        "known: extract, post",
        "SCHEDULING_NOTFOUND_002",
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        if (!strstr(a.text, expected[i]))
            fail_msg("%s is missing in %s", expected[i], a.text);
    assert_true(cJSON_GetArraySize(answer_at(&a, "error.details")) >= 8);
    answer_release(&a);
    /* A fault that keeps the document from being read hides no other. */
    a = api_call(api, "PUT", "/api/v1/projects/shop/jobs/bad",
                 "{\"spec\":{\"overlop\":\"wait\",\"triggers\":[{\"name\":\"a\",\"cron\":\"61 * * * *\"},{\"cron\":5}],"
                 "\"graph\":[{\"step\":\"a\",\"task\":\"ledger/nothing\",\"after\":[\"zzz\"]},"
                 "{\"step\":\"b\",\"url\":\"http://h/${steps.a.result}${steps.yyy.result}\",\"after\":[\"a\"]}]}}");
    assert_int_equal(a.status, 400);
    static const char *const more[] = {"unknown member \\\"overlop\\\"",      "\"path\":\"spec.triggers[0].cron\"",
                                       "\"path\":\"spec.triggers[1].cron\"",  "\"path\":\"spec.graph[0].task\"",
                                       "\"path\":\"spec.graph[0].after[0]\"", "\"path\":\"spec.graph[1].url\""};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (!strstr(a.text, more[i]))
            fail_msg("%s is missing in %s", more[i], a.text);
    assert_int_equal(cJSON_GetArraySize(answer_at(&a, "error.details")), 6);
    answer_release(&a);
    /* Nothing but a task that nobody offers: a code of its own. */
    REFUSED(api, 404, "SCHEDULING_NOTFOUND_002", "PUT", "/api/v1/projects/shop/jobs/bad",
            "{\"spec\":{\"graph\":[{\"step\":\"a\",\"task\":\"ledger/nothing\"}]}}");
    REFUSED(api, 404, "SCHEDULING_NOTFOUND_001", "GET", "/api/v1/projects/shop/jobs/bad", NULL);
}

static void test_versions(void **state)
{
    struct api *api = *state;
    const char *path = "/api/v1/projects/shop/jobs/v";
    static const char *const one[] = {"If-Match: \"1\"", NULL}, *const none[] = {"If-None-Match: *", NULL};
    api_shop(api);
    EXPECT(api, 201, "PUT", path, "{\"spec\":{\"graph\":[{\"step\":\"s\",\"url\":\"http://h/1\"}]}}");
    struct answer a = api_call_as(api, api->admin, "PUT", path,
                                  "{\"spec\":{\"graph\":[{\"step\":\"s\",\"url\":\"http://h/2\"}]}}", one);
    assert_int_equal(a.status, 200);
    assert_true(cJSON_IsFalse(answer_at(&a, "unchanged")));
    assert_true(answer_number(&a, "status.version") == 2);
    answer_release(&a);
    a = api_call_as(api, api->admin, "PUT", path, "{\"spec\":{\"graph\":[{\"step\":\"s\",\"url\":\"http://h/3\"}]}}",
                    one);
    assert_int_equal(a.status, 412);
    assert_string_equal(answer_text(&a, "error.code"), "REQUEST_PRECONDITION_001");
    answer_release(&a);
    a = api_call_as(api, api->admin, "PUT", path, "{\"spec\":{\"graph\":[{\"step\":\"s\",\"url\":\"http://h/3\"}]}}",
                    none);
    assert_int_equal(a.status, 412);
    answer_release(&a);
    a = api_call_as(api, api->admin, "DELETE", path, NULL, one);
    assert_int_equal(a.status, 412);
    answer_release(&a);

    /* A dry run tells the difference and changes nothing. */
    a = api_call(api, "PUT", "/api/v1/projects/shop/jobs/v?dry_run=true",
                 "{\"spec\":{\"graph\":[{\"step\":\"s\",\"url\":\"http://h/9\"}]}}");
    assert_int_equal(a.status, 200);
    assert_true(cJSON_IsTrue(answer_at(&a, "dry_run")));
    assert_string_equal(answer_text(&a, "changes.0.path"), "spec.graph[0].url");
    assert_string_equal(answer_text(&a, "changes.0.op"), "replace");
    assert_string_equal(answer_text(&a, "changes.0.before"), "http://h/2");
    assert_string_equal(answer_text(&a, "changes.0.after"), "http://h/9");
    assert_string_equal(answer_text(&a, "diff.0"), "~ spec.graph[0].url: \"http://h/2\" → \"http://h/9\"");
    assert_true(cJSON_IsFalse(answer_at(&a, "unchanged")));
    answer_release(&a);
    a = api_call(api, "GET", path, NULL);
    assert_true(answer_number(&a, "status.version") == 2);
    answer_release(&a);
    /* Order of keys and white space make no new version. */
    a = api_call(api, "PUT", path, "{ \"spec\": {\"graph\":[ {\"url\":\"http://h/2\",\"step\":\"s\"} ]}}");
    assert_int_equal(a.status, 200);
    assert_true(cJSON_IsTrue(answer_at(&a, "unchanged")));
    answer_release(&a);
}

static void test_in_use(void **state)
{
    struct api *api = *state;
    api_shop(api);
    EXPECT(api, 201, "PUT", "/api/v1/projects/shop/calendars/workdays",
           "{\"spec\":{\"exclude\":{\"weekly\":[\"SAT\",\"SUN\"]}}}");
    EXPECT(api, 201, "PUT", "/api/v1/projects/shop/jobs/j",
           "{\"spec\":{\"triggers\":[{\"cron\":\"0 2 * * *\",\"calendar\":\"workdays\"}],"
           "\"graph\":[{\"step\":\"a\",\"task\":\"ledger/extract\"}]}}");
    REFUSED(api, 409, "SCHEDULING_CONFLICT_004", "DELETE", "/api/v1/projects/shop/apps/ledger", NULL);
    REFUSED(api, 409, "SCHEDULING_CONFLICT_004", "DELETE", "/api/v1/projects/shop/calendars/workdays", NULL);
    REFUSED(api, 409, "SCHEDULING_CONFLICT_004", "DELETE", "/api/v1/projects/shop", NULL);
    static const char *const one[] = {"If-Match: \"1\"", NULL};
    struct answer a = api_call_as(api, api->admin, "DELETE", "/api/v1/projects/shop/calendars/workdays", NULL, one);
    assert_int_equal(a.status, 409); /* the version is right: it is the use that refuses */
    answer_release(&a);
    REFUSED(api, 404, "CALENDAR_NOTFOUND_001", "GET", "/api/v1/projects/shop/calendars/none", NULL);
    REFUSED(api, 404, "APP_NOTFOUND_001", "GET", "/api/v1/projects/shop/apps/none", NULL);
    REFUSED(api, 404, "PROJECT_NOTFOUND_001", "GET", "/api/v1/projects/none", NULL);
}

static void test_applications(void **state)
{
    struct api *api = *state;
    api_shop(api);
    struct answer a = api_call(api, "GET", "/api/v1/projects/shop/tasks", NULL);
    assert_int_equal(a.status, 200);
    assert_true(answer_number(&a, "total") == 2);
    assert_string_equal(answer_text(&a, "items.0.name"), "ledger/extract");
    assert_string_equal(answer_text(&a, "items.0.timeout"), "10m");
    assert_string_equal(answer_text(&a, "items.1.repeat"), "never");
    answer_release(&a);
    a = api_call(api, "GET", "/api/v1/projects/shop/apps/ledger/tasks?skip=1&limit=1", NULL);
    assert_int_equal(cJSON_GetArraySize(answer_at(&a, "items")), 1);
    assert_string_equal(answer_text(&a, "items.0.task"), "post");
    answer_release(&a);
    a = api_call(api, "GET", "/api/v1/projects/shop/apps/ledger/instances", NULL);
    assert_string_equal(answer_text(&a, "items.1.address"), "127.0.0.1:9002");
    answer_release(&a);
    a = api_call(api, "GET", "/api/v1/projects/shop/apps", NULL);
    assert_string_equal(answer_text(&a, "items.0.name"), "ledger");
    assert_string_equal(answer_text(&a, "items.0.metadata.project"), "shop");
    answer_release(&a);
    a = api_call(api, "GET", "/api/v1/projects", NULL);
    assert_true(answer_number(&a, "total") == 2); /* default is always there */
    answer_release(&a);
}

static const char set[] =
    "{\"documents\":[{\"kind\":\"Job\",\"metadata\":{\"project\":\"mall\",\"name\":\"a\"},\"spec\":{\"triggers\":[{\"cron\":\"0 2 * * *\","
    "\"calendar\":\"c\"}],\"graph\":[{\"step\":\"s\",\"task\":\"app/t\"}]}},"
    "{\"kind\":\"Application\",\"metadata\":{\"project\":\"mall\",\"name\":\"app\"},\"spec\":{\"instances\":[\"h:1\"],\"tasks\":[{\"name\":\"t\",\"path\":\"/t\"}]}},"
    "{\"kind\":\"Calendar\",\"metadata\":{\"project\":\"mall\",\"name\":\"c\"},\"spec\":{\"exclude\":{\"weekly\":[\"SUN\"]}}},"
    "{\"kind\":\"Project\",\"metadata\":{\"name\":\"mall\"},\"spec\":{\"timezone\":\"Europe/Berlin\"}}]}";

static void test_apply(void **state)
{
    struct api *api = *state;
    struct answer a = api_call(api, "POST", "/api/v1/apply?dry_run=true", set);
    if (a.status != 200)
        fail_msg("%d %s", a.status, a.text);
    assert_true(cJSON_IsTrue(answer_at(&a, "dry_run")));
    assert_int_equal(cJSON_GetArraySize(answer_at(&a, "items.0.result.triggers.0.next")), 3);
    answer_release(&a);
    REFUSED(api, 404, "PROJECT_NOTFOUND_001", "GET", "/api/v1/projects/mall", NULL);

    a = api_call(api, "POST", "/api/v1/apply", set);
    if (a.status != 200)
        fail_msg("%d %s", a.status, a.text);
    assert_string_equal(answer_text(&a, "items.0.key"), "mall/a");
    assert_string_equal(answer_text(&a, "items.0.result.status.triggers.0.zone"), "Europe/Berlin");
    assert_int_equal(cJSON_GetArraySize(answer_at(&a, "items.0.result.status.triggers.0.next")), 3);
    assert_string_equal(answer_text(&a, "items.3.key"), "mall");
    answer_release(&a);
    a = api_call(api, "POST", "/api/v1/apply", set);
    for (int i = 0; i < 4; i++) {
        char path[40];
        (void)snprintf(path, sizeof path, "items.%d.result.unchanged", i);
        assert_true(cJSON_IsTrue(answer_at(&a, path)));
    }
    answer_release(&a);

    /* One fault, and nothing of the set is written. */
    a = api_call(
        api, "POST", "/api/v1/apply",
        "{\"documents\":[{\"kind\":\"Project\",\"metadata\":{\"name\":\"new\"}},"
        "{\"kind\":\"Job\",\"metadata\":{\"project\":\"new\",\"name\":\"j\"},\"spec\":{\"graph\":[{\"step\":\"s\",\"task\":\"x/y\"}]}},"
        "{\"kind\":\"Job\",\"metadata\":{\"project\":\"gone\",\"name\":\"j\"},\"spec\":{\"graph\":[{\"step\":\"s\",\"url\":\"http://h/\"}]}}]}");
    assert_int_equal(a.status, 400);
    assert_non_null(strstr(a.text, "documents[1].spec.graph[0].task"));
    assert_non_null(strstr(a.text, "documents[2].metadata.project"));
    answer_release(&a);
    REFUSED(api, 404, "PROJECT_NOTFOUND_001", "GET", "/api/v1/projects/new", NULL);
}

static void test_schedule_batch(void **state)
{
    struct api *api = *state;
    api_shop(api);
    struct answer a = api_call(
        api, "POST", "/api/v1/projects/shop/jobs:schedule",
        "{\"items\":[{\"name\":\"one\",\"document\":{\"spec\":{\"graph\":[{\"step\":\"s\",\"url\":\"http://h/\"}]}}},"
        "{\"name\":\"two\",\"document\":{\"spec\":{\"graph\":[]}}},"
        "{\"metadata\":{\"name\":\"three\"},\"spec\":{\"graph\":[{\"step\":\"s\",\"url\":\"http://h/\"}]}},{}]}");
    assert_int_equal(a.status, 200);
    assert_true(cJSON_IsTrue(answer_at(&a, "items.0.ok")));
    assert_true(cJSON_IsTrue(answer_at(&a, "items.0.result.created")));
    assert_true(cJSON_IsFalse(answer_at(&a, "items.1.ok")));
    assert_string_equal(answer_text(&a, "items.1.error.code"), "SCHEDULING_VALIDATION_001");
    assert_true(cJSON_GetArraySize(answer_at(&a, "items.1.error.details")) >= 1);
    if (!cJSON_IsTrue(answer_at(&a, "items.2.ok")))
        fail_msg("%s", a.text);
    assert_string_equal(answer_text(&a, "items.2.key"), "three");
    assert_true(cJSON_IsFalse(answer_at(&a, "items.3.ok")));
    answer_release(&a);
    a = api_call(api, "POST", "/api/v1/projects/shop/jobs:status", "{\"names\":[\"three\",\"nope\",\"one\"]}");
    assert_string_equal(answer_text(&a, "items.0.result.name"), "three");
    assert_true(cJSON_IsTrue(answer_at(&a, "items.1.ok")));
    assert_true(cJSON_IsNull(answer_at(&a, "items.1.result")));
    assert_string_equal(answer_text(&a, "items.2.result.name"), "one");
    answer_release(&a);
    a = api_call(api, "POST", "/api/v1/projects/shop/jobs:unschedule", "{\"names\":[\"one\",\"nope\",\"three\"]}");
    assert_true(cJSON_IsTrue(answer_at(&a, "items.0.ok")));
    assert_string_equal(answer_text(&a, "items.1.error.code"), "SCHEDULING_NOTFOUND_001");
    assert_true(answer_number(&a, "items.1.error.http") == 404);
    assert_true(cJSON_IsTrue(answer_at(&a, "items.2.ok")));
    answer_release(&a);
}

/* Told when it is written, not found out by waiting. */
static void test_what_lies_in_the_past_is_warned_of(void **state)
{
    struct api *api = *state;
    static const struct {
        int line;
        const char *trigger;
        int warnings;
    } cases[] = {
        {__LINE__, "{\"at\":\"2020-01-01T00:00:00Z\"}", 1},
        {__LINE__, "{\"cron\":\"0 0 0 1 1 ? 2020\"}", 1},
        {__LINE__, "{\"every\":\"1m\",\"end\":\"2020-01-01T00:00:00Z\"}", 1},
        {__LINE__, "{\"at\":\"2099-01-01T00:00:00Z\"}", 0},
        {__LINE__, "{\"every\":\"1m\"}", 0},
        {__LINE__, "{\"delay\":\"1m\"}", 0},
    };
    api_shop(api);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char body[400];
        (void)snprintf(body, sizeof body,
                       "{\"spec\":{\"triggers\":[%s],\"graph\":[{\"step\":\"a\",\"task\":\"ledger/extract\"}]}}",
                       cases[i].trigger);
        struct answer a = api_call(api, "PUT", "/api/v1/projects/shop/jobs/past", body);
        if (a.status >= 300 || cJSON_GetArraySize(answer_at(&a, "warnings")) != cases[i].warnings)
            fail_msg("line %d: %d %s", cases[i].line, a.status, a.text);
        if (cases[i].warnings)
            assert_string_equal(answer_text(&a, "warnings.0.path"), "spec.triggers[0]");
        answer_release(&a);
    }
    struct answer a =
        api_call(api, "PUT", "/api/v1/projects/shop/jobs/past",
                 "{\"spec\":{\"triggers\":[{\"cron\":\"61 * * * *\"}],\"graph\":[{\"step\":\"a\",\"kind\":"
                 "\"noop\"}]}}");
    assert_int_equal(a.status, 400);
    assert_string_equal(answer_text(&a, "error.details.0.path"), "spec.triggers[0].cron");
    assert_int_equal(strncmp(answer_text(&a, "error.details.0.message"), "position", 8), 0);
    answer_release(&a);
    a = api_call(api, "POST", "/api/v1/apply",
                 "{\"documents\":[{\"kind\":\"Job\",\"metadata\":{\"name\":\"a\"},\"spec\":{}},"
                 "{\"kind\":\"Job\",\"metadata\":{\"name\":\"b\"},\"spec\":{}}]}");
    assert_int_equal(a.status, 400);
    assert_non_null(strstr(answer_text(&a, "error.message"), "in the 2 documents"));
    answer_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_put_get_list_delete, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_forms_of_body, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_all_faults, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_versions, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_in_use, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_applications, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_apply, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_schedule_batch, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_what_lies_in_the_past_is_warned_of, api_setup, api_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
