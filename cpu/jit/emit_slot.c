/* SPDX-License-Identifier: MIT
 *
 * Stack slots: for values that other blocks read, for phis, for the masks of
 * blocks. LLVM makes registers of them.
 */
#include <stdio.h>

#include "cpu/jit/align.h"

/* Masks of so many blocks or loops stay in memory, a few bytes each. As
 * registers they are live from where a warp starts until its lanes come, each
 * through all blocks and round all loops between: as many phis as the square
 * of the blocks. */
enum { MANY_BLOCKS = 500, MANY_LOOPS = 20 };

static void make_slot(struct emit *e, struct emit_slot *s, LLVMTypeRef type,
                      unsigned count)
{
    s->count = (int)count;
    for (unsigned c = 0; c < count; c++)
        s->at[c] = LLVMBuildAlloca(e->top, type, "");
}

/* A slot whose address is taken for something else is none that mem2reg makes
 * a register of; the something is dropped by the passes behind it. */
static void keep_in_memory(struct emit *e, const struct emit_slot *s)
{
    for (int c = 0; c < s->count; c++)
        LLVMBuildPtrToInt(e->top, s->at[c], e->i64, "");
}

static void value_slot(struct emit *e, struct emit_slot *s, int value)
{
    const struct graph_value *v = &e->g->values[value];
    LLVMTypeRef type = LLVMIntTypeInContext(e->l.ctx, v->bits);

    if (v->kind_of_shape == SHAPE_VARYING)
        type = emit_vec(e, type);
    make_slot(e, s, type, v->kind_of_shape == SHAPE_UNIFORM ? 1 : e->chunks);
}

void emit_poison(struct emit *e, const struct emit_slot *s)
{
    for (int c = 0; c < s->count; c++)
        LLVMBuildStore(e->l.b, LLVMGetPoison(LLVMGetAllocatedType(s->at[c])),
                       s->at[c]);
}

static void use(struct emit *e, int value, int block)
{
    struct graph_value *v;

    if (value == GRAPH_NONE)
        return;
    v = &e->g->values[value];
    v->used = 1;
    v->escapes |= v->block != block;
    v->outlives |= graph_outlives(e->g, value, block) != 0;
}

static void use_tests(struct emit *e, const struct graph_tests *tests,
                      int block)
{
    for (int i = 0; i < tests->count; i++)
        use(e, tests->list[i].value, block);
}

static void find_uses(struct emit *e)
{
    struct graph *g = e->g;

    for (int i = 0; i < g->value_count; i++)
        g->values[i].used = g->values[i].escapes = g->values[i].outlives = 0;
    for (int i = 0; i < g->order_count; i++) {
        int at = g->order[i];
        const struct graph_block *b = &g->blocks[at];

        for (int k = 0; k < b->insn_count; k++) {
            const struct graph_insn *in = &b->insns[k];
            int from = in->kind == GRAPH_INSN_SELECT ? 1 : in->ptx->dst_count;

            for (int o = from; o < PTX_MAX_OPERANDS; o++) {
                use(e, in->val[o], at);
                for (int j = 0; in->vec[o] && j < in->ptx->operands[o].count;
                     j++)
                    use(e, in->vec[o][j], at);
            }
            use(e, in->guard, at);
            use(e, in->cc_use, at);
            use_tests(e, &in->tests, at);
        }
        use(e, b->guard, at);
        use_tests(e, &b->first, at);
        use_tests(e, &b->last, at);
        for (int p = 0; p < b->phi_count; p++)
            for (int k = 0; k < b->pred_count; k++)
                use(e, b->phis[p].in[k], b->pred[k]);
    }
}

static int *chain(struct emit *e, int count)
{
    int *list = arena_array(e->g->arena, (size_t)count + 1, sizeof *list);

    for (int i = 0; list && i <= count; i++)
        list[i] = GRAPH_NONE;
    return list;
}

