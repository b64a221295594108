/* SPDX-License-Identifier: MIT
 *
 * Blocks of a kernel. A guard on a branch or return is the block's
 * terminator; a guard on an instruction without effects becomes a choice
 * between the new and the old value; any other guarded instruction is put
 * into a block of its own behind a branch, so that later passes know one kind
 * of conditional only. A barrier ends its block, and its result is made in
 * the next, so that a warp can leave at the one and come back at the other.
 */
#include "cpu/jit/escape.h"

#include <string.h>

#include "cpu/jit/lower.h"

int graph_is_pure(const struct ptx_insn *insn)
{
    switch (insn->op) {
    case PTX_OP_MOV:
    case PTX_OP_CVTA:
    case PTX_OP_ISSPACEP:
        return 1;
    default:
        return lower_knows(insn);
    }
}

int graph_new_block(struct graph *g)
{
    struct graph_block *blocks =
        arena_grow(g->arena, g->blocks, (size_t)g->block_count, &g->block_cap,
                   sizeof *blocks);

    if (!blocks)
        return GRAPH_NONE;
    g->blocks = blocks;
    blocks[g->block_count] = (struct graph_block){
        .guard_reg = GRAPH_NONE,
        .guard = GRAPH_NONE,
        .idom = GRAPH_NONE,
        .rpo = GRAPH_NONE,
        .loop = GRAPH_NONE,
        .pos = GRAPH_NONE,
        .next = GRAPH_NONE,
        .skip = GRAPH_NONE,
        .term = GRAPH_RET,
    };
    return g->block_count++;
}

static int add_insn(struct graph *g, int block, const struct ptx_insn *ptx,
                    enum graph_insn_kind kind)
{
    struct graph_block *b = &g->blocks[block];
    struct graph_insn *insns = arena_grow(
        g->arena, b->insns, (size_t)b->insn_count, &b->insn_cap, sizeof *insns);

    if (!insns)
        return -1;
    b->insns = insns;
    insns[b->insn_count] = (struct graph_insn){
        .kind = kind,
        .ptx = ptx,
        .guard = GRAPH_NONE,
        .cc_use = GRAPH_NONE,
        .cc_def = GRAPH_NONE,
    };
    for (int k = 0; k < PTX_MAX_OPERANDS; k++)
        insns[b->insn_count].val[k] = GRAPH_NONE;
    if (!b->line)
        b->line = ptx->line;
    b->insn_count++;
    return 0;
}

int graph_add_insn(struct graph *g, int block, const struct ptx_insn *insn)
{
    return add_insn(g, block, insn, GRAPH_INSN_PTX);
}

static void jump(struct graph *g, int from, int to)
{
    struct graph_block *b = &g->blocks[from];

    b->term = GRAPH_JUMP;
    b->succ_count = 1;
    b->succ[0] = (struct graph_edge){.from = from, .to = to};
}

static void branch(struct graph *g, int from, const struct ptx_insn *insn,
                   int taken, int other)
{
    struct graph_block *b = &g->blocks[from];

    if (taken == other) {
        jump(g, from, taken);
        return;
    }
    b->term = GRAPH_BRANCH;
    b->guard_reg = insn->guard;
    b->negate = insn->guard_negate;
    b->succ_count = 2;
    b->succ[0] = (struct graph_edge){.from = from, .to = taken};
    b->succ[1] = (struct graph_edge){.from = from, .to = other};
}

static int is_return(const struct ptx_insn *insn)
{
    return insn->op == PTX_OP_RET || insn->op == PTX_OP_EXIT;
}

static int is_barrier(const struct ptx_insn *insn)
{
    return (insn->op == PTX_OP_BAR || insn->op == PTX_OP_BARRIER) &&
           !ptx_has(insn, PTX_MOD_WARP);
}

/* Whether a block ends behind this instruction. */
static int splits(const struct ptx_insn *insn)
{
    if (is_barrier(insn) || insn->op == PTX_OP_BRA || is_return(insn) ||
        insn->op == PTX_OP_TRAP)
        return 1;
    return insn->guard >= 0 && !graph_is_pure(insn);
}

/* Mark the instructions that start a block; starts has count + 1 places. */
static void mark_starts(const struct graph *g, int *starts)
{
    const struct ptx_func *f = g->func;

    for (size_t i = 0; i <= f->insn_count; i++)
        starts[i] = GRAPH_NONE;
    starts[0] = 0;
    for (size_t l = 0; l < f->label_count; l++)
        starts[f->labels[l].insn] = 0;
    for (size_t i = 0; i < f->insn_count; i++)
        if (splits(&f->insns[i]))
            starts[i + 1] = 0;
    starts[f->insn_count] = 0;
}

