#include "core/base/hash.h"

#include <string.h>

uint64_t hash_table_seed = 0x6361726c6c6f6e31U;

uint64_t hash_bytes(const void *bytes, size_t length, uint64_t seed)
{
    const unsigned char *p = bytes;
    uint64_t h = 0xcbf29ce484222325U ^ seed;
    for (size_t i = 0; i < length; i++)
        h = (h ^ p[i]) * 0x100000001b3U;
    return hash_mix(h);
}

uint64_t hash_text(const char *text, uint64_t seed)
{
    return hash_bytes(text, strlen(text), seed);
}
