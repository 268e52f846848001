/* Documents that are right: what is read of them, and what is written. Refused ones: test_document_faults.c. */
#include "tests/unit/model/document_support.h"

/* ---- what is read -------------------------------------------------------------------------------------------------
 */

static void job_defaults(void **state)
{
    (void)state;
    struct document *d = good("{\"spec\":{" GRAPH ",\"triggers\":[{\"every\":\"90s\"}]}}", DOCUMENT_JOB);
    const struct job_spec *job = &d->job;
    assert_string_equal(job->meta.name, "");
    assert_string_equal(job->meta.project, "default");
    assert_int_equal(job->overlap, OVERLAP_WAIT);
    assert_int_equal(job->max_parallel, 16);
    assert_int_equal(job->timeout, 24 * SPAN_HOUR);
    assert_int_equal(job->max_in_flight, 64);
    assert_int_equal(job->retry.max, 0);
    assert_null(job->params);
    assert_int_equal(job->step_count, 1);
    assert_null(job->steps[0].application);
    assert_string_equal(job->steps[0].call.url, "http://h/x");
    assert_int_equal(job->steps[0].on_failure, FAILURE_STOP);
    assert_int_equal(job->steps[0].retry.max, 0);
    const struct trigger_spec *t = &job->triggers[0];
    assert_string_equal(t->name, "default");
    assert_int_equal(t->kind, TRIGGER_EVERY);
    assert_int_equal(t->period, 90000);
    assert_int_equal(t->priority, 5);
    assert_int_equal(t->misfire, MISFIRE_LATEST);
    assert_int_equal(t->misfire_max, 100);
    assert_int_equal(t->misfire_threshold, -1);
    assert_int_equal(t->max_age, 12 * SPAN_HOUR);
    assert_true(instant_is_none(t->start) && instant_is_none(t->end));
    struct call_spec call = call_spec_resolve(NULL, &job->steps[0]);
    assert_string_equal(call.method, "POST");
    assert_int_equal(call.timeout, SPAN_HOUR);
    assert_int_equal(call.connect_timeout, 5 * SPAN_SECOND);
    assert_int_equal(call.wait_timeout, 10 * SPAN_MINUTE);
    assert_int_equal(call.repeat, REPEAT_SAME_INSTANCE);
    document_free(d);
}

static void trigger_members(void **state)
{
    (void)state;
    struct document *d = good_job(
        "{" GRAPH ",\"triggers\":["
        "{\"name\":\"n\",\"cron\":\"0 30 2 * * ?\",\"dialect\":\"quartz\",\"timezone\":\"Asia/Shanghai\","
        "\"dst\":{\"gap\":\"skip\",\"overlap\":\"both\"},\"start\":\"2026-01-01T00:00:00Z\",\"end\":\"2027-01-01T00:00:00Z\","
        "\"max_fires\":7,\"calendars\":[\"a\",\"b\"],\"quiet\":\"22:00-06:00, 12:00-13:30\",\"jitter\":\"5s\",\"priority\":9,"
        "\"misfire\":\"all\",\"misfire_max\":3,\"misfire_threshold\":\"5s\",\"max_age\":\"1h\",\"params\":{\"b\": 1, \"a\":2},"
        "\"paused\":true},"
        "{\"name\":\"d\",\"delay\":\"10m\",\"quiet\":[\"23:00-24:00\",\"00:00-01:30:15\"],\"calendar\":\"c\"},"
        "{\"name\":\"o\",\"at\":\"2026-03-08T02:30:00+08:00\"},{\"name\":\"e\",\"every\":\"1h30m\",\"align\":true}]}");
    const struct trigger_spec *t = d->job.triggers;
    assert_int_equal(d->job.trigger_count, 4);
    assert_string_equal(t[0].cron, "0 30 2 * * ?");
    assert_int_equal(t[0].dialect, CRON_QUARTZ);
    assert_int_equal(t[0].dst_gap, DST_GAP_SKIP);
    assert_int_equal(t[0].dst_overlap, DST_OVERLAP_BOTH);
    assert_int_equal(t[0].calendar_count, 2);
    assert_string_equal(t[0].calendars[1], "b");
    assert_int_equal(t[0].quiet_count, 2);
    assert_int_equal(t[0].quiet[0].start, 22 * SPAN_HOUR);
    assert_int_equal(t[0].quiet[0].end, 6 * SPAN_HOUR);
    assert_int_equal(t[0].quiet[1].end, 13 * SPAN_HOUR + 30 * SPAN_MINUTE);
    assert_string_equal(t[0].params, "{\"b\":1,\"a\":2}");
    assert_true(t[0].paused);
    assert_int_equal(t[0].misfire_threshold, 5000);
    assert_int_equal(t[1].kind, TRIGGER_DELAY);
    assert_int_equal(t[1].period, 600000);
    assert_int_equal(t[1].quiet[0].end, 24 * SPAN_HOUR);
    assert_int_equal(t[1].quiet[1].end, SPAN_HOUR + 30 * SPAN_MINUTE + 15 * SPAN_SECOND);
    assert_string_equal(t[1].calendars[0], "c");
    assert_int_equal(t[2].kind, TRIGGER_AT);
    assert_int_equal(t[2].at.ms, 1772908200000);
    assert_true(t[3].align);
    document_free(d);
}

