/* SPDX-License-Identifier: MIT
 *
 * Initial contents of buffers, any piece of them at any time.
 *
 * rand is a function of (seed, index) alone, so that every device, piece size
 * and order gives the same: output number index+1 of splitmix64 started at
 * seed. An integer takes its top bits; f32 the top 24, f64 the top 53, f16
 * the top 11 and bf16 the top 8 bits as a fraction in [0, 1).
 */
#include <string.h>

#include "tool/argument.h"

static uint64_t random_at(uint64_t seed, uint64_t index)
{
    uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

#define WHOLE(bits)                                                            \
    static void iota_##bits(uint64_t first, size_t n, uint##bits##_t *to)      \
    {                                                                          \
        for (size_t i = 0; i < n; i++)                                         \
            to[i] = (uint##bits##_t)(first + i);                               \
    }                                                                          \
    static void rand_##bits(uint64_t seed, uint64_t first, size_t n,           \
                            uint##bits##_t *to)                                \
    {                                                                          \
        for (size_t i = 0; i < n; i++)                                         \
            to[i] =                                                            \
                (uint##bits##_t)(random_at(seed, first + i) >> (64 - bits));   \
    }
WHOLE(8)
WHOLE(16)
WHOLE(32)
WHOLE(64)

static void iota_float(uint64_t first, size_t n, float *to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (float)(int64_t)(first + i);
}

static void iota_double(uint64_t first, size_t n, double *to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (double)(int64_t)(first + i);
}

static void rand_float(uint64_t seed, uint64_t first, size_t n, float *to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (float)(random_at(seed, first + i) >> 40) * 0x1p-24f;
}

static void rand_double(uint64_t seed, uint64_t first, size_t n, double *to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (double)(random_at(seed, first + i) >> 11) * 0x1p-53;
}

static void iota_half(enum half_format format, uint64_t first, size_t n,
                      uint16_t *to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = half_of(format, (double)(int64_t)(first + i));
}

/* All fractions of as many bits as the type has digits. */
static void rand_half(enum half_format format, uint64_t seed, uint64_t first,
                      size_t n, uint16_t *to)
{
    int digits = format == HALF_F16 ? 11 : 8;

    for (size_t i = 0; i < n; i++)
        to[i] = half_of(format,
                        (double)(random_at(seed, first + i) >> (64 - digits)) /
                            (1 << digits));
}

static void fill_iota(const struct element_type *t, uint64_t first, size_t n,
                      void *to)
{
    if (t->number == NUMBER_FLOAT && t->size == 2)
        iota_half(half_format_of(t), first, n, to);
    else if (t->number == NUMBER_FLOAT)
        t->size == 4 ? iota_float(first, n, to) : iota_double(first, n, to);
    else if (t->size == 1)
        iota_8(first, n, to);
    else if (t->size == 2)
        iota_16(first, n, to);
    else if (t->size == 4)
        iota_32(first, n, to);
    else
        iota_64(first, n, to);
}

static void fill_rand(const struct element_type *t, uint64_t seed,
                      uint64_t first, size_t n, void *to)
{
    if (t->number == NUMBER_FLOAT && t->size == 2)
        rand_half(half_format_of(t), seed, first, n, to);
    else if (t->number == NUMBER_FLOAT)
        t->size == 4 ? rand_float(seed, first, n, to)
                     : rand_double(seed, first, n, to);
    else if (t->size == 1)
        rand_8(seed, first, n, to);
    else if (t->size == 2)
        rand_16(seed, first, n, to);
    else if (t->size == 4)
        rand_32(seed, first, n, to);
    else
        rand_64(seed, first, n, to);
}

void argument_fill(const struct argument *a, uint64_t first, size_t n, void *to)
{
    size_t size = a->type->size;

    if (a->init == INIT_IOTA) {
        fill_iota(a->type, first, n, to);
    } else if (a->init == INIT_RAND) {
        fill_rand(a->type, a->seed, first, n, to);
    } else if (a->init == INIT_CONST && n) {
        size_t done = size;

        memcpy(to, a->constant, size);
        for (; done < n * size; done *= 2)
            memcpy((char *)to + done, to,
                   done < n * size - done ? done : n * size - done);
    } else {
        memset(to, 0, n * size);
    }
}
