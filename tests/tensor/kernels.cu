/* SPDX-License-Identifier: MIT
 *
 * What CUDA C++ makes of matrices and asynchronous copies. kernels.ptx comes
 * from this file:
 *
 *     nvcc -arch=compute_90 -ptx -o kernels.ptx kernels.cu
 *
 * (without its comments). kernels.c runs them.
 */
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

namespace cg = cooperative_groups;
namespace wmma = nvcuda::wmma;

/* C = 2 A B + C, of 64 by 64; 4 warps, each 32 by 32. */
template <class T, class Acc, class In, int K, class Fragment>
__device__ void gemm(const In *a, const In *b, Acc *c)
{
    constexpr int N = 64;
    __shared__ __align__(128) In tile[N * N];
    const int warp = threadIdx.x / 32, row = warp / 2 * 32, col = warp % 2 * 32;
    wmma::fragment<wmma::accumulator, 16, 16, K, Acc> sum[2][2];

    for (int i = threadIdx.x; i < N * N; i += blockDim.x)
        tile[i] = b[i];
    __syncthreads();
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            wmma::fill_fragment(sum[i][j], Acc(0));
    for (int k = 0; k < N; k += K)
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++) {
                wmma::fragment<wmma::matrix_a, 16, 16, K, Fragment,
                               wmma::row_major> x;
                wmma::fragment<wmma::matrix_b, 16, 16, K, Fragment,
                               wmma::col_major> y;

                wmma::load_matrix_sync(x, a + (row + 16 * i) * N + k, N);
                wmma::load_matrix_sync(y, tile + (col + 16 * j) * N + k, N);
                wmma::mma_sync(sum[i][j], x, y, sum[i][j]);
            }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            Acc *at = c + (row + 16 * i) * N + col + 16 * j;
            wmma::fragment<wmma::accumulator, 16, 16, K, Acc> old;

            wmma::load_matrix_sync(old, at, N, wmma::mem_row_major);
            for (int e = 0; e < old.num_elements; e++)
                old.x[e] += sum[i][j].x[e] * Acc(2);
            wmma::store_matrix_sync(at, old, N, wmma::mem_row_major);
        }
}

extern "C" __global__ void gemm_half(const __half *a, const __half *b, float *c)
{
    gemm<__half, float, __half, 16, __half>(a, b, c);
}

extern "C" __global__ void gemm_bfloat(const __nv_bfloat16 *a,
                                       const __nv_bfloat16 *b, float *c)
{
    gemm<__nv_bfloat16, float, __nv_bfloat16, 16, __nv_bfloat16>(a, b, c);
}

extern "C" __global__ void gemm_char(const signed char *a, const signed char *b,
                                     int *c)
{
    gemm<signed char, int, signed char, 16, signed char>(a, b, c);
}

extern "C" __global__ void gemm_tf32(const float *a, const float *b, float *c)
{
    gemm<float, float, float, 8, wmma::precision::tf32>(a, b, c);
}

/* One warp: C = A B in double, 8 by 8 with 8 steps of 4. */
extern "C" __global__ void gemm_double(const double *a, const double *b,
                                       double *c)
{
    wmma::fragment<wmma::accumulator, 8, 8, 4, double> sum;

    wmma::fill_fragment(sum, 0.0);
    for (int k = 0; k < 32; k += 4) {
        wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> x;
        wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::row_major> y;

        wmma::load_matrix_sync(x, a + k, 32);
        wmma::load_matrix_sync(y, b + k * 8, 8);
        wmma::mma_sync(sum, x, y, sum);
    }
    wmma::store_matrix_sync(c, sum, 8, wmma::mem_row_major);
}

/* --- by hand: cp.async, ldmatrix, mma --- */

__device__ static unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

/* C = A B: 64 by 64, rows of A, columns of B; 4 warps of 16 rows; stages of 16
 * k, two of them under way. Rows are of 32 bytes, halves of them exchanged in
 * every fourth to spread the banks. */
