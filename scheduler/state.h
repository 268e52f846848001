/* The state of a scheduler: every structure that its modules share. Read basics.h first. */
#ifndef CARILLON_SCHEDULER_STATE_H
#define CARILLON_SCHEDULER_STATE_H

#include "core/base/heap.h"
#include "core/base/map.h"
#include "core/base/rng.h"
#include "core/base/vec.h"
#include "core/logic/run/answer.h"
#include "core/logic/run/failure.h"
#include "core/logic/run/graph.h"
#include "core/logic/run/machine.h"
#include "core/logic/run/overlap.h"
#include "core/logic/time/schedule.h"
#include "scheduler/scheduler.h"

#define FIRES_CALM 64         /* fires of one batch while the store keeps up: a short commit, a small lateness */
#define FIRES_STAMPEDE 256    /* when more is due than one calm batch takes; also the most fires of one turn */
#define BATCH_ROWS 1024       /* rows of all kinds in one batch; one bundle may exceed it alone */
#define QUEUE_ROWS_MAX 100000 /* rows waiting for the store; beyond it nothing is fired and no answer is read */
#define QUEUE_BYTES_MAX ((size_t)256 << 20)
#define LAZY_MS 10             /* an end that nothing waits for may wait so long for company in its batch */
#define LATE_SLACK SPAN_SECOND /* decided later than this: nobody could act at its time (semantics.md §2, overlap) */
#define POLL_LIMIT 500         /* changes of one poll */
#define LOAD_SLOTS 128         /* slots of one SLOTS_LOAD */
#define ADOPT_RUNS 100         /* runs of one RUNS_ADOPT */
#define CLOCK_ALARM 500        /* ms between our clock and the store's that raise an alarm */
#define CLOCK_STOP SPAN_SECOND /* ms beyond which nothing is claimed */
#define EFFECTS_MAX 32         /* effects asked for at once */
#define PRIORITIES 10
#define SCHEDULER_CALLBACKS 3 /* addresses of X-Carillon-Callback at most */

struct scheduler;
struct beat;
struct bundle;
struct call;
struct job;
struct notice;
struct open_run;

/* ---- store operations and their way back (scheduler.c) ------------------------------------------------------------
 */

/* One store operation under way. `then` runs in the next step, not in the completion. */
struct work {
    struct store_op op;
    struct scheduler *scheduler;
    void (*then)(struct scheduler *s, struct work *work);
    struct work *next;
    void *memory;   /* freed with the work: arrays of inputs */
    int64_t number; /* for `then` */
    mono submitted;
    instant submitted_wall;
    bool keep; /* set by `then`: the work lives on (it was submitted again) */
};

/* ---- definitions ---------------------------------------------------------------------------------------------------
 */

struct job_version {
    struct {
        int64_t job, version;
    } key;
    struct document *document;
    int refs;
    UT_hash_handle hh;
};

struct trigger {
    struct heap_entry timer; /* due: wall ms */
    struct job *job;
    const struct trigger_spec *spec; /* of the ruling version */
    struct schedule *schedule;       /* NULL: in error, `error` says why */
    char *error;
    instant decided; /* every instant at or before it is decided */
    instant next;    /* first undecided promised instant; INSTANT_MAX: none */
    instant activated, last_end, paused_since;
    int64_t fires;
    bool paused;
    bool error_stored; /* the store shows it in error */
    bool waiting;      /* delay: until its run has ended */
    bool fresh;        /* the version before had no trigger of this name */
};

/* What is remembered of a trigger by name, while no armed trigger holds it. */
struct memory {
    char *trigger;
    instant decided, activated, last_end, paused_since;
    int64_t fires;
    bool paused, known, state_known, error; /* known: it was activated once; state_known: the store has a state row */
    bool limited;                           /* it had max_fires: only then are they counted for good */
};

