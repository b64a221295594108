/* SPDX-License-Identifier: MIT
 *
 * ELF files that say of themselves what is not so, each told apart.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "image/elf_view.h"
#include "image/guess.h"

/* A header, three sections behind it, and the names at their end. */
struct file {
    Elf64_Ehdr header;
    Elf64_Shdr sections[3];
    char names[16];
};

static struct file sound(void)
{
    struct file f = {
        .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1},
                   .e_machine = EM_CUDA,
                   .e_ehsize = sizeof(Elf64_Ehdr),
                   .e_shoff = offsetof(struct file, sections),
                   .e_shentsize = sizeof(Elf64_Shdr),
                   .e_shnum = 3,
                   .e_shstrndx = 2},
        .sections = {{0},
                     {.sh_name = 1,
                      .sh_type = SHT_PROGBITS,
                      .sh_offset = 8,
                      .sh_size = 8},
                     {.sh_name = 7,
                      .sh_type = SHT_STRTAB,
                      .sh_offset = offsetof(struct file, names),
                      .sh_size = 15}}};

    memcpy(f.names, "\0.text\0.names\0", 15);
    return f;
}

static void refused(const struct file *f, size_t size, const char *words)
{
    struct kiln_error err = {0};
    struct elf_view elf;

    assert_int_equal(elf_view_open(f, size, &elf, &err), KILN_E_FORMAT);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" without \"%s\"", err.text, words);
}

static void a_wrong_header_is_named(void **state)
{
    struct file f = sound();
    struct elf_view elf;

    (void)state;
    assert_int_equal(elf_view_open(&f, sizeof f, &elf, NULL), KILN_OK);
    assert_int_equal(elf.sections, 3);
    refused(&f, 63, "63 bytes that do not begin");
    f.header.e_ident[0] = 0;
    refused(&f, sizeof f, "do not begin with an ELF header");
    f = sound();
    f.header.e_ident[EI_CLASS] = ELFCLASS32;
    refused(&f, sizeof f, "class 1");
    f = sound();
    f.header.e_ident[EI_DATA] = ELFDATA2MSB;
    refused(&f, sizeof f, "byte order 2");
    f = sound();
    f.header.e_shentsize = 40;
    refused(&f, sizeof f, "entries of 40 bytes");
    f = sound();
    f.header.e_shoff = sizeof f - 1;
    refused(&f, sizeof f, "section table at");
    f = sound();
    f.header.e_shoff = UINT64_MAX;
    refused(&f, sizeof f, "section table at");
    f = sound();
    f.header.e_shnum = 4;
    refused(&f, sizeof f, "4 sections");
}

static void a_large_count_stands_in_the_first_section(void **state)
{
    struct file f = sound();
    struct elf_view elf;

    (void)state;
    f.header.e_shnum = 0;
    f.sections[0].sh_size = 3;
    assert_int_equal(elf_view_open(&f, sizeof f, &elf, NULL), KILN_OK);
    assert_int_equal(elf.sections, 3);
    f.sections[0].sh_size = UINT64_MAX;
    refused(&f, sizeof f, "18446744073709551615 sections");
}

static const char *name_of(struct file *f, uint32_t index)
{
    static struct elf_section s;
    struct elf_view elf;

    assert_int_equal(elf_view_open(f, sizeof *f, &elf, NULL), KILN_OK);
    assert_int_equal(elf_view_section(&elf, index, &s, NULL), KILN_OK);
    return s.name;
}

static void names_that_cannot_be_read_are_empty(void **state)
{
    struct file f = sound();

    (void)state;
    assert_string_equal(name_of(&f, 1), ".text");
    assert_string_equal(name_of(&f, 2), ".names");
    f.sections[1].sh_name = 15;
    assert_string_equal(name_of(&f, 1), "");
    f.sections[2].sh_type = SHT_PROGBITS;
    assert_string_equal(name_of(&f, 2), "");
    f = sound();
    f.header.e_shstrndx = 3;
    assert_string_equal(name_of(&f, 1), "");
    f = sound();
    f.sections[2].sh_size = 0;
    assert_string_equal(name_of(&f, 1), "");
    f = sound();
    f.sections[2].sh_size = 6; /* its last byte is of a name */
    assert_string_equal(name_of(&f, 1), "");
    f = sound();
    f.header.e_shoff = 0;
    f.header.e_shnum = 0;
    {
        struct elf_view elf;
        struct elf_section s;
        struct kiln_error err;

        assert_int_equal(elf_view_open(&f, sizeof f, &elf, NULL), KILN_OK);
        assert_int_equal(elf_view_section(&elf, 0, &s, &err), KILN_E_FORMAT);
        assert_non_null(strstr(err.text, "section 0 of 0"));
    }
}

