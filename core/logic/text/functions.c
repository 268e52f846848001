/* Functions of the template language. */
#include <string.h>

#include "core/base/utf8.h"
#include "core/logic/text/number.h"
#include "core/logic/text/parser.h"
#include "core/logic/text/timeexpr.h"
#include "core/model/limits.h"

typedef struct value function(struct parser *p, const struct value *args, size_t count);

static const struct zone *zone_of(const struct parser *p)
{
    const struct template_context *c = p->e->context;
    return c && c->zone ? c->zone : zone_utc();
}

/* Text of any value; the caller releases it. When it cannot be had everything has failed, so that no caller needs to
 * look: its result is not used. */
static struct str plain(struct parser *p, const struct value *value)
{
    struct str text;
    str_init(&text, LIMIT_REQUEST);
    value_text(p->e, value, &text);
    if (text.failed && text.too_big)
        (void)parser_fail(p, "a text is longer than %zu bytes", LIMIT_REQUEST);
    else if (text.failed)
        (void)parser_no_memory(p);
    return text;
}

/* ---- texts --------------------------------------------------------------------------------------------------------
 */

static struct value change_case(struct parser *p, const struct value *value, char first, char last, char by)
{
    struct str text = plain(p, value);
    for (size_t i = 0; i < text.length; i++)
        if (text.data[i] >= first && text.data[i] <= last)
            text.data[i] = (char)(text.data[i] ^ by);
    return value_taken(p, &text);
}

static struct value call_lower(struct parser *p, const struct value *args, size_t count)
{
    (void)count;
    return change_case(p, &args[0], 'A', 'Z', 0x20);
}

