/* SPDX-License-Identifier: MIT
 *
 * The linker, with one input: errors where they surface, and a result that
 * loads like any image.
 */
#include <string.h>

#include "api.h"

static void good(void)
{
    CUlinkState link = NULL;
    CUmodule m = NULL;
    CUfunction f = NULL;
    void *image = NULL;
    size_t size = 0;

    OK(cuLinkCreate_v2(0, NULL, NULL, &link));
    OK(cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, (void *)(uintptr_t)ptx_saxpy,
                        strlen(ptx_saxpy) + 1, "unit", 0, NULL, NULL));
    OK(cuLinkComplete(link, &image, &size));
    CHECK(image && size > 64);
    OK(cuModuleLoadData(&m, image));
    OK(cuModuleGetFunction(&f, m, "saxpy"));
    OK(cuLinkDestroy(link));
    OK(cuModuleUnload(m));
    if (is_kiln)
        IS(cuLinkDestroy(link), CUDA_ERROR_INVALID_HANDLE);
}

static void bad(void)
{
    char log[1000] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    CUjit_option unknown = (CUjit_option)99;
    void *zero = NULL;
    CUlinkState link = NULL;

    IS(cuLinkCreate_v2(1, &unknown, &zero, &link), CUDA_ERROR_INVALID_VALUE);
    OK(cuLinkCreate_v2(2, options, values, &link));
    IS(cuLinkAddData_v2(link, CU_JIT_INPUT_PTX,
                        (void *)(uintptr_t)ptx_syntax_error,
                        strlen(ptx_syntax_error) + 1, "unit", 0, NULL, NULL),
       CUDA_ERROR_INVALID_PTX);
    CHECK_SAYS(strstr(log, "line 9") != NULL, "%s", log);
    CHECK((unsigned)(uintptr_t)values[1] == strlen(log));
    OK(cuLinkDestroy(link));
}

int main(void)
{
    CUcontext context = test_start();

    test_need_compiler();
    good();
    bad();
    OK(cuCtxDestroy_v2(context));
    return test_end();
}
