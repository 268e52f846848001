/* Members of a coordination service that meet in a world of their own: over the local hub, or over a real ZooKeeper
 * behind a proxy for each member. */
#ifndef CARILLON_TESTS_CONTRACT_WIRES_COORDINATION_WORLD_H
#define CARILLON_TESTS_CONTRACT_WIRES_COORDINATION_WORLD_H

#include <stdbool.h>

#include <zookeeper/zookeeper.h>

#include "adapters/loop/loop.h"
#include "core/base/vec.h"
#include "core/ports/coordination.h"
#include "tests/contract/wires/harness.h"
#include "tests/contract/wires/proxy.h"

#define MEMBERS 3
#define SESSION 3000 /* ms */

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

extern const struct backend backends[2]; /* local, ZooKeeper */

/* CARILLON_TEST_ZOOKEEPER (host:port); NULL = there is none. */
const char *zookeeper_address(void);
/* Says so when it is not. */
bool zookeeper_there(void);

struct world *world_make(const struct backend *backend);
void world_free(struct world *world);

/* Runs the loop until the condition holds; fails at `line` when that takes too long. */
void world_wait(struct world *world, int line, bool (*until)(struct world *world));
#define WAIT(world, until) world_wait(world, __LINE__, until)
void world_run_for(struct world *world, span time);
/* The loop stands still meanwhile. */
void world_nap(int ms);
/* A client of the test's own; with `client` (may be NULL), it takes that session over. `state` stays until it is
 * closed. */
zhandle_t *world_stranger(const clientid_t *client, int *state);

/* Makes one without joining. */
void member_make(struct world *world, int i, const char *node);
void member_join(struct world *world, int i, const char *node);
void member_close(struct world *world, int i);
void member_claim(struct member *member, int32_t slot);
void member_release(struct member *member, int32_t slot);
/* Its session ends, as the service would end it. */
void member_expire(struct world *world, int i);
/* Its connection is cut, or mended. */
void member_cut(struct world *world, int i, bool on);
/* How many claims were answered, whatever the answer. */
int member_answers(const struct member *member);

/* ---- conditions to wait for */

bool all_connected(struct world *world);
bool all_see_all(struct world *world);
bool one_answer(struct world *world);
bool second_answered(struct world *world);
bool no_claims_seen(struct world *world);
bool one_claim_seen(struct world *world);
bool first_lost_and_back(struct world *world);
bool first_suspended(struct world *world);
bool first_back(struct world *world);
bool second_refused(struct world *world);
bool first_refused(struct world *world);

#endif
