/* Counters: written here on the scheduler's thread, read by others. */
#include "scheduler/basics.h"

const double scheduler_lateness_bounds[SCHEDULER_LATENESS_BUCKETS] = {
    0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 600, __builtin_inf(),
};

void metrics_fired(struct scheduler *s, const struct run_row *row)
{
    count(&s->metrics.fires, 1);
    int64_t late = instant_sub(s->now.wall, row->due_at);
    if (row->origin != ORIGIN_SCHEDULE || late < 0)
        return; /* asked for by somebody, late by policy, or jitter that is still ahead: not the scheduler's lateness */
    size_t bucket = 0;
    while (bucket < SCHEDULER_LATENESS_BUCKETS - 1 && (double)late / 1000.0 > scheduler_lateness_bounds[bucket])
        bucket++;
    count(&s->metrics.lateness_count, 1);
    count(&s->metrics.lateness_sum_ms, late);
    count(&s->metrics.lateness_bucket[bucket], 1);
}

static void set(int64_t *gauge, int64_t value)
{
    __atomic_store_n(gauge, value, __ATOMIC_RELAXED);
}

void metrics_gauges(struct scheduler *s)
{
    set(&s->metrics.runs_open, (int64_t)HASH_COUNT(s->runs));
    set(&s->metrics.calls_in_flight, s->in_flight);
    set(&s->metrics.queue_rows, (int64_t)s->queue_rows);
    set(&s->metrics.clock_offset_ms, s->clock_offset);
    set(&s->metrics.coordination_down, s->joined && !s->connected ? 1 : 0);
}
