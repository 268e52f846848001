/* The table class × preset, a test per cell: what the table says, and what the machine then does. */
#include "core/logic/run/failure.h"
#include "tests/unit/run/support.h"

#define ROWS(table) (sizeof(table) / sizeof *(table))

static const struct {
    int line;
    enum call_class class;
    enum failure_move moves[FAILURE_PRESETS]; /* stop, ignore, retry, transfer, retry_transfer */
} table[] = {
    {__LINE__, CALL_SUCCESS, {MOVE_SUCCEED, MOVE_SUCCEED, MOVE_SUCCEED, MOVE_SUCCEED, MOVE_SUCCEED}},
    {__LINE__,
     CALL_NOT_SENT,
     {MOVE_NEXT_INSTANCE, MOVE_NEXT_INSTANCE, MOVE_NEXT_INSTANCE, MOVE_NEXT_INSTANCE, MOVE_NEXT_INSTANCE}},
    {__LINE__,
     CALL_BUSY,
     {MOVE_NEXT_INSTANCE, MOVE_NEXT_INSTANCE, MOVE_NEXT_INSTANCE, MOVE_NEXT_INSTANCE, MOVE_NEXT_INSTANCE}},
    {__LINE__, CALL_HTTP_3XX, {MOVE_FAIL, MOVE_IGNORE, MOVE_RETRY_SAME, MOVE_TRANSFER, MOVE_RETRY_THEN_TRANSFER}},
    {__LINE__, CALL_HTTP_4XX, {MOVE_FAIL, MOVE_IGNORE, MOVE_RETRY_SAME, MOVE_TRANSFER, MOVE_RETRY_THEN_TRANSFER}},
    {__LINE__, CALL_HTTP_5XX, {MOVE_FAIL, MOVE_IGNORE, MOVE_RETRY_SAME, MOVE_TRANSFER, MOVE_RETRY_THEN_TRANSFER}},
    {__LINE__, CALL_FAILURE, {MOVE_FAIL, MOVE_IGNORE, MOVE_RETRY_SAME, MOVE_TRANSFER, MOVE_RETRY_THEN_TRANSFER}},
    {__LINE__, CALL_BAD_ANSWER, {MOVE_FAIL, MOVE_IGNORE, MOVE_RETRY_SAME, MOVE_TRANSFER, MOVE_RETRY_THEN_TRANSFER}},
    {__LINE__, CALL_TIMEOUT, {MOVE_FAIL, MOVE_IGNORE, MOVE_REPEAT, MOVE_REPEAT, MOVE_REPEAT}},
    {__LINE__, CALL_UNKNOWN, {MOVE_FAIL, MOVE_IGNORE, MOVE_REPEAT, MOVE_REPEAT, MOVE_REPEAT}},
    {__LINE__, CALL_HEARTBEAT, {MOVE_FAIL, MOVE_IGNORE, MOVE_REPEAT, MOVE_REPEAT, MOVE_REPEAT}},
    {__LINE__, CALL_CANCELED, {MOVE_CANCELED, MOVE_CANCELED, MOVE_CANCELED, MOVE_CANCELED, MOVE_CANCELED}},
    {__LINE__,
     CALL_ACCEPTED,
     {MOVE_WAIT_REPORT, MOVE_WAIT_REPORT, MOVE_WAIT_REPORT, MOVE_WAIT_REPORT, MOVE_WAIT_REPORT}},
};

static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS(table); i++)
        for (int preset = 0; preset < FAILURE_PRESETS; preset++)
            if (failure_move_of(table[i].class, (enum failure_preset)preset) != table[i].moves[preset])
                fail_msg("line %d, preset %d", table[i].line, preset);
    assert_int_equal(ROWS(table), CALL_CLASSES - 1); /* all but "not ended yet" */
}

/* What follows the first end of a call at h1 of h1, h2, with one retry without a pause and the default `repeat`. */
static const char *expected_effect(enum failure_move move, enum call_class class)
{
    static char text[64];
    int key = call_class_definite(class) ? 2 : 1;
    switch (move) {
    case MOVE_SUCCEED:
        return "end succeeded";
    case MOVE_NEXT_INSTANCE:
    case MOVE_TRANSFER:
        (void)snprintf(text, sizeof text, "attempt a n=2 try=%d h2", key);
        return text;
    case MOVE_RETRY_SAME:
    case MOVE_RETRY_THEN_TRANSFER:
    case MOVE_REPEAT:
        (void)snprintf(text, sizeof text, "attempt a n=2 try=%d h1", key);
        return text;
    case MOVE_FAIL:
        return "step a failed | ";
    case MOVE_IGNORE:
        return "step a ignored | ";
    case MOVE_CANCELED:
        return "step a canceled | ";
    case MOVE_WAIT_REPORT:
        return "wake ";
    }
    return "";
}

