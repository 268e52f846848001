/* What is heard of accepted calls while they run: signs of life with progress, and lines of their log. One row of
 * `alive` for each key; lines are numbered by it, so that their count and size are known without counting. */
#include <string.h>

#include "adapters/store/rows.h"
#include "core/model/limits.h"

#define ALIVE_ROWS 2000 /* of one answer */
#define MESSAGE_MAX 1024
#define KEY_WHERE " WHERE run = ? AND step = ? AND item = ? AND key_try = ?"
#define KEY(row) db_i((row)->run), db_t((row)->step), db_i((row)->item), db_i((row)->key_try)

struct known {
    bool there;
    int64_t lines, bytes;
};

static enum status read_known(struct session *s, const struct alive_row *row, struct known *ret)
{
    struct db_statement *q;
    *ret = (struct known){0};
    enum status status = db_query(s->db, "SELECT line_count, bytes FROM alive" KEY_WHERE, VALUES(KEY(row)), &q);
    if (status == STATUS_OK && (status = db_step(q)) == STATUS_OK)
        *ret = (struct known){true, db_number(q, 0), db_number(q, 1)};
    db_end(q);
    return status == STATUS_END ? STATUS_OK : status;
}

/* A line at a time, until one of the caps is reached. */
static enum status add_lines(struct session *s, struct store_alive *op, instant now, struct known *known)
{
    enum status status = STATUS_OK;
    for (const char *p = op->lines; *p && status == STATUS_OK; p += *p == '\n') {
        size_t length = strcspn(p, "\n"), kept = length > LIMIT_LOG_LINE ? LIMIT_LOG_LINE : length;
        while (kept < length && kept > 0 && ((unsigned char)p[kept] & 0xc0) == 0x80)
            kept--;
        op->full = known->lines >= LIMIT_LOG_LINES || known->bytes + (int64_t)kept > LIMIT_LOG_BYTES;
        if (op->full)
            break;
        char *line = session_keep(s, p, kept + 1, 1);
        if (!line)
            return STATUS_OK; /* no_room says so */
        line[kept] = '\0';
        status = db_exec(
            s->db, "INSERT INTO attempt_log (run, step, item, key_try, line, at, text) VALUES (?, ?, ?, ?, ?, ?, ?)",
            VALUES(KEY(&op->row), db_i(known->lines), db_i(now.ms), db_bytes(line)), NULL);
        known->lines++;
        known->bytes += (int64_t)kept;
        p += length;
    }
    return status;
}

static enum status write_row(struct session *s, const struct store_alive *op, instant now, const struct known *known)
{
    const struct alive_row *row = &op->row;
    enum status status = STATUS_OK;
    if (!known->there)
        status = db_exec(s->db,
                         "INSERT INTO alive (run, step, item, key_try, day, at, line_count, bytes, within_ms) "
                         "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                         VALUES(KEY(row), db_i(run_id_day(row->run)), db_i(now.ms), db_i(known->lines),
                                db_i(known->bytes), db_i(row->within)),
                         NULL);
    else
        status = db_exec(s->db, "UPDATE alive SET at = ?, line_count = ?, bytes = ?" KEY_WHERE,
                         VALUES(db_i(now.ms), db_i(known->lines), db_i(known->bytes), KEY(row)), NULL);
    if (status == STATUS_OK && known->there && row->within > 0)
        status = db_exec(s->db, "UPDATE alive SET within_ms = ?" KEY_WHERE, VALUES(db_i(row->within), KEY(row)), NULL);
    if (status == STATUS_OK && row->progress >= 0)
        status = db_exec(s->db, "UPDATE alive SET progress = ?" KEY_WHERE, VALUES(db_i(row->progress), KEY(row)), NULL);
    if (status == STATUS_OK && row->message)
        status = db_exec(s->db, "UPDATE alive SET message = ?" KEY_WHERE,
                         VALUES(db_bytes_cut(row->message, MESSAGE_MAX), KEY(row)), NULL);
    return status;
}

