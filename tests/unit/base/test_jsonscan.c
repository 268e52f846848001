/* JSON as text: what is accepted, what is refused and why, walking and joining. */
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

#include "core/base/jsonscan.h"

#define ROWS(table) (sizeof(table) / sizeof *(table))

static struct slice of(const char *text)
{
    return slice_of(text, strlen(text));
}

static void accepts(void **state)
{
    (void)state;
    static const struct {
        int line;
        const char *text;
    } rows[] = {
        {__LINE__, "null"},
        {__LINE__, " true "},
        {__LINE__, "\t\r\n false"},
        {__LINE__, "0"},
        {__LINE__, "-0"},
        {__LINE__, "-12.50e+007"},
        {__LINE__, "1E400"},
        {__LINE__, "123456789012345678901234567890"},
        {__LINE__, "\"\""},
        {__LINE__, "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\uDE00\""},
        {__LINE__, "\"日本 😀\x7f\""},
        {__LINE__, "[]"},
        {__LINE__, "{}"},
        {__LINE__, "[ 1 , [ ] , { } , \"a\" ]"},
        {__LINE__, "{\"a\":1,\"A\":2,\"\":3}"},
        {__LINE__, "{\"a\":{\"a\":{\"a\":1}},\"b\":[{\"a\":1},{\"a\":1}]}"},
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct error err = {.code = STATUS_OK};
        if (json_check(rows[i].text, strlen(rows[i].text), 8, &err))
            fail_msg("line %d: %s: %s", rows[i].line, rows[i].text, err.text);
    }
}

static void refuses(void **state)
{
    (void)state;
    static const struct {
        int line;
        const char *text, *reason;
    } rows[] = {
        {__LINE__, "", "line 1, column 1: the text is empty"},
        {__LINE__, "  ", "line 1, column 3: the text ends where a value is expected"},
        {__LINE__, "nul", "a value is expected"},
        {__LINE__, "True", "a value is expected"},
        {__LINE__, "NaN", "a value is expected"},
        {__LINE__, "'a'", "double quotes"},
        {__LINE__, "1 2", "line 1, column 3: something follows"},
        {__LINE__, "01", "may not begin with 0"},
        {__LINE__, "-", "needs digits"},
        {__LINE__, "+1", "a value is expected"},
        {__LINE__, ".5", "a value is expected"},
        {__LINE__, "1.", "behind its point"},
        {__LINE__, "1.e5", "behind its point"},
        {__LINE__, "1e", "behind its exponent"},
        {__LINE__, "0x1f", "something follows"},
        {__LINE__, "\"abc", "line 1, column 1: this string has no closing quote"},
        {__LINE__, "\"a\\", "ends inside a string"},
        {__LINE__, "\"\\x\"", "unknown escape"},
        {__LINE__, "\"\\u12g4\"", "four hexadecimal digits"},
        {__LINE__, "\"\\u12", "four hexadecimal digits"},
        {__LINE__, "\"\\u0000\"", "U+0000 is not allowed"},
        {__LINE__, "\"\\ud83d\"", "surrogate"},
        {__LINE__, "\"\\ud83dx\"", "surrogate"},
        {__LINE__, "\"\\ud83d\\u0041\"", "surrogate"},
        {__LINE__, "\"\\ude00\"", "surrogate"},
        {__LINE__, "\"a\nb\"", "control character"},
        {__LINE__, "\"\xff\"", "not UTF-8"},
        {__LINE__, "\"\xc0\x80\"", "not UTF-8"},
        {__LINE__, "\"\xed\xa0\x80\"", "not UTF-8"},
        {__LINE__, "\"\xf4\x90\x80\x80\"", "not UTF-8"},
        {__LINE__, "\"\xe6\x97\"", "not UTF-8"},
        {__LINE__, "[", "where a value is expected"},
        {__LINE__, "[1", "] is missing"},
        {__LINE__, "[1,", "where a value is expected"},
        {__LINE__, "[1,]", "comma may not stand behind"},
        {__LINE__, "[1 2]", "a comma or ]"},
        {__LINE__, "[1}", "a comma or ]"},
        {__LINE__, "{\"a\"}", "a colon"},
        {__LINE__, "{\"a\":}", "a value is expected"},
        {__LINE__, "{\"a\":1,}", "comma may not stand behind"},
        {__LINE__, "{a:1}", "a key in double quotes"},
        {__LINE__, "{\"a\":1", "} is missing"},
        {__LINE__, "{", "} is missing"},
        {__LINE__, "{\"a\":1 \"b\":2}", "a comma or }"},
        {__LINE__, "{\"a\":1,\n \"b\":2,\n  \"a\":3}", "line 3, column 3: the key \"a\" appears twice"},
        {__LINE__, "{\"a\":1,\"\\u0061\":2}", "appears twice"},
        {__LINE__, "{\"x\":{\"日\":1,\"b\":2,\"\\u65e5\":1}}", "appears twice"},
        {__LINE__, "[[[[[[[[[1]]]]]]]]]", "column 9: nested too deeply"},
        {__LINE__, "\xef\xbb\xbf{}", "byte order mark"},
        {__LINE__, "// x\n1", "a value is expected"},
        {__LINE__, "[\"日本\" x]", "line 1, column 7"},
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct error err = {.text = ""};
        enum status status = json_check(rows[i].text, strlen(rows[i].text), 8, &err);
        if (status != STATUS_INVALID || !strstr(err.text, rows[i].reason))
            fail_msg("line %d: %s: %s", rows[i].line, rows[i].text, err.text);
        assert_int_equal(json_check(rows[i].text, strlen(rows[i].text), 8, NULL), STATUS_INVALID);
    }
    struct error err;
    assert_int_equal(json_check("\"a\0b\"", 5, 8, &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, "U+0000"));
    assert_int_equal(json_check("1\0", 2, 8, &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, "U+0000"));
}

