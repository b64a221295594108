/* SPDX-License-Identifier: MIT
 *
 * D = A * B + C in one helper. Registers are taken apart into rows: all rows
 * of A for one k are a vector, of B for one k eight numbers, and a column of
 * C a vector again. Then one loop over the registers' columns, eight columns
 * of C at once: a load of A, and for each column a number of B for all rows,
 * multiplied and added.
 *
 * Sums are taken in rising order of k, starting with C, each step one fused
 * multiply-add of the accumulator's type (f32 for f16): docs/matrices.md.
 * Integers are exact.
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
    int paired;            /* f16: rows r and r + 8 stand together, and in B
                            * the two k of a register */
    LLVMValueRef rows_a;   /* [step][part][m] */
    LLVMValueRef rows_b;   /* [step][part][8], paired [step][8][part] */
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

/* Row 8h + g's place in a vector of all rows. */
static unsigned row_place(const struct product *p, unsigned h, unsigned g)
{
    return p->paired ? 2 * g + h : 8 * h + g;
}

/* Column t of the tables of one register, or of two for all rows of A. */
static LLVMValueRef table_column(struct emit *e, const struct product *p,
                                 LLVMValueRef *reg, unsigned n, unsigned t)
{
    unsigned at[16];

    for (unsigned h = 0; h < n; h++)
        for (unsigned g = 0; g < 8; g++)
            at[n > 1 ? row_place(p, h, g) : g] = h * LANES + g * 4 + t;
    return matrix_shuffle(e, reg[0], n > 1 ? reg[1] : NULL, at, 8 * n);
}

/* --- A and B --- */

/* Halves `which` of two registers, side by side. */
static LLVMValueRef side_by_side(struct emit *e, const LLVMValueRef *reg,
                                 unsigned which)
{
    LLVMValueRef low = reg[0], high = reg[1];

    if (which) {
        low = i_lshr(&e->l, low, k_int(low, 16));
        high = i_and(&e->l, high, k_int(high, 0xffff0000));
    } else {
        low = i_and(&e->l, low, k_int(low, 0xffff));
        high = i_shl(&e->l, high, k_int(high, 16));
    }
    return i_or(&e->l, low, high);
}

/* A column of packed halves as f32. */
static LLVMValueRef widen_column(struct emit *e, LLVMValueRef v, unsigned t)
{
    LLVMTypeRef halves = matrix_vec(e->i16, 16);
    unsigned at[8];

    for (unsigned g = 0; g < 8; g++)
        at[g] = g * 4 + t;
    v = matrix_shuffle(e, v, NULL, at, 8);
    return lower_widen_half(&e->l, cast_(&e->l, v, halves));
}

static void spread_a(struct emit *e, const struct product *p, LLVMValueRef regs)
{
    enum ptx_type t = p->m->a;
    uint64_t from = 0, at = 0, row = (uint64_t)p->m->m * p->part_bytes;

    for (unsigned i = 0; i < p->m->q; i++) {
        LLVMValueRef reg[2], both[2] = {NULL, NULL}, v;

        for (unsigned h = 0; h < p->m->m / 8; h++, from += register_bytes(t))
            reg[h] = matrix_load(e, register_type(e, t), regs, from, 64);
        for (unsigned k = 0; p->paired && k < 2; k++)
            both[k] = side_by_side(e, reg, k);
        for (unsigned c = 0; c < 4; c++) {
            v = p->paired ? NULL : table_column(e, p, reg, p->m->m / 8, c);
            for (unsigned k = 0; k < p->parts; k++, at += row)
                matrix_store(e,
                             p->paired ? widen_column(e, both[k], c)
                                       : mma_part(e, v, t, k),
                             p->rows_a, at, p->part_bytes);
        }
    }
}

static void spread_b(struct emit *e, const struct product *p, LLVMValueRef regs)
{
    enum ptx_type t = p->m->b;
    uint64_t at = 0, row = (uint64_t)COLUMNS * p->part_bytes;

    for (unsigned i = 0; i < p->m->q; i++) {
        LLVMValueRef v, reg = matrix_load(e, register_type(e, t), regs,
                                          i * register_bytes(t), 64);

        for (unsigned c = 0; c < 4; c++) {
            if (p->paired) {
                matrix_store(e, widen_column(e, reg, c), p->rows_b, at,
                             p->part_bytes);
                at += 2 * row;
                continue;
            }
            v = table_column(e, p, &reg, 1, c);
            for (unsigned k = 0; k < p->parts; k++, at += row)
                matrix_store(e, mma_part(e, v, t, k), p->rows_b, at,
                             p->part_bytes);
        }
    }
}

