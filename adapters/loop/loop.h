/* The event loop of a process (libuv, hidden here). One thread runs it; everything else reaches it by `loop_post` or a
 * notice. A turn is: timers, events, then `step` once, then sleep until the time that step asked for (a timerfd on
 * CLOCK_BOOTTIME, so the wake-up is late by microseconds, not by a millisecond of epoll).
 *
 *   struct loop_options options = {.step = on_step, .signal = on_signal, .context = me};
 *   loop_create(&options, &loop, &err);  loop_run(loop);  loop_free(loop);
 *
 * All calls but loop_post, loop_notice_send and loop_clock belong on the loop's thread (or before loop_run). */
#ifndef CARILLON_ADAPTERS_LOOP_LOOP_H
#define CARILLON_ADAPTERS_LOOP_LOOP_H

#include "core/base/error.h"
#include "core/base/instant.h"

struct loop;

struct loop_options {
    /* After the events of each turn. Returns when it wants to be called again at the latest; MONO_NEVER = only after an
     * event. A time that has passed means "at once, after the events that wait". NULL = none. */
    mono (*step)(void *context, struct moment now);
    /* SIGTERM, SIGINT or SIGHUP arrived. NULL = their default effect stays. SIGPIPE is ignored in every case. */
    void (*signal)(void *context, int number);
    /* Somebody set the real-time clock: `jump` ms forward (+) or back (−) against boot time. NULL = not told. */
    void (*clock_set)(void *context, struct moment now, span jump);
    void *context;
};

enum status loop_create(const struct loop_options *options, struct loop **ret, struct error *err) MUST_USE;
void loop_run(struct loop *loop);  /* until loop_stop; may be called again */
void loop_stop(struct loop *loop); /* loop_run returns after this turn; from another thread: loop_post it */
/* Everything that uses the loop (dispatch, coordination, timers, notices) must be closed before. What was posted is
 * still called. */
void loop_free(struct loop *loop);

/* The time of this turn: both clocks read once a turn. */
struct moment loop_moment(struct loop *loop);
/* Both clocks now, for threads that have no loop and for start-up. */
struct moment loop_clock(void);

/* Calls `task(context)` on the loop's thread, soon, in the order of posting. Any thread. */
void loop_post(struct loop *loop, void (*task)(void *context), void *context);

/* A notice is a post without memory: any number of sends before the loop turns become one call (store_drain). */
struct loop_notice;
struct loop_notice *loop_notice_create(struct loop *loop, void (*task)(void *context), void *context);
void loop_notice_send(struct loop_notice *notice); /* any thread */
void loop_notice_free(struct loop_notice *notice); /* nobody may send any more; NULL is fine */

/* Timer for adapters (precise to a millisecond or two); the scheduler's own instants go through `step`. */
struct loop_timer;
struct loop_timer *loop_timer_create(struct loop *loop, void (*task)(void *context), void *context);
void loop_timer_start(struct loop_timer *timer, span delay); /* once, from now; replaces an earlier start */
void loop_timer_stop(struct loop_timer *timer);
void loop_timer_free(struct loop_timer *timer); /* also from its own task; NULL is fine */

#endif
