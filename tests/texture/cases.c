/* SPDX-License-Identifier: MIT
 *
 * What is looked at: every geometry with every way past its edges, both
 * filters, both kinds of coordinates; every format; the weights of blending
 * and its arithmetic; the other instructions.
 */
#include <stdio.h>
#include <string.h>

#include "texture.h"

struct walk {
    int (*each)(const struct kase *k, void *data);
    void *data;
    int result;
};

static const struct {
    const char *name;
    unsigned size[3];
    unsigned layers;
    int is_cube;
} shapes[] = {
    {"1d", {7, 0, 0}, 0, 0},     {"2d", {7, 5, 0}, 0, 0},
    {"3d", {5, 4, 3}, 0, 0},     {"a1d", {6, 0, 0}, 4, 0},
    {"a2d", {5, 4, 0}, 3, 0},    {"cube", {4, 4, 0}, 6, 1},
    {"acube", {4, 4, 0}, 12, 1},
};
enum { SHAPES = sizeof shapes / sizeof *shapes, CUBES = 5 };

static const struct {
    const char *name;
    CUarray_format format;
    unsigned channels; /* 0: 1, 2 and 4 */
    int is_integer, bits;
} formats[] = {
    {"u8", CU_AD_FORMAT_UNSIGNED_INT8, 0, 1, 8},
    {"s8", CU_AD_FORMAT_SIGNED_INT8, 0, 1, 8},
    {"u16", CU_AD_FORMAT_UNSIGNED_INT16, 0, 1, 16},
    {"s16", CU_AD_FORMAT_SIGNED_INT16, 0, 1, 16},
    {"u32", CU_AD_FORMAT_UNSIGNED_INT32, 0, 1, 32},
    {"s32", CU_AD_FORMAT_SIGNED_INT32, 0, 1, 32},
    {"f16", CU_AD_FORMAT_HALF, 0, 0, 16},
    {"f32", CU_AD_FORMAT_FLOAT, 0, 0, 32},
    {"unorm8x1", CU_AD_FORMAT_UNORM_INT8X1, 1, 0, 8},
    {"unorm8x4", CU_AD_FORMAT_UNORM_INT8X4, 4, 0, 8},
    {"unorm16x2", CU_AD_FORMAT_UNORM_INT16X2, 2, 0, 16},
    {"snorm8x2", CU_AD_FORMAT_SNORM_INT8X2, 2, 0, 8},
    {"snorm16x4", CU_AD_FORMAT_SNORM_INT16X4, 4, 0, 16},
};
enum { FORMATS = sizeof formats / sizeof *formats, PLAIN_FORMATS = 8 };

static const char *const ways[] = {"wrap", "clamp", "mirror", "border"};

static void put(struct walk *w, struct kase *k)
{
    if (!w->result)
        w->result = w->each(k, w->data);
}

/* The kernel's name is PREFIX_SHAPE; both must outlive the case. */
static const char *kernel_name(const char *prefix, unsigned shape)
{
    static char names[192][48];
    char name[48];

    snprintf(name, sizeof name, "%s_%s", prefix, shapes[shape].name);
    for (unsigned i = 0; i < 192; i++) {
        if (!names[i][0])
            memcpy(names[i], name, sizeof name);
        if (!strcmp(names[i], name))
            return names[i];
    }
    return NULL;
}

static struct kase shaped(const char *prefix, unsigned shape)
{
    struct kase k = {.kernel = kernel_name(prefix, shape),
                     .resource = ARRAY,
                     .format = CU_AD_FORMAT_FLOAT,
                     .channels = 1,
                     .layers = shapes[shape].layers,
                     .is_cube = shapes[shape].is_cube,
                     .content = RANDOM,
                     .count = 512,
                     .step = 1};

    memcpy(k.size, shapes[shape].size, sizeof k.size);
    for (int i = 0; i < 3; i++)
        k.address[i] = CU_TR_ADDRESS_MODE_CLAMP;
    if (k.is_cube)
        k.points = DIRECTIONS;
    return k;
}

static void address(struct kase *k, unsigned way)
{
    for (int i = 0; i < 3; i++)
        k->address[i] = (CUaddress_mode)way;
    for (int i = 0; way == CU_TR_ADDRESS_MODE_BORDER && i < 4; i++)
        k->border[i] = 0.25f * (float)(i + 1);
}

/* --- families --- */

