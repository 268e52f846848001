/* The SQL store as a whole: where it connects, its threads, its pool of connections. Private to adapters/store, and to
 * its contract suite (store_test_hooks). */
#ifndef CARILLON_ADAPTERS_STORE_STORE_SQL_H
#define CARILLON_ADAPTERS_STORE_STORE_SQL_H

#include <pthread.h>

#include "adapters/store/db.h"
#include "adapters/store/store_open.h"

/* Who carries an operation out. Order is kept within the writer's lane, which has one thread. */
enum lane { LANE_WRITER, LANE_TAKEOVER, LANE_READER, LANES };

struct op_queue {
    struct store_op *head, **tail;
};

struct lane_state {
    struct op_queue queue;
    pthread_cond_t wake;
    pthread_t *threads;
    size_t thread_count;
};

struct sql_store {
    struct store store;
    const struct db_driver *driver;
    struct db_target targets[LANES]; /* one place; they differ in patience. Texts are the first one's */
    span session_timeout;
    void (*post)(void *context);
    void *context;
    struct db_hooks hooks;

    pthread_mutex_t mutex; /* queues, done, pool */
    struct lane_state lanes[LANES];
    struct op_queue done;
    struct db *pool; /* idle connections of `execute` */
    bool closing;

    pthread_mutex_t writing; /* SQLite: writers of this process take turns */
};

enum lane store_lane(enum store_op_kind kind);
/* Carries `op` out on *conn (opened when NULL, closed and NULL when it broke). Fills status and error. */
void store_carry_out(struct sql_store *store, struct db **conn, enum lane lane, struct store_op *op);

enum status store_threads_start(struct sql_store *store, unsigned readers) MUST_USE;
void store_sql_submit(struct store *store, struct store_op *op);
enum status store_sql_execute(struct store *store, struct store_op *op);
void store_sql_close(struct store *store);
void store_sql_drain(struct sql_store *store);

void queue_init(struct op_queue *queue);
void queue_add(struct op_queue *queue, struct store_op *op);
struct store_op *queue_take(struct op_queue *queue);

/* Wrappers: drain what they hold. NULL when `store` is not one. */
struct store *store_trace_inner(struct store *store);
struct store *store_faulty_drain(struct store *store);
/* Brings store_drain about soon. */
void store_post(struct store *store);

/* Tests only: call `before` around every statement from now on (db.h). Not while operations are under way. */
void store_test_hooks(struct store *store, const struct db_hooks *hooks);

#endif
