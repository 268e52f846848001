/* One request and its answer on their way through the server. */
#ifndef CARILLON_ADAPTERS_HTTP_EXCHANGE_H
#define CARILLON_ADAPTERS_HTTP_EXCHANGE_H

#include <microhttpd.h>
#include <pthread.h>
#include <time.h>

#include "adapters/http/http_server.h"
#include "core/base/arena.h"

#define BODY_MAX ((size_t)4 << 20)
#define HEADERS_MAX ((size_t)32 << 10)
#define QUERY_ARGUMENTS 100
#define REQUEST_ID_SIZE 24

/* reading ──▶ in hand (suspended; queued or run by a pool thread) ──▶ answered (resumed) */
enum exchange_state { EXCHANGE_READING, EXCHANGE_IN_HAND, EXCHANGE_ANSWERED };

struct exchange {
    struct exchange *next; /* in the pool's queue */
    struct http_server *server;
    struct MHD_Connection *connection;
    enum exchange_state state;
    struct http_request request;
    struct http_response response;
    struct str body;
    int refusal; /* status to answer with once the body has been read; 0 = go on */
    char id[REQUEST_ID_SIZE];
    char remote[64];
    struct arena arena; /* decoded path and query */
    struct query_argument {
        const char *name, *value;
    } arguments[QUERY_ARGUMENTS];
    size_t argument_count;
    size_t header_bytes, received;
    bool counted;     /* in the server's in_hand */
    time_t queued_at; /* seconds of the monotonic clock */
};

/* Head of a request → exchange. Never fails: what is wrong becomes its `refusal`. */
struct exchange *exchange_create(struct http_server *server, struct MHD_Connection *connection, const char *url,
                                 const char *method, uint64_t number);
void exchange_free(struct exchange *exchange);

/* Sends the response of the exchange (or of its refusal). */
enum MHD_Result exchange_answer(struct exchange *exchange);

/* Percent-decoding, once. False: broken escapes, U+0000, control characters or no UTF-8. `ret` has room for text. */
bool percent_decode(const char *text, char *ret);
/* Decoded path: absolute, without empty, "." and ".." segments. */
bool path_allowed(const char *path);

#endif
