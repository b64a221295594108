/* SPDX-License-Identifier: MIT
 *
 * Float arithmetic of every width and rounding, compares, and the
 * instructions on signs and bits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fenv.h>
#include <math.h>
#include <string.h>

#include "harness.h"
#include "soft.h"

static const struct soft_format *format_of(struct form_type t)
{
    if (t.letter == 'g')
        return &SOFT_BF16;
    return t.bits == 16 ? &SOFT_F16 : t.bits == 32 ? &SOFT_F32 : &SOFT_F64;
}

static enum soft_mode mode_of(const struct form *f)
{
    return form_has(f, ".rz")   ? SOFT_RZ
           : form_has(f, ".rm") ? SOFT_RM
           : form_has(f, ".rp") ? SOFT_RP
                                : SOFT_RN;
}

static uint64_t flush(const struct form *f, uint64_t v)
{
    const struct soft_format *k = format_of(form_type(f, 0));
    return form_has(f, ".ftz") ? soft_flush(v, k) : v;
}

static uint64_t finish(const struct form *f, uint64_t v)
{
    const struct soft_format *k = format_of(form_type(f, 0));
    struct soft s;
    v = flush(f, v);
    s = soft_unpack(v, k);
    struct soft one = soft_int(1, 8, 0);
    if (form_has(f, ".sat")) {
        if (s.class == SOFT_NAN || s.sign || (s.class == SOFT_FINITE && !s.m))
            return 0;
        return soft_compare(s, one) > 0 ? soft_pack(one, k, SOFT_RN) : v;
    }
    if (form_has(f, ".relu") && s.class != SOFT_NAN && s.sign)
        return 0;
    return v;
}

/* f32 and f64 division and roots: the processor's, in its rounding modes. */
static uint64_t hardware(const struct form *f, uint64_t a, uint64_t b)
{
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD,
                                FE_UPWARD};
    int is_root = form_has(f, "sqrt"), is_rcp = form_has(f, "rcp");
    fesetround(modes[mode_of(f)]);
    if (form_type(f, 0).bits == 32) {
        uint32_t x32 = (uint32_t)a, y32 = (uint32_t)b;
        volatile float x, y, r;
        memcpy((void *)&x, &x32, 4);
        memcpy((void *)&y, &y32, 4);
        r = is_root ? sqrtf(x) : is_rcp ? 1.0f / x : x / y;
        memcpy(&x32, (void *)&r, 4);
        a = x32;
    } else {
        volatile double x, y, r;
        memcpy((void *)&x, &a, 8);
        memcpy((void *)&y, &b, 8);
        r = is_root ? sqrt(x) : is_rcp ? 1.0 / x : x / y;
        memcpy(&a, (void *)&r, 8);
    }
    fesetround(FE_TONEAREST);
    return a;
}

static uint64_t fma_double(const struct form *f, const uint64_t *in)
{
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD,
                                FE_UPWARD};
    volatile double v[3], r;
    uint64_t out;
    memcpy((void *)v, in, sizeof v);
    fesetround(modes[mode_of(f)]);
    r = fma(v[0], v[1], v[2]);
    fesetround(FE_TONEAREST);
    memcpy(&out, (void *)&r, 8);
    return out;
}

