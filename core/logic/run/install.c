/* Rows become state, no questions asked: run_apply has asked them, and a replay believes the rows. */
#include <stdlib.h>
#include <string.h>

#include "core/base/jsonscan.h"
#include "core/logic/run/internal.h"

/* A copy of its own texts; bodies stay out. false: out of memory, nothing is left behind. */
static bool attempt_copy(struct attempt_row *to, const struct attempt_row *from, const struct step_spec *spec)
{
    *to = *from;
    to->step = spec->name;
    to->request = to->response = NULL;
    to->instance = to->node = to->error = to->code = to->result = to->notice_to = NULL;
    bool ok = text_set(&to->instance, from->instance) && text_set(&to->node, from->node) &&
              text_set(&to->error, from->error) && text_set(&to->code, from->code) &&
              text_set(&to->notice_to, from->notice_to) &&
              text_set(&to->result, from->class == CALL_SUCCESS ? from->result : NULL);
    if (!ok)
        attempt_release(to);
    return ok;
}

static bool calls_reserve(struct run_calls *item, size_t count)
{
    if (count <= item->attempt_count)
        return true;
    struct attempt_row *grown = realloc(item->attempts, count * sizeof *grown);
    if (!grown)
        return false;
    memset(grown + item->attempt_count, 0, (count - item->attempt_count) * sizeof *grown);
    item->attempts = grown;
    return true; /* the count grows when the row is in */
}

static void step_clear_texts(struct run_step *step, struct step_memory *memory)
{
    free(step->reason);
    free(step->error);
    if (memory->result_is_ours)
        free(step->result);
    step->reason = step->error = step->result = NULL;
    memory->result_is_ours = false;
}

static bool class_is_soft(enum call_class class)
{
    return class == CALL_NOT_SENT || class == CALL_BUSY;
}

void step_follow(struct run *run, struct run_step *step, const struct attempt_row *attempt)
{
    struct step_memory *memory = memory_of(run, step);
    step_clear_texts(step, memory);
    step->state = STEP_RUNNING;
    step->since = attempt->started_at;
    step->due = INSTANT_NONE;
    if (attempt->state != ATTEMPT_ENDED)
        return;
    if (!class_is_soft(attempt->class))
        memory->wait_since = INSTANT_NONE;
    if (attempt->class == CALL_SUCCESS) {
        step->state = STEP_SUCCEEDED;
        step->since = attempt->ended_at;
        step->result = (char *)(uintptr_t)attempt->result; /* the attempt owns it */
    }
}

enum status install_attempt(struct run *run, struct run_step *step, const struct attempt_row *row)
{
    struct run_calls *item = &step->calls;
    struct attempt_row copy;
    size_t n = (size_t)row->n;
    if (!attempt_copy(&copy, row, step->spec))
        return STATUS_NO_MEMORY;
    if (!calls_reserve(item, n)) {
        attempt_release(&copy);
        return STATUS_NO_MEMORY;
    }
    if (n > item->attempt_count)
        item->attempt_count = n;
    else
        attempt_release(&item->attempts[n - 1]);
    item->attempts[n - 1] = copy;
    if (!copy.stale)
        step_follow(run, step, &item->attempts[n - 1]);
    if (row->seq > run->seq)
        run->seq = row->seq;
    return STATUS_OK;
}

/* ---- fans ------------------------------------------------------------------------------------------------------- */

enum status install_list(struct run *run, struct run_step *step, const char *list)
{
    struct error unused;
    struct slice text = slice_of(list, strlen(list));
    if (step->list)
        return strcmp(step->list, list) ? STATUS_INVALID : STATUS_OK;
    enum status status = json_check(list, text.length, LIMIT_JSON_DEPTH, &unused);
    if (status)
        return status == STATUS_NO_MEMORY ? status : STATUS_INVALID;
    if (json_type_of(text) != JSON_ARRAY || json_count(text) > LIMIT_ITEMS)
        return STATUS_INVALID;
    size_t count = json_count(text);
    struct run_step *items = calloc(count + 1, sizeof *items);
    struct step_memory *memory = calloc(count + 1, sizeof *memory);
    const char *copy = NULL;
    if (!items || !memory || !text_set(&copy, list)) {
        free(items);
        free(memory);
        return STATUS_NO_MEMORY;
    }
    for (size_t k = 0; k < count; k++) {
        items[k] = (struct run_step){.spec = step->spec,
                                     .index = step->index,
                                     .item = (int32_t)k + 1,
                                     .state = STEP_WAITING,
                                     .due = INSTANT_NONE,
                                     .since = INSTANT_NONE};
        memory[k].wait_since = INSTANT_NONE;
    }
    step->list = (char *)(uintptr_t)copy;
    step->items = items;
    step->item_count = count;
    machine_of(run)->steps[step->index].items = memory;
    return STATUS_OK;
}

static void cancel_open(struct run *run, struct run_step *step, instant at)
{
    if (step_state_terminal(step->state))
        return;
    step_clear_texts(step, memory_of(run, step));
    step->state = STEP_CANCELED;
    step->since = at;
    step->due = INSTANT_NONE;
}

static void close_items(struct run *run, struct run_step *step, instant at)
{
    for (size_t k = 0; k < step->item_count; k++)
        cancel_open(run, &step->items[k], at);
}

/* ---- steps ------------------------------------------------------------------------------------------------------ */

enum status install_step(struct run *run, struct run_step *step, const struct step_row *row)
{
    struct step_memory *memory = memory_of(run, step);
    const char *reason = NULL, *error = NULL, *result = NULL;
    bool ok = text_set(&reason, row->reason) && text_set(&error, row->error) && text_set(&result, row->result);
    enum status status = ok ? STATUS_OK : STATUS_NO_MEMORY;
    if (!status && row->items && step->item == 0) /* the last thing that can fail */
        status = install_list(run, step, row->items);
    if (status) {
        text_free(reason);
        text_free(error);
        text_free(result);
        return status;
    }
    step_clear_texts(step, memory);
    step->state = row->state;
    step->due = row->due;
    step->since = row->since;
    step->reason = (char *)(uintptr_t)reason;
    step->error = (char *)(uintptr_t)error;
    step->result = (char *)(uintptr_t)result;
    memory->result_is_ours = true;
    memory->row_seq = row->seq;
    bool waits = row->state == STEP_WAITING && reason_is_wait(reason);
    memory->wait_since = waits ? row->since : INSTANT_NONE;
    if (step_state_terminal(step->state))
        close_items(run, step, step->since);
    if (row->seq > run->seq)
        run->seq = row->seq;
    return STATUS_OK;
}

void close_steps(struct run *run)
{
    for (size_t i = 0; run_state_terminal(run->row.state) && i < run->job->step_count; i++) {
        cancel_open(run, &run->steps[i], run->row.ended_at);
        close_items(run, &run->steps[i], run->row.ended_at);
    }
}
