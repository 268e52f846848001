/* The asynchronous face: completions on the owner's thread, order of writes, closing, the wrappers; many at once. */
#include <pthread.h>
#include <time.h>

#include "tests/contract/store/kit.h"

struct post {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int posts;
};

static void on_post(void *context)
{
    struct post *p = context;
    (void)pthread_mutex_lock(&p->mutex);
    p->posts++;
    (void)pthread_cond_signal(&p->changed);
    (void)pthread_mutex_unlock(&p->mutex);
}

static void wait_for_post(struct post *p)
{
    (void)pthread_mutex_lock(&p->mutex);
    while (!p->posts)
        (void)pthread_cond_wait(&p->changed, &p->mutex);
    p->posts = 0;
    (void)pthread_mutex_unlock(&p->mutex);
}

static struct store *open_posting(struct post *p)
{
    struct store *store = NULL;
    struct error err = {.code = STATUS_OK};
    (void)pthread_mutex_init(&p->mutex, NULL);
    (void)pthread_cond_init(&p->changed, NULL);
    p->posts = 0;
    if (kit_open_options((struct store_options){.readers = 2, .post = on_post, .context = p}, &store, &err) !=
        STATUS_OK)
        fail_msg("%s", err.text);
    return store;
}

static size_t done_count;
static pthread_t done_thread;
static int64_t done_order[600];

static void on_done(struct store_op *op)
{
    done_thread = pthread_self();
    done_order[done_count++] = op->kind == STORE_BATCH ? op->batch.number : -(int64_t)op->kind;
}

static void wait_done(struct store *store, struct post *p, size_t count)
{
    while (done_count < count) {
        wait_for_post(p);
        store_drain(store);
    }
}

static void test_writes_in_order_of_arrival(void **state)
{
    struct post post;
    struct store *store = open_posting(&post);
    (void)state;
    int64_t boot = kit_boot(store, "n1");
    int32_t slot;
    int64_t job = kit_job(store, "job", &slot);
    (void)kit_take(store, boot, slot, 5);
    instant now = kit_now(store);
    enum { OPS = 200 };
    static struct store_op ops[OPS];
    static struct store_fire fires[OPS];
    done_count = 0;
    for (size_t i = 0; i < OPS; i++) {
        store_op_init(&ops[i], STORE_BATCH);
        fires[i].run = kit_run(job, slot, boot, "a", instant_add(now, (span)i), i + 1);
        ops[i].batch =
            (struct store_batch){.boot = boot, .number = (int64_t)i + 1, .fires = &fires[i], .fire_count = 1};
        ops[i].done = on_done;
        store_submit(store, &ops[i]);
        assert_int_equal(done_count, 0); /* never from inside submit, never on another thread */
    }
    wait_done(store, &post, OPS);
    assert_true(pthread_equal(done_thread, pthread_self()));
    for (size_t i = 0; i < OPS; i++) {
        assert_int_equal(ops[i].status, STATUS_OK);
        assert_int_equal(done_order[i], i + 1);
        store_op_release(&ops[i]);
    }
    assert_int_equal(kit_runs(store), OPS);
    kit_close(store);
}

static void test_every_lane_answers(void **state)
{
    struct post post;
    struct store *store = open_posting(&post);
    (void)state;
    int64_t boot = kit_boot(store, "n1");
    struct store_op ops[4];
    static const enum store_op_kind kinds[] = {STORE_POLL, STORE_CLUSTER, STORE_SLOTS_READ, STORE_SLOTS_TAKE};
    done_count = 0;
    for (size_t i = 0; i < 4; i++) {
        store_op_init(&ops[i], kinds[i]);
        if (kinds[i] == STORE_POLL)
            ops[i].poll.boot = boot;
        if (kinds[i] == STORE_SLOTS_TAKE)
            ops[i].slots_take.boot = boot;
        ops[i].done = on_done;
        store_submit(store, &ops[i]);
    }
    wait_done(store, &post, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(ops[i].status, STATUS_OK);
        store_op_release(&ops[i]);
    }
    kit_close(store);
}

static void test_close_ends_what_waits(void **state)
{
    struct post post;
    struct store *store = open_posting(&post);
    (void)state;
    enum { OPS = 300 };
    static struct store_op ops[OPS];
    done_count = 0;
    for (size_t i = 0; i < OPS; i++) {
        store_op_init(&ops[i], STORE_SLOTS_READ);
        ops[i].done = on_done;
        store_submit(store, &ops[i]);
    }
    kit_close(store);
    assert_int_equal(done_count, OPS);
    size_t canceled = 0;
    for (size_t i = 0; i < OPS; i++) {
        assert_true(ops[i].status == STATUS_OK || ops[i].status == STATUS_CANCELED);
        canceled += ops[i].status == STATUS_CANCELED;
        store_op_release(&ops[i]);
    }
    assert_true(canceled > 0);
}

/* ---- the feed under many writers ------------------------------------------------------------------------------------
 */

struct writer {
    struct store *store;
    int number;
};

