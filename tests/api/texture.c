/* SPDX-License-Identifier: MIT
 *
 * CUDA arrays, texture and surface objects: what the calls take and refuse,
 * what copies move, and what becomes of a kernel that names no object or
 * leaves a surface. The values that fetches give are tests/texture's.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "api.h"

extern char **environ;

static const char ptx_objects[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry fetch(.param .u64 object, .param .u64 out)\n{\n"
    "    .reg .b32 %r<8>;\n    .reg .f32 %f<5>;\n    .reg .b64 %rd<5>;\n"
    "    ld.param.u64 %rd1, [object];\n    ld.param.u64 %rd2, [out];\n"
    "    mov.u32 %r1, %tid.x;\n"
    "    tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1}];\n"
    "    mul.wide.u32 %rd3, %r1, 16;\n    add.u64 %rd3, %rd2, %rd3;\n"
    "    st.global.v4.f32 [%rd3], {%f1, %f2, %f3, %f4};\n    ret;\n}\n"
    ".visible .entry load(.param .u64 object, .param .u64 out,\n"
    "    .param .u32 x)\n{\n"
    "    .reg .b32 %r<4>;\n    .reg .b64 %rd<5>;\n"
    "    ld.param.u64 %rd1, [object];\n    ld.param.u64 %rd2, [out];\n"
    "    ld.param.u32 %r1, [x];\n"
    "    suld.b.1d.b32.trap {%r2}, [%rd1, {%r1}];\n"
    "    st.global.u32 [%rd2], %r2;\n    ret;\n}\n"
    ".visible .entry store(.param .u64 object, .param .u64 out,\n"
    "    .param .u32 x)\n{\n"
    "    .reg .b32 %r<4>;\n    .reg .b64 %rd<5>;\n"
    "    ld.param.u64 %rd1, [object];\n    ld.param.u32 %r1, [x];\n"
    "    mov.u32 %r2, 7;\n"
    "    sust.b.1d.b32.trap [%rd1, {%r1}], {%r2};\n    ret;\n}\n";

static CUarray array_of(size_t w, size_t h, size_t d, CUarray_format format,
                        unsigned channels, unsigned flags)
{
    const CUDA_ARRAY3D_DESCRIPTOR a = {w, h, d, format, channels, flags};
    CUarray array = NULL;

    OK(cuArray3DCreate_v2(&array, &a));
    return array;
}

/* --- arrays --- */

static void refused(size_t w, size_t h, size_t d, CUarray_format format,
                    unsigned channels, unsigned flags)
{
    const CUDA_ARRAY3D_DESCRIPTOR a = {w, h, d, format, channels, flags};
    CUarray array = NULL;
    CUresult result = cuArray3DCreate_v2(&array, &a);

    CHECK_SAYS(result == CUDA_ERROR_INVALID_VALUE,
               "array of %zu x %zu x %zu, format %d x %u, flags %x: %s", w, h,
               d, (int)format, channels, flags, result_name(result));
    if (!result)
        cuArrayDestroy(array);
}

