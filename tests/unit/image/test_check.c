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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_text_passes),
        cmocka_unit_test(what_is_open_or_binary_is_refused_with_its_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
