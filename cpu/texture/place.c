/* SPDX-License-Identifier: MIT
 *
 * From a coordinate to texels: normalised or not, the four ways to go past
 * an edge, and the weights of blending, which have eight bits behind the
 * point.
 */
#include <math.h>

#include "cpu/texture/texture.h"

enum { FRACTION = 256 };

/* Of a normalised coordinate, from 0 to 1. */
#define STEPS 0x1p21

/* Far enough outside for any size, and exact in a double. */
#define FAR 0x1p40

static double bounded(double v)
{
    return v != v ? 0 : v > FAR ? FAR : v < -FAR ? -FAR : v;
}

static int64_t down(double v)
{
    const int64_t i = (int64_t)v;

    return i - (v < (double)i);
}

static int64_t modulo(int64_t a, int64_t n)
{
    const int64_t r = a % n;

    return r < 0 ? r + n : r;
}

static int64_t bring_in(enum texture_address how, int64_t i, int64_t n)
{
    if (i >= 0 && i < n)
        return i;
    switch (how) {
    case TEXTURE_WRAP:
        return modulo(i, n);
    case TEXTURE_MIRROR:
        i = modulo(i, 2 * n);
        return i < n ? i : 2 * n - 1 - i;
    case TEXTURE_BORDER:
        return -1;
    default:
        return i < 0 ? 0 : n - 1;
    }
}

/* In texels, from any coordinate. Normalised ones count in steps,
 * downwards. */
static double in_texels(const struct texture_sampler *s,
                        enum texture_address how, uint32_t size, double v)
{
    v = bounded(v);
    if (!s->is_normalized)
        return v;
    /* whole turns first: they would take the bits of what is left */
    if (how == TEXTURE_WRAP)
        v -= (double)down(v);
    else if (how == TEXTURE_MIRROR)
        v -= 2 * (double)down(v / 2);
    return bounded((double)down(v * STEPS) / STEPS * size);
}

void texture_place(const struct texture_sampler *s, unsigned dim, uint32_t size,
                   int blends, double coordinate, int32_t offset,
                   struct texture_axis *out)
{
    enum texture_address how = s->address[dim];
    int64_t fixed;
    double v;

    if (!s->is_normalized && (how == TEXTURE_WRAP || how == TEXTURE_MIRROR))
        how = TEXTURE_CLAMP;
    v = in_texels(s, how, size, coordinate);
    out->weight = 0;
    if (!blends) {
        out->at[0] = bring_in(how, down(v) + offset, size);
        out->at[1] = out->at[0];
        return;
    }
    fixed =
        down((v - 0.5) * (double)FRACTION + 0.5) + (int64_t)offset * FRACTION;
    /* Past a clamped edge both texels are the same, and one counts. */
    if (how != TEXTURE_CLAMP ||
        (fixed >= 0 && fixed <= ((int64_t)size - 1) * FRACTION))
        out->weight = (unsigned)((uint64_t)fixed % FRACTION);
    fixed = down((double)fixed / (double)FRACTION);
    out->at[0] = bring_in(how, fixed, size);
    out->at[1] = bring_in(how, fixed + 1, size);
}

void texture_place_integer(uint32_t size, int32_t at, struct texture_axis *out)
{
    out->at[0] = out->at[1] = bring_in(TEXTURE_BORDER, at, size);
    out->weight = 0;
}

double texel_flushed(uint32_t bits)
{
    return texel_as_float(bits & 0x7f800000 ? bits : bits & 0x80000000);
}

/* From -1 to 1 over a face to 0 to 1, in steps of STEPS. */
static double in_face(double along, double major)
{
    const double half = STEPS / 2;

    return (half + (double)down(major > 0 ? along / major * half : 0)) / STEPS;
}

/* The face of the largest component: x, y, z, the positive one of each first;
 * of equal ones z counts before y, y before x. CUDA C++ Programming Guide,
 * "Cubemap Textures", has the table. */
unsigned texture_face(const uint32_t direction[3], double out[2])
{
    const double x = texel_as_float(direction[0]);
    const double y = texel_as_float(direction[1]);
    const double z = texel_as_float(direction[2]);
    const double ax = fabs(x), ay = fabs(y), az = fabs(z);

    if (az >= ax && az >= ay) {
        out[0] = in_face(z < 0 ? -x : x, az);
        out[1] = in_face(-y, az);
        return z < 0 ? 5 : 4;
    }
    if (ay >= ax) {
        out[0] = in_face(x, ay);
        out[1] = in_face(y < 0 ? -z : z, ay);
        return y < 0 ? 3 : 2;
    }
    out[0] = in_face(x < 0 ? z : -z, ax);
    out[1] = in_face(-y, ax);
    return x < 0 ? 1 : 0;
}
