#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/jsonscan.h"
#include "core/logic/run/graph.h"
#include "core/logic/run/internal.h"

/* ---- texts ------------------------------------------------------------------------------------------------------ */

void text_free(const char *text)
{
    free((void *)(uintptr_t)text);
}

static char *text_copy(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    return copy ? memcpy(copy, text, size) : NULL;
}

bool text_set(const char **text, const char *value)
{
    char *copy = value ? text_copy(value) : NULL;
    if (value && !copy)
        return false;
    text_free(*text);
    *text = copy;
    return true;
}

void notes_clear(struct machine *machine)
{
    while (machine->notes) {
        struct note *next = machine->notes->next;
        free(machine->notes);
        machine->notes = next;
    }
}

static char *note_room(struct machine *machine, size_t size)
{
    struct note *note = malloc(sizeof *note + size);
    if (!note)
        return NULL;
    note->next = machine->notes;
    machine->notes = note;
    return note->text;
}

const char *note_text(struct machine *machine, const char *text)
{
    char *room = text ? note_room(machine, strlen(text) + 1) : NULL;
    return room ? strcpy(room, text) : NULL;
}

const char *note_textf(struct machine *machine, const char *format, ...)
{
    va_list args;
    char buffer[LIMIT_ERROR];
    va_start(args, format);
    (void)vsnprintf(buffer, sizeof buffer, format, args);
    va_end(args);
    return note_text(machine, buffer);
}

/* ---- making and freeing ----------------------------------------------------------------------------------------- */

void attempt_release(struct attempt_row *attempt)
{
    text_free(attempt->instance);
    text_free(attempt->node);
    text_free(attempt->error);
    text_free(attempt->code);
    text_free(attempt->result);
    text_free(attempt->notice_to);
}

static void step_release(struct run_step *step, struct step_memory *memory)
{
    if (memory->result_is_ours)
        free(step->result);
    free(step->reason);
    free(step->error);
    free(step->list);
    for (size_t k = 0; k < step->calls.attempt_count; k++)
        attempt_release(&step->calls.attempts[k]);
    free(step->calls.attempts);
}

void run_free(struct run *run)
{
    if (!run)
        return;
    struct machine *machine = machine_of(run);
    for (size_t i = 0; machine && run->steps && i < run->job->step_count; i++) {
        struct run_step *step = &run->steps[i];
        for (size_t k = 0; k < step->item_count; k++)
            step_release(&step->items[k], &machine->steps[i].items[k]);
        free(step->items);
        free(machine->steps[i].items);
        step_release(step, &machine->steps[i]);
    }
    text_free(run->row.reason);
    text_free(run->row.error_code);
    text_free(run->row.error_args);
    text_free(run->row.node);
    text_free(run->row.start);
    if (machine) {
        notes_clear(machine);
        free(machine->texts);
        free(machine->order);
        free(machine->steps);
        free(machine->assumed);
        free(machine);
    }
    free(run->steps);
    free(run);
}

/* Texts that never change lie in one piece of memory. */
static bool copy_fixed_texts(struct run *run, const struct run_row *row)
{
    const char *const from[] = {row->trigger, row->zone, row->params};
    const char **const to[] = {&run->row.trigger, &run->row.zone, &run->row.params};
    size_t size = 1;
    for (size_t i = 0; i < 3; i++)
        size += from[i] ? strlen(from[i]) + 1 : 0;
    char *at = machine_of(run)->texts = malloc(size);
    if (!at)
        return false;
    for (size_t i = 0; i < 3; i++) {
        *to[i] = from[i] ? at : NULL;
        if (from[i])
            at += strlen(strcpy(at, from[i])) + 1;
    }
    return true;
}

static bool copy_row(struct run *run, const struct run_row *row)
{
    run->row = *row;
    run->row.trigger = run->row.zone = run->row.params = NULL;
    run->row.reason = run->row.error_code = run->row.error_args = run->row.node = run->row.start = NULL;
    return copy_fixed_texts(run, row) && text_set(&run->row.reason, row->reason) &&
           text_set(&run->row.error_code, row->error_code) && text_set(&run->row.error_args, row->error_args) &&
           text_set(&run->row.node, row->node) && text_set(&run->row.start, row->start);
}

