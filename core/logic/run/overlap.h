/* Overlap: what becomes of an instant while other runs of its job are open (semantics.md §2). Pure. */
#ifndef CARILLON_CORE_LOGIC_RUN_OVERLAP_H
#define CARILLON_CORE_LOGIC_RUN_OVERLAP_H

#include "core/model/job.h"

struct overlap_state {
    int64_t
        running; /* open runs that were sent or may be working (linger included), as of the instant's scheduled time */
    int64_t queued;   /* runs of the job that wait for their turn */
    bool catching_up; /* the instant is late because nobody could act: not an overlap, it queues up to misfire_max */
    int64_t misfire_max;
};

enum overlap_verdict {
    OVERLAP_RUN,           /* begin at once */
    OVERLAP_QUEUE,         /* insert as queued; begins when its turn comes */
    OVERLAP_DROP,          /* record a skip, reason "overlap" */
    OVERLAP_CANCEL_OTHERS, /* cancel what runs, then this one (queued until they are gone) */
};

enum overlap_verdict overlap_decide(enum overlap_policy policy, int max_parallel, const struct overlap_state *state);
/* May the oldest queued run of a job begin now? */
bool overlap_may_start(enum overlap_policy policy, int max_parallel, int64_t running);

#endif
