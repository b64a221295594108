/* SPDX-License-Identifier: MIT
 *
 * Accesses whose address may not be a multiple of their size, which NVIDIA's
 * devices refuse and this processor does not: where that cannot be ruled out
 * they are tested (emit_align.c). align.c says which.
 */
#ifndef KILN_CPU_JIT_ALIGN_H
#define KILN_CPU_JIT_ALIGN_H

#include "cpu/jit/emit.h"

/* Is `value` plus `add` a multiple of `bytes`? If not, the address of operand
 * k is not either. Asked before the access; where the value is the same for
 * the warp, with others at the start of its block, or before the loops that
 * are around it. */
struct graph_test {
    const struct ptx_insn *of;
    int k;
    enum ptx_space space;
    int value; /* GRAPH_NONE: it is known not to be */
    uint32_t add;
    uint32_t bytes; /* a power of two */
    unsigned lanes; /* the first that give an address, most often 32 */
};

/* Fill in the tests of g's instructions. */
enum kiln_status align_find(struct graph *g, const struct layout_kernel *layout,
                            struct kiln_error *err);

/* With KILN_CPU_CHECK: have the engine look at the addresses. */
void emit_checks(struct emit *e, const struct graph_insn *insn);
/* The tests of one instruction, before what it does. */
void emit_tests(struct emit *e, const struct graph_insn *insn);
/* Those at the start or the end of the current block. */
void emit_block_tests(struct emit *e, const struct graph_tests *tests);

#endif
