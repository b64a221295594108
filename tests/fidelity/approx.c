/* SPDX-License-Identifier: MIT
 *
 * Approximations: the error of one result in units of what the PTX ISA (9.7.3,
 * 9.7.4) allows, against double precision. Infinities, zeros and NaN are
 * exact.
 */
#include <math.h>
#include <string.h>

#include "fidelity.h"

enum { WRONG = 1000 };

static double single(uint64_t bits)
{
    uint32_t v = (uint32_t)bits;
    float f;

    memcpy(&f, &v, 4);
    return (double)f;
}

static double wide(uint64_t bits)
{
    double d;

    memcpy(&d, &bits, 8);
    return d;
}

static double half(uint64_t v, int is_bfloat)
{
    const int sign = v >> 15 & 1, e = (int)(v >> 10 & 31);
    double x;

    if (is_bfloat)
        return single(v << 16);
    if (e == 31)
        x = v & 0x3ff ? NAN : INFINITY;
    else if (e)
        x = ldexp((double)(v & 0x3ff) + 1024, e - 25);
    else
        x = ldexp((double)(v & 0x3ff), -24);
    return sign ? -x : x;
}

static int has(const struct fid_case *c, const char *modifier)
{
    return strstr(c->name, modifier) != NULL;
}

/* The place value of f32's last bit at |x|; subnormals share one. */
static double ulp(double x)
{
    int e = x == 0 ? -126 : ilogb(x);

    return ldexp(1, (e < -126 ? -126 : e) - 23);
}

/* 1: the value is special and *error says whether it is right. */
static int special(double got, double want, double *error)
{
    if (isnan(want) || isnan(got)) {
        *error = isnan(want) && isnan(got) ? 0 : WRONG;
        return 1;
    }
    if (isinf(want)) {
        *error = got == want ? 0 : WRONG;
        return 1;
    }
    if (want == 0) {
        *error = got == 0 && !signbit(got) == !signbit(want) ? 0 : WRONG;
        return 1;
    }
    return 0;
}

static double flushed(const struct fid_case *c, double x)
{
    return has(c, ".ftz") && fabs(x) < 0x1p-126 ? copysign(0, x) : x;
}

/* Results that .ftz makes zero; near the least normal number either. */
static int tiny(const struct fid_case *c, double got, double want)
{
    return has(c, ".ftz") && fabs(want) < 0x1.00001p-126 &&
           (got == 0 || fabs(got) == 0x1p-126 || fabs(got) > 0x1.fffffp-127);
}

static double ulps(const struct fid_case *c, double got, double want,
                   double most)
{
    double error;

    /* The largest number is within an ulp of what first overflows. */
    if (fabs(want) < 0x1.000002p128 && fabs(got) == 0x1.fffffep127)
        want = fabs(want) > fabs(got) ? got : want;
    if (fabs(want) >= 0x1.ffffffp127)
        want = copysign(INFINITY, want);
    if (special(got, want, &error))
        return error;
    if (tiny(c, got, want) || (isinf(got) && fabs(want) > 0x1.fffffcp127))
        return 0;
    return fabs(got - want) / ulp(want) / most;
}

static double relative(const struct fid_case *c, double got, double want,
                       double most)
{
    double error, off;

    if (special(got, want, &error))
        return error;
    if (tiny(c, got, want))
        return 0;
    /* What f32 cannot hold more exactly is not an error. */
    off = fabs(got - want);
    return off <= ulp(want) / 2 ? 0 : off / fabs(want) / most;
}

static double ex2(const struct fid_case *c, const uint64_t *in, uint64_t got)
{
    return ulps(c, single(got), exp2(flushed(c, single(in[0]))), 2);
}

static double lg2(const struct fid_case *c, const uint64_t *in, uint64_t got)
{
    const double x = flushed(c, single(in[0])), want = log2(x);
    double error;

    if (x > 0.5 && x < 2) {
        if (special(single(got), want, &error))
            return error;
        return fabs(single(got) - want) / 0x1p-22;
    }
    return relative(c, single(got), want, 0x1p-22);
}

static double trigonometric(const struct fid_case *c, const uint64_t *in,
                            uint64_t bits)
{
    const double x = flushed(c, single(in[0])), got = single(bits), a = fabs(x);
    const double want = has(c, "sin") ? sin(x) : cos(x);
    double error;

    if (special(got, want, &error))
        return error;
    if (a <= 2 * M_PI)
        return fabs(got - want) / exp2(-20.5);
    if (a <= 100 * M_PI)
        return fabs(got - want) / exp2(-14.7);
    return 0; /* nothing is promised */
}

static double rcp(const struct fid_case *c, const uint64_t *in, uint64_t got)
{
    return ulps(c, single(got), 1 / flushed(c, single(in[0])), 1);
}

