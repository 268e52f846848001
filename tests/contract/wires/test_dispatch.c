/* The dispatch port on libcurl against rude servers: each kind of bad end gets its class, memory and time are bounded,
 * and no request is ever delivered twice. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "adapters/curl/addresses.h"
#include "adapters/curl/dispatch_curl.h"
#include "adapters/loop/loop.h"
#include "core/base/mem.h"
#include "tests/contract/wires/harness.h"
#include "tests/contract/wires/rude_server.h"

#define CALLS_MAX 2000

struct bench {
    struct loop *loop;
    struct dispatch *dispatch;
    struct rude_server *server, *server6, *shut;
    int left; /* calls whose done has not come */
    int key;
};

static struct bench bench;

static void on_done(struct dispatch_call *call)
{
    struct bench *b = call->owner;
    if (--b->left == 0)
        loop_stop(b->loop);
}

struct order {
    struct dispatch_call call;
    char url[128], key[32];
    struct name_value headers[3];
};

static void order_make(struct order *order, const char *host, int port, const char *path)
{
    memset(order, 0, sizeof *order);
    (void)snprintf(order->url, sizeof order->url, "http://%s:%d%s", host, port, path);
    (void)snprintf(order->key, sizeof order->key, "key-%d", bench.key++);
    order->headers[0] = (struct name_value){"Idempotency-Key", order->key};
    order->headers[1] = (struct name_value){"Content-Type", "application/json"};
    order->call = (struct dispatch_call){.method = "POST",
                                         .url = order->url,
                                         .headers = order->headers,
                                         .header_count = 2,
                                         .body = "{\"a\":1}",
                                         .body_length = 7,
                                         .connect_timeout = 10000,
                                         .timeout = 20000,
                                         .response_max = 100000,
                                         .done = on_done,
                                         .owner = &bench};
}

static void order_run(struct order *order)
{
    bench.left = 1;
    bench.dispatch->ops->start(bench.dispatch, &order->call);
    assert_int_equal(bench.left, 1); /* never from inside */
    loop_run(bench.loop);
}

static struct order *order_go(const char *path)
{
    static struct order order;
    order_make(&order, "127.0.0.1", rude_server_port(bench.server), path);
    if (strcmp(path, "/slow") == 0 || strcmp(path, "/silent") == 0)
        order.call.timeout = 1000; /* these end by it */
    order_run(&order);
    return &order;
}

static void dispatch_open(const struct dispatch_curl_options *options)
{
    struct error err = {0};
    if (dispatch_curl_create(bench.loop, options, &bench.dispatch, &err))
        fail_msg("%s", err.text);
}

static int setup(void **state)
{
    static const struct dispatch_curl_options options = {.user_agent = "carillon/test", .loopback_ok = true};
    const struct loop_options loop_options = {0};
    struct error err;
    (void)state;
    bench = (struct bench){0};
    bench.server = rude_server_start("127.0.0.1", 0);
    bench.server6 = rude_server_start("::1", 0);
    bench.shut = rude_server_start("127.0.0.1", 1);
    if (loop_create(&loop_options, &bench.loop, &err))
        return -1;
    dispatch_open(&options);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    bench.dispatch->ops->close(bench.dispatch);
    loop_free(bench.loop);
    rude_server_stop(bench.server);
    rude_server_stop(bench.shut);
    if (bench.server6)
        rude_server_stop(bench.server6);
    return 0;
}

