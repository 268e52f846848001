/* A run from its beginning to its end, and what people, executors and other schedulers wish or tell of it. */
#ifndef CARILLON_SCHEDULER_DRIVE_DRIVE_H
#define CARILLON_SCHEDULER_DRIVE_DRIVE_H

#include "scheduler/basics.h"

/* driver.c */
struct open_run *driver_run_new(struct scheduler *s, const struct run_row *row, struct job *job,
                                struct job_version *version);
void driver_run_take(struct scheduler *s, struct run *run, struct job *job, struct job_version *version);
struct open_run *driver_find(struct scheduler *s, int64_t id);
/* Puts the run into `bundle` as a fire, begun at once when `begin`. */
void driver_fire(struct scheduler *s, struct open_run *run, bool begin, struct bundle *bundle);
void driver_begin(struct scheduler *s, struct open_run *run);
void driver_attempt(struct scheduler *s, struct open_run *run, const struct attempt_row *attempt);
/* The end of an attempt by a report, which is closed with it. */
void driver_report(struct scheduler *s, struct open_run *run, const struct attempt_row *attempt, int64_t report);
void driver_waits(struct scheduler *s, struct open_run *run, const char *reason); /* queued: why it does not begin */
void driver_cancel(struct scheduler *s, struct open_run *run, const char *reason);
void driver_settle(struct scheduler *s, struct open_run *run, struct bundle *bundle);
void driver_ended(struct scheduler *s, struct open_run *run, struct bundle *bundle); /* ending.c */
/* ending.c: makes the retry of `old` under this id; NULL: it is there already. */
struct open_run *retry_make(struct scheduler *s, const struct run_row *old, struct job *job,
                            struct job_version *version, int64_t id, instant due);
/* wishes.c: what schedulers ask of each other. false: not now, it stays open. */
bool wish_retry(struct scheduler *s, struct job *job, const struct request_row *request);
bool wish_suspend(struct scheduler *s, struct job *job, const struct request_row *request);
void driver_step(struct scheduler *s);
void driver_fire_answered(struct scheduler *s, struct open_run *run, enum store_outcome outcome);
void driver_ask(struct scheduler *s, struct open_run *run); /* what follows now? */
void driver_forget(struct scheduler *s, struct open_run *run);
void run_ref(struct open_run *run);
void run_unref(struct scheduler *s, struct open_run *run);

/* alive.c: signs of life of accepted calls */
void alive_watch(struct scheduler *s); /* there may be such calls from now on */
void alive_step(struct scheduler *s);
void alive_release(struct scheduler *s);

/* seen.c: what every poll shows until it is closed in the store, and is being carried out meanwhile */
bool seen_has(struct seen *set, int64_t id);
void seen_add(struct seen **set, int64_t id);
void seen_forget(struct seen **set, int64_t id); /* was not carried out: shows up again */
void seen_closed(struct seen *set, int64_t id, int64_t poll_number);
void seen_polled(struct seen **set, int64_t poll_number); /* this poll shows nothing that was closed before it */
void seen_release(struct seen **set);

/* requests.c */
/* Pauses that are wished: what a slot decides as it is ruled must not reach beyond them. */
void requests_foresee(struct scheduler *s, const struct request_row *rows, size_t count);
void requests_take(struct scheduler *s, const struct request_row *rows, size_t count);

/* reports.c */
void reports_take(struct scheduler *s, const struct report_row *rows, size_t count);
/* The newest attempt under this key; NULL: none. */
const struct attempt_row *reports_attempt(const struct run *run, const char *step, int32_t item, int32_t key_try);
void reports_addresses(struct scheduler *s); /* keeps s->callbacks fresh */

#endif