static double square_root(const struct fid_case *c, const uint64_t *in,
                          uint64_t got)
{
    return relative(c, single(got), sqrt(flushed(c, single(in[0]))), 0x1p-23);
}

static double rsqrt(const struct fid_case *c, const uint64_t *in, uint64_t got)
{
    return relative(c, single(got), 1 / sqrt(flushed(c, single(in[0]))),
                    exp2(-22.9));
}

static double quotient(const struct fid_case *c, const uint64_t *in,
                       uint64_t bits)
{
    const double a = flushed(c, single(in[0])), b = flushed(c, single(in[1]));
    const double got = single(bits);

    if (has(c, ".approx") && fabs(b) > 0x1p126 && !isinf(b) && !isnan(b)) {
        double error = WRONG;

        special(got, isinf(a) ? NAN : a * copysign(0, b), &error);
        return error;
    }
    /* Below the least normal divisor nothing is promised. */
    if (has(c, ".approx") && b != 0 && fabs(b) < 0x1p-126)
        return 0;
    return ulps(c, got, a / b, 2);
}

static double tangent(const struct fid_case *c, const uint64_t *in,
                      uint64_t got)
{
    return relative(c, single(got), tanh(single(in[0])), 0x1p-11);
}

static double half_error(const struct fid_case *c, double v, double got,
                         int is_bfloat)
{
    const double most = has(c, "tanh") ? (is_bfloat ? exp2(-8) : exp2(-10.987))
                        : is_bfloat    ? exp2(-7)
                                       : exp2(-9.9);
    const double least = is_bfloat ? 0x1p-126 : 0x1p-14;
    double want = has(c, "tanh") ? tanh(v) : exp2(v), error;

    if (want >= (is_bfloat ? 0x1.ffp127 : 65520))
        want = INFINITY;
    if (special(got, want, &error))
        return error;
    if (has(c, ".ftz") && fabs(want) < least && got == 0)
        return 0;
    if (fabs(want) < least) /* places of the least normal number */
        return fabs(got - want) / (least * most * 2);
    return fabs(got - want) / fabs(want) / most;
}

static double halves(const struct fid_case *c, const uint64_t *in,
                     uint64_t bits)
{
    const int is_bfloat = has(c, "bf16");
    double worst = 0;

    for (unsigned h = 0; h < (has(c, "16x2") ? 2u : 1u); h++) {
        double v = half(in[0] >> 16 * h & 0xffff, is_bfloat), error;

        if (is_bfloat)
            v = flushed(c, v);
        error = half_error(c, v, half(bits >> 16 * h & 0xffff, is_bfloat),
                           is_bfloat);
        worst = error > worst ? error : worst;
    }
    return worst;
}

/* rsqrt of f64 without .ftz: two units of the last place, which is what CUDA's
 * rsqrt() of doubles is made of. */
static double f64_rsqrt(const struct fid_case *c, const uint64_t *in,
                        uint64_t got)
{
    const double want = 1 / sqrt(wide(in[0]));
    double error;

    (void)c;
    if (special(wide(got), want, &error))
        return error;
    return fabs(wide(got) - want) / fabs(want) / 0x1p-51;
}

/* f64: 20 bits, the lower half of the result zero. */
static double f64_approx(const struct fid_case *c, const uint64_t *in,
                         uint64_t got)
{
    double x = wide(in[0] & ~UINT64_C(0xffffffff)), want, error;

    if (has(c, ".ftz") && fabs(x) < 0x1p-1022)
        x = copysign(0, x);
    want = has(c, "rsqrt") ? 1 / sqrt(x) : 1 / x;
    if (has(c, ".ftz") && fabs(want) < 0x1p-1022)
        want = copysign(0, want);
    if (special(wide(got), want, &error))
        return error;
    return fabs(wide(got) - want) / fabs(want) / 0x1p-20;
}

fid_error *fid_approximation(const char *name)
{
    static const struct {
        const char *start, *type;
        fid_error *error;
    } table[] = {
        {"rsqrt.approx.f64", "", f64_rsqrt},
        {"ex2.approx", "f16", halves},
        {"tanh.approx", "f16", halves},
        {"rcp.approx", "f64", f64_approx},
        {"rsqrt.approx", "f64", f64_approx},
        {"ex2.approx", "", ex2},
        {"lg2.approx", "", lg2},
        {"sin.approx", "", trigonometric},
        {"cos.approx", "", trigonometric},
        {"rcp.approx", "", rcp},
        {"sqrt.approx", "", square_root},
        {"rsqrt.approx", "", rsqrt},
        {"div.approx", "", quotient},
        {"div.full", "", quotient},
        {"tanh.approx", "", tangent},
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strncmp(name, table[i].start, strlen(table[i].start)) &&
            strstr(name, table[i].type))
            return table[i].error;
    return NULL;
}
