/* SPDX-License-Identifier: MIT
 *
 * SSA form: pruned, phis on iterated dominance frontiers, renaming over the
 * dominator tree. Only registers that are live into some block take part in
 * the set operations.
 *
 * The carry flag of add.cc and kin is one more register behind the declared
 * ones.
 */
#include <string.h>

#include "cpu/jit/graph.h"

enum { MAX_SLOTS = 40 };

/* One use or definition of a register by an instruction. */
struct slot {
    int reg;
    int *value;
};

struct ssa {
    struct graph *g;
    int regs;   /* declared ones and the carry flag */
    int *dense; /* number among the live-in registers, or GRAPH_NONE */
    int *sparse;
    int dense_count;
    size_t words;
    uint64_t *use, *def, *in; /* a row of words for each block */
    int *cur;                 /* value of each register while renaming */
    int **df;                 /* dominance frontiers */
    int *df_count;
    int undef[129];
};

static int carry_reg(const struct graph *g)
{
    return (int)g->func->reg_count;
}

static unsigned reg_bits(const struct graph *g, int reg)
{
    return reg == carry_reg(g) ? 1 : ptx_type_bits(g->func->regs[reg].type);
}

static int reads_carry(const struct ptx_insn *p)
{
    return p->op == PTX_OP_ADDC || p->op == PTX_OP_SUBC || p->op == PTX_OP_MADC;
}

static int add_operand(const struct ptx_operand *o, int *value, int **vec,
                       struct slot *slots, int n)
{
    if (o->kind == PTX_OPERAND_REG || o->kind == PTX_OPERAND_ADDR_REG) {
        slots[n++] = (struct slot){(int)o->reg, value};
    } else if (o->kind == PTX_OPERAND_VECTOR && *vec) {
        for (int e = 0; e < o->count && n < MAX_SLOTS; e++)
            if (o->elems[e].kind == PTX_OPERAND_REG)
                slots[n++] = (struct slot){(int)o->elems[e].reg, *vec + e};
    }
    return n;
}

static int list_uses(struct graph *g, struct graph_insn *i,
                     struct slot slots[MAX_SLOTS])
{
    const struct ptx_insn *p = i->ptx;
    int n = 0;

    if (i->kind == GRAPH_INSN_RESULT)
        return 0;
    for (int k = p->dst_count; k < p->operand_count; k++)
        n = add_operand(&p->operands[k], &i->val[k], &i->vec[k], slots, n);
    if (reads_carry(p))
        slots[n++] = (struct slot){carry_reg(g), &i->cc_use};
    return n;
}

static int list_defs(struct graph *g, struct graph_insn *i,
                     struct slot slots[MAX_SLOTS])
{
    const struct ptx_insn *p = i->ptx;
    int n = 0;

    if (i->kind == GRAPH_INSN_PTX &&
        (p->op == PTX_OP_BAR || p->op == PTX_OP_BARRIER))
        return 0; /* made by the RESULT behind it */
    for (int k = 0; k < p->dst_count; k++)
        n = add_operand(&p->operands[k], &i->val[k], &i->vec[k], slots, n);
    if (ptx_has(p, PTX_MOD_CC))
        slots[n++] = (struct slot){carry_reg(g), &i->cc_def};
    return n;
}

/* Places for the elements of vector operands. */
static int prepare_insn(struct graph *g, struct graph_insn *i)
{
    for (int k = 0; k < i->ptx->operand_count; k++) {
        const struct ptx_operand *o = &i->ptx->operands[k];

        if (o->kind != PTX_OPERAND_VECTOR)
            continue;
        i->vec[k] = arena_array(g->arena, o->count, sizeof(int));
        if (!i->vec[k])
            return -1;
        for (int e = 0; e < o->count; e++)
            i->vec[k][e] = GRAPH_NONE;
    }
    return 0;
}

static int bit(const uint64_t *row, int i)
{
    return row[i / 64] >> (i % 64) & 1;
}

/* Registers read in a block before it writes them, by a stamp of the block
 * that last wrote each. With `rows` set, fill the block's use and def rows;
 * else give each such register its dense number. */
