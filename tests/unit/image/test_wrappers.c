/* SPDX-License-Identifier: MIT
 *
 * Wrappers of host ELF files: those of the linker at hand, and generated ones
 * as other linkers leave them.
 */
#include <elf.h>

#include "fixture.h"
#include "image/fatbin.h"

static void scan(const void *bytes, size_t size, struct found *f)
{
    assert_int_equal(fixture_scan(bytes, size, f), KILN_OK);
}

/* By the linker or the compiler: three containers, the third found by the
 * array alone. */
static void check_wrapped(const char *path)
{
    struct buffer b = fixture_file(path);
    struct found f;

    scan(b.bytes, b.size, &f);
    assert_int_equal(f.places, 3);
    assert_int_equal(f.kept[0].wrapper, 2);
    assert_int_equal(f.kept[0].prelinked, 2);
    assert_true(f.kept[0].owner == IMAGE_NO_OWNER);
    assert_int_equal(f.kept[1].wrapper, 1);
    assert_int_equal(f.kept[1].offset, f.kept[0].offset + FATBIN_HEADER);
    assert_int_equal(f.kept[1].owner, f.kept[0].offset);
    assert_int_equal(f.kept[2].wrapper, 0);
    assert_int_equal(f.kept[2].offset, f.kept[1].offset + FATBIN_HEADER + 1);
    assert_int_equal(f.kept[2].owner, f.kept[0].offset);
    buffer_fini(&b);
}

static void a_shared_object_of_this_linker_is_followed(void **state)
{
    (void)state;
    check_wrapped(SHARED_FILE);
}

static void an_object_of_this_compiler_is_followed(void **state)
{
    (void)state;
    check_wrapped(OBJECT_FILE);
}

/* ---- generated files --------------------------------------------------- */

enum { FATBINS = 0x200, RELFATBINS = 0x300, ARRAY = 0x400, SEGMENT = 0x500 };
enum { RELA = 0x600, NAMES = 0x800, TABLE = 0x900, SIZE = 0xc00 };
enum { ADDRESS = 0x400000 }; /* less than 4 GiB from its offset */

enum style {
    IN_PLACE,   /* as GNU ld leaves pointers */
    RELOCATED,  /* as lld does */
    SYMBOLIC,   /* by a symbol each */
    FILLED,     /* the array is in .bss */
    TOO_NEW,    /* a wrapper of version 3 */
    TO_NOWHERE, /* pointers to what the file does not hold */
    STYLES
};

static void put(unsigned char *at, uint64_t v)
{
    memcpy(at, &v, sizeof v);
}

static void put_container(unsigned char *at)
{
    put(at, (uint64_t)0x00100001 << 32 | FATBIN_MAGIC);
}

struct elf {
    unsigned char bytes[SIZE];
    enum style style;
    size_t relocs;
};

static void pointer(struct elf *e, uint64_t at, uint64_t to)
{
    int zero = e->style == RELOCATED || e->style == SYMBOLIC;
    Elf64_Rela r = {.r_offset = ADDRESS + at,
                    .r_info = ELF64_R_INFO(0, R_X86_64_RELATIVE),
                    .r_addend = (int64_t)(ADDRESS + to)};

    put(e->bytes + at, zero ? 0 : ADDRESS + to);
    if (!zero)
        return;
    if (e->style == SYMBOLIC) {
        r.r_info = ELF64_R_INFO(1, R_X86_64_64);
        r.r_addend -= ADDRESS + 0x10;
    }
    memcpy(e->bytes + RELA + 0x30 + e->relocs++ * sizeof r, &r, sizeof r);
}

static void section(struct elf *e, int i, uint32_t name, uint32_t type,
                    uint64_t offset, uint64_t size, uint64_t entry_size)
{
    Elf64_Shdr s = {.sh_name = name,
                    .sh_type = type,
                    .sh_addr = ADDRESS + offset,
                    .sh_offset = offset,
                    .sh_size = size,
                    .sh_link = type == SHT_RELA ? 5 : 0,
                    .sh_entsize = entry_size};

    memcpy(e->bytes + TABLE + (size_t)i * sizeof s, &s, sizeof s);
}

