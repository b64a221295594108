/* SPDX-License-Identifier: MIT
 *
 * Copies of boxes, whatever call they come from.
 */
#ifndef KILN_CPU_API_COPY3D_H
#define KILN_CPU_API_COPY3D_H

#include "cpu/api/context.h"

/* One side of a copy. */
struct copy_side {
    size_t x, y, z; /* x in bytes */
    CUmemorytype type;
    uint64_t base;
    size_t pitch;
    size_t rows; /* of a slice */
    CUarray array;
};

struct copy_box {
    struct copy_side from;
    struct copy_side to;
    size_t width, height, depth; /* width in bytes */
    int wait;
};

CUresult copy_box(struct copy_box *box, CUstream stream);

#endif
