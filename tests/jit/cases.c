/* SPDX-License-Identifier: MIT
 *
 * PTX that compilers do not write, in control flow above all: each case is a
 * body, the word that every thread must leave in out[gid], and the blocks to
 * run it in. Behind the prologue %gid, %t (tid.x), %b (ctaid.x) and %nt
 * (ntid.x) are set, %in and %out point to in[gid] and out[gid], %base to
 * out[0].
 */
#include "cases.h"
#include "../api/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STORE(reg) "st.global.u32 [%out], " reg ";\n"

static uint32_t in_word(uint32_t i)
{
    uint32_t x = i * 2654435761u + 12345;

    return x ^ x >> 15;
}

/* Said where it fails only. */
#define WORKS(call) ((void)((call) && CHECK_SAYS(0, "%s", #call)))

#define EXPECT(name)                                                           \
    static uint32_t name(uint32_t gid, uint32_t t, uint32_t b, uint32_t nt)
#define UNUSED (void)gid, (void)t, (void)b, (void)nt

EXPECT(guarded_store)
{
    UNUSED;
    return t & 1 ? 11 : 22;
}
EXPECT(guarded_load)
{
    UNUSED;
    return (t % 3 == 0 ? in_word(gid) : 7) + 1;
}
EXPECT(guarded_vector_load)
{
    UNUSED;
    return t & 2 ? in_word(gid & ~1u) ^ in_word(gid | 1u) * 3 : 5 ^ 6 * 3;
}
EXPECT(guarded_atomic)
{
    UNUSED;
    return t & 4 ? 100 + t + 9 : 100 + 9;
}
EXPECT(unpacked)
{
    UNUSED;
    return 0x56781234 + t + 5 - 9 + 0x40000000;
}
EXPECT(converted)
{
    UNUSED;
    return 0x40003f80 + 0x3f802000;
}
EXPECT(guarded_chain)
{
    uint32_t r = gid;

    UNUSED;
    for (uint32_t i = 0; i < 5; i++)
        if (t >> i & 1)
            r = r * 3 + i;
    return r;
}
EXPECT(guarded_unpack)
{
    UNUSED;
    return t & 1 ? gid + 1000 : 1 + 2;
}
EXPECT(return_in_loop)
{
    UNUSED;
    return (t & 7) < 5 ? (t & 7) : 99;
}
EXPECT(branch_to_next)
{
    UNUSED;
    return gid * 2;
}
EXPECT(empty_blocks)
{
    UNUSED;
    return t < 9 ? 3 : 4;
}
EXPECT(two_latches)
{
    uint32_t i = 0, s = 0;

    UNUSED;
    while (i < (t & 15)) {
        i++;
        if (i & 1) {
            s += i;
            continue;
        }
        s += 100;
    }
    return s;
}
EXPECT(constant_1)
{
    UNUSED;
    return 1;
}
EXPECT(first_is_loop)
{
    UNUSED;
    return 5;
}
EXPECT(popc)
{
    uint32_t n = 0;

    UNUSED;
    for (uint32_t i = 0; i < nt; i++)
        n += (i * 7 + b) % 5 < 2;
    return n;
}
EXPECT(and_or)
{
    UNUSED;
    return (b & 1 ? 0 : 1) | (b & 2 ? 0 : 2);
}
EXPECT(produced)
{
    UNUSED;
    return t < 32 ? 1 : (t - 32) * 5 + b;
}
EXPECT(some_warps_meet)
{
    UNUSED;
    return t < 64 ? (63 - t) + 1 : 0;
}
EXPECT(neighbours)
{
    uint32_t v[1024], w[1024];

    UNUSED;
    for (uint32_t i = 0; i < nt; i++)
        v[i] = i + b;
    for (uint32_t k = 0; k < 2 + (b & 3); k++) {
        for (uint32_t i = 0; i < nt; i++)
            w[i] = v[i] * 3 + v[(i + k) % nt];
        memcpy(v, w, sizeof v);
    }
    return v[t];
}
EXPECT(after_loop)
{
    uint32_t i = 0, v = gid;

    UNUSED;
    do {
        v = v * 5 + i;
        i++;
    } while (i < (t & 7));
    return (v ^ (v > 1000 ? 77 : 0)) + (nt - 1 - t);
}
EXPECT(half_returned)
{
    UNUSED;
    if (t & 1)
        return 0;
    return t + 2 < nt ? t + 2 : t;
}
EXPECT(out_of_two)
{
    UNUSED;
    for (uint32_t i = 0; i < 6; i++)
        for (uint32_t j = 0; j < 4; j++)
            if (i * 4 + j == (t & 31))
                return i * 100 + j;
    return 7777;
}
EXPECT(loop_into_loop)
{
    uint32_t i = 0, j = 0, s = 0;

    UNUSED;
    while (i < (t & 3)) {
        i++;
        s += 10;
    }
    do {
        s += i;
        j++;
    } while (j < (t & 5));
    return s;
}
EXPECT(passes_over)
{
    uint32_t r = 0;

    UNUSED;
    if (t & 1) {
        r = 5;
        if (b & 1)
            return r + 1000;
        r += 2;
    } else if (b & 2) {
        r = 9;
    }
    return r + 1;
}
EXPECT(predicates)
{
    uint32_t n = 0;

    UNUSED;
    for (uint32_t i = 0; i < 24; i++)
        n += (gid >> (i & 7)) % 3 == i % 3 ? i : 0;
    return n;
}
EXPECT(shfl_pair)
{
    UNUSED;
    return (t & 31) + 3 < 32 ? t + 3 : 0x1000 + t;
}
EXPECT(carries)
{
    uint64_t x = (uint64_t)in_word(gid) << 32 | 0xfffffff0u;
    uint64_t y = x + t;

    UNUSED;
    return (uint32_t)(y >> 32);
}
/* One flag: sub.cc leaves a carry where nothing is borrowed. */
EXPECT(one_flag)
{
    UNUSED;
    return (t >= 16) + ((t >= 20 ? 8u : 7u) << 4);
}
EXPECT(exit_value_kept)
{
    uint32_t i = 0, v = 0;

    UNUSED;
    for (;;) {
        v = i * i + t;
        if (i >= (t & 7))
            break;
        i++;
    }
    return v;
}