static void linear(struct walk *w)
{
    for (unsigned f = 0; f < FORMATS; f++)
        for (unsigned c = 1; c <= 4; c *= 2)
            for (unsigned element = 0; element < 2; element++) {
                struct kase k = shaped("tex_s32", 0);

                if (formats[f].channels && formats[f].channels != c)
                    continue;
                snprintf(k.name, sizeof k.name, "linear %s x%u %s",
                         formats[f].name, c, element ? "element" : "float");
                k.resource = LINEAR;
                k.format = formats[f].format;
                k.channels = c;
                k.size[0] = 37;
                k.content = RANDOM_BITS;
                k.points = INTEGERS;
                k.count = 128;
                k.flags = element ? CU_TRSF_READ_AS_INTEGER : 0;
                put(w, &k);
            }
}

static void edges(struct walk *w)
{
    for (unsigned s = 0; s < SHAPES; s++)
        for (unsigned i = 0; i < 16; i++) {
            struct kase k = shaped("tex", s);
            const unsigned way = i / 4;

            if (k.is_cube && !(i & 1))
                continue;
            k.filter = (CUfilter_mode)(i >> 1 & 1);
            k.flags = i & 1 ? CU_TRSF_NORMALIZED_COORDINATES : 0;
            address(&k, way);
            snprintf(k.name, sizeof k.name, "%s %s %s %s", shapes[s].name,
                     ways[way], k.filter ? "linear" : "point",
                     k.flags ? "normalised" : "texels");
            put(w, &k);
            if (s == 1) {
                k.resource = PITCHED;
                snprintf(k.name, sizeof k.name, "pitched %s %s %s", ways[way],
                         k.filter ? "linear" : "point",
                         k.flags ? "normalised" : "texels");
                put(w, &k);
            }
        }
}

static void integers(struct walk *w)
{
    for (unsigned s = 0; s < CUBES; s++)
        for (unsigned i = 0; i < 8; i++) {
            struct kase k = shaped("tex_s32", s);

            k.flags = i & 1 ? CU_TRSF_NORMALIZED_COORDINATES : 0;
            k.points = INTEGERS;
            k.count = 128;
            address(&k, i / 2);
            snprintf(k.name, sizeof k.name, "%s %s texel numbers%s",
                     shapes[s].name, ways[i / 2],
                     i & 1 ? " of a normalised texture" : "");
            put(w, &k);
            if (s == 1) {
                k.resource = PITCHED;
                snprintf(k.name, sizeof k.name, "pitched %s texel numbers%s",
                         ways[i / 2], i & 1 ? " of a normalised texture" : "");
                put(w, &k);
            }
        }
}

static void all_formats(struct walk *w)
{
    for (unsigned f = 0; f < FORMATS; f++)
        for (unsigned c = 1; c <= 4; c *= 2)
            for (unsigned i = 0; i < 8; i++) {
                const int elements = i & 1, blends = i >> 1 & 1;
                struct kase k = shaped("tex_u32", 1);

                if ((formats[f].channels && formats[f].channels != c) ||
                    (blends && formats[f].is_integer &&
                     (elements || formats[f].bits == 32)))
                    continue;
                k.format = formats[f].format;
                k.channels = c;
                k.filter = (CUfilter_mode)blends;
                k.flags = elements ? CU_TRSF_READ_AS_INTEGER : 0;
                k.count = 256;
                if (!blends)
                    k.content = RANDOM_BITS;
                address(&k, i & 4 ? CU_TR_ADDRESS_MODE_BORDER
                                  : CU_TR_ADDRESS_MODE_CLAMP);
                snprintf(k.name, sizeof k.name, "format %s x%u %s %s%s",
                         formats[f].name, c, elements ? "element" : "float",
                         blends ? "linear" : "point", i & 4 ? " border" : "");
                put(w, &k);
            }
    for (unsigned i = 0; i < 4; i++) {
        struct kase k = shaped("tex", 1);

        k.format = CU_AD_FORMAT_UNSIGNED_INT8;
        k.channels = i & 2 ? 4 : 1;
        k.size[0] = k.size[1] = 32;
        k.flags = CU_TRSF_SRGB | CU_TRSF_NORMALIZED_COORDINATES;
        k.filter = (CUfilter_mode)(i & 1);
        k.content = RANDOM_BITS;
        k.count = i & 1 ? 1024 : 2048;
        snprintf(k.name, sizeof k.name, "srgb x%u %s", k.channels,
                 i & 1 ? "linear" : "point");
        put(w, &k);
    }
}

