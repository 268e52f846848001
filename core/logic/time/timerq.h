/* Timer queue: deadlines on two clocks over intrusive heaps. Timers of schedules hang on the wall clock (they move with
 * it), timeouts on the monotonic one. The loop has one question: what is due, at most n, and otherwise how long?
 *
 * A timer is embedded in the caller's object, zeroed before its first use, and stays the caller's; it must be canceled
 * (or have come out as due) before its memory goes. */
#ifndef CARILLON_CORE_LOGIC_TIME_TIMERQ_H
#define CARILLON_CORE_LOGIC_TIME_TIMERQ_H

#include "core/base/heap.h"
#include "core/base/instant.h"

struct timer {
    struct heap_entry entry;
    bool wall;
};

struct timerq {
    struct heap wall, mono;
};

void timerq_init(struct timerq *queue);
void timerq_release(struct timerq *queue);

/* Sets or moves a timer. INSTANT_MAX and MONO_NEVER cancel it. STATUS_NO_MEMORY: it is not armed. */
enum status timerq_set_wall(struct timerq *queue, struct timer *timer, instant due) MUST_USE;
enum status timerq_set_mono(struct timerq *queue, struct timer *timer, mono due) MUST_USE;
void timerq_cancel(struct timerq *queue, struct timer *timer); /* does nothing when it is not armed */
static inline bool timer_armed(const struct timer *timer)
{
    return heap_contains(&timer->entry);
}

/* Takes up to `cap` due timers out of the queue, in order of their time (wall before mono where both are due equally
 * long), equal ones in order of arming. *ret_wait: 0 when further ones are due, else the time to the next, SPAN_MAX
 * when there is none. */
size_t timerq_due(struct timerq *queue, struct moment now, struct timer **ret, size_t cap, span *ret_wait);
static inline size_t timerq_count(const struct timerq *queue)
{
    return queue->wall.count + queue->mono.count;
}

#endif
