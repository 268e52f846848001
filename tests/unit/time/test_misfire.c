/* Misfire: the policies one by one, then a slow second implementation over random triggers. */
/* cmocka.h wants these before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "tests/unit/time/random_schedule.h"

static instant moment(const char *text)
{
    instant t = INSTANT_NONE;
    assert_int_equal(rfc3339_parse(text, &t, NULL), STATUS_OK);
    return t;
}

static struct schedule *compile(const char *cron)
{
    struct trigger_spec spec = {.name = "t", .kind = TRIGGER_CRON, .cron = cron};
    struct schedule_context context = {"p/j/t", zone_utc(), NULL};
    struct schedule *schedule = NULL;
    struct error err = {0};
    spec.start = spec.end = INSTANT_NONE;
    if (schedule_compile(&spec, &context, &schedule, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return schedule;
}

/* ---- policies -----------------------------------------------------------------------------------------------------
 */

/* "10:00m 10:02 | misfire 09:00-09:59 60" */
static const char *plan_text(const struct misfire_plan *plan, char *text, size_t size)
{
    size_t length = 0;
    for (size_t i = 0; i < plan->run_count; i++) {
        struct civil_time t = civil_from_instant(plan->runs[i].at);
        length += (size_t)snprintf(text + length, size - length, "%02d:%02d%s ", t.hour, t.minute,
                                   plan->runs[i].misfire ? "m" : "");
    }
    for (size_t i = 0; i < plan->skip_count; i++) {
        struct civil_time from = civil_from_instant(plan->skips[i].from), to = civil_from_instant(plan->skips[i].to);
        length +=
            (size_t)snprintf(text + length, size - length, "| %s %02d:%02d-%02d:%02d %lld ", plan->skips[i].reason,
                             from.hour, from.minute, to.hour, to.minute, (long long)plan->skips[i].count);
    }
    if (length)
        text[length - 1] = '\0';
    return length ? text : "nothing";
}

/* Every minute; the cursor stands at 08:00, the clock at `now`. */
static const struct {
    int line;
    const char *now;
    enum misfire_policy policy;
    int max;
    span threshold, max_age;
    bool resume, skip_all;
    const char *expected;
} policies[] = {
    {__LINE__, "08:00:00", MISFIRE_LATEST, 100, 60000, SPAN_DAY, false, false, "nothing"},
    {__LINE__, "08:00:30", MISFIRE_LATEST, 100, 60000, SPAN_DAY, false, false, "nothing"},
    {__LINE__, "08:01:00", MISFIRE_LATEST, 100, 60000, SPAN_DAY, false, false, "08:01"},
    {__LINE__, "08:02:00", MISFIRE_SKIP, 100, 60000, SPAN_DAY, false, false,
     "08:01 08:02"}, /* 60 s late is not > 60 s */
    {__LINE__, "08:02:01", MISFIRE_SKIP, 100, 60000, SPAN_DAY, false, false, "08:02 | misfire 08:01-08:01 1"},
    {__LINE__, "08:02:01", MISFIRE_LATEST, 100, 60000, SPAN_DAY, false, false, "08:01m 08:02"},
    {__LINE__, "08:10:30", MISFIRE_LATEST, 100, 60000, SPAN_DAY, false, false, "08:09m 08:10 | misfire 08:01-08:08 8"},
    {__LINE__, "08:10:30", MISFIRE_SKIP, 100, 60000, SPAN_DAY, false, false, "08:10 | misfire 08:01-08:09 9"},
    {__LINE__, "08:05:30", MISFIRE_ALL, 100, 60000, SPAN_DAY, false, false, "08:01m 08:02m 08:03m 08:04m 08:05"},
    {__LINE__, "08:10:30", MISFIRE_ALL, 2, 60000, SPAN_DAY, false, false,
     "08:08m 08:09m 08:10 | misfire 08:01-08:07 7"},
    {__LINE__, "08:10:30", MISFIRE_ALL, 0, 60000, SPAN_DAY, false, false, "08:10 | misfire 08:01-08:09 9"},
    {__LINE__, "08:10:30", MISFIRE_ALL, 2, 60000, 5 * SPAN_MINUTE, false, false,
     "08:08m 08:09m 08:10 | expired 08:01-08:05 5 | misfire 08:06-08:07 2"},
    {__LINE__, "08:10:30", MISFIRE_LATEST, 100, 60000, 70 * SPAN_SECOND, false, false, "08:10 | expired 08:01-08:09 9"},
    {__LINE__, "08:10:30", MISFIRE_LATEST, 100, 60000, 0, false, false, "08:10 | expired 08:01-08:09 9"},
    {__LINE__, "08:03:30", MISFIRE_LATEST, 100, 0, SPAN_DAY, false, false, "08:03m | misfire 08:01-08:02 2"},
    /* resume: always through the policy, leftovers are "paused" */
    {__LINE__, "08:03:10", MISFIRE_LATEST, 100, 60000, SPAN_DAY, true, false, "08:03m | paused 08:01-08:02 2"},
    {__LINE__, "08:03:10", MISFIRE_SKIP, 100, 60000, SPAN_DAY, true, false, "| paused 08:01-08:03 3"},
    {__LINE__, "08:03:10", MISFIRE_ALL, 2, 60000, SPAN_DAY, true, false, "08:02m 08:03m | paused 08:01-08:01 1"},
    {__LINE__, "08:03:10", MISFIRE_ALL, 9, 60000, SPAN_MINUTE, true, false, "08:03m | paused 08:01-08:02 2"},
    {__LINE__, "08:03:10", MISFIRE_ALL, 2, 60000, SPAN_DAY, true, true, "| paused 08:01-08:03 3"},
};

