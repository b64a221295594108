/* SPDX-License-Identifier: MIT
 *
 * Float operands and results, and the arithmetic that rounds to nearest.
 *
 * Halves are computed in f32: its 24 bits are at least 2 * 11 + 2, so that
 * rounding a sum, difference or product twice is rounding it once; fma is in
 * lower_half.c, because for it that does not hold. The processor's flush modes
 * never apply to f16 in either direction, so .ftz.f16 is always explicit.
 */
#include "cpu/jit/lower_rules.h"

/* What a copy of a tensor's part puts where there is no element, in f16 and
 * bf16 and with either sign: found in an H200's answers, the ISA has no bits
 * for it. */
enum { OUTSIDE = 0x7ff7 };

int lower_is_packed(enum ptx_type t)
{
    return ptx_type_class(t) == PTX_CLASS_PACKED;
}

int lower_is_half(enum ptx_type t)
{
    return t == PTX_F16 || t == PTX_BF16 || t == PTX_F16X2 || t == PTX_BF16X2;
}

static int is_single(enum ptx_type t)
{
    return t == PTX_F32 || t == PTX_F32X2;
}

static int is_bfloat(enum ptx_type t)
{
    return t == PTX_BF16 || t == PTX_BF16X2;
}

LLVMValueRef lower_flush_bits(struct lower *l, LLVMValueRef bits,
                              uint64_t exponent, uint64_t sign)
{
    LLVMValueRef e = i_and(l, bits, k_int(bits, exponent));
    LLVMValueRef tiny = i_cmp(l, LLVMIntEQ, e, k_int(e, 0));
    return select_(l, tiny, i_and(l, bits, k_int(bits, sign)), bits);
}

LLVMValueRef lower_flush(struct lower *l, LLVMValueRef v)
{
    LLVMTypeRef type = LLVMTypeOf(v);
    LLVMValueRef bits = lower_as_int(l, v);
    bits = lower_bits(type) == 64
               ? lower_flush_bits(l, bits, UINT64_C(0x7ff) << 52,
                                  UINT64_C(1) << 63)
               : lower_flush_bits(l, bits, 0x7f800000, 0x80000000);
    return cast_(l, bits, type);
}

/* [0, 1], NaN and -0 to +0: the comparisons that maxps and minps make. */
LLVMValueRef lower_saturate(struct lower *l, LLVMValueRef v)
{
    LLVMValueRef zero = k_real(v, 0), one = k_real(v, 1);
    v = select_(l, f_cmp(l, LLVMRealOGT, v, zero), v, zero);
    return select_(l, f_cmp(l, LLVMRealOLT, v, one), v, one);
}

/* Negative to +0; NaN stays. */
LLVMValueRef lower_relu(struct lower *l, LLVMValueRef v)
{
    LLVMValueRef zero = k_real(v, 0);
    v = select_(l, f_cmp(l, LLVMRealOLE, v, zero), zero, v);
    return lower_canonical(l, v);
}

/* PTX ISA 9.7.3: a NaN result is 0x7fffffff (f32); f64's and halves' alike. */
LLVMValueRef lower_canonical(struct lower *l, LLVMValueRef v)
{
    unsigned bits = lower_bits(LLVMTypeOf(v));
    LLVMTypeRef type = LLVMTypeOf(v);
    LLVMTypeRef it = lower_int_like(l, v, bits);
    LLVMValueRef nan =
        cast_(l, lower_const(it, bits == 64 ? INT64_MAX : 0x7fffffff), type);
    return select_(l, f_cmp(l, LLVMRealUNO, v, v), nan, v);
}

LLVMValueRef lower_split(struct lower *l, LLVMValueRef bits, enum ptx_type t)
{
    unsigned n = lower_shape(LLVMTypeOf(bits));
    LLVMTypeRef e = LLVMIntTypeInContext(l->ctx, ptx_type_bits(t) / 2);
    return cast_(l, bits, LLVMVectorType(e, n ? 2 * n : 2));
}

LLVMValueRef lower_join(struct lower *l, LLVMValueRef parts, enum ptx_type t)
{
    return cast_(l, parts, lower_int_type(l, ptx_type_bits(t)));
}

static LLVMValueRef widen_half(struct lower *l, LLVMValueRef h, enum ptx_type t)
{
    LLVMTypeRef f32 = lower_float_like(l, h, 32);
    if (is_bfloat(t)) {
        LLVMValueRef w = lower_width(l, h, 32, 0);
        return cast_(l, i_shl(l, w, k_int(w, 16)), f32);
    }
    return lower_widen_half(l, h);
}

