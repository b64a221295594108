/* SPDX-License-Identifier: MIT
 *
 * Integer arithmetic, PTX ISA 9.7.1: everything wraps unless .sat says
 * otherwise. Division is in lower_div.c.
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

static LLVMValueRef carry_in(struct lower_op *o, LLVMValueRef like)
{
    struct lower *l = o->l;
    if (!l->carry)
        l->carry = lower_int(l, 1, 0);
    return LLVMBuildZExt(l->b, l->carry, LLVMTypeOf(like), "");
}

/* a + b + carry; the carry of a sum of three is that of either step. */
static LLVMValueRef add_with(struct lower_op *o, LLVMValueRef a, LLVMValueRef b,
                             LLVMValueRef in)
{
    struct lower *l = o->l;
    LLVMValueRef s = i_add(l, a, b), r = in ? i_add(l, s, in) : s;
    if (lower_has(o, PTX_MOD_CC)) {
        LLVMValueRef out = i_cmp(l, LLVMIntULT, s, a);
        if (in)
            out = i_or(l, out, i_cmp(l, LLVMIntULT, r, s));
        l->carry = out;
    }
    return r;
}

LLVMValueRef lower_add_int(struct lower_op *o)
{
    LLVMValueRef a = source(o, 0), b = source(o, 1);
    if (lower_has(o, PTX_MOD_SAT))
        return lower_call2(o->l, "llvm.sadd.sat", a, b);
    return add_with(o, a, b, NULL);
}

LLVMValueRef lower_addc(struct lower_op *o)
{
    LLVMValueRef a = source(o, 0), b = source(o, 1);
    return add_with(o, a, b, carry_in(o, a));
}

/* NVIDIA's devices have one flag, the carry of a + ~b + 1, which a borrow
 * leaves clear. PTX ISA 9.7.2 calls it borrow here, which tells the same of
 * sub.cc and subc; where one of them meets addc or add.cc, as in nvcc's
 * division of 128 bits, it is the carry that counts. */
LLVMValueRef lower_sub_int(struct lower_op *o)
{
    struct lower *l = o->l;
    LLVMValueRef a = source(o, 0), b = source(o, 1);
    if (lower_has(o, PTX_MOD_SAT))
        return lower_call2(l, "llvm.ssub.sat", a, b);
    if (lower_has(o, PTX_MOD_CC))
        l->carry = i_cmp(l, LLVMIntUGE, a, b);
    return i_sub(l, a, b);
}

LLVMValueRef lower_subc(struct lower_op *o)
{
    struct lower *l = o->l;
    LLVMValueRef a = source(o, 0), b = source(o, 1);
    LLVMValueRef borrow = i_sub(l, k_int(a, 1), carry_in(o, a));
    LLVMValueRef d = i_sub(l, a, b), r = i_sub(l, d, borrow);
    if (lower_has(o, PTX_MOD_CC))
        l->carry = i_and(l, i_cmp(l, LLVMIntUGE, a, b),
                         i_cmp(l, LLVMIntUGE, d, borrow));
    return r;
}

/* The high half of a 64 x 64 product from four 32-bit products: vectors of
 * i128 would be taken apart lane by lane. */
static LLVMValueRef high_u64(struct lower *l, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef low = k_int(a, 0xffffffff), by = k_int(a, 32);
    LLVMValueRef al = i_and(l, a, low), ah = i_lshr(l, a, by);
    LLVMValueRef bl = i_and(l, b, low), bh = i_lshr(l, b, by);
    LLVMValueRef ll = i_mul(l, al, bl), lh = i_mul(l, al, bh);
    LLVMValueRef hl = i_mul(l, ah, bl), hh = i_mul(l, ah, bh);
    LLVMValueRef t = i_add(l, hl, i_lshr(l, ll, by));
    LLVMValueRef u = i_add(l, lh, i_and(l, t, low));
    return i_add(l, i_add(l, hh, i_lshr(l, t, by)), i_lshr(l, u, by));
}

static LLVMValueRef high(struct lower_op *o, LLVMValueRef a, LLVMValueRef b)
{
    struct lower *l = o->l;
    unsigned bits = width(o);
    int is_signed = lower_signed(o->type);
    if (bits == 64 && l->lanes) {
        LLVMValueRef r = high_u64(l, a, b), s = k_int(a, 63);
        if (!is_signed)
            return r;
        r = i_sub(l, r, i_and(l, i_ashr(l, a, s), b));
        return i_sub(l, r, i_and(l, i_ashr(l, b, s), a));
    }
    LLVMValueRef x = lower_width(l, a, 2 * bits, is_signed);
    LLVMValueRef y = lower_width(l, b, 2 * bits, is_signed);
    LLVMValueRef p = i_mul(l, x, y);
    return lower_width(l, i_lshr(l, p, k_int(p, bits)), bits, 0);
}

static LLVMValueRef product(struct lower_op *o)
{
    struct lower *l = o->l;
    LLVMValueRef a = source(o, 0), b = source(o, 1);
    if (lower_has(o, PTX_MOD_WIDE)) {
        unsigned bits = 2 * width(o);
        int is_signed = lower_signed(o->type);
        return i_mul(l, lower_width(l, a, bits, is_signed),
                     lower_width(l, b, bits, is_signed));
    }
    if (lower_has(o, PTX_MOD_HI))
        return high(o, a, b);
    return i_mul(l, a, b);
}

LLVMValueRef lower_mul_int(struct lower_op *o)
{
    return product(o);
}

static LLVMValueRef addend(struct lower_op *o, LLVMValueRef p)
{
    return lower_source(o, 2, lower_bits(LLVMTypeOf(p)));
}

