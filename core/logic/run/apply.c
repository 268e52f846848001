#include <stdlib.h>
#include <string.h>

#include "core/logic/run/internal.h"

/* ---- attempts --------------------------------------------------------------------------------------------------- */

static instant given_or(instant given, instant fallback)
{
    return instant_is_none(given) || given.ms == 0 ? fallback : given;
}

/* The intent of a start step stands in the run row. `*ret` is a new text; NULL: this attempt does not belong there. */
static enum status intent_extend(const struct run *run, size_t i, const struct attempt_row *row, char **ret)
{
    const struct step_spec *spec = run->steps[i].spec;
    *ret = NULL;
    if (row->n != 1 || row->item != 0 || spec->after_count || machine_of(run)->steps[i].undoes ||
        instant_cmp(row->started_at, run->row.started_at) != 0)
        return STATUS_OK;
    struct str text;
    str_init(&text, SIZE_MAX / 2);
    const char *old = run->row.start;
    if (old && strlen(old) > 2)
        str_add_bytes(&text, old, strlen(old) - 1);
    else
        str_add_char(&text, '[');
    str_add(&text, text.length > 1 ? ",{\"step\":" : "{\"step\":");
    str_add_json(&text, spec->name);
    str_add(&text, ",\"instance\":");
    str_add_json(&text, row->instance);
    str_addf(&text, ",\"seq\":%d,\"boot\":%lld", (int)row->seq, (long long)row->boot);
    if (row->node) {
        str_add(&text, ",\"node\":");
        str_add_json(&text, row->node);
    }
    str_add(&text, "}]");
    *ret = str_take(&text);
    return *ret ? STATUS_OK : STATUS_NO_MEMORY;
}

static enum status check_start(struct run *run, const struct run_step *step, const struct attempt_row *row,
                               struct error *err)
{
    const char *name = step->spec->name;
    struct error why;
    if (run->row.state != RUN_RUNNING)
        return error_set(err, STATUS_CONFLICT, "step %s: no call may begin, the run is %s", name,
                         run_state_text(run->row.state));
    if (run->row.cancel_requested)
        return error_set(err, STATUS_CONFLICT, "step %s: no call may begin, the run is being canceled", name);
    if (step_state_terminal(step->state))
        return error_set(err, STATUS_CONFLICT, "step %s: no call may begin, the step is %s", name,
                         step_state_text(step->state));
    if (step_is_open(step))
        return error_set(err, STATUS_CONFLICT, "step %s: attempt %d has not ended", name, (int)last_attempt(step)->n);
    if ((size_t)row->n != step->calls.attempt_count + 1)
        return error_set(err, STATUS_CONFLICT, "step %s: attempt %d, but the next is %zu", name, (int)row->n,
                         step->calls.attempt_count + 1);
    if (row->key_try != next_key_try(step))
        return error_set(err, STATUS_CONFLICT, "step %s: key %d, but the next call's is %d", name, (int)row->key_try,
                         (int)next_key_try(step));
    if (!row->instance)
        return error_set(err, STATUS_CONFLICT, "step %s: the attempt names no instance", name);
    if (step->item) /* the join of its step held when the list was made */
        return run->steps[step->index].state == STEP_RUNNING
                   ? STATUS_OK
                   : error_set(err, STATUS_CONFLICT, "step %s: item %d may not begin, the step is %s", name,
                               (int)step->item, step_state_text(run->steps[step->index].state));
    if (step_fans(step->spec))
        return error_set(err, STATUS_CONFLICT, "step %s: its items make the calls, and they count from 1", name);
    enum step_state *states = machine_of(run)->assumed;
    for (size_t k = 0; k < run->job->step_count; k++)
        states[k] = run->steps[k].state;
    if (!step->calls.attempt_count && join_of(run, states, step->index, NULL, &why) != JOIN_READY)
        return error_set(err, STATUS_CONFLICT, "step %s: its predecessors do not let it begin", name);
    return STATUS_OK;
}

