/* What executors report of accepted calls: judged against the rows as they stand, durable before it is acknowledged,
 * handed to whoever drives the run (POLL), closed in the batch that acts on it (BATCH). */
#include <string.h>

#include "adapters/store/rows.h"
#include "core/model/limits.h"

#define STALE_KEPT 8 /* stale reports kept of one key */

struct call_key {
    int64_t run;
    const char *step;
    int32_t item, key_try;
};
#define KEY_VALUES(key) db_i((key)->run), db_t((key)->step), db_i((key)->item)

/* ---- may it still be reported about? -------------------------------------------------------------------------------
 */

static enum status judge_run(struct session *s, const struct call_key *key, bool *ret_over, bool *ret_canceled)
{
    struct db_statement *q;
    enum status status = db_query(s->db, "SELECT state, cancel_requested FROM run WHERE day = ? AND id = ?",
                                  VALUES(db_i(run_id_day(key->run)), db_i(key->run)), &q);
    if (status == STATUS_OK && (status = db_step(q)) == STATUS_OK) {
        enum run_state state = (enum run_state)db_number(q, 0);
        *ret_over = run_state_terminal(state);
        *ret_canceled = state == RUN_CANCELED || db_number(q, 1) != 0;
    }
    db_end(q);
    return status == STATUS_END ? error_set(s->error, STATUS_NOT_FOUND, "there is no such run") : status;
}

static enum status judge_step(struct session *s, const struct call_key *key, bool *over)
{
    int64_t state = STEP_WAITING;
    enum status status =
        db_read_number(s->db, "SELECT state FROM step WHERE day = ? AND run = ? AND step = ? AND item = ?",
                       VALUES(db_i(run_id_day(key->run)), KEY_VALUES(key)), &state);
    *over |= step_state_terminal((enum step_state)state);
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

/* A step that has succeeded has no row of its own: its attempt says so. A refusal settles no key, every other definite
 * end does. */
static bool ends(const struct attempt_row *attempt, int32_t key_try)
{
    if (attempt->key_try > key_try)
        return true;
    if (attempt->state != ATTEMPT_ENDED || attempt->stale)
        return false;
    bool refused = attempt->class == CALL_NOT_SENT || attempt->class == CALL_BUSY;
    return attempt->class == CALL_SUCCESS ||
           (attempt->key_try == key_try && call_class_definite(attempt->class) && !refused);
}

static enum status judge_attempts(struct session *s, const struct call_key *key, bool *over)
{
    struct db_statement *q;
    enum status status = db_query(s->db,
                                  "SELECT key_try, state, class, stale FROM attempt WHERE day = ? AND run = ? AND "
                                  "step = ? AND item = ? ORDER BY n",
                                  VALUES(db_i(run_id_day(key->run)), KEY_VALUES(key)), &q);
    while (status == STATUS_OK && (status = db_step(q)) == STATUS_OK) {
        struct attempt_row attempt = {.key_try = (int32_t)db_number(q, 0),
                                      .state = (enum attempt_state)db_number(q, 1),
                                      .class = (enum call_class)db_number(q, 2),
                                      .stale = db_number(q, 3) != 0};
        *over |= ends(&attempt, key->key_try);
    }
    db_end(q);
    return status == STATUS_END ? STATUS_OK : status;
}

static enum status judge(struct session *s, const struct call_key *key, bool *ret_over, bool *ret_canceled)
{
    enum status status = judge_run(s, key, ret_over, ret_canceled);
    if (status == STATUS_OK && !*ret_over)
        status = judge_step(s, key, ret_over);
    return status == STATUS_OK && !*ret_over ? judge_attempts(s, key, ret_over) : status;
}

enum status sql_report_read(struct session *s, struct store_report_read *op)
{
    struct call_key key = {op->run, op->step, op->item, op->key_try};
    return judge(s, &key, &op->over, &op->canceled);
}

/* ---- REPORT_ADD ----------------------------------------------------------------------------------------------------
 */

struct earlier {           /* reports under the same key */
    bool same, same_stale; /* one that says the same; it was stale */
    bool end;              /* one that ends the call, on its way or taken */
    int64_t stale;
};

static enum status read_earlier(struct session *s, const struct report_row *row, struct earlier *ret)
{
    struct db_statement *q;
    enum status status = db_query(s->db,
                                  "SELECT state, digest, outcome, open_run FROM report "
                                  "WHERE run = ? AND step = ? AND item = ? AND key_try = ?",
                                  VALUES(KEY_VALUES(row), db_i(row->key_try)), &q);
    while (status == STATUS_OK && (status = db_step(q)) == STATUS_OK) {
        const char *digest = session_text(s, q, 1), *outcome = session_text(s, q, 2);
        bool open = !db_is_null(q, 3), stale = !open && outcome && !strcmp(outcome, REPORT_OUTCOME_STALE);
        bool delay = db_number(q, 0) == REPORT_DELAY;
        ret->stale += stale;
        ret->end |= !stale && !delay;
        if (!digest || strcmp(digest, row->digest) != 0 || (delay && !open && !stale))
            continue; /* a delay that was taken up may be said again */
        ret->same = true;
        ret->same_stale = stale;
    }
    db_end(q);
    return status == STATUS_END ? STATUS_OK : status;
}

static enum status insert(struct session *s, const struct report_row *row, bool stale)
{
    return db_exec(s->db,
                   "INSERT INTO report (id, day, run, step, item, key_try, open_run, state, result, code, message, "
                   "until_at, digest, created_at, outcome) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                   VALUES(db_i(row->id), db_i(run_id_day(row->run)), KEY_VALUES(row), db_i(row->key_try),
                          stale ? db_t(NULL) : db_i(row->run), db_i(row->state), db_bytes(row->result),
                          db_bytes_cut(row->code, LIMIT_ERROR), db_bytes_cut(row->message, LIMIT_ERROR),
                          db_m(row->until), db_t(row->digest), db_i(row->created_at.ms),
                          db_t(stale ? REPORT_OUTCOME_STALE : NULL)),
                   NULL);
}

