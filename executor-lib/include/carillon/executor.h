/* libcarillon-executor: offer tasks to Carillon from a C program.
 *
 *     static void greet(struct carillon_call *call, void *context)
 *     {
 *         carillon_call_succeed(call, "{\"hello\":\"world\"}");
 *     }
 *     …
 *     struct carillon_executor *executor = carillon_executor_create(&(struct carillon_options){
 *         .size = sizeof(struct carillon_options), .listen = "127.0.0.1:9000"});
 *     carillon_executor_add(executor, &(struct carillon_task){
 *         .size = sizeof(struct carillon_task), .path = "/greet", .handler = greet});
 *     return carillon_executor_run(executor);
 *
 * A task is a path; Carillon sends a POST with the step's parameters as JSON, the handler answers with JSON or an
 * error. Handlers run on a thread pool. Built in:
 *   - at most one call at a time of a serial task, a limit of calls per task (further ones are refused with 429, which
 *     costs Carillon no retry);
 *   - memory of idempotency keys: a call that comes again with a key that was answered gets the first answer without
 *     the handler being called; one that is still being worked on is joined. With `idempotency_dir` on disk, so that it
 *     outlives the process;
 *   - long work: an asynchronous task is answered 202 at once, its end is reported until it is acknowledged;
 *   - signatures are checked, callers of an earlier epoch are refused, the executor announces itself.
 *
 * Structures begin with their size, so that later versions can add members. No global state; several executors may live
 * in one process. Functions that return int return 0 on success, −1 with a text in carillon_executor_error otherwise.
 * docs/reference/executor-lib.md is the reference.
 */
#ifndef CARILLON_EXECUTOR_H
#define CARILLON_EXECUTOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CARILLON_EXECUTOR_VERSION 1

struct carillon_executor;
struct carillon_call;

struct carillon_options {
    size_t size;        /* sizeof(struct carillon_options) */
    const char *listen; /* "host:port"; port 0 = any free one; NULL = "127.0.0.1:9000" */
    unsigned threads;   /* handlers at once; 0 = 8 */
    size_t keys;        /* idempotency keys remembered; 0 = 10000. The oldest are forgotten first */
    unsigned key_hours; /* and for how long; 0 = 24 */
    void (*log)(void *context, const char *line); /* NULL = stderr */
    void *context;
    /* Folder for keys and answers, made when it is not there, for this process alone; NULL = memory only. Each call
     * with a key is written (and fsynced) before its handler begins and before it is answered. */
    const char *idempotency_dir;
    /* "whsec_…" as `carillon application-key` shows it; several, separated by a blank, while it is changed.
     * Calls without a right signature are refused with 401. NULL = not checked */
    const char *application_key;
    unsigned signature_seconds; /* age at most; 0 = 300 */
    const char *callers;        /* addresses that may call, "10.0.0.7,10.0.0.8"; others get 403. NULL = all */
    /* Announce this instance to these servers ("http://host:8420", several separated by commas), every 10 s, signed
     * with application_key; or, by coordination, as an ephemeral node ("zk://host:2181,host:2181/carillon"). NULL = no.
     * `project` (NULL = "default") and `application` say as what. */
    const char *servers, *zookeeper, *zookeeper_auth; /* auth: "user:password" or NULL */
    const char *project, *application;
    const char *advertise;      /* "host:port" where schedulers find it; NULL = where it listens */
    const char *version;        /* of your program, shown to people; NULL = none */
    unsigned heartbeat_seconds; /* between signs of life of accepted calls; 0 = 10 */
    unsigned stop_seconds;      /* stop waits so long for ends to be acknowledged; 0 = 10 */
};

/* Must answer with carillon_call_succeed or carillon_call_fail; returning without is success with no result. */
typedef void (*carillon_handler)(struct carillon_call *call, void *context);

struct carillon_task {
    size_t size;             /* sizeof(struct carillon_task) */
    const char *path;        /* "/greet" */
    const char *description; /* any UTF-8; NULL = none */
    carillon_handler handler;
    void *context;
    int serial;           /* one call at a time */
    unsigned concurrency; /* calls at once; 0 = as many as threads */
    int asynchronous;     /* answered 202 at once; the handler runs on a thread of its own, its end is reported */
};

/* NULL: out of memory, or options of an unknown size. Options are copied. */
struct carillon_executor *carillon_executor_create(const struct carillon_options *options);
/* Before start. Copied. */
int carillon_executor_add(struct carillon_executor *executor, const struct carillon_task *task);
/* Listens and returns. */
int carillon_executor_start(struct carillon_executor *executor);
/* start, then waits for SIGINT or SIGTERM, then stop. Returns an exit code for main. Blocks these signals in the
 * calling thread, so call it before other threads begin. */
int carillon_executor_run(struct carillon_executor *executor);
/* Takes its name off, refuses new calls (503), lets those that run end (carillon_call_canceled tells them), waits
 * stop_seconds for ends to be acknowledged (with idempotency_dir the rest is told after the next start), stops
 * listening. */
void carillon_executor_stop(struct carillon_executor *executor);
void carillon_executor_free(struct carillon_executor *executor);      /* stops first; NULL is fine */
int carillon_executor_port(const struct carillon_executor *executor); /* after start */
const char *carillon_executor_error(const struct carillon_executor *executor);

/* ---- in a handler: texts live as long as the call -------------------------------------------------------------- */

const char *carillon_call_params(const struct carillon_call *call); /* JSON text, "{}" when none */
size_t carillon_call_params_length(const struct carillon_call *call);
const char *carillon_call_run(const struct carillon_call *call); /* "" when the caller is not Carillon */
const char *carillon_call_job(const struct carillon_call *call); /* "project/job" */
const char *carillon_call_step(const struct carillon_call *call);
const char *carillon_call_key(const struct carillon_call *call);          /* idempotency key */
const char *carillon_call_scheduled_at(const struct carillon_call *call); /* RFC 3339 */
int carillon_call_attempt(const struct carillon_call *call);              /* 1, 2, …; 0 = unknown */
int64_t carillon_call_epoch(const struct carillon_call *call);            /* rises with take-overs; 0 = unknown */
const char *carillon_call_deadline(const struct carillon_call *call);     /* RFC 3339; "" = none */
/* Broadcast and shard: which of how many this is, from 0; 0 of 1 for all else. */
int carillon_call_shard_index(const struct carillon_call *call);
int carillon_call_shard_total(const struct carillon_call *call);
/* An earlier process of this executor (same idempotency_dir) began with this key and was killed before it ended: what
 * it did is not known to the library. */
int carillon_call_interrupted(const struct carillon_call *call);
/* Come to an end: the executor is stopping, the run was canceled, or the step has ended otherwise. */
int carillon_call_canceled(const struct carillon_call *call);

/* Tell how far it is (percent 0–100, negative = unknown; message for people or NULL), and lines for the attempt's log.
 * Sent in the background where the caller takes reports, else forgotten. */
void carillon_call_progress(struct carillon_call *call, int percent, const char *message);
void carillon_call_log(struct carillon_call *call, const char *line);

/* Answer: success with a result (JSON text, NULL = none; text that is no JSON makes the call a failure that says so).
 * Copied. */
void carillon_call_succeed(struct carillon_call *call, const char *result_json);
/* Answer: failure with a code of your own ("NO_STOCK") and a message for people. Copied. */
void carillon_call_fail(struct carillon_call *call, const char *code, const char *message);
/* Answer: not now; Carillon asks again after so many seconds. Costs no retry and is not remembered. */
void carillon_call_delay(struct carillon_call *call, unsigned seconds);

#ifdef __cplusplus
}
#endif
#endif
