/* HTTP server on its own thread (libmicrohttpd), with a small pool for handlers. The connection is suspended while a
 * pool thread runs the handler, which may block (store work), and resumed with its answer. All are resumed before stop.
 *
 * Limits: body 4 MiB (413), header block 32 KiB (431), connections, idle 60 s, 15 s of waiting for a pool thread (503).
 * Slow bodies cost no pool thread. Every answer carries X-Content-Type-Options: nosniff and a request id. */
#ifndef CARILLON_ADAPTERS_HTTP_HTTP_SERVER_H
#define CARILLON_ADAPTERS_HTTP_HTTP_SERVER_H

#include "core/base/error.h"
#include "core/base/str.h"

struct http_request {
    const char *method; /* "GET" … */
    const char *path;   /* percent-decoded once, UTF-8, no "//", no "..", begins with '/' */
    const char *body;   /* NUL-terminated; "" when none */
    size_t body_length;
    const char *remote; /* address of the peer */
    const char *id;     /* request id (trace_id of errors) */
    void *connection;   /* the server's */
};

/* Query parameter, percent-decoded; NULL when absent. Header by name (any case); NULL when absent. */
const char *http_query(const struct http_request *request, const char *name);
const char *http_header(const struct http_request *request, const char *name);

struct http_response {
    int status;               /* 200 by default */
    const char *content_type; /* static text; "application/json; charset=utf-8" by default */
    struct str body;          /* owned by the response */
    const void *static_body;  /* instead of body: lives for ever (embedded assets) */
    size_t static_length;
    struct http_response_header {
        const char *name;
        char value[1024];
    } headers[16];
    size_t header_count;
};

void http_response_header(struct http_response *response, const char *name, const char *value_format, ...)
    PRINTF_LIKE(3, 4);

/* On a pool thread. Must not keep request or response. */
typedef void (*http_handler)(void *context, const struct http_request *request, struct http_response *response);

struct http_server_options {
    const char *listen;                       /* "127.0.0.1:8420", "[::1]:0", port 0 = any free */
    const char *tls_cert_file, *tls_key_file; /* NULL or "" = plain */
    unsigned threads;                         /* pool size */
    unsigned connections;                     /* at most; 0 = 2000 */
    const char *quick_path; /* answered at once, on the server's own thread: its handler must never block; NULL: none */
    http_handler handler;
    void *context;
};

struct http_server;

/* STATUS_IN_USE: the port is taken; the text names it. */
enum status http_server_start(const struct http_server_options *options, struct http_server **ret,
                              struct error *err) MUST_USE;
int http_server_port(const struct http_server *server);
void http_server_stop(struct http_server *server); /* finishes handlers that run; frees */

#endif