/* Ramps tell where a coordinate falls, single texels with how much weight. */
static void weights(struct walk *w)
{
    static const unsigned sizes[] = {1, 2, 7, 8, 31, 100, 1000, 5000};

    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (unsigned j = 0; j < 8; j++) {
            struct kase k = shaped("tex", 0);

            k.size[0] = sizes[i];
            k.flags = j & 1 ? CU_TRSF_NORMALIZED_COORDINATES : 0;
            k.filter = (CUfilter_mode)(j >> 1 & 1);
            address(&k,
                    j & 4 ? CU_TR_ADDRESS_MODE_WRAP : CU_TR_ADDRESS_MODE_CLAMP);
            k.content = RAMP;
            k.points = SWEEP;
            k.count = 2048;
            if (j == 4 || j == 6)
                continue;
            snprintf(k.name, sizeof k.name, "ramp 1d %u %s %s %s", sizes[i],
                     ways[k.address[0]], k.filter ? "linear" : "point",
                     k.flags ? "normalised" : "texels");
            put(w, &k);
        }
    for (unsigned s = 0; s < 3; s++)
        for (unsigned j = 0; j < 4; j++) {
            struct kase k = shaped("tex", s);

            k.flags = j & 1 ? CU_TRSF_NORMALIZED_COORDINATES : 0;
            k.filter = CU_TR_FILTER_MODE_LINEAR;
            k.content = j & 2 ? RAMP : ONE;
            k.points = SWEEP;
            k.count = 2048;
            snprintf(k.name, sizeof k.name, "%s %s %s", j & 2 ? "ramp" : "one",
                     shapes[s].name, k.flags ? "normalised" : "texels");
            put(w, &k);
        }
}

static void cubes(struct walk *w)
{
    for (unsigned s = CUBES; s < SHAPES; s++)
        for (unsigned j = 0; j < 2; j++) {
            struct kase k = shaped("tex", s);

            k.flags = CU_TRSF_NORMALIZED_COORDINATES;
            k.filter = (CUfilter_mode)j;
            k.content = RAMP;
            k.count = 2048;
            snprintf(k.name, sizeof k.name, "ramp %s %s", shapes[s].name,
                     j ? "linear" : "point");
            put(w, &k);
        }
}

static void arithmetic(struct walk *w)
{
    for (unsigned s = 0; s < 3; s++)
        for (unsigned f = 6; f < 8; f++) {
            struct kase k = shaped("tex", s);

            k.format = formats[f].format;
            k.filter = CU_TR_FILTER_MODE_LINEAR;
            k.content = SPECIAL;
            if (!s)
                k.size[0] = 12;
            snprintf(k.name, sizeof k.name, "special numbers %s %s",
                     shapes[s].name, formats[f].name);
            put(w, &k);
            k.content = RANDOM_BITS;
            k.count = 1024;
            snprintf(k.name, sizeof k.name, "any numbers %s %s", shapes[s].name,
                     formats[f].name);
            put(w, &k);
        }
    for (unsigned f = 0; f < PLAIN_FORMATS; f++)
        for (unsigned s = 0; s < 3; s++) {
            struct kase k = shaped("tex", s);

            if (formats[f].is_integer && formats[f].bits == 32)
                continue;
            k.format = formats[f].format;
            k.filter = CU_TR_FILTER_MODE_LINEAR;
            k.count = 1024;
            k.points = SWEEP;
            snprintf(k.name, sizeof k.name, "blend %s %s", shapes[s].name,
                     formats[f].name);
            put(w, &k);
        }
}

static void variants(struct walk *w)
{
    static const char *const kernels[] = {"tex_level", "tex_grad", "tex_there",
                                          "tex_f16x2", "tex_offset"};

    for (unsigned v = 0; v < 5; v++)
        for (unsigned s = 0; s < SHAPES; s++) {
            struct kase k = shaped(kernels[v], s);

            if (v == 4 && k.is_cube)
                continue;
            k.channels = 4;
            k.filter = CU_TR_FILTER_MODE_LINEAR;
            k.flags = CU_TRSF_NORMALIZED_COORDINATES;
            k.count = 256;
            snprintf(k.name, sizeof k.name, "%s %s", kernels[v],
                     shapes[s].name);
            put(w, &k);
            if (v != 4)
                continue;
            k.filter = CU_TR_FILTER_MODE_POINT;
            address(&k, CU_TR_ADDRESS_MODE_WRAP);
            snprintf(k.name, sizeof k.name, "%s %s wrap point", kernels[v],
                     shapes[s].name);
            put(w, &k);
        }
}

