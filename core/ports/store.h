/* Port: the store. One verb, `submit`, takes an operation as a value; so tracing, fault injection, threads and the
 * simulation wrap it in one place. Below stand the kinds, the port, and the operations of slots and of the hot path;
 * the other operations stand by theme in store_*.h, which this header brings along. Keys and fences are
 * data-model.md's.
 *
 * Contract
 *  - The caller owns the `struct store_op` until `done` is called: exactly once, on the thread of the caller's loop,
 * never from inside `submit`. Inputs are borrowed until then. Outputs lie in op->arena; `store_op_release` frees them.
 *  - Operations of one submitter that write (BATCH, DECIDED) are carried out in order of arrival. Others may overtake.
 *  - op->status: OK · FENCED (the boot has a successor: nothing of the operation happened; stop) · UNAVAILABLE (nothing
 *    happened, the store cannot be reached or is busy: ask again) · UNKNOWN (the reply of a COMMIT was lost: for a
 * BATCH ask BATCH_CHECK; all else is repeatable) · FULL / READ_ONLY (nothing happened) · NOT_FOUND, EXISTS, CONFLICT,
 * INVALID · CORRUPT. op->error says it in words, without host, DSN or SQL.
 *  - Blocking use (orchestrator's pool threads): `execute` of a session does the same in place.
 */
#ifndef CARILLON_CORE_PORTS_STORE_H
#define CARILLON_CORE_PORTS_STORE_H

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/model/document.h"
#include "core/model/run.h"
#include "core/ports/store_definitions.h"
#include "core/ports/store_history.h"
#include "core/ports/store_process.h"
#include "core/ports/store_requests.h"
#include "core/ports/store_rows.h"

/* ---- operations ----------------------------------------------------------------------------------------------------
 */

/* X(symbol, member of the union, name in traces) */
#define STORE_OP_TABLE(X)                            \
    /* life of a process */                          \
    X(STORE_CLUSTER, cluster, "cluster")             \
    X(STORE_BOOT_START, boot_start, "boot_start")    \
    X(STORE_BOOT_READ, boot_read, "boot_read")       \
    X(STORE_BOOT_FENCE, boot_fence, "boot_fence")    \
    X(STORE_BOOTS, boots, "boots")                   \
    X(STORE_NODES, nodes, "nodes")                   \
    X(STORE_NODE_SET, node_set, "node_set")          \
    X(STORE_NODE_FORGET, node_forget, "node_forget") \
    X(STORE_LEASE, lease, "lease")                   \
    X(STORE_APP_LEASE, app_lease, "app_lease")       \
    X(STORE_APP_LEASES, app_leases, "app_leases")    \
    X(STORE_RETENTION, retention, "retention")       \
    /* slots */                                      \
    X(STORE_SLOTS_READ, slots_read, "slots_read")    \
    X(STORE_SLOTS_TAKE, slots_take, "slots_take")    \
    X(STORE_SLOTS_LOAD, slots_load, "slots_load")    \
    X(STORE_DECIDED, decided, "decided")             \
    X(STORE_RUNS_ADOPT, runs_adopt, "runs_adopt")    \
    X(STORE_RUNS_OPEN, runs_open, "runs_open")       \
    /* hot path */                                   \
    X(STORE_POLL, poll, "poll")                      \
    X(STORE_BATCH, batch, "batch")                   \
    X(STORE_BATCH_CHECK, batch_check, "batch_check") \
    /* definitions */                                \
    X(STORE_DEFINITIONS, definitions, "definitions") \
    X(STORE_PUT, put, "put")                         \
    X(STORE_PUTS, puts, "puts")                      \
    X(STORE_DELETE, delete, "delete")                \
    X(STORE_LIST, list, "list")                      \
    /* requests and history */                       \
    X(STORE_REQUEST_ADD, request_add, "request_add") \
    X(STORE_REPORT_READ, report_read, "report_read") \
    X(STORE_REPORT_ADD, report_add, "report_add")    \
    X(STORE_INSTANCE_SET, instance_set, "instance")  \
    X(STORE_INSTANCES, instances, "instances")       \
    X(STORE_ALIVE, alive, "alive")                   \
    X(STORE_ALIVE_READ, alive_read, "alive_read")    \
    X(STORE_LOG_READ, log_read, "log_read")          \
    X(STORE_RUNS_LIST, runs_list, "runs_list")       \
    X(STORE_RUN_READ, run_read, "run_read")          \
    X(STORE_LEDGER, ledger, "ledger")                \
    X(STORE_TRIGGERS, triggers, "triggers")          \
    X(STORE_FAILURES, failures, "failures")          \
    /* people and programs */                        \
    X(STORE_TOKEN_ADD, token_add, "token_add")       \
    X(STORE_TOKEN_FIND, token_find, "token_find")    \
    X(STORE_TOKENS, tokens, "tokens")                \
    X(STORE_TOKEN_END, token_end, "token_end")       \
    X(STORE_AUDIT, audit, "audit")

