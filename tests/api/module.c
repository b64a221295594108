/* SPDX-License-Identifier: MIT
 *
 * Modules: PTX text, log buffers, options, names, variables, parameters,
 * attributes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api.h"

static const char ptx_globals[] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .global .align 4 .u32 counter = 5;\n"
    ".visible .const .align 8 .f64 factors[2] = {0d3FF8000000000000,"
    " 0d4004000000000000};\n"
    ".visible .global .align 8 .u64 where = counter;\n"
    ".visible .entry step(.param .u64 out)\n"
    "{\n"
    "    .reg .b32 %r<3>;\n"
    "    .reg .b64 %rd<3>;\n"
    "    ld.param.u64 %rd1, [out];\n"
    "    ld.global.u32 %r1, [counter];\n"
    "    st.global.u32 [%rd1], %r1;\n"
    "    add.u32 %r2, %r1, 1;\n"
    "    st.global.u32 [counter], %r2;\n"
    "    ret;\n"
    "}\n"
    ".visible .entry many(.param .u64 a, .param .align 8 .b8 b[24],\n"
    "    .param .u8 c, .param .f64 d, .param .align 1 .b8 e[3],\n"
    "    .param .f32 f, .param .u16 g)\n"
    "{\n"
    "    ret;\n"
    "}\n"
    ".visible .entry bounded()\n"
    ".maxntid 128, 1, 1\n"
    "{\n"
    "    .shared .align 4 .b8 room[1000];\n"
    "    .reg .b32 %r<3>;\n"
    "    mov.u32 %r1, %tid.x;\n"
    "    st.shared.u32 [room], %r1;\n"
    "    ret;\n"
    "}\n";

struct log {
    char text[1000];
    unsigned size;
};

/* Loads with an error log of `size` bytes; the size that came back. */
static CUresult load_logged(const char *ptx, unsigned size, struct log *log)
{
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log->text, (void *)(uintptr_t)size};
    CUmodule module = NULL;
    CUresult result;

    memset(log->text, 'x', sizeof log->text);
    result = cuModuleLoadDataEx(&module, ptx, 2, options, values);
    log->size = (unsigned)(uintptr_t)values[1];
    if (!result)
        cuModuleUnload(module);
    return result;
}

static void logs(void)
{
    struct log log;
    unsigned full;

    IS(load_logged(ptx_syntax_error, 1000, &log), CUDA_ERROR_INVALID_PTX);
    full = log.size;
    CHECK_SAYS(full > 10 && strlen(log.text) == full,
               "the size is the text's: %u", full);
    CHECK_SAYS(strstr(log.text, "line 9") != NULL, "the line is named: %s",
               log.text);
    IS(load_logged(ptx_syntax_error, 20, &log), CUDA_ERROR_INVALID_PTX);
    CHECK(log.size == 20 && strlen(log.text) == 19 && log.text[20] == 'x');
    IS(load_logged(ptx_syntax_error, full + 1, &log), CUDA_ERROR_INVALID_PTX);
    CHECK(log.size == full && strlen(log.text) == full);
    IS(load_logged(ptx_syntax_error, full, &log), CUDA_ERROR_INVALID_PTX);
    CHECK(log.size == full && strlen(log.text) == full - 1);
    IS(load_logged(ptx_syntax_error, 1, &log), CUDA_ERROR_INVALID_PTX);
    CHECK(log.size == 0 && log.text[1] == 'x');
    IS(load_logged(ptx_syntax_error, 0, &log), CUDA_ERROR_INVALID_PTX);
    CHECK(log.size == 0);
    if (is_kiln) /* NVIDIA's writes a NUL all the same */
        CHECK(log.text[0] == 'x');
    OK(load_logged(ptx_saxpy, 1000, &log));
    CHECK(log.size == 0 && log.text[0] == 0);
}

