/* cmocka.h wants these before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
/* clang-format on */

#include "core/model/document.h"

#define ROWS(table) (sizeof(table) / sizeof *(table))

static struct document *parse(const char *json, enum document_kind kind, struct faults *faults)
{
    faults_init(faults);
    return document_parse(json, strlen(json), kind, faults);
}

/* With every default written out it must give the same model: the same text when that is done again. */
static void check_effective(const struct document *d)
{
    struct faults faults;
    struct str once, twice;
    str_init(&once, LIMIT_DOCUMENT);
    str_init(&twice, LIMIT_DOCUMENT);
    document_write_effective(d, &once);
    struct document *again = parse(str_text(&once), DOCUMENT_KINDS, &faults);
    for (size_t i = 0; i < faults.count; i++)
        print_error("effective %s: %s\n", faults.items[i].path, faults.items[i].text);
    assert_non_null(again);
    document_write_effective(again, &twice);
    assert_string_equal(str_text(&once), str_text(&twice));
    document_free(again);
    faults_release(&faults);
    str_release(&once);
    str_release(&twice);
}

/* Parses what must be right. */
static struct document *good(const char *json, enum document_kind kind)
{
    struct faults faults;
    struct document *d = parse(json, kind, &faults);
    for (size_t i = 0; i < faults.count; i++)
        print_error("%s: %s\n", faults.items[i].path, faults.items[i].text);
    assert_int_equal(faults.errors, 0);
    assert_non_null(d);
    faults_release(&faults);
    if (document_metadata(d)->name[0])
        check_effective(d);
    return d;
}

static struct document *good_job(const char *spec)
{
    char json[8192];
    (void)snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"j\"},\"spec\":%s}", spec);
    return good(json, DOCUMENT_JOB);
}

#define GRAPH "\"graph\":[{\"step\":\"a\",\"url\":\"http://h/x\"}]"

/* ---- faults -------------------------------------------------------------------------------------------------------
 */

struct bad {
    int line;
    const char *spec, *path, *text;
};

static void check_bad(enum document_kind kind, const struct bad *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char json[8192];
        struct faults faults;
        (void)snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"x\"},\"spec\":%s}", rows[i].spec);
        struct document *d = parse(json, kind, &faults);
        bool found = false;
        for (size_t f = 0; f < faults.count; f++)
            found |= !strcmp(faults.items[f].path, rows[i].path) && strstr(faults.items[f].text, rows[i].text);
        if (d || !found || faults.errors != 1) {
            print_error("line %d: %zu faults, expected one at %s: %s\n", rows[i].line, faults.errors, rows[i].path,
                        rows[i].text);
            for (size_t f = 0; f < faults.count; f++)
                print_error("    %s: %s\n", faults.items[f].path, faults.items[f].text);
            fail();
        }
        faults_release(&faults);
    }
}