static uint64_t one_result(const struct form *f, const uint64_t *in)
{
    const struct soft_format *k = format_of(form_type(f, 0));
    enum soft_mode mode = mode_of(f);
    struct soft v[3] = {{SOFT_FINITE, 0, 0, 0, 0}};
    uint64_t raw[3] = {0};
    for (unsigned i = 0; i < 3 && i < strlen(f->kinds); i++) {
        raw[i] = flush(f, in[i]);
        v[i] = soft_unpack(raw[i], k);
    }
    if (form_has(f, "div") || form_has(f, "sqrt") || form_has(f, "rcp")) {
        uint64_t q = hardware(f, raw[0], raw[1]);
        /* The least normal number, if 24 bits and any exponent make it that:
         * asked 2^24 times as large. */
        if (form_has(f, "div.") && form_has(f, ".ftz") &&
            (q & 0x7fffffff) == 0x00800000 && (raw[0] & 0x7fffffff) &&
            (hardware(f, raw[0] + (24u << 23), raw[1]) & 0x7fffffff) <
                0x0c800000)
            q &= 0x80000000;
        return finish(f, q);
    }
    if (form_has(f, "fma.") && k == &SOFT_F64)
        return fma_double(f, in);
    struct soft r;
    if (form_has(f, "mul."))
        r = soft_mul(v[0], v[1]);
    else if (form_has(f, "fma.") || form_has(f, "mad."))
        r = soft_add(soft_mul(v[0], v[1]), v[2], mode);
    else {
        if (form_has(f, "sub."))
            v[1].sign ^= 1;
        r = soft_add(v[0], v[1], mode);
    }
    /* f16 is flushed by what 11 bits and any exponent make of it: scaled up by
     * 2^10 it has them. */
    if (k == &SOFT_F16 && form_has(f, ".ftz") && r.class == SOFT_FINITE &&
        soft_is_subnormal(soft_pack(r, k, SOFT_RZ), k)) {
        struct soft big = r;
        big.e += 10;
        if ((soft_pack(big, k, mode) & 0x7fff) < 0x2c00)
            mode = SOFT_RZ;
    }
    /* So is f32 (24 bits), but for sums, which are exact where they are small.
     */
    if (k == &SOFT_F32 && form_has(f, ".ftz") && r.class == SOFT_FINITE &&
        soft_is_subnormal(soft_pack(r, k, SOFT_RZ), k)) {
        struct soft big = r;
        big.e += 24;
        if ((soft_pack(big, k, mode) & 0x7fffffff) < 0x0c800000)
            mode = SOFT_RZ;
    }
    return finish(f, soft_pack(r, k, mode));
}

/* Packed forms: each half by itself. */
static void halves(const struct form *f, const uint64_t *in, uint64_t *out,
                   uint64_t (*one)(const struct form *, const uint64_t *))
{
    if (!form_type(f, 0).packed) {
        out[0] = one(f, in);
        return;
    }
    out[0] = 0;
    for (unsigned h = 0; h < 2; h++) {
        unsigned bits = form_type(f, 0).bits;
        uint64_t part[MAX_SOURCES];
        for (unsigned i = 0; i < MAX_SOURCES; i++)
            part[i] = in[i] >> (bits * h) & ((UINT64_C(1) << bits) - 1);
        out[0] |= one(f, part) << (bits * h);
    }
}

static void arith(const struct form *f, const uint64_t *in, uint64_t *out)
{
    halves(f, in, out, one_result);
}

/* f32 with halves as all operands but the last. */
static void mixed(const struct form *f, const uint64_t *in, uint64_t *out)
{
    const struct soft_format *k = format_of(form_type(f, 1));
    enum soft_mode mode = mode_of(f);
    struct soft a = soft_unpack(in[0], k), b = soft_unpack(in[1], &SOFT_F32);
    if (form_has(f, "fma."))
        a = soft_mul(a, soft_unpack(in[1], k));
    if (form_has(f, "fma."))
        b = soft_unpack(in[2], &SOFT_F32);
    b.sign ^= form_has(f, "sub.");
    out[0] = finish(f, soft_pack(soft_add(a, b, mode), &SOFT_F32, mode));
}

static uint64_t sign_mask(const struct form *f)
{
    return UINT64_C(1) << (form_type(f, 0).bits - 1);
}

static uint64_t one_sign(const struct form *f, const uint64_t *in)
{
    uint64_t v = flush(f, in[0]), s = sign_mask(f);
    if (form_has(f, "copysign"))
        return (in[0] & s) | (in[1] & (s - 1));
    return form_has(f, "abs.") ? v & (s - 1) : v ^ s;
}

static void sign(const struct form *f, const uint64_t *in, uint64_t *out)
{
    halves(f, in, out, one_sign);
}

