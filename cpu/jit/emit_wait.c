/* SPDX-License-Identifier: MIT
 *
 * What a warp keeps across a barrier: values that are used behind it; for
 * divergent loops around it, the values that lanes left with; and where
 * lanes wait at blocks further on, their masks and the phis they stored.
 *
 * Each value has one place in the frame. It is stored at a barrier only if
 * no barrier on the way from its definition did, and loaded behind one only
 * if it is read before the next.
 */
#include "cpu/jit/emit_wait.h"

#include <stddef.h>

#include "cpu/exec/abi.h"
#include "cpu/jit/align.h"

enum { LARGEST_FRAME = 128 << 10, FLOW_WORDS_MAX = 16 << 20 };

/* --- dataflow over blocks: rows of bits, one a value --- */

struct flow {
    size_t words;
    uint64_t *use;  /* read in the block, made in another */
    uint64_t *live; /* live where the block starts */
    uint64_t *home; /* in the frame already, on every path to its start */
    uint64_t *need; /* live there and read before the next barrier */
};

static void set(uint64_t *row, int i)
{
    row[i / 64] |= 1ull << (i % 64);
}

static int get(const uint64_t *row, int i)
{
    return row[i / 64] >> (i % 64) & 1;
}

static uint64_t *row(const struct flow *f, uint64_t *rows, int block)
{
    return rows + (size_t)block * f->words;
}

static void note_use(struct emit *e, struct flow *f, int value, int block)
{
    if (value != GRAPH_NONE && e->g->values[value].block != block)
        set(row(f, f->use, block), value);
}

static void note_tests(struct emit *e, struct flow *f,
                       const struct graph_tests *tests, int block)
{
    for (int i = 0; i < tests->count; i++)
        note_use(e, f, tests->list[i].value, block);
}

static void note_block(struct emit *e, struct flow *f, int at)
{
    const struct graph_block *b = &e->g->blocks[at];

    for (int k = 0; k < b->insn_count; k++) {
        const struct graph_insn *in = &b->insns[k];
        int from = in->kind == GRAPH_INSN_SELECT ? 1 : in->ptx->dst_count;

        for (int o = from; o < PTX_MAX_OPERANDS; o++) {
            note_use(e, f, in->val[o], at);
            for (int j = 0; in->vec[o] && j < in->ptx->operands[o].count; j++)
                note_use(e, f, in->vec[o][j], at);
        }
        note_use(e, f, in->guard, at);
        note_use(e, f, in->cc_use, at);
        note_tests(e, f, &in->tests, at);
    }
    note_use(e, f, b->guard, at);
    note_tests(e, f, &b->first, at);
    note_tests(e, f, &b->last, at);
    for (int p = 0; p < b->phi_count; p++)
        for (int k = 0; k < b->pred_count; k++)
            note_use(e, f, b->phis[p].in[k], b->pred[k]);
}

/* Add to `in` what `out` has and the block does not make. */
static int take(struct emit *e, const struct flow *f, uint64_t *in,
                const uint64_t *out, int at)
{
    int changed = 0;

    for (size_t w = 0; w < f->words; w++)
        for (uint64_t more = out[w] & ~in[w]; more; more &= more - 1) {
            int v = (int)(w * 64) + __builtin_ctzll(more);

            if (e->g->values[v].block == at)
                continue;
            set(in, v);
            changed = 1;
        }
    return changed;
}

static void solve_live(struct emit *e, struct flow *f)
{
    struct graph *g = e->g;
    int changed = 1;

    while (changed) {
        changed = 0;
        for (int i = g->order_count - 1; i >= 0; i--) {
            int at = g->order[i];
            uint64_t *in = row(f, f->live, at);

            changed |= take(e, f, in, row(f, f->use, at), at);
            for (int s = 0; s < g->blocks[at].succ_count; s++)
                changed |= take(e, f, in,
                                row(f, f->live, g->blocks[at].succ[s].to), at);
        }
    }
}

/* Whether value v is in its place in the frame at the end of the block. */
static uint64_t home_out(struct emit *e, const struct flow *f, int at, size_t w)
{
    uint64_t out = row(f, f->home, at)[w];

    for (uint64_t left = out; left; left &= left - 1) {
        int v = (int)(w * 64) + __builtin_ctzll(left);

        if (e->g->values[v].block == at)
            out &= ~(1ull << (v % 64));
    }
    return out;
}

/* All values whose bits word w has. */
static uint64_t all_values(const struct emit *e, size_t w)
{
    const size_t left = (size_t)e->g->value_count - w * 64;

    return left < 64 ? (1ull << left) - 1 : UINT64_MAX;
}

