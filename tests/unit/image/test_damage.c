/* SPDX-License-Identifier: MIT
 *
 * Cubins of ptxas with one thing changed: what is refused says which, and
 * what may be is read.
 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "image/cubin.h"

static struct buffer file(const char *name)
{
    char path[512];
    struct buffer b = {0};
    struct kiln_error err;

    snprintf(path, sizeof path, "%s%s", DATA, name);
    if (file_read(path, 0, &b, &err))
        fail_msg("%s", err.text);
    return b;
}

static Elf64_Ehdr *header(struct buffer *b)
{
    return (Elf64_Ehdr *)(void *)b->bytes;
}

static Elf64_Shdr *row(struct buffer *b, uint32_t i)
{
    return (Elf64_Shdr *)(void *)(b->bytes + header(b)->e_shoff) + i;
}

static Elf64_Shdr *section(struct buffer *b, const char *name)
{
    const char *names =
        (const char *)b->bytes + row(b, header(b)->e_shstrndx)->sh_offset;

    for (uint32_t i = 1; i < header(b)->e_shnum; i++)
        if (!strcmp(names + row(b, i)->sh_name, name))
            return row(b, i);
    fail_msg("no section %s", name);
    return NULL;
}

/* The symbols' table begins at a multiple of 8 in these files. */
static Elf64_Sym *symbol(struct buffer *b, const char *name)
{
    const Elf64_Shdr *table = section(b, ".symtab");
    const char *names =
        (const char *)b->bytes + section(b, ".strtab")->sh_offset;
    Elf64_Sym *s = (Elf64_Sym *)(void *)(b->bytes + table->sh_offset);

    for (uint64_t i = 0; i < table->sh_size / sizeof *s; i++)
        if (!strcmp(names + s[i].st_name, name))
            return &s[i];
    fail_msg("no symbol %s", name);
    return NULL;
}

/* The value of the first record of .nv.info... with this attribute. */
static unsigned char *record(struct buffer *b, const char *name, int attribute)
{
    const Elf64_Shdr *s = section(b, name);
    unsigned char *at = b->bytes + s->sh_offset, *end = at + s->sh_size;

    while (at < end) {
        uint16_t size;

        memcpy(&size, at + 2, sizeof size);
        if (at[1] == attribute)
            return at;
        at += 4 + (at[0] == 4 ? (size + 3) & ~3 : 0);
    }
    fail_msg("no attribute 0x%x in %s", attribute, name);
    return NULL;
}

/* Read in a block of exactly its size; with words, it is refused so. */
static void reads(struct buffer *b, struct arena *arena, struct cubin *out)
{
    struct kiln_error err = {0};

    if (cubin_read(b->bytes, b->size, arena, out, &err))
        fail_msg("%s", err.text);
}

static void refused(struct buffer *b, const char *words)
{
    unsigned char *copy = malloc(b->size);
    struct arena arena = {0};
    struct kiln_error err = {0};
    struct cubin out;

    assert_non_null(copy);
    memcpy(copy, b->bytes, b->size);
    assert_int_equal(cubin_check(copy, b->size, &arena, &out, &err),
                     KILN_E_FORMAT);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" without \"%s\"", err.text, words);
    arena_fini(&arena);
    free(copy);
    buffer_fini(b);
}

static const struct cubin_kernel *kernel(const struct cubin *c,
                                         const char *name)
{
    const struct cubin_kernel *k = cubin_kernel_find(c, name);

    assert_non_null(k);
    return k;
}

/* ---- what may be ------------------------------------------------------- */

