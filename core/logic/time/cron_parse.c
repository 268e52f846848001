/* Cron text as a whole: dialects, macros, several expressions. One field is cron_field.c's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/logic/time/cron_parser.h"

static const struct cron_dialect_rule dialect_rules[] = {
    [CRON_QUARTZ] = {"quartz", 6, 7, CRON_SECOND, 1, 7, true, true, true, true, false, false, false},
    [CRON_UNIX] = {"unix", 5, 5, CRON_MINUTE, 0, 7, false, false, false, false, true, true, false},
    [CRON_SPRING] = {"spring", 6, 6, CRON_SECOND, 0, 7, false, false, false, true, false, true, false},
    [CRON_ANT] = {"ant", 1, 7, CRON_SECOND, 0, 7, false, false, true, true, false, false, true},
};

static const struct macro {
    const char *name;
    const char *expression;
} macros[] = {
    {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"}, {"@weekly", "0 0 * * 0"},
    {"@daily", "0 0 * * *"},  {"@midnight", "0 0 * * *"}, {"@hourly", "0 * * * *"},
};

static const char *const weekday_names[] = {"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"};

/* Digits for weekdays mean other days in other schedulers: spell out how they were read. */
static void warn_weekday(const struct cron_parser *p, const char *begin, const char *end)
{
    char names[40] = "";
    size_t length = 0;
    uint8_t all = cron_named_weekdays(p->expression);
    for (int day = 0; day < 7; day++)
        if (all >> day & 1)
            length +=
                (size_t)snprintf(names + length, sizeof names - length, "%s%s", length ? "," : "", weekday_names[day]);
    faults_warn(p->warnings, "",
                "cron: position %d (day of week): \"%.*s\" means %s here (%s); write names to be safe, for digits "
                "differ between schedulers",
                (int)(begin - p->text) + 1, (int)(end - begin), begin, names,
                p->dialect->sunday_is_one ? "1 = SUN … 7 = SAT" : "0 = SUN … 6 = SAT");
}

static enum status check_days(const struct cron_parser *p, const char *starts[CRON_FIELDS])
{
    struct cron_expression *e = p->expression;
    bool day_question = *starts[CRON_DAY] == '?', weekday_question = *starts[CRON_WEEKDAY] == '?';
    if (p->dialect->one_question && day_question == weekday_question)
        return error_set(p->err, STATUS_INVALID,
                         "cron: position %d (day of month) and %d (day of week): %s; exactly one of the two must be "
                         "'?'%s",
                         (int)(starts[CRON_DAY] - p->text) + 1, (int)(starts[CRON_WEEKDAY] - p->text) + 1,
                         day_question ? "both are '?'" : "neither is '?'",
                         day_question ? "" : " (or take the dialect spring, where both must match)");
    bool star = *starts[CRON_DAY] == '*' || *starts[CRON_WEEKDAY] == '*' || day_question || weekday_question;
    e->both = star || !p->dialect->star_decides;
    return STATUS_OK;
}