/* The barrier ends block `at`; what follows starts behind it. */
static int place_barrier(struct graph *g, int at, const struct ptx_insn *insn,
                         int after)
{
    int behind = graph_new_block(g);

    if (behind < 0 || add_insn(g, at, insn, GRAPH_INSN_PTX) ||
        (insn->dst_count && add_insn(g, behind, insn, GRAPH_INSN_RESULT)))
        return GRAPH_NONE;
    g->blocks[at].waits = 1;
    g->blocks[behind].line = insn->line;
    jump(g, at, behind);
    jump(g, behind, after);
    return after;
}

/* Put one instruction into block `at`; returns the block to go on in. */
static int place(struct graph *g, int at, const struct ptx_insn *insn,
                 const int *starts, int after)
{
    int extra;

    if (insn->op == PTX_OP_BRA) {
        const struct ptx_operand *to = &insn->operands[0];
        int target = starts[g->func->labels[to->label].insn];

        if (insn->guard >= 0)
            branch(g, at, insn, target, after);
        else
            jump(g, at, target);
        return after;
    }
    if (is_return(insn) && insn->guard < 0)
        return after; /* the block returns already */
    if (insn->guard >= 0 && !graph_is_pure(insn)) {
        extra = graph_new_block(g);
        if (extra < 0)
            return extra;
        branch(g, at, insn, extra, after);
        if (is_return(insn))
            return after;
        if (is_barrier(insn))
            return place_barrier(g, extra, insn, after);
        if (add_insn(g, extra, insn, GRAPH_INSN_PTX))
            return GRAPH_NONE;
        if (insn->op != PTX_OP_TRAP)
            jump(g, extra, after);
        return after;
    }
    if (is_barrier(insn))
        return place_barrier(g, at, insn, after);
    if (add_insn(g, at, insn, GRAPH_INSN_PTX))
        return GRAPH_NONE;
    return insn->op == PTX_OP_TRAP ? after : at;
}

enum kiln_status graph_build(struct graph *g, struct kiln_error *err)
{
    const struct ptx_func *f = g->func;
    int *starts = arena_array(g->arena, f->insn_count + 1, sizeof *starts);
    int at = 0;

    if (!starts)
        goto memory;
    mark_starts(g, starts);
    /* Block 0 is the entry alone, so that no loop comes back to it. */
    if (graph_new_block(g) < 0)
        goto memory;
    for (size_t i = 0; i <= f->insn_count; i++)
        if (starts[i] == 0 && (starts[i] = graph_new_block(g)) < 0)
            goto memory;
    jump(g, at, starts[0]);
    at = starts[0];
    for (size_t i = 0; i < f->insn_count; i++) {
        const struct ptx_insn *insn = &f->insns[i];
        int after = starts[i + 1];

        at = place(g, at, insn, starts, after);
        if (at < 0)
            goto memory;
        if (after >= 0 && at != after) {
            jump(g, at, after);
            at = after;
        }
        g->has_barrier |= is_barrier(insn);
        g->has_yield |=
            insn->op == PTX_OP_NANOSLEEP ||
            (insn->op == PTX_OP_MBARRIER && ptx_has(insn, PTX_MOD_TRY_WAIT));
    }
    return KILN_OK;
memory:
    return kiln_fail(err, KILN_E_MEMORY, "%s: out of memory building blocks",
                     f->name);
}

/* Depth-first post-order of what block 0 reaches, on an explicit stack. */
static int post_order(struct graph *g, int *list, int *stack, int *next)
{
    int depth = 0, count = 0;

    for (int b = 0; b < g->block_count; b++) {
        g->blocks[b].reached = 0;
        next[b] = 0;
    }
    stack[depth++] = 0;
    g->blocks[0].reached = 1;
    while (depth) {
        struct graph_block *b = &g->blocks[stack[depth - 1]];

        if (next[stack[depth - 1]] < b->succ_count) {
            /* The taken side last, so that fall-through comes later. */
            int to = b->succ[next[stack[depth - 1]]++].to;

            if (!g->blocks[to].reached) {
                g->blocks[to].reached = 1;
                stack[depth++] = to;
            }
        } else {
            list[count++] = stack[--depth];
        }
    }
    return count;
}

