/* YAML → JSON text: what a scalar means, what is refused and where. */
#include <stdlib.h>
#include <string.h>

#include "adapters/yaml/yaml.h"
#include "core/base/jsonscan.h"
#include "core/model/limits.h"
#include "tests/contract/wires/harness.h"

static const struct {
    int row;
    const char *yaml, *json; /* documents are joined with '|' */
} good[] = {
    {__LINE__, "a: 1", "{\"a\":1}"},
    {__LINE__, "a: 12345678901234567890123\nb: 1.50\nc: -0\nd: 1e400",
     "{\"a\":12345678901234567890123,\"b\":1.50,\"c\":-0,\"d\":1e400}"},
    {__LINE__, "[0x1f, 0o17, 012, 1_000, +1, .5, 1., .inf, .nan, 1:30]",
     "[\"0x1f\",\"0o17\",\"012\",\"1_000\",\"+1\",\".5\",\"1.\",\".inf\",\".nan\",\"1:30\"]"},
    {__LINE__, "[true, True, FALSE, null, ~, NULL, yes, no, on]",
     "[true,true,false,null,null,null,\"yes\",\"no\",\"on\"]"},
    {__LINE__, "['1', \"true\", '', \"~\"]", "[\"1\",\"true\",\"\",\"~\"]"},
    {__LINE__, "a:\nb: ''", "{\"a\":null,\"b\":\"\"}"},
    {__LINE__, "1: x\ntrue: y\n", "{\"1\":\"x\",\"true\":\"y\"}"},
    {__LINE__, "a: |\n  x\n  y\nb: >\n  x\n  y\n", "{\"a\":\"x\\ny\\n\",\"b\":\"x y\\n\"}"},
    {__LINE__, "a: \"\\u00e9 \\U0001F514 \\x41\"", "{\"a\":\"\xc3\xa9 \xf0\x9f\x94\x94 A\"}"},
    {__LINE__, "a: \xf0\x9f\x94\x94 \xe4\xb8\xad", "{\"a\":\"\xf0\x9f\x94\x94 \xe4\xb8\xad\"}"},
    {__LINE__, "---\na: 1\n---\nb: 2\n...\n", "{\"a\":1}|{\"b\":2}"},
    {__LINE__, "---\n---\na: 1\n---\n", "{\"a\":1}"},
    {__LINE__, "", ""},
    {__LINE__, "# nothing\n", ""},
    {__LINE__, "x: &a [1, {b: 2}]\ny: *a\nz: &a 3\nw: [*a]",
     "{\"x\":[1,{\"b\":2}],\"y\":[1,{\"b\":2}],\"z\":3,\"w\":[3]}"},
    {__LINE__, "a: !!str 1\nb: !!int 2\nc: !!float 3\nd: ! 4\ne: !!map {}\nf: !!seq []\ng: !!null ~",
     "{\"a\":\"1\",\"b\":2,\"c\":3,\"d\":\"4\",\"e\":{},\"f\":[],\"g\":null}"},
    {__LINE__, "{a: {k: 1}, b: {k: 1}}", "{\"a\":{\"k\":1},\"b\":{\"k\":1}}"},
    {__LINE__, "- - 1\n  - 2\n- []\n- {}\n", "[[1,2],[],{}]"},
    {__LINE__,
     "\xef\xbb\xbf"
     "a: 1",
     "{\"a\":1}"},
    /* JSON goes through untouched */
    {__LINE__, "{\"a\": \"\\ud83d\\ude00\\/\", \"n\": 1.0}", "{\"a\": \"\\ud83d\\ude00\\/\", \"n\": 1.0}"},
    {__LINE__, "'<<': 1", "{\"<<\":1}"},
};

static void test_good(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct yaml_documents found = {0};
        struct error err = {0};
        struct str joined;
        str_init(&joined, 100000);
        enum status status = yaml_to_json(good[i].yaml, strlen(good[i].yaml), &found, &err);
        if (status)
            fail_msg("row %d: %s", good[i].row, err.text);
        for (size_t d = 0; d < found.count; d++) {
            if (d)
                str_add_char(&joined, '|');
            str_add(&joined, found.items[d].json);
            assert_int_equal(strlen(found.items[d].json), found.items[d].length);
            assert_int_equal(json_check(found.items[d].json, found.items[d].length, LIMIT_JSON_DEPTH, &err), STATUS_OK);
        }
        if (strcmp(str_text(&joined), good[i].json) != 0)
            fail_msg("row %d: %s, not %s", good[i].row, str_text(&joined), good[i].json);
        yaml_documents_release(&found);
        str_release(&joined);
    }
}

