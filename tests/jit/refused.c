/* SPDX-License-Identifier: MIT
 *
 * What the CPU device does not run is refused when it is loaded, with the
 * line and the instruction; nothing of it crashes the compiler.
 */
#include "../api/api.h"
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The log of a load that must fail. */
static void refuse(const char *name, const char *body, CUresult result,
                   const char *says)
{
    char *text = whole_kernel(body, 0), log[4096] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    CUmodule module = NULL;
    CUresult r = cuModuleLoadDataEx(&module, text, 2, options, values);

    CHECK_SAYS(r == result, "%s: refused with %d, wanted %d", name, (int)r,
               (int)result);
    CHECK_SAYS(strstr(log, says) != NULL, "%s: the log says \"%s\": %s", name,
               says, log);
    if (!r)
        cuModuleUnload(module);
    free(text);
}

void run_refused(void)
{
    /* Bodies start at line 21. */
    refuse("a loop with two entries",
           "setp.lt.u32 %p1, %t, 5;\n"
           "@%p1 bra Y;\n"
           "X: add.u32 %r1, %r1, 1;\n"
           "Y: add.u32 %r1, %r1, 2;\n"
           "setp.lt.u32 %p2, %r1, 100;\n"
           "@%p2 bra X;\n"
           "ret;\n",
           CUDA_ERROR_NOT_SUPPORTED,
           "line 24: a loop with more than one entry");
    refuse("an instruction that the CPU has not",
           "mov.u32 %r1, 1;\n"
           "tex.2dms.v4.s32.s32 {%r1, %r2, %r3, %r4}, [%rd1, {%r5, %r1, %r2, "
           "%r2}];\n"
           "ret;\n",
           CUDA_ERROR_NOT_SUPPORTED, "line 22: tex.2dms.v4.s32.s32");
    refuse("fewer coordinates than the texture has dimensions",
           "mov.u32 %r1, 1;\n"
           "tex.3d.v4.s32.s32 {%r1, %r2, %r3, %r4}, [%rd1, {%r5, %r1}];\n"
           "ret;\n",
           CUDA_ERROR_NOT_SUPPORTED, "coordinates do not fit its geometry");
    refuse("more results than a texel has channels",
           "mov.u32 %r1, 1;\n"
           "tex.1d.v4.s32.s32 {%r1, %r2, %r3, %r4, %r1}, [%rd1, {%r5}];\n"
           "ret;\n",
           CUDA_ERROR_NOT_SUPPORTED, "line 22: tex.1d.v4.s32.s32");
    refuse("a sum over several devices",
           "multimem.red.relaxed.sys.global.add.u32 [%rd1], %r1;\n"
           "ret;\n",
           CUDA_ERROR_NOT_SUPPORTED, "line 21: multimem.red.relaxed.sys");
    refuse("a copy by a tensor map of columns of images",
           "cp.async.bulk.commit_group;\n"
           "cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs"
           ".bulk_group [%rd1, {%r1, %r2, %r3}], [%r2];\n"
           "ret;\n",
           CUDA_ERROR_NOT_SUPPORTED, "line 22: cp.async.bulk.tensor.3d");
    refuse("a question of textures",
           "istypep.texref %p1, %rd1;\n"
           "ret;\n",
           CUDA_ERROR_NOT_SUPPORTED, "line 21: istypep.texref");
    refuse("more shared memory than a block may have",
           ".shared .b8 big[1048576];\n"
           "mov.u32 %r1, big;\n"
           "st.shared.u32 [%r1], %r1;\n"
           "ret;\n",
           CUDA_ERROR_INVALID_PTX, "line 4: kernel k: 0x");
    refuse("what is no PTX",
           "mov.u32 %r1, 1;\n"
           "frobnicate.u32 %r1, %r1;\n"
           "ret;\n",
           CUDA_ERROR_INVALID_PTX, "line 22; error");
    refuse("operands that the instruction does not take",
           "add.u32 %r1, %r1, %p1;\n"
           "ret;\n",
           CUDA_ERROR_INVALID_PTX, "line 21; error");
}
