/* SPDX-License-Identifier: MIT
 *
 * Operations across the lanes of a warp: shuffles, votes, matches, reductions
 * and the active mask. The lanes of a warp are in registers, so none of them
 * goes through memory but a shuffle by a varying index without AVX-512.
 *
 * A membermask that names lanes which are not active here is undefined in
 * PTX unless those lanes arrive at the same instruction later; the engine
 * takes the members among the active lanes.
 */
#include "cpu/jit/emit.h"

#include <stdio.h>

/* --- shuffles (PTX ISA 9.7.9.6, shfl.sync) --- */

struct shuffle {
    enum ptx_sub mode;
    LLVMValueRef index[EMIT_MAX_CHUNKS]; /* source lane */
    LLVMValueRef valid[EMIT_MAX_CHUNKS];
};

static LLVMValueRef lanes_of(struct emit *e, unsigned c)
{
    return LLVMBuildAdd(e->l.b, e->iota32,
                        emit_splat(e, emit_const(e, 32, c * e->lanes)), "");
}

/* j and p of the ISA's pseudo code; own lane where p is false. */
static void source_lane(struct emit *e, struct shuffle *s, unsigned c,
                        LLVMValueRef b, LLVMValueRef clamp)
{
    LLVMBuilderRef ir = e->l.b;
    LLVMValueRef lane = lanes_of(e, c), seg, max, min, j, p;
    LLVMValueRef k31 = emit_splat(e, emit_const(e, 32, 31));
    LLVMValueRef k8 = emit_splat(e, emit_const(e, 32, 8));

    b = LLVMBuildAnd(ir, b, k31, "");
    seg = LLVMBuildAnd(ir, LLVMBuildLShr(ir, clamp, k8, ""), k31, "");
    clamp = LLVMBuildAnd(ir, clamp, k31, "");
    min = LLVMBuildAnd(ir, lane, seg, "");
    max = LLVMBuildOr(
        ir, min, LLVMBuildAnd(ir, clamp, LLVMBuildNot(ir, seg, ""), ""), "");
    switch (s->mode) {
    case PTX_SUB_SHFL_UP:
        j = LLVMBuildSub(ir, lane, b, "");
        p = LLVMBuildICmp(ir, LLVMIntSGE, j, max, "");
        break;
    case PTX_SUB_SHFL_DOWN:
        j = LLVMBuildAdd(ir, lane, b, "");
        p = LLVMBuildICmp(ir, LLVMIntSLE, j, max, "");
        break;
    case PTX_SUB_SHFL_BFLY:
        j = LLVMBuildXor(ir, lane, b, "");
        p = LLVMBuildICmp(ir, LLVMIntSLE, j, max, "");
        break;
    default:
        j = LLVMBuildOr(ir, min,
                        LLVMBuildAnd(ir, b, LLVMBuildNot(ir, seg, ""), ""), "");
        p = LLVMBuildICmp(ir, LLVMIntSLE, j, max, "");
        break;
    }
    s->index[c] = LLVMBuildSelect(ir, p, j, lane, "");
    s->valid[c] = p;
}

/* Chunks a and b of a tree as one vector of twice the lanes. */
static LLVMValueRef join_chunks(struct emit *e, const LLVMValueRef *v)
{
    LLVMValueRef part[EMIT_MAX_CHUNKS];
    unsigned n = e->chunks, lanes = e->lanes;

    for (unsigned c = 0; c < n; c++)
        part[c] = v[c];
    for (; n > 1; n /= 2, lanes *= 2)
        for (unsigned c = 0; c < n / 2; c++) {
            LLVMValueRef index[64];

            for (unsigned i = 0; i < 2 * lanes; i++)
                index[i] = LLVMConstInt(e->i32, i, 0);
            part[c] =
                LLVMBuildShuffleVector(e->l.b, part[2 * c], part[2 * c + 1],
                                       LLVMConstVector(index, 2 * lanes), "");
        }
    return part[0];
}

