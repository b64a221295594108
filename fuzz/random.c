/* SPDX-License-Identifier: MIT
 *
 * Numbers that are the same for the same seed.
 */
#include "fuzz/random.h"

uint32_t rng_below(struct rng *r, uint32_t n)
{
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    return n ? (uint32_t)(r->state >> 33) % n : 0;
}

uint64_t rng_number(struct rng *r, uint64_t limit)
{
    switch (rng_below(r, 8)) {
    case 0:
        return 0;
    case 1:
        return 1;
    case 2:
        return limit;
    case 3:
        return limit - 1;
    case 4:
        return limit + 1;
    case 5:
        return (uint64_t)1 << rng_below(r, 64);
    case 6:
        return UINT64_MAX - rng_below(r, 65);
    default:
        return rng_below(r, (uint32_t)limit);
    }
}
