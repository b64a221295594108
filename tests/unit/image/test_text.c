/* SPDX-License-Identifier: MIT
 *
 * PTX headers, guesses about bytes, and the length of an image of which only
 * the address is known.
 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "image/fatbin.h"
#include "image/guess.h"
#include "image/ptx_header.h"

static struct ptx_header head(const char *text)
{
    struct ptx_header h = {0};
    struct kiln_error err = {0};

    if (ptx_header_read(text, strlen(text), &h, &err))
        fail_msg("%s", err.text);
    return h;
}

static void headers_are_read_behind_comments(void **state)
{
    struct ptx_header h =
        head("\n// made by\n/* hand\n */\n.version 8.5\n"
             ".target sm_90a, debug\n.address_size 64\n.entry k(){ret;}");

    (void)state;
    assert_int_equal(h.major, 8);
    assert_int_equal(h.minor, 5);
    assert_int_equal(h.sm, 90);
    assert_int_equal(h.variant, 'a');
    assert_int_equal(h.address_size, 64);
    assert_true(h.debug);
    assert_int_equal(h.version_line, 5);
    assert_int_equal(h.target_line, 6);
    h = head(".version 8.8 .target sm_100f");
    assert_int_equal(h.variant, 'f');
    assert_int_equal(h.address_size, 32);
    h = head(".version 3.2\n.target sm_20, texmode_independent\n");
    assert_int_equal(h.sm, 20);
}

static void wrong(const char *text, const char *words)
{
    struct ptx_header h;
    struct kiln_error err = {0};

    assert_int_equal(ptx_header_read(text, strlen(text), &h, &err), KILN_E_PTX);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" without \"%s\"", err.text, words);
}

static void wrong_headers_name_the_line(void **state)
{
    (void)state;
    wrong("", "line 1: \"\" found, .version");
    wrong("\n\nhello", "line 3: \"hello\" found, .version");
    wrong(".version x", "line 1: .version without a number");
    wrong(".version 8", "line 1");
    wrong(".version 8.", "line 1");
    wrong(".version 99999999999.0", "line 1");
    wrong(".version 8.0\n", ".target expected");
    wrong(".version 8.0\n.target", "sm_NN");
    wrong(".version 8.0\n.target sm_\n", "\"sm_\" found");
    wrong(".version 8.0\n.target sm_90z\n", "\"sm_90z\" found");
    wrong(".version 8.0\n.target debug\n", "names no sm_NN");
    wrong(".version 8.0\n.target sm_80\n.address_size 16\n", "32 or 64");
    wrong("/* no end", ".version");
}

static void entries_are_found_without_parsing(void **state)
{
    static const char text[] =
        ".version 8.0\n.target sm_80\n// .entry no1\n/* .entry no2 */\n"
        ".file 1 \"a \\\" .entry no3\"\n.visible .entry _Z3fooPf(\n"
        "  .param .u64 p)\n{ mov.entry x; ret; }\n.entry\n  bar { }\n"
        ".weak .entry $x%y/**/() {} .entryway no4";
    struct arena arena = {0};
    const char **names;
    size_t count;

    (void)state;
    assert_int_equal(
        ptx_entry_names(text, sizeof text, &arena, &names, &count, NULL),
        KILN_OK);
    assert_int_equal(count, 3);
    assert_string_equal(names[0], "_Z3fooPf");
    assert_string_equal(names[1], "bar");
    assert_string_equal(names[2], "$x%y");
    arena_fini(&arena);
    for (size_t n = 0; n < sizeof text; n++) {
        struct kiln_error err;

        if (ptx_entry_names(text, n, &arena, &names, &count, &err))
            assert_non_null(strstr(err.text, ".entry at the end"));
    }
    arena_fini(&arena);
}

static void a_byte_that_no_name_has_is_told_with_its_line(void **state)
{
    static const struct {
        const char *text, *told;
    } cases[] = {
        {".entry k\xff(", "PTX: line 1: byte 0xff in the name of an entry"},
        {".entry a() {}\n\n.entry \xc3\xa9() {}", "line 3: byte 0xc3 in"},
        {".entry a() {}\n.entry\n// x\n k-m()", "line 4: byte 0x2d in"},
        {".entry k)", "byte 0x29"},
        {"\n.entry ( )", "line 2: byte 0x28"},
        {".entry k", "line 1: .entry at the end"},
        {".entry", "line 1: .entry at the end"}};
    static const char *const fine[] = {".entry k{", ".entry k;", ".entry k\t;",
                                       ".entry k.maxntid 1", ".entry k/**/{"};
    struct arena arena = {0};
    struct kiln_error err;
    const char **names;
    size_t count;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(ptx_entry_names(cases[i].text, strlen(cases[i].text),
                                         &arena, &names, &count, &err),
                         KILN_E_PTX);
        if (!strstr(err.text, cases[i].told))
            fail_msg("\"%s\" in place of \"%s\"", err.text, cases[i].told);
    }
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        assert_int_equal(ptx_entry_names(fine[i], strlen(fine[i]), &arena,
                                         &names, &count, NULL),
                         KILN_OK);
        assert_int_equal(count, 1);
        assert_string_equal(names[0], "k");
    }
    arena_fini(&arena);
}

static void looks(const void *bytes, size_t size, enum image_look look,
                  const char *words)
{
    struct image_guess g;

    image_guess(bytes, size, &g);
    if (g.look != look || !strstr(g.text, words))
        fail_msg("%d \"%s\", expected %d \"%s\"", g.look, g.text, look, words);
}

