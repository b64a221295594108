/* SPDX-License-Identifier: MIT
 *
 * Long basic blocks in pieces. LLVM selects, schedules and allocates a block
 * at a time, and takes a time that grows with the square of its length; the
 * combiner of instructions besides looks through six levels of operands, each
 * time anew, but never out of the block. The pieces end in a branch that
 * nothing folds, since nothing says that the function's argument is not null,
 * and that is never taken: a compare and a jump for each.
 *
 * Done last, since the optimiser would put the pieces together again.
 */
#include "cpu/jit/cut.h"

#include <stddef.h>

/* The first instruction of the second piece, or NULL: not worth a cut. Phis
 * stay ahead, and so do the entry's allocas, which are static only there. */
static LLVMValueRef find_cut(LLVMBasicBlockRef block, unsigned longest)
{
    LLVMValueRef i = LLVMGetFirstInstruction(block), cut = NULL;
    unsigned n = 0;

    for (; i && !LLVMIsATerminatorInst(i); i = LLVMGetNextInstruction(i)) {
        if (LLVMIsAPHINode(i))
            continue;
        if (++n == longest + 1)
            cut = i;
        if (n > longest && LLVMIsAAllocaInst(i))
            cut = NULL;
        else if (n > longest && !cut)
            cut = i;
        if (cut && n > 2 * longest)
            break;
    }
    /* A rest that is short is better off with its head. */
    return n > longest + longest / 2 ? cut : NULL;
}

/* All that branches to `from` branches to `to`. */
static void retarget(LLVMBasicBlockRef from, LLVMBasicBlockRef to)
{
    LLVMUseRef use;

    while ((use = LLVMGetFirstUse(LLVMBasicBlockAsValue(from)))) {
        LLVMValueRef branch = LLVMGetUser(use);
        unsigned n = LLVMGetNumSuccessors(branch);

        for (unsigned s = 0; s < n; s++)
            if (LLVMGetSuccessor(branch, s) == from)
                LLVMSetSuccessor(branch, s, to);
    }
}

/* The head moves and the tail stays, so that phis behind it name it still. */
static void cut_block(LLVMContextRef ctx, LLVMBuilderRef b,
                      LLVMBasicBlockRef block, LLVMValueRef cut,
                      LLVMValueRef argument, LLVMBasicBlockRef never)
{
    LLVMBasicBlockRef head = LLVMInsertBasicBlockInContext(ctx, block, "piece");
    LLVMValueRef i;

    retarget(block, head);
    LLVMPositionBuilderAtEnd(b, head);
    while ((i = LLVMGetFirstInstruction(block)) != cut) {
        LLVMInstructionRemoveFromParent(i);
        LLVMInsertIntoBuilder(b, i);
    }
    LLVMBuildCondBr(b, LLVMBuildIsNull(b, argument, ""), never, block);
}

void cut_blocks(LLVMModuleRef module, unsigned longest)
{
    LLVMContextRef ctx = LLVMGetModuleContext(module);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(ctx);

    for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn;
         fn = LLVMGetNextFunction(fn)) {
        LLVMBasicBlockRef never = NULL, next;

        /* Kernels take the block first. Helpers are short. */
        if (LLVMIsDeclaration(fn) || LLVMCountParams(fn) != 3 ||
            LLVMGetTypeKind(LLVMTypeOf(LLVMGetParam(fn, 0))) !=
                LLVMPointerTypeKind)
            continue;
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn); block;
             block = next) {
            LLVMValueRef cut = find_cut(block, longest);

            next = cut ? block : LLVMGetNextBasicBlock(block);
            if (!cut)
                continue;
            if (!never) {
                never = LLVMAppendBasicBlockInContext(ctx, fn, "never");
                LLVMPositionBuilderAtEnd(b, never);
                LLVMBuildRetVoid(b);
            }
            cut_block(ctx, b, block, cut, LLVMGetParam(fn, 0), never);
        }
    }
    LLVMDisposeBuilder(b);
}
