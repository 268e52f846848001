#include "tests/contract/wires/rude_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/base/vec.h"

struct delivery {
    char key[64];
    int count;
};

struct rude_server {
    int fd, port;
    bool close_at_once;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    VEC(struct delivery) deliveries;
    int total, connections, hold, waiting, held_most;
    bool stopping, released;
    char last[8192];
};

struct visit {
    struct rude_server *server;
    int fd;
    bool die_next; /* the next request on this connection gets no answer */
    char request[65536 * 4];
    size_t length;
};

/* ---- reading and counting -----------------------------------------------------------------------------------------
 */

static void count_delivery(struct rude_server *server, const char *key)
{
    size_t i;
    pthread_mutex_lock(&server->lock);
    server->total++;
    for (i = 0; i < server->deliveries.count && strcmp(server->deliveries.items[i].key, key) != 0; i++)
        ;
    if (i == server->deliveries.count)
        (void)snprintf(vec_push(&server->deliveries)->key, sizeof server->deliveries.items->key, "%s", key);
    server->deliveries.items[i].count++;
    pthread_mutex_unlock(&server->lock);
}

static void header_find(const char *head, const char *name, char *ret, size_t size)
{
    const char *at = strcasestr(head, name);
    ret[0] = '\0';
    if (at)
        (void)snprintf(ret, size, "%.*s", (int)strcspn(at + strlen(name), "\r"), at + strlen(name));
}

/* One whole request; false: the client is gone. */
static bool request_read(struct visit *visit)
{
    char length_text[32], key[64];
    const char *end = NULL;
    visit->length = 0;
    for (;;) {
        size_t wanted = end ? (size_t)(end + 4 - visit->request) + strtoul(length_text, NULL, 10) : SIZE_MAX;
        if (end && visit->length >= wanted)
            break;
        ssize_t n = recv(visit->fd, visit->request + visit->length, sizeof visit->request - 1 - visit->length, 0);
        if (n <= 0)
            return false;
        visit->length += (size_t)n;
        visit->request[visit->length] = '\0';
        end = strstr(visit->request, "\r\n\r\n");
        if (end)
            header_find(visit->request, "\r\nContent-Length: ", length_text, sizeof length_text);
    }
    header_find(visit->request, "\r\nIdempotency-Key: ", key, sizeof key);
    count_delivery(visit->server, key[0] ? key : "none");
    pthread_mutex_lock(&visit->server->lock);
    (void)snprintf(visit->server->last, sizeof visit->server->last, "%.8000s", visit->request);
    pthread_mutex_unlock(&visit->server->lock);
    return true;
}

/* ---- behaviours ---------------------------------------------------------------------------------------------------
 */

