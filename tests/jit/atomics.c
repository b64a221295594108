/* SPDX-License-Identifier: MIT
 *
 * Atomic operations that the processor has no instruction for: halves, their
 * vectors, 16 and 128 bits; and loads and stores of 256 bits. The sums are
 * exact in every order of the threads.
 */
#include "../api/api.h"
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 2, BLOCK = 64, THREADS = BLOCKS * BLOCK, WORDS = THREADS * 8 };

static uint32_t in_word(uint32_t i)
{
    return i * 2654435761u + 99;
}

struct atomic_case {
    const char *name;
    const char *body; /* %g the thread's number, %base and %in the memory */
    void (*expect)(uint32_t *out); /* from zeros */
};

static void halves(uint32_t *out)
{
    out[0] = 0x5c005800; /* 256, 128 */
}
static void shared_halves(uint32_t *out)
{
    out[0] = out[1] = 0x58005400; /* 128, 64: of each block */
}
static void bfloats(uint32_t *out)
{
    out[0] = 0x43004280; /* 128, 64 */
}
static void count(uint32_t *out)
{
    out[0] = THREADS << 16;
}
static void pair(uint32_t *out)
{
    out[0] = 0x43000000; /* 128 */
    out[1] = 0x42800000; /* 64 */
}
static void eight(uint32_t *out)
{
    out[0] = 0x60005800; /* 512, 128: 4 and 1 each */
    out[1] = 0x54005c00; /* 64, 256 */
    out[2] = 0xd800d800;
    out[3] = 0x00005800;
}
static void largest(uint32_t *out)
{
    out[0] = 0x57f00000; /* 127, 0 */
    out[1] = 0xd7f0bc00; /* -127, -1 */
}
static void wide(uint32_t *out)
{
    for (uint32_t i = 0; i < THREADS; i++) {
        out[8 * i + 0] = i + 5; /* the second exchange's */
        out[8 * i + 1] = i;
        out[8 * i + 2] = 7;
        out[8 * i + 3] = 9;
        out[8 * i + 4] = i + 1; /* what the first left */
        out[8 * i + 5] = 2;
        out[8 * i + 6] = i;
        out[8 * i + 7] = 4;
    }
}
static void reversed(uint32_t *out)
{
    for (uint32_t i = 0; i < WORDS; i++)
        out[i] = in_word((i & ~7u) + 7 - (i & 7));
}
static void odd_reversed(uint32_t *out)
{
    for (uint32_t i = 0; i < WORDS; i++)
        out[i] = i / 8 % 2 ? in_word((i & ~7u) + 7 - (i & 7)) : 0;
}

#define REVERSE                                                                \
    "ld.global.v8.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%in];\n"      \
    "st.global.v8.b32 [%own], {%r8, %r7, %r6, %r5, %r4, %r3, %r2, %r1};\n"

