/* The hot path: what a batch writes, what it leaves out, what it refuses. */
#include "tests/contract/store/kit.h"

struct world {
    struct store *store;
    int64_t boot, job;
    int32_t slot;
    instant now;
};

static struct world begin(void **state)
{
    struct world w = {.store = *state};
    w.boot = kit_boot(w.store, "n1");
    w.job = kit_job(w.store, "job", &w.slot);
    (void)kit_take(w.store, w.boot, w.slot, 10);
    w.now = kit_now(w.store);
    return w;
}

static struct store_op read_run(struct store *store, int64_t id)
{
    OP(op, STORE_RUN_READ);
    op.run_read.id = id;
    DO(store, &op);
    return op;
}

static void test_fire_is_written_whole(void **state)
{
    struct world w = begin(state);
    struct store_fire fire = {.run = kit_run(w.job, w.slot, w.boot, "a", w.now, 1)};
    fire.run.params = "{\"n\":18446744073709551616,\"t\":\"日本 \\u0001 \xf0\x9f\x94\x94\"}";
    fire.run.due_at = instant_add(w.now, 500);
    fire.run.reason = "jitter";
    fire.run.retry_of = 7;
    fire.run.retry_no = 2;
    fire.run.family = 5;
    assert_int_equal(kit_fire(w.store, w.boot, &fire, 1), STATUS_OK);
    assert_int_equal(fire.outcome, OUTCOME_DONE);
    struct store_op op = read_run(w.store, fire.run.id);
    const struct run_row *run = &op.run_read.run;
    assert_int_equal(run->id, fire.run.id);
    assert_int_equal(run->job, w.job);
    assert_int_equal(run->scheduled_at.ms, w.now.ms);
    assert_int_equal(run->due_at.ms, w.now.ms + 500);
    assert_true(instant_is_none(run->started_at));
    assert_true(instant_is_none(run->ended_at));
    assert_string_equal(run->params, fire.run.params);
    assert_string_equal(run->start, fire.run.start);
    assert_string_equal(run->trigger, "a");
    assert_string_equal(run->reason, "jitter");
    assert_string_equal(run->node, "n1");
    assert_string_equal(run->zone, "Asia/Shanghai");
    assert_null(run->error_code);
    assert_int_equal(run->retry_of, 7);
    assert_int_equal(run->retry_no, 2);
    assert_int_equal(run->family, 5);
    assert_int_equal(run->slot, w.slot);
    assert_int_equal(run->boot, w.boot);
    assert_int_equal(run->priority, 5);
    assert_string_equal(op.run_read.job_name, "job");
    assert_string_equal(op.run_read.project_name, "default");
    assert_non_null(op.run_read.job_json);
    store_op_release(&op);
}

static void test_an_instant_is_one_run(void **state)
{
    struct world w = begin(state);
    struct store_fire first[3], again[300];
    for (uint64_t i = 0; i < 3; i++)
        first[i].run = kit_run(w.job, w.slot, w.boot, "a", instant_add(w.now, (span)i * 7), i + 1);
    assert_int_equal(kit_fire(w.store, w.boot, first, 3), STATUS_OK);
    /* 300 fires, instants 0, 1, 2 … ms: of them 0, 7 and 14 exist; two more equal each other; one has a used id. */
    for (uint64_t i = 0; i < 300; i++)
        again[i].run = kit_run(w.job, w.slot, w.boot, "a", instant_add(w.now, (span)i), i + 1000);
    again[200].run.scheduled_at = again[199].run.scheduled_at;
    again[250].run.id = first[0].run.id;
    assert_int_equal(kit_fire(w.store, w.boot, again, 300), STATUS_OK);
    for (size_t i = 0; i < 300; i++) {
        bool exists = i == 0 || i == 7 || i == 14 || i == 200 || i == 250;
        assert_int_equal(again[i].outcome, exists ? OUTCOME_EXISTS : OUTCOME_DONE);
    }
    assert_int_equal(kit_runs(w.store), 3 + 300 - 5);
    /* Other trigger, other generation, other job: others. */
    int32_t slot;
    int64_t job = kit_job(w.store, "other", &slot);
    (void)kit_take(w.store, w.boot, slot, 10);
    struct store_fire others[3] = {{.run = kit_run(w.job, w.slot, w.boot, "b", w.now, 5000)},
                                   {.run = kit_run(w.job, w.slot, w.boot, "a", w.now, 5001)},
                                   {.run = kit_run(job, slot, w.boot, "a", w.now, 5002)}};
    others[1].run.generation = 1;
    assert_int_equal(kit_fire(w.store, w.boot, others, 3), STATUS_OK);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(others[i].outcome, OUTCOME_DONE);
}

