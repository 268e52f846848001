/* Zones against the C library's own reading of the same files, and bytes that no honest file has. */
/* cmocka.h wants these before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <time.h>

#include "core/base/rng.h"
#include "core/logic/time/segment.h"
#include "core/logic/time/tzrule.h"
#include "tests/unit/time/zoneinfo.h"

static const char *const names[] = {
    "America/New_York",  "Europe/Berlin",        "Europe/Dublin",   "Australia/Lord_Howe", "America/Sao_Paulo",
    "Asia/Kathmandu",    "Pacific/Apia",         "Pacific/Chatham", "Africa/Casablanca",   "America/Nuuk",
    "Asia/Gaza",         "America/St_Johns",     "Africa/Cairo",    "Antarctica/Troll",    "Europe/London",
    "Pacific/Kwajalein", "America/Scoresbysund", "Asia/Tehran",     "Etc/GMT+5",           "EST5EDT",
};

static bool have_zoneinfo(void)
{
    size_t length;
    unsigned char *bytes = zoneinfo_read("/usr/share/zoneinfo/Europe/Berlin", &length);
    free(bytes);
    return bytes != NULL;
}

/* ---- against the C library ----------------------------------------------------------------------------------------
 */

static void expect_like_libc(const struct zone *zone, int64_t second)
{
    time_t t = (time_t)second;
    struct tm tm;
    assert_non_null(localtime_r(&t, &tm));
    int32_t offset = zone_offset(zone, (instant){second * 1000});
    if (tm.tm_gmtoff != offset || strcmp(tm.tm_zone, zone_abbreviation(zone, (instant){second * 1000})) != 0)
        fail_msg("%s at %lld: %ld %s, not %d %s", zone_name(zone), (long long)second, tm.tm_gmtoff, tm.tm_zone, offset,
                 zone_abbreviation(zone, (instant){second * 1000}));
    struct zone_segment s = zone_segment_at(zone, second);
    assert_int_equal(s.offset, offset);
    assert_true(s.from <= second && second < s.until);
}

static void test_offsets_like_libc(void **state)
{
    (void)state;
    struct zoneinfo zoneinfo;
    struct rng rng;
    if (!have_zoneinfo())
        skip();
    rng_seed(&rng, 7);
    zoneinfo_init(&zoneinfo);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct zone *zone = zoneinfo_get(&zoneinfo.port, names[i]);
        assert_non_null(zone);
        assert_int_equal(setenv("TZ", names[i], 1), 0);
        tzset();
        for (int n = 0; n < 4000; n++)
            expect_like_libc(zone, rng_between(&rng, -2500000000, 7200000000)); /* 1890 … 2198 */
        for (instant t = {-2500000000000}; t.ms < 4200000000000;) {
            t = zone_next_transition(zone, t);
            if (instant_cmp(t, INSTANT_MAX) == 0)
                break;
            expect_like_libc(zone, t.ms / 1000 - 1);
            expect_like_libc(zone, t.ms / 1000);
        }
    }
    (void)unsetenv("TZ");
    zoneinfo_release(&zoneinfo);
}

/* ---- local times --------------------------------------------------------------------------------------------------
 */

