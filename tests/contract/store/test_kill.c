/* Kill between every two statements: for each operation that writes, the connection dies before statement 1, 2, 3, …,
 * or its answer is lost. Each time: all of it or nothing; and asking again, as the port's contract says, gives exactly
 * one effect. The loop ends when the operation comes through without having met the fault. */
#include "tests/contract/store/kit.h"

struct blow {
    int left; /* statements until it strikes */
    enum db_fault kind;
    bool struck, stay; /* stay: the store is away from then on */
    enum db_point point;
};

static enum db_fault strike(void *context, enum db_point point, const char *sql)
{
    struct blow *f = context;
    (void)sql;
    if (f->struck)
        return f->stay ? DB_FAULT_DROP : DB_FAULT_NONE;
    if (--f->left > 0)
        return DB_FAULT_NONE;
    f->struck = true;
    f->point = point;
    return f->kind;
}

static struct blow fault;

static void set_fault(struct store *store, int at, enum db_fault kind, bool stay)
{
    fault = (struct blow){.left = at, .kind = kind, .stay = stay};
    store_test_hooks(store, &(struct db_hooks){.before = strike, .context = &fault});
}

struct world {
    struct store *store;
    int64_t boot, job;
    int64_t reported; /* an open run that reports are about */
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
    struct store_fire fire = {.run = kit_run(w.job, w.slot, w.boot, "b", instant_add(w.now, 9999), 4999)};
    assert_int_equal(kit_fire(w.store, w.boot, &fire, 1), STATUS_OK);
    w.reported = fire.run.id;
    return w;
}

/* ---- a batch of everything ------------------------------------------------------------------------------------------
 */

struct everything {
    struct store_fire fires[5];
    struct store_activation activation;
    struct store_skip skip;
    struct store_trigger_state state;
    struct run_row end;
    struct step_row step;
    struct attempt_row attempt;
    struct request_done request, report;
    char *body;
};

static const char *const counts[] = {"run",
                                     "activation",
                                     "skip",
                                     "trigger_state",
                                     "step",
                                     "attempt",
                                     "body",
                                     "request WHERE outcome IS NOT NULL",
                                     "report WHERE outcome IS NOT NULL"};
#define COUNTS (sizeof counts / sizeof *counts)

static void count_all(int64_t ret[COUNTS])
{
    char sql[100];
    for (size_t i = 0; i < COUNTS; i++) {
        (void)snprintf(sql, sizeof sql, "SELECT COUNT(*) FROM %s", counts[i]);
        ret[i] = kit_number(sql);
    }
}

static struct store_batch fill(struct world *w, struct everything *e, uint64_t round)
{
    instant at = instant_add(w->now, (span)round * 100);
    for (uint64_t i = 0; i < 5; i++)
        e->fires[i].run = kit_run(w->job, w->slot, w->boot, "a", instant_add(at, (span)i), round * 10 + i + 1);
    e->activation =
        (struct store_activation){.row = {.job = w->job, .version = 1, .trigger = "", .from = at, .slot = w->slot}};
    e->skip = (struct store_skip){.row = {.job = w->job,
                                          .trigger = "b",
                                          .from = at,
                                          .to = instant_add(at, 3),
                                          .count = 2,
                                          .reason = "quiet",
                                          .slot = w->slot}};
    char *trigger = e->body + 4000; /* a state of its own each round */
    (void)snprintf(trigger, 50, "t%llu", (unsigned long long)round);
    e->state = (struct store_trigger_state){.row = {.job = w->job,
                                                    .trigger = trigger,
                                                    .slot = w->slot,
                                                    .last_end = INSTANT_NONE,
                                                    .paused_since = INSTANT_NONE}};
    e->end = e->fires[0].run;
    e->end.state = RUN_SUCCEEDED;
    e->end.ended_at = at;
    e->step = (struct step_row){.run = e->end.id, .step = "s", .seq = 2, .since = at, .due = INSTANT_NONE};
    e->attempt = (struct attempt_row){.run = e->end.id,
                                      .step = "s",
                                      .n = 1,
                                      .seq = 1,
                                      .started_at = at,
                                      .ended_at = INSTANT_NONE,
                                      .request = e->body};
    struct request_add item = {
        .row = {.id = run_id_make(day_of(at), 900, round + 1), .kind = REQUEST_ENQUEUE, .scheduled_at = INSTANT_NONE},
        .name = "job"};
    OP(add, STORE_REQUEST_ADD);
    add.request_add = (struct store_request_add){.project = "default", .author = "x", .items = &item, .count = 1};
    DO(w->store, &add);
    store_op_release(&add);
    e->request = (struct request_done){item.row.id, "done"};
    OP(report, STORE_REPORT_ADD);
    report.report_add.row = (struct report_row){
        .run = w->reported, .step = "s", .key_try = (int32_t)round, .until = INSTANT_NONE, .digest = "d"};
    DO(w->store, &report);
    e->report = (struct request_done){report.report_add.row.id, REPORT_OUTCOME_TAKEN};
    store_op_release(&report);
    return (struct store_batch){.boot = w->boot,
                                .number = kit_batch_number(w->boot),
                                .fires = e->fires,
                                .fire_count = 5,
                                .activations = &e->activation,
                                .activation_count = 1,
                                .skips = &e->skip,
                                .skip_count = 1,
                                .states = &e->state,
                                .state_count = 1,
                                .runs = &e->end,
                                .run_count = 1,
                                .steps = &e->step,
                                .step_count = 1,
                                .attempts = &e->attempt,
                                .attempt_count = 1,
                                .requests = &e->request,
                                .request_count = 1,
                                .reports = &e->report,
                                .report_count = 1};
}

