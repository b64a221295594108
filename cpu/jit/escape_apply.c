/* SPDX-License-Identifier: MIT
 *
 * The change of the graph that escape.c asks for. Of a group with one loop at
 * whose start all lanes are together, that start stays. Else a new one is
 * made: a register says where each lane is to go on, and a chain of branches
 * sends it there; 0 stands for what came before the loops.
 *
 *     before -> [state = 0] -> start: state == 1 ? loop 1
 *                                     state == 2 ? loop 2 : what came next
 *     end of loop 1's round -> [state = 1] -> start
 *     where lanes meet <- detour - - (never) - -> start
 */
#include "cpu/jit/escape.h"

#include <string.h>

struct applier {
    struct graph *g;
    const struct escape_group *group;
    const uint8_t *inside;
    int inside_count;
    int hub;   /* the start of the loop */
    int state; /* register */
    int end;   /* a block that returns, made when it is needed */
    int *stack;
    uint8_t *seen;
    size_t room; /* of both */
};

/* --- small tools --- */

static int new_block(struct applier *a, unsigned line)
{
    const int b = graph_new_block(a->g);

    if (b >= 0)
        a->g->blocks[b].line = line;
    return b;
}

static void jump(struct graph *g, int from, int to)
{
    struct graph_block *b = &g->blocks[from];

    b->term = GRAPH_JUMP;
    b->succ_count = 1;
    b->succ[0] = (struct graph_edge){.from = from, .to = to};
}

static int new_reg(struct applier *a, enum ptx_type type)
{
    const struct ptx_func *old = a->g->func;
    struct ptx_func *func = arena_alloc(a->g->arena, sizeof *func);
    struct ptx_reg *regs =
        arena_array(a->g->arena, old->reg_count + 1, sizeof *regs);

    if (!func || !regs)
        return -1;
    *func = *old;
    if (old->reg_count)
        memcpy(regs, old->regs, old->reg_count * sizeof *regs);
    regs[old->reg_count] =
        (struct ptx_reg){.name = "%lane", .type = type, .vec = 1};
    func->regs = regs;
    func->reg_count++;
    a->g->func = func;
    return (int)old->reg_count;
}

static struct ptx_insn *new_insn(struct applier *a, int block, enum ptx_op op,
                                 const char *text, enum ptx_type type, int to)
{
    struct ptx_insn *insn = arena_alloc(a->g->arena, sizeof *insn);

    if (!insn)
        return NULL;
    *insn = (struct ptx_insn){.op = op,
                              .guard = -1,
                              .vec = 1,
                              .text = text,
                              .line = a->g->blocks[block].line,
                              .type_count = 1,
                              .types = {type},
                              .dst_count = 1,
                              .operand_count = 2};
    insn->operands[0].kind = PTX_OPERAND_REG;
    insn->operands[0].reg = (uint32_t)to;
    return graph_add_insn(a->g, block, insn) ? NULL : insn;
}

static int set_state(struct applier *a, int block, int value)
{
    struct ptx_insn *insn =
        new_insn(a, block, PTX_OP_MOV, "mov", PTX_B32, a->state);

    if (!insn)
        return -1;
    insn->operands[1].kind = PTX_OPERAND_INT;
    insn->operands[1].ival = value;
    return 0;
}

/* block: state == value ? to : a new block, which is returned. */
static int add_choice(struct applier *a, int block, int value, int to)
{
    const int pred = new_reg(a, PTX_PRED);
    const int other = new_block(a, a->g->blocks[block].line);
    struct ptx_insn *insn;
    struct graph_block *b;

    if (pred < 0 || other < 0)
        return GRAPH_NONE;
    insn = new_insn(a, block, PTX_OP_SETP, "setp.eq", PTX_U32, pred);
    if (!insn)
        return GRAPH_NONE;
    insn->cmp = PTX_CMP_EQ;
    insn->operand_count = 3;
    insn->operands[1].kind = PTX_OPERAND_REG;
    insn->operands[1].reg = (uint32_t)a->state;
    insn->operands[2].kind = PTX_OPERAND_INT;
    insn->operands[2].ival = value;
    b = &a->g->blocks[block];
    b->term = GRAPH_BRANCH;
    b->guard_reg = pred;
    b->succ_count = 2;
    b->succ[0] = (struct graph_edge){.from = block, .to = to};
    b->succ[1] = (struct graph_edge){.from = block, .to = other};
    return other;
}

/* --- the common start --- */

/* Edges into `to` from blocks that it dominates (back), or that it does not,
 * go to `instead`. */
static void redirect(struct applier *a, int to, int back, int instead)
{
    const struct graph_block *t = &a->g->blocks[to];

    for (int p = 0; p < t->pred_count; p++)
        if (graph_dominates(a->g, to, t->pred[p]) == back)
            a->g->blocks[t->pred[p]].succ[t->pred_edge[p]].to = instead;
}

/* A block behind `block`, which keeps its instructions, with all that it led
 * to; `block` leads to `to`. Where it ends at a barrier it cannot be cut
 * otherwise than on the edge behind. */
static int cut_end(struct applier *a, int block, int to)
{
    const int behind = new_block(a, a->g->blocks[block].line);
    struct graph_block *b, *n;

    if (behind < 0)
        return behind;
    b = &a->g->blocks[block];
    n = &a->g->blocks[behind];
    n->term = b->term;
    n->guard_reg = b->guard_reg;
    n->negate = b->negate;
    n->succ_count = b->succ_count;
    for (int s = 0; s < b->succ_count; s++) {
        n->succ[s] = b->succ[s];
        n->succ[s].from = behind;
    }
    jump(a->g, block, to);
    return behind;
}

