/* Templates: what is rendered, what is refused, and that output is JSON whatever comes in. */
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

#include "core/base/jsonscan.h"
#include "core/logic/text/template.h"
#include "core/model/limits.h"

#define ROWS(table) (sizeof(table) / sizeof *(table))

static struct zone *shanghai, *berlin;

static struct zone *load_zone(const char *name)
{
    char path[128];
    static unsigned char bytes[65536];
    struct error err;
    struct zone *zone = NULL;
    (void)snprintf(path, sizeof path, "/usr/share/zoneinfo/%s", name);
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    size_t length = fread(bytes, 1, sizeof bytes, file);
    (void)fclose(file);
    return zone_parse(name, bytes, length, &zone, &err) ? NULL : zone;
}

static int load_zones(void **state)
{
    (void)state;
    shanghai = load_zone("Asia/Shanghai");
    berlin = load_zone("Europe/Berlin");
    return shanghai && berlin ? 0 : -1;
}

static int free_zones(void **state)
{
    (void)state;
    zone_free(shanghai);
    zone_free(berlin);
    return 0;
}

/* ---- the world of the rows ----------------------------------------------------------------------------------------
 */

static const struct template_step steps[] = {
    {"extract", "succeeded",
     "{\"rows\":12345678901234567890, \"list\":[1,\"b\",{\"c\":null}],\"s\":\"a\\\"\\u65e5\\n\",\"n\":null,\"d\":1.50}",
     true},
    {"my-step.v2", "succeeded", "\"plain\"", true},
    {"ignored", "ignored", NULL, true},
    {"running", "running", NULL, false},
    {"broken", "succeeded", "{\"a\":1}}, \"injected\":{", true},
    {"empty", "succeeded", "", true},
};

static const struct template_step *find_step(void *context, const char *name)
{
    (void)context;
    for (size_t i = 0; i < ROWS(steps); i++)
        if (!strcmp(steps[i].name, name))
            return &steps[i];
    return NULL;
}

static struct template_context world(void)
{
    return (struct template_context){
        .run_id = "7205759403792793601",
        .project = "shop",
        .job = "nightly",
        .trigger = "default",
        .origin = "schedule",
        .version = "3",
        .scheduled = {1773757536000}, /* 2026-03-17 14:25:36 UTC */
        .fired = {1773757536125},
        .zone = zone_utc(),
        .params =
            "{\"region\":\"cn\",\"big\":123456789012345678901234567890,\"zero\":0,\"empty\":\"\",\"yes\":true,\"o\":{\"k-k\":[]},"
            "\"when\":\"2026-03-08T02:30:00Z\",\"\\u540d\":\"\\u65e5\",\"nothing\":null,\"l\":[3,1,2]}",
        .step = find_step,
        .step_name = "post",
    };
}

struct row {
    int line;
    const char *template, *expected; /* expected NULL: refused with `error` in its text */
    const char *error;
};

static void check_rows(const struct row *rows, size_t count, const struct template_context *context)
{
    for (size_t i = 0; i < count; i++) {
        struct str ret, json;
        struct error err = {.code = STATUS_OK};
        str_init(&ret, LIMIT_REQUEST);
        str_init(&json, LIMIT_REQUEST);
        str_add_json(&json, rows[i].template);
        enum status status = template_render_json(str_text(&json), context, &ret, &err);
        bool ok = rows[i].expected ? !status && !strcmp(str_text(&ret), rows[i].expected)
                                   : status == STATUS_INVALID && strstr(err.text, rows[i].error);
        if (!ok)
            fail_msg("line %d: %s -> %s (%s)", rows[i].line, rows[i].template, str_text(&ret),
                     status ? err.text : "ok");
        if (!status)
            assert_int_equal(json_check(str_text(&ret), ret.length, LIMIT_JSON_DEPTH, NULL), STATUS_OK);
        str_release(&ret);
        str_release(&json);
    }
}

/* ---- values -------------------------------------------------------------------------------------------------------
 */

