/* SPDX-License-Identifier: MIT
 *
 * Left to itself LLVM writes such an access out where it stands: a test, a
 * branch and an access for each lane, 32 of each for a warp. A kernel of 800
 * lines became 150,000 lines of assembly. A helper of the module does it in a
 * call, at once for all lanes where all are active, else lane by lane. Where
 * they are few, the access of all lanes stands beside the call.
 *
 * Done last, so that LLVM's passes know these accesses for what they are.
 */
#include "cpu/jit/masked.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cpu/exec/abi.h"
#include "cpu/jit/cut.h"

enum kind { LOAD, STORE, GATHER, SCATTER, KINDS };

/* So many gathers and scatters of a function are made where they stand when all
 * lanes are active; each is some 40 instructions. */
enum { FEW = 16 };

static const char *const names[KINDS] = {
    [LOAD] = "load",
    [STORE] = "store",
    [GATHER] = "gather",
    [SCATTER] = "scatter",
};

/* One helper and what writes it. */
struct helper {
    enum kind kind;
    LLVMContextRef ctx;
    LLVMBuilderRef b;
    LLVMTypeRef vector, element, ptr, ptrs, i32;
    unsigned lanes, bytes;
    LLVMValueRef fn;
};

static int is_load(enum kind kind)
{
    return kind == LOAD || kind == GATHER;
}

static LLVMValueRef number(const struct helper *h, uint64_t n)
{
    return LLVMConstInt(h->i32, n, 0);
}

static LLVMValueRef element_at(const struct helper *h, LLVMTypeRef type,
                               LLVMValueRef base, LLVMValueRef lane)
{
    return LLVMBuildGEP2(h->b, type, base, &lane, 1, "");
}

static void align(const struct helper *h, LLVMValueRef access)
{
    LLVMSetAlignment(access, h->bytes);
}

/* All lanes are active: fn's pointers, its values. */
static void write_all(const struct helper *h)
{
    LLVMValueRef to = LLVMGetParam(h->fn, 0), v = LLVMGetParam(h->fn, 2);

    if (h->kind == LOAD) {
        v = LLVMBuildLoad2(h->b, h->vector, to, "");
        align(h, v);
    } else if (h->kind == STORE) {
        align(h, LLVMBuildStore(h->b, v, to));
    }
    for (unsigned i = 0; i < h->lanes && h->kind >= GATHER; i++) {
        LLVMValueRef lane = number(h, i), x;
        LLVMValueRef p = LLVMBuildExtractElement(h->b, to, lane, "");

        if (h->kind == SCATTER) {
            x = LLVMBuildExtractElement(h->b, v, lane, "");
            align(h, LLVMBuildStore(h->b, x, p));
            continue;
        }
        x = LLVMBuildLoad2(h->b, h->element, p, "");
        align(h, x);
        v = LLVMBuildInsertElement(h->b, i ? v : LLVMGetPoison(h->vector), x,
                                   lane, "");
    }
    if (is_load(h->kind))
        LLVMBuildRet(h->b, v);
    else
        LLVMBuildRetVoid(h->b);
}

