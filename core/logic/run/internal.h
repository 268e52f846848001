/* Private to core/logic/run: what the files of the machine share. Read machine.h first.
 *
 *   machine.c  memory, questions       apply.c    events: do they fit? then install
 *   replay.c   rows → state            install.c  one row → state
 *   check.c    invariants, equality    join.c     edges → ready or not
 *   effects.c  state → what to do      plan.c     what follows an attempt that did not succeed
 *   conclude.c how the run ends        choose.c   which instance
 *   fan.c      broadcast, shard, map   render.c   the call itself
 */
#ifndef CARILLON_CORE_LOGIC_RUN_INTERNAL_H
#define CARILLON_CORE_LOGIC_RUN_INTERNAL_H

#include "core/logic/run/machine.h"

/* Texts made for effects: a list, freed by the next run_effects. */
struct note {
    struct note *next;
    char text[];
};

/* Per step, beside what machine.h shows. A function of the rows, too. */
struct step_memory {
    int32_t row_seq;     /* of the newest step row; 0 = none */
    instant wait_since;  /* since when it waits for an instance, a free place or a reachable target; INSTANT_NONE */
    bool result_is_ours; /* step.result is owned (came by a step row), not the attempt's */
    bool undoes;         /* compensates another step */
    struct step_memory *items; /* parallel to run_step.items */
    bool told;                 /* the list of effects at hand says what to do with it (scratch of run_effects) */
};

struct machine {
    char *texts; /* trigger, zone, params of the run row: never change */
    struct note *notes;
    size_t *order; /* predecessors first */
    struct step_memory *steps;
    bool cancels;             /* some join cancels the rest */
    enum step_state *assumed; /* states as they will be once the effects listed so far have been applied */
};

static inline struct machine *machine_of(const struct run *run)
{
    return run->memory;
}

/* ---- memory (machine.c) --------------------------------------------------------------------------------------------
 */
void text_free(const char *text);
/* Replaces *text by a copy of `value` (NULL: none). false: out of memory, nothing changed. */
bool text_set(const char **text, const char *value);
void notes_clear(struct machine *machine);
const char *note_text(struct machine *machine, const char *text); /* NULL: out of memory, or text NULL */
const char *note_textf(struct machine *machine, const char *format, ...) PRINTF_LIKE(2, 3);
void attempt_release(struct attempt_row *attempt);

size_t step_index(const struct run *run, const char *name); /* SIZE_MAX: none */
static inline struct step_memory *memory_of(const struct run *run, const struct run_step *step)
{
    struct step_memory *memory = &machine_of(run)->steps[step->index];
    return step->item ? &memory->items[step->item - 1] : memory;
}
const struct attempt_row *last_attempt(const struct run_step *step); /* NULL: none yet */
static inline bool attempt_open(const struct attempt_row *attempt)
{
    return attempt->state != ATTEMPT_ENDED;
}
bool step_is_open(const struct run_step *step); /* an attempt of it, or of an item, is under way */
struct run_step *step_item(const struct run *run, size_t step, int32_t item); /* NULL: it has no such item */
/* The element of the fan's list, as JSON text. */
struct slice item_value(const struct run_step *fan, int32_t item);

/* Texts that are part of the rows' format: reasons of waiting steps. */
#define REASON_RETRY "retry"
#define REASON_BUSY "busy"
#define REASON_UNREACHABLE "unreachable"
#define REASON_WAIT "wait"
#define REASON_LIMIT "instance_limit"
#define REASON_JOB_LIMIT "job_limit"
#define REASON_TASK_GONE "task_gone"
#define REASON_DEADLINE "deadline"
#define REASON_CANCELED "canceled"
#define REASON_CANCEL_REST "cancel_rest"
/* Does this reason of a waiting step count against wait_timeout? (All that say where the target is, but no limit.) */
bool reason_is_wait(const char *reason);
/* Somebody is at a limit: the world tells which, in route_instance.why. */
bool reason_is_limit(const char *reason);

/* ---- state (install.c)
 * ------------------------------------------------------------------------------------------------
 */