static void names(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {__LINE__, "plain", "\"plain\"", NULL},
        {__LINE__, "", "\"\"", NULL},
        {__LINE__, "${run.id}", "\"7205759403792793601\"", NULL},
        {__LINE__, "${run.origin}-${job.project}/${job.name}", "\"schedule-shop/nightly\"", NULL},
        {__LINE__, "${job.version}", "3", NULL},
        {__LINE__, "${trigger.name} ${step.name}", "\"default post\"", NULL},
        {__LINE__, "${run}", "{\"id\":\"7205759403792793601\",\"origin\":\"schedule\"}", NULL},
        {__LINE__, "${params.region}", "\"cn\"", NULL},
        {__LINE__, "a${ params.region }b", "\"acnb\"", NULL},
        {__LINE__, "${params.big}", "123456789012345678901234567890", NULL},
        {__LINE__, "n=${params.big}", "\"n=123456789012345678901234567890\"", NULL},
        {__LINE__, "${params.yes}", "true", NULL},
        {__LINE__, "${params.nothing}", "null", NULL},
        {__LINE__, "<${params.nothing}>", "\"<>\"", NULL},
        {__LINE__, "${params.名}", "\"日\"", NULL},
        {__LINE__, "${params.o[\"k-k\"]}", "[]", NULL},
        {__LINE__, "${params['region']}", "\"cn\"", NULL},
        {__LINE__, "${params.l[1]}", "1", NULL},
        {__LINE__, "${params.l[0 + 2]}", "2", NULL},
        {__LINE__, "x${params.l}", "\"x[3,1,2]\"", NULL},
        {__LINE__, "${steps.extract.result.rows}", "12345678901234567890", NULL},
        {__LINE__, "${steps.extract.result.list[2].c}", "null", NULL},
        {__LINE__, "${steps.extract.result.list[2].c.deeper[7]}", "null", NULL},
        {__LINE__, "${steps.extract.result.s}", "\"a\\\"日\\n\"", NULL},
        {__LINE__, "${steps.extract.result.d}", "1.50", NULL},
        {__LINE__, "${steps.extract.state}", "\"succeeded\"", NULL},
        {__LINE__, "${steps.my-step.v2.result}", "\"plain\"", NULL},
        {__LINE__, "${steps['my-step.v2'].state}", "\"succeeded\"", NULL},
        {__LINE__, "${steps.ignored.result}", "null", NULL},
        {__LINE__, "${steps.ignored.result.a.b[3]}", "null", NULL},
        {__LINE__, "${steps.running.state}", "\"running\"", NULL},
        {__LINE__, "$${params.region} costs 5$ or $", "\"${params.region} costs 5$ or $\"", NULL},
        {__LINE__, "$$${params.region}", "\"$${params.region}\"", NULL},
        {__LINE__, "{params.region}", "\"{params.region}\"", NULL},
        {__LINE__, "${params.missing ?? 5}", "5", NULL},
        {__LINE__, "${params.nothing ?? 'x'}", "\"x\"", NULL},
        {__LINE__, "${params.a.b.c ?? params.d ?? false}", "false", NULL},
        {__LINE__, "${steps.extract.result.list[9] ?? 'none'}", "\"none\"", NULL},
        {__LINE__, "${steps.running.result ?? 0}", "0", NULL},
        {__LINE__, "${nope ?? 1}", "1", NULL},
        {__LINE__, "${params.region.x ?? 'no'}", "\"no\"", NULL},
        {__LINE__, "${params.missing}", NULL, "there is no \"missing\" in params"},
        {__LINE__, "${steps.extract.result.row}", NULL, "there is no \"row\" in steps.extract.result"},
        {__LINE__, "${steps.extract.result.list[9]}", NULL,
         "there is no element 9 in steps.extract.result.list, which has 3"},
        {__LINE__, "${steps.nope.result}", NULL, "there is no step \"nope\""},
        {__LINE__, "${steps.running.result}", NULL, "has not ended"},
        {__LINE__, "${steps.extract}", NULL, "steps.<name>.result"},
        {__LINE__, "${parms.x}", NULL, "did you mean params?"},
        {__LINE__, "${params.region.x}", NULL, "params.region is a text and has no members"},
        {__LINE__, "${shard.index}", NULL, "no shards"},
        {__LINE__, "${secret.db}", NULL, "secrets are not available yet"},
        {__LINE__, "${secret.db ?? 1}", NULL, "secrets are not available yet"},
    };
    struct template_context context = world();
    check_rows(rows, ROWS(rows), &context);
    static const struct row more[] = {
        {__LINE__, "${shard.index}/${shard.total}", "\"2/8\"", NULL},
        {__LINE__, "${status}", "200", NULL},
        {__LINE__, "${body.code == 0 && headers['x-a'] == 'b'}", "true", NULL},
        {__LINE__, "${params.region}", NULL, "there is no \"region\""},
    };
    context.shard_index = 2;
    context.shard_total = 8;
    context.params = NULL;
    context.names = "{\"status\":200,\"headers\":{\"x-a\":\"b\"},\"body\":{\"code\":0}}";
    check_rows(more, ROWS(more), &context);
}

