/* SPDX-License-Identifier: MIT
 *
 * Sums of products of small floats as NVIDIA's tensor cores take them. The ISA
 * leaves order and rounding open; this is what an H200 answers, to the bit
 * (docs/matrices.md).
 *
 * All products of a block and the number that they are added to are summands.
 * Each has an exponent, that of its number or the sum of its factors'. Every
 * summand is cut to a whole multiple of 2^-25 times the power of two of the
 * largest exponent; the multiples are added exactly, and their sum is cut to
 * f32, or rounded to f16. A block has up to 16 products; of wmma on tf32, 4.
 * e4m3 and e5m2 are two blocks, of k mod 4
 * less than 2 and of the others; their sum starts at zero, is rounded to f16
 * after each where that is D's type, and C is added to it at the end.
 *
 * Here: powers of two stand beside the numbers, one loop finds the largest,
 * and another multiplies by what makes the unit 1 and truncates. Infinities
 * and NaN take a loop of their own, where there are any.
 */
#include "cpu/jit/lower_impl.h"
#include "cpu/jit/mma_impl.h"

enum {
    FRACTION = 25,
    ONCE = 8, /* products that 32 bits can add */
    PIECES = 4
};

int mma_is_aligned(const struct mma *m)
{
    return m->d == PTX_F32 || m->d == PTX_F16;
}

static int is_byte(const struct mma *m)
{
    return m->a == PTX_E4M3 || m->a == PTX_E5M2;
}

int mma_takes_turns(const struct mma *m)
{
    return m->sparse && is_byte(m);
}

static int is_wide(const struct product *p)
{
    return p->part_bytes == 8;
}

static LLVMValueRef biggest(struct emit *e, LLVMValueRef a, LLVMValueRef b)
{
    return select_(&e->l, f_cmp(&e->l, LLVMRealOGT, a, b), a, b);
}

static uint64_t exponent_mask(const struct product *p)
{
    return is_wide(p) ? 0x7ff0000000000000 : 0x7f800000;
}

/* The power of two of v's exponent, `least` for what is smaller, 0 for 0. */
static LLVMValueRef power_of(struct emit *e, const struct product *p,
                             LLVMValueRef v, double least)
{
    struct lower *l = &e->l;
    LLVMValueRef bits = lower_as_int(l, v), x;

    bits = i_and(l, bits, k_int(bits, exponent_mask(p)));
    x = biggest(e, cast_(l, bits, LLVMTypeOf(v)), k_real(v, least));
    return select_(l, f_cmp(l, LLVMRealOEQ, v, k_real(v, 0)), k_real(v, 0), x);
}

/* Of what products are added to: a subnormal has its type's least exponent.
 * What is small beside 2^-133 is never kept (f16 and bytes have no such
 * products). */
static LLVMValueRef power_of_start(struct emit *e, const struct product *p,
                                   LLVMValueRef v)
{
    double least = p->m->c == PTX_F16 ? 0x1p-14 : 0x1p-126;
    LLVMValueRef x = power_of(e, p, v, least);

    return is_wide(p) ? biggest(e, x, k_real(x, 0x1p-133)) : x;
}

static LLVMValueRef is_bad(struct emit *e, const struct product *p,
                           LLVMValueRef v)
{
    LLVMValueRef bits = lower_as_int(&e->l, v);

    bits = i_and(&e->l, bits, k_int(bits, exponent_mask(p)));
    return i_cmp(&e->l, LLVMIntEQ, bits, k_int(bits, exponent_mask(p)));
}

void mma_note_row(struct emit *e, struct product *p, int is_a, LLVMValueRef v,
                  uint64_t at)
{
    LLVMValueRef *bad = is_a ? &p->bad_a : &p->bad_b, now = is_bad(e, p, v);
    double least = is_wide(p) ? 0x1p-126 : 0x1p-14;

    *bad = *bad ? i_or(&e->l, *bad, now) : now;
    matrix_store(e, v, is_a ? p->rows_a : p->rows_b, at, p->part_bytes);
    matrix_store(e, power_of(e, p, v, least), is_a ? p->powers_a : p->powers_b,
                 at, p->part_bytes);
}

