/* SPDX-License-Identifier: MIT
 *
 * Which waiting loops may wait for lanes of their own warp.
 *
 * Blocks run in linear order, and a loop until no lane is left in it. A lane
 * that has left a loop early, or that took the other side of a branch, waits
 * meanwhile; if the loop waits for what that lane would do next (give back a
 * lock, raise a flag) it never ends. On a GPU since Volta it does.
 *
 * So the blocks that such lanes would run are made part of the loop: from
 * each place behind which all lanes meet anyway (a barrier, a warp operation,
 * the end of the round of a loop around, the kernel's end) an edge that is
 * never taken leads back to the loop's start. Then lanes that got through run
 * on to that place within the round, while those that have to wait are held
 * at its end. Loops inside that loop, and lanes on the other side of a branch
 * before it, take part by a common start, which looks up where a lane goes on
 * (escape_apply.c). Compare ElTantawy and Aamodt, "MIMD Synchronization on
 * SIMT Architectures", MICRO 2016.
 *
 * It costs: values of the loop are kept by lane. So it is done only where
 * lanes may stand elsewhere before something that others can see.
 */
#include "cpu/jit/escape.h"

struct finder {
    const struct graph *g;
    struct escape_plan *plan;
    int *stack;
    uint8_t *region, *reaches, *seen; /* by block */
};

int escape_is_meeting(const struct ptx_insn *insn)
{
    switch (insn->op) {
    case PTX_OP_BAR:
    case PTX_OP_BARRIER:
    case PTX_OP_SHFL:
    case PTX_OP_VOTE:
    case PTX_OP_MATCH:
    case PTX_OP_REDUX:
    case PTX_OP_ELECT:
    case PTX_OP_LDMATRIX:
    case PTX_OP_STMATRIX:
    case PTX_OP_MOVMATRIX:
    case PTX_OP_MMA:
    case PTX_OP_WMMA:
        return 1;
    default:
        return 0;
    }
}

int escape_meeting_at(const struct graph_block *b)
{
    int i = 0;

    while (i < b->insn_count && (b->insns[i].kind != GRAPH_INSN_PTX ||
                                 !escape_is_meeting(b->insns[i].ptx)))
        i++;
    return i;
}

static int is_meeting_block(const struct graph_block *b)
{
    return escape_meeting_at(b) < b->insn_count;
}

static int is_seen(const struct ptx_insn *p)
{
    switch (p->op) {
    case PTX_OP_ST:
        return p->space != PTX_SPACE_LOCAL && p->space != PTX_SPACE_PARAM;
    case PTX_OP_ATOM:
    case PTX_OP_RED:
    case PTX_OP_CALL:
    case PTX_OP_MBARRIER:
    case PTX_OP_CP:
    case PTX_OP_MULTIMEM:
    case PTX_OP_SUST:
    case PTX_OP_SURED:
        return 1;
    default:
        return 0;
    }
}

/* Does the block do what others can see, before its lanes meet? */
static int has_effect(const struct graph_block *b)
{
    const int end = escape_meeting_at(b);

    for (int i = 0; i < end; i++)
        if (b->insns[i].kind == GRAPH_INSN_PTX && is_seen(b->insns[i].ptx))
            return 1;
    return 0;
}

/* --- sets of blocks --- */

static void clear(const struct finder *f, uint8_t *set)
{
    for (int i = 0; i < f->g->block_count; i++)
        set[i] = 0;
}

static int add(const struct finder *f, uint8_t *set, int block, int depth)
{
    if (set[block])
        return depth;
    set[block] = 1;
    f->stack[depth++] = block;
    return depth;
}

static int in_loop(const struct graph *g, int block, int loop)
{
    return loop == GRAPH_NONE || graph_in_loop(g, block, loop);
}

/* May lanes run into block y without all of them meeting there? */
static int goes_on_into(const struct graph *g, int start, int around, int y)
{
    const struct graph_block *b = &g->blocks[y];

    return graph_dominates(g, start, y) && in_loop(g, y, around) &&
           (around == GRAPH_NONE || y != g->loops[around].header) &&
           !(is_meeting_block(b) && escape_meeting_at(b) == 0);
}

/* What runs from `start` on (its end, with is_before) until lanes meet. */
static void find_region(const struct finder *f, int start, int is_before,
                        int around)
{
    const struct graph *g = f->g;
    int depth = 0;

    clear(f, f->region);
    if (is_before)
        for (int s = 0; s < g->blocks[start].succ_count; s++) {
            const int to = g->blocks[start].succ[s].to;

            if (goes_on_into(g, start, around, to))
                depth = add(f, f->region, to, depth);
        }
    else
        depth = add(f, f->region, start, depth);
    while (depth) {
        const struct graph_block *b = &g->blocks[f->stack[--depth]];

        for (int s = 0; !is_meeting_block(b) && s < b->succ_count; s++)
            if (goes_on_into(g, start, around, b->succ[s].to))
                depth = add(f, f->region, b->succ[s].to, depth);
    }
}

