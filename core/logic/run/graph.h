/* The graph of a job: checks and the order of steps. Cycles, unknown names, duplicates and an empty graph are refused.
 */
#ifndef CARILLON_CORE_LOGIC_RUN_GRAPH_H
#define CARILLON_CORE_LOGIC_RUN_GRAPH_H

#include "core/base/error.h"
#include "core/model/job.h"

/* Adds every fault ("spec.graph[2].after[0]: …"; a cycle names its steps in order). Also: joins (n within
 * 1…predecessors), compensate targets, conditions that read steps which are no ancestors, unreachable steps. */
void graph_check(const struct job_spec *job, struct faults *faults);
/* Indices of the steps so that predecessors come first; stable. ret has room for step_count. false: cycle. */
bool graph_order(const struct job_spec *job, size_t *ret);

#endif
