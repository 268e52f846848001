/* Intrusive min-heap keyed (due, order): equal times leave in order of insertion. The entry is embedded in the caller's
 * object and remembers its slot, so that removal costs O(log n). The heap owns only its array. */
#ifndef CARILLON_CORE_BASE_HEAP_H
#define CARILLON_CORE_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"

struct heap_entry {
    int64_t due;
    uint64_t order;
    size_t slot; /* 1-based position; 0 = in no heap */
};

struct heap {
    struct heap_entry **entries; /* entries[0] unused */
    size_t count, room;
    uint64_t next_order;
};

void heap_init(struct heap *heap);
void heap_release(struct heap *heap);                                                    /* entries are the caller's */
enum status heap_add(struct heap *heap, struct heap_entry *entry, int64_t due) MUST_USE; /* must not be in a heap */
void heap_remove(struct heap *heap, struct heap_entry *entry); /* does nothing when in no heap */
struct heap_entry *heap_first(const struct heap *heap);        /* NULL when empty */
static inline bool heap_contains(const struct heap_entry *entry)
{
    return entry->slot != 0;
}

#endif
