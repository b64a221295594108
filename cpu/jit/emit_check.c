/* SPDX-License-Identifier: MIT
 *
 * KILN_CPU_CHECK: before each access the engine is given the addresses of all
 * lanes. That costs more than the access, and finds what is less than a page
 * away from where it should be, and whose it is.
 */
#include <stddef.h>

#include "cpu/exec/abi.h"
#include "cpu/jit/access.h"
#include "cpu/jit/align.h"
#include "cpu/jit/async.h"

/* All lanes' addresses, in memory. */
static LLVMValueRef put_addresses(struct emit *e, const struct emit_address *at)
{
    if (!e->addresses) {
        e->addresses =
            LLVMBuildAlloca(e->top, LLVMArrayType2(e->i64, ABI_WARP), "");
        LLVMSetAlignment(e->addresses, 64);
    }
    for (unsigned c = 0; c < e->chunks; c++) {
        LLVMValueRef to = emit_const(e, 64, (uint64_t)c * e->lanes * 8);

        to = LLVMBuildGEP2(e->l.b, e->i8, e->addresses, &to, 1, "");
        LLVMSetAlignment(
            LLVMBuildStore(e->l.b, emit_address_vector(e, at, c), to), 8);
    }
    return e->addresses;
}

/* The lanes that access at all, and how many bytes at least. */
static LLVMValueRef who_accesses(struct emit *e, const struct graph_insn *insn,
                                 const struct access_at *a, uint32_t *bytes)
{
    const struct ptx_insn *p = insn->ptx;
    LLVMValueRef m[EMIT_MAX_CHUNKS], bits;

    *bytes = a->bytes;
    if (p->op == PTX_OP_CP && !ptx_has(p, PTX_MOD_BULK) && a->k == 1 &&
        async_is_part(p)) {
        *bytes = 1;
        for (unsigned c = 0; c < e->chunks; c++) {
            LLVMValueRef n = async_source_bytes(e, insn, a->bytes, c);

            m[c] = emit_among(e, c,
                              LLVMBuildICmp(e->l.b, LLVMIntNE, n,
                                            LLVMConstNull(LLVMTypeOf(n)), ""));
        }
        return emit_warp_bits(e, m);
    }
    bits = emit_warp_bits(e, e->mask);
    return a->lanes < ABI_WARP
               ? LLVMBuildAnd(e->l.b, bits,
                              emit_const(e, 32, (1u << a->lanes) - 1), "")
               : bits;
}

void emit_checks(struct emit *e, const struct graph_insn *insn)
{
    struct access_at list[ACCESSES];
    const int n = e->target->checks ? access_list(insn, list) : 0;

    for (int i = 0; i < n && !e->status; i++) {
        struct emit_address at;
        LLVMValueRef lanes;
        uint32_t what;

        if (list[i].space == PTX_SPACE_PARAM)
            continue; /* by name, in bounds */
        lanes = who_accesses(e, insn, &list[i], &what);
        if (list[i].writes)
            what |= ABI_CHECK_WRITE;
        emit_address_in(e, insn, list[i].k, list[i].space, &at);
        emit_tell_line(e);
        emit_call_engine(
            e, offsetof(struct abi_block, check),
            LLVMVoidTypeInContext(e->l.ctx),
            (LLVMValueRef[]){e->block, e->warp, lanes, put_addresses(e, &at),
                             emit_const(e, 32, what)},
            (LLVMTypeRef[]){e->ptr, e->i32, e->i32, e->ptr, e->i32}, 5);
    }
}
