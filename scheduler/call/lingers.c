/* Calls that are over here, and perhaps not where they went: ended without a definite answer (unknown, timeout, cancel
 * not confirmed), or accepted. Of an ended run they count for the job's overlap, and of a serial task they keep their
 * instance busy, until `linger` has passed or the same key is answered. Rows of them commit with the end of the run, so
 * that whoever rules the slot next knows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/call/call.h"
#include "scheduler/know/know.h"
#include "scheduler/write/write.h"

void lingers_job(struct job *job, int64_t run, instant until)
{
    if (instant_is_none(until))
        return;
    for (size_t i = 0; i < job->lingering.count; i++)
        if (job->lingering.items[i].run == run) {
            job->lingering.items[i].until = instant_max(job->lingering.items[i].until, until);
            return;
        }
    struct linger *linger = vec_push(&job->lingering);
    *linger = (struct linger){.run = run, .until = until};
}

/* ---- serial instances ----------------------------------------------------------------------------------------------
 */

static void busy_free(struct busy *busy)
{
    free(busy->application);
    free(busy->instance);
    free(busy->step);
}

static bool same_item(const struct busy *busy, const struct linger_row *row)
{
    return busy->run == row->run && busy->item == row->item && strcmp(busy->step, row->step) == 0;
}

static void busy_add(struct scheduler *s, const struct linger_row *row)
{
    if (!row->application || !row->instance)
        return;
    for (size_t i = 0; i < s->busy_calls.count; i++) {
        struct busy *busy = &s->busy_calls.items[i];
        if (same_item(busy, row) && busy->n == row->n) {
            busy->until = row->until;
            return;
        }
    }
    struct busy *busy = vec_push(&s->busy_calls);
    *busy = (struct busy){.application = mem_copy_text(row->application),
                          .instance = mem_copy_text(row->instance),
                          .step = mem_copy_text(row->step),
                          .run = row->run,
                          .item = row->item,
                          .key_try = row->key_try,
                          .n = row->n,
                          .until = row->until};
}

static void busy_drop(struct scheduler *s, size_t index)
{
    busy_free(&s->busy_calls.items[index]);
    vec_remove_swap(&s->busy_calls, index);
    s->room_freed = true;
}

bool lingers_at(struct scheduler *s, const struct application *application, const struct instance *instance,
                const struct open_run *run, const char *step)
{
    for (size_t i = 0; i < s->busy_calls.count; i++) {
        const struct busy *busy = &s->busy_calls.items[i];
        bool own = run && busy->run == run->id && strcmp(busy->step, step) == 0;
        if (!own && instant_cmp(busy->until, s->now.wall) > 0 && strcmp(busy->instance, instance->address) == 0 &&
            strcmp(busy->application, application->key) == 0)
            return true;
    }
    return false;
}

void lingers_step(struct scheduler *s)
{
    for (size_t i = 0; i < s->busy_calls.count;)
        if (instant_cmp(s->busy_calls.items[i].until, s->now.wall) <= 0) {
            busy_drop(s, i);
        } else {
            wake_at_wall(s, s->busy_calls.items[i].until.ms);
            i++;
        }
}

void lingers_release(struct scheduler *s)
{
    for (size_t i = 0; i < s->busy_calls.count; i++)
        busy_free(&s->busy_calls.items[i]);
    vec_release(&s->busy_calls);
}

/* ---- of runs -------------------------------------------------------------------------------------------------------
 */

static struct linger_row row_of(const struct open_run *run, const struct run_linger *linger,
                                char key[2 * LIMIT_NAME + 2])
{
    (void)snprintf(key, 2 * LIMIT_NAME + 2, "%s/%s", version_spec(run->version)->meta.project,
                   linger->step->application ? linger->step->application : "");
    return (struct linger_row){.job = run->job->id,
                               .run = run->id,
                               .slot = run->job->slot,
                               .step = linger->attempt->step,
                               .item = linger->attempt->item,
                               .n = linger->attempt->n,
                               .key_try = linger->attempt->key_try,
                               .application = linger->serial && linger->step->application ? key : NULL,
                               .instance = linger->attempt->instance,
                               .until = linger->until,
                               .notice_to = attempt_wants_notice(linger->attempt) ? linger->attempt->notice_to : NULL};
}

void lingers_attempt(struct scheduler *s, struct open_run *run, const struct attempt_row *attempt)
{
    char key[2 * LIMIT_NAME + 2];
    const struct run_world world = world_of(s, run);
    const struct run_step *step = run_find_step(run->run, attempt->step);
    if (!step || !step->spec->application)
        return;
    for (size_t i = 0; i < s->busy_calls.count;) { /* what its key left behind is known anew below */
        const struct busy *busy = &s->busy_calls.items[i];
        const struct linger_row row = {.run = run->id, .step = attempt->step, .item = attempt->item};
        if (same_item(busy, &row) && busy->key_try == attempt->key_try)
            busy_drop(s, i);
        else
            i++;
    }
    for (struct run_linger linger = {0}; run_linger_next(run->run, &world, &linger);)
        if (linger.serial && linger.step == step->spec && instant_cmp(linger.until, s->now.wall) > 0) {
            struct linger_row row = row_of(run, &linger, key);
            busy_add(s, &row);
        }
}

void lingers_take(struct scheduler *s, struct open_run *run)
{
    char key[2 * LIMIT_NAME + 2];
    const struct run_world world = world_of(s, run);
    for (struct run_linger linger = {0}; run_linger_next(run->run, &world, &linger);)
        if (linger.serial) {
            struct linger_row row = row_of(run, &linger, key);
            busy_add(s, &row);
        }
}

void lingers_run(struct scheduler *s, struct open_run *run, struct bundle *bundle)
{
    char key[2 * LIMIT_NAME + 2];
    const struct run_world world = world_of(s, run);
    for (struct run_linger linger = {0}; run_linger_next(run->run, &world, &linger);) {
        if (linger.attempt->state == ATTEMPT_ACCEPTED || instant_cmp(linger.until, s->now.wall) <= 0)
            continue;
        struct linger_row row = row_of(run, &linger, key);
        bundle_linger(bundle, &row);
        lingers_job(run->job, run->id, row.until);
    }
}

void lingers_load(struct scheduler *s, const struct linger_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct job *job = job_find(s, rows[i].job);
        if (job)
            lingers_job(job, rows[i].run, rows[i].until);
        busy_add(s, &rows[i]);
        if (rows[i].notice_to)
            notices_load(s, &rows[i]);
    }
}
