/* Who may do what: tokens, roles, scopes, every route in the OpenAPI document, languages, error form. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orchestrator/problem.h"
#include "orchestrator/routes.h"
#include "tests/orchestrator/fixture.h"

/* A path with its parts filled in: names that exist where it matters little whether they do. */
static void fill(const char *pattern, const char *project, char ret[256])
{
    size_t used = 0;
    while (*pattern && used < 200) {
        if (*pattern != '{') {
            ret[used++] = *pattern++;
            continue;
        }
        const char *value = !strncmp(pattern, "{project}", 9) ? project : !strncmp(pattern, "{id}", 4) ? "1" : "none";
        used += (size_t)snprintf(ret + used, 256 - used, "%s", value);
        pattern = strchr(pattern, '}') + 1;
    }
    ret[used] = '\0';
}

static const char *body_of(const struct route *route)
{
    return strcmp(route->method, "GET") != 0 && strcmp(route->method, "DELETE") != 0 ? "{}" : NULL;
}

/* Every route, every role: refused below its need, let through from there on (whatever it answers then). */
static void test_matrix(void **state)
{
    struct api *api = *state;
    static const char *const names[] = {NULL, "viewer", "operator", "developer", "admin"};
    char tokens[5][80] = {{0}}, path[256];
    size_t count;
    const struct route *routes = routes_table(&count);
    api_shop(api);
    for (int role = 1; role < 5; role++)
        api_token(api, role == 4 ? "admin-too" : names[role], names[role], NULL, 0, tokens[role]);
    for (size_t i = 0; i < count; i++)
        for (int role = 0; role < 5; role++) {
            const struct route *route = &routes[i];
            fill(route->path, "none", path);
            struct answer a = api_call_as(api, role ? tokens[role] : NULL, route->method, path, body_of(route), NULL);
            bool open = route->rule == OBJECT_PUBLIC;
            bool own = strstr(route->path, "{token}") != NULL;      /* a right of its own, and "none" is none */
            bool signs = strstr(route->path, "{instance}") != NULL; /* a signature, or a developer's token */
            int need = signs ? ROLE_DEVELOPER : (int)route->need;
            int expected = own ? 410 : open && !signs ? 200 : !role ? 401 : role < need ? 403 : 0;
            bool ok = expected ? a.status == expected : a.status != 401 && a.status != 403 && a.status != 500;
            if (!ok)
                fail_msg("%s %s as %s: %d %s", route->method, path, role ? names[role] : "nobody", a.status, a.text);
            if (expected == 401)
                assert_non_null(strstr(a.headers, "WWW-Authenticate: Bearer"));
            answer_release(&a);
        }
}

/* A token of one project does nothing elsewhere, and nothing that belongs to the cluster. */
static void test_scope(void **state)
{
    struct api *api = *state;
    char token[80], path[256];
    size_t count;
    const struct route *routes = routes_table(&count);
    api_shop(api);
    EXPECT(api, 201, "PUT", "/api/v1/projects/mall", "{}");
    api_token(api, "mall-admin", "admin", "mall", 0, token);
    for (size_t i = 0; i < count; i++) {
        const struct route *route = &routes[i];
        fill(route->path, "shop", path);
        struct answer a = api_call_as(api, token, route->method, path, body_of(route), NULL);
        bool refused = route->rule == OBJECT_PROJECT || route->rule == OBJECT_CLUSTER ||
                       strstr(route->path, "{instance}") != NULL; /* checks for itself */
        if (refused != (a.status == 403))
            fail_msg("%s %s: %d %s", route->method, path, a.status, a.text);
        answer_release(&a);
    }
    struct answer a = api_call_as(api, token, "GET", "/api/v1/projects", NULL, NULL);
    assert_int_equal(cJSON_GetArraySize(answer_at(&a, "items")), 1);
    assert_string_equal(answer_text(&a, "items.0.name"), "mall");
    answer_release(&a);
    a = api_call_as(api, token, "POST", "/api/v1/apply",
                    "{\"documents\":[{\"kind\":\"Job\",\"metadata\":{\"project\":\"shop\",\"name\":\"x\"},"
                    "\"spec\":{\"graph\":[{\"step\":\"s\",\"url\":\"http://h/\"}]}}]}",
                    NULL);
    assert_int_equal(a.status, 403);
    answer_release(&a);
    a = api_call_as(api, token, "POST", "/api/v1/tokens", "{\"name\":\"up\",\"role\":\"admin\"}", NULL);
    assert_int_equal(a.status, 403); /* a token for everything is more than it has */
    answer_release(&a);
    a = api_call_as(api, token, "PUT", "/api/v1/projects/mall/jobs/x",
                    "{\"spec\":{\"graph\":[{\"step\":\"s\",\"url\":\"http://h/\"}]}}", NULL);
    assert_int_equal(a.status, 201);
    answer_release(&a);
}

