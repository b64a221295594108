/* SPDX-License-Identifier: MIT
 *
 * Cubins of ptxas with one thing changed: what is refused says which. A driver
 * that believes it may crash.
 */
#include "cubin_parts.h"
#include "image/cubin.h"

/* Read in a block of exactly its size. */
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

static void more_bytes_and_names_than_the_file_has_are_refused(void **state)
{
    struct buffer b = fixture_file(DATA "sm90a.cubin");
    uint32_t name = part_section(&b, ".nv.info")->sh_name;

    (void)state;
    for (uint32_t i = 4; i < part_header(&b)->e_shnum; i++) {
        part_row(&b, i)->sh_type = SHT_PROGBITS;
        part_row(&b, i)->sh_name = name;
        part_row(&b, i)->sh_offset = 0;
        part_row(&b, i)->sh_size = b.size;
    }
    refused(&b, "overlap without end");
    /* All symbols are kernels with one long name, and many. */
    b = fixture_file(DATA "sm75.cubin");
    part_section(&b, ".strtab")->sh_offset = 0;
    part_section(&b, ".strtab")->sh_size = b.size;
    b.bytes[b.size - 1] = 0;
    for (uint32_t i = 4; i < part_header(&b)->e_shnum; i++)
        memset(part_row(&b, i), 0, 64);
    {
        const Elf64_Shdr *table = part_section(&b, ".symtab");
        Elf64_Sym *s = (Elf64_Sym *)(void *)(b.bytes + table->sh_offset);
        uint64_t n = table->sh_size / sizeof *s;
        uint64_t end = table->sh_offset + table->sh_size;

        memset(b.bytes + end, 'n', part_header(&b)->e_shoff - end);
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
    struct buffer b = fixture_file(DATA "sm90a.cubin");

    (void)state;
    part_section(&b, ".nv.callgraph")->sh_offset = b.size;
    refused(&b, "speak of");
    b = fixture_file(DATA "sm90a.cubin");
    part_row(&b, 0)->sh_size = part_header(&b)->e_shnum;
    part_row(&b, 1)->sh_offset = UINT64_MAX;
    part_header(&b)->e_shnum = 0;
    refused(&b, "section 1: ");
    b = fixture_file(DATA "sm90a.cubin");
    part_section(&b, ".nv.callgraph")->sh_offset = UINT64_MAX;
    part_row(&b, 0)->sh_size = part_header(&b)->e_shnum;
    part_header(&b)->e_shnum = 0;
    refused(&b, "bytes at 0xffffffffffffffff");
}

static void a_header_that_a_driver_would_trust_is_looked_at(void **state)
{
    struct buffer b = fixture_file(DATA "sm90a.cubin");

    (void)state;
    part_header(&b)->e_ident[EI_VERSION] = 2;
    refused(&b, "header of 64 bytes");
    b = fixture_file(DATA "sm90a.cubin");
    part_header(&b)->e_ehsize = 52;
    refused(&b, "header of 52 bytes");
    b = fixture_file(DATA "sm90a.cubin");
    part_header(&b)->e_phentsize = 32;
    refused(&b, "tables of 32 and 64");
    b = fixture_file(DATA "sm90a.cubin");
    part_header(&b)->e_shoff = 0;
    part_header(&b)->e_shnum = 0;
    refused(&b, "0 sections");
    b = fixture_file(DATA "sm90a.cubin");
    part_header(&b)->e_shoff = 0;
    part_header(&b)->e_shnum = 0;
    part_header(&b)->e_shentsize = 0;
    refused(&b, "tables of 56 and 0");
    b = fixture_file(DATA "sm90a.cubin");
    part_header(&b)->e_shstrndx = part_header(&b)->e_shnum;
    refused(&b, "their names in number");
    b = fixture_file(DATA "sm90a.cubin");
    part_row(&b, part_header(&b)->e_shstrndx)->sh_type = SHT_PROGBITS;
    refused(&b, "their names in number");
    b = fixture_file(DATA "sm90a.cubin");
    part_header(&b)->e_ident[EI_ABIVERSION] = 9;
    refused(&b, "ABI 9, 7 or 8 expected");
    b = fixture_file(DATA "sm90a.cubin");
    part_header(&b)->e_version = 2;
    refused(&b, "version 2, 1 expected");
    b = fixture_file(DATA "sm90a.cubin");
    part_header(&b)->e_flags ^= 1;
    refused(&b, "for sm_90");
    b = fixture_file(DATA "sm100.cubin");
    part_header(&b)->e_flags = (part_header(&b)->e_flags & ~255u) | 4;
    refused(&b, "for sm_100");
    b = fixture_file(DATA "sm90a.cubin");
    part_row(&b, 0)->sh_info = 1;
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
        struct buffer b = fixture_file(DATA "sm90a.cubin");
        Elf64_Phdr *p =
            (Elf64_Phdr *)(void *)(b.bytes + part_header(&b)->e_phoff);

        p->p_offset = wild[i].offset;
        p->p_filesz = wild[i].size;
        p->p_memsz = wild[i].memory;
        refused(&b, "segment 0: ");
    }
}

