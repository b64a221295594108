/* SPDX-License-Identifier: MIT
 *
 * Float instructions that do not round: neg, abs, min, max, copysign, testp.
 * They work on bits. The processor's flush mode does not reach them, so .ftz
 * is explicit here in every function.
 */
#include "cpu/jit/lower_rules.h"

static unsigned element_bits(enum ptx_type t)
{
    return lower_is_packed(t) ? 16 : ptx_type_bits(t);
}

static uint64_t sign_bit(enum ptx_type t)
{
    return UINT64_C(1) << (element_bits(t) - 1);
}

static uint64_t exponent_mask(enum ptx_type t)
{
    switch (t) {
    case PTX_F16:
    case PTX_F16X2:
        return 0x7c00;
    case PTX_BF16:
    case PTX_BF16X2:
        return 0x7f80;
    case PTX_F32:
        return 0x7f800000;
    default:
        return UINT64_C(0x7ff) << 52;
    }
}

/* Flushes what lower_bits_in left to the processor. */
static LLVMValueRef flushed(struct lower_op *o, LLVMValueRef v)
{
    if (o->type == PTX_F32 && lower_has(o, PTX_MOD_FTZ) && o->l->flush)
        return lower_flush_bits(o->l, v, 0x7f800000, 0x80000000);
    return v;
}

LLVMValueRef lower_neg_float(struct lower_op *o)
{
    LLVMValueRef v = flushed(o, lower_bits_in(o, 0, o->type));
    v = i_xor(o->l, v, k_int(v, sign_bit(o->type)));
    return lower_bits_out(o, v, o->type);
}

LLVMValueRef lower_abs_float(struct lower_op *o)
{
    LLVMValueRef v = flushed(o, lower_bits_in(o, 0, o->type));
    v = i_and(o->l, v, k_int(v, sign_bit(o->type) - 1));
    return lower_bits_out(o, v, o->type);
}

/* The minimum or maximum as bits. x86's minps gives its second operand for
 * equal and unordered ones; equal ones are the same or zeros of two signs,
 * which or and and put in order. */
static LLVMValueRef pick(struct lower_op *o, LLVMValueRef a, LLVMValueRef b,
                         LLVMValueRef x, LLVMValueRef y)
{
    struct lower *l = o->l;
    int is_min = o->insn->op == PTX_OP_MIN;
    LLVMValueRef first = f_cmp(l, is_min ? LLVMRealOLT : LLVMRealOGT, a, b);
    LLVMValueRef r = select_(l, first, x, y);
    LLVMValueRef same = f_cmp(l, LLVMRealOEQ, a, b);
    return select_(l, same, is_min ? i_or(l, x, y) : i_and(l, x, y), r);
}

static LLVMValueRef min_or_max(struct lower_op *o, LLVMValueRef x,
                               LLVMValueRef y)
{
    struct lower *l = o->l;
    enum ptx_type t = o->type;
    enum ptx_type plain = t == PTX_F16X2    ? PTX_F16
                          : t == PTX_BF16X2 ? PTX_BF16
                                            : t;
    LLVMValueRef a = lower_unpack(l, x, plain), b = lower_unpack(l, y, plain);
    LLVMValueRef r = pick(o, a, b, x, y), nan = k_int(r, sign_bit(t) - 1);
    if (lower_has(o, PTX_MOD_NAN_))
        return select_(l, f_cmp(l, LLVMRealUNO, a, b), nan, r);
    LLVMValueRef bad_b = f_cmp(l, LLVMRealUNO, b, b);
    LLVMValueRef bad_a = f_cmp(l, LLVMRealUNO, a, a);
    return select_(l, bad_b, select_(l, bad_a, nan, x), r);
}

static LLVMValueRef magnitude(struct lower_op *o, LLVMValueRef v)
{
    if (!lower_has(o, PTX_MOD_ABS))
        return v;
    return i_and(o->l, v, k_int(v, sign_bit(o->type) - 1));
}

LLVMValueRef lower_minmax_float(struct lower_op *o)
{
    struct lower *l = o->l;
    enum ptx_type t = o->type;
    LLVMValueRef x = lower_bits_in(o, 0, t), y = lower_bits_in(o, 1, t);
    LLVMValueRef sign = NULL, top = k_int(x, sign_bit(t));
    if (lower_has(o, PTX_MOD_XORSIGN)) {
        sign = i_and(l, i_xor(l, x, y), top);
    }
    x = magnitude(o, x);
    y = magnitude(o, y);
    LLVMValueRef r = min_or_max(o, x, y);
    if (o->src_count > 2)
        r = min_or_max(o, r, magnitude(o, lower_bits_in(o, 2, t)));
    r = flushed(o, r);
    if (sign)
        r = i_or(l, i_and(l, r, k_int(r, sign_bit(t) - 1)), sign);
    return lower_bits_out(o, r, t);
}

/* a's sign on b: the other way round than C has it. */
LLVMValueRef lower_copysign(struct lower_op *o)
{
    struct lower *l = o->l;
    LLVMValueRef a = lower_bits_in(o, 0, o->type);
    LLVMValueRef b = lower_bits_in(o, 1, o->type);
    uint64_t top = sign_bit(o->type);
    return i_or(l, i_and(l, a, k_int(a, top)), i_and(l, b, k_int(b, top - 1)));
}

LLVMValueRef lower_testp(struct lower_op *o)
{
    struct lower *l = o->l;
    uint64_t e = exponent_mask(o->type);
    LLVMValueRef v = lower_bits_in(o, 0, o->type);
    v = i_and(l, v, k_int(v, sign_bit(o->type) - 1));
    LLVMValueRef top = k_int(v, e), least = k_int(v, e & (~e + 1));
    if (lower_has(o, PTX_MOD_FINITE))
        return i_cmp(l, LLVMIntULT, v, top);
    if (lower_has(o, PTX_MOD_INFINITE))
        return i_cmp(l, LLVMIntEQ, v, top);
    if (lower_has(o, PTX_MOD_NUMBER))
        return i_cmp(l, LLVMIntULE, v, top);
    if (lower_has(o, PTX_MOD_NOTANUMBER))
        return i_cmp(l, LLVMIntUGT, v, top);
    LLVMValueRef one = k_int(v, 1);
    if (lower_has(o, PTX_MOD_SUBNORMAL)) /* 1 <= v < least */
        return i_cmp(l, LLVMIntULT, i_sub(l, v, one), i_sub(l, least, one));
    /* Zeros are normal (PTX ISA, testp). */
    return i_or(l, i_cmp(l, LLVMIntEQ, v, k_int(v, 0)),
                i_cmp(l, LLVMIntULT, i_sub(l, v, least), i_sub(l, top, least)));
}
