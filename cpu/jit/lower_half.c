/* SPDX-License-Identifier: MIT
 *
 * f16 and bf16: narrowing with each rounding, and fma.
 *
 * bf16 is narrowed with integer operations: the processor's own conversion
 * (AVX512-BF16) flushes subnormals whatever MXCSR says, and LLVM would use it.
 */
#include "cpu/jit/lower_rules.h"

LLVMValueRef lower_widen_half(struct lower *l, LLVMValueRef h)
{
    if (!l->has_f16c)
        return lower_half_plain(l, h);
    h = cast_(l, h, lower_float_like(l, h, 16));
    return LLVMBuildFPExt(l->b, h, lower_float_like(l, h, 32), "");
}

LLVMValueRef lower_float_to_half(struct lower *l, LLVMValueRef x,
                                 enum ptx_round round)
{
    LLVMTypeRef f16 = lower_float_like(l, x, 16);
    LLVMValueRef h = l->has_f16c
                         ? lower_as_int(l, LLVMBuildFPTrunc(l->b, x, f16, ""))
                         : lower_half_round(l, x);
    /* PTX's NaN of 16 bits is 0x7fff. */
    LLVMValueRef nan = f_cmp(l, LLVMRealUNO, x, x);
    if (round != PTX_ROUND_NONE && round != PTX_ROUND_RN)
        h = lower_step(l, h, lower_widen_half(l, h), x, round);
    return select_(l, nan, k_int(h, 0x7fff), h);
}

LLVMValueRef lower_float_to_bfloat(struct lower *l, LLVMValueRef x,
                                   enum ptx_round round)
{
    LLVMValueRef v = lower_as_int(l, x), by = k_int(v, 16), r;
    LLVMValueRef cut = i_and(l, v, k_int(v, 0xffff));
    LLVMValueRef some = i_cmp(l, LLVMIntNE, cut, k_int(cut, 0));
    LLVMValueRef negative = i_cmp(l, LLVMIntSLT, v, k_int(v, 0));
    LLVMValueRef up = k_int(v, 0x10000);
    switch (round) {
    case PTX_ROUND_RZ:
        r = v;
        break;
    case PTX_ROUND_RM:
        r = select_(l, i_and(l, some, negative), i_add(l, v, up), v);
        break;
    case PTX_ROUND_RP:
        r = select_(l, i_and(l, some, i_not(l, negative)), i_add(l, v, up), v);
        break;
    case PTX_ROUND_RNA:
        r = i_add(l, v, k_int(v, 0x8000));
        break;
    default: {
        LLVMValueRef odd = i_and(l, i_lshr(l, v, by), k_int(v, 1));
        r = i_add(l, v, i_add(l, odd, k_int(v, 0x7fff)));
        break;
    }
    }
    LLVMValueRef h = lower_width(l, i_lshr(l, r, by), 16, 0);
    return select_(l, f_cmp(l, LLVMRealUNO, x, x), k_int(h, 0x7fff), h);
}

/* f16: the product is exact in f32 (22 bits), and the sum, rounded to odd
 * there, loses nothing that the last rounding needs. bf16: likewise in f64,
 * since its products leave f32's range; narrowing to f32 is to odd again. */
LLVMValueRef lower_fma_half(struct lower *l, LLVMValueRef a, LLVMValueRef b,
                            LLVMValueRef c, enum ptx_type t)
{
    if (t == PTX_F16 || t == PTX_F16X2)
        return lower_fma_odd(l, a, b, c);
    LLVMTypeRef f64 = lower_float_like(l, a, 64);
    LLVMValueRef s = lower_fma_odd(l, LLVMBuildFPExt(l->b, a, f64, ""),
                                   LLVMBuildFPExt(l->b, b, f64, ""),
                                   LLVMBuildFPExt(l->b, c, f64, ""));
    return lower_double_to_odd_float(l, s);
}