/* The blocks of the region that lead to `header`. */
static void find_reaching(const struct finder *f, int header)
{
    const struct graph *g = f->g;
    int depth = 0;

    clear(f, f->reaches);
    depth = add(f, f->reaches, header, depth);
    while (depth) {
        const struct graph_block *b = &g->blocks[f->stack[--depth]];

        for (int p = 0; p < b->pred_count; p++)
            if (f->region[b->pred[p]])
                depth = add(f, f->reaches, b->pred[p], depth);
    }
}

/* Is there an effect on a way from `from`, in the region and not through
 * `header` or the loop? */
static int leads_to_effect(const struct finder *f, int from, int header,
                           int loop)
{
    const struct graph *g = f->g;
    int depth = 0;

    if (!f->region[from])
        return 0;
    clear(f, f->seen);
    depth = add(f, f->seen, from, depth);
    while (depth) {
        const int at = f->stack[--depth];
        const struct graph_block *b = &g->blocks[at];

        if (at == header || graph_in_loop(g, at, loop))
            continue;
        if (has_effect(b))
            return 1;
        for (int s = 0; s < b->succ_count; s++)
            if (f->region[b->succ[s].to])
                depth = add(f, f->seen, b->succ[s].to, depth);
    }
    return 0;
}

/* --- hazards --- */

/* All lanes that run in the loop around are together at the block. */
static int is_together(const struct graph *g, int block, int around)
{
    const struct graph_block *b = &g->blocks[block];
    const int first =
        around == GRAPH_NONE ? g->order[0] : g->loops[around].header;

    return b->loop == around &&
           (b->alike == g->blocks[first].alike || is_meeting_block(b));
}

static int preheader(const struct graph *g, int loop)
{
    const struct graph_block *h = &g->blocks[g->loops[loop].header];

    for (int p = 0; p < h->pred_count; p++)
        if (h->pred[p] != g->loops[loop].latch)
            return h->pred[p];
    return GRAPH_NONE;
}

/* Where lanes were last together before the loop; *is_before: at the end of
 * that block, not at the loop itself. */
static int find_start(const struct graph *g, int loop, int around,
                      int fresh_count, int *is_before)
{
    int at = preheader(g, loop);

    *is_before = 0;
    if (at == GRAPH_NONE || is_together(g, at, around))
        return g->loops[loop].header;
    *is_before = 1;
    while (at != g->order[0] &&
           !(is_together(g, at, around) && at < fresh_count))
        at = g->blocks[at].idom;
    return at;
}

/* Lanes that part at block d, one side of which leads to the loop. */
static int parts(const struct finder *f, int d, int header, int loop)
{
    const struct graph_block *b = &f->g->blocks[d];

    for (int s = 0; b->divergent && s < b->succ_count; s++)
        if (f->reaches[b->succ[!s].to] &&
            leads_to_effect(f, b->succ[s].to, header, loop))
            return 1;
    return 0;
}

/* May lanes stand outside the loop, before an effect, while others wait in
 * it? */
static int is_hazard(const struct finder *f, int start, int is_before, int loop,
                     int around)
{
    const struct graph *g = f->g;
    const struct graph_loop *l = &g->loops[loop];

    find_region(f, start, is_before, around);
    if (l->divergent)
        for (int i = l->first_pos; i <= l->last_pos; i++) {
            const struct graph_block *b = &g->blocks[g->order[i]];

            for (int s = 0; s < b->succ_count; s++)
                if (!graph_in_loop(g, b->succ[s].to, loop) &&
                    leads_to_effect(f, b->succ[s].to, l->header, loop))
                    return 1;
        }
    find_reaching(f, l->header);
    if (is_before && parts(f, start, l->header, loop))
        return 1;
    for (int i = 0; i < g->order_count; i++)
        if (f->region[g->order[i]] && f->reaches[g->order[i]] &&
            !graph_in_loop(g, g->order[i], loop) &&
            parts(f, g->order[i], l->header, loop))
            return 1;
    return 0;
}

static int has_meeting(const struct graph *g, int loop)
{
    for (int i = g->loops[loop].first_pos; i <= g->loops[loop].last_pos; i++)
        if (is_meeting_block(&g->blocks[g->order[i]]))
            return 1;
    return 0;
}

