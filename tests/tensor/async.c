/* SPDX-License-Identifier: MIT
 *
 * cp.async, mbarrier, cp.async.bulk, st.async and red.async, elect.sync, and
 * what a cluster of one block answers.
 */
#include "../api/api.h"
#include "words.h"

#include <string.h>

/* %r5: room. %x1: out + 4 t, %x2: in + 16 t, %r4: room + 16 t. */
#define START                                                                  \
    "mov.u32 %r5, room;\nmul.wide.u32 %x0, %t, 4;\nadd.u64 %x1, %out, %x0;\n"  \
    "mul.wide.u32 %x0, %t, 16;\nadd.u64 %x2, %in, %x0;\n"                      \
    "shl.b32 %r4, %t, 4;\nadd.u32 %r4, %r4, %r5;\n"
/* The upper half of room, which was zero: 16 t behind it. */
#define UPPER        "16384"
#define PUT(reg, at) "st.global.u32 [%x1+" at "], " reg ";\n"
/* 16 bytes of each of 32 lanes, from shared memory at %r4 + 16384. */
#define PUT_ROWS                                                               \
    "bar.warp.sync 0xffffffff;\nshl.b32 %r20, %lane, 2;\n"                     \
    "add.u32 %r20, %r20, %r5;\n"                                               \
    "ld.shared.u32 %r21, [%r20+16384];\n" PUT(                                 \
        "%r21", "0") "ld.shared.u32 "                                          \
                     "%r21, "                                                  \
                     "[%r20+16512];"                                           \
                     "\n" PUT("%r21", "128") "ld.shared.u32 %r21, "            \
                                             "[%r20+16640];\n" PUT(            \
                                                 "%r21",                       \
                                                 "256") "ld."                  \
                                                        "shared"               \
                                                        ".u32 "                \
                                                        "%r21, "               \
                                                        "[%r20+"               \
                                                        "16768]"               \
                                                        ";"                    \
                                                        "\n" PUT("%r21",       \
                                                                 "384")

/* --- cp.async --- */

static uint32_t whole(uint32_t at)
{
    return in_words[at];
}

static uint32_t first_word(uint32_t at)
{
    return at % 4 ? 0 : in_words[at];
}

static uint32_t odd_lanes(uint32_t at)
{
    return at / 4 % 2 ? in_words[at] : 0;
}

/* Lane l takes l mod 17 bytes. */
static uint32_t part(uint32_t at)
{
    const uint32_t n = at / 4 % 17, from = at % 4 * 4;

    return n >= from + 4 ? in_words[at]
           : n <= from   ? 0
                         : in_words[at] & ((1u << (n - from) * 8) - 1);
}

static uint32_t part_of_8(uint32_t at)
{
    const uint32_t n = at / 4 % 9, from = at % 4 * 4;

    return n >= from + 4 ? in_words[at]
           : n <= from   ? 0
                         : in_words[at] & ((1u << (n - from) * 8) - 1);
}

#define COMMIT "cp.async.commit_group;\ncp.async.wait_group 0;\n"

static void run_copies(void)
{
    words_run("cp.async.cg 16 bytes", 80, 32,
              START "cp.async.cg.shared.global [%r4+" UPPER
                    "], [%x2], 16;\n" COMMIT PUT_ROWS,
              128, whole);
    words_run("cp.async.ca 4 bytes and a hint", 80, 32,
              START "createpolicy.fractional.L2::evict_first.b64 %x9, 1.0;\n"
                    "cp.async.ca.shared.global.L2::cache_hint.L2::128B [%r4"
                    "+" UPPER "], [%x2], 4, %x9;\n"
                    "cp.async.wait_all;\n" PUT_ROWS,
              128, first_word);
    words_run("cp.async of odd lanes alone", 80, 32,
              START "and.b32 %r6, %lane, 1;\nsetp.ne.u32 %p1, %r6, 0;\n"
                    "@%p1 cp.async.ca.shared.global [%r4+" UPPER
                    "], [%x2], 16;\n" COMMIT PUT_ROWS,
              128, odd_lanes);
    words_run("cp.async with a source size", 80, 32,
              START "rem.u32 %r6, %lane, 17;\n"
                    "cp.async.ca.shared.global [%r4+" UPPER
                    "], [%x2], 16, %r6;\n" COMMIT PUT_ROWS,
              128, part);
    words_run("cp.async of 8 bytes with a source size", 80, 32,
              START "rem.u32 %r6, %lane, 9;\n"
                    "cp.async.ca.shared.global [%r4+" UPPER
                    "], [%x2], 8, %r6;\n" COMMIT PUT_ROWS,
              128, part_of_8);
    words_run("cp.async reads no source of size 0", 80, 32,
              START "and.b32 %r6, %lane, 1;\nsetp.eq.u32 %p1, %r6, 0;\n"
                    "shl.b32 %r6, %r6, 4;\nselp.b64 %x2, 0, %x2, %p1;\n"
                    "cp.async.cg.shared.global [%r4+" UPPER
                    "], [%x2], 16, %r6;\n" COMMIT PUT_ROWS,
              128, odd_lanes);
    words_run("cp.async that ignores the source of even lanes", 80, 32,
              START "and.b32 %r6, %lane, 1;\nsetp.eq.u32 %p1, %r6, 0;\n"
                    "cp.async.cg.shared.global [%r4+" UPPER
                    "], [%x2], 16, %p1;\n" COMMIT PUT_ROWS,
              128, odd_lanes);
}

