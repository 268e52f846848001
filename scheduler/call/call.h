/* One HTTP call: which instance, is there room, what is sent, what may still be at work there. */
#ifndef CARILLON_SCHEDULER_CALL_CALL_H
#define CARILLON_SCHEDULER_CALL_CALL_H

#include "scheduler/basics.h"

/* lingers.c: calls that are over here, and perhaps not where they went */
void lingers_job(struct job *job, int64_t run, instant until); /* counts for overlap until then */
void lingers_run(struct scheduler *s, struct open_run *run,
                 struct bundle *bundle);                      /* it has ended: rows of what lingers */
void lingers_take(struct scheduler *s, struct open_run *run); /* it was adopted */
void lingers_load(struct scheduler *s, const struct linger_row *rows, size_t count); /* of a slot's ended runs */
/* An attempt was accepted or has ended: its serial instance is busy, or is not any more. */
void lingers_attempt(struct scheduler *s, struct open_run *run, const struct attempt_row *attempt);
/* Is the instance kept busy by such a call of somebody else than this step? */
bool lingers_at(struct scheduler *s, const struct application *application, const struct instance *instance,
                const struct open_run *run, const char *step);
void lingers_step(struct scheduler *s);
void lingers_release(struct scheduler *s);

/* notices.c: executors are told that nobody waits for a call any more */
/* How, as attempt_row says; in the call's arena. NULL: the executor has not said how, or there is no need. */
const char *notice_target(struct call *call, enum call_class class);
void notices_mark(struct scheduler *s, struct open_run *run, struct bundle *bundle); /* who has to be told by now */
void notices_take(struct scheduler *s, struct open_run *run);                        /* it was adopted */
void notices_load(struct scheduler *s, const struct linger_row *row);                /* of an ended run */
void notices_add(struct scheduler *s, struct notice *notice);                        /* what says so has committed */
void notices_step(struct scheduler *s);
void notices_release(struct scheduler *s);
void notice_free(struct notice *notice);

/* dispatcher.c, headers.c */
struct call *dispatcher_call_new(struct scheduler *s, struct open_run *run, const struct attempt_row *attempt,
                                 const struct step_spec *step);
void dispatcher_release(struct scheduler *s, struct call *call); /* its intent has committed */
void dispatcher_cancel(struct scheduler *s, struct call *call, enum call_class as);
void dispatcher_drop(struct scheduler *s, struct call *call); /* never sent: forget it */
void dispatcher_step(struct scheduler *s);
void dispatcher_collect(struct scheduler *s);
/* "project/application", as its key is named; "project/" of a direct url. */
#define CALL_APPLICATION_SIZE (2 * LIMIT_NAME + 2)
const char *call_application(const struct call *call, char buffer[CALL_APPLICATION_SIZE]);
void headers_make(struct scheduler *s, struct call *call);
/* Of a notice: whose call it is, and that it comes from us. `wire` has method and body; texts in `arena`. */
void headers_notice(struct scheduler *s, struct arena *arena, const struct attempt_row *attempt,
                    const char *application, struct dispatch_call *wire);

/* instances.c: applications, instances, circuits */
/* "project/name"; made when there is none. */
struct application *application_need(struct scheduler *s, const char *key);
void application_list(struct scheduler *s, struct application *application); /* its registered ones have changed */
struct application *application_find(struct scheduler *s, const char *key);  /* "project/name"; NULL */
void applications_put(struct scheduler *s, const struct definition_row *row, struct document *document);
void applications_drop(struct scheduler *s, int64_t id);
void applications_release(struct scheduler *s);
struct application *application_of(struct scheduler *s, const char *project, const struct step_spec *step);
struct instance *application_instance(struct application *application, const char *address);
const struct task_spec *application_task(const struct application *application, const char *task);
struct run_world world_of(struct scheduler *s, struct open_run *run);
/* NULL: the run may begin; else the limit that holds it back. */
const char *room_for(struct scheduler *s, const struct job *job, const struct job_spec *spec);
void instance_begin(struct scheduler *s, struct call *call);
void instance_end(struct scheduler *s, struct call *call);

/* room.c: what executors can bear is shared out among the schedulers that are alive */
int64_t room_share(const struct scheduler *s, int64_t limit);

/* circuit.c */
void instance_outcome(struct scheduler *s, struct call *call, enum call_class class);
bool circuit_open(struct scheduler *s, const struct instance *instance);
/* How many calls the instance may have at once, of `most`: one while it is tried, few when it has just come back. */
int32_t circuit_room(struct scheduler *s, const struct instance *instance, int32_t most);
bool pace_holds(struct scheduler *s, const char *address); /* its host takes no call now: too many a second */
void pace_take(struct scheduler *s, const char *address);
void paces_release(struct scheduler *s);

void cursor_move(struct scheduler *s, const char *project, const struct step_spec *step);

#endif
