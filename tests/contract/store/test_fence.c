/* The fences, from two connections at once. A batch is held still between its check and its commit; meanwhile a
 * successor fences the boot, or takes the slot. Afterwards nothing of the batch may commit that the successor, when its
 * own call returned, could not see.
 * The same scenes are played with the fence reading a snapshot (a mutation in db.h): then they must go wrong. That is
 * what shows that these tests can see. */
#include <pthread.h>
#include <time.h>

#include "tests/contract/store/kit.h"

struct scene {
    struct store *first, *second; /* two stores on one place: two processes */
    int64_t boot, successor, job;
    int32_t slot;
    instant now;
    /* the gate: the batch stops before COMMIT until it is opened */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool reached, open;
    /* what the successor saw when its call had returned */
    bool returned;
    int64_t seen;
};

static void rest(long ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    (void)nanosleep(&t, NULL);
}

static enum db_fault gate(void *context, enum db_point point, const char *sql)
{
    struct scene *s = context;
    (void)sql;
    if (point != DB_POINT_COMMIT)
        return DB_FAULT_NONE;
    (void)pthread_mutex_lock(&s->mutex);
    s->reached = true;
    (void)pthread_cond_broadcast(&s->changed);
    while (!s->open)
        (void)pthread_cond_wait(&s->changed, &s->mutex);
    (void)pthread_mutex_unlock(&s->mutex);
    return DB_FAULT_NONE;
}

static void wait_until_reached(struct scene *s)
{
    (void)pthread_mutex_lock(&s->mutex);
    while (!s->reached)
        (void)pthread_cond_wait(&s->changed, &s->mutex);
    (void)pthread_mutex_unlock(&s->mutex);
}

static void open_gate(struct scene *s)
{
    (void)pthread_mutex_lock(&s->mutex);
    s->open = true;
    (void)pthread_cond_broadcast(&s->changed);
    (void)pthread_mutex_unlock(&s->mutex);
}

static struct scene *begin(void **state, bool mutated)
{
    struct scene *s = calloc(1, sizeof *s);
    s->first = *state;
    s->second = kit_open();
    s->boot = kit_boot(s->first, "n1");
    s->successor = kit_boot(s->second, "n2");
    s->job = kit_job(s->first, "job", &s->slot);
    (void)kit_take(s->first, s->boot, s->slot, 10);
    s->now = kit_now(s->first);
    (void)pthread_mutex_init(&s->mutex, NULL);
    (void)pthread_cond_init(&s->changed, NULL);
    store_test_hooks(s->first, &(struct db_hooks){.before = gate, .context = s, .fence_by_snapshot = mutated});
    return s;
}

static void end(struct scene *s)
{
    store_test_hooks(s->first, NULL);
    kit_close(s->second);
    (void)pthread_mutex_destroy(&s->mutex);
    (void)pthread_cond_destroy(&s->changed);
    free(s);
}

static void *fire(void *context)
{
    struct scene *s = context;
    struct store_fire one = {.run = kit_run(s->job, s->slot, s->boot, "a", s->now, 1)};
    (void)kit_fire(s->first, s->boot, &one, 1);
    return NULL;
}

static void look(struct scene *s)
{
    int64_t seen = kit_runs(s->second);
    (void)pthread_mutex_lock(&s->mutex);
    s->seen = seen;
    s->returned = true;
    (void)pthread_mutex_unlock(&s->mutex);
}

static void *fence(void *context)
{
    struct scene *s = context;
    kit_fence(s->second, s->successor, s->boot);
    look(s);
    return NULL;
}

static void *take(void *context)
{
    struct scene *s = context;
    (void)kit_take(s->second, s->successor, s->slot, 11);
    look(s);
    return NULL;
}

static bool has_returned(struct scene *s)
{
    (void)pthread_mutex_lock(&s->mutex);
    bool returned = s->returned;
    (void)pthread_mutex_unlock(&s->mutex);
    return returned;
}

