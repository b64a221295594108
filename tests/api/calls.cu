/* SPDX-License-Identifier: MIT
 *
 * Source of calls.ptx:
 *     nvcc -ptx -arch=compute_75 -o calls.ptx calls.cu
 * tests/api/calls.c has the same functions for the host.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

struct mixed {
    int a;
    float b;
    double c;
    char d;
};

extern "C" {

__device__ __noinline__ int collatz(int n)
{
    int steps = 0;

    if (n < 1)
        return -1;
    while (n != 1) {
        if (steps > 60)
            return -2;
        n = n & 1 ? 3 * n + 1 : n / 2;
        steps++;
    }
    return steps;
}

__device__ __noinline__ mixed step(int i, mixed s, const float *p)
{
    mixed r = s;

    r.a += i;
    if (i & 1) {
        r.b = p[i % 4];
        return r;
    }
    r.c += 2 + collatz(i);
    r.d = (char)(i - 20);
    return r;
}

__device__ __noinline__ int sum_of(const int *list, int n)
{
    int sum = 0;

    for (int i = 0; i < n; i++)
        sum += list[i] * (i + 1);
    return sum;
}

__global__ void structs(int *out, const float *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int list[8];

    if (i >= n)
        return;
    mixed s = {i, 1.5f, 2.0, 'a'};
    mixed r = step(i, s, p);

    for (int k = 0; k < 8; k++)
        list[k] = i + k * k;
    r = step(r.a, r, p);
    out[i] = r.a + (int)(r.b * 8) + (int)r.c + r.d +
             sum_of(list, 1 + (i & 7)) + collatz(i);
}

__global__ void print_all(const char *text)
{
    int i = threadIdx.x;

    if (i % 3 == 0)
        printf("%d %5.2f %s|%-6s|%c%%\n", i, i * 0.25, text, "ab", 'A' + i);
    if (i == 1)
        printf("%u %x %#X %o %lld %llu %hd %5d|%-5d|%+d|%05d\n",
               4000000000u, 255, 255, 8, -5000000000ll,
               18446744073709551615ull, (short)70000, 42, 42, 42, 42);
    if (i == 2) {
        int n = printf("%e %g %a %.3s %*d %p\n", 12345.678, 0.0001, 1.0,
                       "abcdef", 6, 7, (void *)0);
        printf("plain\n");
        printf("%d\n", n);
    }
}

__global__ void check(int limit)
{
    assert((int)threadIdx.x != limit);
}

__global__ void heap(int *out)
{
    int i = threadIdx.x, n = 1 + i % 50, sum = 0;
    int *p = (int *)malloc(n * sizeof *p);

    if (!p) {
        out[i] = -1;
        return;
    }
    for (int k = 0; k < n; k++)
        p[k] = i * k;
    __syncthreads();
    for (int k = 0; k < n; k++)
        sum += p[k];
    free(p);
    out[i] = sum;
}

__global__ void too_much(int *out)
{
    void *p = malloc((size_t)1 << 34);

    out[threadIdx.x] = p == NULL;
    free(p);
}
}