static void job_faults(void **state)
{
    (void)state;
    static const struct bad rows[] = {
        {__LINE__, "{}", "spec.graph", "is missing"},
        {__LINE__, "{\"graph\":[]}", "spec.graph", "at least one step"},
        {__LINE__, "{\"graph\":{}}", "spec.graph", "at least one step"},
        {__LINE__, "{\"overlapp\":\"wait\"," GRAPH "}", "spec", "did you mean \"overlap\"?"},
        {__LINE__, "{\"overlap\":\"wat\"," GRAPH "}", "spec.overlap",
         "\"wat\" is none of wait, skip, allow, replace; did "
         "you mean \"wait\"?"},
        {__LINE__, "{\"timeout\":90," GRAPH "}", "spec.timeout", "a duration with its unit"},
        {__LINE__, "{\"timeout\":\"90\"," GRAPH "}", "spec.timeout", "is no duration"},
        {__LINE__, "{\"timeout\":\"0\"," GRAPH "}", "spec.timeout", "out of range"},
        {__LINE__, "{\"max_parallel\":0," GRAPH "}", "spec.max_parallel", "out of range"},
        {__LINE__, "{\"max_parallel\":1.5," GRAPH "}", "spec.max_parallel", "whole number"},
        {__LINE__, "{\"params\":[1]," GRAPH "}", "spec.params", "an object is expected, not a list"},
        {__LINE__, "{\"retry\":{\"jitter\":1.5}," GRAPH "}", "spec.retry.jitter", "0 to 1"},
        {__LINE__, "{\"retry\":{\"on\":[\"success\"]}," GRAPH "}", "spec.retry.on[0]", "no class to retry on"},
        {__LINE__, "{\"pool\":\"A b\"," GRAPH "}", "spec.pool", "is no name"},
        {__LINE__, "{\"triggers\":{}," GRAPH "}", "spec.triggers", "a list is expected"},
        {__LINE__, "{\"triggers\":[{}]," GRAPH "}", "spec.triggers[0]", "no kind"},
        {__LINE__, "{\"triggers\":[{\"every\":\"1s\",\"cron\":\"* * * * *\"}]," GRAPH "}", "spec.triggers[0]",
         "more than one kind"},
        {__LINE__, "{\"triggers\":[{\"every\":\"0\"}]," GRAPH "}", "spec.triggers[0].every", "out of range"},
        {__LINE__, "{\"triggers\":[{\"every\":\"1s\"},{\"every\":\"2s\"}]," GRAPH "}", "spec.triggers[1].name",
         "already there ([0])"},
        {__LINE__, "{\"triggers\":[{\"name\":\"manual-1\",\"every\":\"1s\"}]," GRAPH "}", "spec.triggers[0].name",
         "reserved"},
        {__LINE__, "{\"triggers\":[{\"at\":\"tomorrow\"}]," GRAPH "}", "spec.triggers[0].at", "RFC 3339"},
        {__LINE__,
         "{\"triggers\":[{\"every\":\"1s\",\"start\":\"2026-01-02T00:00:00Z\",\"end\":\"2026-01-01T00:00:00Z\"}]," GRAPH
         "}",
         "spec.triggers[0].end", "not later than start"},
        {__LINE__, "{\"triggers\":[{\"every\":\"1s\",\"priority\":10}]," GRAPH "}", "spec.triggers[0].priority",
         "0 to 9"},
        {__LINE__, "{\"triggers\":[{\"every\":\"1s\",\"dialect\":\"unix\"}]," GRAPH "}", "spec.triggers[0].dialect",
         "cron only"},
        {__LINE__, "{\"triggers\":[{\"delay\":\"1s\",\"align\":true}]," GRAPH "}", "spec.triggers[0].align",
         "every only"},
        {__LINE__, "{\"triggers\":[{\"every\":\"1s\",\"quiet\":\"22:00\"}]," GRAPH "}", "spec.triggers[0].quiet",
         "no quiet hours"},
        {__LINE__, "{\"triggers\":[{\"every\":\"1s\",\"quiet\":[\"22:00-06:00\",\"25:00-26:00\"]}]," GRAPH "}",
         "spec.triggers[0].quiet[1]", "no quiet hours"},
        {__LINE__, "{\"triggers\":[{\"every\":\"1s\",\"quiet\":\"00:00-24:00\"}]," GRAPH "}", "spec.triggers[0].quiet",
         "the whole day"},
        {__LINE__, "{\"triggers\":[{\"every\":\"1s\",\"calendar\":\"a\",\"calendars\":[\"b\"]}]," GRAPH "}",
         "spec.triggers[0].calendars", "both given"},
        {__LINE__, "{\"triggers\":[{\"every\":\"1s\",\"calendars\":[\"b\",\"b\"]}]," GRAPH "}",
         "spec.triggers[0].calendars[1]", "twice"},
        {__LINE__, "{\"triggers\":[{\"every\":\"1s\",\"dst\":{\"gap\":\"shfit\"}}]," GRAPH "}",
         "spec.triggers[0].dst.gap", "did you mean \"shift\"?"},
        {__LINE__, "{\"triggers\":[{\"every\":\"1s\",\"misfire\":\"none\"}]," GRAPH "}", "spec.triggers[0].misfire",
         "none of latest, skip, all"},
    };
    check_bad(DOCUMENT_JOB, rows, ROWS(rows));
}

