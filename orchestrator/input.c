/* Inputs of requests, each with its limit: query parameters, bodies, batches. */
#include <stdio.h>
#include <string.h>

#include "core/base/civil.h"
#include "core/base/duration.h"
#include "core/base/ids.h"
#include "orchestrator/call.h"

/* ---- query parameters ---- */

static bool number(const char *text, int64_t *ret)
{
    char *end;
    if (!*text || strlen(text) > 18)
        return false;
    *ret = strtoll(text, &end, 10);
    return !*end && (*text == '-' || (*text >= '0' && *text <= '9'));
}

static bool query_number(struct call *call, enum problem_code code, const char *name, int64_t low, int64_t high,
                         int64_t fallback, int64_t *ret)
{
    const char *text = http_query(call->request, name);
    char rule[80];
    *ret = fallback;
    if (!text)
        return true;
    if (number(text, ret) && *ret >= low && *ret <= high)
        return true;
    (void)snprintf(rule, sizeof rule, "a whole number from %lld to %lld", (long long)low, (long long)high);
    return code == PAGE_INVALID ? call_fail(call, code, "name", name, "value", text, "rule", rule, NULL)
                                : call_fail(call, code, "name", name, "reason", rule, NULL);
}

bool input_page(struct call *call, struct page *ret)
{
    return query_number(call, PAGE_INVALID, "skip", 0, INT32_MAX, 0, &ret->skip) &&
           query_number(call, PAGE_INVALID, "limit", 1, LIMIT_BATCH_ITEMS, 100, &ret->limit);
}

bool query_int(struct call *call, const char *name, int64_t low, int64_t high, int64_t fallback, int64_t *ret)
{
    return query_number(call, PARAMETER_INVALID, name, low, high, fallback, ret);
}

bool query_time(struct call *call, const char *name, instant *ret)
{
    const char *text = http_query(call->request, name);
    struct error err;
    *ret = INSTANT_NONE;
    if (!text || !*text || !rfc3339_parse(text, ret, &err))
        return true;
    return call_fail(call, PARAMETER_INVALID, "name", name, "reason", err.text, NULL);
}

bool query_bool(struct call *call, const char *name, bool *ret)
{
    const char *text = http_query(call->request, name);
    *ret = text && (!strcmp(text, "true") || !strcmp(text, "1") || !*text);
    if (!text || *ret || !strcmp(text, "false") || !strcmp(text, "0"))
        return true;
    return call_fail(call, PARAMETER_INVALID, "name", name, "reason", "true or false", NULL);
}

bool query_span(struct call *call, const char *name, span maximum, span *ret)
{
    const char *text = http_query(call->request, name);
    struct error err;
    char most[DURATION_SIZE], reason[128];
    *ret = -1;
    if (!text)
        return true;
    if (duration_parse(text, ret, &err) != STATUS_OK)
        return call_fail(call, PARAMETER_INVALID, "name", name, "reason", err.text, NULL);
    if (*ret <= maximum)
        return true;
    (void)snprintf(reason, sizeof reason, "at most %s", duration_format(maximum, most));
    return call_fail(call, PARAMETER_INVALID, "name", name, "reason", reason, NULL);
}

bool input_if_match(struct call *call, int64_t *ret)
{
    const char *text = http_header(call->request, "If-Match");
    char digits[24];
    *ret = 0;
    if (!text || !strcmp(text, "*"))
        return true;
    if (!strncmp(text, "W/", 2))
        text += 2;
    size_t length = strlen(text);
    if (length >= 2 && text[0] == '"' && text[length - 1] == '"') {
        text++;
        length -= 2;
    }
    if (length && length < sizeof digits) {
        memcpy(digits, text, length);
        digits[length] = '\0';
        if (id_parse(digits, ret))
            return true;
    }
    return call_fail(call, PARAMETER_INVALID, "name", "If-Match", "reason",
                     "the version of the document in quotes, as in the ETag of an answer", NULL);
}

/* ---- bodies ---- */

