/* Reports of executors about calls that they accepted (executor-protocol.md §3). The address is the permission: its
 * token is made from the call's key by the scheduler, so neither login nor project is asked for. */
#include <stdio.h>
#include <string.h>

#include "adapters/crypto/crypto.h"
#include "core/base/civil.h"
#include "core/base/duration.h"
#include "core/base/ids.h"
#include "orchestrator/auth.h"
#include "orchestrator/routes.h"

#define CODE_MAX 128 /* bytes of an executor's own code */
#define LOG_POST_MAX (256 << 10)
#define WITHIN_LEAST (2 * SPAN_SECOND)
#define WITHIN_MOST SPAN_DAY

enum kind { KIND_RUNNING = -1 }; /* beside enum report_state */

static const struct {
    const char *text;
    int state;
} states[] = {{"running", KIND_RUNNING},
              {"succeeded", REPORT_SUCCEEDED},
              {"failed", REPORT_FAILED},
              {"delay", REPORT_DELAY}};

static bool small_number(const char *text, int32_t *ret)
{
    int64_t number = 0;
    for (const char *p = text; *p; p++) {
        if (*p < '0' || *p > '9' || p - text >= 9)
            return false;
        number = number * 10 + (*p - '0');
    }
    *ret = (int32_t)number;
    return *text != '\0';
}

/* The call that the path names, if its token is right. */
static bool read_path(struct call *call, struct report_row *ret)
{
    struct signer *signer = call->o->options.signer;
    char key[CALL_KEY_SIZE];
    *ret = (struct report_row){.step = call->name, .until = INSTANT_NONE};
    bool fits = signer && id_parse(call->id, &ret->run) && strlen(call->name) <= LIMIT_NAME &&
                small_number(call->item, &ret->item) && small_number(call->key_try, &ret->key_try);
    if (fits) {
        struct attempt_row attempt = {.run = ret->run, .step = ret->step, .item = ret->item, .key_try = ret->key_try};
        if (signer->token_valid(signer, call_key_format(&attempt, key), call->token))
            return true;
    }
    return auth_brake(call) && call_fail(call, REPORT_UNKNOWN, NULL);
}

static bool read_result(struct call *call, struct slice body, const char **ret)
{
    struct slice value = json_member(body, "result");
    struct str text;
    char size[24], maximum[24];
    *ret = NULL;
    if (!value.length || json_type_of(value) == JSON_NULL)
        return true;
    str_init(&text, LIMIT_DOCUMENT);
    json_compact(value, &text);
    bool fits = text.length <= LIMIT_RESULT;
    if (fits)
        *ret = call_copy(call, slice_of(str_text(&text), text.length));
    (void)snprintf(size, sizeof size, "%zu", text.length);
    (void)snprintf(maximum, sizeof maximum, "%zu", LIMIT_RESULT);
    str_release(&text);
    return fits || call_fail(call, BODY_TOO_BIG, "name", "result", "size", size, "maximum", maximum, NULL);
}

/* `after` (duration or seconds) or `until` (RFC 3339). */
static bool read_delay(struct call *call, struct slice body, instant *ret)
{
    struct problem *problem = &call->problem;
    struct slice after = json_member(body, "after");
    struct error err;
    const char *text;
    int64_t seconds;
    span length = 0;
    if (!input_time(call, problem, body, "until", ret))
        return false;
    if (json_type_of(after) == JSON_NUMBER) {
        if (!input_int(problem, body, "after", 0, SPAN_DAY * 365 / SPAN_SECOND, 0, &seconds))
            return false;
        *ret = instant_add(call->now.wall, seconds * SPAN_SECOND);
        return true;
    }
    if (!input_text(call, problem, body, "after", &text))
        return false;
    if (text && duration_parse(text, &length, &err) != STATUS_OK)
        return call_fail(call, PARAMETER_INVALID, "name", "after", "reason", err.text, NULL);
    if (text)
        *ret = instant_add(call->now.wall, length);
    return true;
}

/* Two reports of one call with the same digest say the same. Parts are told apart by their lengths. */
static void digest(struct call *call, struct slice body, const struct report_row *row, char ret[HASH_HEX_SIZE])
{
    struct slice after = json_member(body, "after"), until = json_member(body, "until");
    const char *after_text = after.length ? call_copy(call, after) : "",
               *until_text = until.length ? call_copy(call, until) : "";
    const char *parts[] = {row->result, row->code, row->message, row->state == REPORT_DELAY ? after_text : NULL,
                           row->state == REPORT_DELAY ? until_text : NULL};
    struct str text;
    str_init(&text, LIMIT_DOCUMENT * 2);
    str_addf(&text, "%d", (int)row->state);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        str_addf(&text, " %zu:%s", parts[i] ? strlen(parts[i]) : 0, parts[i] ? parts[i] : "");
    crypto_sha256_hex(str_text(&text), text.length, ret);
    str_release(&text);
}

struct told {         /* beside the state */
    int32_t progress; /* −1 = not */
    span within;      /* the next sign of life comes in this time; 0 = not promised */
};

static bool read_told(struct call *call, struct slice body, struct told *ret)
{
    struct problem *problem = &call->problem;
    const char *within;
    int64_t progress;
    struct error err;
    if (!input_int(problem, body, "progress", 0, 100, -1, &progress) ||
        !input_text(call, problem, body, "within", &within))
        return false;
    *ret = (struct told){.progress = (int32_t)progress};
    if (within && duration_parse(within, &ret->within, &err) != STATUS_OK)
        return call_fail(call, PARAMETER_INVALID, "name", "within", "reason", err.text, NULL);
    if (within && (ret->within < WITHIN_LEAST || ret->within > WITHIN_MOST))
        return call_fail(call, PARAMETER_INVALID, "name", "within", "reason", "from 2s to 1d", NULL);
    return true;
}

