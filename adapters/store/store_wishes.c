/* What a batch leaves to do for others: calls of ended runs whose executor may still be at work, wishes of one
 * scheduler for whoever drives a run or owns a slot, and retries that could not be fired because their slot is not
 * ours. */
#include <stdlib.h>

#include "adapters/store/rows.h"
#include "core/model/limits.h"

/* ---- lingering calls -----------------------------------------------------------------------------------------------
 */

static void linger_fill(void *context, size_t index, struct db_value *v)
{
    const struct linger_row *row = &((const struct store_batch *)context)->lingers[index];
    *v++ = db_i(row->job);
    *v++ = db_i(row->run);
    *v++ = db_i(row->slot);
    *v++ = db_t(row->step);
    *v++ = db_i(row->item);
    *v++ = db_i(row->n);
    *v++ = db_i(row->key_try);
    *v++ = db_t(row->application);
    *v++ = db_bytes_cut(row->instance, 300);
    *v++ = db_i(row->until.ms);
    *v = db_bytes_cut(row->notice_to, LIMIT_NOTICE_TO);
}

enum status write_lingers(struct session *s, const struct store_batch *op)
{
    union {
        const struct store_batch *batch;
        void *context;
    } of = {.batch = op};
    return bulk_write(
        s, &(struct bulk){.id = BULK_LINGER, .count = op->linger_count, .fill = linger_fill, .context = of.context});
}

#define ATTEMPT_WHERE " WHERE run = ? AND step = ? AND item = ? AND n = ?"

enum status write_notices(struct session *s, const struct store_batch *op)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < op->notice_count && status == STATUS_OK; i++) {
        const struct store_notice *row = &op->notices[i];
        status = db_exec(s->db, "UPDATE attempt SET notice = ?" ATTEMPT_WHERE " AND day = ?",
                         VALUES(db_i(row->state), db_i(row->run), db_t(row->step), db_i(row->item), db_i(row->n),
                                db_i(run_id_day(row->run))),
                         NULL);
        if (status == STATUS_OK && row->state != NOTICE_DUE)
            status = db_exec(s->db, "UPDATE linger SET notice_to = NULL" ATTEMPT_WHERE,
                             VALUES(db_i(row->run), db_t(row->step), db_i(row->item), db_i(row->n)), NULL);
    }
    return status;
}

enum status lingers_read(struct session *s, enum linger_key key, const int64_t *numbers, size_t count,
                         struct lingers *ret)
{
    static const struct {
        const char *begin, *end;
    } where[] = {[LINGER_RUN] = {"run", ""},
                 [LINGER_JOB] = {"job", ""},
                 [LINGER_SLOT] = {"EXISTS (SELECT 1 FROM job WHERE job.id = linger.job AND job.slot", ")"}};
    instant now = INSTANT_NONE;
    enum status status = count ? db_now(s->db, &now) : STATUS_OK;
    for (size_t at = 0, n; at < count && status == STATUS_OK; at += n) {
        n = piece_length(at, count);
        struct query q;
        query_init(&q, "SELECT " LINGER_COLUMNS " FROM linger WHERE");
        query_with(&q, " until_at > ? AND ", db_i(now.ms));
        query_add(&q, where[key].begin);
        query_in(&q, numbers + at, n);
        query_add(&q, where[key].end);
        status = query_open(s, &q);
        while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
            *vec_push(&ret->rows) = (struct linger_row){.job = db_number(q.rows, 0),
                                                        .run = db_number(q.rows, 1),
                                                        .slot = (int32_t)db_number(q.rows, 2),
                                                        .step = session_text(s, q.rows, 3),
                                                        .item = (int32_t)db_number(q.rows, 4),
                                                        .n = (int32_t)db_number(q.rows, 5),
                                                        .key_try = (int32_t)db_number(q.rows, 6),
                                                        .application = session_text(s, q.rows, 7),
                                                        .instance = session_text(s, q.rows, 8),
                                                        .until = db_instant(q.rows, 9),
                                                        .notice_to = session_text(s, q.rows, 10)};
        status = query_close(&q, status);
    }
    return status;
}

/* ---- wishes --------------------------------------------------------------------------------------------------------
 */

struct wishes {
    VEC(struct request_row) rows;
    VEC(int64_t) projects;
    const char *node;
};

static void wish_fill(void *context, size_t index, struct db_value *v)
{
    const struct wishes *wishes = context;
    request_fill(&wishes->rows.items[index], wishes->projects.items[index], wishes->node, NULL, v);
}

/* The owner had taken the wish up and lost the slot before it could close it: it is still open. */
static void wish_exists(void *context, size_t index)
{
    (void)context;
    (void)index;
}

