#include "core/logic/run/failure.h"

/* The table of semantics.md §4. Rows: how the call ended. Columns: stop, ignore, retry, transfer, retry_transfer. */
#define ROW(stop, ignore, retry, transfer, retry_transfer)                               \
    {                                                                                    \
        [FAILURE_STOP] = (stop), [FAILURE_IGNORE] = (ignore), [FAILURE_RETRY] = (retry), \
        [FAILURE_TRANSFER] = (transfer), [FAILURE_RETRY_TRANSFER] = (retry_transfer)     \
    }
#define ALL(move) ROW(move, move, move, move, move)
#define DEFINITE ROW(MOVE_FAIL, MOVE_IGNORE, MOVE_RETRY_SAME, MOVE_TRANSFER, MOVE_RETRY_THEN_TRANSFER)
#define OUTCOME_OPEN ROW(MOVE_FAIL, MOVE_IGNORE, MOVE_REPEAT, MOVE_REPEAT, MOVE_REPEAT)

static const enum failure_move moves[CALL_CLASSES][FAILURE_PRESETS] = {
    [CALL_NONE] = ALL(MOVE_WAIT_REPORT),
    [CALL_SUCCESS] = ALL(MOVE_SUCCEED),
    [CALL_NOT_SENT] = ALL(MOVE_NEXT_INSTANCE),
    [CALL_BUSY] = ALL(MOVE_NEXT_INSTANCE),
    [CALL_HTTP_3XX] = DEFINITE,
    [CALL_HTTP_4XX] = DEFINITE,
    [CALL_HTTP_5XX] = DEFINITE,
    [CALL_FAILURE] = DEFINITE,
    [CALL_BAD_ANSWER] = DEFINITE,
    [CALL_TIMEOUT] = OUTCOME_OPEN,
    [CALL_UNKNOWN] = OUTCOME_OPEN,
    [CALL_HEARTBEAT] = OUTCOME_OPEN,
    [CALL_CANCELED] = ALL(MOVE_CANCELED),
    [CALL_ACCEPTED] = ALL(MOVE_WAIT_REPORT),
};

enum failure_move failure_move_of(enum call_class class, enum failure_preset preset)
{
    if ((unsigned)class >= CALL_CLASSES || (unsigned)preset >= FAILURE_PRESETS)
        return MOVE_FAIL;
    return moves[class][preset];
}

span retry_delay(const struct retry_policy *policy, int retry_no, span retry_after, double random)
{
    span delay = policy->delay > 0 ? policy->delay : 0;
    if (policy->backoff == BACKOFF_EXPONENTIAL) {
        span top = policy->max_delay > 0 ? policy->max_delay : SPAN_DAY;
        for (int i = 1; i < retry_no && delay < top && delay > 0; i++)
            delay = delay > top / 2 ? top : delay * 2;
        if (delay > top)
            delay = top;
    }
    /* Jitter takes away, so that max_delay stays the longest pause. */
    if (policy->jitter > 0 && random >= 0 && random <= 1) {
        double share = policy->jitter < 1 ? policy->jitter : 1;
        delay -= (span)((double)delay * share * random);
    }
    return retry_after > delay ? retry_after : delay;
}

span busy_delay(int times)
{
    span delay = SPAN_SECOND;
    for (int i = 1; i < times && delay < SPAN_MINUTE; i++)
        delay *= 2;
    return delay < SPAN_MINUTE ? delay : SPAN_MINUTE;
}
