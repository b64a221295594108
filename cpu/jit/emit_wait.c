/* SPDX-License-Identifier: MIT
 *
 * What a warp keeps across a barrier: values that are used behind it; for
 * divergent loops around it, the values that lanes left with; and where
 * lanes wait at blocks further on, their masks and the phis they stored.
 */
#include "cpu/jit/emit_wait.h"

#include <stddef.h>

#include "cpu/exec/abi.h"

enum { LARGEST_FRAME = 128 << 10, LIVE_WORDS_MAX = 16 << 20 };

/* --- liveness of values over blocks --- */

struct live {
    size_t words;
    uint64_t *in, *use; /* a row of words for each block */
};

static void set(uint64_t *row, int i)
{
    row[i / 64] |= 1ull << (i % 64);
}

static int get(const uint64_t *row, int i)
{
    return row[i / 64] >> (i % 64) & 1;
}

static void note_use(struct emit *e, struct live *l, int value, int block)
{
    if (value != GRAPH_NONE && e->g->values[value].block != block)
        set(l->use + (size_t)block * l->words, value);
}

static void note_block(struct emit *e, struct live *l, int at)
{
    const struct graph_block *b = &e->g->blocks[at];

    for (int k = 0; k < b->insn_count; k++) {
        const struct graph_insn *in = &b->insns[k];
        int from = in->kind == GRAPH_INSN_SELECT ? 1 : in->ptx->dst_count;

        for (int o = from; o < PTX_MAX_OPERANDS; o++) {
            note_use(e, l, in->val[o], at);
            for (int j = 0; in->vec[o] && j < in->ptx->operands[o].count; j++)
                note_use(e, l, in->vec[o][j], at);
        }
        note_use(e, l, in->guard, at);
        note_use(e, l, in->cc_use, at);
    }
    note_use(e, l, b->guard, at);
    for (int p = 0; p < b->phi_count; p++)
        for (int k = 0; k < b->pred_count; k++)
            note_use(e, l, b->phis[p].in[k], b->pred[k]);
}

static int flow(struct emit *e, struct live *l, int at)
{
    const struct graph_block *b = &e->g->blocks[at];
    uint64_t *in = l->in + (size_t)at * l->words;
    const uint64_t *use = l->use + (size_t)at * l->words;
    int changed = 0;

    for (int s = 0; s < b->succ_count; s++) {
        const uint64_t *out = l->in + (size_t)b->succ[s].to * l->words;

        for (size_t w = 0; w < l->words; w++)
            for (uint64_t new = out[w] & ~in[w]; new; new &= new - 1) {
                int v = (int)(w * 64) + __builtin_ctzll(new);

                if (e->g->values[v].block == at)
                    continue;
                set(in, v);
                changed = 1;
            }
    }
    for (size_t w = 0; w < l->words; w++) {
        changed |= (use[w] & ~in[w]) != 0;
        in[w] |= use[w];
    }
    return changed;
}

