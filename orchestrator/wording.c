#include "orchestrator/wording.h"

#include <string.h>

#include "core/base/jsonscan.h"

#define ARGS_MAX 6
#define DEPTH_MAX 4 /* a sentence in a sentence in … */

struct found {
    const struct wording *wording;
    struct slice args[ARGS_MAX];
    bool quoted[ARGS_MAX]; /* the user's own words */
};

/* The literal piece of a form up to its next {} or its end. */
static size_t piece_length(const char *form)
{
    const char *hole = strstr(form, "{}");
    return hole ? (size_t)(hole - form) : strlen(form);
}

static const char *find_piece(struct slice text, const char *piece, size_t length)
{
    for (size_t i = 0; i + length <= text.length; i++)
        if (!memcmp(text.bytes + i, piece, length))
            return text.bytes + i;
    return NULL;
}

/* Each piece is taken where it stands first, the last one at the end of the text. */
static bool fits(const struct wording *wording, struct slice text, struct found *ret)
{
    const char *form = wording->english, *end = text.bytes + text.length;
    size_t length = piece_length(form), count = 0;
    ret->wording = wording;
    if (length > text.length || memcmp(form, text.bytes, length) != 0)
        return false;
    const char *at = text.bytes + length;
    while (form[length] && count < ARGS_MAX) {
        ret->quoted[count] = length && (form[length - 1] == '"' || form[length - 1] == '{');
        form += length + 2;
        length = piece_length(form);
        struct slice rest = slice_of(at, (size_t)(end - at));
        const char *next = form[length] ? find_piece(rest, form, length)
                           : rest.length >= length && !memcmp(end - length, form, length) ? end - length
                                                                                          : NULL;
        if (!next)
            return false;
        ret->args[count++] = slice_of(at, (size_t)(next - at));
        at = next + length;
    }
    return !form[length] && at == end;
}

static bool add(struct slice text, int depth, struct str *ret)
{
    struct found found;
    size_t i = 0;
    while (i < wording_count && !fits(&wordings[i], text, &found))
        i++;
    if (i == wording_count || depth == DEPTH_MAX) {
        str_add_bytes(ret, text.bytes, text.length);
        return false;
    }
    for (const char *p = found.wording->chinese; *p; p++) {
        if (p[0] != '{' || p[1] < '1' || p[1] > '0' + ARGS_MAX || p[2] != '}') {
            str_add_bytes(ret, p, 1);
            continue;
        }
        size_t arg = (size_t)(p[1] - '1');
        if (found.quoted[arg])
            str_add_bytes(ret, found.args[arg].bytes, found.args[arg].length);
        else
            (void)add(found.args[arg], depth + 1, ret);
        p += 2;
    }
    return true;
}

bool wording_add(const char *english, enum language language, struct str *ret)
{
    if (language != LANGUAGE_EN)
        return add(slice_of(english, strlen(english)), 0, ret);
    str_add(ret, english);
    return true;
}
