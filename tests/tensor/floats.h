/* SPDX-License-Identifier: MIT
 *
 * The small floats of matrices, by their definition: slow and plain.
 */
#ifndef KILN_TESTS_TENSOR_FLOATS_H
#define KILN_TESTS_TENSOR_FLOATS_H

#include <stdint.h>

/* A value of `exponent` and `mantissa` bits with a sign above them. ieee: the
 * largest exponent means infinity and NaN; else only all ones is NaN. */
double float_decode(uint32_t bits, int exponent, int mantissa, int ieee);
double half_decode(uint32_t bits);
/* To nearest even; NaN is 0x7fff. */
uint32_t half_encode(double x);
double single_decode(uint32_t bits);
/* NaN is 0x7fffffff. */
uint32_t single_encode(float x);

#endif
