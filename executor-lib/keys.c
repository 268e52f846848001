#include "executor-lib/keys.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "core/base/map.h"
#include "executor-lib/journal.h"

#define ENTRY_BYTES 200 /* of one on disk, beside its texts */

/*   (new) ──▶ working ──▶ answered        interrupted ──▶ working        (working: forgotten) */
enum entry_state { ENTRY_WORKING, ENTRY_ANSWERED, ENTRY_INTERRUPTED };

struct entry {
    char *key;
    uint64_t body; /* hash */
    enum entry_state state;
    int status;
    char *answer, *callbacks; /* callbacks NULL: nothing to report */
    int64_t at;               /* of the answer, or of its begin */
    unsigned waiters;
    struct entry *prev, *next; /* those that nobody works on, oldest first */
    UT_hash_handle hh;
};

struct keys {
    struct journal *journal; /* NULL: in memory only */
    pthread_rwlock_t disk;   /* shared: a fact and its entry change together; alone: the file is written anew */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct entry *table;
    struct entry *idle;    /* answered, oldest first */
    struct entry *broken;  /* interrupted, oldest first: few, so only their age counts */
    size_t count, maximum; /* of idle ones */
    size_t bytes;          /* of both lists */
    int64_t lifetime;
};

/* ---- entries; under lock -------------------------------------------------------------------------------------------
 */

static size_t size_of(const struct entry *entry)
{
    return ENTRY_BYTES + strlen(entry->key) + (entry->answer ? strlen(entry->answer) : 0) +
           (entry->callbacks ? strlen(entry->callbacks) : 0);
}

static void idle_add(struct keys *keys, struct entry *entry)
{
    bool answered = entry->state == ENTRY_ANSWERED;
    DL_APPEND(*(answered ? &keys->idle : &keys->broken), entry);
    keys->count += answered;
    keys->bytes += size_of(entry);
}

static void idle_remove(struct keys *keys, struct entry *entry)
{
    bool answered = entry->state == ENTRY_ANSWERED;
    DL_DELETE(*(answered ? &keys->idle : &keys->broken), entry);
    keys->count -= answered;
    keys->bytes -= size_of(entry);
}

static void drop(struct keys *keys, struct entry *entry)
{
    HASH_DEL(keys->table, entry);
    if (entry->state != ENTRY_WORKING)
        idle_remove(keys, entry);
    free(entry->key);
    free(entry->answer);
    free(entry->callbacks);
    free(entry);
}

static struct entry *find(struct keys *keys, const char *key)
{
    struct entry *entry;
    HASH_FIND(hh, keys->table, key, strlen(key), entry);
    return entry;
}

