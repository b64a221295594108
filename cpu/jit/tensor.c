/* SPDX-License-Identifier: MIT
 *
 * cp.async.bulk.tensor and cp.reduce.async.bulk.tensor: a call of the engine
 * for the active lanes (struct abi_tensor), made where it is asked for. The
 * operands are as texture_operands.c leaves them: a tensor map's address, then
 * its coordinates.
 */
#include <stddef.h>

#include "cpu/exec/abi.h"
#include "cpu/jit/async.h"

static LLVMValueRef area(struct emit *e)
{
    if (!e->tensor) {
        e->tensor = LLVMBuildAlloca(
            e->top, LLVMArrayType2(e->i8, sizeof(struct abi_tensor)), "");
        LLVMSetAlignment(e->tensor, 64);
    }
    return e->tensor;
}

static void put(struct emit *e, LLVMValueRef v, size_t offset, unsigned c,
                unsigned bytes)
{
    LLVMSetAlignment(
        LLVMBuildStore(e->l.b, v, emit_row(e, area(e), offset, c, bytes)),
        bytes);
}

static void put_address(struct emit *e, const struct graph_insn *insn, int k,
                        enum ptx_space space, size_t offset)
{
    struct emit_address at;

    emit_address_in(e, insn, k, space, &at);
    for (unsigned c = 0; c < e->chunks; c++)
        put(e,
            LLVMBuildPtrToInt(e->l.b, emit_address_vector(e, &at, c),
                              emit_vec(e, e->i64), ""),
            offset, c, 8);
}

static const enum ptx_mod refused[] = {
    PTX_MOD_IM2COL,         PTX_MOD_IM2COL_W,         PTX_MOD_IM2COL_W128,
    PTX_MOD_IM2COL_NO_OFFS, PTX_MOD_TILE_GATHER4,     PTX_MOD_TILE_SCATTER4,
    PTX_MOD_CTA_GROUP_2,    PTX_MOD_MULTICAST_CLUSTER};

static unsigned rank_of(const struct ptx_insn *p)
{
    static const enum ptx_mod mods[] = {PTX_MOD_GEOM_1D, PTX_MOD_GEOM_2D,
                                        PTX_MOD_GEOM_3D, PTX_MOD_GEOM_4D,
                                        PTX_MOD_GEOM_5D};

    for (unsigned i = 0; i < 5; i++)
        if (ptx_has(p, mods[i]))
            return i + 1;
    return 0;
}

static uint32_t operation(const struct ptx_insn *p)
{
    if (!ptx_has(p, PTX_MOD_REDUCE))
        return p->space == PTX_SPACE_SHARED ? ABI_TENSOR_LOAD
                                            : ABI_TENSOR_STORE;
    switch (p->sub) {
    case PTX_SUB_ADD:
        return ABI_TENSOR_ADD;
    case PTX_SUB_MIN:
        return ABI_TENSOR_MIN;
    case PTX_SUB_MAX:
        return ABI_TENSOR_MAX;
    case PTX_SUB_INC:
        return ABI_TENSOR_INC;
    case PTX_SUB_DEC:
        return ABI_TENSOR_DEC;
    case PTX_SUB_AND:
        return ABI_TENSOR_AND;
    case PTX_SUB_OR:
        return ABI_TENSOR_OR;
    default:
        return ABI_TENSOR_XOR;
    }
}

/* Loads: shared, map, coordinates, barrier; else map, coordinates, shared. */
void async_tensor(struct emit *e, const struct graph_insn *insn)
{
    const struct ptx_insn *p = insn->ptx;
    const uint32_t op = operation(p), rank = rank_of(p);
    const int map = op == ABI_TENSOR_LOAD, shared = map ? 0 : 2;
    LLVMValueRef bytes[EMIT_MAX_CHUNKS];

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (ptx_has(p, refused[i])) {
            emit_refuse(e, p, "boxes alone");
            return;
        }
    if (p->operand_count < 3 + map ||
        p->operands[map + 1].kind != PTX_OPERAND_VECTOR ||
        p->operands[map + 1].count != rank) {
        emit_refuse(e, p, NULL);
        return;
    }
    put_address(e, insn, map, PTX_SPACE_GENERIC,
                offsetof(struct abi_tensor, map));
    put_address(e, insn, shared, PTX_SPACE_SHARED,
                offsetof(struct abi_tensor, shared));
    for (unsigned d = 0; d < rank; d++)
        for (unsigned c = 0; c < e->chunks; c++)
            put(e, emit_element_vector(e, insn, map + 1, (int)d, c, 32),
                offsetof(struct abi_tensor, at) + (size_t)d * ABI_WARP * 4, c,
                4);
    emit_note_line(e);
    emit_call_engine(
        e, offsetof(struct abi_block, tensor), LLVMVoidTypeInContext(e->l.ctx),
        (LLVMValueRef[]){e->block, e->warp,
                         emit_const(e, 32, op + rank * ABI_TENSOR_RANK),
                         emit_warp_bits(e, e->mask), area(e)},
        (LLVMTypeRef[]){e->ptr, e->i32, e->i32, e->i32, e->ptr}, 5);
    if (op != ABI_TENSOR_LOAD)
        return;
    for (unsigned c = 0; c < e->chunks; c++) {
        bytes[c] = LLVMBuildLoad2(
            e->l.b, emit_vec(e, e->i32),
            emit_row(e, area(e), offsetof(struct abi_tensor, bytes), c, 4), "");
        LLVMSetAlignment(bytes[c], 4);
    }
    async_complete_bytes(e, insn, 3, bytes);
}
