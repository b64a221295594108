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

void texel_raw(const struct texel_format *f, const unsigned char *at,
               uint32_t raw[TEXTURE_CHANNELS])
{
    for (unsigned i = 0; i < TEXTURE_CHANNELS; i++) {
        raw[i] = 0;
        if (i < f->channels)
            memcpy(&raw[i], at + (size_t)i * (f->bits / 8), f->bits / 8);
    }
}

static int is_signed(const struct texel_format *f)
{
    return f->kind == TEXEL_SIGNED || f->kind == TEXEL_SNORM;
}

static int32_t extended(uint32_t value, unsigned bits)
{
    return bits == 8    ? (int8_t)value
           : bits == 16 ? (int16_t)value
                        : (int32_t)value;
}

/* Fixed-point formats round, ties towards zero; integers read as they are
 * take the float's lowest bits. */
static uint32_t border_bits(const struct texel_format *f,
                            const struct texture_sampler *s, float v)
{
    const float least = is_signed(f) ? -1 : 0;
    float most;

    if (f->bits == 32 || !texel_is_float(f, s))
        return texel_bits(v);
    if (f->kind == TEXEL_FLOAT)
        return texel_to_half(v);
    most = (float)(((uint32_t)1 << (f->bits - (unsigned)is_signed(f))) - 1);
    v = v > 1 ? 1 : v > least ? v : least;
    return (uint32_t)(int32_t)(v < 0 ? floorf(v * most + 0.5f)
                                     : ceilf(v * most - 0.5f));
}

void texel_border(const struct texel_format *f, const struct texture_sampler *s,
                  uint32_t raw[TEXTURE_CHANNELS])
{
    const uint32_t mask = f->bits < 32 ? ((uint32_t)1 << f->bits) - 1 : ~0u;

    for (unsigned i = 0; i < TEXTURE_CHANNELS; i++)
        raw[i] = i < f->channels ? border_bits(f, s, s->border[i]) & mask : 0;
}

int texel_is_srgb(const struct texel_format *f, const struct texture_sampler *s,
                  unsigned i)
{
    return s->is_srgb && f->kind == TEXEL_UNSIGNED && f->bits == 8 && i < 3;
}

uint32_t texel_value(const struct texel_format *f,
                     const struct texture_sampler *s, uint32_t raw, unsigned i)
{
    const int is_float = texel_is_float(f, s);
    const float most = (float)(((uint32_t)1 << (f->bits - 1)) - 1);
    float v;

    if (i >= f->channels)
        return 0;
    if (f->kind == TEXEL_FLOAT)
        return f->bits == 16 ? texel_bits(texel_half((uint16_t)raw)) : raw;
    if (is_signed(f)) {
        if (!is_float)
            return (uint32_t)extended(raw, f->bits);
        v = (float)extended(raw, f->bits) / most;
        return texel_bits(v < -1 ? -1 : v);
    }
    if (!is_float)
        return raw;
    if (texel_is_srgb(f, s, i))
        return texel_bits(texel_from_srgb(raw));
    return texel_bits((float)raw / (most * 2 + 1));
}

int texel_is_fixed(const struct texel_format *f)
{
    return f->kind != TEXEL_FLOAT;
}

int32_t texel_extended(const struct texel_format *f, uint32_t raw)
{
    return is_signed(f) ? extended(raw, f->bits) : (int32_t)raw;
}

/* v / 2^n, down; shifts of negative numbers are the compiler's matter. */
static int32_t shifted(int32_t v, int n)
{
    return v < 0 ? -((((1 << n) - 1) - v) >> n) : v >> n;
}

float texel_blended(const struct texel_format *f, int32_t sum)
{
    int32_t v;

    if (f->bits == 16)
        v = shifted(sum + 128, 8);
    else if (is_signed(f)) /* 127 becomes 32767, by a seventh of the bits */
        v = sum + shifted(shifted(sum, 4) + shifted(sum, 12) + 4, 3);
    else
        v = shifted(sum * 257 + 128, 8);
    if (!is_signed(f))
        return (float)(v / (double)UINT16_MAX);
    return v < -INT16_MAX ? -1 : (float)(v / (double)INT16_MAX);
}

/* Towards zero, which keeps what is too large at the largest. */
static uint16_t cut_to_half(uint32_t bits)
{
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
    const uint32_t magnitude = bits & 0x7fffffffu;

    if (magnitude > 0x7f800000u) { /* a NaN stays one */
        const uint16_t rest = (uint16_t)(magnitude >> 13 & 0x3ff);

        return (uint16_t)(sign | 0x7c00 | (rest ? rest : 1));
    }
    if (magnitude == 0x7f800000u)
        return sign | 0x7c00;
    if (magnitude >= 0x47800000u) /* 65536 */
        return sign | 0x7bff;
    if (magnitude < 0x38800000u) /* subnormal: units of 2^-24 */
        return (uint16_t)(sign |
                          (uint16_t)(texel_as_float(magnitude) * 0x1p24f));
    return (uint16_t)(sign | (magnitude - (112u << 23)) >> 13);
}

/* A float in a fixed-point channel: cut to four bits more than it has, then
 * rounded, ties away from zero; NaN is 0. */
static uint32_t to_fixed(float v, unsigned has_sign, unsigned bits)
{
    const unsigned fraction = bits - has_sign + 4;
    const uint64_t most = ((uint64_t)1 << (bits - has_sign)) - 1;
    const float least = has_sign ? -1 : 0;
    uint64_t m;

    v = v > 1 ? 1 : v > least ? v : v <= least ? least : 0;
    m = (uint64_t)(fabsf(v) * (float)((uint32_t)1 << fraction)) * most;
    m = (m + ((uint64_t)1 << (fraction - 1))) >> fraction;
    return (uint32_t)(v < 0 ? -(int32_t)m : (int32_t)m);
}

static uint32_t saturated(uint32_t value, int has_sign, unsigned bits)
{
    const int32_t s = (int32_t)value;
    const int32_t most = (int32_t)(((uint32_t)1 << (bits - 1)) - 1);

    if (bits == 32)
        return value;
    if (has_sign)
        return (uint32_t)(s > most ? most : s < -most - 1 ? -most - 1 : s);
    return value > 2 * (uint32_t)most + 1 ? 2 * (uint32_t)most + 1 : value;
}

void texel_store(const struct texel_format *f, unsigned char *at,
                 const uint32_t in[TEXTURE_CHANNELS], unsigned given)
{
    for (unsigned i = 0; i < f->channels; i++) {
        uint32_t v = i < given ? in[i] : 0;

        if (f->kind == TEXEL_FLOAT && f->bits == 16)
            v = cut_to_half(v);
        else if (f->kind == TEXEL_UNORM || f->kind == TEXEL_SNORM)
            v = to_fixed(texel_as_float(v), f->kind == TEXEL_SNORM, f->bits);
        else if (f->kind != TEXEL_FLOAT)
            v = saturated(v, f->kind == TEXEL_SIGNED, f->bits);
        memcpy(at + (size_t)i * (f->bits / 8), &v, f->bits / 8);
    }
}
