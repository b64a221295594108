/* SPDX-License-Identifier: MIT
 *
 * Integer arithmetic, compares and selection.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "harness.h"

typedef __int128 wide;

static wide value(uint64_t v, unsigned bits, int is_signed)
{
    uint64_t mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    v &= mask;
    if (is_signed && v >> (bits - 1) & 1)
        return (wide)v - ((wide)1 << bits);
    return v;
}

static wide source(const struct form *f, const uint64_t *in, unsigned i)
{
    struct form_type t = form_type(f, 0);
    return value(in[i], t.bits, t.letter == 's');
}

static wide clamp_s32(wide v)
{
    return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
}

static uint64_t carry(wide unsigned_sum, unsigned bits)
{
    return (uint64_t)(unsigned_sum >> bits) & 1;
}

static wide plain(const struct form *f, uint64_t v)
{
    return value(v, form_type(f, 0).bits, 0);
}

static void add(const struct form *f, const uint64_t *in, uint64_t *out)
{
    wide r = source(f, in, 0) + source(f, in, 1);
    wide c = strchr(f->kinds, 'c') ? (wide)in[2] : 0;
    out[0] = (uint64_t)(form_has(f, ".sat") ? clamp_s32(r) : r + c);
    out[2] = carry(plain(f, in[0]) + plain(f, in[1]) + c, form_type(f, 0).bits);
}

/* The flag is the carry of a + ~b + 1: a borrow leaves it clear. */
static void sub(const struct form *f, const uint64_t *in, uint64_t *out)
{
    wide r = source(f, in, 0) - source(f, in, 1);
    wide borrow = strchr(f->kinds, 'c') ? (wide)!in[2] : 0;
    out[0] = (uint64_t)(form_has(f, ".sat") ? clamp_s32(r) : r - borrow);
    out[2] = !(plain(f, in[0]) < plain(f, in[1]) + borrow);
}

static wide product(const struct form *f, const uint64_t *in)
{
    unsigned bits = form_type(f, 0).bits;
    wide a = source(f, in, 0), b = source(f, in, 1);
    if (!form_has(f, ".hi"))
        return (wide)((unsigned __int128)a * (unsigned __int128)b);
    if (form_type(f, 0).letter == 's')
        return (a * b) >> bits;
    return (wide)(((unsigned __int128)a * (unsigned __int128)b) >> bits);
}

static void mul(const struct form *f, const uint64_t *in, uint64_t *out)
{
    out[0] = (uint64_t)product(f, in);
}

static void mad(const struct form *f, const uint64_t *in, uint64_t *out)
{
    struct form_type t = form_type(f, 0);
    unsigned bits = form_has(f, ".wide") ? 2 * t.bits : t.bits;
    wide p = product(f, in), c = value(in[2], bits, t.letter == 's');
    wide k = strchr(f->kinds, 'c') ? (wide)in[3] : 0;
    if (form_has(f, ".sat")) {
        out[0] = (uint64_t)clamp_s32(p + c);
        return;
    }
    out[0] = (uint64_t)(value((uint64_t)p, bits, 0) + c + k);
    out[2] =
        carry(value((uint64_t)p, bits, 0) + value(in[2], bits, 0) + k, bits);
}

static void mul24(const struct form *f, const uint64_t *in, uint64_t *out)
{
    int s = form_type(f, 0).letter == 's';
    wide p = value(in[0], 24, s) * value(in[1], 24, s);
    if (form_has(f, ".hi"))
        p >>= 16;
    out[0] = (uint64_t)p;
    if (strlen(f->kinds) < 3)
        return;
    if (form_has(f, ".sat"))
        out[0] = (uint64_t)clamp_s32(value((uint64_t)p, 32, 1) +
                                     value(in[2], 32, 1));
    else
        out[0] += in[2];
}

/* By zero: what NVIDIA's devices give, since the ISA leaves it open. */
static void divide(const struct form *f, const uint64_t *in, uint64_t *out)
{
    wide a = source(f, in, 0), b = source(f, in, 1);
    wide q = b ? a / b : -1;
    /* By zero both are all ones, as on NVIDIA's devices. */
    out[0] = (uint64_t)(form_has(f, "rem") && b ? a - q * b : q);
}

static void negate(const struct form *f, const uint64_t *in, uint64_t *out)
{
    wide a = source(f, in, 0);
    out[0] = (uint64_t)(form_has(f, "abs") && a > 0 ? a : -a);
}

static void minmax(const struct form *f, const uint64_t *in, uint64_t *out)
{
    wide a = source(f, in, 0), b = source(f, in, 1);
    wide r = form_has(f, "min") ? (a < b ? a : b) : (a > b ? a : b);
    out[0] = (uint64_t)(form_has(f, ".relu") && r < 0 ? 0 : r);
}