/* Forward, from "everywhere" down: a barrier brings home all that is live. */
static void solve_home(struct emit *e, struct flow *f)
{
    struct graph *g = e->g;
    int changed = 1;

    for (int i = 1; i < g->order_count; i++)
        for (size_t w = 0; w < f->words; w++)
            row(f, f->home, g->order[i])[w] = all_values(e, w);
    while (changed) {
        changed = 0;
        for (int i = 1; i < g->order_count; i++) {
            int at = g->order[i];
            const struct graph_block *b = &g->blocks[at];

            for (size_t w = 0; w < f->words; w++) {
                uint64_t in = all_values(e, w), *now = &row(f, f->home, at)[w];

                for (int p = 0; p < b->pred_count; p++) {
                    uint64_t out = home_out(e, f, b->pred[p], w);

                    if (g->blocks[b->pred[p]].waits)
                        out |= row(f, f->live, at)[w];
                    in &= out;
                }
                changed |= in != *now;
                *now = in;
            }
        }
    }
}

/* What a barrier at the end of `at` has to store: live behind it, not home. */
static uint64_t to_store(struct emit *e, const struct flow *f, int at, size_t w)
{
    int behind = e->g->blocks[at].succ[0].to;

    return row(f, f->live, behind)[w] & ~home_out(e, f, at, w);
}

static void solve_need(struct emit *e, struct flow *f, uint64_t *scratch)
{
    struct graph *g = e->g;
    int changed = 1;

    while (changed) {
        changed = 0;
        for (int i = g->order_count - 1; i >= 0; i--) {
            int at = g->order[i];
            const struct graph_block *b = &g->blocks[at];
            uint64_t *in = row(f, f->need, at);

            changed |= take(e, f, in, row(f, f->use, at), at);
            if (b->waits) {
                for (size_t w = 0; w < f->words; w++)
                    scratch[w] = to_store(e, f, at, w);
                changed |= take(e, f, in, scratch, at);
                continue;
            }
            for (int s = 0; s < b->succ_count; s++)
                changed |= take(e, f, in, row(f, f->need, b->succ[s].to), at);
        }
    }
}

static int solve(struct emit *e, struct flow *f)
{
    struct graph *g = e->g;
    uint64_t **rows[] = {&f->use, &f->live, &f->home, &f->need}, *scratch;
    size_t cells;

    f->words = ((size_t)g->value_count + 63) / 64;
    if (__builtin_mul_overflow(f->words, (size_t)g->block_count, &cells) ||
        cells > FLOW_WORDS_MAX)
        return -1;
    for (int i = 0; i < 4; i++) {
        *rows[i] = arena_array(g->arena, cells, sizeof **rows[i]);
        if (!*rows[i])
            return -1;
    }
    scratch = arena_array(g->arena, f->words, sizeof *scratch);
    if (!scratch)
        return -1;
    for (int i = 0; i < g->order_count; i++)
        note_block(e, f, g->order[i]);
    solve_live(e, f);
    solve_home(e, f);
    solve_need(e, f, scratch);
    return 0;
}

/* --- what to keep --- */

static int in_divergent_loop_of(const struct graph *g, int value, int block)
{
    int l = g->blocks[g->values[value].block].loop;

    for (; l >= 0; l = g->loops[l].parent)
        if (g->loops[l].divergent && graph_in_loop(g, block, l))
            return 1;
    return 0;
}

/* Lanes may wait at y while control is at the end of block b. */
static int waits_across(const struct graph *g, int y, int b)
{
    const struct graph_block *to = &g->blocks[y];
    int at = g->blocks[b].pos;

    if (to->pos <= at)
        return 0;
    for (int p = 0; p < to->pred_count; p++) {
        const struct graph_edge *edge =
            &g->blocks[to->pred[p]].succ[to->pred_edge[p]];

        if (edge->deferred && graph_interval_start(g, edge) <= at)
            return 1;
    }
    return 0;
}

/* The slot's place in the frame, given on first use. */
static struct emit_place *place_of(struct emit *e, struct emit_slot *s, int c)
{
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(e->l.module);
    struct emit_place *p = &s->place[c];
    uint64_t bytes, align = 1;

    if (p->align)
        return p;
    bytes = LLVMStoreSizeOfType(layout, LLVMGetAllocatedType(s->at[c]));
    while (align < bytes && align < 64)
        align *= 2;
    e->frame_bytes =
        (e->frame_bytes + (uint32_t)align - 1) & ~((uint32_t)align - 1);
    *p = (struct emit_place){s->at[c], e->frame_bytes, (uint32_t)align};
    e->frame_bytes += (uint32_t)bytes;
    return p;
}