bool input_object(struct call *call, struct slice *ret)
{
    const struct http_request *request = call->request;
    struct error err;
    if (!request->body_length)
        return call_fail(call, JSON_INVALID, "reason", "it is empty; a JSON object is needed", NULL);
    if (json_check(request->body, request->body_length, LIMIT_JSON_DEPTH, &err) != STATUS_OK)
        return call_fail(call, JSON_INVALID, "reason", err.text, NULL);
    *ret = slice_of(request->body, request->body_length);
    if (json_type_of(*ret) != JSON_OBJECT)
        return call_fail(call, JSON_INVALID, "reason", "it must be a JSON object", NULL);
    return true;
}

static const char *type_name(enum json_type type)
{
    switch (type) {
    case JSON_STRING:
        return "a string";
    case JSON_ARRAY:
        return "an array";
    case JSON_OBJECT:
        return "an object";
    case JSON_NUMBER:
        return "a number";
    case JSON_NONE:
    case JSON_NULL:
    case JSON_FALSE:
    case JSON_TRUE:
        break;
    }
    return "true or false";
}

bool input_member(struct problem *problem, struct slice object, const char *name, enum json_type type,
                  struct slice *ret)
{
    struct slice value = json_member(object, name);
    enum json_type found = value.length ? json_type_of(value) : JSON_NONE;
    char reason[120];
    *ret = slice_of("", 0);
    if (found == JSON_NONE || found == JSON_NULL)
        return true;
    *ret = value;
    if (found == type || (type == JSON_TRUE && found == JSON_FALSE))
        return true;
    (void)snprintf(reason, sizeof reason, "must be %s", type_name(type));
    return problem_set(problem, PARAMETER_INVALID, "name", name, "reason", reason, NULL);
}

bool input_text(struct call *call, struct problem *problem, struct slice object, const char *name, const char **ret)
{
    struct slice value;
    *ret = NULL;
    if (!input_member(problem, object, name, JSON_STRING, &value))
        return false;
    if (value.length)
        *ret = call_unquote(call, value);
    return true;
}

bool input_time(struct call *call, struct problem *problem, struct slice object, const char *name, instant *ret)
{
    const char *text;
    struct error err;
    *ret = INSTANT_NONE;
    if (!input_text(call, problem, object, name, &text))
        return false;
    if (text && rfc3339_parse(text, ret, &err) != STATUS_OK)
        return problem_set(problem, PARAMETER_INVALID, "name", name, "reason", err.text, NULL);
    return true;
}

bool input_int(struct problem *problem, struct slice object, const char *name, int64_t low, int64_t high,
               int64_t fallback, int64_t *ret)
{
    struct slice value;
    char reason[96];
    *ret = fallback;
    if (!input_member(problem, object, name, JSON_NUMBER, &value))
        return false;
    if (!value.length || (json_int64(value, ret) && *ret >= low && *ret <= high))
        return true;
    (void)snprintf(reason, sizeof reason, "must be a whole number from %lld to %lld", (long long)low, (long long)high);
    return problem_set(problem, PARAMETER_INVALID, "name", name, "reason", reason, NULL);
}

bool input_bool(struct problem *problem, struct slice object, const char *name, bool *ret)
{
    struct slice value;
    *ret = false;
    if (!input_member(problem, object, name, JSON_TRUE, &value))
        return false;
    *ret = value.length && json_type_of(value) == JSON_TRUE;
    return true;
}

bool input_params(struct call *call, struct problem *problem, struct slice object, const char **ret)
{
    struct slice value;
    char size[24], maximum[24];
    *ret = NULL;
    if (!input_member(problem, object, "params", JSON_OBJECT, &value))
        return false;
    if (value.length > LIMIT_PARAMS) {
        (void)snprintf(size, sizeof size, "%zu", value.length);
        (void)snprintf(maximum, sizeof maximum, "%zu", LIMIT_PARAMS);
        return problem_set(problem, BODY_TOO_BIG, "name", "params", "size", size, "maximum", maximum, NULL);
    }
    if (value.length)
        *ret = call_copy(call, value);
    return true;
}

/* ---- batches ---- */

