/* One call: copies of what the request said, and the handler's end in both of its forms (answer and report). */
#include <stdlib.h>
#include <string.h>

#include "executor-lib/parts.h"

static const char *const headers[] = {
#define CALL_TEXT_HEADER(symbol, header) header,
    CALL_TEXTS(CALL_TEXT_HEADER)
#undef CALL_TEXT_HEADER
};

struct carillon_call *call_new(struct carillon_executor *executor, struct task *task,
                               const struct http_request *request)
{
    struct carillon_call *call = calloc(1, sizeof *call);
    if (!call)
        return NULL;
    bool whole = true;
    for (size_t i = 0; i < CALL_TEXT_COUNT; i++) {
        const char *value = http_header(request, headers[i]);
        call->texts[i] = strdup(value ? value : "");
        whole = whole && call->texts[i];
    }
    call->params = strdup(request->body_length ? request->body : "{}"); /* no U+0000 in it: it was checked */
    call->params_length = request->body_length ? request->body_length : 2;
    call->executor = executor;
    call->task = task;
    call->percent = -1;
    str_init(&call->detail, ANSWER_MAX);
    if (!whole || !call->params) {
        call_free(call);
        return NULL;
    }
    return call;
}

void call_free(struct carillon_call *call)
{
    if (!call)
        return;
    outbox_leave(call->outbox);
    for (size_t i = 0; i < CALL_TEXT_COUNT; i++)
        free(call->texts[i]);
    free(call->params);
    str_release(&call->detail);
    free(call);
}

/* ---- what a handler reads ------------------------------------------------------------------------------------------
 */

EXPORT const char *carillon_call_params(const struct carillon_call *call)
{
    return call->params;
}

EXPORT size_t carillon_call_params_length(const struct carillon_call *call)
{
    return call->params_length;
}

EXPORT const char *carillon_call_run(const struct carillon_call *call)
{
    return call->texts[CALL_RUN];
}

EXPORT const char *carillon_call_job(const struct carillon_call *call)
{
    return call->texts[CALL_JOB];
}

EXPORT const char *carillon_call_step(const struct carillon_call *call)
{
    return call->texts[CALL_STEP];
}

EXPORT const char *carillon_call_key(const struct carillon_call *call)
{
    return call->texts[CALL_KEY];
}

EXPORT const char *carillon_call_scheduled_at(const struct carillon_call *call)
{
    return call->texts[CALL_SCHEDULED_AT];
}

EXPORT const char *carillon_call_deadline(const struct carillon_call *call)
{
    return call->texts[CALL_DEADLINE];
}

EXPORT int carillon_call_attempt(const struct carillon_call *call)
{
    return atoi(call->texts[CALL_ATTEMPT]);
}

EXPORT int64_t carillon_call_epoch(const struct carillon_call *call)
{
    return strtoll(call->texts[CALL_EPOCH], NULL, 10);
}

EXPORT int carillon_call_shard_index(const struct carillon_call *call)
{
    return atoi(call->texts[CALL_SHARD_INDEX]);
}

EXPORT int carillon_call_shard_total(const struct carillon_call *call)
{
    int total = atoi(call->texts[CALL_SHARD_TOTAL]);
    return total > 0 ? total : 1;
}

EXPORT int carillon_call_interrupted(const struct carillon_call *call)
{
    return call->interrupted;
}

EXPORT int carillon_call_canceled(const struct carillon_call *call)
{
    struct carillon_executor *executor = call->executor;
    (void)pthread_mutex_lock(&executor->lock);
    bool canceled = call->canceled || executor->stopping;
    struct outbox *outbox = call->outbox;
    (void)pthread_mutex_unlock(&executor->lock);
    return canceled || outbox_canceled(outbox);
}

/* ---- what it says meanwhile ----------------------------------------------------------------------------------------
 */

