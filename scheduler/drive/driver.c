/* Events of runs → rows → what follows. Every change of a run goes through here: an event is applied, its row joins the
 * bundle, the effects are asked for and become events at once; calls leave when the bundle has committed. */
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "scheduler/call/call.h"
#include "scheduler/drive/drive.h"
#include "scheduler/fire/fire.h"
#include "scheduler/know/know.h"
#include "scheduler/own/own.h"
#include "scheduler/write/write.h"

#define TELL_EVERY SPAN_SECOND /* a job under load does not write a row for each run that waits a moment */
#define WAKE_LEAST 5           /* ms: a run that wants to be asked at once again is not asked in a circle */

/* ---- life ----------------------------------------------------------------------------------------------------------
 */

struct open_run *driver_find(struct scheduler *s, int64_t id)
{
    struct open_run *run = NULL;
    HASH_FIND(hh, s->runs, &id, sizeof id, run);
    return run;
}

void run_ref(struct open_run *run)
{
    run->refs++;
}

static void run_destroy(struct scheduler *s, struct open_run *run)
{
    struct job *job = run->job;
    heap_remove(&s->alarms, &run->timer);
    HASH_DELETE(hh, s->runs, run);
    DL_DELETE2(job->all, run, job_prev, job_next);
    run_free(run->run);
    version_unref(s, run->version);
    free(run);
    job->open_runs--;
    job_forget_if_idle(s, job);
}

/* The table holds one reference; a run that has ended leaves it with the last of the others: then its end is
 * committed and no call of it is under way. */
void run_unref(struct scheduler *s, struct open_run *run)
{
    if (--run->refs == 1 && (run->ended || run->forgotten))
        run_destroy(s, run);
}

static struct open_run *add(struct scheduler *s, struct run *machine, struct job *job, struct job_version *version)
{
    struct open_run *run = mem_new(struct open_run);
    run->run = machine;
    run->id = machine->row.id;
    run->job = job;
    run->version = version_ref(version);
    run->refs = 1;
    job->open_runs++;
    DL_APPEND2(job->all, run, job_prev, job_next);
    HASH_ADD(hh, s->runs, id, sizeof run->id, run);
    return run;
}

/* NULL: the row does not fit the job, or this run is known already. */
struct open_run *driver_run_new(struct scheduler *s, const struct run_row *row, struct job *job,
                                struct job_version *version)
{
    struct run *machine = NULL;
    if (driver_find(s, row->id))
        return NULL;
    enum status status = run_create(row, version_spec(version), &machine);
    if (status != STATUS_OK) {
        sink_logf(s->ports.sink, LOG_ERROR, "A run cannot be made.", "job=%s/%s status=\"%s\"", job->project, job->name,
                  status_text(status));
        return NULL;
    }
    return add(s, machine, job, version);
}

static void count_running(struct scheduler *s, struct open_run *run, bool on)
{
    if (run->counted == on)
        return;
    run->counted = on;
    s->begun += on ? 1 : -1;
    run->job->running += on ? 1 : (size_t)-1;
}

/* Nothing of it is (or was) accepted by the store: it leaves at once, with whatever it had begun. */
void driver_forget(struct scheduler *s, struct open_run *run)
{
    run->forgotten = true;
    count_running(s, run, false);
    turns_forget(s, run);
    heap_remove(&s->alarms, &run->timer);
    turns_wake(s, run->job);
    run->refs++;                         /* ours, while its calls go */
    if (s->state == SCHEDULER_STOPPED) { /* the end of everything: bundles are gone already */
        while (run->calls)
            dispatcher_drop(s, run->calls);
        run->refs = 2;
    }
    run_unref(s, run);
}

/* ---- effects -------------------------------------------------------------------------------------------------------
 */

static bool apply(struct scheduler *s, struct open_run *run, const struct run_event *event)
{
    struct error err = {0};
    if (run_apply(run->run, event, &err) == STATUS_OK)
        return true;
    sink_logf(s->ports.sink, LOG_WARN, "An event does not fit the run's state and is left out.",
              "run=%lld reason=\"%s\"", (long long)run->id, err.text);
    return false;
}

