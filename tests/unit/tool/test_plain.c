/* SPDX-License-Identifier: MIT
 *
 * Text of files on a terminal and in JSON.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tool/json.h"
#include "tool/tool.h"

static void gives(void (*put)(FILE *, const char *), const char *text,
                  const char *expected)
{
    char *got = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&got, &size);

    assert_non_null(to);
    put(to, text);
    assert_int_equal(fclose(to), 0);
    assert_string_equal(got, expected);
    free(got);
}

static void a_terminal_gets_no_control_characters(void **state)
{
    (void)state;
    gives(put_plain, "", "");
    gives(put_plain, "plain text ~", "plain text ~");
    gives(put_plain, "\033[31m\r\n\177", "?[31m???");
    gives(put_plain, "\u00fc\u2014\U0001F600", "\u00fc\u2014\U0001F600");
    gives(put_plain,
          "\xc2\x9b"
          "31m\xc2\xa0",
          "??31m\xc2\xa0");
    gives(put_plain, "\x9b\xff\xc3", "???");
}

static void json_keeps_text_and_tells_other_bytes_one_by_one(void **state)
{
    (void)state;
    gives(json_string, "a\"b\\c\nd", "\"a\\\"b\\\\c\\nd\"");
    gives(json_string, "\u00fc\u2014\U0001F600", "\"\u00fc\u2014\U0001F600\"");
    gives(json_string, "\033\177\xff\xc3(",
          "\"\\u001b\\u007f\\u00ff\\u00c3(\"");
}

static void only_characters_that_unicode_has_are_characters(void **state)
{
    static const char *const none[] = {"\x80",
                                       "\xc0\x80",
                                       "\xc1\xbf",
                                       "\xc2",
                                       "\xe0\x9f\xbf",
                                       "\xed\xa0\x80",
                                       "\xe2\x80",
                                       "\xf0\x8f\xbf\xbf",
                                       "\xf0\x9f\x98",
                                       "\xf4\x90\x80\x80",
                                       "\xf5\x80\x80\x80",
                                       "\xfe"};

    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(character_bytes(none[i]), 0);
    assert_int_equal(character_bytes("\xed\x9f\xbf"), 3);
    assert_int_equal(character_bytes("\xf4\x8f\xbf\xbf"), 4);
}

static void a_line_ends_once(void **state)
{
    char *got = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&got, &size);

    (void)state;
    assert_non_null(to);
    print_plain(to, "%s: %d\n", "a\nb", 3);
    print_plain(to, "%s", "end\n");
    assert_int_equal(fclose(to), 0);
    assert_string_equal(got, "a?b: 3\nend?");
    free(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_terminal_gets_no_control_characters),
        cmocka_unit_test(json_keeps_text_and_tells_other_bytes_one_by_one),
        cmocka_unit_test(only_characters_that_unicode_has_are_characters),
        cmocka_unit_test(a_line_ends_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
