/* Port: coordination. Tells who is alive and lets a node claim slots (architecture.md §6). It proposes; the store
 * disposes.
 *
 * Contract
 *  - Events arrive on the loop's thread, in order, never from inside a call. Arrays in events are borrowed for the
 * callback.
 *  - SUSPENDED: the connection is lost, the session may live. Nothing new is claimed; what is owned goes on (the store
 * fences).
 *  - LOST: the session is over, every claim is gone. A new session begins by itself: CONNECTED again, then claim anew.
 *  - claim: exactly one CLAIM event for each call: CLAIM_WON with the epoch, CLAIM_TAKEN by another, CLAIM_FAILED
 * (unknown or not connected: ask again). A node of an own earlier boot under the same session counts as won; under an
 * older session as taken.
 *  - release is not answered; the next CLAIMS event shows it. */
#ifndef CARILLON_CORE_PORTS_COORDINATION_H
#define CARILLON_CORE_PORTS_COORDINATION_H

#include "core/base/error.h"
#include "core/base/instant.h"

struct coordination_node {
    char node[32];
    int64_t boot;
    char address[128];
    int32_t weight, capacity; /* capacity 0 = unlimited */
    char pool[64];            /* "" = the common one */
    bool store_ok, draining;
    bool offline; /* draining, and nothing is left: no slot, no run */
};

struct coordination_claim {
    int32_t slot;
    int64_t czxid; /* epoch */
    char node[32];
    int64_t boot;
};

enum coordination_event_kind {
    COORDINATION_CONNECTED, /* cluster id is checked by then */
    COORDINATION_SUSPENDED,
    COORDINATION_LOST,
    COORDINATION_NODES,  /* whole list, whenever it changed */
    COORDINATION_CLAIMS, /* whole list, whenever it changed (at most 5 times a second) */
    COORDINATION_CLAIM_WON,
    COORDINATION_CLAIM_TAKEN,
    COORDINATION_CLAIM_FAILED,
    COORDINATION_REFUSED, /* for good: foreign or wiped service, second live process of this node id, authentication;
                             text says */
};

struct coordination_event {
    enum coordination_event_kind kind;
    const struct coordination_node *nodes;
    size_t node_count;
    const struct coordination_claim *claims;
    size_t claim_count;
    struct coordination_claim claim; /* CLAIM_* */
    const char *text;                /* REFUSED */
    enum status status; /* REFUSED: IN_USE = another live process has the node's name; else DENIED or INVALID */
};

struct coordination;

struct coordination_ops {
    const char *name;
    /* Join with this node; events begin. Once. Boot 0: the name is taken, but nobody is told of the node until `update`
     * brings its boot. */
    void (*join)(struct coordination *c, const struct coordination_node *self);
    void (*update)(struct coordination *c, const struct coordination_node *self); /* on transitions only */
    void (*claim)(struct coordination *c, int32_t slot);
    void (*release)(struct coordination *c, int32_t slot);
    void (*close)(struct coordination *c); /* leaves: claims and node are removed where possible; frees */
};

struct coordination {
    const struct coordination_ops *ops;
    void (*on_event)(void *context, const struct coordination_event *event);
    void *context;
};

#endif
