/* What the files of the library share. One executor: an HTTP server whose pool runs handlers (serve.c), threads of
 * accepted calls (serve.c), threads that report (reporter.c), one thread that announces (registrar.c, zookeeper.c). */
#ifndef CARILLON_EXECUTOR_LIB_PARTS_H
#define CARILLON_EXECUTOR_LIB_PARTS_H

#include <pthread.h>
#include <stdbool.h>

#include "adapters/http/http_server.h"
#include "core/base/error.h"
#include "core/base/jsonscan.h"
#include "executor-lib/epochs.h"
#include "executor-lib/include/carillon/executor.h"
#include "executor-lib/keys.h"
#include "executor-lib/reporter.h"
#include "executor-lib/signature.h"

#define EXPORT __attribute__((visibility("default")))
#define TASKS_MAX 1000
#define ANSWER_MAX ((size_t)4 << 20)
#define JSON_DEPTH 64
#define CALLS_PATH "/carillon/calls/" /* status and cancel of accepted calls, by their percent-encoded key */

struct task {
    char *path, *description;
    carillon_handler handler;
    void *context;
    bool serial, asynchronous;
    unsigned concurrency, running; /* running: under the executor's lock */
};

/* Copies of struct carillon_options. */
#define OPTION_TEXTS(X) \
    X(listen)           \
    X(idempotency_dir)  \
    X(application_key)  \
    X(callers) X(servers) X(zookeeper) X(zookeeper_auth) X(project) X(application) X(advertise) X(version)

struct carillon_executor {
    struct carillon_options options;
    struct task *tasks;
    size_t task_count;
    struct keys *keys;
    struct epochs *epochs;
    struct signature_keys *signature;
    struct reporter *reporter;
    struct registrar *registrar;
    struct zookeeper *zookeeper;
    struct http_server *server;
    pthread_mutex_t lock;
    pthread_cond_t idle;         /* an accepted call has ended */
    struct carillon_call *calls; /* that run now; under lock */
    size_t accepted;             /* threads of accepted calls; under lock */
    uint64_t unnamed;            /* calls without a key are numbered; under lock */
    bool stopping;
    char error[ERROR_TEXT_MAX];
};

#define CALL_TEXTS(X)                               \
    X(CALL_KEY, "Idempotency-Key")                  \
    X(CALL_RUN, "X-Carillon-Run")                   \
    X(CALL_JOB, "X-Carillon-Job")                   \
    X(CALL_STEP, "X-Carillon-Step")                 \
    X(CALL_SCHEDULED_AT, "X-Carillon-Scheduled-At") \
    X(CALL_DEADLINE, "X-Carillon-Deadline")         \
    X(CALL_CALLBACK, "X-Carillon-Callback")         \
    X(CALL_ATTEMPT, "X-Carillon-Attempt")           \
    X(CALL_EPOCH, "X-Carillon-Epoch")               \
    X(CALL_SHARD_INDEX, "X-Carillon-Shard-Index")   \
    X(CALL_SHARD_TOTAL, "X-Carillon-Shard-Total")

enum call_text {
#define CALL_TEXT_ENUM(symbol, header) symbol,
    CALL_TEXTS(CALL_TEXT_ENUM)
#undef CALL_TEXT_ENUM
        CALL_TEXT_COUNT
};

enum call_end { CALL_END_NONE, CALL_END_SUCCESS, CALL_END_FAILURE, CALL_END_DELAY };

struct carillon_call {
    struct carillon_executor *executor;
    struct task *task;
    char *texts[CALL_TEXT_COUNT]; /* never NULL */
    char *params;
    size_t params_length;
    bool interrupted;
    struct outbox *outbox; /* where reports go; NULL: nowhere, or nothing was said yet. Under the executor's lock */
    struct carillon_call *prev, *next; /* in executor->calls */
    /* under the executor's lock */
    bool canceled;
    int percent;
    char message[256];
    /* the handler's end */
    enum call_end end;
    struct str detail; /* members behind "status" or "state" */
};

/* executor.c */
int executor_fail(struct carillon_executor *executor, const char *format, ...) PRINTF_LIKE(2, 3);
void executor_log(const struct carillon_executor *executor, const char *line);
int64_t executor_now_ms(void); /* of the wall: what is remembered outlives the process */
bool executor_stopping(struct carillon_executor *executor);
/* "host:port" that others find this executor at. */
void executor_address(const struct carillon_executor *executor, struct str *ret);
/* The document of a registration: tasks, version, pid. */
void executor_document(const struct carillon_executor *executor, struct str *ret);

/* call.c: texts of a call, ends */
struct carillon_call *call_new(struct carillon_executor *executor, struct task *task,
                               const struct http_request *request); /* NULL: out of memory */
void call_free(struct carillon_call *call);
void call_answer(const struct carillon_call *call, struct str *ret); /* as an answer: {"status":… */
void call_report(const struct carillon_call *call, struct str *ret); /* as a report: {"state":… */
void call_state(const struct carillon_call *call, struct str *ret);  /* while it runs; under the executor's lock */

/* serve.c */
void serve(void *context, const struct http_request *request, struct http_response *response);

/* registrar.c: over HTTP */
struct registrar;
struct registrar *registrar_start(struct carillon_executor *executor); /* NULL: out of memory, or no thread */
void registrar_stop(struct registrar *registrar);                      /* leaves at once; frees; NULL is fine */

/* zookeeper.c */
struct zookeeper;
struct zookeeper *zookeeper_start(struct carillon_executor *executor);
void zookeeper_stop(struct zookeeper *zookeeper);

#endif