enum status sql_report_add(struct session *s, struct store_report_add *op)
{
    struct report_row *row = &op->row;
    struct call_key key = {row->run, row->step, row->item, row->key_try};
    struct earlier earlier = {0};
    bool over = false;
    if (row->result && strlen(row->result) > LIMIT_RESULT)
        return error_set(s->error, STATUS_TOO_BIG, "the result is longer than %zu bytes", LIMIT_RESULT);
    /* Taking the number first makes two reports of one call wait for each other. */
    enum status status = sequence_take(s, "report", 1, &row->id);
    if (status == STATUS_OK)
        status = db_now(s->db, &row->created_at);
    if (status == STATUS_OK)
        status = judge(s, &key, &over, &op->canceled);
    if (status == STATUS_OK)
        status = read_earlier(s, row, &earlier);
    if (status != STATUS_OK)
        return status;
    bool stale = earlier.same ? earlier.same_stale : over || earlier.end;
    op->fate = stale ? REPORT_STALE : earlier.same ? REPORT_REPEATED : REPORT_STORED;
    if (earlier.same || (stale && earlier.stale >= STALE_KEPT))
        return STATUS_OK;
    return insert(s, row, stale);
}

/* ---- POLL and BATCH ------------------------------------------------------------------------------------------------
 */

#define REPORT_COLUMNS "p.id, p.run, p.step, p.item, p.key_try, p.state, p.result, p.code, p.message, p.until_at"

enum status poll_reports(struct session *s, struct store_poll *op)
{
    VEC(struct report_row) rows = {0};
    struct db_statement *q;
    enum status status = db_query(s->db,
                                  "SELECT " REPORT_COLUMNS ", r.open_slot FROM report p "
                                  "JOIN run r ON r.day = p.day AND r.id = p.run "
                                  "WHERE p.open_run > 0 AND r.boot = ? ORDER BY p.id LIMIT ?",
                                  VALUES(db_i(op->boot), db_i(STORE_POLL_REPORTS)), &q);
    while (status == STATUS_OK && (status = db_step(q)) == STATUS_OK)
        *vec_push(&rows) = (struct report_row){.id = db_number(q, 0),
                                               .run = db_number(q, 1),
                                               .step = session_text(s, q, 2),
                                               .item = (int32_t)db_number(q, 3),
                                               .key_try = (int32_t)db_number(q, 4),
                                               .state = (enum report_state)db_number(q, 5),
                                               .result = session_text(s, q, 6),
                                               .code = session_text(s, q, 7),
                                               .message = session_text(s, q, 8),
                                               .until = db_instant(q, 9),
                                               .created_at = INSTANT_NONE,
                                               .run_open = !db_is_null(q, 10)};
    db_end(q);
    op->reports = KEEP(s, rows);
    op->report_count = rows.count;
    vec_release(&rows);
    return status == STATUS_END ? STATUS_OK : status;
}

enum status close_reports(struct session *s, const struct request_done *reports, size_t count)
{
    if (!count)
        return STATUS_OK;
    struct sql_case *cases = mem_alloc(count * sizeof *cases);
    for (size_t i = 0; i < count; i++)
        cases[i] = (struct sql_case){.key = reports[i].id, .value = db_t(reports[i].outcome)};
    enum status status = case_update(
        s,
        &(struct case_update){
            .before = "UPDATE report SET open_run = NULL, outcome = CASE id", .after = " END", .keys = " WHERE id"},
        cases, count);
    free(cases);
    return status;
}