static void arrays(void)
{
    const CUarray_format f = CU_AD_FORMAT_FLOAT;
    const CUDA_ARRAY_DESCRIPTOR flat = {33, 4, CU_AD_FORMAT_HALF, 2};
    CUDA_ARRAY_DESCRIPTOR d;
    CUDA_ARRAY3D_DESCRIPTOR d3;
    CUarray a = NULL;

    OK(cuArrayCreate_v2(&a, &flat));
    OK(cuArrayGetDescriptor_v2(&d, a));
    CHECK(d.Width == 33 && d.Height == 4 && d.Format == CU_AD_FORMAT_HALF &&
          d.NumChannels == 2);
    OK(cuArray3DGetDescriptor_v2(&d3, a));
    CHECK(d3.Width == 33 && d3.Height == 4 && d3.Depth == 0 && d3.Flags == 0);
    IS(cuArrayGetDescriptor_v2(NULL, a), CUDA_ERROR_INVALID_VALUE);
    OK(cuArrayDestroy(a));
    if (is_kiln) { /* NVIDIA's driver reads what the handle points to */
        IS(cuArrayDestroy(a), CUDA_ERROR_INVALID_HANDLE);
        IS(cuArrayGetDescriptor_v2(&d, a), CUDA_ERROR_INVALID_HANDLE);
    }
    IS(cuArrayDestroy(NULL), CUDA_ERROR_INVALID_HANDLE);
    IS(cuArrayGetDescriptor_v2(&d, NULL), CUDA_ERROR_INVALID_HANDLE);
    IS(cuArrayCreate_v2(NULL, &flat), CUDA_ERROR_INVALID_VALUE);
    IS(cuArrayCreate_v2(&a, NULL), CUDA_ERROR_INVALID_VALUE);
    refused(0, 0, 0, f, 1, 0);
    refused(0, 4, 0, f, 1, 0);
    refused(4, 0, 4, f, 1, 0);
    refused(4, 4, 4, f, 3, 0);
    refused(4, 4, 4, f, 0, 0);
    refused(4, 4, 4, f, 8, 0);
    refused(4, 4, 4, (CUarray_format)0, 1, 0);
    refused(4, 4, 4, (CUarray_format)0x77, 1, 0);
    refused(131073, 0, 0, f, 1, 0);
    refused(131073, 4, 0, f, 1, 0);
    refused(16, 65537, 0, f, 1, 0);
    refused(16385, 4, 4, f, 1, 0);
    refused(4, 4, 32769, f, 1, 0);
    refused(8193, 4, 16385, f, 1, 0);
    refused(32769, 0, 4, f, 1, CUDA_ARRAY3D_LAYERED);
    refused(4, 4, 2049, f, 1, CUDA_ARRAY3D_LAYERED);
    refused(4, 4, 0, f, 1, CUDA_ARRAY3D_LAYERED);
    refused(4, 4, 5, f, 1, CUDA_ARRAY3D_CUBEMAP);
    refused(4, 5, 6, f, 1, CUDA_ARRAY3D_CUBEMAP);
    refused(4, 4, 8, f, 1, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED);
    refused(4, 4, 4, f, 1, CUDA_ARRAY3D_TEXTURE_GATHER);
    refused(4, 0, 0, f, 1, CUDA_ARRAY3D_TEXTURE_GATHER);
    refused(32769, 0, 0, f, 1, CUDA_ARRAY3D_SURFACE_LDST);
    refused(4, 4, 0, CU_AD_FORMAT_UNORM_INT8X2, 1, 0);
}

/* --- copies --- */

enum { W = 10, H = 6, D = 4 };

static void copies(void)
{
    static unsigned short from[D][H][W], to[D][H][W];
    CUarray a = array_of(W, H, D, CU_AD_FORMAT_UNSIGNED_INT16, 1, 0);
    CUDA_MEMCPY3D in = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = from,
                        .srcPitch = W * 2,
                        .srcHeight = H,
                        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                        .dstArray = a,
                        .WidthInBytes = W * 2,
                        .Height = H,
                        .Depth = D};
    CUDA_MEMCPY3D part = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                          .srcArray = a,
                          .srcXInBytes = 4,
                          .srcY = 1,
                          .srcZ = 2,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = to,
                          .dstPitch = W * 2,
                          .dstHeight = H,
                          .WidthInBytes = 6,
                          .Height = 3,
                          .Depth = 2};
    int right = 1;

    for (int z = 0; z < D; z++)
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++)
                from[z][y][x] = (unsigned short)(z * 100 + y * 10 + x);
    OK(cuMemcpy3D_v2(&in));
    OK(cuMemcpy3D_v2(&part));
    for (int z = 0; z < D; z++)
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++)
                right &=
                    to[z][y][x] ==
                    (z < 2 && y < 3 && x < 3 ? from[z + 2][y + 1][x + 2] : 0);
    CHECK(right);
    part.srcXInBytes = 16;
    IS(cuMemcpy3D_v2(&part), CUDA_ERROR_INVALID_VALUE);
    part.srcXInBytes = 4;
    part.srcY = 4;
    IS(cuMemcpy3D_v2(&part), CUDA_ERROR_INVALID_VALUE);
    part.srcY = 1;
    part.srcZ = 3;
    IS(cuMemcpy3D_v2(&part), CUDA_ERROR_INVALID_VALUE);
    part.srcZ = 2;
    part.srcXInBytes = 3; /* within a texel */
    OK(cuMemcpy3D_v2(&part));
    part.srcArray = NULL;
    part.srcXInBytes = 4;
    IS(cuMemcpy3D_v2(&part), CUDA_ERROR_INVALID_VALUE);
    OK(cuArrayDestroy(a));
}