/* --- groups --- */

static int add_header(const struct finder *f, struct escape_group *group,
                      int header)
{
    int *headers;

    for (int i = 0; i < group->header_count; i++)
        if (group->headers[i] == header)
            return 0;
    headers =
        arena_grow(f->g->arena, group->headers, (size_t)group->header_count,
                   &group->header_cap, sizeof *headers);
    if (!headers)
        return -1;
    group->headers = headers;
    headers[group->header_count++] = header;
    return 0;
}

static struct escape_group *new_group(const struct finder *f, int around)
{
    struct escape_plan *p = f->plan;
    const struct graph *g = f->g;
    struct escape_group *groups = arena_grow(
        g->arena, p->groups, (size_t)p->count, &p->cap, sizeof *groups);
    uint8_t **inside =
        arena_array(g->arena, (size_t)p->count + 1, sizeof *inside);

    if (!groups || !inside)
        return NULL;
    for (int i = 0; i < p->count; i++)
        inside[i] = p->inside[i];
    inside[p->count] = arena_array(g->arena, (size_t)p->block_count, 1);
    if (!inside[p->count])
        return NULL;
    for (int b = 0; b < p->block_count; b++)
        inside[p->count][b] = (uint8_t)in_loop(g, b, around);
    p->groups = groups;
    p->inside = inside;
    groups[p->count] = (struct escape_group){
        .loop_header =
            around == GRAPH_NONE ? GRAPH_NONE : g->loops[around].header};
    return &groups[p->count++];
}

/* A group in the same loop around that the loop is in the way of, or that is
 * in its way. f->region is the loop's. */
static struct escape_group *find_group(const struct finder *f, int loop,
                                       int start, int is_before, int around)
{
    const struct graph *g = f->g;
    const int header = g->loops[loop].header;
    const int loop_header =
        around == GRAPH_NONE ? GRAPH_NONE : g->loops[around].header;

    for (int i = 0; i < f->plan->count; i++) {
        struct escape_group *group = &f->plan->groups[i];

        if (group->loop_header != loop_header)
            continue;
        if (f->region[group->headers[0]]) {
            group->start = start;
            group->is_before = is_before;
            return group;
        }
        find_region(f, group->start, group->is_before, around);
        if (f->region[header])
            return group;
        find_region(f, start, is_before, around);
    }
    return NULL;
}

/* The loop and those in it that `inner` is in become one. */
static int take_part(const struct finder *f, int inner, int outer, int start,
                     int is_before, int around)
{
    struct escape_group *group = find_group(f, outer, start, is_before, around);

    if (!group) {
        group = new_group(f, around);
        if (!group)
            return -1;
        group->start = start;
        group->is_before = is_before;
    }
    for (int l = inner;; l = f->g->loops[l].parent) {
        if (add_header(f, group, f->g->loops[l].header))
            return -1;
        if (l == outer)
            return 0;
    }
}

/* The outermost loop around `inner` at which lanes may be in each other's
 * way. */
static int look_at(const struct finder *f, int inner)
{
    const struct graph *g = f->g;
    int chain[64], n = 0;

    for (int l = inner; l >= 0 && n < 64 && !has_meeting(g, l);
         l = g->loops[l].parent)
        chain[n++] = l;
    while (n--) {
        const int around = g->loops[chain[n]].parent;
        int is_before, start = find_start(g, chain[n], around,
                                          f->plan->block_count, &is_before);

        if (is_hazard(f, start, is_before, chain[n], around)) {
            find_region(f, start, is_before, around);
            return take_part(f, inner, chain[n], start, is_before, around);
        }
    }
    return 0;
}

enum kiln_status escape_find(const struct graph *g, int fresh_count,
                             struct escape_plan *plan, struct kiln_error *err)
{
    const size_t n = (size_t)g->block_count;
    struct finder f = {.g = g, .plan = plan};
    int bad = 0;

    *plan = (struct escape_plan){.block_count = fresh_count};
    f.stack = arena_array(g->arena, n, sizeof *f.stack);
    f.region = arena_array(g->arena, n, 1);
    f.reaches = arena_array(g->arena, n, 1);
    f.seen = arena_array(g->arena, n, 1);
    if (!f.stack || !f.region || !f.reaches || !f.seen)
        bad = 1;
    for (int l = 0; !bad && l < g->loop_count; l++)
        if (g->loops[l].waits == GRAPH_WAITS_FOR_OTHERS)
            bad = look_at(&f, l);
    return bad ? kiln_fail(err, KILN_E_MEMORY, "%s: out of memory",
                           g->func->name)
               : KILN_OK;
}
