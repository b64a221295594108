/* SPDX-License-Identifier: MIT
 *
 * cvt, PTX ISA 9.7.9.21: every pair of integer and float types. The source is
 * the low bits of its register. Floats pass through f32, or through f64 where
 * f32 cannot hold them; whatever is rounded twice is rounded to odd first.
 */
#include "cpu/jit/lower_rules.h"

/* Integers: cut to the source type, saturate, extend as the source says. */
LLVMValueRef lower_cvt_int(struct lower_op *o)
{
    struct lower *l = o->l;
    enum ptx_type to = o->insn->types[0], from = o->insn->types[1];
    unsigned db = ptx_type_bits(to), sb = ptx_type_bits(from);
    int ds = lower_signed(to), ss = lower_signed(from);
    LLVMValueRef v = lower_source(o, 0, sb);
    if (lower_has(o, PTX_MOD_SAT)) {
        uint64_t top = UINT64_MAX >> (64 - db + (unsigned)ds);
        uint64_t source_top = UINT64_MAX >> (64 - sb + (unsigned)ss);
        if (ss && !ds)
            v = i_smax(l, v, k_int(v, 0));
        else if (ss && db < sb)
            v = i_smax(l, v, k_int(v, ~top));
        if (top < source_top)
            v = ss ? i_smin(l, v, k_int(v, top)) : i_umin(l, v, k_int(v, top));
    }
    return lower_width(l, v, db, ss);
}

/* The source as f32 or f64. In cvt .ftz speaks of f32 alone, and not of what
 * is narrowed to f16: such a subnormal is as good as zero, save that a
 * directed rounding does not lose it, as on NVIDIA's devices. */
static LLVMValueRef float_source(struct lower_op *o, unsigned i)
{
    enum ptx_type t = o->insn->types[o->insn->type_count - 1];
    if (t == PTX_F32 && o->type != PTX_F16 && o->type != PTX_F16X2)
        return lower_float_in(o, i, t);
    return lower_unpack(o->l, o->src[i], t);
}

static const char *integer_rounding(enum ptx_round round)
{
    switch (round) {
    case PTX_ROUND_RNI:
        return "llvm.roundeven";
    case PTX_ROUND_RZI:
        return "llvm.trunc";
    case PTX_ROUND_RMI:
        return "llvm.floor";
    case PTX_ROUND_RPI:
        return "llvm.ceil";
    default:
        return NULL;
    }
}

/* llvm.fptosi.sat is taken apart lane by lane, and a conversion out of range
 * is poison: clamp to the largest float that fits, convert, and put in the
 * integer's own end where that is not a float. NaN comes out as the least. */
static LLVMValueRef saturating(struct lower *l, LLVMValueRef x, unsigned bits,
                               int is_signed)
{
    unsigned precision = lower_bits(LLVMTypeOf(x)) == 64 ? 53 : 24;
    unsigned size = bits - (unsigned)is_signed; /* of the magnitude */
    unsigned as = bits < 32 ? 32 : bits;
    double end = size < 64 ? (double)(UINT64_C(1) << size) : 0x1p64;
    double least = is_signed ? -end : 0, most = end - 1;
    if (size > precision)
        most = end - end / (double)(UINT64_C(1) << precision);
    LLVMValueRef low = k_real(x, least), high = k_real(x, most);
    LLVMValueRef y = select_(l, f_cmp(l, LLVMRealOGT, x, low), x, low);
    y = select_(l, f_cmp(l, LLVMRealOLT, y, high), y, high);
    LLVMTypeRef type = lower_int_like(l, x, as);
    LLVMValueRef r = is_signed || bits < 32
                         ? LLVMBuildFPToSI(l->b, y, type, "")
                         : LLVMBuildFPToUI(l->b, y, type, "");
    r = lower_width(l, r, bits, 0);
    if (size <= precision)
        return r;
    return select_(l, f_cmp(l, LLVMRealOGE, x, k_real(x, end)),
                   k_int(r, UINT64_MAX >> (64 - size)), r);
}

/* Out of range saturates. NaN: 0 for integers of 32 bits and less from f32
 * and less, else the integer's top bit alone (PTX ISA, cvt). */
LLVMValueRef lower_cvt_float_int(struct lower_op *o)
{
    struct lower *l = o->l;
    enum ptx_type to = o->insn->types[0], from = o->insn->types[1];
    unsigned bits = ptx_type_bits(to);
    const char *rounding = integer_rounding(o->insn->round);
    LLVMValueRef x = float_source(o, 0);
    if (rounding && o->insn->round != PTX_ROUND_RZI)
        x = lower_call1(l, rounding, x);
    LLVMValueRef r = saturating(l, x, bits, lower_signed(to));
    uint64_t nan =
        bits == 64 || from == PTX_F64 ? UINT64_C(1) << (bits - 1) : 0;
    return select_(l, f_cmp(l, LLVMRealUNO, x, x), k_int(r, nan), r);
}

