/* What must be known after an edit, a restart, a hand-over, a set clock: cursors, counts, pauses, ends that a delay
 * counts from. */
#include "tests/scheduler/check.h"

#define URL_STEP "\"graph\":[{\"step\":\"ping\",\"url\":\"http://127.0.0.1:9000/ping\"}]"
#define START "2026-03-01T00:00:00.300Z"

static int64_t call_time;

static int takes(struct world *w, struct world_call *call)
{
    (void)w;
    (void)call;
    return (int)call_time;
}

static int outcomes_at(const struct world *w, int64_t at)
{
    int n = 0;
    for (size_t i = 0; i < w->runs.count; i++)
        n += w->runs.items[i].scheduled_at.ms == at;
    for (size_t i = 0; i < w->skips.count; i++)
        n += at >= w->skips.items[i].from.ms && at <= w->skips.items[i].to.ms;
    return n;
}

/* The store's clock is ahead: a pause begins at an instant that is still to come here. */
static void pause_from_the_future(void **state)
{
    (void)state;
    for (span when = 0; when < 100; when += 10) {
        struct world *w = world_create(START);
        int64_t job =
            world_put(w, DOCUMENT_JOB, "j",
                      "{\"triggers\":[{\"every\":\"100ms\",\"align\":true}],\"overlap\":\"allow\"," URL_STEP "}");
        w->nodes[0].skew = -700;
        (void)world_start(w, 0, true);
        world_run(w, 5000 + when);
        (void)world_request(w, &(struct request_row){.kind = REQUEST_PAUSE, .job = job});
        world_run(w, 2000);
        world_kill(w, 0, 0);
        (void)world_start(w, 0, true);
        world_run(w, 2000);
        (void)world_request(w, &(struct request_row){.kind = REQUEST_RESUME, .job = job, .skip_missed = true});
        world_run(w, 2000);
        int64_t last = w->runs.items[w->runs.count - 1].scheduled_at.ms;
        assert_true(world_skipped(w, job, "paused") > 30);
        for (int64_t at = (w->activations.items[0].from.ms + 99) / 100 * 100; at <= last; at += 100)
            assert_int_equal(outcomes_at(w, at), 1);
        world_free(w);
    }
}

/* Its run was finished by somebody who did not own the slot: the end stands in the history alone. */
static void delay_asks_the_history(void **state)
{
    (void)state;
    struct world *w = world_create(START);
    int64_t job = world_put(w, DOCUMENT_JOB, "j", "{\"triggers\":[{\"delay\":\"10s\"}]," URL_STEP "}");
    (void)world_start(w, 0, true);
    world_run(w, 13000);
    assert_int_equal(world_runs(w, job, NULL, RUN_SUCCEEDED), 1);
    world_kill(w, 0, 0);
    w->states.count = 0;
    (void)world_start(w, 0, true);
    world_run(w, 20000);
    assert_true(world_runs(w, job, NULL, -1) >= 2);
    assert_int_equal(instant_sub(w->runs.items[1].scheduled_at, w->runs.items[0].ended_at), 10000);
    world_free(w);
}

static void delay_over_a_hand_over(void **state)
{
    (void)state;
    for (span end = 0; end < 2000; end += 50) {
        struct world *w = world_create(START);
        call_time = 4000 + end;
        w->script = takes;
        int64_t job = world_put(w, DOCUMENT_JOB, "j", "{\"triggers\":[{\"delay\":\"2s\"}]," URL_STEP "}");
        struct scheduler *first = world_start(w, 0, false);
        world_run(w, 4000);
        (void)world_start(w, 1, false);
        world_run(w, 2000);
        assert_int_equal(world_runs(w, job, NULL, RUN_RUNNING), 1);
        scheduler_drain(first, w->now);
        w->nodes[0].wake = w->now.mono.ms;
        world_run(w, 20000);
        assert_true(world_runs(w, job, NULL, -1) >= 3);
        for (size_t i = 1; i < w->runs.count; i++)
            assert_int_equal(instant_sub(w->runs.items[i].scheduled_at, w->runs.items[i - 1].ended_at), 2000);
        world_free(w);
    }
}