/* --- columns of C and D, f32 in memory --- */

static uint64_t column_at(const struct product *p, unsigned n, unsigned first)
{
    return (uint64_t)(n * p->m->m + first) * 4;
}

static LLVMValueRef load_column(struct emit *e, const struct product *p,
                                LLVMValueRef columns, unsigned n,
                                unsigned first)
{
    return matrix_load(e, matrix_vec(p->acc, p->width), columns,
                       column_at(p, n, first), 4);
}

/* f32 as the type that products are made in; it may be that one. */
static LLVMValueRef widened(struct emit *e, const struct product *p,
                            LLVMValueRef v)
{
    return is_wide(p)
               ? LLVMBuildFPExt(e->l.b, v, lower_float_like(&e->l, v, 64), "")
               : v;
}

/* --- one block --- */

struct block {
    unsigned from, to, part, end;
};

/* Toward zero; whatever does not fit is some number. */
static LLVMValueRef whole(struct emit *e, const struct product *p,
                          LLVMValueRef v)
{
    static const char *const single[] = {"llvm.x86.sse2.cvttps2dq",
                                         "llvm.x86.avx.cvtt.ps2dq.256",
                                         "llvm.x86.avx512.mask.cvttps2dq.512"};
    static const char *const wide[] = {"llvm.x86.sse2.cvttpd2dq",
                                       "llvm.x86.avx.cvtt.pd2dq.256",
                                       "llvm.x86.avx512.mask.cvttpd2dq.512"};
    unsigned bytes = p->width * p->part_bytes;
    unsigned at = bytes == 64 ? 2 : bytes == 32 ? 1 : 0;
    LLVMValueRef args[] = {
        v, LLVMConstNull(matrix_vec(e->i32, p->width)),
        LLVMConstAllOnes(LLVMIntTypeInContext(e->l.ctx, p->width)),
        emit_const(e, 32, 4)};
    static const unsigned low[] = {0, 1};

    v = lower_intrinsic(&e->l, (is_wide(p) ? wide : single)[at], NULL, 0, args,
                        at == 2 ? 4 : 1);
    return at == 0 && is_wide(p) ? matrix_shuffle(e, v, NULL, low, 2) : v;
}

static LLVMValueRef find_largest(struct emit *e, const struct product *p,
                                 void *data, unsigned n, LLVMValueRef a,
                                 LLVMValueRef b, LLVMValueRef most)
{
    (void)p;
    (void)data;
    (void)n;
    return biggest(e, f_mul(&e->l, a, b), most);
}

/* data: 2^25 over the largest power, by column. */
static LLVMValueRef add_multiple(struct emit *e, const struct product *p,
                                 void *data, unsigned n, LLVMValueRef a,
                                 LLVMValueRef b, LLVMValueRef sum)
{
    LLVMValueRef x = f_mul(&e->l, a, b);

    x = f_mul(&e->l, x, ((LLVMValueRef *)data)[n]);
    return i_add(&e->l, sum, whole(e, p, x));
}

/* 2^25 / power, or the largest power of two. */
static LLVMValueRef scale_of(struct emit *e, const struct product *p,
                             LLVMValueRef power)
{
    unsigned up = is_wide(p) ? 52 : 23, bias = is_wide(p) ? 1023 : 127;
    LLVMValueRef bits = lower_as_int(&e->l, power);

    bits =
        i_sub(&e->l, k_int(bits, (uint64_t)(2 * bias + FRACTION) << up), bits);
    bits = i_umin(&e->l, bits, k_int(bits, (uint64_t)(2 * bias) << up));
    return cast_(&e->l, bits, LLVMTypeOf(power));
}

/* A whole number of 33 bits times a power of two that is no f32 subnormal, as
 * f32, cut: what f32 has no place for is taken away first. */
