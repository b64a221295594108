/* SPDX-License-Identifier: MIT
 *
 * From a coordinate to texels: normalised or not, the four ways to go past
 * an edge, and the weights of blending, which have eight bits behind the
 * point.
 */
#include <math.h>

#include "cpu/texture/texture.h"

enum { FRACTION = 256 };

/* Far enough outside for any size, and exact in a double. */
#define FAR 0x1p40

static double bounded(double v)
{
    return v != v ? 0 : v > FAR ? FAR : v < -FAR ? -FAR : v;
}

static int64_t modulo(int64_t a, int64_t n)
{
    const int64_t r = a % n;

    return r < 0 ? r + n : r;
}

static int64_t bring_in(enum texture_address how, int64_t i, int64_t n)
{
    switch (how) {
    case TEXTURE_WRAP:
        return modulo(i, n);
    case TEXTURE_MIRROR:
        i = modulo(i, 2 * n);
        return i < n ? i : 2 * n - 1 - i;
    case TEXTURE_BORDER:
        return i < 0 || i >= n ? -1 : i;
    default:
        return i < 0 ? 0 : i >= n ? n - 1 : i;
    }
}

void texture_place(const struct texture_sampler *s, unsigned dim, uint32_t size,
                   int blends, uint32_t coordinate, int32_t offset,
                   struct texture_axis *out)
{
    const float x = texel_as_float(coordinate);
    enum texture_address how = s->address[dim];
    double v = bounded(x);
    int64_t fixed;

    if (!s->is_normalized && (how == TEXTURE_WRAP || how == TEXTURE_MIRROR))
        how = TEXTURE_CLAMP;
    if (s->is_normalized) {
        /* whole turns first: they would take the bits of what is left */
        if (how == TEXTURE_WRAP)
            v -= floor(v);
        else if (how == TEXTURE_MIRROR)
            v -= 2 * floor(v / 2);
        v *= size;
    }
    v = bounded(v);
    if (!blends) {
        out->at[0] = bring_in(how, (int64_t)floor(v) + offset, size);
        out->at[1] = out->at[0];
        out->weight = 0;
        return;
    }
    fixed = (int64_t)floor((v - 0.5) * FRACTION + 0.5);
    out->weight = (unsigned)modulo(fixed, FRACTION);
    fixed = (fixed - out->weight) / FRACTION + offset;
    out->at[0] = bring_in(how, fixed, size);
    out->at[1] = bring_in(how, fixed + 1, size);
}

void texture_place_integer(const struct texture_image *image,
                           const struct texture_sampler *s, unsigned dim,
                           int32_t at, struct texture_axis *out)
{
    enum texture_address how = s->address[dim];

    if (!image->is_array && image->dims == 1)
        how = TEXTURE_BORDER;
    else if (how == TEXTURE_WRAP || how == TEXTURE_MIRROR)
        how = TEXTURE_CLAMP;
    out->at[0] = out->at[1] = bring_in(how, at, image->size[dim]);
    out->weight = 0;
}

/* The face of the largest component, positive x, negative x, then y, then z;
 * CUDA C++ Programming Guide, cubemap textures. */
unsigned texture_face(const uint32_t direction[3], uint32_t out[2])
{
    const float x = texel_as_float(direction[0]);
    const float y = texel_as_float(direction[1]);
    const float z = texel_as_float(direction[2]);
    const float ax = fabsf(x), ay = fabsf(y), az = fabsf(z);
    unsigned face;
    float m, s, t;

    if (ax >= ay && ax >= az) {
        face = signbit(x) ? 1 : 0;
        m = ax;
        s = signbit(x) ? z : -z;
        t = -y;
    } else if (ay >= az) {
        face = signbit(y) ? 3 : 2;
        m = ay;
        s = x;
        t = signbit(y) ? -z : z;
    } else {
        face = signbit(z) ? 5 : 4;
        m = az;
        s = signbit(z) ? -x : x;
        t = -y;
    }
    out[0] = texel_bits((s / m + 1) / 2);
    out[1] = texel_bits((t / m + 1) / 2);
    return face;
}
