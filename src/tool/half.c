/* SPDX-License-Identifier: MIT */
#include "tool/half.h"

#include <math.h>

/* Digits of the significand, the first one included, and the exponent of the
 * smallest normal number. */
static const struct {
    int digits;
    int least;
    uint16_t infinite;
} formats[] = {
    [HALF_F16] = {11, -14, 0x7c00},
    [HALF_BF16] = {8, -126, 0x7f80},
};

uint16_t half_of(enum half_format format, double v)
{
    int digits = formats[format].digits, exponent;
    uint16_t sign = signbit(v) ? 0x8000 : 0;
    uint16_t infinite = formats[format].infinite;
    double bits;

    v = fabs(v);
    if (isnan(v))
        return (uint16_t)(sign | infinite | 1u << (digits - 2));
    if (isinf(v))
        return sign | infinite;
    if (v == 0) /* has no exponent */
        return sign;
    frexp(v, &exponent);
    exponent--;
    if (exponent < formats[format].least)
        exponent = formats[format].least;
    /* In units of the last place; a carry into the exponent is right. */
    bits = nearbyint(scalbn(v, digits - 1 - exponent)) +
           scalbn(exponent - formats[format].least, digits - 1);
    return (uint16_t)(sign | (bits < infinite ? (uint16_t)bits : infinite));
}

double half_value(enum half_format format, uint16_t bits)
{
    int digits = formats[format].digits;
    unsigned magnitude = bits & 0x7fffu;
    unsigned exponent = magnitude >> (digits - 1);
    unsigned rest = magnitude & ((1u << (digits - 1)) - 1);
    double v;

    if (magnitude > formats[format].infinite)
        v = NAN;
    else if (magnitude == formats[format].infinite)
        v = INFINITY;
    else if (!exponent)
        v = scalbn(rest, formats[format].least - digits + 1);
    else
        v = scalbn(rest | 1u << (digits - 1),
                   (int)exponent - 1 + formats[format].least - digits + 1);
    return bits & 0x8000 ? -v : v;
}