static void operators(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {__LINE__, "${1 + 2 * 3}", "7", NULL},
        {__LINE__, "${(1 + 2) * 3}", "9", NULL},
        {__LINE__, "${7 / 2}", "3.5", NULL},
        {__LINE__, "${7 % 4}", "3", NULL},
        {__LINE__, "${-3 - -4}", "1", NULL},
        {__LINE__, "${0.1 + 0.2}", "0.3", NULL},
        {__LINE__, "${-params.big}", "-123456789012345678901234567890", NULL},
        {__LINE__, "${'a' + 1 + true}", "\"a1true\"", NULL},
        {__LINE__, "${params.big == 123456789012345678901234567890}", "true", NULL},
        {__LINE__, "${params.big == 123456789012345678901234567891}", "false", NULL},
        {__LINE__, "${params.big < 123456789012345678901234567891}", "true", NULL},
        {__LINE__, "${1 == 1.0}", "true", NULL},
        {__LINE__, "${'1' == 1}", "false", NULL},
        {__LINE__, "${'a' < 'b'}", "true", NULL},
        {__LINE__, "${1 != 2}", "true", NULL},
        {__LINE__, "${null == null}", "true", NULL},
        {__LINE__, "${null < 1}", "false", NULL},
        {__LINE__, "${steps.ignored.result.count > 0}", "false", NULL},
        {__LINE__, "${params.l == params.l}", "true", NULL},
        {__LINE__, "${scheduled < fired}", "true", NULL},
        {__LINE__, "${true && false || true}", "true", NULL},
        {__LINE__, "${true or 1 / 0 > 1}", "true", NULL},
        {__LINE__, "${false and 1 / 0 > 1}", "false", NULL},
        {__LINE__, "${not params.empty and !params.zero}", "true", NULL},
        {__LINE__, "${!!params.region}", "true", NULL},
        {__LINE__, "${!params.l}", "false", NULL},
        {__LINE__, "${!params.o['k-k']}", "true", NULL},
        {__LINE__, "${params.count ?? 0 > 0}", "false", NULL},
        {__LINE__, "${params.zero ?? 1 / 0}", "0", NULL},
        {__LINE__, "${params.missing > 0}", NULL, "there is no \"missing\""},
        {__LINE__, "${'a' - 1}", NULL, "a text cannot be used with -"},
        {__LINE__, "${null + 1}", NULL, "give a default with ??"},
        {__LINE__, "${1 / 0}", NULL, "1 / 0 divides by zero"},
        {__LINE__, "${params.big + 1}", NULL, "more digits than can be calculated with"},
        {__LINE__, "${'a' < 1}", NULL, "a text and a number have no order"},
        {__LINE__, "${params.l < params.l}", NULL, "have no order"},
        {__LINE__, "${}", NULL, "a value is expected"},
        {__LINE__, "${1 +}", NULL, "a value is expected"},
        {__LINE__, "${1 2}", NULL, "an operator or } is expected at character 3"},
        {__LINE__, "${(1}", NULL, "closing )"},
        {__LINE__, "${params[1}", NULL, "closing ]"},
        {__LINE__, "${params.}", NULL, "a name is expected"},
        {__LINE__, "${'a}", NULL, "no closing quote"},
        {__LINE__, "${1", NULL, "the closing } is missing"},
        {__LINE__, "${", NULL, "a value is expected at the end"},
        {__LINE__, "${01}", NULL, "is no number"},
        {__LINE__, "${1abc}", NULL, "\"1abc\" is no number"},
        {__LINE__, "${a = 1}", NULL, "an operator or }"},
        {__LINE__, "${scheduled + 1}", NULL, "a time is moved by terms"},
        {__LINE__, "${params.region + 1d}", NULL, "goes with a time, not with a text"},
    };
    struct template_context context = world();
    check_rows(rows, ROWS(rows), &context);
}

