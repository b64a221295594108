/* SPDX-License-Identifier: MIT
 *
 * elect.sync, and what has one answer where a cluster is one block or where
 * no cache listens to advice: mapa, getctarank, createpolicy.
 */
#include "cpu/exec/abi.h"
#include "cpu/jit/emit.h"

/* The lowest active lane of each lane's membermask. */
void emit_elect(struct emit *e, const struct graph_insn *insn)
{
    const struct ptx_insn *p = insn->ptx;
    LLVMValueRef active = emit_splat(e, emit_warp_bits(e, e->mask));
    LLVMValueRef leader[EMIT_MAX_CHUNKS], is_leader[EMIT_MAX_CHUNKS];
    LLVMTypeRef words = emit_vec(e, e->i32), types[] = {words};

    for (unsigned c = 0; c < e->chunks; c++) {
        LLVMValueRef lane = emit_splat(e, emit_const(e, 32, c * e->lanes));
        LLVMValueRef args[] = {
            LLVMBuildAnd(e->l.b,
                         emit_operand_vector(e, insn, p->dst_count, c, 32),
                         active, ""),
            LLVMConstInt(e->i1, 0, 0)};

        lane = LLVMBuildAdd(e->l.b, lane, e->iota32, "");
        leader[c] = lower_intrinsic(&e->l, "llvm.cttz", types, 1, args, 2);
        is_leader[c] = LLVMBuildICmp(e->l.b, LLVMIntEQ, leader[c], lane, "");
    }
    if (insn->val[0] != GRAPH_NONE)
        emit_define_vectors(e, insn->val[0], leader);
    if (p->dst_count > 1 && insn->val[1] != GRAPH_NONE)
        emit_define_vectors(e, insn->val[1], is_leader);
}

void emit_cluster(struct emit *e, const struct graph_insn *insn)
{
    const struct ptx_insn *p = insn->ptx;
    LLVMValueRef made[EMIT_MAX_CHUNKS];
    unsigned bits;

    if (insn->val[0] == GRAPH_NONE)
        return;
    bits = e->g->values[insn->val[0]].bits;
    for (unsigned c = 0; c < e->chunks; c++)
        made[c] = p->op == PTX_OP_MAPA /* the same place */
                      ? emit_operand_vector(e, insn, 1, c, bits)
                      : LLVMConstNull(
                            emit_vec(e, LLVMIntTypeInContext(e->l.ctx, bits)));
    emit_define_vectors(e, insn->val[0], made);
}
