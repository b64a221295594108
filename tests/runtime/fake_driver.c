/* SPDX-License-Identifier: MIT
 *
 * A driver that does nothing but count: what the runtime asks of a driver,
 * and when, can be tested without one. FAKE_VERSION is the version that it
 * claims; FAKE_DEVICES the number of devices (2).
 */
#include "fake_driver.h"

#include <stdlib.h>
#include <string.h>

#include "driver/cuda_abi.h"

#define EXPORT __attribute__((visibility("default")))

static struct fake fake;
static _Thread_local int current; /* device + 1 */
static char contexts[8];
static char library, kernel;

EXPORT fake_record_fn fake_record;
struct fake *fake_record(void)
{
    return &fake;
}

static int number(const char *name, int otherwise)
{
    const char *text = getenv(name);

    return text ? atoi(text) : otherwise;
}

EXPORT CUresult cuDriverGetVersion(int *version);
CUresult cuDriverGetVersion(int *version)
{
    *version = number("FAKE_VERSION", 13000);
    return CUDA_SUCCESS;
}

static CUresult init(unsigned flags)
{
    fake.inits++;
    return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult device_count(int *count)
{
    *count = number("FAKE_DEVICES", 2);
    return CUDA_SUCCESS;
}

static CUresult device_get(CUdevice *device, int ordinal)
{
    *device = ordinal;
    return CUDA_SUCCESS;
}

static CUresult device_attribute(int *value, CUdevice_attribute attribute,
                                 CUdevice device)
{
    (void)device;
    *value = attribute == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK
                 ? 1024
                 : 0x7fffffff;
    return CUDA_SUCCESS;
}

static CUresult retain(CUcontext *context, CUdevice device)
{
    fake.retains++;
    *context = (CUcontext)(void *)&contexts[device];
    return CUDA_SUCCESS;
}

static CUresult set_current(CUcontext context)
{
    current = context ? (int)((char *)context - contexts) + 1 : 0;
    return CUDA_SUCCESS;
}

static CUresult get_current(CUcontext *context)
{
    *context = current ? (CUcontext)(void *)&contexts[current - 1] : NULL;
    return CUDA_SUCCESS;
}

static CUresult context_device(CUdevice *device)
{
    *device = current - 1;
    return current ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult synchronize(void)
{
    return CUDA_SUCCESS;
}

static CUresult library_load(CUlibrary *out, const void *code,
                             CUjit_option *jit, void **jit_values,
                             unsigned jit_count, CUlibraryOption *options,
                             void **option_values, unsigned option_count)
{
    (void)jit;
    (void)jit_values;
    (void)jit_count;
    (void)options;
    (void)option_values;
    (void)option_count;
    fake.loads++;
    fake.code = code;
    if (fake.fail_load)
        return (CUresult)fake.fail_load;
    *out = (CUlibrary)(void *)&library;
    return CUDA_SUCCESS;
}

static CUresult library_unload(CUlibrary lib)
{
    fake.unloads++;
    return lib ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult library_kernel(CUkernel *out, CUlibrary lib, const char *name)
{
    (void)lib;
    if (strcmp(name, "_Z6kernelv"))
        return CUDA_ERROR_NOT_FOUND;
    *out = (CUkernel)(void *)&kernel;
    return CUDA_SUCCESS;
}

static CUresult library_global(CUdeviceptr *address, size_t *bytes,
                               CUlibrary lib, const char *name)
{
    (void)lib;
    if (strcmp(name, "variable"))
        return CUDA_ERROR_NOT_FOUND;
    *address = (CUdeviceptr)(uintptr_t)fake.variable;
    *bytes = sizeof fake.variable;
    return CUDA_SUCCESS;
}

static CUresult launch(CUfunction function, unsigned gx, unsigned gy,
                       unsigned gz, unsigned bx, unsigned by, unsigned bz,
                       unsigned shared, CUstream stream, void **parameters,
                       void **extra)
{
    (void)parameters;
    (void)extra;
    (void)stream;
    if ((void *)function != (void *)&kernel)
        return CUDA_ERROR_INVALID_HANDLE;
    if (bx * by * bz > 1024)
        return CUDA_ERROR_INVALID_VALUE;
    fake.launches++;
    fake.device = current - 1;
    fake.shape[0] = gx;
    fake.shape[1] = gy;
    fake.shape[2] = gz;
    fake.shape[3] = bx;
    fake.shape[4] = by;
    fake.shape[5] = bz;
    fake.shared = shared;
    fake.stream = stream;
    return CUDA_SUCCESS;
}

static CUresult mem_alloc(CUdeviceptr *address, size_t bytes)
{
    void *p = bytes < (size_t)1 << 40 ? malloc(bytes) : NULL;

    *address = (CUdeviceptr)(uintptr_t)p;
    return p ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult mem_free(CUdeviceptr address)
{
    free((void *)(uintptr_t)address);
    return CUDA_SUCCESS;
}

static CUresult to_device(CUdeviceptr to, const void *from, size_t bytes)
{
    memcpy((void *)(uintptr_t)to, from, bytes);
    return CUDA_SUCCESS;
}

static CUresult to_host(void *to, CUdeviceptr from, size_t bytes)
{
    memcpy(to, (void *)(uintptr_t)from, bytes);
    return CUDA_SUCCESS;
}

static CUresult query(CUstream stream)
{
    (void)stream;
    return CUDA_ERROR_NOT_READY;
}

/* Entry points that must be there and that no test here reaches. */
static CUresult unsupported(void)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

#define ENTRY(name, function)                                                  \
    {                                                                          \
        name, (void (*)(void))function                                         \
    }
static const struct {
    const char *name;
    void (*function)(void);
} entries[] = {
    ENTRY("cuInit", init),
    ENTRY("cuDriverGetVersion", cuDriverGetVersion),
    ENTRY("cuDeviceGetCount", device_count),
    ENTRY("cuDeviceGet", device_get),
    ENTRY("cuDeviceGetAttribute", device_attribute),
    ENTRY("cuDevicePrimaryCtxRetain", retain),
    ENTRY("cuCtxSetCurrent", set_current),
    ENTRY("cuCtxGetCurrent", get_current),
    ENTRY("cuCtxGetDevice", context_device),
    ENTRY("cuCtxSynchronize", synchronize),
    ENTRY("cuLibraryLoadData", library_load),
    ENTRY("cuLibraryUnload", library_unload),
    ENTRY("cuLibraryGetKernel", library_kernel),
    ENTRY("cuLibraryGetGlobal", library_global),
    ENTRY("cuLaunchKernel", launch),
    ENTRY("cuMemAlloc", mem_alloc),
    ENTRY("cuMemFree", mem_free),
    ENTRY("cuMemcpyHtoD", to_device),
    ENTRY("cuMemcpyDtoH", to_host),
    ENTRY("cuStreamQuery", query),
};

EXPORT CUresult cuGetProcAddress_v2(const char *name, void **entry, int version,
                                    uint64_t flags, int *status);
CUresult cuGetProcAddress_v2(const char *name, void **entry, int version,
                             uint64_t flags, int *status)
{
    void (*found)(void) = (void (*)(void))unsupported;

    (void)flags;
    if (status)
        *status = 0;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (!strcmp(entries[i].name, name))
            found = entries[i].function;
    if (version > number("FAKE_VERSION", 13000))
        found = NULL;
    memcpy(entry, &found, sizeof found);
    return found ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