static void images(void)
{
    static const char newer[] = ".version 99.0\n.target sm_70\n"
                                ".address_size 64\n"
                                ".visible .entry k() { ret; }\n";
    static const char above[] = ".version 8.8\n.target sm_125\n"
                                ".address_size 64\n"
                                ".visible .entry k() { ret; }\n";
    static const char commented[] =
        " \n// a comment\n/* another */ .version 7.0\n.target sm_70\n"
        ".address_size 64\n.visible .entry k() { ret; }\n";
    CUmodule module = NULL;
    struct log log;

    IS(load_logged(newer, 1000, &log), CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    CHECK_SAYS(strstr(log.text, "99.0") != NULL, "%s", log.text);
    IS(load_logged(above, 1000, &log), CUDA_ERROR_INVALID_PTX);
    CHECK(log.size > 0);
    IS(load_logged("int main;", 1000, &log), CUDA_ERROR_INVALID_IMAGE);
    IS(cuModuleLoadData(&module, ""), CUDA_ERROR_INVALID_IMAGE);
    IS(cuModuleLoadData(&module, NULL), CUDA_ERROR_INVALID_VALUE);
    IS(cuModuleLoadData(NULL, ptx_saxpy), CUDA_ERROR_INVALID_VALUE);
    IS(cuModuleLoad(&module, "/no/such/file"), CUDA_ERROR_FILE_NOT_FOUND);
    OK(cuModuleLoadData(&module, commented));
    OK(cuModuleUnload(module));
    OK(cuModuleLoadFatBinary(&module, ptx_saxpy));
    OK(cuModuleUnload(module));
    if (is_kiln)
        IS(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
    IS(cuModuleUnload(NULL), CUDA_ERROR_INVALID_HANDLE);
}

static CUresult load_option(CUjit_option option, uintptr_t value, int *regs)
{
    void *values[] = {(void *)value};
    CUmodule module = NULL;
    CUfunction f;
    CUresult result =
        cuModuleLoadDataEx(&module, ptx_saxpy, 1, &option, values);

    if (result)
        return result;
    if (!cuModuleGetFunction(&f, module, "saxpy") && regs)
        cuFuncGetAttribute(regs, CU_FUNC_ATTRIBUTE_NUM_REGS, f);
    cuModuleUnload(module);
    return CUDA_SUCCESS;
}

static void options(void)
{
    CUjit_option wall = CU_JIT_WALL_TIME;
    CUjit_option debug[] = {CU_JIT_GENERATE_DEBUG_INFO,
                            CU_JIT_OPTIMIZATION_LEVEL};
    CUjit_option both[] = {CU_JIT_MAX_REGISTERS, CU_JIT_MAX_REGISTERS};
    void *two[] = {(void *)(uintptr_t)32, (void *)(uintptr_t)64};
    void *value = NULL;
    CUmodule module;
    float ms = -1;
    int regs = -1;

    for (unsigned level = 0; level <= 5; level++)
        OK(load_option(CU_JIT_OPTIMIZATION_LEVEL, level, NULL));
    OK(load_option(CU_JIT_MAX_REGISTERS, 32, &regs));
    CHECK_SAYS(regs > 0 && regs <= 32, "%d registers under a cap of 32", regs);
    OK(load_option(CU_JIT_MAX_REGISTERS, 8, NULL));
    OK(load_option(CU_JIT_MAX_REGISTERS, 100000, NULL));
    IS(load_option(CU_JIT_MAX_REGISTERS, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(load_option(CU_JIT_LOG_VERBOSE, 1, NULL));
    OK(load_option(CU_JIT_GENERATE_LINE_INFO, 1, NULL));
    OK(load_option(CU_JIT_CACHE_MODE, 2, NULL));
    OK(load_option(CU_JIT_FALLBACK_STRATEGY, 0, NULL));
    IS(load_option((CUjit_option)35, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    IS(load_option((CUjit_option)99, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    IS(load_option((CUjit_option)-1, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    IS(load_option(CU_JIT_ERROR_LOG_BUFFER, (uintptr_t)&regs, NULL),
       CUDA_ERROR_INVALID_VALUE);
    IS(load_option(CU_JIT_ERROR_LOG_BUFFER, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    IS(load_option(CU_JIT_TARGET, 999, NULL), CUDA_ERROR_INVALID_VALUE);
    IS(load_option(CU_JIT_TARGET, 0, NULL), CUDA_ERROR_INVALID_IMAGE);
    /* The first of two counts; both are checked. */
    OK(cuModuleLoadDataEx(&module, ptx_saxpy, 2, both, two));
    OK(cuModuleUnload(module));
    OK(cuModuleLoadDataEx(&module, ptx_saxpy, 1, &wall, &value));
    memcpy(&ms, &value, sizeof ms);
    CHECK_SAYS(ms >= 0 && ms < 60000, "%f ms", (double)ms);
    OK(cuModuleUnload(module));
    two[0] = (void *)(uintptr_t)1;
    two[1] = (void *)(uintptr_t)4;
    OK(cuModuleLoadDataEx(&module, ptx_saxpy, 1, debug, two));
    OK(cuModuleUnload(module));
    IS(cuModuleLoadDataEx(&module, ptx_saxpy, 2, debug, two),
       CUDA_ERROR_INVALID_PTX);
    two[1] = NULL;
    IS(cuModuleLoadDataEx(&module, ptx_saxpy, 2, both, two),
       CUDA_ERROR_INVALID_VALUE);
    if (is_kiln) /* NVIDIA's driver reads through the pointer */
        IS(cuModuleLoadDataEx(&module, ptx_saxpy, 1, NULL, &value),
           CUDA_ERROR_INVALID_VALUE);
}

static void names(CUmodule module)
{
    CUfunction f = NULL, all[8] = {NULL};
    const char *name = NULL;
    CUdeviceptr p;
    CUmodule of = NULL;
    unsigned count = 0;
    size_t n = 0;

    IS(cuModuleGetFunction(&f, module, "nothing"), CUDA_ERROR_NOT_FOUND);
    IS(cuModuleGetFunction(&f, module, "counter"), CUDA_ERROR_NOT_FOUND);
    IS(cuModuleGetFunction(&f, module, ""), CUDA_ERROR_INVALID_VALUE);
    IS(cuModuleGetFunction(&f, module, NULL), CUDA_ERROR_INVALID_VALUE);
    IS(cuModuleGetFunction(NULL, module, "step"), CUDA_ERROR_INVALID_VALUE);
    IS(cuModuleGetFunction(&f, NULL, "step"), CUDA_ERROR_INVALID_HANDLE);
    OK(cuModuleGetFunction(&f, module, "step"));
    if (cuModuleGetFunctionCount) {
        OK(cuModuleGetFunctionCount(&count, module));
        CHECK(count == 3);
        OK(cuModuleEnumerateFunctions(all, 8, module));
        CHECK(all[0] && all[1] && all[2] && !all[3]);
    }
    if (cuFuncGetName) {
        OK(cuFuncGetName(&name, f));
        CHECK(name && !strcmp(name, "step"));
    }
    OK(cuFuncGetModule(&of, f));
    CHECK(of == module);
    OK(cuModuleGetGlobal_v2(&p, &n, module, "counter"));
    CHECK(n == 4);
    OK(cuModuleGetGlobal_v2(NULL, &n, module, "factors"));
    CHECK(n == 16);
    IS(cuModuleGetGlobal_v2(&p, &n, module, "nothing"), CUDA_ERROR_NOT_FOUND);
    IS(cuModuleGetGlobal_v2(&p, &n, module, "step"), CUDA_ERROR_INVALID_VALUE);
    IS(cuModuleGetGlobal_v2(NULL, NULL, module, "counter"),
       CUDA_ERROR_INVALID_VALUE);
}

static void variables(CUmodule module)
{
    CUdeviceptr counter = 0, p = 0;
    double factors[2] = {0};
    uint64_t where = 0;
    unsigned value = 0;

    OK(cuModuleGetGlobal_v2(&counter, NULL, module, "counter"));
    OK(cuMemcpyDtoH_v2(&value, counter, 4));
    CHECK(value == 5);
    OK(cuModuleGetGlobal_v2(&p, NULL, module, "factors"));
    OK(cuMemcpyDtoH_v2(factors, p, 16));
    CHECK(factors[0] == 1.5 && factors[1] == 2.5);
    OK(cuModuleGetGlobal_v2(&p, NULL, module, "where"));
    OK(cuMemcpyDtoH_v2(&where, p, 8));
    CHECK(where == counter);
}

/* A module need not have a kernel, nor anything at all. */
static void without_kernels(void)
{
    static const char head[] = ".version 7.0\n.target sm_70\n"
                               ".address_size 64\n";
    static const char variable[] = ".version 7.0\n.target sm_70\n"
                                   ".address_size 64\n"
                                   ".visible .global .u32 alone = 5;\n";
    CUmodule module = NULL;
    CUfunction f = NULL;
    CUdeviceptr address = 0;
    size_t size = 0;
    unsigned value = 0;

    OK(cuModuleLoadData(&module, variable));
    OK(cuModuleGetGlobal_v2(&address, &size, module, "alone"));
    CHECK(size == 4);
    OK(cuMemcpyDtoH_v2(&value, address, 4));
    CHECK(value == 5);
    IS(cuModuleGetFunction(&f, module, "alone"), CUDA_ERROR_NOT_FOUND);
    OK(cuModuleUnload(module));
    OK(cuModuleLoadData(&module, head));
    IS(cuModuleGetFunction(&f, module, "alone"), CUDA_ERROR_NOT_FOUND);
    OK(cuModuleUnload(module));
}

static void run(CUmodule module)
{
    CUdeviceptr out = 0, counter = 0;
    void *args[] = {&out};
    CUfunction f;
    unsigned value = 0;

    OK(cuModuleGetFunction(&f, module, "step"));
    OK(cuModuleGetGlobal_v2(&counter, NULL, module, "counter"));
    OK(cuMemAlloc_v2(&out, 4));
    for (unsigned i = 5; i < 8; i++) {
        OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
        OK(cuMemcpyDtoH_v2(&value, out, 4));
        CHECK(value == i);
    }
    value = 100;
    OK(cuMemcpyHtoD_v2(counter, &value, 4));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
    OK(cuMemcpyDtoH_v2(&value, counter, 4));
    CHECK(value == 101);
    OK(cuMemFree_v2(out));
}

static void parameters(CUmodule module)
{
    static const struct {
        size_t offset, size;
    } wanted[] = {{0, 8}, {8, 24}, {32, 1}, {40, 8}, {48, 3}, {52, 4}, {56, 2}};
    size_t offset = 0, size = 0;
    CUfunction f;

    if (!cuFuncGetParamInfo)
        return;
    OK(cuModuleGetFunction(&f, module, "many"));
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        OK(cuFuncGetParamInfo(f, i, &offset, &size));
        CHECK_SAYS(offset == wanted[i].offset && size == wanted[i].size,
                   "parameter %zu: %zu+%zu", i, offset, size);
    }
    IS(cuFuncGetParamInfo(f, 7, &offset, &size), CUDA_ERROR_INVALID_VALUE);
    OK(cuFuncGetParamInfo(f, 0, &offset, NULL));
    IS(cuFuncGetParamInfo(f, 0, NULL, &size), CUDA_ERROR_INVALID_VALUE);
    IS(cuFuncGetParamInfo(NULL, 0, &offset, &size), CUDA_ERROR_INVALID_VALUE);
}

static int attribute(CUfunction f, CUfunction_attribute what)
{
    int value = -1;

    OK(cuFuncGetAttribute(&value, what, f));
    return value;
}

static void attributes(CUmodule module)
{
    CUfunction f;
    int blocks = -1, grid = 0, block = 0;

    OK(cuModuleGetFunction(&f, module, "bounded"));
    CHECK(attribute(f, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) == 128);
    CHECK(attribute(f, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) == 1000);
    CHECK(attribute(f, CU_FUNC_ATTRIBUTE_PTX_VERSION) == 70);
    CHECK(attribute(f, CU_FUNC_ATTRIBUTE_NUM_REGS) > 0);
    CHECK(attribute(f, CU_FUNC_ATTRIBUTE_BINARY_VERSION) >= 70);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 128, 0));
    CHECK(blocks > 0);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 2048, 0));
    CHECK(blocks == 0);
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, f, NULL, 0, 0));
    CHECK(grid > 0 && block == 128);
    IS(cuFuncGetAttribute(&blocks, (CUfunction_attribute)77, f),
       CUDA_ERROR_INVALID_VALUE);
    IS(cuFuncGetAttribute(&blocks, CU_FUNC_ATTRIBUTE_NUM_REGS, NULL),
       CUDA_ERROR_INVALID_HANDLE);
}

/* The bytes may be changed as soon as the load has returned. */
static void reused_memory(void)
{
    char *copy = strdup(ptx_globals);
    CUmodule module = NULL;

    OK(cuModuleLoadData(&module, copy));
    memset(copy, '#', strlen(copy));
    free(copy);
    run(module);
    OK(cuModuleUnload(module));
}

static void from_file(void)
{
    char path[] = "/tmp/kiln-module-XXXXXX";
    int fd = mkstemp(path);
    CUmodule module = NULL;

    CHECK(write(fd, ptx_globals, sizeof ptx_globals - 1) ==
          sizeof ptx_globals - 1);
    close(fd);
    OK(cuModuleLoad(&module, path));
    OK(cuModuleUnload(module));
    unlink(path);
}

int main(void)
{
    CUcontext context;
    CUmodule module = NULL;

    /* The driver of a version takes no newer PTX; Kiln's own does. */
    setenv("KILN_CPU_DRIVER_VERSION", "13000", 0);
    context = test_start();
    test_need_compiler();
    logs();
    images();
    options();
    OK(cuModuleLoadData(&module, ptx_globals));
    names(module);
    variables(module);
    run(module);
    parameters(module);
    attributes(module);
    OK(cuModuleUnload(module));
    without_kernels();
    reused_memory();
    from_file();
    OK(cuCtxSetCurrent(NULL));
    IS(cuModuleLoadData(&module, ptx_saxpy), CUDA_ERROR_INVALID_CONTEXT);
    IS(cuModuleLoad(&module, "/no/such/file"), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxDestroy_v2(context));
    return test_end();
}