struct foreign_run { /* an open run of the job that another boot drives */
    int64_t id;
    char *trigger;
    instant fired_at;
    bool generation0;
    bool began;    /* when we heard of it */
    bool replaced; /* its cancel is wished for already */
};

struct linger { /* an executor may still be at work for an ended run */
    int64_t run;
    instant until;
};

/* A call that keeps its instance of a serial task busy without being in flight: accepted, or ended without a definite
 * answer. Whoever asks again under the same step may. */
struct busy {
    char *application; /* "project/name" */
    char *instance, *step;
    int64_t run;
    int32_t item, key_try, n;
    instant until;
};

struct job {
    int64_t id, project_id;
    char *project, *name;
    int32_t slot;
    int64_t moves;      /* how often it has changed its slot */
    bool loaded;        /* its slot is ruled by us and its cursors are known */
    bool deleted, gone; /* gone: its DELETE activation is written */
    bool busy;          /* the document of the ruling version is on its way */
    bool paused;        /* job_paused */
    bool in_ring, awake;
    int priority;                /* in the ring */
    struct job_version *newest;  /* as defined last; NULL for jobs known only by their runs */
    instant newest_at;           /* commit time of it, by the store's clock */
    bool changing, awaited;      /* the feed has told of a change that has not been read yet; a request waits for it */
    instant wished_pause;        /* from when on it is wished to be paused, until that is carried out; INSTANT_NONE */
    instant deleted_at;          /* when `deleted`; INSTANT_NONE: not known */
    struct job_version *ruling;  /* whose triggers are armed; NULL: none yet */
    int64_t ruling_version;      /* also while the document is on its way */
    struct heap_entry switching; /* a newer version waits for its time: wall ms */
    struct trigger *triggers;
    size_t trigger_count;
    struct open_run *all;   /* every open run of ours */
    struct open_run *queue; /* queued runs, oldest first */
    size_t running;         /* ours, begun and not ended */
    int32_t in_flight;
    VEC(struct memory) memory; /* from the store, until the triggers are made */
    VEC(struct foreign_run) foreign;
    VEC(struct linger) lingering;
    struct open_run *limited; /* begun runs with steps that wait for room */
    size_t open_runs;         /* ours */
    mono told_next;           /* when it may be told again why its queue waits */
    struct job *ring_prev, *ring_next;
    struct job *slot_prev, *slot_next;
    UT_hash_handle hh;
};

struct project {
    int64_t id;
    char *name, *timezone;
    UT_hash_handle hh;
};

struct calendar {
    int64_t id;
    char *key; /* "project/name" */
    struct document *document;
    UT_hash_handle hh, hh_id;
};

struct instance {
    char *address;
    int32_t in_flight;
    bool listed;        /* in the document */
    bool set_aside;     /* its circuit is open: circuit.c */
    bool probing;       /* one call is on its way to find out */
    bool slow;          /* it came back at `closed_at`, and starts slowly */
    int32_t unanswered; /* ends in a row without an answer */
    mono until;         /* next probe */
    mono closed_at;
    span pause; /* doubles */
};

struct application {
    char *key; /* "project/name"; of a direct url: its authority behind '=' */
    int64_t id;
    struct document *document; /* NULL: direct, or gone */
    VEC(struct instance *) instances;
    VEC(char *) registered;            /* addresses that announce themselves (registered.c), in order */
    int64_t registered_read;           /* the reading that showed them last */
    VEC(struct route_instance) routes; /* answer of the last question */
    int32_t in_flight;
    UT_hash_handle hh, hh_id;
};

struct cursor {
    char *key; /* "project/application/task" */
    uint32_t at;
    UT_hash_handle hh;
};

/* ---- runs ----------------------------------------------------------------------------------------------------------
 */

