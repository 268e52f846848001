#include "adapters/coordination/coordination_zookeeper.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapters/coordination/zookeeper_parts.h"
#include "adapters/coordination/zookeeper_payload.h"
#include "adapters/loop/loop.h"
#include "core/base/hash.h"
#include "core/base/mem.h"

#define RECONCILE_PERIOD (30 * SPAN_SECOND) /* both lists are read again: a watch is a hint, not a promise */
#define RETRY_PAUSE SPAN_SECOND
#define BACKOFF_MAX (30 * SPAN_SECOND)
#define OTHER_PAUSE (500 * SPAN_MS) /* between looks whether the other node with our id has gone */

/* ---- helpers ------------------------------------------------------------------------------------------------------
 */

void zookeeper_path(const struct zookeeper *zk, char ret[PATH_SIZE], const char *format, ...)
{
    char below[64];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(below, sizeof below, format, args);
    va_end(args);
    (void)snprintf(ret, PATH_SIZE, "%s%s", zk->url.chroot, below);
}

void zookeeper_emit(struct zookeeper *zk, const struct coordination_event *event)
{
    if (!zk->closed && zk->coordination.on_event)
        zk->coordination.on_event(zk->coordination.context, event);
}

static void emit_kind(struct zookeeper *zk, enum coordination_event_kind kind)
{
    zookeeper_emit(zk, &(struct coordination_event){.kind = kind});
}

bool zookeeper_rc_unsure(int rc)
{
    return rc == ZCONNECTIONLOSS || rc == ZOPERATIONTIMEOUT || rc == ZINVALIDSTATE || rc == ZCLOSING ||
           rc == ZSESSIONEXPIRED || rc == ZSESSIONMOVED || rc == ZTHROTTLEDOP;
}

bool zookeeper_active(const struct zookeeper *zk)
{
    return zk->phase == PHASE_JOINED && zk->connected && !zk->closed;
}

static void retry_later(struct zookeeper *zk, span pause, void (*task)(struct zookeeper *zk))
{
    if (zk->closed)
        return;
    zk->retry_task = task;
    loop_timer_start(zk->retry, pause);
}

static void on_retry(void *context)
{
    struct zookeeper *zk = context;
    zk->retry_task(zk);
}

/* For good: the session is closed, so that nothing of ours stays there. */
static void refuse(struct zookeeper *zk, enum status status, const char *format, ...) PRINTF_LIKE(3, 4);

static void refuse(struct zookeeper *zk, enum status status, const char *format, ...)
{
    char text[400];
    va_list args;
    if (zk->phase == PHASE_REFUSED)
        return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    zk->phase = PHASE_REFUSED;
    loop_timer_stop(zk->retry);
    loop_timer_stop(zk->reconcile);
    session_drop(zk->session);
    claims_lost(zk);
    zookeeper_emit(zk, &(struct coordination_event){.kind = COORDINATION_REFUSED, .text = text, .status = status});
}

static void refuse_permission(struct zookeeper *zk)
{
    refuse(zk, STATUS_DENIED,
           "ZooKeeper does not permit access below \"%s\": check coordination.auth_file and the ACLs there",
           zk->url.chroot[0] ? zk->url.chroot : "/");
}

/* ---- preparing: chroot → cluster id → folders → own node -----------------------------------------------------------
 */

static void prepare_next(struct zookeeper *zk);

static void prepare_begin(struct zookeeper *zk)
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
        refuse_permission(zk);
    else if (zookeeper_rc_unsure(rc))
        retry_later(zk, RETRY_PAUSE, prepare_begin);
    else
        refuse(zk, STATUS_INVALID, "ZooKeeper refused to prepare \"%s\": %s", zk->url.chroot[0] ? zk->url.chroot : "/",
               zerror(rc));
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
    emit_kind(zk, COORDINATION_CONNECTED);
    look_want(&zk->nodes_look);
    look_want(&zk->claims_look);
}

static void self_set(struct zookeeper *zk, session_on_reply on_reply, int64_t number)
{
    char path[PATH_SIZE];
    struct str payload;
    str_init(&payload, PAYLOAD_MAX);
    payload_node_write(&zk->self, &payload);
    zookeeper_path(zk, path, "/nodes/%s", zk->self.node);
    session_set(zk->session, path, str_text(&payload), on_reply, number);
    str_release(&payload);
}

