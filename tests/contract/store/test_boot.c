/* Identity of the installation, process starts, fences, leases. */
#include "tests/contract/store/kit.h"

static void test_cluster_identity_lasts(void **state)
{
    struct store *store = *state;
    OP(first, STORE_CLUSTER);
    OP(again, STORE_CLUSTER);
    DO(store, &first);
    assert_int_equal(strlen(first.cluster.id), 32);
    assert_int_equal(first.cluster.generation, 1);
    assert_true(first.cluster.store_now.ms > 1700000000000);
    kit_close(store);
    *state = store = kit_open();
    DO(store, &again);
    assert_string_equal(first.cluster.id, again.cluster.id);
    assert_memory_equal(first.cluster.key, again.cluster.key, 32);
    unsigned char zero[32] = {0};
    assert_memory_not_equal(first.cluster.key, zero, 32);
    store_op_release(&first);
    store_op_release(&again);
}

static void test_generations_rise(void **state)
{
    struct store *store = *state;
    OP(before, STORE_CLUSTER);
    DO(store, &before);
    OP(raised, STORE_CLUSTER);
    raised.cluster.next_generation = true;
    DO(store, &raised);
    assert_int_equal(raised.cluster.generation, before.cluster.generation + 1);
    OP(after, STORE_CLUSTER);
    DO(store, &after);
    assert_int_equal(after.cluster.generation, before.cluster.generation + 1);
    assert_string_equal(after.cluster.id, before.cluster.id);
    store_op_release(&before);
    store_op_release(&raised);
    store_op_release(&after);
}

static void test_each_start_is_a_new_boot(void **state)
{
    struct store *store = *state;
    int64_t first = kit_boot(store, "n1"), other = kit_boot(store, "n2");
    assert_true(other > first);
    OP(op, STORE_BOOT_START);
    op.boot_start = (struct store_boot_start){.node = "n1", .address = "a:1", .role = "scheduler"};
    DO(store, &op);
    assert_true(op.boot_start.boot > other);
    assert_int_equal(op.boot_start.previous_boot, first);
    int64_t second = op.boot_start.boot;
    store_op_release(&op);
    kit_fence(store, second, first);
    OP(third, STORE_BOOT_START);
    third.boot_start = (struct store_boot_start){.node = "n1", .address = "a:1", .role = "scheduler"};
    DO(store, &third);
    assert_int_equal(third.boot_start.previous_boot, second);
    store_op_release(&third);
    OP(role, STORE_BOOT_START);
    role.boot_start = (struct store_boot_start){.node = "n1", .address = "a:1", .role = "orchestrator"};
    DO(store, &role);
    assert_int_equal(role.boot_start.previous_boot, 0);
    store_op_release(&role);
}

static void test_boot_read(void **state)
{
    struct store *store = *state;
    int64_t a = kit_boot(store, "n1"), b = kit_boot(store, "n2");
    OP(op, STORE_BOOT_READ);
    op.boot_read.boot = a;
    DO(store, &op);
    assert_false(op.boot_read.fenced);
    assert_int_equal(op.boot_read.batch, 0);
    store_op_release(&op);
    kit_fence(store, b, a);
    store_op_init(&op, STORE_BOOT_READ);
    op.boot_read.boot = a;
    DO(store, &op);
    assert_true(op.boot_read.fenced);
    store_op_release(&op);
    store_op_init(&op, STORE_BOOT_READ);
    op.boot_read.boot = 900;
    EXPECT(store, &op, STATUS_NOT_FOUND);
    store_op_release(&op);
}

static void test_a_fenced_boot_fences_nobody(void **state)
{
    struct store *store = *state;
    int64_t a = kit_boot(store, "n1"), b = kit_boot(store, "n2");
    kit_fence(store, b, a);
    OP(op, STORE_BOOT_FENCE);
    op.boot_fence = (struct store_boot_fence){.boot = a, .dead_boot = b};
    EXPECT(store, &op, STATUS_FENCED);
    store_op_release(&op);
}

