/* SPDX-License-Identifier: MIT
 *
 * Source of waiting.ptx and waiting-clang.ptx:
 *     nvcc -ptx -arch=compute_75 -o waiting.ptx waiting.cu
 *     clang -x cuda --cuda-device-only -nocudainc -nocudalib -O2
 *         --cuda-gpu-arch=sm_75 -fms-extensions -Wno-unknown-cuda-version
 *         -include src/compile/device.h -S -o waiting-clang.ptx waiting.cu
 *
 * More ways to wait, as they are written: with back-off, in rounds, in rings,
 * by turns, for locks in shared memory. Compilers differ in where they leave
 * the lanes of a warp that go different ways, so that two have compiled it.
 */
#ifdef __clang__
static __device__ void __nanosleep(unsigned ns)
{
    asm volatile("nanosleep.u32 %0;" ::"r"(ns));
}
#endif

extern "C" {

__device__ void once_more(volatile unsigned *count)
{
    unsigned v = *count;

    __threadfence();
    *count = v + 1;
    __threadfence();
}

/* --- lanes --- */

/* The lock of the CUDA programming guide: back off, twice as long each time. */
__global__ void lock_with_sleep(unsigned *lock, volatile unsigned *count)
{
    unsigned ns = 8;

    while (atomicCAS(lock, 0, 1) == 1) {
        __nanosleep(ns);
        if (ns < 256)
            ns *= 2;
    }
    once_more(count);
    atomicExch(lock, 0);
}

/* Try, and do something else when that fails. */
__global__ void lock_or_work(unsigned *lock, volatile unsigned *count,
                             unsigned *tries)
{
    bool done = false;

    do {
        if (atomicCAS(lock, 0, 1) == 0) {
            once_more(count);
            atomicExch(lock, 0);
            done = true;
        } else {
            atomicAdd(tries, 1);
        }
    } while (!done);
}

/* A lock a bin, in shared memory, held for a few steps. */
__global__ void shared_locks(const unsigned *keys, unsigned *bins)
{
    __shared__ unsigned locks[16];
    __shared__ volatile unsigned sums[16];
    unsigned key = keys[threadIdx.x] % 16;

    if (threadIdx.x < 16)
        locks[threadIdx.x] = sums[threadIdx.x] = 0;
    __syncthreads();
    for (int round = 0; round < 3; round++) {
        bool waits = true;

        while (waits) {
            if (atomicExch(&locks[key], 1) == 0) {
                sums[key] = sums[key] + keys[threadIdx.x];
                __threadfence_block();
                atomicExch(&locks[key], 0);
                waits = false;
            }
        }
        __syncthreads();
    }
    if (threadIdx.x < 16)
        bins[threadIdx.x] = sums[threadIdx.x];
}

/* Three lanes hand a token round; the others are elsewhere. */
__global__ void ring_of_lanes(volatile unsigned *turn, unsigned *out,
                              unsigned rounds)
{
    unsigned me = threadIdx.x % 32;

    if (me == 3 || me == 11 || me == 30) {
        unsigned place = me == 3 ? 0 : me == 11 ? 1 : 2;

        for (unsigned r = 0; r < rounds; r++) {
            while (*turn % 3 != place)
                ;
            out[place] += *turn;
            __threadfence();
            *turn = *turn + 1;
        }
    } else {
        out[3 + me] = me;
    }
}

/* Readers and one writer: a sequence lock. */
__global__ void sequence_lock(volatile unsigned *seq, volatile unsigned *pair,
                              unsigned *bad, unsigned rounds)
{
    if (threadIdx.x == 0) {
        for (unsigned r = 1; r <= rounds; r++) {
            *seq = 2 * r - 1;
            __threadfence();
            pair[0] = r;
            pair[1] = 3 * r;
            __threadfence();
            *seq = 2 * r;
            __threadfence();
        }
    } else {
        unsigned seen = 0;

        while (seen != rounds) {
            unsigned before = *seq, a, b;

            __threadfence();
            a = pair[0];
            b = pair[1];
            __threadfence();
            if (before % 2 == 0 && before == *seq) {
                if (b != 3 * a)
                    atomicAdd(bad, 1);
                seen = a;
            }
        }
    }
}

/* --- warps --- */

/* Three warps: one makes, one passes on, one takes. */
__global__ void ring_of_warps(volatile unsigned *cells, unsigned *out,
                              unsigned items)
{
    unsigned warp = threadIdx.x / 32;

    if (threadIdx.x % 32)
        return;
    for (unsigned i = 1; i <= items; i++) {
        unsigned next = (warp + 1) % 3;

        if (warp || i > 1) /* the first has the token at the start */
            while (cells[warp] == 0)
                ;
        if (warp || i > 1)
            cells[warp] = 0;
        __threadfence();
        out[warp] += i;
        __threadfence();
        while (cells[next])
            ;
        cells[next] = 1;
    }
}

/* --- blocks --- */

/* A barrier of all blocks in rounds, by a count that only grows. */
__global__ void barrier_in_rounds(unsigned *arrived, unsigned *cells,
                                  unsigned rounds)
{
    unsigned n = gridDim.x;

    for (unsigned r = 0; r < rounds; r++) {
        volatile unsigned *from = cells + (r & 1) * n;
        volatile unsigned *to = cells + (~r & 1) * n;

        if (threadIdx.x == 0)
            to[blockIdx.x] = from[blockIdx.x] + from[(blockIdx.x + 1) % n];
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) {
            atomicAdd(arrived, 1);
            while (*(volatile unsigned *)arrived < (r + 1) * n)
                ;
            __threadfence();
        }
        __syncthreads();
    }
}

/* Blocks one after the other, in their order. */
__global__ void in_order(unsigned *turn, unsigned *out)
{
    if (threadIdx.x == 0) {
        while (atomicAdd(turn, 0) != blockIdx.x)
            ;
        out[blockIdx.x] = *out * 3 + blockIdx.x;
        *out = out[blockIdx.x];
        __threadfence();
        atomicAdd(turn, 1);
    }
    __syncthreads();
}

/* The same backwards, and all threads wait. */
__global__ void backwards(volatile unsigned *turn, unsigned *out)
{
    while (*turn != gridDim.x - blockIdx.x)
        ;
    __syncthreads();
    if (threadIdx.x == 0) {
        out[blockIdx.x] = *turn;
        __threadfence();
        *turn = *turn + 1;
    }
}
}
