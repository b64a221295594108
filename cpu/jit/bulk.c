/* SPDX-License-Identifier: MIT
 *
 * cp.async.bulk and cp.reduce.async.bulk without tensor maps, and what st.async
 * and red.async do behind their access. Clusters are of one block:
 * shared::cluster is the block's own shared memory.
 */
#include "cpu/jit/async.h"

#include <stdio.h>

/* Sizes and addresses of copies are multiples of PIECE, of zeros of ZEROS. */
enum { PIECE = 16, ZEROS = 8 };

static LLVMValueRef place(struct emit *e, LLVMValueRef base, LLVMValueRef at)
{
    return LLVMBuildGEP2(e->l.b, e->i8, base, &at, 1, "");
}

/* PIECE bytes copied, or added up as p says, element by element. */
static void take_piece(struct emit *e, const struct ptx_insn *p,
                       LLVMValueRef to, LLVMValueRef from)
{
    const unsigned bits = ptx_type_bits(p->types[0]);
    LLVMTypeRef piece =
        bits ? LLVMVectorType(LLVMIntTypeInContext(e->l.ctx, bits),
                              8 * PIECE / bits)
             : LLVMVectorType(e->i8, PIECE);
    LLVMValueRef v = LLVMBuildLoad2(e->l.b, piece, from, "");

    LLVMSetAlignment(v, 1);
    if (!bits) {
        LLVMSetAlignment(LLVMBuildStore(e->l.b, v, to), 1);
        return;
    }
    for (unsigned i = 0; i < 8 * PIECE / bits; i++)
        atomic_one(
            e, p, place(e, to, emit_const(e, 64, i * bits / 8)),
            LLVMBuildExtractElement(e->l.b, v, emit_const(e, 32, i), ""));
}

/* n bytes from one place to another, which do not overlap; zeros from none. */
static void copy_loop(struct emit *e, const struct ptx_insn *p, LLVMValueRef to,
                      LLVMValueRef from, LLVMValueRef n)
{
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->l.b), last;
    LLVMBasicBlockRef head = emit_new_bb(e, "next"),
                      body = emit_new_bb(e, "at");
    LLVMBasicBlockRef after = emit_new_bb(e, "copied");
    LLVMValueRef i, more;

    LLVMBuildBr(e->l.b, head);
    LLVMPositionBuilderAtEnd(e->l.b, head);
    i = LLVMBuildPhi(e->l.b, e->i64, "");
    more = LLVMBuildICmp(e->l.b, LLVMIntULT, i, n, "");
    LLVMBuildCondBr(e->l.b, more, body, after);
    LLVMPositionBuilderAtEnd(e->l.b, body);
    if (from)
        take_piece(e, p, place(e, to, i), place(e, from, i));
    else
        LLVMSetAlignment(
            LLVMBuildStore(e->l.b, emit_const(e, 64, 0), place(e, to, i)), 1);
    more = LLVMBuildAdd(e->l.b, i, emit_const(e, 64, from ? PIECE : ZEROS), "");
    last = LLVMGetInsertBlock(e->l.b);
    LLVMBuildBr(e->l.b, head);
    LLVMAddIncoming(i, (LLVMValueRef[]){emit_const(e, 64, 0), more},
                    (LLVMBasicBlockRef[]){before, last}, 2);
    LLVMPositionBuilderAtEnd(e->l.b, after);
}

/* kiln.cp.async.bulk: destinations, sources, sizes, the lanes;
 * kiln.cp.reduce.bulk.* the same. */
static LLVMValueRef copy_helper(struct emit *e, const struct ptx_insn *p,
                                LLVMTypeRef *type)
{
    LLVMTypeRef ptrs = emit_vec(e, e->ptr);
    LLVMTypeRef args[] = {ptrs, ptrs, emit_vec(e, e->i32), e->mask_type};
    struct emit_lanes l;
    LLVMValueRef fn, n;
    char name[64] = "kiln.cp.async.bulk";
    int fresh;

    *type = LLVMFunctionType(LLVMVoidTypeInContext(e->l.ctx), args, 4, 0);
    /* What the processor flushes is not flushed by code. */
    if (ptx_has(p, PTX_MOD_REDUCE))
        snprintf(name, sizeof name, "kiln.cp.reduce.bulk.%d.%s%s%s",
                 (int)p->sub, ptx_type_text(p->types[0]),
                 p->space == PTX_SPACE_SHARED ? ".shared" : "",
                 e->l.flush ? ".flush" : "");
    fn = emit_helper(e, name, *type, &fresh);
    if (!fresh)
        return fn;
    emit_lanes_begin(e, &l, fn, LLVMGetParam(fn, 3), NULL);
    for (unsigned i = 0; i < 3; i++)
        emit_lanes_in(e, &l, i, LLVMGetParam(fn, i));
    emit_lanes_open(e, &l);
    n = LLVMBuildZExt(e->l.b, emit_lanes_get(e, &l, 2), e->i64, "");
    copy_loop(e, p, emit_lanes_get(e, &l, 0), emit_lanes_get(e, &l, 1), n);
    emit_lanes_close(e, &l, NULL);
    return fn;
}

