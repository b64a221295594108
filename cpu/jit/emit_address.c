/* SPDX-License-Identifier: MIT
 *
 * Addresses. Generic, global, constant, local and parameter addresses are
 * addresses of this process. A shared address is an offset into the block's
 * shared memory; the window around that is reserved and inaccessible, so a
 * signed 32-bit offset is right or faults, and base + lane * stride needs no
 * check (cpu/exec/abi.h).
 */
#include "cpu/jit/emit.h"

static LLVMValueRef offset_ptr(struct emit *e, LLVMValueRef base,
                               LLVMValueRef offset)
{
    return LLVMBuildGEP2(e->l.b, e->i8, base, &offset, 1, "");
}

LLVMValueRef emit_var_base(struct emit *e, const struct ptx_var *var,
                           int64_t add, unsigned bits)
{
    uint64_t offset = layout_offset(e->layout, var) + (uint64_t)add;
    LLVMValueRef base, at;

    switch (var->space) {
    case PTX_SPACE_SHARED:
        return emit_const(e, bits, offset);
    case PTX_SPACE_PARAM:
        base = e->params;
        break;
    case PTX_SPACE_GLOBAL:
    case PTX_SPACE_CONST:
        base = e->data;
        break;
    default:
        return LLVMGetPoison(LLVMIntTypeInContext(e->l.ctx, bits));
    }
    at = offset_ptr(e, base, emit_const(e, 64, offset));
    return LLVMBuildPtrToInt(e->l.b, at, LLVMIntTypeInContext(e->l.ctx, bits),
                             "");
}

/* Each thread's own copy: local + thread * stride + offset. */
LLVMValueRef emit_local_vector(struct emit *e, const struct ptx_var *var,
                               int64_t add, unsigned c)
{
    uint64_t offset = layout_offset(e->layout, var) + (uint64_t)add;
    LLVMTypeRef wide = emit_vec(e, e->i64);
    LLVMValueRef t, at;

    t = LLVMBuildAdd(e->l.b, e->zero_warp, emit_const(e, 32, c * e->lanes), "");
    t = LLVMBuildAdd(e->l.b, emit_splat(e, t), e->iota32, "");
    t = LLVMBuildZExt(e->l.b, t, wide, "");
    t = LLVMBuildMul(e->l.b, t, emit_splat(e, e->local_stride), "");
    at = LLVMBuildPtrToInt(e->l.b, e->local, e->i64, "");
    if (var->is_extern && !var->size) /* the end of the thread's memory */
        at = LLVMBuildAdd(e->l.b, at, e->local_stride, "");
    at = LLVMBuildAdd(e->l.b, at, emit_const(e, 64, offset), "");
    return LLVMBuildAdd(e->l.b, t, emit_splat(e, at), "");
}

static LLVMValueRef to_shared(struct emit *e, LLVMValueRef v, int64_t add)
{
    LLVMTypeRef type = LLVMTypeOf(v);
    int is_vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
    LLVMTypeRef narrow = is_vector ? emit_vec(e, e->i32) : e->i32;
    LLVMTypeRef wide = is_vector ? emit_vec(e, e->i64) : e->i64;
    LLVMValueRef k = emit_const(e, 64, (uint64_t)add), p;

    /* of 64 bits, or of 16 */
    if (type != narrow)
        v = LLVMBuildIntCast2(e->l.b, v, narrow, 0, "");
    v = LLVMBuildSExt(e->l.b, v, wide, "");
    /* The scalar first: a gather can take it for its base. */
    p = add ? offset_ptr(e, e->shared, k) : e->shared;
    return offset_ptr(e, p, v);
}

static LLVMValueRef to_generic(struct emit *e, LLVMValueRef v, int64_t add)
{
    LLVMTypeRef type = LLVMTypeOf(v);
    int is_vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
    LLVMTypeRef wide = is_vector ? emit_vec(e, e->i64) : e->i64;
    LLVMTypeRef ptr = is_vector ? emit_vec(e, e->ptr) : e->ptr;
    LLVMValueRef p;

    if (type != wide)
        v = LLVMBuildZExt(e->l.b, v, wide, "");
    p = LLVMBuildIntToPtr(e->l.b, v, ptr, "");
    return add ? offset_ptr(e, p, emit_const(e, 64, (uint64_t)add)) : p;
}

