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

#define BACKOFF_MAX (30 * SPAN_SECOND)

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

void zookeeper_emit_kind(struct zookeeper *zk, enum coordination_event_kind kind)
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

void zookeeper_retry_later(struct zookeeper *zk, span pause, void (*task)(struct zookeeper *zk))
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

void zookeeper_refuse(struct zookeeper *zk, enum status status, const char *format, ...)
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

void zookeeper_refuse_permission(struct zookeeper *zk)
{
    zookeeper_refuse(zk, STATUS_DENIED,
                     "ZooKeeper does not permit access below \"%s\": check coordination.auth_file and the ACLs there",
                     zk->url.chroot[0] ? zk->url.chroot : "/");
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
        zookeeper_self_create(zk, on_self_written, 0);
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
        zookeeper_prepare(zk);
        return;
    }
    zk->suspended_told = false;
    zk->nodes_look.told = zk->claims_look.told = false;
    zookeeper_emit_kind(zk, COORDINATION_CONNECTED);
    if (zk->self_due)
        zookeeper_self_set(zk, on_self_written, 0);
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
        zookeeper_emit_kind(zk, COORDINATION_LOST);
    zookeeper_retry_later(zk, rng_between(&zk->rng, 50, 1000), open_again); /* not all at once after an outage */
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
            zookeeper_emit_kind(zk, COORDINATION_SUSPENDED);
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
        zookeeper_retry_later(zk, rng_between(&zk->rng, zk->backoff / 2, zk->backoff), open_again);
        break;
    case SESSION_AUTH_FAILED:
        zookeeper_refuse_permission(zk);
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
    zookeeper_refuse(zk, STATUS_INVALID, "the node id \"%s\" may hold letters, digits, \".\", \"_\" and \"-\" only",
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
        zookeeper_self_set(zk, on_self_written, 0);
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
