/* SPDX-License-Identifier: MIT
 *
 * Texture and surface objects. What kernels name is the engine's number of a
 * description (cpu/texture); what the program gave is kept beside it.
 */
#include <string.h>

#include "base/alloc.h"
#include "cpu/api/array.h"
#include "cpu/api/memory.h"

struct texture_object {
    uint64_t number;
    struct context *context;
    int is_surface;
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC texture;
    CUDA_RESOURCE_VIEW_DESC view;
    struct texture_object *next;
    struct texture_object **link;
};

enum {
    LINEAR_MAX = 1 << 28, /* texels */
    PITCH_WIDTH_MAX = 131072,
    PITCH_HEIGHT_MAX = 65000,
    PITCH_MAX = 2097120, /* bytes */
    BASE_ALIGN = 512,
    PITCH_ALIGN = 32,
    KNOWN_FLAGS = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES |
                  CU_TRSF_SRGB | CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION |
                  CU_TRSF_SEAMLESS_CUBEMAP
};

/* --- resources --- */

/* Formats that are shared with graphics APIs are for arrays alone. */
static int is_shared(const struct texel_format *f)
{
    return f->kind == TEXEL_UNORM || f->kind == TEXEL_SNORM;
}

static CUresult linear(const CUDA_RESOURCE_DESC *d, struct texture_image *i)
{
    const CUdeviceptr base = d->res.linear.devPtr;
    size_t bytes = d->res.linear.sizeInBytes;

    if (!array_format(d->res.linear.format, d->res.linear.numChannels,
                      &i->format) ||
        is_shared(&i->format) || base % BASE_ALIGN || !memory_covers(base, 1))
        return CUDA_ERROR_INVALID_VALUE;
    /* More than there is, or than may be, is taken; here without a way to
     * what lies behind. */
    bytes = memory_left(base, bytes);
    if (bytes / i->format.bytes > LINEAR_MAX)
        bytes = (size_t)LINEAR_MAX * i->format.bytes;
    i->data = (unsigned char *)(uintptr_t)base;
    i->dims = 1;
    i->size[0] = (uint32_t)(bytes / i->format.bytes);
    return CUDA_SUCCESS;
}

static CUresult pitched(const CUDA_RESOURCE_DESC *d, struct texture_image *i)
{
    const CUdeviceptr base = d->res.pitch2D.devPtr;
    const size_t width = d->res.pitch2D.width, height = d->res.pitch2D.height;
    const size_t pitch = d->res.pitch2D.pitchInBytes;

    if (!array_format(d->res.pitch2D.format, d->res.pitch2D.numChannels,
                      &i->format) ||
        is_shared(&i->format) || !width || !height || width > PITCH_WIDTH_MAX ||
        height > PITCH_HEIGHT_MAX || pitch > PITCH_MAX || pitch % PITCH_ALIGN ||
        base % BASE_ALIGN ||
        !memory_covers(base, (height - 1) * pitch + width * i->format.bytes))
        return CUDA_ERROR_INVALID_VALUE;
    i->data = (unsigned char *)(uintptr_t)base;
    i->dims = 2;
    i->size[0] = (uint32_t)width;
    i->size[1] = (uint32_t)height;
    i->pitch = pitch;
    return CUDA_SUCCESS;
}

