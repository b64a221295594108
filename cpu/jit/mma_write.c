/* SPDX-License-Identifier: MIT
 *
 * D = A * B + C in one helper: rows and columns (mma_rows.c), and loops over
 * the registers' columns, eight columns of C at once: a load of A, and for
 * each column a number of B for all rows, multiplied and added.
 *
 * Integers are exact; f64 takes one fused multiply-add a step in rising order
 * of k, from C on. Other floats: mma_sum.c.
 */
#include <stdio.h>

#include "cpu/jit/lower_impl.h"
#include "cpu/jit/mma_impl.h"

static LLVMValueRef row_at(struct emit *e, LLVMValueRef rows, LLVMValueRef step,
                           uint64_t bytes)
{
    LLVMValueRef at = LLVMBuildMul(e->l.b, step, emit_const(e, 64, bytes), "");

    return LLVMBuildGEP2(e->l.b, e->i8, rows, &at, 1, "");
}

static LLVMValueRef repeat(struct emit *e, LLVMValueRef v, unsigned n)
{
    LLVMTypeRef type = matrix_vec(LLVMTypeOf(v), n);

    v = LLVMBuildInsertElement(e->l.b, LLVMGetPoison(type), v,
                               emit_const(e, 32, 0), "");
    return LLVMBuildShuffleVector(e->l.b, v, LLVMGetPoison(type),
                                  LLVMConstNull(matrix_vec(e->i32, n)), "");
}

/* One step: parts of a register, all columns. */
static void add_step(struct emit *e, const struct product *p,
                     const struct mma_loop *loop, LLVMValueRef step,
                     LLVMValueRef *sum)
{
    uint64_t row_a = (uint64_t)p->m->m * p->part_bytes;
    uint64_t row_b = (uint64_t)COLUMNS * p->part_bytes;
    LLVMTypeRef part = matrix_vec(p->part, p->width);
    LLVMValueRef a, b;

    for (unsigned k = loop->part; k < loop->end; k++) {
        a = matrix_load(
            e, part, row_at(e, loop->rows_a, step, row_a * p->parts),
            k * row_a + (uint64_t)loop->first * p->part_bytes, p->part_bytes);
        for (unsigned n = 0; n < COLUMNS; n++) {
            unsigned at = p->paired ? n * p->parts + k : k * COLUMNS + n;

            b = matrix_load(e, p->part,
                            row_at(e, loop->rows_b, step, row_b * p->parts),
                            (uint64_t)at * p->part_bytes, p->part_bytes);
            sum[n] = loop->add(e, p, loop->data, n, a, repeat(e, b, p->width),
                               sum[n]);
        }
    }
}

void mma_run_loop(struct emit *e, const struct product *p,
                  const struct mma_loop *loop)
{
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->l.b);
    LLVMBasicBlockRef body = emit_new_bb(e, "k"), after = emit_new_bb(e, "d");
    LLVMValueRef phi[COLUMNS], next[COLUMNS], step, more;

    LLVMBuildBr(e->l.b, body);
    LLVMPositionBuilderAtEnd(e->l.b, body);
    step = LLVMBuildPhi(e->l.b, e->i64, "");
    for (unsigned n = 0; n < COLUMNS; n++)
        next[n] = phi[n] = LLVMBuildPhi(e->l.b, LLVMTypeOf(loop->sum[n]), "");
    add_step(e, p, loop, step, next);
    more = LLVMBuildAdd(e->l.b, step, emit_const(e, 64, 1), "");
    LLVMAddIncoming(step, (LLVMValueRef[]){emit_const(e, 64, loop->from), more},
                    (LLVMBasicBlockRef[]){before, body}, 2);
    for (unsigned n = 0; n < COLUMNS; n++)
        LLVMAddIncoming(phi[n], (LLVMValueRef[]){loop->sum[n], next[n]},
                        (LLVMBasicBlockRef[]){before, body}, 2);
    more = LLVMBuildICmp(e->l.b, LLVMIntULT, more, emit_const(e, 64, loop->to),
                         "");
    LLVMBuildCondBr(e->l.b, more, body, after);
    LLVMPositionBuilderAtEnd(e->l.b, after);
    for (unsigned n = 0; n < COLUMNS; n++)
        loop->sum[n] = next[n];
}