static const struct test_case {
    const char *name, *body;
    uint32_t (*expect)(uint32_t, uint32_t, uint32_t, uint32_t);
    unsigned block; /* 0: any */
    int raw;        /* the body is the whole kernel */
} cases[] = {
    {"a guarded store",
     "and.b32 %r1, %t, 1;\n"
     "setp.ne.u32 %p1, %r1, 0;\n"
     "@%p1 st.global.u32 [%out], 11;\n"
     "@!%p1 st.global.u32 [%out], 22;\n"
     "ret;\n",
     guarded_store, 0, 0},
    {"a guarded load keeps the old value elsewhere",
     "mov.u32 %r2, 7;\n"
     "rem.u32 %r1, %t, 3;\n"
     "setp.eq.u32 %p1, %r1, 0;\n"
     "@%p1 ld.global.u32 %r2, [%in];\n"
     "add.u32 %r2, %r2, 1;\n" STORE("%r2") "ret;\n",
     guarded_load, 0, 0},
    {"a guarded vector load",
     "mov.u32 %r2, 5;\nmov.u32 %r3, 6;\n"
     "and.b32 %r1, %t, 2;\n"
     "setp.ne.u32 %p1, %r1, 0;\n"
     "and.b64 %rd1, %in, -8;\n"
     "@%p1 ld.global.v2.u32 {%r2, %r3}, [%rd1];\n"
     "mul.lo.u32 %r3, %r3, 3;\n"
     "xor.b32 %r2, %r2, %r3;\n" STORE("%r2") "ret;\n",
     guarded_vector_load, 0, 0},
    {"guarded atomics",
     STORE("100") "and.b32 %r1, %t, 4;\n"
                  "setp.ne.u32 %p1, %r1, 0;\n"
                  "@%p1 red.global.add.u32 [%out], %t;\n"
                  "@%p1 atom.global.add.u32 %r3, [%out], 4;\n"
                  "@%p1 atom.global.add.u32 %r3, [%out], 5;\n"
                  "@!%p1 red.global.add.u32 [%out], 9;\n"
                  "ret;\n",
     guarded_atomic, 0, 0},
    {"guards on a chain of one register",
     "mov.u32 %r9, %gid;\n"
     "and.b32 %r1, %t, 1;\nsetp.ne.u32 %p1, %r1, 0;\n"
     "@%p1 mad.lo.u32 %r9, %r9, 3, 0;\n"
     "and.b32 %r1, %t, 2;\nsetp.ne.u32 %p1, %r1, 0;\n"
     "@%p1 mad.lo.u32 %r9, %r9, 3, 1;\n"
     "and.b32 %r1, %t, 4;\nsetp.eq.u32 %p1, %r1, 0;\n"
     "@!%p1 mad.lo.u32 %r9, %r9, 3, 2;\n"
     "and.b32 %r1, %t, 8;\nsetp.eq.u32 %p1, %r1, 0;\n"
     "@!%p1 mad.lo.u32 %r9, %r9, 3, 3;\n"
     "and.b32 %r1, %t, 16;\nsetp.ne.u32 %p1, %r1, 0;\n"
     "@%p1 mad.lo.u32 %r9, %r9, 3, 4;\n" STORE("%r9") "ret;\n",
     guarded_chain, 0, 0},
    {"a guarded mov that unpacks",
     "mov.u32 %r1, 1;\nmov.u32 %r2, 2;\n"
     "mov.u32 %r3, 1000;\n"
     "mov.b64 %rd1, {%gid, %r3};\n"
     "and.b32 %r4, %t, 1;\nsetp.ne.u32 %p1, %r4, 0;\n"
     "@%p1 mov.b64 {%r1, %r2}, %rd1;\n"
     "add.u32 %r1, %r1, %r2;\n" STORE("%r1") "ret;\n",
     guarded_unpack, 0, 0},
    {"a mov that unpacks a constant, or a special register",
     ".reg .b16 %h<8>;\n"
     "mov.b32 {%h0, %h1}, 0x12345678;\nmov.b32 {%h2, %h3}, %tid.x;\n"
     "mov.b64 {%r1, %r2}, 0x900000005;\nmov.b64 {_, %r3}, 0d4000000000000000;\n"
     "mov.b32 %r4, {%h1, %h0};\nmov.b32 %r5, {%h2, %h3};\n"
     "add.u32 %r4, %r4, %r5;\nadd.u32 %r4, %r4, %r1;\n"
     "sub.u32 %r4, %r4, %r2;\nadd.u32 %r4, %r4, %r3;\n" STORE("%r4") "ret;\n",
     unpacked, 0, 0},
    {"cvt of a constant into the formats of 16 bits",
     ".reg .b16 %h<4>;\n"
     "cvt.rn.bf16.f32 %h0, 0f3F800000;\ncvt.rn.relu.f16.f32 %h1, 0f40000000;\n"
     "mov.b32 %r1, {%h0, %h1};\n"
     "cvt.rna.tf32.f32 %r2, 0f3F801001;\nadd.u32 %r1, %r1, %r2;\n" STORE(
         "%r1") "ret;\n",
     converted, 0, 0},
    {"returns out of a loop",
     "mov.u32 %r1, 0;\nand.b32 %r2, %t, 7;\n"
     "L:\n" STORE("%r1") "setp.eq.u32 %p1, %r1, %r2;\n"
                         "@%p1 ret;\n"
                         "add.u32 %r1, %r1, 1;\n"
                         "setp.lt.u32 %p2, %r1, 5;\n"
                         "@%p2 bra L;\n" STORE("99") "ret;\n",
     return_in_loop, 0, 0},
    {"branches to the next instruction",
     "setp.lt.u32 %p1, %t, 5;\n"
     "bra A;\nA:\n"
     "@%p1 bra B;\nB:\n"
     "add.u32 %r1, %gid, %gid;\n"
     "@!%p1 bra C;\nC: D: E:\n" STORE("%r1") "bra F;\nF:\nret;\n",
     branch_to_next, 0, 0},
    {"empty blocks",
     "setp.lt.u32 %p1, %t, 9;\n"
     "@%p1 bra A;\n"
     "bra B;\n"
     "A: bra C;\n"
     "B: bra D;\n"
     "C: mov.u32 %r1, 3;\nbra E;\n"
     "D: mov.u32 %r1, 4;\nbra E;\n"
     "E: bra F;\nF:\n" STORE("%r1") "ret;\n",
     empty_blocks, 0, 0},
    {"unreachable code",
     STORE("1") "ret;\n"
                "X: mov.u32 %r1, 7;\n" STORE("%r1") "bra X;\n",
     constant_1, 0, 0},
    {"unreachable code with a loop of two entries",
     STORE("1") "bra END;\n"
                "X: setp.eq.u32 %p1, %t, 0;\n@%p1 bra Y;\n"
                "Z: add.u32 %r1, %r1, 1;\n"
                "Y: add.u32 %r1, %r1, 2;\nbra Z;\n"
                "END: ret;\n",
     constant_1, 0, 0},
    {"code that runs off the end", STORE("1"), constant_1, 0, 0},
    {"a conditional return at the end",
     STORE("1") "setp.lt.u32 %p1, %t, 5;\n@%p1 ret;\n", constant_1, 0, 0},
    {"a register read before it is written",
     "setp.gt.u32 %p1, %t, 2000;\n"
     "@%p1 bra S;\nmov.u32 %r7, 1;\n"
     "S: and.b32 %r8, %r33, 0;\nor.b32 %r7, %r7, %r8;\n" STORE("%r7") "ret;\n",
     constant_1, 0, 0},
    {"a loop with two latches",
     "mov.u32 %r1, 0;\nmov.u32 %r2, 0;\n"
     "and.b32 %r3, %t, 15;\n"
     "L: setp.ge.u32 %p1, %r1, %r3;\n"
     "@%p1 bra END;\n"
     "add.u32 %r1, %r1, 1;\n"
     "and.b32 %r4, %r1, 1;\n"
     "setp.eq.u32 %p2, %r4, 0;\n"
     "@%p2 bra EVEN;\n"
     "add.u32 %r2, %r2, %r1;\n"
     "bra L;\n"
     "EVEN: add.u32 %r2, %r2, 100;\n"
     "bra L;\n"
     "END:\n" STORE("%r2") "ret;\n",
     two_latches, 0, 0},
    {"a kernel that starts with a loop",
     ".reg .pred %p<3>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<4>;\n"
     "L: ld.param.u64 %rd1, [pout];\n"
     "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\n"
     "mad.lo.u32 %r1, %r2, %r3, %r1;\n"
     "mad.wide.u32 %rd1, %r1, 4, %rd1;\n"
     "atom.global.inc.u32 %r4, [%rd1], 1000;\n"
     "setp.gt.u32 %p1, %r4, 1000;\n"
     "@%p1 bra L;\n"
     "setp.lt.u32 %p1, %r4, 4;\n"
     "@%p1 bra L;\nret;\n",
     first_is_loop, 0, 1},
    {"an address of 16 bits, and a prefetch with a policy",
     ".reg .b16 %h;\nmov.u32 %r1, 1;\n"
     "createpolicy.fractional.L2::evict_first.b64 %rd2, 1.0;\n"
     "cp.async.bulk.prefetch.L2.global.L2::cache_hint [%out], 16, %rd2;\n"
     "mov.u32 %r4, sh;\nmad.lo.u32 %r3, %t, 4, %r4;\nst.shared.u32 [%r3], "
     "%r1;\n"
     "cvt.u16.u32 %h, %r3;\nld.shared.u32 %r2, [%h];\n" STORE("%r2") "ret;\n",
     constant_1, 0, 0},
    {"comparisons whose results go nowhere",
     "mov.u32 %r1, 3;\nsetp.lt.u32 _, %r1, %t;\n"
     "setp.lt.and.u32 _|%p1, %t, 2000, %p1;\nmov.u32 %r2, 0;\n"
     "setp.lt.u32 %p2|_, %t, 2000;\n"
     "@%p2 mov.u32 %r2, 1;\n" STORE("%r2") "ret;\n",
     constant_1, 0, 0},
    {"an empty kernel body", "bra END;\nEND:\n" STORE("1"), constant_1, 0, 0},
    {"bar.red.popc counts the block",
     "mad.lo.u32 %r1, %t, 7, %b;\nrem.u32 %r1, %r1, 5;\n"
     "setp.lt.u32 %p1, %r1, 2;\n"
     "bar.red.popc.u32 %r2, 0, %p1;\n" STORE("%r2") "ret;\n",
     popc, 0, 0},
    {"bar.red.and and .or, negated",
     "and.b32 %r1, %b, 1;\nsetp.eq.u32 %p1, %r1, 0;\n"
     "setp.lt.u32 %p3, %t, 3000;\nand.pred %p1, %p1, %p3;\n"
     "bar.red.and.pred %p2, 0, %p1;\n"
     "selp.u32 %r2, 1, 0, %p2;\n"
     "and.b32 %r1, %b, 2;\nsetp.ne.u32 %p1, %r1, 0;\n"
     "bar.red.or.pred %p2, 0, !%p1;\n"
     "selp.u32 %r3, 2, 0, %p2;\n"
     "or.b32 %r2, %r2, %r3;\n" STORE("%r2") "ret;\n",
     and_or, 0, 0},
    {"bar.arrive lets the producer go on",
     "shl.b32 %r1, %t, 2;\nmov.u32 %r2, sh;\n"
     "setp.ge.u32 %p1, %t, 32;\n@%p1 bra CONSUME;\n"
     "add.u32 %r1, %r1, %r2;\n"
     "mad.lo.u32 %r3, %t, 5, %b;\n"
     "st.shared.u32 [%r1], %r3;\n"
     "bar.arrive 1, 64;\n" STORE(
         "1") "ret;\n"
              "CONSUME: bar.sync 1, 64;\n"
              "add.u32 %r1, %r1, %r2;\nld.shared.u32 %r3, [%r1+-128];\n" STORE(
                  "%r3") "ret;\n",
     produced, 64, 0},
    {"two of four warps meet at a barrier",
     "mov.u32 %r9, 0;\n"
     "setp.lt.u32 %p1, %t, 64;\n"
     "shl.b32 %r1, %t, 2;\nmov.u32 %r2, sh;\nadd.u32 %r1, %r1, %r2;\n"
     "add.u32 %r3, %t, 1;\n"
     "@%p1 st.shared.u32 [%r1], %r3;\n"
     "@%p1 bar.sync 3, 64;\n"
     "sub.u32 %r4, 63, %t;\nshl.b32 %r4, %r4, 2;\nadd.u32 %r4, %r4, %r2;\n"
     "@%p1 ld.shared.u32 %r9, [%r4];\n"
     "bar.sync 0;\n" STORE("%r9") "ret;\n",
     some_warps_meet, 128, 0},
    {"barriers in a loop, the block's own number of rounds",
     "shl.b32 %r1, %t, 2;\nmov.u32 %r2, sh;\nadd.u32 %r1, %r1, %r2;\n"
     "add.u32 %r3, %t, %b;\n"
     "and.b32 %r4, %b, 3;\nadd.u32 %r4, %r4, 2;\nmov.u32 %r5, 0;\n"
     "L: st.shared.u32 [%r1], %r3;\n"
     "bar.sync 0;\n"
     "add.u32 %r6, %t, %r5;\nrem.u32 %r6, %r6, %nt;\n"
     "shl.b32 %r6, %r6, 2;\nadd.u32 %r6, %r6, %r2;\n"
     "ld.shared.u32 %r7, [%r6];\n"
     "bar.sync 0;\n"
     "mad.lo.u32 %r3, %r3, 3, %r7;\n"
     "add.u32 %r5, %r5, 1;\n"
     "setp.lt.u32 %p1, %r5, %r4;\n@%p1 bra L;\n" STORE("%r3") "ret;\n",
     neighbours, 0, 0},
    {"values of a divergent loop live across a barrier",
     "mov.u32 %r1, 0;\nmov.u32 %r2, %gid;\nand.b32 %r3, %t, 7;\n"
     "L: mad.lo.u32 %r2, %r2, 5, %r1;\n"
     "setp.gt.u32 %p2, %r2, 1000;\n"
     "add.u32 %r1, %r1, 1;\n"
     "setp.lt.u32 %p1, %r1, %r3;\n@%p1 bra L;\n"
     "shl.b32 %r4, %t, 2;\nmov.u32 %r5, sh;\nadd.u32 %r4, %r4, %r5;\n"
     "st.shared.u32 [%r4], %t;\n"
     "bar.sync 0;\n"
     "sub.u32 %r6, %nt, 1;\nsub.u32 %r6, %r6, %t;\nshl.b32 %r6, %r6, 2;\n"
     "add.u32 %r6, %r6, %r5;\nld.shared.u32 %r7, [%r6];\n"
     "selp.u32 %r8, 77, 0, %p2;\nxor.b32 %r2, %r2, %r8;\n"
     "add.u32 %r2, %r2, %r7;\n" STORE("%r2") "ret;\n",
     after_loop, 0, 0},
    {"a barrier for those who have not returned",
     STORE("0") "and.b32 %r1, %t, 1;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 ret;\n"
                "shl.b32 %r4, %t, 2;\nmov.u32 %r5, sh;\n"
                "add.u32 %r4, %r4, %r5;\n"
                "st.shared.u32 [%r4], %t;\n"
                "bar.sync 0;\n"
                "mov.u32 %r7, %t;\n"
                "add.u32 %r6, %t, 2;\nsetp.lt.u32 %p2, %r6, %nt;\n"
                "@%p2 ld.shared.u32 %r7, [%r4+8];\n" STORE("%r7") "ret;\n",
     half_returned, 0, 0},
    {"a way out of two loops at once",
     "and.b32 %r9, %t, 31;\nmov.u32 %r1, 0;\n"
     "I: mov.u32 %r2, 0;\n"
     "J: mad.lo.u32 %r3, %r1, 4, %r2;\n"
     "setp.eq.u32 %p1, %r3, %r9;\n@%p1 bra FOUND;\n"
     "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p2, %r2, 4;\n@%p2 bra J;\n"
     "add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p2, %r1, 6;\n@%p2 bra I;\n" STORE(
         "7777") "ret;\n"
                 "FOUND: mad.lo.u32 %r4, %r1, 100, %r2;\n" STORE(
                     "%r4") "ret;\n",
     out_of_two, 0, 0},
    {"a loop that leads into a loop",
     "and.b32 %r8, %t, 3;\nand.b32 %r9, %t, 5;\n"
     "mov.u32 %r1, 0;\nmov.u32 %r2, 0;\nmov.u32 %r3, 0;\n"
     "A: setp.ge.u32 %p1, %r1, %r8;\n@%p1 bra B;\n"
     "add.u32 %r1, %r1, 1;\nadd.u32 %r3, %r3, 10;\nbra A;\n"
     "B: add.u32 %r3, %r3, %r1;\nadd.u32 %r2, %r2, 1;\n"
     "setp.lt.u32 %p2, %r2, %r9;\n@%p2 bra B;\n" STORE("%r3") "ret;\n",
     loop_into_loop, 0, 0},
    {"a uniform branch past lanes that wait",
     "mov.u32 %r1, 0;\nand.b32 %r2, %t, 1;\nsetp.ne.u32 %p1, %r2, 0;\n"
     "and.b32 %r3, %b, 1;\nsetp.ne.u32 %p2, %r3, 0;\n"
     "and.b32 %r4, %b, 2;\nsetp.eq.u32 %p3, %r4, 0;\n"
     "@!%p1 bra ELSE;\n"
     "mov.u32 %r1, 5;\n@%p2 bra FAR;\n"
     "add.u32 %r1, %r1, 2;\nbra JOIN;\n"
     "ELSE: @%p3 bra JOIN;\nmov.u32 %r1, 9;\n"
     "JOIN: add.u32 %r1, %r1, 1;\n" STORE(
         "%r1") "ret;\n"
                "FAR: add.u32 %r1, %r1, 1000;\n" STORE("%r1") "ret;\n",
     passes_over, 0, 0},
    {"shfl with a predicate",
     "shfl.sync.down.b32 %r1|%p1, %t, 3, 31, -1;\n"
     "@!%p1 add.u32 %r1, %t, 4096;\n" STORE("%r1") "ret;\n",
     shfl_pair, 64, 0},
    {"carry from add.cc to addc",
     "ld.global.u32 %r1, [%in];\nmov.u32 %r2, -16;\n"
     "add.cc.u32 %r3, %r2, %t;\n"
     "addc.u32 %r4, %r1, 0;\n" STORE("%r4") "ret;\n",
     carries, 0, 0},
    {"carry from sub.cc to addc, from add.cc to subc",
     "sub.cc.u32 %r3, %t, 16;\naddc.u32 %r1, 0, 0;\n"
     "mov.u32 %r2, -20;\nadd.cc.u32 %r3, %r2, %t;\n"
     "subc.u32 %r2, 8, 0;\nshl.b32 %r2, %r2, 4;\n"
     "add.u32 %r1, %r1, %r2;\n" STORE("%r1") "ret;\n",
     one_flag, 0, 0},
    {"what lanes left a loop with, kept over barriers behind it",
     "mov.u32 %r1, 0;\nand.b32 %r3, %t, 7;\n"
     "L: mul.lo.u32 %r2, %r1, %r1;\nadd.u32 %r2, %r2, %t;\n"
     "setp.ge.u32 %p1, %r1, %r3;\n@%p1 bra OUT;\n"
     "add.u32 %r1, %r1, 1;\nbra L;\n"
     "OUT: bar.sync 0;\nbar.sync 0;\n" STORE("%r2") "ret;\n",
     exit_value_kept, 0, 0},
};