/* One lane after the other of the mask's bits. */
static void write_loop(struct helper *h, LLVMValueRef values,
                       LLVMValueRef places, LLVMBasicBlockRef from)
{
    LLVMBasicBlockRef head = LLVMAppendBasicBlockInContext(h->ctx, h->fn, "");
    LLVMBasicBlockRef body = LLVMAppendBasicBlockInContext(h->ctx, h->fn, "");
    LLVMBasicBlockRef exit = LLVMAppendBasicBlockInContext(h->ctx, h->fn, "");
    unsigned cttz = LLVMLookupIntrinsicID("llvm.cttz", 9);
    LLVMValueRef bits = LLVMGetParam(h->fn, 1), args[2], lane, p, at, rest, x;

    LLVMBuildBr(h->b, head);
    LLVMPositionBuilderAtEnd(h->b, head);
    rest = LLVMBuildPhi(h->b, h->i32, "");
    LLVMAddIncoming(rest, &bits, &from, 1);
    x = LLVMBuildICmp(h->b, LLVMIntNE, rest, number(h, 0), "");
    LLVMBuildCondBr(h->b, x, body, exit);
    LLVMPositionBuilderAtEnd(h->b, body);
    args[0] = rest;
    args[1] = LLVMConstInt(LLVMInt1TypeInContext(h->ctx), 1, 0);
    lane = LLVMBuildCall2(h->b, LLVMIntrinsicGetType(h->ctx, cttz, &h->i32, 1),
                          LLVMGetIntrinsicDeclaration(
                              LLVMGetGlobalParent(h->fn), cttz, &h->i32, 1),
                          args, 2, "");
    at = element_at(h, h->element, values, lane);
    p = places ? LLVMBuildLoad2(h->b, h->ptr,
                                element_at(h, h->ptr, places, lane), "")
               : element_at(h, h->element, LLVMGetParam(h->fn, 0), lane);
    x = LLVMBuildLoad2(h->b, h->element, is_load(h->kind) ? p : at, "");
    align(h, x);
    align(h, LLVMBuildStore(h->b, x, is_load(h->kind) ? at : p));
    x = LLVMBuildSub(h->b, rest, number(h, 1), "");
    x = LLVMBuildAnd(h->b, rest, x, "");
    LLVMAddIncoming(rest, &x, &body, 1);
    LLVMBuildBr(h->b, head);
    LLVMPositionBuilderAtEnd(h->b, exit);
    if (is_load(h->kind))
        LLVMBuildRet(h->b, LLVMBuildLoad2(h->b, h->vector, values, ""));
    else
        LLVMBuildRetVoid(h->b);
}

static void write_helper(struct helper *h)
{
    LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(h->ctx, h->fn, "");
    LLVMBasicBlockRef all = LLVMAppendBasicBlockInContext(h->ctx, h->fn, "");
    LLVMBasicBlockRef some = LLVMAppendBasicBlockInContext(h->ctx, h->fn, "");
    const uint64_t every = (UINT64_C(1) << h->lanes) - 1;
    LLVMValueRef values, places = NULL, full;

    LLVMPositionBuilderAtEnd(h->b, entry);
    values = LLVMBuildAlloca(h->b, h->vector, "");
    if (h->kind >= GATHER)
        places = LLVMBuildAlloca(h->b, h->ptrs, "");
    full = LLVMBuildICmp(h->b, LLVMIntEQ, LLVMGetParam(h->fn, 1),
                         number(h, every), "");
    LLVMBuildCondBr(h->b, full, all, some);
    LLVMPositionBuilderAtEnd(h->b, all);
    write_all(h);
    LLVMPositionBuilderAtEnd(h->b, some);
    LLVMBuildStore(h->b, LLVMGetParam(h->fn, 2), values);
    if (places)
        LLVMBuildStore(h->b, LLVMGetParam(h->fn, 0), places);
    write_loop(h, values, places, some);
}

/* kiln.gather.8.i32: pointers, the mask's bits, what inactive lanes keep (or
 * what is stored) -> the vector (or nothing). */
static LLVMValueRef helper_of(LLVMModuleRef module, enum kind kind,
                              LLVMTypeRef vector, LLVMTypeRef *type)
{
    struct helper h = {.kind = kind,
                       .ctx = LLVMGetModuleContext(module),
                       .vector = vector,
                       .element = LLVMGetElementType(vector),
                       .lanes = LLVMGetVectorSize(vector)};
    LLVMTypeRef args[3];
    char name[48];

    h.bytes = LLVMGetIntTypeWidth(h.element) / 8;
    h.ptr = LLVMPointerTypeInContext(h.ctx, 0);
    h.ptrs = LLVMVectorType(h.ptr, h.lanes);
    h.i32 = LLVMInt32TypeInContext(h.ctx);
    args[0] = kind >= GATHER ? h.ptrs : h.ptr;
    args[1] = h.i32;
    args[2] = vector;
    *type = LLVMFunctionType(
        is_load(kind) ? vector : LLVMVoidTypeInContext(h.ctx), args, 3, 0);
    snprintf(name, sizeof name, "kiln.%s.%u.i%u", names[kind], h.lanes,
             h.bytes * 8);
    h.fn = LLVMGetNamedFunction(module, name);
    if (h.fn)
        return h.fn;
    h.fn = LLVMAddFunction(module, name, *type);
    LLVMSetLinkage(h.fn, LLVMInternalLinkage);
    h.b = LLVMCreateBuilderInContext(h.ctx);
    write_helper(&h);
    LLVMDisposeBuilder(h.b);
    return h.fn;
}

/* --- the accesses --- */

