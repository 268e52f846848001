/* The scheduler: claims slots, fires triggers, drives runs, calls executors. Loop-free: it sees ports only. Whoever
 * owns it calls `scheduler_step` when a port has completed something or the returned time has come; the simulation
 * drives the same object files.
 *
 * One thread. Completions of ports (store, coordination, dispatch) must arrive on it. */
#ifndef CARILLON_SCHEDULER_SCHEDULER_H
#define CARILLON_SCHEDULER_SCHEDULER_H

#include "core/model/settings.h"
#include "core/ports/coordination.h"
#include "core/ports/dispatch.h"
#include "core/ports/signer.h"
#include "core/ports/sink.h"
#include "core/ports/store.h"
#include "core/ports/zones.h"

struct scheduler;

struct scheduler_ports {
    struct store *store;
    struct coordination *coordination;
    struct dispatch *dispatch;
    struct zones *zones;
    struct signer *signer; /* NULL: calls are not signed */
    struct sink *sink;
};

struct scheduler_options {
    const struct settings *settings; /* borrowed */
    const char *node, *address;
    const char *role;    /* "scheduler" or "standalone" */
    const char *version; /* of the program, shown with the node; NULL = not said */
    uint64_t seed;       /* of its random generator */
    bool sole_owner;     /* standalone: the folder lock proves that every earlier boot of this node is dead */
    /* Mutations for the simulation's proof that it can see: 0 in every product. */
    unsigned break_fence : 1, break_skip : 1, break_double : 1;
};

enum scheduler_state {
    SCHEDULER_STARTING,
    SCHEDULER_WORKING,
    SCHEDULER_DRAINING,
    SCHEDULER_STOPPED,
    SCHEDULER_FENCED,
    SCHEDULER_REFUSED, /* by the coordination, for good, and nothing is left here: scheduler_refusal says why */
};

struct scheduler *scheduler_create(const struct scheduler_options *options, const struct scheduler_ports *ports);
void scheduler_free(struct scheduler *scheduler); /* nothing may be under way in its ports: stop or close them first */

/* Does everything that is due (at most 256 fires a turn) and returns when it wants to be called again at the latest. */
mono scheduler_step(struct scheduler *scheduler, struct moment now);
/* Look at feed and requests now rather than at the next poll (hint from the orchestrator in the same process, or the
 * internal route). */
void scheduler_poke(struct scheduler *scheduler);
/* Where executors report to ("https://host:port"): the only address then. NULL: those of the orchestrators that the
 * store knows. Without any, calls carry no X-Carillon-Callback. */
void scheduler_callback(struct scheduler *scheduler, const char *url);
/* Graceful: hand slots over, finish runs, at most shutdown_grace. state becomes STOPPED. */
void scheduler_drain(struct scheduler *scheduler, struct moment now);
enum scheduler_state scheduler_state(const struct scheduler *scheduler);
/* Why the coordination refused this node; `ret_status`: IN_USE, DENIED, INVALID. NULL: it did not. */
const char *scheduler_refusal(const struct scheduler *scheduler, enum status *ret_status);

/* Counters; written on the scheduler's thread, read by others with __atomic loads. */
#define SCHEDULER_LATENESS_BUCKETS 16
struct scheduler_metrics {
    int64_t fires, lateness_count, lateness_sum_ms, lateness_bucket[SCHEDULER_LATENESS_BUCKETS]; /* not cumulative */
    int64_t runs_ended[RUN_STATES], attempts_ended[CALL_CLASSES];
    int64_t runs_open, calls_in_flight, batches, batch_items, batches_refused, batch_ms_sum;
    int64_t slots_owned, jobs_ruled, takeovers, skips, queue_rows, store_down, coordination_down;
    int64_t triggers_in_error, clock_offset_ms, feed_lag_ms;
    int64_t jobs_owned, jobs_unowned, slot_moves, slot_flaps, capacity_alarm, job_moves;
    int64_t store_bytes, store_bytes_max; /* as the leader of housekeeping saw it last; 0 = not seen here */
};
extern const double scheduler_lateness_bounds[SCHEDULER_LATENESS_BUCKETS]; /* seconds; the last is +Inf */
const struct scheduler_metrics *scheduler_metrics(const struct scheduler *scheduler);
/* Ready to serve: store and coordination answered, own slots are ruled. `ret_reason` static text when not. */
bool scheduler_ready(const struct scheduler *scheduler, const char **ret_reason);

#endif