static void halves(const struct form *f, const uint64_t *in, uint64_t *out)
{
    uint64_t r = 0;
    for (unsigned h = 0; h < 2; h++) {
        uint64_t part[2] = {in[0] >> (16 * h), in[1] >> (16 * h)}, one[3];
        if (form_has(f, "add"))
            add(f, part, one);
        else
            minmax(f, part, one);
        r |= (one[0] & 0xffff) << (16 * h);
    }
    out[0] = r;
}

static void sad(const struct form *f, const uint64_t *in, uint64_t *out)
{
    wide d = source(f, in, 0) - source(f, in, 1);
    out[0] = (uint64_t)(source(f, in, 2) + (d < 0 ? -d : d));
}

static void dot(const struct form *f, const uint64_t *in, uint64_t *out)
{
    int four = form_has(f, "dp4a"), high = form_has(f, ".hi");
    int as = form_type(f, 0).letter == 's', bs = form_type(f, 1).letter == 's';
    wide r = (wide)in[2];
    for (unsigned i = 0; i < (four ? 4u : 2u); i++) {
        unsigned width = four ? 8 : 16;
        wide a = value(in[0] >> (width * i), width, as);
        wide b = value(in[1] >> (8 * (i + (high ? 2 : 0))), 8, bs);
        r += a * b;
    }
    out[0] = (uint64_t)r;
}

static int compare(const struct form *f, wide a, wide b)
{
    static const char *const names[] = {".eq", ".ne", ".lt", ".le", ".gt",
                                        ".ge", ".lo", ".ls", ".hi", ".hs"};
    int results[] = {
        a == b, a != b, a<b, a <= b, a> b, a >= b, a<b, a <= b, a> b, a >= b};
    for (unsigned i = 0; i < 10; i++)
        if (form_has(f, names[i]))
            return results[i];
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
    int p = compare(f, source(f, in, 0), source(f, in, 1));
    out[0] = (uint64_t)combine(f, p, in);
    out[1] = (uint64_t)combine(f, !p, in);
}

static void set(const struct form *f, const uint64_t *in, uint64_t *out)
{
    struct form_type t = form_type(f, 1);
    int p = compare(f, value(in[0], t.bits, t.letter == 's'),
                    value(in[1], t.bits, t.letter == 's'));
    uint64_t yes = form_type(f, 0).letter == 'f' ? 0x3f800000 : UINT64_MAX;
    out[0] = combine(f, p, in) ? yes : 0;
}

static void selp(const struct form *f, const uint64_t *in, uint64_t *out)
{
    (void)f;
    out[0] = in[2] ? in[0] : in[1];
}

static void slct(const struct form *f, const uint64_t *in, uint64_t *out)
{
    int zero = form_has(f, ".ftz") && (in[2] & 0x7f800000) == 0;
    int nan = (in[2] & 0x7fffffff) > 0x7f800000;
    int ge = form_type(f, 1).letter == 's'
                 ? (int32_t)in[2] >= 0
                 : !nan && (!(in[2] >> 31) || in[2] == 0x80000000 || zero);
    out[0] = ge ? in[0] : in[1];
}