#define STEP_A "{\"step\":\"a\",\"url\":\"http://h/\"}"

static void graph_faults(void **state)
{
    (void)state;
    static const struct bad rows[] = {
        {__LINE__, "{\"graph\":[{\"url\":\"http://h/\"}]}", "spec.graph[0].step", "is missing"},
        {__LINE__, "{\"graph\":[{\"step\":\"A\",\"url\":\"http://h/\"}]}", "spec.graph[0].step", "is no name"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\"}]}", "spec.graph[0]", "nothing to do"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"task\":\"x/y\",\"url\":\"http://h/\"}]}", "spec.graph[0]",
         "more than one thing to do"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"task\":\"x\"}]}", "spec.graph[0].task", "names no task"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"task\":\"x:y\"}]}", "spec.graph[0].task", "names no task"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"url\":\"ftp://h/\"}]}", "spec.graph[0].url", "http:// or https://"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"url\":\"http:///x\"}]}", "spec.graph[0].url", "needs a host"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"url\":\"http://u:p@h/x\"}]}", "spec.graph[0].url",
         "user or password"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"url\":\"http://h/a b\"}]}", "spec.graph[0].url", "white space"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"url\":\"http://h:0/\"}]}", "spec.graph[0].url", "malformed"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"url\":\"http://h/#f\"}]}", "spec.graph[0].url", "fragment"},
        {__LINE__, "{\"graph\":[" STEP_A "," STEP_A "]}", "spec.graph[1].step", "already there (spec.graph[0])"},
        {__LINE__,
         "{\"graph\":[" STEP_A ",{\"step\":\"c\",\"url\":\"http://h/\"},{\"step\":\"d\",\"url\":\"http://h/\","
         "\"after\":[\"b\"]}]}",
         "spec.graph[2].after[0]", "no step named \"b\""},
        {__LINE__,
         "{\"graph\":[{\"step\":\"extract\",\"url\":\"http://h/\"},{\"step\":\"d\",\"url\":\"http://h/\","
         "\"after\":[\"extrat\"]}]}",
         "spec.graph[1].after[0]", "did you mean \"extract\"?"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"url\":\"http://h/\",\"after\":\"a\"}]}", "spec.graph[0].after",
         "after itself"},
        {__LINE__, "{\"graph\":[" STEP_A ",{\"step\":\"b\",\"kind\":\"noop\",\"after\":[\"a\",\"a\"]}]}",
         "spec.graph[1].after[1]", "already a predecessor"},
        {__LINE__,
         "{\"graph\":[" STEP_A ",{\"step\":\"b\",\"kind\":\"noop\",\"after\":[{\"step\":\"a\",\"on\":\"succes\"}]}]}",
         "spec.graph[1].after[0].on", "did you mean \"success\"?"},
        {__LINE__,
         "{\"graph\":[" STEP_A ",{\"step\":\"b\",\"kind\":\"noop\",\"after\":[{\"step\":\"a\",\"when\":\"x\"}]}]}",
         "spec.graph[1].after[0].when", "must be one ${"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"kind\":\"approval\"}]}", "spec.graph[0].kind", "not available yet"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"kind\":\"noop\",\"timeout\":\"1s\"}]}", "spec.graph[0].timeout",
         "goes with a call only"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"wait\":\"1s\",\"params\":{}}]}", "spec.graph[0].params",
         "goes with a call only"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"url\":\"http://h/\",\"join\":\"some\"}]}", "spec.graph[0].join",
         "all, any"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"url\":\"http://h/\",\"method\":\"post\"}]}", "spec.graph[0].method",
         "none of GET, POST"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"url\":\"http://h/\",\"routing\":\"random\"}]}",
         "spec.graph[0].routing", "goes with task only"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"task\":\"x/y\",\"routing\":\"fixed\"}]}", "spec.graph[0].instance",
         "is missing"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"task\":\"x/y\",\"routing\":\"hash\"}]}", "spec.graph[0].hash_key",
         "is missing"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"task\":\"x/y\",\"shards\":2,\"routing\":\"random\"}]}",
         "spec.graph[0].shards", "routing: shard only"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"task\":\"x/y\",\"concurrency\":2}]}", "spec.graph[0].concurrency",
         "any other step makes one call"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"task\":\"x/y\",\"map\":[1],\"routing\":\"broadcast\"}]}",
         "spec.graph[0].routing", "makes a list of its own"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"map\":[1]}]}", "spec.graph[0]", "nothing to do"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"task\":\"x/y\",\"map\":[1],\"tolerate\":\"101%\"}]}",
         "spec.graph[0].tolerate", "how many items may fail"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"task\":\"x/y\",\"map\":[1],\"tolerate\":-1}]}",
         "spec.graph[0].tolerate", "how many items may fail"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"wait\":\"1s\",\"map\":[1]}]}", "spec.graph[0].map",
         "goes with a call only"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"task\":\"x/y\",\"envelope\":false}]}", "spec.graph[0].envelope",
         "does not undo"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"task\":\"x/y\",\"on_failure\":\"RETRY\"}]}",
         "spec.graph[0].on_failure", "none of stop, ignore, retry, transfer, retry_transfer"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"task\":\"x/y\",\"on_exhausted\":\"compensate:b\"}]}",
         "spec.graph[0].on_exhausted", "no step named \"b\""},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"task\":\"x/y\",\"on_exhausted\":\"go\"}]}",
         "spec.graph[0].on_exhausted", "none of stop, ignore"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"task\":\"x/y\",\"success_when\":\"sai\"}]}",
         "spec.graph[0].success_when", "none of auto, sia, http"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"task\":\"x/y\",\"headers\":{\"X-Carillon-Run\":\"1\"}}]}",
         "spec.graph[0].headers", "set by Carillon itself"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"task\":\"x/y\",\"headers\":{\"HOST\":\"1\"}}]}",
         "spec.graph[0].headers", "set by Carillon itself"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"task\":\"x/y\",\"headers\":{\"A B\":\"1\"}}]}",
         "spec.graph[0].headers", "no header name"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"task\":\"x/y\",\"headers\":{\"A\":\"1\\r\\nB: 2\"}}]}",
         "spec.graph[0].headers.A", "control characters"},
        {__LINE__, "{\"graph\":[{\"step\":\"a\",\"task\":\"x/y\",\"headers\":{\"Abc\":\"1\",\"aBC\":\"2\"}}]}",
         "spec.graph[0].headers", "given twice"},
        {__LINE__, "{\"graph\":[{\"serial\":[]}]}", "spec.graph", "at least one step"},
        {__LINE__, "{\"graph\":[" STEP_A ",{\"serial\":[]}]}", "spec.graph[1].serial", "at least one step"},
        {__LINE__,
         "{\"graph\":[{\"serial\":[" STEP_A ",{\"parallel\":[{\"step\":\"b\",\"kind\":\"noop\",\"afer\":[]}]}]}]}",
         "spec.graph[0].serial[1].parallel[0]", "did you mean \"after\"?"},
        {__LINE__, "{\"graph\":[{\"serial\":[" STEP_A "],\"parallel\":[{\"step\":\"b\",\"kind\":\"noop\"}]}]}",
         "spec.graph[0]", "not both"},
        {__LINE__, "{\"graph\":[{\"serial\":[" STEP_A "],\"after\":[\"zzz\"]}]}", "spec.graph[0].after[0]",
         "no step named \"zzz\""},
        {__LINE__, "{\"graph\":[7]}", "spec.graph[0]", "an object is expected, not a number"},
    };
    check_bad(DOCUMENT_JOB, rows, ROWS(rows));
}

