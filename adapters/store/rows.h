/* Rows of the port ↔ columns of the tables. Each list of columns stands beside the function that reads it. */
#ifndef CARILLON_ADAPTERS_STORE_ROWS_H
#define CARILLON_ADAPTERS_STORE_ROWS_H

#include "adapters/store/sql_session.h"

#define RUN_COLUMNS                                                                                               \
    "id, job, project, version, trigger_name, generation, scheduled_at, due_at, fired_at, started_at, ended_at, " \
    "state, origin, reason, error_code, error_args, family, retry_of, retry_no, slot, boot, node, zone, params, " \
    "start_steps, cancel_requested, priority"
#define STEP_COLUMNS "run, step, item, seq, state, reason, due, since, result, error, items"
#define ATTEMPT_COLUMNS                                                                                             \
    "run, step, item, n, key_try, seq, state, class, instance, boot, node, started_at, ended_at, http_status, "     \
    "bytes_sent, reused_connection, stale, connect_ms, first_byte_ms, total_ms, error, code, retry_after, result, " \
    "request_size, response_size, notice_to"
#define ATTEMPT_READ ATTEMPT_COLUMNS ", notice"
#define ATTEMPT_BODIES ", request, response" /* behind either, when bodies are wanted */
#define STATE_COLUMNS "job, trigger_name, slot, fires, last_end, paused, job_paused, paused_since, error"
#define LINGER_COLUMNS "job, run, slot, step, item, n, key_try, application, instance, until_at, notice_to"
#define REQUEST_COLUMNS                                                                                           \
    "q.id, q.kind, q.job, q.slot, q.trigger_name, q.run, q.params, q.scheduled_at, q.skip_missed, q.created_at, " \
    "q.author, q.outcome, q.node"
#define REQUEST_COLUMN_COUNT 13

#define DEFINITION_COLUMNS                                                                                          \
    "d.id, d.project_id, p.name, d.name, d.version, d.created_at, d.first_created_at, d.json, d.author, d.source, " \
    "d.live"
/* behind DEFINITION_COLUMNS, for jobs */
#define DEFINITION_JOB \
    ", d.slot, d.paused, d.suspended, d.moves, (SELECT t.deleted_at FROM tombstone t WHERE t.job = d.id)"
#define DEFINITION_FROM " FROM %s d LEFT JOIN project p ON p.id = d.project_id"

static inline bool slot_valid(int32_t slot)
{
    return slot >= 0 && slot < CLAIM_SLOTS_ALL;
}
/* The boot's row is changed, so that whoever fences it waits for us, or we see that it did. */
enum status batch_fence_boot(struct session *s, const struct store_batch *op) MUST_USE;
/* Locks the slots of all slot-fenced items in share mode; owned[slot] becomes true for those that are the boot's. */
enum status batch_fence_slots(struct session *s, const struct store_batch *op, bool owned[CLAIM_SLOTS_ALL]) MUST_USE;

const char *definition_table(enum document_kind kind);
/* A slot for one more job, which is counted there: bound to the node, else to the pool, else shared. FULL: none is
 * left. Under feed_lock, like job_move. */
enum status slot_place(struct session *s, const char *pool, const char *node, int32_t *ret) MUST_USE;
/* A wish that the job go where its document says. */
enum status request_move_add(struct session *s, int64_t job, int32_t slot, int64_t project, const char *author,
                             instant now) MUST_USE;
enum status job_move(struct session *s, struct store_move *move, instant now) MUST_USE; /* fills `to` and outcome */
void definition_read(struct session *s, struct db_statement *q, enum document_kind kind, struct definition_row *ret);
void run_read(struct session *s, struct db_statement *q, struct run_row *ret);
void step_read(struct session *s, struct db_statement *q, struct step_row *ret);
void attempt_read(struct session *s, struct db_statement *q, bool bodies, struct attempt_row *ret);
void state_read(struct session *s, struct db_statement *q, struct trigger_state_row *ret);
void request_read(struct session *s, struct db_statement *q, struct request_row *ret);
/* The wish as columns of `request`, in the order of BULK_REQUEST. CANCEL keeps its reason where others keep params,
 * RETRY its due time where others keep scheduled_at. */
void request_fill(const struct request_row *row, int64_t project, const char *author, const char *idempotency_key,
                  struct db_value *values);
/* A wish that is not a run yet, as the run that it will be. */
void request_as_run(struct session *s, const struct request_row *request, int64_t project, struct run_row *ret);

/* Column counts and fills for bulk_write; the order is that of the lists in rows.c. */
#define FIRE_VALUES 29
#define STEP_VALUES 11
#define ATTEMPT_VALUES 30
void run_fill(const struct run_row *row, struct db_value *values);
void step_fill(const struct step_row *row, struct db_value *values);
/* Bodies over LIMIT_INLINE_BODY are left NULL: they go to `body`. */
void attempt_fill(const struct attempt_row *row, struct db_value *values);
bool body_is_inline(const char *body);

#define BULK_FIRE_COLUMNS "day, open_slot, " RUN_COLUMNS
#define BULK_STEP_COLUMNS "day, " STEP_COLUMNS
#define BULK_ATTEMPT_COLUMNS "day, " ATTEMPT_COLUMNS ATTEMPT_BODIES

/* Steps and attempts of these runs (sorted ids), by run, then seq. */
enum status steps_of_runs(struct session *s, const int64_t *runs, size_t count, struct step_row **ret,
                          size_t *ret_count) MUST_USE;
enum status attempts_of_runs(struct session *s, const int64_t *runs, size_t count, bool bodies,
                             struct attempt_row **ret, size_t *ret_count) MUST_USE;

/* A boot of it begins: its row is made or brought up to date, its wish read (store_nodes.c). */
enum status node_started(struct session *s, struct store_boot_start *op) MUST_USE;

/* Open reports for runs that the boot drives; and their end (store_reports.c). */
enum status poll_reports(struct session *s, struct store_poll *op) MUST_USE;
enum status close_reports(struct session *s, const struct request_done *reports, size_t count) MUST_USE;

/* What a batch leaves to do for others (store_wishes.c): calls that linger, wishes, retries whose slot is not ours. */
enum status write_lingers(struct session *s, const struct store_batch *op) MUST_USE;
enum status write_notices(struct session *s, const struct store_batch *op) MUST_USE;
enum status write_wishes(struct session *s, const struct store_batch *op, const bool owned[CLAIM_SLOTS_ALL]) MUST_USE;
/* `where`: ends before a list of numbers. Appends those that are not over. */
struct lingers {
    VEC(struct linger_row) rows;
};
/* Whose: numbers are runs, jobs, or slots of jobs (as the jobs stand now; a row is older than a move perhaps). */
enum linger_key { LINGER_RUN, LINGER_JOB, LINGER_SLOT };
enum status lingers_read(struct session *s, enum linger_key key, const int64_t *numbers, size_t count,
                         struct lingers *ret) MUST_USE;

/* Where the triggers of these jobs stand; jobs and the slots' decided_through are parallel. Appends to what is there.
 */
struct job_through {
    int64_t job;
    instant through;
};
struct cursors {
    VEC(struct trigger_cursor) rows;
};
enum status cursors_of_jobs(struct session *s, struct job_through *jobs, size_t count, struct cursors *ret) MUST_USE;
struct states {
    VEC(struct trigger_state_row) rows;
};
enum status states_of_jobs(struct session *s, const int64_t *jobs, size_t count, struct states *ret) MUST_USE;

#endif
