/* Schedulers by the API: states and what they wait for, drain, online, forget, moves; who may. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/limits.h"
#include "tests/orchestrator/fixture.h"

static void execute(struct api *api, struct store_op *op)
{
    if (store_execute(api->store, op) != STATUS_OK)
        fail_msg("%s", op->error.text);
}

static int64_t start(struct api *api, const char *node, int64_t capacity)
{
    struct store_op op;
    store_op_init(&op, STORE_BOOT_START);
    op.boot_start = (struct store_boot_start){.node = node,
                                              .address = "http://10.0.0.1:1",
                                              .role = "scheduler",
                                              .version = "9.1",
                                              .pool = "red",
                                              .weight = 2,
                                              .capacity = capacity};
    execute(api, &op);
    int64_t boot = op.boot_start.boot;
    store_op_release(&op);
    return boot;
}

static void take(struct api *api, int64_t boot, int32_t slot, int64_t czxid)
{
    struct slot_take one = {.slot = slot, .generation = 1, .czxid = czxid};
    struct store_op op;
    store_op_init(&op, STORE_SLOTS_TAKE);
    op.slots_take = (struct store_slots_take){.boot = boot, .takes = &one, .count = 1};
    execute(api, &op);
    assert_true(one.taken);
    store_op_release(&op);
}

static void fence(struct api *api, int64_t boot, int64_t dead)
{
    struct store_op op;
    store_op_init(&op, STORE_BOOT_FENCE);
    op.boot_fence = (struct store_boot_fence){.boot = boot, .dead_boot = dead};
    execute(api, &op);
    store_op_release(&op);
}

/* A job of shop, its slot held by `boot`, and (run ≠ 0) an open run of it. */
static int32_t hold_a_job(struct api *api, int64_t boot, struct run_row *ret_run)
{
    api_shop(api);
    EXPECT(api, 201, "PUT", "/api/v1/projects/shop/jobs/close",
           "{\"spec\":{\"graph\":[{\"step\":\"a\",\"task\":\"ledger/extract\"}]}}");
    static const char *const name = "close";
    struct store_op op;
    store_op_init(&op, STORE_LIST);
    op.list = (struct store_list){.kind = DOCUMENT_JOB, .project = "shop", .names = &name, .name_count = 1};
    execute(api, &op);
    int32_t slot = op.list.rows[0].slot;
    int64_t job = op.list.rows[0].id, project = op.list.rows[0].project_id;
    store_op_release(&op);
    take(api, boot, slot, 7);
    store_op_init(&op, STORE_CLUSTER);
    execute(api, &op);
    instant now = op.cluster.store_now;
    store_op_release(&op);
    struct store_fire fire = {.run = {.id = run_id_make(day_of(now), boot, 1),
                                      .job = job,
                                      .project = project,
                                      .version = 1,
                                      .trigger = "manual-1",
                                      .scheduled_at = now,
                                      .due_at = now,
                                      .fired_at = now,
                                      .started_at = now,
                                      .ended_at = INSTANT_NONE,
                                      .state = RUN_RUNNING,
                                      .origin = ORIGIN_MANUAL,
                                      .slot = slot,
                                      .boot = boot,
                                      .node = "s1"}};
    store_op_init(&op, STORE_BATCH);
    op.batch = (struct store_batch){.boot = boot, .number = 1, .fires = &fire, .fire_count = 1};
    execute(api, &op);
    store_op_release(&op);
    *ret_run = fire.run;
    return slot;
}

static void end_run(struct api *api, int64_t boot, struct run_row run)
{
    struct store_op op;
    run.state = RUN_SUCCEEDED;
    run.ended_at = run.fired_at;
    store_op_init(&op, STORE_BATCH);
    op.batch = (struct store_batch){.boot = boot, .number = 2, .runs = &run, .run_count = 1};
    execute(api, &op);
    store_op_release(&op);
}