static LLVMValueRef multiply_add(struct emit *e, const struct product *p,
                                 void *data, unsigned n, LLVMValueRef a,
                                 LLVMValueRef b, LLVMValueRef sum)
{
    (void)data;
    (void)n;
    return mma_step(e, p->m, a, b, sum);
}

/* Rows first .. first + width of all columns. */
static void multiply(struct emit *e, const struct product *p, unsigned first)
{
    LLVMTypeRef acc = matrix_vec(p->acc, p->width);
    LLVMValueRef sum[COLUMNS];
    struct mma_loop loop = {.first = first,
                            .to = p->steps,
                            .end = p->parts,
                            .rows_a = p->rows_a,
                            .rows_b = p->rows_b,
                            .sum = sum,
                            .add = multiply_add};
    uint64_t at[COLUMNS];

    for (unsigned n = 0; n < COLUMNS; n++) {
        at[n] = (uint64_t)(n * p->m->m + first) * p->acc_bytes;
        sum[n] = p->m->saturate
                     ? LLVMConstNull(acc)
                     : matrix_load(e, acc, p->columns, at[n], p->acc_bytes);
    }
    mma_run_loop(e, p, &loop);
    for (unsigned n = 0; n < COLUMNS; n++)
        matrix_store(e, sum[n], p->columns, at[n], p->acc_bytes);
}

static void write_product(struct emit *e, const struct mma *m,
                          const LLVMValueRef *arg)
{
    struct product p = {.m = m,
                        .part = mma_part_type(e, m->a),
                        .acc = mma_acc_type(e, m->d),
                        .parts = mma_parts(m->a)};
    uint64_t rows_a, rows_b;
    unsigned widest;

    p.part_bytes = LLVMGetTypeKind(p.part) == LLVMDoubleTypeKind ? 8 : 4;
    p.acc_bytes = m->d == PTX_F64 ? 8 : 4;
    p.steps = m->q * 4;
    p.paired = m->a == PTX_F16 && m->m == 16;
    widest = e->lanes * 4 / p.part_bytes;
    p.width = m->m < widest ? m->m : widest;
    rows_a = (uint64_t)p.steps * p.parts * m->m * p.part_bytes;
    rows_b = (uint64_t)p.steps * p.parts * COLUMNS * p.part_bytes;
    p.rows_a = matrix_room(e, rows_a);
    p.rows_b = matrix_room(e, rows_b);
    if (mma_is_aligned(m)) {
        p.powers_a = matrix_room(e, rows_a);
        p.powers_b = matrix_room(e, rows_b);
    }
    p.columns = matrix_room(e, (uint64_t)COLUMNS * m->m * p.acc_bytes);
    mma_spread_a(e, &p, arg[0]);
    mma_spread_b(e, &p, arg[1]);
    mma_take_c(e, &p, arg[2]);
    if (mma_is_aligned(m))
        mma_sum(e, &p);
    for (unsigned first = 0; !mma_is_aligned(m) && first < m->m;
         first += p.width)
        multiply(e, &p, first);
    mma_give_d(e, &p, arg[2], arg[3]);
}

void mma_helper(struct emit *e, const struct mma *m, struct matrix_fn *fn)
{
    char name[96];

    snprintf(
        name, sizeof name, "kiln.mma.m%un8q%u.%s.%s.%s.%s%s%s%s%s.%d", m->m,
        m->q, ptx_type_text(m->d), ptx_type_text(m->a), ptx_type_text(m->b),
        ptx_type_text(m->c), m->saturate ? ".sat" : "", m->is_and ? ".and" : "",
        m->small_blocks ? ".small" : "", m->sparse ? ".sp" : "", (int)m->round);
    if (!matrix_begin(e, fn, name))
        return;
    write_product(e, m, fn->arg);
    matrix_end(e, fn);
}
