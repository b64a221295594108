/* SPDX-License-Identifier: MIT
 *
 * Unified addressing: what an address is.
 */
#include <string.h>

#include "cpu/api/context.h"
#include "cpu/api/driver.h"
#include "cpu/api/memory.h"

/* What is known of an address; base 0: nothing. */
struct known {
    struct context *context;
    uint64_t base;
    uint64_t size;
    unsigned long long id;
    int device;
    int managed;
    int pooled;
};

static struct known look(CUdeviceptr address)
{
    struct known k = {0};
    struct allocation *a = memory_find(address);
    struct host_range range;

    if (a) {
        k = (struct known){a->context,
                           a->base,
                           a->size,
                           a->id,
                           1,
                           a->kind == ALLOCATION_MANAGED,
                           a->kind == ALLOCATION_ASYNC};
    } else if (host_find(address, &range)) {
        k = (struct known){
            range.context, range.base, range.size, range.base, 0, 0, 0};
    }
    return k;
}

#define ANSWER(type, value)                                                    \
    do {                                                                       \
        type answer_ = (value);                                                \
        memcpy(out, &answer_, sizeof answer_);                                 \
    } while (0)

static CUresult attribute(void *out, CUpointer_attribute what,
                          CUdeviceptr address, const struct known *k)
{
    switch (what) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        ANSWER(CUcontext, k->context->handle);
        break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        ANSWER(unsigned, k->device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST);
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        ANSWER(CUdeviceptr, address);
        break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        /* Plain device memory has a host address here, but programs take an
         * answer for leave to use it, which a GPU would not give. */
        if (k->device && !k->managed)
            return CUDA_ERROR_INVALID_VALUE;
        ANSWER(uint64_t, address);
        break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        ANSWER(unsigned long long, k->id);
        break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        ANSWER(unsigned char, (unsigned char)k->managed);
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        ANSWER(int, 0);
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        ANSWER(uint64_t, k->base);
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        ANSWER(uint64_t, k->size);
        break;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        ANSWER(unsigned char, 1);
        break;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        ANSWER(unsigned char, 0);
        break;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        ANSWER(unsigned long long, 0);
        break;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        ANSWER(unsigned, 3); /* read and write */
        break;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        ANSWER(void *, NULL);
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

API(cuPointerGetAttribute, void *out, CUpointer_attribute what,
    CUdeviceptr address)
{
    struct known k;
    CUresult result = api_initialized();

    if (result)
        return result;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    k = look(address);
    return k.base ? attribute(out, what, address, &k)
                  : CUDA_ERROR_INVALID_VALUE;
}

/* Attributes that an unknown address does not have come back as zero. */
static void clear(void *out, CUpointer_attribute what)
{
    static const unsigned char
        sizes[CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE + 1] = {
            [CU_POINTER_ATTRIBUTE_CONTEXT] = 8,
            [CU_POINTER_ATTRIBUTE_MEMORY_TYPE] = 4,
            [CU_POINTER_ATTRIBUTE_DEVICE_POINTER] = 8,
            [CU_POINTER_ATTRIBUTE_HOST_POINTER] = 8,
            [CU_POINTER_ATTRIBUTE_SYNC_MEMOPS] = 1,
            [CU_POINTER_ATTRIBUTE_BUFFER_ID] = 8,
            [CU_POINTER_ATTRIBUTE_IS_MANAGED] = 1,
            [CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL] = 4,
            [CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE] = 1,
            [CU_POINTER_ATTRIBUTE_RANGE_START_ADDR] = 8,
            [CU_POINTER_ATTRIBUTE_RANGE_SIZE] = 8,
            [CU_POINTER_ATTRIBUTE_MAPPED] = 1,
            [CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES] = 8,
            [CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE] = 1,
            [CU_POINTER_ATTRIBUTE_ACCESS_FLAGS] = 4,
            [CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE] = 8,
            [CU_POINTER_ATTRIBUTE_MAPPING_SIZE] = 8,
            [CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR] = 8,
            [CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID] = 8,
            [CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE] = 1,
        };

    memset(out, 0, sizes[what]);
    if (what == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) {
        int none = CU_DEVICE_INVALID;

        memcpy(out, &none, sizeof none);
    }
}

API(cuPointerGetAttributes, unsigned int count, CUpointer_attribute *what,
    void **out, CUdeviceptr address)
{
    struct known k;
    CUresult result = api_initialized();

    if (result)
        return result;
    if (!count || !what || !out)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++)
        if (!out[i] || (int)what[i] < 1 ||
            what[i] > CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE ||
            what[i] == CU_POINTER_ATTRIBUTE_P2P_TOKENS)
            return CUDA_ERROR_INVALID_VALUE;
    k = look(address);
    for (unsigned i = 0; i < count; i++)
        if (!k.base || attribute(out[i], what[i], address, &k))
            clear(out[i], what[i]);
    return CUDA_SUCCESS;
}

/* Copies to and from this memory are never reordered by the host here. */
API(cuPointerSetAttribute, const void *value, CUpointer_attribute what,
    CUdeviceptr address)
{
    CUresult result = api_initialized();

    if (result)
        return result;
    if (!value || what != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ||
        !memory_find(address))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}
