/* Slots: epochs, what an owner is told, how far things are decided, adopting runs. */
#include <pthread.h>

#include "tests/contract/store/kit.h"

static struct slot_take take(struct store *store, int64_t boot, int32_t slot, int64_t generation, int64_t czxid)
{
    struct slot_take one = {.slot = slot, .generation = generation, .czxid = czxid};
    OP(op, STORE_SLOTS_TAKE);
    op.slots_take = (struct store_slots_take){.boot = boot, .takes = &one, .count = 1};
    DO(store, &op);
    assert_true(op.slots_take.feed_head > 0);
    store_op_release(&op);
    return one;
}

static void test_epochs_only_rise(void **state)
{
    struct store *store = *state;
    int64_t a = kit_boot(store, "n1"), b = kit_boot(store, "n2");
    struct slot_take got = take(store, a, 3, 1, 100);
    assert_true(got.taken);
    assert_int_equal(got.previous_boot, 0);
    assert_true(instant_is_none(got.decided_through));
    assert_false(take(store, b, 3, 1, 100).taken); /* equal, another's */
    assert_false(take(store, b, 3, 1, 99).taken);
    assert_false(take(store, b, 3, 0, 500).taken);
    got = take(store, b, 3, 1, 101);
    assert_true(got.taken);
    assert_int_equal(got.previous_boot, a);
    got = take(store, b, 3, 1, 101); /* asked again because the answer was lost: the same answer */
    assert_true(got.taken);
    assert_int_equal(got.previous_boot, a);
    got = take(store, b, 3, 2, 1); /* the next generation begins low */
    assert_true(got.taken);
    assert_int_equal(got.previous_boot, b);
    assert_false(take(store, a, 2000, 9, 9).taken); /* no such slot */
    kit_fence(store, b, a);
    struct slot_take one = {.slot = 4, .generation = 9, .czxid = 9};
    OP(op, STORE_SLOTS_TAKE);
    op.slots_take = (struct store_slots_take){.boot = a, .takes = &one, .count = 1};
    EXPECT(store, &op, STATUS_FENCED);
    store_op_release(&op);
}

static void test_take_all(void **state)
{
    struct store *store = *state;
    int64_t a = kit_boot(store, "n1");
    struct slot_take *takes = calloc(CLAIM_SLOTS_ALL, sizeof *takes);
    for (int32_t i = 0; i < CLAIM_SLOTS_ALL; i++)
        takes[i] = (struct slot_take){.slot = CLAIM_SLOTS_ALL - 1 - i, .generation = 1, .czxid = 7};
    OP(op, STORE_SLOTS_TAKE);
    op.slots_take = (struct store_slots_take){.boot = a, .takes = takes, .count = CLAIM_SLOTS_ALL};
    DO(store, &op);
    for (size_t i = 0; i < CLAIM_SLOTS_ALL; i++)
        assert_true(takes[i].taken);
    store_op_release(&op);
    free(takes);
    OP(read, STORE_SLOTS_READ);
    DO(store, &read);
    for (size_t i = 0; i < read.slots_read.count; i++) {
        assert_int_equal(read.slots_read.rows[i].slot, i);
        assert_int_equal(read.slots_read.rows[i].owner_boot, a);
        assert_string_equal(read.slots_read.rows[i].owner_node, "n1");
        assert_int_equal(read.slots_read.rows[i].czxid, 7);
    }
    store_op_release(&read);
}

static void decide(struct store *store, int64_t boot, const struct slot_through *slots, size_t count)
{
    OP(op, STORE_DECIDED);
    op.decided = (struct store_decided){.boot = boot, .slots = slots, .count = count};
    DO(store, &op);
    store_op_release(&op);
}

static instant through(struct store *store, size_t slot)
{
    OP(op, STORE_SLOTS_READ);
    DO(store, &op);
    instant t = op.slots_read.rows[slot].decided_through;
    store_op_release(&op);
    return t;
}

