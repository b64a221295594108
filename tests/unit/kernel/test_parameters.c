/* SPDX-License-Identifier: MIT
 *
 * Parameter lists of PTX text, for drivers that do not tell them.
 */
#include "../compile/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/parameters.h"

static const char ptx[] = ".version 9.0\n.target sm_90\n.address_size 64\n"
                          ".visible .entry mixed(\n"
                          "\t.param .u32 mixed_param_0, // a comment\n"
                          "\t.param .u64 .ptr .global .align 4 mixed_param_1,\n"
                          "\t.param .f64 mixed_param_2,\n"
                          "\t.param .align 8 .b8 mixed_param_3[24],\n"
                          "\t.param .u8 mixed_param_4,\n"
                          "\t.param .align 16 .b8 mixed_param_5[16]\n"
                          ")\n{\n\tret;\n}\n"
                          ".visible .entry mixed2()\n{ ret; }\n"
                          ".visible .entry bare\n{ ret; }\n"
                          ".visible .entry word(.param .u64 a) { ret; }\n";

static void offsets_sizes_and_pointers_are_read(void **state)
{
    static const struct kiln_parameter wanted[] = {
        {0, 4, 0}, {8, 8, 1}, {16, 8, 0}, {24, 24, 0}, {48, 1, 0}, {64, 16, 0}};
    struct kiln_parameter *list = NULL;
    size_t count = 0;

    (void)state;
    assert_int_equal(parameters_from_ptx(ptx, 1, "mixed", &list, &count, NULL),
                     KILN_OK);
    assert_int_equal(count, 6);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(list[i].offset, wanted[i].offset);
        assert_int_equal(list[i].size, wanted[i].size);
        assert_int_equal(list[i].pointer, wanted[i].pointer);
    }
    kiln_release(list);
}

static void a_kernel_without_parameters_has_none(void **state)
{
    static const char *const names[] = {"mixed2", "bare"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct kiln_parameter *list = NULL;
        size_t count = 9;

        assert_int_equal(
            parameters_from_ptx(ptx, 1, names[i], &list, &count, NULL),
            KILN_OK);
        assert_int_equal(count, 0);
        kiln_release(list);
    }
}

static void without_marks_an_eight_byte_word_may_be_either(void **state)
{
    static const char old[] = ".entry k(.param .u64 a, .param .f32 b) {}";
    struct kiln_parameter *list = NULL;
    size_t count = 0;

    (void)state;
    assert_int_equal(parameters_from_ptx(old, 1, "k", &list, &count, NULL),
                     KILN_OK);
    assert_int_equal(list[0].pointer, -1);
    assert_int_equal(list[1].pointer, 0);
    kiln_release(list);
}

static void a_person_may_mark_some_pointers_and_not_others(void **state)
{
    static const char text[] = ".entry k(.param .u64 .ptr a, .param .u64 b) {}";
    struct kiln_parameter *list = NULL;
    size_t count = 0;

    (void)state;
    assert_int_equal(parameters_from_ptx(text, 0, "k", &list, &count, NULL),
                     KILN_OK);
    assert_int_equal(list[0].pointer, 1);
    assert_int_equal(list[1].pointer, -1);
    kiln_release(list);
    assert_int_equal(parameters_from_ptx(text, 1, "k", &list, &count, NULL),
                     KILN_OK);
    assert_int_equal(list[1].pointer, 0);
    kiln_release(list);
}

static void an_unknown_entry_is_not_found(void **state)
{
    struct kiln_parameter *list;
    size_t count;

    (void)state;
    assert_int_equal(parameters_from_ptx(ptx, 1, "mixe", &list, &count, NULL),
                     KILN_E_NOT_FOUND);
    assert_int_equal(parameters_from_ptx("", 1, "k", &list, &count, NULL),
                     KILN_E_NOT_FOUND);
}