static void functions(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {__LINE__, "${lower('ABCé')}${upper('abc')}", "\"abcéABC\"", NULL},
        {__LINE__, "${trim('  a b ')}", "\"a b\"", NULL},
        {__LINE__, "${length('日本')}", "2", NULL},
        {__LINE__, "${length(params.l) + length(params.o) + length(null)}", "4", NULL},
        {__LINE__, "${contains('abc', 'bc')}", "true", NULL},
        {__LINE__, "${contains(params.l, 2)}", "true", NULL},
        {__LINE__, "${contains(params.o, 'k-k')}", "true", NULL},
        {__LINE__, "${contains(params.l, 9)}", "false", NULL},
        {__LINE__, "${startsWith('abc','ab') && endsWith('abc','bc') && !startsWith('a','ab')}", "true", NULL},
        {__LINE__, "${replace('a-b-c', '-', '')}", "\"abc\"", NULL},
        {__LINE__, "${substring('日本語', 1)}|${substring('日本語', 1, 1)}|${substring('ab', 5)}", "\"本語|本|\"",
         NULL},
        {__LINE__, "${join(params.l)} ${join(params.l, '; ')} ${join(null)}", "\"3,1,2 3; 1; 2 \"", NULL},
        {__LINE__, "${urlencode('a b/ü')}", "\"a%20b%2F%C3%BC\"", NULL},
        {__LINE__, "${string(5) + string(true)}", "\"5true\"", NULL},
        {__LINE__, "${json('a\"b')}", "\"\\\"a\\\\\\\"b\\\"\"", NULL},
        {__LINE__, "${number(' 42 ') + 1}", "43", NULL},
        {__LINE__, "${number('-1.5')}", "-1.5", NULL},
        {__LINE__, "${default(params.missing, 'd')}", "\"d\"", NULL},
        {__LINE__, "${if(params.yes, 'a', 1 / 0)}", "\"a\"", NULL},
        {__LINE__, "${if(params.zero, 1 / 0, 'b')}", "\"b\"", NULL},
        {__LINE__, "${millis(scheduled)}", "1773757536000", NULL},
        {__LINE__, "${format(time(params.when), 'yyyy/MM/dd HH:mm')}", "\"2026/03/08 02:30\"", NULL},
        {__LINE__, "${time('2026-03-31') + 1M - 1d:yyyy-MM-dd}", "\"2026-03-31\"", NULL},
        {__LINE__, "${addMonths(time('2026-01-31'), 1):yyyy-MM-dd}", "\"2026-02-28\"", NULL},
        {__LINE__, "${number('1x')}", NULL, "\"1x\" is no number"},
        {__LINE__, "${lower()}", NULL, "write lower(text)"},
        {__LINE__, "${lower('a','b')}", NULL, "write lower(text)"},
        {__LINE__, "${if(1,2,3,4)}", NULL, "too many arguments"},
        {__LINE__, "${lower('a'}", NULL, "a comma or ) is expected"},
        {__LINE__, "${system('ls')}", NULL, "there is no function system"},
        {__LINE__, "${time('noon')}", NULL, "neither a date"},
        {__LINE__, "${addDays(scheduled, 1.5)}", NULL, "whole number"},
        {__LINE__, "${addYears(scheduled, 100000)}", NULL, "years 1 to 9999"},
        {__LINE__, "${join('a')}", NULL, "join needs a list"},
        {__LINE__, "${lower(params.missing)}", NULL, "there is no \"missing\""},
    };
    struct template_context context = world();
    check_rows(rows, ROWS(rows), &context);
}