static const struct {
    int line;
    const char *zone;
    struct civil_time local;
    enum local_kind kind;
    const char *first, *second;
} locals[] = {
    {__LINE__, "UTC", {{2026, 3, 8}, 2, 30, 0, 0}, LOCAL_ONCE, "2026-03-08T02:30:00Z", NULL},
    {__LINE__, "America/New_York", {{2026, 3, 8}, 2, 30, 0, 0}, LOCAL_GAP, "2026-03-08T07:00:00Z", NULL},
    {__LINE__, "America/New_York", {{2026, 3, 8}, 2, 0, 0, 0}, LOCAL_GAP, "2026-03-08T07:00:00Z", NULL},
    {__LINE__, "America/New_York", {{2026, 3, 8}, 1, 59, 59, 999}, LOCAL_ONCE, "2026-03-08T06:59:59.999Z", NULL},
    {__LINE__, "America/New_York", {{2026, 3, 8}, 3, 0, 0, 0}, LOCAL_ONCE, "2026-03-08T07:00:00Z", NULL},
    {__LINE__,
     "America/New_York",
     {{2026, 11, 1}, 1, 30, 0, 125},
     LOCAL_TWICE,
     "2026-11-01T05:30:00.125Z",
     "2026-11-01T06:30:00.125Z"},
    {__LINE__, "America/New_York", {{2026, 11, 1}, 2, 0, 0, 0}, LOCAL_ONCE, "2026-11-01T07:00:00Z", NULL},
    {__LINE__, "America/New_York", {{2150, 3, 8}, 2, 30, 0, 0}, LOCAL_GAP, "2150-03-08T07:00:00Z", NULL},
    {__LINE__, "Australia/Lord_Howe", {{2017, 10, 1}, 2, 15, 0, 0}, LOCAL_GAP, "2017-09-30T15:30:00Z", NULL},
    {__LINE__,
     "Australia/Lord_Howe",
     {{2017, 4, 2}, 1, 45, 0, 0},
     LOCAL_TWICE,
     "2017-04-01T14:45:00Z",
     "2017-04-01T15:15:00Z"},
    {__LINE__, "Pacific/Apia", {{2011, 12, 30}, 12, 0, 0, 0}, LOCAL_GAP, "2011-12-30T10:00:00Z", NULL}, /* a whole day
                                                                                                         */
    {__LINE__, "Pacific/Kwajalein", {{1993, 8, 21}, 12, 0, 0, 0}, LOCAL_GAP, "1993-08-21T12:00:00Z", NULL},
    {__LINE__,
     "Europe/Dublin",
     {{2040, 10, 28}, 1, 30, 0, 0},
     LOCAL_TWICE,
     "2040-10-28T00:30:00Z",
     "2040-10-28T01:30:00Z"},
    {__LINE__, "America/Nuuk", {{2040, 3, 24}, 23, 30, 0, 0}, LOCAL_GAP, "2040-03-25T01:00:00Z", NULL},
    {__LINE__, "Africa/Cairo", {{2025, 4, 25}, 0, 0, 0, 0}, LOCAL_GAP, "2025-04-24T22:00:00Z", NULL},
};

static void test_local_times(void **state)
{
    (void)state;
    struct zoneinfo zoneinfo;
    if (!have_zoneinfo())
        skip();
    zoneinfo_init(&zoneinfo);
    for (size_t i = 0; i < sizeof locals / sizeof *locals; i++) {
        char first[RFC3339_SIZE], second[RFC3339_SIZE];
        const struct zone *zone = zoneinfo_get(&zoneinfo.port, locals[i].zone);
        assert_non_null(zone);
        struct local_instants got = zone_instants(zone, locals[i].local);
        rfc3339_format_short(got.first, first);
        rfc3339_format_short(got.second, second);
        if (got.kind != locals[i].kind || strcmp(first, locals[i].first) != 0 ||
            strcmp(second, locals[i].second ? locals[i].second : locals[i].first) != 0)
            fail_msg("line %d: kind %d, %s, %s", locals[i].line, got.kind, first, second);
    }
    zoneinfo_release(&zoneinfo);
}

