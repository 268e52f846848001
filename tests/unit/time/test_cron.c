/* Dialects, errors, warnings, H, printing, preview. The search: test_cron_naive.c. */
#include "core/base/rng.h"
#include "core/logic/time/preview.h"
#include "tests/unit/time/cron_support.h"

static const struct cron_dst automatic = {DST_GAP_AUTO, DST_OVERLAP_AUTO};

/* ---- what expressions mean (all in UTC) ---------------------------------------------------------------------------
 */

static const struct {
    int line;
    enum cron_dialect dialect;
    const char *text, *from, *next; /* instants joined by a blank */
} meanings[] = {
    /* field counts decide */
    {__LINE__, CRON_AUTO, "30 4 * * 1", "2026-10-01T00:00:00Z", "2026-10-05T04:30:00Z 2026-10-12T04:30:00Z"},
    {__LINE__, CRON_AUTO, "0 30 4 ? * 1", "2026-10-01T00:00:00Z", "2026-10-04T04:30:00Z 2026-10-11T04:30:00Z"},
    {__LINE__, CRON_AUTO, "0 30 4 ? * 1 2027", "2026-10-01T00:00:00Z", "2027-01-03T04:30:00Z"},
    {__LINE__, CRON_SPRING, "0 30 4 * * 1", "2026-10-01T00:00:00Z", "2026-10-05T04:30:00Z"},
    {__LINE__, CRON_SPRING, "0 30 4 ? * 0,7", "2026-10-01T00:00:00Z", "2026-10-04T04:30:00Z 2026-10-11T04:30:00Z"},
    {__LINE__, CRON_SPRING, "0 0 0 13 * FRI", "2025-01-01T00:00:00Z", "2025-06-13T00:00:00Z 2026-02-13T00:00:00Z"},
    {__LINE__, CRON_SPRING, "0 0 0 ? * MON#1", "2026-10-01T00:00:00Z", "2026-10-05T00:00:00Z 2026-11-02T00:00:00Z"},
    {__LINE__, CRON_SPRING, "0 0 0 * * 5L", "2026-10-01T00:00:00Z", "2026-10-30T00:00:00Z 2026-11-27T00:00:00Z"},
    {__LINE__, CRON_SPRING, "0 0 0 LW * *", "2026-10-01T00:00:00Z", "2026-10-30T00:00:00Z 2026-11-30T00:00:00Z"},
    /* Ant: seconds first, what is missing is a star */
    {__LINE__, CRON_ANT, "*/2", "2026-10-01T00:00:00Z", "2026-10-01T00:00:02Z 2026-10-01T00:00:04Z"},
    {__LINE__, CRON_ANT, "5/20 * * * *", "2026-10-01T00:00:00Z", "2026-10-01T00:00:05Z 2026-10-01T00:00:25Z"},
    {__LINE__, CRON_ANT, "0 0 0 1 * *", "2026-10-01T00:00:00Z", "2026-11-01T00:00:00Z"},
    {__LINE__, CRON_ANT, "0 0 2 * * 1-5", "2026-10-01T12:00:00Z", "2026-10-02T02:00:00Z 2026-10-05T02:00:00Z"},
    {__LINE__, CRON_ANT, "0 0 0 ? ? 1-7#1", "2026-10-01T00:00:00Z",
     "2026-10-02T00:00:00Z 2026-10-03T00:00:00Z "
     "2026-10-05T00:00:00Z"},
    {__LINE__, CRON_ANT, "0 0 0 ? ? 3-5#L2", "2026-10-01T00:00:00Z",
     "2026-10-21T00:00:00Z 2026-10-22T00:00:00Z "
     "2026-10-23T00:00:00Z 2026-11-18T00:00:00Z"},
    {__LINE__, CRON_ANT, "7/30 * * * * ?", "2026-10-01T00:00:00Z", "2026-10-01T00:00:07Z 2026-10-01T00:00:37Z"},
    {__LINE__, CRON_ANT, "* 1-10,13,25/3 * * *", "2026-10-01T00:10:59Z", "2026-10-01T00:13:00Z"},
    /* Quartz days */
    {__LINE__, CRON_QUARTZ, "0 0 0 ? * L", "2026-10-01T00:00:00Z", "2026-10-03T00:00:00Z 2026-10-10T00:00:00Z"},
    {__LINE__, CRON_QUARTZ, "0 0 0 ? * FRIL", "2026-10-01T00:00:00Z", "2026-10-30T00:00:00Z"},
    {__LINE__, CRON_QUARTZ, "0 0 0 ? * fri#3", "2026-10-01T00:00:00Z", "2026-10-16T00:00:00Z 2026-11-20T00:00:00Z"},
    {__LINE__, CRON_QUARTZ, "0 0 0 ? * 6#5", "2026-10-01T00:00:00Z", "2026-10-30T00:00:00Z 2027-01-29T00:00:00Z"},
    {__LINE__, CRON_QUARTZ, "0 0 0 L-3W * ?", "2026-10-01T00:00:00Z", "2026-10-28T00:00:00Z 2026-11-27T00:00:00Z"},
    {__LINE__, CRON_QUARTZ, "0 0 0 31W * ?", "2026-10-01T00:00:00Z", "2026-10-30T00:00:00Z 2026-12-31T00:00:00Z"},
    {__LINE__, CRON_QUARTZ, "0 0 0 L-30 * ?", "2026-10-01T00:00:00Z", "2026-12-01T00:00:00Z 2027-01-01T00:00:00Z"},
    {__LINE__, CRON_QUARTZ, "0 0 0 1 NOV-FEB ?", "2026-10-01T00:00:00Z",
     "2026-11-01T00:00:00Z 2026-12-01T00:00:00Z 2027-01-01T00:00:00Z 2027-02-01T00:00:00Z 2027-11-01T00:00:00Z"},
    {__LINE__, CRON_QUARTZ, "0 0 0 1 nov,Jan ?", "2026-10-01T00:00:00Z", "2026-11-01T00:00:00Z 2027-01-01T00:00:00Z"},
    {__LINE__, CRON_QUARTZ, "/20 0 0 1 1 ?", "2026-10-01T00:00:00Z", "2027-01-01T00:00:00Z 2027-01-01T00:00:20Z"},
    {__LINE__, CRON_QUARTZ, "0 0 0 1 1 ? 2030,2028", "2026-10-01T00:00:00Z",
     "2028-01-01T00:00:00Z 2030-01-01T00:00:00Z"},
    {__LINE__, CRON_QUARTZ, "0  0\t12 * *   ?  ", "2026-10-01T00:00:00Z", "2026-10-01T12:00:00Z"},
    /* unix */
    {__LINE__, CRON_UNIX, "0 12 * * sat,SUN", "2026-10-01T00:00:00Z", "2026-10-03T12:00:00Z 2026-10-04T12:00:00Z"},
    {__LINE__, CRON_UNIX, "0 12 * * 5-7", "2026-10-01T00:00:00Z",
     "2026-10-02T12:00:00Z 2026-10-03T12:00:00Z "
     "2026-10-04T12:00:00Z 2026-10-09T12:00:00Z"},
    {__LINE__, CRON_UNIX, "0 0 13 * 5", "2026-10-01T00:00:00Z",
     "2026-10-02T00:00:00Z 2026-10-09T00:00:00Z "
     "2026-10-13T00:00:00Z"},
    {__LINE__, CRON_UNIX, "0 0 */10 * 5", "2026-10-01T00:00:00Z", "2026-12-11T00:00:00Z 2027-01-01T00:00:00Z"},
    {__LINE__, CRON_UNIX, "0 0 13 * */5", "2026-10-01T00:00:00Z", "2026-11-13T00:00:00Z 2026-12-13T00:00:00Z"},
    {__LINE__, CRON_UNIX, "0 0 L * *", "2026-10-01T00:00:00Z", "2026-10-31T00:00:00Z 2026-11-30T00:00:00Z"},
    {__LINE__, CRON_UNIX, "0 0 ? * MON", "2026-10-01T00:00:00Z", "2026-10-05T00:00:00Z"},
    {__LINE__, CRON_UNIX, "10/20 0 1 1 *", "2026-10-01T00:00:00Z",
     "2027-01-01T00:10:00Z 2027-01-01T00:30:00Z "
     "2027-01-01T00:50:00Z 2028-01-01T00:10:00Z"},
    /* macros, in every dialect */
    {__LINE__, CRON_AUTO, "@yearly", "2026-10-01T00:00:00Z", "2027-01-01T00:00:00Z"},
    {__LINE__, CRON_AUTO, "@annually", "2026-10-01T00:00:00Z", "2027-01-01T00:00:00Z"},
    {__LINE__, CRON_QUARTZ, "@weekly", "2026-10-01T00:00:00Z", "2026-10-04T00:00:00Z"},
    {__LINE__, CRON_SPRING, "@daily", "2026-10-01T00:00:00Z", "2026-10-02T00:00:00Z"},
    {__LINE__, CRON_ANT, "@midnight", "2026-10-01T00:00:00Z", "2026-10-02T00:00:00Z"},
    {__LINE__, CRON_UNIX, " @hourly ", "2026-10-01T00:00:00Z", "2026-10-01T01:00:00Z"},
    /* several: one instant that two of them match comes once */
    {__LINE__, CRON_AUTO, "0 9 * * *; 0 30 17 ? * *;0 0 9 * * ?", "2026-10-01T00:00:00Z",
     "2026-10-01T09:00:00Z 2026-10-01T17:30:00Z 2026-10-02T09:00:00Z"},
    /* rare ones */
    {__LINE__, CRON_QUARTZ, "0 0 0 29 2 ?", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z"},
    {__LINE__, CRON_SPRING, "0 0 0 29 2 MON", "2000-01-01T00:00:00Z",
     "2016-02-29T00:00:00Z 2044-02-29T00:00:00Z "
     "2072-02-29T00:00:00Z 2112-02-29T00:00:00Z"},
    {__LINE__, CRON_QUARTZ, "0 0 0 ? 2 MON#5", "2016-03-01T00:00:00Z", "2044-02-29T00:00:00Z"},
    {__LINE__, CRON_SPRING, "0 0 0 30 2 *", "2000-01-01T00:00:00Z", "NONE"},
    {__LINE__, CRON_QUARTZ, "0 0 0 31W 4 ?", "2000-01-01T00:00:00Z", "NONE"},
};

static void test_meanings(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
        struct cron *cron = parse(meanings[i].text, meanings[i].dialect, NULL);
        instant t = moment(meanings[i].from);
        char expected[400], *rest = expected;
        (void)snprintf(expected, sizeof expected, "%s", meanings[i].next);
        for (char *word; (word = strtok_r(rest, " ", &rest));) {
            char got[RFC3339_SIZE] = "NONE";
            t = cron_next(cron, zone_utc(), automatic, t);
            if (instant_cmp(t, INSTANT_MAX) != 0)
                rfc3339_format_short(t, got);
            if (strcmp(got, word) != 0)
                fail_msg("line %d: \"%s\": %s, not %s", meanings[i].line, meanings[i].text, got, word);
        }
        cron_free(cron);
    }
}

