/* Jobs that change their slot, and slots that are bound to a pool or a node. */
#include "tests/contract/store/kit.h"

struct moved {
    int64_t owner, other, job; /* owner holds the shared slot, other all that lie behind */
    int32_t from;
};

static struct moved begin(struct store *store)
{
    struct moved m = {.owner = kit_boot(store, "n1"), .other = kit_boot(store, "n2")};
    m.job = kit_job(store, "j", &m.from);
    (void)kit_take(store, m.owner, m.from, 10);
    for (int32_t slot = CLAIM_SLOTS; slot < CLAIM_SLOTS + 3; slot++)
        (void)kit_take(store, m.other, slot, 10);
    return m;
}

static struct store_move move(struct store *store, int64_t boot, int64_t job, int32_t from, const char *pool,
                              const char *node)
{
    struct store_move one = {.row = {.job = job, .slot = from, .pool = pool, .node = node}};
    assert_int_equal(kit_batch(store, (struct store_batch){.boot = boot, .moves = &one, .move_count = 1}), STATUS_OK);
    return one;
}

static void decide(struct store *store, int64_t boot, int32_t slot, int64_t ms, int64_t feed_seq)
{
    struct slot_through through = {.slot = slot, .through = {ms}};
    OP(op, STORE_DECIDED);
    op.decided = (struct store_decided){.boot = boot, .feed_seq = feed_seq, .slots = &through, .count = 1};
    DO(store, &op);
    store_op_release(&op);
}

static int64_t through(int32_t slot)
{
    char sql[100];
    (void)snprintf(sql, sizeof sql, "SELECT decided_through FROM slot WHERE slot = %d", slot);
    return kit_number(sql);
}

static int64_t head(struct store *store, int64_t boot)
{
    OP(op, STORE_POLL);
    op.poll = (struct store_poll){.boot = boot, .since = -1, .limit = 10};
    DO(store, &op);
    int64_t seq = op.poll.head;
    store_op_release(&op);
    return seq;
}

static size_t open_runs(struct store *store, int64_t boot, int32_t slot)
{
    OP(op, STORE_SLOTS_LOAD);
    op.slots_load = (struct store_slots_load){.boot = boot, .slots = &slot, .slot_count = 1};
    DO(store, &op);
    size_t count = op.slots_load.open_run_count;
    store_op_release(&op);
    return count;
}

static int64_t add_request(struct store *store, enum request_kind kind, const char *name)
{
    struct request_add item = {.name = name,
                               .row = {.kind = kind, .scheduled_at = INSTANT_NONE, .created_at = INSTANT_NONE}};
    OP(op, STORE_REQUEST_ADD);
    op.request_add = (struct store_request_add){.project = "default", .author = "me", .items = &item, .count = 1};
    DO(store, &op);
    assert_int_equal(item.status, STATUS_OK);
    store_op_release(&op);
    return item.row.id;
}

static size_t polled_requests(struct store *store, int64_t boot)
{
    OP(op, STORE_POLL);
    op.poll = (struct store_poll){.boot = boot, .since = -1, .limit = 10};
    DO(store, &op);
    size_t count = op.poll.request_count;
    store_op_release(&op);
    return count;
}

static void test_move_takes_all_along(void **state)
{
    struct store *store = *state;
    struct moved m = begin(store);
    struct store_fire fire = {.run = kit_run(m.job, m.from, m.owner, "a", (instant){1000}, 1)};
    assert_int_equal(kit_fire(store, m.owner, &fire, 1), STATUS_OK);
    (void)add_request(store, REQUEST_PAUSE, "j");
    assert_int_equal(polled_requests(store, m.owner), 1);
    int64_t seq = head(store, m.owner);
    struct store_move done = move(store, m.owner, m.job, m.from, NULL, "n2");
    assert_int_equal(done.outcome, OUTCOME_DONE);
    assert_int_equal(done.to, CLAIM_SLOTS);
    assert_int_equal(head(store, m.owner), seq + 1);
    assert_int_equal(polled_requests(store, m.owner), 0);
    assert_int_equal(polled_requests(store, m.other), 1);
    assert_int_equal(open_runs(store, m.other, m.from), 0);
    assert_int_equal(open_runs(store, m.other, done.to), 1);
    fire.run.state = RUN_RUNNING; /* whoever drives it does not know of the move */
    fire.run.started_at = (instant){1100};
    assert_int_equal(kit_batch(store, (struct store_batch){.boot = m.owner, .runs = &fire.run, .run_count = 1}),
                     STATUS_OK);
    assert_int_equal(open_runs(store, m.other, done.to), 1);
    fire.run.state = RUN_SUCCEEDED;
    fire.run.ended_at = (instant){1200};
    assert_int_equal(kit_batch(store, (struct store_batch){.boot = m.owner, .runs = &fire.run, .run_count = 1}),
                     STATUS_OK);
    assert_int_equal(open_runs(store, m.other, done.to), 0);
    (void)add_request(store, REQUEST_RESUME, "j"); /* one that is made later finds it, too */
    assert_int_equal(polled_requests(store, m.other), 2);
    OP(op, STORE_DEFINITIONS);
    op.definitions = (struct store_definitions){.kind = DOCUMENT_JOB, .ids = &m.job, .id_count = 1};
    DO(store, &op);
    assert_int_equal(op.definitions.rows[0].slot, done.to);
    assert_int_equal(op.definitions.rows[0].moves, 1);
    store_op_release(&op);
}