LLVMValueRef lower_unpack(struct lower *l, LLVMValueRef bits, enum ptx_type t)
{
    unsigned width = ptx_type_bits(t);
    bits = lower_width(l, bits, width, 0);
    if (lower_is_packed(t))
        bits = lower_split(l, bits, t);
    if (lower_is_half(t))
        return widen_half(l, bits, t);
    return cast_(l, bits,
                 lower_float_like(l, bits, lower_bits(LLVMTypeOf(bits))));
}

static LLVMValueRef to_bits(struct lower *l, LLVMValueRef v, enum ptx_type t)
{
    if (!lower_is_half(t))
        return lower_as_int(l, v);
    return is_bfloat(t) ? lower_float_to_bfloat(l, v, PTX_ROUND_RN)
                        : lower_float_to_half(l, v, PTX_ROUND_RN);
}

LLVMValueRef lower_pack(struct lower *l, LLVMValueRef v, enum ptx_type t)
{
    LLVMValueRef h = to_bits(l, v, t);
    return lower_is_packed(t) ? lower_join(l, h, t) : h;
}

/* Raw bits of source i, flushed where .ftz asks for it and the processor does
 * not do it. Packed operands come as halves. */
LLVMValueRef lower_bits_in(struct lower_op *o, unsigned i, enum ptx_type t)
{
    struct lower *l = o->l;
    LLVMValueRef v = lower_source(o, i, ptx_type_bits(t));
    if (lower_is_packed(t))
        v = lower_split(l, v, t);
    if (!lower_has(o, PTX_MOD_FTZ))
        return v;
    if (t == PTX_F16 || t == PTX_F16X2)
        return lower_flush_bits(l, v, 0x7c00, 0x8000);
    if (is_bfloat(t))
        return lower_flush_bits(l, v, 0x7f80, 0x8000);
    if (is_single(t) && !l->flush)
        return lower_flush_bits(l, v, 0x7f800000, 0x80000000);
    return v;
}

LLVMValueRef lower_float_in(struct lower_op *o, unsigned i, enum ptx_type t)
{
    LLVMValueRef bits = lower_bits_in(o, i, t);
    if (lower_is_half(t))
        return widen_half(o->l, bits, t);
    return cast_(o->l, bits,
                 lower_float_like(o->l, bits, lower_bits(LLVMTypeOf(bits))));
}

LLVMValueRef lower_bits_out(struct lower_op *o, LLVMValueRef bits,
                            enum ptx_type t)
{
    struct lower *l = o->l;
    if (lower_has(o, PTX_MOD_FTZ) && lower_is_half(t))
        bits =
            lower_flush_bits(l, bits, is_bfloat(t) ? 0x7f80 : 0x7c00, 0x8000);
    return lower_is_packed(t) ? lower_join(l, bits, t) : bits;
}

/* What would be below f16's least normal number if it were rounded to 11 bits
 * with no least exponent becomes zero, as on NVIDIA's devices: all below
 * 2^-14 less a quarter of a place. */
static LLVMValueRef flush_half(struct lower *l, LLVMValueRef v)
{
    LLVMTypeRef type = LLVMTypeOf(v);
    LLVMValueRef bits = lower_as_int(l, v);
    LLVMValueRef size = i_and(l, bits, k_int(bits, 0x7fffffff));
    LLVMValueRef tiny = i_cmp(l, LLVMIntULT, size, k_int(size, 0x387ff000));
    return cast_(
        l, select_(l, tiny, i_and(l, bits, k_int(bits, 0x80000000)), bits),
        type);
}

LLVMValueRef lower_float_out(struct lower_op *o, LLVMValueRef v,
                             enum ptx_type t)
{
    struct lower *l = o->l;
    if (is_single(t) && lower_has(o, PTX_MOD_FTZ) && !l->flush)
        v = lower_flush(l, v);
    if (lower_has(o, PTX_MOD_FTZ) && (t == PTX_F16 || t == PTX_F16X2))
        v = flush_half(l, v);
    if (lower_has(o, PTX_MOD_SAT))
        v = lower_saturate(l, v);
    if (lower_has(o, PTX_MOD_RELU))
        v = lower_relu(l, v);
    return lower_bits_out(o, to_bits(l, v, t), t);
}

