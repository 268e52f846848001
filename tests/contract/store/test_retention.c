/* Housekeeping: what is old goes, what is open stays, the feed tells that it was trimmed. */
#include <pthread.h>
#include <unistd.h>

#include "core/base/str.h"
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

static int64_t sweep(struct world *w, struct store_retention input)
{
    int64_t removed = 0;
    input.boot = w->boot;
    for (int i = 0; i < 1000; i++) {
        OP(op, STORE_RETENTION);
        op.retention = input;
        DO(w->store, &op);
        removed += op.retention.removed;
        bool more = op.retention.more;
        store_op_release(&op);
        if (!more)
            return removed;
    }
    fail_msg("housekeeping does not end");
    return 0;
}

#define NOTHING                                                                                 \
    .runs = INSTANT_NONE, .bodies = INSTANT_NONE, .skips = INSTANT_NONE, .audit = INSTANT_NONE, \
    .changes = INSTANT_NONE, .requests = INSTANT_NONE

/* Old and new runs with steps, attempts, bodies and skips. In MySQL the past shares the first partition, so days are
 * made there by hand: as if the store had run for weeks. */
static void make_days(struct world *w)
{
    static const char *const tables[] = {"run", "attempt", "step", "body", "skip", "audit"};
    char sql[400], body[3000];
    memset(body, 'x', sizeof body - 1);
    body[sizeof body - 1] = '\0';
    int32_t today = day_of(w->now);
    for (size_t i = 0; i < 6 && kit_mysql(); i++) {
        (void)snprintf(sql, sizeof sql,
                       "ALTER TABLE %s REORGANIZE PARTITION d%d INTO (PARTITION d%d VALUES LESS THAN (%d), "
                       "PARTITION d%d VALUES LESS THAN (%d), PARTITION d%d VALUES LESS THAN (%d))",
                       tables[i], today, today - 40, today - 39, today - 1, today, today, today + 1);
        kit_sql(sql);
    }
    static const int days[] = {41, 40, 0};
    for (size_t d = 0; d < 3; d++) {
        instant at = instant_add(w->now, -days[d] * SPAN_DAY);
        struct store_fire fires[4];
        struct attempt_row attempts[4];
        struct step_row steps[4];
        for (uint64_t i = 0; i < 4; i++) {
            fires[i].run = kit_run(w->job, w->slot, w->boot, "a", instant_add(at, (span)i), d * 10 + i + 1);
            fires[i].run.state = RUN_SUCCEEDED;
            fires[i].run.ended_at = at;
            attempts[i] = (struct attempt_row){.run = fires[i].run.id,
                                               .step = "s",
                                               .n = 1,
                                               .seq = 1,
                                               .request = body,
                                               .started_at = at,
                                               .ended_at = at};
            steps[i] =
                (struct step_row){.run = fires[i].run.id, .step = "s", .seq = 2, .since = at, .due = INSTANT_NONE};
        }
        struct store_skip skip = {
            .row = {
                .job = w->job, .trigger = "b", .from = at, .to = at, .count = 1, .reason = "quiet", .slot = w->slot}};
        assert_int_equal(kit_batch(w->store, (struct store_batch){.boot = w->boot,
                                                                  .fires = fires,
                                                                  .fire_count = 4,
                                                                  .attempts = attempts,
                                                                  .attempt_count = 4,
                                                                  .steps = steps,
                                                                  .step_count = 4,
                                                                  .skips = &skip,
                                                                  .skip_count = 1}),
                         STATUS_OK);
    }
}

static void expect_rows(int64_t runs, int64_t attempts, int64_t steps, int64_t bodies, int64_t skips)
{
    assert_int_equal(kit_number("SELECT COUNT(*) FROM run"), runs);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM attempt"), attempts);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM step"), steps);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM body"), bodies);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM skip"), skips);
}

static void test_each_has_its_time(void **state)
{
    struct world w = begin(state);
    make_days(&w);
    expect_rows(12, 12, 12, 12, 3);
    (void)sweep(&w, (struct store_retention){NOTHING});
    expect_rows(12, 12, 12, 12, 3);
    instant cutoff = instant_add(w.now, -30 * SPAN_DAY);
    struct store_retention rule = {NOTHING};
    rule.bodies = cutoff;
    assert_true(sweep(&w, rule) > 0);
    expect_rows(12, 12, 12, 4, 3);
    rule.runs = cutoff;
    assert_true(sweep(&w, rule) > 0);
    expect_rows(4, 4, 4, 4, 3);
    rule.skips = cutoff;
    assert_true(sweep(&w, rule) > 0);
    expect_rows(4, 4, 4, 4, 1);
    assert_int_equal(sweep(&w, rule), 0);
}

