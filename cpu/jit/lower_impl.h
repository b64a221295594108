/* SPDX-License-Identifier: MIT
 *
 * What the lowering files share. A lowering reads raw bits, builds a value of
 * the instruction's own width and returns it; lower.c extends it to the
 * destination register. Returning NULL refuses, with the reason in o->why.
 *
 * The short names below are for this folder's lower_*.c alone: polynomials
 * written with LLVMBuildFMul and friends cannot be read.
 */
#ifndef KILN_CPU_JIT_LOWER_IMPL_H
#define KILN_CPU_JIT_LOWER_IMPL_H

#include "cpu/jit/lower.h"

struct lower_op {
    struct lower *l;
    const struct ptx_insn *insn;
    const LLVMValueRef *src;
    unsigned src_count;
    enum ptx_type type;  /* the first type of the mnemonic */
    LLVMValueRef second; /* value of the second destination */
    const char *why;     /* set when a lowering returns NULL */
};

/* lower.def's rows name these. */
typedef LLVMValueRef lower_fn(struct lower_op *o);

/* lower_value.c: shapes. A shape is a lane count, 0 for a scalar. */
unsigned lower_shape(LLVMTypeRef type);
LLVMTypeRef lower_type(LLVMTypeRef element, unsigned shape);
LLVMTypeRef lower_element(LLVMTypeRef type);
unsigned lower_bits(LLVMTypeRef type); /* of an element */
/* The type with `like`'s lane count and another element. */
LLVMTypeRef lower_int_like(const struct lower *l, LLVMValueRef like,
                           unsigned bits);
LLVMTypeRef lower_float_like(const struct lower *l, LLVMValueRef like,
                             unsigned bits);
/* Constants of a value's type, the same in each lane. */
LLVMValueRef lower_const(LLVMTypeRef type, uint64_t value);
LLVMValueRef lower_real(LLVMTypeRef type, double value);
/* The value of an integer constant, scalar or splat. */
int lower_constant(LLVMValueRef v, uint64_t *out);
/* Truncate or extend to `bits`. */
LLVMValueRef lower_width(struct lower *l, LLVMValueRef v, unsigned bits,
                         int is_signed);
LLVMValueRef lower_as_int(struct lower *l, LLVMValueRef v);
/* An intrinsic overloaded on the type of its first argument alone. */
LLVMValueRef lower_call1(struct lower *l, const char *name, LLVMValueRef a);
LLVMValueRef lower_call2(struct lower *l, const char *name, LLVMValueRef a,
                         LLVMValueRef b);
LLVMValueRef lower_call3(struct lower *l, const char *name, LLVMValueRef a,
                         LLVMValueRef b, LLVMValueRef c);

/* lower_wide.c: an x86 intrinsic on vectors of exactly `per` lanes, applied to
 * values of any shape. `args` are the vector operands; `name` takes them, then
 * for masked forms a pass-through and a full mask, then `imm` values. */
struct lower_wide {
    const char *name;
    unsigned per;       /* lanes of the intrinsic */
    unsigned arg_count; /* vector operands, at most 3 */
    LLVMValueRef args[3];
    LLVMTypeRef result;  /* element type of the result */
    int masked;          /* pass-through and all-ones mask follow */
    int imm_first;       /* an immediate before the pass-through */
    unsigned imm_before; /* its value */
    int has_imm;         /* an immediate at the end */
    unsigned imm;
    LLVMTypeRef overload[2];
    unsigned overload_count;
};
LLVMValueRef lower_wide(struct lower *l, const struct lower_wide *w);

/* Integer operands: source i cut to `bits`. */
LLVMValueRef lower_source(struct lower_op *o, unsigned i, unsigned bits);
static inline int lower_signed(enum ptx_type t)
{
    return ptx_type_class(t) == PTX_CLASS_SINT;
}
static inline int lower_has(const struct lower_op *o, enum ptx_mod m)
{
    return ptx_has(o->insn, m);
}

/* lower_float.c: float operands as f32 or f64 vectors to compute with, and
 * back. Halves are widened to f32, packed ones to twice the lanes. The
 * instruction's .ftz is applied to subnormal inputs and results, and .sat and
 * .relu to results. */