static const struct {
    int row;
    const char *path;
    enum dispatch_end end;
    int status;
    const char *answer, *reason; /* reason: a piece of the text; NULL = none asked for */
} ends[] = {
    {__LINE__, "/ok", DISPATCH_ANSWERED, 200, "{\"ok\":1}", NULL},
    {__LINE__, "/nothing", DISPATCH_ANSWERED, 404, NULL, NULL},
    {__LINE__, "/close", DISPATCH_UNKNOWN, 0, NULL, ""},
    {__LINE__, "/reset", DISPATCH_UNKNOWN, 0, NULL, ""},
    {__LINE__, "/answer-reset", DISPATCH_ANSWERED, 200, "{\"ok\":1}", NULL},
    {__LINE__, "/half-head", DISPATCH_UNKNOWN, 200, NULL, ""},
    {__LINE__, "/half-body", DISPATCH_UNKNOWN, 200, NULL, ""},
    {__LINE__, "/half-chunk", DISPATCH_UNKNOWN, 200, NULL, ""},
    {__LINE__, "/slow", DISPATCH_TIMEOUT, 200, NULL, ""},
    {__LINE__, "/silent", DISPATCH_TIMEOUT, 0, NULL, ""},
    {__LINE__, "/interim", DISPATCH_ANSWERED, 200, "{\"ok\":1}", NULL},
    {__LINE__, "/endless-interim", DISPATCH_BAD_ANSWER, 103, NULL, "headers"},
    {__LINE__, "/endless-headers", DISPATCH_BAD_ANSWER, 200, NULL, "headers"},
    {__LINE__, "/long-header", DISPATCH_BAD_ANSWER, 200, NULL, "headers"},
    {__LINE__, "/big", DISPATCH_TOO_BIG, 200, NULL, "dispatch.max_response"},
    {__LINE__, "/big-chunked", DISPATCH_TOO_BIG, 200, NULL, "dispatch.max_response"},
    {__LINE__, "/gzip", DISPATCH_ANSWERED, 200, "\x1f\x8b\x08zzz", NULL},
    {__LINE__, "/garbage", DISPATCH_BAD_ANSWER, 0, NULL, ""},
    {__LINE__, "/chunk-garbage", DISPATCH_BAD_ANSWER, 200, NULL, "chunk"},
    {__LINE__, "/negative-length", DISPATCH_BAD_ANSWER, 200, NULL, ""},
    {__LINE__, "/no-length", DISPATCH_ANSWERED, 200, "until the end", NULL},
    {__LINE__, "/too-long", DISPATCH_ANSWERED, 200, "{}", NULL},
    {__LINE__, "/ok", DISPATCH_ANSWERED, 200, "{\"ok\":1}", NULL}, /* not the rest of the answer before */
    {__LINE__, "/redirect", DISPATCH_ANSWERED, 302, NULL, NULL},
    {__LINE__, "/switching", DISPATCH_BAD_ANSWER, 101, NULL, ""},
};

static void test_ends(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct order *order = order_go(ends[i].path);
        const struct dispatch_call *call = &order->call;
        if (call->end != ends[i].end || call->http_status != ends[i].status)
            fail_msg("row %d: end %d, status %d, \"%s\"", ends[i].row, call->end, call->http_status, call->error);
        if ((ends[i].answer && (!call->answer || strcmp(call->answer, ends[i].answer) != 0)) ||
            (!ends[i].answer && call->answer))
            fail_msg("row %d: answer %s", ends[i].row, call->answer ? call->answer : "none");
        if (ends[i].reason ? !strstr(call->error, ends[i].reason) || !call->error[0] : call->error[0] != '\0')
            fail_msg("row %d: \"%s\"", ends[i].row, call->error);
        if (call->bytes_sent < 50 || rude_server_deliveries(bench.server, order->key) != 1)
            fail_msg("row %d: %lld bytes, %d deliveries", ends[i].row, (long long)call->bytes_sent,
                     rude_server_deliveries(bench.server, order->key));
        dispatch_call_release(&order->call);
    }
    assert_int_equal(rude_server_most(bench.server), 1);
}

/* The same for methods and bodies that curl sends by other ways. */
static void test_dying_connections(void **state)
{
    static const struct {
        int row;
        const char *method;
        size_t body;
    } shapes[] = {{__LINE__, "POST", 7},      {__LINE__, "POST", 0},   {__LINE__, "GET", 0},
                  {__LINE__, "PUT", 100000},  {__LINE__, "DELETE", 0}, {__LINE__, "PATCH", 7},
                  {__LINE__, "POST", 200000}, {__LINE__, "HEAD", 0}};
    static char body[200000];
    (void)state;
    memset(body, 'b', sizeof body);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int kind = 0; kind < 2; kind++) {
            struct order first, second;
            order_make(&first, "127.0.0.1", rude_server_port(bench.server), kind ? "/die-after" : "/die-next");
            order_run(&first);
            assert_int_equal(first.call.end, DISPATCH_ANSWERED);
            dispatch_call_release(&first.call);
            order_make(&second, "127.0.0.1", rude_server_port(bench.server), "/ok");
            second.call.method = shapes[i].method;
            second.call.body = body;
            second.call.body_length = shapes[i].body;
            order_run(&second);
            int deliveries = rude_server_deliveries(bench.server, second.key);
            if (kind == 0 && (second.call.end != DISPATCH_UNKNOWN || deliveries != 1 || !second.call.reused_connection))
                fail_msg("row %d: end %d, %d deliveries, reused %d: %s", shapes[i].row, second.call.end, deliveries,
                         second.call.reused_connection, second.call.error);
            /* Closed while idle: whichever way the race goes, the truth is told. */
            if (kind == 1 && (deliveries > 1 || (second.call.end == DISPATCH_ANSWERED && deliveries != 1) ||
                              (second.call.end == DISPATCH_NOT_SENT && deliveries != 0)))
                fail_msg("row %d: end %d, %d deliveries: %s", shapes[i].row, second.call.end, deliveries,
                         second.call.error);
            dispatch_call_release(&second.call);
        }
    }
    assert_int_equal(rude_server_most(bench.server), 1);
}