static void test_decided_rises_for_the_owner(void **state)
{
    struct store *store = *state;
    int64_t a = kit_boot(store, "n1"), b = kit_boot(store, "n2");
    (void)kit_take(store, a, 1, 5);
    (void)kit_take(store, b, 2, 5);
    const struct slot_through both[] = {{1, {1000}}, {2, {2000}}, {7, {3000}}};
    decide(store, a, both, 3);
    assert_int_equal(through(store, 1).ms, 1000);
    assert_true(instant_is_none(through(store, 2)));
    assert_true(instant_is_none(through(store, 7)));
    decide(store, a, (const struct slot_through[]){{1, {900}}}, 1);
    assert_int_equal(through(store, 1).ms, 1000); /* a lower bound never falls */
    decide(store, a, (const struct slot_through[]){{1, INSTANT_NONE}}, 1);
    assert_int_equal(through(store, 1).ms, 1000);
    struct slot_take next = take(store, b, 1, 1, 6);
    assert_int_equal(next.decided_through.ms, 1000);
    decide(store, a, (const struct slot_through[]){{1, {5000}}}, 1);
    assert_int_equal(through(store, 1).ms, 1000);
    struct slot_through many[CLAIM_SLOTS_ALL];
    for (int32_t i = 0; i < CLAIM_SLOTS_ALL; i++)
        many[i] = (struct slot_through){i, {100000 + i}};
    decide(store, b, many, CLAIM_SLOTS_ALL);
    assert_int_equal(through(store, 1).ms, 100001);
    assert_int_equal(through(store, 2).ms, 100002);
    assert_true(instant_is_none(through(store, 3)));
}

static const struct trigger_cursor *cursor_of(const struct store_op *op, int64_t job, const char *trigger)
{
    for (size_t i = 0; i < op->slots_load.cursor_count; i++)
        if (op->slots_load.cursors[i].job == job && strcmp(op->slots_load.cursors[i].trigger, trigger) == 0)
            return &op->slots_load.cursors[i];
    fail_msg("no cursor of job %lld, trigger %s", (long long)job, trigger);
    return NULL;
}

static void load(struct store *store, struct store_op *op, int64_t boot, const int32_t *slots, size_t count)
{
    store_op_init(op, STORE_SLOTS_LOAD);
    op->slots_load = (struct store_slots_load){.boot = boot, .slots = slots, .slot_count = count};
    DO(store, op);
}

static struct store_activation activation(int64_t job, int32_t slot, const char *trigger, int64_t version, instant from)
{
    return (struct store_activation){.row = {.job = job,
                                             .version = version,
                                             .trigger = trigger,
                                             .kind = ACTIVATION_VERSION,
                                             .from = from,
                                             .slot = slot}};
}

