#include "core/logic/run/overlap.h"

static int64_t room(enum overlap_policy policy, int max_parallel)
{
    if (policy != OVERLAP_ALLOW)
        return 1;
    return max_parallel > 0 ? max_parallel : JOB_PARALLEL_DEFAULT;
}

bool overlap_may_start(enum overlap_policy policy, int max_parallel, int64_t running)
{
    return running < room(policy, max_parallel);
}

enum overlap_verdict overlap_decide(enum overlap_policy policy, int max_parallel, const struct overlap_state *state)
{
    /* A queue is served in order: nobody overtakes the ones that wait. */
    if (!state->queued && overlap_may_start(policy, max_parallel, state->running))
        return OVERLAP_RUN;
    if (state->catching_up)
        return state->queued < state->misfire_max ? OVERLAP_QUEUE : OVERLAP_DROP;
    switch (policy) {
    case OVERLAP_ALLOW: /* those that wait may only be late ones of a take-over: there is still a place for this one */
        if (state->running + state->queued < room(policy, max_parallel))
            return OVERLAP_QUEUE;
        return state->queued < 1 ? OVERLAP_QUEUE : OVERLAP_DROP;
    case OVERLAP_WAIT:
        return state->queued < 1 ? OVERLAP_QUEUE : OVERLAP_DROP;
    case OVERLAP_REPLACE:
        return OVERLAP_CANCEL_OTHERS;
    case OVERLAP_SKIP:
        break;
    }
    return OVERLAP_DROP;
}
