/* SPDX-License-Identifier: MIT
 *
 * wmma: matrices in memory in, a matrix in memory out. Every shape, type and
 * layout, from global memory and by way of shared memory, with rows longer
 * than the matrix. Sums are as those of mma.c; --measure only counts.
 */
#include "../api/api.h"
#include "sums.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 32 * 128, BYTES = MOST * 8, ROUNDS = 12, PAD = 16 };

struct form {
    unsigned m, n, k, sm;
    enum type d, a, b, c;
    const char *more;
};

static const struct form forms[] = {
    {16, 16, 16, 70, F32, F16, F16, F32, ""},
    {16, 16, 16, 70, F16, F16, F16, F16, ""},
    {16, 16, 16, 70, F32, F16, F16, F16, ""},
    {16, 16, 16, 70, F16, F16, F16, F32, ""},
    {32, 8, 16, 70, F32, F16, F16, F32, ""},
    {8, 32, 16, 70, F32, F16, F16, F32, ""},
    {32, 8, 16, 70, F16, F16, F16, F16, ""},
    {8, 32, 16, 70, F16, F16, F16, F16, ""},
    {16, 16, 16, 80, F32, BF16, BF16, F32, ""},
    {32, 8, 16, 80, F32, BF16, BF16, F32, ""},
    {8, 32, 16, 80, F32, BF16, BF16, F32, ""},
    {16, 16, 8, 80, F32, TF32, TF32, F32, ""},
    {8, 8, 4, 80, F64, F64, F64, F64, ""},
    {16, 16, 16, 72, S32, S8, S8, S32, ""},
    {16, 16, 16, 72, S32, U8, U8, S32, ".satfinite"},
    {32, 8, 16, 72, S32, U8, U8, S32, ""},
    {8, 32, 16, 72, S32, S8, S8, S32, ".satfinite"},
    {8, 8, 32, 75, S32, S4, S4, S32, ""},
    {8, 8, 32, 75, S32, U4, U4, S32, ".satfinite"},
    {8, 8, 128, 75, S32, B1, B1, S32, ".xor.popc"},
    {8, 8, 128, 80, S32, B1, B1, S32, ".and.popc"},
};

/* A matrix in memory. */
struct matrix {
    unsigned char bytes[BYTES];
    enum type type;
    unsigned rows, cols, pitch; /* elements between lines */
    int is_col;
};

static int measures;

static uint64_t get(const struct matrix *x, unsigned row, unsigned col)
{
    const unsigned bits = type_bits(x->type);
    const size_t at =
        x->is_col ? (size_t)col * x->pitch + row : (size_t)row * x->pitch + col;
    uint64_t v = 0;

    if (bits < 8)
        return x->bytes[at * bits / 8] >> (at * bits % 8) & ((1u << bits) - 1);
    memcpy(&v, x->bytes + at * bits / 8, bits / 8);
    return v;
}

static void fill(struct matrix *x, enum type t, unsigned rows, unsigned cols,
                 int is_col, unsigned round)
{
    const unsigned bits = type_bits(t);
    const unsigned pad = round % 2 ? PAD * 8 / (bits < 8 ? bits : 8) : 0;

    x->type = t;
    x->rows = rows;
    x->cols = cols;
    x->is_col = is_col;
    x->pitch = (is_col ? rows : cols) + pad;
    for (size_t i = 0; i * (bits < 8 ? 8 : bits) < BYTES * 8; i++) {
        const uint64_t v = random_element(t, round);
        const unsigned n = bits < 8 ? 1 : bits / 8;

        memcpy(x->bytes + i * n, &v, n);
    }
}

/* --- the reference --- */

static uint64_t sum(const struct form *f, const struct matrix *a,
                    const struct matrix *b, uint64_t c, unsigned row,
                    unsigned col)
{
    int64_t whole = f->d == S32 ? integer(S32, c) : 0;
    double wide = f->d == S32 ? 0 : real(f->c, c);
    uint64_t x[128], y[128];

    for (unsigned k = 0; k < f->k; k++) {
        x[k] = get(a, row, k);
        y[k] = get(b, k, col);
        if (f->a == B1)
            whole +=
                (int64_t)(strstr(f->more, "and") ? x[k] & y[k] : x[k] ^ y[k]);
        else if (f->d == S32)
            whole += integer(f->a, x[k]) * integer(f->b, y[k]);
        else if (f->d == F64)
            wide = fma(real(F64, x[k]), real(F64, y[k]), wide);
    }
    if (f->d == F64)
        return from_real(F64, wide);
    if (f->d != S32)
        return sum_floats(f->d, f->a, f->b, f->k, x, y, wide,
                          f->a == TF32 ? 4 : 0);
    if (!strcmp(f->more, ".satfinite"))
        whole = whole > INT32_MAX   ? INT32_MAX
                : whole < INT32_MIN ? INT32_MIN
                                    : whole;
    return (uint32_t)whole;
}

