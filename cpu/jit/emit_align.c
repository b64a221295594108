/* SPDX-License-Identifier: MIT
 *
 * The tests of align.h: where one fails the warp faults, before the access.
 * What is tested is a scalar where the value is one, so that a test costs an
 * instruction, and outside of loops where the value is made there.
 */
#include "cpu/jit/align.h"

#include "cpu/exec/abi.h"
#include "cpu/jit/emit_lanes.h"
#include "cpu/jit/lines.h"

/* What makes the test fail: the lanes a chunk where they differ. */
struct outcome {
    LLVMValueRef bad; /* i1 */
    LLVMValueRef lanes[EMIT_MAX_CHUNKS];
    int has_lanes;
};

/* The last bits of value + add, in scalars or vectors. */
static LLVMValueRef rest(struct emit *e, const struct graph_test *t,
                         LLVMValueRef v)
{
    const unsigned bits = e->g->values[t->value].bits;
    LLVMValueRef add = emit_const(e, bits, t->add);
    LLVMValueRef mask = emit_const(e, bits, t->bytes - 1);

    if (LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind) {
        add = emit_splat(e, add);
        mask = emit_splat(e, mask);
    }
    if (t->add)
        v = LLVMBuildAdd(e->l.b, v, add, "");
    return LLVMBuildAnd(e->l.b, v, mask, "");
}

static LLVMValueRef is_not_zero(struct emit *e, LLVMValueRef v)
{
    return LLVMBuildICmp(e->l.b, LLVMIntNE, v, LLVMConstNull(LLVMTypeOf(v)),
                         "");
}

/* A scalar a chunk; one without active lanes may have any. */
static void test_chunks(struct emit *e, const struct graph_test *t,
                        struct outcome *out)
{
    LLVMValueRef all = NULL;

    for (unsigned c = 0; c < e->chunks; c++) {
        LLVMValueRef r = rest(e, t, emit_base(e, t->value, c));

        r = LLVMBuildSelect(e->l.b, emit_any(e, c), r,
                            LLVMConstNull(LLVMTypeOf(r)), "");
        all = all ? LLVMBuildOr(e->l.b, all, r, "") : r;
    }
    out->bad = is_not_zero(e, all);
}

/* The first lanes of the warp alone. */
static LLVMValueRef among_first(struct emit *e, unsigned c, unsigned lanes,
                                LLVMValueRef m)
{
    LLVMValueRef in[64];

    if ((c + 1) * e->lanes <= lanes)
        return m;
    for (unsigned i = 0; i < e->lanes; i++)
        in[i] = LLVMConstInt(e->i1, c * e->lanes + i < lanes, 0);
    return LLVMBuildAnd(e->l.b, m, LLVMConstVector(in, e->lanes), "");
}

static void test_lanes(struct emit *e, const struct graph_test *t,
                       struct outcome *out)
{
    LLVMValueRef all = NULL;

    for (unsigned c = 0; c < e->chunks; c++) {
        LLVMValueRef m =
            is_not_zero(e, rest(e, t, emit_vector(e, t->value, c)));

        m = among_first(e, c, t->lanes, emit_among(e, c, m));
        out->lanes[c] = m;
        all = all ? LLVMBuildOr(e->l.b, all, m, "") : m;
    }
    out->has_lanes = 1;
    out->bad = emit_mask_any(e, all);
}

static void test(struct emit *e, const struct graph_test *t,
                 struct outcome *out)
{
    struct graph_shape s;

    *out = (struct outcome){.bad = LLVMConstInt(e->i1, 1, 0)};
    if (t->value == GRAPH_NONE)
        return;
    s = graph_shape_at(e->g, t->value, e->at);
    if (s.kind == SHAPE_UNIFORM)
        out->bad = is_not_zero(e, rest(e, t, emit_base(e, t->value, 0)));
    else if (s.kind == SHAPE_STRIDED && s.stride % t->bytes == 0)
        test_chunks(e, t, out);
    else
        test_lanes(e, t, out);
}

/* kiln.first.address: the addresses of all chunks, the lanes -> that of the
 * first of these. */
