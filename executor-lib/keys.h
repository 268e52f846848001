/* Memory of idempotency keys: the first answer of a key is given again, a call in progress is joined. Bounded in number
 * and time; refusals are never remembered. With a folder it outlives the process (journal.h). Safe from several
 * threads. */
#ifndef CARILLON_EXECUTOR_LIB_KEYS_H
#define CARILLON_EXECUTOR_LIB_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

struct keys;

enum key_turn {
    KEY_FIRST,       /* yours: work, then keys_finish or keys_forget */
    KEY_INTERRUPTED, /* yours, too; an earlier process began with it and did not end */
    KEY_ANSWERED,    /* *ret_status, *ret_answer (free it) are the first answer's */
    KEY_RUNNING,     /* another thread works on it */
    KEY_CLASH,       /* the same key with another body */
    KEY_NO_MEMORY,
    KEY_NO_DISK, /* that it begins cannot be written down */
    KEY_UNKNOWN, /* keys_find: never heard of */
};

/* folder NULL: in memory only. lifetime_ms by the wall clock. */
enum status keys_create(size_t maximum, int64_t lifetime_ms, const char *folder, struct keys **ret,
                        struct error *err) MUST_USE;
void keys_free(struct keys *keys);
/* wait: while another thread works on the same key; else KEY_RUNNING. */
enum key_turn keys_begin(struct keys *keys, const char *key, const void *body, size_t length, int64_t now_ms, bool wait,
                         int *ret_status, char **ret_answer);
enum key_turn keys_find(struct keys *keys, const char *key, int *ret_status, char **ret_answer);
/* callbacks: where the answer still has to be reported; NULL or "" = nowhere. false: it is remembered, but not on
 * disk. */
bool keys_finish(struct keys *keys, const char *key, int status, const char *answer, const char *callbacks,
                 int64_t now_ms);
void keys_reported(struct keys *keys, const char *key);
void keys_forget(struct keys *keys, const char *key);
/* Ends of an earlier process that nobody has acknowledged. */
void keys_unreported(struct keys *keys,
                     void (*tell)(void *context, const char *key, const char *callbacks, const char *answer),
                     void *context);

#endif