static void test_open_runs_stay(void **state)
{
    struct world w = begin(state);
    make_days(&w);
    struct store_fire fire = {.run = kit_run(w.job, w.slot, w.boot, "a", instant_add(w.now, -40 * SPAN_DAY - 500), 77)};
    struct attempt_row attempt = {
        .run = fire.run.id, .step = "s", .n = 1, .seq = 1, .started_at = w.now, .ended_at = INSTANT_NONE};
    assert_int_equal(
        kit_batch(w.store,
                  (struct store_batch){
                      .boot = w.boot, .fires = &fire, .fire_count = 1, .attempts = &attempt, .attempt_count = 1}),
        STATUS_OK);
    struct store_retention rule = {NOTHING};
    rule.runs = rule.bodies = instant_add(w.now, -30 * SPAN_DAY);
    (void)sweep(&w, rule);
    char sql[100];
    (void)snprintf(sql, sizeof sql, "SELECT COUNT(*) FROM run WHERE id = %lld", (long long)fire.run.id);
    assert_int_equal(kit_number(sql), 1);
    (void)snprintf(sql, sizeof sql, "SELECT COUNT(*) FROM attempt WHERE run = %lld", (long long)fire.run.id);
    assert_int_equal(kit_number(sql), 1);
    fire.run.state = RUN_FAILED;
    fire.run.ended_at = w.now;
    assert_int_equal(kit_batch(w.store, (struct store_batch){.boot = w.boot, .runs = &fire.run, .run_count = 1}),
                     STATUS_OK);
    (void)sweep(&w, rule);
    expect_rows(4, 4, 4, 4, 3);
}

static void test_a_trimmed_feed_says_so(void **state)
{
    struct world w = begin(state);
    char name[20];
    for (int i = 0; i < 20; i++) {
        (void)snprintf(name, sizeof name, "j%d", i);
        (void)kit_job(w.store, name, NULL);
    }
    int64_t newest = kit_number("SELECT MAX(seq) FROM `change`");
    kit_sql("UPDATE `change` SET at = at - 1000000000 WHERE seq <= 10");
    struct store_retention rule = {NOTHING};
    rule.changes = instant_add(w.now, -SPAN_HOUR);
    assert_int_equal(sweep(&w, rule), 10);
    const struct {
        int64_t since;
        bool trimmed;
        size_t count;
    } rows[] = {{0, true, 12}, {9, true, 12}, {10, false, 12}, {15, false, 7}, {22, false, 0}, {-1, false, 0}};
    assert_int_equal(newest, 22);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        OP(op, STORE_POLL);
        op.poll = (struct store_poll){.boot = w.boot, .since = rows[i].since, .limit = 100};
        DO(w.store, &op);
        assert_int_equal(op.poll.head, newest);
        assert_int_equal(op.poll.trimmed, rows[i].trimmed);
        assert_int_equal(op.poll.change_count, rows[i].count);
        store_op_release(&op);
    }
}

static void test_closed_requests_go(void **state)
{
    struct world w = begin(state);
    struct request_add items[3];
    memset(items, 0, sizeof items);
    for (int i = 0; i < 3; i++) {
        items[i].row = (struct request_row){.id = run_id_make(day_of(w.now), 9, (uint64_t)i + 1),
                                            .kind = REQUEST_ENQUEUE,
                                            .scheduled_at = INSTANT_NONE};
        items[i].name = "job";
    }
    OP(add, STORE_REQUEST_ADD);
    add.request_add = (struct store_request_add){.project = "default", .author = "a", .items = items, .count = 3};
    DO(w.store, &add);
    store_op_release(&add);
    struct request_done done[2] = {{items[0].row.id, "x"}, {items[1].row.id, "x"}};
    assert_int_equal(kit_batch(w.store, (struct store_batch){.boot = w.boot, .requests = done, .request_count = 2}),
                     STATUS_OK);
    kit_sql(
        "UPDATE request SET closed_at = closed_at - 100000000, created_at = created_at - 100000000 WHERE closed_at IS NOT "
        "NULL");
    struct store_retention rule = {NOTHING};
    rule.requests = instant_add(w.now, -SPAN_HOUR);
    assert_int_equal(sweep(&w, rule), 2);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM request"), 1);
}

static void test_only_the_living_sweep(void **state)
{
    struct world w = begin(state);
    kit_fence(w.store, kit_boot(w.store, "n2"), w.boot);
    OP(op, STORE_RETENTION);
    op.retention = (struct store_retention){NOTHING};
    op.retention.boot = w.boot;
    EXPECT(w.store, &op, STATUS_FENCED);
    store_op_release(&op);
}