/* ---- refusals -----------------------------------------------------------------------------------------------------
 */

static const struct {
    int line;
    enum cron_dialect dialect;
    const char *text, *reason; /* both the position and a word of the reason */
} refusals[] = {
    {__LINE__, CRON_AUTO, "", "position 1: the expression is empty"},
    {__LINE__, CRON_AUTO, "  ", "the expression is empty"},
    {__LINE__, CRON_AUTO, "0 0 12 * * ?;", "position 14: the expression is empty"},
    {__LINE__, CRON_AUTO, "* * * *", "4 fields; 5 (minute"},
    {__LINE__, CRON_AUTO, "* * * * * * * *", "8 fields; 5"},
    {__LINE__, CRON_UNIX, "0 * * * * ?", "6 fields; the dialect unix has 5 to 5"},
    {__LINE__, CRON_QUARTZ, "* * * * *", "5 fields; the dialect quartz has 6 to 7"},
    {__LINE__, CRON_AUTO, "0 0 24 * * ?", "position 5 (hour): 24 is outside of 0…23"},
    {__LINE__, CRON_AUTO, "0 12 * * 8", "position 10 (day of week): 8 is outside of 0…7"},
    {__LINE__, CRON_AUTO, "0 0 12 ? * 0", "position 12 (day of week): 0 is outside of 1…7"},
    {__LINE__, CRON_AUTO, "0 9 * * *; 0 0 12 ? * 0", "position 23 (day of week): 0 is outside of 1…7"},
    {__LINE__, CRON_AUTO, "0 0 12 * * *", "position 8 (day of month) and 12 (day of week): neither is '?'"},
    {__LINE__, CRON_AUTO, "0 0 12 ? * ?", "position 8 (day of month) and 12 (day of week): both are '?'"},
    {__LINE__, CRON_AUTO, "? 0 12 * * ?", "position 1 (second): '?'"},
    {__LINE__, CRON_AUTO, "0 0 12 ?/2 * MON", "position 8 (day of month): '?' stands alone"},
    {__LINE__, CRON_AUTO, "0 0 12 ? * MONDAY", "position 12 (day of week): unknown name"},
    {__LINE__, CRON_AUTO, "0 0 12 ? JANUARY MON", "position 10 (month): unknown name"},
    {__LINE__, CRON_AUTO, "0 0 12 ? MON MON", "position 10 (month): unknown name"},
    {__LINE__, CRON_AUTO, "0 0 A * * ?", "position 5 (hour): a letter has no meaning here"},
    {__LINE__, CRON_AUTO, "0 0 1.5 * * ?", "position 6 (hour): unexpected character"},
    {__LINE__, CRON_AUTO, "0 0 -5 * * ?", "position 5 (hour): a number is expected"},
    {__LINE__, CRON_AUTO, "0 0 5- * * ?", "position 7 (hour): a number is missing"},
    {__LINE__, CRON_AUTO, "0 0 5, * * ?", "position 7 (hour): a number is missing"},
    {__LINE__, CRON_AUTO, "0 0 5,,6 * * ?", "position 7 (hour): a number is expected"},
    {__LINE__, CRON_AUTO, "0 */0 * * * ?", "position 4 (minute): a step of 0"},
    {__LINE__, CRON_AUTO, "0 */60 * * * ?", "position 4 (minute): a step of 60 is longer"},
    {__LINE__, CRON_AUTO, "0 5/ * * * ?", "position 5 (minute): a number is missing"},
    {__LINE__, CRON_AUTO, "0 1-2-3 * * * ?", "position 6 (minute): unexpected character"},
    {__LINE__, CRON_AUTO, "0 99999999999 * * * ?", "position 3 (minute): the number is too big"},
    {__LINE__, CRON_AUTO, "22-2 * * * *", "position 1 (minute): the range runs backwards"},
    {__LINE__, CRON_AUTO, "0 0 * * SAT-SUN", "position 9 (day of week): the range runs backwards"},
    {__LINE__, CRON_AUTO, "/5 * * * *", "position 1 (minute): a number is expected"},
    {__LINE__, CRON_AUTO, "0 0 0 32W * ?", "position 7 (day of month): 32 is outside of 1…31"},
    {__LINE__, CRON_AUTO, "0 0 0 1-5W * ?", "position 10 (day of month): L, W and # stand alone"},
    {__LINE__, CRON_AUTO, "0 0 0 L,15 * ?", "position 8 (day of month): L, W and # stand alone"},
    {__LINE__, CRON_AUTO, "0 0 0 15,L * ?", "position 10 (day of month): a letter"},
    {__LINE__, CRON_AUTO, "0 0 0 L-31 * ?", "position 7 (day of month): no month"},
    {__LINE__, CRON_AUTO, "0 0 0 L-1X * ?", "position 10 (day of month): unexpected"},
    {__LINE__, CRON_AUTO, "0 0 0 W * ?", "position 7 (day of month): a letter"},
    {__LINE__, CRON_AUTO, "0 0 0 ? * 2#6", "position 12 (day of week): a month has 1 to 5"},
    {__LINE__, CRON_AUTO, "0 0 0 ? * 2#", "position 13 (day of week): a number is missing"},
    {__LINE__, CRON_AUTO, "0 0 0 ? * 2#1,3#2", "position 14 (day of week): L, W and # stand alone"},
    {__LINE__, CRON_AUTO, "0 0 0 ? * 2-3#1", "position 12 (day of week): unexpected"},
    {__LINE__, CRON_AUTO, "0 0 0 ? * LW", "position 11 (day of week): unknown name"},
    {__LINE__, CRON_AUTO, "0 0 0 1 1 ? 1969", "position 13 (year): 1969 is outside of 1970…2199"},
    {__LINE__, CRON_AUTO, "0 0 0 1 1 ? H", "position 13 (year): H has no meaning"},
    {__LINE__, CRON_AUTO, "H(5) * * * *", "position 4 (minute): H(a-b) needs a '-'"},
    {__LINE__, CRON_AUTO, "H(5-70) * * * *", "position 5 (minute): 70 is outside"},
    {__LINE__, CRON_AUTO, "H(9-5) * * * *", "position 1 (minute): H(a-b) needs a <= b"},
    {__LINE__, CRON_AUTO, "H(1-5 * * * *", "position 6 (minute): H(a-b) needs a ')'"},
    {__LINE__, CRON_AUTO, "@every 5m", "2 fields"},
    {__LINE__, CRON_AUTO, "@every5m", "write a trigger with `every:`"},
    {__LINE__, CRON_AUTO, "@reboot", "position 1: unknown macro \"@reboot\""},
    {__LINE__, CRON_ANT, "0 0 0 ? ? 7", "position 11 (day of week): 7 is no day here"},
};