static void test_not_sent(void **state)
{
    struct order order;
    static const struct {
        int row;
        const char *url, *reason;
    } bad[] = {{__LINE__, "http://127.0.0.1:1/x", ""},
               {__LINE__, "http://no-such-host.invalid/", "esolve"},
               {__LINE__, "ftp://127.0.0.1/", "only http and https"},
               {__LINE__, "file:///etc/passwd", ""},
               {__LINE__, "no url at all", "url"},
               {__LINE__, "http://169.254.169.254/latest/meta-data", "dispatch.allow"},
               {__LINE__, "http://[fd00:ec2::254]/", "dispatch.allow"},
               {__LINE__, "http://0.0.0.0:80/", "dispatch.allow"},
               {__LINE__, "http://2852039166/", "dispatch.allow"},
               {__LINE__, "http://[::ffff:169.254.169.254]/", "dispatch.allow"},
               {__LINE__, "https://127.0.0.1:%d/ok", ""}};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        order_make(&order, "127.0.0.1", 1, "/");
        if (strchr(bad[i].url, '%'))
            (void)snprintf(order.url, sizeof order.url, "https://127.0.0.1:%d/ok", rude_server_port(bench.server));
        else
            order.call.url = bad[i].url;
        order_run(&order);
        if (order.call.end != DISPATCH_NOT_SENT || !strstr(order.call.error, bad[i].reason) || !order.call.error[0] ||
            order.call.bytes_sent != 0)
            fail_msg("row %d: end %d, %lld bytes: %s", bad[i].row, order.call.end, (long long)order.call.bytes_sent,
                     order.call.error);
    }
    static const struct name_value evil[] = {{"X-A", "a\r\nX-B: b"}, {"X A", "a"}, {"Content-Length", "5"},
                                             {"X-A:", "b"},          {"", "x"},    {"Transfer-Encoding", "chunked"}};
    for (size_t i = 0; i < sizeof evil / sizeof *evil; i++) {
        order_make(&order, "127.0.0.1", rude_server_port(bench.server), "/ok");
        order.headers[1] = evil[i];
        order_run(&order);
        assert_int_equal(order.call.end, DISPATCH_NOT_SENT);
        assert_int_equal(rude_server_deliveries(bench.server, order.key), 0);
    }
}

/* Closed before a byte is read: whether anything arrived cannot be told, but nothing is sent again. */
static void test_closed_at_once(void **state)
{
    struct order order;
    (void)state;
    order_make(&order, "127.0.0.1", rude_server_port(bench.shut), "/ok");
    order_run(&order);
    assert_int_equal(order.call.end, DISPATCH_UNKNOWN);
    assert_null(order.call.answer);
}

static void test_details(void **state)
{
    struct order *order = order_go("/busy");
    char last[8192], expected[128];
    (void)state;
    assert_int_equal(order->call.http_status, 503);
    assert_int_equal(order->call.retry_after, 7000);
    order = order_go("/busy-date");
    assert_in_range(order->call.retry_after, 57000, 61000);
    order = order_go("/accepted");
    (void)snprintf(expected, sizeof expected, "http://127.0.0.1:%d/status/5?x=1", rude_server_port(bench.server));
    assert_string_equal(order->call.location, expected);
    order = order_go("/interim"); /* the hint's Location is not the answer's */
    assert_string_equal(order->call.location, "");
    assert_string_equal(order->call.content_type, "application/json");
    assert_int_equal(order->call.retry_after, -1);
    assert_true(order->call.connect_ms >= 0 && order->call.first_byte_ms >= 0 && order->call.total_ms >= 0);
    dispatch_call_release(&order->call);
    order = order_go("/ok?a=%20b/../c");
    assert_true(order->call.reused_connection);
    rude_server_last(bench.server, last, sizeof last);
    assert_non_null(strstr(last, "POST /ok?a=%20b/../c HTTP/1.1\r\n"));
    assert_non_null(strstr(last, "User-Agent: carillon/test\r\n"));
    assert_non_null(strstr(last, "Content-Length: 7\r\n"));
    assert_null(strstr(last, "Accept-Encoding"));
    assert_null(strstr(last, "Accept:"));
    assert_null(strstr(last, "Expect"));
    assert_int_equal(order->call.bytes_sent, strlen(last));
    dispatch_call_release(&order->call);
}

