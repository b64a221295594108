/* SPDX-License-Identifier: MIT
 *
 * Loops that may wait for memory to change: those whose way out depends on
 * what a volatile, relaxed or acquiring load, an atomic or an mbarrier
 * gives; on any load where the loop has a fence, which asks for memory to be
 * looked at anew. They let others run from time to time (emit_control.c).
 * No other loop has to: it ends by itself.
 */
#include "cpu/jit/graph.h"

struct search {
    struct graph *g;
    int loop;
    int has_fence;
    int *stamp; /* by value: the loop that it was asked for, + 1 */
    int *stack;
    int depth;
};

static int has_order(const struct ptx_insn *p)
{
    return ptx_has(p, PTX_MOD_VOLATILE) || ptx_has(p, PTX_MOD_RELAXED) ||
           ptx_has(p, PTX_MOD_ACQUIRE) || ptx_has(p, PTX_MOD_MMIO);
}

/* Whether the value is the same in every round of the loop. */
static int is_invariant(const struct search *s, int value, int depth)
{
    const struct graph *g = s->g;
    const struct graph_value *v = &g->values[value];
    const struct graph_insn *in;

    if (!graph_in_loop(g, v->block, s->loop))
        return 1;
    if (v->insn == GRAPH_NONE || !depth)
        return 0;
    in = &g->blocks[v->block].insns[v->insn];
    if (in->kind != GRAPH_INSN_PTX || !graph_is_pure(in->ptx))
        return 0;
    for (int k = in->ptx->dst_count; k < in->ptx->operand_count; k++)
        if (in->ptx->operands[k].kind == PTX_OPERAND_VECTOR ||
            (in->val[k] != GRAPH_NONE &&
             !is_invariant(s, in->val[k], depth - 1)))
            return 0;
    return in->cc_use == GRAPH_NONE;
}

/* An atomic that changes memory in each round: a counter, or a compare and
 * swap with what the loop has read, which fails only where another one has
 * succeeded. The others are tries: for a lock, or for nothing but a look. */
static enum graph_waits atomic_waits(const struct search *s,
                                     const struct graph_insn *in)
{
    const struct ptx_operand *by = &in->ptx->operands[2];

    switch (in->ptx->sub) {
    case PTX_SUB_ADD:
        return by->kind == PTX_OPERAND_INT && !by->ival ? GRAPH_WAITS_FOR_OTHERS
                                                        : GRAPH_WAITS_BRIEFLY;
    case PTX_SUB_INC:
    case PTX_SUB_DEC:
        return GRAPH_WAITS_BRIEFLY;
    case PTX_SUB_CAS:
        return in->val[2] != GRAPH_NONE && !is_invariant(s, in->val[2], 4)
                   ? GRAPH_WAITS_BRIEFLY
                   : GRAPH_WAITS_FOR_OTHERS;
    default:
        return GRAPH_WAITS_FOR_OTHERS;
    }
}

static enum graph_waits reads_anew(const struct search *s,
                                   const struct graph_insn *in)
{
    const struct ptx_insn *p = in->ptx;

    switch (p->op) {
    case PTX_OP_ATOM:
        return atomic_waits(s, in);
    case PTX_OP_MBARRIER:
        return GRAPH_WAITS_FOR_OTHERS;
    case PTX_OP_LD:
        if (p->space != PTX_SPACE_GLOBAL && p->space != PTX_SPACE_SHARED &&
            p->space != PTX_SPACE_GENERIC)
            return GRAPH_WAITS_NOT;
        return has_order(p) || s->has_fence ? GRAPH_WAITS_FOR_OTHERS
                                            : GRAPH_WAITS_NOT;
    default:
        return GRAPH_WAITS_NOT;
    }
}

static void ask(struct search *s, int value)
{
    const struct graph *g = s->g;

    if (value == GRAPH_NONE || s->stamp[value] == s->loop + 1 ||
        !graph_in_loop(g, g->values[value].block, s->loop))
        return;
    s->stamp[value] = s->loop + 1;
    s->stack[s->depth++] = value;
}