static void edges(void **state)
{
    (void)state;
    struct document *d = good_job(
        "{\"graph\":[{\"step\":\"a\",\"task\":\"app/x\"},{\"step\":\"b\",\"task\":\"app:/raw/Path\",\"after\":\"a\","
        "\"on\":\"failure\"},{\"step\":\"c\",\"kind\":\"noop\",\"after\":[{\"step\":\"a\",\"on\":\"always\"},"
        "{\"step\":\"b\",\"when\":\"${steps.b.result > 0}\"}],\"join\":1,\"cancel_rest\":true},"
        "{\"step\":\"d\",\"wait\":\"10s\",\"after\":[\"a\",\"b\"],\"when\":\"${params.x}\",\"join\":\"any\"}]}");
    const struct step_spec *s = d->job.steps;
    assert_string_equal(s[0].application, "app");
    assert_string_equal(s[0].task, "x");
    assert_string_equal(s[1].task, "/raw/Path");
    assert_false(s[0].call_set);
    assert_int_equal(s[1].after[0].on, EDGE_FAILURE);
    assert_int_equal(s[1].after[0].from, 0);
    assert_int_equal(s[2].kind, STEP_NOOP);
    assert_int_equal(s[2].after_count, 2);
    assert_int_equal(s[2].after[0].on, EDGE_ALWAYS);
    assert_int_equal(s[2].after[1].on, EDGE_EXPRESSION);
    assert_string_equal(s[2].after[1].when, "${steps.b.result > 0}");
    assert_int_equal(s[2].join, JOIN_N);
    assert_int_equal(s[2].join_n, 1);
    assert_true(s[2].cancel_rest);
    assert_int_equal(s[3].kind, STEP_WAIT);
    assert_int_equal(s[3].wait, 10000);
    assert_int_equal(s[3].join, JOIN_ANY);
    assert_int_equal(s[3].after[1].on, EDGE_EXPRESSION);
    document_free(d);
}