struct word {
    const char *begin, *end;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Words between white space; counts further ones than fit. */
static size_t split(const char *begin, const char *end, struct word *ret, size_t cap)
{
    size_t count = 0;
    for (const char *p = begin;;) {
        while (p < end && is_space(*p))
            p++;
        if (p == end)
            return count;
        const char *word = p;
        while (p < end && !is_space(*p))
            p++;
        if (count < cap)
            ret[count] = (struct word){word, p};
        count++;
    }
}

/* What a field is when the dialect has none for it. */
static const char *fallback_field(const struct cron_dialect_rule *dialect, enum cron_field field)
{
    return field == CRON_SECOND && dialect->first != CRON_SECOND ? "0" : "*";
}

static enum status parse_fields(struct cron_parser *p, const struct word *words, size_t count)
{
    const char *starts[CRON_FIELDS];
    for (int f = CRON_SECOND; f < CRON_FIELDS; f++) {
        size_t index = (size_t)(f - (int)p->dialect->first);
        bool given = f >= (int)p->dialect->first && index < count;
        const char *absent = fallback_field(p->dialect, (enum cron_field)f);
        p->field = (enum cron_field)f;
        p->at = starts[f] = given ? words[index].begin : absent;
        p->end = given ? words[index].end : absent + 1;
        p->numeric_weekday = false;
        enum status status = cron_field_parse(p);
        if (status != STATUS_OK)
            return status;
        if (p->numeric_weekday && p->warnings && count > 5)
            warn_weekday(p, words[index].begin, words[index].end);
    }
    return check_days(p, starts);
}

static enum status fail_macro(const struct cron_parser *p, struct word word)
{
    int position = (int)(word.begin - p->text) + 1, length = (int)(word.end - word.begin);
    if (length >= 6 && memcmp(word.begin, "@every", 6) == 0)
        return error_set(p->err, STATUS_INVALID,
                         "cron: position %d: @every is no cron expression; write a trigger with `every:` instead",
                         position);
    return error_set(p->err, STATUS_INVALID,
                     "cron: position %d: unknown macro \"%.*s\"; there are @yearly, @annually, @monthly, @weekly, "
                     "@daily, @midnight, @hourly",
                     position, length, word.begin);
}

static const struct macro *find_macro(struct word word)
{
    size_t length = (size_t)(word.end - word.begin);
    for (size_t i = 0; i < sizeof macros / sizeof *macros; i++)
        if (strlen(macros[i].name) == length && memcmp(macros[i].name, word.begin, length) == 0)
            return &macros[i];
    return NULL;
}

/* A macro is unix text of its own, so a fault in it cannot be the writer's. */
static enum status parse_macro(struct cron_parser *p, struct word word)
{
    const struct macro *macro = find_macro(word);
    if (!macro)
        return fail_macro(p, word);
    struct cron_parser own = *p;
    struct word words[5];
    own.text = macro->expression;
    own.dialect = &dialect_rules[CRON_UNIX];
    own.warnings = NULL;
    return parse_fields(&own, words, split(macro->expression, macro->expression + strlen(macro->expression), words, 5));
}

static enum status fail_count(const struct cron_parser *p, const char *begin, size_t count, enum cron_dialect dialect)
{
    int position = (int)(begin - p->text) + 1;
    if (count == 0)
        return error_set(p->err, STATUS_INVALID, "cron: position %d: the expression is empty", position);
    if (dialect == CRON_AUTO)
        return error_set(p->err, STATUS_INVALID,
                         "cron: position %d: %zu fields; 5 (minute hour day month weekday) or 6 to 7 (second first, "
                         "year last) are needed",
                         position, count);
    const struct cron_dialect_rule *rule = &dialect_rules[dialect];
    return error_set(p->err, STATUS_INVALID, "cron: position %d: %zu fields; the dialect %s has %zu to %zu", position,
                     count, rule->name, rule->fields_low, rule->fields_high);
}

static enum status parse_expression(struct cron_parser *p, const char *begin, const char *end,
                                    enum cron_dialect dialect)
{
    struct word words[CRON_FIELDS];
    size_t count = split(begin, end, words, CRON_FIELDS);
    bool macro = count == 1 && *words[0].begin == '@';
    enum cron_dialect real = dialect != CRON_AUTO ? dialect : count == 5 || macro ? CRON_UNIX : CRON_QUARTZ;
    p->expression->dialect = (uint8_t)real;
    p->dialect = &dialect_rules[real];
    if (macro)
        return parse_macro(p, words[0]);
    if (count < p->dialect->fields_low || count > p->dialect->fields_high)
        return fail_count(p, begin, count, dialect);
    return parse_fields(p, words, count);
}

static size_t count_expressions(const char *text)
{
    size_t count = 1;
    for (; *text; text++)
        count += *text == ';';
    return count;
}

enum status cron_parse(const char *text, enum cron_dialect dialect, const char *key, struct cron **ret,
                       struct faults *warnings, struct error *err)
{
    size_t length = strlen(text), count = count_expressions(text);
    if (length > CRON_TEXT_MAX)
        return error_set(err, STATUS_INVALID, "cron: %zu bytes; %d are allowed", length, CRON_TEXT_MAX);
    if (count > CRON_EXPRESSIONS_MAX)
        return error_set(err, STATUS_INVALID, "cron: %zu expressions joined by ';'; %d are allowed", count,
                         CRON_EXPRESSIONS_MAX);
    struct cron *cron = calloc(1, sizeof *cron + count * sizeof *cron->expressions);
    if (!cron)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    struct cron_parser p = {.text = text, .key = hash_text(key ? key : "", 0), .warnings = warnings, .err = err};
    enum status status = STATUS_OK;
    const char *begin = text;
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        const char *end = strchr(begin, ';');
        p.expression = &cron->expressions[cron->count++];
        status = parse_expression(&p, begin, end ? end : text + length, dialect);
        begin = end ? end + 1 : begin;
    }
    if (status != STATUS_OK) {
        cron_free(cron);
        return status;
    }
    *ret = cron;
    return STATUS_OK;
}

void cron_free(struct cron *cron)
{
    for (size_t i = 0; cron && i < cron->count; i++)
        free(cron->expressions[i].years);
    free(cron);
}

size_t cron_memory(const struct cron *cron)
{
    size_t size = sizeof *cron + cron->count * sizeof *cron->expressions;
    for (size_t i = 0; i < cron->count; i++)
        size += cron->expressions[i].years ? sizeof(struct cron_years) : 0;
    return size;
}