/* --- C and D --- */

static LLVMValueRef half_of(struct emit *e, LLVMValueRef v, unsigned which)
{
    return lower_width(&e->l, i_lshr(&e->l, v, k_int(v, 16 * which)), 16, 0);
}

/* Column n = 2t + s of C: s picks a register, or a half of one. */
static void take_c(struct emit *e, const struct product *p, LLVMValueRef c)
{
    const struct mma *m = p->m;

    for (unsigned s = 0; s < 2; s++) {
        LLVMValueRef reg[2];

        for (unsigned h = 0; h < m->m / 8; h++) {
            unsigned at = m->c == PTX_F16 ? h : 2 * h + s;

            reg[h] = matrix_load(e, register_type(e, m->c), c,
                                 at * register_bytes(m->c), 64);
            if (m->c == PTX_F16)
                reg[h] = lower_widen_half(&e->l, half_of(e, reg[h], s));
        }
        for (unsigned t = 0; t < 4; t++)
            matrix_store(e, table_column(e, p, reg, m->m / 8, t), p->columns,
                         (uint64_t)(2 * t + s) * m->m * p->acc_bytes,
                         p->acc_bytes);
    }
}

/* Rows h * 8 and on, columns 2t + s, as a register's 32 lanes. */
static LLVMValueRef table_of(struct emit *e, const struct product *p,
                             LLVMValueRef *column, unsigned h, unsigned s)
{
    LLVMValueRef two[2];
    unsigned at[LANES];

    for (unsigned i = 0; i < 16; i++)
        at[i] = i % 2 * p->m->m + row_place(p, h, i / 2);
    for (unsigned i = 0; i < 2; i++)
        two[i] =
            matrix_shuffle(e, column[4 * i + s], column[4 * i + 2 + s], at, 16);
    for (unsigned i = 0; i < LANES; i++)
        at[i] = i % 4 / 2 * 16 + i / 4 * 2 + i % 2;
    return matrix_shuffle(e, two[0], two[1], at, LANES);
}

static LLVMValueRef rounded_half(struct emit *e, LLVMValueRef x)
{
    return lower_width(&e->l, lower_float_to_half(&e->l, x, PTX_ROUND_RN), 32,
                       0);
}

/* Two registers of D, or the halves of one. */
static void finish(struct emit *e, const struct product *p, unsigned h,
                   LLVMValueRef v[2], LLVMValueRef c, LLVMValueRef d)
{
    uint64_t bytes = register_bytes(p->m->d);

    if (p->m->d == PTX_F16) {
        v[0] = rounded_half(e, v[0]);
        v[1] = rounded_half(e, v[1]);
        v[1] = i_shl(&e->l, v[1], k_int(v[1], 16));
        matrix_store(e, i_or(&e->l, v[0], v[1]), d, h * bytes, 64);
        return;
    }
    for (unsigned s = 0; s < 2; s++) {
        uint64_t at = (2 * h + s) * bytes;

        if (p->m->d == PTX_F32)
            v[s] = lower_canonical(&e->l, v[s]);
        else if (p->m->saturate)
            v[s] = lower_call2(
                &e->l, "llvm.sadd.sat", v[s],
                matrix_load(e, register_type(e, p->m->d), c, at, 64));
        matrix_store(e, v[s], d, at, 64);
    }
}

