/* SPDX-License-Identifier: MIT
 *
 * Initialisation, the device and its attributes, contexts.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "api.h"

static void before_init(void)
{
    CUmoduleLoadingMode mode;
    CUcontext context;
    CUdeviceptr p;
    int n = 0;

    IS(cuDeviceGetCount(&n), CUDA_ERROR_NOT_INITIALIZED);
    IS(cuCtxGetCurrent(&context), CUDA_ERROR_NOT_INITIALIZED);
    IS(cuMemAlloc_v2(&p, 4), CUDA_ERROR_NOT_INITIALIZED);
    IS(cuModuleGetLoadingMode(&mode), CUDA_ERROR_NOT_INITIALIZED);
    OK(cuDriverGetVersion(&n));
    CHECK_SAYS(n >= 9000, "version %d", n);
    IS(cuInit(1), CUDA_ERROR_INVALID_VALUE);
    OK(cuInit(0));
    OK(cuInit(0));
}

static void error_names(void)
{
    const char *text = NULL;

    OK(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
    CHECK(text && !strcmp(text, "CUDA_ERROR_ILLEGAL_ADDRESS"));
    OK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
    CHECK(text && !strcmp(text, "out of memory"));
    IS(cuGetErrorName((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
    CHECK(text == NULL);
}

static int attribute(CUdevice_attribute a)
{
    int value = -12345;

    OK(cuDeviceGetAttribute(&value, a, 0));
    return value;
}

static void device(void)
{
    char name[256] = "";
    CUuuid a, b;
    CUdevice d = 7;
    size_t total = 0;
    int n = 0;
    int unanswered = 0;

    OK(cuDeviceGetCount(&n));
    CHECK(n >= 1);
    OK(cuDeviceGet(&d, 0));
    CHECK(d == 0);
    IS(cuDeviceGet(&d, n), CUDA_ERROR_INVALID_DEVICE);
    IS(cuDeviceGet(&d, -1), CUDA_ERROR_INVALID_DEVICE);
    OK(cuDeviceGetName(name, sizeof name, 0));
    CHECK_SAYS(*name, "name '%s'", name);
    OK(cuDeviceGetName(name, 5, 0));
    CHECK(strlen(name) == 4);
    OK(cuDeviceGetUuid_v2(&a, 0));
    OK(cuDeviceGetUuid_v2(&b, 0));
    CHECK(!memcmp(&a, &b, sizeof a));
    OK(cuDeviceTotalMem_v2(&total, 0));
    CHECK_SAYS(total > 1 << 20, "%zu bytes", total);
    for (int i = 1; i < CU_DEVICE_ATTRIBUTE_MAX; i++)
        unanswered +=
            cuDeviceGetAttribute(&n, (CUdevice_attribute)i, 0) && is_kiln;
    CHECK_SAYS(!unanswered, "attributes without an answer: %d", unanswered);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE) == 32);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK) == 1024);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING) == 1);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) > 0);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) >= 5);
    IS(cuDeviceGetAttribute(&n, (CUdevice_attribute)0, 0),
       CUDA_ERROR_INVALID_VALUE);
    IS(cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 99),
       CUDA_ERROR_INVALID_DEVICE);
}

static void created(void)
{
    CUcontext a = NULL, b = NULL, now = NULL;
    CUdevice d = 5;
    unsigned version = 0;
    size_t limit = 0;

    OK(cuCtxGetCurrent(&now));
    CHECK(now == NULL);
    IS(cuCtxGetDevice(&d), CUDA_ERROR_INVALID_CONTEXT);
    IS(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
    IS(cuCtxCreate_v2(&a, 0, 99), CUDA_ERROR_INVALID_DEVICE);
    IS(cuCtxCreate_v2(NULL, 0, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxCreate_v2(&a, CU_CTX_SCHED_SPIN, 0));
    OK(cuCtxGetCurrent(&now));
    CHECK(now == a);
    OK(cuCtxCreate_v3(&b, NULL, 0, 0, 0));
    OK(cuCtxGetCurrent(&now));
    CHECK(now == b);
    OK(cuCtxGetApiVersion(b, &version));
    CHECK(version > 0);
    OK(cuCtxPopCurrent_v2(&now));
    CHECK(now == b);
    OK(cuCtxGetCurrent(&now));
    CHECK(now == a);
    OK(cuCtxPushCurrent_v2(b));
    OK(cuCtxGetDevice(&d));
    CHECK(d == 0);
    OK(cuCtxGetLimit(&limit, CU_LIMIT_MALLOC_HEAP_SIZE));
    CHECK(limit > 0);
    OK(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 16 << 20));
    OK(cuCtxGetLimit(&limit, CU_LIMIT_MALLOC_HEAP_SIZE));
    CHECK(limit >= 16 << 20);
    IS(cuCtxGetLimit(&limit, (CUlimit)77), CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxSetCurrent(a));
    OK(cuCtxDestroy_v2(b));
    OK(cuCtxDestroy_v2(a));
    OK(cuCtxGetCurrent(&now));
    IS(cuCtxDestroy_v2(NULL), CUDA_ERROR_INVALID_VALUE);
    /* What a dead handle gives is left open; it must be refused. */
    if (is_kiln) {
        IS(cuCtxDestroy_v2(a), CUDA_ERROR_INVALID_CONTEXT);
        IS(cuCtxSetCurrent((CUcontext)(uintptr_t)0x1234),
           CUDA_ERROR_INVALID_CONTEXT);
        if (cuCtxCreate_v4) {
            OK(cuCtxCreate_v4(&a, NULL, 0, 0));
            OK(cuCtxDestroy_v2(a));
        }
    }
    while (!cuCtxPopCurrent_v2(&now))
        ;
}

