/* Nodes: what they told, what is wished of them, and when one may be forgotten. */
#include "tests/contract/store/kit.h"

static int64_t start(struct store *store, struct store_boot_start wanted, enum node_wish *ret_wish)
{
    OP(op, STORE_BOOT_START);
    op.boot_start = wanted;
    DO(store, &op);
    int64_t boot = op.boot_start.boot;
    if (ret_wish)
        *ret_wish = op.boot_start.wish;
    store_op_release(&op);
    return boot;
}

static void nodes(struct store *store, struct store_op *op, const char *node)
{
    store_op_init(op, STORE_NODES);
    op->nodes.node = node;
    DO(store, op);
}

static void wish(struct store *store, const char *node, enum node_wish wish, bool unchanged)
{
    OP(op, STORE_NODE_SET);
    op.node_set = (struct store_node_set){.node = node, .author = "ops", .wish = wish};
    DO(store, &op);
    assert_int_equal(op.node_set.unchanged, unchanged);
    store_op_release(&op);
}

static enum node_wish polled(struct store *store, int64_t boot)
{
    OP(op, STORE_POLL);
    op.poll = (struct store_poll){.boot = boot, .since = -1};
    DO(store, &op);
    enum node_wish got = op.poll.wish;
    store_op_release(&op);
    return got;
}

static void test_what_a_node_told(void **state)
{
    struct store *store = *state;
    (void)start(store,
                (struct store_boot_start){.node = "n1",
                                          .address = "a:1",
                                          .role = "scheduler",
                                          .version = "1.0",
                                          .pool = "red",
                                          .weight = 3,
                                          .capacity = 500},
                NULL);
    int64_t second = start(store, (struct store_boot_start){.node = "n1", .address = "a:2", .role = "scheduler"}, NULL);
    struct store_op op;
    nodes(store, &op, NULL);
    assert_int_equal(op.nodes.count, 1);
    const struct node_row *row = &op.nodes.rows[0];
    assert_string_equal(row->node, "n1");
    assert_string_equal(row->role, "scheduler");
    assert_string_equal(row->address, "a:2");
    assert_string_equal(row->pool, ""); /* as told last */
    assert_string_equal(row->version, "");
    assert_int_equal(row->weight, 1);
    assert_int_equal(row->capacity, 0);
    assert_int_equal(row->boot, second);
    assert_int_equal(row->wish, NODE_WORK);
    assert_null(row->wish_by);
    assert_true(instant_is_none(row->wish_at));
    assert_int_equal(row->slots + row->jobs + row->runs_open, 0);
    assert_true(row->seen_at.ms >= row->first_seen.ms);
    store_op_release(&op);
}

static void signs_of_life(struct store *store, int64_t boot, bool draining)
{
    OP(op, STORE_BOOT_READ);
    op.boot_read = (struct store_boot_read){.boot = boot, .draining = draining};
    DO(store, &op);
    store_op_release(&op);
}

/* With the sign of life that it gives, at once; its successor begins anew. */
static void test_a_boot_that_ends_says_so(void **state)
{
    struct store *store = *state;
    struct store_boot_start wanted = {.node = "n1", .address = "a", .role = "scheduler"};
    int64_t boot = start(store, wanted, NULL);
    const bool told[] = {false, true, true, false, true};
    struct store_op op;
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        signs_of_life(store, boot, told[i]);
        nodes(store, &op, "n1");
        assert_int_equal(op.nodes.rows[0].draining, told[i]);
        assert_false(op.nodes.rows[0].fenced);
        store_op_release(&op);
    }
    kit_fence(store, boot, boot); /* a clean exit */
    nodes(store, &op, "n1");
    assert_true(op.nodes.rows[0].fenced);
    store_op_release(&op);
    (void)start(store, wanted, NULL);
    nodes(store, &op, "n1");
    assert_false(op.nodes.rows[0].draining || op.nodes.rows[0].fenced);
    store_op_release(&op);
}

/* The API of the same machine has the same name by default; it must not be taken for the scheduler. */
static void test_an_orchestrator_beside(void **state)
{
    struct store *store = *state;
    int64_t api = start(store, (struct store_boot_start){.node = "h", .address = "o", .role = "orchestrator"}, NULL);
    struct store_op op;
    nodes(store, &op, "h");
    assert_string_equal(op.nodes.rows[0].role, "orchestrator");
    assert_int_equal(op.nodes.rows[0].boot, api);
    store_op_release(&op);
    OP(set, STORE_NODE_SET);
    set.node_set = (struct store_node_set){.node = "h", .wish = NODE_DRAIN};
    EXPECT(store, &set, STATUS_NOT_FOUND);
    store_op_release(&set);
    int64_t boot = start(store, (struct store_boot_start){.node = "h", .address = "s", .role = "scheduler"}, NULL);
    (void)start(store, (struct store_boot_start){.node = "h", .address = "o", .role = "orchestrator"}, NULL);
    nodes(store, &op, "h");
    assert_string_equal(op.nodes.rows[0].role, "scheduler");
    assert_string_equal(op.nodes.rows[0].address, "s");
    assert_int_equal(op.nodes.rows[0].boot, boot);
    store_op_release(&op);
    store_op_init(&op, STORE_NODES);
    op.nodes.node = "nobody";
    EXPECT(store, &op, STATUS_NOT_FOUND);
    store_op_release(&op);
}

