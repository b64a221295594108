/* SPDX-License-Identifier: MIT
 *
 * cp.async: each lane copies 4, 8 or 16 bytes from global to shared memory;
 * of the source only as many as it says, zeros for the rest.
 */
#include "cpu/jit/async.h"

#include <stdio.h>

/* kiln.cp.async.N: destinations, sources, the lanes; .part: how many bytes of
 * each source too. */
static LLVMValueRef helper(struct emit *e, unsigned bytes, int is_part,
                           LLVMTypeRef *type)
{
    LLVMTypeRef ptrs = emit_vec(e, e->ptr);
    LLVMTypeRef args[] = {ptrs, ptrs, e->mask_type, emit_vec(e, e->i32)};
    LLVMTypeRef whole = LLVMVectorType(e->i8, bytes);
    struct emit_lanes l;
    LLVMValueRef fn, v, from, step[16];
    char name[48];
    int fresh;

    *type = LLVMFunctionType(LLVMVoidTypeInContext(e->l.ctx), args,
                             is_part ? 4 : 3, 0);
    snprintf(name, sizeof name, "kiln.cp.async.%u%s", bytes,
             is_part ? ".part" : "");
    fn = emit_helper(e, name, *type, &fresh);
    if (!fresh)
        return fn;
    emit_lanes_begin(e, &l, fn, LLVMGetParam(fn, 2), NULL);
    emit_lanes_in(e, &l, 0, LLVMGetParam(fn, 0));
    emit_lanes_in(e, &l, 1, LLVMGetParam(fn, 1));
    if (is_part)
        emit_lanes_in(e, &l, 2, LLVMGetParam(fn, 3));
    emit_lanes_open(e, &l);
    from = emit_lanes_get(e, &l, 1);
    if (is_part) {
        LLVMValueRef n = emit_lanes_get(e, &l, 2), all;

        for (unsigned i = 0; i < bytes; i++)
            step[i] = emit_const(e, 32, i);
        all = LLVMBuildInsertElement(
            e->l.b, LLVMGetPoison(LLVMVectorType(e->i32, bytes)), n,
            emit_const(e, 32, 0), "");
        all = LLVMBuildShuffleVector(
            e->l.b, all, LLVMGetPoison(LLVMTypeOf(all)),
            LLVMConstNull(LLVMVectorType(e->i32, bytes)), "");
        v = emit_masked_load(e, whole, from,
                             LLVMBuildICmp(e->l.b, LLVMIntULT,
                                           LLVMConstVector(step, bytes), all,
                                           ""),
                             1);
    } else {
        v = LLVMBuildLoad2(e->l.b, whole, from, "");
        LLVMSetAlignment(v, 1);
    }
    v = LLVMBuildStore(e->l.b, v, emit_lanes_get(e, &l, 0));
    LLVMSetAlignment(v, 1);
    emit_lanes_close(e, &l, NULL);
    return fn;
}

int async_is_part(const struct ptx_insn *p)
{
    return p->operand_count - 3 - ptx_has(p, PTX_MOD_L2_CACHE_HINT) > 0;
}

static int is_predicate(struct emit *e, const struct ptx_operand *o)
{
    return o->kind == PTX_OPERAND_REG &&
           e->g->func->regs[o->reg].type == PTX_PRED;
}

LLVMValueRef async_source_bytes(struct emit *e, const struct graph_insn *insn,
                                unsigned bytes, unsigned c)
{
    LLVMValueRef v, all = emit_splat(e, emit_const(e, 32, bytes));

    if (!is_predicate(e, &insn->ptx->operands[3]))
        return emit_operand_vector(e, insn, 3, c, 32);
    v = emit_operand_vector(e, insn, 3, c, 1); /* ignore the source */
    if (insn->ptx->operands[3].negate)
        v = LLVMBuildNot(e->l.b, v, "");
    return LLVMBuildSelect(e->l.b, v, LLVMConstNull(LLVMTypeOf(all)), all, "");
}

static void copy(struct emit *e, const struct graph_insn *insn)
{
    const struct ptx_insn *p = insn->ptx;
    const int left = async_is_part(p);
    unsigned bytes = (unsigned)p->operands[2].ival;
    struct emit_address to, from;
    LLVMTypeRef type;
    LLVMValueRef fn;

    if (p->operand_count < 3 || (bytes != 4 && bytes != 8 && bytes != 16)) {
        emit_refuse(e, p, NULL);
        return;
    }
    emit_address_in(e, insn, 0, PTX_SPACE_SHARED, &to);
    emit_address_in(e, insn, 1, PTX_SPACE_GLOBAL, &from);
    fn = helper(e, bytes, left, &type);
    emit_note_line(e);
    for (unsigned c = 0; c < e->chunks; c++) {
        LLVMValueRef args[] = {
            emit_address_vector(e, &to, c), emit_address_vector(e, &from, c),
            e->mask[c], left ? async_source_bytes(e, insn, bytes, c) : NULL};

        LLVMBuildCall2(e->l.b, type, fn, args, left ? 4 : 3, "");
    }
}

/* All copies before this were made: with .noinc the barrier counts one
 * arrival more; without, that arrival adds to the count what it takes. */
static void arrive(struct emit *e, const struct graph_insn *insn)
{
    LLVMValueRef one[EMIT_MAX_CHUNKS];

    for (unsigned c = 0; c < e->chunks; c++)
        one[c] = emit_splat(e, emit_const(e, 32, 1));
    if (ptx_has(insn->ptx, PTX_MOD_NOINC))
        mbarrier_step(e, insn, 0, insn->ptx->space,
                      &(struct mbarrier_step){.count = one}, NULL);
}

void emit_cp_async(struct emit *e, const struct graph_insn *insn)
{
    const struct ptx_insn *p = insn->ptx;

    if (ptx_has(p, PTX_MOD_BULK))
        async_bulk(e, insn);
    else if (ptx_has(p, PTX_MOD_MBARRIER))
        arrive(e, insn);
    else if (!ptx_has(p, PTX_MOD_COMMIT_GROUP) &&
             !ptx_has(p, PTX_MOD_WAIT_GROUP) && !ptx_has(p, PTX_MOD_WAIT_ALL))
        copy(e, insn);
}
