/* The store of the simulation: the tables of the store port in memory, each operation atomic. It fences as the contract
 * says; what it cannot do it refuses with INVALID, which no scheduler expects. */
#ifndef CARILLON_TESTS_SIM_DB_H
#define CARILLON_TESTS_SIM_DB_H

#include "core/base/map.h"
#include "core/base/vec.h"
#include "core/ports/store.h"

struct db_boot {
    int64_t boot, batch;
    char node[32];
    bool fenced;
    int64_t seen_at;
};

struct db_slot {
    int64_t generation, czxid, owner_boot, decided_through;
    int64_t moved_seq; /* change by which a job came last */
    const char *node;  /* bound to; NULL = not */
};

struct db_job {
    int64_t id, version, first_created_at;
    int32_t slot;
    char *name;
    bool deleted, paused, suspended;
    int64_t moves;
    int64_t deleted_at;
    struct db_version {
        int64_t version, created_at;
        char *json;
    } * versions;
    size_t version_count;
};

struct db_run {
    int64_t id;
    struct run_row row; /* texts owned */
    VEC(struct step_row) steps;
    VEC(struct attempt_row) attempts;
    UT_hash_handle hh;
};

struct db_activation {
    struct activation_row row;
    char *trigger;
};

struct db_skip {
    struct skip_row row;
    char *trigger, *reason;
};

struct db_request {
    struct request_row row;
    char *outcome;
};

struct db_linger {
    struct linger_row row; /* texts owned */
};

struct db_state {
    struct trigger_state_row row;
    char *trigger, *error;
};

struct db_node { /* what operators wish of it */
    char node[32];
    enum node_wish wish;
};

struct db_lease {
    char name[40];
    int64_t boot, until; /* boot 0: free */
};

struct db {
    int64_t now;        /* the store's clock, kept by the world */
    int64_t generation; /* of the coordination service */
    VEC(struct db_boot) boots;
    struct db_slot slots[CLAIM_SLOTS_ALL];
    VEC(struct db_job) jobs;
    VEC(struct change_row) changes;
    struct db_run *runs;
    VEC(struct db_run *) order; /* all runs, by insertion */
    VEC(struct db_run *) open;
    VEC(struct db_activation) activations;
    VEC(struct db_skip) skips;
    VEC(struct db_request) requests;
    VEC(struct db_state) states;
    VEC(struct db_linger) lingers;
    VEC(struct db_lease) leases;
    VEC(struct db_node) nodes;
    int64_t next_id;
};

void db_init(struct db *db);
void db_release(struct db *db);
/* Carries one operation out. */
enum status db_execute(struct db *db, struct store_op *op);

/* What people do. */
int64_t db_put_job(struct db *db, const char *name, const char *json);
void db_delete_job(struct db *db, int64_t job);
/* A wish that the job live where `node` (a text that stays) holds it; NULL: in the shared slots. */
int64_t db_move(struct db *db, int64_t job, const char *node);
int64_t db_request(struct db *db, enum request_kind kind, int64_t job, int64_t run, bool skip_missed);

void db_wish(struct db *db, const char *node, enum node_wish wish);

struct db_run *db_find_run(struct db *db, int64_t id);
struct db_job *db_find_job(struct db *db, int64_t id);
struct db_boot *db_find_boot(struct db *db, int64_t boot);

#endif