static void gathers(struct walk *w)
{
    static const unsigned char where[] = {1, 4, 5};
    static const char *const kernels[] = {"tld4_r", "tld4_g", "tld4_b",
                                          "tld4_a"};

    for (unsigned s = 0; s < 3; s++)
        for (unsigned i = 0; i < 16; i++) {
            struct kase k = shaped(kernels[i & 3], where[s]);

            if (s && i >= 4)
                continue;
            k.gather = s == 0;
            k.channels = 4;
            if (i & 8)
                k.format = CU_AD_FORMAT_UNSIGNED_INT8;
            k.flags = i & 4 || s ? CU_TRSF_NORMALIZED_COORDINATES : 0;
            if (i & 4)
                address(&k, CU_TR_ADDRESS_MODE_MIRROR);
            k.count = 256;
            snprintf(k.name, sizeof k.name, "%s %s%s%s", kernels[i & 3],
                     shapes[where[s]].name, i & 8 ? " u8" : "",
                     i & 4 ? " mirror normalised" : "");
            put(w, &k);
        }
}

static void surface(struct walk *w, const char *prefix, unsigned shape,
                    unsigned format, unsigned channels, unsigned step,
                    int stores)
{
    struct kase k = shaped(prefix, shape);

    k.is_surface = 1;
    k.stores = stores;
    k.format = formats[format].format;
    k.channels = channels;
    k.content = RANDOM_BITS;
    k.points = strstr(prefix, "p_") ? INTEGERS : BYTES;
    k.step = step;
    k.count = 200;
    if (k.points == INTEGERS && step > 1) { /* more of the same */
        k.size[0] = 40;
        k.size[1] = 10;
        k.count = 2000;
    }
    snprintf(k.name, sizeof k.name, "%s %s %s x%u%s", prefix,
             shapes[shape].name, formats[format].name, channels,
             k.size[0] == 40 ? " many" : "");
    put(w, &k);
}

static void surfaces(struct walk *w)
{
    static const struct {
        const char *name;
        unsigned format, channels, bytes;
    } accesses[] = {
        {"b8", 0, 1, 1},     {"b8v4", 0, 4, 4}, {"b16", 2, 1, 2},
        {"b16v2", 2, 2, 4},  {"b32", 4, 1, 4},  {"b32v2", 4, 2, 8},
        {"b32v4", 4, 4, 16}, {"b64", 4, 2, 8},  {"b64v2", 4, 4, 16},
    };
    static const char *const reductions[] = {
        "add_u32", "add_s32", "add_u64", "min_u32", "min_s32", "max_u32",
        "max_s32", "min_u64", "max_s64", "and_b32", "or_b32"};

    for (unsigned b = 0; b < 2; b++) {
        const char *how = b ? "zero" : "clamp";

        for (unsigned i = 0; i < sizeof accesses / sizeof *accesses; i++)
            for (unsigned store = 0; store < 2; store++) {
                char p[40];

                snprintf(p, sizeof p, "%s_%s_%s", store ? "sust" : "suld",
                         accesses[i].name, how);
                surface(w, p, 1, accesses[i].format, accesses[i].channels,
                        accesses[i].bytes, (int)store);
                /* all geometries, and a wider access than the texel */
                for (unsigned s = 0; i == 4 && s < CUBES; s++)
                    if (s != 1)
                        surface(w, p, s, 4, 1, 4, (int)store);
                if (i == 4) {
                    surface(w, p, 1, 0, 4, 4, (int)store);
                    surface(w, p, 1, 2, 1, 4, (int)store);
                    surface(w, p, 1, 4, 4, 4, (int)store);
                }
            }
        for (unsigned v = 1; v <= 4; v *= 2)
            for (unsigned f = 0; f < FORMATS; f++) {
                char p[40];

                snprintf(p, sizeof p, "sustp_v%u_%s", v, how);
                if (!formats[f].channels || formats[f].channels == v)
                    surface(w, p, 1, f, v, 1, 1);
            }
        for (unsigned i = 0; i < sizeof reductions / sizeof *reductions; i++) {
            const int wide = strstr(reductions[i], "64") != NULL;
            char p[40];

            snprintf(p, sizeof p, "sured_%s_%s", reductions[i], how);
            surface(w, p, 1, 4, wide ? 2 : 1, wide ? 8 : 4, 1);
        }
        surface(w, b ? "suredp_add_zero" : "suredp_add_clamp", 1, 4, 1, 1, 1);
        surface(w, b ? "suredp_add_zero" : "suredp_add_clamp", 1, 5, 1, 1, 1);
    }
}

