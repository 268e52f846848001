/* What is said of a bad document, in Chinese: every row of the catalogue is reachable and whole, and nothing English is
 * left of the faults that a slip of the pen makes. */
#include <stdio.h>
#include <string.h>

#include "core/base/str.h"
#include "orchestrator/wording.h"
#include "tests/orchestrator/fixture.h"

static const char *const chinese[] = {"Accept-Language: zh", NULL};

/* ---- the catalogue itself ---- */

/* The text with 7 at every hole ("{}" or "{1}"); the number of holes, or the highest of them. */
static size_t fill_with_seven(const char *text, struct str *ret)
{
    size_t holes = 0;
    for (const char *p = text; *p; p++) {
        size_t length = !strncmp(p, "{}", 2) ? 2 : p[0] == '{' && p[1] >= '1' && p[1] <= '9' && p[2] == '}' ? 3 : 0;
        if (!length) {
            str_add_bytes(ret, p, 1);
            continue;
        }
        size_t number = length == 2 ? holes + 1 : (size_t)(p[1] - '0');
        holes = number > holes ? number : holes;
        str_add(ret, "7");
        p += length - 1;
    }
    return holes;
}

static void test_every_row_is_reached(void **state)
{
    int bad = 0;
    (void)state;
    for (size_t i = 0; i < wording_count; i++) {
        struct str english, wanted, got;
        str_init(&english, 2000);
        str_init(&wanted, 2000);
        str_init(&got, 2000);
        size_t holes = fill_with_seven(wordings[i].english, &english);
        size_t named = fill_with_seven(wordings[i].chinese, &wanted);
        bool known = wording_add(str_text(&english), LANGUAGE_ZH, &got);
        if (!known || named > holes || strcmp(str_text(&wanted), str_text(&got)) != 0) {
            print_error("%s\n  -> %s\n", wordings[i].english, str_text(&got));
            bad++;
        }
        str_release(&english);
        str_release(&wanted);
        str_release(&got);
    }
    assert_int_equal(bad, 0);
}

static void expect_text(const char *english, enum language language, const char *wanted)
{
    struct str got;
    str_init(&got, 2000);
    (void)wording_add(english, language, &got);
    assert_string_equal(str_text(&got), wanted);
    str_release(&got);
}

static void test_words_of_the_user_stay(void **state)
{
    (void)state;
    expect_text("unknown member \"a list\"", LANGUAGE_ZH, "未知成员“a list”");
    expect_text("a text is expected, not a list", LANGUAGE_ZH, "应为文本,而不是列表");
    expect_text("a text is expected, not a list", LANGUAGE_EN, "a text is expected, not a list");
    expect_text("nobody has said this before", LANGUAGE_ZH, "nobody has said this before");
    expect_text("", LANGUAGE_ZH, "");
    expect_text("\"", LANGUAGE_ZH, "\"");
    expect_text("\"{1}\" is no duration; write a number with a unit: 250ms, 90s, 10m, 1h30m, 7d", LANGUAGE_ZH,
                "“{1}”不是时长;请写带单位的数字:250ms、90s、10m、1h30m、7d");
}

/* ---- bad documents ---- */

/* Four English words in a row, outside of quotes of either kind and `code`. */
static bool has_prose(const char *text)
{
    int words = 0;
    bool quoted = false, in_word = false;
    for (const char *p = text; *p; p++) {
        if (*p == '"' || *p == '`' || !strncmp(p, "“", 3) || !strncmp(p, "”", 3)) {
            quoted = !quoted;
            words = 0;
            in_word = false;
            continue;
        }
        bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z');
        if (quoted || (!letter && *p != ' '))
            words = 0;
        else if (letter && !in_word && ++words == 4)
            return true;
        in_word = letter;
    }
    return false;
}

static bool has_chinese(const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        if (*p >= 0xe4 && *p <= 0xe9)
            return true;
    return false;
}

/* The number of faults told; `ret_bad` counts those that are not Chinese. */
static int read_details(const char *document, const cJSON *details, int *ret_bad)
{
    const cJSON *detail;
    int count = 0;
    cJSON_ArrayForEach(detail, details) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(detail, "message");
        const char *message = cJSON_IsString(item) ? item->valuestring : "";
        count++;
        if (has_chinese(message) && !has_prose(message))
            continue;
        print_error("%s\n  -> %s\n", document, message);
        (*ret_bad)++;
    }
    return count;
}

#define GRAPH "\"graph\":[{\"step\":\"a\",\"url\":\"http://h/\"}]"
#define TRIGGER(text) "{\"spec\":{" GRAPH ",\"triggers\":[{" text "}]}}"
#define STEP(text) "{\"spec\":{\"graph\":[{\"step\":\"a\"," text "}]}}"
#define JOB(text) "{\"spec\":{" text "}}"

