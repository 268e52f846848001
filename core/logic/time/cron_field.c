/* One field of a cron expression: values, lists, ranges, steps, names, H, and the special days. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/logic/time/cron_parser.h"

struct field_rule {
    const char *name;
    int low, high;   /* values that may be written */
    int step_high;   /* largest sensible step */
    int spread_high; /* `H` chooses up to here: days 29…31 do not come in every month */
};

static const struct field_rule field_rules[CRON_FIELDS] = {
    [CRON_SECOND] = {"second", 0, 59, 59, 59},
    [CRON_MINUTE] = {"minute", 0, 59, 59, 59},
    [CRON_HOUR] = {"hour", 0, 23, 23, 23},
    [CRON_DAY] = {"day of month", 1, 31, 31, 28},
    [CRON_MONTH] = {"month", 1, 12, 12, 12},
    [CRON_WEEKDAY] = {"day of week", 0, 7, 7, 6},
    [CRON_YEAR] = {"year", CRON_YEAR_FIRST, CRON_YEAR_LAST, CRON_YEAR_LAST, CRON_YEAR_LAST},
};

static const char month_names[] = "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC";
static const char weekday_names[] = "SUNMONTUEWEDTHUFRISAT";

static enum status fail_at(const struct cron_parser *p, const char *at, const char *reason)
{
    return error_set(p->err, STATUS_INVALID, "cron: position %d (%s): %s", (int)(at - p->text) + 1,
                     field_rules[p->field].name, reason);
}

static enum status fail(const struct cron_parser *p, const char *reason)
{
    return fail_at(p, p->at, reason);
}

/* ---- pieces of a field --------------------------------------------------------------------------------------------
 */