/* zone_instants undoes zone_local, and gives no instant whose local time is another. */
static void test_local_round_trip(void **state)
{
    (void)state;
    struct zoneinfo zoneinfo;
    struct rng rng;
    if (!have_zoneinfo())
        skip();
    rng_seed(&rng, 11);
    zoneinfo_init(&zoneinfo);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct zone *zone = zoneinfo_get(&zoneinfo.port, names[i]);
        instant change = {-2000000000000};
        for (int n = 0; n < 3000; n++) {
            instant t = {rng_between(&rng, -2500000000000, 7200000000000)};
            if (n & 1) { /* every other one near a change */
                change = zone_next_transition(zone, change);
                if (instant_cmp(change, INSTANT_MAX) == 0)
                    change = (instant){-2000000000000};
                t = instant_add(change, rng_between(&rng, -7200000, 7200000));
            }
            struct local_instants back = zone_instants(zone, zone_local(zone, t));
            assert_int_not_equal(back.kind, LOCAL_GAP);
            assert_true(back.first.ms == t.ms || back.second.ms == t.ms);
            assert_true(back.first.ms <= back.second.ms);
            assert_int_equal(civil_to_instant(zone_local(zone, back.first)).ms,
                             civil_to_instant(zone_local(zone, t)).ms);
            assert_int_equal(civil_to_instant(zone_local(zone, back.second)).ms,
                             civil_to_instant(zone_local(zone, t)).ms);
        }
    }
    zoneinfo_release(&zoneinfo);
}

/* ---- footers ------------------------------------------------------------------------------------------------------
 */

static const struct {
    int line;
    const char *text;
    int64_t second;
    int32_t offset; /* −1: the text is refused */
} rules[] = {
    {__LINE__, "UTC0", 0, 0},
    {__LINE__, "<+0330>-3:30", 0, 12600},
    {__LINE__, "EST5EDT,M3.2.0,M11.1.0", 1772953199, -18000}, /* 2026-03-08T06:59:59Z */
    {__LINE__, "EST5EDT,M3.2.0,M11.1.0", 1772953200, -14400},
    {__LINE__, "EST5EDT,M3.2.0,M11.1.0", 1793512799, -14400},
    {__LINE__, "EST5EDT,M3.2.0,M11.1.0", 1793512800, -18000},
    {__LINE__, "IST-1GMT0,M10.5.0,M3.5.0/1", 1767225600, 0}, /* winter is the exception */
    {__LINE__, "IST-1GMT0,M10.5.0,M3.5.0/1", 1782864000, 3600},
    {__LINE__, "AEST-10AEDT,M10.1.0,M4.1.0/3", 1767225600, 39600}, /* summer over the turn of the year */
    {__LINE__, "AEST-10AEDT,M10.1.0,M4.1.0/3", 1782864000, 36000},
    {__LINE__, "EST5EDT,0/0,J365/25", 1767225600, -14400}, /* summer for ever */
    {__LINE__, "EST5EDT,0/0,J365/25", 1782864000, -14400},
    {__LINE__, "EST5EDT,0/0,J365/25", 1767243600, -14400},            /* the seam at the turn of the year */
    {__LINE__, "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 1774745999, -7200}, /* 2026-03-29T00:59:59Z */
    {__LINE__, "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 1774746000, -3600},
    {__LINE__, "IST-2IDT,M3.4.4/26,M10.5.0", 1774569599, 7200}, /* Thursday 24:00 + 2 h = Friday 02:00 */
    {__LINE__, "IST-2IDT,M3.4.4/26,M10.5.0", 1774569600, 10800},
    {__LINE__, "", 0, -1},
    {__LINE__, "E5", 0, -1},
    {__LINE__, "EST", 0, -1},
    {__LINE__, "EST25", 0, -1},
    {__LINE__, "EST5EDT", 0, -1},
    {__LINE__, "EST5EDT,M3.2.0", 0, -1},
    {__LINE__, "EST5EDT,M13.2.0,M11.1.0", 0, -1},
    {__LINE__, "EST5EDT,M3.6.0,M11.1.0", 0, -1},
    {__LINE__, "EST5EDT,M3.2.7,M11.1.0", 0, -1},
    {__LINE__, "EST5EDT,J0,J366", 0, -1},
    {__LINE__, "EST5EDT,366,1", 0, -1},
    {__LINE__, "EST5EDT,M3.2.0/168,M11.1.0", 0, -1},
    {__LINE__, "EST5EDT,M3.2.0,M11.1.0 ", 0, -1},
    {__LINE__, "<EST5", 0, -1},
    {__LINE__, "ABCDEFGHIJKLMNOPQRSTUVWXYZ5", 0, -1},
    {__LINE__, "EST99999999999999999999", 0, -1},
};

static void test_footers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        struct tz_rule rule;
        enum status status = tz_rule_parse(rules[i].text, &rule);
        int32_t offset = -1;
        if (status == STATUS_OK)
            offset = rule.changes && tz_rule_at(&rule, rules[i].second).summer ? rule.summer : rule.standard;
        if (offset != rules[i].offset)
            fail_msg("line %d: \"%s\": %d", rules[i].line, rules[i].text, offset);
    }
}

