/* SPDX-License-Identifier: MIT
 *
 * mma of floats of 8, 6 and 4 bits by .kind: all of their pairs, and blocks of
 * k with a scale for each row of A and each column of B (PTX ISA, "Block
 * scaling for mma.sync"). The ISA leaves the order and rounding of sums open,
 * and no device was asked: products and scales are exact in f64, sums are
 * taken there in rising order of k from C on, and D is rounded once.
 *
 * By .kind::f8f6f4 and mxf8f6f4 each element has a byte, 6 bits in its lower
 * ones and 4 bits in its middle ones; by mxf4 and mxf4nvf4 a byte has two.
 */
#include <stdio.h>

#include "cpu/jit/lower_impl.h"
#include "cpu/jit/mma_impl.h"

enum { ROWS = 16, SCALES_MAX = 4, SELECTORS = MATRIX_X + 2 * MATRIX_TILE };

struct scaled {
    const struct mma *m;
    unsigned per;                  /* elements a register */
    unsigned k;                    /* of all registers */
    unsigned scales;               /* of a row; 0: none */
    int small_scale;               /* ue4m3, else ue8m0 */
    LLVMValueRef a, b;             /* tables [k][16] and [k][8] of f64 */
    LLVMValueRef scale_a, scale_b; /* [scales][16] and [scales][8] */
};

/* --- elements --- */

static const struct element {
    enum ptx_type type;
    unsigned mantissa;
    int bias;
    unsigned sign, shift; /* in a byte of its own */
} elements[] = {
    {PTX_E4M3, 3, 7, 7, 0}, {PTX_E5M2, 2, 15, 7, 0}, {PTX_E2M3, 3, 1, 5, 0},
    {PTX_E3M2, 2, 3, 5, 0}, {PTX_E2M1, 1, 1, 3, 2},
};

static const struct element *element_of(enum ptx_type t)
{
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        if (elements[i].type == t)
            return &elements[i];
    return NULL;
}

/* A code without its sign, in 64 bits, as f64. */
static LLVMValueRef size_of(struct lower *l, LLVMValueRef m,
                            const struct element *x)
{
    LLVMTypeRef f64 = lower_float_like(l, m, 64);
    LLVMValueRef normal, tiny, low, r;
    double last = lower_power_of_two(1 - x->bias - (int)x->mantissa);

    normal = i_add(l, i_shl(l, m, k_int(m, 52 - x->mantissa)),
                   k_int(m, (uint64_t)(1023 - x->bias) << 52));
    tiny = LLVMBuildUIToFP(l->b, m, f64, "");
    tiny = f_mul(l, tiny, k_real(tiny, last));
    low = i_cmp(l, LLVMIntULT, m, k_int(m, UINT64_C(1) << x->mantissa));
    r = select_(l, low, tiny, cast_(l, normal, f64));
    if (x->type == PTX_E4M3)
        return select_(l, i_cmp(l, LLVMIntEQ, m, k_int(m, 0x7f)),
                       k_real(r, __builtin_nan("")), r);
    if (x->type != PTX_E5M2)
        return r;
    r = select_(l, i_cmp(l, LLVMIntEQ, m, k_int(m, 0x7c)),
                k_real(r, __builtin_inf()), r);
    return select_(l, i_cmp(l, LLVMIntUGT, m, k_int(m, 0x7c)),
                   k_real(r, __builtin_nan("")), r);
}

/* Element `part` of registers v as f64. */
static LLVMValueRef element(struct emit *e, const struct scaled *s,
                            LLVMValueRef v, enum ptx_type t, unsigned part)
{
    struct lower *l = &e->l;
    const struct element *x = element_of(t);
    unsigned at = s->per == 8 ? 4 * part : 8 * part + x->shift;
    LLVMValueRef m, sign;

    v = lower_width(l, i_lshr(l, v, k_int(v, at)), 64, 0);
    m = i_and(l, v, k_int(v, (1u << x->sign) - 1));
    sign = i_lshr(l, v, k_int(v, x->sign));
    sign = i_shl(l, sign, k_int(sign, 63));
    m = lower_as_int(l, size_of(l, m, x));
    return cast_(l, i_or(l, m, sign), lower_float_like(l, m, 64));
}