/* PTX ISA, min: zeros have an order, a NaN loses, .NaN makes it win. */
static uint64_t smaller(const struct form *f, uint64_t a, uint64_t b)
{
    const struct soft_format *k = format_of(form_type(f, 0));
    struct soft x = soft_unpack(a, k), y = soft_unpack(b, k);
    int is_min = form_has(f, "min.");
    uint64_t nan = sign_mask(f) - 1;
    if (x.class == SOFT_NAN || y.class == SOFT_NAN) {
        if (form_has(f, ".NaN") || (x.class == SOFT_NAN && y.class == SOFT_NAN))
            return nan;
        return x.class == SOFT_NAN ? b : a;
    }
    int c = soft_compare(x, y);
    if (c == 0)
        c = y.sign - x.sign;
    return (c < 0) == is_min ? a : b;
}

static uint64_t one_minmax(const struct form *f, const uint64_t *in)
{
    uint64_t s = sign_mask(f), v[3] = {0}, sign = 0;
    unsigned n = (unsigned)strlen(f->kinds);
    for (unsigned i = 0; i < n; i++) {
        v[i] = flush(f, in[i]);
        sign ^= v[i] & s;
        if (form_has(f, ".abs"))
            v[i] &= s - 1;
    }
    uint64_t r = smaller(f, v[0], v[1]);
    if (n > 2)
        r = smaller(f, r, v[2]);
    if (form_has(f, ".xorsign"))
        r = (r & (s - 1)) | sign;
    return r;
}

static void minmax(const struct form *f, const uint64_t *in, uint64_t *out)
{
    halves(f, in, out, one_minmax);
}

static void testp(const struct form *f, const uint64_t *in, uint64_t *out)
{
    const struct soft_format *k = format_of(form_type(f, 0));
    struct soft v = soft_unpack(in[0], k);
    int sub = soft_is_subnormal(in[0], k), finite = v.class == SOFT_FINITE;
    if (form_has(f, ".finite"))
        out[0] = (uint64_t)finite;
    else if (form_has(f, ".infinite"))
        out[0] = v.class == SOFT_INF;
    else if (form_has(f, ".number"))
        out[0] = v.class != SOFT_NAN;
    else if (form_has(f, ".notanumber"))
        out[0] = v.class == SOFT_NAN;
    else if (form_has(f, ".normal"))
        out[0] = finite && !sub; /* zeros too */
    else
        out[0] = (uint64_t)sub;
}

static int holds(const struct form *f, uint64_t a, uint64_t b,
                 struct form_type t)
{
    const struct soft_format *k = format_of(t);
    if (form_has(f, ".ftz")) {
        a = soft_flush(a, k);
        b = soft_flush(b, k);
    }
    int c = soft_compare(soft_unpack(a, k), soft_unpack(b, k));
    const struct {
        const char *name;
        int result;
    } cases[] = {
        {".eq", c == 0},
        {".ne", c == -1 || c == 1},
        {".lt", c == -1},
        {".le", c == -1 || c == 0},
        {".gt", c == 1},
        {".ge", c == 1 || c == 0},
        {".equ", c == 0 || c == 2},
        {".neu", c != 0},
        {".ltu", c == -1 || c == 2},
        {".leu", c != 1},
        {".gtu", c > 0},
        {".geu", c != -1},
        {".num", c != 2},
        {".nan", c == 2},
    };
    for (unsigned i = 0; i < 14; i++) {
        const char *at = strstr(f->text, cases[i].name);
        if (at && at[strlen(cases[i].name)] == '.')
            return cases[i].result;
    }
    return -1;
}

static int combine(const struct form *f, int p, const uint64_t *in)
{
    int c = (int)in[2];
    if (form_has(f, ".and"))
        return p & c;
    if (form_has(f, ".or"))
        return p | c;
    return form_has(f, ".xor") ? p ^ c : p;
}

static void setp(const struct form *f, const uint64_t *in, uint64_t *out)
{
    struct form_type t = form_type(f, 0);
    if (t.packed) {
        for (unsigned h = 0; h < 2; h++) {
            int p = holds(f, in[0] >> (16 * h) & 0xffff,
                          in[1] >> (16 * h) & 0xffff, t);
            out[h] = (uint64_t)combine(f, p, in);
        }
        return;
    }
    int p = holds(f, in[0], in[1], t);
    out[0] = (uint64_t)combine(f, p, in);
    out[1] = (uint64_t)combine(f, !p, in);
}