static LLVMValueRef first_address(struct emit *e, const struct emit_address *at,
                                  LLVMValueRef bits)
{
    LLVMTypeRef args[EMIT_MAX_CHUNKS + 1], type;
    LLVMValueRef given[EMIT_MAX_CHUNKS + 1], fn;
    int fresh;

    if (at->shape.kind == SHAPE_UNIFORM)
        return LLVMBuildPtrToInt(e->l.b, at->ptr[0], e->i64, "");
    for (unsigned c = 0; c < e->chunks; c++) {
        args[c] = emit_vec(e, e->ptr);
        given[c] = emit_address_vector(e, at, c);
    }
    args[e->chunks] = e->i32;
    given[e->chunks] = bits;
    type = LLVMFunctionType(e->i64, args, e->chunks + 1, 0);
    fn = emit_helper(e, "kiln.first.address", type, &fresh);
    if (fresh) {
        LLVMBuilderRef b = LLVMCreateBuilderInContext(e->l.ctx);
        LLVMBuilderRef saved = e->l.b;
        LLVMTypeRef one[] = {e->i32}, all = LLVMArrayType2(e->ptr, ABI_WARP);
        LLVMValueRef list, lane, from;

        e->l.b = b;
        LLVMPositionBuilderAtEnd(
            b, LLVMAppendBasicBlockInContext(e->l.ctx, fn, "entry"));
        list = LLVMBuildAlloca(b, all, "");
        for (unsigned c = 0; c < e->chunks; c++) {
            from = emit_const(e, 64, (uint64_t)c * e->lanes);
            LLVMSetAlignment(
                LLVMBuildStore(b, LLVMGetParam(fn, c),
                               LLVMBuildGEP2(b, e->ptr, list, &from, 1, "")),
                8);
        }
        lane = lower_intrinsic(&e->l, "llvm.cttz", one, 1,
                               (LLVMValueRef[]){LLVMGetParam(fn, e->chunks),
                                                LLVMConstInt(e->i1, 1, 0)},
                               2);
        from = LLVMBuildGEP2(b, e->ptr, list, &lane, 1, "");
        LLVMBuildRet(b, LLVMBuildLoad2(b, e->i64, from, ""));
        e->l.b = saved;
        LLVMDisposeBuilder(b);
    }
    return LLVMBuildCall2(e->l.b, type, fn, given, e->chunks + 1, "");
}

static LLVMBasicBlockRef branch_off(struct emit *e, LLVMValueRef bad)
{
    LLVMBasicBlockRef off = emit_new_bb(e, "misaligned");
    LLVMBasicBlockRef on = emit_new_bb(e, "aligned");

    LLVMBuildCondBr(e->l.b, bad, off, on);
    LLVMPositionBuilderAtEnd(e->l.b, off);
    return on;
}

static void give_up(struct emit *e, const struct graph_test *t,
                    LLVMValueRef lanes, LLVMValueRef address)
{
    e->line = t->of->line;
    if (e->scope)
        lines_at(e->l.b, e->l.ctx, e->scope, e->line);
    emit_fault(e, ABI_FAULT_ALIGNMENT | t->bytes << ABI_FAULT_BITS, lanes,
               address);
    LLVMBuildUnreachable(e->l.b);
}

void emit_tests(struct emit *e, const struct graph_insn *insn)
{
    for (int i = 0; i < insn->tests.count && !e->status; i++) {
        const struct graph_test *t = &insn->tests.list[i];
        struct emit_address at;
        struct outcome found;
        LLVMBasicBlockRef on;
        LLVMValueRef bits;

        /* All forms are made before control parts. */
        emit_address_in(e, insn, t->k, t->space, &at);
        test(e, t, &found);
        on = branch_off(e, found.bad);
        bits = emit_warp_bits(e, found.has_lanes ? found.lanes : e->mask);
        give_up(e, t, bits, first_address(e, &at, bits));
        LLVMPositionBuilderAtEnd(e->l.b, on);
    }
}

/* What the address is made from, which is no multiple either. */
static LLVMValueRef base_of(struct emit *e, const struct graph_test *t,
                            LLVMValueRef v)
{
    if (LLVMTypeOf(v) != e->i64)
        v = LLVMBuildSExt(e->l.b, v, e->i64, "");
    if (t->space == PTX_SPACE_SHARED)
        v = LLVMBuildAdd(e->l.b, v,
                         LLVMBuildPtrToInt(e->l.b, e->shared, e->i64, ""), "");
    return LLVMBuildAdd(e->l.b, v, emit_const(e, 64, t->add), "");
}

/* All in one, and only where that fails one by one. */
void emit_block_tests(struct emit *e, const struct graph_tests *tests)
{
    enum { TOGETHER = 64 };
    LLVMValueRef value[TOGETHER], off[TOGETHER], all = NULL;
    LLVMBasicBlockRef on;

    if (tests->count > TOGETHER) {
        for (int i = 0; i < tests->count; i += TOGETHER) {
            const int left = tests->count - i;
            const struct graph_tests some = {tests->list + i,
                                             left < TOGETHER ? left : TOGETHER};

            emit_block_tests(e, &some);
        }
        return;
    }
    if (!tests->count)
        return;
    for (int i = 0; i < tests->count; i++) {
        const struct graph_test *t = &tests->list[i];

        value[i] = emit_base(e, t->value, 0);
        off[i] = rest(e, t, value[i]);
        if (LLVMTypeOf(off[i]) != e->i64)
            off[i] = LLVMBuildZExt(e->l.b, off[i], e->i64, "");
        all = all ? LLVMBuildOr(e->l.b, all, off[i], "") : off[i];
    }
    on = branch_off(e, is_not_zero(e, all));
    for (int i = 0; i < tests->count; i++) {
        LLVMBasicBlockRef next = NULL;

        if (i < tests->count - 1)
            next = branch_off(e, is_not_zero(e, off[i]));
        give_up(e, &tests->list[i], emit_warp_bits(e, e->mask),
                base_of(e, &tests->list[i], value[i]));
        if (next)
            LLVMPositionBuilderAtEnd(e->l.b, next);
    }
    LLVMPositionBuilderAtEnd(e->l.b, on);
}