/* Accepted calls have theirs from the start; others when they have something to say. */
static struct outbox *outbox_of(struct carillon_call *call)
{
    struct carillon_executor *executor = call->executor;
    (void)pthread_mutex_lock(&executor->lock);
    if (!call->outbox)
        call->outbox = outbox_open(executor->reporter, call->texts[CALL_KEY], call->texts[CALL_CALLBACK], false);
    struct outbox *outbox = call->outbox;
    (void)pthread_mutex_unlock(&executor->lock);
    return outbox;
}

/* Cut at a whole character. */
static size_t cut(const char *text, size_t most)
{
    size_t length = strlen(text);
    if (length <= most)
        return length;
    while (most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80)
        most--;
    return most;
}

EXPORT void carillon_call_progress(struct carillon_call *call, int percent, const char *message)
{
    struct outbox *outbox = outbox_of(call);
    struct str body;
    str_init(&body, ANSWER_MAX);
    (void)pthread_mutex_lock(&call->executor->lock);
    call->percent = percent > 100 ? 100 : percent;
    size_t length = cut(message ? message : "", sizeof call->message - 1);
    if (length)
        memcpy(call->message, message, length);
    call->message[length] = '\0';
    call_state(call, &body);
    (void)pthread_mutex_unlock(&call->executor->lock);
    outbox_alive(outbox, str_text(&body));
    str_release(&body);
}

EXPORT void carillon_call_log(struct carillon_call *call, const char *line)
{
    if (line)
        outbox_log(outbox_of(call), line);
}

void call_state(const struct carillon_call *call, struct str *ret)
{
    str_add(ret, "{\"state\":\"running\"");
    if (call->percent >= 0)
        str_addf(ret, ",\"progress\":%d", call->percent);
    if (call->message[0]) {
        str_add(ret, ",\"message\":");
        str_add_json(ret, call->message);
    }
    str_add(ret, "}");
}

/* ---- how it ends ---------------------------------------------------------------------------------------------------
 */

static void begin_end(struct carillon_call *call, enum call_end end)
{
    call->end = end;
    str_release(&call->detail); /* what failed before must not make this fail */
    str_init(&call->detail, ANSWER_MAX);
}

EXPORT void carillon_call_succeed(struct carillon_call *call, const char *result_json)
{
    if (result_json && json_check(result_json, strlen(result_json), JSON_DEPTH, NULL) != STATUS_OK) {
        carillon_call_fail(call, "BAD_RESULT", "the handler's result is no JSON");
        return;
    }
    begin_end(call, CALL_END_SUCCESS);
    str_add(&call->detail, ",\"result\":");
    str_add(&call->detail, result_json ? result_json : "null");
    if (str_status(&call->detail) != STATUS_OK)
        carillon_call_fail(call, "RESULT_TOO_BIG", "the handler's result is larger than 4 MiB");
}

EXPORT void carillon_call_fail(struct carillon_call *call, const char *code, const char *message)
{
    begin_end(call, CALL_END_FAILURE);
    str_add(&call->detail, ",\"code\":");
    str_add_json(&call->detail, code ? code : "FAILED");
    str_add(&call->detail, ",\"message\":");
    str_add_json(&call->detail, message ? message : "");
}

EXPORT void carillon_call_delay(struct carillon_call *call, unsigned seconds)
{
    begin_end(call, CALL_END_DELAY);
    str_addf(&call->detail, ",\"after\":\"%us\"", seconds);
}

static void form(const struct carillon_call *call, const char *member, const char *success, const char *failure,
                 struct str *ret)
{
    const char *const ends[] = {[CALL_END_SUCCESS] = success, [CALL_END_FAILURE] = failure, [CALL_END_DELAY] = "delay"};
    str_addf(ret, "{\"%s\":\"%s\"", member, ends[call->end]);
    str_add_bytes(ret, str_text(&call->detail), call->detail.length);
    str_add(ret, "}");
}

void call_answer(const struct carillon_call *call, struct str *ret)
{
    form(call, "status", "success", "failure", ret);
}

void call_report(const struct carillon_call *call, struct str *ret)
{
    form(call, "state", "succeeded", "failed", ret);
}
