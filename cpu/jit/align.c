/* SPDX-License-Identifier: MIT
 *
 * Which accesses have to be tested for alignment. What an access needs is a
 * test of the value that its address is made from (residue.c), and after one
 * the accesses that it dominates need no other. Where a loop comes to the
 * access in any case, the value is tested before the loop. So a kernel tests
 * each pointer that it was given about once.
 */
#include "cpu/jit/align.h"

#include <limits.h>
#include <string.h>

#include "cpu/jit/access.h"
#include "cpu/jit/residue.h"

enum {
    KEPT = 8 /* tests of a value that are looked at */
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
    struct residues known;
    struct tested **tested; /* by value */
    struct subtree *tree;   /* by block */
    struct ends *ends;      /* by loop */
};

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

static int add_test(struct align *a, struct graph_insn *insn, int block,
                    const struct access_at *at)
{
    const int k = at->k;
    const uint32_t bytes = at->bytes;
    const struct ptx_operand *o = &insn->ptx->operands[k];
    struct residue r = residue_operand(&a->known, insn, k);
    struct graph_test t = {.of = insn->ptx,
                           .k = k,
                           .space = at->space,
                           .bytes = bytes,
                           .lanes = at->lanes};
    int place;

    if (bytes < 2)
        return 0;
    if (!r.known || (uint32_t)1 << r.bits < bytes) {
        if (o->kind != PTX_OPERAND_ADDR_REG)
            return 0;
        r = residue_itself(insn->val[k]);
        r.add = (uint32_t)o->ival;
    }
    t.value = r.value;
    t.add = r.add & (bytes - 1);
    if (t.value == GRAPH_NONE ? !t.add : was_tested(a, &t, block))
        return 0;
    place = place_of_test(a, t.value, block);
    if (append(a, list_for(a, insn, &t, block, place), &t))
        return -1;
    return t.value != GRAPH_NONE && at->lanes == ACCESS_ALL
               ? remember(a, &t, place)
               : 0;
}

static int test_insn(struct align *a, struct graph_insn *insn, int block)
{
    struct access_at list[ACCESSES];
    const int n = access_list(insn, list);
    int bad = 0;

    for (int i = 0; i < n && !bad; i++)
        bad = add_test(a, insn, block, &list[i]);
    return bad;
}

enum kiln_status align_find(struct graph *g, const struct layout_kernel *layout,
                            struct kiln_error *err)
{
    struct align a = {.g = g};
    const size_t n = (size_t)g->value_count;
    enum kiln_status st = residue_find(&a.known, g, layout, g->arena, err);
    int bad;

    if (st)
        return st;
    a.tested = arena_array(g->arena, n, sizeof *a.tested);
    a.tree = arena_array(g->arena, (size_t)g->block_count, sizeof *a.tree);
    a.ends = arena_array(g->arena, (size_t)g->loop_count + 1, sizeof *a.ends);
    bad = (n && !a.tested) || !a.tree || !a.ends;
    if (!bad) {
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
