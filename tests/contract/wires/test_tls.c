/* TLS on both ends: the server with a certificate of its own, the client that verifies it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapters/curl/dispatch_curl.h"
#include "adapters/http/http_server.h"
#include "adapters/loop/loop.h"
#include "tests/contract/wires/harness.h"

static char folder[] = "/tmp/carillon-tls-XXXXXX";
static char certificate[100], key[100], other_key[100];
static bool made;

static int setup(void **state)
{
    char command[600];
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(certificate, sizeof certificate, "%s/cert.pem", folder);
    (void)snprintf(key, sizeof key, "%s/key.pem", folder);
    (void)snprintf(other_key, sizeof other_key, "%s/other.pem", folder);
    (void)snprintf(command, sizeof command,
                   "openssl req -x509 -newkey rsa:2048 -nodes -keyout %s -out %s -days 2 -subj /CN=test "
                   "-addext subjectAltName=IP:127.0.0.1 2>/dev/null && openssl genrsa -out %s 2048 2>/dev/null",
                   key, certificate, other_key);
    made = system(command) == 0; // NOLINT(cert-env33-c): fixed command of a test
    if (!made)
        print_message("skipped: the openssl command is needed to make a certificate\n");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)unlink(certificate);
    (void)unlink(key);
    (void)unlink(other_key);
    return rmdir(folder);
}

static void handle(void *context, const struct http_request *request, struct http_response *response)
{
    (void)context;
    str_addf(&response->body, "{\"length\":%zu}", request->body_length);
}

static void on_done(struct dispatch_call *call)
{
    loop_stop(call->owner);
}

static struct dispatch_call call_go(const char *ca_file, const char *url)
{
    const struct loop_options none = {0};
    const struct dispatch_curl_options options = {.loopback_ok = true, .ca_file = ca_file};
    struct loop *loop = NULL;
    struct dispatch *dispatch = NULL;
    struct error err;
    assert_int_equal(loop_create(&none, &loop, &err), STATUS_OK);
    assert_int_equal(dispatch_curl_create(loop, &options, &dispatch, &err), STATUS_OK);
    struct dispatch_call call = {.method = "POST",
                                 .url = url,
                                 .body = "hello",
                                 .body_length = 5,
                                 .connect_timeout = 5000,
                                 .timeout = 5000,
                                 .response_max = 1000,
                                 .done = on_done,
                                 .owner = loop};
    dispatch->ops->start(dispatch, &call);
    loop_run(loop);
    dispatch->ops->close(dispatch);
    loop_free(loop);
    return call;
}

static void test_verified(void **state)
{
    struct http_server_options options = {
        .listen = "127.0.0.1:0", .tls_cert_file = certificate, .tls_key_file = key, .threads = 1, .handler = handle};
    struct http_server *server = NULL;
    struct error err = {0};
    char url[100];
    (void)state;
    if (!made)
        skip();
    if (http_server_start(&options, &server, &err))
        fail_msg("%s", err.text);
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%d/x", http_server_port(server));
    struct dispatch_call call = call_go(certificate, url);
    assert_int_equal(call.end, DISPATCH_ANSWERED);
    assert_string_equal(call.answer, "{\"length\":5}");
    dispatch_call_release(&call);
    /* Nobody vouches for it: nothing is sent. */
    call = call_go(NULL, url);
    assert_int_equal(call.end, DISPATCH_NOT_SENT);
    assert_int_equal(call.bytes_sent, 0);
    assert_non_null(strstr(call.error, "certificate"));
    /* Plain HTTP to a TLS port is no answer. */
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%d/x", http_server_port(server));
    call = call_go(NULL, url);
    assert_true(call.end == DISPATCH_UNKNOWN || call.end == DISPATCH_BAD_ANSWER);
    http_server_stop(server);
}

static void test_wrong_files(void **state)
{
    struct http_server_options options = {.listen = "127.0.0.1:0",
                                          .tls_cert_file = certificate,
                                          .tls_key_file = other_key,
                                          .threads = 1,
                                          .handler = handle};
    struct http_server *server = NULL;
    struct error err = {0};
    (void)state;
    if (!made)
        skip();
    assert_int_equal(http_server_start(&options, &server, &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, "server.tls_cert"));
    options.tls_key_file = certificate;
    assert_int_equal(http_server_start(&options, &server, &err), STATUS_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_verified), cmocka_unit_test(test_wrong_files)};
    return cmocka_run_group_tests_name("tls", tests, setup, teardown);
}