static enum status apply_start_of_attempt(struct run *run, struct run_step *step, const struct run_event *event,
                                          struct error *err)
{
    enum status status = check_start(run, step, &event->attempt, err);
    if (status)
        return status;
    struct attempt_row row = {
        .run = run->row.id,
        .step = step->spec->name,
        .item = step->item,
        .n = event->attempt.n,
        .key_try = event->attempt.key_try,
        .seq = run->seq + 1,
        .state = ATTEMPT_STARTED,
        .instance = event->attempt.instance,
        .boot = event->attempt.boot ? event->attempt.boot : run->row.boot,
        .node = event->attempt.node ? event->attempt.node : run->row.node,
        .started_at = given_or(event->attempt.started_at, event->at),
        .ended_at = INSTANT_NONE,
        .connect_ms = -1,
        .first_byte_ms = -1,
        .total_ms = -1,
        .retry_after = -1,
    };
    char *start;
    status = intent_extend(run, step->index, &row, &start);
    if (!status)
        status = install_attempt(run, step, &row);
    if (status || !start) {
        free(start);
        return status ? error_set(err, status, "out of memory") : STATUS_OK;
    }
    text_free(run->row.start);
    run->row.start = start;
    return STATUS_OK;
}

/* Accepted or ended: what the event says of the end, the rest as the attempt began. */
static struct attempt_row merge_end(const struct attempt_row *kept, const struct run_event *event, int32_t seq)
{
    struct attempt_row row = event->attempt;
    row.run = kept->run;
    row.key_try = kept->key_try;
    row.seq = seq;
    row.instance = kept->instance;
    row.boot = kept->boot;
    row.node = kept->node;
    row.started_at = kept->started_at;
    row.ended_at = INSTANT_NONE;
    if (row.state == ATTEMPT_ACCEPTED)
        row.class = CALL_ACCEPTED;
    else
        row.ended_at = given_or(row.ended_at, event->at);
    return row;
}

/* A report may settle what nobody knew: the call ended without a definite answer, and its step waits for what follows.
 */
static bool settles(const struct run_step *step, const struct attempt_row *kept, const struct attempt_row *in)
{
    return kept == last_attempt(step) && !call_class_definite(kept->class) && in->state == ATTEMPT_ENDED &&
           call_class_definite(in->class);
}

static enum status apply_attempt(struct run *run, const struct run_event *event, struct error *err)
{
    const struct attempt_row *in = &event->attempt;
    size_t i = step_index(run, in->step);
    if (i == SIZE_MAX)
        return error_set(err, STATUS_CONFLICT, "the job has no step \"%s\"", in->step ? in->step : "");
    struct run_step *step = step_item(run, i, in->item);
    if (!step)
        return error_set(err, STATUS_CONFLICT, "step %s: item %d, but it has %zu", in->step, (int)in->item,
                         run->steps[i].item_count);
    if (in->state == ATTEMPT_STARTED)
        return apply_start_of_attempt(run, step, event, err);
    if (in->n < 1 || (size_t)in->n > step->calls.attempt_count)
        return error_set(err, STATUS_CONFLICT, "step %s: attempt %d never began", in->step, (int)in->n);
    if (in->state == ATTEMPT_ENDED && (in->class == CALL_NONE || in->class == CALL_ACCEPTED))
        return error_set(err, STATUS_CONFLICT, "step %s: attempt %d ended without a class", in->step, (int)in->n);
    const struct attempt_row *kept = &step->calls.attempts[in->n - 1];
    bool over = step_state_terminal(step->state) || run_state_terminal(run->row.state);
    bool late = over && !call_class_definite(kept->class) && in->state == ATTEMPT_ENDED;
    if (!attempt_open(kept) && !late && (over || !settles(step, kept, in)))
        return error_set(err, STATUS_CONFLICT, "step %s: attempt %d has ended already (%s)", in->step, (int)in->n,
                         call_class_text(kept->class));
    struct attempt_row row = merge_end(kept, event, run->seq + 1);
    row.stale = over;
    enum status status = install_attempt(run, step, &row);
    return status ? error_set(err, status, "out of memory") : STATUS_OK;
}

/* ---- steps ------------------------------------------------------------------------------------------------------ */

