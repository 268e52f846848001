/* The executor: an HTTP server with a table of tasks. */
#include "executor-lib/include/carillon/executor.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "adapters/http/http_server.h"
#include "core/base/jsonscan.h"
#include "executor-lib/keys.h"

#define TASKS_MAX 1000
#define ANSWER_MAX ((size_t)4 << 20)
#define JSON_DEPTH 64

struct task {
    char *path, *description;
    carillon_handler handler;
    void *context;
    unsigned concurrency, running; /* running: under the executor's lock */
};

struct carillon_executor {
    char *listen;
    unsigned threads;
    void (*log)(void *context, const char *line);
    void *log_context;
    struct task *tasks;
    size_t task_count;
    struct keys *keys;
    struct http_server *server;
    pthread_mutex_t lock;
    bool stopping;
    char error[ERROR_TEXT_MAX];
};

struct carillon_call {
    struct carillon_executor *executor;
    const struct http_request *request;
    struct str answer;
    int status;
    bool answered, forget;
};

#define EXPORT __attribute__((visibility("default")))

static PRINTF_LIKE(2, 3) int fail(struct carillon_executor *executor, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(executor->error, sizeof executor->error, format, args);
    va_end(args);
    if (executor->log)
        executor->log(executor->log_context, executor->error);
    else
        (void)fprintf(stderr, "carillon-executor: %s\n", executor->error);
    return -1;
}

static int64_t now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- life
 * ----------------------------------------------------------------------------------------------------------------------
 */

EXPORT struct carillon_executor *carillon_executor_create(const struct carillon_options *options)
{
    if (!options || options->size < sizeof *options)
        return NULL;
    struct carillon_executor *executor = calloc(1, sizeof *executor);
    if (!executor)
        return NULL;
    executor->listen = strdup(options->listen ? options->listen : "127.0.0.1:9000");
    executor->threads = options->threads ? options->threads : 8;
    executor->log = options->log;
    executor->log_context = options->context;
    executor->keys = keys_create(options->keys ? options->keys : 10000,
                                 (options->key_hours ? options->key_hours : 24) * (int64_t)3600000);
    (void)pthread_mutex_init(&executor->lock, NULL);
    if (!executor->listen || !executor->keys) {
        carillon_executor_free(executor);
        return NULL;
    }
    return executor;
}

EXPORT int carillon_executor_add(struct carillon_executor *executor, const struct carillon_task *task)
{
    if (!task || task->size < sizeof *task || !task->handler || !task->path || task->path[0] != '/')
        return fail(executor, "a task needs its size, a path that begins with '/', and a handler");
    if (executor->server)
        return fail(executor, "tasks are added before the start");
    for (size_t i = 0; i < executor->task_count; i++)
        if (!strcmp(executor->tasks[i].path, task->path))
            return fail(executor, "task %s is there already", task->path);
    if (executor->task_count == TASKS_MAX)
        return fail(executor, "more than %d tasks", TASKS_MAX);
    struct task *grown = realloc(executor->tasks, (executor->task_count + 1) * sizeof *grown);
    if (!grown)
        return fail(executor, "out of memory");
    executor->tasks = grown;
    struct task *added = &grown[executor->task_count];
    *added = (struct task){.path = strdup(task->path),
                           .description = strdup(task->description ? task->description : ""),
                           .handler = task->handler,
                           .context = task->context,
                           .concurrency = task->serial        ? 1
                                          : task->concurrency ? task->concurrency
                                                              : executor->threads};
    if (!added->path || !added->description) {
        free(added->path);
        free(added->description);
        return fail(executor, "out of memory");
    }
    executor->task_count++;
    return 0;
}

EXPORT int carillon_executor_port(const struct carillon_executor *executor)
{
    return executor->server ? http_server_port(executor->server) : 0;
}

EXPORT const char *carillon_executor_error(const struct carillon_executor *executor)
{
    return executor->error;
}

static void set_stopping(struct carillon_executor *executor, bool stopping)
{
    (void)pthread_mutex_lock(&executor->lock);
    executor->stopping = stopping;
    (void)pthread_mutex_unlock(&executor->lock);
}

