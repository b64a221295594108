/* SPDX-License-Identifier: MIT
 *
 * What a CUtensorMap holds on this device, whose bits NVIDIA leaves opaque: a
 * tensor of up to five dimensions in memory, the box that a copy takes of it,
 * and how that lies in shared memory (PTX ISA 5.5). The API fills it, kernels
 * hand it to tensor_call.
 */
#ifndef KILN_CPU_EXEC_TENSORMAP_H
#define KILN_CPU_EXEC_TENSORMAP_H

#include <stdint.h>

enum { TENSOR_MAP_MAGIC = 0x4d54694b, TENSOR_DIMS = 5 };

enum tensor_type { /* of elements */
                   TENSOR_U8,
                   TENSOR_U16,
                   TENSOR_U32,
                   TENSOR_S32,
                   TENSOR_U64,
                   TENSOR_S64,
                   TENSOR_F16,
                   TENSOR_F32,
                   TENSOR_F64,
                   TENSOR_BF16
};

struct tensor_map {
    uint32_t magic;
    uint8_t type, rank;
    uint8_t swizzle;  /* 16-byte pieces of 16 << swizzle bytes; 0: none */
    uint8_t fill_nan; /* outside: a NaN that fma.oob knows, else 0 */
    uint64_t address;
    uint64_t strides[TENSOR_DIMS - 1]; /* bytes, of dimensions 1 and up */
    uint32_t last[TENSOR_DIMS];        /* index of each dimension */
    uint16_t box[TENSOR_DIMS];         /* 1 to 256 */
    uint8_t steps[TENSOR_DIMS];        /* 1 to 8 */
    uint8_t unused[128 - 83];
};
_Static_assert(sizeof(struct tensor_map) == 128, "as large as CUtensorMap");

/* Bytes of an element. */
static inline unsigned tensor_size(uint8_t type)
{
    static const uint8_t sizes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2};

    return type < sizeof sizes ? sizes[type] : 0;
}

#endif