static void abi_7_keeps_registers_in_the_sections_row(void **state)
{
    struct buffer b = file("sm75.cubin");
    struct arena arena = {0};
    struct cubin c;

    (void)state;
    header(&b)->e_ident[EI_ABIVERSION] = 7;
    header(&b)->e_flags = 0x4b054b;
    header(&b)->e_version = 118;
    /* nothing of both kernels in .nv.info */
    section(&b, ".nv.info")->sh_size = 0;
    /* and what belongs to no kernel */
    section(&b, ".nv.callgraph")->sh_info = 7u << 24;
    reads(&b, &arena, &c);
    assert_int_equal(c.abi, 7);
    assert_int_equal(c.toolkit, 118);
    assert_int_equal(kernel(&c, "plain")->registers, 4);
    assert_int_equal(kernel(&c, "mixed")->registers, 5);
    arena_fini(&arena);
    buffer_fini(&b);
}

static void the_common_records_come_before_the_sections_row(void **state)
{
    struct buffer b = file("sm75.cubin");
    struct arena arena = {0};
    struct cubin c;

    (void)state;
    header(&b)->e_ident[EI_ABIVERSION] = 7;
    header(&b)->e_flags = 0x4b054b;
    record(&b, ".nv.info", 0x2f)[8] = 77;
    symbol(&b, "plain")->st_other = 0; /* no kernel, its section is there */
    reads(&b, &arena, &c);
    assert_int_equal(c.kernel_count, 1);
    assert_in_range(kernel(&c, "mixed")->registers, 5, 77);
    arena_fini(&arena);
    buffer_fini(&b);
}

static void a_pointer_is_told_by_its_kind_from_sm_100_on(void **state)
{
    struct buffer b = file("sm100.cubin");
    uint32_t word = 8u << 18 | 5u << 8;
    struct arena arena = {0};
    unsigned char *at = record(&b, ".nv.info.mixed", 0x17);
    const struct cubin_kernel *k;
    unsigned ordinal;
    struct cubin c;

    (void)state;
    ordinal = at[8];
    memcpy(at + 12, &word, sizeof word);
    reads(&b, &arena, &c);
    k = kernel(&c, "mixed");
    assert_int_equal(k->params[ordinal].size, 8);
    assert_int_equal(k->params[ordinal].pointer, CUBIN_YES);
    word = 8u << 18 | 1u << 8;
    memcpy(at + 12, &word, sizeof word);
    arena_fini(&arena);
    reads(&b, &arena, &c);
    assert_int_equal(kernel(&c, "mixed")->params[ordinal].pointer,
                     CUBIN_UNKNOWN);
    arena_fini(&arena);
    buffer_fini(&b);
}

static void what_is_not_told_stays_unknown(void **state)
{
    struct buffer b = file("sm90a.cubin");
    struct arena arena = {0};
    struct cubin c;

    (void)state;
    section(&b, ".nv.compat")->sh_name = 0;
    section(&b, ".note.nv.cuinfo")->sh_name = 0;
    section(&b, ".nv.info")->sh_name = 0;
    section(&b, ".nv.shared.mixed")->sh_size = 1000; /* the system's alone */
    reads(&b, &arena, &c);
    assert_int_equal(c.variant, 0);
    assert_int_equal(c.toolkit, 0);
    assert_int_equal(kernel(&c, "plain")->registers, -1);
    assert_int_equal(kernel(&c, "mixed")->static_shared, 0);
    arena_fini(&arena);
    section(&b, ".symtab")->sh_name = 0;
    reads(&b, &arena, &c);
    assert_int_equal(c.kernel_count, 0);
    assert_int_equal(c.variable_count, 0);
    arena_fini(&arena);
    buffer_fini(&b);
}

static void records_cut_short_tell_nothing(void **state)
{
    struct buffer b = file("sm90a.cubin");
    struct arena arena = {0};
    uint16_t size = 4;
    struct cubin c;

    (void)state;
    memcpy(record(&b, ".nv.info", 0x2f) + 2, &size, sizeof size);
    reads(&b, &arena, &c);
    arena_fini(&arena);
    section(&b, ".nv.info.mixed")->sh_size -= 2;
    section(&b, ".nv.info.plain")->sh_size = 6;
    reads(&b, &arena, &c);
    assert_int_equal(kernel(&c, "plain")->param_count, 0);
    arena_fini(&arena);
    buffer_fini(&b);
}

