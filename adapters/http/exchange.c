#include "adapters/http/exchange.h"

#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"

#define DECODED_MAX ((size_t)256 << 10)

/* ---- reading the head ---------------------------------------------------------------------------------------------
 */

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool percent_decode(const char *text, char *ret)
{
    size_t length = 0;
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '%') {
            int high = hex_value(text[1]), low = high < 0 ? -1 : hex_value(text[2]);
            if (low < 0)
                return false;
            c = (unsigned char)(high * 16 + low);
            text += 2;
        }
        if (c == 0 || c == 0x7f || (c < 0x20 && c != '\t' && c != '\n' && c != '\r'))
            return false;
        ret[length++] = (char)c;
    }
    ret[length] = '\0';
    return utf8_valid(ret, length);
}

bool path_allowed(const char *path)
{
    if (*path != '/')
        return false;
    while (*path) {
        const char *segment = path + 1;
        size_t length = strcspn(segment, "/");
        bool last = segment[length] == '\0';
        if ((length == 0 && !last) || (length == 1 && segment[0] == '.') ||
            (length == 2 && segment[0] == '.' && segment[1] == '.'))
            return false;
        for (size_t i = 0; i < length; i++) {
            if ((unsigned char)segment[i] < 0x20)
                return false;
        }
        path = segment + length;
    }
    return true;
}

static void path_read(struct exchange *exchange, const char *url)
{
    char *path = arena_alloc(&exchange->arena, strlen(url) + 1);
    exchange->request.path = "/";
    if (path && percent_decode(url, path) && path_allowed(path))
        exchange->request.path = path;
    else
        exchange->refusal = 404;
}

static enum MHD_Result argument_read(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct exchange *exchange = context;
    (void)kind;
    const char *given = value ? value : "";
    char *decoded_name = arena_alloc(&exchange->arena, strlen(name) + 1);
    char *decoded_value = arena_alloc(&exchange->arena, strlen(given) + 1);
    if (exchange->argument_count == QUERY_ARGUMENTS || !decoded_name || !decoded_value ||
        !percent_decode(name, decoded_name) || !percent_decode(given, decoded_value)) {
        exchange->refusal = exchange->refusal ? exchange->refusal : 400;
        return MHD_NO;
    }
    exchange->arguments[exchange->argument_count++] =
        (struct query_argument){.name = decoded_name, .value = decoded_value};
    return MHD_YES;
}

static enum MHD_Result header_count(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct exchange *exchange = context;
    (void)kind;
    exchange->header_bytes += strlen(name) + (value ? strlen(value) : 0) + 4; /* ": " and the line's end */
    return MHD_YES;
}

static void remote_read(struct exchange *exchange)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *address = info ? info->client_addr : NULL;
    socklen_t length = 0;
    if (address)
        length = address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    if (!address || getnameinfo(address, length, exchange->remote, sizeof exchange->remote, NULL, 0, NI_NUMERICHOST))
        (void)snprintf(exchange->remote, sizeof exchange->remote, "-");
}

static void head_check(struct exchange *exchange)
{
    const char *length =
        MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    (void)MHD_get_connection_values(exchange->connection, MHD_HEADER_KIND, header_count, exchange);
    if (exchange->header_bytes > HEADERS_MAX)
        exchange->refusal = 431;
    else if (length && strtoull(length, NULL, 10) > BODY_MAX)
        exchange->refusal = 413;
}

struct exchange *exchange_create(struct http_server *server, struct MHD_Connection *connection, const char *url,
                                 const char *method, uint64_t number)
{
    struct exchange *exchange = mem_new(struct exchange);
    exchange->server = server;
    exchange->connection = connection;
    arena_init(&exchange->arena, DECODED_MAX);
    str_init(&exchange->body, BODY_MAX);
    (void)snprintf(exchange->id, sizeof exchange->id, "%016llx", (unsigned long long)hash_mix(number));
    remote_read(exchange);
    path_read(exchange, url);
    (void)MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, argument_read, exchange);
    head_check(exchange);
    exchange->request.method = strcmp(method, MHD_HTTP_METHOD_HEAD) == 0 ? MHD_HTTP_METHOD_GET : method;
    exchange->request.remote = exchange->remote;
    exchange->request.id = exchange->id;
    exchange->request.connection = exchange;
    exchange->request.body = "";
    exchange->response.status = 200;
    exchange->response.content_type = "application/json; charset=utf-8";
    str_init(&exchange->response.body, (size_t)1 << 30);
    return exchange;
}

