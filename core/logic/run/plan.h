/* Private to plan.c and choose.c: the planner's view of one step, and the choice of an instance. */
#ifndef CARILLON_CORE_LOGIC_RUN_PLAN_H
#define CARILLON_CORE_LOGIC_RUN_PLAN_H

#include "core/logic/run/internal.h"

#define POLL_MIN SPAN_SECOND
#define POLL_MAX (30 * SPAN_SECOND)

struct view {
    const struct run *run;
    const struct run_step *step;
    const struct step_spec *spec;
    const struct step_memory *memory;
    const struct attempt_row *last; /* NULL: no call yet */
    const char *assigned;           /* the instance that the list of a broadcast or shard gives this item; a note */
    const struct run_world *world;
    const struct plan_picks *picks;
    struct machine *machine;
    struct call_spec call;
    size_t index;
    instant now;
    bool served; /* a waiting row was written after the last attempt, and its time has come */
    struct plan *plan;
};

struct choice {
    const char *only;    /* this one or none; NULL */
    const char *after;   /* round-robin from the one behind it; NULL */
    bool not_hard;       /* not where the step has failed already (transfer) */
    bool not_this_round; /* not where this round has been refused already */
    const char *found;   /* out: NULL = none */
    const char *reason;  /* out, when none */
    bool limit;          /* out: one is there, but at its limit */
};

/* false: there is no choice, the plan is made already (a failure, or out of memory). */
bool choose(struct view *v, struct choice *c);

static inline bool attempt_soft(const struct attempt_row *attempt)
{
    return attempt->class == CALL_NOT_SENT || attempt->class == CALL_BUSY;
}
bool attempt_hard(const struct attempt_row *attempt); /* an end that uses up a retry */

/* What both plans begin with. */
struct view view_of(const struct run *run, const struct run_step *step, struct moment now,
                    const struct run_world *world, struct plan *plan);
/* Nobody tells the run when an instance appears: it looks again, ever less often, until wait_timeout. */
void plan_wait_for_place(struct view *v, const char *reason);

static inline void plan_end(struct view *v, enum step_state state, const char *error)
{
    *v->plan = (struct plan){.kind = PLAN_END, .state = state, .error = error};
}
static inline void plan_wait(struct view *v, const char *reason, instant due, instant poll)
{
    *v->plan = (struct plan){.kind = PLAN_WAIT, .reason = reason, .due = due, .poll = poll};
}

#endif