LLVMValueRef lower_float_in(struct lower_op *o, unsigned i, enum ptx_type t);
LLVMValueRef lower_float_out(struct lower_op *o, LLVMValueRef v,
                             enum ptx_type t);
/* A packed register as its two elements, lane after lane; and back. */
LLVMValueRef lower_split(struct lower *l, LLVMValueRef bits, enum ptx_type t);
LLVMValueRef lower_join(struct lower *l, LLVMValueRef parts, enum ptx_type t);
/* f16 bits to f32. */
LLVMValueRef lower_widen_half(struct lower *l, LLVMValueRef h);
double lower_power_of_two(int e);
/* Raw bits <-> floats without any of that. */
LLVMValueRef lower_unpack(struct lower *l, LLVMValueRef bits, enum ptx_type t);
LLVMValueRef lower_pack(struct lower *l, LLVMValueRef v, enum ptx_type t);
/* Subnormals to zeros of their sign; integers of a float's bits. */
LLVMValueRef lower_flush_bits(struct lower *l, LLVMValueRef bits,
                              uint64_t exponent, uint64_t sign);
LLVMValueRef lower_flush(struct lower *l, LLVMValueRef v);
LLVMValueRef lower_saturate(struct lower *l, LLVMValueRef v);
LLVMValueRef lower_relu(struct lower *l, LLVMValueRef v);
LLVMValueRef lower_canonical(struct lower *l, LLVMValueRef v);
/* The same with bits instead of floats, packed types as 16-bit halves. */
LLVMValueRef lower_bits_in(struct lower_op *o, unsigned i, enum ptx_type t);
LLVMValueRef lower_bits_out(struct lower_op *o, LLVMValueRef bits,
                            enum ptx_type t);
int lower_is_half(enum ptx_type t); /* f16 or bf16, packed or not */
int lower_is_packed(enum ptx_type t);

/* lower_round.c: arithmetic in a rounding mode. */
enum lower_arith {
    LOWER_ADD,
    LOWER_SUB,
    LOWER_MUL,
    LOWER_DIV,
    LOWER_SQRT,
    LOWER_FMA
};
LLVMValueRef lower_arith(struct lower_op *o, enum lower_arith op,
                         enum ptx_round round, LLVMValueRef a, LLVMValueRef b,
                         LLVMValueRef c);
/* s rounded to nearest, e the sign of what was lost: s rounded to odd. A
 * value rounded to odd can be rounded once more to any mode without error. */
LLVMValueRef lower_to_odd(struct lower *l, LLVMValueRef s, LLVMValueRef e);
/* x was narrowed to nearest, giving the float of these `bits`; widened again
 * it is `back`. The bits stepped so that they are x rounded as asked. */
LLVMValueRef lower_step(struct lower *l, LLVMValueRef bits, LLVMValueRef back,
                        LLVMValueRef x, enum ptx_round round);
/* The same where the comparisons were made otherwise. */
LLVMValueRef lower_step_bits(struct lower *l, LLVMValueRef bits,
                             LLVMValueRef too_high, LLVMValueRef too_low,
                             enum ptx_round round);
LLVMValueRef lower_double_to_float(struct lower *l, LLVMValueRef x,
                                   enum ptx_round round);
LLVMValueRef lower_double_to_odd_float(struct lower *l, LLVMValueRef x);
LLVMValueRef lower_float_to_half(struct lower *l, LLVMValueRef x,
                                 enum ptx_round round);
LLVMValueRef lower_float_to_bfloat(struct lower *l, LLVMValueRef x,
                                   enum ptx_round round);

/* a * b + c, where the product is exact in the type, rounded to odd. */
LLVMValueRef lower_fma_odd(struct lower *l, LLVMValueRef a, LLVMValueRef b,
                           LLVMValueRef c);
/* lower_half.c: halves widened to f32, to be narrowed once. */
LLVMValueRef lower_fma_half(struct lower *l, LLVMValueRef a, LLVMValueRef b,
                            LLVMValueRef c, enum ptx_type t);

/* What a + b lost when it was rounded to s (Knuth); NaN where infinite. */
LLVMValueRef lower_sum_error(struct lower *l, LLVMValueRef a, LLVMValueRef b,
                             LLVMValueRef s);

/* lower_plain.c: fma by whatever the processor has; f16 <-> f32 without F16C
 * (NaN is the caller's). */
