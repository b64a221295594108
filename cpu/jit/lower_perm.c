/* SPDX-License-Identifier: MIT
 *
 * Instructions that mix bits of several operands: lop3, shf, prmt, fns
 * (PTX ISA 9.7.8 and 9.7.9.7).
 */
#include "cpu/jit/lower_rules.h"

/* A function of n variables by its truth table, the first variable the most
 * significant (Shannon's expansion). LLVM makes vpternlog of what comes out. */
static LLVMValueRef table(struct lower *l, unsigned lut, const LLVMValueRef *v,
                          unsigned n, LLVMValueRef zero)
{
    unsigned full = (1u << (1u << n)) - 1;
    if (lut == 0)
        return zero;
    if (lut == full)
        return i_not(l, zero);
    unsigned half = 1u << (n - 1), mask = (1u << half) - 1;
    unsigned hi = lut >> half, lo = lut & mask;
    LLVMValueRef s = v[0];
    const LLVMValueRef *rest = v + 1;
    if (hi == lo)
        return table(l, lo, rest, n - 1, zero);
    if (hi == mask && lo == 0)
        return s;
    if (hi == 0 && lo == mask)
        return i_not(l, s);
    if (hi == (lo ^ mask))
        return i_xor(l, s, table(l, lo, rest, n - 1, zero));
    if (lo == 0)
        return i_and(l, s, table(l, hi, rest, n - 1, zero));
    if (hi == mask)
        return i_or(l, s, table(l, lo, rest, n - 1, zero));
    if (hi == 0)
        return i_and(l, i_not(l, s), table(l, lo, rest, n - 1, zero));
    if (lo == mask)
        return i_or(l, i_not(l, s), table(l, hi, rest, n - 1, zero));
    LLVMValueRef differ = i_and(l, s, table(l, hi ^ lo, rest, n - 1, zero));
    return i_xor(l, table(l, lo, rest, n - 1, zero), differ);
}

LLVMValueRef lower_lop3(struct lower_op *o)
{
    struct lower *l = o->l;
    LLVMValueRef v[3];
    uint64_t lut;
    for (unsigned i = 0; i < 3; i++)
        v[i] = lower_source(o, i, 32);
    if (!lower_constant(o->src[3], &lut)) {
        o->why = "the table is not a constant";
        return NULL;
    }
    LLVMValueRef r = table(l, lut & 0xff, v, 3, k_int(v[0], 0));
    if (o->insn->sub == PTX_SUB_NONE || o->src_count < 5)
        return r;
    LLVMValueRef p = i_cmp(l, LLVMIntNE, r, k_int(r, 0)), q = o->src[4];
    switch (o->insn->sub) {
    case PTX_SUB_AND:
        o->second = i_and(l, p, q);
        break;
    case PTX_SUB_OR:
        o->second = i_or(l, p, q);
        break;
    default:
        o->second = i_xor(l, p, q);
    }
    return r;
}

LLVMValueRef lower_shf(struct lower_op *o)
{
    struct lower *l = o->l;
    LLVMValueRef a = lower_source(o, 0, 32), b = lower_source(o, 1, 32);
    LLVMValueRef c = lower_source(o, 2, 32);
    int left = lower_has(o, PTX_MOD_L);
    LLVMValueRef r = lower_call3(l, left ? "llvm.fshl" : "llvm.fshr", b, a, c);
    if (lower_has(o, PTX_MOD_WRAP)) /* the intrinsics wrap too */
        return r;
    LLVMValueRef all = i_cmp(l, LLVMIntUGT, c, k_int(c, 31));
    return select_(l, all, left ? a : b, r);
}

/* Four selectors of four bits each for the modes that take a number from 0 to
 * 3 instead. */
static LLVMValueRef mode_selector(struct lower_op *o, LLVMValueRef c)
{
    struct lower *l = o->l;
    LLVMValueRef r = k_int(c, 0);
    c = i_and(l, c, k_int(c, 3));
    for (unsigned i = 0; i < 4; i++) {
        LLVMValueRef k = k_int(c, i), at;
        if (lower_has(o, PTX_MOD_F4E))
            at = i_add(l, c, k);
        else if (lower_has(o, PTX_MOD_B4E))
            at = i_and(l, i_sub(l, c, k), k_int(c, 7));
        else if (lower_has(o, PTX_MOD_RC8))
            at = c;
        else if (lower_has(o, PTX_MOD_ECL))
            at = i_umax(l, c, k);
        else if (lower_has(o, PTX_MOD_ECR))
            at = i_umin(l, c, k);
        else /* rc16 */
            at = i_or(l, i_shl(l, i_and(l, c, k_int(c, 1)), k_int(c, 1)),
                      k_int(c, i & 1));
        r = i_or(l, r, i_shl(l, at, k_int(c, 4 * i)));
    }
    return r;
}

static LLVMValueRef bytes(struct lower *l, LLVMValueRef v)
{
    unsigned n = l->lanes ? 4 * l->lanes : 4;
    return cast_(l, v, LLVMVectorType(LLVMInt8TypeInContext(l->ctx), n));
}

