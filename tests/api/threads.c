/* SPDX-License-Identifier: MIT
 *
 * Threads that share a context and do everything at once: load PTX, the same
 * and each its own, allocate, launch on their own default streams, copy back,
 * unload.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "api.h"

enum { THREADS = 8, ROUNDS = 12, N = 2000 };

static CUcontext context;

static int round_trip(const char *ptx)
{
    float a = 3, x[N], y[N];
    CUdeviceptr dx = 0, dy = 0;
    unsigned n = N;
    void *args[] = {&a, &dx, &dy, &n};
    CUmodule m = NULL;
    CUfunction f = NULL;
    CUevent e = NULL;
    int bad = 0;

    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = 1;
    }
    bad |= (int)cuModuleLoadData(&m, ptx);
    bad |= (int)cuModuleGetFunction(&f, m, "saxpy");
    bad |= (int)cuMemAlloc_v2(&dx, sizeof x);
    bad |= (int)cuMemAlloc_v2(&dy, sizeof y);
    bad |= (int)cuMemcpyHtoD_v2_ptds(dx, x, sizeof x);
    bad |= (int)cuMemcpyHtoD_v2_ptds(dy, y, sizeof y);
    bad |= (int)cuEventCreate(&e, CU_EVENT_DISABLE_TIMING);
    bad |= (int)cuLaunchKernel_ptsz(f, (N + 127) / 128, 1, 1, 128, 1, 1, 0,
                                    NULL, args, NULL);
    bad |= (int)cuEventRecord(e, CU_STREAM_PER_THREAD);
    bad |= (int)cuEventSynchronize(e);
    bad |= (int)cuMemcpyDtoHAsync_v2_ptsz(y, dy, sizeof y, NULL);
    bad |= (int)cuStreamSynchronize_ptsz(NULL);
    for (int i = 0; i < N; i++)
        bad |= y[i] != 3 * (float)i + 1;
    bad |= (int)cuEventDestroy_v2(e);
    bad |= (int)cuMemFree_v2(dx);
    bad |= (int)cuMemFree_v2(dy);
    bad |= (int)cuModuleUnload(m);
    return bad;
}

static void *work(void *number)
{
    int bad = cuCtxSetCurrent(context) != CUDA_SUCCESS;
    char own[2000];

    /* Text that no cache has seen. */
    snprintf(own, sizeof own, "// %d, thread %d\n%s", (int)getpid(),
             *(int *)number, ptx_saxpy);
    for (int i = 0; i < ROUNDS; i++)
        bad += round_trip(i % 4 ? ptx_saxpy : own) != 0;
    CHECK_SAYS(!bad, "%d rounds of a thread, %d bad", ROUNDS, bad);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];

    context = test_start();
    test_need_compiler();
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        CHECK(!pthread_create(&threads[i], NULL, work, &numbers[i]));
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_join(threads[i], NULL));
    OK(cuCtxDestroy_v2(context));
    return test_end();
}
