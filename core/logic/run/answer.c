#include "core/logic/run/answer.h"

#include <stdio.h>
#include <string.h>

#include "core/base/duration.h"
#include "core/base/jsonscan.h"
#include "core/base/utf8.h"
#include "core/logic/text/template.h"

/* An answer under reading. */
struct reading {
    const struct answer_input *in;
    struct arena *arena;
    struct answer *ret;
    struct slice body; /* without a byte order mark */
    struct slice json; /* the body, if it is JSON; otherwise {NULL, 0} */
    bool no_memory;
};

static const char *keep_bytes(struct reading *r, const char *bytes, size_t length)
{
    const char *copy = arena_copy(r->arena, bytes, length);
    r->no_memory |= !copy;
    return copy;
}

static const char *keep(struct reading *r, const char *text)
{
    return keep_bytes(r, text, strlen(text));
}

static const char *keep_str(struct reading *r, struct str *s)
{
    const char *copy = s->failed ? NULL : keep_bytes(r, str_text(s), s->length);
    r->no_memory |= s->failed && !s->too_big;
    str_release(s);
    return copy;
}

static void set_class(struct reading *r, enum call_class class, const char *message)
{
    r->ret->class = class;
    if (message)
        r->ret->message = keep(r, message);
}

/* ---- JSON members ----------------------------------------------------------------------------------------------- */

static bool is_text(struct slice value)
{
    return json_type_of(value) == JSON_STRING;
}

/* Text of a string or number, cut to what a row holds (at a character's end); NULL for all else and for "". */
static const char *text_of(struct reading *r, struct slice value)
{
    enum json_type type = json_type_of(value);
    struct str s;
    if (type != JSON_STRING && type != JSON_NUMBER)
        return NULL;
    str_init(&s, LIMIT_RESPONSE);
    json_unquote(value, &s);
    size_t length = s.failed ? 0 : s.length;
    if (length > LIMIT_ERROR)
        for (length = LIMIT_ERROR; length > 0 && ((unsigned char)s.data[length] & 0xc0) == 0x80;)
            length--;
    const char *copy = length ? keep_bytes(r, s.data, length) : NULL;
    str_release(&s);
    return copy;
}

static bool equals_nocase(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        char x = *a >= 'A' && *a <= 'Z' ? (char)(*a + 32) : *a;
        char y = *b >= 'A' && *b <= 'Z' ? (char)(*b + 32) : *b;
        if (x != y)
            return false;
    }
    return *a == *b;
}

/* {"status":"…"} or {"status":{"status":"…"}}, in lower or upper case; NULL: none. */
static const char *status_member(struct reading *r)
{
    if (json_type_of(r->json) != JSON_OBJECT)
        return NULL;
    struct slice status = json_member(r->json, "status");
    if (json_type_of(status) == JSON_OBJECT)
        status = json_member(status, "status");
    return is_text(status) ? text_of(r, status) : NULL;
}

/* The executor's own code and words, from {"code","message"}, {"error":{"code","message"}}, {"mess"} (SIA-TASK). */
static void read_words(struct reading *r)
{
    static const char *const names[] = {"message", "mess", "error", "remark"};
    if (json_type_of(r->json) != JSON_OBJECT)
        return;
    struct slice error = json_member(r->json, "error");
    r->ret->code = text_of(r, json_member(r->json, "code"));
    if (!r->ret->code)
        r->ret->code = text_of(r, json_member(error, "code"));
    for (size_t i = 0; i < sizeof names / sizeof *names && !r->ret->message; i++)
        r->ret->message = text_of(r, json_member(r->json, names[i]));
    if (!r->ret->message)
        r->ret->message = text_of(r, json_member(error, "message"));
}

/* ---- results ---------------------------------------------------------------------------------------------------- */

static const char *compact(struct reading *r, struct slice value)
{
    struct str s;
    str_init(&s, LIMIT_RESULT);
    json_compact(value, &s);
    return keep_str(r, &s); /* NULL: too big */
}

/* The `result` member: successors are promised it, so one that cannot be handed on is a bad answer. */
static void take_result(struct reading *r, struct slice value)
{
    char text[128];
    enum json_type type = json_type_of(value);
    if (type == JSON_NONE || type == JSON_NULL)
        return;
    r->ret->result = compact(r, value);
    if (r->ret->result || r->no_memory)
        return;
    (void)snprintf(text, sizeof text, "the result is larger than %zu bytes", LIMIT_RESULT);
    set_class(r, CALL_BAD_ANSWER, text);
}

/* The whole body, JSON or text: perhaps nobody reads it, so a strange one only draws a note. */
static void take_body(struct reading *r)
{
    struct str s;
    if (!r->body.length)
        return;
    if (r->json.bytes) {
        if (json_type_of(r->json) != JSON_NULL)
            r->ret->result = compact(r, r->json);
    } else if (memchr(r->body.bytes, '\0', r->body.length) || !utf8_valid(r->body.bytes, r->body.length)) {
        r->ret->note = "the body is no UTF-8 text: successors read null";
        return;
    } else {
        str_init(&s, LIMIT_RESULT);
        str_add_json_bytes(&s, r->body.bytes, r->body.length);
        r->ret->result = keep_str(r, &s);
    }
    if (!r->ret->result && !r->no_memory && json_type_of(r->json) != JSON_NULL)
        r->ret->note = "the body is too big for a result: successors read null";
}

