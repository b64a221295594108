/* SPDX-License-Identifier: MIT
 *
 * Source of recursion.ptx:
 *     nvcc -ptx -arch=compute_75 -o recursion.ptx recursion.cu
 * tests/api/recursion.c has the same functions for the host.
 */
extern "C" {

__device__ __noinline__ int fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n)
{
    if (m == 0)
        return n + 1;
    if (n == 0)
        return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

/* Two that call each other, from two places. */
__device__ int odd(int n, float *trace);
__device__ __noinline__ int even(int n, float *trace)
{
    *trace += n * 0.5f;
    if (n == 0)
        return 1;
    return n % 3 ? odd(n - 1, trace) : 3 + odd(n - 1, trace);
}
__device__ __noinline__ int odd(int n, float *trace)
{
    *trace *= 1.25f;
    if (n == 0)
        return 0;
    return even(n - 1, trace) + (n & 4);
}

/* Arrays in each frame, and pointers to a caller's. */
__device__ __noinline__ int walk(int *above, int depth, int seed)
{
    int own[4];
    int sum = 0;

    for (int k = 0; k < 4; k++)
        own[k] = seed * (k + 1) + depth;
    if (above)
        above[depth & 3] += own[1];
    if (depth > 0)
        for (int k = 0; k < 1 + (seed & 1); k++)
            sum += walk(own, depth - 1, seed + k);
    for (int k = 0; k < 4; k++)
        sum += own[k] * (k + 3);
    return sum;
}

__device__ __noinline__ int twice(int a)
{
    return 2 * a;
}
__device__ __noinline__ int square(int a)
{
    if (a > 100)
        return -1;
    return a * a;
}
__device__ __noinline__ int halve(int a)
{
    return a / 2;
}
typedef int function(int);
__device__ function *table[4] = {twice, square, fib, halve};

__device__ __noinline__ int apply(function *f, int a, int times)
{
    for (int k = 0; k < times; k++)
        a = f(a) & 15;
    return a;
}

__global__ void fibs(int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        out[i] = fib(i % 13);
}

__global__ void ackermanns(int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        out[i] = (int)ackermann(i % 3, i % 5);
}

__global__ void parities(int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float trace = i * 0.125f;

    if (i >= n)
        return;
    int e = even(i % 17, &trace) * 1000;
    e += odd(i % 11, &trace);
    out[i] = e + (int)trace;
}

__global__ void walks(int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        out[i] = walk(0, i % 6, i % 29);
}

__global__ void indirect(int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i >= n)
        return;
    out[2 * i] = table[i & 3](i % 12);
    out[2 * i + 1] = apply(i % 5 ? table[(i / 4) & 3] : halve, i % 16, i % 4);
}

__global__ void forever(int *out)
{
    out[0] = walk(out, 100000000, 1);
}
}

struct shape {
    int w;
    __device__ shape(int v) : w(v) {}
    __device__ virtual int area(int h) const = 0;
    __device__ virtual int sides() const { return 1; }
};
struct box : shape {
    __device__ box(int v) : shape(v) {}
    __device__ int area(int h) const override { return w * h; }
    __device__ int sides() const override { return 4; }
};
struct wedge : shape {
    __device__ wedge(int v) : shape(v) {}
    __device__ int area(int h) const override { return w * h / 2; }
    __device__ int sides() const override { return 3; }
};
struct dot : shape {
    __device__ dot(int v) : shape(v) {}
    __device__ int area(int) const override { return 0; }
};

extern "C" __global__ void virtuals(int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    box b(i);
    wedge w(i + 1);
    dot d(i);
    const shape *s = i % 3 == 0   ? (const shape *)&b
                     : i % 3 == 1 ? (const shape *)&w
                                  : (const shape *)&d;

    if (i < n)
        out[i] = s->area(i % 7) * 10 + s->sides();
}
