/* SPDX-License-Identifier: MIT
 *
 * The SIMD video instructions, PTX ISA 9.7.18: two halves or four bytes, each
 * picked out of the two first sources taken as one row, the operation on each
 * without overflow, saturated if asked to, and then either put into the parts
 * of the third source that the mask names, or summed with it.
 */
#include "cpu/jit/lower_rules.h"

struct simd {
    unsigned n, bits; /* parts, and bits of each */
    LLVMValueRef a, b, c;
};

static const struct ptx_operand *operand(const struct lower_op *o, unsigned i)
{
    return &o->insn->operands[o->insn->dst_count + i];
}

/* Part i of the first or second source: by its selector, else its own. */
static LLVMValueRef picked(struct lower_op *o, const struct simd *s,
                           unsigned which, unsigned i, int is_signed)
{
    struct lower *l = o->l;
    const struct ptx_operand *p = operand(o, which);
    const unsigned at = p->dim >= PTX_PARTS_B
                            ? (unsigned)(p->ival >> (4 * i)) & 15
                            : which * s->n + i;
    LLVMValueRef v = at < s->n ? s->a : s->b;

    v = i_lshr(l, v, k_int(v, (uint64_t)(at % s->n) * s->bits));
    return lower_width(l, lower_width(l, v, s->bits, 0), 32, is_signed);
}

/* Whether the destination takes part i. */
static int is_masked(const struct lower_op *o, const struct simd *s, unsigned i)
{
    const struct ptx_operand *d = &o->insn->operands[0];
    const unsigned first = s->bits == 16 ? PTX_PART_H0 : PTX_PART_B0;

    if (d->dim >= PTX_PARTS_B) {
        for (unsigned k = 0; k < (unsigned)(d->dim & 15); k++)
            if (((unsigned)(d->ival >> (4 * k)) & 15) == i)
                return 1;
        return 0;
    }
    return !d->dim || d->dim == first + i;
}

static LLVMValueRef average(struct lower *l, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef sum = i_add(l, a, b);
    LLVMValueRef up = i_cmp(l, LLVMIntSGE, sum, k_int(sum, 0));

    sum = i_add(l, sum, select_(l, up, k_int(sum, 1), k_int(sum, 0)));
    return i_ashr(l, sum, k_int(sum, 1));
}

static LLVMValueRef compared(struct lower_op *o, LLVMValueRef a, LLVMValueRef b)
{
    static const LLVMIntPredicate map[] = {
        [PTX_CMP_EQ] = LLVMIntEQ,  [PTX_CMP_NE] = LLVMIntNE,
        [PTX_CMP_LT] = LLVMIntSLT, [PTX_CMP_LE] = LLVMIntSLE,
        [PTX_CMP_GT] = LLVMIntSGT, [PTX_CMP_GE] = LLVMIntSGE};

    return lower_width(o->l, i_cmp(o->l, map[o->insn->cmp], a, b), 32, 0);
}

static LLVMValueRef operation(struct lower_op *o, LLVMValueRef a,
                              LLVMValueRef b)
{
    struct lower *l = o->l;

    switch (o->insn->op) {
    case PTX_OP_VADD2:
    case PTX_OP_VADD4:
        return i_add(l, a, b);
    case PTX_OP_VSUB2:
    case PTX_OP_VSUB4:
        return i_sub(l, a, b);
    case PTX_OP_VAVRG2:
    case PTX_OP_VAVRG4:
        return average(l, a, b);
    case PTX_OP_VABSDIFF2:
    case PTX_OP_VABSDIFF4:
        return i_sub(l, i_smax(l, a, b), i_smin(l, a, b));
    case PTX_OP_VMIN2:
    case PTX_OP_VMIN4:
        return i_smin(l, a, b);
    case PTX_OP_VMAX2:
    case PTX_OP_VMAX4:
        return i_smax(l, a, b);
    default:
        return compared(o, a, b);
    }
}

static LLVMValueRef limited(struct lower_op *o, LLVMValueRef v, unsigned bits)
{
    const int is_signed = lower_signed(o->type);
    const uint64_t most = (UINT64_C(1) << (bits - (unsigned)is_signed)) - 1;

    if (!lower_has(o, PTX_MOD_SAT))
        return v;
    v = i_smax(o->l, v, k_int(v, is_signed ? ~most : 0));
    return i_smin(o->l, v, k_int(v, most));
}

static LLVMValueRef all_parts(struct lower_op *o, const struct simd *s, int as,
                              int bs)
{
    struct lower *l = o->l;
    const int sums = o->insn->sub == PTX_SUB_ADD;
    const uint64_t ones = (UINT64_C(1) << s->bits) - 1;
    LLVMValueRef r = s->c;

    for (unsigned i = 0; i < s->n; i++) {
        const uint64_t at = (uint64_t)i * s->bits;
        LLVMValueRef t;

        if (!is_masked(o, s, i))
            continue;
        t = operation(o, picked(o, s, 0, i, as), picked(o, s, 1, i, bs));
        t = limited(o, t, s->bits);
        if (sums) {
            r = i_add(l, r, t);
            continue;
        }
        t = i_shl(l, i_and(l, t, k_int(t, ones)), k_int(t, at));
        r = i_or(l, i_and(l, r, k_int(r, ~(ones << at))), t);
    }
    return r;
}

static LLVMValueRef simd(struct lower_op *o, unsigned n, int first_source)
{
    const struct simd s = {.n = n,
                           .bits = 32 / n,
                           .a = lower_source(o, 0, 32),
                           .b = lower_source(o, 1, 32),
                           .c = lower_source(o, 2, 32)};

    return all_parts(o, &s, lower_signed(o->insn->types[first_source]),
                     lower_signed(o->insn->types[first_source + 1]));
}

LLVMValueRef lower_simd2(struct lower_op *o)
{
    return simd(o, 2, o->insn->op != PTX_OP_VSET2);
}

LLVMValueRef lower_simd4(struct lower_op *o)
{
    return simd(o, 4, o->insn->op != PTX_OP_VSET4);
}
