/* SPDX-License-Identifier: MIT
 *
 * For processors before AVX2: fma without FMA and f16 without F16C. LLVM
 * would call the C library for both, which generated code cannot.
 */
#include "cpu/jit/lower_impl.h"

/* f32: the product is exact in f64; the sum, rounded to odd there, is rounded
 * once more. */
static LLVMValueRef fma_single(struct lower *l, LLVMValueRef a, LLVMValueRef b,
                               LLVMValueRef c)
{
    LLVMTypeRef f64 = lower_float_like(l, a, 64), f32 = LLVMTypeOf(a);
    LLVMValueRef s = lower_fma_odd(l, LLVMBuildFPExt(l->b, a, f64, ""),
                                   LLVMBuildFPExt(l->b, b, f64, ""),
                                   LLVMBuildFPExt(l->b, c, f64, ""));
    return LLVMBuildFPTrunc(l->b, s, f32, "");
}

/* x as a sum of two numbers of 26 bits (Veltkamp). */
static LLVMValueRef upper_part(struct lower *l, LLVMValueRef x)
{
    LLVMValueRef t = f_mul(l, x, k_real(x, 134217729.0));
    return f_sub(l, t, f_sub(l, t, x));
}

static LLVMValueRef product_error(struct lower *l, LLVMValueRef a,
                                  LLVMValueRef b, LLVMValueRef p)
{
    LLVMValueRef ah = upper_part(l, a), al = f_sub(l, a, ah);
    LLVMValueRef bh = upper_part(l, b), bl = f_sub(l, b, bh);
    LLVMValueRef e = f_sub(l, f_mul(l, ah, bh), p);
    e = f_add(l, e, f_mul(l, ah, bl));
    e = f_add(l, e, f_mul(l, al, bh));
    return f_add(l, e, f_mul(l, al, bl));
}

static LLVMValueRef not_finite(struct lower *l, LLVMValueRef x)
{
    LLVMValueRef rest = f_sub(l, x, x); /* 0, or NaN */
    return f_cmp(l, LLVMRealUNO, rest, rest);
}

/* f64: product and sums with their errors, the small ones added to odd (Boldo
 * and Melquiond). Exact unless a part of the product leaves f64's range: then
 * the last bit may be wrong, or infinite what is within 2^27 of it. */
static LLVMValueRef fma_double(struct lower *l, LLVMValueRef a, LLVMValueRef b,
                               LLVMValueRef c)
{
    LLVMValueRef uh = f_mul(l, a, b), ul = product_error(l, a, b, uh);
    LLVMValueRef th = f_add(l, c, ul), tl = lower_sum_error(l, c, ul, th);
    LLVMValueRef vh = f_add(l, uh, th), vl = lower_sum_error(l, uh, th, vh);
    LLVMValueRef z = f_add(l, tl, vl);
    z = lower_to_odd(l, z, lower_sum_error(l, tl, vl, z));
    LLVMValueRef r = f_add(l, vh, z), plain = f_add(l, uh, c);
    LLVMValueRef zero = f_cmp(l, LLVMRealOEQ, r, k_real(r, 0));
    LLVMValueRef product = i_or(l, not_finite(l, a), not_finite(l, b));
    LLVMValueRef sum = i_and(l, not_finite(l, c), i_not(l, product));
    r = select_(l, i_or(l, not_finite(l, r), zero), plain, r);
    return select_(l, sum, c, r);
}

LLVMValueRef lower_fma(struct lower *l, LLVMValueRef a, LLVMValueRef b,
                       LLVMValueRef c)
{
    if (l->has_f16c) /* FMA came to processors with F16C or after it */
        return lower_call3(l, "llvm.fma", a, b, c);
    return lower_bits(LLVMTypeOf(a)) == 64 ? fma_double(l, a, b, c)
                                           : fma_single(l, a, b, c);
}

LLVMValueRef lower_half_plain(struct lower *l, LLVMValueRef h)
{
    LLVMValueRef v = lower_width(l, lower_as_int(l, h), 32, 0);
    LLVMValueRef m = i_and(l, v, k_int(v, 0x7fff));
    LLVMTypeRef f32 = lower_float_like(l, v, 32);
    LLVMValueRef up = i_shl(l, m, k_int(m, 13));
    LLVMValueRef normal = i_add(l, up, k_int(m, 112 << 23));
    LLVMValueRef top = i_or(l, up, k_int(m, 0x7f800000));
    LLVMValueRef tiny = LLVMBuildSIToFP(l->b, m, f32, "");
    tiny = lower_as_int(l, f_mul(l, tiny, k_real(tiny, 0x1p-24)));
    LLVMValueRef r =
        select_(l, i_cmp(l, LLVMIntULT, m, k_int(m, 0x400)), tiny, normal);
    r = select_(l, i_cmp(l, LLVMIntUGE, m, k_int(m, 0x7c00)), top, r);
    LLVMValueRef sign = i_shl(l, i_and(l, v, k_int(v, 0x8000)), k_int(v, 16));
    return cast_(l, i_or(l, r, sign), f32);
}

/* To nearest. Adding 0.5, whose last place is f16's least subnormal, rounds
 * what is below the normal numbers. */
LLVMValueRef lower_half_round(struct lower *l, LLVMValueRef x)
{
    LLVMValueRef bits = lower_as_int(l, x);
    LLVMValueRef a = i_and(l, bits, k_int(bits, 0x7fffffff));
    LLVMValueRef t = f_add(l, cast_(l, a, LLVMTypeOf(x)), k_real(x, 0.5));
    LLVMValueRef tiny = lower_as_int(l, t);
    tiny = i_sub(l, tiny, k_int(tiny, 0x3f000000));
    LLVMValueRef odd = i_and(l, i_lshr(l, a, k_int(a, 13)), k_int(a, 1));
    LLVMValueRef r = i_add(l, a, i_add(l, odd, k_int(a, 0xfff)));
    r = i_lshr(l, i_sub(l, r, k_int(r, 112 << 23)), k_int(r, 13));
    r = select_(l, i_cmp(l, LLVMIntULT, a, k_int(a, 0x38800000)), tiny, r);
    r = select_(l, i_cmp(l, LLVMIntUGE, a, k_int(a, 0x477ff000)),
                k_int(r, 0x7c00), r);
    LLVMValueRef sign =
        i_and(l, i_lshr(l, bits, k_int(bits, 16)), k_int(bits, 0x8000));
    return lower_width(l, i_or(l, r, sign), 16, 0);
}