static void symbols_lead_to_names_and_sections(void **state)
{
    struct buffer b = fixture_file(DATA "sm90a.cubin");

    (void)state;
    part_section(&b, ".symtab")->sh_entsize = 16;
    refused(&b, "symbols of 16 bytes");
    b = fixture_file(DATA "sm90a.cubin");
    part_section(&b, ".symtab")->sh_size -= 1;
    refused(&b, "symbols of 24 bytes");
    b = fixture_file(DATA "sm90a.cubin");
    part_section(&b, ".strtab")->sh_type = SHT_PROGBITS;
    refused(&b, "names in section 2");
    b = fixture_file(DATA "sm90a.cubin");
    part_section(&b, ".strtab")->sh_size = 0;
    refused(&b, "names in section 2");
    b = fixture_file(DATA "sm90a.cubin");
    part_section(&b, ".strtab")->sh_size -= 1;
    refused(&b, "names in section 2");
    b = fixture_file(DATA "sm90a.cubin");
    part_section(&b, ".symtab")->sh_link = 0xffff;
    refused(&b, "section 65535 of");
    b = fixture_file(DATA "sm90a.cubin");
    part_symbol(&b, "plain")->st_name = 0xffffff;
    refused(&b, "name at 16777215 of");
    b = fixture_file(DATA "sm90a.cubin");
    b.bytes[part_section(&b, ".strtab")->sh_offset +
            part_symbol(&b, "plain")->st_name] = '\a';
    refused(&b, "a name that is no text");
    b = fixture_file(DATA "sm90a.cubin");
    part_symbol(&b, "plain")->st_shndx = 0xff00;
    refused(&b, "section 65280 of");
    b = fixture_file(DATA "sm90a.cubin");
    part_symbol(&b, "plain")->st_value = UINT64_MAX;
    refused(&b, "bytes at 0xffffffffffffffff of section");
    b = fixture_file(DATA "sm90a.cubin");
    part_symbol(&b, "plain")->st_size = UINT64_MAX;
    refused(&b, "18446744073709551615 bytes at 0x0");
}

static void a_symbol_may_have_no_section(void **state)
{
    static const uint16_t none[] = {SHN_UNDEF, SHN_ABS, SHN_COMMON};

    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        struct buffer b = fixture_file(DATA "sm90a.cubin");
        struct arena arena = {0};
        struct cubin c;

        part_symbol(&b, "table")->st_shndx = none[i];
        assert_int_equal(cubin_check(b.bytes, b.size, &arena, &c, NULL),
                         KILN_OK);
        arena_fini(&arena);
        buffer_fini(&b);
    }
}

