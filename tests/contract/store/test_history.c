/* Lists of runs and the ledger. */
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

#define ANY .has_error = -1, .origin = -1, .from = INSTANT_NONE, .to = INSTANT_NONE

static size_t list(struct world *w, struct store_runs_list input, int64_t total)
{
    OP(op, STORE_RUNS_LIST);
    op.runs_list = input;
    DO(w->store, &op);
    size_t count = op.runs_list.count;
    assert_int_equal(op.runs_list.total, total);
    for (size_t i = 1; i < count; i++) {
        const struct run_row *a = &op.runs_list.rows[i - 1], *b = &op.runs_list.rows[i];
        assert_true(a->scheduled_at.ms > b->scheduled_at.ms ||
                    (a->scheduled_at.ms == b->scheduled_at.ms && a->id > b->id));
    }
    store_op_release(&op);
    return count;
}

static void enqueue(struct world *w, uint64_t sequence, instant at)
{
    struct request_add item = {
        .row = {.id = run_id_make(day_of(w->now), 900, sequence), .kind = REQUEST_ENQUEUE, .scheduled_at = at},
        .name = "job"};
    OP(op, STORE_REQUEST_ADD);
    op.request_add = (struct store_request_add){.project = "default", .author = "ann", .items = &item, .count = 1};
    DO(w->store, &op);
    assert_int_equal(item.status, STATUS_OK);
    store_op_release(&op);
}

/* 60 runs of "a" and "b", minute by minute into the past; states, errors, nodes spread over them. */
static void make_runs(struct world *w)
{
    struct store_fire fires[60];
    for (uint64_t i = 0; i < 60; i++) {
        struct run_row *run = &fires[i].run;
        *run = kit_run(w->job, w->slot, w->boot, i % 2 ? "b" : "a", instant_add(w->now, -(span)(i / 2) * SPAN_MINUTE),
                       i + 1);
        run->state = (enum run_state)(i % RUN_STATES);
        run->ended_at = run_state_terminal(run->state) ? w->now : INSTANT_NONE;
        run->error_code = run->state == RUN_FAILED ? "SCHEDULING_TIMEOUT_001" : NULL;
        run->node = i % 3 ? "n1" : "n2";
        run->family = i == 10 ? 0 : i == 11 ? fires[10].run.id : 0;
        if (i == 20)
            run->reason = "no_instance 100% _";
    }
    assert_int_equal(kit_fire(w->store, w->boot, fires, 60), STATUS_OK);
}

