/* tests/cases/cron.tsv: values that an independent oracle computed. Every row whose semantics are ours is checked,
 * three ways: the listed instants, the same answer from moments between, and a strictly rising sequence beyond them. */
/* cmocka.h wants these before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "core/logic/time/cron.h"
#include "tests/unit/time/zoneinfo.h"

#define ROWS_EXPECTED 151 /* of our semantics; fewer means that the file or this reader lost some */
#define FIELDS 11

static const struct {
    const char *semantics;
    enum dst_gap gap;
    enum dst_overlap overlap;
} settings[] = {
    {"any", DST_GAP_AUTO, DST_OVERLAP_AUTO},        {"quartz", DST_GAP_AUTO, DST_OVERLAP_AUTO},
    {"vixie", DST_GAP_AUTO, DST_OVERLAP_AUTO},      {"strict", DST_GAP_AUTO, DST_OVERLAP_AUTO},
    {"once", DST_GAP_AUTO, DST_OVERLAP_AUTO},       {"once", DST_GAP_SHIFT, DST_OVERLAP_FIRST},
    {"skiponce", DST_GAP_SKIP, DST_OVERLAP_FIRST},  {"instant", DST_GAP_SKIP, DST_OVERLAP_BOTH},
    {"once-vixie", DST_GAP_AUTO, DST_OVERLAP_AUTO}, {"once-vixie", DST_GAP_SHIFT, DST_OVERLAP_FIRST},
};

struct row {
    char *field[FIELDS]; /* id category dialect expression zone from semantics use expected source note */
    int line;
};

static instant moment(const struct row *row, const char *text)
{
    instant t = INSTANT_NONE;
    struct error err = {0};
    if (rfc3339_parse(text, &t, &err) != STATUS_OK)
        fail_msg("line %d: %s: %s", row->line, text, err.text);
    return t;
}

static void expect(const struct row *row, instant got, instant wanted)
{
    char a[RFC3339_SIZE], b[RFC3339_SIZE];
    if (instant_cmp(got, wanted) != 0)
        fail_msg("line %d (%s): %s in %s: got %s, not %s", row->line, row->field[0], row->field[3], row->field[4],
                 instant_cmp(got, INSTANT_MAX) ? rfc3339_format(got, a) : "none",
                 instant_cmp(wanted, INSTANT_MAX) ? rfc3339_format(wanted, b) : "none");
}

/* From every second before an instant (a sample where it is far) the answer is that instant. */
static void expect_from_between(const struct row *row, const struct cron *cron, const struct zone *zone,
                                struct cron_dst dst, instant from, instant wanted)
{
    int64_t distance = wanted.ms - from.ms, step = distance / 997 / 1000 * 1000 + 1000;
    for (int64_t ms = from.ms; ms < wanted.ms; ms += step)
        expect(row, cron_next(cron, zone, dst, (instant){ms}), wanted);
    expect(row, cron_next(cron, zone, dst, (instant){wanted.ms - 1}), wanted);
}

static void expect_rising(const struct row *row, const struct cron *cron, const struct zone *zone, struct cron_dst dst,
                          instant from)
{
    instant t = from;
    for (int i = 0; i < 30; i++) {
        instant next = cron_next(cron, zone, dst, t);
        if (instant_cmp(next, t) <= 0)
            fail_msg("line %d (%s): not strictly later", row->line, row->field[0]);
        if (instant_cmp(next, INSTANT_MAX) == 0)
            return;
        t = next;
    }
    instant back = cron_previous(cron, zone, dst, from, t);
    expect(row, back, t);
    assert_int_equal(cron_count(cron, zone, dst, from, t), 30);
}

static void check_instants(const struct row *row, const struct cron *cron, const struct zone *zone, struct cron_dst dst)
{
    char expected[2048], *rest = expected;
    instant from = moment(row, row->field[5]);
    expect_rising(row, cron, zone, dst, from);
    (void)snprintf(expected, sizeof expected, "%s", row->field[8]);
    for (char *word; (word = strtok_r(rest, " ", &rest));) {
        if (strcmp(word, "NONE") == 0) {
            expect(row, cron_next(cron, zone, dst, from), INSTANT_MAX);
            return;
        }
        instant wanted = moment(row, word);
        expect(row, cron_next(cron, zone, dst, from), wanted);
        expect_from_between(row, cron, zone, dst, from, wanted);
        from = wanted;
    }
}

static void check_row(struct zoneinfo *zoneinfo, const struct row *row, struct cron_dst dst)
{
    const char *text = strcmp(row->field[3], "(empty string)") == 0 ? "" : row->field[3];
    enum cron_dialect dialect = strcmp(row->field[2], "cron5") == 0 ? CRON_UNIX : CRON_QUARTZ;
    bool refused = strcmp(row->field[8], "ERROR") == 0;
    struct cron *cron = NULL;
    struct error err = {0};
    enum status status = cron_parse(text, dialect, NULL, &cron, NULL, &err);
    if ((status == STATUS_OK) == refused)
        fail_msg("line %d (%s): \"%s\" %s: %s", row->line, row->field[0], text,
                 refused ? "should be refused" : "was refused", err.text);
    if (refused) {
        assert_non_null(strstr(err.text, "position"));
        struct cron *automatic = NULL;
        assert_int_not_equal(cron_parse(text, CRON_AUTO, NULL, &automatic, NULL, &err), STATUS_OK);
        return;
    }
    const struct zone *zone = zoneinfo_get(&zoneinfo->port, row->field[4]);
    assert_non_null(zone);
    check_instants(row, cron, zone, dst);
    cron_free(cron);
}

static bool split_row(char *text, struct row *row)
{
    char *rest = text;
    text[strcspn(text, "\r\n")] = '\0';
    for (int i = 0; i < FIELDS; i++)
        if (!(row->field[i] = strsep(&rest, "\t")))
            return i > 9; /* source and note may be empty */
    return true;
}

static void test_rows(void **state)
{
    (void)state;
    struct zoneinfo zoneinfo;
    char text[4096];
    struct row row = {.line = 0};
    int checked = 0;
    FILE *file = fopen(CARILLON_SOURCE_DIR "/tests/cases/cron.tsv", "r");
    assert_non_null(file);
    zoneinfo_init(&zoneinfo);
    while (fgets(text, sizeof text, file)) {
        row.line++;
        if (row.line == 1 || !split_row(text, &row))
            continue;
        bool ours = false;
        for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
            if (strcmp(settings[i].semantics, row.field[6]) == 0) {
                check_row(&zoneinfo, &row, (struct cron_dst){settings[i].gap, settings[i].overlap});
                ours = true;
            }
        checked += ours;
    }
    (void)fclose(file);
    zoneinfo_release(&zoneinfo);
    print_message("%d rows of cron.tsv\n", checked);
    assert_int_equal(checked, ROWS_EXPECTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
