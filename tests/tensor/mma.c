/* SPDX-License-Identifier: MIT
 *
 * mma.sync of every shape and type against sums over the matrices, which are
 * read from the lanes' registers by the layouts of PTX ISA 9.7.14.5.
 *
 *     tensor_mma                 all must agree to the bit
 *     tensor_mma --measure FILE  on a GPU of another kind: floats may differ,
 *                                which is counted; inputs and results go to
 *                                FILE, rows of "form round a... b... c... d..."
 *
 * f64: one fused multiply-add a step in rising order of k, from C on. Other
 * floats: sums.c.
 */
#include "../api/api.h"
#include "sums.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 32, REGS = 8, ROUNDS = 24 };

struct form {
    unsigned m, k, sm;
    enum type d, a, b, c;
    const char *more; /* modifiers behind the layouts, or behind the types */
};

static const struct form forms[] = {
    {16, 16, 80, F32, F16, F16, F32, ""},
    {16, 16, 80, F16, F16, F16, F16, ""},
    {16, 8, 75, F32, F16, F16, F32, ""},
    {16, 8, 75, F16, F16, F16, F16, ""},
    {16, 16, 80, F32, BF16, BF16, F32, ""},
    {16, 8, 80, F32, BF16, BF16, F32, ""},
    {16, 8, 80, F32, TF32, TF32, F32, ""},
    {16, 4, 80, F32, TF32, TF32, F32, ""},
    {8, 4, 80, F64, F64, F64, F64, ""},
    {16, 4, 90, F64, F64, F64, F64, ""},
    {16, 8, 90, F64, F64, F64, F64, ""},
    {16, 16, 90, F64, F64, F64, F64, ""},
    {8, 16, 75, S32, S8, S8, S32, ""},
    {8, 16, 75, S32, U8, S8, S32, ".satfinite"},
    {16, 16, 80, S32, S8, U8, S32, ""},
    {16, 16, 80, S32, U8, U8, S32, ".satfinite"},
    {16, 32, 80, S32, S8, S8, S32, ".satfinite"},
    {16, 32, 80, S32, U8, S8, S32, ""},
    {16, 32, 80, S32, U8, U8, S32, ""},
    {8, 32, 75, S32, S4, S4, S32, ""},
    {16, 32, 80, S32, U4, S4, S32, ".satfinite"},
    {16, 64, 80, S32, U4, U4, S32, ""},
    {16, 64, 80, S32, S4, S4, S32, ""},
    {8, 128, 75, S32, B1, B1, S32, ".xor.popc"},
    {16, 128, 80, S32, B1, B1, S32, ".xor.popc"},
    {16, 256, 80, S32, B1, B1, S32, ".and.popc"},
    {16, 256, 80, S32, B1, B1, S32, ".xor.popc"},
    {16, 32, 89, F32, E4M3, E5M2, F32, ""},
    {16, 32, 89, F32, E4M3, E4M3, F32, ""},
    {16, 32, 89, F16, E5M2, E5M2, F16, ""},
    {16, 16, 89, F32, E5M2, E4M3, F32, ""},
};

/* Registers of one operand: [register][lane]. */
typedef uint64_t fragment[REGS][LANES];

static int measures;
static FILE *rows;

/* --- what a lane holds --- */

static unsigned count_a(const struct form *f)
{
    return f->m * f->k / LANES / type_each(f->a);
}

static unsigned count_b(const struct form *f)
{
    return 8 * f->k / LANES / type_each(f->b);
}

static unsigned count_c(const struct form *f, enum type t)
{
    return f->m * 8 / LANES / type_each(t);
}

static uint64_t element(const fragment r, enum type t, unsigned lane,
                        unsigned i)
{
    const unsigned bits = type_bits(t), n = type_each(t);
    const uint64_t v = r[i / n][lane] >> (i % n * bits);

    return bits == 64 ? v : v & ((UINT64_C(1) << bits) - 1);
}

/* A: value i of a lane lies in row group (+ 8 for every second register) and
 * in the columns of its thread, 4 threads further for every two registers. */
static uint64_t get_a(const struct form *f, const fragment a, unsigned row,
                      unsigned k)
{
    const unsigned n = type_each(f->a);
    const unsigned lane = row % 8 * 4 + k / n % 4;
    const unsigned reg = k / (4 * n) * (f->m / 8) + row / 8;

    return element(a, f->a, lane, reg * n + k % n);
}

static uint64_t get_b(const struct form *f, const fragment b, unsigned k,
                      unsigned col)
{
    const unsigned n = type_each(f->b);

    return element(b, f->b, col * 4 + k / n % 4, k / (4 * n) * n + k % n);
}

/* C and D: rows group and group + 8, columns 2 * thread and the next. */
static unsigned lane_c(unsigned row, unsigned col)
{
    return row % 8 * 4 + col / 2;
}

