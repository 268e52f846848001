/* JSON out: members and elements in order, commas by themselves.
 *
 *     struct out o = out_to(&body);
 *     out_open(&o, NULL, '{'); out_text(&o, "name", name); out_close(&o, '}');
 *
 * key NULL: an element of an array (or the whole text). Missing values (NULL text, INSTANT_NONE, id 0) become null. */
#ifndef CARILLON_ORCHESTRATOR_OUT_H
#define CARILLON_ORCHESTRATOR_OUT_H

#include "core/base/instant.h"
#include "core/base/str.h"

struct out {
    struct str *to;
    bool comma; /* something stands before */
};

static inline struct out out_to(struct str *to)
{
    return (struct out){to, false};
}

void out_key(struct out *out, const char *key); /* then the value by hand, and out->comma = true */
void out_open(struct out *out, const char *key, char bracket);
void out_close(struct out *out, char bracket);
/* A page of a list: {"items":[ … ],"total":n}; `total` counts the items of all pages. */
void out_page_begin(struct out *out);
void out_page_end(struct out *out, int64_t total);
void out_text(struct out *out, const char *key, const char *text);
void out_int(struct out *out, const char *key, int64_t number);
void out_id(struct out *out, const char *key, int64_t id); /* as text */
void out_bool(struct out *out, const char *key, bool value);
void out_time(struct out *out, const char *key, instant at); /* RFC 3339, UTC, milliseconds */
void out_span(struct out *out, const char *key, span length);
void out_json(struct out *out, const char *key, const char *json); /* JSON text as it is */

#endif
