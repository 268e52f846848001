/* Growable array of one type: `VEC(struct run) runs = {0}; struct run *r = vec_push(&runs); … vec_release(&runs);`
 * For roof and adapters: it ends the process when memory is out (core/base/mem.h). Elements are zeroed when pushed. */
#ifndef CARILLON_CORE_BASE_VEC_H
#define CARILLON_CORE_BASE_VEC_H

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

#define VEC(type)           \
    struct {                \
        type *items;        \
        size_t count, room; \
    }

#define vec_reserve(v, more)                                                              \
    ((v)->count + (more) <= (v)->room ? (void)0                                           \
                                      : (void)((v)->room = ((v)->count + (more)) * 2 + 6, \
                                               (v)->items = mem_resize((v)->items, (v)->room * sizeof *(v)->items)))

#define vec_push(v) \
    (vec_reserve(v, 1), memset(&(v)->items[(v)->count], 0, sizeof *(v)->items), &(v)->items[(v)->count++])

#define vec_add(v, value) (vec_reserve(v, 1), (void)((v)->items[(v)->count++] = (value)))

/* Order is not kept: the last element takes the place of the removed one. */
#define vec_remove_swap(v, index) ((void)((v)->items[index] = (v)->items[--(v)->count]))

#define vec_clear(v) ((void)((v)->count = 0))
#define vec_release(v) (free((v)->items), (void)((v)->items = NULL, (v)->count = (v)->room = 0))

#endif
