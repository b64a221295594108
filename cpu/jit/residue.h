/* SPDX-License-Identifier: MIT
 *
 * What is known of integers up to a multiple of a power of two.
 */
#ifndef KILN_CPU_JIT_RESIDUE_H
#define KILN_CPU_JIT_RESIDUE_H

#include "cpu/jit/graph.h"
#include "cpu/jit/layout.h"

enum { RESIDUE_BITS = 7 }; /* log2 of the largest power looked at */

/* value + add, up to a multiple of 1 << bits. */
struct residue {
    int value; /* GRAPH_NONE: just add */
    uint32_t add;
    uint8_t bits;
    uint8_t known; /* 0: not looked at yet */
};

struct residues {
    const struct graph *g;
    const struct layout_kernel *layout;
    struct residue *of; /* by value */
    int round;
};

/* Of all values of g; E_MEMORY where there is none for it. */
enum kiln_status residue_find(struct residues *all, const struct graph *g,
                              const struct layout_kernel *layout,
                              struct arena *arena, struct kiln_error *err);
/* Of operand k, an address or a number. */
struct residue residue_operand(const struct residues *all,
                               const struct graph_insn *insn, int k);
/* Just the value. */
struct residue residue_itself(int value);

#endif