/* A fan begins: the one row that says of a step that it runs. */
static enum status check_fan(struct run *run, const struct run_step *step, const struct step_row *row,
                             struct error *err)
{
    const char *name = step->spec->name;
    struct error why;
    if (!step_fans(step->spec) || step->item)
        return error_set(err, STATUS_CONFLICT, "step %s: attempts say that it runs, not a step row", name);
    if (!row->items)
        return error_set(err, STATUS_CONFLICT, "step %s cannot begin without the list of its items", name);
    if (run->row.cancel_requested)
        return error_set(err, STATUS_CONFLICT, "step %s cannot begin, the run is being canceled", name);
    enum step_state *states = machine_of(run)->assumed;
    for (size_t k = 0; k < run->job->step_count; k++)
        states[k] = run->steps[k].state;
    if (join_of(run, states, step->index, NULL, &why) != JOIN_READY)
        return error_set(err, STATUS_CONFLICT, "step %s: its predecessors do not let it begin", name);
    return STATUS_OK;
}

static enum status apply_step(struct run *run, const struct run_event *event, struct error *err)
{
    enum status status = STATUS_OK;
    size_t i = step_index(run, event->step.step);
    struct run_step *step = i == SIZE_MAX ? NULL : step_item(run, i, event->step.item);
    if (!step)
        return error_set(err, STATUS_CONFLICT, "the job has no step \"%s\" with item %d",
                         event->step.step ? event->step.step : "", (int)event->step.item);
    const char *name = step->spec->name;
    if (run->row.state != RUN_RUNNING)
        return error_set(err, STATUS_CONFLICT, "step %s: the run is %s", name, run_state_text(run->row.state));
    if (step_state_terminal(step->state))
        return error_set(err, STATUS_CONFLICT, "step %s is %s for good", name, step_state_text(step->state));
    if (event->step.state == STEP_RUNNING)
        status = check_fan(run, step, &event->step, err);
    if (status)
        return status;
    if (step->list && !step_state_terminal(event->step.state))
        return error_set(err, STATUS_CONFLICT, "step %s: its items have begun, it cannot be %s now", name,
                         step_state_text(event->step.state));
    if (event->step.state == STEP_WAITING && step_is_open(step))
        return error_set(err, STATUS_CONFLICT, "step %s cannot wait: attempt %d is under way", name,
                         (int)last_attempt(step)->n);
    if (event->step.state == STEP_SKIPPED && (step->calls.attempt_count || step->list || step->item))
        return error_set(err, STATUS_CONFLICT, "step %s cannot be skipped: it has begun", name);
    struct step_row row = event->step;
    row.run = run->row.id;
    if (event->step.state != STEP_RUNNING)
        row.items = step->list;
    row.step = name;
    row.seq = run->seq + 1;
    row.since = given_or(row.since, event->at);
    if (row.due.ms == 0)
        row.due = INSTANT_NONE;
    status = install_step(run, step, &row);
    return status ? error_set(err, status, status == STATUS_NO_MEMORY ? "out of memory" : "no sound list") : STATUS_OK;
}

/* ---- the run itself --------------------------------------------------------------------------------------------- */

static enum status apply_start(struct run *run, const struct run_event *event, struct error *err)
{
    if (run->row.state != RUN_QUEUED)
        return error_set(err, STATUS_CONFLICT, "the run cannot start: it is %s", run_state_text(run->row.state));
    if (run->row.cancel_requested)
        return error_set(err, STATUS_CONFLICT, "the run cannot start: it is being canceled");
    run->row.state = RUN_RUNNING;
    run->row.started_at = event->at;
    text_free(run->row.reason);
    run->row.reason = NULL;
    return STATUS_OK;
}

static enum status apply_cancel(struct run *run, const struct run_event *event, struct error *err)
{
    if (run_state_terminal(run->row.state))
        return error_set(err, STATUS_CONFLICT, "the run is %s for good", run_state_text(run->row.state));
    if (event->reason && !text_set(&run->row.reason, event->reason))
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    run->row.cancel_requested = true;
    return STATUS_OK;
}

static bool is_orphan(const struct attempt_row *attempt, int64_t boot)
{
    return attempt && attempt->state == ATTEMPT_STARTED && attempt->boot != boot;
}

struct orphan {
    struct run_step *step;
    const char *error; /* a copy of RUN_ERROR_TAKEN_OVER */
};

static size_t find_orphans(struct run *run, int64_t boot, struct orphan *ret)
{
    size_t count = 0;
    for (const struct run_step *step = run_each(run, NULL); step; step = run_each(run, step))
        if (is_orphan(last_attempt(step), boot)) {
            if (ret)
                ret[count] = (struct orphan){.step = step_item(run, step->index, step->item)};
            count++;
        }
    return count;
}