static bool committed(struct world *w, int64_t number)
{
    OP(op, STORE_BATCH_CHECK);
    op.batch_check = (struct store_batch_check){.boot = w->boot, .number = number};
    DO(w->store, &op);
    bool yes = op.batch_check.committed;
    store_op_release(&op);
    return yes;
}

/* What a scheduler does after the answer: sends again unless it is known to have happened. */
static void finish(struct world *w, struct store_batch batch, enum status status)
{
    if (status == STATUS_OK)
        return;
    if (status == STATUS_UNKNOWN && committed(w, batch.number))
        return;
    assert_int_equal(kit_batch(w->store, batch), STATUS_OK);
}

static void batch_under_fault(void **state, enum db_fault kind, bool stay)
{
    static const int64_t step[COUNTS] = {5, 1, 1, 1, 1, 1, 1, 1, 1};
    struct world w = begin(state);
    struct everything e = {.body = calloc(1, 4100)};
    memset(e.body, 'b', 3000);
    int64_t before[COUNTS], after[COUNTS];
    int met = 0, unknown = 0;
    count_all(before);
    for (int at = 1;; at++) {
        struct store_batch batch = fill(&w, &e, (uint64_t)at);
        set_fault(w.store, at, kind, stay);
        enum status status = kit_batch(w.store, batch);
        store_test_hooks(w.store, NULL);
        count_all(after);
        if (status == STATUS_UNKNOWN)
            unknown++;
        else if (status != STATUS_OK)
            assert_int_equal(status, STATUS_UNAVAILABLE);
        bool all = after[0] != before[0];
        for (size_t i = 0; i < COUNTS; i++) /* all or nothing */
            assert_int_equal(after[i] - before[i], all ? step[i] : 0);
        if (status != STATUS_UNKNOWN)
            assert_int_equal(all, status == STATUS_OK);
        finish(&w, batch, status);
        count_all(after);
        for (size_t i = 0; i < COUNTS; i++) { /* exactly one effect */
            assert_int_equal(after[i] - before[i], step[i]);
            before[i] = after[i];
        }
        if (!fault.struck)
            break;
        met++;
        assert_true(at < 200);
    }
    assert_true(met >= 12); /* begin, fences, one statement a table, commit */
    if (kind == DB_FAULT_LOSE_REPLY)
        assert_int_equal(unknown, 1); /* the commit */
    free(e.body);
}

static void test_batch_dies(void **state)
{
    batch_under_fault(state, DB_FAULT_DROP, false);
}

static void test_batch_dies_and_the_store_stays_away(void **state)
{
    batch_under_fault(state, DB_FAULT_DROP, true);
}

static void test_batch_loses_answers(void **state)
{
    batch_under_fault(state, DB_FAULT_LOSE_REPLY, true);
}

/* ---- everything else that writes: repeatable as it is ---------------------------------------------------------------
 */

struct subject {
    const char *name;
    void (*fill)(struct world *w, struct store_op *op, int round);
    const char *effect; /* one more each time */
    int64_t by;
};

static char subject_name[40];
static struct slot_take subject_take;
static struct request_add subject_items[2];

