/* Bounded growable string. It cannot be made without a maximum; past it the string keeps what it had, `failed` is set,
 * and every later append is ignored, so that a builder is checked once, at its end. Always NUL-terminated. */
#ifndef CARILLON_CORE_BASE_STR_H
#define CARILLON_CORE_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"

struct str {
    char *data; /* owned; NULL until something is appended: use str_text() */
    size_t length, room, maximum;
    bool failed, too_big;
};

void str_init(struct str *s, size_t maximum);
void str_release(struct str *s);
void str_clear(struct str *s); /* empty, memory kept */
void str_add(struct str *s, const char *text);
void str_add_bytes(struct str *s, const void *bytes, size_t length);
void str_add_char(struct str *s, char c);
void str_addf(struct str *s, const char *format, ...) PRINTF_LIKE(2, 3);
void str_add_i64(struct str *s, int64_t number);
/* Text as a JSON string with quotes. Bytes are kept as they are but for ", \ and control characters. */
void str_add_json(struct str *s, const char *text);
void str_add_json_bytes(struct str *s, const char *bytes, size_t length);
const char *str_text(const struct str *s);   /* never NULL */
enum status str_status(const struct str *s); /* STATUS_OK, or STATUS_TOO_BIG / STATUS_NO_MEMORY after a failed append */
char *str_take(struct str *s);               /* the caller owns the bytes (NULL if failed); the string is empty again */

#endif
