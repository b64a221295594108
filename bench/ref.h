/* SPDX-License-Identifier: MIT
 *
 * The OpenMP references, and the machine's limits.
 */
#ifndef KILN_BENCH_REF_H
#define KILN_BENCH_REF_H

#include <stddef.h>
#include <stdint.h>
void ref_saxpy(const float *x, float *y, int n, float a);
float ref_reduce(const float *x, int n);
void ref_sgemm(const float *A, const float *B, float *C, int n);
void ref_nbody(const float *p, float *acc, int n);
void ref_mandelbrot(uint32_t *out, int w, int h);
void ref_transpose(const float *in, float *out, int w, int h);
void ref_histogram(const uint32_t *in, uint32_t *hist, int n);
void ref_stencil2d(const float *in, float *out, int w, int h);
void ref_stencil3d(const float *in, float *out, int w);
void ref_scan(const float *in, float *out, int n);
void ref_spmv(const int *ptr, const int *col, const float *val, const float *x,
              float *y, int rows);
void ref_sort(const uint32_t *in, uint32_t *out, int n);
double ref_copy(const float *x, float *y, size_t n);
double ref_peak(float *out);

#endif
