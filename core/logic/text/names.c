/* Names of the template language and the paths below them. */
#include <stdio.h>
#include <string.h>

#include "core/logic/text/number.h"
#include "core/logic/text/parser.h"
#include "core/model/hint.h"
#include "core/model/limits.h"

/* In the order in which people should hear of them. `item` is known in steps with a map only, the last three where an
 * answer is judged. */
static const char *const roots[] = {"params", "steps", "scheduled", "fired",  "run",    "job",     "trigger",
                                    "step",   "shard", "item",      "secret", "status", "headers", "body"};
#define ROOTS (sizeof roots / sizeof *roots)

static bool slice_is(struct slice name, const char *text)
{
    return strlen(text) == name.length && !memcmp(name.bytes, text, name.length);
}

static bool name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

struct slice scan_identifier(const char *at, const char *end)
{
    const char *p = at;
    if (p < end && name_start(*p))
        for (p++; p < end && (name_start(*p) || digit(*p));)
            p++;
    return slice_of(at, (size_t)(p - at));
}

static int shown(struct slice text)
{
    size_t length = text.length;
    if (length > 100)
        for (length = 100; length && ((unsigned char)text.bytes[length] & 0xc0) == 0x80;)
            length--;
    return (int)length;
}

/* ---- below a value ------------------------------------------------------------------------------------------------
 */

static struct value no_parts(struct parser *p, const struct value *container, struct slice path)
{
    if (container->type == VALUE_MISSING || container->type == VALUE_NULL)
        return *container; /* below null everything is null */
    return value_missing(p, "%.*s is %s and has no members", shown(path), path.bytes, value_type_text(container));
}

struct value member_of(struct parser *p, const struct value *container, struct slice path, struct slice name)
{
    if (!parser_active(p))
        return value_null();
    if (container->type != VALUE_JSON || json_type_of(container->text) != JSON_OBJECT)
        return no_parts(p, container, path);
    if (!parser_work(p, container->text.length))
        return value_null();
    char *key = arena_copy(&p->e->arena, name.bytes, name.length);
    if (!key)
        return parser_no_memory(p);
    struct slice found = json_member(container->text, key);
    if (!found.length)
        return value_missing(p, "there is no \"%.*s\" in %.*s", shown(name), name.bytes, shown(path), path.bytes);
    return value_of_json(p, found);
}

struct value element_of(struct parser *p, const struct value *container, struct slice path, const struct value *index)
{
    int64_t at;
    if (!parser_active(p))
        return value_null();
    if (index->type == VALUE_MISSING)
        return *index;
    if (index->type == VALUE_TEXT)
        return member_of(p, container, path, index->text);
    if (container->type != VALUE_JSON || json_type_of(container->text) != JSON_ARRAY)
        return no_parts(p, container, path);
    if (index->type != VALUE_NUMBER || !json_int64(index->text, &at))
        return parser_fail(p, "an index must be a whole number or a text, not %s", value_type_text(index));
    if (!parser_work(p, container->text.length))
        return value_null();
    struct slice found = at < 0 ? slice_of(NULL, 0) : json_element(container->text, (size_t)at);
    if (!found.length)
        return value_missing(p, "there is no element %lld in %.*s, which has %zu", (long long)at, shown(path),
                             path.bytes, json_count(container->text));
    return value_of_json(p, found);
}

/* ---- JSON from outside --------------------------------------------------------------------------------------------
 */

/* A text that somebody else made: believed only when it is well-formed, else no output of ours would be. */
static struct value outside_json(struct parser *p, const char *text, struct slice path)
{
    size_t length = strlen(text);
    struct evaluation *e = p->e;
    bool known = false;
    for (size_t i = 0; i < e->checked_count; i++)
        known |= e->checked[i] == text;
    if (!known) {
        struct error why = {.code = STATUS_OK};
        if (!parser_work(p, length))
            return value_null();
        enum status status = json_check(text, length, LIMIT_JSON_DEPTH, &why);
        if (status == STATUS_NO_MEMORY)
            return parser_no_memory(p);
        if (status)
            return parser_fail(p, "%.*s is not JSON: %.120s", shown(path), path.bytes, why.text);
        if (e->checked_count < CHECKED_MAX)
            e->checked[e->checked_count++] = text;
    }
    while (length && strchr(" \t\r\n", text[length - 1]))
        length--;
    size_t space = strspn(text, " \t\r\n");
    return value_of_json(p, slice_of(text + space, length - space));
}

