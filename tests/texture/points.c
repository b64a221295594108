/* SPDX-License-Identifier: MIT
 *
 * Where cases look, and what is there: all from the case's own name, so that
 * two programs mean the same.
 */
#include <math.h>
#include <string.h>

#include "texture.h"

uint64_t points_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static uint64_t seed_of(const char *name)
{
    uint64_t h = 14695981039346656037u;

    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 1099511628211u;
    return h | 1;
}

static uint32_t bits_of(float f)
{
    uint32_t u;

    memcpy(&u, &f, sizeof u);
    return u;
}

static double unit(uint64_t *state)
{
    return (double)(points_random(state) >> 11) * 0x1p-53;
}

static const uint32_t specials[] = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000,
    0x7f800000, 0xff800000, 0x7fc00000, 0x7fffffff, 0xffc00001, 0x7f800001,
    0x7f7fffff, 0xff7fffff, 0x4f000000, 0xcf000000, 0x4f800000, 0x5f000000,
    0x4b000000, 0x4b800000, 0xcb800001, 0x47000000, 0xc7000080, 0x3f7fffff,
    0x3f800000, 0x3f800001, 0x33800000, 0xb3800000, 0x2b800000, 0x3b000000};
enum { SPECIALS = sizeof specials / sizeof *specials };

/* Candidate i of a coordinate along a dimension of n texels. */
static uint32_t edge(unsigned i, unsigned n, int normalized)
{
    const unsigned halves = 2 * (2 * n + 6);
    float f;
    uint32_t u;

    if (i < SPECIALS)
        return specials[i];
    i -= SPECIALS;
    if (i >= 3 * halves)
        return UINT32_MAX;
    f = (float)(i / 3) / 2 - (float)(n / 2 + 3);
    if (normalized)
        f = f / (float)n;
    u = bits_of(f);
    if (i % 3 && f != 0)
        u += i % 3 == 1 ? 1 : UINT32_MAX;
    return u;
}

static uint32_t anywhere(uint64_t *state, unsigned n, int normalized)
{
    double x;
    uint32_t u;

    switch (points_random(state) % 4) {
    case 0: /* a step of the weights, or half of one */
        x = (double)(points_random(state) % (n * 512 + 1024)) / 512 - 1;
        break;
    case 1: /* far outside */
        x = (unit(state) * 20 - 10) * n;
        break;
    default:
        x = (unit(state) * 3 - 1) * n;
    }
    if (normalized)
        x /= n;
    u = bits_of((float)x);
    return u + (uint32_t)(points_random(state) % 3) - 1;
}

static uint32_t float_coordinate(const struct kase *k, unsigned d, unsigned i,
                                 uint64_t *state)
{
    const int normalized = !!(k->flags & CU_TRSF_NORMALIZED_COORDINATES);
    const unsigned n = k->size[d] ? k->size[d] : 1;
    unsigned count = 0;
    uint32_t u;

    while (edge(count, n, normalized) != UINT32_MAX)
        count++;
    /* each dimension has its turn for the edges */
    if (i / count == d || (!k->size[1] && i < count))
        return edge(i % count, n, normalized);
    u = anywhere(state, n, normalized);
    return u;
}

/* Steps of 1/2048 of a texel from just outside. */
static uint32_t sweep(const struct kase *k, unsigned d, unsigned i,
                      uint64_t *state)
{
    const int normalized = !!(k->flags & CU_TRSF_NORMALIZED_COORDINATES);
    const unsigned n = k->size[d] ? k->size[d] : 1;
    double x;

    if (i < 1024)
        x = (double)i / 512 + (double)(n / 2) - 1;
    else
        x = unit(state) * (n + 2.0) - 1;
    if (d)
        x = unit(state) * (n + 2.0) - 1;
    if (normalized)
        x /= n;
    return bits_of((float)x) + (uint32_t)(points_random(state) % 3) - 1;
}

static uint32_t direction(unsigned d, unsigned i, uint64_t *state)
{
    static const float at[] = {0, 1, -1, 0.5f, -0.5f, 0.25f, 1e-20f, -0.0f};

    if (i < 512)
        return bits_of(at[i >> (3 * d) & 7]);
    return bits_of((float)(unit(state) * 2 - 1));
}

static uint32_t integer(unsigned n, unsigned i, uint64_t *state)
{
    static const int32_t far[] = {INT32_MIN, INT32_MAX, -1000000, 1 << 27,
                                  1 << 28,   -65536,    65536,    1 << 20};

    if (i < 2 * n + 8)
        return (uint32_t)((int)i - (int)(n / 2) - 4);
    if (i < 2 * n + 16)
        return (uint32_t)far[i - 2 * n - 8];
    return (uint32_t)(points_random(state) % (2 * n + 2)) - n / 2 - 1;
}