static bool say(struct visit *visit, const char *text)
{
    size_t length = strlen(text), done = 0;
    while (done < length) {
        ssize_t n = send(visit->fd, text + done, length - done, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

static bool ok(struct visit *visit)
{
    return say(visit, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n{\"ok\":1}");
}

static bool stop(struct visit *visit)
{
    (void)visit;
    return false;
}

static bool reset(struct visit *visit)
{
    const struct linger linger = {.l_onoff = 1};
    (void)setsockopt(visit->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    return false;
}

/* The whole answer, then a reset instead of an orderly end. */
static bool answer_reset(struct visit *visit)
{
    (void)say(visit, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 8\r\n\r\n{\"ok\":1}");
    return reset(visit);
}

static bool die_next(struct visit *visit)
{
    visit->die_next = true;
    return ok(visit);
}

/* Answers, then closes a moment later: the client's next request meets the closing. */
static bool die_after(struct visit *visit)
{
    (void)ok(visit);
    return false;
}

static bool half_head(struct visit *visit)
{
    (void)say(visit, "HTTP/1.1 200 OK\r\nContent-Le");
    return false;
}

static bool half_body(struct visit *visit)
{
    (void)say(visit, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789");
    return false;
}

/* Until the client leaves. */
static void repeat(struct visit *visit, const char *text, int pause_ms)
{
    const struct timespec pause = {.tv_sec = 0, .tv_nsec = pause_ms * 1000000L};
    while (say(visit, text)) {
        if (pause_ms)
            (void)nanosleep(&pause, NULL);
    }
}

static bool slow(struct visit *visit)
{
    (void)say(visit, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
    repeat(visit, "x", 20);
    return false;
}

static bool silent(struct visit *visit)
{
    char byte;
    (void)recv(visit->fd, &byte, 1, 0); /* returns when the client closes, or at stop */
    return false;
}

static bool interim(struct visit *visit)
{
    return say(visit, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLocation: /hint\r\n\r\n") && ok(visit);
}

static bool endless_interim(struct visit *visit)
{
    repeat(visit, "HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n", 0);
    return false;
}

static bool endless_headers(struct visit *visit)
{
    (void)say(visit, "HTTP/1.1 200 OK\r\n");
    repeat(visit, "X-Filler: 0123456789012345678901234567890123456789\r\n", 0);
    return false;
}

static bool long_header(struct visit *visit)
{
    (void)say(visit, "HTTP/1.1 200 OK\r\nX-Long: ");
    repeat(visit, "0123456789012345678901234567890123456789", 0);
    return false;
}

static bool big(struct visit *visit)
{
    (void)say(visit, "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n");
    repeat(visit, "0123456789012345678901234567890123456789", 0);
    return false;
}

static bool big_chunked(struct visit *visit)
{
    (void)say(visit, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    repeat(visit, "a\r\n0123456789\r\n", 0);
    return false;
}

static bool gzip(struct visit *visit)
{
    return say(visit, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 6\r\n\r\n\x1f\x8b\x08zzz");
}

static bool garbage(struct visit *visit)
{
    (void)say(visit, "SSH-2.0-OpenSSH_9.2\r\n");
    return false;
}

static bool chunk_garbage(struct visit *visit)
{
    (void)say(visit, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\nhello\r\n0\r\n\r\n");
    return false;
}

static bool half_chunk(struct visit *visit)
{
    (void)say(visit, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    return false;
}

static bool too_long(struct visit *visit)
{
    return say(visit, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
}

static bool redirect(struct visit *visit)
{
    return say(visit, "HTTP/1.1 302 Found\r\nLocation: /ok\r\nContent-Length: 0\r\n\r\n");
}

static bool busy(struct visit *visit)
{
    return say(visit, "HTTP/1.1 503 Busy\r\nretry-after:  7 \r\nContent-Length: 0\r\n\r\n");
}

static bool busy_date(struct visit *visit)
{
    char date[64], text[200];
    struct tm tm;
    time_t at = time(NULL) + 60;
    (void)strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&at, &tm));
    (void)snprintf(text, sizeof text, "HTTP/1.1 429 Slow\r\nRetry-After: %s\r\nContent-Length: 0\r\n\r\n", date);
    return say(visit, text);
}

static bool switching(struct visit *visit)
{
    (void)say(visit, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: chat\r\n\r\n");
    return false;
}

static bool accepted(struct visit *visit)
{
    return say(visit, "HTTP/1.1 202 Accepted\r\nLocation: status/5?x=1\r\nContent-Length: 0\r\n\r\n");
}

static bool negative_length(struct visit *visit)
{
    (void)say(visit, "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello");
    return false;
}

static bool no_length(struct visit *visit)
{
    (void)say(visit, "HTTP/1.0 200 OK\r\n\r\nuntil the end");
    return false;
}

static bool hold(struct visit *visit)
{
    struct rude_server *server = visit->server;
    pthread_mutex_lock(&server->lock);
    if (++server->waiting > server->held_most)
        server->held_most = server->waiting;
    if (server->waiting >= server->hold)
        server->released = true;
    pthread_cond_broadcast(&server->changed);
    while (!server->released && !server->stopping)
        pthread_cond_wait(&server->changed, &server->lock);
    server->waiting--;
    pthread_mutex_unlock(&server->lock);
    return ok(visit);
}

/* Answers after 30 ms, and tells how many were here at once. */
static bool pause_ok(struct visit *visit)
{
    struct rude_server *server = visit->server;
    const struct timespec pause = {.tv_sec = 0, .tv_nsec = 30000000L};
    pthread_mutex_lock(&server->lock);
    if (++server->waiting > server->held_most)
        server->held_most = server->waiting;
    pthread_mutex_unlock(&server->lock);
    (void)nanosleep(&pause, NULL);
    pthread_mutex_lock(&server->lock);
    server->waiting--;
    pthread_mutex_unlock(&server->lock);
    return ok(visit);
}

static const struct {
    const char *path;
    bool (*act)(struct visit *visit); /* false: the connection is closed */
} behaviours[] = {{"/ok", ok},
                  {"/close", stop},
                  {"/reset", reset},
                  {"/answer-reset", answer_reset},
                  {"/die-next", die_next},
                  {"/die-after", die_after},
                  {"/half-head", half_head},
                  {"/half-body", half_body},
                  {"/slow", slow},
                  {"/silent", silent},
                  {"/interim", interim},
                  {"/endless-interim", endless_interim},
                  {"/endless-headers", endless_headers},
                  {"/long-header", long_header},
                  {"/big", big},
                  {"/big-chunked", big_chunked},
                  {"/gzip", gzip},
                  {"/garbage", garbage},
                  {"/chunk-garbage", chunk_garbage},
                  {"/half-chunk", half_chunk},
                  {"/too-long", too_long},
                  {"/redirect", redirect},
                  {"/busy", busy},
                  {"/busy-date", busy_date},
                  {"/switching", switching},
                  {"/accepted", accepted},
                  {"/negative-length", negative_length},
                  {"/no-length", no_length},
                  {"/hold", hold},
                  {"/pause", pause_ok}};

static bool behave(struct visit *visit)
{
    const char *path = strchr(visit->request, ' ');
    size_t length = path ? strcspn(path + 1, " ?") : 0;
    if (visit->die_next)
        return false;
    for (size_t i = 0; path && i < sizeof behaviours / sizeof *behaviours; i++) {
        if (strlen(behaviours[i].path) == length && strncmp(behaviours[i].path, path + 1, length) == 0)
            return behaviours[i].act(visit);
    }
    return say(visit, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
}

/* ---- threads ------------------------------------------------------------------------------------------------------
 */

static void *visit_run(void *context)
{
    struct visit *visit = context;
    struct rude_server *server = visit->server;
    while (request_read(visit) && behave(visit))
        ;
    (void)close(visit->fd);
    pthread_mutex_lock(&server->lock);
    server->connections--;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
    free(visit);
    return NULL;
}

static void visit_start(struct rude_server *server, int fd)
{
    const int on = 1;
    const struct timeval limit = {.tv_sec = 5}; /* so that a stop does not wait for ever */
    struct visit *visit = mem_new(struct visit);
    pthread_attr_t attributes;
    pthread_t thread;
    visit->server = server;
    visit->fd = fd;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, 256 << 10);
    pthread_mutex_lock(&server->lock);
    server->connections++;
    pthread_mutex_unlock(&server->lock);
    if (pthread_create(&thread, &attributes, visit_run, visit))
        abort();
    pthread_attr_destroy(&attributes);
}

static void *accept_run(void *context)
{
    struct rude_server *server = context;
    for (;;) {
        int fd = accept(server->fd, NULL, NULL);
        pthread_mutex_lock(&server->lock);
        bool stopping = server->stopping;
        pthread_mutex_unlock(&server->lock);
        if (stopping || (fd >= 0 && server->close_at_once)) {
            if (fd >= 0)
                (void)close(fd);
            if (stopping)
                return NULL;
        } else if (fd >= 0) {
            visit_start(server, fd);
        }
    }
}

struct rude_server *rude_server_start(const char *host, int close_at_once)
{
    struct rude_server *server = mem_new(struct rude_server);
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    struct sockaddr_in four = {.sin_family = AF_INET};
    bool is_six = inet_pton(AF_INET6, host, &six.sin6_addr) == 1;
    (void)inet_pton(AF_INET, host, &four.sin_addr);
    const struct sockaddr *address = is_six ? (const void *)&six : (const void *)&four;
    socklen_t length = is_six ? sizeof six : sizeof four;
    server->close_at_once = close_at_once;
    server->hold = 1 << 30;
    server->fd = socket(is_six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (server->fd < 0 || bind(server->fd, address, length) || listen(server->fd, 4096)) {
        free(server);
        return NULL;
    }
    struct sockaddr_in6 bound;
    length = sizeof bound;
    (void)getsockname(server->fd, (struct sockaddr *)(void *)&bound, &length);
    server->port = ntohs(bound.sin6_port); /* the port lies at the same place in both */
    pthread_mutex_init(&server->lock, NULL);
    pthread_cond_init(&server->changed, NULL);
    if (pthread_create(&server->thread, NULL, accept_run, server))
        abort();
    return server;
}

int rude_server_port(const struct rude_server *server)
{
    return server->port;
}

int rude_server_deliveries(struct rude_server *server, const char *key)
{
    int count = 0;
    pthread_mutex_lock(&server->lock);
    for (size_t i = 0; i < server->deliveries.count; i++) {
        if (strcmp(server->deliveries.items[i].key, key) == 0)
            count = server->deliveries.items[i].count;
    }
    pthread_mutex_unlock(&server->lock);
    return count;
}

int rude_server_most(struct rude_server *server)
{
    int most = 0;
    pthread_mutex_lock(&server->lock);
    for (size_t i = 0; i < server->deliveries.count; i++) {
        if (server->deliveries.items[i].count > most)
            most = server->deliveries.items[i].count;
    }
    pthread_mutex_unlock(&server->lock);
    return most;
}

int rude_server_total(struct rude_server *server)
{
    pthread_mutex_lock(&server->lock);
    int total = server->total;
    pthread_mutex_unlock(&server->lock);
    return total;
}

void rude_server_hold(struct rude_server *server, int count)
{
    pthread_mutex_lock(&server->lock);
    server->hold = count;
    server->released = false;
    server->held_most = 0;
    pthread_mutex_unlock(&server->lock);
}

int rude_server_held(struct rude_server *server)
{
    pthread_mutex_lock(&server->lock);
    int held = server->held_most;
    pthread_mutex_unlock(&server->lock);
    return held;
}

void rude_server_last(struct rude_server *server, char *ret, size_t size)
{
    pthread_mutex_lock(&server->lock);
    (void)snprintf(ret, size, "%s", server->last);
    pthread_mutex_unlock(&server->lock);
}

void rude_server_stop(struct rude_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->stopping = true;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
    (void)shutdown(server->fd, SHUT_RDWR); /* wakes accept */
    pthread_join(server->thread, NULL);
    (void)close(server->fd);
    pthread_mutex_lock(&server->lock);
    while (server->connections > 0)
        pthread_cond_wait(&server->changed, &server->lock);
    pthread_mutex_unlock(&server->lock);
    vec_release(&server->deliveries);
    pthread_cond_destroy(&server->changed);
    pthread_mutex_destroy(&server->lock);
    free(server);
}