static void sections_lie_in_the_file_or_take_none_of_it(void **state)
{
    static const struct {
        uint32_t type;
        uint16_t machine;
        int empty;
    } types[] = {{SHT_NULL, EM_CUDA, 1},      {SHT_NOBITS, EM_X86_64, 1},
                 {0x70000007, EM_CUDA, 1},    {0x70000008, EM_CUDA, 1},
                 {0x7000000a, EM_CUDA, 1},    {0x7000000b, EM_CUDA, 0},
                 {0x70000007, EM_X86_64, 0},  {SHT_PROGBITS, EM_CUDA, 0},
                 {SHT_PROGBITS, EM_X86_64, 0}};
    static const uint64_t wild[][2] = {{sizeof(struct file) + 1, 0},
                                       {UINT64_MAX, 1},
                                       {0, UINT64_MAX},
                                       {8, sizeof(struct file)}};

    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (size_t w = 0; w < sizeof wild / sizeof *wild; w++) {
            struct file f = sound();
            struct kiln_error err = {0};
            struct elf_section s;
            struct elf_view elf;
            enum kiln_status st;

            f.header.e_machine = types[i].machine;
            f.sections[1].sh_type = types[i].type;
            f.sections[1].sh_offset = wild[w][0];
            f.sections[1].sh_size = wild[w][1];
            assert_int_equal(elf_view_open(&f, sizeof f, &elf, NULL), KILN_OK);
            st = elf_view_section(&elf, 1, &s, &err);
            assert_int_equal(st, types[i].empty ? KILN_OK : KILN_E_FORMAT);
            if (st)
                assert_non_null(strstr(err.text, "section 1: "));
            else
                assert_null(s.bytes);
        }
}

static void strings_outside_their_table_are_empty(void **state)
{
    const unsigned char bytes[] = "abc";
    struct elf_section s = {.bytes = bytes, .size = sizeof bytes};

    (void)state;
    assert_string_equal(elf_view_string(&s, 1), "bc");
    assert_string_equal(elf_view_string(&s, 4), "");
    assert_string_equal(elf_view_string(&s, UINT64_MAX), "");
    s.size = 3;
    assert_string_equal(elf_view_string(&s, 1), "");
    s.size = 0;
    assert_string_equal(elf_view_string(&s, 0), "");
    s.bytes = NULL;
    s.size = 4;
    assert_string_equal(elf_view_string(&s, 0), "");
}

/* The extent: by the table of sections, that of segments, and what the
 * sections hold. */
static void the_extent_is_where_the_last_table_or_section_ends(void **state)
{
    struct file f = sound();
    struct kiln_error err;
    size_t extent;

    (void)state;
    assert_int_equal(elf_extent(&f, sizeof f, &extent, &err), KILN_OK);
    assert_int_equal(extent, offsetof(struct file, names) + 15);
    f.header.e_phnum = 1;
    f.header.e_phentsize = 1;
    f.header.e_phoff = sizeof f - 1;
    assert_int_equal(elf_extent(&f, sizeof f, &extent, &err), KILN_OK);
    assert_int_equal(extent, sizeof f);
    f.header.e_phoff = UINT64_MAX;
    assert_int_equal(elf_extent(&f, sizeof f, &extent, &err), KILN_E_FORMAT);
    f = sound();
    f.sections[1].sh_size = sizeof f;
    assert_int_equal(elf_extent(&f, sizeof f, &extent, &err), KILN_E_FORMAT);
    assert_non_null(strstr(err.text, "are there"));
    f.sections[1].sh_size = (uint64_t)1 << 40;
    assert_int_equal(elf_extent(&f, sizeof f, &extent, &err), KILN_E_FORMAT);
    f = sound();
    f.header.e_ident[EI_CLASS] = ELFCLASS32;
    assert_int_equal(elf_extent(&f, sizeof f, &extent, &err), KILN_E_FORMAT);
    assert_non_null(strstr(err.text, "not a 64-bit ELF file"));
    f.header.e_ident[0] = 0;
    assert_int_equal(elf_extent(&f, sizeof f, &extent, &err), KILN_E_FORMAT);
    assert_int_equal(elf_extent(&f, 63, &extent, &err), KILN_E_FORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_header_is_named),
        cmocka_unit_test(a_large_count_stands_in_the_first_section),
        cmocka_unit_test(names_that_cannot_be_read_are_empty),
        cmocka_unit_test(sections_lie_in_the_file_or_take_none_of_it),
        cmocka_unit_test(strings_outside_their_table_are_empty),
        cmocka_unit_test(the_extent_is_where_the_last_table_or_section_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