static void test_an_own_instant_lies_in_its_day(void **state)
{
    struct world w = begin(state);
    struct store_fire fire = {.run = kit_run(w.job, w.slot, w.boot, "a", w.now, 1)};
    fire.run.id = run_id_make(day_of(w.now) - 1, w.boot, 1);
    assert_int_equal(kit_fire(w.store, w.boot, &fire, 1), STATUS_INVALID);
    assert_int_equal(kit_runs(w.store), 0);
}

static void test_lost_slot_alone_is_left_out(void **state)
{
    struct world w = begin(state);
    int32_t slot;
    int64_t job = kit_job(w.store, "other", &slot), successor = kit_boot(w.store, "n2");
    (void)kit_take(w.store, w.boot, slot, 10);
    assert_int_equal(kit_take(w.store, successor, slot, 11), w.boot);
    struct store_fire fires[2] = {{.run = kit_run(w.job, w.slot, w.boot, "a", w.now, 1)},
                                  {.run = kit_run(job, slot, w.boot, "a", w.now, 2)}};
    struct store_skip skips[2] = {
        {.row = {.job = w.job,
                 .trigger = "a",
                 .from = w.now,
                 .to = w.now,
                 .count = 1,
                 .reason = "overlap",
                 .slot = w.slot}},
        {.row = {
             .job = job, .trigger = "a", .from = w.now, .to = w.now, .count = 1, .reason = "overlap", .slot = slot}}};
    struct store_activation activations[2] = {
        {.row = {.job = w.job, .version = 1, .trigger = "", .from = w.now, .slot = w.slot}},
        {.row = {.job = job, .version = 1, .trigger = "", .from = w.now, .slot = slot}}};
    struct store_trigger_state states[2] = {
        {.row = {.job = w.job, .trigger = "a", .slot = w.slot, .last_end = INSTANT_NONE, .paused_since = INSTANT_NONE}},
        {.row = {.job = job, .trigger = "a", .slot = slot, .last_end = INSTANT_NONE, .paused_since = INSTANT_NONE}}};
    struct run_row end = fires[1].run;
    end.state = RUN_FAILED;
    end.ended_at = w.now;
    struct step_row step = {.run = end.id, .step = "s", .since = w.now, .due = INSTANT_NONE};
    assert_int_equal(kit_batch(w.store, (struct store_batch){.boot = w.boot,
                                                             .fires = fires,
                                                             .fire_count = 2,
                                                             .skips = skips,
                                                             .skip_count = 2,
                                                             .activations = activations,
                                                             .activation_count = 2,
                                                             .states = states,
                                                             .state_count = 2,
                                                             .runs = &end,
                                                             .run_count = 1,
                                                             .steps = &step,
                                                             .step_count = 1}),
                     STATUS_OK);
    assert_int_equal(fires[0].outcome, OUTCOME_DONE);
    assert_int_equal(fires[1].outcome, OUTCOME_SLOT_LOST);
    assert_int_equal(skips[0].outcome, OUTCOME_DONE);
    assert_int_equal(skips[1].outcome, OUTCOME_SLOT_LOST);
    assert_int_equal(activations[0].outcome, OUTCOME_DONE);
    assert_int_equal(activations[1].outcome, OUTCOME_SLOT_LOST);
    assert_int_equal(states[0].outcome, OUTCOME_DONE);
    assert_int_equal(states[1].outcome, OUTCOME_SLOT_LOST);
    assert_int_equal(kit_runs(w.store), 1); /* the end of a run that was not made makes none */
    assert_int_equal(kit_number("SELECT COUNT(*) FROM step"), 0);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM skip"), 1);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM activation"), 1);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM trigger_state"), 1);
}