enum store_op_kind {
#define STORE_OP_ENUM(symbol, member, name) symbol,
    STORE_OP_TABLE(STORE_OP_ENUM)
#undef STORE_OP_ENUM
        STORE_OPS
};

struct store_slots_read {
    struct slot_row *rows; /* out: all slots that exist in the store, in order */
    size_t count;
};

struct slot_take {
    int32_t slot;
    int64_t generation, czxid; /* my epoch */
    bool taken;                /* out: false = someone newer (or the coordination service was wiped) */
    int64_t previous_boot;     /* out: owner before; 0 = none, may be my own */
    instant decided_through;   /* out */
};

/* Raise epochs and become owner_boot. Each slot by itself; FENCED when `boot` is fenced. */
struct store_slots_take {
    int64_t boot;
    struct slot_take *takes;
    size_t count;
    int64_t feed_head; /* out: read after the raise: the replica must have reached it before anything fires */
};

/* All that the owner needs to rule these slots: jobs (deleted ones with a pending DELETE activation, too), trigger
 * cursors and states, the open runs of their jobs that *other* boots drive and what lingers of ended ones (they count
 * for overlap). */
struct store_slots_load {
    int64_t boot;
    const int32_t *slots;
    size_t slot_count;
    struct definition_row *jobs; /* out */
    size_t job_count;
    struct trigger_cursor *cursors;
    size_t cursor_count;
    struct trigger_state_row *states;
    size_t state_count;
    struct run_row *open_runs;
    size_t open_run_count;
    struct linger_row *lingers;
    size_t linger_count;
};

/* Written behind: every instant at or before `through` of the slot's jobs is decided. Fenced like a fire, and left as
 * it is for a slot that a job was moved into by a change behind `feed_seq`: whoever says this does not know that job.
 */
struct store_decided {
    int64_t boot;
    int64_t feed_seq; /* last change that the writer's replica held when it found this out */
    const struct slot_through {
        int32_t slot;
        instant through;
    } * slots;
    size_t count;
};

/* Make open runs of a fenced boot mine, oldest first, at most `limit`; with their rows for the replay. Ask again until
 * none come. from_boot 0: the queued runs that a draining boot has left, of slots that I own. */
struct store_runs_adopt {
    int64_t boot, from_boot;
    const char *node;
    size_t limit;
    struct run_row *runs; /* out; boot and node are already mine */
    size_t run_count;
    struct step_row *steps; /* out, by run, then seq */
    size_t step_count;
    struct attempt_row *attempts; /* out, by run, then seq */
    size_t attempt_count;
};

/* Which of these runs are still open (overlap: runs that another boot finishes). */
struct store_runs_open {
    const int64_t *runs;
    size_t count;
    bool *open;        /* out, parallel to runs */
    instant *ended_at; /* out, parallel */
    instant *linger;   /* out, parallel: until when its executor may be at work; INSTANT_NONE = not */
    bool *left;        /* out, parallel: open, and nobody drives it: the slot's owner adopts it from boot 0 */
};

/* What is new for this boot: changes behind `since` (at most `limit`, in order), open requests for slots that it owns,
 * open reports for runs that it drives. */
struct store_poll {
    int64_t boot;
    int64_t since; /* last seq seen; −1 = tell the head only */
    size_t limit;
    int64_t head; /* out */
    bool trimmed; /* out: `since` lies before the trim: reload everything */
    struct change_row *changes;
    size_t change_count;
    struct request_row *requests; /* by id */
    size_t request_count;
    struct report_row *reports; /* by id; at most STORE_POLL_REPORTS */
    size_t report_count;
    int64_t instances;   /* out: rises when an instance comes, changes or leaves */
    enum node_wish wish; /* out: of the boot's node */
    instant store_now;   /* out */
};
#define STORE_POLL_REPORTS 64

enum store_outcome {
    OUTCOME_DONE,
    OUTCOME_EXISTS,
    OUTCOME_SLOT_LOST,
    OUTCOME_DEFERRED, /* slot lost, and the fire was a retry: it has become a REQUEST_RETRY of the same id */
};

struct store_fire {
    struct run_row run;         /* in: with intent of the start steps */
    enum store_outcome outcome; /* out; EXISTS: this (trigger, instant, generation) or id is a run already */
};
struct store_activation {
    struct activation_row row;
    enum store_outcome outcome;
};
struct store_skip {
    struct skip_row row;
    enum store_outcome outcome;
};
struct store_trigger_state {
    struct trigger_state_row row;
    enum store_outcome outcome;
};
/* A job changes its slot: with its open runs, states and open requests, and a line in the feed. The store chooses the
 * slot: one that is bound to `node`, else to `pool`, else a shared one. Not at once decided by the new owner is what
 * the old slot's decided_through leaves open. */
