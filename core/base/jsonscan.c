#include "core/base/jsonscan.h"

#include <stdlib.h>
#include <string.h>

/* No function here calls itself: nesting is a counter or an array of frames, so a hostile text cannot use up the stack.
 */
#define DEPTH_MAX 512

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && is_space(*p))
        p++;
    return p;
}

static int hex_value(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Four hex digits at `p`; −1 when they are none. */
static int32_t hex_unit(const char *p, const char *end)
{
    int32_t unit = 0;
    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hex_value(p[i]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

/* ---- characters of a string ------------------------------------------------------------------------------------- */

/* One piece of a checked string's content: raw bytes up to the next escape, or the bytes of one escape. */
struct piece {
    const char *bytes;
    size_t length;
    char escape[4];
};

static size_t utf8_put(uint32_t point, char out[4])
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        out[0] = (char)(0xc0 | point >> 6);
        out[1] = (char)(0x80 | (point & 0x3f));
        return 2;
    }
    if (point < 0x10000) {
        out[0] = (char)(0xe0 | point >> 12);
        out[1] = (char)(0x80 | (point >> 6 & 0x3f));
        out[2] = (char)(0x80 | (point & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | point >> 18);
    out[1] = (char)(0x80 | (point >> 12 & 0x3f));
    out[2] = (char)(0x80 | (point >> 6 & 0x3f));
    out[3] = (char)(0x80 | (point & 0x3f));
    return 4;
}

static char simple_escape(char c)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *at = c ? strchr(from, c) : NULL;
    return at ? to[at - from] : '\0';
}

/* Next piece of the content between *at and end; false at the end. */
static bool next_piece(const char **at, const char *end, struct piece *piece)
{
    const char *p = *at;
    if (p >= end)
        return false;
    if (*p != '\\') {
        const char *escape = memchr(p, '\\', (size_t)(end - p));
        piece->bytes = p;
        piece->length = (size_t)((escape ? escape : end) - p);
        *at = p + piece->length;
        return true;
    }
    piece->bytes = piece->escape;
    if (end - p >= 6 && p[1] == 'u') {
        uint32_t point = (uint32_t)hex_unit(p + 2, end) & 0xffff;
        *at = p + 6;
        if (point >= 0xd800 && point < 0xdc00 && end - p >= 12) {
            uint32_t low = (uint32_t)hex_unit(p + 8, end) & 0x3ff;
            point = 0x10000 + ((point & 0x3ff) << 10) + low;
            *at = p + 12;
        }
        piece->length = utf8_put(point, piece->escape);
        return true;
    }
    piece->escape[0] = p + 1 < end ? simple_escape(p[1]) : '\\';
    piece->length = 1;
    *at = p + 2 < end ? p + 2 : end;
    return true;
}

/* Content of a string slice without its quotes. */
static struct slice content(struct slice string)
{
    if (string.length < 2 || string.bytes[0] != '"')
        return (struct slice){"", 0};
    return (struct slice){string.bytes + 1, string.length - 2};
}

/* Byte order of two strings after unescaping. */
static int compare_strings(struct slice a, struct slice b)
{
    struct slice ca = content(a), cb = content(b);
    const char *pa = ca.bytes, *pb = cb.bytes, *ea = pa + ca.length, *eb = pb + cb.length;
    struct piece xa = {.length = 0}, xb = {.length = 0};
    for (;;) {
        bool more_a = xa.length || next_piece(&pa, ea, &xa);
        bool more_b = xb.length || next_piece(&pb, eb, &xb);
        if (!more_a || !more_b)
            return more_a - more_b;
        size_t length = xa.length < xb.length ? xa.length : xb.length;
        int order = memcmp(xa.bytes, xb.bytes, length);
        if (order)
            return order;
        xa.bytes += length;
        xb.bytes += length;
        xa.length -= length;
        xb.length -= length;
    }
}

bool json_string_equals(struct slice string, const char *text)
{
    struct slice inner = content(string);
    const char *p = inner.bytes, *end = p + inner.length;
    struct piece piece = {.length = 0};
    if (json_type_of(string) != JSON_STRING)
        return false;
    while (next_piece(&p, end, &piece)) {
        if (strncmp(text, piece.bytes, piece.length) != 0)
            return false;
        text += piece.length;
    }
    return !*text;
}

void json_unquote(struct slice value, struct str *ret)
{
    if (json_type_of(value) != JSON_STRING) {
        str_add_bytes(ret, value.bytes, value.length);
        return;
    }
    struct slice inner = content(value);
    const char *p = inner.bytes, *end = p + inner.length;
    struct piece piece = {.length = 0};
    while (next_piece(&p, end, &piece))
        str_add_bytes(ret, piece.bytes, piece.length);
}

/* ---- check --------------------------------------------------------------------------------------------------------
 */

struct keys { /* keys of all objects that are open, innermost last */
    struct slice *items;
    size_t count, room;
};

struct frame {
    bool object;
    size_t first_key; /* in keys */
};

struct check {
    const char *text, *at, *end;
    struct keys keys;
    struct frame frames[DEPTH_MAX];
    int depth, max_depth;
    struct error *err;
};

static enum status fault(struct check *c, const char *at, const char *reason)
{
    size_t line = 1, column = 1;
    for (const char *p = c->text; p < at; p++) {
        if (*p == '\n') {
            line++;
            column = 1;
        } else if (((unsigned char)*p & 0xc0) != 0x80) {
            column++;
        }
    }
    return error_set(c->err, STATUS_INVALID, "line %zu, column %zu: %s", line, column, reason);
}

/* Length of the well-formed UTF-8 sequence of two or more bytes at `p`; 0 when it is none (Unicode 15, table 3-7). */
static size_t wide_sequence(const char *text, const char *end)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t length = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || (size_t)(end - text) < length)
        return 0;
    unsigned char low = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char high = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if (p[i] < 0x80 || p[i] > 0xbf)
            return 0;
    return length;
}