static void application_faults(void **state)
{
    (void)state;
    static const struct bad rows[] = {
        {__LINE__, "{\"instances\":\"h:1\"}", "spec.instances", "a list is expected"},
        {__LINE__, "{\"instances\":[\"h\"]}", "spec.instances[0]", "not host:port"},
        {__LINE__, "{\"instances\":[\"h:1\",\"h:70000\"]}", "spec.instances[1]", "not host:port"},
        {__LINE__, "{\"instances\":[\"2001:db8::1:80\"]}", "spec.instances[0]", "not host:port"},
        {__LINE__, "{\"instances\":[\"h:1\",\"h:1\"]}", "spec.instances[1]", "given twice"},
        {__LINE__, "{\"tasks\":[{\"name\":\"a\"}]}", "spec.tasks[0].path", "is missing"},
        {__LINE__, "{\"tasks\":[{\"path\":\"/a\"}]}", "spec.tasks[0].name", "is missing"},
        {__LINE__, "{\"tasks\":[{\"name\":\"a\",\"path\":\"a\"}]}", "spec.tasks[0].path", "no path"},
        {__LINE__, "{\"tasks\":[{\"name\":\"a\",\"path\":\"/a\"},{\"name\":\"a\",\"path\":\"/b\"}]}", "spec.tasks[1]",
         "already there"},
        {__LINE__, "{\"tasks\":[{\"name\":\"a\",\"path\":\"/a\",\"repeat\":\"nevr\"}]}", "spec.tasks[0].repeat",
         "did you mean \"never\"?"},
        {__LINE__, "{\"tasks\":[{\"name\":\"a\",\"path\":\"/a\",\"serial\":true,\"concurrency\":2}]}",
         "spec.tasks[0].concurrency", "once at a time"},
        {__LINE__, "{\"tls\":\"yes\"}", "spec.tls", "true or false"},
    };
    static const struct bad calendars[] = {
        {__LINE__, "{\"exclude\":{\"weekly\":[\"FRY\"]}}", "spec.exclude.weekly[0]", "no weekday"},
        {__LINE__, "{\"exclude\":{\"dates\":[\"2026-02-30\"]}}", "spec.exclude.dates[0]", "no date"},
        {__LINE__, "{\"exclude\":{\"dates\":[\"2026-02-03..2026-02-01\"]}}", "spec.exclude.dates[0]",
         "before it begins"},
        {__LINE__, "{\"exclude\":{\"annual\":[\"2026-02-03\"]}}", "spec.exclude.annual[0]", "no day of the year"},
        {__LINE__, "{\"exclude\":{\"weekly\":[\"SUN\",\"MON\",\"TUE\",\"WED\",\"THU\",\"FRI\",\"SAT\"]}}",
         "spec.exclude.weekly", "nothing could ever fire"},
    };
    check_bad(DOCUMENT_APPLICATION, rows, ROWS(rows));
    check_bad(DOCUMENT_CALENDAR, calendars, ROWS(calendars));
}

