/* SPDX-License-Identifier: MIT
 *
 * PTX that may be given to an assembler in this process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "image/ptx_header.h"

static void sound_text_passes(void **state)
{
    static const char *const texts[] = {
        ".version 8.0\n.target sm_80\n.entry k(.param .u64 p)\n{ ret; }\n",
        "// \xc3\xa9 and ( in a comment\n{ /* } */ }",
        ".file 1 \"a (b.cu\"\n.b8 x[4] = {1, 2, 3};",
        "",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(ptx_text_check(texts[i], strlen(texts[i]), NULL),
                         KILN_OK);
}

static void what_is_open_or_binary_is_refused_with_its_line(void **state)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"{ ret;\n", "line 2: ends within '{'"},
        {"\n\n}", "line 3: '}' closes nothing"},
        {"( ]", "line 1: ']' closes nothing"},
        {"\n/* no end\n\n", "line 2: a comment without an end"},
        {"\"no end\n\"", "line 1: a string without an end"},
        {"\x01", "byte 0x01"},
        {"mov \xff", "byte 0xff"},
    };
    char deep[600];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kiln_error err;

        assert_int_equal(
            ptx_text_check(rows[i].text, strlen(rows[i].text), &err),
            KILN_E_PTX);
        assert_non_null(strstr(err.text, rows[i].words));
    }
    assert_int_equal(ptx_text_check("a\0b", 3, NULL), KILN_E_PTX);
    memset(deep, '{', 300);
    memset(deep + 300, '}', 300);
    assert_int_equal(ptx_text_check(deep, sizeof deep, NULL), KILN_E_PTX);
    assert_int_equal(ptx_text_check(deep + 100, 400, NULL), KILN_OK);
}

static void numbers_that_would_end_an_assembler_are_refused(void **state)
{
    static const char *const bad[] = {
        ".reg .b64 %rd<4294967295>;",
        ".reg .b64 %rd< 0xffffffff >;",
        ".reg .b64 %rd<037777777777U>;",
        ".reg .b64 %rd<0b11111111111111111111111111111111>;",
        ".reg .b32 %r<9223372036854775807>;",
        ".reg .b32 %r<99999999999999999999999999>;",
        ".reg .b32 %r<60000000>;\n.reg .b32 %q<60000000>;",
        ".global .b8 x[68719476736] = {1};",
        ".global .b8 x[65536] [ 65536 ][2]={1};",
        ".const .align 4 .b8 x[4294967295];",
        ".const .b8 x[4], y[1024][131072];",
        ".global .align 1073741824 .b8 x[4];",
        ".entry k(.param .align\n0x40000000 .b8 x[4])",
        ".maxntid 4294967295",
        ".reqntid 4294967265 {",
        ".maxntid 65535, 65537",
        ".reqntid 1024\t,1024 , 1024\n{",
        ".align /* */ 1073741824",
        ".maxntid// more\n4294967295",
        ".maxntid 65535, /**/ 65537",
        ".reg .b32 %r</* many */ 4294967295 // of them\n>;",
    };
    static const char *const good[] = {
        ".reg .b64 %rd<60000000>;",
        ".global .b8 x[68719476736];\n.global .b8 y = 1;",
        ".global .b8 x[68719476736], y = 1;",
        ".global .b8 x[65536][1024] = {1};",
        ".const .b8 x[67108864];\n.global .b8 y[67108865];",
        ".shared .align 1048576 .b8 x[4];",
        ".maxntid 1024, 1024, 1",
        ".reqntid 0 .maxntid 1048576",
        ".maxntid 32/2 .aligned 4294967295 .constant",
        ".maxntid",
        ".align ",
        "x < 99999999999 + 1",
        "ld [68719476736], [ 8 ];\nx = 1;",
    };
    char many[65 * 3];

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct kiln_error err;

        assert_int_equal(ptx_text_check(bad[i], strlen(bad[i]), &err),
                         KILN_E_PTX);
        assert_non_null(strstr(err.text, "taken"));
    }
    for (size_t i = 0; i < sizeof many; i++)
        many[i] = "[1]"[i % 3];
    assert_int_equal(ptx_text_check(many, 64 * 3, NULL), KILN_OK);
    assert_int_equal(ptx_text_check(many, sizeof many, NULL), KILN_E_PTX);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(ptx_text_check(good[i], strlen(good[i]), NULL),
                         KILN_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_text_passes),
        cmocka_unit_test(what_is_open_or_binary_is_refused_with_its_line),
        cmocka_unit_test(numbers_that_would_end_an_assembler_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
