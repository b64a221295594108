/* SPDX-License-Identifier: MIT
 *
 * Launches. A kernel is named by the host function that stands for it, or by
 * a handle. nvcc of CUDA 13 asks for the handle once and launches by it;
 * nvcc of CUDA 12 and clang launch by the host function each time.
 */
#include <link.h>
#include <stdatomic.h>

#include "runtime/register.h"

enum { PENDING_MAX = 16 };

/* Between kernel<<<...>>> and the stub that launches, the configuration is
 * here; nested, because arguments may be launches of their own. */
static _Thread_local struct {
    int depth;
    struct {
        dim3 grid;
        dim3 block;
        size_t shared;
        cudaStream_t stream;
    } at[PENDING_MAX];
} pending;

/* Generated code asks for a handle once, keeps what it got and ignores the
 * error: a launch of handle 0 answers with this. */
static _Atomic cudaError_t handle_failure = cudaErrorInvalidDeviceFunction;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                     cudaStream_t stream)
{
    if (pending.depth == PENDING_MAX)
        return (unsigned)rt_note(cudaErrorMissingConfiguration);
    pending.at[pending.depth].grid = grid;
    pending.at[pending.depth].block = block;
    pending.at[pending.depth].shared = shared;
    pending.at[pending.depth].stream = stream;
    pending.depth++;
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared,
                                       void *stream)
{
    if (pending.depth == 0)
        return rt_note(cudaErrorMissingConfiguration);
    pending.depth--;
    *grid = pending.at[pending.depth].grid;
    *block = pending.at[pending.depth].block;
    *shared = pending.at[pending.depth].shared;
    *(cudaStream_t *)stream = pending.at[pending.depth].stream;
    return cudaSuccess;
}

struct code_search {
    uintptr_t address;
    int found;
};

static int search_code(struct dl_phdr_info *info, size_t size, void *data)
{
    struct code_search *search = data;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

        if (info->dlpi_phdr[i].p_type == PT_LOAD &&
            (info->dlpi_phdr[i].p_flags & PF_X) && search->address >= from &&
            search->address - from < info->dlpi_phdr[i].p_memsz)
            search->found = 1;
    }
    return search->found;
}

/* A handle that came from elsewhere is data; an address in a loaded file's
 * code is a function that nobody registered, which no driver should be made
 * to follow. */
static int is_code(const void *p)
{
    static _Thread_local const void *known;
    struct code_search search = {(uintptr_t)p, 0};

    if (p != known)
        dl_iterate_phdr(search_code, &search);
    if (!search.found)
        known = p;
    return search.found;
}

static cudaError_t kernel_of(const struct driver *d, const void *function,
                             cudaKernel_t *kernel)
{
    int found;
    cudaError_t e = register_kernel(d, function, kernel, &found);

    if (found)
        return e;
    if (!function || is_code(function))
        return cudaErrorInvalidDeviceFunction;
    *kernel = (cudaKernel_t)(uintptr_t)function;
    return cudaSuccess;
}

/* The driver calls a wrong shape an invalid value; the runtime has a name
 * for it. */
static cudaError_t shape_error(const struct driver *d, dim3 grid, dim3 block)
{
    static const CUdevice_attribute limits[] = {
        CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,
        CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
        CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z,
        CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X,
        CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,
        CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z};
    const unsigned dims[] = {grid.x, grid.y, grid.z, block.x, block.y, block.z};
    uint64_t threads = (uint64_t)block.x * block.y;
    CUdevice device;
    int limit = 0;

    if (d->cuCtxGetDevice(&device))
        return cudaErrorInvalidValue;
    for (size_t i = 0; i < 6; i++)
        if (!d->cuDeviceGetAttribute(&limit, limits[i], device) &&
            dims[i] > (unsigned)limit)
            return cudaErrorInvalidConfiguration;
    if (!d->cuDeviceGetAttribute(
            &limit, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, device) &&
        (threads > (unsigned)limit || threads * block.z > (unsigned)limit))
        return cudaErrorInvalidConfiguration;
    return cudaErrorInvalidValue;
}

static cudaError_t launch(const struct driver *d, cudaKernel_t kernel,
                          const cudaLaunchConfig_t *c, void **arguments)
{
    const dim3 g = c->gridDim;
    const dim3 b = c->blockDim;
    CUresult result;

    if (!g.x || !g.y || !g.z || !b.x || !b.y || !b.z)
        return cudaErrorInvalidConfiguration;
    if (c->dynamicSmemBytes > UINT32_MAX)
        return cudaErrorInvalidValue;
    if (c->numAttrs) {
        CUlaunchConfig config = {.gridDimX = g.x,
                                 .gridDimY = g.y,
                                 .gridDimZ = g.z,
                                 .blockDimX = b.x,
                                 .blockDimY = b.y,
                                 .blockDimZ = b.z,
                                 .sharedMemBytes =
                                     (unsigned)c->dynamicSmemBytes,
                                 .hStream = c->stream,
                                 .attrs = c->attrs,
                                 .numAttrs = c->numAttrs};

        if (!d->cuLaunchKernelEx)
            return cudaErrorCallRequiresNewerDriver;
        result =
            d->cuLaunchKernelEx(&config, (CUfunction)kernel, arguments, NULL);
    } else {
        /* A CUkernel is taken wherever a CUfunction is launched. */
        result = d->cuLaunchKernel((CUfunction)kernel, g.x, g.y, g.z, b.x, b.y,
                                   b.z, (unsigned)c->dynamicSmemBytes,
                                   c->stream, arguments, NULL);
    }
    if (result == CUDA_ERROR_INVALID_VALUE)
        return shape_error(d, g, b);
    return rt_from_cuda(result);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config,
                                const void *function, void **arguments)
{
    cudaError_t e;
    cudaKernel_t kernel = NULL;
    const struct driver *d;

    if (!config)
        return rt_note(cudaErrorInvalidConfiguration);
    d = rt_enter(&e);
    if (!d)
        return rt_note(e);
    e = kernel_of(d, function, &kernel);
    return rt_note(e ? e : launch(d, kernel, config, arguments));
}

cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t *config,
                                     const void *function, void **arguments)
{
    cudaLaunchConfig_t own;

    if (!config)
        return rt_note(cudaErrorInvalidConfiguration);
    own = *config;
    if (!own.stream)
        own.stream = CU_STREAM_PER_THREAD;
    return cudaLaunchKernelExC(&own, function, arguments);
}

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block,
                             void **arguments, size_t shared,
                             cudaStream_t stream)
{
    cudaLaunchConfig_t config = {.gridDim = grid,
                                 .blockDim = block,
                                 .dynamicSmemBytes = shared,
                                 .stream = stream};

    return cudaLaunchKernelExC(&config, function, arguments);
}

cudaError_t cudaLaunchKernel_ptsz(const void *function, dim3 grid, dim3 block,
                                  void **arguments, size_t shared,
                                  cudaStream_t stream)
{
    return cudaLaunchKernel(function, grid, block, arguments, shared,
                            stream ? stream : CU_STREAM_PER_THREAD);
}

cudaError_t cudaGetKernel(cudaKernel_t *kernel, const void *entry)
{
    cudaError_t e;
    cudaKernel_t found = NULL;
    const struct driver *d;

    if (!kernel)
        return rt_note(cudaErrorInvalidValue);
    d = rt_enter(&e);
    if (d)
        e = kernel_of(d, entry, &found);
    if (!e)
        *kernel = found;
    return rt_note(e);
}

cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *entry)
{
    cudaError_t e = cudaGetKernel(kernel, entry);

    if (e)
        atomic_store(&handle_failure, e);
    return e;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block,
                               void **arguments, size_t shared,
                               cudaStream_t stream)
{
    if (!kernel)
        return rt_note(atomic_load(&handle_failure));
    return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block,
                                    void **arguments, size_t shared,
                                    cudaStream_t stream)
{
    return __cudaLaunchKernel(kernel, grid, block, arguments, shared,
                              stream ? stream : CU_STREAM_PER_THREAD);
}

/* What a kernel is made of; the driver is asked for its CUfunction in the
 * current context, which every driver with kernels answers for. */
static cudaError_t function_of(const struct driver *d, const void *function,
                               CUfunction *out)
{
    cudaKernel_t kernel;
    cudaError_t e = kernel_of(d, function, &kernel);

    if (e)
        return e;
    if (!d->cuKernelGetFunction)
        return cudaErrorCallRequiresNewerDriver;
    return rt_from_cuda(d->cuKernelGetFunction(out, kernel));
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *out,
                                  const void *function)
{
    struct cudaFuncAttributes a = {0};
    int shared = 0;
    int constant = 0;
    int local = 0;
    const struct {
        CUfunction_attribute attribute;
        int *to;
    } wanted[] = {
        {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &shared},
        {CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, &constant},
        {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &local},
        {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &a.maxThreadsPerBlock},
        {CU_FUNC_ATTRIBUTE_NUM_REGS, &a.numRegs},
        {CU_FUNC_ATTRIBUTE_PTX_VERSION, &a.ptxVersion},
        {CU_FUNC_ATTRIBUTE_BINARY_VERSION, &a.binaryVersion},
        {CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, &a.cacheModeCA},
        {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
         &a.maxDynamicSharedSizeBytes},
    };
    CUfunction f = NULL;
    cudaError_t e;
    const struct driver *d;

    if (!out)
        return rt_note(cudaErrorInvalidValue);
    d = rt_enter(&e);
    if (!d)
        return rt_note(e);
    e = function_of(d, function, &f);
    for (size_t i = 0; !e && i < sizeof wanted / sizeof *wanted; i++)
        e = rt_from_cuda(
            d->cuFuncGetAttribute(wanted[i].to, wanted[i].attribute, f));
    if (e)
        return rt_note(e);
    a.sharedSizeBytes = (size_t)shared;
    a.constSizeBytes = (size_t)constant;
    a.localSizeBytes = (size_t)local;
    *out = a;
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *function, int attribute, int value)
{
    CUfunction f = NULL;
    cudaError_t e;
    const struct driver *d = rt_enter(&e);

    if (!d)
        return rt_note(e);
    e = function_of(d, function, &f);
    if (!e && !d->cuFuncSetAttribute)
        e = cudaErrorNotSupported;
    if (!e)
        e = rt_from_cuda(
            d->cuFuncSetAttribute(f, (CUfunction_attribute)attribute, value));
    return rt_note(e);
}
