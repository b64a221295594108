/* SPDX-License-Identifier: MIT
 *
 * Logic, shifts, bit fields, permutes and integer conversions: bit by bit, as
 * the manual writes them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"

static uint64_t mask_of(unsigned bits)
{
    return bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static unsigned width(const struct form *f)
{
    return form_type(f, 0).bits;
}

static int is_signed(const struct form *f)
{
    return form_type(f, 0).letter == 's';
}

static void logic(const struct form *f, const uint64_t *in, uint64_t *out)
{
    if (form_has(f, "and."))
        out[0] = in[0] & in[1];
    else if (form_has(f, "xor."))
        out[0] = in[0] ^ in[1];
    else if (form_has(f, "cnot."))
        out[0] = in[0] == 0;
    else if (form_has(f, "not."))
        out[0] = ~in[0];
    else
        out[0] = in[0] | in[1];
}

/* `arg` - 1 is a constant amount. */
static void shift(const struct form *f, const uint64_t *in, uint64_t *out)
{
    unsigned bits = width(f);
    uint64_t v = in[0], n = f->arg ? f->arg - 1 : in[1];
    uint64_t sign = is_signed(f) && v >> (bits - 1) & 1;
    for (uint64_t i = 0; i < n && i <= bits; i++)
        v = form_has(f, "shl") ? v << 1 & mask_of(bits)
                               : v >> 1 | sign << (bits - 1);
    out[0] = v;
}

static void shf(const struct form *f, const uint64_t *in, uint64_t *out)
{
    uint64_t pair = in[1] << 32 | in[0];
    uint64_t n = form_has(f, ".wrap") ? in[2] & 31 : in[2] > 32 ? 32 : in[2];
    out[0] = form_has(f, ".l") ? (pair << n) >> 32 : pair >> n;
}

static uint64_t field_number(const struct form *f, uint64_t v)
{
    return width(f) == 64 ? v : v & 0xff;
}

static void bfe(const struct form *f, const uint64_t *in, uint64_t *out)
{
    unsigned msb = width(f) - 1;
    uint64_t pos = field_number(f, in[1]), len = field_number(f, in[2]);
    uint64_t sign = 0, r = 0;
    uint64_t at = pos + len - 1 < msb ? pos + len - 1 : msb;
    if (is_signed(f) && len)
        sign = in[0] >> at & 1;
    for (unsigned i = 0; i <= msb; i++)
        r |= (i < len && pos + i <= msb ? in[0] >> (pos + i) & 1 : sign) << i;
    out[0] = r;
}

static void bfi(const struct form *f, const uint64_t *in, uint64_t *out)
{
    unsigned msb = width(f) - 1;
    uint64_t pos = field_number(f, in[2]), len = field_number(f, in[3]);
    uint64_t r = in[1];
    for (uint64_t i = 0; i < len && pos + i <= msb; i++) {
        r &= ~(UINT64_C(1) << (pos + i));
        r |= (in[0] >> i & 1) << (pos + i);
    }
    out[0] = r;
}

static void bfind(const struct form *f, const uint64_t *in, uint64_t *out)
{
    int msb = (int)width(f) - 1;
    uint64_t v = in[0];
    if (is_signed(f) && v >> msb & 1)
        v = ~v & mask_of(width(f));
    out[0] = 0xffffffff;
    for (int i = msb; i >= 0; i--)
        if (v >> i & 1) {
            out[0] = (uint64_t)(form_has(f, ".shiftamt") ? msb - i : i);
            return;
        }
}

static void count(const struct form *f, const uint64_t *in, uint64_t *out)
{
    unsigned bits = width(f), n = 0;
    uint64_t r = 0;
    for (unsigned i = 0; i < bits; i++) {
        n += (unsigned)(in[0] >> i & 1);
        r |= (in[0] >> i & 1) << (bits - 1 - i);
    }
    if (form_has(f, "popc"))
        out[0] = n;
    else if (form_has(f, "brev"))
        out[0] = r;
    else
        for (out[0] = 0; out[0] < bits && !(r & 1); out[0]++)
            r >>= 1;
}

static void bmsk(const struct form *f, const uint64_t *in, uint64_t *out)
{
    int clamp = form_has(f, ".clamp");
    uint64_t pos = clamp ? in[0] : in[0] & 31, n = clamp ? in[1] : in[1] & 31;
    out[0] = 0;
    for (uint64_t i = 0; i < 32; i++)
        if (i >= pos && i < pos + n)
            out[0] |= UINT64_C(1) << i;
}

