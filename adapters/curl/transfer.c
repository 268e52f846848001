#include "adapters/curl/transfer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapters/curl/addresses.h"
#include "adapters/curl/transfer_parts.h"
#include "adapters/loop/loop.h"
#include "core/base/mem.h"

#define INITIAL_POST ((size_t)64 << 10) /* up to here curl sends head and body in one piece, and counts them so */
#define KEEP_IDLE_SECONDS 1L            /* reuse of a connection that was idle longer; see manners_setup */

/* ---- callbacks ----------------------------------------------------------------------------------------------------
 */

void transfer_context_beat(struct transfer_context *context)
{
    mono now = loop_clock().mono;
    if (context->pause_max > 0 && mono_sub(now, context->beat) > context->pause_max)
        context->paused_at = now;
    context->beat = now;
}

/* Called by curl right before it sends, every time it does. A second time means that curl wants to repeat the request
 * on a fresh connection because the kept one died: the first copy may have arrived, so that must not happen. */
static int on_start(void *context, char *ip, char *local_ip, int port, int local_port)
{
    struct transfer *transfer = context;
    long connects = 0;
    (void)ip;
    (void)local_ip;
    (void)port;
    (void)local_port;
    transfer_context_beat(transfer->shared);
    if (transfer->starts == 0 && mono_cmp(transfer->began, transfer->shared->paused_at) < 0) {
        transfer->overslept = true;
        return CURL_PREREQFUNC_ABORT;
    }
    if (++transfer->starts > 1)
        return CURL_PREREQFUNC_ABORT;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_NUM_CONNECTS, &connects);
    transfer->reused = connects == 0;
    return CURL_PREREQFUNC_OK;
}

static curl_socket_t on_open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct transfer *transfer = context;
    (void)purpose;
    const char *why = address_check(transfer->shared->rules, &address->addr, transfer->name_allowed);
    if (why) {
        /* libcurl's room for an address is larger than the member's type says. */
        const char *bytes = (const char *)address + offsetof(struct curl_sockaddr, addr);
        transfer->refused = why;
        if (address->family == AF_INET) {
            struct sockaddr_in in;
            memcpy(&in, bytes, sizeof in);
            (void)inet_ntop(AF_INET, &in.sin_addr, transfer->refused_ip, sizeof transfer->refused_ip);
        } else {
            struct sockaddr_in6 in6;
            memcpy(&in6, bytes, sizeof in6);
            (void)inet_ntop(AF_INET6, &in6.sin6_addr, transfer->refused_ip, sizeof transfer->refused_ip);
        }
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* A dead peer is noticed within a minute: three probes ten seconds apart after half a minute of silence, and sent bytes
 * that nobody acknowledges for a minute. */
static int on_socket_options(void *context, curl_socket_t fd, curlsocktype purpose)
{
    static const struct {
        int level, name, value;
    } options[] = {{SOL_SOCKET, SO_KEEPALIVE, 1},
                   {IPPROTO_TCP, TCP_KEEPIDLE, 30},
                   {IPPROTO_TCP, TCP_KEEPINTVL, 10},
                   {IPPROTO_TCP, TCP_KEEPCNT, 3},
                   {IPPROTO_TCP, TCP_USER_TIMEOUT, 60000}};
    (void)context;
    (void)purpose;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        (void)setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof options[i].value);
    return CURL_SOCKOPT_OK;
}

/* ---- the handle ---------------------------------------------------------------------------------------------------
 */

static void guard_setup(struct transfer *transfer)
{
    CURL *easy = transfer->easy;
    (void)curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
    (void)curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_start);
    (void)curl_easy_setopt(easy, CURLOPT_PREREQDATA, transfer);
    (void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
    (void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, transfer);
    (void)curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_socket_options);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, transfer_on_header);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, transfer_on_body);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->error);
}

/* Only what we ask for: no redirects, proxies of the environment, cookies, decompression, other protocols.
 * A connection that was idle for more than a second or two is not used again: common servers close theirs after 2–5
 * seconds, and a request that meets the closing ends with an unknown outcome. At high rates connections are never idle
 * that long. QUICK_EXIT: a slow name lookup must not hold up the loop when its transfer is taken away. */
