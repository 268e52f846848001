/* Memory that runs out at the n-th allocation, for every n: STATUS_NO_MEMORY, and nothing else happens. The allocator
 * of the C library is replaced in this program; under a sanitizer, which has its own, there is nothing to test. */
/* cmocka.h wants these before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "core/logic/time/cron.h"
#include "core/logic/time/schedule.h"
#include "tests/unit/memory.h"
#include "tests/unit/time/zoneinfo.h"

static enum status try_cron(void)
{
    struct cron *cron = NULL;
    struct error err;
    enum status status =
        cron_parse("0 0 0 1 1 ? 2026-2030; 0 9 * * *; 0 0 0 L * ? 2030", CRON_AUTO, "k", &cron, NULL, &err);
    assert_true((status == STATUS_OK) == (cron != NULL));
    cron_free(cron);
    return status;
}

static unsigned char *zone_bytes;
static size_t zone_length;

static enum status try_zone(void)
{
    struct zone *zone = NULL;
    enum status status = zone_parse("Europe/Berlin", zone_bytes, zone_length, &zone, NULL);
    assert_true((status == STATUS_OK) == (zone != NULL));
    zone_free(zone);
    return status;
}

static enum status make_schedule(struct schedule **ret)
{
    static struct date_range days = {{2026, 10, 1}, {2026, 10, 7}};
    static struct quiet_window night = {79200000, 21600000};
    static const struct calendar_spec calendar = {.name = "c", .excluded = &days, .excluded_count = 1};
    static const struct calendar_spec *const calendars[] = {&calendar};
    static const char *names[] = {"c"};
    struct trigger_spec spec = {.kind = TRIGGER_CRON,
                                .cron = "* * * * *",
                                .calendars = names,
                                .calendar_count = 1,
                                .quiet = &night,
                                .quiet_count = 1};
    struct schedule_context context = {"k", zone_utc(), calendars};
    spec.start = spec.end = INSTANT_NONE;
    return schedule_compile(&spec, &context, ret, NULL);
}

static enum status try_schedule(void)
{
    struct schedule *schedule = NULL;
    enum status status = make_schedule(&schedule);
    assert_true((status == STATUS_OK) == (schedule != NULL));
    schedule_free(schedule);
    return status;
}

static struct schedule *compiled;

static enum status try_misfire(void)
{
    struct misfire_options options = {MISFIRE_ALL, 10, SPAN_MINUTE, SPAN_DAY, false, false};
    struct misfire_plan plan = {.run_count = 77};
    instant now = {INT64_C(1795000000000)};
    enum status status = misfire_decide(compiled, instant_add(now, -SPAN_HOUR), now, &options, &plan);
    assert_true((status == STATUS_OK) == (plan.run_count != 77)); /* untouched on failure */
    if (status == STATUS_OK)
        misfire_plan_release(&plan);
    return status;
}

/* Fails allocation 0, 1, 2, … until one attempt needs no more of them. */
static void exhaust(enum status (*attempt)(void), long at_least)
{
    enum status status = STATUS_NO_MEMORY;
    long n = 0;
    for (; status == STATUS_NO_MEMORY && n < 100; n++) {
        memory_fail_at(n);
        status = attempt();
        memory_fail_at(-1);
    }
    assert_int_equal(status, STATUS_OK);
    assert_true(n - 1 >= at_least);
}

static void test_exhaustion(void **state)
{
    (void)state;
    exhaust(try_cron, 3);
    exhaust(try_schedule, 6);
    assert_int_equal(make_schedule(&compiled), STATUS_OK);
    exhaust(try_misfire, 3);
    schedule_free(compiled);
    zone_bytes = zoneinfo_read("/usr/share/zoneinfo/Europe/Berlin", &zone_length);
    if (zone_bytes)
        exhaust(try_zone, 2);
    free(zone_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_exhaustion)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
