/* Class of a call's end × failure preset → what is to be done: one committed table (semantics.md §4), a test per cell.
 */
#ifndef CARILLON_CORE_LOGIC_RUN_FAILURE_H
#define CARILLON_CORE_LOGIC_RUN_FAILURE_H

#include "core/base/rng.h"
#include "core/model/job.h"

enum failure_move {
    MOVE_SUCCEED,       /* the step has succeeded */
    MOVE_NEXT_INSTANCE, /* next live instance, each once, then wait (not_sent, busy) */
    MOVE_FAIL,          /* the step fails */
    MOVE_IGNORE,        /* go on, result null */
    MOVE_RETRY_SAME,    /* same instance, retry.max times, then what the preset says next */
    MOVE_TRANSFER,      /* each other instance once, round-robin from the next */
    MOVE_RETRY_THEN_TRANSFER,
    MOVE_REPEAT, /* outcome not known: as the task's `repeat` allows (with retry.max), under the same key */
    MOVE_CANCELED,
    MOVE_WAIT_REPORT, /* accepted */
};

enum failure_move failure_move_of(enum call_class class, enum failure_preset preset);

/* Pause before attempt number `retry_no` (1 = first repeat), ms. Retry-After (>= 0) is honoured as a lower bound.
 * `random` 0…1. */
span retry_delay(const struct retry_policy *policy, int retry_no, span retry_after, double random);
/* Pause of a busy or unreachable target that said nothing: 1 s doubling to 60 s. */
span busy_delay(int times);

#endif