static void flat_copies(void)
{
    unsigned char bytes[64], back[64] = {0};
    CUDA_MEMCPY2D rect = {.dstMemoryType = CU_MEMORYTYPE_ARRAY,
                          .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .WidthInBytes = 32,
                          .Height = 1};
    CUarray a = array_of(64, 0, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0);
    CUarray b = array_of(16, 0, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4, 0);
    CUdeviceptr p = 0;

    for (int i = 0; i < 64; i++)
        bytes[i] = (unsigned char)(i * 3);
    OK(cuMemAlloc_v2(&p, 64));
    OK(cuMemcpyHtoA_v2(a, 0, bytes, 64));
    OK(cuMemcpyAtoD_v2(p, a, 16, 48));
    OK(cuMemcpyDtoH_v2(back, p, 48));
    CHECK(!memcmp(back, bytes + 16, 48));
    OK(cuMemcpyAtoA_v2(b, 8, a, 4, 32));
    OK(cuMemcpyAtoH_v2(back, b, 8, 32));
    CHECK(!memcmp(back, bytes + 4, 32));
    OK(cuMemcpyHtoD_v2(p, bytes, 64));
    OK(cuMemcpyDtoA_v2(b, 0, p, 64));
    OK(cuMemcpyAtoHAsync_v2(back, b, 0, 64, NULL));
    OK(cuCtxSynchronize());
    CHECK(!memcmp(back, bytes, 64));
    OK(cuMemcpyHtoAAsync_v2(a, 32, bytes, 32, NULL));
    OK(cuMemcpyAtoH_v2(back, a, 32, 32));
    CHECK(!memcmp(back, bytes, 32));
    rect.srcDevice = p + 32;
    rect.dstArray = a;
    OK(cuMemcpy2D_v2(&rect));
    OK(cuMemcpyAtoH_v2(back, a, 0, 32));
    CHECK(!memcmp(back, bytes + 32, 32));
    IS(cuMemcpyAtoH_v2(back, a, 33, 32), CUDA_ERROR_INVALID_VALUE);
    IS(cuMemcpyHtoA_v2(a, 0, bytes, 65), CUDA_ERROR_INVALID_VALUE);
    IS(cuMemcpyAtoH_v2(back, NULL, 0, 4), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemcpyAtoH_v2(back, a, 0, 0));
    OK(cuArrayDestroy(a));
    OK(cuArrayDestroy(b));
    OK(cuMemFree_v2(p));
}

/* --- objects --- */

static CUDA_RESOURCE_DESC linear(CUdeviceptr p, size_t bytes)
{
    CUDA_RESOURCE_DESC d = {.resType = CU_RESOURCE_TYPE_LINEAR};

    d.res.linear.devPtr = p;
    d.res.linear.format = CU_AD_FORMAT_FLOAT;
    d.res.linear.numChannels = 1;
    d.res.linear.sizeInBytes = bytes;
    return d;
}

static void object(const CUDA_RESOURCE_DESC *d, const CUDA_TEXTURE_DESC *t,
                   const CUDA_RESOURCE_VIEW_DESC *v, CUresult wanted,
                   const char *what)
{
    CUtexObject o = 0;
    CUresult result = cuTexObjectCreate(&o, d, t, v);

    CHECK_SAYS(result == wanted, "texture object, %s: %s", what,
               result_name(result));
    if (!result)
        cuTexObjectDestroy(o);
}