void async_complete_bytes(struct emit *e, const struct graph_insn *insn, int k,
                          const LLVMValueRef *bytes)
{
    LLVMValueRef tx[EMIT_MAX_CHUNKS];

    for (unsigned c = 0; c < e->chunks; c++)
        tx[c] = LLVMBuildNeg(e->l.b, bytes[c], "");
    mbarrier_step(e, insn, k, PTX_SPACE_SHARED,
                  &(struct mbarrier_step){.tx = tx}, NULL);
}

void async_complete(struct emit *e, const struct graph_insn *insn, int k,
                    unsigned bytes)
{
    LLVMValueRef n[EMIT_MAX_CHUNKS];

    for (unsigned c = 0; c < e->chunks; c++)
        n[c] = emit_splat(e, emit_const(e, 32, bytes));
    async_complete_bytes(e, insn, k, n);
}

/* [to], [from], size and, where that is shared memory, [barrier]. */
static void copy(struct emit *e, const struct graph_insn *insn)
{
    const struct ptx_insn *p = insn->ptx;
    LLVMValueRef bytes[EMIT_MAX_CHUNKS], fn;
    struct emit_address to, from;
    LLVMTypeRef type;

    emit_address_in(e, insn, 0, p->space, &to);
    emit_address_in(e, insn, 1, p->space2, &from);
    fn = copy_helper(e, p, &type);
    emit_note_line(e);
    for (unsigned c = 0; c < e->chunks; c++) {
        bytes[c] = emit_operand_vector(e, insn, 2, c, 32);
        LLVMBuildCall2(e->l.b, type, fn,
                       (LLVMValueRef[]){emit_address_vector(e, &to, c),
                                        emit_address_vector(e, &from, c),
                                        bytes[c], e->mask[c]},
                       4, "");
    }
    if (ptx_has(p, PTX_MOD_COMPLETE_TX_BYTES))
        async_complete_bytes(e, insn, 3, bytes);
}

/* kiln.st.bulk: places, sizes, the lanes. */
static LLVMValueRef zero_helper(struct emit *e, LLVMTypeRef *type)
{
    LLVMTypeRef args[] = {emit_vec(e, e->ptr), emit_vec(e, e->i64),
                          e->mask_type};
    struct emit_lanes l;
    LLVMValueRef fn;
    int fresh;

    *type = LLVMFunctionType(LLVMVoidTypeInContext(e->l.ctx), args, 3, 0);
    fn = emit_helper(e, "kiln.st.bulk", *type, &fresh);
    if (!fresh)
        return fn;
    emit_lanes_begin(e, &l, fn, LLVMGetParam(fn, 2), NULL);
    emit_lanes_in(e, &l, 0, LLVMGetParam(fn, 0));
    emit_lanes_in(e, &l, 1, LLVMGetParam(fn, 1));
    emit_lanes_open(e, &l);
    copy_loop(e, NULL, emit_lanes_get(e, &l, 0), NULL,
              emit_lanes_get(e, &l, 1));
    emit_lanes_close(e, &l, NULL);
    return fn;
}

/* st.bulk [to], size, 0: the ISA has no other value. */
void store_bulk(struct emit *e, const struct graph_insn *insn)
{
    struct emit_address to;
    LLVMTypeRef type;
    LLVMValueRef fn;

    emit_address(e, insn, 0, &to);
    fn = zero_helper(e, &type);
    emit_note_line(e);
    for (unsigned c = 0; c < e->chunks; c++)
        LLVMBuildCall2(e->l.b, type, fn,
                       (LLVMValueRef[]){emit_address_vector(e, &to, c),
                                        emit_operand_vector(e, insn, 1, c, 64),
                                        e->mask[c]},
                       3, "");
}

void async_bulk(struct emit *e, const struct graph_insn *insn)
{
    const struct ptx_insn *p = insn->ptx;

    if (ptx_has(p, PTX_MOD_COMMIT_GROUP) || ptx_has(p, PTX_MOD_WAIT_GROUP) ||
        ptx_has(p, PTX_MOD_PREFETCH))
        return;
    if (ptx_has(p, PTX_MOD_TENSOR)) {
        async_tensor(e, insn);
        return;
    }
    if (ptx_has(p, PTX_MOD_CP_MASK) || p->operand_count < 3) {
        emit_refuse(e, p, NULL);
        return;
    }
    copy(e, insn);
}
