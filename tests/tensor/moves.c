/* SPDX-License-Identifier: MIT
 *
 * ldmatrix, stmatrix, movmatrix, and mma.m8n8k4 of f16, which has layouts of
 * its own.
 */
#include "../api/api.h"
#include "floats.h"
#include "numbers.h"
#include "words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Lane l names row (l * 5 + 3) mod 32, of 16 bytes, of the first 512. */
#define ROW_ADDRESS                                                            \
    "mul.lo.u32 %r4, %lane, 5;\nadd.u32 %r4, %r4, 3;\n"                        \
    "and.b32 %r4, %r4, 31;\nshl.b32 %r4, %r4, 4;\n"                            \
    "mov.u32 %r5, room;\nadd.u32 %r4, %r4, %r5;\n"
#define OUT_ADDRESS                                                            \
    "mul.wide.u32 %x0, %t, 4;\nadd.u64 %x1, %out, %x0;\n"                      \
    "add.u64 %x2, %in, %x0;\n"
#define PUT(reg, at) "st.global.u32 [%x1+" at "], " reg ";\n"

static unsigned row_of(unsigned lane)
{
    return (lane * 5 + 3) % 32;
}

static uint32_t half_at(const uint32_t *words, unsigned row, unsigned col)
{
    return words[row * 4 + col / 2] >> (col % 2 * 16) & 0xffff;
}

static uint32_t loaded(uint32_t at)
{
    const unsigned matrix = at / 32, lane = at % 32;
    const unsigned row = row_of(matrix * 8 + lane / 4);

    return in_words[row * 4 + lane % 4];
}

static uint32_t loaded_across(uint32_t at)
{
    const unsigned matrix = at / 32, lane = at % 32;
    uint32_t v = 0;

    for (unsigned e = 0; e < 2; e++)
        v |= half_at(in_words, row_of(matrix * 8 + lane % 4 * 2 + e), lane / 4)
             << e * 16;
    return v;
}

/* Shared words after stores of in[reg * 32 + lane]. */
static uint32_t stored_by(uint32_t at, unsigned matrices, int across)
{
    const unsigned row = at / 4;
    uint32_t v = 0;

    for (unsigned lane = 0; lane < matrices * 8; lane++) {
        const uint32_t *reg = in_words + lane / 8 * 32;
        const unsigned r = lane % 8;

        if (row_of(lane) != row)
            continue;
        if (!across)
            return reg[r * 4 + at % 4];
        for (unsigned e = 0; e < 2; e++)
            v |= half_at(reg, at % 4 * 2 + e, r) << e * 16;
        return v;
    }
    return in_words[at];
}

static uint32_t stored_4(uint32_t at)
{
    return stored_by(at, 4, 0);
}

static uint32_t stored_2_across(uint32_t at)
{
    return stored_by(at, 2, 1);
}

static uint32_t stored_1(uint32_t at)
{
    return stored_by(at, 1, 0);
}

static uint32_t moved(uint32_t at)
{
    return half_at(in_words, at % 4 * 2, at / 4) |
           half_at(in_words, at % 4 * 2 + 1, at / 4) << 16;
}

#define LOAD_FOUR                                                              \
    "ld.global.u32 %r10, [%x2];\nld.global.u32 %r11, [%x2+128];\n"             \
    "ld.global.u32 %r12, [%x2+256];\nld.global.u32 %r13, [%x2+384];\n"
/* The first 512 bytes of shared memory to out. */
#define DUMP                                                                     \
    "bar.warp.sync 0xffffffff;\nshl.b32 %r20, %lane, 2;\n"                       \
    "add.u32 %r20, %r20, %r5;\n"                                                 \
    "ld.shared.u32 %r21, [%r20];\n" PUT(                                         \
        "%r21",                                                                  \
        "0") "ld.shared.u32 %r21, [%r20+128];\n" PUT("%r21",                     \
                                                     "128") "ld.shared.u32 "     \
                                                            "%r21, "             \
                                                            "[%r20+256];"        \
                                                            "\n" PUT(            \
                                                                "%r21",          \
                                                                "256") "ld."     \
                                                                       "share"   \
                                                                       "d."      \
                                                                       "u32 "    \
                                                                       "%r21,"   \
                                                                       " [%"     \
                                                                       "r20+"    \
                                                                       "384];"   \
                                                                       "\n" PUT( \
                                                                           "%"   \
                                                                           "r"   \
                                                                           "2"   \
                                                                           "1",  \
                                                                           "3"   \
                                                                           "8"   \
                                                                           "4")

