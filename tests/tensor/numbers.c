/* SPDX-License-Identifier: MIT */
#include "numbers.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "floats.h"

static const struct type_info {
    const char *name;
    unsigned bits;
} types[] = {
    [F16] = {"f16", 16}, [BF16] = {"bf16", 16}, [TF32] = {"tf32", 32},
    [F64] = {"f64", 64}, [F32] = {"f32", 32},   [S8] = {"s8", 8},
    [U8] = {"u8", 8},    [S4] = {"s4", 4},      [U4] = {"u4", 4},
    [B1] = {"b1", 1},    [E4M3] = {"e4m3", 8},  [E5M2] = {"e5m2", 8},
    [S32] = {"s32", 32},
};

const char *type_name(enum type t)
{
    return types[t].name;
}

unsigned type_bits(enum type t)
{
    return types[t].bits;
}

unsigned type_register(enum type t)
{
    return types[t].bits == 64 ? 64 : 32;
}

unsigned type_each(enum type t)
{
    return type_register(t) / types[t].bits;
}

const char *register_type(enum type t)
{
    return t == F64 ? "f64" : t == F32 ? "f32" : "b32";
}

double real(enum type t, uint64_t v)
{
    double x;

    switch (t) {
    case F16:
        return half_decode((uint32_t)v);
    case BF16:
        return single_decode((uint32_t)v << 16);
    case TF32:
        return single_decode((uint32_t)v & 0xffffe000);
    case F32:
        return single_decode((uint32_t)v);
    case E4M3:
        return float_decode((uint32_t)v, 4, 3, 0);
    case E5M2:
        return float_decode((uint32_t)v, 5, 2, 1);
    default:
        memcpy(&x, &v, 8);
        return x;
    }
}

int64_t integer(enum type t, uint64_t v)
{
    switch (t) {
    case S8:
        return (int8_t)v;
    case S4:
        return (int8_t)(v << 4) >> 4;
    case S32:
        return (int32_t)v;
    default:
        return (int64_t)v;
    }
}

uint64_t from_real(enum type t, double x)
{
    uint64_t bits;

    if (t == F16)
        return half_encode(x);
    if (t == F32)
        return single_encode((float)x);
    memcpy(&bits, &x, 8);
    return bits;
}

uint64_t random_bits(void)
{
    static uint64_t x = 88172645463325252u;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x * UINT64_C(0x2545f4914f6cdd1d);
}

uint64_t random_element(enum type t, unsigned round)
{
    const uint64_t r = random_bits() >> 11;
    const double x = ((double)(r >> 12) * 0x1p-41 * 2 - 1) *
                     (round % 4 == 1 ? ldexp(1, (int)(r % 24) - 12) : 1);
    uint64_t bits;

    if (round % 4 == 3 || types[t].bits < 16 || t == S32)
        return random_bits();
    if (round % 8 == 2) /* small whole numbers: sums are exact */
        return t == F16    ? half_encode((double)(int)(r % 17) - 8)
               : t == F64  ? 0x4000000000000000u + (r % 8 << 49)
               : t == BF16 ? single_encode((float)(int)(r % 17) - 8) >> 16
                           : single_encode((float)(int)(r % 17) - 8);
    if (t == F16)
        return half_encode(x);
    if (t == BF16)
        return single_encode((float)x) >> 16;
    if (t == TF32 || t == F32)
        return single_encode((float)x);
    memcpy(&bits, &x, 8);
    return bits;
}

size_t put(char *text, size_t at, size_t size, const char *format, ...)
{
    va_list list;
    int n;

    va_start(list, format);
    n = vsnprintf(text + at, size - at, format, list);
    va_end(list);
    if (n < 0 || (size_t)n >= size - at)
        abort();
    return at + (size_t)n;
}