static void give_d(struct emit *e, const struct product *p, LLVMValueRef c,
                   LLVMValueRef d)
{
    LLVMTypeRef type = matrix_vec(p->acc, p->m->m);
    LLVMValueRef column[COLUMNS], v[2];

    for (unsigned n = 0; n < COLUMNS; n++)
        column[n] =
            matrix_load(e, type, p->columns,
                        (uint64_t)n * p->m->m * p->acc_bytes, p->acc_bytes);
    for (unsigned h = 0; h < p->m->m / 8; h++) {
        for (unsigned s = 0; s < 2; s++)
            v[s] = table_of(e, p, column, h, s);
        finish(e, p, h, v, c, d);
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

/* One step: all parts of a register, all columns. */
static void add_products(struct emit *e, const struct product *p,
                         unsigned first, LLVMValueRef step,
                         const LLVMValueRef *sum, LLVMValueRef *next)
{
    uint64_t row_a = (uint64_t)p->m->m * p->part_bytes;
    uint64_t row_b = (uint64_t)COLUMNS * p->part_bytes;
    LLVMTypeRef part = matrix_vec(p->part, p->width);
    LLVMValueRef a, b;

    for (unsigned k = 0; k < p->parts; k++) {
        a = matrix_load(e, part, row_at(e, p->rows_a, step, row_a * p->parts),
                        k * row_a + (uint64_t)first * p->part_bytes,
                        p->part_bytes);
        for (unsigned n = 0; n < COLUMNS; n++) {
            unsigned at = p->paired ? n * p->parts + k : k * COLUMNS + n;

            b = matrix_load(e, p->part,
                            row_at(e, p->rows_b, step, row_b * p->parts),
                            (uint64_t)at * p->part_bytes, p->part_bytes);
            next[n] = mma_step(e, p->m, a, repeat(e, b, p->width),
                               k ? next[n] : sum[n]);
        }
    }
}

/* Rows first .. first + width of all columns. */
static void multiply(struct emit *e, const struct product *p, unsigned first)
{
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->l.b);
    LLVMBasicBlockRef body = emit_new_bb(e, "k"), after = emit_new_bb(e, "d");
    LLVMTypeRef acc = matrix_vec(p->acc, p->width);
    LLVMValueRef c[COLUMNS], sum[COLUMNS], next[COLUMNS], step, more;
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
    add_products(e, p, first, step, sum, next);
    more = LLVMBuildAdd(e->l.b, step, emit_const(e, 64, 1), "");
    LLVMAddIncoming(step, (LLVMValueRef[]){emit_const(e, 64, 0), more},
                    (LLVMBasicBlockRef[]){before, body}, 2);
    for (unsigned n = 0; n < COLUMNS; n++)
        LLVMAddIncoming(sum[n], (LLVMValueRef[]){c[n], next[n]},
                        (LLVMBasicBlockRef[]){before, body}, 2);
    more = LLVMBuildICmp(e->l.b, LLVMIntULT, more, emit_const(e, 64, p->steps),
                         "");
    LLVMBuildCondBr(e->l.b, more, body, after);
    LLVMPositionBuilderAtEnd(e->l.b, after);
    for (unsigned n = 0; n < COLUMNS; n++)
        matrix_store(e, next[n], p->columns, at[n], p->acc_bytes);
}

static void write_product(struct emit *e, const struct mma *m,
                          const LLVMValueRef *arg)
{
    struct product p = {.m = m,
                        .part = mma_part_type(e, m->a),
                        .acc = mma_acc_type(e, m->d),
                        .parts = mma_parts(m->a)};
    unsigned widest;

    p.part_bytes = m->a == PTX_F64 ? 8 : 4;
    p.acc_bytes = m->d == PTX_F64 ? 8 : 4;
    p.steps = m->q * 4;
    p.paired = m->a == PTX_F16 && m->m == 16;
    widest = e->lanes * 4 / p.acc_bytes;
    p.width = m->m < widest ? m->m : widest;
    p.rows_a =
        matrix_room(e, (uint64_t)p.steps * p.parts * m->m * p.part_bytes);
    p.rows_b =
        matrix_room(e, (uint64_t)p.steps * p.parts * COLUMNS * p.part_bytes);
    p.columns = matrix_room(e, (uint64_t)COLUMNS * m->m * p.acc_bytes);
    spread_a(e, &p, arg[0]);
    spread_b(e, &p, arg[1]);
    take_c(e, &p, arg[2]);
    for (unsigned first = 0; first < m->m; first += p.width)
        multiply(e, &p, first);
    give_d(e, &p, arg[2], arg[3]);
}

void mma_helper(struct emit *e, const struct mma *m, struct matrix_fn *fn)
{
    char name[96];

    snprintf(name, sizeof name, "kiln.mma.m%un8q%u.%s.%s.%s.%s%s%s", m->m, m->q,
             ptx_type_text(m->d), ptx_type_text(m->a), ptx_type_text(m->b),
             ptx_type_text(m->c), m->saturate ? ".sat" : "",
             m->is_and ? ".and" : "");
    if (!matrix_begin(e, fn, name))
        return;
    write_product(e, m, fn->arg);
    matrix_end(e, fn);
}
