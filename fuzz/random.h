/* SPDX-License-Identifier: MIT
 *
 * Numbers that are the same for the same seed.
 */
#ifndef KILN_FUZZ_RANDOM_H
#define KILN_FUZZ_RANDOM_H

#include <stdint.h>

struct rng {
    uint64_t state;
};

/* A number below n; 0 for n = 0. */
uint32_t rng_below(struct rng *r, uint32_t n);
/* One that upsets: around 0, around the limit, powers of two. */
uint64_t rng_number(struct rng *r, uint64_t limit);

#endif
