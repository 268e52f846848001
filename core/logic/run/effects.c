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

static struct step_row *say_step(struct list *l, const struct run_step *step, enum step_state state, const char *reason,
                                 const char *error)
{
    struct run_effect *effect = list_add(l, EFFECT_STEP);
    effect->step = (struct step_row){.run = l->run->row.id,
                                     .step = step->spec->name,
                                     .item = step->item,
                                     .state = state,
                                     .reason = reason,
                                     .error = error,
                                     .due = INSTANT_NONE,
                                     .since = l->now.wall};
    if (step->item) /* what follows from an item's end is seen when it has been applied */
        l->again |= step_state_terminal(state);
    else
        l->machine->assumed[step->index] = state == STEP_WAITING ? STEP_RUNNING : state; /* it has begun */
    return &effect->step;
}

static void say_wait(struct list *l, const struct run_step *step, const char *reason, instant due, instant poll)
{
    const struct step_memory *memory = memory_of(l->run, step);
    wake_at(l, due);
    wake_at(l, poll);
    bool as_before = step->state == STEP_WAITING && step->reason && !strcmp(step->reason, reason) &&
                     instant_cmp(step->due, due) == 0;
    if (as_before)
        return;
    struct step_row *row = say_step(l, step, STEP_WAITING, note_text(l->machine, reason), NULL);
    row->due = due;
    if (reason_is_wait(reason) && !instant_is_none(memory->wait_since))
        row->since = memory->wait_since; /* patience is counted from the first wait */
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
static bool renders(struct list *l, const struct run_step *step, const struct attempt_row *attempt,
                    const char **ret_error)
{
    struct call_spec call;
    struct rendered_call rendered;
    struct error err;
    if (attempt->n > 1 || !call_of(l->run, step->spec, l->world, &call) || !may_not_render(step->spec, &call))
        return true;
    enum status status = render_call(l->run, l->machine->assumed, attempt, l->world, &rendered, &err);
    if (!status)
        rendered_call_release(&rendered);
    else
        *ret_error = note_text(l->machine, err.text);
    return !status || status == STATUS_NO_MEMORY;
}

static void say_call(struct list *l, const struct run_step *step, const struct plan *plan)
{
    const struct run *run = l->run;
    const char *error = NULL;
    struct attempt_row attempt = {.run = run->row.id,
                                  .step = step->spec->name,
                                  .item = step->item,
                                  .n = (int32_t)step->calls.attempt_count + 1,
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
    if (!renders(l, step, &attempt, &error)) {
        (void)say_step(l, step, failure_state(step->spec), NULL, error);
        return;
    }
    list_add(l, EFFECT_ATTEMPT)->attempt = attempt;
    l->machine->assumed[step->index] = STEP_RUNNING;
    l->open++;
}

/* The plan of one step or item becomes effects. */
static void carry_on(struct list *l, const struct run_step *step, const struct plan *plan)
{
    struct step_row *row;
    switch (plan->kind) {
    case PLAN_CALL:
        say_call(l, step, plan);
        return;
    case PLAN_WAIT:
        say_wait(l, step, plan->reason, plan->due, plan->poll);
        return;
    case PLAN_END:
        row = say_step(l, step, plan->state, NULL, plan->error);
        row->result = plan->result;
        if (plan->result) { /* successors read it when the row has been applied, not before */
            l->machine->assumed[step->index] = STEP_RUNNING;
            l->again = true;
        }
        return;
    case PLAN_FAN:
        row = say_step(l, step, STEP_RUNNING, NULL, NULL);
        row->items = plan->list;
        l->again = true;
        return;
    }
}

static void advance_http(struct list *l, const struct run_step *step, struct plan *ret)
{
    struct plan_picks picks = {.effects = l->effects, .count = l->count, .open = l->open};
    plan_step(l->run, step, l->now, l->world, &picks, ret);
    carry_on(l, step, ret);
}

/* Items of a fan that may begin or go on. One that finds no room for itself finds it for none behind it, so that a list
 * of thousands does not become as many waiting rows; to a broadcast every instance is another place. */
static void advance_items(struct list *l, const struct run_step *fan)
{
    struct fan_count count = fan_count(fan);
    size_t most = fan->spec->concurrency > 0 ? (size_t)fan->spec->concurrency : SIZE_MAX;
    bool room = true;
    for (size_t i = 0; i < fan->item_count; i++) {
        const struct run_step *item = &fan->items[i];
        struct step_memory *memory = memory_of(l->run, item);
        bool begun = item->reason || item->calls.attempt_count;
        struct plan plan;
        if (step_state_terminal(item->state) || step_is_open(item) || memory->told)
            continue;
        if (!begun && (count.hopeless || count.open >= most || !room))
            continue;
        if (l->count + 1 >= l->cap) {
            l->again = true;
            return;
        }
        memory->told = true;
        advance_http(l, item, &plan);
        count.open += !begun;
        if (plan.kind == PLAN_WAIT && reason_is_limit(plan.reason))
            room = room && fan->spec->routing == ROUTE_BROADCAST && strcmp(plan.reason, REASON_JOB_LIMIT) != 0;
    }
}

static void advance_fan(struct list *l, const struct run_step *fan)
{
    struct plan plan;
    if (!fan->list) {
        plan_fan(l->run, fan, l->now, l->world, &plan);
        carry_on(l, fan, &plan);
        return;
    }
    struct fan_count count = fan_count(fan);
    if (count.ended == fan->item_count || (count.hopeless && !count.open)) {
        fan_conclude(l->run, fan, &plan);
        carry_on(l, fan, &plan);
        return;
    }
    advance_items(l, fan);
}

static void advance_wait(struct list *l, const struct run_step *step)
{
    if (!step->reason && step->spec->wait > 0)
        say_wait(l, step, REASON_WAIT, instant_add(l->now.wall, step->spec->wait), INSTANT_NONE);
    else if (step->reason && instant_cmp(l->now.wall, step->due) < 0)
        wake_at(l, step->due);
    else
        (void)say_step(l, step, STEP_SUCCEEDED, NULL, NULL);
}

static void advance(struct list *l, const struct run_step *step)
{
    struct plan plan;
    if (step_fans(step->spec)) {
        advance_fan(l, step);
        return;
    }
    switch (step->spec->kind) {
    case STEP_HTTP:
        advance_http(l, step, &plan);
        return;
    case STEP_NOOP:
        (void)say_step(l, step, STEP_SUCCEEDED, NULL, NULL);
        return;
    case STEP_WAIT:
        advance_wait(l, step);
        return;
    case STEP_JOB:
    case STEP_APPROVAL:
    case STEP_MAP:
        break;
    }
    (void)say_step(l, step, STEP_FAILED, NULL, "steps of this kind are not available yet in this version");
}

/* The join of a step that has not begun. true: it may begin. */
static bool join_holds(struct list *l, size_t i)
{
    struct error err;
    switch (join_of(l->run, l->machine->assumed, i, l->world, &err)) {
    case JOIN_READY:
        return true;
    case JOIN_SKIP:
        (void)say_step(l, &l->run->steps[i], STEP_SKIPPED, "predecessors", NULL);
        l->machine->steps[i].told = true;
        return false;
    case JOIN_BROKEN:
        (void)say_step(l, &l->run->steps[i], STEP_FAILED, NULL, note_text(l->machine, err.text));
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

/* There is room for one call more: whoever waits for it is looked at again. */
static void room_again(struct list *l)
{
    l->open--;
    for (size_t i = 0; i < l->run->job->step_count; i++)
        if (reason_is_limit(l->run->steps[i].reason) || l->run->steps[i].list)
            l->machine->steps[i].told = false;
    for (size_t k = 0; k < l->count; k++)
        if (l->effects[k].kind == EFFECT_STEP && reason_is_limit(l->effects[k].step.reason))
            l->machine->steps[step_index(l->run, l->effects[k].step.step)].told = false;
}

static bool is_about(const struct run_effect *effect, const char *step)
{
    return (effect->kind == EFFECT_ATTEMPT && !strcmp(effect->attempt.step, step)) ||
           (effect->kind == EFFECT_STEP && !strcmp(effect->step.step, step));
}

/* A join went on in this very list, without a step that the list had something else for: that is taken back. */
static void cancel_in_list(struct list *l, const struct run_step *step)
{
    size_t kept = 0, calls = 0, first = SIZE_MAX;
    for (size_t k = 0; k < l->count; k++) {
        bool about = is_about(&l->effects[k], step->spec->name);
        calls += about && l->effects[k].kind == EFFECT_ATTEMPT;
        if (!about || first == SIZE_MAX)
            l->effects[kept++] = l->effects[k];
        if (about && first == SIZE_MAX)
            first = kept - 1;
    }
    l->count = first == SIZE_MAX ? kept : first;
    (void)say_step(l, step, STEP_CANCELED, REASON_CANCEL_REST, NULL);
    l->count = first == SIZE_MAX ? l->count : kept;
    for (; calls; calls--)
        room_again(l);
}

static void visit(struct list *l, size_t i)
{
    const struct run_step *step = &l->run->steps[i];
    struct step_memory *memory = &l->machine->steps[i];
    bool begun = step->reason || step->calls.attempt_count || step->list;
    bool open = step_is_open(step), fan = step->list;
    if (step_state_terminal(l->machine->assumed[i]) || (open && !fan))
        return;
    bool canceled = !l->stopping && join_cancels(l->run, l->machine->assumed, i);
    if (open && (l->stopping || canceled))
        return; /* first its calls end */
    if (l->stopping) {
        (void)say_step(l, step, STEP_CANCELED, stop_reason(l), NULL);
        memory->told = true;
    } else if (canceled) {
        cancel_in_list(l, step);
        memory->told = true;
    } else if (!memory->told && (begun || join_holds(l, i))) {
        advance(l, step);
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
static enum call_class unwanted(struct list *l, const struct run_step *step, const struct attempt_row *attempt)
{
    struct call_spec call;
    if (l->stopping || step_state_terminal(step->state) || join_cancels(l->run, l->machine->assumed, step->index))
        return CALL_CANCELED;
    if (attempt->state != ATTEMPT_ACCEPTED)
        return CALL_NONE;
    span timeout = call_of(l->run, step->spec, l->world, &call) ? call.timeout : CALL_TIMEOUT_DEFAULT;
    instant due = instant_add(attempt->started_at, timeout); /* until then a report may come */
    if (instant_cmp(l->now.wall, due) >= 0)
        return CALL_TIMEOUT;
    wake_at(l, due);
    return CALL_NONE;
}

/* They change nothing until the call has ended, so they never fill the list: whoever asks again when it is full would
 * ask for ever. Each end makes room for the next. */
static void say_cancels(struct list *l)
{
    const struct run_step *step = run_each(l->run, NULL);
    for (; step && l->count + 2 < l->cap; step = run_each(l->run, step)) {
        const struct attempt_row *last = last_attempt(step);
        if (!last || !attempt_open(last))
            continue;
        enum call_class class = unwanted(l, step, last);
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
        for (size_t k = 0; k < run->steps[i].item_count; k++)
            l->machine->steps[i].items[k].told = false;
    }
    visit_all(l);
    if (list_full(l))
        return;
    if (l->again) {
        list_add(l, EFFECT_AGAIN);
        return;
    }
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