/* Products and sums of three wild numbers. */
static void limits_do_not_wrap(void **state)
{
    struct buffer b = file("sm90a.cubin");
    struct arena arena = {0};
    struct cubin c;

    (void)state;
    memset(record(&b, ".nv.info.mixed", 0x05) + 4, 0xff, 12);
    section(&b, ".nv.shared.mixed")->sh_size = UINT64_MAX;
    section(&b, ".nv.global")->sh_size = UINT64_MAX;
    reads(&b, &arena, &c);
    assert_int_equal(kernel(&c, "mixed")->max_threads, UINT32_MAX);
    assert_int_equal(kernel(&c, "mixed")->static_shared, UINT32_MAX);
    arena_fini(&arena);
    buffer_fini(&b);
}

static void symbols_of_no_section_are_no_variables(void **state)
{
    struct buffer b = file("sm90a.cubin");
    const Elf64_Shdr *table = section(&b, ".symtab");
    Elf64_Sym *s = (Elf64_Sym *)(void *)(b.bytes + table->sh_offset);
    static const uint16_t homes[] = {SHN_UNDEF, SHN_COMMON, 2, 0x1000};
    struct arena arena = {0};
    struct cubin c;

    (void)state;
    for (size_t h = 0; h < sizeof homes / sizeof *homes; h++) {
        for (uint64_t i = 0; i < table->sh_size / sizeof *s; i++)
            if (ELF64_ST_TYPE(s[i].st_info) == STT_OBJECT)
                s[i].st_shndx = homes[h];
        reads(&b, &arena, &c);
        assert_int_equal(c.variable_count, 0);
        assert_int_equal(c.kernel_count, 2);
        arena_fini(&arena);
    }
    buffer_fini(&b);
}

/* ---- what is refused --------------------------------------------------- */

static void more_bytes_and_names_than_the_file_has_are_refused(void **state)
{
    struct buffer b = file("sm90a.cubin");
    uint32_t name = section(&b, ".nv.info")->sh_name;

    (void)state;
    for (uint32_t i = 4; i < header(&b)->e_shnum; i++) {
        row(&b, i)->sh_type = SHT_PROGBITS;
        row(&b, i)->sh_name = name;
        row(&b, i)->sh_offset = 0;
        row(&b, i)->sh_size = b.size;
    }
    refused(&b, "overlap without end");
    /* All symbols are kernels with one long name, and many. */
    b = file("sm75.cubin");
    section(&b, ".strtab")->sh_offset = 0;
    section(&b, ".strtab")->sh_size = b.size;
    b.bytes[b.size - 1] = 0;
    for (uint32_t i = 4; i < header(&b)->e_shnum; i++)
        memset(row(&b, i), 0, 64);
    {
        const Elf64_Shdr *table = section(&b, ".symtab");
        Elf64_Sym *s = (Elf64_Sym *)(void *)(b.bytes + table->sh_offset);
        uint64_t n = table->sh_size / sizeof *s;
        uint64_t end = table->sh_offset + table->sh_size;

        memset(b.bytes + end, 'n', header(&b)->e_shoff - end);
        for (uint64_t i = 0; i < n; i++)
            s[i] = (Elf64_Sym){.st_name = (uint32_t)end,
                               .st_info = STT_FUNC,
                               .st_other = 0x10,
                               .st_shndx = 1};
    }
    refused(&b, "names are longer than the file");
}

