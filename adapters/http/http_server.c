#include "adapters/http/http_server.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "adapters/http/exchange.h"
#include "adapters/http/listen.h"
#include "core/base/mem.h"
#include "core/base/vec.h"

#define CONNECTIONS_DEFAULT 2000
#define IDLE_SECONDS 60U
#define CONNECTION_MEMORY ((size_t)96 << 10) /* read buffer with the head, then the head of the answer */
#define DRAIN_BYTES ((size_t)32 << 20)       /* of a body that is too large are read before the connection is cut */
#define BODIES_MAX ((size_t)256 << 20)       /* bodies in memory, all connections together */
#define QUEUE_SECONDS 15                     /* for a pool thread; then the client is sent away */
#define STOP_SECONDS 5                       /* for answers that are ready to leave */

struct http_server {
    struct MHD_Daemon *daemon;
    int port;
    const char *quick_path;
    http_handler handler;
    void *context;
    uint64_t number; /* of requests; begins at random, so that ids do not repeat over restarts */
    size_t bodies;   /* bytes in memory; the server thread's and, when it ends, nobody's */
    char *certificate, *key;
    VEC(pthread_t) threads;
    pthread_mutex_t lock;
    pthread_cond_t work, quiet;     /* something is queued; in_hand went to 0 */
    struct exchange *first, **last; /* under lock: wait for a pool thread */
    size_t in_hand;                 /* under lock: from queued until the answer has left */
    bool stopping;                  /* under lock */
};

/* ---- pool ---------------------------------------------------------------------------------------------------------
 */

static time_t seconds_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static void pool_put(struct http_server *server, struct exchange *exchange)
{
    pthread_mutex_lock(&server->lock);
    exchange->next = NULL;
    exchange->queued_at = seconds_now();
    *server->last = exchange;
    server->last = &exchange->next;
    server->in_hand++;
    pthread_cond_signal(&server->work);
    pthread_mutex_unlock(&server->lock);
}

/* NULL: the server stops and nothing waits any more. */
static struct exchange *pool_take(struct http_server *server)
{
    pthread_mutex_lock(&server->lock);
    while (!server->first && !server->stopping)
        pthread_cond_wait(&server->work, &server->lock);
    struct exchange *exchange = server->first;
    if (exchange) {
        server->first = exchange->next;
        if (!server->first)
            server->last = &server->first;
    }
    pthread_mutex_unlock(&server->lock);
    return exchange;
}

static void *pool_run(void *context)
{
    struct http_server *server = context;
    struct exchange *exchange;
    while ((exchange = pool_take(server))) {
        if (seconds_now() - exchange->queued_at > QUEUE_SECONDS) /* all threads hang at a store that does not answer */
            exchange->refusal = 503;
        else
            server->handler(server->context, &exchange->request, &exchange->response);
        struct MHD_Connection *connection = exchange->connection;
        __atomic_store_n(&exchange->state, EXCHANGE_ANSWERED, __ATOMIC_RELEASE);
        MHD_resume_connection(connection); /* from here on the exchange is the server thread's again */
    }
    return NULL;
}

/* ---- server thread ------------------------------------------------------------------------------------------------
 */

static bool server_stops(struct http_server *server)
{
    pthread_mutex_lock(&server->lock);
    bool stopping = server->stopping;
    pthread_mutex_unlock(&server->lock);
    return stopping;
}

/* A body that is too large is read and thrown away, so that the client gets to read the answer; up to a point. */
static enum MHD_Result body_read(struct exchange *exchange, const char *bytes, size_t *length)
{
    struct http_server *server = exchange->server;
    size_t count = *length;
    *length = 0;
    exchange->received += count;
    if (exchange->received > DRAIN_BYTES)
        return MHD_NO;
    if (exchange->refusal)
        return MHD_YES;
    if (exchange->received > BODY_MAX) {
        exchange->refusal = 413;
    } else if (server->bodies + count > BODIES_MAX) {
        exchange->refusal = 503;
    } else {
        str_add_bytes(&exchange->body, bytes, count);
        server->bodies += count;
        return MHD_YES;
    }
    server->bodies -= exchange->body.length;
    str_release(&exchange->body);
    return MHD_YES;
}

