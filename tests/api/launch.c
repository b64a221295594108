/* SPDX-License-Identifier: MIT
 *
 * Launches: a result, each way to pass arguments, and everything that a
 * launch refuses, none of which harms the context.
 */
#include <stdlib.h>
#include <string.h>

#include "api.h"

enum { N = 10000 };

static const char ptx_shapes[] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".extern .shared .align 16 .b8 dynamic[];\n"
    ".visible .entry two(.param .u64 out, .param .u32 value)\n"
    "{\n"
    "    .reg .b32 %r<2>;\n"
    "    .reg .b64 %rd<2>;\n"
    "    ld.param.u64 %rd1, [out];\n"
    "    ld.param.u32 %r1, [value];\n"
    "    st.global.u32 [%rd1], %r1;\n"
    "    ret;\n"
    "}\n"
    ".visible .entry none()\n"
    "{\n"
    "    ret;\n"
    "}\n"
    ".visible .entry bounded()\n"
    ".maxntid 128, 1, 1\n"
    "{\n"
    "    ret;\n"
    "}\n"
    ".visible .entry required()\n"
    ".reqntid 64, 1, 1\n"
    "{\n"
    "    ret;\n"
    "}\n"
    ".visible .entry shared32k()\n"
    "{\n"
    "    .shared .align 4 .b8 room[32768];\n"
    "    .reg .b32 %r<2>;\n"
    "    mov.u32 %r1, %tid.x;\n"
    "    st.shared.u32 [room], %r1;\n"
    "    st.shared.u32 [dynamic], %r1;\n"
    "    ret;\n"
    "}\n"
    ".visible .entry dyn()\n"
    "{\n"
    "    .reg .b32 %r<2>;\n"
    "    mov.u32 %r1, %tid.x;\n"
    "    st.shared.u32 [dynamic], %r1;\n"
    "    ret;\n"
    "}\n";

static CUdeviceptr out;
static CUmodule module;

static CUfunction get(const char *name)
{
    CUfunction f = NULL;

    OK(cuModuleGetFunction(&f, module, name));
    return f;
}

static void saxpy(void)
{
    float *x = malloc(N * sizeof *x);
    float *y = malloc(N * sizeof *y);
    CUdeviceptr dx, dy;
    float a = 2.5f;
    unsigned n = N;
    void *args[] = {&a, &dx, &dy, &n};
    CUmodule m;
    CUfunction f = test_function(ptx_saxpy, "saxpy", &m);
    int wrong = 0;

    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = (float)(N - i);
    }
    OK(cuMemAlloc_v2(&dx, N * 4));
    OK(cuMemAlloc_v2(&dy, N * 4));
    OK(cuMemcpyHtoD_v2(dx, x, N * 4));
    OK(cuMemcpyHtoD_v2(dy, y, N * 4));
    OK(cuLaunchKernel(f, (N + 255) / 256, 1, 1, 256, 1, 1, 0, NULL, args,
                      NULL));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH_v2(y, dy, N * 4));
    for (int i = 0; i < N; i++)
        wrong += y[i] != 2.5f * (float)i + (float)(N - i);
    CHECK_SAYS(!wrong, "saxpy: %d of %d wrong", wrong, N);
    OK(cuMemFree_v2(dx));
    OK(cuMemFree_v2(dy));
    OK(cuModuleUnload(m));
    free(x);
    free(y);
}

static unsigned result(void)
{
    unsigned value = 0;

    OK(cuMemcpyDtoH_v2(&value, out, 4));
    return value;
}

#define LAUNCH(f, gx, gy, gz, bx, by, bz, shared, args, extra)                 \
    cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, NULL, args, extra)

