/* SPDX-License-Identifier: MIT
 *
 * A line table of DWARF 4 (6.2), read when a fault is to be told. Inside
 * cpu/object only.
 */
#ifndef KILN_CPU_OBJECT_LINES_H
#define KILN_CPU_OBJECT_LINES_H

#include <stddef.h>
#include <stdint.h>

/* The line of the code at `address` in the tables at bytes, whose addresses
 * are relocated; 0: not known. */
unsigned lines_find(const unsigned char *bytes, size_t size, uint64_t address);

#endif