/* "job/trigger" of {"job","trigger"}, else the member by its name. */
static const char *item_key(struct call *call, struct slice item, const char *member)
{
    struct problem ignored = {0};
    const char *key, *job;
    if (json_type_of(item) == JSON_STRING)
        return call_unquote(call, item);
    if (!input_text(call, &ignored, item, member, &key) || !key)
        return NULL;
    if (strcmp(member, "trigger") != 0)
        return key;
    return input_text(call, &ignored, item, "job", &job) && job ? call_printf(call, "%s/%s", job, key) : NULL;
}

bool input_batch(struct call *call, const char *list, const char *key_member, struct batch *ret)
{
    struct slice items, body;
    char reason[200], count[24], maximum[24];
    *ret = (struct batch){0};
    if (!input_object(call, &body))
        return false;
    ret->common = body;
    if (!input_member(&call->problem, body, list, JSON_ARRAY, &items))
        return false;
    if (!items.length && !input_member(&call->problem, body, "items", JSON_ARRAY, &items))
        return false;
    if (!items.length) {
        (void)snprintf(reason, sizeof reason, "it must have \"%s\" or \"items\" (a list)", list);
        return call_fail(call, JSON_INVALID, "reason", reason, NULL);
    }
    size_t n = json_count(items);
    if (n > LIMIT_BATCH_ITEMS) {
        (void)snprintf(count, sizeof count, "%zu", n);
        (void)snprintf(maximum, sizeof maximum, "%d", LIMIT_BATCH_ITEMS);
        return call_fail(call, BATCH_TOO_BIG, "count", count, "maximum", maximum, NULL);
    }
    ret->items = mem_alloc((n + 1) * sizeof *ret->items);
    for (struct json_walk walk = json_walk_begin(items); json_walk_next(&walk);) {
        struct batch_item *item = &ret->items[ret->count++];
        item->args = json_type_of(walk.value) == JSON_OBJECT ? walk.value : slice_of("", 0);
        item->key = item_key(call, walk.value, key_member);
        if (item->key)
            continue;
        item->key = "";
        (void)snprintf(reason, sizeof reason, "every item needs \"%s\" (text)", key_member);
        problem_set(&item->problem, JSON_INVALID, "reason", reason, NULL);
    }
    return true;
}

bool input_single(struct call *call, const char *key, struct batch *ret)
{
    *ret = (struct batch){.common = slice_of("{}", 2)};
    if (call->request->body_length && !input_object(call, &ret->common))
        return false;
    ret->items = mem_alloc(sizeof *ret->items);
    ret->items[0].key = key;
    ret->count = 1;
    return true;
}

void batch_release(struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        problem_release(&batch->items[i].problem);
    free(batch->items);
    *batch = (struct batch){0};
}

void batch_write(struct call *call, struct batch *batch, batch_result *result, void *context)
{
    struct out o = out_to(call_body(call));
    out_open(&o, NULL, '{');
    out_open(&o, "items", '[');
    for (size_t i = 0; i < batch->count; i++) {
        const struct batch_item *item = &batch->items[i];
        out_open(&o, NULL, '{');
        out_text(&o, "key", item->key);
        out_bool(&o, "ok", item->problem.code == PROBLEM_NONE);
        out_key(&o, item->problem.code == PROBLEM_NONE ? "result" : "error");
        if (item->problem.code == PROBLEM_NONE) {
            o.comma = false;
            result(call, batch, i, &o, context);
        } else {
            problem_write(&item->problem, call->language, NULL, true, o.to);
        }
        o.comma = true;
        out_close(&o, '}');
    }
    out_close(&o, ']');
    out_close(&o, '}');
}

void batch_write_single(struct call *call, struct batch *batch, batch_result *result, void *context)
{
    struct out o = out_to(call_body(call));
    if (batch->items[0].problem.code == PROBLEM_NONE) {
        result(call, batch, 0, &o, context);
        return;
    }
    call->problem = batch->items[0].problem; /* takes the details over */
    batch->items[0].problem = (struct problem){0};
}
