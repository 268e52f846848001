#include "core/logic/time/timerq.h"

void timerq_init(struct timerq *queue)
{
    heap_init(&queue->wall);
    heap_init(&queue->mono);
}

void timerq_release(struct timerq *queue)
{
    heap_release(&queue->wall);
    heap_release(&queue->mono);
}

void timerq_cancel(struct timerq *queue, struct timer *timer)
{
    heap_remove(timer->wall ? &queue->wall : &queue->mono, &timer->entry);
}

static enum status set(struct timerq *queue, struct timer *timer, bool wall, int64_t due)
{
    timerq_cancel(queue, timer);
    if (due == INT64_MAX)
        return STATUS_OK;
    timer->wall = wall;
    return heap_add(wall ? &queue->wall : &queue->mono, &timer->entry, due);
}

enum status timerq_set_wall(struct timerq *queue, struct timer *timer, instant due)
{
    return set(queue, timer, true, due.ms);
}

enum status timerq_set_mono(struct timerq *queue, struct timer *timer, mono due)
{
    return set(queue, timer, false, due.ms);
}

/* Time until the first of a heap; negative: overdue. */
static span first_in(const struct heap *heap, int64_t now)
{
    const struct heap_entry *first = heap_first(heap);
    return first ? ms_sub(first->due, now) : SPAN_MAX;
}

size_t timerq_due(struct timerq *queue, struct moment now, struct timer **ret, size_t cap, span *ret_wait)
{
    for (size_t count = 0;; count++) {
        span wall = first_in(&queue->wall, now.wall.ms), mono_wait = first_in(&queue->mono, now.mono.ms);
        span wait = wall <= mono_wait ? wall : mono_wait;
        if (wait > 0 || count == cap) {
            *ret_wait = wait > 0 ? wait : 0;
            return count;
        }
        struct heap *heap = wall <= mono_wait ? &queue->wall : &queue->mono;
        struct heap_entry *entry = heap_first(heap);
        heap_remove(heap, entry);
        ret[count] = (struct timer *)(void *)((char *)entry - offsetof(struct timer, entry));
    }
}
