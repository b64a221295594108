/* SPDX-License-Identifier: MIT
 *
 * Kernels whose lanes wait for other lanes of their warp: all end. With an
 * argument only the case of that name is run.
 */
#include "waits.h"

/* --- lanes --- */

static void lock_of(const char *name, unsigned blocks, unsigned threads)
{
    CUdeviceptr lock = words(1), count = words(1);
    void *args[] = {&lock, &count};

    run(name, blocks, threads, args);
    CHECK_SAYS(word(count, 0) == blocks * threads,
               "%s counts %u by %u threads: %u", name, blocks, threads,
               word(count, 0));
    OK(cuMemFree_v2(lock));
    OK(cuMemFree_v2(count));
}

static void locks(const char *name)
{
    lock_of(name, 1, 1);
    lock_of(name, 1, 32);
    lock_of(name, 1, 23);
    lock_of(name, 3, 96);
}

static void lane_lock(void)
{
    locks("lane_lock");
}

static void lane_lock_tested(void)
{
    locks("lane_lock_tested");
}

static void lane_lock_done(void)
{
    locks("lane_lock_done");
}

static void lane_lock_in_loop(void)
{
    CUdeviceptr lock = words(1), count = words(1), votes = words(1);
    void *args[] = {&lock, &count, &votes};

    run("lane_lock_in_loop", 2, 64, args);
    CHECK(word(count, 0) == 2 * 128);
    CHECK(word(votes, 0) == 2 * 128);
    OK(cuMemFree_v2(lock));
    OK(cuMemFree_v2(count));
    OK(cuMemFree_v2(votes));
}

static void lane_two_locks(void)
{
    CUdeviceptr locks = words(6), counts = words(6);
    void *args[] = {&locks, &counts};
    unsigned sum = 0;

    run("lane_two_locks", 2, 40, args);
    for (size_t i = 0; i < 6; i++)
        sum += word(counts, i);
    CHECK(sum == 2 * 2 * 40);
    CHECK(word(counts, 0) == 16 && word(counts, 1) == 32);
    OK(cuMemFree_v2(locks));
    OK(cuMemFree_v2(counts));
}

static void lane_tickets(void)
{
    CUdeviceptr next = words(1), serving = words(1), count = words(1);
    void *args[] = {&next, &serving, &count};

    run("lane_tickets", 2, 48, args);
    CHECK(word(count, 0) == 96 && word(serving, 0) == 96);
    OK(cuMemFree_v2(next));
    OK(cuMemFree_v2(serving));
    OK(cuMemFree_v2(count));
}

static void waits_of(const char *name, size_t at, unsigned wanted)
{
    CUdeviceptr flag = words(1), out = words(64);
    void *args[] = {&flag, &out};

    run(name, 1, 32, args);
    CHECK_SAYS(word(out, at) == wanted, "%s finds %u", name, word(out, at));
    OK(cuMemFree_v2(flag));
    OK(cuMemFree_v2(out));
}

static void lane_waits_first(void)
{
    waits_of("lane_waits_first", 0, 7);
}

static void lane_waits_second(void)
{
    waits_of("lane_waits_second", 0, 7);
}

static void lane_waits_behind(void)
{
    waits_of("lane_waits_behind", 3, 4);
}

static void lanes_in_reverse(void)
{
    CUdeviceptr turn = words(1), out = words(32);
    unsigned rounds = 5, bad = 0;
    void *args[] = {&turn, &out, &rounds};

    OK(cuMemsetD32_v2(turn, 1, 1));
    run("lanes_in_reverse", 1, 32, args);
    for (unsigned l = 0; l < 32; l++) {
        unsigned sum = 0;

        for (unsigned r = 0; r < rounds; r++)
            sum += (r + 1) * 32 - l;
        bad += word(out, l) != sum;
    }
    CHECK(!bad);
    OK(cuMemFree_v2(turn));
    OK(cuMemFree_v2(out));
}

static void lanes_hand_over(void)
{
    unsigned items = 50;
    CUdeviceptr cell = words(1), out = words(1);
    void *args[] = {&cell, &out, &items};

    run("lanes_hand_over", 1, 32, args);
    CHECK(word(out, 0) == items * (items + 1) / 2);
    OK(cuMemFree_v2(cell));
    OK(cuMemFree_v2(out));
}

static const struct wait_test tests[] = {
    {"lane_lock", lane_lock},
    {"lane_lock_tested", lane_lock_tested},
    {"lane_lock_done", lane_lock_done},
    {"lane_lock_in_loop", lane_lock_in_loop},
    {"lane_two_locks", lane_two_locks},
    {"lane_tickets", lane_tickets},
    {"lane_waits_first", lane_waits_first},
    {"lane_waits_second", lane_waits_second},
    {"lane_waits_behind", lane_waits_behind},
    {"lanes_in_reverse", lanes_in_reverse},
    {"lanes_hand_over", lanes_hand_over}};

int main(int argc, char **argv)
{
    return wait_tests(TEST_DATA "/progress.ptx", tests,
                      sizeof tests / sizeof *tests, argc, argv);
}