/* Texts of kernels are set by hand. */
/* clang-format off */

/* --- mbarrier --- */

static uint32_t pipeline(uint32_t at)
{
    /* thread t of the second warp has the sum of what the first one put there
     * in 20 rounds */
    return at < 32 ? 0 : 20 * (at - 32) + 190;
}

static uint32_t one(uint32_t at)
{
    (void)at;
    return 1;
}

static uint32_t counts(uint32_t at)
{
    static const uint32_t seen[] = {3, 0, 2, 0, 1, 0, 1, 2, 0, 1};

    return seen[at / 32];
}

#define IF_FIRST "setp.eq.u32 %p7, %t, 0;\n"

/* Two barriers, full at room + 32768 - 64 and empty behind it; the first warp
 * writes t + round, the second adds it up. */
static const char pipeline_text[] = START IF_FIRST
    "add.u32 %r30, %r5, 32704;\nadd.u32 %r31, %r5, 32712;\n"
    "@%p7 mbarrier.init.shared.b64 [%r30], 32;\n"
    "@%p7 mbarrier.init.shared.b64 [%r31], 32;\nbar.sync 0;\n"
    "shl.b32 %r6, %lane, 2;\nadd.u32 %r6, %r6, %r5;\n"
    "mov.u32 %r7, 0;\nmov.u32 %r8, 0;\n" /* round, sum */
    "setp.ne.u32 %p1, %warp, 0;\n@%p1 bra CONSUME;\n"
    "PRODUCE:\n"
    "and.b32 %r9, %r7, 1;\nxor.b32 %r9, %r9, 1;\n"
    "P1: mbarrier.try_wait.parity.shared.b64 %p2, [%r31], %r9;\n"
    "@!%p2 bra P1;\n"
    "add.u32 %r10, %lane, %r7;\nst.shared.u32 [%r6], %r10;\n"
    "mbarrier.arrive.shared.b64 %x5, [%r30];\n"
    "add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p3, %r7, 20;\n@%p3 bra PRODUCE;\n"
    "bra DONE;\n"
    "CONSUME:\n"
    "and.b32 %r9, %r7, 1;\n"
    "C1: mbarrier.test_wait.parity.shared.b64 %p2, [%r30], %r9;\n"
    "@!%p2 bra C1;\n"
    "ld.shared.u32 %r10, [%r6];\nadd.u32 %r8, %r8, %r10;\n"
    "mbarrier.arrive.shared.b64 _, [%r31];\n"
    "add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p3, %r7, 20;\n@%p3 bra CONSUME;\n"
    "DONE:\n" PUT("%r8", "0");

/* All of a block arrive and wait by their states, three times. */
static const char states_text[] = START IF_FIRST
    "add.u32 %r30, %r5, 32704;\n"
    "@%p7 mbarrier.init.shared.b64 [%r30], 96;\nbar.sync 0;\n"
    "mov.u32 %r7, 0;\n"
    "AGAIN: mbarrier.arrive.release.cta.shared::cta.b64 %x5, [%r30];\n"
    "W: mbarrier.try_wait.acquire.cta.shared::cta.b64 %p2, [%r30], %x5;\n"
    "@!%p2 bra W;\nadd.u32 %r7, %r7, 1;\nsetp.lt.u32 %p3, %r7, 3;\n"
    "@%p3 bra AGAIN;\nmov.u32 %r6, 1;\n" PUT("%r6", "0");

#define TEST(at)                                                               \
    "mbarrier.test_wait.parity.shared.b64 %p2, [%r30], 0;\n"                   \
    "selp.u32 %r6, 1, 0, %p2;\n" PUT("%r6", at)
