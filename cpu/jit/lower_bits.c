/* SPDX-License-Identifier: MIT
 *
 * Logic, shifts, bit fields and counts, PTX ISA 9.7.1 and 9.7.8. LLVM's shifts
 * are poison at the width and beyond, PTX's clamp: every amount is compared
 * first, in a form that AVX2's and AVX-512's shifts, which clamp too, absorb.
 */
#include "cpu/jit/lower_rules.h"

static unsigned width(const struct lower_op *o)
{
    return ptx_type_bits(o->type);
}

static LLVMValueRef source(struct lower_op *o, unsigned i)
{
    return lower_source(o, i, width(o));
}

LLVMValueRef lower_shift_left(struct lower *l, LLVMValueRef v, LLVMValueRef n)
{
    unsigned bits = lower_bits(LLVMTypeOf(v));
    LLVMValueRef fits = i_cmp(l, LLVMIntULT, n, k_int(n, bits));
    LLVMValueRef r = i_shl(l, v, lower_width(l, n, bits, 0));
    return select_(l, fits, r, k_int(v, 0));
}

LLVMValueRef lower_shift_right(struct lower *l, LLVMValueRef v, LLVMValueRef n)
{
    unsigned bits = lower_bits(LLVMTypeOf(v));
    LLVMValueRef fits = i_cmp(l, LLVMIntULT, n, k_int(n, bits));
    LLVMValueRef r = i_lshr(l, v, lower_width(l, n, bits, 0));
    return select_(l, fits, r, k_int(v, 0));
}

LLVMValueRef lower_shift_signed(struct lower *l, LLVMValueRef v, LLVMValueRef n)
{
    unsigned bits = lower_bits(LLVMTypeOf(v));
    LLVMValueRef m = i_umin(l, n, k_int(n, bits - 1));
    return i_ashr(l, v, lower_width(l, m, bits, 0));
}

LLVMValueRef lower_logic(struct lower_op *o)
{
    struct lower *l = o->l;
    LLVMValueRef a = source(o, 0);
    switch (o->insn->op) {
    case PTX_OP_AND:
        return i_and(l, a, source(o, 1));
    case PTX_OP_OR:
        return i_or(l, a, source(o, 1));
    case PTX_OP_XOR:
        return i_xor(l, a, source(o, 1));
    default:
        return i_not(l, a);
    }
}

LLVMValueRef lower_cnot(struct lower_op *o)
{
    LLVMValueRef a = source(o, 0);
    return lower_width(o->l, i_cmp(o->l, LLVMIntEQ, a, k_int(a, 0)), width(o),
                       0);
}

LLVMValueRef lower_shl(struct lower_op *o)
{
    return lower_shift_left(o->l, source(o, 0), lower_source(o, 1, 32));
}

LLVMValueRef lower_shr(struct lower_op *o)
{
    LLVMValueRef a = source(o, 0), n = lower_source(o, 1, 32);
    return lower_signed(o->type) ? lower_shift_signed(o->l, a, n)
                                 : lower_shift_right(o->l, a, n);
}

/* Positions and lengths: a byte for 32-bit fields. For 64-bit ones devices
 * take all 32 bits, whatever the manual says. */
static LLVMValueRef field_number(struct lower_op *o, unsigned i)
{
    LLVMValueRef n = lower_source(o, i, 32);
    return width(o) == 64 ? n : i_and(o->l, n, k_int(n, 0xff));
}

/* The lowest n bits set; all for n at the width and beyond. */
static LLVMValueRef low_mask(struct lower *l, LLVMValueRef like, LLVMValueRef n)
{
    LLVMValueRef ones = k_int(like, UINT64_MAX);
    return i_not(l, lower_shift_left(l, ones, n));
}

LLVMValueRef lower_bfe(struct lower_op *o)
{
    struct lower *l = o->l;
    unsigned bits = width(o);
    LLVMValueRef a = source(o, 0);
    LLVMValueRef pos = field_number(o, 1), len = field_number(o, 2);
    if (!lower_signed(o->type))
        return i_and(l, lower_shift_right(l, a, pos), low_mask(l, a, len));
    /* Shifting in the sign gives the bits past the top; then the field's own
     * top bit is copied up. */
    LLVMValueRef x = lower_shift_signed(l, a, pos);
    LLVMValueRef n = i_umin(l, len, k_int(len, bits));
    LLVMValueRef up = lower_width(l, i_sub(l, k_int(n, bits), n), bits, 0);
    LLVMValueRef none = i_cmp(l, LLVMIntEQ, len, k_int(len, 0));
    up = select_(l, none, k_int(up, 0), up);
    LLVMValueRef r = i_ashr(l, i_shl(l, x, up), up);
    return select_(l, none, k_int(r, 0), r);
}

