/* SPDX-License-Identifier: MIT
 *
 * mma.m8n8k4 of f16: four multiplications at once, one for each quad pair
 * (lanes 4p .. 4p + 3 and 16 + 4p .. 16 + 4p + 3), in fragments of their own
 * layout (PTX ISA 9.7.14.5.1). Vectors of 32 are row r of pair p at 8p + r.
 */
#include <stdio.h>

#include "cpu/jit/lower_impl.h"
#include "cpu/jit/mma.h"

enum { LANES = 32, K = 4, COLUMNS = 8 };

struct quad {
    int a_col, b_row;
    int c_wide, d_wide; /* f32 */
};

/* Where an element is: the lane that holds it, and its number there. */
struct element {
    unsigned lane, at;
};

static unsigned upper(unsigned i)
{
    return i < 4 ? 0 : 16;
}

/* A: row r and column k; B: row k and column n. */
static struct element of_a(const struct quad *q, unsigned pair, unsigned r,
                           unsigned k)
{
    unsigned first = upper(r) + 4 * pair;

    return q->a_col ? (struct element){first + k, r % 4}
                    : (struct element){first + r % 4, k};
}

static struct element of_b(const struct quad *q, unsigned pair, unsigned k,
                           unsigned n)
{
    unsigned first = upper(n) + 4 * pair;

    return q->b_row ? (struct element){first + k, n % 4}
                    : (struct element){first + n % 4, k};
}

static struct element of_c(int wide, unsigned pair, unsigned r, unsigned n)
{
    unsigned first = upper(r) + 4 * pair;

    return wide ? (struct element){first + (n & 2) + (r & 1),
                                   (n & 4) + (r & 2) + (n & 1)}
                : (struct element){first + r % 4, n};
}

/* `count` vectors v[] of 32 lanes; element i of the result is number from[i].at
 * in lane from[i].lane. */
static LLVMValueRef collect(struct emit *e, LLVMValueRef *v, unsigned count,
                            const struct element *from)
{
    LLVMValueRef all = NULL;

    for (unsigned k = 0; k < count; k++) {
        unsigned at[LANES], used = 0;

        for (unsigned i = 0; i < LANES; i++) {
            used += from[i].at == k;
            at[i] = from[i].at == k ? LANES + from[i].lane : i;
        }
        if (used)
            all = matrix_shuffle(e, all ? all : LLVMGetPoison(LLVMTypeOf(v[k])),
                                 v[k], at, LANES);
    }
    return all;
}

/* Registers as vectors of f32: each register two halves, or one
 * number. */
static void read_registers(struct emit *e, LLVMValueRef from, unsigned count,
                           int wide, LLVMValueRef *out)
{
    LLVMTypeRef type = matrix_vec(e->i32, LANES);

    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef v =
            matrix_load(e, type, from, i * (uint64_t)MATRIX_TILE, 64);

        if (wide) {
            out[i] = cast_(&e->l, v, lower_float_like(&e->l, v, 32));
            continue;
        }
        out[2 * i] = lower_widen_half(&e->l, lower_width(&e->l, v, 16, 0));
        v = i_lshr(&e->l, v, k_int(v, 16));
        out[2 * i + 1] = lower_widen_half(&e->l, lower_width(&e->l, v, 16, 0));
    }
}

/* As an H200 has it: products one after the other, C at the end. */
static void multiply(struct emit *e, const struct quad *q, LLVMValueRef *a,
                     LLVMValueRef *b, LLVMValueRef *c)
{
    LLVMValueRef sum[COLUMNS];
    struct element from[LANES];

    for (unsigned k = 0; k < K; k++) {
        LLVMValueRef row, number;

        for (unsigned i = 0; i < LANES; i++)
            from[i] = of_a(q, i / 8, i % 8, k);
        row = collect(e, a, K, from);
        for (unsigned n = 0; n < COLUMNS; n++) {
            for (unsigned i = 0; i < LANES; i++)
                from[i] = of_b(q, i / 8, k, n);
            number = collect(e, b, K, from);
            if (k)
                sum[n] = f_fma(&e->l, row, number, sum[n]);
            else if (q->d_wide) /* no zero but +0 */
                sum[n] = f_fma(&e->l, row, number, k_real(row, 0));
            else
                sum[n] = f_mul(&e->l, row, number);
        }
    }
    for (unsigned n = 0; n < COLUMNS; n++) {
        c[n] = f_add(&e->l, c[n], sum[n]);
    }
}

