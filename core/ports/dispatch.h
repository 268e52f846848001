/* Port: one HTTP attempt. One call = at most one delivery: an adapter never sends a request a second time
 * (executor-protocol.md §1). The caller owns the call until `done`: exactly once, on the loop's thread, never from
 * inside start or cancel. Inputs are borrowed until then, except those marked copied. The answer is freed by
 * dispatch_call_release. */
#ifndef CARILLON_CORE_PORTS_DISPATCH_H
#define CARILLON_CORE_PORTS_DISPATCH_H

#include "core/base/error.h"
#include "core/base/instant.h"
#include "core/model/job.h"

enum dispatch_end {
    DISPATCH_ANSWERED,   /* a complete answer: http_status and what follows */
    DISPATCH_NOT_SENT,   /* no byte of the request left: name, connect, TLS, address refused */
    DISPATCH_UNKNOWN,    /* bytes sent, no complete answer (reset, closed, garbage) */
    DISPATCH_TIMEOUT,    /* the attempt's time is over */
    DISPATCH_TOO_BIG,    /* the answer passed response_max */
    DISPATCH_BAD_ANSWER, /* answered, but not HTTP as it should be */
    DISPATCH_CANCELED,   /* by cancel; bytes_sent tells whether anything left */
};

struct dispatch_call {
    /* in */
    const char *method, *url;
    const struct name_value *headers; /* complete but for Host, Content-Length, User-Agent */
    size_t header_count;
    const char *body; /* NULL or "" = none */
    size_t body_length;
    span connect_timeout, timeout; /* ms; timeout covers the whole attempt */
    size_t response_max;
    void (*done)(struct dispatch_call *call);
    void *owner;
    /* out */
    enum dispatch_end end;
    int http_status;
    char *answer; /* owned, NUL-terminated; NULL = none */
    size_t answer_length;
    char content_type[128], location[512];
    span retry_after; /* ms; −1 = not said */
    int64_t bytes_sent;
    bool reused_connection;
    int32_t connect_ms, first_byte_ms, total_ms; /* −1 = not reached */
    char error[256];                             /* reason for people; names the setting when an address was refused */
    /* the adapter's while under way */
    void *adapter;
};

struct dispatch;

struct dispatch_ops {
    const char *name;
    void (*start)(struct dispatch *d, struct dispatch_call *call);
    void (*cancel)(struct dispatch *d, struct dispatch_call *call); /* done follows; harmless after done was queued */
    size_t (*in_flight)(const struct dispatch *d);
    void (*close)(struct dispatch *d); /* cancels all */
};

struct dispatch {
    const struct dispatch_ops *ops;
};

void dispatch_call_release(struct dispatch_call *call);

#endif