static void state_is(struct api *api, const char *node, const char *state)
{
    char path[100];
    (void)snprintf(path, sizeof path, "/api/v1/schedulers/%s", node);
    struct answer a = api_call(api, "GET", path, NULL);
    assert_int_equal(a.status, 200);
    assert_string_equal(answer_text(&a, "state"), state);
    answer_release(&a);
}

static void test_what_is_shown(void **state)
{
    struct api *api = *state;
    int64_t boot = start(api, "s1", 1);
    struct run_row run;
    int32_t slot = hold_a_job(api, boot, &run);
    struct answer a = api_call(api, "GET", "/api/v1/schedulers", NULL);
    assert_int_equal(answer_number(&a, "total"), 2); /* and the fixture's own */
    assert_string_equal(answer_text(&a, "items.0.node"), "s1");
    assert_string_equal(answer_text(&a, "items.0.state"), "working");
    assert_string_equal(answer_text(&a, "items.0.wish"), "working");
    assert_string_equal(answer_text(&a, "items.0.version"), "9.1");
    assert_string_equal(answer_text(&a, "items.0.pool"), "red");
    assert_int_equal(answer_number(&a, "items.0.weight"), 2);
    assert_int_equal(answer_number(&a, "items.0.capacity"), 1);
    assert_true(cJSON_IsTrue(answer_at(&a, "items.0.alarm")));
    assert_int_equal(answer_number(&a, "items.0.slots"), 1);
    assert_int_equal(answer_number(&a, "items.0.jobs"), 1);
    assert_int_equal(answer_number(&a, "items.0.runs"), 1);
    assert_true(cJSON_IsNull(answer_at(&a, "items.0.waits_for")));
    assert_false(cJSON_IsTrue(answer_at(&a, "items.1.alarm")));
    answer_release(&a);
    a = api_call(api, "GET", "/api/v1/schedulers/s1", NULL);
    assert_int_equal(answer_number(&a, "held.0.slot"), slot);
    assert_int_equal(answer_number(&a, "held.0.jobs"), 1);
    assert_string_equal(answer_text(&a, "running.0.job"), "close");
    assert_string_equal(answer_text(&a, "running.0.project"), "shop");
    assert_string_equal(answer_text(&a, "running.0.state"), "running");
    answer_release(&a);
    a = api_call(api, "GET", "/api/v1/schedulers/s1/jobs", NULL);
    assert_int_equal(answer_number(&a, "total"), 1);
    assert_string_equal(answer_text(&a, "items.0.name"), "close");
    assert_int_equal(answer_number(&a, "items.0.slot"), slot);
    assert_int_equal(answer_number(&a, "items.0.running"), 1);
    answer_release(&a);
    REFUSED(api, 404, "SCHEDULER_NOTFOUND_001", "GET", "/api/v1/schedulers/none", NULL);
    REFUSED(api, 404, "SCHEDULER_NOTFOUND_001", "GET", "/api/v1/schedulers/none/jobs", NULL);
    /* A token of another project sees that the node lives, and nothing of whose work it is. */
    char other[80];
    EXPECT(api, 201, "PUT", "/api/v1/projects/other", "{}");
    api_token(api, "other", "viewer", "other", 0, other);
    a = api_call_as(api, other, "GET", "/api/v1/schedulers/s1", NULL, NULL);
    assert_int_equal(a.status, 200);
    assert_null(strstr(a.text, "close"));
    answer_release(&a);
    a = api_call_as(api, other, "GET", "/api/v1/schedulers/s1/jobs", NULL, NULL);
    assert_int_equal(answer_number(&a, "total"), 0);
    answer_release(&a);
}