static const struct atomic_case cases[] = {
    {"halves added to one word",
     "mov.b32 %r1, 0x40003c00;\n"
     "red.global.add.noftz.f16x2 [%base], %r1;\n",
     halves},
    {"halves added in shared memory",
     "mov.b32 %r1, 0x40003c00;\nmov.u32 %r2, %tid.x;\nmov.b32 %r3, 0;\n"
     "st.shared.b32 [sh], %r3;\nbar.sync 0;\n"
     "atom.shared.add.noftz.f16x2 %r4, [sh], %r1;\nbar.sync 0;\n"
     "mov.u32 %r5, %ctaid.x;\nmad.wide.u32 %rd1, %r5, 4, %base;\n"
     "ld.shared.b32 %r3, [sh];\nst.global.b32 [%rd1], %r3;\n",
     shared_halves},
    {"bfloats added one by one",
     "mov.b16 %h1, 0x3f00;\nmov.b16 %h2, 0x3f80;\n"
     "red.global.add.noftz.bf16 [%base], %h1;\n"
     "atom.global.add.noftz.bf16 %h3, [%base+2], %h2;\n",
     bfloats},
    {"a counter by cas.b16",
     "ld.global.b16 %h1, [%base+2];\n"
     "again: add.u16 %h2, %h1, 1;\n"
     "atom.global.cas.b16 %h3, [%base+2], %h1, %h2;\n"
     "setp.ne.u16 %p1, %h3, %h1;\nmov.b16 %h1, %h3;\n@%p1 bra again;\n",
     count},
    {"a vector of floats added",
     "mov.b32 %f1, 0f3F800000;\nmov.b32 %f2, 0f3F000000;\n"
     "atom.global.add.v2.f32 {%f3, %f4}, [%base], {%f1, %f2};\n",
     pair},
    {"eight halves added",
     "mov.b16 %h1, 0x3c00;\nmov.b16 %h2, 0x4400;\nmov.b16 %h3, 0x4000;\n"
     "mov.b16 %h4, 0x3800;\nmov.b16 %h5, 0xbc00;\nmov.b16 %h6, 0;\n"
     "red.global.add.noftz.v8.f16 [%base], "
     "{%h1, %h2, %h3, %h4, %h5, %h5, %h1, %h6};\n",
     eight},
    {"the largest and the smallest of halves",
     "cvt.rn.f16.u32 %h1, %g;\nneg.f16 %h2, %h1;\nmov.b16 %h4, 0xbc00;\n"
     "red.global.max.noftz.v2.f16 [%base], {%h2, %h1};\n"
     "red.global.min.noftz.v2.f16 [%base+4], {%h4, %h2};\n",
     largest},
    {"exchanges of 128 bits",
     "add.u32 %r1, %g, 1;\nmov.b64 %rd1, {%r1, 2};\nmov.b64 %rd2, {%g, 4};\n"
     "mov.b128 %q1, {%rd1, %rd2};\n"
     "atom.global.exch.b128 %q2, [%own], %q1;\n"
     "add.u32 %r2, %g, 5;\nmov.b64 %rd3, {%r2, %g};\nmov.b64 %rd4, {7, 9};\n"
     "mov.b128 %q3, {%rd3, %rd4};\n"
     "atom.global.cas.b128 %q4, [%own], %q2, %q3;\n" /* differs */
     "atom.global.cas.b128 %q4, [%own], %q1, %q3;\n"
     "mov.b128 {%rd5, %rd6}, %q4;\n"
     "st.global.v2.b64 [%own+16], {%rd5, %rd6};\n",
     wide},
    {"256 bits at once", REVERSE, reversed},
    {"256 bits at once where some lanes are off",
     "and.b32 %r1, %g, 1;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 ret;\n" REVERSE,
     odd_reversed},
};

static void run_one(const struct atomic_case *c)
{
    char text[4096];
    uint32_t *host = malloc(WORDS * 4), *want = calloc(WORDS, 4);
    CUdeviceptr in = 0, out = 0;
    void *args[] = {&in, &out};
    CUmodule module;
    CUfunction f;
    uint32_t i = 0;

    if (!host || !want)
        exit(1);
    snprintf(text, sizeof text,
             ".version 8.8\n.target sm_100\n.address_size 64\n"
             ".visible .entry k(.param .u64 pin, .param .u64 pout)\n{\n"
             ".shared .align 16 .b8 sh[16];\n.reg .pred %%p<4>;\n"
             ".reg .b16 %%h<8>;\n.reg .b32 %%r<12>;\n.reg .b32 %%f<8>;\n"
             ".reg .b64 %%rd<8>;\n.reg .b128 %%q<8>;\n.reg .b32 %%g;\n"
             ".reg .b64 %%base, %%in, %%own;\n"
             "mov.u32 %%r1, %%ctaid.x;\nmov.u32 %%r2, %%tid.x;\n"
             "mad.lo.u32 %%g, %%r1, %d, %%r2;\n"
             "ld.param.u64 %%base, [pout];\nld.param.u64 %%in, [pin];\n"
             "mad.wide.u32 %%own, %%g, 32, %%base;\n"
             "mad.wide.u32 %%in, %%g, 32, %%in;\n%sret;\n}\n",
             BLOCK, c->body);
    f = test_function(text, "k", &module);
    for (i = 0; i < WORDS; i++)
        host[i] = in_word(i);
    CHECK(cuMemAlloc_v2(&in, WORDS * 4) == CUDA_SUCCESS);
    CHECK(cuMemAlloc_v2(&out, WORDS * 4) == CUDA_SUCCESS);
    CHECK(cuMemcpyHtoD_v2(in, host, WORDS * 4) == CUDA_SUCCESS);
    CHECK(cuMemsetD32_v2(out, 0, WORDS) == CUDA_SUCCESS);
    CHECK(cuLaunchKernel(f, BLOCKS, 1, 1, BLOCK, 1, 1, 0, NULL, args, NULL) ==
          CUDA_SUCCESS);
    CHECK(cuMemcpyDtoH_v2(host, out, WORDS * 4) == CUDA_SUCCESS);
    c->expect(want);
    for (i = 0; i < WORDS - 1 && host[i] == want[i]; i++)
        ;
    CHECK_SAYS(host[i] == want[i], "%s: word %u: %#x, wanted %#x", c->name, i,
               host[i], want[i]);
    cuMemFree_v2(in);
    cuMemFree_v2(out);
    cuModuleUnload(module);
    free(host);
    free(want);
}

void run_atomics(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        run_one(&cases[i]);
}
