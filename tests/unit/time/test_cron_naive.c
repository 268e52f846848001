/* The search of cron expressions against a slow second implementation. */
#include "core/base/rng.h"
#include "tests/unit/time/cron_support.h"

/* Walks every local second… of chosen times over a few days, maps each by zone_instants and the policy, sorts. */
struct naive {
    bool minutes[60], hours[24], days[32], weekdays[7];
    bool wild, day_given, weekday_given;
    int second;
    char text[512];
};

static void append(char *text, size_t size, int value, bool *first)
{
    (void)snprintf(text + strlen(text), size - strlen(text), "%s%d", *first ? "" : ",", value);
    *first = false;
}

static void random_list(struct rng *rng, struct naive *n, bool *set, int low, int high, uint64_t many)
{
    bool first = true;
    for (uint64_t i = rng_below(rng, many) + 1; i; i--) {
        int value = (int)rng_between(rng, low, high);
        if (!set[value])
            append(n->text, sizeof n->text, value, &first);
        set[value] = true;
    }
    strcat(n->text, " ");
}

static void random_star(struct naive *n, bool *set, int low, int high, int step)
{
    for (int i = low; i <= high; i += step)
        set[i] = true;
    (void)snprintf(n->text + strlen(n->text), sizeof n->text - strlen(n->text), step > 1 ? "*/%d " : "* ", step);
}

static void random_expression(struct rng *rng, struct naive *n)
{
    *n = (struct naive){.second = (int)rng_below(rng, 60)};
    (void)snprintf(n->text, sizeof n->text, "%d ", n->second);
    for (int field = 0; field < 2; field++) {
        bool *set = field ? n->hours : n->minutes;
        int high = field ? 23 : 59;
        if (rng_below(rng, 3) == 0) {
            n->wild = true;
            random_star(n, set, 0, high, (int)rng_between(rng, 1, 20));
        } else {
            random_list(rng, n, set, 0, field ? 4 : 59, 4); /* early hours: there the clocks change */
        }
    }
    n->day_given = rng_below(rng, 3) == 0;
    n->weekday_given = rng_below(rng, 3) == 0;
    if (n->day_given)
        random_list(rng, n, n->days, 1, 31, 12);
    else
        random_star(n, n->days, 1, 31, 1);
    strcat(n->text, "* ");
    if (n->weekday_given)
        random_list(rng, n, n->weekdays, 0, 6, 3);
    else
        random_star(n, n->weekdays, 0, 6, 1);
}

static void naive_add(instant *list, size_t *count, instant t)
{
    size_t i = *count;
    while (i && list[i - 1].ms >= t.ms) {
        if (list[i - 1].ms == t.ms)
            return;
        i--;
    }
    memmove(list + i + 1, list + i, (*count - i) * sizeof *list);
    list[i] = t;
    ++*count;
}

static void naive_map(const struct naive *n, const struct zone *zone, struct cron_dst dst, struct civil_time local,
                      instant *list, size_t *count)
{
    struct local_instants at = zone_instants(zone, local);
    bool both = n->wild || dst.overlap == DST_OVERLAP_BOTH;
    if (at.kind == LOCAL_GAP) {
        if (!n->wild && dst.gap != DST_GAP_SKIP)
            naive_add(list, count, at.first);
        return;
    }
    if (both || dst.overlap != DST_OVERLAP_LAST)
        naive_add(list, count, at.first);
    if (both || dst.overlap == DST_OVERLAP_LAST)
        naive_add(list, count, at.second);
}

#define NAIVE_MAX 20000

static size_t naive_list(const struct naive *n, const struct zone *zone, struct cron_dst dst, int64_t first_day,
                         int64_t last_day, instant *list)
{
    size_t count = 0;
    for (int64_t day = first_day; day <= last_day; day++) {
        struct civil_date date = civil_from_days(day);
        if (!n->days[date.day] || !n->weekdays[civil_weekday(day)])
            continue;
        for (int minute = 0; minute < 1440; minute++)
            if (n->hours[minute / 60] && n->minutes[minute % 60])
                naive_map(n, zone, dst, (struct civil_time){date, minute / 60, minute % 60, n->second, 0}, list,
                          &count);
    }
    return count;
}

