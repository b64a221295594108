/* SPDX-License-Identifier: MIT
 *
 * Memory management: memset in all widths. None of them waits, as on a GPU,
 * save for pageable memory.
 */
#include "cpu/api/context.h"
#include "cpu/api/memory.h"

static CUresult fill_rows(CUdeviceptr to, size_t pitch, uint32_t value,
                          unsigned unit, size_t width, size_t height,
                          CUstream handle)
{
    struct exec_fill request = {
        .to = (void *)(uintptr_t)to,
        .value = value,
        .unit = unit,
        .width = width,
        .height = height,
        .pitch = pitch,
    };
    struct kiln_error err = {0};
    struct stream *stream;
    size_t row;
    size_t span;
    CUresult result = stream_enter(handle, &stream);

    if (result || !width || !height)
        return result;
    if (to % unit || pitch % unit ||
        __builtin_mul_overflow(width, (size_t)unit, &row) ||
        (height > 1 && pitch < row) ||
        __builtin_mul_overflow(pitch, height - 1, &span) ||
        __builtin_add_overflow(span, row, &span) || !memory_covers(to, span))
        return CUDA_ERROR_INVALID_VALUE;
    return exec_fill(stream->exec, &request, &err) ? api_result(&err)
                                                   : CUDA_SUCCESS;
}

static CUresult fill(CUdeviceptr to, uint32_t value, unsigned unit,
                     size_t count, CUstream stream)
{
    return fill_rows(to, 0, value, unit, count, 1, stream);
}

API_SYNC(cuMemsetD8_v2, (CUdeviceptr to, unsigned char value, size_t count),
         fill, (to, value, 1, count, stream))
API_SYNC(cuMemsetD16_v2, (CUdeviceptr to, unsigned short value, size_t count),
         fill, (to, value, 2, count, stream))
API_SYNC(cuMemsetD32_v2, (CUdeviceptr to, unsigned int value, size_t count),
         fill, (to, value, 4, count, stream))

#define ROWS(type)                                                             \
    (CUdeviceptr to, size_t pitch, type value, size_t width, size_t height)
API_SYNC(cuMemsetD2D8_v2, ROWS(unsigned char), fill_rows,
         (to, pitch, value, 1, width, height, stream))
API_SYNC(cuMemsetD2D16_v2, ROWS(unsigned short), fill_rows,
         (to, pitch, value, 2, width, height, stream))
API_SYNC(cuMemsetD2D32_v2, ROWS(unsigned int), fill_rows,
         (to, pitch, value, 4, width, height, stream))
#undef ROWS

#define LINE(type) (CUdeviceptr to, type value, size_t count, CUstream stream)
API_ON_STREAM(cuMemsetD8Async, LINE(unsigned char), (to, value, count, stream))
{
    return fill(to, value, 1, count, stream);
}

API_ON_STREAM(cuMemsetD16Async, LINE(unsigned short),
              (to, value, count, stream))
{
    return fill(to, value, 2, count, stream);
}

API_ON_STREAM(cuMemsetD32Async, LINE(unsigned int), (to, value, count, stream))
{
    return fill(to, value, 4, count, stream);
}
#undef LINE

#define ROWS(type)                                                             \
    (CUdeviceptr to, size_t pitch, type value, size_t width, size_t height,    \
     CUstream stream)
#define ARGS (to, pitch, value, width, height, stream)
API_ON_STREAM(cuMemsetD2D8Async, ROWS(unsigned char), ARGS)
{
    return fill_rows(to, pitch, value, 1, width, height, stream);
}

API_ON_STREAM(cuMemsetD2D16Async, ROWS(unsigned short), ARGS)
{
    return fill_rows(to, pitch, value, 2, width, height, stream);
}

API_ON_STREAM(cuMemsetD2D32Async, ROWS(unsigned int), ARGS)
{
    return fill_rows(to, pitch, value, 4, width, height, stream);
}
