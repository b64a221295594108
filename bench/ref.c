/* SPDX-License-Identifier: MIT
 *
 * What a good engineer would write for a CPU: plain C with OpenMP, each loop
 * shaped for caches and vectors. Compiled with -O3 -march=native
 * -mprefer-vector-width=512 -fopenmp -ffast-math: the relaxed mathematics
 * that the kernels are compiled with too.
 */
#include "ref.h"
#include <immintrin.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAR  _Pragma("omp parallel for schedule(static)")
#define SIMD _Pragma("omp simd")
typedef float v16 __attribute__((vector_size(64), aligned(4)));
void ref_saxpy(const float *x, float *y, int n, float a)
{
#pragma omp parallel for simd schedule(static)
    for (int i = 0; i < n; i++)
        y[i] += a * x[i];
}
float ref_reduce(const float *x, int n)
{
    float s = 0;
#pragma omp parallel for simd reduction(+ : s) schedule(static)
    for (int i = 0; i < n; i++)
        s += x[i];
    return s;
}
/* Panels of 32 columns of B are packed once for each thread; an 8x32 tile of C
 * lives in 16 vector registers. */
void ref_sgemm(const float *A, const float *B, float *C, int n)
{
    PAR for (int j = 0; j < n; j += 32)
    {
        v16(*b)[2] = aligned_alloc(64, sizeof(v16) * 2 * n);
        for (int k = 0; k < n; k++)
            memcpy(b[k], B + (size_t)k * n + j, sizeof *b);
        for (int i = 0; i < n; i += 8) {
            const float *a = A + (size_t)i * n;
            v16 c[8][2] = {};
            for (int k = 0; k < n; k++)
                for (int r = 0; r < 8; r++)
                    c[r][0] += a[r * n + k] * b[k][0],
                        c[r][1] += a[r * n + k] * b[k][1];
            for (int r = 0; r < 8; r++)
                memcpy(C + (size_t)(i + r) * n + j, c[r], sizeof c[r]);
        }
        free(b);
    }
}
void ref_nbody(const float *p, float *acc, int n)
{
    float *x = malloc(16 * (size_t)n), *y = x + n, *z = y + n, *m = z + n;
    for (int i = 0; i < n; i++)
        x[i] = p[4 * i], y[i] = p[4 * i + 1], z[i] = p[4 * i + 2],
        m[i] = p[4 * i + 3];
    PAR for (int i = 0; i < n; i++)
    {
        float ax = 0, ay = 0, az = 0, px = x[i], py = y[i], pz = z[i];
#pragma omp simd reduction(+ : ax, ay, az)
        for (int j = 0; j < n; j++) {
            float dx = x[j] - px, dy = y[j] - py, dz = z[j] - pz;
            float inv = 1 / sqrtf(dx * dx + dy * dy + dz * dz + 0.01f),
                  w = m[j] * inv * inv * inv;
            ax += w * dx, ay += w * dy, az += w * dz;
        }
        acc[4 * i] = ax, acc[4 * i + 1] = ay, acc[4 * i + 2] = az,
                acc[4 * i + 3] = 0;
    }
    free(x);
}
/* 64 pixels at a time run until the last of them has left. */
void ref_mandelbrot(uint32_t *out, int w, int h)
{
#pragma omp parallel for schedule(dynamic, 8)
    for (int py = 0; py < h; py++)
        for (int px = 0; px < w; px += 64) {
            float x[64] = {}, y[64] = {}, cx[64], cy = -1.5f + py * (3.0f / h);
            int it[64] = {}, live = 1;
            SIMD for (int l = 0; l < 64; l++) cx[l] =
                -2.2f + (px + l) * (3.0f / w);
            for (int k = 0; k < 512 && live; k++) {
                live = 0;
#pragma omp simd reduction(| : live)
                for (int l = 0; l < 64; l++) {
                    int in = x[l] * x[l] + y[l] * y[l] <= 4;
                    float t = x[l] * x[l] - y[l] * y[l] + cx[l],
                          u = 2 * x[l] * y[l] + cy;
                    x[l] = in ? t : x[l], y[l] = in ? u : y[l], it[l] += in,
                    live |= in;
                }
            }
            memcpy(out + (size_t)py * w + px, it, sizeof it);
        }
}
void ref_transpose(const float *in, float *out, int w, int h)
{
#pragma omp parallel for collapse(2) schedule(static)
    for (int x = 0; x < w; x += 16)
        for (int y = 0; y < h; y += 16) {
            float s[16][16];
            for (int j = 0; j < 16; j++)
                SIMD for (int i = 0; i < 16; i++) s[i][j] =
                    in[(size_t)(y + j) * w + x + i];
            for (int i = 0; i < 16; i++)
                memcpy(out + (size_t)(x + i) * h + y, s[i], sizeof s[i]);
        }
}
/* Four tables a thread, so that equal neighbours don't wait for each other's
 * store. */
