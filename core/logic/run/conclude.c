/* How a run ends, when all its steps have. */
#include <string.h>

#include "core/base/duration.h"
#include "core/logic/run/list.h"

#define CODE_TIMEOUT "SCHEDULING_TIMEOUT_001"
#define CODE_CANCELED "SCHEDULING_CONFLICT_003"
#define CODE_UNEXPECTED "SCHEDULING_UNEXPECTED_001"

static bool explained_cancel(const struct list *l, size_t i)
{
    const char *reason = l->run->steps[i].reason;
    return (reason && !strcmp(reason, REASON_CANCEL_REST)) ||
           (!l->stopping && join_cancels(l->run, l->machine->assumed, i));
}

static bool canceled_by_deadline(const struct list *l, size_t i)
{
    const char *reason = l->run->steps[i].reason;
    return (reason && !strcmp(reason, REASON_DEADLINE)) || (l->stopping && !l->run->row.cancel_requested);
}

static const char *error_of(const struct list *l, size_t i)
{
    for (size_t k = 0; k < l->count; k++)
        if (l->effects[k].kind == EFFECT_STEP && !strcmp(l->effects[k].step.step, l->run->job->steps[i].name))
            return l->effects[k].step.error;
    return l->run->steps[i].error;
}

static void say_end(struct list *l, enum run_state state, const char *reason, const char *code, struct str *args)
{
    struct run_effect *effect = list_add(l, EFFECT_END);
    effect->state = state;
    effect->reason = reason;
    effect->error_code = code;
    effect->error_args = args ? note_text(l->machine, str_text(args)) : NULL;
}

static void say_step_end(struct list *l, enum run_state state, const char *reason, size_t i)
{
    const struct attempt_row *last = last_attempt(deciding_item(&l->run->steps[i]));
    const char *code = last && call_class_definite(last->class) && last->code && *last->code ? last->code : NULL;
    const char *error = error_of(l, i);
    struct str args;
    str_init(&args, LIMIT_PARAMS);
    str_add(&args, "{\"step\":");
    str_add_json(&args, l->run->job->steps[i].name);
    str_add(&args, ",\"class\":");
    str_add_json(&args, last ? call_class_text(last->class) : "");
    str_add(&args, ",\"message\":");
    str_add_json(&args, error ? error : last && last->error ? last->error : "");
    str_add_char(&args, '}');
    say_end(l, state, reason, code ? note_text(l->machine, code) : CODE_UNEXPECTED, &args);
    str_release(&args);
}

static void say_timeout_end(struct list *l)
{
    char length[DURATION_SIZE];
    struct str args;
    str_init(&args, LIMIT_PARAMS);
    str_add(&args, "{\"timeout\":");
    str_add_json(&args, duration_format(l->run->job->timeout, length));
    str_add_char(&args, '}');
    say_end(l, RUN_FAILED, REASON_DEADLINE, CODE_TIMEOUT, &args);
    str_release(&args);
}

void say_canceled_end(struct list *l)
{
    const char *reason = l->run->row.reason ? l->run->row.reason : REASON_CANCELED;
    struct str args;
    str_init(&args, LIMIT_PARAMS);
    str_add(&args, "{\"reason\":");
    str_add_json(&args, reason);
    str_add_char(&args, '}');
    say_end(l, RUN_CANCELED, note_text(l->machine, reason), CODE_CANCELED, &args);
    str_release(&args);
}

/* All steps have ended. What went wrong most, and was not taken care of, names the end. */
void conclude(struct list *l)
{
    const enum step_state *states = l->machine->assumed;
    size_t none = SIZE_MAX, failed = none, unknown = none, canceled = none;
    for (size_t k = 0; k < l->run->job->step_count; k++) {
        size_t i = l->machine->order[k];
        if (states[i] == STEP_CANCELED && !explained_cancel(l, i) && canceled == none)
            canceled = i;
        else if (states[i] == STEP_UNKNOWN && unknown == none && !failure_handled(l->run, states, i))
            unknown = i;
        else if (states[i] == STEP_FAILED && failed == none && !failure_handled(l->run, states, i))
            failed = i;
    }
    if (canceled != none && l->run->row.cancel_requested)
        say_canceled_end(l);
    else if (canceled != none && canceled_by_deadline(l, canceled))
        say_timeout_end(l);
    else if (unknown != none)
        say_step_end(l, RUN_LOST, "outcome_unknown", unknown);
    else if (failed != none || canceled != none)
        say_step_end(l, RUN_FAILED, "step_failed", failed != none ? failed : canceled);
    else
        say_end(l, RUN_SUCCEEDED, NULL, NULL, NULL);
}