/* Plays it; true when the fence held: the successor saw everything that the batch ever wrote. */
static bool play(void **state, void *(*succeed)(void *), bool mutated)
{
    struct scene *s = begin(state, mutated);
    pthread_t batch, other;
    assert_int_equal(pthread_create(&batch, NULL, fire, s), 0);
    wait_until_reached(s);
    assert_int_equal(pthread_create(&other, NULL, succeed, s), 0);
    for (int i = 0; i < 30 && !has_returned(s); i++)
        rest(10);
    open_gate(s);
    assert_int_equal(pthread_join(batch, NULL), 0);
    assert_int_equal(pthread_join(other, NULL), 0);
    bool held = s->seen == kit_runs(s->first);
    end(s);
    return held;
}

static void test_fencing_waits_for_the_batch(void **state)
{
    assert_true(play(state, fence, false));
}

static void test_taking_waits_for_the_batch(void **state)
{
    assert_true(play(state, take, false));
}

/* SQLite has one writer at a time whatever the fence reads: there the mutation cannot show. */
static void test_a_snapshot_lets_a_fenced_batch_through(void **state)
{
    assert_false(play(state, fence, true));
}

static void test_a_snapshot_lets_a_lost_slot_fire(void **state)
{
    assert_false(play(state, take, true));
}

/* The other order: who comes second finds the door closed, though its connection was opened long before. */
static void test_late_batch_is_refused(void **state)
{
    struct store *first = *state, *second = kit_open();
    int64_t boot = kit_boot(first, "n1"), successor = kit_boot(second, "n2");
    int32_t slot;
    int64_t job = kit_job(first, "job", &slot);
    instant now = kit_now(first);
    (void)kit_take(first, boot, slot, 10);
    struct store_fire one = {.run = kit_run(job, slot, boot, "a", now, 1)};
    assert_int_equal(kit_fire(first, boot, &one, 1), STATUS_OK);
    (void)kit_take(second, successor, slot, 11);
    one.run = kit_run(job, slot, boot, "a", instant_add(now, 1), 2);
    assert_int_equal(kit_fire(first, boot, &one, 1), STATUS_OK);
    assert_int_equal(one.outcome, OUTCOME_SLOT_LOST);
    kit_fence(second, successor, boot);
    assert_int_equal(kit_fire(first, boot, &one, 1), STATUS_FENCED);
    assert_int_equal(kit_runs(first), 1);
    kit_close(second);
}

/* A process that is stopped in the middle of a batch holds row locks. The server ends its connection after half a
 * session; the successor gets through within that, and the batch, when the process wakes, has not happened. */
static void test_a_stopped_owner_does_not_block(void **state)
{
    struct scene *s = begin(state, false);
    pthread_t batch;
    assert_int_equal(pthread_create(&batch, NULL, fire, s), 0);
    wait_until_reached(s);
    struct timespec from, to;
    (void)clock_gettime(CLOCK_MONOTONIC, &from);
    kit_fence(s->second, s->successor, s->boot); /* the gate is still closed */
    (void)kit_take(s->second, s->successor, s->slot, 11);
    (void)clock_gettime(CLOCK_MONOTONIC, &to);
    assert_in_range(to.tv_sec - from.tv_sec, 0, 8); /* the session is 6 s */
    assert_int_equal(kit_runs(s->second), 0);
    open_gate(s);
    assert_int_equal(pthread_join(batch, NULL), 0);
    assert_int_equal(kit_runs(s->second), 0);
    OP(op, STORE_BATCH_CHECK);
    op.batch_check = (struct store_batch_check){.boot = s->boot, .number = 1};
    DO(s->second, &op);
    assert_false(op.batch_check.committed);
    store_op_release(&op);
    end(s);
}

