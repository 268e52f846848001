/* Requests: tasks, cancel, states of accepted calls, health. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "executor-lib/parts.h"

static PRINTF_LIKE(4, 5) void refuse(struct http_response *response, int status, const char *code, const char *format,
                                     ...)
{
    char message[300];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    response->status = status;
    str_clear(&response->body);
    str_addf(&response->body, "{\"status\":\"failure\",\"code\":\"%s\",\"message\":", code);
    str_add_json(&response->body, message);
    str_add(&response->body, "}");
}

/* ---- who may call --------------------------------------------------------------------------------------------------
 */

static bool caller_listed(const char *callers, const char *remote)
{
    for (const char *p = callers + strspn(callers, ", "); *p; p += strspn(p, ", ")) {
        size_t length = strcspn(p, ", ");
        if (strlen(remote) == length && strncmp(p, remote, length) == 0)
            return true;
        p += length;
    }
    return false;
}

static bool admitted(struct carillon_executor *executor, const struct http_request *request,
                     struct http_response *response)
{
    const struct carillon_options *options = &executor->options;
    if (options->callers && !caller_listed(options->callers, request->remote)) {
        refuse(response, 403, "CALLER", "%s is not among the callers that this executor takes calls from",
               request->remote);
        return false;
    }
    if (!executor->signature)
        return true;
    const char *why = signature_check(executor->signature, http_header(request, "Webhook-Id"),
                                      http_header(request, "Webhook-Timestamp"),
                                      http_header(request, "Webhook-Signature"), request->body, request->body_length,
                                      executor_now_ms() / 1000, (int64_t)options->signature_seconds);
    const char *key = http_header(request, "Idempotency-Key");
    if (!why && key && strcmp(key, http_header(request, "Webhook-Id")) != 0)
        why = "Idempotency-Key is not Webhook-Id, so it is not covered by the signature";
    if (why)
        refuse(response, 401, "SIGNATURE", "%s", why);
    return !why;
}

/* A scheduler that was overtaken has not heard of it yet: what it asks for is another's to ask. */
static bool epoch_admitted(struct carillon_executor *executor, const struct http_request *request,
                           struct http_response *response)
{
    const char *run = http_header(request, "X-Carillon-Run"), *epoch = http_header(request, "X-Carillon-Epoch");
    int64_t seen = 0;
    if (!run || !*run || !epoch || epochs_admit(executor->epochs, run, strtoll(epoch, NULL, 10), &seen))
        return true;
    refuse(response, 409, "STALE_EPOCH", "run %s was taken over: epoch %s is behind %lld", run, epoch, (long long)seen);
    return false;
}

/* ---- room ----------------------------------------------------------------------------------------------------------
 */

/* A place among the calls of the task that run; false: full or stopping. */
static bool enter(struct carillon_executor *executor, struct task *task)
{
    (void)pthread_mutex_lock(&executor->lock);
    bool room = task->running < task->concurrency && !executor->stopping;
    task->running += room;
    (void)pthread_mutex_unlock(&executor->lock);
    return room;
}

static void leave(struct carillon_executor *executor, struct task *task)
{
    (void)pthread_mutex_lock(&executor->lock);
    task->running--;
    (void)pthread_mutex_unlock(&executor->lock);
}

static void busy(struct carillon_executor *executor, const struct task *task, struct http_response *response)
{
    http_response_header(response, "Retry-After", "%d", 1);
    if (executor_stopping(executor))
        refuse(response, 503, "STOPPING", "this executor is stopping");
    else
        refuse(response, 429, "BUSY", "%s runs %u call(s) already", task->path, task->concurrency);
}

/* ---- carrying out --------------------------------------------------------------------------------------------------
 */

/* From now on it can be canceled. */
static void list(struct carillon_call *call)
{
    (void)pthread_mutex_lock(&call->executor->lock);
    DL_APPEND(call->executor->calls, call);
    (void)pthread_mutex_unlock(&call->executor->lock);
}

static void unlist(struct carillon_call *call)
{
    (void)pthread_mutex_lock(&call->executor->lock);
    DL_DELETE(call->executor->calls, call);
    (void)pthread_mutex_unlock(&call->executor->lock);
}