static const struct {
    int row;
    const char *yaml, *reason; /* a piece of the text */
} bad[] = {
    {__LINE__, "a: 1\nb: 2\na: 3", "line 3, column 1: the key \"a\" is there twice"},
    {__LINE__, "{\"a\":1,\"a\":2}", "twice"},
    {__LINE__, "a: [1, 2", "line 1"},
    {__LINE__, "a: 1\n b: 2", "line 2"},
    {__LINE__, "a: *x", "no anchor named \"x\""},
    {__LINE__, "a: &x [*x]", "no anchor named \"x\""},
    {__LINE__, "? [1]\n: 2", "a key must be a text"},
    {__LINE__, "b: &x 1\n*x : 2", "a key cannot be an alias"},
    {__LINE__, "a: {<<: {b: 1}}", "merge keys"},
    {__LINE__, "a: !!int x", "\"x\" is no int"},
    {__LINE__, "a: !!python/object:os.system x", "tag"},
    {__LINE__, "a: !local x", "tag"},
    {__LINE__, "a: !!binary aGk=", "tag"},
    {__LINE__, "a: \"x\\0y\"", "U+0000"},
    {__LINE__, "a: \"\\ud800\"", "line 1"},
    {__LINE__, "a: \xff\xfe", "byte"},
    {__LINE__, "%YAML 3.0\n--- a", "line 1"},
    {__LINE__,
     "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
     "deeper than 64"},
};

static void test_bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct yaml_documents found = {0};
        struct error err = {0};
        enum status status = yaml_to_json(bad[i].yaml, strlen(bad[i].yaml), &found, &err);
        if (status != STATUS_INVALID || !strstr(err.text, bad[i].reason))
            fail_msg("row %d: status %d, \"%s\"", bad[i].row, status, err.text);
        assert_null(found.items);
    }
}

/* Nine levels of nine aliases would be 387 million elements. */
static void test_laughs(void **state)
{
    struct yaml_documents found = {0};
    struct error err = {0};
    struct str text;
    (void)state;
    str_init(&text, 100000);
    str_add(&text, "a0: &a0 [x,x,x,x,x,x,x,x,x]\n");
    for (int i = 1; i < 10; i++)
        str_addf(&text, "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n", i, i, i - 1, i - 1, i - 1, i - 1,
                 i - 1, i - 1, i - 1, i - 1, i - 1);
    assert_int_equal(yaml_to_json(str_text(&text), text.length, &found, &err), STATUS_TOO_BIG);
    str_release(&text);
    /* Depth through aliases counts, too. */
    str_init(&text, 100000);
    str_add(&text, "- &a0 [x]\n");
    for (int i = 1; i < 70; i++)
        str_addf(&text, "- &a%d [*a%d]\n", i, i - 1);
    assert_int_equal(yaml_to_json(str_text(&text), text.length, &found, &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, "deeper"));
    str_release(&text);
}

static void test_size(void **state)
{
    struct yaml_documents found = {0};
    struct error err = {0};
    char *text = malloc(LIMIT_DOCUMENT + 1);
    (void)state;
    memset(text, 'a', LIMIT_DOCUMENT + 1);
    assert_int_equal(yaml_to_json(text, LIMIT_DOCUMENT + 1, &found, &err), STATUS_TOO_BIG);
    text[0] = '-';
    text[1] = ' ';
    assert_int_equal(yaml_to_json(text, LIMIT_DOCUMENT - 10, &found, &err), STATUS_OK);
    yaml_documents_release(&found);
    memset(text, '[', LIMIT_DOCUMENT);
    assert_int_equal(yaml_to_json(text, LIMIT_DOCUMENT, &found, &err), STATUS_INVALID);
    free(text);
}

static void test_lines(void **state)
{
    static const char text[] = "# head\n---\na: 1\n---\n\nb: 2\n";
    struct yaml_documents found = {0};
    (void)state;
    assert_int_equal(yaml_to_json(text, sizeof text - 1, &found, NULL), STATUS_OK);
    assert_int_equal(found.count, 2);
    assert_int_equal(found.items[0].line, 2);
    assert_int_equal(found.items[1].line, 4);
    yaml_documents_release(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_good), cmocka_unit_test(test_bad),
                                       cmocka_unit_test(test_laughs), cmocka_unit_test(test_size),
                                       cmocka_unit_test(test_lines)};
    return cmocka_run_group_tests_name("yaml", tests, NULL, NULL);
}