static void write_d(struct emit *e, const struct quad *q, LLVMValueRef d,
                    LLVMValueRef *columns)
{
    LLVMValueRef out[8];

    for (unsigned k = 0; k < 8; k++) {
        struct element from[LANES] = {{0}};

        for (unsigned i = 0; i < LANES; i++)
            for (unsigned n = 0; n < COLUMNS; n++) {
                struct element x = of_c(q->d_wide, i / 8, i % 8, n);

                if (x.at == k)
                    from[x.lane] = (struct element){i, n};
            }
        out[k] = lower_canonical(&e->l, collect(e, columns, COLUMNS, from));
    }
    for (unsigned i = 0; i < (q->d_wide ? 8u : 4u); i++) {
        LLVMValueRef v = out[i];

        if (!q->d_wide) {
            LLVMValueRef low, high;

            low = lower_float_to_half(&e->l, out[2 * i], PTX_ROUND_RN);
            high = lower_float_to_half(&e->l, out[2 * i + 1], PTX_ROUND_RN);
            low = lower_width(&e->l, low, 32, 0);
            high = lower_width(&e->l, high, 32, 0);
            v = i_or(&e->l, low, i_shl(&e->l, high, k_int(high, 16)));
        }
        matrix_store(e, v, d, i * (uint64_t)MATRIX_TILE, 64);
    }
}

static void write_helper(struct emit *e, const struct quad *q,
                         const LLVMValueRef *arg)
{
    LLVMValueRef a[K], b[K], c[8], columns[COLUMNS];
    struct element from[LANES];

    read_registers(e, arg[0], 2, 0, a);
    read_registers(e, arg[1], 2, 0, b);
    read_registers(e, arg[2], q->c_wide ? 8 : 4, q->c_wide, c);
    for (unsigned n = 0; n < COLUMNS; n++) {
        for (unsigned i = 0; i < LANES; i++)
            from[i] = of_c(q->c_wide, i / 8, i % 8, n);
        columns[n] = collect(e, c, 8, from);
    }
    multiply(e, q, a, b, columns);
    write_d(e, q, arg[3], columns);
}

void mma_quad(struct emit *e, const struct graph_insn *insn)
{
    const struct ptx_insn *p = insn->ptx;
    struct quad q = {.a_col = ptx_has(p, PTX_MOD_COL),
                     .b_row = ptx_has(p, PTX_MOD_B_ROW),
                     .c_wide = p->types[3] == PTX_F32,
                     .d_wide = p->types[0] == PTX_F32};
    struct matrix_fn fn;
    char name[48];

    if (p->operand_count != 4 || p->dst_count != 1) {
        emit_refuse(e, p, NULL);
        return;
    }
    if (matrix_put(e, insn, 1, 2, 32, MATRIX_A) ||
        matrix_put(e, insn, 2, 2, 32, MATRIX_B) ||
        matrix_put(e, insn, 3, q.c_wide ? 8 : 4, 32, MATRIX_C))
        return;
    snprintf(name, sizeof name, "kiln.mma.quad.%d%d%d%d", q.a_col != 0,
             q.b_row != 0, q.c_wide, q.d_wide);
    if (matrix_begin(e, &fn, name)) {
        write_helper(e, &q, fn.arg);
        matrix_end(e, &fn);
    }
    matrix_call(e, &fn, (uint64_t[]){MATRIX_A, MATRIX_B, MATRIX_C, MATRIX_D});
    matrix_get(e, insn, 0, q.d_wide ? 8 : 4, 32, MATRIX_D);
}