static void test_filters(void **state)
{
    struct world w = begin(state);
    make_runs(&w);
    const struct {
        int line;
        struct store_runs_list input;
        int64_t total;
    } rows[] = {
        {__LINE__, {ANY}, 60},
        {__LINE__, {ANY, .project = "default"}, 60},
        {__LINE__, {ANY, .project = "default", .job = "job"}, 60},
        {__LINE__, {ANY, .project = "default", .job = "none"}, 0},
        {__LINE__, {ANY, .job = "job", .project = "default", .states = 1U << RUN_FAILED}, 10},
        {__LINE__, {ANY, .project = "default", .states = 1U << RUN_QUEUED | 1U << RUN_RUNNING}, 20},
        {__LINE__, {ANY, .project = "default", .states = 1U << RUN_RUNNING | 1U << RUN_LOST}, 20},
        {__LINE__, {ANY, .project = "default", .trigger = "a"}, 30},
        {__LINE__, {ANY, .project = "default", .node = "n2"}, 20},
        {__LINE__, {ANY, .project = "default", .text = "100% _"}, 1},
        {__LINE__, {ANY, .project = "default", .text = "TIMEOUT"}, 10},
        {__LINE__, {.origin = -1, .has_error = 1, .from = INSTANT_NONE, .to = INSTANT_NONE}, 10},
        {__LINE__, {.origin = -1, .has_error = 0, .from = INSTANT_NONE, .to = INSTANT_NONE}, 50},
        {__LINE__, {.origin = ORIGIN_SCHEDULE, .has_error = -1, .from = INSTANT_NONE, .to = INSTANT_NONE}, 60},
        {__LINE__, {.origin = ORIGIN_RETRY, .has_error = -1, .from = INSTANT_NONE, .to = INSTANT_NONE}, 0},
        {__LINE__, {.origin = -1, .has_error = -1, .from = instant_add(w.now, -5 * SPAN_MINUTE), .to = w.now}, 10},
        {__LINE__,
         {.origin = -1, .has_error = -1, .from = instant_add(w.now, -5 * SPAN_MINUTE), .to = INSTANT_NONE},
         12},
        {__LINE__,
         {.origin = -1, .has_error = -1, .from = INSTANT_NONE, .to = instant_add(w.now, -5 * SPAN_MINUTE)},
         48},
        {__LINE__, {ANY, .text = "' OR 1=1 --"}, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        OP(op, STORE_RUNS_LIST);
        op.runs_list = rows[i].input;
        op.runs_list.limit = 100;
        DO(w.store, &op);
        if (op.runs_list.total != rows[i].total || (int64_t)op.runs_list.count != rows[i].total)
            fail_msg("line %d: total %lld, count %zu", rows[i].line, (long long)op.runs_list.total, op.runs_list.count);
        for (size_t k = 0; k < op.runs_list.count; k++) {
            assert_string_equal(op.runs_list.jobs[k], "job");
            assert_string_equal(op.runs_list.projects[k], "default");
        }
        store_op_release(&op);
        store_op_init(&op, STORE_RUNS_LIST);
        op.runs_list = rows[i].input;
        op.runs_list.count_only = true;
        DO(w.store, &op);
        assert_int_equal(op.runs_list.total, rows[i].total);
        assert_int_equal(op.runs_list.count, 0);
        store_op_release(&op);
    }
    int64_t family = run_id_make(day_of(w.now), w.boot, 11);
    assert_int_equal(list(&w, (struct store_runs_list){ANY, .family = family, .limit = 10}, 2), 2);
    OP(op, STORE_RUNS_LIST);
    op.runs_list = (struct store_runs_list){ANY, .cursor = "x"};
    EXPECT(w.store, &op, STATUS_INVALID);
    op.runs_list = (struct store_runs_list){ANY, .project = "none"};
    EXPECT(w.store, &op, STATUS_NOT_FOUND);
    store_op_release(&op);
}

/* Whatever the page size, by skip and by cursor, with wishes among them: each run once, in order. */
static void walk(struct world *w, const char *job, int64_t limit, bool by_cursor, size_t wanted)
{
    char cursor[64] = "";
    size_t seen = 0;
    int64_t last_at = INT64_MAX, last_id = INT64_MAX;
    for (size_t page = 0; page < 200; page++) {
        OP(op, STORE_RUNS_LIST);
        op.runs_list = (struct store_runs_list){ANY, .project = "default", .job = job, .limit = limit};
        if (by_cursor)
            op.runs_list.cursor = *cursor ? cursor : NULL;
        else
            op.runs_list.skip = (int64_t)seen;
        DO(w->store, &op);
        assert_int_equal(op.runs_list.total, wanted);
        for (size_t i = 0; i < op.runs_list.count; i++) {
            const struct run_row *run = &op.runs_list.rows[i];
            assert_true(run->scheduled_at.ms < last_at || (run->scheduled_at.ms == last_at && run->id < last_id));
            last_at = run->scheduled_at.ms;
            last_id = run->id;
        }
        seen += op.runs_list.count;
        bool more = op.runs_list.next_cursor != NULL;
        assert_int_equal(more, seen < wanted);
        if (more)
            (void)snprintf(cursor, sizeof cursor, "%s", op.runs_list.next_cursor);
        store_op_release(&op);
        if (!more)
            break;
    }
    assert_int_equal(seen, wanted);
}

static void test_pages(void **state)
{
    struct world w = begin(state);
    make_runs(&w);
    for (uint64_t i = 0; i < 11; i++)
        enqueue(&w, i + 1, i % 3 == 0 ? INSTANT_NONE : instant_add(w.now, -(span)i * 4 * SPAN_MINUTE));
    static const int64_t limits[] = {1, 2, 3, 7, 10, 11, 12, 60, 70, 71, 72, 1000};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        walk(&w, NULL, limits[i], false, 71);
        walk(&w, NULL, limits[i], true, 71);
        walk(&w, "job", limits[i], false, 71);
        walk(&w, "job", limits[i], true, 71);
    }
    assert_int_equal(list(&w, (struct store_runs_list){ANY, .skip = 1000, .limit = 10}, 71), 0);
}

static void test_wishes_stand_in_the_list(void **state)
{
    struct world w = begin(state);
    enqueue(&w, 1, INSTANT_NONE);
    assert_int_equal(list(&w, (struct store_runs_list){ANY, .limit = 10}, 1), 1);
    assert_int_equal(list(&w, (struct store_runs_list){ANY, .states = 1U << RUN_QUEUED, .limit = 10}, 1), 1);
    assert_int_equal(list(&w, (struct store_runs_list){ANY, .states = 1U << RUN_FAILED, .limit = 10}, 0), 0);
    assert_int_equal(list(&w, (struct store_runs_list){ANY, .node = "n1", .limit = 10}, 0), 0);
    assert_int_equal(list(&w, (struct store_runs_list){ANY, .text = "manual", .limit = 10}, 1), 1);
    assert_int_equal(list(&w, (struct store_runs_list){ANY, .project = "default", .job = "job", .limit = 10}, 1), 1);
}

