#include "core/base/jsonscan.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/jsontext.h"

/* ---- characters of a string ------------------------------------------------------------------------------------- */

static int hex_value(char c)
{
    if (json_is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

int32_t json_hex_unit(const char *p, const char *end)
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

char json_simple_escape(char c)
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
        uint32_t point = (uint32_t)json_hex_unit(p + 2, end) & 0xffff;
        *at = p + 6;
        if (point >= 0xd800 && point < 0xdc00 && end - p >= 12) {
            uint32_t low = (uint32_t)json_hex_unit(p + 8, end) & 0x3ff;
            point = 0x10000 + ((point & 0x3ff) << 10) + low;
            *at = p + 12;
        }
        piece->length = utf8_put(point, piece->escape);
        return true;
    }
    piece->escape[0] = p + 1 < end ? json_simple_escape(p[1]) : '\\';
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

int json_compare_strings(struct slice a, struct slice b)
{
    struct slice ca = content(a), cb = content(b);
    const char *pa = ca.bytes, *pb = cb.bytes, *ea = pa + ca.length, *eb = pb + cb.length;
    struct piece xa = {.bytes = ""}, xb = {.bytes = ""};
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
    struct piece piece = {.bytes = ""};
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
    struct piece piece = {.bytes = ""};
    while (next_piece(&p, end, &piece))
        str_add_bytes(ret, piece.bytes, piece.length);
}

/* ---- walking checked text -----------------------------------------------------------------------------------------
 */

static struct slice trimmed(struct slice value)
{
    if (!value.length)
        return (struct slice){NULL, 0};
    const char *end = value.bytes + value.length, *p = json_skip_space(value.bytes, end);
    while (end > p && json_is_space(end[-1]))
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
        return value.bytes[0] == '-' || json_is_digit(value.bytes[0]) ? JSON_NUMBER : JSON_NONE;
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
            if (!depth && json_is_space(*p))
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
    p = json_skip_space(p, walk->end);
    if (p < walk->end && *p == ',')
        p = json_skip_space(p + 1, walk->end);
    if (p >= walk->end || *p == '}' || *p == ']') {
        walk->at = NULL;
        return false;
    }
    walk->key = (struct slice){"", 0};
    if (walk->object) {
        const char *key = p;
        p = skip_string(p, walk->end);
        walk->key = slice_of(key, (size_t)(p - key));
        p = json_skip_space(p, walk->end);
        p = json_skip_space(p < walk->end ? p + 1 : p, walk->end);
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
        if (!json_is_digit(value.bytes[i]) || __builtin_mul_overflow(sum, 10, &sum) ||
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
    while (value.length && (p = json_skip_space(p, end)) < end) {
        const char *start = p;
        if (*p == '"')
            p = skip_string(p, end);
        else
            while (p < end && *p != '"' && !json_is_space(*p))
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
    return json_compare_strings(ma->key, mb->key);
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