/* What the first answers left open. */
static void more(struct walk *w)
{
    for (unsigned i = 0; i < 4; i++) {
        struct kase k = shaped("tex", 0);

        k.size[0] = 256;
        k.points = SWEEP;
        k.count = 2048;
        k.filter = CU_TR_FILTER_MODE_LINEAR;
        k.format = formats[i & 1 ? 1 : 0].format;
        k.content = i & 2 ? COUNT : RANDOM_BITS;
        k.channels = i & 1 ? 1 : 4;
        if (!(i & 1))
            k.flags = CU_TRSF_SRGB;
        snprintf(k.name, sizeof k.name, "256 texels %s %s",
                 i & 1 ? "s8" : "srgb", i & 2 ? "in order" : "random");
        put(w, &k);
    }
    for (unsigned i = 0; i < 2; i++) {
        struct kase k = shaped("tex", 0);

        k.size[0] = 256;
        k.points = i ? INTEGERS : SWEEP;
        k.step = 2;
        k.count = 2048;
        k.format = CU_AD_FORMAT_UNSIGNED_INT8;
        k.channels = 4;
        k.flags = CU_TRSF_SRGB;
        k.content = COUNT;
        snprintf(k.name, sizeof k.name, "256 texels srgb point%s",
                 i ? " by number" : "");
        if (i)
            k.kernel = kernel_name("tex_s32", 0), k.resource = LINEAR;
        put(w, &k);
    }
    for (unsigned i = 0; i < 8; i++) {
        struct kase k = shaped("tex", i & 1 ? 2 : 0);

        k.size[0] = i & 1 ? 8 : 128;
        k.size[1] = k.size[2] = i & 1 ? 8 : 0;
        k.points = SWEEP;
        k.count = 2048;
        k.filter = CU_TR_FILTER_MODE_LINEAR;
        k.content = SCALES;
        k.step = i >> 2 & 1;
        k.format = i & 2 ? CU_AD_FORMAT_HALF : CU_AD_FORMAT_FLOAT;
        snprintf(k.name, sizeof k.name, "scales %s %s %u", i & 1 ? "3d" : "1d",
                 i & 2 ? "f16" : "f32", i / 4);
        put(w, &k);
    }
    for (unsigned f = 0; f < 6; f++)
        for (unsigned i = 0; i < 2; i++) {
            struct kase k = shaped("tex_u32", 1);

            k.format = formats[f].format;
            k.channels = i ? 4 : 1;
            k.content = RANDOM_BITS;
            k.flags = CU_TRSF_READ_AS_INTEGER;
            k.filter = CU_TR_FILTER_MODE_LINEAR;
            k.count = 256;
            snprintf(k.name, sizeof k.name, "blended integers %s x%u",
                     formats[f].name, k.channels);
            put(w, &k);
        }
    for (unsigned i = 0; i < 8; i++) {
        struct kase k = shaped("tex", 0);

        k.resource = LINEAR;
        k.flags = i & 1 ? CU_TRSF_NORMALIZED_COORDINATES : 0;
        k.filter = (CUfilter_mode)(i >> 1 & 1);
        address(&k,
                i & 4 ? CU_TR_ADDRESS_MODE_WRAP : CU_TR_ADDRESS_MODE_BORDER);
        snprintf(k.name, sizeof k.name, "linear by coordinate %s %s %s",
                 ways[k.address[0]], k.filter ? "linear" : "point",
                 k.flags ? "normalised" : "texels");
        put(w, &k);
    }
    for (unsigned f = 8; f < FORMATS; f++) {
        char p[40];

        snprintf(p, sizeof p, "sustp_v%u_zero", formats[f].channels);
        surface(w, p, 1, f, formats[f].channels, 2, 1);
    }
}

static void queries(struct walk *w)
{
    const char *name;

    for (unsigned q = 0; (name = kernels_query(q)); q++)
        for (unsigned s = 0; s <= SHAPES + 1; s++) {
            struct kase k = shaped("tex", s < SHAPES ? s : s - SHAPES);

            k.kernel = name;
            if (s >= SHAPES)
                k.resource = s > SHAPES ? PITCHED : LINEAR;
            k.is_surface = name[0] == 's';
            if (k.is_surface && k.resource != ARRAY)
                continue;
            k.count = 1;
            k.channels = s % 2 ? 4 : 1;
            k.points = INTEGERS;
            snprintf(k.name, sizeof k.name, "%s %s%s", name,
                     s > SHAPES    ? "pitched "
                     : s == SHAPES ? "linear "
                                   : "",
                     shapes[s < SHAPES ? s : s - SHAPES].name);
            put(w, &k);
        }
}

int cases_all(int (*each)(const struct kase *k, void *data), void *data)
{
    struct walk w = {each, data, 0};

    linear(&w);
    edges(&w);
    integers(&w);
    all_formats(&w);
    weights(&w);
    cubes(&w);
    arithmetic(&w);
    variants(&w);
    gathers(&w);
    surfaces(&w);
    more(&w);
    queries(&w);
    return w.result;
}
