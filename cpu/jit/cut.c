/* SPDX-License-Identifier: MIT
 *
 * Long basic blocks in pieces. LLVM selects, schedules and allocates a block
 * at a time, and takes a time that grows with the square of its length; the
 * combiner of instructions besides looks through six levels of operands, each
 * time anew, but never out of the block. Between two pieces stands a branch
 * that nothing folds, since nothing says that the function's argument is not
 * null, and that is never taken: a compare and a jump for each.
 *
 * Where it would go, what the first piece makes for others alone is stored.
 * Without that LLVM would find such values better made where they are used
 * ("machine code sinking"), those that they are made of next, and in the end
 * have all in the last piece.
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

struct cutter {
    LLVMContextRef ctx;
    LLVMBuilderRef b;
    LLVMTargetDataRef layout;
    LLVMValueRef fn, place; /* place: an alloca for the stores */
    LLVMValueRef weights;   /* metadata of the branches */
};

/* The most bytes of a value that is stored. */
enum { PLACE = 256 };

static LLVMValueRef branch_weights(LLVMContextRef ctx)
{
    static const char name[] = "branch_weights";
    LLVMTypeRef i32 = LLVMInt32TypeInContext(ctx);
    LLVMMetadataRef parts[] = {
        LLVMMDStringInContext2(ctx, name, sizeof name - 1),
        LLVMValueAsMetadata(LLVMConstInt(i32, 1, 0)),
        LLVMValueAsMetadata(LLVMConstInt(i32, 1 << 20, 0))};

    return LLVMMetadataAsValue(ctx, LLVMMDNodeInContext2(ctx, parts, 3));
}

/* A value of `block` that nothing in it uses, but others do. */
static int is_made_for_others(LLVMValueRef i, LLVMBasicBlockRef block)
{
    LLVMUseRef use = LLVMGetFirstUse(i);

    if (!use)
        return 0;
    for (; use; use = LLVMGetNextUse(use))
        if (LLVMGetInstructionParent(LLVMGetUser(use)) == block)
            return 0;
    return 1;
}

static void store_made(struct cutter *c, LLVMBasicBlockRef head)
{
    for (LLVMValueRef i = LLVMGetFirstInstruction(head); i;
         i = LLVMGetNextInstruction(i)) {
        LLVMTypeRef type = LLVMTypeOf(i);

        if (LLVMIsAAllocaInst(i) || LLVMIsAPHINode(i) ||
            LLVMGetTypeKind(type) == LLVMVoidTypeKind ||
            LLVMStoreSizeOfType(c->layout, type) > PLACE ||
            !is_made_for_others(i, head))
            continue;
        LLVMSetVolatile(LLVMBuildStore(c->b, i, c->place), 1);
    }
}

LLVMBasicBlockRef cut_before(LLVMBuilderRef b, LLVMBasicBlockRef block,
                             LLVMValueRef at)
{
    LLVMContextRef ctx = LLVMGetModuleContext(
        LLVMGetGlobalParent(LLVMGetBasicBlockParent(block)));
    LLVMBasicBlockRef head = LLVMInsertBasicBlockInContext(ctx, block, "piece");
    LLVMValueRef i;

    retarget(block, head);
    LLVMPositionBuilderAtEnd(b, head);
    while ((i = LLVMGetFirstInstruction(block)) != at) {
        LLVMInstructionRemoveFromParent(i);
        LLVMInsertIntoBuilder(b, i);
    }
    return head;
}

static void cut_block(struct cutter *c, LLVMBasicBlockRef block,
                      LLVMValueRef cut)
{
    LLVMBasicBlockRef head = cut_before(c->b, block, cut);
    LLVMBasicBlockRef never =
        LLVMAppendBasicBlockInContext(c->ctx, c->fn, "never");
    LLVMValueRef i = LLVMBuildIsNull(c->b, LLVMGetParam(c->fn, 0), "");

    i = LLVMBuildCondBr(c->b, i, never, block);
    LLVMSetMetadata(i, LLVMGetMDKindIDInContext(c->ctx, "prof", 4), c->weights);
    LLVMPositionBuilderAtEnd(c->b, never);
    store_made(c, head);
    LLVMBuildRetVoid(c->b);
}

static void make_place(struct cutter *c)
{
    LLVMTypeRef i8 = LLVMInt8TypeInContext(c->ctx);
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(c->fn);

    LLVMPositionBuilderBefore(c->b, LLVMGetFirstInstruction(entry));
    c->place = LLVMBuildAlloca(c->b, LLVMArrayType2(i8, PLACE), "");
    LLVMSetAlignment(c->place, 64);
}

void cut_blocks(LLVMModuleRef module, unsigned longest)
{
    struct cutter c = {.ctx = LLVMGetModuleContext(module)};

    c.b = LLVMCreateBuilderInContext(c.ctx);
    c.layout = LLVMGetModuleDataLayout(module);
    c.weights = branch_weights(c.ctx);
    for (c.fn = LLVMGetFirstFunction(module); c.fn;
         c.fn = LLVMGetNextFunction(c.fn)) {
        LLVMBasicBlockRef next;

        /* Kernels take the block first. Helpers are short. */
        if (LLVMIsDeclaration(c.fn) || LLVMCountParams(c.fn) != 3 ||
            LLVMGetTypeKind(LLVMTypeOf(LLVMGetParam(c.fn, 0))) !=
                LLVMPointerTypeKind)
            continue;
        c.place = NULL;
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(c.fn); block;
             block = next) {
            LLVMValueRef cut = find_cut(block, longest);

            next = cut ? block : LLVMGetNextBasicBlock(block);
            if (!cut)
                continue;
            if (!c.place)
                make_place(&c);
            cut_block(&c, block, cut);
        }
    }
    LLVMDisposeBuilder(c.b);
}
