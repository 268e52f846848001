#include <string.h>

#include "core/logic/run/list.h"

static bool list_full(const struct list *l)
{
    return l->count >= l->cap;
}

static void wake_at(struct list *l, instant due)
{
    if (!instant_is_none(due))
        l->wake = instant_min(l->wake, due);
}

/* ---- steps ------------------------------------------------------------------------------------------------------ */

static struct step_row *say_step(struct list *l, size_t i, enum step_state state, const char *reason, const char *error)
{
    struct run_effect *effect = list_add(l, EFFECT_STEP);
    effect->step = (struct step_row){.run = l->run->row.id,
                                     .step = l->run->job->steps[i].name,
                                     .state = state,
                                     .reason = reason,
                                     .error = error,
                                     .due = INSTANT_NONE,
                                     .since = l->now.wall};
    l->machine->assumed[i] = state == STEP_WAITING ? STEP_RUNNING : state; /* it has begun */
    return &effect->step;
}

static void say_wait(struct list *l, size_t i, const char *reason, instant due, instant poll)
{
    const struct run_step *step = &l->run->steps[i];
    wake_at(l, due);
    wake_at(l, poll);
    bool as_before = step->state == STEP_WAITING && step->reason && !strcmp(step->reason, reason) &&
                     instant_cmp(step->due, due) == 0;
    if (as_before)
        return;
    struct step_row *row = say_step(l, i, STEP_WAITING, note_text(l->machine, reason), NULL);
    row->due = due;
    if (reason_is_wait(reason) && !instant_is_none(l->machine->steps[i].wait_since))
        row->since = l->machine->steps[i].wait_since; /* patience is counted from the first wait */
}

static bool has_template(const char *text)
{
    return text && strstr(text, "${");
}

/* Is there anything in this call that rendering could refuse? */
static bool may_not_render(const struct step_spec *spec, const struct call_spec *call)
{
    return call->header_count || call->query_count || (!spec->task && call->url) || has_template(spec->params) ||
           (spec->params && strlen(spec->params) > LIMIT_REQUEST / 2);
}

/* A call that cannot be rendered is never begun: its step fails with the reason. */
static bool renders(struct list *l, size_t i, const struct attempt_row *attempt, const char **ret_error)
{
    const struct step_spec *spec = &l->run->job->steps[i];
    struct call_spec call;
    struct rendered_call rendered;
    struct error err;
    if (attempt->n > 1 || !call_of(l->run, spec, l->world, &call) || !may_not_render(spec, &call))
        return true;
    enum status status = render_call(l->run, l->machine->assumed, attempt, l->world, &rendered, &err);
    if (!status)
        rendered_call_release(&rendered);
    else
        *ret_error = note_text(l->machine, err.text);
    return !status || status == STATUS_NO_MEMORY;
}

static void say_call(struct list *l, size_t i, const struct plan *plan)
{
    const struct run *run = l->run;
    const struct step_spec *spec = &run->job->steps[i];
    const char *error = NULL;
    struct attempt_row attempt = {.run = run->row.id,
                                  .step = spec->name,
                                  .n = (int32_t)item_of(&run->steps[i])->attempt_count + 1,
                                  .key_try = plan->key_try,
                                  .state = ATTEMPT_STARTED,
                                  .instance = plan->instance,
                                  .boot = run->row.boot,
                                  .node = run->row.node,
                                  .started_at = l->now.wall,
                                  .ended_at = INSTANT_NONE,
                                  .connect_ms = -1,
                                  .first_byte_ms = -1,
                                  .total_ms = -1,
                                  .retry_after = -1};
    if (!renders(l, i, &attempt, &error)) {
        (void)say_step(l, i, failure_state(spec), NULL, error);
        return;
    }
    list_add(l, EFFECT_ATTEMPT)->attempt = attempt;
    l->machine->assumed[i] = STEP_RUNNING;
    l->open++;
}

