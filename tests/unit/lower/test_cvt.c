/* SPDX-License-Identifier: MIT
 *
 * Conversions with a float on either side.
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

static int is_float(struct form_type t)
{
    return t.letter == 'f' || t.letter == 'g' || t.letter == 't';
}

static const struct soft_format *format_of(struct form_type t)
{
    static const struct soft_format tf32 = {19, 10};
    if (t.letter == 't')
        return &tf32;
    if (t.letter == 'g')
        return &SOFT_BF16;
    return t.bits == 16 ? &SOFT_F16 : t.bits == 32 ? &SOFT_F32 : &SOFT_F64;
}

static int integer_mode(const struct form *f)
{
    return form_has(f, ".rni") || form_has(f, ".rzi") || form_has(f, ".rmi") ||
           form_has(f, ".rpi");
}

static enum soft_mode mode_of(const struct form *f)
{
    return form_has(f, ".rna")  ? SOFT_RNA
           : form_has(f, ".rz") ? SOFT_RZ
           : form_has(f, ".rm") ? SOFT_RM
           : form_has(f, ".rp") ? SOFT_RP
                                : SOFT_RN;
}

static uint64_t low(uint64_t v, unsigned bits)
{
    return bits == 64 ? v : v & ((UINT64_C(1) << bits) - 1);
}

static struct soft source(const struct form *f, uint64_t v)
{
    struct form_type from = form_type(f, 1);
    const struct soft_format *k = format_of(from);
    v = low(v, from.bits);
    if (!is_float(from))
        return soft_int(v, from.bits, from.letter == 's');
    if (form_has(f, ".ftz") && k == &SOFT_F32 && !form_has(f, ".f16"))
        v = soft_flush(v, k);
    return soft_unpack(v, k);
}

static struct soft limited(const struct form *f, struct soft v)
{
    struct soft zero = soft_int(0, 8, 0), one = soft_int(1, 8, 0);
    int sat = form_has(f, ".sat.");
    if (v.class == SOFT_NAN)
        return sat ? zero : v;
    if ((sat || form_has(f, ".relu")) && v.sign)
        return zero;
    return sat && soft_compare(v, one) > 0 ? one : v;
}

static uint64_t to_float(const struct form *f, struct soft v)
{
    struct form_type to = form_type(f, 0);
    const struct soft_format *k = format_of(to);
    enum soft_mode mode = mode_of(f);
    if (integer_mode(f)) {
        v = soft_rint(v, mode);
        mode = SOFT_RN;
    }
    v = limited(f, v);
    /* f64 is flushed by what 24 bits and any exponent make of it: scaled up by
     * 2^24 it has them. */
    if (form_has(f, ".ftz") && k == &SOFT_F32 && form_has(f, ".f64") &&
        v.class == SOFT_FINITE &&
        soft_is_subnormal(soft_pack(v, k, SOFT_RZ), k)) {
        struct soft big = v;
        big.e += 24;
        if ((soft_pack(big, k, mode) & 0x7fffffff) < 0x0c800000)
            mode = SOFT_RZ;
    }
    uint64_t r = soft_pack(v, k, mode);
    uint64_t inf = soft_pack((struct soft){SOFT_INF, 0, 0, 0, 0}, k, SOFT_RN);
    uint64_t top = UINT64_C(1) << (k->bits - 1);
    if (form_has(f, ".satfinite") && (r & (top - 1)) == inf)
        r--;
    if (form_has(f, ".ftz") && k == &SOFT_F32)
        r = soft_flush(r, k);
    if (to.letter == 't') /* NaN is all ones, but for the 13 bits cut off */
        r = v.class == SOFT_NAN ? 0x7fffe000 : r << 13;
    return r;
}

static uint64_t extend(uint64_t v, struct form_type t)
{
    if (t.letter == 's' && t.bits < 64 && v >> (t.bits - 1) & 1)
        v |= ~((UINT64_C(1) << t.bits) - 1);
    return v;
}

