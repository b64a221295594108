/* SPDX-License-Identifier: MIT
 *
 * One case on the device: array or memory, object, kernel, answer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "texture.h"

enum { MODULES = 32, THREADS = 128, GUARD = 4096 };

static CUmodule modules[MODULES];
static unsigned module_count;
static CUdeviceptr in, out;

void run_open(void)
{
    char *text;

    test_start();
    test_need_compiler();
    for (unsigned g = 0; (text = kernels_text(g)); g++) {
        CUresult result = cuModuleLoadData(&modules[module_count], text);

        if (!result)
            module_count++;
        else
            printf("group %u of kernels does not load: %s\n", g,
                   result_name(result));
        free(text);
    }
    OK(cuMemAlloc_v2(&in, MAX_POINTS * POINT_WORDS * 4));
    OK(cuMemAlloc_v2(&out, MAX_POINTS * 16));
}

/* What a case has made; undone in one place. */
struct made {
    CUarray array;
    CUdeviceptr memory;
    CUtexObject object;
    unsigned char *texels;
    size_t bytes, pitch;
};

static size_t rows_of(const struct kase *k)
{
    return k->size[1] ? k->size[1] : 1;
}

static size_t slices_of(const struct kase *k)
{
    return k->size[2] ? k->size[2] : k->layers ? k->layers : 1;
}

static CUresult copy_array(const struct kase *k, struct made *m, int back)
{
    const size_t row = k->size[0] * (size_t)points_texel_bytes(k);
    CUDA_MEMCPY3D c = {
        .WidthInBytes = row, .Height = rows_of(k), .Depth = slices_of(k)};

    if (back) {
        c.srcMemoryType = CU_MEMORYTYPE_ARRAY;
        c.srcArray = m->array;
        c.dstMemoryType = CU_MEMORYTYPE_HOST;
        c.dstHost = m->texels;
        c.dstPitch = row;
        c.dstHeight = rows_of(k);
    } else {
        c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
        c.dstArray = m->array;
        c.srcMemoryType = CU_MEMORYTYPE_HOST;
        c.srcHost = m->texels;
        c.srcPitch = row;
        c.srcHeight = rows_of(k);
    }
    return cuMemcpy3D_v2(&c);
}

static CUresult make_array(const struct kase *k, struct made *m)
{
    const CUDA_ARRAY3D_DESCRIPTOR d = {
        .Width = k->size[0],
        .Height = k->size[1],
        .Depth = k->size[2] ? k->size[2] : k->layers,
        .Format = k->format,
        .NumChannels = k->channels,
        .Flags =
            (k->is_surface ? CUDA_ARRAY3D_SURFACE_LDST : 0) |
            (k->gather ? CUDA_ARRAY3D_TEXTURE_GATHER : 0) |
            (k->is_cube ? CUDA_ARRAY3D_CUBEMAP : 0) |
            (k->layers && !(k->is_cube && k->layers == 6) ? CUDA_ARRAY3D_LAYERED
                                                          : 0)};
    CUresult result = cuArray3DCreate_v2(&m->array, &d);

    return result ? result : copy_array(k, m, 0);
}

static CUresult make_memory(const struct kase *k, struct made *m)
{
    const size_t row = k->size[0] * (size_t)points_texel_bytes(k);
    CUresult result;

    m->pitch = k->resource == PITCHED ? (row + 511) / 512 * 512 : row;
    result = cuMemAlloc_v2(&m->memory, m->pitch * rows_of(k) + GUARD);
    for (size_t y = 0; !result && y < rows_of(k); y++)
        result =
            cuMemcpyHtoD_v2(m->memory + y * m->pitch, m->texels + y * row, row);
    return result;
}