static void test_policies(void **state)
{
    (void)state;
    struct schedule *schedule = compile("* * * * *");
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        char now[40], text[400];
        struct misfire_plan plan;
        struct misfire_options options = {policies[i].policy,  policies[i].max,    policies[i].threshold,
                                          policies[i].max_age, policies[i].resume, policies[i].skip_all};
        (void)snprintf(now, sizeof now, "2026-10-01T%sZ", policies[i].now);
        assert_int_equal(misfire_decide(schedule, moment("2026-10-01T08:00:00Z"), moment(now), &options, &plan),
                         STATUS_OK);
        if (strcmp(plan_text(&plan, text, sizeof text), policies[i].expected) != 0)
            fail_msg("line %d: %s", policies[i].line, text);
        assert_false(plan.more);
        assert_int_equal(plan.covered.ms, moment(now).ms);
        misfire_plan_release(&plan);
    }
    schedule_free(schedule);
}

/* Ten years of missed seconds: answered at once, from arithmetic. */
static void test_ten_years_are_bounded(void **state)
{
    (void)state;
    struct schedule *schedule = compile("* * * * * ?");
    struct misfire_options options = {MISFIRE_ALL, 100, SPAN_MINUTE, SPAN_HOUR, false, false};
    struct misfire_plan plan;
    assert_int_equal(
        misfire_decide(schedule, moment("2016-10-01T00:00:00Z"), moment("2026-10-01T00:00:00Z"), &options, &plan),
        STATUS_OK);
    assert_int_equal(plan.run_count, 100 + 61);
    assert_int_equal(plan.skip_count, 2);
    assert_int_equal(plan.skips[0].count + plan.skips[1].count + 161, INT64_C(3652) * 86400);
    assert_string_equal(plan.skips[0].reason, "expired");
    misfire_plan_release(&plan);
    schedule_free(schedule);
}

/* ---- a second implementation --------------------------------------------------------------------------------------
 */

#define PROMISED_MAX 20000

struct outcome {
    instant at;
    const char *skip; /* NULL: a run */
    bool misfire;
};

/* Straight from semantics.md: judge each instant by itself, newest first. */
static size_t naive_outcomes(const struct promised *all, size_t count, instant now, const struct misfire_options *o,
                             struct outcome *ret)
{
    size_t n = 0;
    int64_t left = o->skip_all || o->policy == MISFIRE_SKIP ? 0 : o->policy == MISFIRE_LATEST ? 1 : o->max;
    for (size_t i = 0; i < count; i++)
        if (all[i].verdict == VERDICT_FIRE)
            ret[n++] = (struct outcome){all[i].at, NULL, false};
    for (size_t i = n; i-- > 0;) {
        span late = now.ms - ret[i].at.ms;
        if (!o->resume && late <= o->threshold)
            continue;
        if (late > o->max_age)
            ret[i].skip = o->resume ? "paused" : "expired";
        else if (left-- > 0)
            ret[i].misfire = true;
        else
            ret[i].skip = o->resume ? "paused" : "misfire";
    }
    return n;
}

static bool in_range(const struct misfire_plan *plan, size_t k, instant at)
{
    return plan->skips[k].from.ms <= at.ms && at.ms <= plan->skips[k].to.ms;
}

/* A range holds nothing that a calendar or quiet hours took out: that has an outcome of its own. */
static void check_disjoint(const struct misfire_plan *plan, const struct promised *all, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; all[i].verdict != VERDICT_FIRE && k < plan->skip_count; k++)
            assert_false(in_range(plan, k, all[i].at));
}

