/* SPDX-License-Identifier: MIT
 *
 * Memory management: page-locked host memory. Nothing is locked here: the
 * device is the host. What counts is that the driver knows the ranges, for
 * pointer attributes and for copies that may stay asynchronous.
 */
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "cpu/api/driver.h"
#include "cpu/api/memory.h"

/* Sorted by base, never overlapping; guarded by driver.lock. */
static struct host_range *ranges;
static size_t count;
static size_t room;

/* Index of the first range that ends after the address. */
static size_t place(uintptr_t address)
{
    size_t low = 0;
    size_t high = count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (ranges[mid].base + ranges[mid].size <= address)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

int host_find(uintptr_t address, struct host_range *out)
{
    size_t i;
    int found;

    pthread_mutex_lock(&driver.lock);
    i = place(address);
    found = i < count && ranges[i].base <= address;
    if (found)
        *out = ranges[i];
    pthread_mutex_unlock(&driver.lock);
    return found;
}

static CUresult insert(const struct host_range *range)
{
    CUresult result = CUDA_SUCCESS;
    size_t i;

    pthread_mutex_lock(&driver.lock);
    i = place(range->base);
    if (i < count && ranges[i].base < range->base + range->size) {
        result = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
        goto out;
    }
    if (count == room) {
        size_t more = room ? room * 2 : 16;
        void *grown = kiln_array(ranges, more, sizeof *ranges);

        if (!grown) {
            result = CUDA_ERROR_OUT_OF_MEMORY;
            goto out;
        }
        ranges = grown;
        room = more;
    }
    memmove(ranges + i + 1, ranges + i, (count - i) * sizeof *ranges);
    ranges[i] = *range;
    count++;
out:
    pthread_mutex_unlock(&driver.lock);
    return result;
}

/* Takes the range that starts at base out: 1, or 0 when there is none. */
static int take(uintptr_t base, int registered, struct host_range *out)
{
    size_t i;
    int found;

    pthread_mutex_lock(&driver.lock);
    i = place(base);
    found = i < count && ranges[i].base == base &&
            ranges[i].registered == registered;
    if (found) {
        *out = ranges[i];
        memmove(ranges + i, ranges + i + 1, (count - i - 1) * sizeof *ranges);
        count--;
    }
    pthread_mutex_unlock(&driver.lock);
    return found;
}

void host_release_context(struct context *context)
{
    pthread_mutex_lock(&driver.lock);
    for (size_t i = count; i-- > 0;) {
        if (ranges[i].context != context)
            continue;
        if (!ranges[i].registered)
            munmap((void *)ranges[i].base, ranges[i].size);
        memmove(ranges + i, ranges + i + 1, (count - i - 1) * sizeof *ranges);
        count--;
    }
    if (!count) {
        kiln_release(ranges);
        ranges = NULL;
        room = 0;
    }
    pthread_mutex_unlock(&driver.lock);
}

API(cuMemHostAlloc, void **out, size_t size, unsigned int flags)
{
    struct context *context;
    struct host_range range = {.size = size, .flags = flags};
    void *memory;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    if (!out || !size || flags & ~7u)
        return CUDA_ERROR_INVALID_VALUE;
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    range.base = (uintptr_t)memory;
    range.context = context;
    result = insert(&range);
    if (result) {
        munmap(memory, size);
        return result;
    }
    *out = memory;
    return CUDA_SUCCESS;
}

API(cuMemAllocHost_v2, void **out, size_t size)
{
    return cuMemHostAlloc(out, size, 0);
}

API(cuMemFreeHost, void *memory)
{
    struct context *context;
    struct host_range range;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    if (!memory || !take((uintptr_t)memory, 0, &range))
        return CUDA_ERROR_INVALID_VALUE;
    result = api_status(exec_context_sync(range.context->exec, NULL));
    munmap(memory, range.size);
    return result;
}

API(cuMemHostRegister_v2, void *memory, size_t size, unsigned int flags)
{
    struct context *context;
    struct host_range range = {
        .base = (uintptr_t)memory, .size = size, .flags = flags};
    CUresult result = api_enter(&context);

    if (result)
        return result;
    if (!memory || !size || flags & ~0xfu || range.base + size < range.base ||
        exec_memory_is_device(range.base))
        return CUDA_ERROR_INVALID_VALUE;
    range.registered = 1;
    range.context = context;
    return insert(&range);
}

API(cuMemHostUnregister, void *memory)
{
    struct context *context;
    struct host_range range;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    if (!memory)
        return CUDA_ERROR_INVALID_VALUE;
    if (!take((uintptr_t)memory, 1, &range))
        return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    return api_status(exec_context_sync(range.context->exec, NULL));
}

API(cuMemHostGetDevicePointer_v2, CUdeviceptr *out, void *memory,
    unsigned int flags)
{
    struct context *context;
    struct host_range range;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    if (!out || flags || !host_find((uintptr_t)memory, &range))
        return CUDA_ERROR_INVALID_VALUE;
    *out = (uintptr_t)memory;
    return CUDA_SUCCESS;
}

API(cuMemHostGetFlags, unsigned int *flags, void *memory)
{
    struct context *context;
    struct host_range range;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    if (!flags || !host_find((uintptr_t)memory, &range) || range.registered)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = range.flags | CU_MEMHOSTALLOC_DEVICEMAP;
    return CUDA_SUCCESS;
}
