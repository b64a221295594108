/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cpu/object/symbols.h"

typedef float in_float(float);
typedef float in_double(double);
typedef float from_bits(uint16_t);
typedef uint16_t to_bits(float);

static uint64_t find(const char *name)
{
    const uint64_t at = symbols_find(name);

    assert_true(at != 0);
    return at;
}

static float as_float(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint16_t low16(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)bits;
}

static void every_half_survives_the_way_there_and_back(void **state)
{
    from_bits *up = (from_bits *)find("__gnu_h2f_ieee");
    to_bits *down = (to_bits *)find("__gnu_f2h_ieee");
    in_float *up_xmm = (in_float *)find("__extendhfsf2");
    in_float *down_xmm = (in_float *)find("__truncsfhf2");

    (void)state;
    for (uint32_t h = 0; h < 65536; h++) {
        const int is_nan = (h & 0x7c00) == 0x7c00 && (h & 0x3ff);
        const uint32_t expected = is_nan ? h | 0x200 : h;

        assert_int_equal(down(up((uint16_t)h)), expected);
        /* whatever is above the low 16 bits of the register */
        assert_int_equal(low16(down_xmm(up_xmm(as_float(h | 0xabcd0000)))),
                         expected);
    }
}

static void rounding_is_to_nearest_even(void **state)
{
    to_bits *down = (to_bits *)find("__gnu_f2h_ieee");
    in_double *from_double = (in_double *)find("__truncdfhf2");
    in_float *bf = (in_float *)find("__truncsfbf2");

    (void)state;
    assert_int_equal(down(1.0f + 0x1p-11f), 0x3c00);     /* tie, even */
    assert_int_equal(down(1.0f + 3 * 0x1p-11f), 0x3c02); /* tie, odd */
    assert_int_equal(down(1.0f + 0x1p-11f + 0x1p-20f), 0x3c01);
    assert_int_equal(down(65519.0f), 0x7bff);
    assert_int_equal(down(65520.0f), 0x7c00);
    assert_int_equal(down(-0x1p-25f), 0x8000); /* half of the smallest */
    assert_int_equal(down(-0x1.8p-25f), 0x8001);
    assert_int_equal(down(0x1.ffcp-15f), 0x0400); /* rounds up to normal */
    assert_int_equal(down(as_float(0x00000001)), 0);
    /* once, not twice: through float this would be a tie */
    assert_int_equal(low16(from_double(1.0 + 0x1p-11 + 0x1p-40)), 0x3c01);
    assert_int_equal(low16(bf(as_float(0x3f808000))), 0x3f80);
    assert_int_equal(low16(bf(as_float(0x3f818000))), 0x3f82);
    assert_int_equal(low16(bf(as_float(0x3f808001))), 0x3f81);
    assert_int_equal(low16(bf(as_float(0x7f7fffff))), 0x7f80);
    assert_int_equal(low16(bf(as_float(0xff800000))), 0xff80);
    assert_int_equal(low16(bf(as_float(0x00010000))), 0x0001);
}

static void a_name_outside_the_table_is_not_found(void **state)
{
    (void)state;
    assert_true(symbols_find("exp2f") != 0);
    assert_true(symbols_find("system") == 0);
    assert_true(symbols_find("") == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_half_survives_the_way_there_and_back),
        cmocka_unit_test(rounding_is_to_nearest_even),
        cmocka_unit_test(a_name_outside_the_table_is_not_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
