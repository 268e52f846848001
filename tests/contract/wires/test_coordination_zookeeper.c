/* What only ZooKeeper can do to the coordination port (CARILLON_TEST_ZOOKEEPER=host:port): foreign hands in our
 * folders, a service that was wiped, lost replies, a loop that hangs. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "adapters/coordination/coordination_zookeeper.h"
#include "adapters/coordination/zookeeper_parts.h"
#include "adapters/coordination/zookeeper_payload.h"
#include "tests/contract/wires/coordination_world.h"

static void stranger_write(zhandle_t *handle, const struct world *world, const char *path, const char *data, int length)
{
    char whole[200];
    (void)snprintf(whole, sizeof whole, "%s%s", world->chroot, path);
    int rc = zoo_create(handle, whole, data, length, &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0);
    if (rc == ZNODEEXISTS)
        rc = zoo_set(handle, whole, data, length, -1);
    assert_int_equal(rc, ZOK);
}

static bool first_sees_five(struct world *world)
{
    return world->members[0].claims.count == 5;
}

/* A human with a command line: odd names and data below our chroot do no harm, and a claim that cannot be read is
 * taken by someone unknown. */
static void test_foreign_data(void **state)
{
    int connection = 0;
    (void)state;
    if (!zookeeper_there())
        skip();
    struct world *world = world_make(&backends[1]);
    member_join(world, 0, "n0");
    WAIT(world, all_see_all);
    zhandle_t *handle = world_stranger(NULL, &connection);
    static const char *const texts[] = {"", "{", "{\"node\":\"../x\",\"boot\":1}", "\xff\xfe\x00zzz",
                                        "{\"node\":\"n9\",\"boot\":-1}"};
    for (int i = 0; i < 5; i++) {
        char path[32];
        (void)snprintf(path, sizeof path, "/claims/%d", 10 + i);
        stranger_write(handle, world, path, texts[i], (int)strlen(texts[i]));
    }
    stranger_write(handle, world, "/claims/garbage", "x", 1);
    stranger_write(handle, world, "/claims/99999", "x", 1);
    stranger_write(handle, world, "/claims/007", "x", 1);
    stranger_write(handle, world, "/nodes/n5", "{\"boot\":\"five\"}", 15);
    stranger_write(handle, world, "/nodes/n 6", "", 0);
    WAIT(world, first_sees_five);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(world->members[0].claims.items[i].slot, 10 + i);
        assert_string_equal(world->members[0].claims.items[i].node, "");
    }
    member_claim(&world->members[0], 12);
    WAIT(world, one_answer);
    assert_int_equal(world->members[0].counts[COORDINATION_CLAIM_TAKEN], 1);
    world_run_for(world, 300);
    assert_int_equal(world->members[0].nodes.count, 1);
    (void)zookeeper_close(handle);
    world_free(world);
}

static void test_cluster_id(void **state)
{
    struct error err = {0};
    (void)state;
    if (!zookeeper_there())
        skip();
    struct world *world = world_make(&backends[1]);
    /* Wiped: the store knows better. */
    world->cluster_known = true;
    member_join(world, 0, "n0");
    WAIT(world, first_refused);
    assert_non_null(strstr(world->members[0].text, "wiped"));
    assert_non_null(strstr(world->members[0].text, "adopt-coordination"));
    member_close(world, 0);
    /* The operator adopts it. */
    char url[200];
    (void)snprintf(url, sizeof url, "zk://%s%s", zookeeper_address(), world->chroot);
    const struct coordination_zookeeper_options options = {
        .url = url, .session_timeout = SESSION, .cluster_id = "cluster-1"};
    if (coordination_zookeeper_adopt(&options, &err))
        fail_msg("%s", err.text);
    member_join(world, 0, "n0");
    WAIT(world, all_see_all);
    /* Foreign. */
    world->cluster = "cluster-2";
    member_join(world, 1, "n1");
    WAIT(world, second_refused);
    assert_non_null(strstr(world->members[1].text, "another cluster"));
    world_free(world);
}

/* Wiped under a process that began on an empty service: it does not take the emptiness for new once it has joined. */
static void test_wiped_later(void **state)
{
    int connection = 0;
    char path[200];
    (void)state;
    if (!zookeeper_there())
        skip();
    struct world *world = world_make(&backends[1]);
    member_join(world, 0, "n0");
    WAIT(world, all_see_all);
    zhandle_t *handle = world_stranger(NULL, &connection);
    (void)snprintf(path, sizeof path, "%s/cluster", world->chroot);
    assert_int_equal(zoo_delete(handle, path, -1), ZOK);
    member_expire(world, 0);
    WAIT(world, first_refused);
    assert_non_null(strstr(world->members[0].text, "wiped"));
    (void)zookeeper_close(handle);
    world_free(world);
}