static void scan_block(struct ssa *s, int block, int *stamp, int rows)
{
    struct graph_block *b = &s->g->blocks[block];
    struct slot slots[MAX_SLOTS];
    int regs[MAX_SLOTS * 2 + 1], n, count;

    for (int k = 0; k <= b->insn_count; k++) {
        struct graph_insn *i = k < b->insn_count ? &b->insns[k] : NULL;

        n = 0;
        count = i ? list_uses(s->g, i, slots) : 0;
        for (int u = 0; u < count; u++)
            regs[n++] = slots[u].reg;
        if (i && i->ptx->guard >= 0 && graph_is_pure(i->ptx)) {
            regs[n++] = i->ptx->guard;
            count = list_defs(s->g, i, slots);
            for (int u = 0; u < count; u++)
                regs[n++] = slots[u].reg;
        }
        if (!i && b->term == GRAPH_BRANCH)
            regs[n++] = b->guard_reg;
        for (int u = 0; u < n; u++) {
            if (stamp[regs[u]] == block + 1)
                continue;
            if (!rows && s->dense[regs[u]] == GRAPH_NONE) {
                s->sparse[s->dense_count] = regs[u];
                s->dense[regs[u]] = s->dense_count++;
            } else if (rows) {
                int d = s->dense[regs[u]];

                s->use[(size_t)block * s->words + (size_t)d / 64] |=
                    1ull << (d % 64);
            }
        }
        count = i ? list_defs(s->g, i, slots) : 0;
        for (int u = 0; u < count; u++) {
            int d = s->dense[slots[u].reg];

            stamp[slots[u].reg] = block + 1;
            if (rows && d != GRAPH_NONE)
                s->def[(size_t)block * s->words + (size_t)d / 64] |=
                    1ull << (d % 64);
        }
    }
}

static void solve_liveness(struct ssa *s)
{
    struct graph *g = s->g;
    int changed = 1;

    while (changed) {
        changed = 0;
        for (int i = g->order_count - 1; i >= 0; i--) {
            int block = g->order[i];
            const struct graph_block *b = &g->blocks[block];
            uint64_t *in = s->in + (size_t)block * s->words;
            const uint64_t *use = s->use + (size_t)block * s->words;
            const uint64_t *def = s->def + (size_t)block * s->words;

            for (size_t w = 0; w < s->words; w++) {
                uint64_t out = 0, v;

                for (int k = 0; k < b->succ_count; k++)
                    out |= s->in[(size_t)b->succ[k].to * s->words + w];
                v = use[w] | (out & ~def[w]);
                changed |= v != in[w];
                in[w] = v;
            }
        }
    }
}

static enum kiln_status liveness(struct ssa *s)
{
    struct graph *g = s->g;
    size_t regs = (size_t)s->regs, cells;
    int *stamp = arena_array(g->arena, regs, sizeof *stamp);

    s->dense = arena_array(g->arena, regs, sizeof *s->dense);
    s->sparse = arena_array(g->arena, regs, sizeof *s->sparse);
    if (!stamp || !s->dense || !s->sparse)
        return KILN_E_MEMORY;
    for (size_t r = 0; r < regs; r++)
        s->dense[r] = GRAPH_NONE;
    for (int i = 0; i < g->order_count; i++)
        scan_block(s, g->order[i], stamp, 0);
    s->words = ((size_t)s->dense_count + 63) / 64;
    if (!s->words)
        s->words = 1;
    if (__builtin_mul_overflow((size_t)g->block_count, s->words, &cells) ||
        cells > (size_t)64 << 20)
        return KILN_E_MEMORY;
    s->use = arena_array(g->arena, cells, sizeof *s->use);
    s->def = arena_array(g->arena, cells, sizeof *s->def);
    s->in = arena_array(g->arena, cells, sizeof *s->in);
    if (!s->use || !s->def || !s->in)
        return KILN_E_MEMORY;
    memset(stamp, 0, regs * sizeof *stamp);
    for (int i = 0; i < g->order_count; i++)
        scan_block(s, g->order[i], stamp, 1);
    solve_liveness(s);
    return KILN_OK;
}

static enum kiln_status frontiers(struct ssa *s)
{
    struct graph *g = s->g;
    size_t *caps;

    s->df = arena_array(g->arena, (size_t)g->block_count, sizeof *s->df);
    s->df_count = arena_array(g->arena, (size_t)g->block_count, sizeof(int));
    caps = arena_array(g->arena, (size_t)g->block_count, sizeof *caps);
    if (!s->df || !s->df_count || !caps)
        return KILN_E_MEMORY;
    for (int i = 0; i < g->order_count; i++) {
        int block = g->order[i];
        const struct graph_block *b = &g->blocks[block];

        for (int p = 0; b->pred_count > 1 && p < b->pred_count; p++) {
            for (int r = b->pred[p]; r != b->idom; r = g->blocks[r].idom) {
                int n = s->df_count[r];

                if (n && s->df[r][n - 1] == block)
                    continue;
                s->df[r] = arena_grow(g->arena, s->df[r], (size_t)n, &caps[r],
                                      sizeof(int));
                if (!s->df[r])
                    return KILN_E_MEMORY;
                s->df[r][s->df_count[r]++] = block;
            }
        }
    }
    return KILN_OK;
}

