/* Seedable generator (xoshiro256**). No ambient randomness: the seed is an argument. Not for secrets. */
#ifndef CARILLON_CORE_BASE_RNG_H
#define CARILLON_CORE_BASE_RNG_H

#include <stdint.h>

struct rng {
    uint64_t state[4];
};

void rng_seed(struct rng *rng, uint64_t seed);
uint64_t rng_next(struct rng *rng);
uint64_t rng_below(struct rng *rng, uint64_t bound);             /* 0 … bound−1; bound > 0 */
int64_t rng_between(struct rng *rng, int64_t low, int64_t high); /* both ends included */

#endif