/* The escape at c->at (a backslash). */
static enum status check_escape(struct check *c)
{
    const char *p = c->at;
    if (c->end - p < 2)
        return fault(c, p, "the text ends inside a string");
    if (p[1] != 'u') {
        if (!simple_escape(p[1]))
            return fault(c, p, "unknown escape in a string; a backslash itself is written \\\\");
        c->at += 2;
        return STATUS_OK;
    }
    int32_t unit = hex_unit(p + 2, c->end);
    if (unit < 0)
        return fault(c, p, "\\u needs four hexadecimal digits");
    if (unit == 0)
        return fault(c, p, "U+0000 is not allowed in a text");
    c->at += 6;
    if (unit < 0xd800 || unit > 0xdfff)
        return STATUS_OK;
    int32_t low =
        unit < 0xdc00 && c->end - c->at >= 6 && c->at[0] == '\\' && c->at[1] == 'u' ? hex_unit(c->at + 2, c->end) : -1;
    if (low < 0xdc00 || low > 0xdfff)
        return fault(c, p, "half of a surrogate pair; both halves are needed");
    c->at += 6;
    return STATUS_OK;
}

static enum status check_string(struct check *c)
{
    const char *start = c->at++;
    while (c->at < c->end && *c->at != '"') {
        unsigned char byte = (unsigned char)*c->at;
        if (byte == '\\') {
            enum status status = check_escape(c);
            if (status)
                return status;
        } else if (byte == 0) {
            return fault(c, c->at, "U+0000 is not allowed in a text");
        } else if (byte < 0x20) {
            return fault(c, c->at, "control character in a string; write it as an escape such as \\n or \\t");
        } else if (byte < 0x80) {
            c->at++;
        } else {
            size_t length = wide_sequence(c->at, c->end);
            if (!length)
                return fault(c, c->at, "the text is not UTF-8 here");
            c->at += length;
        }
    }
    if (c->at >= c->end)
        return fault(c, start, "this string has no closing quote");
    c->at++;
    return STATUS_OK;
}

static bool take_digits(struct check *c)
{
    if (c->at >= c->end || !is_digit(*c->at))
        return false;
    while (c->at < c->end && is_digit(*c->at))
        c->at++;
    return true;
}

static enum status check_number(struct check *c)
{
    const char *start = c->at;
    if (*c->at == '-')
        c->at++;
    const char *digits = c->at;
    if (!take_digits(c))
        return fault(c, start, "a number needs digits");
    if (*digits == '0' && c->at - digits > 1)
        return fault(c, start, "a number may not begin with 0; write a text in quotes if the zero matters");
    if (c->at < c->end && *c->at == '.') {
        c->at++;
        if (!take_digits(c))
            return fault(c, start, "a number needs digits behind its point");
    }
    if (c->at < c->end && (*c->at == 'e' || *c->at == 'E')) {
        c->at++;
        if (c->at < c->end && (*c->at == '+' || *c->at == '-'))
            c->at++;
        if (!take_digits(c))
            return fault(c, start, "a number needs digits behind its exponent");
    }
    return STATUS_OK;
}