/* a → (b ∥ (c → d)) → e, and x before the whole block. */
static void blocks(void **state)
{
    (void)state;
    struct document *d = good_job(
        "{\"graph\":[{\"step\":\"x\",\"kind\":\"noop\"},{\"after\":[\"x\"],\"serial\":[{\"step\":\"a\",\"kind\":\"noop\"},"
        "{\"parallel\":[{\"step\":\"b\",\"kind\":\"noop\"},{\"serial\":[{\"step\":\"c\",\"kind\":\"noop\"},"
        "{\"step\":\"d\",\"kind\":\"noop\",\"on\":\"always\"}]}]},{\"step\":\"e\",\"kind\":\"noop\"}]}]}");
    static const struct {
        size_t count, from[2];
    } expected[] = {{0, {0, 0}}, {1, {0, 0}}, {1, {1, 0}}, {1, {1, 0}}, {1, {3, 0}}, {2, {2, 4}}};
    assert_int_equal(d->job.step_count, 6);
    for (size_t i = 0; i < 6; i++) {
        const struct step_spec *s = &d->job.steps[i];
        assert_int_equal(s->after_count, expected[i].count);
        for (size_t j = 0; j < s->after_count; j++)
            assert_int_equal(s->after[j].from, expected[i].from[j]);
    }
    assert_int_equal(d->job.steps[4].after[0].on, EDGE_ALWAYS);
    document_free(d);
}

static void step_calls(void **state)
{
    (void)state;
    struct document *d = good_job(
        "{\"graph\":[{\"step\":\"a\",\"task\":\"x/y\",\"method\":\"GET\",\"headers\":{\"X-B\":\"2\",\"X-A\":\"${params.q}\"},"
        "\"query\":{\"n\":12345678901234567890},\"timeout\":\"5s\",\"success_when\":\"${body.ok}\",\"repeat\":\"never\","
        "\"on_failure\":\"MULTI_CALLS_TRANSFER\",\"on_exhausted\":\"compensate:b\",\"params\":{\"big\": 123456789012345678901234567890},"
        "\"instance\":\"[::1]:80\"},"
        "{\"step\":\"b\",\"task\":\"x/z\",\"retry\":{\"max\":5,\"delay\":\"1s\",\"backoff\":\"exponential\",\"max_delay\":\"1m\","
        "\"jitter\":0.25,\"on\":[\"timeout\",\"http_5xx\"],\"max_elapsed\":\"1h\"},\"hash_key\":\"${params.c}\"}]}");
    const struct step_spec *s = d->job.steps;
    assert_true(s[0].call_set);
    assert_string_equal(s[0].call.headers[0].name, "X-B");
    assert_string_equal(s[0].call.query[0].value, "12345678901234567890");
    assert_string_equal(s[0].params, "{\"big\":123456789012345678901234567890}");
    assert_int_equal(s[0].call.success, SUCCESS_EXPRESSION);
    assert_int_equal(s[0].on_failure, FAILURE_RETRY_TRANSFER);
    assert_int_equal(s[0].retry.max, 3);
    assert_int_equal(s[0].on_exhausted, EXHAUSTED_COMPENSATE);
    assert_int_equal(s[0].compensate, 1);
    assert_int_equal(s[0].routing, ROUTE_FIXED);
    assert_int_equal(s[1].on_failure, FAILURE_RETRY);
    assert_int_equal(s[1].retry.max, 5);
    assert_int_equal(s[1].retry.on, 1U << CALL_TIMEOUT | 1U << CALL_HTTP_5XX);
    assert_true(s[1].retry.jitter > 0.2499 && s[1].retry.jitter < 0.2501);
    assert_int_equal(s[1].routing, ROUTE_HASH);
    assert_string_equal(s[1].instance, "${params.c}");

    struct call_spec task = {.method = "PUT",
                             .path = "/p",
                             .timeout = 1,
                             .connect_timeout = 2,
                             .wait_timeout = -1,
                             .repeat = REPEAT_ANYWHERE,
                             .envelope = true,
                             .serial = true};
    struct call_spec call = call_spec_resolve(&task, &s[0]);
    assert_string_equal(call.method, "GET");
    assert_string_equal(call.path, "/p");
    assert_int_equal(call.timeout, 5000);
    assert_int_equal(call.connect_timeout, 2);
    assert_int_equal(call.repeat, REPEAT_NEVER);
    assert_int_equal(call.concurrency, 1);
    assert_true(call.envelope);
    document_free(d);
}

