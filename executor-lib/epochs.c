#include "executor-lib/epochs.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "core/base/map.h"

struct entry {
    char *run;
    int64_t epoch;
    struct entry *prev, *next; /* least recently seen first */
    UT_hash_handle hh;
};

struct epochs {
    pthread_mutex_t lock;
    struct entry *table, *order;
    size_t maximum;
};

struct epochs *epochs_create(size_t maximum)
{
    struct epochs *epochs = calloc(1, sizeof *epochs);
    if (!epochs)
        return NULL;
    epochs->maximum = maximum;
    (void)pthread_mutex_init(&epochs->lock, NULL);
    return epochs;
}

static void drop(struct epochs *epochs, struct entry *entry)
{
    HASH_DEL(epochs->table, entry);
    DL_DELETE(epochs->order, entry);
    free(entry->run);
    free(entry);
}

void epochs_free(struct epochs *epochs)
{
    if (!epochs)
        return;
    while (epochs->order)
        drop(epochs, epochs->order);
    (void)pthread_mutex_destroy(&epochs->lock);
    free(epochs);
}

static void add(struct epochs *epochs, const char *run, int64_t epoch)
{
    struct entry *entry = calloc(1, sizeof *entry);
    if (!entry)
        return;
    entry->run = strdup(run);
    entry->epoch = epoch;
    if (entry->run)
        HASH_ADD_KEYPTR(hh, epochs->table, entry->run, strlen(entry->run), entry);
    if (!entry->run || !entry->hh.tbl) {
        free(entry->run);
        free(entry);
        return;
    }
    DL_APPEND(epochs->order, entry);
    if (HASH_COUNT(epochs->table) > epochs->maximum)
        drop(epochs, epochs->order);
}

bool epochs_admit(struct epochs *epochs, const char *run, int64_t epoch, int64_t *ret_seen)
{
    struct entry *entry;
    bool admitted = true;
    (void)pthread_mutex_lock(&epochs->lock);
    HASH_FIND(hh, epochs->table, run, strlen(run), entry);
    if (!entry) {
        add(epochs, run, epoch);
    } else if (epoch < entry->epoch) {
        admitted = false;
        *ret_seen = entry->epoch;
    } else {
        entry->epoch = epoch;
        DL_DELETE(epochs->order, entry);
        DL_APPEND(epochs->order, entry);
    }
    (void)pthread_mutex_unlock(&epochs->lock);
    return admitted;
}