static void linear_objects(CUdeviceptr p)
{
    const CUresult bad = CUDA_ERROR_INVALID_VALUE;
    CUDA_TEXTURE_DESC t = {0};
    CUDA_RESOURCE_DESC d = linear(p, 1024);

    object(&d, &t, NULL, CUDA_SUCCESS, "linear");
    object(NULL, &t, NULL, bad, "no resource");
    object(&d, NULL, NULL, bad, "no sampler");
    IS(cuTexObjectCreate(NULL, &d, &t, NULL), bad);
    d = linear(p + 4, 1000);
    object(&d, &t, NULL, bad, "memory at 4");
    d = linear(p + 256, 512);
    object(&d, &t, NULL, bad, "memory at 256");
    d = linear(p, 0);
    object(&d, &t, NULL, CUDA_SUCCESS, "no memory");
    d = linear(0, 1024);
    object(&d, &t, NULL, bad, "memory at 0");
    d = linear(p, 1027);
    object(&d, &t, NULL, CUDA_SUCCESS, "memory of a part of a texel");
    d = linear(p, (size_t)1 << 32);
    object(&d, &t, NULL, CUDA_SUCCESS, "too many texels");
    d = linear(p, 1024);
    d.res.linear.numChannels = 3;
    object(&d, &t, NULL, bad, "three channels");
    d = linear(p, 1024);
    d.res.linear.format = (CUarray_format)0;
    object(&d, &t, NULL, bad, "no format");
    d = linear(p, 1024);
    d.flags = 1;
    object(&d, &t, NULL, bad, "flags of a resource");
    d = linear(p, 1024);
    d.resType = (CUresourcetype)9;
    object(&d, &t, NULL, bad, "no kind of resource");
    d = linear(p, 1024);
    t.filterMode = CU_TR_FILTER_MODE_LINEAR;
    object(&d, &t, NULL, CUDA_SUCCESS, "a filter that is ignored");
    t.filterMode = (CUfilter_mode)7;
    object(&d, &t, NULL, bad, "no filter");
    t.filterMode = CU_TR_FILTER_MODE_POINT;
    t.flags = 0x8000;
    object(&d, &t, NULL, bad, "no flags of a sampler");
    t.flags = CU_TRSF_NORMALIZED_COORDINATES;
    object(&d, &t, NULL, CUDA_SUCCESS, "normalised");
    t.flags = CU_TRSF_SRGB;
    object(&d, &t, NULL, CUDA_SUCCESS, "sRGB of floats");
    t.flags = 0;
    t.addressMode[0] = (CUaddress_mode)5;
    object(&d, &t, NULL, bad, "no address mode");
}

static CUDA_RESOURCE_DESC pitched(CUdeviceptr p, size_t w, size_t h,
                                  size_t pitch)
{
    CUDA_RESOURCE_DESC d = {.resType = CU_RESOURCE_TYPE_PITCH2D};

    d.res.pitch2D.devPtr = p;
    d.res.pitch2D.format = CU_AD_FORMAT_FLOAT;
    d.res.pitch2D.numChannels = 1;
    d.res.pitch2D.width = w;
    d.res.pitch2D.height = h;
    d.res.pitch2D.pitchInBytes = pitch;
    return d;
}

static void pitched_objects(CUdeviceptr p)
{
    const CUresult bad = CUDA_ERROR_INVALID_VALUE;
    CUDA_TEXTURE_DESC t = {0};
    CUDA_RESOURCE_DESC d = pitched(p, 16, 4, 64);

    object(&d, &t, NULL, CUDA_SUCCESS, "pitched");
    d = pitched(p, 16, 4, 72);
    object(&d, &t, NULL, bad, "a pitch of 72");
    d = pitched(p, 17, 4, 64);
    object(&d, &t, NULL, CUDA_SUCCESS, "a row longer than the pitch");
    d = pitched(p + 32, 16, 4, 64);
    object(&d, &t, NULL, bad, "rows at 32");
    if (is_kiln) { /* NVIDIA's driver takes them */
        d = pitched(p, 0, 4, 64);
        object(&d, &t, NULL, bad, "no width");
        d = pitched(p, 16, 0, 64);
        object(&d, &t, NULL, bad, "no height");
    }
    d = pitched(p, 16, 65001, 64);
    object(&d, &t, NULL, bad, "too high");
    d = pitched(p, 16, 1, 2097152);
    object(&d, &t, NULL, bad, "too large a pitch");
}