static int add(struct emit *e, struct emit_kept *k, struct emit_slot *s)
{
    if (!s->place && s->count) {
        s->place = arena_array(e->g->arena, (size_t)s->count, sizeof *s->place);
        if (!s->place)
            return -1;
    }
    for (int c = 0; c < s->count; c++) {
        struct emit_place *places = arena_grow(
            e->g->arena, k->places, (size_t)k->count, &k->cap, sizeof *places);

        if (!places)
            return -1;
        k->places = places;
        places[k->count++] = *place_of(e, s, c);
    }
    return 0;
}

static int keep(struct emit *e, struct emit_wait *w, struct emit_slot *s)
{
    return add(e, &w->store, s) | add(e, &w->load, s);
}

static int keep_values(struct emit *e, struct emit_wait *w,
                       const struct flow *f, int block)
{
    struct graph *g = e->g;
    int behind = g->blocks[block].succ[0].to, bad = 0;

    for (int v = 0; v < g->value_count; v++) {
        int live = get(row(f, f->live, behind), v);
        int gone = graph_outlives(g, v, block);

        if (!gone && to_store(e, f, block, (size_t)v / 64) >> (v % 64) & 1)
            bad |= add(e, &w->store, &e->slot[v]);
        if (!gone && live && get(row(f, f->need, behind), v))
            bad |= add(e, &w->load, &e->slot[v]);
        if (e->exit_slot[v].count &&
            (live || in_divergent_loop_of(g, v, block)))
            bad |= keep(e, w, &e->exit_slot[v]);
    }
    return bad;
}

/* The last position at which a block alike to `block` may run while what
 * that ran with holds. */
static int last_alike(const struct graph *g, int block, int from)
{
    int last = g->blocks[block].pos;

    for (int l = g->blocks[block].loop; l >= 0 && !graph_in_loop(g, from, l);
         l = g->loops[l].parent)
        last = g->loops[l].last_pos;
    return last;
}

/* Masks that blocks further on are alike to. The whole warp's is made anew
 * (emit.c, start_warp). */
static int keep_alike(struct emit *e, struct emit_wait *w, int block)
{
    struct graph *g = e->g;
    int at = g->blocks[block].pos, bad = 0;

    for (int i = 0; i < g->order_count; i++)
        e->alike_slot[g->order[i]].wanted = 0;
    for (int i = 0; i < g->order_count; i++) {
        int y = g->order[i], first = g->blocks[y].alike;

        if (first != y && !emit_is_whole(e, y) && g->blocks[first].pos <= at &&
            last_alike(g, y, first) > at)
            e->alike_slot[first].wanted = 1;
    }
    for (int i = 0; i < g->order_count; i++)
        if (e->alike_slot[g->order[i]].wanted)
            bad |= keep(e, w, &e->alike_slot[g->order[i]]);
    return bad;
}

/* Does anything read which lanes come to the block? */
static int reads_lanes(const struct emit *e, int block)
{
    const struct graph_block *b = &e->g->blocks[block];

    return !emit_is_whole(e, block) && (b->alike == block || b->pending);
}

static int keep_lanes(struct emit *e, struct emit_wait *w, int block)
{
    struct graph *g = e->g;
    int behind = g->blocks[block].succ[0].to, bad;

    bad = keep_alike(e, w, block);
    if (reads_lanes(e, behind))
        bad |= keep(e, w, &e->mask_slot[behind]);
    for (int i = g->blocks[block].pos + 1; i < g->order_count; i++) {
        const struct graph_block *y = &g->blocks[g->order[i]];

        if (!y->pending || !waits_across(g, g->order[i], block))
            continue;
        if (g->order[i] != behind && reads_lanes(e, g->order[i]))
            bad |= keep(e, w, &e->mask_slot[g->order[i]]);
        for (int p = 0; p < y->phi_count; p++)
            bad |= keep(e, w, &e->phi_slot[y->phis[p].value]);
    }
    return bad;
}

enum kiln_status wait_plan(struct emit *e)
{
    struct graph *g = e->g;
    struct flow f = {0};
    int bad = 0;

    e->resume = 0;
    e->frame_bytes = 0;
    if (!g->has_barrier || solve(e, &f))
        return KILN_OK;
    e->waits = arena_array(g->arena, (size_t)g->block_count, sizeof *e->waits);
    if (!e->waits)
        return kiln_fail(e->err, KILN_E_MEMORY, "out of memory");
    e->frame_bytes = sizeof(struct abi_frame);
    for (int i = 0; i < g->order_count; i++) {
        int block = g->order[i];

        if (!g->blocks[block].waits)
            continue;
        bad |= keep_values(e, &e->waits[block], &f, block);
        bad |= keep_lanes(e, &e->waits[block], block);
        if (e->frame_bytes > LARGEST_FRAME)
            return KILN_OK;
    }
    if (bad)
        return kiln_fail(e->err, KILN_E_MEMORY, "out of memory");
    e->frame_bytes = (e->frame_bytes + 63) & ~(uint32_t)63;
    e->resume = 1;
    return KILN_OK;
}

