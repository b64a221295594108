/* SPDX-License-Identifier: MIT
 *
 * ue8m0, the powers of two that scale blocks of small floats: an exponent as
 * f32 has it, 255 for NaN, without a sign. cvt takes the size of a number, to
 * the power below or above it, as the toolkit's cuda_fp8.hpp does on the host.
 */
#include "cpu/jit/lower_rules.h"

static LLVMValueRef encode(struct lower_op *o, LLVMValueRef bits)
{
    struct lower *l = o->l;
    LLVMValueRef size = i_and(l, bits, k_int(bits, 0x7fffffff));
    LLVMValueRef code = i_lshr(l, size, k_int(size, 23)), more;

    if (o->insn->round == PTX_ROUND_RP) { /* 2^-127 itself is the least code */
        more = i_and(l, size, k_int(size, 0x7fffff));
        more = i_cmp(l, LLVMIntNE, more, k_int(more, 0));
        more =
            i_and(l, more, i_cmp(l, LLVMIntUGT, size, k_int(size, 0x00400000)));
        more =
            i_and(l, more, i_cmp(l, LLVMIntULT, size, k_int(size, 0x7f800000)));
        code = i_add(l, code, lower_width(l, more, 32, 0));
    }
    if (lower_has(o, PTX_MOD_SATFINITE))
        code = select_(l, i_cmp(l, LLVMIntULE, size, k_int(size, 0x7f800000)),
                       i_umin(l, code, k_int(code, 254)), code);
    return code;
}

LLVMValueRef lower_cvt_to_scale(struct lower_op *o)
{
    struct lower *l = o->l;
    LLVMValueRef high, low;

    if (o->insn->types[1] == PTX_F32) {
        high = lower_source(o, 0, 32);
        low = lower_source(o, 1, 32);
    } else {
        high = lower_source(o, 0, 32);
        low = i_shl(l, high, k_int(high, 16));
        high = i_and(l, high, k_int(high, 0xffff0000));
    }
    high = encode(o, high);
    high = i_or(l, i_shl(l, high, k_int(high, 8)), encode(o, low));
    return lower_width(l, high, 16, 0);
}

/* A code as bf16: 2^-127 is subnormal. */
static LLVMValueRef decode(struct lower *l, LLVMValueRef code)
{
    LLVMValueRef r = i_shl(l, code, k_int(code, 7));

    r = select_(l, i_cmp(l, LLVMIntEQ, code, k_int(code, 0)), k_int(r, 0x40),
                r);
    return select_(l, i_cmp(l, LLVMIntEQ, code, k_int(code, 255)),
                   k_int(r, 0x7fff), r);
}

LLVMValueRef lower_cvt_from_scale(struct lower_op *o)
{
    struct lower *l = o->l;
    LLVMValueRef v = lower_width(l, lower_source(o, 0, 16), 32, 0);
    LLVMValueRef high = decode(l, i_lshr(l, v, k_int(v, 8)));

    return i_or(l, i_shl(l, high, k_int(high, 16)),
                decode(l, i_and(l, v, k_int(v, 255))));
}
