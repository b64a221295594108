/* SPDX-License-Identifier: MIT
 *
 * Block reduction, and what one warp can do among its own lanes.
 */

/* Sum of x into *out (which starts at zero). Warps reduce by shuffles, the
 * block through shared memory, blocks meet in one atomic addition. */
__global__ void sum(const float *x, float *out, int n)
{
    __shared__ float warps[32];
    int lane = threadIdx.x & 31;
    int warp = threadIdx.x >> 5;
    float v = 0.0f;

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * blockDim.x)
        v += x[i];
    for (int d = 16; d > 0; d >>= 1)
        v += __shfl_down_sync(0xffffffffu, v, d);
    if (lane == 0)
        warps[warp] = v;
    __syncthreads();
    if (warp == 0) {
        int used = (blockDim.x + 31) >> 5;

        v = lane < used ? warps[lane] : 0.0f;
        for (int d = 16; d > 0; d >>= 1)
            v += __shfl_down_sync(0xffffffffu, v, d);
        if (lane == 0)
            atomicAdd(out, v);
    }
}

/* The same by a tree in shared memory alone: a barrier inside a loop. */
__global__ void sum_tree(const float *x, float *out, int n)
{
    __shared__ float part[256];
    int t = threadIdx.x;
    int i = blockIdx.x * 256 + t;

    part[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int half = 128; half > 0; half >>= 1) {
        if (t < half)
            part[t] += part[t + half];
        __syncthreads();
    }
    if (t == 0)
        atomicAdd(out, part[0]);
}

/* Largest and smallest of x, and a histogram of its last four bits. */
__global__ void extremes(const int *x, int *least, int *most, unsigned *bins,
                         int n)
{
    __shared__ unsigned local[16];
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (threadIdx.x < 16)
        local[threadIdx.x] = 0;
    __syncthreads();
    if (i < n) {
        atomicMin(least, x[i]);
        atomicMax(most, x[i]);
        atomicAdd(&local[x[i] & 15], 1u);
    }
    __syncthreads();
    if (threadIdx.x < 16)
        atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

/* Every kind of shuffle and vote. Row r of out holds one result a lane. */
__global__ void lanes(const int *x, unsigned *out)
{
    const unsigned all = 0xffffffffu;
    int lane = threadIdx.x & 31;
    int n = blockDim.x;
    int t = threadIdx.x;
    int v = x[t];

    out[0 * n + t] = __shfl_sync(all, v, (lane * 7 + 3) & 31);
    out[1 * n + t] = __shfl_up_sync(all, v, 3);
    out[2 * n + t] = __shfl_down_sync(all, v, 5);
    out[3 * n + t] = __shfl_xor_sync(all, v, 9);
    out[4 * n + t] = __shfl_up_sync(all, v, 1, 8);
    out[5 * n + t] = __shfl_down_sync(all, v, 2, 16);
    out[6 * n + t] = __ballot_sync(all, v % 3 == 0);
    out[7 * n + t] = __any_sync(all, v == 5) | __all_sync(all, v >= 0) << 1;
    if (lane & 1)
        out[8 * n + t] = __ballot_sync(0xaaaaaaaau, v & 2);
    else
        out[8 * n + t] = __ballot_sync(0x55555555u, v & 4);
    __syncwarp();
    out[9 * n + t] = __popc(__activemask());
}