/* History stays when a job is gone, and is found by its name. */
static void test_history_outlives_the_job(void **state)
{
    struct world w = begin(state);
    make_runs(&w);
    OP(op, STORE_DELETE);
    op.delete = (struct store_delete){.kind = DOCUMENT_JOB, .project = "default", .name = "job", .author = "a"};
    DO(w.store, &op);
    store_op_release(&op);
    int64_t again = kit_job(w.store, "job", NULL);
    assert_int_not_equal(again, w.job);
    assert_int_equal(list(&w, (struct store_runs_list){ANY, .project = "default", .job = "job", .limit = 7}, 60), 7);
    OP(read, STORE_RUN_READ);
    read.run_read.id = run_id_make(day_of(w.now), w.boot, 1);
    DO(w.store, &read);
    assert_string_equal(read.run_read.job_name, "job");
    assert_non_null(read.run_read.job_json);
    store_op_release(&read);
    store_op_init(&read, STORE_RUN_READ);
    read.run_read = (struct store_run_read){.project = "other", .id = run_id_make(day_of(w.now), w.boot, 1)};
    EXPECT(w.store, &read, STATUS_NOT_FOUND);
    read.run_read = (struct store_run_read){.id = 77};
    EXPECT(w.store, &read, STATUS_NOT_FOUND);
    store_op_release(&read);
}

static void test_ledger(void **state)
{
    struct world w = begin(state);
    instant t = instant_add(w.now, -SPAN_HOUR);
    struct store_fire fires[4];
    for (uint64_t i = 0; i < 4; i++)
        fires[i].run = kit_run(w.job, w.slot, w.boot, "a", instant_add(t, (span)i * 1000), i + 1);
    fires[2].run.trigger = "manual-1"; /* no promise of a trigger */
    fires[2].run.origin = ORIGIN_MANUAL;
    fires[3].run.generation = 1; /* a repetition is none either */
    struct store_skip skips[2] = {{.row = {.job = w.job,
                                           .trigger = "a",
                                           .from = instant_add(t, 500),
                                           .to = instant_add(t, 900),
                                           .count = 5,
                                           .reason = "misfire",
                                           .slot = w.slot}},
                                  {.row = {.job = w.job,
                                           .trigger = "b",
                                           .from = t,
                                           .to = instant_add(t, 20000),
                                           .count = 21,
                                           .reason = "paused",
                                           .slot = w.slot}}};
    assert_int_equal(kit_batch(w.store,
                               (struct store_batch){
                                   .boot = w.boot, .fires = fires, .fire_count = 4, .skips = skips, .skip_count = 2}),
                     STATUS_OK);
    OP(op, STORE_LEDGER);
    op.ledger = (struct store_ledger){.project = "default", .job = "job", .from = t, .to = INSTANT_NONE, .limit = 10};
    DO(w.store, &op);
    assert_int_equal(op.ledger.total, 4);
    assert_int_equal(op.ledger.count, 4);
    const struct ledger_item *i = op.ledger.items;
    assert_true(i[0].is_run && i[0].run == fires[0].run.id && i[0].scheduled_at.ms == t.ms);
    assert_string_equal(i[0].trigger, "a");
    assert_true(!i[1].is_run && i[1].count == 21 && i[1].to.ms == t.ms + 20000);
    assert_string_equal(i[1].trigger, "b");
    assert_string_equal(i[1].reason, "paused");
    assert_true(!i[2].is_run && i[2].from.ms == t.ms + 500 && i[2].to.ms == t.ms + 900 && i[2].count == 5);
    assert_true(i[3].is_run && i[3].run == fires[1].run.id);
    store_op_release(&op);
    const struct {
        const char *trigger;
        span from, to;
        int64_t skip, total;
        size_t count;
    } rows[] = {{"a", 0, 5000, 0, 3, 3}, {"b", 0, 5000, 0, 1, 1},  {NULL, 901, 5000, 0, 2, 2},
                {NULL, 0, 500, 0, 2, 2}, {NULL, 0, 5000, 3, 4, 1}, {NULL, 30000, 40000, 0, 0, 0}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        store_op_init(&op, STORE_LEDGER);
        op.ledger = (struct store_ledger){.project = "default",
                                          .job = "job",
                                          .trigger = rows[k].trigger,
                                          .from = instant_add(t, rows[k].from),
                                          .to = instant_add(t, rows[k].to),
                                          .skip = rows[k].skip,
                                          .limit = 10};
        DO(w.store, &op);
        assert_int_equal(op.ledger.total, rows[k].total);
        assert_int_equal(op.ledger.count, rows[k].count);
        store_op_release(&op);
    }
    store_op_init(&op, STORE_LEDGER);
    op.ledger = (struct store_ledger){.project = "default", .job = "none", .from = t, .to = w.now};
    EXPECT(w.store, &op, STATUS_NOT_FOUND);
    store_op_release(&op);
}

int main(int argc, char **argv)
{
    kit_begin(argc, argv);
#define T(f) cmocka_unit_test_setup_teardown(f, kit_setup, kit_teardown)
    const struct CMUnitTest tests[] = {T(test_filters), T(test_pages), T(test_wishes_stand_in_the_list),
                                       T(test_history_outlives_the_job), T(test_ledger)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
