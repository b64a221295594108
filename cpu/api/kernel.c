/* SPDX-License-Identifier: MIT
 *
 * Attributes and parameters of functions and kernels: execution control's
 * queries, and the kernel half of library management.
 */
#include <string.h>

#include "cpu/api/driver.h"
#include "cpu/api/memory.h"
#include "cpu/api/module.h"

/* A thread has no registers of its own here. What is reported is the cap it
 * was compiled under, within bounds under which any block that the device
 * takes can be launched: 65,536 registers a block, 1,024 threads. */
enum { REGISTERS = 32, REGISTERS_MIN = 24, REGISTERS_MAX = 64 };

unsigned kernel_registers(const struct object_kernel *kernel)
{
    unsigned n = kernel->maxnreg ? kernel->maxnreg : REGISTERS;

    return n < REGISTERS_MIN   ? REGISTERS_MIN
           : n > REGISTERS_MAX ? REGISTERS_MAX
                               : n;
}

unsigned kernel_max_threads(const struct object_kernel *kernel)
{
    return kernel->max_threads && kernel->max_threads < 1024
               ? kernel->max_threads
               : 1024;
}

unsigned kernel_dynamic_limit(const struct object_kernel *kernel,
                              const struct settings *settings)
{
    int set = settings ? settings->dynamic_shared : -1;
    unsigned left = kernel->static_shared < EXEC_MAX_SHARED_DEFAULT
                        ? EXEC_MAX_SHARED_DEFAULT - kernel->static_shared
                        : 0;

    return set >= 0 ? (unsigned)set : left;
}

static uint64_t constant_bytes(const struct image *image)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < image->info.variable_count; i++)
        if (image->info.variables[i].space == OBJECT_CONST)
            n += image->info.variables[i].size;
    return n;
}

