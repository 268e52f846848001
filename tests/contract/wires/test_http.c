/* The HTTP server by raw sockets: what good clients get, and what bad ones cannot do. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "adapters/http/http_server.h"
#include "core/base/mem.h"
#include "tests/contract/wires/harness.h"

#define THREADS 2

struct site {
    struct http_server *server;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int waiting, handled;
    bool released;
};

static struct site site;

static void nap(int ms)
{
    const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    (void)nanosleep(&pause, NULL);
}

/* /echo tells what arrived; /wait waits until the test lets it go. */
static void handle(void *context, const struct http_request *request, struct http_response *response)
{
    struct site *s = context;
    pthread_mutex_lock(&s->lock);
    s->handled++;
    pthread_cond_broadcast(&s->changed);
    if (strcmp(request->path, "/wait") == 0) {
        s->waiting++;
        pthread_cond_broadcast(&s->changed);
        while (!s->released)
            pthread_cond_wait(&s->changed, &s->lock);
        s->waiting--;
    }
    pthread_mutex_unlock(&s->lock);
    if (strcmp(request->path, "/static") == 0) {
        response->static_body = "lives for ever";
        response->static_length = 14;
        response->content_type = "text/plain";
        return;
    }
    if (strcmp(request->path, "/none") == 0) {
        response->status = 204;
        return;
    }
    const char *q = http_query(request, "q"), *header = http_header(request, "x-test");
    str_addf(&response->body, "{\"method\":\"%s\",\"path\":", request->method);
    str_add_json(&response->body, request->path);
    str_add(&response->body, ",\"q\":");
    str_add_json(&response->body, q ? q : "-");
    str_add(&response->body, ",\"header\":");
    str_add_json(&response->body, header ? header : "-");
    str_addf(&response->body, ",\"length\":%zu,\"remote\":\"%s\"}", request->body_length, request->remote);
    http_response_header(response, "X-Echo", "%s", q ? q : "-");
}

static int dial(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)http_server_port(site.server))};
    const struct timeval limit = {.tv_sec = 10};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    (void)inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (connect(fd, (const struct sockaddr *)&address, sizeof address))
        fail_msg("cannot connect");
    return fd;
}

static bool put(int fd, const char *text)
{
    size_t length = strlen(text);
    return send(fd, text, length, MSG_NOSIGNAL) == (ssize_t)length;
}

static int handled(void)
{
    pthread_mutex_lock(&site.lock);
    int count = site.handled;
    pthread_mutex_unlock(&site.lock);
    return count;
}

/* One whole answer into a static buffer; "" when the connection ends first. `bodyless`: HEAD, 204. */
static const char *take(int fd, bool bodyless)
{
    static char text[20000];
    size_t length = 0, wanted = SIZE_MAX;
    text[0] = '\0';
    while (length < wanted && length < sizeof text - 1) {
        ssize_t n = recv(fd, text + length, 1, 0);
        if (n <= 0)
            return "";
        text[++length] = '\0';
        const char *end = wanted == SIZE_MAX ? strstr(text, "\r\n\r\n") : NULL;
        if (end) {
            const char *header = strcasestr(text, "\r\nContent-Length: ");
            wanted = (size_t)(end - text) + 4 + (header && !bodyless ? strtoul(header + 18, NULL, 10) : 0);
        }
    }
    return text;
}

static const char *ask(const char *request)
{
    int fd = dial();
    (void)put(fd, request);
    const char *answer = take(fd, strncmp(request, "HEAD", 4) == 0);
    (void)close(fd);
    return answer;
}

static int setup(void **state)
{
    const struct http_server_options options = {
        .listen = "127.0.0.1:0", .threads = THREADS, .quick_path = "/quick", .handler = handle, .context = &site};
    struct error err;
    (void)state;
    site = (struct site){0};
    pthread_mutex_init(&site.lock, NULL);
    pthread_cond_init(&site.changed, NULL);
    return http_server_start(&options, &site.server, &err) ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    http_server_stop(site.server);
    pthread_cond_destroy(&site.changed);
    pthread_mutex_destroy(&site.lock);
    return 0;
}

