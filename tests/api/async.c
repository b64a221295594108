/* SPDX-License-Identifier: MIT
 *
 * Launches return before their kernel ends. The kernel spins until the host
 * sets a flag in memory, which the host does only after the launch.
 */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "api.h"

static const char ptx_spin[] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .entry spin(.param .u64 flag, .param .u64 seen)\n"
    "{\n"
    "    .reg .pred %p;\n"
    "    .reg .b32 %r<3>;\n"
    "    .reg .b64 %rd<3>;\n"
    "    ld.param.u64 %rd1, [flag];\n"
    "    ld.param.u64 %rd2, [seen];\n"
    "AGAIN:\n"
    "    ld.volatile.global.u32 %r1, [%rd1];\n"
    "    setp.eq.u32 %p, %r1, 0;\n"
    "    @%p bra AGAIN;\n"
    "    st.global.u32 [%rd2], %r1;\n"
    "    ret;\n"
    "}\n";

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(void)
{
    CUcontext context = test_start();
    volatile unsigned *flag;
    void *memory = NULL;
    CUdeviceptr flag_address = 0, seen = 0;
    void *args[] = {&flag_address, &seen};
    CUstream stream, other;
    CUevent event;
    CUmodule m;
    CUfunction f;
    double began;
    double took;
    unsigned value = 0;

    test_need_compiler();
    f = test_function(ptx_spin, "spin", &m);
    OK(cuMemHostAlloc(&memory, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
    OK(cuMemHostGetDevicePointer_v2(&flag_address, memory, 0));
    OK(cuMemAlloc_v2(&seen, 4));
    OK(cuMemsetD32_v2(seen, 0, 1));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    flag = memory;
    *flag = 0;
    began = now_ms();
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
    took = now_ms() - began;
    CHECK_SAYS(took < 50, "the launch took %.3f ms", took);
    OK(cuEventRecord(event, stream));
    IS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    usleep(20000);
    IS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    IS(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    OK(cuStreamQuery(other));
    *flag = 42;
    OK(cuStreamSynchronize(stream));
    OK(cuEventQuery(event));
    OK(cuMemcpyDtoH_v2(&value, seen, 4));
    CHECK(value == 42);
    OK(cuCtxDestroy_v2(context));
    return test_end();
}
