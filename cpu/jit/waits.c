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

static int reads_anew(const struct search *s, const struct ptx_insn *p)
{
    switch (p->op) {
    case PTX_OP_ATOM:
    case PTX_OP_MBARRIER:
        return 1;
    case PTX_OP_LD:
        if (p->space != PTX_SPACE_GLOBAL && p->space != PTX_SPACE_SHARED &&
            p->space != PTX_SPACE_GENERIC)
            return 0;
        return has_order(p) || s->has_fence;
    default:
        return 0;
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

/* 1 where the value is one that is read anew each time. */
static int look_at(struct search *s, int value)
{
    const struct graph_value *v = &s->g->values[value];
    const struct graph_block *b = &s->g->blocks[v->block];
    const struct graph_insn *in;

    if (v->phi != GRAPH_NONE)
        ask_phi(s, v->block, &b->phis[v->phi]);
    if (v->insn == GRAPH_NONE)
        return 0;
    in = &b->insns[v->insn];
    if (in->kind == GRAPH_INSN_RESULT)
        return 0;
    if (in->kind == GRAPH_INSN_PTX && reads_anew(s, in->ptx))
        return 1;
    for (int k = in->kind == GRAPH_INSN_SELECT ? 1 : in->ptx->dst_count;
         k < PTX_MAX_OPERANDS; k++) {
        ask(s, in->val[k]);
        for (int e = 0; in->vec[k] && e < in->ptx->operands[k].count; e++)
            ask(s, in->vec[k][e]);
    }
    ask(s, in->guard);
    ask(s, in->cc_use);
    return 0;
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

static int waits(struct search *s, int loop)
{
    struct graph *g = s->g;

    s->loop = loop;
    s->has_fence = has_fence(g, loop);
    s->depth = 0;
    for (int i = g->loops[loop].first_pos; i <= g->loops[loop].last_pos; i++) {
        const struct graph_block *b = &g->blocks[g->order[i]];

        for (int k = 0; b->term == GRAPH_BRANCH && k < b->succ_count; k++)
            if (!graph_in_loop(g, b->succ[k].to, loop))
                ask(s, b->guard);
    }
    while (s->depth)
        if (look_at(s, s->stack[--s->depth]))
            return 1;
    return 0;
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
        g->has_yield |= g->loops[l].waits;
    }
    return KILN_OK;
}