static void run_handler(struct carillon_call *call)
{
    call->task->handler(call, call->task->context);
    if (call->end == CALL_END_NONE)
        carillon_call_succeed(call, NULL);
    unlist(call);
}

static void remember(struct carillon_call *call, int status, const char *answer, const char *callbacks)
{
    struct carillon_executor *executor = call->executor;
    const char *key = call->texts[CALL_KEY];
    if (!*key)
        return;
    if (call->end == CALL_END_DELAY)
        keys_forget(executor->keys, key);
    else if (!keys_finish(executor->keys, key, status, answer, callbacks, executor_now_ms()))
        executor_log(executor, "an answer could not be written to idempotency_dir: a restart would forget it");
}

static void run_here(struct carillon_call *call, struct http_response *response)
{
    run_handler(call);
    call_answer(call, &response->body);
    remember(call, 200, str_text(&response->body), NULL);
}

static void *run_accepted(void *context)
{
    struct carillon_call *call = context;
    struct carillon_executor *executor = call->executor;
    struct str report;
    str_init(&report, ANSWER_MAX + 64);
    run_handler(call);
    call_report(call, &report);
    remember(call, 202, str_text(&report), call->outbox ? call->texts[CALL_CALLBACK] : NULL);
    leave(executor, call->task);
    outbox_end(call->outbox, str_text(&report));
    str_release(&report);
    call_free(call);
    (void)pthread_mutex_lock(&executor->lock);
    executor->accepted--;
    (void)pthread_cond_signal(&executor->idle);
    (void)pthread_mutex_unlock(&executor->lock);
    return NULL;
}

/* Status url of a call, relative. */
static void location(struct http_response *response, const char *key)
{
    struct str text;
    str_init(&text, 1000);
    str_add(&text, CALLS_PATH);
    for (const char *p = key; *p; p++) {
        bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
                     strchr("-._~", *p) != NULL;
        str_addf(&text, plain ? "%c" : "%%%02X", (unsigned)(unsigned char)*p);
    }
    if (str_status(&text) == STATUS_OK)
        http_response_header(response, "Location", "%s", str_text(&text));
    str_release(&text);
}

static void accepted(struct http_response *response, const char *key)
{
    response->status = 202;
    location(response, key);
    str_clear(&response->body);
    str_add(&response->body, "{\"status\":\"accepted\"}");
}

static bool thread_begin(struct carillon_executor *executor, struct carillon_call *call)
{
    pthread_attr_t attributes;
    pthread_t thread;
    (void)pthread_mutex_lock(&executor->lock);
    executor->accepted++;
    (void)pthread_mutex_unlock(&executor->lock);
    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    bool begun = pthread_create(&thread, &attributes, run_accepted, call) == 0;
    (void)pthread_attr_destroy(&attributes);
    (void)pthread_mutex_lock(&executor->lock);
    executor->accepted -= !begun;
    (void)pthread_mutex_unlock(&executor->lock);
    return begun;
}

/* The key has its turn and the task its place. */
static void carry_out(struct carillon_executor *executor, struct task *task, const struct http_request *request,
                      const char *key, bool interrupted, struct http_response *response)
{
    struct carillon_call *call = call_new(executor, task, request);
    char *own = strdup(key); /* calls without a key got one of ours */
    bool begun = call && own;
    if (begun) {
        free(call->texts[CALL_KEY]);
        call->texts[CALL_KEY] = own;
        call->interrupted = interrupted;
    } else {
        free(own);
    }
    if (begun)
        list(call);
    if (begun && task->asynchronous) {
        call->outbox = outbox_open(executor->reporter, key, call->texts[CALL_CALLBACK], true);
        accepted(response, key);
        begun = thread_begin(executor, call);
        if (begun)
            return; /* the call is the thread's */
        unlist(call);
    }
    if (begun)
        run_here(call, response);
    call_free(call);
    leave(executor, task);
    if (!begun) {
        if (*key)
            keys_forget(executor->keys, key);
        refuse(response, 503, "NO_MEMORY", "out of memory, or no thread");
    }
}

