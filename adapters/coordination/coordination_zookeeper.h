/* Coordination by ZooKeeper (libzookeeper_mt). Its threads only hand completions to the loop; a watchdog thread closes
 * the session when the loop has hung for half a session. docs/internals/wires.md tells the whole protocol. */
#ifndef CARILLON_ADAPTERS_COORDINATION_COORDINATION_ZOOKEEPER_H
#define CARILLON_ADAPTERS_COORDINATION_COORDINATION_ZOOKEEPER_H

#include "core/ports/coordination.h"
#include "core/ports/sink.h"

struct loop;

struct coordination_zookeeper_options {
    const char *url;        /* "zk://host:port[,host:port…]/chroot"; the chroot is created when missing */
    span session_timeout;   /* asked for; the server clamps it */
    const char *cluster_id; /* from the store */
    bool cluster_known;     /* the store has been used before (it has slots that somebody owned): a missing /cluster
                               node then means a wiped service → REFUSED, instead of being created */
    const char *auth;       /* "user:password" for digest ACLs; NULL or "" = open ACLs */
    struct sink *sink;      /* log lines of the client, rate-limited; called on the loop's thread; NULL = none */
};

/* STATUS_INVALID: the url. Nothing is connected before join. */
enum status coordination_zookeeper_create(struct loop *loop, const struct coordination_zookeeper_options *options,
                                          struct coordination **ret, struct error *err) MUST_USE;

/* The operator's decision `admin adopt-coordination`: writes the id into /cluster whatever stood there.
 * Blocking, own session; call it outside of any loop. */
enum status coordination_zookeeper_adopt(const struct coordination_zookeeper_options *options,
                                         struct error *err) MUST_USE;

#endif
