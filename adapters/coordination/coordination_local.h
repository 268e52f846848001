/* Coordination inside one process: the same events as ZooKeeper's, no network. A hub is the "service"; members join it.
 * Standalone has one member; tests have several on one loop, and can cut or expire their sessions. */
#ifndef CARILLON_ADAPTERS_COORDINATION_COORDINATION_LOCAL_H
#define CARILLON_ADAPTERS_COORDINATION_COORDINATION_LOCAL_H

#include "core/ports/coordination.h"

struct loop;
struct coordination_hub;

/* Epochs (czxid) rise within a hub and begin at `first_epoch`. Give the wall clock's milliseconds, so that they also
 * rise over restarts of a standalone process. */
struct coordination_hub *coordination_hub_create(struct loop *loop, int64_t first_epoch);
void coordination_hub_free(struct coordination_hub *hub); /* after its members were closed */

/* A member that has not joined yet. Set on_event and context, then ops->join. Not safe from other threads. */
struct coordination *coordination_local_create(struct coordination_hub *hub);

/* For tests. cut: SUSPENDED until mend (claims live on, nothing is answered); expire: LOST, claims and node vanish,
 * then a new session at once. */
void coordination_local_cut(struct coordination *member);
void coordination_local_mend(struct coordination *member);
void coordination_local_expire(struct coordination *member);

#endif
