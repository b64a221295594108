/* SPDX-License-Identifier: MIT
 *
 * What bytes are taken for, for each kind of bytes that people give by
 * mistake; and images of which only the address is known.
 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "image/fatbin.h"
#include "image/guess.h"
#include "image/ptx_header.h"

static void looks(const void *bytes, size_t size, enum image_look look,
                  const char *text)
{
    struct image_guess g;

    image_guess(bytes, size, &g);
    assert_string_equal(g.text, text);
    assert_int_equal(g.look, look);
}

#define LOOKS(bytes, look, text) looks(bytes, sizeof bytes - 1, look, text)

static void every_magic_number_has_its_name(void **state)
{
    (void)state;
    LOOKS("\xde\xc0\x17\x0b", IMAGE_BITCODE, "LLVM bitcode");
    LOOKS("!<thin>\n", IMAGE_ARCHIVE, "a thin archive");
    LOOKS("\xfd"
          "7zXZ",
          IMAGE_COMPRESSED, "an xz file");
    LOOKS("\x28\xb5\x2f\xfd", IMAGE_COMPRESSED, "a zstd file");
    LOOKS("\x04\x22\x4d\x18", IMAGE_COMPRESSED, "an LZ4 file");
    LOOKS("BZh9", IMAGE_COMPRESSED, "a bzip2 file");
    LOOKS("<!doctype html>", IMAGE_HTML, "an HTML page");
    LOOKS("<html>", IMAGE_HTML, "an HTML page");
    LOOKS("<?xml version='1.0'?>", IMAGE_HTML, "an XML file");
    LOOKS("version https://git-lfs.github.com", IMAGE_TEXT,
          "a Git LFS pointer, not the file itself");
    looks(NULL, 7, IMAGE_EMPTY, "no bytes at all");
}

static void files_of_other_systems_are_named(void **state)
{
    unsigned char pe[80] = "MZ", tar[512] = "a.txt";

    (void)state;
    LOOKS("\x03\x02\x23\x07", IMAGE_FOREIGN, "SPIR-V");
    LOOKS("\xcf\xfa\xed\xfe", IMAGE_FOREIGN, "a Mach-O file of macOS");
    LOOKS("__CLANG_OFFLOAD_BUNDLE__", IMAGE_FOREIGN,
          "an offload bundle of clang");
    LOOKS("\x93NUMPY\1", IMAGE_FOREIGN, "an array of NumPy");
    LOOKS("\xff\xfe.\0v\0", IMAGE_FOREIGN, "text in UTF-16; PTX is ASCII");
    LOOKS("\xfe\xff\0.\0v", IMAGE_FOREIGN, "text in UTF-16; PTX is ASCII");
    LOOKS("\xff\xfe\0\1", IMAGE_UNKNOWN, "binary data of no known kind");
    LOOKS("\xfe\xff\1\1", IMAGE_UNKNOWN, "binary data of no known kind");
    pe[60] = 64;
    memcpy(pe + 64, "PE\0", 4);
    looks(pe, sizeof pe, IMAGE_FOREIGN, "a program or library for Windows");
    pe[60] = 77; /* the last place at which four bytes end inside is 76 */
    looks(pe, sizeof pe, IMAGE_UNKNOWN, "binary data of no known kind");
    memcpy(tar + 257, "ustar", 5);
    looks(tar, sizeof tar, IMAGE_FOREIGN, "a tar archive");
}

static void markup_is_known_behind_space_and_in_any_case(void **state)
{
    (void)state;
    LOOKS("<!Doctype html>", IMAGE_HTML, "an HTML page");
    LOOKS(" \n", IMAGE_TEXT, "text that is not PTX");
    LOOKS("\r\n <HTML>", IMAGE_HTML, "an HTML page");
    LOOKS("\xef\xbb\xbf<?xml", IMAGE_HTML, "an XML file");
}

static void a_foreign_elf_file_is_named_in_its_own_order_of_bytes(void **state)
{
    unsigned char elf[64] = "\x7f"
                            "ELF\x02\x02\x01";

    (void)state;
    elf[17] = 3;
    elf[19] = 21;
    looks(elf, sizeof elf, IMAGE_HOST_ELF,
          "a big-endian POWER shared object or program");
    elf[19] = 190;
    looks(elf, sizeof elf, IMAGE_HOST_ELF,
          "a big-endian NVIDIA GPU shared object or program");
    memcpy(elf + 16, "\3\0\xe0", 4);
    elf[5] = 1;
    looks(elf, sizeof elf, IMAGE_HOST_ELF,
          "an AMD GPU shared object or program");
}

