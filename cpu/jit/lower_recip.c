/* SPDX-License-Identifier: MIT
 *
 * Reciprocals and roots: rcp, rsqrt, and the .approx and .full forms of div
 * and sqrt. With AVX-512 an estimate of 14 bits and one Newton step give more
 * than the ISA asks for (rcp 1 ulp, sqrt 2^-23, rsqrt 2^-22.9, div 2 ulp);
 * otherwise, and where results may be subnormal, the exact instruction does.
 *
 * Zeros and infinities make the Newton step NaN: there the estimate stands,
 * which is exact for them.
 */
#include "cpu/jit/lower_rules.h"

static LLVMValueRef estimate(struct lower *l, const char *name, LLVMValueRef x)
{
    struct lower_wide w = {.name = name,
                           .per = 16,
                           .arg_count = 1,
                           .args = {x},
                           .result = LLVMFloatTypeInContext(l->ctx),
                           .masked = 1};
    return lower_wide(l, &w);
}

static LLVMValueRef unless_nan(struct lower *l, LLVMValueRef test,
                               LLVMValueRef r, LLVMValueRef otherwise)
{
    return select_(l, f_cmp(l, LLVMRealUNO, test, test), otherwise, r);
}

LLVMValueRef lower_rcp_estimate(struct lower *l, LLVMValueRef x)
{
    return estimate(l, "llvm.x86.avx512.rcp14.ps.512", x);
}

/* 1 / x for results that may be flushed. */
static LLVMValueRef reciprocal(struct lower *l, LLVMValueRef x)
{
    LLVMValueRef y = lower_rcp_estimate(l, x);
    LLVMValueRef e = f_fma(l, f_neg(l, x), y, k_real(x, 1));
    return unless_nan(l, e, f_fma(l, y, e, y), y);
}

static LLVMValueRef reciprocal_root(struct lower *l, LLVMValueRef x)
{
    LLVMValueRef y = estimate(l, "llvm.x86.avx512.rsqrt14.ps.512", x);
    LLVMValueRef t = f_mul(l, x, y), h = f_mul(l, y, k_real(y, 0.5));
    LLVMValueRef e = f_fma(l, f_neg(l, t), y, k_real(x, 1));
    return unless_nan(l, e, f_fma(l, h, e, y), y);
}

/* The estimate times x is the root; x + x equals x for zeros and infinities
 * (and, when the processor flushes, gives the right zero for subnormals). The
 * estimate is NaN for -inf. */
static LLVMValueRef root(struct lower *l, LLVMValueRef x)
{
    LLVMValueRef y = estimate(l, "llvm.x86.avx512.rsqrt14.ps.512", x);
    LLVMValueRef g = f_mul(l, x, y), h = f_mul(l, y, k_real(y, 0.5));
    LLVMValueRef e = f_fma(l, f_neg(l, g), h, k_real(x, 0.5));
    LLVMValueRef twice = f_add(l, x, x);
    LLVMValueRef fixed =
        i_and(l, f_cmp(l, LLVMRealORD, y, y), f_cmp(l, LLVMRealOEQ, twice, x));
    return select_(l, fixed, twice, f_fma(l, g, e, g));
}

LLVMValueRef lower_rcp(struct lower_op *o)
{
    LLVMValueRef x = lower_float_in(o, 0, o->type);
    LLVMValueRef r =
        lower_arith(o, LOWER_DIV, o->insn->round, k_real(x, 1), x, NULL);
    return r ? lower_float_out(o, r, o->type) : NULL;
}

LLVMValueRef lower_rcp_approx(struct lower_op *o)
{
    struct lower *l = o->l;
    LLVMValueRef x = lower_float_in(o, 0, PTX_F32), r;
    if (l->has_avx512 && lower_has(o, PTX_MOD_FTZ))
        r = reciprocal(l, x);
    else
        r = f_div(l, k_real(x, 1), x);
    return lower_float_out(o, r, PTX_F32);
}

LLVMValueRef lower_rsqrt_approx(struct lower_op *o)
{
    struct lower *l = o->l;
    LLVMValueRef x = lower_float_in(o, 0, PTX_F32), r;
    if (l->has_avx512)
        r = reciprocal_root(l, x);
    else
        r = f_div(l, k_real(x, 1), lower_call1(l, "llvm.sqrt", x));
    return lower_float_out(o, r, PTX_F32);
}