static enum status check_word(struct check *c)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i]);
        if ((size_t)(c->end - c->at) >= length && !memcmp(c->at, words[i], length)) {
            c->at += length;
            return STATUS_OK;
        }
    }
    if (*c->at == '\0')
        return fault(c, c->at, "U+0000 is not allowed in a text");
    return fault(c, c->at, "a value is expected here (texts need double quotes)");
}

static enum status push_key(struct check *c, struct slice key)
{
    struct keys *keys = &c->keys;
    if (keys->count == keys->room) {
        size_t room = keys->room ? keys->room * 2 : 32;
        struct slice *grown = realloc(keys->items, room * sizeof *grown);
        if (!grown)
            return error_set(c->err, STATUS_NO_MEMORY, "out of memory");
        keys->items = grown;
        keys->room = room;
    }
    keys->items[keys->count++] = key;
    return STATUS_OK;
}

static int compare_keys(const void *a, const void *b)
{
    const struct slice *ka = a, *kb = b;
    int order = compare_strings(*ka, *kb);
    return order ? order : (ka->bytes > kb->bytes) - (ka->bytes < kb->bytes);
}

/* The innermost object closes: its keys must differ. Sorting keeps a text of many keys from costing their square. */
static enum status check_keys(struct check *c, const struct frame *frame)
{
    struct slice *keys = c->keys.items + frame->first_key;
    size_t count = c->keys.count - frame->first_key;
    c->keys.count = frame->first_key;
    if (count < 2)
        return STATUS_OK;
    qsort(keys, count, sizeof *keys, compare_keys);
    for (size_t i = 1; i < count; i++)
        if (!compare_strings(keys[i - 1], keys[i])) {
            char reason[160];
            struct str text;
            str_init(&text, sizeof reason - 1);
            str_addf(&text, "the key %.*s appears twice in one object",
                     (int)(keys[i].length < 80 ? keys[i].length : 80), keys[i].bytes);
            enum status status = fault(c, keys[i].bytes, str_text(&text));
            str_release(&text);
            return status;
        }
    return STATUS_OK;
}

/* A key, its colon, and the space behind it. */
static enum status check_key(struct check *c)
{
    const char *start = c->at;
    if (c->at >= c->end)
        return fault(c, c->at, "the text ends inside an object; } is missing");
    if (*c->at != '"')
        return fault(c, c->at, "a key in double quotes is expected here");
    enum status status = check_string(c);
    if (!status)
        status = push_key(c, slice_of(start, (size_t)(c->at - start)));
    if (status)
        return status;
    c->at = skip_space(c->at, c->end);
    if (c->at >= c->end || *c->at != ':')
        return fault(c, c->at, "a colon is expected behind the key");
    c->at = skip_space(c->at + 1, c->end);
    return STATUS_OK;
}

/* Opens a container. *ret_closed: it is empty and closed again. */
static enum status open_container(struct check *c, bool *ret_closed)
{
    bool object = *c->at == '{';
    if (c->depth >= c->max_depth)
        return fault(c, c->at, "nested too deeply");
    c->frames[c->depth++] = (struct frame){object, c->keys.count};
    c->at = skip_space(c->at + 1, c->end);
    if (c->at < c->end && *c->at == (object ? '}' : ']')) {
        c->at++;
        c->depth--;
        *ret_closed = true;
        return STATUS_OK;
    }
    *ret_closed = false;
    return object ? check_key(c) : STATUS_OK;
}

/* Behind a value: closes containers, or goes to the next value. *ret_more: a value follows. */
static enum status after_value(struct check *c, bool *ret_more)
{
    while (c->depth) {
        struct frame *frame = &c->frames[c->depth - 1];
        c->at = skip_space(c->at, c->end);
        if (c->at >= c->end)
            return fault(c, c->at,
                         frame->object ? "the text ends inside an object; } is missing"
                                       : "the text ends inside an array; ] is missing");
        if (*c->at == ',') {
            c->at = skip_space(c->at + 1, c->end);
            *ret_more = true;
            if (c->at < c->end && (*c->at == '}' || *c->at == ']'))
                return fault(c, c->at, "a comma may not stand behind the last value");
            return frame->object ? check_key(c) : STATUS_OK;
        }
        if (*c->at != (frame->object ? '}' : ']'))
            return fault(c, c->at, frame->object ? "a comma or } is expected here" : "a comma or ] is expected here");
        if (frame->object) {
            enum status status = check_keys(c, frame);
            if (status)
                return status;
        }
        c->at++;
        c->depth--;
    }
    *ret_more = false;
    return STATUS_OK;
}