static void set(const struct form *f, const uint64_t *in, uint64_t *out)
{
    struct form_type to = form_type(f, 0), t = form_type(f, 1);
    uint64_t one = to.letter == 'g'   ? 0x3f80
                   : to.letter != 'f' ? (t.packed ? 0xffff : UINT64_MAX)
                   : to.bits == 16    ? 0x3c00
                                      : 0x3f800000;
    out[0] = 0;
    for (unsigned h = 0; h < (t.packed ? 2u : 1u); h++) {
        uint64_t mask = t.packed ? 0xffff : UINT64_MAX;
        int p = holds(f, in[0] >> (16 * h) & mask, in[1] >> (16 * h) & mask, t);
        if (combine(f, p, in))
            out[0] |= one << (16 * h);
    }
}

#define ROUNDED(op, type, k, how)                                              \
    {op ".rn" type, k, arith, how, 0, 0},                                      \
        {op ".rz" type, k, arith, how, 0, 0},                                  \
        {op ".rm" type, k, arith, how, 0, 0},                                  \
    {                                                                          \
        op ".rp" type, k, arith, how, 0, 0                                     \
    }
#define SETP(cmp, type, r, k)                                                  \
    {                                                                          \
        "setp." cmp type " p, " r, k, setp, BITS, 0, 0                         \
    }
#define ALL_SETP(type, r, k)                                                   \
    SETP("eq", type, r, k), SETP("ne", type, r, k), SETP("lt", type, r, k),    \
        SETP("le", type, r, k), SETP("gt", type, r, k),                        \
        SETP("ge", type, r, k), SETP("equ", type, r, k),                       \
        SETP("neu", type, r, k), SETP("ltu", type, r, k),                      \
        SETP("leu", type, r, k), SETP("gtu", type, r, k),                      \
        SETP("geu", type, r, k), SETP("num", type, r, k),                      \
        SETP("nan", type, r, k)

