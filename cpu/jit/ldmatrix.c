/* SPDX-License-Identifier: MIT
 *
 * ldmatrix, stmatrix, movmatrix of 8 by 8 values of 16 bits. A register of
 * the warp is such a matrix row by row, 16 bytes each (matrix.h); lane 8i + r
 * names the address of row r of matrix i. With .trans the register holds the
 * matrix's columns instead.
 */
#include <stdio.h>

#include "cpu/jit/matrix.h"

enum { ROWS = 8, ROW_BYTES = 16, HALVES = 64 };

static unsigned matrices(const struct ptx_insn *p)
{
    return ptx_has(p, PTX_MOD_X4) ? 4 : ptx_has(p, PTX_MOD_X2) ? 2 : 1;
}

/* The halves of a register with rows and columns exchanged. */
static void transpose(struct emit *e, LLVMValueRef regs, uint64_t at)
{
    LLVMTypeRef type = matrix_vec(e->i16, HALVES);
    LLVMValueRef v = matrix_load(e, type, regs, at, 64);
    unsigned from[HALVES];

    for (unsigned i = 0; i < HALVES; i++)
        from[i] = i % 8 * 8 + i / 8;
    matrix_store(e, matrix_shuffle(e, v, NULL, from, HALVES), regs, at, 64);
}

static void move_rows(struct emit *e, LLVMValueRef regs, LLVMValueRef addresses,
                      unsigned count, int is_store)
{
    LLVMTypeRef row = matrix_vec(e->i32, 4);

    for (unsigned i = 0; i < count * ROWS; i++) {
        uint64_t at = (uint64_t)i * ROW_BYTES;
        LLVMValueRef p = matrix_load(e, e->ptr, addresses, (uint64_t)i * 8, 8);

        if (is_store)
            matrix_store(e, matrix_load(e, row, regs, at, ROW_BYTES), p, 0, 1);
        else
            matrix_store(e, matrix_load(e, row, p, 0, 1), regs, at, ROW_BYTES);
    }
}

static void helper(struct emit *e, struct matrix_fn *fn, unsigned count,
                   int is_store, int is_transposed)
{
    char name[48];

    snprintf(name, sizeof name, "kiln.%smatrix.x%u%s", is_store ? "st" : "ld",
             count, is_transposed ? ".trans" : "");
    if (!matrix_begin(e, fn, name))
        return;
    for (unsigned i = 0; is_store && is_transposed && i < count; i++)
        transpose(e, fn->arg[0], i * (uint64_t)MATRIX_TILE);
    move_rows(e, fn->arg[0], fn->arg[1], count, is_store);
    for (unsigned i = 0; !is_store && is_transposed && i < count; i++)
        transpose(e, fn->arg[0], i * (uint64_t)MATRIX_TILE);
    matrix_end(e, fn);
}

/* All lanes' addresses, also where fewer are used. */
static void put_addresses(struct emit *e, const struct graph_insn *insn, int k)
{
    LLVMValueRef area = matrix_area(e);
    struct emit_address at;

    emit_address(e, insn, k, &at);
    for (unsigned c = 0; c < e->chunks; c++)
        matrix_store(e, emit_address_vector(e, &at, c), area,
                     MATRIX_X + (uint64_t)c * e->lanes * 8, 8);
}

void emit_ldmatrix(struct emit *e, const struct graph_insn *insn)
{
    const struct ptx_insn *p = insn->ptx;
    int is_store = p->op == PTX_OP_STMATRIX;
    unsigned count = matrices(p);
    struct matrix_fn fn;

    if (!ptx_has(p, PTX_MOD_M8N8) || p->type_count != 1 ||
        p->types[0] != PTX_B16) {
        emit_refuse(e, p, NULL);
        return;
    }
    put_addresses(e, insn, is_store ? 0 : 1);
    if (is_store && matrix_put(e, insn, 1, count, 32, MATRIX_C))
        return;
    helper(e, &fn, count, is_store, ptx_has(p, PTX_MOD_TRANS));
    matrix_call(e, &fn, (uint64_t[MATRIX_ARGS]){MATRIX_C, MATRIX_X});
    if (!is_store)
        matrix_get(e, insn, 0, count, 32, MATRIX_C);
}

void emit_movmatrix(struct emit *e, const struct graph_insn *insn)
{
    struct matrix_fn fn;

    if (matrix_put(e, insn, 1, 1, 32, MATRIX_C))
        return;
    if (matrix_begin(e, &fn, "kiln.movmatrix.trans")) {
        transpose(e, fn.arg[0], 0);
        matrix_end(e, &fn);
    }
    matrix_call(e, &fn, (uint64_t[MATRIX_ARGS]){MATRIX_C, MATRIX_X});
    matrix_get(e, insn, 0, 1, 32, MATRIX_C);
}