static void damaged_lists_are_errors_or_shorter_lists(void **state)
{
    static const char *const bad[] = {
        ".entry k(.param .u77 a)",
        ".entry k(.param a)",
        ".entry k(.param .align 3 .b8 a[4])",
        ".entry k(.param .align 99999999999 .b8 a[4])",
        ".entry k(.param .b8 a[99999999999999999999])",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct kiln_parameter *list;
        size_t count;

        assert_int_equal(
            parameters_from_ptx(bad[i], 1, "k", &list, &count, NULL),
            KILN_E_FORMAT);
    }
    for (size_t n = 0; n < sizeof ptx; n++) {
        struct kiln_parameter *list = NULL;
        char *copy = strndup(ptx, n);
        size_t count;

        if (parameters_from_ptx(copy, 1, "mixed", &list, &count, NULL) ==
            KILN_OK)
            kiln_release(list);
        free(copy);
    }
}

static void a_required_block_is_read(void **state)
{
    static const struct {
        const char *text;
        unsigned block[3];
    } cases[] = {
        {".entry k() .reqntid 32, 2 // , 4\n{ ret; }", {32, 2, 0}},
        {".entry k(.param .u32 x)\n.maxnreg 20\n.reqntid 8,4,2\n{ }",
         {8, 4, 2}},
        {".entry k() .maxntid 64\n{ ret; }", {0}},
        {".entry k() { ret; }\n.entry l() .reqntid 32 { ret; }", {0}},
        {".entry k() /* .reqntid 1 */ { ret; }", {0}},
        {".entry k() .reqntid", {0}},
        {".entry l() .reqntid 32 { ret; }", {0}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned got[3] = {0};

        required_block_ptx(cases[i].text, "k", got);
        for (int d = 0; d < 3; d++)
            assert_int_equal(got[d], cases[i].block[d]);
    }
}

static void too_many_parameters_are_told_by_number(void **state)
{
    struct buffer text = {0};
    struct kiln_parameter *list = NULL;
    struct kiln_error err = {0};
    size_t count = 0;

    (void)state;
    buffer_text(&text, ".entry k(.param .u8 a");
    for (int i = 0; i < PARAMETERS_MAX; i++)
        buffer_text(&text, ", .param .u8 b");
    buffer_text(&text, ") { ret; }");
    assert_int_equal(
        parameters_from_ptx(buffer_str(&text), 1, "k", &list, &count, &err),
        KILN_E_FORMAT);
    assert_non_null(strstr(err.text, "more than 4096 parameters"));
    buffer_fini(&text);
}

static void a_cut_sentence_ends_at_a_word(void **state)
{
    struct kiln_error err = {0};
    char words[400] = "", one[400];

    (void)state;
    for (int i = 0; i < 60; i++)
        strcat(words, "abcde ");
    kiln_fail(&err, KILN_E_FORMAT, "%s", words);
    assert_true(strlen(err.text) < sizeof err.text);
    assert_string_equal(err.text + strlen(err.text) - 9, "abcde ...");
    kiln_prefix(&err, "%s", "xyz");
    assert_memory_equal(err.text, "xyz: abcde ", 11);
    assert_string_equal(err.text + strlen(err.text) - 9, "abcde ...");
    memset(one, 'x', sizeof one);
    one[sizeof one - 1] = '\0';
    kiln_fail(&err, KILN_E_FORMAT, "%s", one);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_string_equal(err.text + strlen(err.text) - 4, " ...");
    kiln_fail(&err, KILN_E_FORMAT, "%.*s", (int)sizeof err.text - 1, one);
    assert_memory_equal(err.text, one, sizeof err.text - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets_sizes_and_pointers_are_read),
        cmocka_unit_test(a_kernel_without_parameters_has_none),
        cmocka_unit_test(without_marks_an_eight_byte_word_may_be_either),
        cmocka_unit_test(a_person_may_mark_some_pointers_and_not_others),
        cmocka_unit_test(an_unknown_entry_is_not_found),
        cmocka_unit_test(a_required_block_is_read),
        cmocka_unit_test(too_many_parameters_are_told_by_number),
        cmocka_unit_test(a_cut_sentence_ends_at_a_word),
        cmocka_unit_test(damaged_lists_are_errors_or_shorter_lists),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
