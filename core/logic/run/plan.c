/* What follows when a step is ready, waits, or has an attempt that did not succeed (semantics.md §4). */
#include "core/logic/run/plan.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/duration.h"
#include "core/base/hash.h"
#include "core/logic/run/failure.h"

/* ---- what the attempts tell ------------------------------------------------------------------------------------- */

static bool is_taken_over(const struct attempt_row *attempt)
{
    return attempt->class == CALL_UNKNOWN && attempt->error && !strcmp(attempt->error, RUN_ERROR_TAKEN_OVER);
}

bool attempt_hard(const struct attempt_row *attempt)
{
    return attempt->state == ATTEMPT_ENDED && !attempt_soft(attempt) && !is_taken_over(attempt);
}

static int hard_count(const struct run_calls *item)
{
    int count = 0;
    for (size_t i = 0; i < item->attempt_count; i++)
        count += attempt_hard(&item->attempts[i]);
    return count;
}

/* The newest attempt under the present key whose outcome is still not known; NULL: the key is settled. A refusal or a
 * call that never left says nothing of the work that an earlier call under the same key may have begun. */
static const struct attempt_row *unsettled(const struct run_step *step)
{
    const struct run_calls *item = &step->calls;
    for (size_t i = item->attempt_count; i-- > 0;) {
        const struct attempt_row *attempt = &item->attempts[i];
        if (attempt->key_try != item->attempts[item->attempt_count - 1].key_try)
            break;
        if (!call_class_definite(attempt->class))
            return attempt;
        if (!attempt_soft(attempt))
            break;
    }
    return NULL;
}

int32_t next_key_try(const struct run_step *step)
{
    const struct attempt_row *last = last_attempt(step);
    if (!last)
        return 1;
    return unsettled(step) ? last->key_try : last->key_try + 1;
}

enum step_state failure_state(const struct step_spec *spec)
{
    return spec->on_failure == FAILURE_IGNORE || spec->on_exhausted == EXHAUSTED_IGNORE ? STEP_IGNORED : STEP_FAILED;
}

static bool is_one_of(const char *reason, const char *const *reasons)
{
    while (reason && *reasons)
        if (!strcmp(reason, *reasons++))
            return true;
    return false;
}

bool reason_is_limit(const char *reason)
{
    static const char *const limits[] = {
        REASON_JOB_LIMIT, REASON_LIMIT, "application_limit", "scheduler_limit", "rate_limit", "linger", NULL};
    return is_one_of(reason, limits);
}

bool reason_is_wait(const char *reason)
{
    static const char *const others[] = {REASON_RETRY, REASON_WAIT, NULL};
    return reason && !reason_is_limit(reason) && !is_one_of(reason, others);
}

static void plan_call(struct view *v, const char *instance)
{
    if (v->run->job->max_in_flight > 0 && v->picks->open >= v->run->job->max_in_flight)
        plan_wait(v, REASON_JOB_LIMIT, INSTANT_NONE, instant_add(v->now, POLL_MAX)); /* other calls' ends wake it */
    else
        *v->plan = (struct plan){.kind = PLAN_CALL, .instance = instance, .key_try = next_key_try(v->step)};
}

static const char *failure_text(struct view *v)
{
    const struct attempt_row *last = v->last;
    return note_textf(v->machine, "%s (attempt %d at %s)%s%.300s", call_class_text(last->class), (int)last->n,
                      last->instance, last->error ? ": " : "", last->error ? last->error : "");
}

static void plan_fail(struct view *v)
{
    enum step_state state = failure_state(v->spec);
    bool open = !call_class_definite(v->last->class) || unsettled(v->step);
    if (state == STEP_FAILED && open && v->call.repeat == REPEAT_NEVER)
        state = STEP_UNKNOWN;
    plan_end(v, state, failure_text(v));
}

/* ---- waiting for a place ---------------------------------------------------------------------------------------- */

static instant wait_began(const struct view *v)
{
    return instant_is_none(v->memory->wait_since) ? v->now : v->memory->wait_since;
}

/* true: the step has waited for long enough, and has failed. */
static bool wait_is_over(struct view *v, const char *reason)
{
    char length[DURATION_SIZE];
    if (instant_cmp(v->now, instant_add(wait_began(v), v->call.wait_timeout)) < 0)
        return false;
    const char *text =
        note_textf(v->machine, "waited %s (wait_timeout) and could not call: %s%s%.300s",
                   duration_format(v->call.wait_timeout, length), reason, v->last && v->last->error ? ": " : "",
                   v->last && v->last->error ? v->last->error : "");
    plan_end(v, failure_state(v->spec), text);
    return true;
}

