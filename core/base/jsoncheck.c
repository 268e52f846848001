/* json_check: is a text from outside JSON? */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/jsontext.h"

/* No function calls itself: nesting is an array of frames, so a hostile text cannot use up the stack. */
#define DEPTH_MAX 512

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
        if (!json_simple_escape(p[1]))
            return fault(c, p, "unknown escape in a string; a backslash itself is written \\\\");
        c->at += 2;
        return STATUS_OK;
    }
    int32_t unit = json_hex_unit(p + 2, c->end);
    if (unit < 0)
        return fault(c, p, "\\u needs four hexadecimal digits");
    if (unit == 0)
        return fault(c, p, "U+0000 is not allowed in a text");
    c->at += 6;
    if (unit < 0xd800 || unit > 0xdfff)
        return STATUS_OK;
    int32_t low = unit < 0xdc00 && c->end - c->at >= 6 && c->at[0] == '\\' && c->at[1] == 'u'
                      ? json_hex_unit(c->at + 2, c->end)
                      : -1;
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
    if (c->at >= c->end || !json_is_digit(*c->at))
        return false;
    while (c->at < c->end && json_is_digit(*c->at))
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
    int order = json_compare_strings(*ka, *kb);
    return order ? order : (ka->bytes > kb->bytes) - (ka->bytes < kb->bytes);
}

static enum status twice(struct check *c, struct slice key)
{
    char reason[160];
    size_t shown = key.length;
    if (shown > 80) /* whole characters */
        for (shown = 80; shown && ((unsigned char)key.bytes[shown] & 0xc0) == 0x80;)
            shown--;
    (void)snprintf(reason, sizeof reason, "the key %.*s appears twice in one object", (int)shown, key.bytes);
    return fault(c, key.bytes, reason);
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
        if (!json_compare_strings(keys[i - 1], keys[i]))
            return twice(c, keys[i]);
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
    c->at = json_skip_space(c->at, c->end);
    if (c->at >= c->end || *c->at != ':')
        return fault(c, c->at, "a colon is expected behind the key");
    c->at = json_skip_space(c->at + 1, c->end);
    return STATUS_OK;
}

/* Opens a container. *ret_closed: it is empty and closed again. */
static enum status open_container(struct check *c, bool *ret_closed)
{
    bool object = *c->at == '{';
    if (c->depth >= c->max_depth)
        return fault(c, c->at, "nested too deeply");
    c->frames[c->depth++] = (struct frame){object, c->keys.count};
    c->at = json_skip_space(c->at + 1, c->end);
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
        c->at = json_skip_space(c->at, c->end);
        if (c->at >= c->end)
            return fault(c, c->at,
                         frame->object ? "the text ends inside an object; } is missing"
                                       : "the text ends inside an array; ] is missing");
        if (*c->at == ',') {
            c->at = json_skip_space(c->at + 1, c->end);
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
        else if (*c->at == '-' || json_is_digit(*c->at))
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
    c.at = json_skip_space(text, c.end);
    enum status status = check_values(&c);
    if (!status) {
        c.at = json_skip_space(c.at, c.end);
        if (c.at < c.end)
            status =
                fault(&c, c.at, *c.at ? "something follows the end of the value" : "U+0000 is not allowed in a text");
    }
    free(c.keys.items);
    return status;
}
