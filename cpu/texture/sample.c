/* SPDX-License-Identifier: MIT
 *
 * One fetch: where, which texels, and what they come to together.
 */
#include <string.h>

#include "cpu/texture/texture.h"

struct spot {
    struct texture_axis axis[3];
    uint32_t layer;
    int is_outside; /* plain memory has no such texel */
};

static void load(const struct texture *t, const struct spot *spot, int64_t x,
                 int64_t y, int64_t z, uint32_t raw[TEXTURE_CHANNELS])
{
    const struct texture_image *i = &t->image;
    const uint64_t slice = i->dims == 3 ? (uint64_t)z : spot->layer;

    if (x < 0 || y < 0 || z < 0)
        texel_border(&i->format, &t->sampler, raw);
    else
        texel_raw(&i->format,
                  i->data + slice * i->slice_bytes + (uint64_t)y * i->pitch +
                      (uint64_t)x * i->format.bytes,
                  raw);
}

/* A number past the last layer is the last, one below 0 as well. */
static uint32_t layer_of(uint32_t layers, int64_t layer)
{
    return layer < 0 || layer >= (int64_t)layers ? layers - 1 : (uint32_t)layer;
}

static uint32_t cube_layer(const struct texture_image *i, int32_t layer,
                           unsigned face)
{
    const uint32_t cubes = i->layers >= 6 ? i->layers / 6 : 1;

    return layer_of(i->layers, (int64_t)layer_of(cubes, layer) * 6 + face);
}

/* By numbers of texels: outside there is nothing, whatever the sampler says.
 * An array of one row has no such access: all is outside. */
static void find_integer(const struct texture_image *i,
                         const struct texture_point *p, struct spot *out)
{
    out->is_outside = p->layer < 0 || p->layer >= (int64_t)i->layers ||
                      (i->is_array && i->dims == 1 && !i->is_layered);
    for (unsigned d = 0; d < i->dims; d++) {
        const uint32_t x = d < p->dims ? p->at[d] : 0;

        texture_place_integer(i->size[d], (int32_t)(x + (uint32_t)p->offset[d]),
                              &out->axis[d]);
        out->is_outside |= out->axis[d].at[0] < 0;
    }
}

static void find(const struct texture *t, const struct texture_point *p,
                 int both, struct spot *out)
{
    const struct texture_image *i = &t->image;
    double at[3] = {0};

    memset(out, 0, sizeof *out);
    if (p->is_integer) {
        out->layer = layer_of(i->layers, p->layer);
        find_integer(i, p, out);
        return;
    }
    if (p->geometry == TEXTURE_CUBE) {
        out->layer = cube_layer(i, p->layer, texture_face(p->at, at));
    } else {
        out->layer = layer_of(i->layers, p->layer);
        for (unsigned d = 0; d < p->dims && d < i->dims; d++)
            at[d] = texel_flushed(p->at[d]);
    }
    /* Memory has texels by number alone. */
    if (!i->size[0] || (!i->is_array && i->dims == 1)) {
        out->is_outside = 1;
        return;
    }
    for (unsigned d = 0; d < i->dims; d++)
        texture_place(&t->sampler, d, i->size[d], both, at[d],
                      d < p->dims ? p->offset[d] : 0, &out->axis[d]);
    /* one row is a plane of height 1, seen at its upper edge */
    if (i->dims == 1 && !i->is_layered)
        texture_place(&t->sampler, 1, 1, both, 0, 0, &out->axis[1]);
}

/* Weights of the eight corners, in 256ths, x lowest in their number. Each is
 * rounded to eight bits, first the shares of x in the two planes, then those
 * of y in these; ties go up, for y on the far side alone. */
static void weigh(const struct spot *s, unsigned out[8])
{
    const unsigned x = s->axis[0].weight, y = s->axis[1].weight;

    for (unsigned z = 0; z < 2; z++) {
        const unsigned plane = z ? s->axis[2].weight : 256 - s->axis[2].weight;
        const unsigned right = (x * plane + 128) >> 8;
        const unsigned left = plane - right;
        const unsigned low_right = (right * y + 128) >> 8;
        const unsigned low_left = (left * y + 127) >> 8;

        out[4 * z] = left - low_left;
        out[4 * z + 1] = right - low_right;
        out[4 * z + 2] = low_left;
        out[4 * z + 3] = low_right;
    }
}

/* Floats are blended at the exponent of the largest that has weight, with four
 * bits more than they have themselves; what lies below is cut off. The sum is
 * rounded to the texels' own precision, ties away from zero. What the sRGB
 * curve gives has eight bits and gets no more, but is rounded as a half. */
enum { GUARD = 4, CURVE_BITS = 8, HALF_BITS = 11, FLOAT_BITS = 24 };

static unsigned exponent_of(uint32_t bits)
{
    return bits >> 23 & 0xff;
}

/* With infinities or NaN among them. */
static uint32_t blend_infinite(const uint32_t v[8], const unsigned weights[8])
{
    double sum = 0;

    for (unsigned c = 0; c < 8; c++)
        if (weights[c])
            sum += (double)texel_as_float(v[c]) * weights[c];
    return texel_bits((float)sum);
}

/* sum * 2^unit to so many bits; a half has none below 2^-24. */
static uint32_t rounded(int64_t sum, int unit, int bits)
{
    const uint64_t sign = sum < 0 ? (uint64_t)1 << 63 : 0;
    uint64_t m = sum < 0 ? (uint64_t)-sum : (uint64_t)sum;
    int drop = m ? 64 - __builtin_clzll(m) - bits : 0;
    union {
        uint64_t u;
        double d;
    } scale;
    float f;

    if (bits == HALF_BITS && drop < -24 - unit)
        drop = -24 - unit;
    if (drop > 0) {
        m = drop < 64 ? (m + ((uint64_t)1 << (drop - 1))) >> drop : 0;
        unit += drop;
    }
    scale.u = sign | (uint64_t)(unit + 1023) << 52;
    f = (float)((double)m * scale.d);
    if (!(texel_bits(f) & 0x7f800000)) /* subnormal */
        f = sign ? -0.0f : 0.0f;
    return texel_bits(f);
}

