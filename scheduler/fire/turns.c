/* Whose turn it is. Two kinds of waiting: queued runs wait for the overlap policy (and for their due time) in their
 * job's queue; begun runs wait for room (limits of instances, applications, jobs, the whole node). Room is given
 * round-robin over jobs within a priority, so that one job cannot hold up another. */
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "scheduler/call/call.h"
#include "scheduler/drive/drive.h"
#include "scheduler/fire/fire.h"
#include "scheduler/know/know.h"
#include "scheduler/own/own.h"
#include "scheduler/write/write.h"

#define RING_EVERY (10 * SPAN_SECOND) /* room that appears without an event has its time in next_ring; the rest */
#define RING_TRIES 512                /* jobs looked at in one turn */

/* Runs of the job that take a place: ours that have begun, those of other boots, those whose executor may still work.
 */
size_t job_running(struct scheduler *s, struct job *job)
{
    for (size_t i = 0; i < job->lingering.count;)
        if (instant_cmp(job->lingering.items[i].until, s->now.wall) <= 0)
            vec_remove_swap(&job->lingering, i);
        else
            i++;
    return job->running + job->foreign.count + job->lingering.count;
}

/* Later than every run of the job elsewhere, though the clock there may be ahead: age decides whose turn it is. */
instant job_fired_at(const struct scheduler *s, const struct job *job)
{
    instant at = s->now.wall;
    for (size_t i = 0; i < job->foreign.count; i++)
        at = instant_max(at, instant_add(job->foreign.items[i].fired_at, 1));
    return at;
}

/* The same for a queued run of ours: a younger one that waits elsewhere waits for ours, so it does not count. */
static size_t running_before(struct scheduler *s, struct job *job, const struct open_run *run)
{
    size_t n = job_running(s, job) - job->foreign.count;
    for (size_t i = 0; i < job->foreign.count; i++) {
        const struct foreign_run *other = &job->foreign.items[i];
        const struct run_row row = {.id = other->id, .fired_at = other->fired_at};
        n += other->began || run_elder(&row, &run->run->row);
    }
    return n;
}

static bool waits_for_retry(const struct scheduler *s, const struct open_run *run)
{
    return run->run->row.origin == ORIGIN_RETRY && instant_cmp(run->run->row.due_at, s->now.wall) > 0;
}

static size_t queued(const struct scheduler *s, const struct job *job)
{
    size_t n = 0;
    for (const struct open_run *run = job->queue; run; run = run->next)
        n += !waits_for_retry(s, run);
    return n;
}

/* Was the job busy at that instant, as far as we know? What began or queued later is no overlap of it. */
static bool busy_at(const struct job *job, instant at)
{
    if (job->foreign.count || job->lingering.count)
        return true;
    for (const struct open_run *run = job->all; run; run = run->job_next) {
        const struct run_row *row = &run->run->row;
        instant since = run->counted ? row->started_at : row->fired_at;
        if (!run->ended && instant_cmp(since, at) <= 0)
            return true;
    }
    return false;
}

enum overlap_verdict turns_judge(struct scheduler *s, struct job *job, const struct job_spec *spec,
                                 const struct trigger_spec *trigger, instant at, bool *catching_up)
{
    struct overlap_state state = {
        .running = (int64_t)job_running(s, job),
        .queued = (int64_t)queued(s, job),
        .misfire_max = trigger->misfire_max,
    };
    const struct slot *slot = slot_get(s, job->slot);
    instant able = instant_max(s->able_since, slot ? slot->ruled_since : s->able_since);
    *catching_up |= instant_sub(s->now.wall, at) > LATE_SLACK || instant_cmp(at, able) < 0 || !busy_at(job, at);
    state.catching_up = *catching_up;
    return overlap_decide(spec->overlap, spec->max_parallel, &state);
}

static void alarm_at(struct scheduler *s, struct open_run *run, int64_t due)
{
    heap_remove(&s->alarms, &run->timer);
    if (heap_add(&s->alarms, &run->timer, due) != STATUS_OK)
        abort();
}

bool run_elder(const struct run_row *a, const struct run_row *b)
{
    int order = instant_cmp(a->fired_at, b->fired_at);
    return order ? order < 0 : a->id < b->id;
}

void turns_queue(struct scheduler *s, struct open_run *run)
{
    if (run->queued)
        return;
    run->queued = true;
    struct open_run *later = run->job->queue; /* oldest first; adopted ones may be older than what waits here */
    while (later && !run_elder(&run->run->row, &later->run->row))
        later = later->next;
    if (later)
        DL_PREPEND_ELEM(run->job->queue, later, run);
    else
        DL_APPEND(run->job->queue, run);
    if (instant_cmp(run->run->row.due_at, s->now.wall) > 0)
        alarm_at(s, run, run->run->row.due_at.ms);
    turns_wake(s, run->job);
}

