/* Carrying one operation out: connection, transaction, repetition, words. */
#include <string.h>
#include <time.h>

#include "adapters/store/sql_session.h"
#include "adapters/store/store_retention.h"
#include "adapters/store/store_sql.h"

enum mode {
    MODE_PLAIN, /* no transaction: single statements */
    MODE_READ,
    MODE_WRITE,
    MODE_OWN /* the operation begins its transaction itself */
};

typedef enum status operation(struct session *s, struct store_op *op);

#define CALL(symbol, member, name)                                           \
    static enum status call_##member(struct session *s, struct store_op *op) \
    {                                                                        \
        return sql_##member(s, &op->member);                                 \
    }
STORE_OP_TABLE(CALL)
#undef CALL

static operation *const operations[STORE_OPS] = {
#define OPERATION(symbol, member, name) [symbol] = call_##member,
    STORE_OP_TABLE(OPERATION)
#undef OPERATION
};

static const struct trait {
    enum lane lane;
    enum mode mode;
} traits[STORE_OPS] = {
    /* A row each, so that added rows do not meet. */
    /* clang-format off */
    [STORE_CLUSTER] = {LANE_READER, MODE_PLAIN},
    [STORE_BOOT_START] = {LANE_READER, MODE_WRITE},
    [STORE_BOOT_READ] = {LANE_READER, MODE_PLAIN},
    [STORE_BOOT_FENCE] = {LANE_TAKEOVER, MODE_WRITE},
    [STORE_BOOTS] = {LANE_READER, MODE_PLAIN},
    [STORE_LEASE] = {LANE_READER, MODE_WRITE},
    [STORE_NODES] = {LANE_READER, MODE_READ},
    [STORE_NODE_SET] = {LANE_READER, MODE_WRITE},
    [STORE_NODE_FORGET] = {LANE_READER, MODE_WRITE},
    [STORE_RETENTION] = {LANE_READER, MODE_OWN},
    [STORE_SLOTS_READ] = {LANE_READER, MODE_PLAIN},
    [STORE_SLOTS_TAKE] = {LANE_TAKEOVER, MODE_WRITE},
    [STORE_SLOTS_LOAD] = {LANE_READER, MODE_READ},
    [STORE_DECIDED] = {LANE_WRITER, MODE_WRITE},
    [STORE_RUNS_ADOPT] = {LANE_TAKEOVER, MODE_WRITE},
    [STORE_RUNS_OPEN] = {LANE_READER, MODE_READ},
    [STORE_POLL] = {LANE_READER, MODE_READ},
    [STORE_BATCH] = {LANE_WRITER, MODE_WRITE},
    [STORE_BATCH_CHECK] = {LANE_READER, MODE_WRITE},
    [STORE_DEFINITIONS] = {LANE_READER, MODE_READ},
    [STORE_PUT] = {LANE_READER, MODE_WRITE},
    [STORE_DELETE] = {LANE_READER, MODE_WRITE},
    [STORE_LIST] = {LANE_READER, MODE_READ},
    [STORE_REQUEST_ADD] = {LANE_READER, MODE_WRITE},
    [STORE_RUNS_LIST] = {LANE_READER, MODE_READ},
    [STORE_RUN_READ] = {LANE_READER, MODE_READ},
    [STORE_LEDGER] = {LANE_READER, MODE_READ},
    [STORE_REPORT_READ] = {LANE_READER, MODE_READ},
    [STORE_REPORT_ADD] = {LANE_READER, MODE_WRITE},
    [STORE_TRIGGERS] = {LANE_READER, MODE_READ},
    [STORE_TOKEN_ADD] = {LANE_READER, MODE_WRITE},
    [STORE_TOKENS] = {LANE_READER, MODE_READ},
    [STORE_TOKEN_END] = {LANE_READER, MODE_WRITE},
    [STORE_TOKEN_FIND] = {LANE_READER, MODE_PLAIN},
    [STORE_AUDIT] = {LANE_READER, MODE_READ},
    [STORE_INSTANCE_SET] = {LANE_READER, MODE_WRITE},
    [STORE_INSTANCES] = {LANE_READER, MODE_READ},
    [STORE_ALIVE] = {LANE_READER, MODE_WRITE},
    [STORE_ALIVE_READ] = {LANE_READER, MODE_READ},
    [STORE_LOG_READ] = {LANE_READER, MODE_READ},
    [STORE_PUTS] = {LANE_READER, MODE_WRITE},
    [STORE_APP_LEASE] = {LANE_READER, MODE_WRITE},
    [STORE_APP_LEASES] = {LANE_READER, MODE_PLAIN},
    /* clang-format on */
    [STORE_FAILURES] = {LANE_READER, MODE_READ},
};

#define AGAIN_MAX 8             /* repetitions after a deadlock or a lock that did not come free */
#define TAKEOVER_PATIENCE 15000 /* ms: longer than a stopped owner can hold its row locks */

enum lane store_lane(enum store_op_kind kind)
{
    return traits[kind].lane;
}

