/* Triggers: every, delay, at, start and end, calendars, quiet hours; and the bounded questions against enumeration. */
/* cmocka.h wants these before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "tests/unit/time/random_schedule.h"

static const struct schedule_memory fresh = {{0}, {INT64_MIN}};

static instant moment(const char *text)
{
    instant t = INSTANT_NONE;
    if (text)
        assert_int_equal(rfc3339_parse(text, &t, NULL), STATUS_OK);
    return t;
}

static struct trigger_spec spec_of(enum trigger_kind kind)
{
    return (struct trigger_spec){
        .name = "t", .kind = kind, .start = INSTANT_NONE, .end = INSTANT_NONE, .at = INSTANT_NONE};
}

static struct schedule *compile(const struct trigger_spec *spec, const char *key, const struct zone *zone,
                                const struct calendar_spec *const *calendars)
{
    struct schedule *schedule = NULL;
    struct error err = {0};
    struct schedule_context context = {key, zone, calendars};
    if (schedule_compile(spec, &context, &schedule, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return schedule;
}

static void expect(instant got, const char *wanted)
{
    char text[RFC3339_SIZE] = "NONE";
    if (instant_cmp(got, INSTANT_MAX) != 0)
        rfc3339_format_short(got, text);
    assert_string_equal(text, wanted);
}

/* ---- kinds --------------------------------------------------------------------------------------------------------
 */

static void test_every(void **state)
{
    (void)state;
    struct trigger_spec spec = spec_of(TRIGGER_EVERY);
    spec.period = 90 * SPAN_SECOND;
    spec.start = moment("2026-10-01T00:00:10Z");
    spec.end = moment("2026-10-01T00:03:10Z");
    struct schedule *s = compile(&spec, "p/j/t", zone_utc(), NULL);
    expect(schedule_next(s, &fresh, moment("2026-01-01T00:00:00Z")).at,
           "2026-10-01T00:00:10Z"); /* start belongs to it */
    expect(schedule_next(s, &fresh, moment("2026-10-01T00:00:10Z")).at, "2026-10-01T00:01:40Z");
    expect(schedule_next(s, &fresh, moment("2026-10-01T00:01:40Z")).at, "NONE"); /* end does not */
    assert_int_equal(schedule_count(s, moment("2020-01-01T00:00:00Z"), moment("2030-01-01T00:00:00Z")), 2);
    schedule_free(s);
    spec.align = true;
    spec.period = SPAN_HOUR;
    spec.end = INSTANT_NONE;
    s = compile(&spec, "p/j/t", zone_utc(), NULL);
    expect(schedule_next(s, &fresh, moment("2026-01-01T00:00:00Z")).at, "2026-10-01T01:00:00Z");
    schedule_free(s);
}

/* A thousand jobs of one period do not meet, and each keeps its place. */
static void test_every_is_spread(void **state)
{
    (void)state;
    struct trigger_spec spec = spec_of(TRIGGER_EVERY);
    spec.period = SPAN_SECOND;
    int met[10] = {0};
    for (int i = 0; i < 1000; i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "default/job-%d/default", i);
        struct schedule *s = compile(&spec, key, zone_utc(), NULL), *again = compile(&spec, key, zone_utc(), NULL);
        instant t = schedule_next(s, &fresh, (instant){INT64_C(1700000000000)}).at;
        assert_int_equal(t.ms, schedule_next(again, &fresh, (instant){INT64_C(1700000000000)}).at.ms);
        assert_int_equal(schedule_next(s, &fresh, t).at.ms, t.ms + SPAN_SECOND);
        met[t.ms % 1000 / 100]++;
        schedule_free(s);
        schedule_free(again);
    }
    for (size_t i = 0; i < 10; i++)
        assert_in_range(met[i], 60, 140);
}

