/* An executor that only answers: one thread, success at once, and a log line for each request, so that what arrived can
 * be compared with what was promised. Usage: bench_sink PORT LOG. Line: arrival in ms since 1970, Idempotency-Key,
 * X-Carillon-Scheduled-At, path. */
#include <microhttpd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char answer[] = "{\"status\":\"success\",\"result\":null}";

static const char *header_of(struct MHD_Connection *connection, const char *name)
{
    const char *value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
    return value ? value : "-";
}

static enum MHD_Result take(void *log, struct MHD_Connection *connection, const char *url, const char *method,
                            const char *version, const char *data, size_t *size, void **state)
{
    static int seen;
    struct timespec now;
    (void)method;
    (void)version;
    (void)data;
    if (!*state) {
        *state = &seen;
        return MHD_YES;
    }
    if (*size) {
        *size = 0;
        return MHD_YES;
    }
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)fprintf(log, "%lld %s %s %s\n", (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000,
                  header_of(connection, "Idempotency-Key"), header_of(connection, "X-Carillon-Scheduled-At"), url);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(sizeof answer - 1, (void *)(size_t)answer, MHD_RESPMEM_PERSISTENT);
    (void)MHD_add_response_header(response, "Content-Type", "application/json");
    enum MHD_Result result = MHD_queue_response(connection, 200, response);
    MHD_destroy_response(response);
    return result;
}

int main(int argc, char **argv)
{
    sigset_t stop;
    int number;
    if (argc != 3) {
        (void)fprintf(stderr, "usage: bench_sink PORT LOG\n");
        return 2;
    }
    FILE *log = fopen(argv[2], "we");
    if (!log)
        return 1;
    (void)setvbuf(log, NULL, _IOFBF, 1 << 20);
    (void)sigemptyset(&stop);
    (void)sigaddset(&stop, SIGTERM);
    (void)sigaddset(&stop, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &stop, NULL);
    struct MHD_Daemon *daemon =
        MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, (uint16_t)strtoul(argv[1], NULL, 10), NULL, NULL, take, log,
                         MHD_OPTION_CONNECTION_LIMIT, 20000U, MHD_OPTION_LISTEN_BACKLOG_SIZE, 4096U, MHD_OPTION_END);
    if (!daemon) {
        (void)fprintf(stderr, "bench_sink: port %s is taken\n", argv[1]);
        return 1;
    }
    (void)sigwait(&stop, &number);
    MHD_stop_daemon(daemon);
    return fclose(log) ? 1 : 0;
}
