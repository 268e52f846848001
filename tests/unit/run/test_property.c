/* Random graphs, random answers, random trouble: after every event the invariants hold and the replay of the rows is
 * the same run (support.h), effects asked twice are the same, no effect is doubled, and every run comes to an end. */
#include "core/base/rng.h"
#include "core/logic/run/graph.h"
#include "tests/unit/run/support.h"

#define STEPS 9
#define EFFECTS 6 /* few, so that lists are full at times */
#define SEEDS 3000

struct case_of {
    struct bench b;
    struct step_spec steps[STEPS];
    struct edge_spec edges[STEPS][STEPS];
    struct rng rng;
};

static const char *const names[STEPS] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
static const char *const conditions[STEPS] = {"${steps.a.state == 'succeeded'}",
                                              "${steps.b.state == 'failed'}",
                                              "${steps.c.result.x > 1}",
                                              "${steps.d.result}",
                                              "${steps.e.nothing}",
                                              "${params.none ?? false}",
                                              "${steps.g.result.x ?? 1}",
                                              "${1 + }",
                                              "${steps.i.state != 'skipped'}"};

static uint64_t below(struct case_of *c, uint64_t bound)
{
    return rng_below(&c->rng, bound);
}

static bool one_in(struct case_of *c, uint64_t n)
{
    return below(c, n) == 0;
}

static void add_edges(struct case_of *c, size_t i)
{
    struct step_spec *step = &c->steps[i];
    step->after = c->edges[i];
    for (size_t from = 0; from < i; from++)
        if (one_in(c, 3))
            c->edges[i][step->after_count++] = (struct edge_spec){
                .from = from, .on = one_in(c, 2) ? EDGE_SUCCESS : (enum edge_on)below(c, 4), .when = conditions[from]};
    step->join = step->after_count ? (enum join_rule)below(c, 3) : JOIN_ALL;
    step->join_n = step->join == JOIN_N ? 1 + below(c, step->after_count) : 0;
    step->cancel_rest = one_in(c, 3);
}

static void make_fan(struct case_of *c, struct step_spec *step)
{
    static const char *const lists[] = {"[]", "[1]", "[1,{\"a\":2},\"x\",null,[4],5,6]"};
    bool map = one_in(c, 2);
    if (step->kind != STEP_HTTP)
        return;
    step->kind = map ? STEP_MAP : STEP_HTTP;
    step->map = map ? lists[below(c, sizeof lists / sizeof *lists)] : NULL;
    step->routing = map ? step->routing : one_in(c, 2) ? ROUTE_BROADCAST : ROUTE_SHARD;
    step->shards = one_in(c, 2) ? 1 + (int)below(c, 5) : 0;
    step->concurrency = one_in(c, 2) ? 1 + (int)below(c, 3) : 0;
    step->tolerate = one_in(c, 2) ? (int)below(c, 60) : 0;
    step->tolerate_share = true;
}

static void make_step(struct case_of *c, size_t i)
{
    struct step_spec *step = &c->steps[i];
    *step = step_defaults(names[i]);
    step->kind = one_in(c, 8) ? STEP_NOOP : one_in(c, 8) ? STEP_WAIT : STEP_HTTP;
    step->wait = (span)below(c, 20000);
    step->on_failure = (enum failure_preset)below(c, FAILURE_PRESETS);
    step->retry = (struct retry_policy){.max = (int)below(c, 4),
                                        .delay = one_in(c, 2) ? 0 : 2000,
                                        .backoff = (enum backoff)below(c, 2),
                                        .max_delay = 60000,
                                        .jitter = one_in(c, 2) ? 0.5 : 0,
                                        .on = one_in(c, 4) ? (unsigned)below(c, 1U << CALL_CLASSES) : 0,
                                        .max_elapsed = one_in(c, 4) ? 60000 : 0};
    step->on_exhausted = one_in(c, 6) ? EXHAUSTED_IGNORE : EXHAUSTED_STOP;
    step->call_set = true;
    step->call.repeat = (enum repeat_rule)below(c, 4);
    step->call.wait_timeout = 30000;
    step->call.timeout = 60000;
    step->call.serial = one_in(c, 4);
    step->routing = one_in(c, 6)   ? ROUTE_FIXED
                    : one_in(c, 6) ? ROUTE_HASH
                    : one_in(c, 6) ? ROUTE_RANDOM
                                   : ROUTE_ROUND_ROBIN;
    if (one_in(c, 4))
        make_fan(c, step);
    step->instance = step->routing == ROUTE_FIXED ? "h1" : "key";
    step->params = one_in(c, 5) ? "{\"x\":\"${params.y ?? 1}\"}" : NULL;
    add_edges(c, i);
}