/* The first answer again; of an accepted call: the report of its end goes where this call wants it. */
static void replay(struct carillon_executor *executor, const struct http_request *request, const char *key, int status,
                   const char *answer, struct http_response *response)
{
    http_response_header(response, "Idempotency-Replayed", "%s", "true");
    if (status != 202) {
        response->status = status;
        str_add(&response->body, answer);
        return;
    }
    const char *callback = http_header(request, "X-Carillon-Callback");
    struct outbox *outbox = outbox_open(executor->reporter, key, callback ? callback : "", false);
    accepted(response, key);
    outbox_end(outbox, answer);
    outbox_leave(outbox);
}

static bool known(struct carillon_executor *executor, const char *key)
{
    int status = 0;
    char *answer = NULL;
    enum key_turn turn = *key ? keys_find(executor->keys, key, &status, &answer) : KEY_UNKNOWN;
    free(answer);
    return turn != KEY_UNKNOWN && turn != KEY_INTERRUPTED;
}

static void take_turn(struct carillon_executor *executor, struct task *task, const struct http_request *request,
                      const char *key, struct http_response *response)
{
    char *answer = NULL;
    int status = 0;
    bool inside = !known(executor, key) && enter(executor, task); /* before anything is written for it */
    if (!inside && !known(executor, key)) {
        busy(executor, task, response);
        return;
    }
    enum key_turn turn = *key ? keys_begin(executor->keys, key, request->body, request->body_length, executor_now_ms(),
                                           !task->asynchronous, &status, &answer)
                              : KEY_FIRST;
    bool mine = turn == KEY_FIRST || turn == KEY_INTERRUPTED;
    if (inside && !mine)
        leave(executor, task); /* another thread was quicker with the same key */
    if (mine && !inside && !enter(executor, task)) {
        keys_forget(executor->keys, key);
        busy(executor, task, response);
    } else if (mine) {
        carry_out(executor, task, request, key, turn == KEY_INTERRUPTED, response);
    } else if (turn == KEY_ANSWERED) {
        replay(executor, request, key, status, answer, response);
        free(answer);
    } else if (turn == KEY_RUNNING) {
        http_response_header(response, "Idempotency-Replayed", "%s", "true");
        accepted(response, key);
    } else if (turn == KEY_CLASH) {
        refuse(response, 422, "KEY_REUSED", "this idempotency key came before with another body");
    } else if (turn == KEY_NO_DISK) {
        refuse(response, 503, "NO_DISK", "the key cannot be written to idempotency_dir, so the call was not begun");
    } else {
        refuse(response, 503, "NO_MEMORY", "out of memory");
    }
}

static void take_call(struct carillon_executor *executor, struct task *task, const struct http_request *request,
                      struct http_response *response)
{
    const char *key = http_header(request, "Idempotency-Key");
    char own[64] = "";
    struct error err;
    if (request->body_length && json_check(request->body, request->body_length, JSON_DEPTH, &err)) {
        refuse(response, 400, "BAD_JSON", "the body is no JSON: %s", err.text);
        return;
    }
    if (!epoch_admitted(executor, request, response))
        return;
    if (!key && executor->signature)
        key = http_header(request, "Webhook-Id");
    if ((!key || !*key) && task->asynchronous) { /* its end is asked for by a key */
        (void)pthread_mutex_lock(&executor->lock);
        (void)snprintf(own, sizeof own, "unnamed.%lld.%llu", (long long)executor_now_ms(),
                       (unsigned long long)++executor->unnamed);
        (void)pthread_mutex_unlock(&executor->lock);
        key = own;
    }
    take_turn(executor, task, request, key ? key : "", response);
}

/* ---- calls that run ------------------------------------------------------------------------------------------------
 */

/* By key, or all of one run and step at a task. Returns how many. */
static size_t cancel(struct carillon_executor *executor, const struct task *task, const char *key, const char *run,
                     const char *step)
{
    struct carillon_call *call;
    size_t n = 0;
    (void)pthread_mutex_lock(&executor->lock);
    DL_FOREACH(executor->calls, call)
    {
        bool named = key && strcmp(call->texts[CALL_KEY], key) == 0;
        bool meant = run && *run && strcmp(call->texts[CALL_RUN], run) == 0 &&
                     (!step || strcmp(call->texts[CALL_STEP], step) == 0);
        if ((named || meant) && (!task || call->task == task)) {
            call->canceled = true;
            n++;
        }
    }
    (void)pthread_mutex_unlock(&executor->lock);
    return n;
}

