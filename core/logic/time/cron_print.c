#include "core/logic/time/cron_fields.h"

static const char *const weekday_names[] = {"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"};
static const char *const month_names[] = {"",    "JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                          "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};

/* One field's values: bit (v − base) of words, for v = low … high. */
struct values {
    const uint64_t *words;
    int base, low, high;
    const char *const *names; /* NULL: numbers */
};

static bool has(const struct values *v, int value)
{
    int bit = value - v->base;
    return v->words[bit / 64] >> bit % 64 & 1;
}

static void add_value(struct str *ret, const struct values *v, int value)
{
    if (v->names)
        str_add(ret, v->names[value]);
    else
        str_add_i64(ret, value);
}

static bool has_all(const struct values *v)
{
    for (int i = v->low; i <= v->high; i++)
        if (!has(v, i))
            return false;
    return true;
}

/* "1,3-5", without every `skip`-th value from the lowest (0: none left out). */
static void add_list(struct str *ret, const struct values *v, int skip, bool comma)
{
    for (int i = v->low; i <= v->high; i++) {
        if (!has(v, i) || (skip && (i - v->low) % skip == 0))
            continue;
        int last = i;
        while (!skip && last < v->high && has(v, last + 1))
            last++;
        if (comma)
            str_add_char(ret, ',');
        comma = true;
        add_value(ret, v, i);
        if (last > i) {
            str_add_char(ret, last == i + 1 ? ',' : '-');
            add_value(ret, v, last);
        }
        i = last;
    }
}

static bool has_steps(const struct values *v, int step)
{
    for (int i = v->low; i <= v->high; i += step)
        if (!has(v, i))
            return false;
    return true;
}

/* A leading star has a meaning of its own (wild, Vixie's rule), so what began with one begins with one again. */
static void add_values(struct str *ret, const struct values *v, bool star)
{
    if (star) {
        int step = 1;
        while (!has_steps(v, step))
            step++;
        str_add_char(ret, '*');
        if (step > 1)
            str_addf(ret, "/%d", step);
        if (!has_all(v))
            add_list(ret, v, step, true);
    } else if (has_all(v) && v->base != CRON_YEAR_FIRST) {
        add_value(ret, v, v->low);
        str_add_char(ret, '-');
        add_value(ret, v, v->high);
    } else {
        add_list(ret, v, 0, false);
    }
}

static void add_time(struct str *ret, const struct cron_expression *e, enum cron_field field)
{
    uint64_t bits = field == CRON_SECOND ? e->seconds : field == CRON_MINUTE ? e->minutes : e->hours;
    add_values(ret, &(struct values){&bits, 0, 0, field == CRON_HOUR ? 23 : 59, NULL}, e->stars >> field & 1);
}

static void add_months(struct str *ret, const struct cron_expression *e)
{
    uint64_t bits = e->months;
    add_values(ret, &(struct values){&bits, 0, 1, 12, month_names}, e->stars >> CRON_MONTH & 1);
}

static void add_years(struct str *ret, const struct cron_expression *e)
{
    add_values(ret, &(struct values){e->years->words, CRON_YEAR_FIRST, CRON_YEAR_FIRST, CRON_YEAR_LAST, NULL},
               e->stars >> CRON_YEAR & 1);
}

static void add_days(struct str *ret, const struct cron_expression *e)
{
    uint64_t bits = e->days;
    if (e->days_from_end | e->workdays_from_end) {
        int n = __builtin_ctz(e->days_from_end | e->workdays_from_end);
        str_add_char(ret, 'L');
        if (n)
            str_addf(ret, "-%d", n);
        if (e->workdays_from_end)
            str_add_char(ret, 'W');
    } else if (e->workdays) {
        str_addf(ret, "%dW", __builtin_ctz(e->workdays));
    } else {
        add_values(ret, &(struct values){&bits, 0, 1, 31, NULL}, e->stars >> CRON_DAY & 1);
    }
}

/* A set of weekdays that may run over the end of the week: "FRI-MON". */
static void add_week_range(struct str *ret, unsigned days)
{
    int first = 0, last;
    for (int i = 0; i < 7; i++)
        if ((days >> i & 1) && !(days >> (i + 6) % 7 & 1))
            first = i;
    for (last = first; (days >> (last + 1) % 7 & 1) && (last + 1) % 7 != first; last++)
        ;
    str_add(ret, weekday_names[first]);
    if (last != first)
        str_addf(ret, "-%s", weekday_names[last % 7]);
}