static void array_objects(void)
{
    const CUresult bad = CUDA_ERROR_INVALID_VALUE;
    CUDA_TEXTURE_DESC t = {0};
    CUDA_RESOURCE_DESC d = {.resType = CU_RESOURCE_TYPE_ARRAY};
    CUDA_RESOURCE_VIEW_DESC v = {
        .format = CU_RES_VIEW_FORMAT_UINT_4X8, .width = 8, .height = 8};
    CUarray floats = array_of(8, 8, 0, CU_AD_FORMAT_FLOAT, 1, 0);
    CUarray ints = array_of(8, 8, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4, 0);
    CUarray wide = array_of(8, 8, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, 0);

    object(&d, &t, NULL, bad, "no array");
    d.res.array.hArray = floats;
    object(&d, &t, NULL, CUDA_SUCCESS, "array");
    object(&d, &t, &v, CUDA_SUCCESS, "array as bytes");
    v.width = 7;
    object(&d, &t, &v, bad, "a view of another width");
    v.width = 8;
    v.format = CU_RES_VIEW_FORMAT_UINT_1X8;
    object(&d, &t, &v, bad, "a view with another size of texels");
    v.format = CU_RES_VIEW_FORMAT_NONE;
    object(&d, &t, &v, bad, "a view without a format");
    v.format = CU_RES_VIEW_FORMAT_SINT_1X32;
    object(&d, &t, &v, CUDA_SUCCESS, "array as integers");
    v.lastLayer = 1;
    object(&d, &t, &v, bad, "a view of layers that are not");
    t.filterMode = CU_TR_FILTER_MODE_LINEAR;
    object(&d, &t, NULL, CUDA_SUCCESS, "blended floats");
    d.res.array.hArray = wide;
    object(&d, &t, NULL, CUDA_SUCCESS, "blended words");
    d.res.array.hArray = ints;
    object(&d, &t, NULL, CUDA_SUCCESS, "blended bytes as floats");
    t.flags = CU_TRSF_READ_AS_INTEGER;
    object(&d, &t, NULL, CUDA_SUCCESS, "blended bytes as bytes");
    t = (CUDA_TEXTURE_DESC){.flags = CU_TRSF_SRGB};
    object(&d, &t, NULL, CUDA_SUCCESS, "sRGB");
    t = (CUDA_TEXTURE_DESC){
        .addressMode = {CU_TR_ADDRESS_MODE_WRAP, CU_TR_ADDRESS_MODE_MIRROR, 0}};
    object(&d, &t, NULL, CUDA_SUCCESS, "wrapped texels");
    t = (CUDA_TEXTURE_DESC){.maxAnisotropy = 99};
    object(&d, &t, NULL, CUDA_SUCCESS, "anisotropy 99");
    t = (CUDA_TEXTURE_DESC){.flags = CU_TRSF_SEAMLESS_CUBEMAP};
    object(&d, &t, NULL, bad, "seamless, no cube");
    cuArrayDestroy(floats);
    cuArrayDestroy(ints);
    cuArrayDestroy(wide);
}

static void described(CUdeviceptr p)
{
    CUDA_RESOURCE_DESC d = linear(p, 1024), back;
    CUDA_TEXTURE_DESC t = {.flags = CU_TRSF_READ_AS_INTEGER}, tback;
    CUDA_RESOURCE_VIEW_DESC v;
    CUtexObject o = 0;

    OK(cuTexObjectCreate(&o, &d, &t, NULL));
    CHECK(o != 0);
    OK(cuTexObjectGetResourceDesc(&back, o));
    CHECK(back.resType == d.resType && back.res.linear.devPtr == p &&
          back.res.linear.sizeInBytes == 1024);
    OK(cuTexObjectGetTextureDesc(&tback, o));
    CHECK(tback.flags == t.flags);
    OK(cuTexObjectGetResourceViewDesc(&v, o));
    if (is_kiln) /* NVIDIA's driver makes one up */
        CHECK(v.format == CU_RES_VIEW_FORMAT_NONE && v.width == 0);
    IS(cuTexObjectGetTextureDesc(NULL, o), CUDA_ERROR_INVALID_VALUE);
    OK(cuTexObjectDestroy(o));
    OK(cuTexObjectDestroy(o)); /* no object any more: nothing to do */
    OK(cuTexObjectDestroy(0));
    OK(cuTexObjectDestroy(0x123456));
    IS(cuTexObjectGetResourceDesc(&back, o), CUDA_ERROR_INVALID_VALUE);
}

