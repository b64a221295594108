/* SPDX-License-Identifier: MIT
 *
 * The fixed table of what an object may call, and the 16-bit float helpers
 * that the C library does not have. Conversions round once, to nearest even,
 * from the source's full precision.
 */
#include "cpu/object/symbols.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* libgcc's; declared with the type that its callers use */
typedef __int128 wide;
typedef unsigned __int128 uwide;
uwide __udivti3(uwide a, uwide b);
uwide __umodti3(uwide a, uwide b);
wide __divti3(wide a, wide b);
wide __modti3(wide a, wide b);

static double round_even(double v)
{
    /* kernels run rounding to nearest even */
    return nearbyint(v);
}

static float round_even_f(float v)
{
    return nearbyintf(v);
}

static float half_bits_to_float(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t exponent = (half >> 10) & 31u;
    uint32_t fraction = half & 0x3ffu;
    uint32_t bits;
    float f;

    if (exponent == 31) {
        /* a signalling NaN becomes quiet, as vcvtph2ps does it */
        bits = 0x7f800000u | fraction << 13 | (fraction ? 0x400000u : 0);
    } else if (exponent) {
        bits = (exponent + 112) << 23 | fraction << 13;
    } else if (fraction) {
        exponent = 113;
        while (!(fraction & 0x400u)) {
            fraction <<= 1;
            exponent--;
        }
        bits = exponent << 23 | (fraction & 0x3ffu) << 13;
    } else {
        bits = 0;
    }
    bits |= sign;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* Round a double to a format of `fraction` stored bits and exponents from
 * emin (normal) to emax; 16 bits in all. */
static uint16_t narrow(double v, int fraction, int emin, int emax)
{
    const int exponent_ones = (1 << (15 - fraction)) - 1;
    uint64_t bits;
    uint64_t mantissa;
    uint64_t half;
    uint64_t rest;
    int exponent;
    int shift = 52 - fraction;
    uint16_t sign;

    memcpy(&bits, &v, sizeof bits);
    sign = (uint16_t)(bits >> 48 & 0x8000u);
    exponent = (int)(bits >> 52 & 0x7ffu);
    mantissa = bits & 0xfffffffffffffu;
    if (exponent == 0x7ff) {
        if (mantissa)
            mantissa = mantissa >> shift | (uint64_t)1 << (fraction - 1);
        return (uint16_t)(sign | (uint64_t)exponent_ones << fraction |
                          mantissa);
    }
    if (!exponent)
        return sign; /* far below either format's smallest */
    exponent -= 1023;
    mantissa |= (uint64_t)1 << 52;
    if (exponent < emin)
        shift += emin - exponent;
    if (shift > 54)
        return sign;
    half = (uint64_t)1 << (shift - 1);
    rest = mantissa & ((half << 1) - 1);
    mantissa >>= shift;
    if (rest > half || (rest == half && (mantissa & 1)))
        mantissa++;
    /* a carry walks into the exponent, which is what it should do */
    if (exponent >= emin)
        mantissa += (uint64_t)(exponent - emin) << fraction;
    if (exponent > emax || mantissa >= (uint64_t)exponent_ones << fraction)
        mantissa = (uint64_t)exponent_ones << fraction;
    return (uint16_t)(sign | mantissa);
}

static uint16_t float_to_half_bits(float v)
{
    return narrow((double)v, 10, -14, 15);
}

static float in_register(uint16_t bits16)
{
    const uint32_t bits = bits16;
    float f;

    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint16_t out_of_register(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)bits;
}

static float half_to_float(float half)
{
    return half_bits_to_float(out_of_register(half));
}

static double half_to_double(float half)
{
    return (double)half_bits_to_float(out_of_register(half));
}

static float float_to_half(float v)
{
    return in_register(float_to_half_bits(v));
}

static float double_to_half(double v)
{
    return in_register(narrow(v, 10, -14, 15));
}

static float float_to_bfloat(float v)
{
    return in_register(narrow((double)v, 7, -126, 127));
}

static float double_to_bfloat(double v)
{
    return in_register(narrow(v, 7, -126, 127));
}

struct symbol {
    const char *name;
    void (*function)(void);
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-function-type"
#define X(name, function) {name, (void (*)(void))(function)},
static const struct symbol symbols[] = {
#include "cpu/object/symbols.def"
};
#undef X
#pragma GCC diagnostic pop

uint64_t symbols_find(const char *name)
{
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++)
        if (strcmp(symbols[i].name, name) == 0)
            return (uint64_t)(uintptr_t)symbols[i].function;
    return 0;
}
