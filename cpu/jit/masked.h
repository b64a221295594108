/* SPDX-License-Identifier: MIT
 *
 * Masked loads, stores, gathers and scatters that the processor has no
 * instruction for, as calls of helper functions: see masked.c.
 */
#ifndef KILN_CPU_JIT_MASKED_H
#define KILN_CPU_JIT_MASKED_H

#include "cpu/jit/llvm.h"

/* The narrowest elements, in bits, that have an instruction; 0: none has. */
struct masked_isa {
    unsigned access; /* load and store */
    unsigned gather; /* gather and scatter */
};

/* After all passes but those of code generation. With `all`, accesses of all
 * lanes become calls too, which LLVM would write out lane by lane. */
void masked_lower(LLVMModuleRef module, const struct masked_isa *isa, int all);

#endif
