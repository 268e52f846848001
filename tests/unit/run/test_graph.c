/* Checks of graphs: every fault with its path; the order of steps. */
#include "core/logic/run/graph.h"
#include "tests/unit/run/support.h"

#define ROWS(table) (sizeof(table) / sizeof *(table))

static bool has_fault(const struct faults *faults, const char *path, const char *text, bool warning)
{
    for (size_t i = 0; i < faults->count; i++)
        if (!strcmp(faults->items[i].path, path) && strstr(faults->items[i].text, text) &&
            faults->items[i].warning == warning)
            return true;
    return false;
}

static void list_faults(const struct faults *faults, int line)
{
    for (size_t i = 0; i < faults->count; i++)
        print_message("line %d: %s: %s\n", line, faults->items[i].path, faults->items[i].text);
}

/* Expects exactly one fault (or one warning). */
static void expect_fault(int line, const struct job_spec *job, const char *path, const char *text, bool warning)
{
    struct faults faults;
    faults_init(&faults);
    graph_check(job, &faults);
    if (!has_fault(&faults, path, text, warning) || faults.count != 1) {
        list_faults(&faults, line);
        fail_msg("line %d: no \"%s\" at %s, or more than that", line, text, path);
    }
    faults_release(&faults);
}

static void expect_none(int line, const struct job_spec *job)
{
    struct faults faults;
    faults_init(&faults);
    graph_check(job, &faults);
    list_faults(&faults, line);
    assert_int_equal(faults.count, 0);
    faults_release(&faults);
}

/* Three steps, b after a, c after b, to be spoiled. */
struct chain {
    struct step_spec steps[3];
    struct edge_spec edges[3][2];
    struct job_spec job;
};

static struct chain *chain(void)
{
    static struct chain c;
    static const char *const names[] = {"a", "b", "c"};
    c = (struct chain){.job = {.steps = c.steps, .step_count = 3}};
    for (size_t i = 0; i < 3; i++) {
        c.steps[i] = step_defaults(names[i]);
        c.steps[i].after = c.edges[i];
        c.steps[i].after_count = i > 0;
        c.edges[i][0].from = i ? i - 1 : 0;
    }
    return &c;
}

static void test_sound(void **state)
{
    (void)state;
    expect_none(__LINE__, &chain()->job);
    struct chain *c = chain();
    c->steps[2].params = "{\"rows\":\"${steps.a.result.rows}\",\"b\":[\"${steps.b.state}\"]}";
    c->edges[2][0].on = EDGE_EXPRESSION;
    c->edges[2][0].when = "${steps.a.result.count > 0 && steps.b.state == 'succeeded'}";
    expect_none(__LINE__, &c->job);
}

static void test_faults(void **state)
{
    (void)state;
    struct chain *c = chain();
    c->job.step_count = 0;
    expect_fault(__LINE__, &c->job, "spec.graph", "empty", false);
    c = chain();
    c->steps[2].name = "a";
    expect_fault(__LINE__, &c->job, "spec.graph[2].step", "two steps are named \"a\": the other is spec.graph[0]",
                 false);
    c = chain();
    c->steps[2].name = "Big Name";
    expect_fault(__LINE__, &c->job, "spec.graph[2].step", "needs a name", false);
    c = chain();
    c->edges[1][0].from = SIZE_MAX;
    expect_fault(__LINE__, &c->job, "spec.graph[1].after[0]", "no step of that name", false);
    c = chain();
    c->steps[2].after_count = 2;
    c->edges[2][1].from = 1;
    expect_fault(__LINE__, &c->job, "spec.graph[2].after[1]", "stands twice", false);
    c = chain();
    c->steps[0].after_count = 1;
    c->edges[0][0].from = 2;
    expect_fault(__LINE__, &c->job, "spec.graph", "a → b → c → a", false);
    c = chain();
    c->steps[2].join = JOIN_N;
    c->steps[2].join_n = 2;
    expect_fault(__LINE__, &c->job, "spec.graph[2].join", "n is 2, but the step has 1 predecessors", false);
    c->steps[2].join_n = 0;
    expect_fault(__LINE__, &c->job, "spec.graph[2].join", "n is 0", false);
    c = chain();
    c->steps[1].kind = STEP_APPROVAL;
    expect_fault(__LINE__, &c->job, "spec.graph[1]", "not available yet", false);
    c = chain();
    c->steps[1].kind = STEP_MAP;
    expect_fault(__LINE__, &c->job, "spec.graph[1].map", "needs its list", false);
    static const char *const no_lists[] = {"5", "{}", "true", "\"x\"", "{\"a\":\"${params.b}\"}"};
    for (size_t i = 0; i < sizeof no_lists / sizeof *no_lists; i++) {
        c->steps[1].map = no_lists[i];
        expect_fault(__LINE__, &c->job, "spec.graph[1].map", "must be a list", false);
    }
    static char many[2 * LIMIT_ITEMS + 4] = "[0";
    for (size_t i = 0; i < LIMIT_ITEMS; i++)
        memcpy(many + 2 + 2 * i, ",0", 2);
    many[2 + 2 * LIMIT_ITEMS] = ']';
    c->steps[1].map = many;
    expect_fault(__LINE__, &c->job, "spec.graph[1].map", "too many items", false);
    c->steps[1].map = "[1]";
    c->steps[1].routing = ROUTE_BROADCAST;
    expect_fault(__LINE__, &c->job, "spec.graph[1].routing", "has one already", false);
    c->steps[1].routing = ROUTE_RANDOM;
    c->steps[1].map = "\"${steps.c.result}\"";
    expect_fault(__LINE__, &c->job, "spec.graph[1].map", "does not come before it", false);
    c = chain();
    c->steps[1].routing = ROUTE_FIXED;
    expect_fault(__LINE__, &c->job, "spec.graph[1].instance", "needs an instance", false);
    c = chain();
    c->steps[1].task = NULL;
    expect_fault(__LINE__, &c->job, "spec.graph[1]", "calls nothing", false);
    c = chain();
    c->steps[1].kind = STEP_WAIT;
    c->steps[1].wait = -1;
    expect_fault(__LINE__, &c->job, "spec.graph[1].wait", "duration", false);
}