static void test_a_slot_that_was_never_taken_fires_nothing(void **state)
{
    struct world w = begin(state);
    struct store_fire fires[2] = {{.run = kit_run(w.job, 1279, w.boot, "a", w.now, 1)},
                                  {.run = kit_run(w.job, -1, w.boot, "b", w.now, 2)}};
    assert_int_equal(kit_fire(w.store, w.boot, fires, 2), STATUS_OK);
    assert_int_equal(fires[0].outcome, OUTCOME_SLOT_LOST);
    assert_int_equal(fires[1].outcome, OUTCOME_SLOT_LOST);
    assert_int_equal(kit_runs(w.store), 0);
}

static void test_a_fenced_boot_writes_nothing(void **state)
{
    struct world w = begin(state);
    struct store_fire fire = {.run = kit_run(w.job, w.slot, w.boot, "a", w.now, 1)};
    assert_int_equal(kit_fire(w.store, w.boot, &fire, 1), STATUS_OK);
    kit_fence(w.store, kit_boot(w.store, "n2"), w.boot);
    struct run_row end = fire.run;
    end.state = RUN_SUCCEEDED;
    end.ended_at = w.now;
    assert_int_equal(kit_batch(w.store, (struct store_batch){.boot = w.boot, .runs = &end, .run_count = 1}),
                     STATUS_FENCED);
    assert_int_equal(kit_batch(w.store, (struct store_batch){.boot = 950, .number = 1, .runs = &end, .run_count = 1}),
                     STATUS_FENCED);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM run WHERE open_slot IS NOT NULL"), 1);
    OP(op, STORE_DECIDED);
    op.decided = (struct store_decided){
        .boot = w.boot, .slots = &(struct slot_through){.slot = w.slot, .through = w.now}, .count = 1};
    EXPECT(w.store, &op, STATUS_FENCED);
    store_op_release(&op);
}