extern "C" __global__ void gemm_stages(const __half *a, const __half *b,
                                       float *c)
{
    __shared__ __align__(128) __half at[2][64 * 16], bt[2][64 * 16];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float sum[8][4] = {};

    auto place = [](int row, int half) {
        return row * 16 + (half ^ (row / 4 & 1)) * 8;
    };
    auto fetch = [&](int k, int stage) {
        const int row = threadIdx.x / 2, half = threadIdx.x % 2;

        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                         shared_address(&at[stage][place(row, half)])),
                     "l"(a + row * 64 + k * 16 + half * 8));
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                         shared_address(&bt[stage][place(row, half)])),
                     "l"(b + row * 64 + k * 16 + half * 8));
        asm volatile("cp.async.commit_group;");
    };

    fetch(0, 0);
    for (int k = 0; k < 4; k++) {
        unsigned x[4], y[4];

        if (k < 3)
            fetch(k + 1, (k + 1) % 2);
        if (k < 3)
            asm volatile("cp.async.wait_group 1;");
        else
            asm volatile("cp.async.wait_group 0;");
        __syncthreads();
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
                     "{%0, %1, %2, %3}, [%4];"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                     : "r"(shared_address(&at[k % 2][place(
                         warp * 16 + lane % 16, lane / 16)])));
        for (int n = 0; n < 8; n += 2) {
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
                         "{%0, %1, %2, %3}, [%4];"
                         : "=r"(y[0]), "=r"(y[1]), "=r"(y[2]), "=r"(y[3])
                         : "r"(shared_address(&bt[k % 2][place(
                             n * 8 + lane / 16 * 8 + lane % 8,
                             lane / 8 % 2)])));
            for (int i = 0; i < 2; i++)
                asm volatile(
                    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                    "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                    "{%0, %1, %2, %3};"
                    : "+f"(sum[n + i][0]), "+f"(sum[n + i][1]),
                      "+f"(sum[n + i][2]), "+f"(sum[n + i][3])
                    : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]),
                      "r"(y[2 * i]), "r"(y[2 * i + 1]));
        }
        __syncthreads();
    }
    for (int n = 0; n < 8; n++)
        for (int i = 0; i < 4; i++)
            c[(warp * 16 + lane / 4 + i / 2 * 8) * 64 + n * 8 + lane % 4 * 2 +
              i % 2] = sum[n][i];
}

/* --- copies --- */

/* out[i] = the sum of in over 16 tiles, two of them under way. */
extern "C" __global__ void pipeline_sum(const int *in, int *out)
{
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    __shared__ __align__(16) int tile[2][128];
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int sum = 0;

    for (int next = 0, done = 0; done < 16; done++) {
        for (; next < 16 && next < done + 2; next++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, tile[next % 2], in + next * 128,
                               sizeof tile[0], pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum += tile[done % 2][threadIdx.x ^ 1];
        pipe.consumer_release();
    }
    out[threadIdx.x] = sum;
}

/* The first warp produces, the others consume. */
extern "C" __global__ void pipeline_roles(const int *in, int *out)
{
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    __shared__ __align__(16) int tile[2][96];
    auto block = cg::this_thread_block();
    const auto role = threadIdx.x < 32 ? cuda::pipeline_role::producer
                                       : cuda::pipeline_role::consumer;
    auto pipe = cuda::make_pipeline(block, &state, role);
    int sum = 0;

    for (int i = 0; i < 10; i++)
        if (role == cuda::pipeline_role::producer) {
            pipe.producer_acquire();
            for (int j = threadIdx.x; j < 24; j += 32)
                cuda::memcpy_async(&tile[i % 2][j * 4], in + i * 96 + j * 4,
                                   cuda::aligned_size_t<16>(16), pipe);
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            sum += tile[i % 2][95 - (threadIdx.x - 32)];
            pipe.consumer_release();
        }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void group_copy(const int *in, int *out)
{
    __shared__ int tile[512];
    auto block = cg::this_thread_block();
    int sum = 0;

    for (int i = 0; i < 4; i++) {
        cg::memcpy_async(block, tile, in + i * 512 + 1, sizeof(int) * 511);
        cg::wait(block);
        sum += tile[(threadIdx.x * 7 + i) % 511];
        block.sync();
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void barrier_copy(const int *in, int *out)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ __align__(16) int tile[1024];
    auto block = cg::this_thread_block();
    int sum = 0;

    if (threadIdx.x == 0)
        init(&bar, blockDim.x);
    block.sync();
    for (int i = 0; i < 4; i++) {
        cuda::memcpy_async(block, tile, in + i * 256,
                           cuda::aligned_size_t<16>(sizeof(int) * 1024), bar);
        bar.wait(bar.arrive());
        sum += tile[1023 - threadIdx.x];
        bar.arrive_and_wait();
    }
    out[threadIdx.x] = sum;
}