static void activate(struct world *w, enum activation_kind kind, int64_t version, instant from)
{
    struct store_activation row = {
        .row = {.job = w->job, .version = version, .trigger = "a", .kind = kind, .from = from, .slot = w->slot}};
    assert_int_equal(
        kit_batch(w->store, (struct store_batch){.boot = w->boot, .activations = &row, .activation_count = 1}),
        STATUS_OK);
}

/* What rules the oldest instant that is kept stays, whatever its age. */
static void test_spent_activations_go(void **state)
{
    struct world w = begin(state);
    const int days[] = {200, 150, 120, 50, 1};
    for (int i = 0; i < 5; i++)
        activate(&w, ACTIVATION_VERSION, i + 1, instant_add(w.now, -days[i] * SPAN_DAY));
    activate(&w, ACTIVATION_PAUSE, 1, instant_add(w.now, -140 * SPAN_DAY));
    activate(&w, ACTIVATION_RESUME, 1, instant_add(w.now, -130 * SPAN_DAY));
    activate(&w, ACTIVATION_PAUSE, 5, instant_add(w.now, -20 * SPAN_DAY));
    struct store_retention rule = {NOTHING};
    rule.runs = instant_add(w.now, -30 * SPAN_DAY);
    rule.skips = instant_add(w.now, -90 * SPAN_DAY);
    assert_int_equal(sweep(&w, rule), 3); /* versions 1 and 2, the old pause */
    assert_int_equal(kit_number("SELECT MIN(version) FROM activation WHERE kind = 0"), 3);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM activation"), 5);
    assert_int_equal(sweep(&w, rule), 0);
}

static void test_tombstones_without_history_go(void **state)
{
    struct world w = begin(state);
    int64_t gone = kit_job(w.store, "gone", NULL);
    OP(op, STORE_DELETE);
    op.delete = (struct store_delete){.kind = DOCUMENT_JOB, .project = "default", .name = "gone", .author = "a"};
    DO(w.store, &op);
    store_op_release(&op);
    struct store_retention rule = {NOTHING};
    rule.runs = rule.skips = instant_add(w.now, -30 * SPAN_DAY);
    (void)sweep(&w, rule);
    char sql[100];
    (void)snprintf(sql, sizeof sql, "SELECT COUNT(*) FROM job WHERE id = %lld", (long long)gone);
    assert_int_equal(kit_number(sql), 1); /* its end is not activated yet */
    kit_sql("UPDATE job SET pending_delete = 0");
    (void)sweep(&w, rule);
    assert_int_equal(kit_number(sql), 1); /* readers of the feed may still ask for it */
    kit_sql("DELETE FROM `change`");
    assert_true(sweep(&w, rule) > 0);
    assert_int_equal(kit_number(sql), 0);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM job_version"), 1);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM `trigger`"), 2);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM job WHERE live = 1"), 1);
}

static void test_old_boots_and_nodes_go(void **state)
{
    struct world w = begin(state);
    int64_t idle = kit_boot(w.store, "idle"), driver = kit_boot(w.store, "driver"), asked = kit_boot(w.store, "asked");
    (void)kit_boot(w.store, "alive");
    int64_t earlier = kit_boot(w.store, "n1");
    (void)kit_take(w.store, driver, w.slot, 20);
    struct store_fire fire = {.run = kit_run(w.job, w.slot, driver, "a", w.now, 1)};
    assert_int_equal(kit_fire(w.store, driver, &fire, 1), STATUS_OK);
    (void)kit_take(w.store, w.boot, w.slot, 21); /* `driver` holds an open run alone, and is the slot's last owner */
    OP(op, STORE_NODE_SET);
    op.node_set = (struct store_node_set){.node = "asked", .wish = NODE_DRAIN};
    DO(w.store, &op);
    store_op_release(&op);
    char sql[200];
    (void)snprintf(sql, sizeof sql, "UPDATE boot SET seen_at = 1000 WHERE boot IN (%lld, %lld, %lld, %lld)",
                   (long long)idle, (long long)driver, (long long)asked, (long long)earlier);
    kit_sql(sql);
    kit_sql("UPDATE node SET seen_at = 1000 WHERE node IN ('idle', 'driver', 'asked')");
    struct store_retention rule = {NOTHING};
    rule.runs = instant_add(w.now, -30 * SPAN_DAY);
    assert_int_equal(sweep(&w, rule), 4); /* three boots and a node */
    assert_int_equal(kit_number("SELECT COUNT(*) FROM boot"), 3);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM node WHERE node = 'idle'"), 0);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM node"), 4);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM boot b JOIN node n ON n.node = b.node WHERE n.node = 'driver'"),
                     1);
}

