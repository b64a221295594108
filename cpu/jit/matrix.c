/* SPDX-License-Identifier: MIT
 *
 * The area and the helper functions (matrix.h).
 */
#include "cpu/jit/matrix.h"

#include <string.h>

#include "cpu/exec/abi.h"

LLVMTypeRef matrix_vec(LLVMTypeRef element, unsigned n)
{
    return LLVMVectorType(element, n);
}

LLVMValueRef matrix_room(struct emit *e, uint64_t bytes)
{
    LLVMValueRef room =
        LLVMBuildAlloca(e->top, LLVMArrayType2(e->i8, bytes), "");

    LLVMSetAlignment(room, 64);
    return room;
}

LLVMValueRef matrix_area(struct emit *e)
{
    if (!e->area)
        e->area = matrix_room(e, MATRIX_AREA);
    return e->area;
}

LLVMValueRef matrix_at(struct emit *e, LLVMValueRef base, uint64_t offset)
{
    LLVMValueRef at = emit_const(e, 64, offset);

    return offset ? LLVMBuildGEP2(e->l.b, e->i8, base, &at, 1, "") : base;
}

LLVMValueRef matrix_load(struct emit *e, LLVMTypeRef type, LLVMValueRef base,
                         uint64_t offset, unsigned alignment)
{
    LLVMValueRef v =
        LLVMBuildLoad2(e->l.b, type, matrix_at(e, base, offset), "");

    LLVMSetAlignment(v, alignment);
    return v;
}

void matrix_store(struct emit *e, LLVMValueRef v, LLVMValueRef base,
                  uint64_t offset, unsigned alignment)
{
    LLVMValueRef st = LLVMBuildStore(e->l.b, v, matrix_at(e, base, offset));

    LLVMSetAlignment(st, alignment);
}

/* Elements of operand k: a list, or one register by itself. */
static unsigned elements(const struct graph_insn *insn, int k)
{
    const struct ptx_operand *o = &insn->ptx->operands[k];

    return o->kind == PTX_OPERAND_VECTOR ? o->count : 1;
}

static int wrong_count(struct emit *e, const struct graph_insn *insn)
{
    emit_refuse(e, insn->ptx, "operands do not fit its shape");
    return -1;
}

static uint64_t place(struct emit *e, uint64_t offset, unsigned j, unsigned c,
                      unsigned bits)
{
    return offset +
           ((uint64_t)j * ABI_WARP + (uint64_t)c * e->lanes) * bits / 8;
}

int matrix_put(struct emit *e, const struct graph_insn *insn, int k,
               unsigned count, unsigned bits, uint64_t offset)
{
    LLVMValueRef area = matrix_area(e);
    LLVMTypeRef type = emit_vec(e, LLVMIntTypeInContext(e->l.ctx, bits));

    if (elements(insn, k) != count)
        return wrong_count(e, insn);
    for (unsigned j = 0; j < count; j++)
        for (unsigned c = 0; c < e->chunks; c++) {
            LLVMValueRef v = emit_element_vector(e, insn, k, (int)j, c, bits);

            if (LLVMTypeOf(v) != type)
                return wrong_count(e, insn);
            matrix_store(e, v, area, place(e, offset, j, c, bits), 4);
        }
    return 0;
}

int matrix_get(struct emit *e, const struct graph_insn *insn, int k,
               unsigned count, unsigned bits, uint64_t offset)
{
    LLVMValueRef area = matrix_area(e), made[EMIT_MAX_CHUNKS];
    LLVMTypeRef type = emit_vec(e, LLVMIntTypeInContext(e->l.ctx, bits));

    if (elements(insn, k) != count)
        return wrong_count(e, insn);
    for (unsigned j = 0; j < count; j++) {
        int value = emit_dst(insn, k, (int)j);

        if (value == GRAPH_NONE)
            continue;
        if (e->g->values[value].bits != bits)
            return wrong_count(e, insn);
        for (unsigned c = 0; c < e->chunks; c++)
            made[c] =
                matrix_load(e, type, area, place(e, offset, j, c, bits), 4);
        emit_define_vectors(e, value, made);
    }
    return 0;
}

/* --- helper functions --- */

static LLVMTypeRef helper_type(struct emit *e)
{
    LLVMTypeRef args[] = {e->ptr, e->ptr, e->ptr, e->ptr};

    return LLVMFunctionType(LLVMVoidTypeInContext(e->l.ctx), args, MATRIX_ARGS,
                            0);
}

static void set_attributes(struct emit *e, LLVMValueRef fn)
{
    /* As kernels have them (emit.c): a null address faults like any other. */
    static const char *const names[] = {"nounwind", "null_pointer_is_valid",
                                        "noinline"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        LLVMAddAttributeAtIndex(
            fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
            LLVMCreateEnumAttribute(
                e->l.ctx,
                LLVMGetEnumAttributeKindForName(names[i], strlen(names[i])),
                0));
    if (e->target->has_avx512)
        LLVMAddAttributeAtIndex(
            fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
            LLVMCreateStringAttribute(e->l.ctx, "prefer-vector-width", 19,
                                      "512", 3));
}

int matrix_begin(struct emit *e, struct matrix_fn *m, const char *name)
{
    int fresh;

    memset(m, 0, sizeof *m);
    m->fn = emit_helper(e, name, helper_type(e), &fresh);
    if (!fresh)
        return 0;
    set_attributes(e, m->fn);
    for (unsigned i = 0; i < MATRIX_ARGS; i++)
        m->arg[i] = LLVMGetParam(m->fn, i);
    m->saved = e->l.b;
    m->saved_top = e->top;
    m->saved_fn = e->fn;
    e->fn = m->fn;
    e->l.b = LLVMCreateBuilderInContext(e->l.ctx);
    e->top = LLVMCreateBuilderInContext(e->l.ctx);
    m->slots = emit_new_bb(e, "slots");
    m->entry = emit_new_bb(e, "entry");
    LLVMPositionBuilderAtEnd(e->top, m->slots);
    LLVMPositionBuilderAtEnd(e->l.b, m->entry);
    return 1;
}

void matrix_end(struct emit *e, struct matrix_fn *m)
{
    LLVMBuildRetVoid(e->l.b);
    LLVMBuildBr(e->top, m->entry);
    LLVMDisposeBuilder(e->l.b);
    LLVMDisposeBuilder(e->top);
    e->l.b = m->saved;
    e->top = m->saved_top;
    e->fn = m->saved_fn;
}

void matrix_call(struct emit *e, const struct matrix_fn *m,
                 const uint64_t at[MATRIX_ARGS])
{
    LLVMValueRef area = matrix_area(e), args[MATRIX_ARGS];

    for (unsigned i = 0; i < MATRIX_ARGS; i++)
        args[i] = matrix_at(e, area, at[i]);
    emit_note_line(e);
    LLVMBuildCall2(e->l.b, helper_type(e), m->fn, args, MATRIX_ARGS, "");
}

LLVMValueRef matrix_shuffle(struct emit *e, LLVMValueRef a, LLVMValueRef b,
                            const unsigned *at, unsigned n)
{
    LLVMValueRef index[256];

    for (unsigned i = 0; i < n; i++)
        index[i] = LLVMConstInt(e->i32, at[i], 0);
    if (!b)
        b = LLVMGetPoison(LLVMTypeOf(a));
    return LLVMBuildShuffleVector(e->l.b, a, b, LLVMConstVector(index, n), "");
}
