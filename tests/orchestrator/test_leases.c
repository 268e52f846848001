/* Leases for applications, by the API. */
#include <stdio.h>
#include <string.h>

#include "tests/orchestrator/fixture.h"

static const char *const path = "/api/v1/leases/leader";

static struct answer lease(struct api *api, const char *token, const char *verb, const char *body)
{
    char full[100];
    (void)snprintf(full, sizeof full, "%s:%s", path, verb);
    return api_call_as(api, token ? token : api->admin, "POST", full, body, NULL);
}

static void refused(struct api *api, const char *verb, const char *body, int status, const char *code)
{
    struct answer a = lease(api, NULL, verb, body);
    if (a.status != status || strcmp(answer_text(&a, "error.code"), code) != 0)
        fail_msg("%s %s: %d %s", verb, body, a.status, a.text);
    answer_release(&a);
}

static void test_life_of_a_lease(void **state)
{
    struct api *api = *state;
    char body[200];
    struct answer a = lease(api, NULL, "acquire", "{\"ttl_seconds\":60,\"holder\":\"one\"}");
    assert_int_equal(a.status, 200);
    assert_string_equal(answer_text(&a, "name"), "leader");
    assert_string_equal(answer_text(&a, "holder"), "one");
    assert_int_equal(answer_number(&a, "fence"), 1);
    assert_non_null(answer_at(&a, "expires_at"));
    (void)snprintf(body, sizeof body, "{\"token\":\"%s\"}", answer_text(&a, "token"));
    char token[100];
    (void)snprintf(token, sizeof token, "%s", answer_text(&a, "token"));
    answer_release(&a);
    refused(api, "acquire", "{}", 409, "SCHEDULING_CONFLICT_002");
    refused(api, "renew", "{\"token\":\"wrong\"}", 409, "SCHEDULING_CONFLICT_002");
    refused(api, "renew", "{}", 400, "REQUEST_VALIDATION_002");
    refused(api, "acquire", "{\"ttl_seconds\":0}", 400, "REQUEST_VALIDATION_002");
    a = lease(api, NULL, "renew", body);
    assert_int_equal(a.status, 200);
    assert_null(answer_at(&a, "token"));
    answer_release(&a);
    a = api_call(api, "GET", "/api/v1/leases", NULL);
    assert_int_equal(answer_number(&a, "total"), 1);
    assert_string_equal(answer_text(&a, "items.0.holder"), "one");
    assert_string_equal(answer_text(&a, "items.0.author"), "admin");
    assert_null(strstr(a.text, token));
    answer_release(&a);
    a = lease(api, NULL, "release", body);
    assert_int_equal(a.status, 200);
    answer_release(&a);
    refused(api, "renew", body, 409, "SCHEDULING_CONFLICT_006");
    a = lease(api, NULL, "acquire", NULL);
    assert_int_equal(a.status, 200);
    assert_int_equal(answer_number(&a, "fence"), 2);
    assert_string_equal(answer_text(&a, "holder"), "admin");
    answer_release(&a);
    REFUSED(api, 400, "REQUEST_VALIDATION_002", "POST", "/api/v1/leases/Bad:acquire", "{}");
    REFUSED(api, 404, "REQUEST_NOTFOUND_001", "POST", "/api/v1/leases/leader", "{}");
    REFUSED(api, 404, "REQUEST_NOTFOUND_001", "POST", "/api/v1/leases/:acquire", "{}");
    REFUSED(api, 404, "REQUEST_NOTFOUND_001", "POST", "/api/v1/leases/leader:steal", "{}");
    REFUSED(api, 405, "REQUEST_METHOD_001", "GET", "/api/v1/leases/leader:renew", NULL);
}

static void test_projects_are_apart(void **state)
{
    struct api *api = *state;
    char shop[80], viewer[80];
    api_shop(api);
    api_token(api, "app", "operator", "shop", 0, shop);
    api_token(api, "eye", "viewer", "shop", 0, viewer);
    struct answer a = lease(api, NULL, "acquire", "{}");
    assert_int_equal(a.status, 200);
    answer_release(&a);
    a = lease(api, shop, "acquire", "{}"); /* another name altogether */
    assert_int_equal(a.status, 200);
    assert_string_equal(answer_text(&a, "project"), "shop");
    answer_release(&a);
    a = api_call_as(api, viewer, "GET", "/api/v1/leases", NULL, NULL);
    assert_int_equal(answer_number(&a, "total"), 1);
    answer_release(&a);
    a = lease(api, viewer, "acquire", "{}");
    assert_int_equal(a.status, 403);
    answer_release(&a);
    a = api_call(api, "GET", "/api/v1/leases", NULL);
    assert_int_equal(answer_number(&a, "total"), 2);
    answer_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_life_of_a_lease, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_projects_are_apart, api_setup, api_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
