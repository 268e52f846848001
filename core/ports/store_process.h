/* Operations of the store port about the life of a process: the installation, starts and their fences, nodes and what
 * is wished of them, leases, housekeeping. */
#ifndef CARILLON_CORE_PORTS_STORE_PROCESS_H
#define CARILLON_CORE_PORTS_STORE_PROCESS_H

#include "core/base/instant.h"
#include "core/ports/store_rows.h"

/* Identity of this installation: made at the first start, never changed. */
struct store_cluster {
    bool next_generation;  /* in: raise it first (another coordination service counts its epochs from the beginning) */
    char id[40];           /* out: text id */
    int64_t generation;    /* out: rises with adopt-coordination */
    unsigned char key[32]; /* out: cluster key (callback tokens, internal routes, derived application keys) */
    instant store_now;     /* out */
};

/* A process start. Also creates the node's row. */
struct store_boot_start {
    const char *node, *address, *role; /* role: "scheduler", "orchestrator", "standalone" */
    const char *version, *pool;        /* NULL = "" */
    int64_t weight, capacity;          /* weight 0 = 1 */
    enum node_wish wish;               /* out */
    int64_t boot;                      /* out: > 0 */
    int64_t previous_boot;             /* out: newest earlier unfenced boot of this node and role; 0 = none */
    instant store_now;                 /* out */
};

/* Fresh read of one's own row: fenced? And a sign of life (seen_at). */
struct store_boot_read {
    int64_t boot;
    bool draining;     /* it ends; for whoever looks at the nodes */
    bool fenced;       /* out */
    int64_t batch;     /* out */
    instant store_now; /* out */
};

/* Fence a dead boot: nothing of it is accepted any more. The caller has seen that it is gone (or owns the folder). */
struct store_boot_fence {
    int64_t boot, dead_boot;
    bool already; /* out: it was fenced before, or had said itself that it stops */
};

struct store_boots {
    struct boot_row *rows; /* out: newest boot of each node and role */
    size_t count;
};

/* By name; `node` NULL = all. NOT_FOUND when it names none. With a node also the runs that it drives, oldest first, at
 * most `run_limit`. */
struct store_nodes {
    const char *node;
    size_t run_limit;
    struct node_row *rows; /* out */
    size_t count;
    struct node_run {
        int64_t run;
        const char *project, *job;
        enum run_state state;
        instant fired_at;
    } * runs; /* out */
    size_t run_count;
};

/* What is wished of a scheduler, audited. NOT_FOUND: no such node, or an orchestrator. */
struct store_node_set {
    const char *node, *author;
    enum node_wish wish;
    bool unchanged; /* out */
};

/* A node that is gone for good: its row goes, its boots are fenced. CONFLICT when it lives (its newest boot is not
 * fenced and was seen within `timeout`), holds slots, or drives runs; the error says which. Audited. */
struct store_node_forget {
    const char *node, *author;
    span timeout;
    enum { FORGET_LIVES, FORGET_HOLDS_SLOTS, FORGET_DRIVES_RUNS } why; /* out, with CONFLICT */
    int64_t held;                                                      /* out: slots or runs */
};

/* Named lease: taken when free, expired, or already held by this boot; EXPIRED and times by the store's clock. */
struct store_lease {
    const char *name;
    int64_t boot;
    span ttl;
    bool release; /* give it up instead */
    bool held;    /* out */
};

/* Housekeeping by the lease holder, a bounded piece at a time; call again while `more`. Times are "older than". */
struct store_retention {
    int64_t boot;
    instant runs, bodies, skips, audit, changes, requests;
    int64_t removed; /* out */
    bool more;       /* out */
    int64_t size;    /* out: bytes that the store's data takes */
};

/* A lease of an application: one holder at a time, over when `until` has come by the store's clock. Its row lasts. */
struct app_lease {
    const char *project; /* NULL = the cluster's */
    const char *name, *holder, *author;
    int64_t fence; /* rises with every taking */
    instant since, until;
};

enum lease_action { LEASE_ACQUIRE, LEASE_RENEW, LEASE_RELEASE };

/* CONFLICT: held by another (row.holder and row.until tell), or, with another's token or too late, lost (row.holder
 * NULL). Acquiring again with the same token meets itself. Taking and giving back are audited, renewing is not. */
struct store_app_lease {
    enum lease_action action;
    struct app_lease row; /* in: project, name, author; holder for ACQUIRE. out */
    const char *token_hash;
    span ttl; /* from now; ACQUIRE, RENEW */
};

/* Those that are held, by project and name. */
struct store_app_leases {
    const char *project; /* NULL = all */
    int64_t skip, limit;
    struct app_lease *rows; /* out */
    size_t count;
    int64_t total;
};

#endif