static void test_end_steps_attempts(void **state)
{
    struct world w = begin(state);
    struct store_fire fire = {.run = kit_run(w.job, w.slot, w.boot, "a", w.now, 1)};
    assert_int_equal(kit_fire(w.store, w.boot, &fire, 1), STATUS_OK);
    struct run_row run = fire.run;
    run.state = RUN_RUNNING;
    run.started_at = instant_add(w.now, 1);
    struct attempt_row attempt = {.run = run.id,
                                  .step = "s",
                                  .n = 1,
                                  .key_try = 1,
                                  .seq = 1,
                                  .state = ATTEMPT_STARTED,
                                  .instance = "h:1",
                                  .boot = w.boot,
                                  .node = "n1",
                                  .started_at = w.now,
                                  .ended_at = INSTANT_NONE,
                                  .connect_ms = -1,
                                  .first_byte_ms = -1,
                                  .total_ms = -1,
                                  .retry_after = -1};
    assert_int_equal(
        kit_batch(w.store,
                  (struct store_batch){
                      .boot = w.boot, .runs = &run, .run_count = 1, .attempts = &attempt, .attempt_count = 1}),
        STATUS_OK);
    run.state = RUN_FAILED;
    run.ended_at = instant_add(w.now, 9);
    run.reason = "step s";
    run.error_code = "X_1";
    run.error_args = "{\"a\":1}";
    attempt.state = ATTEMPT_ENDED;
    attempt.class = CALL_HTTP_5XX;
    attempt.ended_at = run.ended_at;
    attempt.http_status = 503;
    attempt.bytes_sent = 4000000000;
    attempt.reused_connection = attempt.stale = true;
    attempt.connect_ms = 1;
    attempt.first_byte_ms = 2;
    attempt.total_ms = 3;
    attempt.error = "no";
    attempt.code = "C";
    attempt.retry_after = 20000;
    attempt.request = "{}";
    attempt.response = "";
    attempt.request_size = 2;
    attempt.response_size = 0;
    attempt.result = "[1]";
    struct step_row steps[4] = {
        {.run = run.id,
         .step = "s",
         .seq = 3,
         .state = STEP_FAILED,
         .reason = "r",
         .due = w.now,
         .since = w.now,
         .result = "{\"x\":1}",
         .error = "e"},
        {.run = run.id, .step = "a", .seq = 2, .state = STEP_SKIPPED, .due = INSTANT_NONE, .since = w.now},
        {.run = run.id,
         .step = "fan",
         .seq = 4,
         .state = STEP_RUNNING,
         .due = INSTANT_NONE,
         .since = w.now,
         .items = "[\"h:1\",{\"ü\":2}]"},
        {.run = run.id,
         .step = "fan",
         .item = 2,
         .seq = 5,
         .state = STEP_WAITING,
         .reason = "busy",
         .due = w.now,
         .since = w.now}};
    for (int i = 0; i < 2; i++) /* inserted, then replaced */
        assert_int_equal(kit_batch(w.store, (struct store_batch){.boot = w.boot,
                                                                 .runs = &run,
                                                                 .run_count = 1,
                                                                 .steps = steps,
                                                                 .step_count = 4,
                                                                 .attempts = &attempt,
                                                                 .attempt_count = 1}),
                         STATUS_OK);
    struct store_op op = read_run(w.store, run.id);
    const struct run_row *got = &op.run_read.run;
    assert_int_equal(got->state, RUN_FAILED);
    assert_int_equal(got->started_at.ms, w.now.ms + 1);
    assert_int_equal(got->ended_at.ms, w.now.ms + 9);
    assert_string_equal(got->reason, "step s");
    assert_string_equal(got->error_code, "X_1");
    assert_string_equal(got->error_args, "{\"a\":1}");
    assert_int_equal(op.run_read.step_count, 4);
    assert_string_equal(op.run_read.steps[0].step, "a"); /* by seq */
    assert_null(op.run_read.steps[0].items);
    assert_string_equal(op.run_read.steps[2].items, "[\"h:1\",{\"ü\":2}]");
    assert_int_equal(op.run_read.steps[3].item, 2);
    assert_true(instant_is_none(op.run_read.steps[0].due));
    assert_int_equal(op.run_read.steps[1].due.ms, w.now.ms);
    assert_string_equal(op.run_read.steps[1].result, "{\"x\":1}");
    assert_int_equal(op.run_read.attempt_count, 1);
    const struct attempt_row *a = op.run_read.attempts;
    assert_int_equal(a->class, CALL_HTTP_5XX);
    assert_int_equal(a->http_status, 503);
    assert_int_equal(a->bytes_sent, 4000000000);
    assert_true(a->reused_connection && a->stale);
    assert_int_equal(a->retry_after, 20000);
    assert_string_equal(a->request, "{}");
    assert_string_equal(a->response, "");
    assert_string_equal(a->result, "[1]");
    assert_string_equal(a->code, "C");
    store_op_release(&op);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM run WHERE open_slot IS NOT NULL"), 0);
}