static CUresult image_of(const CUDA_RESOURCE_DESC *d, struct texture_image *i)
{
    struct array *a;

    *i = (struct texture_image){.size = {1, 1, 1}, .layers = 1};
    if (d->flags)
        return CUDA_ERROR_INVALID_VALUE;
    switch (d->resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        a = array_of(d->res.array.hArray);
        if (!a)
            return CUDA_ERROR_INVALID_VALUE;
        *i = a->image;
        return CUDA_SUCCESS;
    case CU_RESOURCE_TYPE_LINEAR:
        return linear(d, i);
    case CU_RESOURCE_TYPE_PITCH2D:
        return pitched(d, i);
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        return api_unsupported("mipmapped arrays");
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

/* The formats of views count up by channels, then bits, then kind. */
static int view_format(CUresourceViewFormat f, struct texel_format *out)
{
    static const struct {
        uint8_t kind, bits;
    } groups[] = {{TEXEL_UNSIGNED, 8},  {TEXEL_SIGNED, 8},
                  {TEXEL_UNSIGNED, 16}, {TEXEL_SIGNED, 16},
                  {TEXEL_UNSIGNED, 32}, {TEXEL_SIGNED, 32},
                  {TEXEL_FLOAT, 16},    {TEXEL_FLOAT, 32}};
    const unsigned i = (unsigned)f - CU_RES_VIEW_FORMAT_UINT_1X8;

    return f >= CU_RES_VIEW_FORMAT_UINT_1X8 &&
           f <= CU_RES_VIEW_FORMAT_FLOAT_4X32 &&
           texel_format(groups[i / 3].kind, groups[i / 3].bits, 1u << i % 3,
                        out);
}

static CUresult look_through(const CUDA_RESOURCE_DESC *d,
                             const CUDA_RESOURCE_VIEW_DESC *v,
                             struct texture_image *i)
{
    struct texel_format format = i->format;
    const struct array *a;

    if (d->resType != CU_RESOURCE_TYPE_ARRAY)
        return CUDA_ERROR_INVALID_VALUE;
    a = array_of(d->res.array.hArray);
    if (v->format > CU_RES_VIEW_FORMAT_FLOAT_4X32)
        return api_unsupported("block-compressed texels");
    if (!view_format(v->format, &format))
        return CUDA_ERROR_INVALID_VALUE;
    if (format.bytes != i->format.bytes || v->width != a->descriptor.Width ||
        v->height != a->descriptor.Height || v->firstMipmapLevel ||
        v->lastMipmapLevel || v->lastLayer < v->firstLayer ||
        v->lastLayer >= i->layers)
        return CUDA_ERROR_INVALID_VALUE;
    i->format = format;
    if (i->is_layered || i->is_cube) {
        i->data += v->firstLayer * i->slice_bytes;
        i->layers = v->lastLayer - v->firstLayer + 1;
    }
    return CUDA_SUCCESS;
}

static CUresult sampler_of(const CUDA_TEXTURE_DESC *d,
                           const struct texture_image *i,
                           struct texture_sampler *s)
{
    if (d->flags & ~(unsigned)KNOWN_FLAGS ||
        (unsigned)d->filterMode > CU_TR_FILTER_MODE_LINEAR)
        return CUDA_ERROR_INVALID_VALUE;
    if (d->flags & CU_TRSF_SEAMLESS_CUBEMAP && !i->is_cube)
        return CUDA_ERROR_INVALID_VALUE;
    if (d->flags & CU_TRSF_SEAMLESS_CUBEMAP)
        return api_unsupported("seamless filtering of cubes");
    for (int k = 0; k < 3; k++) {
        if ((unsigned)d->addressMode[k] > CU_TR_ADDRESS_MODE_BORDER)
            return CUDA_ERROR_INVALID_VALUE;
        s->address[k] = (uint8_t)d->addressMode[k];
    }
    s->is_linear = d->filterMode == CU_TR_FILTER_MODE_LINEAR;
    s->is_normalized = !!(d->flags & CU_TRSF_NORMALIZED_COORDINATES);
    s->reads_elements = !!(d->flags & CU_TRSF_READ_AS_INTEGER);
    s->is_srgb = !!(d->flags & CU_TRSF_SRGB);
    memcpy(s->border, d->borderColor, sizeof s->border);
    return CUDA_SUCCESS;
}

/* --- objects --- */

static CUresult publish(struct context *context, const struct texture *t,
                        struct texture_object *like, unsigned long long *out)
{
    struct texture_object *o = kiln_zalloc(sizeof *o);
    struct kiln_error err = {0};

    if (!o)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *o = *like;
    o->context = context;
    o->is_surface = t->is_surface;
    if (exec_texture_new(t, o, &o->number, &err)) {
        kiln_release(o);
        return api_result(&err);
    }
    pthread_mutex_lock(&context->lock);
    o->next = context->textures;
    o->link = &context->textures;
    if (o->next)
        o->next->link = &o->next;
    context->textures = o;
    pthread_mutex_unlock(&context->lock);
    *out = o->number;
    return CUDA_SUCCESS;
}

static void destroy(struct texture_object *o)
{
    pthread_mutex_lock(&o->context->lock);
    *o->link = o->next;
    if (o->next)
        o->next->link = o->link;
    pthread_mutex_unlock(&o->context->lock);
    exec_texture_free(o->number);
    kiln_release(o);
}

void texture_release_context(struct context *context)
{
    while (context->textures)
        destroy(context->textures);
}

static struct texture_object *find(unsigned long long number, int is_surface)
{
    struct texture_object *o = exec_texture_tag(number);

    return o && o->is_surface == is_surface ? o : NULL;
}

API(cuTexObjectCreate, CUtexObject *out, const CUDA_RESOURCE_DESC *resource,
    const CUDA_TEXTURE_DESC *sampler, const CUDA_RESOURCE_VIEW_DESC *view)
{
    struct texture_object o = {0};
    struct texture t = {0};
    struct context *context;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    if (!out || !resource || !sampler)
        return CUDA_ERROR_INVALID_VALUE;
    result = image_of(resource, &t.image);
    if (!result && view)
        result = look_through(resource, view, &t.image);
    if (!result)
        result = sampler_of(sampler, &t.image, &t.sampler);
    if (result)
        return result;
    o.resource = *resource;
    o.texture = *sampler;
    if (view)
        o.view = *view;
    return publish(context, &t, &o, out);
}

API(cuSurfObjectCreate, CUsurfObject *out, const CUDA_RESOURCE_DESC *resource)
{
    struct texture_object o = {0};
    struct texture t = {.is_surface = 1};
    struct context *context;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    if (!out || !resource || resource->resType != CU_RESOURCE_TYPE_ARRAY)
        return CUDA_ERROR_INVALID_VALUE;
    result = image_of(resource, &t.image);
    if (result)
        return result;
    o.resource = *resource;
    return publish(context, &t, &o, out);
}

static CUresult destroy_object(unsigned long long number, int is_surface)
{
    struct context *context;
    struct texture_object *o;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    /* What is no object is destroyed already, as with NVIDIA's driver. */
    o = find(number, is_surface);
    if (o)
        destroy(o);
    return CUDA_SUCCESS;
}

API(cuTexObjectDestroy, CUtexObject object)
{
    return destroy_object(object, 0);
}

API(cuSurfObjectDestroy, CUsurfObject object)
{
    return destroy_object(object, 1);
}

/* What it was made from; out NULL and dead objects are invalid values. */
static CUresult look(unsigned long long number, int is_surface, const void *out,
                     struct texture_object **o)
{
    struct context *context;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    *o = find(number, is_surface);
    return *o && out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

API(cuTexObjectGetResourceDesc, CUDA_RESOURCE_DESC *out, CUtexObject object)
{
    struct texture_object *o;
    CUresult result = look(object, 0, out, &o);

    if (!result)
        *out = o->resource;
    return result;
}

API(cuTexObjectGetTextureDesc, CUDA_TEXTURE_DESC *out, CUtexObject object)
{
    struct texture_object *o;
    CUresult result = look(object, 0, out, &o);

    if (!result)
        *out = o->texture;
    return result;
}

API(cuTexObjectGetResourceViewDesc, CUDA_RESOURCE_VIEW_DESC *out,
    CUtexObject object)
{
    struct texture_object *o;
    CUresult result = look(object, 0, out, &o);

    if (!result)
        *out = o->view; /* zeros where there was none */
    return result;
}

API(cuSurfObjectGetResourceDesc, CUDA_RESOURCE_DESC *out, CUsurfObject object)
{
    struct texture_object *o;
    CUresult result = look(object, 1, out, &o);

    if (!result)
        *out = o->resource;
    return result;
}