static void szext(const struct form *f, const uint64_t *in, uint64_t *out)
{
    unsigned n = in[1] & 31;
    if (form_has(f, ".clamp") && in[1] >= 32) {
        out[0] = in[0];
        return;
    }
    out[0] = in[0] & ((UINT64_C(1) << n) - 1);
    if (n && is_signed(f) && in[0] >> (n - 1) & 1)
        out[0] |= 0xffffffff << n & 0xffffffff;
}

static void fns(const struct form *f, const uint64_t *in, uint64_t *out)
{
    int32_t offset = (int32_t)in[2];
    int64_t pos = (int64_t)in[1], left = offset < 0 ? -(int64_t)offset : offset;
    (void)f;
    out[0] = 0xffffffff;
    if (offset == 0 && pos < 32 && in[0] >> pos & 1)
        out[0] = in[1];
    for (; offset && pos >= 0 && pos<32; pos += offset> 0 ? 1 : -1)
        if (in[0] >> pos & 1 && --left == 0) {
            out[0] = (uint64_t)pos;
            return;
        }
}

static void lop3(const struct form *f, const uint64_t *in, uint64_t *out)
{
    uint64_t r = 0;
    for (unsigned i = 0; i < 32; i++) {
        unsigned at = (unsigned)((in[0] >> i & 1) << 2 | (in[1] >> i & 1) << 1 |
                                 (in[2] >> i & 1));
        r |= (uint64_t)(f->arg >> at & 1) << i;
    }
    out[0] = r;
    if (form_has(f, ".and"))
        out[1] = r != 0 && in[3];
    else
        out[1] = r != 0 || in[3];
}

/* `arg` is a constant selector with its top bit set. */
static void prmt(const struct form *f, const uint64_t *in, uint64_t *out)
{
    static const struct {
        const char *name;
        uint16_t selectors[4];
    } modes[] = {
        {".f4e", {0x3210, 0x4321, 0x5432, 0x6543}},
        {".b4e", {0x5670, 0x6701, 0x7012, 0x0123}},
        {".rc8", {0x0000, 0x1111, 0x2222, 0x3333}},
        {".ecl", {0x3210, 0x3211, 0x3222, 0x3333}},
        {".ecr", {0x0000, 0x1110, 0x2210, 0x3210}},
        {".rc16", {0x1010, 0x3232, 0x1010, 0x3232}},
    };
    uint64_t pair = in[1] << 32 | in[0], r = 0;
    uint64_t selector = f->arg ? f->arg & 0xffff : in[2];
    for (unsigned i = 0; i < 6; i++)
        if (form_has(f, modes[i].name))
            selector = modes[i].selectors[in[2] & 3];
    for (unsigned i = 0; i < 4; i++) {
        uint64_t s = selector >> (4 * i) & 15;
        uint64_t byte = pair >> (8 * (s & 7)) & 0xff;
        if (s & 8)
            byte = byte & 0x80 ? 0xff : 0;
        r |= byte << (8 * i);
    }
    out[0] = r;
}

static __int128 value(uint64_t v, unsigned bits, int with_sign)
{
    v &= mask_of(bits);
    return with_sign && v >> (bits - 1) & 1
               ? (__int128)v - ((__int128)1 << bits)
               : (__int128)v;
}

static void convert(const struct form *f, const uint64_t *in, uint64_t *out)
{
    struct form_type to = form_type(f, 0), from = form_type(f, 1);
    int to_signed = to.letter == 's';
    __int128 v = value(in[0], from.bits, from.letter == 's');
    __int128 top = (__int128)mask_of(to.bits - (unsigned)to_signed);
    __int128 low = to_signed ? -top - 1 : 0;
    if (form_has(f, ".sat"))
        v = v > top ? top : v < low ? low : v;
    /* The register may be wider than the type. */
    out[0] = (uint64_t)value((uint64_t)v, to.bits, to_signed);
}

static void pack(const struct form *f, const uint64_t *in, uint64_t *out)
{
    struct form_type to = form_type(f, 0);
    int to_signed = to.letter == 's', third = strlen(f->kinds) > 2;
    __int128 top = (__int128)mask_of(to.bits - (unsigned)to_signed);
    __int128 low = to_signed ? -top - 1 : 0;
    uint64_t part[2];
    for (unsigned i = 0; i < 2; i++) {
        __int128 v = value(in[i], 32, form_type(f, 1).letter == 's');
        v = v > top ? top : v < low ? low : v;
        part[i] = (uint64_t)v & mask_of(to.bits);
    }
    out[0] = part[0] << to.bits | part[1];
    if (third)
        out[0] |= in[2] << (2 * to.bits);
}