/* Each line: what the store holds, and where the trigger then stands. */
static void test_cursors(void **state)
{
    struct store *store = *state;
    int64_t boot = kit_boot(store, "n1");
    int32_t slots[2];
    int64_t jobs[2] = {kit_job(store, "one", &slots[0]), kit_job(store, "two", &slots[1])};
    struct store_op op;
    for (int i = 0; i < 2; i++)
        (void)kit_take(store, boot, slots[i], 5);
    load(store, &op, boot, slots, 2);
    assert_int_equal(op.slots_load.job_count, 2);
    assert_int_equal(op.slots_load.jobs[0].id, jobs[0]);
    assert_int_equal(op.slots_load.jobs[0].slot, slots[0]);
    assert_int_equal(op.slots_load.cursor_count, 4);
    const struct trigger_cursor *c = cursor_of(&op, jobs[0], "a");
    assert_int_equal(c->version, 0);
    assert_true(instant_is_none(c->from) && instant_is_none(c->decided));
    store_op_release(&op);

    instant now = kit_now(store), t0 = instant_add(now, -SPAN_HOUR);
    struct store_activation acts[] = {activation(jobs[0], slots[0], "", 1, t0),
                                      activation(jobs[1], slots[1], "", 1, t0),
                                      activation(jobs[1], slots[1], "b", 2, instant_add(t0, 5000)),
                                      activation(jobs[0], slots[0], "", 1, instant_add(t0, 9000))};
    acts[3].row.kind = ACTIVATION_PAUSE; /* rules nothing about the version */
    struct store_fire fires[] = {{.run = kit_run(jobs[0], slots[0], boot, "a", instant_add(t0, 1000), 1)},
                                 {.run = kit_run(jobs[0], slots[0], boot, "a", instant_add(t0, 3000), 2)},
                                 {.run = kit_run(jobs[0], slots[0], boot, "a", instant_add(t0, 8000), 3)}};
    fires[2].run.generation = 1; /* a repetition decides nothing */
    struct store_skip skips[] = {{.row = {.job = jobs[0],
                                          .trigger = "b",
                                          .from = instant_add(t0, 1000),
                                          .to = instant_add(t0, 7000),
                                          .count = 3,
                                          .reason = "quiet",
                                          .slot = slots[0]}}};
    assert_int_equal(kit_batch(store, (struct store_batch){.boot = boot,
                                                           .activations = acts,
                                                           .activation_count = 4,
                                                           .fires = fires,
                                                           .fire_count = 3,
                                                           .skips = skips,
                                                           .skip_count = 1}),
                     STATUS_OK);
    load(store, &op, boot, slots, 2);
    const struct {
        int line;
        int job;
        const char *trigger;
        int64_t version, from, decided; /* offsets from t0; -1 = none */
    } before[] = {{__LINE__, 0, "a", 1, 0, 3000},
                  {__LINE__, 0, "b", 1, 0, 7000},
                  {__LINE__, 1, "a", 1, 0, -1},
                  {__LINE__, 1, "b", 2, 5000, -1}},
      after[] = {{__LINE__, 0, "a", 1, 0, 4000},
                 {__LINE__, 0, "b", 1, 0, 7000},
                 {__LINE__, 1, "a", 1, 0, 4000},
                 {__LINE__, 1, "b", 2, 5000, -1}}; /* decided_through lies before its activation */
    for (size_t i = 0; i < 4; i++) {
        c = cursor_of(&op, jobs[before[i].job], before[i].trigger);
        if (c->version != before[i].version || c->from.ms != t0.ms + before[i].from ||
            (before[i].decided < 0 ? !instant_is_none(c->decided) : c->decided.ms != t0.ms + before[i].decided))
            fail_msg("line %d: version %lld from %lld decided %lld", before[i].line, (long long)c->version,
                     (long long)(c->from.ms - t0.ms), (long long)(c->decided.ms - t0.ms));
    }
    store_op_release(&op);
    decide(store, boot, (const struct slot_through[]){{slots[0], {t0.ms + 4000}}, {slots[1], {t0.ms + 4000}}}, 2);
    load(store, &op, boot, slots, 2);
    for (size_t i = 0; i < 4; i++) {
        c = cursor_of(&op, jobs[after[i].job], after[i].trigger);
        if (c->version != after[i].version ||
            (after[i].decided < 0 ? !instant_is_none(c->decided) : c->decided.ms != t0.ms + after[i].decided))
            fail_msg("line %d: version %lld decided %lld", after[i].line, (long long)c->version,
                     (long long)(c->decided.ms - t0.ms));
    }
    store_op_release(&op);
    OP(one, STORE_TRIGGERS);
    one.triggers.job = jobs[0];
    DO(store, &one);
    assert_int_equal(one.triggers.cursor_count, 2);
    assert_int_equal(one.triggers.cursors[0].decided.ms, t0.ms + 4000);
    assert_int_equal(one.triggers.cursors[1].decided.ms, t0.ms + 7000);
    assert_int_equal(one.triggers.open_run_count, 3);
    store_op_release(&one);
    store_op_init(&one, STORE_TRIGGERS);
    one.triggers.job = 99999;
    EXPECT(store, &one, STATUS_NOT_FOUND);
    store_op_release(&one);
}