/* Where the job is now: it may have been moved since the run began. */
static enum status add_wish(struct session *s, const struct request_row *row, instant now, struct wishes *to)
{
    struct db_statement *q;
    enum status status = db_query(s->db, "SELECT project_id, slot FROM job WHERE id = ?", VALUES(db_i(row->job)), &q);
    if (status == STATUS_OK && (status = db_step(q)) == STATUS_OK) {
        struct request_row *wish = vec_push(&to->rows);
        *wish = *row;
        wish->slot = (int32_t)db_number(q, 1);
        wish->created_at = now;
        vec_add(&to->projects, db_number(q, 0));
    }
    db_end(q);
    return status == STATUS_END ? STATUS_OK : status; /* no job: nothing is left to wish for */
}

static enum status add_retries(struct session *s, const struct store_batch *op, instant now, struct wishes *to)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < op->fire_count && status == STATUS_OK; i++) {
        const struct run_row *run = &op->fires[i].run;
        if (op->fires[i].outcome == OUTCOME_DEFERRED)
            status = add_wish(s,
                              &(struct request_row){.id = run->id,
                                                    .kind = REQUEST_RETRY,
                                                    .job = run->job,
                                                    .run = run->retry_of,
                                                    .due_at = run->due_at,
                                                    .scheduled_at = INSTANT_NONE},
                              now, to);
    }
    return status;
}

enum status write_wishes(struct session *s, const struct store_batch *op, const bool owned[CLAIM_SLOTS_ALL])
{
    struct wishes wishes = {.node = "carillon"};
    instant now = INSTANT_NONE;
    bool any = op->wish_count > 0;
    for (size_t i = 0; i < op->fire_count && !any; i++)
        any = op->fires[i].outcome == OUTCOME_DEFERRED;
    enum status status = any ? db_now(s->db, &now) : STATUS_OK;
    if (!any || status != STATUS_OK)
        return status;
    status = add_retries(s, op, now, &wishes);
    for (size_t i = 0; i < op->wish_count && status == STATUS_OK; i++) {
        const struct request_row *wish = &op->wishes[i];
        bool ours = wish->slot >= 0 && wish->slot < CLAIM_SLOTS_ALL && owned[wish->slot];
        if (wish->kind != REQUEST_CANCEL || ours)
            status = add_wish(s, wish, now, &wishes);
    }
    if (status == STATUS_OK)
        status = bulk_write(s, &(struct bulk){.id = BULK_REQUEST,
                                              .count = wishes.rows.count,
                                              .fill = wish_fill,
                                              .exists = wish_exists,
                                              .context = &wishes});
    vec_release(&wishes.rows);
    vec_release(&wishes.projects);
    return status;
}

/* ---- failures in a row ---------------------------------------------------------------------------------------------
 */

struct ended {
    instant at;
    int64_t id;
    bool failed;
};

static int newest_first(const void *a, const void *b)
{
    const struct ended *x = a, *y = b;
    int order = instant_cmp(y->at, x->at);
    return order ? order : (y->id > x->id) - (y->id < x->id);
}

enum status sql_failures(struct session *s, struct store_failures *op)
{
    VEC(struct ended) runs = {0};
    int64_t resumed = INT64_MIN;
    struct query q;
    op->failed = 0;
    enum status status =
        db_read_number(s->db, "SELECT MAX(from_at) FROM activation WHERE job = ? AND trigger_name = '' AND kind = ?",
                       VALUES(db_i(op->job), db_i(ACTIVATION_RESUME)), &resumed);
    if (status == STATUS_NOT_FOUND)
        status = STATUS_OK;
    /* Found by instants, sorted by ends: runs of one time may overtake each other, so some more are looked at. */
    query_init(&q, "SELECT id, ended_at, state FROM run WHERE");
    query_with(&q, " job = ? AND open_slot IS NULL", db_i(op->job));
    query_with(&q, " AND state <> ?", db_i(RUN_CANCELED));
    query_with(&q, " ORDER BY scheduled_at DESC, id DESC LIMIT ?", db_i((int64_t)op->limit * 2 + 16));
    if (status == STATUS_OK)
        status = query_open(s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
        *vec_push(&runs) = (struct ended){
            .id = db_number(q.rows, 0), .at = db_instant(q.rows, 1), .failed = db_number(q.rows, 2) != RUN_SUCCEEDED};
    status = query_close(&q, status);
    if (runs.count)
        qsort(runs.items, runs.count, sizeof *runs.items, newest_first);
    while (op->failed < runs.count && op->failed < op->limit && runs.items[op->failed].failed &&
           runs.items[op->failed].at.ms > resumed)
        op->failed++;
    vec_release(&runs);
    return status;
}