/* Many predicates, built up here. */
static char *many_predicates(void)
{
    static char text[1 << 14];
    size_t n = 0;

    for (int i = 0; i < 24; i++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "shr.u32 %%r1, %%gid, %d;\n"
                              "rem.u32 %%r1, %%r1, 3;\n"
                              "setp.eq.u32 %%p%d, %%r1, %d;\n",
                              i & 7, i, i % 3);
    n += (size_t)snprintf(text + n, sizeof text - n, "mov.u32 %%r2, 0;\n");
    for (int i = 0; i < 24; i++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "@%%p%d add.u32 %%r2, %%r2, %d;\n", i, i);
    snprintf(text + n, sizeof text - n, "%s", STORE("%r2") "ret;\n");
    return text;
}

static const char *const prologue =
    ".reg .pred %p<40>;\n.reg .b32 %r<40>;\n.reg .b64 %rd<20>;\n"
    ".reg .b32 %gid, %t, %b, %nt;\n.reg .b64 %in, %out, %base;\n"
    "mov.u32 %t, %tid.x;\nmov.u32 %b, %ctaid.x;\nmov.u32 %nt, %ntid.x;\n"
    "mad.lo.u32 %gid, %b, %nt, %t;\n"
    "ld.param.u64 %in, [pin];\nld.param.u64 %base, [pout];\n"
    "cvta.to.global.u64 %base, %base;\n"
    "mad.wide.u32 %in, %gid, 4, %in;\nmad.wide.u32 %out, %gid, 4, %base;\n";

