/* SPDX-License-Identifier: MIT */
#include "floats.h"

#include <math.h>
#include <string.h>

double float_decode(uint32_t bits, int exponent, int mantissa, int ieee)
{
    const uint32_t e = bits >> mantissa & ((1u << exponent) - 1);
    const uint32_t m = bits & ((1u << mantissa) - 1);
    const int bias = (1 << (exponent - 1)) - 1;
    double x;

    if (e == (1u << exponent) - 1 && (ieee || m == (1u << mantissa) - 1))
        x = m ? NAN : INFINITY;
    else if (e)
        x = ldexp((double)(m | 1u << mantissa), (int)e - bias - mantissa);
    else
        x = ldexp((double)m, 1 - bias - mantissa);
    return bits >> (exponent + mantissa) & 1 ? -x : x;
}

double half_decode(uint32_t bits)
{
    return float_decode(bits, 5, 10, 1);
}

uint32_t half_encode(double x)
{
    const uint32_t sign = signbit(x) ? 0x8000 : 0;
    int e;
    double m;

    if (isnan(x))
        return 0x7fff;
    x = fabs(x);
    if (x >= 65520)
        return sign | 0x7c00;
    if (x < 0x1p-14)
        return sign | (uint32_t)nearbyint(x * 0x1p24);
    m = frexp(x, &e); /* [0.5, 1) */
    /* carries into the exponent by itself */
    return sign | (((uint32_t)(e + 13) << 10) + (uint32_t)nearbyint(m * 2048));
}

double single_decode(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, 4);
    return (double)x;
}

uint32_t single_encode(float x)
{
    uint32_t bits;

    if (isnan(x))
        return 0x7fffffff;
    memcpy(&bits, &x, 4);
    return bits;
}
