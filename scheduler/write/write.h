/* The way of rows to the store: bundles, batches, and what a commit sets free. */
#ifndef CARILLON_SCHEDULER_WRITE_WRITE_H
#define CARILLON_SCHEDULER_WRITE_WRITE_H

#include "scheduler/basics.h"

/* bundle.c, batcher.c */
struct bundle *bundle_new(struct scheduler *s);
void bundle_free(struct scheduler *s, struct bundle *bundle);
size_t bundle_rows(const struct bundle *bundle);
void bundle_fire(struct bundle *bundle, struct open_run *run);
void bundle_run(struct bundle *bundle, const struct run_row *row);
void bundle_wish(struct scheduler *s, struct bundle *bundle, const struct request_row *wish); /* gives it its id */
void bundle_linger(struct bundle *bundle, const struct linger_row *row);
void bundle_notice(struct bundle *bundle, const struct attempt_row *attempt, enum notice_state state);
void bundle_left(struct bundle *bundle, struct open_run *run);
void bundle_step(struct bundle *bundle, const struct step_row *row);
void bundle_attempt(struct bundle *bundle, const struct attempt_row *row);
void bundle_skip(struct scheduler *s, struct bundle *bundle, const struct trigger *trigger, instant from, instant to,
                 int64_t count, const char *reason);
void bundle_state(struct bundle *bundle, const struct trigger *trigger);
void bundle_activation(struct bundle *bundle, const struct job *job, const char *trigger, int64_t version,
                       enum activation_kind kind, instant from);
void bundle_move(struct bundle *bundle, const struct job *job, const char *pool, const char *node);
void bundle_job_state(struct bundle *bundle, const struct job *job, instant since); /* is it paused? */
void bundle_request(struct bundle *bundle, int64_t id, const char *outcome);
void bundle_report(struct bundle *bundle, int64_t id, const char *outcome); /* outcome: static text */
/* Hands it to the store queue (an empty one is freed). `lazy`: nothing is sent because of it. */
void bundle_put(struct scheduler *s, struct bundle *bundle, bool lazy);
struct run_row run_row_copy(struct arena *arena, const struct run_row *row);
struct attempt_row attempt_row_copy(struct arena *arena, const struct attempt_row *row);
struct step_row step_row_copy(struct arena *arena, const struct step_row *row);
void batch_settled(struct scheduler *s); /* settle.c: the batch under way has committed */
void batcher_step(struct scheduler *s);
void batcher_release(struct scheduler *s);
/* Rows of the slot are on their way to the store: what is loaded now would be older than they are. */
bool batcher_holds(const struct scheduler *s, int32_t slot);
bool batcher_quiet(const struct scheduler *s); /* nothing waits and nothing is under way */
static inline bool batcher_full(const struct scheduler *s)
{
    return s->queue_rows >= QUEUE_ROWS_MAX || s->queue_bytes >= QUEUE_BYTES_MAX;
}
static inline bool batcher_open(const struct scheduler *s) /* new fires make sense */
{
    return !s->batch.stalled && !batcher_full(s);
}

#endif