static void test_at(void **state)
{
    (void)state;
    struct trigger_spec spec = spec_of(TRIGGER_AT);
    spec.at = moment("2026-12-01T00:00:00Z");
    struct schedule *s = compile(&spec, "p/j/t", zone_utc(), NULL);
    expect(schedule_next(s, &fresh, moment("2026-11-30T23:59:59.999Z")).at, "2026-12-01T00:00:00Z");
    expect(schedule_next(s, &fresh, moment("2026-12-01T00:00:00Z")).at, "NONE");
    assert_int_equal(schedule_count(s, INSTANT_NONE, INSTANT_MAX), 1);
    schedule_free(s);
}

static void test_delay(void **state)
{
    (void)state;
    struct trigger_spec spec = spec_of(TRIGGER_DELAY);
    struct quiet_window night = {22 * 3600000, 6 * 3600000};
    spec.period = 10 * SPAN_MINUTE;
    struct schedule *s = compile(&spec, "p/j/t", zone_utc(), NULL);
    struct schedule_memory memory = {moment("2026-10-01T12:00:00Z"), INSTANT_NONE};
    expect(schedule_next(s, &memory, memory.activated).at, "2026-10-01T12:10:00Z");
    expect(schedule_next(s, &memory, moment("2026-10-01T12:10:00Z")).at, "NONE"); /* waits for its run */
    memory.last_end = moment("2026-10-01T12:34:56Z");
    expect(schedule_next(s, &memory, moment("2026-10-01T12:10:00Z")).at, "2026-10-01T12:44:56Z");
    schedule_free(s);

    spec.quiet = &night;
    spec.quiet_count = 1;
    s = compile(&spec, "p/j/t", zone_utc(), NULL);
    memory.last_end = moment("2026-10-01T21:55:00Z"); /* one is swallowed by the night, the next comes behind it */
    struct promised p = schedule_next(s, &memory, memory.last_end);
    expect(p.at, "2026-10-01T22:05:00Z");
    assert_int_equal(p.verdict, VERDICT_QUIET);
    p = schedule_next(s, &memory, p.at);
    expect(p.at, "2026-10-02T06:05:00Z");
    assert_int_equal(p.verdict, VERDICT_FIRE);
    expect(schedule_next(s, &memory, p.at).at, "NONE");
    expect(schedule_next_fire(s, &memory, memory.last_end), "2026-10-02T06:05:00Z");
    schedule_free(s);

    spec.start = moment("2026-10-05T09:00:00Z");
    s = compile(&spec, "p/j/t", zone_utc(), NULL);
    expect(schedule_next(s, &memory, memory.last_end).at, "2026-10-05T09:00:00Z");
    schedule_free(s);
}

/* ---- calendars and quiet hours ------------------------------------------------------------------------------------
 */

static struct date_range range(int y1, int m1, int d1, int y2, int m2, int d2)
{
    return (struct date_range){{y1, m1, d1}, {y2, m2, d2}};
}

