/* Signs of life of accepted calls (executor-protocol.md §3). One that promises the next within some time is watched:
 * when that time passes without another, the attempt ends as `heartbeat`, and the step goes on as its policy says. A
 * new owner of the run, and one whose store was away, grants a full period. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/drive/drive.h"
#include "scheduler/write/write.h"

#define ALIVE_EVERY (2 * SPAN_SECOND)
#define ALIVE_OVERLAP (2 * SPAN_SECOND) /* rows are read again so long: commits may overtake each other's times */

struct beat {
    char key[CALL_KEY_SIZE];
    int64_t run;
    char *step;
    int32_t item, key_try;
    instant at;
    span within;
    mono deadline;
    UT_hash_handle hh;
};

static void drop(struct scheduler *s, struct beat *beat)
{
    HASH_DELETE(hh, s->beats, beat);
    free(beat->step);
    free(beat);
}

void alive_release(struct scheduler *s)
{
    struct beat *beat, *next;
    HASH_ITER(hh, s->beats, beat, next)
    drop(s, beat);
}

void alive_watch(struct scheduler *s)
{
    s->alive_watched = true;
}

static void heard(struct scheduler *s, const struct alive_row *row)
{
    struct attempt_row named = {.run = row->run, .step = row->step, .item = row->item, .key_try = row->key_try};
    char key[CALL_KEY_SIZE];
    struct beat *beat = NULL;
    (void)call_key_format(&named, key);
    HASH_FIND(hh, s->beats, key, strlen(key), beat);
    if (!beat) {
        beat = mem_new(struct beat);
        memcpy(beat->key, key, sizeof key);
        beat->run = row->run;
        beat->step = mem_copy_text(row->step);
        beat->item = row->item;
        beat->key_try = row->key_try;
        beat->at = INSTANT_NONE;
        HASH_ADD(hh, s->beats, key, strlen(beat->key), beat);
    }
    if (!instant_is_none(beat->at) && instant_cmp(row->at, beat->at) <= 0)
        return;
    beat->at = row->at;
    beat->within = row->within;
    beat->deadline = mono_add(s->now.mono, row->within);
}

/* The call has been silent for too long. */
static void end(struct scheduler *s, struct open_run *run, const struct attempt_row *kept, const struct beat *beat)
{
    char text[120];
    struct attempt_row row = *kept;
    (void)snprintf(text, sizeof text, "no sign of life for %lld s, as the last one had promised",
                   (long long)(beat->within / SPAN_SECOND));
    row.state = ATTEMPT_ENDED;
    row.class = CALL_HEARTBEAT;
    row.ended_at = s->now.wall;
    row.error = text;
    row.retry_after = -1;
    driver_attempt(s, run, &row);
}

static void look(struct scheduler *s)
{
    struct beat *beat, *next;
    HASH_ITER(hh, s->beats, beat, next)
    {
        struct open_run *run = driver_find(s, beat->run);
        const struct attempt_row *kept = run && !run->ended && !run->forgotten
                                             ? reports_attempt(run->run, beat->step, beat->item, beat->key_try)
                                             : NULL;
        if (!kept || kept->state == ATTEMPT_ENDED) {
            drop(s, beat);
        } else if (mono_cmp(s->now.mono, beat->deadline) >= 0 && kept->state == ATTEMPT_ACCEPTED && batcher_open(s) &&
                   clock_may_act(s)) {
            end(s, run, kept, beat);
            drop(s, beat);
        }
    }
}

static void answered(struct scheduler *s, struct work *work)
{
    const struct store_alive_read *read = &work->op.alive_read;
    struct beat *beat, *next;
    s->reading_alive = false;
    if (!work_ok(s, work)) {
        s->alive_failed = true;
        return;
    }
    if (s->alive_failed) /* nobody could be heard meanwhile */
        HASH_ITER(hh, s->beats, beat, next)
    beat->deadline = mono_add(s->now.mono, beat->within);
    s->alive_failed = false;
    for (size_t i = 0; i < read->count; i++) {
        heard(s, &read->rows[i]);
        if (read->rows[i].at.ms - ALIVE_OVERLAP > s->alive_since)
            s->alive_since = read->rows[i].at.ms - ALIVE_OVERLAP;
    }
    look(s);
}

void alive_step(struct scheduler *s)
{
    if (!s->joined || !s->alive_watched || s->reading_alive)
        return;
    if (mono_cmp(s->now.mono, s->next_alive) >= 0) {
        s->next_alive = mono_add(s->now.mono, ALIVE_EVERY);
        s->reading_alive = true;
        struct work *work = work_new(s, STORE_ALIVE_READ, answered);
        work->op.alive_read.boot = s->boot;
        work->op.alive_read.since = s->alive_since;
        work_submit(work);
    }
    wake_at(s, s->next_alive);
}