static void test_a_wish_reaches_the_node_and_lasts(void **state)
{
    struct store *store = *state;
    enum node_wish told = NODE_DRAIN;
    struct store_boot_start again = {.node = "n1", .address = "a:1", .role = "scheduler"};
    int64_t boot = start(store, again, &told), other = kit_boot(store, "n2");
    assert_int_equal(told, NODE_WORK);
    assert_int_equal(polled(store, boot), NODE_WORK);
    wish(store, "n1", NODE_DRAIN, false);
    wish(store, "n1", NODE_DRAIN, true);
    assert_int_equal(polled(store, boot), NODE_DRAIN);
    assert_int_equal(polled(store, other), NODE_WORK);
    (void)start(store, again, &told);
    assert_int_equal(told, NODE_DRAIN);
    struct store_op op;
    nodes(store, &op, "n1");
    assert_int_equal(op.nodes.rows[0].wish, NODE_DRAIN);
    assert_string_equal(op.nodes.rows[0].wish_by, "ops");
    assert_false(instant_is_none(op.nodes.rows[0].wish_at));
    store_op_release(&op);
    wish(store, "n1", NODE_WORK, false);
    assert_int_equal(polled(store, boot), NODE_WORK);
    store_op_init(&op, STORE_AUDIT);
    op.audit.limit = 2;
    DO(store, &op);
    assert_string_equal(op.audit.rows[0].action, "online");
    assert_string_equal(op.audit.rows[0].kind, "scheduler");
    assert_string_equal(op.audit.rows[0].name, "n1");
    assert_string_equal(op.audit.rows[0].before, "{\"wish\":\"draining\"}");
    assert_string_equal(op.audit.rows[1].action, "drain");
    assert_string_equal(op.audit.rows[1].who, "ops");
    store_op_release(&op);
    store_op_init(&op, STORE_NODE_SET);
    op.node_set = (struct store_node_set){.node = "n9", .wish = NODE_DRAIN};
    EXPECT(store, &op, STATUS_NOT_FOUND);
    store_op_release(&op);
}

static void test_what_a_node_holds(void **state)
{
    struct store *store = *state;
    int64_t a = kit_boot(store, "n1"), b = kit_boot(store, "n2");
    int32_t slot, second;
    int64_t job = kit_job(store, "one", &slot);
    (void)kit_job(store, "two", &second);
    (void)kit_take(store, a, slot, 5);
    (void)kit_take(store, a, second, 5);
    (void)kit_take(store, b, 900, 5);
    instant now = kit_now(store);
    struct store_fire fires[2] = {{.run = kit_run(job, slot, a, "a", now, 1)},
                                  {.run = kit_run(job, slot, a, "b", now, 2)}};
    assert_int_equal(kit_fire(store, a, fires, 2), STATUS_OK);
    int64_t later = kit_boot(store, "n1"); /* what its earlier boot holds is the node's still */
    struct store_op op;
    nodes(store, &op, NULL);
    assert_int_equal(op.nodes.count, 2);
    assert_int_equal(op.nodes.rows[0].boot, later);
    assert_int_equal(op.nodes.rows[0].slots, slot == second ? 1 : 2);
    assert_int_equal(op.nodes.rows[0].jobs, 2);
    assert_int_equal(op.nodes.rows[0].runs_open, 2);
    assert_int_equal(op.nodes.rows[1].slots, 1);
    assert_int_equal(op.nodes.rows[1].jobs, 0);
    assert_int_equal(op.nodes.rows[1].runs_open, 0);
    store_op_release(&op);
    fires[0].run.state = RUN_SUCCEEDED;
    fires[0].run.ended_at = now;
    assert_int_equal(kit_batch(store, (struct store_batch){.boot = a, .runs = &fires[0].run, .run_count = 1}),
                     STATUS_OK);
    store_op_init(&op, STORE_NODES);
    op.nodes = (struct store_nodes){.node = "n1", .run_limit = 5};
    DO(store, &op);
    assert_int_equal(op.nodes.rows[0].runs_open, 1);
    assert_int_equal(op.nodes.run_count, 1);
    assert_int_equal(op.nodes.runs[0].run, fires[1].run.id);
    assert_string_equal(op.nodes.runs[0].project, "default");
    assert_string_equal(op.nodes.runs[0].job, "one");
    assert_int_equal(op.nodes.runs[0].state, RUN_QUEUED);
    store_op_release(&op);
}