static void test_tokens(void **state)
{
    struct api *api = *state;
    char expired[80];
    api_token(api, "old", "admin", NULL, -1000, expired);
    struct answer a = api_call_as(api, expired, "GET", "/api/v1/whoami", NULL, NULL);
    assert_int_equal(a.status, 401);
    assert_string_equal(answer_text(&a, "error.code"), "AUTH_UNAUTHORIZED_002");
    assert_non_null(strstr(a.headers, "invalid_token"));
    answer_release(&a);

    a = api_call(api, "POST", "/api/v1/tokens",
                 "{\"name\":\"ci\",\"role\":\"operator\",\"project\":\"default\",\"expires_in\":\"90d\"}");
    assert_int_equal(a.status, 201);
    char token[80];
    (void)snprintf(token, sizeof token, "%s", answer_text(&a, "token"));
    answer_release(&a);
    a = api_call_as(api, token, "GET", "/api/v1/whoami", NULL, NULL);
    assert_int_equal(a.status, 200);
    assert_string_equal(answer_text(&a, "name"), "ci");
    assert_string_equal(answer_text(&a, "role"), "operator");
    assert_string_equal(answer_text(&a, "project"), "default");
    answer_release(&a);
    REFUSED(api, 400, "REQUEST_VALIDATION_002", "POST", "/api/v1/tokens", "{\"name\":\"ci2\",\"role\":\"king\"}");
    REFUSED(api, 400, "REQUEST_VALIDATION_002", "POST", "/api/v1/tokens", "{\"role\":\"viewer\"}");
    REFUSED(api, 400, "REQUEST_VALIDATION_002", "POST", "/api/v1/tokens",
            "{\"name\":\"past\",\"role\":\"viewer\",\"expires_at\":\"1970-01-01T00:00:00Z\"}");

    /* An address that keeps sending unknown tokens is braked; known ones go on. */
    int refused = 0, braked = 0;
    for (int i = 0; i < 40; i++) {
        a = api_call_as(api, "cr_wrong", "GET", "/api/v1/whoami", NULL, NULL);
        refused += a.status == 401;
        braked += a.status == 429;
        answer_release(&a);
    }
    assert_true(refused >= 20 && refused <= 30);
    assert_true(braked >= 10);
    EXPECT(api, 200, "GET", "/api/v1/whoami", NULL);
}

/* Listed without what they are; taken back, a token stops at once. One project's admin sees and ends its own alone. */
static void test_tokens_taken_back(void **state)
{
    struct api *api = *state;
    char shop[80], path[64];
    api_shop(api);
    api_token(api, "shop-admin", "admin", "shop", 0, shop);
    struct answer made = api_call_as(api, shop, "POST", "/api/v1/tokens",
                                     "{\"name\":\"ci\",\"role\":\"viewer\",\"project\":\"shop\"}", NULL);
    assert_int_equal(made.status, 201);
    const char *token = answer_text(&made, "token"), *id = answer_text(&made, "id");
    struct answer a = api_call_as(api, token, "GET", "/api/v1/whoami", NULL, NULL);
    assert_int_equal(a.status, 200);
    answer_release(&a);
    a = api_call_as(api, shop, "GET", "/api/v1/tokens", NULL, NULL);
    assert_int_equal(answer_number(&a, "total"), 2);
    assert_string_equal(answer_text(&a, "items.0.name"), "ci");
    assert_string_equal(answer_text(&a, "items.0.id"), id);
    assert_null(strstr(a.text, token));
    assert_null(strstr(a.text, "hash"));
    answer_release(&a);
    a = api_call_as(api, token, "GET", "/api/v1/tokens", NULL, NULL);
    assert_int_equal(a.status, 403);
    answer_release(&a);
    a = api_call(api, "GET", "/api/v1/tokens", NULL);
    assert_int_equal(answer_number(&a, "total"), 3);
    const char *admin = answer_text(&a, "items.2.id");
    char body[80];
    (void)snprintf(body, sizeof body, "{\"ids\":[\"%s\",\"%s\",\"x\"]}", id, admin);
    answer_release(&a);
    a = api_call_as(api, shop, "POST", "/api/v1/tokens:revoke", body, NULL);
    assert_int_equal(a.status, 200);
    assert_true(cJSON_IsTrue(answer_at(&a, "items.0.ok")));
    assert_string_equal(answer_text(&a, "items.1.error.code"), "AUTH_NOTFOUND_001"); /* the cluster's admin */
    assert_string_equal(answer_text(&a, "items.2.error.code"), "AUTH_NOTFOUND_001");
    answer_release(&a);
    a = api_call_as(api, token, "GET", "/api/v1/whoami", NULL, NULL);
    assert_int_equal(a.status, 401);
    answer_release(&a);
    (void)snprintf(path, sizeof path, "/api/v1/tokens/%s", id);
    EXPECT(api, 204, "DELETE", path, NULL); /* again is no error */
    REFUSED(api, 404, "AUTH_NOTFOUND_001", "DELETE", "/api/v1/tokens/9999", NULL);
    a = api_call(api, "GET", "/api/v1/tokens", NULL);
    assert_false(cJSON_IsNull(answer_at(&a, "items.0.revoked_at")));
    answer_release(&a);
    a = api_call(api, "GET", "/api/v1/audit", NULL);
    assert_string_equal(answer_text(&a, "items.0.action"), "revoke");
    assert_string_equal(answer_text(&a, "items.0.who"), "shop-admin");
    assert_string_equal(answer_text(&a, "items.0.project"), "shop");
    answer_release(&a);
    answer_release(&made);
}