static unsigned index_c(unsigned row, unsigned col)
{
    return row / 8 * 2 + col % 2;
}

static uint64_t sum_real(const struct form *f, const fragment a,
                         const fragment b, uint64_t c, unsigned row,
                         unsigned col)
{
    uint64_t x[64], y[64];
    double wide = real(f->c, c);

    for (unsigned k = 0; k < f->k; k++) {
        x[k] = get_a(f, a, row, k);
        y[k] = get_b(f, b, k, col);
        if (f->d == F64)
            wide = fma(real(F64, x[k]), real(F64, y[k]), wide);
    }
    if (f->d == F64)
        return from_real(F64, wide);
    return sum_floats(f->d, f->a, f->b, f->k, x, y, wide, 0);
}

static uint64_t sum_integer(const struct form *f, const fragment a,
                            const fragment b, uint64_t c, unsigned row,
                            unsigned col)
{
    int64_t sum = integer(S32, c);

    for (unsigned k = 0; k < f->k; k++) {
        const int64_t x = integer(f->a, get_a(f, a, row, k));
        const int64_t y = integer(f->b, get_b(f, b, k, col));

        if (f->a == B1)
            sum += strstr(f->more, "and") ? x & y : x ^ y;
        else
            sum += x * y;
    }
    if (!strcmp(f->more, ".satfinite"))
        sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    return (uint32_t)sum;
}

/* --- inputs --- */

static void fill(fragment r, enum type t, unsigned count, unsigned round)
{
    memset(r, 0, sizeof(fragment));
    for (unsigned j = 0; j < count; j++)
        for (unsigned lane = 0; lane < LANES; lane++)
            for (unsigned i = 0; i < type_each(t); i++) {
                const uint64_t v = random_element(t, round);
                const unsigned bits = type_bits(t);

                r[j][lane] |= (bits == 64 ? v : v & ((1ull << bits) - 1))
                              << i * bits;
            }
}

/* --- the kernel --- */

static size_t put_list(char *text, size_t at, size_t size, char name,
                       unsigned count)
{
    at = put(text, at, size, "{");
    for (unsigned j = 0; j < count; j++)
        at = put(text, at, size, "%s%%%c%u", j ? ", " : "", name, j);
    return put(text, at, size, "}");
}

static void mnemonic(const struct form *f, char *text, size_t size)
{
    const int behind = f->a == B1;

    snprintf(text, size, "mma.sync.aligned.m%un8k%u.row.col%s.%s.%s.%s.%s%s",
             f->m, f->k, behind ? "" : f->more, type_name(f->d),
             type_name(f->a), type_name(f->b), type_name(f->c),
             behind ? f->more : "");
}

/* in: [a, b, c][register][lane] of 8 bytes; out: [register][lane] of them. */
static void kernel(const struct form *f, char *t, size_t size)
{
    const struct {
        char name;
        enum type type;
        unsigned count;
    } in[] = {{'a', f->a, count_a(f)},
              {'b', f->b, count_b(f)},
              {'c', f->c, count_c(f, f->c)}};
    const char *d = register_type(f->d);
    char text[128];
    size_t at;

    at = put(t, 0, size,
             ".version 8.7\n.target sm_%u\n.address_size 64\n"
             ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
             ".reg .b32 %%lane;\n.reg .b64 %%in, %%out, %%x;\n"
             ".reg .%s %%a<8>;\n.reg .%s %%b<8>;\n.reg .%s %%c<8>;\n"
             ".reg .%s %%d<8>;\n"
             "ld.param.u64 %%in, [in];\nld.param.u64 %%out, [out];\n"
             "mov.u32 %%lane, %%laneid;\nmul.wide.u32 %%x, %%lane, 8;\n"
             "add.u64 %%in, %%in, %%x;\nadd.u64 %%out, %%out, %%x;\n",
             f->sm, register_type(f->a), register_type(f->b),
             register_type(f->c), d);
    for (unsigned o = 0; o < 3; o++)
        for (unsigned j = 0; j < in[o].count; j++)
            at = put(t, at, size, "ld.global.%s %%%c%u, [%%in + %u];\n",
                     register_type(in[o].type), in[o].name, j,
                     (o * REGS + j) * LANES * 8);
    mnemonic(f, text, sizeof text);
    at = put(t, at, size, "%s ", text);
    at = put_list(t, at, size, 'd', count_c(f, f->d));
    for (unsigned o = 0; o < 3; o++) {
        at = put(t, at, size, ", ");
        at = put_list(t, at, size, in[o].name, in[o].count);
    }
    at = put(t, at, size, ";\n");
    for (unsigned j = 0; j < count_c(f, f->d); j++)
        at = put(t, at, size, "st.global.%s [%%out + %u], %%d%u;\n", d,
                 j * LANES * 8, j);
    put(t, at, size, "ret;\n}\n");
}

