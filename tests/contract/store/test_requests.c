/* Wishes: durable, in order, found by the right owner; and the poll that finds them. */
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

static struct request_add wish(enum request_kind kind, const char *name, int64_t id)
{
    return (struct request_add){.row = {.id = id, .kind = kind, .scheduled_at = INSTANT_NONE}, .name = name};
}

static enum status add(struct world *w, struct request_add *item)
{
    OP(op, STORE_REQUEST_ADD);
    op.request_add = (struct store_request_add){.project = "default", .author = "ann", .items = item, .count = 1};
    DO(w->store, &op);
    enum status status = item->status;
    item->row.params = NULL; /* an earlier request's texts die with the answer */
    item->row.trigger = item->row.outcome = item->row.author = NULL;
    store_op_release(&op);
    return status;
}

static size_t polled(struct world *w, int64_t boot, enum request_kind *first)
{
    OP(op, STORE_POLL);
    op.poll = (struct store_poll){.boot = boot, .since = -1, .limit = 100};
    DO(w->store, &op);
    size_t count = op.poll.request_count;
    if (first && count)
        *first = op.poll.requests[0].kind;
    store_op_release(&op);
    return count;
}

static void test_run_and_enqueue(void **state)
{
    struct world w = begin(state);
    instant at = instant_add(w.now, -SPAN_HOUR);
    struct request_add items[] = {wish(REQUEST_RUN, "job", run_id_make(day_of(w.now), 9, 1)),
                                  wish(REQUEST_ENQUEUE, "job", run_id_make(day_of(w.now), 9, 2)),
                                  wish(REQUEST_ENQUEUE, "missing", run_id_make(day_of(w.now), 9, 3)),
                                  wish(REQUEST_ENQUEUE, "job", 0),
                                  wish(REQUEST_ENQUEUE, "job", run_id_make(day_of(w.now), 9, 2))};
    items[0].row.params = "{\"日\":[1,2,\"\xf0\x9f\x94\x94\"],\"n\":1e400}";
    items[0].row.scheduled_at = at;
    OP(op, STORE_REQUEST_ADD);
    op.request_add = (struct store_request_add){.project = "default", .author = "ann", .items = items, .count = 5};
    DO(w.store, &op);
    static const enum status wanted[] = {STATUS_OK, STATUS_OK, STATUS_NOT_FOUND, STATUS_INVALID, STATUS_EXISTS};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(items[i].status, wanted[i]);
    assert_int_equal(items[0].row.job, w.job);
    assert_int_equal(items[0].row.slot, w.slot);
    assert_true(items[0].row.created_at.ms >= w.now.ms);
    store_op_release(&op);
    OP(poll, STORE_POLL);
    poll.poll = (struct store_poll){.boot = w.boot, .since = -1, .limit = 100};
    DO(w.store, &poll);
    assert_int_equal(poll.poll.request_count, 2);
    const struct request_row *r = &poll.poll.requests[0];
    assert_int_equal(r->id, items[0].row.id);
    assert_int_equal(r->kind, REQUEST_RUN);
    assert_int_equal(r->job, w.job);
    assert_string_equal(r->params, items[0].row.params);
    assert_int_equal(r->scheduled_at.ms, at.ms);
    assert_string_equal(r->author, "ann");
    assert_null(r->outcome);
    assert_true(instant_is_none(poll.poll.requests[1].scheduled_at));
    store_op_release(&poll);
    /* Until its row exists the run is told from the wish. */
    OP(read, STORE_RUN_READ);
    read.run_read = (struct store_run_read){.project = "default", .id = items[1].row.id};
    DO(w.store, &read);
    assert_int_equal(read.run_read.run.state, RUN_QUEUED);
    assert_int_equal(read.run_read.run.origin, ORIGIN_MANUAL);
    assert_string_equal(read.run_read.job_name, "job");
    assert_string_equal(read.run_read.project_name, "default");
    assert_non_null(read.run_read.job_json);
    assert_int_equal(strncmp(read.run_read.run.trigger, "manual-", 7), 0);
    store_op_release(&read);
}

static void test_whose_wish(void **state)
{
    struct world w = begin(state);
    int64_t other = kit_boot(w.store, "n2");
    struct request_add item = wish(REQUEST_ENQUEUE, "job", run_id_make(day_of(w.now), 9, 1));
    assert_int_equal(add(&w, &item), STATUS_OK);
    assert_int_equal(polled(&w, w.boot, NULL), 1);
    assert_int_equal(polled(&w, other, NULL), 0);
    (void)kit_take(w.store, other, w.slot, 20);
    assert_int_equal(polled(&w, w.boot, NULL), 0);
    assert_int_equal(polled(&w, other, NULL), 1);
}

