/* A small world for tests of the scheduler: virtual time, one store in memory that keeps the fences of data-model.md,
 * coordination that grants what it is told to, executors that answer by script. Several schedulers may share it (one
 * after the other, or side by side). Everything happens in world_run, in order of time. */
#ifndef CARILLON_TESTS_SCHEDULER_WORLD_H
#define CARILLON_TESTS_SCHEDULER_WORLD_H

#include "core/base/vec.h"
#include "scheduler/scheduler.h"

#define WORLD_SLOTS 4
#define WORLD_NODES 3

struct world;

struct world_job {
    int64_t id;
    char name[64];
    enum document_kind kind;
    int64_t version;
    instant created_at;
    char *versions[16]; /* documents, by version */
    instant version_at[16];
    int32_t slot;
    bool deleted;
    instant deleted_at;
    int64_t pending_delete;
};

struct world_boot {
    int64_t boot;
    char node[32];
    bool fenced, draining;
    int64_t batch;
};

struct world_slot {
    int64_t czxid, owner;
    instant decided;
};

/* What an executor does with a call. */
struct world_call {
    struct dispatch_call *wire; /* NULL once ended */
    char url[256], key[192], body[1024], step[64], run[32], epoch[32], signature[160];
    instant at;
    int node;
    int64_t ends_at; /* ms of virtual time */
    int http_status;
    enum dispatch_end end;
    char answer[512];
    char method[16], location[128];
};

struct world_report {
    struct report_row row;
    const char *outcome; /* the first one counts; NULL while open */
    int closed;          /* how often it was closed */
};

struct world_node {
    struct world *world;
    struct coordination coordination;
    struct dispatch dispatch;
    struct store store;
    struct sink sink;
    struct scheduler *scheduler;
    struct coordination_node self;
    bool joined, alive, cut; /* cut: its session is gone */
    int index;
    int64_t wake;
    span skew;   /* its wall clock is so far ahead */
    size_t told; /* run events that reached the sink */
    enum node_wish wish;
};

struct world {
    struct moment now;
    struct settings settings;
    struct world_node nodes[WORLD_NODES];
    struct zones zones;
    struct arena memory;

    VEC(struct world_job) jobs;
    VEC(struct world_boot) boots;
    struct world_slot slots[WORLD_SLOTS];
    VEC(struct change_row) changes;
    VEC(struct run_row) runs;
    VEC(struct step_row) steps;
    VEC(struct attempt_row) attempts;
    VEC(struct skip_row) skips;
    VEC(struct activation_row) activations;
    VEC(struct trigger_state_row) states;
    VEC(struct request_row) requests;
    VEC(struct world_report) reports;
    VEC(struct alive_row) beats;
    VEC(int64_t) suspended;
    VEC(struct linger_row) lingers;
    VEC(struct pending) pending;
    VEC(struct world_event) events;
    VEC(struct world_call *) calls;
    int64_t claims[WORLD_SLOTS], claim_boot[WORLD_SLOTS], next_czxid, next_id;
    int64_t leases[256]; /* who holds what: by dead boot; 0 = housekeeping */

    /* what happens next */
    int fail_batches;        /* so many batches meet this status */
    enum status fail_status; /* UNKNOWN with `fail_commits`: it took place all the same */
    bool fail_commits;
    bool lose_claims; /* claims are made, and the answer says that they failed */
    bool lose_adopt;  /* the next RUNS_ADOPT takes place, its reply is lost */
    bool store_down;
    int64_t call_ms;                                             /* how long a call takes */
    int (*script)(struct world *world, struct world_call *call); /* NULL: 200 {"status":"success"} */
    int64_t batches;
    int warnings;    /* lines of the log at LOG_WARN or worse */
    int64_t trimmed; /* changes up to here are gone from the feed */
};

struct pending { /* a store operation that will complete */
    struct store_op *op;
    int64_t at;
    int node;
};

struct world_event { /* a coordination event that will arrive */
    int node;
    int64_t at;
    struct coordination_event event;
};

struct world *world_create(const char *start); /* RFC 3339 */
void world_free(struct world *world);
/* So many seeds, from 1 on; the environment's SEEDS says how many instead, its SEED the only one. */
void world_seeds(uint64_t count, void (*one_seed)(uint64_t seed));
struct scheduler *world_start(struct world *world, int node, bool sole_owner);
/* The process is gone at once: nothing is closed, its session ends after `session_ms`. */
void world_kill(struct world *world, int node, int64_t session_ms);
void world_stop(struct world *world, int node);
/* Its coordination session is over at once, and a new one begins after so many ms. */
void world_lose_session(struct world *world, int node, int64_t back_ms);
/* Lets time pass. */
void world_run(struct world *world, span ms);

int64_t world_put(struct world *world, enum document_kind kind, const char *name, const char *spec_json);
void world_delete(struct world *world, int64_t id);
int64_t world_request(struct world *world, const struct request_row *row);
/* A sign of life of this call now, which promises the next within so many ms. */
void world_beat(struct world *w, const struct world_call *call, span within);
/* What the executor of this call reports, as the store shows it from now on. Texts are borrowed. Returns its index. */
size_t world_report(struct world *world, const struct world_call *call, enum report_state state, const char *result);

/* Questions. trigger NULL: any. */
size_t world_runs(const struct world *world, int64_t job, const char *trigger, int state); /* state −1: any */
const struct run_row *world_run_at(const struct world *world, int64_t job, instant scheduled);
int64_t world_skipped(const struct world *world, int64_t job, const char *reason);
size_t world_sent(const struct world *world, const char *step);
instant world_instant(const char *text);

void world_store_init(struct world_node *node);

#endif
