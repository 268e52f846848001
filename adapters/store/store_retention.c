/* Housekeeping, a bounded piece at a time. Where the tables are partitioned by day whole partitions go, except those
 * that hold an open run; elsewhere rows go in pieces. Also makes the partitions of the days to come. */
#include "adapters/store/store_retention.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapters/store/rows.h"

#define PIECE 500 /* rows of one call where rows are removed one by one */

/* ---- partitions ----------------------------------------------------------------------------------------------------
 */

static const char *const partitioned[] = {"run", "attempt", "step", "body", "skip", "audit"};

struct bounds {
    VEC(int64_t) days; /* upper ends of the partitions, ascending */
};

static enum status read_bounds(struct session *s, const char *table, struct bounds *ret)
{
    struct db_statement *q;
    enum status status = db_query(s->db,
                                  "SELECT CAST(partition_description AS SIGNED) FROM information_schema.partitions "
                                  "WHERE table_schema = DATABASE() AND table_name = ? AND partition_name IS NOT NULL "
                                  "ORDER BY partition_ordinal_position",
                                  VALUES(db_t(table)), &q);
    while (status == STATUS_OK && (status = db_step(q)) == STATUS_OK)
        vec_add(&ret->days, db_number(q, 0));
    db_end(q);
    return status == STATUS_END ? STATUS_OK : status;
}

enum status partitions_make(struct session *s, instant now)
{
    enum status status = db_script(s->db, "SET SESSION lock_wait_timeout = 2");
    int64_t today = day_of(now);
    for (size_t t = 0; t < sizeof partitioned / sizeof *partitioned && status == STATUS_OK; t++) {
        struct bounds bounds = {0};
        struct str sql;
        status = read_bounds(s, partitioned[t], &bounds);
        int64_t top = bounds.days.count ? bounds.days.items[bounds.days.count - 1] : 0;
        vec_release(&bounds.days);
        int64_t day = top > today ? top : today;
        str_init(&sql, 4096);
        str_addf(&sql, "ALTER TABLE %s ADD PARTITION (", partitioned[t]);
        bool any = false;
        for (; day <= today + PARTITIONS_AHEAD; day++, any = true)
            str_addf(&sql, "%sPARTITION d%lld VALUES LESS THAN (%lld)", any ? ", " : "", (long long)day,
                     (long long)day + 1);
        str_add(&sql, ")");
        if (status == STATUS_OK && any)
            status = db_script(s->db, str_text(&sql));
        str_release(&sql);
    }
    return status;
}

/* Days with open runs in [0, below): their partitions stay. */
static enum status busy_days(struct session *s, int64_t below, struct bounds *ret)
{
    struct db_statement *q;
    enum status status =
        db_query(s->db, "SELECT DISTINCT day FROM run FORCE INDEX (run_open) WHERE open_slot >= 0 AND day < ?",
                 VALUES(db_i(below)), &q);
    while (status == STATUS_OK && (status = db_step(q)) == STATUS_OK)
        vec_add(&ret->days, db_number(q, 0));
    db_end(q);
    return status == STATUS_END ? STATUS_OK : status;
}

static bool holds(const struct bounds *busy, int64_t low, int64_t high)
{
    for (size_t i = 0; i < busy->days.count; i++)
        if (busy->days.items[i] >= low && busy->days.items[i] < high)
            return true;
    return false;
}

#define DROPS_MOST 30 /* partitions of one statement */

/* Nobody may begin a run in a day between the look at it and its end: `run` is held still meanwhile. Where the right to
 * lock tables was not granted, the look alone must do. */
static enum status hold_tables(struct session *s, const char *table, bool keep_busy)
{
    char sql[80];
    if (!keep_busy)
        return STATUS_OK;
    if (strcmp(table, "run") == 0)
        (void)snprintf(sql, sizeof sql, "LOCK TABLES run WRITE");
    else
        (void)snprintf(sql, sizeof sql, "LOCK TABLES run READ, %s WRITE", table);
    enum status status = db_script(s->db, sql);
    return status == STATUS_DENIED ? STATUS_OK : status;
}

static enum status drop_days(struct session *s, const char *table, const struct bounds *bounds, int64_t day,
                             const struct bounds *busy, size_t *ret_dropped)
{
    struct str sql;
    str_init(&sql, 4096);
    str_addf(&sql, "ALTER TABLE %s DROP PARTITION ", table);
    for (size_t i = 1; i + 1 < bounds->days.count && *ret_dropped < DROPS_MOST; i++) {
        int64_t low = bounds->days.items[i - 1], high = bounds->days.items[i];
        if (high > day)
            break;
        if (!holds(busy, low, high))
            str_addf(&sql, "%sd%lld", (*ret_dropped)++ ? ", " : "", (long long)high - 1);
    }
    enum status status = *ret_dropped ? db_script(s->db, str_text(&sql)) : STATUS_OK;
    str_release(&sql);
    return status;
}

