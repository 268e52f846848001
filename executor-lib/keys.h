/* Memory of idempotency keys: the first answer of a key is given again, a call in progress is joined. Bounded in number
 * and time; refusals are never remembered. Safe from several threads. */
#ifndef CARILLON_EXECUTOR_LIB_KEYS_H
#define CARILLON_EXECUTOR_LIB_KEYS_H

#include <stddef.h>
#include <stdint.h>

struct keys;

enum key_turn {
    KEY_FIRST,    /* yours: work, then keys_finish or keys_forget */
    KEY_ANSWERED, /* *ret_status, *ret_answer (free it) are the first answer's */
    KEY_CLASH,    /* the same key with another body */
    KEY_NO_MEMORY,
};

struct keys *keys_create(size_t maximum, int64_t lifetime_ms);
void keys_free(struct keys *keys);
/* now_ms: any clock that only rises. Waits while another thread works on the same key. */
enum key_turn keys_begin(struct keys *keys, const char *key, const void *body, size_t length, int64_t now_ms,
                         int *ret_status, char **ret_answer);
void keys_finish(struct keys *keys, const char *key, int status, const char *answer, int64_t now_ms);
void keys_forget(struct keys *keys, const char *key);

#endif
