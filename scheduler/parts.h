/* What the modules of the scheduler share: its state, and what each module offers to the others. Nobody outside this
 * folder includes it.
 *
 * The way of a turn (scheduler_step): answers of ports come in through one inbox and are turned into events of runs;
 * then whatever is due is decided; every decision puts rows into a bundle; bundles go to the store in order, a batch at
 * a time; what waits for a commit (calls above all) is released by it. So "persist, then act" has one place.
 *
 * Ownership: the scheduler owns jobs, runs, applications. A job version is ref-counted (newest, ruling, each open run).
 * An open run is ref-counted (table, bundles under way, calls). */
#ifndef CARILLON_SCHEDULER_PARTS_H
#define CARILLON_SCHEDULER_PARTS_H

#include "scheduler/state.h"

static inline void wake_at(struct scheduler *s, mono at)
{
    s->wake = mono_min(s->wake, at);
}
/* Wall times become waits by today's difference of the two clocks; a step of the wall clock is seen at the next turn.
 */
static inline void wake_at_wall(struct scheduler *s, int64_t wall_ms)
{
    span wait = ms_sub(wall_ms, s->now.wall.ms);
    wake_at(s, mono_add(s->now.mono, wait < 0 ? 0 : wait));
}

/* scheduler.c */
struct work *work_new(struct scheduler *s, enum store_op_kind kind,
                      void (*then)(struct scheduler *s, struct work *work));
void work_submit(struct work *work);
/* Notes whether the store can be reached. true: the answer may be used. */
bool work_ok(struct scheduler *s, const struct work *work);

/* start.c: cluster, boot, fence of the own past, join */
void start_step(struct scheduler *s);
/* clock.c: jumps, offset, gaps */
void clock_read(struct scheduler *s, struct moment now);
void clock_step(struct scheduler *s);
bool clock_may_act(const struct scheduler *s);

/* ownership.c, slots.c, balance.c */
void ownership_event(void *context, const struct coordination_event *event);
void ownership_step(struct scheduler *s);
void ownership_tell(struct scheduler *s); /* the coordination: what this node is; the first time it joins */
void ownership_release(struct scheduler *s, int32_t slot); /* its claim; it stays ruled until the store says no */
void ownership_release_all(struct scheduler *s);
/* The coordination lists a claim of ours that we do not know: the reply of its creation was lost, or its release did
 * not arrive. Nobody else can claim the slot, so it is asked for, or let go of, once more. */
bool ownership_orphan(const struct scheduler *s, const struct slot *slot);
bool ownership_handed_over(const struct scheduler *s);
bool ownership_settled(const struct scheduler *s);
bool ownership_others(const struct scheduler *s);                   /* somebody else could take over */
void slots_answered(struct scheduler *s, struct work *work);        /* SLOTS_READ */
void slots_step(struct scheduler *s);                               /* take, load, gate */
void slots_rule(struct scheduler *s, int64_t poll);                 /* this poll has been answered */
struct slot *slot_get(struct scheduler *s, int32_t slot);           /* NULL: no such slot */
void slot_lost(struct scheduler *s, int32_t slot, const char *why); /* why NULL: said nowhere */
void slot_reload(struct scheduler *s, int32_t slot);                /* what we know of it is not what the store knows */
static inline bool slot_ruled(struct scheduler *s, int32_t slot)
{
    struct slot *x = slot_get(s, slot);
    return x && x->phase == SLOT_RULED;
}
bool node_alive(const struct scheduler *s, int64_t boot);
void ownership_wished(struct scheduler *s, enum node_wish wish);
/* Working, and nobody wishes it to be offline: it takes slots, runs of the dead, and the housekeeping. */
static inline bool node_serves(const struct scheduler *s)
{
    return s->state == SCHEDULER_WORKING && s->wish == NODE_WORK;
}
void balance_step(struct scheduler *s);   /* claims what should be ours, lets go of what should not */
void balance_gauges(struct scheduler *s); /* jobs owned and unowned, alarm */
void balance_slot_ruled(struct scheduler *s, struct slot *slot);