static void run_moves(void)
{
    words_run("ldmatrix.x1", 75, 32,
              ROW_ADDRESS OUT_ADDRESS
              "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r6}, [%r4];\n" PUT(
                  "%r6", "0"),
              32, loaded);
    words_run("ldmatrix.x2.trans", 75, 32,
              ROW_ADDRESS OUT_ADDRESS
              "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r6, %r7}, "
              "[%r4];\n" PUT("%r6", "0") PUT("%r7", "128"),
              64, loaded_across);
    words_run("ldmatrix.x4 by a generic address", 75, 32,
              ROW_ADDRESS OUT_ADDRESS
              "cvt.u64.u32 %x5, %r4;\ncvta.shared.u64 %x5, %x5;\n"
              "ldmatrix.sync.aligned.x4.m8n8.b16 {%r6, %r7, %r8, %r9}, "
              "[%x5];\n" PUT("%r6", "0") PUT("%r7", "128") PUT("%r8", "256")
                  PUT("%r9", "384"),
              128, loaded);
    words_run("ldmatrix.x4.trans", 75, 32,
              ROW_ADDRESS OUT_ADDRESS
              "ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 "
              "{%r6, %r7, %r8, %r9}, [%r4];\n" PUT("%r6", "0") PUT("%r7", "128")
                  PUT("%r8", "256") PUT("%r9", "384"),
              128, loaded_across);
    words_run("stmatrix.x4", 90, 32,
              ROW_ADDRESS OUT_ADDRESS LOAD_FOUR
              "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r4], "
              "{%r10, %r11, %r12, %r13};\n" DUMP,
              128, stored_4);
    words_run("stmatrix.x2.trans", 90, 32,
              ROW_ADDRESS OUT_ADDRESS LOAD_FOUR
              "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%r4], "
              "{%r10, %r11};\n" DUMP,
              128, stored_2_across);
    words_run("stmatrix.x1", 90, 32,
              ROW_ADDRESS OUT_ADDRESS LOAD_FOUR
              "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r4], {%r10};\n" DUMP,
              128, stored_1);
    words_run(
        "movmatrix.trans", 75, 32,
        OUT_ADDRESS LOAD_FOUR
        "movmatrix.sync.aligned.m8n8.trans.b16 %r6, %r10;\n" PUT("%r6", "0"),
        32, moved);
}

/* --- m8n8k4 of f16: four multiplications, by lanes 4p .. and 16 + 4p .. --- */

static struct {
    int a_col, b_row, c_wide, d_wide;
} quad;

/* A's registers are in[0 .. 63], B's in[64 .. 127], C's from in[128]. Small
 * numbers, so that every sum is exact in any order. */
static uint32_t small_half(unsigned i)
{
    return half_encode((double)(int)(i * 7 % 9) - 4);
}

static double value(unsigned base, unsigned lane, unsigned i)
{
    const uint32_t word = in_words[base + i / 2 * 32 + lane];

    return half_decode(word >> (i % 2 * 16) & 0xffff);
}

static double quad_a(unsigned pair, unsigned row, unsigned k)
{
    const unsigned lane = 4 * pair + (row < 4 ? 0 : 16);

    return quad.a_col ? value(0, lane + k, row % 4)
                      : value(0, lane + row % 4, k);
}

static double quad_b(unsigned pair, unsigned k, unsigned col)
{
    const unsigned lane = 4 * pair + (col < 4 ? 0 : 16);

    return quad.b_row ? value(64, lane + k, col % 4)
                      : value(64, lane + col % 4, k);
}

