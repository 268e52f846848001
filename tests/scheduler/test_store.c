/* The store away, slow of word, or silent after a COMMIT. */
#include "tests/scheduler/check.h"

#define URL_STEP "\"graph\":[{\"step\":\"ping\",\"url\":\"http://127.0.0.1:9000/ping\"}]"
#define TICK "{\"triggers\":[{\"every\":\"1s\",\"align\":true}]," URL_STEP "}"

struct row {
    int line;
    enum status status;
    bool commits;
    int batches;
};

static void batch_faults(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {__LINE__, STATUS_UNAVAILABLE, false, 3}, {__LINE__, STATUS_UNKNOWN, false, 1},
        {__LINE__, STATUS_UNKNOWN, true, 1},      {__LINE__, STATUS_UNKNOWN, true, 4},
        {__LINE__, STATUS_FULL, false, 5},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct world *w = world_create("2026-03-01T00:00:00.300Z");
        int64_t job = world_put(w, DOCUMENT_JOB, "tick", TICK);
        (void)world_start(w, 0, true);
        world_run(w, 2500);
        w->fail_batches = rows[i].batches;
        w->fail_status = rows[i].status;
        w->fail_commits = rows[i].commits;
        world_run(w, 15000);
        if (world_runs(w, job, NULL, RUN_SUCCEEDED) != 17 || w->calls.count != 17 || w->runs.count != 17)
            fail_msg("row %d: %zu runs, %zu skips, %zu succeeded, %zu calls", rows[i].line, w->runs.count,
                     w->skips.count, world_runs(w, job, NULL, RUN_SUCCEEDED), w->calls.count);
        world_free(w);
    }
}

static void nothing_is_sent_while_away(void **state)
{
    (void)state;
    struct world *w = world_create("2026-03-01T00:00:00.300Z");
    int64_t job = world_put(w, DOCUMENT_JOB, "tick", TICK);
    struct scheduler *s = world_start(w, 0, true);
    world_run(w, 3500);
    size_t calls = w->calls.count;
    w->store_down = true;
    world_run(w, 20000);
    assert_int_equal(w->calls.count, calls);
    assert_false(scheduler_ready(s, NULL));
    w->store_down = false;
    world_run(w, 10000);
    assert_int_equal(world_runs(w, job, NULL, RUN_SUCCEEDED), 33); /* late, within the threshold: each runs */
    assert_true(scheduler_ready(s, NULL));
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batch_faults),
        cmocka_unit_test(nothing_is_sent_while_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