static const struct form forms[] = {
    {"add.u16 h, h, h", "ww", add, BITS, 0, 0},
    {"add.s16 h, h, h", "ww", add, BITS, 0, 0},
    {"add.u32 r, r, r", "ii", add, BITS, 0, 0},
    {"add.s64 d, d, d", "ll", add, BITS, 0, 0},
    {"add.sat.s32 r, r, r", "ii", add, BITS, 0, 0},
    {"add.cc.u32 r, r, r", "ii", add, BITS, 0, 0},
    {"add.cc.s64 d, d, d", "ll", add, BITS, 0, 0},
    {"addc.u32 r, r, r", "iic", add, BITS, 0, 0},
    {"addc.cc.s32 r, r, r", "iic", add, BITS, 0, 0},
    {"addc.cc.u64 d, d, d", "llc", add, BITS, 0, 0},
    {"sub.u16 h, h, h", "ww", sub, BITS, 0, 0},
    {"sub.s32 r, r, r", "ii", sub, BITS, 0, 0},
    {"sub.u64 d, d, d", "ll", sub, BITS, 0, 0},
    {"sub.sat.s32 r, r, r", "ii", sub, BITS, 0, 0},
    {"sub.cc.u32 r, r, r", "ii", sub, BITS, 0, 0},
    {"sub.cc.u64 d, d, d", "ll", sub, BITS, 0, 0},
    {"subc.s32 r, r, r", "iic", sub, BITS, 0, 0},
    {"subc.cc.u32 r, r, r", "iic", sub, BITS, 0, 0},
    {"subc.cc.u64 d, d, d", "llc", sub, BITS, 0, 0},
    {"mul.lo.u16 h, h, h", "ww", mul, BITS, 0, 0},
    {"mul.lo.s32 r, r, r", "ii", mul, BITS, 0, 0},
    {"mul.lo.u64 d, d, d", "ll", mul, BITS, 0, 0},
    {"mul.hi.u16 h, h, h", "ww", mul, BITS, 0, 0},
    {"mul.hi.s16 h, h, h", "ww", mul, BITS, 0, 0},
    {"mul.hi.u32 r, r, r", "ii", mul, BITS, 0, 0},
    {"mul.hi.s32 r, r, r", "ii", mul, BITS, 0, 0},
    {"mul.hi.u64 d, d, d", "ll", mul, BITS, 0, 0},
    {"mul.hi.s64 d, d, d", "ll", mul, BITS, 0, 0},
    {"mul.wide.u16 r, h, h", "ww", mul, BITS, 0, 0},
    {"mul.wide.s16 r, h, h", "ww", mul, BITS, 0, 0},
    {"mul.wide.u32 d, r, r", "ii", mul, BITS, 0, 0},
    {"mul.wide.s32 d, r, r", "ii", mul, BITS, 0, 0},
    {"mad.lo.s16 h, h, h, h", "www", mad, BITS, 0, 0},
    {"mad.lo.u32 r, r, r, r", "iii", mad, BITS, 0, 0},
    {"mad.lo.s64 d, d, d, d", "lll", mad, BITS, 0, 0},
    {"mad.hi.u32 r, r, r, r", "iii", mad, BITS, 0, 0},
    {"mad.hi.s32 r, r, r, r", "iii", mad, BITS, 0, 0},
    {"mad.hi.u64 d, d, d, d", "lll", mad, BITS, 0, 0},
    {"mad.hi.sat.s32 r, r, r, r", "iii", mad, BITS, 0, 0},
    {"mad.wide.u16 r, h, h, r", "wwi", mad, BITS, 0, 0},
    {"mad.wide.s32 d, r, r, d", "iil", mad, BITS, 0, 0},
    {"mad.wide.u32 d, r, r, d", "iil", mad, BITS, 0, 0},
    {"mad.lo.cc.u32 r, r, r, r", "iii", mad, BITS, 0, 0},
    {"mad.hi.cc.u64 d, d, d, d", "lll", mad, BITS, 0, 0},
    {"madc.lo.u32 r, r, r, r", "iiic", mad, BITS, 0, 0},
    {"madc.hi.cc.u32 r, r, r, r", "iiic", mad, BITS, 0, 0},
    {"madc.lo.cc.u64 d, d, d, d", "lllc", mad, BITS, 0, 0},
    {"mul24.lo.u32 r, r, r", "ii", mul24, BITS, 0, 0},
    {"mul24.lo.s32 r, r, r", "ii", mul24, BITS, 0, 0},
    {"mul24.hi.u32 r, r, r", "ii", mul24, BITS, 0, 0},
    {"mul24.hi.s32 r, r, r", "ii", mul24, BITS, 0, 0},
    {"mad24.lo.u32 r, r, r, r", "iii", mul24, BITS, 0, 0},
    {"mad24.hi.s32 r, r, r, r", "iii", mul24, BITS, 0, 0},
    {"mad24.hi.sat.s32 r, r, r, r", "iii", mul24, BITS, 0, 0},
    {"div.u16 h, h, h", "ww", divide, BITS, 0, 0},
    {"div.s16 h, h, h", "ww", divide, BITS, 0, 0},
    {"div.u32 r, r, r", "ii", divide, BITS, 0, 0},
    {"div.s32 r, r, r", "ii", divide, BITS, 0, 0},
    {"div.u64 d, d, d", "ll", divide, BITS, 0, 0},
    {"div.s64 d, d, d", "ll", divide, BITS, 0, 0},
    {"rem.u16 h, h, h", "ww", divide, BITS, 0, 0},
    {"rem.s16 h, h, h", "ww", divide, BITS, 0, 0},
    {"rem.u32 r, r, r", "ii", divide, BITS, 0, 0},
    {"rem.s32 r, r, r", "ii", divide, BITS, 0, 0},
    {"rem.u64 d, d, d", "ll", divide, BITS, 0, 0},
    {"rem.s64 d, d, d", "ll", divide, BITS, 0, 0},
    {"neg.s16 h, h", "w", negate, BITS, 0, 0},
    {"neg.s32 r, r", "i", negate, BITS, 0, 0},
    {"neg.s64 d, d", "l", negate, BITS, 0, 0},
    {"abs.s16 h, h", "w", negate, BITS, 0, 0},
    {"abs.s32 r, r", "i", negate, BITS, 0, 0},
    {"abs.s64 d, d", "l", negate, BITS, 0, 0},
    {"min.u16 h, h, h", "ww", minmax, BITS, 0, 0},
    {"min.s32 r, r, r", "ii", minmax, BITS, 0, 0},
    {"min.u32 r, r, r", "ii", minmax, BITS, 0, 0},
    {"min.s64 d, d, d", "ll", minmax, BITS, 0, 0},
    {"min.relu.s32 r, r, r", "ii", minmax, BITS, 0, 0},
    {"max.s16 h, h, h", "ww", minmax, BITS, 0, 0},
    {"max.u32 r, r, r", "ii", minmax, BITS, 0, 0},
    {"max.s32 r, r, r", "ii", minmax, BITS, 0, 0},
    {"max.u64 d, d, d", "ll", minmax, BITS, 0, 0},
    {"max.relu.s32 r, r, r", "ii", minmax, BITS, 0, 0},
    {"add.u16x2 r, r, r", "ii", halves, BITS, 0, 0},
    {"add.s16x2 r, r, r", "ii", halves, BITS, 0, 0},
    {"min.u16x2 r, r, r", "ii", halves, BITS, 0, 0},
    {"max.s16x2 r, r, r", "ii", halves, BITS, 0, 0},
    {"max.relu.s16x2 r, r, r", "ii", halves, BITS, 0, 0},
    {"sad.u16 h, h, h, h", "www", sad, BITS, 0, 0},
    {"sad.s32 r, r, r, r", "iii", sad, BITS, 0, 0},
    {"sad.u32 r, r, r, r", "iii", sad, BITS, 0, 0},
    {"sad.s64 d, d, d, d", "lll", sad, BITS, 0, 0},
    {"dp4a.u32.u32 r, r, r, r", "iii", dot, BITS, 0, 0},
    {"dp4a.s32.s32 r, r, r, r", "iii", dot, BITS, 0, 0},
    {"dp4a.s32.u32 r, r, r, r", "iii", dot, BITS, 0, 0},
    {"dp2a.lo.u32.s32 r, r, r, r", "iii", dot, BITS, 0, 0},
    {"dp2a.hi.s32.u32 r, r, r, r", "iii", dot, BITS, 0, 0},
    {"setp.eq.b16 p, h, h", "ww", setp, BITS, 0, 0},
    {"setp.ne.b64 p, d, d", "ll", setp, BITS, 0, 0},
    {"setp.lt.s32 p, r, r", "ii", setp, BITS, 0, 0},
    {"setp.le.u32 p, r, r", "ii", setp, BITS, 0, 0},
    {"setp.gt.s16 p, h, h", "ww", setp, BITS, 0, 0},
    {"setp.ge.s64 p, d, d", "ll", setp, BITS, 0, 0},
    {"setp.lt.u64 p, d, d", "ll", setp, BITS, 0, 0},
    {"setp.lo.u32 p, r, r", "ii", setp, BITS, 0, 0},
    {"setp.ls.u16 p, h, h", "ww", setp, BITS, 0, 0},
    {"setp.hi.u32 p, r, r", "ii", setp, BITS, 0, 0},
    {"setp.hs.u64 p, d, d", "ll", setp, BITS, 0, 0},
    {"setp.lt.s32 p|p, r, r", "ii", setp, BITS, 0, 0},
    {"setp.lt.and.s32 p, r, r, p", "iip", setp, BITS, 0, 0},
    {"setp.eq.or.u32 p|p, r, r, p", "iip", setp, BITS, 0, 0},
    {"setp.ge.xor.s32 p|p, r, r, p", "iip", setp, BITS, 0, 0},
    {"set.lt.u32.s32 r, r, r", "ii", set, BITS, 0, 0},
    {"set.ge.s32.u64 r, d, d", "ll", set, BITS, 0, 0},
    {"set.eq.f32.s16 r, h, h", "ww", set, BITS, 0, 0},
    {"set.ne.xor.u32.u32 r, r, r, p", "iip", set, BITS, 0, 0},
    {"selp.b16 h, h, h, p", "wwp", selp, BITS, 0, 0},
    {"selp.s32 r, r, r, p", "iip", selp, BITS, 0, 0},
    {"selp.f64 d, d, d, p", "llp", selp, BITS, 0, 0},
    {"slct.u32.s32 r, r, r, r", "iii", slct, BITS, 0, 0},
    {"slct.b64.s32 d, d, d, r", "lli", slct, BITS, 0, 0},
    {"slct.s32.f32 r, r, r, r", "iif", slct, BITS, 0, 0},
    {"slct.ftz.b16.f32 h, h, h, r", "wwf", slct, BITS, 0, 0},
};

static void integers_follow_the_isa(void **state)
{
    (void)state;
    assert_int_equal(harness_run(forms, sizeof forms / sizeof *forms), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_follow_the_isa)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
