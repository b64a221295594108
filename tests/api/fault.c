/* SPDX-License-Identifier: MIT
 *
 * Faults in kernels: an error of the context that sticks, and of no other.
 */
#include <string.h>

#include "api.h"

static const char ptx_faults[] = ".version 7.0\n"
                                 ".target sm_70\n"
                                 ".address_size 64\n"
                                 ".visible .entry store(.param .u64 p)\n"
                                 "{\n"
                                 "    .reg .b32 %r<2>;\n"
                                 "    .reg .b64 %rd<2>;\n"
                                 "    ld.param.u64 %rd1, [p];\n"
                                 "    mov.u32 %r1, 7;\n"
                                 "    st.global.u32 [%rd1], %r1;\n"
                                 "    ret;\n"
                                 "}\n"
                                 ".visible .entry null()\n"
                                 "{\n"
                                 "    .reg .b32 %r<2>;\n"
                                 "    .reg .b64 %rd<2>;\n"
                                 "    mov.u64 %rd1, 0;\n"
                                 "    mov.u32 %r1, 7;\n"
                                 "    st.global.u32 [%rd1], %r1;\n"
                                 "    ret;\n"
                                 "}\n"
                                 ".visible .entry trap()\n"
                                 "{\n"
                                 "    trap;\n"
                                 "    ret;\n"
                                 "}\n";

/* In a context of its own: one launch, and what comes of it. */
static void fault(const char *name, CUdeviceptr address, CUresult wanted)
{
    void *args[] = {&address};
    CUcontext context;
    CUdeviceptr p = 0;
    CUstream stream;
    CUmodule m;
    CUfunction f;
    unsigned value = 0;

    OK(cuCtxCreate_v2(&context, 0, 0));
    f = test_function(ptx_faults, name, &m);
    OK(cuMemAlloc_v2(&p, 4));
    OK(cuStreamCreate(&stream, 0));
    if (address == 1) /* stands for freed memory */
        address = p;
    if (address == 2 || address == 3) /* an index of 32 bits, gone wrong */
        address = address == 2 ? p - ((CUdeviceptr)16 << 30)
                               : p + ((CUdeviceptr)16 << 30);
    if (address == p)
        OK(cuMemFree_v2(p));
    OK(cuLaunchKernel(f, 3, 1, 1, 64, 1, 1, 0, NULL, args, NULL));
    IS(cuCtxSynchronize(), wanted);
    IS(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL), wanted);
    IS(cuCtxSynchronize(), wanted);
    IS(cuMemAlloc_v2(&p, 4), wanted);
    IS(cuMemcpyDtoH_v2(&value, p, 4), wanted);
    IS(cuStreamSynchronize(stream), wanted);
    IS(cuStreamQuery(NULL), wanted);
    OK(cuCtxDestroy_v2(context));
}

/* Another context goes on. */
static void bystander(void)
{
    CUcontext bad, good;
    CUdeviceptr null = 0, p = 0;
    void *at_null[] = {&null};
    void *at_p[] = {&p};
    CUmodule m;
    CUfunction f;
    unsigned value = 0;

    OK(cuCtxCreate_v2(&good, 0, 0));
    OK(cuCtxCreate_v2(&bad, 0, 0));
    f = test_function(ptx_faults, "store", &m);
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, at_null, NULL));
    IS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    if (is_kiln) { /* NVIDIA's driver loses the whole process */
        OK(cuCtxSetCurrent(good));
        f = test_function(ptx_faults, "store", &m);
        OK(cuMemAlloc_v2(&p, 4));
        OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, at_p, NULL));
        OK(cuMemcpyDtoH_v2(&value, p, 4));
        CHECK(value == 7);
    }
    cuCtxDestroy_v2(bad);
    cuCtxDestroy_v2(good);
}

/* The primary context is usable again after a reset. */
static void reset(void)
{
    CUcontext context;
    CUdeviceptr null = 0, p = 0;
    void *args[] = {&null};
    CUmodule m;
    CUfunction f;

    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    f = test_function(ptx_faults, "store", &m);
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
    IS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(cuDevicePrimaryCtxReset_v2(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    OK(cuMemAlloc_v2(&p, 4));
    args[0] = &p;
    f = test_function(ptx_faults, "store", &m);
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
    OK(cuCtxSynchronize());
    OK(cuDevicePrimaryCtxRelease_v2(0));
}

int main(void)
{
    CUcontext context = test_start();

    test_need_compiler();
    OK(cuCtxDestroy_v2(context));
    fault("store", 0, CUDA_ERROR_ILLEGAL_ADDRESS);
    if (is_kiln) { /* one process cannot go on after a fault on a GPU */
        /* The compiler knows the address here. */
        fault("null", 0, CUDA_ERROR_ILLEGAL_ADDRESS);
        fault("store", 8, CUDA_ERROR_ILLEGAL_ADDRESS);
        fault("store", 0x7ffffffff000, CUDA_ERROR_ILLEGAL_ADDRESS);
        fault("store", (CUdeviceptr)1 << 63, CUDA_ERROR_ILLEGAL_ADDRESS);
        fault("store", 1, CUDA_ERROR_ILLEGAL_ADDRESS);
#if !defined(__SANITIZE_THREAD__) /* with it the device is of 16 GiB alone */
        fault("store", 2, CUDA_ERROR_ILLEGAL_ADDRESS);
        fault("store", 3, CUDA_ERROR_ILLEGAL_ADDRESS);
#endif
        fault("trap", 0, CUDA_ERROR_LAUNCH_FAILED);
        bystander();
        reset();
    }
    return test_end();
}
