/* SPDX-License-Identifier: MIT
 *
 * A driver of a few functions: memory is the host's, modules and functions
 * are numbers, a launch is counted. What is wrong with it is asked for by
 * STANDIN, a list of words:
 *     nodevice    cuInit fails with 100
 *     missing=F   no entry point F
 * Built twice: with STANDIN_CPU it is a CPU driver, else like NVIDIA's.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/cuda_abi.h"
#include "driver/kiln_driver_info.h"

#define EXPORT __attribute__((visibility("default")))

static const char *wish(const char *word)
{
    const char *list = getenv("STANDIN");

    return list ? strstr(list, word) : NULL;
}

static CUcontext current;
static unsigned launches, loads;
static uint32_t loaded; /* the first bytes of the last image */

EXPORT CUresult cuInit(unsigned flags);
EXPORT CUresult cuInit(unsigned flags)
{
    (void)flags;
    return wish("nodevice") ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

static CUresult get_version(int *version)
{
    *version = 12040;
    return CUDA_SUCCESS;
}

static CUresult error_name(CUresult error, const char **text)
{
    *text = error == CUDA_ERROR_NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : "NAME";
    return CUDA_SUCCESS;
}

static CUresult device_get(CUdevice *device, int ordinal)
{
    *device = ordinal;
    return CUDA_SUCCESS;
}

static CUresult device_count(int *count)
{
    *count = 2;
    return CUDA_SUCCESS;
}

static CUresult device_name(char *name, int size, CUdevice device)
{
    snprintf(name, (size_t)size, "stand-in %d", device);
    return CUDA_SUCCESS;
}

static CUresult device_attribute(int *value, CUdevice_attribute attribute,
                                 CUdevice device)
{
    (void)device;
    *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? 9
             : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? 0
                                                                         : 1024;
    return CUDA_SUCCESS;
}

static CUresult total_memory(size_t *bytes, CUdevice device)
{
    (void)device;
    *bytes = 1 << 30;
    return CUDA_SUCCESS;
}

static CUresult retain(CUcontext *context, CUdevice device)
{
    (void)device;
    *context = (CUcontext)(uintptr_t)0x1000;
    return CUDA_SUCCESS;
}

static CUresult release(CUdevice device)
{
    (void)device;
    return CUDA_SUCCESS;
}

static CUcontext below;

static CUresult push(CUcontext context)
{
    below = current;
    current = context;
    return CUDA_SUCCESS;
}

static CUresult pop(CUcontext *context)
{
    *context = current;
    current = below;
    return CUDA_SUCCESS;
}

static CUresult set_current(CUcontext context)
{
    current = context;
    return CUDA_SUCCESS;
}

static CUresult get_current(CUcontext *context)
{
    *context = current;
    return CUDA_SUCCESS;
}

static CUresult load(CUmodule *module, const void *image, unsigned count,
                     CUjit_option *options, void **values)
{
    (void)count, (void)options, (void)values;
    loads++;
    memcpy(&loaded, image, sizeof loaded);
    *module = (CUmodule)(uintptr_t)0x2000;
    return current ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult unload(CUmodule module)
{
    (void)module;
    return CUDA_SUCCESS;
}

static CUresult get_function(CUfunction *function, CUmodule module,
                             const char *name)
{
    (void)module, (void)name;
    *function = (CUfunction)(uintptr_t)0x3000;
    return CUDA_SUCCESS;
}

static CUresult function_attribute(int *value, CUfunction_attribute attribute,
                                   CUfunction function)
{
    (void)function;
    *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 512
             : attribute == CU_FUNC_ATTRIBUTE_NUM_REGS            ? 40
                                                                  : 0;
    return CUDA_SUCCESS;
}

static CUresult allocate(CUdeviceptr *address, size_t bytes)
{
    void *memory = malloc(bytes);

    *address = (CUdeviceptr)(uintptr_t)memory;
    return memory ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult free_memory(CUdeviceptr address)
{
    free((void *)(uintptr_t)address);
    return CUDA_SUCCESS;
}

static CUresult write_memory(CUdeviceptr to, const void *from, size_t bytes)
{
    memcpy((void *)(uintptr_t)to, from, bytes);
    return CUDA_SUCCESS;
}

static CUresult read_memory(void *to, CUdeviceptr from, size_t bytes)
{
    memcpy(to, (void *)(uintptr_t)from, bytes);
    return CUDA_SUCCESS;
}

static CUresult set_memory(CUdeviceptr to, unsigned char value, size_t n)
{
    memset((void *)(uintptr_t)to, value, n);
    return CUDA_SUCCESS;
}

static CUresult launch(CUfunction function, unsigned gx, unsigned gy,
                       unsigned gz, unsigned bx, unsigned by, unsigned bz,
                       unsigned shared, CUstream stream, void **parameters,
                       void **extra)
{
    (void)function, (void)gx, (void)gy, (void)gz, (void)bx, (void)by;
    (void)bz, (void)shared, (void)stream, (void)parameters, (void)extra;
    launches++;
    return CUDA_SUCCESS;
}

static CUresult nothing(void)
{
    return CUDA_SUCCESS;
}

/* For entry points that the table demands and the tests never call. */
static CUresult absent(void)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

typedef CUresult any(void);

static const struct {
    const char *name;
    any *entry;
} entries[] = {
#define E(name, function)                                                      \
    {                                                                          \
        name, (any *)(void *)function                                          \
    }
    E("cuInit", cuInit),
    E("cuDriverGetVersion", get_version),
    E("cuGetErrorName", error_name),
    E("cuGetErrorString", error_name),
    E("cuDeviceGet", device_get),
    E("cuDeviceGetCount", device_count),
    E("cuDeviceGetName", device_name),
    E("cuDeviceGetAttribute", device_attribute),
    E("cuDeviceTotalMem", total_memory),
    E("cuDevicePrimaryCtxRetain", retain),
    E("cuDevicePrimaryCtxRelease", release),
    E("cuCtxPushCurrent", push),
    E("cuCtxPopCurrent", pop),
    E("cuCtxSetCurrent", set_current),
    E("cuCtxGetCurrent", get_current),
    E("cuCtxSynchronize", nothing),
    E("cuModuleLoadDataEx", load),
    E("cuModuleUnload", unload),
    E("cuModuleGetFunction", get_function),
    E("cuFuncGetAttribute", function_attribute),
    E("cuMemAlloc", allocate),
    E("cuMemFree", free_memory),
    E("cuMemcpyHtoD", write_memory),
    E("cuMemcpyDtoH", read_memory),
    E("cuMemsetD8", set_memory),
    E("cuLaunchKernel", launch),
    E("cuCtxGetDevice", absent),
    E("cuModuleLoadData", absent),
    E("cuModuleGetGlobal", absent),
    E("cuMemGetInfo", absent),
    E("cuMemcpy", absent),
    E("cuMemcpyDtoD", absent),
    E("cuStreamCreate", absent),
    E("cuStreamDestroy", absent),
    E("cuStreamSynchronize", absent),
#undef E
};

EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **entry,
                                    int version, uint64_t flags,
                                    CUdriverProcAddressQueryResult *found);
EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **entry,
                                    int version, uint64_t flags,
                                    CUdriverProcAddressQueryResult *found)
{
    const char *missing = wish("missing=");

    (void)flags;
    *found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    *entry = NULL;
    if (missing && !strcmp(missing + 8, symbol))
        return CUDA_ERROR_NOT_FOUND;
    /* The version of the signature, never "the newest". */
    if (version > 13000 || version < 2000)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (!strcmp(entries[i].name, symbol)) {
            memcpy(entry, &entries[i].entry, sizeof *entry);
            *found = CU_GET_PROC_ADDRESS_SUCCESS;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_NOT_FOUND;
}

EXPORT unsigned standin_launches(void);
EXPORT unsigned standin_launches(void)
{
    return launches;
}

EXPORT unsigned standin_loads(uint32_t *begins);
EXPORT unsigned standin_loads(uint32_t *begins)
{
    *begins = loaded;
    return loads;
}

EXPORT void *standin_current(void);
EXPORT void *standin_current(void)
{
    return current;
}

#ifdef STANDIN_CPU
EXPORT kiln_driver_info_fn kilnDriverInfo;
EXPORT int kilnDriverInfo(struct kiln_driver_info *info)
{
    info->isa = "stand-in";
    info->codegen = "none";
    info->ptx_version = 84;
    return 0;
}
#endif
