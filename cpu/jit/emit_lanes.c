/* SPDX-License-Identifier: MIT */
#include "cpu/jit/emit_lanes.h"

#include <string.h>

/* Intrinsics on memory: LLVM 22 took the alignment from the operands and
 * made it an attribute of the pointer (llvm.h). `ptr` is the pointer's place
 * among the arguments, the alignment's would be behind it. */
static LLVMValueRef call(struct emit *e, const char *name, LLVMTypeRef *types,
                         LLVMValueRef *args, unsigned n, unsigned ptr,
                         unsigned alignment)
{
    LLVMValueRef with[5], made;
    unsigned count = 0;

    for (unsigned i = 0; i < n; i++) {
        with[count++] = args[i];
        if (LLVM_MASKED_ALIGN_OPERAND && i == ptr)
            with[count++] = emit_const(e, 32, alignment);
    }
    made = lower_intrinsic(&e->l, name, types, 2, with, count);
    if (!LLVM_MASKED_ALIGN_OPERAND) {
        unsigned kind = LLVMGetEnumAttributeKindForName("align", 5);

        LLVMAddCallSiteAttribute(
            made, ptr + 1, LLVMCreateEnumAttribute(e->l.ctx, kind, alignment));
    }
    return made;
}

LLVMValueRef emit_masked_load(struct emit *e, LLVMTypeRef vector,
                              LLVMValueRef p, LLVMValueRef mask,
                              unsigned alignment)
{
    LLVMTypeRef types[] = {vector, e->ptr};
    LLVMValueRef args[] = {p, mask, LLVMConstNull(vector)};

    return call(e, "llvm.masked.load", types, args, 3, 0, alignment);
}

void emit_masked_store(struct emit *e, LLVMValueRef v, LLVMValueRef p,
                       LLVMValueRef mask, unsigned alignment)
{
    LLVMTypeRef types[] = {LLVMTypeOf(v), e->ptr};
    LLVMValueRef args[] = {v, p, mask};

    call(e, "llvm.masked.store", types, args, 3, 1, alignment);
}

LLVMValueRef emit_gather(struct emit *e, LLVMTypeRef vector, LLVMValueRef ptrs,
                         LLVMValueRef mask, unsigned alignment)
{
    LLVMTypeRef types[] = {vector, LLVMTypeOf(ptrs)};
    LLVMValueRef args[] = {ptrs, mask, emit_blank(e, vector)};

    return call(e, "llvm.masked.gather", types, args, 3, 0, alignment);
}

void emit_scatter(struct emit *e, LLVMValueRef v, LLVMValueRef ptrs,
                  LLVMValueRef mask, unsigned alignment)
{
    LLVMTypeRef types[] = {LLVMTypeOf(v), LLVMTypeOf(ptrs)};
    LLVMValueRef args[] = {v, ptrs, mask};

    call(e, "llvm.masked.scatter", types, args, 3, 1, alignment);
}

void emit_lanes_begin(struct emit *e, struct emit_lanes *l, LLVMValueRef fn,
                      LLVMValueRef mask, LLVMTypeRef out_vector)
{
    memset(l, 0, sizeof *l);
    l->fn = fn;
    l->saved = e->l.b;
    l->saved_fn = e->fn;
    e->fn = fn;
    e->l.b = LLVMCreateBuilderInContext(e->l.ctx);
    LLVMPositionBuilderAtEnd(e->l.b, emit_new_bb(e, "entry"));
    l->bits = emit_mask_bits(e, mask);
    if (out_vector) {
        l->out_type = out_vector;
        l->out = LLVMBuildAlloca(e->l.b, out_vector, "");
        LLVMBuildStore(e->l.b, LLVMConstNull(out_vector), l->out);
    }
}

void emit_lanes_in(struct emit *e, struct emit_lanes *l, unsigned i,
                   LLVMValueRef vector)
{
    l->in_type[i] = LLVMGetElementType(LLVMTypeOf(vector));
    l->in[i] = LLVMBuildAlloca(e->l.b, LLVMTypeOf(vector), "");
    LLVMBuildStore(e->l.b, vector, l->in[i]);
}

void emit_lanes_open(struct emit *e, struct emit_lanes *l)
{
    LLVMBasicBlockRef entry = LLVMGetInsertBlock(e->l.b), body;
    LLVMTypeRef types[] = {e->i32};
    LLVMValueRef args[2], more, first = l->bits;

    l->head = emit_new_bb(e, "head");
    body = emit_new_bb(e, "lane");
    l->exit = emit_new_bb(e, "exit");
    LLVMBuildBr(e->l.b, l->head);
    LLVMPositionBuilderAtEnd(e->l.b, l->head);
    l->bits = LLVMBuildPhi(e->l.b, e->i32, "");
    LLVMAddIncoming(l->bits, &first, &entry, 1);
    more = LLVMBuildICmp(e->l.b, LLVMIntNE, l->bits, emit_const(e, 32, 0), "");
    LLVMBuildCondBr(e->l.b, more, body, l->exit);
    LLVMPositionBuilderAtEnd(e->l.b, body);
    args[0] = l->bits;
    args[1] = LLVMConstInt(e->i1, 1, 0);
    l->lane = lower_intrinsic(&e->l, "llvm.cttz", types, 1, args, 2);
}

static LLVMValueRef element_at(struct emit *e, struct emit_lanes *l,
                               LLVMTypeRef type, LLVMValueRef vector)
{
    return LLVMBuildGEP2(e->l.b, type, vector, &l->lane, 1, "");
}

LLVMValueRef emit_lanes_get(struct emit *e, struct emit_lanes *l, unsigned i)
{
    return LLVMBuildLoad2(e->l.b, l->in_type[i],
                          element_at(e, l, l->in_type[i], l->in[i]), "");
}

void emit_lanes_close(struct emit *e, struct emit_lanes *l, LLVMValueRef result)
{
    LLVMBasicBlockRef from;
    LLVMValueRef rest;

    if (result)
        LLVMBuildStore(e->l.b, result,
                       element_at(e, l, LLVMTypeOf(result), l->out));
    rest = LLVMBuildSub(e->l.b, l->bits, emit_const(e, 32, 1), "");
    rest = LLVMBuildAnd(e->l.b, l->bits, rest, "");
    from = LLVMGetInsertBlock(e->l.b);
    LLVMAddIncoming(l->bits, &rest, &from, 1);
    LLVMBuildBr(e->l.b, l->head);
    LLVMPositionBuilderAtEnd(e->l.b, l->exit);
    if (l->out)
        LLVMBuildRet(e->l.b, LLVMBuildLoad2(e->l.b, l->out_type, l->out, ""));
    else
        LLVMBuildRetVoid(e->l.b);
    LLVMDisposeBuilder(e->l.b);
    e->l.b = l->saved;
    e->fn = l->saved_fn;
}
