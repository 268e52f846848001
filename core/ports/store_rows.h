/* Rows that only the store port knows: what its operations take and give (core/ports/store.h tells who owns the texts).
 * Jobs and runs themselves are the model's. */
#ifndef CARILLON_CORE_PORTS_STORE_ROWS_H
#define CARILLON_CORE_PORTS_STORE_ROWS_H

#include "core/base/instant.h"
#include "core/model/document.h"
#include "core/model/run.h"

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
    int64_t boot;                /* 0 = none is known */
    bool fenced, draining;       /* that boot; draining: as it told itself */
    instant started_at, seen_at; /* of it */
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

#endif