struct store_move {
    struct {
        int64_t job;
        int32_t slot;            /* where it is; of the boot, or SLOT_LOST */
        const char *pool, *node; /* NULL = not so */
    } row;
    int32_t to;                 /* out; the same slot = it is where it should be */
    enum store_outcome outcome; /* out; EXISTS: nothing was done, it is not there (any more) or no slot is left */
};

/* What has become of telling an executor that nobody waits for this attempt any more. TOLD and UNREACHED clear
 * `notice_to` of its linger. */
struct store_notice {
    int64_t run;
    const char *step;
    int32_t item, n;
    enum notice_state state;
};

/* One transaction: all or nothing, but for slot-fenced items whose slot is not owned by `boot` any more (SLOT_LOST,
 * they alone are left out) and fires that exist. Order within: activations, skips, states, fires, ends, steps,
 * attempts, left runs, requests, reports, suspensions, lingers, notices, wishes, moves. */
struct store_batch {
    int64_t boot;
    int64_t number; /* rises by one with every batch of this boot; kept in boot.batch */
    struct store_activation *activations;
    size_t activation_count;
    struct store_skip *skips;
    size_t skip_count;
    struct store_trigger_state *states; /* whole row replaced */
    size_t state_count;
    struct store_fire *fires;
    size_t fire_count;
    const struct run_row *runs; /* changed runs: state, reason, times, error, cancel_requested, start */
    size_t run_count;
    const struct step_row *steps; /* inserted or replaced by (run, step, item) */
    size_t step_count;
    const struct attempt_row
        *attempts; /* inserted or replaced by (run, step, item, n); bodies over LIMIT_INLINE_BODY go to `body` */
    size_t attempt_count;
    const struct request_done {
        int64_t id;
        const char *outcome;
    } * requests; /* closed */
    size_t request_count;
    const struct request_done *reports; /* closed: REPORT_OUTCOME_… */
    size_t report_count;
    const int64_t *suspended_jobs; /* max_consecutive_failures reached */
    size_t suspended_count;
    struct store_move *moves;
    size_t move_count;
    const struct linger_row *lingers; /* inserted or replaced by (run, step, item, n) */
    size_t linger_count;
    const struct store_notice *notices; /* of attempts that are there, or come with this batch */
    size_t notice_count;
    /* Requests that this batch makes, with ids of run_id_make: CANCEL (left out when `slot` is not ours: it belongs to
     * a fire) and SUSPEND (always). */
    const struct request_row *wishes;
    size_t wish_count;
    const int64_t *left; /* queued runs of this boot that are nobody's from now on: their boot becomes 0. It writes
                            nothing of them any more; whoever owns their slots adopts them. */
    size_t left_count;
};

/* After UNKNOWN: did batch `number` of `boot` commit? */
struct store_batch_check {
    int64_t boot, number;
    bool committed; /* out */
};

struct store_op {
    enum store_op_kind kind;
    enum status status;                /* out */
    struct error error;                /* out */
    void (*done)(struct store_op *op); /* asynchronous use */
    void *owner;                       /* the caller's */
    struct arena arena;                /* of the outputs */
    struct store_op *next;             /* the adapter's while under way */
    union {
#define STORE_OP_MEMBER(symbol, member, name) struct store_##member member;
        STORE_OP_TABLE(STORE_OP_MEMBER)
#undef STORE_OP_MEMBER
    };
};

#define STORE_ARENA_MAX ((size_t)256 << 20)

/* Zeroes the operation and sets kind and arena. */
void store_op_init(struct store_op *op, enum store_op_kind kind);
/* Frees outputs; inputs are the caller's. */
void store_op_release(struct store_op *op);
const char *store_op_name(enum store_op_kind kind);
const char *request_kind_text(enum request_kind kind);
const char *activation_kind_text(enum activation_kind kind);
const char *node_wish_text(enum node_wish wish); /* "working", "draining" */

struct store;

struct store_ops {
    const char *name;
    void (*submit)(struct store *store, struct store_op *op);
    /* In place, on the calling thread, each thread with a connection of its own. NULL = this store cannot (simulation).
     */
    enum status (*execute)(struct store *store, struct store_op *op);
    void (*close)(struct store *store); /* ends what is under way (done is called with CANCELED), frees */
};

struct store {
    const struct store_ops *ops;
};

static inline void store_submit(struct store *store, struct store_op *op)
{
    store->ops->submit(store, op);
}
static inline enum status store_execute(struct store *store, struct store_op *op)
{
    return store->ops->execute(store, op);
}

#endif
