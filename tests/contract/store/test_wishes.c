/* What a batch leaves to do for others: retries whose slot is somebody else's, wishes, lingering calls; and failures in
 * a row. */
#include "tests/contract/store/kit.h"

struct world {
    struct store *store;
    int64_t boot, other, job;
    int32_t slot;
    instant now;
};

/* `boot` drives, `other` owns the slot. */
static struct world begin(void **state)
{
    struct world w = {.store = *state};
    w.boot = kit_boot(w.store, "n1");
    w.other = kit_boot(w.store, "n2");
    w.job = kit_job(w.store, "job", &w.slot);
    (void)kit_take(w.store, w.boot, w.slot, 10);
    w.now = kit_now(w.store);
    return w;
}

static size_t polled(struct world *w, int64_t boot, struct request_row *first)
{
    OP(op, STORE_POLL);
    op.poll = (struct store_poll){.boot = boot, .since = -1, .limit = 100};
    DO(w->store, &op);
    size_t count = op.poll.request_count;
    if (first && count) {
        *first = op.poll.requests[0];
        if (first->kind == REQUEST_CANCEL)
            assert_string_equal(first->reason, "replaced");
    }
    store_op_release(&op);
    return count;
}

static struct run_row retry_of(const struct world *w, int64_t boot, const struct run_row *old, uint64_t sequence)
{
    struct run_row row = *old;
    row.id = run_id_make(day_of(w->now), (unsigned)boot, sequence);
    row.boot = boot;
    row.generation = 1;
    row.origin = ORIGIN_RETRY;
    row.retry_of = old->id;
    row.retry_no = 1;
    row.due_at = instant_add(w->now, 5000);
    return row;
}

static void test_a_retry_without_the_slot_is_a_wish(void **state)
{
    struct world w = begin(state);
    struct run_row run = kit_run(w.job, w.slot, w.boot, "a", w.now, 1);
    struct store_fire fire = {.run = run};
    assert_int_equal(kit_fire(w.store, w.boot, &fire, 1), STATUS_OK);
    (void)kit_take(w.store, w.other, w.slot, 20);
    struct store_fire fires[] = {{.run = retry_of(&w, w.boot, &run, 2)},
                                 {.run = kit_run(w.job, w.slot, w.boot, "a", instant_add(w.now, 1000), 3)}};
    run.state = RUN_FAILED;
    run.ended_at = w.now;
    struct store_batch batch = {.boot = w.boot,
                                .number = kit_batch_number(w.boot),
                                .fires = fires,
                                .fire_count = 2,
                                .runs = &run,
                                .run_count = 1};
    assert_int_equal(kit_batch(w.store, batch), STATUS_OK);
    assert_int_equal(fires[0].outcome, OUTCOME_DEFERRED);
    assert_int_equal(fires[1].outcome, OUTCOME_SLOT_LOST);
    assert_int_equal(kit_runs(w.store), 1);
    struct request_row wish = {0};
    assert_int_equal(polled(&w, w.boot, NULL), 0);
    assert_int_equal(polled(&w, w.other, &wish), 1);
    assert_int_equal(wish.kind, REQUEST_RETRY);
    assert_int_equal(wish.id, fires[0].run.id);
    assert_int_equal(wish.run, run.id);
    assert_int_equal(wish.job, w.job);
    assert_int_equal(wish.due_at.ms, w.now.ms + 5000);
    assert_true(instant_is_none(wish.scheduled_at));
    /* Its owner makes the run, and loses the slot before it could close the wish: it stays as it is. */
    struct store_fire lost = {.run = retry_of(&w, w.other, &run, 2)};
    lost.run.id = wish.id;
    (void)kit_take(w.store, w.boot, w.slot, 30);
    struct request_done done = {.id = wish.id, .outcome = "run"};
    batch = (struct store_batch){.boot = w.other,
                                 .number = kit_batch_number(w.other),
                                 .fires = &lost,
                                 .fire_count = 1,
                                 .requests = &done,
                                 .request_count = 1};
    assert_int_equal(kit_batch(w.store, batch), STATUS_OK);
    assert_int_equal(lost.outcome, OUTCOME_DEFERRED);
    assert_int_equal(polled(&w, w.boot, &wish), 1);
    assert_int_equal(wish.id, lost.run.id);
    lost.run.boot = w.boot;
    batch.boot = w.boot;
    batch.number = kit_batch_number(w.boot);
    assert_int_equal(kit_batch(w.store, batch), STATUS_OK);
    assert_int_equal(lost.outcome, OUTCOME_DONE);
    assert_int_equal(polled(&w, w.boot, NULL), 0);
    assert_int_equal(kit_runs(w.store), 2);
}