/* Puts a row into the state, no questions asked: run_apply has asked them, and a replay believes the rows. */
enum status install_attempt(struct run *run, struct run_step *step, const struct attempt_row *row);
enum status install_step(struct run *run, struct run_step *step, const struct step_row *row);
/* Makes the items of a fan. STATUS_INVALID: `list` is no JSON array, or another one than the fan has. */
enum status install_list(struct run *run, struct run_step *step, const char *list);
/* What an attempt says of its step. */
void step_follow(struct run *run, struct run_step *step, const struct attempt_row *attempt);
/* With the end of its run a step that had no end of its own is canceled; no row says so, the run's does. */
void close_steps(struct run *run);

/* ---- joins (join.c) -------------------------------------------------------------------------------------------------
 */
enum join { JOIN_PENDING, JOIN_READY, JOIN_SKIP, JOIN_BROKEN };
/* `world` NULL: expressions count as satisfied once their predecessor has ended (invariants). `err`: JOIN_BROKEN. */
enum join join_of(const struct run *run, const enum step_state *states, size_t step, const struct run_world *world,
                  struct error *err);
/* Is this step to be canceled, because a join that named it went on without it? */
bool join_cancels(const struct run *run, const enum step_state *states, size_t step);
/* The step has failed (or ended unknown), and something took care of it: a `failure` edge that ran. */
bool failure_handled(const struct run *run, const enum step_state *states, size_t step);

/* ---- next move (plan.c) ---------------------------------------------------------------------------------------------
 */
enum plan_kind { PLAN_CALL, PLAN_WAIT, PLAN_END, PLAN_FAN };

struct plan {
    enum plan_kind kind;
    /* CALL */
    const char *instance; /* a note */
    int32_t key_try;
    /* WAIT */
    const char *reason;
    instant due; /* INSTANT_NONE: looked at in every call; `poll` says how often at least */
    instant poll;
    /* END */
    enum step_state state;
    const char *error; /* a note */
    /* FAN, and END of a fan */
    const char *list;   /* a note */
    const char *result; /* a note; NULL = null */
};

/* Calls that this list of effects already begins; they are not in the world's numbers yet. */
struct plan_picks {
    const struct run_effect *effects;
    size_t count;
    int open; /* attempts of the run under way, those of the list included */
};

/* What to do with a ready, waiting or settling HTTP step, or with an item. */
void plan_step(const struct run *run, const struct run_step *step, struct moment now, const struct run_world *world,
               const struct plan_picks *picks, struct plan *ret);
/* fan.c: the list of a fan that may begin. */
void plan_fan(const struct run *run, const struct run_step *step, struct moment now, const struct run_world *world,
              struct plan *ret);
/* The instance that the list gives this item; NULL: its list names none. */
const char *item_instance(const struct run *run, const struct run_step *step);
struct fan_count {
    size_t ended, failed, open; /* open: has begun, and has not ended */
    bool hopeless;              /* more have failed than are tolerated: no other begins */
};
struct fan_count fan_count(const struct run_step *fan);
/* All items that may begin have ended: how the fan ends. */
void fan_conclude(const struct run *run, const struct run_step *fan, struct plan *ret);
/* The item that decided how a fan failed; of any other step itself. */
const struct run_step *deciding_item(const struct run_step *step);
/* A step's end by a failure: failed, or ignored where preset or on_exhausted say so. */
enum step_state failure_state(const struct step_spec *spec);
int32_t next_key_try(const struct run_step *step);

/* ---- rendering (render.c) -------------------------------------------------------------------------------------------
 */
struct render_scope { /* keeps what the template context points into */
    const struct run *run;
    const enum step_state *states;
    struct template_step step;
    char run_id[24], version[24];
    struct str params;
    struct str names; /* {"item":…} of a map */
};
/* params is allocated: end with render_scope_end. */
enum status render_scope_begin(struct render_scope *scope, const struct run *run, const enum step_state *states,
                               const struct run_step *step, const struct run_world *world,
                               struct template_context *ret);
void render_scope_end(struct render_scope *scope);
/* run_render with the states that the effects so far assume (NULL: the run's own). */
enum status render_call(const struct run *run, const enum step_state *states, const struct attempt_row *attempt,
                        const struct run_world *world, struct rendered_call *ret, struct error *err);
/* The resolved call of a step. false: its task is not known. */
bool call_of(const struct run *run, const struct step_spec *spec, const struct run_world *world, struct call_spec *ret);

#endif