static void forget(struct store *store, const char *node, span timeout, enum status wanted, const char *word)
{
    OP(op, STORE_NODE_FORGET);
    op.node_forget = (struct store_node_forget){.node = node, .author = "ops", .timeout = timeout};
    EXPECT(store, &op, wanted);
    if (word && !strstr(op.error.text, word))
        fail_msg("\"%s\" lacks \"%s\"", op.error.text, word);
    store_op_release(&op);
}

static void test_forgotten_only_when_gone(void **state)
{
    struct store *store = *state;
    int64_t a = kit_boot(store, "n1"), b = kit_boot(store, "n2");
    int32_t slot;
    int64_t job = kit_job(store, "one", &slot);
    (void)kit_take(store, a, slot, 5);
    instant now = kit_now(store);
    struct store_fire fire = {.run = kit_run(job, slot, a, "a", now, 1)};
    assert_int_equal(kit_fire(store, a, &fire, 1), STATUS_OK);
    forget(store, "n9", SPAN_MINUTE, STATUS_NOT_FOUND, "n9");
    forget(store, "n1", SPAN_MINUTE, STATUS_CONFLICT, "lives");
    forget(store, "n1", -1, STATUS_CONFLICT, "slots"); /* as if long unseen */
    kit_fence(store, b, a);
    forget(store, "n1", SPAN_MINUTE, STATUS_CONFLICT, "slots");
    (void)kit_take(store, b, slot, 6);
    forget(store, "n1", SPAN_MINUTE, STATUS_CONFLICT, "runs");
    OP(adopt, STORE_RUNS_ADOPT);
    adopt.runs_adopt = (struct store_runs_adopt){.boot = b, .from_boot = a, .node = "n2", .limit = 10};
    DO(store, &adopt);
    store_op_release(&adopt);
    wish(store, "n1", NODE_DRAIN, false);
    forget(store, "n1", SPAN_MINUTE, STATUS_OK, NULL);
    forget(store, "n1", SPAN_MINUTE, STATUS_NOT_FOUND, NULL);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM audit WHERE action = 'forget' AND name = 'n1'"), 1);
    enum node_wish told = NODE_DRAIN;
    (void)start(store, (struct store_boot_start){.node = "n1", .address = "a:1", .role = "scheduler"}, &told);
    assert_int_equal(told, NODE_WORK); /* it begins anew */
}

/* A zombie of a forgotten node does nothing. */
static void test_a_forgotten_node_is_fenced(void **state)
{
    struct store *store = *state;
    int64_t a = kit_boot(store, "n1");
    forget(store, "n1", -1, STATUS_OK, NULL);
    struct store_fire fire = {.run = kit_run(1, 5, a, "a", kit_now(store), 1)};
    assert_int_equal(kit_fire(store, a, &fire, 1), STATUS_FENCED);
}

static void test_a_move_is_a_durable_wish(void **state)
{
    struct store *store = *state;
    int64_t a = kit_boot(store, "n1");
    int32_t slot;
    int64_t job = kit_job(store, "one", &slot);
    (void)kit_take(store, a, slot, 5);
    struct request_add items[2] = {
        {.row = {.kind = REQUEST_MOVE, .node = "n2", .scheduled_at = INSTANT_NONE}, .name = "one"},
        {.row = {.kind = REQUEST_MOVE, .scheduled_at = INSTANT_NONE}, .name = "one"}};
    OP(op, STORE_REQUEST_ADD);
    op.request_add = (struct store_request_add){.project = "default", .author = "ops", .items = items, .count = 2};
    DO(store, &op);
    assert_int_equal(items[0].status, STATUS_OK);
    store_op_release(&op);
    store_op_init(&op, STORE_POLL);
    op.poll = (struct store_poll){.boot = a, .since = -1};
    DO(store, &op);
    assert_int_equal(op.poll.request_count, 2);
    assert_int_equal(op.poll.requests[0].kind, REQUEST_MOVE);
    assert_int_equal(op.poll.requests[0].job, job);
    assert_string_equal(op.poll.requests[0].node, "n2");
    assert_null(op.poll.requests[1].node);
    store_op_release(&op);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM audit WHERE action = 'move' AND name = 'one'"), 2);
    assert_int_equal(kit_number("SELECT COUNT(*) FROM audit WHERE after_json = '{\"node\":\"n2\"}'"), 1);
}

int main(int argc, char **argv)
{
    kit_begin(argc, argv);
#define T(f) cmocka_unit_test_setup_teardown(f, kit_setup, kit_teardown)
    const struct CMUnitTest tests[] = {T(test_what_a_node_told),           T(test_a_boot_that_ends_says_so),
                                       T(test_an_orchestrator_beside),     T(test_a_wish_reaches_the_node_and_lasts),
                                       T(test_what_a_node_holds),          T(test_forgotten_only_when_gone),
                                       T(test_a_forgotten_node_is_fenced), T(test_a_move_is_a_durable_wish)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
