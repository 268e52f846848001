/* The coordination port: one suite over the local hub and over a real ZooKeeper (CARILLON_TEST_ZOOKEEPER=host:port),
 * then what only ZooKeeper can do to us. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <zookeeper/zookeeper.h>

#include "adapters/coordination/coordination_local.h"
#include "adapters/coordination/coordination_zookeeper.h"
#include "adapters/coordination/zookeeper_parts.h"
#include "adapters/coordination/zookeeper_payload.h"
#include "adapters/coordination/zookeeper_url.h"
#include "adapters/loop/loop.h"
#include "core/base/mem.h"
#include "core/base/vec.h"
#include "tests/contract/wires/harness.h"
#include "tests/contract/wires/proxy.h"

/* The client does not free the requests that are under way when it is closed (libzookeeper_mt 3.8.0). */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libzookeeper_mt.so\n";
}

#define PATIENCE (30 * SPAN_SECOND)
#define MEMBERS 3
#define SESSION 3000

struct backend;

/* One member and all that it was told. */
struct member {
    struct world *world;
    struct coordination *coordination;
    struct proxy *proxy; /* ZooKeeper's */
    struct coordination_node self;
    int counts[16]; /* of events, by kind */
    VEC(struct coordination_node) nodes;
    VEC(struct coordination_claim) claims;
    VEC(struct coordination_claim) won;
    struct coordination_claim answer; /* last CLAIM_* */
    char text[500];
    bool inside; /* a call is under way: no event may come */
    struct coordination *close_on_event;
};

struct world {
    const struct backend *backend;
    struct loop *loop;
    struct loop_timer *poll, *limit;
    bool (*until)(struct world *world);
    bool late;
    struct coordination_hub *hub;
    struct member members[MEMBERS];
    char chroot[64];
    const char *cluster;
    bool cluster_known;
    const char *auth;
};

struct backend {
    const char *name;
    bool zookeeper;
};

static const char *zookeeper_address(void)
{
    return getenv("CARILLON_TEST_ZOOKEEPER");
}

static void on_event(void *context, const struct coordination_event *event)
{
    struct member *member = context;
    assert_false(member->inside);
    member->counts[event->kind]++;
    if (event->kind == COORDINATION_NODES) {
        vec_clear(&member->nodes);
        for (size_t i = 0; i < event->node_count; i++)
            vec_add(&member->nodes, event->nodes[i]);
    } else if (event->kind == COORDINATION_CLAIMS) {
        vec_clear(&member->claims);
        for (size_t i = 0; i < event->claim_count; i++)
            vec_add(&member->claims, event->claims[i]);
    } else if (event->kind == COORDINATION_CLAIM_WON || event->kind == COORDINATION_CLAIM_TAKEN ||
               event->kind == COORDINATION_CLAIM_FAILED) {
        member->answer = event->claim;
        if (event->kind == COORDINATION_CLAIM_WON)
            vec_add(&member->won, event->claim);
    } else if (event->kind == COORDINATION_REFUSED) {
        (void)snprintf(member->text, sizeof member->text, "%s", event->text);
    }
    if (member->close_on_event) {
        member->coordination = NULL;
        member->close_on_event->ops->close(member->close_on_event);
        member->close_on_event = NULL;
    }
}

/* ---- waiting ------------------------------------------------------------------------------------------------------
 */

static void on_poll(void *context)
{
    struct world *world = context;
    if (world->until(world))
        loop_stop(world->loop);
    else
        loop_timer_start(world->poll, 5);
}

static void on_limit(void *context)
{
    struct world *world = context;
    world->late = true;
    loop_stop(world->loop);
}

static void wait_for(struct world *world, int line, bool (*until)(struct world *world))
{
    world->until = until;
    world->late = false;
    loop_timer_start(world->poll, 0);
    loop_timer_start(world->limit, PATIENCE);
    loop_run(world->loop);
    loop_timer_stop(world->poll);
    loop_timer_stop(world->limit);
    if (world->late)
        fail_msg("line %d: waited in vain (%s)", line, world->backend->name);
}
#define WAIT(world, until) wait_for(world, __LINE__, until)

static bool never(struct world *world)
{
    (void)world;
    return false;
}

static void run_for(struct world *world, span time)
{
    world->until = never;
    loop_timer_start(world->poll, 0);
    loop_timer_start(world->limit, time);
    loop_run(world->loop);
    loop_timer_stop(world->poll);
}

