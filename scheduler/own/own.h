/* Who holds which slot: claims, balance, take-over of what the dead have left, and what only one of all nodes does. */
#ifndef CARILLON_SCHEDULER_OWN_OWN_H
#define CARILLON_SCHEDULER_OWN_OWN_H

#include "scheduler/basics.h"

/* ownership.c, slots.c, balance.c */
void ownership_event(void *context, const struct coordination_event *event);
void ownership_step(struct scheduler *s);
void ownership_tell(struct scheduler *s); /* the coordination: what this node is; the first time it joins */
void ownership_release(struct scheduler *s, int32_t slot); /* its claim; it stays ruled until the store says no */
void ownership_release_all(struct scheduler *s);
/* The coordination lists a claim of ours that we do not know: the reply of its creation was lost, or its release did
 * not arrive. Nobody else can claim the slot, so it is asked for, or let go of, once more. */
bool ownership_orphan(const struct scheduler *s, const struct slot *slot);
bool ownership_handed_over(const struct scheduler *s);
bool ownership_settled(const struct scheduler *s);
bool ownership_others(const struct scheduler *s);                   /* somebody else could take over */
void slots_answered(struct scheduler *s, struct work *work);        /* SLOTS_READ */
void slots_step(struct scheduler *s);                               /* take, load, gate */
void slots_rule(struct scheduler *s, int64_t poll);                 /* this poll has been answered */
struct slot *slot_get(struct scheduler *s, int32_t slot);           /* NULL: no such slot */
void slot_lost(struct scheduler *s, int32_t slot, const char *why); /* why NULL: said nowhere */
void slot_reload(struct scheduler *s, int32_t slot);                /* what we know of it is not what the store knows */
static inline bool slot_ruled(struct scheduler *s, int32_t slot)
{
    struct slot *x = slot_get(s, slot);
    return x && x->phase == SLOT_RULED;
}
bool node_alive(const struct scheduler *s, int64_t boot);
void ownership_wished(struct scheduler *s, enum node_wish wish);
/* Working, and nobody wishes it to be offline: it takes slots, runs of the dead, and the housekeeping. */
static inline bool node_serves(const struct scheduler *s)
{
    return s->state == SCHEDULER_WORKING && s->wish == NODE_WORK;
}
void balance_step(struct scheduler *s);   /* claims what should be ours, lets go of what should not */
void balance_gauges(struct scheduler *s); /* jobs owned and unowned, alarm */
void balance_slot_ruled(struct scheduler *s, struct slot *slot);

/* move.c: jobs that change their slot */
bool move_request(struct scheduler *s, struct job *job, const struct request_row *request, struct bundle *bundle);
bool move_stale(struct scheduler *s, const struct definition_row *row); /* says nothing new: not to be looked at */
bool move_arrived(struct scheduler *s,
                  const struct definition_row *row); /* its slot is read anew: nothing else to do */
void move_loaded(struct scheduler *s, const struct definition_row *row);
void moves_load(struct scheduler *s, int32_t slot); /* the slot's jobs are asked for */
bool move_of_slot(const struct scheduler *s, int32_t slot);
bool move_pending(const struct scheduler *s, int64_t job);
void moves_settled(struct scheduler *s);       /* what became of those of the batch under way */
void ownership_look_soon(struct scheduler *s); /* at what the store says of the slots */

/* giving.c: a draining node gives its queued runs to the owners of their slots */
void giving_step(struct scheduler *s);
void giving_settled(struct scheduler *s, const struct bundle *bundle); /* it has committed */

/* recovery.c */
void recovery_suspect(struct scheduler *s, int64_t boot);
/* A queued run was adopted for a job whose slot is not ours: it is held until its elders elsewhere are known. */
void recovery_others(struct scheduler *s, struct job *job);
bool recovery_settled(const struct scheduler *s);
void recovery_left(struct scheduler *s); /* runs of our slots that a draining node has left: they become ours */
/* Open runs are being adopted: some may be ours in the store, but unknown here, or known here before their siblings. */
bool recovery_unread(const struct scheduler *s);
void recovery_step(struct scheduler *s);
void recovery_release(struct scheduler *s);

/* janitor.c */
void janitor_step(struct scheduler *s);
void janitor_nodes_changed(struct scheduler *s); /* the leader may be gone */
bool janitor_through(struct scheduler *s);       /* fills batch.through; false: nothing to tell */
void janitor_decided(struct scheduler *s);

#endif
