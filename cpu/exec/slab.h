/* SPDX-License-Identifier: MIT
 *
 * Many small allocations in one larger one, all of one power-of-two unit.
 * No locks; memory.c has one. Inside cpu/exec only.
 */
#ifndef KILN_CPU_EXEC_SLAB_H
#define KILN_CPU_EXEC_SLAB_H

#include <stdint.h>

#include "cpu/exec/exec.h"

enum { SLAB_BYTES = 1 << 20, SLAB_LARGEST = 16384, SLAB_LEAST = 512 };

struct slab;
/* For allocations of about `size` bytes, over SLAB_BYTES of zeroed memory at
 * base. */
struct slab *slab_new(uint64_t base, uint64_t size);
void slab_free(struct slab *slab);
/* Whether it is of the right unit for size and has one left. */
int slab_fits(const struct slab *slab, uint64_t size);
/* The address of `size` zeroed bytes; slab_fits said yes. */
uint64_t slab_take(struct slab *slab, uint64_t size, void *tag);
/* 1, or 0 when base is not the start of a live allocation. */
int slab_give(struct slab *slab, uint64_t base);
int slab_is_empty(const struct slab *slab);
int slab_find(const struct slab *slab, uint64_t address,
              struct exec_range *out);

#endif
