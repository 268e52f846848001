#include "core/logic/text/expression.h"

#include <string.h>

#include "core/logic/text/number.h"
#include "core/logic/text/parser.h"
#include "core/logic/text/timeexpr.h"
#include "core/model/limits.h"

/* Grammar, loosest binding first; each line is a function below:
 *
 *   or          and { ("||" | "or") and }
 *   and         not { ("&&" | "and") not }
 *   not         { "!" | "not" } comparison
 *   comparison  coalesce [ ("==" | "!=" | "<" | "<=" | ">" | ">=") coalesce ]
 *   coalesce    sum { "??" sum }
 *   sum         product { ("+" | "-") ( term | product ) }        term: digits and a unit of time, 3d
 *   product     unary { ("*" | "/" | "%") unary }
 *   unary       { "-" } postfix
 *   postfix     primary { "." name | "[" or "]" }
 *   primary     number | text | "true" | "false" | "null" | name | name "(" [ or { "," or } ] ")" | "(" or ")"
 *
 * Evaluation happens while parsing; what a short cut leaves out is parsed with `skip` raised. Nesting goes through
 * primary and postfix, which count it. */

void evaluation_begin(struct evaluation *e, const struct template_context *context)
{
    *e = (struct evaluation){.context = context};
    arena_init(&e->arena, EXPRESSION_ARENA_MAX);
}

void evaluation_end(struct evaluation *e)
{
    arena_release(&e->arena);
}

/* ---- tokens -------------------------------------------------------------------------------------------------------
 */

static void skip_space(struct parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r'))
        p->at++;
}

static char peek(struct parser *p, size_t ahead)
{
    return (size_t)(p->end - p->at) > ahead ? p->at[ahead] : '\0';
}

/* Takes the sign, if it comes next. */
static bool take(struct parser *p, const char *sign)
{
    size_t length = strlen(sign);
    skip_space(p);
    if (p->status || (size_t)(p->end - p->at) < length || memcmp(p->at, sign, length) != 0)
        return false;
    p->at += length;
    return true;
}

/* Takes the word, if it comes next as a whole. */
static bool take_word(struct parser *p, const char *word)
{
    skip_space(p);
    struct slice name = scan_identifier(p->at, p->end);
    if (p->status || name.length != strlen(word) || memcmp(name.bytes, word, name.length) != 0)
        return false;
    p->at += name.length;
    return true;
}

static bool enter(struct parser *p)
{
    if (++p->depth <= EXPRESSION_DEPTH)
        return true;
    (void)parser_fail(p, "nested too deeply");
    return false;
}

static struct value parse_or(struct parser *p);

/* ---- primary ------------------------------------------------------------------------------------------------------
 */

static struct value parse_text(struct parser *p)
{
    char quote = *p->at++;
    struct str text;
    str_init(&text, LIMIT_EXPRESSION);
    while (p->at < p->end && *p->at != quote) {
        char c = *p->at++;
        if (c == '\\' && p->at < p->end) {
            c = *p->at++;
            c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
        }
        str_add_char(&text, c);
    }
    if (p->at >= p->end) {
        str_release(&text);
        return parser_fail(p, "a text has no closing quote");
    }
    p->at++;
    return value_taken(p, &text);
}

static struct value parse_number(struct parser *p)
{
    const char *start = p->at;
    size_t length = number_scan(start, (size_t)(p->end - start));
    struct slice after = scan_identifier(start + length, p->end);
    if (!length || after.length)
        return parser_fail(p, "\"%.*s\" is no number", (int)(length + after.length < 40 ? length + after.length : 40),
                           start);
    p->at += length;
    return (struct value){.type = VALUE_NUMBER, .text = slice_of(start, length)};
}

