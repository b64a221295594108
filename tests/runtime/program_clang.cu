/* SPDX-License-Identifier: MIT
 *
 * A <<<>>> program for a machine without a single file of NVIDIA's: clang
 * compiles both halves against the few declarations below, Kiln's writer
 * packs the PTX, and Kiln's runtime is linked.
 */
#define __device__   __attribute__((device))
#define __host__     __attribute__((host))
#define __global__   __attribute__((global))
#define __shared__   __attribute__((shared))
#define __constant__ __attribute__((constant))

typedef __SIZE_TYPE__ size_t;

struct dim3 {
    unsigned x, y, z;
    __host__ __device__ constexpr dim3(unsigned vx = 1, unsigned vy = 1,
                                       unsigned vz = 1)
        : x(vx), y(vy), z(vz)
    {
    }
};

extern "C" {
typedef int cudaError_t;
typedef struct CUstream_st *cudaStream_t;
enum cudaMemcpyKind { ToDevice = 1, ToHost = 2 };
cudaError_t cudaMalloc(void **, size_t);
cudaError_t cudaFree(void *);
cudaError_t cudaMemcpy(void *, const void *, size_t, cudaMemcpyKind);
cudaError_t cudaMemcpyToSymbol(const void *, const void *, size_t, size_t,
                               cudaMemcpyKind);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaGetLastError(void);
const char *cudaGetErrorString(cudaError_t);
cudaError_t cudaLaunchKernel(const void *, dim3, dim3, void **, size_t,
                             cudaStream_t);
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t = 0,
                                     cudaStream_t = 0);
int printf(const char *, ...);
void exit(int);
}

enum { N = 4096, BLOCK = 128 };

__constant__ int offset;

/* Sums of each block through shared memory, plus the constant. */
__global__ void sums(const int *x, int *out)
{
    __shared__ int part[BLOCK];
    int t = __nvvm_read_ptx_sreg_tid_x();
    int b = __nvvm_read_ptx_sreg_ctaid_x();

    part[t] = x[b * BLOCK + t];
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (t < half)
            part[t] += part[t + half];
        __syncthreads();
    }
    if (t == 0)
        out[b] = part[0] + offset;
}

static void ok(cudaError_t e, const char *what)
{
    if (e) {
        printf("%s: %d, %s\n", what, e, cudaGetErrorString(e));
        exit(1);
    }
}

int main()
{
    static int x[N], out[N / BLOCK];
    void *dx = 0, *dout = 0;
    const int seven = 7;

    for (int i = 0; i < N; i++)
        x[i] = i;
    ok(cudaMalloc(&dx, sizeof x), "cudaMalloc");
    ok(cudaMalloc(&dout, sizeof out), "cudaMalloc");
    ok(cudaMemcpy(dx, x, sizeof x, ToDevice), "cudaMemcpy");
    ok(cudaMemcpyToSymbol(&offset, &seven, sizeof seven, 0, ToDevice),
       "cudaMemcpyToSymbol");
    sums<<<N / BLOCK, BLOCK>>>((const int *)dx, (int *)dout);
    ok(cudaGetLastError(), "launch");
    ok(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    ok(cudaMemcpy(out, dout, sizeof out, ToHost), "cudaMemcpy");
    ok(cudaFree(dx), "cudaFree");
    ok(cudaFree(dout), "cudaFree");
    for (int b = 0; b < N / BLOCK; b++) {
        int want = 7;

        for (int i = 0; i < BLOCK; i++)
            want += b * BLOCK + i;
        if (out[b] != want) {
            printf("block %d: %d, %d expected\n", b, out[b], want);
            return 1;
        }
    }
    printf("%d blocks: right\n", N / BLOCK);
    return 0;
}
