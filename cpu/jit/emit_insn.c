/* SPDX-License-Identifier: MIT
 *
 * One instruction: elementwise ones in the form that their result's shape
 * asks for, the others by family. Whatever is not listed is refused here,
 * with its mnemonic and line.
 */
#include <stddef.h>

#include "cpu/exec/abi.h"
#include "cpu/jit/align.h"
#include "cpu/jit/async.h"
#include "cpu/jit/emit_wait.h"
#include "cpu/jit/frames.h"
#include "cpu/jit/lines.h"

enum { MAX_SOURCES = 6 };

/* --- elementwise --- */

/* Sources that are listed one by one: elements of the four that cvt takes. */
static int count_sources(const struct ptx_insn *p)
{
    int n = 0;

    for (int k = 0; k < p->operand_count; k++) {
        const int is_vector = p->operands[k].kind == PTX_OPERAND_VECTOR;

        if (is_vector && (p->op != PTX_OP_CVT || k < p->dst_count))
            return MAX_SOURCES + 1;
        if (k >= p->dst_count)
            n += is_vector ? p->operands[k].count : 1;
    }
    return n;
}

/* Operand k of chunk c, element by element; the end of src. */
static LLVMValueRef *list_source(struct emit *e, const struct graph_insn *insn,
                                 int k, unsigned c, int vector,
                                 LLVMValueRef *src)
{
    const struct ptx_insn *p = insn->ptx;
    const struct ptx_operand *o = &p->operands[k];
    unsigned width = emit_operand_bits(p, k);

    if (o->kind == PTX_OPERAND_VECTOR) {
        for (int j = 0; j < o->count; j++)
            *src++ = vector ? emit_element_vector(e, insn, k, j, c, width)
                            : emit_element_base(e, insn, k, j, c, width);
        return src;
    }
    *src = vector ? emit_operand_vector(e, insn, k, c, width)
                  : emit_operand_base(e, insn, k, c, width);
    if (o->negate == 1)
        *src = LLVMBuildNot(e->l.b, *src, "");
    return src + 1;
}

/* One chunk (or the warp, where scalar): sources, lowering, results. */
static void lower_chunk(struct emit *e, const struct graph_insn *insn,
                        unsigned c, int vector, LLVMValueRef out[3])
{
    const struct ptx_insn *p = insn->ptx;
    LLVMValueRef src[MAX_SOURCES], *at = src, dst[3] = {0};
    unsigned bits[3] = {0};

    for (int k = p->dst_count; k < p->operand_count; k++)
        at = list_source(e, insn, k, c, vector, at);
    for (int k = 0; k < p->dst_count; k++)
        if (insn->val[k] != GRAPH_NONE)
            bits[k] = e->g->values[insn->val[k]].bits;
    e->l.lanes = vector ? e->lanes : 0;
    if (insn->cc_use != GRAPH_NONE)
        e->l.carry = vector ? emit_vector(e, insn->cc_use, c)
                            : emit_base(e, insn->cc_use, c);
    e->status = lower_insn(&e->l, p, src, bits, dst, e->err);
    out[0] = dst[0];
    out[1] = dst[1];
    out[2] = e->l.carry;
}

static int defines(const struct graph_insn *insn)
{
    return insn->val[0] != GRAPH_NONE || insn->cc_def != GRAPH_NONE ||
           (insn->ptx->dst_count > 1 && insn->val[1] != GRAPH_NONE);
}

static enum shape_kind least_regular(struct emit *e,
                                     const struct graph_insn *insn)
{
    const int list[] = {insn->val[0],
                        insn->ptx->dst_count > 1 ? insn->val[1] : GRAPH_NONE,
                        insn->cc_def};
    enum shape_kind most = SHAPE_UNIFORM;

    for (int i = 0; i < 3; i++)
        if (list[i] != GRAPH_NONE && e->g->values[list[i]].kind_of_shape > most)
            most = e->g->values[list[i]].kind_of_shape;
    return most;
}

