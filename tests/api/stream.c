/* SPDX-License-Identifier: MIT
 *
 * Streams, events, host functions in a stream.
 */
#include <stdatomic.h>
#include <unistd.h>

#include "api.h"

static atomic_int gate;
static atomic_int steps[4];
static atomic_int step;

static void wait_gate(void *unused)
{
    (void)unused;
    while (!atomic_load(&gate))
        usleep(1000);
}

static void note(void *which)
{
    atomic_store(&steps[(uintptr_t)which], atomic_fetch_add(&step, 1) + 1);
}

static void called(CUstream stream, CUresult status, void *data)
{
    (void)stream;
    atomic_store((atomic_int *)data, status == CUDA_SUCCESS ? 1 : -1);
}

static void queries(CUcontext context)
{
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    CUcontext of = NULL;
    CUstream s, dead;
    unsigned flags = 9;
    int least = 9, greatest = 9, priority = 9;

    OK(cuCtxGetStreamPriorityRange(&least, &greatest));
    CHECK(least == 0 && greatest <= 0);
    OK(cuStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, greatest));
    OK(cuStreamGetFlags(s, &flags));
    CHECK(flags == CU_STREAM_NON_BLOCKING);
    OK(cuStreamGetPriority(s, &priority));
    CHECK(priority == greatest);
    OK(cuStreamGetCtx(s, &of));
    CHECK(of == context);
    OK(cuStreamIsCapturing(s, &capture));
    CHECK(capture == CU_STREAM_CAPTURE_STATUS_NONE);
    OK(cuStreamQuery(s));
    OK(cuStreamQuery(NULL));
    OK(cuStreamQuery(CU_STREAM_PER_THREAD));
    OK(cuStreamDestroy_v2(s));
    IS(cuStreamCreate(&dead, 77), CUDA_ERROR_INVALID_VALUE);
    if (is_kiln) {
        IS(cuStreamSynchronize(s), CUDA_ERROR_INVALID_HANDLE);
        IS(cuStreamDestroy_v2(s), CUDA_ERROR_INVALID_HANDLE);
        IS(cuStreamQuery((CUstream)(uintptr_t)0x5000),
           CUDA_ERROR_INVALID_HANDLE);
    }
}

/* Work behind a closed gate is not ready; another stream waits for it through
 * an event, a third one does not. */
static void order(void)
{
    CUstream a, b, c;
    CUevent e;

    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&c, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    OK(cuEventQuery(e));
    OK(cuLaunchHostFunc(a, wait_gate, NULL));
    OK(cuLaunchHostFunc(a, note, (void *)(uintptr_t)0));
    OK(cuEventRecord(e, a));
    OK(cuStreamWaitEvent(b, e, 0));
    OK(cuLaunchHostFunc(b, note, (void *)(uintptr_t)1));
    IS(cuStreamQuery(a), CUDA_ERROR_NOT_READY);
    IS(cuStreamQuery(b), CUDA_ERROR_NOT_READY);
    IS(cuEventQuery(e), CUDA_ERROR_NOT_READY);
    OK(cuStreamQuery(c));
    atomic_store(&gate, 1);
    OK(cuStreamSynchronize(b));
    CHECK(steps[0] == 1 && steps[1] == 2);
    OK(cuEventSynchronize(e));
    OK(cuStreamQuery(a));
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
    OK(cuStreamDestroy_v2(c));
    OK(cuEventDestroy_v2(e));
    if (is_kiln)
        IS(cuEventQuery(e), CUDA_ERROR_INVALID_HANDLE);
}

static void time_and_callbacks(void)
{
    CUevent a, b, untimed;
    atomic_int done = 0;
    float ms = -1;

    OK(cuEventCreate(&a, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&b, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
    IS(cuEventElapsedTime(&ms, a, b), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventRecord(a, NULL));
    OK(cuStreamAddCallback(NULL, called, &done, 0));
    atomic_store(&gate, 0);
    OK(cuLaunchHostFunc(NULL, wait_gate, NULL));
    OK(cuEventRecord(b, NULL));
    IS(cuEventElapsedTime(&ms, a, b), CUDA_ERROR_NOT_READY);
    usleep(20000);
    atomic_store(&gate, 1);
    OK(cuEventSynchronize(b));
    OK(cuEventElapsedTime(&ms, a, b));
    CHECK_SAYS(ms > 15 && ms < 5000, "%f ms between the events", (double)ms);
    CHECK(done == 1);
    OK(cuEventRecord(untimed, NULL));
    IS(cuEventElapsedTime(&ms, a, untimed), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventDestroy_v2(a));
    OK(cuEventDestroy_v2(b));
    OK(cuEventDestroy_v2(untimed));
    IS(cuEventCreate(&a, 64), CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
    CUcontext context = test_start();

    queries(context);
    order();
    time_and_callbacks();
    OK(cuProfilerStart());
    OK(cuProfilerStop());
    OK(cuCtxDestroy_v2(context));
    return test_end();
}