static void test_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        struct cron *cron = NULL;
        struct error err = {0};
        enum status status = cron_parse(refusals[i].text, refusals[i].dialect, NULL, &cron, NULL, &err);
        if (status != STATUS_INVALID || cron || !strstr(err.text, refusals[i].reason))
            fail_msg("line %d: \"%s\": %s", refusals[i].line, refusals[i].text, err.text);
    }
}

static void test_limits(void **state)
{
    (void)state;
    char text[CRON_TEXT_MAX + 8];
    struct cron *cron = NULL;
    struct error err;
    memset(text, ' ', sizeof text);
    text[sizeof text - 1] = '\0';
    assert_int_equal(cron_parse(text, CRON_AUTO, NULL, &cron, NULL, &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, "1024 are allowed"));
    for (size_t n = CRON_EXPRESSIONS_MAX; n <= CRON_EXPRESSIONS_MAX + 1; n++) {
        text[0] = '\0';
        for (size_t i = 0; i < n; i++)
            (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s0 %zu * * *", i ? ";" : "", i);
        enum status status = cron_parse(text, CRON_AUTO, NULL, &cron, NULL, &err);
        assert_int_equal(status, n == CRON_EXPRESSIONS_MAX ? STATUS_OK : STATUS_INVALID);
    }
    cron_free(cron);
}

/* ---- warnings -----------------------------------------------------------------------------------------------------
 */

static const struct {
    int line;
    const char *text, *warning; /* NULL: none */
} warnings[] = {
    {__LINE__, "0 0 12 ? * 2-6", "\"2-6\" means MON,TUE,WED,THU,FRI here (1 = SUN"},
    {__LINE__, "0 0 12 ? * 6L", "\"6L\" means FRI here"},
    {__LINE__, "0 0 12 ? * 1", "\"1\" means SUN here"},
    {__LINE__, "0 9 * * *; 0 0 12 ? * 7#1", "position 23 (day of week): \"7#1\" means SAT here"},
    {__LINE__, "0 0 12 ? * MON-FRI", NULL},
    {__LINE__, "0 0 12 ? * MON#2", NULL},
    {__LINE__, "0 0 12 1 * ?", NULL},
    {__LINE__, "0 12 * * 1-5", NULL},
    {__LINE__, "*/90 * * * *", "position 2 (minute): a step of 90 is longer than the field"},
};

static void test_warnings(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof warnings / sizeof *warnings; i++) {
        struct cron *cron = NULL;
        struct faults faults;
        faults_init(&faults);
        assert_int_equal(cron_parse(warnings[i].text, CRON_AUTO, NULL, &cron, &faults, NULL), STATUS_OK);
        const char *got = faults.count ? faults.items[0].text : NULL;
        if (faults.count > 1 || faults.errors || !got != !warnings[i].warning ||
            (got && (!strstr(got, warnings[i].warning) || !faults.items[0].warning)))
            fail_msg("line %d: %s", warnings[i].line, got ? got : "no warning");
        faults_release(&faults);
        cron_free(cron);
    }
}