/* A byte of each scale as f64. */
static LLVMValueRef scale(struct emit *e, const struct scaled *s,
                          LLVMValueRef code)
{
    struct lower *l = &e->l;
    LLVMTypeRef f64;
    LLVMValueRef r;

    code = lower_width(l, code, 64, 0);
    f64 = lower_float_like(l, code, 64);
    if (s->small_scale)
        return size_of(l, i_and(l, code, k_int(code, 0x7f)),
                       element_of(PTX_E4M3));
    r = i_add(l, code, k_int(code, 1023 - 127));
    r = cast_(l, i_shl(l, r, k_int(r, 52)), f64);
    return select_(l, i_cmp(l, LLVMIntEQ, code, k_int(code, 255)),
                   k_real(r, __builtin_nan("")), r);
}

/* --- tables --- */

static LLVMValueRef registers(struct emit *e, LLVMValueRef regs, unsigned i)
{
    return matrix_load(e, matrix_vec(e->i32, LANES), regs,
                       (uint64_t)i * MATRIX_TILE, 64);
}

/* The scales of all rows or columns: of each quad one thread says that of a
 * column, one of a pair that of a row, from the byte that the selectors name.
 */
static void spread_scales(struct emit *e, const struct scaled *s,
                          LLVMValueRef words, LLVMValueRef byte,
                          LLVMValueRef thread, int is_a, LLVMValueRef table)
{
    struct lower *l = &e->l;
    unsigned rows = is_a ? ROWS : COLUMNS;

    if (is_a)
        thread = i_shl(l, thread, k_int(thread, 1));
    for (unsigned r = 0; r < rows; r++) {
        LLVMValueRef lane, word, code;

        lane = i_add(l, thread, k_int(thread, 4 * (r % 8) + r / 8));
        word = LLVMBuildLoad2(
            l->b, e->i32, LLVMBuildGEP2(l->b, e->i32, words, &lane, 1, ""), "");
        word = i_lshr(l, word, i_shl(l, byte, k_int(byte, 3)));
        for (unsigned i = 0; i < s->scales; i++) {
            code =
                i_and(l, i_lshr(l, word, k_int(word, 8 * i)), k_int(word, 255));
            matrix_store(e, scale(e, s, code), table, (i * rows + r) * 8ul, 8);
        }
    }
}

static void spread(struct emit *e, const struct scaled *s, LLVMValueRef regs,
                   int is_a)
{
    unsigned n = is_a ? 2 : 1, rows = 8 * n, row = 0, at[ROWS];
    enum ptx_type t = is_a ? s->m->a : s->m->b;
    LLVMTypeRef f64 = matrix_vec(LLVMDoubleTypeInContext(e->l.ctx), rows);

    for (unsigned i = 0; i < s->m->q; i++) {
        LLVMValueRef reg[2] = {NULL, NULL}, v, x;

        for (unsigned h = 0; h < n; h++)
            reg[h] = registers(e, regs, i * n + h);
        for (unsigned c = 0; c < 4; c++) {
            for (unsigned r = 0; r < rows; r++)
                at[r] = r / 8 * LANES + r % 8 * 4 + c;
            v = matrix_shuffle(e, reg[0], reg[1], at, rows);
            for (unsigned part = 0; part < s->per; part++, row++) {
                x = element(e, s, v, t, part);
                if (s->scales)
                    x = f_mul(&e->l, x,
                              matrix_load(
                                  e, f64, is_a ? s->scale_a : s->scale_b,
                                  (uint64_t)(row * s->scales / s->k) * rows * 8,
                                  8));
                matrix_store(e, x, is_a ? s->a : s->b, (uint64_t)row * rows * 8,
                             8);
            }
        }
    }
}

/* --- the multiplication --- */

static LLVMValueRef table_row(struct emit *e, LLVMValueRef table,
                              LLVMValueRef k, unsigned bytes)
{
    LLVMValueRef at = LLVMBuildMul(e->l.b, k, emit_const(e, 64, bytes), "");

    return LLVMBuildGEP2(e->l.b, e->i8, table, &at, 1, "");
}

static LLVMValueRef repeated(struct emit *e, LLVMValueRef v)
{
    LLVMTypeRef type = matrix_vec(LLVMTypeOf(v), ROWS);

    v = LLVMBuildInsertElement(e->l.b, LLVMGetPoison(type), v,
                               emit_const(e, 32, 0), "");
    return LLVMBuildShuffleVector(e->l.b, v, LLVMGetPoison(type),
                                  LLVMConstNull(matrix_vec(e->i32, ROWS)), "");
}

