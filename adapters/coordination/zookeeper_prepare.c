/* Joining: what must be there in ZooKeeper before this node belongs to the cluster: the chroot, the cluster's id, the
 * folders, the own node. */
#include <string.h>

#include "adapters/coordination/zookeeper_parts.h"
#include "adapters/coordination/zookeeper_payload.h"
#include "adapters/loop/loop.h"

#define RETRY_PAUSE SPAN_SECOND
#define OTHER_PAUSE (500 * SPAN_MS) /* between looks whether the other node with our id has gone */

static void prepare_next(struct zookeeper *zk);

void zookeeper_prepare(struct zookeeper *zk)
{
    if (!zk->connected || zk->closed || zk->phase == PHASE_REFUSED || zk->phase == PHASE_JOINED)
        return;
    zk->phase = PHASE_PREPARING;
    zk->attempt++;
    zk->step = 0;
    prepare_next(zk);
}

/* A lost connection begins anew when it is back; all steps may be repeated. */
static void prepare_failed(struct zookeeper *zk, int rc)
{
    if (rc == ZNOAUTH || rc == ZINVALIDACL || rc == ZAUTHFAILED)
        zookeeper_refuse_permission(zk);
    else if (zookeeper_rc_unsure(rc))
        zookeeper_retry_later(zk, RETRY_PAUSE, zookeeper_prepare);
    else
        zookeeper_refuse(zk, STATUS_INVALID, "ZooKeeper refused to prepare \"%s\": %s",
                         zk->url.chroot[0] ? zk->url.chroot : "/", zerror(rc));
}

static bool reply_is_old(const struct zookeeper *zk, const struct session_reply *reply)
{
    return zk->phase != PHASE_PREPARING || reply->number != zk->attempt;
}

static void joined(struct zookeeper *zk)
{
    zk->phase = PHASE_JOINED;
    zk->cluster_known = true; /* a service without the id is another one from now on */
    zk->patience = MONO_NEVER;
    zk->self_due = false;
    zk->suspended_told = false;
    loop_timer_start(zk->reconcile, RECONCILE_PERIOD);
    zookeeper_emit_kind(zk, COORDINATION_CONNECTED);
    look_want(&zk->nodes_look);
    look_want(&zk->claims_look);
}

void zookeeper_self_set(struct zookeeper *zk, session_on_reply on_reply, int64_t number)
{
    char path[PATH_SIZE];
    struct str payload;
    str_init(&payload, PAYLOAD_MAX);
    payload_node_write(&zk->self, &payload);
    zookeeper_path(zk, path, "/nodes/%s", zk->self.node);
    session_set(zk->session, path, str_text(&payload), on_reply, number);
    str_release(&payload);
}

void zookeeper_self_create(struct zookeeper *zk, session_on_reply on_reply, int64_t number)
{
    char path[PATH_SIZE];
    struct str payload;
    str_init(&payload, PAYLOAD_MAX);
    payload_node_write(&zk->self, &payload);
    zookeeper_path(zk, path, "/nodes/%s", zk->self.node);
    session_create_node(zk->session, path, str_text(&payload), ZOO_EPHEMERAL, on_reply, number);
    str_release(&payload);
}

static void on_own_refreshed(void *context, const struct session_reply *reply)
{
    struct zookeeper *zk = context;
    if (reply_is_old(zk, reply))
        return;
    if (reply->rc == ZOK)
        joined(zk);
    else if (reply->rc == ZNONODE)
        prepare_next(zk);
    else
        prepare_failed(zk, reply->rc);
}

/* Another session has a node with our name: our own earlier process, whose session will end soon, or a second one. */
static void other_met(struct zookeeper *zk)
{
    mono now = loop_clock().mono;
    if (zk->patience.ms == MONO_NEVER.ms)
        zk->patience = mono_add(now, session_timeout(zk->session) * 3 / 2 + 2 * SPAN_SECOND);
    if (mono_cmp(now, zk->patience) >= 0)
        zookeeper_refuse(
            zk, STATUS_IN_USE,
            "another live process has joined with the node id \"%s\"; give each process a scheduler.node_id of its "
            "own, or stop the other one",
            zk->self.node);
    else
        zookeeper_retry_later(zk, OTHER_PAUSE, zookeeper_prepare);
}

static void on_own_read(void *context, const struct session_reply *reply)
{
    struct zookeeper *zk = context;
    if (reply_is_old(zk, reply))
        return;
    if (reply->rc == ZOK && reply->stat.ephemeralOwner == session_id(zk->session))
        zookeeper_self_set(zk, on_own_refreshed, zk->attempt);
    else if (reply->rc == ZOK)
        other_met(zk);
    else if (reply->rc == ZNONODE)
        prepare_next(zk); /* it has just gone: create ours */
    else
        prepare_failed(zk, reply->rc);
}