static void
a_section_past_the_end_is_refused_however_it_is_counted(void **state)
{
    struct buffer b = file("sm90a.cubin");

    (void)state;
    section(&b, ".nv.callgraph")->sh_offset = b.size;
    refused(&b, "speak of");
    b = file("sm90a.cubin");
    row(&b, 0)->sh_size = header(&b)->e_shnum;
    row(&b, 1)->sh_offset = UINT64_MAX;
    header(&b)->e_shnum = 0;
    refused(&b, "section 1: ");
    b = file("sm90a.cubin");
    section(&b, ".nv.callgraph")->sh_offset = UINT64_MAX;
    row(&b, 0)->sh_size = header(&b)->e_shnum;
    header(&b)->e_shnum = 0;
    refused(&b, "bytes at 0xffffffffffffffff");
}

static void a_header_that_a_driver_would_trust_is_looked_at(void **state)
{
    struct buffer b = file("sm90a.cubin");

    (void)state;
    header(&b)->e_ident[EI_VERSION] = 2;
    refused(&b, "header of 64 bytes");
    b = file("sm90a.cubin");
    header(&b)->e_ehsize = 52;
    refused(&b, "header of 52 bytes");
    b = file("sm90a.cubin");
    header(&b)->e_phentsize = 32;
    refused(&b, "tables of 32 and 64");
    b = file("sm90a.cubin");
    header(&b)->e_shoff = 0;
    header(&b)->e_shnum = 0;
    refused(&b, "0 sections");
    b = file("sm90a.cubin");
    header(&b)->e_shoff = 0;
    header(&b)->e_shnum = 0;
    header(&b)->e_shentsize = 0;
    refused(&b, "tables of 56 and 0");
    b = file("sm90a.cubin");
    header(&b)->e_shstrndx = header(&b)->e_shnum;
    refused(&b, "their names in number");
    b = file("sm90a.cubin");
    row(&b, header(&b)->e_shstrndx)->sh_type = SHT_PROGBITS;
    refused(&b, "their names in number");
    b = file("sm90a.cubin");
    header(&b)->e_ident[EI_ABIVERSION] = 9;
    refused(&b, "ABI 9, 7 or 8 expected");
    b = file("sm90a.cubin");
    header(&b)->e_version = 2;
    refused(&b, "version 2, 1 expected");
    b = file("sm90a.cubin");
    header(&b)->e_flags ^= 1;
    refused(&b, "for sm_90");
    b = file("sm100.cubin");
    header(&b)->e_flags = (header(&b)->e_flags & ~255u) | 4;
    refused(&b, "for sm_100");
    b = file("sm90a.cubin");
    row(&b, 0)->sh_info = 1;
    refused(&b, "section 0 is not empty");
}

static void segments_lie_in_the_file(void **state)
{
    static const struct {
        uint64_t offset, size, memory;
    } wild[] = {{UINT64_MAX, 1, 1},
                {0, UINT64_MAX, UINT64_MAX},
                {UINT64_MAX, 0, 0},
                {0, 8, 7}};

    (void)state;
    for (size_t i = 0; i < sizeof wild / sizeof *wild; i++) {
        struct buffer b = file("sm90a.cubin");
        Elf64_Phdr *p = (Elf64_Phdr *)(void *)(b.bytes + header(&b)->e_phoff);

        p->p_offset = wild[i].offset;
        p->p_filesz = wild[i].size;
        p->p_memsz = wild[i].memory;
        refused(&b, "segment 0: ");
    }
}