static void advance_http(struct list *l, size_t i)
{
    struct plan plan;
    struct plan_picks picks = {.effects = l->effects, .count = l->count, .open = l->open};
    plan_step(l->run, i, l->now, l->world, &picks, &plan);
    switch (plan.kind) {
    case PLAN_CALL:
        say_call(l, i, &plan);
        return;
    case PLAN_WAIT:
        say_wait(l, i, plan.reason, plan.due, plan.poll);
        return;
    case PLAN_END:
        (void)say_step(l, i, plan.state, NULL, plan.error);
        return;
    }
}

static void advance_wait(struct list *l, size_t i)
{
    const struct run_step *step = &l->run->steps[i];
    if (!step->reason && step->spec->wait > 0)
        say_wait(l, i, REASON_WAIT, instant_add(l->now.wall, step->spec->wait), INSTANT_NONE);
    else if (step->reason && instant_cmp(l->now.wall, step->due) < 0)
        wake_at(l, step->due);
    else
        (void)say_step(l, i, STEP_SUCCEEDED, NULL, NULL);
}

static void advance(struct list *l, size_t i)
{
    switch (l->run->job->steps[i].kind) {
    case STEP_HTTP:
        advance_http(l, i);
        return;
    case STEP_NOOP:
        (void)say_step(l, i, STEP_SUCCEEDED, NULL, NULL);
        return;
    case STEP_WAIT:
        advance_wait(l, i);
        return;
    case STEP_JOB:
    case STEP_APPROVAL:
    case STEP_MAP:
        break;
    }
    (void)say_step(l, i, STEP_FAILED, NULL, "steps of this kind are not available yet in this version");
}

/* The join of a step that has not begun. true: it may begin. */
static bool join_holds(struct list *l, size_t i)
{
    struct error err;
    switch (join_of(l->run, l->machine->assumed, i, l->world, &err)) {
    case JOIN_READY:
        return true;
    case JOIN_SKIP:
        (void)say_step(l, i, STEP_SKIPPED, "predecessors", NULL);
        l->machine->steps[i].told = true;
        return false;
    case JOIN_BROKEN:
        (void)say_step(l, i, STEP_FAILED, NULL, note_text(l->machine, err.text));
        l->machine->steps[i].told = true;
        return false;
    case JOIN_PENDING:
        break;
    }
    return false;
}

static const char *stop_reason(const struct list *l)
{
    return l->run->row.cancel_requested ? REASON_CANCELED : REASON_DEADLINE;
}

static bool is_limit(const char *reason)
{
    return reason && (!strcmp(reason, REASON_JOB_LIMIT) || !strcmp(reason, REASON_LIMIT));
}

/* There is room for one call more: whoever waits for it is looked at again. */
static void room_again(struct list *l)
{
    l->open--;
    for (size_t i = 0; i < l->run->job->step_count; i++)
        if (is_limit(l->run->steps[i].reason))
            l->machine->steps[i].told = false;
    for (size_t k = 0; k < l->count; k++)
        if (l->effects[k].kind == EFFECT_STEP && is_limit(l->effects[k].step.reason))
            l->machine->steps[step_index(l->run, l->effects[k].step.step)].told = false;
}

/* A join went on in this very list, without a step that the list had something else for: that is taken back. */
static void cancel_in_list(struct list *l, size_t i)
{
    const char *name = l->run->job->steps[i].name;
    for (size_t k = 0; k < l->count; k++) {
        struct run_effect *effect = &l->effects[k];
        bool call = effect->kind == EFFECT_ATTEMPT && !strcmp(effect->attempt.step, name);
        if (!call && !(effect->kind == EFFECT_STEP && !strcmp(effect->step.step, name)))
            continue;
        size_t count = l->count;
        l->count = k;
        (void)say_step(l, i, STEP_CANCELED, REASON_CANCEL_REST, NULL);
        l->count = count;
        if (call)
            room_again(l);
        return;
    }
    (void)say_step(l, i, STEP_CANCELED, REASON_CANCEL_REST, NULL);
}

static void visit(struct list *l, size_t i)
{
    const struct run_step *step = &l->run->steps[i];
    struct step_memory *memory = &l->machine->steps[i];
    bool begun = step->reason || item_of(step)->attempt_count;
    if (step_state_terminal(l->machine->assumed[i]) || step_is_open(step))
        return;
    if (l->stopping) {
        (void)say_step(l, i, STEP_CANCELED, stop_reason(l), NULL);
        memory->told = true;
    } else if (join_cancels(l->run, l->machine->assumed, i)) {
        cancel_in_list(l, i);
        memory->told = true;
    } else if (!memory->told && (begun || join_holds(l, i))) {
        advance(l, i);
        memory->told = true;
    }
}

