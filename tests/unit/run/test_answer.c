/* What answers mean: executor-protocol.md §2 and, for `sia`, what unmodified SIA-TASK executors send. */
#include "core/logic/run/answer.h"
#include "tests/unit/run/support.h"

#define ROWS(table) (sizeof(table) / sizeof *(table))
#define UNTIL "2026-10-01T00:00:20Z" /* 20 s after `now` */
#define NOW 1790812800000

struct answer_case {
    int line;
    enum success_rule rule;
    int http;
    const char *body;
    enum call_class class;
    const char *result; /* NULL: none */
    const char *type, *location, *when;
    span retry_after; /* 0: not said */
    bool async;
    span delay; /* 0: not said */
    const char *message, *code, *note;
};

static const struct answer_case cases[] = {
    /* auto */
    {__LINE__, SUCCESS_AUTO, 200, "{\"status\":\"success\",\"result\":{\"rows\": 12345678901234567890}}", CALL_SUCCESS,
     .result = "{\"rows\":12345678901234567890}"},
    {__LINE__, SUCCESS_AUTO, 200, "{\"status\":\"SUCCESS\"}", CALL_SUCCESS, .result = NULL},
    {__LINE__, SUCCESS_AUTO, 200, "{\"status\":{\"status\":\"success\"},\"result\":\"x\"}", CALL_SUCCESS,
     .result = "\"x\""},
    {__LINE__, SUCCESS_AUTO, 200, "{\"status\":\"success\",\"result\":null}", CALL_SUCCESS, .result = NULL},
    {__LINE__, SUCCESS_AUTO, 200, "{\"status\":\"failed\",\"code\":\"E7\",\"message\":\"no day\"}", CALL_FAILURE,
     .message = "no day", .code = "E7"},
    {__LINE__, SUCCESS_AUTO, 200, "{\"status\":\"Failure\",\"code\":7}", CALL_FAILURE, .code = "7"},
    {__LINE__, SUCCESS_AUTO, 200, "{\"status\":\"error\",\"error\":{\"code\":\"E\",\"message\":\"m\"}}", CALL_FAILURE,
     .message = "m", .code = "E"},
    {__LINE__, SUCCESS_AUTO, 200, "{\"status\":\"unknown\"}", CALL_FAILURE, .result = NULL},
    {__LINE__, SUCCESS_AUTO, 200, "{\"status\":{\"status\":\"failed\"},\"mess\":\"bad\"}", CALL_FAILURE,
     .message = "bad"},
    {__LINE__, SUCCESS_AUTO, 200, "{\"status\":\"done\", \"n\": 1}", CALL_SUCCESS,
     .result = "{\"status\":\"done\",\"n\":1}"},
    {__LINE__, SUCCESS_AUTO, 200, "{\"status\":200}", CALL_SUCCESS, .result = "{\"status\":200}"},
    {__LINE__, SUCCESS_AUTO, 200, "[1, 2]", CALL_SUCCESS, .result = "[1,2]"},
    {__LINE__, SUCCESS_AUTO, 200, "null", CALL_SUCCESS, .result = NULL},
    {__LINE__, SUCCESS_AUTO, 200, "", CALL_SUCCESS, .result = NULL},
    {__LINE__, SUCCESS_AUTO, 200, NULL, CALL_SUCCESS, .result = NULL},
    {__LINE__, SUCCESS_AUTO, 204, "", CALL_SUCCESS, .result = NULL},
    {__LINE__, SUCCESS_AUTO, 200, "fine, 鐘", CALL_SUCCESS, .result = "\"fine, 鐘\""},
    {__LINE__, SUCCESS_AUTO, 200, "\xef\xbb\xbf{\"status\":\"success\",\"result\":1}", CALL_SUCCESS, .result = "1"},
    {__LINE__, SUCCESS_AUTO, 200, "ok", CALL_SUCCESS, .result = "\"ok\"", .type = "application/json",
     .note = "the content type says JSON"},
    {__LINE__, SUCCESS_AUTO, 200, "\xff\xfe", CALL_SUCCESS, .result = NULL, .note = "no UTF-8"},
    {__LINE__, SUCCESS_AUTO, 202, "", CALL_ACCEPTED, .result = NULL, .location = "/status/1"},
    {__LINE__, SUCCESS_AUTO, 202, "{}", CALL_SUCCESS, .result = "{}", .note = "202 without Location"},
    {__LINE__, SUCCESS_AUTO, 200, "{\"status\":\"accepted\"}", CALL_ACCEPTED, .result = NULL},
    {__LINE__, SUCCESS_AUTO, 201, "", CALL_ACCEPTED, .result = NULL, .async = true},
    {__LINE__, SUCCESS_AUTO, 200, "{\"status\":\"success\"}", CALL_ACCEPTED, .result = NULL, .async = true},
    {__LINE__, SUCCESS_AUTO, 200, "{\"status\":\"failed\"}", CALL_FAILURE, .result = NULL, .async = true},
    {__LINE__, SUCCESS_AUTO, 200, "{\"status\":\"delay\",\"after\":\"20s\"}", CALL_BUSY, .result = NULL,
     .delay = 20000},
    {__LINE__, SUCCESS_AUTO, 200, "{\"status\":\"delay\",\"after\":20}", CALL_BUSY, .result = NULL, .delay = 20000},
    {__LINE__, SUCCESS_AUTO, 200, "{\"status\":\"delay\",\"until\":\"" UNTIL "\"}", CALL_BUSY, .result = NULL,
     .delay = 20000},
    {__LINE__, SUCCESS_AUTO, 200, "{\"status\":\"delay\",\"until\":1790812805000}", CALL_BUSY, .result = NULL,
     .delay = 5000},
    {__LINE__, SUCCESS_AUTO, 200, "{\"status\":\"delay\",\"after\":\"soon\"}", CALL_BUSY, .result = NULL,
     .note = "the delay cannot be read"},
    {__LINE__, SUCCESS_AUTO, 200, "{\"status\":\"delay\"}", CALL_BUSY, .result = NULL, .retry_after = 3000,
     .delay = 3000},
    {__LINE__, SUCCESS_AUTO, 429, "", CALL_BUSY, .result = NULL, .retry_after = 7000, .delay = 7000},
    {__LINE__, SUCCESS_AUTO, 503, "", CALL_BUSY, .result = NULL, .message = "HTTP status 503"},
    {__LINE__, SUCCESS_AUTO, 425, "", CALL_BUSY, .result = NULL},
    {__LINE__, SUCCESS_AUTO, 302, "", CALL_HTTP_3XX, .result = NULL, .location = "/x"},
    {__LINE__, SUCCESS_AUTO, 404, "{\"error\":{\"code\":\"NOTFOUND_002\",\"message\":\"none\"}}", CALL_HTTP_4XX,
     .message = "none", .code = "NOTFOUND_002"},
    {__LINE__, SUCCESS_AUTO, 500, "boom", CALL_HTTP_5XX, .result = NULL, .message = "HTTP status 500"},
    {__LINE__, SUCCESS_AUTO, 599, "{\"status\":\"success\"}", CALL_HTTP_5XX, .result = NULL},
    {__LINE__, SUCCESS_AUTO, 0, "", CALL_BAD_ANSWER, .result = NULL},
    {__LINE__, SUCCESS_AUTO, 199, "", CALL_BAD_ANSWER, .result = NULL},
    {__LINE__, SUCCESS_AUTO, 999, "", CALL_BAD_ANSWER, .result = NULL},
    /* http */
    {__LINE__, SUCCESS_HTTP, 200, "{\"status\":\"failed\"}", CALL_SUCCESS, .result = "{\"status\":\"failed\"}"},
    {__LINE__, SUCCESS_HTTP, 202, "", CALL_ACCEPTED, .result = NULL, .location = "/s"},
    {__LINE__, SUCCESS_HTTP, 400, "", CALL_HTTP_4XX, .result = NULL},
    /* sia */
    {__LINE__, SUCCESS_SIA, 200, "{\"status\":\"success\",\"result\":\"7\"}", CALL_SUCCESS, .result = "\"7\""},
    {__LINE__, SUCCESS_SIA, 200, "{\"status\":\"Success\",\"result\":7}", CALL_SUCCESS, .result = "\"7\""},
    {__LINE__, SUCCESS_SIA, 200, "{\"status\":\"success\",\"result\":true}", CALL_SUCCESS, .result = "\"true\""},
    {__LINE__, SUCCESS_SIA, 200, "{\"status\":{\"status\":\"success\"},\"result\":{\"a\":1},\"mess\":null,\"ext\":1}",
     CALL_SUCCESS, .result = "{\"a\":1}"},
    {__LINE__, SUCCESS_SIA, 200, "{\"status\":{\"status\":\"SUCCESS\"}}", CALL_SUCCESS, .result = NULL},
    {__LINE__, SUCCESS_SIA, 200, "{\"status\":{\"status\":\"failed\"},\"mess\":\"no\"}", CALL_FAILURE, .result = NULL,
     .message = "no"},
    {__LINE__, SUCCESS_SIA, 200, "{\"status\":\"running\"}", CALL_FAILURE, .result = NULL},
    {__LINE__, SUCCESS_SIA, 200, "{}", CALL_FAILURE, .result = NULL, .message = "no status"},
    {__LINE__, SUCCESS_SIA, 200, "{\"status\":null}", CALL_FAILURE, .result = NULL},
    {__LINE__, SUCCESS_SIA, 200, "[]", CALL_FAILURE, .result = NULL},
    {__LINE__, SUCCESS_SIA, 200, "\"success\"", CALL_FAILURE, .result = NULL},
    {__LINE__, SUCCESS_SIA, 200, "", CALL_BAD_ANSWER, .result = NULL},
    {__LINE__, SUCCESS_SIA, 200, "success", CALL_BAD_ANSWER, .result = NULL, .message = "no JSON"},
    {__LINE__, SUCCESS_SIA, 200, "{\"status\":{\"status\":\"failed\"},\"mess\":\"This task is running!\"}", CALL_BUSY,
     .result = NULL},
    {__LINE__, SUCCESS_SIA, 500, "<html>This task is running</html>", CALL_BUSY, .result = NULL},
    {__LINE__, SUCCESS_SIA, 500, "{\"message\":\"This task is not authorized\"}", CALL_HTTP_5XX, .result = NULL,
     .message = "not authorized"},
    /* expression */
    {__LINE__, SUCCESS_EXPRESSION, 200, "{\"ok\":true}", CALL_SUCCESS, .result = "{\"ok\":true}", .when = "${body.ok}"},
    {__LINE__, SUCCESS_EXPRESSION, 200, "{\"ok\":false,\"message\":\"m\"}", CALL_FAILURE, .result = NULL,
     .when = "${body.ok}", .message = "m"},
    {__LINE__, SUCCESS_EXPRESSION, 404, "gone", CALL_SUCCESS, .result = "\"gone\"",
     .when = "${status == 404 || status < 300}"},
    {__LINE__, SUCCESS_EXPRESSION, 500, "gone", CALL_HTTP_5XX, .result = NULL,
     .when = "${status == 404 || status < 300}"},
    {__LINE__, SUCCESS_EXPRESSION, 200, "text", CALL_BAD_ANSWER, .result = NULL, .when = "${body.none.there > 1}",
     .message = "success_when: "},
    {__LINE__, SUCCESS_EXPRESSION, 200, "x", CALL_FAILURE, .result = NULL, .when = NULL},
};