static enum status check_values(struct check *c)
{
    for (bool more = true; more;) {
        enum status status;
        bool closed = true;
        if (c->at >= c->end)
            return fault(c, c->at, c->text == c->end ? "the text is empty" : "the text ends where a value is expected");
        if (*c->at == '{' || *c->at == '[')
            status = open_container(c, &closed);
        else if (*c->at == '"')
            status = check_string(c);
        else if (*c->at == '-' || is_digit(*c->at))
            status = check_number(c);
        else
            status = check_word(c);
        if (!status && closed)
            status = after_value(c, &more);
        if (status)
            return status;
    }
    return STATUS_OK;
}

enum status json_check(const char *text, size_t length, int max_depth, struct error *err)
{
    struct check c = {.text = text, .at = text, .end = text + length, .err = err};
    c.max_depth = max_depth < DEPTH_MAX ? max_depth : DEPTH_MAX;
    if (length >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
        return fault(&c, text, "the text begins with a byte order mark; save it without");
    c.at = skip_space(text, c.end);
    enum status status = check_values(&c);
    if (!status) {
        c.at = skip_space(c.at, c.end);
        if (c.at < c.end)
            status =
                fault(&c, c.at, *c.at ? "something follows the end of the value" : "U+0000 is not allowed in a text");
    }
    free(c.keys.items);
    return status;
}

/* ---- walking checked text -----------------------------------------------------------------------------------------
 */

static struct slice trimmed(struct slice value)
{
    if (!value.length)
        return (struct slice){NULL, 0};
    const char *end = value.bytes + value.length, *p = skip_space(value.bytes, end);
    while (end > p && is_space(end[-1]))
        end--;
    return (struct slice){p, (size_t)(end - p)};
}

enum json_type json_type_of(struct slice value)
{
    value = trimmed(value);
    if (!value.length)
        return JSON_NONE;
    switch (value.bytes[0]) {
    case 'n':
        return JSON_NULL;
    case 'f':
        return JSON_FALSE;
    case 't':
        return JSON_TRUE;
    case '"':
        return JSON_STRING;
    case '[':
        return JSON_ARRAY;
    case '{':
        return JSON_OBJECT;
    default:
        return value.bytes[0] == '-' || is_digit(value.bytes[0]) ? JSON_NUMBER : JSON_NONE;
    }
}

/* Behind the string that begins at `p`. */
static const char *skip_string(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++)
        if (*p == '\\')
            p++;
    return p < end ? p + 1 : end;
}

static const char *skip_value(const char *p, const char *end)
{
    size_t depth = 0;
    while (p < end) {
        switch (*p) {
        case '"':
            p = skip_string(p, end);
            break;
        case '{':
        case '[':
            depth++;
            p++;
            break;
        case '}':
        case ']':
            if (!depth) /* end of the container around a number or word */
                return p;
            depth--;
            p++;
            break;
        case ',':
            if (!depth)
                return p;
            p++;
            break;
        default:
            if (!depth && is_space(*p))
                return p;
            p++;
            continue;
        }
        if (!depth)
            return p;
    }
    return end;
}

struct json_walk json_walk_begin(struct slice container)
{
    struct slice value = trimmed(container);
    enum json_type type = json_type_of(value);
    struct json_walk walk = {.object = type == JSON_OBJECT};
    if (type == JSON_OBJECT || type == JSON_ARRAY) {
        walk.at = value.bytes + 1;
        walk.end = value.bytes + value.length;
    }
    return walk;
}

bool json_walk_next(struct json_walk *walk)
{
    const char *p = walk->at;
    if (!p)
        return false;
    p = skip_space(p, walk->end);
    if (p < walk->end && *p == ',')
        p = skip_space(p + 1, walk->end);
    if (p >= walk->end || *p == '}' || *p == ']') {
        walk->at = NULL;
        return false;
    }
    walk->key = (struct slice){"", 0};
    if (walk->object) {
        const char *key = p;
        p = skip_string(p, walk->end);
        walk->key = slice_of(key, (size_t)(p - key));
        p = skip_space(p, walk->end);
        p = skip_space(p < walk->end ? p + 1 : p, walk->end);
    }
    walk->at = skip_value(p, walk->end);
    walk->value = slice_of(p, (size_t)(walk->at - p));
    return true;
}

