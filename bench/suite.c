/* SPDX-License-Identifier: MIT
 *
 * The table of kernels. r_NAME calls the reference, g_NAME is exact or in
 * double precision.
 */
#include "suite.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ref.h"

enum {
    N = 1 << 26,  /* streams */
    NS = 1 << 25, /* half a stream */
    NG = 768,     /* edge of a matrix product */
    NB = 8192,    /* bodies */
    NP = 1024,    /* edge of the picture */
    ND = 8192,    /* edge of a plane */
    NC = 384,     /* edge of a cube */
    NR = 1 << 20, /* rows */
    NK = 1 << 22  /* keys */
};

#define F(k) ((float *)b[k])
#define U(k) ((uint32_t *)b[k])
#define I(k) ((int *)b[k])

static void r_saxpy(void **b)
{
    ref_saxpy(b[0], b[1], N, 0.7f);
}

static double g_saxpy(void **b, int o, size_t i)
{
    (void)o;
    return 0.7f * (double)F(0)[i] + F(1)[i];
}

static void r_reduce(void **b)
{
    F(1)[0] = ref_reduce(b[0], N);
}

static double g_reduce(void **b, int o, size_t i)
{
    double s = 0;

    (void)o;
    (void)i;
    for (size_t j = 0; j < N; j++)
        s += F(0)[j];
    return s;
}

static void r_sgemm(void **b)
{
    ref_sgemm(b[0], b[1], b[2], NG);
}

static double g_sgemm(void **b, int o, size_t i)
{
    double s = 0;

    (void)o;
    for (size_t k = 0; k < NG; k++)
        s += (double)F(0)[i / NG * NG + k] * F(1)[k * NG + i % NG];
    return s;
}

static void r_nbody(void **b)
{
    ref_nbody(b[0], b[1], NB);
}

static double g_nbody(void **b, int o, size_t i)
{
    double a = 0;

    (void)o;
    if (i % 4 == 3)
        return 0;
    for (size_t j = 0; j < NB; j++) {
        double d[3];
        double q = 0.01f;

        for (size_t c = 0; c < 3; c++) {
            d[c] = (double)F(0)[4 * j + c] - F(0)[i / 4 * 4 + c];
            q += d[c] * d[c];
        }
        a += F(0)[4 * j + 3] * d[i % 4] / (q * sqrt(q));
    }
    return a;
}

static void r_mandelbrot(void **b)
{
    ref_mandelbrot(b[0], NP, NP);
}

static double g_mandelbrot(void **b, int o, size_t i)
{
    float cx = -2.2f + (float)(i % NP) * (3.0f / NP);
    float cy = -1.5f + (float)(i / NP) * (3.0f / NP);
    float x = 0;
    float y = 0;
    int it = 0;

    (void)b;
    (void)o;
    for (; it < 512 && x * x + y * y <= 4; it++) {
        float t = x * x - y * y + cx;

        y = 2 * x * y + cy;
        x = t;
    }
    return it;
}

static void r_transpose(void **b)
{
    ref_transpose(b[0], b[1], ND, ND);
}

static double g_transpose(void **b, int o, size_t i)
{
    (void)o;
    return F(0)[i % ND * ND + i / ND];
}

static void r_histogram(void **b)
{
    memset(b[1], 0, 1024);
    ref_histogram(b[0], b[1], NS / 2);
}

static double g_histogram(void **b, int o, size_t i)
{
    double c = 0;

    (void)o;
    for (size_t j = 0; j < (size_t)NS * 2; j++)
        c += ((uint8_t *)b[0])[j] == i;
    return c;
}

static int inner(size_t v, size_t edge)
{
    return v % edge > 0 && v % edge < edge - 1;
}

static void r_stencil2d(void **b)
{
    ref_stencil2d(b[0], b[1], ND, ND);
}

static double g_stencil2d(void **b, int o, size_t i)
{
    const float *c = F(0) + i;

    (void)o;
    if (!inner(i, ND) || !inner(i / ND, ND))
        return 0;
    return 0.5 * c[0] + 0.125 * ((double)c[-1] + c[1] + c[-ND] + c[ND]);
}

static void r_stencil3d(void **b)
{
    ref_stencil3d(b[0], b[1], NC);
}

static double g_stencil3d(void **b, int o, size_t i)
{
    enum { P = NC * NC };
    const float *c = F(0) + i;

    (void)o;
    if (!inner(i, NC) || !inner(i / NC, NC) || !inner(i / P, NC))
        return 0;
    return 0.4 * c[0] +
           0.1 * ((double)c[-1] + c[1] + c[-NC] + c[NC] + c[-P] + c[P]);
}

static void r_scan(void **b)
{
    ref_scan(b[0], b[1], NS / 2);
}

static double g_scan(void **b, int o, size_t i)
{
    double s = 0;

    (void)o;
    for (size_t j = i / 256 * 256; j <= i; j++)
        s += F(0)[j];
    return s;
}

static void r_spmv(void **b)
{
    ref_spmv(b[0], b[1], b[2], b[3], b[4], NR);
}

static double g_spmv(void **b, int o, size_t i)
{
    double s = 0;

    (void)o;
    for (int j = I(0)[i]; j < I(0)[i + 1]; j++)
        s += (double)F(2)[j] * F(3)[I(1)[j]];
    return s;
}