/* --- the kernel --- */

static const char *fragment_type(enum type t)
{
    return t == TF32 || t == F32 ? (t == F32 ? "f32" : "b32")
                                 : register_type(t);
}

static unsigned registers(const struct form *f, char which)
{
    const enum type t = which == 'a'   ? f->a
                        : which == 'b' ? f->b
                        : which == 'c' ? f->c
                                       : f->d;
    const unsigned n = which == 'a'   ? f->m * f->k
                       : which == 'b' ? f->k * f->n
                                      : f->m * f->n;

    return t == F16 && which < 'c' ? 8 : n / 32 / type_each(t);
}

static size_t list(char *t, size_t at, size_t size, const struct form *f,
                   char which)
{
    for (unsigned j = 0; j < registers(f, which); j++)
        at = put(t, at, size, "%s%%%c%u", j ? ", " : "{", which, j);
    return put(t, at, size, "}");
}

static const char *order(int is_col)
{
    return is_col ? "col" : "row";
}

/* k(a, b, c, d, strides of each): once from and to global memory; once with
 * A in shared memory, where the warp puts it. */
static void kernel(const struct form *f, int a_col, int b_col, int c_col,
                   int d_col, int shared, char *t, size_t size)
{
    const char *in[] = {order(a_col), order(b_col), order(c_col)};
    const enum type types[] = {f->a, f->b, f->c};
    char shape[32];
    size_t at;

    snprintf(shape, sizeof shape, "m%un%uk%u", f->m, f->n, f->k);
    at = put(t, 0, size,
             ".version 8.4\n.target sm_%u\n.address_size 64\n"
             ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c,\n"
             ".param .u64 d, .param .u32 sa, .param .u32 sb, .param .u32 sc,\n"
             ".param .u32 sd)\n{\n"
             ".shared .align 128 .b8 room[%u];\n"
             ".reg .pred %%p; .reg .b32 %%s<4>, %%i, %%o, %%v;\n"
             ".reg .b64 %%p<4>, %%q, %%w;\n",
             f->sm, BYTES);
    for (unsigned i = 0; i < 4; i++)
        at = put(t, at, size,
                 ".reg .%s %%%c<8>;\nld.param.u64 %%p%u, [%c];\n"
                 "ld.param.u32 %%s%u, [s%c];\n",
                 fragment_type(i < 3 ? types[i] : f->d), "abcd"[i], i,
                 "abcd"[i], i, "abcd"[i]);
    at = put(t, at, size,
             "mov.u32 %%i, %%laneid;\nshl.b32 %%i, %%i, 2;\n"
             "L: cvt.u64.u32 %%w, %%i;\nadd.u64 %%q, %%p0, %%w;\n"
             "ld.global.u32 %%v, [%%q];\nmov.u32 %%o, room;\n"
             "add.u32 %%o, %%o, %%i;\nst.shared.u32 [%%o], %%v;\n"
             "add.u32 %%i, %%i, 128;\nsetp.lt.u32 %%p, %%i, %u;\n"
             "@%%p bra L;\nbar.sync 0;\n",
             BYTES);
    if (shared)
        at = put(t, at, size, "mov.u64 %%p0, room;\n");
    for (unsigned i = 0; i < 3; i++) {
        at = put(t, at, size, "wmma.load.%c.sync.aligned.%s.%s.%s.%s ",
                 "abc"[i], in[i], shape, i == 0 && shared ? "shared" : "global",
                 type_name(types[i]));
        at = list(t, at, size, f, "abc"[i]);
        at = put(t, at, size, ", [%%p%u], %%s%u;\n", i, i);
    }
    at = put(t, at, size, "wmma.mma%s.sync.aligned.%s.%s.%s",
             f->a == B1 ? f->more : "", order(a_col), order(b_col), shape);
    at = put(t, at, size, ".%s", type_name(f->d));
    if (f->a != F16)
        at = put(t, at, size, ".%s.%s", type_name(f->a), type_name(f->b));
    at = put(t, at, size, ".%s%s ", type_name(f->c), f->a == B1 ? "" : f->more);
    for (unsigned i = 0; i < 4; i++) {
        at = list(t, at, size, f, "dabc"[i]);
        at = put(t, at, size, i < 3 ? ", " : ";\n");
    }
    at = put(t, at, size, "wmma.store.d.sync.aligned.%s.%s.global.%s [%%p3], ",
             order(d_col), shape, type_name(f->d));
    at = list(t, at, size, f, 'd');
    put(t, at, size, ", %%s3;\nret;\n}\n");
}

