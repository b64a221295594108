/* SPDX-License-Identifier: MIT
 *
 * .npy headers, and numbers of 16 bits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tool/npy.h"

static void every_number_of_16_bits_survives_the_way_through_double(void **s)
{
    (void)s;
    for (unsigned f = 0; f < 2; f++)
        for (unsigned bits = 0; bits < 0x10000; bits++) {
            enum half_format format = f ? HALF_BF16 : HALF_F16;
            double v = half_value(format, (uint16_t)bits);

            if (v != v) /* a NaN stays one */
                assert_true(half_value(format, half_of(format, v)) != v);
            else
                assert_int_equal(half_of(format, v), bits);
        }
}

static void halves_round_to_even_and_overflow_to_infinity(void **s)
{
    (void)s;
    assert_int_equal(half_of(HALF_F16, 1 + 0x1p-11), 0x3c00);
    assert_int_equal(half_of(HALF_F16, 1 + 0x3p-11), 0x3c02);
    assert_int_equal(half_of(HALF_F16, 65519.0), 0x7bff);
    assert_int_equal(half_of(HALF_F16, 65520.0), 0x7c00);
    assert_int_equal(half_of(HALF_F16, 0x1p-25), 0);
    assert_int_equal(half_of(HALF_F16, 0x1.8p-25), 1);
    assert_int_equal(half_of(HALF_F16, -0x1p-15), 0x8200);
    assert_int_equal(half_of(HALF_BF16, 3.14159265), 0x4049);
    assert_int_equal(half_of(HALF_BF16, -1e300), 0xff80);
}

static const struct element_type *type_of(const char *argument)
{
    struct argument a;
    char why[256];
    const struct element_type *type;

    assert_int_equal(argument_parse(argument, &a, why, sizeof why), 0);
    type = a.type;
    argument_fini(&a);
    return type;
}

static int read_text(const char *dict, unsigned version, const char *type,
                     uint64_t count, char *why, size_t why_size)
{
    char bytes[512] = "\x93NUMPY";
    size_t n = strlen(dict), head = version > 1 ? 12 : 10;
    FILE *file;
    int bad;

    bytes[6] = (char)version;
    bytes[8] = (char)n;
    memcpy(bytes + head, dict, n);
    file = fmemopen(bytes, head + n, "rb");
    assert_non_null(file);
    bad = npy_read_header(file, type_of(type), count, why, why_size);
    if (!bad)
        assert_int_equal(ftell(file), head + n);
    fclose(file);
    return bad;
}

static void what_is_written_reads_back(void **s)
{
    static const char *const types[] = {"i8:0",   "u16:0", "i32:0", "u64:0",
                                        "bf16:0", "f16:0", "f32:0", "f64:0"};
    (void)s;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char *bytes, why[200];
        size_t size;
        FILE *file = open_memstream(&bytes, &size);

        assert_int_equal(npy_write_header(file, type_of(types[i]), 123456789),
                         0);
        fclose(file);
        assert_int_equal(size % 64, 0);
        file = fmemopen(bytes, size, "rb");
        assert_int_equal(npy_read_header(file, type_of(types[i]), 123456789,
                                         why, sizeof why),
                         0);
        assert_int_equal(ftell(file), size);
        fclose(file);
        /* No prefix of it is a header. */
        for (size_t n = 1; n < size; n++) {
            file = fmemopen(bytes, n, "rb");
            assert_int_equal(npy_read_header(file, type_of(types[i]), 123456789,
                                             why, sizeof why),
                             -1);
            fclose(file);
        }
        free(bytes);
    }
}

static void other_types_orders_and_counts_are_refused(void **s)
{
    static const struct {
        const char *dict, *why;
    } rows[] = {
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (12,), }",
         "big-endian"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (12,), }",
         "f32 (f4) expected"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4), }",
         "Fortran"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 5), }",
         "15 elements"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-3, -4), }",
         "not understood"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (12,), }",
         "not understood"},
        {"{'shape': (12,), }", "not understood"},
        {"", "not understood"},
    };
    char why[200];

    (void)s;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(
            read_text(rows[i].dict, 1, "f32:0", 12, why, sizeof why), -1);
        assert_non_null(strstr(why, rows[i].why));
    }
    for (unsigned version = 1; version <= 3; version++)
        assert_int_equal(
            read_text("{'descr': '<f4', 'fortran_order': False, 'shape': "
                      "(3, 4), }",
                      version, "f32:0", 12, why, sizeof why),
            0);
    assert_int_equal(read_text("{}", 9, "f32:0", 12, why, sizeof why), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            every_number_of_16_bits_survives_the_way_through_double),
        cmocka_unit_test(halves_round_to_even_and_overflow_to_infinity),
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(other_types_orders_and_counts_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
