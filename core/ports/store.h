/* Port: the store. One verb, `submit`, takes an operation as a value; so tracing, fault injection, threads and the
 * simulation wrap it in one place. Kinds, inputs and outputs are below; keys and fences are data-model.md's.
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

/* ---- rows that only the store port knows ---------------------------------------------------------------------------
 */

/* A definition: project, application, calendar or job. For jobs `slot` and what follows is filled, too. */
struct definition_row {
    enum document_kind kind;
    int64_t id;
    int64_t project_id;
    const char *project, *name;
    int64_t version;          /* 1, 2, … */
    instant created_at;       /* of this version, by the store's clock */
    instant first_created_at; /* of version 1 */
    const char *json;         /* the whole document in full form */
    const char *author, *source;
    bool deleted;
    /* jobs */
    int32_t slot;
    instant deleted_at; /* by the store's clock; INSTANT_NONE while it lives */
    bool paused;        /* as asked for last; the owner's activation makes it effective */
    bool suspended;
    int64_t moves;          /* how often it has changed its slot */
    const char *owner_node; /* who holds the slot; NULL = nobody yet */
    int64_t owner_boot;
    instant owner_since;
    int64_t running;          /* open runs */
    struct run_row *last_run; /* newest ended one; NULL = none */
};

enum activation_kind { ACTIVATION_VERSION, ACTIVATION_PAUSE, ACTIVATION_RESUME, ACTIVATION_DELETE };

/* From `from` on, this version (or pause, or resume) rules the trigger. trigger "" = all triggers of the job. */
struct activation_row {
    int64_t job, version;
    const char *trigger;
    enum activation_kind kind;
    instant from;
    int32_t slot;
};

/* Instants that became no run. Nothing at or before `to` is evaluated again. */
struct skip_row {
    int64_t job;
    const char *trigger;
    instant from, to; /* first and last instant; both belong to it */
    int64_t count;
    const char *reason; /* overlap, misfire, quiet, calendar, paused, expired, start_limit */
    int32_t slot;
};

/* Memory of a trigger: only for those that have one (delay, max_fires, pauses, error). The row of trigger "" is the
 * job's own: whether it is paused is known from there alone, whatever triggers it has or had. */
struct trigger_state_row {
    int64_t job;
    const char *trigger;
    int32_t slot;
    int64_t fires;        /* runs of generation 0 so far; kept when max_fires > 0 */
    instant last_end;     /* delay: committed end of the last generation-0 run; INSTANT_NONE */
    bool paused;          /* by itself */
    bool job_paused;      /* through its job */
    instant paused_since; /* first instant that is held back; INSTANT_NONE */
    const char *error;    /* NULL = none */
};

/* Where a trigger stands: what the store knows when a slot is loaded. */
struct trigger_cursor {
    int64_t job;
    const char *trigger;
    int64_t version; /* of the newest activation; 0 = none yet */
    instant from;    /* of the newest ACTIVATION_VERSION */
    instant decided; /* last instant that is a run (generation 0) or a skip, or slot.decided_through; INSTANT_NONE */
};

/* Kept by number: only ever append. */
enum request_kind {
    REQUEST_RUN,
    REQUEST_ENQUEUE,
    REQUEST_CANCEL,
    REQUEST_PAUSE,
    REQUEST_RESUME,
    REQUEST_MOVE, /* a job to a slot that `node` holds, or back to the shared range */
    /* made by schedulers, within a batch, for whoever owns the job's slot */
    REQUEST_RETRY,   /* `run` has failed: fire its retry */
    REQUEST_SUSPEND, /* a run has failed: is it the last one that max_consecutive_failures allows? */
    REQUEST_KINDS
};

/* A wish, durable before it is acknowledged. Its id becomes the run's id (RUN, ENQUEUE, RETRY). */
struct request_row {
    int64_t id;
    enum request_kind kind;
    int64_t job;
    int32_t slot;
    const char *trigger;  /* PAUSE, RESUME: NULL = whole job */
    int64_t run;          /* CANCEL; RETRY: the one that failed */
    const char *reason;   /* CANCEL: what the run's row will say; NULL = "canceled" */
    instant due_at;       /* RETRY: not before */
    const char *params;   /* RUN, ENQUEUE: JSON object text; NULL */
    instant scheduled_at; /* RUN, ENQUEUE: INSTANT_NONE = created_at */
    bool skip_missed;     /* RESUME */
    const char *node;     /* MOVE: where to; NULL = back to the shared range */
    instant created_at;   /* by the store's clock */
    const char *author;
    const char *outcome; /* NULL while open */
};