static void manners_setup(const struct transfer *transfer)
{
    CURL *easy = transfer->easy;
    const struct transfer_context *shared = transfer->shared;
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    (void)curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_easy_setopt(easy, CURLOPT_PROXY, "");
    (void)curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    (void)curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, KEEP_IDLE_SECONDS);
    (void)curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_USERAGENT, shared->user_agent);
    if (shared->ca_file && *shared->ca_file)
        (void)curl_easy_setopt(easy, CURLOPT_CAINFO, shared->ca_file);
}

struct transfer *transfer_create(struct transfer_context *shared)
{
    struct transfer *transfer = mem_new(struct transfer);
    transfer->shared = shared;
    transfer->easy = curl_easy_init();
    transfer->url = curl_url();
    if (!transfer->easy || !transfer->url) {
        transfer_free(transfer);
        return NULL;
    }
    guard_setup(transfer);
    manners_setup(transfer);
    return transfer;
}

void transfer_free(struct transfer *transfer)
{
    if (!transfer)
        return;
    curl_easy_cleanup(transfer->easy);
    curl_url_cleanup(transfer->url);
    curl_slist_free_all(transfer->headers);
    curl_slist_free_all(transfer->resolved);
    str_release(&transfer->body);
    free(transfer);
}

bool transfer_refuse(struct dispatch_call *call, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(call->error, sizeof call->error, format, args);
    va_end(args);
    return false;
}

/* ---- how it ended -------------------------------------------------------------------------------------------------
 */

static int64_t bytes_sent(const struct transfer *transfer)
{
    long head = 0;
    curl_off_t body = 0;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_REQUEST_SIZE, &head);
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_SIZE_UPLOAD_T, &body);
    return transfer->call->body_length < INITIAL_POST ? head : head + body;
}

static int32_t time_ms(const struct transfer *transfer, CURLINFO which)
{
    curl_off_t us = 0;
    (void)curl_easy_getinfo(transfer->easy, which, &us);
    int64_t ms = us / 1000;
    return ms > INT32_MAX ? INT32_MAX : (int32_t)ms;
}

static void times_fill(const struct transfer *transfer, long status)
{
    struct dispatch_call *call = transfer->call;
    int32_t connect = time_ms(transfer, CURLINFO_CONNECT_TIME_T), tls = time_ms(transfer, CURLINFO_APPCONNECT_TIME_T);
    call->connect_ms = transfer->starts == 0 ? -1 : tls > connect ? tls : connect;
    call->first_byte_ms = status > 0 ? time_ms(transfer, CURLINFO_STARTTRANSFER_TIME_T) : -1;
    call->total_ms = time_ms(transfer, CURLINFO_TOTAL_TIME_T);
}

/* Codes that say "an answer came, but it is not HTTP as it should be". */
static bool is_bad_answer(CURLcode code, const char *error)
{
    static const CURLcode bad[] = {CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_CONTENT_ENCODING,
                                   CURLE_FILESIZE_EXCEEDED, CURLE_OUT_OF_MEMORY /* a header line past curl's limit */};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (code == bad[i])
            return true;
    }
    return code == CURLE_RECV_ERROR && strstr(error, "chunked-encoding"); /* the only trace of broken chunks */
}

static enum dispatch_end end_classify(const struct transfer *transfer, CURLcode code, long status)
{
    if (transfer->too_big)
        return DISPATCH_TOO_BIG;
    if (transfer->flooded || transfer->misframed)
        return DISPATCH_BAD_ANSWER;
    if (code == CURLE_OK && !transfer->head_whole) /* curl is content when the connection ends within the headers */
        return DISPATCH_UNKNOWN;
    if (code == CURLE_OK)
        return status < 200 || status > 599 ? DISPATCH_BAD_ANSWER : DISPATCH_ANSWERED;
    if (transfer->starts == 0)
        return DISPATCH_NOT_SENT;
    if (code == CURLE_OPERATION_TIMEDOUT)
        return DISPATCH_TIMEOUT;
    if (transfer->starts == 1 && (status == 101 || is_bad_answer(code, transfer->error)))
        return DISPATCH_BAD_ANSWER;
    return DISPATCH_UNKNOWN;
}