static void convert(const struct form *f, const uint64_t *in, uint64_t *out)
{
    struct form_type to = form_type(f, 0), from = form_type(f, 1);
    struct soft v = source(f, in[0]);
    if (is_float(to)) {
        out[0] = to_float(f, v);
        /* .rna cuts a NaN and does nothing else to it. */
        if (form_has(f, ".rna") && v.class == SOFT_NAN)
            out[0] = in[0] & 0xffffe000;
        return;
    }
    if (v.class == SOFT_NAN && (to.bits == 64 || from.bits == 64))
        out[0] = UINT64_C(1) << (to.bits - 1);
    else
        out[0] = soft_to_int(v, to.bits, to.letter == 's', mode_of(f));
    out[0] = extend(out[0], to);
}

static void packed(const struct form *f, const uint64_t *in, uint64_t *out)
{
    out[0] =
        to_float(f, source(f, in[0])) << 16 | to_float(f, source(f, in[1]));
}

/* Floats of 8 bits and less, by trying every code. */
struct small {
    const char *name;
    unsigned mantissa;
    int bias;
    unsigned most, nan, bits;
};
static const struct small smalls[] = {{".e4m3x2", 3, 7, 0x7e, 0x7f, 8},
                                      {".e5m2x2", 2, 15, 0x7b, 0x7f, 8},
                                      {".e2m3x2", 3, 1, 0x1f, 0x1f, 8},
                                      {".e3m2x2", 2, 3, 0x1f, 0x1f, 8},
                                      {".e2m1x2", 1, 1, 0x07, 0x07, 4}};

static const struct small *small_of(const struct form *f)
{
    for (unsigned i = 0; i < 5; i++)
        if (form_has(f, smalls[i].name))
            return &smalls[i];
    return NULL;
}

static unsigned sign_place(const struct small *k)
{
    return k->most < 8 ? 3 : k->most < 0x20 ? 5 : 7;
}

static double small_value(const struct small *k, unsigned code)
{
    unsigned e = code >> k->mantissa, m = code & ((1u << k->mantissa) - 1);
    double unit = ldexp(1, (e ? (int)e : 1) - k->bias - (int)k->mantissa);
    return (e ? m + (1u << k->mantissa) : m) * unit;
}

static uint64_t small_encode(const struct form *f, struct soft v)
{
    const struct small *k = small_of(f);
    unsigned best = 0;
    if (v.class == SOFT_NAN)
        return k->nan;
    if (form_has(f, ".relu") && v.sign)
        return 0;
    double x = v.class == SOFT_INF ? 1e6 : fmin(ldexp((double)v.m, v.e), 1e6);
    for (unsigned c = 1; c <= k->most; c++) {
        double was = fabs(small_value(k, best) - x);
        double now = fabs(small_value(k, c) - x);
        if (now < was || (now == was && !(c & 1)))
            best = c;
    }
    return best | (unsigned)v.sign << sign_place(k);
}

static void to_small(const struct form *f, const uint64_t *in, uint64_t *out)
{
    unsigned bits = small_of(f)->bits;
    int halves = form_has(f, ".f16x2");
    struct soft low = soft_unpack(halves ? in[0] & 0xffff : in[1],
                                  halves ? &SOFT_F16 : &SOFT_F32);
    struct soft high = soft_unpack(halves ? in[0] >> 16 : in[0],
                                   halves ? &SOFT_F16 : &SOFT_F32);
    out[0] = small_encode(f, high) << bits | small_encode(f, low);
}

/* --- random bits, powers of two, integers of 4 and 2 bits --- */

static const struct narrow {
    const char *name;
    unsigned mantissa;
    int bias;
    unsigned random, most, over, nan, bits, sign;
} narrows[] = {{".f16x2", 10, 15, 13, 0x7bff, 0x7c00, 0x7fff, 16, 15},
               {".bf16x2", 7, 127, 16, 0x7f7f, 0x7f80, 0x7fff, 16, 15},
               {".e4m3x4", 3, 7, 16, 0x7e, 0x7e, 0x7f, 8, 7},
               {".e5m2x4", 2, 15, 16, 0x7b, 0x7b, 0x7f, 8, 7},
               {".e2m3x4", 3, 1, 16, 0x1f, 0x1f, 0x1f, 8, 5},
               {".e3m2x4", 2, 3, 16, 0x1f, 0x1f, 0x1f, 8, 5},
               {".e2m1x4", 1, 1, 16, 0x07, 0x07, 0x07, 4, 3}};