static void surfaces(CUdeviceptr p)
{
    CUarray plain = array_of(8, 8, 0, CU_AD_FORMAT_FLOAT, 1, 0);
    CUarray a =
        array_of(8, 8, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST);
    CUDA_RESOURCE_DESC d = {.resType = CU_RESOURCE_TYPE_ARRAY}, back;
    CUDA_RESOURCE_DESC memory = linear(p, 1024);
    CUsurfObject o = 0;

    IS(cuSurfObjectCreate(&o, &d), CUDA_ERROR_INVALID_VALUE);
    d.res.array.hArray = plain;
    OK(cuSurfObjectCreate(&o, &d)); /* also without the flag for it */
    OK(cuSurfObjectDestroy(o));
    IS(cuSurfObjectCreate(&o, &memory), CUDA_ERROR_INVALID_VALUE);
    d.res.array.hArray = a;
    if (is_kiln) { /* NVIDIA's driver crashes */
        IS(cuSurfObjectCreate(NULL, &d), CUDA_ERROR_INVALID_VALUE);
        IS(cuSurfObjectCreate(&o, NULL), CUDA_ERROR_INVALID_VALUE);
    }
    OK(cuSurfObjectCreate(&o, &d));
    OK(cuSurfObjectGetResourceDesc(&back, o));
    CHECK(back.res.array.hArray == a);
    OK(cuSurfObjectDestroy(o));
    OK(cuSurfObjectDestroy(o));
    OK(cuSurfObjectDestroy(0));
    cuArrayDestroy(a);
    cuArrayDestroy(plain);
}

/* --- kernels --- */

static void fetches(CUdeviceptr p)
{
    static float texels[40], out[40][4];
    const CUDA_RESOURCE_DESC d = linear(p, 32 * sizeof(float));
    const CUDA_TEXTURE_DESC t = {0};
    CUtexObject o = 0;
    CUdeviceptr to = 0;
    void *args[] = {&o, &to};
    CUmodule m;
    CUfunction f = test_function(ptx_objects, "fetch", &m);
    int right = 1;

    for (int i = 0; i < 40; i++)
        texels[i] = (float)i + 0.5f;
    OK(cuMemAlloc_v2(&to, sizeof out));
    OK(cuMemcpyHtoD_v2(p, texels, sizeof texels));
    OK(cuTexObjectCreate(&o, &d, &t, NULL));
    OK(cuLaunchKernel(f, 1, 1, 1, 40, 1, 1, 0, NULL, args, NULL));
    OK(cuMemcpyDtoH_v2(out, to, sizeof out));
    for (int i = 0; i < 32; i++)
        right &= out[i][0] == texels[i] && out[i][1] == 0 && out[i][2] == 0 &&
                 out[i][3] == 0;
    CHECK(right);
    right = 1;
    for (int i = 32; i < 40; i++) /* behind the texture */
        right &= out[i][0] == 0;
    CHECK(right);
    OK(cuTexObjectDestroy(o));
    OK(cuMemFree_v2(to));
    OK(cuModuleUnload(m));
}

/* --- faults, each in a process of its own --- */

/* Numbers of objects that are dead or of the other kind still mean something,
 * and 0 means nothing; only numbers that never were fault. */