/* Predecessors first, so that one pass carries on through everything that follows at once. A join that cancels the rest
 * looks backwards: hence twice and more, until no state changes. */
static void visit_all(struct list *l)
{
    size_t before, ended = 0;
    do {
        before = ended;
        for (size_t k = 0; k < l->run->job->step_count && !list_full(l); k++)
            visit(l, l->machine->order[k]);
        ended = 0;
        for (size_t i = 0; i < l->run->job->step_count; i++)
            ended += step_state_terminal(l->machine->assumed[i]);
    } while (l->machine->cancels && ended > before && !list_full(l));
}

/* ---- calls to end ----------------------------------------------------------------------------------------------- */

/* As what an open attempt is to end now; CALL_NONE: it goes on. */
static enum call_class unwanted(struct list *l, size_t i, const struct attempt_row *attempt)
{
    struct call_spec call;
    if (l->stopping || step_state_terminal(l->run->steps[i].state) || join_cancels(l->run, l->machine->assumed, i))
        return CALL_CANCELED;
    if (attempt->state != ATTEMPT_ACCEPTED)
        return CALL_NONE;
    span timeout = call_of(l->run, l->run->steps[i].spec, l->world, &call) ? call.timeout : CALL_TIMEOUT_DEFAULT;
    instant due = instant_add(attempt->started_at, timeout); /* until then a report may come */
    if (instant_cmp(l->now.wall, due) >= 0)
        return CALL_TIMEOUT;
    wake_at(l, due);
    return CALL_NONE;
}

/* They change nothing until the call has ended, so they never fill the list: whoever asks again when it is full would
 * ask for ever. */
static void say_cancels(struct list *l)
{
    for (size_t i = 0; i < l->run->job->step_count && l->count + 2 < l->cap; i++) {
        const struct attempt_row *last = last_attempt(&l->run->steps[i]);
        if (!last || !attempt_open(last))
            continue;
        enum call_class class = unwanted(l, i, last);
        if (class == CALL_NONE)
            continue;
        struct run_effect *effect = list_add(l, EFFECT_CANCEL_CALL);
        effect->attempt = *last;
        effect->attempt.class = class;
    }
}

/* ---- the list */

static bool all_ended(const struct list *l)
{
    for (size_t i = 0; i < l->run->job->step_count; i++)
        if (!step_state_terminal(l->machine->assumed[i]) || step_is_open(&l->run->steps[i]))
            return false;
    return true;
}

static void list_running(struct list *l)
{
    const struct run *run = l->run;
    instant deadline = run_deadline(run);
    l->open = (int)run_calls_open(run);
    l->stopping = run->row.cancel_requested || instant_cmp(l->now.wall, deadline) >= 0;
    for (size_t i = 0; i < run->job->step_count; i++) {
        l->machine->assumed[i] = run->steps[i].state;
        l->machine->steps[i].told = false;
    }
    visit_all(l);
    if (list_full(l))
        return;
    if (all_ended(l)) {
        conclude(l);
        return;
    }
    if (!l->stopping)
        wake_at(l, deadline);
    say_cancels(l);
    if (l->wake.ms != INSTANT_MAX.ms && !list_full(l))
        list_add(l, EFFECT_WAKE)->due = l->wake;
}

size_t run_effects(const struct run *run, struct moment now, const struct run_world *world, struct run_effect *ret,
                   size_t cap)
{
    struct list l = {.run = run,
                     .machine = machine_of(run),
                     .now = now,
                     .world = world,
                     .effects = ret,
                     .cap = cap,
                     .wake = INSTANT_MAX};
    notes_clear(l.machine);
    if (run->row.state == RUN_RUNNING)
        list_running(&l);
    else if (run->row.state == RUN_QUEUED && run->row.cancel_requested)
        say_canceled_end(&l);
    return l.count;
}
