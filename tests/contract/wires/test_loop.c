/* The event loop: turns, exact wake-ups, posts from threads, signals, the end. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "adapters/loop/loop.h"
#include "tests/contract/wires/harness.h"

struct bench {
    struct loop *loop;
    int steps, tasks, notices, signals, ticks;
    int last_signal;
    mono wake;              /* what step asks for next */
    struct moment now;      /* of the last step */
    int64_t moment_in_task; /* mono ms */
    bool stop_at_wake;
};

static mono on_step(void *context, struct moment now)
{
    struct bench *b = context;
    b->steps++;
    b->now = now;
    if (b->stop_at_wake && mono_cmp(now.mono, b->wake) >= 0) {
        loop_stop(b->loop);
        return MONO_NEVER;
    }
    return b->wake;
}

static void on_signal_event(void *context, int number)
{
    struct bench *b = context;
    b->signals++;
    b->last_signal = number;
    loop_stop(b->loop);
}

static void bench_open(struct bench *b, bool signals)
{
    const struct loop_options options = {.step = on_step, .signal = signals ? on_signal_event : NULL, .context = b};
    struct error err;
    *b = (struct bench){.wake = MONO_NEVER};
    assert_int_equal(loop_create(&options, &b->loop, &err), STATUS_OK);
}

static void stop_task(void *context)
{
    struct bench *b = context;
    b->tasks++;
    loop_stop(b->loop);
}

/* Twenty wake-ups at exact milliseconds: never early; how late is the machine's business, but not all of them. */
static void test_wake(void **state)
{
    struct bench b;
    int late = 0;
    (void)state;
    bench_open(&b, false);
    for (int i = 0; i < 20; i++) {
        b.stop_at_wake = true;
        b.wake = mono_add(loop_clock().mono, 7);
        b.steps = 0;
        loop_run(b.loop);
        assert_true(mono_cmp(b.now.mono, b.wake) >= 0);
        late += mono_sub(b.now.mono, b.wake) > 2;
        assert_true(b.steps <= 3); /* no spinning */
    }
    assert_true(late < 20);
    /* A time that has passed. */
    b.wake = mono_add(loop_clock().mono, -1000);
    loop_run(b.loop);
    /* A later wake, then an earlier one. */
    b.stop_at_wake = false;
    b.wake = mono_add(loop_clock().mono, 100000);
    loop_post(b.loop, stop_task, &b);
    loop_run(b.loop);
    b.stop_at_wake = true;
    b.wake = mono_add(loop_clock().mono, 5);
    loop_run(b.loop);
    assert_true(mono_sub(loop_clock().mono, b.wake) < 1000);
    loop_free(b.loop);
}

static void task_counts(void *context)
{
    struct bench *b = context;
    struct moment first = loop_moment(b->loop);
    struct timespec pause = {.tv_nsec = 3000000};
    b->tasks++;
    if (b->tasks == 1) {
        (void)nanosleep(&pause, NULL);
        assert_int_equal(loop_moment(b->loop).mono.ms, first.mono.ms); /* once a turn */
    }
}

static void test_step_after_events(void **state)
{
    struct bench b;
    (void)state;
    bench_open(&b, false);
    loop_post(b.loop, task_counts, &b);
    loop_post(b.loop, stop_task, &b);
    loop_run(b.loop);
    assert_int_equal(b.tasks, 2);
    assert_true(b.steps >= 1);
    loop_free(b.loop);
}

enum { POSTERS = 4, POSTS = 5000 };

struct poster {
    struct bench *bench;
    int next[POSTERS];
    int total;
};

struct posted {
    struct poster *poster;
    int thread, number;
};

static struct poster poster;

static void on_posted(void *context)
{
    struct posted *posted = context;
    assert_int_equal(posted->poster->next[posted->thread], posted->number); /* in the order of posting */
    posted->poster->next[posted->thread]++;
    if (++posted->poster->total == POSTERS * POSTS)
        loop_stop(posted->poster->bench->loop);
    free(posted);
}

static void *poster_run(void *context)
{
    int thread = *(int *)context;
    for (int i = 0; i < POSTS; i++) {
        struct posted *posted = malloc(sizeof *posted);
        *posted = (struct posted){&poster, thread, i};
        loop_post(poster.bench->loop, on_posted, posted);
    }
    return NULL;
}

