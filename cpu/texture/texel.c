/* SPDX-License-Identifier: MIT
 *
 * From a texel's bytes to four channels, and back.
 */
#include <math.h>
#include <string.h>

#include "cpu/texture/texture.h"

int texel_format(unsigned kind, unsigned bits, unsigned channels,
                 struct texel_format *out)
{
    if ((bits != 8 && bits != 16 && bits != 32) ||
        (channels != 1 && channels != 2 && channels != 4) ||
        (kind == TEXEL_FLOAT && bits == 8) ||
        ((kind == TEXEL_UNORM || kind == TEXEL_SNORM) && bits == 32))
        return 0;
    *out =
        (struct texel_format){(uint8_t)kind, (uint8_t)bits, (uint8_t)channels,
                              (uint8_t)(bits / 8 * channels)};
    return 1;
}

int texel_is_float(const struct texel_format *f,
                   const struct texture_sampler *s)
{
    if (f->kind == TEXEL_UNSIGNED || f->kind == TEXEL_SIGNED)
        return f->bits < 32 && !s->reads_elements;
    return 1;
}

float texel_half(uint16_t bits)
{
    const uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
    const uint32_t exponent = bits >> 10 & 31;
    const uint32_t rest = bits & 0x3ffu;

    if (exponent == 31)
        return texel_as_float(sign | 0x7f800000u | rest << 13);
    if (exponent)
        return texel_as_float(sign | (exponent + 112) << 23 | rest << 13);
    return copysignf((float)rest * 0x1p-24f, texel_as_float(sign));
}

uint16_t texel_to_half(float value)
{
    const uint32_t bits = texel_bits(value);
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
    const uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t rounded;

    if (magnitude > 0x7f800000u)
        return 0x7fff;
    if (magnitude >= 0x47800000u) /* 65536 */
        return sign | 0x7c00;
    if (magnitude < 0x38800000u) /* subnormal: units of 2^-24 */
        return sign | (uint16_t)lrintf(texel_as_float(magnitude) * 0x1p24f);
    rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
    return sign | (uint16_t)((rounded - (112u << 23)) >> 13);
}

static uint32_t channel(const struct texel_format *f, const unsigned char *at,
                        unsigned i)
{
    uint8_t byte;
    uint16_t half;
    uint32_t word;

    switch (f->bits) {
    case 8:
        memcpy(&byte, at + i, 1);
        return byte;
    case 16:
        memcpy(&half, at + (size_t)i * 2, 2);
        return half;
    default:
        memcpy(&word, at + (size_t)i * 4, 4);
        return word;
    }
}

static int32_t extended(uint32_t value, unsigned bits)
{
    return bits == 8    ? (int8_t)value
           : bits == 16 ? (int16_t)value
                        : (int32_t)value;
}

/* IEC 61966-2-1, of 8 bits. */
static float from_srgb(uint32_t value)
{
    const double v = value / 255.0;

    return (float)(v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4));
}

static uint32_t convert(const struct texel_format *f,
                        const struct texture_sampler *s, uint32_t value,
                        unsigned i)
{
    const int is_float = texel_is_float(f, s);
    const float most = (float)(((uint32_t)1 << (f->bits - 1)) - 1);
    float v;

    switch (f->kind) {
    case TEXEL_FLOAT:
        return f->bits == 16 ? texel_bits(texel_half((uint16_t)value)) : value;
    case TEXEL_SIGNED:
    case TEXEL_SNORM:
        if (!is_float)
            return (uint32_t)extended(value, f->bits);
        v = (float)extended(value, f->bits) / most;
        return texel_bits(v < -1 ? -1 : v);
    default:
        if (!is_float)
            return value;
        if (s->is_srgb && f->bits == 8 && i < 3)
            return texel_bits(from_srgb(value));
        return texel_bits((float)value / (most * 2 + 1));
    }
}

void texel_load(const struct texel_format *f, const struct texture_sampler *s,
                const unsigned char *at, uint32_t out[TEXTURE_CHANNELS])
{
    for (unsigned i = 0; i < f->channels; i++)
        out[i] = convert(f, s, channel(f, at, i), i);
    for (unsigned i = f->channels; i < TEXTURE_CHANNELS; i++)
        out[i] = i < 3 ? 0 : texel_is_float(f, s) ? texel_bits(1) : 1;
}

void texel_border(const struct texel_format *f, const struct texture_sampler *s,
                  uint32_t out[TEXTURE_CHANNELS])
{
    for (unsigned i = 0; i < TEXTURE_CHANNELS; i++)
        if (i < f->channels)
            out[i] = texel_bits(s->border[i]);
        else
            out[i] = i < 3 ? 0 : texel_is_float(f, s) ? texel_bits(1) : 1;
}

/* A float in a fixed-point channel: to nearest, saturated, NaN as 0. */
static uint32_t to_fixed(float v, unsigned is_signed, unsigned bits)
{
    const float most = (float)(((uint32_t)1 << (bits - is_signed)) - 1);

    if (!(v > (is_signed ? -1.0f : 0.0f)))
        return v < 0 && is_signed ? (uint32_t) - (int32_t)most : 0;
    return (uint32_t)(int32_t)lrintf((v > 1 ? 1 : v) * most);
}

static uint32_t saturated(uint32_t value, int is_signed, unsigned bits)
{
    const int32_t s = (int32_t)value;
    const int32_t most = (int32_t)(((uint32_t)1 << (bits - 1)) - 1);

    if (bits == 32)
        return value;
    if (is_signed)
        return (uint32_t)(s > most ? most : s < -most - 1 ? -most - 1 : s);
    return value > 2 * (uint32_t)most + 1 ? 2 * (uint32_t)most + 1 : value;
}

void texel_store(const struct texel_format *f, unsigned char *at,
                 const uint32_t in[TEXTURE_CHANNELS], unsigned given)
{
    for (unsigned i = 0; i < f->channels; i++) {
        uint32_t v = i < given ? in[i] : 0;

        if (f->kind == TEXEL_FLOAT && f->bits == 16)
            v = texel_to_half(texel_as_float(v));
        else if (f->kind == TEXEL_UNORM || f->kind == TEXEL_SNORM)
            v = to_fixed(texel_as_float(v), f->kind == TEXEL_SNORM, f->bits);
        else if (f->kind != TEXEL_FLOAT)
            v = saturated(v, f->kind == TEXEL_SIGNED, f->bits);
        memcpy(at + (size_t)i * (f->bits / 8), &v, f->bits / 8);
    }
}