void plan_wait_for_place(struct view *v, const char *reason)
{
    if (wait_is_over(v, reason))
        return;
    span waited = instant_sub(v->now, wait_began(v));
    span pause = waited < POLL_MIN ? POLL_MIN : waited > POLL_MAX ? POLL_MAX : waited;
    instant end = instant_add(wait_began(v), v->call.wait_timeout);
    plan_wait(v, reason, INSTANT_NONE, instant_min(end, instant_add(v->now, pause)));
}

/* How often this instance has been asked in vain, without a real end between. */
static int times_asked(const struct run_calls *item, const char *instance)
{
    int times = 0;
    for (size_t i = item->attempt_count; i-- > 0 && attempt_soft(&item->attempts[i]);)
        times += !strcmp(item->attempts[i].instance, instance);
    return times;
}

/* An executor may ask for time, not for all of it: whatever it says, the step looks again when its patience
 * (wait_timeout) or the time of its run is over. */
static instant cap_wish(const struct view *v, instant due, instant patience_from)
{
    return instant_min(instant_min(due, instant_add(patience_from, v->call.wait_timeout)), run_deadline(v->run));
}

/* All live instances were asked once: a pause, as long as the first of them said, or 1 s doubling to 60 s. */
static void wait_after_round(struct view *v)
{
    const struct run_calls *item = &v->step->calls;
    const char *reason = v->last->class == CALL_BUSY ? REASON_BUSY : REASON_UNREACHABLE;
    instant due = INSTANT_MAX;
    if (wait_is_over(v, reason))
        return;
    for (size_t i = item->attempt_count; i-- > 0 && attempt_soft(&item->attempts[i]);) {
        const struct attempt_row *attempt = &item->attempts[i];
        if (attempt->seq < v->memory->row_seq)
            break;
        due = instant_min(due, instant_add(attempt->ended_at, attempt->retry_after > 0
                                                                  ? attempt->retry_after
                                                                  : busy_delay(times_asked(item, attempt->instance))));
    }
    due = instant_max(due, instant_add(v->last->ended_at, POLL_MIN));
    plan_wait(v, reason, cap_wish(v, due, wait_began(v)), INSTANT_NONE);
}

static void call_or_wait(struct view *v, const struct choice *c)
{
    if (c->found)
        plan_call(v, c->found);
    else if (c->limit)
        plan_wait(v, reason_is_limit(c->reason) ? c->reason : REASON_LIMIT, INSTANT_NONE,
                  instant_add(v->now, POLL_MAX));
    else
        plan_wait_for_place(v, c->reason && strcmp(c->reason, "all_tried") != 0 ? c->reason : "no_instance");
}

/* ---- moves ------------------------------------------------------------------------------------------------------ */

/* Where the step must go because an outcome there is not known yet; NULL: free. */
static const char *bound_to(const struct view *v)
{
    const struct attempt_row *open = unsettled(v->step);
    return open && v->call.repeat != REPEAT_ANYWHERE ? open->instance : NULL;
}

static bool preset_transfers(const struct view *v)
{
    return v->spec->on_failure == FAILURE_TRANSFER || v->spec->on_failure == FAILURE_RETRY_TRANSFER;
}

static bool transfer_stage(const struct view *v)
{
    int hard = hard_count(&v->step->calls);
    return preset_transfers(v) && hard > (v->spec->on_failure == FAILURE_TRANSFER ? 0 : v->spec->retry.max);
}

/* not_sent, busy: each live instance once, then a pause, then again. */
static void move_next_instance(struct view *v)
{
    struct choice c = {.only = bound_to(v), .not_hard = transfer_stage(v) && !bound_to(v), .not_this_round = true};
    bool in_turn = v->spec->routing == ROUTE_ROUND_ROBIN || v->spec->routing == ROUTE_SHARD;
    if (!c.only && in_turn && !v->served)
        c.after = v->last->instance;
    if (!choose(v, &c))
        return;
    if (c.found)
        plan_call(v, c.found);
    else if (v->served)
        call_or_wait(v, &c);
    else
        wait_after_round(v);
}

static bool elapsed(const struct view *v)
{
    span limit = v->spec->retry.max_elapsed;
    return limit > 0 && instant_sub(v->now, v->step->calls.attempts[0].started_at) > limit;
}

/* May the present end be answered by another call at the same place (or as `repeat` says)? */
static bool may_retry(const struct view *v, enum failure_move move)
{
    const struct retry_policy *policy = &v->spec->retry;
    bool wanted = move == MOVE_RETRY_SAME || move == MOVE_RETRY_THEN_TRANSFER || move == MOVE_REPEAT;
    if (policy->on)
        wanted = policy->on >> v->last->class & 1U;
    else if (move == MOVE_REPEAT && v->spec->on_failure == FAILURE_TRANSFER && v->call.repeat == REPEAT_ANYWHERE)
        wanted = false; /* moves on at once */
    return wanted && hard_count(&v->step->calls) <= policy->max && !elapsed(v);
}

