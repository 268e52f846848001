/* Makes the n-th operation fail; all others go through. The failing one does not reach the store, except for UNKNOWN,
 * which is carried out and whose answer is "lost". */
#include <pthread.h>
#include <stdlib.h>

#include "adapters/store/store_sql.h"
#include "core/base/mem.h"

struct faulty {
    struct store store;
    struct store *inner;
    pthread_mutex_t mutex;
    uint64_t left; /* operations until the failing one; 0 = it is over */
    enum status status;
    struct op_queue done;
};

struct replaced {
    struct faulty *faulty;
    void (*done)(struct store_op *op);
    void *owner;
};

static bool turn(struct faulty *f)
{
    (void)pthread_mutex_lock(&f->mutex);
    bool now = f->left && --f->left == 0;
    (void)pthread_mutex_unlock(&f->mutex);
    return now;
}

static void spoil(const struct faulty *f, struct store_op *op)
{
    op->status = error_set(&op->error, f->status, "made to fail: %s", status_text(f->status));
}

static void lost_done(struct store_op *op)
{
    struct replaced *r = op->owner;
    op->done = r->done;
    op->owner = r->owner;
    spoil(r->faulty, op);
    free(r);
    op->done(op);
}

static void faulty_submit(struct store *store, struct store_op *op)
{
    struct faulty *f = (struct faulty *)store;
    if (!turn(f)) {
        store_submit(f->inner, op);
    } else if (f->status == STATUS_UNKNOWN) {
        struct replaced *r = mem_new(struct replaced);
        *r = (struct replaced){f, op->done, op->owner};
        op->done = lost_done;
        op->owner = r;
        store_submit(f->inner, op);
    } else {
        spoil(f, op);
        (void)pthread_mutex_lock(&f->mutex);
        queue_add(&f->done, op);
        (void)pthread_mutex_unlock(&f->mutex);
        store_post(f->inner);
    }
}

static enum status faulty_execute(struct store *store, struct store_op *op)
{
    struct faulty *f = (struct faulty *)store;
    if (!turn(f))
        return store_execute(f->inner, op);
    if (f->status == STATUS_UNKNOWN)
        (void)store_execute(f->inner, op);
    spoil(f, op);
    return op->status;
}

static void drain(struct faulty *f)
{
    for (;;) {
        (void)pthread_mutex_lock(&f->mutex);
        struct store_op *op = queue_take(&f->done);
        (void)pthread_mutex_unlock(&f->mutex);
        if (!op)
            return;
        op->done(op);
    }
}

static void faulty_close(struct store *store)
{
    struct faulty *f = (struct faulty *)store;
    drain(f);
    f->inner->ops->close(f->inner);
    (void)pthread_mutex_destroy(&f->mutex);
    free(f);
}

static const struct store_ops faulty_ops = {.name = "faulty",
                                            .submit = faulty_submit,
                                            .execute = faulty_execute,
                                            .close = faulty_close};

struct store *store_faulty(struct store *inner, uint64_t n, enum status status)
{
    struct faulty *f = mem_new(struct faulty);
    *f = (struct faulty){.store = {&faulty_ops}, .inner = inner, .left = n, .status = status};
    (void)pthread_mutex_init(&f->mutex, NULL);
    queue_init(&f->done);
    return &f->store;
}

struct store *store_faulty_drain(struct store *store)
{
    if (store->ops != &faulty_ops)
        return NULL;
    drain((struct faulty *)store);
    return ((struct faulty *)store)->inner;
}