static void test_move_is_fenced(void **state)
{
    struct store *store = *state;
    struct moved m = begin(store);
    assert_int_equal(move(store, m.other, m.job, m.from, NULL, "n2").outcome, OUTCOME_SLOT_LOST);
    assert_int_equal(move(store, m.owner, m.job + 1000, m.from, NULL, "n2").outcome, OUTCOME_EXISTS);
    struct store_move done = move(store, m.owner, m.job, m.from, NULL, "n2");
    assert_int_equal(done.outcome, OUTCOME_DONE);
    assert_int_equal(move(store, m.owner, m.job, m.from, NULL, NULL).outcome, OUTCOME_EXISTS); /* it is not there */
    struct store_move same = move(store, m.other, m.job, done.to, NULL, "n2");
    assert_int_equal(same.outcome, OUTCOME_DONE);
    assert_int_equal(same.to, done.to);
    struct store_move back = move(store, m.other, m.job, done.to, NULL, NULL);
    assert_int_equal(back.outcome, OUTCOME_DONE);
    assert_true(back.to < CLAIM_SLOTS);
    assert_int_equal(kit_number("SELECT SUM(jobs) FROM slot_load"), 1);
}

/* What the old slot's owner had not decided must not count as decided in the new slot. */
static void test_mark_goes_back(void **state)
{
    struct store *store = *state;
    struct moved m = begin(store);
    decide(store, m.owner, m.from, 5000, 1);
    decide(store, m.other, CLAIM_SLOTS, 9000, 1);
    int64_t seq = head(store, m.owner);
    assert_int_equal(move(store, m.owner, m.job, m.from, NULL, "n2").to, CLAIM_SLOTS);
    assert_int_equal(through(CLAIM_SLOTS), 5000);
    decide(store, m.other, CLAIM_SLOTS, 9500, seq); /* by an owner who has not heard of it */
    assert_int_equal(through(CLAIM_SLOTS), 5000);
    decide(store, m.other, CLAIM_SLOTS, 9500, seq + 1);
    assert_int_equal(through(CLAIM_SLOTS), 9500);
    int32_t slot;
    int64_t job = kit_job(store, "second", &slot);
    (void)kit_take(store, m.owner, slot, 10);
    decide(store, m.owner, slot, 20000, 99);
    assert_int_equal(move(store, m.owner, job, slot, NULL, "n2").outcome, OUTCOME_DONE);
    assert_int_equal(through(CLAIM_SLOTS + 1), INSTANT_NONE.ms); /* never forward */
}

static enum status put(struct store *store, const char *name, const char *fingerprint, const char *pool, int32_t *ret)
{
    OP(op, STORE_PUT);
    op.put = (struct store_put){.kind = DOCUMENT_JOB,
                                .project = "default",
                                .name = name,
                                .json = DOCUMENT("x"),
                                .fingerprint = fingerprint,
                                .pool = pool};
    enum status status = store_execute(store, &op);
    *ret = op.put.slot;
    store_op_release(&op);
    return status;
}

static void test_pools(void **state)
{
    struct store *store = *state;
    int64_t boot = kit_boot(store, "n1");
    int32_t slot, other;
    assert_int_equal(put(store, "a", "1", "gpu", &slot), STATUS_OK);
    assert_int_equal(slot, CLAIM_SLOTS);
    assert_int_equal(put(store, "b", "1", "gpu", &other), STATUS_OK);
    assert_int_equal(other, CLAIM_SLOTS + 1);
    assert_int_equal(put(store, "c", "1", NULL, &other), STATUS_OK);
    assert_int_equal(other, 0);
    OP(op, STORE_SLOTS_READ);
    DO(store, &op);
    assert_string_equal(op.slots_read.rows[CLAIM_SLOTS].pool, "gpu");
    assert_null(op.slots_read.rows[CLAIM_SLOTS].node);
    assert_null(op.slots_read.rows[CLAIM_SLOTS + 2].pool);
    assert_null(op.slots_read.rows[0].pool);
    store_op_release(&op);
    (void)kit_take(store, boot, CLAIM_SLOTS, 10);
    assert_int_equal(put(store, "a", "2", "gpu", &slot), STATUS_OK); /* another version, the same pool */
    assert_int_equal(polled_requests(store, boot), 0);
    assert_int_equal(put(store, "a", "3", NULL, &slot), STATUS_OK);
    assert_int_equal(slot, CLAIM_SLOTS); /* until its owner has moved it */
    assert_int_equal(polled_requests(store, boot), 1);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM request WHERE kind = 5 AND node IS NULL"), 1);
}

static void test_no_slot_left(void **state)
{
    struct store *store = *state;
    struct moved m = begin(store);
    int32_t slot;
    char text[32];
    for (int i = 0; i < CLAIM_SLOTS_EXTRA; i++) {
        (void)snprintf(text, sizeof text, "p%d", i);
        assert_int_equal(put(store, text, "1", text, &slot), STATUS_OK);
    }
    assert_int_equal(put(store, "more", "1", "another", &slot), STATUS_FULL);
    assert_int_equal(put(store, "more", "1", "p7", &slot), STATUS_OK); /* with those of its pool */
    assert_int_equal(slot, CLAIM_SLOTS + 7);
    assert_int_equal(move(store, m.owner, m.job, m.from, NULL, "n2").outcome, OUTCOME_EXISTS);
}

int main(int argc, char **argv)
{
    kit_begin(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_move_takes_all_along, kit_setup, kit_teardown),
        cmocka_unit_test_setup_teardown(test_move_is_fenced, kit_setup, kit_teardown),
        cmocka_unit_test_setup_teardown(test_mark_goes_back, kit_setup, kit_teardown),
        cmocka_unit_test_setup_teardown(test_pools, kit_setup, kit_teardown),
        cmocka_unit_test_setup_teardown(test_no_slot_left, kit_setup, kit_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