struct open_run {
    struct heap_entry timer; /* wall ms: due_at while queued, else when to ask for effects again */
    struct run *run;
    struct job_version *version;
    struct job *job;
    int64_t id;
    int refs;
    bool committed; /* its row is in the store */
    bool forgotten; /* its fire was refused: nothing of it may be written */
    bool ended;     /* applied; the row is on its way or committed */
    bool queued;    /* in job->queue */
    bool counted;   /* in job->running */
    bool limited;   /* in job->limited */
    bool held;      /* adopted; who else runs the job is not known yet */
    bool left;      /* given to whoever owns its slot: nothing more is written of it here */
    bool in_batch;  /* its fire is in the batch under way */
    bool notify;    /* an executor may have to be told that its call is not wanted any more */
    struct call *calls;
    struct open_run *prev, *next; /* job->queue */
    struct open_run *limited_prev, *limited_next;
    struct open_run *job_prev, *job_next; /* job->all */
    UT_hash_handle hh;
};

enum call_state { CALL_STATE_INTENT, CALL_STATE_READY, CALL_STATE_SENT, CALL_STATE_DONE };

struct call {
    struct dispatch_call wire;
    struct rendered_call rendered;
    bool rendered_set;
    enum call_state state;
    bool cancel, left;
    bool reported; /* a report has ended its attempt: whatever is answered says nothing new */
    enum call_class cancel_as;
    struct scheduler *scheduler;
    struct open_run *run;
    struct application *application;
    struct instance *instance;
    struct attempt_row attempt; /* texts owned by `arena` */
    struct arena arena;         /* headers and texts */
    enum success_rule rule;
    const char *success_when;
    bool async, cancelable;
    struct call *next;       /* in the run */
    struct call *inbox_next; /* ended, or ready to be sent */
};

/* ---- bundles and batches -------------------------------------------------------------------------------------------
 */

/* Rows that commit together, and what is released by their commit. All texts are copied into `arena`. */
struct bundle {
    struct bundle *next;
    struct arena arena;
    VEC(struct store_activation) activations;
    VEC(struct store_skip) skips;
    VEC(struct store_trigger_state) states;
    VEC(struct store_fire) fires;
    VEC(struct open_run *) fired; /* parallel to fires; holds a ref */
    VEC(struct run_row) runs;
    VEC(struct step_row) steps;
    VEC(struct attempt_row) attempts;
    VEC(struct request_done) closing;
    VEC(struct request_done) reports; /* closed by what stands here */
    VEC(int64_t) suspended;
    VEC(struct store_move) moves; /* texts in `arena` */
    VEC(struct linger_row) lingers;
    VEC(struct store_notice) notices;
    VEC(struct notice *) tells; /* begin when this has committed; owned until then */
    VEC(struct request_row) wishes;
    VEC(struct open_run *) left; /* holds a ref */
    VEC(struct call *) sends;
    VEC(struct request_done) requests; /* to be closed when this has committed and nothing was refused */
    struct open_run *run;              /* whose rows these are (no fires); holds a ref; NULL */
    bool lazy;
    mono made;
};

struct batch {
    bool busy, stalled;
    struct work *work;
    int64_t number;
    struct bundle *bundles; /* in the batch under way */
    mono retry_at, sent_at;
    span pause;
    VEC(struct store_activation) activations;
    VEC(struct store_skip) skips;
    VEC(struct store_trigger_state) states;
    VEC(struct store_fire) fires;
    VEC(struct run_row) runs;
    VEC(struct step_row) steps;
    VEC(struct attempt_row) attempts;
    VEC(struct request_done) requests, reports;
    VEC(int64_t) suspended;
    VEC(struct store_move) moves;
    bool moves_unsure;   /* the reply was lost: what became of the moves is not known */
    int64_t through_seq; /* change that the replica held when `through` was found out */
    VEC(struct linger_row) lingers;
    VEC(struct store_notice) notices;
    VEC(struct request_row) wishes;
    VEC(int64_t) left;
    VEC(struct slot_through) through; /* decided by now: told to the store when this batch has committed */
};

/* ---- slots ---------------------------------------------------------------------------------------------------------
 */