static void arguments(void)
{
    struct {
        CUdeviceptr p;
        unsigned value;
        char more[64];
    } block = {0};
    size_t size = 12;
    unsigned value = 11;
    void *args[] = {&out, &value};
    void *first[] = {NULL, &value};
    void *second[] = {&out, NULL};
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block,
                     CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    void *no_size[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block,
                       CU_LAUNCH_PARAM_END};
    CUfunction f = get("two");

    block.p = out;
    block.value = 22;
    OK(LAUNCH(f, 1, 1, 1, 1, 1, 1, 0, args, NULL));
    CHECK(result() == 11);
    OK(LAUNCH(f, 1, 1, 1, 1, 1, 1, 0, NULL, extra));
    CHECK(result() == 22);
    size = 8; /* too short is taken */
    OK(LAUNCH(f, 1, 1, 1, 1, 1, 1, 0, NULL, extra));
    OK(cuCtxSynchronize());
    size = 64;
    IS(LAUNCH(f, 1, 1, 1, 1, 1, 1, 0, NULL, extra),
       CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    IS(LAUNCH(f, 1, 1, 1, 1, 1, 1, 0, NULL, no_size), CUDA_ERROR_INVALID_VALUE);
    size = 12;
    IS(LAUNCH(f, 1, 1, 1, 1, 1, 1, 0, args, extra), CUDA_ERROR_INVALID_VALUE);
    IS(LAUNCH(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    IS(LAUNCH(f, 1, 1, 1, 1, 1, 1, 0, first, NULL), CUDA_ERROR_INVALID_VALUE);
    IS(LAUNCH(f, 1, 1, 1, 1, 1, 1, 0, second, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(LAUNCH(get("none"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL));
    OK(LAUNCH(get("none"), 1, 1, 1, 1, 1, 1, 0, args, NULL));
    OK(cuCtxSynchronize());
}

static void shapes(void)
{
    static const struct {
        unsigned grid[3], block[3];
        CUresult wanted;
    } rows[] = {
        {{0, 1, 1}, {1, 1, 1}, CUDA_ERROR_INVALID_VALUE},
        {{1, 0, 1}, {1, 1, 1}, CUDA_ERROR_INVALID_VALUE},
        {{1, 1, 0}, {1, 1, 1}, CUDA_ERROR_INVALID_VALUE},
        {{1, 1, 1}, {0, 1, 1}, CUDA_ERROR_INVALID_VALUE},
        {{1, 1, 1}, {1, 1, 0}, CUDA_ERROR_INVALID_VALUE},
        {{1, 65535, 1}, {1, 1, 1}, CUDA_SUCCESS},
        {{1, 65536, 1}, {1, 1, 1}, CUDA_ERROR_INVALID_VALUE},
        {{1, 1, 65536}, {1, 1, 1}, CUDA_ERROR_INVALID_VALUE},
        {{0x80000000u, 1, 1}, {1, 1, 1}, CUDA_ERROR_INVALID_VALUE},
        {{0xffffffffu, 1, 1}, {1, 1, 1}, CUDA_ERROR_INVALID_VALUE},
        {{1, 1, 1}, {1024, 1, 1}, CUDA_SUCCESS},
        {{1, 1, 1}, {1025, 1, 1}, CUDA_ERROR_INVALID_VALUE},
        {{1, 1, 1}, {32, 33, 1}, CUDA_ERROR_INVALID_VALUE},
        {{1, 1, 1}, {1, 1, 64}, CUDA_SUCCESS},
        {{1, 1, 1}, {1, 1, 65}, CUDA_ERROR_INVALID_VALUE},
        {{1, 1, 1}, {65536, 65536, 1}, CUDA_ERROR_INVALID_VALUE},
    };
    CUfunction f = get("none");

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_SAYS(LAUNCH(f, rows[i].grid[0], rows[i].grid[1], rows[i].grid[2],
                          rows[i].block[0], rows[i].block[1], rows[i].block[2],
                          0, NULL, NULL) == rows[i].wanted,
                   "grid %u,%u,%u block %u,%u,%u", rows[i].grid[0],
                   rows[i].grid[1], rows[i].grid[2], rows[i].block[0],
                   rows[i].block[1], rows[i].block[2]);
    f = get("bounded");
    OK(LAUNCH(f, 1, 1, 1, 128, 1, 1, 0, NULL, NULL));
    IS(LAUNCH(f, 1, 1, 1, 129, 1, 1, 0, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    f = get("required");
    OK(LAUNCH(f, 1, 1, 1, 64, 1, 1, 0, NULL, NULL));
    IS(LAUNCH(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxSynchronize());
}

static void shared(void)
{
    CUfunction f = get("dyn");
    int most = 0;

    OK(cuDeviceGetAttribute(
        &most, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0));
    OK(LAUNCH(f, 1, 1, 1, 1, 1, 1, 49152, NULL, NULL));
    IS(LAUNCH(f, 1, 1, 1, 1, 1, 1, 49153, NULL, NULL),
       CUDA_ERROR_INVALID_VALUE);
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                          65536));
    OK(LAUNCH(f, 1, 1, 1, 1, 1, 1, 65536, NULL, NULL));
    IS(LAUNCH(f, 1, 1, 1, 1, 1, 1, 65537, NULL, NULL),
       CUDA_ERROR_INVALID_VALUE);
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                          most));
    OK(LAUNCH(f, 1, 1, 1, 1, 1, 1, (unsigned)most, NULL, NULL));
    IS(LAUNCH(f, 1, 1, 1, 1, 1, 1, (unsigned)most + 1, NULL, NULL),
       CUDA_ERROR_INVALID_VALUE);
    IS(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                          most + 1),
       CUDA_ERROR_INVALID_VALUE);
    IS(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                          -5),
       CUDA_ERROR_INVALID_VALUE);
    f = get("shared32k");
    OK(LAUNCH(f, 1, 1, 1, 1, 1, 1, 16384, NULL, NULL));
    IS(LAUNCH(f, 1, 1, 1, 1, 1, 1, 16385, NULL, NULL),
       CUDA_ERROR_INVALID_VALUE);
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                          most - 32768));
    OK(LAUNCH(f, 1, 1, 1, 1, 1, 1, (unsigned)most - 32768, NULL, NULL));
    IS(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                          most - 32768 + 1),
       CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxSynchronize());
}

