/* SPDX-License-Identifier: MIT
 *
 * Memory management: copies along a line. Host and device share one address
 * space, so that the direction in a call's name only says what is checked,
 * and which copies of pageable memory must end before the call does.
 */
#include "cpu/api/context.h"
#include "cpu/api/memory.h"

enum {
    TO_DEVICE = 1,   /* the destination must be device or known memory */
    FROM_DEVICE = 2, /* the source must be */
    WAIT = 4         /* a synchronous call */
};

/* Pageable source bytes up to this are taken at the call, so that it need not
 * wait for the stream; CUDA allows both. */
enum { SNAPSHOT_MAX = 64 << 20 };

static int is_known(uintptr_t address)
{
    struct host_range range;

    return exec_memory_is_device(address) || host_find(address, &range);
}

static CUresult copy(uint64_t to, uint64_t from, size_t size, unsigned how,
                     CUstream handle)
{
    struct exec_copy request = {
        .to = (void *)(uintptr_t)to,
        .from = (const void *)(uintptr_t)from,
        .width = size,
    };
    struct kiln_error err = {0};
    struct stream *stream;
    CUresult result = stream_enter(handle, &stream);
    int wait = how & WAIT;

    if (result || !size)
        return result;
    if (!to || !from || (how & TO_DEVICE && !memory_covers(to, size)) ||
        (how & FROM_DEVICE && !memory_covers(from, size)))
        return CUDA_ERROR_INVALID_VALUE;
    if (!wait && !is_known(from)) {
        request.snapshot = size <= SNAPSHOT_MAX;
        wait = !request.snapshot;
    }
    /* A copy to pageable memory has ended when the call has. */
    if (!is_known(to))
        wait = 1;
    if (exec_copy(stream->exec, &request, &err))
        return api_result(&err);
    if (wait && exec_stream_sync(stream->exec, &err))
        return api_result(&err);
    return CUDA_SUCCESS;
}

API_SYNC(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t size), copy,
         (to, from, size, WAIT, stream))

API_SYNC(cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t size), copy,
         (to, (uintptr_t)from, size, TO_DEVICE | WAIT, stream))

API_SYNC(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t size), copy,
         ((uintptr_t)to, from, size, FROM_DEVICE | WAIT, stream))

/* Between device addresses no call waits, as with NVIDIA's driver. */
API_SYNC(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t size), copy,
         (to, from, size, TO_DEVICE | FROM_DEVICE, stream))

API_ON_STREAM(cuMemcpyAsync,
              (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream),
              (to, from, size, stream))
{
    return copy(to, from, size, 0, stream);
}

API_ON_STREAM(cuMemcpyHtoDAsync_v2,
              (CUdeviceptr to, const void *from, size_t size, CUstream stream),
              (to, from, size, stream))
{
    return copy(to, (uintptr_t)from, size, TO_DEVICE, stream);
}

API_ON_STREAM(cuMemcpyDtoHAsync_v2,
              (void *to, CUdeviceptr from, size_t size, CUstream stream),
              (to, from, size, stream))
{
    return copy((uintptr_t)to, from, size, FROM_DEVICE, stream);
}

API_ON_STREAM(cuMemcpyDtoDAsync_v2,
              (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream),
              (to, from, size, stream))
{
    return copy(to, from, size, TO_DEVICE | FROM_DEVICE, stream);
}

/* Between contexts: one device, one address space. */
static CUresult copy_peer(CUdeviceptr to, CUcontext to_context,
                          CUdeviceptr from, CUcontext from_context, size_t size,
                          unsigned how, CUstream stream)
{
    if (!handle_get(to_context, HANDLE_CONTEXT) ||
        !handle_get(from_context, HANDLE_CONTEXT))
        return api_initialized() ? CUDA_ERROR_NOT_INITIALIZED
                                 : CUDA_ERROR_INVALID_CONTEXT;
    return copy(to, from, size, how | TO_DEVICE | FROM_DEVICE, stream);
}

API_SYNC(cuMemcpyPeer,
         (CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
          CUcontext from_context, size_t size),
         copy_peer, (to, to_context, from, from_context, size, WAIT, stream))

API_ON_STREAM(cuMemcpyPeerAsync,
              (CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
               CUcontext from_context, size_t size, CUstream stream),
              (to, to_context, from, from_context, size, stream))
{
    return copy_peer(to, to_context, from, from_context, size, 0, stream);
}
