/* Circuits and paces: who is called how often when a target does not answer, comes back, or is at its pace. */
#include "tests/scheduler/check.h"

#define START "2026-09-21T10:00:00.000Z"
#define ONE "{\"instances\":[\"h1:1\"],\"tasks\":[{\"name\":\"t\",\"path\":\"/t\"}]}"
#define TWO "{\"instances\":[\"h1:1\",\"h2:1\"],\"tasks\":[{\"name\":\"t\",\"path\":\"/t\"}]}"
#define MANY \
    "{\"overlap\":\"allow\",\"max_parallel\":1000,\"max_in_flight\":1000,\"graph\":[{\"step\":\"s\",\"task\":\"shop/t\"}]}"

static enum dispatch_end h1_ends = DISPATCH_ANSWERED; /* how calls of h1 end now */
static int h1_calls;

static int h1_script(struct world *w, struct world_call *call)
{
    (void)w;
    if (strstr(call->url, "h1:1")) {
        h1_calls++;
        call->end = h1_ends;
    }
    return 5;
}

static void enqueue(struct world *w, int64_t job, int count)
{
    static uint64_t number;
    for (int i = 0; i < count; i++)
        (void)world_request(w, &(struct request_row){.id = run_id_make(day_of(w->now.wall), 77, ++number),
                                                     .kind = REQUEST_ENQUEUE,
                                                     .job = job,
                                                     .scheduled_at = INSTANT_NONE});
}

static int open_calls(const struct world *w)
{
    int open = 0;
    for (size_t i = 0; i < w->calls.count; i++)
        open += w->calls.items[i]->wire != NULL;
    return open;
}

static bool waits_with(const struct world *w, const char *reason)
{
    for (size_t i = 0; i < w->steps.count; i++)
        if (w->steps.items[i].state == STEP_WAITING && w->steps.items[i].reason &&
            !strcmp(w->steps.items[i].reason, reason))
            return true;
    return false;
}

static struct world *begin(const char *application)
{
    struct world *w = world_create(START);
    h1_ends = DISPATCH_ANSWERED;
    h1_calls = 0;
    w->script = h1_script;
    (void)world_put(w, DOCUMENT_APPLICATION, "shop", application);
    return w;
}

/* Answers that do not come: five in a row, then probes alone, 1, 2, 4, 8 … s apart. */
static void lost_answers_open_the_circuit(void **state)
{
    (void)state;
    struct world *w = begin(TWO);
    h1_ends = DISPATCH_UNKNOWN;
    int64_t job = world_put(w, DOCUMENT_JOB, "j",
                            "{\"triggers\":[{\"every\":\"200ms\",\"align\":true}],\"overlap\":\"allow\",\"graph\":"
                            "[{\"step\":\"s\",\"task\":\"shop/t\"}]}");
    (void)world_start(w, 0, true);
    world_run(w, 31000);
    assert_true(h1_calls >= 5 + 4 && h1_calls <= 5 + 6);
    h1_ends = DISPATCH_ANSWERED;
    world_run(w, 40000);
    assert_true(h1_calls > 60); /* and it has its share again */
    assert_true(world_runs(w, job, NULL, RUN_FAILED) <= 11);
    world_free(w);
}

/* Nobody else is there: the work waits, says why, and goes on with the probe that is answered. */
static void work_waits_for_a_target_that_is_down(void **state)
{
    (void)state;
    struct world *w = begin(ONE);
    h1_ends = DISPATCH_NOT_SENT;
    int64_t job = world_put(w, DOCUMENT_JOB, "j", MANY);
    (void)world_start(w, 0, true);
    world_run(w, 1000);
    enqueue(w, job, 1);
    world_run(w, 500);
    enqueue(w, job, 20);
    world_run(w, 20000);
    assert_true(waits_with(w, "target_down"));
    assert_true(h1_calls <= 7); /* 21 runs wait, one call at a time tries */
    h1_ends = DISPATCH_ANSWERED;
    world_run(w, 20000);
    assert_int_equal(world_runs(w, job, NULL, RUN_SUCCEEDED), 21);
    world_free(w);
}

/* It has come back: few calls at first, all that it may have after ten seconds. */
static void slow_start(void **state)
{
    (void)state;
    struct world *w = begin(ONE);
    h1_ends = DISPATCH_NOT_SENT;
    w->settings.dispatch.max_per_instance = 100;
    int64_t job = world_put(w, DOCUMENT_JOB, "j", MANY);
    (void)world_start(w, 0, true);
    world_run(w, 1000);
    enqueue(w, job, 1);
    world_run(w, 600);
    h1_ends = DISPATCH_ANSWERED;
    world_run(w, 900); /* the probe */
    assert_int_equal(world_runs(w, job, NULL, RUN_SUCCEEDED), 1);
    w->script = NULL;
    w->call_ms = 60000; /* they stay open, so that they can be counted */
    enqueue(w, job, 200);
    world_run(w, 1000);
    int early = open_calls(w);
    assert_true(early >= 1 && early <= 25);
    world_run(w, 4000);
    int later = open_calls(w);
    assert_true(later > early && later <= 70);
    world_run(w, 7000);
    assert_int_equal(open_calls(w), 100);
    assert_int_equal(world_runs(w, job, NULL, RUN_QUEUED), 100);
    size_t told = 0;
    for (size_t i = 0; i < w->runs.count; i++)
        told += w->runs.items[i].state == RUN_QUEUED && w->runs.items[i].reason &&
                !strcmp(w->runs.items[i].reason, "instance_limit");
    assert_true(told >= 1); /* whoever asks why is told */
    world_free(w);
}

/* Ten a second and host: what is over waits with its reason, and nothing is dropped. */
static void pace_of_a_host(void **state)
{
    (void)state;
    struct world *w = begin(ONE);
    w->settings.dispatch.max_rate_per_host = 10;
    int64_t job = world_put(w, DOCUMENT_JOB, "j", MANY);
    int64_t direct = world_put(
        w, DOCUMENT_JOB, "d",
        "{\"overlap\":\"allow\",\"max_parallel\":1000,\"graph\":[{\"step\":\"s\",\"url\":\"http://h1:2/x\"}]}");
    (void)world_start(w, 0, true);
    world_run(w, 1000);
    enqueue(w, job, 30);
    enqueue(w, direct, 20);
    world_run(w, 2000);
    assert_true(w->calls.count >= 15 && w->calls.count <= 24);
    world_run(w, 5000);
    assert_int_equal(world_runs(w, job, NULL, RUN_SUCCEEDED), 30);
    assert_int_equal(world_runs(w, direct, NULL, RUN_SUCCEEDED), 20);
    for (size_t i = 0; i + 12 < w->calls.count; i++) /* never more than ten and the slack within a second */
        assert_true(instant_sub(w->calls.items[i + 12]->at, w->calls.items[i]->at) >= 900);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lost_answers_open_the_circuit),
        cmocka_unit_test(work_waits_for_a_target_that_is_down),
        cmocka_unit_test(slow_start),
        cmocka_unit_test(pace_of_a_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