void ref_histogram(const uint32_t *in, uint32_t *hist, int n)
{
#pragma omp parallel
    {
        uint32_t s[4][256] = {};
#pragma omp for schedule(static)
        for (int i = 0; i < n; i++)
            s[0][in[i] & 255]++, s[1][in[i] >> 8 & 255]++,
                s[2][in[i] >> 16 & 255]++, s[3][in[i] >> 24]++;
#pragma omp critical
        for (int b = 0; b < 256; b++)
            hist[b] += s[0][b] + s[1][b] + s[2][b] + s[3][b];
    }
}
void ref_stencil2d(const float *in, float *out, int w, int h)
{
    PAR for (int y = 1; y < h - 1; y++)
    {
        const float *c = in + (size_t)y * w;
        float *o = out + (size_t)y * w;
        SIMD for (int x = 1; x < w - 1; x++) o[x] =
            0.5f * c[x] + 0.125f * (c[x - 1] + c[x + 1] + c[x - w] + c[x + w]);
    }
}
void ref_stencil3d(const float *in, float *out, int w)
{
    const size_t p = (size_t)w * w;
#pragma omp parallel for collapse(2) schedule(static)
    for (int z = 1; z < w - 1; z++)
        for (int y = 1; y < w - 1; y++) {
            const float *c = in + z * p + (size_t)y * w, *d = c - p, *u = c + p;
            float *o = out + z * p + (size_t)y * w;
            SIMD for (int x = 1; x < w - 1; x++) o[x] =
                0.4f * c[x] + 0.1f * (c[x - 1] + c[x + 1] + c[x - w] +
                                      c[x + w] + d[x] + u[x]);
        }
}
void ref_scan(const float *in, float *out, int n)
{
    PAR for (int b = 0; b < n; b += 256)
    {
        float s = 0;
#pragma omp simd reduction(inscan, + : s)
        for (int i = b; i < b + 256; i++) {
            s += in[i];
#pragma omp scan inclusive(s)
            out[i] = s;
        }
    }
}
void ref_spmv(const int *ptr, const int *col, const float *val, const float *x,
              float *y, int rows)
{
    PAR for (int r = 0; r < rows; r++)
    {
        float v = 0;
        for (int j = ptr[r]; j < ptr[r + 1]; j++)
            v += val[j] * x[col[j]];
        y[r] = v;
    }
}
/* A radix sort of each block of 1024 keys, four passes of eight bits. */
void ref_sort(const uint32_t *in, uint32_t *out, int n)
{
    PAR for (int b = 0; b < n; b += 1024)
    {
        uint32_t tmp[2][1024];
        uint16_t pos[4][256] = {};
        for (int i = b; i < b + 1024; i++)
            for (int p = 0; p < 4; p++)
                pos[p][in[i] >> 8 * p & 255]++;
        for (int p = 0; p < 4; p++)
            for (int i = 0, sum = 0; i < 256; i++) {
                int c = pos[p][i];
                pos[p][i] = sum, sum += c;
            }
        for (int p = 0; p < 4; p++) {
            const uint32_t *from = p ? tmp[p & 1] : in + b;
            uint32_t *to = p < 3 ? tmp[~p & 1] : out + b;
            for (int i = 0; i < 1024; i++)
                to[pos[p][from[i] >> 8 * p & 255]++] = from[i];
        }
    }
}
/* The machine's limits: bytes of a copy (streaming stores), multiply-adds. */
double ref_copy(const float *x, float *y, size_t n)
{
#ifdef __AVX512F__
    PAR for (size_t i = 0; i < n; i += 16)
        _mm512_stream_ps(y + i, _mm512_loadu_ps(x + i));
#else
    PAR for (size_t i = 0; i < n; i += 4)
        _mm_stream_ps(y + i, _mm_loadu_ps(x + i));
#endif
    return 8.0 * n;
}
double ref_peak(float *out)
{
    const int reps = 400000;
#pragma omp parallel
    {
        v16 a[12], x, y;
        for (int l = 0; l < 16; l++)
            x[l] = out[0], y[l] = out[1];
        for (int i = 0; i < 12; i++)
            a[i] = x * (float)i;
        for (int r = 0; r < reps; r++)
            for (int i = 0; i < 12; i++)
                a[i] = a[i] * x + y;
        for (int i = 1; i < 12; i++)
            a[0] += a[i];
#pragma omp critical
        for (int l = 0; l < 16; l++)
            out[2] += a[0][l];
    }
    return 2.0 * 16 * 12 * reps; /* times the number of threads */
}