/* In units of the last place, with what is random added behind the point, and
 * no more of that: the next number towards zero. */
static uint64_t random_code(const struct form *f, const struct narrow *k,
                            uint64_t bits, uint64_t random)
{
    const uint32_t low = (uint32_t)bits;
    float x;
    double size, units;
    int e;
    uint64_t code, sign;

    memcpy(&x, &low, 4);
    if (isnan(x))
        return k->nan;
    if (form_has(f, ".relu") && !(x > 0))
        return 0;
    sign = (uint64_t) !!signbit(x) << k->sign;
    size = fabs((double)x);
    if (isinf(size))
        return sign | (form_has(f, ".satfinite") ? k->most : k->over);
    frexp(size, &e); /* size is 2^(e-1) and more */
    e = size == 0 || e < 2 - k->bias ? 2 - k->bias : e;
    units = ldexp(size, (int)k->mantissa + 1 - e);
    code = (uint64_t)floor(units + ldexp((double)random, -(int)k->random));
    code += (uint64_t)(e - 2 + k->bias) << k->mantissa;
    if (code > k->most)
        code = form_has(f, ".satfinite") ? k->most : k->over;
    return code | sign;
}

static void by_random_bits(const struct form *f, const uint64_t *in,
                           uint64_t *out)
{
    const struct narrow *k = narrows;

    while (!form_has(f, k->name))
        k++;
    const unsigned n = k->bits == 16 ? 2 : 4;
    const uint64_t r = in[n];
    out[0] = 0;
    for (unsigned i = 0; i < n; i++) {
        const int first = i < n / 2;
        uint64_t mine = (first ? r >> 16 : r) & ((1u << k->random) - 1);
        if (k->bits == 4)
            mine = first ? (r >> 24 & 255) << 8 | (r >> 8 & 255)
                         : (r >> 16 & 255) << 8 | (r & 255);
        out[0] = out[0] << k->bits | random_code(f, k, in[i], mine);
    }
}

/* The exponent of the power of two next to the size of a number. */
static uint64_t power_code(const struct form *f, uint64_t bits)
{
    const uint32_t low = (uint32_t)bits & 0x7fffffff;
    float x;
    int e, code;

    memcpy(&x, &low, 4);
    if (isnan(x))
        return 255;
    if (isinf(x))
        return form_has(f, ".satfinite") ? 254 : 255;
    code = frexpf(x, &e) == 0.5f || !form_has(f, ".rp") ? e - 1 : e;
    code = x == 0 || code < -127 ? 0 : code + 127;
    if (code == 255 && form_has(f, ".satfinite"))
        code = 254;
    return (uint64_t)code;
}

static void to_power(const struct form *f, const uint64_t *in, uint64_t *out)
{
    const int halves = form_has(f, ".bf16x2");

    out[0] = power_code(f, halves ? in[0] & 0xffff0000 : in[0]) << 8 |
             power_code(f, halves ? in[0] << 16 : in[1]);
}

static void from_power(const struct form *f, const uint64_t *in, uint64_t *out)
{
    (void)f;
    out[0] = 0;
    for (int i = 0; i < 2; i++) {
        const unsigned code = in[0] >> 8 * i & 255;
        const float x = ldexpf(1, (int)code - 127);
        uint32_t bits;

        memcpy(&bits, &x, 4);
        out[0] |= (code == 255 ? 0x7fffu : (uint64_t)bits >> 16) << 16 * i;
    }
}

/* arg: bits of a part, and 8 more where it is signed. */
static void pack_small(const struct form *f, const uint64_t *in, uint64_t *out)
{
    const unsigned bits = f->arg % 8, is_signed = f->arg / 8;
    const int64_t most = (1 << (bits - is_signed)) - 1;
    const int64_t least = is_signed ? -most - 1 : 0;

    out[0] = in[2] << 2 * bits;
    for (int i = 0; i < 2; i++) {
        int64_t v = (int32_t)in[i];

        v = v > most ? most : v < least ? least : v;
        out[0] |= ((uint64_t)v & ((1u << bits) - 1)) << bits * !i;
    }
    out[0] &= 0xffffffff;
}

