/* SPDX-License-Identifier: MIT
 *
 * One multiplication of matrices, D = A * B + C, of 8 columns: what mma is,
 * and what wmma is made of.
 */
#ifndef KILN_CPU_JIT_MMA_H
#define KILN_CPU_JIT_MMA_H

#include "cpu/jit/matrix.h"

struct mma {
    unsigned m; /* rows of A: 8 or 16 */
    unsigned q; /* registers of B; A has m / 8 times as many. Each holds
                 * 4 columns, and in each a few values of k */
    enum ptx_type a, b;
    enum ptx_type c, d;   /* f32, f16, s32, f64 */
    int saturate;         /* s32: .satfinite */
    int sparse;           /* A's -0 are no elements (mma_sparse.c) */
    int is_and;           /* b1: .and, else .xor */
    int small_blocks;     /* sums in blocks of 4 k (mma_sum.c) */
    enum ptx_round round; /* f64 */
};

/* Values that share a register. */
unsigned mma_per_register(enum ptx_type t);
/* Multiplications that a pair of registers takes (mma_parts.c): each with
 * vectors of T made of the registers. */
unsigned mma_parts(enum ptx_type t);
LLVMValueRef mma_part(struct emit *e, LLVMValueRef v, enum ptx_type t,
                      unsigned part);
/* T: of what mma_part makes, and of sums: f32 for f16. */
LLVMTypeRef mma_part_type(struct emit *e, enum ptx_type t);
LLVMTypeRef mma_acc_type(struct emit *e, enum ptx_type acc);
/* Whether the processor can round as it asks. */
int mma_can_round(const struct emit *e, const struct mma *m);
/* acc + a * b for vectors of parts. */
LLVMValueRef mma_step(struct emit *e, const struct mma *m, LLVMValueRef a,
                      LLVMValueRef b, LLVMValueRef acc);

/* Registers of an accumulator of m rows. */
unsigned mma_acc_registers(enum ptx_type acc, unsigned m);

/* The helper of a multiplication: its arguments are the registers of A, B, C
 * and D; C and D may be the same. */
void mma_helper(struct emit *e, const struct mma *m, struct matrix_fn *fn);

/* The whole of A, whose packed registers, and words of indices, are operands
 * of mma.sp, to its place in the area. -1: refused. */
int mma_sparse(struct emit *e, const struct graph_insn *insn,
               const struct mma *m);

/* mma by .kind, for which a register may hold what it does not elsewhere, and
 * with scales (mma_scaled.c). */
int mma_is_scaled(const struct ptx_insn *p);
void mma_scaled(struct emit *e, const struct graph_insn *insn);

/* mma.m8n8k4 of f16 (mma_quad.c). */
void mma_quad(struct emit *e, const struct graph_insn *insn);
#endif
