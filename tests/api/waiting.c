/* SPDX-License-Identifier: MIT
 *
 * More kernels that wait (waiting.cu), as two compilers have them: all end.
 * With an argument only the case of that name is run.
 */
#include <stdlib.h>

#include "waits.h"

static unsigned multiprocessors(void)
{
    int n = 1;

    OK(cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    return (unsigned)n;
}

/* --- lanes --- */

static void counts(const char *name, unsigned blocks, unsigned threads)
{
    CUdeviceptr lock = words(1), count = words(1), tries = words(1);
    void *args[] = {&lock, &count, &tries};

    run(name, blocks, threads, args);
    CHECK_SAYS(word(count, 0) == blocks * threads,
               "%s counts %u by %u threads: %u", name, blocks, threads,
               word(count, 0));
    OK(cuMemFree_v2(lock));
    OK(cuMemFree_v2(count));
    OK(cuMemFree_v2(tries));
}

static void lock_with_sleep(void)
{
    counts("lock_with_sleep", 1, 32);
    counts("lock_with_sleep", 3, 70);
}

static void lock_or_work(void)
{
    counts("lock_or_work", 1, 32);
    counts("lock_or_work", 3, 70);
}

static void shared_locks(void)
{
    enum { THREADS = 256 };
    CUdeviceptr keys = words(THREADS), bins = words(16);
    unsigned host[THREADS], sum[16] = {0}, bad = 0;
    void *args[] = {&keys, &bins};

    for (unsigned i = 0; i < THREADS; i++) {
        host[i] = i * 2654435761u >> 16;
        sum[host[i] % 16] += 3 * host[i];
    }
    OK(cuMemcpyHtoD_v2(keys, host, sizeof host));
    run("shared_locks", 1, THREADS, args);
    for (unsigned i = 0; i < 16; i++)
        bad += word(bins, i) != sum[i];
    CHECK(!bad);
    OK(cuMemFree_v2(keys));
    OK(cuMemFree_v2(bins));
}

static void ring_of_lanes(void)
{
    unsigned rounds = 20, bad = 0;
    CUdeviceptr turn = words(1), out = words(64);
    void *args[] = {&turn, &out, &rounds};

    run("ring_of_lanes", 1, 32, args);
    /* lane k has seen k, k + 3, ... */
    for (unsigned k = 0; k < 3; k++)
        bad += word(out, k) != rounds * k + 3 * rounds * (rounds - 1) / 2;
    for (unsigned k = 0; k < 32; k++)
        bad += k != 3 && k != 11 && k != 30 && word(out, 3 + k) != k;
    CHECK(!bad);
    OK(cuMemFree_v2(turn));
    OK(cuMemFree_v2(out));
}

static void sequence_lock(void)
{
    unsigned rounds = 50;
    CUdeviceptr seq = words(1), pair = words(2), bad = words(1);
    void *args[] = {&seq, &pair, &bad, &rounds};

    run("sequence_lock", 1, 128, args);
    CHECK(word(pair, 0) == rounds && word(bad, 0) == 0);
    OK(cuMemFree_v2(seq));
    OK(cuMemFree_v2(pair));
    OK(cuMemFree_v2(bad));
}

/* --- warps and blocks --- */

static void ring_of_warps(void)
{
    unsigned items = 100;
    CUdeviceptr cells = words(3), out = words(3);
    void *args[] = {&cells, &out, &items};

    run("ring_of_warps", 1, 96, args);
    for (unsigned w = 0; w < 3; w++)
        CHECK(word(out, w) == items * (items + 1) / 2);
    OK(cuMemFree_v2(cells));
    OK(cuMemFree_v2(out));
}

static void barrier_in_rounds(void)
{
    const unsigned blocks = multiprocessors() * 16;
    unsigned rounds = 12, wrong = 0;
    CUdeviceptr arrived = words(1), cells = words((size_t)blocks * 2);
    void *args[] = {&arrived, &cells, &rounds};

    OK(cuMemsetD32_v2(cells, 1, blocks));
    run("barrier_in_rounds", blocks, 64, args);
    for (unsigned i = 0; i < blocks; i++)
        wrong += word(cells, i) != 1u << rounds;
    CHECK(!wrong);
    OK(cuMemFree_v2(arrived));
    OK(cuMemFree_v2(cells));
}

/* More blocks than there is room for, each waits for the one before. */
static void in_order(void)
{
    enum { BLOCKS = 2000 };
    unsigned sum = 0;
    CUdeviceptr turn = words(1), out = words(BLOCKS);
    void *args[] = {&turn, &out};

    run("in_order", BLOCKS, 64, args);
    for (unsigned b = 0; b < BLOCKS; b++)
        sum = sum * 3 + b;
    CHECK(word(turn, 0) == BLOCKS);
    CHECK(word(out, 0) == sum && word(out, BLOCKS - 1) == sum);
    OK(cuMemFree_v2(turn));
    OK(cuMemFree_v2(out));
}

/* As many as are promised to be under way, each waits for the one behind. */
static void backwards(void)
{
    const unsigned blocks = multiprocessors() * 32;
    CUdeviceptr turn = words(1), out = words(blocks);
    void *args[] = {&turn, &out};
    unsigned wrong = 0;

    OK(cuMemsetD32_v2(turn, 1, 1));
    run("backwards", blocks, 64, args);
    for (unsigned b = 0; b < blocks; b++)
        wrong += word(out, b) != blocks - b;
    CHECK(!wrong);
    OK(cuMemFree_v2(turn));
    OK(cuMemFree_v2(out));
}

static const struct wait_test tests[] = {
    {"lock_with_sleep", lock_with_sleep},
    {"lock_or_work", lock_or_work},
    {"shared_locks", shared_locks},
    {"ring_of_lanes", ring_of_lanes},
    {"sequence_lock", sequence_lock},
    {"ring_of_warps", ring_of_warps},
    {"barrier_in_rounds", barrier_in_rounds},
    {"in_order", in_order},
    {"backwards", backwards}};

int main(int argc, char **argv)
{
    wait_tests(TEST_DATA "/waiting.ptx", tests, sizeof tests / sizeof *tests,
               argc, argv);
    return wait_tests(TEST_DATA "/waiting-clang.ptx", tests,
                      sizeof tests / sizeof *tests, argc, argv);
}
