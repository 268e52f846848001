/* Hashes that must stay the same for ever (they decide `H` in cron, anchors of `every`, rendezvous weights), and the
 * seeded one for hash tables (core/base/map.h). Not cryptographic. */
#ifndef CARILLON_CORE_BASE_HASH_H
#define CARILLON_CORE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* splitmix64's finaliser: every bit of the input reaches every bit of the output. */
static inline uint64_t hash_mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9U;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

uint64_t hash_bytes(const void *bytes, size_t length, uint64_t seed); /* FNV-1a, mixed at the end */
uint64_t hash_text(const char *text, uint64_t seed);

/* Seed of hash tables: set once, before the first table, from real randomness, so that a stranger cannot choose
 * colliding names. */
extern uint64_t hash_table_seed;

#endif
