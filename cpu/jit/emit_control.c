/* SPDX-License-Identifier: MIT
 *
 * Blocks and the edges between them. Each block is entered with the mask of
 * its lanes; where control goes while a warp is parted is graph_schedule's
 * word: see there.
 */
#include <stddef.h>

#include "cpu/exec/abi.h"
#include "cpu/jit/align.h"
#include "cpu/jit/emit_wait.h"

/* Rounds of a waiting loop before it yields: what it waits for is often there
 * after a few. */
enum { POLLS = 32 };

/* Instructions of a large kernel's block that use one mask. */
enum { RENEW = 64 };

/* No lane of a warp ends before such a block, and none comes alone. */
int emit_is_whole(const struct emit *e, int block)
{
    return e->g->blocks[block].alike == e->g->order[0];
}

static LLVMBasicBlockRef test_of(struct emit *e, int block)
{
    return block == GRAPH_NONE ? e->ended : e->test[block];
}

static LLVMBasicBlockRef next_test(struct emit *e, int block)
{
    return test_of(e, e->g->blocks[block].next);
}

LLVMBasicBlockRef emit_edge_target(struct emit *e,
                                   const struct graph_edge *edge)
{
    return edge->deferred ? next_test(e, edge->from) : e->body[edge->to];
}

/* Phis of the edge's target take their values; with a mask, those of its
 * lanes only. */
static void store_phis(struct emit *e, const struct graph_edge *edge,
                       LLVMValueRef const *mask)
{
    const struct graph_block *to = &e->g->blocks[edge->to];

    for (int p = 0; p < to->phi_count; p++) {
        const struct graph_phi *phi = &to->phis[p];
        const struct graph_value *v = &e->g->values[phi->value];
        const struct emit_slot *s = &e->phi_slot[phi->value];
        int in = phi->in[edge->pred_index];

        if (!v->used)
            continue;
        for (int c = 0; c < s->count; c++) {
            LLVMValueRef x, old;

            if (v->kind_of_shape != SHAPE_VARYING) {
                x = emit_base(e, in, (unsigned)c);
            } else {
                x = emit_vector(e, in, (unsigned)c);
                if (to->mixing) {
                    old = LLVMBuildLoad2(e->l.b, LLVMTypeOf(x), s->at[c], "");
                    x = LLVMBuildSelect(e->l.b, mask[c], x, old, "");
                }
            }
            LLVMBuildStore(e->l.b, x, s->at[c]);
        }
    }
}

/* Lanes of `mask` go to the edge's target: they wait there, or are all. */
void emit_send_lanes(struct emit *e, const struct graph_edge *edge,
                     LLVMValueRef const *mask)
{
    const struct emit_slot *s = &e->mask_slot[edge->to];

    for (unsigned c = 0; c < e->chunks; c++) {
        LLVMValueRef m = mask[c];

        if (e->g->blocks[edge->to].pending)
            m = LLVMBuildOr(e->l.b, m,
                            LLVMBuildLoad2(e->l.b, e->mask_type, s->at[c], ""),
                            "");
        LLVMBuildStore(e->l.b, m, s->at[c]);
    }
}

static void follow(struct emit *e, const struct graph_edge *edge)
{
    store_phis(e, edge, e->mask);
    emit_send_lanes(e, edge, e->mask);
    LLVMBuildBr(e->l.b, emit_edge_target(e, edge));
}

static void uniform_branch(struct emit *e, const struct graph_block *b)
{
    LLVMValueRef p = emit_base(e, b->guard, 0);
    LLVMBasicBlockRef sides[2];

    for (int s = 0; s < 2; s++) {
        /* Forms of phi inputs made on one side must not be taken for known
         * on the other. */
        const struct graph_block *to = &e->g->blocks[b->succ[s].to];

        for (int k = 0; k < to->phi_count; k++)
            for (unsigned c = 0; c < e->chunks; c++) {
                int in = to->phis[k].in[b->succ[s].pred_index];
                int value = to->phis[k].value;

                if (e->g->values[value].kind_of_shape == SHAPE_VARYING)
                    emit_vector(e, in, c);
                else
                    emit_base(e, in, c);
            }
        sides[s] = emit_new_bb(e, "edge");
    }
    LLVMBuildCondBr(e->l.b, p, sides[b->negate ? 1 : 0],
                    sides[b->negate ? 0 : 1]);
    for (int s = 0; s < 2; s++) {
        LLVMPositionBuilderAtEnd(e->l.b, sides[s]);
        follow(e, &b->succ[s]);
    }
}

