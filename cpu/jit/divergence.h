/* SPDX-License-Identifier: MIT */
#ifndef KILN_CPU_JIT_DIVERGENCE_H
#define KILN_CPU_JIT_DIVERGENCE_H

#include "cpu/jit/graph.h"

/* Mark the blocks and loops at which lanes parted by the branch at the end
 * of block `branch` meet (mixing, divergent). labels: scratch, a place for
 * each position of the linear order. */
void divergence_spread(struct graph *g, int branch, int *labels);

#endif
