/* SPDX-License-Identifier: MIT */
#include "words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../api/api.h"
#include "numbers.h"

enum { UNTOUCHED = 0x5a5a5a5a };

uint32_t in_words[IN_WORDS];
static uint32_t out_words[OUT_WORDS];
static CUdeviceptr in_at, out_at;
static int in_cluster;

static const char head[] =
    ".version 8.6\n.target sm_%u\n.address_size 64\n"
    ".visible .entry k(.param .u64 in, .param .u64 out)%s\n{\n"
    ".shared .align 128 .b8 room[32768];\n"
    ".reg .b32 %%r<64>, %%lane, %%t, %%warp;\n.reg .b64 %%x<16>, %%in, %%out;\n"
    ".reg .pred %%p<8>;\n.reg .b16 %%h<8>;\n.reg .f32 %%f<16>;\n"
    "ld.param.u64 %%in, [in];\nld.param.u64 %%out, [out];\n"
    "mov.u32 %%t, %%tid.x;\nmov.u32 %%lane, %%laneid;\n"
    "shr.u32 %%warp, %%t, 5;\nmov.u32 %%r0, %%t;\n"
    "FILL:\nsetp.ge.u32 %%p0, %%r0, %u;\n@%%p0 bra FILLED;\n"
    "mul.wide.u32 %%x0, %%r0, 4;\nadd.u64 %%x0, %%in, %%x0;\n"
    "ld.global.u32 %%r1, [%%x0];\nshl.b32 %%r2, %%r0, 2;\n"
    "mov.u32 %%r3, room;\nadd.u32 %%r3, %%r3, %%r2;\n"
    "st.shared.u32 [%%r3], %%r1;\nst.shared.u32 [%%r3+16384], 0;\n"
    "add.u32 %%r0, %%r0, %u;\nbra FILL;\nFILLED:\nbar.sync 0;\n";

void words_open(void)
{
    for (unsigned i = 0; i < IN_WORDS; i++)
        in_words[i] = (uint32_t)random_bits();
    OK(cuMemAlloc_v2(&in_at, sizeof in_words));
    OK(cuMemAlloc_v2(&out_at, sizeof out_words));
    words_fill();
}

void words_fill(void)
{
    OK(cuMemcpyHtoD_v2(in_at, in_words, sizeof in_words));
}

void words_in_cluster(int on)
{
    in_cluster = on;
}

static int launch(CUmodule module, unsigned threads)
{
    void *args[] = {&in_at, &out_at};
    CUfunction function;

    for (unsigned i = 0; i < OUT_WORDS; i++)
        out_words[i] = UNTOUCHED;
    return cuModuleGetFunction(&function, module, "k") ||
           cuMemcpyHtoD_v2(out_at, out_words, sizeof out_words) ||
           cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, NULL, args,
                          NULL) ||
           cuMemcpyDtoH_v2(out_words, out_at, sizeof out_words);
}

void words_run(const char *name, unsigned sm, unsigned threads,
               const char *body, unsigned words, expect_fn *expect)
{
    static char text[65536], log[4096];
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    CUmodule module;
    unsigned bad = 0;
    size_t at;

    log[0] = 0;
    at = put(text, 0, sizeof text, head, sm,
             in_cluster ? " .reqnctapercluster 1, 1, 1" : "",
             (unsigned)IN_WORDS, threads);
    put(text, at, sizeof text, "%s\nret;\n}\n", body);
    if (cuModuleLoadDataEx(&module, text, 2, options, values)) {
        CHECK_SAYS(0, "%s: loads: %s", name, log);
        return;
    }
    if (launch(module, threads)) {
        CHECK_SAYS(0, "%s: runs", name);
        cuModuleUnload(module);
        return;
    }
    for (unsigned i = 0; i < OUT_WORDS; i++) {
        const uint32_t wanted = i < words ? expect(i) : UNTOUCHED;

        if (out_words[i] != wanted && bad++ < 3)
            printf("     %s: word %u is %08x, not %08x\n", name, i,
                   out_words[i], wanted);
    }
    CHECK_SAYS(!bad, "%s", name);
    cuModuleUnload(module);
}