/* ---- making a world -----------------------------------------------------------------------------------------------
 */

static const struct backend backends[] = {{"local", false}, {"zookeeper", true}};

static void member_make(struct world *world, int i, const char *node)
{
    struct member *member = &world->members[i];
    struct error err = {0};
    member->world = world;
    member->self = (struct coordination_node){.boot = 100 + i, .weight = 1, .store_ok = true};
    (void)snprintf(member->self.node, sizeof member->self.node, "%s", node);
    (void)snprintf(member->self.address, sizeof member->self.address, "127.0.0.1:%d", 9000 + i);
    if (world->backend->zookeeper) {
        char host[100], url[200];
        int port = 0;
        if (sscanf(zookeeper_address(), "%99[^:]:%d", host, &port) != 2)
            fail_msg("CARILLON_TEST_ZOOKEEPER is host:port");
        member->proxy = proxy_start(host, port);
        (void)snprintf(url, sizeof url, "zk://127.0.0.1:%d%s", proxy_port(member->proxy), world->chroot);
        const struct coordination_zookeeper_options options = {.url = url,
                                                               .session_timeout = SESSION,
                                                               .cluster_id = world->cluster,
                                                               .cluster_known = world->cluster_known,
                                                               .auth = world->auth};
        if (coordination_zookeeper_create(world->loop, &options, &member->coordination, &err))
            fail_msg("%s", err.text);
    } else {
        member->coordination = coordination_local_create(world->hub);
    }
    member->coordination->on_event = on_event;
    member->coordination->context = member;
}

static void member_join(struct world *world, int i, const char *node)
{
    struct member *member = &world->members[i];
    member_make(world, i, node);
    member->inside = true;
    member->coordination->ops->join(member->coordination, &member->self);
    member->inside = false;
}

static void member_close(struct world *world, int i)
{
    struct member *member = &world->members[i];
    if (member->coordination)
        member->coordination->ops->close(member->coordination);
    member->coordination = NULL;
    if (member->proxy)
        proxy_stop(member->proxy);
    vec_release(&member->nodes);
    vec_release(&member->claims);
    vec_release(&member->won);
    memset(member, 0, sizeof *member);
}

static void claim(struct member *member, int32_t slot)
{
    member->inside = true;
    member->coordination->ops->claim(member->coordination, slot);
    member->inside = false;
}

static void release(struct member *member, int32_t slot)
{
    member->inside = true;
    member->coordination->ops->release(member->coordination, slot);
    member->inside = false;
}

static struct world *world_make(const struct backend *backend)
{
    static int number;
    struct world *world = mem_new(struct world);
    const struct loop_options options = {0};
    struct error err;
    world->backend = backend;
    world->cluster = "cluster-1";
    (void)snprintf(world->chroot, sizeof world->chroot, "/carillon-test/%lld-%d",
                   (long long)loop_clock().wall.ms % 1000000000, number++);
    assert_int_equal(loop_create(&options, &world->loop, &err), STATUS_OK);
    world->poll = loop_timer_create(world->loop, on_poll, world);
    world->limit = loop_timer_create(world->loop, on_limit, world);
    world->hub = coordination_hub_create(world->loop, 1000);
    return world;
}

static void world_free(struct world *world)
{
    for (int i = 0; i < MEMBERS; i++)
        member_close(world, i);
    coordination_hub_free(world->hub);
    loop_timer_free(world->poll);
    loop_timer_free(world->limit);
    loop_free(world->loop);
    free(world);
}

/* Ends a session as the service would: for ZooKeeper, a second client takes it over by id and password, and closes it.
 */
static void ignore_event(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    (void)handle;
    (void)path;
    if (type == ZOO_SESSION_EVENT)
        __atomic_store_n((int *)context, state, __ATOMIC_RELEASE);
}

static void ignore_line(const char *message)
{
    (void)message;
}

static void nap(int ms)
{
    const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    (void)nanosleep(&pause, NULL);
}