/* Operands: (pointers, alignment, mask, value) of loads, (value, pointers,
 * alignment, mask) of stores; the alignment up to LLVM 21 only. */
static LLVMValueRef pointers_of(LLVMValueRef call, enum kind kind)
{
    return LLVMGetOperand(call, is_load(kind) ? 0 : 1);
}

static LLVMValueRef mask_of(LLVMValueRef call, enum kind kind)
{
    return LLVMGetOperand(call, (is_load(kind) ? 1U : 2U) +
                                    LLVM_MASKED_ALIGN_OPERAND);
}

static LLVMValueRef value_of(LLVMValueRef call, enum kind kind)
{
    return LLVMGetOperand(call,
                          is_load(kind) ? 2U + LLVM_MASKED_ALIGN_OPERAND : 0U);
}

/* A helper has no lines: its caller's is kept where a fault finds it. */
static void note_line(LLVMBuilderRef b, LLVMValueRef access)
{
    LLVMValueRef fn = LLVMGetBasicBlockParent(LLVMGetInstructionParent(access));
    LLVMContextRef ctx = LLVMGetModuleContext(LLVMGetGlobalParent(fn));
    LLVMTypeRef i32 = LLVMInt32TypeInContext(ctx);
    LLVMValueRef at = LLVMConstInt(i32, offsetof(struct abi_block, line), 0);
    unsigned line = LLVMGetDebugLocLine(access);

    if (!line)
        return;
    at = LLVMBuildGEP2(b, LLVMInt8TypeInContext(ctx), LLVMGetParam(fn, 0), &at,
                       1, "");
    LLVMBuildStore(b, LLVMConstInt(i32, line, 0), at);
}

static LLVMValueRef call_helper(LLVMModuleRef module, LLVMBuilderRef b,
                                LLVMValueRef access, enum kind kind,
                                LLVMValueRef bits)
{
    LLVMValueRef args[] = {pointers_of(access, kind), bits,
                           value_of(access, kind)};
    LLVMTypeRef type;
    LLVMValueRef fn = helper_of(module, kind, LLVMTypeOf(args[2]), &type);

    note_line(b, access);
    return LLVMBuildCall2(b, type, fn, args, 3, "");
}

/* An access of all lanes, which is what there is most of the time. */
static LLVMValueRef access_all(LLVMBuilderRef b, LLVMValueRef access,
                               enum kind kind)
{
    LLVMValueRef v = value_of(access, kind), mask = mask_of(access, kind), made;
    LLVMTypeRef vector = LLVMTypeOf(v);

    if (kind >= GATHER) { /* LLVM writes it out without a branch */
        made = LLVMInstructionClone(access);
        LLVMInsertIntoBuilder(b, made);
        LLVMSetOperand(made,
                       (is_load(kind) ? 1U : 2U) + LLVM_MASKED_ALIGN_OPERAND,
                       LLVMConstAllOnes(LLVMTypeOf(mask)));
        return made;
    }
    made = kind == LOAD
               ? LLVMBuildLoad2(b, vector, pointers_of(access, kind), "")
               : LLVMBuildStore(b, v, pointers_of(access, kind));
    LLVMSetAlignment(made, LLVMGetIntTypeWidth(LLVMGetElementType(vector)) / 8);
    return made;
}

/* At once where all lanes are active, else a call. */
static LLVMValueRef branch_around(LLVMModuleRef module, LLVMBuilderRef b,
                                  LLVMValueRef access, enum kind kind,
                                  LLVMValueRef bits)
{
    LLVMContextRef ctx = LLVMGetModuleContext(module);
    LLVMBasicBlockRef block = LLVMGetInstructionParent(access), from[2];
    LLVMValueRef v = value_of(access, kind), made[2];
    LLVMTypeRef vector = LLVMTypeOf(v);
    const uint64_t every = (UINT64_C(1) << LLVMGetVectorSize(vector)) - 1;

    cut_before(b, block, access);
    from[0] = LLVMInsertBasicBlockInContext(ctx, block, "all");
    from[1] = LLVMInsertBasicBlockInContext(ctx, block, "some");
    LLVMBuildCondBr(b,
                    LLVMBuildICmp(b, LLVMIntEQ, bits,
                                  LLVMConstInt(LLVMTypeOf(bits), every, 0), ""),
                    from[0], from[1]);
    LLVMPositionBuilderAtEnd(b, from[0]);
    made[0] = access_all(b, access, kind);
    LLVMBuildBr(b, block);
    LLVMPositionBuilderAtEnd(b, from[1]);
    made[1] = call_helper(module, b, access, kind, bits);
    LLVMBuildBr(b, block);
    LLVMPositionBuilderBefore(b, access);
    if (!is_load(kind))
        return NULL;
    v = LLVMBuildPhi(b, vector, "");
    LLVMAddIncoming(v, made, from, 2);
    return v;
}