void exchange_free(struct exchange *exchange)
{
    if (!exchange)
        return;
    str_release(&exchange->body);
    str_release(&exchange->response.body);
    arena_release(&exchange->arena);
    free(exchange);
}

/* ---- what handlers use --------------------------------------------------------------------------------------------
 */

const char *http_query(const struct http_request *request, const char *name)
{
    const struct exchange *exchange = request->connection;
    for (size_t i = 0; i < exchange->argument_count; i++) {
        if (strcmp(exchange->arguments[i].name, name) == 0)
            return exchange->arguments[i].value;
    }
    return NULL;
}

const char *http_header(const struct http_request *request, const char *name)
{
    const struct exchange *exchange = request->connection;
    return MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, name);
}

void http_response_header(struct http_response *response, const char *name, const char *value_format, ...)
{
    va_list args;
    if (response->header_count == sizeof response->headers / sizeof *response->headers)
        return;
    struct http_response_header *header = &response->headers[response->header_count++];
    header->name = name;
    va_start(args, value_format);
    (void)vsnprintf(header->value, sizeof header->value, value_format, args);
    va_end(args);
    /* A line break would end the header: nothing of what a stranger wrote may begin a new one. */
    for (char *at = header->value; *at; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            *at = ' ';
    }
}

/* ---- answering ----------------------------------------------------------------------------------------------------
 */

static const struct {
    int status;
    const char *code, *message;
} refusals[] = {
    {400, "REQUEST_VALIDATION_002",
     "The query of the URL has broken escapes, is no UTF-8, or has too many parameters."},
    {404, "REQUEST_NOTFOUND_001", "There is nothing at this path."},
    {413, "REQUEST_TOOLARGE_002", "The body is larger than 4 MiB. Send several smaller requests."},
    {431, "REQUEST_TOOLARGE_002", "The headers are larger than 32 KiB."},
    {503, "SCHEDULING_UNAVAILABLE_001", "This server is stopping or too busy. Try again soon."},
};

static void refusal_write(struct exchange *exchange)
{
    struct http_response *response = &exchange->response;
    response->status = exchange->refusal;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        if (refusals[i].status == exchange->refusal)
            str_addf(&response->body,
                     "{\"error\":{\"code\":\"%s\",\"message\":\"%s\",\"args\":{},\"details\":[],\"trace_id\":\"%s\"}}",
                     refusals[i].code, refusals[i].message, exchange->id);
    }
    if (exchange->refusal == 503)
        http_response_header(response, "Retry-After", "1");
    if (exchange->refusal == 413 || exchange->refusal == 431)
        http_response_header(response, "Connection", "close");
}

static struct MHD_Response *response_make(struct http_response *response)
{
    if (response->static_body) {
        /* MHD takes a plain pointer but does not write through it in this mode. */
        return MHD_create_response_from_buffer(response->static_length, (void *)(uintptr_t)response->static_body,
                                               MHD_RESPMEM_PERSISTENT);
    }
    size_t length = response->body.length;
    char *bytes = length ? str_take(&response->body) : NULL;
    struct MHD_Response *made = MHD_create_response_from_buffer(bytes ? length : 0, bytes,
                                                                bytes ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (!made)
        free(bytes);
    return made;
}

enum MHD_Result exchange_answer(struct exchange *exchange)
{
    struct http_response *response = &exchange->response;
    if (exchange->refusal)
        refusal_write(exchange);
    if (response->body.failed) {
        str_clear(&response->body);
        response->status = 500;
    }
    bool has_body = response->static_body ? response->static_length > 0 : response->body.length > 0;
    struct MHD_Response *made = response_make(response);
    if (!made)
        return MHD_NO;
    if (has_body)
        (void)MHD_add_response_header(made, "Content-Type", response->content_type);
    (void)MHD_add_response_header(made, "X-Content-Type-Options", "nosniff");
    (void)MHD_add_response_header(made, "X-Request-Id", exchange->id);
    for (size_t i = 0; i < response->header_count; i++)
        (void)MHD_add_response_header(made, response->headers[i].name, response->headers[i].value);
    enum MHD_Result result = MHD_queue_response(exchange->connection, (unsigned)response->status, made);
    MHD_destroy_response(made);
    return result;
}
