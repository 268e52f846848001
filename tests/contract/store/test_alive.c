/* What is heard of accepted calls while they run: progress, promises, lines with their caps. */
#include "tests/contract/store/kit.h"

struct world {
    struct store *store;
    int64_t boot, run;
};

static struct world begin(void **state)
{
    struct world w = {.store = *state};
    int32_t slot;
    w.boot = kit_boot(w.store, "n1");
    int64_t job = kit_job(w.store, "job", &slot);
    (void)kit_take(w.store, w.boot, slot, 10);
    struct store_fire fire = {.run = kit_run(job, slot, w.boot, "a", kit_now(w.store), 1)};
    w.run = fire.run.id;
    assert_int_equal(kit_fire(w.store, w.boot, &fire, 1), STATUS_OK);
    return w;
}

static struct store_alive alive(struct world *w, int32_t progress, const char *message, span within, const char *lines)
{
    OP(op, STORE_ALIVE);
    op.alive = (struct store_alive){
        .row = {.run = w->run, .step = "a", .key_try = 1, .progress = progress, .message = message, .within = within},
        .lines = lines};
    DO(w->store, &op);
    struct store_alive result = op.alive;
    store_op_release(&op);
    return result;
}

static struct alive_row read_one(struct world *w, char message[100])
{
    OP(op, STORE_ALIVE_READ);
    op.alive_read.run = w->run;
    DO(w->store, &op);
    assert_int_equal(op.alive_read.count, 1);
    struct alive_row row = op.alive_read.rows[0];
    (void)snprintf(message, 100, "%s", row.message ? row.message : "-");
    store_op_release(&op);
    return row;
}

static size_t watched(struct world *w, int64_t boot, int64_t since)
{
    OP(op, STORE_ALIVE_READ);
    op.alive_read.boot = boot;
    op.alive_read.since = since;
    DO(w->store, &op);
    size_t count = op.alive_read.count;
    store_op_release(&op);
    return count;
}

static void test_what_is_not_told_stays(void **state)
{
    struct world w = begin(state);
    char message[100];
    assert_false(alive(&w, 40, "半分", 0, NULL).over);
    (void)alive(&w, -1, NULL, 0, "one\ntwo\n");
    struct alive_row row = read_one(&w, message);
    assert_int_equal(row.progress, 40);
    assert_int_equal(row.lines, 2);
    assert_int_equal(row.within, 0);
    assert_string_equal(message, "半分");
    assert_int_equal(watched(&w, w.boot, 0), 0); /* nothing was promised */
    (void)alive(&w, 50, NULL, 35000, NULL);
    (void)alive(&w, -1, NULL, 0, NULL);
    row = read_one(&w, message);
    assert_int_equal(row.progress, 50);
    assert_int_equal(row.within, 35000);
    assert_int_equal(watched(&w, w.boot, 0), 1);
    assert_int_equal(watched(&w, w.boot, row.at.ms), 0);
    assert_int_equal(watched(&w, kit_boot(w.store, "n2"), 0), 0); /* not its run */
}

static void test_unknown_run(void **state)
{
    struct world w = begin(state);
    OP(op, STORE_ALIVE);
    op.alive.row = (struct alive_row){.run = w.run + 1000, .step = "a", .key_try = 1};
    EXPECT(w.store, &op, STATUS_NOT_FOUND);
    store_op_release(&op);
}

static void test_lines_and_caps(void **state)
{
    struct world w = begin(state);
    char *big = malloc(300001);
    assert_non_null(big);
    memset(big, 'x', 300000);
    for (size_t i = 100; i < 300000; i += 101)
        big[i] = '\n';
    big[300000] = '\0';
    (void)alive(&w, -1, NULL, 0, "first\n\nthird without an end");
    int posts = 0;
    while (!alive(&w, -1, NULL, 0, big).full)
        assert_true(++posts < 5);
    assert_int_equal(posts, 3);
    OP(op, STORE_LOG_READ);
    op.log_read = (struct store_log_read){.run = w.run, .step = "a", .limit = 3};
    DO(w.store, &op);
    assert_int_equal(op.log_read.count, 3);
    assert_string_equal(op.log_read.lines[0].text, "first");
    assert_string_equal(op.log_read.lines[1].text, "");
    assert_string_equal(op.log_read.lines[2].text, "third without an end");
    store_op_release(&op);
    assert_true(kit_number("SELECT COUNT(*) FROM attempt_log") <= LIMIT_LOG_LINES);
    assert_true(kit_number("SELECT SUM(LENGTH(text)) FROM attempt_log") <= LIMIT_LOG_BYTES);
    memset(big, 'y', 300000);
    memcpy(big + LIMIT_LOG_LINE - 1, "日", 3); /* must not be cut in its middle */
    struct world other = w;
    OP(one, STORE_ALIVE);
    one.alive =
        (struct store_alive){.row = {.run = other.run, .step = "b", .key_try = 1, .progress = -1}, .lines = big};
    DO(w.store, &one);
    store_op_release(&one);
    assert_int_equal(kit_number("SELECT LENGTH(text) FROM attempt_log WHERE step = 'b'"), LIMIT_LOG_LINE - 1);
    free(big);
}

int main(int argc, char **argv)
{
    kit_begin(argc, argv);
#define T(f) cmocka_unit_test_setup_teardown(f, kit_setup, kit_teardown)
    const struct CMUnitTest tests[] = {T(test_what_is_not_told_stays), T(test_unknown_run), T(test_lines_and_caps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
