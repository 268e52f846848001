/* Jobs that change while something is away: deletions, pauses, edits. */
#include "tests/scheduler/check.h"

#define URL_STEP "\"graph\":[{\"step\":\"ping\",\"url\":\"http://127.0.0.1:9000/ping\"}]"

/* Everything was down when its job was deleted: what it promised before that is recorded, and nothing runs. */
static void deletion_while_down(void **state)
{
    (void)state;
    for (int delay = 0; delay < 2; delay++) {
        struct world *w = world_create("2026-03-01T00:00:00.300Z");
        int64_t job = world_put(w, DOCUMENT_JOB, "j",
                                delay ? "{\"triggers\":[{\"delay\":\"1s\"}]," URL_STEP "}"
                                      : "{\"triggers\":[{\"every\":\"1s\",\"align\":true}]," URL_STEP "}");
        (void)world_start(w, 0, true);
        world_run(w, 3500);
        world_kill(w, 0, 0);
        size_t runs = world_runs(w, job, NULL, -1);
        world_run(w, 10000);
        world_delete(w, job);
        instant gone = w->now.wall;
        world_run(w, 10000);
        (void)world_start(w, 0, true);
        world_run(w, 5000);
        assert_int_equal(world_runs(w, job, NULL, -1), runs);
        assert_int_equal(world_skipped(w, job, "deleted"), delay ? 1 : 10);
        const struct activation_row *last = &w->activations.items[w->activations.count - 1];
        assert_int_equal(last->kind, ACTIVATION_DELETE);
        assert_int_equal(last->from.ms, gone.ms);
        world_free(w);
    }
}

/* Everything was down when its job was paused: what was due after that is held back, what was due before it is not. */
static void pause_while_down(void **state)
{
    (void)state;
    struct world *w = world_create("2026-03-01T00:00:00.300Z");
    int64_t job = world_put(
        w, DOCUMENT_JOB, "j",
        "{\"triggers\":[{\"every\":\"1s\",\"align\":true,\"misfire\":\"all\"}],\"overlap\":\"allow\"," URL_STEP "}");
    (void)world_start(w, 0, true);
    world_run(w, 3500);
    world_kill(w, 0, 0);
    size_t runs = world_runs(w, job, NULL, -1);
    world_run(w, 3000);
    (void)world_request(w, &(struct request_row){.kind = REQUEST_PAUSE, .job = job});
    world_run(w, 10000);
    (void)world_start(w, 0, true);
    world_run(w, 5000);
    assert_int_equal(world_runs(w, job, NULL, -1), runs + 3);
    world_free(w);
}

/* … and so it is when the job itself came, or was edited, while everything was down. */
static void pause_after_edit_while_down(void **state)
{
    (void)state;
    for (int edited = 0; edited < 2; edited++) {
        struct world *w = world_create("2026-03-01T00:00:00.300Z");
        int64_t job = 0;
        if (edited) {
            job = world_put(w, DOCUMENT_JOB, "j", "{\"triggers\":[{\"every\":\"1h\",\"align\":true}]," URL_STEP "}");
            (void)world_start(w, 0, true);
            world_run(w, 2000);
            world_kill(w, 0, 0);
        }
        int64_t same = world_put(
            w, DOCUMENT_JOB, "j",
            "{\"triggers\":[{\"every\":\"1s\",\"align\":true,\"misfire\":\"all\"}],\"overlap\":\"allow\"," URL_STEP
            "}");
        assert_true(!edited || same == job);
        world_run(w, 3000);
        (void)world_request(w, &(struct request_row){.kind = REQUEST_PAUSE, .job = same});
        world_run(w, 10000);
        (void)world_start(w, 0, true);
        world_run(w, 5000);
        assert_int_equal(world_runs(w, same, NULL, -1), 3);
        world_free(w);
    }
}

/* A whole job is paused whatever triggers it has, had, or will have. */
static void pause_without_triggers(void **state)
{
    (void)state;
    static const char *const none = "{\"triggers\":[]," URL_STEP "}";
    static const char *const ticks = "{\"triggers\":[{\"every\":\"1s\",\"align\":true}]," URL_STEP "}";
    struct world *w = world_create("2026-03-01T00:00:00.300Z");
    int64_t job = world_put(w, DOCUMENT_JOB, "j", none);
    (void)world_start(w, 0, true);
    world_run(w, 2000);
    (void)world_request(w, &(struct request_row){.kind = REQUEST_PAUSE, .job = job});
    world_run(w, 2000);
    world_kill(w, 0, 0);
    (void)world_start(w, 0, true);
    (void)world_put(w, DOCUMENT_JOB, "j", ticks);
    world_run(w, 5000);
    assert_int_equal(world_runs(w, job, NULL, -1), 0);
    (void)world_put(w, DOCUMENT_JOB, "j", none); /* its trigger leaves a row behind that says paused */
    world_run(w, 1000);
    (void)world_request(w, &(struct request_row){.kind = REQUEST_RESUME, .job = job, .skip_missed = true});
    world_run(w, 1000);
    world_kill(w, 0, 0);
    (void)world_start(w, 0, true);
    (void)world_put(w, DOCUMENT_JOB, "j", ticks);
    world_run(w, 5000);
    assert_true(world_runs(w, job, NULL, -1) >= 4);
    world_free(w);
}