#define LOOKS(text, look, words) looks(text, sizeof text - 1, look, words)

static void bytes_are_called_by_their_name(void **state)
{
    unsigned char elf[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1};

    (void)state;
    LOOKS("", IMAGE_EMPTY, "no bytes");
    LOOKS("  // x\n.version 8.0", IMAGE_PTX, "PTX");
    LOOKS("\xef\xbb\xbf.version 8.0", IMAGE_TEXT, "byte order mark");
    LOOKS(".target sm_80\n.entry k", IMAGE_TEXT, "without .version");
    LOOKS("__global__ void k() {}", IMAGE_CUDA_SOURCE, "source");
    LOOKS("hello world", IMAGE_TEXT, "text");
    LOOKS("<!DOCTYPE html><p>404", IMAGE_HTML, "HTML");
    LOOKS("\x1f\x8b\x08", IMAGE_COMPRESSED, "gzip");
    LOOKS("PK\x03\x04", IMAGE_COMPRESSED, "zip");
    LOOKS("\x50\xed\x55\xba....", IMAGE_FATBIN, "fat binary");
    LOOKS("\xb1\x43\x62\x46....", IMAGE_WRAPPER, "pointer");
    LOOKS("\xed\x43\x4e\x7f....", IMAGE_LTO_IR, "LTO IR");
    LOOKS("BC\xc0\xde", IMAGE_BITCODE, "bitcode");
    LOOKS("!<arch>\n", IMAGE_ARCHIVE, "archive");
    LOOKS("\0\0\0\0\0\0\0\0\0", IMAGE_UNKNOWN, "zero byte");
    LOOKS("a\1b", IMAGE_UNKNOWN, "binary");
    looks(elf, 10, IMAGE_HOST_ELF, "start of an ELF");
    elf[16] = ET_DYN;
    elf[18] = EM_X86_64;
    looks(elf, sizeof elf, IMAGE_HOST_ELF, "x86-64 shared object");
    elf[18] = EM_CUDA;
    looks(elf, sizeof elf, IMAGE_CUBIN, "damaged cubin");
    elf[16] = ET_EXEC;
    elf[8] = 8;
    elf[49] = 90;
    looks(elf, sizeof elf, IMAGE_CUBIN, "a cubin for sm_90");
}

/* n bytes at the very end of mapped memory. */
static void *at_the_edge(const void *bytes, size_t n)
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

static void the_length_of_a_bare_image_is_found_or_refused(void **state)
{
    static const char ptx[] = ".version 8.0\n.target sm_80\n";
    struct fatbin_item item = {.kind = FATBIN_PTX,
                               .payload = ptx,
                               .size = sizeof ptx - 1,
                               .sm = 80,
                               .major = 8};
    struct kiln_error err;
    struct buffer b = {0};
    uint64_t wild[] = {0, 1 << 20, UINT64_MAX, UINT64_MAX - 15};
    char *at;
    size_t size;

    (void)state;
    at = at_the_edge(ptx, sizeof ptx);
    assert_int_equal(image_extent(at, &size, &err), KILN_OK);
    assert_int_equal(size, sizeof ptx - 1);
    assert_int_equal(fatbin_write(&item, 1, &b, NULL), KILN_OK);
    at = at_the_edge(b.bytes, b.size);
    assert_int_equal(image_extent(at, &size, &err), KILN_OK);
    assert_int_equal(size, b.size);
    for (int i = 0; i < 4; i++) {
        memcpy(at + 8, &wild[i], 8);
        assert_int_equal(image_extent(at, &size, &err),
                         i ? KILN_E_IMAGE : KILN_OK);
    }
    assert_int_equal(image_extent(NULL, &size, &err), KILN_E_INVALID);
    assert_int_equal(image_extent("hello", &size, &err), KILN_E_IMAGE);
    assert_non_null(strstr(err.text, "text"));
    at = at_the_edge("\x50\xed\x55\xba", 4);
    assert_int_equal(image_extent(at, &size, &err), KILN_E_IMAGE);
    at = at_the_edge("\x7f"
                     "ELF",
                     4);
    assert_int_equal(image_extent(at, &size, &err), KILN_E_IMAGE);
    buffer_fini(&b);
}

static void a_wild_section_table_is_refused(void **state)
{
    Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', 2, 1, 1},
                    .e_type = ET_EXEC,
                    .e_machine = EM_CUDA,
                    .e_shentsize = sizeof(Elf64_Shdr),
                    .e_shnum = 3};
    uint64_t wild[] = {64, 4096, 1ull << 40, UINT64_MAX, UINT64_MAX - 64};
    struct kiln_error err;
    size_t size;

    (void)state;
    for (int i = 0; i < 5; i++) {
        h.e_shoff = wild[i];
        assert_int_equal(image_extent(at_the_edge(&h, sizeof h), &size, &err),
                         KILN_E_IMAGE);
        assert_int_equal(elf_extent(&h, sizeof h, &size, &err), KILN_E_FORMAT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_are_read_behind_comments),
        cmocka_unit_test(wrong_headers_name_the_line),
        cmocka_unit_test(entries_are_found_without_parsing),
        cmocka_unit_test(a_byte_that_no_name_has_is_told_with_its_line),
        cmocka_unit_test(bytes_are_called_by_their_name),
        cmocka_unit_test(the_length_of_a_bare_image_is_found_or_refused),
        cmocka_unit_test(a_wild_section_table_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