static void symbols_lead_to_names_and_sections(void **state)
{
    struct buffer b = file("sm90a.cubin");

    (void)state;
    section(&b, ".symtab")->sh_entsize = 16;
    refused(&b, "symbols of 16 bytes");
    b = file("sm90a.cubin");
    section(&b, ".symtab")->sh_size -= 1;
    refused(&b, "symbols of 24 bytes");
    b = file("sm90a.cubin");
    section(&b, ".strtab")->sh_type = SHT_PROGBITS;
    refused(&b, "names in section 2");
    b = file("sm90a.cubin");
    section(&b, ".strtab")->sh_size = 0;
    refused(&b, "names in section 2");
    b = file("sm90a.cubin");
    section(&b, ".strtab")->sh_size -= 1;
    refused(&b, "names in section 2");
    b = file("sm90a.cubin");
    section(&b, ".symtab")->sh_link = 0xffff;
    refused(&b, "section 65535 of");
    b = file("sm90a.cubin");
    symbol(&b, "plain")->st_name = 0xffffff;
    refused(&b, "name at 16777215 of");
    b = file("sm90a.cubin");
    b.bytes[section(&b, ".strtab")->sh_offset + symbol(&b, "plain")->st_name] =
        '\a';
    refused(&b, "a name that is no text");
    b = file("sm90a.cubin");
    symbol(&b, "plain")->st_shndx = 0xff00;
    refused(&b, "section 65280 of");
    b = file("sm90a.cubin");
    symbol(&b, "plain")->st_value = UINT64_MAX;
    refused(&b, "bytes at 0xffffffffffffffff of section");
    b = file("sm90a.cubin");
    symbol(&b, "plain")->st_size = UINT64_MAX;
    refused(&b, "18446744073709551615 bytes at 0x0");
}

static void a_symbol_may_have_no_section(void **state)
{
    static const uint16_t none[] = {SHN_UNDEF, SHN_ABS, SHN_COMMON};

    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        struct buffer b = file("sm90a.cubin");
        struct arena arena = {0};
        struct cubin c;

        symbol(&b, "table")->st_shndx = none[i];
        assert_int_equal(cubin_check(b.bytes, b.size, &arena, &c, NULL),
                         KILN_OK);
        arena_fini(&arena);
        buffer_fini(&b);
    }
}

static void relocations_lead_to_symbols_and_bytes(void **state)
{
    struct buffer b = file("sm100.cubin");
    const char *name = ".rela.debug_frame";

    (void)state;
    section(&b, name)->sh_entsize = 16;
    refused(&b, "relocations of 16 bytes");
    b = file("sm100.cubin");
    section(&b, name)->sh_size -= 1;
    refused(&b, "relocations of 24 bytes");
    b = file("sm100.cubin");
    section(&b, name)->sh_link = 2;
    refused(&b, "linked to section 2, the symbols are in 3");
    b = file("sm100.cubin");
    section(&b, name)->sh_info = 0xffff;
    refused(&b, "section 65535 of");
    b = file("sm100.cubin");
    memset(b.bytes + section(&b, name)->sh_offset, 0xff, 8);
    refused(&b, "at 0xffffffffffffffff, symbol");
    b = file("sm100.cubin");
    memset(b.bytes + section(&b, name)->sh_offset + 12, 0xff, 4);
    refused(&b, "symbol 4294967295");
    b = file("sm75.cubin");
    section(&b, ".rel.debug_frame")->sh_entsize = 24;
    refused(&b, "relocations of 24 bytes");
}

static void records_and_notes_end_where_their_section_does(void **state)
{
    struct buffer b = file("sm90a.cubin");

    (void)state;
    section(&b, ".nv.info.mixed")->sh_size -= 2;
    refused(&b, "a record of form");
    b = file("sm90a.cubin");
    b.bytes[section(&b, ".nv.info.mixed")->sh_offset] = 0;
    refused(&b, "a record of form 0");
    b = file("sm90a.cubin");
    b.bytes[section(&b, ".nv.info.mixed")->sh_offset] = 5;
    refused(&b, "a record of form 5");
    b = file("sm90a.cubin");
    section(&b, ".note.nv.cuinfo")->sh_size -= 4;
    refused(&b, "a note cut short");
    b = file("sm90a.cubin");
    memset(b.bytes + section(&b, ".note.nv.tkinfo")->sh_offset + 28, 0xff, 4);
    refused(&b, "a note cut short");
    b = file("sm90a.cubin");
    memset(b.bytes + section(&b, ".note.nv.tkinfo")->sh_offset + 4, 0, 4);
    refused(&b, "a note cut short");
}

