/* The executor's life: options, tasks, start, stop. */
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "executor-lib/parts.h"

#define EPOCHS_MAX 10000
/* The structures as they were at first: a program that was built then has nothing behind it. */
#define OPTIONS_LEAST offsetof(struct carillon_options, idempotency_dir)
#define TASK_LEAST offsetof(struct carillon_task, asynchronous)

void executor_log(const struct carillon_executor *executor, const char *line)
{
    if (executor->options.log)
        executor->options.log(executor->options.context, line);
    else
        (void)fprintf(stderr, "carillon-executor: %s\n", line);
}

int executor_fail(struct carillon_executor *executor, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(executor->error, sizeof executor->error, format, args);
    va_end(args);
    executor_log(executor, executor->error);
    return -1;
}

int64_t executor_now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- options and tasks ---------------------------------------------------------------------------------------------
 */

static const size_t option_texts[] = {
#define OPTION_OFFSET(name) offsetof(struct carillon_options, name),
    OPTION_TEXTS(OPTION_OFFSET)
#undef OPTION_OFFSET
};

/* The option texts point to the caller's memory before, to ours after. "" counts as not given. */
static bool copy_texts(struct carillon_options *options)
{
    bool whole = true;
    for (size_t i = 0; i < sizeof option_texts / sizeof *option_texts; i++) {
        const char **text = (const char **)(void *)((char *)options + option_texts[i]);
        const char *given = *text && **text ? *text : NULL;
        *text = given ? strdup(given) : NULL;
        whole = whole && !given == !*text;
    }
    return whole;
}

static void free_texts(struct carillon_options *options)
{
    for (size_t i = 0; i < sizeof option_texts / sizeof *option_texts; i++)
        free(*(char **)(void *)((char *)options + option_texts[i]));
}

static unsigned or_else(unsigned given, unsigned otherwise)
{
    return given ? given : otherwise;
}

EXPORT struct carillon_executor *carillon_executor_create(const struct carillon_options *options)
{
    if (!options || options->size < OPTIONS_LEAST)
        return NULL;
    struct carillon_executor *executor = calloc(1, sizeof *executor);
    if (!executor)
        return NULL;
    struct carillon_options *own = &executor->options;
    memcpy(own, options, options->size < sizeof *own ? options->size : sizeof *own);
    own->listen = own->listen ? own->listen : "127.0.0.1:9000";
    own->project = own->project ? own->project : "default";
    own->threads = or_else(own->threads, 8);
    own->keys = own->keys ? own->keys : 10000;
    own->key_hours = or_else(own->key_hours, 24);
    own->signature_seconds = or_else(own->signature_seconds, 300);
    own->heartbeat_seconds = or_else(own->heartbeat_seconds, 10);
    own->stop_seconds = or_else(own->stop_seconds, 10);
    (void)pthread_mutex_init(&executor->lock, NULL);
    (void)pthread_cond_init(&executor->idle, NULL);
    if (!copy_texts(own)) {
        carillon_executor_free(executor);
        return NULL;
    }
    return executor;
}

EXPORT int carillon_executor_add(struct carillon_executor *executor, const struct carillon_task *task)
{
    struct carillon_task given = {0};
    if (!task || task->size < TASK_LEAST || !task->handler || !task->path || task->path[0] != '/')
        return executor_fail(executor, "a task needs its size, a path that begins with '/', and a handler");
    memcpy(&given, task, task->size < sizeof given ? task->size : sizeof given);
    if (executor->server)
        return executor_fail(executor, "tasks are added before the start");
    if (strncmp(given.path, CALLS_PATH, sizeof CALLS_PATH - 1) == 0 || strcmp(given.path, "/healthz") == 0)
        return executor_fail(executor, "the path %s is the library's own", given.path);
    for (size_t i = 0; i < executor->task_count; i++)
        if (!strcmp(executor->tasks[i].path, given.path))
            return executor_fail(executor, "task %s is there already", given.path);
    if (executor->task_count == TASKS_MAX)
        return executor_fail(executor, "more than %d tasks", TASKS_MAX);
    struct task *grown = realloc(executor->tasks, (executor->task_count + 1) * sizeof *grown);
    if (!grown)
        return executor_fail(executor, "out of memory");
    executor->tasks = grown;
    struct task *added = &grown[executor->task_count];
    *added = (struct task){.path = strdup(given.path),
                           .description = strdup(given.description ? given.description : ""),
                           .handler = given.handler,
                           .context = given.context,
                           .serial = given.serial != 0,
                           .asynchronous = given.asynchronous != 0,
                           .concurrency = given.serial ? 1 : or_else(given.concurrency, executor->options.threads)};
    if (!added->path || !added->description) {
        free(added->path);
        free(added->description);
        return executor_fail(executor, "out of memory");
    }
    executor->task_count++;
    return 0;
}

void executor_document(const struct carillon_executor *executor, struct str *ret)
{
    str_add(ret, "{\"tasks\":[");
    for (size_t i = 0; i < executor->task_count; i++) {
        const struct task *task = &executor->tasks[i];
        str_add(ret, i ? ",{\"path\":" : "{\"path\":");
        str_add_json(ret, task->path);
        str_add(ret, ",\"description\":");
        str_add_json(ret, task->description);
        str_addf(ret, ",\"serial\":%s,\"async\":%s,\"concurrency\":%u}", task->serial ? "true" : "false",
                 task->asynchronous ? "true" : "false", task->concurrency);
    }
    str_addf(ret, "],\"pid\":%ld,\"library\":\"libcarillon-executor/%d\"", (long)getpid(), CARILLON_EXECUTOR_VERSION);
    if (executor->options.version) {
        str_add(ret, ",\"version\":");
        str_add_json(ret, executor->options.version);
    }
    str_add(ret, "}");
}