/* The executor of an ended run may still be at work: a call of it ended without a definite answer. */
struct linger_row {
    int64_t job, run;
    int32_t slot;
    const char *step;
    int32_t item, n, key_try;
    const char *application; /* "project/name" when the task is serial: its instance takes no other call; else NULL */
    const char *instance;
    instant until;
    const char *notice_to; /* its executor is still to be told, as attempt_row says; NULL = it is not */
};

enum report_state { REPORT_SUCCEEDED, REPORT_FAILED, REPORT_DELAY };

/* What an executor says of a call that it accepted (executor-protocol.md §3). Heartbeats are no rows. */
struct report_row {
    int64_t id; /* out of REPORT_ADD */
    int64_t run;
    const char *step;
    int32_t item, key_try;
    enum report_state state;
    const char *result;         /* JSON text; SUCCEEDED */
    const char *code, *message; /* NULL = none */
    instant until;              /* DELAY: not before; INSTANT_NONE = not said */
    const char *digest;         /* hex of a hash: two reports with the same one say the same */
    instant created_at;         /* out, by the store's clock */
    bool run_open;              /* out of POLL */
};

struct slot_row {
    int32_t slot;
    int64_t generation, czxid; /* epoch, compared in this order */
    int64_t owner_boot;        /* 0 = nobody yet */
    const char *owner_node;
    instant since, decided_through;
    int64_t jobs;
    const char *pool, *node; /* what it is bound to, while it has jobs: slots behind the shared ones; NULL = nothing */
};

struct boot_row {
    int64_t boot;
    const char *node, *address;
    bool fenced;
    instant started_at, seen_at;
    const char *role; /* as in boot_start */
};

/* What an operator asked of a scheduler. It lasts over restarts of the node. A draining one that has nothing left is
 * shown as offline: alive, and claiming nothing. */
enum node_wish { NODE_WORK, NODE_DRAIN, NODE_WISHES };

/* A node that was seen once, with the newest start of its role. Orchestrators have rows, too; a scheduler's or
 * standalone's start takes the row of an orchestrator of the same name over. */
struct node_row {
    const char *node, *role, *address, *version, *pool;
    int64_t weight, capacity; /* as the node told at its start; capacity 0 = unlimited */
    enum node_wish wish;
    const char *wish_by; /* NULL = never asked */
    instant wish_at, first_seen;
    int64_t boot; /* 0 = none is known */
    bool fenced;
    instant started_at, seen_at; /* of that boot */
    int64_t slots, jobs;         /* held, by any boot of the node */
    int64_t runs_open;           /* driven, likewise */
};

struct audit_entry {
    int64_t id;
    instant at;
    const char *who, *action, *kind, *project, *name;
    const char *before, *after; /* JSON text or NULL */
};

struct token_row {
    int64_t id;
    const char *name, *role, *project; /* project NULL = all */
    const char *hash;                  /* hex of a one-way hash; the token itself is never stored */
    instant created_at, expires_at, last_used_at;
    instant revoked_at; /* it is refused from then on; the row stays */
};

struct ledger_item {
    const char *trigger;
    instant scheduled_at; /* run: its instant; skip: = from */
    bool is_run;
    int64_t run;
    enum run_state state;
    const char *reason;
    instant from, to;
    int64_t count;
};

struct change_row {
    int64_t seq;
    enum document_kind kind;
    int64_t id; /* of the definition */
};

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

/* Identity of this installation: made at the first start, never changed. */
struct store_cluster {
    bool next_generation;  /* in: raise it first (another coordination service counts its epochs from the beginning) */
    char id[40];           /* out: text id */
    int64_t generation;    /* out: rises with adopt-coordination */
    unsigned char key[32]; /* out: cluster key (callback tokens, internal routes, derived application keys) */
    instant store_now;     /* out */
};

/* A process start. Also creates the node's row. */
struct store_boot_start {
    const char *node, *address, *role; /* role: "scheduler", "orchestrator", "standalone" */
    const char *version, *pool;        /* NULL = "" */
    int64_t weight, capacity;          /* weight 0 = 1 */
    enum node_wish wish;               /* out */
    int64_t boot;                      /* out: > 0 */
    int64_t previous_boot;             /* out: newest earlier unfenced boot of this node and role; 0 = none */
    instant store_now;                 /* out */
};