static int by_key(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static void r_sort(void **b)
{
    ref_sort(b[0], b[1], NK);
}

static double g_sort(void **b, int o, size_t i)
{
    uint32_t s[1024];

    (void)o;
    memcpy(s, U(0) + i / 1024 * 1024, sizeof s);
    qsort(s, 1024, 4, by_key);
    return s[i % 1024];
}

#define M(n) ((n) / 1e6)
#define GRID1(n, b)                                                            \
    {(n) / (b), 1, 1},                                                         \
    {                                                                          \
        b, 1, 1                                                                \
    }
#define GRID2(w, h, x, y)                                                      \
    {(w) / (x), (h) / (y), 1},                                                 \
    {                                                                          \
        x, y, 1                                                                \
    }
#define GG  (NG * NG)
#define DD  (ND * ND)
#define CCC (NC * NC * NC)

/* clang-format off */
const struct kern suite[] = {
    {"saxpy", "fx", {N, N}, {N}, 1, 1, 0, GRID1(N, 256),
     r_saxpy, g_saxpy, 1e-6, 0, 0, M(12. * N), M(2. * N)},
    {"reduce_tree", "fS", {N, 4096}, {N}, 1, 0, 0, GRID1(N / 64, 256),
     r_reduce, g_reduce, 1e-4, 0, 0, M(4. * N), M(1. * N)},
    {"reduce_shfl", "fS", {N, 4096}, {N}, 1, 0, 1, GRID1(N / 64, 256),
     r_reduce, g_reduce, 1e-4, 0, 0, M(4. * N), M(1. * N)},
    {"sgemm_tiled", "ffF", {GG, GG, GG}, {NG}, 1, 0, 0, GRID2(NG, NG, 16, 16),
     r_sgemm, g_sgemm, 1e-5, 0, 0, M(12. * GG), M(2. * GG * NG)},
    {"sgemm_reg", "ffF", {GG, GG, GG}, {NG}, 1, 0, 0,
     GRID2(NG / 4, NG / 4, 16, 16),
     r_sgemm, g_sgemm, 1e-5, 0, 0, M(12. * GG), M(2. * GG * NG)},
    {"nbody", "fF", {4 * NB, 4 * NB}, {NB}, 1, 0, 0, GRID1(NB, 256),
     r_nbody, g_nbody, 1e-4, 1e4, 0, M(32. * NB), M(20. * NB * NB)},
    {"mandelbrot", "U", {NP * NP}, {NP, NP}, 2, 0, 0, GRID2(NP, NP, 16, 16),
     r_mandelbrot, g_mandelbrot, 0, 0, 0.01, M(4. * NP * NP), 0},
    {"transpose", "fF", {DD, DD}, {ND, ND}, 2, 0, 0, GRID2(ND, ND / 4, 32, 8),
     r_transpose, g_transpose, 0, 0, 0, M(8. * DD), 0},
    {"histogram", "uZ", {NS / 2, 256}, {NS / 2}, 1, 0, 0, GRID1(NS / 128, 256),
     r_histogram, g_histogram, 0, 0, 0, M(2. * NS), 0},
    {"stencil2d", "fF", {DD, DD}, {ND, ND}, 2, 0, 0, GRID2(ND, ND, 32, 8),
     r_stencil2d, g_stencil2d, 1e-6, 0, 0, M(8. * DD), M(6. * DD)},
    {"stencil3d", "fF", {CCC, CCC}, {NC}, 1, 0, 0,
     {NC / 32, NC / 8, NC}, {32, 8, 1},
     r_stencil3d, g_stencil3d, 1e-6, 0, 0, M(8. * CCC), M(8. * CCC)},
    {"scan_block", "fF", {NS / 2, NS / 2}, {NS / 2}, 1, 0, 0,
     GRID1(NS / 2, 256),
     r_scan, g_scan, 1e-5, 0, 0, M(4. * NS), M(.5 * NS)},
    {"spmv_csr", "pqffF", {NR + 1, NR * 32, NR * 32, NR, NR}, {NR, 16}, 1, 0,
     0, GRID1(NR, 256),
     r_spmv, g_spmv, 1e-5, 0, 0, 0, 0},
    {"bitonic_sort", "uU", {NK, NK}, {0}, 0, 0, 0, GRID1(NK / 2, 512),
     r_sort, g_sort, 0, 0, 0, M(8. * NK), 0},
};
/* clang-format on */
const size_t suite_count = sizeof suite / sizeof *suite;

const struct kern *suite_find(const char *name)
{
    for (size_t i = 0; i < suite_count; i++)
        if (!strcmp(suite[i].name, name))
            return &suite[i];
    return NULL;
}

void suite_work(const struct kern *k, void **in, void **out, double *mb,
                double *mflop)
{
    *mb = k->mb;
    *mflop = k->mflop;
    if (k->gold == g_spmv) {
        *mflop = M(2. * ((int *)in[0])[NR]);
        *mb = 4 * *mflop + M(12. * NR);
    } else if (k->gold == g_mandelbrot) {
        for (size_t i = 0; i < k->n[0]; i++)
            *mflop += 7e-6 * ((uint32_t *)out[0])[i];
    }
}