static void relocations_lead_to_symbols_and_bytes(void **state)
{
    struct buffer b = fixture_file(DATA "sm100.cubin");
    const char *name = ".rela.debug_frame";

    (void)state;
    part_section(&b, name)->sh_entsize = 16;
    refused(&b, "relocations of 16 bytes");
    b = fixture_file(DATA "sm100.cubin");
    part_section(&b, name)->sh_size -= 1;
    refused(&b, "relocations of 24 bytes");
    b = fixture_file(DATA "sm100.cubin");
    part_section(&b, name)->sh_link = 2;
    refused(&b, "linked to section 2, the symbols are in 3");
    b = fixture_file(DATA "sm100.cubin");
    part_section(&b, name)->sh_info = 0xffff;
    refused(&b, "section 65535 of");
    b = fixture_file(DATA "sm100.cubin");
    memset(b.bytes + part_section(&b, name)->sh_offset, 0xff, 8);
    refused(&b, "at 0xffffffffffffffff, symbol");
    b = fixture_file(DATA "sm100.cubin");
    memset(b.bytes + part_section(&b, name)->sh_offset + 12, 0xff, 4);
    refused(&b, "symbol 4294967295");
    b = fixture_file(DATA "sm75.cubin");
    part_section(&b, ".rel.debug_frame")->sh_entsize = 24;
    refused(&b, "relocations of 24 bytes");
}

static void records_and_notes_end_where_their_section_does(void **state)
{
    struct buffer b = fixture_file(DATA "sm90a.cubin");

    (void)state;
    part_section(&b, ".nv.info.mixed")->sh_size -= 2;
    refused(&b, "a record of form");
    b = fixture_file(DATA "sm90a.cubin");
    b.bytes[part_section(&b, ".nv.info.mixed")->sh_offset] = 0;
    refused(&b, "a record of form 0");
    b = fixture_file(DATA "sm90a.cubin");
    b.bytes[part_section(&b, ".nv.info.mixed")->sh_offset] = 5;
    refused(&b, "a record of form 5");
    b = fixture_file(DATA "sm90a.cubin");
    part_section(&b, ".note.nv.cuinfo")->sh_size -= 4;
    refused(&b, "a note cut short");
    b = fixture_file(DATA "sm90a.cubin");
    memset(b.bytes + part_section(&b, ".note.nv.tkinfo")->sh_offset + 28, 0xff,
           4);
    refused(&b, "a note cut short");
    b = fixture_file(DATA "sm90a.cubin");
    memset(b.bytes + part_section(&b, ".note.nv.tkinfo")->sh_offset + 4, 0, 4);
    refused(&b, "a note cut short");
}

static void every_section_has_a_name_a_type_and_an_owner(void **state)
{
    struct buffer b = fixture_file(DATA "sm90a.cubin");

    (void)state;
    part_section(&b, ".nv.callgraph")->sh_name = 0;
    refused(&b, "has no name or no type");
    b = fixture_file(DATA "sm90a.cubin");
    part_section(&b, ".nv.callgraph")->sh_type = SHT_NULL;
    refused(&b, "has no name or no type");
    b = fixture_file(DATA "sm90a.cubin");
    part_section(&b, ".nv.callgraph")->sh_info = 0xffff;
    refused(&b, ".nv.callgraph: of section 65535");
    b = fixture_file(DATA "sm90a.cubin");
    part_section(&b, ".nv.callgraph")->sh_link = 0xffff;
    refused(&b, "is linked to 65535");
    b = fixture_file(DATA "sm90a.cubin");
    b.bytes[part_row(&b, part_header(&b)->e_shstrndx)->sh_offset +
            part_section(&b, ".nv.callgraph")->sh_name] = '\x7f';
    refused(&b, "a name that is no text");
}

static void a_parameter_beyond_their_count_is_refused(void **state)
{
    struct buffer b = fixture_file(DATA "sm90a.cubin");

    (void)state;
    part_record(&b, ".nv.info.mixed", 0x17)[8] = 99;
    refused(&b, "parameter 99 of 6");
}

