/* Reading lists of children at a bounded rate, and the list of nodes. */
#include <string.h>

#include "adapters/coordination/zookeeper_parts.h"
#include "adapters/coordination/zookeeper_payload.h"
#include "adapters/loop/loop.h"

#define NODES_MAX 1000 /* a stranger's nodes beyond it are not looked at */

_Static_assert(NODES_MAX + SESSION_WATCHES <= WATCHES_MOST, "a watch for each node, and one for each list");
_Static_assert(CLAIM_SLOTS_ALL + 1 <= EPHEMERALS_MOST, "all claims and the own node");
_Static_assert(sizeof "/nodes/" - 1 + sizeof((struct coordination_node *)0)->node - 1 < OWN_PATH_MOST,
               "path of a node");

/* ---- looks --------------------------------------------------------------------------------------------------------
 */

static void look_go(struct look *look)
{
    struct zookeeper *zk = look->zk;
    if (!look->wanted || look->busy || !zookeeper_active(zk))
        return;
    mono now = loop_clock().mono;
    span wait = mono_sub(mono_add(look->last, LOOK_PAUSE), now);
    if (wait > 0) {
        loop_timer_start(look->timer, wait);
        return;
    }
    look->last = now;
    look->wanted = look->incomplete = false;
    look->busy = true;
    look->begin(zk);
}

static void on_look_timer(void *context)
{
    look_go(context);
}

void look_init(struct look *look, struct zookeeper *zk, void (*begin)(struct zookeeper *zk))
{
    look->zk = zk;
    look->begin = begin;
    look->timer = loop_timer_create(zk->loop, on_look_timer, look);
}

void look_release(struct look *look)
{
    loop_timer_free(look->timer);
}

void look_want(struct look *look)
{
    look->wanted = true;
    look_go(look);
}

void look_reset(struct look *look)
{
    look->busy = look->wanted = look->told = look->incomplete = false;
    look->pending = 0;
    loop_timer_stop(look->timer);
}

bool look_count(struct look *look, bool ok)
{
    look->incomplete = look->incomplete || !ok;
    return --look->pending == 0;
}

void look_end(struct look *look, bool complete)
{
    look->busy = false;
    look->wanted = look->wanted || !complete;
    look_go(look); /* after the pause */
}

/* ---- nodes --------------------------------------------------------------------------------------------------------
 */

static bool node_same(const struct coordination_node *a, const struct coordination_node *b)
{
    return strcmp(a->node, b->node) == 0 && a->boot == b->boot && strcmp(a->address, b->address) == 0 &&
           a->weight == b->weight && a->capacity == b->capacity && strcmp(a->pool, b->pool) == 0 &&
           a->store_ok == b->store_ok && a->draining == b->draining && a->offline == b->offline;
}

static bool nodes_same(const struct zookeeper *zk)
{
    bool same = zk->nodes.count == zk->nodes_told.count;
    for (size_t i = 0; same && i < zk->nodes.count; i++)
        same = node_same(&zk->nodes.items[i], &zk->nodes_told.items[i]);
    return same;
}

/* Names without a boot: not readable, or a process that has only just taken its name. */
static void nodes_drop_unknown(struct zookeeper *zk)
{
    for (size_t i = zk->nodes.count; i-- > 0;) { /* order is kept: it is by name */
        if (zk->nodes.items[i].boot == 0) {
            memmove(&zk->nodes.items[i], &zk->nodes.items[i + 1], (zk->nodes.count - i - 1) * sizeof *zk->nodes.items);
            zk->nodes.count--;
        }
    }
}

static void nodes_tell(struct zookeeper *zk)
{
    bool complete = !zk->nodes_look.incomplete, own = false;
    for (size_t i = 0; i < zk->nodes.count; i++)
        own = own || strcmp(zk->nodes.items[i].node, zk->self.node) == 0;
    nodes_drop_unknown(zk);
    look_end(&zk->nodes_look, complete);
    if (!complete)
        return;
    if (!own) /* somebody removed it by hand */
        zookeeper_register(zk);
    if (zk->nodes_look.told && nodes_same(zk))
        return;
    zk->nodes_look.told = true;
    vec_clear(&zk->nodes_told);
    for (size_t i = 0; i < zk->nodes.count; i++)
        vec_add(&zk->nodes_told, zk->nodes.items[i]);
    zookeeper_emit(zk, &(struct coordination_event){.kind = COORDINATION_NODES,
                                                    .nodes = zk->nodes_told.items,
                                                    .node_count = zk->nodes_told.count});
}

/* `number` is the index of the node. */
static void on_node_read(void *context, const struct session_reply *reply)
{
    struct zookeeper *zk = context;
    struct coordination_node *node = &zk->nodes.items[reply->number];
    bool ok = reply->rc == ZOK || reply->rc == ZNONODE;
    /* What cannot be read is no node of ours: nothing is known about it, so nothing is done with it. */
    struct coordination_node read;
    if (reply->rc == ZOK && payload_node_read(node->node, reply->data, reply->length, &read))
        *node = read;
    if (!look_count(&zk->nodes_look, ok))
        return;
    nodes_tell(zk);
}

static int by_name(const void *a, const void *b)
{
    const struct coordination_node *one = a, *other = b;
    return strcmp(one->node, other->node);
}

static void on_nodes_listed(void *context, const struct session_reply *reply)
{
    struct zookeeper *zk = context;
    vec_clear(&zk->nodes);
    if (reply->rc != ZOK) {
        look_end(&zk->nodes_look, false);
        return;
    }
    for (size_t i = 0; i < reply->name_count && zk->nodes.count < NODES_MAX; i++) {
        if (payload_name_valid(reply->names[i]))
            memcpy(vec_push(&zk->nodes)->node, reply->names[i], strlen(reply->names[i]) + 1);
    }
    if (zk->nodes.count == 0) {
        nodes_tell(zk);
        return;
    }
    qsort(zk->nodes.items, zk->nodes.count, sizeof *zk->nodes.items, by_name);
    zk->nodes_look.pending = zk->nodes.count;
    for (size_t i = 0; i < zk->nodes.count; i++) {
        char path[PATH_SIZE];
        zookeeper_path(zk, path, "/nodes/%s", zk->nodes.items[i].node);
        session_get(zk->session, path, WATCH_NODES, on_node_read, (int64_t)i);
    }
}

void nodes_look_begin(struct zookeeper *zk)
{
    char path[PATH_SIZE];
    zookeeper_path(zk, path, "/nodes");
    session_children(zk->session, path, WATCH_NODES, on_nodes_listed, 0);
}
