#include "core/base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *need(void *got, size_t size)
{
    if (!got) {
        (void)fprintf(
            stderr, "carillon: out of memory (asked for %zu bytes); ending now, nothing acknowledged is lost\n", size);
        abort();
    }
    return got;
}

void *mem_alloc(size_t size)
{
    return need(calloc(1, size ? size : 1), size);
}

void *mem_resize(void *old, size_t size)
{
    return need(realloc(old, size ? size : 1), size);
}

char *mem_copy(const void *bytes, size_t length)
{
    char *copy = need(malloc(length + 1), length + 1);
    if (length)
        memcpy(copy, bytes, length);
    copy[length] = '\0';
    return copy;
}

char *mem_copy_text(const char *text)
{
    return text ? mem_copy(text, strlen(text)) : NULL;
}
