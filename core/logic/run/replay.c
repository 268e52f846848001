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

struct intent {
    struct str step, instance, node;
};

static void intent_init(struct intent *intent)
{
    str_init(&intent->step, LIMIT_PARAMS);
    str_init(&intent->instance, LIMIT_PARAMS);
    str_init(&intent->node, LIMIT_PARAMS);
}

static void intent_release(struct intent *intent)
{
    str_release(&intent->step);
    str_release(&intent->instance);
    str_release(&intent->node);
}

static int64_t number_or(struct slice value, int64_t fallback)
{
    int64_t number;
    return json_type_of(value) == JSON_NUMBER && json_int64(value, &number) ? number : fallback;
}

static enum status install_intent(struct run *run, struct slice value, size_t index, const struct attempt_row *attempts,
                                  size_t count, struct error *err)
{
    struct intent intent;
    enum status status = STATUS_OK;
    intent_init(&intent);
    json_unquote(json_member(value, "step"), &intent.step);
    json_unquote(json_member(value, "instance"), &intent.instance);
    struct slice node = json_member(value, "node");
    if (node.bytes)
        json_unquote(node, &intent.node);
    size_t i = step_index(run, str_text(&intent.step));
    if (intent.step.failed || intent.instance.failed || intent.node.failed)
        status = error_set(err, STATUS_NO_MEMORY, "out of memory");
    else if (i == SIZE_MAX)
        status = corrupt(run, err, "the start intent names a step that the job does not have", str_text(&intent.step));
    else if (!has_row(str_text(&intent.step), attempts, count)) {
        instant at = instant_is_none(run->row.started_at) ? run->row.fired_at : run->row.started_at;
        struct attempt_row row = {.run = run->row.id,
                                  .step = run->job->steps[i].name,
                                  .n = 1,
                                  .key_try = 1,
                                  .seq = (int32_t)number_or(json_member(value, "seq"), (int64_t)index + 1),
                                  .state = ATTEMPT_STARTED,
                                  .instance = str_text(&intent.instance),
                                  .boot = number_or(json_member(value, "boot"), run->row.boot),
                                  .node = node.bytes ? str_text(&intent.node) : run->row.node,
                                  .started_at = at,
                                  .ended_at = INSTANT_NONE,
                                  .connect_ms = -1,
                                  .first_byte_ms = -1,
                                  .total_ms = -1,
                                  .retry_after = -1};
        status = install_attempt(run, i, &row);
    }
    intent_release(&intent);
    return status;
}

static enum status install_intents(struct run *run, const struct attempt_row *attempts, size_t count, struct error *err)
{
    const char *text = run->row.start;
    struct error why;
    if (!text || !*text)
        return STATUS_OK;
    size_t length = strlen(text), index = 0;
    if (json_check(text, length, LIMIT_JSON_DEPTH, &why) != STATUS_OK)
        return corrupt(run, err, "the start intent is no JSON", "");
    struct json_walk walk = json_walk_begin(slice_of(text, length));
    enum status status = STATUS_OK;
    while (!status && json_walk_next(&walk))
        status = install_intent(run, walk.value, index++, attempts, count, err);
    return status;
}

static enum status install_entry(struct run *run, const struct entry *entry, struct error *err)
{
    const char *name = entry->step ? entry->step->step : entry->attempt->step;
    int32_t item = entry->step ? entry->step->item : entry->attempt->item;
    size_t i = step_index(run, name);
    if (i == SIZE_MAX)
        return corrupt(run, err, "a row names a step that the job does not have", name);
    if (item != 0)
        return corrupt(run, err, "a row names an item that the step does not have", name);
    if (entry->attempt && (entry->attempt->n < 1 || entry->attempt->n > INT16_MAX * 16))
        return corrupt(run, err, "an attempt has no sound number", name);
    enum status status = entry->step ? install_step(run, i, entry->step) : install_attempt(run, i, entry->attempt);
    return status ? error_set(err, status, "out of memory") : STATUS_OK;
}

static enum status install_rows(struct run *run, const struct step_row *steps, size_t step_count,
                                const struct attempt_row *attempts, size_t attempt_count, struct error *err)
{
    struct entry *entries = calloc(step_count + attempt_count + 1, sizeof *entries);
    if (!entries)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < step_count; i++)
        entries[i] = (struct entry){.seq = steps[i].seq, .step = &steps[i]};
    for (size_t i = 0; i < attempt_count; i++)
        entries[step_count + i] = (struct entry){.seq = attempts[i].seq, .attempt = &attempts[i]};
    qsort(entries, step_count + attempt_count, sizeof *entries, compare_entries);
    enum status status = STATUS_OK;
    for (size_t i = 0; !status && i < step_count + attempt_count; i++)
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
    status = install_intents(run, attempts, attempt_count, err);
    if (!status)
        status = install_rows(run, steps, step_count, attempts, attempt_count, err);
    if (!status)
        status = run_check(run, err);
    if (status) {
        run_free(run);
        return status;
    }
    *ret = run;
    return STATUS_OK;
}