static enum MHD_Result exchange_dispatch(struct exchange *exchange)
{
    struct http_server *server = exchange->server;
    if (!exchange->refusal && server_stops(server))
        exchange->refusal = 503;
    if (exchange->refusal) {
        exchange->state = EXCHANGE_ANSWERED;
        return exchange_answer(exchange);
    }
    exchange->request.body = str_text(&exchange->body);
    exchange->request.body_length = exchange->body.length;
    if (server->quick_path && !strcmp(exchange->request.path, server->quick_path)) {
        server->handler(server->context, &exchange->request, &exchange->response);
        exchange->state = EXCHANGE_ANSWERED;
        return exchange_answer(exchange);
    }
    exchange->state = EXCHANGE_IN_HAND;
    exchange->counted = true;
    MHD_suspend_connection(exchange->connection); /* before a pool thread can resume it */
    pool_put(server, exchange);
    return MHD_YES;
}

/* Called for the head, for each piece of the body, at its end, and again after the connection was resumed. */
static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *bytes, size_t *length, void **request)
{
    struct http_server *server = context;
    struct exchange *exchange = *request;
    (void)version;
    if (!exchange) {
        *request = exchange = exchange_create(server, connection, url, method, server->number++);
        if (!exchange->refusal || !MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_EXPECT))
            return MHD_YES;
        exchange->state = EXCHANGE_ANSWERED; /* the client waits for a word before it sends: "no" saves both the body */
        return exchange_answer(exchange);
    }
    if (__atomic_load_n(&exchange->state, __ATOMIC_ACQUIRE) == EXCHANGE_ANSWERED)
        return exchange_answer(exchange);
    return *length > 0 ? body_read(exchange, bytes, length) : exchange_dispatch(exchange);
}

static void on_completed(void *context, struct MHD_Connection *connection, void **request,
                         enum MHD_RequestTerminationCode code)
{
    struct http_server *server = context;
    struct exchange *exchange = *request;
    (void)connection;
    (void)code;
    if (!exchange)
        return;
    server->bodies -= exchange->body.length;
    if (exchange->counted) {
        pthread_mutex_lock(&server->lock);
        if (--server->in_hand == 0)
            pthread_cond_broadcast(&server->quiet);
        pthread_mutex_unlock(&server->lock);
    }
    exchange_free(exchange);
    *request = NULL;
}

/* The escapes stay: exchange.c decodes them, once, with checks. */
static size_t unescape_nothing(void *context, struct MHD_Connection *connection, char *text)
{
    (void)context;
    (void)connection;
    return strlen(text);
}

/* ---- life ---------------------------------------------------------------------------------------------------------
 */

static enum status file_load(const char *path, const char *what, char **ret, struct error *err)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > 1 << 20) {
        enum status status = error_set(err, STATUS_INVALID, "%s: cannot read %s: %s", what, path,
                                       fd < 0 ? strerrordesc_np(errno) : "no regular file below 1 MiB");
        if (fd >= 0)
            (void)close(fd);
        return status;
    }
    char *text = mem_alloc((size_t)info.st_size + 1);
    ssize_t n = read(fd, text, (size_t)info.st_size);
    (void)close(fd);
    if (n != info.st_size) {
        free(text);
        return error_set(err, STATUS_INVALID, "%s: cannot read %s", what, path);
    }
    *ret = text;
    return STATUS_OK;
}

static enum status tls_load(struct http_server *server, const struct http_server_options *options, struct error *err)
{
    bool certificate = options->tls_cert_file && *options->tls_cert_file;
    bool key = options->tls_key_file && *options->tls_key_file;
    if (!certificate && !key)
        return STATUS_OK;
    if (!certificate || !key)
        return error_set(err, STATUS_INVALID, "TLS needs both server.tls_cert and server.tls_key");
    enum status status = file_load(options->tls_cert_file, "server.tls_cert", &server->certificate, err);
    return status ? status : file_load(options->tls_key_file, "server.tls_key", &server->key, err);
}

