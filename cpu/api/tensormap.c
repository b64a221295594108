/* SPDX-License-Identifier: MIT
 *
 * Tensor maps. They are made on the host and need no context; kernels get them
 * by value or by address.
 */
#include <string.h>

#include "cpu/api/api.h"
#include "cpu/exec/tensormap.h"

enum { DIM_ALIGN = 16, BOX_MAX = 256, STEP_MAX = 8 };
#define STRIDE_END ((uint64_t)1 << 40)
#define DIM_MAX    ((uint64_t)1 << 32)

static int is_float(CUtensorMapDataType type)
{
    return type == CU_TENSOR_MAP_DATA_TYPE_FLOAT16 ||
           type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32 ||
           type == CU_TENSOR_MAP_DATA_TYPE_FLOAT64 ||
           type == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
}

static CUresult read_sizes(struct tensor_map *m, const uint64_t *dims,
                           const uint64_t *strides, const uint32_t *box,
                           const uint32_t *steps)
{
    for (unsigned d = 0; d < m->rank; d++) {
        if (!dims[d] || dims[d] > DIM_MAX || !box[d] || box[d] > BOX_MAX ||
            !steps[d] || steps[d] > STEP_MAX)
            return CUDA_ERROR_INVALID_VALUE;
        m->last[d] = (uint32_t)(dims[d] - 1);
        m->box[d] = (uint16_t)box[d];
        m->steps[d] = (uint8_t)steps[d];
        if (d + 1u == m->rank)
            continue;
        if (strides[d] % DIM_ALIGN || strides[d] >= STRIDE_END)
            return CUDA_ERROR_INVALID_VALUE;
        m->strides[d] = strides[d];
    }
    return box[0] * tensor_size(m->type) % DIM_ALIGN ? CUDA_ERROR_INVALID_VALUE
                                                     : CUDA_SUCCESS;
}

/* What this device does not run: packed elements below a byte, f32 that is
 * changed on its way, interleaved layouts, larger pieces swizzled. */
static int is_unsupported(CUtensorMapDataType type,
                          CUtensorMapInterleave interleave,
                          CUtensorMapSwizzle swizzle)
{
    return type > CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 ||
           interleave != CU_TENSOR_MAP_INTERLEAVE_NONE ||
           swizzle > CU_TENSOR_MAP_SWIZZLE_128B;
}

API(cuTensorMapEncodeTiled, CUtensorMap *map, CUtensorMapDataType type,
    uint32_t rank, void *address, const uint64_t *dims, const uint64_t *strides,
    const uint32_t *box, const uint32_t *steps,
    CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
    CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
    struct tensor_map m = {.magic = TENSOR_MAP_MAGIC,
                           .type = (uint8_t)type,
                           .rank = (uint8_t)rank,
                           .swizzle = (uint8_t)swizzle,
                           .fill_nan = (uint8_t)fill,
                           .address = (uint64_t)(uintptr_t)address};
    CUresult result = api_initialized();

    if (result)
        return result;
    if (!map || !dims || !box || !steps || (rank > 1 && !strides) || !rank ||
        rank > TENSOR_DIMS || m.address % DIM_ALIGN ||
        (unsigned)type > CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B ||
        (unsigned)interleave > CU_TENSOR_MAP_INTERLEAVE_32B ||
        (unsigned)swizzle > CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B ||
        (unsigned)promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B ||
        (unsigned)fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA ||
        (uintptr_t)map % 64)
        return CUDA_ERROR_INVALID_VALUE;
    if (is_unsupported(type, interleave, swizzle))
        return api_unsupported("cuTensorMapEncodeTiled: this type, interleave "
                               "or swizzle");
    if (fill && !is_float(type))
        return CUDA_ERROR_INVALID_VALUE;
    result = read_sizes(&m, dims, strides, box, steps);
    if (!result && swizzle && box[0] * tensor_size(m.type) > 16u << swizzle)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        memcpy(map, &m, sizeof m);
    return result;
}

API(cuTensorMapReplaceAddress, CUtensorMap *map, void *address)
{
    struct tensor_map m;
    CUresult result = api_initialized();

    if (result)
        return result;
    if (!map || (uintptr_t)address % DIM_ALIGN)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&m, map, sizeof m);
    if (m.magic != TENSOR_MAP_MAGIC)
        return CUDA_ERROR_INVALID_VALUE;
    m.address = (uint64_t)(uintptr_t)address;
    memcpy(map, &m, sizeof m);
    return CUDA_SUCCESS;
}