static LLVMValueRef cut_small(struct emit *e, LLVMValueRef x,
                              LLVMTypeRef single)
{
    LLVMValueRef bits = lower_as_int(&e->l, x);

    bits = i_and(&e->l, bits, k_int(bits, ~(uint64_t)0x1fffffff));
    return LLVMBuildFPTrunc(e->l.b, cast_(&e->l, bits, LLVMTypeOf(x)), single,
                            "");
}

/* f64 to f32, cut; beyond f32's range it is infinite, and zero has no sign. */
static LLVMValueRef cut(struct emit *e, LLVMValueRef x)
{
    struct lower *l = &e->l;
    LLVMValueRef r = lower_double_to_float(l, x, PTX_ROUND_RZ), far, zero;

    far = f_cmp(l, LLVMRealOGE, f_abs(l, x), k_real(x, 0x1p128));
    r = select_(l, far, LLVMBuildFPTrunc(l->b, x, LLVMTypeOf(r), ""), r);
    zero = f_cmp(l, LLVMRealOEQ, r, k_real(r, 0));
    return select_(l, zero, k_real(r, 0), r);
}

static LLVMValueRef is_infinite(struct emit *e, LLVMValueRef v)
{
    return f_cmp(&e->l, LLVMRealOEQ, f_abs(&e->l, v),
                 k_real(v, __builtin_inf()));
}

/* The multiples of a unit as f32. */
static LLVMValueRef from_multiples(struct emit *e, const struct product *p,
                                   const LLVMValueRef *sum, unsigned count,
                                   LLVMValueRef power, LLVMValueRef before)
{
    struct lower *l = &e->l;
    LLVMTypeRef f64 = lower_float_like(l, power, 64);
    LLVMValueRef x = LLVMBuildSIToFP(l->b, sum[0], f64, ""), unit, r;

    for (unsigned i = 1; i < count; i++)
        x = f_add(l, x, LLVMBuildSIToFP(l->b, sum[i], f64, ""));
    /* of f32 too small for this nothing is taken below */
    unit = f_mul(l, power, k_real(power, 0x1p-25));
    if (!is_wide(p))
        unit = LLVMBuildFPExt(l->b, unit, f64, "");
    x = f_mul(l, x, unit);
    if (p->m->d == PTX_F16) { /* rounded once more: nothing may be lost */
        r = lower_double_to_odd_float(l, x);
        return select_(l, is_infinite(e, before), before, r);
    }
    if (is_wide(p))
        return select_(l, is_infinite(e, before), before, cut(e, x));
    r = cut_small(e, x, LLVMTypeOf(before));
    /* So small a number has nothing beside it. */
    return select_(l, f_cmp(l, LLVMRealOLT, power, k_real(power, 0x1p-100)),
                   select_(l, f_cmp(l, LLVMRealOEQ, before, k_real(r, 0)),
                           k_real(r, 0), before),
                   r);
}

/* Products of some parts of some registers added to s, rows first and on. */
static void add_block(struct emit *e, const struct product *p,
                      const struct block *b, unsigned first, LLVMValueRef *s)
{
    LLVMValueRef power[COLUMNS], scale[COLUMNS], sum[COLUMNS][PIECES];
    LLVMValueRef now[COLUMNS];
    unsigned steps = b->to - b->from;
    unsigned products = steps * (b->end - b->part);
    unsigned pieces = products > ONCE ? products / ONCE : 1;
    struct mma_loop loop = {.first = first,
                            .from = b->from,
                            .to = b->to,
                            .part = b->part,
                            .end = b->end,
                            .rows_a = p->powers_a,
                            .rows_b = p->powers_b,
                            .sum = power,
                            .add = find_largest};

    for (unsigned n = 0; n < COLUMNS; n++)
        power[n] = power_of_start(e, p, widened(e, p, s[n]));
    mma_run_loop(e, p, &loop);
    loop.rows_a = p->rows_a;
    loop.rows_b = p->rows_b;
    loop.sum = now;
    loop.add = add_multiple;
    loop.data = scale;
    for (unsigned n = 0; n < COLUMNS; n++) {
        scale[n] = scale_of(e, p, power[n]);
        now[n] = whole(e, p, f_mul(&e->l, widened(e, p, s[n]), scale[n]));
    }
    for (unsigned h = 0; h < pieces; h++) {
        loop.from = b->from + h * steps / pieces;
        loop.to = b->from + (h + 1) * steps / pieces;
        mma_run_loop(e, p, &loop);
        for (unsigned n = 0; n < COLUMNS; n++) {
            sum[n][h] = now[n];
            now[n] = LLVMConstNull(LLVMTypeOf(now[n]));
        }
    }
    for (unsigned n = 0; n < COLUMNS; n++)
        s[n] = from_multiples(e, p, sum[n], pieces, power[n], s[n]);
}