static struct request_row wish_of(const struct world *w, enum request_kind kind, int64_t run, uint64_t sequence)
{
    return (struct request_row){.id = run_id_make(day_of(w->now), 500, sequence),
                                .kind = kind,
                                .job = w->job,
                                .slot = w->slot,
                                .run = run,
                                .reason = kind == REQUEST_CANCEL ? "replaced" : NULL,
                                .scheduled_at = INSTANT_NONE,
                                .due_at = INSTANT_NONE};
}

static void test_wishes_of_a_batch(void **state)
{
    struct world w = begin(state);
    struct store_fire fire = {.run = kit_run(w.job, w.slot, w.boot, "a", w.now, 1)};
    assert_int_equal(kit_fire(w.store, w.boot, &fire, 1), STATUS_OK);
    (void)kit_take(w.store, w.other, w.slot, 20);
    struct request_row wishes[] = {wish_of(&w, REQUEST_CANCEL, fire.run.id, 1), wish_of(&w, REQUEST_SUSPEND, 0, 2)};
    struct store_batch batch = {.boot = w.boot, .number = kit_batch_number(w.boot), .wishes = wishes, .wish_count = 2};
    assert_int_equal(kit_batch(w.store, batch), STATUS_OK); /* not its slot: nothing is replaced */
    struct request_row first = {0};
    assert_int_equal(polled(&w, w.boot, NULL), 0);
    assert_int_equal(polled(&w, w.other, &first), 1);
    assert_int_equal(first.kind, REQUEST_SUSPEND);
    struct store_fire next = {.run = kit_run(w.job, w.slot, w.other, "a", instant_add(w.now, 1000), 5)};
    struct request_done done = {.id = first.id, .outcome = "unchanged"};
    batch = (struct store_batch){.boot = w.other,
                                 .number = kit_batch_number(w.other),
                                 .fires = &next,
                                 .fire_count = 1,
                                 .requests = &done,
                                 .request_count = 1,
                                 .wishes = wishes,
                                 .wish_count = 1};
    assert_int_equal(kit_batch(w.store, batch), STATUS_OK);
    assert_int_equal(polled(&w, w.other, NULL), 0);
    assert_int_equal(polled(&w, w.boot, &first), 1); /* it drives the run */
    assert_int_equal(first.kind, REQUEST_CANCEL);
    assert_int_equal(first.run, fire.run.id);
}

static void test_nobody_else_wishes_that(void **state)
{
    struct world w = begin(state);
    for (int kind = REQUEST_RETRY; kind <= REQUEST_SUSPEND; kind++) {
        struct request_add item = {.row = {.id = run_id_make(day_of(w.now), 9, 1), .kind = (enum request_kind)kind},
                                   .name = "job"};
        OP(op, STORE_REQUEST_ADD);
        op.request_add = (struct store_request_add){.project = "default", .author = "ann", .items = &item, .count = 1};
        DO(w.store, &op);
        assert_int_equal(item.status, STATUS_INVALID);
        store_op_release(&op);
    }
    assert_int_equal(kit_number("SELECT COUNT(*) FROM request"), 0);
}

/* ---- linger --------------------------------------------------------------------------------------------------------
 */

/* Whose executor is still to be told stands with the attempt, and of an ended run with what lingers, until it is done.
 */
