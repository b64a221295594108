/* SPDX-License-Identifier: MIT
 *
 * The functions that an object may leave undefined. Inside cpu/object only.
 */
#ifndef KILN_CPU_OBJECT_SYMBOLS_H
#define KILN_CPU_OBJECT_SYMBOLS_H

#include <stdint.h>

/* Its address, or 0. */
uint64_t symbols_find(const char *name);

#endif
