/* SPDX-License-Identifier: MIT
 *
 * Memory management: CUDA arrays. Which extents make which kind is the
 * manual's table at cuArray3DCreate.
 */
#include "cpu/api/array.h"

#include "base/alloc.h"
#include "cpu/api/memory.h"

/* Rows start at multiples of it, so that no texel crosses a cache line. */
enum { ROW_ALIGN = 64 };

enum {
    KNOWN_FLAGS = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST |
                  CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_TEXTURE_GATHER
};

/* The largest extents, as an NVIDIA GPU of the same time has them. */
struct extents {
    size_t width, height, depth;
};
static const struct extents plain_limit[] = {
    {0, 0, 0}, {131072, 0, 0}, {131072, 65536, 0}, {16384, 16384, 16384}};
/* The other limit of three dimensions. */
static const struct extents deep_limit = {8192, 8192, 32768};
static const struct extents surface_limit[] = {
    {0, 0, 0}, {32768, 0, 0}, {131072, 65536, 0}, {16384, 16384, 16384}};
static const struct extents layered_limit = {32768, 32768, 2048};
static const struct extents cube_limit = {32768, 32768, 2046};
static const struct extents gather_limit = {32768, 32768, 0};

struct array *array_of(CUarray handle)
{
    return handle_get(handle, HANDLE_ARRAY);
}

int array_format(CUarray_format format, unsigned channels,
                 struct texel_format *out)
{
    static const struct {
        CUarray_format format;
        uint8_t kind, bits, channels; /* 0: any */
    } list[] = {
        {CU_AD_FORMAT_UNSIGNED_INT8, TEXEL_UNSIGNED, 8, 0},
        {CU_AD_FORMAT_UNSIGNED_INT16, TEXEL_UNSIGNED, 16, 0},
        {CU_AD_FORMAT_UNSIGNED_INT32, TEXEL_UNSIGNED, 32, 0},
        {CU_AD_FORMAT_SIGNED_INT8, TEXEL_SIGNED, 8, 0},
        {CU_AD_FORMAT_SIGNED_INT16, TEXEL_SIGNED, 16, 0},
        {CU_AD_FORMAT_SIGNED_INT32, TEXEL_SIGNED, 32, 0},
        {CU_AD_FORMAT_HALF, TEXEL_FLOAT, 16, 0},
        {CU_AD_FORMAT_FLOAT, TEXEL_FLOAT, 32, 0},
        {CU_AD_FORMAT_UNORM_INT8X1, TEXEL_UNORM, 8, 1},
        {CU_AD_FORMAT_UNORM_INT8X2, TEXEL_UNORM, 8, 2},
        {CU_AD_FORMAT_UNORM_INT8X4, TEXEL_UNORM, 8, 4},
        {CU_AD_FORMAT_UNORM_INT16X1, TEXEL_UNORM, 16, 1},
        {CU_AD_FORMAT_UNORM_INT16X2, TEXEL_UNORM, 16, 2},
        {CU_AD_FORMAT_UNORM_INT16X4, TEXEL_UNORM, 16, 4},
        {CU_AD_FORMAT_SNORM_INT8X1, TEXEL_SNORM, 8, 1},
        {CU_AD_FORMAT_SNORM_INT8X2, TEXEL_SNORM, 8, 2},
        {CU_AD_FORMAT_SNORM_INT8X4, TEXEL_SNORM, 8, 4},
        {CU_AD_FORMAT_SNORM_INT16X1, TEXEL_SNORM, 16, 1},
        {CU_AD_FORMAT_SNORM_INT16X2, TEXEL_SNORM, 16, 2},
        {CU_AD_FORMAT_SNORM_INT16X4, TEXEL_SNORM, 16, 4},
    };

    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (list[i].format == format)
            return (!list[i].channels || list[i].channels == channels) &&
                   texel_format(list[i].kind, list[i].bits, channels, out);
    return 0;
}

size_t array_row(const struct array *a)
{
    return (size_t)a->image.size[0] * a->image.format.bytes;
}

static int fits(const struct extents *e, const struct extents *most)
{
    return e->width <= most->width && e->height <= most->height &&
           e->depth <= most->depth;
}

