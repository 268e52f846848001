#include "core/base/heap.h"

#include <stdlib.h>

void heap_init(struct heap *heap)
{
    *heap = (struct heap){0};
}

void heap_release(struct heap *heap)
{
    free(heap->entries);
    *heap = (struct heap){0};
}

static bool before(const struct heap_entry *a, const struct heap_entry *b)
{
    return a->due != b->due ? a->due < b->due : a->order < b->order;
}

static void place(struct heap *heap, size_t slot, struct heap_entry *entry)
{
    heap->entries[slot] = entry;
    entry->slot = slot;
}

static void rise(struct heap *heap, size_t slot, struct heap_entry *entry)
{
    for (; slot > 1 && before(entry, heap->entries[slot / 2]); slot /= 2)
        place(heap, slot, heap->entries[slot / 2]);
    place(heap, slot, entry);
}

static void sink(struct heap *heap, size_t slot, struct heap_entry *entry)
{
    for (size_t child; (child = slot * 2) <= heap->count; slot = child) {
        if (child < heap->count && before(heap->entries[child + 1], heap->entries[child]))
            child++;
        if (!before(heap->entries[child], entry))
            break;
        place(heap, slot, heap->entries[child]);
    }
    place(heap, slot, entry);
}

enum status heap_add(struct heap *heap, struct heap_entry *entry, int64_t due)
{
    if (heap->count + 2 > heap->room) {
        size_t room = heap->room ? heap->room * 2 : 64;
        struct heap_entry **grown = realloc(heap->entries, room * sizeof *grown);
        if (!grown)
            return STATUS_NO_MEMORY;
        heap->entries = grown;
        heap->room = room;
    }
    entry->due = due;
    entry->order = heap->next_order++;
    rise(heap, ++heap->count, entry);
    return STATUS_OK;
}

void heap_remove(struct heap *heap, struct heap_entry *entry)
{
    size_t slot = entry->slot;
    if (!slot)
        return;
    struct heap_entry *last = heap->entries[heap->count--];
    entry->slot = 0;
    if (last == entry)
        return;
    if (slot > 1 && before(last, heap->entries[slot / 2]))
        rise(heap, slot, last);
    else
        sink(heap, slot, last);
}

struct heap_entry *heap_first(const struct heap *heap)
{
    return heap->count ? heap->entries[1] : NULL;
}