static void divergent_branch(struct emit *e, const struct graph_block *b)
{
    LLVMValueRef taken[EMIT_MAX_CHUNKS], other[EMIT_MAX_CHUNKS];

    for (unsigned c = 0; c < e->chunks; c++) {
        LLVMValueRef p = emit_vector(e, b->guard, c);
        LLVMValueRef n = LLVMBuildNot(e->l.b, p, "");

        taken[c] = emit_among(e, c, b->negate ? n : p);
        other[c] = emit_among(e, c, b->negate ? p : n);
    }
    store_phis(e, &b->succ[0], taken);
    store_phis(e, &b->succ[1], other);
    emit_send_lanes(e, &b->succ[0], taken);
    emit_send_lanes(e, &b->succ[1], other);
    LLVMBuildBr(e->l.b, next_test(e, b->succ[0].from));
}

/* Slots whose value of an earlier iteration or path is dead from here on. */
static void poison_dead(struct emit *e, int block)
{
    struct graph *g = e->g;
    int loop = g->blocks[block].loop;
    int header = loop >= 0 && g->loops[loop].header == block;

    for (int i = header ? e->dead.of_loop[loop] : GRAPH_NONE; i != GRAPH_NONE;
         i = e->dead.next[i])
        emit_poison(e, &e->slot[i]);
    for (int i = e->dead.phi_of[block]; i != GRAPH_NONE;
         i = e->dead.next_phi[i])
        if (g->blocks[g->values[i].block].loop == loop)
            emit_poison(e, &e->phi_slot[i]);
    for (int i = 0; header && i < g->block_count; i++)
        if (i != block && g->blocks[i].loop == loop)
            emit_poison(e, &e->alike_slot[i]);
}

/* Do lanes wait at the block? Else control goes on to the next where some
 * may. */
static void test_block(struct emit *e, int block)
{
    const struct emit_slot *s = &e->mask_slot[block];
    LLVMValueRef all = NULL;

    LLVMPositionBuilderAtEnd(e->l.b, e->test[block]);
    if (emit_is_whole(e, block)) {
        LLVMBuildBr(e->l.b, e->body[block]);
        return;
    }
    for (unsigned c = 0; c < e->chunks; c++) {
        LLVMValueRef m = LLVMBuildLoad2(e->l.b, e->mask_type, s->at[c], "");

        all = all ? LLVMBuildOr(e->l.b, all, m, "") : m;
    }
    LLVMBuildCondBr(e->l.b, emit_mask_any(e, all), e->body[block],
                    test_of(e, e->g->blocks[block].skip));
}

/* A mask that all of a long block uses is copied for each gather, and LLVM
 * goes through its uses for each copy. So it is loaded anew now and then, by
 * a load that is not taken for the same as the one before. */
static void renew_mask(struct emit *e)
{
    for (unsigned c = 0; c < e->chunks; c++) {
        e->any[c] = NULL;
        e->mask[c] =
            LLVMBuildLoad2(e->l.b, e->mask_type, e->lanes_now.at[c], "");
        LLVMSetVolatile(e->mask[c], 1);
    }
}

static void keep_mask(struct emit *e)
{
    for (unsigned c = 0; c < e->chunks; c++)
        LLVMSetVolatile(LLVMBuildStore(e->l.b, e->mask[c], e->lanes_now.at[c]),
                        1);
}

/* The lanes that came, which are those of the block that this is alike to. */
static void take_mask(struct emit *e, int block)
{
    const struct graph_block *b = &e->g->blocks[block];
    const struct emit_slot *s = &e->mask_slot[block];
    const struct emit_slot *alike = &e->alike_slot[b->alike];

    for (unsigned c = 0; c < e->chunks; c++) {
        e->any[c] = NULL;
        e->mask[c] =
            LLVMBuildLoad2(e->l.b, e->mask_type,
                           b->alike == block ? s->at[c] : alike->at[c], "");
        if (b->alike == block && alike->count)
            LLVMBuildStore(e->l.b, e->mask[c], alike->at[c]);
        if (b->pending)
            LLVMBuildStore(e->l.b, LLVMConstNull(e->mask_type), s->at[c]);
    }
}