static CUresult make_object(const struct kase *k, struct made *m)
{
    CUDA_RESOURCE_DESC d = {0};
    CUDA_TEXTURE_DESC t = {
        .filterMode = k->filter, .flags = k->flags, .maxAnisotropy = 1};

    memcpy(t.addressMode, k->address, sizeof t.addressMode);
    memcpy(t.borderColor, k->border, sizeof t.borderColor);
    switch (k->resource) {
    case LINEAR:
        d.resType = CU_RESOURCE_TYPE_LINEAR;
        d.res.linear.devPtr = m->memory;
        d.res.linear.format = k->format;
        d.res.linear.numChannels = k->channels;
        d.res.linear.sizeInBytes = m->bytes;
        break;
    case PITCHED:
        d.resType = CU_RESOURCE_TYPE_PITCH2D;
        d.res.pitch2D.devPtr = m->memory;
        d.res.pitch2D.format = k->format;
        d.res.pitch2D.numChannels = k->channels;
        d.res.pitch2D.width = k->size[0];
        d.res.pitch2D.height = k->size[1];
        d.res.pitch2D.pitchInBytes = m->pitch;
        break;
    default:
        d.resType = CU_RESOURCE_TYPE_ARRAY;
        d.res.array.hArray = m->array;
    }
    return k->is_surface ? cuSurfObjectCreate(&m->object, &d)
                         : cuTexObjectCreate(&m->object, &d, &t, NULL);
}

static CUfunction find_kernel(const char *name)
{
    CUfunction f;

    for (unsigned i = 0; i < module_count; i++)
        if (!cuModuleGetFunction(&f, modules[i], name))
            return f;
    return NULL;
}

static CUresult launch(const struct kase *k, struct made *m, CUfunction f)
{
    static uint32_t points[MAX_POINTS * POINT_WORDS];
    unsigned n = k->count;
    const unsigned threads = k->stores ? 1 : THREADS;
    void *args[] = {&m->object, &in, &out, &n};
    CUresult result;

    points_make(k, points);
    result = cuMemcpyHtoD_v2(in, points, (size_t)n * POINT_WORDS * 4);
    if (!result)
        result = cuMemsetD32_v2(out, 0xdddddddd, (size_t)n * 4);
    if (!result)
        result = cuLaunchKernel(f, 1, 1, 1, threads, 1, 1, 0, NULL, args, NULL);
    return result ? result : cuCtxSynchronize();
}

static CUresult answer(const struct kase *k, struct made *m, uint32_t **words,
                       size_t *count)
{
    CUresult result;

    *count = k->stores ? (m->bytes + 3) / 4 : (size_t)k->count * 4;
    *words = calloc(*count, 4);
    if (!*words)
        exit(1);
    if (k->stores) {
        result = copy_array(k, m, 1);
        memcpy(*words, m->texels, m->bytes);
    } else {
        result = cuMemcpyDtoH_v2(*words, out, *count * 4);
    }
    if (result) {
        free(*words);
        *words = NULL;
    }
    return result;
}

uint32_t *run_case(const struct kase *k, size_t *count, char *why, size_t size)
{
    struct made m = {.bytes = k->size[0] * (size_t)points_texel_bytes(k) *
                              rows_of(k) * slices_of(k)};
    CUfunction f = find_kernel(k->kernel);
    const char *at = "kernel";
    uint32_t *words = NULL;
    CUresult result = f ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;

    m.texels = calloc(1, m.bytes + 16);
    if (!m.texels)
        exit(1);
    points_texels(k, m.texels, m.bytes);
    if (!result) {
        at = "memory";
        result = k->resource == ARRAY ? make_array(k, &m) : make_memory(k, &m);
    }
    if (!result) {
        at = "object";
        result = make_object(k, &m);
    }
    if (!result) {
        at = "launch";
        result = launch(k, &m, f);
    }
    if (!result) {
        at = "answer";
        result = answer(k, &m, &words, count);
    }
    if (result)
        snprintf(why, size, "%s: %s", at, result_name(result));
    if (m.object)
        k->is_surface ? cuSurfObjectDestroy(m.object)
                      : cuTexObjectDestroy(m.object);
    if (m.array)
        cuArrayDestroy(m.array);
    if (m.memory)
        cuMemFree_v2(m.memory);
    free(m.texels);
    return words;
}
