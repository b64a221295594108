/* SPDX-License-Identifier: MIT
 *
 * Memory management: copies along the one row of an array.
 */
#include "cpu/api/copy3d.h"

static struct copy_side in_array(CUarray array, size_t offset)
{
    return (struct copy_side){
        .type = CU_MEMORYTYPE_ARRAY, .array = array, .x = offset};
}

static struct copy_side in_memory(CUmemorytype type, uint64_t address)
{
    return (struct copy_side){.type = type, .base = address};
}

static CUresult copy(struct copy_side to, struct copy_side from, size_t size,
                     int wait, CUstream stream)
{
    struct copy_box box = {.from = from,
                           .to = to,
                           .width = size,
                           .height = 1,
                           .depth = 1,
                           .wait = wait};

    return copy_box(&box, stream);
}

API_SYNC(cuMemcpyHtoA_v2,
         (CUarray to, size_t offset, const void *from, size_t size), copy,
         (in_array(to, offset), in_memory(CU_MEMORYTYPE_HOST, (uintptr_t)from),
          size, 1, stream))

API_SYNC(cuMemcpyAtoH_v2, (void *to, CUarray from, size_t offset, size_t size),
         copy,
         (in_memory(CU_MEMORYTYPE_HOST, (uintptr_t)to), in_array(from, offset),
          size, 1, stream))

API_SYNC(cuMemcpyDtoA_v2,
         (CUarray to, size_t offset, CUdeviceptr from, size_t size), copy,
         (in_array(to, offset), in_memory(CU_MEMORYTYPE_DEVICE, from), size, 0,
          stream))

API_SYNC(cuMemcpyAtoD_v2,
         (CUdeviceptr to, CUarray from, size_t offset, size_t size), copy,
         (in_memory(CU_MEMORYTYPE_DEVICE, to), in_array(from, offset), size, 0,
          stream))

API_SYNC(cuMemcpyAtoA_v2,
         (CUarray to, size_t to_offset, CUarray from, size_t from_offset,
          size_t size),
         copy,
         (in_array(to, to_offset), in_array(from, from_offset), size, 0,
          stream))

API_ON_STREAM(cuMemcpyHtoAAsync_v2,
              (CUarray to, size_t offset, const void *from, size_t size,
               CUstream stream),
              (to, offset, from, size, stream))
{
    return copy(in_array(to, offset),
                in_memory(CU_MEMORYTYPE_HOST, (uintptr_t)from), size, 0,
                stream);
}

API_ON_STREAM(cuMemcpyAtoHAsync_v2,
              (void *to, CUarray from, size_t offset, size_t size,
               CUstream stream),
              (to, from, offset, size, stream))
{
    return copy(in_memory(CU_MEMORYTYPE_HOST, (uintptr_t)to),
                in_array(from, offset), size, 0, stream);
}