static void other_kinds(void **state)
{
    (void)state;
    struct document *d = good(
        "{\"apiVersion\":\"carillon/v1\",\"kind\":\"Application\",\"metadata\":{\"project\":\"shop\","
        "\"name\":\"ledger\",\"labels\":{\"z\":\"1\",\"a\":2}},\"spec\":{\"instances\":[\"127.0.0.1:9001\","
        "\"[2001:db8::7]:9002\"],\"dns\":\"l.svc:9000\",\"tls\":true,\"tasks\":[{\"name\":\"extract\",\"path\":"
        "\"/extract\",\"timeout\":\"10m\"},{\"name\":\"post\",\"path\":\"/post?a=${params.b ?? 1}\",\"repeat\":\"never\","
        "\"serial\":true}]}}",
        DOCUMENT_KINDS);
    assert_int_equal(d->kind, DOCUMENT_APPLICATION);
    assert_string_equal(d->application.meta.project, "shop");
    assert_string_equal(d->application.meta.labels[1].value, "2");
    assert_int_equal(d->application.instance_count, 2);
    assert_true(d->application.tls);
    assert_int_equal(d->application.tasks[0].call.timeout, 600000);
    assert_string_equal(d->application.tasks[0].call.method, "POST");
    assert_true(d->application.tasks[1].call.serial);
    document_free(d);

    d = good(
        "{\"apiVersion\":\"carillon/v1\",\"kind\":\"Calendar\",\"metadata\":{\"name\":\"cn\",\"description\":\"日历\"},\"spec\":"
        "{\"exclude\":{\"weekly\":[\"SAT\",\"sunday\"],\"dates\":[\"2026-10-01..2026-10-08\",\"2026-12-25\"],"
        "\"annual\":[\"--10-01\",\"12-30..01-02\",\"02-29\"]},\"include\":{\"dates\":\"2026-10-10\"}}}",
        DOCUMENT_KINDS);
    const struct calendar_spec *c = &d->calendar;
    assert_string_equal(c->name, "cn");
    assert_string_equal(c->project, "default");
    assert_string_equal(document_metadata(d)->description, "日历");
    assert_int_equal(c->weekly, 1 << 6 | 1);
    assert_int_equal(c->excluded_count, 2);
    assert_int_equal(c->excluded[0].last.day, 8);
    assert_int_equal(c->annual_count, 4);
    assert_int_equal(c->annual[1].last.month, 12);
    assert_int_equal(c->annual[2].first.day, 1);
    assert_int_equal(c->included[0].first.day, 10);
    document_free(d);

    d = good("{\"kind\":\"Project\",\"metadata\":{\"name\":\"shop\"}}", DOCUMENT_PROJECT);
    assert_string_equal(d->project.timezone, "UTC");
    assert_null(d->project.meta.project);
    document_free(d);
}

/* ---- writing ------------------------------------------------------------------------------------------------------
 */

static void round_trip(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "{\"apiVersion\":\"carillon/v1\",\"kind\":\"Job\",\"metadata\":{\"project\":\"p\",\"name\":\"j\",\"display_name\":\"a\\\"b\\n\","
        "\"description\":\"\\u65e5\\u7ed3 \\ud83d\\ude00\",\"owner\":\"o\",\"labels\":{\"x\":\"1\"}},\"spec\":{ \"params\" : {\"n\":1e400,\"m\":"
        "0.10,\"s\":\"\\u0041\"} ," GRAPH "}}",
        "{\"apiVersion\":\"carillon/v1\",\"kind\":\"Project\",\"metadata\":{\"name\":\"p\"},\"spec\":{\"timezone\":\"Europe/Paris\"}}",
        "{\"apiVersion\":\"carillon/v1\",\"kind\":\"Calendar\",\"metadata\":{\"name\":\"c\"},\"spec\":{\"exclude\":{\"weekly\":[\"SAT\"]}}}",
        "{\"apiVersion\":\"carillon/v1\",\"kind\":\"Application\",\"metadata\":{\"name\":\"a\"}}",
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct str first, second;
        str_init(&first, LIMIT_DOCUMENT);
        str_init(&second, LIMIT_DOCUMENT);
        struct document *d = good(rows[i], DOCUMENT_KINDS);
        document_write(d, &first);
        struct document *again = good(str_text(&first), DOCUMENT_KINDS);
        document_write(again, &second);
        assert_string_equal(str_text(&first), str_text(&second));
        assert_string_equal(d->spec_json, again->spec_json);
        if (i == 0) {
            assert_string_equal(d->job.params, "{\"n\":1e400,\"m\":0.10,\"s\":\"\\u0041\"}");
            assert_string_equal(again->job.meta.description, "日结 😀");
        }
        document_free(d);
        document_free(again);
        str_release(&first);
        str_release(&second);
    }
}

