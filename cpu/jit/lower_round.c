/* SPDX-License-Identifier: MIT
 *
 * Arithmetic in the four rounding modes. To nearest is LLVM's own. The
 * directed modes are AVX-512's instructions with the mode in their encoding;
 * without them an f32 result is computed in f64, rounded to odd, and narrowed
 * in the direction asked for, which is exact. f64 has no such way and needs
 * AVX-512.
 */
#include "cpu/jit/lower_rules.h"

static LLVMValueRef nearest(struct lower *l, enum lower_arith op,
                            LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    switch (op) {
    case LOWER_ADD:
        return f_add(l, a, b);
    case LOWER_SUB:
        return f_sub(l, a, b);
    case LOWER_MUL:
        return f_mul(l, a, b);
    case LOWER_DIV:
        return f_div(l, a, b);
    case LOWER_SQRT:
        return lower_call1(l, "llvm.sqrt", a);
    default:
        return f_fma(l, a, b, c);
    }
}

/* The immediate of a static rounding mode, exceptions off. */
static unsigned mode(enum ptx_round round)
{
    switch (round) {
    case PTX_ROUND_RM:
        return 9;
    case PTX_ROUND_RP:
        return 10;
    case PTX_ROUND_RZ:
        return 11;
    default:
        return 8;
    }
}

static LLVMValueRef by_avx512(struct lower *l, enum lower_arith op,
                              enum ptx_round round, LLVMValueRef a,
                              LLVMValueRef b, LLVMValueRef c)
{
    static const char *const names[][2] = {
        [LOWER_ADD] = {"llvm.x86.avx512.add.ps.512",
                       "llvm.x86.avx512.add.pd.512"},
        [LOWER_SUB] = {"llvm.x86.avx512.sub.ps.512",
                       "llvm.x86.avx512.sub.pd.512"},
        [LOWER_MUL] = {"llvm.x86.avx512.mul.ps.512",
                       "llvm.x86.avx512.mul.pd.512"},
        [LOWER_DIV] = {"llvm.x86.avx512.div.ps.512",
                       "llvm.x86.avx512.div.pd.512"},
        [LOWER_SQRT] = {"llvm.x86.avx512.sqrt.ps.512",
                        "llvm.x86.avx512.sqrt.pd.512"},
        [LOWER_FMA] = {"llvm.x86.avx512.vfmadd.ps.512",
                       "llvm.x86.avx512.vfmadd.pd.512"},
    };
    LLVMTypeRef e = lower_element(LLVMTypeOf(a));
    int is_double = lower_bits(e) == 64;
    struct lower_wide w = {.name = names[op][is_double],
                           .per = is_double ? 8 : 16,
                           .arg_count = op == LOWER_FMA    ? 3
                                        : op == LOWER_SQRT ? 1
                                                           : 2,
                           .args = {a, b, c},
                           .result = e,
                           .has_imm = 1,
                           .imm = mode(round)};
    return lower_wide(l, &w);
}

LLVMValueRef lower_to_odd(struct lower *l, LLVMValueRef s, LLVMValueRef e)
{
    LLVMTypeRef type = LLVMTypeOf(s);
    LLVMValueRef bits = lower_as_int(l, s), one = k_int(bits, 1);
    LLVMValueRef zero = k_real(s, 0);
    /* Away from zero if the lost part has s's sign, towards it otherwise. */
    LLVMValueRef lost = f_cmp(l, LLVMRealONE, e, zero);
    LLVMValueRef away = i_cmp(l, LLVMIntSGE, i_xor(l, bits, lower_as_int(l, e)),
                              k_int(bits, 0));
    LLVMValueRef even =
        i_cmp(l, LLVMIntEQ, i_and(l, bits, one), k_int(bits, 0));
    LLVMValueRef step = select_(l, away, one, k_int(bits, UINT64_MAX));
    step = select_(l, i_and(l, lost, even), step, k_int(bits, 0));
    return cast_(l, i_add(l, bits, step), type);
}

LLVMValueRef lower_sum_error(struct lower *l, LLVMValueRef a, LLVMValueRef b,
                             LLVMValueRef s)
{
    LLVMValueRef bb = f_sub(l, s, a);
    LLVMValueRef x = f_sub(l, a, f_sub(l, s, bb));
    return f_add(l, x, f_sub(l, b, bb));
}

static LLVMValueRef widen(struct lower *l, LLVMValueRef v)
{
    return v ? LLVMBuildFPExt(l->b, v, lower_float_like(l, v, 64), "") : NULL;
}

LLVMValueRef lower_fma_odd(struct lower *l, LLVMValueRef a, LLVMValueRef b,
                           LLVMValueRef c)
{
    LLVMValueRef p = f_mul(l, a, b), s = f_add(l, p, c);
    return lower_to_odd(l, s, lower_sum_error(l, p, c, s));
}

/* f32 operands in f64, the result rounded to odd there. */
static LLVMValueRef odd_double(struct lower *l, enum lower_arith op,
                               LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    a = widen(l, a);
    b = widen(l, b);
    c = widen(l, c);
    LLVMValueRef s;
    switch (op) {
    case LOWER_SUB:
        b = f_neg(l, b);
        /* fall through */
    case LOWER_ADD:
        s = f_add(l, a, b);
        return lower_to_odd(l, s, lower_sum_error(l, a, b, s));
    case LOWER_MUL:
        return f_mul(l, a, b);
    case LOWER_FMA:
        return lower_fma_odd(l, a, b, c);
    case LOWER_DIV: {
        s = f_div(l, a, b);
        LLVMValueRef r = f_fma(l, f_neg(l, s), b, a);
        /* The quotient's error has the sign of r / b. */
        LLVMValueRef sign = i_and(l, lower_as_int(l, b),
                                  k_int(lower_as_int(l, b), UINT64_C(1) << 63));
        r = cast_(l, i_xor(l, lower_as_int(l, r), sign), LLVMTypeOf(r));
        return lower_to_odd(l, s, r);
    }
    default:
        s = lower_call1(l, "llvm.sqrt", a);
        return lower_to_odd(l, s, f_fma(l, f_neg(l, s), s, a));
    }
}