/* ---- roots --------------------------------------------------------------------------------------------------------
 */

struct pair {
    const char *name, *text;
    bool number;
};

/* An object of those pairs whose text is there. */
static struct value object_of(struct parser *p, const struct pair *pairs, size_t count)
{
    struct str json;
    str_init(&json, LIMIT_EXPRESSION);
    for (size_t i = 0; i < count; i++) {
        const char *text = pairs[i].text;
        if (!text)
            continue;
        str_add_char(&json, json.length ? ',' : '{');
        str_add_json(&json, pairs[i].name);
        str_add_char(&json, ':');
        if (pairs[i].number && *text && number_scan(text, strlen(text)) == strlen(text))
            str_add(&json, text);
        else
            str_add_json(&json, text);
    }
    str_add(&json, json.length ? "}" : "{}");
    struct value value = value_taken(p, &json);
    if (value.type == VALUE_TEXT)
        value.type = VALUE_JSON;
    return value;
}

static struct value time_of(instant at)
{
    return instant_is_none(at) ? value_null() : (struct value){.type = VALUE_TIME, .at = at};
}

static struct value shard_of(struct parser *p, const struct template_context *c)
{
    char index[16], total[16];
    if (c->shard_total <= 0)
        return value_missing(p, "this step has no shards");
    (void)snprintf(index, sizeof index, "%d", c->shard_index);
    (void)snprintf(total, sizeof total, "%d", c->shard_total);
    const struct pair pairs[] = {{"index", index, true}, {"total", total, true}};
    return object_of(p, pairs, 2);
}

static struct value unknown_name(struct parser *p, struct slice name)
{
    char text[64];
    struct str all;
    (void)snprintf(text, sizeof text, "%.*s", shown(name) < 60 ? shown(name) : 60, name.bytes);
    struct hint hint = hint_begin(text);
    str_init(&all, 200);
    for (size_t i = 0; i < ROOTS; i++) {
        hint_offer(&hint, roots[i]);
        if (i < ROOTS - 4)
            str_addf(&all, "%s%s", i ? ", " : "", roots[i]);
    }
    struct value value = hint.near ? value_missing(p, "\"%s\" is no known name; did you mean %s?", text, hint.near)
                                   : value_missing(p, "\"%s\" is no known name; there are %s", text, str_text(&all));
    str_release(&all);
    return value;
}

static struct value root_value(struct parser *p, struct slice name)
{
    const struct template_context *c = p->e->context;
    if (c->names && json_type_of(slice_of(c->names, strlen(c->names))) == JSON_OBJECT) {
        struct value extra = outside_json(p, c->names, name);
        char text[16];
        (void)snprintf(text, sizeof text, "%.*s", name.length < 15 ? (int)name.length : 15, name.bytes);
        struct slice found = p->status ? slice_of(NULL, 0) : json_member(extra.text, text);
        if (found.length && name.length < 15)
            return value_of_json(p, found);
    }
    if (slice_is(name, "params"))
        return outside_json(p, c->params ? c->params : "{}", name);
    if (slice_is(name, "scheduled"))
        return time_of(c->scheduled);
    if (slice_is(name, "fired"))
        return time_of(c->fired);
    if (slice_is(name, "shard"))
        return shard_of(p, c);
    if (slice_is(name, "item"))
        return value_missing(p, "this step has no items: `map` makes them");
    if (slice_is(name, "run")) {
        const struct pair pairs[] = {{"id", c->run_id, false}, {"origin", c->origin, false}};
        return object_of(p, pairs, 2);
    }
    if (slice_is(name, "job")) {
        const struct pair pairs[] = {
            {"name", c->job, false}, {"project", c->project, false}, {"version", c->version, true}};
        return object_of(p, pairs, 3);
    }
    if (slice_is(name, "trigger")) {
        const struct pair pairs[] = {{"name", c->trigger, false}};
        return object_of(p, pairs, 1);
    }
    if (slice_is(name, "step")) {
        const struct pair pairs[] = {{"name", c->step_name, false}};
        return object_of(p, pairs, 1);
    }
    return unknown_name(p, name);
}