/* Constant source lanes: one shuffle of the whole warp a chunk. */
static int by_constant(struct emit *e, const LLVMValueRef *v,
                       const struct shuffle *s, LLVMValueRef *out)
{
    LLVMValueRef warp, index[64];

    for (unsigned c = 0; c < e->chunks; c++)
        if (!LLVMIsAConstantDataVector(s->index[c]) &&
            !LLVMIsAConstantAggregateZero(s->index[c]) &&
            !LLVMIsAConstantVector(s->index[c]))
            return 0;
    warp = join_chunks(e, v);
    for (unsigned c = 0; c < e->chunks; c++) {
        for (unsigned i = 0; i < e->lanes; i++)
            index[i] = LLVMGetAggregateElement(s->index[c], i);
        out[c] = LLVMBuildShuffleVector(e->l.b, warp,
                                        LLVMGetPoison(LLVMTypeOf(warp)),
                                        LLVMConstVector(index, e->lanes), "");
    }
    return 1;
}

static void by_index(struct emit *e, const LLVMValueRef *v,
                     const struct shuffle *s, LLVMValueRef *out)
{
    LLVMTypeRef type = LLVMArrayType2(e->i32, 32);
    LLVMValueRef table;

    if (e->target->has_avx512 && e->lanes == 16) {
        for (unsigned c = 0; c < e->chunks; c++) {
            LLVMValueRef args[] = {v[0], s->index[c], v[1]};

            out[c] = lower_intrinsic(&e->l, "llvm.x86.avx512.vpermi2var.d.512",
                                     NULL, 0, args, 3);
        }
        return;
    }
    table = LLVMBuildAlloca(e->top, type, "");
    for (unsigned c = 0; c < e->chunks; c++) {
        LLVMValueRef at = emit_const(e, 64, c * e->lanes);
        LLVMValueRef p = LLVMBuildGEP2(e->l.b, e->i32, table, &at, 1, "");

        LLVMSetAlignment(LLVMBuildStore(e->l.b, v[c], p), 4);
    }
    for (unsigned c = 0; c < e->chunks; c++) {
        out[c] = LLVMGetPoison(LLVMTypeOf(v[c]));
        for (unsigned i = 0; i < e->lanes; i++) {
            LLVMValueRef k = emit_const(e, 32, i), p, j;

            j = LLVMBuildExtractElement(e->l.b, s->index[c], k, "");
            p = LLVMBuildGEP2(e->l.b, e->i32, table, &j, 1, "");
            out[c] = LLVMBuildInsertElement(
                e->l.b, out[c], LLVMBuildLoad2(e->l.b, e->i32, p, ""), k, "");
        }
    }
}

void emit_shuffle(struct emit *e, const struct graph_insn *insn)
{
    const struct ptx_insn *p = insn->ptx;
    int k = p->dst_count, value = insn->val[0];
    int pred = p->has_pair && p->dst_count > 1 ? insn->val[1] : GRAPH_NONE;
    LLVMValueRef v[EMIT_MAX_CHUNKS], out[EMIT_MAX_CHUNKS];
    struct shuffle s = {.mode = p->sub};

    if (p->operand_count < k + 3 || !p->type_count ||
        ptx_type_bits(p->types[0]) != 32) {
        emit_refuse(e, p, NULL);
        return;
    }
    for (unsigned c = 0; c < e->chunks; c++) {
        v[c] = emit_operand_vector(e, insn, k, c, 32);
        source_lane(e, &s, c, emit_operand_vector(e, insn, k + 1, c, 32),
                    emit_operand_vector(e, insn, k + 2, c, 32));
    }
    if (value != GRAPH_NONE) {
        if (!by_constant(e, v, &s, out))
            by_index(e, v, &s, out);
        emit_define_vectors(e, value, out);
    }
    if (pred != GRAPH_NONE)
        emit_define_vectors(e, pred, s.valid);
}

/* --- votes --- */