static void all_faults_at_once(void **state)
{
    (void)state;
    static const char json[] =
        "{\"apiVersion\":\"carillon/v2\",\"kind\":\"Job\",\"metadata\":{\"name\":\"A\",\"ower\":\"x\"},"
        "\"spec\":{\"overlap\":\"no\",\"timeout\":\"soon\",\"triggers\":[{\"name\":\"t\"},{\"cron\":\"\"}],"
        "\"graph\":[{\"step\":\"a\",\"after\":[\"q\"]},{\"step\":\"b\",\"url\":\"x\"}]}}";
    static const char *const paths[] = {
        "apiVersion",       "metadata.name",         "metadata",      "spec.overlap",      "spec.timeout",
        "spec.triggers[0]", "spec.triggers[1].cron", "spec.graph[0]", "spec.graph[1].url", "spec.graph[0].after[0]"};
    struct faults faults;
    assert_null(parse(json, DOCUMENT_KINDS, &faults));
    for (size_t i = 0; i < ROWS(paths); i++) {
        bool found = false;
        for (size_t f = 0; f < faults.count; f++)
            found |= !strcmp(faults.items[f].path, paths[i]);
        if (!found)
            fail_msg("no fault at %s", paths[i]);
    }
    assert_int_equal(faults.errors, ROWS(paths));
    faults_release(&faults);
}

