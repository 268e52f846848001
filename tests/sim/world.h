/* A deterministic world: many schedulers, one store, one coordination service, executors, clocks, faults, all in one
 * thread and drawn from one seed. The schedulers are the very object files of the daemon; everything around them is
 * here. After every event the invariants of docs/architecture.md §6 are checked; a failure prints seed and step and
 * repeats for ever.
 *
 * Time: `now` is true time in ms since 1970; a node's wall clock is off by its `clock_offset`, its boot time is true.
 * Randomness: one generator for the world's course; its draws happen in event order, so the seed decides all. */
#ifndef CARILLON_TESTS_SIM_WORLD_H
#define CARILLON_TESTS_SIM_WORLD_H

#include "core/base/heap.h"
#include "core/base/rng.h"
#include "core/base/vec.h"
#include "scheduler/scheduler.h"
#include "tests/sim/db.h"

#define NODES_MAX 64
#define EXECUTORS_MAX 4

enum mutation { MUTATION_NONE, MUTATION_FENCE, MUTATION_SKIP, MUTATION_DOUBLE };

struct world;

struct event {
    struct heap_entry entry;
    void (*act)(struct world *world, void *context);
    void *context;
};

/* One process start of a node. Messages under way hold it; it is freed when the last of them has arrived. */
struct life {
    struct world *world;
    struct node *node;
    bool dead;
    int references;
    struct scheduler *scheduler;
    struct store store;
    struct coordination coordination;
    struct dispatch dispatch;
    struct sink sink;
    struct settings settings;
    struct event *wake; /* pending call of scheduler_step; NULL = none */
    mono wake_at;
    VEC(struct delivery *) inbox;     /* what arrived while the node was paused */
    int64_t notices_at;               /* of the coordination: in order, whatever the delay */
    uint64_t told_nodes, told_claims; /* digests of the lists that it was told last; 0 = none */
    int64_t claims_version;           /* of the list that it read last; 0 = none */
    int64_t claims_seen[CLAIM_SLOTS_ALL];
    int64_t write_free_at, read_free_at; /* one writer connection: operations in order */
    bool joined, connected, told_suspended;
    int64_t session;  /* 0 = none */
    int64_t heard_at; /* by the coordination service */
    int64_t in_flight;
    char address[32];
    struct coordination_node self;
};

/* The life that embeds this port. */
#define LIFE_OF(port, member) ((struct life *)(void *)((char *)(port)-offsetof(struct life, member)))

struct delivery {
    struct life *life;
    void (*act)(struct life *life, void *context);
    void *context;
};

struct node {
    struct world *world;
    char name[32];
    struct life *life; /* NULL = down */
    bool paused;
    int64_t clock_offset, weight; /* weight 0: as the settings say */
    bool cut_store, cut_coordination, cut_executors;
    bool stop_at_commit; /* SIGSTOP at its next commit of a fire: before anything is sent */
};

struct session {
    int64_t id;
    struct life *life; /* NULL: its process is gone, the session is not yet */
    int64_t heard_at;
    struct coordination_node self;
    bool has_node;
};

struct claim {
    int32_t slot;
    int64_t session, czxid, boot;
    char node[32];
};

struct sent_call { /* what an executor saw, and what came of it */
    char key[CALL_KEY_SIZE];
    char step[CALL_KEY_SIZE]; /* "<run>.<step>.<item>" */
    int64_t run, epoch;
    bool arrived, definite; /* definite: its outcome was delivered to a living scheduler */
    char job[64];
    int64_t scheduled_at;
};

struct executor {
    bool down;
    int slow_until_calls;
};

/* What the schedulers ask of coordination and store, counted as the ZooKeeper backend would ask it. */
struct tally {
    int64_t node_reads, claim_reads,
        whole_reads; /* lists and single nodes; lists of which every claim was read again */
    int64_t creates, taken, releases;
    int64_t store[STORE_OPS];
};

struct world {
    uint64_t seed;
    struct rng rng;
    int64_t now, begin, steps, still; /* still: events since time moved */
    struct heap events;
    struct db db;
    struct tally tally;
    int64_t claims_version; /* rises with every claim that is made or goes */
    bool calm;              /* no reply is lost by chance */
    bool store_down, store_slow, coordination_down, lose_commits;
    int64_t next_session, next_czxid;
    VEC(struct session) sessions;
    VEC(struct claim) claims;
    struct node nodes[NODES_MAX];
    size_t node_count;
    struct executor executors[EXECUTORS_MAX];
    size_t executor_count;
    VEC(struct sent_call) calls;
    VEC(struct delivery *) free_list;
    enum mutation mutation;
    bool trace, broken, healing, releasing; /* releasing: nothing new begins */
    char why[512];
    int64_t fires, skips, attempts, faults;
    uint64_t digest; /* of everything that happened: the same seed gives the same digest */
    struct zones zones;
};

void world_init(struct world *world, uint64_t seed, enum mutation mutation, bool trace);
void world_release(struct world *world);
void world_at(struct world *world, int64_t at, void (*act)(struct world *world, void *context), void *context);
/* Carries out events until `until` (true time) or the first broken invariant. */
void world_run(struct world *world, int64_t until);
void world_break(struct world *world, const char *format, ...) PRINTF_LIKE(2, 3);
void world_trace(struct world *world, const char *format, ...) PRINTF_LIKE(2, 3);
int64_t world_draw(struct world *world, int64_t low, int64_t high);
bool world_chance(struct world *world, int percent);

/* nodes.c */
void node_start(struct world *world, size_t index);
void node_kill(struct world *world, size_t index);
void node_pause(struct world *world, size_t index);
void node_resume(struct world *world, size_t index);
void life_deliver(struct life *life, int64_t delay, void (*act)(struct life *life, void *context), void *context);
void life_wake(struct life *life, int64_t at);
void life_drop(struct life *life);

/* ports of one life */
void store_port_init(struct life *life);
void coordination_port_init(struct life *life);
void dispatch_port_init(struct life *life);
void coordination_leave(struct life *life);  /* its process is gone */
void coordination_tick(struct world *world); /* expiries, notices */
void coordination_wipe(struct world *world); /* emptied: no sessions, no claims, and numbers begin anew */

/* invariants.c */
void check_batch(struct world *world, const struct store_batch *batch);
void check_send(struct world *world, struct life *life, const struct sent_call *call);
void check_arrival(struct world *world, const struct sent_call *call);
void check_end(struct world *world);

/* cluster.c: clusters without faults: how balanced, how quick, how much is asked. 0: all is well. */
int cluster_main(const char *what);

/* scenario.c: jobs, people and faults out of the seed */
void scenario_prepare(struct world *world);

#endif
