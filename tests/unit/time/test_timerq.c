/* Timer queue: order, limits, the wait, two clocks. */
/* cmocka.h wants these before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "core/base/rng.h"
#include "core/logic/time/timerq.h"

static struct moment at(int64_t wall, int64_t boot)
{
    return (struct moment){{wall}, {boot}};
}

static void test_due(void **state)
{
    (void)state;
    struct timerq queue;
    struct timer a = {0}, b = {0}, c = {0}, *due[4];
    span wait;
    timerq_init(&queue);
    assert_int_equal(timerq_due(&queue, at(0, 0), due, 4, &wait), 0);
    assert_true(wait == SPAN_MAX);
    assert_int_equal(timerq_set_wall(&queue, &a, (instant){1000}), STATUS_OK);
    assert_int_equal(timerq_set_mono(&queue, &b, (mono){500}), STATUS_OK);
    assert_int_equal(timerq_set_wall(&queue, &c, (instant){1000}), STATUS_OK);
    assert_int_equal(timerq_due(&queue, at(0, 0), due, 4, &wait), 0);
    assert_int_equal(wait, 500);
    assert_int_equal(timerq_due(&queue, at(999, 500), due, 4, &wait), 1);
    assert_ptr_equal(due[0], &b);
    assert_int_equal(wait, 1);
    assert_int_equal(timerq_due(&queue, at(1000, 501), due, 1, &wait), 1); /* at most one: the rest is due at once */
    assert_ptr_equal(due[0], &a);
    assert_false(timer_armed(&a));
    assert_int_equal(wait, 0);
    assert_int_equal(timerq_due(&queue, at(1000, 501), due, 1, &wait), 1);
    assert_ptr_equal(due[0], &c);
    assert_true(wait == SPAN_MAX);
    timerq_release(&queue);
}

static void test_moving_and_canceling(void **state)
{
    (void)state;
    struct timerq queue;
    struct timer a = {0}, *due[1];
    span wait;
    timerq_init(&queue);
    timerq_cancel(&queue, &a); /* not armed: nothing happens */
    assert_int_equal(timerq_set_wall(&queue, &a, (instant){1000}), STATUS_OK);
    assert_int_equal(timerq_set_mono(&queue, &a, (mono){50}), STATUS_OK); /* to the other clock */
    assert_int_equal(timerq_count(&queue), 1);
    assert_int_equal(timerq_due(&queue, at(5000, 49), due, 1, &wait), 0);
    assert_int_equal(wait, 1);
    assert_int_equal(timerq_set_mono(&queue, &a, MONO_NEVER), STATUS_OK);
    assert_false(timer_armed(&a));
    assert_int_equal(timerq_set_wall(&queue, &a, (instant){-5}), STATUS_OK);
    assert_int_equal(timerq_due(&queue, at(0, 0), due, 1, &wait), 1);
    timerq_release(&queue);
}

/* Random setting, moving and canceling: what comes out is never early, in order, and complete. */
static void test_random(void **state)
{
    (void)state;
    enum { TIMERS = 500 };
    static struct timer timers[TIMERS];
    static int64_t set[TIMERS];
    struct timerq queue;
    struct timer *due[16];
    struct rng rng;
    int64_t now = 0, fired = 0, expected = 0;
    rng_seed(&rng, 1);
    timerq_init(&queue);
    for (int step = 0; step < 20000; step++) {
        size_t i = (size_t)rng_below(&rng, TIMERS);
        if (rng_below(&rng, 5) == 0) {
            expected -= timer_armed(&timers[i]);
            timerq_cancel(&queue, &timers[i]);
        } else {
            expected += !timer_armed(&timers[i]);
            set[i] = now + rng_between(&rng, -5, 200);
            if (rng_below(&rng, 2))
                assert_int_equal(timerq_set_wall(&queue, &timers[i], (instant){set[i]}), STATUS_OK);
            else
                assert_int_equal(timerq_set_mono(&queue, &timers[i], (mono){set[i]}), STATUS_OK);
        }
        span wait;
        int64_t before = INT64_MIN;
        size_t n = timerq_due(&queue, at(now, now), due, 16, &wait);
        for (size_t k = 0; k < n; k++) {
            int64_t time = set[due[k] - timers];
            assert_true(time <= now && time >= before);
            before = time;
        }
        fired += (int64_t)n;
        assert_true(wait >= 0 && (wait > 0 || n == 16));
        now += (int64_t)rng_below(&rng, 3);
    }
    assert_int_equal(fired + (int64_t)timerq_count(&queue), expected);
    assert_true(fired > 5000);
    timerq_release(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_due),
        cmocka_unit_test(test_moving_and_canceling),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
