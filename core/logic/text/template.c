#include "core/logic/text/template.h"

#include <string.h>

#include "core/base/jsonscan.h"
#include "core/logic/text/expression.h"
#include "core/model/limits.h"

static enum status output_status(const struct str *ret, struct error *err)
{
    enum status status = str_status(ret);
    if (status == STATUS_TOO_BIG)
        return error_set(err, status, "the rendered text is longer than %zu bytes", ret->maximum);
    return status ? error_set(err, status, "out of memory") : STATUS_OK;
}

/* Renders `text` as plain text: ${…} is replaced, $${ stands for ${. With `ret` NULL only the syntax is looked at. */
static enum status render_plain(struct evaluation *e, const char *text, size_t length, struct str *ret,
                                struct error *err)
{
    const char *at = text, *end = text + length;
    while (at < end) {
        const char *dollar = memchr(at, '$', (size_t)(end - at));
        const char *stop = dollar ? dollar : end;
        if (ret)
            str_add_bytes(ret, at, (size_t)(stop - at));
        at = stop;
        size_t left = (size_t)(end - at);
        if (left > 2 && at[1] == '$' && at[2] == '{') {
            if (ret)
                str_add(ret, "${");
            at += 3;
        } else if (left > 1 && at[1] == '{') {
            struct value value;
            size_t used;
            enum status status = expression_evaluate(e, at + 2, left - 2, true, &value, &used, err);
            if (status)
                return status;
            if (ret)
                value_text(e, &value, ret);
            at += 2 + used;
        } else if (left) {
            if (ret)
                str_add_char(ret, '$');
            at++;
        }
    }
    return ret ? output_status(ret, err) : STATUS_OK;
}

/* One string value of a JSON template, `content` without quotes and escapes. */
static enum status render_string(struct evaluation *e, const struct str *content, struct slice raw, struct str *ret,
                                 struct error *err)
{
    const char *text = str_text(content);
    struct value value;
    size_t used;
    struct str plain;
    if (!strstr(text, "${")) {
        if (ret)
            str_add_bytes(ret, raw.bytes, raw.length); /* byte for byte */
        return STATUS_OK;
    }
    if (!strncmp(text, "${", 2)) {
        enum status status = expression_evaluate(e, text + 2, content->length - 2, true, &value, &used, err);
        if (status)
            return status;
        if (used + 2 == content->length) {
            if (ret)
                value_json(e, &value, ret);
            return STATUS_OK;
        }
    }
    str_init(&plain, ret ? ret->maximum : 0);
    enum status status = render_plain(e, text, content->length, ret ? &plain : NULL, err);
    if (!status && ret)
        str_add_json_bytes(ret, str_text(&plain), plain.length);
    str_release(&plain);
    return status;
}

/* Behind the string that begins at `at` (checked JSON). */
static const char *string_end(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\';
    return at < end ? at + 1 : end;
}

/* Copies checked JSON; strings that are no keys are rendered. No nesting is followed: a key is what a colon follows. */
static enum status render_json(struct evaluation *e, const char *json, size_t length, struct str *ret,
                               struct error *err)
{
    const char *at = json, *end = json + length;
    while (at < end) {
        const char *quote = memchr(at, '"', (size_t)(end - at));
        if (ret)
            str_add_bytes(ret, at, (size_t)((quote ? quote : end) - at));
        if (!quote)
            break;
        struct slice raw = slice_of(quote, (size_t)(string_end(quote, end) - quote));
        at = quote + raw.length;
        const char *next = at + strspn(at, " \t\r\n");
        if (next < end && *next == ':') {
            if (ret)
                str_add_bytes(ret, raw.bytes, raw.length);
            continue;
        }
        struct str content;
        str_init(&content, raw.length);
        json_unquote(raw, &content);
        enum status status = content.failed ? error_set(err, STATUS_NO_MEMORY, "out of memory")
                                            : render_string(e, &content, raw, ret, err);
        str_release(&content);
        if (status)
            return status;
    }
    return ret ? output_status(ret, err) : STATUS_OK;
}

enum status template_render_json(const char *json, const struct template_context *context, struct str *ret,
                                 struct error *err)
{
    struct evaluation e;
    const char *text = json ? json : "{}";
    enum status status = json_check(text, strlen(text), LIMIT_JSON_DEPTH, err);
    if (status)
        return status;
    evaluation_begin(&e, context);
    status = render_json(&e, text, strlen(text), ret, err);
    evaluation_end(&e);
    return status;
}

enum status template_render_text(const char *text, const struct template_context *context, struct str *ret,
                                 struct error *err)
{
    struct evaluation e;
    evaluation_begin(&e, context);
    enum status status = render_plain(&e, text, strlen(text), ret, err);
    evaluation_end(&e);
    return status;
}

enum status template_test(const char *expression, const struct template_context *context, bool *ret, struct error *err)
{
    struct evaluation e;
    struct value value = {.type = VALUE_NULL};
    size_t length = strlen(expression), used = 0;
    bool braced = !strncmp(expression, "${", 2);
    evaluation_begin(&e, context);
    enum status status = braced ? expression_evaluate(&e, expression + 2, length - 2, true, &value, &used, err)
                                : expression_evaluate(&e, expression, length, false, &value, &used, err);
    if (!status && braced && used + 2 != length)
        status = error_set(err, STATUS_INVALID, "a condition is one ${…}; something follows its end in \"%.100s\"",
                           expression);
    if (!status)
        *ret = value_truth(&value);
    evaluation_end(&e);
    return status;
}

enum status template_check(const char *text, void (*seen)(void *context, const char *step), void *context,
                           struct error *err)
{
    struct evaluation e;
    size_t length = strlen(text);
    const char first = text[strspn(text, " \t\r\n")];
    bool json = (first == '{' || first == '[' || first == '"') && !json_check(text, length, LIMIT_JSON_DEPTH, NULL);
    evaluation_begin(&e, NULL);
    e.seen = seen;
    e.seen_context = context;
    enum status status = json ? render_json(&e, text, length, NULL, err) : render_plain(&e, text, length, NULL, err);
    evaluation_end(&e);
    return status;
}
