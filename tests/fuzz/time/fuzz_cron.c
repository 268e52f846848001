/* Any text as cron expressions. The first two characters choose dialect, zone and DST settings, the rest is the text.
 * What parses must keep the promises of cron.h: strictly later, the same from between, printing reads back, previous
 * and count agree with next. */
#include <string.h>

#include "core/logic/time/cron.h"
#include "tests/fuzz/fuzz.h"

#define HEADER 44 /* bytes of a TZif header: name, version, reserve, six counts */

/* A file of one type, without changes, ruled by its footer alone: summer time each year, for ever. */
static struct zone *new_york(void)
{
    static const char data[] = "\0\0\0\0\0\0EST", footer[] = "\nEST5EDT,M3.2.0,M11.1.0\n";
    static struct zone *zone;
    unsigned char tzif[2 * HEADER + sizeof data + sizeof footer] = {0};
    memcpy(tzif, "TZif2", 5);
    memcpy(tzif + HEADER, "TZif2", 5);
    tzif[HEADER + 39] = 1; /* types */
    tzif[HEADER + 43] = 4; /* bytes of abbreviations */
    memcpy(tzif + 2 * HEADER, data, sizeof data);
    memcpy(tzif + 2 * HEADER + sizeof data, footer, sizeof footer - 1);
    if (!zone)
        fuzz_check(zone_parse("fuzz", tzif, sizeof tzif - 1, &zone, NULL) == STATUS_OK);
    return zone;
}

static void check_sequence(const struct cron *cron, const struct zone *zone, struct cron_dst dst, instant from)
{
    instant t = from, next;
    int64_t count = 0;
    for (; count < 8; t = next, count++) {
        next = cron_next(cron, zone, dst, t);
        if (instant_cmp(next, INSTANT_MAX) == 0)
            break;
        fuzz_check(next.ms > t.ms && next.ms % 1000 == 0);
        fuzz_check(cron_next(cron, zone, dst, (instant){t.ms + (next.ms - t.ms) / 2}).ms == next.ms);
        fuzz_check(cron_next(cron, zone, dst, (instant){next.ms - 1}).ms == next.ms);
        if (next.ms - from.ms > 3000 * SPAN_DAY) /* counting goes by days */
            return;
        fuzz_check(cron_previous(cron, zone, dst, from, next).ms == next.ms);
        fuzz_check(cron_count(cron, zone, dst, from, next) == count + 1);
        fuzz_check(cron_count(cron, zone, dst, from, (instant){next.ms - 1}) == count);
    }
}

static void check_printing(const struct cron *cron, enum cron_dialect dialect, const struct zone *zone,
                           struct cron_dst dst, instant from)
{
    struct str text, again;
    struct cron *second = NULL;
    str_init(&text, 1 << 16);
    str_init(&again, 1 << 16);
    cron_describe(cron, &again);
    str_clear(&again);
    cron_print(cron, &text);
    if (text.length <= CRON_TEXT_MAX) { /* lists of single values may be longer than what was written */
        struct error err = {0};
        fuzz_check(cron_parse(str_text(&text), dialect, "other", &second, NULL, &err) == STATUS_OK);
        cron_print(second, &again);
        fuzz_check(strcmp(str_text(&text), str_text(&again)) == 0);
        fuzz_check(cron_next(cron, zone, dst, from).ms == cron_next(second, zone, dst, from).ms);
    }
    cron_free(second);
    str_release(&text);
    str_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const instant moments[] = {
        {INT64_C(1741420800000)}, {INT64_C(1761969600000)}, {INT64_C(951782400123)}, {-1}};
    struct faults warnings;
    struct error err = {.code = STATUS_OK};
    struct cron *cron = NULL;
    if (size < 2)
        return 0;
    enum cron_dialect dialect = (enum cron_dialect)((uint8_t)(data[0] - '0') % 5);
    unsigned bits = (uint8_t)(data[1] - '0');
    const struct zone *zone = bits & 1 ? new_york() : zone_utc();
    struct cron_dst dst = {(enum dst_gap)(bits / 2 % 3), (enum dst_overlap)(bits / 6 % 4)};
    char *text = malloc(size - 1);
    if (!text)
        return 0;
    memcpy(text, data + 2, size - 2);
    text[size - 2] = '\0';
    faults_init(&warnings);
    if (cron_parse(text, dialect, "key", &cron, &warnings, &err) == STATUS_OK) {
        for (size_t i = 0; i < sizeof moments / sizeof *moments; i++)
            check_sequence(cron, zone, dst, moments[i]);
        check_printing(cron, dialect, zone, dst, moments[0]);
        fuzz_check(warnings.errors == 0);
    } else {
        fuzz_check(err.code == STATUS_INVALID && err.text[0] && !cron);
    }
    cron_free(cron);
    faults_release(&warnings);
    free(text);
    return 0;
}