struct slice json_member(struct slice object, const char *name)
{
    struct json_walk walk = json_walk_begin(object);
    while (walk.object && json_walk_next(&walk))
        if (json_string_equals(walk.key, name))
            return walk.value;
    return (struct slice){NULL, 0};
}

struct slice json_element(struct slice array, size_t index)
{
    struct json_walk walk = json_walk_begin(array);
    while (!walk.object && json_walk_next(&walk))
        if (!index--)
            return walk.value;
    return (struct slice){NULL, 0};
}

size_t json_count(struct slice container)
{
    size_t count = 0;
    struct json_walk walk = json_walk_begin(container);
    while (json_walk_next(&walk))
        count++;
    return count;
}

bool json_int64(struct slice value, int64_t *ret)
{
    int64_t sum = 0;
    value = trimmed(value);
    bool negative = value.length && value.bytes[0] == '-';
    if (value.length == (size_t)negative)
        return false;
    for (size_t i = negative; i < value.length; i++) {
        int64_t digit = value.bytes[i] - '0';
        if (!is_digit(value.bytes[i]) || __builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_add_overflow(sum, negative ? -digit : digit, &sum))
            return false;
    }
    *ret = sum;
    return true;
}

/* ---- joining ------------------------------------------------------------------------------------------------------
 */

void json_compact(struct slice value, struct str *ret)
{
    const char *p = value.bytes, *end = p + value.length;
    while (value.length && (p = skip_space(p, end)) < end) {
        const char *start = p;
        if (*p == '"')
            p = skip_string(p, end);
        else
            while (p < end && *p != '"' && !is_space(*p))
                p++;
        str_add_bytes(ret, start, (size_t)(p - start));
    }
}

struct member {
    struct slice key, value;
    bool used;
};

static int compare_members(const void *a, const void *b)
{
    const struct member *ma = a, *mb = b;
    return compare_strings(ma->key, mb->key);
}

/* Members of an object sorted by key; NULL when out of memory. */
static struct member *sorted_members(struct slice object, size_t *ret_count)
{
    size_t count = json_type_of(object) == JSON_OBJECT ? json_count(object) : 0;
    struct member *members = calloc(count + 1, sizeof *members);
    *ret_count = count;
    if (!members)
        return NULL;
    struct json_walk walk = json_walk_begin(object);
    for (size_t i = 0; i < count && json_walk_next(&walk); i++)
        members[i] = (struct member){walk.key, walk.value, false};
    qsort(members, count, sizeof *members, compare_members);
    return members;
}

static void add_member(struct str *ret, struct slice key, struct slice value, bool *first)
{
    if (!*first)
        str_add_char(ret, ',');
    *first = false;
    str_add_bytes(ret, key.bytes, key.length);
    str_add_char(ret, ':');
    str_add_bytes(ret, value.bytes, value.length);
}

void json_merge(const char *base, const char *over, struct str *ret)
{
    struct slice from = slice_of(base ? base : "{}", base ? strlen(base) : 2);
    struct slice with = slice_of(over ? over : "{}", over ? strlen(over) : 2);
    size_t count;
    struct member *members = sorted_members(with, &count);
    if (!members) {
        ret->failed = true;
        return;
    }
    bool first = true;
    str_add_char(ret, '{');
    struct json_walk walk = json_walk_begin(from);
    while (walk.object && json_walk_next(&walk)) {
        struct member wanted = {walk.key, walk.value, false};
        struct member *found = count ? bsearch(&wanted, members, count, sizeof *members, compare_members) : NULL;
        add_member(ret, walk.key, found ? found->value : walk.value, &first);
        if (found)
            found->used = true;
    }
    walk = json_walk_begin(with);
    while (walk.object && json_walk_next(&walk)) { /* the new ones in the order they were written */
        struct member wanted = {walk.key, walk.value, false};
        const struct member *found = bsearch(&wanted, members, count, sizeof *members, compare_members);
        if (found && !found->used)
            add_member(ret, walk.key, walk.value, &first);
    }
    str_add_char(ret, '}');
    free(members);
}
