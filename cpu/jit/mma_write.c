/* SPDX-License-Identifier: MIT
 *
 * D = A * B + C in one helper. Registers are taken apart into rows: all rows
 * of A for one k are a vector, of B for one k eight numbers, and a column of
 * C a vector again. Then one loop over k, eight columns at once: a load of A,
 * and for each column a number of B for all rows, multiplied and added.
 *
 * Sums are taken in rising order of k, starting with C, each step one fused
 * multiply-add of the accumulator's type (f32 for f16); docs/fidelity.md says
 * how that compares. Integers are exact.
 */
#include <stdio.h>

#include "cpu/jit/lower_impl.h"
#include "cpu/jit/mma.h"

enum { COLUMNS = 8, LANES = 32 };

struct product {
    const struct mma *m;
    LLVMTypeRef part, acc; /* elements */
    unsigned part_bytes, acc_bytes;
    unsigned parts, steps; /* parts a register, steps of the loop */
    unsigned width;        /* of the loop's vectors */
    LLVMValueRef rows_a;   /* [step][m] */
    LLVMValueRef rows_b;   /* [step][8] */
    LLVMValueRef columns;  /* of C and D: [8][m] */
};

unsigned mma_acc_registers(enum ptx_type acc, unsigned m)
{
    return acc == PTX_F16 ? m / 8 : m / 4;
}

static LLVMTypeRef register_type(struct emit *e, enum ptx_type t)
{
    return matrix_vec(t == PTX_F64 ? e->i64 : e->i32, LANES);
}

static uint64_t register_bytes(enum ptx_type t)
{
    return t == PTX_F64 ? 2 * MATRIX_TILE : MATRIX_TILE;
}

/* --- A and B --- */

/* Column t of the tables of one or two registers, rows after rows. */
static LLVMValueRef table_column(struct emit *e, LLVMValueRef *reg, unsigned n,
                                 unsigned t)
{
    unsigned at[16];

    for (unsigned i = 0; i < 8 * n; i++)
        at[i] = i / 8 * LANES + i % 8 * 4 + t;
    return matrix_shuffle(e, reg[0], n > 1 ? reg[1] : NULL, at, 8 * n);
}

/* m rows from registers at `from` to `to`, step after step. */
static void spread(struct emit *e, const struct product *p, enum ptx_type t,
                   unsigned m, LLVMValueRef area, uint64_t from,
                   LLVMValueRef to)
{
    uint64_t bytes = register_bytes(t), at = 0;

    for (unsigned i = 0; i < p->m->q; i++) {
        LLVMValueRef reg[2];

        for (unsigned h = 0; h < m / 8; h++, from += bytes)
            reg[h] = matrix_load(e, register_type(e, t), area, from, 64);
        for (unsigned c = 0; c < 4; c++) {
            LLVMValueRef v = table_column(e, reg, m / 8, c);

            for (unsigned k = 0; k < p->parts; k++) {
                matrix_store(e, mma_part(e, v, t, k), to, at, p->part_bytes);
                at += (uint64_t)m * p->part_bytes;
            }
        }
    }
}

/* --- C and D --- */

static LLVMValueRef half_of(struct emit *e, LLVMValueRef v, unsigned which)
{
    return lower_width(&e->l, i_lshr(&e->l, v, k_int(v, 16 * which)), 16, 0);
}

/* Column n = 2t + s of C: s picks a register, or a half of one. */
static void take_c(struct emit *e, const struct product *p, LLVMValueRef area,
                   uint64_t c)
{
    const struct mma *m = p->m;
    uint64_t bytes = register_bytes(m->c);

    for (unsigned s = 0; s < 2; s++) {
        LLVMValueRef reg[2];

        for (unsigned h = 0; h < m->m / 8; h++) {
            unsigned at = m->c == PTX_F16 ? h : 2 * h + s;
            LLVMValueRef v = matrix_load(e, register_type(e, m->c), area,
                                         c + at * bytes, 64);

            reg[h] =
                m->c == PTX_F16 ? lower_widen_half(&e->l, half_of(e, v, s)) : v;
        }
        for (unsigned t = 0; t < 4; t++)
            matrix_store(e, table_column(e, reg, m->m / 8, t), p->columns,
                         (uint64_t)(2 * t + s) * m->m * p->acc_bytes,
                         p->acc_bytes);
    }
}

/* Rows h * 8 and on, columns 2t + s, as a register's 32 lanes. */
static LLVMValueRef table_of(struct emit *e, const struct product *p,
                             unsigned h, unsigned s)
{
    LLVMTypeRef eight = matrix_vec(p->acc, 8);
    LLVMValueRef v[4], two[2];
    unsigned at[LANES];

    for (unsigned t = 0; t < 4; t++)
        v[t] = matrix_load(e, eight, p->columns,
                           (uint64_t)((2 * t + s) * p->m->m + h * 8) *
                               p->acc_bytes,
                           p->acc_bytes);
    for (unsigned i = 0; i < LANES; i++)
        at[i] = i;
    for (unsigned i = 0; i < 2; i++)
        two[i] = matrix_shuffle(e, v[2 * i], v[2 * i + 1], at, 16);
    for (unsigned i = 0; i < LANES; i++)
        at[i] = i % 4 * 8 + i / 4;
    return matrix_shuffle(e, two[0], two[1], at, LANES);
}

static LLVMValueRef rounded_half(struct emit *e, LLVMValueRef x)
{
    return lower_width(&e->l, lower_float_to_half(&e->l, x, PTX_ROUND_RN), 32,
                       0);
}

