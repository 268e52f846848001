/* Tells every operation with status and time. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "adapters/store/store_sql.h"
#include "core/base/mem.h"

struct trace {
    struct store store;
    struct store *inner;
    void (*line)(void *context, const char *text);
    void *context;
};

/* Stands in the operation's place while it is under way. */
struct traced {
    struct trace *trace;
    void (*done)(struct store_op *op);
    void *owner;
    int64_t since;
};

static int64_t micros(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void tell(struct trace *trace, const struct store_op *op, int64_t since)
{
    char text[ERROR_TEXT_MAX + 100];
    (void)snprintf(text, sizeof text, "store %s %s %lld us%s%s", store_op_name(op->kind), status_text(op->status),
                   (long long)(micros() - since), op->status == STATUS_OK ? "" : ": ",
                   op->status == STATUS_OK ? "" : op->error.text);
    trace->line(trace->context, text);
}

static void traced_done(struct store_op *op)
{
    struct traced *t = op->owner;
    op->done = t->done;
    op->owner = t->owner;
    tell(t->trace, op, t->since);
    free(t);
    op->done(op);
}

static void trace_submit(struct store *store, struct store_op *op)
{
    struct trace *trace = (struct trace *)store;
    struct traced *t = mem_new(struct traced);
    *t = (struct traced){trace, op->done, op->owner, micros()};
    op->done = traced_done;
    op->owner = t;
    store_submit(trace->inner, op);
}

static enum status trace_execute(struct store *store, struct store_op *op)
{
    struct trace *trace = (struct trace *)store;
    int64_t since = micros();
    enum status status = store_execute(trace->inner, op);
    tell(trace, op, since);
    return status;
}

static void trace_close(struct store *store)
{
    struct trace *trace = (struct trace *)store;
    trace->inner->ops->close(trace->inner);
    free(trace);
}

static const struct store_ops trace_ops = {.name = "trace",
                                           .submit = trace_submit,
                                           .execute = trace_execute,
                                           .close = trace_close};

struct store *store_trace(struct store *inner, void (*line)(void *context, const char *text), void *context)
{
    struct trace *trace = mem_new(struct trace);
    *trace = (struct trace){.store = {&trace_ops}, .inner = inner, .line = line, .context = context};
    return &trace->store;
}

struct store *store_trace_inner(struct store *store)
{
    return store->ops == &trace_ops ? ((struct trace *)store)->inner : NULL;
}
