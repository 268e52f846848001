/* Private to effects.c and conclude.c: a list of effects in the making. */
#ifndef CARILLON_CORE_LOGIC_RUN_LIST_H
#define CARILLON_CORE_LOGIC_RUN_LIST_H

#include "core/logic/run/internal.h"

struct list {
    const struct run *run;
    struct machine *machine;
    struct moment now;
    const struct run_world *world;
    struct run_effect *effects;
    size_t count, cap;
    instant wake;  /* INSTANT_MAX: none */
    int open;      /* attempts under way, those that the list begins included */
    bool stopping; /* cancel was asked for, or the deadline has passed */
    bool again;    /* more follows from what the list says of fans and their items */
};

static inline struct run_effect *list_add(struct list *l, enum run_effect_kind kind)
{
    struct run_effect *effect = &l->effects[l->count++];
    *effect = (struct run_effect){.kind = kind, .due = INSTANT_NONE};
    return effect;
}

/* All steps have ended, in the run or by this list: adds the end of the run. */
void conclude(struct list *l);
/* The end of a run by cancel; also of one that has not started. */
void say_canceled_end(struct list *l);

#endif
