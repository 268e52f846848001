/* What is known by heart: definitions as the feed brings them, jobs with their triggers and versions, instances. */
#ifndef CARILLON_SCHEDULER_KNOW_KNOW_H
#define CARILLON_SCHEDULER_KNOW_KNOW_H

#include "scheduler/basics.h"

/* replica.c: feed and definitions */
void replica_step(struct scheduler *s);
void replica_put(struct scheduler *s, const struct definition_row *row);  /* as the feed brings it */
void replica_load(struct scheduler *s, const struct definition_row *row); /* a job, as SLOTS_LOAD brings it */
void replica_stale(struct scheduler *s);
bool replica_fresh(struct scheduler *s); /* false: nothing fires before the feed was read again */
void replica_release(struct scheduler *s);
const char *project_timezone(struct scheduler *s, const char *project);
const struct calendar_spec *calendar_find(struct scheduler *s, const char *project, const char *name);

/* jobs.c: jobs, versions, triggers in memory */
struct job *job_find(struct scheduler *s, int64_t id);
struct job *job_need(struct scheduler *s, int64_t id, int64_t project_id, const char *project, const char *name,
                     int32_t slot);
void job_forget_if_idle(struct scheduler *s, struct job *job);
void job_disarm(struct scheduler *s, struct job *job); /* triggers away: the slot is not ours any more, or deleted */
void job_unrule(struct scheduler *s, struct job *job);
void job_free(struct scheduler *s, struct job *job);
/* slots.c: an open run of the job that another boot drives; it counts for overlap until it has ended. */
void job_foreign(struct scheduler *s, struct job *job, const struct run_row *row);
/* Makes the triggers of `version` the armed ones; cursors, counts and pauses of triggers of the same name stay. */
void job_rule(struct scheduler *s, struct job *job, struct job_version *version, instant from);
void job_recompile(struct scheduler *s, struct job *job);
struct trigger *job_trigger(struct job *job, const char *name);
bool job_run_open(const struct job *job, const char *trigger); /* of generation 0, ours or another boot's */
struct job_version *version_find(struct scheduler *s, int64_t job, int64_t version);
struct job_version *version_add(struct scheduler *s, int64_t job, int64_t version, const char *json);
struct job_version *version_ref(struct job_version *version);
void version_unref(struct scheduler *s, struct job_version *version);
static inline const struct job_spec *version_spec(const struct job_version *version)
{
    return &version->document->job;
}

/* registered.c: instances that announce themselves */
void registered_polled(struct scheduler *s, int64_t number);
void registered_step(struct scheduler *s);

#endif