static enum kiln_status find_preds(struct graph *g)
{
    for (int i = 0; i < g->block_count; i++)
        g->blocks[i].pred_count = 0;
    for (int i = 0; i < g->block_count; i++)
        for (int s = 0; g->blocks[i].reached && s < g->blocks[i].succ_count;
             s++)
            g->blocks[g->blocks[i].succ[s].to].pred_count++;
    for (int i = 0; i < g->block_count; i++) {
        struct graph_block *b = &g->blocks[i];

        b->pred = arena_array(g->arena, (size_t)b->pred_count, sizeof(int));
        b->pred_edge =
            arena_array(g->arena, (size_t)b->pred_count, sizeof(int));
        if (!b->pred || !b->pred_edge)
            return KILN_E_MEMORY;
        b->pred_count = 0;
    }
    for (int i = 0; i < g->block_count; i++)
        for (int s = 0; g->blocks[i].reached && s < g->blocks[i].succ_count;
             s++) {
            struct graph_edge *e = &g->blocks[i].succ[s];
            struct graph_block *to = &g->blocks[e->to];

            e->pred_index = to->pred_count;
            to->pred[to->pred_count] = i;
            to->pred_edge[to->pred_count++] = s;
        }
    return KILN_OK;
}

static int intersect(const struct graph *g, int a, int b)
{
    while (a != b) {
        while (g->blocks[a].rpo > g->blocks[b].rpo)
            a = g->blocks[a].idom;
        while (g->blocks[b].rpo > g->blocks[a].rpo)
            b = g->blocks[b].idom;
    }
    return a;
}

/* Immediate dominators: Cooper, Harvey, Kennedy, "A Simple, Fast Dominance
 * Algorithm". */
static void dominators(struct graph *g, const int *rpo, int count)
{
    int changed = 1;

    for (int i = 0; i < count; i++)
        g->blocks[rpo[i]].idom = GRAPH_NONE;
    g->blocks[0].idom = 0;
    while (changed) {
        changed = 0;
        for (int i = 1; i < count; i++) {
            struct graph_block *b = &g->blocks[rpo[i]];
            int idom = GRAPH_NONE;

            for (int p = 0; p < b->pred_count; p++) {
                if (g->blocks[b->pred[p]].idom == GRAPH_NONE)
                    continue;
                idom = idom == GRAPH_NONE ? b->pred[p]
                                          : intersect(g, b->pred[p], idom);
            }
            if (idom != b->idom) {
                b->idom = idom;
                changed = 1;
            }
        }
    }
}

enum kiln_status graph_order(struct graph *g, struct kiln_error *err)
{
    size_t n = (size_t)g->block_count;
    int *list = arena_array(g->arena, n, sizeof *list);
    int *stack = arena_array(g->arena, n, sizeof *stack);
    int *next = arena_array(g->arena, n, sizeof *next);
    int count;

    if (!list || !stack || !next)
        return kiln_fail(err, KILN_E_MEMORY, "%s: out of memory",
                         g->func->name);
    count = post_order(g, list, stack, next);
    if (find_preds(g))
        return kiln_fail(err, KILN_E_MEMORY, "%s: out of memory",
                         g->func->name);
    for (int i = 0; i < count; i++) {
        stack[i] = list[count - 1 - i];
        g->blocks[stack[i]].rpo = i;
    }
    dominators(g, stack, count);
    g->order = stack;
    g->order_count = count;
    return KILN_OK;
}

int graph_dominates(const struct graph *g, int a, int b)
{
    while (g->blocks[b].rpo > g->blocks[a].rpo)
        b = g->blocks[b].idom;
    return a == b;
}

int graph_in_loop(const struct graph *g, int block, int loop)
{
    for (int l = g->blocks[block].loop; l >= 0; l = g->loops[l].parent)
        if (l == loop)
            return 1;
    return 0;
}

static enum kiln_status analyse(struct graph *g, struct kiln_error *err)
{
    enum kiln_status st = graph_loops(g, err);

    if (!st)
        st = graph_ssa(g, err);
    if (!st)
        st = graph_waits(g, err);
    if (!st)
        st = graph_shape(g, err);
    if (!st)
        st = graph_schedule(g, err);
    if (!st)
        st = graph_alike(g, err);
    return st;
}

enum kiln_status graph_analyse(struct graph *g, struct kiln_error *err)
{
    const struct graph fresh = *g;
    struct escape_plan plan;
    enum kiln_status st = graph_build(g, err);
    const int count = g->block_count;

    if (!st)
        st = analyse(g, err);
    if (!st)
        st = escape_find(g, count, &plan, err);
    if (st || !plan.count)
        return st;
    *g = fresh;
    st = graph_build(g, err);
    if (!st)
        st = escape_apply(g, &plan, err);
    if (!st)
        st = analyse(g, err);
    if (st != KILN_E_NOT_SUPPORTED)
        return st;
    /* The change has made a loop that is entered twice: do without. */
    *g = fresh;
    st = graph_build(g, err);
    return st ? st : analyse(g, err);
}
