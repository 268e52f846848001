#include "adapters/loop/loop.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "adapters/loop/loop_uv.h"
#include "core/base/mem.h"

struct posted {
    struct posted *next;
    void (*task)(void *context);
    void *context;
};

#define LOOP_SIGNALS 3
#define CLOSING_TURNS 10 /* one is enough, or two after a loop_stop that nobody has run */

struct loop {
    struct loop_options options;
    uv_loop_t uv;
    uv_prepare_t prepare;
    uv_async_t async;
    uv_poll_t wake, clock;
    uv_signal_t signals[LOOP_SIGNALS];
    bool signals_on;
    int wake_fd, clock_fd;
    mono armed; /* what wake_fd is set to; MONO_NEVER = off */
    struct moment moment;
    bool moment_fresh; /* read in this turn */
    int64_t offset;    /* wall − mono when last looked at: tells how far the clock was set */
    pthread_mutex_t lock;
    struct posted *first, **last; /* under lock */
};

static int64_t clock_read_ms(clockid_t id)
{
    struct timespec t;
    (void)clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

struct moment loop_clock(void)
{
    return (struct moment){.wall = {clock_read_ms(CLOCK_REALTIME)}, .mono = {clock_read_ms(CLOCK_BOOTTIME)}};
}

struct moment loop_moment(struct loop *loop)
{
    if (!loop->moment_fresh) {
        loop->moment = loop_clock();
        loop->moment_fresh = true;
    }
    return loop->moment;
}

uv_loop_t *loop_uv(struct loop *loop)
{
    return &loop->uv;
}

/* ---- the wake-up --------------------------------------------------------------------------------------------------
 */

/* Absolute time on the boot clock. A time that has passed fires at once; {0,0} would switch the timer off, so the
 * earliest setting is 1 ns. */
static void wake_arm(struct loop *loop, mono at)
{
    struct itimerspec spec = {0};
    if (mono_cmp(at, loop->armed) == 0 && mono_cmp(at, loop->moment.mono) > 0)
        return;
    loop->armed = at;
    if (at.ms != MONO_NEVER.ms) {
        int64_t ms = at.ms > 0 ? at.ms : 0;
        spec.it_value.tv_sec = (time_t)(ms / 1000);
        spec.it_value.tv_nsec = (long)(ms % 1000) * 1000000;
        if (spec.it_value.tv_sec == 0 && spec.it_value.tv_nsec == 0)
            spec.it_value.tv_nsec = 1;
    }
    (void)timerfd_settime(loop->wake_fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

static void on_wake(uv_poll_t *handle, int status, int events)
{
    struct loop *loop = handle->data;
    uint64_t count;
    (void)status;
    (void)events;
    if (read(loop->wake_fd, &count, sizeof count) > 0)
        loop->armed = MONO_NEVER; /* it has fired: nothing is set any more */
}

/* Runs right before the loop sleeps: everything that timers and events of this turn caused has been done. */
static void on_prepare(uv_prepare_t *handle)
{
    struct loop *loop = handle->data;
    loop->moment = loop_clock();
    loop->moment_fresh = true;
    if (loop->options.step)
        wake_arm(loop, loop->options.step(loop->options.context, loop->moment));
    loop->moment_fresh = false; /* the sleep comes next */
}

/* ---- the real-time clock was set ----------------------------------------------------------------------------------
 */

/* A timer in the far future whose only use is to be canceled by the kernel when somebody sets the clock. */
static void clock_watch(struct loop *loop)
{
    struct itimerspec spec = {.it_value = {.tv_sec = (time_t)1 << 40}};
    (void)timerfd_settime(loop->clock_fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &spec, NULL);
}

static void on_clock(uv_poll_t *handle, int status, int events)
{
    struct loop *loop = handle->data;
    uint64_t count;
    (void)status;
    (void)events;
    if (read(loop->clock_fd, &count, sizeof count) >= 0 || errno != ECANCELED)
        return;
    clock_watch(loop);
    loop->moment = loop_clock();
    loop->moment_fresh = true;
    int64_t offset = ms_sub(loop->moment.wall.ms, loop->moment.mono.ms);
    span jump = ms_sub(offset, loop->offset);
    loop->offset = offset;
    if (loop->options.clock_set)
        loop->options.clock_set(loop->options.context, loop->moment, jump);
}

/* ---- posting ------------------------------------------------------------------------------------------------------
 */

void loop_post(struct loop *loop, void (*task)(void *context), void *context)
{
    struct posted *posted = mem_new(struct posted);
    posted->task = task;
    posted->context = context;
    pthread_mutex_lock(&loop->lock);
    *loop->last = posted;
    loop->last = &posted->next;
    /* Under the lock: loop_free must not close the handle between the two. */
    (void)uv_async_send(&loop->async);
    pthread_mutex_unlock(&loop->lock);
}

/* What a task posts itself is called in the next turn, so that no chain of posts starves the rest. */
static bool posted_run(struct loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    struct posted *list = loop->first;
    loop->first = NULL;
    loop->last = &loop->first;
    pthread_mutex_unlock(&loop->lock);
    bool any = list != NULL;
    while (list) {
        struct posted *posted = list;
        list = posted->next;
        posted->task(posted->context);
        free(posted);
    }
    return any;
}

static void on_async(uv_async_t *handle)
{
    (void)posted_run(handle->data);
}

struct loop_notice {
    uv_async_t async;
    void (*task)(void *context);
    void *context;
};

static void on_notice(uv_async_t *handle)
{
    struct loop_notice *notice = handle->data;
    notice->task(notice->context);
}

struct loop_notice *loop_notice_create(struct loop *loop, void (*task)(void *context), void *context)
{
    struct loop_notice *notice = mem_new(struct loop_notice);
    notice->task = task;
    notice->context = context;
    /* Cannot fail: the descriptor behind all of a loop's async handles exists since loop_create. */
    (void)uv_async_init(&loop->uv, &notice->async, on_notice);
    notice->async.data = notice;
    return notice;
}

void loop_notice_send(struct loop_notice *notice)
{
    (void)uv_async_send(&notice->async);
}

static void on_freed(uv_handle_t *handle)
{
    free(handle->data);
}

void loop_notice_free(struct loop_notice *notice)
{
    if (notice)
        uv_close((uv_handle_t *)&notice->async, on_freed);
}

/* ---- timers -------------------------------------------------------------------------------------------------------
 */

struct loop_timer {
    uv_timer_t uv;
    void (*task)(void *context);
    void *context;
};

static void on_timer(uv_timer_t *handle)
{
    struct loop_timer *timer = handle->data;
    timer->task(timer->context);
}

struct loop_timer *loop_timer_create(struct loop *loop, void (*task)(void *context), void *context)
{
    struct loop_timer *timer = mem_new(struct loop_timer);
    timer->task = task;
    timer->context = context;
    (void)uv_timer_init(&loop->uv, &timer->uv); /* cannot fail */
    timer->uv.data = timer;
    return timer;
}

void loop_timer_start(struct loop_timer *timer, span delay)
{
    uv_update_time(timer->uv.loop); /* or a long turn would shorten the delay */
    (void)uv_timer_start(&timer->uv, on_timer, delay > 0 ? (uint64_t)delay : 0, 0);
}

void loop_timer_stop(struct loop_timer *timer)
{
    (void)uv_timer_stop(&timer->uv);
}

void loop_timer_free(struct loop_timer *timer)
{
    if (timer)
        uv_close((uv_handle_t *)&timer->uv, on_freed);
}

/* ---- life ---------------------------------------------------------------------------------------------------------
 */

static void on_signal(uv_signal_t *handle, int number)
{
    struct loop *loop = handle->data;
    loop->options.signal(loop->options.context, number);
}

static void signals_start(struct loop *loop)
{
    static const int numbers[LOOP_SIGNALS] = {SIGTERM, SIGINT, SIGHUP};
    (void)signal(SIGPIPE, SIG_IGN);
    if (!loop->options.signal)
        return;
    for (size_t i = 0; i < LOOP_SIGNALS; i++) {
        (void)uv_signal_init(&loop->uv, &loop->signals[i]);
        loop->signals[i].data = loop;
        (void)uv_signal_start(&loop->signals[i], on_signal, numbers[i]);
    }
    loop->signals_on = true;
}

static enum status timers_open(struct loop *loop, struct error *err)
{
    loop->wake_fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    loop->clock_fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    if (loop->wake_fd < 0 || loop->clock_fd < 0)
        return error_set(err, STATUS_UNAVAILABLE, "cannot create a timer: %s (raise the limit of open files)",
                         strerrordesc_np(errno));
    if (uv_poll_init(&loop->uv, &loop->wake, loop->wake_fd) || uv_poll_init(&loop->uv, &loop->clock, loop->clock_fd))
        return error_set(err, STATUS_UNAVAILABLE, "cannot watch a timer in the event loop");
    loop->wake.data = loop->clock.data = loop;
    (void)uv_poll_start(&loop->wake, UV_READABLE, on_wake);
    (void)uv_poll_start(&loop->clock, UV_READABLE, on_clock);
    clock_watch(loop);
    return STATUS_OK;
}

enum status loop_create(const struct loop_options *options, struct loop **ret, struct error *err)
{
    struct loop *loop = mem_new(struct loop);
    loop->options = *options;
    loop->wake_fd = loop->clock_fd = -1;
    loop->armed = MONO_NEVER;
    loop->last = &loop->first;
    int code = uv_loop_init(&loop->uv);
    if (code) {
        free(loop);
        return error_set(err, STATUS_UNAVAILABLE, "cannot create the event loop: %s (raise the limit of open files)",
                         uv_strerror(code));
    }
    pthread_mutex_init(&loop->lock, NULL);
    (void)uv_prepare_init(&loop->uv, &loop->prepare);
    loop->prepare.data = loop->async.data = loop;
    (void)uv_prepare_start(&loop->prepare, on_prepare);
    code = uv_async_init(&loop->uv, &loop->async, on_async);
    enum status status = code
                             ? error_set(err, STATUS_UNAVAILABLE, "cannot create the event loop: %s", uv_strerror(code))
                             : timers_open(loop, err);
    if (status) {
        loop_free(loop);
        return status;
    }
    signals_start(loop);
    loop->moment = loop_clock();
    loop->offset = ms_sub(loop->moment.wall.ms, loop->moment.mono.ms);
    *ret = loop;
    return STATUS_OK;
}

void loop_run(struct loop *loop)
{
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
}

void loop_stop(struct loop *loop)
{
    uv_stop(&loop->uv);
}

static void close_walk(uv_handle_t *handle, void *context)
{
    const struct loop *loop = context;
    bool own = handle == (const uv_handle_t *)&loop->prepare || handle == (const uv_handle_t *)&loop->async ||
               handle == (const uv_handle_t *)&loop->wake || handle == (const uv_handle_t *)&loop->clock ||
               handle->type == UV_SIGNAL;
    if (own && !uv_is_closing(handle))
        uv_close(handle, NULL);
}

void loop_free(struct loop *loop)
{
    if (!loop)
        return;
    while (posted_run(loop))
        ;
    uv_walk(&loop->uv, close_walk, loop);
    for (int i = 0; i < CLOSING_TURNS && uv_loop_close(&loop->uv) == UV_EBUSY; i++)
        (void)uv_run(&loop->uv, UV_RUN_NOWAIT); /* lets closing handles end */
    if (loop->wake_fd >= 0)
        (void)close(loop->wake_fd);
    if (loop->clock_fd >= 0)
        (void)close(loop->clock_fd);
    pthread_mutex_destroy(&loop->lock);
    free(loop);
}