/* ---- H ------------------------------------------------------------------------------------------------------------
 */

/* The same key chooses the same place for ever; many keys fill the field; ranges and steps are kept. */
static void test_spread(void **state)
{
    (void)state;
    uint64_t minutes = 0, ranged = 0;
    for (int i = 0; i < 1000; i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "default/job-%d/default", i);
        struct cron *cron = parse("H H(2-4) * * *", CRON_AUTO, key), *again = parse("H H(2-4) * * *", CRON_AUTO, key);
        struct cron *stepped = parse("H/15 * * * *", CRON_AUTO, key);
        instant t = cron_next(cron, zone_utc(), automatic, (instant){0});
        assert_int_equal(t.ms, cron_next(again, zone_utc(), automatic, (instant){0}).ms);
        struct civil_time c = civil_from_instant(t);
        minutes |= UINT64_C(1) << c.minute;
        ranged |= UINT64_C(1) << c.hour;
        t = cron_next(stepped, zone_utc(), automatic, (instant){-1});
        assert_true(t.ms < 15 * SPAN_MINUTE);
        for (int n = 0; n < 20; n++) {
            instant next = cron_next(stepped, zone_utc(), automatic, t);
            assert_int_equal(next.ms - t.ms, 15 * SPAN_MINUTE);
            t = next;
        }
        cron_free(cron);
        cron_free(again);
        cron_free(stepped);
    }
    assert_int_equal(minutes, (UINT64_C(1) << 60) - 1);
    assert_int_equal(ranged, 0x1c);
    struct cron *fixed = parse("H H H * *", CRON_AUTO, "a/b/c");
    struct str text;
    str_init(&text, 100);
    cron_print(fixed, &text);
    assert_string_equal(str_text(&text), "22 13 25 * *"); /* a value from the past: it must never change */
    str_release(&text);
    cron_free(fixed);
}

