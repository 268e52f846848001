/* Characters of JSON texts; internal to core/base (jsoncheck.c, jsonscan.c). */
#ifndef CARILLON_CORE_BASE_JSONTEXT_H
#define CARILLON_CORE_BASE_JSONTEXT_H

#include "core/base/jsonscan.h"

static inline bool json_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static inline bool json_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline const char *json_skip_space(const char *p, const char *end)
{
    while (p < end && json_is_space(*p))
        p++;
    return p;
}

/* Four hex digits at `p`; −1 when they are none. */
int32_t json_hex_unit(const char *p, const char *end);
/* What \c stands for (not \u); '\0' when nothing. */
char json_simple_escape(char c);
/* Byte order of two checked strings (with quotes) after unescaping. */
int json_compare_strings(struct slice a, struct slice b);

#endif