static void test_load_states_and_open_runs(void **state)
{
    struct store *store = *state;
    int64_t a = kit_boot(store, "n1"), b = kit_boot(store, "n2");
    int32_t slot;
    int64_t job = kit_job(store, "job", &slot);
    (void)kit_take(store, a, slot, 5);
    instant now = kit_now(store);
    struct store_fire fires[] = {{.run = kit_run(job, slot, a, "a", now, 1)},
                                 {.run = kit_run(job, slot, a, "b", now, 2)}};
    struct store_trigger_state states[] = {{.row = {.job = job,
                                                    .trigger = "a",
                                                    .slot = slot,
                                                    .fires = 9,
                                                    .last_end = now,
                                                    .paused = true,
                                                    .paused_since = instant_add(now, 1),
                                                    .error = "zone is gone"}}};
    assert_int_equal(
        kit_batch(store,
                  (struct store_batch){.boot = a, .fires = fires, .fire_count = 2, .states = states, .state_count = 1}),
        STATUS_OK);
    states[0].row.fires = 10; /* replaced whole */
    states[0].row.job_paused = true;
    fires[1].run.state = RUN_SUCCEEDED;
    fires[1].run.ended_at = now;
    assert_int_equal(
        kit_batch(
            store,
            (struct store_batch){.boot = a, .states = states, .state_count = 1, .runs = &fires[1].run, .run_count = 1}),
        STATUS_OK);
    (void)kit_take(store, b, slot, 6);
    struct store_op op;
    load(store, &op, b, &slot, 1);
    assert_int_equal(op.slots_load.state_count, 1);
    const struct trigger_state_row *s = op.slots_load.states;
    assert_int_equal(s->fires, 10);
    assert_true(s->paused && s->job_paused);
    assert_int_equal(s->last_end.ms, now.ms);
    assert_int_equal(s->paused_since.ms, now.ms + 1);
    assert_string_equal(s->error, "zone is gone");
    assert_int_equal(op.slots_load.open_run_count, 1); /* the other has ended */
    assert_int_equal(op.slots_load.open_runs[0].id, fires[0].run.id);
    assert_int_equal(op.slots_load.open_runs[0].boot, a);
    store_op_release(&op);
    load(store, &op, a, &slot, 1);
    assert_int_equal(op.slots_load.open_run_count, 0); /* one's own are known */
    store_op_release(&op);
    const int64_t ids[] = {fires[1].run.id, 42, fires[0].run.id, fires[1].run.id};
    OP(open, STORE_RUNS_OPEN);
    open.runs_open = (struct store_runs_open){.runs = ids, .count = 4};
    DO(store, &open);
    assert_false(open.runs_open.open[0] || open.runs_open.open[1] || open.runs_open.open[3]);
    assert_true(open.runs_open.open[2]);
    assert_int_equal(open.runs_open.ended_at[0].ms, now.ms);
    assert_true(instant_is_none(open.runs_open.ended_at[1]) && instant_is_none(open.runs_open.ended_at[2]));
    assert_int_equal(open.runs_open.ended_at[3].ms, now.ms);
    store_op_release(&open);
}

