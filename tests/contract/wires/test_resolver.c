/* Names of calls: looked up once for all that wait, never holding up the loop. */
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapters/curl/dispatch_curl.h"
#include "adapters/curl/resolver.h"
#include "adapters/loop/loop.h"
#include "core/base/mem.h"
#include "tests/contract/wires/harness.h"
#include "tests/contract/wires/rude_server.h"

#define WAITS 500

static const struct {
    int row;
    const char *url, *host; /* host NULL: nothing to look up */
    int port;
} urls[] = {
    {__LINE__, "http://db.internal/x", "db.internal", 80},
    {__LINE__, "https://DB.Internal", "db.internal", 443},
    {__LINE__, "http://executor-1:8080?x", "executor-1", 8080},
    {__LINE__, "HTTP://a_b:1/", "a_b", 1},
    {__LINE__, "http://127.0.0.1/x", NULL, 0},
    {__LINE__, "http://1.2.3.4:80", NULL, 0},
    {__LINE__, "http://2130706433/", NULL, 0},
    {__LINE__, "http://[::1]:80/", NULL, 0},
    {__LINE__, "http://localhost:80/", NULL, 0},
    {__LINE__, "http://a.localhost/", NULL, 0},
    {__LINE__, "http://user@host/", NULL, 0},
    {__LINE__, "http://user:pw@host/", NULL, 0},
    {__LINE__, "http://host:0/", NULL, 0},
    {__LINE__, "http://host:99999/", NULL, 0},
    {__LINE__, "http://host:80x/", NULL, 0},
    {__LINE__, "http://host./", NULL, 0},
    {__LINE__, "http://h%6fst/", NULL, 0},
    {__LINE__, "http:///x", NULL, 0},
    {__LINE__, "ftp://host/", NULL, 0},
    {__LINE__, "host", NULL, 0},
};

static void test_urls(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        char host[256] = "";
        int port = 0;
        bool found = resolver_url_host(urls[i].url, host, sizeof host, &port);
        if (found != (urls[i].host != NULL) || (found && (strcmp(host, urls[i].host) != 0 || port != urls[i].port)))
            fail_msg("row %d: %s %d", urls[i].row, host, port);
    }
    char small[4];
    int port;
    assert_false(resolver_url_host("http://long-name/", small, sizeof small, &port));
}

struct waiter {
    struct resolver_wait wait;
    struct loop *loop;
    int *left;
    bool failed, told;
};

static void on_resolved(struct resolver_wait *wait, const char *error)
{
    struct waiter *waiter = (struct waiter *)(void *)wait; /* the first member */
    waiter->failed = error != NULL;
    waiter->told = true;
    if (--*waiter->left == 0)
        loop_stop(waiter->loop);
}

static struct loop *loop_make(void)
{
    const struct loop_options options = {0};
    struct loop *loop = NULL;
    struct error err;
    assert_int_equal(loop_create(&options, &loop, &err), STATUS_OK);
    return loop;
}

/* A name of this machine that needs a lookup; NULL: it has none. */
static const char *own_name(void)
{
    static char name[256];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG, .ai_family = AF_INET},
                    *found = NULL;
    char url[300], host[256];
    int port;
    if (gethostname(name, sizeof name) || getaddrinfo(name, NULL, &hints, &found))
        return NULL;
    freeaddrinfo(found);
    (void)snprintf(url, sizeof url, "http://%s/", name);
    if (!resolver_url_host(url, host, sizeof host, &port))
        return NULL;
    memcpy(name, host, sizeof host);
    return name;
}