static void elementwise(struct emit *e, const struct graph_insn *insn)
{
    const struct ptx_insn *p = insn->ptx;
    enum shape_kind shape = least_regular(e, insn);
    unsigned n = shape == SHAPE_UNIFORM ? 1 : e->chunks;
    LLVMValueRef out[3][EMIT_MAX_CHUNKS];

    if (count_sources(p) > MAX_SOURCES || p->dst_count > 2) {
        emit_refuse(e, p, NULL);
        return;
    }
    if (p->dst_count && !defines(insn)) /* setp.lt.u32 _, a, b */
        return;
    for (unsigned c = 0; c < n && !e->status; c++) {
        LLVMValueRef made[3];

        lower_chunk(e, insn, c, shape == SHAPE_VARYING, made);
        for (int i = 0; i < 3; i++)
            out[i][c] = made[i];
    }
    if (e->status)
        return;
    for (int i = 0; i < 3; i++) {
        int value = i == 2             ? insn->cc_def
                    : i < p->dst_count ? insn->val[i]
                                       : GRAPH_NONE;

        if (value == GRAPH_NONE)
            continue;
        if (shape == SHAPE_VARYING)
            emit_define_vectors(e, value, out[i]);
        else
            emit_define(e, value, out[i]);
    }
}

/* value = guard ? new : old */
static void choice(struct emit *e, const struct graph_insn *insn)
{
    const struct graph_value *v = &e->g->values[insn->val[0]];
    int vector = v->kind_of_shape == SHAPE_VARYING;
    unsigned n = v->kind_of_shape == SHAPE_UNIFORM ? 1 : e->chunks;
    LLVMValueRef made[EMIT_MAX_CHUNKS];

    for (unsigned c = 0; c < n; c++) {
        LLVMValueRef p, a, b;

        if (vector) {
            p = emit_vector(e, insn->guard, c);
            a = emit_vector(e, insn->val[1], c);
            b = emit_vector(e, insn->val[2], c);
        } else {
            p = emit_base(e, insn->guard, c);
            a = emit_base(e, insn->val[1], c);
            b = emit_base(e, insn->val[2], c);
        }
        made[c] = insn->negate ? LLVMBuildSelect(e->l.b, p, b, a, "")
                               : LLVMBuildSelect(e->l.b, p, a, b, "");
    }
    emit_define(e, insn->val[0], made);
}

/* --- barriers and the engine's calls --- */

/* The predicate of bar.red over the active lanes: how many, all, any. */
static LLVMValueRef warp_predicate(struct emit *e,
                                   const struct graph_insn *insn, int k,
                                   uint32_t kind)
{
    LLVMValueRef m[EMIT_MAX_CHUNKS], bits, active;
    LLVMTypeRef types[] = {e->i32};

    active = emit_warp_bits(e, e->mask);
    for (unsigned c = 0; c < e->chunks; c++) {
        m[c] = emit_operand_vector(e, insn, k, c, 1);
        if (insn->ptx->operands[k].negate)
            m[c] = LLVMBuildNot(e->l.b, m[c], "");
        m[c] = emit_among(e, c, m[c]);
    }
    bits = emit_warp_bits(e, m);
    if (kind == ABI_BARRIER_POPC)
        return lower_intrinsic(&e->l, "llvm.ctpop", types, 1, &bits, 1);
    bits =
        kind == ABI_BARRIER_AND
            ? LLVMBuildICmp(e->l.b, LLVMIntEQ, bits, active, "")
            : LLVMBuildICmp(e->l.b, LLVMIntNE, bits, emit_const(e, 32, 0), "");
    return LLVMBuildZExt(e->l.b, bits, e->i32, "");
}

/* The number of a barrier; one from a register may be too large. */
static LLVMValueRef barrier_number(struct emit *e,
                                   const struct graph_insn *insn, int k)
{
    LLVMValueRef id = emit_operand_any(e, insn, k, 32), is_named;

    is_named = LLVMBuildICmp(e->l.b, LLVMIntULT, id,
                             emit_const(e, 32, ABI_NAMED_BARRIERS), "");
    return LLVMBuildSelect(
        e->l.b, is_named, id,
        LLVMBuildOr(e->l.b, id, emit_const(e, 32, ABI_NO_BARRIER), ""), "");
}

