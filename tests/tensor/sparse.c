/* SPDX-License-Identifier: MIT
 *
 * mma.sp: which of B's rows meet which of A's elements, by their indices. The
 * numbers are small and whole, so that sums are exact in any order; what A has
 * no element for is infinite in B, where the type has infinities.
 */
#include "../api/api.h"
#include "floats.h"
#include "numbers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 16, COLUMNS = 8, LANES = 32, WORDS_IN = 13, META = 12, OUT = 4 };

static const struct test {
    const char *shape;
    enum type a, b;
    unsigned k, regs; /* of a and of b */
    unsigned threads; /* of a quad that have indices */
} tests[] = {
    {"m16n8k16.row.col.f32.f16.f16.f32", F16, F16, 16, 2, 1},
    {"m16n8k32.row.col.f32.f16.f16.f32", F16, F16, 32, 4, 2},
    {"m16n8k16.row.col.f32.bf16.bf16.f32", BF16, BF16, 16, 2, 1},
    {"m16n8k32.row.col.f32.bf16.bf16.f32", BF16, BF16, 32, 4, 2},
    {"m16n8k8.row.col.f32.tf32.tf32.f32", TF32, TF32, 8, 2, 1},
    {"m16n8k16.row.col.f32.tf32.tf32.f32", TF32, TF32, 16, 4, 2},
    {"m16n8k64.row.col.f32.e4m3.e5m2.f32", E4M3, E5M2, 64, 4, 4},
    {"m16n8k64.row.col.f32.e5m2.e4m3.f32", E5M2, E4M3, 64, 4, 4},
    {"m16n8k32.row.col.s32.s8.u8.s32", S8, U8, 32, 2, 2},
    {"m16n8k64.row.col.s32.u8.s8.s32", U8, S8, 64, 4, 4},
    {"m16n8k64.row.col.s32.s4.u4.s32", S4, U4, 64, 2, 2},
    {"m16n8k128.row.col.s32.u4.s4.s32", U4, S4, 128, 4, 4},
};

static CUdeviceptr in_at, out_at;
static uint32_t in[WORDS_IN][LANES]; /* a, b, c, indices */
static uint32_t out[OUT][LANES];

static int is_whole(enum type t)
{
    return t == S8 || t == U8 || t == S4 || t == U4;
}

/* --- where things are --- */

/* Element i of line r of a fragment whose lines are 16 bytes a register. */
static uint32_t *word_of(unsigned first, unsigned each, unsigned r, unsigned i,
                         unsigned bits, unsigned *at)
{
    const unsigned bit = i * bits;

    *at = bit % 32;
    return &in[first + bit / 128 * each + r / 8][r % 8 * 4 + bit % 128 / 32];
}

static uint64_t get(unsigned first, unsigned each, unsigned r, unsigned i,
                    unsigned bits)
{
    unsigned at;
    const uint32_t *w = word_of(first, each, r, i, bits, &at);

    return *w >> at & (UINT64_MAX >> (64 - bits));
}

static void set(unsigned first, unsigned each, unsigned r, unsigned i,
                unsigned bits, uint64_t v)
{
    unsigned at;
    uint32_t *w = word_of(first, each, r, i, bits, &at);

    *w = (*w & ~(uint32_t)(UINT64_MAX >> (64 - bits) << at)) |
         (uint32_t)(v << at);
}

/* Where element i of A's row r, as it is in registers, belongs: rows r and
 * r + 8 share words of 16-bit types and larger, and of others the threads of a
 * quad take turns. */
static unsigned place(const struct test *t, unsigned r, unsigned i,
                      unsigned selector)
{
    const unsigned pair = type_bits(t->a) == 4, item = pair ? i / 2 : i;
    const unsigned each = t->a == TF32 ? 4 : 2, bit = item * each;
    const int bytes = type_bits(t->a) <= 8;
    const unsigned thread = bytes ? bit / 32 * 2 + r / 8 : bit / 16;
    const uint32_t word = in[META][r % 8 * 4 + selector * t->threads + thread];
    const unsigned index = word >> (bytes ? bit % 32 : bit % 16 + r / 8 * 16);

    if (t->a == TF32)
        return 2 * item + (index >> 1 & 1);
    return ((item / 2 * 4 + (index & 3)) << pair) + (pair ? i % 2 : 0);
}

/* --- numbers --- */

static double number(enum type t, uint64_t v)
{
    return is_whole(t) ? (double)integer(t, v) : real(t, v);
}

/* Small whole numbers, some of them -0. */
static uint64_t small(enum type t)
{
    const int v = (int)(random_bits() % 9) - 4;

    if (is_whole(t))
        return random_bits() & ((1u << type_bits(t)) - 1);
    for (uint64_t code = 0;; code++)
        if (t == TF32 || t == BF16) {
            const float x = (float)v;
            uint32_t bits;

            memcpy(&bits, &x, 4);
            return t == TF32 ? bits : bits >> 16;
        } else if (real(t, code) == (double)v) {
            return v || random_bits() % 2 ? code
                                          : code | 1u << (type_bits(t) - 1);
        }
}

static uint64_t infinity(enum type t)
{
    return t == F16    ? 0x7c00
           : t == BF16 ? 0x7f80
           : t == TF32 ? 0x7f800000
           : t == E5M2 ? 0x7c
                       : 0x7f; /* e4m3: NaN */
}

