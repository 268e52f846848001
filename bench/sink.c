/* An executor that records all that reaches it, so that it can be compared with what was promised.
 * Usage: bench_sink PORT LOG. Each line is written at once, before the answer, so that a kill -9 loses none:
 *
 *   C <ms> <key> <scheduled> <path> <attempt> <epoch>    a call arrived (ms since 1970; headers of the protocol)
 *   A <ms> <key> <status>                                its answer has been written to the connection
 *   G <ms> <key>                                         the connection was gone before the answer
 *   R <ms> <key> <status>                                its report was acknowledged so (0: nobody took it)
 *
 * What it answers is asked for in the query: slow=MS (later), fail=PERCENT (500; drawn by the key), async=MS (202, and
 * a report so much later). Nothing is deduplicated: what comes twice is recorded twice. */
#include <fcntl.h>
#include <microhttpd.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/reports.h"

#define KEY_MAX 200

struct call {
    struct call *next;
    struct MHD_Connection *connection;
    long long due;
    char key[KEY_MAX];
    unsigned status;
    bool taken;
};

static int log_file;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct call *sleeping;

long long sink_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void sink_log(const char *format, ...)
{
    char line[1024];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (length > 0 && write(log_file, line, (size_t)length) != length)
        abort(); /* an oracle that forgets is worse than none */
}

static const char *header_of(struct MHD_Connection *connection, const char *name)
{
    const char *value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
    return value ? value : "-";
}

static int asked(struct MHD_Connection *connection, const char *name)
{
    const char *value = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
    return value ? atoi(value) : 0;
}

static enum MHD_Result answer(struct MHD_Connection *connection, struct call *call)
{
    static const char good[] = "{\"status\":\"success\",\"result\":null}", bad[] = "{\"status\":\"failure\"}",
                      accepted[] = "{\"status\":\"accepted\"}";
    const char *body = call->status == 200 ? good : call->status == 202 ? accepted : bad;
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(body), (void *)(size_t)body, MHD_RESPMEM_PERSISTENT);
    (void)MHD_add_response_header(response, "Content-Type", "application/json");
    enum MHD_Result result = MHD_queue_response(connection, call->status, response);
    MHD_destroy_response(response);
    return result;
}

/* The whole request is here: record it, and see what is asked for. */
static void record(struct MHD_Connection *connection, struct call *call, const char *url)
{
    unsigned draw = 2166136261U;
    (void)snprintf(call->key, sizeof call->key, "%s", header_of(connection, "Idempotency-Key"));
    sink_log("C %lld %s %s %s %s %s\n", sink_now(), call->key, header_of(connection, "X-Carillon-Scheduled-At"), url,
             header_of(connection, "X-Carillon-Attempt"), header_of(connection, "X-Carillon-Epoch"));
    for (const char *c = call->key; *c; c++)
        draw = (draw ^ (unsigned char)*c) * 16777619U;
    draw ^= draw >> 15;
    draw *= 2246822519U;
    draw ^= draw >> 13;
    int async = asked(connection, "async");
    call->taken = true;
    call->status = async ? 202 : draw % 100 < (unsigned)asked(connection, "fail") ? 500 : 200;
    if (async)
        reports_add(call->key, header_of(connection, "X-Carillon-Callback"), sink_now() + async);
}

static enum MHD_Result take(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                            const char *version, const char *data, size_t *size, void **state)
{
    struct call *call = *state;
    (void)context;
    (void)method;
    (void)version;
    (void)data;
    if (!call) {
        *state = calloc(1, sizeof *call);
        return *state ? MHD_YES : MHD_NO;
    }
    if (*size) {
        *size = 0;
        return MHD_YES;
    }
    if (call->taken)
        return answer(connection, call);
    record(connection, call, url);
    int slow = asked(connection, "slow");
    if (!slow)
        return answer(connection, call);
    call->connection = connection;
    call->due = sink_now() + slow;
    (void)pthread_mutex_lock(&lock);
    call->next = sleeping;
    sleeping = call;
    MHD_suspend_connection(connection);
    (void)pthread_mutex_unlock(&lock);
    return MHD_YES;
}

static void *wake(void *context)
{
    (void)context;
    for (;;) {
        struct timespec pause = {0, 5000000};
        (void)nanosleep(&pause, NULL);
        (void)pthread_mutex_lock(&lock);
        for (struct call **at = &sleeping; *at;) {
            struct call *call = *at;
            if (call->due > sink_now()) {
                at = &call->next;
                continue;
            }
            *at = call->next;
            MHD_resume_connection(call->connection);
        }
        (void)pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void completed(void *context, struct MHD_Connection *connection, void **state,
                      enum MHD_RequestTerminationCode how)
{
    struct call *call = *state;
    (void)context;
    (void)connection;
    if (call && call->taken) {
        if (how == MHD_REQUEST_TERMINATED_COMPLETED_OK)
            sink_log("A %lld %s %u\n", sink_now(), call->key, call->status);
        else
            sink_log("G %lld %s\n", sink_now(), call->key);
    }
    free(call);
}

int main(int argc, char **argv)
{
    sigset_t stop;
    int number;
    pthread_t waker;
    if (argc != 3) {
        (void)fprintf(stderr, "usage: bench_sink PORT LOG\n");
        return 2;
    }
    log_file = open(argv[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log_file < 0)
        return 1;
    (void)sigemptyset(&stop);
    (void)sigaddset(&stop, SIGTERM);
    (void)sigaddset(&stop, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &stop, NULL);
    reports_start();
    if (pthread_create(&waker, NULL, wake, NULL) != 0)
        return 1;
    struct MHD_Daemon *daemon =
        MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, (uint16_t)strtoul(argv[1], NULL, 10),
                         NULL, NULL, take, NULL, MHD_OPTION_NOTIFY_COMPLETED, completed, NULL,
                         MHD_OPTION_CONNECTION_LIMIT, 20000U, MHD_OPTION_LISTEN_BACKLOG_SIZE, 4096U, MHD_OPTION_END);
    if (!daemon) {
        (void)fprintf(stderr, "bench_sink: port %s is taken\n", argv[1]);
        return 1;
    }
    (void)sigwait(&stop, &number);
    return 0; /* every line is written already */
}
