/* A loop, a coordination service and the members that meet in it. */
#include "tests/contract/wires/coordination_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "adapters/coordination/coordination_local.h"
#include "adapters/coordination/coordination_zookeeper.h"
#include "adapters/coordination/zookeeper_parts.h"
#include "core/base/mem.h"

#define PATIENCE (30 * SPAN_SECOND)

/* The client does not free the requests that are under way when it is closed (libzookeeper_mt 3.8.0). */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libzookeeper_mt.so\n";
}

const char *zookeeper_address(void)
{
    return getenv("CARILLON_TEST_ZOOKEEPER");
}

bool zookeeper_there(void)
{
    if (zookeeper_address())
        return true;
    print_message("skipped: set CARILLON_TEST_ZOOKEEPER=host:port of a ZooKeeper that may be written to\n");
    return false;
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

/* ---- waiting */

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

void world_wait(struct world *world, int line, bool (*until)(struct world *world))
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

static bool never(struct world *world)
{
    (void)world;
    return false;
}

void world_run_for(struct world *world, span time)
{
    world->until = never;
    loop_timer_start(world->poll, 0);
    loop_timer_start(world->limit, time);
    loop_run(world->loop);
    loop_timer_stop(world->poll);
}

void world_nap(int ms)
{
    const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    (void)nanosleep(&pause, NULL);
}

/* ---- members */

const struct backend backends[2] = {{"local", false}, {"zookeeper", true}};

void member_make(struct world *world, int i, const char *node)
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

void member_join(struct world *world, int i, const char *node)
{
    struct member *member = &world->members[i];
    member_make(world, i, node);
    member->inside = true;
    member->coordination->ops->join(member->coordination, &member->self);
    member->inside = false;
}

void member_close(struct world *world, int i)
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

void member_claim(struct member *member, int32_t slot)
{
    member->inside = true;
    member->coordination->ops->claim(member->coordination, slot);
    member->inside = false;
}

void member_release(struct member *member, int32_t slot)
{
    member->inside = true;
    member->coordination->ops->release(member->coordination, slot);
    member->inside = false;
}

/* ---- the world */

struct world *world_make(const struct backend *backend)
{
    static int number;
    struct world *world = mem_new(struct world);
    const struct loop_options options = {0};
    struct error err;
    world->backend = backend;
    world->cluster = "cluster-1";
    (void)snprintf(world->chroot, sizeof world->chroot, "/carillon-test/%lld-%d-%d",
                   (long long)loop_clock().wall.ms % 1000000000, (int)getpid(), number++); /* other programs run, too */
    assert_int_equal(loop_create(&options, &world->loop, &err), STATUS_OK);
    world->poll = loop_timer_create(world->loop, on_poll, world);
    world->limit = loop_timer_create(world->loop, on_limit, world);
    world->hub = coordination_hub_create(world->loop, 1000);
    return world;
}

void world_free(struct world *world)
{
    for (int i = 0; i < MEMBERS; i++)
        member_close(world, i);
    coordination_hub_free(world->hub);
    loop_timer_free(world->poll);
    loop_timer_free(world->limit);
    loop_free(world->loop);
    free(world);
}

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

zhandle_t *world_stranger(const clientid_t *client, int *state)
{
    zhandle_t *handle = zookeeper_init2(zookeeper_address(), ignore_event, SESSION, client, state, 0, ignore_line);
    assert_non_null(handle);
    for (int n = 0; n < 500 && __atomic_load_n(state, __ATOMIC_ACQUIRE) != ZOO_CONNECTED_STATE; n++)
        world_nap(10);
    return handle;
}

/* Ends a session as the service would: for ZooKeeper, a second client takes it over by id and password, and closes it.
 */
static void session_steal(struct world *world, int i)
{
    struct zookeeper *zk = (struct zookeeper *)world->members[i].coordination;
    clientid_t client;
    int state = 0;
    assert_true(session_client(zk->session, &client));
    (void)zookeeper_close(world_stranger(&client, &state));
}

void member_expire(struct world *world, int i)
{
    if (world->backend->zookeeper)
        session_steal(world, i);
    else
        coordination_local_expire(world->members[i].coordination);
}

void member_cut(struct world *world, int i, bool on)
{
    struct member *member = &world->members[i];
    if (world->backend->zookeeper)
        proxy_set(member->proxy, on ? PROXY_CUT : PROXY_OPEN);
    else if (on)
        coordination_local_cut(member->coordination);
    else
        coordination_local_mend(member->coordination);
}

/* ---- conditions */

bool all_connected(struct world *world)
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

bool all_see_all(struct world *world)
{
    for (int i = 0; i < MEMBERS; i++) {
        if (world->members[i].coordination && world->members[i].nodes.count != members_live(world))
            return false;
    }
    return all_connected(world);
}

int member_answers(const struct member *member)
{
    return member->counts[COORDINATION_CLAIM_WON] + member->counts[COORDINATION_CLAIM_TAKEN] +
           member->counts[COORDINATION_CLAIM_FAILED];
}

bool one_answer(struct world *world)
{
    return member_answers(&world->members[0]) == 1;
}

bool second_answered(struct world *world)
{
    return member_answers(&world->members[1]) >= 1;
}

bool no_claims_seen(struct world *world)
{
    for (int i = 0; i < MEMBERS; i++) {
        if (world->members[i].coordination && world->members[i].claims.count != 0)
            return false;
    }
    return true;
}

bool one_claim_seen(struct world *world)
{
    for (int i = 0; i < MEMBERS; i++) {
        if (world->members[i].coordination && world->members[i].claims.count != 1)
            return false;
    }
    return true;
}

bool first_lost_and_back(struct world *world)
{
    return world->members[0].counts[COORDINATION_LOST] == 1 && world->members[0].counts[COORDINATION_CONNECTED] == 2;
}

bool first_suspended(struct world *world)
{
    return world->members[0].counts[COORDINATION_SUSPENDED] == 1;
}

bool first_back(struct world *world)
{
    return world->members[0].counts[COORDINATION_CONNECTED] == 2;
}

bool second_refused(struct world *world)
{
    return world->members[1].counts[COORDINATION_REFUSED] == 1;
}

bool first_refused(struct world *world)
{
    return world->members[0].counts[COORDINATION_REFUSED] == 1;
}