static const struct {
    const char *name, *kernel;
    unsigned x;
    unsigned long long number; /* of the object; 1: a live one, 2: a dead one,
                                * 3: a texture where a surface is needed, 4: a
                                * dead texture */
    CUresult wanted;
} faults[] = {
    {"inside", "load", 8, 1, CUDA_SUCCESS},
    {"behind", "load", 64, 1, CUDA_ERROR_ILLEGAL_ADDRESS},
    {"before", "load", 0xfffffffc, 1, CUDA_ERROR_ILLEGAL_ADDRESS},
    {"misaligned", "load", 2, 1, CUDA_ERROR_MISALIGNED_ADDRESS},
    {"store-behind", "store", 64, 1, CUDA_ERROR_ILLEGAL_ADDRESS},
    {"store-misaligned", "store", 6, 1, CUDA_ERROR_MISALIGNED_ADDRESS},
    {"no-surface", "load", 0, 0, CUDA_SUCCESS},
    {"wild-surface", "load", 0, 0xdeadbeefcafe, CUDA_ERROR_ILLEGAL_ADDRESS},
    {"dead-surface", "load", 0, 2, CUDA_SUCCESS},
    {"texture-as-surface", "load", 0, 3, CUDA_SUCCESS},
    {"no-texture", "fetch", 0, 0, CUDA_SUCCESS},
    {"wild-texture", "fetch", 0, 0xdeadbeefcafe, CUDA_ERROR_ILLEGAL_ADDRESS},
    {"dead-texture", "fetch", 0, 4, CUDA_SUCCESS},
    {"surface-as-texture", "fetch", 0, 1, CUDA_SUCCESS},
};
enum { FAULTS = sizeof faults / sizeof *faults };

static unsigned long long make_object(CUdeviceptr p, unsigned i)
{
    CUDA_RESOURCE_DESC d = {.resType = CU_RESOURCE_TYPE_ARRAY};
    const CUDA_RESOURCE_DESC memory = linear(p, 64);
    const CUDA_TEXTURE_DESC t = {0};
    unsigned long long o = faults[i].number;

    d.res.array.hArray = array_of(16, 0, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1,
                                  CUDA_ARRAY3D_SURFACE_LDST);
    if (o == 1 || o == 2)
        OK(cuSurfObjectCreate(&o, &d));
    else if (o == 3 || o == 4)
        OK(cuTexObjectCreate(&o, &memory, &t, NULL));
    if (faults[i].number == 2)
        OK(cuSurfObjectDestroy(o));
    if (faults[i].number == 4)
        OK(cuTexObjectDestroy(o));
    return o;
}

static int run_fault(unsigned i)
{
    CUdeviceptr out = 0;
    unsigned x = faults[i].x;
    unsigned long long o;
    void *args[] = {&o, &out, &x};
    CUfunction f;
    CUmodule m;

    test_start();
    OK(cuMemAlloc_v2(&out, 4096));
    o = make_object(out, i);
    f = test_function(ptx_objects, faults[i].kernel, &m);
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
    CHECK_SAYS(cuCtxSynchronize() == faults[i].wanted, "%s: %s", faults[i].name,
               result_name(cuCtxSynchronize()));
    IS(cuMemAlloc_v2(&out, 4), faults[i].wanted);
    return test_end();
}

static void all_faults(const char *self)
{
    for (unsigned i = 0; i < FAULTS; i++) {
        char *argv[] = {(char *)(uintptr_t)self,
                        (char *)(uintptr_t)faults[i].name, NULL};
        pid_t child;
        int status = -1;

        if (!posix_spawn(&child, self, NULL, NULL, argv, environ))
            waitpid(child, &status, 0);
        CHECK_SAYS(status == 0, "%s: status %d", faults[i].name, status);
    }
}

int main(int argc, char **argv)
{
    CUdeviceptr p = 0;

    for (unsigned i = 0; argc > 1 && i < FAULTS; i++)
        if (!strcmp(argv[1], faults[i].name))
            return run_fault(i);
    test_start();
    OK(cuMemAlloc_v2(&p, 1 << 16));
    arrays();
    copies();
    flat_copies();
    linear_objects(p);
    pitched_objects(p);
    array_objects();
    described(p);
    surfaces(p);
    test_need_compiler();
    fetches(p);
    all_faults(argv[0]);
    return test_end();
}