#define TEST_1(at)                                                             \
    "mbarrier.test_wait.parity.shared.b64 %p2, [%r30], 1;\n"                   \
    "selp.u32 %r6, 1, 0, %p2;\n" PUT("%r6", at)
#define PENDING(at) "mbarrier.pending_count.b64 %r6, %x5;\n" PUT("%r6", at)

/* One lane, by itself: counts, bytes and drops. */
static const char counts_text[] = START IF_FIRST
    "setp.ne.u32 %p1, %t, 0;\n@%p1 bra OUT;\n"
    "add.u32 %r30, %r5, 32704;\nmbarrier.init.shared.b64 [%r30], 3;\n"
    "mbarrier.arrive.shared.b64 %x5, [%r30];\n" PENDING("0") TEST("128")
    "mbarrier.arrive.noComplete.shared.b64 %x5, [%r30], 1;\n" PENDING("256")
    "mbarrier.arrive.expect_tx.shared.b64 %x5, [%r30], 48;\n" TEST("384")
    PENDING("512")
    "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r30], 16;\n"
    TEST("640")
    "mbarrier.complete_tx.shared::cta.b64 [%r30], 32;\n" TEST("768")
    /* the second phase has 3 again: one leaves for good */
    "mbarrier.arrive_drop.shared.b64 %x5, [%r30];\n"
    "mbarrier.arrive.shared.b64 %x5, [%r30];\n" PENDING("896")
    TEST_1("1024")
    "mbarrier.arrive.shared.b64 %x5, [%r30];\n" TEST_1("1152")
    "mbarrier.inval.shared.b64 [%r30];\nOUT:\n";

static uint32_t counted(uint32_t at)
{
    return at % 32 ? 0x5a5a5a5a : counts(at);
}

/* --- bulk copies --- */

static uint32_t there_and_back(uint32_t at)
{
    return in_words[at + 64];
}

/* in + 256 to shared by one thread, waited for by all; back to out by one. */
static const char bulk_text[] = START IF_FIRST
    "add.u32 %r30, %r5, 32704;\nadd.u32 %r6, %r5, 16384;\n"
    "@%p7 mbarrier.init.shared.b64 [%r30], 1;\n"
    "fence.mbarrier_init.release.cluster;\nbar.sync 0;\n"
    "add.u64 %x6, %in, 256;\n@!%p7 bra WAIT;\n"
    "mbarrier.arrive.expect_tx.shared.b64 _, [%r30], 4096;\n"
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
    "[%r6], [%x6], 4096, [%r30];\n"
    "WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%r30], 0;\n"
    "@!%p2 bra WAIT;\n"
    "fence.proxy.async.shared::cta;\nbar.sync 0;\n@!%p7 bra OUT;\n"
    "cp.async.bulk.global.shared::cta.bulk_group [%out], [%r6], 4096;\n"
    "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\n"
    "cp.async.bulk.wait_group 0;\nOUT:\n";

static uint32_t stored(uint32_t at)
{
    return at < 64 ? in_words[at] + 64 : 64 + 1;
}

/* Each of 64 threads stores its own word and adds one to a common one. */
static const char store_text[] = START IF_FIRST
    "add.u32 %r30, %r5, 32704;\nadd.u32 %r31, %r5, 24576;\n"
    "@%p7 mbarrier.init.shared.b64 [%r30], 1;\n"
    "@%p7 st.shared.u32 [%r31], 1;\nbar.sync 0;\n"
    "@%p7 mbarrier.arrive.expect_tx.shared.b64 _, [%r30], 512;\n"
    "mul.wide.u32 %x0, %t, 4;\nadd.u64 %x2, %in, %x0;\n"
    "ld.global.u32 %r6, [%x2];\nshl.b32 %r7, %t, 2;\nadd.u32 %r7, %r7, %r5;\n"
    "mapa.shared::cluster.u32 %r8, %r7, 0;\n"
    "mapa.shared::cluster.u32 %r9, %r30, 0;\n"
    "add.u32 %r6, %r6, 64;\nmov.u32 %r10, 1;\n"
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 "
    "[%r8+16384], %r6, [%r9];\n"
    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes"
    ".add.u32 [%r31], %r10, [%r9];\n"
    "W: mbarrier.try_wait.parity.shared.b64 %p2, [%r30], 0;\n@!%p2 bra W;\n"
    "ld.shared.u32 %r6, [%r7+16384];\n" PUT(
        "%r6", "0") "ld.shared.u32 %r6, [%r31];\n" PUT("%r6", "256");