static void generate(struct elf *e, enum style style)
{
    static const char names[] =
        "\0.nv_fatbin\0__nv_relfatbin\0.nvFatBinSegment\0.rela.dyn\0.dynsym";
    Elf64_Ehdr h = {
        .e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_DYN,
        .e_machine = EM_X86_64,
        .e_version = EV_CURRENT,
        .e_phoff = sizeof h,
        .e_shoff = TABLE,
        .e_ehsize = sizeof h,
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = 1,
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = 7,
        .e_shstrndx = 6};
    Elf64_Phdr load = {.p_type = PT_LOAD,
                       .p_vaddr = ADDRESS,
                       .p_filesz = SIZE,
                       .p_memsz = SIZE + 0x100};
    Elf64_Sym symbol = {.st_shndx = 1, .st_value = ADDRESS + 0x10};
    uint64_t away = style == TO_NOWHERE ? 0x7000000 : 0;

    memset(e, 0, sizeof *e);
    e->style = style;
    memcpy(e->bytes, &h, sizeof h);
    memcpy(e->bytes + sizeof h, &load, sizeof load);
    memcpy(e->bytes + RELA + sizeof symbol, &symbol, sizeof symbol);
    memcpy(e->bytes + NAMES, names, sizeof names);
    put_container(e->bytes + FATBINS);
    put_container(e->bytes + RELFATBINS);
    put_container(e->bytes + RELFATBINS + FATBIN_HEADER);
    put(e->bytes + SEGMENT,
        (uint64_t)(style == TOO_NEW ? 3 : 2) << 32 | FATBIN_WRAPPER_MAGIC);
    pointer(e, SEGMENT + 8, FATBINS);
    pointer(e, SEGMENT + 16, style == FILLED ? SIZE + 8 : ARRAY + away);
    put(e->bytes + SEGMENT + 24, (uint64_t)1 << 32 | FATBIN_WRAPPER_MAGIC);
    pointer(e, SEGMENT + 32, RELFATBINS + away);
    if (style != FILLED) {
        pointer(e, ARRAY, RELFATBINS + away);
        pointer(e, ARRAY + 8, RELFATBINS + FATBIN_HEADER + away);
    }
    section(e, 1, 1, SHT_PROGBITS, FATBINS, FATBIN_HEADER, 0);
    section(e, 2, 12, SHT_PROGBITS, RELFATBINS, 2 * FATBIN_HEADER, 0);
    section(e, 3, 27, SHT_PROGBITS, SEGMENT, 2 * FATBIN_WRAPPER, 0);
    section(e, 4, 44, SHT_RELA, RELA + 0x30, e->relocs * sizeof(Elf64_Rela),
            sizeof(Elf64_Rela));
    section(e, 5, 54, SHT_DYNSYM, RELA, 2 * sizeof symbol, sizeof symbol);
    section(e, 6, 0, SHT_STRTAB, NAMES, sizeof names, 0);
}

static void arrays_are_followed_however_a_linker_leaves_them(void **state)
{
    static const enum style styles[] = {IN_PLACE, RELOCATED, SYMBOLIC};
    struct elf e;
    struct found f;

    (void)state;
    for (size_t i = 0; i < sizeof styles / sizeof *styles; i++) {
        generate(&e, styles[i]);
        scan(e.bytes, SIZE, &f);
        assert_int_equal(f.places, 3);
        assert_int_equal(f.kept[0].wrapper, 2);
        assert_int_equal(f.kept[0].prelinked, 2);
        assert_int_equal(f.kept[1].wrapper, 1);
        assert_int_equal(f.kept[1].owner, FATBINS);
        assert_int_equal(f.kept[2].wrapper, 0);
        assert_int_equal(f.kept[2].owner, FATBINS);
    }
}

/* What nvcc -rdc=true writes: the program registers what __nv_relfatbin has
 * by version 1 wrappers. */
static void an_array_in_bss_gets_what_the_program_will_put_there(void **state)
{
    struct elf e;
    struct found f;

    (void)state;
    generate(&e, FILLED);
    scan(e.bytes, SIZE, &f);
    assert_int_equal(f.places, 3);
    assert_true(f.kept[0].prelinked == IMAGE_AT_START);
    assert_int_equal(f.kept[1].owner, FATBINS);
    assert_true(f.kept[2].owner == IMAGE_NO_OWNER); /* no wrapper has it */
}

static void wrappers_that_lead_nowhere_hide_nothing(void **state)
{
    struct elf e;
    struct found f;

    (void)state;
    generate(&e, TO_NOWHERE);
    scan(e.bytes, SIZE, &f);
    assert_int_equal(f.places, 3);
    assert_int_equal(f.kept[0].wrapper, 2);
    assert_int_equal(f.kept[0].prelinked, 0);
    assert_int_equal(f.kept[1].wrapper, 0);
    generate(&e, TOO_NEW);
    scan(e.bytes, SIZE, &f);
    assert_int_equal(f.places, 3);
    assert_int_equal(f.kept[0].wrapper, 0);
    assert_int_equal(f.kept[1].wrapper, 1);
}

static void any_byte_and_any_cut_is_survived(void **state)
{
    static const unsigned char values[] = {0, 1, 0x7f, 0xff};
    struct elf e;
    struct found f;

    (void)state;
    for (int style = 0; style < STYLES; style++) {
        generate(&e, (enum style)style);
        for (size_t n = 1; n < SIZE; n += 7) {
            unsigned char *copy = malloc(n);

            assert_non_null(copy);
            memcpy(copy, e.bytes, n);
            scan(copy, n, &f);
            free(copy);
        }
        for (size_t i = 4; i < SIZE; i++)
            for (size_t k = 0; k < sizeof values; k++) {
                unsigned char old = e.bytes[i];

                if (old == values[k])
                    continue;
                e.bytes[i] = values[k];
                scan(e.bytes, SIZE, &f);
                e.bytes[i] = old;
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shared_object_of_this_linker_is_followed),
        cmocka_unit_test(an_object_of_this_compiler_is_followed),
        cmocka_unit_test(arrays_are_followed_however_a_linker_leaves_them),
        cmocka_unit_test(an_array_in_bss_gets_what_the_program_will_put_there),
        cmocka_unit_test(wrappers_that_lead_nowhere_hide_nothing),
        cmocka_unit_test(any_byte_and_any_cut_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
