#include "core/model/run.h"

#include <stdio.h>
#include <string.h>

#define TEXT(symbol, text) [symbol] = (text),
static const char *const run_states[RUN_STATES] = {RUN_STATE_TABLE(TEXT)};
static const char *const run_origins[RUN_ORIGINS] = {RUN_ORIGIN_TABLE(TEXT)};
static const char *const step_states[STEP_STATES] = {STEP_STATE_TABLE(TEXT)};
static const char *const attempt_states[ATTEMPT_STATES] = {ATTEMPT_STATE_TABLE(TEXT)};
#undef TEXT

/* Index of `text` among `names`, or −1. */
static int find(const char *const *names, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(names[i], text))
            return (int)i;
    return -1;
}

const char *run_state_text(enum run_state state)
{
    return (unsigned)state < RUN_STATES ? run_states[state] : "";
}

bool run_state_parse(const char *text, enum run_state *ret)
{
    int i = find(run_states, RUN_STATES, text);
    if (i >= 0)
        *ret = (enum run_state)i;
    return i >= 0;
}

const char *run_origin_text(enum run_origin origin)
{
    return (unsigned)origin < RUN_ORIGINS ? run_origins[origin] : "";
}

bool run_origin_parse(const char *text, enum run_origin *ret)
{
    int i = find(run_origins, RUN_ORIGINS, text);
    if (i >= 0)
        *ret = (enum run_origin)i;
    return i >= 0;
}

const char *step_state_text(enum step_state state)
{
    return (unsigned)state < STEP_STATES ? step_states[state] : "";
}

bool step_state_parse(const char *text, enum step_state *ret)
{
    int i = find(step_states, STEP_STATES, text);
    if (i >= 0)
        *ret = (enum step_state)i;
    return i >= 0;
}

bool attempt_wants_notice(const struct attempt_row *attempt)
{
    bool unwanted =
        attempt->class == CALL_CANCELED || attempt->class == CALL_TIMEOUT || attempt->class == CALL_HEARTBEAT;
    return attempt->notice_to && attempt->state == ATTEMPT_ENDED && unwanted;
}

const char *notice_state_text(enum notice_state state)
{
    static const char *const texts[NOTICE_STATES] = {NULL, "due", "told", "unreached"};
    return (unsigned)state < NOTICE_STATES ? texts[state] : NULL;
}

const char *attempt_state_text(enum attempt_state state)
{
    return (unsigned)state < ATTEMPT_STATES ? attempt_states[state] : "";
}

bool attempt_state_parse(const char *text, enum attempt_state *ret)
{
    int i = find(attempt_states, ATTEMPT_STATES, text);
    if (i >= 0)
        *ret = (enum attempt_state)i;
    return i >= 0;
}

const char *call_key_format(const struct attempt_row *attempt, char buffer[CALL_KEY_SIZE])
{
    (void)snprintf(buffer, CALL_KEY_SIZE, "%lld.%s.%ld.%ld", (long long)attempt->run, attempt->step,
                   (long)attempt->item, (long)attempt->key_try);
    return buffer;
}
