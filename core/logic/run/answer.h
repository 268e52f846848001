/* What an executor's answer means (executor-protocol.md §2): HTTP answer × success rule → class, result, code, delay.
 * Pure. */
#ifndef CARILLON_CORE_LOGIC_RUN_ANSWER_H
#define CARILLON_CORE_LOGIC_RUN_ANSWER_H

#include "core/base/arena.h"
#include "core/model/job.h"

struct answer_input {
    int http_status;
    const char *body; /* may be NULL */
    size_t length;
    const char *content_type, *location; /* NULL or "" = none */
    span retry_after;                    /* ms; −1 = not said */
    instant now;                         /* for {"until": …} */
    enum success_rule rule;
    const char *success_when; /* SUCCESS_EXPRESSION: over status, headers, body */
    bool async;
};

struct answer {
    enum call_class class;      /* SUCCESS, ACCEPTED, BUSY, FAILURE, HTTP_*, BAD_ANSWER */
    const char *result;         /* JSON text for successors; NULL = null */
    const char *code, *message; /* the executor's own; NULL = none */
    span delay;                 /* BUSY: ms to wait; −1 = not said */
    const char *note;           /* "202 without Location: taken as success"; NULL */
};

/* Texts lie in `arena`. Never fails on strange input: that is BAD_ANSWER. STATUS_NO_MEMORY only. */
enum status answer_classify(const struct answer_input *input, struct arena *arena, struct answer *ret) MUST_USE;

#endif
