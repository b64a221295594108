/* SPDX-License-Identifier: MIT
 *
 * Which blocks always run with the same lanes. Behind a branch whose sides
 * meet again the lanes are those of before, and the mask is the one of
 * before: where it was all lanes, it is known to be all lanes again, and no
 * mask is carried through the branch.
 *
 * Block j runs with the lanes of its dominator d when both are in the same
 * innermost loop and every way from d leads to j within one iteration. What
 * "every way" means is asked of the forward edges alone: a back edge stands
 * for all ways out of its loop, since whoever goes round leaves there at
 * last. The header of a loop that no lane leaves before the others runs with
 * the lanes of its preheader.
 */
#include "cpu/jit/graph.h"

struct alike {
    struct graph *g;
    int *after;      /* by position: the next position that every way leads
                      * to, order_count: the end */
    int *loop_after; /* by loop: the same of its ways out; GRAPH_NONE: not
                      * seen yet */
};

static int meet(const struct alike *a, int x, int y)
{
    if (x == GRAPH_NONE)
        return y;
    while (x != y) {
        if (x < y)
            x = a->after[x];
        else
            y = a->after[y];
    }
    return x;
}

/* Every edge out of a loop is noted at each loop that it leaves. */
static void note_exits(struct alike *a, int from, int to)
{
    const struct graph *g = a->g;

    for (int l = g->blocks[from].loop; l >= 0 && !graph_in_loop(g, to, l);
         l = g->loops[l].parent)
        a->loop_after[l] = meet(a, a->loop_after[l], g->blocks[to].pos);
}

static void find_after(struct alike *a)
{
    struct graph *g = a->g;
    int n = g->order_count;

    a->after[n] = n;
    for (int l = 0; l < g->loop_count; l++)
        a->loop_after[l] = GRAPH_NONE;
    /* A loop is contiguous and its latch last, but what leaves it goes
     * behind it: two sweeps, the exits of a loop before its latch. */
    for (int i = n - 1; i >= 0; i--) {
        const struct graph_block *b = &g->blocks[g->order[i]];
        int loop = b->loop, found = GRAPH_NONE;

        if (loop >= 0 && g->loops[loop].latch == g->order[i])
            for (int p = g->loops[loop].first_pos; p <= g->loops[loop].last_pos;
                 p++) {
                const struct graph_block *x = &g->blocks[g->order[p]];

                for (int s = 0; s < x->succ_count; s++)
                    if (g->blocks[x->succ[s].to].pos > g->loops[loop].last_pos)
                        note_exits(a, g->order[p], x->succ[s].to);
            }
        for (int s = 0; s < b->succ_count; s++) {
            int to = g->blocks[b->succ[s].to].pos;

            if (to > i)
                found = meet(a, found, to);
            else if (a->loop_after[loop] != GRAPH_NONE)
                found = meet(a, found, a->loop_after[loop]);
        }
        a->after[i] = found == GRAPH_NONE ? n : found;
    }
}

/* Does every way from position d lead to position j? */
static int leads_to(const struct alike *a, int d, int j)
{
    while (d < j)
        d = a->after[d];
    return d == j;
}

static int loop_of_header(const struct graph *g, int block)
{
    int l = g->blocks[block].loop;

    return l >= 0 && g->loops[l].header == block ? l : GRAPH_NONE;
}

static int preheader(const struct graph *g, int loop)
{
    const struct graph_block *h = &g->blocks[g->loops[loop].header];

    for (int p = 0; p < h->pred_count; p++)
        if (h->pred[p] != g->loops[loop].latch)
            return h->pred[p];
    return GRAPH_NONE;
}

static int find_alike(const struct alike *a, int block)
{
    const struct graph *g = a->g;
    int l = loop_of_header(g, block), d = block;

    if (l >= 0) {
        d = g->loops[l].divergent ? GRAPH_NONE : preheader(g, l);
        return d == GRAPH_NONE ? block : g->blocks[d].alike;
    }
    /* The nearest dominator that is in the same loop: where the block is not
     * alike to that one, it is not to those before it. */
    do {
        if (d == g->order[0])
            return block;
        d = g->blocks[d].idom;
    } while (g->blocks[d].loop != g->blocks[block].loop);
    return leads_to(a, g->blocks[d].pos, g->blocks[block].pos)
               ? g->blocks[d].alike
               : block;
}

enum kiln_status graph_alike(struct graph *g, struct kiln_error *err)
{
    struct alike a = {.g = g};

    a.after =
        arena_array(g->arena, (size_t)g->order_count + 1, sizeof *a.after);
    a.loop_after =
        arena_array(g->arena, (size_t)g->loop_count + 1, sizeof *a.loop_after);
    if (!a.after || !a.loop_after)
        return kiln_fail(err, KILN_E_MEMORY, "%s: out of memory",
                         g->func->name);
    find_after(&a);
    for (int i = 0; i < g->order_count; i++)
        g->blocks[g->order[i]].alike = find_alike(&a, g->order[i]);
    return KILN_OK;
}