static const char *const bad_jobs[] = {
    /* form, members, types, ranges */
    "[]",
    "{\"spec\":7}",
    "{\"spec\":{}}",
    "{\"apiVersion\":\"v9\",\"spec\":{" GRAPH "}}",
    "{\"kind\":\"Jbo\",\"spec\":{" GRAPH "}}",
    "{\"kind\":\"Calendar\",\"spec\":{" GRAPH "}}",
    "{\"metadata\":{\"name\":\"other\",\"project\":7},\"spec\":{" GRAPH "}}",
    "{\"metadata\":{\"nmae\":\"x\",\"labels\":[]},\"spec\":{" GRAPH "}}",
    JOB(GRAPH ",\"timeuot\":\"5m\""),
    JOB(GRAPH ",\"colour\":\"red\""),
    JOB(GRAPH ",\"timeout\":5"),
    JOB(GRAPH ",\"timeout\":\"5 parsecs\""),
    JOB(GRAPH ",\"timeout\":\"90000d\""),
    JOB(GRAPH ",\"timeout\":\"999999999999999999d\""),
    JOB(GRAPH ",\"max_in_flight\":0"),
    JOB(GRAPH ",\"max_in_flight\":\"many\""),
    JOB(GRAPH ",\"overlap\":\"foribd\""),
    JOB(GRAPH ",\"overlap\":\"perhaps\""),
    JOB(GRAPH ",\"params\":[]"),
    JOB(GRAPH ",\"triggers\":{\"cron\":7}"),
    JOB("\"graph\":[]"),
    JOB("\"graph\":{}"),
    JOB("\"graph\":[7]"),
    /* steps */
    STEP("\"url\":\"ftp://h/\""),
    STEP("\"url\":\"http://u:p@h/\""),
    STEP("\"url\":\"http://h/#x\""),
    STEP("\"url\":\"http://\""),
    STEP("\"url\":\"http://h:99999999/\""),
    STEP("\"url\":\"\""),
    STEP("\"url\":null"),
    STEP("\"url\":\"http://h/\",\"task\":\"a/b\""),
    STEP("\"task\":\"nothing\""),
    STEP("\"task\":\"nobody/does\""),
    STEP("\"wait\":\"soon\""),
    STEP("\"wait\":\"1m\",\"timeout\":\"5s\""),
    STEP("\"kind\":\"message\""),
    STEP("\"kind\":\"hppt\",\"url\":\"http://h/\""),
    STEP("\"kind\":\"noop\",\"wait\":\"5s\""),
    STEP("\"url\":\"http://h/\",\"routing\":\"fixed\""),
    STEP("\"task\":\"a/b\",\"routing\":\"fixed\""),
    STEP("\"task\":\"a/b\",\"routing\":\"hash\""),
    STEP("\"task\":\"a/b\",\"instance\":\"nowhere\""),
    STEP("\"task\":\"a/b\",\"routing\":\"random\",\"instance\":\"h:1\",\"hash_key\":\"x\",\"shards\":3"),
    STEP("\"url\":\"http://h/\",\"on_failure\":\"rtry\""),
    STEP("\"url\":\"http://h/\",\"on_exhausted\":\"panic\""),
    STEP("\"url\":\"http://h/\",\"on_exhausted\":\"compensate:a\""),
    STEP("\"url\":\"http://h/\",\"on_exhausted\":\"compensate:b\""),
    STEP("\"url\":\"http://h/\",\"retry\":{\"max\":-1,\"jitter\":7,\"on\":[\"sometimes\"]}"),
    STEP("\"url\":\"http://h/\",\"success_when\":\"often\""),
    STEP("\"url\":\"http://h/\",\"headers\":{\"a b\":\"x\"}"),
    STEP("\"url\":\"http://h/\",\"headers\":{\"X-Carillon-Run\":\"x\"}"),
    STEP("\"url\":\"http://h/\",\"headers\":[]"),
    STEP("\"url\":\"http://h/\",\"after\":\"a\""),
    STEP("\"url\":\"http://h/\",\"after\":[\"none\"]"),
    STEP("\"url\":\"http://h/\",\"after\":[{\"step\":\"a\",\"when\":\"x\",\"on\":\"success\"}]"),
    STEP("\"url\":\"http://h/\",\"after\":[{}]"),
    STEP("\"url\":\"http://h/\",\"join\":\"most\""),
    STEP("\"url\":\"http://h/\",\"max_failed\":3"),
    JOB("\"graph\":[{\"url\":\"http://h/\"},{\"step\":\"A b\",\"url\":\"http://h/\"}]"),
    JOB("\"graph\":[{\"step\":\"a\",\"url\":\"http://h/\"},{\"step\":\"a\",\"url\":\"http://h/\"}]"),
    JOB("\"graph\":[{\"step\":\"a\",\"url\":\"http://h/\",\"after\":[\"b\"]},"
        "{\"step\":\"b\",\"url\":\"http://h/\",\"after\":[\"a\"]}]"),
    JOB("\"graph\":[{\"step\":\"fetch\",\"url\":\"http://h/\"},"
        "{\"step\":\"b\",\"url\":\"http://h/\",\"after\":[\"fecth\",\"fetch\",\"fetch\"],\"join\":5}]"),
    JOB("\"graph\":[{\"serial\":[],\"parallel\":[]}]"),
    /* templates and expressions */
    STEP("\"url\":\"http://h/\",\"body\":\"${steps.b.result}\""),
    STEP("\"url\":\"http://h/\",\"body\":\"${params.x\""),
    STEP("\"url\":\"http://h/\",\"body\":\"${parms.x}\""),
    STEP("\"url\":\"http://h/\",\"body\":\"${colour}\""),
    STEP("\"url\":\"http://h/\",\"body\":\"${1 +}\""),
    STEP("\"url\":\"http://h/\",\"body\":\"${(1}\""),
    STEP("\"url\":\"http://h/\",\"body\":\"${'x}\""),
    STEP("\"url\":\"http://h/\",\"body\":\"${shout(1)}\""),
    STEP("\"url\":\"http://h/\",\"body\":\"${length()}\""),
    STEP("\"url\":\"http://h/\",\"body\":\"${length(1, 2, 3)}\""),
    STEP("\"url\":\"http://h/\",\"body\":\"${length(1 2)}\""),
    STEP("\"url\":\"http://h/\",\"body\":\"${params.}\""),
    STEP("\"url\":\"http://h/\",\"body\":\"${params[1}\""),
    STEP("\"url\":\"http://h/\",\"body\":\"${1 2}\""),
    STEP("\"url\":\"http://h/\",\"body\":\"${scheduled:}\""),
    STEP("\"url\":\"http://h/\",\"body\":\"${secret.x}\""),
    STEP("\"url\":\"http://h/\",\"body\":\"${steps.a}\""),
    STEP("\"url\":\"http://h/\",\"success_when\":\"${body.code == 0} and more\""),
    /* triggers */
    TRIGGER(""),
    TRIGGER("\"cron\":\"0 0 * * *\",\"every\":\"5m\""),
    TRIGGER("\"cron\":\"\""),
    TRIGGER("\"cron\":\"* *\""),
    TRIGGER("\"cron\":\"61 * * * *\""),
    TRIGGER("\"cron\":\"*/0 * * * *\""),
    TRIGGER("\"cron\":\"x * * * *\""),
    TRIGGER("\"cron\":\"* * * FOO *\""),
    TRIGGER("\"cron\":\"* * * * FOO\""),
    TRIGGER("\"cron\":\"5-1 * * * *\""),
    TRIGGER("\"cron\":\"H(1 * * * *\""),
    TRIGGER("\"cron\":\"? * * * *\""),
    TRIGGER("\"cron\":\"0 0 0 ? * ?\""),
    TRIGGER("\"cron\":\"0 0 0 1 * 1\""),
    TRIGGER("\"cron\":\"@never\""),
    TRIGGER("\"cron\":\"@every 5m\""),
    TRIGGER("\"cron\":\"0 0 31 2 *\""),
    TRIGGER("\"cron\":\"* * * * *\",\"dialect\":\"quartz\""),
    TRIGGER("\"cron\":\"* * * * *\",\"dialect\":\"klingon\""),
    TRIGGER("\"cron\":\"* * * * *\",\"timezone\":\"Europe/Berln\""),
    TRIGGER("\"cron\":\"* * * * *\",\"calendars\":[\"none\"]"),
    TRIGGER("\"cron\":\"* * * * *\",\"calendars\":[\"c\",\"c\"]"),
    TRIGGER("\"cron\":\"* * * * *\",\"calendar\":\"c\",\"calendars\":[\"c\"]"),
    TRIGGER("\"cron\":\"* * * * *\",\"align\":true"),
    TRIGGER("\"every\":\"5m\",\"dialect\":\"unix\""),
    TRIGGER("\"every\":\"0s\""),
    TRIGGER("\"every\":5"),
    TRIGGER("\"every\":\"5m\",\"quiet\":\"late\""),
    TRIGGER("\"every\":\"5m\",\"quiet\":\"00:00-24:00\""),
    TRIGGER("\"every\":\"5m\",\"start\":\"2030-01-01T00:00:00Z\",\"end\":\"2029-01-01T00:00:00Z\""),
    TRIGGER("\"every\":\"5m\",\"start\":\"tomorrow\""),
    TRIGGER("\"every\":\"5m\",\"name\":\"manual-x\""),
    TRIGGER("\"every\":\"5m\",\"priority\":99,\"misfire\":\"perhaps\",\"paused\":\"no\""),
    TRIGGER("\"at\":\"noon\""),
    JOB(GRAPH ",\"triggers\":[{\"every\":\"5m\"},{\"every\":\"6m\"}]"),
};

