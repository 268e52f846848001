/* One firing of one job, its steps and its calls, as rows: what the store keeps, and what the run machine
 * (core/logic/run/machine.h) is fed with. `run_apply` over the rows in order of `seq` is the replay, so a row must tell
 * everything that the machine needs. Texts are owned by whoever made the row (arena of the store answer, or the run).
 */
#ifndef CARILLON_CORE_MODEL_RUN_H
#define CARILLON_CORE_MODEL_RUN_H

#include "core/base/ids.h"
#include "core/model/retry.h"

#define RUN_STATE_TABLE(X)        \
    X(RUN_QUEUED, "queued")       \
    X(RUN_RUNNING, "running")     \
    X(RUN_SUCCEEDED, "succeeded") \
    X(RUN_FAILED, "failed")       \
    X(RUN_CANCELED, "canceled")   \
    X(RUN_LOST, "lost")

enum run_state {
#define RUN_STATE_ENUM(symbol, text) symbol,
    RUN_STATE_TABLE(RUN_STATE_ENUM)
#undef RUN_STATE_ENUM
        RUN_STATES
};

#define RUN_ORIGIN_TABLE(X)        \
    X(ORIGIN_SCHEDULE, "schedule") \
    X(ORIGIN_MISFIRE, "misfire")   \
    X(ORIGIN_MANUAL, "manual")     \
    X(ORIGIN_RETRY, "retry")       \
    X(ORIGIN_RECOVERY, "recovery") \
    X(ORIGIN_PLAN, "plan")         \
    X(ORIGIN_JOB, "job")           \
    X(ORIGIN_BACKFILL, "backfill") \
    X(ORIGIN_EVENT, "event")

enum run_origin {
#define RUN_ORIGIN_ENUM(symbol, text) symbol,
    RUN_ORIGIN_TABLE(RUN_ORIGIN_ENUM)
#undef RUN_ORIGIN_ENUM
        RUN_ORIGINS
};

/* Step states. `waiting` = cannot begin yet (predecessors, or a reason such as no_instance); `ready` is never stored.
 */
#define STEP_STATE_TABLE(X)                                                         \
    X(STEP_WAITING, "waiting")                                                      \
    X(STEP_RUNNING, "running")                                                      \
    X(STEP_SUCCEEDED, "succeeded")                                                  \
    X(STEP_FAILED, "failed")                                                        \
    X(STEP_IGNORED, "ignored") /* failed, and the preset says go on; result null */ \
    X(STEP_SKIPPED, "skipped")                                                      \
    X(STEP_CANCELED, "canceled")                                                    \
    X(STEP_UNKNOWN, "unknown") /* outcome not known and the task forbids repeating */

enum step_state {
#define STEP_STATE_ENUM(symbol, text) symbol,
    STEP_STATE_TABLE(STEP_STATE_ENUM)
#undef STEP_STATE_ENUM
        STEP_STATES
};

#define ATTEMPT_STATE_TABLE(X)                                              \
    X(ATTEMPT_STARTED, "started")   /* intent is committed; perhaps sent */ \
    X(ATTEMPT_ACCEPTED, "accepted") /* 202: waits for a report */           \
    X(ATTEMPT_ENDED, "ended")

enum attempt_state {
#define ATTEMPT_STATE_ENUM(symbol, text) symbol,
    ATTEMPT_STATE_TABLE(ATTEMPT_STATE_ENUM)
#undef ATTEMPT_STATE_ENUM
        ATTEMPT_STATES
};

const char *run_state_text(enum run_state state);
bool run_state_parse(const char *text, enum run_state *ret);
static inline bool run_state_terminal(enum run_state state)
{
    return state >= RUN_SUCCEEDED;
}
const char *run_origin_text(enum run_origin origin);
bool run_origin_parse(const char *text, enum run_origin *ret);
const char *step_state_text(enum step_state state);
bool step_state_parse(const char *text, enum step_state *ret);
static inline bool step_state_terminal(enum step_state state)
{
    return state >= STEP_SUCCEEDED;
}
const char *attempt_state_text(enum attempt_state state);
bool attempt_state_parse(const char *text, enum attempt_state *ret);