static bool is_stopping(struct carillon_executor *executor)
{
    (void)pthread_mutex_lock(&executor->lock);
    bool stopping = executor->stopping;
    (void)pthread_mutex_unlock(&executor->lock);
    return stopping;
}

EXPORT void carillon_executor_stop(struct carillon_executor *executor)
{
    if (!executor->server)
        return;
    set_stopping(executor, true);
    http_server_stop(executor->server);
    executor->server = NULL;
    set_stopping(executor, false);
}

EXPORT void carillon_executor_free(struct carillon_executor *executor)
{
    if (!executor)
        return;
    carillon_executor_stop(executor);
    for (size_t i = 0; i < executor->task_count; i++) {
        free(executor->tasks[i].path);
        free(executor->tasks[i].description);
    }
    free(executor->tasks);
    keys_free(executor->keys);
    (void)pthread_mutex_destroy(&executor->lock);
    free(executor->listen);
    free(executor);
}

EXPORT int carillon_executor_run(struct carillon_executor *executor)
{
    sigset_t stop;
    int number;
    (void)sigemptyset(&stop);
    (void)sigaddset(&stop, SIGINT);
    (void)sigaddset(&stop, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &stop, NULL); /* before the server's threads begin: they inherit it */
    if (carillon_executor_start(executor))
        return 1;
    (void)sigwait(&stop, &number);
    carillon_executor_stop(executor);
    return 0;
}

/* ---- calls
 * ---------------------------------------------------------------------------------------------------------------------
 */

static const char *header_of(const struct carillon_call *call, const char *name)
{
    const char *value = http_header(call->request, name);
    return value ? value : "";
}

EXPORT const char *carillon_call_params(const struct carillon_call *call)
{
    return call->request->body_length ? call->request->body : "{}";
}

EXPORT size_t carillon_call_params_length(const struct carillon_call *call)
{
    return call->request->body_length ? call->request->body_length : 2;
}

EXPORT const char *carillon_call_run(const struct carillon_call *call)
{
    return header_of(call, "X-Carillon-Run");
}

EXPORT const char *carillon_call_job(const struct carillon_call *call)
{
    return header_of(call, "X-Carillon-Job");
}

EXPORT const char *carillon_call_step(const struct carillon_call *call)
{
    return header_of(call, "X-Carillon-Step");
}

EXPORT const char *carillon_call_key(const struct carillon_call *call)
{
    return header_of(call, "Idempotency-Key");
}

EXPORT const char *carillon_call_scheduled_at(const struct carillon_call *call)
{
    return header_of(call, "X-Carillon-Scheduled-At");
}

EXPORT int carillon_call_attempt(const struct carillon_call *call)
{
    return (int)strtol(header_of(call, "X-Carillon-Attempt"), NULL, 10);
}

EXPORT int carillon_call_canceled(const struct carillon_call *call)
{
    return is_stopping(call->executor);
}

static void begin_answer(struct carillon_call *call, int status)
{
    str_clear(&call->answer);
    call->status = status;
    call->answered = true;
    call->forget = false;
}

static bool is_json(const char *text)
{
    return json_check(text, strlen(text), JSON_DEPTH, NULL) == STATUS_OK;
}

EXPORT void carillon_call_succeed(struct carillon_call *call, const char *result_json)
{
    if (result_json && !is_json(result_json)) {
        carillon_call_fail(call, "BAD_RESULT", "the handler's result is no JSON");
        return;
    }
    begin_answer(call, 200);
    str_add(&call->answer, "{\"status\":\"success\",\"result\":");
    str_add(&call->answer, result_json ? result_json : "null");
    str_add(&call->answer, "}");
}

EXPORT void carillon_call_fail(struct carillon_call *call, const char *code, const char *message)
{
    begin_answer(call, 200);
    str_add(&call->answer, "{\"status\":\"failure\",\"code\":");
    str_add_json(&call->answer, code ? code : "FAILED");
    str_add(&call->answer, ",\"message\":");
    str_add_json(&call->answer, message ? message : "");
    str_add(&call->answer, "}");
}