/* --- all blocks --- */

static LLVMValueRef through_half(struct emit *e, const struct product *p,
                                 LLVMValueRef x)
{
    if (p->m->d != PTX_F16)
        return x;
    return lower_widen_half(&e->l, lower_float_to_half(&e->l, x, PTX_ROUND_RN));
}

/* To nearest; where D is f16 it is rounded only then. */
static LLVMValueRef last_sum(struct emit *e, const struct product *p,
                             LLVMValueRef c, LLVMValueRef s)
{
    LLVMTypeRef f64 = lower_float_like(&e->l, c, 64);

    if (p->m->d != PTX_F16)
        return f_add(&e->l, c, s);
    c = LLVMBuildFPExt(e->l.b, c, f64, "");
    s = LLVMBuildFPExt(e->l.b, s, f64, "");
    return lower_double_to_odd_float(&e->l, f_add(&e->l, c, s));
}

static void add_rows(struct emit *e, const struct product *p, unsigned first,
                     LLVMValueRef to)
{
    LLVMValueRef c[COLUMNS], s[COLUMNS];

    for (unsigned n = 0; n < COLUMNS; n++) {
        c[n] = load_column(e, p, p->columns, n, first);
        s[n] = is_byte(p->m) ? LLVMConstNull(LLVMTypeOf(c[n])) : c[n];
    }
    if (is_byte(p->m)) {
        for (unsigned part = 0; part < 4; part += 2) {
            const unsigned half = part / 2 * p->steps / 2;
            struct block b = {0, p->steps, part, part + 2};

            if (mma_takes_turns(p->m))
                b = (struct block){half, half + p->steps / 2, 0, 4};

            add_block(e, p, &b, first, s);
            for (unsigned n = 0; n < COLUMNS; n++)
                s[n] = through_half(e, p, s[n]);
        }
        for (unsigned n = 0; n < COLUMNS; n++)
            s[n] = last_sum(e, p, c[n], s[n]);
    } else {
        unsigned steps = p->m->small_blocks ? 4 : p->steps;

        for (unsigned from = 0; from < p->steps; from += steps) {
            struct block b = {from, from + steps, 0, p->parts};

            add_block(e, p, &b, first, s);
        }
    }
    for (unsigned n = 0; n < COLUMNS; n++)
        matrix_store(e, s[n], to, column_at(p, n, first), 4);
}

/* --- infinities and NaN --- */

static LLVMValueRef any_of(struct emit *e, LLVMValueRef bits)
{
    LLVMTypeRef type =
        LLVMIntTypeInContext(e->l.ctx, LLVMGetVectorSize(LLVMTypeOf(bits)));

    bits = cast_(&e->l, bits, type);
    return i_cmp(&e->l, LLVMIntNE, bits, LLVMConstNull(type));
}

static LLVMValueRef bad_column(struct emit *e, const struct product *p,
                               unsigned n, unsigned first)
{
    LLVMValueRef c = load_column(e, p, p->columns, n, first);

    c = lower_as_int(&e->l, c);
    c = i_and(&e->l, c, k_int(c, 0x7f800000));
    return i_cmp(&e->l, LLVMIntEQ, c, k_int(c, 0x7f800000));
}