struct run_row {
    int64_t id; /* core/base/ids.h; its top bits are the day */
    int64_t job, project;
    int64_t version;              /* of the job, at the start */
    const char *trigger;          /* name; "manual-<id>" for manual runs */
    int64_t generation;           /* 0 = the instant's own run */
    instant scheduled_at;         /* identity: computed, never "now" */
    instant due_at;               /* scheduled_at + jitter */
    instant fired_at;             /* when the row was made by the owner, just before commit; never none */
    instant started_at, ended_at; /* INSTANT_NONE until then */
    enum run_state state;
    enum run_origin origin;
    const char *reason;                  /* why it waits or how it ended; NULL = none */
    const char *error_code, *error_args; /* args: JSON object text; NULL = none */
    int64_t family;                      /* id of the first run of its family; 0 = itself */
    int64_t retry_of;                    /* id; 0 = none */
    int32_t retry_no;
    int32_t slot;     /* of the job, at the time of firing */
    int64_t boot;     /* that drives it */
    const char *node; /* of that boot */
    const char *zone; /* IANA, of the trigger at the start; times in templates are rendered in it */
    const char
        *params; /* effective params as JSON object text when overridden by a request; NULL = job and trigger say */
    const char *start; /* intent of the start steps: JSON [{"step","instance"}]; NULL = none */
    bool cancel_requested;
    int32_t priority;
};

struct step_row {
    int64_t run;
    const char *step;
    int32_t item; /* 0: the step itself; the items of broadcast, shard and map count from 1 */
    int32_t seq;  /* number of the run's event that this row records */
    enum step_state state;
    const char *reason; /* "no_instance", "busy", "when: false", …; NULL = none */
    instant due;        /* when a waiting step is looked at again; INSTANT_NONE = by event */
    instant since;      /* of this state */
    const char *result; /* JSON text for successors; NULL = none */
    const char *error;  /* NULL = none */
    const char *items;  /* broadcast, shard, map, once begun: JSON array, one element an item, fixed; NULL = none */
};

/* Telling an executor that nobody waits for its call any more. */
enum notice_state {
    NOTICE_NONE, /* there was no need */
    NOTICE_DUE,
    NOTICE_TOLD,
    NOTICE_UNREACHED, /* tried, and given up */
    NOTICE_STATES
};
const char *notice_state_text(enum notice_state state); /* NULL: NOTICE_NONE */

struct attempt_row {
    int64_t run;
    const char *step;
    int32_t item;
    int32_t n;       /* 1, 2, 3 … calls of this step and item */
    int32_t key_try; /* the `try` of the idempotency key: rises only after a definite end */
    int32_t seq;
    enum attempt_state state;
    enum call_class class;
    const char *instance; /* host:port (of a direct url: its authority) */
    int64_t boot;         /* epoch on the wire */
    const char *node;
    instant started_at; /* intent */
    instant ended_at;
    int32_t http_status; /* 0 = none */
    int64_t bytes_sent;  /* of the request, as far as known */
    bool reused_connection;
    bool stale;                                  /* came after the step had ended */
    int32_t connect_ms, first_byte_ms, total_ms; /* −1 = not reached */
    const char *error;                           /* NULL = none */
    const char *code;                            /* the executor's own code of a failure; NULL = none */
    span retry_after;                            /* ms; −1 = not said */
    const char *request, *response;              /* bodies as captured; NULL = none */
    int64_t request_size, response_size;         /* real sizes */
    const char *result;                          /* JSON text that successors read when class is success; NULL = null */
    /* How its executor is told that nobody waits any more: "<method> <project/application> <url>"; NULL = not at all.
     */
    const char *notice_to;
    enum notice_state notice; /* the store's: written by a batch's notices, never with the row */
};

/* It ended without its executor, who has said how to be told so. */
bool attempt_wants_notice(const struct attempt_row *attempt);

/* "<run>.<step>.<item>.<try>" */
#define CALL_KEY_SIZE 192
const char *call_key_format(const struct attempt_row *attempt, char buffer[CALL_KEY_SIZE]);

#endif