CUresult kernel_attribute(const struct image *image,
                          const struct object_kernel *kernel,
                          const struct settings *settings,
                          CUfunction_attribute what, int *value)
{
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    switch (what) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = (int)kernel_max_threads(kernel);
        break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = (int)kernel->static_shared;
        break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
        *value = (int)constant_bytes(image);
        break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *value = (int)kernel->local_bytes;
        break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = (int)kernel_registers(kernel);
        break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
        /* The target of the PTX, whatever the name says. */
        *value = (int)image->info.target;
        break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = (int)driver_config()->walk.sm;
        break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = (int)kernel_dynamic_limit(kernel, settings);
        break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *value = settings->carveout;
        break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        *value = settings->any_cluster;
        break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        *value = settings->cluster_policy;
        break;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        *value = 0;
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult kernel_set_attribute(const struct object_kernel *kernel,
                              struct settings *settings,
                              CUfunction_attribute what, int value)
{
    switch (what) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        if (value < 0 ||
            (uint64_t)value + kernel->static_shared > EXEC_MAX_SHARED)
            return CUDA_ERROR_INVALID_VALUE;
        settings->dynamic_shared = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        if (value < -1 || value > 100)
            return CUDA_ERROR_INVALID_VALUE;
        settings->carveout = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        settings->any_cluster = value != 0;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        settings->cluster_policy = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        return value ? api_unsupported("a required cluster size")
                     : CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

/* Parameter n; the size may be left out, as measured on NVIDIA's driver. */
static CUresult param_info(const struct object_kernel *kernel, size_t n,
                           size_t *offset, size_t *size)
{
    if (!offset || n >= kernel->param_count)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = kernel->params[n].offset;
    if (size)
        *size = kernel->params[n].size;
    return CUDA_SUCCESS;
}

/* ---- functions ---- */

CUresult function_find(CUfunction handle, struct context *context,
                       struct function **out)
{
    struct function *f = handle_get(handle, HANDLE_FUNCTION);
    struct kernel *k;
    struct module *module;
    CUresult result;

    if (!f) {
        k = handle_get(handle, HANDLE_KERNEL);
        if (!k)
            return CUDA_ERROR_INVALID_HANDLE;
        result = library_module(k->library, context, &module);
        if (result)
            return result;
        f = &module->functions[k->index];
        f->loaded = 1;
    }
    *out = f;
    return CUDA_SUCCESS;
}

static CUresult enter_function(CUfunction handle, struct function **out)
{
    struct context *context;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    *out = handle_get(handle, HANDLE_FUNCTION);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

API(cuFuncGetAttribute, int *value, CUfunction_attribute what,
    CUfunction handle)
{
    struct context *context;
    struct function *f;
    CUresult result = api_enter(&context);

    if (!result)
        result = function_find(handle, context, &f);
    return result ? result
                  : kernel_attribute(f->module->image, f->kernel, f->settings,
                                     what, value);
}

API(cuFuncSetAttribute, CUfunction handle, CUfunction_attribute what, int value)
{
    struct context *context;
    struct function *f;
    CUresult result = api_enter(&context);

    if (!result)
        result = function_find(handle, context, &f);
    return result ? result
                  : kernel_set_attribute(f->kernel, f->settings, what, value);
}

API(cuFuncSetCacheConfig, CUfunction handle, CUfunc_cache config)
{
    struct context *context;
    struct function *f;
    CUresult result = api_enter(&context);

    if (!result)
        result = function_find(handle, context, &f);
    if (result)
        return result;
    return (unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL
               ? CUDA_ERROR_INVALID_VALUE
               : CUDA_SUCCESS;
}

API(cuFuncSetSharedMemConfig, CUfunction handle, CUsharedconfig config)
{
    struct context *context;
    struct function *f;
    CUresult result = api_enter(&context);

    if (!result)
        result = function_find(handle, context, &f);
    if (result)
        return result;
    return (unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE
               ? CUDA_ERROR_INVALID_VALUE
               : CUDA_SUCCESS;
}

API(cuFuncGetModule, CUmodule *out, CUfunction handle)
{
    struct function *f;
    CUresult result = enter_function(handle, &f);

    if (result)
        return result;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = f->module->handle;
    return CUDA_SUCCESS;
}

API(cuFuncGetName, const char **name, CUfunction handle)
{
    struct context *context;
    struct function *f;
    CUresult result = api_enter(&context);

    if (!result)
        result = function_find(handle, context, &f);
    if (result)
        return result;
    if (!name)
        return CUDA_ERROR_INVALID_VALUE;
    *name = f->kernel->name;
    return CUDA_SUCCESS;
}

API(cuFuncGetParamInfo, CUfunction handle, size_t n, size_t *offset,
    size_t *size)
{
    struct function *f;
    CUresult result = enter_function(handle, &f);

    if (result == CUDA_ERROR_INVALID_HANDLE && !handle)
        return CUDA_ERROR_INVALID_VALUE; /* as measured, for NULL alone */
    return result ? result : param_info(f->kernel, n, offset, size);
}

API(cuFuncIsLoaded, CUfunctionLoadingState *state, CUfunction handle)
{
    struct function *f;
    CUresult result = enter_function(handle, &f);

    if (result)
        return result;
    if (!state)
        return CUDA_ERROR_INVALID_VALUE;
    *state = f->loaded ? CU_FUNCTION_LOADING_STATE_LOADED
                       : CU_FUNCTION_LOADING_STATE_UNLOADED;
    return CUDA_SUCCESS;
}

API(cuFuncLoad, CUfunction handle)
{
    struct function *f;
    CUresult result = enter_function(handle, &f);

    if (!result)
        f->loaded = 1;
    return result;
}

/* ---- kernels ---- */

static CUresult find_kernel(CUkernel handle, struct kernel **out)
{
    CUresult result = api_initialized();

    if (result)
        return result;
    *out = handle_get(handle, HANDLE_KERNEL);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static const struct object_kernel *object_of(const struct kernel *k)
{
    return &k->library->image->info.kernels[k->index];
}

API(cuKernelGetFunction, CUfunction *out, CUkernel handle)
{
    struct context *context;
    struct kernel *k;
    struct function *f;
    CUresult result = find_kernel(handle, &k);

    if (!result)
        result = api_enter(&context);
    if (!result && !out)
        return CUDA_ERROR_INVALID_VALUE;
    if (!result)
        result = function_find((CUfunction)handle, context, &f);
    if (!result)
        *out = f->handle;
    return result;
}

API(cuKernelGetLibrary, CUlibrary *out, CUkernel handle)
{
    struct kernel *k;
    CUresult result = find_kernel(handle, &k);

    if (result)
        return result;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = k->library->handle;
    return CUDA_SUCCESS;
}

API(cuKernelGetAttribute, int *value, CUfunction_attribute what,
    CUkernel handle, CUdevice device)
{
    struct kernel *k;
    CUresult result = find_kernel(handle, &k);

    if (!result)
        result = api_device(device);
    return result ? result
                  : kernel_attribute(k->library->image, object_of(k),
                                     &k->settings, what, value);
}

API(cuKernelSetAttribute, CUfunction_attribute what, int value, CUkernel handle,
    CUdevice device)
{
    struct kernel *k;
    CUresult result = find_kernel(handle, &k);

    if (!result)
        result = api_device(device);
    return result
               ? result
               : kernel_set_attribute(object_of(k), &k->settings, what, value);
}

API(cuKernelSetCacheConfig, CUkernel handle, CUfunc_cache config,
    CUdevice device)
{
    struct kernel *k;
    CUresult result = find_kernel(handle, &k);

    if (!result)
        result = api_device(device);
    if (result)
        return result;
    return (unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL
               ? CUDA_ERROR_INVALID_VALUE
               : CUDA_SUCCESS;
}

API(cuKernelGetName, const char **name, CUkernel handle)
{
    struct kernel *k;
    CUresult result = find_kernel(handle, &k);

    if (result)
        return result;
    if (!name)
        return CUDA_ERROR_INVALID_VALUE;
    *name = object_of(k)->name;
    return CUDA_SUCCESS;
}

API(cuKernelGetParamInfo, CUkernel handle, size_t n, size_t *offset,
    size_t *size)
{
    struct context *context;
    struct kernel *k;
    CUresult result = find_kernel(handle, &k);

    /* It needs none, but NVIDIA's driver asks for one. */
    if (!result)
        result = api_enter(&context);
    return result ? result : param_info(object_of(k), n, offset, size);
}