/* Every prefix of a good text is refused, and no byte behind it is read (the sanitizer watches). */
static void prefixes(void **state)
{
    (void)state;
    static const char text[] = "{\"a\":[1.5e3,\"\\u00e9\\ud83d\\ude00日\",{\"b\":null}],\"c\":true}";
    for (size_t length = 0; length < sizeof text - 1; length++) {
        char *copy = malloc(length ? length : 1);
        assert_non_null(copy);
        memcpy(copy, text, length);
        assert_int_equal(json_check(copy, length, 8, NULL), STATUS_INVALID);
        free(copy);
    }
}

static void many_keys(void **state)
{
    (void)state;
    struct str text;
    str_init(&text, (size_t)8 << 20);
    str_add_char(&text, '{');
    for (int i = 0; i < 100000; i++)
        str_addf(&text, "%s\"key%d\":%d", i ? "," : "", i * 7 % 100000, i);
    str_add_char(&text, '}');
    assert_int_equal(json_check(str_text(&text), text.length, 8, NULL), STATUS_OK);
    str_release(&text);
}

static void walking(void **state)
{
    (void)state;
    struct slice object =
        of(" { \"a\" : [ 1 , \"x]\\\"\" , { \"b\" : { } } ] , \"\\u0062\" : -1.5 , \"c\":\"\\ud83d\\ude00\" } ");
    assert_int_equal(json_type_of(object), JSON_OBJECT);
    assert_int_equal(json_count(object), 3);
    struct slice a = json_member(object, "a"), b = json_member(object, "b"), c = json_member(object, "c");
    assert_int_equal(json_type_of(a), JSON_ARRAY);
    assert_int_equal(json_count(a), 3);
    assert_true(json_string_equals(json_element(a, 1), "x]\""));
    assert_int_equal(json_type_of(json_element(a, 2)), JSON_OBJECT);
    assert_int_equal(json_element(a, 3).length, 0);
    assert_int_equal(b.length, 4);
    assert_memory_equal(b.bytes, "-1.5", 4);
    assert_true(json_string_equals(c, "😀"));
    assert_false(json_string_equals(c, "😀x"));
    assert_false(json_string_equals(c, ""));
    assert_int_equal(json_member(object, "d").length, 0);
    assert_int_equal(json_member(a, "a").length, 0);
    assert_int_equal(json_element(object, 0).length, 0);
    assert_int_equal(json_count(b), 0);
    assert_int_equal(json_count(of("[]")), 0);
    assert_int_equal(json_count(of("{ }")), 0);
    assert_int_equal(json_type_of(of("")), JSON_NONE);
    struct json_walk walk = json_walk_begin(of("[1,2,{\"z\":[]},\"\",null]"));
    size_t count = 0;
    while (json_walk_next(&walk)) {
        assert_int_equal(walk.key.length, 0);
        count++;
    }
    assert_int_equal(count, 5);
    assert_false(json_walk_next(&walk));
}