static void from_small(const struct form *f, const uint64_t *in, uint64_t *out)
{
    const struct small *k = small_of(f);
    out[0] = 0;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t code = in[0] >> (i * k->bits), wide, r;
        unsigned m = (unsigned)code & ((1u << sign_place(k)) - 1);
        uint64_t sign = code >> sign_place(k) & 1;
        double d = small_value(k, m);
        memcpy(&wide, &d, 8);
        r = soft_pack(soft_unpack(wide, &SOFT_F64), &SOFT_F16, SOFT_RN);
        if (m > k->most)
            r = k->mantissa == 2 && m == 0x7c ? 0x7c00 : 0x7fff;
        if (r != 0x7fff) /* a NaN has no sign */
            r |= sign << 15;
        if (form_has(f, ".relu") && r != 0x7fff && sign)
            r = 0;
        out[0] |= r << (16 * i);
    }
}

#define INTS(to, from, r, k)                                                   \
    {"cvt.rni" to from r, k, convert, BITS, 0, 0},                             \
        {"cvt.rzi" to from r, k, convert, BITS, 0, 0},                         \
        {"cvt.rmi" to from r, k, convert, BITS, 0, 0},                         \
    {                                                                          \
        "cvt.rpi" to from r, k, convert, BITS, 0, 0                            \
    }
#define FLOATS(to, from, r, k, how)                                            \
    {"cvt.rn" to from r, k, convert, how, 0, 0},                               \
        {"cvt.rz" to from r, k, convert, how, 0, 0},                           \
        {"cvt.rm" to from r, k, convert, how, 0, 0},                           \
    {                                                                          \
        "cvt.rp" to from r, k, convert, how, 0, 0                              \
    }