enum slot_phase {
    SLOT_FREE,     /* not ours */
    SLOT_CLAIMING, /* asked for */
    SLOT_WON,      /* claimed: the store must hear of it */
    SLOT_TAKING,
    SLOT_TAKEN, /* epoch is raised; jobs must be loaded */
    SLOT_LOADING,
    SLOT_LOADED, /* replica must reach feed_head */
    SLOT_RULED,
};

struct slot {
    enum slot_phase phase;
    int64_t czxid;      /* of our claim; 0: none held (a ruled slot without a claim is ruled until the store refuses) */
    int64_t jobs_known; /* load, from the store */
    int64_t feed_head;
    int64_t loaded_poll; /* the last poll that was submitted before its jobs were loaded */
    int64_t claim_boot;  /* who holds the claim; 0: nobody */
    char claim_node[32];
    mono free_since; /* unclaimed since; MONO_NEVER while claimed */
    mono retry_at;   /* after a refusal: not before */
    instant ruled_since;
    bool stale;       /* a job came while it was being loaded: once more */
    bool retaking;    /* ruled all the while; a new claim is told to the store */
    mono leaving;     /* let go of for another node: not claimed here before */
    mono move_since;  /* it should move to another node; 0: it need not */
    mono left_at;     /* when it left this node; 0: it was never here */
    char *pool, *pin; /* bound to, as the store says; NULL = not */
    struct job *jobs;
};

struct moving {         /* a job that this node is moving away */
    int64_t job, moves; /* as it was before */
    int32_t slot;
    bool reply_lost; /* did it take place? The slot is loaded once more */
    bool unsure;     /* that load is under way: it tells */
};

struct seen { /* a request or report that is being carried out */
    int64_t id;
    bool closed;
    int64_t closed_poll; /* polls submitted later than this one cannot show it any more */
    UT_hash_handle hh;
};

enum dead_phase {
    DEAD_SUSPECT,
    DEAD_FENCE,
    DEAD_FENCING,
    DEAD_LEASE,
    DEAD_LEASING,
    DEAD_ADOPT,
    DEAD_ADOPTING,
    DEAD_DONE
};

struct dead_boot {
    int64_t boot;
    enum dead_phase phase;
    mono since, retry_at;
    bool reply_lost;   /* of a RUNS_ADOPT: its runs are ours in the store, but unknown here */
    int64_t skip;      /* of the list that answers that */
    int reading;       /* runs of that list under way */
    struct work *rows; /* adopted, not all replayed yet */
    size_t next_row;
    bool fetching; /* the document of its version */
};

struct scheduler {
    struct scheduler_options options;
    struct scheduler_ports ports;
    const struct settings *settings;
    enum scheduler_state state;
    char *node, *address;
    struct moment now;
    mono wake;
    bool busy; /* work is left: come back at once */
    struct rng rng;
    struct scheduler_metrics metrics;

    struct work *inbox_head, **inbox_tail;
    struct call *answers_head, **answers_tail;
    size_t works; /* under way */

    int start_phase;
    mono start_retry, enter_word; /* enter_word: when to say that the coordination has not answered yet */
    bool unanswered;              /* that was said */
    int64_t generation, boot, previous_boot;
    uint64_t sequence;

    /* clock */
    struct moment raw; /* as the machine's clocks say; `now.wall` is the store's when they differ too much */
    struct moment last_step;
    bool hold; /* nothing fires and nothing is sent until the own boot row was read again */
    mono hold_since;
    span jumped; /* of the wall clock, since it was measured last */
    bool reading_boot;
    mono next_boot_read;
    int64_t clock_offset;
    bool clock_bad;
    instant able_since; /* from here on nothing kept us from deciding what was due */

