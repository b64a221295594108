/* SPDX-License-Identifier: MIT
 *
 * Numbers of 16 bits: IEEE binary16 (f16) and the upper half of binary32
 * (bf16).
 */
#ifndef KILN_TOOL_HALF_H
#define KILN_TOOL_HALF_H

#include <stdint.h>

enum half_format { HALF_F16, HALF_BF16 };

/* To the nearest, ties to even; too large becomes infinite. */
uint16_t half_of(enum half_format format, double v);
double half_value(enum half_format format, uint16_t bits);

#endif
