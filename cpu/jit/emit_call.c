/* SPDX-License-Identifier: MIT
 *
 * Calls that the engine answers: printf, assertions, the device heap. The
 * arguments of all lanes go into an array on the stack, [argument][lane] of
 * 64 bits each; the result comes back in the place of the first argument.
 */
#include <string.h>

#include "cpu/exec/abi.h"
#include "cpu/jit/emit.h"
#include "cpu/jit/expand.h"

static const struct call_service services[] = {
    {"vprintf", ABI_SERVICE_PRINTF, 2, 32, {64, 64}},
    {"__assertfail", ABI_SERVICE_ASSERT, 5, 0, {64, 64, 32, 64, 64}},
    {"malloc", ABI_SERVICE_MALLOC, 1, 64, {64}},
    {"free", ABI_SERVICE_FREE, 1, 0, {64}},
};

const struct call_service *call_service_find(const char *name)
{
    for (size_t i = 0; i < sizeof services / sizeof *services; i++)
        if (!strcmp(services[i].name, name))
            return &services[i];
    return NULL;
}

static LLVMValueRef place(struct emit *e, LLVMValueRef base, unsigned arg,
                          unsigned chunk)
{
    LLVMValueRef at =
        emit_const(e, 64, ((uint64_t)arg * ABI_WARP + chunk * e->lanes) * 8);

    return LLVMBuildGEP2(e->l.b, e->i8, base, &at, 1, "");
}

static void store_arguments(struct emit *e, const struct graph_insn *insn,
                            const struct call_service *s, LLVMValueRef base)
{
    LLVMTypeRef wide = emit_vec(e, e->i64);

    for (unsigned a = 0; a < s->args; a++)
        for (unsigned c = 0; c < e->chunks; c++) {
            LLVMValueRef v = emit_operand_vector(
                e, insn, insn->ptx->dst_count + (int)a, c, s->arg_bits[a]);
            LLVMValueRef st;

            if (LLVMTypeOf(v) != wide)
                v = LLVMBuildZExt(e->l.b, v, wide, "");
            /* Lanes that are not active may hold anything. */
            v = LLVMBuildSelect(e->l.b, e->mask[c], v, LLVMConstNull(wide), "");
            st = LLVMBuildStore(e->l.b, v, place(e, base, a, c));
            LLVMSetAlignment(st, 8);
        }
}

void emit_call(struct emit *e, const struct graph_insn *insn)
{
    const struct ptx_func *f =
        insn->ptx->call ? calls_resolve(insn->ptx->call->target.func) : NULL;
    const struct call_service *s = NULL;
    LLVMValueRef base, made[EMIT_MAX_CHUNKS];
    LLVMTypeRef type;

    if (f && insn->ptx->call->target.kind == PTX_OPERAND_FUNC && !f->has_body)
        s = call_service_find(f->name);
    if (!s || insn->ptx->operand_count != s->args + (s->result_bits != 0)) {
        emit_refuse(e, insn->ptx, NULL);
        return;
    }
    type = LLVMArrayType2(e->i64, (uint64_t)s->args * ABI_WARP);
    base = LLVMBuildAlloca(e->top, type, "");
    LLVMSetAlignment(base, 64);
    store_arguments(e, insn, s, base);
    emit_tell_line(e); /* LLVM makes one of what several calls have in common */
    emit_call_engine(
        e, 96, LLVMVoidTypeInContext(e->l.ctx),
        (LLVMValueRef[]){e->block, e->warp, emit_const(e, 32, s->kind),
                         emit_warp_bits(e, e->mask), base},
        (LLVMTypeRef[]){e->ptr, e->i32, e->i32, e->i32, e->ptr}, 5);
    if (!s->result_bits || insn->val[0] == GRAPH_NONE)
        return;
    for (unsigned c = 0; c < e->chunks; c++) {
        made[c] = LLVMBuildLoad2(e->l.b, emit_vec(e, e->i64),
                                 place(e, base, 0, c), "");
        LLVMSetAlignment(made[c], 8);
        if (s->result_bits < 64)
            made[c] = LLVMBuildTrunc(e->l.b, made[c], emit_vec(e, e->i32), "");
    }
    emit_define_vectors(e, insn->val[0], made);
}