/* Of every plane; also what is no UTF-8 at all: executors answer what they like. */
static void test_texts_byte_for_byte(void **state)
{
    struct world w = begin(state);
    char *texts[5];
    size_t sizes[] = {0, 1, LIMIT_INLINE_BODY, LIMIT_INLINE_BODY + 1, (size_t)3 << 20};
    static const char sample[] = "a\xc3\xa9\xe6\x97\xa5\xf0\x9f\x94\x94\xf4\x8f\xbf\xbd\xef\xbf\xbd\"\\'%_\x01\xff\xfe";
    struct attempt_row attempts[5];
    struct store_fire fire = {.run = kit_run(w.job, w.slot, w.boot, "a", w.now, 1)};
    for (size_t i = 0; i < 5; i++) {
        texts[i] = malloc(sizes[i] + 1);
        for (size_t k = 0; k < sizes[i]; k++)
            texts[i][k] = sample[(k + i) % (sizeof sample - 1)];
        texts[i][sizes[i]] = '\0';
    }
    for (size_t i = 0; i < 5; i++)
        attempts[i] = (struct attempt_row){.run = fire.run.id,
                                           .step = "s",
                                           .n = (int32_t)i + 1,
                                           .seq = (int32_t)i + 1,
                                           .state = ATTEMPT_ENDED,
                                           .class = CALL_SUCCESS,
                                           .started_at = w.now,
                                           .ended_at = w.now,
                                           .request = texts[i],
                                           .response = texts[4 - i],
                                           .request_size = (int64_t)sizes[i],
                                           .response_size = (int64_t)sizes[4 - i]};
    assert_int_equal(
        kit_batch(w.store,
                  (struct store_batch){
                      .boot = w.boot, .fires = &fire, .fire_count = 1, .attempts = attempts, .attempt_count = 5}),
        STATUS_OK);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM body"), 4);
    struct store_op op = read_run(w.store, fire.run.id);
    assert_int_equal(op.run_read.attempt_count, 5);
    for (size_t i = 0; i < 5; i++) {
        const struct attempt_row *a = &op.run_read.attempts[i];
        assert_int_equal(strlen(a->request), sizes[i]);
        assert_memory_equal(a->request, texts[i], sizes[i] + 1);
        assert_memory_equal(a->response, texts[4 - i], sizes[4 - i] + 1);
    }
    store_op_release(&op);
    for (size_t i = 0; i < 5; i++)
        free(texts[i]);
}

/* A text that grew without bound is cut, at a character's end; it does not stop the batch. */
static void test_long_texts_are_cut(void **state)
{
    struct world w = begin(state);
    char text[4001];
    for (size_t i = 0; i + 3 <= 4000; i += 3)
        memcpy(text + i, "\xe6\x97\xa5", 4);
    struct store_fire fire = {.run = kit_run(w.job, w.slot, w.boot, "a", w.now, 1)};
    fire.run.reason = text;
    assert_int_equal(kit_fire(w.store, w.boot, &fire, 1), STATUS_OK);
    struct store_op op = read_run(w.store, fire.run.id);
    assert_int_equal(strlen(op.run_read.run.reason), 498);
    assert_memory_equal(op.run_read.run.reason, text, 498);
    store_op_release(&op);
    fire.run = kit_run(w.job, w.slot, w.boot, text, instant_add(w.now, 1), 2);
    assert_int_equal(kit_fire(w.store, w.boot, &fire, 1), STATUS_INVALID);
}

static void test_a_batch_of_every_size(void **state)
{
    struct world w = begin(state);
    static const size_t sizes[] = {1, 2, 4, 5, 16, 21, 64, 85, 255, 256, 257, 341, 1000};
    struct store_fire *fires = calloc(1000, sizeof *fires);
    int64_t sum = 0;
    instant at = w.now;
    uint64_t sequence = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (size_t k = 0; k < sizes[i]; k++) {
            at = instant_add(at, 1);
            fires[k].run = kit_run(w.job, w.slot, w.boot, "a", at, ++sequence);
        }
        assert_int_equal(kit_fire(w.store, w.boot, fires, sizes[i]), STATUS_OK);
        sum += (int64_t)sizes[i];
        assert_int_equal(kit_runs(w.store), sum);
    }
    free(fires);
}

static void test_number_tells_what_committed(void **state)
{
    struct world w = begin(state);
    struct store_fire fire = {.run = kit_run(w.job, w.slot, w.boot, "a", w.now, 1)};
    assert_int_equal(
        kit_batch(w.store, (struct store_batch){.boot = w.boot, .number = 7, .fires = &fire, .fire_count = 1}),
        STATUS_OK);
    static const struct {
        int64_t number;
        bool committed;
    } rows[] = {{6, true}, {7, true}, {8, false}};
    for (size_t i = 0; i < 3; i++) {
        OP(op, STORE_BATCH_CHECK);
        op.batch_check = (struct store_batch_check){.boot = w.boot, .number = rows[i].number};
        DO(w.store, &op);
        assert_int_equal(op.batch_check.committed, rows[i].committed);
        store_op_release(&op);
    }
    /* The same number again is refused as a whole: it has happened. */
    fire.run = kit_run(w.job, w.slot, w.boot, "b", w.now, 2);
    assert_int_equal(
        kit_batch(w.store, (struct store_batch){.boot = w.boot, .number = 7, .fires = &fire, .fire_count = 1}),
        STATUS_EXISTS);
    assert_int_equal(kit_runs(w.store), 1);
}

