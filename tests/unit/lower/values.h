/* SPDX-License-Identifier: MIT
 *
 * What the forms are fed: edge values in all pairs, and random bits from a
 * fixed seed.
 */
#ifndef KILN_TESTS_LOWER_VALUES_H
#define KILN_TESTS_LOWER_VALUES_H

#include "harness.h"

struct values {
    size_t count;
    uint64_t *in;   /* count * MAX_SOURCES */
    uint64_t *want; /* count * 3; unused for CLOSE */
};
void values_make(struct values *v, const struct form *form);
void values_free(struct values *v);

#endif