LLVMValueRef lower_sqrt_approx(struct lower_op *o)
{
    struct lower *l = o->l;
    LLVMValueRef x = lower_float_in(o, 0, PTX_F32);
    LLVMValueRef r =
        l->has_avx512 ? root(l, x) : lower_call1(l, "llvm.sqrt", x);
    return lower_float_out(o, r, PTX_F32);
}

/* Divisors above 2^126 count as infinite (PTX ISA, div.approx): their
 * reciprocals would be subnormal. */
LLVMValueRef lower_div_approx(struct lower_op *o)
{
    struct lower *l = o->l;
    LLVMValueRef a = lower_float_in(o, 0, PTX_F32);
    LLVMValueRef b = lower_float_in(o, 1, PTX_F32);
    LLVMValueRef bits = lower_as_int(l, b);
    if (l->has_avx512 && lower_has(o, PTX_MOD_FTZ)) {
        LLVMValueRef y = reciprocal(l, b);
        if (!l->flush)
            y = lower_flush(l, y);
        return lower_float_out(o, f_mul(l, a, y), PTX_F32);
    }
    LLVMValueRef size = i_and(l, bits, k_int(bits, 0x7fffffff));
    LLVMValueRef big = /* above 2^126 and below infinity */
        i_cmp(l, LLVMIntULT, i_sub(l, size, k_int(size, 0x7e800001)),
              k_int(size, 0x7f800000 - 0x7e800001));
    LLVMValueRef inf = i_or(l, bits, k_int(bits, 0x7f800000));
    inf = i_and(l, inf, k_int(inf, 0xff800000));
    bits = select_(l, big, inf, bits);
    LLVMValueRef q = f_div(l, a, cast_(l, bits, LLVMTypeOf(b)));
    return lower_float_out(o, q, PTX_F32);
}

LLVMValueRef lower_div_full(struct lower_op *o)
{
    LLVMValueRef a = lower_float_in(o, 0, PTX_F32);
    LLVMValueRef b = lower_float_in(o, 1, PTX_F32);
    return lower_float_out(o, f_div(o->l, a, b), PTX_F32);
}

/* f64 approximations look at and give the upper 32 bits alone: what is left
 * over is zero. With .ftz subnormals are zeros, going in and coming out. */
static LLVMValueRef upper_half(struct lower *l, LLVMValueRef v,
                               uint64_t rounding)
{
    LLVMValueRef bits = lower_as_int(l, v);
    bits = i_add(l, bits, k_int(bits, rounding));
    return cast_(l, i_and(l, bits, k_int(bits, ~UINT64_C(0xffffffff))),
                 LLVMTypeOf(v));
}

static LLVMValueRef double_approx(struct lower_op *o, int is_root)
{
    struct lower *l = o->l;
    int ftz = lower_has(o, PTX_MOD_FTZ);
    LLVMValueRef x = upper_half(l, lower_float_in(o, 0, PTX_F64), 0);
    if (ftz)
        x = lower_flush(l, x);
    LLVMValueRef y = is_root ? lower_call1(l, "llvm.sqrt", x) : x;
    LLVMValueRef r = f_div(l, k_real(y, 1), y);
    if (ftz)
        r = lower_flush(l, r);
    r = unless_nan(l, r, upper_half(l, r, 0x80000000), r);
    return lower_as_int(l, r);
}

LLVMValueRef lower_rcp_double(struct lower_op *o)
{
    return double_approx(o, 0);
}

/* Without .ftz an H200 gives all bits, which CUDA's rsqrt() of doubles relies
 * on: two roundings are within one unit of the last place. */
LLVMValueRef lower_rsqrt_double(struct lower_op *o)
{
    struct lower *l = o->l;
    LLVMValueRef x;
    if (lower_has(o, PTX_MOD_FTZ))
        return double_approx(o, 1);
    x = lower_float_in(o, 0, PTX_F64);
    return lower_as_int(l,
                        f_div(l, k_real(x, 1), lower_call1(l, "llvm.sqrt", x)));
}