static bool first_has_answer(struct world *world)
{
    return member_answers(&world->members[0]) == 3;
}

/* The creates arrive, their answers do not: what is ours is found out by looking, and is told once. */
static void test_lost_reply(void **state)
{
    (void)state;
    if (!zookeeper_there())
        skip();
    struct world *world = world_make(&backends[1]);
    struct member *a = &world->members[0];
    member_join(world, 0, "n0");
    member_join(world, 1, "n1");
    WAIT(world, all_see_all);
    member_claim(&world->members[1], 6);
    WAIT(world, one_claim_seen);
    proxy_set(a->proxy, PROXY_DEAF);
    member_claim(a, 5);
    member_claim(a, 6);
    member_claim(a, 8);
    world_run_for(world, 200);
    proxy_set(a->proxy, PROXY_CUT);
    WAIT(world, first_suspended);
    assert_int_equal(member_answers(a), 0);
    proxy_set(a->proxy, PROXY_OPEN);
    WAIT(world, first_has_answer);
    assert_int_equal(a->counts[COORDINATION_LOST], 0);
    assert_int_equal(a->counts[COORDINATION_CLAIM_WON], 2);
    assert_int_equal(a->counts[COORDINATION_CLAIM_TAKEN], 1);
    world_free(world);
}

static bool first_lost(struct world *world)
{
    return world->members[0].counts[COORDINATION_LOST] == 1;
}

/* A loop that hangs loses its session after half the timeout, although the client's threads would ping on. A
 * stranger looks. */
static void test_watchdog(void **state)
{
    int connection = 0;
    char path[200];
    struct Stat stat;
    (void)state;
    if (!zookeeper_there())
        skip();
    struct world *world = world_make(&backends[1]);
    member_join(world, 0, "n0");
    WAIT(world, all_see_all);
    member_claim(&world->members[0], 1);
    WAIT(world, one_claim_seen);
    zhandle_t *handle = world_stranger(NULL, &connection);
    (void)snprintf(path, sizeof path, "%s/claims/1", world->chroot);
    assert_int_equal(zoo_exists(handle, path, 0, &stat), ZOK);
    const struct zookeeper *zk = (const struct zookeeper *)world->members[0].coordination;
    world_nap((int)session_timeout(zk->session) * 4 / 5); /* the loop hangs */
    assert_int_equal(zoo_exists(handle, path, 0, &stat), ZNONODE);
    WAIT(world, first_lost);
    WAIT(world, first_lost_and_back);
    (void)zookeeper_close(handle);
    world_free(world);
}

/* A claim that changes hands between two reads of the list is seen, although the names are the same. */
static void test_quick_change(void **state)
{
    int connection = 0;
    char path[200];
    (void)state;
    if (!zookeeper_there())
        skip();
    struct world *world = world_make(&backends[1]);
    member_join(world, 0, "n0");
    WAIT(world, all_see_all);
    member_claim(&world->members[0], 1);
    WAIT(world, one_claim_seen);
    int64_t first = world->members[0].claims.items[0].czxid;
    zhandle_t *handle = world_stranger(NULL, &connection);
    (void)snprintf(path, sizeof path, "%s/claims/1", world->chroot);
    assert_int_equal(zoo_delete(handle, path, -1), ZOK);
    stranger_write(handle, world, "/claims/1", "{\"node\":\"n7\",\"boot\":7}", 22);
    world_run_for(world, 500);
    assert_int_equal(world->members[0].claims.count, 1);
    assert_string_equal(world->members[0].claims.items[0].node, "n7");
    assert_true(world->members[0].claims.items[0].czxid > first);
    /* Nor do we delete it: it is not ours any more. */
    member_release(&world->members[0], 1);
    world_run_for(world, 300);
    assert_int_equal(world->members[0].claims.count, 1);
    (void)zookeeper_close(handle);
    world_free(world);
}

/* A process that comes back at once finds its old node; it waits for its old session to end. */
static void test_restart(void **state)
{
    (void)state;
    if (!zookeeper_there())
        skip();
    struct world *world = world_make(&backends[1]);
    member_join(world, 0, "n0");
    member_join(world, 1, "n1");
    WAIT(world, all_see_all);
    proxy_set(world->members[0].proxy, PROXY_CUT); /* dies without a word */
    world_run_for(world, 100);
    member_join(world, 2, "n0");
    world->members[0].coordination->on_event = NULL;
    world->members[0].nodes.count = 2;
    WAIT(world, first_suspended);
    world->members[0].counts[COORDINATION_CONNECTED] = 1;
    for (int i = 0; i < 1000 && world->members[2].counts[COORDINATION_CONNECTED] == 0; i++)
        world_run_for(world, 20);
    assert_int_equal(world->members[2].counts[COORDINATION_CONNECTED], 1);
    assert_int_equal(world->members[2].counts[COORDINATION_REFUSED], 0);
    world_free(world);
}