static void give_d(struct emit *e, const struct product *p, LLVMValueRef area,
                   uint64_t c)
{
    const struct mma *m = p->m;
    uint64_t bytes = register_bytes(m->d);

    for (unsigned h = 0; h < m->m / 8; h++) {
        LLVMValueRef v[2];

        for (unsigned s = 0; s < 2; s++)
            v[s] = table_of(e, p, h, s);
        if (m->d == PTX_F16) {
            for (unsigned s = 0; s < 2; s++)
                v[s] = rounded_half(e, v[s]);
            v[1] = i_shl(&e->l, v[1], k_int(v[1], 16));
            matrix_store(e, i_or(&e->l, v[0], v[1]), area, c + h * bytes, 64);
            continue;
        }
        for (unsigned s = 0; s < 2; s++) {
            if (m->d == PTX_F32)
                v[s] = lower_canonical(&e->l, v[s]);
            else if (m->saturate)
                v[s] = lower_call2(&e->l, "llvm.sadd.sat", v[s],
                                   matrix_load(e, register_type(e, m->d), area,
                                               c + (2 * h + s) * bytes, 64));
            matrix_store(e, v[s], area, c + (2 * h + s) * bytes, 64);
        }
    }
}

/* --- the loop --- */

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

/* Rows first .. first + width of all columns. */
static void multiply(struct emit *e, const struct product *p, unsigned first)
{
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->l.b);
    LLVMBasicBlockRef body = emit_new_bb(e, "k"), after = emit_new_bb(e, "d");
    LLVMTypeRef acc = matrix_vec(p->acc, p->width);
    LLVMTypeRef part = matrix_vec(p->part, p->width);
    LLVMValueRef c[COLUMNS], sum[COLUMNS], next[COLUMNS], step, a, more;
    uint64_t at[COLUMNS];

    for (unsigned n = 0; n < COLUMNS; n++) {
        at[n] = (uint64_t)(n * p->m->m + first) * p->acc_bytes;
        c[n] = p->m->saturate
                   ? LLVMConstNull(acc)
                   : matrix_load(e, acc, p->columns, at[n], p->acc_bytes);
    }
    LLVMBuildBr(e->l.b, body);
    LLVMPositionBuilderAtEnd(e->l.b, body);
    step = LLVMBuildPhi(e->l.b, e->i64, "");
    for (unsigned n = 0; n < COLUMNS; n++)
        sum[n] = LLVMBuildPhi(e->l.b, acc, "");
    a = matrix_load(
        e, part, row_at(e, p->rows_a, step, (uint64_t)p->m->m * p->part_bytes),
        (uint64_t)first * p->part_bytes, p->part_bytes);
    for (unsigned n = 0; n < COLUMNS; n++) {
        LLVMValueRef b = matrix_load(
            e, p->part,
            row_at(e, p->rows_b, step, (uint64_t)COLUMNS * p->part_bytes),
            (uint64_t)n * p->part_bytes, p->part_bytes);

        next[n] = mma_step(e, p->m, a, repeat(e, b, p->width), sum[n]);
    }
    body = LLVMGetInsertBlock(e->l.b);
    more = LLVMBuildAdd(e->l.b, step, emit_const(e, 64, 1), "");
    LLVMAddIncoming(step, (LLVMValueRef[]){emit_const(e, 64, 0), more},
                    (LLVMBasicBlockRef[]){before, body}, 2);
    for (unsigned n = 0; n < COLUMNS; n++)
        LLVMAddIncoming(sum[n], (LLVMValueRef[]){c[n], next[n]},
                        (LLVMBasicBlockRef[]){before, body}, 2);
    more = LLVMBuildICmp(e->l.b, LLVMIntULT, more, emit_const(e, 64, p->steps),
                         "");
    LLVMBuildCondBr(e->l.b, more, LLVMGetInstructionParent(step), after);
    LLVMPositionBuilderAtEnd(e->l.b, after);
    for (unsigned n = 0; n < COLUMNS; n++)
        matrix_store(e, next[n], p->columns, at[n], p->acc_bytes);
}

void mma_write(struct emit *e, const struct mma *m, LLVMValueRef area,
               uint64_t a, uint64_t b, uint64_t c)
{
    struct product p = {.m = m,
                        .part = mma_part_type(e, m->a),
                        .acc = mma_acc_type(e, m->d),
                        .parts = mma_parts(m->a)};
    unsigned widest;

    p.part_bytes = m->a == PTX_F64 ? 8 : 4;
    p.acc_bytes = m->d == PTX_F64 ? 8 : 4;
    p.steps = m->q * 4 * p.parts;
    widest = e->lanes * 4 / p.acc_bytes;
    p.width = m->m < widest ? m->m : widest;
    p.rows_a = matrix_room(e, (uint64_t)p.steps * m->m * p.part_bytes);
    p.rows_b = matrix_room(e, (uint64_t)p.steps * COLUMNS * p.part_bytes);
    p.columns = matrix_room(e, (uint64_t)COLUMNS * m->m * p.acc_bytes);
    spread(e, &p, m->a, m->m, area, a, p.rows_a);
    spread(e, &p, m->b, 8, area, b, p.rows_b);
    take_c(e, &p, area, c);
    for (unsigned first = 0; first < m->m; first += p.width)
        multiply(e, &p, first);
    give_d(e, &p, area, c);
}

void mma_name(const struct mma *m, const char *prefix, char *name, size_t size)
{
    snprintf(name, size, "kiln.%s.m%un8q%u.%s.%s.%s.%s%s%s", prefix, m->m, m->q,
             ptx_type_text(m->d), ptx_type_text(m->a), ptx_type_text(m->b),
             ptx_type_text(m->c), m->saturate ? ".sat" : "",
             m->is_and ? ".and" : "");
}