/* move.c: jobs that change their slot */
bool move_request(struct scheduler *s, struct job *job, const struct request_row *request, struct bundle *bundle);
bool move_stale(struct scheduler *s, const struct definition_row *row); /* says nothing new: not to be looked at */
bool move_arrived(struct scheduler *s,
                  const struct definition_row *row); /* its slot is read anew: nothing else to do */
void move_loaded(struct scheduler *s, const struct definition_row *row);
void moves_load(struct scheduler *s, int32_t slot); /* the slot's jobs are asked for */
bool move_of_slot(const struct scheduler *s, int32_t slot);
bool move_pending(const struct scheduler *s, int64_t job);
void moves_settled(struct scheduler *s);       /* what became of those of the batch under way */
void ownership_look_soon(struct scheduler *s); /* at what the store says of the slots */

/* replica.c: feed and definitions */
void replica_step(struct scheduler *s);
void replica_put(struct scheduler *s, const struct definition_row *row);  /* as the feed brings it */
void replica_load(struct scheduler *s, const struct definition_row *row); /* a job, as SLOTS_LOAD brings it */
void replica_stale(struct scheduler *s);
bool replica_fresh(struct scheduler *s); /* false: nothing fires before the feed was read again */
void replica_release(struct scheduler *s);
const char *project_timezone(struct scheduler *s, const char *project);
const struct calendar_spec *calendar_find(struct scheduler *s, const char *project, const char *name);

/* jobs.c: jobs, versions, triggers in memory */
struct job *job_find(struct scheduler *s, int64_t id);
struct job *job_need(struct scheduler *s, int64_t id, int64_t project_id, const char *project, const char *name,
                     int32_t slot);
void job_forget_if_idle(struct scheduler *s, struct job *job);
void job_disarm(struct scheduler *s, struct job *job); /* triggers away: the slot is not ours any more, or deleted */
void job_unrule(struct scheduler *s, struct job *job);
void job_free(struct scheduler *s, struct job *job);
/* slots.c: an open run of the job that another boot drives; it counts for overlap until it has ended. */
void job_foreign(struct scheduler *s, struct job *job, const struct run_row *row);
/* Makes the triggers of `version` the armed ones; cursors, counts and pauses of triggers of the same name stay. */
void job_rule(struct scheduler *s, struct job *job, struct job_version *version, instant from);
void job_recompile(struct scheduler *s, struct job *job);
struct trigger *job_trigger(struct job *job, const char *name);
bool job_run_open(const struct job *job, const char *trigger); /* of generation 0, ours or another boot's */
struct job_version *version_find(struct scheduler *s, int64_t job, int64_t version);
struct job_version *version_add(struct scheduler *s, int64_t job, int64_t version, const char *json);
struct job_version *version_ref(struct job_version *version);
void version_unref(struct scheduler *s, struct job_version *version);
static inline const struct job_spec *version_spec(const struct job_version *version)
{
    return &version->document->job;
}

/* planner.c */
void planner_step(struct scheduler *s);
void planner_arm(struct scheduler *s, struct trigger *trigger);
enum decide_mode {
    DECIDE_NOW,    /* as they are due */
    DECIDE_RESUME, /* they were held back by a pause: through the misfire policy */
    DECIDE_SKIP,   /* they were held back, and none is to run */
    DECIDE_GONE,   /* their job is deleted: none is to run */
};
/* Decides every promised instant in (decided, until]; the rows go into `bundle`, NULL: into one of its own. */
void planner_decide(struct scheduler *s, struct trigger *trigger, instant until, enum decide_mode mode,
                    struct bundle *bundle);
void planner_trigger_ended(struct scheduler *s, struct job *job, const char *trigger, instant end,
                           struct bundle *bundle);

/* delay.c: ends of runs that `delay` triggers count from */
void delay_ended(struct trigger *trigger, instant end);
void delay_recall(struct scheduler *s, struct job *job, struct trigger *trigger); /* after a load: is it known? */
void delay_ended_early(struct job *job, const char *trigger, instant end);        /* its triggers are not made yet */

/* activation.c */
void activation_step(struct scheduler *s);
void activation_fetch(struct scheduler *s, struct job *job); /* the document of the version that ruled before */
void activation_consider(struct scheduler *s,
                         struct job *job); /* newest is not ruling: write it when its time is there */
