/* SPDX-License-Identifier: MIT
 *
 * What values are used for: those that only ever become addresses may be
 * kept as a base and a stride where others must be exact in every lane.
 */
#include "cpu/jit/use.h"

/* Whether the operands are (base + lane * stride)-linear integers. */
int use_is_index_type(enum ptx_type t)
{
    unsigned bits = ptx_type_bits(t);
    enum ptx_type_class c = ptx_type_class(t);

    return (bits == 32 || bits == 64) &&
           (c == PTX_CLASS_BITS || c == PTX_CLASS_UINT || c == PTX_CLASS_SINT);
}

int use_is_linear(const struct ptx_insn *p)
{
    if (!p->type_count || !use_is_index_type(p->types[0]) ||
        ptx_has(p, PTX_MOD_SAT) || ptx_has(p, PTX_MOD_CC))
        return 0;
    switch (p->op) {
    case PTX_OP_ADD:
    case PTX_OP_SUB:
    case PTX_OP_SHL:
        return 1;
    case PTX_OP_MUL:
    case PTX_OP_MAD:
        return ptx_has(p, PTX_MOD_LO) || ptx_has(p, PTX_MOD_WIDE);
    case PTX_OP_CVT:
        return p->type_count == 2 && use_is_index_type(p->types[1]);
    case PTX_OP_CVTA:
        return 1;
    case PTX_OP_MOV:
        return p->operands[0].kind == PTX_OPERAND_REG &&
               p->operands[1].kind != PTX_OPERAND_VECTOR;
    default:
        return 0;
    }
}

static int takes_address(const struct ptx_insn *p)
{
    switch (p->op) {
    case PTX_OP_LD:
    case PTX_OP_LDU:
    case PTX_OP_ST:
    case PTX_OP_ATOM:
    case PTX_OP_RED:
    case PTX_OP_PREFETCH:
    case PTX_OP_PREFETCHU:
    case PTX_OP_CP:
    case PTX_OP_MBARRIER:
    case PTX_OP_LDMATRIX:
    case PTX_OP_STMATRIX:
    case PTX_OP_WMMA:
        return 1;
    default:
        return 0;
    }
}

static int clear(struct graph *g, int value)
{
    int was = value != GRAPH_NONE && g->values[value].address_only;

    if (was)
        g->values[value].address_only = 0;
    return was;
}

static int serve_insn(struct graph *g, const struct graph_insn *insn)
{
    const struct ptx_insn *p = insn->ptx;
    int changed = 0;

    if (insn->kind == GRAPH_INSN_RESULT)
        return 0;
    if (insn->kind == GRAPH_INSN_SELECT) {
        if (g->values[insn->val[0]].address_only)
            return 0;
        return clear(g, insn->val[1]) | clear(g, insn->val[2]);
    }
    for (int k = p->dst_count; k < p->operand_count; k++) {
        const struct ptx_operand *o = &p->operands[k];

        if (o->kind == PTX_OPERAND_VECTOR)
            for (int e = 0; e < o->count; e++)
                changed |= clear(g, insn->vec[k][e]);
        if (insn->val[k] == GRAPH_NONE)
            continue;
        if (o->kind == PTX_OPERAND_ADDR_REG && takes_address(p))
            continue;
        if (use_is_linear(p) && insn->val[0] != GRAPH_NONE &&
            g->values[insn->val[0]].address_only)
            continue;
        changed |= clear(g, insn->val[k]);
    }
    return changed;
}

void use_find_address_only(struct graph *g)
{
    int changed = 1;

    for (int i = 0; i < g->value_count; i++)
        g->values[i].address_only = 1;
    while (changed) {
        changed = 0;
        for (int i = g->order_count - 1; i >= 0; i--) {
            struct graph_block *b = &g->blocks[g->order[i]];

            for (int k = b->insn_count - 1; k >= 0; k--)
                changed |= serve_insn(g, &b->insns[k]);
            for (int p = 0; p < b->phi_count; p++)
                for (int e = 0; !g->values[b->phis[p].value].address_only &&
                                e < b->pred_count;
                     e++)
                    changed |= clear(g, b->phis[p].in[e]);
        }
    }
}