static void session_steal(struct world *world, int i)
{
    struct zookeeper *zk = (struct zookeeper *)world->members[i].coordination;
    clientid_t client;
    int state = 0;
    assert_true(session_client(zk->session, &client));
    zhandle_t *thief = zookeeper_init2(zookeeper_address(), ignore_event, SESSION, &client, &state, 0, ignore_line);
    assert_non_null(thief);
    for (int n = 0; n < 500 && __atomic_load_n(&state, __ATOMIC_ACQUIRE) != ZOO_CONNECTED_STATE; n++)
        nap(10);
    (void)zookeeper_close(thief);
}

static void expire(struct world *world, int i)
{
    if (world->backend->zookeeper)
        session_steal(world, i);
    else
        coordination_local_expire(world->members[i].coordination);
}

static void cut(struct world *world, int i, bool on)
{
    struct member *member = &world->members[i];
    if (world->backend->zookeeper)
        proxy_set(member->proxy, on ? PROXY_CUT : PROXY_OPEN);
    else if (on)
        coordination_local_cut(member->coordination);
    else
        coordination_local_mend(member->coordination);
}

/* ---- conditions ---------------------------------------------------------------------------------------------------
 */

static bool all_connected(struct world *world)
{
    for (int i = 0; i < MEMBERS; i++) {
        if (world->members[i].coordination && world->members[i].counts[COORDINATION_CONNECTED] == 0)
            return false;
    }
    return true;
}

static size_t members_live(const struct world *world)
{
    size_t live = 0;
    for (int i = 0; i < MEMBERS; i++)
        live += world->members[i].coordination != NULL;
    return live;
}

static bool all_see_all(struct world *world)
{
    for (int i = 0; i < MEMBERS; i++) {
        if (world->members[i].coordination && world->members[i].nodes.count != members_live(world))
            return false;
    }
    return all_connected(world);
}

static int answers(const struct member *member)
{
    return member->counts[COORDINATION_CLAIM_WON] + member->counts[COORDINATION_CLAIM_TAKEN] +
           member->counts[COORDINATION_CLAIM_FAILED];
}

static bool one_answer(struct world *world)
{
    return answers(&world->members[0]) == 1;
}

static bool second_answered(struct world *world)
{
    return answers(&world->members[1]) >= 1;
}

static bool no_claims_seen(struct world *world)
{
    for (int i = 0; i < MEMBERS; i++) {
        if (world->members[i].coordination && world->members[i].claims.count != 0)
            return false;
    }
    return true;
}

static bool one_claim_seen(struct world *world)
{
    for (int i = 0; i < MEMBERS; i++) {
        if (world->members[i].coordination && world->members[i].claims.count != 1)
            return false;
    }
    return true;
}

static bool first_lost_and_back(struct world *world)
{
    return world->members[0].counts[COORDINATION_LOST] == 1 && world->members[0].counts[COORDINATION_CONNECTED] == 2;
}

static bool first_suspended(struct world *world)
{
    return world->members[0].counts[COORDINATION_SUSPENDED] == 1;
}

static bool first_back(struct world *world)
{
    return world->members[0].counts[COORDINATION_CONNECTED] == 2;
}

static bool second_refused(struct world *world)
{
    return world->members[1].counts[COORDINATION_REFUSED] == 1;
}

static bool first_refused(struct world *world)
{
    return world->members[0].counts[COORDINATION_REFUSED] == 1;
}

/* ---- the suite ----------------------------------------------------------------------------------------------------
 */

static void see_each_other(struct world *world)
{
    for (int i = 0; i < MEMBERS; i++) {
        char node[16];
        (void)snprintf(node, sizeof node, "n%d", i);
        member_join(world, i, node);
    }
    WAIT(world, all_see_all);
    for (int i = 0; i < MEMBERS; i++) {
        for (size_t n = 0; n < MEMBERS; n++) {
            const struct coordination_node *node = &world->members[i].nodes.items[n];
            int of = node->node[1] - '0';
            assert_in_range(of, 0, MEMBERS - 1);
            assert_int_equal(node->boot, 100 + of);
            assert_string_equal(node->address, world->members[of].self.address);
            assert_true(node->store_ok);
        }
    }
}

static bool third_is_draining(struct world *world)
{
    for (size_t n = 0; n < world->members[0].nodes.count; n++) {
        const struct coordination_node *node = &world->members[0].nodes.items[n];
        if (strcmp(node->node, "n2") == 0 && node->draining && !node->store_ok &&
            strcmp(node->pool, "p \"\xc3\xa9") == 0)
            return true;
    }
    return false;
}