void activation_loaded(struct scheduler *s, struct job *job); /* the slot is ruled, or the job is new in it */
/* trigger NULL: the whole job. false: it is so already (nothing written). Rows go into `bundle`. */
bool activation_pause(struct scheduler *s, struct job *job, const char *trigger, instant at, struct bundle *bundle);
bool activation_resume(struct scheduler *s, struct job *job, const char *trigger, instant at, bool skip_missed,
                       struct bundle *bundle);

/* turns.c: whose turn it is */
size_t job_running(struct scheduler *s, struct job *job);
instant job_fired_at(const struct scheduler *s, const struct job *job); /* fired_at of a run that is made now */
/* What becomes of the trigger's instant `at`. *catching_up (given: it was missed) also tells whether it is late because
 * nobody could act at its time: then it is no overlap, whatever began since. */
enum overlap_verdict turns_judge(struct scheduler *s, struct job *job, const struct job_spec *spec,
                                 const struct trigger_spec *trigger, instant at, bool *catching_up);
/* Order of the queue, the same on every node: a run waits for its elders, so that no two wait for each other. */
bool run_elder(const struct run_row *a, const struct run_row *b);
void turns_queue(struct scheduler *s, struct open_run *run);
void turns_wake(struct scheduler *s, struct job *job);
void turns_limited(struct scheduler *s, struct open_run *run);
void turns_forget(struct scheduler *s, struct open_run *run);
void turns_step(struct scheduler *s);

/* lingers.c: calls that are over here, and perhaps not where they went */
void lingers_job(struct job *job, int64_t run, instant until); /* counts for overlap until then */
void lingers_run(struct scheduler *s, struct open_run *run,
                 struct bundle *bundle);                      /* it has ended: rows of what lingers */
void lingers_take(struct scheduler *s, struct open_run *run); /* it was adopted */
void lingers_load(struct scheduler *s, const struct linger_row *rows, size_t count); /* of a slot's ended runs */
/* An attempt was accepted or has ended: its serial instance is busy, or is not any more. */
void lingers_attempt(struct scheduler *s, struct open_run *run, const struct attempt_row *attempt);
/* Is the instance kept busy by such a call of somebody else than this step? */
bool lingers_at(struct scheduler *s, const struct application *application, const struct instance *instance,
                const struct open_run *run, const char *step);
void lingers_step(struct scheduler *s);
void lingers_release(struct scheduler *s);

/* driver.c */
struct open_run *driver_run_new(struct scheduler *s, const struct run_row *row, struct job *job,
                                struct job_version *version);
void driver_run_take(struct scheduler *s, struct run *run, struct job *job, struct job_version *version);
struct open_run *driver_find(struct scheduler *s, int64_t id);
/* Puts the run into `bundle` as a fire, begun at once when `begin`. */
void driver_fire(struct scheduler *s, struct open_run *run, bool begin, struct bundle *bundle);
void driver_begin(struct scheduler *s, struct open_run *run);
void driver_attempt(struct scheduler *s, struct open_run *run, const struct attempt_row *attempt);
/* The end of an attempt by a report, which is closed with it. */
void driver_report(struct scheduler *s, struct open_run *run, const struct attempt_row *attempt, int64_t report);
void driver_waits(struct scheduler *s, struct open_run *run, const char *reason); /* queued: why it does not begin */
void driver_cancel(struct scheduler *s, struct open_run *run, const char *reason);
void driver_settle(struct scheduler *s, struct open_run *run, struct bundle *bundle);
void driver_ended(struct scheduler *s, struct open_run *run, struct bundle *bundle); /* ending.c */
/* ending.c: makes the retry of `old` under this id; NULL: it is there already. */
struct open_run *retry_make(struct scheduler *s, const struct run_row *old, struct job *job,
                            struct job_version *version, int64_t id, instant due);
