/* Polls show requests and reports again and again until the batch that closes them has committed: a set of ids keeps
 * each from being carried out twice. */
#include <stdlib.h>

#include "scheduler/drive/drive.h"

static struct seen *find(struct seen *set, int64_t id)
{
    struct seen *seen = NULL;
    HASH_FIND(hh, set, &id, sizeof id, seen);
    return seen;
}

static void drop(struct seen **set, struct seen *seen)
{
    HASH_DELETE(hh, *set, seen);
    free(seen);
}

bool seen_has(struct seen *set, int64_t id)
{
    return find(set, id) != NULL;
}

void seen_add(struct seen **set, int64_t id)
{
    struct seen *seen = mem_new(struct seen);
    seen->id = id;
    HASH_ADD(hh, *set, id, sizeof seen->id, seen);
}

void seen_forget(struct seen **set, int64_t id)
{
    struct seen *seen = find(*set, id);
    if (seen)
        drop(set, seen);
}

void seen_closed(struct seen *set, int64_t id, int64_t poll_number)
{
    struct seen *seen = find(set, id);
    if (!seen)
        return;
    seen->closed = true;
    seen->closed_poll = poll_number;
}

void seen_polled(struct seen **set, int64_t poll_number)
{
    for (struct seen *seen = *set, *next; seen; seen = next) {
        next = seen->hh.next;
        if (seen->closed && seen->closed_poll < poll_number)
            drop(set, seen);
    }
}

void seen_release(struct seen **set)
{
    while (*set)
        drop(set, *set);
}