static void members_come_and_go(struct world *world)
{
    see_each_other(world);
    struct member *third = &world->members[2];
    third->self.draining = true;
    third->self.store_ok = false;
    (void)snprintf(third->self.pool, sizeof third->self.pool, "p \"\xc3\xa9");
    third->coordination->ops->update(third->coordination, &third->self);
    WAIT(world, third_is_draining);
    member_close(world, 2);
    WAIT(world, all_see_all);
}

static void claims_are_exclusive(struct world *world)
{
    struct member *a = &world->members[0], *b = &world->members[1];
    member_join(world, 0, "n0");
    member_join(world, 1, "n1");
    WAIT(world, all_see_all);
    claim(a, 7);
    WAIT(world, one_answer);
    assert_int_equal(a->counts[COORDINATION_CLAIM_WON], 1);
    assert_int_equal(a->answer.slot, 7);
    assert_int_equal(a->answer.boot, 100);
    assert_string_equal(a->answer.node, "n0");
    int64_t first = a->answer.czxid;
    assert_true(first > 0);
    claim(b, 7);
    WAIT(world, second_answered);
    assert_int_equal(b->counts[COORDINATION_CLAIM_TAKEN], 1);
    assert_int_equal(b->answer.czxid, first);
    assert_string_equal(b->answer.node, "n0");
    WAIT(world, one_claim_seen);
    assert_int_equal(b->claims.items[0].slot, 7);
    assert_int_equal(b->claims.items[0].czxid, first);
    assert_int_equal(b->claims.items[0].boot, 100);
    /* Asking again for what one has is winning, with the same epoch. */
    memset(a->counts, 0, sizeof a->counts);
    claim(a, 7);
    WAIT(world, one_answer);
    assert_int_equal(a->counts[COORDINATION_CLAIM_WON], 1);
    assert_int_equal(a->answer.czxid, first);
    /* Given back, it goes to the other with a higher epoch. */
    release(a, 7);
    WAIT(world, no_claims_seen);
    memset(b->counts, 0, sizeof b->counts);
    claim(b, 7);
    WAIT(world, second_answered);
    assert_int_equal(b->counts[COORDINATION_CLAIM_WON], 1);
    assert_true(b->answer.czxid > first);
    WAIT(world, one_claim_seen);
    assert_string_equal(a->claims.items[0].node, "n1");
    /* Not ours to give back. */
    release(a, 7);
    run_for(world, 300);
    assert_int_equal(a->claims.count, 1);
}

static bool hundred_answers(struct world *world)
{
    return answers(&world->members[0]) == 200 && answers(&world->members[1]) == 200;
}

static bool all_claims_seen(struct world *world)
{
    return world->members[0].claims.count == 200 && world->members[1].claims.count == 200;
}

/* Both ask for the same 200 slots at once: each slot has one winner, and both see the same list. */
static void races_have_one_winner(struct world *world)
{
    int owner[200];
    member_join(world, 0, "n0");
    member_join(world, 1, "n1");
    WAIT(world, all_see_all);
    for (int slot = 0; slot < 200; slot++) {
        claim(&world->members[slot % 2], slot);
        claim(&world->members[1 - slot % 2], slot);
    }
    WAIT(world, hundred_answers);
    memset(owner, -1, sizeof owner);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(world->members[i].counts[COORDINATION_CLAIM_FAILED], 0);
        for (size_t n = 0; n < world->members[i].won.count; n++) {
            assert_int_equal(owner[world->members[i].won.items[n].slot], -1);
            owner[world->members[i].won.items[n].slot] = i;
        }
    }
    WAIT(world, all_claims_seen);
    for (size_t n = 0; n < 200; n++) {
        const struct coordination_claim *seen = &world->members[0].claims.items[n];
        assert_int_equal(seen->node[1] - '0', owner[seen->slot]);
    }
}

static void expiry_loses_all(struct world *world)
{
    struct member *a = &world->members[0], *b = &world->members[1];
    member_join(world, 0, "n0");
    member_join(world, 1, "n1");
    WAIT(world, all_see_all);
    claim(a, 3);
    WAIT(world, one_claim_seen);
    int64_t first = a->answer.czxid;
    expire(world, 0);
    WAIT(world, first_lost_and_back);
    WAIT(world, no_claims_seen);
    WAIT(world, all_see_all); /* its node is back */
    claim(b, 3);
    WAIT(world, second_answered);
    assert_int_equal(b->counts[COORDINATION_CLAIM_WON], 1);
    assert_true(b->answer.czxid > first);
}