/* A deleted job is told to its owner until the owner has written that it is gone. */
static void test_deleted_until_activated(void **state)
{
    struct store *store = *state;
    int64_t boot = kit_boot(store, "n1");
    int32_t slot;
    int64_t job = kit_job(store, "job", &slot);
    (void)kit_take(store, boot, slot, 5);
    OP(op, STORE_DELETE);
    op.delete = (struct store_delete){.kind = DOCUMENT_JOB, .project = "default", .name = "job", .author = "a"};
    DO(store, &op);
    store_op_release(&op);
    load(store, &op, boot, &slot, 1);
    assert_int_equal(op.slots_load.job_count, 1);
    assert_true(op.slots_load.jobs[0].deleted);
    store_op_release(&op);
    struct store_activation gone = activation(job, slot, "", 1, kit_now(store));
    gone.row.kind = ACTIVATION_DELETE;
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            kit_batch(store, (struct store_batch){.boot = boot, .activations = &gone, .activation_count = 1}),
            STATUS_OK);
    assert_int_equal(gone.outcome, OUTCOME_EXISTS); /* the second time */
    load(store, &op, boot, &slot, 1);
    assert_int_equal(op.slots_load.job_count, 0);
    store_op_release(&op);
    store_op_init(&op, STORE_SLOTS_LOAD);
    const int32_t none = 5000;
    op.slots_load = (struct store_slots_load){.boot = boot, .slots = &none, .slot_count = 1};
    EXPECT(store, &op, STATUS_INVALID);
    store_op_release(&op);
}

/* A trigger that the newest version has dropped rules until that version is activated: its cursor is needed. */
static void test_dropped_trigger(void **state)
{
    struct store *store = *state;
    int64_t boot = kit_boot(store, "n1");
    int32_t slot;
    int64_t job = kit_job(store, "job", &slot);
    (void)kit_take(store, boot, slot, 5);
    instant t0 = instant_add(kit_now(store), -SPAN_HOUR);
    struct store_activation first = activation(job, slot, "", 1, t0);
    struct store_fire fire = {.run = kit_run(job, slot, boot, "b", instant_add(t0, 3000), 1)};
    assert_int_equal(
        kit_batch(store,
                  (struct store_batch){
                      .boot = boot, .activations = &first, .activation_count = 1, .fires = &fire, .fire_count = 1}),
        STATUS_OK);
    static const char *const left[] = {"a"};
    (void)kit_job_with(store, "job", DOCUMENT("job"), "f2", left, 1, NULL);
    struct store_op op;
    load(store, &op, boot, &slot, 1);
    assert_int_equal(op.slots_load.jobs[0].version, 2);
    assert_int_equal(cursor_of(&op, job, "b")->version, 1);
    assert_int_equal(cursor_of(&op, job, "b")->decided.ms, t0.ms + 3000);
    store_op_release(&op);
}