/* A reader behind the trim of the feed loads anew, and misses neither what was edited nor what was deleted. */
static void feed_was_trimmed(void **state)
{
    (void)state;
    struct world *w = world_create(START);
    static const char *const spec = "{\"triggers\":[{\"every\":\"1s\",\"align\":true}]," URL_STEP "}";
    int64_t edited = world_put(w, DOCUMENT_JOB, "j", spec), deleted = world_put(w, DOCUMENT_JOB, "k", spec);
    (void)world_start(w, 0, true);
    world_run(w, 5500);
    w->store_down = true;
    world_run(w, 1000);
    (void)world_put(w, DOCUMENT_JOB, "j", "{\"triggers\":[{\"every\":\"5s\",\"align\":true}]," URL_STEP "}");
    world_delete(w, deleted);
    w->trimmed = (int64_t)w->changes.count;
    world_run(w, 1000);
    w->store_down = false;
    world_run(w, 5000);
    size_t runs = world_runs(w, deleted, NULL, -1);
    world_run(w, 10000);
    assert_int_equal(world_runs(w, deleted, NULL, -1), runs);
    assert_true(world_runs(w, edited, NULL, -1) <= 8 + 3); /* the first ones until the store was back */
    assert_int_equal(w->activations.count, 4);
    world_free(w);
}

static void older_than_retention(void **state)
{
    (void)state;
    struct world *w = world_create(START);
    w->settings.retention.runs = SPAN_HOUR;
    int64_t job = world_put(
        w, DOCUMENT_JOB, "j",
        "{\"triggers\":[{\"every\":\"10m\",\"align\":true,\"misfire\":\"all\",\"max_age\":\"48h\"}]," URL_STEP "}");
    (void)world_start(w, 0, true);
    world_run(w, 5000);
    world_kill(w, 0, 0);
    world_run(w, 3 * SPAN_HOUR);
    (void)world_start(w, 0, true);
    world_run(w, 60000);
    assert_int_equal(world_runs(w, job, NULL, -1), 6);
    assert_int_equal(world_skipped(w, job, "expired"), 12);
    world_free(w);
}

/* The slot may be marked as decided beyond an edit that nobody knew of: what the edit has promised by the time of its
 * activation commits together with that, or a crash would lose it. */
static void an_edit_brings_its_instants(void **state)
{
    (void)state;
    struct world *w = world_create(START);
    (void)world_start(w, 0, true);
    world_run(w, 2020);
    int64_t job = world_put(w, DOCUMENT_JOB, "j",
                            "{\"overlap\":\"allow\",\"max_parallel\":100,\"triggers\":[{\"every\":"
                            "\"20ms\",\"align\":true}]," URL_STEP "}");
    for (int i = 0; i < 2000 && w->activations.count == 0; i++)
        world_run(w, 1);
    assert_int_equal(w->activations.count, 1);
    world_kill(w, 0, 0);
    for (int i = 0; i < WORLD_SLOTS; i++)
        w->slots[i].decided = w->now.wall;
    int64_t promised = (w->now.wall.ms - w->activations.items[0].from.ms) / 20;
    assert_true(promised > 3);
    assert_true((int64_t)world_runs(w, job, NULL, -1) >= promised - 1); /* but what came while it committed */
    world_free(w);
}

static void a_limit_counts_from_its_edit(void **state)
{
    (void)state;
    struct world *w = world_create(START);
    int64_t job = world_put(w, DOCUMENT_JOB, "j", "{\"triggers\":[{\"every\":\"1s\",\"align\":true}]," URL_STEP "}");
    (void)world_start(w, 0, true);
    world_run(w, 5500);
    (void)world_put(w, DOCUMENT_JOB, "j",
                    "{\"triggers\":[{\"every\":\"1s\",\"align\":true,\"max_fires\":3}]," URL_STEP "}");
    world_run(w, 1000);
    world_kill(w, 0, 0);
    (void)world_start(w, 0, true);
    world_run(w, 10000);
    assert_int_equal(world_runs(w, job, NULL, -1), 5 + 3);
    world_free(w);
}

