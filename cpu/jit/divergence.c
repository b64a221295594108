/* SPDX-License-Identifier: MIT
 *
 * Where the lanes that a branch parts may meet again. From the two sides of a
 * divergent branch two labels run forward in the linear order; a block that
 * both reach is one where lanes arrive over several edges ("mixing"), and
 * goes on with a label of its own. A label that leaves a loop while another
 * one goes round makes the loop divergent: its lanes leave it at different
 * iterations.
 */
#include "cpu/jit/divergence.h"

enum { NO_LABEL = 0, FIRST = 1, SECOND = 2, OWN = 3 };

static int edge_label(const struct graph *g, const int *labels, int branch,
                      int from, int succ)
{
    if (from == branch)
        return succ ? SECOND : FIRST;
    return labels[g->blocks[from].pos];
}

/* The label at `block`: merged over its forward edges. */
static int merge(struct graph *g, const int *labels, int branch, int block)
{
    struct graph_block *b = &g->blocks[block];
    int found = NO_LABEL;

    for (int p = 0; p < b->pred_count; p++) {
        int label;

        if (g->blocks[b->pred[p]].pos >= b->pos)
            continue;
        label = edge_label(g, labels, branch, b->pred[p], b->pred_edge[p]);
        if (label == NO_LABEL || label == found)
            continue;
        if (found != NO_LABEL) {
            b->mixing = 1;
            return OWN + b->pos;
        }
        found = label;
    }
    return found;
}

/* At the latch of a loop around the branch: do some lanes leave the loop
 * while others go on? Then every exit mixes iterations. */
static void close_loop(struct graph *g, int *labels, int branch, int loop)
{
    struct graph_loop *l = &g->loops[loop];
    int latch = labels[g->blocks[l->latch].pos], leaves = 0;

    if (latch == NO_LABEL)
        return;
    for (int pass = 0; pass < 2; pass++) {
        for (int pos = l->first_pos; pos <= l->last_pos; pos++) {
            struct graph_block *b = &g->blocks[g->order[pos]];

            if (pass && labels[pos] == NO_LABEL && g->order[pos] != branch)
                labels[pos] = latch;
            for (int s = 0; s < b->succ_count; s++) {
                int to = b->succ[s].to, label;

                if (graph_in_loop(g, to, loop))
                    continue;
                label = edge_label(g, labels, branch, g->order[pos], s);
                if (pass)
                    g->blocks[to].mixing = 1;
                else
                    leaves |= label != NO_LABEL && label != latch;
            }
        }
        if (!leaves)
            return;
        l->divergent = 1;
    }
}

static int farthest(const struct graph *g, int block, int reach)
{
    const struct graph_block *b = &g->blocks[block];

    for (int s = 0; s < b->succ_count; s++)
        if (g->blocks[b->succ[s].to].pos > reach)
            reach = g->blocks[b->succ[s].to].pos;
    return reach;
}

void divergence_spread(struct graph *g, int branch, int *labels)
{
    int start = g->blocks[branch].pos, reach = farthest(g, branch, start);
    int lowest = start;

    for (int l = g->blocks[branch].loop; l >= 0; l = g->loops[l].parent)
        lowest = g->loops[l].first_pos;
    for (int pos = lowest; pos < g->order_count; pos++)
        labels[pos] = NO_LABEL;
    for (int pos = start + 1; pos < g->order_count; pos++) {
        int block = g->order[pos], loop;

        labels[pos] = merge(g, labels, branch, block);
        if (labels[pos] == NO_LABEL)
            continue;
        if (pos >= reach)
            return; /* all that the branch parted is here */
        reach = farthest(g, block, reach);
        loop = g->blocks[block].loop;
        if (loop >= 0 && g->loops[loop].latch == block &&
            graph_in_loop(g, branch, loop)) {
            close_loop(g, labels, branch, loop);
            for (int p = g->loops[loop].first_pos; p <= pos; p++)
                if (labels[p] != NO_LABEL)
                    reach = farthest(g, g->order[p], reach);
        }
    }
}
