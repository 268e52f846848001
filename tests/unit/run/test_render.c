/* Rendering of calls from committed inputs. */
#include "tests/unit/run/support.h"

#define ROWS(table) (sizeof(table) / sizeof *(table))

struct scene {
    struct bench b;
    struct step_spec steps[2];
    struct edge_spec edge;
    struct trigger_spec trigger;
    struct task_spec *task;
};

/* a succeeded with {"rows":12345678901234567890}, b is about to be called. */
static struct scene *scene(void)
{
    static struct scene s;
    s = (struct scene){.b = {.where = "render"}};
    s.steps[0] = step_defaults("a");
    s.steps[1] = step_defaults("b");
    s.steps[1].after = &s.edge;
    s.steps[1].after_count = 1;
    s.trigger = (struct trigger_spec){.name = "nightly", .params = "{\"region\":\"cn\",\"n\":1}"};
    s.b.job = (struct job_spec){.steps = s.steps,
                                .step_count = 2,
                                .triggers = &s.trigger,
                                .trigger_count = 1,
                                .params = "{\"region\":\"eu\",\"deep\":{\"x\":[1,2.50]}}"};
    s.task = bench_add_task(&s.b, "app/t");
    bench_instance(&s.b, "h1:80", true, false);
    return &s;
}

static void play(struct scene *s, const char *result)
{
    struct run_effect effects[4];
    bench_create(&s->b);
    bench_start(&s->b);
    (void)bench_effects(&s->b, effects, 4);
    bench_carry_out(&s->b, &effects[0]);
    struct run_event event = end_event(s->b.run, "a", CALL_SUCCESS);
    event.attempt.result = result;
    bench_must(&s->b, event);
}

static bool tls(void *context, const char *project, const char *application)
{
    (void)context;
    (void)project;
    return !strcmp(application, "app");
}

static enum status render(struct scene *s, struct rendered_call *ret, struct error *err)
{
    struct run_world world = bench_world(&s->b);
    world.tls = s->steps[1].call_set && s->steps[1].call.async ? tls : NULL;
    struct attempt_row attempt = {.step = "b", .n = 1, .key_try = 1, .instance = "h1:80"};
    return run_render(s->b.run, &attempt, &world, ret, err);
}

static void expect(struct scene *s, int line, const char *url, const char *body)
{
    struct rendered_call call;
    struct error err = {STATUS_OK, ""};
    play(s, "{\"rows\":12345678901234567890}");
    if (render(s, &call, &err) != STATUS_OK)
        fail_msg("line %d: %s", line, err.text);
    if (url && strcmp(str_text(&call.url), url) != 0)
        fail_msg("line %d: url %s", line, str_text(&call.url));
    if (strcmp(str_text(&call.body), body) != 0)
        fail_msg("line %d: body %s", line, str_text(&call.body));
    rendered_call_release(&call);
    bench_release(&s->b);
}

static void expect_refused(struct scene *s, int line, enum status status, const char *text)
{
    struct rendered_call call;
    struct error err = {STATUS_OK, ""};
    play(s, "{\"rows\":1}");
    if (render(s, &call, &err) != status || !strstr(err.text, text))
        fail_msg("line %d: %s: %s", line, status_text(err.code), err.text);
    bench_release(&s->b);
}

static void test_bodies(void **state)
{
    (void)state;
    expect(scene(), __LINE__, "http://h1:80/t", "{}");
    struct scene *s = scene();
    s->steps[1].params = "{\"rows\":\"${steps.a.result.rows}\",\"r\":\"${params.region}\",\"deep\":\"${params.deep}\","
                         "\"text\":\"鐘 ${params.n} ${run.id}\"}";
    expect(s, __LINE__, "http://h1:80/t",
           "{\"rows\":12345678901234567890,\"r\":\"cn\",\"deep\":{\"x\":[1,2.50]},\"text\":\"鐘 1 4711\"}");
    s = scene();
    s->task->call.method = "GET";
    expect(s, __LINE__, "http://h1:80/t", "");
    s = scene();
    s->task->call.method = "DELETE";
    s->steps[1].params = "{\"x\":1}";
    expect(s, __LINE__, "http://h1:80/t", "{\"x\":1}");
    s = scene();
    s->task->call.envelope = true;
    s->steps[1].params = "[1]";
    expect(s, __LINE__, NULL,
           "{\"run\":{\"id\":\"4711\",\"project\":\"default\",\"job\":\"job\",\"trigger\":\"nightly\",\"version\":2,"
           "\"scheduled_at\":\"2026-09-21T14:13:20.000Z\"},\"step\":\"b\",\"params\":[1],\"shard\":null,"
           "\"slice\":null}");
}

static void test_urls(void **state)
{
    (void)state;
    static struct name_value query[] = {{"q x", "${params.region} & 鐘"}, {"n", "${steps.a.result.rows}"}};
    struct scene *s = scene();
    s->task->call.path = "/übung/a b?x=1";
    s->steps[1].call_set = true;
    s->steps[1].call.query = query;
    s->steps[1].call.query_count = 2;
    expect(s, __LINE__, "http://h1:80/%C3%BCbung/a%20b?x=1&q%20x=cn%20%26%20%E9%90%98&n=12345678901234567890", "{}");
    s = scene();
    s->steps[1].call_set = true;
    s->steps[1].call.async = true; /* the scene's sign for https */
    expect(s, __LINE__, "https://h1:80/t", "{}");
    s = scene();
    s->steps[1].application = s->steps[1].task = NULL;
    s->steps[1].call.url = "http://rates.internal/${params.region}/load?a=b#part";
    s->steps[1].call.query = query;
    s->steps[1].call.query_count = 1;
    expect(s, __LINE__, "http://rates.internal/cn/load?a=b&q%20x=cn%20%26%20%E9%90%98", "{}");
    s->steps[1].call.url = "ftp://x/";
    expect_refused(s, __LINE__, STATUS_INVALID, "must begin with http:// or https://");
}