static void fill_put(struct world *w, struct store_op *op, int round)
{
    static const char *const triggers[] = {"a", "b"};
    (void)w;
    (void)snprintf(subject_name, sizeof subject_name, "put-%d", round);
    store_op_init(op, STORE_PUT);
    op->put = (struct store_put){.kind = DOCUMENT_JOB,
                                 .project = "default",
                                 .name = subject_name,
                                 .json = DOCUMENT("j"),
                                 .fingerprint = "f",
                                 .trigger_names = triggers,
                                 .trigger_count = 2,
                                 .author = "a",
                                 .source = "api"};
}

static struct store_put subject_puts[3];
static char subject_names[3][40];

/* A project, and what lies in it. */
static void fill_puts(struct world *w, struct store_op *op, int round)
{
    (void)w;
    for (int i = 0; i < 3; i++) {
        (void)snprintf(subject_names[i], sizeof subject_names[i], "set-%d-%d", round, i);
        subject_puts[i] = (struct store_put){.kind = i ? DOCUMENT_JOB : DOCUMENT_PROJECT,
                                             .project = i ? subject_names[0] : NULL,
                                             .name = subject_names[i],
                                             .json = DOCUMENT("j"),
                                             .fingerprint = "f",
                                             .author = "a",
                                             .source = "file"};
    }
    store_op_init(op, STORE_PUTS);
    op->puts = (struct store_puts){.items = subject_puts, .count = 3};
}

static void fill_delete(struct world *w, struct store_op *op, int round)
{
    (void)snprintf(subject_name, sizeof subject_name, "del-%d", round);
    (void)kit_job(w->store, subject_name, NULL);
    store_op_init(op, STORE_DELETE);
    op->delete = (struct store_delete){.kind = DOCUMENT_JOB, .project = "default", .name = subject_name, .author = "a"};
}

static void fill_take(struct world *w, struct store_op *op, int round)
{
    subject_take = (struct slot_take){.slot = 100 + round, .generation = 1, .czxid = 5};
    store_op_init(op, STORE_SLOTS_TAKE);
    op->slots_take = (struct store_slots_take){.boot = w->boot, .takes = &subject_take, .count = 1};
}

static void fill_requests(struct world *w, struct store_op *op, int round)
{
    int64_t id = run_id_make(day_of(w->now), 901, (uint64_t)round * 2);
    memset(subject_items, 0, sizeof subject_items);
    for (int i = 0; i < 2; i++) {
        subject_items[i].row =
            (struct request_row){.id = id + i, .kind = REQUEST_ENQUEUE, .scheduled_at = INSTANT_NONE};
        subject_items[i].name = "job";
    }
    store_op_init(op, STORE_REQUEST_ADD);
    op->request_add =
        (struct store_request_add){.project = "default", .author = "a", .items = subject_items, .count = 2};
}

static void fill_fence(struct world *w, struct store_op *op, int round)
{
    (void)round;
    store_op_init(op, STORE_BOOT_FENCE);
    op->boot_fence = (struct store_boot_fence){.boot = w->boot, .dead_boot = kit_boot(w->store, "dead")};
}

static void fill_start(struct world *w, struct store_op *op, int round)
{
    (void)w;
    (void)snprintf(subject_name, sizeof subject_name, "start-%d", round);
    store_op_init(op, STORE_BOOT_START);
    op->boot_start =
        (struct store_boot_start){.node = subject_name, .address = "a:1", .role = "scheduler", .pool = "red"};
}

static void fill_wish(struct world *w, struct store_op *op, int round)
{
    (void)snprintf(subject_name, sizeof subject_name, "wish-%d", round);
    (void)kit_boot(w->store, subject_name);
    store_op_init(op, STORE_NODE_SET);
    op->node_set = (struct store_node_set){.node = subject_name, .author = "a", .wish = NODE_DRAIN};
}

static void fill_forget(struct world *w, struct store_op *op, int round)
{
    (void)snprintf(subject_name, sizeof subject_name, "gone-%d", round);
    kit_fence(w->store, w->boot, kit_boot(w->store, subject_name));
    store_op_init(op, STORE_NODE_FORGET);
    op->node_forget = (struct store_node_forget){.node = subject_name, .author = "a", .timeout = SPAN_MINUTE};
}