static void test_adopt_in_pages(void **state)
{
    struct store *store = *state;
    int64_t a = kit_boot(store, "n1"), b = kit_boot(store, "n2");
    int32_t slot;
    int64_t job = kit_job(store, "job", &slot);
    (void)kit_take(store, a, slot, 5);
    instant now = kit_now(store);
    enum { RUNS = 300 };
    struct store_fire *fires = calloc(RUNS, sizeof *fires);
    struct step_row *steps = calloc(RUNS, sizeof *steps);
    struct attempt_row *attempts = calloc(2 * RUNS, sizeof *attempts);
    for (size_t i = 0; i < RUNS; i++) { /* over two days */
        fires[i].run = kit_run(job, slot, a, "a", instant_add(now, -(span)i * 5 * SPAN_MINUTE), i + 1);
        steps[i] = (struct step_row){
            .run = fires[i].run.id, .step = "s", .seq = 3, .since = now, .due = INSTANT_NONE, .result = "7"};
        for (size_t k = 0; k < 2; k++)
            attempts[2 * i + k] = (struct attempt_row){.run = fires[i].run.id,
                                                       .step = "s",
                                                       .n = 2 - (int32_t)k,
                                                       .seq = 2 - (int32_t)k,
                                                       .started_at = now,
                                                       .ended_at = INSTANT_NONE,
                                                       .result = "8",
                                                       .request = "{}"};
    }
    fires[7].run.state = RUN_FAILED; /* ended: nobody's any more */
    fires[7].run.ended_at = now;
    assert_int_equal(kit_batch(store, (struct store_batch){.boot = a,
                                                           .fires = fires,
                                                           .fire_count = RUNS,
                                                           .steps = steps,
                                                           .step_count = RUNS,
                                                           .attempts = attempts,
                                                           .attempt_count = 2 * RUNS}),
                     STATUS_OK);
    OP(early, STORE_RUNS_ADOPT);
    early.runs_adopt = (struct store_runs_adopt){.boot = b, .from_boot = a, .node = "n2", .limit = 10};
    EXPECT(store, &early, STATUS_CONFLICT); /* not fenced yet */
    store_op_release(&early);
    kit_fence(store, b, a);
    size_t adopted = 0;
    int64_t last = 0;
    for (;;) {
        OP(op, STORE_RUNS_ADOPT);
        op.runs_adopt = (struct store_runs_adopt){.boot = b, .from_boot = a, .node = "n2", .limit = 128};
        DO(store, &op);
        size_t n = op.runs_adopt.run_count;
        assert_int_equal(op.runs_adopt.step_count, n);
        assert_int_equal(op.runs_adopt.attempt_count, 2 * n);
        for (size_t i = 0; i < n; i++) {
            const struct run_row *run = &op.runs_adopt.runs[i];
            assert_true(run->id > last);
            last = run->id;
            assert_int_equal(run->boot, b);
            assert_string_equal(run->node, "n2");
            assert_int_equal(op.runs_adopt.steps[i].run, run->id);
            assert_string_equal(op.runs_adopt.steps[i].result, "7");
            for (int k = 0; k < 2; k++) {
                const struct attempt_row *t = &op.runs_adopt.attempts[2 * i + (size_t)k];
                assert_int_equal(t->run, run->id);
                assert_int_equal(t->seq, k + 1);
                assert_string_equal(t->result, "8");
            }
        }
        adopted += n;
        store_op_release(&op);
        if (!n)
            break;
    }
    assert_int_equal(adopted, RUNS - 1);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM run WHERE node = 'n2'"), RUNS - 1);
    free(fires);
    free(steps);
    free(attempts);
    OP(own, STORE_RUNS_ADOPT);
    own.runs_adopt = (struct store_runs_adopt){.boot = a, .from_boot = b, .node = "n1", .limit = 1};
    EXPECT(store, &own, STATUS_FENCED);
    store_op_release(&own);
}

/* Queued runs that their boot has left are nobody's, and go to the owner of their slot, whoever asks. */
static void test_left_runs(void **state)
{
    struct store *store = *state;
    int64_t a = kit_boot(store, "n1"), b = kit_boot(store, "n2"), c = kit_boot(store, "n3");
    int32_t slot;
    int64_t job = kit_job(store, "job", &slot);
    (void)kit_take(store, a, slot, 5);
    instant now = kit_now(store);
    struct store_fire fires[4] = {0};
    int64_t left[4];
    for (size_t i = 0; i < 4; i++) { /* over two days */
        fires[i].run = kit_run(job, slot, a, "a", instant_add(now, -(span)i * 10 * SPAN_HOUR), i + 1);
        left[3 - i] = fires[i].run.id;
    }
    fires[0].run.state = RUN_RUNNING; /* this one has begun: it stays */
    fires[0].run.started_at = now;
    for (size_t i = 1; i < 4; i++) {
        fires[i].run.state = RUN_QUEUED;
        fires[i].run.started_at = INSTANT_NONE;
    }
    assert_int_equal(kit_fire(store, a, fires, 4), STATUS_OK);
    (void)kit_take(store, b, slot, 6);
    assert_int_equal(kit_batch(store, (struct store_batch){.boot = c, .left = left, .left_count = 4}), STATUS_OK);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM run WHERE boot = 0"), 0); /* they were not c's to leave */
    assert_int_equal(kit_batch(store, (struct store_batch){.boot = a, .left = left, .left_count = 4}), STATUS_OK);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM run WHERE boot = 0"), 3);
    OP(open, STORE_RUNS_OPEN);
    open.runs_open = (struct store_runs_open){.runs = left, .count = 4};
    DO(store, &open);
    for (size_t i = 0; i < 4; i++) {
        assert_true(open.runs_open.open[i]);
        assert_int_equal(open.runs_open.left[i], left[i] != fires[0].run.id);
    }
    store_op_release(&open);
    struct store_op op;
    load(store, &op, b, &slot, 1);
    assert_int_equal(op.slots_load.open_run_count, 4);
    store_op_release(&op);
    const int64_t askers[] = {a, c, b, b};
    const size_t gets[] = {0, 0, 3, 0};
    for (size_t i = 0; i < 4; i++) {
        OP(adopt, STORE_RUNS_ADOPT);
        adopt.runs_adopt = (struct store_runs_adopt){.boot = askers[i], .from_boot = 0, .node = "n2", .limit = 10};
        DO(store, &adopt);
        assert_int_equal(adopt.runs_adopt.run_count, gets[i]);
        for (size_t k = 0; k < gets[i]; k++)
            assert_int_equal(adopt.runs_adopt.runs[k].boot, b);
        store_op_release(&adopt);
    }
    kit_fence(store, b, a);
    OP(late, STORE_RUNS_ADOPT);
    late.runs_adopt = (struct store_runs_adopt){.boot = a, .from_boot = 0, .node = "n1", .limit = 10};
    EXPECT(store, &late, STATUS_FENCED);
    store_op_release(&late);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM run WHERE node = 'n2' AND state = 0"), 3);
}