static void numbers(void **state)
{
    (void)state;
    static const struct {
        int line;
        const char *text;
        bool ok;
        int64_t value;
    } rows[] = {{__LINE__, "0", true, 0},
                {__LINE__, "-0", true, 0},
                {__LINE__, " 42 ", true, 42},
                {__LINE__, "9223372036854775807", true, INT64_MAX},
                {__LINE__, "-9223372036854775808", true, INT64_MIN},
                {__LINE__, "9223372036854775808", false, 0},
                {__LINE__, "-9223372036854775809", false, 0},
                {__LINE__, "1.0", false, 0},
                {__LINE__, "1e3", false, 0},
                {__LINE__, "\"1\"", false, 0},
                {__LINE__, "-", false, 0},
                {__LINE__, "", false, 0}};
    for (size_t i = 0; i < ROWS(rows); i++) {
        int64_t value = 7;
        if (json_int64(of(rows[i].text), &value) != rows[i].ok || value != (rows[i].ok ? rows[i].value : 7))
            fail_msg("line %d", rows[i].line);
    }
}

static void texts(void **state)
{
    (void)state;
    struct str s;
    str_init(&s, 1000);
    json_unquote(of("\"a\\n\\\"\\\\\\/\\u65e5\\ud83d\\ude00\""), &s);
    assert_string_equal(str_text(&s), "a\n\"\\/日😀");
    str_clear(&s);
    json_unquote(of("12.50"), &s);
    assert_string_equal(str_text(&s), "12.50");
    str_clear(&s);
    json_compact(of(" { \"a b\" : [ 1 , 2.0e5 ,\n\"x  \\\" y\" ] , \"c\" : null } "), &s);
    assert_string_equal(str_text(&s), "{\"a b\":[1,2.0e5,\"x  \\\" y\"],\"c\":null}");
    str_release(&s);
}

static void merging(void **state)
{
    (void)state;
    static const struct {
        int line;
        const char *base, *over, *result;
    } rows[] = {
        {__LINE__, NULL, NULL, "{}"},
        {__LINE__, "{\"a\":1}", NULL, "{\"a\":1}"},
        {__LINE__, NULL, "{\"a\":1}", "{\"a\":1}"},
        {__LINE__, "{\"b\":1,\"a\":123456789012345678901}", "{\"c\":3,\"b\":{\"x\":[]}}",
         "{\"b\":{\"x\":[]},\"a\":123456789012345678901,\"c\":3}"},
        {__LINE__, "{\"a\":1}", "{\"\\u0061\":2}", "{\"a\":2}"},
        {__LINE__, "[]", "{\"a\":null}", "{\"a\":null}"},
        {__LINE__, "{\"a\":{\"x\":1}}", "{\"a\":{\"y\":2}}", "{\"a\":{\"y\":2}}"},
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct str s;
        str_init(&s, 1000);
        json_merge(rows[i].base, rows[i].over, &s);
        if (strcmp(str_text(&s), rows[i].result) != 0)
            fail_msg("line %d: %s", rows[i].line, str_text(&s));
        str_release(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts), cmocka_unit_test(refuses), cmocka_unit_test(prefixes), cmocka_unit_test(many_keys),
        cmocka_unit_test(walking), cmocka_unit_test(numbers), cmocka_unit_test(texts),    cmocka_unit_test(merging),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