static void test_templates(void **state)
{
    (void)state;
    struct chain *c = chain();
    c->steps[1].params = "{\"x\":\"${steps.c.result}\"}";
    expect_fault(__LINE__, &c->job, "spec.graph[1].params", "does not come before it", false);
    c = chain();
    c->steps[1].params = "{\"x\":\"${steps.nobody.result}\"}";
    expect_fault(__LINE__, &c->job, "spec.graph[1].params", "\"nobody\", which does not exist", false);
    c = chain();
    c->steps[1].params = "{\"x\":}";
    expect_fault(__LINE__, &c->job, "spec.graph[1].params", "", false);
    c = chain();
    c->steps[1].params = "{\"x\":\"${1 +}\"}";
    expect_fault(__LINE__, &c->job, "spec.graph[1].params", "", false);
    c = chain();
    c->edges[1][0] = (struct edge_spec){.from = 0, .on = EDGE_EXPRESSION, .when = "${steps.c.state == 'failed'}"};
    expect_fault(__LINE__, &c->job, "spec.graph[1].after[0]", "does not come before it", false);
    c = chain();
    c->edges[1][0] = (struct edge_spec){.from = 0, .on = EDGE_EXPRESSION};
    expect_fault(__LINE__, &c->job, "spec.graph[1].after[0]", "`when` is missing", false);
}

static void test_compensation(void **state)
{
    (void)state;
    struct chain *c = chain();
    c->steps[0].on_exhausted = EXHAUSTED_COMPENSATE;
    c->steps[0].compensate = 9;
    expect_fault(__LINE__, &c->job, "spec.graph[0].on_exhausted", "no step of that name", false);
    c->steps[0].compensate = 1;
    expect_fault(__LINE__, &c->job, "spec.graph[0].on_exhausted", "has predecessors of its own", false);
    c->steps[1].after_count = 0;
    expect_none(__LINE__, &c->job);
    c->steps[2].on_exhausted = EXHAUSTED_COMPENSATE; /* undone by a, which it follows */
    c->steps[2].compensate = 0;
    struct faults faults;
    faults_init(&faults);
    graph_check(&c->job, &faults);
    assert_true(has_fault(&faults, "spec.graph", "in a circle", false));
    faults_release(&faults);
}

static void test_warnings(void **state)
{
    (void)state;
    struct chain *c = chain();
    c->steps[2].cancel_rest = true;
    expect_fault(__LINE__, &c->job, "spec.graph[2].cancel_rest", "nothing is left", true);
    c = chain();
    c->steps[0].kind = STEP_NOOP;
    c->edges[1][0].on = EDGE_FAILURE;
    expect_fault(__LINE__, &c->job, "spec.graph[1].after[0]", "never fails", true);
}

static void test_order(void **state)
{
    (void)state;
    struct chain *c = chain();
    size_t order[3];
    assert_true(graph_order(&c->job, order));
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(order[i], i);
    c->edges[1][0].from = 2; /* b after c after nobody; a first, as declared */
    c->steps[2].after_count = 0;
    assert_true(graph_order(&c->job, order));
    assert_int_equal(order[0], 0);
    assert_int_equal(order[1], 2);
    assert_int_equal(order[2], 1);
    c->steps[2].after_count = 1;
    c->edges[2][0].from = 1;
    assert_false(graph_order(&c->job, order));
}

/* As many steps and edges as are allowed, in the worst order. */
static void test_big(void **state)
{
    (void)state;
    struct step_spec *steps = calloc(LIMIT_STEPS, sizeof *steps);
    struct edge_spec *edges = calloc((size_t)LIMIT_STEPS * 10, sizeof *edges);
    char(*names)[8] = calloc(LIMIT_STEPS, sizeof *names);
    size_t *order = calloc(LIMIT_STEPS, sizeof *order);
    for (size_t i = 0; i < LIMIT_STEPS; i++) {
        (void)snprintf(names[i], sizeof names[i], "s%zu", i);
        steps[i] = step_defaults(names[i]);
        steps[i].after = &edges[i * 10];
        for (size_t from = i + 1; from < LIMIT_STEPS && steps[i].after_count < 10; from++)
            steps[i].after[steps[i].after_count++] = (struct edge_spec){.from = from};
    }
    struct job_spec job = {.steps = steps, .step_count = LIMIT_STEPS};
    expect_none(__LINE__, &job);
    assert_true(graph_order(&job, order));
    for (size_t i = 0; i < LIMIT_STEPS; i++)
        assert_int_equal(order[i], LIMIT_STEPS - 1 - i);
    job.step_count = LIMIT_STEPS + 1;
    expect_fault(__LINE__, &job, "spec.graph", "at most 1000", false);
    free(steps);
    free(edges);
    free(names);
    free(order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sound),        cmocka_unit_test(test_faults),   cmocka_unit_test(test_templates),
        cmocka_unit_test(test_compensation), cmocka_unit_test(test_warnings), cmocka_unit_test(test_order),
        cmocka_unit_test(test_big),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