/* Drops what lies wholly before the day of `cutoff`; the lowest, [.., 1), is the anchor and stays. */
static enum status drop_old(struct session *s, const char *table, instant cutoff, bool keep_busy, size_t *ret_dropped)
{
    struct bounds bounds = {0}, busy = {0};
    int64_t day = instant_is_none(cutoff) ? 0 : day_of(cutoff);
    if (day <= 0)
        return STATUS_OK;
    enum status status = read_bounds(s, table, &bounds);
    bool any = bounds.days.count > 2 && bounds.days.items[1] <= day;
    if (status == STATUS_OK && any) {
        status = hold_tables(s, table, keep_busy);
        if (status == STATUS_OK && keep_busy)
            status = busy_days(s, day, &busy);
        if (status == STATUS_OK)
            status = drop_days(s, table, &bounds, day, &busy, ret_dropped);
        enum status freed = keep_busy ? db_script(s->db, "UNLOCK TABLES") : STATUS_OK;
        status = status == STATUS_OK ? freed : status;
    }
    vec_release(&bounds.days);
    vec_release(&busy.days);
    return status;
}

static enum status retain_partitions(struct session *s, struct store_retention *op)
{
    const struct {
        const char *table;
        instant cutoff;
        bool keep_busy;
    } rules[] = {{"body", op->bodies, true}, {"step", op->runs, true}, {"attempt", op->runs, true},
                 {"body", op->runs, true},   {"run", op->runs, true},  {"skip", op->skips, false},
                 {"audit", op->audit, false}};
    instant now = INSTANT_NONE;
    enum status status = db_now(s->db, &now);
    if (status == STATUS_OK)
        status = partitions_make(s, now);
    for (size_t i = 0; i < sizeof rules / sizeof *rules && status == STATUS_OK; i++) {
        size_t dropped = 0;
        status = drop_old(s, rules[i].table, rules[i].cutoff, rules[i].keep_busy, &dropped);
        op->removed += (int64_t)dropped;
        op->more |= dropped == DROPS_MOST;
    }
    return status;
}

/* ---- rows ----------------------------------------------------------------------------------------------------------
 */

/* `select` gives keys of rows that may go, PIECE at most; `remove` ends before its list of keys. */
static enum status remove_piece(struct session *s, struct store_retention *op, const char *select, int64_t bound,
                                const char *remove)
{
    VEC(int64_t) keys = {0};
    struct db_statement *q;
    enum status status = db_query(s->db, select, VALUES(db_i(bound), db_i(PIECE)), &q);
    while (status == STATUS_OK && (status = db_step(q)) == STATUS_OK)
        vec_add(&keys, db_number(q, 0));
    db_end(q);
    status = status == STATUS_END ? STATUS_OK : status;
    op->more |= keys.count == PIECE;
    keys.count = int64_unique(keys.items, keys.count);
    for (size_t at = 0, n; at < keys.count && status == STATUS_OK; at += n) {
        int64_t changed = 0;
        struct query d;
        n = piece_length(at, keys.count);
        query_init(&d, remove);
        query_in(&d, keys.items + at, n);
        status = query_exec(s, &d, &changed);
        op->removed += changed;
    }
    vec_release(&keys);
    return status;
}

static int64_t run_bound(instant cutoff)
{
    return run_id_make(day_of(cutoff), 0, 0);
}

static enum status retain_rows(struct session *s, struct store_retention *op)
{
    const struct {
        instant cutoff;
        bool by_day; /* bound: the smallest run id of the day; else milliseconds */
        const char *select, *remove;
    } rules[] = {
        {op->bodies, true,
         "SELECT DISTINCT b.run FROM body b WHERE b.run < ? AND NOT EXISTS (SELECT 1 FROM run r WHERE r.id = b.run AND "
         "r.open_slot IS NOT NULL) ORDER BY b.run LIMIT ?",
         "DELETE FROM body WHERE run"},
        {op->runs, true, "SELECT id FROM run WHERE id < ? AND open_slot IS NULL ORDER BY id LIMIT ?",
         "DELETE FROM run WHERE id"},
        {op->runs, true,
         "SELECT DISTINCT a.run FROM attempt a WHERE a.run < ? AND NOT EXISTS (SELECT 1 FROM run r WHERE r.id = a.run) "
         "ORDER BY a.run LIMIT ?",
         "DELETE FROM attempt WHERE run"},
        {op->runs, true,
         "SELECT DISTINCT a.run FROM step a WHERE a.run < ? AND NOT EXISTS (SELECT 1 FROM run r WHERE r.id = a.run) "
         "ORDER BY a.run LIMIT ?",
         "DELETE FROM step WHERE run"},
        {op->runs, true,
         "SELECT DISTINCT a.run FROM body a WHERE a.run < ? AND NOT EXISTS (SELECT 1 FROM run r WHERE r.id = a.run) "
         "ORDER BY a.run LIMIT ?",
         "DELETE FROM body WHERE run"},
        {op->audit, false, "SELECT id FROM audit WHERE at < ? ORDER BY id LIMIT ?", "DELETE FROM audit WHERE id"},
    };
    enum status status = STATUS_OK;
    for (size_t i = 0; i < sizeof rules / sizeof *rules && status == STATUS_OK; i++)
        if (!instant_is_none(rules[i].cutoff))
            status = remove_piece(s, op, rules[i].select,
                                  rules[i].by_day ? run_bound(rules[i].cutoff) : rules[i].cutoff.ms, rules[i].remove);
    if (status == STATUS_OK && !instant_is_none(op->skips)) {
        /* By day, as partitions go; a day has few enough skips for one statement. */
        int64_t day = -1, changed = 0;
        status =
            db_read_number(s->db, "SELECT MIN(day) FROM skip WHERE day < ?", VALUES(db_i(day_of(op->skips))), &day);
        if (status == STATUS_OK && day > 0)
            status = db_exec(s->db, "DELETE FROM skip WHERE day = ?", VALUES(db_i(day)), &changed);
        op->removed += changed;
        op->more |= changed > 0;
    }
    return status;
}

