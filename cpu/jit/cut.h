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
/* What stands before `at` in its block becomes a block of its own, which all
 * that led to the old one leads to. It is returned without an end, b behind
 * its last instruction. */
LLVMBasicBlockRef cut_before(LLVMBuilderRef b, LLVMBasicBlockRef block,
                             LLVMValueRef at);

#endif
