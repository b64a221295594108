/* SPDX-License-Identifier: MIT
 *
 * Kernels that wait for other blocks, warps, kernels and the host: all end.
 * With an argument only the case of that name is run.
 */
#include <stdlib.h>
#include <string.h>

#include "waits.h"

/* --- blocks --- */

static int multiprocessors(void)
{
    int n = 1;

    OK(cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    return n;
}

static void grid_of(unsigned blocks, unsigned threads, unsigned rounds)
{
    CUdeviceptr cells = words((size_t)blocks * 2);
    unsigned *now = calloc(blocks, sizeof *now);
    unsigned *then = calloc(blocks, sizeof *then);
    void *args[] = {&cells, &rounds};

    for (unsigned i = 0; i < blocks; i++)
        now[i] = i * i + 1;
    OK(cuMemcpyHtoD_v2(cells, now, blocks * sizeof *now));
    OK(cuLaunchCooperativeKernel(function("grid_sync"), blocks, 1, 1, threads,
                                 1, 1, 0, NULL, args));
    OK(cuCtxSynchronize());
    for (unsigned r = 0; r < rounds; r++) {
        for (unsigned i = 0; i < blocks; i++)
            then[i] = now[i] + now[(i + 1) % blocks];
        memcpy(now, then, blocks * sizeof *now);
    }
    OK(cuMemcpyDtoH_v2(then, cells + (rounds & 1) * blocks * sizeof(unsigned),
                       blocks * sizeof *then));
    CHECK_SAYS(!memcmp(now, then, blocks * sizeof *now),
               "%u blocks of %u threads keep step over %u grid barriers",
               blocks, threads, rounds);
    free(now);
    free(then);
    OK(cuMemFree_v2(cells));
}

static void grid_sync(void)
{
    const unsigned cores = (unsigned)multiprocessors();
    CUfunction f = function("grid_sync");
    int most = 0, has = 0;
    unsigned rounds = 1;
    CUdeviceptr cells = words(2);
    void *args[] = {&cells, &rounds};

    OK(cuDeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 0));
    CHECK(has == 1);
    grid_of(1, 32, 3);
    grid_of(cores, 256, 50);
    grid_of(cores * 4, 64, 20);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&most, f, 128, 0));
    CHECK(most >= 1);
    grid_of(cores * (unsigned)most, 128, 10);
    IS(cuLaunchCooperativeKernel(f, cores * (unsigned)most + 1, 1, 1, 128, 1, 1,
                                 0, NULL, args),
       CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    OK(cuMemFree_v2(cells));
}

/* Two at once, from two streams. */
static void grid_sync_twice(void)
{
    const unsigned blocks = (unsigned)multiprocessors() * 3;
    unsigned rounds = 10;
    CUdeviceptr cells[2] = {words(blocks * 2), words(blocks * 2)};
    CUstream streams[2];

    for (int i = 0; i < 2; i++) {
        void *args[] = {&cells[i], &rounds};

        OK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
        OK(cuMemsetD32_v2(cells[i], 1, blocks));
        OK(cuCtxSynchronize());
        OK(cuLaunchCooperativeKernel(function("grid_sync"), blocks, 1, 1, 64, 1,
                                     1, 0, streams[i], args));
    }
    for (int i = 0; i < 2; i++) {
        OK(cuStreamSynchronize(streams[i]));
        CHECK(word(cells[i], blocks - 1) == 1u << rounds);
        OK(cuStreamDestroy_v2(streams[i]));
        OK(cuMemFree_v2(cells[i]));
    }
}

static void own_barrier(void)
{
    const unsigned blocks = (unsigned)multiprocessors() * 8;
    CUdeviceptr arrived = words(1), out = words((size_t)blocks * 64);
    void *args[] = {&arrived, &out};

    run("own_barrier", blocks, 64, args);
    CHECK(word(out, 0) == blocks);
    CHECK(word(out, blocks * 64 - 1) == blocks);
    OK(cuMemFree_v2(arrived));
    OK(cuMemFree_v2(out));
}

static void look_back(void)
{
    const unsigned blocks = 300, n = blocks * 256;
    CUdeviceptr in = words(n), out = words(n), sums = words(blocks);
    CUdeviceptr flags = words(blocks), ticket = words(1);
    unsigned *host = malloc(n * sizeof *host), sum = 0, bad = 0;
    void *args[] = {&in, &out, &sums, &flags, &ticket};

    for (unsigned i = 0; i < n; i++)
        host[i] = i * 2654435761u >> 20;
    OK(cuMemcpyHtoD_v2(in, host, n * sizeof *host));
    run("look_back", blocks, 256, args);
    for (unsigned i = 0; i < n; i++) {
        sum += host[i];
        host[i] = sum;
    }
    for (unsigned i = 0; i < n; i += 97)
        bad += word(out, i) != host[i];
    CHECK(!bad);
    free(host);
    OK(cuMemFree_v2(in));
    OK(cuMemFree_v2(out));
    OK(cuMemFree_v2(sums));
    OK(cuMemFree_v2(flags));
    OK(cuMemFree_v2(ticket));
}