/* bar.sync a{, b}; bar.arrive a, b; bar.red.op d, a{, b}, p */
void emit_barrier(struct emit *e, const struct graph_insn *insn)
{
    const struct ptx_insn *p = insn->ptx;
    int k = p->dst_count, left = p->operand_count - k, red;
    int cluster = ptx_has(p, PTX_MOD_CLUSTER);
    uint32_t kind = ABI_BARRIER_SYNC;
    LLVMValueRef id, threads = emit_const(e, 32, 0), result;
    LLVMValueRef value = emit_const(e, 32, 0);

    if (ptx_has(p, PTX_MOD_WARP))
        return; /* the lanes of a warp run in step */
    red = ptx_has(p, PTX_MOD_RED);
    if (!cluster && left < 1) {
        emit_refuse(e, p, NULL);
        return;
    }
    if (ptx_has(p, PTX_MOD_ARRIVE))
        kind = ABI_BARRIER_ARRIVE;
    else if (cluster)
        kind = ABI_BARRIER_WAIT;
    else if (red)
        kind = p->sub == PTX_SUB_POPC  ? ABI_BARRIER_POPC
               : p->sub == PTX_SUB_AND ? ABI_BARRIER_AND
                                       : ABI_BARRIER_OR;
    id = cluster ? emit_const(e, 32, ABI_CLUSTER_BARRIER)
                 : barrier_number(e, insn, k);
    if (left - red > 1)
        threads = emit_operand_any(e, insn, k + 1, 32);
    if (red)
        value = warp_predicate(e, insn, p->operand_count - 1, kind);
    if (e->resume) {
        wait_set_header(e, id, threads, kind, value);
        return;
    }
    result = emit_call_engine(
        e, 48, e->i32,
        (LLVMValueRef[]){e->block, e->warp, id, threads,
                         emit_const(e, 32, kind), value},
        (LLVMTypeRef[]){e->ptr, e->i32, e->i32, e->i32, e->i32, e->i32}, 6);
    LLVMBuildStore(e->l.b, result, e->barrier_result);
}

/* What the barrier at the end of the block before gave. */
static void barrier_result(struct emit *e, const struct graph_insn *insn)
{
    LLVMValueRef made[EMIT_MAX_CHUNKS], v;
    const struct graph_value *value;

    if (insn->val[0] == GRAPH_NONE)
        return;
    value = &e->g->values[insn->val[0]];
    v = e->resume ? wait_result(e)
                  : LLVMBuildLoad2(e->l.b, e->i32, e->barrier_result, "");
    if (value->bits == 1)
        v = LLVMBuildICmp(e->l.b, LLVMIntNE, v, emit_const(e, 32, 0), "");
    for (unsigned c = 0; c < e->chunks; c++)
        made[c] = value->kind_of_shape == SHAPE_VARYING ? emit_splat(e, v) : v;
    emit_define(e, insn->val[0], made);
}

/* The line is told: LLVM makes one of what several faults have in common. */
void emit_fault(struct emit *e, uint32_t kind, LLVMValueRef lanes,
                LLVMValueRef detail)
{
    emit_tell_line(e);
    emit_set_field(e, offsetof(struct abi_block, lanes), lanes);
    emit_call_engine(
        e, 64, LLVMVoidTypeInContext(e->l.ctx),
        (LLVMValueRef[]){e->block, e->warp, emit_const(e, 32, kind), detail},
        (LLVMTypeRef[]){e->ptr, e->i32, e->i32, e->i64}, 4);
}

/* Registers declared .v2 or .v4: values are of one element each. */
static int names_vector_register(const struct emit *e, const struct ptx_insn *p)
{
    for (int k = 0; k < p->operand_count; k++) {
        const struct ptx_operand *o = &p->operands[k];

        if (o->kind == PTX_OPERAND_REG && e->g->func->regs[o->reg].vec > 1)
            return 1;
    }
    return 0;
}