/* A selector known here is one byte shuffle. */
static LLVMValueRef constant_prmt(struct lower_op *o, LLVMValueRef a,
                                  LLVMValueRef b, unsigned selector)
{
    struct lower *l = o->l;
    enum { MOST = 4 * 64 };
    LLVMTypeRef i32 = LLVMInt32TypeInContext(l->ctx);
    LLVMTypeRef i8 = LLVMInt8TypeInContext(l->ctx);
    unsigned lanes = l->lanes ? l->lanes : 1, n = 4 * lanes;
    LLVMValueRef at[MOST], copy[MOST];
    if (n > MOST) {
        o->why = "too many lanes";
        return NULL;
    }
    for (unsigned i = 0; i < n; i++) {
        unsigned s = selector >> (4 * (i % 4)) & 15;
        unsigned from = (s & 4 ? n : 0) + i / 4 * 4 + (s & 3);
        at[i] = LLVMConstInt(i32, from, 0);
        copy[i] = LLVMConstInt(i8, s & 8 ? 0xff : 0, 0);
    }
    LLVMValueRef r = LLVMBuildShuffleVector(l->b, bytes(l, a), bytes(l, b),
                                            LLVMConstVector(at, n), "");
    if (selector & 0x8888) {
        LLVMValueRef m = LLVMConstVector(copy, n);
        LLVMValueRef sign = i_ashr(l, r, k_int(r, 7));
        r = i_or(l, i_and(l, r, i_not(l, m)), i_and(l, sign, m));
    }
    return cast_(l, r, LLVMTypeOf(a));
}

LLVMValueRef lower_prmt(struct lower_op *o)
{
    struct lower *l = o->l;
    LLVMValueRef a = lower_source(o, 0, 32), b = lower_source(o, 1, 32);
    LLVMValueRef c = lower_source(o, 2, 32);
    int by_mode = (lower_has(o, PTX_MOD_F4E) | lower_has(o, PTX_MOD_B4E) |
                   lower_has(o, PTX_MOD_RC8) | lower_has(o, PTX_MOD_ECL) |
                   lower_has(o, PTX_MOD_ECR) | lower_has(o, PTX_MOD_RC16));
    uint64_t known;
    if (!by_mode && lower_constant(c, &known))
        return constant_prmt(o, a, b, known & 0xffff);
    if (by_mode)
        c = mode_selector(o, c);
    LLVMValueRef wide = lower_width(l, b, 64, 0), r = k_int(a, 0);
    wide = i_or(l, i_shl(l, wide, k_int(wide, 32)), lower_width(l, a, 64, 0));
    for (unsigned i = 0; i < 4; i++) {
        LLVMValueRef s = i_lshr(l, c, k_int(c, 4 * i));
        LLVMValueRef up = i_shl(l, i_and(l, s, k_int(s, 7)), k_int(s, 3));
        LLVMValueRef v = i_lshr(l, wide, lower_width(l, up, 64, 0));
        v = i_and(l, lower_width(l, v, 32, 0), k_int(a, 0xff));
        LLVMValueRef copy =
            i_and(l, i_and(l, s, k_int(s, 8)), i_lshr(l, v, k_int(v, 4)));
        LLVMValueRef sign =
            select_(l, i_cmp(l, LLVMIntNE, copy, k_int(copy, 0)),
                    k_int(v, 0xff), k_int(v, 0));
        LLVMValueRef all =
            i_cmp(l, LLVMIntNE, i_and(l, s, k_int(s, 8)), k_int(s, 0));
        v = select_(l, all, sign, v);
        r = i_or(l, r, i_shl(l, v, k_int(v, 8 * i)));
    }
    return r;
}

/* The n-th (from 0) set bit of m, 32 or more if there is none: halve the range
 * five times, counting the lower half. */
static LLVMValueRef nth_bit(struct lower *l, LLVMValueRef m, LLVMValueRef n)
{
    LLVMValueRef pos = k_int(m, 0);
    LLVMValueRef total = lower_call1(l, "llvm.ctpop", m);
    LLVMValueRef found = i_cmp(l, LLVMIntULT, n, total);
    for (unsigned w = 16; w; w /= 2) {
        LLVMValueRef low = i_and(l, m, k_int(m, (UINT64_C(1) << w) - 1));
        LLVMValueRef count = lower_call1(l, "llvm.ctpop", low);
        LLVMValueRef up = i_cmp(l, LLVMIntUGE, n, count);
        n = select_(l, up, i_sub(l, n, count), n);
        m = select_(l, up, i_lshr(l, m, k_int(m, w)), m);
        pos = select_(l, up, i_add(l, pos, k_int(pos, w)), pos);
    }
    return select_(l, found, pos, k_int(pos, UINT64_MAX));
}

/* fns: the offset-th set bit from base on, downwards for negative offsets;
 * offset 0 asks whether base itself is set. */
LLVMValueRef lower_fns(struct lower_op *o)
{
    struct lower *l = o->l;
    LLVMValueRef mask = lower_source(o, 0, 32), base = lower_source(o, 1, 32);
    LLVMValueRef offset = lower_source(o, 2, 32);
    LLVMValueRef zero = k_int(mask, 0), one = k_int(mask, 1);
    LLVMValueRef ones = k_int(mask, UINT64_MAX), top = k_int(mask, 31);
    LLVMValueRef down = i_cmp(l, LLVMIntSLT, offset, zero);
    LLVMValueRef none = i_cmp(l, LLVMIntEQ, offset, zero);
    LLVMValueRef m =
        select_(l, down, lower_call1(l, "llvm.bitreverse", mask), mask);
    LLVMValueRef from = select_(l, down, i_sub(l, top, base), base);
    m = i_and(l, m, lower_shift_left(l, ones, from));
    LLVMValueRef size = select_(l, down, i_sub(l, zero, offset), offset);
    LLVMValueRef pos = nth_bit(l, m, i_sub(l, size, one));
    LLVMValueRef back = i_sub(l, top, pos);
    LLVMValueRef missing = i_cmp(l, LLVMIntEQ, pos, ones);
    LLVMValueRef r = select_(l, down, back, pos);
    r = select_(l, missing, ones, r);
    LLVMValueRef bit = i_and(l, lower_shift_right(l, mask, base), one);
    LLVMValueRef here = select_(l, i_cmp(l, LLVMIntNE, bit, zero), base, ones);
    return select_(l, none, here, r);
}