/* ---- printing -----------------------------------------------------------------------------------------------------
 */

static const struct {
    int line;
    enum cron_dialect dialect;
    const char *text, *printed, *described;
} prints[] = {
    {__LINE__, CRON_AUTO, "0 30 2 * * ?", "0 30 2 * * ?", "at 02:30:00, every day"},
    {__LINE__, CRON_AUTO, "0 0/15 9-17 ? * 2-6", "0 0,15,30,45 9-17 ? * MON-FRI",
     "hour 9-17, minute 0,15,30,45, second 0, on MON-FRI"},
    {__LINE__, CRON_AUTO, "*/15 * * * *", "*/15 * * * *", "hour *, minute */15, second 0, every day"},
    {__LINE__, CRON_AUTO, "*/15,7 0-23 */2 * 1", "*/15,7 0-23 */2 * MON",
     "hour 0-23, minute */15,7, second 0, day of month */2 that is also MON"},
    {__LINE__, CRON_AUTO, "0 0 13 * 5", "0 0 13 * FRI", "at 00:00:00, day of month 13 or FRI"},
    {__LINE__, CRON_AUTO, "0 0 0 L-2W 1,2,3 ? 2024-2028/2", "0 0 0 L-2W JAN-MAR ? 2024,2026,2028",
     "at 00:00:00, day of month L-2W, in JAN-MAR, year 2024,2026,2028"},
    {__LINE__, CRON_AUTO, "0 0 0 ? * 6#3; 0 9 * * *", "0 0 0 ? * FRI#3; 0 9 * * *",
     "at 00:00:00, on FRI#3; at 09:00:00, every day"},
    {__LINE__, CRON_AUTO, "0 0 0 15W * ?", "0 0 0 15W * ?", "at 00:00:00, day of month 15W"},
    {__LINE__, CRON_ANT, "0 0 0 ? ? 5-1#L2", "0 0 0 * * FRI-MON#L2", "at 00:00:00, on FRI-MON#L2"},
    {__LINE__, CRON_ANT, "*/2", "*/2 * * * * *", "hour *, minute *, second */2, every day"},
    {__LINE__, CRON_QUARTZ, "@monthly", "0 0 0 1 * ?", "at 00:00:00, day of month 1"},
    {__LINE__, CRON_QUARTZ, "@weekly", "0 0 0 ? * SUN", "at 00:00:00, on SUN"},
    {__LINE__, CRON_UNIX, "0 0 * * */3", "0 0 * * */3,SUN,WED,SAT", "at 00:00:00, on */3,SUN,WED,SAT"},
};

