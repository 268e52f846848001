/* Texts of enums, names, keys, hints. */
/* cmocka.h wants these before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
/* clang-format on */

#include "core/model/hint.h"
#include "core/model/job.h"
#include "core/model/run.h"

#define ROWS(table) (sizeof(table) / sizeof *(table))

/* Text and back for every value of an enum; nothing else is accepted. */
#define THERE_AND_BACK(type, count, text_function, parse_function)         \
    do {                                                                   \
        type value_;                                                       \
        for (unsigned i_ = 0; i_ < (unsigned)(count); i_++) {              \
            assert_true(parse_function(text_function((type)i_), &value_)); \
            assert_int_equal(value_, i_);                                  \
        }                                                                  \
        assert_false(parse_function("no such text", &value_));             \
        assert_string_equal(text_function((type)(count)), "");             \
    } while (0)

static void enums(void **state)
{
    (void)state;
    THERE_AND_BACK(enum call_class, CALL_CLASSES, call_class_text, call_class_parse);
    THERE_AND_BACK(enum failure_preset, FAILURE_PRESETS, failure_preset_text, failure_preset_parse);
    THERE_AND_BACK(enum repeat_rule, REPEAT_NEVER + 1, repeat_rule_text, repeat_rule_parse);
    THERE_AND_BACK(enum run_state, RUN_STATES, run_state_text, run_state_parse);
    THERE_AND_BACK(enum run_origin, RUN_ORIGINS, run_origin_text, run_origin_parse);
    THERE_AND_BACK(enum step_state, STEP_STATES, step_state_text, step_state_parse);
    THERE_AND_BACK(enum attempt_state, ATTEMPT_STATES, attempt_state_text, attempt_state_parse);
    THERE_AND_BACK(enum misfire_policy, MISFIRE_ALL + 1, misfire_policy_text, misfire_policy_parse);
    THERE_AND_BACK(enum overlap_policy, OVERLAP_REPLACE + 1, overlap_policy_text, overlap_policy_parse);
    THERE_AND_BACK(enum routing, ROUTE_SHARD + 1, routing_text, routing_parse);
    THERE_AND_BACK(enum step_kind, STEP_MAP + 1, step_kind_text, step_kind_parse);
    assert_string_equal(trigger_kind_text(TRIGGER_DELAY), "delay");
    assert_string_equal(edge_on_text(EDGE_EXPRESSION), "expression");
    enum failure_preset preset;
    assert_true(failure_preset_parse("MULTI_CALLS_TRANSFER", &preset));
    assert_int_equal(preset, FAILURE_RETRY_TRANSFER);
}

static void valid_names(void **state)
{
    (void)state;
    char longest[LIMIT_NAME + 2];
    memset(longest, 'a', sizeof longest);
    longest[LIMIT_NAME] = '\0';
    assert_true(name_valid(longest));
    longest[LIMIT_NAME] = 'a';
    longest[LIMIT_NAME + 1] = '\0';
    assert_false(name_valid(longest));
    static const struct {
        int line;
        const char *name;
        bool valid;
    } rows[] = {{__LINE__, "a", true},    {__LINE__, "7", true},   {__LINE__, "a.b_c-d9", true},
                {__LINE__, "", false},    {__LINE__, "-a", false}, {__LINE__, "a-", false},
                {__LINE__, "a.", false},  {__LINE__, "A", false},  {__LINE__, "a b", false},
                {__LINE__, "a/b", false}, {__LINE__, "é", false},  {__LINE__, "a..b", true},
                {__LINE__, "a:b", false}};
    for (size_t i = 0; i < ROWS(rows); i++)
        if (name_valid(rows[i].name) != rows[i].valid)
            fail_msg("line %d", rows[i].line);
    assert_true(trigger_name_reserved("manual-5") && trigger_name_reserved("retry-x") &&
                trigger_name_reserved("recovery-"));
    assert_false(trigger_name_reserved("manual") || trigger_name_reserved("nightly"));
}

static void keys(void **state)
{
    (void)state;
    char buffer[CALL_KEY_SIZE], name[LIMIT_NAME + 1];
    struct attempt_row attempt = {.run = 7205759403792793601, .step = "post", .item = 2, .n = 9, .key_try = 3};
    assert_string_equal(call_key_format(&attempt, buffer), "7205759403792793601.post.2.3");
    memset(name, 'x', LIMIT_NAME);
    name[LIMIT_NAME] = '\0';
    attempt = (struct attempt_row){.run = INT64_MAX, .step = name, .item = INT32_MAX, .key_try = INT32_MAX};
    size_t length = strlen(call_key_format(&attempt, buffer));
    assert_int_equal(length, 19 + 1 + LIMIT_NAME + 1 + 10 + 1 + 10); /* the longest one fits */
}

static void definite(void **state)
{
    (void)state;
    static const enum call_class open[] = {CALL_NONE,      CALL_TIMEOUT,  CALL_UNKNOWN,
                                           CALL_HEARTBEAT, CALL_CANCELED, CALL_ACCEPTED};
    size_t count = 0;
    for (int c = 0; c < CALL_CLASSES; c++)
        count += !call_class_definite((enum call_class)c);
    assert_int_equal(count, ROWS(open));
    for (size_t i = 0; i < ROWS(open); i++)
        assert_false(call_class_definite(open[i]));
}

static void hints(void **state)
{
    (void)state;
    static const char *const candidates[] = {"overlap", "timeout", "on"};
    static const struct {
        int line;
        const char *text, *near;
    } rows[] = {{__LINE__, "overlp", "overlap"}, {__LINE__, "timeuot", "timeout"}, {__LINE__, "om", "on"},
                {__LINE__, "xy", NULL},          {__LINE__, "retry", NULL},        {__LINE__, "", NULL}};
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct hint hint = hint_begin(rows[i].text);
        for (size_t c = 0; c < ROWS(candidates); c++)
            hint_offer(&hint, candidates[c]);
        if (rows[i].near ? !hint.near || strcmp(hint.near, rows[i].near) != 0 : hint.near != NULL)
            fail_msg("line %d: %s", rows[i].line, hint.near ? hint.near : "-");
    }
    assert_int_equal(hint_distance("kitten", "sitting"), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(enums), cmocka_unit_test(valid_names), cmocka_unit_test(keys),
                                       cmocka_unit_test(definite), cmocka_unit_test(hints)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
