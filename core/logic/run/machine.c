#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
}

void run_free(struct run *run)
{
    if (!run)
        return;
    struct machine *machine = machine_of(run);
    for (size_t i = 0; machine && run->steps && i < run->job->step_count; i++) {
        struct run_step *step = &run->steps[i];
        if (machine->steps[i].result_is_ours)
            free(step->result);
        free(step->reason);
        free(step->error);
        for (size_t k = 0; k < step->items[0].attempt_count; k++)
            attempt_release(&step->items[0].attempts[k]);
        free(step->items[0].attempts);
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
        free(machine->items);
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
    machine->items = calloc(count, sizeof *machine->items);
    machine->steps = calloc(count, sizeof *machine->steps);
    machine->assumed = calloc(count, sizeof *machine->assumed);
    struct run_step *steps = calloc(count, sizeof *steps);
    if (!machine->order || !machine->items || !machine->steps || !machine->assumed || !steps) {
        free(steps);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        steps[i] = (struct run_step){.spec = &job->steps[i],
                                     .state = STEP_WAITING,
                                     .due = INSTANT_NONE,
                                     .since = INSTANT_NONE,
                                     .items = &machine->items[i],
                                     .item_count = 1};
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

const struct attempt_row *run_find_attempt(const struct run *run, const char *step, int32_t item, int32_t n)
{
    const struct run_step *found = run_find_step(run, step);
    if (!found || item != 0 || n < 1 || (size_t)n > item_of(found)->attempt_count)
        return NULL;
    return &item_of(found)->attempts[n - 1];
}

const struct attempt_row *last_attempt(const struct run_step *step)
{
    const struct run_item *item = item_of(step);
    return item->attempt_count ? &item->attempts[item->attempt_count - 1] : NULL;
}

bool step_is_open(const struct run_step *step)
{
    const struct attempt_row *last = last_attempt(step);
    return last && attempt_open(last);
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

void run_step_row(const struct run *run, const struct run_step *step, struct step_row *ret)
{
    size_t i = (size_t)(step - run->steps);
    *ret = (struct step_row){.run = run->row.id,
                             .step = step->spec->name,
                             .seq = machine_of(run)->steps[i].row_seq,
                             .state = step->state,
                             .reason = step->reason,
                             .due = step->due,
                             .since = step->since,
                             .result = step->result,
                             .error = step->error};
}

size_t run_calls_open(const struct run *run)
{
    size_t open = 0;
    for (size_t i = 0; i < run->job->step_count; i++)
        open += step_is_open(&run->steps[i]);
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
static bool lingers(const struct run_item *item, size_t at)
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
    for (; linger->next_step < run->job->step_count; linger->next_step++, linger->next_attempt = 0) {
        const struct step_spec *spec = run->steps[linger->next_step].spec;
        const struct run_item *item = item_of(&run->steps[linger->next_step]);
        while (linger->next_attempt < item->attempt_count) {
            size_t at = linger->next_attempt++;
            const struct attempt_row *attempt = &item->attempts[at];
            bool accepted = attempt->state == ATTEMPT_ACCEPTED;
            if (!accepted && !lingers(item, at))
                continue;
            struct call_spec call;
            bool known = call_of(run, spec, world, &call);
            linger->attempt = attempt;
            linger->step = spec;
            linger->until = instant_add(accepted ? attempt->started_at : attempt->ended_at,
                                        known ? call.timeout : CALL_TIMEOUT_DEFAULT);
            linger->serial = known && call.serial;
            return true;
        }
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
