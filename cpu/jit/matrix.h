/* SPDX-License-Identifier: MIT
 *
 * Matrices held by a warp: ldmatrix, mma, wmma. Their registers go through an
 * area of the caller's stack, register after register, the 32 lanes of each
 * in order; what is done with them stands once in a helper function of the
 * module, so that a kernel of a hundred mma compiles like one of a hundred
 * calls.
 *
 * Lane l of a register is entry (l / 4, l % 4) of a table of 8 rows and 4
 * columns; that is what all of NVIDIA's fragment layouts come to (PTX ISA
 * 9.7.14). So a register of the area is a tile: 8 rows of 16 bytes.
 */
#ifndef KILN_CPU_JIT_MATRIX_H
#define KILN_CPU_JIT_MATRIX_H

#include "cpu/jit/emit.h"

/* Places in the area, in bytes. */
enum {
    MATRIX_A = 0,
    MATRIX_B = 2048,
    MATRIX_C = 3072,
    MATRIX_D = 4096,
    MATRIX_X = 5120, /* addresses and the like */
    MATRIX_AREA = MATRIX_X + 320,
    MATRIX_TILE = 128 /* bytes of a register of 32 bits */
};

/* The area of the function being written. */
LLVMValueRef matrix_area(struct emit *e);
LLVMValueRef matrix_at(struct emit *e, LLVMValueRef base, uint64_t offset);
LLVMValueRef matrix_load(struct emit *e, LLVMTypeRef type, LLVMValueRef base,
                         uint64_t offset, unsigned alignment);
void matrix_store(struct emit *e, LLVMValueRef v, LLVMValueRef base,
                  uint64_t offset, unsigned alignment);

/* Operand k's registers, all lanes, to the area; from it. -1: an element has
 * another width than `bits`, or their number is not `count` (refused). */
int matrix_put(struct emit *e, const struct graph_insn *insn, int k,
               unsigned count, unsigned bits, uint64_t offset);
int matrix_get(struct emit *e, const struct graph_insn *insn, int k,
               unsigned count, unsigned bits, uint64_t offset);

/* A helper function of up to four pointers. begin gives 1 where it has still
 * to be written: the builder stands in it until end. */
enum { MATRIX_ARGS = 4 };
struct matrix_fn {
    LLVMValueRef fn, arg[MATRIX_ARGS];
    LLVMBuilderRef saved, saved_top;
    LLVMValueRef saved_fn;
    LLVMBasicBlockRef slots, entry;
};
int matrix_begin(struct emit *e, struct matrix_fn *m, const char *name);
void matrix_end(struct emit *e, struct matrix_fn *m);
/* The arguments are places in the area. */
void matrix_call(struct emit *e, const struct matrix_fn *m,
                 const uint64_t at[MATRIX_ARGS]);
/* Memory of the helper's own. */
LLVMValueRef matrix_room(struct emit *e, uint64_t bytes);

/* A constant shuffle: element i of the result is at[i] of a and b together. */
LLVMValueRef matrix_shuffle(struct emit *e, LLVMValueRef a, LLVMValueRef b,
                            const unsigned *at, unsigned n);
LLVMTypeRef matrix_vec(LLVMTypeRef element, unsigned n);

#endif