static void look_back_window(void)
{
    const unsigned blocks = 500;
    CUdeviceptr in = words(blocks), out = words((size_t)blocks * 64);
    CUdeviceptr tiles = words((size_t)blocks * 2);
    unsigned host[500], sum = 0, bad = 0;
    void *args[] = {&in, &out, &tiles};

    for (unsigned i = 0; i < blocks; i++)
        host[i] = i * 7 + 1;
    OK(cuMemcpyHtoD_v2(in, host, sizeof host));
    run("look_back_window", blocks, 64, args);
    for (unsigned i = 0; i < blocks; i++) {
        sum += host[i];
        bad += word(out, i * 64) != sum;
        bad += word(out, i * 64 + 63) != sum;
    }
    CHECK(!bad);
    OK(cuMemFree_v2(in));
    OK(cuMemFree_v2(out));
    OK(cuMemFree_v2(tiles));
}

static void block_lock(void)
{
    CUdeviceptr lock = words(1), count = words(1);
    void *args[] = {&lock, &count};

    run("block_lock", 1000, 64, args);
    CHECK(word(count, 0) == 1000);
    OK(cuMemFree_v2(lock));
    OK(cuMemFree_v2(count));
}

/* --- warps --- */

static void warps(void)
{
    unsigned items = 200;
    CUdeviceptr cell = words(1), out = words(1024);
    void *args[] = {&cell, &out, &items}, *reverse[] = {&out};

    run("warps_hand_over", 1, 64, args);
    CHECK(word(out, 0) == items * (items + 1) / 2);
    run("warps_hand_over", 1, 1024, args);
    CHECK(word(out, 0) == items * (items + 1));
    run("warps_in_reverse", 1, 1024, reverse);
    CHECK(word(out, 0) == 1 && word(out, 1023) == 32);
    OK(cuMemFree_v2(cell));
    OK(cuMemFree_v2(out));
}

/* --- kernels and the host --- */

/* More blocks than cores wait for a kernel of another stream. */
static void another_kernel(void)
{
    CUdeviceptr flag = words(1), out = words(1);
    unsigned value = 3;
    void *waits[] = {&flag, &out}, *sets[] = {&flag, &value};
    CUstream first, second;

    OK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    OK(cuLaunchKernel(function("wait_for"), 10, 1, 1, 64, 1, 1, 0, first, waits,
                      NULL));
    OK(cuLaunchKernel(function("set"), 1, 1, 1, 1, 1, 1, 0, second, sets,
                      NULL));
    OK(cuStreamSynchronize(first));
    CHECK(word(out, 0) == 30);
    OK(cuStreamDestroy_v2(first));
    OK(cuStreamDestroy_v2(second));
    OK(cuMemFree_v2(flag));
    OK(cuMemFree_v2(out));
}

static void the_host(void)
{
    volatile unsigned *flag;
    void *host = NULL;
    CUdeviceptr at = 0, out = words(1);
    void *args[] = {&at, &out};

    OK(cuMemHostAlloc(&host, 4, CU_MEMHOSTALLOC_DEVICEMAP));
    OK(cuMemHostGetDevicePointer_v2(&at, host, 0));
    flag = host;
    *flag = 0;
    OK(cuLaunchKernel(function("wait_for"), 7, 1, 1, 32, 1, 1, 0, NULL, args,
                      NULL));
    IS(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    *flag = 2;
    OK(cuCtxSynchronize());
    CHECK(word(out, 0) == 14);
    OK(cuMemFreeHost(host));
    OK(cuMemFree_v2(out));
}

static const struct wait_test tests[] = {{"grid_sync", grid_sync},
                                         {"grid_sync_twice", grid_sync_twice},
                                         {"own_barrier", own_barrier},
                                         {"look_back", look_back},
                                         {"look_back_window", look_back_window},
                                         {"block_lock", block_lock},
                                         {"warps", warps},
                                         {"another_kernel", another_kernel},
                                         {"the_host", the_host}};

int main(int argc, char **argv)
{
    return wait_tests(TEST_DATA "/progress.ptx", tests,
                      sizeof tests / sizeof *tests, argc, argv);
}