/* wishes.c: what schedulers ask of each other. false: not now, it stays open. */
bool wish_retry(struct scheduler *s, struct job *job, const struct request_row *request);
bool wish_suspend(struct scheduler *s, struct job *job, const struct request_row *request);
void driver_step(struct scheduler *s);
void driver_fire_answered(struct scheduler *s, struct open_run *run, enum store_outcome outcome);
void driver_ask(struct scheduler *s, struct open_run *run); /* what follows now? */
void driver_forget(struct scheduler *s, struct open_run *run);
void run_ref(struct open_run *run);
void run_unref(struct scheduler *s, struct open_run *run);

/* dispatcher.c, headers.c */
struct call *dispatcher_call_new(struct scheduler *s, struct open_run *run, const struct attempt_row *attempt,
                                 const struct step_spec *step);
void dispatcher_release(struct scheduler *s, struct call *call); /* its intent has committed */
void dispatcher_cancel(struct scheduler *s, struct call *call, enum call_class as);
void dispatcher_drop(struct scheduler *s, struct call *call); /* never sent: forget it */
void dispatcher_step(struct scheduler *s);
void dispatcher_collect(struct scheduler *s);
void headers_make(struct scheduler *s, struct call *call);

/* alive.c: signs of life of accepted calls */
void alive_watch(struct scheduler *s); /* there may be such calls from now on */
void alive_step(struct scheduler *s);
void alive_release(struct scheduler *s);

/* registered.c: instances that announce themselves */
void registered_polled(struct scheduler *s, int64_t number);
void registered_step(struct scheduler *s);

/* instances.c: applications, instances, circuits */
/* "project/name"; made when there is none. */
struct application *application_need(struct scheduler *s, const char *key);
void application_list(struct scheduler *s, struct application *application); /* its registered ones have changed */
struct application *application_find(struct scheduler *s, const char *key);  /* "project/name"; NULL */
void applications_put(struct scheduler *s, const struct definition_row *row, struct document *document);
void applications_drop(struct scheduler *s, int64_t id);
void applications_release(struct scheduler *s);
struct application *application_of(struct scheduler *s, const char *project, const struct step_spec *step);
struct instance *application_instance(struct application *application, const char *address);
const struct task_spec *application_task(const struct application *application, const char *task);
struct run_world world_of(struct scheduler *s, struct open_run *run);
/* NULL: the run may begin; else the limit that holds it back. */
const char *room_for(struct scheduler *s, const struct job *job, const struct job_spec *spec);
void instance_begin(struct scheduler *s, struct call *call);
void instance_end(struct scheduler *s, struct call *call);

/* room.c: what executors can bear is shared out among the schedulers that are alive */
int64_t room_share(const struct scheduler *s, int64_t limit);

/* circuit.c */
void instance_outcome(struct scheduler *s, struct call *call, enum call_class class);
bool circuit_open(struct scheduler *s, const struct instance *instance);
/* How many calls the instance may have at once, of `most`: one while it is tried, few when it has just come back. */
int32_t circuit_room(struct scheduler *s, const struct instance *instance, int32_t most);
bool pace_holds(struct scheduler *s, const char *address); /* its host takes no call now: too many a second */
void pace_take(struct scheduler *s, const char *address);
void paces_release(struct scheduler *s);

void cursor_move(struct scheduler *s, const char *project, const struct step_spec *step);

/* bundle.c, batcher.c */
struct bundle *bundle_new(struct scheduler *s);
void bundle_free(struct scheduler *s, struct bundle *bundle);
size_t bundle_rows(const struct bundle *bundle);
void bundle_fire(struct bundle *bundle, struct open_run *run);
void bundle_run(struct bundle *bundle, const struct run_row *row);
void bundle_wish(struct scheduler *s, struct bundle *bundle, const struct request_row *wish); /* gives it its id */
void bundle_linger(struct bundle *bundle, const struct linger_row *row);
void bundle_left(struct bundle *bundle, struct open_run *run);
void bundle_step(struct bundle *bundle, const struct step_row *row);
void bundle_attempt(struct bundle *bundle, const struct attempt_row *row);
void bundle_skip(struct scheduler *s, struct bundle *bundle, const struct trigger *trigger, instant from, instant to,
                 int64_t count, const char *reason);
void bundle_state(struct bundle *bundle, const struct trigger *trigger);
void bundle_activation(struct bundle *bundle, const struct job *job, const char *trigger, int64_t version,
                       enum activation_kind kind, instant from);
