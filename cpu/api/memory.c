/* SPDX-License-Identifier: MIT
 *
 * Memory management: device memory.
 */
#include "cpu/api/memory.h"

#include "base/alloc.h"
#include "cpu/api/driver.h"

CUresult memory_alloc(struct context *context, uint64_t size,
                      enum allocation_kind kind, struct allocation **out)
{
    struct allocation *a = kiln_zalloc(sizeof *a);
    struct kiln_error err = {0};

    if (!a)
        return CUDA_ERROR_OUT_OF_MEMORY;
    a->kind = kind;
    a->context = context;
    a->size = size;
    a->id = driver_next_id();
    if (exec_memory_alloc(size, a, &a->base, &err)) {
        kiln_release(a);
        return api_result(&err);
    }
    pthread_mutex_lock(&context->lock);
    a->next = context->allocations;
    a->link = &context->allocations;
    if (a->next)
        a->next->link = &a->next;
    context->allocations = a;
    pthread_mutex_unlock(&context->lock);
    *out = a;
    return CUDA_SUCCESS;
}

void memory_free(struct allocation *a)
{
    struct context *context = a->context;

    pthread_mutex_lock(&context->lock);
    *a->link = a->next;
    if (a->next)
        a->next->link = a->link;
    pthread_mutex_unlock(&context->lock);
    exec_memory_free(a->base, NULL);
    kiln_release(a);
}

void memory_release_context(struct context *context)
{
    while (context->allocations)
        memory_free(context->allocations);
    host_release_context(context);
}

struct allocation *memory_find(uint64_t address)
{
    struct exec_range range;

    return exec_memory_find(address, &range) ? range.tag : NULL;
}

int memory_covers(uint64_t address, uint64_t size)
{
    struct exec_range range;
    struct host_range host;

    if (exec_memory_find(address, &range))
        return size <= range.size - (address - range.base);
    if (host_find(address, &host))
        return size <= host.size - (address - host.base);
    return 0;
}

uint64_t memory_left(uint64_t address, uint64_t size)
{
    struct exec_range range;
    struct host_range host;
    uint64_t left = 0;

    if (exec_memory_find(address, &range))
        left = range.size - (address - range.base);
    else if (host_find(address, &host))
        left = host.size - (address - host.base);
    return size < left ? size : left;
}

API(cuMemAlloc_v2, CUdeviceptr *out, size_t size)
{
    struct context *context;
    struct allocation *a;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    if (!out || !size)
        return CUDA_ERROR_INVALID_VALUE;
    result = memory_alloc(context, size, ALLOCATION_PLAIN, &a);
    if (!result)
        *out = a->base;
    return result;
}

API(cuMemAllocPitch_v2, CUdeviceptr *out, size_t *pitch, size_t width,
    size_t height, unsigned int element)
{
    struct context *context;
    size_t row;
    size_t bytes;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    if (!out || !pitch || !width || !height ||
        (element != 4 && element != 8 && element != 16))
        return CUDA_ERROR_INVALID_VALUE;
    if (__builtin_add_overflow(width, (size_t)511, &row) ||
        __builtin_mul_overflow(row & ~(size_t)511, height, &bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    result = cuMemAlloc_v2(out, bytes);
    if (!result)
        *pitch = row & ~(size_t)511;
    return result;
}

API(cuMemAllocManaged, CUdeviceptr *out, size_t size, unsigned int flags)
{
    struct context *context;
    struct allocation *a;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    /* All device memory is the host's too: managed is only a name. */
    if (!out || !size ||
        (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return CUDA_ERROR_INVALID_VALUE;
    result = memory_alloc(context, size, ALLOCATION_MANAGED, &a);
    if (!result)
        *out = a->base;
    return result;
}

API(cuMemFree_v2, CUdeviceptr address)
{
    struct context *context;
    struct allocation *a;
    CUresult result = api_enter(&context);

    if (result || !address)
        return result;
    a = memory_find(address);
    if (!a || a->base != address || a->kind >= ALLOCATION_MODULE)
        return CUDA_ERROR_INVALID_VALUE;
    /* Work may still use it: freeing waits, as NVIDIA's driver does. */
    result = api_status(exec_context_sync(a->context->exec, NULL));
    memory_free(a);
    return result;
}

API(cuMemGetInfo_v2, size_t *free_bytes, size_t *total_bytes)
{
    struct context *context;
    uint64_t available;
    uint64_t total;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    exec_memory_info(&available, &total);
    if (free_bytes)
        *free_bytes = available;
    if (total_bytes)
        *total_bytes = total;
    return CUDA_SUCCESS;
}

API(cuMemGetAddressRange_v2, CUdeviceptr *base, size_t *size,
    CUdeviceptr address)
{
    struct context *context;
    struct allocation *a;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    a = memory_find(address);
    if (!a)
        return CUDA_ERROR_NOT_FOUND;
    if (base)
        *base = a->base;
    if (size)
        *size = a->size;
    return CUDA_SUCCESS;
}

/* Hints about placement: there is one place. */
API(cuMemAdvise, CUdeviceptr address, size_t size, CUmem_advise advice,
    CUdevice device)
{
    struct context *context;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    if (device != 0 && device != CU_DEVICE_CPU)
        return CUDA_ERROR_INVALID_DEVICE;
    if (!size || !memory_covers(address, size) || (int)advice < 1 ||
        advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

API(cuMemAdvise_v2, CUdeviceptr address, size_t size, CUmem_advise advice,
    CUmemLocation location)
{
    (void)location;
    return cuMemAdvise(address, size, advice, 0);
}

static CUresult prefetch(CUdeviceptr address, size_t size, CUstream handle)
{
    struct stream *stream;
    CUresult result = stream_enter(handle, &stream);

    if (result)
        return result;
    return size && memory_covers(address, size) ? CUDA_SUCCESS
                                                : CUDA_ERROR_INVALID_VALUE;
}

API_ON_STREAM(cuMemPrefetchAsync,
              (CUdeviceptr address, size_t size, CUdevice device,
               CUstream stream),
              (address, size, device, stream))
{
    if (device != 0 && device != CU_DEVICE_CPU)
        return CUDA_ERROR_INVALID_DEVICE;
    return prefetch(address, size, stream);
}

API_ON_STREAM(cuMemPrefetchAsync_v2,
              (CUdeviceptr address, size_t size, CUmemLocation location,
               unsigned int flags, CUstream stream),
              (address, size, location, flags, stream))
{
    (void)location;
    return flags ? CUDA_ERROR_INVALID_VALUE : prefetch(address, size, stream);
}