/* ---- steps --------------------------------------------------------------------------------------------------------
 */

/* Step names hold '-' and '.', so the name ends where ".result" or ".state" follows. 0: nowhere. */
static size_t step_name_length(const char *at, const char *end)
{
    const char *p = at;
    while (p < end && (name_start(*p) || digit(*p) || *p == '-' || *p == '.')) {
        struct slice part = *p == '.' ? scan_identifier(p + 1, end) : slice_of("", 0);
        if (p > at && (slice_is(part, "result") || slice_is(part, "state")))
            return (size_t)(p - at);
        p++;
    }
    return 0;
}

static struct value step_part(struct parser *p, const char *name, struct slice part, struct slice path)
{
    const struct template_context *c = p->e->context;
    if (!parser_active(p))
        return value_null();
    const struct template_step *step = c->step ? c->step(c->context, name) : NULL;
    if (!step)
        return value_missing(p, "there is no step \"%.130s\"", name);
    if (slice_is(part, "state"))
        return step->state ? value_string(p, step->state, strlen(step->state)) : value_null();
    if (!step->known)
        return value_missing(p, "the step \"%.130s\" has not ended, so its result cannot be read", name);
    return step->result ? outside_json(p, step->result, path) : value_null();
}

/* Behind "steps": .name or ["name"], then .result or .state. */
static struct value steps_value(struct parser *p, const char *start)
{
    const char *name = p->at + 1;
    size_t length = 0;
    if (p->at < p->end && *p->at == '.') {
        length = step_name_length(name, p->end);
        p->at = name + length;
    } else if (p->end - p->at > 2 && *p->at == '[' && (name[0] == '"' || name[0] == '\'')) {
        const char *quote = memchr(name + 1, name[0], (size_t)(p->end - name - 1));
        if (quote && p->end - quote > 1 && quote[1] == ']') {
            length = (size_t)(quote - name - 1);
            name++;
            p->at = quote + 2;
        }
    }
    struct slice part = p->at < p->end && *p->at == '.' ? scan_identifier(p->at + 1, p->end) : slice_of("", 0);
    if (!length || length > LIMIT_NAME || (!slice_is(part, "result") && !slice_is(part, "state")))
        return parser_fail(p, "write steps.<name>.result or steps.<name>.state");
    p->at = part.bytes + part.length;
    char text[LIMIT_NAME + 1];
    memcpy(text, name, length);
    text[length] = '\0';
    if (!p->e->context && p->e->seen)
        p->e->seen(p->e->seen_context, text);
    return step_part(p, text, part, slice_of(start, (size_t)(p->at - start)));
}

struct value name_evaluate(struct parser *p, struct slice name)
{
    if (slice_is(name, "steps"))
        return steps_value(p, name.bytes);
    if (slice_is(name, "secret"))
        return parser_fail(p, "secrets are not available yet");
    if (!p->e->context && !p->status) {
        bool known = false;
        for (size_t i = 0; i < ROOTS; i++)
            known |= slice_is(name, roots[i]);
        struct value missing = known ? value_null() : unknown_name(p, name);
        if (!known)
            (void)parser_fail(p, "%.*s", (int)missing.text.length, missing.text.bytes);
    }
    return parser_active(p) ? root_value(p, name) : value_null();
}
