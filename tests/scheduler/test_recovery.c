/* Kills, take-overs, fences: nothing missing, nothing doubled. */
#include "tests/scheduler/check.h"

#define URL_STEP "\"graph\":[{\"step\":\"ping\",\"url\":\"http://127.0.0.1:9000/ping\"}]"
#define TICK "{\"triggers\":[{\"every\":\"1s\",\"align\":true}]," URL_STEP "}"

static void no_instant_twice(const struct world *w)
{
    for (size_t i = 0; i < w->runs.count; i++)
        for (size_t k = i + 1; k < w->runs.count; k++)
            if (w->runs.items[i].job == w->runs.items[k].job && w->runs.items[i].generation == 0 &&
                w->runs.items[k].generation == 0)
                assert_int_not_equal(w->runs.items[i].scheduled_at.ms, w->runs.items[k].scheduled_at.ms);
    for (size_t i = 0; i < w->skips.count; i++)
        for (size_t k = 0; k < w->runs.count; k++)
            if (w->runs.items[k].job == w->skips.items[i].job && w->runs.items[k].generation == 0)
                assert_false(w->runs.items[k].scheduled_at.ms >= w->skips.items[i].from.ms &&
                             w->runs.items[k].scheduled_at.ms <= w->skips.items[i].to.ms);
}

/* Every instant of `every 1s` in [from, to] is a run or in a skip. */
static void each_second_has_an_outcome(const struct world *w, int64_t job, int64_t from, int64_t to)
{
    for (int64_t at = from; at <= to; at += 1000) {
        bool found = world_run_at(w, job, (instant){at}) != NULL;
        for (size_t i = 0; i < w->skips.count && !found; i++)
            found = w->skips.items[i].job == job && at >= w->skips.items[i].from.ms && at <= w->skips.items[i].to.ms;
        if (!found)
            fail_msg("instant %lld has no outcome", (long long)at);
    }
}

static void restart_within_threshold(void **state)
{
    (void)state;
    struct world *w = world_create("2026-03-01T00:00:00.300Z");
    int64_t job = world_put(w, DOCUMENT_JOB, "tick", TICK);
    (void)world_start(w, 0, true);
    world_run(w, 5000);
    world_kill(w, 0, 0);
    world_run(w, 7000);
    (void)world_start(w, 0, true);
    world_run(w, 5000);
    assert_int_equal(world_runs(w, job, NULL, RUN_SUCCEEDED), 17);
    assert_int_equal(w->activations.count, 1);
    no_instant_twice(w);
    assert_true(w->boots.items[0].fenced);
    world_free(w);
}

static void restart_after_long(void **state)
{
    (void)state;
    struct world *w = world_create("2026-03-01T00:00:00.300Z");
    int64_t job = world_put(w, DOCUMENT_JOB, "tick", TICK);
    (void)world_start(w, 0, true);
    world_run(w, 5000);
    world_kill(w, 0, 0);
    world_run(w, 600000);
    (void)world_start(w, 0, true);
    world_run(w, 100000);
    each_second_has_an_outcome(w, job, world_instant("2026-03-01T00:00:01Z").ms,
                               world_instant("2026-03-01T00:11:30Z").ms);
    no_instant_twice(w);
    assert_true(world_skipped(w, job, "misfire") > 400);
    world_free(w);
}

static int slow(struct world *w, struct world_call *call)
{
    (void)w;
    (void)call;
    return 3000;
}

static void kill_in_the_middle_of_a_call(void **state)
{
    (void)state;
    struct world *w = world_create("2026-03-01T00:00:00.300Z");
    w->script = slow;
    int64_t job = world_put(w, DOCUMENT_JOB, "once", "{\"triggers\":[{\"at\":\"2026-03-01T00:00:02Z\"}]," URL_STEP "}");
    (void)world_start(w, 0, true);
    world_run(w, 2500);
    assert_int_equal(w->calls.count, 1);
    world_kill(w, 0, 0);
    (void)world_start(w, 0, true);
    world_run(w, 10000);
    assert_int_equal(world_runs(w, job, NULL, RUN_SUCCEEDED), 1);
    assert_int_equal(w->runs.count, 1);
    assert_int_equal(w->calls.count, 2);
    assert_string_equal(w->calls.items[0]->key, w->calls.items[1]->key); /* its outcome was not known: the same key */
    assert_string_not_equal(w->calls.items[0]->epoch, w->calls.items[1]->epoch);
    world_free(w);
}

static void reply_of_adoption_lost(void **state)
{
    (void)state;
    struct world *w = world_create("2026-03-01T00:00:00.300Z");
    w->script = slow;
    int64_t job = world_put(w, DOCUMENT_JOB, "once", "{\"triggers\":[{\"at\":\"2026-03-01T00:00:02Z\"}]," URL_STEP "}");
    (void)world_start(w, 0, true);
    world_run(w, 2500);
    world_kill(w, 0, 0);
    w->lose_adopt = true;
    (void)world_start(w, 0, true);
    world_run(w, 10000);
    assert_false(w->lose_adopt);
    assert_int_equal(world_runs(w, job, NULL, RUN_SUCCEEDED), 1);
    assert_int_equal(w->calls.count, 2);
    world_free(w);
}

static void survivor_takes_over(void **state)
{
    (void)state;
    struct world *w = world_create("2026-03-01T00:00:00.300Z");
    int64_t jobs[8];
    for (int i = 0; i < 8; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "t%d", i);
        jobs[i] = world_put(w, DOCUMENT_JOB, name, TICK);
    }
    (void)world_start(w, 0, false);
    (void)world_start(w, 1, false);
    world_run(w, 5000);
    world_kill(w, 0, 6000);
    world_run(w, 10000);
    for (int i = 0; i < 8; i++)
        each_second_has_an_outcome(w, jobs[i], world_instant("2026-03-01T00:00:01Z").ms,
                                   world_instant("2026-03-01T00:00:20Z").ms);
    no_instant_twice(w);
    for (int i = 0; i < WORLD_SLOTS; i++)
        assert_int_equal(w->slots[i].owner, w->nodes[1].self.boot);
    world_free(w);
}