static void disconnection_keeps_all(struct world *world)
{
    struct member *a = &world->members[0], *b = &world->members[1];
    member_join(world, 0, "n0");
    member_join(world, 1, "n1");
    WAIT(world, all_see_all);
    claim(a, 3);
    WAIT(world, one_claim_seen);
    cut(world, 0, true);
    WAIT(world, first_suspended);
    memset(&a->counts[COORDINATION_CLAIM_WON], 0, 3 * sizeof(int));
    claim(a, 4); /* fails, told later */
    WAIT(world, one_answer);
    assert_int_equal(a->counts[COORDINATION_CLAIM_FAILED], 1);
    claim(b, 3);
    WAIT(world, second_answered);
    assert_int_equal(b->counts[COORDINATION_CLAIM_TAKEN], 1); /* the session lives */
    cut(world, 0, false);
    WAIT(world, first_back);
    assert_int_equal(a->counts[COORDINATION_LOST], 0);
    WAIT(world, one_claim_seen);
}

static void second_process_is_refused(struct world *world)
{
    member_join(world, 0, "same");
    WAIT(world, all_connected);
    member_make(world, 1, "same");
    struct coordination *second = world->members[1].coordination;
    second->ops->join(second, &world->members[1].self);
    WAIT(world, second_refused);
    assert_non_null(strstr(world->members[1].text, "scheduler.node_id"));
    assert_int_equal(world->members[1].counts[COORDINATION_CONNECTED], 0);
    assert_int_equal(world->members[0].counts[COORDINATION_LOST], 0);
    /* The refused one claims nothing. */
    claim(&world->members[1], 1);
    WAIT(world, second_answered);
    assert_int_equal(world->members[1].counts[COORDINATION_CLAIM_FAILED], 1);
}

static bool first_closed(struct world *world)
{
    return world->members[0].coordination == NULL;
}

/* close from inside an event, with answers outstanding. */
static void closing_inside_an_event(struct world *world)
{
    member_join(world, 0, "n0");
    member_join(world, 1, "n1");
    WAIT(world, all_see_all);
    for (int slot = 0; slot < 20; slot++)
        claim(&world->members[0], slot);
    world->members[0].close_on_event = world->members[0].coordination;
    WAIT(world, first_closed);
    WAIT(world, no_claims_seen);
    WAIT(world, all_see_all);
}

static const struct {
    const char *name;
    void (*run)(struct world *world);
} suite[] = {
    {"members come and go", members_come_and_go},           {"claims are exclusive", claims_are_exclusive},
    {"races have one winner", races_have_one_winner},       {"expiry loses all", expiry_loses_all},
    {"a disconnection keeps all", disconnection_keeps_all}, {"a second process is refused", second_process_is_refused},
    {"closing inside an event", closing_inside_an_event}};

static void suite_run(const struct backend *backend)
{
    for (size_t i = 0; i < sizeof suite / sizeof *suite; i++) {
        struct world *world = world_make(backend);
        print_message("  %s: %s\n", backend->name, suite[i].name);
        suite[i].run(world);
        world_free(world);
    }
}

static void test_local(void **state)
{
    (void)state;
    suite_run(&backends[0]);
}

static bool zookeeper_there(void)
{
    if (zookeeper_address())
        return true;
    print_message("skipped: set CARILLON_TEST_ZOOKEEPER=host:port of a ZooKeeper that may be written to\n");
    return false;
}

static void test_zookeeper(void **state)
{
    (void)state;
    if (!zookeeper_there())
        skip();
    suite_run(&backends[1]);
}

/* ---- what only ZooKeeper does -------------------------------------------------------------------------------------
 */

