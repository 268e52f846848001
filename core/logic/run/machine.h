/* The run machine. `run_apply` says what became true; it is pure and is also the replay after a take-over.
 * `run_effects` says what to do about it: an idempotent list (asked twice, it says the same; nothing happens until an
 * effect comes back as an event).
 *
 *   queued ──start──▶ running ──▶ succeeded | failed | canceled | lost        (queued ──▶ canceled, too)
 *
 * Every event of a step or attempt is a row (core/model/run.h) with the run's next `seq`, given by run_apply; those of
 * the run itself (start, cancel, driver, end) are its run row. So a run's state equals the replay of its newest rows by
 * seq. The way of work, for the driver:
 *
 *     run_apply(run, event)            the row goes into the batch: run_attempt_row, run_step_row, run->row
 *     run_effects(run, now, world)     each effect becomes an event again (attempt started, step state, end), applied
 * at once in the order of the list, its row into the same batch; calls are sent when the batch has committed
 *
 * One list is complete: what follows from its own effects (a no-op's successors, skips, the end) stands behind them.
 *
 * What stands in which row:
 *  - A successful end makes its step succeeded; there is no step row. Any other end leaves the step "settling" (still
 *    running): run_effects answers with the next attempt, or with a step row (waiting with reason and due, failed,
 *    ignored, unknown, canceled).
 *  - Attempts number 1 of steps without predecessors that begin at the run's `started_at` stand in `run->row.start`
 * (kept up to date by run_apply) and need no row of their own until they are accepted or end.
 *  - The end of a run cancels the steps that have no end of their own; only the run row says so. The end of a fan does
 *    the same to its items.
 *  - A fan begins by a step row (running) with its list, which never changes; its later rows repeat it. Its items are
 *    rows and attempts of their own, numbered from 1.
 *  - RUN_EVENT_DRIVER may end several attempts at one seq: every attempt with `seq == run->seq` afterwards is a row to
 *    store.
 * More in docs/internals/run.md: failures, waiting, joins, what handles a failure.
 *
 * Invariants (asserted by run_check): terminal states never change; a step starts only when its join holds; per key at
 * most one definite end (not_sent and busy leave the key's effect as it was: they do not count); `key_try` rises only
 * after a definite end; n counts 1, 2, 3 …; no attempt of a step after its terminal state but stale.
 *
 * Ownership: the run copies every text it keeps (own memory, freed by run_free), but not the bodies of attempts
 * (request, response): those are the batch's. `job` is borrowed and must outlive it. Not for two threads at once.
 */
#ifndef CARILLON_CORE_LOGIC_RUN_MACHINE_H
#define CARILLON_CORE_LOGIC_RUN_MACHINE_H

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/logic/run/route.h"
#include "core/logic/text/template.h"
#include "core/model/run.h"

struct run_calls {
    struct attempt_row *attempts; /* in order of n; texts owned by the run */
    size_t attempt_count;
};

/* A step, or one item of a fan (broadcast, shard, map). A fan makes no call of its own: it runs from the row that
 * records its list until its items have ended; each item lives like a step that makes one call. */
struct run_step {
    const struct step_spec *spec;
    size_t index; /* in job->steps */
    int32_t item; /* 0: the step itself; the items of a fan count from 1 */
    enum step_state state;
    char *reason, *error, *result;
    instant due, since;
    struct run_calls calls;
    char *list; /* a fan that has begun: JSON array, one element an item (instances, or the values of a map) */
    struct run_step *items; /* item k at k − 1 */
    size_t item_count;
};

struct run {
    struct run_row row; /* texts owned by the run */
    const struct job_spec *job;
    struct run_step *steps; /* parallel to job->steps */
    int32_t seq;            /* of the last event applied */
    void *memory;           /* the machine's */
};

/* What the machine asks of the world around it. All borrowed, valid during the call. */
struct run_world {
    /* NULL: no such task (the step waits or fails with reason "task_gone"). */
    const struct task_spec *(*task)(void *context, const char *project, const char *application, const char *task);
    /* Instances of the step's application, or of its direct url (one, its authority). */
    size_t (*instances)(void *context, const char *project, const struct step_spec *step,
                        const struct route_instance **ret);
    uint32_t (*cursor)(void *context, const char *project, const char *application,
                       const char *task); /* does not move it */
    const struct zone *(*zone)(void *context, const char *name);
    uint64_t random; /* fresh number for this call */
    void *context;
    bool (*tls)(void *context, const char *project, const char *application); /* https? NULL: never */
    struct call_defaults defaults; /* of calls that say nothing; timeout 0: the built-in ones */
};

enum run_event_kind {
    RUN_EVENT_START,   /* queued → running, at */
    RUN_EVENT_ATTEMPT, /* an attempt started, was accepted, or ended */
    RUN_EVENT_STEP,    /* a step's state that is not its last attempt's */
    RUN_EVENT_CANCEL,  /* cancel was asked for */
    RUN_EVENT_DRIVER,  /* this boot drives it now (take-over): attempts of others that have not ended become
                          CALL_UNKNOWN, unless accepted */
    RUN_EVENT_END,     /* terminal state, with reason, error_code, error_args */
};

struct run_event {
    enum run_event_kind kind;
    instant at;
    struct attempt_row attempt;
    struct step_row step;
    enum run_state state; /* END */
    const char *reason, *error_code, *error_args;
    int64_t boot; /* DRIVER */
    const char *node;
};