LLVMValueRef lower_fma(struct lower *l, LLVMValueRef a, LLVMValueRef b,
                       LLVMValueRef c);
LLVMValueRef lower_half_plain(struct lower *l, LLVMValueRef h);
LLVMValueRef lower_half_round(struct lower *l, LLVMValueRef x);

/* lower_recip.c: 1 / x to 14 bits; AVX-512. */
LLVMValueRef lower_rcp_estimate(struct lower *l, LLVMValueRef x);

/* lower_bits.c: shifts by any amount, as PTX has them. */
LLVMValueRef lower_shift_left(struct lower *l, LLVMValueRef v, LLVMValueRef n);
LLVMValueRef lower_shift_right(struct lower *l, LLVMValueRef v, LLVMValueRef n);
LLVMValueRef lower_shift_signed(struct lower *l, LLVMValueRef v,
                                LLVMValueRef n);

/* Builder shorthands: integers i_, floats f_. */
static inline LLVMValueRef k_int(LLVMValueRef like, uint64_t v)
{
    return lower_const(LLVMTypeOf(like), v);
}
static inline LLVMValueRef k_real(LLVMValueRef like, double v)
{
    return lower_real(LLVMTypeOf(like), v);
}
#define LOWER_BINARY(name, build)                                              \
    static inline LLVMValueRef name(struct lower *l, LLVMValueRef a,           \
                                    LLVMValueRef b)                            \
    {                                                                          \
        return build(l->b, a, b, "");                                          \
    }
LOWER_BINARY(i_add, LLVMBuildAdd)
LOWER_BINARY(i_sub, LLVMBuildSub)
LOWER_BINARY(i_mul, LLVMBuildMul)
LOWER_BINARY(i_and, LLVMBuildAnd)
LOWER_BINARY(i_or, LLVMBuildOr)
LOWER_BINARY(i_xor, LLVMBuildXor)
LOWER_BINARY(i_shl, LLVMBuildShl)
LOWER_BINARY(i_lshr, LLVMBuildLShr)
LOWER_BINARY(i_ashr, LLVMBuildAShr)
LOWER_BINARY(f_add, LLVMBuildFAdd)
LOWER_BINARY(f_sub, LLVMBuildFSub)
LOWER_BINARY(f_mul, LLVMBuildFMul)
LOWER_BINARY(f_div, LLVMBuildFDiv)
#undef LOWER_BINARY
#define LOWER_CALL2(name, intrinsic)                                           \
    static inline LLVMValueRef name(struct lower *l, LLVMValueRef a,           \
                                    LLVMValueRef b)                            \
    {                                                                          \
        return lower_call2(l, intrinsic, a, b);                                \
    }
LOWER_CALL2(i_umin, "llvm.umin")
LOWER_CALL2(i_umax, "llvm.umax")
LOWER_CALL2(i_smin, "llvm.smin")
LOWER_CALL2(i_smax, "llvm.smax")
#undef LOWER_CALL2
static inline LLVMValueRef i_not(struct lower *l, LLVMValueRef a)
{
    return LLVMBuildNot(l->b, a, "");
}
static inline LLVMValueRef i_cmp(struct lower *l, LLVMIntPredicate p,
                                 LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildICmp(l->b, p, a, b, "");
}
static inline LLVMValueRef f_cmp(struct lower *l, LLVMRealPredicate p,
                                 LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildFCmp(l->b, p, a, b, "");
}
static inline LLVMValueRef f_neg(struct lower *l, LLVMValueRef a)
{
    return LLVMBuildFNeg(l->b, a, "");
}
static inline LLVMValueRef f_abs(struct lower *l, LLVMValueRef a)
{
    return lower_call1(l, "llvm.fabs", a);
}
static inline LLVMValueRef f_fma(struct lower *l, LLVMValueRef a,
                                 LLVMValueRef b, LLVMValueRef c)
{
    return lower_fma(l, a, b, c);
}
static inline LLVMValueRef select_(struct lower *l, LLVMValueRef cond,
                                   LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildSelect(l->b, cond, a, b, "");
}
static inline LLVMValueRef cast_(struct lower *l, LLVMValueRef v,
                                 LLVMTypeRef type)
{
    return LLVMBuildBitCast(l->b, v, type, "");
}

#endif