/* The part that operand i of the text selects: "r.h1". */
static void part_of(const struct form *f, unsigned i, unsigned *at,
                    unsigned *bits)
{
    const char *p = strchr(f->text, ' ');
    for (; i > 0; i--)
        p = strchr(p, ',') + 1;
    p += strspn(p, " ") + 1;
    *at = 0;
    *bits = 32;
    if (*p == '.') {
        *bits = p[1] == 'b' ? 8 : 16;
        *at = (unsigned)(p[2] - '0') * *bits;
    }
}

static __int128 limit(__int128 v, unsigned bits, int with_sign)
{
    __int128 top = (__int128)mask_of(bits - (unsigned)with_sign);
    __int128 low = with_sign ? -top - 1 : 0;
    return v > top ? top : v < low ? low : v;
}

static void video(const struct form *f, const uint64_t *in, uint64_t *out)
{
    int set = form_has(f, "vset"), mad = form_has(f, "vmad");
    int ds = !set && form_type(f, 0).letter == 's';
    int as = form_type(f, set ? 0 : 1).letter == 's';
    int bs = form_type(f, set ? 1 : 2).letter == 's';
    unsigned at, bits;
    part_of(f, 1, &at, &bits);
    __int128 a = value(in[0] >> at, bits, as), r;
    part_of(f, 2, &at, &bits);
    __int128 b = value(in[1] >> at, bits, bs);
    uint64_t n = form_has(f, ".wrap") ? (uint64_t)b & 31
                 : b > 32             ? 32
                                      : (uint64_t)b;
    if (mad) {
        int any = as || bs;
        r = a * b + value(in[2], 32, any) + form_has(f, ".po");
        r >>= form_has(f, ".shr7") ? 7 : form_has(f, ".shr15") ? 15 : 0;
        out[0] = (uint64_t)(form_has(f, ".sat") ? limit(r, 32, any) : r);
        return;
    }
    if (set)
        r = form_has(f, ".lt") ? a < b : form_has(f, ".ge") ? a >= b : a != b;
    else if (form_has(f, "vadd"))
        r = a + b;
    else if (form_has(f, "vsub"))
        r = a - b;
    else if (form_has(f, "vabsdiff"))
        r = a > b ? a - b : b - a;
    else if (form_has(f, "vmin"))
        r = a < b ? a : b;
    else if (form_has(f, "vmax"))
        r = a > b ? a : b;
    else if (form_has(f, "vshl"))
        r = a * ((__int128)1 << n);
    else
        r = a >> n;
    part_of(f, 0, &at, &bits);
    if (form_has(f, ".sat"))
        r = limit(r, bits, ds);
    out[0] = (uint64_t)r & 0xffffffff;
    if (strlen(f->kinds) < 3)
        return;
    __int128 x = value((uint64_t)r, 32, ds), c = value(in[2], 32, ds);
    if (form_has(f, ".add"))
        out[0] = (uint64_t)(x + c);
    else if (form_has(f, ".min"))
        out[0] = (uint64_t)(x < c ? x : c);
    else if (form_has(f, ".max"))
        out[0] = (uint64_t)(x > c ? x : c);
    else
        out[0] = (in[2] & ~(mask_of(bits) << at)) |
                 ((uint64_t)r & mask_of(bits)) << at;
}