static void test_key_answers_with_the_earlier(void **state)
{
    struct world w = begin(state);
    int64_t first = run_id_make(day_of(w.now), 9, 1);
    struct request_add items[2] = {wish(REQUEST_ENQUEUE, "job", first), wish(REQUEST_ENQUEUE, "job", first + 1)};
    items[0].idempotency_key = items[1].idempotency_key = "k ' \xe6\x97\xa5";
    OP(op, STORE_REQUEST_ADD);
    op.request_add = (struct store_request_add){.project = "default", .author = "ann", .items = items, .count = 2};
    DO(w.store, &op);
    assert_int_equal(items[0].status, STATUS_OK);
    assert_int_equal(items[1].status, STATUS_EXISTS);
    assert_int_equal(items[1].row.id, first);
    store_op_release(&op);
    struct request_add later = wish(REQUEST_ENQUEUE, "job", first + 2);
    later.idempotency_key = "k ' \xe6\x97\xa5";
    assert_int_equal(add(&w, &later), STATUS_EXISTS);
    assert_int_equal(later.row.id, first);
    later = wish(REQUEST_ENQUEUE, "job", first + 3);
    later.idempotency_key = "K ' \xe6\x97\xa5"; /* another key */
    assert_int_equal(add(&w, &later), STATUS_OK);
    char key[300];
    memset(key, 'k', sizeof key);
    key[299] = '\0';
    later = wish(REQUEST_ENQUEUE, "job", first + 4);
    later.idempotency_key = key;
    assert_int_equal(add(&w, &later), STATUS_INVALID);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM request"), 2);
    /* A day later the key is free. */
    kit_sql("UPDATE request SET created_at = created_at - 86400001");
    later = wish(REQUEST_ENQUEUE, "job", first + 5);
    later.idempotency_key = "k ' \xe6\x97\xa5";
    assert_int_equal(add(&w, &later), STATUS_OK);
}

static void test_pause_and_resume(void **state)
{
    struct world w = begin(state);
    int64_t head = kit_number("SELECT MAX(seq) FROM `change`");
    assert_int_equal(
        kit_batch(w.store, (struct store_batch){.boot = w.boot, .suspended_jobs = &w.job, .suspended_count = 1}),
        STATUS_OK);
    struct request_add pause = wish(REQUEST_PAUSE, "job", 0), resume = wish(REQUEST_RESUME, "job", 0),
                       one = wish(REQUEST_PAUSE, "job", 0);
    one.row.trigger = "b";
    assert_int_equal(add(&w, &pause), STATUS_OK);
    assert_true(pause.row.id > 0);
    OP(op, STORE_DEFINITIONS);
    op.definitions = (struct store_definitions){.kind = DOCUMENT_JOB, .ids = &w.job, .id_count = 1};
    DO(w.store, &op);
    assert_true(op.definitions.rows[0].paused && op.definitions.rows[0].suspended);
    assert_int_equal(op.definitions.rows[0].version, 1);
    store_op_release(&op);
    resume.row.skip_missed = true;
    assert_int_equal(add(&w, &resume), STATUS_OK);
    assert_true(resume.row.id > pause.row.id);
    one.row.trigger = "b";
    assert_int_equal(add(&w, &one), STATUS_OK);
    store_op_init(&op, STORE_DEFINITIONS);
    op.definitions = (struct store_definitions){.kind = DOCUMENT_JOB, .ids = &w.job, .id_count = 1};
    DO(w.store, &op);
    assert_false(op.definitions.rows[0].paused || op.definitions.rows[0].suspended);
    store_op_release(&op);
    OP(poll, STORE_POLL);
    poll.poll = (struct store_poll){.boot = w.boot, .since = head, .limit = 100};
    DO(w.store, &poll);
    assert_int_equal(poll.poll.change_count, 4); /* suspension, three requests */
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(poll.poll.changes[i].seq, head + 1 + (int64_t)i);
        assert_int_equal(poll.poll.changes[i].id, w.job);
    }
    assert_int_equal(poll.poll.request_count, 3);
    assert_int_equal(poll.poll.requests[0].kind, REQUEST_PAUSE);
    assert_null(poll.poll.requests[0].trigger);
    assert_int_equal(poll.poll.requests[1].kind, REQUEST_RESUME);
    assert_true(poll.poll.requests[1].skip_missed);
    assert_string_equal(poll.poll.requests[2].trigger, "b");
    store_op_release(&poll);
    assert_int_equal(kit_number("SELECT paused FROM `trigger` WHERE name = 'b'"), 1);
}

