#include <stdlib.h>
#include <string.h>

#include "core/base/jsonscan.h"
#include "core/logic/run/internal.h"

/* One row, whichever table it stands in. */
struct entry {
    int32_t seq;
    const struct step_row *step;
    const struct attempt_row *attempt;
};

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

static enum status corrupt(const struct run *run, struct error *err, const char *what, const char *step)
{
    return error_set(err, STATUS_CORRUPT, "run %lld: %s (step \"%s\")", (long long)run->row.id, what, step ? step : "");
}

/* The intent stands for the first row of its attempt, unless the attempt has one. */
static bool has_row(const char *step, const struct attempt_row *attempts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (attempts[i].n == 1 && attempts[i].item == 0 && !strcmp(attempts[i].step, step))
            return true;
    return false;
}

/* The intents as attempts; texts owned by the list. */
struct intents {
    struct attempt_row *rows;
    size_t count;
};

static void intents_release(struct intents *intents)
{
    for (size_t i = 0; i < intents->count; i++)
        attempt_release(&intents->rows[i]);
    free(intents->rows);
}

static int64_t number_or(struct slice value, int64_t fallback)
{
    int64_t number;
    return json_type_of(value) == JSON_NUMBER && json_int64(value, &number) ? number : fallback;
}

/* A new text; NULL: there is none, or memory is out (then *ok is false). */
static const char *text_member(struct slice object, const char *name, bool *ok)
{
    struct slice value = json_member(object, name);
    struct str s;
    if (json_type_of(value) != JSON_STRING)
        return NULL;
    str_init(&s, LIMIT_PARAMS);
    json_unquote(value, &s);
    str_add(&s, "");
    char *text = str_take(&s);
    *ok &= text != NULL;
    str_release(&s);
    return text;
}

/* Adds one intent, unless its attempt has a row. */
static enum status read_intent(struct run *run, struct slice value, size_t index, const struct attempt_row *attempts,
                               size_t count, struct intents *ret, struct error *err)
{
    bool ok = true;
    struct attempt_row *row = &ret->rows[ret->count];
    const char *step = text_member(value, "step", &ok);
    size_t i = step_index(run, step);
    bool known = i != SIZE_MAX, wanted = known && !has_row(step, attempts, count);
    enum status status = STATUS_OK;
    if (ok && !known)
        status = corrupt(run, err, "the start intent names a step that the job does not have", step);
    text_free(step);
    if (!ok)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    if (status || !wanted)
        return status;
    *row = (struct attempt_row){.run = run->row.id,
                                .step = run->job->steps[i].name,
                                .n = 1,
                                .key_try = 1,
                                .seq = (int32_t)number_or(json_member(value, "seq"), (int64_t)index + 1),
                                .state = ATTEMPT_STARTED,
                                .boot = number_or(json_member(value, "boot"), run->row.boot),
                                .started_at =
                                    instant_is_none(run->row.started_at) ? run->row.fired_at : run->row.started_at,
                                .ended_at = INSTANT_NONE,
                                .connect_ms = -1,
                                .first_byte_ms = -1,
                                .total_ms = -1,
                                .retry_after = -1};
    ret->count++;
    row->instance = text_member(value, "instance", &ok);
    row->node = text_member(value, "node", &ok);
    return ok ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, "out of memory");
}

static enum status read_intents(struct run *run, const struct attempt_row *attempts, size_t count, struct intents *ret,
                                struct error *err)
{
    const char *text = run->row.start;
    struct error why;
    *ret = (struct intents){0};
    if (!text || !*text)
        return STATUS_OK;
    size_t length = strlen(text), index = 0;
    enum status status = json_check(text, length, LIMIT_JSON_DEPTH, &why);
    if (status)
        return status == STATUS_NO_MEMORY ? error_set(err, status, "out of memory")
                                          : corrupt(run, err, "the start intent is no JSON", "");
    struct slice list = slice_of(text, length);
    ret->rows = calloc(json_count(list) + 1, sizeof *ret->rows);
    if (!ret->rows)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    struct json_walk walk = json_walk_begin(list);
    while (!status && json_walk_next(&walk))
        status = read_intent(run, walk.value, index++, attempts, count, ret, err);
    return status;
}

