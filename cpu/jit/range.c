/* SPDX-License-Identifier: MIT
 *
 * Known upper bounds of unsigned values: enough to see that an index does
 * not wrap where it is widened.
 */
#include "cpu/jit/graph.h"
#include "cpu/jit/use.h"

/* Known upper bounds of unsigned values: enough to see that an index does
 * not wrap. The launch shape that `rows` stands for has grid * block up to
 * 2^31 in each dimension. */
uint64_t range_operand(const struct graph *g, const struct graph_insn *insn,
                       int k)
{
    const struct ptx_operand *o = &insn->ptx->operands[k];

    if (o->kind == PTX_OPERAND_INT && o->ival >= 0)
        return (uint64_t)o->ival;
    if (o->kind == PTX_OPERAND_REG)
        return g->values[insn->val[k]].umax;
    if (o->kind != PTX_OPERAND_SREG)
        return UINT64_MAX;
    switch (o->sreg) {
    case PTX_SREG_TID:
        return 1023;
    case PTX_SREG_NTID:
        return 1024;
    case PTX_SREG_CTAID:
    case PTX_SREG_NCTAID:
        return INT32_MAX;
    case PTX_SREG_LANEID:
        return 31;
    default:
        return UINT64_MAX;
    }
}

static const struct ptx_operand *
defining_sreg(const struct graph *g, const struct graph_insn *insn, int k)
{
    const struct ptx_operand *o = &insn->ptx->operands[k];
    const struct graph_value *v;
    const struct graph_insn *d;

    if (o->kind == PTX_OPERAND_SREG)
        return o;
    if (o->kind != PTX_OPERAND_REG)
        return NULL;
    v = &g->values[insn->val[k]];
    if (v->insn < 0)
        return NULL;
    d = &g->blocks[v->block].insns[v->insn];
    if (d->kind != GRAPH_INSN_PTX || d->ptx->op != PTX_OP_MOV ||
        d->ptx->operands[1].kind != PTX_OPERAND_SREG)
        return NULL;
    return &d->ptx->operands[1];
}

/* ctaid.d * ntid.d + tid.d */
static int is_global_id(const struct graph *g, const struct graph_insn *insn)
{
    const struct ptx_operand *a = defining_sreg(g, insn, 1);
    const struct ptx_operand *b = defining_sreg(g, insn, 2);
    const struct ptx_operand *c = defining_sreg(g, insn, 3);

    if (!a || !b || !c || !g->rows || insn->ptx->op != PTX_OP_MAD)
        return 0;
    if (a->sreg == PTX_SREG_NTID) {
        const struct ptx_operand *t = a;

        a = b;
        b = t;
    }
    return a->sreg == PTX_SREG_CTAID && b->sreg == PTX_SREG_NTID &&
           c->sreg == PTX_SREG_TID && a->dim == b->dim && b->dim == c->dim;
}

uint64_t range_result(const struct graph *g, const struct graph_insn *insn,
                      unsigned bits)
{
    const struct ptx_insn *p = insn->ptx;
    uint64_t a = 0, b = 0, c = 0, r;
    int fails = 0;

    for (int t = 0; t < p->type_count; t++)
        if (!use_is_index_type(p->types[t]))
            return UINT64_MAX; /* other bits than the operands' */
    if (p->operand_count > 1)
        a = range_operand(g, insn, 1);
    if (p->operand_count > 2)
        b = range_operand(g, insn, 2);
    if (p->operand_count > 3)
        c = range_operand(g, insn, 3);
    switch (p->op) {
    case PTX_OP_MOV:
    case PTX_OP_CVT:
        r = a;
        break;
    case PTX_OP_ADD:
        fails = __builtin_add_overflow(a, b, &r);
        break;
    case PTX_OP_MUL:
        fails = __builtin_mul_overflow(a, b, &r);
        break;
    case PTX_OP_MAD:
        if (is_global_id(g, insn))
            return INT32_MAX;
        fails = __builtin_mul_overflow(a, b, &r) ||
                __builtin_add_overflow(r, c, &r);
        break;
    case PTX_OP_SHL:
        fails = b > 32 || a >> 31;
        r = fails ? 0 : a << b;
        break;
    default:
        return UINT64_MAX;
    }
    if (fails || (bits == 32 && r > INT32_MAX) || r > INT64_MAX)
        return UINT64_MAX;
    return r;
}
