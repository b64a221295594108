/* SPDX-License-Identifier: MIT
 *
 * Which variant of a kernel fits a launch (the rules are object.h's).
 */
#include "cpu/exec/abi.h"
#include "cpu/exec/exec.h"

static int is_rows(uint32_t lanes, const uint32_t grid[3],
                   const uint32_t block[3])
{
    for (int d = 0; d < 3; d++)
        if ((uint64_t)grid[d] * block[d] > (uint64_t)1 << 31)
            return 0;
    if ((uint64_t)block[0] * block[1] * block[2] % ABI_WARP)
        return 0;
    return block[0] % lanes == 0 || (uint64_t)block[1] * block[2] == 1;
}

const struct object_variant *exec_shape(const struct object_kernel *kernel,
                                        const uint32_t grid[3],
                                        const uint32_t block[3])
{
    for (uint32_t i = 0; i < kernel->variant_count; i++) {
        const struct object_variant *v = &kernel->variants[i];

        switch (v->shape) {
        case OBJECT_SHAPE_ANY:
            return v;
        case OBJECT_SHAPE_ROWS:
            if (is_rows(kernel->chunk_lanes, grid, block))
                return v;
            break;
        }
    }
    return NULL;
}
