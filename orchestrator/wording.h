/* What the ground floor says of a bad document, in other languages. The ground floor speaks English alone; a sentence
 * is known again by its form (`unknown member "{}"`), its arguments are what stands at the {}. An argument that is a
 * sentence or word of the catalogue itself is translated, too, unless it stands in quotes: then it is the user's. */
#ifndef CARILLON_ORCHESTRATOR_WORDING_H
#define CARILLON_ORCHESTRATOR_WORDING_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"
#include "orchestrator/problem.h"

struct wording {
    const char *english; /* {} stands for an argument */
    const char *chinese; /* {1} is the first of them */
};

/* The first form that fits rules: special ones stand before general ones. */
extern const struct wording wordings[];
extern const size_t wording_count;

/* Adds the text in that language; as it is where the catalogue does not know it (then false). */
bool wording_add(const char *english, enum language language, struct str *ret);

#endif