static const struct form forms[] = {
    INTS(".s32", ".f32", " r, r", "f"),
    INTS(".u32", ".f32", " r, r", "f"),
    INTS(".ftz.s32", ".f32", " r, r", "f"),
    INTS(".s64", ".f32", " d, r", "f"),
    INTS(".u64", ".f32", " d, r", "f"),
    INTS(".s16", ".f32", " h, r", "f"),
    INTS(".u8", ".f32", " r, r", "f"),
    INTS(".s8", ".f32", " r, r", "f"),
    INTS(".s32", ".f64", " r, d", "e"),
    INTS(".u32", ".f64", " r, d", "e"),
    INTS(".s64", ".f64", " d, d", "e"),
    INTS(".u64", ".f64", " d, d", "e"),
    INTS(".u16", ".f64", " h, d", "e"),
    INTS(".s32", ".f16", " r, h", "h"),
    INTS(".u64", ".f16", " d, h", "h"),
    INTS(".s16", ".f16", " h, h", "h"),
    INTS(".s32", ".bf16", " r, h", "b"),
    INTS(".u16", ".bf16", " h, h", "b"),
    FLOATS(".f32", ".s32", " r, r", "i", BITS),
    FLOATS(".f32", ".u32", " r, r", "i", BITS),
    FLOATS(".f32", ".s64", " r, d", "l", BITS),
    FLOATS(".f32", ".u64", " r, d", "l", BITS),
    FLOATS(".f32", ".s8", " r, r", "i", BITS),
    FLOATS(".f32", ".u16", " r, h", "w", BITS),
    FLOATS(".sat.f32", ".s16", " r, h", "w", BITS),
    FLOATS(".f64", ".s32", " d, r", "i", BITS),
    FLOATS(".f64", ".u32", " d, r", "i", BITS),
    FLOATS(".f64", ".s64", " d, d", "l", BITS),
    FLOATS(".f64", ".u64", " d, d", "l", BITS),
    FLOATS(".f16", ".s32", " h, r", "i", BITS),
    FLOATS(".f16", ".u64", " h, d", "l", BITS),
    FLOATS(".f16", ".s64", " h, d", "l", BITS),
    FLOATS(".f16", ".u16", " h, h", "w", BITS),
    FLOATS(".f16", ".s8", " h, r", "i", BITS),
    FLOATS(".bf16", ".s32", " h, r", "i", BITS),
    FLOATS(".bf16", ".u64", " h, d", "l", BITS),
    FLOATS(".bf16", ".s16", " h, h", "w", BITS),
    FLOATS(".f32", ".f64", " r, d", "e", FLOAT32),
    FLOATS(".ftz.f32", ".f64", " r, d", "e", FLOAT32),
    FLOATS(".sat.f32", ".f64", " r, d", "e", FLOAT32),
    FLOATS(".f16", ".f32", " h, r", "f", BITS),
    FLOATS(".f16", ".f64", " h, d", "e", BITS),
    {"cvt.rn.relu.f16.f32 h, r", "f", convert, BITS, 0, 0},
    {"cvt.rz.satfinite.f16.f32 h, r", "f", convert, BITS, 0, 0},
    {"cvt.rn.satfinite.bf16.f32 h, r", "f", convert, BITS, 0, 0},
    {"cvt.rn.sat.f16.f32 h, r", "f", convert, BITS, 0, 0},
    {"cvt.rn.bf16.f32 h, r", "f", convert, BITS, 0, 0},
    {"cvt.rz.bf16.f32 h, r", "f", convert, BITS, 0, 0},
    FLOATS(".bf16", ".f64", " h, d", "e", BITS),
    {"cvt.rn.bf16.f16 h, h", "h", convert, BITS, 0, 0},
    {"cvt.rn.f16.bf16 h, h", "b", convert, BITS, 0, 0},
    {"cvt.f32.f16 r, h", "h", convert, FLOAT32, 0, 0},
    {"cvt.sat.f32.f16 r, h", "h", convert, FLOAT32, 0, 0},
    {"cvt.ftz.f32.f16 r, h", "h", convert, FLOAT32, 0, 0},
    {"cvt.f64.f16 d, h", "h", convert, FLOAT64, 0, 0},
    {"cvt.f32.bf16 r, h", "b", convert, FLOAT32, 0, 0},
    {"cvt.f64.f32 d, r", "f", convert, FLOAT64, 0, 0},
    {"cvt.ftz.f64.f32 d, r", "f", convert, FLOAT64, 0, 0},
    INTS(".f32", ".f32", " r, r", "f"),
    INTS(".ftz.f32", ".f32", " r, r", "f"),
    INTS(".ftz.sat.f32", ".f32", " r, r", "f"),
    INTS(".f64", ".f64", " d, d", "e"),
    INTS(".f16", ".f16", " h, h", "h"),
    {"cvt.sat.f32.f32 r, r", "f", convert, FLOAT32, 0, 0},
    {"cvt.ftz.sat.f32.f32 r, r", "f", convert, FLOAT32, 0, 0},
    {"cvt.rn.f16x2.f32 r, r, r", "ff", packed, BITS, 0, 0},
    {"cvt.rz.relu.f16x2.f32 r, r, r", "ff", packed, BITS, 0, 0},
    {"cvt.rn.bf16x2.f32 r, r, r", "ff", packed, BITS, 0, 0},
    {"cvt.rn.relu.satfinite.bf16x2.f32 r, r, r", "ff", packed, BITS, 0, 0},
    {"cvt.rn.satfinite.e4m3x2.f32 h, r, r", "ff", to_small, BITS, 0, 0},
    {"cvt.rn.satfinite.relu.e4m3x2.f32 h, r, r", "ff", to_small, BITS, 0, 0},
    {"cvt.rn.satfinite.e5m2x2.f32 h, r, r", "ff", to_small, BITS, 0, 0},
    {"cvt.rn.satfinite.e4m3x2.f16x2 h, r", "x", to_small, BITS, 0, 0},
    {"cvt.rn.satfinite.relu.e5m2x2.f16x2 h, r", "x", to_small, BITS, 0, 0},
    {"cvt.rn.satfinite.e2m3x2.f32 h, r, r", "ff", to_small, BITS, 0, 0},
    {"cvt.rn.satfinite.e3m2x2.f32 h, r, r", "ff", to_small, BITS, 0, 0},
    {"cvt.rn.satfinite.e2m1x2.f32 q, r, r", "ff", to_small, BITS, 0, 0},
    {"cvt.rn.f16x2.e4m3x2 r, h", "w", from_small, BITS, 0, 0},
    {"cvt.rn.f16x2.e5m2x2 r, h", "w", from_small, BITS, 0, 0},
    {"cvt.rn.relu.f16x2.e4m3x2 r, h", "w", from_small, BITS, 0, 0},
    {"cvt.rn.f16x2.e2m3x2 r, h", "w", from_small, BITS, 0, 0},
    {"cvt.rn.f16x2.e3m2x2 r, h", "w", from_small, BITS, 0, 0},
    {"cvt.rn.f16x2.e2m1x2 r, q", "w", from_small, BITS, 0, 0},
    {"cvt.rs.f16x2.f32 r, r, r, r", "ffi", by_random_bits, BITS, 0, 0},
    {"cvt.rs.relu.satfinite.f16x2.f32 r, r, r, r", "ffi", by_random_bits, BITS,
     0, 0},
    {"cvt.rs.bf16x2.f32 r, r, r, r", "ffi", by_random_bits, BITS, 0, 0},
    {"cvt.rs.satfinite.bf16x2.f32 r, r, r, r", "ffi", by_random_bits, BITS, 0,
     0},
    {"cvt.rs.satfinite.e4m3x4.f32 r, {r, r, r, r}, r", "ffffi", by_random_bits,
     BITS, 0, 0},
    {"cvt.rs.relu.satfinite.e5m2x4.f32 r, {r, r, r, r}, r", "ffffi",
     by_random_bits, BITS, 0, 0},
    {"cvt.rs.satfinite.e2m3x4.f32 r, {r, r, r, r}, r", "ffffi", by_random_bits,
     BITS, 0, 0},
    {"cvt.rs.satfinite.e3m2x4.f32 r, {r, r, r, r}, r", "ffffi", by_random_bits,
     BITS, 0, 0},
    {"cvt.rs.satfinite.e2m1x4.f32 h, {r, r, r, r}, r", "ffffi", by_random_bits,
     BITS, 0, 0},
    {"cvt.rz.ue8m0x2.f32 h, r, r", "ff", to_power, BITS, 0, 0},
    {"cvt.rp.ue8m0x2.f32 h, r, r", "ff", to_power, BITS, 0, 0},
    {"cvt.rp.satfinite.ue8m0x2.f32 h, r, r", "ff", to_power, BITS, 0, 0},
    {"cvt.rz.satfinite.ue8m0x2.bf16x2 h, r", "y", to_power, BITS, 0, 0},
    {"cvt.rp.ue8m0x2.bf16x2 h, r", "y", to_power, BITS, 0, 0},
    {"cvt.rn.bf16x2.ue8m0x2 r, h", "w", from_power, BITS, 0, 0},
    {"cvt.pack.sat.u4.s32.b32 r, r, r, r", "iii", pack_small, BITS, 4, 0},
    {"cvt.pack.sat.s4.s32.b32 r, r, r, r", "iii", pack_small, BITS, 12, 0},
    {"cvt.pack.sat.u2.s32.b32 r, r, r, r", "iii", pack_small, BITS, 2, 0},
    {"cvt.pack.sat.s2.s32.b32 r, r, r, r", "iii", pack_small, BITS, 10, 0},
    {"cvt.rna.tf32.f32 r, r", "f", convert, BITS, 0, 0},
    {"cvt.rn.tf32.f32 r, r", "f", convert, BITS, 0, 0},
    {"cvt.rz.tf32.f32 r, r", "f", convert, BITS, 0, 0},
    {"cvt.rn.satfinite.relu.tf32.f32 r, r", "f", convert, BITS, 0, 0},
};

/* Rows that round a float to an integral float may give any NaN. */
static struct form all[sizeof forms / sizeof *forms];

static void conversions_follow_the_isa(void **state)
{
    size_t n = sizeof forms / sizeof *forms;
    (void)state;
    memcpy(all, forms, sizeof forms);
    for (size_t i = 0; i < n; i++)
        if (all[i].ref == convert && is_float(form_type(&all[i], 1))) {
            struct form_type to = form_type(&all[i], 0);
            if (to.letter == 'f' && to.bits == 32)
                all[i].how = FLOAT32;
            if (to.letter == 'f' && to.bits == 64)
                all[i].how = FLOAT64;
        }
    assert_int_equal(harness_run(all, n), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conversions_follow_the_isa)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