static void every_section_has_a_name_a_type_and_an_owner(void **state)
{
    struct buffer b = file("sm90a.cubin");

    (void)state;
    section(&b, ".nv.callgraph")->sh_name = 0;
    refused(&b, "has no name or no type");
    b = file("sm90a.cubin");
    section(&b, ".nv.callgraph")->sh_type = SHT_NULL;
    refused(&b, "has no name or no type");
    b = file("sm90a.cubin");
    section(&b, ".nv.callgraph")->sh_info = 0xffff;
    refused(&b, ".nv.callgraph: of section 65535");
    b = file("sm90a.cubin");
    section(&b, ".nv.callgraph")->sh_link = 0xffff;
    refused(&b, "is linked to 65535");
    b = file("sm90a.cubin");
    b.bytes[row(&b, header(&b)->e_shstrndx)->sh_offset +
            section(&b, ".nv.callgraph")->sh_name] = '\x7f';
    refused(&b, "a name that is no text");
}

static void a_parameter_beyond_their_count_is_refused(void **state)
{
    struct buffer b = file("sm90a.cubin");

    (void)state;
    record(&b, ".nv.info.mixed", 0x17)[8] = 99;
    refused(&b, "parameter 99 of 6");
}

/* Every field of the header and of each row of the tables of sections and
 * segments: none of it, and all of it. */
static void no_field_is_trusted(void **state)
{
    struct buffer b = file("sm100.cubin");
    uint64_t tables[] = {0, header(&b)->e_shoff, header(&b)->e_phoff};
    uint64_t sizes[] = {sizeof(Elf64_Ehdr),
                        header(&b)->e_shnum * sizeof(Elf64_Shdr),
                        header(&b)->e_phnum * sizeof(Elf64_Phdr)};
    unsigned char *copy = malloc(b.size);

    (void)state;
    assert_non_null(copy);
    for (int t = 0; t < 3; t++)
        for (uint64_t at = tables[t]; at < tables[t] + sizes[t]; at += 2)
            for (size_t n = 2; n <= 8; n *= 2)
                for (int value = 0; value < 256; value += 255) {
                    struct kiln_error err = {0};
                    struct arena arena = {0};
                    struct cubin c;

                    if (at % n || at + n > b.size)
                        continue;
                    memcpy(copy, b.bytes, b.size);
                    memset(copy + at, value, n);
                    if (cubin_check(copy, b.size, &arena, &c, &err))
                        assert_true(*err.text);
                    arena_fini(&arena);
                }
    free(copy);
    buffer_fini(&b);
}

/* A relocation, a record, a symbol that stay in range and still lead a loader
 * astray. */