static uint32_t coordinate(const struct kase *k, unsigned d, unsigned i,
                           uint64_t *state)
{
    const unsigned n = k->size[d] ? k->size[d] : 1;

    switch (k->points) {
    case SWEEP:
        return sweep(k, d, i, state);
    case DIRECTIONS:
        return direction(d, i, state);
    case INTEGERS:
        return integer(n, d ? UINT32_MAX >> 1 : i, state);
    case BYTES:
        if (d == 0)
            return (uint32_t)(points_random(state) %
                              (2 * n * points_texel_bytes(k) / k->step + 4)) *
                       k->step -
                   k->step * 3;
        return integer(n, UINT32_MAX >> 1, state);
    default:
        return float_coordinate(k, d, i, state);
    }
}

void points_make(const struct kase *k, uint32_t *out)
{
    uint64_t state = seed_of(k->name);

    for (unsigned i = 0; i < k->count; i++) {
        uint32_t *p = out + (size_t)i * POINT_WORDS;

        p[0] = (uint32_t)(points_random(&state) % (k->layers + 3)) - 1;
        for (unsigned d = 0; d < 3; d++)
            p[1 + d] = coordinate(k, d, i, &state);
        for (unsigned j = 4; j < POINT_WORDS; j++)
            p[j] = (uint32_t)points_random(&state);
        if (strstr(k->kernel, "offset"))
            for (unsigned j = 4; j < POINT_WORDS; j++)
                p[j] = p[j] % 16 - 8;
        /* floats that fixed-point channels can tell apart */
        if (strstr(k->kernel, "sustp") &&
            (k->format == CU_AD_FORMAT_FLOAT ||
             k->format == CU_AD_FORMAT_HALF ||
             k->format >= CU_AD_FORMAT_UNORM_INT8X1))
            for (unsigned j = 4; j < POINT_WORDS; j++)
                p[j] = i < SPECIALS ? specials[i]
                                    : bits_of((float)(unit(&state) * 3 - 1.5));
    }
}

/* --- texels --- */

unsigned points_texel_bytes(const struct kase *k)
{
    switch (k->format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
        return k->channels;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
        return 2 * k->channels;
    default:
        break;
    }
    if (k->format >= CU_AD_FORMAT_UNORM_INT8X1 &&
        k->format <= CU_AD_FORMAT_SNORM_INT16X4)
        return ((k->format - CU_AD_FORMAT_UNORM_INT8X1) / 3 % 2 + 1) *
               k->channels;
    return 4 * k->channels;
}

static uint16_t to_half(float f)
{
    const uint32_t u = bits_of(f), m = u & 0x7fffffff;
    const uint16_t sign = (uint16_t)(u >> 16 & 0x8000);

    if (m < 0x38800000)
        return sign;
    return (uint16_t)(sign | ((m - 0x38000000) >> 13));
}

static const uint32_t special_floats[] = {
    0x7f800000, 0xff800000, 0x7fc12345, 0x00000001, 0x807fffff, 0x7f7fffff,
    0xff7fffff, 0x3f800000, 0x00800000, 0x80000000, 0x00000000, 0xbf800000};
static const uint16_t special_halves[] = {0x7c00, 0xfc00, 0x7e12, 0x0001,
                                          0x83ff, 0x7bff, 0xfbff, 0x3c00,
                                          0x0400, 0x8000, 0x0000, 0xbc00};

static float content(const struct kase *k, size_t i, uint64_t *state)
{
    const size_t texel = i / k->channels;
    const size_t w = k->size[0], h = k->size[1] ? k->size[1] : 1;
    const size_t x = texel % w, y = texel / w % h, z = texel / w / h;

    switch (k->content) {
    case RAMP:
        return (float)(x + 32 * y * (k->size[1] != 0) + 1024 * z);
    case ONE:
        return x == w / 2 && y == h / 2 &&
                       z == (k->size[2] ? k->size[2] / 2 : 0)
                   ? 1
                   : 0;
    default:
        return (float)(unit(state) * 4 - 2);
    }
}

void points_texels(const struct kase *k, unsigned char *out, size_t bytes)
{
    const unsigned each = points_texel_bytes(k) / k->channels;
    const int floats =
        k->format == CU_AD_FORMAT_FLOAT || k->format == CU_AD_FORMAT_HALF;
    uint64_t state = seed_of(k->name) ^ 0x5555;

    for (size_t i = 0; i < bytes / each; i++) {
        uint64_t r = points_random(&state);

        if (floats && k->content != RANDOM_BITS) {
            const float f = content(k, i, &state);

            r = each == 4 ? bits_of(f) : to_half(f);
        }
        if (k->content == COUNT)
            r = i / k->channels + i % k->channels * 64;
        if (k->content == SCALES)
            r = each == 4
                    ? ((r & 0x807fffff) |
                       (uint32_t)(100 + (r >> 32) % (k->step ? 12 : 36)) << 23)
                    : ((r & 0x83ff) |
                       (uint32_t)(4 + (r >> 32) % (k->step ? 8 : 26)) << 10);
        if (k->content == SPECIAL)
            r = each == 4 ? special_floats[i / k->channels % 12]
                          : special_halves[i / k->channels % 12];
        memcpy(out + i * each, &r, each);
    }
}