enum run_effect_kind {
    EFFECT_ATTEMPT,     /* begin a call: `attempt` has step, item, n, key_try, instance */
    EFFECT_STEP,        /* record this step state */
    EFFECT_CANCEL_CALL, /* ask the dispatcher to end this attempt; `attempt.class` says as what (canceled, or timeout of
                           an accepted one). No call in hand (accepted): apply that end at once. It is said again until
                           the attempt has ended */
    EFFECT_END,         /* end the run: state, reason, error_code, error_args */
    EFFECT_AGAIN,       /* the last of its list: carry out what stands before it, and ask again at once */
    EFFECT_WAKE,        /* nothing now; ask again at `due` at the latest (one per list, the earliest) */
};

struct run_effect {
    enum run_effect_kind kind;
    struct attempt_row attempt;
    struct step_row step;
    enum run_state state;
    const char *reason, *error_code, *error_args;
    instant due;
};

/* STATUS_INVALID: the row is of another job. */
enum status run_create(const struct run_row *row, const struct job_spec *job, struct run **ret) MUST_USE;
void run_free(struct run *run);

/* STATUS_CONFLICT: not a legal move (nothing changed); err says which. STATUS_NO_MEMORY. A late answer of an ended step
 * is legal: its attempt becomes stale. */
enum status run_apply(struct run *run, const struct run_event *event, struct error *err) MUST_USE;
/* A queued run waits for this reason from now on; its row says so. STATUS_CONFLICT: it is not queued. */
enum status run_queue_reason(struct run *run, const char *reason) MUST_USE;
/* Texts in effects belong to the run and stay until the next run_effects on it. Returns the number written (<= cap);
 * when it equals cap, apply them and ask again (it never is by CANCEL_CALL and WAKE alone). cap >= 4. Waiting for an
 * instance or a limit is looked at in every call, so ask also when the world has changed. Only calls that can be
 * rendered are begun. */
size_t run_effects(const struct run *run, struct moment now, const struct run_world *world, struct run_effect *ret,
                   size_t cap);
/* Rows in any order → machine, by seq; start intent of the run row included. */
enum status run_replay(const struct run_row *row, const struct job_spec *job, const struct step_row *steps,
                       size_t step_count, const struct attempt_row *attempts, size_t attempt_count, struct run **ret,
                       struct error *err) MUST_USE;
/* Invariants; STATUS_CORRUPT with the broken one. */
enum status run_check(const struct run *run, struct error *err) MUST_USE;
/* Same state (for replay tests). */
bool run_equal(const struct run *a, const struct run *b, struct error *err);

const struct run_step *run_find_step(const struct run *run, const char *name);               /* NULL: none */
const struct run_step *run_find_item(const struct run *run, const char *step, int32_t item); /* NULL: none */
/* Whatever makes calls, one after the other: each step, then its items. Begin with NULL; NULL: no more. */
const struct run_step *run_each(const struct run *run, const struct run_step *last);
/* Attempts that are under way: started or accepted. */
size_t run_calls_open(const struct run *run);
/* Until when an executor may still be working for a call that ended unknown, timed out or canceled (its end + its
 * timeout; a definite answer under the same key settles it). INSTANT_NONE: nothing lingers. */
instant run_linger_until(const struct run *run, const struct run_world *world);
/* The same call by call, accepted ones included (they are at work). Begin with a linger of zeros; false: no more. */
struct run_linger {
    const struct attempt_row *attempt; /* the run's own */
    const struct step_spec *step;
    instant until;
    bool serial;               /* its task says that an instance takes one call at a time */
    const struct run_step *of; /* where to go on */
    size_t next;
};
bool run_linger_next(const struct run *run, const struct run_world *world, struct run_linger *linger);
instant run_deadline(const struct run *run); /* started_at (or fired_at) + job timeout */

/* One call, rendered from committed inputs alone (deterministic): what goes over the wire but for the headers of the
 * protocol. */
struct rendered_call {
    struct call_spec call; /* resolved: method, timeouts, rules; borrowed from run and world */
    struct str url;        /* full: scheme://host:port/path?query */
    struct str body;
    struct name_value *headers; /* own ones, rendered; owned */
    size_t header_count;
};
/* STATUS_INVALID with a text that names the template's fault; STATUS_TOO_BIG names step and sizes. */
enum status run_render(const struct run *run, const struct attempt_row *attempt, const struct run_world *world,
                       struct rendered_call *ret, struct error *err) MUST_USE;
void rendered_call_release(struct rendered_call *call);

/* run.start: intent of the start steps, as JSON text ([{"step","instance","seq","boot","node"}]; = run->row.start). */
void run_start_intent(const struct run *run, struct str *ret);

/* Error of an attempt that RUN_EVENT_DRIVER ended. The machine knows a take-over by this text, so it is part of the
 * rows' format. Such an end uses up no retry, and under every preset the call is repeated as the task's `repeat`
 * allows. */
#define RUN_ERROR_TAKEN_OVER "taken over: the scheduler that made this call is gone, its outcome is not known"

/* NULL: none. */
const struct attempt_row *run_find_attempt(const struct run *run, const char *step, int32_t item, int32_t n);
/* The row to store after run_apply of an attempt event: the run's own (seq, stale, times) with the event's bodies. */
void run_attempt_row(const struct run *run, const struct attempt_row *event, struct attempt_row *ret);
/* Is its executor to be told that nobody waits for this call any more? Only when its step has ended: while the same key
 * may be called again, the work is still wanted. Not so when the key was answered after all, or a later call of it says
 * the same. */
bool run_wants_notice(const struct run_step *step, const struct attempt_row *attempt);
/* What has become of that. No event: the run does not depend on it. */
void run_note_notice(struct run *run, const char *step, int32_t item, int32_t n, enum notice_state state);
/* The row to store after run_apply of a step event; `step` may be an item. Texts borrowed from the run. */
void run_step_row(const struct run *run, const struct run_step *step, struct step_row *ret);

#endif
