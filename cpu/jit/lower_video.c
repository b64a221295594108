/* SPDX-License-Identifier: MIT
 *
 * The scalar video instructions, PTX ISA 9.7.16: a byte, half or word of each
 * source is widened, the operation done without overflow in 64 bits, its
 * result saturated if asked to, and then either put in a part of the third
 * source or combined with it.
 */
#include "cpu/jit/lower_rules.h"

/* What a register's .b0 ... .h1 selects: where and how wide. */
static unsigned part_bits(const struct ptx_operand *o)
{
    return o->dim >= PTX_PART_H0 ? 16 : o->dim >= PTX_PART_B0 ? 8 : 32;
}

static unsigned part_at(const struct ptx_operand *o)
{
    if (o->dim >= PTX_PART_H0)
        return 16u * (o->dim - PTX_PART_H0);
    return o->dim >= PTX_PART_B0 ? 8u * (o->dim - PTX_PART_B0) : 0;
}

static const struct ptx_operand *operand(const struct lower_op *o, unsigned i)
{
    return &o->insn->operands[o->insn->dst_count + i];
}

static LLVMValueRef part(struct lower_op *o, unsigned i, int is_signed)
{
    struct lower *l = o->l;
    const struct ptx_operand *p = operand(o, i);
    LLVMValueRef v = lower_source(o, i, 32);
    v = i_lshr(l, v, k_int(v, part_at(p)));
    return lower_width(l, lower_width(l, v, part_bits(p), 0), 64, is_signed);
}

/* To the range of `bits`; the source is a signed number of 64 bits. */
static LLVMValueRef clamped(struct lower *l, LLVMValueRef v, unsigned bits,
                            int is_signed)
{
    uint64_t most = (UINT64_C(1) << (bits - (unsigned)is_signed)) - 1;
    v = i_smax(l, v, k_int(v, is_signed ? ~most : 0));
    return i_smin(l, v, k_int(v, most));
}

/* The third source: a second operation, or what the result is merged into. */
static LLVMValueRef finish(struct lower_op *o, LLVMValueRef v, int is_signed)
{
    struct lower *l = o->l;
    const struct ptx_operand *d = &o->insn->operands[0];
    unsigned bits = part_bits(d), at = part_at(d);
    if (lower_has(o, PTX_MOD_SAT))
        v = clamped(l, v, bits, is_signed);
    LLVMValueRef r = lower_width(l, v, 32, 0);
    if (o->src_count < 3)
        return r;
    LLVMValueRef c = lower_source(o, 2, 32);
    if (o->insn->sub == PTX_SUB_ADD)
        return i_add(l, r, c);
    if (o->insn->sub == PTX_SUB_MIN)
        return is_signed ? i_smin(l, r, c) : i_umin(l, r, c);
    if (o->insn->sub == PTX_SUB_MAX)
        return is_signed ? i_smax(l, r, c) : i_umax(l, r, c);
    uint64_t mask = ((UINT64_C(1) << bits) - 1) << at;
    r = i_and(l, i_shl(l, r, k_int(r, at)), k_int(r, mask));
    return i_or(l, r, i_and(l, c, k_int(c, ~mask)));
}

LLVMValueRef lower_video(struct lower_op *o)
{
    struct lower *l = o->l;
    LLVMValueRef a = part(o, 0, lower_signed(o->insn->types[1]));
    LLVMValueRef b = part(o, 1, lower_signed(o->insn->types[2])), r;
    switch (o->insn->op) {
    case PTX_OP_VADD:
        r = i_add(l, a, b);
        break;
    case PTX_OP_VSUB:
        r = i_sub(l, a, b);
        break;
    case PTX_OP_VABSDIFF:
        r = i_sub(l, i_smax(l, a, b), i_smin(l, a, b));
        break;
    case PTX_OP_VMIN:
        r = i_smin(l, a, b);
        break;
    case PTX_OP_VMAX:
        r = i_smax(l, a, b);
        break;
    default: /* shifts, by no more than 32 */
        b = lower_has(o, PTX_MOD_CLAMP) ? i_umin(l, b, k_int(b, 32))
                                        : i_and(l, b, k_int(b, 31));
        r = o->insn->op == PTX_OP_VSHL ? i_shl(l, a, b) : i_ashr(l, a, b);
    }
    return finish(o, r, lower_signed(o->type));
}

LLVMValueRef lower_vset(struct lower_op *o)
{
    struct lower *l = o->l;
    LLVMValueRef a = part(o, 0, lower_signed(o->insn->types[0]));
    LLVMValueRef b = part(o, 1, lower_signed(o->insn->types[1]));
    static const LLVMIntPredicate map[] = {
        [PTX_CMP_EQ] = LLVMIntEQ,  [PTX_CMP_NE] = LLVMIntNE,
        [PTX_CMP_LT] = LLVMIntSLT, [PTX_CMP_LE] = LLVMIntSLE,
        [PTX_CMP_GT] = LLVMIntSGT, [PTX_CMP_GE] = LLVMIntSGE};
    if (o->insn->cmp > PTX_CMP_GE) {
        o->why = "this comparison";
        return NULL;
    }
    return finish(o, lower_width(l, i_cmp(l, map[o->insn->cmp], a, b), 64, 0),
                  0);
}

/* a * b + c, rounded up by .po, shifted; signed if any source is. */
LLVMValueRef lower_vmad(struct lower_op *o)
{
    struct lower *l = o->l;
    int as = lower_signed(o->insn->types[1]);
    int bs = lower_signed(o->insn->types[2]), any = as || bs;
    for (unsigned i = 0; i < 3; i++)
        if (operand(o, i)->negate) {
            o->why = "negated operands";
            return NULL;
        }
    LLVMValueRef r = i_mul(l, part(o, 0, as), part(o, 1, bs));
    r = i_add(l, r, lower_width(l, lower_source(o, 2, 32), 64, any));
    if (lower_has(o, PTX_MOD_PO))
        r = i_add(l, r, k_int(r, 1));
    unsigned by = lower_has(o, PTX_MOD_SHR7)    ? 7
                  : lower_has(o, PTX_MOD_SHR15) ? 15
                                                : 0;
    r = any ? i_ashr(l, r, k_int(r, by)) : i_lshr(l, r, k_int(r, by));
    if (lower_has(o, PTX_MOD_SAT))
        r = any ? clamped(l, r, 32, 1) : i_umin(l, r, k_int(r, 0xffffffff));
    return lower_width(l, r, 32, 0);
}
