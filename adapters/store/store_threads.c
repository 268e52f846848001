/* The asynchronous face. Each lane is a queue with threads of its own, each thread with a connection of its own. What
 * is done lies in a list until the owner drains it on its own thread. While a commit runs, the scheduler gathers the
 * next batch: so one transaction a batch is already one a group. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "adapters/store/store_sql.h"
#include "core/base/mem.h"

void queue_init(struct op_queue *queue)
{
    queue->head = NULL;
    queue->tail = &queue->head;
}

void queue_add(struct op_queue *queue, struct store_op *op)
{
    op->next = NULL;
    *queue->tail = op;
    queue->tail = &op->next;
}

struct store_op *queue_take(struct op_queue *queue)
{
    struct store_op *op = queue->head;
    if (op) {
        queue->head = op->next;
        if (!queue->head)
            queue->tail = &queue->head;
    }
    return op;
}

static struct sql_store *sql_store(struct store *store)
{
    return (struct sql_store *)store;
}

struct worker {
    struct sql_store *store;
    enum lane lane;
};

/* Waits for work. False: nothing came for a while (the connection wants a ping) or the store closes. */
static struct store_op *wait_for_work(struct sql_store *store, struct lane_state *lane, span patience)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(patience / 1000);
    until.tv_nsec += (long)(patience % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    (void)pthread_mutex_lock(&store->mutex);
    while (!lane->queue.head && !store->closing)
        if (pthread_cond_timedwait(&lane->wake, &store->mutex, &until) == ETIMEDOUT)
            break;
    struct store_op *op = store->closing ? NULL : queue_take(&lane->queue);
    (void)pthread_mutex_unlock(&store->mutex);
    return op;
}

static void complete(struct sql_store *store, struct store_op *op)
{
    (void)pthread_mutex_lock(&store->mutex);
    queue_add(&store->done, op);
    (void)pthread_mutex_unlock(&store->mutex);
    if (store->post)
        store->post(store->context);
}

static bool closing(struct sql_store *store)
{
    (void)pthread_mutex_lock(&store->mutex);
    bool now = store->closing;
    (void)pthread_mutex_unlock(&store->mutex);
    return now;
}

static void *work(void *argument)
{
    struct worker worker = *(struct worker *)argument;
    free(argument);
    struct sql_store *store = worker.store;
    /* Idle connections are ended by the server after half a session (data-model.md §1): ping well before that. */
    span patience = store->session_timeout > 0 ? store->session_timeout / 6 : 10 * SPAN_SECOND;
    struct db *conn = NULL;
    while (!closing(store)) {
        struct store_op *op = wait_for_work(store, &store->lanes[worker.lane], patience);
        if (op) {
            store_carry_out(store, &conn, worker.lane, op);
            complete(store, op);
        } else if (conn && conn->driver->ping(conn) != STATUS_OK) {
            db_close(conn);
            conn = NULL;
        }
    }
    db_close(conn);
    return NULL;
}

static enum status start_lane(struct sql_store *store, enum lane lane, size_t count)
{
    struct lane_state *state = &store->lanes[lane];
    state->threads = mem_alloc(count * sizeof *state->threads);
    while (state->thread_count < count) {
        struct worker *worker = mem_new(struct worker);
        *worker = (struct worker){store, lane};
        if (pthread_create(&state->threads[state->thread_count], NULL, work, worker) != 0) {
            free(worker);
            return STATUS_UNAVAILABLE;
        }
        state->thread_count++;
    }
    return STATUS_OK;
}

enum status store_threads_start(struct sql_store *store, unsigned readers)
{
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&store->mutex, NULL);
    (void)pthread_mutex_init(&store->writing, NULL);
    for (size_t i = 0; i < LANES; i++) {
        queue_init(&store->lanes[i].queue);
        (void)pthread_cond_init(&store->lanes[i].wake, &attr);
    }
    (void)pthread_condattr_destroy(&attr);
    queue_init(&store->done);
    enum status status = start_lane(store, LANE_WRITER, 1);
    if (status == STATUS_OK)
        status = start_lane(store, LANE_TAKEOVER, 1);
    return status == STATUS_OK ? start_lane(store, LANE_READER, readers ? readers : 2) : status;
}

void store_sql_submit(struct store *face, struct store_op *op)
{
    struct sql_store *store = sql_store(face);
    struct lane_state *lane = &store->lanes[store_lane(op->kind)];
    (void)pthread_mutex_lock(&store->mutex);
    queue_add(&lane->queue, op);
    (void)pthread_cond_signal(&lane->wake);
    (void)pthread_mutex_unlock(&store->mutex);
}

/* Blocking use: a connection from the pool, put back afterwards; so there are as many as threads that ask at once. */
enum status store_sql_execute(struct store *face, struct store_op *op)
{
    struct sql_store *store = sql_store(face);
    bool takeover = store_lane(op->kind) == LANE_TAKEOVER;
    struct db *conn = NULL;
    if (!takeover) {
        (void)pthread_mutex_lock(&store->mutex);
        conn = store->pool;
        if (conn)
            store->pool = conn->next;
        (void)pthread_mutex_unlock(&store->mutex);
    }
    store_carry_out(store, &conn, store_lane(op->kind), op);
    if (conn && takeover) {
        db_close(conn);
    } else if (conn) {
        (void)pthread_mutex_lock(&store->mutex);
        conn->next = store->pool;
        store->pool = conn;
        (void)pthread_mutex_unlock(&store->mutex);
    }
    return op->status;
}

void store_sql_drain(struct sql_store *store)
{
    for (;;) {
        (void)pthread_mutex_lock(&store->mutex);
        struct store_op *op = queue_take(&store->done);
        (void)pthread_mutex_unlock(&store->mutex);
        if (!op)
            return;
        op->next = NULL;
        op->done(op); /* may submit anew, may free the operation */
    }
}

static void target_free(struct db_target *t)
{
    free(t->path);
    free(t->host);
    free(t->user);
    free(t->password);
    free(t->database);
    free(t->tls_ca);
}

void store_sql_close(struct store *face)
{
    struct sql_store *store = sql_store(face);
    (void)pthread_mutex_lock(&store->mutex);
    store->closing = true;
    for (size_t i = 0; i < LANES; i++)
        (void)pthread_cond_broadcast(&store->lanes[i].wake);
    (void)pthread_mutex_unlock(&store->mutex);
    for (size_t i = 0; i < LANES; i++) {
        for (size_t t = 0; t < store->lanes[i].thread_count; t++)
            (void)pthread_join(store->lanes[i].threads[t], NULL);
        free(store->lanes[i].threads);
    }
    store_sql_drain(store);
    for (size_t i = 0; i < LANES; i++) {
        struct store_op *op;
        while ((op = queue_take(&store->lanes[i].queue))) {
            op->status = error_set(&op->error, STATUS_CANCELED, "the store was closed before this began");
            op->done(op);
        }
        (void)pthread_cond_destroy(&store->lanes[i].wake);
    }
    while (store->pool) {
        struct db *conn = store->pool;
        store->pool = conn->next;
        db_close(conn);
    }
    (void)pthread_mutex_destroy(&store->mutex);
    (void)pthread_mutex_destroy(&store->writing);
    target_free(&store->targets[0]);
    free(store);
}
