/* SPDX-License-Identifier: MIT
 *
 * Source of stack.ptx:
 *     nvcc -ptx -arch=compute_75 -o stack.ptx stack.cu
 *
 * alloca: in kernels, in functions that are called again and again, and in
 * functions that call themselves, each lane another size.
 */
extern "C" {

__device__ __noinline__ int doubled(int n, const int *q)
{
    int *p = (int *)alloca(n * sizeof(int));
    int s = 0;

    for (int i = 0; i < n; i++)
        p[i] = q[i] * 2;
    if (n % 3 == 1)
        return p[n - 1];
    for (int i = n - 1; i >= 0; i--)
        s += p[i] * i;
    return s;
}

__device__ __noinline__ int deeper(int n, int seed)
{
    int *p;

    if (n == 0)
        return seed;
    p = (int *)alloca((n % 7 + 1) * sizeof(int));
    for (int i = 0; i <= n % 7; i++)
        p[i] = seed + i;
    seed += deeper(n - 1, seed + 1);
    return seed + p[n % 7];
}

__global__ void pieces(const int *q, int *out, int n, int rounds)
{
    int s = 0, *p;

    for (int i = 0; i < rounds; i++)
        s += doubled(n + i % 5 + threadIdx.x % 4, q);
    s += deeper(threadIdx.x % 30, s);
    p = (int *)alloca((threadIdx.x % 5 + 1) * 2 * sizeof(int));
    for (int i = 0; i <= threadIdx.x % 5; i++)
        p[i] = i + s;
    out[threadIdx.x] = p[threadIdx.x % 5];
}

__global__ void too_much(int *out, int n)
{
    volatile int *p = (volatile int *)alloca(n * sizeof(int));

    p[threadIdx.x] = n;
    out[threadIdx.x] = p[threadIdx.x];
}
}