/* --- one leader, one block --- */

/* Leaders of two halves of a warp, apart. */
static uint32_t leader(uint32_t at)
{
    return at < 32 ? at / 16 * 16 + 3 : at % 16 == 3;
}

static const char elect_text[] =
    START "and.b32 %r6, %lane, 15;\nsetp.lt.u32 %p1, %r6, 3;\n"
          "mov.u32 %r8, 3;\nand.b32 %r9, %lane, 16;\nadd.u32 %r8, %r8, %r9;\n"
          "mov.u32 %r10, 0;\n@%p1 bra OUT;\n"
          "mov.u32 %r7, 0xfff8;\nshl.b32 %r7, %r7, %r9;\n"
          "setp.ne.u32 %p3, %r9, 0;\n@%p3 bra HIGH;\n"
          "elect.sync %r8|%p2, 0xfff8;\nbra BOTH;\n"
          "HIGH: elect.sync %r8|%p2, 0xfff80000;\n"
          "BOTH: selp.u32 %r10, 1, 0, %p2;\n"
          "OUT:\n" PUT("%r8", "0") PUT("%r10", "128");

static uint32_t ranks(uint32_t at)
{
    static const uint32_t of[] = {0, 1, 0, 1, 1};

    return of[at / 64];
}

/* Written by one half before a cluster barrier, read by the other after. */
static const char cluster_text[] = START
    "mov.u32 %r6, %cluster_ctarank;\n" PUT("%r6", "0")
    "mov.u32 %r6, %cluster_nctarank;\n" PUT("%r6", "256")
    "getctarank.shared::cluster.u32 %r6, %r4;\n" PUT("%r6", "512")
    "mapa.shared::cluster.u32 %r6, %r4, 0;\nsetp.eq.u32 %p1, %r6, %r4;\n"
    "selp.u32 %r6, 1, 0, %p1;\n" PUT("%r6", "768")
    "mov.u32 %r6, 1;\nst.shared.u32 [%r4+16384], %r6;\n"
    "barrier.cluster.arrive.release.aligned;\n"
    "barrier.cluster.wait.acquire.aligned;\n"
    "xor.b32 %r7, %t, 63;\nshl.b32 %r7, %r7, 4;\nadd.u32 %r7, %r7, %r5;\n"
    "ld.shared::cluster.u32 %r6, [%r7+16384];\n" PUT("%r6", "1024");

/* The first warp has come to the cluster's barrier, and waits there only when
 * another warp has left it; the third ends before. Twice. */
static const char ahead_text[] = START
    "setp.eq.u32 %p2, %warp, 2;\n@%p2 exit;\n"
    "setp.eq.u32 %p1, %warp, 0;\nadd.u32 %r30, %r5, 16384;\n"
    "mov.u32 %r7, 1;\n"
    "AGAIN: barrier.cluster.arrive.release;\n@!%p1 bra WAIT;\n"
    "SPIN: ld.volatile.shared.u32 %r6, [%r30];\nsetp.lt.u32 %p3, %r6, %r7;\n"
    "@%p3 bra SPIN;\n"
    "WAIT: barrier.cluster.wait.acquire;\n@%p1 bra NEXT;\n"
    "st.volatile.shared.u32 [%r30], %r7;\n"
    "NEXT: add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p3, %r7, 3;\n"
    "@%p3 bra AGAIN;\n" PUT("%r7", "0");

static uint32_t three(uint32_t at)
{
    return at < 64 ? 3 : 0x5a5a5a5a;
}

/* clang-format on */

int main(void)
{
    test_start();
    test_need_compiler();
    words_open();
    run_copies();
    words_run("a pipeline of two warps through mbarriers", 90, 64,
              pipeline_text, 64, pipeline);
    words_run("mbarrier waits by state", 90, 96, states_text, 96, one);
    words_run("mbarrier counts arrivals, bytes and drops", 90, 32, counts_text,
              10 * 32, counted);
    words_run("cp.async.bulk to shared memory and back", 90, 128, bulk_text,
              1024, there_and_back);
    words_in_cluster(1);
    words_run("st.async and red.async", 90, 64, store_text, 128, stored);
    words_in_cluster(0);
    words_run("elect.sync in halves of a warp", 90, 32, elect_text, 64, leader);
    words_in_cluster(1);
    words_run("a cluster of one block", 90, 64, cluster_text, 5 * 64, ranks);
    words_run("a warp that waits later than others at the cluster's barrier",
              90, 96, ahead_text, 96, three);
    return test_end();
}
