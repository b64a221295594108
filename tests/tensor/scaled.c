/* SPDX-License-Identifier: MIT
 *
 * mma by .kind of sm_120: floats of 8, 6 and 4 bits in all pairs, and blocks of
 * k with scales, against sums in f64. For a device of compute capability 12.0.
 */
#include "../api/api.h"
#include "numbers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 16, COLUMNS = 8, LANES = 32, WORDS_IN = 12, WORDS_OUT = 4 };

static const struct element {
    const char *name;
    int exponent, mantissa, shift;
} elements[] = {{"e4m3", 4, 3, 0},
                {"e5m2", 5, 2, 0},
                {"e2m3", 2, 3, 0},
                {"e3m2", 3, 2, 0},
                {"e2m1", 2, 1, 2}};

struct test {
    const char *kind; /* and what goes with it */
    unsigned k, per, scales;
    int small_scale;
    const char *scale_type;
};
static const struct test tests[] = {
    {"m16n8k32.row.col.kind::f8f6f4", 32, 4, 0, 0, ""},
    {"m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X", 32, 4, 1, 0,
     ".ue8m0"},
    {"m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X", 64, 8, 2, 0,
     ".ue8m0"},
    {"m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X", 64, 8, 2, 0,
     ".ue8m0"},
    {"m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X", 64, 8, 4, 1,
     ".ue4m3"},
};

static CUdeviceptr in_at, out_at;
static uint32_t in[WORDS_IN][LANES]; /* a, b, c, scales of a and of b */
static uint32_t out[WORDS_OUT][LANES];
static unsigned byte_a, thread_a, byte_b, thread_b;
static double size; /* of all summands of the last sum */

/* --- the reference --- */

static double value(const struct element *x, unsigned code)
{
    const unsigned e = code >> x->mantissa & ((1u << x->exponent) - 1);
    const unsigned m = code & ((1u << x->mantissa) - 1);
    const int bias = x->exponent == 2 ? 1 : (1 << (x->exponent - 1)) - 1;
    double v = ldexp(e ? m + (1u << x->mantissa) : m,
                     (e ? (int)e : 1) - bias - x->mantissa);

    if (x->exponent == 5 && e == 31)
        v = m ? NAN : INFINITY;
    if (x->exponent == 4 && e == 15 && m == 7)
        v = NAN;
    return code >> (x->exponent + x->mantissa) & 1 ? -v : v;
}

static double element(const struct test *t, const struct element *x,
                      unsigned reg, unsigned line, unsigned k, unsigned each)
{
    const unsigned i = k / (4 * t->per) * each, c = k / t->per % 4;
    const uint32_t word = in[reg + i + line / 8][4 * (line % 8) + c];
    const unsigned at =
        t->per == 8 ? k % 8 * 4 : k % 4 * 8 + (unsigned)x->shift;

    return value(x, word >> at);
}

static double scale(const struct test *t, uint32_t word, unsigned byte,
                    unsigned k)
{
    const unsigned code = word >> (8 * (byte + k * t->scales / t->k)) & 255;

    if (t->small_scale)
        return value(&elements[0], code & 127);
    return code == 255 ? NAN : ldexp(1, (int)code - 127);
}

static float expected(const struct test *t, const struct element *a,
                      const struct element *b, unsigned row, unsigned col)
{
    double sum;
    float c;

    memcpy(&c, &in[6 + row / 8 * 2 + col % 2][row % 8 * 4 + col / 2], 4);
    sum = (double)c;
    size = fabs(sum);
    for (unsigned k = 0; k < t->k; k++) {
        double x = element(t, a, 0, row, k, 2), y = element(t, b, 4, col, k, 1);

        if (t->scales) {
            x *= scale(t, in[10][row % 8 * 4 + 2 * thread_a + row / 8], byte_a,
                       k);
            y *= scale(t, in[11][col * 4 + thread_b], byte_b, k);
        }
        sum += x * y;
        size += fabs(x * y);
    }
    return (float)sum;
}

/* --- kernels --- */

static const char text[] =
    ".version 8.7\n.target sm_120a\n.address_size 64\n"
    ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
    ".reg .b32 %%r<16>, %%t;\n.reg .b64 %%x<4>;\n"
    "ld.param.u64 %%x0, [in];\nld.param.u64 %%x1, [out];\n"
    "mov.u32 %%t, %%tid.x;\nmul.wide.u32 %%x2, %%t, 4;\n"
    "add.u64 %%x0, %%x0, %%x2;\nadd.u64 %%x1, %%x1, %%x2;\n%s"
    "mma.sync.aligned.%s.f32.%s.%s.f32%s {%%r6, %%r7, %%r8, %%r9}, "
    "{%%r0, %%r1, %%r2, %%r3}, {%%r4, %%r5}, {%%r6, %%r7, %%r8, %%r9}%s;\n"
    "%sret;\n}\n";

