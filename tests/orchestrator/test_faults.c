/* The store fails at any operation of a request: the answer is 503 in the error form, names nothing of the inside, and
 * the same request works afterwards. And many clients at once. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/orchestrator.h"
#include "tests/orchestrator/fixture.h"

/* Lets operation number `at` (1…) fail. */
struct failing {
    struct store store;
    struct store *inner;
    int at, done;
    enum status status;
};

static enum status failing_execute(struct store *store, struct store_op *op)
{
    struct failing *f = (struct failing *)(void *)store;
    if (op->kind != STORE_TOKEN_FIND && ++f->done == f->at) {
        op->status = f->status;
        return error_set(&op->error, f->status, "mysql://user@db.internal:3306 went away: SELECT 1");
    }
    return store_execute(f->inner, op);
}

static const struct store_ops failing_ops = {.name = "failing", .execute = failing_execute};

static const struct {
    const char *method, *path, *body;
} requests[] = {
    {"GET", "/api/v1/projects", NULL},
    {"GET", "/api/v1/projects/shop", NULL},
    {"PUT", "/api/v1/projects/shop/jobs/j",
     "{\"spec\":{\"triggers\":[{\"cron\":\"0 2 * * *\",\"calendar\":\"c\"}],\"graph\":[{\"step\":\"s\",\"task\":\"ledger/"
     "extract\"}]}}"},
    {"PUT", "/api/v1/projects/shop/jobs/j?dry_run=true",
     "{\"spec\":{\"graph\":[{\"step\":\"s\",\"task\":\"ledger/post\"}]}}"},
    {"GET", "/api/v1/projects/shop/jobs", NULL},
    {"GET", "/api/v1/projects/shop/jobs/j", NULL},
    {"GET", "/api/v1/projects/shop/jobs/j/explain", NULL},
    {"GET", "/api/v1/projects/shop/tasks", NULL},
    {"POST", "/api/v1/projects/shop/jobs:enqueue", "{\"names\":[\"j\"]}"},
    {"GET", "/api/v1/projects/shop/runs?job=j", NULL},
    {"GET", "/api/v1/projects/shop/runs:count", NULL},
    {"GET", "/api/v1/projects/shop/ledger?job=j", NULL},
    {"GET", "/api/v1/schedulers", NULL},
    {"GET", "/api/v1/schedulers/test", NULL},
    {"GET", "/api/v1/schedulers/test/jobs", NULL},
    {"POST", "/api/v1/schedulers/test/online", NULL},
    {"POST", "/api/v1/projects/shop/jobs/j/move", "{\"node\":\"test\"}"},
    {"GET", "/api/v1/audit", NULL},
    {"GET", "/api/v1/tokens", NULL},
    {"GET", "/api/v1/leases", NULL},
    {"POST", "/api/v1/tokens", "{\"name\":\"x\",\"role\":\"viewer\"}"},
    {"POST", "/api/v1/apply",
     "{\"documents\":[{\"kind\":\"Job\",\"metadata\":{\"project\":\"shop\",\"name\":\"k\"},\"spec\":{\"graph\":[{\"step\":\"s\","
     "\"task\":\"ledger/extract\"}]}}]}"},
    {"GET", "/readyz", NULL},
};

/* Every operation of one request fails once; returns how many it has. */
static int fail_each(struct api *api, struct failing *f, size_t i)
{
    for (int at = 1;; at++) {
        f->at = at;
        f->done = 0;
        struct answer a = api_call(api, requests[i].method, requests[i].path, requests[i].body);
        bool reached = f->done >= at;
        /* A batch answers 200 with the error in its item; what is only looked at for help may fail unseen. */
        if (reached && a.status >= 400 && a.status != 503)
            fail_msg("%s %s, operation %d: %d %s", requests[i].method, requests[i].path, at, a.status, a.text);
        if (at == 1 && reached && a.status != 503)
            fail_msg("%s %s: the store failed and the answer is %d %s", requests[i].method, requests[i].path, a.status,
                     a.text);
        assert_null(strstr(a.text, "db.internal"));
        assert_null(strstr(a.text, "SELECT"));
        if (a.status == 503)
            assert_non_null(strstr(a.headers, "Retry-After: 1"));
        if (!reached && (a.status < 200 || a.status > 299))
            fail_msg("%s %s: %d %s", requests[i].method, requests[i].path, a.status, a.text);
        answer_release(&a);
        if (!reached)
            return at - 1;
    }
}

static void test_store_away(void **state)
{
    struct api *api = *state;
    struct failing f = {.store = {&failing_ops}, .inner = api->store, .status = STATUS_UNAVAILABLE};
    api_shop(api);
    EXPECT(api, 201, "PUT", "/api/v1/projects/shop/calendars/c", "{\"spec\":{\"exclude\":{\"weekly\":[\"SUN\"]}}}");
    api_restart(api, &f.store);
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        assert_true(fail_each(api, &f, i) > 0);
    f.at = 1;
    f.done = 0;
    f.status = STATUS_FULL;
    REFUSED(api, 503, "SCHEDULING_UNAVAILABLE_004", "PUT", "/api/v1/projects/mall", "{}");
    /* The reply of a COMMIT was lost: asked again, and told as it is. */
    f.at = 2;
    f.done = 0;
    f.status = STATUS_UNKNOWN;
    EXPECT(api, 201, "PUT", "/api/v1/projects/mall", "{}");
    f.at = 1;
    f.done = 0;
    f.status = STATUS_CORRUPT;
    REFUSED(api, 500, "INTERNAL_UNEXPECTED_001", "GET", "/api/v1/projects/mall", NULL);
}

#define CLIENTS 6
#define ROUNDS 12

static void *work(void *context)
{
    struct api *api = context;
    static _Atomic int number;
    int me = number++;
    char path[128];
    intptr_t wrong = 0;
    for (int i = 0; i < ROUNDS; i++) {
        (void)snprintf(path, sizeof path, "/api/v1/projects/shop/jobs/c%d-%d", me, i % 3);
        struct answer a =
            api_call(api, "PUT", path, "{\"spec\":{\"graph\":[{\"step\":\"s\",\"task\":\"ledger/extract\"}]}}");
        wrong += a.status != 201 && a.status != 200;
        answer_release(&a);
        a = api_call(api, "POST", "/api/v1/projects/shop/jobs:enqueue", "{\"names\":[\"c0-0\",\"c0-0\"]}");
        wrong += a.status != 200;
        answer_release(&a);
        a = api_call(api, "GET", "/api/v1/projects/shop/jobs", NULL);
        wrong += a.status != 200;
        answer_release(&a);
    }
    return (void *)wrong;
}

static void test_many_clients(void **state)
{
    struct api *api = *state;
    pthread_t threads[CLIENTS];
    api_shop(api);
    EXPECT(api, 201, "PUT", "/api/v1/projects/shop/jobs/c0-0",
           "{\"spec\":{\"graph\":[{\"step\":\"s\",\"task\":\"ledger/post\"}]}}");
    for (int i = 0; i < CLIENTS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, api), 0);
    for (int i = 0; i < CLIENTS; i++) {
        void *wrong;
        (void)pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    struct answer a = api_call(api, "GET", "/api/v1/projects/shop/runs:count?job=c0-0", NULL);
    assert_int_equal(answer_number(&a, "count"), 2 * CLIENTS * ROUNDS); /* no id was given out twice */
    answer_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_store_away, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_many_clients, api_setup, api_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