static void lower(LLVMModuleRef module, LLVMBuilderRef b, LLVMValueRef access,
                  enum kind kind, int calls)
{
    LLVMContextRef ctx = LLVMGetModuleContext(module);
    LLVMValueRef bits = mask_of(access, kind), made;
    const unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(bits));

    LLVMPositionBuilderBefore(b, access);
    LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(access));
    bits = LLVMBuildBitCast(b, bits, LLVMIntTypeInContext(ctx, lanes), "");
    bits = LLVMBuildZExt(b, bits, LLVMInt32TypeInContext(ctx), "");
    made = calls ? call_helper(module, b, access, kind, bits)
                 : branch_around(module, b, access, kind, bits);
    if (is_load(kind))
        LLVMReplaceAllUsesWith(access, made);
    LLVMInstructionEraseFromParent(access);
}

/* Does the processor, or LLVM without branches, do it as it stands? */
static int is_native(LLVMValueRef call, enum kind kind,
                     const struct masked_isa *isa, int all)
{
    LLVMTypeRef vector = LLVMTypeOf(value_of(call, kind));
    LLVMTypeRef element = LLVMGetElementType(vector);
    LLVMValueRef mask = mask_of(call, kind);
    unsigned least = kind >= GATHER ? isa->gather : isa->access;

    if (LLVMGetTypeKind(element) != LLVMIntegerTypeKind ||
        LLVMGetVectorSize(vector) > 16)
        return 1;
    if (least && LLVMGetIntTypeWidth(element) >= least)
        return 1;
    return (kind < GATHER || !all) &&
           mask == LLVMConstAllOnes(LLVMTypeOf(mask));
}

/* What kind of access an instruction is that has to be written out; KINDS if
 * it is none. */
static enum kind kind_of(LLVMValueRef i, const unsigned *ids,
                         const struct masked_isa *isa, int all)
{
    unsigned id = 0;

    if (LLVMIsACallInst(i) && LLVMIsAFunction(LLVMGetCalledValue(i)))
        id = LLVMGetIntrinsicID(LLVMGetCalledValue(i));
    for (int k = 0; id && k < KINDS; k++)
        if (id == ids[k])
            return is_native(i, (enum kind)k, isa, all) ? KINDS : (enum kind)k;
    return KINDS;
}

static unsigned count_apart(LLVMValueRef fn, const unsigned *ids,
                            const struct masked_isa *isa, int all)
{
    unsigned count = 0;

    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn); block;
         block = LLVMGetNextBasicBlock(block))
        for (LLVMValueRef i = LLVMGetFirstInstruction(block); i;
             i = LLVMGetNextInstruction(i)) {
            const enum kind kind = kind_of(i, ids, isa, all);

            count += kind == GATHER || kind == SCATTER;
        }
    return count;
}

static void lower_function(LLVMModuleRef module, LLVMBuilderRef b,
                           LLVMValueRef fn, const unsigned *ids,
                           const struct masked_isa *isa, int all)
{
    const int few = count_apart(fn, ids, isa, all) <= FEW;

    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn); block;
         block = LLVMGetNextBasicBlock(block))
        for (LLVMValueRef i = LLVMGetFirstInstruction(block), next; i;
             i = next) {
            const enum kind kind = kind_of(i, ids, isa, all);

            next = LLVMGetNextInstruction(i);
            if (kind != KINDS)
                lower(module, b, i, kind, all || (kind >= GATHER && !few));
        }
}

void masked_lower(LLVMModuleRef module, const struct masked_isa *isa, int all)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    unsigned ids[KINDS];

    for (int k = 0; k < KINDS; k++) {
        char name[32];

        snprintf(name, sizeof name, "llvm.masked.%s", names[k]);
        ids[k] = LLVMLookupIntrinsicID(name, strlen(name));
    }
    for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn;
         fn = LLVMGetNextFunction(fn))
        lower_function(module, b, fn, ids, isa, all);
    LLVMDisposeBuilder(b);
}