static void an_elf_file_of_32_bits_is_said_to_be_one(void **state)
{
    unsigned char elf[64] = "\x7f"
                            "ELF\x01\x01\x01";

    (void)state;
    memcpy(elf + 16, "\1\0\x3e", 4); /* x32 */
    looks(elf, sizeof elf, IMAGE_HOST_ELF, "a 32-bit x86-64 object file");
    elf[18] = 3;
    looks(elf, sizeof elf, IMAGE_HOST_ELF, "a 32-bit x86 object file");
}

/* Too few bytes for a magic number are not that kind. */
static void a_beginning_alone_is_no_magic_number(void **state)
{
    (void)state;
    LOOKS("\x7f"
          "EL",
          IMAGE_UNKNOWN, "binary data of no known kind");
    LOOKS("!<arch>", IMAGE_TEXT, "text that is not PTX");
    LOOKS("\x50\xed\x55", IMAGE_UNKNOWN, "binary data of no known kind");
    LOOKS("\x1f", IMAGE_UNKNOWN, "binary data of no known kind");
    LOOKS(".versio", IMAGE_TEXT, "text that is not PTX");
}

static void ptx_begins_behind_comments_of_any_length(void **state)
{
    enum { SIZE = 3 << 16 };
    char *text = malloc(SIZE);

    (void)state;
    assert_non_null(text);
    memset(text, '*', SIZE);
    memcpy(text, "/", 1);
    memcpy(text + SIZE - 20, "*/ // a\n.version 8.0", 20);
    looks(text, SIZE, IMAGE_PTX, "PTX");
    text[SIZE - 12] = '-';
    looks(text, SIZE, IMAGE_TEXT, "text that is not PTX");
    free(text);
}

/* In whatever pieces it comes. */
static void what_is_skipped_before_ptx_is_the_same_in_pieces(void **state)
{
    static const struct {
        const char *text;
        size_t blank;
        int slash; /* after it, or before that which is no comment */
    } cases[] = {{" \n\t.version", 3, 0},
                 {"// a\n.", 5, 0},
                 {"/**/ /***/ /*/ */.", 17, 0},
                 {"/* /* */ x", 9, 0},
                 {"/* * /\n", 7, 0},
                 {" /.version", 2, 1},
                 {"/", 1, 1},
                 {"// \\\n.", 5, 0}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t cut = 0; cut <= strlen(cases[i].text); cut++) {
            enum ptx_blank now = PTX_BLANK;
            size_t n = ptx_skip_blank(cases[i].text, cut, &now);

            if (n == cut)
                n += ptx_skip_blank(cases[i].text + cut,
                                    strlen(cases[i].text) - cut, &now);
            assert_int_equal(n, cases[i].blank);
            assert_int_equal(now == PTX_SLASH, cases[i].slash);
        }
}

static void text_is_told_from_binary_data(void **state)
{
    (void)state;
    LOOKS("\xef\xbb\xbfhello", IMAGE_TEXT, "text with a byte order mark");
    LOOKS("\xef\xbb\xbf.version 8.0", IMAGE_TEXT,
          "text with a byte order mark before its PTX");
    LOOKS("Gr\xc3\xbc\xc3\x9f"
          "e",
          IMAGE_TEXT, "text that is not PTX");
    LOOKS("\xe2\x80\x94 \xf0\x9f\x98\x80 \xf0\x9f", IMAGE_TEXT,
          "text that is not PTX");
    LOOKS("\xf8\x80\x80\x80", IMAGE_UNKNOWN, "binary data of no known kind");
    LOOKS("\xe2(\xe2(", IMAGE_UNKNOWN, "binary data of no known kind");
    LOOKS("in Latin-1: \xe9t\xe9", IMAGE_TEXT, "text that is not PTX");
    LOOKS("\xff\xff\xff\xff", IMAGE_UNKNOWN, "binary data of no known kind");
    LOOKS("#!/bin/sh\n", IMAGE_TEXT, "a script");
    LOOKS("#include <a.h>", IMAGE_CUDA_SOURCE, "C or CUDA C++ source");
    LOOKS("__device__ int v;", IMAGE_CUDA_SOURCE, "C or CUDA C++ source");
    LOOKS("extern \"C\" int v;", IMAGE_CUDA_SOURCE, "C or CUDA C++ source");
    LOOKS(".visible .entry k", IMAGE_TEXT, "PTX without .version at its start");
    LOOKS("a\x7f", IMAGE_UNKNOWN, "binary data of no known kind");
    LOOKS("abc\0\0\0\0\0", IMAGE_TEXT, "text that is not PTX");
    LOOKS("abc\0\0\0\0\0\0\0\0\0\0", IMAGE_UNKNOWN,
          "binary data of no known kind");
}

