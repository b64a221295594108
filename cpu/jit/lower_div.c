/* SPDX-License-Identifier: MIT
 *
 * Integer division and remainder. PTX leaves division by zero unspecified and
 * never traps; here, as on NVIDIA's devices, both are all ones. The processor's
 * own division faults and has no vector form, so vectors of up to 32 bits go
 * through floats: the quotient of two n-bit integers, rounded to 2n + 1 bits or
 * more, never reaches the next integer, hence truncating it is exact.
 */
#include "cpu/jit/lower_rules.h"

/* Divisors that cannot be divided by: 0 and, signed, MIN / -1. */
static LLVMValueRef unsafe(struct lower *l, LLVMValueRef a, LLVMValueRef b,
                           int is_signed)
{
    LLVMValueRef bad = i_cmp(l, LLVMIntEQ, b, k_int(b, 0));
    if (is_signed) {
        unsigned bits = lower_bits(LLVMTypeOf(a));
        LLVMValueRef least = k_int(a, UINT64_C(1) << (bits - 1));
        LLVMValueRef over = i_and(l, i_cmp(l, LLVMIntEQ, a, least),
                                  i_cmp(l, LLVMIntEQ, b, k_int(b, UINT64_MAX)));
        bad = i_or(l, bad, over);
    }
    return bad;
}

/* a / b for a b that is safe, by way of a float of `bits`. */
static LLVMValueRef by_float(struct lower *l, LLVMValueRef a, LLVMValueRef b,
                             unsigned bits, int is_signed)
{
    LLVMTypeRef f = lower_float_like(l, a, bits), i = LLVMTypeOf(a);
    if (is_signed) {
        LLVMValueRef x = LLVMBuildSIToFP(l->b, a, f, "");
        LLVMValueRef y = LLVMBuildSIToFP(l->b, b, f, "");
        return LLVMBuildFPToSI(l->b, f_div(l, x, y), i, "");
    }
    LLVMValueRef x = LLVMBuildUIToFP(l->b, a, f, "");
    LLVMValueRef y = LLVMBuildUIToFP(l->b, b, f, "");
    return LLVMBuildFPToUI(l->b, f_div(l, x, y), i, "");
}

static LLVMValueRef plain(struct lower *l, LLVMValueRef a, LLVMValueRef b,
                          int is_signed)
{
    return is_signed ? LLVMBuildSDiv(l->b, a, b, "")
                     : LLVMBuildUDiv(l->b, a, b, "");
}

static LLVMValueRef quotient(struct lower_op *o, LLVMValueRef a, LLVMValueRef b)
{
    struct lower *l = o->l;
    int is_signed = lower_signed(o->type);
    unsigned bits = lower_bits(LLVMTypeOf(a));
    uint64_t known, ones = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    /* A constant divisor becomes a multiplication in LLVM. */
    if (lower_constant(b, &known) && known != 0 && known != ones)
        return plain(l, a, b, is_signed);

    LLVMValueRef safe = select_(l, unsafe(l, a, b, is_signed), k_int(b, 1), b),
                 q;
    if (!l->lanes || bits == 64)
        q = plain(l, a, safe, is_signed);
    else if (bits == 32)
        q = by_float(l, a, safe, 64, is_signed);
    else
        q = lower_width(l,
                        by_float(l, lower_width(l, a, 32, is_signed),
                                 lower_width(l, safe, 32, is_signed), 32,
                                 /* 17 bits: signed fits either way */ 1),
                        bits, 0);
    return select_(l, i_cmp(l, LLVMIntEQ, b, k_int(b, 0)), k_int(b, UINT64_MAX),
                   q);
}

LLVMValueRef lower_div_int(struct lower_op *o)
{
    unsigned bits = ptx_type_bits(o->type);
    return quotient(o, lower_source(o, 0, bits), lower_source(o, 1, bits));
}

LLVMValueRef lower_rem_int(struct lower_op *o)
{
    struct lower *l = o->l;
    unsigned bits = ptx_type_bits(o->type);
    LLVMValueRef a = lower_source(o, 0, bits), b = lower_source(o, 1, bits);
    LLVMValueRef r = i_sub(l, a, i_mul(l, quotient(o, a, b), b));
    return select_(l, i_cmp(l, LLVMIntEQ, b, k_int(b, 0)), k_int(b, UINT64_MAX),
                   r);
}
