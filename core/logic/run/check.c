#include <string.h>

#include "core/logic/run/internal.h"

/* ---- invariants ------------------------------------------------------------------------------------------------- */

#define BROKEN(...) return error_set(err, STATUS_CORRUPT, __VA_ARGS__)

static bool is_soft(const struct attempt_row *attempt)
{
    return attempt->class == CALL_NOT_SENT || attempt->class == CALL_BUSY;
}

static enum status check_attempt(const struct run_step *step, size_t k, struct error *err)
{
    const struct attempt_row *a = &step->calls.attempts[k];
    const char *name = step->spec->name;
    if (a->n != (int32_t)k + 1)
        BROKEN("step %s: attempt %zu is missing", name, k + 1);
    if (!a->instance)
        BROKEN("step %s: attempt %d names no instance", name, (int)a->n);
    if (k + 1 < step->calls.attempt_count && a->state != ATTEMPT_ENDED)
        BROKEN("step %s: attempt %d is open, but a later one has begun", name, (int)a->n);
    if ((a->state == ATTEMPT_ENDED) == (a->class == CALL_NONE || a->class == CALL_ACCEPTED))
        BROKEN("step %s: attempt %d is %s with class \"%s\"", name, (int)a->n, attempt_state_text(a->state),
               call_class_text(a->class));
    if (a->class == CALL_SUCCESS && !a->stale && step->state != STEP_SUCCEEDED)
        BROKEN("step %s: attempt %d succeeded, but the step is %s", name, (int)a->n, step_state_text(step->state));
    return STATUS_OK;
}

/* `try` rises after a definite end alone; a call that never left, or was refused, leaves an unsettled key as it is. */
static enum status check_keys(const struct run_step *step, struct error *err)
{
    const struct run_calls *item = &step->calls;
    int32_t key = 1;
    bool open = false;    /* an outcome under this key is not known */
    bool settled = false; /* a definite answer under this key */
    bool late = false;
    for (size_t k = 0; k < item->attempt_count; k++) {
        const struct attempt_row *a = &item->attempts[k], *before = k ? a - 1 : NULL;
        late |= before && before->stale; /* its class is not what was known then */
        if (a->key_try != key && !(late && (a->key_try == key || a->key_try == before->key_try)))
            BROKEN("step %s: attempt %d has key %d where %d is due", step->spec->name, (int)a->n, (int)a->key_try,
                   (int)key);
        if (before && a->key_try != before->key_try)
            open = settled = false;
        key = a->key_try;
        bool answer = a->state == ATTEMPT_ENDED && call_class_definite(a->class) && !is_soft(a) && !a->stale;
        if (answer && settled)
            BROKEN("step %s: two definite ends under key %d", step->spec->name, (int)key);
        settled |= answer;
        if (!call_class_definite(a->class))
            open = true;
        else if (!is_soft(a) || !open)
            key++;
    }
    return STATUS_OK;
}

/* A fan makes no call itself, and its items run while it does. */
static enum status check_fan(const struct run_step *step, struct error *err)
{
    const char *name = step->spec->name;
    if (step->calls.attempt_count)
        BROKEN("step %s has attempts beside those of its items", name);
    if (step->state == STEP_RUNNING && !step->list)
        BROKEN("step %s runs without a list of items", name);
    for (size_t k = 0; k < step->item_count; k++) {
        const struct run_step *item = &step->items[k];
        bool begun = item->calls.attempt_count || item->state != STEP_WAITING || item->reason;
        if (begun && step->state == STEP_WAITING)
            BROKEN("step %s waits, but its item %zu has begun", name, k + 1);
        if (step_state_terminal(step->state) && !step_state_terminal(item->state))
            BROKEN("step %s is %s, but its item %zu is %s", name, step_state_text(step->state), k + 1,
                   step_state_text(item->state));
    }
    return STATUS_OK;
}

static enum status check_step(const struct run *run, const struct run_step *step, struct error *err)
{
    const struct run_calls *item = &step->calls;
    const char *name = step->spec->name;
    struct error why;
    for (size_t k = 0; k < item->attempt_count; k++) {
        enum status status = check_attempt(step, k, err);
        if (status)
            return status;
    }
    enum status status = check_keys(step, err);
    if (status)
        return status;
    bool begun = item->attempt_count || (step->state == STEP_WAITING && step->reason);
    if (!step->item && (begun || step->list) &&
        join_of(run, machine_of(run)->assumed, step->index, NULL, &why) != JOIN_READY)
        BROKEN("step %s has begun, but its join does not hold", name);
    if (step->state == STEP_SKIPPED && item->attempt_count)
        BROKEN("step %s is skipped, but has attempts", name);
    if (step_fans(step->spec) && !step->item)
        return check_fan(step, err);
    if (step->state == STEP_RUNNING && !item->attempt_count)
        BROKEN("step %s runs without an attempt", name);
    if (step->state == STEP_WAITING && step_is_open(step))
        BROKEN("step %s waits, but attempt %d is under way", name, (int)last_attempt(step)->n);
    return STATUS_OK;
}

