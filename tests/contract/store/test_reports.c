/* Reports of accepted calls: durable before they are acknowledged, shown to whoever drives the run, closed by its
 * batch; the first end of a call is the end. */
#include "tests/contract/store/kit.h"

struct world {
    struct store *store;
    int64_t boot, job, run;
    int32_t slot;
    instant now;
};

static struct attempt_row attempt(const struct world *w, int32_t n, int32_t key_try, enum attempt_state state,
                                  enum call_class class)
{
    return (struct attempt_row){.run = w->run,
                                .step = "a",
                                .n = n,
                                .key_try = key_try,
                                .seq = n,
                                .state = state,
                                .class = class,
                                .instance = "h:1",
                                .boot = w->boot,
                                .node = "n1",
                                .started_at = w->now,
                                .ended_at = state == ATTEMPT_ENDED ? w->now : INSTANT_NONE,
                                .http_status = 202,
                                .retry_after = -1};
}

static void write_attempt(struct world *w, struct attempt_row row)
{
    assert_int_equal(kit_batch(w->store, (struct store_batch){.boot = w->boot, .attempts = &row, .attempt_count = 1}),
                     STATUS_OK);
}

static void write_step(struct world *w, enum step_state state)
{
    struct step_row row = {.run = w->run, .step = "a", .seq = 9, .state = state, .due = INSTANT_NONE, .since = w->now};
    assert_int_equal(kit_batch(w->store, (struct store_batch){.boot = w->boot, .steps = &row, .step_count = 1}),
                     STATUS_OK);
}

static void write_run(struct world *w, enum run_state state, bool cancel)
{
    struct run_row row = kit_run(w->job, w->slot, w->boot, "a", w->now, 1);
    row.id = w->run;
    row.state = state;
    row.cancel_requested = cancel;
    assert_int_equal(kit_batch(w->store, (struct store_batch){.boot = w->boot, .runs = &row, .run_count = 1}),
                     STATUS_OK);
}

/* A run whose step a was called once and accepted. */
static struct world begin(void **state)
{
    struct world w = {.store = *state};
    w.boot = kit_boot(w.store, "n1");
    w.job = kit_job(w.store, "job", &w.slot);
    (void)kit_take(w.store, w.boot, w.slot, 10);
    w.now = kit_now(w.store);
    struct store_fire fire = {.run = kit_run(w.job, w.slot, w.boot, "a", w.now, 1)};
    w.run = fire.run.id;
    assert_int_equal(kit_fire(w.store, w.boot, &fire, 1), STATUS_OK);
    assert_int_equal(fire.outcome, OUTCOME_DONE);
    write_attempt(&w, attempt(&w, 1, 1, ATTEMPT_ACCEPTED, CALL_ACCEPTED));
    return w;
}

static struct report_row report(const struct world *w, enum report_state state, const char *digest)
{
    return (struct report_row){.run = w->run,
                               .step = "a",
                               .key_try = 1,
                               .state = state,
                               .result = state == REPORT_SUCCEEDED ? "{\"日\":[1e400]}" : NULL,
                               .until = INSTANT_NONE,
                               .digest = digest};
}

static enum report_fate add(struct world *w, struct report_row row)
{
    OP(op, STORE_REPORT_ADD);
    op.report_add.row = row;
    DO(w->store, &op);
    enum report_fate fate = op.report_add.fate;
    store_op_release(&op);
    return fate;
}

/* How many a boot is shown; the first one's id. */
static size_t polled(struct world *w, int64_t boot, int64_t *ret_first)
{
    OP(op, STORE_POLL);
    op.poll = (struct store_poll){.boot = boot, .since = -1, .limit = 100};
    DO(w->store, &op);
    size_t count = op.poll.report_count;
    if (ret_first)
        *ret_first = count ? op.poll.reports[0].id : 0;
    store_op_release(&op);
    return count;
}

static void close_report(struct world *w, int64_t id, const char *outcome)
{
    struct request_done done = {id, outcome};
    assert_int_equal(kit_batch(w->store, (struct store_batch){.boot = w->boot, .reports = &done, .report_count = 1}),
                     STATUS_OK);
}

