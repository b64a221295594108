/* SPDX-License-Identifier: MIT
 *
 * Pairs of floats of 8, 6 and 4 bits: cvt from f32 or f16x2 with .satfinite,
 * and to f16x2, which holds all of them exactly (PTX ISA, 5.2.3 and cvt).
 */
#include "cpu/jit/lower_rules.h"

struct small {
    enum ptx_type type;
    unsigned mantissa;
    int bias;
    unsigned most; /* the code of the largest number */
    unsigned nan;  /* its code; most where there is none */
    unsigned inf;  /* its code, or 0 */
    unsigned sign; /* the sign's place */
    unsigned step; /* bits between the two codes */
};

/* e5m2 keeps f16's infinities when read; .satfinite never writes them. Codes
 * of 6 bits are padded to bytes. */
static const struct small formats[] = {
    {PTX_E4M3X2, 3, 7, 0x7e, 0x7f, 0, 7, 8},
    {PTX_E5M2X2, 2, 15, 0x7b, 0x7f, 0x7c, 7, 8},
    {PTX_E2M3X2, 3, 1, 0x1f, 0x1f, 0, 5, 8},
    {PTX_E3M2X2, 2, 3, 0x1f, 0x1f, 0, 5, 8},
    {PTX_E2M1X2, 1, 1, 0x07, 0x07, 0, 3, 4},
};

static const struct small *format_of(enum ptx_type t)
{
    for (unsigned i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].type == t)
            return &formats[i];
    return NULL;
}

double lower_power_of_two(int e)
{
    double r = 1;
    for (; e > 0; e--)
        r *= 2;
    for (; e < 0; e++)
        r /= 2;
    return r;
}

/* x to nearest even as a code of 32 bits, infinities and what is too large to
 * the largest number. */
static LLVMValueRef encode(struct lower *l, LLVMValueRef x,
                           const struct small *f)
{
    unsigned cut = 23 - f->mantissa;
    LLVMValueRef bits = lower_as_int(l, x);
    LLVMValueRef a = i_and(l, bits, k_int(bits, 0x7fffffff));
    LLVMValueRef odd = i_and(l, i_lshr(l, a, k_int(a, cut)), k_int(a, 1));
    LLVMValueRef r =
        i_add(l, a, i_add(l, odd, k_int(a, (1u << (cut - 1)) - 1)));
    r = i_lshr(l, r, k_int(r, cut));
    r = i_sub(l, r, k_int(r, (uint64_t)(127 - f->bias) << f->mantissa));
    /* Below the normal numbers: adding a number whose last place is the least
     * subnormal rounds there. */
    double base = lower_power_of_two(1 - f->bias - (int)f->mantissa + 23);
    LLVMValueRef k = k_real(x, base);
    LLVMValueRef tiny = lower_as_int(l, f_add(l, f_abs(l, x), k));
    tiny = i_sub(l, tiny, lower_as_int(l, k));
    LLVMValueRef least =
        lower_as_int(l, k_real(x, lower_power_of_two(1 - f->bias)));
    r = select_(l, i_cmp(l, LLVMIntULT, a, least), tiny, r);
    LLVMValueRef most = k_int(r, f->most);
    r = select_(l, i_cmp(l, LLVMIntSGT, r, most), most, r);
    LLVMValueRef sign = i_lshr(l, bits, k_int(bits, 31));
    r = i_or(l, r, i_shl(l, sign, k_int(sign, f->sign)));
    return select_(l, f_cmp(l, LLVMRealUNO, x, x), k_int(r, f->nan), r);
}

/* The even or odd elements of packed lanes. */
static LLVMValueRef element(struct lower *l, LLVMValueRef v, unsigned which)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(l->ctx);
    LLVMValueRef at[64];
    if (!l->lanes)
        return LLVMBuildExtractElement(l->b, v, LLVMConstInt(i32, which, 0),
                                       "");
    for (unsigned i = 0; i < l->lanes && i < 64; i++)
        at[i] = LLVMConstInt(i32, 2 * i + which, 0);
    return LLVMBuildShuffleVector(l->b, v, LLVMGetPoison(LLVMTypeOf(v)),
                                  LLVMConstVector(at, l->lanes), "");
}

/* d, a, b: a is the upper code; f16x2 keeps its order. */
LLVMValueRef lower_cvt_to_small(struct lower_op *o)
{
    struct lower *l = o->l;
    const struct small *f = format_of(o->type);
    enum ptx_type from = o->insn->types[1];
    LLVMValueRef x[2];
    if (from == PTX_F32) {
        x[1] = lower_unpack(l, o->src[0], from);
        x[0] = lower_unpack(l, o->src[1], from);
    } else {
        LLVMValueRef v = lower_unpack(l, o->src[0], from);
        x[0] = element(l, v, 0);
        x[1] = element(l, v, 1);
    }
    for (unsigned i = 0; i < 2; i++) {
        if (lower_has(o, PTX_MOD_RELU))
            x[i] = lower_relu(l, x[i]);
        x[i] = encode(l, x[i], f);
    }
    LLVMValueRef r = i_or(l, i_shl(l, x[1], k_int(x[1], f->step)), x[0]);
    return lower_width(l, r, ptx_type_bits(o->type), 0);
}

/* One code as f32. */
static LLVMValueRef decode(struct lower *l, LLVMValueRef code,
                           const struct small *f)
{
    unsigned up = 23 - f->mantissa;
    LLVMTypeRef f32 = lower_float_like(l, code, 32);
    LLVMValueRef m = i_and(l, code, k_int(code, (1u << f->sign) - 1));
    LLVMValueRef normal = i_add(l, i_shl(l, m, k_int(m, up)),
                                k_int(m, (uint64_t)(127 - f->bias) << 23));
    LLVMValueRef tiny = LLVMBuildSIToFP(l->b, m, f32, "");
    double last = lower_power_of_two(1 - f->bias - (int)f->mantissa);
    tiny = lower_as_int(l, f_mul(l, tiny, k_real(tiny, last)));
    LLVMValueRef low = i_cmp(l, LLVMIntULT, m, k_int(m, 1u << f->mantissa));
    LLVMValueRef r = select_(l, low, tiny, normal);
    if (f->inf)
        r = select_(l, i_cmp(l, LLVMIntUGE, m, k_int(m, f->inf)),
                    i_or(l, i_shl(l, m, k_int(m, up)), k_int(m, 0x7f800000)),
                    r);
    else if (f->nan != f->most)
        r = select_(l, i_cmp(l, LLVMIntEQ, m, k_int(m, f->nan)),
                    k_int(m, 0x7fffffff), r);
    LLVMValueRef sign = i_lshr(l, code, k_int(code, f->sign));
    sign = i_shl(l, i_and(l, sign, k_int(sign, 1)), k_int(sign, 31));
    return cast_(l, i_or(l, r, sign), f32);
}

LLVMValueRef lower_cvt_from_small(struct lower_op *o)
{
    struct lower *l = o->l;
    const struct small *f = format_of(o->insn->types[1]);
    LLVMValueRef v = lower_width(l, o->src[0], 32, 0), half[2];
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef x = decode(l, i_lshr(l, v, k_int(v, i * f->step)), f);
        if (lower_has(o, PTX_MOD_RELU))
            x = lower_relu(l, x);
        LLVMValueRef h = lower_float_to_half(l, x, PTX_ROUND_RN);
        half[i] = lower_width(l, h, 32, 0);
    }
    return i_or(l, i_shl(l, half[1], k_int(half[1], 16)), half[0]);
}
