/* SPDX-License-Identifier: MIT
 *
 * Memory management: copies of rectangles and boxes, of arrays too.
 */
#include "cpu/api/copy3d.h"
#include "cpu/api/array.h"
#include "cpu/api/memory.h"

/* The same for an array, whose rows and slices are its own. */
static CUresult resolve_array(struct copy_side *s, const struct copy_box *box,
                              uint64_t *address)
{
    const struct array *a = array_of(s->array);
    const struct texture_image *i;
    size_t slices;

    if (!a)
        return CUDA_ERROR_INVALID_VALUE;
    i = &a->image;
    slices = i->dims == 3 ? i->size[2] : i->layers;
    if (s->x > array_row(a) || box->width > array_row(a) - s->x ||
        s->y > i->size[1] || box->height > i->size[1] - s->y || s->z > slices ||
        box->depth > slices - s->z)
        return CUDA_ERROR_INVALID_VALUE;
    s->pitch = i->pitch;
    s->rows = i->size[1];
    *address =
        (uintptr_t)i->data + s->z * i->slice_bytes + s->y * i->pitch + s->x;
    return CUDA_SUCCESS;
}

/* The address of the side's first byte, and what it takes in all. */
static CUresult resolve(struct copy_side *s, const struct copy_box *box,
                        uint64_t *address)
{
    size_t slice;
    size_t offset;
    size_t skip;
    size_t span;

    if (s->type == CU_MEMORYTYPE_ARRAY)
        return resolve_array(s, box, address);
    if (s->type < CU_MEMORYTYPE_HOST || s->type > CU_MEMORYTYPE_UNIFIED)
        return CUDA_ERROR_INVALID_VALUE;
    if (!s->pitch)
        s->pitch = s->x + box->width;
    if (!s->rows)
        s->rows = s->y + box->height;
    if (s->pitch < s->x + box->width || s->x + box->width < s->x ||
        (box->depth > 1 && s->rows < box->height))
        return CUDA_ERROR_INVALID_VALUE;
    if (__builtin_mul_overflow(s->pitch, s->rows, &slice) ||
        __builtin_mul_overflow(slice, s->z, &offset) ||
        __builtin_mul_overflow(s->pitch, s->y, &skip) ||
        __builtin_add_overflow(offset, skip, &offset) ||
        __builtin_add_overflow(offset, s->x, &offset) ||
        __builtin_mul_overflow(slice, box->depth - 1, &span) ||
        __builtin_mul_overflow(s->pitch, box->height - 1, &skip) ||
        __builtin_add_overflow(span, skip, &span) ||
        __builtin_add_overflow(span, box->width, &span) ||
        __builtin_add_overflow(s->base, offset, address) || !s->base)
        return CUDA_ERROR_INVALID_VALUE;
    if (s->type == CU_MEMORYTYPE_DEVICE && !memory_covers(*address, span))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

CUresult copy_box(struct copy_box *box, CUstream handle)
{
    struct kiln_error err = {0};
    struct exec_copy request = {0};
    struct host_range unused;
    struct stream *stream;
    uint64_t from;
    uint64_t to;
    CUresult result = stream_enter(handle, &stream);

    if (result || !box->width || !box->height || !box->depth)
        return result;
    result = resolve(&box->from, box, &from);
    if (!result)
        result = resolve(&box->to, box, &to);
    if (result)
        return result;
    request.to = (void *)(uintptr_t)to;
    request.from = (const void *)(uintptr_t)from;
    request.width = box->width;
    request.height = box->height;
    request.depth = box->depth;
    request.to_pitch = box->to.pitch;
    request.from_pitch = box->from.pitch;
    request.to_slice = box->to.pitch * box->to.rows;
    request.from_slice = box->from.pitch * box->from.rows;
    /* Pageable memory on either side: the call ends with the copy. */
    if ((!exec_memory_is_device(to) && !host_find(to, &unused)) ||
        (!exec_memory_is_device(from) && !host_find(from, &unused)))
        box->wait = 1;
    if (exec_copy(stream->exec, &request, &err) ||
        (box->wait && exec_stream_sync(stream->exec, &err)))
        return api_result(&err);
    return CUDA_SUCCESS;
}

static uint64_t base_of(CUmemorytype type, const void *host, CUdeviceptr device)
{
    return type == CU_MEMORYTYPE_HOST ? (uintptr_t)host : device;
}

static CUresult copy_2d(const CUDA_MEMCPY2D *p, int wait, CUstream stream)
{
    struct copy_box box;

    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    box = (struct copy_box){
        .from = {p->srcXInBytes, p->srcY, 0, p->srcMemoryType,
                 base_of(p->srcMemoryType, p->srcHost, p->srcDevice),
                 p->srcPitch, 0, p->srcArray},
        .to = {p->dstXInBytes, p->dstY, 0, p->dstMemoryType,
               base_of(p->dstMemoryType, p->dstHost, p->dstDevice), p->dstPitch,
               0, p->dstArray},
        .width = p->WidthInBytes,
        .height = p->Height,
        .depth = 1,
        .wait = wait,
    };
    return copy_box(&box, stream);
}

API_SYNC(cuMemcpy2D_v2, (const CUDA_MEMCPY2D *p), copy_2d, (p, 1, stream))
API_SYNC(cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D *p), copy_2d,
         (p, 1, stream))