enum status sql_alive(struct session *s, struct store_alive *op)
{
    struct store_report_read judged = {
        .run = op->row.run, .step = op->row.step, .item = op->row.item, .key_try = op->row.key_try};
    struct known known;
    instant now = INSTANT_NONE;
    op->full = false;
    enum status status = sql_report_read(s, &judged);
    op->over = judged.over;
    op->canceled = judged.canceled;
    if (status != STATUS_OK || (op->over && !op->lines))
        return status; /* last lines of what has ended are still taken */
    status = db_now(s->db, &now);
    if (status == STATUS_OK)
        status = read_known(s, &op->row, &known);
    if (status == STATUS_OK && op->lines)
        status = add_lines(s, op, now, &known);
    return status == STATUS_OK ? write_row(s, op, now, &known) : status;
}

static void read_row(struct session *s, struct db_statement *q, struct alive_row *ret)
{
    *ret = (struct alive_row){.run = db_number(q, 0),
                              .step = session_text(s, q, 1),
                              .item = (int32_t)db_number(q, 2),
                              .key_try = (int32_t)db_number(q, 3),
                              .at = db_instant(q, 4),
                              .progress = db_is_null(q, 5) ? -1 : (int32_t)db_number(q, 5),
                              .message = session_text(s, q, 6),
                              .lines = db_number(q, 7),
                              .within = db_number(q, 8)};
}

#define ALIVE_COLUMNS "a.run, a.step, a.item, a.key_try, a.at, a.progress, a.message, a.line_count, a.within_ms"

enum status sql_alive_read(struct session *s, struct store_alive_read *op)
{
    VEC(struct alive_row) rows = {0};
    struct query q;
    query_init(&q, "SELECT " ALIVE_COLUMNS " FROM alive a");
    if (op->run) {
        query_with(&q, " WHERE a.run = ? ORDER BY a.step, a.item, a.key_try", db_i(op->run));
    } else {
        query_add(&q, " JOIN run r ON r.day = a.day AND r.id = a.run");
        query_with(&q, " WHERE a.at > ?", db_i(op->since));
        query_with(&q, " AND a.within_ms > 0 AND r.open_slot IS NOT NULL AND r.boot = ? ORDER BY a.at", db_i(op->boot));
    }
    query_with(&q, " LIMIT ?", db_i(ALIVE_ROWS));
    enum status status = query_open(s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
        read_row(s, q.rows, vec_push(&rows));
    status = query_close(&q, status);
    op->rows = KEEP(s, rows);
    op->count = rows.count;
    vec_release(&rows);
    return status;
}

enum status sql_log_read(struct session *s, struct store_log_read *op)
{
    VEC(struct log_line) rows = {0};
    struct query q;
    query_init(&q, "SELECT step, item, key_try, line, at, text FROM attempt_log");
    query_with(&q, " WHERE run = ?", db_i(op->run));
    if (op->step)
        query_with(&q, " AND step = ?", db_t(op->step));
    query_with(&q, " ORDER BY step, item, key_try, line LIMIT ?", db_i(op->limit));
    query_with(&q, " OFFSET ?", db_i(op->skip));
    enum status status = query_open(s, &q);
    while (status == STATUS_OK && (status = query_step(&q)) == STATUS_OK)
        *vec_push(&rows) = (struct log_line){.step = session_text(s, q.rows, 0),
                                             .item = (int32_t)db_number(q.rows, 1),
                                             .key_try = (int32_t)db_number(q.rows, 2),
                                             .line = db_number(q.rows, 3),
                                             .at = db_instant(q.rows, 4),
                                             .text = session_text(s, q.rows, 5)};
    status = query_close(&q, status);
    op->lines = KEEP(s, rows);
    op->count = rows.count;
    vec_release(&rows);
    return status;
}
