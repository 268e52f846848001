#include "orchestrator/out.h"

#include "core/base/civil.h"
#include "core/base/duration.h"

void out_key(struct out *out, const char *key)
{
    if (out->comma)
        str_add_char(out->to, ',');
    if (key) {
        str_add_json(out->to, key);
        str_add_char(out->to, ':');
    }
    out->comma = true;
}

void out_open(struct out *out, const char *key, char bracket)
{
    out_key(out, key);
    str_add_char(out->to, bracket);
    out->comma = false;
}

void out_close(struct out *out, char bracket)
{
    str_add_char(out->to, bracket);
    out->comma = true;
}

void out_json(struct out *out, const char *key, const char *json)
{
    out_key(out, key);
    str_add(out->to, json ? json : "null");
}

void out_page_begin(struct out *out)
{
    out_open(out, NULL, '{');
    out_open(out, "items", '[');
}

void out_page_end(struct out *out, int64_t total)
{
    out_close(out, ']');
    out_int(out, "total", total);
    out_close(out, '}');
}

void out_text(struct out *out, const char *key, const char *text)
{
    out_key(out, key);
    if (text)
        str_add_json(out->to, text);
    else
        str_add(out->to, "null");
}

void out_int(struct out *out, const char *key, int64_t number)
{
    out_key(out, key);
    str_add_i64(out->to, number);
}

void out_id(struct out *out, const char *key, int64_t id)
{
    out_key(out, key);
    if (id)
        str_addf(out->to, "\"%lld\"", (long long)id);
    else
        str_add(out->to, "null");
}

void out_bool(struct out *out, const char *key, bool value)
{
    out_json(out, key, value ? "true" : "false");
}

void out_time(struct out *out, const char *key, instant at)
{
    char text[RFC3339_SIZE];
    out_text(out, key, instant_is_none(at) || at.ms == INT64_MAX ? NULL : rfc3339_format(at, text));
}

void out_span(struct out *out, const char *key, span length)
{
    char text[DURATION_SIZE];
    out_text(out, key, length < 0 ? NULL : duration_format(length, text));
}