static void check_naive(struct rng *rng, const struct zone *zone, instant change, instant *list)
{
    struct naive n;
    struct cron_dst dst = {(enum dst_gap)rng_below(rng, 3), (enum dst_overlap)rng_below(rng, 4)};
    random_expression(rng, &n);
    struct cron *cron = parse(n.text, CRON_SPRING, NULL);
    int64_t day = change.ms / SPAN_DAY - (change.ms % SPAN_DAY < 0);
    size_t count = naive_list(&n, zone, dst, day - 6, day + 6, list);
    instant from = {(day - 4) * SPAN_DAY}, until = {(day + 4) * SPAN_DAY}, t = from;
    int64_t within = 0;
    for (size_t i = 0; i < count; i++) {
        if (list[i].ms <= from.ms || list[i].ms > until.ms)
            continue;
        within++;
        /* from the instant before, and from a moment between */
        instant between = {rng_between(rng, t.ms, list[i].ms - 1)};
        if (cron_next(cron, zone, dst, t).ms != list[i].ms || cron_next(cron, zone, dst, between).ms != list[i].ms)
            fail_msg("%s in %s gap %d overlap %d after %lld: %lld, not %lld", n.text, zone_name(zone), dst.gap,
                     dst.overlap, (long long)t.ms, (long long)cron_next(cron, zone, dst, t).ms, (long long)list[i].ms);
        instant back = {rng_between(rng, list[i].ms, i + 1 < count ? list[i + 1].ms - 1 : list[i].ms)};
        assert_int_equal(cron_previous(cron, zone, dst, from, back).ms, list[i].ms);
        assert_int_equal(cron_count(cron, zone, dst, from, back), within);
        t = list[i];
    }
    assert_true(cron_next(cron, zone, dst, t).ms > until.ms);
    assert_int_equal(cron_count(cron, zone, dst, from, until), within);
    cron_free(cron);
}

static void test_against_naive(void **state)
{
    (void)state;
    static const char *const names[] = {"America/New_York",  "Europe/Berlin", "Australia/Lord_Howe", "Europe/Dublin",
                                        "America/Sao_Paulo", "Africa/Cairo",  "Pacific/Apia",        "America/Nuuk"};
    struct zoneinfo zoneinfo;
    struct rng rng;
    instant *list = calloc(NAIVE_MAX, sizeof *list);
    assert_non_null(list);
    rng_seed(&rng, 42);
    zoneinfo_init(&zoneinfo);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct zone *zone = zoneinfo_get(&zoneinfo.port, names[i]);
        if (!zone)
            skip();
        instant change = moment("2009-01-01T00:00:00Z");
        for (int n = 0; n < 150; n++) {
            change = zone_next_transition(zone, change);
            if (instant_cmp(change, INSTANT_MAX) == 0)
                change = moment("2009-01-01T00:00:00Z");
            check_naive(&rng, zone, change, list);
        }
    }
    free(list);
    zoneinfo_release(&zoneinfo);
}

/* The union of several expressions is counted without doubles. */
static void test_count_of_several(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 5);
    struct zoneinfo zoneinfo;
    zoneinfo_init(&zoneinfo);
    const struct zone *zone = zoneinfo_get(&zoneinfo.port, "America/New_York");
    if (!zone)
        skip();
    static const char *const texts[] = {
        "0 0/7 1-3 * * ?; 0 0/5 * * * ?; 3 30 2 ? * MON-FRI",
        "0 30 2 * * ?; 0 45 2 * * ?; 0 0 3 * * ?",
        "0 30 1 * * ?; 0 */30 1 * * ?",
        "0 0 * * * ?; 0 0 1,2,3 1-15 * ?; 0 0 0 L * ?; 0 0 12 15W * ?",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct cron *cron = parse(texts[i], CRON_AUTO, NULL);
        for (int n = 0; n < 60; n++) {
            struct cron_dst dst = {(enum dst_gap)rng_below(&rng, 3), (enum dst_overlap)rng_below(&rng, 4)};
            instant from = moment(n & 1 ? "2025-03-08T00:00:00Z" : "2025-11-01T00:00:00Z");
            from.ms += rng_between(&rng, 0, 2 * SPAN_DAY);
            instant until = instant_add(from, rng_between(&rng, 0, 3 * SPAN_DAY)), t = from, last = INSTANT_NONE;
            int64_t count = 0;
            while ((t = cron_next(cron, zone, dst, t)).ms <= until.ms) {
                last = t;
                count++;
            }
            assert_int_equal(cron_count(cron, zone, dst, from, until), count);
            assert_int_equal(cron_previous(cron, zone, dst, from, until).ms, last.ms);
        }
        cron_free(cron);
    }
    zoneinfo_release(&zoneinfo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_naive), cmocka_unit_test(test_count_of_several)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