LLVMValueRef lower_mad_int(struct lower_op *o)
{
    LLVMValueRef p = product(o), c = addend(o, p);
    if (lower_has(o, PTX_MOD_SAT))
        return lower_call2(o->l, "llvm.sadd.sat", p, c);
    return add_with(o, p, c, NULL);
}

LLVMValueRef lower_madc(struct lower_op *o)
{
    LLVMValueRef p = product(o), c = addend(o, p);
    return add_with(o, p, c, carry_in(o, p));
}

/* The 48-bit product of 24-bit operands in 64 bits. */
static LLVMValueRef product24(struct lower_op *o)
{
    struct lower *l = o->l;
    LLVMValueRef v[2];
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef x = lower_source(o, i, 32);
        if (lower_signed(o->type))
            x = i_ashr(l, i_shl(l, x, k_int(x, 8)), k_int(x, 8));
        else
            x = i_and(l, x, k_int(x, 0xffffff));
        v[i] = lower_width(l, x, 64, lower_signed(o->type));
    }
    LLVMValueRef p = i_mul(l, v[0], v[1]);
    if (lower_has(o, PTX_MOD_HI))
        p = i_lshr(l, p, k_int(p, 16));
    return lower_width(l, p, 32, 0);
}

LLVMValueRef lower_mul24(struct lower_op *o)
{
    return product24(o);
}

LLVMValueRef lower_mad24(struct lower_op *o)
{
    LLVMValueRef p = product24(o), c = lower_source(o, 2, 32);
    if (lower_has(o, PTX_MOD_SAT))
        return lower_call2(o->l, "llvm.sadd.sat", p, c);
    return i_add(o->l, p, c);
}

LLVMValueRef lower_neg_int(struct lower_op *o)
{
    return LLVMBuildNeg(o->l->b, source(o, 0), "");
}

static LLVMValueRef absolute(struct lower *l, LLVMValueRef a)
{
    LLVMTypeRef type = LLVMTypeOf(a);
    LLVMValueRef args[2] = {a,
                            LLVMConstInt(LLVMInt1TypeInContext(l->ctx), 0, 0)};
    return lower_intrinsic(l, "llvm.abs", &type, 1, args, 2);
}

LLVMValueRef lower_abs_int(struct lower_op *o)
{
    return absolute(o->l, source(o, 0));
}

static LLVMValueRef least_or_most(struct lower_op *o, LLVMValueRef a,
                                  LLVMValueRef b, int is_signed)
{
    struct lower *l = o->l;
    LLVMValueRef r;
    int is_min = o->insn->op == PTX_OP_MIN;
    if (is_signed)
        r = is_min ? i_smin(l, a, b) : i_smax(l, a, b);
    else
        r = is_min ? i_umin(l, a, b) : i_umax(l, a, b);
    return lower_has(o, PTX_MOD_RELU) ? i_smax(l, r, k_int(r, 0)) : r;
}

LLVMValueRef lower_minmax_int(struct lower_op *o)
{
    return least_or_most(o, source(o, 0), source(o, 1), lower_signed(o->type));
}

/* u16x2 and s16x2: add, min, max of each half. */
LLVMValueRef lower_halves_int(struct lower_op *o)
{
    struct lower *l = o->l;
    LLVMValueRef a = lower_split(l, source(o, 0), o->type);
    LLVMValueRef b = lower_split(l, source(o, 1), o->type);
    LLVMValueRef r = o->insn->op == PTX_OP_ADD
                         ? i_add(l, a, b)
                         : least_or_most(o, a, b, o->type == PTX_S16X2);
    return lower_join(l, r, o->type);
}

/* c + |a - b|; the difference is taken in the type's own order, so that it
 * cannot overflow into a sign. */
LLVMValueRef lower_sad(struct lower_op *o)
{
    struct lower *l = o->l;
    LLVMValueRef a = source(o, 0), b = source(o, 1), low, top;
    if (lower_signed(o->type)) {
        low = i_smin(l, a, b);
        top = i_smax(l, a, b);
    } else {
        low = i_umin(l, a, b);
        top = i_umax(l, a, b);
    }
    return i_add(l, source(o, 2), i_sub(l, top, low));
}

/* Field `i` of `bits` bits, extended. */
static LLVMValueRef field(struct lower *l, LLVMValueRef v, unsigned i,
                          unsigned bits, int is_signed)
{
    unsigned up = 32 - bits * (i + 1);
    v = i_shl(l, v, k_int(v, up));
    return is_signed ? i_ashr(l, v, k_int(v, 32 - bits))
                     : i_lshr(l, v, k_int(v, 32 - bits));
}

/* dp4a: four products of bytes; dp2a: two of a half with a byte, from the
 * lower or the upper pair of b's bytes. */
static LLVMValueRef dot(struct lower_op *o, unsigned n, unsigned first)
{
    struct lower *l = o->l;
    LLVMValueRef a = lower_source(o, 0, 32), b = lower_source(o, 1, 32);
    LLVMValueRef r = lower_source(o, 2, 32);
    int as = lower_signed(o->insn->types[0]);
    int bs = lower_signed(o->insn->types[1]);
    for (unsigned i = 0; i < n; i++) {
        LLVMValueRef x = field(l, a, i, 32 / n, as);
        LLVMValueRef y = field(l, b, first + i, 8, bs);
        r = i_add(l, r, i_mul(l, x, y));
    }
    return r;
}

LLVMValueRef lower_dp4a(struct lower_op *o)
{
    return dot(o, 4, 0);
}

LLVMValueRef lower_dp2a(struct lower_op *o)
{
    return dot(o, 2, lower_has(o, PTX_MOD_HI) ? 2 : 0);
}