/* Arguments behind the opening parenthesis. `if` evaluates only what it takes. */
/* NOLINTNEXTLINE(misc-no-recursion) nesting is counted by enter() */
static struct value parse_call(struct parser *p, struct slice name)
{
    struct value args[ARGUMENTS_MAX] = {{.type = VALUE_NULL}};
    size_t count = 0;
    int f = function_find(name);
    if (f < 0)
        return parser_fail(p, "there is no function %.*s", (int)(name.length < 40 ? name.length : 40), name.bytes);
    bool closed = take(p, ")");
    while (!closed && !p->status) {
        bool lazy = function_is_if(f) && count > 0 && value_truth(&args[0]) != (count == 1);
        if (count == ARGUMENTS_MAX)
            return parser_fail(p, "too many arguments; write %s", function_usage(f));
        p->skip += lazy;
        args[count++] = parse_or(p);
        p->skip -= lazy;
        closed = take(p, ")");
        if (!closed && !take(p, ","))
            return parser_fail(p, "a comma or ) is expected in %s", function_usage(f));
    }
    if (!function_arity_valid(f, count))
        return parser_fail(p, "wrong number of arguments; write %s", function_usage(f));
    return function_call(p, f, args, count);
}

/* NOLINTNEXTLINE(misc-no-recursion) nesting is counted by enter() */
static struct value parse_name(struct parser *p, struct slice name)
{
    static const struct {
        const char *text;
        struct value value;
    } words[] = {
        {"true", {.type = VALUE_BOOL, .truth = true}}, {"false", {.type = VALUE_BOOL}}, {"null", {.type = VALUE_NULL}}};
    p->at += name.length;
    if (peek(p, 0) == '(') {
        p->at++;
        return parse_call(p, name);
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].text) == name.length && !memcmp(words[i].text, name.bytes, name.length))
            return words[i].value;
    return name_evaluate(p, name);
}

/* NOLINTNEXTLINE(misc-no-recursion) nesting is counted by enter() */
static struct value parse_primary(struct parser *p)
{
    struct value value = value_null();
    skip_space(p);
    if (p->status || !enter(p))
        return value;
    char c = peek(p, 0);
    struct slice name = scan_identifier(p->at, p->end);
    if (name.length) {
        value = parse_name(p, name);
    } else if (c == '"' || c == '\'') {
        value = parse_text(p);
    } else if (c >= '0' && c <= '9') {
        value = parse_number(p);
    } else if (take(p, "(")) {
        value = parse_or(p);
        if (!p->status && !take(p, ")"))
            value = parser_fail(p, "a closing ) is missing");
    } else if (c == '\0' || c == '}') {
        value = parser_fail(p, "a value is expected at the end");
    } else {
        value = parser_fail(p, "a value is expected at character %zu", (size_t)(p->at - p->start) + 1);
    }
    p->depth--;
    return value;
}

/* NOLINTNEXTLINE(misc-no-recursion) nesting is counted by enter() */
static struct value parse_postfix(struct parser *p)
{
    skip_space(p);
    const char *start = p->at;
    struct value value = parse_primary(p);
    while (!p->status) {
        struct slice path = slice_of(start, (size_t)(p->at - start));
        if (peek(p, 0) == '.') {
            struct slice name = scan_identifier(p->at + 1, p->end);
            if (!name.length)
                return parser_fail(p, "a name is expected behind a point; others are written in brackets: [\"…\"]");
            p->at = name.bytes + name.length;
            value = member_of(p, &value, path, name);
        } else if (peek(p, 0) == '[') {
            p->at++;
            if (!enter(p))
                break;
            struct value index = parse_or(p);
            p->depth--;
            if (!p->status && !take(p, "]"))
                return parser_fail(p, "a closing ] is missing");
            value = element_of(p, &value, path, &index);
        } else {
            break;
        }
    }
    return value;
}

/* ---- arithmetic ---------------------------------------------------------------------------------------------------
 */

/* NOLINTNEXTLINE(misc-no-recursion) nesting is counted by enter() */
static struct value parse_unary(struct parser *p)
{
    bool minus = false;
    while (take(p, "-"))
        minus = !minus;
    struct value value = parse_postfix(p);
    return minus ? value_negated(p, &value) : value;
}