static double random_share(const struct view *v)
{
    return (double)(hash_mix(v->world->random + v->index + (uint64_t)v->step->item) >> 11) / (double)(1ULL << 53);
}

static void retry(struct view *v)
{
    int retry_no = hard_count(&v->step->calls);
    span said = v->last->retry_after > v->call.wait_timeout ? v->call.wait_timeout : v->last->retry_after;
    span policy = retry_delay(&v->spec->retry, retry_no, -1, random_share(v));
    span delay = said > policy ? said : policy;
    if (delay > 0 && !v->served) {
        instant due = instant_add(v->last->ended_at, delay);
        plan_wait(v, REASON_RETRY, said > policy ? instant_min(due, run_deadline(v->run)) : due, INSTANT_NONE);
        return;
    }
    bool open = unsettled(v->step) != NULL;
    struct choice c = {.only = open ? bound_to(v) : v->last->instance, .after = open ? v->last->instance : NULL};
    if (!choose(v, &c))
        return;
    if (!c.found && !c.limit && c.only && !open) { /* the place is gone, and it owes us nothing */
        c = (struct choice){.after = v->last->instance};
        if (!choose(v, &c))
            return;
    }
    call_or_wait(v, &c);
}

/* Each other instance once, at once. */
static void transfer(struct view *v)
{
    struct choice c = {.not_hard = true, .after = v->last->instance};
    if (!choose(v, &c))
        return;
    if (!c.found && !c.limit)
        plan_fail(v);
    else
        call_or_wait(v, &c);
}

/* The scheduler that called is gone: the same question again, whatever the preset, and no retry is used up. */
static void repeat_after_take_over(struct view *v)
{
    struct choice c = {.only = v->last->instance};
    if (!choose(v, &c))
        return;
    if (!c.found && !c.limit && v->call.repeat == REPEAT_ANYWHERE) {
        c = (struct choice){.after = v->last->instance};
        if (!choose(v, &c))
            return;
    }
    call_or_wait(v, &c);
}

static void plan_after(struct view *v)
{
    enum call_class class = v->last->class;
    enum failure_move move = failure_move_of(class, v->spec->on_failure);
    bool open = !call_class_definite(class);
    if (move == MOVE_CANCELED)
        plan_end(v, STEP_CANCELED, failure_text(v));
    else if (move == MOVE_NEXT_INSTANCE)
        move_next_instance(v);
    else if (open && v->call.repeat == REPEAT_NEVER)
        plan_fail(v);
    else if (is_taken_over(v->last))
        repeat_after_take_over(v);
    else if (may_retry(v, move))
        retry(v);
    else if (preset_transfers(v) && (!open || v->call.repeat == REPEAT_ANYWHERE) && !elapsed(v))
        transfer(v);
    else
        plan_fail(v);
}

static void plan_first(struct view *v)
{
    struct choice c = {.only = v->spec->routing == ROUTE_SHARD ? v->assigned : NULL};
    if (!choose(v, &c))
        return;
    if (c.only && !c.found && !c.limit) { /* any instance can do this share of the work */
        c = (struct choice){.after = c.only};
        if (!choose(v, &c))
            return;
    }
    call_or_wait(v, &c);
}

struct view view_of(const struct run *run, const struct run_step *step, struct moment now,
                    const struct run_world *world, struct plan *plan)
{
    return (struct view){.run = run,
                         .step = step,
                         .spec = step->spec,
                         .memory = memory_of(run, step),
                         .last = last_attempt(step),
                         .world = world,
                         .machine = machine_of(run),
                         .index = step->index,
                         .now = now.wall,
                         .plan = plan};
}

void plan_step(const struct run *run, const struct run_step *step, struct moment now, const struct run_world *world,
               const struct plan_picks *picks, struct plan *ret)
{
    struct view v = view_of(run, step, now, world, ret);
    v.picks = picks;
    v.assigned = item_instance(run, step);
    bool row_is_newer = v.step->state == STEP_WAITING && (!v.last || v.memory->row_seq > v.last->seq);
    if (row_is_newer && !instant_is_none(v.step->due) && instant_cmp(v.now, v.step->due) < 0) {
        plan_wait(&v, v.step->reason, v.step->due, INSTANT_NONE);
        return;
    }
    v.served = row_is_newer && v.memory->row_seq > 0;
    if (!call_of(run, v.spec, world, &v.call)) {
        v.call = call_spec_resolve(NULL, v.spec);
        plan_wait_for_place(&v, REASON_TASK_GONE);
        return;
    }
    if (v.last)
        plan_after(&v);
    else
        plan_first(&v);
}