/* .ftz of f32 without the processor's mode, for operations whose small results
 * are inexact: zero where the result would be below the least normal number if
 * it were rounded with no least exponent, as the processor and NVIDIA's devices
 * decide it. Scaled up by 2^24 it is rounded so. */
static LLVMValueRef flush_scaled(struct lower_op *o, enum lower_arith op,
                                 const LLVMValueRef *v, LLVMValueRef r)
{
    struct lower *l = o->l;
    LLVMValueRef up = k_real(v[0], 0x1p24), big, tiny;
    LLVMValueRef third = op == LOWER_FMA ? f_mul(l, v[2], up) : NULL;

    big = lower_arith(o, op, o->insn->round, f_mul(l, v[0], up), v[1], third);
    tiny = f_cmp(l, LLVMRealOLT, f_abs(l, big), k_real(big, 0x1p-102));
    return select_(l, tiny,
                   lower_call2(l, "llvm.copysign", k_real(big, 0), big), r);
}

static LLVMValueRef arithmetic(struct lower_op *o, enum lower_arith op,
                               unsigned count)
{
    LLVMValueRef v[3] = {NULL, NULL, NULL};
    for (unsigned i = 0; i < count; i++)
        v[i] = lower_float_in(o, i, o->type);
    LLVMValueRef r = lower_arith(o, op, o->insn->round, v[0], v[1], v[2]);
    if (r && is_single(o->type) && lower_has(o, PTX_MOD_FTZ) && !o->l->flush &&
        (op == LOWER_MUL || op == LOWER_DIV || op == LOWER_FMA))
        r = flush_scaled(o, op, v, r);
    return r ? lower_float_out(o, r, o->type) : NULL;
}

LLVMValueRef lower_add_float(struct lower_op *o)
{
    return arithmetic(o, LOWER_ADD, 2);
}

LLVMValueRef lower_sub_float(struct lower_op *o)
{
    return arithmetic(o, LOWER_SUB, 2);
}

LLVMValueRef lower_mul_float(struct lower_op *o)
{
    return arithmetic(o, LOWER_MUL, 2);
}

LLVMValueRef lower_fma_float(struct lower_op *o)
{
    return arithmetic(o, LOWER_FMA, 3);
}

static LLVMValueRef is_outside(struct lower_op *o, unsigned i)
{
    LLVMValueRef v = lower_bits_in(o, i, o->type);
    v = i_and(o->l, v, k_int(v, 0x7fff));
    return i_cmp(o->l, LLVMIntEQ, v, k_int(v, OUTSIDE));
}

/* fma.oob: +0 where a factor is of no element. */
LLVMValueRef lower_fma_oob(struct lower_op *o)
{
    struct lower *l = o->l;
    LLVMValueRef v = arithmetic(o, LOWER_FMA, 3), none;
    LLVMValueRef h = lower_is_packed(o->type) ? lower_split(l, v, o->type) : v;
    none = i_or(l, is_outside(o, 0), is_outside(o, 1));
    h = select_(l, none, k_int(h, 0), h);
    return lower_is_packed(o->type) ? lower_join(l, h, o->type) : h;
}

LLVMValueRef lower_div_float(struct lower_op *o)
{
    return arithmetic(o, LOWER_DIV, 2);
}

LLVMValueRef lower_sqrt_float(struct lower_op *o)
{
    return arithmetic(o, LOWER_SQRT, 1);
}

/* add, sub and fma of f32 with halves as all operands but the last: they are
 * widened, which is exact. */
LLVMValueRef lower_mixed(struct lower_op *o)
{
    struct lower *l = o->l;
    enum ptx_type half = o->insn->types[1];
    int is_fma = o->insn->op == PTX_OP_FMA;
    LLVMValueRef v[3] = {NULL, NULL, NULL};
    for (unsigned i = 0; i < o->src_count; i++)
        v[i] =
            lower_unpack(l, o->src[i], i + 1 < o->src_count ? half : PTX_F32);
    LLVMValueRef r = lower_arith(o,
                                 is_fma                      ? LOWER_FMA
                                 : o->insn->op == PTX_OP_SUB ? LOWER_SUB
                                                             : LOWER_ADD,
                                 o->insn->round, v[0], v[1], v[2]);
    return r ? lower_float_out(o, r, PTX_F32) : NULL;
}