static void test_notices(void **state)
{
    struct world w = begin(state);
    struct store_fire fire = {.run = kit_run(w.job, w.slot, w.boot, "a", w.now, 1)};
    const char *to = "DELETE default/app http://h:1/calls/1";
    struct attempt_row attempts[2];
    struct linger_row lingers[2];
    for (int i = 0; i < 2; i++) {
        attempts[i] = (struct attempt_row){.run = fire.run.id,
                                           .step = "a",
                                           .n = i + 1,
                                           .key_try = 1,
                                           .seq = i + 1,
                                           .state = ATTEMPT_ENDED,
                                           .class = CALL_CANCELED,
                                           .boot = w.boot,
                                           .node = "n",
                                           .started_at = w.now,
                                           .ended_at = w.now,
                                           .notice_to = to};
        lingers[i] = (struct linger_row){.job = w.job,
                                         .slot = w.slot,
                                         .run = fire.run.id,
                                         .step = "a",
                                         .n = i + 1,
                                         .key_try = 1,
                                         .instance = "h:1",
                                         .until = instant_add(w.now, SPAN_HOUR),
                                         .notice_to = to};
    }
    struct store_notice due[] = {{.run = fire.run.id, .step = "a", .n = 1, .state = NOTICE_DUE},
                                 {.run = fire.run.id, .step = "a", .n = 2, .state = NOTICE_DUE}};
    assert_int_equal(kit_batch(w.store, (struct store_batch){.boot = w.boot,
                                                             .number = kit_batch_number(w.boot),
                                                             .fires = &fire,
                                                             .fire_count = 1,
                                                             .attempts = attempts,
                                                             .attempt_count = 2,
                                                             .lingers = lingers,
                                                             .linger_count = 2,
                                                             .notices = due,
                                                             .notice_count = 2}),
                     STATUS_OK);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM linger WHERE notice_to IS NOT NULL"), 2);
    struct store_notice over = {.run = fire.run.id, .step = "a", .n = 2, .state = NOTICE_TOLD};
    attempts[1].notice_to = NULL; /* a late report: it takes away neither */
    assert_int_equal(kit_batch(w.store, (struct store_batch){.boot = w.boot,
                                                             .number = kit_batch_number(w.boot),
                                                             .notices = &over,
                                                             .notice_count = 1}),
                     STATUS_OK);
    assert_int_equal(kit_batch(w.store, (struct store_batch){.boot = w.boot,
                                                             .number = kit_batch_number(w.boot),
                                                             .attempts = &attempts[1],
                                                             .attempt_count = 1}),
                     STATUS_OK);
    OP(read, STORE_RUN_READ);
    read.run_read.id = fire.run.id;
    DO(w.store, &read);
    assert_int_equal(read.run_read.attempt_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct attempt_row *row = &read.run_read.attempts[i];
        assert_string_equal(row->notice_to, to);
        assert_int_equal(row->notice, row->n == 1 ? NOTICE_DUE : NOTICE_TOLD);
    }
    store_op_release(&read);
    OP(load, STORE_SLOTS_LOAD);
    (void)kit_take(w.store, w.other, w.slot, 20);
    load.slots_load = (struct store_slots_load){.boot = w.other, .slots = &w.slot, .slot_count = 1};
    DO(w.store, &load);
    assert_int_equal(load.slots_load.linger_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct linger_row *row = &load.slots_load.lingers[i];
        assert_true(row->n == 1 ? row->notice_to && strcmp(row->notice_to, to) == 0 : !row->notice_to);
    }
    store_op_release(&load);
}

static void test_lingers(void **state)
{
    struct world w = begin(state);
    struct store_fire fire = {.run = kit_run(w.job, w.slot, w.boot, "a", w.now, 1)};
    fire.run.state = RUN_FAILED;
    fire.run.ended_at = w.now;
    struct linger_row rows[3];
    for (int i = 0; i < 3; i++)
        rows[i] = (struct linger_row){.job = w.job,
                                      .slot = w.slot,
                                      .run = fire.run.id,
                                      .step = "a",
                                      .n = i + 1,
                                      .key_try = 1,
                                      .application = i == 1 ? "default/app" : NULL,
                                      .instance = "h:1",
                                      .until = instant_add(w.now, i == 0 ? -SPAN_HOUR : i * SPAN_HOUR)};
    for (int twice = 0; twice < 2; twice++) {
        struct store_batch batch = {.boot = w.boot,
                                    .number = kit_batch_number(w.boot),
                                    .fires = &fire,
                                    .fire_count = twice == 0,
                                    .lingers = rows,
                                    .linger_count = 3};
        assert_int_equal(kit_batch(w.store, batch), STATUS_OK);
    }
    (void)kit_take(w.store, w.other, w.slot, 20);
    kit_sql("UPDATE linger SET slot = slot + 1"); /* written before its job came to this slot */
    OP(load, STORE_SLOTS_LOAD);
    load.slots_load = (struct store_slots_load){.boot = w.other, .slots = &w.slot, .slot_count = 1};
    DO(w.store, &load);
    assert_int_equal(load.slots_load.linger_count, 2); /* what is over is nobody's business */
    for (size_t i = 0; i < 2; i++) {
        const struct linger_row *row = &load.slots_load.lingers[i];
        const struct linger_row *wrote = &rows[row->n - 1];
        assert_int_equal(row->run, fire.run.id);
        assert_int_equal(row->job, w.job);
        assert_int_equal(row->until.ms, wrote->until.ms);
        assert_int_equal(row->key_try, 1);
        assert_string_equal(row->instance, "h:1");
        assert_true(wrote->application ? strcmp(row->application, wrote->application) == 0 : !row->application);
    }
    store_op_release(&load);
    OP(open, STORE_RUNS_OPEN);
    open.runs_open.runs = &fire.run.id;
    open.runs_open.count = 1;
    DO(w.store, &open);
    assert_false(open.runs_open.open[0]);
    assert_int_equal(open.runs_open.linger[0].ms, rows[2].until.ms);
    store_op_release(&open);
    OP(triggers, STORE_TRIGGERS);
    triggers.triggers.job = w.job;
    DO(w.store, &triggers);
    assert_int_equal(triggers.triggers.linger_count, 2);
    store_op_release(&triggers);
    OP(retention, STORE_RETENTION);
    retention.retention = (struct store_retention){.boot = w.other,
                                                   .runs = INSTANT_NONE,
                                                   .bodies = INSTANT_NONE,
                                                   .skips = INSTANT_NONE,
                                                   .audit = INSTANT_NONE,
                                                   .changes = INSTANT_NONE,
                                                   .requests = INSTANT_NONE};
    kit_sql("UPDATE linger SET run = run + 1 WHERE n = 1"); /* of a run of its own */
    DO(w.store, &retention);
    store_op_release(&retention);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM linger"), 2);
}