static const struct form forms[] = {
    ROUNDED("add", ".f32 r, r, r", "ff", FLOAT32),
    ROUNDED("add", ".ftz.f32 r, r, r", "ff", FLOAT32),
    ROUNDED("add", ".ftz.sat.f32 r, r, r", "ff", FLOAT32),
    ROUNDED("add", ".f64 d, d, d", "ee", FLOAT64),
    ROUNDED("sub", ".f32 r, r, r", "ff", FLOAT32),
    ROUNDED("sub", ".sat.f32 r, r, r", "ff", FLOAT32),
    ROUNDED("sub", ".f64 d, d, d", "ee", FLOAT64),
    ROUNDED("mul", ".f32 r, r, r", "ff", FLOAT32),
    ROUNDED("mul", ".ftz.f32 r, r, r", "ff", FLOAT32),
    ROUNDED("mul", ".f64 d, d, d", "ee", FLOAT64),
    ROUNDED("fma", ".f32 r, r, r, r", "fff", FLOAT32),
    ROUNDED("fma", ".ftz.f32 r, r, r, r", "fff", FLOAT32),
    ROUNDED("fma", ".ftz.sat.f32 r, r, r, r", "fff", FLOAT32),
    ROUNDED("fma", ".f64 d, d, d, d", "eee", FLOAT64),
    ROUNDED("div", ".f32 r, r, r", "ff", FLOAT32),
    ROUNDED("div", ".ftz.f32 r, r, r", "ff", FLOAT32),
    ROUNDED("div", ".f64 d, d, d", "ee", FLOAT64),
    ROUNDED("sqrt", ".f32 r, r", "f", FLOAT32),
    ROUNDED("sqrt", ".ftz.f32 r, r", "f", FLOAT32),
    ROUNDED("sqrt", ".f64 d, d", "e", FLOAT64),
    ROUNDED("rcp", ".f32 r, r", "f", FLOAT32),
    ROUNDED("rcp", ".ftz.f32 r, r", "f", FLOAT32),
    ROUNDED("rcp", ".f64 d, d", "e", FLOAT64),
    {"add.f32 r, r, r", "ff", arith, FLOAT32, 0, 0},
    {"add.f16 h, h, h", "hh", arith, BITS, 0, 0},
    {"add.ftz.sat.f16 h, h, h", "hh", arith, BITS, 0, 0},
    {"add.rn.ftz.f16x2 r, r, r", "xx", arith, BITS, 0, 0},
    {"add.bf16 h, h, h", "bb", arith, BITS, 0, 0},
    {"add.rn.bf16x2 r, r, r", "yy", arith, BITS, 0, 0},
    {"sub.f16x2 r, r, r", "xx", arith, BITS, 0, 0},
    {"sub.bf16x2 r, r, r", "yy", arith, BITS, 0, 0},
    {"mul.f16 h, h, h", "hh", arith, BITS, 0, 0},
    {"mul.ftz.f16 h, h, h", "hh", arith, BITS, 0, 0},
    {"mul.rn.sat.f16x2 r, r, r", "xx", arith, BITS, 0, 0},
    {"mul.bf16 h, h, h", "bb", arith, BITS, 0, 0},
    {"mul.bf16x2 r, r, r", "yy", arith, BITS, 0, 0},
    {"mad.rn.f32 r, r, r, r", "fff", arith, FLOAT32, 0, 0},
    {"fma.rn.f16 h, h, h, h", "hhh", arith, BITS, 0, 0},
    {"fma.rn.ftz.f16 h, h, h, h", "hhh", arith, BITS, 0, 0},
    {"fma.rn.f16x2 r, r, r, r", "xxx", arith, BITS, 0, 0},
    {"fma.rn.sat.f16x2 r, r, r, r", "xxx", arith, BITS, 0, 0},
    {"fma.rn.relu.f16x2 r, r, r, r", "xxx", arith, BITS, 0, 0},
    {"fma.rn.bf16 h, h, h, h", "bbb", arith, BITS, 0, 0},
    {"fma.rn.bf16x2 r, r, r, r", "yyy", arith, BITS, 0, 0},
    {"fma.rn.relu.bf16 h, h, h, h", "bbb", arith, BITS, 0, 0},
    {"add.f32x2 d, d, d", "zz", arith, FLOAT32X2, 0, 0},
    {"sub.rz.f32x2 d, d, d", "zz", arith, FLOAT32X2, 0, 0},
    {"mul.rn.ftz.f32x2 d, d, d", "zz", arith, FLOAT32X2, 0, 0},
    {"fma.rm.f32x2 d, d, d, d", "zzz", arith, FLOAT32X2, 0, 0},
    {"add.f32.f16 r, h, r", "hf", mixed, FLOAT32, 0, 0},
    {"sub.rp.sat.f32.bf16 r, h, r", "bf", mixed, FLOAT32, 0, 0},
    {"fma.rn.f32.f16 r, h, h, r", "hhf", mixed, FLOAT32, 0, 0},
    {"fma.rz.f32.bf16 r, h, h, r", "bbf", mixed, FLOAT32, 0, 0},
    {"neg.f32 r, r", "f", sign, BITS, 0, 0},
    {"neg.ftz.f32 r, r", "f", sign, BITS, 0, 0},
    {"neg.f64 d, d", "e", sign, BITS, 0, 0},
    {"neg.f16x2 r, r", "x", sign, BITS, 0, 0},
    {"neg.bf16 h, h", "b", sign, BITS, 0, 0},
    {"abs.f32 r, r", "f", sign, BITS, 0, 0},
    {"abs.ftz.f32 r, r", "f", sign, BITS, 0, 0},
    {"abs.f64 d, d", "e", sign, BITS, 0, 0},
    {"abs.ftz.f16 h, h", "h", sign, BITS, 0, 0},
    {"abs.bf16x2 r, r", "y", sign, BITS, 0, 0},
    {"copysign.f32 r, r, r", "ff", sign, BITS, 0, 0},
    {"copysign.f64 d, d, d", "ee", sign, BITS, 0, 0},
    {"min.f32 r, r, r", "ff", minmax, BITS, 0, 0},
    {"min.ftz.f32 r, r, r", "ff", minmax, BITS, 0, 0},
    {"min.NaN.f32 r, r, r", "ff", minmax, BITS, 0, 0},
    {"min.ftz.NaN.xorsign.abs.f32 r, r, r", "ff", minmax, FLOAT32, 0, 0},
    {"min.f32 r, r, r, r", "fff", minmax, BITS, 0, 0},
    {"min.f64 d, d, d", "ee", minmax, BITS, 0, 0},
    {"min.f16 h, h, h", "hh", minmax, BITS, 0, 0},
    {"min.ftz.NaN.f16x2 r, r, r", "xx", minmax, BITS, 0, 0},
    {"min.bf16x2 r, r, r", "yy", minmax, BITS, 0, 0},
    {"max.f32 r, r, r", "ff", minmax, BITS, 0, 0},
    {"max.ftz.f32 r, r, r", "ff", minmax, BITS, 0, 0},
    {"max.NaN.f32 r, r, r", "ff", minmax, BITS, 0, 0},
    {"max.xorsign.abs.f32 r, r, r", "ff", minmax, FLOAT32, 0, 0},
    {"max.ftz.abs.f32 r, r, r, r", "fff", minmax, BITS, 0, 0},
    {"max.f64 d, d, d", "ee", minmax, BITS, 0, 0},
    {"max.f16x2 r, r, r", "xx", minmax, BITS, 0, 0},
    {"max.NaN.bf16 h, h, h", "bb", minmax, BITS, 0, 0},
    {"testp.finite.f32 p, r", "f", testp, BITS, 0, 0},
    {"testp.infinite.f32 p, r", "f", testp, BITS, 0, 0},
    {"testp.number.f32 p, r", "f", testp, BITS, 0, 0},
    {"testp.notanumber.f32 p, r", "f", testp, BITS, 0, 0},
    {"testp.normal.f32 p, r", "f", testp, BITS, 0, 0},
    {"testp.subnormal.f32 p, r", "f", testp, BITS, 0, 0},
    {"testp.finite.f64 p, d", "e", testp, BITS, 0, 0},
    {"testp.infinite.f64 p, d", "e", testp, BITS, 0, 0},
    {"testp.normal.f64 p, d", "e", testp, BITS, 0, 0},
    {"testp.subnormal.f64 p, d", "e", testp, BITS, 0, 0},
    ALL_SETP(".f32", "r, r", "ff"),
    ALL_SETP(".ftz.f32", "r, r", "ff"),
    ALL_SETP(".f64", "d, d", "ee"),
    ALL_SETP(".f16", "h, h", "hh"),
    {"setp.lt.f32 p|p, r, r", "ff", setp, BITS, 0, 0},
    {"setp.geu.and.f32 p|p, r, r, p", "ffp", setp, BITS, 0, 0},
    {"setp.lt.ftz.f16x2 p|p, r, r", "xx", setp, BITS, 0, 0},
    {"setp.ne.or.f16x2 p|p, r, r, p", "xxp", setp, BITS, 0, 0},
    {"setp.equ.bf16 p, h, h", "bb", setp, BITS, 0, 0},
    {"setp.gt.xor.bf16x2 p|p, r, r, p", "yyp", setp, BITS, 0, 0},
    {"set.lt.ftz.f32.f32 r, r, r", "ff", set, BITS, 0, 0},
    {"set.geu.u32.f32 r, r, r", "ff", set, BITS, 0, 0},
    {"set.num.and.s32.f64 r, d, d, p", "eep", set, BITS, 0, 0},
    {"set.le.f16.f16 h, h, h", "hh", set, BITS, 0, 0},
    {"set.gt.f16x2.f16x2 r, r, r", "xx", set, BITS, 0, 0},
    {"set.ltu.or.u32.f16x2 r, r, r, p", "xxp", set, BITS, 0, 0},
    {"set.eq.bf16x2.bf16x2 r, r, r", "yy", set, BITS, 0, 0},
    {"set.neu.bf16.bf16 h, h, h", "bb", set, BITS, 0, 0},
};

static void floats_follow_the_isa(void **state)
{
    (void)state;
    assert_int_equal(harness_run(forms, sizeof forms / sizeof *forms), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(floats_follow_the_isa)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
