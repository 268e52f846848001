#include "core/model/hint.h"

#include <string.h>

size_t hint_distance(const char *a, const char *b)
{
    size_t row[HINT_LENGTH + 1], la = strlen(a), lb = strlen(b);
    if (la > HINT_LENGTH || lb > HINT_LENGTH)
        return HINT_LENGTH;
    for (size_t j = 0; j <= lb; j++)
        row[j] = j;
    for (size_t i = 1; i <= la; i++) { /* Levenshtein's table, one row kept */
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= lb; j++) {
            size_t least = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < least)
                least = row[j] + 1;
            if (row[j - 1] + 1 < least)
                least = row[j - 1] + 1;
            row[j] = least;
        }
    }
    return row[lb];
}

struct hint hint_begin(const char *text)
{
    size_t length = strlen(text);
    return (struct hint){text, NULL, length < 4 ? 2 : length < 9 ? 3 : 4};
}

void hint_offer(struct hint *hint, const char *candidate)
{
    size_t d = hint_distance(hint->text, candidate);
    if (d < hint->best) {
        hint->best = d;
        hint->near = candidate;
    }
}