static void test_drain_until_offline(void **state)
{
    struct api *api = *state;
    char id[40];
    int64_t boot = start(api, "s1", 0);
    struct run_row run;
    int32_t slot = hold_a_job(api, boot, &run);
    struct answer a = api_call(api, "POST", "/api/v1/schedulers:drain", "{\"names\":[\"s1\",\"none\"]}");
    assert_int_equal(a.status, 200);
    assert_string_equal(answer_text(&a, "items.0.result.state"), "draining");
    assert_int_equal(answer_number(&a, "items.0.result.waits_for.slots"), 1);
    assert_int_equal(answer_number(&a, "items.0.result.waits_for.total"), 1);
    assert_int_equal(cJSON_GetArraySize(answer_at(&a, "items.0.result.waits_for.runs")), 1);
    (void)snprintf(id, sizeof id, "%s", answer_text(&a, "items.0.result.waits_for.runs.0"));
    assert_string_equal(answer_text(&a, "items.0.result.wish_by"), "admin");
    assert_null(answer_at(&a, "items.0.result.warning")); /* "test" works */
    assert_string_equal(answer_text(&a, "items.1.error.code"), "SCHEDULER_NOTFOUND_001");
    answer_release(&a);
    a = api_call(api, "GET", "/api/v1/schedulers/s1", NULL);
    assert_string_equal(answer_text(&a, "running.0.run"), id);
    assert_string_equal(answer_text(&a, "waits_for.runs.0"), id);
    answer_release(&a);
    char other[80]; /* whose runs they are is no business of another project; how many, everybody may know */
    EXPECT(api, 201, "PUT", "/api/v1/projects/other", "{}");
    api_token(api, "other", "viewer", "other", 0, other);
    a = api_call_as(api, other, "GET", "/api/v1/schedulers", NULL, NULL);
    assert_int_equal(cJSON_GetArraySize(answer_at(&a, "items.0.waits_for.runs")), 0);
    assert_int_equal(answer_number(&a, "items.0.waits_for.total"), 1);
    answer_release(&a);
    take(api, api->boot, slot, 8); /* another has taken the slot over */
    state_is(api, "s1", "draining");
    end_run(api, boot, run);
    state_is(api, "s1", "offline");
    a = api_call(api, "POST", "/api/v1/schedulers/test/drain", NULL);
    assert_int_equal(a.status, 200);
    assert_string_equal(answer_text(&a, "warning.code"), "SCHEDULER_WARNING_001");
    answer_release(&a);
    (void)start(api, "s1", 0); /* a wish lasts */
    state_is(api, "s1", "offline");
    EXPECT(api, 200, "POST", "/api/v1/schedulers/s1/online", NULL);
    EXPECT(api, 200, "POST", "/api/v1/schedulers:online", "{\"items\":[{\"name\":\"test\"}]}");
    state_is(api, "s1", "working");
    a = api_call(api, "GET", "/api/v1/audit", NULL);
    assert_string_equal(answer_text(&a, "items.0.action"), "online");
    assert_string_equal(answer_text(&a, "items.0.kind"), "scheduler");
    assert_string_equal(answer_text(&a, "items.0.who"), "admin");
    answer_release(&a);
}

static void test_forget(void **state)
{
    struct api *api = *state;
    int64_t boot = start(api, "s1", 0);
    struct run_row run;
    int32_t slot = hold_a_job(api, boot, &run);
    REFUSED(api, 409, "SCHEDULER_CONFLICT_001", "POST", "/api/v1/schedulers/s1/forget", NULL);
    end_run(api, boot, run);
    fence(api, api->boot, boot);
    state_is(api, "s1", "down");
    struct answer a = api_call(api, "POST", "/api/v1/schedulers:forget", "{\"names\":[\"s1\"]}");
    assert_string_equal(answer_text(&a, "items.0.error.code"), "SCHEDULER_CONFLICT_002");
    assert_non_null(strstr(answer_text(&a, "items.0.error.message"), "slots"));
    answer_release(&a);
    take(api, api->boot, slot, 8);
    EXPECT(api, 200, "POST", "/api/v1/schedulers/s1/forget", NULL);
    REFUSED(api, 404, "SCHEDULER_NOTFOUND_001", "GET", "/api/v1/schedulers/s1", NULL);
    REFUSED(api, 404, "SCHEDULER_NOTFOUND_001", "POST", "/api/v1/schedulers/s1/forget", NULL);
}