void bundle_move(struct bundle *bundle, const struct job *job, const char *pool, const char *node);
void bundle_job_state(struct bundle *bundle, const struct job *job, instant since); /* is it paused? */
void bundle_request(struct bundle *bundle, int64_t id, const char *outcome);
void bundle_report(struct bundle *bundle, int64_t id, const char *outcome); /* outcome: static text */
/* Hands it to the store queue (an empty one is freed). `lazy`: nothing is sent because of it. */
void bundle_put(struct scheduler *s, struct bundle *bundle, bool lazy);
struct run_row run_row_copy(struct arena *arena, const struct run_row *row);
struct attempt_row attempt_row_copy(struct arena *arena, const struct attempt_row *row);
struct step_row step_row_copy(struct arena *arena, const struct step_row *row);
void batch_settled(struct scheduler *s); /* settle.c: the batch under way has committed */
void batcher_step(struct scheduler *s);
void batcher_release(struct scheduler *s);
/* Rows of the slot are on their way to the store: what is loaded now would be older than they are. */
bool batcher_holds(const struct scheduler *s, int32_t slot);
bool batcher_quiet(const struct scheduler *s); /* nothing waits and nothing is under way */
static inline bool batcher_full(const struct scheduler *s)
{
    return s->queue_rows >= QUEUE_ROWS_MAX || s->queue_bytes >= QUEUE_BYTES_MAX;
}
static inline bool batcher_open(const struct scheduler *s) /* new fires make sense */
{
    return !s->batch.stalled && !batcher_full(s);
}

/* seen.c: what every poll shows until it is closed in the store, and is being carried out meanwhile */
bool seen_has(struct seen *set, int64_t id);
void seen_add(struct seen **set, int64_t id);
void seen_forget(struct seen **set, int64_t id); /* was not carried out: shows up again */
void seen_closed(struct seen *set, int64_t id, int64_t poll_number);
void seen_polled(struct seen **set, int64_t poll_number); /* this poll shows nothing that was closed before it */
void seen_release(struct seen **set);

/* requests.c */
/* Pauses that are wished: what a slot decides as it is ruled must not reach beyond them. */
void requests_foresee(struct scheduler *s, const struct request_row *rows, size_t count);
void requests_take(struct scheduler *s, const struct request_row *rows, size_t count);

/* reports.c */
void reports_take(struct scheduler *s, const struct report_row *rows, size_t count);
/* The newest attempt under this key; NULL: none. */
const struct attempt_row *reports_attempt(const struct run *run, const char *step, int32_t item, int32_t key_try);
void reports_addresses(struct scheduler *s); /* keeps s->callbacks fresh */

/* recovery.c */
void recovery_suspect(struct scheduler *s, int64_t boot);
/* A queued run was adopted for a job whose slot is not ours: it is held until its elders elsewhere are known. */
void recovery_others(struct scheduler *s, struct job *job);
bool recovery_settled(const struct scheduler *s);
void recovery_left(struct scheduler *s); /* runs of our slots that a draining boot has left: they become ours */
/* Open runs are being adopted: some may be ours in the store, but unknown here, or known here before their siblings. */
bool recovery_unread(const struct scheduler *s);
void recovery_step(struct scheduler *s);
void recovery_release(struct scheduler *s);

/* giving.c: a draining node gives its queued runs to the owners of their slots */
void giving_step(struct scheduler *s);
void giving_settled(struct scheduler *s, const struct bundle *bundle); /* it has committed */

/* janitor.c */
void janitor_step(struct scheduler *s);
void janitor_nodes_changed(struct scheduler *s); /* the leader may be gone */
bool janitor_through(struct scheduler *s);       /* fills batch.through; false: nothing to tell */
void janitor_decided(struct scheduler *s);

/* metrics.c */
void metrics_fired(struct scheduler *s, const struct run_row *row);
void metrics_gauges(struct scheduler *s);
static inline void count(int64_t *counter, int64_t more)
{
    __atomic_fetch_add(counter, more, __ATOMIC_RELAXED);
}

void scheduler_fenced(struct scheduler *s, const char *why);

#endif