static const struct {
    const char *path;
    const char *document;
} bad_others[] = {
    {"apps/x", "{\"spec\":{\"instances\":[\"nowhere\",\"h:1\",\"h:1\"]}}"},
    {"apps/x", "{\"spec\":{\"tasks\":[{},{\"name\":\"t\",\"path\":\"x y\"},{\"name\":\"t\",\"path\":\"/\"}]}}"},
    {"apps/x", "{\"spec\":{\"tasks\":[{\"name\":\"t\",\"path\":\"/\",\"serial\":true,\"concurrency\":3}]}}"},
    {"calendars/x", "{\"spec\":{\"exclude\":{\"weekly\":[\"FOO\"],\"dates\":[\"soon\"],\"annual\":[\"99-99\"]}}}"},
    {"calendars/x", "{\"spec\":{\"exclude\":{\"dates\":[\"2026-10-09..2026-10-01\"]}}}"},
    {"calendars/x", "{\"spec\":{\"exclude\":{\"weekly\":[\"MON\",\"TUE\",\"WED\",\"THU\",\"FRI\",\"SAT\",\"SUN\"]}}}"},
    {"", "{\"spec\":{\"timezone\":\"Mars/Olympus\"}}"},
    {"", "{\"spec\":{\"timezone\":7,\"x\":1}}"},
};