static bool read_body(struct call *call, struct report_row *row, int *ret_state, struct told *told,
                      char digest_text[HASH_HEX_SIZE])
{
    struct problem *problem = &call->problem;
    struct slice body;
    const char *state;
    if (!input_object(call, &body) || !input_text(call, problem, body, "state", &state) ||
        !read_told(call, body, told) || !input_text(call, problem, body, "code", &row->code) ||
        !input_text(call, problem, body, "message", &row->message))
        return false;
    size_t i = 0;
    while (i < sizeof states / sizeof *states && (!state || strcmp(states[i].text, state) != 0))
        i++;
    if (i == sizeof states / sizeof *states)
        return call_fail(call, PARAMETER_INVALID, "name", "state", "reason", "running, succeeded, failed or delay",
                         NULL);
    if (row->code && strlen(row->code) > CODE_MAX)
        return call_fail(call, PARAMETER_INVALID, "name", "code", "reason", "at most 128 bytes", NULL);
    *ret_state = states[i].state;
    if (*ret_state == KIND_RUNNING)
        return true;
    row->state = (enum report_state)states[i].state;
    if (row->state == REPORT_SUCCEEDED && !read_result(call, body, &row->result))
        return false;
    if (row->state == REPORT_DELAY && !read_delay(call, body, &row->until))
        return false;
    digest(call, body, row, digest_text);
    row->digest = digest_text;
    return true;
}

static void answer(struct call *call, const char *fate, bool canceled)
{
    struct out out = out_to(call_body(call));
    out_open(&out, NULL, '{');
    out_text(&out, "report", fate);
    out_bool(&out, "canceled", canceled);
    out_close(&out, '}');
}

static void refuse(struct call *call, const struct store_op *op)
{
    if (op->status == STATUS_NOT_FOUND)
        call_fail(call, REPORT_UNKNOWN, NULL);
    else
        problem_of_store(&call->problem, op);
}

static void too_late(struct call *call, bool canceled)
{
    call_fail(call, REPORT_LATE, "canceled", canceled ? "true" : "false", NULL);
}

/* A sign of life, with lines or without; its answer tells whether anybody still waits for the work. */
static void heartbeat(struct call *call, const struct report_row *row, const struct told *told, const char *lines)
{
    struct store_op op;
    struct out out = out_to(call_body(call));
    store_op_init(&op, STORE_ALIVE);
    op.alive.row = (struct alive_row){.run = row->run,
                                      .step = row->step,
                                      .item = row->item,
                                      .key_try = row->key_try,
                                      .progress = told->progress,
                                      .message = row->message,
                                      .within = told->within};
    op.alive.lines = lines;
    if (call_store(call, &op) != STATUS_OK) {
        refuse(call, &op);
    } else if (op.alive.over && !op.alive.canceled) {
        too_late(call, false);
    } else {
        out_open(&out, NULL, '{');
        out_text(&out, "report", "noted");
        out_bool(&out, "canceled", op.alive.canceled);
        if (lines)
            out_bool(&out, "full", op.alive.full);
        out_close(&out, '}');
    }
    store_op_release(&op);
}

static void end(struct call *call, const struct report_row *row)
{
    struct store_op op;
    store_op_init(&op, STORE_REPORT_ADD);
    op.report_add.row = *row;
    if (call_store(call, &op) != STATUS_OK) {
        refuse(call, &op);
    } else if (op.report_add.fate == REPORT_STALE) {
        too_late(call, op.report_add.canceled);
    } else {
        answer(call, op.report_add.fate == REPORT_STORED ? "stored" : "repeated", op.report_add.canceled);
        call_poke(call);
    }
    store_op_release(&op);
}

void report_post(struct call *call)
{
    struct report_row row;
    char digest_text[HASH_HEX_SIZE];
    int state = KIND_RUNNING;
    struct told told = {.progress = -1};
    if (!read_path(call, &row) || !read_body(call, &row, &state, &told, digest_text))
        return;
    if (state == KIND_RUNNING)
        heartbeat(call, &row, &told, NULL);
    else
        end(call, &row);
}

/* The lines as one text: a NUL, which would end it early, is shown as '?', like bytes that are no UTF-8. */
static const char *lines_of(struct call *call)
{
    size_t length = call->request->body_length;
    char *text = call_copy(call, slice_of(call->request->body, length));
    for (char *p = text; (p = memchr(p, '\0', length - (size_t)(p - text))) != NULL;)
        *p = '?';
    return text;
}

/* Lines of text for the log of the attempt. */
void report_logs(struct call *call)
{
    struct report_row row;
    const struct told told = {.progress = -1};
    char size[24], maximum[24];
    size_t length = call->request->body_length;
    if (!read_path(call, &row))
        return;
    (void)snprintf(size, sizeof size, "%zu", length);
    (void)snprintf(maximum, sizeof maximum, "%d", LOG_POST_MAX);
    if (length > LOG_POST_MAX)
        call_fail(call, BODY_TOO_BIG, "name", "body", "size", size, "maximum", maximum, NULL);
    else
        heartbeat(call, &row, &told, lines_of(call));
}