static void test_rate(void **state)
{
    struct api *api = *state;
    api->settings.server.rate = 5;
    int refused = 0;
    for (int i = 0; i < 30; i++) {
        struct answer a = api_call(api, "GET", "/api/v1/whoami", NULL);
        refused += a.status == 429;
        if (a.status == 429)
            assert_string_equal(answer_text(&a, "error.code"), "REQUEST_RATE_001");
        answer_release(&a);
    }
    assert_true(refused > 0);
    api->settings.server.rate = 0;
}

static void test_openapi(void **state)
{
    struct api *api = *state;
    size_t count, described = 0;
    const struct route *routes = routes_table(&count);
    struct answer a = api_call_as(api, NULL, "GET", "/api/v1/openapi.json", NULL, NULL);
    assert_int_equal(a.status, 200);
    const cJSON *paths = answer_at(&a, "paths"), *path, *operation;
    for (size_t i = 0; i < count; i++) {
        char method[16] = {0};
        for (size_t k = 0; routes[i].method[k]; k++)
            method[k] = (char)(routes[i].method[k] | 0x20);
        path = cJSON_GetObjectItemCaseSensitive(paths, routes[i].path);
        operation = cJSON_GetObjectItemCaseSensitive(path, method);
        if (!operation)
            fail_msg("%s %s is not in openapi.json", routes[i].method, routes[i].path);
        const char *role = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(operation, "x-role"));
        const char *need = routes[i].rule == OBJECT_PUBLIC ? "public" : role_text(routes[i].need);
        if (!role || strcmp(role, need) != 0)
            fail_msg("%s %s: x-role is %s, not %s", routes[i].method, routes[i].path, role ? role : "-", need);
    }
    cJSON_ArrayForEach(path, paths)
        cJSON_ArrayForEach(operation, path)
            described++;
    assert_int_equal(described, count);
    answer_release(&a);
}