static void fill_token_end(struct world *w, struct store_op *op, int round)
{
    (void)snprintf(subject_name, sizeof subject_name, "hash-%d", round);
    OP(add, STORE_TOKEN_ADD);
    add.token_add.row = (struct token_row){
        .name = "x", .role = "viewer", .hash = subject_name, .expires_at = INSTANT_NONE, .created_at = INSTANT_NONE};
    DO(w->store, &add);
    store_op_init(op, STORE_TOKEN_END);
    op->token_end = (struct store_token_end){.id = add.token_add.row.id, .author = "a"};
    store_op_release(&add);
}

static void fill_lease(struct world *w, struct store_op *op, int round)
{
    (void)w;
    (void)snprintf(subject_name, sizeof subject_name, "lease-%d", round);
    store_op_init(op, STORE_APP_LEASE);
    op->app_lease = (struct store_app_lease){.action = LEASE_ACQUIRE,
                                             .row = {.name = subject_name, .holder = "h", .author = "a"},
                                             .token_hash = "t",
                                             .ttl = SPAN_MINUTE};
}

static void fill_decided(struct world *w, struct store_op *op, int round)
{
    static struct slot_through through;
    (void)kit_take(w->store, w->boot, 500 + round, 5);
    through = (struct slot_through){500 + round, w->now};
    store_op_init(op, STORE_DECIDED);
    op->decided = (struct store_decided){.boot = w->boot, .slots = &through, .count = 1};
}

static void fill_adopt(struct world *w, struct store_op *op, int round)
{
    int64_t dead = kit_boot(w->store, "dead");
    (void)kit_take(w->store, dead, 700 + round, 5);
    struct store_fire fire = {.run =
                                  kit_run(w->job, 700 + round, dead, "a", instant_add(w->now, round), (uint64_t)round)};
    assert_int_equal(kit_fire(w->store, dead, &fire, 1), STATUS_OK);
    kit_fence(w->store, w->boot, dead);
    store_op_init(op, STORE_RUNS_ADOPT);
    op->runs_adopt = (struct store_runs_adopt){.boot = w->boot, .from_boot = dead, .node = "adopter", .limit = 10};
}

static char subject_digest[24];

/* An acknowledgement that was lost: said again, it is one report all the same. */
static void fill_report(struct world *w, struct store_op *op, int round)
{
    struct store_fire fire = {
        .run = kit_run(w->job, w->slot, w->boot, "b", instant_add(w->now, 10000 + round), 5000 + (uint64_t)round)};
    assert_int_equal(kit_fire(w->store, w->boot, &fire, 1), STATUS_OK);
    (void)snprintf(subject_digest, sizeof subject_digest, "%d", round);
    store_op_init(op, STORE_REPORT_ADD);
    op->report_add.row = (struct report_row){.run = fire.run.id,
                                             .step = "s",
                                             .key_try = 1,
                                             .state = REPORT_SUCCEEDED,
                                             .result = "1",
                                             .until = INSTANT_NONE,
                                             .digest = subject_digest};
}

static const struct subject subjects[] = {
    {"put", fill_put, "SELECT COUNT(*) FROM job j JOIN job_version v ON v.job = j.id WHERE j.live = 1", 1},
    {"put's feed", fill_put, "SELECT COUNT(*) FROM `change`", 1},
    {"put's slot", fill_put, "SELECT CAST(SUM(jobs) AS SIGNED) FROM slot_load", 1},
    {"put's audit", fill_put, "SELECT COUNT(*) FROM audit", 1},
    {"puts", fill_puts, "SELECT COUNT(*) FROM job WHERE live = 1", 2},
    {"puts' project", fill_puts, "SELECT COUNT(*) FROM project WHERE live = 1", 1},
    {"puts' feed", fill_puts, "SELECT COUNT(*) FROM `change`", 3},
    {"delete", fill_delete, "SELECT COUNT(*) FROM job WHERE live IS NULL", 1},
    {"delete's audit", fill_delete, "SELECT COUNT(*) FROM audit WHERE action = 'delete'", 1},
    {"slots_take", fill_take, "SELECT COUNT(*) FROM slot WHERE owner_boot > 0", 1},
    {"request_add", fill_requests, "SELECT COUNT(*) FROM request", 2},
    {"request_add's audit", fill_requests, "SELECT COUNT(*) FROM audit WHERE action = 'enqueue'", 2},
    {"report_add", fill_report, "SELECT COUNT(*) FROM report", 1},
    {"boot_fence", fill_fence, "SELECT COUNT(*) FROM boot WHERE fenced = 1", 1},
    {"boot_start", fill_start, "SELECT COUNT(*) FROM node WHERE pool = 'red'", 1},
    {"node_set", fill_wish, "SELECT COUNT(*) FROM audit WHERE action = 'drain'", 1},
    {"node_forget", fill_forget, "SELECT COUNT(*) FROM audit WHERE action = 'forget'", 1},
    {"token_end", fill_token_end, "SELECT COUNT(*) FROM audit WHERE action = 'revoke'", 1},
    {"app_lease", fill_lease, "SELECT COUNT(*) FROM app_lease", 1},
    {"decided", fill_decided, "SELECT COUNT(*) FROM slot WHERE decided_through > 0", 1},
    {"runs_adopt", fill_adopt, "SELECT COUNT(*) FROM run WHERE node = 'adopter'", 1},
};

