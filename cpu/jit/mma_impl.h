/* SPDX-License-Identifier: MIT
 *
 * One multiplication being written: what mma_rows.c, mma_write.c and
 * mma_sum.c share.
 */
#ifndef KILN_CPU_JIT_MMA_IMPL_H
#define KILN_CPU_JIT_MMA_IMPL_H

#include "cpu/jit/mma.h"

enum { COLUMNS = 8, LANES = 32 };

struct product {
    const struct mma *m;
    LLVMTypeRef part, acc; /* elements */
    unsigned part_bytes, acc_bytes;
    unsigned parts, steps; /* parts a register, steps of the loop */
    unsigned width;        /* of the loop's vectors */
    int paired;            /* f16: rows r and r + 8 stand together, and in B
                            * the two k of a register */
    LLVMValueRef rows_a;   /* [step][part][m] */
    LLVMValueRef rows_b;   /* [step][part][8], paired [step][8][part] */
    LLVMValueRef columns;  /* of C and D: [8][m] */
    /* Sums that are aligned (mma_sum.c): powers of two, laid out as the rows
     * they belong to; which rows and columns have an infinity or a NaN. */
    LLVMValueRef powers_a, powers_b;
    LLVMValueRef bad_a, bad_b; /* vectors of i1, or NULL so far */
};

/* mma_rows.c: registers to rows and columns, and back. */
void mma_spread_a(struct emit *e, struct product *p, LLVMValueRef regs);
void mma_spread_b(struct emit *e, struct product *p, LLVMValueRef regs);
void mma_take_c(struct emit *e, const struct product *p, LLVMValueRef c);
void mma_give_d(struct emit *e, const struct product *p, LLVMValueRef c,
                LLVMValueRef d);

/* mma_write.c: a loop over steps [from, to) for rows first, first + 1... of all
 * columns. `sum` goes in and comes out; add makes the next of it from row a
 * and number b (a splat) of column n. parts: [part, end). */
struct mma_loop {
    unsigned first, from, to, part, end;
    LLVMValueRef rows_a, rows_b;
    LLVMValueRef *sum;
    LLVMValueRef (*add)(struct emit *e, const struct product *p, void *data,
                        unsigned n, LLVMValueRef a, LLVMValueRef b,
                        LLVMValueRef sum);
    void *data;
};
void mma_run_loop(struct emit *e, const struct product *p,
                  const struct mma_loop *loop);

/* mma_sum.c: sums of floats as tensor cores take them; columns: C, then D. */
int mma_is_aligned(const struct mma *m);
/* Sparse bytes: blocks are of every second step, not of halves of registers. */
int mma_takes_turns(const struct mma *m);
void mma_note_row(struct emit *e, struct product *p, int is_a, LLVMValueRef v,
                  uint64_t at);
void mma_sum(struct emit *e, struct product *p);

#endif
