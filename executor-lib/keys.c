#include "executor-lib/keys.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "core/base/map.h"

struct entry {
    char *key;
    uint64_t body; /* hash */
    bool done;
    int status;
    char *answer;
    int64_t at; /* of the answer */
    unsigned waiters;
    struct entry *prev, *next; /* answered ones, oldest first */
    UT_hash_handle hh;
};

struct keys {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct entry *table, *answered;
    size_t count, maximum;
    int64_t lifetime;
};

struct keys *keys_create(size_t maximum, int64_t lifetime_ms)
{
    struct keys *keys = calloc(1, sizeof *keys);
    if (!keys)
        return NULL;
    keys->maximum = maximum;
    keys->lifetime = lifetime_ms;
    (void)pthread_mutex_init(&keys->lock, NULL);
    (void)pthread_cond_init(&keys->changed, NULL);
    return keys;
}

static void drop(struct keys *keys, struct entry *entry)
{
    HASH_DEL(keys->table, entry);
    if (entry->done) {
        DL_DELETE(keys->answered, entry);
        keys->count--;
    }
    free(entry->key);
    free(entry->answer);
    free(entry);
}

void keys_free(struct keys *keys)
{
    struct entry *entry, *next;
    if (!keys)
        return;
    HASH_ITER(hh, keys->table, entry, next)
    drop(keys, entry);
    (void)pthread_cond_destroy(&keys->changed);
    (void)pthread_mutex_destroy(&keys->lock);
    free(keys);
}

static void expire(struct keys *keys, int64_t now_ms)
{
    while (keys->answered && !keys->answered->waiters &&
           (keys->count > keys->maximum || now_ms - keys->answered->at > keys->lifetime))
        drop(keys, keys->answered);
}

static struct entry *add(struct keys *keys, const char *key, uint64_t body)
{
    struct entry *entry = calloc(1, sizeof *entry);
    if (!entry)
        return NULL;
    entry->key = strdup(key);
    entry->body = body;
    if (entry->key)
        HASH_ADD_KEYPTR(hh, keys->table, entry->key, strlen(entry->key), entry);
    if (!entry->key || !entry->hh.tbl) {
        free(entry->key);
        free(entry);
        return NULL;
    }
    return entry;
}

static enum key_turn take_answer(struct entry *entry, int *ret_status, char **ret_answer)
{
    *ret_status = entry->status;
    *ret_answer = strdup(entry->answer);
    return *ret_answer ? KEY_ANSWERED : KEY_NO_MEMORY;
}

enum key_turn keys_begin(struct keys *keys, const char *key, const void *body, size_t length, int64_t now_ms,
                         int *ret_status, char **ret_answer)
{
    uint64_t hash = hash_bytes(body, length, 0);
    enum key_turn turn = KEY_FIRST;
    struct entry *entry;
    (void)pthread_mutex_lock(&keys->lock);
    expire(keys, now_ms);
    for (;;) {
        HASH_FIND(hh, keys->table, key, strlen(key), entry);
        if (!entry) {
            turn = add(keys, key, hash) ? KEY_FIRST : KEY_NO_MEMORY;
            break;
        }
        if (entry->body != hash) {
            turn = KEY_CLASH;
            break;
        }
        if (entry->done) {
            turn = take_answer(entry, ret_status, ret_answer);
            break;
        }
        entry
            ->waiters++; /* keeps it from expiring; it may still be forgotten, so it is looked up anew after the wait */
        (void)pthread_cond_wait(&keys->changed, &keys->lock);
        HASH_FIND(hh, keys->table, key, strlen(key), entry);
        if (entry && entry->waiters)
            entry->waiters--;
    }
    (void)pthread_mutex_unlock(&keys->lock);
    return turn;
}

void keys_finish(struct keys *keys, const char *key, int status, const char *answer, int64_t now_ms)
{
    struct entry *entry;
    (void)pthread_mutex_lock(&keys->lock);
    HASH_FIND(hh, keys->table, key, strlen(key), entry);
    if (entry && !entry->done) {
        entry->answer = strdup(answer);
        if (entry->answer) {
            entry->done = true;
            entry->status = status;
            entry->at = now_ms;
            DL_APPEND(keys->answered, entry);
            keys->count++;
        } else {
            drop(keys, entry);
        }
    }
    (void)pthread_cond_broadcast(&keys->changed);
    (void)pthread_mutex_unlock(&keys->lock);
}

void keys_forget(struct keys *keys, const char *key)
{
    struct entry *entry;
    (void)pthread_mutex_lock(&keys->lock);
    HASH_FIND(hh, keys->table, key, strlen(key), entry);
    if (entry && !entry->done)
        drop(keys, entry);
    (void)pthread_cond_broadcast(&keys->changed);
    (void)pthread_mutex_unlock(&keys->lock);
}