static bool make_steps(struct run *run, const struct job_spec *job)
{
    struct machine *machine = machine_of(run);
    size_t count = job->step_count;
    machine->order = calloc(count, sizeof *machine->order);
    machine->steps = calloc(count, sizeof *machine->steps);
    machine->assumed = calloc(count, sizeof *machine->assumed);
    struct run_step *steps = calloc(count, sizeof *steps);
    if (!machine->order || !machine->steps || !machine->assumed || !steps) {
        free(steps);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        steps[i] = (struct run_step){
            .spec = &job->steps[i], .index = i, .state = STEP_WAITING, .due = INSTANT_NONE, .since = INSTANT_NONE};
        machine->steps[i].wait_since = INSTANT_NONE;
        machine->cancels |= job->steps[i].cancel_rest;
        if (job->steps[i].on_exhausted == EXHAUSTED_COMPENSATE && job->steps[i].compensate < count)
            machine->steps[job->steps[i].compensate].undoes = true;
    }
    run->steps = steps;
    return true;
}

enum status run_create(const struct run_row *row, const struct job_spec *job, struct run **ret)
{
    *ret = NULL;
    if (!job->step_count)
        return STATUS_INVALID;
    struct run *run = calloc(1, sizeof *run);
    if (!run)
        return STATUS_NO_MEMORY;
    run->job = job;
    run->memory = calloc(1, sizeof(struct machine));
    if (!run->memory || !copy_row(run, row) || !make_steps(run, job)) {
        run_free(run);
        return STATUS_NO_MEMORY;
    }
    if (!graph_order(job, machine_of(run)->order)) {
        run_free(run);
        return STATUS_INVALID;
    }
    *ret = run;
    return STATUS_OK;
}

/* ---- questions -------------------------------------------------------------------------------------------------- */

size_t step_index(const struct run *run, const char *name)
{
    for (size_t i = 0; name && i < run->job->step_count; i++)
        if (!strcmp(run->job->steps[i].name, name))
            return i;
    return SIZE_MAX;
}

const struct run_step *run_find_step(const struct run *run, const char *name)
{
    size_t i = step_index(run, name);
    return i == SIZE_MAX ? NULL : &run->steps[i];
}

struct run_step *step_item(const struct run *run, size_t step, int32_t item)
{
    struct run_step *fan = &run->steps[step];
    if (item == 0)
        return fan;
    return item > 0 && (size_t)item <= fan->item_count ? &fan->items[item - 1] : NULL;
}

const struct run_step *run_find_item(const struct run *run, const char *step, int32_t item)
{
    size_t i = step_index(run, step);
    return i == SIZE_MAX ? NULL : step_item(run, i, item);
}

const struct run_step *run_each(const struct run *run, const struct run_step *last)
{
    if (!last)
        return run->steps;
    const struct run_step *next = step_item(run, last->index, last->item + 1);
    if (next)
        return next;
    return last->index + 1 < run->job->step_count ? &run->steps[last->index + 1] : NULL;
}

struct slice item_value(const struct run_step *fan, int32_t item)
{
    return fan->list && item > 0 ? json_element(slice_of(fan->list, strlen(fan->list)), (size_t)item - 1)
                                 : slice_of(NULL, 0);
}

const struct attempt_row *run_find_attempt(const struct run *run, const char *step, int32_t item, int32_t n)
{
    const struct run_step *found = run_find_item(run, step, item);
    if (!found || n < 1 || (size_t)n > found->calls.attempt_count)
        return NULL;
    return &found->calls.attempts[n - 1];
}

const struct attempt_row *last_attempt(const struct run_step *step)
{
    const struct run_calls *calls = &step->calls;
    return calls->attempt_count ? &calls->attempts[calls->attempt_count - 1] : NULL;
}

static bool call_is_open(const struct run_step *step)
{
    const struct attempt_row *last = last_attempt(step);
    return last && attempt_open(last);
}

bool step_is_open(const struct run_step *step)
{
    for (size_t i = 0; i < step->item_count; i++)
        if (call_is_open(&step->items[i]))
            return true;
    return call_is_open(step);
}

void run_attempt_row(const struct run *run, const struct attempt_row *event, struct attempt_row *ret)
{
    const struct attempt_row *kept = run_find_attempt(run, event->step, event->item, event->n);
    *ret = kept ? *kept : *event;
    ret->request = event->request;
    ret->response = event->response;
    ret->request_size = event->request_size;
    ret->response_size = event->response_size;
}

