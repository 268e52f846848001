/* Makes a handle ready for a call: its URL, method, body and headers, none of which may say more than it should. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "adapters/curl/addresses.h"
#include "adapters/curl/transfer_parts.h"
#include "adapters/loop/loop.h"
#include "core/model/limits.h"

/* Characters of header names and methods (RFC 9110 §5.6.2). */
static bool is_token(const char *text)
{
    static const char marks[] = "!#$%&'*+-.^_`|~";
    size_t length = 0;
    for (; text[length]; length++) {
        unsigned char c = (unsigned char)text[length];
        if (c >= 0x80 || (!isalnum(c) && !strchr(marks, c)))
            return false;
    }
    return length > 0 && length < 200;
}

static bool has_control(const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return true;
    }
    return false;
}

/* Headers that frame the message: given by a user they would let one request look like two. */
static bool is_framing(const char *name)
{
    static const char *const framing[] = {"Content-Length", "Transfer-Encoding", "Connection",
                                          "Expect",         "Upgrade",           "TE",
                                          "Trailer",        "Keep-Alive",        "HTTP2-Settings"};
    for (size_t i = 0; i < sizeof framing / sizeof *framing; i++) {
        if (strcasecmp(name, framing[i]) == 0)
            return true;
    }
    return strncasecmp(name, "Proxy-", 6) == 0;
}

static bool header_append(struct transfer *transfer, const char *line)
{
    struct curl_slist *longer = curl_slist_append(transfer->headers, line);
    if (longer)
        transfer->headers = longer;
    return longer != NULL;
}

static bool header_add(struct transfer *transfer, const struct name_value *header)
{
    struct dispatch_call *call = transfer->call;
    struct str line;
    if (!is_token(header->name) || has_control(header->value))
        return transfer_refuse(call, "header \"%.60s\": a name or value with characters that HTTP does not allow",
                               header->name);
    if (is_framing(header->name))
        return transfer_refuse(call, "header \"%s\" is set by the platform and cannot be given", header->name);
    str_init(&line, LIMIT_REQUEST);
    str_add(&line, header->name);
    str_add(&line, *header->value ? ": " : ";"); /* curl's way to say "with an empty value" */
    str_add(&line, header->value);
    bool added = !line.failed && header_append(transfer, str_text(&line));
    str_release(&line);
    return added || transfer_refuse(call, "header \"%s\" is too long", header->name);
}

/* What curl would add by itself is switched off where the caller did not say it. */
static bool headers_prepare(struct transfer *transfer)
{
    const struct dispatch_call *call = transfer->call;
    bool accept = false, type = false;
    for (size_t i = 0; i < call->header_count; i++) {
        if (!header_add(transfer, &call->headers[i]))
            return false;
        accept = accept || strcasecmp(call->headers[i].name, "Accept") == 0;
        type = type || strcasecmp(call->headers[i].name, "Content-Type") == 0;
    }
    if (!header_append(transfer, "Expect:") || (!accept && !header_append(transfer, "Accept:")) ||
        (!type && !header_append(transfer, "Content-Type:")))
        return transfer_refuse(transfer->call, "out of memory");
    return curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, transfer->headers) == CURLE_OK;
}

static bool url_prepare(struct transfer *transfer)
{
    struct dispatch_call *call = transfer->call;
    char *scheme = NULL, *host = NULL, *port = NULL;
    bool ok = false;
    CURLUcode code = curl_url_set(transfer->url, CURLUPART_URL, call->url, CURLU_PATH_AS_IS);
    if (!code)
        code = curl_url_get(transfer->url, CURLUPART_SCHEME, &scheme, 0);
    if (!code)
        code = curl_url_get(transfer->url, CURLUPART_HOST, &host, 0);
    if (!code)
        code = curl_url_get(transfer->url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
    if (code) {
        (void)transfer_refuse(call, "the url is not valid: %s", curl_url_strerror(code));
    } else if (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0) {
        (void)transfer_refuse(call, "the url begins with %.20s: only http and https are called", scheme);
    } else {
        size_t length = strlen(host);
        char *name = host[0] == '[' ? host + 1 : host;
        if (host[0] == '[')
            host[length - 1] = '\0';
        enum address_name verdict =
            address_name_check(transfer->shared->rules, name, (uint16_t)strtoul(port, NULL, 10));
        transfer->name_allowed = verdict == ADDRESS_NAME_ALLOWED;
        ok = verdict != ADDRESS_NAME_DENIED;
        if (!ok)
            (void)transfer_refuse(call, "calls to %.100s:%s are refused: it is our own or listed in dispatch.deny",
                                  name, port);
    }
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    return ok && curl_easy_setopt(transfer->easy, CURLOPT_CURLU, transfer->url) == CURLE_OK;
}

/* POSTFIELDS borrows the body: no copy, no read callback. */
static bool body_prepare(const struct transfer *transfer)
{
    struct dispatch_call *call = transfer->call;
    CURL *easy = transfer->easy;
    if (!is_token(call->method))
        return transfer_refuse(call, "\"%.20s\" is no method", call->method);
    bool has_body = call->body && call->body_length > 0;
    bool wants_body =
        strcmp(call->method, "POST") == 0 || strcmp(call->method, "PUT") == 0 || strcmp(call->method, "PATCH") == 0;
    (void)curl_easy_setopt(easy, CURLOPT_NOBODY, 0L);
    if (has_body || wants_body) {
        (void)curl_easy_setopt(easy, CURLOPT_POST, 1L);
        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)(has_body ? call->body_length : 0));
        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, has_body ? call->body : "");
    } else {
        (void)curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    }
    (void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call->method);
    if (strcmp(call->method, "HEAD") == 0)
        (void)curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    return true;
}

static long milliseconds(span d)
{
    return d < 1 ? 1 : d > 0x7fffffff ? 0x7fffffff : (long)d;
}

bool transfer_prepare(struct transfer *transfer, struct dispatch_call *call, span timeout, instant now,
                      const char *resolved)
{
    span connect = call->connect_timeout > 0 ? call->connect_timeout : CONNECT_TIMEOUT_DEFAULT;
    transfer->call = call;
    transfer->now = now;
    transfer->header_bytes = 0;
    transfer->starts = 0;
    transfer->began = loop_clock().mono;
    transfer->overslept = false;
    transfer->reused = transfer->name_allowed = transfer->too_big = transfer->flooded = transfer->head_whole = false;
    transfer->refused = transfer->misframed = NULL;
    transfer->length_said = -1;
    transfer->location[0] = transfer->error[0] = '\0';
    str_init(&transfer->body, call->response_max ? call->response_max : LIMIT_RESPONSE);
    (void)curl_easy_setopt(transfer->easy, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(connect));
    (void)curl_easy_setopt(transfer->easy, CURLOPT_TIMEOUT_MS, milliseconds(timeout));
    transfer->resolved = resolved ? curl_slist_append(NULL, resolved) : NULL;
    (void)curl_easy_setopt(transfer->easy, CURLOPT_RESOLVE, transfer->resolved);
    return url_prepare(transfer) && body_prepare(transfer) && headers_prepare(transfer);
}
