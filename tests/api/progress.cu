/* SPDX-License-Identifier: MIT
 *
 * Source of progress.ptx:
 *     nvcc -ptx -arch=compute_75 -o progress.ptx progress.cu
 *
 * Kernels that wait in loops for others: other blocks, other warps of the
 * block, other lanes of the warp, the host, another kernel. Each ends only
 * when whoever it waits for gets its turn.
 */
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" {

/* --- blocks --- */

/* Every block adds what its neighbour wrote in the round before. */
__global__ void grid_sync(unsigned *cells, unsigned rounds)
{
    cg::grid_group grid = cg::this_grid();
    unsigned n = gridDim.x;

    for (unsigned r = 0; r < rounds; r++) {
        unsigned *from = cells + (r & 1) * n;
        unsigned *to = cells + (~r & 1) * n;

        if (threadIdx.x == blockDim.x - 1)
            to[blockIdx.x] = from[blockIdx.x] + from[(blockIdx.x + 1) % n];
        grid.sync();
    }
}

/* A barrier of all blocks made by hand, without a cooperative launch. */
__global__ void own_barrier(volatile unsigned *arrived, unsigned *out)
{
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd((unsigned *)arrived, 1);
        while (*arrived < gridDim.x)
            ;
    }
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = *arrived;
}

/* A prefix sum over blocks: each waits for what the one before it found. */
__global__ void look_back(const unsigned *in, unsigned *out,
                          volatile unsigned *sums, volatile unsigned *flags,
                          unsigned *ticket)
{
    __shared__ unsigned part[256], before, block;
    unsigned t = threadIdx.x;

    if (t == 0)
        block = atomicAdd(ticket, 1);
    __syncthreads();
    part[t] = in[block * blockDim.x + t];
    __syncthreads();
    for (unsigned d = 1; d < blockDim.x; d *= 2) {
        unsigned v = t >= d ? part[t - d] : 0;

        __syncthreads();
        part[t] += v;
        __syncthreads();
    }
    if (t == 0) {
        unsigned v = 0;

        if (block) {
            while (flags[block - 1] == 0)
                ;
            __threadfence();
            v = sums[block - 1];
        }
        sums[block] = v + part[blockDim.x - 1];
        __threadfence();
        flags[block] = 1;
        before = v;
    }
    __syncthreads();
    out[block * blockDim.x + t] = part[t] + before;
}

/* The same over a warp's width of blocks at a time, as CUB does: lanes poll
 * until none of them sees an invalid tile. */
__global__ void look_back_window(const unsigned *in, unsigned *out,
                                 unsigned long long *tiles)
{
    enum { INVALID, PARTIAL, INCLUSIVE };
    __shared__ unsigned before;
    unsigned t = threadIdx.x, block = blockIdx.x;
    unsigned own = in[block];

    if (t == 0)
        atomicExch(&tiles[block],
                   (unsigned long long)(block ? PARTIAL : INCLUSIVE) << 32 |
                       own);
    if (t < 32) {
        unsigned sum = 0;

        for (int at = (int)block - 1; at >= 0; at -= 32) {
            int tile = at - (int)t;
            unsigned long long state;
            unsigned ends, v;

            do {
                state = tile < 0 ? (unsigned long long)INCLUSIVE << 32
                                 : ((volatile unsigned long long *)tiles)[tile];
            } while (__any_sync(~0u, state >> 32 == INVALID));
            ends = __ballot_sync(~0u, state >> 32 == INCLUSIVE);
            v = ends && (int)t > __ffs(ends) - 1 ? 0 : (unsigned)state;
            for (int d = 16; d; d /= 2)
                v += __shfl_xor_sync(~0u, v, d);
            sum += v;
            if (ends)
                break;
        }
        if (t == 0) {
            before = sum;
            atomicExch(&tiles[block],
                       (unsigned long long)INCLUSIVE << 32 | (sum + own));
        }
    }
    __syncthreads();
    out[block * blockDim.x + t] = before + own;
}

/* One lock for all blocks; what it guards is not atomic. */
__global__ void block_lock(unsigned *lock, volatile unsigned *count)
{
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0)
            ;
        __threadfence();
        *count = *count + 1;
        __threadfence();
        atomicExch(lock, 0);
    }
}

/* --- warps of one block --- */

/* Warp 0 makes items, the last warp takes them, through one cell. */
__global__ void warps_hand_over(volatile unsigned *cell, unsigned *out,
                                unsigned items)
{
    unsigned warp = threadIdx.x / 32, last = blockDim.x / 32 - 1;

    if (threadIdx.x % 32)
        return;
    if (warp == 0)
        for (unsigned i = 1; i <= items; i++) {
            while (*cell != 0)
                ;
            *cell = i;
        }
    else if (warp == last)
        for (unsigned i = 1; i <= items; i++) {
            while (*cell == 0)
                ;
            out[0] += *cell;
            *cell = 0;
        }
}