static void make_case(struct case_of *c, uint64_t seed)
{
    *c = (struct case_of){.b = {.where = "seed", .line = (int)seed}};
    rng_seed(&c->rng, seed);
    c->b.job.steps = c->steps;
    c->b.job.step_count = 1 + below(c, STEPS);
    c->b.job.timeout = 20 * SPAN_MINUTE;
    c->b.job.max_in_flight = one_in(c, 4) ? 2 : 0;
    for (size_t i = 0; i < c->b.job.step_count; i++)
        make_step(c, i);
    if (c->b.job.step_count > 1 && one_in(c, 4)) { /* the first step undoes the last */
        c->steps[c->b.job.step_count - 1].on_exhausted = EXHAUSTED_COMPENSATE;
        c->steps[c->b.job.step_count - 1].compensate = 0;
        for (size_t i = 1; i < c->b.job.step_count; i++) /* no circle: nobody waits for it */
            for (size_t k = 0; k < c->steps[i].after_count; k++)
                if (c->edges[i][k].from == 0)
                    c->edges[i][k--] = c->edges[i][--c->steps[i].after_count];
        for (size_t i = 1; i < c->b.job.step_count; i++)
            if (c->steps[i].join == JOIN_N && c->steps[i].join_n > c->steps[i].after_count)
                c->steps[i].join = JOIN_ALL;
    }
    (void)bench_add_task(&c->b, "app/t");
    for (int i = 0; i < 3; i++)
        bench_instance(&c->b, (const char *[]){"h1", "h2", "h3"}[i], true, false);
    bench_create(&c->b);
}

static void trouble_the_world(struct case_of *c)
{
    for (size_t i = 0; i < c->b.instance_count; i++) {
        c->b.instances[i].usable = !one_in(c, 4);
        c->b.instances[i].full = one_in(c, 6);
        c->b.instances[i].aside = !c->b.instances[i].usable && one_in(c, 2);
    }
    c->b.random = rng_next(&c->rng);
}

static void texts_of(const struct run_effect *effects, size_t count, char (*first)[700])
{
    for (size_t i = 0; i < count; i++)
        effect_text(&effects[i], first[i], 700);
}

/* Until the list says nothing that changes the run. */
static void settle(struct case_of *c)
{
    struct bench *b = &c->b;
    for (int round = 0; round < 200; round++) {
        struct run_effect effects[EFFECTS];
        char first[EFFECTS][700], second[EFFECTS][700];
        size_t count = bench_effects(b, effects, EFFECTS);
        texts_of(effects, count, first);
        if (bench_effects(b, effects, EFFECTS) != count)
            BENCH_FAIL(b, "asked twice, another length");
        texts_of(effects, count, second);
        for (size_t i = 0; i < count; i++)
            if (strcmp(first[i], second[i]) != 0)
                BENCH_FAIL(b, "asked twice: %.600s; %.600s", first[i], second[i]);
        bool changes = false, again = count && effects[count - 1].kind == EFFECT_AGAIN;
        for (size_t i = 0; i < count; i++) {
            bench_carry_out(b, &effects[i]);
            changes |= effects[i].kind != EFFECT_WAKE && effects[i].kind != EFFECT_CANCEL_CALL &&
                       effects[i].kind != EFFECT_AGAIN;
        }
        if (!changes && (again || count == EFFECTS))
            BENCH_FAIL(b, "a full list that changes nothing: whoever asks again asks for ever");
        if (count < EFFECTS && !again) {
            struct run_effect rest[EFFECTS];
            size_t more = bench_effects(b, rest, EFFECTS); /* one list is complete */
            for (size_t i = 0; i < more; i++)
                if (rest[i].kind != EFFECT_WAKE && rest[i].kind != EFFECT_CANCEL_CALL) {
                    char text[700];
                    effect_text(&rest[i], text, sizeof text);
                    BENCH_FAIL(b, "left out by the list before: %s", text);
                }
            return;
        }
    }
    BENCH_FAIL(b, "does not settle");
}

#define OPEN_MOST 200

static bool call_open(const struct run_step *step)
{
    return step->calls.attempt_count && step->calls.attempts[step->calls.attempt_count - 1].state != ATTEMPT_ENDED;
}

static size_t open_calls(const struct case_of *c, const struct run_step **ret)
{
    size_t count = 0;
    for (const struct run_step *step = run_each(c->b.run, NULL); step; step = run_each(c->b.run, step))
        if (call_open(step) && count < OPEN_MOST)
            ret[count++] = step;
    return count;
}

static enum call_class random_class(struct case_of *c)
{
    static const enum call_class classes[] = {
        CALL_SUCCESS,  CALL_SUCCESS,   CALL_SUCCESS,  CALL_NOT_SENT, CALL_BUSY,       CALL_BUSY,
        CALL_HTTP_3XX, CALL_HTTP_4XX,  CALL_HTTP_5XX, CALL_FAILURE,  CALL_BAD_ANSWER, CALL_TIMEOUT,
        CALL_UNKNOWN,  CALL_HEARTBEAT, CALL_ACCEPTED, CALL_CANCELED,
    };
    return classes[below(c, sizeof classes / sizeof *classes)];
}

