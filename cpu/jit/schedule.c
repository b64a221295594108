/* SPDX-License-Identifier: MIT
 *
 * Where control goes while a warp is parted. The blocks run in linear order.
 * A divergent branch defers both of its edges: the lanes wait at the targets,
 * and control goes to the first block in order where lanes may wait. An edge
 * of a uniform branch is followed at once unless that would pass over waiting
 * lanes; then its lanes wait too.
 *
 * A deferred edge d -> y means that lanes may wait at y while control is
 * anywhere from d to y, and anywhere in a loop around d that y is outside of.
 */
#include "cpu/jit/graph.h"

int graph_interval_start(const struct graph *g, const struct graph_edge *e)
{
    int start = g->blocks[e->from].pos;

    for (int l = g->blocks[e->from].loop; l >= 0; l = g->loops[l].parent) {
        if (graph_in_loop(g, e->to, l))
            break;
        start = g->loops[l].first_pos;
    }
    return start;
}

static int find(int *up, int i)
{
    while (up[i] != i) {
        up[i] = up[up[i]];
        i = up[i];
    }
    return i;
}

/* next[pos]: the least end of a deferred interval that covers pos, which it
 * does from its start + `behind` on. Targets are visited by position, so the
 * first to cover a place is the least; `up` skips the places already
 * covered. */
static void cover(const struct graph *g, int *next, int *up, int behind)
{
    int n = g->order_count;

    for (int i = 0; i <= n; i++) {
        next[i] = GRAPH_NONE;
        up[i] = i;
    }
    for (int end = 0; end < n; end++) {
        const struct graph_block *b = &g->blocks[g->order[end]];

        for (int p = 0; p < b->pred_count; p++) {
            const struct graph_edge *e =
                &g->blocks[b->pred[p]].succ[b->pred_edge[p]];

            if (!e->deferred)
                continue;
            for (int i = find(up, graph_interval_start(g, e) + behind); i < end;
                 i = find(up, i)) {
                next[i] = end;
                up[i] = i + 1;
            }
        }
    }
}

/* Defer the edges that would pass over a waiting block. */
static int defer_passing(struct graph *g, const int *next)
{
    int changed = 0;

    for (int i = 0; i < g->order_count; i++) {
        struct graph_block *b = &g->blocks[g->order[i]];

        for (int s = 0; s < b->succ_count; s++) {
            struct graph_edge *e = &b->succ[s];
            int to = g->blocks[e->to].pos;

            if (e->deferred || to <= i || next[i] == GRAPH_NONE ||
                next[i] >= to)
                continue;
            e->deferred = 1;
            changed = 1;
        }
    }
    return changed;
}

enum kiln_status graph_schedule(struct graph *g, struct kiln_error *err)
{
    size_t n = (size_t)g->order_count + 1;
    int *next = arena_array(g->arena, n, sizeof *next);
    int *up = arena_array(g->arena, n, sizeof *up);

    if (!next || !up)
        return kiln_fail(err, KILN_E_MEMORY, "%s: out of memory",
                         g->func->name);
    for (int i = 0; i < g->order_count; i++) {
        struct graph_block *b = &g->blocks[g->order[i]];

        for (int s = 0; b->divergent && s < b->succ_count; s++)
            b->succ[s].deferred = 1;
    }
    do
        cover(g, next, up, 0);
    while (defer_passing(g, next));
    for (int i = 0; i < g->order_count; i++) {
        struct graph_block *b = &g->blocks[g->order[i]];

        b->next = next[i] == GRAPH_NONE ? GRAPH_NONE : g->order[next[i]];
        for (int s = 0; s < b->succ_count; s++)
            if (b->succ[s].deferred)
                g->blocks[b->succ[s].to].pending = 1;
    }
    /* Lanes on the edges out of a block wait nowhere unless it ran. */
    cover(g, next, up, 1);
    for (int i = 0; i < g->order_count; i++)
        g->blocks[g->order[i]].skip =
            next[i] == GRAPH_NONE ? GRAPH_NONE : g->order[next[i]];
    return KILN_OK;
}