static LLVMValueRef int_to_float(struct lower *l, LLVMValueRef v, unsigned fb,
                                 int is_signed)
{
    LLVMTypeRef f = lower_float_like(l, v, fb);
    return is_signed ? LLVMBuildSIToFP(l->b, v, f, "")
                     : LLVMBuildUIToFP(l->b, v, f, "");
}

/* An integer of 64 bits as a double, rounded to odd: what does not fit 53 bits
 * is collected in the lowest bit that does. */
static LLVMValueRef wide_int_odd(struct lower *l, LLVMValueRef v, int is_signed)
{
    LLVMValueRef s = k_int(v, 63), low = k_int(v, 0x7ff), m = v;
    LLVMValueRef sign = i_ashr(l, v, s);
    if (is_signed)
        m = i_sub(l, i_xor(l, v, sign), sign);
    LLVMValueRef cut = i_cmp(l, LLVMIntNE, i_and(l, m, low), k_int(m, 0));
    LLVMValueRef sticky = i_or(l, i_and(l, m, i_not(l, low)),
                               select_(l, cut, k_int(m, 0x800), k_int(m, 0)));
    LLVMValueRef big = i_cmp(l, LLVMIntUGE, m, k_int(m, UINT64_C(1) << 53));
    m = select_(l, big, sticky, m);
    if (is_signed)
        m = i_sub(l, i_xor(l, m, sign), sign);
    return int_to_float(l, m, 64, is_signed);
}

/* Directed rounding of an integer to f64: the top 53 bits are exact; what was
 * cut moves the result one step away from zero or not at all. */
static LLVMValueRef wide_int_directed(struct lower *l, LLVMValueRef v,
                                      int is_signed, enum ptx_round round)
{
    LLVMTypeRef type = LLVMTypeOf(v);
    LLVMValueRef sign = is_signed ? i_ashr(l, v, k_int(v, 63)) : k_int(v, 0);
    LLVMValueRef m = i_sub(l, i_xor(l, v, sign), sign);
    LLVMValueRef args[2] = {m,
                            LLVMConstInt(LLVMInt1TypeInContext(l->ctx), 0, 0)};
    LLVMValueRef zeros = lower_intrinsic(l, "llvm.ctlz", &type, 1, args, 2);
    /* 11 bits go from a number with its top bit set, fewer from others. */
    LLVMValueRef cut = i_sub(l, k_int(m, 11), i_umin(l, zeros, k_int(m, 11)));
    LLVMValueRef mask = i_shl(l, k_int(m, UINT64_MAX), cut);
    LLVMValueRef kept = i_and(l, m, mask);
    LLVMValueRef bits = lower_as_int(l, int_to_float(l, kept, 64, 0));
    LLVMValueRef lost = i_cmp(l, LLVMIntNE, kept, m);
    LLVMValueRef down = i_cmp(l, LLVMIntNE, sign, k_int(sign, 0));
    LLVMValueRef away = round == PTX_ROUND_RM ? i_and(l, lost, down)
                        : round == PTX_ROUND_RP
                            ? i_and(l, lost, i_not(l, down))
                            : i_and(l, lost, k_int(lost, 0));
    bits = i_add(l, bits, lower_width(l, away, 64, 0));
    bits = i_or(l, bits, i_and(l, sign, k_int(sign, UINT64_C(1) << 63)));
    return cast_(l, bits, lower_float_like(l, bits, 64));
}

/* Halves from integers: f16 ends at 65504, so that a clamped integer is exact
 * in f32; bf16 goes through f64 and an odd f32. */
static LLVMValueRef int_to_half(struct lower_op *o, LLVMValueRef v,
                                enum ptx_type to, int is_signed)
{
    struct lower *l = o->l;
    enum ptx_round round = o->insn->round;
    if (to == PTX_BF16) {
        v = lower_width(l, v, 64, is_signed);
        LLVMValueRef f =
            lower_double_to_odd_float(l, wide_int_odd(l, v, is_signed));
        return lower_float_to_bfloat(l, f, round);
    }
    if (lower_bits(LLVMTypeOf(v)) > 16) {
        if (is_signed)
            v = i_smax(l, v, k_int(v, (uint64_t)INT64_C(-100000)));
        v = is_signed ? i_smin(l, v, k_int(v, 100000))
                      : i_umin(l, v, k_int(v, 100000));
    }
    v = lower_width(l, v, 32, is_signed);
    return lower_float_to_half(l, int_to_float(l, v, 32, is_signed), round);
}