char *whole_kernel(const char *body, int raw)
{
    size_t size = strlen(body) + 4096;
    char *text = malloc(size);

    if (!text)
        exit(1);
    snprintf(text, size,
             ".version 9.0\n.target sm_120\n.address_size 64\n"
             ".visible .entry k(.param .u64 pin, .param .u64 pout)\n{\n"
             ".shared .align 4 .b8 sh[4096];\n%s%s}\n",
             raw ? "" : prologue, body);
    return text;
}

static int run_shape(const struct test_case *c, CUfunction f, unsigned grid,
                     unsigned block)
{
    uint32_t total = grid * block, *host = malloc((total + 2) * 4);
    CUdeviceptr in = 0, out = 0;
    void *args[] = {&in, &out};
    int right = 1;

    if (!host)
        exit(1);
    for (uint32_t i = 0; i < total + 2; i++)
        host[i] = in_word(i);
    WORKS(cuMemAlloc_v2(&in, (total + 2) * 4));
    WORKS(cuMemAlloc_v2(&out, (total + 2) * 4));
    WORKS(cuMemcpyHtoD_v2(in, host, (total + 2) * 4));
    WORKS(cuMemsetD32_v2(out, 0xdeadbeefu, total + 2));
    WORKS(cuLaunchKernel(f, grid, 1, 1, block, 1, 1, 0, NULL, args, NULL));
    WORKS(cuMemcpyDtoH_v2(host, out, (total + 2) * 4));
    for (uint32_t i = 0; right && i < total; i++) {
        uint32_t want = c->expect(i, i % block, i / block, block);

        right = host[i] == want;
        if (!right || i == total - 1)
            CHECK_SAYS(right, "%s: blocks of %u: thread %u: %#x, wanted %#x",
                       c->name, block, i, host[i], want);
    }
    WORKS(cuMemFree_v2(in));
    WORKS(cuMemFree_v2(out));
    free(host);
    return right;
}

static void run_case(const struct test_case *c)
{
    static const unsigned blocks[] = {32, 64, 256, 1, 7, 33, 100, 1000};
    char *text = whole_kernel(c->body, c->raw);
    CUmodule module;
    CUfunction f = test_function(text, "k", &module);
    int right = 1;

    if (c->block)
        right = run_shape(c, f, 6, c->block);
    for (size_t i = 0; !c->block && right && i < sizeof blocks / sizeof *blocks;
         i++)
        right = run_shape(c, f, 5, blocks[i]);
    cuModuleUnload(module);
    free(text);
}

int main(void)
{
    struct test_case many = {"24 predicates at once", many_predicates(),
                             predicates, 0, 0};

    test_start();
    test_need_compiler();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        run_case(&cases[i]);
    run_case(&many);
    run_large();
    run_atomics();
    run_refused();
    return test_end();
}