/* What dies where: see struct emit_dead. */
static int chain_dead(struct emit *e)
{
    struct graph *g = e->g;
    struct emit_dead *d = &e->dead;

    d->of_loop = chain(e, g->loop_count);
    d->next = chain(e, g->value_count);
    d->phi_of = chain(e, g->block_count);
    d->next_phi = chain(e, g->value_count);
    if (!d->of_loop || !d->next || !d->phi_of || !d->next_phi)
        return -1;
    for (int i = g->value_count; i-- > 0;) {
        const struct graph_block *b = &g->blocks[g->values[i].block];

        if (e->slot[i].count && b->loop >= 0) {
            d->next[i] = d->of_loop[b->loop];
            d->of_loop[b->loop] = i;
        }
        if (g->values[i].phi != GRAPH_NONE && b->mixing) {
            d->next_phi[i] = d->phi_of[b->idom];
            d->phi_of[b->idom] = i;
        }
    }
    return 0;
}

enum kiln_status emit_make_places(struct emit *e)
{
    struct graph *g = e->g;
    size_t n = (size_t)g->value_count, blocks = (size_t)g->block_count;
    const int many =
        e->large || g->order_count > MANY_BLOCKS || g->loop_count > MANY_LOOPS;

    e->slot = arena_array(g->arena, n, sizeof *e->slot);
    e->exit_slot = arena_array(g->arena, n, sizeof *e->exit_slot);
    e->phi_slot = arena_array(g->arena, n, sizeof *e->phi_slot);
    e->known = arena_array(g->arena, n, sizeof *e->known);
    e->mask_slot = arena_array(g->arena, blocks, sizeof *e->mask_slot);
    e->alike_slot = arena_array(g->arena, blocks, sizeof *e->alike_slot);
    e->test = arena_array(g->arena, blocks, sizeof *e->test);
    e->body = arena_array(g->arena, blocks, sizeof *e->body);
    if ((n && (!e->slot || !e->exit_slot || !e->phi_slot || !e->known)) ||
        !e->mask_slot || !e->alike_slot || !e->test || !e->body)
        return kiln_fail(e->err, KILN_E_MEMORY, "out of memory");
    find_uses(e);
    for (int i = 0; i < g->value_count; i++) {
        const struct graph_value *v = &g->values[i];

        if (v->phi != GRAPH_NONE)
            value_slot(e, &e->phi_slot[i], i);
        if (v->insn == GRAPH_NONE && v->phi == GRAPH_NONE)
            continue;
        if (v->escapes)
            value_slot(e, &e->slot[i], i);
        if (v->outlives)
            make_slot(e, &e->exit_slot[i],
                      emit_vec(e, LLVMIntTypeInContext(e->l.ctx, v->bits)),
                      e->chunks);
    }
    for (int i = 0; i < g->order_count; i++) {
        int at = g->order[i];
        char name[32];

        make_slot(e, &e->mask_slot[at], e->mask_type, e->chunks);
        if (many)
            keep_in_memory(e, &e->mask_slot[at]);
        if (g->blocks[at].alike != at &&
            !e->alike_slot[g->blocks[at].alike].count)
            make_slot(e, &e->alike_slot[g->blocks[at].alike], e->mask_type,
                      e->chunks);
        if (many)
            keep_in_memory(e, &e->alike_slot[at]);
        snprintf(name, sizeof name, "b%d.line%u", at, g->blocks[at].line);
        if (g->blocks[at].pending)
            e->test[at] = emit_new_bb(e, "test");
        e->body[at] = emit_new_bb(e, name);
    }
    if (e->large) {
        LLVMTypeRef words = LLVMVectorType(e->i64, e->lanes);

        make_slot(e, &e->lanes_now, e->mask_type, e->chunks);
        e->zeros = LLVMBuildAlloca(e->top, words, "");
        LLVMBuildStore(e->top, LLVMConstNull(words), e->zeros);
    }
    return chain_dead(e) ? kiln_fail(e->err, KILN_E_MEMORY, "out of memory")
                         : KILN_OK;
}