static void test_headers(void **state)
{
    (void)state;
    static struct name_value headers[] = {{"X-Region", "r ${params.region}"}, {"X-Empty", ""}};
    struct rendered_call call;
    struct error err;
    struct scene *s = scene();
    s->steps[1].call_set = true;
    s->steps[1].call.headers = headers;
    s->steps[1].call.header_count = 2;
    play(s, "\"a\\nb\"");
    assert_int_equal(render(s, &call, &err), STATUS_OK);
    assert_int_equal(call.header_count, 2);
    assert_string_equal(call.headers[0].name, "X-Region");
    assert_string_equal(call.headers[0].value, "r cn");
    assert_string_equal(call.headers[1].value, "");
    rendered_call_release(&call);
    static struct name_value split[] = {{"X-Good", "1"}, {"X-Bad", "${steps.a.result}"}};
    s->steps[1].call.headers = split;
    assert_int_equal(render(s, &call, &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, "header X-Bad holds a control character"));
    static struct name_value name[] = {{"X Bad:", "1"}};
    s->steps[1].call.headers = name;
    s->steps[1].call.header_count = 1;
    assert_int_equal(render(s, &call, &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, "no name of a header"));
    bench_release(&s->b);
}

static void test_faults(void **state)
{
    (void)state;
    struct scene *s = scene();
    s->steps[1].params = "{\"x\":\"${params.missing}\"}";
    expect_refused(s, __LINE__, STATUS_INVALID, "missing");
    s->steps[1].params = "{\"x\":\"${steps.a.result.none}\"}";
    expect_refused(s, __LINE__, STATUS_INVALID, "none");
    s->steps[1].params = "{\"x\":\"${steps.a.result.none ?? 5}\"}";
    expect(s, __LINE__, NULL, "{\"x\":5}");
}

/* Names and sizes are in the message, and nothing is begun. */
static void test_too_big(void **state)
{
    (void)state;
    struct scene *s = scene();
    struct run_effect effects[4];
    char *result = malloc(60000), params[1024] = "[";
    memset(result, 'x', 59999);
    result[0] = result[59997] = '"';
    result[59998] = '\0';
    for (int i = 0; i < 20; i++)
        (void)snprintf(params + strlen(params), sizeof params - strlen(params), "%s\"${steps.a.result}\"",
                       i ? "," : "");
    strcat(params, "]");
    s->steps[1].params = params;
    play(s, result);
    assert_true(bench_effects(&s->b, effects, 4) >= 1);
    assert_int_equal(effects[0].kind, EFFECT_STEP);
    assert_int_equal(effects[0].step.state, STEP_FAILED);
    assert_non_null(strstr(effects[0].step.error, "the request body is 1199981 bytes, allowed are 1048576"));
    assert_non_null(strstr(effects[0].step.error, "steps.a.result 59998"));
    bench_release(&s->b);
    free(result);
}

/* A condition that cannot be evaluated fails the step with the text. */
static void test_conditions(void **state)
{
    (void)state;
    static const struct {
        int line;
        const char *when, *effect;
    } cases[] = {
        {__LINE__, "${steps.a.result.rows == 1}", "attempt b n=1 try=1 h1:80"},
        {__LINE__, "${steps.a.result.rows > 1}", "step b skipped predecessors"},
        {__LINE__, "${steps.a.state == 'succeeded'}", "attempt b n=1 try=1 h1:80"},
        {__LINE__, "${steps.a.result.gone > 1}", "step b failed | condition after step a: "},
    };
    for (size_t i = 0; i < ROWS(cases); i++) {
        struct scene *s = scene();
        struct run_effect effects[4];
        char text[700];
        s->edge = (struct edge_spec){.from = 0, .on = EDGE_EXPRESSION, .when = cases[i].when};
        play(s, "{\"rows\":1}");
        assert_true(bench_effects(&s->b, effects, 4) >= 1);
        effect_text(&effects[0], text, sizeof text);
        if (strncmp(text, cases[i].effect, strlen(cases[i].effect)) != 0)
            fail_msg("line %d: %s", cases[i].line, text);
        bench_release(&s->b);
    }
}

/* Times that neither task nor step says are the settings', else built in. */
static void test_times(void **state)
{
    (void)state;
    struct scene *s = scene();
    struct error err;
    struct rendered_call call;
    play(s, "{}");
    for (int own = 0; own < 2; own++) {
        struct run_world world = bench_world(&s->b);
        struct attempt_row attempt = {.step = "b", .n = 1, .key_try = 1, .instance = "h1:80"};
        if (own)
            world.defaults = (struct call_defaults){.timeout = 7000, .connect_timeout = 300, .wait_timeout = 900};
        assert_int_equal(run_render(s->b.run, &attempt, &world, &call, &err), STATUS_OK);
        assert_int_equal(call.call.timeout, own ? 7000 : CALL_TIMEOUT_DEFAULT);
        assert_int_equal(call.call.connect_timeout, own ? 300 : CONNECT_TIMEOUT_DEFAULT);
        assert_int_equal(call.call.wait_timeout, own ? 900 : WAIT_TIMEOUT_DEFAULT);
        rendered_call_release(&call);
    }
    bench_release(&s->b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bodies), cmocka_unit_test(test_urls),    cmocka_unit_test(test_headers),
        cmocka_unit_test(test_faults), cmocka_unit_test(test_too_big), cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