static void test_requests_close_in_the_batch(void **state)
{
    struct world w = begin(state);
    int64_t ids[3];
    struct request_add items[3];
    memset(items, 0, sizeof items);
    for (size_t i = 0; i < 3; i++) {
        ids[i] = run_id_make(day_of(w.now), 900, i + 1);
        items[i].row = (struct request_row){.id = ids[i], .kind = REQUEST_ENQUEUE, .scheduled_at = INSTANT_NONE};
        items[i].name = "job";
    }
    OP(add, STORE_REQUEST_ADD);
    add.request_add = (struct store_request_add){.project = "default", .author = "x", .items = items, .count = 3};
    DO(w.store, &add);
    store_op_release(&add);
    struct request_done done[] = {{ids[0], "fired"}, {ids[1], "refused: busy"}, {12345, "unknown ids are no harm"}};
    struct store_fire fire = {.run = kit_run(w.job, w.slot, w.boot, "manual-1", w.now, 1)};
    fire.run.id = ids[0];
    fire.run.origin = ORIGIN_MANUAL;
    assert_int_equal(
        kit_batch(w.store,
                  (struct store_batch){
                      .boot = w.boot, .fires = &fire, .fire_count = 1, .requests = done, .request_count = 3}),
        STATUS_OK);
    OP(poll, STORE_POLL);
    poll.poll = (struct store_poll){.boot = w.boot, .since = -1, .limit = 10};
    DO(w.store, &poll);
    assert_int_equal(poll.poll.request_count, 1);
    assert_int_equal(poll.poll.requests[0].id, ids[2]);
    store_op_release(&poll);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM request WHERE closed_at IS NOT NULL"), 2);
    /* A wish whose fire was refused with its slot is kept for the slot's next owner. */
    (void)kit_take(w.store, kit_boot(w.store, "n2"), w.slot, 99);
    fire.run.id = ids[2];
    struct request_done last = {ids[2], "fired"};
    assert_int_equal(
        kit_batch(w.store,
                  (struct store_batch){
                      .boot = w.boot, .fires = &fire, .fire_count = 1, .requests = &last, .request_count = 1}),
        STATUS_OK);
    assert_int_equal(fire.outcome, OUTCOME_SLOT_LOST);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM request WHERE open_slot IS NOT NULL"), 1);
}

static void test_suspension_reaches_the_feed(void **state)
{
    struct world w = begin(state);
    int64_t head = kit_number("SELECT MAX(seq) FROM `change`");
    assert_int_equal(
        kit_batch(w.store, (struct store_batch){.boot = w.boot, .suspended_jobs = &w.job, .suspended_count = 1}),
        STATUS_OK);
    OP(op, STORE_DEFINITIONS);
    op.definitions = (struct store_definitions){.kind = DOCUMENT_JOB, .ids = &w.job, .id_count = 1};
    DO(w.store, &op);
    assert_true(op.definitions.rows[0].suspended);
    store_op_release(&op);
    assert_int_equal(kit_number("SELECT MAX(seq) FROM `change`"), head + 1);
}

int main(int argc, char **argv)
{
    kit_begin(argc, argv);
#define T(f) cmocka_unit_test_setup_teardown(f, kit_setup, kit_teardown)
    const struct CMUnitTest tests[] = {T(test_fire_is_written_whole),
                                       T(test_an_instant_is_one_run),
                                       T(test_an_own_instant_lies_in_its_day),
                                       T(test_lost_slot_alone_is_left_out),
                                       T(test_a_slot_that_was_never_taken_fires_nothing),
                                       T(test_a_fenced_boot_writes_nothing),
                                       T(test_end_steps_attempts),
                                       T(test_texts_byte_for_byte),
                                       T(test_long_texts_are_cut),
                                       T(test_a_batch_of_every_size),
                                       T(test_number_tells_what_committed),
                                       T(test_requests_close_in_the_batch),
                                       T(test_suspension_reaches_the_feed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
