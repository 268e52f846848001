/* What the operations of the SQL store share: one execution of one operation (`struct session`), queries put together
 * from parts, answers in the operation's arena, multi-row writes. Private to adapters/store.
 *
 * An operation is a function `sql_<member>(session, inputs and outputs)`; store_run.c begins and ends its transaction,
 * repeats it after a deadlock and turns failures into words. A function must therefore be repeatable from its start. */
#ifndef CARILLON_ADAPTERS_STORE_SQL_SESSION_H
#define CARILLON_ADAPTERS_STORE_SQL_SESSION_H

#include "adapters/store/db.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/ports/store.h"

struct session {
    struct db *db;
    struct arena *arena;
    struct error *error; /* of the operation; text of one's own goes here */
    bool no_room;        /* an answer did not fit into the arena */
};

#define LIST_MAX 256 /* items of one IN (…); longer lists are walked in pieces */
#define SQL_MAX ((size_t)1 << 20)

/* ---- operations ----------------------------------------------------------------------------------------------------
 */

#define SQL_OPERATION(symbol, member, name) \
    enum status sql_##member(struct session *s, struct store_##member *op) MUST_USE;
STORE_OP_TABLE(SQL_OPERATION)
#undef SQL_OPERATION

/* ---- answers -------------------------------------------------------------------------------------------------------
 */

const char *session_text(struct session *s, struct db_statement *q, unsigned column); /* NULL for NULL */
const char *session_copy(struct session *s, const char *text);
/* Array → arena; NULL and no_room when it does not fit. */
void *session_keep(struct session *s, const void *items, size_t count, size_t size);
#define KEEP(s, vec) session_keep((s), (vec).items, (vec).count, sizeof *(vec).items)

/* ---- queries from parts --------------------------------------------------------------------------------------------
 */

struct query {
    struct str sql;
    VEC(struct db_value) values;
    struct db_statement *rows;
};

void query_init(struct query *q, const char *sql);
void query_add(struct query *q, const char *sql);
void query_value(struct query *q, struct db_value value);
void query_with(struct query *q, const char *sql, struct db_value value); /* both */
/* " IN (?, …)" filled up to the next prepared size by repeating the last. 1 ≤ count ≤ LIST_MAX. */
void query_in(struct query *q, const int64_t *numbers, size_t count);
enum status query_open(struct session *s, struct query *q) MUST_USE;
enum status query_step(struct query *q) MUST_USE; /* OK = a row, END */
enum status query_exec(struct session *s, struct query *q, int64_t *ret_changed) MUST_USE;
/* END becomes OK, everything is freed. */
enum status query_close(struct query *q, enum status status) MUST_USE;

/* How many of numbers[at…] make one piece: at most LIST_MAX; for run ids also of one day (they must be sorted). */
size_t piece_length(size_t at, size_t count);
size_t piece_of_day(const int64_t *runs, size_t at, size_t count);
int int64_compare(const void *a, const void *b);
/* Sort, drop doubles; returns the new count. */
size_t int64_unique(int64_t *numbers, size_t count);

/* ---- many rows -----------------------------------------------------------------------------------------------------
 */

enum bulk_id {
    BULK_FIRE,
    BULK_RUN,
    BULK_STEP,
    BULK_ATTEMPT,
    BULK_BODY,
    BULK_SKIP,
    BULK_ACTIVATION,
    BULK_STATE,
    BULK_SLOT,
    BULK_SLOT_LOAD,
    BULK_CHANGE,
    BULK_AUDIT,
    BULK_REQUEST,
    BULK_TRIGGER,
    BULK_LINGER,
    BULK_KINDS
};

struct bulk {
    enum bulk_id id;
    size_t count;
    /* Fills one row's values, as many as the table of bulk_write has columns; what they point to stays until it is
     * done. */
    void (*fill)(void *context, size_t index, struct db_value *values);
    void (*exists)(void *context, size_t index); /* NULL: a duplicate fails the whole */
    void *context;
};

/* Plain multi-row INSERT (or upsert, as the table of rows says) in prepared sizes; a duplicate is looked for by halves.
 */
enum status bulk_write(struct session *s, const struct bulk *bulk) MUST_USE;

/* UPDATE of many rows with a value each, in pieces: before, WHEN key THEN value …, after [set], keys IN (…), tail
 * [last]. */
struct sql_case {
    int64_t key;
    struct db_value value;
};
struct case_update {
    const char *before, *after, *keys, *tail, *tail2;
    struct db_value set, last, last2; /* `?` of them is added when they are not NULL */
};
enum status case_update(struct session *s, const struct case_update *update, const struct sql_case *cases,
                        size_t count) MUST_USE;

/* ---- small things that several operations do ------------------------------------------------------------------------
 */

#define SEQUENCE_CHANGE "change"
#define SEQUENCE_TRIMMED "change_trimmed"
#define SEQUENCE_SWEPT "swept" /* the job that housekeeping looked at last */
#define SEQUENCE_INSTANCE "instance"

/* Takes `count` numbers; the first is returned. Locks the row until the end of the transaction. */
enum status sequence_take(struct session *s, const char *name, int64_t count, int64_t *ret_first) MUST_USE;
/* Locks the head of the feed: whoever holds it is the only writer of definitions. */
enum status feed_lock(struct session *s) MUST_USE;
enum status feed_add(struct session *s, const struct change_row *changes, size_t count, instant now) MUST_USE;

struct audit_write {
    const char *action, *kind, *project, *name, *before, *after;
};
enum status audit_add(struct session *s, const char *who, instant now, const struct audit_write *rows,
                      size_t count) MUST_USE;

/* FENCED when the boot has a successor or does not exist; else its row is locked against being fenced until the end of
 * the transaction. Called last: a process's own batches need that row, and must not wait while a take-over waits for
 * the locks of somebody else. */
enum status boot_hold(struct session *s, int64_t boot) MUST_USE;
/* The same without a lock, for what does no harm when it comes late. */
enum status boot_alive(struct session *s, int64_t boot) MUST_USE;
enum status fenced(struct session *s);

#endif
