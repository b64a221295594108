/* SPDX-License-Identifier: MIT
 *
 * Libraries: code loaded while the program runs. The handles are the
 * driver's, so that they move between this runtime, another one in the same
 * process, and the driver API.
 */
#include "runtime/start.h"

/* The driver, when it has libraries; loading needs no context, but a device
 * to compile for, which the primary context brings. */
static const struct driver *enter_library(cudaError_t *e)
{
    const struct driver *d = rt_enter(e);

    if (d && (!d->cuLibraryLoadData || !d->cuLibraryLoadFromFile ||
              !d->cuLibraryUnload || !d->cuLibraryGetKernel ||
              !d->cuLibraryGetGlobal || !d->cuLibraryGetManaged)) {
        *e = cudaErrorCallRequiresNewerDriver;
        return NULL;
    }
    return d;
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
                                cudaJitOption *jit, void **jit_values,
                                unsigned jit_count, cudaLibraryOption *options,
                                void **option_values, unsigned option_count)
{
    cudaError_t e;
    const struct driver *d;

    if (!library || !code)
        return rt_note(cudaErrorInvalidValue);
    d = enter_library(&e);
    if (!d)
        return rt_note(e);
    return rt_result(d->cuLibraryLoadData(library, code, jit, jit_values,
                                          jit_count, options, option_values,
                                          option_count));
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *file,
                                    cudaJitOption *jit, void **jit_values,
                                    unsigned jit_count,
                                    cudaLibraryOption *options,
                                    void **option_values, unsigned option_count)
{
    cudaError_t e;
    const struct driver *d;

    if (!library || !file)
        return rt_note(cudaErrorInvalidValue);
    d = enter_library(&e);
    if (!d)
        return rt_note(e);
    return rt_result(d->cuLibraryLoadFromFile(library, file, jit, jit_values,
                                              jit_count, options, option_values,
                                              option_count));
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library)
{
    cudaError_t e;
    const struct driver *d = enter_library(&e);

    return d ? rt_result(d->cuLibraryUnload(library)) : rt_note(e);
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library,
                                 const char *name)
{
    cudaError_t e;
    const struct driver *d;

    if (!kernel || !name)
        return rt_note(cudaErrorInvalidValue);
    d = enter_library(&e);
    return d ? rt_result(d->cuLibraryGetKernel(kernel, library, name))
             : rt_note(e);
}

cudaError_t cudaLibraryGetGlobal(void **address, size_t *bytes,
                                 cudaLibrary_t library, const char *name)
{
    cudaError_t e;
    CUdeviceptr p = 0;
    const struct driver *d;

    if (!name)
        return rt_note(cudaErrorInvalidValue);
    d = enter_library(&e);
    if (!d)
        return rt_note(e);
    e = rt_from_cuda(d->cuLibraryGetGlobal(&p, bytes, library, name));
    if (e == cudaSuccess && address)
        *address = (void *)(uintptr_t)p;
    return rt_note(e);
}

cudaError_t cudaLibraryGetManaged(void **address, size_t *bytes,
                                  cudaLibrary_t library, const char *name)
{
    cudaError_t e;
    CUdeviceptr p = 0;
    const struct driver *d;

    if (!name)
        return rt_note(cudaErrorInvalidValue);
    d = enter_library(&e);
    if (!d)
        return rt_note(e);
    e = rt_from_cuda(d->cuLibraryGetManaged(&p, bytes, library, name));
    if (e == cudaSuccess && address)
        *address = (void *)(uintptr_t)p;
    return rt_note(e);
}

cudaError_t cudaLibraryGetKernelCount(unsigned *count, cudaLibrary_t library)
{
    cudaError_t e;
    const struct driver *d = rt_enter(&e);

    if (!d)
        return rt_note(e);
    if (!d->cuLibraryGetKernelCount)
        return rt_note(cudaErrorCallRequiresNewerDriver);
    return rt_result(d->cuLibraryGetKernelCount(count, library));
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned count,
                                        cudaLibrary_t library)
{
    cudaError_t e;
    const struct driver *d = rt_enter(&e);

    if (!d)
        return rt_note(e);
    if (!d->cuLibraryEnumerateKernels)
        return rt_note(cudaErrorCallRequiresNewerDriver);
    return rt_result(d->cuLibraryEnumerateKernels(kernels, count, library));
}