static CUmodule load(const struct test *t, const char *a, const char *b)
{
    static char whole[8192], loads[1024], stores[1024], scales[128], log[2048];
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    CUmodule module = NULL;
    size_t at = 0;

    log[0] = scales[0] = 0;
    for (unsigned i = 0; i < WORDS_IN; i++)
        at = put(loads, at, sizeof loads, "ld.global.u32 %%r%u, [%%x0+%u];\n",
                 i, i * LANES * 4);
    at = 0;
    for (unsigned i = 0; i < WORDS_OUT; i++)
        at = put(stores, at, sizeof stores, "st.global.u32 [%%x1+%u], %%r%u;\n",
                 i * LANES * 4, 6 + i);
    if (t->scales)
        put(scales, 0, sizeof scales, ", %%r10, {%u, %u}, %%r11, {%u, %u}",
            byte_a, thread_a, byte_b, thread_b);
    put(whole, 0, sizeof whole, text, loads, t->kind, a, b, t->scale_type,
        scales, stores);
    CHECK_SAYS(!cuModuleLoadDataEx(&module, whole, 2, options, values),
               "%s of %s and %s: loads %s", t->kind, a, b, log);
    return module;
}

static int launch(CUmodule module)
{
    void *args[] = {&in_at, &out_at};
    CUfunction f;

    return cuModuleGetFunction(&f, module, "k") ||
           cuMemcpyHtoD_v2(in_at, in, sizeof in) ||
           cuLaunchKernel(f, 1, 1, 1, LANES, 1, 1, 0, NULL, args, NULL) ||
           cuMemcpyDtoH_v2(out, out_at, sizeof out);
}

/* Scales of like size in some rounds, any at all in others. */
static void fill(const struct test *t, unsigned round)
{
    for (unsigned i = 0; i < WORDS_IN; i++)
        for (unsigned l = 0; l < LANES; l++)
            in[i][l] = (uint32_t)random_bits();
    for (unsigned i = 6; i < 10; i++)
        for (unsigned l = 0; l < LANES; l++)
            in[i][l] = (uint32_t)from_real(F32, (double)(in[i][l] % 999));
    for (unsigned i = 10; i < 12 && round % 2; i++)
        for (unsigned l = 0; l < LANES; l++)
            in[i][l] = t->small_scale ? in[i][l] & 0x37373737
                                      : 0x7f7f7f7f ^ (in[i][l] & 0x03030303);
}

/* Of two types of 8 bits without scales the sums are an H200's (docs/
 * matrices.md); the others are exact but for their last rounding. */
static int is_close(const struct test *t, const struct element *a,
                    const struct element *b, float found, float wanted)
{
    const int bytes = a->mantissa + a->exponent == 7 &&
                      b->mantissa + b->exponent == 7 && !t->scales;

    if (isnan(found) || isnan(wanted))
        return isnan(found) && isnan(wanted);
    return found == wanted ||
           (bytes && fabs((double)found - (double)wanted) <= size * 0x1p-22);
}

static void compare(const struct test *t, const struct element *a,
                    const struct element *b)
{
    unsigned bad = 0;

    for (unsigned row = 0; row < ROWS; row++)
        for (unsigned col = 0; col < COLUMNS; col++) {
            const float wanted = expected(t, a, b, row, col);
            float found;

            memcpy(&found, &out[row / 8 * 2 + col % 2][row % 8 * 4 + col / 2],
                   4);
            if (!is_close(t, a, b, found, wanted) && bad++ < 2)
                printf("     row %u, column %u is %a, not %a\n", row, col,
                       (double)found, (double)wanted);
        }
    CHECK_SAYS(!bad, "%s of %s and %s", t->kind, a->name, b->name);
}

static void try_types(const struct test *t, const struct element *a,
                      const struct element *b, unsigned round)
{
    const unsigned step = t->scales ? t->scales : 1;
    CUmodule module;

    byte_a = (unsigned)random_bits() % 4 / step * step;
    byte_b = (unsigned)random_bits() % 4 / step * step;
    thread_a = (unsigned)random_bits() % 2;
    thread_b = (unsigned)random_bits() % 4;
    module = load(t, a->name, b->name);
    fill(t, round);
    if (!module)
        return;
    if (CHECK_SAYS(!launch(module), "%s of %s and %s: runs", t->kind, a->name,
                   b->name))
        compare(t, a, b);
    cuModuleUnload(module);
}

int main(void)
{
    int major = 0;

    test_start();
    test_need_compiler();
    OK(cuDeviceGetAttribute(&major,
                            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
    if (major != 12)
        return 77;
    OK(cuMemAlloc_v2(&in_at, sizeof in));
    OK(cuMemAlloc_v2(&out_at, sizeof out));
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        for (size_t a = tests[i].per == 8 ? 4 : 0; a < 5; a++)
            for (unsigned round = 0; round < 2; round++)
                try_types(
                    &tests[i], &elements[a],
                    &elements[tests[i].per == 8 ? a : (a + 3 * round) % 5],
                    round);
    return test_end();
}