static void add_weekdays(struct str *ret, const struct cron_expression *e)
{
    for (int i = 0; i < CRON_NTH; i++) {
        if (!e->nth[i])
            continue;
        add_week_range(ret, e->nth[i]);
        if (i < CRON_NTH_LAST)
            str_addf(ret, "#%d", i + 1);
        else if (i == CRON_NTH_LAST)
            str_add_char(ret, 'L');
        else
            str_addf(ret, "#L%d", i - CRON_NTH_LAST + 1);
        return;
    }
    /* "every other day" of a week means days 0, 2, 4, 6 and, in some dialects, 7: star or not, days are listed */
    uint64_t bits = e->weekdays;
    bool star = e->stars >> CRON_WEEKDAY & 1;
    if (star && !e->any_weekday) {
        const struct values v = {&bits, 0, 0, 6, NULL};
        int step = 1;
        while (step < 7 && !has_steps(&v, step))
            step++;
        str_addf(ret, "*/%d,", step);
    } else if (star) {
        str_add_char(ret, '*');
        return;
    }
    add_list(ret, &(struct values){&bits, 0, 0, 6, weekday_names}, 0, false);
}

static void add_expression(struct str *ret, const struct cron_expression *e)
{
    bool question = e->dialect == CRON_QUARTZ;
    if (e->dialect != CRON_UNIX) {
        add_time(ret, e, CRON_SECOND);
        str_add_char(ret, ' ');
    }
    add_time(ret, e, CRON_MINUTE);
    str_add_char(ret, ' ');
    add_time(ret, e, CRON_HOUR);
    str_add_char(ret, ' ');
    if (question && !e->any_weekday)
        str_add_char(ret, '?');
    else if (e->any_day)
        str_add_char(ret, '*');
    else
        add_days(ret, e);
    str_add_char(ret, ' ');
    add_months(ret, e);
    str_add_char(ret, ' ');
    if (e->any_weekday)
        str_add_char(ret, question ? '?' : '*');
    else
        add_weekdays(ret, e);
    if (e->years) {
        str_add_char(ret, ' ');
        add_years(ret, e);
    }
}

void cron_print(const struct cron *cron, struct str *ret)
{
    for (size_t i = 0; i < cron->count; i++) {
        if (i)
            str_add(ret, "; ");
        add_expression(ret, &cron->expressions[i]);
    }
}

/* ---- in words -----------------------------------------------------------------------------------------------------
 */

static bool single(uint64_t bits)
{
    return bits && !(bits & (bits - 1));
}

static void describe_time(struct str *ret, const struct cron_expression *e)
{
    if (single(e->hours) && single(e->minutes) && single(e->seconds)) {
        str_addf(ret, "at %02d:%02d:%02d", __builtin_ctz(e->hours), __builtin_ctzll(e->minutes),
                 __builtin_ctzll(e->seconds));
        return;
    }
    static const struct {
        enum cron_field field;
        const char *name;
    } parts[] = {{CRON_HOUR, "hour "}, {CRON_MINUTE, ", minute "}, {CRON_SECOND, ", second "}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        str_add(ret, parts[i].name);
        add_time(ret, e, parts[i].field);
    }
}

static void describe_days(struct str *ret, const struct cron_expression *e)
{
    if (e->any_day && e->any_weekday) {
        str_add(ret, ", every day");
        return;
    }
    if (!e->any_day) {
        str_add(ret, ", day of month ");
        add_days(ret, e);
    }
    if (!e->any_day && !e->any_weekday)
        str_add(ret, e->both ? " that is also" : " or");
    if (!e->any_weekday) {
        str_add(ret, e->any_day ? ", on " : " ");
        add_weekdays(ret, e);
    }
}

void cron_describe(const struct cron *cron, struct str *ret)
{
    for (size_t i = 0; i < cron->count; i++) {
        const struct cron_expression *e = &cron->expressions[i];
        if (i)
            str_add(ret, "; ");
        describe_time(ret, e);
        describe_days(ret, e);
        if ((e->months & 0x1ffe) != 0x1ffe) {
            str_add(ret, ", in ");
            add_months(ret, e);
        }
        if (e->years) {
            str_add(ret, ", year ");
            add_years(ret, e);
        }
    }
}