static void test_waits(void **state)
{
    struct loop *loop = loop_make();
    struct resolver *resolver = resolver_create(loop);
    struct waiter *waiters = mem_alloc((WAITS + 2) * sizeof *waiters);
    int left = WAITS;
    (void)state;
    for (int i = 0; i < WAITS + 2; i++)
        waiters[i] = (struct waiter){.wait.done = on_resolved, .loop = loop, .left = &left};
    const char *name = own_name();
    /* Half of them to a name that does not exist, half to one that does. */
    for (int i = 0; i < WAITS; i++)
        resolver_await(resolver, i % 2 || !name ? "no-such-host.invalid" : name, &waiters[i].wait);
    resolver_await(resolver, "no-such-host.invalid", &waiters[WAITS].wait);
    resolver_leave(&waiters[WAITS].wait);
    resolver_leave(&waiters[WAITS].wait); /* harmless */
    assert_int_equal(left, WAITS);
    loop_run(loop);
    assert_false(waiters[WAITS].told);
    for (int i = 0; i < WAITS; i++)
        assert_true(waiters[i].told && waiters[i].failed == (i % 2 || !name));
    if (name) {
        assert_non_null(resolver_find(resolver, name));
        assert_true(strlen(resolver_find(resolver, name)) >= 3);
    }
    assert_null(resolver_find(resolver, "no-such-host.invalid"));
    /* Lookups under way do not hold up the end. */
    for (int i = 0; i < 100; i++) {
        char other[40];
        (void)snprintf(other, sizeof other, "host-%d.invalid", i);
        waiters[0].wait.name = NULL;
        resolver_await(resolver, other, &waiters[0].wait);
        resolver_leave(&waiters[0].wait);
    }
    resolver_free(resolver);
    loop_free(loop);
    free(waiters);
}

struct named_call {
    struct dispatch_call call;
    struct loop *loop;
    int *left;
};

static void on_done(struct dispatch_call *call)
{
    struct named_call *named = call->owner;
    if (--*named->left == 0)
        loop_stop(named->loop);
}

/* Whole calls by name: two hundred at once, and one canceled while its name is looked up. */
static void test_calls(void **state)
{
    enum { COUNT = 200 };
    const struct dispatch_curl_options options = {.loopback_ok = true};
    const char *name = own_name();
    struct named_call *calls = mem_alloc(COUNT * sizeof *calls);
    struct dispatch *dispatch = NULL;
    char url[400];
    int left = COUNT, port;
    (void)state;
    struct addrinfo hints = {.ai_family = AF_INET}, *found = NULL;
    char address[64] = "";
    if (name && getaddrinfo(name, NULL, &hints, &found) == 0)
        (void)getnameinfo(found->ai_addr, found->ai_addrlen, address, sizeof address, NULL, 0, NI_NUMERICHOST);
    bool loopback = strncmp(address, "127.", 4) == 0;
    if (found)
        freeaddrinfo(found);
    if (!loopback) {
        print_message("skipped: the name of this machine does not resolve to a loopback address\n");
        free(calls);
        skip();
    }
    struct loop *loop = loop_make();
    struct rude_server *server = rude_server_start(address, 0);
    assert_non_null(server);
    port = rude_server_port(server);
    (void)snprintf(url, sizeof url, "http://%s:%d/ok", name, port);
    assert_int_equal(dispatch_curl_create(loop, &options, &dispatch, NULL), STATUS_OK);
    for (int i = 0; i < COUNT; i++) {
        calls[i] = (struct named_call){.loop = loop, .left = &left};
        calls[i].call = (struct dispatch_call){.method = "GET",
                                               .url = url,
                                               .connect_timeout = 5000,
                                               .timeout = 10000,
                                               .response_max = 1000,
                                               .done = on_done,
                                               .owner = &calls[i]};
        dispatch->ops->start(dispatch, &calls[i].call);
    }
    assert_int_equal(dispatch->ops->in_flight(dispatch), COUNT);
    dispatch->ops->cancel(dispatch, &calls[7].call);
    loop_run(loop);
    for (int i = 0; i < COUNT; i++) {
        if (calls[i].call.end != (i == 7 ? DISPATCH_CANCELED : DISPATCH_ANSWERED))
            fail_msg("call %d: %d %s", i, calls[i].call.end, calls[i].call.error);
        dispatch_call_release(&calls[i].call);
    }
    assert_int_equal(rude_server_total(server), COUNT - 1);
    dispatch->ops->close(dispatch);
    loop_free(loop);
    rude_server_stop(server);
    free(calls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_urls), cmocka_unit_test(test_waits),
                                       cmocka_unit_test(test_calls)};
    return cmocka_run_group_tests_name("resolver", tests, NULL, NULL);
}
