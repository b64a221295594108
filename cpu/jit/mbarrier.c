/* SPDX-License-Identifier: MIT
 *
 * mbarrier: 64 bits in shared memory (PTX ISA 9.7.13.15). A block runs on one
 * thread, so plain loads and stores will do. The bits, which the ISA leaves
 * open: arrivals that the phase still waits for (20), arrivals of a phase
 * (20), bytes that it still waits for (21, signed), 0 (2), its parity.
 *
 * A state is the barrier's bits before an arrival. A phase ends when it waits
 * for nothing more; the next one begins at once.
 */
#include <stdio.h>

#include "cpu/jit/async.h"

enum { COUNT_BITS = 20, TX_BITS = 21, TX_AT = 40, PARITY_AT = 63 };

static LLVMValueRef field(struct emit *e, LLVMValueRef v, unsigned at,
                          unsigned bits)
{
    v = LLVMBuildLShr(e->l.b, v, emit_const(e, 64, at), "");
    return LLVMBuildAnd(e->l.b, v, emit_const(e, 64, (1ull << bits) - 1), "");
}

static LLVMValueRef less(struct emit *e, LLVMValueRef a, LLVMValueRef b,
                         unsigned bits)
{
    a = LLVMBuildSub(e->l.b, a, b, "");
    return LLVMBuildAnd(e->l.b, a, emit_const(e, 64, (1ull << bits) - 1), "");
}

static LLVMValueRef shifted_or(struct emit *e, LLVMValueRef v, LLVMValueRef x,
                               unsigned by)
{
    x = LLVMBuildShl(e->l.b, x, emit_const(e, 64, by), "");
    return LLVMBuildOr(e->l.b, v, x, "");
}

/* One lane: the bits after a step. */
static LLVMValueRef after_step(struct emit *e, LLVMValueRef old,
                               LLVMValueRef count, LLVMValueRef tx, int is_drop)
{
    LLVMValueRef parity = field(e, old, PARITY_AT, 1), done, going, ended;
    LLVMValueRef pending = field(e, old, 0, COUNT_BITS);
    LLVMValueRef all = field(e, old, COUNT_BITS, COUNT_BITS);
    LLVMValueRef bytes = field(e, old, TX_AT, TX_BITS);
    LLVMValueRef zero = emit_const(e, 64, 0);

    pending = less(e, pending, count, COUNT_BITS);
    if (is_drop)
        all = less(e, all, count, COUNT_BITS);
    bytes = less(e, bytes, LLVMBuildNeg(e->l.b, tx, ""), TX_BITS);
    done = LLVMBuildICmp(e->l.b, LLVMIntEQ,
                         LLVMBuildOr(e->l.b, pending, bytes, ""), zero, "");
    going = shifted_or(e, pending, bytes, TX_AT);
    going = shifted_or(e, going, parity, PARITY_AT);
    parity = LLVMBuildXor(e->l.b, parity, emit_const(e, 64, 1), "");
    ended = shifted_or(e, all, parity, PARITY_AT);
    return shifted_or(e, LLVMBuildSelect(e->l.b, done, ended, going, ""), all,
                      COUNT_BITS);
}

/* kiln.mbarrier.step: barriers, counts, bytes, the lanes -> states before. */
static LLVMValueRef step_helper(struct emit *e, int is_drop, LLVMTypeRef *type)
{
    LLVMTypeRef states = emit_vec(e, e->i64), words = emit_vec(e, e->i32);
    LLVMTypeRef args[] = {emit_vec(e, e->ptr), words, words, e->mask_type};
    LLVMValueRef fn, p, old, count, tx;
    struct emit_lanes l;
    int fresh;

    *type = LLVMFunctionType(states, args, 4, 0);
    fn = emit_helper(e,
                     is_drop ? "kiln.mbarrier.step.drop" : "kiln.mbarrier.step",
                     *type, &fresh);
    if (!fresh)
        return fn;
    emit_lanes_begin(e, &l, fn, LLVMGetParam(fn, 3), states);
    for (unsigned i = 0; i < 3; i++)
        emit_lanes_in(e, &l, i, LLVMGetParam(fn, i));
    emit_lanes_open(e, &l);
    p = emit_lanes_get(e, &l, 0);
    count = LLVMBuildZExt(e->l.b, emit_lanes_get(e, &l, 1), e->i64, "");
    tx = LLVMBuildSExt(e->l.b, emit_lanes_get(e, &l, 2), e->i64, "");
    old = LLVMBuildLoad2(e->l.b, e->i64, p, "");
    LLVMBuildStore(e->l.b, after_step(e, old, count, tx, is_drop), p);
    emit_lanes_close(e, &l, old);
    return fn;
}

