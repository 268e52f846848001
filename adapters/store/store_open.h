/* Opens a store by URL: "sqlite:/path/carillon.db", "mysql://user@host:port/database". Applies the migrations under a
 * lock, starts its threads (one writer, `readers` for reads). Completions are handed over by `post`: called on a store
 * thread, it must bring `store_drain` onto the owner's loop soon (uv_async, or a condition variable in tests). */
#ifndef CARILLON_ADAPTERS_STORE_STORE_OPEN_H
#define CARILLON_ADAPTERS_STORE_STORE_OPEN_H

#include "core/ports/store.h"

struct store_options {
    const char *url;
    const char *password; /* NULL or "" = none */
    const char *tls_ca;   /* MySQL: verify the server against this file; NULL or "" = no TLS asked for */
    unsigned readers;     /* connections for reads; 0 = 2 */
    span session_timeout; /* of the coordination: bounds how long a stopped owner may hold row locks (data-model.md §1)
                           */
    int64_t max_size;     /* bytes, SQLite; 0 = no limit */
    void (*post)(void *context);
    void *context;
};

/* STATUS_UNAVAILABLE (cannot be reached), READ_ONLY, FULL, IN_USE, CORRUPT, INVALID (url, or a schema newer than this
 * program): clear text. */
enum status store_open(const struct store_options *options, struct store **ret, struct error *err) MUST_USE;
/* Calls `done` of everything that has completed, on the caller's thread. */
void store_drain(struct store *store);

/* Wrappers around any store: `trace` tells every operation with status and time; `faulty` makes the n-th operation (1…)
 * fail. They own the inner store (closed with them). */
struct store *store_trace(struct store *inner, void (*line)(void *context, const char *text), void *context);
struct store *store_faulty(struct store *inner, uint64_t n, enum status status);

#endif
