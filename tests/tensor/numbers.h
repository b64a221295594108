/* SPDX-License-Identifier: MIT
 *
 * The elements of matrices: their types, values, and random ones; shared by
 * the programs of this folder.
 */
#ifndef KILN_TESTS_TENSOR_NUMBERS_H
#define KILN_TESTS_TENSOR_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

enum type { F16, BF16, TF32, F64, F32, S8, U8, S4, U4, B1, E4M3, E5M2, S32 };

const char *type_name(enum type t);
unsigned type_bits(enum type t);
/* Bits of the register that holds it, and how many share one. */
unsigned type_register(enum type t);
unsigned type_each(enum type t);
/* What PTX declares that register as. */
const char *register_type(enum type t);

double real(enum type t, uint64_t v);
int64_t integer(enum type t, uint64_t v);
/* x as an F32, F16 or F64; NaN as PTX has it. */
uint64_t from_real(enum type t, double x);

uint64_t random_bits(void);
/* Some rounds have numbers of like size, so that sums mean something, others
 * small whole ones, of which sums are exact, or any bits at all. */
uint64_t random_element(enum type t, unsigned round);

/* Appends to text at `at`; the new end. */
size_t put(char *text, size_t at, size_t size, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
