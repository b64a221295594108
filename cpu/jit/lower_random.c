/* SPDX-License-Identifier: MIT
 *
 * cvt.rs: what a narrower float has no place for is added to random bits, and
 * a carry out of it makes the number larger (PTX ISA, cvt). The random bits
 * are taken as the highest of what is cut off; where the result is subnormal
 * more is cut off than of others.
 */
#include "cpu/jit/lower_rules.h"

struct narrow {
    enum ptx_type type;
    unsigned mantissa;
    int bias;
    unsigned random; /* bits */
    unsigned most;   /* the code of the largest number */
    unsigned over;   /* of what is larger, without .satfinite */
    unsigned nan;
    unsigned sign; /* the sign's place */
    unsigned step; /* bits between codes */
};
static const struct narrow formats[] = {
    {PTX_F16X2, 10, 15, 13, 0x7bff, 0x7c00, 0x7fff, 15, 16},
    {PTX_BF16X2, 7, 127, 16, 0x7f7f, 0x7f80, 0x7fff, 15, 16},
    {PTX_E4M3X4, 3, 7, 16, 0x7e, 0x7e, 0x7f, 7, 8},
    {PTX_E5M2X4, 2, 15, 16, 0x7b, 0x7b, 0x7f, 7, 8},
    {PTX_E2M3X4, 3, 1, 16, 0x1f, 0x1f, 0x1f, 5, 8},
    {PTX_E3M2X4, 2, 3, 16, 0x1f, 0x1f, 0x1f, 5, 8},
    {PTX_E2M1X4, 1, 1, 16, 0x07, 0x07, 0x07, 3, 4},
};

static const struct narrow *format_of(enum ptx_type t)
{
    for (unsigned i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].type == t)
            return &formats[i];
    return NULL;
}

/* The f32 of `bits` as a code of f, without its sign; 64 bits wide. */
static LLVMValueRef round_size(struct lower *l, LLVMValueRef bits,
                               LLVMValueRef random, const struct narrow *f)
{
    LLVMValueRef size = i_and(l, bits, k_int(bits, 0x7fffffff)), e, m, down;
    LLVMValueRef cut, one = k_int(bits, 1);

    e = i_lshr(l, size, k_int(size, 23));
    m = i_and(l, size, k_int(size, 0x7fffff));
    m = i_or(l, m,
             select_(l, i_cmp(l, LLVMIntEQ, e, k_int(e, 0)), k_int(m, 0),
                     k_int(m, 0x800000)));
    e = i_sub(l, i_umax(l, e, one), k_int(e, (uint64_t)(127 - f->bias)));
    down = i_smax(l, i_sub(l, one, e), k_int(e, 0)); /* below the normal ones */
    down = i_umin(l, down, k_int(e, 26));
    e = i_sub(l, i_smax(l, e, one), one);
    cut = i_add(l, down, k_int(down, 23 - f->mantissa));
    cut = lower_width(l, cut, 64, 0);
    m = lower_width(l, m, 64, 0);
    random = lower_width(l, random, 64, 0);
    random = i_shl(l, random, i_sub(l, cut, k_int(cut, f->random)));
    m = i_lshr(l, i_add(l, m, random), cut);
    e = lower_width(l, e, 64, 0);
    return i_add(l, m, i_shl(l, e, k_int(e, f->mantissa)));
}

static LLVMValueRef round_one(struct lower_op *o, unsigned i,
                              LLVMValueRef random, const struct narrow *f)
{
    struct lower *l = o->l;
    LLVMValueRef x = lower_unpack(l, o->src[i], PTX_F32), bits, r, sign;
    unsigned over = lower_has(o, PTX_MOD_SATFINITE) ? f->most : f->over;

    if (lower_has(o, PTX_MOD_RELU))
        x = lower_relu(l, x);
    bits = lower_as_int(l, x);
    r = round_size(l, bits, random, f);
    r = select_(l, i_cmp(l, LLVMIntUGT, r, k_int(r, f->most)), k_int(r, over),
                r);
    r = lower_width(l, r, 32, 0);
    sign = i_lshr(l, bits, k_int(bits, 31));
    r = i_or(l, r, i_shl(l, sign, k_int(sign, f->sign)));
    return select_(l, f_cmp(l, LLVMRealUNO, x, x), k_int(r, f->nan), r);
}

static LLVMValueRef field(struct lower *l, LLVMValueRef v, unsigned at,
                          unsigned bits)
{
    return i_and(l, i_lshr(l, v, k_int(v, at)),
                 k_int(v, (UINT64_C(1) << bits) - 1));
}

/* Random bits of source i: of two sources, those of its half; of four, the
 * first two share one half; of e2m1, bytes of both halves. */
static LLVMValueRef random_of(struct lower_op *o, unsigned i, unsigned count,
                              const struct narrow *f)
{
    struct lower *l = o->l;
    LLVMValueRef v = lower_source(o, count, 32), high;
    unsigned first = i < count / 2;

    if (f->type != PTX_E2M1X4)
        return field(l, v, first ? 16 : 0, f->random);
    high = field(l, v, first ? 24 : 16, 8);
    return i_or(l, i_shl(l, high, k_int(high, 8)),
                field(l, v, first ? 8 : 0, 8));
}

LLVMValueRef lower_cvt_random(struct lower_op *o)
{
    struct lower *l = o->l;
    const struct narrow *f = format_of(o->type);
    unsigned count = o->src_count - 1;
    LLVMValueRef all = NULL;

    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef r = round_one(o, i, random_of(o, i, count, f), f);

        all = all ? i_or(l, i_shl(l, all, k_int(all, f->step)), r) : r;
    }
    return lower_width(l, all, ptx_type_bits(o->type), 0);
}