static void test_way_of_a_report(void **state)
{
    struct world w = begin(state);
    assert_int_equal(add(&w, report(&w, REPORT_SUCCEEDED, "d1")), REPORT_STORED);
    assert_int_equal(add(&w, report(&w, REPORT_SUCCEEDED, "d1")), REPORT_REPEATED);
    OP(op, STORE_POLL);
    op.poll = (struct store_poll){.boot = w.boot, .since = -1, .limit = 100};
    DO(w.store, &op);
    assert_int_equal(op.poll.report_count, 1);
    const struct report_row *r = &op.poll.reports[0];
    assert_int_equal(r->run, w.run);
    assert_string_equal(r->step, "a");
    assert_int_equal(r->item, 0);
    assert_int_equal(r->key_try, 1);
    assert_int_equal(r->state, REPORT_SUCCEEDED);
    assert_string_equal(r->result, "{\"日\":[1e400]}");
    assert_null(r->code);
    assert_true(r->run_open);
    int64_t id = r->id;
    store_op_release(&op);

    close_report(&w, id, REPORT_OUTCOME_TAKEN);
    assert_int_equal(polled(&w, w.boot, NULL), 0);
    assert_int_equal(add(&w, report(&w, REPORT_SUCCEEDED, "d1")), REPORT_REPEATED);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM report"), 1);
}

static void test_first_end_wins(void **state)
{
    struct world w = begin(state);
    assert_int_equal(add(&w, report(&w, REPORT_FAILED, "d1")), REPORT_STORED);
    assert_int_equal(add(&w, report(&w, REPORT_SUCCEEDED, "d2")), REPORT_STALE);
    assert_int_equal(add(&w, report(&w, REPORT_SUCCEEDED, "d2")), REPORT_STALE); /* said again: no second row */
    assert_int_equal(kit_number("SELECT COUNT(*) FROM report"), 2);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM report WHERE outcome = 'stale' AND open_run IS NULL"), 1);
    for (int i = 0; i < 20; i++) { /* whoever may report cannot fill the store */
        char digest[16];
        (void)snprintf(digest, sizeof digest, "x%d", i);
        assert_int_equal(add(&w, report(&w, REPORT_FAILED, digest)), REPORT_STALE);
    }
    assert_true(kit_number("SELECT COUNT(*) FROM report") <= 10);
    assert_int_equal(polled(&w, w.boot, NULL), 1);
}

/* A delay is no end: it may be said again once it was taken up, and an end may follow. */
static void test_delay(void **state)
{
    struct world w = begin(state);
    int64_t id = 0;
    assert_int_equal(add(&w, report(&w, REPORT_DELAY, "d1")), REPORT_STORED);
    assert_int_equal(add(&w, report(&w, REPORT_DELAY, "d1")), REPORT_REPEATED);
    assert_int_equal(polled(&w, w.boot, &id), 1);
    close_report(&w, id, REPORT_OUTCOME_TAKEN);
    assert_int_equal(add(&w, report(&w, REPORT_DELAY, "d1")), REPORT_STORED);
    assert_int_equal(add(&w, report(&w, REPORT_SUCCEEDED, "d2")), REPORT_STORED);
    assert_int_equal(polled(&w, w.boot, NULL), 2);
}

static void read_call(struct world *w, int32_t key_try, bool *ret_over, bool *ret_canceled)
{
    OP(op, STORE_REPORT_READ);
    op.report_read = (struct store_report_read){.run = w->run, .step = "a", .key_try = key_try};
    DO(w->store, &op);
    *ret_over = op.report_read.over;
    *ret_canceled = op.report_read.canceled;
    store_op_release(&op);
}

/* By which rows of its step a call is over. */
static void test_too_late(void **state)
{
    bool over, canceled;
    struct world w = begin(state);
    read_call(&w, 1, &over, &canceled);
    assert_false(over || canceled);
    write_attempt(&w, attempt(&w, 1, 1, ATTEMPT_ENDED, CALL_UNKNOWN)); /* nobody knows: a report may tell */
    read_call(&w, 1, &over, &canceled);
    assert_false(over);
    write_attempt(&w, attempt(&w, 2, 1, ATTEMPT_ENDED, CALL_BUSY)); /* a refusal settles nothing */
    read_call(&w, 1, &over, &canceled);
    assert_false(over);
    write_step(&w, STEP_WAITING);
    read_call(&w, 1, &over, &canceled);
    assert_false(over);
    write_attempt(&w, attempt(&w, 3, 1, ATTEMPT_ENDED, CALL_HTTP_5XX));
    read_call(&w, 1, &over, &canceled);
    assert_true(over);
    write_attempt(&w, attempt(&w, 4, 2, ATTEMPT_STARTED, CALL_NONE));
    read_call(&w, 1, &over, &canceled);
    assert_true(over);
    read_call(&w, 2, &over, &canceled);
    assert_false(over);
    write_attempt(&w, attempt(&w, 4, 2, ATTEMPT_ENDED, CALL_SUCCESS));
    read_call(&w, 2, &over, &canceled);
    assert_true(over);
    assert_int_equal(add(&w, report(&w, REPORT_SUCCEEDED, "d1")), REPORT_STALE);
    assert_int_equal(polled(&w, w.boot, NULL), 0);
}