/* --- one form --- */

struct tally {
    unsigned same, differ;
    double worst; /* relative to the largest summand */
};

static void print_row(const char *name, unsigned round, const fragment *in,
                      const struct form *f, const fragment d)
{
    const unsigned counts[] = {count_a(f), count_b(f), count_c(f, f->c)};

    fprintf(rows, "%s %u", name, round);
    for (unsigned o = 0; o < 3; o++)
        for (unsigned j = 0; j < counts[o]; j++)
            for (unsigned l = 0; l < LANES; l++)
                fprintf(rows, " %llx", (unsigned long long)in[o][j][l]);
    for (unsigned j = 0; j < count_c(f, f->d); j++)
        for (unsigned l = 0; l < LANES; l++)
            fprintf(rows, " %llx", (unsigned long long)d[j][l]);
    fprintf(rows, "\n");
}

static double largest(const struct form *f, const fragment *in, unsigned row,
                      unsigned col, uint64_t c)
{
    double most = fabs(real(f->c, c));

    for (unsigned k = 0; k < f->k; k++)
        most = fmax(most, fabs(real(f->a, get_a(f, in[0], row, k)) *
                               real(f->b, get_b(f, in[1], k, col))));
    return most;
}

static void compare(const struct form *f, const char *name, const fragment *in,
                    const fragment d, struct tally *t)
{
    const int exact = f->d == S32;

    for (unsigned row = 0; row < f->m; row++)
        for (unsigned col = 0; col < 8; col++) {
            const unsigned lane = lane_c(row, col), i = index_c(row, col);
            const uint64_t c = element(in[2], f->c, lane, i);
            const uint64_t found = element(d, f->d, lane, i);
            const uint64_t wanted =
                exact ? sum_integer(f, in[0], in[1], c, row, col)
                      : sum_real(f, in[0], in[1], c, row, col);
            const int both_nan =
                !exact && isnan(real(f->d, found)) && isnan(real(f->d, wanted));

            if (found == wanted || (both_nan && (measures || f->d == F64))) {
                t->same++;
                continue;
            }
            if (!exact)
                t->worst = fmax(t->worst,
                                fabs(real(f->d, found) - real(f->d, wanted)) /
                                    largest(f, in, row, col, c));
            if (!t->differ++ && (!measures || exact))
                printf("     %s: row %u column %u: %llx, not %llx\n", name, row,
                       col, (unsigned long long)found,
                       (unsigned long long)wanted);
        }
}

static void run(const struct form *f, CUdeviceptr in_at, CUdeviceptr out_at)
{
    static fragment in[3], d;
    static char text[16384];
    void *args[] = {&in_at, &out_at};
    struct tally t = {0};
    CUmodule module;
    CUfunction function;
    char name[128];

    mnemonic(f, name, sizeof name);
    kernel(f, text, sizeof text);
    if (cuModuleLoadData(&module, text)) {
        if (measures) {
            printf("     %s: does not load here\n", name);
            return;
        }
        CHECK_SAYS(0, "%s: loads", name);
        return;
    }
    OK(cuModuleGetFunction(&function, module, "k"));
    for (unsigned round = 0; round < ROUNDS; round++) {
        fill(in[0], f->a, count_a(f), round);
        fill(in[1], f->b, count_b(f), round);
        fill(in[2], f->c, count_c(f, f->c), round);
        if (cuMemcpyHtoD_v2(in_at, in, sizeof in) ||
            cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL) ||
            cuMemcpyDtoH_v2(d, out_at, sizeof d)) {
            CHECK_SAYS(0, "%s: runs", name);
            break;
        }
        compare(f, name, (const fragment *)in, (const uint64_t(*)[LANES])d, &t);
        if (rows && f->d != S32)
            print_row(name, round, (const fragment *)in, f,
                      (const uint64_t(*)[LANES])d);
    }
    if (measures && f->d != S32)
        printf("     %s: %u alike, %u not, by %.3g of the largest summand\n",
               name, t.same, t.differ, t.worst);
    else
        CHECK_SAYS(t.same && !t.differ, "%s: %u sums", name, t.same);
    cuModuleUnload(module);
}

int main(int argc, char **argv)
{
    CUdeviceptr in, out;

    measures = argc == 3 && !strcmp(argv[1], "--measure");
    if (measures && !(rows = fopen(argv[2], "w"))) {
        printf("cannot write %s\n", argv[2]);
        return 1;
    }
    test_start();
    test_need_compiler();
    OK(cuMemAlloc_v2(&in, 3 * sizeof(fragment)));
    OK(cuMemAlloc_v2(&out, sizeof(fragment)));
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        run(&forms[i], in, out);
    if (rows && fclose(rows))
        printf("cannot write %s\n", argv[2]);
    return test_end();
}
