/* SPDX-License-Identifier: MIT
 *
 * Long basic blocks in pieces, for LLVM's sake: see cut.c.
 */
#ifndef KILN_CPU_JIT_CUT_H
#define KILN_CPU_JIT_CUT_H

#include "cpu/jit/llvm.h"

/* Kernels of the module have no block of many more than `longest`
 * instructions afterwards. */
void cut_blocks(LLVMModuleRef module, unsigned longest);

#endif