/* The same address in every lane of the warp. */
static LLVMValueRef uniform_ptr(struct emit *e, const struct graph_insn *insn,
                                int k, int shared)
{
    const struct ptx_operand *o = &insn->ptx->operands[k];

    if (o->kind == PTX_OPERAND_ADDR_VAR) {
        uint64_t offset = layout_offset(e->layout, o->var) + (uint64_t)o->ival;
        LLVMValueRef base = o->var->space == PTX_SPACE_SHARED  ? e->shared
                            : o->var->space == PTX_SPACE_PARAM ? e->params
                                                               : e->data;

        return offset_ptr(e, base, emit_const(e, 64, offset));
    }
    if (o->kind == PTX_OPERAND_ADDR_INT) {
        if (shared)
            return to_shared(e, emit_const(e, 32, (uint64_t)o->ival), 0);
        return to_generic(e, emit_const(e, 64, (uint64_t)o->ival), 0);
    }
    if (shared)
        return to_shared(e, emit_base(e, insn->val[k], 0), o->ival);
    return to_generic(e, emit_base(e, insn->val[k], 0), o->ival);
}

/* A chunk without active lanes may have any base; a scalar load there uses
 * the base of a chunk that has some. */
static void borrow_bases(struct emit *e, LLVMValueRef *base)
{
    LLVMValueRef first = base[e->chunks - 1];

    for (unsigned c = e->chunks - 1; c-- > 0;)
        first = LLVMBuildSelect(e->l.b, emit_any(e, c), base[c], first, "");
    for (unsigned c = 0; c < e->chunks; c++)
        base[c] = LLVMBuildSelect(e->l.b, emit_any(e, c), base[c], first, "");
}

void emit_address_in(struct emit *e, const struct graph_insn *insn, int k,
                     enum ptx_space space, struct emit_address *out)
{
    const struct ptx_operand *o = &insn->ptx->operands[k];
    int shared = space == PTX_SPACE_SHARED;
    LLVMValueRef base[EMIT_MAX_CHUNKS];

    out->shape = graph_operand_shape(e->g, insn, k, e->at);
    if (out->shape.kind == SHAPE_UNIFORM) {
        out->ptr[0] = uniform_ptr(e, insn, k, shared);
        return;
    }
    for (unsigned c = 0; c < e->chunks; c++) {
        if (o->kind == PTX_OPERAND_ADDR_VAR)
            base[c] = emit_local_vector(e, o->var, 0, c);
        else if (out->shape.kind == SHAPE_STRIDED)
            base[c] = emit_base(e, insn->val[k], c);
        else
            base[c] = emit_vector(e, insn->val[k], c);
    }
    if (out->shape.kind == SHAPE_STRIDED && !out->shape.stride)
        borrow_bases(e, base);
    for (unsigned c = 0; c < e->chunks; c++)
        out->ptr[c] = shared ? to_shared(e, base[c], o->ival)
                             : to_generic(e, base[c], o->ival);
}

void emit_address(struct emit *e, const struct graph_insn *insn, int k,
                  struct emit_address *out)
{
    emit_address_in(e, insn, k, insn->ptx->space, out);
}

LLVMValueRef emit_address_vector(struct emit *e, const struct emit_address *a,
                                 unsigned c)
{
    LLVMValueRef step[64];

    if (a->shape.kind == SHAPE_VARYING)
        return a->ptr[c];
    if (a->shape.kind == SHAPE_UNIFORM)
        return emit_splat(e, a->ptr[0]);
    for (unsigned i = 0; i < e->lanes; i++)
        step[i] = emit_const(e, 64, (uint64_t)(a->shape.stride * (int64_t)i));
    return offset_ptr(e, a->ptr[c], LLVMConstVector(step, e->lanes));
}

LLVMValueRef emit_row(struct emit *e, LLVMValueRef area, uint64_t offset,
                      unsigned c, unsigned bytes)
{
    return offset_ptr(
        e, area, emit_const(e, 64, offset + (uint64_t)c * e->lanes * bytes));
}