static bool holds(const char *text, const char *part)
{
    return !part || (text && strstr(text, part));
}

static void check(const struct answer_case *c)
{
    struct arena arena;
    struct answer answer;
    arena_init(&arena, 1 << 20);
    struct answer_input input = {.http_status = c->http,
                                 .body = c->body,
                                 .length = c->body ? strlen(c->body) : 0,
                                 .content_type = c->type,
                                 .location = c->location,
                                 .retry_after = c->retry_after ? c->retry_after : -1,
                                 .now = {NOW},
                                 .rule = c->rule,
                                 .success_when = c->when,
                                 .async = c->async};
    assert_int_equal(answer_classify(&input, &arena, &answer), STATUS_OK);
    bool same_result = c->result ? answer.result && !strcmp(answer.result, c->result) : !answer.result;
    if (answer.class != c->class || !same_result || !holds(answer.message, c->message) ||
        !holds(answer.code, c->code) || !holds(answer.note, c->note) || answer.delay != (c->delay ? c->delay : -1))
        fail_msg("line %d: %s, result %s, delay %lld, message %s, code %s, note %s", c->line,
                 call_class_text(answer.class), answer.result ? answer.result : "-", (long long)answer.delay,
                 answer.message ? answer.message : "-", answer.code ? answer.code : "-",
                 answer.note ? answer.note : "-");
    arena_release(&arena);
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS(cases); i++)
        check(&cases[i]);
}