/* AntJob's vectors at 2026-03-17 14:25:36 of the trigger's zone, and ours. */
static void times(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {__LINE__, "${scheduled+1M+5d:yyyyMMdd}", "\"20260406\"", NULL},
        {__LINE__, "${scheduled-0d}", "\"20260317\"", NULL},
        {__LINE__, "${scheduled-3H:yyMMddHH}", "\"26031711\"", NULL},
        {__LINE__, "${scheduled+5d+1M}", "\"202604\"", NULL},
        {__LINE__, "${scheduled-1y}", "\"2025\"", NULL},
        {__LINE__, "${scheduled+1M+4d:yy-MM-dd}", "\"26-04-05\"", NULL},
        {__LINE__, "${scheduled+1M-1d:yyyyMMdd}", "\"20260331\"", NULL},
        {__LINE__, "${scheduled + 1M - 1d , yyyyMMdd}", "\" 20260331\"", NULL},
        {__LINE__, "${scheduled-1H}", "\"2026031713\"", NULL},
        {__LINE__, "${scheduled-1m}", "\"202603171424\"", NULL},
        {__LINE__, "${scheduled-1s}", "\"20260317142535\"", NULL},
        {__LINE__, "${scheduled+1w}", "\"202613\"", NULL},
        {__LINE__, "${scheduled-0d-25H:yyyy-MM-dd HH:mm}", "\"2026-03-15 23:00\"", NULL},
        {__LINE__, "${addHours(scheduled,-1):HH:mm}", "\"13:25\"", NULL},
        {__LINE__, "${scheduled:yyyy-MM-ddTHH:mm:ss.fff}", "\"2026-03-17T14:25:36.000\"", NULL},
        {__LINE__, "${fired:ss.f ff fff}", "\"36.1 12 125\"", NULL},
        {__LINE__, "${scheduled:d MMM yyyy, dddd h:mm tt}", "\"17 Mar 2026, Tuesday 2:25 PM\"", NULL},
        {__LINE__, "${scheduled:MMMM ddd 'day' d \\d}", "\"March Tue day 17 d\"", NULL},
        {__LINE__, "at ${scheduled:HH:mm:ss}", "\"at 14:25:36\"", NULL},
        {__LINE__, "${time('2027-01-01'):yyyyww}", "\"202653\"", NULL},
        {__LINE__, "${time('2027-01-01'):yyyy-MM-dd ww}", "\"2027-01-01 53\"", NULL},
        {__LINE__, "${scheduled-2026y}", NULL, "years 1 to 9999"},
        {__LINE__, "${scheduled+999999999999999d}", NULL, "years 1 to 9999"},
        {__LINE__, "${scheduled+1x}", NULL, "\"1x\" is no number"},
        {__LINE__, "${scheduled:}", NULL, "a format is expected"},
        {__LINE__, "${params.region:yyyy}", NULL, "a format goes with a time"},
        {__LINE__, "${scheduled:yyyy", NULL, "the closing } is missing"},
    };
    struct template_context context = world();
    check_rows(rows, ROWS(rows), &context);
    context.scheduled.ms -= 8 * SPAN_HOUR; /* 14:25:36 in Shanghai */
    context.fired.ms -= 8 * SPAN_HOUR;
    context.zone = shanghai;
    for (size_t i = 0; i < ROWS(rows); i++)
        check_rows(&rows[i], 1, &context);
    static const struct row zoned[] = {
        {__LINE__, "${scheduled}", "\"2026-03-17T14:25:36+08:00\"", NULL},
        {__LINE__, "${fired}", "\"2026-03-17T14:25:36.125+08:00\"", NULL},
        {__LINE__, "${scheduled:HH zzz z K}", "\"14 +08:00 +8 +08:00\"", NULL},
        {__LINE__, "${time('2026-03-17')}", "\"2026-03-17T00:00:00+08:00\"", NULL},
    };
    check_rows(zoned, ROWS(zoned), &context);
    static const struct row dst[] = {
        /* 29 March 2026, 03:30 in Berlin: the hour from 2 to 3 does not exist */
        {__LINE__, "${scheduled:HH:mm}", "\"03:30\"", NULL},
        {__LINE__, "${scheduled-1H:HH:mm}", "\"01:00\"", NULL},
        {__LINE__, "${scheduled-0d-1d:yyyy-MM-dd HH:mm}", "\"2026-03-28 00:00\"", NULL},
        {__LINE__, "${addDays(scheduled,-1):yyyy-MM-dd HH:mm}", "\"2026-03-28 03:30\"", NULL},
        {__LINE__, "${addHours(scheduled,-24):yyyy-MM-dd HH:mm}", "\"2026-03-28 02:30\"", NULL},
    };
    context.zone = berlin;
    context.scheduled = (instant){1774747800000};
    check_rows(dst, ROWS(dst), &context);
    context.zone = NULL;
    context.scheduled = INSTANT_NONE;
    static const struct row none[] = {{__LINE__, "${scheduled}", "null", NULL},
                                      {__LINE__, "${scheduled+1d:yyyy}", "null", NULL}};
    check_rows(none, ROWS(none), &context);
}

/* ---- documents ----------------------------------------------------------------------------------------------------
 */