/* ---- what every rule knows -------------------------------------------------------------------------------------- */

static span delay_until(const struct reading *r, instant until)
{
    span delay = instant_sub(until, r->in->now);
    return delay > 0 ? delay : 0;
}

/* {"status":"delay","after":"20s"|seconds | "until":"2026-…Z"|ms since 1970}; else Retry-After. */
static span delay_of(struct reading *r)
{
    struct slice after = json_member(r->json, "after"), until = json_member(r->json, "until");
    const char *text = text_of(r, after);
    int64_t number;
    span delay;
    instant when;
    if (json_type_of(after) == JSON_NUMBER && json_int64(after, &number) && number >= 0 &&
        number < SPAN_MAX / SPAN_SECOND)
        return number * SPAN_SECOND;
    if (is_text(after) && text && duration_parse(text, &delay, NULL) == STATUS_OK)
        return delay;
    if (json_type_of(until) == JSON_NUMBER && json_int64(until, &number))
        return delay_until(r, (instant){number});
    text = is_text(until) ? text_of(r, until) : NULL;
    if (text && rfc3339_parse(text, &when, NULL) == STATUS_OK)
        return delay_until(r, when);
    if (json_type_of(after) != JSON_NONE || json_type_of(until) != JSON_NONE)
        r->ret->note = "the delay cannot be read: `after` is a duration such as \"20s\", `until` a time in RFC 3339";
    return r->in->retry_after;
}

static bool starts_json_type(const char *type)
{
    return type && (strstr(type, "json") || strstr(type, "JSON"));
}

static bool has(const char *text)
{
    return text && *text;
}

static enum call_class class_of_http(int status)
{
    if (status == 425 || status == 429 || status == 503)
        return CALL_BUSY;
    switch (status / 100) {
    case 3:
        return CALL_HTTP_3XX;
    case 4:
        return CALL_HTTP_4XX;
    case 5:
        return CALL_HTTP_5XX;
    default:
        return CALL_BAD_ANSWER;
    }
}

static void refuse(struct reading *r)
{
    char text[64];
    read_words(r);
    r->ret->class = class_of_http(r->in->http_status);
    if (r->ret->class == CALL_BUSY)
        r->ret->delay = r->in->retry_after;
    if (!r->ret->message) {
        (void)snprintf(text, sizeof text, "HTTP status %d", r->in->http_status);
        r->ret->message = keep(r, text);
    }
}

/* ---- rules ------------------------------------------------------------------------------------------------------ */

static void note_202(struct reading *r)
{
    if (r->in->http_status == 202 && !r->ret->note)
        r->ret->note = "202 without Location: taken as success";
}

/* 202 with a place to ask, or a task that always reports. */
static bool accepts(const struct reading *r)
{
    return r->in->async || (r->in->http_status == 202 && has(r->in->location));
}

static bool one_of(const char *status, const char *const *words)
{
    for (; *words; words++)
        if (equals_nocase(status, *words))
            return true;
    return false;
}

static void judge_auto(struct reading *r)
{
    static const char *const bad[] = {"failure", "failed", "error", "unknown", NULL};
    const char *status = status_member(r);
    if (status && equals_nocase(status, "delay")) {
        read_words(r);
        r->ret->class = CALL_BUSY;
        r->ret->delay = delay_of(r);
    } else if (status && one_of(status, bad)) {
        read_words(r);
        r->ret->class = CALL_FAILURE;
        if (!r->ret->message)
            r->ret->message = keep(r, "the executor answered that the task failed");
    } else if (accepts(r) || (status && equals_nocase(status, "accepted"))) {
        r->ret->class = CALL_ACCEPTED;
    } else if (status && equals_nocase(status, "success")) {
        r->ret->class = CALL_SUCCESS;
        take_result(r, json_member(r->json, "result"));
        note_202(r);
    } else {
        r->ret->class = CALL_SUCCESS;
        take_body(r);
        if (!r->json.bytes && r->body.length && starts_json_type(r->in->content_type) && !r->ret->note)
            r->ret->note = "the content type says JSON, the body is none: taken as text";
        note_202(r);
    }
}

/* SIA-TASK's answers (strict): a JSON object whose status is success, in either wire generation. Scalars become texts,
 * as its successors expect them. */