/* Its pause went with the version that had it; a restart must not bring that back. */
static void a_trigger_that_comes_back(void **state)
{
    (void)state;
    static const char *const with = "{\"triggers\":[{\"name\":\"a\",\"every\":\"1s\",\"align\":true}]," URL_STEP "}";
    struct world *w = world_create(START);
    int64_t job = world_put(w, DOCUMENT_JOB, "j", with);
    (void)world_start(w, 0, true);
    world_run(w, 2500);
    (void)world_request(w, &(struct request_row){.kind = REQUEST_PAUSE, .job = job, .trigger = "a"});
    world_run(w, 2000);
    (void)world_put(w, DOCUMENT_JOB, "j", "{\"triggers\":[]," URL_STEP "}");
    world_run(w, 1000);
    (void)world_put(w, DOCUMENT_JOB, "j", with);
    world_run(w, 3000);
    size_t runs = world_runs(w, job, NULL, -1);
    assert_true(runs >= 4);
    world_kill(w, 0, 0);
    (void)world_start(w, 0, true);
    world_run(w, 5000);
    assert_true(world_runs(w, job, NULL, -1) >= runs + 4);
    world_free(w);
}

/* The trigger is gone with the edit, but what it promised until then is decided all the same. */
static void trigger_dropped_while_down(void **state)
{
    (void)state;
    struct world *w = world_create(START);
    int64_t job = world_put(w, DOCUMENT_JOB, "j",
                            "{\"triggers\":[{\"name\":\"a\",\"every\":\"1s\",\"align\":true}]," URL_STEP "}");
    (void)world_start(w, 0, true);
    world_run(w, 5000);
    world_kill(w, 0, 0);
    world_run(w, 5000);
    (void)world_put(w, DOCUMENT_JOB, "j",
                    "{\"triggers\":[{\"name\":\"b\",\"every\":\"4s\",\"align\":true}]," URL_STEP "}");
    world_run(w, 5000);
    (void)world_start(w, 0, true);
    world_run(w, 5000);
    assert_int_equal(world_runs(w, job, "a", -1), 10);
    assert_int_equal(world_runs(w, job, "b", -1), 3);
    world_free(w);
}

/* Somebody sets the clock of the machine: no deadline passes by that, whenever it happens. */
static void clock_is_set(void **state)
{
    (void)state;
    for (span when = 0; when < 300; when++) {
        struct world *w = world_create(START);
        call_time = 15000;
        w->script = takes;
        int64_t job = world_put(w, DOCUMENT_JOB, "j",
                                "{\"triggers\":[{\"at\":\"2026-03-01T00:00:02Z\"}],\"timeout\":\"30m\"," URL_STEP "}");
        int64_t early =
            world_put(w, DOCUMENT_JOB, "k", "{\"triggers\":[{\"at\":\"2026-03-01T01:00:00Z\"}]," URL_STEP "}");
        (void)world_start(w, 0, true);
        world_run(w, 9900 + when); /* the boot row is read every ten seconds */
        w->nodes[0].skew = SPAN_HOUR;
        world_run(w, 10000);
        assert_int_equal(world_runs(w, job, NULL, RUN_SUCCEEDED), 1);
        assert_int_equal(world_runs(w, early, NULL, -1), 0);
        assert_true(instant_sub(w->runs.items[0].ended_at, w->runs.items[0].started_at) < 16000);
        world_free(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pause_from_the_future),        cmocka_unit_test(delay_asks_the_history),
        cmocka_unit_test(delay_over_a_hand_over),       cmocka_unit_test(feed_was_trimmed),
        cmocka_unit_test(older_than_retention),         cmocka_unit_test(an_edit_brings_its_instants),
        cmocka_unit_test(a_limit_counts_from_its_edit), cmocka_unit_test(a_trigger_that_comes_back),
        cmocka_unit_test(trigger_dropped_while_down),   cmocka_unit_test(clock_is_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
