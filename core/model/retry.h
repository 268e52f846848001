/* Failure: classes of a call's end, presets, the general retry policy (semantics.md §4). */
#ifndef CARILLON_CORE_MODEL_RETRY_H
#define CARILLON_CORE_MODEL_RETRY_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/instant.h"

/* How one call ended. X(symbol, text in API, rows and `retry.on`). */
#define CALL_CLASS_TABLE(X)                                                            \
    X(CALL_NONE, "") /* not ended yet */                                               \
    X(CALL_SUCCESS, "success")                                                         \
    X(CALL_NOT_SENT, "not_sent") /* no byte of the request left: name, connect, TLS */ \
    X(CALL_BUSY, "busy")         /* 425, 429, 503, `delay`, serial refusal */          \
    X(CALL_HTTP_3XX, "http_3xx")                                                       \
    X(CALL_HTTP_4XX, "http_4xx")                                                       \
    X(CALL_HTTP_5XX, "http_5xx")                                                       \
    X(CALL_FAILURE, "failure")       /* answered so */                                 \
    X(CALL_BAD_ANSWER, "bad_answer") /* not JSON where JSON is due, too big, … */    \
    X(CALL_TIMEOUT, "timeout")                                                         \
    X(CALL_UNKNOWN, "unknown") /* bytes sent, no complete answer */                    \
    X(CALL_HEARTBEAT, "heartbeat")                                                     \
    X(CALL_CANCELED, "canceled")                                                       \
    X(CALL_ACCEPTED, "accepted") /* 202: the result comes by report; not an end */

enum call_class {
#define CALL_CLASS_ENUM(symbol, text) symbol,
    CALL_CLASS_TABLE(CALL_CLASS_ENUM)
#undef CALL_CLASS_ENUM
        CALL_CLASSES
};

const char *call_class_text(enum call_class c);
bool call_class_parse(const char *text, enum call_class *ret);

/* What is known of the effect after an end (semantics.md §5): definite ends let `try` rise, the others keep the key. */
static inline bool call_class_definite(enum call_class c)
{
    return c != CALL_NONE && c != CALL_ACCEPTED && c != CALL_TIMEOUT && c != CALL_UNKNOWN && c != CALL_HEARTBEAT &&
           c != CALL_CANCELED;
}

enum failure_preset {
    FAILURE_STOP,
    FAILURE_IGNORE,
    FAILURE_RETRY,
    FAILURE_TRANSFER,
    FAILURE_RETRY_TRANSFER,
    FAILURE_PRESETS
};
enum repeat_rule { REPEAT_SAME_INSTANCE, REPEAT_ANYWHERE, REPEAT_NEVER, REPEAT_UNSET };
enum backoff { BACKOFF_FIXED, BACKOFF_EXPONENTIAL };
enum on_exhausted { EXHAUSTED_STOP, EXHAUSTED_IGNORE, EXHAUSTED_COMPENSATE };

struct retry_policy {
    int max;    /* further attempts after the first; 0 = none */
    span delay; /* ms */
    enum backoff backoff;
    span max_delay;   /* ms; upper end of the exponential one */
    double jitter;    /* 0…1: share of the delay that is random */
    unsigned on;      /* bit per enum call_class; 0 = the preset's own */
    span max_elapsed; /* ms since the step's first attempt; 0 = no limit */
};

const char *failure_preset_text(enum failure_preset preset);           /* "stop" … */
bool failure_preset_parse(const char *text, enum failure_preset *ret); /* SIA's names too */
const char *repeat_rule_text(enum repeat_rule rule);
bool repeat_rule_parse(const char *text, enum repeat_rule *ret);

#endif
