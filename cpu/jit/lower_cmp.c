/* SPDX-License-Identifier: MIT
 *
 * Comparison and selection, PTX ISA 9.7.6: setp, set, selp, slct.
 */
#include "cpu/jit/lower_rules.h"

static LLVMRealPredicate real_predicate(enum ptx_cmp cmp)
{
    static const LLVMRealPredicate map[] = {
        [PTX_CMP_EQ] = LLVMRealOEQ,  [PTX_CMP_NE] = LLVMRealONE,
        [PTX_CMP_LT] = LLVMRealOLT,  [PTX_CMP_LE] = LLVMRealOLE,
        [PTX_CMP_GT] = LLVMRealOGT,  [PTX_CMP_GE] = LLVMRealOGE,
        [PTX_CMP_EQU] = LLVMRealUEQ, [PTX_CMP_NEU] = LLVMRealUNE,
        [PTX_CMP_LTU] = LLVMRealULT, [PTX_CMP_LEU] = LLVMRealULE,
        [PTX_CMP_GTU] = LLVMRealUGT, [PTX_CMP_GEU] = LLVMRealUGE,
        [PTX_CMP_NUM] = LLVMRealORD, [PTX_CMP_NAN] = LLVMRealUNO,
    };
    return map[cmp];
}

static LLVMIntPredicate int_predicate(enum ptx_cmp cmp, int is_signed)
{
    switch (cmp) {
    case PTX_CMP_EQ:
        return LLVMIntEQ;
    case PTX_CMP_NE:
        return LLVMIntNE;
    case PTX_CMP_LT:
        return is_signed ? LLVMIntSLT : LLVMIntULT;
    case PTX_CMP_LE:
        return is_signed ? LLVMIntSLE : LLVMIntULE;
    case PTX_CMP_GT:
        return is_signed ? LLVMIntSGT : LLVMIntUGT;
    case PTX_CMP_GE:
        return is_signed ? LLVMIntSGE : LLVMIntUGE;
    case PTX_CMP_LO:
        return LLVMIntULT;
    case PTX_CMP_LS:
        return LLVMIntULE;
    case PTX_CMP_HI:
        return LLVMIntUGT;
    default:
        return LLVMIntUGE;
    }
}

static int is_float(enum ptx_type t)
{
    return ptx_type_class(t) == PTX_CLASS_FLOAT ||
           ptx_type_class(t) == PTX_CLASS_PACKED;
}

/* i1 per lane; per half for packed types. */
static LLVMValueRef compare(struct lower_op *o, enum ptx_type t)
{
    struct lower *l = o->l;
    enum ptx_cmp cmp = o->insn->cmp;
    if (is_float(t)) {
        LLVMValueRef a = lower_float_in(o, 0, t), b = lower_float_in(o, 1, t);
        return f_cmp(l, real_predicate(cmp), a, b);
    }
    unsigned bits = ptx_type_bits(t);
    LLVMValueRef a = lower_source(o, 0, bits), b = lower_source(o, 1, bits);
    return i_cmp(l, int_predicate(cmp, lower_signed(t)), a, b);
}

static LLVMValueRef combine(struct lower_op *o, LLVMValueRef p,
                            LLVMValueRef with)
{
    switch (o->insn->sub) {
    case PTX_SUB_AND:
        return i_and(o->l, p, with);
    case PTX_SUB_OR:
        return i_or(o->l, p, with);
    case PTX_SUB_XOR:
        return i_xor(o->l, p, with);
    default:
        return p;
    }
}

static LLVMValueRef third(struct lower_op *o)
{
    return o->insn->sub == PTX_SUB_NONE ? NULL : o->src[2];
}

static LLVMValueRef lane_indices(struct lower *l, unsigned n, unsigned times,
                                 unsigned part, unsigned plus)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(l->ctx);
    LLVMValueRef at[128];
    for (unsigned i = 0; i < n; i++)
        at[i] = LLVMConstInt(i32, i * times / part + plus, 0);
    return LLVMConstVector(at, n);
}

/* The predicates of one half of packed lanes. */
static LLVMValueRef half(struct lower *l, LLVMValueRef v, unsigned which)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(l->ctx);
    if (!l->lanes)
        return LLVMBuildExtractElement(l->b, v, LLVMConstInt(i32, which, 0),
                                       "");
    return LLVMBuildShuffleVector(l->b, v, LLVMGetPoison(LLVMTypeOf(v)),
                                  lane_indices(l, l->lanes, 2, 1, which), "");
}

/* A predicate for both halves of packed lanes. */
static LLVMValueRef both(struct lower *l, LLVMValueRef p)
{
    if (!l->lanes) {
        LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(p), 2);
        return select_(l, p, LLVMConstAllOnes(type), LLVMConstNull(type));
    }
    return LLVMBuildShuffleVector(l->b, p, LLVMGetPoison(LLVMTypeOf(p)),
                                  lane_indices(l, 2 * l->lanes, 1, 2, 0), "");
}

LLVMValueRef lower_setp(struct lower_op *o)
{
    struct lower *l = o->l;
    LLVMValueRef p = compare(o, o->type);
    if (lower_is_packed(o->type)) { /* p of the low half, q of the high */
        o->second = combine(o, half(l, p, 1), third(o));
        return combine(o, half(l, p, 0), third(o));
    }
    if (o->insn->dst_count > 1)
        o->second = combine(o, i_not(l, p), third(o));
    return combine(o, p, third(o));
}

/* set.cmp.dtype.stype: all ones or 1.0. */
LLVMValueRef lower_set(struct lower_op *o)
{
    struct lower *l = o->l;
    enum ptx_type to = o->insn->types[0], from = o->insn->types[1];
    LLVMValueRef p = compare(o, from), c = third(o);
    unsigned bits = ptx_type_bits(to);
    uint64_t yes = UINT64_MAX;
    if (to == PTX_F32)
        yes = 0x3f800000;
    else if (to == PTX_F16 || to == PTX_F16X2)
        yes = 0x3c00;
    else if (to == PTX_BF16 || to == PTX_BF16X2)
        yes = 0x3f80;
    if (lower_is_packed(from)) {
        p = combine(o, p, c ? both(l, c) : NULL);
        bits = 16;
    } else {
        p = combine(o, p, c);
    }
    LLVMTypeRef type = lower_int_like(l, p, bits);
    LLVMValueRef r =
        select_(l, p, lower_const(type, yes), lower_const(type, 0));
    return lower_is_packed(from) ? cast_(l, r, lower_int_type(l, 32)) : r;
}

LLVMValueRef lower_selp(struct lower_op *o)
{
    unsigned bits = ptx_type_bits(o->type);
    LLVMValueRef a = lower_source(o, 0, bits), b = lower_source(o, 1, bits);
    return select_(o->l, o->src[2], a, b);
}

/* slct.dtype.ctype: a where c >= 0; a NaN takes b. */
LLVMValueRef lower_slct(struct lower_op *o)
{
    struct lower *l = o->l;
    unsigned bits = ptx_type_bits(o->type);
    LLVMValueRef a = lower_source(o, 0, bits), b = lower_source(o, 1, bits);
    LLVMValueRef p;
    if (o->insn->types[1] == PTX_F32) {
        LLVMValueRef c = lower_float_in(o, 2, PTX_F32);
        p = f_cmp(l, LLVMRealOGE, c, k_real(c, 0));
    } else {
        LLVMValueRef c = lower_source(o, 2, 32);
        p = i_cmp(l, LLVMIntSGE, c, k_int(c, 0));
    }
    return select_(l, p, a, b);
}