/* Row and column of element i of a lane's C or D. */
static void place(int wide, unsigned lane, unsigned i, unsigned *row,
                  unsigned *col)
{
    *row = (wide ? (lane & 1) + (i & 2) : lane % 4) + (lane < 16 ? 0 : 4);
    *col = wide ? (i & 4) + (lane & 2) + (i & 1) : i;
}

static double quad_d(unsigned lane, unsigned i)
{
    const unsigned pair = lane % 16 / 4;
    unsigned row, col, r, c;
    double sum = 0;

    place(quad.d_wide, lane, i, &row, &col);
    for (unsigned k = 0; k < 4; k++)
        sum += quad_a(pair, row, k) * quad_b(pair, k, col);
    for (unsigned l = 0; l < 32; l++)
        for (unsigned j = 0; j < 8; j++) {
            place(quad.c_wide, l, j, &r, &c);
            if (l % 16 / 4 == pair && r == row && c == col)
                return sum + (quad.c_wide
                                  ? single_decode(in_words[128 + j * 32 + l])
                                  : value(128, l, j));
        }
    return NAN;
}

static uint32_t quad_word(uint32_t at)
{
    const unsigned lane = at % 32, reg = at / 32;

    if (quad.d_wide)
        return (uint32_t)from_real(F32, quad_d(lane, reg));
    return half_encode(quad_d(lane, 2 * reg)) |
           half_encode(quad_d(lane, 2 * reg + 1)) << 16;
}

static size_t list(char *t, size_t at, size_t size, char letter, unsigned first,
                   unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        at = put(t, at, size, "%s%%%c%u", i ? ", " : "{", letter, first + i);
    return put(t, at, size, "}");
}

static void run_quad(int a_col, int b_row, int c_wide, int d_wide)
{
    static char t[4096];
    const unsigned nc = c_wide ? 8 : 4, nd = d_wide ? 8 : 4;
    const size_t size = sizeof t;
    char name[80];
    size_t at;

    quad.a_col = a_col;
    quad.b_row = b_row;
    quad.c_wide = c_wide;
    quad.d_wide = d_wide;
    snprintf(name, sizeof name, "mma.sync.aligned.m8n8k4.%s.%s.%s.f16.f16.%s",
             a_col ? "col" : "row", b_row ? "row" : "col",
             d_wide ? "f32" : "f16", c_wide ? "f32" : "f16");
    for (unsigned i = 0; i < 8 * 64; i++)
        in_words[i] = i >= 128 && c_wide
                          ? single_encode((float)(i * 7 % 9) - 4)
                          : small_half(3 * i) | small_half(5 * i + 1) << 16;
    words_fill();
    at = put(t, 0, size, "%s", OUT_ADDRESS);
    for (unsigned i = 0; i < 4; i++)
        at = put(t, at, size, "ld.global.u32 %%r%u, [%%x2+%u];\n", 10 + i,
                 i * 128);
    for (unsigned i = 0; i < nc; i++)
        at = put(t, at, size, "ld.global.%s%u, [%%x2+%u];\n",
                 c_wide ? "f32 %f" : "u32 %r", (c_wide ? 0 : 20) + i,
                 512 + i * 128);
    at = put(t, at, size, "%s ", name);
    at = list(t, at, size, d_wide ? 'f' : 'r', d_wide ? 8 : 40, nd);
    at = put(t, at, size, ", {%%r10, %%r11}, {%%r12, %%r13}, ");
    at = list(t, at, size, c_wide ? 'f' : 'r', c_wide ? 0 : 20, nc);
    at = put(t, at, size, ";\n");
    for (unsigned i = 0; i < nd; i++)
        at = put(t, at, size, "st.global.%s [%%x1+%u], %%%c%u;\n",
                 d_wide ? "f32" : "u32", i * 128, d_wide ? 'f' : 'r',
                 (d_wide ? 8 : 40) + i);
    words_run(name, 70, 32, t, nd * 32, quad_word);
}

int main(void)
{
    test_start();
    test_need_compiler();
    words_open();
    run_moves();
    for (int bits = 0; bits < 16; bits++)
        if ((bits & 12) != 4) /* D is f32 where C is */
            run_quad(bits & 1, bits >> 1 & 1, bits >> 2 & 1, bits >> 3 & 1);
    return test_end();
}