static void on_own_created(void *context, const struct session_reply *reply)
{
    struct zookeeper *zk = context;
    char path[PATH_SIZE];
    if (reply_is_old(zk, reply))
        return;
    if (reply->rc == ZOK) {
        joined(zk);
    } else if (reply->rc == ZNODEEXISTS) {
        zookeeper_path(zk, path, "/nodes/%s", zk->self.node);
        session_get(zk->session, path, -1, on_own_read, zk->attempt);
    } else {
        prepare_failed(zk, reply->rc);
    }
}

static void on_cluster_created(void *context, const struct session_reply *reply)
{
    struct zookeeper *zk = context;
    if (reply_is_old(zk, reply))
        return;
    if (reply->rc == ZOK || reply->rc == ZNODEEXISTS)
        prepare_next(zk); /* reads it: another process may have been faster */
    else
        prepare_failed(zk, reply->rc);
}

static void cluster_judge(struct zookeeper *zk, const struct session_reply *reply)
{
    size_t length = strlen(zk->cluster_id);
    if (reply->length == length && reply->data && memcmp(reply->data, zk->cluster_id, length) == 0) {
        zk->step++;
        prepare_next(zk);
        return;
    }
    zookeeper_refuse(
        zk, STATUS_INVALID,
        "ZooKeeper at \"%s\" belongs to another cluster (\"%.40s\", the store's is \"%.40s\"): give each cluster its "
        "own chroot in coordination.url; if this service shall serve this store from now on, run \"carillon admin "
        "adopt-coordination\"",
        zk->url.chroot[0] ? zk->url.chroot : "/", reply->data ? reply->data : "", zk->cluster_id);
}

static void on_cluster_read(void *context, const struct session_reply *reply)
{
    struct zookeeper *zk = context;
    char path[PATH_SIZE];
    if (reply_is_old(zk, reply))
        return;
    if (reply->rc == ZOK) {
        cluster_judge(zk, reply);
    } else if (reply->rc != ZNONODE) {
        prepare_failed(zk, reply->rc);
    } else if (zk->cluster_known) {
        zookeeper_refuse(
            zk, STATUS_INVALID,
            "ZooKeeper at \"%s\" has been wiped or exchanged: it does not know the cluster \"%.40s\" that the store "
            "holds. Check coordination.url; if this is meant, run \"carillon admin adopt-coordination\"",
            zk->url.chroot[0] ? zk->url.chroot : "/", zk->cluster_id);
    } else {
        zookeeper_path(zk, path, "/cluster");
        session_create_node(zk->session, path, zk->cluster_id, 0, on_cluster_created, zk->attempt);
    }
}

/* A persistent folder. Parents of the chroot may be closed to us and still be there: what follows will tell. */
static void on_folder_created(void *context, const struct session_reply *reply)
{
    struct zookeeper *zk = context;
    char path[ZOOKEEPER_CHROOT];
    if (reply_is_old(zk, reply))
        return;
    bool chroot = zookeeper_chroot_step(&zk->url, zk->step, path);
    if (reply->rc == ZOK || reply->rc == ZNODEEXISTS || (chroot && reply->rc == ZNOAUTH)) {
        zk->step++;
        prepare_next(zk);
    } else {
        prepare_failed(zk, reply->rc);
    }
}

/* The steps are numbered: one for each level of the chroot, then 0 the cluster id, 1 nodes, 2 claims, 3 the own node.
 */
static void prepare_next(struct zookeeper *zk)
{
    static const char *const folders[] = {"/cluster", "/nodes", "/claims"};
    char path[PATH_SIZE], chroot[ZOOKEEPER_CHROOT];
    size_t levels = 0;
    if (zookeeper_chroot_step(&zk->url, zk->step, chroot)) {
        session_create_node(zk->session, chroot, "", 0, on_folder_created, zk->attempt);
        return;
    }
    while (zookeeper_chroot_step(&zk->url, levels, chroot))
        levels++;
    size_t step = zk->step - levels;
    if (step < sizeof folders / sizeof *folders)
        zookeeper_path(zk, path, "%s", folders[step]);
    if (step == 0)
        session_get(zk->session, path, -1, on_cluster_read, zk->attempt);
    else if (step < sizeof folders / sizeof *folders)
        session_create_node(zk->session, path, "", 0, on_folder_created, zk->attempt);
    else
        zookeeper_self_create(zk, on_own_created, zk->attempt);
}
