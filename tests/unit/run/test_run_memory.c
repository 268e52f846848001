/* Memory runs out at every single allocation in turn: nothing is half done, and a second try works. (Leaks are found by
 * the build with the address sanitizer.) */
#include "tests/unit/memory.h"
#include "tests/unit/run/support.h"

static struct step_spec steps[4];
static struct edge_spec edges[2] = {{.from = 0}, {.from = 1}};

static void make(struct bench *b)
{
    *b = (struct bench){.where = "memory", .job = {.steps = steps, .step_count = 4}};
    steps[0] = step_defaults("a");
    steps[1] = step_defaults("b");
    steps[2] = step_defaults("c");
    steps[2].after = edges;
    steps[2].after_count = 2;
    steps[2].params = "{\"x\":\"${steps.a.result.x}\"}";
    steps[3] = step_defaults("d");
    steps[3].routing = ROUTE_BROADCAST;
    (void)bench_add_task(b, "app/t");
    bench_instance(b, "h1", true, false);
    bench_create(b);
}

#define EVENTS 12

/* The k-th event of a small life. */
static struct run_event event_of(const struct bench *b, int k)
{
    struct run_event end;
    switch (k) {
    case 0:
        return (struct run_event){.kind = RUN_EVENT_START};
    case 1:
    case 2:
        return (struct run_event){
            .kind = RUN_EVENT_ATTEMPT,
            .attempt = {.step = k == 1 ? "a" : "b", .n = 1, .key_try = 1, .instance = "h1", .node = "s1"}};
    case 3:
        end = end_event(b->run, "a", CALL_SUCCESS);
        end.attempt.result = "{\"x\":1}";
        return end;
    case 4:
        return (struct run_event){.kind = RUN_EVENT_DRIVER, .boot = 9, .node = "s9"};
    case 5:
        return (struct run_event){.kind = RUN_EVENT_STEP,
                                  .step = {.step = "b", .state = STEP_WAITING, .reason = "no_instance"}};
    case 6:
        return (struct run_event){.kind = RUN_EVENT_STEP,
                                  .step = {.step = "d", .state = STEP_RUNNING, .items = "[\"h1\",\"h2\"]"}};
    case 7:
        return (struct run_event){
            .kind = RUN_EVENT_ATTEMPT,
            .attempt = {.step = "d", .item = 2, .n = 1, .key_try = 1, .instance = "h2", .node = "s9"}};
    case 8:
        return (struct run_event){.kind = RUN_EVENT_DRIVER, .boot = 10, .node = "s10"};
    case 9:
        return (struct run_event){.kind = RUN_EVENT_CANCEL, .reason = "canceled"};
    case 10:
        return (struct run_event){
            .kind = RUN_EVENT_STEP,
            .step = {.step = "b", .state = STEP_CANCELED, .reason = "canceled", .error = "e", .result = "1"}};
    default:
        return (struct run_event){
            .kind = RUN_EVENT_END, .state = RUN_CANCELED, .reason = "canceled", .error_code = "C", .error_args = "{}"};
    }
}

/* A second run that has seen the same events, to compare with. */
static struct run *twin_of(struct bench *b)
{
    struct run *twin;
    struct error err;
    assert_int_equal(run_replay(&b->rows.run, &b->job, b->rows.steps, b->rows.step_count, b->rows.attempts,
                                b->rows.attempt_count, &twin, &err),
                     STATUS_OK);
    return twin;
}

static void try_apply(struct bench *b, int k)
{
    struct run *before = twin_of(b);
    for (long n = 0;; n++) {
        struct error err;
        struct run_event event = event_of(b, k);
        event.at = b->now;
        memory_fail_at(n);
        enum status status = run_apply(b->run, &event, &err);
        bool reached = memory_requests > n;
        memory_fail_at(-1);
        if (status == STATUS_OK && !reached)
            break; /* it needs no more than n allocations */
        assert_int_equal(status, STATUS_NO_MEMORY);
        if (!run_equal(b->run, before, &err) || run_check(b->run, &err) != STATUS_OK)
            fail_msg("event %d, allocation %ld: %s", k, n, err.text);
    }
    run_free(before);
}

static void try_effects(struct bench *b)
{
    struct run_effect effects[4];
    for (long n = 0; n < 40; n++) {
        memory_fail_at(n);
        (void)bench_effects(b, effects, 4); /* fewer effects, or the same; no crash */
        memory_fail_at(-1);
    }
}

static void try_replay(struct bench *b)
{
    for (long n = 0;; n++) {
        struct run *run = NULL;
        struct error err;
        memory_fail_at(n);
        enum status status = run_replay(&b->rows.run, &b->job, b->rows.steps, b->rows.step_count, b->rows.attempts,
                                        b->rows.attempt_count, &run, &err);
        bool reached = memory_requests > n;
        memory_fail_at(-1);
        if (status == STATUS_OK && !reached) {
            run_free(run);
            return;
        }
        if (status != STATUS_NO_MEMORY)
            fail_msg("allocation %ld: %s", n, status ? err.text : "nobody noticed");
        assert_null(run);
    }
}

static void test_every_allocation(void **state)
{
    (void)state;
    struct bench b;
    make(&b);
    for (int k = 0; k < EVENTS; k++) {
        try_apply(&b, k); /* ends with the event applied: the rows follow */
        keep_changes(&b, -1, k == 1 || k == 2 ? NULL : b.run->row.start);
        try_effects(&b);
        try_replay(&b);
    }
    assert_int_equal(b.run->row.state, RUN_CANCELED);
    bench_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_allocation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