static LLVMValueRef predicate_bits(struct emit *e,
                                   const struct graph_insn *insn, int k,
                                   LLVMValueRef active)
{
    LLVMValueRef m[EMIT_MAX_CHUNKS], bits, p;
    int negate = insn->ptx->operands[k].negate;

    if (graph_operand_shape(e->g, insn, k, e->at).kind == SHAPE_UNIFORM) {
        p = emit_operand_base(e, insn, k, 0, 1);
        if (negate)
            p = LLVMBuildNot(e->l.b, p, "");
        return LLVMBuildSelect(e->l.b, p, active, emit_const(e, 32, 0), "");
    }
    for (unsigned c = 0; c < e->chunks; c++) {
        p = emit_operand_vector(e, insn, k, c, 1);
        if (negate)
            p = LLVMBuildNot(e->l.b, p, "");
        m[c] = emit_among(e, c, p);
    }
    bits = emit_warp_bits(e, m);
    return LLVMBuildAnd(e->l.b, bits, active, "");
}

/* Lane by lane: is the membermask the same for the whole warp? */
static int has_groups(struct emit *e, const struct graph_insn *insn, int k)
{
    return k < insn->ptx->operand_count &&
           graph_operand_shape(e->g, insn, k, e->at).kind != SHAPE_UNIFORM;
}

/* The active lanes among each lane's members, chunk c. */
static LLVMValueRef group(struct emit *e, const struct graph_insn *insn, int k,
                          unsigned c)
{
    return LLVMBuildAnd(e->l.b, emit_splat(e, emit_warp_bits(e, e->mask)),
                        emit_operand_vector(e, insn, k, c, 32), "");
}

/* The active lanes among the members (operand k, if there is one). */
static LLVMValueRef members(struct emit *e, const struct graph_insn *insn,
                            int k)
{
    LLVMValueRef active = emit_warp_bits(e, e->mask);

    if (k >= insn->ptx->operand_count)
        return active;
    return LLVMBuildAnd(e->l.b, active, emit_operand_any(e, insn, k, 32), "");
}

/* A value that is the same for the whole warp. */
static void define_uniform(struct emit *e, int value, LLVMValueRef v)
{
    LLVMValueRef made[EMIT_MAX_CHUNKS];
    enum shape_kind shape;

    if (value == GRAPH_NONE)
        return;
    shape = e->g->values[value].kind_of_shape;
    for (unsigned c = 0; c < e->chunks; c++)
        made[c] = shape == SHAPE_VARYING ? emit_splat(e, v) : v;
    emit_define(e, value, made);
}

/* What the lanes `in` vote where those of `yes` among them say yes: i32s, or
 * vectors of them. NULL: no such vote. */
static LLVMValueRef outcome(struct emit *e, enum ptx_sub sub, LLVMValueRef yes,
                            LLVMValueRef in)
{
    LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(in));

    switch (sub) {
    case PTX_SUB_BALLOT:
        return yes;
    case PTX_SUB_ALL:
        return LLVMBuildICmp(e->l.b, LLVMIntEQ, yes, in, "");
    case PTX_SUB_ANY:
        return LLVMBuildICmp(e->l.b, LLVMIntNE, yes, zero, "");
    case PTX_SUB_UNI:
        return LLVMBuildOr(e->l.b,
                           LLVMBuildICmp(e->l.b, LLVMIntEQ, yes, in, ""),
                           LLVMBuildICmp(e->l.b, LLVMIntEQ, yes, zero, ""), "");
    default:
        return NULL;
    }
}

void emit_vote(struct emit *e, const struct graph_insn *insn)
{
    const struct ptx_insn *p = insn->ptx;
    LLVMValueRef yes, made[EMIT_MAX_CHUNKS];

    if (!has_groups(e, insn, 2)) {
        LLVMValueRef in = members(e, insn, 2);

        yes = predicate_bits(e, insn, 1, in);
        made[0] = outcome(e, p->sub, yes, in);
        if (made[0])
            define_uniform(e, insn->val[0], made[0]);
        else
            emit_refuse(e, p, NULL);
        return;
    }
    yes = predicate_bits(e, insn, 1, emit_warp_bits(e, e->mask));
    for (unsigned c = 0; c < e->chunks; c++) {
        LLVMValueRef in = group(e, insn, 2, c);

        made[c] = outcome(e, p->sub,
                          LLVMBuildAnd(e->l.b, emit_splat(e, yes), in, ""), in);
        if (!made[c]) {
            emit_refuse(e, p, NULL);
            return;
        }
    }
    if (insn->val[0] != GRAPH_NONE)
        emit_define_vectors(e, insn->val[0], made);
}

