/* SPDX-License-Identifier: MIT
 *
 * Floating point by the definition, in integers: the reference for the
 * lowerings. A finite number is (-1)^sign * m * 2^e exactly; packing rounds it
 * once. Slow and plain on purpose.
 */
#ifndef KILN_TESTS_LOWER_SOFT_H
#define KILN_TESTS_LOWER_SOFT_H

#include <stdint.h>

typedef unsigned __int128 soft_wide;

struct soft_format {
    unsigned bits;     /* of the whole number */
    unsigned fraction; /* stored bits of it */
};
extern const struct soft_format SOFT_F16, SOFT_BF16, SOFT_F32, SOFT_F64;

enum soft_mode { SOFT_RN, SOFT_RZ, SOFT_RM, SOFT_RP, SOFT_RNA };
enum soft_class { SOFT_FINITE, SOFT_INF, SOFT_NAN };

struct soft {
    enum soft_class class;
    int sign;
    soft_wide m;
    int e;
    int sticky; /* something below m's last bit, less than one of it */
};

struct soft soft_unpack(uint64_t bits, const struct soft_format *f);
uint64_t soft_pack(struct soft v, const struct soft_format *f,
                   enum soft_mode mode);
struct soft soft_int(uint64_t v, unsigned bits, int is_signed);
/* Exact sums and products; a zero sum of unlike signs takes the mode's. */
struct soft soft_add(struct soft a, struct soft b, enum soft_mode mode);
struct soft soft_mul(struct soft a, struct soft b);
/* To an integer by an integer rounding: RN, RZ, RM, RP. Saturates. */
uint64_t soft_to_int(struct soft v, unsigned bits, int is_signed,
                     enum soft_mode mode);
/* The nearest integer in the direction, still a float. */
struct soft soft_rint(struct soft v, enum soft_mode mode);
int soft_is_subnormal(uint64_t bits, const struct soft_format *f);
uint64_t soft_flush(uint64_t bits, const struct soft_format *f);
/* -1, 0, 1, or 2 when unordered. */
int soft_compare(struct soft a, struct soft b);

#endif