static void error_fill(const struct transfer *transfer, CURLcode code, long status)
{
    struct dispatch_call *call = transfer->call;
    const char *reason = transfer->error[0] ? transfer->error : curl_easy_strerror(code);
    call->error[0] = '\0';
    if (transfer->too_big)
        (void)transfer_refuse(
            call,
            "the answer is larger than %zu bytes (dispatch.max_response), or answers under way fill the memory set apart for them",
            transfer->body.maximum);
    else if (transfer->flooded || (code == CURLE_OUT_OF_MEMORY && call->end == DISPATCH_BAD_ANSWER))
        (void)transfer_refuse(call, "the headers of the answer are larger than %zu bytes", TRANSFER_HEADERS_MAX);
    else if (transfer->misframed)
        (void)transfer_refuse(call, "the answer cannot be read: %s", transfer->misframed);
    else if (call->end == DISPATCH_BAD_ANSWER && (code == CURLE_OK || status == 101))
        (void)transfer_refuse(call, "the answer ends with status %ld, which is no final status", status);
    else if (transfer->overslept)
        (void)transfer_refuse(call, "this process stood still before the request could be sent: it was not sent");
    else if (transfer->refused && transfer->starts == 0)
        (void)transfer_refuse(call, "calls to %s are refused: it is %s%s", transfer->refused_ip, transfer->refused,
                              transfer->refused == address_own ? "" : " (exceptions: setting dispatch.allow)");
    else if (transfer->starts > 1)
        (void)transfer_refuse(call, "the kept connection died before an answer came; the request is not sent twice");
    else if (code != CURLE_OK)
        (void)transfer_refuse(call, "%s", reason);
    else if (call->end == DISPATCH_UNKNOWN)
        (void)transfer_refuse(call, "the connection was closed within the headers of the answer");
}

/* Relative status URLs are made whole with the URL that was called. */
static void location_fill(const struct transfer *transfer)
{
    struct dispatch_call *call = transfer->call;
    char *whole = NULL;
    call->location[0] = '\0';
    if (!transfer->location[0])
        return;
    CURLU *url = curl_url_dup(transfer->url);
    if (url && !curl_url_set(url, CURLUPART_URL, transfer->location, CURLU_PATH_AS_IS) &&
        !curl_url_get(url, CURLUPART_URL, &whole, 0) && strlen(whole) < sizeof call->location)
        memcpy(call->location, whole, strlen(whole) + 1);
    curl_free(whole);
    curl_url_cleanup(url);
}

static void transfer_forget(struct transfer *transfer)
{
    transfer->shared->body_bytes -= transfer->body.length;
    str_release(&transfer->body);
    curl_slist_free_all(transfer->headers);
    curl_slist_free_all(transfer->resolved);
    transfer->headers = transfer->resolved = NULL;
    (void)curl_easy_setopt(transfer->easy, CURLOPT_RESOLVE, NULL);
    (void)curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, NULL);
    (void)curl_easy_setopt(transfer->easy, CURLOPT_POSTFIELDS, NULL);
    (void)curl_easy_setopt(transfer->easy, CURLOPT_CURLU, NULL);
    transfer->multi = NULL;
    transfer->call = NULL;
}

void transfer_finish(struct transfer *transfer, CURLcode code)
{
    struct dispatch_call *call = transfer->call;
    long status = 0;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    call->end = end_classify(transfer, code, status);
    call->http_status = (int)status;
    call->bytes_sent = transfer->starts > 0 ? bytes_sent(transfer) : 0;
    call->reused_connection = transfer->reused;
    times_fill(transfer, status);
    error_fill(transfer, code, status);
    location_fill(transfer);
    if (call->end == DISPATCH_ANSWERED) {
        size_t length = transfer->body.length;
        transfer->shared->body_bytes -= length;
        call->answer = length ? str_take(&transfer->body) : NULL;
        call->answer_length = call->answer ? length : 0;
    }
    transfer_forget(transfer);
}

void transfer_cancel(struct transfer *transfer)
{
    struct dispatch_call *call = transfer->call;
    call->end = DISPATCH_CANCELED;
    call->bytes_sent = transfer->starts > 0 ? bytes_sent(transfer) : 0;
    call->reused_connection = transfer->reused;
    times_fill(transfer, 0);
    (void)transfer_refuse(call, "canceled");
    transfer_forget(transfer);
}