static void enter_block(struct emit *e, int block)
{
    const struct graph_block *b = &e->g->blocks[block];

    if (b->pending)
        test_block(e, block);
    LLVMPositionBuilderAtEnd(e->l.b, e->body[block]);
    e->at = block;
    take_mask(e, block);
    for (int p = 0; p < b->phi_count; p++) {
        const struct emit_slot *slot = &e->phi_slot[b->phis[p].value];
        LLVMValueRef made[EMIT_MAX_CHUNKS];

        if (!e->g->values[b->phis[p].value].used)
            continue;
        for (int c = 0; c < slot->count; c++)
            made[c] = LLVMBuildLoad2(e->l.b, LLVMGetAllocatedType(slot->at[c]),
                                     slot->at[c], "");
        emit_define(e, b->phis[p].value, made);
    }
    poison_dead(e, block);
    /* What was poisoned may be a slot just written by a phi of this block:
     * the value is in the cache, and stored again for the others. */
    for (int p = 0; p < b->phi_count; p++) {
        int value = b->phis[p].value;
        const struct emit_slot *slot = &e->slot[value];

        for (int c = 0; c < slot->count; c++)
            LLVMBuildStore(e->l.b,
                           e->g->values[value].kind_of_shape == SHAPE_VARYING
                               ? emit_vector(e, value, (unsigned)c)
                               : emit_base(e, value, (unsigned)c),
                           slot->at[c]);
    }
}

void emit_yield(struct emit *e)
{
    emit_call_engine(e, 56, LLVMVoidTypeInContext(e->l.ctx),
                     (LLVMValueRef[]){e->block, e->warp},
                     (LLVMTypeRef[]){e->ptr, e->i32}, 2);
}

static int is_waiting_latch(const struct emit *e, int block)
{
    const int loop = e->g->blocks[block].loop;

    return loop >= 0 && e->g->loops[loop].latch == block &&
           e->g->loops[loop].waits;
}

/* Once more round a waiting loop: now and then others get their turn. */
static void poll(struct emit *e)
{
    LLVMValueRef at = emit_const(e, 64, offsetof(struct abi_block, polls));
    LLVMBasicBlockRef yes = emit_new_bb(e, "yield"), go = emit_new_bb(e, "on");
    LLVMValueRef n;

    at = LLVMBuildGEP2(e->l.b, e->i8, e->block, &at, 1, "");
    n = LLVMBuildLoad2(e->l.b, e->i32, at, "");
    n = LLVMBuildAdd(e->l.b, n, emit_const(e, 32, 1), "");
    LLVMBuildStore(e->l.b, n, at);
    n = LLVMBuildAnd(e->l.b, n, emit_const(e, 32, POLLS - 1), "");
    n = LLVMBuildICmp(e->l.b, LLVMIntEQ, n, emit_const(e, 32, 0), "");
    LLVMBuildCondBr(e->l.b, n, yes, go);
    LLVMPositionBuilderAtEnd(e->l.b, yes);
    emit_yield(e);
    LLVMBuildBr(e->l.b, go);
    LLVMPositionBuilderAtEnd(e->l.b, go);
}

/* Now and then: is it too much for LLVM? */
static void check_size(struct emit *e)
{
    enum { OFTEN = 4096 };
    size_t made;

    if (++e->done_count % OFTEN || e->status)
        return;
    made = effort_count(e->fn);
    if (made > EFFORT_MOST_MADE)
        e->status = kiln_fail(
            e->err, KILN_E_NOT_SUPPORTED,
            "%u of its instructions became %zu of LLVM's, %d at most: make it "
            "several kernels",
            e->done_count, made, EFFORT_MOST_MADE);
}

void emit_block(struct emit *e, int block)
{
    const struct graph_block *b = &e->g->blocks[block];

    enter_block(e, block);
    emit_block_tests(e, &b->first);
    if (e->large && b->insn_count > RENEW)
        keep_mask(e);
    for (int i = 0; i < b->insn_count && !e->status; i++) {
        if (e->large && i && i % RENEW == 0)
            renew_mask(e);
        emit_insn(e, &b->insns[i]);
        check_size(e);
    }
    if (e->status)
        return;
    emit_block_tests(e, &b->last);
    if (is_waiting_latch(e, block))
        poll(e);
    if (b->term == GRAPH_RET)
        LLVMBuildBr(e->l.b, next_test(e, block));
    else if (b->waits && e->resume)
        wait_leave(e, block);
    else if (b->term == GRAPH_JUMP || b->term == GRAPH_DETOUR)
        follow(e, &b->succ[0]);
    else if (b->divergent)
        divergent_branch(e, b);
    else
        uniform_branch(e, b);
}
