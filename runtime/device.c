/* SPDX-License-Identifier: MIT
 *
 * Devices: counting, choosing, waiting.
 */
#include "runtime/start.h"

cudaError_t cudaGetDeviceCount(int *count)
{
    cudaError_t e;
    const struct driver *d;

    if (!count)
        return rt_note(cudaErrorInvalidValue);
    *count = 0;
    d = rt_driver(&e);
    if (!d)
        return rt_note(e);
    e = rt_from_cuda(d->cuDeviceGetCount(count));
    if (e == cudaSuccess && *count == 0)
        e = cudaErrorNoDevice;
    return rt_note(e);
}

cudaError_t cudaSetDevice(int device)
{
    cudaError_t e;
    const struct driver *d = rt_driver(&e);

    return rt_note(d ? rt_use_device(d, device) : e);
}

/* The context becomes ready without becoming current in this thread. */
cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags)
{
    cudaError_t e;
    CUcontext before = NULL;
    const struct driver *d = rt_driver(&e);
    int chosen = rt_chosen_device();

    if (!d)
        return rt_note(e);
    if (flags || device_flags)
        return rt_note(cudaErrorNotSupported);
    d->cuCtxGetCurrent(&before);
    e = rt_use_device(d, device);
    if (e == cudaSuccess && chosen != device)
        e = rt_use_device(d, chosen);
    if (e == cudaSuccess)
        e = rt_from_cuda(d->cuCtxSetCurrent(before));
    return rt_note(e);
}

cudaError_t cudaGetDevice(int *device)
{
    cudaError_t e;
    CUcontext current = NULL;
    const struct driver *d = rt_driver(&e);

    if (!device)
        return rt_note(cudaErrorInvalidValue);
    if (!d)
        return rt_note(e);
    *device = rt_chosen_device();
    if (!d->cuCtxGetCurrent(&current) && current)
        return rt_result(d->cuCtxGetDevice(device));
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    cudaError_t e;
    const struct driver *d = rt_enter(&e);

    return d ? rt_result(d->cuCtxSynchronize()) : rt_note(e);
}

cudaError_t cudaDeviceReset(void)
{
    cudaError_t e;
    CUdevice device;
    const struct driver *d = rt_enter(&e);

    if (!d)
        return rt_note(e);
    if (!d->cuDevicePrimaryCtxReset)
        return rt_note(cudaErrorCallRequiresNewerDriver);
    e = rt_from_cuda(d->cuCtxGetDevice(&device));
    if (e == cudaSuccess)
        e = rt_from_cuda(d->cuCtxSetCurrent(NULL));
    if (e == cudaSuccess) {
        rt_forget_device(rt_chosen_device());
        e = rt_from_cuda(d->cuDevicePrimaryCtxReset(device));
    }
    return rt_note(e);
}

cudaError_t cudaDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                                   int device)
{
    cudaError_t e;
    CUdevice handle;
    const struct driver *d = rt_driver(&e);

    if (!d)
        return rt_note(e);
    e = rt_from_cuda(d->cuDeviceGet(&handle, device));
    if (e == cudaSuccess)
        e = rt_from_cuda(d->cuDeviceGetAttribute(value, attribute, handle));
    return rt_note(e);
}

/* 0 and success where there is no driver, as documented. */
cudaError_t cudaDriverGetVersion(int *version)
{
    cudaError_t e;
    const struct driver *d;

    if (!version)
        return rt_note(cudaErrorInvalidValue);
    d = rt_driver(&e);
    *version = d ? d->version : 0;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    if (!version)
        return rt_note(cudaErrorInvalidValue);
    *version = CUDART_VERSION;
    return cudaSuccess;
}
