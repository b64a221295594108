/* SPDX-License-Identifier: MIT
 *
 * Stream-ordered memory allocation. Device memory is cheap to take here, so
 * allocating is done at the call; freeing waits in the stream until earlier
 * work has ended. The one pool is the device's default pool.
 */
#include <stdatomic.h>

#include "base/alloc.h"
#include "cpu/api/context.h"
#include "cpu/api/driver.h"
#include "cpu/api/memory.h"

static struct pool {
    void *handle;
    atomic_ullong threshold;
    atomic_ullong used;
    atomic_ullong high;
    atomic_int reuse[3];
} pool = {.reuse = {1, 1, 1}};
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_pool(void)
{
    pool.handle = handle_new(HANDLE_POOL, &pool);
}

static CUresult default_pool(CUmemoryPool *out, CUdevice device)
{
    CUresult result = api_device(device);

    if (result)
        return result;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_once(&once, make_pool);
    *out = pool.handle;
    return pool.handle ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

API(cuDeviceGetDefaultMemPool, CUmemoryPool *out, CUdevice device)
{
    return default_pool(out, device);
}

API(cuDeviceGetMemPool, CUmemoryPool *out, CUdevice device)
{
    return default_pool(out, device);
}

API(cuDeviceSetMemPool, CUdevice device, CUmemoryPool handle)
{
    CUresult result = api_device(device);

    if (result)
        return result;
    return handle_get(handle, HANDLE_POOL) ? CUDA_SUCCESS
                                           : CUDA_ERROR_INVALID_VALUE;
}

static CUresult allocate(CUdeviceptr *out, size_t size, CUstream handle)
{
    struct stream *stream;
    struct allocation *a;
    unsigned long long now;
    unsigned long long high;
    CUresult result = stream_enter(handle, &stream);

    if (result)
        return result;
    if (!out || !size)
        return CUDA_ERROR_INVALID_VALUE;
    result = memory_alloc(stream->context, size, ALLOCATION_ASYNC, &a);
    if (result)
        return result;
    now = atomic_fetch_add(&pool.used, size) + size;
    high = atomic_load(&pool.high);
    while (now > high && !atomic_compare_exchange_weak(&pool.high, &high, now))
        ;
    *out = a->base;
    return CUDA_SUCCESS;
}

API_ON_STREAM(cuMemAllocAsync,
              (CUdeviceptr * out, size_t size, CUstream stream),
              (out, size, stream))
{
    return allocate(out, size, stream);
}

API_ON_STREAM(cuMemAllocFromPoolAsync,
              (CUdeviceptr * out, size_t size, CUmemoryPool from,
               CUstream stream),
              (out, size, from, stream))
{
    CUresult result = api_initialized();

    if (result)
        return result;
    return handle_get(from, HANDLE_POOL) ? allocate(out, size, stream)
                                         : CUDA_ERROR_INVALID_VALUE;
}

/* Runs in the stream, so it must not call into cpu/exec beyond freeing. */
static void free_now(void *data, enum kiln_status status)
{
    struct allocation *a = data;

    (void)status;
    atomic_fetch_sub(&pool.used, a->size);
    memory_free(a);
}

API_ON_STREAM(cuMemFreeAsync, (CUdeviceptr address, CUstream stream),
              (address, stream))
{
    struct kiln_error err = {0};
    struct allocation *a;
    struct stream *s;
    CUresult result = stream_enter(stream, &s);

    if (result)
        return result;
    a = memory_find(address);
    if (!address || !a || a->base != address || a->kind >= ALLOCATION_MODULE)
        return CUDA_ERROR_INVALID_VALUE;
    if (a->kind != ALLOCATION_ASYNC)
        atomic_fetch_add(&pool.used, a->size);
    return exec_host(s->exec, free_now, a, 1, &err) ? api_result(&err)
                                                    : CUDA_SUCCESS;
}

static CUresult find(CUmemoryPool handle)
{
    CUresult result = api_initialized();

    if (result)
        return result;
    return handle_get(handle, HANDLE_POOL) ? CUDA_SUCCESS
                                           : CUDA_ERROR_INVALID_VALUE;
}

API(cuMemPoolTrimTo, CUmemoryPool handle, size_t keep)
{
    (void)keep;
    return find(handle);
}

API(cuMemPoolGetAttribute, CUmemoryPool handle, CUmemPool_attribute what,
    void *value)
{
    CUresult result = find(handle);

    if (result)
        return result;
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    switch (what) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        *(int *)value = pool.reuse[what - 1];
        break;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        *(uint64_t *)value = pool.threshold;
        break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        *(uint64_t *)value = pool.used;
        break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        *(uint64_t *)value = pool.high;
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

API(cuMemPoolSetAttribute, CUmemoryPool handle, CUmemPool_attribute what,
    void *value)
{
    CUresult result = find(handle);

    if (result)
        return result;
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    switch (what) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        pool.reuse[what - 1] = *(int *)value != 0;
        break;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        pool.threshold = *(uint64_t *)value;
        break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        if (*(uint64_t *)value)
            return CUDA_ERROR_INVALID_VALUE;
        pool.high = pool.used;
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}
