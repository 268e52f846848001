/* When a job fires: promised instants are decided, edits and pauses take effect, queued runs get their turn. */
#ifndef CARILLON_SCHEDULER_FIRE_FIRE_H
#define CARILLON_SCHEDULER_FIRE_FIRE_H

#include "scheduler/basics.h"

/* planner.c */
void planner_step(struct scheduler *s);
void planner_arm(struct scheduler *s, struct trigger *trigger);
enum decide_mode {
    DECIDE_NOW,    /* as they are due */
    DECIDE_RESUME, /* they were held back by a pause: through the misfire policy */
    DECIDE_SKIP,   /* they were held back, and none is to run */
    DECIDE_GONE,   /* their job is deleted: none is to run */
};
/* Decides every promised instant in (decided, until]; the rows go into `bundle`, NULL: into one of its own. */
void planner_decide(struct scheduler *s, struct trigger *trigger, instant until, enum decide_mode mode,
                    struct bundle *bundle);
void planner_trigger_ended(struct scheduler *s, struct job *job, const char *trigger, instant end,
                           struct bundle *bundle);

/* delay.c: ends of runs that `delay` triggers count from */
void delay_ended(struct trigger *trigger, instant end);
void delay_recall(struct scheduler *s, struct job *job, struct trigger *trigger); /* after a load: is it known? */
void delay_ended_early(struct job *job, const char *trigger, instant end);        /* its triggers are not made yet */

/* activation.c */
void activation_step(struct scheduler *s);
void activation_fetch(struct scheduler *s, struct job *job); /* the document of the version that ruled before */
void activation_consider(struct scheduler *s,
                         struct job *job); /* newest is not ruling: write it when its time is there */
void activation_loaded(struct scheduler *s, struct job *job); /* the slot is ruled, or the job is new in it */
/* trigger NULL: the whole job. false: it is so already (nothing written). Rows go into `bundle`. */
bool activation_pause(struct scheduler *s, struct job *job, const char *trigger, instant at, struct bundle *bundle);
bool activation_resume(struct scheduler *s, struct job *job, const char *trigger, instant at, bool skip_missed,
                       struct bundle *bundle);

/* turns.c: whose turn it is */
size_t job_running(struct scheduler *s, struct job *job);
instant job_fired_at(const struct scheduler *s, const struct job *job); /* fired_at of a run that is made now */
/* What becomes of the trigger's instant `at`. *catching_up (given: it was missed) also tells whether it is late because
 * nobody could act at its time: then it is no overlap, whatever began since. */
enum overlap_verdict turns_judge(struct scheduler *s, struct job *job, const struct job_spec *spec,
                                 const struct trigger_spec *trigger, instant at, bool *catching_up);
/* Order of the queue, the same on every node: a run waits for its elders, so that no two wait for each other. */
bool run_elder(const struct run_row *a, const struct run_row *b);
void turns_queue(struct scheduler *s, struct open_run *run);
void turns_wake(struct scheduler *s, struct job *job);
void turns_limited(struct scheduler *s, struct open_run *run);
void turns_forget(struct scheduler *s, struct open_run *run);
void turns_step(struct scheduler *s);

#endif