#define K(n) ((n) + 1)
static const struct form forms[] = {
    {"and.b16 h, h, h", "ww", logic, BITS, 0, 0},
    {"and.b32 r, r, r", "ii", logic, BITS, 0, 0},
    {"and.pred p, p, p", "pp", logic, BITS, 0, 0},
    {"or.b64 d, d, d", "ll", logic, BITS, 0, 0},
    {"or.pred p, p, p", "pp", logic, BITS, 0, 0},
    {"xor.b32 r, r, r", "ii", logic, BITS, 0, 0},
    {"xor.pred p, p, p", "pp", logic, BITS, 0, 0},
    {"not.b64 d, d", "l", logic, BITS, 0, 0},
    {"not.pred p, p", "p", logic, BITS, 0, 0},
    {"cnot.b32 r, r", "i", logic, BITS, 0, 0},
    {"cnot.b16 h, h", "w", logic, BITS, 0, 0},
    {"shl.b16 h, h, r", "ws", shift, BITS, 0, 0},
    {"shl.b32 r, r, r", "is", shift, BITS, 0, 0},
    {"shl.b64 d, d, r", "ls", shift, BITS, 0, 0},
    {"shl.b32 r, r, 5", "i", shift, BITS, K(5), 0},
    {"shl.b32 r, r, 32", "i", shift, BITS, K(32), 0},
    {"shl.b64 d, d, 63", "l", shift, BITS, K(63), 0},
    {"shr.u16 h, h, r", "ws", shift, BITS, 0, 0},
    {"shr.s16 h, h, r", "ws", shift, BITS, 0, 0},
    {"shr.b32 r, r, r", "is", shift, BITS, 0, 0},
    {"shr.s32 r, r, r", "is", shift, BITS, 0, 0},
    {"shr.u64 d, d, r", "ls", shift, BITS, 0, 0},
    {"shr.s64 d, d, r", "ls", shift, BITS, 0, 0},
    {"shr.u32 r, r, 33", "i", shift, BITS, K(33), 0},
    {"shr.s32 r, r, 40", "i", shift, BITS, K(40), 0},
    {"shf.l.wrap.b32 r, r, r, r", "iis", shf, BITS, 0, 0},
    {"shf.l.clamp.b32 r, r, r, r", "iis", shf, BITS, 0, 0},
    {"shf.r.wrap.b32 r, r, r, r", "iis", shf, BITS, 0, 0},
    {"shf.r.clamp.b32 r, r, r, r", "iis", shf, BITS, 0, 0},
    {"bfe.u32 r, r, r, r", "iss", bfe, BITS, 0, 0},
    {"bfe.s32 r, r, r, r", "iss", bfe, BITS, 0, 0},
    {"bfe.u64 d, d, r, r", "lss", bfe, BITS, 0, 0},
    {"bfe.s64 d, d, r, r", "lss", bfe, BITS, 0, 0},
    {"bfi.b32 r, r, r, r, r", "iiss", bfi, BITS, 0, 0},
    {"bfi.b64 d, d, d, r, r", "llss", bfi, BITS, 0, 0},
    {"bfind.u32 r, r", "i", bfind, BITS, 0, 0},
    {"bfind.s32 r, r", "i", bfind, BITS, 0, 0},
    {"bfind.u64 r, d", "l", bfind, BITS, 0, 0},
    {"bfind.s64 r, d", "l", bfind, BITS, 0, 0},
    {"bfind.shiftamt.u32 r, r", "i", bfind, BITS, 0, 0},
    {"bfind.shiftamt.s64 r, d", "l", bfind, BITS, 0, 0},
    {"popc.b32 r, r", "i", count, BITS, 0, 0},
    {"popc.b64 r, d", "l", count, BITS, 0, 0},
    {"clz.b32 r, r", "i", count, BITS, 0, 0},
    {"clz.b64 r, d", "l", count, BITS, 0, 0},
    {"brev.b32 r, r", "i", count, BITS, 0, 0},
    {"brev.b64 d, d", "l", count, BITS, 0, 0},
    {"bmsk.clamp.b32 r, r, r", "ss", bmsk, BITS, 0, 0},
    {"bmsk.wrap.b32 r, r, r", "ss", bmsk, BITS, 0, 0},
    {"szext.clamp.u32 r, r, r", "is", szext, BITS, 0, 0},
    {"szext.clamp.s32 r, r, r", "is", szext, BITS, 0, 0},
    {"szext.wrap.u32 r, r, r", "is", szext, BITS, 0, 0},
    {"szext.wrap.s32 r, r, r", "is", szext, BITS, 0, 0},
    {"fns.b32 r, r, r, r", "iqj", fns, BITS, 0, 0},
    {"prmt.b32 r, r, r, r", "iii", prmt, BITS, 0, 0},
    {"prmt.b32 r, r, r, 0x7531", "ii", prmt, BITS, 0x17531, 0},
    {"prmt.b32 r, r, r, 0xa8f3", "ii", prmt, BITS, 0x1a8f3, 0},
    {"prmt.b32.f4e r, r, r, r", "iii", prmt, BITS, 0, 0},
    {"prmt.b32.b4e r, r, r, r", "iii", prmt, BITS, 0, 0},
    {"prmt.b32.rc8 r, r, r, r", "iii", prmt, BITS, 0, 0},
    {"prmt.b32.ecl r, r, r, r", "iii", prmt, BITS, 0, 0},
    {"prmt.b32.ecr r, r, r, r", "iii", prmt, BITS, 0, 0},
    {"prmt.b32.rc16 r, r, r, r", "iii", prmt, BITS, 0, 0},
    {"vadd.s32.s32.s32 r, r, r", "ii", video, BITS, 0, 0},
    {"vadd.u32.u32.s32.sat r, r.b1, r.h1", "ii", video, BITS, 0, 0},
    {"vsub.s32.u32.u32.sat r, r, r", "ii", video, BITS, 0, 0},
    {"vabsdiff.u32.s32.s32.add r, r.b3, r.b0, r", "iii", video, BITS, 0, 0},
    {"vmin.s32.s32.u32 r, r, r.b2", "ii", video, BITS, 0, 0},
    {"vmax.u32.u32.u32.min r, r.h0, r, r", "iii", video, BITS, 0, 0},
    {"vshl.u32.u32.u32.clamp r, r, r", "is", video, BITS, 0, 0},
    {"vshl.s32.s32.u32.sat.wrap.max r, r.b0, r, r", "isi", video, BITS, 0, 0},
    {"vshr.s32.s32.u32.clamp r, r, r", "is", video, BITS, 0, 0},
    {"vshr.u32.u32.u32.wrap.add r, r, r.b0, r", "isi", video, BITS, 0, 0},
    {"vmad.u32.u32.u32 r, r, r, r", "iii", video, BITS, 0, 0},
    {"vmad.s32.s32.u32.sat.shr7 r, r, r.h0, r", "iii", video, BITS, 0, 0},
    {"vmad.u32.u32.u32.po.sat.shr15 r, r, r, r", "iii", video, BITS, 0, 0},
    {"vset.s32.u32.lt r, r, r.b1", "ii", video, BITS, 0, 0},
    {"vset.u32.u32.ge.add r, r.h0, r.h1, r", "iii", video, BITS, 0, 0},
    {"cvt.u8.u32 r, r", "i", convert, BITS, 0, 0},
    {"cvt.s8.s32 r, r", "i", convert, BITS, 0, 0},
    {"cvt.s8.u16 d, h", "w", convert, BITS, 0, 0},
    {"cvt.u16.s8 r, r", "i", convert, BITS, 0, 0},
    {"cvt.s32.s8 r, h", "w", convert, BITS, 0, 0},
    {"cvt.s32.u8 r, r", "i", convert, BITS, 0, 0},
    {"cvt.s64.s32 d, r", "i", convert, BITS, 0, 0},
    {"cvt.u64.u32 d, r", "i", convert, BITS, 0, 0},
    {"cvt.s64.s16 d, r", "i", convert, BITS, 0, 0},
    {"cvt.u32.u64 r, d", "l", convert, BITS, 0, 0},
    {"cvt.s16.s64 r, d", "l", convert, BITS, 0, 0},
    {"cvt.sat.u8.s32 r, r", "i", convert, BITS, 0, 0},
    {"cvt.sat.s8.s32 r, r", "i", convert, BITS, 0, 0},
    {"cvt.sat.s16.u32 r, r", "i", convert, BITS, 0, 0},
    {"cvt.sat.u32.s16 r, h", "w", convert, BITS, 0, 0},
    {"cvt.sat.u64.s32 d, r", "i", convert, BITS, 0, 0},
    {"cvt.sat.s32.u64 r, d", "l", convert, BITS, 0, 0},
    {"cvt.sat.s32.s64 r, d", "l", convert, BITS, 0, 0},
    {"cvt.sat.s32.u32 r, r", "i", convert, BITS, 0, 0},
    {"cvt.sat.u32.s32 r, r", "i", convert, BITS, 0, 0},
    {"cvt.pack.sat.s16.s32 r, r, r", "ii", pack, BITS, 0, 0},
    {"cvt.pack.sat.u16.s32 r, r, r", "ii", pack, BITS, 0, 0},
    {"cvt.pack.sat.u8.s32.b32 r, r, r, r", "iii", pack, BITS, 0, 0},
    {"cvt.pack.sat.s8.s32.b32 r, r, r, r", "iii", pack, BITS, 0, 0},
};

static void bit_operations_follow_the_isa(void **state)
{
    (void)state;
    enum { N = sizeof forms / sizeof *forms, TABLES = 256 };
    static struct form all[N + TABLES];
    static char text[TABLES][40];
    size_t n = N;
    memcpy(all, forms, sizeof forms);
    for (unsigned i = 0; i < TABLES; i++) {
        snprintf(text[i], sizeof text[i], "lop3.b32 r, r, r, r, %u", i);
        struct form f = {text[i], "iii", lop3, BITS, i, 0};
        if (i % 3 == 0) { /* with a predicate */
            snprintf(text[i], sizeof text[i], "lop3.%s.b32 r|p, r, r, r, %u, p",
                     i % 2 ? "and" : "or", i);
            f.kinds = "iiip";
        }
        all[n++] = f;
    }
    assert_int_equal(harness_run(all, n), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bit_operations_follow_the_isa)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