static void under_fault(struct world *w, const struct subject *subject, enum db_fault kind)
{
    static int round; /* names and slots of each are new */
    int first = round;
    for (int at = 1;; at++) {
        struct store_op op;
        subject->fill(w, &op, ++round % 180);
        int64_t before = kit_number(subject->effect);
        set_fault(w->store, at, kind, true);
        enum status status = store_execute(w->store, &op);
        bool struck = fault.struck;
        store_test_hooks(w->store, NULL);
        int64_t effect = kit_number(subject->effect) - before;
        if (effect != 0 && effect != subject->by)
            fail_msg("%s: %lld of %lld after statement %d", subject->name, (long long)effect, (long long)subject->by,
                     at);
        if (status != STATUS_OK && status != STATUS_UNAVAILABLE && status != STATUS_UNKNOWN)
            fail_msg("%s: %s after statement %d: %s", subject->name, status_text(status), at, op.error.text);
        if (status == STATUS_OK || status == STATUS_UNAVAILABLE)
            assert_int_equal(effect != 0, status == STATUS_OK);
        if (status != STATUS_OK)
            status = store_execute(w->store, &op);
        /* "Not there" is how a delete that has happened answers. */
        bool deletes = op.kind == STORE_DELETE || op.kind == STORE_NODE_FORGET;
        if (status != STATUS_OK && !(deletes && status == STATUS_NOT_FOUND))
            fail_msg("%s again: %s: %s", subject->name, status_text(status), op.error.text);
        assert_int_equal(kit_number(subject->effect) - before, subject->by);
        store_op_release(&op);
        if (!struck)
            break;
        assert_true(at < 100);
    }
    assert_true(round - first >= 4);
}

static void test_others_die(void **state)
{
    struct world w = begin(state);
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
        under_fault(&w, &subjects[i], DB_FAULT_DROP);
}

static void test_others_lose_answers(void **state)
{
    struct world w = begin(state);
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
        under_fault(&w, &subjects[i], DB_FAULT_LOSE_REPLY);
}

/* A taker whose answer was lost asks again and is still told whom it succeeded: that boot's runs are to be adopted. */
static void test_lost_take_still_names_the_predecessor(void **state)
{
    struct world w = begin(state);
    int64_t successor = kit_boot(w.store, "n2");
    struct slot_take one = {.slot = w.slot, .generation = 1, .czxid = 11};
    OP(op, STORE_SLOTS_TAKE);
    op.slots_take = (struct store_slots_take){.boot = successor, .takes = &one, .count = 1};
    fault = (struct blow){.left = 1000, .kind = DB_FAULT_NONE};
    for (int at = 1; at < 20; at++) {
        set_fault(w.store, at, DB_FAULT_LOSE_REPLY, true);
        enum status status = store_execute(w.store, &op);
        store_test_hooks(w.store, NULL);
        if (status == STATUS_UNKNOWN)
            break;
        assert_int_equal(status, STATUS_UNAVAILABLE);
    }
    DO(w.store, &op);
    assert_true(one.taken);
    assert_int_equal(one.previous_boot, w.boot);
    store_op_release(&op);
}

int main(int argc, char **argv)
{
    kit_begin(argc, argv);
#define T(f) cmocka_unit_test_setup_teardown(f, kit_setup, kit_teardown)
    const struct CMUnitTest tests[] = {T(test_batch_dies),          T(test_batch_dies_and_the_store_stays_away),
                                       T(test_batch_loses_answers), T(test_others_die),
                                       T(test_others_lose_answers), T(test_lost_take_still_names_the_predecessor)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