enum status run_check(const struct run *run, struct error *err)
{
    const struct run_row *row = &run->row;
    enum step_state *states = machine_of(run)->assumed;
    for (size_t i = 0; i < run->job->step_count; i++)
        states[i] = run->steps[i].state;
    for (const struct run_step *step = run_each(run, NULL); step; step = run_each(run, step)) {
        enum status status = check_step(run, step, err);
        if (status)
            return status;
    }
    for (size_t i = 0; i < run->job->step_count; i++) {
        if (row->state == RUN_QUEUED && (run->steps[i].state != STEP_WAITING || run->steps[i].reason))
            BROKEN("the run is queued, but step %s has begun", run->steps[i].spec->name);
        if (run_state_terminal(row->state) && !step_state_terminal(states[i]))
            BROKEN("the run is %s, but step %s is %s", run_state_text(row->state), run->steps[i].spec->name,
                   step_state_text(states[i]));
    }
    if (run_state_terminal(row->state) == instant_is_none(row->ended_at))
        BROKEN("the run is %s, and its end is %s", run_state_text(row->state),
               instant_is_none(row->ended_at) ? "missing" : "told");
    return STATUS_OK;
}

/* ---- equality --------------------------------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static bool same_time(instant a, instant b)
{
    return a.ms == b.ms;
}

static bool same_attempt(const struct attempt_row *a, const struct attempt_row *b)
{
    return a->run == b->run && a->item == b->item && a->n == b->n && a->key_try == b->key_try && a->seq == b->seq &&
           a->state == b->state && a->class == b->class && same_text(a->instance, b->instance) && a->boot == b->boot &&
           same_text(a->node, b->node) && same_time(a->started_at, b->started_at) &&
           same_time(a->ended_at, b->ended_at) && a->http_status == b->http_status && a->stale == b->stale &&
           same_text(a->error, b->error) && same_text(a->code, b->code) && a->retry_after == b->retry_after &&
           same_text(a->result, b->result);
}

static bool same_memory(const struct step_memory *a, const struct step_memory *b)
{
    return a->row_seq == b->row_seq && same_time(a->wait_since, b->wait_since);
}

static bool same_step(const struct run *a, const struct run_step *x, const struct run *b, const struct run_step *y,
                      struct error *err)
{
    const char *name = x->spec->name;
    if (x->state != y->state)
        return (void)error_set(err, STATUS_CORRUPT, "step %s: %s or %s", name, step_state_text(x->state),
                               step_state_text(y->state)),
               false;
    bool same = same_text(x->reason, y->reason) && same_text(x->error, y->error) && same_text(x->result, y->result) &&
                same_time(x->due, y->due) && same_time(x->since, y->since) && same_text(x->list, y->list) &&
                x->calls.attempt_count == y->calls.attempt_count;
    if (same && !step_state_terminal(x->state)) /* what only decisions need is of no use after the end */
        same = same_memory(memory_of(a, x), memory_of(b, y));
    if (!same)
        return (void)error_set(err, STATUS_CORRUPT, "step %s: reason, error, result or times differ", name), false;
    for (size_t k = 0; k < x->calls.attempt_count; k++)
        if (!same_attempt(&x->calls.attempts[k], &y->calls.attempts[k]))
            return (void)error_set(err, STATUS_CORRUPT, "step %s: attempt %zu differs", name, k + 1), false;
    return true;
}

bool run_equal(const struct run *a, const struct run *b, struct error *err)
{
    const struct run_row *x = &a->row, *y = &b->row;
    if (a->job->step_count != b->job->step_count || x->id != y->id)
        return (void)error_set(err, STATUS_CORRUPT, "two different runs"), false;
    if (a->seq != b->seq)
        return (void)error_set(err, STATUS_CORRUPT, "seq %d or %d", (int)a->seq, (int)b->seq), false;
    bool same = x->state == y->state && x->cancel_requested == y->cancel_requested && x->boot == y->boot &&
                same_time(x->started_at, y->started_at) && same_time(x->ended_at, y->ended_at) &&
                same_text(x->reason, y->reason) && same_text(x->error_code, y->error_code) &&
                same_text(x->error_args, y->error_args) && same_text(x->node, y->node);
    if (!same)
        return (void)error_set(err, STATUS_CORRUPT, "the run's rows differ"), false;
    const struct run_step *left = run_each(a, NULL), *right = run_each(b, NULL);
    for (; left && right; left = run_each(a, left), right = run_each(b, right))
        if (!same_step(a, left, b, right, err))
            return false;
    return true;
}
