/* Instances that announce themselves: there, renewed, gone by their time or at once; the number that a poll shows. */
#include <unistd.h>

#include "tests/contract/store/kit.h"

static int64_t polled(struct store *store, int64_t boot)
{
    OP(op, STORE_POLL);
    op.poll = (struct store_poll){.boot = boot, .since = -1};
    DO(store, &op);
    int64_t number = op.poll.instances;
    store_op_release(&op);
    return number;
}

static bool announce(struct store *store, const char *app, const char *address, const char *document, span ttl)
{
    OP(op, STORE_INSTANCE_SET);
    op.instance_set.row =
        (struct instance_row){.project = "default", .application = app, .address = address, .document = document};
    op.instance_set.ttl = ttl;
    op.instance_set.remove = document == NULL;
    DO(store, &op);
    bool fresh = op.instance_set.fresh;
    store_op_release(&op);
    return fresh;
}

static void expect(struct store *store, const char *app, const char *addresses)
{
    char text[200] = "";
    OP(op, STORE_INSTANCES);
    op.instances.project = app ? "default" : NULL;
    op.instances.application = app;
    DO(store, &op);
    for (size_t i = 0; i < op.instances.count; i++) {
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " " : "",
                       op.instances.rows[i].address);
        assert_true(op.instances.rows[i].expires_at.ms > op.instances.store_now.ms);
        assert_int_equal(op.instances.rows[i].document != NULL, app != NULL);
    }
    assert_string_equal(text, addresses);
    store_op_release(&op);
}

static void test_there_and_gone(void **state)
{
    struct store *store = *state;
    int64_t boot = kit_boot(store, "n1"), number = polled(store, boot);
    assert_true(announce(store, "ledger", "b:2", "{}", SPAN_MINUTE));
    assert_true(announce(store, "ledger", "a:1", "{}", SPAN_MINUTE));
    assert_true(announce(store, "mail", "a:1", "{}", SPAN_MINUTE));
    expect(store, "ledger", "a:1 b:2");
    expect(store, NULL, "a:1 b:2 a:1");
    assert_int_equal(polled(store, boot), number + 3);
    assert_false(announce(store, "ledger", "a:1", "{}", SPAN_MINUTE)); /* a renewal moves nothing */
    assert_int_equal(polled(store, boot), number + 3);
    assert_true(announce(store, "ledger", "a:1", "{\"tasks\":[]}", SPAN_MINUTE));
    assert_true(announce(store, "ledger", "a:1", NULL, 0));
    assert_false(announce(store, "ledger", "a:1", NULL, 0)); /* it has left already */
    assert_false(announce(store, "ledger", "c:3", NULL, 0)); /* nobody knows it */
    assert_int_equal(polled(store, boot), number + 5);
    expect(store, "ledger", "b:2");
}

static void test_time(void **state)
{
    struct store *store = *state;
    assert_true(announce(store, "ledger", "a:1", "{}", 300));
    expect(store, "ledger", "a:1");
    for (int i = 0; i < 4; i++) {
        (void)usleep(100000); /* a third of its time to live */
        assert_false(announce(store, "ledger", "a:1", "{}", 300));
    }
    expect(store, "ledger", "a:1");
    (void)usleep(320000);
    expect(store, "ledger", "");
    assert_true(announce(store, "ledger", "a:1", "{}", 300)); /* back: everybody must hear of it */
    expect(store, "ledger", "a:1");
}

int main(int argc, char **argv)
{
    kit_begin(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_there_and_gone, kit_setup, kit_teardown),
        cmocka_unit_test_setup_teardown(test_time, kit_setup, kit_teardown),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    kit_forget();
    return failed;
}