static void test_faults_of_documents_are_chinese(void **state)
{
    struct api *api = *state;
    const size_t jobs = sizeof bad_jobs / sizeof *bad_jobs, others = sizeof bad_others / sizeof *bad_others;
    int count = 0, bad = 0, accepted = 0;
    struct answer project = api_call(api, "PUT", "/api/v1/projects/shop", "{}");
    answer_release(&project);
    for (size_t i = 0; i < jobs + others; i++) {
        char path[100];
        const char *document = i < jobs ? bad_jobs[i] : bad_others[i - jobs].document;
        const char *where = i < jobs ? "jobs/x" : bad_others[i - jobs].path;
        (void)snprintf(path, sizeof path, "/api/v1/projects/shop%s%s", *where ? "/" : "", where);
        struct answer a = api_call_as(api, api->admin, "PUT", path, document, chinese);
        if (a.status != 400 && a.status != 404) {
            print_error("%s\n  -> %d %s\n", document, a.status, a.text);
            accepted++;
        }
        count += read_details(document, answer_at(&a, "error.details"), &bad);
        answer_release(&a);
    }
    assert_int_equal(bad, 0);
    assert_int_equal(accepted, 0);
    assert_true(count > 120);
}

static void test_warnings_and_reasons_are_chinese(void **state)
{
    struct api *api = *state;
    int bad = 0;
    struct answer a = api_call(api, "PUT", "/api/v1/projects/shop", "{}");
    answer_release(&a);
    a = api_call_as(api, api->admin, "PUT", "/api/v1/projects/shop/jobs/x", TRIGGER("\"at\":\"2001-01-01T00:00:00Z\""),
                    chinese);
    assert_int_equal(read_details("at", answer_at(&a, "warnings"), &bad), 1);
    answer_release(&a);
    a = api_call_as(api, api->admin, "GET", "/api/v1/cron/next?cron=61+*+*+*+*", NULL, chinese);
    assert_int_equal(a.status, 400);
    assert_false(has_prose(answer_text(&a, "error.message")));
    assert_int_equal(read_details("cron", answer_at(&a, "error.details"), &bad), 1);
    answer_release(&a);
    a = api_call_as(api, api->admin, "PUT", "/api/v1/projects/shop/jobs/x", "{\"spec\":", chinese);
    assert_int_equal(a.status, 400);
    assert_false(has_prose(answer_text(&a, "error.message")));
    answer_release(&a);
    assert_int_equal(bad, 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, api_setup, api_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row_is_reached), cmocka_unit_test(test_words_of_the_user_stay),
        T(test_faults_of_documents_are_chinese), T(test_warnings_and_reasons_are_chinese)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