static void test_move(void **state)
{
    struct api *api = *state;
    int64_t boot = start(api, "s1", 0);
    struct run_row run;
    (void)hold_a_job(api, boot, &run);
    static const char *const path = "/api/v1/projects/shop/jobs:move";
    struct answer a = api_call(api, "POST", path, "{\"names\":[\"close\",\"none\"],\"node\":\"s1\"}");
    assert_int_equal(a.status, 200);
    assert_string_equal(answer_text(&a, "items.0.result.node"), "s1");
    assert_string_equal(answer_text(&a, "items.1.error.code"), "SCHEDULING_NOTFOUND_001");
    answer_release(&a);
    a = api_call(
        api, "POST", path,
        "{\"items\":[{\"name\":\"close\",\"node\":\"none\"},{\"name\":\"close\"},{\"name\":\"close\",\"node\":null}]}");
    assert_string_equal(answer_text(&a, "items.0.error.code"), "SCHEDULER_NOTFOUND_001");
    assert_string_equal(answer_text(&a, "items.1.error.code"), "REQUEST_VALIDATION_002");
    assert_true(cJSON_IsNull(answer_at(&a, "items.2.result.node")));
    answer_release(&a);
    EXPECT(api, 202, "POST", "/api/v1/projects/shop/jobs/close/move", "{\"node\":\"s1\"}");
    struct store_op op;
    store_op_init(&op, STORE_POLL);
    op.poll = (struct store_poll){.boot = boot, .since = -1};
    execute(api, &op);
    assert_int_equal(op.poll.request_count, 3);
    assert_int_equal(op.poll.requests[0].kind, REQUEST_MOVE);
    assert_string_equal(op.poll.requests[0].node, "s1");
    assert_null(op.poll.requests[1].node);
    store_op_release(&op);
    assert_true(api->pokes > 0);
}

static void test_who_may(void **state)
{
    struct api *api = *state;
    (void)start(api, "s1", 0);
    api_shop(api);
    static const struct {
        int line;
        const char *role, *project, *path, *body;
        int status;
    } cases[] = {
        {__LINE__, "developer", NULL, "/api/v1/schedulers:drain", "{\"names\":[\"s1\"]}", 403},
        {__LINE__, "admin", "shop", "/api/v1/schedulers:drain", "{\"names\":[\"s1\"]}", 403},
        {__LINE__, "admin", "shop", "/api/v1/schedulers/s1/online", NULL, 403},
        {__LINE__, "admin", "shop", "/api/v1/schedulers:forget", "{\"names\":[\"s1\"]}", 403},
        {__LINE__, "admin", NULL, "/api/v1/schedulers:drain", "{\"names\":[\"s1\"]}", 200},
        {__LINE__, "viewer", "shop", "/api/v1/projects/shop/jobs:move", "{\"names\":[\"x\"],\"node\":null}", 403},
        {__LINE__, "operator", "shop", "/api/v1/projects/shop/jobs:move", "{\"names\":[\"x\"],\"node\":null}", 200},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char token[80], name[24];
        (void)snprintf(name, sizeof name, "t%zu", i);
        api_token(api, name, cases[i].role, cases[i].project, 0, token);
        struct answer a = api_call_as(api, token, "POST", cases[i].path, cases[i].body, NULL);
        if (a.status != cases[i].status)
            fail_msg("line %d: %d, not %d: %s", cases[i].line, a.status, cases[i].status, a.text);
        answer_release(&a);
    }
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, api_setup, api_teardown)
    const struct CMUnitTest tests[] = {T(test_what_is_shown), T(test_drain_until_offline), T(test_forget), T(test_move),
                                       T(test_who_may)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
