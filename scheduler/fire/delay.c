/* A `delay` trigger counts from the end of its last run. That end is written with the run's end, but only by whoever
 * owns the slot: when the run was finished by somebody else (a node that drains, one that adopted it) and the owner
 * died before it noticed, the trigger's state does not know of it. Then the history is asked, or the trigger would wait
 * for ever. */
#include <string.h>

#include "scheduler/drive/drive.h"
#include "scheduler/fire/fire.h"
#include "scheduler/know/know.h"
#include "scheduler/write/write.h"

#define RUNS_LOOKED_AT 100 /* retries of one instant stand before its own run */

static bool stands_still(const struct trigger *t)
{
    const struct schedule_memory memory = {.activated = t->activated, .last_end = t->last_end};
    return t->spec->kind == TRIGGER_DELAY && t->schedule && !t->waiting &&
           instant_cmp(schedule_next(t->schedule, &memory, t->decided).at, INSTANT_MAX) == 0;
}

void delay_ended(struct trigger *t, instant end)
{
    t->last_end = end;
    if (instant_cmp(instant_add(end, t->spec->period), t->activated) < 0)
        t->last_end = INSTANT_NONE; /* it would lie before the edit: counted from there anew */
    if (stands_still(t)) /* the end was heard of late, and the cursor went on with the slot's mark meanwhile */
        t->decided = instant_min(t->decided, instant_is_none(t->last_end) ? t->activated : t->last_end);
}

enum found {
    FOUND_END,     /* or that there is none */
    FOUND_OPEN,    /* its end will be heard of */
    FOUND_TOO_SOON /* it has ended here, and the list is older than that */
};

/* The newest run alone says when it goes on: the end of an earlier one would call back instants that are decided. */
static enum found end_of_last(struct scheduler *s, const struct store_runs_list *list, int64_t job, instant *ret_end)
{
    *ret_end = INSTANT_NONE;
    for (size_t i = 0; i < list->count; i++) {
        const struct run_row *row = &list->rows[i];
        if (row->job != job || row->generation != 0)
            continue;
        const struct open_run *run = run_state_terminal(row->state) ? NULL : driver_find(s, row->id);
        row = run ? &run->run->row : row;
        *ret_end = row->ended_at;
        return run_state_terminal(row->state) ? FOUND_END : run ? FOUND_OPEN : FOUND_TOO_SOON;
    }
    return FOUND_END;
}

static void answered(struct scheduler *s, struct work *work)
{
    const struct store_runs_list *list = &work->op.runs_list;
    struct job *job = job_find(s, work->number);
    struct trigger *t = job && job->loaded ? job_trigger(job, list->trigger) : NULL;
    if (!t || !stands_still(t))
        return;
    instant end = INSTANT_NONE;
    enum found found = work_ok(s, work) ? end_of_last(s, list, job->id, &end) : FOUND_END;
    if (found == FOUND_TOO_SOON)
        delay_recall(s, job, t);
    if (found != FOUND_END)
        return;
    delay_ended(t, instant_is_none(end) ? s->now.wall : end); /* nothing is known of it: from now on */
    struct bundle *bundle = bundle_new(s);
    bundle_state(bundle, t);
    bundle_put(s, bundle, true);
    planner_arm(s, t);
}

/* After a load: is the end known that comes next? (Of a trigger whose own end has come it is asked in vain.) */
void delay_recall(struct scheduler *s, struct job *job, struct trigger *t)
{
    if (!stands_still(t))
        return;
    size_t project = strlen(job->project) + 1, name = strlen(job->name) + 1, trigger = strlen(t->spec->name) + 1;
    char *texts = mem_alloc(project + name + trigger);
    memcpy(texts, job->project, project);
    memcpy(texts + project, job->name, name);
    memcpy(texts + project + name, t->spec->name, trigger);
    struct work *work = work_new(s, STORE_RUNS_LIST, answered);
    work->memory = texts;
    work->number = job->id;
    work->op.runs_list.project = texts;
    work->op.runs_list.job = texts + project;
    work->op.runs_list.trigger = texts + project + name;
    work->op.runs_list.from = work->op.runs_list.to = INSTANT_NONE;
    work->op.runs_list.has_error = work->op.runs_list.origin = -1;
    work->op.runs_list.limit = RUNS_LOOKED_AT;
    work_submit(work);
}

void delay_ended_early(struct job *job, const char *trigger, instant end)
{
    for (size_t i = 0; i < job->memory.count; i++)
        if (strcmp(job->memory.items[i].trigger, trigger) == 0)
            job->memory.items[i].last_end = instant_max(job->memory.items[i].last_end, end);
}
