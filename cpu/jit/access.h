/* SPDX-License-Identifier: MIT
 *
 * Which operands of an instruction are addresses that it accesses.
 */
#ifndef KILN_CPU_JIT_ACCESS_H
#define KILN_CPU_JIT_ACCESS_H

#include "cpu/jit/graph.h"

enum { ACCESSES = 3, ACCESS_ALL = 32 };

struct access_at {
    int k;
    enum ptx_space space;
    uint32_t bytes; /* of each lane, and what the address must be a multiple
                     * of; more behind them is not told of (copies in bulk) */
    unsigned lanes; /* the first that give an address, most often all */
    int writes;
};

/* How many; none of a kind that is not listed (prefetch, wmma, textures). */
int access_list(const struct graph_insn *insn, struct access_at list[ACCESSES]);

#endif