static enum status daemon_start(struct http_server *server, const struct http_server_options *options, int fd,
                                struct error *err)
{
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC;
    struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, server->certificate},
                                   {MHD_OPTION_HTTPS_MEM_KEY, 0, server->key},
                                   {MHD_OPTION_END, 0, NULL}};
    const struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    if (server->certificate)
        flags |= MHD_USE_TLS;
    server->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, server, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
        options->connections ? options->connections : CONNECTIONS_DEFAULT, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY, MHD_OPTION_NOTIFY_COMPLETED, on_completed, server,
        MHD_OPTION_UNESCAPE_CALLBACK, unescape_nothing, NULL, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_ARRAY,
        server->certificate ? tls : none, MHD_OPTION_END);
    if (server->daemon)
        return STATUS_OK;
    (void)close(fd);
    return error_set(err, server->certificate ? STATUS_INVALID : STATUS_UNAVAILABLE, "the HTTP server cannot start%s",
                     server->certificate ? ": server.tls_cert and server.tls_key must be a matching pair in PEM form"
                                         : " (out of memory or of open files)");
}

static enum status threads_start(struct http_server *server, unsigned count, struct error *err)
{
    for (unsigned i = 0; i < (count ? count : 1); i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, pool_run, server))
            return error_set(err, STATUS_UNAVAILABLE, "the HTTP server cannot start its threads");
        vec_add(&server->threads, thread);
    }
    return STATUS_OK;
}

enum status http_server_start(const struct http_server_options *options, struct http_server **ret, struct error *err)
{
    struct http_server *server = mem_new(struct http_server);
    int fd = -1;
    server->quick_path = options->quick_path;
    server->handler = options->handler;
    server->context = options->context;
    server->last = &server->first;
    if (getrandom(&server->number, sizeof server->number, 0) != (ssize_t)sizeof server->number)
        server->number = (uint64_t)time(NULL) << 32;
    pthread_mutex_init(&server->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&server->work, &attributes);
    pthread_cond_init(&server->quiet, &attributes);
    pthread_condattr_destroy(&attributes);
    enum status status = tls_load(server, options, err);
    if (!status)
        status = listen_open(options->listen, &fd, &server->port, err);
    if (!status)
        status = daemon_start(server, options, fd, err);
    if (!status)
        status = threads_start(server, options->threads, err);
    if (status)
        http_server_stop(server);
    else
        *ret = server;
    return status;
}

int http_server_port(const struct http_server *server)
{
    return server->port;
}

/* Answers that are ready get a few seconds to leave; a client that does not read them cannot hold up the stop. */
static void quiet_await(struct http_server *server)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += STOP_SECONDS;
    pthread_mutex_lock(&server->lock);
    while (server->in_hand > 0 && pthread_cond_timedwait(&server->quiet, &server->lock, &until) == 0)
        ;
    pthread_mutex_unlock(&server->lock);
}

void http_server_stop(struct http_server *server)
{
    int fd = -1;
    if (!server)
        return;
    if (server->daemon)
        fd = MHD_quiesce_daemon(server->daemon); /* no new connections */
    if (fd >= 0)
        (void)close(fd);
    pthread_mutex_lock(&server->lock);
    server->stopping = true;
    pthread_cond_broadcast(&server->work);
    pthread_mutex_unlock(&server->lock);
    for (size_t i = 0; i < server->threads.count; i++)
        pthread_join(server->threads.items[i], NULL);
    quiet_await(server);
    if (server->daemon)
        MHD_stop_daemon(server->daemon);
    vec_release(&server->threads);
    pthread_cond_destroy(&server->work);
    pthread_cond_destroy(&server->quiet);
    pthread_mutex_destroy(&server->lock);
    free(server->certificate);
    free(server->key);
    free(server);
}
