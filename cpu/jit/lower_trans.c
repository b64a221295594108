/* SPDX-License-Identifier: MIT
 *
 * ex2, lg2, sin, cos and tanh, all .approx: polynomials and bit tricks on
 * vectors, no library. The coefficients are minimax fits (Remez), made so that
 * the polynomial's own error is below f32's half ulp; what the ISA allows is
 * larger throughout (ex2 2 ulp, lg2 2^-22, sin and cos 2^-20.5, tanh 2^-11).
 */
#include "cpu/jit/lower_rules.h"

/* c[0] + x * (c[1] + x * (...)) */
static LLVMValueRef polynomial(struct lower *l, LLVMValueRef x, const double *c,
                               unsigned n)
{
    LLVMValueRef r = k_real(x, c[n - 1]);
    for (unsigned i = n - 1; i-- > 0;)
        r = f_fma(l, r, x, k_real(x, c[i]));
    return r;
}

/* x < limit ? x : limit, with NaN staying NaN. */
static LLVMValueRef at_most(struct lower *l, LLVMValueRef x, double limit)
{
    LLVMValueRef k = k_real(x, limit);
    return select_(l, f_cmp(l, LLVMRealOGT, x, k), k, x);
}

static LLVMValueRef at_least(struct lower *l, LLVMValueRef x, double limit)
{
    LLVMValueRef k = k_real(x, limit);
    return select_(l, f_cmp(l, LLVMRealOLT, x, k), k, x);
}

/* 2^f for 0 <= f <= 1, exact at both ends. */
static LLVMValueRef exp2_fraction(struct lower *l, LLVMValueRef f)
{
    static const double c[] = {1.0,
                               0.69314704443584685,
                               0.24022930565368034,
                               0.05548528017256351,
                               0.0096754524209020365,
                               0.0012467839014800993,
                               0.00021612939110004459};
    return polynomial(l, f, c, 7);
}

/* vreduceps takes the fraction, vscalefps multiplies by 2^floor(x): both are
 * right for infinities, and scalef rounds into the subnormals. */
static LLVMValueRef exp2_avx512(struct lower *l, LLVMValueRef x)
{
    enum { FLOOR_QUIET = 9, CURRENT = 4 };
    LLVMTypeRef f32 = LLVMFloatTypeInContext(l->ctx);
    struct lower_wide reduce = {.name = "llvm.x86.avx512.mask.reduce.ps.512",
                                .per = 16,
                                .arg_count = 1,
                                .args = {x},
                                .result = f32,
                                .masked = 1,
                                .imm_first = 1,
                                .imm_before = FLOOR_QUIET,
                                .has_imm = 1,
                                .imm = CURRENT};
    LLVMValueRef p = exp2_fraction(l, lower_wide(l, &reduce));
    struct lower_wide scale = {.name = "llvm.x86.avx512.mask.scalef.ps.512",
                               .per = 16,
                               .arg_count = 2,
                               .args = {p, x},
                               .result = f32,
                               .masked = 1,
                               .has_imm = 1,
                               .imm = CURRENT};
    return lower_wide(l, &scale);
}

/* 2^n as a float, n from -126 to 127. */
static LLVMValueRef power(struct lower *l, LLVMValueRef n, LLVMTypeRef type)
{
    n = i_add(l, n, k_int(n, 127));
    return cast_(l, i_shl(l, n, k_int(n, 23)), type);
}

static LLVMValueRef exp2_value(struct lower *l, LLVMValueRef x)
{
    if (l->has_avx512)
        return exp2_avx512(l, x);
    LLVMTypeRef type = LLVMTypeOf(x), it = lower_int_like(l, x, 32);
    LLVMValueRef nan = f_cmp(l, LLVMRealUNO, x, x);
    LLVMValueRef y = select_(l, nan, k_real(x, 0), x);
    y = at_least(l, at_most(l, y, 130), -160);
    LLVMValueRef floor = lower_call1(l, "llvm.floor", y);
    LLVMValueRef p = exp2_fraction(l, f_sub(l, y, floor));
    /* Two steps of half the exponent each: the second may round. */
    LLVMValueRef n = LLVMBuildFPToSI(l->b, floor, it, "");
    LLVMValueRef half = i_ashr(l, n, k_int(n, 1));
    LLVMValueRef rest = i_sub(l, n, half);
    p = f_mul(l, f_mul(l, p, power(l, half, type)), power(l, rest, type));
    return select_(l, nan, x, p);
}

LLVMValueRef lower_ex2(struct lower_op *o)
{
    LLVMValueRef x = lower_float_in(o, 0, o->type);
    return lower_float_out(o, exp2_value(o->l, x), o->type);
}