static void test_ipv6(void **state)
{
    struct order order;
    (void)state;
    if (!bench.server6) {
        print_message("skipped: this machine has no ::1\n");
        skip();
    }
    order_make(&order, "[::1]", rude_server_port(bench.server6), "/ok");
    order_run(&order);
    assert_int_equal(order.call.end, DISPATCH_ANSWERED);
    dispatch_call_release(&order.call);
}

static struct loop_timer *cancel_timer;

static void cancel_task(void *context)
{
    struct order *order = context;
    if (rude_server_deliveries(bench.server, order->key) == 0) { /* not there yet */
        loop_timer_start(cancel_timer, 20);
        return;
    }
    bench.dispatch->ops->cancel(bench.dispatch, &order->call);
    bench.dispatch->ops->cancel(bench.dispatch, &order->call); /* harmless */
    assert_int_equal(bench.left, 1);
}

static void test_cancel(void **state)
{
    struct order order;
    (void)state;
    order_make(&order, "127.0.0.1", rude_server_port(bench.server), "/silent");
    cancel_timer = loop_timer_create(bench.loop, cancel_task, &order);
    loop_timer_start(cancel_timer, 20);
    order_run(&order);
    assert_int_equal(order.call.end, DISPATCH_CANCELED);
    assert_true(order.call.bytes_sent > 0);
    assert_int_equal(bench.dispatch->ops->in_flight(bench.dispatch), 0);
    loop_timer_free(cancel_timer);
}

/* All at once on one thread: the server answers none before all have arrived. */
static void test_many(void **state)
{
    struct order *orders = mem_alloc(CALLS_MAX * sizeof *orders);
    (void)state;
    rude_server_hold(bench.server, CALLS_MAX);
    bench.left = CALLS_MAX;
    for (int i = 0; i < CALLS_MAX; i++) {
        order_make(&orders[i], "127.0.0.1", rude_server_port(bench.server), "/hold");
        orders[i].call.timeout = 60000;
        orders[i].call.connect_timeout = 30000;
        bench.dispatch->ops->start(bench.dispatch, &orders[i].call);
    }
    assert_int_equal(bench.dispatch->ops->in_flight(bench.dispatch), CALLS_MAX);
    loop_run(bench.loop);
    assert_int_equal(rude_server_held(bench.server), CALLS_MAX);
    for (int i = 0; i < CALLS_MAX; i++) {
        if (orders[i].call.end != DISPATCH_ANSWERED)
            fail_msg("call %d: %s", i, orders[i].call.error);
        dispatch_call_release(&orders[i].call);
    }
    assert_int_equal(rude_server_most(bench.server), 1);
    free(orders);
}

static void test_queue(void **state)
{
    enum { COUNT = 12 };
    static const struct dispatch_curl_options narrow = {.loopback_ok = true, .max_in_flight = 2, .max_queue = 8};
    struct dispatch *wide = bench.dispatch;
    struct order orders[COUNT];
    int answered = 0, refused = 0, canceled = 0, late = 0;
    (void)state;
    dispatch_open(&narrow);
    rude_server_hold(bench.server, 1 << 30);
    bench.left = COUNT;
    for (int i = 0; i < COUNT; i++) {
        order_make(&orders[i], "127.0.0.1", rude_server_port(bench.server), "/pause");
        orders[i].call.timeout = i == 8 ? 10 : 5000; /* will have waited too long */
        bench.dispatch->ops->start(bench.dispatch, &orders[i].call);
    }
    bench.dispatch->ops->cancel(bench.dispatch, &orders[6].call);
    loop_run(bench.loop);
    for (int i = 0; i < COUNT; i++) {
        const struct dispatch_call *call = &orders[i].call;
        answered += call->end == DISPATCH_ANSWERED;
        canceled += call->end == DISPATCH_CANCELED;
        refused += call->end == DISPATCH_NOT_SENT && strstr(call->error, "too many calls") != NULL;
        late += call->end == DISPATCH_NOT_SENT && strstr(call->error, "waited too long") != NULL;
        dispatch_call_release(&orders[i].call);
    }
    assert_int_equal(answered, 8);
    assert_int_equal(canceled, 1);
    assert_int_equal(refused, 2);
    assert_int_equal(late, 1);
    assert_true(rude_server_held(bench.server) <= 2);
    bench.dispatch->ops->close(bench.dispatch);
    bench.dispatch = wide;
}