/* ---- hostile bytes ------------------------------------------------------------------------------------------------
 */

static void ask_everything(const struct zone *zone)
{
    static const int64_t moments[] = {INT64_MIN, -1, 0, 1772953199999, INT64_C(9000000000000), INT64_MAX};
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
        instant t = {moments[i]};
        (void)zone_offset(zone, t);
        (void)zone_abbreviation(zone, t);
        struct civil_time local = zone_local(zone, t);
        if (civil_date_valid(local.date))
            (void)zone_instants(zone, local);
        assert_true(instant_cmp(zone_next_transition(zone, t), t) > 0 || t.ms == INT64_MAX);
    }
}

static void test_hostile_bytes(void **state)
{
    (void)state;
    size_t length = 0;
    struct rng rng;
    struct error err;
    unsigned char *good = zoneinfo_read("/usr/share/zoneinfo/Europe/Berlin", &length);
    if (!good)
        skip();
    struct zone *zone;
    for (size_t cut = 0; cut < length; cut++) /* each prefix is refused: nothing in it is superfluous */
        assert_int_equal(zone_parse("cut", good, cut, &zone, &err), STATUS_INVALID);
    rng_seed(&rng, 3);
    unsigned char *bad = malloc(length);
    assert_non_null(bad);
    for (int n = 0; n < 20000; n++) {
        memcpy(bad, good, length);
        for (uint64_t k = rng_below(&rng, 8) + 1; k; k--)
            bad[n & 1 ? rng_below(&rng, 90) : rng_below(&rng, length)] = (unsigned char)rng_next(&rng);
        if (zone_parse("bad", bad, length, &zone, &err) == STATUS_OK) {
            ask_everything(zone);
            zone_free(zone);
        }
    }
    free(bad);
    free(good);
}

static void test_refusals_say_why(void **state)
{
    (void)state;
    static const struct {
        int line;
        const char *bytes;
        size_t length;
        const char *reason;
    } cases[] = {
        {__LINE__, "", 0, "no TZif"},
        {__LINE__, "TZif9", 5, "no TZif"},
        {__LINE__, "GZif2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 44,
         "no TZif"},
        {__LINE__, "TZif\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 44,
         "version"},
        {__LINE__, "TZif\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 44,
         "no type"},
        {__LINE__, "TZif\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xff\0\0\0\0\0\0\0", 44,
         "too big"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct zone *zone;
        struct error err = {0};
        assert_int_equal(zone_parse("some/zone", cases[i].bytes, cases[i].length, &zone, &err), STATUS_INVALID);
        if (!strstr(err.text, "some/zone") || !strstr(err.text, cases[i].reason))
            fail_msg("line %d: %s", cases[i].line, err.text);
    }
}

static void test_utc_is_always_there(void **state)
{
    (void)state;
    assert_string_equal(zone_name(zone_utc()), "UTC");
    assert_string_equal(zone_abbreviation(zone_utc(), (instant){0}), "UTC");
    assert_int_equal(zone_offset(zone_utc(), (instant){1700000000000}), 0);
    assert_int_equal(zone_next_transition(zone_utc(), (instant){0}).ms, INT64_MAX);
    ask_everything(zone_utc());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_offsets_like_libc),   cmocka_unit_test(test_local_times),
        cmocka_unit_test(test_local_round_trip),    cmocka_unit_test(test_footers),
        cmocka_unit_test(test_hostile_bytes),       cmocka_unit_test(test_refusals_say_why),
        cmocka_unit_test(test_utc_is_always_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
