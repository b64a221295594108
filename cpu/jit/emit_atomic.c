/* SPDX-License-Identifier: MIT
 *
 * atom and red: a loop over the active lanes with one read-modify-write
 * each, in lane order. Where all lanes name one address and nobody reads the
 * old value, the warp is combined first. A block runs on one thread, so
 * accesses named .shared need no lock.
 *
 * Every form is acquire and release: on x86 a locked instruction orders
 * everything anyway (PTX ISA 8, memory consistency model).
 */
#include "cpu/jit/emit_lanes.h"

#include <stdio.h>

struct atomic {
    const struct ptx_insn *p;
    enum ptx_type type;
    unsigned bits;
    int shared;
    int is_float;
    int wants_old;
    LLVMTypeRef element;
};

static int is_signed(const struct atomic *a)
{
    return ptx_type_class(a->type) == PTX_CLASS_SINT;
}

static LLVMIntPredicate less(const struct atomic *a)
{
    return is_signed(a) ? LLVMIntSLT : LLVMIntULT;
}

/* The new value by ordinary instructions, for .shared and for combining. */
static LLVMValueRef combine(struct emit *e, const struct atomic *a,
                            LLVMValueRef old, LLVMValueRef x, LLVMValueRef y)
{
    LLVMTypeRef fp = a->bits == 32 ? LLVMFloatTypeInContext(e->l.ctx)
                                   : LLVMDoubleTypeInContext(e->l.ctx);
    LLVMValueRef t, zero = emit_const(e, a->bits, 0);
    LLVMValueRef one = emit_const(e, a->bits, 1);

    switch (a->p->sub) {
    case PTX_SUB_ADD:
        if (!a->is_float)
            return LLVMBuildAdd(e->l.b, old, x, "");
        t = LLVMBuildFAdd(e->l.b, LLVMBuildBitCast(e->l.b, old, fp, ""),
                          LLVMBuildBitCast(e->l.b, x, fp, ""), "");
        return LLVMBuildBitCast(e->l.b, t, a->element, "");
    case PTX_SUB_AND:
        return LLVMBuildAnd(e->l.b, old, x, "");
    case PTX_SUB_OR:
        return LLVMBuildOr(e->l.b, old, x, "");
    case PTX_SUB_XOR:
        return LLVMBuildXor(e->l.b, old, x, "");
    case PTX_SUB_MIN:
        t = LLVMBuildICmp(e->l.b, less(a), x, old, "");
        return LLVMBuildSelect(e->l.b, t, x, old, "");
    case PTX_SUB_MAX:
        t = LLVMBuildICmp(e->l.b, less(a), old, x, "");
        return LLVMBuildSelect(e->l.b, t, x, old, "");
    case PTX_SUB_INC: /* old >= x ? 0 : old + 1 */
        t = LLVMBuildICmp(e->l.b, LLVMIntUGE, old, x, "");
        return LLVMBuildSelect(e->l.b, t, zero,
                               LLVMBuildAdd(e->l.b, old, one, ""), "");
    case PTX_SUB_DEC: /* old == 0 || old > x ? x : old - 1 */
        t = LLVMBuildOr(e->l.b, LLVMBuildICmp(e->l.b, LLVMIntEQ, old, zero, ""),
                        LLVMBuildICmp(e->l.b, LLVMIntUGT, old, x, ""), "");
        return LLVMBuildSelect(e->l.b, t, x, LLVMBuildSub(e->l.b, old, one, ""),
                               "");
    case PTX_SUB_CAS:
        t = LLVMBuildICmp(e->l.b, LLVMIntEQ, old, x, "");
        return LLVMBuildSelect(e->l.b, t, y, old, "");
    default: /* exch */
        return x;
    }
}