static void end_orphan(struct run *run, const struct orphan *orphan, instant at)
{
    struct run_step *step = orphan->step;
    struct attempt_row *attempt = &step->calls.attempts[step->calls.attempt_count - 1];
    text_free(attempt->error);
    attempt->error = orphan->error;
    attempt->state = ATTEMPT_ENDED;
    attempt->class = CALL_UNKNOWN;
    attempt->ended_at = at;
    attempt->seq = run->seq;
    attempt->stale = step_state_terminal(step->state) || run_state_terminal(run->row.state);
    if (!attempt->stale)
        step_follow(run, step, attempt);
}

static enum status apply_driver(struct run *run, const struct run_event *event, struct error *err)
{
    size_t count = find_orphans(run, event->boot, NULL), made = 0;
    struct orphan *orphans = calloc(count + 1, sizeof *orphans);
    const char *node = NULL;
    bool ok = orphans && text_set(&node, event->node);
    if (ok)
        (void)find_orphans(run, event->boot, orphans);
    while (ok && made < count)
        ok = text_set(&orphans[made++].error, RUN_ERROR_TAKEN_OVER);
    if (!ok) {
        for (size_t i = 0; i < made; i++)
            text_free(orphans[i].error);
        free(orphans);
        text_free(node);
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    }
    run->seq += count > 0;
    for (size_t i = 0; i < count; i++)
        end_orphan(run, &orphans[i], event->at);
    free(orphans);
    run->row.boot = event->boot;
    text_free(run->row.node);
    run->row.node = node;
    return STATUS_OK;
}

static enum status apply_end(struct run *run, const struct run_event *event, struct error *err)
{
    if (run_state_terminal(run->row.state))
        return error_set(err, STATUS_CONFLICT, "the run is %s for good", run_state_text(run->row.state));
    if (!run_state_terminal(event->state))
        return error_set(err, STATUS_CONFLICT, "\"%s\" is not an end", run_state_text(event->state));
    if (run->row.state == RUN_QUEUED && event->state != RUN_CANCELED)
        return error_set(err, STATUS_CONFLICT, "a queued run can only be canceled, not become %s",
                         run_state_text(event->state));
    for (size_t i = 0; event->state == RUN_SUCCEEDED && i < run->job->step_count; i++)
        if (!step_state_terminal(run->steps[i].state))
            return error_set(err, STATUS_CONFLICT, "the run cannot succeed: step %s is %s", run->steps[i].spec->name,
                             step_state_text(run->steps[i].state));
    const char *reason = NULL, *code = NULL, *args = NULL;
    if (!text_set(&reason, event->reason ? event->reason : run->row.reason) || !text_set(&code, event->error_code) ||
        !text_set(&args, event->error_args)) {
        text_free(reason);
        text_free(code);
        text_free(args);
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    }
    text_free(run->row.reason);
    text_free(run->row.error_code);
    text_free(run->row.error_args);
    run->row.reason = reason;
    run->row.error_code = code;
    run->row.error_args = args;
    run->row.state = event->state;
    run->row.ended_at = event->at;
    close_steps(run);
    return STATUS_OK;
}

enum status run_queue_reason(struct run *run, const char *reason)
{
    if (run->row.state != RUN_QUEUED || run->row.cancel_requested)
        return STATUS_CONFLICT;
    return text_set(&run->row.reason, reason) ? STATUS_OK : STATUS_NO_MEMORY;
}

enum status run_apply(struct run *run, const struct run_event *event, struct error *err)
{
    switch (event->kind) {
    case RUN_EVENT_START:
        return apply_start(run, event, err);
    case RUN_EVENT_ATTEMPT:
        return apply_attempt(run, event, err);
    case RUN_EVENT_STEP:
        return apply_step(run, event, err);
    case RUN_EVENT_CANCEL:
        return apply_cancel(run, event, err);
    case RUN_EVENT_DRIVER:
        return apply_driver(run, event, err);
    case RUN_EVENT_END:
        return apply_end(run, event, err);
    }
    return error_set(err, STATUS_CONFLICT, "no such event: %d", (int)event->kind);
}