/* --- leaving and coming back --- */

static LLVMValueRef frame_at(struct emit *e, uint64_t offset)
{
    LLVMValueRef at = emit_const(e, 64, offset);

    return LLVMBuildGEP2(e->l.b, e->i8, e->frame, &at, 1, "");
}

static void set_word(struct emit *e, size_t offset, LLVMValueRef v)
{
    LLVMBuildStore(e->l.b, v, frame_at(e, offset));
}

void wait_start_warp(struct emit *e, LLVMBasicBlockRef fresh)
{
    LLVMValueRef stride = emit_field(e, e->block, 80, e->i64), at;
    LLVMBasicBlockRef go, wrong;
    LLVMValueRef ready, bit;

    if (!e->claims) {
        go = emit_new_bb(e, "go");
        ready = emit_field(e, e->block, 88, e->i32);
        bit = LLVMBuildLShr(e->l.b, ready, e->warp, "");
        bit = LLVMBuildTrunc(e->l.b, bit, e->i1, "");
        LLVMBuildCondBr(e->l.b, bit, go, e->done);
        LLVMPositionBuilderAtEnd(e->l.b, go);
    }
    at = LLVMBuildMul(e->l.b, stride,
                      LLVMBuildZExt(e->l.b, e->warp, e->i64, ""), "");
    e->frame = LLVMBuildGEP2(e->l.b, e->i8, emit_field(e, e->block, 72, e->ptr),
                             &at, 1, "frame");
    /* The engine calls no warp in a state that is not one of these. */
    wrong = emit_new_bb(e, "no_state");
    e->dispatch = LLVMBuildSwitch(
        e->l.b, LLVMBuildLoad2(e->l.b, e->i32, e->frame, "state"), wrong, 8);
    LLVMAddCase(e->dispatch, emit_const(e, 32, 0), fresh);
    LLVMPositionBuilderAtEnd(e->l.b, wrong);
    LLVMBuildUnreachable(e->l.b);
}

static void come_back(struct emit *e, int block, const struct emit_kept *k)
{
    struct graph *g = e->g;

    for (int i = 0; i < k->count; i++) {
        const struct emit_place *p = &k->places[i];
        LLVMValueRef v = LLVMBuildLoad2(e->l.b, LLVMGetAllocatedType(p->slot),
                                        frame_at(e, p->offset), "");

        LLVMSetAlignment(v, p->align);
        LLVMBuildStore(e->l.b, v, p->slot);
    }
    LLVMBuildBr(e->l.b, emit_edge_target(e, &g->blocks[block].succ[0]));
}

void wait_leave(struct emit *e, int block)
{
    const struct emit_kept *k = &e->waits[block].store;
    LLVMBasicBlockRef back = emit_new_bb(e, "back");
    unsigned state = ++e->wait_count;

    emit_send_lanes(e, &e->g->blocks[block].succ[0], e->mask);
    for (int i = 0; i < k->count; i++) {
        const struct emit_place *p = &k->places[i];
        LLVMValueRef v =
            LLVMBuildLoad2(e->l.b, LLVMGetAllocatedType(p->slot), p->slot, "");

        v = LLVMBuildStore(e->l.b, v, frame_at(e, p->offset));
        LLVMSetAlignment(v, p->align);
    }
    set_word(e, offsetof(struct abi_frame, state), emit_const(e, 32, state));
    LLVMBuildBr(e->l.b, e->done);
    LLVMAddCase(e->dispatch, emit_const(e, 32, state), back);
    LLVMPositionBuilderAtEnd(e->l.b, back);
    come_back(e, block, &e->waits[block].load);
}

void wait_set_header(struct emit *e, LLVMValueRef id, LLVMValueRef threads,
                     uint32_t kind, LLVMValueRef value)
{
    set_word(e, offsetof(struct abi_frame, barrier), id);
    set_word(e, offsetof(struct abi_frame, threads), threads);
    set_word(e, offsetof(struct abi_frame, kind), emit_const(e, 32, kind));
    set_word(e, offsetof(struct abi_frame, value), value);
}

LLVMValueRef wait_result(struct emit *e)
{
    return LLVMBuildLoad2(e->l.b, e->i32,
                          frame_at(e, offsetof(struct abi_frame, result)), "");
}

void wait_end_warp(struct emit *e)
{
    LLVMPositionBuilderAtEnd(e->l.b, e->ended);
    if (e->resume)
        set_word(e, offsetof(struct abi_frame, state),
                 emit_const(e, 32, ABI_ENDED));
    LLVMBuildBr(e->l.b, e->done);
}