static void test_tokens_and_leases_that_ended_go(void **state)
{
    struct world w = begin(state);
    for (int i = 0; i < 3; i++) {
        char hash[16];
        (void)snprintf(hash, sizeof hash, "h%d", i);
        OP(add, STORE_TOKEN_ADD);
        add.token_add.row = (struct token_row){.name = "t", .role = "viewer", .hash = hash, .expires_at = INSTANT_NONE};
        DO(w.store, &add);
        store_op_release(&add);
    }
    kit_sql("UPDATE token SET expires_at = 5 WHERE hash = 'h0'");
    kit_sql("UPDATE token SET revoked_at = 5 WHERE hash = 'h1'");
    struct store_retention rule = {NOTHING};
    rule.audit = instant_add(w.now, -400 * SPAN_DAY);
    assert_int_equal(sweep(&w, rule), 2);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM token WHERE hash = 'h2'"), 1);
}

static void test_the_size_is_told(void **state)
{
    struct world w = begin(state);
    OP(op, STORE_RETENTION);
    op.retention = (struct store_retention){NOTHING};
    op.retention.boot = w.boot;
    DO(w.store, &op);
    assert_in_range(op.retention.size, 100 << 10, 1 << 30);
    store_op_release(&op);
}

/* A year of runs, 40 at a time: every week; in MySQL, where each such day is a partition, every eight weeks. */
static void make_year(struct world *w, int weeks)
{
    static const char *const tables[] = {"run", "attempt", "skip"}; /* those that get rows here */
    int32_t today = day_of(w->now);
    for (size_t i = 0; i < 3 && kit_mysql(); i++) {
        struct str sql;
        str_init(&sql, 64 << 10);
        str_addf(&sql, "ALTER TABLE %s REORGANIZE PARTITION d%d INTO (", tables[i], today);
        for (int32_t day = today - 52 / weeks * weeks * 7; day < today; day += 7 * weeks)
            str_addf(&sql, "PARTITION d%d VALUES LESS THAN (%d), ", day, day + 1);
        str_addf(&sql, "PARTITION d%d VALUES LESS THAN (%d))", today, today + 1);
        kit_sql(str_text(&sql));
        str_release(&sql);
    }
    for (int week = 0; week <= 52; week += weeks) {
        instant at = instant_add(w->now, -week * 7 * SPAN_DAY);
        struct store_fire fires[40];
        struct attempt_row attempts[40];
        for (uint64_t i = 0; i < 40; i++) {
            fires[i].run =
                kit_run(w->job, w->slot, w->boot, "a", instant_add(at, -(span)i), (uint64_t)week * 40 + i + 1);
            fires[i].run.state = RUN_SUCCEEDED;
            fires[i].run.ended_at = at;
            attempts[i] = (struct attempt_row){
                .run = fires[i].run.id, .step = "s", .n = 1, .seq = 1, .started_at = at, .ended_at = at};
        }
        struct store_skip skip = {
            .row = {
                .job = w->job, .trigger = "b", .from = at, .to = at, .count = 1, .reason = "quiet", .slot = w->slot}};
        assert_int_equal(kit_batch(w->store, (struct store_batch){.boot = w->boot,
                                                                  .fires = fires,
                                                                  .fire_count = 40,
                                                                  .attempts = attempts,
                                                                  .attempt_count = 40,
                                                                  .skips = &skip,
                                                                  .skip_count = 1}),
                         STATUS_OK);
    }
}

static void test_a_year_of_rows(void **state)
{
    struct world w = begin(state);
    const int weeks = kit_mysql() ? 8 : 1, times = 52 / weeks + 1;
    make_year(&w, weeks);
    expect_rows(times * 40, times * 40, 0, 0, times);
    struct store_retention rule = {.runs = instant_add(w.now, -30 * SPAN_DAY),
                                   .bodies = instant_add(w.now, -7 * SPAN_DAY),
                                   .skips = instant_add(w.now, -90 * SPAN_DAY),
                                   .audit = instant_add(w.now, -400 * SPAN_DAY),
                                   .changes = instant_add(w.now, -SPAN_DAY),
                                   .requests = instant_add(w.now, -7 * SPAN_DAY)};
    assert_true(sweep(&w, rule) > 0);
    int64_t runs = kit_number("SELECT COUNT(*) FROM run"), skips = kit_number("SELECT COUNT(*) FROM skip");
    assert_int_equal(runs, (4 / weeks + 1) * 40); /* four weeks are within thirty days */
    assert_int_equal(kit_number("SELECT COUNT(*) FROM attempt"), runs);
    assert_int_equal(skips, 12 / weeks + 1); /* twelve within ninety */
    assert_int_equal(sweep(&w, rule), 0);
}