static int new_value(struct graph *g, unsigned bits, int block)
{
    struct graph_value *v = arena_grow(
        g->arena, g->values, (size_t)g->value_count, &g->value_cap, sizeof *v);

    if (!v)
        return GRAPH_NONE;
    g->values = v;
    v[g->value_count] = (struct graph_value){.bits = bits,
                                             .block = block,
                                             .insn = GRAPH_NONE,
                                             .phi = GRAPH_NONE,
                                             .umax = UINT64_MAX};
    return g->value_count++;
}

static int add_phi(struct graph *g, int block, int reg)
{
    struct graph_block *b = &g->blocks[block];
    struct graph_phi *phis = arena_grow(g->arena, b->phis, (size_t)b->phi_count,
                                        &b->phi_cap, sizeof *phis);
    int value = new_value(g, reg_bits(g, reg), block);

    if (!phis || value < 0)
        return -1;
    b->phis = phis;
    phis[b->phi_count] = (struct graph_phi){
        .value = value,
        .reg = reg,
        .in = arena_array(g->arena, (size_t)b->pred_count, sizeof(int))};
    g->values[value].phi = b->phi_count;
    if (!phis[b->phi_count++].in)
        return -1;
    return 0;
}

/* Phis of one register: where its definitions meet and it is live. */
static int place_phis(struct ssa *s, int d, int *work, int *has, int *seen)
{
    struct graph *g = s->g;
    int depth = 0;

    for (int i = 0; i < g->order_count; i++) {
        int block = g->order[i];

        if (bit(s->def + (size_t)block * s->words, d)) {
            work[depth++] = block;
            seen[block] = d + 1;
        }
    }
    while (depth) {
        int from = work[--depth];

        for (int k = 0; k < s->df_count[from]; k++) {
            int block = s->df[from][k];

            if (has[block] == d + 1 ||
                !bit(s->in + (size_t)block * s->words, d))
                continue;
            has[block] = d + 1;
            if (add_phi(g, block, s->sparse[d]))
                return -1;
            if (seen[block] != d + 1) {
                seen[block] = d + 1;
                work[depth++] = block;
            }
        }
    }
    return 0;
}

static int current(struct ssa *s, int reg)
{
    unsigned bits = reg_bits(s->g, reg);

    if (s->cur[reg] != GRAPH_NONE)
        return s->cur[reg];
    if (s->undef[bits] == GRAPH_NONE)
        s->undef[bits] = new_value(s->g, bits, 0);
    return s->undef[bits];
}

/* What renaming has to undo when it leaves a block. */
struct undo {
    int reg;
    int old;
};
struct undo_log {
    struct undo *items;
    size_t count, cap;
};

static int define(struct ssa *s, struct undo_log *log, int reg, int value)
{
    struct undo *items = arena_grow(s->g->arena, log->items, log->count,
                                    &log->cap, sizeof *items);

    if (!items || value < 0)
        return -1;
    log->items = items;
    items[log->count++] = (struct undo){reg, s->cur[reg]};
    s->cur[reg] = value;
    return 0;
}

static int append(struct graph *g, struct graph_block *b,
                  const struct graph_insn *insn)
{
    struct graph_insn *insns = arena_grow(
        g->arena, b->insns, (size_t)b->insn_count, &b->insn_cap, sizeof *insns);

    if (!insns)
        return -1;
    b->insns = insns;
    insns[b->insn_count++] = *insn;
    return 0;
}

static int rename_insn(struct ssa *s, int block, struct graph_insn *insn,
                       struct undo_log *log)
{
    struct graph *g = s->g;
    struct graph_block *b = &g->blocks[block];
    struct slot slots[MAX_SLOTS];
    int count, guard = GRAPH_NONE, at = b->insn_count;

    count = list_uses(g, insn, slots);
    for (int u = 0; u < count; u++)
        *slots[u].value = current(s, slots[u].reg);
    if (insn->ptx->guard >= 0 && graph_is_pure(insn->ptx))
        guard = current(s, insn->ptx->guard);
    count = list_defs(g, insn, slots);
    for (int u = 0; u < count; u++) {
        int v = new_value(g, reg_bits(g, slots[u].reg), block);

        if (v < 0)
            return -1;
        g->values[v].insn = at;
        *slots[u].value = v;
    }
    if (append(g, b, insn))
        return -1;
    for (int u = 0; u < count; u++) {
        struct graph_insn choice = {.kind = GRAPH_INSN_SELECT,
                                    .ptx = insn->ptx,
                                    .guard = guard,
                                    .negate = insn->ptx->guard_negate,
                                    .cc_use = GRAPH_NONE,
                                    .cc_def = GRAPH_NONE};
        int made = *slots[u].value;

        if (guard != GRAPH_NONE) {
            for (int k = 0; k < PTX_MAX_OPERANDS; k++)
                choice.val[k] = GRAPH_NONE;
            choice.val[1] = made;
            choice.val[2] = current(s, slots[u].reg);
            made = choice.val[0] =
                new_value(g, reg_bits(g, slots[u].reg), block);
            if (made < 0)
                return -1;
            g->values[made].insn = b->insn_count;
            if (append(g, b, &choice))
                return -1;
        }
        if (define(s, log, slots[u].reg, made))
            return -1;
    }
    return 0;
}