/* Defaults are told; blocks, SIA's names and units come in one spelling. */
static void effective(void **state)
{
    (void)state;
    struct str text;
    str_init(&text, LIMIT_DOCUMENT);
    struct document *d = good(
        "{\"metadata\":{\"name\":\"j\"},\"spec\":{\"triggers\":[{\"cron\":\"0 2 * * *\",\"quiet\":\"22:00-24:00\"}],"
        "\"graph\":[{\"serial\":[{\"step\":\"a\",\"url\":\"http://h/\"},{\"step\":\"b\",\"task\":\"x:/y\","
        "\"on_failure\":\"MULTI_CALLS\",\"timeout\":\"90s\"}]}]}}",
        DOCUMENT_JOB);
    document_write_effective(d, &text);
    assert_string_equal(
        str_text(&text),
        "{\"apiVersion\":\"carillon/v1\",\"kind\":\"Job\",\"metadata\":{\"project\":\"default\",\"name\":\"j\"},\"spec\":{"
        "\"triggers\":[{\"name\":\"default\",\"cron\":\"0 2 * * *\",\"dialect\":\"auto\",\"dst\":{\"gap\":\"auto\",\"overlap\":"
        "\"auto\"},\"max_fires\":0,\"quiet\":[\"22:00:00-24:00:00\"],\"jitter\":\"0s\",\"priority\":5,\"misfire\":\"latest\","
        "\"misfire_max\":100,\"max_age\":\"12h\",\"paused\":false}],\"overlap\":\"wait\",\"max_parallel\":16,\"timeout\":\"1d\","
        "\"max_consecutive_failures\":0,\"max_in_flight\":64,\"capture\":\"head\",\"graph\":[{\"step\":\"a\",\"kind\":\"http\","
        "\"url\":\"http://h/\",\"method\":\"POST\",\"timeout\":\"1h\",\"connect_timeout\":\"5s\",\"wait_timeout\":\"10m\","
        "\"repeat\":\"same_instance\",\"success_when\":\"auto\",\"on_failure\":\"stop\",\"on_exhausted\":\"stop\"},"
        "{\"step\":\"b\",\"kind\":\"http\",\"after\":[{\"step\":\"a\",\"on\":\"success\"}],\"join\":\"all\",\"cancel_rest\":false,"
        "\"task\":\"x:/y\",\"routing\":\"round_robin\",\"timeout\":\"1m30s\",\"on_failure\":\"retry\",\"retry\":{\"max\":3,\"delay\":"
        "\"5s\",\"backoff\":\"fixed\",\"max_delay\":\"10m\",\"jitter\":0.000000,\"max_elapsed\":\"0s\"},\"on_exhausted\":\"stop\"}]}}");
    document_free(d);
    str_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_defaults), cmocka_unit_test(trigger_members), cmocka_unit_test(edges),
        cmocka_unit_test(blocks),       cmocka_unit_test(step_calls),      cmocka_unit_test(other_kinds),
        cmocka_unit_test(round_trip),   cmocka_unit_test(effective),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