/* ---- what is not partitioned ---------------------------------------------------------------------------------------
 */

static enum status trim_feed(struct session *s, struct store_retention *op)
{
    int64_t low = 0, changed = 0;
    if (instant_is_none(op->changes))
        return STATUS_OK;
    enum status status = feed_lock(s);
    if (status == STATUS_OK)
        status =
            db_read_number(s->db, "SELECT MAX(seq) FROM (SELECT seq FROM `change` WHERE at < ? ORDER BY seq LIMIT ?) c",
                           VALUES(db_i(op->changes.ms), db_i(PIECE)), &low);
    if (status != STATUS_OK || low == 0)
        return status;
    status =
        db_exec(s->db, "UPDATE sequence SET value = ? WHERE name = ?", VALUES(db_i(low), db_t(SEQUENCE_TRIMMED)), NULL);
    if (status == STATUS_OK)
        status = db_exec(s->db, "DELETE FROM `change` WHERE seq <= ?", VALUES(db_i(low)), &changed);
    op->removed += changed;
    op->more |= changed >= PIECE;
    return status;
}

static enum status trim_requests(struct session *s, struct store_retention *op)
{
    if (instant_is_none(op->requests))
        return STATUS_OK;
    return remove_piece(s, op, "SELECT id FROM request WHERE closed_at < ? ORDER BY closed_at LIMIT ?", op->requests.ms,
                        "DELETE FROM request WHERE id");
}

/* As long as requests: until then a repeated report is known as such. */
static enum status trim_reports(struct session *s, struct store_retention *op)
{
    if (instant_is_none(op->requests))
        return STATUS_OK;
    return remove_piece(s, op, "SELECT id FROM report WHERE created_at < ? ORDER BY created_at LIMIT ?",
                        op->requests.ms, "DELETE FROM report WHERE id");
}

/* What was heard of calls goes with the bodies. */
static enum status trim_alive(struct session *s, struct store_retention *op)
{
    if (instant_is_none(op->bodies))
        return STATUS_OK;
    enum status status = remove_piece(s, op, "SELECT run FROM attempt_log WHERE at < ? ORDER BY at LIMIT ?",
                                      op->bodies.ms, "DELETE FROM attempt_log WHERE run");
    if (status == STATUS_OK)
        status = remove_piece(s, op, "SELECT run FROM alive WHERE at < ? ORDER BY at LIMIT ?", op->bodies.ms,
                              "DELETE FROM alive WHERE run");
    return status;
}

/* Over, by any clock that may be asked. */
static enum status trim_lingers(struct session *s, struct store_retention *op)
{
    instant now = INSTANT_NONE;
    enum status status = db_now(s->db, &now);
    if (status != STATUS_OK)
        return status;
    return remove_piece(s, op, "SELECT run FROM linger WHERE until_at < ? ORDER BY until_at LIMIT ?",
                        now.ms - SPAN_MINUTE, "DELETE FROM linger WHERE run");
}

enum status sql_retention(struct session *s, struct store_retention *op)
{
    op->removed = 0;
    op->more = false;
    bool partitions = s->db->dialect->partitions;
    /* DDL ends a transaction, so partitions go first and by themselves; dropping one twice is harmless. */
    enum status status = partitions ? retain_partitions(s, op) : STATUS_OK;
    if (status == STATUS_OK)
        status = db_begin(s->db, true);
    if (status == STATUS_OK)
        status = boot_alive(s, op->boot);
    if (status == STATUS_OK && !partitions)
        status = retain_rows(s, op);
    if (status == STATUS_OK)
        status = trim_feed(s, op);
    if (status == STATUS_OK)
        status = trim_requests(s, op);
    if (status == STATUS_OK)
        status = trim_lingers(s, op);
    if (status == STATUS_OK)
        status = trim_alive(s, op);
    if (status == STATUS_OK)
        status = trim_reports(s, op);
    if (status == STATUS_OK)
        status = prune_small(s, op);
    return status == STATUS_OK ? db_read_number(s->db, s->db->dialect->size, NULL, 0, &op->size) : status;
}
