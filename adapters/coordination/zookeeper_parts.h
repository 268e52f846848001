/* The parts of the ZooKeeper backend: the port and its session
 * (coordination_zookeeper.c), joining (zookeeper_prepare.c), the list of nodes (zookeeper_nodes.c), claims
 * (zookeeper_claims.c). All on the loop's thread. */
#ifndef CARILLON_ADAPTERS_COORDINATION_ZOOKEEPER_PARTS_H
#define CARILLON_ADAPTERS_COORDINATION_ZOOKEEPER_PARTS_H

#include "adapters/coordination/coordination_zookeeper.h"
#include "adapters/coordination/zookeeper_session.h"
#include "adapters/coordination/zookeeper_url.h"
#include "core/base/rng.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/model/limits.h"

#define LOOK_PAUSE 200                      /* ms between two reads of a list: at most 5 a second */
#define RECONCILE_PERIOD (30 * SPAN_SECOND) /* both lists are read again: a watch is a hint, not a promise */
#define PATH_SIZE (ZOOKEEPER_CHROOT + 64)

/* What one session may lay upon an ensemble (docs/decisions/0001-slots.md): ending a session with about 2 MB of
 * ephemeral paths has killed servers, about 1 MB of watched paths keeps the client from reconnecting. */
#define EPHEMERALS_MOST 2000
#define WATCHES_MOST 3000
#define OWN_PATH_MOST 40 /* bytes below the chroot, of claims and nodes */

enum watch { WATCH_NODES, WATCH_CLAIMS };

/* new ──join──▶ connecting ──▶ preparing ──▶ joined        any ──▶ refused (for good)
 *                  ▲               │            │
 *                  └────────── session ended ◀──┘          joined and not connected = suspended */
enum phase { PHASE_NEW, PHASE_CONNECTING, PHASE_PREPARING, PHASE_JOINED, PHASE_REFUSED };

/* Reading of a list of children, again and again, never too often. */
struct look {
    struct zookeeper *zk;
    void (*begin)(struct zookeeper *zk);
    struct loop_timer *timer;
    mono last;
    bool busy, wanted, told; /* told: once since the connection began */
    size_t pending;          /* children whose data has not come */
    bool incomplete;         /* one of them could not be read */
};

/* What we know and want of one slot.
 *   asked: none ─▶ creating ─▶ (won | reading ─▶ won, taken, failed);  a lost reply: unsure ─▶ reading when connected
 */
enum asked { ASKED_NOT, ASKED_CREATING, ASKED_READING, ASKED_UNSURE };

struct cell {
    struct coordination_claim claim; /* as read; node "" = unknown owner */
    bool present, listed;
    bool mine;    /* its node belongs to this session */
    bool release; /* to be deleted: after its creation, or again after a lost reply */
    enum asked asked;
};

struct zookeeper {
    struct coordination coordination; /* first: the face */
    struct loop *loop;
    struct session *session;
    struct zookeeper_url url;
    char *cluster_id;
    bool cluster_known;
    struct sink *sink;
    struct coordination_node self;
    bool self_due; /* changed while not connected */
    enum phase phase;
    bool connected, suspended_told, closed;
    int64_t attempt; /* of preparing; replies of earlier ones are not looked at */
    size_t step;
    mono patience; /* until then another live session with our node id may be our own old one; MONO_NEVER = not met */
    span backoff;
    struct loop_timer *retry, *reconcile;
    void (*retry_task)(struct zookeeper *zk);
    struct rng rng;
    struct look nodes_look, claims_look;
    VEC(struct coordination_node) nodes, nodes_told;
    struct cell cells[CLAIM_SLOTS_ALL];
    VEC(struct coordination_claim) claims_told;
    int32_t claims_version; /* cversion of /claims when it was last read */
    bool claims_version_known;
};

/* Texts of paths below the chroot: zookeeper_path(zk, path, "/claims/%d", slot). */
void zookeeper_path(const struct zookeeper *zk, char ret[PATH_SIZE], const char *format, ...) PRINTF_LIKE(3, 4);
void zookeeper_emit(struct zookeeper *zk, const struct coordination_event *event);
void zookeeper_emit_kind(struct zookeeper *zk, enum coordination_event_kind kind);
/* One task at a time: a later one takes the place of an earlier. */
void zookeeper_retry_later(struct zookeeper *zk, span pause, void (*task)(struct zookeeper *zk));
/* For good: the session is closed, so that nothing of ours stays there. */
void zookeeper_refuse(struct zookeeper *zk, enum status status, const char *format, ...) PRINTF_LIKE(3, 4);
void zookeeper_refuse_permission(struct zookeeper *zk);
/* Begins joining, or begins it anew; nothing where it is not connected, refused or joined already. */
void zookeeper_prepare(struct zookeeper *zk);
/* The own node, as zk->self is now. */
void zookeeper_self_set(struct zookeeper *zk, session_on_reply on_reply, int64_t number);
void zookeeper_self_create(struct zookeeper *zk, session_on_reply on_reply, int64_t number);
/* Did the request perhaps not reach the service, or its answer not reach us? */
bool zookeeper_rc_unsure(int rc);
/* Our own node is not there (any more): create it. */
void zookeeper_register(struct zookeeper *zk);
bool zookeeper_active(const struct zookeeper *zk); /* joined and connected */

void look_init(struct look *look, struct zookeeper *zk, void (*begin)(struct zookeeper *zk));
void look_release(struct look *look);
void look_want(struct look *look);  /* read the list, now or as soon as allowed */
void look_reset(struct look *look); /* nothing of an earlier session counts */
/* One of the pending replies has come (ok or not); true when it was the last. */
bool look_count(struct look *look, bool ok);
/* The list is read. Incomplete ones are read again. */
void look_end(struct look *look, bool complete);

void nodes_look_begin(struct zookeeper *zk);
void claims_look_begin(struct zookeeper *zk);
void claims_resume(struct zookeeper *zk); /* connected again, same session */
void claims_lost(struct zookeeper *zk);   /* the session is over: all is gone, what was asked has failed */
void claims_claim(struct zookeeper *zk, int32_t slot);
void claims_release(struct zookeeper *zk, int32_t slot);

#endif