static int rmw_op(const struct atomic *a, LLVMAtomicRMWBinOp *op)
{
    switch (a->p->sub) {
    case PTX_SUB_ADD:
        *op = a->is_float ? LLVMAtomicRMWBinOpFAdd : LLVMAtomicRMWBinOpAdd;
        return 0;
    case PTX_SUB_AND:
        *op = LLVMAtomicRMWBinOpAnd;
        return 0;
    case PTX_SUB_OR:
        *op = LLVMAtomicRMWBinOpOr;
        return 0;
    case PTX_SUB_XOR:
        *op = LLVMAtomicRMWBinOpXor;
        return 0;
    case PTX_SUB_MIN:
        *op = is_signed(a) ? LLVMAtomicRMWBinOpMin : LLVMAtomicRMWBinOpUMin;
        return 0;
    case PTX_SUB_MAX:
        *op = is_signed(a) ? LLVMAtomicRMWBinOpMax : LLVMAtomicRMWBinOpUMax;
        return 0;
    case PTX_SUB_EXCH:
        *op = LLVMAtomicRMWBinOpXchg;
        return 0;
    case PTX_SUB_INC:
        *op = LLVMAtomicRMWBinOpUIncWrap;
        return 0;
    case PTX_SUB_DEC:
        *op = LLVMAtomicRMWBinOpUDecWrap;
        return 0;
    default:
        return -1;
    }
}

/* One read-modify-write; the old value. */
static LLVMValueRef one(struct emit *e, const struct atomic *a, LLVMValueRef p,
                        LLVMValueRef x, LLVMValueRef y)
{
    LLVMTypeRef fp = a->bits == 32 ? LLVMFloatTypeInContext(e->l.ctx)
                                   : LLVMDoubleTypeInContext(e->l.ctx);
    LLVMAtomicOrdering order = LLVMAtomicOrderingAcquireRelease;
    LLVMAtomicRMWBinOp op;
    LLVMValueRef old;

    if (a->shared) {
        old = LLVMBuildLoad2(e->l.b, a->element, p, "");
        LLVMBuildStore(e->l.b, combine(e, a, old, x, y), p);
        return old;
    }
    if (a->p->sub == PTX_SUB_CAS) {
        old = LLVMBuildAtomicCmpXchg(e->l.b, p, x, y, order,
                                     LLVMAtomicOrderingAcquire, 0);
        return LLVMBuildExtractValue(e->l.b, old, 0, "");
    }
    rmw_op(a, &op);
    if (a->is_float)
        x = LLVMBuildBitCast(e->l.b, x, fp, "");
    old = LLVMBuildAtomicRMW(e->l.b, op, p, x, order, 0);
    return LLVMBuildBitCast(e->l.b, old, a->element, "");
}

static LLVMValueRef helper(struct emit *e, const struct atomic *a,
                           LLVMTypeRef *type)
{
    LLVMTypeRef v = emit_vec(e, a->element);
    LLVMTypeRef args[4] = {emit_vec(e, e->ptr), v, v, e->mask_type};
    struct emit_lanes l;
    LLVMValueRef fn, old;
    char name[64];
    int fresh;

    *type = LLVMFunctionType(v, args, 4, 0);
    snprintf(name, sizeof name, "kiln.atom.%d.%s%s", (int)a->p->sub,
             ptx_type_text(a->type), a->shared ? ".shared" : "");
    fn = emit_helper(e, name, *type, &fresh);
    if (!fresh)
        return fn;
    emit_lanes_begin(e, &l, fn, LLVMGetParam(fn, 3), v);
    for (unsigned i = 0; i < 3; i++)
        emit_lanes_in(e, &l, i, LLVMGetParam(fn, i));
    emit_lanes_open(e, &l);
    old = one(e, a, emit_lanes_get(e, &l, 0), emit_lanes_get(e, &l, 1),
              emit_lanes_get(e, &l, 2));
    emit_lanes_close(e, &l, old);
    return fn;
}

/* --- one operation for the whole warp --- */

static int can_combine(const struct atomic *a)
{
    switch (a->p->sub) {
    case PTX_SUB_ADD:
    case PTX_SUB_AND:
    case PTX_SUB_OR:
    case PTX_SUB_XOR:
    case PTX_SUB_MIN:
    case PTX_SUB_MAX:
        return !a->is_float && !a->wants_old;
    default:
        return 0;
    }
}