/* Sums of all columns, over all k; in and out: vectors of 16 rows. */
static void multiply(struct emit *e, const struct scaled *s, LLVMValueRef *sum)
{
    LLVMTypeRef number = LLVMDoubleTypeInContext(e->l.ctx);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->l.b), end;
    LLVMBasicBlockRef body = emit_new_bb(e, "k"), after = emit_new_bb(e, "d");
    LLVMValueRef phi[COLUMNS], k, a, more;

    LLVMBuildBr(e->l.b, body);
    LLVMPositionBuilderAtEnd(e->l.b, body);
    k = LLVMBuildPhi(e->l.b, e->i64, "");
    for (unsigned n = 0; n < COLUMNS; n++) {
        phi[n] = LLVMBuildPhi(e->l.b, LLVMTypeOf(sum[n]), "");
        LLVMAddIncoming(phi[n], &sum[n], &before, 1);
    }
    a = matrix_load(e, matrix_vec(number, ROWS),
                    table_row(e, s->a, k, ROWS * 8), 0, 8);
    for (unsigned n = 0; n < COLUMNS; n++) {
        LLVMValueRef b = matrix_load(
            e, number, table_row(e, s->b, k, COLUMNS * 8), n * 8ul, 8);

        sum[n] = f_add(&e->l, phi[n], f_mul(&e->l, a, repeated(e, b)));
    }
    more = LLVMBuildAdd(e->l.b, k, emit_const(e, 64, 1), "");
    end = LLVMGetInsertBlock(e->l.b);
    LLVMAddIncoming(k, (LLVMValueRef[]){emit_const(e, 64, 0), more},
                    (LLVMBasicBlockRef[]){before, end}, 2);
    for (unsigned n = 0; n < COLUMNS; n++)
        LLVMAddIncoming(phi[n], &sum[n], &end, 1);
    LLVMBuildCondBr(
        e->l.b,
        LLVMBuildICmp(e->l.b, LLVMIntULT, more, emit_const(e, 64, s->k), ""),
        body, after);
    LLVMPositionBuilderAtEnd(e->l.b, after);
}

/* Words of both scales and the selectors lie behind MATRIX_X. */
static LLVMValueRef selector(struct emit *e, LLVMValueRef from, unsigned i)
{
    return matrix_load(e, e->i32, from, 4ul * i, 4);
}

static void write_scaled(struct emit *e, struct scaled *s,
                         const LLVMValueRef *arg)
{
    LLVMTypeRef f32 = LLVMFloatTypeInContext(e->l.ctx);
    LLVMTypeRef single = matrix_vec(f32, ROWS);
    LLVMTypeRef wide = matrix_vec(LLVMDoubleTypeInContext(e->l.ctx), ROWS);
    struct product p = {.m = s->m, .acc = f32, .acc_bytes = 4};
    LLVMValueRef sum[COLUMNS], x;

    s->a = matrix_room(e, (uint64_t)s->k * ROWS * 8);
    s->b = matrix_room(e, (uint64_t)s->k * COLUMNS * 8);
    p.columns = matrix_room(e, (uint64_t)COLUMNS * ROWS * 4);
    if (s->scales) {
        LLVMValueRef words = matrix_at(e, arg[0], MATRIX_X - MATRIX_A);
        LLVMValueRef names = matrix_at(e, arg[0], SELECTORS - MATRIX_A);

        s->scale_a = matrix_room(e, SCALES_MAX * ROWS * 8);
        s->scale_b = matrix_room(e, SCALES_MAX * COLUMNS * 8);
        spread_scales(e, s, words, selector(e, names, 0), selector(e, names, 1),
                      1, s->scale_a);
        spread_scales(e, s, matrix_at(e, words, MATRIX_TILE),
                      selector(e, names, 2), selector(e, names, 3), 0,
                      s->scale_b);
    }
    spread(e, s, arg[0], 1);
    spread(e, s, arg[1], 0);
    mma_take_c(e, &p, arg[2]);
    for (unsigned n = 0; n < COLUMNS; n++) {
        x = matrix_load(e, single, p.columns, (uint64_t)n * ROWS * 4, 4);
        sum[n] = LLVMBuildFPExt(e->l.b, x, wide, "");
    }
    multiply(e, s, sum);
    for (unsigned n = 0; n < COLUMNS; n++) {
        x = s->m->d == PTX_F16 ? lower_double_to_odd_float(&e->l, sum[n])
                               : LLVMBuildFPTrunc(e->l.b, sum[n], single, "");
        matrix_store(e, x, p.columns, (uint64_t)n * ROWS * 4, 4);
    }
    mma_give_d(e, &p, arg[2], arg[3]);
}