void turns_forget(struct scheduler *s, struct open_run *run)
{
    (void)s;
    if (run->queued) {
        DL_DELETE(run->job->queue, run);
        run->queued = false;
    }
    if (run->limited) {
        DL_DELETE2(run->job->limited, run, limited_prev, limited_next);
        run->limited = false;
    }
}

void turns_wake(struct scheduler *s, struct job *job)
{
    if (job->awake)
        return;
    job->awake = true;
    vec_add(&s->turns, job);
}

static void ring_add(struct scheduler *s, struct job *job, int priority)
{
    if (job->in_ring)
        return;
    job->priority = priority < 0 ? 0 : priority >= PRIORITIES ? PRIORITIES - 1 : priority;
    job->in_ring = true;
    DL_APPEND2(s->ring[job->priority], job, ring_prev, ring_next);
}

void turns_limited(struct scheduler *s, struct open_run *run)
{
    if (!run->limited) {
        run->limited = true;
        DL_APPEND2(run->job->limited, run, limited_prev, limited_next);
    }
    ring_add(s, run->job, run->run->row.priority);
}

/* Begins what may begin of a job's queue. true: it waits for room. */
static bool move_queue(struct scheduler *s, struct job *job)
{
    struct open_run *run = job->queue;
    while (run) {
        struct open_run *next = run->next;
        const struct job_spec *spec = version_spec(run->version);
        if (run->held) {
            run = next;
            continue;
        }
        if (run->committed && instant_cmp(run->run->row.due_at, s->now.wall) <= 0) {
            size_t running = running_before(s, job, run);
            if (!overlap_may_start(spec->overlap, spec->max_parallel, (int64_t)running)) {
                if (job->lingering.count) { /* ask again when an executor may be believed idle */
                    int64_t soon = INT64_MAX;
                    for (size_t i = 0; i < job->lingering.count; i++)
                        soon = job->lingering.items[i].until.ms < soon ? job->lingering.items[i].until.ms : soon;
                    alarm_at(s, run, soon);
                }
                return false;
            }
            if (s->state == SCHEDULER_DRAINING)
                return false; /* whoever adopts it begins it */
            const char *limit = room_for(s, job, spec);
            if (limit) {
                driver_waits(s, run, limit); /* the first of the queue tells it for all behind it */
                ring_add(s, job, run->run->row.priority);
                return true;
            }
            driver_begin(s, run);
        } else if (run->committed && !heap_contains(&run->timer)) {
            alarm_at(s, run, run->run->row.due_at.ms);
        }
        run = next;
    }
    return false;
}

/* One job's turn at the room that has become free: one run, then the next job. true: it still waits. */
static bool take_room(struct scheduler *s, struct job *job)
{
    struct open_run *run = job->limited;
    if (run) {
        DL_DELETE2(job->limited, run, limited_prev, limited_next);
        run->limited = false;
        driver_ask(s, run);                /* puts itself back when it still finds no room */
        if (!job->limited && job->queue) { /* the queue has its turn next */
            turns_wake(s, job);
            s->busy = true;
        }
    } else if (job->queue) {
        (void)move_queue(s, job);
    }
    return job->limited != NULL;
}

static void give_room(struct scheduler *s)
{
    int tries = RING_TRIES;
    for (int p = PRIORITIES - 1; p >= 0; p--) {
        size_t left = 0;
        struct job *job;
        DL_COUNT2(s->ring[p], job, left, ring_next);
        while (s->ring[p] && left-- > 0 && tries-- > 0 && s->in_flight < s->settings->dispatch.max_in_flight) {
            job = s->ring[p];
            DL_DELETE2(s->ring[p], job, ring_prev, ring_next);
            job->in_ring = false;
            if (take_room(s, job))
                ring_add(s, job, job->limited->run->row.priority);
        }
    }
}

void turns_step(struct scheduler *s)
{
    if (!batcher_open(s) || !clock_may_act(s) || recovery_unread(s))
        return;                                   /* whoever waits goes on waiting */
    for (size_t i = 0; i < s->turns.count; i++) { /* grows while it is walked */
        struct job *job = s->turns.items[i];
        if (!job)
            continue;
        s->turns.items[i] = NULL;
        job->awake = false;
        if (job->queue)
            (void)move_queue(s, job);
    }
    vec_clear(&s->turns);
    bool any = false;
    for (int p = 0; p < PRIORITIES && !any; p++)
        any = s->ring[p] != NULL;
    if (!any)
        return;
    if (s->room_freed || mono_cmp(s->now.mono, s->next_ring) >= 0) {
        s->room_freed = false;
        s->next_ring = mono_add(s->now.mono, RING_EVERY);
        give_room(s);
    }
    wake_at(s, s->next_ring);
}