/* x = 2^k m with m from sqrt(1/2) to sqrt(2); log2(m) = f P(f), f = m - 1. */
static LLVMValueRef log2_value(struct lower *l, LLVMValueRef x, int subnormal)
{
    static const double c[] = {
        1.4426950036580841,   -0.72134734687424851, 0.48091064156686464,
        -0.36070367485367255, 0.28791628945118236,  -0.23894503776627962,
        0.21571543382856437,  -0.20726820979505944, 0.12583559443239242};
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMValueRef y = x, zero = k_real(x, 0), less = k_real(x, 0);
    if (subnormal) {
        LLVMValueRef tiny = f_cmp(l, LLVMRealOLT, x, k_real(x, 0x1p-126));
        y = select_(l, tiny, f_mul(l, x, k_real(x, 0x1p23)), x);
        less = select_(l, tiny, k_real(x, -23), zero);
    }
    LLVMValueRef bits = lower_as_int(l, y), by = k_int(bits, 23);
    LLVMValueRef k = i_ashr(l, i_sub(l, bits, k_int(bits, 0x3f3504f3)), by);
    LLVMValueRef m = cast_(l, i_sub(l, bits, i_shl(l, k, by)), type);
    LLVMValueRef f = f_sub(l, m, k_real(x, 1));
    LLVMValueRef e = LLVMBuildSIToFP(l->b, k, type, "");
    if (subnormal)
        e = f_add(l, e, less);
    LLVMValueRef r = f_fma(l, f, polynomial(l, f, c, 9), e);
    LLVMValueRef inf = k_real(x, __builtin_inf());
    r = select_(l, f_cmp(l, LLVMRealOLT, x, inf), r, x); /* inf, NaN */
    r = select_(l, f_cmp(l, LLVMRealOLT, x, zero),
                lower_canonical(l, k_real(x, __builtin_nan(""))), r);
    return select_(l, f_cmp(l, LLVMRealOEQ, x, zero), f_neg(l, inf), r);
}

LLVMValueRef lower_lg2(struct lower_op *o)
{
    LLVMValueRef x = lower_float_in(o, 0, o->type);
    int subnormal = !lower_has(o, PTX_MOD_FTZ);
    return lower_float_out(o, log2_value(o->l, x, subnormal), o->type);
}

/* Sine of |x|, or of |x| + pi / 2. Adding 1.5 * 2^23 rounds to an integer whose
 * low bits can be read off, which holds for |x| below 6.5 million; the ISA
 * promises nothing beyond 100 pi, and there the remainder is kept in range. */
static LLVMValueRef sine(struct lower *l, LLVMValueRef x, int is_cos)
{
    static const double s[] = {-0.16666654908533102, 0.0083321758430052652,
                               -0.00019516977168007122};
    static const double c[] = {0.041666646807301061, -0.0013887364489738362,
                               2.4438091352016116e-05};
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMValueRef a = f_abs(l, x), magic = k_real(x, 0x1.8p23);
    LLVMValueRef t = f_fma(l, a, k_real(x, 0.63661977236758134), magic);
    LLVMValueRef n = f_neg(l, f_sub(l, t, magic));
    LLVMValueRef r = f_fma(l, n, k_real(x, 1.5707963705062866), a);
    r = f_fma(l, n, k_real(x, -4.371138828673793e-08), r);
    r = f_fma(l, n, k_real(x, -1.7151245100058819e-15), r);
    r = at_least(l, at_most(l, r, 0.8), -0.8);

    LLVMValueRef rr = f_mul(l, r, r), one = k_real(x, 1);
    LLVMValueRef sin = f_fma(l, f_mul(l, r, rr), polynomial(l, rr, s, 3), r);
    LLVMValueRef cos = f_fma(l, rr, k_real(x, -0.5), one);
    cos = f_fma(l, f_mul(l, rr, rr), polynomial(l, rr, c, 3), cos);

    LLVMValueRef q = lower_as_int(l, t);
    LLVMValueRef odd =
        i_cmp(l, LLVMIntNE, i_and(l, q, k_int(q, 1)), k_int(q, 0));
    LLVMValueRef v = select_(l, odd, is_cos ? sin : cos, is_cos ? cos : sin);
    if (is_cos) /* quarters 1 and 2 are negative */
        q = i_add(l, q, k_int(q, 1));
    LLVMValueRef sign = i_shl(l, i_and(l, q, k_int(q, 2)), k_int(q, 30));
    if (!is_cos) {
        LLVMValueRef xb = lower_as_int(l, x);
        sign = i_xor(l, sign, i_and(l, xb, k_int(xb, 0x80000000)));
    }
    return cast_(l, i_xor(l, lower_as_int(l, v), sign), type);
}

LLVMValueRef lower_sin_cos(struct lower_op *o)
{
    LLVMValueRef x = lower_float_in(o, 0, o->type);
    int is_cos = o->insn->op == PTX_OP_COS;
    return lower_float_out(o, sine(o->l, x, is_cos), o->type);
}

/* (1 - t) / (1 + t) with t = e^(-2 |x|); small arguments are their own
 * hyperbolic tangent, to 2^-13. */
static LLVMValueRef tanh_value(struct lower *l, LLVMValueRef x)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMValueRef a = f_abs(l, x), one = k_real(x, 1);
    LLVMValueRef t = exp2_value(l, f_mul(l, a, k_real(x, -2.8853900817779268)));
    LLVMValueRef up = f_sub(l, one, t), down = f_add(l, one, t), r;
    if (l->has_avx512)
        r = f_mul(l, up, lower_rcp_estimate(l, down));
    else
        r = f_div(l, up, down);
    LLVMValueRef bits = lower_as_int(l, x);
    LLVMValueRef sign = i_and(l, bits, k_int(bits, 0x80000000));
    r = cast_(l, i_or(l, lower_as_int(l, r), sign), type);
    return select_(l, f_cmp(l, LLVMRealOLT, a, k_real(x, 0x1p-6)), x, r);
}

LLVMValueRef lower_tanh(struct lower_op *o)
{
    LLVMValueRef x = lower_float_in(o, 0, o->type);
    return lower_float_out(o, tanh_value(o->l, x), o->type);
}
