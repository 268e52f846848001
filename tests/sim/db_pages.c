/* Operations that read what has happened: lists of runs, a run, failures in a row. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/db_parts.h"

static bool listed(struct db *db, const struct store_runs_list *list, const struct run_row *row)
{
    return (!list->states || list->states & 1u << row->state) && (!list->node || !strcmp(list->node, row->node)) &&
           (!list->trigger || !strcmp(list->trigger, row->trigger)) &&
           (!list->job || !strcmp(list->job, db_find_job(db, row->job)->name));
}

static int newest_first(const void *a, const void *b)
{
    const struct run_row *x = a, *y = b;
    int64_t order = y->scheduled_at.ms != x->scheduled_at.ms ? y->scheduled_at.ms - x->scheduled_at.ms : y->id - x->id;
    return (order > 0) - (order < 0);
}

enum status db_op_runs_list(struct db *db, struct store_op *op)
{
    struct store_runs_list *list = &op->runs_list;
    struct run_row *all = arena_array(&op->arena, struct run_row, db->order.count + 1);
    size_t count = 0;
    for (size_t i = 0; i < db->order.count; i++)
        if (listed(db, list, &db->order.items[i]->row))
            db_copy_run(&op->arena, &all[count++], &db->order.items[i]->row);
    qsort(all, count, sizeof *all, newest_first);
    size_t skip = (size_t)list->skip < count ? (size_t)list->skip : count;
    list->rows = all + skip;
    list->count = count - skip < (size_t)list->limit ? count - skip : (size_t)list->limit;
    list->total = (int64_t)count;
    list->next_cursor = skip + list->count < count ? "more" : NULL;
    return STATUS_OK;
}

enum status db_op_run_read(struct db *db, struct store_op *op)
{
    struct store_run_read *read = &op->run_read;
    const struct db_run *run = db_find_run(db, read->id);
    const struct db_job *job = run ? db_find_job(db, run->row.job) : NULL;
    if (!run || !job)
        return STATUS_NOT_FOUND;
    db_copy_run(&op->arena, &read->run, &run->row);
    read->step_count = run->steps.count;
    read->attempt_count = run->attempts.count;
    read->steps = arena_array(&op->arena, struct step_row, read->step_count + 1);
    read->attempts = arena_array(&op->arena, struct attempt_row, read->attempt_count + 1);
    db_copy_rows(&op->arena, run, read->steps, read->attempts);
    read->job_name = arena_text(&op->arena, job->name);
    read->project_name = "default";
    if (run->row.version >= 1 && (size_t)run->row.version <= job->version_count)
        read->job_json = arena_text(&op->arena, job->versions[run->row.version - 1].json);
    return STATUS_OK;
}

static int newest_end(const void *a, const void *b)
{
    const struct run_row *x = a, *y = b;
    return instant_cmp(y->ended_at, x->ended_at);
}

enum status db_op_failures(struct db *db, struct store_op *op)
{
    struct store_failures *f = &op->failures;
    struct run_row *ended = arena_array(&op->arena, struct run_row, db->order.count + 1);
    instant resumed = INSTANT_NONE;
    size_t n = 0;
    for (size_t i = 0; i < db->activations.count; i++) {
        const struct activation_row *row = &db->activations.items[i].row;
        if (row->job == f->job && row->kind == ACTIVATION_RESUME)
            resumed = instant_max(resumed, row->from);
    }
    for (size_t i = 0; i < db->order.count; i++) {
        const struct run_row *row = &db->order.items[i]->row;
        if (row->job == f->job && run_state_terminal(row->state) && row->state != RUN_CANCELED)
            ended[n++] = *row;
    }
    qsort(ended, n, sizeof *ended, newest_end);
    f->failed = 0;
    while (f->failed < n && f->failed < f->limit && ended[f->failed].state != RUN_SUCCEEDED &&
           instant_cmp(ended[f->failed].ended_at, resumed) > 0)
        f->failed++;
    return STATUS_OK;
}