static void handles(CUcontext context)
{
    CUcontext other;
    CUfunction f = get("none");
    CUstream stream;

    IS(LAUNCH(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL),
       CUDA_ERROR_INVALID_HANDLE);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    OK(cuStreamSynchronize(stream));
    OK(cuLaunchKernel_ptsz(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuStreamSynchronize_ptsz(NULL));
    OK(cuStreamDestroy_v2(stream));
    if (is_kiln) {
        IS(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL),
           CUDA_ERROR_INVALID_HANDLE);
        IS(LAUNCH((CUfunction)(uintptr_t)0x1000, 1, 1, 1, 1, 1, 1, 0, NULL,
                  NULL),
           CUDA_ERROR_INVALID_HANDLE);
    }
    OK(cuCtxCreate_v2(&other, 0, 0));
    IS(LAUNCH(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    OK(cuCtxDestroy_v2(other));
    OK(cuCtxSetCurrent(NULL));
    IS(LAUNCH(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxSetCurrent(context));
}

static void extended(void)
{
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PRIORITY};
    CUlaunchConfig config = {1, 1, 1, 1, 1, 1, 0, NULL, &attribute, 0};
    unsigned value = 33;
    void *args[] = {&out, &value};
    CUfunction f = get("two");

    if (!cuLaunchKernelEx)
        return;
    OK(cuLaunchKernelEx(&config, f, args, NULL));
    CHECK(result() == 33);
    config.numAttrs = 1;
    OK(cuLaunchKernelEx(&config, f, args, NULL));
    attribute.id = (CUlaunchAttributeID)250;
    IS(cuLaunchKernelEx(&config, f, args, NULL), CUDA_ERROR_INVALID_VALUE);
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    OK(cuLaunchKernelEx(&config, f, args, NULL)); /* 0 x 0 x 0: none */
    attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
    IS(cuLaunchKernelEx(&config, f, args, NULL),
       CUDA_ERROR_INVALID_CLUSTER_SIZE);
    attribute.value.clusterDim.x = 8;
    attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
    config.gridDimX = 12;
    IS(cuLaunchKernelEx(&config, f, args, NULL),
       CUDA_ERROR_INVALID_CLUSTER_SIZE);
    OK(cuLaunchCooperativeKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, args));
    IS(cuLaunchCooperativeKernel(f, 1000000, 1, 1, 32, 1, 1, 0, NULL, args),
       CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    OK(cuCtxSynchronize());
}

int main(void)
{
    CUcontext context = test_start();

    test_need_compiler();
    saxpy();
    test_function(ptx_shapes, "none", &module);
    OK(cuMemAlloc_v2(&out, 64));
    arguments();
    shapes();
    shared();
    handles(context);
    extended();
    OK(cuCtxDestroy_v2(context));
    return test_end();
}