/* Fresh read of one's own row: fenced? And a sign of life (seen_at). */
struct store_boot_read {
    int64_t boot;
    bool fenced;       /* out */
    int64_t batch;     /* out */
    instant store_now; /* out */
};

/* Fence a dead boot: nothing of it is accepted any more. The caller has seen that it is gone (or owns the folder). */
struct store_boot_fence {
    int64_t boot, dead_boot;
    bool already; /* out: it was fenced before, or had said itself that it stops */
};

struct store_boots {
    struct boot_row *rows; /* out: newest boot of each node and role */
    size_t count;
};

/* By name; `node` NULL = all. NOT_FOUND when it names none. With a node also the runs that it drives, oldest first, at
 * most `run_limit`. */
struct store_nodes {
    const char *node;
    size_t run_limit;
    struct node_row *rows; /* out */
    size_t count;
    struct node_run {
        int64_t run;
        const char *project, *job;
        enum run_state state;
        instant fired_at;
    } * runs; /* out */
    size_t run_count;
};

/* What is wished of a scheduler, audited. NOT_FOUND: no such node, or an orchestrator. */
struct store_node_set {
    const char *node, *author;
    enum node_wish wish;
    bool unchanged; /* out */
};

/* A node that is gone for good: its row goes, its boots are fenced. CONFLICT when it lives (its newest boot is not
 * fenced and was seen within `timeout`), holds slots, or drives runs; the error says which. Audited. */
struct store_node_forget {
    const char *node, *author;
    span timeout;
    enum { FORGET_LIVES, FORGET_HOLDS_SLOTS, FORGET_DRIVES_RUNS } why; /* out, with CONFLICT */
    int64_t held;                                                      /* out: slots or runs */
};

/* Named lease: taken when free, expired, or already held by this boot; EXPIRED and times by the store's clock. */
struct store_lease {
    const char *name;
    int64_t boot;
    span ttl;
    bool release; /* give it up instead */
    bool held;    /* out */
};

/* Housekeeping by the lease holder, a bounded piece at a time; call again while `more`. Times are "older than". */
struct store_retention {
    int64_t boot;
    instant runs, bodies, skips, audit, changes, requests;
    int64_t removed; /* out */
    bool more;       /* out */
    int64_t size;    /* out: bytes that the store's data takes */
};

/* A lease of an application: one holder at a time, over when `until` has come by the store's clock. Its row lasts. */
struct app_lease {
    const char *project; /* NULL = the cluster's */
    const char *name, *holder, *author;
    int64_t fence; /* rises with every taking */
    instant since, until;
};

enum lease_action { LEASE_ACQUIRE, LEASE_RENEW, LEASE_RELEASE };

/* CONFLICT: held by another (row.holder and row.until tell), or, with another's token or too late, lost (row.holder
 * NULL). Acquiring again with the same token meets itself. Taking and giving back are audited, renewing is not. */
struct store_app_lease {
    enum lease_action action;
    struct app_lease row; /* in: project, name, author; holder for ACQUIRE. out */
    const char *token_hash;
    span ttl; /* from now; ACQUIRE, RENEW */
};

/* Those that are held, by project and name. */
struct store_app_leases {
    const char *project; /* NULL = all */
    int64_t skip, limit;
    struct app_lease *rows; /* out */
    size_t count;
    int64_t total;
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
 * none come. */
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
 * attempts, requests, reports, suspensions, lingers, notices, wishes, moves. */
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
};

/* After UNKNOWN: did batch `number` of `boot` commit? */
struct store_batch_check {
    int64_t boot, number;
    bool committed; /* out */
};

/* By kind: all (ids NULL), some ids, or one old version (ids[0], version > 0). For schedulers: without status fields of
 * jobs. */
struct store_definitions {
    enum document_kind kind;
    const int64_t *ids;
    size_t id_count;
    int64_t after; /* with ids NULL: ids greater than this */
    size_t limit;  /* with ids NULL */
    int64_t version;
    struct definition_row *rows; /* out */
    size_t count;
};

/* Create or replace whole. Equal document = no new version. One transaction with feed line, slot choice and audit row.
 */