void mbarrier_step(struct emit *e, const struct graph_insn *insn, int k,
                   enum ptx_space space, const struct mbarrier_step *s,
                   LLVMValueRef *old)
{
    LLVMValueRef none = LLVMConstNull(emit_vec(e, e->i32));
    struct emit_address at;
    LLVMTypeRef type;
    LLVMValueRef fn;

    emit_address_in(e, insn, k, space, &at);
    fn = step_helper(e, s->is_drop, &type);
    emit_note_line(e);
    for (unsigned c = 0; c < e->chunks; c++) {
        LLVMValueRef args[] = {emit_address_vector(e, &at, c),
                               s->count ? s->count[c] : none,
                               s->tx ? s->tx[c] : none, e->mask[c]};
        LLVMValueRef v = LLVMBuildCall2(e->l.b, type, fn, args, 4, "");

        if (old)
            old[c] = v;
    }
}

/* --- instructions --- */

static void init(struct emit *e, const struct graph_insn *insn)
{
    LLVMTypeRef states = emit_vec(e, e->i64);
    struct emit_address at;

    emit_address(e, insn, 0, &at);
    for (unsigned c = 0; c < e->chunks; c++) {
        LLVMValueRef v = LLVMConstNull(states);

        if (ptx_has(insn->ptx, PTX_MOD_INIT)) {
            v = LLVMBuildZExt(e->l.b, emit_operand_vector(e, insn, 1, c, 32),
                              states, "");
            v = LLVMBuildOr(
                e->l.b, v,
                LLVMBuildShl(e->l.b, v,
                             emit_splat(e, emit_const(e, 64, COUNT_BITS)), ""),
                "");
        }
        emit_scatter(e, v, emit_address_vector(e, &at, c), e->mask[c], 8);
    }
}

/* arrive, arrive_drop, expect_tx, complete_tx: all are steps. */
static void step(struct emit *e, const struct graph_insn *insn)
{
    const struct ptx_insn *p = insn->ptx;
    int k = p->dst_count, has_operand = p->operand_count > k + 1;
    int arrives = ptx_has(p, PTX_MOD_ARRIVE) || ptx_has(p, PTX_MOD_ARRIVE_DROP);
    int expects = ptx_has(p, PTX_MOD_EXPECT_TX);
    LLVMValueRef count[EMIT_MAX_CHUNKS], tx[EMIT_MAX_CHUNKS];
    LLVMValueRef old[EMIT_MAX_CHUNKS];
    struct mbarrier_step s = {.count = arrives ? count : NULL,
                              .tx = arrives && !expects ? NULL : tx,
                              .is_drop = ptx_has(p, PTX_MOD_ARRIVE_DROP)};

    for (unsigned c = 0; c < e->chunks; c++) {
        LLVMValueRef v =
            has_operand ? emit_operand_vector(e, insn, k + 1, c, 32) : NULL;

        count[c] = v && !expects ? v : emit_splat(e, emit_const(e, 32, 1));
        tx[c] = v && !expects ? LLVMBuildNeg(e->l.b, v, "") : v;
        if (!tx[c])
            tx[c] = LLVMConstNull(LLVMTypeOf(count[c]));
    }
    mbarrier_step(e, insn, k, p->space, &s, old);
    if (k && insn->val[0] != GRAPH_NONE)
        emit_define_vectors(e, insn->val[0], old);
}

