/* SPDX-License-Identifier: MIT */
#include "api.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTION(name, params) CUresult(*name) params;
#include "functions.def"
#undef FUNCTION

int is_kiln;

static atomic_int passed;
static atomic_int failed;

const char ptx_saxpy[] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 y,\n"
    "                      .param .u32 n)\n"
    "{\n"
    "    .reg .pred %p;\n"
    "    .reg .f32 %f<4>;\n"
    "    .reg .b32 %r<6>;\n"
    "    .reg .b64 %rd<6>;\n"
    "    ld.param.f32 %f1, [a];\n"
    "    ld.param.u64 %rd1, [x];\n"
    "    ld.param.u64 %rd2, [y];\n"
    "    ld.param.u32 %r1, [n];\n"
    "    mov.u32 %r2, %ctaid.x;\n"
    "    mov.u32 %r3, %ntid.x;\n"
    "    mov.u32 %r4, %tid.x;\n"
    "    mad.lo.s32 %r5, %r2, %r3, %r4;\n"
    "    setp.ge.u32 %p, %r5, %r1;\n"
    "    @%p bra DONE;\n"
    "    mul.wide.u32 %rd3, %r5, 4;\n"
    "    add.s64 %rd4, %rd1, %rd3;\n"
    "    add.s64 %rd5, %rd2, %rd3;\n"
    "    ld.global.f32 %f2, [%rd4];\n"
    "    ld.global.f32 %f3, [%rd5];\n"
    "    fma.rn.f32 %f3, %f1, %f2, %f3;\n"
    "    st.global.f32 [%rd5], %f3;\n"
    "DONE:\n"
    "    ret;\n"
    "}\n";

const char ptx_syntax_error[] = ".version 7.0\n"
                                ".target sm_70\n"
                                ".address_size 64\n"
                                ".visible .entry k(.param .u64 x)\n"
                                "{\n"
                                "    .reg .b32 %r<3>;\n"
                                "    mov.u32 %r1, 1;\n"
                                "    mov.u32 %r2, 2;\n"
                                "    add.u32 %r1 %r1, %r2;\n"
                                "    ret;\n"
                                "}\n";

void test_open(void)
{
    const char *name = getenv("KILN_TEST_DRIVER");
    void *driver =
        dlopen(name && *name ? name : TEST_DRIVER, RTLD_NOW | RTLD_LOCAL);

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!driver) {
        printf("FAIL cannot open the driver: %s\n", dlerror());
        exit(1);
    }
#define FUNCTION(name, params) name = (CUresult(*) params)dlsym(driver, #name);
#include "functions.def"
#undef FUNCTION
    is_kiln = dlsym(driver, "kilnDriverInfo") != NULL;
}

CUcontext test_start(void)
{
    CUcontext context = NULL;

    test_open();
    if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0)) {
        printf("FAIL no context\n");
        exit(1);
    }
    return context;
}

void test_need_compiler(void)
{
    CUmodule module;
    CUresult result = cuModuleLoadData(&module, ptx_saxpy);

    if (result == CUDA_ERROR_JIT_COMPILER_NOT_FOUND) {
        printf("skip this driver has no PTX compiler\n");
        exit(77);
    }
    if (!result)
        cuModuleUnload(module);
}

int test_end(void)
{
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}

int test_check(int ok, const char *file, int line, const char *format, ...)
{
    const char *slash = strrchr(file, '/');
    va_list args;

    if (ok)
        passed++;
    else
        failed++;
    printf("%s %s:%d ", ok ? "ok  " : "FAIL", slash ? slash + 1 : file, line);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    return ok;
}

const char *result_name(CUresult result)
{
    const char *name = NULL;

    if (!cuGetErrorName || cuGetErrorName(result, &name) || !name)
        return "no name";
    return name;
}

int test_result(CUresult found, CUresult wanted, const char *file, int line,
                const char *what)
{
    if (found == wanted)
        return test_check(1, file, line, "%s: %d", what, (int)found);
    return test_check(0, file, line, "%s: %d (%s), wanted %d (%s)", what,
                      (int)found, result_name(found), (int)wanted,
                      result_name(wanted));
}

CUfunction test_function(const char *ptx, const char *name, CUmodule *module)
{
    char log[4096] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    CUfunction function = NULL;
    CUresult result = cuModuleLoadDataEx(module, ptx, 2, options, values);

    if (!result)
        result = cuModuleGetFunction(&function, *module, name);
    if (result) {
        printf("FAIL cannot load %s: %d (%s)\n%s\n", name, (int)result,
               result_name(result), log);
        exit(1);
    }
    return function;
}

char *test_read_file(const char *path)
{
    char *text = NULL;
    FILE *f = fopen(path, "rb");
    long size;

    if (f && !fseek(f, 0, SEEK_END) && (size = ftell(f)) > 0 &&
        (text = calloc(1, (size_t)size + 1))) {
        rewind(f);
        if (fread(text, 1, (size_t)size, f) != (size_t)size)
            text[0] = 0;
    }
    if (f)
        fclose(f);
    if (!text || !*text) {
        printf("FAIL cannot read %s\n", path);
        exit(1);
    }
    return text;
}