/* While a successor waits for the locks of a stopped process, its own fires go on. */
static void fires_meanwhile(void **state, void *(*succeed)(void *))
{
    struct scene *s = begin(state, false);
    int32_t slot;
    int64_t job = kit_job(s->second, "mine", &slot);
    (void)kit_take(s->second, s->successor, slot, 5);
    pthread_t batch, other;
    assert_int_equal(pthread_create(&batch, NULL, fire, s), 0);
    wait_until_reached(s);
    assert_int_equal(pthread_create(&other, NULL, succeed, s), 0);
    struct timespec from, to;
    (void)clock_gettime(CLOCK_MONOTONIC, &from);
    for (uint64_t i = 0; i < 20; i++) {
        struct store_fire one = {.run = kit_run(job, slot, s->successor, "a", instant_add(s->now, (span)i), i + 100)};
        assert_int_equal(kit_fire(s->second, s->successor, &one, 1), STATUS_OK);
        rest(20);
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &to);
    assert_false(has_returned(s)); /* it did wait */
    assert_in_range((to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000, 400, 2500);
    open_gate(s);
    assert_int_equal(pthread_join(batch, NULL), 0);
    assert_int_equal(pthread_join(other, NULL), 0);
    end(s);
}

static void test_fires_while_fencing(void **state)
{
    fires_meanwhile(state, fence);
}

static void test_fires_while_taking(void **state)
{
    fires_meanwhile(state, take);
}

/* Many at once: two owners that believe in one slot, each firing the same instants. One run an instant comes of it. */
struct rival {
    struct store *store;
    int64_t boot, job;
    int32_t slot;
    instant from;
    int64_t czxid;
};

static void *compete(void *context)
{
    struct rival *r = context;
    for (uint64_t round = 0; round < 20; round++) {
        struct slot_take one = {.slot = r->slot, .generation = 1, .czxid = r->czxid + (int64_t)round * 2};
        OP(op, STORE_SLOTS_TAKE);
        op.slots_take = (struct store_slots_take){.boot = r->boot, .takes = &one, .count = 1};
        (void)store_execute(r->store, &op);
        store_op_release(&op);
        struct store_fire fires[8];
        for (uint64_t i = 0; i < 8; i++)
            fires[i].run =
                kit_run(r->job, r->slot, r->boot, "a", instant_add(r->from, (span)(round * 8 + i)), round * 8 + i + 1);
        enum status status = kit_fire(r->store, r->boot, fires, 8);
        if (status != STATUS_OK && status != STATUS_UNAVAILABLE)
            abort();
    }
    return NULL;
}

static void test_rivals(void **state)
{
    struct store *first = *state, *second = kit_open();
    struct rival rivals[2] = {{.store = first, .boot = kit_boot(first, "n1"), .czxid = 10},
                              {.store = second, .boot = kit_boot(second, "n2"), .czxid = 11}};
    int32_t slot;
    int64_t job = kit_job(first, "job", &slot);
    instant now = kit_now(first);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        rivals[i].job = job;
        rivals[i].slot = slot;
        rivals[i].from = now;
        assert_int_equal(pthread_create(&threads[i], NULL, compete, &rivals[i]), 0);
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(kit_runs(first), kit_number("SELECT COUNT(DISTINCT scheduled_at) FROM run"));
    assert_true(kit_runs(first) > 0);
    kit_close(second);
}

int main(int argc, char **argv)
{
    kit_begin(argc, argv);
#define T(f) cmocka_unit_test_setup_teardown(f, kit_setup, kit_teardown)
    const struct CMUnitTest tests[] = {T(test_fencing_waits_for_the_batch), T(test_taking_waits_for_the_batch),
                                       T(test_late_batch_is_refused), T(test_rivals)};
    const struct CMUnitTest servers[] = {T(test_a_stopped_owner_does_not_block), T(test_fires_while_fencing),
                                         T(test_fires_while_taking), T(test_a_snapshot_lets_a_fenced_batch_through),
                                         T(test_a_snapshot_lets_a_lost_slot_fire)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed || !kit_mysql() ? failed : cmocka_run_group_tests(servers, NULL, NULL);
}