static void begin_attempt(struct scheduler *s, struct open_run *run, const struct run_effect *effect,
                          struct bundle *bundle)
{
    struct run_event event = {.kind = RUN_EVENT_ATTEMPT, .at = s->now.wall, .attempt = effect->attempt};
    event.attempt.state = ATTEMPT_STARTED;
    event.attempt.boot = s->boot;
    event.attempt.node = s->node;
    event.attempt.started_at = s->now.wall;
    event.attempt.ended_at = INSTANT_NONE;
    const char *intent = run->run->row.start;
    if (!apply(s, run, &event))
        return;
    struct attempt_row row;
    run_attempt_row(run->run, &event.attempt, &row);
    if (run->run->row.start == intent) /* else its intent stands in the run row */
        bundle_attempt(bundle, &row);
    else if (bundle->run == run)
        bundle_run(bundle, &run->run->row);
    const struct run_step *step = run_find_step(run->run, row.step);
    struct call *call = dispatcher_call_new(s, run, &row, step->spec);
    vec_add(&bundle->sends, call);
    cursor_move(s, run->job->project, step->spec);
}

static void record_step(struct scheduler *s, struct open_run *run, const struct run_effect *effect,
                        struct bundle *bundle)
{
    struct run_event event = {.kind = RUN_EVENT_STEP, .at = s->now.wall, .step = effect->step};
    if (!apply(s, run, &event))
        return;
    struct step_row row;
    run_step_row(run->run, run_find_item(run->run, effect->step.step, effect->step.item), &row);
    bundle_step(bundle, &row);
}

/* true: it changed the run. */
static bool attempt_over(struct scheduler *s, struct open_run *run, const struct attempt_row *attempt,
                         struct bundle *bundle)
{
    struct run_event event = {.kind = RUN_EVENT_ATTEMPT, .at = s->now.wall, .attempt = *attempt};
    if (!apply(s, run, &event))
        return false;
    struct attempt_row row;
    run_attempt_row(run->run, attempt, &row);
    bundle_attempt(bundle, &row);
    lingers_attempt(s, run, &row);
    run->notify |= row.notice_to && row.state == ATTEMPT_ENDED;
    if (row.class < CALL_CLASSES)
        count(&s->metrics.attempts_ended[row.class], 1);
    return !row.stale;
}

/* true: something changed at once. */
static bool cancel_call(struct scheduler *s, struct open_run *run, const struct run_effect *effect,
                        struct bundle *bundle)
{
    for (struct call *call = run->calls; call; call = call->next)
        if (call->attempt.n == effect->attempt.n && call->attempt.item == effect->attempt.item &&
            strcmp(call->attempt.step, effect->attempt.step) == 0) {
            dispatcher_cancel(s, call, effect->attempt.class);
            return false;
        }
    struct attempt_row row = effect->attempt; /* accepted: no call in hand */
    row.state = ATTEMPT_ENDED;
    row.ended_at = s->now.wall;
    if (row.class == CALL_NONE || row.class == CALL_ACCEPTED)
        row.class = CALL_CANCELED;
    row.connect_ms = row.first_byte_ms = row.total_ms = -1;
    row.retry_after = -1;
    (void)attempt_over(s, run, &row, bundle);
    return true;
}

static void end_run(struct scheduler *s, struct open_run *run, const struct run_effect *effect, struct bundle *bundle)
{
    struct run_event event = {.kind = RUN_EVENT_END,
                              .at = s->now.wall,
                              .state = effect->state,
                              .reason = effect->reason,
                              .error_code = effect->error_code,
                              .error_args = effect->error_args};
    if (!apply(s, run, &event))
        return;
    if (bundle->run == run)
        bundle_run(bundle, &run->run->row);
    count_running(s, run, false);
    heap_remove(&s->alarms, &run->timer);
    driver_ended(s, run, bundle);
}

static void set_alarm(struct scheduler *s, struct open_run *run, instant due)
{
    heap_remove(&s->alarms, &run->timer);
    if (instant_cmp(due, INSTANT_MAX) == 0 || instant_is_none(due))
        return;
    int64_t at = due.ms < s->now.wall.ms + WAKE_LEAST ? s->now.wall.ms + WAKE_LEAST : due.ms;
    if (heap_add(&s->alarms, &run->timer, at) != STATUS_OK)
        abort();
}