static void an_elf_file_is_named_by_type_and_machine(void **state)
{
    static const struct {
        uint16_t type, machine;
        const char *text;
    } rows[] = {
        {ET_REL, EM_X86_64, "an x86-64 object file"},
        {ET_EXEC, EM_AARCH64, "an AArch64 program"},
        {ET_DYN, EM_PPC64, "a POWER shared object or program"},
        {ET_CORE, EM_RISCV, "a RISC-V core dump"},
        {ET_REL, EM_386, "a 32-bit x86 object file"},
        {ET_REL, 9999, "an object file for machine 9999"},
        {ET_EXEC, 17, "a program for machine 17"},
        {ET_DYN, EM_S390, "an IBM Z shared object or program"},
        {ET_REL, EM_BPF, "a BPF object file"},
        {0, 7, "an ELF file for machine 7"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', 2, 1, 1},
                        .e_type = rows[i].type,
                        .e_machine = rows[i].machine};
        struct image_guess g;

        image_guess(&h, sizeof h, &g);
        assert_string_equal(g.text, rows[i].text);
        assert_int_equal(g.look, IMAGE_HOST_ELF);
        assert_int_equal(g.machine, rows[i].machine);
    }
}

static void a_cubin_is_named_by_its_target(void **state)
{
    Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', 2, 1, 1, 0x33, 7},
                    .e_type = ET_EXEC,
                    .e_machine = EM_CUDA,
                    .e_flags = 0x5a0d5a};

    (void)state;
    looks(&h, sizeof h, IMAGE_CUBIN, "a cubin for sm_90a");
    h.e_type = ET_REL;
    h.e_flags = 0x4b054b;
    looks(&h, sizeof h, IMAGE_CUBIN, "a relocatable cubin for sm_75");
    looks(&h, 40, IMAGE_CUBIN, "a damaged cubin");
    h.e_flags = 0;
    looks(&h, sizeof h, IMAGE_CUBIN, "a damaged cubin");
}

/* ---- PTX: cut anywhere, it is refused in words or is whole ------------- */

static void a_header_cut_anywhere_is_refused_in_words(void **state)
{
    static const char text[] =
        "// a /* b\n/* c */.version 8.5\n.target sm_90a, debug\n"
        ".address_size 64\n";
    const size_t whole = (size_t)(strstr(text, "sm_") - text) + 4;

    (void)state;
    for (size_t n = 0; n < sizeof text; n++) {
        char *copy = malloc(n + 1);
        struct kiln_error err = {0};
        struct ptx_header h;
        enum kiln_status st;

        assert_non_null(copy);
        memcpy(copy, text, n);
        st = ptx_header_read(copy, n, &h, &err);
        assert_true(st ? *err.text && st == KILN_E_PTX : n >= whole);
        ptx_text_check(copy, n, &err);
        free(copy);
    }
}

static void any_byte_of_a_header_may_be_anything(void **state)
{
    static const char sound[] = ".version 8.5\n.target sm_90a, debug\n"
                                ".address_size 64\n.entry k () { \"s\" }";
    char text[sizeof sound];

    (void)state;
    for (size_t at = 0; at < sizeof sound - 1; at++)
        for (int value = 0; value < 256; value++) {
            struct kiln_error err = {0};
            struct ptx_header h;

            memcpy(text, sound, sizeof sound);
            text[at] = (char)value;
            if (ptx_header_read(text, sizeof text - 1, &h, &err))
                assert_true(*err.text);
            memset(&err, 0, sizeof err);
            if (ptx_text_check(text, sizeof text - 1, &err))
                assert_non_null(strstr(err.text, "line "));
        }
}

/* ---- bare images ------------------------------------------------------- */

/* n bytes at the very end of mapped memory. */
static char *at_the_edge(const void *bytes, size_t n)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = (n + page - 1) / page * page;
    char *map = mmap(NULL, size + page, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(map != MAP_FAILED);
    assert_int_equal(munmap(map + size, page), 0);
    memcpy(map + size - n, bytes, n);
    return map + size - n;
}

static enum kiln_status extent(const void *image, size_t *size,
                               const char *words)
{
    struct kiln_error err = {0};
    enum kiln_status st = image_extent(image, size, &err);

    if (!strstr(err.text, words))
        fail_msg("\"%s\" without \"%s\"", err.text, words);
    /* the same without an error to fill */
    assert_int_equal(image_extent(image, size, NULL), st);
    return st;
}