static struct value call_upper(struct parser *p, const struct value *args, size_t count)
{
    (void)count;
    return change_case(p, &args[0], 'a', 'z', 0x20);
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct value call_trim(struct parser *p, const struct value *args, size_t count)
{
    struct str text = plain(p, &args[0]);
    const char *from = str_text(&text), *to = from + text.length;
    (void)count;
    while (from < to && is_space(*from))
        from++;
    while (to > from && is_space(to[-1]))
        to--;
    struct value value = value_string(p, from, (size_t)(to - from));
    str_release(&text);
    return value;
}

static struct value call_length(struct parser *p, const struct value *args, size_t count)
{
    char digits[24];
    size_t length = 0;
    (void)count;
    if (args[0].type == VALUE_JSON) {
        length = json_count(args[0].text);
    } else if (args[0].type != VALUE_NULL) {
        struct str text = plain(p, &args[0]);
        length = utf8_count(str_text(&text));
        str_release(&text);
    }
    struct str number;
    str_init(&number, sizeof digits);
    str_addf(&number, "%zu", length);
    struct value value = value_taken(p, &number);
    if (value.type == VALUE_TEXT)
        value.type = VALUE_NUMBER;
    return value;
}

static const char *find_bytes(const char *text, size_t length, const char *part, size_t part_length)
{
    for (size_t i = 0; part_length <= length && i <= length - part_length; i++)
        if (!memcmp(text + i, part, part_length))
            return text + i;
    return NULL;
}

/* Of a list: an element that reads the same; of an object: a member's name; else a part of the text. */
static struct value call_contains(struct parser *p, const struct value *args, size_t count)
{
    bool found = false;
    struct str part = plain(p, &args[1]), text = plain(p, &args[0]);
    (void)count;
    if (args[0].type != VALUE_JSON) {
        /* a search may compare much of `part` at each place; memcmp takes about 64 bytes at a time */
        if (parser_work(p, (text.length + 1) * (part.length / 64 + 1)))
            found = find_bytes(str_text(&text), text.length, str_text(&part), part.length);
    } else {
        struct json_walk walk = json_walk_begin(args[0].text);
        while (!found && json_walk_next(&walk)) {
            if (walk.object) {
                found = json_string_equals(walk.key, str_text(&part));
                continue;
            }
            struct value element = value_of_json(p, walk.value);
            struct str one = plain(p, &element);
            found = one.length == part.length && !strcmp(str_text(&one), str_text(&part));
            str_release(&one);
        }
    }
    str_release(&part);
    str_release(&text);
    return value_bool(found);
}

static struct value call_starts(struct parser *p, const struct value *args, size_t count)
{
    struct str text = plain(p, &args[0]), part = plain(p, &args[1]);
    bool found = part.length <= text.length && !memcmp(str_text(&text), str_text(&part), part.length);
    (void)count;
    str_release(&part);
    str_release(&text);
    return value_bool(found);
}

static struct value call_ends(struct parser *p, const struct value *args, size_t count)
{
    struct str text = plain(p, &args[0]), part = plain(p, &args[1]);
    bool found = part.length <= text.length &&
                 !memcmp(str_text(&text) + (text.length - part.length), str_text(&part), part.length);
    (void)count;
    str_release(&part);
    str_release(&text);
    return value_bool(found);
}

static struct value call_replace(struct parser *p, const struct value *args, size_t count)
{
    struct str text = plain(p, &args[0]), from = plain(p, &args[1]), to = plain(p, &args[2]), ret;
    const char *at = str_text(&text), *end = at + text.length;
    (void)count;
    str_init(&ret, LIMIT_REQUEST);
    bool bounded = parser_work(p, (text.length + 1) * (from.length / 64 + 1));
    while (bounded && from.length && at < end) {
        const char *found = find_bytes(at, (size_t)(end - at), str_text(&from), from.length);
        if (!found)
            break;
        str_add_bytes(&ret, at, (size_t)(found - at));
        str_add_bytes(&ret, str_text(&to), to.length);
        at = found + from.length;
    }
    str_add_bytes(&ret, at, (size_t)(end - at));
    str_release(&text);
    str_release(&from);
    str_release(&to);
    return value_taken(p, &ret);
}

/* Byte offset of character number `index` (clipped to the end). */
static size_t character_offset(const char *text, size_t length, int64_t index)
{
    size_t at = 0;
    while (at < length && index > 0) {
        at++;
        while (at < length && ((unsigned char)text[at] & 0xc0) == 0x80)
            at++;
        index--;
    }
    return at;
}

static struct value call_substring(struct parser *p, const struct value *args, size_t count)
{
    int64_t from = 0, length = INT64_MAX;
    if (args[1].type != VALUE_NUMBER || !json_int64(args[1].text, &from) || from < 0 ||
        (count == 3 && (args[2].type != VALUE_NUMBER || !json_int64(args[2].text, &length) || length < 0)))
        return parser_fail(p, "substring needs whole numbers: substring(text, from) or substring(text, from, length)");
    struct str text = plain(p, &args[0]);
    size_t first = character_offset(str_text(&text), text.length, from);
    size_t bytes = character_offset(str_text(&text) + first, text.length - first, length);
    struct value value = value_string(p, str_text(&text) + first, bytes);
    str_release(&text);
    return value;
}

static struct value call_join(struct parser *p, const struct value *args, size_t count)
{
    struct str ret, separator;
    if (args[0].type == VALUE_NULL)
        return value_string(p, "", 0);
    if (args[0].type != VALUE_JSON || json_type_of(args[0].text) != JSON_ARRAY)
        return parser_fail(p, "join needs a list, not %s", value_type_text(&args[0]));
    struct value comma = {.type = VALUE_TEXT, .text = {",", 1}};
    separator = plain(p, count == 2 ? &args[1] : &comma);
    str_init(&ret, LIMIT_REQUEST);
    struct json_walk walk = json_walk_begin(args[0].text);
    for (bool first = true; json_walk_next(&walk) && parser_work(p, walk.value.length); first = false) {
        struct value element = value_of_json(p, walk.value);
        if (!first)
            str_add_bytes(&ret, str_text(&separator), separator.length);
        value_text(p->e, &element, &ret);
    }
    str_release(&separator);
    return value_taken(p, &ret);
}

static struct value call_urlencode(struct parser *p, const struct value *args, size_t count)
{
    struct str text = plain(p, &args[0]), ret;
    (void)count;
    str_init(&ret, LIMIT_REQUEST);
    for (size_t i = 0; i < text.length; i++) {
        unsigned char c = (unsigned char)text.data[i];
        bool plain_character = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' ||
                               c == '.' || c == '_' || c == '~';
        if (plain_character)
            str_add_char(&ret, (char)c);
        else
            str_addf(&ret, "%%%02X", c);
    }
    str_release(&text);
    return value_taken(p, &ret);
}

static struct value call_string(struct parser *p, const struct value *args, size_t count)
{
    struct str text = plain(p, &args[0]);
    (void)count;
    return value_taken(p, &text);
}

static struct value call_json(struct parser *p, const struct value *args, size_t count)
{
    struct str text;
    (void)count;
    str_init(&text, LIMIT_REQUEST);
    value_json(p->e, &args[0], &text);
    return value_taken(p, &text);
}

static struct value call_number(struct parser *p, const struct value *args, size_t count)
{
    (void)count;
    if (args[0].type == VALUE_NUMBER)
        return args[0];
    struct value text = call_trim(p, args, 1);
    size_t sign = text.text.length && text.text.bytes[0] == '-';
    size_t length = text.text.length - sign;
    if (text.type != VALUE_TEXT || !length || number_scan(text.text.bytes + sign, length) != length)
        return parser_fail(p, "number: \"%.*s\" is no number", (int)(text.text.length < 40 ? text.text.length : 40),
                           text.text.bytes ? text.text.bytes : "");
    text.type = VALUE_NUMBER;
    return text;
}

static struct value call_default(struct parser *p, const struct value *args, size_t count)
{
    (void)p;
    (void)count;
    return args[0].type == VALUE_NULL || args[0].type == VALUE_MISSING ? args[1] : args[0];
}

static struct value call_if(struct parser *p, const struct value *args, size_t count)
{
    (void)p;
    (void)count;
    return value_truth(&args[0]) ? args[1] : args[2];
}

/* ---- times --------------------------------------------------------------------------------------------------------
 */

static struct value add_time(struct parser *p, const struct value *args, char unit, const char *name)
{
    int64_t count;
    instant sum;
    if (args[0].type == VALUE_NULL)
        return value_null();
    if (args[0].type != VALUE_TIME)
        return parser_fail(p, "%s needs a time, not %s; time(text) makes one", name, value_type_text(&args[0]));
    if (args[1].type != VALUE_NUMBER || !json_int64(args[1].text, &count))
        return parser_fail(p, "%s needs a whole number, not %s", name, value_type_text(&args[1]));
    if (!time_add(zone_of(p), args[0].at, unit, count, &sum))
        return parser_fail(p, "%s leaves the years 1 to 9999", name);
    return (struct value){.type = VALUE_TIME, .at = sum};
}

#define ADD_FUNCTION(suffix, unit)                                                                 \
    static struct value call_add##suffix(struct parser *p, const struct value *args, size_t count) \
    {                                                                                              \
        (void)count;                                                                               \
        return add_time(p, args, unit, "add" #suffix);                                             \
    }
ADD_FUNCTION(Years, 'y')
ADD_FUNCTION(Months, 'M')
ADD_FUNCTION(Weeks, 'w')
ADD_FUNCTION(Days, 'd')
ADD_FUNCTION(Hours, 'H')
ADD_FUNCTION(Minutes, 'm')
ADD_FUNCTION(Seconds, 's')

static struct value call_time(struct parser *p, const struct value *args, size_t count)
{
    char text[64];
    struct civil_time local = {.hour = 0};
    instant at;
    (void)count;
    if (args[0].type == VALUE_TIME || args[0].type == VALUE_NULL)
        return args[0];
    size_t length = args[0].type == VALUE_TEXT && args[0].text.length < sizeof text ? args[0].text.length : 0;
    memcpy(text, length ? args[0].text.bytes : "", length);
    text[length] = '\0';
    if (!civil_date_parse(text, &local.date))
        return (struct value){.type = VALUE_TIME, .at = zone_instants(zone_of(p), local).first};
    if (!rfc3339_parse(text, &at, NULL))
        return (struct value){.type = VALUE_TIME, .at = at};
    return parser_fail(p, "time: \"%s\" is neither a date such as 2026-03-08 nor a time such as 2026-03-08T02:30:00Z",
                       text);
}

static struct value call_format(struct parser *p, const struct value *args, size_t count)
{
    struct str text;
    (void)count;
    if (args[0].type == VALUE_NULL)
        return value_null();
    if (args[0].type != VALUE_TIME || args[1].type != VALUE_TEXT)
        return parser_fail(p, "format needs a time and a text: format(scheduled, \"yyyy-MM-dd\")");
    str_init(&text, LIMIT_EXPRESSION);
    time_format(zone_of(p), args[0].at, args[1].text.bytes, args[1].text.length, &text);
    return value_taken(p, &text);
}

static struct value call_millis(struct parser *p, const struct value *args, size_t count)
{
    struct str text;
    (void)count;
    if (args[0].type == VALUE_NULL)
        return value_null();
    if (args[0].type != VALUE_TIME)
        return parser_fail(p, "millis needs a time, not %s", value_type_text(&args[0]));
    str_init(&text, 32);
    str_add_i64(&text, args[0].at.ms);
    struct value value = value_taken(p, &text);
    if (value.type == VALUE_TEXT)
        value.type = VALUE_NUMBER;
    return value;
}

/* ---- the table ----------------------------------------------------------------------------------------------------
 */

/* clang-format off */
static const struct {
    const char *name;
    function *call;
    size_t least, most;
    bool takes_missing; /* arguments that are missing arrive as they are */
    const char *usage;
} functions[] = {
    {"lower", call_lower, 1, 1, false, "lower(text)"},
    {"upper", call_upper, 1, 1, false, "upper(text)"},
    {"trim", call_trim, 1, 1, false, "trim(text)"},
    {"length", call_length, 1, 1, false, "length(text, list or object)"},
    {"contains", call_contains, 2, 2, false, "contains(text, part) or contains(list, element)"},
    {"startsWith", call_starts, 2, 2, false, "startsWith(text, part)"},
    {"endsWith", call_ends, 2, 2, false, "endsWith(text, part)"},
    {"replace", call_replace, 3, 3, false, "replace(text, from, to)"},
    {"substring", call_substring, 2, 3, false, "substring(text, from) or substring(text, from, length)"},
    {"join", call_join, 1, 2, false, "join(list) or join(list, separator)"},
    {"urlencode", call_urlencode, 1, 1, false, "urlencode(text)"},
    {"string", call_string, 1, 1, false, "string(value)"},
    {"json", call_json, 1, 1, false, "json(value)"},
    {"number", call_number, 1, 1, false, "number(text)"},
    {"default", call_default, 2, 2, true, "default(value, otherwise)"},
    {"if", call_if, 3, 3, true, "if(condition, then, otherwise)"},
    {"time", call_time, 1, 1, false, "time(text)"},
    {"format", call_format, 2, 2, false, "format(time, format)"},
    {"millis", call_millis, 1, 1, false, "millis(time)"},
    {"addYears", call_addYears, 2, 2, false, "addYears(time, count)"},
    {"addMonths", call_addMonths, 2, 2, false, "addMonths(time, count)"},
    {"addWeeks", call_addWeeks, 2, 2, false, "addWeeks(time, count)"},
    {"addDays", call_addDays, 2, 2, false, "addDays(time, count)"},
    {"addHours", call_addHours, 2, 2, false, "addHours(time, count)"},
    {"addMinutes", call_addMinutes, 2, 2, false, "addMinutes(time, count)"},
    {"addSeconds", call_addSeconds, 2, 2, false, "addSeconds(time, count)"},
};
/* clang-format on */
#define FUNCTIONS (sizeof functions / sizeof *functions)

int function_find(struct slice name)
{
    for (size_t i = 0; i < FUNCTIONS; i++)
        if (strlen(functions[i].name) == name.length && !memcmp(functions[i].name, name.bytes, name.length))
            return (int)i;
    return -1;
}

bool function_arity_valid(int f, size_t count)
{
    return count >= functions[f].least && count <= functions[f].most;
}

const char *function_usage(int f)
{
    return functions[f].usage;
}

bool function_is_if(int f)
{
    return functions[f].call == call_if;
}

struct value function_call(struct parser *p, int f, const struct value *args, size_t count)
{
    if (!parser_active(p))
        return value_null();
    for (size_t i = 0; i < count && !functions[f].takes_missing; i++)
        if (args[i].type == VALUE_MISSING)
            return args[i];
    if (function_is_if(f) && args[0].type == VALUE_MISSING)
        return args[0];
    return functions[f].call(p, args, count);
}