/* close ends what is under way, with done for each. */
/* What was begun before the process stood still is not sent after it; what comes later is. */
static void test_overslept(void **state)
{
    static const struct dispatch_curl_options wary = {.loopback_ok = true, .pause_max = 200};
    static const struct dispatch_curl_options options = {.user_agent = "carillon/test", .loopback_ok = true};
    const struct timespec still = {.tv_nsec = 500000000};
    struct order order;
    (void)state;
    bench.dispatch->ops->close(bench.dispatch);
    dispatch_open(&wary);
    for (int round = 0; round < 2; round++) { /* without, then with a connection that is kept alive */
        order_make(&order, "127.0.0.1", rude_server_port(bench.server), "/ok");
        bench.left = 1;
        bench.dispatch->ops->start(bench.dispatch, &order.call);
        (void)nanosleep(&still, NULL);
        loop_run(bench.loop);
        assert_int_equal(order.call.end, DISPATCH_NOT_SENT);
        assert_int_equal(order.call.bytes_sent, 0);
        assert_non_null(strstr(order.call.error, "stood still"));
        assert_int_equal(rude_server_deliveries(bench.server, order.key), 0);
        struct order *later = order_go("/ok");
        assert_int_equal(later->call.end, DISPATCH_ANSWERED);
        dispatch_call_release(&later->call);
    }
    bench.dispatch->ops->close(bench.dispatch);
    dispatch_open(&options);
}

static void test_close(void **state)
{
    static const struct dispatch_curl_options narrow = {.loopback_ok = true, .max_in_flight = 2};
    struct dispatch *wide = bench.dispatch;
    struct order orders[4];
    (void)state;
    dispatch_open(&narrow);
    bench.left = 4;
    for (int i = 0; i < 4; i++) {
        order_make(&orders[i], "127.0.0.1", rude_server_port(bench.server), "/silent");
        bench.dispatch->ops->start(bench.dispatch, &orders[i].call);
    }
    bench.dispatch->ops->close(bench.dispatch);
    assert_int_equal(bench.left, 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(orders[i].call.end, DISPATCH_CANCELED);
    bench.dispatch = wide;
    loop_run(bench.loop); /* the stop that on_done asked for */
}

static void test_rules_of_calls(void **state)
{
    char here[64];
    struct order order;
    struct dispatch *wide = bench.dispatch;
    const struct {
        int row;
        const char *allow, *deny, *own, *host;
        bool loopback_ok;
        enum dispatch_end end;
        const char *reason;
    } rows[] = {
        {__LINE__, NULL, NULL, NULL, "127.0.0.1", false, DISPATCH_NOT_SENT, "dispatch.allow"},
        {__LINE__, here, NULL, NULL, "127.0.0.1", false, DISPATCH_ANSWERED, ""},
        {__LINE__, "127.0.0.0/8", NULL, NULL, "127.0.0.1", false, DISPATCH_ANSWERED, ""},
        {__LINE__, NULL, NULL, here, "127.0.0.1", true, DISPATCH_NOT_SENT, "this platform itself"},
        {__LINE__, here, NULL, here, "127.0.0.1", true, DISPATCH_NOT_SENT, "this platform itself"},
        {__LINE__, NULL, "127.0.0.1", NULL, "127.0.0.1", true, DISPATCH_NOT_SENT, "dispatch.deny"},
        {__LINE__, "localhost", NULL, NULL, "localhost", false, DISPATCH_ANSWERED, ""},
        {__LINE__, NULL, NULL, NULL, "localhost", false, DISPATCH_NOT_SENT, "dispatch.allow"},
        {__LINE__, NULL, "localhost", NULL, "LOCALHOST", true, DISPATCH_NOT_SENT, "dispatch.deny"},
    };
    (void)state;
    (void)snprintf(here, sizeof here, "10.0.0.1, 127.0.0.1:%d", rude_server_port(bench.server));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct dispatch_curl_options options = {
            .allow = rows[i].allow, .deny = rows[i].deny, .own = rows[i].own, .loopback_ok = rows[i].loopback_ok};
        if (rows[i].own)
            (void)memmove(here, strchr(here, '1') + 10, 1 + strlen(strchr(here, '1') + 10));
        dispatch_open(&options);
        order_make(&order, rows[i].host, rude_server_port(bench.server), "/ok");
        order_run(&order);
        if (order.call.end != rows[i].end || !strstr(order.call.error, rows[i].reason))
            fail_msg("row %d: end %d: %s", rows[i].row, order.call.end, order.call.error);
        dispatch_call_release(&order.call);
        bench.dispatch->ops->close(bench.dispatch);
        if (rows[i].own)
            (void)snprintf(here, sizeof here, "10.0.0.1, 127.0.0.1:%d", rude_server_port(bench.server));
    }
    bench.dispatch = wide;
}