static char upper(char c)
{
    return (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
}

static bool is_letter(char c)
{
    return upper(c) >= 'A' && upper(c) <= 'Z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool take(struct cron_parser *p, char c)
{
    if (p->at == p->end || upper(*p->at) != c)
        return false;
    p->at++;
    return true;
}

static char peek(const struct cron_parser *p, size_t ahead)
{
    return (char)((size_t)(p->end - p->at) > ahead ? upper(p->at[ahead]) : '\0');
}

static int value_low(const struct cron_parser *p)
{
    return p->field == CRON_WEEKDAY ? p->dialect->weekday_low : field_rules[p->field].low;
}

static int value_high(const struct cron_parser *p)
{
    return p->field == CRON_WEEKDAY ? p->dialect->weekday_high : field_rules[p->field].high;
}

static enum status take_digits(struct cron_parser *p, int *ret)
{
    const char *begin = p->at;
    int value = 0;
    if (!is_digit(peek(p, 0)))
        return fail(p, p->at == p->end ? "a number is missing" : "a number is expected here");
    for (; p->at < p->end && is_digit(*p->at); p->at++) {
        if (value > 9999)
            return fail_at(p, begin, "the number is too big");
        value = value * 10 + (*p->at - '0');
    }
    *ret = value;
    return STATUS_OK;
}

/* JAN…DEC and SUN…SAT, exactly three letters, but for the `L` of "FRIL". */
static enum status take_name(struct cron_parser *p, int *ret)
{
    const char *names = p->field == CRON_MONTH ? month_names : p->field == CRON_WEEKDAY ? weekday_names : "";
    size_t count = strlen(names) / 3, letters = 0;
    while (is_letter(peek(p, letters)))
        letters++;
    bool last = p->field == CRON_WEEKDAY && letters == 4 && peek(p, 3) == 'L';
    for (size_t i = 0; i < count && (letters == 3 || last); i++) {
        const char *name = names + i * 3;
        if (peek(p, 0) == name[0] && peek(p, 1) == name[1] && peek(p, 2) == name[2]) {
            p->at += 3;
            *ret = (int)i + (p->field == CRON_MONTH || p->dialect->sunday_is_one);
            return STATUS_OK;
        }
    }
    return fail(p, p->field == CRON_MONTH     ? "unknown name; months are JAN … DEC, three letters each"
                   : p->field == CRON_WEEKDAY ? "unknown name; week days are SUN … SAT, three letters each"
                                              : "a letter has no meaning here");
}

static enum status take_value(struct cron_parser *p, int *ret)
{
    const char *begin = p->at;
    char reason[96];
    *ret = 0;
    if (is_letter(peek(p, 0)))
        return take_name(p, ret);
    enum status status = take_digits(p, ret);
    if (status != STATUS_OK)
        return status;
    if (*ret < value_low(p) || *ret > value_high(p)) {
        (void)snprintf(reason, sizeof reason, "%d is outside of %d…%d", *ret, value_low(p), value_high(p));
        return fail_at(p, begin, reason);
    }
    p->numeric_weekday |= p->field == CRON_WEEKDAY;
    return STATUS_OK;
}

/* Value as written → bit of the field. Weekdays: 0 = Sunday inside; the Ant dialect's 7 stands for no day. */
static void set_bit(struct cron_parser *p, int value)
{
    struct cron_expression *e = p->expression;
    switch (p->field) {
    case CRON_SECOND:
        e->seconds |= UINT64_C(1) << value;
        break;
    case CRON_MINUTE:
        e->minutes |= UINT64_C(1) << value;
        break;
    case CRON_HOUR:
        e->hours |= UINT32_C(1) << value;
        break;
    case CRON_DAY:
        e->days |= UINT32_C(1) << value;
        break;
    case CRON_MONTH:
        e->months |= UINT32_C(1) << value;
        break;
    case CRON_WEEKDAY:
        value -= p->dialect->sunday_is_one;
        if (value < 7 || p->dialect->seven_is_sunday)
            e->weekdays = (uint8_t)(e->weekdays | 1U << value % 7);
        break;
    case CRON_YEAR:
        e->years->words[(value - CRON_YEAR_FIRST) / 64] |= UINT64_C(1) << (value - CRON_YEAR_FIRST) % 64;
        break;
    case CRON_FIELDS:
    default:
        break;
    }
}

/* Every `step`-th value; a range may wrap around, counted on from its first value. */
static void set_range(struct cron_parser *p, int first, int last, int step)
{
    int low = value_low(p), size = value_high(p) - low + 1;
    int length = last >= first ? last - first : last - first + size;
    for (int i = 0; i <= length; i += step)
        set_bit(p, low + (first - low + i) % size);
}

/* "/n" after a range; absent = 1. */
static enum status take_step(struct cron_parser *p, bool *ret_given, int *ret)
{
    const char *begin = p->at;
    char reason[120];
    *ret = 1;
    *ret_given = take(p, '/');
    if (!*ret_given)
        return STATUS_OK;
    enum status status = take_digits(p, ret);
    if (status != STATUS_OK)
        return status;
    if (*ret == 0)
        return fail_at(p, begin, "a step of 0 never moves on; the smallest is 1");
    int high = field_rules[p->field].step_high;
    if (*ret <= high)
        return STATUS_OK;
    (void)snprintf(reason, sizeof reason, "a step of %d is longer than the field; the largest is %d", *ret, high);
    if (p->dialect->strict_step)
        return fail_at(p, begin, reason);
    if (p->warnings)
        faults_warn(p->warnings, "", "cron: position %d (%s): %s, so it matches its first value alone",
                    (int)(begin - p->text) + 1, field_rules[p->field].name, reason);
    return STATUS_OK;
}

/* `H`, `H(a-b)`, each with an optional step: a place chosen by the key, the same for ever. */
static enum status take_spread(struct cron_parser *p)
{
    const char *begin = p->at++;
    int low = value_low(p), high = field_rules[p->field].spread_high, step;
    bool stepped;
    if (p->field == CRON_YEAR)
        return fail_at(p, begin, "H has no meaning for years");
    if (p->field == CRON_WEEKDAY)
        high = low + 6;
    if (take(p, '(')) {
        enum status status = take_value(p, &low);
        if (status == STATUS_OK && !take(p, '-'))
            return fail(p, "H(a-b) needs a '-' here");
        if (status == STATUS_OK)
            status = take_value(p, &high);
        if (status != STATUS_OK)
            return status;
        if (!take(p, ')'))
            return fail(p, "H(a-b) needs a ')' here");
        if (low > high)
            return fail_at(p, begin, "H(a-b) needs a <= b");
    }
    enum status status = take_step(p, &stepped, &step);
    if (status != STATUS_OK)
        return status;
    int size = high - low + 1, choices = stepped && step < size ? step : size;
    int chosen = (int)(hash_mix(p->key + (uint64_t)p->field) % (uint64_t)choices);
    set_range(p, low + chosen, stepped ? high : low + chosen, stepped ? step : 1);
    return STATUS_OK;
}

/* a, a-b, a/s, a-b/s, *, * /s; one member of a list. */
static enum status take_member(struct cron_parser *p)
{
    const char *begin = p->at;
    int first = value_low(p), last = value_high(p), step;
    bool stepped, range = true;
    enum status status = STATUS_OK;
    if (peek(p, 0) == 'H')
        return take_spread(p);
    /* Quartz lets "/5" stand for every fifth from the field's start */
    if (!take(p, '*') && !(peek(p, 0) == '/' && p->dialect->one_question)) {
        status = take_value(p, &first);
        range = status == STATUS_OK && take(p, '-');
        if (range)
            status = take_value(p, &last);
        if (status != STATUS_OK)
            return status;
        if (range && first > last && !p->dialect->wraps)
            return fail_at(p, begin, "the range runs backwards; write two, joined by a comma");
    }
    status = take_step(p, &stepped, &step);
    if (status != STATUS_OK)
        return status;
    set_range(p, first, range || stepped ? last : first, step);
    return STATUS_OK;
}

/* ---- special days -------------------------------------------------------------------------------------------------
 */

#define ALONE "L, W and # stand alone in their field; join several expressions with ';'"

static enum status expect_end(struct cron_parser *p)
{
    if (p->at == p->end)
        return STATUS_OK;
    return fail(p, peek(p, 0) == ',' ? ALONE : "unexpected character");
}

/* L, L-n, LW, L-nW, nW. *ret_taken = false: none of them. */
static enum status take_special_day(struct cron_parser *p, bool *ret_taken)
{
    struct cron_expression *e = p->expression;
    const char *begin = p->at;
    int n = 0;
    *ret_taken = true;
    if (take(p, 'L')) {
        if (take(p, '-')) {
            enum status status = take_digits(p, &n);
            if (status != STATUS_OK)
                return status;
            if (n > 30)
                return fail_at(p, begin, "no month has so many days; L-n goes to L-30");
        }
        *(take(p, 'W') ? &e->workdays_from_end : &e->days_from_end) |= UINT32_C(1) << n;
        return expect_end(p);
    }
    size_t digits = 0;
    while (is_digit(peek(p, digits)))
        digits++;
    *ret_taken = digits && peek(p, digits) == 'W';
    if (!*ret_taken)
        return STATUS_OK;
    enum status status = take_value(p, &n);
    if (status != STATUS_OK)
        return status;
    p->at++;
    e->workdays |= UINT32_C(1) << n;
    return expect_end(p);
}

/* "#n", "#Ln" or "L" behind a weekday: moves what set_bit gathered to its place. */
static enum status take_nth(struct cron_parser *p)
{
    struct cron_expression *e = p->expression;
    const char *begin = p->at;
    int n = 1;
    bool from_end = take(p, 'L');
    if (!from_end) {
        p->at++; /* # */
        from_end = take(p, 'L');
        enum status status = take_digits(p, &n);
        if (status != STATUS_OK)
            return status;
        if (n < 1 || n > 5)
            return fail_at(p, begin, "a month has 1 to 5 of a week day");
    }
    int index = n - 1 + (from_end ? CRON_NTH_LAST : 0);
    e->nth[index] = e->weekdays;
    e->weekdays = 0;
    return expect_end(p);
}

/* Quartz: a lone L is the last day of the week. dL, d#n, and in the Ant dialect d-d#n. */
static enum status take_special_weekday(struct cron_parser *p, bool *ret_taken)
{
    const char *mark = p->at;
    while (mark < p->end && *mark != '#' && *mark != ',' && *mark != '/')
        mark++;
    bool last = mark > p->at && upper(mark[-1]) == 'L';
    *ret_taken = last || (mark < p->end && *mark == '#');
    if (!*ret_taken)
        return STATUS_OK;
    if (peek(p, 0) == 'L') {
        p->at++;
        p->expression->weekdays |= 1U << 6;
        return expect_end(p);
    }
    int first = 0, second;
    enum status status = take_value(p, &first);
    if (status != STATUS_OK)
        return status;
    second = first;
    if (p->dialect->loose && take(p, '-'))
        status = take_value(p, &second);
    if (status != STATUS_OK)
        return status;
    set_range(p, first, second, 1);
    if (peek(p, 0) != 'L' && peek(p, 0) != '#')
        return fail(p, "unexpected character");
    return take_nth(p);
}

/* ---- fields -------------------------------------------------------------------------------------------------------
 */

static enum status parse_list(struct cron_parser *p)
{
    bool taken = false;
    enum status status = p->field == CRON_DAY       ? take_special_day(p, &taken)
                         : p->field == CRON_WEEKDAY ? take_special_weekday(p, &taken)
                                                    : STATUS_OK;
    if (taken || status != STATUS_OK)
        return status;
    do {
        if ((status = take_member(p)) != STATUS_OK)
            return status;
    } while (take(p, ','));
    if (p->at == p->end)
        return STATUS_OK;
    char c = peek(p, 0);
    if (p->field == CRON_DAY || p->field == CRON_WEEKDAY)
        if (c == 'L' || c == 'W' || c == '#')
            return fail(p, ALONE);
    return fail(p, "unexpected character");
}

uint8_t cron_named_weekdays(const struct cron_expression *e)
{
    uint8_t all = e->weekdays;
    for (size_t i = 0; i < CRON_NTH; i++)
        all |= e->nth[i];
    return all;
}

/* A leading star and every year there is: any year, as if `*` alone had been written. Years that are listed one by one
 * end where the list ends. */
static void forget_years(struct cron_expression *e)
{
    if (!(e->stars >> CRON_YEAR & 1))
        return;
    for (int bit = 0; bit <= CRON_YEAR_LAST - CRON_YEAR_FIRST; bit++)
        if (!(e->years->words[bit / 64] >> bit % 64 & 1))
            return;
    free(e->years);
    e->years = NULL;
}

enum status cron_field_parse(struct cron_parser *p)
{
    struct cron_expression *e = p->expression;
    bool day = p->field == CRON_DAY, weekday = p->field == CRON_WEEKDAY;
    size_t length = (size_t)(p->end - p->at);
    bool star = *p->at == '*', question = *p->at == '?';
    bool whole = (length == 1 && (star || question)) || (length == 3 && memcmp(p->at, "*/1", 3) == 0);
    if (question) {
        if (!day && !weekday && !p->dialect->loose)
            return fail(p, "'?' has a meaning for the day fields only; write '*'");
        if (length > 1)
            return fail(p, "'?' stands alone");
    }
    if (day)
        e->any_day = whole;
    if (weekday)
        e->any_weekday = whole;
    if (p->field == CRON_YEAR) {
        if (whole)
            return STATUS_OK;
        if (!(e->years = calloc(1, sizeof *e->years)))
            return error_set(p->err, STATUS_NO_MEMORY, "out of memory");
    }
    if (star || question || *p->at == '/')
        e->stars = (uint8_t)(e->stars | 1U << p->field);
    e->wild = e->stars & (1U << CRON_MINUTE | 1U << CRON_HOUR);
    if (whole) {
        set_range(p, value_low(p), value_high(p), 1);
        return STATUS_OK;
    }
    const char *begin = p->at;
    enum status status = parse_list(p);
    if (status == STATUS_OK && p->field == CRON_YEAR)
        forget_years(e);
    if (status != STATUS_OK || !weekday)
        return status;
    return cron_named_weekdays(e) ? STATUS_OK : fail_at(p, begin, "7 is no day here; Sunday is 0");
}
