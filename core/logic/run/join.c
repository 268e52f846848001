#include "core/logic/run/internal.h"

/* What one edge says, given the state of its predecessor:
 *
 *   predecessor       success   failure   always   expression
 *   succeeded           yes       no       yes     its value; cannot be evaluated: broken
 *   ignored             yes       no       yes     its value; cannot be evaluated: broken
 *   failed, unknown     no        yes      yes     its value; cannot be evaluated: no
 *   skipped, canceled   no        no       yes     its value; cannot be evaluated: no
 */
enum edge_says { EDGE_PENDING, EDGE_YES, EDGE_NO, EDGE_BROKEN };

static bool went_well(enum step_state state)
{
    return state == STEP_SUCCEEDED || state == STEP_IGNORED;
}

static bool went_wrong(enum step_state state)
{
    return state == STEP_FAILED || state == STEP_UNKNOWN;
}

static enum edge_says expression_says(const struct run *run, const enum step_state *states, size_t step,
                                      const struct edge_spec *edge, const struct run_world *world, struct error *err)
{
    struct render_scope scope;
    struct template_context context;
    bool value = false;
    enum status status = render_scope_begin(&scope, run, states, &run->steps[step], world, &context);
    if (!status)
        status = template_test(edge->when, &context, &value, err);
    else
        (void)error_set(err, status, "out of memory");
    render_scope_end(&scope);
    if (status)
        return went_well(states[edge->from]) ? EDGE_BROKEN : EDGE_NO;
    return value ? EDGE_YES : EDGE_NO;
}

static enum edge_says edge_of(const struct run *run, const enum step_state *states, size_t step,
                              const struct edge_spec *edge, const struct run_world *world, struct error *err)
{
    enum step_state from = states[edge->from];
    if (!step_state_terminal(from))
        return EDGE_PENDING;
    switch (edge->on) {
    case EDGE_SUCCESS:
        return went_well(from) ? EDGE_YES : EDGE_NO;
    case EDGE_FAILURE:
        return went_wrong(from) ? EDGE_YES : EDGE_NO;
    case EDGE_ALWAYS:
        return EDGE_YES;
    case EDGE_EXPRESSION:
        break;
    }
    return world ? expression_says(run, states, step, edge, world, err) : EDGE_YES;
}

/* A compensating step begins when a step that it undoes has failed. */
static enum join join_of_undoing(const struct run *run, const enum step_state *states, size_t step)
{
    bool pending = false;
    for (size_t i = 0; i < run->job->step_count; i++) {
        const struct step_spec *spec = &run->job->steps[i];
        if (spec->on_exhausted != EXHAUSTED_COMPENSATE || spec->compensate != step)
            continue;
        if (went_wrong(states[i]))
            return JOIN_READY;
        pending |= !step_state_terminal(states[i]);
    }
    return pending ? JOIN_PENDING : JOIN_SKIP;
}

enum join join_of(const struct run *run, const enum step_state *states, size_t step, const struct run_world *world,
                  struct error *err)
{
    const struct step_spec *spec = &run->job->steps[step];
    if (machine_of(run)->steps[step].undoes)
        return join_of_undoing(run, states, step);
    size_t need = spec->join == JOIN_ALL ? spec->after_count : spec->join == JOIN_ANY ? 1 : spec->join_n;
    size_t yes = 0, pending = 0;
    bool broken = false;
    if (need > spec->after_count)
        need = spec->after_count;
    for (size_t k = 0; k < spec->after_count && yes < need; k++) {
        struct error why;
        enum edge_says says = edge_of(run, states, step, &spec->after[k], world, &why);
        yes += says == EDGE_YES;
        pending += says == EDGE_PENDING;
        if (says == EDGE_BROKEN && !broken) {
            broken = true;
            (void)error_set(err, STATUS_INVALID, "condition after step %s: %s",
                            run->job->steps[spec->after[k].from].name, why.text);
        }
    }
    if (yes >= need)
        return JOIN_READY;
    if (broken)
        return JOIN_BROKEN;
    return yes + pending < need ? JOIN_SKIP : JOIN_PENDING;
}

/* Has the step begun (or ended otherwise than by being left out)? */
static bool went_on(const struct run *run, const enum step_state *states, size_t step)
{
    return states[step] != STEP_SKIPPED && states[step] != STEP_CANCELED &&
           (states[step] != STEP_WAITING || run->steps[step].reason || run->steps[step].calls.attempt_count);
}

bool join_cancels(const struct run *run, const enum step_state *states, size_t step)
{
    for (size_t i = 0; machine_of(run)->cancels && i < run->job->step_count; i++) {
        const struct step_spec *spec = &run->job->steps[i];
        if (!spec->cancel_rest || !went_on(run, states, i))
            continue;
        for (size_t k = 0; k < spec->after_count; k++)
            if (spec->after[k].from == step)
                return true;
    }
    return false;
}

bool failure_handled(const struct run *run, const enum step_state *states, size_t step)
{
    for (size_t i = 0; i < run->job->step_count; i++) {
        const struct step_spec *spec = &run->job->steps[i];
        for (size_t k = 0; k < spec->after_count; k++)
            if (spec->after[k].from == step && spec->after[k].on == EDGE_FAILURE && states[i] != STEP_SKIPPED &&
                states[i] != STEP_CANCELED && states[i] != STEP_WAITING)
                return true;
    }
    return false;
}
