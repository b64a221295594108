/* SPDX-License-Identifier: MIT */
#ifndef KILN_TESTS_TENSOR_SUMS_H
#define KILN_TESTS_TENSOR_SUMS_H

#include "numbers.h"

/* D of one row and column: c and the products of k pairs of A and B, as
 * docs/matrices.md says; block: products that are added at once, 0 for all. */
uint64_t sum_floats(enum type d, enum type a, enum type b, unsigned k,
                    const uint64_t *x, const uint64_t *y, double c,
                    unsigned block);

#endif