static void *define(void *context)
{
    struct writer *w = context;
    char name[40];
    for (int i = 0; i < 25; i++) {
        (void)snprintf(name, sizeof name, "w%d-%d", w->number, i);
        (void)kit_job(w->store, name, NULL);
    }
    return NULL;
}

/* A reader that trusts "seq > last" misses nothing, however many write. */
static void test_feed_in_order_of_commit(void **state)
{
    struct store *store = *state, *second = kit_open();
    struct writer writers[4];
    pthread_t threads[4];
    int64_t since = 0;
    size_t seen = 0;
    for (int i = 0; i < 4; i++) {
        writers[i] = (struct writer){i % 2 ? second : store, i};
        assert_int_equal(pthread_create(&threads[i], NULL, define, &writers[i]), 0);
    }
    while (seen < 101) {
        OP(op, STORE_POLL);
        op.poll = (struct store_poll){.boot = 1, .since = since, .limit = 7};
        DO(store, &op);
        for (size_t i = 0; i < op.poll.change_count; i++) {
            assert_int_equal(op.poll.changes[i].seq, since + 1); /* no gap: what was handed out is committed */
            since++;
            seen++;
        }
        store_op_release(&op);
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(kit_number("SELECT COUNT(DISTINCT slot) FROM job"), 100);
    kit_close(second);
}

/* ---- everything at once
 * ----------------------------------------------------------------------------------------------- */

struct crowd {
    struct store *store;
    int64_t boot, job;
    int32_t slot;
    instant now;
    int trouble;
};

static enum status one(struct crowd *c, struct store_op *op)
{
    enum status status = store_execute(c->store, op);
    if (status != STATUS_OK && status != STATUS_UNAVAILABLE) {
        print_error("%s: %s: %s\n", store_op_name(op->kind), status_text(status), op->error.text);
        __atomic_add_fetch(&c->trouble, 1, __ATOMIC_RELAXED);
    }
    store_op_release(op);
    return status;
}

static void *crowd_fires(void *context)
{
    struct crowd *c = context;
    static struct store_fire fires[60];
    for (uint64_t round = 0; round < 60; round++) {
        for (uint64_t i = 0; i < 60; i++)
            fires[i].run =
                kit_run(c->job, c->slot, c->boot, "a", instant_add(c->now, (span)(round * 60 + i)), round * 60 + i + 1);
        OP(op, STORE_BATCH);
        op.batch = (struct store_batch){.boot = c->boot,
                                        .number = kit_batch_number(c->boot),
                                        .fires = fires,
                                        .fire_count = 60,
                                        .suspended_jobs = &c->job,
                                        .suspended_count = 1};
        (void)one(c, &op);
    }
    return NULL;
}

static void *crowd_wishes(void *context)
{
    struct crowd *c = context;
    for (uint64_t i = 0; i < 60; i++) {
        struct request_add items[2];
        memset(items, 0, sizeof items);
        items[0].row = (struct request_row){
            .id = run_id_make(day_of(c->now), 900, i + 1), .kind = REQUEST_ENQUEUE, .scheduled_at = INSTANT_NONE};
        items[1].row = (struct request_row){.kind = i % 2 ? REQUEST_PAUSE : REQUEST_RESUME};
        items[0].name = items[1].name = "job";
        OP(op, STORE_REQUEST_ADD);
        op.request_add = (struct store_request_add){.project = "default", .author = "a", .items = items, .count = 2};
        (void)one(c, &op);
    }
    return NULL;
}

static void *crowd_housekeeping(void *context)
{
    struct crowd *c = context;
    for (int i = 0; i < 40; i++) {
        OP(lease, STORE_LEASE);
        lease.lease = (struct store_lease){.name = "h", .boot = c->boot, .ttl = SPAN_MINUTE};
        (void)one(c, &lease);
        OP(op, STORE_RETENTION);
        op.retention = (struct store_retention){.boot = c->boot,
                                                .runs = instant_add(c->now, -SPAN_DAY),
                                                .bodies = c->now,
                                                .skips = c->now,
                                                .audit = c->now,
                                                .changes = c->now,
                                                .requests = c->now};
        (void)one(c, &op);
    }
    return NULL;
}

static void *crowd_reads(void *context)
{
    struct crowd *c = context;
    for (int i = 0; i < 60; i++) {
        OP(list, STORE_RUNS_LIST);
        list.runs_list = (struct store_runs_list){
            .project = "default", .has_error = -1, .origin = -1, .from = INSTANT_NONE, .to = INSTANT_NONE, .limit = 50};
        (void)one(c, &list);
        OP(load, STORE_SLOTS_LOAD);
        load.slots_load = (struct store_slots_load){.boot = 1, .slots = &c->slot, .slot_count = 1};
        (void)one(c, &load);
        OP(read, STORE_BOOT_READ);
        read.boot_read.boot = c->boot;
        (void)one(c, &read);
        struct slot_through through = {c->slot, instant_add(c->now, i)};
        OP(decided, STORE_DECIDED);
        decided.decided = (struct store_decided){.boot = c->boot, .slots = &through, .count = 1};
        (void)one(c, &decided);
    }
    return NULL;
}

static void test_everything_at_once(void **state)
{
    struct crowd c = {.store = *state};
    c.boot = kit_boot(c.store, "n1");
    c.job = kit_job(c.store, "job", &c.slot);
    (void)kit_take(c.store, c.boot, c.slot, 5);
    c.now = kit_now(c.store);
    static void *(*const parts[])(void *) = {crowd_fires, crowd_wishes, crowd_housekeeping, crowd_reads, crowd_reads};
    enum { PARTS = sizeof parts / sizeof *parts };
    pthread_t threads[PARTS];
    for (size_t i = 0; i < PARTS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, parts[i], &c), 0);
    for (size_t i = 0; i < PARTS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(c.trouble, 0);
    assert_int_equal(kit_runs(c.store), 3600);
}

/* The server ends connections that were idle, or restarts: the next operation opens a new one and says nothing. */
static void test_idle_connections_that_the_server_ended(void **state)
{
    struct store *store = *state;
    for (int i = 0; i < 3; i++) {
        (void)kit_boot(store, "n1");
        kit_kill_connections();
        (void)kit_now(store);
    }
    assert_int_equal(kit_number("SELECT COUNT(*) FROM boot"), 3);
}

/* ---- wrappers -------------------------------------------------------------------------------------------------------
 */

static char lines[2000];

static void on_line(void *context, const char *text)
{
    (void)context;
    size_t used = strlen(lines);
    (void)snprintf(lines + used, sizeof lines - used, "%s\n", text);
}

static void test_trace_tells_each(void **state)
{
    struct post post;
    struct store *store = store_trace(open_posting(&post), on_line, NULL);
    (void)state;
    lines[0] = '\0';
    OP(read, STORE_BOOT_READ);
    read.boot_read.boot = 77;
    EXPECT(store, &read, STATUS_NOT_FOUND);
    store_op_release(&read);
    OP(op, STORE_CLUSTER);
    int mark = 5;
    op.done = on_done;
    op.owner = &mark;
    done_count = 0;
    store_submit(store, &op);
    wait_done(store, &post, 1);
    assert_ptr_equal(op.owner, &mark);
    assert_true(op.done == on_done);
    store_op_release(&op);
    assert_non_null(strstr(lines, "store boot_read not found "));
    assert_non_null(strstr(lines, "store cluster ok "));
    kit_close(store);
}

static void test_faulty_fails_the_nth(void **state)
{
    struct post post;
    (void)state;
    struct store *store = store_trace(store_faulty(open_posting(&post), 2, STATUS_FULL), on_line, NULL);
    struct store_op ops[3];
    done_count = 0;
    for (size_t i = 0; i < 3; i++) {
        store_op_init(&ops[i], STORE_CLUSTER);
        ops[i].done = on_done;
        store_submit(store, &ops[i]);
        assert_int_equal(done_count, 0);
    }
    wait_done(store, &post, 3);
    assert_int_equal(ops[0].status, STATUS_OK);
    assert_int_equal(ops[1].status, STATUS_FULL);
    assert_int_equal(ops[2].status, STATUS_OK);
    for (size_t i = 0; i < 3; i++)
        store_op_release(&ops[i]);
    kit_close(store);
}

/* UNKNOWN is the lost answer: it has happened. */
static void test_faulty_unknown_has_happened(void **state)
{
    struct post post;
    (void)state;
    struct store *store = store_faulty(open_posting(&post), 1, STATUS_UNKNOWN);
    OP(op, STORE_BOOT_START);
    op.boot_start = (struct store_boot_start){.node = "n1", .address = "", .role = "scheduler"};
    op.done = on_done;
    done_count = 0;
    store_submit(store, &op);
    wait_done(store, &post, 1);
    assert_int_equal(op.status, STATUS_UNKNOWN);
    store_op_release(&op);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM boot"), 1);
    kit_close(store);
}

static int setup_place(void **state)
{
    (void)state;
    (void)kit_place();
    return 0;
}

static int teardown_place(void **state)
{
    (void)state;
    kit_forget();
    return 0;
}

int main(int argc, char **argv)
{
    kit_begin(argc, argv);
#define T(f) cmocka_unit_test_setup_teardown(f, kit_setup, kit_teardown)
#define P(f) cmocka_unit_test_setup_teardown(f, setup_place, teardown_place)
    const struct CMUnitTest tests[] = {P(test_writes_in_order_of_arrival), P(test_every_lane_answers),
                                       P(test_close_ends_what_waits),      T(test_feed_in_order_of_commit),
                                       T(test_everything_at_once),         P(test_trace_tells_each),
                                       P(test_faulty_fails_the_nth),       P(test_faulty_unknown_has_happened)};
    const struct CMUnitTest servers[] = {T(test_idle_connections_that_the_server_ended)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed || !kit_mysql() ? failed : cmocka_run_group_tests(servers, NULL, NULL);
}
