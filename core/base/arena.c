#include "core/base/arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

struct arena_block {
    struct arena_block *next;
    size_t used, room;
    alignas(max_align_t) unsigned char bytes[];
};

#define BLOCK_MIN 1024
#define BLOCK_MAX ((size_t)64 * 1024)

void arena_init(struct arena *arena, size_t maximum)
{
    *arena = (struct arena){.maximum = maximum};
}

void arena_release(struct arena *arena)
{
    while (arena->blocks) {
        struct arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
    arena->used = 0;
}

static struct arena_block *grow(struct arena *arena, size_t size)
{
    size_t room = arena->blocks ? arena->blocks->room * 2 : BLOCK_MIN;
    if (room > BLOCK_MAX)
        room = BLOCK_MAX;
    if (room < size)
        room = size;
    struct arena_block *block = calloc(1, sizeof *block + room);
    if (!block)
        return NULL;
    block->room = room;
    block->next = arena->blocks;
    arena->blocks = block;
    return block;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    size_t align = alignof(max_align_t);
    if (size > arena->maximum || arena->used > arena->maximum - size)
        return NULL;
    size = size ? (size + align - 1) / align * align : align;
    struct arena_block *block = arena->blocks;
    if (!block || block->room - block->used < size)
        block = grow(arena, size);
    if (!block)
        return NULL;
    void *memory = block->bytes + block->used;
    block->used += size;
    arena->used += size;
    return memory;
}

char *arena_copy(struct arena *arena, const void *bytes, size_t length)
{
    char *copy = arena_alloc(arena, length + 1);
    if (copy && length)
        memcpy(copy, bytes, length);
    return copy;
}

char *arena_text(struct arena *arena, const char *text)
{
    return text ? arena_copy(arena, text, strlen(text)) : NULL;
}