static void test_languages_and_form(void **state)
{
    struct api *api = *state;
    static const struct {
        int line;
        const char *header, *expected;
    } cases[] = {
        {__LINE__, "Accept-Language: zh-CN,zh;q=0.9,en;q=0.8", "项目"},
        {__LINE__, "Accept-Language: en", "There is no project"},
        {__LINE__, "Accept-Language: de, zh", "项目"},
        {__LINE__, "Accept-Language: de", "There is no project"},
        {__LINE__, "Accept-Language: ", "There is no project"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *headers[] = {cases[i].header, NULL};
        struct answer a = api_call_as(api, api->admin, "GET", "/api/v1/projects/none", NULL, headers);
        assert_int_equal(a.status, 404);
        assert_string_equal(answer_text(&a, "error.code"), "PROJECT_NOTFOUND_001");
        assert_string_equal(answer_text(&a, "error.args.project"), "none");
        assert_true(strlen(answer_text(&a, "error.trace_id")) > 0);
        if (!strstr(answer_text(&a, "error.message"), cases[i].expected))
            fail_msg("line %d: %s", cases[i].line, a.text);
        answer_release(&a);
    }
    REFUSED(api, 404, "REQUEST_NOTFOUND_001", "GET", "/api/v1/nothing", NULL);
    REFUSED(api, 404, "REQUEST_NOTFOUND_001", "GET", "/api/v1/projects/shop/jobs/", NULL);
    struct answer a = api_call(api, "POST", "/api/v1/projects/shop/jobs/j", "{}");
    assert_int_equal(a.status, 405);
    assert_non_null(strstr(a.headers, "Allow: GET, PUT, DELETE"));
    answer_release(&a);
}

/* Each code has both texts, and they take the same arguments. */
static void test_texts(void **state)
{
    (void)state;
    for (int code = 1; code < PROBLEM_CODES; code++) {
        struct problem problem = {.code = (enum problem_code)code};
        struct str en, zh;
        str_init(&en, 4096);
        str_init(&zh, 4096);
        problem_message(&problem, LANGUAGE_EN, &en);
        problem_message(&problem, LANGUAGE_ZH, &zh);
        assert_true(en.length > 3);
        assert_true(zh.length > 3);
        assert_string_not_equal(str_text(&en), str_text(&zh));
        bool warning = strstr(problem_code_text((enum problem_code)code), "_WARNING_") != NULL;
        assert_int_equal(problem_status((enum problem_code)code) < 400, warning);
        for (int other = 1; other < code; other++) /* the two faces of VALIDATION_001 apart */
            if (code != EXPRESSION_INVALID && code != DOCUMENTS_INVALID && code != DEFINITION_INVALID &&
                code != RUN_NONE)
                assert_string_not_equal(problem_code_text((enum problem_code)code),
                                        problem_code_text((enum problem_code)other));
        str_release(&en);
        str_release(&zh);
    }
}

/* Every code stands in the reference. */
static void test_reference(void **state)
{
    static char text[1 << 18];
    FILE *file = fopen(CARILLON_SOURCE_DIR "/docs/reference/api.md", "r");
    (void)state;
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    for (int code = 1; code < PROBLEM_CODES; code++)
        if (!strstr(text, problem_code_text((enum problem_code)code)))
            fail_msg("%s is not in docs/reference/api.md", problem_code_text((enum problem_code)code));
}

static void test_probes(void **state)
{
    struct api *api = *state;
    struct answer a = api_call_as(api, NULL, "GET", "/healthz", NULL, NULL);
    assert_int_equal(a.status, 200);
    answer_release(&a);
    a = api_call_as(api, NULL, "GET", "/readyz", NULL, NULL);
    assert_int_equal(a.status, 200);
    assert_null(answer_at(&a, "warning"));
    answer_release(&a);
    api->warning = "nearly full";
    a = api_call_as(api, NULL, "GET", "/readyz", NULL, NULL);
    assert_int_equal(a.status, 200);
    assert_string_equal(answer_text(&a, "warning"), "nearly full");
    assert_true(cJSON_IsNull(answer_at(&a, "reason")));
    answer_release(&a);
    api->ready = false;
    a = api_call_as(api, NULL, "GET", "/readyz", NULL, NULL);
    assert_int_equal(a.status, 503);
    assert_string_equal(answer_text(&a, "reason"), "not yet");
    answer_release(&a);
    a = api_call_as(api, NULL, "GET", "/metrics", NULL, NULL);
    assert_int_equal(a.status, 200);
    assert_non_null(strstr(a.headers, "text/plain"));
    assert_non_null(strstr(a.text, "carillon_http_answers_total{status=\"2xx\"}"));
    assert_non_null(strstr(a.text, "carillon_from_elsewhere 1"));
    answer_release(&a);
    a = api_call_as(api, NULL, "GET", "/projects/shop/jobs", NULL, NULL); /* an address of the interface */
    assert_int_equal(a.status, 200);
    assert_non_null(strstr(a.headers, "Content-Security-Policy: default-src 'none'"));
    assert_non_null(strstr(a.headers, "X-Content-Type-Options: nosniff"));
    assert_non_null(strstr(a.text, "<html"));
    answer_release(&a);
}

static void test_config_and_audit(void **state)
{
    struct api *api = *state;
    (void)snprintf(api->settings.store.password, sizeof api->settings.store.password, "very-secret");
    struct answer a = api_call(api, "GET", "/api/v1/config", NULL);
    assert_int_equal(a.status, 200);
    assert_null(strstr(a.text, "very-secret"));
    assert_non_null(strstr(a.text, "scheduler.poll_interval"));
    answer_release(&a);
    api_shop(api);
    a = api_call(api, "GET", "/api/v1/projects/shop/audit", NULL);
    assert_int_equal(a.status, 200);
    assert_true(answer_number(&a, "total") >= 2);
    assert_string_equal(answer_text(&a, "items.0.who"), "admin");
    assert_non_null(answer_at(&a, "items.0.after"));
    answer_release(&a);
    a = api_call(api, "GET", "/api/v1/schedulers", NULL);
    assert_int_equal(a.status, 200);
    assert_string_equal(answer_text(&a, "items.0.node"), "test");
    answer_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_matrix, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_scope, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_tokens, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_tokens_taken_back, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_rate, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_openapi, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_languages_and_form, api_setup, api_teardown),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_reference),
        cmocka_unit_test_setup_teardown(test_probes, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_config_and_audit, api_setup, api_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