/* ---- failures in a row ---------------------------------------------------------------------------------------------
 */

static size_t failed(const struct world *w, size_t limit)
{
    OP(op, STORE_FAILURES);
    op.failures = (struct store_failures){.job = w->job, .limit = limit};
    DO(w->store, &op);
    size_t found = op.failures.failed;
    store_op_release(&op);
    return found;
}

static void ended(struct world *w, uint64_t sequence, enum run_state state, int64_t end)
{
    struct store_fire fire = {
        .run = kit_run(w->job, w->slot, w->boot, "a", instant_add(w->now, (int64_t)sequence * 1000), sequence)};
    fire.run.state = state;
    fire.run.ended_at = run_state_terminal(state) ? instant_add(w->now, end) : INSTANT_NONE;
    assert_int_equal(kit_fire(w->store, w->boot, &fire, 1), STATUS_OK);
    assert_int_equal(fire.outcome, OUTCOME_DONE);
}

static void test_failures_in_a_row(void **state)
{
    struct world w = begin(state);
    assert_int_equal(failed(&w, 5), 0);
    ended(&w, 1, RUN_SUCCEEDED, 6500); /* it ends between the others, though it began first */
    ended(&w, 2, RUN_FAILED, 5000);
    ended(&w, 3, RUN_FAILED, 7000);
    ended(&w, 4, RUN_CANCELED, 8000);
    ended(&w, 5, RUN_LOST, 9000);
    ended(&w, 6, RUN_RUNNING, 0);
    ended(&w, 7, RUN_FAILED, 10000);
    assert_int_equal(failed(&w, 5), 3);
    assert_int_equal(failed(&w, 2), 2);
    struct store_activation resume = {.row = {.job = w.job,
                                              .trigger = "",
                                              .kind = ACTIVATION_RESUME,
                                              .version = 1,
                                              .from = instant_add(w.now, 8500),
                                              .slot = w.slot}};
    struct store_batch batch = {
        .boot = w.boot, .number = kit_batch_number(w.boot), .activations = &resume, .activation_count = 1};
    assert_int_equal(kit_batch(w.store, batch), STATUS_OK);
    assert_int_equal(failed(&w, 5), 2);
    ended(&w, 8, RUN_SUCCEEDED, 11000);
    assert_int_equal(failed(&w, 5), 0);
}

static void test_a_deletion_has_a_time(void **state)
{
    struct world w = begin(state);
    OP(gone, STORE_DELETE);
    gone.delete = (struct store_delete){.kind = DOCUMENT_JOB, .project = "default", .name = "job", .author = "ann"};
    DO(w.store, &gone);
    store_op_release(&gone);
    OP(load, STORE_SLOTS_LOAD);
    load.slots_load = (struct store_slots_load){.boot = w.boot, .slots = &w.slot, .slot_count = 1};
    DO(w.store, &load);
    assert_int_equal(load.slots_load.job_count, 1);
    assert_true(load.slots_load.jobs[0].deleted);
    assert_true(load.slots_load.jobs[0].deleted_at.ms >= w.now.ms);
    assert_true(load.slots_load.jobs[0].deleted_at.ms <= kit_now(w.store).ms);
    store_op_release(&load);
}

#define T(test) cmocka_unit_test_setup_teardown(test, kit_setup, kit_teardown)

int main(int argc, char **argv)
{
    kit_begin(argc, argv);
    const struct CMUnitTest tests[] = {T(test_a_retry_without_the_slot_is_a_wish),
                                       T(test_wishes_of_a_batch),
                                       T(test_notices),
                                       T(test_nobody_else_wishes_that),
                                       T(test_lingers),
                                       T(test_failures_in_a_row),
                                       T(test_a_deletion_has_a_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