/* alike: all rows have the same indices, so that half of B meets nothing. */
static void fill(const struct test *t, unsigned selector, unsigned alike)
{
    static const uint32_t pairs[] = {4, 8, 12, 9, 13, 14};
    const unsigned bits = type_bits(t->a);
    unsigned used[128] = {0};

    for (unsigned l = 0; l < LANES; l++) {
        in[META][l] = 0;
        for (unsigned i = 0; i < 8; i++)
            in[META][l] |= (t->a == TF32 ? random_bits() % 2 ? 4u : 14u
                                         : pairs[random_bits() % 6])
                           << 4 * i;
    }
    for (unsigned l = 0; alike && l < LANES; l++) {
        const uint32_t word = in[META][type_bits(t->a) <= 8 ? l & 2 : l % 4];

        in[META][l] = type_bits(t->a) <= 8
                          ? word
                          : (word & 0xffff) << 16 | (word & 0xffff);
    }
    for (unsigned r = 0; r < ROWS; r++)
        for (unsigned i = 0; i < t->k / 2; i++) {
            set(0, 2, r, i, bits, small(t->a));
            used[place(t, r, i, selector)]++;
        }
    for (unsigned n = 0; n < COLUMNS; n++)
        for (unsigned k = 0; k < t->k; k++)
            set(4, 1, n, k, bits,
                used[k] || is_whole(t->b) ? small(t->b) : infinity(t->b));
    for (unsigned i = 8; i < 12; i++)
        for (unsigned l = 0; l < LANES; l++)
            in[i][l] =
                is_whole(t->a)
                    ? (uint32_t)random_bits() % 1000
                    : (uint32_t)from_real(F32, (double)(random_bits() % 1000));
}

/* --- kernels --- */

static const char text[] =
    ".version 8.5\n.target sm_%u\n.address_size 64\n"
    ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
    ".reg .b32 %%r<16>, %%t;\n.reg .b64 %%x<4>;\n"
    "ld.param.u64 %%x0, [in];\nld.param.u64 %%x1, [out];\n"
    "mov.u32 %%t, %%tid.x;\nmul.wide.u32 %%x2, %%t, 4;\n"
    "add.u64 %%x0, %%x0, %%x2;\nadd.u64 %%x1, %%x1, %%x2;\n%s"
    "mma.sp%s.sync.aligned.%s {%%r8, %%r9, %%r10, %%r11}, "
    "{%s}, {%s}, {%%r8, %%r9, %%r10, %%r11}, %%r12, %u;\n%sret;\n}\n";

static int run(const struct test *t, const char *order, unsigned selector)
{
    static char whole[8192], moves[2][2048];
    void *args[] = {&in_at, &out_at};
    CUmodule module;
    CUfunction f;
    size_t at = 0;
    int bad;

    for (unsigned i = 0; i < WORDS_IN; i++)
        at = put(moves[0], at, sizeof moves[0],
                 "ld.global.u32 %%r%u, [%%x0+%u];\n", i, i * LANES * 4);
    at = 0;
    for (unsigned i = 0; i < OUT; i++)
        at = put(moves[1], at, sizeof moves[1],
                 "st.global.u32 [%%x1+%u], %%r%u;\n", i * LANES * 4, 8 + i);
    put(whole, 0, sizeof whole, text, t->a >= E4M3 ? 89u : 80u, moves[0], order,
        t->shape, t->regs == 2 ? "%r0, %r1" : "%r0, %r1, %r2, %r3",
        t->regs == 2 ? "%r4, %r5" : "%r4, %r5, %r6, %r7", selector, moves[1]);
    if (!OK(cuModuleLoadData(&module, whole)))
        return -1;
    bad = cuModuleGetFunction(&f, module, "k") ||
          cuMemcpyHtoD_v2(in_at, in, sizeof in) ||
          cuLaunchKernel(f, 1, 1, 1, LANES, 1, 1, 0, NULL, args, NULL) ||
          cuMemcpyDtoH_v2(out, out_at, sizeof out);
    cuModuleUnload(module);
    return CHECK_SAYS(!bad, "mma.sp%s of %s: runs", order, t->shape) ? 0 : -1;
}

static double expected(const struct test *t, unsigned row, unsigned col,
                       unsigned selector)
{
    const uint32_t c = in[8 + row / 8 * 2 + col % 2][row % 8 * 4 + col / 2];
    const unsigned bits = type_bits(t->a);
    double sum = is_whole(t->a) ? (double)(int32_t)c : single_decode(c);

    for (unsigned i = 0; i < t->k / 2; i++)
        sum += number(t->a, get(0, 2, row, i, bits)) *
               number(t->b, get(4, 1, col, place(t, row, i, selector), bits));
    return sum;
}

static void compare(const struct test *t, const char *order, unsigned selector)
{
    unsigned bad = 0;

    for (unsigned row = 0; row < ROWS; row++)
        for (unsigned col = 0; col < COLUMNS; col++) {
            const uint32_t d =
                out[row / 8 * 2 + col % 2][row % 8 * 4 + col / 2];
            const double found =
                is_whole(t->a) ? (double)(int32_t)d : single_decode(d);
            const double wanted = expected(t, row, col, selector);

            if (found != wanted && bad++ < 2)
                printf("     row %u, column %u is %g, not %g\n", row, col,
                       found, wanted);
        }
    CHECK_SAYS(!bad, "mma.sp%s of %s, selector %u", order, t->shape, selector);
}

int main(void)
{
    static const char *const orders[] = {"", "::ordered_metadata"};

    test_start();
    test_need_compiler();
    OK(cuMemAlloc_v2(&in_at, sizeof in));
    OK(cuMemAlloc_v2(&out_at, sizeof out));
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        for (unsigned o = 0; o < 2; o++) { /* the last selector and the first */
            const unsigned s = o ? 0 : 4 / tests[i].threads - 1;

            fill(&tests[i], s, o);
            if (!run(&tests[i], orders[o], s))
                compare(&tests[i], orders[o], s);
        }
    return test_end();
}