static int find_live(struct emit *e, struct live *l)
{
    struct graph *g = e->g;
    size_t cells;
    int changed = 1;

    l->words = ((size_t)g->value_count + 63) / 64;
    if (__builtin_mul_overflow(l->words, (size_t)g->block_count, &cells) ||
        cells > LIVE_WORDS_MAX)
        return -1;
    l->in = arena_array(g->arena, cells, sizeof *l->in);
    l->use = arena_array(g->arena, cells, sizeof *l->use);
    if (cells && (!l->in || !l->use))
        return -1;
    for (int i = 0; i < g->order_count; i++)
        note_block(e, l, g->order[i]);
    while (changed) {
        changed = 0;
        for (int i = g->order_count - 1; i >= 0; i--)
            changed |= flow(e, l, g->order[i]);
    }
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

static int keep(struct emit *e, struct emit_kept *k, const struct emit_slot *s)
{
    for (int c = 0; c < s->count; c++) {
        struct emit_place *places =
            arena_grow(e->g->arena, k->places, (size_t)k->count, &k->cap,
                       sizeof *places);

        if (!places)
            return -1;
        k->places = places;
        places[k->count++] = (struct emit_place){.slot = s->at[c]};
    }
    return 0;
}

static int keep_values(struct emit *e, struct emit_kept *k,
                       const struct live *l, int block)
{
    struct graph *g = e->g;
    int behind = g->blocks[block].succ[0].to;
    const uint64_t *in = l->in + (size_t)behind * l->words;
    int bad = 0;

    for (int v = 0; v < g->value_count; v++) {
        int live = get(in, v), gone = graph_outlives(g, v, block);

        if (live && !gone)
            bad |= keep(e, k, &e->slot[v]);
        if (e->exit_slot[v].count &&
            (live || in_divergent_loop_of(g, v, block)))
            bad |= keep(e, k, &e->exit_slot[v]);
    }
    return bad;
}

static int keep_lanes(struct emit *e, struct emit_kept *k, int block)
{
    struct graph *g = e->g;
    int behind = g->blocks[block].succ[0].to, bad;

    bad = keep(e, k, &e->mask_slot[behind]);
    for (int i = g->blocks[block].pos + 1; i < g->order_count; i++) {
        const struct graph_block *y = &g->blocks[g->order[i]];

        if (!y->pending || !waits_across(g, g->order[i], block))
            continue;
        if (g->order[i] != behind)
            bad |= keep(e, k, &e->mask_slot[g->order[i]]);
        for (int p = 0; p < y->phi_count; p++)
            bad |= keep(e, k, &e->phi_slot[y->phis[p].value]);
    }
    return bad;
}

/* Vectors first, each aligned to its size. */
static void place_kept(struct emit *e, struct emit_kept *k)
{
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(e->l.module);
    uint64_t at = sizeof(struct abi_frame);

    for (unsigned size = 256; size; size /= 2)
        for (int i = 0; i < k->count; i++) {
            LLVMTypeRef type = LLVMGetAllocatedType(k->places[i].slot);
            uint64_t bytes = LLVMStoreSizeOfType(layout, type);

            if ((bytes > size / 2 && bytes <= size) ||
                (size == 256 && bytes > size)) {
                uint64_t align = size < 64 ? size : 64;

                at = (at + align - 1) & ~(align - 1);
                k->places[i].offset = (uint32_t)at;
                k->places[i].align = (uint32_t)align;
                at += bytes;
            }
        }
    at = (at + 63) & ~(uint64_t)63;
    if (at > e->frame_bytes)
        e->frame_bytes = at > UINT32_MAX ? UINT32_MAX : (uint32_t)at;
}

enum kiln_status wait_plan(struct emit *e)
{
    struct graph *g = e->g;
    struct live l = {0};
    int bad = 0;

    e->resume = 0;
    e->frame_bytes = 0;
    if (!g->has_barrier || g->has_yield || find_live(e, &l))
        return KILN_OK;
    e->kept = arena_array(g->arena, (size_t)g->block_count, sizeof *e->kept);
    if (!e->kept)
        return kiln_fail(e->err, KILN_E_MEMORY, "out of memory");
    e->frame_bytes = sizeof(struct abi_frame);
    for (int i = 0; i < g->order_count; i++) {
        int block = g->order[i];

        if (!g->blocks[block].waits)
            continue;
        bad |= keep_values(e, &e->kept[block], &l, block);
        bad |= keep_lanes(e, &e->kept[block], block);
        place_kept(e, &e->kept[block]);
    }
    if (bad)
        return kiln_fail(e->err, KILN_E_MEMORY, "out of memory");
    e->resume = e->frame_bytes <= LARGEST_FRAME;
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
    LLVMBasicBlockRef go = emit_new_bb(e, "go"), wrong;
    LLVMValueRef ready = emit_field(e, e->block, 88, e->i32), bit;

    bit = LLVMBuildLShr(e->l.b, ready, e->warp, "");
    bit = LLVMBuildTrunc(e->l.b, bit, e->i1, "");
    LLVMBuildCondBr(e->l.b, bit, go, e->done);
    LLVMPositionBuilderAtEnd(e->l.b, go);
    at = LLVMBuildMul(e->l.b, stride,
                      LLVMBuildZExt(e->l.b, e->warp, e->i64, ""), "");
    e->frame = LLVMBuildGEP2(e->l.b, e->i8,
                             emit_field(e, e->block, 72, e->ptr), &at, 1,
                             "frame");
    /* The engine calls no warp in a state that is not one of these. */
    wrong = emit_new_bb(e, "no_state");
    e->dispatch = LLVMBuildSwitch(
        e->l.b,
        LLVMBuildLoad2(e->l.b, e->i32, e->frame, "state"), wrong, 8);
    LLVMAddCase(e->dispatch, emit_const(e, 32, 0), fresh);
    LLVMPositionBuilderAtEnd(e->l.b, wrong);
    LLVMBuildUnreachable(e->l.b);
}

static void come_back(struct emit *e, int block, const struct emit_kept *k)
{
    struct graph *g = e->g;

    emit_forget(e); /* all slots dead, no lane waits */
    for (int i = 0; i < k->count; i++) {
        const struct emit_place *p = &k->places[i];
        LLVMValueRef v =
            LLVMBuildLoad2(e->l.b, LLVMGetAllocatedType(p->slot),
                           frame_at(e, p->offset), "");

        LLVMSetAlignment(v, p->align);
        LLVMBuildStore(e->l.b, v, p->slot);
    }
    LLVMBuildBr(e->l.b, emit_edge_target(e, &g->blocks[block].succ[0]));
}

void wait_leave(struct emit *e, int block)
{
    const struct emit_kept *k = &e->kept[block];
    LLVMBasicBlockRef back = emit_new_bb(e, "back");
    unsigned state = ++e->wait_count;

    emit_send_lanes(e, &e->g->blocks[block].succ[0], e->mask);
    for (int i = 0; i < k->count; i++) {
        const struct emit_place *p = &k->places[i];
        LLVMValueRef v = LLVMBuildLoad2(
            e->l.b, LLVMGetAllocatedType(p->slot), p->slot, "");

        v = LLVMBuildStore(e->l.b, v, frame_at(e, p->offset));
        LLVMSetAlignment(v, p->align);
    }
    set_word(e, offsetof(struct abi_frame, state), emit_const(e, 32, state));
    LLVMBuildBr(e->l.b, e->done);
    LLVMAddCase(e->dispatch, emit_const(e, 32, state), back);
    LLVMPositionBuilderAtEnd(e->l.b, back);
    come_back(e, block, k);
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
                          frame_at(e, offsetof(struct abi_frame, result)),
                          "");
}

void wait_end_warp(struct emit *e)
{
    LLVMPositionBuilderAtEnd(e->l.b, e->ended);
    if (e->resume)
        set_word(e, offsetof(struct abi_frame, state),
                 emit_const(e, 32, ABI_ENDED));
    LLVMBuildBr(e->l.b, e->done);
}
