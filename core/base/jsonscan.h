/* JSON as text: checked, walked and joined without turning a number into a double, without losing a character or the
 * order of keys. A slice is a borrowed piece of a checked text. U+0000 is refused by name; depth and size are limited.
 */
#ifndef CARILLON_CORE_BASE_JSONSCAN_H
#define CARILLON_CORE_BASE_JSONSCAN_H

#include "core/base/error.h"
#include "core/base/str.h"

struct slice {
    const char *bytes;
    size_t length;
};

enum json_type { JSON_NONE, JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

/* Whole text is one well-formed JSON value (RFC 8259, UTF-8, no U+0000, no duplicate keys in an object, depth <=
 * max_depth). The error names line, column and reason. */
enum status json_check(const char *text, size_t length, int max_depth, struct error *err) MUST_USE;

/* All below need checked text. */
enum json_type json_type_of(struct slice value);
/* Member of an object by (unescaped) name; {NULL,0} when absent or no object. */
struct slice json_member(struct slice object, const char *name);
struct slice json_element(struct slice array, size_t index);
size_t json_count(struct slice container); /* members or elements; 0 for all else */

/* Walk members and elements in order: `struct json_walk w = json_walk_begin(v); while (json_walk_next(&w)) …`. For
 * arrays `key` is empty. */
struct json_walk {
    struct slice key; /* with quotes, as written */
    struct slice value;
    const char *at, *end;
    bool object;
};
struct json_walk json_walk_begin(struct slice container);
bool json_walk_next(struct json_walk *walk);

/* String value without quotes and escapes, appended. Other types: their text. */
void json_unquote(struct slice value, struct str *ret);
bool json_string_equals(struct slice string, const char *text);
/* Whole number that fits; false otherwise. */
bool json_int64(struct slice value, int64_t *ret);

/* Without white space outside of strings. */
void json_compact(struct slice value, struct str *ret);
/* Object of all members of base and over; those of over win (shallow), order: base first. NULL = {}. */
void json_merge(const char *base, const char *over, struct str *ret);

static inline struct slice slice_of(const char *text, size_t length)
{
    return (struct slice){text, length};
}

#endif