static void test_digest(void **state)
{
    (void)state;
    if (!zookeeper_there())
        skip();
    struct world *world = world_make(&backends[1]);
    world->auth = "carillon:secret";
    member_join(world, 0, "n0");
    WAIT(world, all_see_all);
    member_claim(&world->members[0], 1);
    WAIT(world, one_answer);
    assert_int_equal(world->members[0].counts[COORDINATION_CLAIM_WON], 1);
    world->auth = "carillon:wrong";
    member_join(world, 1, "n1");
    WAIT(world, second_refused);
    assert_non_null(strstr(world->members[1].text, "coordination.auth_file"));
    world_free(world);
}

/* A figure of the server's own (`mntr`); −1: it does not answer to that word. Its address is the test server's. */
static int64_t server_says(const char *name)
{
    const char *address = getenv("CARILLON_TEST_ZOOKEEPER"), *colon = address ? strrchr(address, ':') : NULL;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char answer[16384] = "\n", line[64];
    size_t length = 1;
    assert_non_null(colon);
    to.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)(const void *)&to, sizeof to), 0);
    assert_int_equal(write(fd, "mntr", 4), 4);
    for (ssize_t n; length + 1 < sizeof answer && (n = read(fd, answer + length, sizeof answer - length - 1)) > 0;)
        length += (size_t)n;
    (void)close(fd);
    answer[length] = '\0';
    (void)snprintf(line, sizeof line, "\n%s\t", name);
    const char *at = strstr(answer, line);
    return at ? strtoll(at + strlen(line), NULL, 10) : -1;
}

static bool first_has_all(struct world *world)
{
    return world->members[0].won.count == CLAIM_SLOTS_ALL && world->members[0].claims.count == CLAIM_SLOTS_ALL;
}

/* One node holds everything: what does that lay upon the ensemble? */
static void test_caps(void **state)
{
    int connection = 0;
    (void)state;
    if (!zookeeper_there())
        skip();
    int64_t watches = server_says("zk_watch_count");
    struct world *world = world_make(&backends[1]);
    member_join(world, 0, "0123456789012345678901234567890"); /* the longest name */
    WAIT(world, all_see_all);
    for (int32_t slot = 0; slot < CLAIM_SLOTS_ALL; slot++)
        member_claim(&world->members[0], slot);
    WAIT(world, first_has_all);
    if (watches >= 0) /* the lists and the node, however many claims there are */
        assert_in_range(server_says("zk_watch_count") - watches, 1, SESSION_WATCHES + 1);
    zhandle_t *handle = world_stranger(NULL, &connection);
    static const char *const folders[] = {"/claims", "/nodes"};
    int64_t ephemerals = 0, paths = 0;
    for (size_t f = 0; f < 2; f++) {
        struct String_vector names;
        char path[256], data[PAYLOAD_MAX + 1];
        (void)snprintf(path, sizeof path, "%s%s", world->chroot, folders[f]);
        assert_int_equal(zoo_get_children(handle, path, 0, &names), ZOK);
        for (int32_t i = 0; i < names.count; i++) {
            struct Stat stat;
            int length = sizeof data;
            (void)snprintf(path, sizeof path, "%s%s/%s", world->chroot, folders[f], names.data[i]);
            assert_int_equal(zoo_get(handle, path, 0, data, &length, &stat), ZOK);
            assert_in_range(length, 1, 1024);
            assert_in_range(strlen(path) - strlen(world->chroot), 1, OWN_PATH_MOST - 1);
            ephemerals += stat.ephemeralOwner != 0;
            paths += (int64_t)strlen(path);
        }
        deallocate_String_vector(&names);
    }
    assert_int_equal(ephemerals, CLAIM_SLOTS_ALL + 1);
    assert_in_range(ephemerals, 1, EPHEMERALS_MOST);
    assert_in_range(paths, 1, 128 * 1024); /* megabytes are dangerous */
    (void)zookeeper_close(handle);
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_foreign_data), cmocka_unit_test(test_cluster_id), cmocka_unit_test(test_wiped_later),
        cmocka_unit_test(test_lost_reply),   cmocka_unit_test(test_watchdog),   cmocka_unit_test(test_quick_change),
        cmocka_unit_test(test_restart),      cmocka_unit_test(test_digest),     cmocka_unit_test(test_caps)};
    return cmocka_run_group_tests_name("coordination_zookeeper", tests, NULL, NULL);
}