    /* coordination */
    char *refusal; /* text */
    enum status refusal_status;
    bool joined, connected, nodes_known, claims_known, refused, node_dirty, node_told, was_lost;
    mono settled_at;
    VEC(struct coordination_node) nodes;
    VEC(struct coordination_claim) claims;
    VEC(struct coordination_event) claim_events;
    bool ownership_dirty;
    mono next_ownership, next_slots_read, slots_read_at;
    bool reading_slots, slots_read_once;
    VEC(struct moving) moving;
    mono next_move;      /* of a slot to another node, for balance */
    enum node_wish wish; /* an operator's, as the store told last */
    bool told_offline;
    bool capacity_alarm;
    bool taking, loading;
    mono take_retry, load_retry;
    size_t slot_count, claims_pending, slots_coming; /* coming: won, not ruled yet */
    struct slot *slots;
    mono store_down_since;
    bool told_store_down;
    VEC(struct dead_boot) dead;
    VEC(int64_t) others; /* jobs of other owners whose queued runs we adopted: who else runs them? */
    bool others_asked;
    mono others_retry;
    size_t foreign_count;
    int turn_fires;

    /* replica */
    struct project *projects;
    struct calendar *calendars, *calendars_by_id;
    struct application *applications, *applications_by_id;
    struct cursor *cursors;
    struct job *jobs;
    struct job_version *versions;
    int64_t feed_seen;  /* last change asked for */
    int64_t feed_seq;   /* last change that is in the replica; −1: nothing loaded yet */
    int64_t feed_reads; /* DEFINITIONS under way that feed_seen waits for */
    int reload_kind;    /* kind that is being loaded whole; DOCUMENT_KINDS: none */
    bool feed_failed;
    bool feed_stale, feed_asked; /* stale: an edit may have been missed; asked: a poll has been read since */
    int64_t feed_stale_poll;     /* polls up to this one say nothing of it */
    int64_t reload_after;
    mono reload_retry;
    bool poking, polling;
    mono next_poll;
    struct beat *beats; /* accepted calls that promised a sign of life (alive.c) */
    int64_t alive_since;
    mono next_alive;
    bool alive_watched, reading_alive, alive_failed;
    int64_t instances_number, instances_read; /* as polled last; as of the list that we have */
    int64_t instances_readings;
    mono instances_due, instances_retry; /* 0 = not; when the first of them expires; not before */
    bool reading_instances;
    int64_t poll_number;
    struct seen *requests, *reports;
    struct seen *left; /* runs given away: a poll may still show wishes for them */

    /* planning */
    struct heap timers, switches, alarms;
    struct open_run *runs;
    struct job *ring[PRIORITIES];
    VEC(struct job *) turns; /* jobs whose queue may move */
    bool room_freed;
    mono next_ring; /* when something about room changes by itself, at the latest */
    struct pace *paces;
    VEC(struct busy) busy_calls;

    /* store queue */
    struct bundle *queue_head, **queue_tail;
    size_t queue_rows, queue_fires, queue_bytes;
    bool urgent;
    struct batch batch;
    mono next_decided;
    bool deciding;

    /* dispatch */
    struct call *ready_head, **ready_tail;
    int32_t in_flight;
    struct notice *notices; /* notices.c */
    bool world_full;        /* the last question found something full */
    struct open_run *world_run;
    int64_t begun; /* runs of ours that have begun and not ended */

    /* housekeeping */
    bool leader, leasing, retaining, foreign_reading;
    bool store_nearly_full; /* said so in the log */
    mono next_lease, next_retention, next_foreign;
    mono lease_eager;    /* until then the lease is asked for often: its holder may have let go of it */
    size_t foreign_skip; /* how many of them the last question has passed */

    /* where executors report to: "http://host:port"; NULL = none */
    char *callbacks[SCHEDULER_CALLBACKS];
    bool callback_fixed, reading_addresses;
    mono next_addresses;

    /* drain */
    mono drain_until;
    bool leaving; /* the store is being told that this boot ends */
    mono next_giving, next_left;
    mono leave_until;
};

#endif
