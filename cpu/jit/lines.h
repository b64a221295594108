/* SPDX-License-Identifier: MIT
 *
 * Which line of the PTX each instruction of the object comes from, as a
 * .debug_line section, so that a fault can be told by its line.
 */
#ifndef KILN_CPU_JIT_LINES_H
#define KILN_CPU_JIT_LINES_H

#include "cpu/jit/llvm.h"

struct lines {
    LLVMDIBuilderRef builder;
    LLVMMetadataRef file;
};

void lines_open(struct lines *l, LLVMContextRef ctx, LLVMModuleRef module);
/* Before the module is verified. */
void lines_close(struct lines *l);
/* The scope of the function's lines. */
LLVMMetadataRef lines_function(struct lines *l, LLVMValueRef fn,
                               const char *name);
/* What b places from here on comes from `line`; scope NULL: from nowhere. */
void lines_at(LLVMBuilderRef b, LLVMContextRef ctx, LLVMMetadataRef scope,
              unsigned line);

#endif