static int rename_block(struct ssa *s, int block, struct undo_log *log)
{
    struct graph *g = s->g;
    struct graph_block *b = &g->blocks[block];
    struct graph_insn *old = b->insns;
    int count = b->insn_count;

    for (int p = 0; p < b->phi_count; p++)
        if (define(s, log, b->phis[p].reg, b->phis[p].value))
            return -1;
    b->insns = NULL;
    b->insn_count = 0;
    b->insn_cap = 0;
    for (int i = 0; i < count; i++)
        if (prepare_insn(g, &old[i]) || rename_insn(s, block, &old[i], log))
            return -1;
    if (b->term == GRAPH_BRANCH)
        b->guard = current(s, b->guard_reg);
    for (int k = 0; k < b->succ_count; k++) {
        struct graph_block *to = &g->blocks[b->succ[k].to];

        for (int p = 0; p < to->phi_count; p++)
            to->phis[p].in[b->succ[k].pred_index] = current(s, to->phis[p].reg);
    }
    return 0;
}

/* Preorder over the dominator tree. Children are chained. */
static enum kiln_status rename_all(struct ssa *s)
{
    struct graph *g = s->g;
    size_t n = (size_t)g->block_count;
    int *child = arena_array(g->arena, n, sizeof *child);
    int *sibling = arena_array(g->arena, n, sizeof *sibling);
    int *stack = arena_array(g->arena, n, sizeof *stack);
    size_t *marks = arena_array(g->arena, n, sizeof *marks);
    struct undo_log log = {0};
    int depth = 0;

    if (!child || !sibling || !stack || !marks)
        return KILN_E_MEMORY;
    for (size_t i = 0; i < n; i++)
        child[i] = sibling[i] = GRAPH_NONE;
    for (int i = g->order_count - 1; i > 0; i--) {
        int block = g->order[i], idom = g->blocks[block].idom;

        sibling[block] = child[idom];
        child[idom] = block;
    }
    stack[depth++] = 0;
    marks[0] = 0;
    if (rename_block(s, 0, &log))
        return KILN_E_MEMORY;
    while (depth) {
        int block = stack[depth - 1], next = child[block];

        if (next != GRAPH_NONE) {
            child[block] = sibling[next];
            marks[depth] = log.count;
            stack[depth++] = next;
            if (rename_block(s, next, &log))
                return KILN_E_MEMORY;
        } else {
            depth--;
            while (log.count > marks[depth]) {
                log.count--;
                s->cur[log.items[log.count].reg] = log.items[log.count].old;
            }
        }
    }
    return KILN_OK;
}

static enum kiln_status build(struct ssa *s)
{
    struct graph *g = s->g;
    size_t n = (size_t)g->block_count;
    enum kiln_status st;
    int *work, *has, *seen;

    for (int i = 0; i < g->block_count; i++)
        for (int k = 0; k < g->blocks[i].insn_count; k++)
            if (prepare_insn(g, &g->blocks[i].insns[k]))
                return KILN_E_MEMORY;
    st = liveness(s);
    if (!st)
        st = frontiers(s);
    if (st)
        return st;
    work = arena_array(g->arena, n, sizeof *work);
    has = arena_array(g->arena, n, sizeof *has);
    seen = arena_array(g->arena, n, sizeof *seen);
    s->cur = arena_array(g->arena, (size_t)s->regs, sizeof *s->cur);
    if (!work || !has || !seen || !s->cur)
        return KILN_E_MEMORY;
    for (int d = 0; d < s->dense_count; d++)
        if (place_phis(s, d, work, has, seen))
            return KILN_E_MEMORY;
    for (int r = 0; r < s->regs; r++)
        s->cur[r] = GRAPH_NONE;
    return rename_all(s);
}

enum kiln_status graph_ssa(struct graph *g, struct kiln_error *err)
{
    struct ssa s = {.g = g, .regs = (int)g->func->reg_count + 1};

    for (size_t i = 0; i < sizeof s.undef / sizeof *s.undef; i++)
        s.undef[i] = GRAPH_NONE;
    if (build(&s))
        return kiln_fail(err, KILN_E_MEMORY,
                         "kernel %s: too large to compile (%d blocks, %d "
                         "registers)",
                         g->func->name, g->block_count, s.regs);
    return KILN_OK;
}