LLVMValueRef lower_cvt_int_float(struct lower_op *o)
{
    struct lower *l = o->l;
    enum ptx_type to = o->insn->types[0], from = o->insn->types[1];
    enum ptx_round round = o->insn->round;
    int is_signed = lower_signed(from);
    int directed = round != PTX_ROUND_NONE && round != PTX_ROUND_RN;
    unsigned sb = ptx_type_bits(from);
    LLVMValueRef v = lower_source(o, 0, sb), r;
    if (lower_is_half(to)) {
        r = int_to_half(o, v, to, is_signed);
        if (lower_has(o, PTX_MOD_SAT))
            r = lower_pack(l, lower_saturate(l, lower_unpack(l, r, to)), to);
        return r;
    }
    if (sb < 32) {
        v = lower_width(l, v, 32, is_signed);
        sb = 32;
    }
    if (!directed || (to == PTX_F64 && sb == 32))
        r = int_to_float(l, v, ptx_type_bits(to), is_signed);
    else if (to == PTX_F64)
        r = wide_int_directed(l, v, is_signed, round);
    else
        r = lower_double_to_float(l,
                                  sb == 64 ? wide_int_odd(l, v, is_signed)
                                           : int_to_float(l, v, 64, is_signed),
                                  round);
    if (lower_has(o, PTX_MOD_SAT))
        r = lower_saturate(l, r);
    return lower_as_int(l, r);
}

/* x (f32 or f64, nothing lost yet) as the bits of `to`. */
static LLVMValueRef narrow(struct lower_op *o, LLVMValueRef x, enum ptx_type to,
                           enum ptx_round round)
{
    struct lower *l = o->l;
    int is_double = lower_bits(LLVMTypeOf(x)) == 64;
    if (lower_is_half(to)) {
        if (is_double)
            x = lower_double_to_odd_float(l, x);
        return to == PTX_BF16 || to == PTX_BF16X2
                   ? lower_float_to_bfloat(l, x, round)
                   : lower_float_to_half(l, x, round);
    }
    if (to == PTX_F32 && is_double)
        x = lower_double_to_float(l, x, round);
    else if (to == PTX_F64 && !is_double)
        x = LLVMBuildFPExt(l->b, x, lower_float_like(l, x, 64), "");
    return lower_as_int(l, x);
}

/* .satfinite: the largest number instead of infinity. */
static LLVMValueRef finite(struct lower_op *o, LLVMValueRef h, enum ptx_type t)
{
    struct lower *l = o->l;
    if (!lower_has(o, PTX_MOD_SATFINITE))
        return h;
    uint64_t inf = t == PTX_BF16 || t == PTX_BF16X2 ? 0x7f80 : 0x7c00;
    LLVMValueRef size = i_and(l, h, k_int(h, 0x7fff));
    LLVMValueRef is_inf = i_cmp(l, LLVMIntEQ, size, k_int(h, inf));
    return select_(l, is_inf, i_sub(l, h, k_int(h, 1)), h);
}

/* f64 to f32: zero where the number would be below the least normal one if it
 * were rounded to 24 bits with no least exponent. The subnormals that are left
 * are flushed afterwards. */
static LLVMValueRef flush_double(struct lower_op *o, LLVMValueRef x)
{
    const enum ptx_round round = o->insn->round;
    struct lower *l = o->l;
    LLVMValueRef size = f_abs(l, x), zero, tiny, up;
    double least = round == PTX_ROUND_NONE || round == PTX_ROUND_RN
                       ? 0x1.ffffffp-127
                       : 0x1p-126;
    tiny = f_cmp(l, LLVMRealOLT, size, k_real(x, least));
    zero = lower_call2(l, "llvm.copysign", k_real(x, 0), x);
    if (round == PTX_ROUND_RM || round == PTX_ROUND_RP) {
        /* Away from zero, all above the largest number of 24 bits. */
        up = f_cmp(l, LLVMRealOGT, round == PTX_ROUND_RP ? x : f_neg(l, x),
                   k_real(x, 0x1.fffffep-127));
        tiny = i_and(l, tiny, i_not(l, up));
    }
    return select_(l, tiny, zero, x);
}