static int build_start(struct applier *a)
{
    const struct escape_group *group = a->group;
    const unsigned line = a->g->blocks[group->start].line;
    const int in = new_block(a, line), hub = new_block(a, line);
    int at = hub, next = group->start;

    a->state = new_reg(a, PTX_B32);
    if (in < 0 || hub < 0 || a->state < 0 || set_state(a, in, 0))
        return -1;
    jump(a->g, in, hub);
    for (int i = 0; i < group->header_count; i++) {
        const int back = new_block(a, line);

        if (back < 0 || set_state(a, back, i + 1))
            return -1;
        jump(a->g, back, hub);
        redirect(a, group->headers[i], 1, back);
    }
    if (group->is_before)
        next = cut_end(a, group->start, in);
    else
        redirect(a, group->start, 0, in);
    for (int i = 0; next >= 0 && i < group->header_count; i++)
        if (group->is_before || group->headers[i] != group->start) {
            at = add_choice(a, at, i + 1, group->headers[i]);
            if (at < 0)
                return -1;
        }
    if (next < 0)
        return -1;
    jump(a->g, at, next);
    a->hub = hub;
    return 0;
}

/* --- the ends --- */

static int add_detour(struct applier *a, int from, int s)
{
    const int d = new_block(a, a->g->blocks[from].line);
    struct graph_block *b;

    if (d < 0)
        return -1;
    b = &a->g->blocks[d];
    b->term = GRAPH_DETOUR;
    b->succ_count = 2;
    b->succ[0] =
        (struct graph_edge){.from = d, .to = a->g->blocks[from].succ[s].to};
    b->succ[1] = (struct graph_edge){.from = d, .to = a->hub};
    a->g->blocks[from].succ[s].to = d;
    return 0;
}

/* All that return do it in one block outside the loop. */
static int end_at(struct applier *a, int block)
{
    if (a->end == GRAPH_NONE)
        a->end = new_block(a, a->g->blocks[block].line);
    if (a->end < 0)
        return -1;
    jump(a->g, block, a->end);
    return add_detour(a, block, 0);
}

/* The instructions from `first` on go to a block of their own. */
static int cut_before(struct applier *a, int block, int first)
{
    const int behind = cut_end(a, block, GRAPH_NONE);
    struct graph_block *b, *n;

    if (behind < 0)
        return -1;
    b = &a->g->blocks[block];
    n = &a->g->blocks[behind];
    for (int i = first; i < b->insn_count; i++)
        if (graph_add_insn(a->g, behind, b->insns[i].ptx))
            return -1;
    for (int i = first; i < b->insn_count; i++)
        n->insns[i - first] = b->insns[i];
    n->waits = b->waits;
    b->waits = 0;
    b->insn_count = first;
    b->succ[0].to = behind;
    return 0;
}

static int goes_on_into(const struct applier *a, int y)
{
    const struct graph_block *b = &a->g->blocks[y];
    const int at = escape_meeting_at(b);

    return graph_dominates(a->g, a->hub, y) && y != a->group->loop_header &&
           (y >= a->inside_count || a->inside[y]) &&
           (at > 0 || at == b->insn_count);
}

static int close_block(struct applier *a, int at, int *depth)
{
    const int meets = escape_meeting_at(&a->g->blocks[at]);

    if (meets < a->g->blocks[at].insn_count) {
        /* hub blocks hold none, so it has instructions before */
        return cut_before(a, at, meets) || add_detour(a, at, 0);
    }
    if (a->g->blocks[at].term == GRAPH_RET)
        return end_at(a, at);
    for (int s = 0; s < a->g->blocks[at].succ_count; s++) {
        const int to = a->g->blocks[at].succ[s].to;

        if (to == a->hub)
            continue;
        if (!goes_on_into(a, to)) {
            if (add_detour(a, at, s))
                return -1;
        } else if (!a->seen[to]) {
            a->seen[to] = 1;
            a->stack[(*depth)++] = to;
        }
    }
    return 0;
}

static int close_region(struct applier *a)
{
    int depth = 0;

    a->room = (size_t)a->g->block_count;
    a->stack = arena_array(a->g->arena, a->room, sizeof *a->stack);
    a->seen = arena_array(a->g->arena, a->room, 1);
    if (!a->stack || !a->seen)
        return -1;
    a->seen[a->hub] = 1;
    a->stack[depth++] = a->hub;
    while (depth)
        if (close_block(a, a->stack[--depth], &depth))
            return -1;
    return 0;
}

static int apply(struct graph *g, const struct escape_plan *plan, int i,
                 struct kiln_error *err)
{
    struct applier a = {.g = g,
                        .group = &plan->groups[i],
                        .inside = plan->inside[i],
                        .inside_count = plan->block_count,
                        .hub = plan->groups[i].start,
                        .end = GRAPH_NONE};

    if (graph_order(g, err))
        return -1;
    if ((a.group->is_before || a.group->header_count > 1) &&
        (build_start(&a) || graph_order(g, err)))
        return -1;
    return close_region(&a);
}

enum kiln_status escape_apply(struct graph *g, const struct escape_plan *plan,
                              struct kiln_error *err)
{
    for (int i = 0; i < plan->count; i++)
        if (apply(g, plan, i, err))
            return kiln_fail(err, KILN_E_MEMORY, "%s: out of memory",
                             g->func->name);
    return KILN_OK;
}