void driver_settle(struct scheduler *s, struct open_run *run, struct bundle *bundle)
{
    struct run_effect effects[EFFECTS_MAX];
    s->world_full = false;
    bool again = true;
    for (int rounds = 0; again && !run->ended && rounds < 1000; rounds++) {
        struct run_world world = world_of(s, run);
        size_t n = run_effects(run->run, s->now, &world, effects, EFFECTS_MAX);
        again = n == EFFECTS_MAX;
        instant wake = INSTANT_MAX;
        for (size_t i = 0; i < n; i++) {
            switch (effects[i].kind) {
            case EFFECT_ATTEMPT:
                begin_attempt(s, run, &effects[i], bundle);
                break;
            case EFFECT_STEP:
                record_step(s, run, &effects[i], bundle);
                break;
            case EFFECT_CANCEL_CALL:
                again |= cancel_call(s, run, &effects[i], bundle);
                break;
            case EFFECT_END:
                end_run(s, run, &effects[i], bundle);
                break;
            case EFFECT_WAKE:
                wake = effects[i].due;
                break;
            case EFFECT_AGAIN:
                again = true;
                break;
            default:
                break;
            }
        }
        if (!run->ended)
            set_alarm(s, run, wake);
    }
    if (run->notify)
        notices_mark(s, run, bundle);
    if (s->world_full && !run->ended && run->run->row.state == RUN_RUNNING)
        turns_limited(s, run);
}

/* ---- what happens to runs ------------------------------------------------------------------------------------------
 */

static struct bundle *bundle_of(struct scheduler *s, struct open_run *run)
{
    struct bundle *bundle = bundle_new(s);
    bundle->run = run;
    run_ref(run);
    return bundle;
}

static void put(struct scheduler *s, struct bundle *bundle)
{
    bundle_put(s, bundle, bundle->sends.count == 0 && bundle->fires.count == 0);
}

static bool start(struct scheduler *s, struct open_run *run)
{
    struct run_event event = {.kind = RUN_EVENT_START, .at = s->now.wall};
    if (!apply(s, run, &event))
        return false;
    count_running(s, run, true);
    return true;
}

void driver_fire(struct scheduler *s, struct open_run *run, bool begin, struct bundle *bundle)
{
    if (begin && start(s, run))
        driver_settle(s, run, bundle);
    bundle_fire(bundle, run);
    if (!begin)
        turns_queue(s, run);
}

void driver_begin(struct scheduler *s, struct open_run *run)
{
    struct bundle *bundle = bundle_of(s, run);
    turns_forget(s, run);
    heap_remove(&s->alarms, &run->timer);
    (void)start(s, run);
    driver_settle(s, run, bundle);
    bundle_run(bundle, &run->run->row);
    bundle_put(s, bundle, false);
}

void driver_attempt(struct scheduler *s, struct open_run *run, const struct attempt_row *attempt)
{
    if (run->forgotten)
        return;
    struct bundle *bundle = bundle_of(s, run);
    (void)attempt_over(s, run, attempt, bundle);
    if (!run->ended)
        driver_settle(s, run, bundle);
    put(s, bundle);
}

void driver_report(struct scheduler *s, struct open_run *run, const struct attempt_row *attempt, int64_t report)
{
    struct bundle *bundle = bundle_of(s, run);
    bool taken = attempt_over(s, run, attempt, bundle);
    for (struct call *call = run->calls; call; call = call->next) /* it came before the 202 */
        call->reported |= call->attempt.n == attempt->n && call->attempt.item == attempt->item &&
                          strcmp(call->attempt.step, attempt->step) == 0;
    bundle_report(bundle, report, taken ? REPORT_OUTCOME_TAKEN : REPORT_OUTCOME_STALE);
    if (!run->ended)
        driver_settle(s, run, bundle);
    put(s, bundle);
}

