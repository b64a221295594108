/* SPDX-License-Identifier: MIT
 *
 * Which accesses have to be tested for alignment. Of each integer is known
 * that it is another value plus a number, up to a multiple of a power of two:
 * p + 4 * i is p, up to a multiple of 4, and so is a pointer that starts as p
 * and moves by 16 in a loop. What an access needs is a test of p, and after
 * one the accesses that it dominates need no other. Where a loop comes to the
 * access in any case, p is tested before the loop. So a kernel tests each
 * pointer that it was given about once.
 *
 * Addresses are taken as they are, since every space starts at a multiple of
 * all sizes: pages, but for local memory, parameters and module variables,
 * which are sure of 16 bytes.
 */
#include "cpu/jit/align.h"

#include <limits.h>
#include <string.h>

enum {
    MOST = 7,      /* log2 of the largest power looked at */
    PLACED = 4,    /* log2 of what variables are sure of */
    ROUNDS = 8,    /* before phis that still change are given up */
    KEPT = 8,      /* tests of a value that are looked at */
    ALL_LANES = 32 /* of a warp */
};

/* value + add, up to a multiple of 1 << bits. */
struct residue {
    int value; /* GRAPH_NONE: just add */
    uint32_t add;
    uint8_t bits;
    uint8_t known; /* 0: not looked at yet */
};

/* One that was tested, by value. */
struct tested {
    struct tested *next;
    int block;
    uint32_t add, bytes;
};

/* Blocks that a block dominates: from its number on, so many. */
struct subtree {
    int first, count, given;
};

/* What a loop comes to in any case dominates all of these. */
struct ends {
    int least, most; /* their numbers */
};