/* MySQL: nobody begins a run in a day between the look at it and its end. */
static struct late {
    struct world *w;
    pthread_t thread;
    bool begun;
    enum status status;
    struct store_fire fire;
} late;

static void *fire_late(void *context)
{
    struct late *l = context;
    struct store *other = kit_open();
    l->status = kit_fire(other, l->w->boot, &l->fire, 1);
    kit_close(other);
    return NULL;
}

static enum db_fault before_drop(void *context, enum db_point point, const char *sql)
{
    struct late *l = context;
    (void)point;
    if (l->begun || !sql || strncmp(sql, "ALTER TABLE run DROP", 20) != 0)
        return DB_FAULT_NONE;
    l->begun = true;
    (void)pthread_create(&l->thread, NULL, fire_late, l);
    (void)usleep(500000); /* it would be done by then */
    return DB_FAULT_NONE;
}

static void test_no_run_begins_in_a_day_that_goes(void **state)
{
    struct world w = begin(state);
    make_days(&w);
    late = (struct late){.w = &w};
    late.fire.run = kit_run(w.job, w.slot, w.boot, "b", instant_add(w.now, -40 * SPAN_DAY), 99);
    store_test_hooks(w.store, &(struct db_hooks){.before = before_drop, .context = &late});
    struct store_retention rule = {NOTHING};
    rule.runs = instant_add(w.now, -30 * SPAN_DAY);
    (void)sweep(&w, rule);
    store_test_hooks(w.store, NULL);
    assert_true(late.begun);
    (void)pthread_join(late.thread, NULL);
    assert_int_equal(late.status, STATUS_OK);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM run WHERE open_slot IS NOT NULL"), 1);
}

/* MySQL: a day without partition: made at the insert when it lies ahead by no more than housekeeping would make. */
static void test_missing_partitions_are_made(void **state)
{
    struct world w = begin(state);
    struct str sql;
    str_init(&sql, 400);
    str_add(&sql, "ALTER TABLE run DROP PARTITION ");
    for (int ahead = 1; ahead <= 14; ahead++)
        str_addf(&sql, "%sd%d", ahead > 1 ? ", " : "", day_of(w.now) + ahead);
    kit_sql(str_text(&sql));
    str_release(&sql);
    kit_kill_connections(); /* so that the first try meets a lost connection, and the second the missing day */
    struct store_fire fire = {.run = kit_run(w.job, w.slot, w.boot, "a", instant_add(w.now, 3 * SPAN_DAY), 1)};
    assert_int_equal(kit_fire(w.store, w.boot, &fire, 1), STATUS_OK);
    assert_int_equal(fire.outcome, OUTCOME_DONE);
    fire.run = kit_run(w.job, w.slot, w.boot, "a", instant_add(w.now, 90 * SPAN_DAY), 2);
    assert_int_equal(kit_fire(w.store, w.boot, &fire, 1), STATUS_INVALID);
    assert_int_equal(kit_runs(w.store), 1);
}

static int setup_new(void **state)
{
    (void)kit_new_place();
    *state = kit_open();
    return 0;
}

int main(int argc, char **argv)
{
    kit_begin(argc, argv);
#define T(f) cmocka_unit_test_setup_teardown(f, kit_setup, kit_teardown)
#define N(f) cmocka_unit_test_setup_teardown(f, setup_new, kit_teardown)
    const struct CMUnitTest tests[] = {N(test_each_has_its_time),
                                       N(test_open_runs_stay),
                                       T(test_a_trimmed_feed_says_so),
                                       T(test_closed_requests_go),
                                       T(test_only_the_living_sweep),
                                       T(test_spent_activations_go),
                                       T(test_tombstones_without_history_go),
                                       T(test_old_boots_and_nodes_go),
                                       T(test_tokens_and_leases_that_ended_go),
                                       T(test_the_size_is_told),
                                       N(test_a_year_of_rows)};
    const struct CMUnitTest partitions[] = {N(test_missing_partitions_are_made),
                                            N(test_no_run_begins_in_a_day_that_goes)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed || !kit_mysql() ? failed : cmocka_run_group_tests(partitions, NULL, NULL);
}
