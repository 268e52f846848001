/* Arena: memory of one phase (a parsed document, a store answer), freed as a whole. Limited: it cannot be made without
 * a maximum. Returned memory is zeroed and aligned for any type. */
#ifndef CARILLON_CORE_BASE_ARENA_H
#define CARILLON_CORE_BASE_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *blocks;
    size_t used;    /* bytes handed out */
    size_t maximum; /* bytes; beyond it arena_alloc returns NULL */
};

void arena_init(struct arena *arena, size_t maximum);
void arena_release(struct arena *arena);                                 /* usable again afterwards */
void *arena_alloc(struct arena *arena, size_t size);                     /* NULL: out of memory or past the maximum */
char *arena_copy(struct arena *arena, const void *bytes, size_t length); /* NUL added behind */
char *arena_text(struct arena *arena, const char *text);                 /* NULL stays NULL */
#define arena_new(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define arena_array(arena, type, n) ((type *)arena_alloc((arena), (n) * sizeof(type)))

#endif