/* NOLINTNEXTLINE(misc-no-recursion) nesting is counted by enter() */
static struct value parse_product(struct parser *p)
{
    struct value left = parse_unary(p);
    for (;;) {
        skip_space(p);
        char op = peek(p, 0);
        if (p->status || (op != '*' && op != '/' && op != '%'))
            return left;
        p->at++;
        struct value right = parse_unary(p);
        left = value_calculate(p, op, &left, &right);
    }
}

/* Digits and a unit such as 3d: cuts the time to the unit, then adds. *ret_term: it was one. */
static struct value parse_term(struct parser *p, char op, const struct value *left, bool *ret_term)
{
    const char *start = p->at, *digit = start;
    int64_t count = 0;
    while (digit < p->end && *digit >= '0' && *digit <= '9')
        if (++digit - start > 15)
            break;
    char unit = digit < p->end ? *digit : '\0';
    *ret_term = digit > start && time_unit_valid(unit) && scan_identifier(digit, p->end).length == 1;
    if (!*ret_term)
        return *left;
    p->at = digit + 1;
    if (!parser_active(p) || left->type == VALUE_MISSING || left->type == VALUE_NULL)
        return *left;
    if (left->type != VALUE_TIME)
        return parser_fail(p, "%c%.*s goes with a time, not with %s; time(text) makes one", op,
                           (int)(digit + 1 - start), start, value_type_text(left));
    const struct zone *zone = p->e->context->zone ? p->e->context->zone : zone_utc();
    struct value sum = {.type = VALUE_TIME, .unit = unit};
    (void)json_int64(slice_of(start, (size_t)(digit - start)), &count);
    if (!time_add(zone, time_truncate(zone, left->at, unit), unit, op == '-' ? -count : count, &sum.at))
        return parser_fail(p, "%c%.*s leaves the years 1 to 9999", op, (int)(digit + 1 - start), start);
    return sum;
}

/* NOLINTNEXTLINE(misc-no-recursion) nesting is counted by enter() */
static struct value parse_sum(struct parser *p)
{
    struct value left = parse_product(p);
    for (;;) {
        skip_space(p);
        char op = peek(p, 0);
        if (p->status || (op != '+' && op != '-'))
            return left;
        p->at++;
        skip_space(p);
        bool term;
        left = parse_term(p, op, &left, &term);
        if (term)
            continue;
        struct value right = parse_product(p);
        left = value_calculate(p, op, &left, &right);
    }
}

/* ---- choice, comparison, logic ------------------------------------------------------------------------------------
 */

/* NOLINTNEXTLINE(misc-no-recursion) nesting is counted by enter() */
static struct value parse_coalesce(struct parser *p)
{
    struct value left = parse_sum(p);
    while (take(p, "??")) {
        bool there = left.type != VALUE_MISSING && left.type != VALUE_NULL;
        p->skip += there;
        struct value right = parse_sum(p);
        p->skip -= there;
        if (!there)
            left = right;
    }
    return left;
}