void emit_activemask(struct emit *e, const struct graph_insn *insn)
{
    define_uniform(e, insn->val[0], emit_warp_bits(e, e->mask));
}

/* --- redux.sync --- */

static LLVMValueRef reduce_two(struct emit *e, const struct ptx_insn *p,
                               LLVMValueRef a, LLVMValueRef b)
{
    int is_signed = ptx_type_class(p->types[0]) == PTX_CLASS_SINT;
    LLVMValueRef t;

    switch (p->sub) {
    case PTX_SUB_ADD:
        return LLVMBuildAdd(e->l.b, a, b, "");
    case PTX_SUB_AND:
        return LLVMBuildAnd(e->l.b, a, b, "");
    case PTX_SUB_OR:
        return LLVMBuildOr(e->l.b, a, b, "");
    case PTX_SUB_XOR:
        return LLVMBuildXor(e->l.b, a, b, "");
    default:
        t = LLVMBuildICmp(e->l.b, is_signed ? LLVMIntSLT : LLVMIntULT, a, b,
                          "");
        return p->sub == PTX_SUB_MIN ? LLVMBuildSelect(e->l.b, t, a, b, "")
                                     : LLVMBuildSelect(e->l.b, t, b, a, "");
    }
}

static uint32_t identity(const struct ptx_insn *p)
{
    int is_signed = ptx_type_class(p->types[0]) == PTX_CLASS_SINT;

    switch (p->sub) {
    case PTX_SUB_AND:
        return UINT32_MAX;
    case PTX_SUB_MIN:
        return is_signed ? INT32_MAX : UINT32_MAX;
    case PTX_SUB_MAX:
        return is_signed ? (uint32_t)INT32_MIN : 0;
    default:
        return 0;
    }
}

/* One membermask: the members' values, then a tree over them. */
static void reduce_warp(struct emit *e, const struct graph_insn *insn)
{
    const struct ptx_insn *p = insn->ptx;
    LLVMValueRef in = members(e, insn, 2), all = NULL, none;

    none = emit_splat(e, emit_const(e, 32, identity(p)));
    for (unsigned c = 0; c < e->chunks; c++) {
        LLVMTypeRef bits = LLVMIntTypeInContext(e->l.ctx, e->lanes);
        LLVMValueRef m =
            LLVMBuildLShr(e->l.b, in, emit_const(e, 32, c * e->lanes), "");
        LLVMValueRef v = emit_operand_vector(e, insn, 1, c, 32);

        m = LLVMBuildBitCast(e->l.b, LLVMBuildTrunc(e->l.b, m, bits, ""),
                             e->mask_type, "");
        v = LLVMBuildSelect(e->l.b, m, v, none, "");
        all = all ? reduce_two(e, p, all, v) : v;
    }
    for (unsigned n = e->lanes / 2; n; n /= 2) {
        LLVMValueRef index[64];

        for (unsigned i = 0; i < e->lanes; i++)
            index[i] = LLVMConstInt(e->i32, (i + n) % e->lanes, 0);
        all = reduce_two(
            e, p, all,
            LLVMBuildShuffleVector(e->l.b, all, LLVMGetPoison(LLVMTypeOf(all)),
                                   LLVMConstVector(index, e->lanes), ""));
    }
    define_uniform(
        e, insn->val[0],
        LLVMBuildExtractElement(e->l.b, all, emit_const(e, 32, 0), ""));
}

/* Lane i of the warp's vectors v. */
static LLVMValueRef lane_of(struct emit *e, const LLVMValueRef *v, unsigned i)
{
    return LLVMBuildExtractElement(e->l.b, v[i / e->lanes],
                                   emit_const(e, 32, i % e->lanes), "");
}