struct align {
    struct graph *g;
    const struct layout_kernel *layout;
    struct residue *of;     /* by value */
    struct tested **tested; /* by value */
    struct subtree *tree;   /* by block */
    struct ends *ends;      /* by loop */
    int round;
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

static struct residue itself(int value)
{
    return (struct residue){value, 0, MOST, 1};
}

/* How many of its last bits are 0. */
static unsigned zeros(struct residue r)
{
    if (r.value != GRAPH_NONE)
        return 0;
    return r.add ? least((unsigned)__builtin_ctz(r.add), r.bits) : r.bits;
}

/* --- of the operands --- */

static struct residue of_var(const struct align *a, const struct ptx_var *var,
                             int64_t add)
{
    const uint64_t offset = var ? layout_offset(a->layout, var) : UINT64_MAX;

    if (offset == UINT64_MAX)
        return number(0, 0);
    return number((int64_t)offset + add,
                  var->space == PTX_SPACE_SHARED ? MOST : PLACED);
}

static struct residue of_operand(const struct align *a,
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
        return number(o->ival, MOST);
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
    if (y.value == GRAPH_NONE && y.bits == MOST && x.value == GRAPH_NONE)
        return number((int64_t)x.add * y.add, least(MOST, x.bits + zeros(y)));
    return number(0, least(MOST, zeros(x) + zeros(y)));
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
    if (mask.bits == MOST && mask.add == low(MOST))
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

static struct residue of_pure(const struct align *a,
                              const struct graph_insn *insn)
{
    const struct ptx_insn *p = insn->ptx;
    struct residue x, y, z;

    if (!is_integer(p) || p->operand_count < 2 ||
        p->operands[0].kind != PTX_OPERAND_REG)
        return number(0, 0);
    x = of_operand(a, insn, 1);
    y = p->operand_count > 2 ? of_operand(a, insn, 2) : number(0, 0);
    z = p->operand_count > 3 ? of_operand(a, insn, 3) : number(0, 0);
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
        if (p->operands[2].ival < 0 || p->operands[2].ival >= MOST)
            return number(0, MOST);
        return product(x, number((int64_t)1 << p->operands[2].ival, MOST));
    case PTX_OP_AND:
        x = masked(x, y);
        return x.bits ? x : masked(y, of_operand(a, insn, 1));
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

static int learn(struct align *a, int value, struct residue r)
{
    struct residue *old = &a->of[value];

    /* not looked at yet: what it is of is not either */
    if (r.known && !r.bits)
        r = itself(value);
    if (!memcmp(old, &r, sizeof r))
        return 0;
    *old = r;
    return 1;
}

static int learn_phi(struct align *a, const struct graph_block *b,
                     const struct graph_phi *phi)
{
    const struct residue old = a->of[phi->value];
    struct residue r = old;

    if (old.known && old.value == phi->value)
        return 0;
    for (int i = 0; i < b->pred_count; i++)
        r = either(r, a->of[phi->in[i]]);
    if (a->round > ROUNDS && memcmp(&r, &old, sizeof r))
        r = itself(phi->value);
    return learn(a, phi->value, r);
}

static int learn_insn(struct align *a, const struct graph_insn *insn)
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
            changed |= learn(a, insn->val[k], itself(insn->val[k]));
        for (int j = 0; insn->vec[k] && j < insn->ptx->operands[k].count; j++)
            if (insn->vec[k][j] != GRAPH_NONE)
                changed |= learn(a, insn->vec[k][j], itself(insn->vec[k][j]));
    }
    return changed;
}

static void learn_all(struct align *a)
{
    struct graph *g = a->g;
    int changed = 1;

    for (int i = 0; i < g->value_count; i++)
        if (g->values[i].insn == GRAPH_NONE && g->values[i].phi == GRAPH_NONE)
            a->of[i] = number(0, MOST); /* undefined: 0 */
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

/* --- what has to be tested --- */

static int dominates(const struct align *a, int block, int other)
{
    const int at = a->tree[other].first - a->tree[block].first;

    return at >= 0 && at < a->tree[block].count;
}

/* Number the blocks so that those that one dominates follow it. In `order`
 * what dominates comes first. */
static void number_blocks(struct align *a)
{
    const struct graph *g = a->g;
    struct subtree *t = a->tree;

    for (int i = g->order_count - 1; i >= 0; i--) {
        const int block = g->order[i];

        t[block].count++;
        if (i)
            t[g->blocks[block].idom].count += t[block].count;
    }
    for (int i = 1; i < g->order_count; i++) {
        struct subtree *above = &t[g->blocks[g->order[i]].idom];

        t[g->order[i]].first = above->first + 1 + above->given;
        above->given += t[g->order[i]].count;
    }
}

static void note_end(const struct align *a, int loop, int block)
{
    struct ends *e = &a->ends[loop];
    const int n = a->tree[block].first;

    e->least = n < e->least ? n : e->least;
    e->most = n > e->most ? n : e->most;
}

/* The blocks that each loop is left from, and its latch. */
static void find_ends(struct align *a)
{
    const struct graph *g = a->g;

    for (int l = 0; l < g->loop_count; l++) {
        a->ends[l] = (struct ends){INT_MAX, -1};
        note_end(a, l, g->loops[l].latch);
    }
    for (int i = 0; i < g->order_count; i++) {
        const struct graph_block *b = &g->blocks[g->order[i]];

        for (int l = b->loop; l >= 0; l = g->loops[l].parent)
            for (int s = 0; s < b->succ_count || (s == 0 && !b->succ_count);
                 s++)
                if (!b->succ_count || !graph_in_loop(g, b->succ[s].to, l))
                    note_end(a, l, g->order[i]);
    }
}

/* The only block that a loop is entered from. */
static int entered_from(const struct graph *g, int loop)
{
    const struct graph_block *header = &g->blocks[g->loops[loop].header];
    int from = GRAPH_NONE;

    for (int p = 0; p < header->pred_count; p++)
        if (!graph_in_loop(g, header->pred[p], loop)) {
            if (from != GRAPH_NONE)
                return GRAPH_NONE;
            from = header->pred[p];
        }
    return from;
}

/* Where a value that is the same for the warp is best tested: before the
 * loops that come to `block` in any case. */
static int place_of_test(const struct align *a, int value, int block)
{
    const struct graph *g = a->g;
    const struct graph_value *v;

    if (value == GRAPH_NONE)
        return block;
    v = &g->values[value];
    while (g->blocks[block].loop >= 0 && v->kind_of_shape == SHAPE_UNIFORM &&
           !graph_outlives(g, value, block)) {
        const int loop = g->blocks[block].loop;
        const struct subtree *t = &a->tree[block];
        const int from = entered_from(g, loop);

        if (from == GRAPH_NONE || graph_in_loop(g, v->block, loop) ||
            a->ends[loop].least < t->first ||
            a->ends[loop].most >= t->first + t->count)
            break;
        block = from;
    }
    return block;
}

static int was_tested(const struct align *a, const struct graph_test *t,
                      int block)
{
    const struct tested *d = a->tested[t->value];

    for (int i = 0; d && i < KEPT; i++, d = d->next)
        if (d->bytes >= t->bytes && !((d->add ^ t->add) & (t->bytes - 1)) &&
            dominates(a, d->block, block))
            return 1;
    return 0;
}

static int remember(struct align *a, const struct graph_test *t, int block)
{
    struct tested *d = arena_alloc(a->g->arena, sizeof *d);

    if (!d)
        return -1;
    *d = (struct tested){a->tested[t->value], block, t->add, t->bytes};
    a->tested[t->value] = d;
    return 0;
}

/* One test more; they are few. */
static int append(struct align *a, struct graph_tests *tests,
                  const struct graph_test *t)
{
    struct graph_test *more =
        arena_array(a->g->arena, (size_t)tests->count + 1, sizeof *more);

    if (!more)
        return -1;
    if (tests->count)
        memcpy(more, tests->list, (size_t)tests->count * sizeof *more);
    more[tests->count++] = *t;
    tests->list = more;
    return 0;
}

/* Where in the block a test is best made, so that it does not part an access
 * from what its address is made of. */
static struct graph_tests *list_for(struct align *a, struct graph_insn *insn,
                                    const struct graph_test *t, int block,
                                    int place)
{
    const struct graph_value *v;

    if (t->value == GRAPH_NONE)
        return &insn->tests;
    v = &a->g->values[t->value];
    if (v->kind_of_shape == SHAPE_UNIFORM &&
        (v->block != place || v->phi != GRAPH_NONE) &&
        !graph_outlives(a->g, t->value, place))
        return &a->g->blocks[place].first;
    return place == block ? &insn->tests : &a->g->blocks[place].last;
}

static int add_test(struct align *a, struct graph_insn *insn, int block, int k,
                    uint32_t bytes, unsigned lanes)
{
    const struct ptx_operand *o = &insn->ptx->operands[k];
    struct residue r = of_operand(a, insn, k);
    struct graph_test t = {
        .of = insn->ptx, .k = k, .bytes = bytes, .lanes = lanes};
    int place;

    if (bytes < 2 || k >= insn->ptx->operand_count)
        return 0;
    if (!r.known || (uint32_t)1 << r.bits < bytes) {
        if (o->kind != PTX_OPERAND_ADDR_REG)
            return 0;
        r = itself(insn->val[k]);
        r.add = (uint32_t)o->ival;
    }
    t.value = r.value;
    t.add = r.add & (bytes - 1);
    if (t.value == GRAPH_NONE ? !t.add : was_tested(a, &t, block))
        return 0;
    place = place_of_test(a, t.value, block);
    if (append(a, list_for(a, insn, &t, block, place), &t))
        return -1;
    return t.value != GRAPH_NONE && lanes == ALL_LANES ? remember(a, &t, place)
                                                       : 0;
}

static int test_copy(struct align *a, struct graph_insn *insn, int block)
{
    const struct ptx_insn *p = insn->ptx;
    const int is_bulk = ptx_has(p, PTX_MOD_BULK);
    const uint32_t bytes = is_bulk ? 16
                           : p->operand_count > 2
                               ? (uint32_t)p->operands[2].ival
                               : 0;
    int bad;

    if (!is_bulk && ptx_has(p, PTX_MOD_MBARRIER))
        return add_test(a, insn, block, 0, 8, ALL_LANES);
    if (p->operand_count < 3 || (bytes != 4 && bytes != 8 && bytes != 16))
        return 0; /* a commit or a wait; or it is refused */
    bad = add_test(a, insn, block, 0, bytes, ALL_LANES) ||
          add_test(a, insn, block, 1, bytes, ALL_LANES);
    if (!bad && is_bulk && ptx_has(p, PTX_MOD_COMPLETE_TX_BYTES))
        bad = add_test(a, insn, block, 3, 8, ALL_LANES);
    return bad;
}

static unsigned matrix_rows(const struct ptx_insn *p)
{
    return ptx_has(p, PTX_MOD_X4) ? 32 : ptx_has(p, PTX_MOD_X2) ? 16 : 8;
}

/* The sizes that the ISA asks for: of the access as a whole (PTX ISA 5.4,
 * 9.7.9, 9.7.13), 16 bytes for a row of a matrix and in bulk. */
static int test_insn(struct align *a, struct graph_insn *insn, int block)
{
    const struct ptx_insn *p = insn->ptx;
    const uint32_t bytes =
        p->type_count ? ptx_type_bits(p->types[p->type_count - 1]) / 8 * p->vec
                      : 0;

    if (insn->kind != GRAPH_INSN_PTX)
        return 0;
    switch (p->op) {
    case PTX_OP_LD:
    case PTX_OP_LDU:
        return add_test(a, insn, block, 1, bytes, ALL_LANES);
    case PTX_OP_ST:
    case PTX_OP_ATOM:
    case PTX_OP_RED:
        if (add_test(a, insn, block, p->dst_count, bytes, ALL_LANES))
            return -1;
        return ptx_has(p, PTX_MOD_ASYNC)
                   ? add_test(a, insn, block, 2, 8, ALL_LANES)
                   : 0;
    case PTX_OP_CP:
        return test_copy(a, insn, block);
    case PTX_OP_MBARRIER:
        return ptx_has(p, PTX_MOD_PENDING_COUNT)
                   ? 0
                   : add_test(a, insn, block, p->dst_count, 8, ALL_LANES);
    case PTX_OP_LDMATRIX:
        return add_test(a, insn, block, 1, 16, matrix_rows(p));
    case PTX_OP_STMATRIX:
        return add_test(a, insn, block, 0, 16, matrix_rows(p));
    default:
        return 0;
    }
}

enum kiln_status align_find(struct graph *g, const struct layout_kernel *layout,
                            struct kiln_error *err)
{
    struct align a = {.g = g, .layout = layout};
    const size_t n = (size_t)g->value_count;
    int bad;

    a.of = arena_array(g->arena, n, sizeof *a.of);
    a.tested = arena_array(g->arena, n, sizeof *a.tested);
    a.tree = arena_array(g->arena, (size_t)g->block_count, sizeof *a.tree);
    a.ends = arena_array(g->arena, (size_t)g->loop_count + 1, sizeof *a.ends);
    bad = (n && (!a.of || !a.tested)) || !a.tree || !a.ends;
    if (!bad) {
        learn_all(&a);
        number_blocks(&a);
        find_ends(&a);
    }
    /* in an order in which what dominates comes first */
    for (int i = 0; i < g->order_count && !bad; i++) {
        struct graph_block *b = &g->blocks[g->order[i]];

        for (int k = 0; k < b->insn_count && !bad; k++)
            bad = test_insn(&a, &b->insns[k], g->order[i]);
    }
    return bad ? kiln_fail(err, KILN_E_MEMORY, "%s: out of memory",
                           g->func->name)
               : KILN_OK;
}