static void test_printing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof prints / sizeof *prints; i++) {
        struct cron *cron = parse(prints[i].text, prints[i].dialect, "k");
        struct str printed, again, described;
        str_init(&printed, 1000);
        str_init(&again, 1000);
        str_init(&described, 1000);
        cron_print(cron, &printed);
        cron_describe(cron, &described);
        if (strcmp(str_text(&printed), prints[i].printed) != 0 ||
            strcmp(str_text(&described), prints[i].described) != 0)
            fail_msg("line %d: \"%s\" / \"%s\"", prints[i].line, str_text(&printed), str_text(&described));
        struct cron *second = parse(str_text(&printed), prints[i].dialect, "other");
        cron_print(second, &again);
        assert_string_equal(str_text(&again), str_text(&printed));
        for (int n = 0; n < 50; n++) {
            instant t = {INT64_C(1700000000000) + n * 7 * SPAN_DAY};
            assert_int_equal(cron_next(cron, zone_utc(), automatic, t).ms,
                             cron_next(second, zone_utc(), automatic, t).ms);
        }
        cron_free(cron);
        cron_free(second);
        str_release(&printed);
        str_release(&again);
        str_release(&described);
    }
}

/* ---- preview ------------------------------------------------------------------------------------------------------
 */

static void test_preview(void **state)
{
    (void)state;
    instant next[5];
    size_t count = 99;
    struct error err = {0};
    assert_int_equal(cron_preview("0 0 0 1 1 ? 2024-2028/2", CRON_AUTO, zone_utc(), DST_GAP_AUTO, DST_OVERLAP_AUTO,
                                  moment("2023-06-01T00:00:00Z"), 5, next, &count, NULL, &err),
                     STATUS_OK);
    assert_int_equal(count, 3);
    assert_int_equal(next[2].ms, moment("2028-01-01T00:00:00Z").ms);
    assert_int_equal(cron_preview("0 0 0 30 2 ?", CRON_AUTO, zone_utc(), DST_GAP_AUTO, DST_OVERLAP_AUTO,
                                  moment("2023-06-01T00:00:00Z"), 5, next, &count, NULL, &err),
                     STATUS_OK);
    assert_int_equal(count, 0);
    assert_int_equal(cron_preview("0 0 25 * * ?", CRON_AUTO, zone_utc(), DST_GAP_AUTO, DST_OVERLAP_AUTO,
                                  moment("2023-06-01T00:00:00Z"), 5, next, &count, NULL, &err),
                     STATUS_INVALID);
    assert_non_null(strstr(err.text, "position 5 (hour)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_meanings), cmocka_unit_test(test_refusals), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_warnings), cmocka_unit_test(test_spread),   cmocka_unit_test(test_printing),
        cmocka_unit_test(test_preview),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