/* A phi takes one of its values; by which branches, if not the loop's own. */
static void ask_phi(struct search *s, int block, const struct graph_phi *phi)
{
    const struct graph *g = s->g;
    const struct graph_block *b = &g->blocks[block];

    for (int k = 0; k < b->pred_count; k++)
        ask(s, phi->in[k]);
    for (int i = g->blocks[b->idom].pos; i < b->pos; i++) {
        const struct graph_block *from = &g->blocks[g->order[i]];

        if (from->term == GRAPH_BRANCH &&
            graph_in_loop(g, g->order[i], s->loop))
            ask(s, from->guard);
    }
}

/* What the value says by itself; else what it comes from is asked. */
static enum graph_waits look_at(struct search *s, int value)
{
    const struct graph_value *v = &s->g->values[value];
    const struct graph_block *b = &s->g->blocks[v->block];
    const struct graph_insn *in;

    if (v->phi != GRAPH_NONE)
        ask_phi(s, v->block, &b->phis[v->phi]);
    if (v->insn == GRAPH_NONE)
        return GRAPH_WAITS_NOT;
    in = &b->insns[v->insn];
    if (in->kind == GRAPH_INSN_RESULT)
        return GRAPH_WAITS_NOT;
    if (in->kind == GRAPH_INSN_PTX && in->ptx->op == PTX_OP_ATOM)
        return reads_anew(s, in);
    if (in->kind == GRAPH_INSN_PTX && reads_anew(s, in))
        return GRAPH_WAITS_FOR_OTHERS;
    for (int k = in->kind == GRAPH_INSN_SELECT ? 1 : in->ptx->dst_count;
         k < PTX_MAX_OPERANDS; k++) {
        ask(s, in->val[k]);
        for (int e = 0; in->vec[k] && e < in->ptx->operands[k].count; e++)
            ask(s, in->vec[k][e]);
    }
    ask(s, in->guard);
    ask(s, in->cc_use);
    return GRAPH_WAITS_NOT;
}

static int has_fence(const struct graph *g, int loop)
{
    for (int i = g->loops[loop].first_pos; i <= g->loops[loop].last_pos; i++) {
        const struct graph_block *b = &g->blocks[g->order[i]];

        for (int k = 0; k < b->insn_count; k++)
            if (b->insns[k].ptx->op == PTX_OP_MEMBAR ||
                b->insns[k].ptx->op == PTX_OP_FENCE ||
                b->insns[k].ptx->op == PTX_OP_NANOSLEEP)
                return 1;
    }
    return 0;
}

static enum graph_waits waits(struct search *s, int loop)
{
    struct graph *g = s->g;
    enum graph_waits most = GRAPH_WAITS_NOT;

    s->loop = loop;
    s->has_fence = has_fence(g, loop);
    s->depth = 0;
    for (int i = g->loops[loop].first_pos; i <= g->loops[loop].last_pos; i++) {
        const struct graph_block *b = &g->blocks[g->order[i]];

        for (int k = 0; k < b->succ_count; k++) {
            if (graph_in_loop(g, b->succ[k].to, loop))
                continue;
            if (b->term == GRAPH_DETOUR) /* such loops are made to wait */
                return GRAPH_WAITS_FOR_OTHERS;
            ask(s, b->guard);
        }
    }
    while (s->depth) {
        const enum graph_waits w = look_at(s, s->stack[--s->depth]);

        most = w > most ? w : most;
    }
    return most;
}

enum kiln_status graph_waits(struct graph *g, struct kiln_error *err)
{
    const size_t n = (size_t)g->value_count + 1;
    struct search s = {.g = g};

    s.stamp = arena_array(g->arena, n, sizeof *s.stamp);
    s.stack = arena_array(g->arena, n, sizeof *s.stack);
    if (!s.stamp || !s.stack)
        return kiln_fail(err, KILN_E_MEMORY, "%s: out of memory",
                         g->func->name);
    for (int l = 0; l < g->loop_count; l++) {
        g->loops[l].waits = (uint8_t)waits(&s, l);
        g->has_yield |= g->loops[l].waits != GRAPH_WAITS_NOT;
    }
    return KILN_OK;
}
