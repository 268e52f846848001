/* Any bytes as a TZif file, and as a POSIX TZ string. Whatever is accepted must answer every question in bounds, and a
 * cron in it must still move strictly forward. */
#include <string.h>

#include "core/logic/time/cron.h"
#include "core/logic/time/segment.h"
#include "core/logic/time/tzrule.h"
#include "tests/fuzz/fuzz.h"

static void check_moment(const struct zone *zone, instant t)
{
    int64_t second = floor_div(t.ms, 1000);
    struct zone_segment s = zone_segment_at(zone, second);
    fuzz_check(s.offset == zone_offset(zone, t));
    fuzz_check(s.from <= second && second < s.until);
    fuzz_check(strlen(zone_abbreviation(zone, t)) < 512);
    instant next = zone_next_transition(zone, t);
    fuzz_check(next.ms > t.ms);
    struct civil_time local = zone_local(zone, t);
    struct local_instants at = zone_instants(zone, local);
    fuzz_check(at.kind != LOCAL_GAP && at.first.ms <= at.second.ms);
    fuzz_check(at.first.ms <= t.ms);
    fuzz_check(civil_to_instant(zone_local(zone, at.first)).ms == civil_to_instant(local).ms);
    fuzz_check(civil_to_instant(zone_local(zone, at.second)).ms == civil_to_instant(local).ms);
}

static void check_cron(const struct zone *zone, const struct cron *cron, struct cron_dst dst, instant from)
{
    instant t = from;
    for (int i = 1; i <= 12; i++) {
        instant next = cron_next(cron, zone, dst, t);
        fuzz_check(next.ms > t.ms);
        if (instant_cmp(next, INSTANT_MAX) == 0)
            return;
        fuzz_check(cron_next(cron, zone, dst, (instant){next.ms - 1}).ms == next.ms);
        fuzz_check(cron_previous(cron, zone, dst, from, next).ms == next.ms);
        fuzz_check(cron_count(cron, zone, dst, from, next) == i);
        t = next;
    }
}

static void check_zone(const struct zone *zone)
{
    static const char *const texts[] = {"30 2 * * *", "*/20 * * * *", "0 0 1 * *; 15 1 * * *"};
    instant t = {INT64_C(-4000000000000)};
    for (int i = 0; i < 40; i++, t = instant_add(t, 211 * SPAN_DAY + 12345678))
        check_moment(zone, t);
    for (int i = 0; i < 20; i++) { /* and around its own changes */
        t = zone_next_transition(zone, i ? t : (instant){INT64_C(-4000000000000)});
        if (t.ms > INT64_C(100000000000000))
            break;
        check_moment(zone, t);
        check_moment(zone, (instant){t.ms - 1});
        for (size_t k = 0; i < 4 && k < sizeof texts / sizeof *texts; k++) {
            struct cron *cron = NULL;
            if (cron_parse(texts[k], CRON_AUTO, "", &cron, NULL, NULL) != STATUS_OK)
                abort();
            for (unsigned d = 0; d < 4; d++)
                check_cron(zone, cron, (struct cron_dst){d & 1 ? DST_GAP_SKIP : DST_GAP_SHIFT, (enum dst_overlap)d},
                           instant_add(t, -4 * SPAN_HOUR));
            cron_free(cron);
        }
    }
}

static void check_rule(const uint8_t *data, size_t size)
{
    char text[128];
    struct tz_rule rule;
    if (size >= sizeof text)
        return;
    memcpy(text, data, size);
    text[size] = '\0';
    if (tz_rule_parse(text, &rule) != STATUS_OK || !rule.changes)
        return;
    for (int64_t second = -5000000000; second < 9000000000; second += 123456789) {
        struct tz_stretch s = tz_rule_at(&rule, second);
        fuzz_check(s.from <= second && second < s.until);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct zone *zone = NULL;
    struct error err = {.code = STATUS_OK};
    check_rule(data, size);
    if (zone_parse("fuzz/zone", data, size, &zone, &err) == STATUS_OK)
        check_zone(zone);
    else
        fuzz_check(err.code == STATUS_INVALID && err.text[0]);
    zone_free(zone);
    return 0;
}