void executor_address(const struct carillon_executor *executor, struct str *ret)
{
    const char *listen = executor->options.listen, *colon = strrchr(listen, ':');
    if (executor->options.advertise)
        str_add(ret, executor->options.advertise);
    else
        str_addf(ret, "%.*s:%d", (int)(colon ? colon - listen : 0), listen, carillon_executor_port(executor));
}

/* ---- life ----------------------------------------------------------------------------------------------------------
 */

EXPORT int carillon_executor_port(const struct carillon_executor *executor)
{
    return executor->server ? http_server_port(executor->server) : 0;
}

EXPORT const char *carillon_executor_error(const struct carillon_executor *executor)
{
    return executor->error;
}

bool executor_stopping(struct carillon_executor *executor)
{
    (void)pthread_mutex_lock(&executor->lock);
    bool stopping = executor->stopping;
    (void)pthread_mutex_unlock(&executor->lock);
    return stopping;
}

static void set_stopping(struct carillon_executor *executor, bool stopping)
{
    (void)pthread_mutex_lock(&executor->lock);
    executor->stopping = stopping;
    while (stopping && executor->accepted > 0)
        (void)pthread_cond_wait(&executor->idle, &executor->lock);
    (void)pthread_mutex_unlock(&executor->lock);
}

EXPORT void carillon_executor_stop(struct carillon_executor *executor)
{
    registrar_stop(executor->registrar);
    zookeeper_stop(executor->zookeeper);
    executor->registrar = NULL;
    executor->zookeeper = NULL;
    if (executor->server) {
        set_stopping(executor, true);
        http_server_stop(executor->server); /* waits for the handlers of its pool */
        executor->server = NULL;
        set_stopping(executor, true); /* whoever was accepted in the last moment */
    }
    reporter_stop(executor->reporter, (int64_t)executor->options.stop_seconds * 1000);
    executor->reporter = NULL;
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
    epochs_free(executor->epochs);
    signature_keys_free(executor->signature);
    (void)pthread_cond_destroy(&executor->idle);
    (void)pthread_mutex_destroy(&executor->lock);
    free_texts(&executor->options);
    free(executor);
}

static void settled(void *context, const char *key)
{
    struct carillon_executor *executor = context;
    keys_reported(executor->keys, key);
}

static void reporter_says(void *context, const char *line)
{
    executor_log(context, line);
}

static void tell_again(void *context, const char *key, const char *callbacks, const char *answer)
{
    struct carillon_executor *executor = context;
    struct outbox *outbox = outbox_open(executor->reporter, key, callbacks, false);
    outbox_end(outbox, answer);
    outbox_leave(outbox);
}

/* What it remembers and checks with; kept over a stop. */
static int prepare(struct carillon_executor *executor)
{
    const struct carillon_options *options = &executor->options;
    struct error err = {0};
    if ((options->servers || options->zookeeper) && !options->application)
        return executor_fail(executor, "to announce itself the executor needs the option application");
    if (options->servers && !options->application_key)
        return executor_fail(executor, "servers: a registration is signed, so it needs the option application_key");
    if (options->application_key && !executor->signature &&
        signature_keys_create(options->application_key, &executor->signature, &err) != STATUS_OK)
        return executor_fail(executor, "%s", err.text);
    if (!executor->keys && keys_create(options->keys, options->key_hours * (int64_t)3600000, options->idempotency_dir,
                                       &executor->keys, &err) != STATUS_OK)
        return executor_fail(executor, "%s", err.text);
    if (!executor->epochs)
        executor->epochs = epochs_create(EPOCHS_MAX);
    executor->reporter =
        reporter_create(&(struct reporter_options){.heartbeat_ms = (int64_t)options->heartbeat_seconds * 1000,
                                                   .log = reporter_says,
                                                   .settled = settled,
                                                   .context = executor});
    if (!executor->epochs || !executor->reporter)
        return executor_fail(executor, "out of memory, or no thread");
    return 0;
}

static int announce(struct carillon_executor *executor)
{
    const struct carillon_options *options = &executor->options;
    bool everywhere = strncmp(options->listen, "0.0.0.0:", 8) == 0 || strncmp(options->listen, "[::]:", 5) == 0;
    if ((options->servers || options->zookeeper) && everywhere && !options->advertise)
        return executor_fail(executor, "%s is no address that others can call: say which one with the option advertise",
                             options->listen);
    if (options->servers && !(executor->registrar = registrar_start(executor)))
        return executor_fail(executor, "servers: out of memory, or no thread");
    if (options->zookeeper && !(executor->zookeeper = zookeeper_start(executor)))
        return -1;
    return 0;
}

EXPORT int carillon_executor_start(struct carillon_executor *executor)
{
    struct error err;
    struct http_server_options options = {.listen = executor->options.listen,
                                          .threads = executor->options.threads,
                                          .handler = serve,
                                          .context = executor};
    if (executor->server)
        return executor_fail(executor, "started already");
    if (prepare(executor))
        return -1;
    if (http_server_start(&options, &executor->server, &err) != STATUS_OK) {
        executor->server = NULL;
        (void)executor_fail(executor, "%s", err.text);
        carillon_executor_stop(executor);
        return -1;
    }
    keys_unreported(executor->keys, tell_again, executor);
    if (announce(executor)) {
        carillon_executor_stop(executor);
        return -1;
    }
    return 0;
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