/* Two adopters of one dead boot: each run goes to exactly one of them. */
struct adopter {
    struct store *store;
    int64_t boot, from;
    size_t adopted;
};

static void *adopt_all(void *context)
{
    struct adopter *a = context;
    for (;;) {
        OP(op, STORE_RUNS_ADOPT);
        op.runs_adopt = (struct store_runs_adopt){.boot = a->boot, .from_boot = a->from, .node = "n", .limit = 7};
        enum status status = store_execute(a->store, &op);
        size_t n = status == STATUS_OK ? op.runs_adopt.run_count : 1;
        for (size_t i = 0; status == STATUS_OK && i < n; i++)
            if (op.runs_adopt.runs[i].boot != a->boot)
                abort();
        a->adopted += status == STATUS_OK ? n : 0;
        store_op_release(&op);
        if (!n)
            return NULL;
    }
}

static void test_two_adopters(void **state)
{
    struct store *store = *state, *second = kit_open();
    int64_t dead = kit_boot(store, "n0");
    int32_t slot;
    int64_t job = kit_job(store, "job", &slot);
    (void)kit_take(store, dead, slot, 5);
    instant now = kit_now(store);
    struct store_fire fires[200];
    for (size_t i = 0; i < 200; i++)
        fires[i].run = kit_run(job, slot, dead, "a", instant_add(now, (span)i), i + 1);
    assert_int_equal(kit_fire(store, dead, fires, 200), STATUS_OK);
    struct adopter adopters[2] = {{.store = store, .boot = kit_boot(store, "n1"), .from = dead},
                                  {.store = second, .boot = kit_boot(store, "n2"), .from = dead}};
    kit_fence(store, adopters[0].boot, dead);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, adopt_all, &adopters[i]), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(adopters[0].adopted + adopters[1].adopted, 200);
    char sql[80];
    (void)snprintf(sql, sizeof sql, "SELECT COUNT(*) FROM run WHERE boot = %lld", (long long)adopters[0].boot);
    assert_int_equal(kit_number(sql), adopters[0].adopted);
    kit_close(second);
}

int main(int argc, char **argv)
{
    kit_begin(argc, argv);
#define T(f) cmocka_unit_test_setup_teardown(f, kit_setup, kit_teardown)
    const struct CMUnitTest tests[] = {T(test_epochs_only_rise),
                                       T(test_take_all),
                                       T(test_decided_rises_for_the_owner),
                                       T(test_cursors),
                                       T(test_load_states_and_open_runs),
                                       T(test_deleted_until_activated),
                                       T(test_dropped_trigger),
                                       T(test_adopt_in_pages),
                                       T(test_left_runs),
                                       T(test_two_adopters)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