static const struct {
    int row;
    const char *request, *wanted[4]; /* pieces of the answer */
} good[] = {
    {__LINE__,
     "GET /echo?q=a%20b+c%2B HTTP/1.1\r\nHost: x\r\nX-Test: yes\r\n\r\n",
     {"HTTP/1.1 200", "\"path\":\"/echo\",\"q\":\"a b c+\",\"header\":\"yes\"", "X-Content-Type-Options: nosniff",
      "X-Request-Id: "}},
    {__LINE__,
     "GET /a%2Fb/%E4%B8%AD%F0%9F%94%94 HTTP/1.1\r\nHost: x\r\n\r\n",
     {"\"path\":\"/a/b/\xe4\xb8\xad\xf0\x9f\x94\x94\"", "Content-Type: application/json; charset=utf-8"}},
    {__LINE__, "GET /%2541 HTTP/1.1\r\nHost: x\r\n\r\n", {"\"path\":\"/%41\""}}, /* decoded once */
    {__LINE__, "GET /a..b/...c/ HTTP/1.1\r\nHost: x\r\n\r\n", {"\"path\":\"/a..b/...c/\""}},
    {__LINE__,
     "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
     {"\"method\":\"POST\"", "\"length\":5"}},
    {__LINE__,
     "POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
     {"\"length\":5"}},
    {__LINE__, "DELETE /x HTTP/1.1\r\nHost: x\r\n\r\n", {"\"method\":\"DELETE\"", "\"remote\":\"127.0.0.1\""}},
    {__LINE__, "HEAD /x HTTP/1.1\r\nHost: x\r\n\r\n", {"HTTP/1.1 200", "Content-Length: "}},
    {__LINE__, "GET /static HTTP/1.1\r\nHost: x\r\n\r\n", {"Content-Type: text/plain", "\r\n\r\nlives for ever"}},
    {__LINE__, "GET /x?q=%0d%0aSet-Cookie:a HTTP/1.1\r\nHost: x\r\n\r\n", {"X-Echo:   Set-Cookie:a\r\n"}},
};

static void test_good(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const char *answer = ask(good[i].request);
        for (size_t w = 0; w < 4 && good[i].wanted[w]; w++) {
            if (!strstr(answer, good[i].wanted[w]))
                fail_msg("row %d: no %s in\n%s", good[i].row, good[i].wanted[w], answer);
        }
    }
    int fd = dial();
    (void)put(fd, "GET /none HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_non_null(strstr(take(fd, true), "HTTP/1.1 204"));
    (void)close(fd);
}

static const struct {
    int row, status;
    const char *request;
} bad[] = {
    {__LINE__, 404, "GET /../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n"},
    {__LINE__, 404, "GET /a/%2e%2e/b HTTP/1.1\r\nHost: x\r\n\r\n"},
    {__LINE__, 404, "GET /a/..%2fb HTTP/1.1\r\nHost: x\r\n\r\n"},
    {__LINE__, 404, "GET /a/./b HTTP/1.1\r\nHost: x\r\n\r\n"},
    {__LINE__, 404, "GET //a HTTP/1.1\r\nHost: x\r\n\r\n"},
    {__LINE__, 404, "GET /a%00b HTTP/1.1\r\nHost: x\r\n\r\n"},
    {__LINE__, 404, "GET /a%0ab HTTP/1.1\r\nHost: x\r\n\r\n"},
    {__LINE__, 404, "GET /a%1fb HTTP/1.1\r\nHost: x\r\n\r\n"},
    {__LINE__, 404, "GET /a%zzb HTTP/1.1\r\nHost: x\r\n\r\n"},
    {__LINE__, 404, "GET /a%ff HTTP/1.1\r\nHost: x\r\n\r\n"},
    {__LINE__, 404, "GET /a% HTTP/1.1\r\nHost: x\r\n\r\n"},
    {__LINE__, 404, "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"},
    {__LINE__, 400, "GET /a?q=%00 HTTP/1.1\r\nHost: x\r\n\r\n"},
    {__LINE__, 400, "GET /a?q=%ff HTTP/1.1\r\nHost: x\r\n\r\n"},
    {__LINE__, 400, "GET /a HTTP/1.1\r\n\r\n"}, /* no Host */
};

static void test_bad(void **state)
{
    char wanted[32];
    (void)state;
    int before = handled();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *answer = ask(bad[i].request);
        (void)snprintf(wanted, sizeof wanted, "HTTP/1.1 %d ", bad[i].status);
        if (strncmp(answer, wanted, strlen(wanted)) != 0)
            fail_msg("row %d: %s", bad[i].row, answer);
    }
    assert_int_equal(handled(), before);
    assert_non_null(strstr(ask("GET /.. HTTP/1.1\r\nHost: x\r\n\r\n"), "\"trace_id\":\""));
}