static void json_templates(void **state)
{
    (void)state;
    static const struct {
        int line;
        const char *json, *expected;
    } rows[] = {
        {__LINE__, NULL, "{}"},
        {__LINE__, "{ \"a\" : \"${params.region}\", \"${params.region}\": [ \"${params.big}\", 1e400 ] }",
         "{ \"a\" : \"cn\", \"${params.region}\": [ 123456789012345678901234567890, 1e400 ] }"},
        {__LINE__, "{\"k\":\"\\u0041\\u00e9 \\ud83d\\ude00\"}", "{\"k\":\"\\u0041\\u00e9 \\ud83d\\ude00\"}"},
        {__LINE__, "\"\\u0024{params.region}\"", "\"cn\""},
        {__LINE__, "[\"${params.region == \\\"cn\\\"}\",\"\\\\\",\"x\\\"${1}\"]", "[true,\"\\\\\",\"x\\\"1\"]"},
        {__LINE__, "{\"a\":{\"b\":\"${steps.extract.result}\"}}",
         "{\"a\":{\"b\":{\"rows\":12345678901234567890, \"list\":[1,\"b\",{\"c\":null}],\"s\":\"a\\\"\\u65e5\\n\",\"n\":null,\"d\":1.50}}}"},
        {__LINE__, "\"${params.nothing}${1}\"", "\"1\""},
        {__LINE__, "12.50", "12.50"},
    };
    struct template_context context = world();
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct str ret;
        struct error err = {.code = STATUS_OK};
        str_init(&ret, LIMIT_REQUEST);
        enum status status = template_render_json(rows[i].json, &context, &ret, &err);
        if (status || strcmp(str_text(&ret), rows[i].expected) != 0)
            fail_msg("line %d: %s (%s)", rows[i].line, str_text(&ret), err.text);
        str_release(&ret);
    }
}

static void hostile_results(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {__LINE__, "${steps.broken.result}", NULL, "steps.broken.result is not JSON"},
        {__LINE__, "${steps.broken.result.a}", NULL, "is not JSON"},
        {__LINE__, "x${steps.broken.result ?? 1}", NULL, "is not JSON"},
        {__LINE__, "${steps.empty.result}", NULL, "is not JSON"},
    };
    struct template_context context = world();
    check_rows(rows, ROWS(rows), &context);
    context.params = "{\"a\":1} trailing";
    static const struct row params[] = {{__LINE__, "${params.a}", NULL, "params is not JSON"}};
    check_rows(params, 1, &context);
    struct str ret;
    struct error err;
    str_init(&ret, 1000);
    assert_int_equal(template_render_json("{\"a\":}", &context, &ret, &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, "line 1, column 6"));
    str_release(&ret);
}

static void texts(void **state)
{
    (void)state;
    struct template_context context = world();
    struct str ret;
    struct error err;
    str_init(&ret, 1000);
    assert_int_equal(
        template_render_text("http://h/${params.region}?q=${urlencode('a b')}&l=${params.l}", &context, &ret, &err),
        STATUS_OK);
    assert_string_equal(str_text(&ret), "http://h/cn?q=a%20b&l=[3,1,2]");
    str_release(&ret);
    str_init(&ret, 10);
    assert_int_equal(template_render_text("${params.region} and much more", &context, &ret, &err), STATUS_TOO_BIG);
    assert_non_null(strstr(err.text, "longer than 10 bytes"));
    str_release(&ret);
}

static void conditions(void **state)
{
    (void)state;
    static const struct {
        int line;
        const char *text;
        enum status status;
        bool truth;
    } rows[] = {
        {__LINE__, "${steps.extract.result.rows > 0}", STATUS_OK, true},
        {__LINE__, "steps.extract.result.rows > 0", STATUS_OK, true},
        {__LINE__, "params.zero", STATUS_OK, false},
        {__LINE__, "params.empty", STATUS_OK, false},
        {__LINE__, "null", STATUS_OK, false},
        {__LINE__, "'false'", STATUS_OK, true},
        {__LINE__, "-0.0", STATUS_OK, false},
        {__LINE__, "params.missing", STATUS_INVALID, false},
        {__LINE__, "${true} ", STATUS_INVALID, false},
        {__LINE__, "true }", STATUS_INVALID, false},
        {__LINE__, "", STATUS_INVALID, false},
    };
    struct template_context context = world();
    for (size_t i = 0; i < ROWS(rows); i++) {
        bool truth = false;
        struct error err = {.code = STATUS_OK};
        enum status status = template_test(rows[i].text, &context, &truth, &err);
        if (status != rows[i].status || truth != rows[i].truth || (status && !err.text[0]))
            fail_msg("line %d: %s", rows[i].line, err.text);
    }
}