/* A process that stops says so itself: its successor finds nobody to fence, and is told so. */
static void test_a_boot_ends_itself(void **state)
{
    struct store *store = *state;
    int64_t a = kit_boot(store, "n1"), b = kit_boot(store, "n2");
    for (int i = 0; i < 3; i++) {
        OP(op, STORE_BOOT_FENCE);
        op.boot_fence = (struct store_boot_fence){.boot = i < 2 ? a : b, .dead_boot = a};
        DO(store, &op);
        assert_int_equal(op.boot_fence.already, i > 0);
        store_op_release(&op);
    }
    OP(start, STORE_BOOT_START);
    start.boot_start = (struct store_boot_start){.node = "n1", .address = "", .role = "scheduler"};
    DO(store, &start);
    assert_int_equal(start.boot_start.previous_boot, 0);
    store_op_release(&start);
}

static void test_boots_newest_of_each_node(void **state)
{
    struct store *store = *state;
    (void)kit_boot(store, "n1");
    int64_t n2 = kit_boot(store, "n2"), n1 = kit_boot(store, "n1");
    OP(op, STORE_BOOTS);
    DO(store, &op);
    assert_int_equal(op.boots.count, 2);
    assert_int_equal(op.boots.rows[0].boot, n1);
    assert_string_equal(op.boots.rows[0].node, "n1");
    assert_string_equal(op.boots.rows[0].address, "127.0.0.1:1");
    assert_int_equal(op.boots.rows[1].boot, n2);
    store_op_release(&op);
}

static bool lease(struct store *store, int64_t boot, span ttl, bool release)
{
    OP(op, STORE_LEASE);
    op.lease = (struct store_lease){.name = "housekeeping", .boot = boot, .ttl = ttl, .release = release};
    DO(store, &op);
    bool held = op.lease.held;
    store_op_release(&op);
    return held;
}

static void test_lease(void **state)
{
    struct store *store = *state;
    int64_t a = kit_boot(store, "n1"), b = kit_boot(store, "n2"), c = kit_boot(store, "n3");
    assert_true(lease(store, a, SPAN_MINUTE, false));
    assert_true(lease(store, a, SPAN_MINUTE, false));
    assert_false(lease(store, b, SPAN_MINUTE, false));
    assert_false(lease(store, b, SPAN_MINUTE, true)); /* giving up another's does nothing */
    assert_false(lease(store, b, SPAN_MINUTE, false));
    assert_false(lease(store, a, SPAN_MINUTE, true));
    assert_true(lease(store, b, -SPAN_SECOND, false)); /* over at once */
    assert_true(lease(store, a, SPAN_MINUTE, false));
    kit_fence(store, c, a);
    OP(op, STORE_LEASE);
    op.lease = (struct store_lease){.name = "housekeeping", .boot = a, .ttl = SPAN_MINUTE};
    EXPECT(store, &op, STATUS_FENCED);
    store_op_release(&op);
    assert_true(lease(store, b, SPAN_MINUTE, false)); /* the fenced holder's minute is not waited for */
}

static int64_t add_token(struct store *store, const char *hash, instant expires)
{
    OP(op, STORE_TOKEN_ADD);
    op.token_add.row =
        (struct token_row){.name = "ci", .role = "operator", .project = "default", .hash = hash, .expires_at = expires};
    op.token_add.author = "admin";
    DO(store, &op);
    int64_t id = op.token_add.row.id;
    store_op_release(&op);
    return id;
}

static void test_tokens(void **state)
{
    struct store *store = *state;
    instant now = kit_now(store);
    int64_t id = add_token(store, "00ff", INSTANT_NONE);
    (void)add_token(store, "00aa", instant_add(now, -1));
    OP(op, STORE_TOKEN_FIND);
    op.token_find = (struct store_token_find){.hash = "00ff", .touch = true};
    DO(store, &op);
    assert_int_equal(op.token_find.row.id, id);
    assert_string_equal(op.token_find.row.role, "operator");
    assert_string_equal(op.token_find.row.project, "default");
    assert_true(instant_is_none(op.token_find.row.last_used_at));
    store_op_release(&op);
    store_op_init(&op, STORE_TOKEN_FIND);
    op.token_find = (struct store_token_find){.hash = "00ff"};
    DO(store, &op);
    assert_true(op.token_find.row.last_used_at.ms >= now.ms);
    store_op_release(&op);
    const char *const unknown[] = {"00aa", "", "zz", "00ff'"};
    for (size_t i = 0; i < 4; i++) {
        store_op_init(&op, STORE_TOKEN_FIND);
        op.token_find = (struct store_token_find){.hash = unknown[i], .touch = true};
        EXPECT(store, &op, STATUS_NOT_FOUND);
        store_op_release(&op);
    }
    store_op_init(&op, STORE_TOKEN_ADD);
    op.token_add.row = (struct token_row){.name = "x", .role = "admin", .hash = "00ff", .expires_at = INSTANT_NONE};
    EXPECT(store, &op, STATUS_EXISTS);
    store_op_release(&op);
}

