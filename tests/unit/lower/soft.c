/* SPDX-License-Identifier: MIT
 *
 * See soft.h.
 */
#include "soft.h"

const struct soft_format SOFT_F16 = {16, 10}, SOFT_BF16 = {16, 7},
                         SOFT_F32 = {32, 23}, SOFT_F64 = {64, 52};

static unsigned exponent_bits(const struct soft_format *f)
{
    return f->bits - 1 - f->fraction;
}

static int bias(const struct soft_format *f)
{
    return (1 << (exponent_bits(f) - 1)) - 1;
}

struct soft soft_unpack(uint64_t bits, const struct soft_format *f)
{
    struct soft v = {SOFT_FINITE, 0, 0, 0, 0};
    uint64_t top = (UINT64_C(1) << exponent_bits(f)) - 1;
    uint64_t exponent = bits >> f->fraction & top;
    uint64_t fraction = bits & ((UINT64_C(1) << f->fraction) - 1);
    v.sign = (int)(bits >> (f->bits - 1) & 1);
    v.m = fraction;
    if (exponent == top) {
        v.class = fraction ? SOFT_NAN : SOFT_INF;
        return v;
    }
    if (exponent)
        v.m |= (soft_wide)1 << f->fraction;
    v.e = (exponent ? (int)exponent : 1) - bias(f) - (int)f->fraction;
    return v;
}

static int top_bit(soft_wide m)
{
    uint64_t high = (uint64_t)(m >> 64), low = (uint64_t)m;
    if (high)
        return 127 - __builtin_clzll(high);
    return low ? 63 - __builtin_clzll(low) : -1;
}

/* Whether m, cut by `cut` bits with `sticky` below, steps away from zero. */
static unsigned steps(soft_wide kept, soft_wide rest, soft_wide half,
                      int sticky, int sign, enum soft_mode mode)
{
    int some = rest != 0 || sticky;
    switch (mode) {
    case SOFT_RZ:
        return 0;
    case SOFT_RM:
        return some && sign ? 1 : 0;
    case SOFT_RP:
        return some && !sign ? 1 : 0;
    case SOFT_RNA:
        return rest >= half ? 1 : 0;
    default:
        return rest > half || (rest == half && (sticky || (kept & 1))) ? 1 : 0;
    }
}

uint64_t soft_pack(struct soft v, const struct soft_format *f,
                   enum soft_mode mode)
{
    uint64_t sign = (uint64_t)v.sign << (f->bits - 1);
    uint64_t inf = ((UINT64_C(1) << exponent_bits(f)) - 1) << f->fraction;
    if (v.class == SOFT_NAN)
        return (UINT64_C(1) << (f->bits - 1)) - 1;
    if (v.class == SOFT_INF)
        return sign | inf;
    if (v.m == 0 && !v.sticky)
        return sign;
    /* Room below m for the bits that are rounded away. */
    int room = v.m ? 120 - top_bit(v.m) : 0;
    if (room > 0) {
        v.m <<= room;
        v.e -= room;
    }
    if (!v.m) /* nothing but what is below: far down */
        v.e = -5000;
    int least = 1 - bias(f) - (int)f->fraction; /* of the last place */
    int e = v.e + top_bit(v.m) - (int)f->fraction;
    if (e < least)
        e = least;
    int cut = e - v.e;
    soft_wide kept, rest, half;
    if (cut > 126) { /* far below the last place */
        kept = 0;
        rest = v.m ? 1 : 0;
        half = 4;
    } else {
        kept = v.m >> cut;
        rest = v.m - (kept << cut);
        half = (soft_wide)1 << (cut - 1);
    }
    kept += steps(kept, rest, half, v.sticky, v.sign, mode);
    if (kept >> (f->fraction + 1)) {
        kept >>= 1;
        e++;
    }
    if (!(kept >> f->fraction)) /* subnormal or zero */
        return sign | (uint64_t)kept;
    int exponent = e + (int)f->fraction + bias(f);
    if (exponent >= (1 << exponent_bits(f)) - 1) {
        int away = mode == SOFT_RN || mode == SOFT_RNA ||
                   (mode == SOFT_RM && v.sign) || (mode == SOFT_RP && !v.sign);
        return sign | (away ? inf : inf - 1);
    }
    uint64_t fraction = (uint64_t)kept & ((UINT64_C(1) << f->fraction) - 1);
    return sign | (uint64_t)exponent << f->fraction | fraction;
}

struct soft soft_int(uint64_t v, unsigned bits, int is_signed)
{
    struct soft r = {SOFT_FINITE, 0, 0, 0, 0};
    if (bits < 64)
        v &= (UINT64_C(1) << bits) - 1;
    r.m = v;
    if (is_signed && v >> (bits - 1) & 1) {
        r.sign = 1;
        r.m = ((soft_wide)1 << bits) - v;
    }
    return r;
}