/* Every field of the header and of each row of the tables of sections and
 * segments: none of it, and all of it. */
static void no_field_is_trusted(void **state)
{
    struct buffer b = fixture_file(DATA "sm100.cubin");
    uint64_t tables[] = {0, part_header(&b)->e_shoff, part_header(&b)->e_phoff};
    uint64_t sizes[] = {sizeof(Elf64_Ehdr),
                        part_header(&b)->e_shnum * sizeof(Elf64_Shdr),
                        part_header(&b)->e_phnum * sizeof(Elf64_Phdr)};
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
    struct buffer b = fixture_file(DATA "sm90a.cubin");
    uint32_t word = 15; /* the variable "table" */

    (void)state;
    memcpy(part_record(&b, ".nv.info", 0x2f) + 4, &word, sizeof word);
    refused(&b, "attribute 0x2f leads outside");
    b = fixture_file(DATA "sm90a.cubin");
    word = 300;
    memcpy(part_record(&b, ".nv.info", 0x2f) + 8, &word, sizeof word);
    refused(&b, "attribute 0x2f leads outside");
    b = fixture_file(DATA "sm90a.cubin");
    part_record(&b, ".nv.info", 0x2f)[1] = 0x7e;
    refused(&b, "its registers are not told");
    b = fixture_file(DATA "sm90a.cubin");
    word = 1 << 20;
    memcpy(part_record(&b, ".nv.info.mixed", 0x1c) + 4, &word, sizeof word);
    refused(&b, "attribute 0x1c leads outside");
    b = fixture_file(DATA "sm90a.cubin");
    part_record(&b, ".nv.info.mixed", 0x1c)[0] = 1;
    refused(&b, "a record of form 1");
    b = fixture_file(DATA "sm90a.cubin");
    part_section(&b, ".nv.info.mixed")->sh_info = 17;
    refused(&b, "which is .text.plain");
    b = fixture_file(DATA "sm90a.cubin");
    part_section(&b, ".text.mixed")->sh_info = 14;
    refused(&b, "of symbol 14, which is another");
    b = fixture_file(DATA "sm90a.cubin");
    part_section(&b, ".nv.constant0.mixed")->sh_name =
        part_section(&b, ".nv.global")->sh_name;
    refused(&b, "2 kernels, attributes of 2, parameters of 1");
    b = fixture_file(DATA "sm90a.cubin");
    part_section(&b, ".nv.shared.mixed")->sh_addralign = 48;
    refused(&b, "aligned to 48");
    b = fixture_file(DATA "sm90a.cubin");
    part_section(&b, ".nv.shared.mixed")->sh_size = UINT64_MAX / 2;
    refused(&b, ".nv.shared.mixed: 9223372036854775807 bytes");
    b = fixture_file(DATA "sm90a.cubin");
    part_section(&b, ".nv.constant3")->sh_type = SHT_NOBITS;
    part_section(&b, ".nv.constant3")->sh_size = 65537;
    refused(&b, ".nv.constant3: 65537 bytes");
    b = fixture_file(DATA "sm90a.cubin");
    part_symbol(&b, "table")->st_shndx = 7; /* .nv.info */
    refused(&b, "the variable table");
    b = fixture_file(DATA "sm90a.cubin");
    part_symbol(&b, "table")->st_size = 1 << 20;
    refused(&b, "the variable table: 1048576 bytes");
    b = fixture_file(DATA "sm90a.cubin");
    part_symbol(&b, "plain")->st_shndx = 18;
    refused(&b, "the function plain in section .text.mixed");
    b = fixture_file(DATA "sm90a.cubin");
    part_symbol(&b, "mixed")->st_other |= 0x40;
    refused(&b, "type and binding");
    b = fixture_file(DATA "sm90a.cubin");
    word = 4000;
    memcpy(b.bytes + part_section(&b, ".nv.callgraph")->sh_offset, &word, 4);
    refused(&b, ".nv.callgraph: symbol 4000");
    b = fixture_file(DATA "sm90a.cubin");
    b.bytes[part_section(&b, ".note.nv.cuinfo")->sh_offset + 12] = 'X';
    refused(&b, "a note cut short");
    b = fixture_file(DATA "sm90a.cubin");
    memset(b.bytes + part_section(&b, ".note.nv.tkinfo")->sh_offset + 4, 0xff,
           4);
    refused(&b, "a note cut short");
    b = fixture_file(DATA "sm90a.cubin");
    part_header(&b)->e_entry = 8;
    refused(&b, "type 2 with");
    b = fixture_file(DATA "sm90a.cubin");
    part_header(&b)->e_type = ET_REL;
    refused(&b, "type 1 with");
    b = fixture_file(DATA "sm90a.cubin");
    part_header(&b)->e_ident[EI_OSABI] = 0;
    refused(&b, "of 0x00");
}