/* Where the phase of the operand, a state or a parity, has ended. */
static LLVMValueRef has_ended(struct emit *e, const struct graph_insn *insn,
                              const struct emit_address *at, unsigned c)
{
    LLVMTypeRef states = emit_vec(e, e->i64);
    int by_parity = ptx_has(insn->ptx, PTX_MOD_PARITY);
    LLVMValueRef v, now, up = emit_splat(e, emit_const(e, 64, PARITY_AT));

    now = emit_gather(e, states, emit_address_vector(e, at, c), e->mask[c], 8);
    now = LLVMBuildLShr(e->l.b, now, up, "");
    v = emit_operand_vector(e, insn, 2, c, by_parity ? 32 : 64);
    if (by_parity)
        v = LLVMBuildAnd(e->l.b, LLVMBuildZExt(e->l.b, v, states, ""),
                         emit_splat(e, emit_const(e, 64, 1)), "");
    else
        v = LLVMBuildLShr(e->l.b, v, up, "");
    return LLVMBuildICmp(e->l.b, LLVMIntNE, now, v, "");
}

/* A try waits: all who could end the phase run on this thread, so it lets
 * them run, and looks again. */
static void let_others(struct emit *e, const LLVMValueRef *ended)
{
    LLVMBasicBlockRef yes = emit_new_bb(e, "wait"), go = emit_new_bb(e, "look");
    LLVMValueRef open = NULL;

    for (unsigned c = 0; c < e->chunks; c++) {
        LLVMValueRef v = emit_mask_any(
            e, emit_among(e, c, LLVMBuildNot(e->l.b, ended[c], "")));

        open = open ? LLVMBuildOr(e->l.b, open, v, "") : v;
    }
    LLVMBuildCondBr(e->l.b, open, yes, go);
    LLVMPositionBuilderAtEnd(e->l.b, yes);
    emit_yield(e);
    LLVMBuildBr(e->l.b, go);
    LLVMPositionBuilderAtEnd(e->l.b, go);
}

static void test(struct emit *e, const struct graph_insn *insn)
{
    LLVMValueRef ended[EMIT_MAX_CHUNKS];
    struct emit_address at;

    emit_address(e, insn, 1, &at);
    for (unsigned c = 0; c < e->chunks; c++)
        ended[c] = has_ended(e, insn, &at, c);
    if (ptx_has(insn->ptx, PTX_MOD_TRY_WAIT)) {
        let_others(e, ended);
        for (unsigned c = 0; c < e->chunks; c++)
            ended[c] = has_ended(e, insn, &at, c);
    }
    if (insn->val[0] != GRAPH_NONE)
        emit_define_vectors(e, insn->val[0], ended);
}

static void pending_count(struct emit *e, const struct graph_insn *insn)
{
    LLVMValueRef made[EMIT_MAX_CHUNKS];

    for (unsigned c = 0; c < e->chunks; c++) {
        LLVMValueRef v = emit_operand_vector(e, insn, 1, c, 64);

        v = LLVMBuildTrunc(e->l.b, v, emit_vec(e, e->i32), "");
        made[c] = LLVMBuildAnd(
            e->l.b, v, emit_splat(e, emit_const(e, 32, (1u << COUNT_BITS) - 1)),
            "");
    }
    if (insn->val[0] != GRAPH_NONE)
        emit_define_vectors(e, insn->val[0], made);
}

void emit_mbarrier(struct emit *e, const struct graph_insn *insn)
{
    const struct ptx_insn *p = insn->ptx;

    if (ptx_has(p, PTX_MOD_INIT) || ptx_has(p, PTX_MOD_INVAL))
        init(e, insn);
    else if (ptx_has(p, PTX_MOD_TEST_WAIT) || ptx_has(p, PTX_MOD_TRY_WAIT))
        test(e, insn);
    else if (ptx_has(p, PTX_MOD_PENDING_COUNT))
        pending_count(e, insn);
    else
        step(e, insn);
}