static void test_step_or_run_has_ended(void **state)
{
    bool over, canceled;
    struct world w = begin(state);
    write_step(&w, STEP_FAILED);
    read_call(&w, 1, &over, &canceled);
    assert_true(over && !canceled);
    write_step(&w, STEP_WAITING);
    write_run(&w, RUN_RUNNING, true);
    read_call(&w, 1, &over, &canceled);
    assert_true(!over && canceled);
    write_run(&w, RUN_CANCELED, true);
    read_call(&w, 1, &over, &canceled);
    assert_true(over && canceled);
    OP(op, STORE_REPORT_ADD);
    op.report_add.row = report(&w, REPORT_SUCCEEDED, "d1");
    op.report_add.row.run += 77;
    EXPECT(w.store, &op, STATUS_NOT_FOUND);
    store_op_release(&op);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM report"), 0);
}

/* After a take-over it is shown to the new driver; one whose run ends first says so. */
static void test_finds_the_driver(void **state)
{
    struct world w = begin(state);
    int64_t next = kit_boot(w.store, "n2"), id = 0;
    assert_int_equal(add(&w, report(&w, REPORT_FAILED, "d1")), REPORT_STORED);
    assert_int_equal(polled(&w, next, NULL), 0);
    kit_fence(w.store, next, w.boot);
    OP(op, STORE_RUNS_ADOPT);
    op.runs_adopt = (struct store_runs_adopt){.boot = next, .from_boot = w.boot, .node = "n2", .limit = 10};
    DO(w.store, &op);
    assert_int_equal(op.runs_adopt.run_count, 1);
    store_op_release(&op);
    assert_int_equal(polled(&w, w.boot, NULL), 0);
    assert_int_equal(polled(&w, next, &id), 1);
    w.boot = next;
    write_run(&w, RUN_CANCELED, true);
    OP(poll, STORE_POLL);
    poll.poll = (struct store_poll){.boot = next, .since = -1, .limit = 100};
    DO(w.store, &poll);
    assert_int_equal(poll.poll.report_count, 1);
    assert_false(poll.poll.reports[0].run_open);
    store_op_release(&poll);
    close_report(&w, id, REPORT_OUTCOME_STALE);
    assert_int_equal(polled(&w, next, NULL), 0);
    assert_int_equal(add(&w, report(&w, REPORT_FAILED, "d1")), REPORT_STALE);
}

/* The end by a report takes away nothing of what was captured when the call was answered. */
static void test_bodies_stay(void **state)
{
    struct world w = begin(state);
    struct attempt_row row = attempt(&w, 1, 1, ATTEMPT_ACCEPTED, CALL_ACCEPTED);
    row.request = "{\"x\":1}";
    row.response = "later";
    write_attempt(&w, row);
    row = attempt(&w, 1, 1, ATTEMPT_ENDED, CALL_SUCCESS);
    row.result = "5";
    write_attempt(&w, row);
    OP(op, STORE_RUN_READ);
    op.run_read = (struct store_run_read){.id = w.run};
    DO(w.store, &op);
    assert_int_equal(op.run_read.attempt_count, 1);
    assert_int_equal(op.run_read.attempts[0].class, CALL_SUCCESS);
    assert_string_equal(op.run_read.attempts[0].request, "{\"x\":1}");
    assert_string_equal(op.run_read.attempts[0].response, "later");
    assert_string_equal(op.run_read.attempts[0].result, "5");
    store_op_release(&op);
}

static void test_retention(void **state)
{
    struct world w = begin(state);
    assert_int_equal(add(&w, report(&w, REPORT_SUCCEEDED, "d1")), REPORT_STORED);
    OP(op, STORE_RETENTION);
    op.retention.boot = w.boot;
    op.retention.runs = op.retention.bodies = op.retention.skips = op.retention.audit = op.retention.changes =
        INSTANT_NONE;
    op.retention.requests = instant_add(kit_now(w.store), SPAN_HOUR);
    DO(w.store, &op);
    store_op_release(&op);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM report"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, kit_setup, kit_teardown)

int main(int argc, char **argv)
{
    kit_begin(argc, argv);
    const struct CMUnitTest tests[] = {
        TEST(test_way_of_a_report),       TEST(test_first_end_wins),   TEST(test_delay),       TEST(test_too_late),
        TEST(test_step_or_run_has_ended), TEST(test_finds_the_driver), TEST(test_bodies_stay), TEST(test_retention)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
