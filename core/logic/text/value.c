#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/utf8.h"
#include "core/logic/text/number.h"
#include "core/logic/text/parser.h"
#include "core/logic/text/timeexpr.h"
#include "core/model/limits.h"

/* ---- failures -----------------------------------------------------------------------------------------------------
 */

/* Bytes of `text` up to `maximum` that end with a whole character. */
static int whole_characters(const char *text, size_t length, size_t maximum)
{
    if (length > maximum)
        for (length = maximum; length && ((unsigned char)text[length] & 0xc0) == 0x80;)
            length--;
    return (int)length;
}

struct value parser_fail(struct parser *p, const char *format, ...)
{
    char reason[ERROR_TEXT_MAX];
    va_list args;
    if (p->status)
        return value_null();
    va_start(args, format);
    (void)vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    size_t length = (size_t)(p->end - p->start);
    const char *brace = memchr(p->start, '}', length);
    if (brace)
        length = (size_t)(brace - p->start);
    int shown = whole_characters(p->start, length, 80);
    p->status = error_set(p->err, STATUS_INVALID, "%.330s, in ${%.*s%s%s", reason, shown, p->start,
                          (size_t)shown < length ? "…" : "", brace ? "}" : "");
    return value_null();
}

struct value parser_no_memory(struct parser *p)
{
    const struct arena *arena = &p->e->arena;
    if (!p->status && arena->used > arena->maximum / 2)
        return parser_fail(p, "the expressions of this text make more than %zu MiB", EXPRESSION_ARENA_MAX >> 20);
    if (!p->status)
        p->status = error_set(p->err, STATUS_NO_MEMORY, "out of memory");
    return value_null();
}

bool parser_work(struct parser *p, size_t bytes)
{
    p->e->work += bytes;
    if (p->e->work <= WORK_MAX)
        return true;
    (void)parser_fail(p, "the expressions of this text look at more than %zu MiB", WORK_MAX >> 20);
    return false;
}

/* ---- making values ------------------------------------------------------------------------------------------------
 */

struct value value_null(void)
{
    return (struct value){.type = VALUE_NULL};
}

struct value value_bool(bool truth)
{
    return (struct value){.type = VALUE_BOOL, .truth = truth};
}

static struct value copied(struct parser *p, enum value_type type, const char *text, size_t length)
{
    char *copy = parser_work(p, length) ? arena_copy(&p->e->arena, text, length) : NULL;
    if (!copy)
        return parser_no_memory(p);
    return (struct value){.type = type, .text = slice_of(copy, length)};
}

struct value value_number(struct parser *p, const char *text, size_t length)
{
    return copied(p, VALUE_NUMBER, text, length);
}

struct value value_string(struct parser *p, const char *text, size_t length)
{
    return copied(p, VALUE_TEXT, text, length);
}

struct value value_taken(struct parser *p, struct str *text)
{
    struct value value = value_null();
    if (text->failed && text->too_big)
        value = parser_fail(p, "makes a text of more than %zu bytes", text->maximum);
    else if (text->failed)
        value = parser_no_memory(p);
    else
        value = value_string(p, str_text(text), text->length);
    str_release(text);
    return value;
}

struct value value_missing(struct parser *p, const char *format, ...)
{
    char reason[ERROR_TEXT_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    return copied(p, VALUE_MISSING, reason, strlen(reason));
}

struct value value_of_json(struct parser *p, struct slice json)
{
    struct str text;
    if (!parser_work(p, json.length))
        return value_null();
    switch (json_type_of(json)) {
    case JSON_TRUE:
        return value_bool(true);
    case JSON_FALSE:
        return value_bool(false);
    case JSON_NUMBER:
        return (struct value){.type = VALUE_NUMBER, .text = json};
    case JSON_STRING:
        if (!memchr(json.bytes, '\\', json.length))
            return (struct value){.type = VALUE_TEXT, .text = slice_of(json.bytes + 1, json.length - 2)};
        str_init(&text, json.length);
        json_unquote(json, &text);
        return value_taken(p, &text);
    case JSON_ARRAY:
    case JSON_OBJECT:
        return (struct value){.type = VALUE_JSON, .text = json};
    case JSON_NULL:
    case JSON_NONE:
        break;
    }
    return value_null();
}

/* ---- using values -------------------------------------------------------------------------------------------------
 */

const char *value_type_text(const struct value *value)
{
    static const char *const texts[] = {
        [VALUE_MISSING] = "nothing", [VALUE_NULL] = "null",   [VALUE_BOOL] = "true or false",
        [VALUE_NUMBER] = "a number", [VALUE_TEXT] = "a text", [VALUE_JSON] = "a list or object",
        [VALUE_TIME] = "a time",
    };
    return texts[value->type];
}

bool value_truth(const struct value *value)
{
    switch (value->type) {
    case VALUE_BOOL:
        return value->truth;
    case VALUE_NUMBER:
        return !number_is_zero(value->text);
    case VALUE_TEXT:
        return value->text.length;
    case VALUE_JSON:
        return json_count(value->text);
    case VALUE_TIME:
        return true;
    case VALUE_MISSING:
    case VALUE_NULL:
        break;
    }
    return false;
}

void value_text(const struct evaluation *e, const struct value *value, struct str *ret)
{
    const char *format;
    switch (value->type) {
    case VALUE_BOOL:
        str_add(ret, value->truth ? "true" : "false");
        return;
    case VALUE_NUMBER:
    case VALUE_TEXT:
        str_add_bytes(ret, value->text.bytes, value->text.length);
        return;
    case VALUE_JSON:
        json_compact(value->text, ret);
        return;
    case VALUE_TIME:
        format = time_default_format(value->unit);
        time_format(e->context && e->context->zone ? e->context->zone : zone_utc(), value->at, format,
                    format ? strlen(format) : 0, ret);
        return;
    case VALUE_MISSING:
    case VALUE_NULL:
        return;
    }
}

void value_json(const struct evaluation *e, const struct value *value, struct str *ret)
{
    struct str text;
    switch (value->type) {
    case VALUE_TEXT:
        str_add_json_bytes(ret, value->text.bytes, value->text.length);
        return;
    case VALUE_JSON:
        str_add_bytes(ret, value->text.bytes, value->text.length);
        return;
    case VALUE_TIME:
        str_init(&text, LIMIT_EXPRESSION);
        value_text(e, value, &text);
        if (text.failed)
            ret->failed = true;
        else
            str_add_json_bytes(ret, str_text(&text), text.length);
        str_release(&text);
        return;
    case VALUE_BOOL:
    case VALUE_NUMBER:
        value_text(e, value, ret);
        return;
    case VALUE_MISSING:
    case VALUE_NULL:
        str_add(ret, "null");
        return;
    }
}