static enum status install_entry(struct run *run, const struct entry *entry, struct error *err)
{
    const char *name = entry->step ? entry->step->step : entry->attempt->step;
    int32_t item = entry->step ? entry->step->item : entry->attempt->item;
    size_t i = step_index(run, name);
    if (i == SIZE_MAX)
        return corrupt(run, err, "a row names a step that the job does not have", name);
    struct run_step *step = step_item(run, i, item);
    if (!step)
        return corrupt(run, err, "a row names an item that the step does not have", name);
    if (entry->attempt && (entry->attempt->n < 1 || entry->attempt->n > INT16_MAX * 16))
        return corrupt(run, err, "an attempt has no sound number", name);
    enum status status =
        entry->step ? install_step(run, step, entry->step) : install_attempt(run, step, entry->attempt);
    return status ? error_set(err, status, "out of memory") : STATUS_OK;
}

/* The newest row of a fan may be its end, behind all that its items did: so the items come first. */
static enum status install_lists(struct run *run, const struct step_row *steps, size_t count, struct error *err)
{
    for (size_t k = 0; k < count; k++) {
        size_t i = steps[k].items && steps[k].item == 0 ? step_index(run, steps[k].step) : SIZE_MAX;
        enum status status = i == SIZE_MAX ? STATUS_OK : install_list(run, &run->steps[i], steps[k].items);
        if (status == STATUS_INVALID)
            return corrupt(run, err, "the list of items is no JSON array", steps[k].step);
        if (status)
            return error_set(err, status, "out of memory");
    }
    return STATUS_OK;
}

/* Rows and intents in the order of the events that they record. */
static enum status install_all(struct run *run, const struct step_row *steps, size_t step_count,
                               const struct attempt_row *attempts, size_t attempt_count, const struct intents *intents,
                               struct error *err)
{
    size_t count = 0;
    struct entry *entries = calloc(step_count + attempt_count + intents->count + 1, sizeof *entries);
    if (!entries)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < step_count; i++)
        entries[count++] = (struct entry){.seq = steps[i].seq, .step = &steps[i]};
    for (size_t i = 0; i < attempt_count; i++)
        entries[count++] = (struct entry){.seq = attempts[i].seq, .attempt = &attempts[i]};
    for (size_t i = 0; i < intents->count; i++)
        entries[count++] = (struct entry){.seq = intents->rows[i].seq, .attempt = &intents->rows[i]};
    qsort(entries, count, sizeof *entries, compare_entries);
    enum status status = STATUS_OK;
    for (size_t i = 0; !status && i < count; i++)
        status = install_entry(run, &entries[i], err);
    free(entries);
    return status;
}

enum status run_replay(const struct run_row *row, const struct job_spec *job, const struct step_row *steps,
                       size_t step_count, const struct attempt_row *attempts, size_t attempt_count, struct run **ret,
                       struct error *err)
{
    struct run *run;
    *ret = NULL;
    enum status status = run_create(row, job, &run);
    if (status)
        return error_set(err, status, "run %lld: %s", (long long)row->id,
                         status == STATUS_NO_MEMORY ? "out of memory" : "its job's graph is not sound");
    struct intents intents;
    status = read_intents(run, attempts, attempt_count, &intents, err);
    if (!status)
        status = install_lists(run, steps, step_count, err);
    if (!status)
        status = install_all(run, steps, step_count, attempts, attempt_count, &intents, err);
    intents_release(&intents);
    if (!status) {
        close_steps(run);
        status = run_check(run, err);
    }
    if (status) {
        run_free(run);
        return status;
    }
    *ret = run;
    return STATUS_OK;
}
