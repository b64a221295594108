/* SPDX-License-Identifier: MIT
 *
 * vadd2, vadd4 and their kin. The reference keeps the two first sources as
 * one row of parts in memory and walks over the selectors' digits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "harness.h"

/* The digits behind operand k's register, first digit for the highest part;
 * "" when it has none. */
static void selector(const struct form *f, unsigned k, char digits[8])
{
    const char *p = strchr(f->text, ' ');
    size_t n = 0;

    for (; k > 0; k--)
        p = strchr(p, ',') + 1;
    p += strspn(p, " ") + 1;
    if (*p == '.')
        for (p += 2; *p >= '0' && *p <= '9'; p++)
            digits[n++] = *p;
    digits[n] = 0;
}

/* A part of the row, extended. */
static long part(const uint64_t *in, unsigned at, unsigned n, int with_sign)
{
    const unsigned bits = 32 / n;
    unsigned char row[8];
    uint32_t words[2] = {(uint32_t)in[0], (uint32_t)in[1]};
    int16_t half;

    memcpy(row, words, sizeof row);
    if (bits == 8)
        return with_sign ? (signed char)row[at] : row[at];
    memcpy(&half, row + 2 * at, 2);
    return with_sign ? half : (uint16_t)half;
}

static long combine(const struct form *f, long a, long b)
{
    if (form_has(f, "vadd"))
        return a + b;
    if (form_has(f, "vsub"))
        return a - b;
    if (form_has(f, "vavrg"))
        return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
    if (form_has(f, "vabsdiff"))
        return a > b ? a - b : b - a;
    if (form_has(f, "vmin"))
        return a < b ? a : b;
    if (form_has(f, "vmax"))
        return a > b ? a : b;
    return form_has(f, ".lt")   ? a < b
           : form_has(f, ".ge") ? a >= b
           : form_has(f, ".eq") ? a == b
                                : a != b;
}

static void simd(const struct form *f, const uint64_t *in, uint64_t *out)
{
    const int set = form_has(f, "vset");
    const unsigned n = strchr(f->text, '.')[-1] == '2' ? 2 : 4;
    const int ds = !set && form_type(f, 0).letter == 's';
    char mask[8], asel[8], bsel[8];
    const long top = (1L << (32 / n - (unsigned)ds)) - 1;
    const long low = ds ? -top - 1 : 0;
    uint32_t result = (uint32_t)in[2];

    selector(f, 0, mask);
    selector(f, 1, asel);
    selector(f, 2, bsel);
    for (unsigned i = 0; i < n; i++) {
        const unsigned x = *asel ? (unsigned)(asel[n - 1 - i] - '0') : i;
        const unsigned y = *bsel ? (unsigned)(bsel[n - 1 - i] - '0') : n + i;
        long t = combine(f, part(in, x, n, form_type(f, !set).letter == 's'),
                         part(in, y, n, form_type(f, 1 + !set).letter == 's'));

        if (form_has(f, ".sat"))
            t = t > top ? top : t < low ? low : t;
        if (*mask && !strchr(mask, (int)('0' + i)))
            continue;
        if (form_has(f, ".add."))
            result += (uint32_t)t;
        else if (n == 2)
            result = (result & ~(0xffffu << 16 * i)) | ((uint32_t)t & 0xffff)
                                                           << 16 * i;
        else
            result = (result & ~(0xffu << 8 * i)) | ((uint32_t)t & 0xff)
                                                        << 8 * i;
    }
    out[0] = result;
}

#define F(text)                                                                \
    {                                                                          \
        text, "iii", simd, BITS, 0, 0                                          \
    }
static const struct form forms[] = {
    F("vadd2.s32.s32.s32 r, r, r, r"),
    F("vadd2.u32.u32.s32.sat r.h1, r.h20, r.h31, r"),
    F("vadd2.add.s32.s32.u32 r, r, r.h02, r"),
    F("vsub2.s32.u32.u32.sat r, r.h13, r, r"),
    F("vsub2.add.u32.u32.u32 r.h0, r, r, r"),
    F("vavrg2.s32.s32.s32 r, r, r, r"),
    F("vavrg2.u32.u32.u32.sat r.h10, r, r, r"),
    F("vabsdiff2.u32.s32.s32 r, r, r, r"),
    F("vmin2.s32.s32.u32.sat r, r, r, r"),
    F("vmax2.add.s32.s32.s32 r.h1, r.h33, r.h00, r"),
    F("vset2.lt.s32.u32 r, r, r, r"),
    F("vset2.ge.add.s32.s32 r.h1, r, r, r"),
    F("vadd4.u32.u32.u32 r, r, r, r"),
    F("vadd4.s32.s32.s32.sat r.b320, r.b0426, r.b7531, r"),
    F("vadd4.add.s32.u32.s32 r, r, r, r"),
    F("vsub4.u32.s32.u32.sat r.b2, r, r, r"),
    F("vsub4.s32.s32.s32 r.b31, r.b7654, r.b3210, r"),
    F("vavrg4.u32.u32.u32 r, r, r, r"),
    F("vavrg4.add.s32.s32.s32 r.b3210, r, r, r"),
    F("vabsdiff4.add.u32.u32.u32 r, r, r, r"),
    F("vabsdiff4.s32.s32.s32.sat r, r, r, r"),
    F("vmin4.u32.u32.s32 r, r, r.b0000, r"),
    F("vmax4.s32.s32.s32.sat r.b10, r, r, r"),
    F("vset4.eq.u32.u32 r, r, r, r"),
    F("vset4.ne.add.s32.u32 r.b21, r, r, r"),
};

static void simd_video_instructions_give_what_the_isa_says(void **state)
{
    (void)state;
    assert_int_equal(harness_run(forms, sizeof forms / sizeof *forms), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simd_video_instructions_give_what_the_isa_says)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