static void check_cell(int line, enum call_class class, enum failure_preset preset, enum failure_move move)
{
    struct step_spec step = step_defaults("a");
    struct bench b = {.where = "cell", .line = line, .job = {.steps = &step, .step_count = 1}};
    struct run_effect effects[4];
    char text[700];
    step.on_failure = preset;
    step.retry.max = 1;
    step.retry.delay = 0;
    (void)bench_add_task(&b, "app/t");
    bench_instance(&b, "h1", true, false);
    bench_instance(&b, "h2", true, false);
    bench_create(&b);
    bench_start(&b);
    assert_true(bench_effects(&b, effects, 4) >= 1);
    bench_carry_out(&b, &effects[0]);
    bench_must(&b, end_event(b.run, "a", class));
    assert_true(bench_effects(&b, effects, 4) >= 1);
    effect_text(&effects[0], text, sizeof text);
    const char *expected = expected_effect(move, class);
    if (strncmp(text, expected, strlen(expected)) != 0)
        fail_msg("line %d, preset %s: \"%s\" where \"%s\" was due", line, failure_preset_text(preset), text, expected);
    bench_release(&b);
}

static void test_machine_follows_the_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS(table); i++)
        for (int preset = 0; preset < FAILURE_PRESETS; preset++)
            check_cell(table[i].line, table[i].class, (enum failure_preset)preset, table[i].moves[preset]);
}

static void test_out_of_range(void **state)
{
    (void)state;
    assert_int_equal(failure_move_of(CALL_CLASSES, FAILURE_STOP), MOVE_FAIL);
    assert_int_equal(failure_move_of(CALL_SUCCESS, FAILURE_PRESETS), MOVE_FAIL);
}

static void test_retry_delay(void **state)
{
    (void)state;
    static const struct {
        int line;
        struct retry_policy policy;
        int no;
        span retry_after;
        double random;
        span delay;
    } cases[] = {
        {__LINE__, {.delay = 5000}, 1, -1, 0, 5000},
        {__LINE__, {.delay = 5000}, 9, -1, 0, 5000},
        {__LINE__, {.delay = 5000, .backoff = BACKOFF_EXPONENTIAL, .max_delay = 60000}, 1, -1, 0, 5000},
        {__LINE__, {.delay = 5000, .backoff = BACKOFF_EXPONENTIAL, .max_delay = 60000}, 3, -1, 0, 20000},
        {__LINE__, {.delay = 5000, .backoff = BACKOFF_EXPONENTIAL, .max_delay = 60000}, 5, -1, 0, 60000},
        {__LINE__, {.delay = 5000, .backoff = BACKOFF_EXPONENTIAL, .max_delay = 60000}, 2000000000, -1, 0, 60000},
        {__LINE__, {.delay = 5000, .backoff = BACKOFF_EXPONENTIAL}, 99, -1, 0, SPAN_DAY},
        {__LINE__, {.delay = 5000}, 1, 7000, 0, 7000},
        {__LINE__, {.delay = 5000}, 1, 2000, 0, 5000},
        {__LINE__, {.delay = 5000, .jitter = 0.5}, 1, -1, 1, 2500},
        {__LINE__, {.delay = 5000, .jitter = 0.5}, 1, -1, 0.5, 3750},
        {__LINE__, {.delay = 5000, .jitter = 9}, 1, -1, 1, 0},
        {__LINE__, {.delay = -1}, 1, -1, 0, 0},
        {__LINE__, {.delay = SPAN_MAX, .backoff = BACKOFF_EXPONENTIAL, .max_delay = SPAN_MAX}, 99, -1, 0, SPAN_MAX},
    };
    for (size_t i = 0; i < ROWS(cases); i++)
        if (retry_delay(&cases[i].policy, cases[i].no, cases[i].retry_after, cases[i].random) != cases[i].delay)
            fail_msg("line %d", cases[i].line);
    static const span busy[] = {1000, 1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000};
    for (int times = 0; times < (int)ROWS(busy); times++)
        assert_int_equal(busy_delay(times), busy[times]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_machine_follows_the_table),
        cmocka_unit_test(test_out_of_range),
        cmocka_unit_test(test_retry_delay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