/* Exact zeros: x - x is -0 when rounding down, +0 otherwise; the sum made to
 * nearest says +0. d, rounded to odd, is zero only where the result is. */
static LLVMValueRef zero_sign(struct lower *l, enum lower_arith op,
                              LLVMValueRef a, LLVMValueRef b, LLVMValueRef c,
                              LLVMValueRef d, LLVMValueRef r)
{
    LLVMValueRef x = a, y = b;
    if (op == LOWER_FMA) {
        x = f_mul(l, widen(l, a), widen(l, b));
        y = widen(l, c);
    }
    LLVMValueRef xb = lower_as_int(l, x), yb = lower_as_int(l, y);
    LLVMValueRef differ = i_cmp(l, LLVMIntSLT, i_xor(l, xb, yb), k_int(xb, 0));
    if (op == LOWER_SUB)
        differ = i_not(l, differ);
    LLVMValueRef zero = f_cmp(l, LLVMRealOEQ, d, k_real(d, 0));
    return select_(l, i_and(l, differ, zero), k_real(r, -0.0), r);
}

LLVMValueRef lower_arith(struct lower_op *o, enum lower_arith op,
                         enum ptx_round round, LLVMValueRef a, LLVMValueRef b,
                         LLVMValueRef c)
{
    struct lower *l = o->l;
    if (lower_is_half(o->type) && op == LOWER_FMA)
        return lower_fma_half(l, a, b, c, o->type);
    if (round == PTX_ROUND_NONE || round == PTX_ROUND_RN)
        return nearest(l, op, a, b, c);
    if (l->has_avx512)
        return by_avx512(l, op, round, a, b, c);
    if (lower_bits(LLVMTypeOf(a)) == 64) {
        o->why = "directed rounding of f64 needs AVX-512";
        return NULL;
    }
    LLVMValueRef d = odd_double(l, op, a, b, c);
    LLVMValueRef r = lower_double_to_float(l, d, round);
    if (round == PTX_ROUND_RM &&
        (op == LOWER_ADD || op == LOWER_SUB || op == LOWER_FMA))
        r = zero_sign(l, op, a, b, c, d, r);
    return r;
}

LLVMValueRef lower_step_bits(struct lower *l, LLVMValueRef bits,
                             LLVMValueRef too_high, LLVMValueRef too_low,
                             enum ptx_round round)
{
    LLVMValueRef zero = k_int(bits, 0), one = k_int(bits, 1);
    LLVMValueRef minus = k_int(bits, UINT64_MAX), step;
    LLVMValueRef negative = i_cmp(l, LLVMIntSLT, bits, zero);
    if (round == PTX_ROUND_RM) /* down is away from zero for negatives */
        step = select_(l, too_high, select_(l, negative, one, minus), zero);
    else if (round == PTX_ROUND_RP)
        step = select_(l, too_low, select_(l, negative, minus, one), zero);
    else
        step = select_(l, select_(l, negative, too_low, too_high), minus, zero);
    return i_add(l, bits, step);
}

LLVMValueRef lower_step(struct lower *l, LLVMValueRef bits, LLVMValueRef back,
                        LLVMValueRef x, enum ptx_round round)
{
    return lower_step_bits(l, bits, f_cmp(l, LLVMRealOGT, back, x),
                           f_cmp(l, LLVMRealOLT, back, x), round);
}

LLVMValueRef lower_double_to_float(struct lower *l, LLVMValueRef x,
                                   enum ptx_round round)
{
    LLVMTypeRef f32 = lower_float_like(l, x, 32);
    LLVMValueRef r = LLVMBuildFPTrunc(l->b, x, f32, "");
    if (round == PTX_ROUND_NONE || round == PTX_ROUND_RN)
        return r;
    r = cast_(l, lower_step(l, lower_as_int(l, r), widen(l, r), x, round), f32);
    /* A step from what the processor flushed is not flushed. */
    return l->flush ? lower_flush(l, r) : r;
}

LLVMValueRef lower_double_to_odd_float(struct lower *l, LLVMValueRef x)
{
    LLVMTypeRef f32 = lower_float_like(l, x, 32);
    LLVMValueRef r = LLVMBuildFPTrunc(l->b, x, f32, "");
    LLVMValueRef lost = f_sub(l, x, widen(l, r));
    /* Only its sign is looked at, and f64 holds it exactly. */
    LLVMValueRef bits = lower_as_int(l, r), one = k_int(bits, 1);
    LLVMValueRef sign = lower_as_int(l, lost);
    sign = lower_width(l, i_lshr(l, sign, k_int(sign, 32)), 32, 0);
    LLVMValueRef away =
        i_cmp(l, LLVMIntSGE, i_xor(l, bits, sign), k_int(bits, 0));
    LLVMValueRef even =
        i_cmp(l, LLVMIntEQ, i_and(l, bits, one), k_int(bits, 0));
    LLVMValueRef some = f_cmp(l, LLVMRealONE, lost, k_real(lost, 0));
    LLVMValueRef step = select_(l, away, one, k_int(bits, UINT64_MAX));
    step = select_(l, i_and(l, some, even), step, k_int(bits, 0));
    return cast_(l, i_add(l, bits, step), f32);
}
