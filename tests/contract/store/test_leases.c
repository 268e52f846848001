/* Leases of applications: one holder at a time, by the store's clock, through the same row for ever. */
#include <pthread.h>
#include <unistd.h>

#include "tests/contract/store/kit.h"

static enum status ask(struct store *store, enum lease_action action, const char *token, span ttl,
                       struct app_lease *ret)
{
    OP(op, STORE_APP_LEASE);
    op.app_lease =
        (struct store_app_lease){.action = action,
                                 .row = {.project = "default", .name = "clean-up", .holder = token, .author = "x"},
                                 .token_hash = token,
                                 .ttl = ttl};
    enum status status = store_execute(store, &op);
    if (ret) {
        *ret = op.app_lease.row;
        ret->holder = ret->holder && strcmp(ret->holder, "one") == 0 ? "one" : ret->holder ? "other" : NULL;
    }
    store_op_release(&op);
    return status;
}

static void test_one_holder(void **state)
{
    struct store *store = *state;
    struct app_lease lease;
    instant now = kit_now(store);
    assert_int_equal(ask(store, LEASE_ACQUIRE, "one", SPAN_MINUTE, &lease), STATUS_OK);
    assert_int_equal(lease.fence, 1);
    assert_true(instant_sub(lease.until, now) >= SPAN_MINUTE);
    assert_int_equal(ask(store, LEASE_ACQUIRE, "two", SPAN_MINUTE, &lease), STATUS_CONFLICT);
    assert_string_equal(lease.holder, "one");
    assert_int_equal(ask(store, LEASE_ACQUIRE, "one", SPAN_MINUTE, &lease), STATUS_OK); /* its answer was lost */
    assert_int_equal(lease.fence, 1);
    assert_int_equal(ask(store, LEASE_RENEW, "two", SPAN_MINUTE, &lease), STATUS_CONFLICT);
    assert_int_equal(ask(store, LEASE_RELEASE, "two", SPAN_MINUTE, &lease), STATUS_CONFLICT);
    assert_int_equal(ask(store, LEASE_RENEW, "one", SPAN_HOUR, &lease), STATUS_OK);
    assert_true(instant_sub(lease.until, now) >= SPAN_HOUR);
    assert_int_equal(ask(store, LEASE_RELEASE, "one", 0, NULL), STATUS_OK);
    assert_int_equal(ask(store, LEASE_RELEASE, "one", 0, NULL), STATUS_OK); /* again is no error */
    assert_int_equal(ask(store, LEASE_RENEW, "one", SPAN_MINUTE, &lease), STATUS_CONFLICT);
    assert_null(lease.holder);
    assert_int_equal(ask(store, LEASE_ACQUIRE, "two", SPAN_MINUTE, &lease), STATUS_OK);
    assert_int_equal(lease.fence, 2);
    assert_int_equal(ask(store, LEASE_RELEASE, "one", 0, NULL), STATUS_CONFLICT); /* it is another's by now */
    assert_int_equal(kit_number("SELECT COUNT(*) FROM audit WHERE kind = 'lease' AND action = 'acquire'"), 2);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM audit WHERE kind = 'lease' AND action = 'release'"), 1);
}

static void test_over_by_itself(void **state)
{
    struct store *store = *state;
    struct app_lease lease;
    assert_int_equal(ask(store, LEASE_ACQUIRE, "one", 30, NULL), STATUS_OK);
    (void)usleep(60000);
    assert_int_equal(ask(store, LEASE_RENEW, "one", SPAN_MINUTE, &lease), STATUS_CONFLICT);
    assert_null(lease.holder);
    assert_int_equal(ask(store, LEASE_ACQUIRE, "two", SPAN_MINUTE, &lease), STATUS_OK);
    assert_int_equal(lease.fence, 2);
    assert_int_equal(ask(store, LEASE_RENEW, "one", SPAN_MINUTE, &lease), STATUS_CONFLICT);
    assert_non_null(lease.holder);
}

static void test_names_of_projects_are_apart(void **state)
{
    struct store *store = *state;
    static const char *const projects[] = {"default", "shop", NULL};
    for (size_t i = 0; i < 3; i++) {
        OP(op, STORE_APP_LEASE);
        op.app_lease =
            (struct store_app_lease){.row = {.project = projects[i], .name = "same", .holder = "h", .author = "x"},
                                     .token_hash = "t",
                                     .ttl = SPAN_MINUTE};
        DO(store, &op);
        store_op_release(&op);
    }
    OP(op, STORE_APP_LEASES);
    op.app_leases = (struct store_app_leases){.limit = 2, .skip = 1};
    DO(store, &op);
    assert_int_equal(op.app_leases.total, 3);
    assert_int_equal(op.app_leases.count, 2);
    assert_string_equal(op.app_leases.rows[0].project, "default");
    store_op_release(&op);
    store_op_init(&op, STORE_APP_LEASES);
    op.app_leases = (struct store_app_leases){.project = "shop", .limit = 10};
    DO(store, &op);
    assert_int_equal(op.app_leases.total, 1);
    store_op_release(&op);
    store_op_init(&op, STORE_APP_LEASE);
    op.app_lease = (struct store_app_lease){.row = {.name = ""}, .token_hash = "t"};
    EXPECT(store, &op, STATUS_INVALID);
    store_op_release(&op);
}

struct racer {
    struct store *store;
    char token[16];
    int won;
};

static void *race(void *context)
{
    struct racer *r = context;
    for (int i = 0; i < 20 && !r->won; i++)
        r->won = ask(r->store, LEASE_ACQUIRE, r->token, SPAN_MINUTE, NULL) == STATUS_OK;
    return NULL;
}

static void test_many_at_once_one_wins(void **state)
{
    struct racer racers[4];
    pthread_t threads[4];
    int won = 0;
    for (int i = 0; i < 4; i++) {
        racers[i] = (struct racer){.store = *state};
        (void)snprintf(racers[i].token, sizeof racers[i].token, "t%d", i);
        assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        (void)pthread_join(threads[i], NULL);
        won += racers[i].won;
    }
    assert_int_equal(won, 1);
    assert_int_equal(kit_number("SELECT fence FROM app_lease"), 1);
}

int main(int argc, char **argv)
{
    kit_begin(argc, argv);
#define T(f) cmocka_unit_test_setup_teardown(f, kit_setup, kit_teardown)
    const struct CMUnitTest tests[] = {T(test_one_holder), T(test_over_by_itself), T(test_names_of_projects_are_apart),
                                       T(test_many_at_once_one_wins)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