/* A membermask a lane: every lane's value to those that count it in. */
static void reduce_groups(struct emit *e, const struct graph_insn *insn)
{
    const struct ptx_insn *p = insn->ptx;
    LLVMValueRef v[EMIT_MAX_CHUNKS], in[EMIT_MAX_CHUNKS];
    LLVMValueRef all[EMIT_MAX_CHUNKS];
    LLVMValueRef none = emit_splat(e, emit_const(e, 32, identity(p)));

    for (unsigned c = 0; c < e->chunks; c++) {
        v[c] = emit_operand_vector(e, insn, 1, c, 32);
        in[c] = group(e, insn, 2, c);
        all[c] = none;
    }
    for (unsigned i = 0; i < 32; i++) {
        LLVMValueRef x = emit_splat(e, lane_of(e, v, i));
        LLVMValueRef bit = emit_splat(e, emit_const(e, 32, 1u << i));

        for (unsigned c = 0; c < e->chunks; c++) {
            LLVMValueRef t = LLVMBuildAnd(e->l.b, in[c], bit, "");

            t = LLVMBuildICmp(e->l.b, LLVMIntNE, t,
                              LLVMConstNull(LLVMTypeOf(t)), "");
            all[c] = reduce_two(e, p, all[c],
                                LLVMBuildSelect(e->l.b, t, x, none, ""));
        }
    }
    if (insn->val[0] != GRAPH_NONE)
        emit_define_vectors(e, insn->val[0], all);
}

void emit_redux(struct emit *e, const struct graph_insn *insn)
{
    const struct ptx_insn *p = insn->ptx;

    if (ptx_type_bits(p->types[0]) != 32 ||
        ptx_type_class(p->types[0]) == PTX_CLASS_FLOAT)
        emit_refuse(e, p, NULL);
    else if (has_groups(e, insn, 2))
        reduce_groups(e, insn);
    else
        reduce_warp(e, insn);
}

/* --- match.sync: every lane's value against the warp's, one by one --- */

void emit_match(struct emit *e, const struct graph_insn *insn)
{
    const struct ptx_insn *p = insn->ptx;
    unsigned bits = ptx_type_bits(p->types[0]);
    int k = p->dst_count, pred = GRAPH_NONE;
    LLVMValueRef v[EMIT_MAX_CHUNKS], in[EMIT_MAX_CHUNKS];
    LLVMValueRef out[EMIT_MAX_CHUNKS], same[EMIT_MAX_CHUNKS];

    for (unsigned c = 0; c < e->chunks; c++) {
        v[c] = emit_operand_vector(e, insn, k, c, bits);
        in[c] = group(e, insn, k + 1, c);
        out[c] = LLVMConstNull(emit_vec(e, e->i32));
    }
    for (unsigned i = 0; i < 32; i++) {
        LLVMValueRef x = emit_splat(e, lane_of(e, v, i));
        LLVMValueRef bit = emit_splat(e, emit_const(e, 32, 1u << i));

        for (unsigned c = 0; c < e->chunks; c++) {
            LLVMValueRef eq = LLVMBuildICmp(e->l.b, LLVMIntEQ, v[c], x, "");

            eq = LLVMBuildSelect(e->l.b, eq, bit,
                                 LLVMConstNull(emit_vec(e, e->i32)), "");
            out[c] = LLVMBuildOr(e->l.b, out[c], eq, "");
        }
    }
    for (unsigned c = 0; c < e->chunks; c++) {
        out[c] = LLVMBuildAnd(e->l.b, out[c], in[c], "");
        same[c] = LLVMBuildICmp(e->l.b, LLVMIntEQ, out[c], in[c], "");
        if (p->sub == PTX_SUB_ALL)
            out[c] = LLVMBuildSelect(e->l.b, same[c], out[c],
                                     LLVMConstNull(LLVMTypeOf(out[c])), "");
    }
    if (insn->val[0] != GRAPH_NONE)
        emit_define_vectors(e, insn->val[0], out);
    if (p->has_pair && p->dst_count > 1)
        pred = insn->val[1];
    if (pred != GRAPH_NONE)
        emit_define_vectors(e, pred, same);
}