static void test_calendars(void **state)
{
    (void)state;
    /* weekends and the national holiday are closed, the Saturday that makes up for it is open; winter break each year
     */
    struct date_range excluded[] = {range(2026, 10, 1, 2026, 10, 8)}, included[] = {range(2026, 10, 10, 2026, 10, 10)};
    struct date_range annual[] = {range(1, 12, 24, 1, 1, 2), range(1, 2, 29, 1, 2, 29)};
    struct calendar_spec weekends = {.name = "weekends", .weekly = 1U << 0 | 1U << 6};
    struct calendar_spec holidays = {.name = "holidays",
                                     .excluded = excluded,
                                     .excluded_count = 1,
                                     .included = included,
                                     .included_count = 1,
                                     .annual = annual,
                                     .annual_count = 2};
    const struct calendar_spec *calendars[] = {&weekends, &holidays};
    const char *names[] = {"weekends", "holidays"};
    struct trigger_spec spec = spec_of(TRIGGER_CRON);
    spec.cron = "0 0 2 * * ?";
    spec.calendars = names;
    spec.calendar_count = 2;
    struct schedule *s = compile(&spec, "p/j/t", zone_utc(), calendars);
    static const struct {
        int line;
        const char *from, *fire;
    } cases[] = {
        {__LINE__, "2026-09-30T12:00:00Z", "2026-10-09T02:00:00Z"},
        {__LINE__, "2026-10-09T02:00:00Z", "2026-10-10T02:00:00Z"},
        {__LINE__, "2026-10-10T02:00:00Z", "2026-10-12T02:00:00Z"},
        {__LINE__, "2026-12-23T12:00:00Z", "2027-01-04T02:00:00Z"},
        {__LINE__, "2028-02-28T12:00:00Z", "2028-03-01T02:00:00Z"},
        {__LINE__, "2026-10-16T12:00:00Z", "2026-10-19T02:00:00Z"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[RFC3339_SIZE];
        rfc3339_format_short(schedule_next_fire(s, &fresh, moment(cases[i].from)), text);
        if (strcmp(text, cases[i].fire) != 0)
            fail_msg("line %d: %s", cases[i].line, text);
    }
    assert_int_equal(schedule_next(s, &fresh, moment("2026-10-01T12:00:00Z")).verdict, VERDICT_CALENDAR);
    schedule_free(s);
}

/* Local dates of the trigger's zone, also on days of 23 and 25 hours. */
static void test_calendar_dates_are_local(void **state)
{
    (void)state;
    struct zoneinfo zoneinfo;
    zoneinfo_init(&zoneinfo);
    const struct zone *zone = zoneinfo_get(&zoneinfo.port, "America/New_York");
    if (!zone)
        skip();
    struct date_range excluded[] = {range(2026, 3, 8, 2026, 3, 8), range(2026, 11, 1, 2026, 11, 1)};
    struct calendar_spec changes = {.name = "changes", .excluded = excluded, .excluded_count = 2};
    const struct calendar_spec *calendars[] = {&changes};
    const char *names[] = {"changes"};
    struct trigger_spec spec = spec_of(TRIGGER_CRON);
    spec.cron = "0 * * * *";
    spec.calendars = names;
    spec.calendar_count = 1;
    struct schedule *s = compile(&spec, "p/j/t", zone, calendars);
    struct excluded ranges[4];
    instant covered;
    assert_int_equal(
        schedule_excluded(s, moment("2026-01-01T00:00:00Z"), moment("2027-01-01T00:00:00Z"), ranges, 4, &covered), 2);
    expect(ranges[0].from, "2026-03-08T05:00:00Z");
    expect(ranges[0].to, "2026-03-09T03:00:00Z");
    assert_int_equal(ranges[0].count, 23);
    expect(ranges[1].from, "2026-11-01T04:00:00Z");
    expect(ranges[1].to, "2026-11-02T04:00:00Z");
    assert_int_equal(ranges[1].count, 25);
    assert_int_equal(schedule_count(s, moment("2026-01-01T05:00:00Z"), moment("2027-01-01T05:00:00Z")), 365 * 24 - 48);
    schedule_free(s);
    zoneinfo_release(&zoneinfo);
}

static void test_quiet_hours(void **state)
{
    (void)state;
    struct quiet_window quiet[] = {{22 * 3600000, 6 * 3600000}, {12 * 3600000, 13 * 3600000}};
    struct trigger_spec spec = spec_of(TRIGGER_CRON);
    spec.cron = "*/30 * * * *";
    spec.quiet = quiet;
    spec.quiet_count = 2;
    struct schedule *s = compile(&spec, "p/j/t", zone_utc(), NULL);
    expect(schedule_next_fire(s, &fresh, moment("2026-10-01T21:30:00Z")), "2026-10-02T06:00:00Z"); /* [start, end) */
    expect(schedule_next_fire(s, &fresh, moment("2026-10-01T11:30:00Z")), "2026-10-01T13:00:00Z");
    assert_int_equal(schedule_next(s, &fresh, moment("2026-10-01T21:30:00Z")).verdict, VERDICT_QUIET);
    struct excluded ranges[8];
    instant covered;
    size_t n =
        schedule_excluded(s, moment("2026-10-01T00:00:00Z"), moment("2026-10-02T00:00:00Z"), ranges, 8, &covered);
    assert_int_equal(n, 3);
    assert_int_equal(ranges[0].count + ranges[1].count + ranges[2].count, 11 + 2 + 5);
    assert_int_equal(schedule_count(s, moment("2026-10-01T00:00:00Z"), moment("2026-10-02T00:00:00Z")), 48 - 18);
    schedule_free(s);
}

/* A time that the change of the clocks moved is judged where it lands: 02:30 becomes 03:00, which is quiet. */
static void test_quiet_hours_see_the_result(void **state)
{
    (void)state;
    struct zoneinfo zoneinfo;
    zoneinfo_init(&zoneinfo);
    const struct zone *zone = zoneinfo_get(&zoneinfo.port, "America/New_York");
    if (!zone)
        skip();
    struct quiet_window quiet[] = {{3 * 3600000, 4 * 3600000}};
    struct trigger_spec spec = spec_of(TRIGGER_CRON);
    spec.cron = "30 2 * * *";
    spec.quiet = quiet;
    spec.quiet_count = 1;
    struct schedule *s = compile(&spec, "p/j/t", zone, NULL);
    expect(schedule_next(s, &fresh, moment("2026-03-08T00:00:00Z")).at, "2026-03-08T07:00:00Z");
    expect(schedule_next_fire(s, &fresh, moment("2026-03-08T00:00:00Z")), "2026-03-09T06:30:00Z");
    schedule_free(s);
    zoneinfo_release(&zoneinfo);
}

/* ---- refusals -----------------------------------------------------------------------------------------------------
 */

static void test_missing_calendar(void **state)
{
    (void)state;
    const struct calendar_spec *calendars[] = {NULL};
    const char *names[] = {"holidays"};
    struct trigger_spec spec = spec_of(TRIGGER_EVERY);
    struct schedule_context context = {"k", zone_utc(), calendars};
    struct schedule *s = NULL;
    struct error err = {0};
    spec.period = SPAN_MINUTE;
    spec.calendars = names;
    spec.calendar_count = 1;
    assert_int_equal(schedule_compile(&spec, &context, &s, &err), STATUS_INVALID);
    assert_string_equal(err.text, "there is no calendar \"holidays\"");
}

/* Nothing may be asked of a trigger that leads beyond the end of time. */
static void test_the_ends_of_time(void **state)
{
    (void)state;
    struct quiet_window quiet[] = {{22 * 3600000, 6 * 3600000}};
    struct excluded ranges[2];
    instant covered, newest[1];
    for (int kind = TRIGGER_CRON; kind <= TRIGGER_AT; kind++) {
        struct trigger_spec spec = spec_of((enum trigger_kind)kind);
        spec.cron = "0 0 23 1 1 ? 2030,2032; 0 0 12 1 1 ? 2031";
        spec.period = 100 * SPAN_DAY;
        spec.align = true;
        spec.at = moment("2030-06-01T21:00:00Z");
        spec.end = moment("2033-01-01T00:00:00Z");
        spec.quiet = quiet;
        spec.quiet_count = kind == TRIGGER_CRON || kind == TRIGGER_AT;
        struct schedule *s = compile(&spec, "k", zone_utc(), NULL);
        expect(schedule_next(s, &fresh, INSTANT_MAX).at, "NONE");
        (void)schedule_next_fire(s, &fresh, INSTANT_NONE);
        assert_int_equal(schedule_count(s, moment("1970-01-01T00:00:00Z"), INSTANT_MAX), kind == TRIGGER_EVERY   ? 230
                                                                                         : kind == TRIGGER_DELAY ? 0
                                                                                                                 : 1);
        assert_int_equal(schedule_newest(s, INSTANT_NONE, INSTANT_MAX, newest, 1), kind != TRIGGER_DELAY);
        assert_int_equal(schedule_excluded(s, INSTANT_NONE, INSTANT_MAX, ranges, 2, &covered),
                         kind == TRIGGER_CRON ? 2 : 0);
        assert_true(covered.ms == INSTANT_MAX.ms);
        schedule_free(s);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    struct calendar_spec never = {.name = "never", .weekly = 127};
    const struct calendar_spec *calendars[] = {&never};
    const char *names[] = {"never"};
    struct quiet_window whole = {0, (int32_t)SPAN_DAY}, bad = {-1, 5};
    static const struct {
        int line;
        enum trigger_kind kind;
        const char *cron;
        span period;
        const char *start, *end;
        int calendar, quiet; /* 1: all days, the whole day; 2: impossible */
        const char *reason;
    } cases[] = {
        {__LINE__, TRIGGER_CRON, "0 0 0 30 2 ?", 0, NULL, NULL, 0, 0, "can never fire: no date matches 0 0 0 30 2 ?"},
        {__LINE__, TRIGGER_CRON, "0 0 0 29 2 ? 2023", 0, NULL, NULL, 0, 0, "can never fire"},
        {__LINE__, TRIGGER_CRON, "0 0 0 1 1 ? 2030", 0, "2031-01-01T00:00:00Z", NULL, 0, 0,
         "between its start and end"},
        {__LINE__, TRIGGER_CRON, "0 0 0 1 * ?", 0, "2026-01-02T00:00:00Z", "2026-02-01T00:00:00Z", 0, 0,
         "can never fire"},
        {__LINE__, TRIGGER_CRON, "0 0 25 * * ?", 0, NULL, NULL, 0, 0, "position 5 (hour)"},
        {__LINE__, TRIGGER_CRON, NULL, 0, NULL, NULL, 0, 0, "missing"},
        {__LINE__, TRIGGER_CRON, "0 9 * * *", 0, NULL, NULL, 1, 0, "calendars and quiet hours exclude every instant"},
        {__LINE__, TRIGGER_CRON, "0 9 * * *", 0, NULL, NULL, 0, 1, "calendars and quiet hours exclude every instant"},
        {__LINE__, TRIGGER_CRON, "0 9 * * *", 0, NULL, NULL, 0, 2, "quiet hours 1"},
        {__LINE__, TRIGGER_EVERY, NULL, 1000, NULL, NULL, 1, 0, "calendars and quiet hours exclude every instant"},
        {__LINE__, TRIGGER_EVERY, NULL, 0, NULL, NULL, 0, 0, "every: the period must be longer than 0"},
        {__LINE__, TRIGGER_DELAY, NULL, -5, NULL, NULL, 0, 0, "delay: the period must be longer than 0"},
        {__LINE__, TRIGGER_EVERY, NULL, INT64_MAX, NULL, NULL, 0, 0, "at most 40 years"},
        {__LINE__, TRIGGER_EVERY, NULL, 5, "2026-01-02T00:00:00Z", "2026-01-02T00:00:00Z", 0, 0,
         "its end is not after"},
        {__LINE__, TRIGGER_AT, NULL, 0, NULL, NULL, 0, 0, "at: the instant is missing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct trigger_spec spec = spec_of(cases[i].kind);
        spec.cron = cases[i].cron;
        spec.period = cases[i].period;
        spec.start = moment(cases[i].start);
        spec.end = moment(cases[i].end);
        spec.calendars = names;
        spec.calendar_count = cases[i].calendar ? 1 : 0;
        spec.quiet = cases[i].quiet == 1 ? &whole : &bad;
        spec.quiet_count = cases[i].quiet ? 1 : 0;
        struct schedule_context context = {"k", zone_utc(), calendars};
        struct schedule *s = NULL;
        struct error err = {0};
        if (schedule_compile(&spec, &context, &s, &err) != STATUS_INVALID || s || !strstr(err.text, cases[i].reason))
            fail_msg("line %d: %s", cases[i].line, err.text);
    }
}

/* ---- jitter -------------------------------------------------------------------------------------------------------
 */

static void test_jitter(void **state)
{
    (void)state;
    struct trigger_spec spec = spec_of(TRIGGER_EVERY);
    spec.period = 10 * SPAN_SECOND;
    spec.jitter = SPAN_MINUTE;
    struct schedule *s = compile(&spec, "p/j/t", zone_utc(), NULL), *again = compile(&spec, "p/j/t", zone_utc(), NULL);
    struct schedule *other = compile(&spec, "p/j/u", zone_utc(), NULL);
    instant t = {INT64_C(1700000000000)};
    int64_t sum = 0, differ = 0;
    for (int i = 0; i < 1000; i++) {
        t = schedule_next(s, &fresh, t).at;
        span jitter = schedule_jitter(s, t);
        assert_in_range(jitter, 0, spec.period); /* never beyond the next instant */
        assert_int_equal(jitter, schedule_jitter(again, t));
        differ += jitter != schedule_jitter(other, t);
        sum += jitter;
    }
    assert_in_range(sum / 1000, 4500, 5500);
    assert_true(differ > 900);
    schedule_free(s);
    schedule_free(again);
    schedule_free(other);
    spec.jitter = 0;
    s = compile(&spec, "p/j/t", zone_utc(), NULL);
    assert_int_equal(schedule_jitter(s, t), 0);
    schedule_free(s);
}

/* ---- properties ---------------------------------------------------------------------------------------------------
 */

#define PROMISED_MAX 30000

static void check_next(struct rng *rng, const struct random_schedule *r, const struct promised *all, size_t count)
{
    for (size_t i = 0; i + 1 < count; i++) {
        assert_true(instant_cmp(all[i].at, all[i + 1].at) < 0);
        instant between = {rng_between(rng, all[i].at.ms, all[i + 1].at.ms - 1)};
        struct promised next = schedule_next(r->schedule, &fresh, between);
        assert_int_equal(next.at.ms, all[i + 1].at.ms);
        assert_int_equal(next.verdict, all[i + 1].verdict);
    }
}

static void check_fires(const struct random_schedule *r, const struct promised *all, size_t count, instant from,
                        instant until)
{
    static instant fires[PROMISED_MAX], newest[PROMISED_MAX];
    size_t n = 0;
    instant t = from;
    for (size_t i = 0; i < count; i++)
        if (all[i].verdict == VERDICT_FIRE)
            fires[n++] = all[i].at;
    assert_int_equal(schedule_count(r->schedule, from, until), n);
    for (size_t i = 0; i < n; i++) {
        t = schedule_next_fire(r->schedule, &fresh, t);
        assert_int_equal(t.ms, fires[i].ms);
    }
    assert_true(instant_cmp(schedule_next_fire(r->schedule, &fresh, t), until) > 0);
    for (size_t cap = 0; cap < n + 3; cap = cap * 2 + 1) {
        size_t got = schedule_newest(r->schedule, from, until, newest, cap);
        assert_int_equal(got, cap < n ? cap : n);
        assert_memory_equal(newest, fires + n - got, got * sizeof *newest);
    }
}

/* Ranges of one reason, in order, with no fire inside; asked for a few at a time. */
static void check_excluded(struct rng *rng, const struct random_schedule *r, const struct promised *all, size_t count,
                           instant from, instant until)
{
    struct excluded ranges[5];
    size_t i = 0, cap = (size_t)rng_between(rng, 1, 5);
    instant t = from;
    do {
        size_t n = schedule_excluded(r->schedule, t, until, ranges, cap, &t);
        for (size_t k = 0; k < n; k++) {
            while (i < count && all[i].verdict == VERDICT_FIRE)
                i++;
            assert_true(i < count);
            assert_int_equal(ranges[k].from.ms, all[i].at.ms);
            for (int64_t left = ranges[k].count; left; left--, i++) {
                assert_true(i < count);
                assert_int_equal(all[i].verdict, ranges[k].verdict);
                assert_true(left > 1 || ranges[k].to.ms == all[i].at.ms);
            }
        }
        assert_true(n == cap || instant_cmp(t, until) == 0);
    } while (instant_cmp(t, until) < 0);
    for (; i < count; i++)
        assert_int_equal(all[i].verdict, VERDICT_FIRE);
}

static void test_properties(void **state)
{
    (void)state;
    static const char *const names[] = {"America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia",
                                        "UTC"};
    static struct promised all[PROMISED_MAX];
    struct zoneinfo zoneinfo;
    struct rng rng;
    int compiled = 0;
    rng_seed(&rng, 2026);
    zoneinfo_init(&zoneinfo);
    for (int n = 0; n < 1500; n++) {
        const struct zone *zone = zoneinfo_get(&zoneinfo.port, names[n % 5]);
        if (!zone)
            skip();
        instant around = zone_next_transition(zone, moment(n & 1 ? "2010-01-01T00:00:00Z" : "2011-10-20T00:00:00Z"));
        if (instant_cmp(around, INSTANT_MAX) == 0)
            around = moment("2012-02-28T00:00:00Z");
        struct random_schedule r;
        random_schedule_make(&rng, zone, around, &r);
        if (!r.schedule)
            continue;
        compiled++;
        instant from = instant_add(around, -rng_between(&rng, 0, 3 * SPAN_DAY));
        instant until = instant_add(from, rng_between(&rng, 0, 6 * SPAN_DAY));
        size_t count = naive_promised(&r, from, until, all, PROMISED_MAX);
        check_next(&rng, &r, all, count);
        check_fires(&r, all, count, from, until);
        check_excluded(&rng, &r, all, count, from, until);
        schedule_free(r.schedule);
    }
    zoneinfo_release(&zoneinfo);
    print_message("%d random triggers\n", compiled);
    assert_true(compiled > 1000);
}

/* A second's period, counted over 40 years with quiet hours: no loop over instants could do that in a test. */
static void test_counting_is_bounded(void **state)
{
    (void)state;
    struct quiet_window quiet[] = {{22 * 3600000, 6 * 3600000}};
    struct trigger_spec spec = spec_of(TRIGGER_CRON);
    spec.cron = "* * * * * ?";
    spec.quiet = quiet;
    spec.quiet_count = 1;
    struct schedule *s = compile(&spec, "p/j/t", zone_utc(), NULL);
    assert_int_equal(schedule_count(s, moment("1999-12-31T23:59:59Z"), moment("2039-12-31T23:59:59Z")),
                     INT64_C(14610) * 16 * 3600);
    instant newest[3];
    assert_int_equal(schedule_newest(s, moment("1999-12-31T23:59:59Z"), moment("2039-12-31T23:59:59Z"), newest, 3), 3);
    expect(newest[0], "2039-12-31T21:59:57Z");
    expect(newest[2], "2039-12-31T21:59:59Z");
    assert_true(schedule_memory(s) < 1000);
    schedule_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every),
        cmocka_unit_test(test_every_is_spread),
        cmocka_unit_test(test_at),
        cmocka_unit_test(test_delay),
        cmocka_unit_test(test_calendars),
        cmocka_unit_test(test_calendar_dates_are_local),
        cmocka_unit_test(test_quiet_hours),
        cmocka_unit_test(test_quiet_hours_see_the_result),
        cmocka_unit_test(test_missing_calendar),
        cmocka_unit_test(test_the_ends_of_time),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_jitter),
        cmocka_unit_test(test_properties),
        cmocka_unit_test(test_counting_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