static void take_back(struct store *store, int64_t id, const char *project, enum status wanted, bool unchanged)
{
    OP(op, STORE_TOKEN_END);
    op.token_end = (struct store_token_end){.id = id, .project = project, .author = "admin"};
    EXPECT(store, &op, wanted);
    if (wanted == STATUS_OK)
        assert_int_equal(op.token_end.unchanged, unchanged);
    store_op_release(&op);
}

static void test_tokens_are_listed_and_taken_back(void **state)
{
    struct store *store = *state;
    int64_t first = add_token(store, "00ff", INSTANT_NONE), second = add_token(store, "00aa", INSTANT_NONE);
    OP(add, STORE_TOKEN_ADD);
    add.token_add.row = (struct token_row){.name = "all", .role = "admin", .hash = "00bb", .expires_at = INSTANT_NONE};
    DO(store, &add);
    store_op_release(&add);
    take_back(store, first, "other", STATUS_NOT_FOUND, false);
    take_back(store, 999, NULL, STATUS_NOT_FOUND, false);
    take_back(store, first, "default", STATUS_OK, false);
    take_back(store, first, NULL, STATUS_OK, true);
    OP(op, STORE_TOKEN_FIND);
    op.token_find.hash = "00ff";
    EXPECT(store, &op, STATUS_NOT_FOUND);
    store_op_release(&op);
    store_op_init(&op, STORE_TOKENS);
    op.tokens = (struct store_tokens){.project = "default", .limit = 10};
    DO(store, &op);
    assert_int_equal(op.tokens.total, 2);
    assert_int_equal(op.tokens.rows[0].id, second);
    assert_true(instant_is_none(op.tokens.rows[0].revoked_at));
    assert_false(instant_is_none(op.tokens.rows[1].revoked_at));
    assert_null(op.tokens.rows[1].hash);
    store_op_release(&op);
    store_op_init(&op, STORE_TOKENS);
    op.tokens = (struct store_tokens){.skip = 1, .limit = 1};
    DO(store, &op);
    assert_int_equal(op.tokens.total, 3);
    assert_int_equal(op.tokens.count, 1);
    assert_int_equal(op.tokens.rows[0].id, second);
    store_op_release(&op);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM audit WHERE action = 'revoke' AND kind = 'token'"), 1);
}

static void test_audit_of_tokens(void **state)
{
    struct store *store = *state;
    (void)add_token(store, "00ff", INSTANT_NONE);
    OP(op, STORE_AUDIT);
    op.audit.limit = 1;
    DO(store, &op);
    assert_int_equal(op.audit.total, 2); /* and the project default */
    assert_int_equal(op.audit.count, 1);
    assert_string_equal(op.audit.rows[0].who, "admin");
    assert_string_equal(op.audit.rows[0].action, "create");
    assert_string_equal(op.audit.rows[0].kind, "token");
    assert_string_equal(op.audit.rows[0].name, "ci");
    store_op_release(&op);
    store_op_init(&op, STORE_AUDIT);
    op.audit = (struct store_audit){.project = "default", .skip = 1, .limit = 10};
    DO(store, &op);
    assert_int_equal(op.audit.total, 2);
    assert_int_equal(op.audit.count, 1);
    assert_string_equal(op.audit.rows[0].kind, "project");
    store_op_release(&op);
}

int main(int argc, char **argv)
{
    kit_begin(argc, argv);
#define T(f) cmocka_unit_test_setup_teardown(f, kit_setup, kit_teardown)
    const struct CMUnitTest tests[] = {T(test_cluster_identity_lasts),
                                       T(test_generations_rise),
                                       T(test_each_start_is_a_new_boot),
                                       T(test_boot_read),
                                       T(test_a_fenced_boot_fences_nobody),
                                       T(test_a_boot_ends_itself),
                                       T(test_boots_newest_of_each_node),
                                       T(test_lease),
                                       T(test_tokens),
                                       T(test_tokens_are_listed_and_taken_back),
                                       T(test_audit_of_tokens)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
