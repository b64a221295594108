/* SPDX-License-Identifier: MIT
 *
 * Registers of a fragment taken apart: all rows of A for one k are a vector,
 * of B for one k eight numbers, and a column of C a vector again; and D put
 * together.
 */
#include "cpu/jit/lower_impl.h"
#include "cpu/jit/mma_impl.h"

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

static void keep(struct emit *e, struct product *p, int is_a, LLVMValueRef v,
                 uint64_t at)
{
    if (mma_is_aligned(p->m))
        mma_note_row(e, p, is_a, v, at);
    else
        matrix_store(e, v, is_a ? p->rows_a : p->rows_b, at, p->part_bytes);
}

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

/* Where the rows of step i stand: of sparse bytes the even steps first, which
 * are added before the odd ones (mma_sum.c). */
static unsigned step_place(const struct product *p, unsigned i)
{
    return mma_takes_turns(p->m) ? i % 2 * (p->steps / 2) + i / 2 : i;
}

void mma_spread_a(struct emit *e, struct product *p, LLVMValueRef regs)
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
            at = step_place(p, 4 * i + c) * p->parts * row;
            for (unsigned k = 0; k < p->parts; k++, at += row)
                keep(e, p, 1,
                     p->paired ? widen_column(e, both[k], c)
                               : mma_part(e, v, t, k),
                     at);
        }
    }
}

void mma_spread_b(struct emit *e, struct product *p, LLVMValueRef regs)
{
    enum ptx_type t = p->m->b;
    uint64_t at = 0, row = (uint64_t)COLUMNS * p->part_bytes;

    for (unsigned i = 0; i < p->m->q; i++) {
        LLVMValueRef v, reg = matrix_load(e, register_type(e, t), regs,
                                          i * register_bytes(t), 64);

        for (unsigned c = 0; c < 4; c++) {
            if (p->paired) {
                keep(e, p, 0, widen_column(e, reg, c), at);
                at += 2 * row;
                continue;
            }
            v = table_column(e, p, &reg, 1, c);
            at = step_place(p, 4 * i + c) * p->parts * row;
            for (unsigned k = 0; k < p->parts; k++, at += row)
                keep(e, p, 0, mma_part(e, v, t, k), at);
        }
    }
}

/* --- C and D --- */

static LLVMValueRef half_of(struct emit *e, LLVMValueRef v, unsigned which)
{
    return lower_width(&e->l, i_lshr(&e->l, v, k_int(v, 16 * which)), 16, 0);
}

/* Column n = 2t + s of C: s picks a register, or a half of one. */
void mma_take_c(struct emit *e, const struct product *p, LLVMValueRef c)
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

/* A sum of products that rounds to zero is +0. */
static LLVMValueRef rounded_half(struct emit *e, const struct product *p,
                                 LLVMValueRef x)
{
    LLVMValueRef h = lower_float_to_half(&e->l, x, PTX_ROUND_RN), size;

    h = lower_width(&e->l, h, 32, 0);
    size = i_and(&e->l, h, k_int(h, 0x7fff));
    if (p->m->a != PTX_F16)
        return h;
    return select_(&e->l, i_cmp(&e->l, LLVMIntEQ, size, k_int(h, 0)),
                   k_int(h, 0), h);
}

/* Two registers of D, or the halves of one. */
static void finish(struct emit *e, const struct product *p, unsigned h,
                   LLVMValueRef v[2], LLVMValueRef c, LLVMValueRef d)
{
    uint64_t bytes = register_bytes(p->m->d);

    if (p->m->d == PTX_F16) {
        v[0] = rounded_half(e, p, v[0]);
        v[1] = rounded_half(e, p, v[1]);
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

void mma_give_d(struct emit *e, const struct product *p, LLVMValueRef c,
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
