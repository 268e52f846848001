/* Routing: which instance gets the call (semantics.md §4). Pure: cursor and random number are arguments. */
#ifndef CARILLON_CORE_LOGIC_RUN_ROUTE_H
#define CARILLON_CORE_LOGIC_RUN_ROUTE_H

#include "core/base/status.h"
#include "core/model/job.h"

struct route_instance {
    const char *address; /* "host:port" */
    bool usable;         /* live, not cordoned, circuit closed */
    bool full;           /* at a limit: waiting for it makes sense */
    bool aside;          /* not usable for a while only: a broadcast waits for it; others not usable are left out */
    int32_t in_flight;
    int32_t room;    /* calls that it takes beside those; 0: as many as the task's concurrency says */
    const char *why; /* reason when not usable or full; NULL */
};

struct route_query {
    enum routing routing;
    const char *fixed;        /* ROUTE_FIXED */
    uint64_t key;             /* ROUTE_HASH */
    uint32_t cursor;          /* ROUTE_ROUND_ROBIN: of the application and task; rises by one with every pick */
    uint64_t random;          /* ROUTE_RANDOM */
    const char *const *tried; /* addresses that this step has used up (next instance: not again) */
    size_t tried_count;
    const char *after; /* transfer: round-robin from the one after this; NULL */
};

/* Index into instances, or SIZE_MAX; then *ret_reason says why ("no_instance", "instance_limit", "fixed_gone",
 * "all_tried", …). */
size_t route_pick(const struct route_query *query, const struct route_instance *instances, size_t count,
                  const char **ret_reason);

#endif
