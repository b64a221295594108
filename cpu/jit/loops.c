/* SPDX-License-Identifier: MIT
 *
 * Natural loops, each with one preheader and one latch, and the linear order
 * that the rest rests on: topological but for back edges, every loop
 * contiguous, its header first and its latch last. Running the blocks in this
 * order, a lane that waits at a block is met there by all that can reach it.
 */
#include "cpu/jit/graph.h"

static enum kiln_status no_memory(const struct graph *g, struct kiln_error *err)
{
    return kiln_fail(err, KILN_E_MEMORY, "%s: out of memory finding loops",
                     g->func->name);
}

/* A block that jumps to `to`; all edges into `to` from preds on the wanted
 * side (dominated by it: back edges, or not: entries) go through it. */
static int gather_edges(struct graph *g, int to, int back)
{
    int block = graph_new_block(g);
    struct graph_block *target;

    if (block < 0)
        return block;
    target = &g->blocks[to];
    for (int p = 0; p < target->pred_count; p++) {
        struct graph_block *from = &g->blocks[target->pred[p]];

        if (graph_dominates(g, to, target->pred[p]) == back)
            from->succ[target->pred_edge[p]].to = block;
    }
    g->blocks[block].term = GRAPH_JUMP;
    g->blocks[block].succ_count = 1;
    g->blocks[block].succ[0] = (struct graph_edge){.from = block, .to = to};
    g->blocks[block].line = target->line;
    return block;
}

/* Both sides of a branch may now lead to one block: then it is no branch. */
static void merge_twin_edges(struct graph *g)
{
    for (int i = 0; i < g->block_count; i++) {
        struct graph_block *b = &g->blocks[i];

        if (b->succ_count == 2 && b->succ[0].to == b->succ[1].to) {
            b->succ_count = 1;
            b->term = GRAPH_JUMP;
        }
    }
}

/* Give every loop its preheader and latch. */
static enum kiln_status normalise(struct graph *g, struct kiln_error *err)
{
    int count = g->order_count;
    const int *order = g->order;

    for (int i = 0; i < count; i++) {
        int header = order[i], backs = 0;
        const struct graph_block *h = &g->blocks[header];

        for (int p = 0; p < h->pred_count; p++) {
            const struct graph_block *from = &g->blocks[h->pred[p]];

            if (from->rpo < h->rpo)
                continue;
            if (!graph_dominates(g, header, h->pred[p]))
                return kiln_fail(
                    err, KILN_E_NOT_SUPPORTED,
                    "line %u: a loop with more than one entry (kernel %s)",
                    h->line, g->func->name);
            backs++;
        }
        if (!backs)
            continue;
        if (gather_edges(g, header, 1) < 0 || gather_edges(g, header, 0) < 0)
            return no_memory(g, err);
    }
    merge_twin_edges(g);
    return KILN_OK;
}

/* Blocks from which the latch is reached without passing the header. */
static int mark_body(struct graph *g, int loop, int *stack)
{
    int depth = 0;

    g->blocks[g->loops[loop].header].loop = loop;
    if (g->loops[loop].latch != g->loops[loop].header) {
        g->blocks[g->loops[loop].latch].loop = loop;
        stack[depth++] = g->loops[loop].latch;
    }
    while (depth) {
        const struct graph_block *b = &g->blocks[stack[--depth]];

        for (int p = 0; p < b->pred_count; p++) {
            struct graph_block *from = &g->blocks[b->pred[p]];

            if (from->loop == loop)
                continue;
            from->loop = loop;
            stack[depth++] = b->pred[p];
        }
    }
    return 0;
}

/* One loop a header, outer ones first: headers come in RPO. */
static enum kiln_status find_loops(struct graph *g, int *stack,
                                   struct kiln_error *err)
{
    for (int i = 0; i < g->order_count; i++) {
        int header = g->order[i];
        const struct graph_block *h = &g->blocks[header];

        for (int p = 0; p < h->pred_count; p++) {
            struct graph_loop *loops;

            if (g->blocks[h->pred[p]].rpo < h->rpo)
                continue;
            loops = arena_grow(g->arena, g->loops, (size_t)g->loop_count,
                               &g->loop_cap, sizeof *loops);
            if (!loops)
                return no_memory(g, err);
            g->loops = loops;
            loops[g->loop_count] = (struct graph_loop){
                .header = header, .latch = h->pred[p], .parent = h->loop};
            mark_body(g, g->loop_count++, stack);
        }
    }
    return KILN_OK;
}

/* The linear order. Items of a loop (its blocks and its inner loops, these
 * at the place of their header) in RPO; items are chained by `next`, loops
 * as items are numbered after the blocks. */
static enum kiln_status linearise(struct graph *g, int *stack,
                                  struct kiln_error *err)
{
    int items = g->block_count + g->loop_count, depth = 0, at, count = 0;
    size_t lists = (size_t)g->loop_count + 1;
    int *next = arena_array(g->arena, (size_t)items, sizeof *next);
    int *head = arena_array(g->arena, lists, sizeof *head);
    int *tail = arena_array(g->arena, lists, sizeof *tail);
    int *order = arena_array(g->arena, (size_t)g->order_count, sizeof *order);

    if (!next || !head || !tail || !order)
        return no_memory(g, err);
    for (int i = 0; i <= g->loop_count; i++)
        head[i] = tail[i] = GRAPH_NONE;
    for (int i = 0; i < g->order_count; i++) {
        int block = g->order[i], loop = g->blocks[block].loop;
        int append[2], lists_of[2], n = 0;

        if (loop >= 0 && g->loops[loop].header == block) {
            append[n] = g->block_count + loop;
            lists_of[n++] = g->loops[loop].parent + 1;
        }
        append[n] = block;
        lists_of[n++] = loop + 1;
        for (int k = 0; k < n; k++) {
            int l = lists_of[k];

            next[append[k]] = GRAPH_NONE;
            if (tail[l] == GRAPH_NONE)
                head[l] = append[k];
            else
                next[tail[l]] = append[k];
            tail[l] = append[k];
        }
    }
    at = head[0];
    while (at != GRAPH_NONE || depth) {
        if (at == GRAPH_NONE) {
            at = stack[--depth];
            g->loops[at - g->block_count].last_pos = count - 1;
            at = next[at];
        } else if (at >= g->block_count) {
            g->loops[at - g->block_count].first_pos = count;
            stack[depth++] = at;
            at = head[at - g->block_count + 1];
        } else {
            g->blocks[at].pos = count;
            order[count++] = at;
            at = next[at];
        }
    }
    g->order = order;
    return KILN_OK;
}

enum kiln_status graph_loops(struct graph *g, struct kiln_error *err)
{
    enum kiln_status st;
    int *stack;

    st = graph_order(g, err);
    if (!st)
        st = normalise(g, err);
    if (!st)
        st = graph_order(g, err);
    if (st)
        return st;
    stack =
        arena_array(g->arena, (size_t)g->block_count * 2 + 1, sizeof *stack);
    if (!stack)
        return no_memory(g, err);
    st = find_loops(g, stack, err);
    return st ? st : linearise(g, stack, err);
}