static void expire(struct keys *keys, int64_t now_ms)
{
    while (keys->idle && !keys->idle->waiters &&
           (keys->count > keys->maximum || now_ms - keys->idle->at > keys->lifetime))
        drop(keys, keys->idle);
    while (keys->broken && now_ms - keys->broken->at > keys->lifetime)
        drop(keys, keys->broken);
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

/* ---- life ----------------------------------------------------------------------------------------------------------
 */

static void recall_end(struct keys *keys, struct entry *entry, const struct journal_fact *fact)
{
    entry->answer = strdup(fact->answer);
    entry->callbacks = *fact->callbacks ? strdup(fact->callbacks) : NULL;
    if (!entry->answer || (*fact->callbacks && !entry->callbacks)) {
        entry->state = ENTRY_WORKING; /* no memory: in no list */
        drop(keys, entry);
        return;
    }
    entry->state = ENTRY_ANSWERED;
    entry->status = fact->status;
    idle_add(keys, entry);
}

static void recall(void *context, const struct journal_fact *fact)
{
    struct keys *keys = context;
    struct entry *entry = find(keys, fact->key);
    if (fact->kind == JOURNAL_REPORTED) {
        if (entry && entry->callbacks) {
            idle_remove(keys, entry);
            free(entry->callbacks);
            entry->callbacks = NULL;
            idle_add(keys, entry);
        }
        return;
    }
    if (entry)
        drop(keys, entry);
    if (fact->kind == JOURNAL_FORGOT)
        return;
    entry = add(keys, fact->key, fact->body);
    if (!entry)
        return;
    entry->at = fact->at;
    if (fact->kind == JOURNAL_ENDED) {
        recall_end(keys, entry, fact);
    } else {
        entry->state = ENTRY_INTERRUPTED;
        idle_add(keys, entry);
    }
}

enum status keys_create(size_t maximum, int64_t lifetime_ms, const char *folder, struct keys **ret, struct error *err)
{
    struct keys *keys = calloc(1, sizeof *keys);
    if (!keys)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    keys->maximum = maximum;
    keys->lifetime = lifetime_ms;
    (void)pthread_rwlock_init(&keys->disk, NULL);
    (void)pthread_mutex_init(&keys->lock, NULL);
    (void)pthread_cond_init(&keys->changed, NULL);
    enum status status = folder ? journal_open(folder, recall, keys, &keys->journal, err) : STATUS_OK;
    if (status != STATUS_OK) {
        keys_free(keys);
        return status;
    }
    *ret = keys;
    return STATUS_OK;
}

void keys_free(struct keys *keys)
{
    struct entry *entry, *next;
    if (!keys)
        return;
    HASH_ITER(hh, keys->table, entry, next)
    drop(keys, entry);
    journal_close(keys->journal);
    (void)pthread_cond_destroy(&keys->changed);
    (void)pthread_mutex_destroy(&keys->lock);
    (void)pthread_rwlock_destroy(&keys->disk);
    free(keys);
}

static bool write_down(struct keys *keys, const struct journal_fact *fact)
{
    return !keys->journal || journal_add(keys->journal, fact);
}

static void rewrite_entry(struct keys *keys, const struct entry *entry)
{
    struct journal_fact fact = {.kind = entry->state == ENTRY_ANSWERED ? JOURNAL_ENDED : JOURNAL_BEGUN,
                                .key = entry->key,
                                .body = entry->body,
                                .status = entry->status,
                                .at = entry->at,
                                .answer = entry->answer,
                                .callbacks = entry->callbacks};
    journal_rewrite_add(keys->journal, &fact);
}

/* Everything that still matters into a new file, oldest first, when the old one is mostly history. */
static void rewrite(struct keys *keys)
{
    const struct entry *entry, *next;
    (void)pthread_rwlock_wrlock(&keys->disk);
    (void)pthread_mutex_lock(&keys->lock);
    if (journal_stale(keys->journal, keys->bytes) && journal_rewrite_begin(keys->journal)) {
        DL_FOREACH(keys->idle, entry)
        rewrite_entry(keys, entry);
        HASH_ITER(hh, keys->table, entry, next)
        {
            if (entry->state != ENTRY_ANSWERED)
                rewrite_entry(keys, entry);
        }
        (void)journal_rewrite_end(keys->journal);
    }
    (void)pthread_mutex_unlock(&keys->lock);
    (void)pthread_rwlock_unlock(&keys->disk);
}

static void tidy(struct keys *keys)
{
    if (!keys->journal)
        return;
    (void)pthread_mutex_lock(&keys->lock);
    bool stale = journal_stale(keys->journal, keys->bytes);
    (void)pthread_mutex_unlock(&keys->lock);
    if (stale)
        rewrite(keys);
}

/* ---- turns ---------------------------------------------------------------------------------------------------------
 */

static enum key_turn take_answer(const struct entry *entry, int *ret_status, char **ret_answer)
{
    *ret_status = entry->status;
    *ret_answer = strdup(entry->answer);
    return *ret_answer ? KEY_ANSWERED : KEY_NO_MEMORY;
}

static enum key_turn start(struct keys *keys, struct entry *entry, const char *key, uint64_t body, int64_t now_ms)
{
    bool interrupted = entry != NULL;
    if (interrupted)
        idle_remove(keys, entry);
    else
        entry = add(keys, key, body);
    if (!entry)
        return KEY_NO_MEMORY;
    entry->state = ENTRY_WORKING;
    entry->at = now_ms;
    return interrupted ? KEY_INTERRUPTED : KEY_FIRST;
}

/* Under lock, which is let go while it waits. */
static enum key_turn look(struct keys *keys, const char *key, uint64_t hash, int64_t now_ms, bool wait, int *ret_status,
                          char **ret_answer)
{
    for (;;) {
        struct entry *entry = find(keys, key);
        if (!entry)
            return start(keys, NULL, key, hash, now_ms);
        if (entry->body != hash)
            return KEY_CLASH;
        if (entry->state == ENTRY_ANSWERED)
            return take_answer(entry, ret_status, ret_answer);
        if (entry->state == ENTRY_INTERRUPTED)
            return start(keys, entry, key, hash, now_ms);
        if (!wait)
            return KEY_RUNNING;
        entry->waiters++; /* keeps it from expiring; it may be forgotten, so it is looked up anew after the wait */
        (void)pthread_cond_wait(&keys->changed, &keys->lock);
        entry = find(keys, key);
        if (entry && entry->waiters)
            entry->waiters--;
    }
}

enum key_turn keys_begin(struct keys *keys, const char *key, const void *body, size_t length, int64_t now_ms, bool wait,
                         int *ret_status, char **ret_answer)
{
    uint64_t hash = hash_bytes(body, length, 0);
    (void)pthread_mutex_lock(&keys->lock);
    expire(keys, now_ms);
    enum key_turn turn = look(keys, key, hash, now_ms, wait, ret_status, ret_answer);
    (void)pthread_mutex_unlock(&keys->lock);
    if (turn != KEY_FIRST && turn != KEY_INTERRUPTED)
        return turn;
    struct journal_fact fact = {.kind = JOURNAL_BEGUN, .key = key, .body = hash, .at = now_ms};
    (void)pthread_rwlock_rdlock(&keys->disk);
    bool durable = write_down(keys, &fact);
    (void)pthread_rwlock_unlock(&keys->disk);
    if (durable)
        return turn;
    keys_forget(keys, key);
    return KEY_NO_DISK;
}

enum key_turn keys_find(struct keys *keys, const char *key, int *ret_status, char **ret_answer)
{
    (void)pthread_mutex_lock(&keys->lock);
    const struct entry *entry = find(keys, key);
    enum key_turn turn = !entry                              ? KEY_UNKNOWN
                         : entry->state == ENTRY_ANSWERED    ? take_answer(entry, ret_status, ret_answer)
                         : entry->state == ENTRY_INTERRUPTED ? KEY_INTERRUPTED
                                                             : KEY_RUNNING;
    (void)pthread_mutex_unlock(&keys->lock);
    return turn;
}

static void remember(struct keys *keys, struct entry *entry, int status, const char *answer, const char *callbacks,
                     int64_t now_ms)
{
    entry->answer = strdup(answer);
    entry->callbacks = callbacks ? strdup(callbacks) : NULL;
    if (!entry->answer) {
        drop(keys, entry);
        return;
    }
    entry->state = ENTRY_ANSWERED;
    entry->status = status;
    entry->at = now_ms;
    idle_add(keys, entry);
}

bool keys_finish(struct keys *keys, const char *key, int status, const char *answer, const char *callbacks,
                 int64_t now_ms)
{
    struct journal_fact fact = {
        .kind = JOURNAL_ENDED, .key = key, .status = status, .at = now_ms, .answer = answer, .callbacks = callbacks};
    if (callbacks && !*callbacks)
        callbacks = NULL;
    (void)pthread_rwlock_rdlock(&keys->disk);
    (void)pthread_mutex_lock(&keys->lock);
    struct entry *entry = find(keys, key);
    bool mine = entry && entry->state == ENTRY_WORKING;
    fact.body = mine ? entry->body : 0;
    (void)pthread_mutex_unlock(&keys->lock);
    bool durable = mine && write_down(keys, &fact); /* nobody else touches the entry while it is being worked on */
    (void)pthread_mutex_lock(&keys->lock);
    if (mine)
        remember(keys, entry, status, answer, callbacks, now_ms);
    (void)pthread_cond_broadcast(&keys->changed);
    (void)pthread_mutex_unlock(&keys->lock);
    (void)pthread_rwlock_unlock(&keys->disk);
    tidy(keys);
    return durable;
}

void keys_reported(struct keys *keys, const char *key)
{
    struct journal_fact fact = {.kind = JOURNAL_REPORTED, .key = key};
    (void)pthread_rwlock_rdlock(&keys->disk);
    (void)write_down(keys, &fact); /* else it is reported once more after a restart, which does no harm */
    (void)pthread_mutex_lock(&keys->lock);
    struct entry *entry = find(keys, key);
    if (entry && entry->state == ENTRY_ANSWERED && entry->callbacks) {
        idle_remove(keys, entry);
        free(entry->callbacks);
        entry->callbacks = NULL;
        idle_add(keys, entry);
    }
    (void)pthread_mutex_unlock(&keys->lock);
    (void)pthread_rwlock_unlock(&keys->disk);
}

void keys_forget(struct keys *keys, const char *key)
{
    struct journal_fact fact = {.kind = JOURNAL_FORGOT, .key = key};
    (void)pthread_rwlock_rdlock(&keys->disk);
    (void)write_down(keys, &fact); /* else it counts as interrupted after a kill */
    (void)pthread_mutex_lock(&keys->lock);
    struct entry *entry = find(keys, key);
    if (entry && entry->state == ENTRY_WORKING)
        drop(keys, entry);
    (void)pthread_cond_broadcast(&keys->changed);
    (void)pthread_mutex_unlock(&keys->lock);
    (void)pthread_rwlock_unlock(&keys->disk);
}

void keys_unreported(struct keys *keys,
                     void (*tell)(void *context, const char *key, const char *callbacks, const char *answer),
                     void *context)
{
    const struct entry *entry;
    (void)pthread_mutex_lock(&keys->lock);
    DL_FOREACH(keys->idle, entry)
    if (entry->state == ENTRY_ANSWERED && entry->callbacks)
        tell(context, entry->key, entry->callbacks, entry->answer);
    (void)pthread_mutex_unlock(&keys->lock);
}
