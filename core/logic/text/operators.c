/* What operators do with values. */
#include <string.h>

#include "core/logic/text/number.h"
#include "core/logic/text/parser.h"
#include "core/model/limits.h"

struct value value_calculate(struct parser *p, char op, const struct value *a, const struct value *b)
{
    char number[NUMBER_SIZE];
    if (!parser_active(p))
        return value_null();
    if (a->type == VALUE_MISSING || b->type == VALUE_MISSING)
        return a->type == VALUE_MISSING ? *a : *b;
    if (op == '+' && (a->type == VALUE_TEXT || b->type == VALUE_TEXT)) {
        struct str text;
        str_init(&text, LIMIT_REQUEST);
        value_text(p->e, a, &text);
        value_text(p->e, b, &text);
        return value_taken(p, &text);
    }
    if (a->type == VALUE_TIME)
        return parser_fail(p, "a time is moved by terms such as %c1d, or by addDays(time, n)", op);
    if (a->type != VALUE_NUMBER || b->type != VALUE_NUMBER) {
        const struct value *wrong = a->type == VALUE_NUMBER ? b : a;
        return parser_fail(p, "%s cannot be used with %c%s", value_type_text(wrong), op,
                           wrong->type == VALUE_NULL ? "; give a default with ??" : "");
    }
    if (!parser_work(p, a->text.length + b->text.length))
        return value_null();
    const char *reason = number_calculate(op, a->text, b->text, number);
    if (reason)
        return parser_fail(p, "%.*s %c %.*s %s", (int)(a->text.length < 40 ? a->text.length : 40), a->text.bytes, op,
                           (int)(b->text.length < 40 ? b->text.length : 40), b->text.bytes, reason);
    return value_number(p, number, strlen(number));
}

struct value value_negated(struct parser *p, const struct value *value)
{
    if (!parser_active(p) || value->type == VALUE_MISSING)
        return *value;
    if (value->type != VALUE_NUMBER)
        return parser_fail(p, "%s has no negative", value_type_text(value));
    if (number_is_zero(value->text))
        return *value;
    if (value->text.bytes[0] == '-')
        return (struct value){.type = VALUE_NUMBER, .text = slice_of(value->text.bytes + 1, value->text.length - 1)};
    struct str text;
    str_init(&text, value->text.length + 1);
    str_add_char(&text, '-');
    str_add_bytes(&text, value->text.bytes, value->text.length);
    struct value number = value_taken(p, &text);
    if (number.type == VALUE_TEXT)
        number.type = VALUE_NUMBER;
    return number;
}

static int compare_bytes(struct slice a, struct slice b)
{
    size_t length = a.length < b.length ? a.length : b.length;
    int order = length ? memcmp(a.bytes, b.bytes, length) : 0;
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

/* Order of two values of one type. Lists and objects are alike when they are written alike, white space apart. */
static int compare_alike(struct parser *p, const struct value *a, const struct value *b)
{
    struct str ta, tb;
    int order;
    if (!parser_work(p, a->text.length + b->text.length))
        return 0;
    switch (a->type) {
    case VALUE_BOOL:
        return a->truth - b->truth;
    case VALUE_NUMBER:
        return number_compare(a->text, b->text);
    case VALUE_TEXT:
        return compare_bytes(a->text, b->text);
    case VALUE_TIME:
        return instant_cmp(a->at, b->at);
    case VALUE_JSON:
        str_init(&ta, a->text.length);
        str_init(&tb, b->text.length);
        json_compact(a->text, &ta);
        json_compact(b->text, &tb);
        if (ta.failed || tb.failed)
            (void)parser_no_memory(p);
        order = strcmp(str_text(&ta), str_text(&tb));
        str_release(&ta);
        str_release(&tb);
        return order;
    case VALUE_MISSING:
    case VALUE_NULL:
        break;
    }
    return 0;
}

struct value value_compared(struct parser *p, enum comparison comparison, const struct value *a, const struct value *b)
{
    if (!parser_active(p))
        return value_null();
    if (a->type == VALUE_MISSING || b->type == VALUE_MISSING)
        return a->type == VALUE_MISSING ? *a : *b;
    bool alike = a->type == b->type;
    if (comparison == COMPARE_EQUAL || comparison == COMPARE_UNEQUAL)
        return value_bool((alike && !compare_alike(p, a, b)) == (comparison == COMPARE_EQUAL));
    if (a->type == VALUE_NULL || b->type == VALUE_NULL)
        return value_bool(false); /* null is neither more nor less than anything */
    if (!alike || a->type == VALUE_JSON || a->type == VALUE_BOOL)
        return parser_fail(p, "%s and %s have no order", value_type_text(a), value_type_text(b));
    int order = compare_alike(p, a, b);
    return value_bool(comparison == COMPARE_LESS      ? order < 0
                      : comparison == COMPARE_AT_MOST ? order <= 0
                      : comparison == COMPARE_MORE    ? order > 0
                                                      : order >= 0);
}