/* Every outcome is in the plan once: as that run, or in that range. */
static void check_plan(const struct misfire_plan *plan, const struct outcome *wanted, size_t count)
{
    size_t run = 0;
    int64_t counted[PROMISED_MAX] = {0};
    for (size_t i = 0; i < count && wanted[i].at.ms <= plan->covered.ms; i++) {
        if (!wanted[i].skip) {
            assert_true(run < plan->run_count);
            assert_int_equal(plan->runs[run].at.ms, wanted[i].at.ms);
            assert_int_equal(plan->runs[run].misfire, wanted[i].misfire);
            run++;
            continue;
        }
        size_t k = 0;
        while (k < plan->skip_count && !in_range(plan, k, wanted[i].at))
            k++;
        assert_true(k < plan->skip_count);
        assert_string_equal(plan->skips[k].reason, wanted[i].skip);
        counted[k]++;
        if (counted[k] == 1)
            assert_int_equal(plan->skips[k].from.ms, wanted[i].at.ms);
        if (counted[k] == plan->skips[k].count)
            assert_int_equal(plan->skips[k].to.ms, wanted[i].at.ms);
    }
    assert_int_equal(run, plan->run_count);
    for (size_t k = 0; k < plan->skip_count; k++)
        assert_int_equal(counted[k], plan->skips[k].count);
}

static void test_against_naive(void **state)
{
    (void)state;
    static struct promised all[PROMISED_MAX];
    static struct outcome wanted[PROMISED_MAX];
    struct zoneinfo zoneinfo;
    struct rng rng;
    int compiled = 0;
    rng_seed(&rng, 99);
    zoneinfo_init(&zoneinfo);
    const struct zone *zone = zoneinfo_get(&zoneinfo.port, "America/New_York");
    if (!zone)
        skip();
    for (int n = 0; n < 1500; n++) {
        struct random_schedule r;
        instant around = moment(n & 1 ? "2026-03-08T06:00:00Z" : "2026-11-01T05:00:00Z");
        random_schedule_make(&rng, zone, around, &r);
        if (!r.schedule)
            continue;
        compiled++;
        instant after = instant_add(around, -rng_between(&rng, 0, 3 * SPAN_DAY));
        instant now = instant_add(after, rng_between(&rng, 0, 5 * SPAN_DAY));
        struct misfire_options options = {
            (enum misfire_policy)rng_below(&rng, 3), (int)rng_below(&rng, 20), rng_between(&rng, 0, SPAN_DAY),
            rng_between(&rng, 0, 4 * SPAN_DAY),      rng_below(&rng, 3) == 0,  rng_below(&rng, 8) == 0};
        options.skip_all &= options.resume;
        size_t count = naive_promised(&r, after, now, all, PROMISED_MAX);
        size_t outcomes = naive_outcomes(all, count, now, &options, wanted);
        struct misfire_plan plan;
        assert_int_equal(misfire_decide(r.schedule, after, now, &options, &plan), STATUS_OK);
        if (plan.more && plan.run_count) /* the rest comes by asking again, within the threshold then */
            assert_int_equal(plan.covered.ms, plan.runs[plan.run_count - 1].at.ms);
        else if (plan.more)
            assert_int_equal(plan.covered.ms, plan.skips[plan.skip_count - 1].to.ms);
        check_disjoint(&plan, all, count);
        check_plan(&plan, wanted, outcomes);
        misfire_plan_release(&plan);
        schedule_free(r.schedule);
    }
    zoneinfo_release(&zoneinfo);
    assert_true(compiled > 1000);
}

/* More merely late instants than one plan takes: asking again from `covered` gives each of them once. */
static void test_more(void **state)
{
    (void)state;
    struct schedule *schedule = compile("* * * * * ?");
    struct misfire_options options = {MISFIRE_LATEST, 100, SPAN_HOUR, SPAN_DAY, false, false};
    instant after = moment("2026-10-01T00:00:00Z"), now = moment("2026-10-01T00:45:00Z"), last = after;
    int plans = 0;
    for (bool more = true; more; plans++) {
        struct misfire_plan plan;
        assert_int_equal(misfire_decide(schedule, after, now, &options, &plan), STATUS_OK);
        for (size_t i = 0; i < plan.run_count; i++, last = instant_add(last, SPAN_SECOND))
            assert_int_equal(plan.runs[i].at.ms, last.ms + SPAN_SECOND);
        more = plan.more;
        after = plan.covered;
        misfire_plan_release(&plan);
    }
    assert_int_equal(plans, 3);
    assert_int_equal(last.ms, now.ms);
    schedule_free(schedule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_policies),
        cmocka_unit_test(test_ten_years_are_bounded),
        cmocka_unit_test(test_against_naive),
        cmocka_unit_test(test_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