/* A cancel goes to whoever drives the run; when nobody does any more, to the slot's owner. */
static void test_cancel_finds_the_driver(void **state)
{
    struct world w = begin(state);
    int64_t other = kit_boot(w.store, "n2");
    struct store_fire fire = {.run = kit_run(w.job, w.slot, w.boot, "a", w.now, 1)};
    assert_int_equal(kit_fire(w.store, w.boot, &fire, 1), STATUS_OK);
    (void)kit_take(w.store, other, w.slot, 20); /* the run stays with its boot */
    struct request_add cancel = wish(REQUEST_CANCEL, NULL, 0);
    cancel.row.run = fire.run.id;
    assert_int_equal(add(&w, &cancel), STATUS_OK);
    assert_int_equal(cancel.row.job, w.job);
    enum request_kind kind = REQUEST_KINDS;
    assert_int_equal(polled(&w, w.boot, &kind), 1);
    assert_int_equal(kind, REQUEST_CANCEL);
    assert_int_equal(polled(&w, other, NULL), 0);
    fire.run.state = RUN_SUCCEEDED;
    fire.run.ended_at = w.now;
    assert_int_equal(kit_batch(w.store, (struct store_batch){.boot = w.boot, .runs = &fire.run, .run_count = 1}),
                     STATUS_OK);
    assert_int_equal(polled(&w, w.boot, NULL), 0);
    assert_int_equal(polled(&w, other, NULL), 1);
    assert_int_equal(add(&w, &cancel), STATUS_CONFLICT); /* it has ended */
    cancel.row.run = 12345;
    assert_int_equal(add(&w, &cancel), STATUS_NOT_FOUND);
    struct request_add queued = wish(REQUEST_ENQUEUE, "job", run_id_make(day_of(w.now), 9, 7));
    assert_int_equal(add(&w, &queued), STATUS_OK);
    cancel.row.run = queued.row.id;
    assert_int_equal(add(&w, &cancel), STATUS_OK);
    assert_int_equal(cancel.row.job, w.job);
}

static void test_deleted_jobs_take_no_wishes(void **state)
{
    struct world w = begin(state);
    OP(op, STORE_DELETE);
    op.delete = (struct store_delete){.kind = DOCUMENT_JOB, .project = "default", .name = "job", .author = "a"};
    DO(w.store, &op);
    store_op_release(&op);
    struct request_add item = wish(REQUEST_ENQUEUE, "job", run_id_make(day_of(w.now), 9, 1));
    assert_int_equal(add(&w, &item), STATUS_NOT_FOUND);
    OP(none, STORE_REQUEST_ADD);
    none.request_add = (struct store_request_add){.project = "nowhere", .items = &item, .count = 1};
    EXPECT(w.store, &none, STATUS_NOT_FOUND);
    store_op_release(&none);
}

static void test_requests_are_audited(void **state)
{
    struct world w = begin(state);
    struct request_add item = wish(REQUEST_RUN, "job", run_id_make(day_of(w.now), 9, 1));
    assert_int_equal(add(&w, &item), STATUS_OK);
    OP(op, STORE_AUDIT);
    op.audit = (struct store_audit){.limit = 1};
    DO(w.store, &op);
    assert_string_equal(op.audit.rows[0].who, "ann");
    assert_string_equal(op.audit.rows[0].action, "run");
    assert_string_equal(op.audit.rows[0].kind, "job");
    assert_string_equal(op.audit.rows[0].name, "job");
    store_op_release(&op);
}

static void test_poll_in_pages(void **state)
{
    struct world w = begin(state);
    char name[20];
    for (int i = 0; i < 9; i++) {
        (void)snprintf(name, sizeof name, "j%d", i);
        (void)kit_job(w.store, name, NULL);
    }
    int64_t since = 0, head = 0;
    size_t seen = 0;
    do {
        OP(op, STORE_POLL);
        op.poll = (struct store_poll){.boot = w.boot, .since = since, .limit = 4};
        DO(w.store, &op);
        head = op.poll.head;
        for (size_t i = 0; i < op.poll.change_count; i++) {
            assert_int_equal(op.poll.changes[i].seq, since + 1);
            since = op.poll.changes[i].seq;
            seen++;
        }
        store_op_release(&op);
    } while (since < head);
    assert_int_equal(seen, 11); /* project default, ten jobs */
}

int main(int argc, char **argv)
{
    kit_begin(argc, argv);
#define T(f) cmocka_unit_test_setup_teardown(f, kit_setup, kit_teardown)
    const struct CMUnitTest tests[] = {T(test_run_and_enqueue),
                                       T(test_whose_wish),
                                       T(test_key_answers_with_the_earlier),
                                       T(test_pause_and_resume),
                                       T(test_cancel_finds_the_driver),
                                       T(test_deleted_jobs_take_no_wishes),
                                       T(test_requests_are_audited),
                                       T(test_poll_in_pages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
