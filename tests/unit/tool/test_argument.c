/* SPDX-License-Identifier: MIT
 *
 * The ARG grammar of kiln run, and the contents of buffers.
 */
#include "../compile/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "tool/argument.h"

static void values_of_every_type_are_read_exactly(void **state)
{
    static const struct {
        const char *text;
        size_t size;
        unsigned char bytes[8];
    } cases[] = {
        {"i8:-128", 1, {0x80}},
        {"u8:255", 1, {0xff}},
        {"i16:-2", 2, {0xfe, 0xff}},
        {"u16:0xabcd", 2, {0xcd, 0xab}},
        {"i32:-5", 4, {0xfb, 0xff, 0xff, 0xff}},
        {"i32:010", 4, {10, 0, 0, 0}},
        {"i32:-0x10", 4, {0xf0, 0xff, 0xff, 0xff}},
        {"u32:4294967295", 4, {0xff, 0xff, 0xff, 0xff}},
        {"i64:-9223372036854775808", 8, {0, 0, 0, 0, 0, 0, 0, 0x80}},
        {"u64:0xff", 8, {0xff}},
        {"u64:18446744073709551615",
         8,
         {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
        {"f32:2.0", 4, {0, 0, 0, 0x40}},
        {"f32:-inf", 4, {0, 0, 0x80, 0xff}},
        {"f32:inf", 4, {0, 0, 0x80, 0x7f}},
        {"f16:65504", 2, {0xff, 0x7b}},
        {"f16:-infinity", 2, {0x00, 0xfc}},
        {"f32:1e-999", 4, {0}},
        {"f64:1", 8, {0, 0, 0, 0, 0, 0, 0xf0, 0x3f}},
        {"bytes:00ffA5", 3, {0x00, 0xff, 0xa5}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct argument a;
        char why[256] = "";

        if (argument_parse(cases[i].text, &a, why, sizeof why))
            fail_msg("%s: %s", cases[i].text, why);
        assert_int_equal(a.value_size, cases[i].size);
        assert_memory_equal(a.value, cases[i].bytes, cases[i].size);
        argument_fini(&a);
    }
}

static void what_is_not_in_the_grammar_is_refused_with_a_reason(void **state)
{
    static const char *const bad[] = {"",
                                      "f32",
                                      "f32:",
                                      "f32:abc",
                                      "f32:1x",
                                      "f32: 2",
                                      "f32:1e999",
                                      "f32:-1e39",
                                      "f64:1e999",
                                      "f16:65520",
                                      "bf16:1e39",
                                      "f32[4]:const=1e999",
                                      "i32:09x",
                                      "i8:128",
                                      "i8:-129",
                                      "u8:256",
                                      "u8:-1",
                                      "i32:1.5",
                                      "i32: 5",
                                      "u64:18446744073709551616",
                                      "x32:1",
                                      "i32[4]",
                                      "i32[4]:",
                                      "i32[]:zero",
                                      "i32[0]:zero",
                                      "i32[-1]:zero",
                                      "i32[4:zero",
                                      "i32[4]zero",
                                      "i32[4]:foo",
                                      "i32[4]:zero:",
                                      "i32[4]:zero:x",
                                      "i32[4]:const",
                                      "i32[4]:const=",
                                      "i32[4]:const=1.5",
                                      "u8[4]:const=256",
                                      "i32[4]:rand=x",
                                      "i32[4]:@",
                                      "i32[4]:zero:@",
                                      "bytes:",
                                      "bytes:0",
                                      "bytes:0g",
                                      "i32[4]:zero:head=",
                                      "i32[99999999999999999999]:zero",
                                      "f32[18446744073709551615]:zero",
                                      "i32[4]:zero:head:sum"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct argument a;
        char why[256] = "";

        if (!argument_parse(bad[i], &a, why, sizeof why))
            fail_msg("\"%s\" was taken", bad[i]);
        assert_true(strlen(why) > 0);
    }
}

static void buffers_have_contents_and_outputs(void **state)
{
    struct argument a;
    char why[256];

    (void)state;
    assert_int_equal(
        argument_parse("f64[0x10]:rand=7:head=3", &a, why, sizeof why), 0);
    assert_true(a.is_buffer);
    assert_int_equal(argument_bytes(&a), 128);
    assert_int_equal(a.init, INIT_RAND);
    assert_int_equal(a.seed, 7);
    assert_int_equal(a.out, OUT_HEAD);
    assert_int_equal(a.head, 3);
    argument_fini(&a);
    assert_int_equal(argument_parse("u8[3]:const=9:sum", &a, why, sizeof why),
                     0);
    assert_int_equal(a.constant[0], 9);
    assert_int_equal(a.out, OUT_SUM);
    argument_fini(&a);
}

static void paths_may_hold_colons(void **state)
{
    static const struct {
        const char *text, *in, *out;
    } cases[] = {
        {"u8[3]:@a:b.bin", "a:b.bin", NULL},
        {"u8[3]:@a.bin:@b.bin", "a.bin", "b.bin"},
        {"u8[3]:@c:a.bin:@b.bin", "c:a.bin", "b.bin"},
        {"u8[3]:@a.bin:sum", "a.bin", NULL},
        {"u8[3]:zero:@d:b.bin", NULL, "d:b.bin"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct argument a;
        char why[256];

        assert_int_equal(argument_parse(cases[i].text, &a, why, sizeof why), 0);
        assert_true(!cases[i].in == !a.init_file);
        assert_true(!cases[i].out == !a.out_file);
        if (cases[i].in)
            assert_string_equal(a.init_file, cases[i].in);
        if (cases[i].out)
            assert_string_equal(a.out_file, cases[i].out);
        argument_fini(&a);
    }
}

static void pieces_of_any_size_give_the_same_contents(void **state)
{
    static const char *const kinds[] = {"zero", "iota", "const=3", "rand=5"};
    static const char *const names[] = {"i8",  "u8",  "i16", "u16", "i32",
                                        "u32", "i64", "u64", "f32", "f64"};

    (void)state;
    for (size_t k = 0; k < 4; k++)
        for (size_t t = 0; t < 10; t++) {
            unsigned char whole[8 * 300], pieces[8 * 300];
            struct argument a;
            char text[64], why[256];
            size_t size;

            strcpy(text, names[t]);
            strcat(text, "[300]:");
            strcat(text, kinds[k]);
            assert_int_equal(argument_parse(text, &a, why, sizeof why), 0);
            size = a.type->size;
            argument_fill(&a, 0, 300, whole);
            for (size_t i = 0, n = 1; i < 300; i += n, n = n * 2 + 1) {
                n = n < 300 - i ? n : 300 - i;
                argument_fill(&a, i, n, pieces + i * size);
            }
            assert_memory_equal(whole, pieces, 300 * size);
            argument_fini(&a);
        }
}

static void random_numbers_are_splitmix64(void **state)
{
    /* The generator's published first outputs for seed 1234567. */
    static const uint64_t known[] = {6457827717110365317u, 3203168211198807973u,
                                     9817491932198370423u};
    struct argument a;
    char why[256];
    uint64_t out[3];
    float f[3];

    (void)state;
    assert_int_equal(argument_parse("u64[3]:rand=1234567", &a, why, sizeof why),
                     0);
    argument_fill(&a, 0, 3, out);
    assert_memory_equal(out, known, sizeof out);
    argument_fini(&a);
    assert_int_equal(argument_parse("f32[3]:rand=1234567", &a, why, sizeof why),
                     0);
    argument_fill(&a, 0, 3, f);
    for (int i = 0; i < 3; i++)
        assert_true(f[i] == (float)(known[i] >> 40) / 16777216.0f);
    argument_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_every_type_are_read_exactly),
        cmocka_unit_test(what_is_not_in_the_grammar_is_refused_with_a_reason),
        cmocka_unit_test(buffers_have_contents_and_outputs),
        cmocka_unit_test(paths_may_hold_colons),
        cmocka_unit_test(pieces_of_any_size_give_the_same_contents),
        cmocka_unit_test(random_numbers_are_splitmix64),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