bool run_wants_notice(const struct run_step *step, const struct attempt_row *attempt)
{
    if (!attempt_wants_notice(attempt) || !step_state_terminal(step->state))
        return false;
    for (size_t i = 0; i < step->calls.attempt_count; i++) {
        const struct attempt_row *other = &step->calls.attempts[i];
        if (other == attempt || other->key_try != attempt->key_try || other->state != ATTEMPT_ENDED)
            continue;
        bool answered = other->class == CALL_SUCCESS || other->class == CALL_FAILURE;
        bool told_by_it =
            other > attempt && attempt_wants_notice(other) && !strcmp(other->notice_to, attempt->notice_to);
        if (answered || told_by_it)
            return false;
    }
    return true;
}

void run_note_notice(struct run *run, const char *step, int32_t item, int32_t n, enum notice_state state)
{
    struct attempt_row *kept = (struct attempt_row *)(uintptr_t)run_find_attempt(run, step, item, n);
    if (kept)
        kept->notice = state;
}

void run_step_row(const struct run *run, const struct run_step *step, struct step_row *ret)
{
    *ret = (struct step_row){.run = run->row.id,
                             .step = step->spec->name,
                             .item = step->item,
                             .seq = memory_of(run, step)->row_seq,
                             .state = step->state,
                             .reason = step->reason,
                             .due = step->due,
                             .since = step->since,
                             .result = step->result,
                             .error = step->error,
                             .items = step->list};
}

size_t run_calls_open(const struct run *run)
{
    size_t open = 0;
    for (const struct run_step *step = run_each(run, NULL); step; step = run_each(run, step))
        open += call_is_open(step);
    return open;
}

instant run_deadline(const struct run *run)
{
    instant from = instant_is_none(run->row.started_at) ? run->row.fired_at : run->row.started_at;
    return run->job->timeout > 0 ? instant_add(from, run->job->timeout) : INSTANT_MAX;
}

/* A key is settled by an answer: the executor has said what became of it. */
static bool settles(enum call_class class)
{
    return call_class_definite(class) && class != CALL_NOT_SENT && class != CALL_BUSY;
}

/* The attempt at `at` ended without a definite answer, and no later one under its key brought it. */
static bool lingers(const struct run_calls *item, size_t at)
{
    const struct attempt_row *attempt = &item->attempts[at];
    if (attempt_open(attempt) || call_class_definite(attempt->class))
        return false;
    for (size_t i = at + 1; i < item->attempt_count; i++)
        if (item->attempts[i].key_try == attempt->key_try && !attempt_open(&item->attempts[i]) &&
            settles(item->attempts[i].class))
            return false;
    return true;
}

bool run_linger_next(const struct run *run, const struct run_world *world, struct run_linger *linger)
{
    for (linger->of = linger->of ? linger->of : run_each(run, NULL); linger->of;
         linger->of = run_each(run, linger->of), linger->next = 0)
        while (linger->next < linger->of->calls.attempt_count) {
            const struct run_calls *calls = &linger->of->calls;
            size_t at = linger->next++;
            const struct attempt_row *attempt = &calls->attempts[at];
            bool accepted = attempt->state == ATTEMPT_ACCEPTED;
            if (!accepted && !lingers(calls, at))
                continue;
            struct call_spec call;
            bool known = call_of(run, linger->of->spec, world, &call);
            linger->attempt = attempt;
            linger->step = linger->of->spec;
            linger->until = instant_add(accepted ? attempt->started_at : attempt->ended_at,
                                        known ? call.timeout : CALL_TIMEOUT_DEFAULT);
            linger->serial = known && call.serial;
            return true;
        }
    return false;
}

instant run_linger_until(const struct run *run, const struct run_world *world)
{
    instant until = INSTANT_NONE;
    for (struct run_linger linger = {0}; run_linger_next(run, world, &linger);)
        if (linger.attempt->state != ATTEMPT_ACCEPTED)
            until = instant_max(until, linger.until);
    return until;
}

void run_start_intent(const struct run *run, struct str *ret)
{
    str_add(ret, run->row.start ? run->row.start : "[]");
}