static void cancel_task(struct carillon_executor *executor, const struct task *task, const struct http_request *request,
                        struct http_response *response)
{
    size_t n = cancel(executor, task, http_header(request, "Idempotency-Key"), http_header(request, "X-Carillon-Run"),
                      http_header(request, "X-Carillon-Step"));
    str_addf(&response->body, "{\"status\":\"success\",\"result\":{\"canceled\":%zu}}", n);
}

static void tell_call(struct carillon_executor *executor, const char *key, struct http_response *response)
{
    struct carillon_call *call;
    char *answer = NULL;
    int status = 0;
    bool running = false;
    (void)pthread_mutex_lock(&executor->lock);
    DL_FOREACH(executor->calls, call)
    if (!running && strcmp(call->texts[CALL_KEY], key) == 0) {
        running = true;
        call_state(call, &response->body);
    }
    (void)pthread_mutex_unlock(&executor->lock);
    if (running)
        return;
    enum key_turn turn = keys_find(executor->keys, key, &status, &answer);
    if (turn == KEY_ANSWERED && status == 202)
        str_add(&response->body, answer);
    else if (turn == KEY_RUNNING) /* between its begin and its handler, or between its handler and its end */
        str_add(&response->body, "{\"state\":\"running\"}");
    else
        refuse(response, 404, "NO_CALL", "there is no accepted call of this key here");
    free(answer);
}

static void serve_call(struct carillon_executor *executor, const char *key, const struct http_request *request,
                       struct http_response *response)
{
    if (strcmp(request->method, "GET") == 0) {
        tell_call(executor, key, response);
    } else if (strcmp(request->method, "DELETE") == 0) {
        tell_call(executor, key, response);
        if (response->status == 200 && cancel(executor, NULL, key, NULL, NULL))
            response->status = 202;
    } else {
        refuse(response, 405, "METHOD", "a call takes GET and DELETE");
    }
}

static void list_tasks(struct carillon_executor *executor, struct http_response *response)
{
    str_add(&response->body, "{\"status\":\"ok\",");
    struct str document;
    str_init(&document, ANSWER_MAX);
    executor_document(executor, &document);
    str_add(&response->body, str_text(&document) + 1); /* without its own brace */
    str_release(&document);
}

/* By its path, or as "<path>/cancel". */
static struct task *find_task(struct carillon_executor *executor, const char *path, bool *ret_cancel)
{
    struct task *canceled = NULL;
    for (size_t i = 0; i < executor->task_count; i++) {
        struct task *task = &executor->tasks[i];
        size_t length = strlen(task->path);
        if (strncmp(task->path, path, length) != 0)
            continue;
        if (!path[length])
            return task;
        if (strcmp(path + length, "/cancel") == 0)
            canceled = task;
    }
    *ret_cancel = canceled != NULL;
    return canceled;
}

void serve(void *context, const struct http_request *request, struct http_response *response)
{
    struct carillon_executor *executor = context;
    bool get = !strcmp(request->method, "GET") || !strcmp(request->method, "HEAD");
    if (get && !strcmp(request->path, "/healthz")) {
        list_tasks(executor, response);
        return;
    }
    if (!admitted(executor, request, response))
        return;
    if (strncmp(request->path, CALLS_PATH, sizeof CALLS_PATH - 1) == 0) {
        serve_call(executor, request->path + sizeof CALLS_PATH - 1, request, response);
        return;
    }
    bool is_cancel = false;
    struct task *task = find_task(executor, request->path, &is_cancel);
    if (!task)
        refuse(response, 404, "NO_TASK", "there is no task %s here", request->path);
    else if (strcmp(request->method, "POST"))
        refuse(response, 405, "METHOD", "%s takes POST", request->path);
    else if (is_cancel)
        cancel_task(executor, task, request, response);
    else
        take_call(executor, task, request, response);
}