/* Of floats' bits, so many kept of each. */
static uint32_t blend_floats(const uint32_t v[8], const unsigned weights[8],
                             int kept, int bits)
{
    unsigned most = 0;
    uint32_t signs = 1u << 31;
    int64_t sum = 0;

    for (unsigned c = 0; c < 8; c++)
        if (weights[c]) {
            signs &= v[c];
            if (exponent_of(v[c]) > most)
                most = exponent_of(v[c]);
        }
    if (most == 255)
        return blend_infinite(v, weights);
    if (!most) /* zeros and subnormals */
        return signs;
    for (unsigned c = 0; c < 8; c++) {
        const unsigned shift = most - exponent_of(v[c]);
        int64_t m = ((v[c] & 0x7fffff) | 0x800000) << GUARD >>
                    (FLOAT_BITS + GUARD - kept);

        if (!weights[c] || !exponent_of(v[c]) || shift >= 32)
            continue;
        m = (m >> shift) * weights[c];
        sum += v[c] >> 31 ? -m : m;
    }
    return rounded(sum, (int)most - 150 + FLOAT_BITS - kept - 8, bits);
}

static uint32_t blend_curved(const struct texture *t, unsigned channel,
                             const uint32_t raw[8], const unsigned weights[8])
{
    const struct texel_format *f = &t->image.format;
    uint32_t v[8];

    for (unsigned c = 0; c < 8; c++)
        v[c] = texel_value(f, &t->sampler, raw[c], channel);
    if (texel_is_fixed(f))
        return blend_floats(v, weights, CURVE_BITS, HALF_BITS);
    if (f->bits == 16)
        return blend_floats(v, weights, HALF_BITS + GUARD, HALF_BITS);
    return blend_floats(v, weights, FLOAT_BITS + GUARD, FLOAT_BITS);
}

static uint32_t blend_fixed(const struct texel_format *f, const uint32_t raw[8],
                            const unsigned weights[8])
{
    int32_t sum = 0;

    for (unsigned c = 0; c < 8; c++)
        sum += (int32_t)weights[c] * texel_extended(f, raw[c]);
    return texel_bits(texel_blended(f, sum));
}

/* Integers that stay so: those of 32 bits are rounded down. */
static uint32_t blend_integers(const struct texel_format *f,
                               const uint32_t raw[8], const unsigned weights[8])
{
    int64_t sum = f->bits == 32 ? 0 : 128;

    for (unsigned c = 0; c < 8; c++)
        sum += (int64_t)weights[c] * (f->kind == TEXEL_UNSIGNED
                                          ? (int64_t)raw[c]
                                          : texel_extended(f, raw[c]));
    return (uint32_t)((sum - (int64_t)((uint64_t)sum & 255)) / 256);
}

static void blend(const struct texture *t, const struct spot *s,
                  uint32_t out[TEXTURE_CHANNELS])
{
    const struct texel_format *f = &t->image.format;
    uint32_t raw[TEXTURE_CHANNELS][8] = {{0}};
    unsigned weights[8];

    weigh(s, weights);
    for (unsigned c = 0; c < 8; c++) {
        uint32_t texel[TEXTURE_CHANNELS];

        if (!weights[c])
            continue;
        load(t, s, s->axis[0].at[c & 1], s->axis[1].at[c >> 1 & 1],
             s->axis[2].at[c >> 2], texel);
        for (unsigned i = 0; i < TEXTURE_CHANNELS; i++)
            raw[i][c] = texel[i];
    }
    for (unsigned i = 0; i < TEXTURE_CHANNELS; i++)
        out[i] = i >= f->channels ? 0
                 : !texel_is_float(f, &t->sampler)
                     ? blend_integers(f, raw[i], weights)
                 : texel_is_fixed(f) && !texel_is_srgb(f, &t->sampler, i)
                     ? blend_fixed(f, raw[i], weights)
                     : blend_curved(t, i, raw[i], weights);
}

void texture_sample(const struct texture *t, const struct texture_point *p,
                    uint32_t out[TEXTURE_CHANNELS])
{
    const int both = t->sampler.is_linear && !p->is_integer;
    struct spot s;
    uint32_t raw[TEXTURE_CHANNELS];

    find(t, p, both, &s);
    if (s.is_outside) {
        memset(out, 0, TEXTURE_CHANNELS * sizeof *out);
        return;
    }
    if (both) {
        blend(t, &s, out);
        return;
    }
    load(t, &s, s.axis[0].at[0], s.axis[1].at[0], s.axis[2].at[0], raw);
    for (unsigned i = 0; i < TEXTURE_CHANNELS; i++)
        out[i] = texel_value(&t->image.format, &t->sampler, raw[i], i);
}

/* Counter-clockwise from the lower left (the texture's y goes down). */
void texture_gather(const struct texture *t, const struct texture_point *p,
                    unsigned channel, uint32_t out[4])
{
    static const unsigned char x[] = {0, 1, 1, 0}, y[] = {1, 1, 0, 0};
    struct spot s;

    find(t, p, 1, &s);
    for (unsigned i = 0; i < 4; i++) {
        uint32_t raw[TEXTURE_CHANNELS];

        load(t, &s, s.axis[0].at[x[i]], s.axis[1].at[y[i]], 0, raw);
        out[i] =
            texel_value(&t->image.format, &t->sampler, raw[channel], channel);
    }
}
