/* SPDX-License-Identifier: MIT
 *
 * What a register of A or B holds, as vectors to multiply: floats of 8 and 16
 * bits as f32, integers of 4 and 8 bits as pairs of 16 bits, which one
 * instruction multiplies and adds.
 */
#include "cpu/jit/lower_impl.h"
#include "cpu/jit/mma.h"

static int is_integer(enum ptx_type t)
{
    return t == PTX_S8 || t == PTX_U8 || t == PTX_S4 || t == PTX_U4;
}

static unsigned value_bits(enum ptx_type t)
{
    switch (t) {
    case PTX_F64:
        return 64;
    case PTX_TF32:
        return 32;
    case PTX_F16:
    case PTX_BF16:
        return 16;
    case PTX_S4:
    case PTX_U4:
        return 4;
    case PTX_B1:
        return 1;
    default:
        return 8; /* e2m1 and the like too: each in a byte of its own */
    }
}

unsigned mma_per_register(enum ptx_type t)
{
    return t == PTX_F64 ? 1 : 32 / value_bits(t);
}

unsigned mma_parts(enum ptx_type t)
{
    if (t == PTX_B1)
        return 1;
    return is_integer(t) ? mma_per_register(t) / 2 : mma_per_register(t);
}

LLVMTypeRef mma_part_type(struct emit *e, enum ptx_type t)
{
    /* products of bf16 and tf32 leave f32's range */
    if (t == PTX_F64 || t == PTX_BF16 || t == PTX_TF32)
        return LLVMDoubleTypeInContext(e->l.ctx);
    if (is_integer(t) || t == PTX_B1)
        return e->i32;
    return LLVMFloatTypeInContext(e->l.ctx);
}

LLVMTypeRef mma_acc_type(struct emit *e, enum ptx_type acc)
{
    if (acc == PTX_S32)
        return e->i32;
    return acc == PTX_F64 ? LLVMDoubleTypeInContext(e->l.ctx)
                          : LLVMFloatTypeInContext(e->l.ctx);
}

/* Value `part` of each 16 bits, to 16 bits. */
static LLVMValueRef pairs(struct lower *l, LLVMValueRef v, enum ptx_type t,
                          unsigned part)
{
    unsigned bits = value_bits(t), n = 2 * lower_shape(LLVMTypeOf(v));
    LLVMTypeRef whole = LLVMTypeOf(v);
    int is_signed = t == PTX_S8 || t == PTX_S4;

    v = cast_(l, v, lower_type(LLVMInt16TypeInContext(l->ctx), n));
    v = i_shl(l, v, k_int(v, 16 - bits * (part + 1)));
    v = is_signed ? i_ashr(l, v, k_int(v, 16 - bits))
                  : i_lshr(l, v, k_int(v, 16 - bits));
    return cast_(l, v, whole);
}

/* A byte of e5m2 is the upper half of an f16; one of e4m3, moved, has an
 * exponent 8 less than an f16's. */
static LLVMValueRef small_float(struct lower *l, LLVMValueRef v,
                                enum ptx_type t)
{
    LLVMValueRef byte = i_and(l, v, k_int(v, 0xff)), low, half, x, nan;

    if (t == PTX_E5M2) {
        half = lower_width(l, i_shl(l, byte, k_int(v, 8)), 16, 0);
        return lower_widen_half(l, half);
    }
    low = i_and(l, byte, k_int(v, 0x7f));
    half = i_shl(l, i_and(l, byte, k_int(v, 0x80)), k_int(v, 8));
    half = i_or(l, half, i_shl(l, low, k_int(v, 7)));
    x = lower_widen_half(l, lower_width(l, half, 16, 0));
    x = f_mul(l, x, k_real(x, 256));
    nan = i_cmp(l, LLVMIntEQ, low, k_int(v, 0x7f));
    return select_(l, nan, k_real(x, __builtin_nan("")), x);
}

LLVMValueRef mma_part(struct emit *e, LLVMValueRef v, enum ptx_type t,
                      unsigned part)
{
    struct lower *l = &e->l;
    unsigned bits = value_bits(t);
    LLVMTypeRef f32 = bits == 64 ? NULL : lower_float_like(l, v, 32);

    if (is_integer(t))
        return pairs(l, v, t, part);
    if (t == PTX_B1)
        return v;
    if (t == PTX_F64)
        return cast_(l, v, lower_float_like(l, v, 64));
    if (t == PTX_TF32 || t == PTX_BF16) {
        /* of tf32 the lower 13 bits do not count */
        v = t == PTX_TF32 ? i_and(l, v, k_int(v, 0xffffe000))
            : part        ? i_and(l, v, k_int(v, 0xffff0000))
                          : i_shl(l, v, k_int(v, 16));
        return LLVMBuildFPExt(l->b, cast_(l, v, f32),
                              lower_float_like(l, v, 64), "");
    }
    v = i_lshr(l, v, k_int(v, bits * part));
    if (t == PTX_F16)
        return lower_widen_half(l, lower_width(l, v, 16, 0));
    return small_float(l, v, t);
}

/* Lanes of 16 bits, multiplied and added by pairs. */
static LLVMValueRef multiply_pairs(struct lower *l, LLVMValueRef a,
                                   LLVMValueRef b)
{
    unsigned n = lower_shape(LLVMTypeOf(a));
    const char *name = n == 16  ? "llvm.x86.avx512.pmaddw.d.512"
                       : n == 8 ? "llvm.x86.avx2.pmadd.wd"
                                : "llvm.x86.sse2.pmadd.wd";
    LLVMTypeRef type = lower_type(LLVMInt16TypeInContext(l->ctx), 2 * n);
    LLVMValueRef args[] = {cast_(l, a, type), cast_(l, b, type)};

    return lower_intrinsic(l, name, NULL, 0, args, 2);
}

int mma_can_round(const struct emit *e, const struct mma *m)
{
    return m->round == PTX_ROUND_NONE || m->round == PTX_ROUND_RN ||
           (m->a == PTX_F64 && e->l.has_avx512);
}

LLVMValueRef mma_step(struct emit *e, const struct mma *m, LLVMValueRef a,
                      LLVMValueRef b, LLVMValueRef acc)
{
    struct lower *l = &e->l;

    if (is_integer(m->a))
        return i_add(l, acc, multiply_pairs(l, a, b));
    if (m->a == PTX_B1) {
        a = m->is_and ? i_and(l, a, b) : i_xor(l, a, b);
        return i_add(l, acc, lower_call1(l, "llvm.ctpop", a));
    }
    return lower_arith(&(struct lower_op){.l = l, .type = PTX_F64}, LOWER_FMA,
                       m->round, a, b, acc);
}