static void what_a_loader_takes_for_granted_holds(void **state)
{
    struct buffer b = file("sm90a.cubin");
    uint32_t word = 15; /* the variable "table" */

    (void)state;
    memcpy(record(&b, ".nv.info", 0x2f) + 4, &word, sizeof word);
    refused(&b, "attribute 0x2f leads outside");
    b = file("sm90a.cubin");
    word = 300;
    memcpy(record(&b, ".nv.info", 0x2f) + 8, &word, sizeof word);
    refused(&b, "attribute 0x2f leads outside");
    b = file("sm90a.cubin");
    record(&b, ".nv.info", 0x2f)[1] = 0x7e;
    refused(&b, "its registers are not told");
    b = file("sm90a.cubin");
    word = 1 << 20;
    memcpy(record(&b, ".nv.info.mixed", 0x1c) + 4, &word, sizeof word);
    refused(&b, "attribute 0x1c leads outside");
    b = file("sm90a.cubin");
    record(&b, ".nv.info.mixed", 0x1c)[0] = 1;
    refused(&b, "a record of form 1");
    b = file("sm90a.cubin");
    section(&b, ".nv.info.mixed")->sh_info = 17;
    refused(&b, "which is .text.plain");
    b = file("sm90a.cubin");
    section(&b, ".text.mixed")->sh_info = 14;
    refused(&b, "of symbol 14, which is another");
    b = file("sm90a.cubin");
    section(&b, ".nv.constant0.mixed")->sh_name =
        section(&b, ".nv.global")->sh_name;
    refused(&b, "2 kernels, attributes of 2, parameters of 1");
    b = file("sm90a.cubin");
    section(&b, ".nv.shared.mixed")->sh_addralign = 48;
    refused(&b, "aligned to 48");
    b = file("sm90a.cubin");
    section(&b, ".nv.shared.mixed")->sh_size = UINT64_MAX / 2;
    refused(&b, ".nv.shared.mixed: 9223372036854775807 bytes");
    b = file("sm90a.cubin");
    section(&b, ".nv.constant3")->sh_type = SHT_NOBITS;
    section(&b, ".nv.constant3")->sh_size = 65537;
    refused(&b, ".nv.constant3: 65537 bytes");
    b = file("sm90a.cubin");
    symbol(&b, "table")->st_shndx = 7; /* .nv.info */
    refused(&b, "the variable table");
    b = file("sm90a.cubin");
    symbol(&b, "table")->st_size = 1 << 20;
    refused(&b, "the variable table: 1048576 bytes");
    b = file("sm90a.cubin");
    symbol(&b, "plain")->st_shndx = 18;
    refused(&b, "the function plain in section .text.mixed");
    b = file("sm90a.cubin");
    symbol(&b, "mixed")->st_other |= 0x40;
    refused(&b, "type and binding");
    b = file("sm90a.cubin");
    word = 4000;
    memcpy(b.bytes + section(&b, ".nv.callgraph")->sh_offset, &word, 4);
    refused(&b, ".nv.callgraph: symbol 4000");
    b = file("sm90a.cubin");
    b.bytes[section(&b, ".note.nv.cuinfo")->sh_offset + 12] = 'X';
    refused(&b, "a note cut short");
    b = file("sm90a.cubin");
    memset(b.bytes + section(&b, ".note.nv.tkinfo")->sh_offset + 4, 0xff, 4);
    refused(&b, "a note cut short");
    b = file("sm90a.cubin");
    header(&b)->e_entry = 8;
    refused(&b, "type 2 with");
    b = file("sm90a.cubin");
    header(&b)->e_type = ET_REL;
    refused(&b, "type 1 with");
    b = file("sm90a.cubin");
    header(&b)->e_ident[EI_OSABI] = 0;
    refused(&b, "of 0x00");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(abi_7_keeps_registers_in_the_sections_row),
        cmocka_unit_test(the_common_records_come_before_the_sections_row),
        cmocka_unit_test(a_pointer_is_told_by_its_kind_from_sm_100_on),
        cmocka_unit_test(what_is_not_told_stays_unknown),
        cmocka_unit_test(records_cut_short_tell_nothing),
        cmocka_unit_test(limits_do_not_wrap),
        cmocka_unit_test(symbols_of_no_section_are_no_variables),
        cmocka_unit_test(more_bytes_and_names_than_the_file_has_are_refused),
        cmocka_unit_test(
            a_section_past_the_end_is_refused_however_it_is_counted),
        cmocka_unit_test(a_header_that_a_driver_would_trust_is_looked_at),
        cmocka_unit_test(segments_lie_in_the_file),
        cmocka_unit_test(symbols_lead_to_names_and_sections),
        cmocka_unit_test(a_symbol_may_have_no_section),
        cmocka_unit_test(relocations_lead_to_symbols_and_bytes),
        cmocka_unit_test(records_and_notes_end_where_their_section_does),
        cmocka_unit_test(every_section_has_a_name_a_type_and_an_owner),
        cmocka_unit_test(a_parameter_beyond_their_count_is_refused),
        cmocka_unit_test(what_a_loader_takes_for_granted_holds),
        cmocka_unit_test(no_field_is_trusted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
