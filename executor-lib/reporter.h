/* Reports of calls (executor-protocol.md §3), sent in the background by a few threads: signs of life with the newest
 * progress, log lines in order, and the end, which is sent again with growing pauses until it is acknowledged. Each
 * call has an outbox; one thread at a time works on it, so its order is kept. Safe from several threads. */
#ifndef CARILLON_EXECUTOR_LIB_REPORTER_H
#define CARILLON_EXECUTOR_LIB_REPORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reporter;
struct outbox;

struct reporter_options {
    int64_t heartbeat_ms;
    void (*log)(void *context, const char *line);
    void (*settled)(void *context, const char *key); /* the end is acknowledged, or nobody wants it */
    void *context;
};

struct reporter *reporter_create(const struct reporter_options *options); /* NULL: out of memory, or no thread */
/* Waits at most so long for ends that are not acknowledged; then they are dropped. NULL is fine. */
void reporter_stop(struct reporter *reporter, int64_t most_ms);

/* An outbox for one call: `urls` as in X-Carillon-Callback. beats: signs of life by itself. NULL: no url, or out of
 * memory; every function below takes NULL and does nothing. */
struct outbox *outbox_open(struct reporter *reporter, const char *key, const char *urls, bool beats);
void outbox_alive(struct outbox *outbox, const char *body); /* newest state, soon */
void outbox_log(struct outbox *outbox, const char *line);
bool outbox_canceled(struct outbox *outbox); /* the answer to a report said that nobody waits any more */
/* The end. The outbox stays until it is acknowledged, the caller leaves it. */
void outbox_end(struct outbox *outbox, const char *body);
void outbox_leave(struct outbox *outbox);

#endif