static int64_t ticks(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void rest(int64_t ms)
{
    struct timespec t = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    (void)nanosleep(&t, NULL);
}

static void drop(struct db **conn)
{
    db_close(*conn);
    *conn = NULL;
}

static enum status connect(struct sql_store *store, enum lane lane, struct db **conn, struct error *err)
{
    if (*conn && !(*conn)->broken)
        return STATUS_OK;
    drop(conn);
    enum status status = db_open(store->driver, &store->targets[lane], &store->hooks, conn, err);
    if (status == STATUS_DENIED || status == STATUS_INVALID)
        status = STATUS_UNAVAILABLE; /* it was fine when the store was opened: others' doing, and it may pass */
    return status;
}

static enum status transact(struct db *db, const struct trait *trait, struct session *s, struct store_op *op)
{
    enum status status = STATUS_OK;
    if (trait->mode == MODE_READ || trait->mode == MODE_WRITE)
        status = db_begin(db, trait->mode == MODE_WRITE);
    if (status == STATUS_OK)
        status = operations[op->kind](s, op);
    if (status == STATUS_OK && s->no_room)
        status = error_set(&op->error, STATUS_TOO_BIG, "the answer is too big: ask for less at a time");
    if (status == STATUS_OK)
        status = db_commit(db);
    if (status != STATUS_OK)
        db_rollback(db);
    return status;
}

/* One try. Writers of a store with one writer take turns here. */
static enum status attempt(struct sql_store *store, struct db **conn, enum lane lane, struct store_op *op)
{
    const struct trait *trait = &traits[op->kind];
    op->error = (struct error){.code = STATUS_OK};
    enum status status = connect(store, lane, conn, &op->error);
    if (status != STATUS_OK)
        return status;
    struct db *db = *conn;
    struct session s = {.db = db, .arena = &op->arena, .error = &op->error};
    bool turns = db->dialect->one_writer && (trait->mode == MODE_WRITE || trait->mode == MODE_OWN);
    db->error = (struct error){.code = STATUS_OK};
    db->class = DB_FINE;
    if (turns)
        (void)pthread_mutex_lock(&store->writing);
    status = transact(db, trait, &s, op);
    if (turns)
        (void)pthread_mutex_unlock(&store->writing);
    if (status != STATUS_OK && (op->error.code != status || !op->error.text[0]))
        (void)error_set(&op->error, status, "%s", db->error.text[0] ? db->error.text : status_text(status));
    return status;
}

#define PARTITION_TRIES 3 /* of at most 2 s each: behind us others wait for this connection */

/* The server's own work (statistics, purge) holds tables and its dictionary for moments, on a slow disk for longer:
 * such a wait says nothing against the next try, and what was made already is not made again. */
static enum status make_partitions(struct db *db, struct store_op *op)
{
    instant now = INSTANT_NONE;
    struct session s = {.db = db, .arena = &op->arena, .error = &op->error};
    enum status status = db_now(db, &now);
    if (status != STATUS_OK)
        return status;
    for (int tries = 1;; tries++) {
        db->class = DB_FINE;
        status = partitions_make(&s, now);
        if (status == STATUS_OK || db->class != DB_AGAIN || tries == PARTITION_TRIES)
            return status;
    }
}

/* May the operation be sent again, and has what stood in its way been dealt with? Nothing of it has happened. */
static bool once_more(struct db **conn, struct store_op *op, int tries, bool was_used, int64_t since, bool *made)
{
    enum db_class class = *conn ? (*conn)->class : DB_FINE;
    bool takeover = store_lane(op->kind) == LANE_TAKEOVER;
    switch (class) {
    case DB_AGAIN:
        /* Housekeeping comes again by itself; waiting for a table to come free would hold up those behind it. */
        if (takeover ? ticks() - since > TAKEOVER_PATIENCE : tries >= (op->kind == STORE_RETENTION ? 1 : AGAIN_MAX))
            return false;
        rest(tries < 6 ? (int64_t)1 << tries : 64);
        return true;
    case DB_LOST: /* an idle connection that the server has closed meanwhile */
        drop(conn);
        return was_used && tries == 1;
    case DB_NO_PARTITION:
        if (*made) /* the first try may have met a lost connection or a lock: that is not this remedy's turn */
            return false;
        *made = true;
        return make_partitions(*conn, op) == STATUS_OK;
    case DB_FINE:
    case DB_DUPLICATE:
    case DB_DONE_BEFORE:
    case DB_REFUSED:
        break;
    }
    return false;
}

void store_carry_out(struct sql_store *store, struct db **conn, enum lane lane, struct store_op *op)
{
    int64_t since = ticks();
    bool made = false; /* the partitions of the days to come */
    for (int tries = 1;; tries++) {
        bool was_used = *conn && (*conn)->used;
        op->status = attempt(store, conn, lane, op);
        if (*conn)
            (*conn)->used = true;
        if (op->status == STATUS_OK)
            break;
        if (op->status == STATUS_UNKNOWN || !once_more(conn, op, tries, was_used, since, &made))
            break;
    }
    if (*conn && (*conn)->broken)
        drop(conn);
}