static void test_addresses(void **state)
{
    static const struct {
        int row;
        const char *ip;
        bool refused;
    } rows[] = {{__LINE__, "10.1.2.3", false},
                {__LINE__, "192.168.0.1", false},
                {__LINE__, "172.16.0.1", false},
                {__LINE__, "100.64.0.1", false},
                {__LINE__, "93.184.216.34", false},
                {__LINE__, "169.254.1.1", true},
                {__LINE__, "224.0.0.1", true},
                {__LINE__, "255.255.255.255", true},
                {__LINE__, "240.1.1.1", true},
                {__LINE__, "0.0.0.0", true},
                {__LINE__, "127.0.0.1", true},
                {__LINE__, "127.9.9.9", true},
                {__LINE__, "198.19.255.1", true},
                {__LINE__, "198.20.0.1", false},
                {__LINE__, "100.100.100.200", true},
                {__LINE__, "::1", true},
                {__LINE__, "::", true},
                {__LINE__, "fe80::1", true},
                {__LINE__, "febf::1", true},
                {__LINE__, "ff02::1", true},
                {__LINE__, "fd00::1", false},
                {__LINE__, "fd00:ec2::254", true},
                {__LINE__, "2001:db8::1", true},
                {__LINE__, "2a00:1450::1", false},
                {__LINE__, "::ffff:127.0.0.1", true},
                {__LINE__, "::ffff:10.0.0.1", false},
                {__LINE__, "64:ff9b::a9fe:a9fe", true},
                {__LINE__, "64:ff9b::a00:1", false},
                {__LINE__, "2002:7f00:1::1", true},
                {__LINE__, "::127.0.0.1", true}};
    struct address_rules *rules = NULL;
    (void)state;
    assert_int_equal(address_rules_create(&(struct address_options){0}, &rules, NULL), STATUS_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(80)};
        struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(80)};
        const void *address =
            inet_pton(AF_INET, rows[i].ip, &in.sin_addr) == 1 ? (const void *)&in : (const void *)&in6;
        if (address == &in6)
            assert_int_equal(inet_pton(AF_INET6, rows[i].ip, &in6.sin6_addr), 1);
        const char *why = address_check(rules, address, false);
        if ((why != NULL) != rows[i].refused)
            fail_msg("row %d: %s: %s", rows[i].row, rows[i].ip, why ? why : "allowed");
    }
    address_rules_free(rules);
    static const char *const bad[] = {"10.0.0.0/33", "10.0.0.1:0", "10.0.0.1:99999", "[::1",
                                      "exa mple!",   "host/8",     "::1/129",        "10.0.0.1:x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct error err = {0};
        if (address_rules_create(&(struct address_options){.allow = bad[i]}, &rules, &err) != STATUS_INVALID ||
            !strstr(err.text, "dispatch.allow"))
            fail_msg("\"%s\" was taken: %s", bad[i], err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ends),           cmocka_unit_test(test_dying_connections),
                                       cmocka_unit_test(test_not_sent),       cmocka_unit_test(test_details),
                                       cmocka_unit_test(test_closed_at_once), cmocka_unit_test(test_ipv6),
                                       cmocka_unit_test(test_cancel),         cmocka_unit_test(test_queue),
                                       cmocka_unit_test(test_overslept),      cmocka_unit_test(test_close),
                                       cmocka_unit_test(test_many),           cmocka_unit_test(test_rules_of_calls),
                                       cmocka_unit_test(test_addresses)};
    return cmocka_run_group_tests_name("dispatch", tests, setup, teardown);
}
