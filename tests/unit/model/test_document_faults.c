/* Documents that are refused: what is wrong, where, and in which words. */
#include "tests/unit/model/document_support.h"

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
    const struct CMUnitTest tests[] = {cmocka_unit_test(job_faults),         cmocka_unit_test(graph_faults),
                                       cmocka_unit_test(application_faults), cmocka_unit_test(frame_faults),
                                       cmocka_unit_test(all_faults_at_once), cmocka_unit_test(limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