/* A client of the test's own, in the world's chroot. */
static zhandle_t *stranger(int *state)
{
    zhandle_t *handle = zookeeper_init2(zookeeper_address(), ignore_event, SESSION, NULL, state, 0, ignore_line);
    assert_non_null(handle);
    for (int n = 0; n < 500 && __atomic_load_n(state, __ATOMIC_ACQUIRE) != ZOO_CONNECTED_STATE; n++)
        nap(10);
    return handle;
}

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
    zhandle_t *handle = stranger(&connection);
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
    claim(&world->members[0], 12);
    WAIT(world, one_answer);
    assert_int_equal(world->members[0].counts[COORDINATION_CLAIM_TAKEN], 1);
    run_for(world, 300);
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
    zhandle_t *handle = stranger(&connection);
    (void)snprintf(path, sizeof path, "%s/cluster", world->chroot);
    assert_int_equal(zoo_delete(handle, path, -1), ZOK);
    expire(world, 0);
    WAIT(world, first_refused);
    assert_non_null(strstr(world->members[0].text, "wiped"));
    (void)zookeeper_close(handle);
    world_free(world);
}

static bool first_has_answer(struct world *world)
{
    return answers(&world->members[0]) == 3;
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
    claim(&world->members[1], 6);
    WAIT(world, one_claim_seen);
    proxy_set(a->proxy, PROXY_DEAF);
    claim(a, 5);
    claim(a, 6);
    claim(a, 8);
    run_for(world, 200);
    proxy_set(a->proxy, PROXY_CUT);
    WAIT(world, first_suspended);
    assert_int_equal(answers(a), 0);
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
    claim(&world->members[0], 1);
    WAIT(world, one_claim_seen);
    zhandle_t *handle = stranger(&connection);
    (void)snprintf(path, sizeof path, "%s/claims/1", world->chroot);
    assert_int_equal(zoo_exists(handle, path, 0, &stat), ZOK);
    const struct zookeeper *zk = (const struct zookeeper *)world->members[0].coordination;
    nap((int)session_timeout(zk->session) * 4 / 5); /* the loop hangs */
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
    claim(&world->members[0], 1);
    WAIT(world, one_claim_seen);
    int64_t first = world->members[0].claims.items[0].czxid;
    zhandle_t *handle = stranger(&connection);
    (void)snprintf(path, sizeof path, "%s/claims/1", world->chroot);
    assert_int_equal(zoo_delete(handle, path, -1), ZOK);
    stranger_write(handle, world, "/claims/1", "{\"node\":\"n7\",\"boot\":7}", 22);
    run_for(world, 500);
    assert_int_equal(world->members[0].claims.count, 1);
    assert_string_equal(world->members[0].claims.items[0].node, "n7");
    assert_true(world->members[0].claims.items[0].czxid > first);
    /* Nor do we delete it: it is not ours any more. */
    release(&world->members[0], 1);
    run_for(world, 300);
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
    run_for(world, 100);
    member_join(world, 2, "n0");
    world->members[0].coordination->on_event = NULL;
    world->members[0].nodes.count = 2;
    WAIT(world, first_suspended);
    world->members[0].counts[COORDINATION_CONNECTED] = 1;
    for (int i = 0; i < 1000 && world->members[2].counts[COORDINATION_CONNECTED] == 0; i++)
        run_for(world, 20);
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
    claim(&world->members[0], 1);
    WAIT(world, one_answer);
    assert_int_equal(world->members[0].counts[COORDINATION_CLAIM_WON], 1);
    world->auth = "carillon:wrong";
    member_join(world, 1, "n1");
    WAIT(world, second_refused);
    assert_non_null(strstr(world->members[1].text, "coordination.auth_file"));
    world_free(world);
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
    struct world *world = world_make(&backends[1]);
    member_join(world, 0, "0123456789012345678901234567890"); /* the longest name */
    WAIT(world, all_see_all);
    for (int32_t slot = 0; slot < CLAIM_SLOTS_ALL; slot++)
        claim(&world->members[0], slot);
    WAIT(world, first_has_all);
    zhandle_t *handle = stranger(&connection);
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_local),        cmocka_unit_test(test_urls),       cmocka_unit_test(test_payloads),
        cmocka_unit_test(test_zookeeper),    cmocka_unit_test(test_cluster_id), cmocka_unit_test(test_foreign_data),
        cmocka_unit_test(test_wiped_later),  cmocka_unit_test(test_lost_reply), cmocka_unit_test(test_watchdog),
        cmocka_unit_test(test_quick_change), cmocka_unit_test(test_restart),    cmocka_unit_test(test_digest),
        cmocka_unit_test(test_caps)};
    return cmocka_run_group_tests_name("coordination", tests, NULL, NULL);
}