static struct soft nan_value(void)
{
    struct soft v = {SOFT_NAN, 0, 1, 0, 0};
    return v;
}

struct soft soft_add(struct soft a, struct soft b, enum soft_mode mode)
{
    if (a.class == SOFT_NAN || b.class == SOFT_NAN)
        return nan_value();
    if (a.class == SOFT_INF)
        return b.class == SOFT_INF && a.sign != b.sign ? nan_value() : a;
    if (b.class == SOFT_INF)
        return b;
    if (!a.m && !b.m) {
        a.sign = a.sign == b.sign ? a.sign : mode == SOFT_RM;
        return a;
    }
    if (!b.m)
        return a;
    if (!a.m)
        return b;
    /* a is the one whose last place is higher: lift it. */
    if (a.e < b.e) {
        struct soft t = a;
        a = b;
        b = t;
    }
    while (a.e > b.e && top_bit(a.m) < 122) {
        a.m <<= 1;
        a.e--;
    }
    int sticky = 0;
    while (b.e < a.e) {
        sticky |= (int)(b.m & 1);
        b.m >>= 1;
        b.e++;
    }
    if (a.sign == b.sign) {
        a.m += b.m;
    } else if (a.m > b.m || (a.m == b.m && !sticky)) {
        /* The cut part of b lowers the difference below the next integer. */
        a.m -= b.m + (unsigned)sticky;
    } else {
        a.m = b.m - a.m;
        a.sign = b.sign;
    }
    a.sticky = sticky;
    if (!a.m && !sticky)
        a.sign = mode == SOFT_RM;
    return a;
}

struct soft soft_mul(struct soft a, struct soft b)
{
    int sign = a.sign ^ b.sign;
    if (a.class == SOFT_NAN || b.class == SOFT_NAN)
        return nan_value();
    if (a.class == SOFT_INF || b.class == SOFT_INF) {
        if ((a.class == SOFT_FINITE && !a.m) ||
            (b.class == SOFT_FINITE && !b.m))
            return nan_value();
        a.class = SOFT_INF;
        a.sign = sign;
        return a;
    }
    a.m *= b.m;
    a.e += b.e;
    a.sign = sign;
    return a;
}

struct soft soft_rint(struct soft v, enum soft_mode mode)
{
    if (v.class != SOFT_FINITE || v.e >= 0)
        return v;
    int cut = -v.e;
    soft_wide kept = cut > 120 ? 0 : v.m >> cut;
    soft_wide rest = cut > 120 ? (v.m != 0) : v.m - (kept << cut);
    soft_wide half = cut > 120 ? 4 : (soft_wide)1 << (cut - 1);
    v.m = kept + steps(kept, rest, half, v.sticky, v.sign, mode);
    v.e = 0;
    v.sticky = 0;
    return v;
}

uint64_t soft_to_int(struct soft v, unsigned bits, int is_signed,
                     enum soft_mode mode)
{
    uint64_t ones = UINT64_MAX >> (64 - bits);
    uint64_t top = is_signed ? ones >> 1 : ones;
    uint64_t low = is_signed ? top + 1 : 0; /* its bits */
    if (v.class == SOFT_NAN)
        return 0;
    if (v.class == SOFT_INF)
        return v.sign ? low : top;
    v = soft_rint(v, mode);
    for (; v.e > 0; v.e--) {
        if (v.m >> 100)
            break;
        v.m <<= 1;
    }
    if (v.sign) {
        if (v.m >= low)
            return low;
        return (0 - (uint64_t)v.m) & ones;
    }
    return v.m > top ? top : (uint64_t)v.m;
}

int soft_is_subnormal(uint64_t bits, const struct soft_format *f)
{
    uint64_t exponent = ((UINT64_C(1) << exponent_bits(f)) - 1) << f->fraction;
    return (bits & exponent) == 0 &&
           (bits & (exponent - 1) & ((UINT64_C(1) << f->fraction) - 1)) != 0;
}

uint64_t soft_flush(uint64_t bits, const struct soft_format *f)
{
    return soft_is_subnormal(bits, f) ? bits & UINT64_C(1) << (f->bits - 1)
                                      : bits;
}

int soft_compare(struct soft a, struct soft b)
{
    if (a.class == SOFT_NAN || b.class == SOFT_NAN)
        return 2;
    if (a.class == SOFT_FINITE && b.class == SOFT_FINITE && !a.m && !b.m)
        return 0;
    if (a.class == SOFT_INF || b.class == SOFT_INF) {
        int x = a.class == SOFT_INF ? (a.sign ? -1 : 1) : 0;
        int y = b.class == SOFT_INF ? (b.sign ? -1 : 1) : 0;
        return (x > y) - (x < y);
    }
    b.sign ^= 1;
    struct soft d = soft_add(a, b, SOFT_RN);
    if (!d.m && !d.sticky)
        return 0;
    return d.sign ? -1 : 1;
}