/* --- one form --- */

static struct matrix a, b, c, d;
static CUdeviceptr at[4];
static unsigned same, differ;

static void compare(const struct form *f, const char *name)
{
    for (unsigned row = 0; row < f->m; row++)
        for (unsigned col = 0; col < f->n; col++) {
            const uint64_t found = get(&d, row, col);
            const uint64_t wanted = sum(f, &a, &b, get(&c, row, col), row, col);

            if (found == wanted ||
                (f->d != S32 && (measures || f->d == F64) &&
                 isnan(real(f->d, found)) && isnan(real(f->d, wanted)))) {
                same++;
                continue;
            }
            if (!differ++ && (!measures || f->d == S32))
                printf("     %s: row %u column %u: %llx, not %llx\n", name, row,
                       col, (unsigned long long)found,
                       (unsigned long long)wanted);
        }
}

static int launch(CUfunction function, const struct form *f, int order_bits,
                  unsigned round)
{
    uint32_t s[4];
    void *args[] = {&at[0], &at[1], &at[2], &at[3], &s[0], &s[1], &s[2], &s[3]};

    fill(&a, f->a, f->m, f->k, order_bits & 1, round);
    fill(&b, f->b, f->k, f->n, order_bits >> 1 & 1, round);
    fill(&c, f->c, f->m, f->n, order_bits >> 2 & 1, round);
    fill(&d, f->d, f->m, f->n, order_bits >> 3 & 1, round);
    s[0] = a.pitch;
    s[1] = b.pitch;
    s[2] = c.pitch;
    s[3] = d.pitch;
    return cuMemcpyHtoD_v2(at[0], a.bytes, BYTES) ||
           cuMemcpyHtoD_v2(at[1], b.bytes, BYTES) ||
           cuMemcpyHtoD_v2(at[2], c.bytes, BYTES) ||
           cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL) ||
           cuMemcpyDtoH_v2(d.bytes, at[3], BYTES);
}

static void run(const struct form *f)
{
    static char text[16384];
    const int fixed = type_bits(f->a) < 8; /* A by rows, B by columns */
    char name[96];

    snprintf(name, sizeof name, "wmma m%un%uk%u %s.%s.%s.%s%s", f->m, f->n,
             f->k, type_name(f->d), type_name(f->a), type_name(f->b),
             type_name(f->c), f->more);
    same = differ = 0;
    /* each matrix by rows and by columns */
    for (int i = 0; i < 4; i++) {
        const int bits = fixed ? i * 4 + 2 : i * 5;
        CUmodule module;
        CUfunction function;

        kernel(f, bits & 1, bits >> 1 & 1, bits >> 2 & 1, bits >> 3 & 1, i % 2,
               text, sizeof text);
        if (cuModuleLoadData(&module, text)) {
            CHECK_SAYS(measures, "%s: loads", name);
            return;
        }
        if (cuModuleGetFunction(&function, module, "k"))
            CHECK_SAYS(0, "%s: has a kernel", name);
        else
            for (unsigned round = 0; round < ROUNDS; round++)
                if (launch(function, f, bits, round))
                    CHECK_SAYS(0, "%s: runs", name);
                else
                    compare(f, name);
        cuModuleUnload(module);
    }
    if (measures && f->d != S32)
        printf("     %s: %u alike, %u not\n", name, same, differ);
    else
        CHECK_SAYS(same && !differ, "%s: %u sums", name, same);
}

int main(int argc, char **argv)
{
    measures = argc == 2 && !strcmp(argv[1], "--measure");
    test_start();
    test_need_compiler();
    for (int i = 0; i < 4; i++)
        OK(cuMemAlloc_v2(&at[i], BYTES));
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        run(&forms[i]);
    return test_end();
}