static void judge_sia(struct reading *r)
{
    const char *status = status_member(r);
    struct slice result = json_member(r->json, "result");
    enum json_type type = json_type_of(result);
    struct str s;
    if (!r->json.bytes) {
        set_class(r, CALL_BAD_ANSWER, "the body is no JSON, as a SIA-TASK answer must be");
        return;
    }
    if (!status || !equals_nocase(status, "success")) {
        read_words(r);
        bool busy = r->ret->message && strstr(r->ret->message, "This task is running");
        r->ret->class = busy ? CALL_BUSY : CALL_FAILURE;
        if (!r->ret->message)
            r->ret->message = keep(r, status ? "the status is not success" : "the answer has no status");
        return;
    }
    r->ret->class = CALL_SUCCESS;
    if (type != JSON_NUMBER && type != JSON_TRUE && type != JSON_FALSE) {
        take_result(r, result);
        return;
    }
    str_init(&s, LIMIT_RESULT);
    str_add_json_bytes(&s, result.bytes, result.length);
    r->ret->result = keep_str(r, &s);
}

static void judge_http(struct reading *r)
{
    r->ret->class = accepts(r) ? CALL_ACCEPTED : CALL_SUCCESS;
    if (r->ret->class == CALL_SUCCESS) {
        take_body(r);
        note_202(r);
    }
}

/* Names of the expression: status, headers, body. */
static void write_names(const struct reading *r, struct str *ret)
{
    str_addf(ret, "{\"status\":%d,\"headers\":{\"content-type\":", r->in->http_status);
    str_add_json(ret, r->in->content_type ? r->in->content_type : "");
    str_add(ret, ",\"location\":");
    str_add_json(ret, r->in->location ? r->in->location : "");
    str_add(ret, ",\"retry-after\":");
    if (r->in->retry_after >= 0)
        str_add_i64(ret, r->in->retry_after / SPAN_SECOND);
    else
        str_add(ret, "null");
    str_add(ret, "},\"body\":");
    if (r->json.bytes)
        json_compact(r->json, ret);
    else if (r->body.length && utf8_valid(r->body.bytes, r->body.length) &&
             !memchr(r->body.bytes, '\0', r->body.length))
        str_add_json_bytes(ret, r->body.bytes, r->body.length);
    else
        str_add(ret, "null");
    str_add_char(ret, '}');
}

static void judge_expression(struct reading *r)
{
    struct str names;
    struct error err = {STATUS_OK, ""};
    bool good = false;
    str_init(&names, LIMIT_RESPONSE * 8);
    write_names(r, &names);
    struct template_context context = {
        .scheduled = r->in->now, .fired = r->in->now, .zone = zone_utc(), .names = str_text(&names)};
    enum status status = str_status(&names);
    if (!status)
        status = template_test(r->in->success_when ? r->in->success_when : "false", &context, &good, &err);
    str_release(&names);
    bool answered = r->in->http_status >= 200 && r->in->http_status < 300;
    if (status == STATUS_NO_MEMORY) {
        r->no_memory = true;
    } else if (good) {
        r->ret->class = r->in->async ? CALL_ACCEPTED : CALL_SUCCESS;
        if (r->ret->class == CALL_SUCCESS)
            take_body(r);
    } else if (!answered) {
        refuse(r);
    } else if (status) {
        char text[ERROR_TEXT_MAX + 32];
        (void)snprintf(text, sizeof text, "success_when: %s", err.text);
        set_class(r, CALL_BAD_ANSWER, text);
    } else {
        read_words(r);
        r->ret->class = CALL_FAILURE;
        if (!r->ret->message)
            r->ret->message = keep(r, "success_when is not true of the answer");
    }
}

static void read_body(struct reading *r)
{
    r->body = slice_of(r->in->body ? r->in->body : "", r->in->body ? r->in->length : 0);
    if (r->body.length >= 3 && !memcmp(r->body.bytes, "\xef\xbb\xbf", 3))
        r->body = slice_of(r->body.bytes + 3, r->body.length - 3);
    if (r->body.length && json_check(r->body.bytes, r->body.length, LIMIT_JSON_DEPTH, NULL) == STATUS_OK)
        r->json = r->body;
}

/* SIA-TASK's first wire generation refuses a busy serial task with 500 and these words in the error page. */
static bool sia_busy(const struct reading *r)
{
    static const char words[] = "This task is running";
    size_t length = sizeof words - 1;
    for (size_t i = 0; i + length <= r->body.length; i++)
        if (!memcmp(r->body.bytes + i, words, length))
            return true;
    return false;
}

static void judge(struct reading *r)
{
    bool answered = r->in->http_status >= 200 && r->in->http_status < 300;
    if (r->in->rule == SUCCESS_EXPRESSION) {
        judge_expression(r);
    } else if (!answered) {
        refuse(r);
        if (r->in->rule == SUCCESS_SIA && r->in->http_status == 500 && sia_busy(r))
            r->ret->class = CALL_BUSY;
    } else if (r->in->rule == SUCCESS_SIA) {
        judge_sia(r);
    } else if (r->in->rule == SUCCESS_HTTP) {
        judge_http(r);
    } else {
        judge_auto(r);
    }
}

enum status answer_classify(const struct answer_input *input, struct arena *arena, struct answer *ret)
{
    struct reading r = {.in = input, .arena = arena, .ret = ret};
    *ret = (struct answer){.class = CALL_BAD_ANSWER, .delay = -1};
    read_body(&r);
    judge(&r);
    return r.no_memory ? STATUS_NO_MEMORY : STATUS_OK;
}