LLVMValueRef lower_bfi(struct lower_op *o)
{
    struct lower *l = o->l;
    LLVMValueRef a = source(o, 0), b = source(o, 1);
    LLVMValueRef pos = field_number(o, 2), len = field_number(o, 3);
    LLVMValueRef mask = lower_shift_left(l, low_mask(l, a, len), pos);
    LLVMValueRef in = lower_shift_left(l, a, pos);
    return i_or(l, i_and(l, in, mask), i_and(l, b, i_not(l, mask)));
}

static LLVMValueRef leading_zeros(struct lower *l, LLVMValueRef a)
{
    LLVMTypeRef type = LLVMTypeOf(a);
    LLVMValueRef args[2] = {a,
                            LLVMConstInt(LLVMInt1TypeInContext(l->ctx), 0, 0)};
    return lower_intrinsic(l, "llvm.ctlz", &type, 1, args, 2);
}

LLVMValueRef lower_bfind(struct lower_op *o)
{
    struct lower *l = o->l;
    unsigned bits = width(o);
    LLVMValueRef a = source(o, 0);
    if (lower_signed(o->type))
        a = i_xor(l, a, i_ashr(l, a, k_int(a, bits - 1)));
    LLVMValueRef n = lower_width(l, leading_zeros(l, a), 32, 0);
    LLVMValueRef none = i_cmp(l, LLVMIntEQ, a, k_int(a, 0));
    if (!lower_has(o, PTX_MOD_SHIFTAMT))
        n = i_sub(l, k_int(n, bits - 1), n);
    return select_(l, none, k_int(n, UINT64_MAX), n);
}

LLVMValueRef lower_clz(struct lower_op *o)
{
    return lower_width(o->l, leading_zeros(o->l, source(o, 0)), 32, 0);
}

LLVMValueRef lower_popc(struct lower_op *o)
{
    LLVMValueRef n = lower_call1(o->l, "llvm.ctpop", source(o, 0));
    return lower_width(o->l, n, 32, 0);
}

LLVMValueRef lower_brev(struct lower_op *o)
{
    return lower_call1(o->l, "llvm.bitreverse", source(o, 0));
}

/* PTX ISA 9.7.1.20, bmsk: ones from bit a, b of them. */
LLVMValueRef lower_bmsk(struct lower_op *o)
{
    struct lower *l = o->l;
    LLVMValueRef a = lower_source(o, 0, 32), b = lower_source(o, 1, 32);
    LLVMValueRef ones = k_int(a, UINT64_MAX), low = k_int(a, 31);
    LLVMValueRef pos = a, n = b;
    if (!lower_has(o, PTX_MOD_CLAMP)) {
        pos = i_and(l, a, low);
        n = i_and(l, b, low);
    }
    LLVMValueRef from = lower_shift_left(l, ones, pos);
    LLVMValueRef mask = low_mask(l, a, n);
    return i_and(l, from, lower_shift_left(l, mask, pos));
}

/* PTX ISA 9.7.1.21, szext: bit b - 1 is the sign; .clamp leaves a as it is
 * for b of 32 and more. */
LLVMValueRef lower_szext(struct lower_op *o)
{
    struct lower *l = o->l;
    LLVMValueRef a = lower_source(o, 0, 32), b = lower_source(o, 1, 32);
    LLVMValueRef n = i_and(l, b, k_int(b, 31));
    LLVMValueRef zero = i_cmp(l, LLVMIntEQ, n, k_int(n, 0));
    LLVMValueRef up = i_and(l, i_sub(l, k_int(n, 32), n), k_int(n, 31));
    LLVMValueRef x = i_shl(l, a, up);
    LLVMValueRef r =
        lower_signed(o->type) ? i_ashr(l, x, up) : i_lshr(l, x, up);
    r = select_(l, zero, k_int(r, 0), r);
    if (lower_has(o, PTX_MOD_CLAMP))
        r = select_(l, i_cmp(l, LLVMIntUGT, b, k_int(b, 31)), a, r);
    return r;
}