EXPORT void carillon_call_delay(struct carillon_call *call, unsigned seconds)
{
    begin_answer(call, 200);
    str_addf(&call->answer, "{\"status\":\"delay\",\"after\":\"%us\"}", seconds);
    call->forget = true;
}

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

static void carry_out(struct carillon_executor *executor, struct task *task, const struct http_request *request,
                      const char *key, struct http_response *response)
{
    struct carillon_call call = {.executor = executor, .request = request};
    str_init(&call.answer, ANSWER_MAX);
    task->handler(&call, task->context);
    if (!call.answered)
        carillon_call_succeed(&call, NULL);
    if (str_status(&call.answer)) {
        carillon_call_fail(&call, "RESULT_TOO_BIG", "the handler's result is larger than 4 MiB");
    }
    response->status = call.status;
    str_add_bytes(&response->body, str_text(&call.answer), call.answer.length);
    if (!*key)
        ;
    else if (call.forget)
        keys_forget(executor->keys, key);
    else
        keys_finish(executor->keys, key, call.status, str_text(&call.answer), now_ms());
    str_release(&call.answer);
}

static void take_call(struct carillon_executor *executor, struct task *task, const struct http_request *request,
                      struct http_response *response)
{
    const char *key = http_header(request, "Idempotency-Key");
    char *answer = NULL;
    int status = 0;
    enum key_turn turn = KEY_FIRST;
    struct error err;
    if (request->body_length && json_check(request->body, request->body_length, JSON_DEPTH, &err)) {
        refuse(response, 400, "BAD_JSON", "the body is no JSON: %s", err.text);
        return;
    }
    if (key && *key)
        turn = keys_begin(executor->keys, key, request->body, request->body_length, now_ms(), &status, &answer);
    if (turn == KEY_ANSWERED) {
        response->status = status;
        http_response_header(response, "Idempotency-Replayed", "%s", "true");
        str_add(&response->body, answer);
        free(answer);
    } else if (turn == KEY_CLASH) {
        refuse(response, 422, "KEY_REUSED", "this idempotency key came before with another body");
    } else if (turn == KEY_NO_MEMORY) {
        refuse(response, 503, "NO_MEMORY", "out of memory");
    } else if (!enter(executor, task)) {
        if (key && *key)
            keys_forget(executor->keys, key);
        http_response_header(response, "Retry-After", "%d", 1);
        refuse(response, is_stopping(executor) ? 503 : 429, "BUSY", "%s runs %u call(s) already", task->path,
               task->concurrency);
    } else {
        carry_out(executor, task, request, key ? key : "", response);
        leave(executor, task);
    }
}

static void list_tasks(struct carillon_executor *executor, struct http_response *response)
{
    str_add(&response->body, "{\"status\":\"ok\",\"tasks\":[");
    for (size_t i = 0; i < executor->task_count; i++) {
        str_add(&response->body, i ? ",{\"path\":" : "{\"path\":");
        str_add_json(&response->body, executor->tasks[i].path);
        str_add(&response->body, ",\"description\":");
        str_add_json(&response->body, executor->tasks[i].description);
        str_add(&response->body, "}");
    }
    str_add(&response->body, "]}");
}

static void handle(void *context, const struct http_request *request, struct http_response *response)
{
    struct carillon_executor *executor = context;
    if (!strcmp(request->path, "/healthz") && (!strcmp(request->method, "GET") || !strcmp(request->method, "HEAD"))) {
        list_tasks(executor, response);
        return;
    }
    for (size_t i = 0; i < executor->task_count; i++) {
        if (strcmp(executor->tasks[i].path, request->path))
            continue;
        if (strcmp(request->method, "POST"))
            refuse(response, 405, "METHOD", "%s takes POST", request->path);
        else
            take_call(executor, &executor->tasks[i], request, response);
        return;
    }
    refuse(response, 404, "NO_TASK", "there is no task %s here", request->path);
}

EXPORT int carillon_executor_start(struct carillon_executor *executor)
{
    struct error err;
    struct http_server_options options = {
        .listen = executor->listen, .threads = executor->threads, .handler = handle, .context = executor};
    if (executor->server)
        return fail(executor, "started already");
    return http_server_start(&options, &executor->server, &err) ? fail(executor, "%s", err.text) : 0;
}
