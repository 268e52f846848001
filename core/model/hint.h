/* "Did you mean …?" for mistyped names. */
#ifndef CARILLON_CORE_MODEL_HINT_H
#define CARILLON_CORE_MODEL_HINT_H

#include <stddef.h>

#define HINT_LENGTH 48 /* longer texts get no hint */

/* Characters to change, insert or remove to make one text of the other; HINT_LENGTH when either is too long. */
size_t hint_distance(const char *a, const char *b);

/* The best candidate so far: `struct hint hint = hint_begin(text); … hint_offer(&hint, name); … hint.near` (NULL: none
 * is close enough). */
struct hint {
    const char *text, *near;
    size_t best;
};
struct hint hint_begin(const char *text);
void hint_offer(struct hint *hint, const char *candidate);

#endif
