/* Trust in time. Three things stop the hand until the own boot row has been read again: a long gap between two turns
 * (this process slept: it may have a successor), a step of the wall clock, and an offset to the store's clock. */
#include <stdlib.h>

#include "scheduler/know/know.h"

#define READ_EVERY (10 * SPAN_SECOND)
#define READ_AGAIN (250 * SPAN_MS)

static void boot_answered(struct scheduler *s, struct work *work)
{
    s->reading_boot = false;
    if (!work_ok(s, work)) {
        s->next_boot_read = mono_add(s->now.mono, s->hold ? READ_AGAIN : SPAN_SECOND);
        return;
    }
    if (work->op.boot_read.fenced && !s->options.break_fence) {
        scheduler_fenced(s, "its boot row is fenced");
        return;
    }
    if (s->hold &&
        mono_cmp(work->submitted, s->hold_since) < 0) { /* asked before the gap: says nothing of what it hid */
        s->next_boot_read = s->now.mono;
        return;
    }
    /* The store read its clock somewhere between question and answer: the middle is the best guess. */
    span took = mono_sub(s->now.mono, work->submitted);
    instant here = instant_add(s->raw.wall, -(took / 2));
    int64_t offset = instant_sub(work->op.boot_read.store_now, here);
    bool alarm = llabs(offset) - took / 2 > CLOCK_ALARM;
    bool bad = llabs(offset) - took / 2 > CLOCK_STOP;
    if (alarm && llabs(s->clock_offset) <= CLOCK_ALARM)
        sink_logf(s->ports.sink, LOG_ERROR,
                  "The clock of this machine and the store's differ; above one second this node hands its slots over. "
                  "Check NTP.",
                  "offset_ms=%lld", (long long)offset);
    s->clock_offset = offset;
    if (bad != s->clock_bad) {
        s->clock_bad = bad;
        s->ownership_dirty = s->node_dirty = true;
    }
    s->jumped = 0;
    clock_read(s, s->raw); /* the rest of this turn must not see the old time */
    if (s->hold)
        s->able_since = s->now.wall;
    s->hold = false;
    s->next_boot_read = mono_add(s->now.mono, READ_EVERY);
}

/* A clock that is far off is corrected by the store's: what fires stays on time until somebody mends it. After a jump
 * the time before it goes on until the store was asked: a deadline must not be missed, nor a pause last for hours,
 * because somebody set a clock. */
void clock_read(struct scheduler *s, struct moment now)
{
    s->now = s->raw = now;
    if (s->clock_bad)
        s->now.wall = instant_add(now.wall, s->clock_offset);
    s->now.wall = instant_add(s->now.wall, -s->jumped);
}

void clock_step(struct scheduler *s)
{
    struct moment last = s->last_step;
    s->last_step = s->raw;
    if (s->boot == 0 || !s->joined)
        return;
    span slept = mono_sub(s->now.mono, last.mono);
    span jumped = ms_sub(instant_sub(s->raw.wall, last.wall), slept);
    bool first = mono_cmp(last.mono, MONO_NEVER) == 0, jump = !first && llabs(jumped) > CLOCK_ALARM;
    if (jump) {
        s->jumped += jumped;
        clock_read(s, s->raw);
    }
    if (jump || (!first && slept > s->settings->coordination.session_timeout / 2)) {
        s->hold = true;
        s->hold_since = s->next_boot_read = s->now.mono;
        replica_stale(s);
        sink_logf(s->ports.sink, LOG_WARN,
                  "Time moved strangely between two turns: nothing fires until the store has been asked.",
                  "slept_ms=%lld jumped_ms=%lld", (long long)slept, (long long)jumped);
    }
    if (s->reading_boot)
        return;
    if (mono_cmp(s->now.mono, s->next_boot_read) < 0) {
        wake_at(s, s->next_boot_read);
        return;
    }
    struct work *work = work_new(s, STORE_BOOT_READ, boot_answered);
    work->op.boot_read.boot = s->boot;
    work->op.boot_read.draining = s->state == SCHEDULER_DRAINING;
    s->reading_boot = true;
    work_submit(work);
}

bool clock_may_act(const struct scheduler *s)
{
    return !s->hold;
}