/* ---- what a driver must not be given ---------------------------------- */

static enum kiln_status check(const void *bytes, size_t size, char text[252])
{
    struct arena arena = {0};
    struct cubin cubin;
    struct kiln_error err = {0};
    enum kiln_status st = cubin_check(bytes, size, &arena, &cubin, &err);

    assert_true(!st || *err.text);
    memcpy(text, err.text, sizeof err.text);
    arena_fini(&arena);
    return st;
}

static void sound_cubins_pass(void **state)
{
    static const char *const names[] = {UNITS "c75.cubin", UNITS "c90.cubin",
                                        UNITS "c90a.cubin", UNITS "c100f.cubin",
                                        UNITS "r90.cubin"};
    char text[252];

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct buffer b = fixture_file(names[i]);

        assert_int_equal(check(b.bytes, b.size, text), KILN_OK);
        for (size_t n = 0; n < b.size; n++)
            assert_int_not_equal(check(b.bytes, n, text), KILN_OK);
        buffer_fini(&b);
    }
}

/* The changes that were seen to end a process inside NVIDIA's driver. */
static void what_crashes_a_driver_is_refused(void **state)
{
    struct buffer b = fixture_file(UNITS "c90.cubin"), copy = {0};
    char text[252];

    (void)state;
    assert_int_not_equal(check(b.bytes, 1000, text), KILN_OK);
    buffer_add(&copy, b.bytes, b.size);
    memset(copy.bytes + 0x28, 0xa5, 8); /* section table */
    assert_int_not_equal(check(copy.bytes, copy.size, text), KILN_OK);
    copy.size = 0;
    buffer_add(&copy, b.bytes, b.size);
    copy.bytes[48] ^= 0xff; /* e_flags */
    assert_int_not_equal(check(copy.bytes, copy.size, text), KILN_OK);
    assert_non_null(strstr(text, "flags"));
    buffer_fini(&copy);
    buffer_fini(&b);
}

static void any_byte_of_a_cubin_may_be_anything(void **state)
{
    static const unsigned char values[] = {0, 1, 0x7f, 0xff};
    struct buffer b = fixture_file(UNITS "r90.cubin");
    char text[252];

    (void)state;
    for (size_t i = 0; i < b.size; i++)
        for (size_t k = 0; k < sizeof values; k++) {
            unsigned char old = b.bytes[i];

            b.bytes[i] = values[k];
            check(b.bytes, b.size, text);
            b.bytes[i] = old;
        }
    buffer_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
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
        cmocka_unit_test(no_field_is_trusted),
        cmocka_unit_test(what_a_loader_takes_for_granted_holds),
        cmocka_unit_test(sound_cubins_pass),
        cmocka_unit_test(what_crashes_a_driver_is_refused),
        cmocka_unit_test(any_byte_of_a_cubin_may_be_anything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