static LLVMValueRef has_bad(struct emit *e, const struct product *p)
{
    LLVMValueRef all = i_or(&e->l, any_of(e, p->bad_a), any_of(e, p->bad_b));

    for (unsigned n = 0; n < COLUMNS && !is_byte(p->m); n++)
        for (unsigned first = 0; first < p->m->m; first += p->width)
            all = i_or(&e->l, all, any_of(e, bad_column(e, p, n, first)));
    return all;
}

static LLVMValueRef multiply_add(struct emit *e, const struct product *p,
                                 void *data, unsigned n, LLVMValueRef a,
                                 LLVMValueRef b, LLVMValueRef sum)
{
    struct lower *l = &e->l;
    LLVMValueRef made = f_fma(l, a, b, sum), bits = lower_as_int(l, a), none;

    (void)data;
    (void)n;
    if (!p->m->sparse)
        return made;
    none = k_int(bits, is_wide(p) ? UINT64_C(1) << 63 : 0x80000000);
    return select_(l, i_cmp(l, LLVMIntEQ, bits, none), sum, made);
}

/* Where a row, a column or C has one, D is what IEEE arithmetic gives. */
static void put_bad_rows(struct emit *e, const struct product *p,
                         unsigned first, LLVMValueRef to)
{
    LLVMValueRef sum[COLUMNS], is_row;
    struct mma_loop loop = {.first = first,
                            .to = p->steps,
                            .end = p->parts,
                            .rows_a = p->rows_a,
                            .rows_b = p->rows_b,
                            .sum = sum,
                            .add = multiply_add};
    unsigned at[16];

    for (unsigned i = 0; i < p->width; i++)
        at[i] = first + i;
    is_row = matrix_shuffle(e, p->bad_a, NULL, at, p->width);
    for (unsigned n = 0; n < COLUMNS; n++)
        sum[n] = widened(e, p, load_column(e, p, p->columns, n, first));
    mma_run_loop(e, p, &loop);
    for (unsigned n = 0; n < COLUMNS; n++) {
        LLVMValueRef old = load_column(e, p, to, n, first), x = sum[n], bad;
        unsigned both = p->paired ? 2 : 1;

        for (unsigned i = 0; i < p->width; i++)
            at[i] = n * both;
        bad = matrix_shuffle(e, p->bad_b, NULL, at, p->width);
        for (unsigned i = 0; i < p->width; i++)
            at[i] = n * both + both - 1;
        bad = i_or(&e->l, bad, matrix_shuffle(e, p->bad_b, NULL, at, p->width));
        bad = i_or(&e->l, bad, is_row);
        if (!is_byte(p->m)) /* to them C is added at the end as it is */
            bad = i_or(&e->l, bad, bad_column(e, p, n, first));
        if (is_wide(p))
            x = LLVMBuildFPTrunc(e->l.b, x, LLVMTypeOf(old), "");
        matrix_store(e, select_(&e->l, bad, x, old), to, column_at(p, n, first),
                     4);
    }
}

void mma_sum(struct emit *e, struct product *p)
{
    LLVMValueRef to = matrix_room(e, (uint64_t)COLUMNS * p->m->m * 4);
    LLVMBasicBlockRef some = emit_new_bb(e, "bad"), go = emit_new_bb(e, "good");
    LLVMValueRef bad = has_bad(e, p);

    for (unsigned first = 0; first < p->m->m; first += p->width)
        add_rows(e, p, first, to);
    LLVMBuildCondBr(e->l.b, bad, some, go);
    LLVMPositionBuilderAtEnd(e->l.b, some);
    for (unsigned first = 0; first < p->m->m; first += p->width)
        put_bad_rows(e, p, first, to);
    LLVMBuildBr(e->l.b, go);
    LLVMPositionBuilderAtEnd(e->l.b, go);
    p->columns = to;
}