void emit_insn(struct emit *e, const struct graph_insn *insn)
{
    e->line = insn->ptx->line;
    if (e->scope)
        lines_at(e->l.b, e->l.ctx, graph_is_pure(insn->ptx) ? NULL : e->scope,
                 insn->ptx->line);
    if (insn->kind == GRAPH_INSN_SELECT) {
        choice(e, insn);
        return;
    }
    if (insn->kind == GRAPH_INSN_RESULT) {
        barrier_result(e, insn);
        return;
    }
    if (names_vector_register(e, insn->ptx)) {
        emit_refuse(e, insn->ptx, "a vector register");
        return;
    }
    emit_tests(e, insn);
    emit_checks(e, insn);
    switch (insn->ptx->op) {
    case PTX_OP_MOV:
        emit_mov(e, insn);
        return;
    case PTX_OP_CVTA:
        emit_cvta(e, insn);
        return;
    case PTX_OP_ISSPACEP:
        emit_isspacep(e, insn);
        return;
    case PTX_OP_CALL:
        emit_call(e, insn);
        return;
    case PTX_OP_LD:
    case PTX_OP_LDU:
        emit_load(e, insn);
        return;
    case PTX_OP_ST:
        if (ptx_has(insn->ptx, PTX_MOD_BULK))
            store_bulk(e, insn);
        else
            emit_store(e, insn);
        return;
    case PTX_OP_ATOM:
    case PTX_OP_RED:
        emit_atomic(e, insn);
        if (ptx_has(insn->ptx, PTX_MOD_ASYNC) && !e->status)
            async_complete(e, insn, 2, ptx_type_bits(insn->ptx->types[0]) / 8);
        return;
    case PTX_OP_SHFL:
        emit_shuffle(e, insn);
        return;
    case PTX_OP_VOTE:
        emit_vote(e, insn);
        return;
    case PTX_OP_MATCH:
        emit_match(e, insn);
        return;
    case PTX_OP_REDUX:
        emit_redux(e, insn);
        return;
    case PTX_OP_ACTIVEMASK:
        emit_activemask(e, insn);
        return;
    case PTX_OP_BAR:
    case PTX_OP_BARRIER:
        emit_barrier(e, insn);
        return;
    case PTX_OP_MEMBAR:
    case PTX_OP_FENCE:
        emit_keep_order(e);
        LLVMBuildFence(e->l.b, LLVMAtomicOrderingSequentiallyConsistent, 0, "");
        return;
    case PTX_OP_PREFETCH:
    case PTX_OP_PREFETCHU:
    case PTX_OP_GRIDDEPCONTROL:
    case PTX_OP_SETMAXNREG:
    case PTX_OP_DISCARD:
    case PTX_OP_APPLYPRIORITY:
    case PTX_OP_PMEVENT:
        return; /* hints here: no effect on results */
    case PTX_OP_NANOSLEEP:
        emit_yield(e);
        return;
    case PTX_OP_CP:
        emit_cp_async(e, insn);
        return;
    case PTX_OP_MBARRIER:
        emit_mbarrier(e, insn);
        return;
    case PTX_OP_ELECT:
        emit_elect(e, insn);
        return;
    case PTX_OP_MAPA:
    case PTX_OP_GETCTARANK:
    case PTX_OP_CREATEPOLICY:
        emit_cluster(e, insn);
        return;
    case PTX_OP_MMA:
        emit_mma(e, insn);
        return;
    case PTX_OP_WMMA:
        emit_wmma(e, insn);
        return;
    case PTX_OP_LDMATRIX:
    case PTX_OP_STMATRIX:
        emit_ldmatrix(e, insn);
        return;
    case PTX_OP_MOVMATRIX:
        emit_movmatrix(e, insn);
        return;
    case PTX_OP_TEX:
    case PTX_OP_TLD4:
    case PTX_OP_TXQ:
    case PTX_OP_SULD:
    case PTX_OP_SUST:
    case PTX_OP_SURED:
    case PTX_OP_SUQ:
        emit_texture(e, insn);
        return;
    case PTX_OP_TRAP:
    case PTX_OP_BRKPT:
        emit_fault(e,
                   insn->ptx->text == frame_overflow ? ABI_FAULT_STACK
                                                     : ABI_FAULT_TRAP,
                   emit_warp_bits(e, e->mask), emit_const(e, 64, 0));
        return;
    default:
        if (lower_knows(insn->ptx))
            elementwise(e, insn);
        else
            emit_refuse(e, insn->ptx, NULL);
        return;
    }
}