static void answer(struct case_of *c)
{
    const struct run_step *open[OPEN_MOST];
    size_t count = open_calls(c, open);
    if (!count)
        return;
    const struct run_step *step = open[below(c, count)];
    struct run_event event = item_end_event(c->b.run, step->spec->name, step->item, random_class(c));
    if (event.attempt.class == CALL_SUCCESS)
        event.attempt.result = one_in(c, 2) ? "{\"x\":2}" : NULL;
    event.attempt.retry_after = one_in(c, 4) ? (span)below(c, 8000) : -1;
    event.attempt.error = one_in(c, 2) ? "words" : NULL;
    const struct run_calls *item = &step->calls;
    if (event.attempt.class == CALL_ACCEPTED && item->attempts[item->attempt_count - 1].state == ATTEMPT_ACCEPTED)
        return;
    bench_must(&c->b, event);
}

/* An answer to a call whose end is told already: stale, or refused. Only the last call of a step that has not ended may
 * still be settled by it, if nobody knew its outcome. */
static void answer_late(struct case_of *c)
{
    size_t i = below(c, c->b.job.step_count);
    const struct run_step *step = &c->b.run->steps[i];
    struct error err;
    if (step->item_count)
        step = &step->items[below(c, step->item_count)];
    if (!step->calls.attempt_count)
        return;
    struct run_event event = item_end_event(c->b.run, names[i], step->item, CALL_FAILURE);
    event.attempt.n = 1 + (int32_t)below(c, (uint64_t)event.attempt.n);
    const struct attempt_row *attempt = run_find_attempt(c->b.run, names[i], step->item, event.attempt.n);
    if (attempt->state != ATTEMPT_ENDED)
        return;
    bool settles = (size_t)attempt->n == step->calls.attempt_count && !call_class_definite(attempt->class) &&
                   !step_state_terminal(step->state);
    enum step_state before = step->state;
    (void)bench_apply(&c->b, event, &err);
    assert_int_equal(step->state, settles ? STEP_RUNNING : before);
}

static void something_happens(struct case_of *c)
{
    uint64_t dice = below(c, 40);
    c->b.now = instant_add(c->b.now, (span)below(c, 4000));
    if (one_in(c, 6))
        trouble_the_world(c);
    if (dice == 0)
        bench_must(&c->b, (struct run_event){.kind = RUN_EVENT_DRIVER,
                                             .boot = BOOT + 1 + (int64_t)below(c, 3),
                                             .node = one_in(c, 2) ? "s2" : "s3"});
    else if (dice == 1 && one_in(c, 6))
        bench_must(&c->b, (struct run_event){.kind = RUN_EVENT_CANCEL, .reason = "canceled"});
    else if (dice == 2)
        answer_late(c);
    else if (dice < 8)
        c->b.now = instant_add(c->b.now, (span)below(c, 30000));
    else
        answer(c);
}

/* Two calls for one step, the first without a definite end, under different keys: an effect may be doubled. */
static void check_not_doubled(struct case_of *c)
{
    for (const struct run_step *step = run_each(c->b.run, NULL); step; step = run_each(c->b.run, step)) {
        const struct run_calls *item = &step->calls;
        for (size_t j = 1; j < item->attempt_count; j++) {
            const struct attempt_row *a = &item->attempts[j - 1], *b = &item->attempts[j];
            if (a->key_try == b->key_try || a->stale)
                continue;
            bool answered = false, open = false;
            for (size_t i = 0; i < j; i++) {
                const struct attempt_row *x = &item->attempts[i];
                bool soft = x->class == CALL_NOT_SENT || x->class == CALL_BUSY;
                if (x->key_try == a->key_try && !x->stale) {
                    open |= !call_class_definite(x->class);
                    answered |= call_class_definite(x->class) && !soft;
                }
            }
            if (open && !answered)
                BENCH_FAIL(&c->b, "step %s: attempt %zu may double an effect", step->spec->name, j + 1);
        }
    }
}

static unsigned ends[RUN_STATES];

static void one_run(uint64_t seed)
{
    static struct case_of c;
    make_case(&c, seed);
    bench_start(&c.b);
    settle(&c);
    for (int i = 0; i < 3000 && !run_state_terminal(c.b.run->row.state); i++) {
        something_happens(&c);
        settle(&c);
    }
    if (!run_state_terminal(c.b.run->row.state))
        BENCH_FAIL(&c.b, "the run never ends");
    for (int i = 0; i < 4; i++)
        answer_late(&c);
    check_not_doubled(&c);
    ends[c.b.run->row.state]++;
    bench_release(&c.b);
}

static void test_runs(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        one_run(seed);
    for (int end = RUN_SUCCEEDED; end < RUN_STATES; end++) /* the dice reach every end */
        assert_true(ends[end] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_runs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