/* The kind by flags and extents; 0 where the manual has none. */
static int describe(const CUDA_ARRAY3D_DESCRIPTOR *d, struct texture_image *i)
{
    const struct extents e = {d->Width, d->Height, d->Depth};
    const int layered = !!(d->Flags & CUDA_ARRAY3D_LAYERED);
    const int cube = !!(d->Flags & CUDA_ARRAY3D_CUBEMAP);
    const struct extents *most;

    if (!e.width || (layered && !e.depth) || (!layered && e.depth && !e.height))
        return 0;
    if (cube && (e.width != e.height || (layered ? e.depth % 6 : e.depth != 6)))
        return 0;
    i->dims = cube || (e.height && (layered || !e.depth)) ? 2
              : e.height                                  ? 3
                                                          : 1;
    most = cube                                   ? &cube_limit
           : layered                              ? &layered_limit
           : d->Flags & CUDA_ARRAY3D_SURFACE_LDST ? &surface_limit[i->dims]
                                                  : &plain_limit[i->dims];
    if ((!fits(&e, most) && !(i->dims == 3 && fits(&e, &deep_limit))) ||
        (d->Flags & CUDA_ARRAY3D_TEXTURE_GATHER &&
         (i->dims != 2 || cube || layered || !fits(&e, &gather_limit))))
        return 0;
    i->is_array = 1;
    i->is_layered = (uint8_t)layered;
    i->is_cube = (uint8_t)cube;
    i->size[0] = (uint32_t)e.width;
    i->size[1] = e.height ? (uint32_t)e.height : 1;
    i->size[2] = i->dims == 3 ? (uint32_t)e.depth : 1;
    i->layers = layered || cube ? (uint32_t)e.depth : 1;
    i->pitch = ((uint64_t)i->size[0] * i->format.bytes + ROW_ALIGN - 1) /
               ROW_ALIGN * ROW_ALIGN;
    i->slice_bytes = i->pitch * i->size[1];
    return 1;
}

static CUresult create(struct context *context, CUarray *out,
                       const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    struct texture_image image = {0};
    struct array *a;
    CUresult result;

    if (d->Flags & ~(unsigned)KNOWN_FLAGS)
        return api_unsupported("arrays that are sparse, shared with a video or "
                               "graphics API, or mapped later");
    if (!array_format(d->Format, d->NumChannels, &image.format) ||
        !describe(d, &image))
        return CUDA_ERROR_INVALID_VALUE;
    a = kiln_zalloc(sizeof *a);
    if (!a)
        return CUDA_ERROR_OUT_OF_MEMORY;
    a->handle = handle_new(HANDLE_ARRAY, a);
    result =
        a->handle
            ? memory_alloc(context,
                           image.slice_bytes *
                               (image.dims == 3 ? image.size[2] : image.layers),
                           ALLOCATION_ARRAY, &a->allocation)
            : CUDA_ERROR_OUT_OF_MEMORY;
    if (result) {
        handle_free(a->handle);
        kiln_release(a);
        return result;
    }
    image.data = (unsigned char *)(uintptr_t)a->allocation->base;
    a->image = image;
    a->descriptor = *d;
    a->context = context;
    pthread_mutex_lock(&context->lock);
    a->next = context->arrays;
    a->link = &context->arrays;
    if (a->next)
        a->next->link = &a->next;
    context->arrays = a;
    pthread_mutex_unlock(&context->lock);
    *out = a->handle;
    return CUDA_SUCCESS;
}

static void destroy(struct array *a)
{
    pthread_mutex_lock(&a->context->lock);
    *a->link = a->next;
    if (a->next)
        a->next->link = a->link;
    pthread_mutex_unlock(&a->context->lock);
    handle_free(a->handle);
    memory_free(a->allocation);
    kiln_release(a);
}

void array_release_context(struct context *context)
{
    while (context->arrays)
        destroy(context->arrays);
}

API(cuArrayCreate_v2, CUarray *out, const CUDA_ARRAY_DESCRIPTOR *d)
{
    struct context *context;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    if (!out || !d)
        return CUDA_ERROR_INVALID_VALUE;
    return create(context, out,
                  &(CUDA_ARRAY3D_DESCRIPTOR){.Width = d->Width,
                                             .Height = d->Height,
                                             .Format = d->Format,
                                             .NumChannels = d->NumChannels});
}

API(cuArray3DCreate_v2, CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    struct context *context;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    return out && d ? create(context, out, d) : CUDA_ERROR_INVALID_VALUE;
}

API(cuArrayDestroy, CUarray handle)
{
    struct context *context;
    struct array *a;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    a = array_of(handle);
    if (!a)
        return CUDA_ERROR_INVALID_HANDLE;
    /* Work may still use it: freeing waits, as cuMemFree does. */
    result = api_status(exec_context_sync(a->context->exec, NULL));
    destroy(a);
    return result;
}

API(cuArrayGetDescriptor_v2, CUDA_ARRAY_DESCRIPTOR *out, CUarray handle)
{
    struct context *context;
    struct array *a;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    a = array_of(handle);
    if (!a)
        return CUDA_ERROR_INVALID_HANDLE;
    *out = (CUDA_ARRAY_DESCRIPTOR){a->descriptor.Width, a->descriptor.Height,
                                   a->descriptor.Format,
                                   a->descriptor.NumChannels};
    return CUDA_SUCCESS;
}

API(cuArray3DGetDescriptor_v2, CUDA_ARRAY3D_DESCRIPTOR *out, CUarray handle)
{
    struct context *context;
    struct array *a;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    a = array_of(handle);
    if (!a)
        return CUDA_ERROR_INVALID_HANDLE;
    *out = a->descriptor;
    return CUDA_SUCCESS;
}