static void self_create(struct zookeeper *zk, session_on_reply on_reply, int64_t number)
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
        refuse(zk, STATUS_IN_USE,
               "another live process has joined with the node id \"%s\"; give each process a scheduler.node_id of its "
               "own, or stop the other one",
               zk->self.node);
    else
        retry_later(zk, OTHER_PAUSE, prepare_begin);
}

static void on_own_read(void *context, const struct session_reply *reply)
{
    struct zookeeper *zk = context;
    if (reply_is_old(zk, reply))
        return;
    if (reply->rc == ZOK && reply->stat.ephemeralOwner == session_id(zk->session))
        self_set(zk, on_own_refreshed, zk->attempt);
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
    refuse(
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
        refuse(zk, STATUS_INVALID,
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
        self_create(zk, on_own_created, zk->attempt);
}

/* ---- the own node while joined --------------------------------------------------------------------------------------
 */

static void on_self_written(void *context, const struct session_reply *reply)
{
    struct zookeeper *zk = context;
    if (zookeeper_rc_unsure(reply->rc))
        zk->self_due = true; /* when connected again */
    else if (reply->rc == ZNONODE || reply->rc == ZNODEEXISTS)
        look_want(&zk->nodes_look); /* it registers again when the node is missing */
}

void zookeeper_register(struct zookeeper *zk)
{
    if (zookeeper_active(zk))
        self_create(zk, on_self_written, 0);
}

/* ---- session ------------------------------------------------------------------------------------------------------
 */

static void open_again(struct zookeeper *zk)
{
    if (!zk->closed && zk->phase != PHASE_REFUSED)
        session_open(zk->session);
}

static void on_connected(struct zookeeper *zk)
{
    zk->connected = true;
    zk->backoff = 0;
    if (zk->phase != PHASE_JOINED) {
        prepare_begin(zk);
        return;
    }
    zk->suspended_told = false;
    zk->nodes_look.told = zk->claims_look.told = false;
    emit_kind(zk, COORDINATION_CONNECTED);
    if (zk->self_due)
        self_set(zk, on_self_written, 0);
    zk->self_due = false;
    claims_resume(zk);
    look_want(&zk->nodes_look);
    look_want(&zk->claims_look);
}

static void on_ended(struct zookeeper *zk)
{
    bool was_joined = zk->phase == PHASE_JOINED;
    if (zk->phase == PHASE_REFUSED)
        return;
    zk->connected = false;
    zk->phase = PHASE_CONNECTING;
    zk->attempt++;
    loop_timer_stop(zk->reconcile);
    look_reset(&zk->nodes_look);
    look_reset(&zk->claims_look);
    claims_lost(zk);
    if (was_joined)
        emit_kind(zk, COORDINATION_LOST);
    retry_later(zk, rng_between(&zk->rng, 50, 1000), open_again); /* not all at once after an outage */
}

static void on_state(void *context, enum session_state state)
{
    struct zookeeper *zk = context;
    switch (state) {
    case SESSION_CONNECTED:
        on_connected(zk);
        break;
    case SESSION_DISCONNECTED:
        zk->connected = false;
        if (zk->phase == PHASE_JOINED && !zk->suspended_told) {
            zk->suspended_told = true;
            emit_kind(zk, COORDINATION_SUSPENDED);
        }
        break;
    case SESSION_ENDED:
        on_ended(zk);
        break;
    case SESSION_UNREACHABLE:
        zk->backoff = zk->backoff ? zk->backoff * 2 : SPAN_SECOND;
        if (zk->backoff > BACKOFF_MAX)
            zk->backoff = BACKOFF_MAX;
        sink_logf(zk->sink, LOG_WARN,
                  "ZooKeeper cannot be reached: its host names do not resolve. Check coordination.url.", "hosts=%s",
                  zk->url.hosts);
        retry_later(zk, rng_between(&zk->rng, zk->backoff / 2, zk->backoff), open_again);
        break;
    case SESSION_AUTH_FAILED:
        refuse_permission(zk);
        break;
    }
}

static void on_watch(void *context, int watch)
{
    struct zookeeper *zk = context;
    look_want(watch == WATCH_NODES ? &zk->nodes_look : &zk->claims_look);
}

static void on_reconcile(void *context)
{
    struct zookeeper *zk = context;
    look_want(&zk->nodes_look);
    look_want(&zk->claims_look);
    loop_timer_start(zk->reconcile, RECONCILE_PERIOD + rng_between(&zk->rng, -2000, 2000));
}

/* ---- the port -----------------------------------------------------------------------------------------------------
 */

static void on_name_refused(void *context, const struct session_reply *reply)
{
    struct zookeeper *zk = context;
    (void)reply;
    refuse(zk, STATUS_INVALID, "the node id \"%s\" may hold letters, digits, \".\", \"_\" and \"-\" only",
           zk->self.node);
}

static void zk_join(struct coordination *c, const struct coordination_node *self)
{
    struct zookeeper *zk = (struct zookeeper *)c;
    zk->self = *self;
    rng_seed(&zk->rng, hash_text(self->node, (uint64_t)self->boot ^ (uint64_t)loop_clock().wall.ms));
    if (!payload_name_valid(self->node)) {
        session_defer(zk->session, on_name_refused, 0);
        return;
    }
    zk->phase = PHASE_CONNECTING;
    session_open(zk->session);
}

static void zk_update(struct coordination *c, const struct coordination_node *self)
{
    struct zookeeper *zk = (struct zookeeper *)c;
    char name[sizeof zk->self.node];
    memcpy(name, zk->self.node, sizeof name);
    zk->self = *self;
    memcpy(zk->self.node, name, sizeof name); /* the path's name stays */
    if (zookeeper_active(zk))
        self_set(zk, on_self_written, 0);
    else
        zk->self_due = true;
}

static void zk_claim(struct coordination *c, int32_t slot)
{
    claims_claim((struct zookeeper *)c, slot);
}

static void zk_release(struct coordination *c, int32_t slot)
{
    claims_release((struct zookeeper *)c, slot);
}

/* In the next turn: close may have been called by one of our own events. */
static void on_free(void *context)
{
    struct zookeeper *zk = context;
    session_free(zk->session);
    vec_release(&zk->nodes);
    vec_release(&zk->nodes_told);
    vec_release(&zk->claims_told);
    free(zk->cluster_id);
    free(zk);
}

static void zk_close(struct coordination *c)
{
    struct zookeeper *zk = (struct zookeeper *)c;
    zk->closed = true;
    session_close(zk->session); /* ends the session, and with it our node and our claims */
    look_release(&zk->nodes_look);
    look_release(&zk->claims_look);
    loop_timer_free(zk->retry);
    loop_timer_free(zk->reconcile);
    loop_post(zk->loop, on_free, zk);
}

static const struct coordination_ops zookeeper_ops = {.name = "zookeeper",
                                                      .join = zk_join,
                                                      .update = zk_update,
                                                      .claim = zk_claim,
                                                      .release = zk_release,
                                                      .close = zk_close};

enum status coordination_zookeeper_create(struct loop *loop, const struct coordination_zookeeper_options *options,
                                          struct coordination **ret, struct error *err)
{
    struct zookeeper_url url;
    enum status status = zookeeper_url_parse(options->url, &url, err);
    if (status)
        return status;
    struct zookeeper *zk = mem_new(struct zookeeper);
    zk->coordination.ops = &zookeeper_ops;
    zk->loop = loop;
    zk->url = url;
    zk->cluster_id = mem_copy_text(options->cluster_id);
    zk->cluster_known = options->cluster_known;
    zk->sink = options->sink;
    zk->patience = MONO_NEVER;
    zk->retry = loop_timer_create(loop, on_retry, zk);
    zk->reconcile = loop_timer_create(loop, on_reconcile, zk);
    look_init(&zk->nodes_look, zk, nodes_look_begin);
    look_init(&zk->claims_look, zk, claims_look_begin);
    const struct session_options session = {.hosts = zk->url.hosts,
                                            .auth = options->auth,
                                            .timeout = options->session_timeout,
                                            .sink = options->sink,
                                            .on_state = on_state,
                                            .on_watch = on_watch,
                                            .context = zk};
    zk->session = session_create(loop, &session);
    *ret = &zk->coordination;
    return STATUS_OK;
}