static void note_step(void *context, const char *name)
{
    str_addf(context, "%s;", name);
}

static void checks(void **state)
{
    (void)state;
    static const struct {
        int line;
        const char *text, *seen; /* NULL: refused */
    } rows[] = {
        {__LINE__, "{\"a\":\"${steps.a.result.x ?? steps.b.state}\",\"b\":[\"${params.zzz}\"]}", "a;b;"},
        {__LINE__, "{\"a\":\"${params.x == \\\"q\\\"}\"}", ""},
        {__LINE__, "http://h/${steps.c-c.result}/${scheduled-1d:yyyyMMdd}", "c-c;"},
        {__LINE__, "${if(params.a, steps.d.result, steps.e.result)}", "d;e;"},
        {__LINE__, "${false && steps.f.result}", "f;"},
        {__LINE__, "${1 / 0}", ""},
        {__LINE__, "${body.code == 0}", ""},
        {__LINE__, "no template", ""},
        {__LINE__, "${parms.x}", NULL},
        {__LINE__, "${secret.x}", NULL},
        {__LINE__, "${1 +}", NULL},
        {__LINE__, "{\"a\":[\"${\"]}", NULL},
        {__LINE__, "${nofunction(1)}", NULL},
        {__LINE__, "${lower(1,2)}", NULL},
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct str seen;
        struct error err = {.code = STATUS_OK};
        str_init(&seen, 1000);
        enum status status = template_check(rows[i].text, note_step, &seen, &err);
        if (rows[i].seen ? status || strcmp(str_text(&seen), rows[i].seen) != 0 : status != STATUS_INVALID)
            fail_msg("line %d: %s %s", rows[i].line, str_text(&seen), err.text);
        str_release(&seen);
        assert_int_equal(template_check(rows[i].text, NULL, NULL, NULL), status);
    }
}

/* Total: deep, long and greedy expressions end with a reason. */
static void bounds(void **state)
{
    (void)state;
    struct template_context context = world();
    struct str text, ret;
    struct error err;
    str_init(&text, LIMIT_DOCUMENT);
    str_init(&ret, LIMIT_REQUEST);
    str_add(&text, "${");
    for (int i = 0; i < 1000; i++)
        str_add(&text, "(");
    assert_int_equal(template_render_text(str_text(&text), &context, &ret, &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, "nested too deeply"));
    str_clear(&text);
    str_add(&text, "${");
    for (int i = 0; i < 1500; i++)
        str_add(&text, i < 750 ? "!" : "-");
    str_add(&text, "1}");
    str_clear(&ret);
    assert_int_equal(template_render_text(str_text(&text), &context, &ret, &err), STATUS_OK);
    assert_string_equal(str_text(&ret), "true");
    str_clear(&text);
    str_add(&text, "${1");
    for (int i = 0; i < 3000; i++)
        str_add(&text, "+1");
    str_add(&text, "}");
    assert_int_equal(template_render_text(str_text(&text), &context, &ret, &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, "longer than 4096 bytes"));
    str_clear(&text);
    for (int i = 0; i < 20000; i++) /* many short ones are fine */
        str_add(&text, "${1}");
    str_clear(&ret);
    assert_int_equal(template_render_text(str_text(&text), &context, &ret, &err), STATUS_OK);
    assert_int_equal(ret.length, 20000);
    struct str params;
    str_init(&params, LIMIT_REQUEST);
    str_add(&params, "{\"a\":\"");
    for (int i = 0; i < 60000; i++)
        str_add_char(&params, 'x');
    str_add(&params, "\"}");
    context.params = str_text(&params);
    str_clear(&text);
    for (int i = 0; i < 4000; i++)
        str_add(&text, "${length(params.a)}");
    str_clear(&ret);
    assert_int_equal(template_render_text(str_text(&text), &context, &ret, &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, "MiB"));
    str_release(&params);
    str_release(&text);
    str_release(&ret);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),  cmocka_unit_test(operators),      cmocka_unit_test(functions),
        cmocka_unit_test(times),  cmocka_unit_test(json_templates), cmocka_unit_test(hostile_results),
        cmocka_unit_test(texts),  cmocka_unit_test(conditions),     cmocka_unit_test(checks),
        cmocka_unit_test(bounds),
    };
    return cmocka_run_group_tests(tests, load_zones, free_zones);
}
