/* SPDX-License-Identifier: MIT
 *
 * Memory: allocation, copies, fills.
 */
#include "runtime/start.h"

static CUdeviceptr address_of(const void *p)
{
    return (CUdeviceptr)(uintptr_t)p;
}

cudaError_t cudaMalloc(void **address, size_t bytes)
{
    cudaError_t e;
    CUdeviceptr p = 0;
    const struct driver *d;

    if (!address)
        return rt_note(cudaErrorInvalidValue);
    d = rt_enter(&e);
    if (!d)
        return rt_note(e);
    /* Zero bytes are no error here, unlike at the driver's. */
    if (bytes)
        e = rt_from_cuda(d->cuMemAlloc(&p, bytes));
    if (e == cudaSuccess)
        *address = (void *)(uintptr_t)p;
    return rt_note(e);
}

cudaError_t cudaMallocManaged(void **address, size_t bytes, unsigned flags)
{
    cudaError_t e;
    CUdeviceptr p = 0;
    const struct driver *d;

    if (!address || !bytes)
        return rt_note(cudaErrorInvalidValue);
    d = rt_enter(&e);
    if (!d)
        return rt_note(e);
    if (!d->cuMemAllocManaged)
        return rt_note(cudaErrorNotSupported);
    e = rt_from_cuda(d->cuMemAllocManaged(&p, bytes, flags));
    if (e == cudaSuccess)
        *address = (void *)(uintptr_t)p;
    return rt_note(e);
}

cudaError_t cudaFree(void *address)
{
    cudaError_t e;
    /* cudaFree(NULL) is how many programs start the runtime. */
    const struct driver *d = rt_enter(&e);

    if (!d)
        return rt_note(e);
    return address ? rt_result(d->cuMemFree(address_of(address))) : cudaSuccess;
}

cudaError_t cudaMallocHost(void **memory, size_t bytes)
{
    return cudaHostAlloc(memory, bytes, 0);
}

cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    cudaError_t e;
    const struct driver *d;

    if (!memory)
        return rt_note(cudaErrorInvalidValue);
    d = rt_enter(&e);
    if (!d)
        return rt_note(e);
    if (!d->cuMemHostAlloc)
        return rt_note(cudaErrorNotSupported);
    if (!bytes) {
        *memory = NULL;
        return cudaSuccess;
    }
    return rt_result(d->cuMemHostAlloc(memory, bytes, flags));
}

cudaError_t cudaFreeHost(void *memory)
{
    cudaError_t e;
    const struct driver *d = rt_enter(&e);

    if (!d)
        return rt_note(e);
    if (!memory)
        return cudaSuccess;
    if (!d->cuMemFreeHost)
        return rt_note(cudaErrorNotSupported);
    return rt_result(d->cuMemFreeHost(memory));
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
    cudaError_t e;
    const struct driver *d = rt_enter(&e);

    return d ? rt_result(d->cuMemGetInfo(available, total)) : rt_note(e);
}

static CUresult copy(const struct driver *d, void *to, const void *from,
                     size_t bytes, enum cudaMemcpyKind kind)
{
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return d->cuMemcpyHtoD(address_of(to), from, bytes);
    case cudaMemcpyDeviceToHost:
        return d->cuMemcpyDtoH(to, address_of(from), bytes);
    case cudaMemcpyDeviceToDevice:
        return d->cuMemcpyDtoD(address_of(to), address_of(from), bytes);
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
        break;
    }
    return d->cuMemcpy(address_of(to), address_of(from), bytes);
}

static CUresult copy_async(const struct driver *d, void *to, const void *from,
                           size_t bytes, enum cudaMemcpyKind kind,
                           CUstream stream)
{
    if (kind == cudaMemcpyHostToDevice && d->cuMemcpyHtoDAsync)
        return d->cuMemcpyHtoDAsync(address_of(to), from, bytes, stream);
    if (kind == cudaMemcpyDeviceToHost && d->cuMemcpyDtoHAsync)
        return d->cuMemcpyDtoHAsync(to, address_of(from), bytes, stream);
    if (kind == cudaMemcpyDeviceToDevice && d->cuMemcpyDtoDAsync)
        return d->cuMemcpyDtoDAsync(address_of(to), address_of(from), bytes,
                                    stream);
    if (!d->cuMemcpyAsync)
        return CUDA_ERROR_NOT_SUPPORTED;
    return d->cuMemcpyAsync(address_of(to), address_of(from), bytes, stream);
}

static int kind_ok(enum cudaMemcpyKind kind)
{
    return (unsigned)kind <= cudaMemcpyDefault;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes,
                       enum cudaMemcpyKind kind)
{
    cudaError_t e;
    const struct driver *d;

    if (!kind_ok(kind))
        return rt_note(cudaErrorInvalidMemcpyDirection);
    d = rt_enter(&e);
    if (!d)
        return rt_note(e);
    return bytes ? rt_result(copy(d, to, from, bytes, kind)) : cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            enum cudaMemcpyKind kind, cudaStream_t stream)
{
    cudaError_t e;
    const struct driver *d;

    if (!kind_ok(kind))
        return rt_note(cudaErrorInvalidMemcpyDirection);
    d = rt_enter(&e);
    if (!d)
        return rt_note(e);
    return bytes ? rt_result(copy_async(d, to, from, bytes, kind, stream))
                 : cudaSuccess;
}

cudaError_t cudaMemcpyAsync_ptsz(void *to, const void *from, size_t bytes,
                                 enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return cudaMemcpyAsync(to, from, bytes, kind,
                           stream ? stream : CU_STREAM_PER_THREAD);
}

/* As the plain call, ordered by the thread's own stream. */
cudaError_t cudaMemcpy_ptds(void *to, const void *from, size_t bytes,
                            enum cudaMemcpyKind kind)
{
    cudaError_t e =
        cudaMemcpyAsync(to, from, bytes, kind, CU_STREAM_PER_THREAD);

    return e ? e : cudaStreamSynchronize(CU_STREAM_PER_THREAD);
}

cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    cudaError_t e;
    const struct driver *d = rt_enter(&e);

    if (!d)
        return rt_note(e);
    if (!bytes)
        return cudaSuccess;
    return rt_result(
        d->cuMemsetD8(address_of(to), (unsigned char)value, bytes));
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes,
                            cudaStream_t stream)
{
    cudaError_t e;
    const struct driver *d = rt_enter(&e);

    if (!d)
        return rt_note(e);
    if (!bytes)
        return cudaSuccess;
    if (!d->cuMemsetD8Async)
        return rt_note(cudaErrorNotSupported);
    return rt_result(d->cuMemsetD8Async(address_of(to), (unsigned char)value,
                                        bytes, stream));
}

cudaError_t cudaMemset_ptds(void *to, int value, size_t bytes)
{
    return cudaMemsetAsync(to, value, bytes, CU_STREAM_PER_THREAD);
}

cudaError_t cudaMemsetAsync_ptsz(void *to, int value, size_t bytes,
                                 cudaStream_t stream)
{
    return cudaMemsetAsync(to, value, bytes,
                           stream ? stream : CU_STREAM_PER_THREAD);
}
