/* SPDX-License-Identifier: MIT
 *
 * Runs the kernels of kernels.cu. The numbers are small and whole, so that
 * every order of adding them gives the same.
 */
#include "../api/api.h"
#include "floats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 64, BYTES = N * N * 8 };

static CUmodule module;
static CUdeviceptr at[3];
static unsigned char a[BYTES], b[BYTES], c[BYTES];

static int small(unsigned i)
{
    return (int)(i * 2654435761u >> 13) % 9 - 4;
}

static void put_number(unsigned char *to, const char *type, size_t i, int x)
{
    const float f = (float)x;
    const double d = x;
    uint32_t bits;

    if (!strcmp(type, "half")) {
        const uint16_t h = (uint16_t)half_encode(x);

        memcpy(to + i * 2, &h, 2);
    } else if (!strcmp(type, "bfloat")) {
        memcpy(&bits, &f, 4);
        memcpy(to + i * 2, (char *)&bits + 2, 2);
    } else if (!strcmp(type, "char")) {
        to[i] = (unsigned char)x;
    } else if (!strcmp(type, "int")) {
        memcpy(to + i * 4, &x, 4);
    } else if (!strcmp(type, "double")) {
        memcpy(to + i * 8, &d, 8);
    } else {
        memcpy(to + i * 4, &f, 4);
    }
}

static double get_number(const unsigned char *from, const char *type, size_t i)
{
    double d;
    float f;
    int x;

    if (!strcmp(type, "double")) {
        memcpy(&d, from + i * 8, 8);
        return d;
    }
    memcpy(&f, from + i * 4, 4);
    memcpy(&x, from + i * 4, 4);
    return strcmp(type, "int") ? (double)f : x;
}

static int launch(const char *name, unsigned threads, unsigned args)
{
    void *list[] = {&at[0], &at[1], &at[2]};
    CUfunction f;

    return cuModuleGetFunction(&f, module, name) ||
           cuMemcpyHtoD_v2(at[0], a, BYTES) ||
           cuMemcpyHtoD_v2(at[1], b, BYTES) ||
           cuMemcpyHtoD_v2(at[2], c, BYTES) ||
           cuLaunchKernel(f, 1, 1, 1, threads, 1, 1, 0, NULL,
                          args == 3 ? list : list + 1, NULL) ||
           cuMemcpyDtoH_v2(c, at[2], BYTES);
}

/* c = twice * a * b + (c where it keeps) of m by m, over k; A by rows, B by
 * columns, or by rows where that is said. */
static void gemm(const char *name, const char *in, const char *out,
                 unsigned threads, unsigned m, unsigned k, int b_rows,
                 int twice, int keeps)
{
    unsigned bad = 0;

    for (unsigned i = 0; i < m * k; i++) {
        put_number(a, in, i, small(i));
        put_number(b, in, i, small(i + 9999));
    }
    for (unsigned i = 0; i < m * m; i++)
        put_number(c, out, i, small(i + 77777));
    if (launch(name, threads, 3)) {
        CHECK_SAYS(0, "%s: runs", name);
        return;
    }
    for (unsigned i = 0; i < m; i++)
        for (unsigned j = 0; j < m; j++) {
            int sum = 0;

            for (unsigned x = 0; x < k; x++)
                sum += small(i * k + x) *
                       small((b_rows ? x * m + j : j * k + x) + 9999);
            sum = twice * sum + (keeps ? small(i * m + j + 77777) : 0);
            if (get_number(c, out, i * m + j) != sum && bad++ < 3)
                printf("     %s: row %u column %u: %g, not %d\n", name, i, j,
                       get_number(c, out, i * m + j), sum);
        }
    CHECK_SAYS(!bad, "%s: %u by %u", name, m, m);
}

/* --- copies: words in, a word a thread out --- */

static int word(unsigned i)
{
    return (int)(i * 2654435761u >> 7);
}

static int pipeline_sum(unsigned t)
{
    int sum = 0;

    for (unsigned i = 0; i < 16; i++)
        sum += word(i * 128 + (t ^ 1));
    return sum;
}

static int pipeline_roles(unsigned t)
{
    int sum = 0;

    for (unsigned i = 0; t >= 32 && i < 10; i++)
        sum += word(i * 96 + 95 - (t - 32));
    return sum;
}

static int group_copy(unsigned t)
{
    int sum = 0;

    for (unsigned i = 0; i < 4; i++)
        sum += word(i * 512 + 1 + (t * 7 + i) % 511);
    return sum;
}

static int barrier_copy(unsigned t)
{
    int sum = 0;

    for (unsigned i = 0; i < 4; i++)
        sum += word(i * 256 + 1023 - t);
    return sum;
}

static void copies(const char *name, unsigned threads, int (*expect)(unsigned))
{
    unsigned bad = 0;

    for (unsigned i = 0; i < N * N; i++)
        put_number(b, "int", i, word(i));
    if (launch(name, threads, 2)) {
        CHECK_SAYS(0, "%s: runs", name);
        return;
    }
    for (unsigned t = 0; t < threads; t++)
        if ((int)get_number(c, "int", t) != expect(t) && bad++ < 3)
            printf("     %s: thread %u: %d, not %d\n", name, t,
                   (int)get_number(c, "int", t), expect(t));
    CHECK_SAYS(!bad, "%s: %u threads", name, threads);
}

int main(void)
{
    char *ptx;

    test_start();
    test_need_compiler();
    ptx = test_read_file(TEST_DATA "/kernels.ptx");
    for (int i = 0; i < 3; i++)
        OK(cuMemAlloc_v2(&at[i], BYTES));
    if (OK(cuModuleLoadData(&module, ptx))) {
        gemm("gemm_half", "half", "float", 128, N, N, 0, 2, 1);
        gemm("gemm_bfloat", "bfloat", "float", 128, N, N, 0, 2, 1);
        gemm("gemm_char", "char", "int", 128, N, N, 0, 2, 1);
        gemm("gemm_tf32", "float", "float", 128, N, N, 0, 2, 1);
        gemm("gemm_double", "double", "double", 32, 8, 32, 1, 1, 0);
        gemm("gemm_stages", "half", "float", 128, N, N, 0, 1, 0);
        copies("pipeline_sum", 128, pipeline_sum);
        copies("pipeline_roles", 128, pipeline_roles);
        copies("group_copy", 96, group_copy);
        copies("barrier_copy", 256, barrier_copy);
    }
    free(ptx);
    return test_end();
}