/* A promised result that cannot be handed on is a bad answer; a body that perhaps nobody reads draws a note. */
static void test_big(void **state)
{
    (void)state;
    struct arena arena;
    struct answer answer;
    struct str body;
    str_init(&body, LIMIT_RESPONSE);
    str_add(&body, "{\"status\":\"success\",\"result\":\"");
    for (size_t i = 0; i < LIMIT_RESULT; i++)
        str_add_char(&body, 'x');
    str_add(&body, "\"}");
    struct answer_input input = {.http_status = 200, .body = str_text(&body), .length = body.length, .retry_after = -1};
    arena_init(&arena, 1 << 20);
    assert_int_equal(answer_classify(&input, &arena, &answer), STATUS_OK);
    assert_int_equal(answer.class, CALL_BAD_ANSWER);
    assert_non_null(strstr(answer.message, "65536"));
    input.rule = SUCCESS_HTTP;
    assert_int_equal(answer_classify(&input, &arena, &answer), STATUS_OK);
    assert_int_equal(answer.class, CALL_SUCCESS);
    assert_null(answer.result);
    assert_non_null(strstr(answer.note, "too big"));
    arena_release(&arena);
    str_release(&body);
}

/* Long words are cut at a character's end. */
static void test_long_words(void **state)
{
    (void)state;
    struct arena arena;
    struct answer answer;
    struct str body;
    str_init(&body, LIMIT_RESPONSE);
    str_add(&body, "{\"status\":\"failed\",\"message\":\"");
    for (int i = 0; i < 400; i++)
        str_add(&body, "鐘");
    str_add(&body, "\"}");
    struct answer_input input = {.http_status = 200, .body = str_text(&body), .length = body.length, .retry_after = -1};
    arena_init(&arena, 1 << 20);
    assert_int_equal(answer_classify(&input, &arena, &answer), STATUS_OK);
    assert_int_equal(strlen(answer.message), 498); /* 166 characters of 3 bytes */
    arena_release(&arena);
    str_release(&body);
}

static void test_no_memory(void **state)
{
    (void)state;
    struct arena arena;
    struct answer answer;
    const char *body = "{\"status\":\"failed\",\"message\":\"a longer text than the arena holds\"}";
    arena_init(&arena, 16);
    struct answer_input input = {.http_status = 200, .body = body, .length = strlen(body), .retry_after = -1};
    assert_int_equal(answer_classify(&input, &arena, &answer), STATUS_NO_MEMORY);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_big),
        cmocka_unit_test(test_long_words),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