void driver_cancel(struct scheduler *s, struct open_run *run, const char *reason)
{
    if (run->ended || run->forgotten || run->left)
        return;
    struct bundle *bundle = bundle_of(s, run);
    struct run_event event = {.kind = RUN_EVENT_CANCEL, .at = s->now.wall, .reason = reason};
    if (apply(s, run, &event)) {
        bundle_run(bundle, &run->run->row);
        driver_settle(s, run, bundle);
    }
    put(s, bundle);
}

void driver_waits(struct scheduler *s, struct open_run *run, const char *reason)
{
    const char *now = run->run->row.reason;
    if (now && strcmp(now, reason) == 0)
        return;
    if (mono_cmp(s->now.mono, run->job->told_next) < 0) {
        s->next_ring = mono_min(s->next_ring, run->job->told_next);
        return;
    }
    if (run_queue_reason(run->run, reason) != STATUS_OK)
        return;
    run->job->told_next = mono_add(s->now.mono, TELL_EVERY);
    struct bundle *bundle = bundle_of(s, run);
    bundle_run(bundle, &run->run->row);
    bundle_put(s, bundle, true);
}

void driver_ask(struct scheduler *s, struct open_run *run)
{
    if (run->ended || run->forgotten || run->left)
        return;
    struct bundle *bundle = bundle_of(s, run);
    driver_settle(s, run, bundle);
    put(s, bundle);
}

/* A run of a fenced boot is ours now: its unanswered calls are unknown, and it goes on. */
void driver_run_take(struct scheduler *s, struct run *machine, struct job *job, struct job_version *version)
{
    struct open_run *run = add(s, machine, job, version);
    run->committed = true;
    for (size_t i = 0; i < job->foreign.count; i++)
        if (job->foreign.items[i].id == run->id) {
            free(job->foreign.items[i].trigger);
            vec_remove_swap(&job->foreign, i);
            s->foreign_count--;
            break;
        }
    struct bundle *bundle = bundle_of(s, run);
    struct run_event event = {.kind = RUN_EVENT_DRIVER, .at = s->now.wall, .boot = s->boot, .node = s->node};
    int32_t before = machine->seq;
    if (apply(s, run, &event) && machine->seq != before)
        for (const struct run_step *step = run_each(machine, NULL); step; step = run_each(machine, step))
            for (size_t k = 0; k < step->calls.attempt_count; k++)
                if (step->calls.attempts[k].seq == machine->seq)
                    bundle_attempt(bundle, &step->calls.attempts[k]);
    lingers_take(s, run);
    if (run_calls_open(machine) > 0)
        alive_watch(s);
    notices_take(s, run);
    if (machine->row.state == RUN_QUEUED) {
        if (machine->row.cancel_requested)
            driver_settle(s, run, bundle);
        else {
            turns_queue(s, run);
            if (!job->loaded) {
                run->held = true;
                recovery_others(s, job);
            }
        }
    } else {
        count_running(s, run, true);
        driver_settle(s, run, bundle);
    }
    put(s, bundle);
}

void driver_fire_answered(struct scheduler *s, struct open_run *run, enum store_outcome outcome)
{
    if (outcome == OUTCOME_DONE) {
        run->committed = true;
        if (run->queued)
            turns_wake(s, run->job);
        return;
    }
    const struct trigger *trigger = job_trigger(run->job, run->run->row.trigger);
    bool reload = outcome == OUTCOME_EXISTS && trigger && trigger->waiting;
    int32_t slot = run->job->slot;
    driver_forget(s, run); /* EXISTS: somebody has fired it already. SLOT_LOST: it is not ours to fire */
    if (reload)
        slot_reload(s, slot); /* its end, which a `delay` counts from, will not be seen here */
}

void driver_step(struct scheduler *s)
{
    struct heap_entry *entry;
    while ((entry = heap_first(&s->alarms)) && entry->due <= s->now.wall.ms) {
        struct open_run *run = (struct open_run *)(void *)((char *)entry - offsetof(struct open_run, timer));
        heap_remove(&s->alarms, entry);
        if (run->queued)
            turns_wake(s, run->job);
        else
            driver_ask(s, run);
    }
    if (entry)
        wake_at_wall(s, entry->due);
}