struct store_put {
    enum document_kind kind;
    const char *project, *name;
    const char *json;                 /* full form (document_write) */
    const char *fingerprint;          /* of the document without pause and status; compared to tell "unchanged" */
    const char *const *trigger_names; /* jobs */
    size_t trigger_count;
    const char *const *paused_triggers; /* jobs: read at creation only; of triggers that come later, their activation */
    size_t paused_count;
    const char *pool;            /* jobs: NULL = none. A job that changes it is moved by its owner */
    const char *author, *source; /* source: file, api, ui, registered, imported */
    int64_t if_match;            /* version that must be current; 0 = any. CONFLICT otherwise */
    bool create_only;
    int64_t id, version;     /* out */
    bool created, unchanged; /* out */
    int32_t slot;            /* out, jobs */
    const char *before;      /* out: earlier document, NULL = none */
};

/* Several, in this order, in one transaction: all or nothing. What one refuses, refuses all; `failed` says which. */
struct store_puts {
    struct store_put *items;
    size_t count;
    size_t failed; /* out: index, when the status is not OK; count = none in particular */
};

/* CONFLICT when in use (error names by whom); NOT_FOUND. Jobs leave a tombstone. */
struct store_delete {
    enum document_kind kind;
    const char *project, *name;
    const char *author;
    int64_t if_match;
};

/* A page of definitions, by name; with the status fields of jobs. names: exactly these (in this order, missing ones
 * absent). */
struct store_list {
    enum document_kind kind;
    const char *project; /* NULL = all */
    const char *const *names;
    size_t name_count;
    const char *text;  /* part of name or description; NULL = any */
    const char *state; /* jobs: active, paused, suspended; NULL = any */
    const char *owner; /* jobs: node; NULL = any */
    bool brief;        /* jobs: without last_run */
    int64_t skip, limit;
    struct definition_row *rows; /* out */
    size_t count;
    int64_t total; /* out */
};

struct request_add {
    struct request_row row; /* in: id given by the caller for RUN and ENQUEUE (run_id_make), 0 otherwise; job and slot
                               are found by name */
    const char *name;       /* job; CANCEL: NULL, row.run says */
    enum status status;     /* out per item: OK, NOT_FOUND, EXISTS (same idempotency key: `row` is the earlier one) */
    const char *idempotency_key; /* NULL = none; kept 24 h per project */
};

/* Requests with their audit rows, one transaction. PAUSE and RESUME also set what is asked for on the definition. */
struct store_request_add {
    const char *project, *author;
    struct request_add *items;
    size_t count;
};

/* May this call still be reported about? NOT_FOUND: no such run. */
struct store_report_read {
    int64_t run;
    const char *step;
    int32_t item, key_try;
    bool over;     /* out: its step has ended, or another key is under way: a report would be stale */
    bool canceled; /* out: the run is, or is being, canceled */
};

/* What becomes of a stored one; in request_done.outcome. */
#define REPORT_OUTCOME_TAKEN "taken"
#define REPORT_OUTCOME_STALE "stale"

enum report_fate {
    REPORT_STORED,   /* for the driver of the run */
    REPORT_REPEATED, /* it is known already */
    REPORT_STALE     /* the step has ended otherwise; kept, and of no effect */
};

/* A report, durable before it is acknowledged. NOT_FOUND: no such run. */
struct store_report_add {
    struct report_row row;
    enum report_fate fate; /* out */
    bool canceled;         /* out, as above */
};

/* What was heard of an accepted call while it ran. */
struct alive_row {
    int64_t run;
    const char *step;
    int32_t item, key_try;
    instant at;          /* out: of the newest sign of life */
    int32_t progress;    /* 0–100; −1 = not told */
    const char *message; /* NULL = not told */
    span within;         /* the next sign comes within this; 0 = nothing is promised */
    int64_t lines;       /* out: of its log */
};

/* A sign of life; what it does not tell stays. NOT_FOUND: no such run. */
struct store_alive {
    struct alive_row row;
    const char *lines;   /* for its log, parted by newlines; NULL = none */
    bool over, canceled; /* out: as of report_read. Over: only lines are taken */
    bool full;           /* out: its log takes no more (LIMIT_LOG_LINES, LIMIT_LOG_BYTES) */
};

/* Of one run, or (run 0) those newer than `since` that promise another, of open runs that this boot drives, oldest
 * first, a bounded number. */
struct store_alive_read {
    int64_t run, boot;
    int64_t since;          /* ms by the store's clock */
    struct alive_row *rows; /* out */
    size_t count;
};

struct log_line {
    const char *step;
    int32_t item, key_try;
    int64_t line;
    instant at;
    const char *text;
};