API_ON_STREAM(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *p, CUstream stream),
              (p, stream))
{
    return copy_2d(p, 0, stream);
}

static CUresult copy_3d(const CUDA_MEMCPY3D *p, int wait, CUstream stream)
{
    struct copy_box box;

    if (!p || p->srcLOD || p->dstLOD)
        return CUDA_ERROR_INVALID_VALUE;
    box = (struct copy_box){
        .from = {p->srcXInBytes, p->srcY, p->srcZ, p->srcMemoryType,
                 base_of(p->srcMemoryType, p->srcHost, p->srcDevice),
                 p->srcPitch, p->srcHeight, p->srcArray},
        .to = {p->dstXInBytes, p->dstY, p->dstZ, p->dstMemoryType,
               base_of(p->dstMemoryType, p->dstHost, p->dstDevice), p->dstPitch,
               p->dstHeight, p->dstArray},
        .width = p->WidthInBytes,
        .height = p->Height,
        .depth = p->Depth,
        .wait = wait,
    };
    return copy_box(&box, stream);
}

API_SYNC(cuMemcpy3D_v2, (const CUDA_MEMCPY3D *p), copy_3d, (p, 1, stream))

API_ON_STREAM(cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D *p, CUstream stream),
              (p, stream))
{
    return copy_3d(p, 0, stream);
}

static CUresult copy_3d_peer(const CUDA_MEMCPY3D_PEER *p, int wait,
                             CUstream stream)
{
    CUDA_MEMCPY3D plain;

    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    if (!handle_get(p->srcContext, HANDLE_CONTEXT) ||
        !handle_get(p->dstContext, HANDLE_CONTEXT))
        return CUDA_ERROR_INVALID_CONTEXT;
    plain = (CUDA_MEMCPY3D){
        p->srcXInBytes,
        p->srcY,
        p->srcZ,
        p->srcLOD,
        p->srcMemoryType,
        p->srcHost,
        p->srcDevice,
        p->srcArray,
        NULL,
        p->srcPitch,
        p->srcHeight,
        p->dstXInBytes,
        p->dstY,
        p->dstZ,
        p->dstLOD,
        p->dstMemoryType,
        p->dstHost,
        p->dstDevice,
        p->dstArray,
        NULL,
        p->dstPitch,
        p->dstHeight,
        p->WidthInBytes,
        p->Height,
        p->Depth,
    };
    return copy_3d(&plain, wait, stream);
}

API_SYNC(cuMemcpy3DPeer, (const CUDA_MEMCPY3D_PEER *p), copy_3d_peer,
         (p, 1, stream))

API_ON_STREAM(cuMemcpy3DPeerAsync,
              (const CUDA_MEMCPY3D_PEER *p, CUstream stream), (p, stream))
{
    return copy_3d_peer(p, 0, stream);
}
