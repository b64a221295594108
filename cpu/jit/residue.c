/* SPDX-License-Identifier: MIT
 *
 * Of each integer it is known that it is another value plus a number, up to a
 * multiple of a power of two: p + 4 * i is p, up to a multiple of 4, and so is
 * a pointer that starts as p and moves by 16 in a loop. Optimistic: a phi is
 * taken for what comes in first, until something else does.
 *
 * Addresses are taken as they are, since every space starts at a multiple of
 * all sizes: pages, but for local memory, parameters and module variables,
 * which are sure of 16 bytes.
 */
#include "cpu/jit/residue.h"

#include <string.h>

enum {
    PLACED = 4, /* log2 of what variables are sure of */
    ROUNDS = 8  /* before phis that still change are given up */
};

static uint32_t low(unsigned bits)
{
    return ((uint32_t)1 << bits) - 1;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static struct residue number(int64_t v, unsigned bits)
{
    return (struct residue){GRAPH_NONE, (uint32_t)v & low(bits), (uint8_t)bits,
                            1};
}

struct residue residue_itself(int value)
{
    return (struct residue){value, 0, RESIDUE_BITS, 1};
}

/* How many of its last bits are 0. */
static unsigned zeros(struct residue r)
{
    if (r.value != GRAPH_NONE)
        return 0;
    return r.add ? least((unsigned)__builtin_ctz(r.add), r.bits) : r.bits;
}

/* --- of the operands --- */

static struct residue of_var(const struct residues *a,
                             const struct ptx_var *var, int64_t add)
{
    const uint64_t offset = var ? layout_offset(a->layout, var) : UINT64_MAX;

    if (offset == UINT64_MAX)
        return number(0, 0);
    return number((int64_t)offset + add,
                  var->space == PTX_SPACE_SHARED ? RESIDUE_BITS : PLACED);
}

struct residue residue_operand(const struct residues *a,
                               const struct graph_insn *insn, int k)
{
    const struct ptx_operand *o = &insn->ptx->operands[k];
    struct residue r;

    switch (o->kind) {
    case PTX_OPERAND_REG:
    case PTX_OPERAND_ADDR_REG:
        if (insn->val[k] == GRAPH_NONE)
            return number(0, 0);
        r = a->of[insn->val[k]];
        if (o->kind == PTX_OPERAND_REG)
            return r;
        r.add = (r.add + (uint32_t)o->ival) & low(r.bits);
        return r;
    case PTX_OPERAND_INT:
    case PTX_OPERAND_ADDR_INT:
        return number(o->ival, RESIDUE_BITS);
    case PTX_OPERAND_VAR:
    case PTX_OPERAND_ADDR_VAR:
        return of_var(a, o->var, o->ival);
    default:
        return number(0, 0);
    }
}

/* --- of the results; number(0, 0): nothing is known --- */

static struct residue sum(struct residue x, struct residue y)
{
    struct residue r = {x.value, x.add + y.add, (uint8_t)least(x.bits, y.bits),
                        1};

    if (y.value != GRAPH_NONE) {
        if (x.value != GRAPH_NONE)
            return number(0, 0);
        r.value = y.value;
    }
    r.add &= low(r.bits);
    return r;
}

static struct residue difference(struct residue x, struct residue y)
{
    if (y.value != GRAPH_NONE) {
        if (y.value != x.value)
            return number(0, 0);
        x.value = y.value = GRAPH_NONE;
    }
    y.add = (0 - y.add) & low(y.bits);
    return sum(x, y);
}

static struct residue product(struct residue x, struct residue y)
{
    /* (a * 2^m + b) * c, c known to all bits */
    if (y.value == GRAPH_NONE && y.bits == RESIDUE_BITS &&
        x.value == GRAPH_NONE)
        return number((int64_t)x.add * y.add,
                      least(RESIDUE_BITS, x.bits + zeros(y)));
    return number(0, least(RESIDUE_BITS, zeros(x) + zeros(y)));
}

/* One of the two. */
static struct residue either(struct residue x, struct residue y)
{
    const uint32_t apart = x.add - y.add;
    unsigned bits = least(x.bits, y.bits);

    if (!x.known)
        return y;
    if (!y.known)
        return x;
    if (x.value != y.value)
        return number(0, 0);
    if (apart)
        bits = least(bits, (unsigned)__builtin_ctz(apart));
    x.bits = (uint8_t)bits;
    x.add &= low(bits);
    return x;
}

static struct residue masked(struct residue x, struct residue mask)
{
    if (mask.value != GRAPH_NONE)
        return number(0, 0);
    if (mask.bits == RESIDUE_BITS && mask.add == low(RESIDUE_BITS))
        return x;
    if (x.value == GRAPH_NONE)
        return number(x.add & mask.add, least(x.bits, mask.bits));
    return number(0, zeros(mask));
}

static int is_integer(const struct ptx_insn *p)
{
    for (int t = 0; t < p->type_count; t++) {
        const enum ptx_type_class c = ptx_type_class(p->types[t]);

        if ((c != PTX_CLASS_BITS && c != PTX_CLASS_UINT &&
             c != PTX_CLASS_SINT) ||
            ptx_type_bits(p->types[t]) < 16)
            return 0;
    }
    return p->type_count > 0 && !ptx_has(p, PTX_MOD_SAT);
}

static struct residue of_pure(const struct residues *a,
                              const struct graph_insn *insn)
{
    const struct ptx_insn *p = insn->ptx;
    struct residue x, y, z;

    if (!is_integer(p) || p->operand_count < 2 ||
        p->operands[0].kind != PTX_OPERAND_REG)
        return number(0, 0);
    x = residue_operand(a, insn, 1);
    y = p->operand_count > 2 ? residue_operand(a, insn, 2) : number(0, 0);
    z = p->operand_count > 3 ? residue_operand(a, insn, 3) : number(0, 0);
    switch (p->op) {
    case PTX_OP_MOV:
    case PTX_OP_CVT:
    case PTX_OP_CVTA:
        return x;
    case PTX_OP_ADD:
        return insn->cc_use == GRAPH_NONE ? sum(x, y) : number(0, 0);
    case PTX_OP_SUB:
        return insn->cc_use == GRAPH_NONE ? difference(x, y) : number(0, 0);
    case PTX_OP_MUL:
    case PTX_OP_MAD:
        if (ptx_has(p, PTX_MOD_HI) || insn->cc_use != GRAPH_NONE)
            return number(0, 0);
        x = product(x, y);
        return p->op == PTX_OP_MAD ? sum(x, z) : x;
    case PTX_OP_SHL:
        if (p->operands[2].kind != PTX_OPERAND_INT)
            return number(0, zeros(x));
        if (p->operands[2].ival < 0 || p->operands[2].ival >= RESIDUE_BITS)
            return number(0, RESIDUE_BITS);
        return product(x,
                       number((int64_t)1 << p->operands[2].ival, RESIDUE_BITS));
    case PTX_OP_AND:
        x = masked(x, y);
        return x.bits ? x : masked(y, residue_operand(a, insn, 1));
    case PTX_OP_OR:
        if (x.value != GRAPH_NONE || y.value != GRAPH_NONE)
            return number(0, 0);
        return number(x.add | y.add, least(x.bits, y.bits));
    case PTX_OP_SELP:
    case PTX_OP_MIN:
    case PTX_OP_MAX:
        return either(x, y);
    default:
        return number(0, 0);
    }
}

/* --- all values, until nothing changes --- */

static int learn(struct residues *a, int value, struct residue r)
{
    struct residue *old = &a->of[value];

    /* not looked at yet: what it is of is not either */
    if (r.known && !r.bits)
        r = residue_itself(value);
    if (!memcmp(old, &r, sizeof r))
        return 0;
    *old = r;
    return 1;
}

static int learn_phi(struct residues *a, const struct graph_block *b,
                     const struct graph_phi *phi)
{
    const struct residue old = a->of[phi->value];
    struct residue r = old;

    if (old.known && old.value == phi->value)
        return 0;
    for (int i = 0; i < b->pred_count; i++)
        r = either(r, a->of[phi->in[i]]);
    if (a->round > ROUNDS && memcmp(&r, &old, sizeof r))
        r = residue_itself(phi->value);
    return learn(a, phi->value, r);
}

static int learn_insn(struct residues *a, const struct graph_insn *insn)
{
    int changed = 0;

    if (insn->kind == GRAPH_INSN_SELECT)
        return learn(a, insn->val[0],
                     either(a->of[insn->val[1]], a->of[insn->val[2]]));
    if (insn->val[0] != GRAPH_NONE && insn->kind == GRAPH_INSN_PTX &&
        insn->ptx->dst_count == 1 && graph_is_pure(insn->ptx))
        return learn(a, insn->val[0], of_pure(a, insn));
    for (int k = 0; k < insn->ptx->dst_count; k++) {
        if (insn->val[k] != GRAPH_NONE)
            changed |= learn(a, insn->val[k], residue_itself(insn->val[k]));
        for (int j = 0; insn->vec[k] && j < insn->ptx->operands[k].count; j++)
            if (insn->vec[k][j] != GRAPH_NONE)
                changed |=
                    learn(a, insn->vec[k][j], residue_itself(insn->vec[k][j]));
    }
    return changed;
}

static void learn_all(struct residues *a)
{
    const struct graph *g = a->g;
    int changed = 1;

    for (int i = 0; i < g->value_count; i++)
        if (g->values[i].insn == GRAPH_NONE && g->values[i].phi == GRAPH_NONE)
            a->of[i] = number(0, RESIDUE_BITS); /* undefined: 0 */
    for (a->round = 0; changed; a->round++) {
        changed = 0;
        for (int i = 0; i < g->order_count; i++) {
            const struct graph_block *b = &g->blocks[g->order[i]];

            for (int p = 0; p < b->phi_count; p++)
                changed |= learn_phi(a, b, &b->phis[p]);
            for (int k = 0; k < b->insn_count; k++)
                changed |= learn_insn(a, &b->insns[k]);
        }
    }
}

enum kiln_status residue_find(struct residues *all, const struct graph *g,
                              const struct layout_kernel *layout,
                              struct arena *arena, struct kiln_error *err)
{
    const size_t n = (size_t)g->value_count;

    *all = (struct residues){.g = g, .layout = layout};
    all->of = arena_array(arena, n, sizeof *all->of);
    if (n && !all->of)
        return kiln_fail(err, KILN_E_MEMORY, "%s: out of memory",
                         g->func->name);
    learn_all(all);
    return KILN_OK;
}