static void frame_faults(void **state)
{
    (void)state;
    static const struct {
        int line;
        const char *json, *path, *text;
    } rows[] = {
        {__LINE__, "", "", "the text is empty"},
        {__LINE__, "{", "", "line 1, column 2"},
        {__LINE__, "[]", "", "an object is expected"},
        {__LINE__, "{\"apiVersion\":\"carillon/v1\"}", "kind", "is missing"},
        {__LINE__, "{\"kind\":\"Project\",\"metadata\":{\"name\":\"p\"}}", "apiVersion", "is missing"},
        {__LINE__, "{\"apiVersion\":\"carillon/v1\",\"kind\":\"Jop\"}", "kind", "did you mean \"Job\"?"},
        {__LINE__, "{\"apiVersion\":\"carillon/v1\",\"kind\":\"Project\"}", "metadata.name", "is missing"},
        {__LINE__,
         "{\"apiVersion\":\"carillon/v1\",\"kind\":\"Project\",\"metadata\":{\"name\":\"p\",\"project\":\"q\"}}",
         "metadata.project", "belongs to no project"},
        {__LINE__,
         "{\"apiVersion\":\"carillon/v1\",\"kind\":\"Project\",\"metadata\":{\"name\":\"p\",\"owner\":\"a\\u0000\"}}",
         "", "U+0000"},
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct faults faults;
        struct document *d = parse(rows[i].json, DOCUMENT_KINDS, &faults);
        if (d || faults.errors != 1 || strcmp(faults.items[0].path, rows[i].path) != 0 ||
            !strstr(faults.items[0].text, rows[i].text))
            fail_msg("line %d: %s: %s", rows[i].line, faults.count ? faults.items[0].path : "-",
                     faults.count ? faults.items[0].text : "-");
        faults_release(&faults);
    }
    struct faults faults;
    assert_null(parse("{\"kind\":\"Job\",\"spec\":{" GRAPH "}}", DOCUMENT_CALENDAR, &faults));
    assert_string_equal(faults.items[0].path, "kind");
    faults_release(&faults);
}

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

static void limits(void **state)
{
    (void)state;
    struct str json;
    struct faults faults;
    str_init(&json, LIMIT_DOCUMENT);
    str_add(&json, "{\"spec\":{\"graph\":[");
    for (int i = 0; i < LIMIT_STEPS + 1; i++)
        str_addf(&json, "%s{\"step\":\"s%d\",\"kind\":\"noop\"}", i ? "," : "", i);
    str_add(&json, "]}}");
    assert_null(parse(str_text(&json), DOCUMENT_JOB, &faults));
    assert_int_equal(faults.errors, 1);
    assert_non_null(strstr(faults.items[0].text, "too many steps: 1001"));
    faults_release(&faults);
    str_clear(&json);
    str_add(&json, "{\"spec\":{\"graph\":[{\"serial\":["); /* 500 × 500 edges */
    for (int block = 0; block < 2; block++) {
        str_add(&json, block ? "]},{\"parallel\":[" : "{\"parallel\":[");
        for (int i = 0; i < 500; i++)
            str_addf(&json, "%s{\"step\":\"s%d-%d\",\"kind\":\"noop\"}", i ? "," : "", block, i);
    }
    str_add(&json, "]}]}]}}");
    assert_null(parse(str_text(&json), DOCUMENT_JOB, &faults));
    assert_int_equal(faults.errors, 1);
    assert_non_null(strstr(faults.items[0].text, "too many edges"));
    faults_release(&faults);
    str_release(&json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_faults),      cmocka_unit_test(graph_faults), cmocka_unit_test(application_faults),
        cmocka_unit_test(frame_faults),    cmocka_unit_test(job_defaults), cmocka_unit_test(all_faults_at_once),
        cmocka_unit_test(trigger_members), cmocka_unit_test(edges),        cmocka_unit_test(blocks),
        cmocka_unit_test(step_calls),      cmocka_unit_test(other_kinds),  cmocka_unit_test(round_trip),
        cmocka_unit_test(limits),          cmocka_unit_test(effective),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