/* `paused: true` is read when the trigger comes to be: with its job, or with the edit that adds it. */
static void trigger_comes_paused(void **state)
{
    (void)state;
    struct world *w = world_create("2026-03-01T00:00:00.300Z");
#define A(paused) "{\"name\":\"a\",\"every\":\"1s\",\"align\":true,\"paused\":" paused "}"
#define B(paused) "{\"name\":\"b\",\"every\":\"1s\",\"align\":true,\"paused\":" paused "}"
    int64_t job = world_put(w, DOCUMENT_JOB, "j", "{\"overlap\":\"allow\",\"triggers\":[" A("false") "]," URL_STEP "}");
    (void)world_start(w, 0, true);
    world_run(w, 3000);
    (void)world_put(w, DOCUMENT_JOB, "j",
                    "{\"overlap\":\"allow\",\"triggers\":[" A("true") "," B("true") "]," URL_STEP "}");
    world_run(w, 3000);
    assert_true(world_runs(w, job, "a", -1) >= 5); /* an edit pauses nothing that is there */
    assert_int_equal(world_runs(w, job, "b", -1), 0);
    (void)world_put(w, DOCUMENT_JOB, "j",
                    "{\"overlap\":\"allow\",\"triggers\":[" A("false") "," B("false") "]," URL_STEP "}");
    world_run(w, 1000);
    world_kill(w, 0, 0);
    (void)world_start(w, 0, true);
    world_run(w, 3000);
    assert_int_equal(world_runs(w, job, "b", -1), 0); /* nor does it resume anything */
    (void)world_request(w,
                        &(struct request_row){.kind = REQUEST_RESUME, .job = job, .trigger = "b", .skip_missed = true});
    world_run(w, 3000);
    assert_true(world_runs(w, job, "b", -1) >= 2);
    world_free(w);
}

/* The store was away for this node, not for whoever edited the job: what is late goes out under the new version. */
static void edit_during_an_outage(void **state)
{
    (void)state;
    struct world *w = world_create("2026-03-01T00:00:00.300Z");
    int64_t job = world_put(
        w, DOCUMENT_JOB, "j",
        "{\"triggers\":[{\"every\":\"1s\",\"align\":true,\"misfire\":\"all\"}],\"overlap\":\"allow\"," URL_STEP "}");
    (void)world_start(w, 0, true);
    world_run(w, 3500);
    w->store_down = true;
    world_run(w, 1000);
    (void)world_put(w, DOCUMENT_JOB, "j",
                    "{\"triggers\":[{\"every\":\"5s\",\"align\":true}],\"overlap\":\"allow\"," URL_STEP "}");
    instant edited = w->now.wall;
    world_run(w, 10000);
    w->store_down = false;
    world_run(w, 10000);
    for (size_t i = 0; i < w->runs.count; i++)
        if (instant_cmp(w->runs.items[i].scheduled_at, instant_add(edited, 1000)) > 0)
            assert_int_equal(w->runs.items[i].version, 2);
    assert_true(world_runs(w, job, NULL, -1) >= 6);
    world_free(w);
}

static void enqueue(struct world *w, int64_t job)
{
    (void)world_request(w, &(struct request_row){.kind = REQUEST_ENQUEUE,
                                                 .job = job,
                                                 .id = run_id_make(day_of(w->now.wall), 999, w->requests.count + 1)});
}

/* What is enqueued after an edit runs as edited, wherever the polls fall; endless edits do not keep it from running. */
static void enqueued_after_an_edit(void **state)
{
    (void)state;
    static const char *const forms[] = {"{\"timeout\":\"1h\"," URL_STEP "}", "{\"timeout\":\"2h\"," URL_STEP "}"};
    for (int64_t moment = 0; moment < 300; moment++) {
        struct world *w = world_create("2026-03-01T00:00:00.300Z");
        int64_t job = world_put(w, DOCUMENT_JOB, "j", forms[0]);
        (void)world_start(w, 0, true);
        world_run(w, 2000 + moment);
        (void)world_put(w, DOCUMENT_JOB, "j", forms[1]);
        enqueue(w, job);
        world_run(w, 600);
        assert_int_equal(w->runs.count, 1);
        assert_int_equal(w->runs.items[0].version, 2);
        world_free(w);
    }
    struct world *w = world_create("2026-03-01T00:00:00.300Z");
    int64_t job = world_put(w, DOCUMENT_JOB, "j", forms[0]);
    (void)world_start(w, 0, true);
    world_run(w, 2000);
    enqueue(w, job);
    for (int i = 1; i < 14; i++) {
        (void)world_put(w, DOCUMENT_JOB, "j", forms[i % 2]);
        world_run(w, 50);
    }
    assert_int_equal(w->runs.count, 1);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deletion_while_down),         cmocka_unit_test(pause_while_down),
        cmocka_unit_test(pause_after_edit_while_down), cmocka_unit_test(pause_without_triggers),
        cmocka_unit_test(trigger_comes_paused),        cmocka_unit_test(edit_during_an_outage),
        cmocka_unit_test(enqueued_after_an_edit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
