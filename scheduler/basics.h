/* What every room of the scheduler needs: the state, the way to the store, the clock. Each room says in a header of its
 * own name what it offers to the others; nobody outside scheduler/ includes any of them.
 *
 * The way of a turn (scheduler_step): answers of ports come in through one inbox and are turned into events of runs;
 * then whatever is due is decided; every decision puts rows into a bundle; bundles go to the store in order, a batch at
 * a time; what waits for a commit (calls above all) is released by it. So "persist, then act" has one place.
 *
 * Ownership: the scheduler owns jobs, runs, applications. A job version is ref-counted (newest, ruling, each open run).
 * An open run is ref-counted (table, bundles under way, calls). */
#ifndef CARILLON_SCHEDULER_BASICS_H
#define CARILLON_SCHEDULER_BASICS_H

#include "scheduler/state.h"

static inline void wake_at(struct scheduler *s, mono at)
{
    s->wake = mono_min(s->wake, at);
}
/* Wall times become waits by today's difference of the two clocks; a step of the wall clock is seen at the next turn.
 */
static inline void wake_at_wall(struct scheduler *s, int64_t wall_ms)
{
    span wait = ms_sub(wall_ms, s->now.wall.ms);
    wake_at(s, mono_add(s->now.mono, wait < 0 ? 0 : wait));
}

/* scheduler.c */
struct work *work_new(struct scheduler *s, enum store_op_kind kind,
                      void (*then)(struct scheduler *s, struct work *work));
void work_submit(struct work *work);
/* Notes whether the store can be reached. true: the answer may be used. */
bool work_ok(struct scheduler *s, const struct work *work);

/* start.c: cluster, boot, fence of the own past, join */
void start_step(struct scheduler *s);
/* clock.c: jumps, offset, gaps */
void clock_read(struct scheduler *s, struct moment now);
void clock_step(struct scheduler *s);
bool clock_may_act(const struct scheduler *s);

/* metrics.c */
void metrics_fired(struct scheduler *s, const struct run_row *row);
void metrics_gauges(struct scheduler *s);
static inline void count(int64_t *counter, int64_t more)
{
    __atomic_fetch_add(counter, more, __ATOMIC_RELAXED);
}

void scheduler_fenced(struct scheduler *s, const char *why);

#endif