/* Each warp waits for the one after it, the last for nobody. */
__global__ void warps_in_reverse(unsigned *out)
{
    __shared__ volatile unsigned turn;
    unsigned warp = threadIdx.x / 32;

    if (threadIdx.x == 0)
        turn = blockDim.x / 32;
    __syncthreads();
    while (turn != warp + 1)
        __nanosleep(20);
    out[threadIdx.x] = turn;
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        turn = warp;
}

/* --- lanes of one warp --- */

__device__ void add_one(volatile unsigned *count)
{
    unsigned v = *count;

    __threadfence();
    *count = v + 1;
    __threadfence();
}

__global__ void lane_lock(unsigned *lock, volatile unsigned *count)
{
    while (atomicCAS(lock, 0, 1) != 0)
        ;
    add_one(count);
    atomicExch(lock, 0);
}

__global__ void lane_lock_tested(volatile unsigned *lock,
                                 volatile unsigned *count)
{
    for (;;) {
        if (atomicExch((unsigned *)lock, 1) == 0)
            break;
        while (*lock)
            ;
    }
    add_one(count);
    *lock = 0;
}

__global__ void lane_lock_done(unsigned *lock, volatile unsigned *count)
{
    bool done = false;

    while (!done)
        if (atomicCAS(lock, 0, 1) == 0) {
            add_one(count);
            atomicExch(lock, 0);
            done = true;
        }
}

/* Some lanes, several times, under a branch; then all meet. */
__global__ void lane_lock_in_loop(unsigned *lock, volatile unsigned *count,
                                  unsigned *votes)
{
    unsigned mine = 0;

    for (unsigned i = 0; i < 3; i++)
        if (threadIdx.x % 3 != i) {
            while (atomicCAS(lock, 0, 1) != 0)
                ;
            add_one(count);
            mine++;
            atomicExch(lock, 0);
        }
    __syncwarp();
    for (int d = 16; d; d /= 2)
        mine += __shfl_xor_sync(~0u, mine, d);
    if (threadIdx.x % 32 == 0)
        atomicAdd(votes, mine);
}

/* Two locks, held together, in the order of their numbers. */
__global__ void lane_two_locks(unsigned *locks, volatile unsigned *counts)
{
    unsigned a = threadIdx.x % 5, b = a + 1;

    while (atomicCAS(&locks[a], 0, 1) != 0)
        ;
    while (atomicCAS(&locks[b], 0, 1) != 0)
        ;
    add_one(&counts[a]);
    add_one(&counts[b]);
    __threadfence();
    atomicExch(&locks[b], 0);
    atomicExch(&locks[a], 0);
}

/* A ticket lock. */
__global__ void lane_tickets(unsigned *next, volatile unsigned *serving,
                             volatile unsigned *count)
{
    unsigned mine = atomicAdd(next, 1);

    while (*serving != mine)
        ;
    add_one(count);
    *serving = mine + 1;
}

/* One lane waits for another: on either side of a branch, and behind it. */
__global__ void lane_waits_first(volatile unsigned *flag, unsigned *out)
{
    if (threadIdx.x % 32 == 0) {
        while (*flag == 0)
            ;
        out[threadIdx.x / 32] = *flag;
    } else if (threadIdx.x % 32 == 7) {
        *flag = 7;
    }
}

__global__ void lane_waits_second(volatile unsigned *flag, unsigned *out)
{
    if (threadIdx.x % 32 != 0) {
        if (threadIdx.x % 32 == 7)
            *flag = 7;
    } else {
        while (*flag == 0)
            ;
        out[threadIdx.x / 32] = *flag;
    }
}

__global__ void lane_waits_behind(volatile unsigned *flag, unsigned *out)
{
    if (threadIdx.x % 32 == 3)
        while (*flag == 0)
            ;
    out[threadIdx.x] = threadIdx.x + 1;
    if (threadIdx.x % 32 == 9)
        *flag = 9;
}

/* Each lane waits for the one after it, again and again. */
__global__ void lanes_in_reverse(volatile unsigned *turn, unsigned *out,
                                 unsigned rounds)
{
    for (unsigned r = 0; r < rounds; r++) {
        while (*turn != (r + 1) * 32 - threadIdx.x % 32)
            ;
        out[threadIdx.x % 32] += *turn;
        if (threadIdx.x % 32)
            *turn = *turn + 1;
        else
            *turn = (r + 1) * 32 + 1;
    }
}

/* Two lanes hand items to each other. */
__global__ void lanes_hand_over(volatile unsigned *cell, unsigned *out,
                                unsigned items)
{
    if (threadIdx.x == 0)
        for (unsigned i = 1; i <= items; i++) {
            while (*cell != 0)
                ;
            *cell = i;
        }
    else if (threadIdx.x == 1)
        for (unsigned i = 1; i <= items; i++) {
            while (*cell == 0)
                ;
            out[0] += *cell;
            *cell = 0;
        }
}

/* --- across kernels --- */

__global__ void wait_for(volatile unsigned *flag, unsigned *out)
{
    while (*flag == 0)
        ;
    if (threadIdx.x == 0)
        atomicAdd(out, *flag);
}

__global__ void set(volatile unsigned *flag, unsigned value)
{
    *flag = value;
}
}