LLVMValueRef lower_cvt_float(struct lower_op *o)
{
    struct lower *l = o->l;
    enum ptx_type to = o->insn->types[0];
    const char *rounding = integer_rounding(o->insn->round);
    LLVMValueRef x = float_source(o, 0);
    if (rounding)
        x = lower_call1(l, rounding, x);
    if (lower_has(o, PTX_MOD_SAT))
        x = lower_saturate(l, x);
    if (lower_has(o, PTX_MOD_RELU))
        x = lower_relu(l, x);
    if (to == PTX_F32 && o->insn->types[1] == PTX_F64 &&
        lower_has(o, PTX_MOD_FTZ))
        x = flush_double(o, x);
    LLVMValueRef r =
        narrow(o, x, to, rounding ? PTX_ROUND_NONE : o->insn->round);
    if (lower_is_half(to))
        r = finite(o, r, to);
    /* The source was flushed; so is an f32 result. */
    if (to == PTX_F32 && lower_has(o, PTX_MOD_FTZ))
        r = lower_flush_bits(l, r, 0x7f800000, 0x80000000);
    return r;
}

/* cvt.f16x2.f32 d, a, b: a is the upper half. */
LLVMValueRef lower_cvt_packed(struct lower_op *o)
{
    struct lower *l = o->l;
    enum ptx_type to = o->insn->types[0];
    LLVMValueRef half[2];
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef x = float_source(o, i);
        if (lower_has(o, PTX_MOD_RELU))
            x = lower_relu(l, x);
        LLVMValueRef h = finite(o, narrow(o, x, to, o->insn->round), to);
        half[i] = lower_width(l, h, 32, 0);
    }
    return i_or(l, i_shl(l, half[0], k_int(half[0], 16)), half[1]);
}

/* .rna rounds half away by an addition, and takes infinities and NaN as they
 * come, cut; .satfinite is a step down from them (an H200 does that). */
static LLVMValueRef tf32_away(struct lower_op *o, LLVMValueRef v)
{
    struct lower *l = o->l;
    LLVMValueRef top = k_int(v, 0x7f800000);
    LLVMValueRef special = i_cmp(l, LLVMIntEQ, i_and(l, v, top), top);
    LLVMValueRef r = select_(l, special, v, i_add(l, v, k_int(v, 0x1000)));
    r = i_and(l, r, k_int(r, ~UINT64_C(0x1fff)));
    if (!lower_has(o, PTX_MOD_SATFINITE))
        return r;
    special = i_cmp(l, LLVMIntEQ, i_and(l, r, top), top);
    return select_(l, special, i_sub(l, r, k_int(r, 0x2000)), r);
}

/* tf32: f32 with 10 bits of fraction, the others zero. */
LLVMValueRef lower_cvt_tf32(struct lower_op *o)
{
    struct lower *l = o->l;
    LLVMValueRef x = float_source(o, 0);
    if (lower_has(o, PTX_MOD_RELU))
        x = lower_relu(l, x);
    LLVMValueRef v = lower_as_int(l, x), r = v;
    if (o->insn->round == PTX_ROUND_RNA)
        return tf32_away(o, v);
    if (o->insn->round == PTX_ROUND_RN)
        r = i_add(l, v,
                  i_add(l, k_int(v, 0xfff),
                        i_and(l, i_lshr(l, v, k_int(v, 13)), k_int(v, 1))));
    r = i_and(l, r, k_int(r, ~UINT64_C(0x1fff)));
    if (lower_has(o, PTX_MOD_SATFINITE)) {
        LLVMValueRef size = i_and(l, r, k_int(r, 0x7fffffff));
        LLVMValueRef is_inf =
            i_cmp(l, LLVMIntEQ, size, k_int(size, 0x7f800000));
        r = select_(l, is_inf, i_sub(l, r, k_int(r, 0x2000)), r);
    }
    return select_(l, f_cmp(l, LLVMRealUNO, x, x), k_int(r, 0x7fffe000), r);
}

/* cvt.pack.sat: a and b saturated to narrow integers, b the lower; a third
 * operand is shifted up above them. */
LLVMValueRef lower_cvt_pack(struct lower_op *o)
{
    struct lower *l = o->l;
    enum ptx_type to = o->insn->types[0];
    int from_signed = lower_signed(o->insn->types[1]);
    unsigned bits = ptx_type_bits(to);
    uint64_t top = (UINT64_C(1) << (bits - (unsigned)lower_signed(to))) - 1;
    LLVMValueRef part[2];
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef v = lower_source(o, i, 32);
        if (from_signed) {
            v = i_smax(l, v, k_int(v, lower_signed(to) ? ~top : 0));
            v = i_smin(l, v, k_int(v, top));
        } else {
            v = i_umin(l, v, k_int(v, top));
        }
        part[i] = i_and(l, v, k_int(v, (UINT64_C(1) << bits) - 1));
    }
    LLVMValueRef r = i_or(l, i_shl(l, part[0], k_int(part[0], bits)), part[1]);
    if (bits < 16 && o->src_count > 2) {
        LLVMValueRef c = lower_source(o, 2, 32);
        r = i_or(l, r, i_shl(l, c, k_int(c, 2 * bits)));
    }
    return r;
}