static void text_ends_at_its_nul_however_far(void **state)
{
    enum { LONG = 300000 };
    char *text = malloc(LONG + 1), *at;
    size_t size;

    (void)state;
    assert_non_null(text);
    memset(text, ' ', LONG);
    memcpy(text, ".version 8.0\n", 13);
    text[LONG] = '\0';
    at = at_the_edge(text, LONG + 1);
    assert_int_equal(extent(at, &size, ""), KILN_OK);
    assert_int_equal(size, LONG);
    at[LONG] = ' ';
    assert_int_equal(extent(at, &size, "without a NUL"), KILN_E_IMAGE);
    free(text);
}

static void what_begins_no_image_is_named(void **state)
{
    unsigned char wrapper[FATBIN_WRAPPER] = {0xb1, 0x43, 0x62, 0x46, 1};
    size_t size;

    (void)state;
    assert_int_equal(extent(at_the_edge("", 1), &size, "zero byte"),
                     KILN_E_IMAGE);
    assert_int_equal(extent(at_the_edge("\x50\xed", 2), &size, "looks like"),
                     KILN_E_IMAGE);
    assert_int_equal(
        extent(at_the_edge("\xb1\x43\x62\x46\1", 5), &size, "looks like"),
        KILN_E_IMAGE);
    assert_int_equal(extent(at_the_edge(wrapper, sizeof wrapper), &size, ""),
                     KILN_OK);
    assert_int_equal(size, FATBIN_WRAPPER);
    assert_int_equal(extent((void *)16, &size, "no memory is mapped"),
                     KILN_E_IMAGE);
    assert_int_equal(extent((void *)(UINTPTR_MAX - 8), &size, "no memory"),
                     KILN_E_IMAGE);
}

static void a_container_states_no_more_than_there_is(void **state)
{
    static const unsigned char header[FATBIN_HEADER] = {0x50, 0xed, 0x55, 0xba,
                                                        1,    0,    16,   0};
    char *at = at_the_edge(header, sizeof header);
    size_t size;

    (void)state;
    assert_int_equal(extent(at, &size, ""), KILN_OK);
    assert_int_equal(size, FATBIN_HEADER);
    at[6] = 0; /* a header of no bytes */
    assert_int_equal(extent(at, &size, "header of 0 bytes"), KILN_E_IMAGE);
    at[6] = 16;
    memset(at + 8, 0xff, 8);
    assert_int_equal(extent(at, &size, "0 left"), KILN_E_IMAGE);
}

static void a_bare_elf_file_states_no_more_than_there_is(void **state)
{
    Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', 2, 1, 1},
                    .e_type = ET_EXEC,
                    .e_machine = EM_CUDA};
    size_t size;

    (void)state;
    assert_int_equal(extent(at_the_edge(&h, sizeof h), &size, ""), KILN_OK);
    assert_int_equal(size, sizeof h);
    h.e_shoff = sizeof h;
    h.e_shnum = 1;
    h.e_shentsize = 64;
    assert_int_equal(extent(at_the_edge(&h, sizeof h), &size, "64 are there"),
                     KILN_E_IMAGE);
    h.e_shoff = (uint64_t)1 << 40;
    assert_int_equal(extent(at_the_edge(&h, sizeof h), &size, "are there"),
                     KILN_E_IMAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_magic_number_has_its_name),
        cmocka_unit_test(files_of_other_systems_are_named),
        cmocka_unit_test(markup_is_known_behind_space_and_in_any_case),
        cmocka_unit_test(a_foreign_elf_file_is_named_in_its_own_order_of_bytes),
        cmocka_unit_test(an_elf_file_of_32_bits_is_said_to_be_one),
        cmocka_unit_test(ptx_begins_behind_comments_of_any_length),
        cmocka_unit_test(what_is_skipped_before_ptx_is_the_same_in_pieces),
        cmocka_unit_test(a_beginning_alone_is_no_magic_number),
        cmocka_unit_test(text_is_told_from_binary_data),
        cmocka_unit_test(an_elf_file_is_named_by_type_and_machine),
        cmocka_unit_test(a_cubin_is_named_by_its_target),
        cmocka_unit_test(a_header_cut_anywhere_is_refused_in_words),
        cmocka_unit_test(any_byte_of_a_header_may_be_anything),
        cmocka_unit_test(text_ends_at_its_nul_however_far),
        cmocka_unit_test(what_begins_no_image_is_named),
        cmocka_unit_test(a_container_states_no_more_than_there_is),
        cmocka_unit_test(a_bare_elf_file_states_no_more_than_there_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