static void fenced_stops(void **state)
{
    (void)state;
    struct world *w = world_create("2026-03-01T00:00:00.300Z");
    (void)world_put(w, DOCUMENT_JOB, "tick", TICK);
    struct scheduler *s = world_start(w, 0, false);
    world_run(w, 3000);
    size_t calls = w->calls.count;
    w->boots.items[0].fenced = true;
    world_run(w, 3000);
    assert_int_equal(scheduler_state(s), SCHEDULER_FENCED);
    assert_int_equal(w->calls.count, calls);
    world_free(w);
}

static void lost_slot_is_not_fired(void **state)
{
    (void)state;
    struct world *w = world_create("2026-03-01T00:00:00.300Z");
    int64_t job = world_put(w, DOCUMENT_JOB, "tick", TICK);
    (void)world_start(w, 0, false);
    world_run(w, 3000);
    size_t runs = world_runs(w, job, NULL, -1), calls = w->calls.count;
    for (int i = 0; i < WORLD_SLOTS; i++) {
        w->slots[i].owner = 99; /* a successor that nobody told us of */
        w->slots[i].czxid += 1000;
    }
    world_run(w, 3000);
    assert_int_equal(world_runs(w, job, NULL, -1), runs);
    assert_int_equal(w->calls.count, calls);
    world_free(w);
}

static void drain_hands_over(void **state)
{
    (void)state;
    struct world *w = world_create("2026-03-01T00:00:00.300Z");
    int64_t job = world_put(w, DOCUMENT_JOB, "tick", TICK);
    struct scheduler *s = world_start(w, 0, false);
    world_run(w, 3000);
    (void)world_start(w, 1, false);
    world_run(w, 2000);
    scheduler_drain(s, w->now);
    w->nodes[0].wake = 0;
    world_run(w, 8000);
    assert_int_equal(scheduler_state(s), SCHEDULER_STOPPED);
    each_second_has_an_outcome(w, job, world_instant("2026-03-01T00:00:01Z").ms,
                               world_instant("2026-03-01T00:00:13Z").ms);
    assert_int_equal(world_skipped(w, job, "misfire"), 0);
    no_instant_twice(w);
    world_free(w);
}

static void drain_leaves_what_waits(void **state)
{
    (void)state;
    struct world *w = world_create("2026-03-01T00:00:00.300Z");
    w->script = slow;
    int64_t job = world_put(w, DOCUMENT_JOB, "j",
                            "{\"triggers\":[{\"every\":\"2s\",\"align\":true,\"max_fires\":2}]," URL_STEP "}");
    struct scheduler *s = world_start(w, 0, true);
    world_run(w, 4200); /* one runs, one waits */
    assert_int_equal(world_runs(w, job, NULL, RUN_QUEUED), 1);
    scheduler_drain(s, w->now);
    w->nodes[0].wake = 0;
    world_run(w, 2000);
    assert_int_equal(scheduler_state(s), SCHEDULER_STOPPED);
    assert_int_equal(world_runs(w, job, NULL, RUN_SUCCEEDED), 1);
    world_stop(w, 0);
    (void)world_start(w, 0, true);
    world_run(w, 5000);
    assert_int_equal(world_runs(w, job, NULL, RUN_SUCCEEDED), 2);
    assert_int_equal(w->calls.count, 2);
    world_free(w);
}

static void session_lost_misses_nothing(void **state)
{
    (void)state;
    struct world *w = world_create("2026-03-01T00:00:00.300Z");
    int64_t jobs[8];
    for (int i = 0; i < 8; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "t%d", i);
        jobs[i] = world_put(w, DOCUMENT_JOB, name, TICK);
    }
    (void)world_start(w, 0, false);
    (void)world_start(w, 1, false);
    world_run(w, 5000);
    int64_t owners[WORLD_SLOTS];
    for (int i = 0; i < WORLD_SLOTS; i++)
        owners[i] = w->slots[i].owner;
    world_lose_session(w, 0, 1000); /* the whole service was away: both sessions are gone */
    world_lose_session(w, 1, 2500);
    world_run(w, 15000);
    for (int i = 0; i < 8; i++)
        each_second_has_an_outcome(w, jobs[i], world_instant("2026-03-01T00:00:01Z").ms,
                                   world_instant("2026-03-01T00:00:20Z").ms);
    no_instant_twice(w);
    assert_int_equal(w->skips.count, 0);
    for (int i = 0; i < WORLD_SLOTS; i++) {
        assert_int_equal(w->slots[i].owner, owners[i]);
        assert_true(w->claims[i] != 0);
        assert_int_equal(w->slots[i].czxid, w->claims[i]);
    }
    assert_false(w->boots.items[0].fenced);
    assert_false(w->boots.items[1].fenced);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(restart_within_threshold),     cmocka_unit_test(restart_after_long),
        cmocka_unit_test(kill_in_the_middle_of_a_call), cmocka_unit_test(reply_of_adoption_lost),
        cmocka_unit_test(survivor_takes_over),          cmocka_unit_test(fenced_stops),
        cmocka_unit_test(lost_slot_is_not_fired),       cmocka_unit_test(drain_hands_over),
        cmocka_unit_test(session_lost_misses_nothing),  cmocka_unit_test(drain_leaves_what_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
