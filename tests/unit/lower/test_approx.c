/* SPDX-License-Identifier: MIT
 *
 * The approximations against double precision, over all exponents: each within
 * what the ISA allows, special values exact.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "harness.h"
#include "soft.h"

static double as_double(uint64_t bits, const struct soft_format *f)
{
    double d;
    uint64_t wide = soft_pack(soft_unpack(bits, f), &SOFT_F64, SOFT_RN);
    memcpy(&d, &wide, 8);
    return d;
}

static double single(uint64_t bits)
{
    uint32_t v = (uint32_t)bits;
    float f;
    memcpy(&f, &v, 4);
    return (double)f;
}

/* The place value of f32's last bit at |x|; subnormals share one. */
static double ulp(double x)
{
    int e = x == 0 ? -126 : ilogb(x);
    return ldexp(1, (e < -126 ? -126 : e) - 23);
}

enum { WRONG = 1000 };

/* Exact for infinities, zeros and NaN. */
static int special(double got, double want, double *error)
{
    if (isnan(want)) {
        *error = isnan(got) ? 0 : WRONG;
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
    if (isnan(got)) {
        *error = WRONG;
        return 1;
    }
    return 0;
}

static double flushed(const struct form *f, double x)
{
    return form_has(f, ".ftz") && fabs(x) < 0x1p-126 ? copysign(0, x) : x;
}

/* Results that .ftz makes zero; near the least normal number either. */
static int tiny(const struct form *f, double got, double want)
{
    return form_has(f, ".ftz") && fabs(want) < 0x1.00001p-126 &&
           (got == 0 || fabs(got) == 0x1p-126 || fabs(got) > 0x1.fffffp-127);
}

/* An infinite result where the exact one rounds to infinity. */
static double to_single(double x)
{
    return fabs(x) >= 0x1.ffffffp127 ? copysign(INFINITY, x) : x;
}

static double ulps(const struct form *f, double got, double want, double most)
{
    double error;
    /* The largest number is within an ulp of what first overflows. */
    if (fabs(want) < 0x1.000002p128 && fabs(got) == 0x1.fffffep127)
        want = fabs(want) > fabs(got) ? got : want;
    want = to_single(want);
    if (special(got, want, &error))
        return error;
    if (tiny(f, got, want) || (isinf(got) && fabs(want) > 0x1.fffffcp127))
        return 0;
    return fabs(got - want) / ulp(want) / most;
}

static double relative(const struct form *f, double got, double want,
                       double most)
{
    double error;
    if (special(got, want, &error))
        return error;
    if (tiny(f, got, want))
        return 0;
    /* What f32 cannot hold more exactly is not an error. */
    double off = fabs(got - want);
    if (off <= ulp(want) / 2)
        return 0;
    return off / fabs(want) / most;
}

static double ex2(const struct form *f, const uint64_t *in, uint64_t got)
{
    return ulps(f, single(got), exp2(flushed(f, single(in[0]))), 2);
}

static double lg2(const struct form *f, const uint64_t *in, uint64_t got)
{
    double x = flushed(f, single(in[0])), want = log2(x), error;
    if (x > 0.5 && x < 2) {
        if (special(single(got), want, &error))
            return error;
        return fabs(single(got) - want) / 0x1p-22;
    }
    return relative(f, single(got), want, 0x1p-22);
}

static double trigonometric(const struct form *f, const uint64_t *in,
                            uint64_t bits)
{
    double x = flushed(f, single(in[0])), got = single(bits), error;
    double want = form_has(f, "sin") ? sin(x) : cos(x), a = fabs(x);
    if (special(got, want, &error))
        return error;
    if (a <= 2 * M_PI)
        return fabs(got - want) / exp2(-20.5);
    if (a <= 100 * M_PI)
        return fabs(got - want) / exp2(-14.7);
    return fabs(got) <= 1 ? 0 : WRONG;
}

static double rcp(const struct form *f, const uint64_t *in, uint64_t got)
{
    return ulps(f, single(got), 1 / flushed(f, single(in[0])), 1);
}

static double square_root(const struct form *f, const uint64_t *in,
                          uint64_t got)
{
    return relative(f, single(got), sqrt(flushed(f, single(in[0]))), 0x1p-23);
}

static double rsqrt(const struct form *f, const uint64_t *in, uint64_t got)
{
    return relative(f, single(got), 1 / sqrt(flushed(f, single(in[0]))),
                    exp2(-22.9));
}

static double quotient(const struct form *f, const uint64_t *in, uint64_t bits)
{
    double a = flushed(f, single(in[0])), b = flushed(f, single(in[1]));
    double got = single(bits);
    if (form_has(f, ".approx") && fabs(b) > 0x1p126 && !isinf(b) && !isnan(b)) {
        double sign = signbit(b) ? -1 : 1, error = WRONG;
        special(got, isinf(a) ? NAN : a * (0 * sign), &error);
        return error;
    }
    /* Below the least normal divisor nothing is promised. */
    if (form_has(f, ".approx") && b != 0 && fabs(b) < 0x1p-126)
        return 0;
    return ulps(f, got, a / b, 2);
}

static double tangent(const struct form *f, const uint64_t *in, uint64_t got)
{
    return relative(f, single(got), tanh(single(in[0])), 0x1p-11);
}

/* Halves: the result may be off by what the ISA allows in f32 and by the last
 * rounding. */
static double half_value(const struct form *f, const uint64_t *in,
                         uint64_t bits)
{
    struct form_type t = form_type(f, 0);
    const struct soft_format *k = t.letter == 'g' ? &SOFT_BF16 : &SOFT_F16;
    double worst = 0, most = form_has(f, "tanh")
                                 ? (k == &SOFT_F16 ? exp2(-10.987) : exp2(-8))
                             : k == &SOFT_F16 ? exp2(-9.9)
                                              : exp2(-7);
    for (unsigned h = 0; h < (t.packed ? 2u : 1u); h++) {
        uint64_t x = in[0] >> (16 * h) & 0xffff;
        if (form_has(f, ".ftz"))
            x = soft_flush(x, k);
        double v = as_double(x, k),
               got = as_double(bits >> (16 * h) & 0xffff, k);
        double want = form_has(f, "tanh") ? tanh(v) : exp2(v), error;
        double top = k == &SOFT_F16 ? 65520 : 0x1.ffp127;
        double least = k == &SOFT_F16 ? 0x1p-14 : 0x1p-126;
        if (want >= top)
            want = INFINITY;
        if (!special(got, want, &error)) {
            error = fabs(got - want) / fabs(want) / most;
            if (fabs(want) < least) /* places of the least normal number */
                error = fabs(got - want) / (least * most * 2);
            if (form_has(f, ".ftz") && fabs(want) < least && got == 0)
                error = 0;
        }
        if (error > worst)
            worst = error;
    }
    return worst;
}

static double wide(uint64_t bits)
{
    double d;
    memcpy(&d, &bits, 8);
    return d;
}

/* rsqrt of f64 without .ftz has all bits. */
static double f64_rsqrt(const struct form *f, const uint64_t *in, uint64_t got)
{
    const double want = 1 / sqrt(wide(in[0]));
    double error;
    (void)f;
    if (special(wide(got), want, &error))
        return error;
    return fabs(wide(got) - want) / fabs(want) / 0x1p-52;
}

/* f64: 20 bits, the lower half of the result zero. */
static double f64_approx(const struct form *f, const uint64_t *in, uint64_t got)
{
    double x = wide(in[0] & ~UINT64_C(0xffffffff)), error;
    if (form_has(f, ".ftz") && fabs(x) < 0x1p-1022)
        x = copysign(0, x);
    double want = form_has(f, "rsqrt") ? 1 / sqrt(x) : 1 / x;
    if (form_has(f, ".ftz") && fabs(want) < 0x1p-1022)
        want = copysign(0, want);
    if (special(wide(got), want, &error))
        return error;
    if (got & 0xffffffff)
        return WRONG;
    return fabs(wide(got) - want) / fabs(want) / 0x1p-20;
}

static const struct form forms[] = {
    {"ex2.approx.f32 r, r", "f", NULL, CLOSE, 0, ex2},
    {"ex2.approx.ftz.f32 r, r", "f", NULL, CLOSE, 0, ex2},
    {"lg2.approx.f32 r, r", "f", NULL, CLOSE, 0, lg2},
    {"lg2.approx.ftz.f32 r, r", "f", NULL, CLOSE, 0, lg2},
    {"sin.approx.f32 r, r", "f", NULL, CLOSE, 0, trigonometric},
    {"sin.approx.ftz.f32 r, r", "f", NULL, CLOSE, 0, trigonometric},
    {"cos.approx.f32 r, r", "f", NULL, CLOSE, 0, trigonometric},
    {"cos.approx.ftz.f32 r, r", "f", NULL, CLOSE, 0, trigonometric},
    {"rcp.approx.f32 r, r", "f", NULL, CLOSE, 0, rcp},
    {"rcp.approx.ftz.f32 r, r", "f", NULL, CLOSE, 0, rcp},
    {"sqrt.approx.f32 r, r", "f", NULL, CLOSE, 0, square_root},
    {"sqrt.approx.ftz.f32 r, r", "f", NULL, CLOSE, 0, square_root},
    {"rsqrt.approx.f32 r, r", "f", NULL, CLOSE, 0, rsqrt},
    {"rsqrt.approx.ftz.f32 r, r", "f", NULL, CLOSE, 0, rsqrt},
    {"div.approx.f32 r, r, r", "ff", NULL, CLOSE, 0, quotient},
    {"div.approx.ftz.f32 r, r, r", "ff", NULL, CLOSE, 0, quotient},
    {"div.full.f32 r, r, r", "ff", NULL, CLOSE, 0, quotient},
    {"div.full.ftz.f32 r, r, r", "ff", NULL, CLOSE, 0, quotient},
    {"tanh.approx.f32 r, r", "f", NULL, CLOSE, 0, tangent},
    {"ex2.approx.f16 h, h", "h", NULL, CLOSE, 0, half_value},
    {"ex2.approx.f16x2 r, r", "x", NULL, CLOSE, 0, half_value},
    {"ex2.approx.ftz.bf16 h, h", "b", NULL, CLOSE, 0, half_value},
    {"ex2.approx.ftz.bf16x2 r, r", "y", NULL, CLOSE, 0, half_value},
    {"tanh.approx.f16 h, h", "h", NULL, CLOSE, 0, half_value},
    {"tanh.approx.f16x2 r, r", "x", NULL, CLOSE, 0, half_value},
    {"tanh.approx.bf16 h, h", "b", NULL, CLOSE, 0, half_value},
    {"tanh.approx.bf16x2 r, r", "y", NULL, CLOSE, 0, half_value},
    {"rcp.approx.ftz.f64 d, d", "e", NULL, CLOSE, 0, f64_approx},
    {"rsqrt.approx.f64 d, d", "e", NULL, CLOSE, 0, f64_rsqrt},
    {"rsqrt.approx.ftz.f64 d, d", "e", NULL, CLOSE, 0, f64_approx},
};

static void approximations_keep_their_bounds(void **state)
{
    (void)state;
    assert_int_equal(harness_run(forms, sizeof forms / sizeof *forms), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(approximations_keep_their_bounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