/* --- the instruction --- */

static int is_packed(const struct ptx_insn *p)
{
    return ptx_has(p, PTX_MOD_KIND_MXF4) || ptx_has(p, PTX_MOD_KIND_MXF4NVF4);
}

int mma_is_scaled(const struct ptx_insn *p)
{
    return ptx_has(p, PTX_MOD_KIND_F8F6F4) ||
           ptx_has(p, PTX_MOD_KIND_MXF8F6F4) || is_packed(p);
}

static unsigned scales_of(const struct ptx_insn *p)
{
    if (!ptx_has(p, PTX_MOD_BLOCK_SCALE))
        return 0;
    return ptx_has(p, PTX_MOD_SCALE_VEC_4X)                   ? 4
           : ptx_has(p, PTX_MOD_SCALE_VEC_2X) || is_packed(p) ? 2
                                                              : 1;
}

/* Operands 4 to 7: words and {byte, thread} of A's scales and of B's. The
 * warp's lanes agree about the selectors. */
static int put_scales(struct emit *e, const struct graph_insn *insn)
{
    LLVMValueRef area = matrix_area(e);

    for (unsigned i = 0; i < 2; i++) {
        const int k = 5 + 2 * (int)i;

        if (matrix_put(e, insn, k - 1, 1, 32, MATRIX_X + i * MATRIX_TILE))
            return -1;
        if (insn->ptx->operands[k].kind != PTX_OPERAND_VECTOR ||
            insn->ptx->operands[k].count != 2) {
            emit_refuse(e, insn->ptx, NULL);
            return -1;
        }
        for (unsigned j = 0; j < 2; j++) {
            LLVMValueRef v = emit_element_vector(e, insn, k, (int)j, 0, 16);

            v = LLVMBuildExtractElement(e->l.b, v, emit_const(e, 32, 0), "");
            v = LLVMBuildIntCast2(e->l.b, v, e->i32, 0, "");
            matrix_store(e, v, area, SELECTORS + 4ul * (2 * i + j), 4);
        }
    }
    return 0;
}

void mma_scaled(struct emit *e, const struct graph_insn *insn)
{
    const struct ptx_insn *p = insn->ptx;
    const unsigned per = is_packed(p) ? 8 : 4;
    const unsigned k = ptx_has(p, PTX_MOD_M16N8K64) ? 64 : 32;
    const struct mma m = {.m = ROWS,
                          .q = k / (4 * per),
                          .a = p->types[1],
                          .b = p->types[2],
                          .c = p->types[3],
                          .d = p->types[0]};
    struct scaled s = {.m = &m,
                       .per = per,
                       .k = k,
                       .scales = scales_of(p),
                       .small_scale =
                           p->type_count > 4 && p->types[4] == PTX_UE4M3};
    struct matrix_fn fn;
    char name[96];

    if (ptx_has(p, PTX_MOD_SP) || ptx_has(p, PTX_MOD_SP_ORDERED) ||
        !element_of(m.a) || !element_of(m.b) ||
        p->operand_count != (s.scales ? 8 : 4)) {
        emit_refuse(e, p, NULL);
        return;
    }
    if (matrix_put(e, insn, 1, 2 * m.q, 32, MATRIX_A) ||
        matrix_put(e, insn, 2, m.q, 32, MATRIX_B) ||
        matrix_put(e, insn, 3, mma_acc_registers(m.c, ROWS), 32, MATRIX_C) ||
        (s.scales && put_scales(e, insn)))
        return;
    snprintf(name, sizeof name, "kiln.mma.scaled.k%u.%s.%s.%s.%s.%u%s", k,
             ptx_type_text(m.d), ptx_type_text(m.a), ptx_type_text(m.b),
             ptx_type_text(m.c), s.scales, s.small_scale ? ".small" : "");
    if (matrix_begin(e, &fn, name)) {
        write_scaled(e, &s, fn.arg);
        matrix_end(e, &fn);
    }
    matrix_call(e, &fn, (uint64_t[]){MATRIX_A, MATRIX_B, MATRIX_C, MATRIX_D});
    matrix_get(e, insn, 0, mma_acc_registers(m.d, ROWS), 32, MATRIX_D);
}