static void test_too_big(void **state)
{
    enum { PIECE = 100000 };
    char *piece = mem_alloc(PIECE + 1);
    int before = handled();
    (void)state;
    memset(piece, 'x', PIECE);
    /* Announced, and sent without an announcement. */
    for (int chunked = 0; chunked < 2; chunked++) {
        int fd = dial();
        assert_true(put(fd, chunked ? "POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                                    : "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n"));
        for (int sent = 0; sent < 5000000; sent += PIECE) {
            if (chunked)
                (void)put(fd, "186a0\r\n");
            (void)put(fd, piece);
            if (chunked)
                (void)put(fd, "\r\n");
        }
        if (chunked)
            (void)put(fd, "0\r\n\r\n");
        const char *answer = take(fd, false);
        assert_non_null(strstr(answer, "HTTP/1.1 413"));
        assert_non_null(strstr(answer, "REQUEST_TOOLARGE_002"));
        (void)close(fd);
    }
    assert_int_equal(handled(), before);
    /* 4 MiB exactly are taken. */
    int fd = dial();
    char head[100];
    (void)snprintf(head, sizeof head, "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", 4 << 20);
    (void)put(fd, head);
    for (int left = 4 << 20; left > 0; left -= PIECE) {
        piece[left < PIECE ? left : PIECE] = '\0';
        assert_true(put(fd, piece));
    }
    assert_non_null(strstr(take(fd, false), "\"length\":4194304"));
    (void)close(fd);
    free(piece);
}

static void test_header_limits(void **state)
{
    struct str text;
    (void)state;
    for (int kilobytes = 20; kilobytes <= 320; kilobytes *= 2) {
        str_init(&text, 1 << 20);
        str_add(&text, "GET /x HTTP/1.1\r\nHost: x\r\n");
        for (int i = 0; i < kilobytes; i++) {
            str_addf(&text, "X-%d: ", i);
            for (int n = 0; n < 100; n++)
                str_add(&text, "0123456789");
            str_add(&text, "\r\n");
        }
        str_add(&text, "\r\n");
        int fd = dial();
        (void)put(fd, str_text(&text));
        const char *answer = take(fd, false);
        if (!strstr(answer, kilobytes <= 30 ? "HTTP/1.1 200" : "HTTP/1.1 431") && (kilobytes < 80 || *answer))
            fail_msg("%d KB: %.200s", kilobytes, answer);
        (void)close(fd);
        str_release(&text);
    }
}

static void test_pipelining(void **state)
{
    int fd = dial();
    (void)state;
    assert_true(put(fd,
                    "GET /one HTTP/1.1\r\nHost: x\r\n\r\nPOST /two HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"
                    "GET /three HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_non_null(strstr(take(fd, false), "\"/one\""));
    assert_non_null(strstr(take(fd, false), "\"/two\""));
    assert_non_null(strstr(take(fd, false), "\"/three\""));
    (void)close(fd);
}

static void test_in_pieces(void **state)
{
    static const char request[] = "POST /x?q=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc";
    int fd = dial();
    (void)state;
    for (const char *at = request; *at; at++) {
        char byte[2] = {*at, '\0'};
        assert_true(put(fd, byte));
        nap(1);
    }
    assert_non_null(strstr(take(fd, false), "\"length\":3"));
    (void)close(fd);
}

/* Fifty clients that stop within head or body: others are served, no pool thread waits for them. */
static void test_slow_clients(void **state)
{
    int slow[50];
    (void)state;
    for (int i = 0; i < 50; i++) {
        slow[i] = dial();
        assert_true(put(slow[i], i % 2 ? "GET /x HTTP/1.1\r\nHost: x\r\nX-"
                                       : "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf"));
    }
    nap(50);
    int before = handled();
    assert_non_null(strstr(ask("GET /echo HTTP/1.1\r\nHost: x\r\n\r\n"), "HTTP/1.1 200"));
    assert_int_equal(handled(), before + 1);
    for (int i = 0; i < 50; i++)
        (void)close(slow[i]);
}

static void handlers_await(int count)
{
    pthread_mutex_lock(&site.lock);
    while (site.waiting < count)
        pthread_cond_wait(&site.changed, &site.lock);
    pthread_mutex_unlock(&site.lock);
}

static void handlers_release(void)
{
    pthread_mutex_lock(&site.lock);
    site.released = true;
    pthread_cond_broadcast(&site.changed);
    pthread_mutex_unlock(&site.lock);
}

/* Until nobody listens any more. */
static void stop_await(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    (void)inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    for (int i = 0; i < 1000; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        int refused = connect(fd, (const struct sockaddr *)&address, sizeof address);
        (void)close(fd);
        if (refused)
            break;
        nap(10);
    }
    nap(200); /* the flag follows at once */
}

static void *stop_run(void *context)
{
    http_server_stop(context);
    return NULL;
}

/* Handlers that run are finished and their answers arrive; what comes later is turned away. */
static void test_stop(void **state)
{
    int fds[THREADS + 1];
    pthread_t thread;
    (void)state;
    for (int i = 0; i < THREADS + 1; i++) { /* one more than the pool: it waits in the queue */
        fds[i] = dial();
        assert_true(put(fds[i], "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n"));
    }
    int idle = dial(), half = dial();
    assert_true(put(half, "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf"));
    handlers_await(THREADS);
    nap(50);
    int port = http_server_port(site.server);
    pthread_create(&thread, NULL, stop_run, site.server);
    stop_await(port);
    (void)put(idle, "GET /late HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_non_null(strstr(take(idle, false), "HTTP/1.1 503"));
    handlers_release();
    for (int i = 0; i < THREADS + 1; i++) {
        assert_non_null(strstr(take(fds[i], false), "HTTP/1.1 200"));
        (void)close(fds[i]);
    }
    pthread_join(thread, NULL);
    (void)close(idle);
    (void)close(half);
    site.server = NULL;
    assert_int_equal(setup(NULL), 0);
}

/* With every pool thread held up, whether the process lives can still be asked. */
static void test_quick_path(void **state)
{
    int fds[THREADS];
    (void)state;
    for (int i = 0; i < THREADS; i++) {
        fds[i] = dial();
        assert_true(put(fds[i], "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n"));
        handlers_await(i + 1);
    }
    assert_non_null(strstr(ask("GET /quick HTTP/1.1\r\nHost: x\r\n\r\n"), "\"path\":\"/quick\""));
    handlers_release();
    for (int i = 0; i < THREADS; i++) {
        assert_non_null(strstr(take(fds[i], false), "HTTP/1.1 200"));
        (void)close(fds[i]);
    }
    pthread_mutex_lock(&site.lock);
    site.released = false; /* for the tests that follow */
    pthread_mutex_unlock(&site.lock);
}

/* A client that left while its handler ran does no harm. */
static void test_client_leaves(void **state)
{
    (void)state;
    for (int i = 0; i < THREADS; i++) {
        int fd = dial();
        assert_true(put(fd, "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n"));
        handlers_await(i + 1);
        (void)close(fd);
    }
    handlers_release();
    assert_non_null(strstr(ask("GET /echo HTTP/1.1\r\nHost: x\r\n\r\n"), "HTTP/1.1 200"));
}

static void test_listen(void **state)
{
    char taken[64];
    struct http_server *second = NULL;
    struct http_server_options options = {.listen = taken, .threads = 1, .handler = handle, .context = &site};
    struct error err = {0};
    (void)state;
    (void)snprintf(taken, sizeof taken, "127.0.0.1:%d", http_server_port(site.server));
    assert_int_equal(http_server_start(&options, &second, &err), STATUS_IN_USE);
    assert_non_null(strstr(err.text, taken));
    assert_non_null(strstr(err.text, "in use"));
    static const char *const wrong[] = {
        "", "8420", ":8420", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:99999999", "[::1:80", "[]:80"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        options.listen = wrong[i];
        if (http_server_start(&options, &second, &err) != STATUS_INVALID || !strstr(err.text, "--listen"))
            fail_msg("\"%s\": %s", wrong[i], err.text);
    }
    options.listen = "127.0.0.1:0";
    options.tls_cert_file = "/nowhere/cert.pem";
    assert_int_equal(http_server_start(&options, &second, &err), STATUS_INVALID);
    options.tls_key_file = "/nowhere/key.pem";
    assert_int_equal(http_server_start(&options, &second, &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, "/nowhere/cert.pem"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),          cmocka_unit_test(test_bad),           cmocka_unit_test(test_too_big),
        cmocka_unit_test(test_pipelining),    cmocka_unit_test(test_header_limits), cmocka_unit_test(test_in_pieces),
        cmocka_unit_test(test_stop),          cmocka_unit_test(test_slow_clients),  cmocka_unit_test(test_quick_path),
        cmocka_unit_test(test_client_leaves), cmocka_unit_test(test_listen)};
    return cmocka_run_group_tests_name("http", tests, setup, teardown);
}