struct store_log_read {
    int64_t run;
    const char *step; /* NULL = all */
    int64_t skip, limit;
    struct log_line *lines; /* out: by step, item, try, line */
    size_t count;
};

enum instance_source { INSTANCE_HTTP, INSTANCE_ZOOKEEPER };

/* An instance that announces itself. It is there while expires_at lies ahead, by the store's clock. */
struct instance_row {
    const char *project, *application, *address; /* names; "host:port" */
    enum instance_source source;
    const char *version;                     /* of its program; NULL = not told */
    const char *document;                    /* what it told, JSON; out: only when asked for one project */
    instant first_seen, seen_at, expires_at; /* out */
};

/* Announces it for so long, or takes it off. */
struct store_instance_set {
    struct instance_row row;
    span ttl;
    bool remove;
    bool fresh; /* out: it was not there, told something else, or has left: poll.instances has risen */
};

/* Those that are there now, by project, application, address; NULL = all. */
struct store_instances {
    const char *project, *application;
    struct instance_row *rows; /* out */
    size_t count;
    instant store_now; /* out */
};

struct store_runs_list {
    const char *project; /* NULL = all */
    const char *job;     /* name; NULL = any */
    unsigned states;     /* bit per run_state; 0 = any */
    instant from, to;    /* [from, to) of scheduled_at; INSTANT_NONE = open */
    const char *trigger, *node;
    int has_error;      /* −1 any, 0 without, 1 with */
    int origin;         /* −1 any */
    int64_t family;     /* 0 any */
    const char *text;   /* part of trigger, reason or error code */
    const char *cursor; /* from an earlier answer; NULL */
    int64_t skip, limit;
    bool count_only;
    struct run_row *rows; /* out: newest scheduled first, then id falling; open requests appear as queued */
    const char **jobs;    /* out: names, parallel */
    const char **projects;
    size_t count;
    int64_t total;
    const char *next_cursor; /* out: NULL = no more */
};

struct store_run_read {
    const char *project; /* NULL = any */
    int64_t id;
    struct run_row run; /* out; from the open request while no row exists */
    const char *job_name, *project_name;
    const char *params; /* out: effective request params or NULL */
    struct step_row *steps;
    size_t step_count;
    struct attempt_row *attempts; /* with bodies */
    size_t attempt_count;
    const char *job_json; /* document of the run's version; NULL when gone */
};

struct store_ledger {
    const char *project, *job, *trigger; /* trigger NULL = all */
    instant from, to;
    int64_t skip, limit;
    struct ledger_item *items; /* out: by scheduled_at, then trigger */
    size_t count;
    int64_t total;
};

/* Cursors, states, open runs and waiting steps of jobs: what lists and `explain` show. */
struct store_triggers {
    int64_t job;         /* one job, NOT_FOUND when there is none; or, with 0, */
    const int64_t *jobs; /* these, those that are missing left out */
    size_t job_count;
    struct trigger_cursor *cursors;
    size_t cursor_count;
    struct trigger_state_row *states;
    size_t state_count;
    struct step_row *waiting; /* steps of open runs that wait with a reason */
    size_t waiting_count;
    struct run_row *open_runs;
    size_t open_run_count;
    struct linger_row *lingers; /* that are not over */
    size_t linger_count;
};

/* How many of a job's newest ended runs have failed in a row, since it was resumed last; canceled ones do not count. */
struct store_failures {
    int64_t job;
    size_t limit;  /* at most; above 0 */
    size_t failed; /* out */
};

struct store_token_add {
    struct token_row row; /* id out */
    const char *author;
};

struct store_token_find {
    const char *hash;
    bool touch;           /* update last_used_at (at most once a minute) */
    struct token_row row; /* out */
};

/* A page of tokens, newest first, without their hashes. */
struct store_tokens {
    const char *project; /* NULL = all, those of every project too */
    int64_t skip, limit;
    struct token_row *rows; /* out */
    size_t count;
    int64_t total;
};

/* Takes a token back; again is no error. NOT_FOUND: none of this id (in `project`). Audited. */
struct store_token_end {
    int64_t id;
    const char *project; /* NULL = any */
    const char *author;
    bool unchanged; /* out */
};

struct store_audit {
    int64_t skip, limit;
    const char *project;
    struct audit_entry *rows; /* out, newest first */
    size_t count;
    int64_t total;
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
