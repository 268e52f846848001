/* UTF-8 checks. Texts survive every hop byte for byte; what is not UTF-8, or holds U+0000, is refused at the door. */
#ifndef CARILLON_CORE_BASE_UTF8_H
#define CARILLON_CORE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Well-formed UTF-8 of every plane (no surrogates, no overlong forms). */
bool utf8_valid(const char *bytes, size_t length);
/* Characters (code points) of a well-formed text. */
size_t utf8_count(const char *text);

#endif