static void primary(void)
{
    CUcontext a = NULL, b = NULL;
    CUdeviceptr p;
    unsigned flags = 99;
    int active = 9;

    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK(active == 0);
    OK(cuDevicePrimaryCtxSetFlags_v2(0, CU_CTX_SCHED_YIELD));
    OK(cuDevicePrimaryCtxRetain(&a, 0));
    OK(cuDevicePrimaryCtxRetain(&b, 0));
    CHECK(a && a == b);
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK(active == 1);
    CHECK(flags == CU_CTX_SCHED_YIELD);
    OK(cuCtxSetCurrent(a));
    OK(cuMemAlloc_v2(&p, 64));
    OK(cuDevicePrimaryCtxRelease_v2(0));
    OK(cuMemFree_v2(p));
    IS(cuCtxDestroy_v2(a), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuDevicePrimaryCtxRelease_v2(0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK(active == 0);
    if (is_kiln) {
        IS(cuMemAlloc_v2(&p, 64), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        IS(cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);
    }
    OK(cuDevicePrimaryCtxRetain(&b, 0));
    OK(cuCtxSetCurrent(b));
    OK(cuMemAlloc_v2(&p, 64));
    OK(cuDevicePrimaryCtxReset_v2(0));
    OK(cuCtxSetCurrent(NULL));
}

static void *other_thread(void *data)
{
    CUcontext now = data;
    CUdeviceptr p = 0;

    /* A new thread has no context; giving it one shares it. */
    OK(cuCtxGetCurrent(&now));
    CHECK(now == NULL);
    OK(cuCtxSetCurrent(data));
    OK(cuMemAlloc_v2(&p, 4096));
    OK(cuMemFree_v2(p));
    return NULL;
}

static void threads(void)
{
    CUcontext context;
    pthread_t thread;

    OK(cuCtxCreate_v2(&context, 0, 0));
    CHECK(!pthread_create(&thread, NULL, other_thread, context));
    CHECK(!pthread_join(thread, NULL));
    OK(cuCtxDestroy_v2(context));
}

int main(void)
{
    test_open();
    before_init();
    error_names();
    device();
    created();
    primary();
    threads();
    return test_end();
}
