/* Texts of the ZooKeeper backend: addresses of services, and what our nodes hold. */
#include <string.h>

#include "adapters/coordination/zookeeper_payload.h"
#include "adapters/coordination/zookeeper_url.h"
#include "tests/contract/wires/harness.h"

static void test_urls(void **state)
{
    static const struct {
        int row;
        const char *text, *hosts, *chroot;
    } good[] = {{__LINE__, "zk://a:2181", "a:2181", ""},
                {__LINE__, "zk://a:2181/", "a:2181", ""},
                {__LINE__, "zk://a:1,b.c:2,10.0.0.1:3/x/y-z", "a:1,b.c:2,10.0.0.1:3", "/x/y-z"}};
    static const char *const bad[] = {
        "",           "zk://",     "zk:///x",     "zk://a",      "zk://a:",      "zk://a:0",      "zk://a:70000",
        "http://a:1", "zk://a:1,", "zk://a:1/x/", "zk://a:1//x", "zk://a:1/x y", "zk://a:1/../x", "zk://a:1/zookeeper",
        "zk://a b:1"};
    struct zookeeper_url url;
    struct error err;
    char step[ZOOKEEPER_CHROOT];
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        if (zookeeper_url_parse(good[i].text, &url, &err) || strcmp(url.hosts, good[i].hosts) != 0 ||
            strcmp(url.chroot, good[i].chroot) != 0)
            fail_msg("row %d: %s %s", good[i].row, url.hosts, url.chroot);
    }
    assert_true(zookeeper_chroot_step(&url, 0, step));
    assert_string_equal(step, "/x");
    assert_true(zookeeper_chroot_step(&url, 1, step));
    assert_string_equal(step, "/x/y-z");
    assert_false(zookeeper_chroot_step(&url, 2, step));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (zookeeper_url_parse(bad[i], &url, &err) != STATUS_INVALID || !strstr(err.text, "coordination.url"))
            fail_msg("\"%s\" was taken", bad[i]);
    }
}

static void test_payloads(void **state)
{
    struct coordination_node node = {.node = "n1",
                                     .boot = INT64_MAX,
                                     .address = "[::1]:8420",
                                     .weight = 3,
                                     .capacity = 7,
                                     .pool = "\xe4\xb8\xad\"",
                                     .draining = true},
                             read;
    struct coordination_claim one = {0};
    struct str text;
    (void)state;
    str_init(&text, PAYLOAD_MAX);
    payload_node_write(&node, &text);
    assert_true(payload_node_read("n1", str_text(&text), text.length, &read));
    assert_int_equal(read.boot, node.boot);
    assert_string_equal(read.address, node.address);
    assert_string_equal(read.pool, node.pool);
    assert_true(read.draining && !read.store_ok && read.weight == 3 && read.capacity == 7);
    assert_false(payload_node_read("n/1", str_text(&text), text.length, &read));
    for (size_t length = 0; length < text.length; length++)
        assert_false(payload_node_read("n1", str_text(&text), length, &read));
    str_clear(&text);
    payload_claim_write(&node, &text);
    assert_true(payload_claim_read(str_text(&text), text.length, &one));
    assert_string_equal(one.node, "n1");
    static const char *const bad[] = {"{}",
                                      "[]",
                                      "null",
                                      "{\"node\":1,\"boot\":1}",
                                      "{\"node\":\"a\"}",
                                      "{\"node\":\"a\",\"boot\":1.5}",
                                      "{\"node\":\"a\",\"boot\":0}",
                                      "{\"node\":\"\",\"boot\":1}",
                                      "{\"node\":\"0123456789012345678901234567890123456789\",\"boot\":1}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(payload_claim_read(bad[i], strlen(bad[i]), &one));
    str_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_urls), cmocka_unit_test(test_payloads)};
    return cmocka_run_group_tests_name("coordination_texts", tests, NULL, NULL);
}
