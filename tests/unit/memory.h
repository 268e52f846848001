/* A heap whose n-th allocation fails: for programs that are linked with --wrap (test_*_memory.c). Include it in one
 * file of the program. */
#ifndef CARILLON_TESTS_UNIT_MEMORY_H
#define CARILLON_TESTS_UNIT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

static long memory_countdown = -1; /* allocations until the one that fails; < 0: none does */
static long memory_requests;       /* made since memory_fail_at */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

/* From now on the n-th allocation fails (0 = the next), and only that one. */
static void memory_fail_at(long n)
{
    memory_countdown = n;
    memory_requests = 0;
}

static bool memory_out(void)
{
    memory_requests++;
    return memory_countdown >= 0 && memory_countdown-- == 0;
}

void *__wrap_malloc(size_t size)
{
    return memory_out() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return memory_out() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return memory_out() ? NULL : __real_realloc(old, size);
}

#endif
