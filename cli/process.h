/* A server process, put together from roofs and adapters in the order in which they depend on each other, and taken
 * apart in the opposite one. Used by standalone, scheduler, orchestrator and admin. */
#ifndef CARILLON_CLI_PROCESS_H
#define CARILLON_CLI_PROCESS_H

#include "adapters/http/http_server.h"
#include "adapters/loop/loop.h"
#include "core/model/settings.h"
#include "core/ports/coordination.h"
#include "core/ports/dispatch.h"
#include "core/ports/signer.h"
#include "core/ports/sink.h"
#include "core/ports/store.h"
#include "core/ports/zones.h"

#include "cli/exit_codes.h"

struct orchestrator;
struct scheduler;
struct coordination_hub;

struct process {
    struct settings settings;
    const char *role; /* "standalone", "scheduler", "orchestrator" */
    char node[64];
    struct sink *log;
    struct loop *loop;
    struct loop_notice *store_notice, *poke_notice;
    struct store *store;
    struct store_cluster cluster;
    struct zones *zones;
    struct dispatch *dispatch;
    struct coordination_hub *hub;
    struct coordination *coordination;
    struct signer *signer;
    struct scheduler *scheduler;
    struct orchestrator *orchestrator;
    struct http_server *http;
    int64_t orchestrator_boot;
    struct store_op alive; /* the sign of life of an orchestrator alone */
    bool telling;
    mono next_alive;
    int folder_lock; /* −1 = none */
    int signals;
    bool restart; /* fenced: begin again as a new boot */
    enum exit_code code;
};

/* Each complains and returns the exit code when it cannot. */
enum exit_code process_base(struct process *process, const char *role);     /* log, loop, zones, node name */
enum exit_code process_store(struct process *process);                      /* store, cluster identity */
enum exit_code process_scheduler(struct process *process, bool sole_owner); /* dispatch, coordination, scheduler */
enum exit_code process_dispatch(struct process *process);
enum exit_code process_coordination(struct process *process); /* after the store, whose cluster it must belong to */
enum exit_code process_orchestrator(struct process *process);
enum exit_code process_listen(struct process *process); /* HTTP, last of all */
enum exit_code process_run(struct process *process);    /* until a signal; drains */
void process_end(struct process *process);

/* Prometheus text of the scheduler's counters (cli/metrics.c). */
void metrics_write(const struct scheduler *scheduler, struct str *ret);
/* What somebody should look at though all works: a store that is nearly full. Static; NULL: nothing, or not seen here
 * (only who keeps the house knows the size). */
const char *metrics_warning(const struct scheduler *scheduler);

#endif
