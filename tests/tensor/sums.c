/* SPDX-License-Identifier: MIT
 *
 * Sums of products as an H200 takes them, in double precision, which holds
 * every step of it exactly.
 */
#include "sums.h"

#include <math.h>
#include <string.h>

#include "floats.h"

enum { MOST = 64 };

struct summand {
    double value;
    int exponent;
};

/* v's exponent; below `least` there is none. */
static int exponent(double v, int least)
{
    int e;

    frexp(v, &e);
    return e - 1 < least ? least : e - 1;
}

/* Summands cut to multiples of 2^-25 of the largest one's power of two. */
static double aligned(const struct summand *s, unsigned count)
{
    double sum = 0, unit;
    int most = -133; /* nothing smaller than 2^-158 is kept */

    for (unsigned i = 0; i < count; i++)
        if (s[i].value != 0 && s[i].exponent > most)
            most = s[i].exponent;
    unit = ldexp(1, most - 25);
    for (unsigned i = 0; i < count; i++)
        sum += trunc(s[i].value / unit);
    return sum * unit;
}

static double cut_to_single(double x)
{
    float f = (float)x;

    if (isfinite(f) && fabs((double)f) > fabs(x))
        f = nextafterf(f, 0);
    return f == 0 ? 0 : (double)f;
}

static double to_half(double x)
{
    return half_decode(half_encode(x));
}

/* One block on top of `sum`. */
static double add_block(enum type d, const struct summand *p, unsigned count,
                        double sum)
{
    const int least = d == F16 ? -14 : -126;
    struct summand s[MOST + 1];

    if (isinf(sum))
        return sum;
    memcpy(s, p, count * sizeof *p);
    s[count].value = sum;
    s[count].exponent = exponent(sum, least);
    sum = aligned(s, count + 1);
    return d == F16 ? sum : cut_to_single(sum);
}

static uint64_t by_bytes(enum type d, const struct summand *p, unsigned k,
                         double c)
{
    struct summand part[MOST];
    double sum = 0;

    for (unsigned which = 0; which < 4; which += 2) {
        unsigned count = 0;

        for (unsigned i = 0; i < k; i++)
            if ((i & 2) == which)
                part[count++] = p[i];
        sum = add_block(d, part, count, sum);
        if (d == F16)
            sum = to_half(sum);
    }
    return from_real(d, d == F16 ? c + sum : (double)((float)c + (float)sum));
}

uint64_t sum_floats(enum type d, enum type a, enum type b, unsigned k,
                    const uint64_t *x, const uint64_t *y, double c,
                    unsigned block)
{
    const int least = a == BF16 || a == TF32 ? -126 : -14;
    struct summand p[MOST];
    const int bytes = a == E4M3 || a == E5M2; /* C is added at their end */
    int finite = bytes || isfinite(c);
    double sum = c;

    for (unsigned i = 0; i < k; i++) {
        const double v = real(a, x[i]), w = real(b, y[i]);

        p[i].value = v * w;
        p[i].exponent = exponent(v, least) + exponent(w, least);
        finite = finite && isfinite(v) && isfinite(w);
        sum += v * w;
    }
    if (!finite)
        return from_real(d, sum);
    if (bytes)
        return by_bytes(d, p, k, c);
    sum = c;
    if (!block)
        block = k;
    for (unsigned i = 0; i < k; i += block)
        sum = add_block(d, p + i, block, sum);
    if (d == F16)
        return half_encode(sum) & 0x7fff ? half_encode(sum) : 0;
    return from_real(d, sum);
}