static enum comparison take_comparison(struct parser *p)
{
    static const char *const signs[] = {"==", "!=", "<=", ">=", "<", ">"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (take(p, signs[i]))
            return (enum comparison)i;
    return COMPARE_NONE;
}

/* NOLINTNEXTLINE(misc-no-recursion) nesting is counted by enter() */
static struct value parse_comparison(struct parser *p)
{
    struct value left = parse_coalesce(p);
    enum comparison comparison = take_comparison(p);
    if (comparison == COMPARE_NONE)
        return left;
    struct value right = parse_coalesce(p);
    return value_compared(p, comparison, &left, &right);
}

/* '!' of "!=" is not taken: a comparison does not begin an operand. */
/* NOLINTNEXTLINE(misc-no-recursion) nesting is counted by enter() */
static struct value parse_not(struct parser *p)
{
    bool any = false, inverse = false;
    while (take_word(p, "not") || take(p, "!")) {
        any = true;
        inverse = !inverse;
    }
    struct value value = parse_comparison(p);
    if (!any || !parser_active(p) || value.type == VALUE_MISSING)
        return value;
    return value_bool(value_truth(&value) != inverse);
}

/* NOLINTNEXTLINE(misc-no-recursion) nesting is counted by enter() */
static struct value parse_and(struct parser *p)
{
    struct value left = parse_not(p);
    while (take(p, "&&") || take_word(p, "and")) {
        bool decided = left.type == VALUE_MISSING || !value_truth(&left);
        p->skip += decided;
        struct value right = parse_not(p);
        p->skip -= decided;
        if (left.type != VALUE_MISSING)
            left = decided ? value_bool(false) : right.type == VALUE_MISSING ? right : value_bool(value_truth(&right));
    }
    return left;
}

/* NOLINTNEXTLINE(misc-no-recursion) nesting is counted by enter() */
static struct value parse_or(struct parser *p)
{
    struct value left = parse_and(p);
    while (take(p, "||") || take_word(p, "or")) {
        bool decided = left.type == VALUE_MISSING || value_truth(&left);
        p->skip += decided;
        struct value right = parse_and(p);
        p->skip -= decided;
        if (left.type != VALUE_MISSING)
            left = decided ? value_bool(true) : right.type == VALUE_MISSING ? right : value_bool(value_truth(&right));
    }
    return left;
}

/* ---- the whole ----------------------------------------------------------------------------------------------------
 */

/* ":format" or ",format" up to the closing brace. */
static struct value parse_format(struct parser *p, const struct value *value)
{
    const char *start = ++p->at, *close = memchr(start, '}', (size_t)(p->end - start));
    if (!close)
        return parser_fail(p, "the closing } is missing");
    p->at = close;
    if (close == start)
        return parser_fail(p, "a format is expected behind the colon, such as yyyyMMdd");
    if (!parser_active(p) || value->type == VALUE_MISSING || value->type == VALUE_NULL)
        return *value;
    if (value->type != VALUE_TIME)
        return parser_fail(p, "a format goes with a time, not with %s", value_type_text(value));
    struct str text;
    str_init(&text, LIMIT_EXPRESSION);
    time_format(p->e->context->zone ? p->e->context->zone : zone_utc(), value->at, start, (size_t)(close - start),
                &text);
    return value_taken(p, &text);
}

/* What stands where the closing brace should. */
static struct value parse_rest(struct parser *p, size_t length)
{
    if (p->at < p->end)
        return parser_fail(p, "an operator or } is expected at character %zu", (size_t)(p->at - p->start) + 1);
    if (length > LIMIT_EXPRESSION)
        return parser_fail(p, "longer than %zu bytes", LIMIT_EXPRESSION);
    return parser_fail(p, "the closing } is missing");
}

/* Braced: a format, then the brace. Otherwise nothing more. */
static struct value parse_end(struct parser *p, struct value value, bool braced, size_t length)
{
    skip_space(p);
    if (p->status)
        return value;
    if (!braced) {
        if (p->at < p->end)
            return parser_fail(p, "something follows the end of the expression at character %zu",
                               (size_t)(p->at - p->start) + 1);
        return length > LIMIT_EXPRESSION ? parse_rest(p, length) : value;
    }
    if (peek(p, 0) == ':' || peek(p, 0) == ',')
        value = parse_format(p, &value);
    if (!p->status && !take(p, "}"))
        return parse_rest(p, length);
    return value;
}

enum status expression_evaluate(struct evaluation *e, const char *text, size_t length, bool braced, struct value *ret,
                                size_t *ret_length, struct error *err)
{
    size_t looked_at = length < LIMIT_EXPRESSION ? length : LIMIT_EXPRESSION; /* what follows may be longer */
    struct parser p = {.e = e, .start = text, .at = text, .end = text + looked_at, .err = err};
    struct value value = parse_or(&p);
    value = parse_end(&p, value, braced, length);
    if (!p.status && value.type == VALUE_MISSING)
        value = parser_fail(&p, "%.*s", (int)value.text.length, value.text.bytes);
    if (p.status == STATUS_INVALID && p.at >= p.end && looked_at < length) { /* cut off, so other reasons mislead */
        p.status = STATUS_OK;
        value = parse_rest(&p, length);
    }
    if (p.status)
        return p.status;
    *ret = value;
    *ret_length = (size_t)(p.at - text);
    return STATUS_OK;
}