static uint64_t identity(const struct atomic *a)
{
    uint64_t top = 1ull << (a->bits - 1);

    switch (a->p->sub) {
    case PTX_SUB_AND:
        return UINT64_MAX;
    case PTX_SUB_MIN:
        return is_signed(a) ? top - 1 : UINT64_MAX;
    case PTX_SUB_MAX:
        return is_signed(a) ? top : 0;
    default:
        return 0;
    }
}

static const char *reduction(const struct atomic *a)
{
    switch (a->p->sub) {
    case PTX_SUB_AND:
        return "llvm.vector.reduce.and";
    case PTX_SUB_OR:
        return "llvm.vector.reduce.or";
    case PTX_SUB_XOR:
        return "llvm.vector.reduce.xor";
    case PTX_SUB_MIN:
        return is_signed(a) ? "llvm.vector.reduce.smin"
                            : "llvm.vector.reduce.umin";
    case PTX_SUB_MAX:
        return is_signed(a) ? "llvm.vector.reduce.smax"
                            : "llvm.vector.reduce.umax";
    default:
        return "llvm.vector.reduce.add";
    }
}

static void combined(struct emit *e, const struct atomic *a,
                     const struct graph_insn *insn, int k, LLVMValueRef p)
{
    LLVMTypeRef v = emit_vec(e, a->element), types[] = {v};
    LLVMValueRef none = emit_const(e, a->bits, identity(a)), all = NULL;

    for (unsigned c = 0; c < e->chunks; c++) {
        LLVMValueRef x = emit_operand_vector(e, insn, k, c, a->bits);

        x = LLVMBuildSelect(e->l.b, e->mask[c], x, emit_splat(e, none), "");
        all = all ? combine(e, a, all, x, x) : x;
    }
    all = lower_intrinsic(&e->l, reduction(a), types, 1, &all, 1);
    one(e, a, p, all, all);
}

void emit_atomic(struct emit *e, const struct graph_insn *insn)
{
    const struct ptx_insn *p = insn->ptx;
    int k = p->dst_count, value = p->dst_count ? insn->val[0] : GRAPH_NONE;
    LLVMValueRef made[EMIT_MAX_CHUNKS];
    struct emit_address at;
    struct atomic a = {.p = p,
                       .type = p->types[0],
                       .bits = ptx_type_bits(p->types[0]),
                       .shared = p->space == PTX_SPACE_SHARED};
    LLVMAtomicRMWBinOp op;
    LLVMTypeRef type;

    a.is_float = ptx_type_class(a.type) == PTX_CLASS_FLOAT;
    a.wants_old = value != GRAPH_NONE && e->g->values[value].used;
    a.element = LLVMIntTypeInContext(e->l.ctx, a.bits);
    if (p->type_count != 1 || (a.bits != 32 && a.bits != 64) || p->vec > 1 ||
        ptx_type_class(a.type) == PTX_CLASS_PACKED ||
        (p->sub != PTX_SUB_CAS && rmw_op(&a, &op)) ||
        (a.is_float && p->sub != PTX_SUB_ADD)) {
        emit_refuse(e, p, NULL);
        return;
    }
    emit_address(e, insn, k, &at);
    if (at.shape.kind == SHAPE_UNIFORM && can_combine(&a)) {
        combined(e, &a, insn, k + 1, at.ptr[0]);
        return;
    }
    for (unsigned c = 0; c < e->chunks; c++) {
        LLVMValueRef x = emit_operand_vector(e, insn, k + 1, c, a.bits);
        LLVMValueRef y = p->sub == PTX_SUB_CAS
                             ? emit_operand_vector(e, insn, k + 2, c, a.bits)
                             : LLVMConstNull(LLVMTypeOf(x));
        LLVMValueRef fn = helper(e, &a, &type);

        made[c] = LLVMBuildCall2(
            e->l.b, type, fn,
            (LLVMValueRef[]){emit_address_vector(e, &at, c), x, y, e->mask[c]},
            4, "");
    }
    if (a.wants_old)
        emit_define_vectors(e, value, made);
}
