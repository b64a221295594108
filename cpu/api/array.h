/* SPDX-License-Identifier: MIT
 *
 * CUDA arrays: texels in rows, slices and layers, in memory of their own that
 * no address names.
 */
#ifndef KILN_CPU_API_ARRAY_H
#define KILN_CPU_API_ARRAY_H

#include "cpu/api/context.h"
#include "cpu/texture/texture.h"

struct allocation;

struct array {
    CUarray handle;
    struct context *context;
    struct allocation *allocation;
    CUDA_ARRAY3D_DESCRIPTOR descriptor;
    struct texture_image image;
    struct array *next;
    struct array **link;
};

/* The array a handle names, or NULL. */
struct array *array_of(CUarray handle);
/* 0 where no texel has that format. */
int array_format(CUarray_format format, unsigned channels,
                 struct texel_format *out);
/* Bytes of a row; rows of a slice; slices or layers. */
size_t array_row(const struct array *a);

#endif