static void test_posts(void **state)
{
    struct bench b;
    pthread_t threads[POSTERS];
    int numbers[POSTERS];
    (void)state;
    bench_open(&b, false);
    poster = (struct poster){.bench = &b};
    for (int i = 0; i < POSTERS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, poster_run, &numbers[i]);
    }
    loop_run(b.loop);
    for (int i = 0; i < POSTERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(poster.total, POSTERS * POSTS);
    /* What is posted but not run is run by loop_free. */
    b.tasks = 0;
    loop_post(b.loop, stop_task, &b);
    loop_free(b.loop);
    assert_int_equal(b.tasks, 1);
}

static void on_notice(void *context)
{
    struct bench *b = context;
    b->notices++;
}

static void on_tick(void *context)
{
    struct bench *b = context;
    if (++b->ticks == 3)
        loop_stop(b->loop);
}

static void test_notice_and_timer(void **state)
{
    struct bench b;
    (void)state;
    bench_open(&b, false);
    struct loop_notice *notice = loop_notice_create(b.loop, on_notice, &b);
    struct loop_timer *timer = loop_timer_create(b.loop, stop_task, &b);
    for (int i = 0; i < 1000; i++)
        loop_notice_send(notice);
    mono begin = loop_clock().mono;
    loop_timer_start(timer, 10000);
    loop_timer_start(timer, 30); /* replaces */
    loop_run(b.loop);
    assert_in_range(mono_sub(loop_clock().mono, begin), 29, 1000);
    assert_in_range(b.notices, 1, 10);
    loop_timer_start(timer, 10);
    loop_timer_stop(timer);
    struct loop_timer *ticks[3];
    for (int i = 0; i < 3; i++) {
        ticks[i] = loop_timer_create(b.loop, on_tick, &b);
        loop_timer_start(ticks[i], 20);
    }
    loop_run(b.loop);
    assert_int_equal(b.tasks, 1);
    for (int i = 0; i < 3; i++)
        loop_timer_free(ticks[i]);
    loop_timer_free(timer);
    loop_notice_free(notice);
    loop_timer_free(NULL);
    loop_notice_free(NULL);
    loop_free(b.loop);
}

static void test_signals(void **state)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    struct bench b;
    (void)state;
    bench_open(&b, true);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        (void)kill(getpid(), numbers[i]);
        loop_run(b.loop);
        assert_int_equal(b.last_signal, numbers[i]);
    }
    (void)kill(getpid(), SIGPIPE); /* nothing happens */
    loop_post(b.loop, stop_task, &b);
    loop_run(b.loop);
    assert_int_equal(b.signals, 3);
    loop_free(b.loop);
}

/* Nothing to do costs nothing. */
static void test_idle(void **state)
{
    struct bench b;
    struct rusage before, after;
    (void)state;
    bench_open(&b, false);
    struct loop_timer *timer = loop_timer_create(b.loop, stop_task, &b);
    loop_timer_start(timer, 300);
    (void)getrusage(RUSAGE_SELF, &before);
    loop_run(b.loop);
    (void)getrusage(RUSAGE_SELF, &after);
    assert_true(b.steps <= 5);
    assert_true(after.ru_utime.tv_sec == before.ru_utime.tv_sec || b.steps <= 5);
    loop_timer_free(timer);
    loop_free(b.loop);
}

static void test_no_descriptors(void **state)
{
    struct rlimit old, none;
    const struct loop_options options = {0};
    struct loop *loop = NULL;
    struct error err = {0};
    (void)state;
    (void)getrlimit(RLIMIT_NOFILE, &old);
    for (rlim_t limit = 3; limit < 12; limit++) {
        none = (struct rlimit){limit, old.rlim_max};
        (void)setrlimit(RLIMIT_NOFILE, &none);
        enum status status = loop_create(&options, &loop, &err);
        (void)setrlimit(RLIMIT_NOFILE, &old);
        if (status == STATUS_OK)
            loop_free(loop);
        else
            assert_string_not_equal(err.text, "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wake),          cmocka_unit_test(test_step_after_events), cmocka_unit_test(test_posts),
        cmocka_unit_test(test_signals),       cmocka_unit_test(test_notice_and_timer),  cmocka_unit_test(test_idle),
        cmocka_unit_test(test_no_descriptors)};
    return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
