/* SPDX-License-Identifier: MIT
 *
 * A program as people write them: kernels launched by <<<>>>, variables of
 * every kind, dynamic shared memory, a template, streams and events. Built
 * by nvcc with -cudart shared and run on whatever libcudart the loader
 * finds.
 */
#include <cstdio>
#include <cstdlib>

#define OK(call)                                                               \
    do {                                                                       \
        cudaError_t e_ = (call);                                               \
        if (e_ != cudaSuccess) {                                               \
            std::fprintf(stderr, "%s: %s (%d): %s\n", #call,                   \
                         cudaGetErrorName(e_), (int)e_,                        \
                         cudaGetErrorString(e_));                              \
            std::exit(1);                                                      \
        }                                                                      \
    } while (0)

#define EXPECT(condition)                                                      \
    do {                                                                       \
        if (!(condition)) {                                                    \
            std::fprintf(stderr, "line %d: not so: %s\n", __LINE__,            \
                         #condition);                                          \
            std::exit(1);                                                      \
        }                                                                      \
    } while (0)

__constant__ float scale[2];
__device__ int total;

__global__ void saxpy(float a, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        y[i] = a * x[i] + y[i];
}

__global__ void scaled(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        x[i] = x[i] * scale[0] + scale[1];
}

__global__ void count(int n)
{
    if (blockIdx.x * blockDim.x + threadIdx.x < n)
        atomicAdd(&total, 1);
}

template <typename T> __global__ void reverse(T *x)
{
    extern __shared__ unsigned char raw[];
    T *held = reinterpret_cast<T *>(raw);
    int t = threadIdx.x;

    held[t] = x[blockIdx.x * blockDim.x + t];
    __syncthreads();
    x[blockIdx.x * blockDim.x + t] = held[blockDim.x - 1 - t];
}

static const int n = 10000;

static void test_saxpy()
{
    static float x[n], y[n];
    float *dx, *dy;

    for (int i = 0; i < n; i++) {
        x[i] = i;
        y[i] = 1;
    }
    OK(cudaMalloc(&dx, sizeof x));
    OK(cudaMalloc(&dy, sizeof y));
    OK(cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(dy, y, sizeof y, cudaMemcpyHostToDevice));
    saxpy<<<(n + 127) / 128, 128>>>(2, dx, dy, n);
    OK(cudaGetLastError());
    const float factors[2] = {2, -1};
    OK(cudaMemcpyToSymbol(scale, factors, sizeof factors));
    scaled<<<(n + 127) / 128, 128>>>(dy, n);
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(y, dy, sizeof y, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
        EXPECT(y[i] == 2 * (2 * i + 1) - 1);
    OK(cudaFree(dx));
    OK(cudaFree(dy));
}

static void test_variable()
{
    int seen = -1;

    for (int i = 0; i < 3; i++)
        count<<<40, 256>>>(n);
    OK(cudaGetLastError());
    OK(cudaMemcpyFromSymbol(&seen, total, sizeof seen));
    EXPECT(seen == 3 * n);
}

static void test_stream()
{
    static double x[512];
    double *dx;
    cudaStream_t stream;
    cudaEvent_t begin, end;
    float ms = -1;

    for (int i = 0; i < 512; i++)
        x[i] = i;
    OK(cudaStreamCreate(&stream));
    OK(cudaEventCreate(&begin));
    OK(cudaEventCreate(&end));
    OK(cudaMalloc(&dx, sizeof x));
    OK(cudaMemcpyAsync(dx, x, sizeof x, cudaMemcpyHostToDevice, stream));
    OK(cudaEventRecord(begin, stream));
    reverse<double><<<2, 256, 256 * sizeof(double), stream>>>(dx);
    OK(cudaGetLastError());
    OK(cudaEventRecord(end, stream));
    OK(cudaMemcpyAsync(x, dx, sizeof x, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaEventElapsedTime(&ms, begin, end));
    EXPECT(ms >= 0);
    for (int i = 0; i < 512; i++)
        EXPECT(x[i] == i / 256 * 256 + 255 - i % 256);
    OK(cudaFree(dx));
    OK(cudaEventDestroy(begin));
    OK(cudaEventDestroy(end));
    OK(cudaStreamDestroy(stream));
}

static void test_errors()
{
    saxpy<<<1, 4096>>>(1, nullptr, nullptr, 0);
    EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
    EXPECT(cudaGetLastError() == cudaSuccess);
    EXPECT(cudaSetDevice(1000) == cudaErrorInvalidDevice);
    EXPECT(cudaGetLastError() == cudaErrorInvalidDevice);
    /* The device still works. */
    count<<<1, 32>>>(0);
    OK(cudaDeviceSynchronize());
}

int main()
{
    int devices = 0;

    OK(cudaGetDeviceCount(&devices));
    test_saxpy();
    test_variable();
    test_stream();
    test_errors();
    std::printf("%d device(s): right\n", devices);
    return 0;
}
