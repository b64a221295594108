/* SPDX-License-Identifier: MIT
 *
 * Finding containers in files.
 */
#include <elf.h>

#include "fixture.h"

static void objects_and_archives_tell_section_and_member(void **state)
{
    struct buffer object = fixture_file(GOLDEN "host.o"), archive;
    struct found f;

    (void)state;
    archive = fixture_file(GOLDEN "archive.a");
    assert_int_equal(fixture_scan(object.bytes, object.size, &f), KILN_OK);
    assert_int_equal(f.places, 2);
    assert_int_equal(f.entries, 3);
    assert_string_equal(f.section, ".nv_fatbin");
    assert_int_equal(fixture_scan(archive.bytes, archive.size, &f), KILN_OK);
    assert_int_equal(f.places, 4);
    assert_int_equal(f.entries, 6);
    assert_string_equal(f.member, "unit.o");
    buffer_fini(&object);
    buffer_fini(&archive);
}

/* The container of this object is at an odd place, told by its section. */
static void a_file_cut_before_its_sections_keeps_its_containers(void **state)
{
    struct buffer object = fixture_file(GOLDEN "host.o");
    struct found f;

    (void)state;
    assert_int_equal(fixture_scan(object.bytes, object.size - 1, &f), KILN_OK);
    assert_int_equal(f.places, 2);
    assert_int_equal(f.entries, 3);
    assert_int_equal(f.kept[0].offset % 4, 2);
    assert_string_equal(f.section, "");
    buffer_fini(&object);
}

/* The object with a field of its header, or of a section's row, changed. */
static void scan_changed(const struct buffer *object, size_t at, size_t size,
                         uint64_t value, struct found *f)
{
    struct buffer b = {0};

    buffer_add(&b, object->bytes, object->size);
    memcpy(b.bytes + at, &value, size);
    assert_int_equal(fixture_scan(b.bytes, b.size, f), KILN_OK);
    assert_int_equal(f->places, 2);
    assert_int_equal(f->entries, 3);
    assert_int_equal(f->damages, 0);
    buffer_fini(&b);
}

static void tables_that_lie_are_told_and_searched_without(void **state)
{
    static const struct {
        size_t at, size;
        uint64_t value;
        const char *told;
    } fields[] = {
        {EI_CLASS, 1, 0, "ELF: class 0 and byte order 1, 1 or 2 expected"},
        {EI_CLASS, 1, 1, "ELF: a 32-bit file; device code is loaded from"},
        {EI_DATA, 1, 255, "ELF: class 2 and byte order 255, 1 or 2 expected"},
        {40, 8, 0, "sections of 64 bytes at 0x0, 64 bytes each expected"},
        {40, 8, UINT64_MAX, "sections at 0xffffffffffffffff, the file has"},
        {56, 2, 1, "ELF: 1 segments of 0 bytes at 0x0, expected 56"},
        {58, 2, 0, "sections of 0 bytes at"},
        {58, 2, 0xffff, "sections of 65535 bytes at"},
        {60, 2, 0, "ELF: a table of 0 sections at"},
        {60, 2, 0xffff, "ELF: a table of 65535 sections at"},
        {62, 2, 0xff, "ELF: names of sections in section 255 of"}};
    struct buffer object = fixture_file(GOLDEN "host.o");
    struct found f;
    uint64_t table;

    (void)state;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        scan_changed(&object, fields[i].at, fields[i].size, fields[i].value,
                     &f);
        assert_int_equal(f.lies, 1);
        if (!strstr(f.lie, fields[i].told))
            fail_msg("\"%s\" in place of \"%s\"", f.lie, fields[i].told);
    }
    memcpy(&table, object.bytes + 40, sizeof table);
    scan_changed(&object,
                 table + sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size), 8,
                 UINT64_MAX, &f);
    assert_int_equal(f.lies, 1);
    assert_non_null(
        strstr(f.lie, "ELF: section 1: 18446744073709551615 bytes"));
    /* One that has no table says nothing wrong. */
    memset(object.bytes + 40, 0, 8);
    scan_changed(&object, 60, 2, 0, &f);
    assert_int_equal(f.lies, 0);
    assert_int_equal(fixture_scan(object.bytes, 30, &f), KILN_OK);
    assert_string_equal(f.lie, "ELF: 30 bytes, a header has 64");
    buffer_fini(&object);
}

static void a_lie_names_the_member(void **state)
{
    struct buffer archive = fixture_file(GOLDEN "archive.a");
    unsigned char *elf = memmem(archive.bytes, archive.size, ELFMAG, SELFMAG);
    struct found f;

    (void)state;
    assert_non_null(elf);
    elf[58] = 1;
    assert_int_equal(fixture_scan(archive.bytes, archive.size, &f), KILN_OK);
    assert_int_equal(f.places, 4);
    assert_int_equal(f.lies, 1);
    assert_non_null(strstr(f.lie, ".o: ELF: "));
    buffer_fini(&archive);
}

static void containers_stand_anywhere_in_other_files(void **state)
{
    struct buffer one = fixture_file(GOLDEN "plain.fatbin"), all = {0};
    struct found f;

    (void)state;
    for (size_t gap = 0; gap < 11; gap++) {
        buffer_text(&all, "some text, not device code;");
        buffer_zeros(&all, gap);
        buffer_add(&all, one.bytes, one.size);
    }
    buffer_add(&all, one.bytes, one.size);
    assert_int_equal(fixture_scan(all.bytes, all.size, &f), KILN_OK);
    assert_int_equal(f.places, 12);
    assert_int_equal(f.entries, 12);
    assert_int_equal(f.damages, 0);
    buffer_fini(&one);
    buffer_fini(&all);
}

static void containers_stand_at_any_byte_behind_an_elf_file(void **state)
{
    struct buffer one = fixture_file(GOLDEN "plain.fatbin");
    struct found f;

    (void)state;
    for (size_t gap = 0; gap < 5; gap++) {
        struct buffer all = fixture_file(GOLDEN "host.o");

        buffer_zeros(&all, gap);
        buffer_add(&all, one.bytes, one.size);
        assert_int_equal(fixture_scan(all.bytes, all.size, &f), KILN_OK);
        assert_int_equal(f.places, 3);
        assert_int_equal(f.entries, 4);
        assert_int_equal(f.damages, 0);
        buffer_fini(&all);
    }
    buffer_fini(&one);
}

static void every_cut_is_survived(void **state)
{
    static const char *const names[] = {GOLDEN "host.o", GOLDEN "archive.a",
                                        GOLDEN "lz4.fatbin"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct buffer b = fixture_file(names[i]);

        for (size_t n = 0; n < b.size; n++) {
            unsigned char *copy = malloc(n + 1);
            struct found f;

            assert_non_null(copy);
            memcpy(copy, b.bytes, n);
            fixture_scan(copy, n, &f);
            free(copy);
        }
        buffer_fini(&b);
    }
}

/* Every field of the ELF header, the section table and the containers. */
static void every_byte_may_be_0_or_255(void **state)
{
    struct buffer b = fixture_file(GOLDEN "archive.a");

    (void)state;
    for (size_t i = 0; i < b.size; i++)
        for (int v = 0; v < 256; v += 255) {
            unsigned char old = b.bytes[i];
            struct found f;

            b.bytes[i] = (unsigned char)v;
            fixture_scan(b.bytes, b.size, &f);
            b.bytes[i] = old;
        }
    buffer_fini(&b);
}

/* Containers within containers, each damaged at its end: the work must stay
 * in proportion to the file. */
static void nested_damage_takes_linear_time(void **state)
{
    enum { LEVELS = 40000, STEP = FATBIN_HEADER + FATBIN_ENTRY };
    struct buffer b = {0};
    struct found f;

    (void)state;
    for (int i = 0; i < LEVELS; i++) {
        unsigned char header[STEP] = {0};
        uint32_t magic = FATBIN_MAGIC, size = FATBIN_ENTRY;
        uint64_t body = (uint64_t)(LEVELS - i) * STEP;

        memcpy(header, &magic, 4);
        header[4] = 1;
        header[6] = FATBIN_HEADER;
        memcpy(header + 8, &body, 8);
        header[16] = FATBIN_PTX;
        memcpy(header + 20, &size, 4);
        header[24] = FATBIN_HEADER; /* the next container is its payload */
        buffer_add(&b, header, sizeof header);
    }
    assert_int_equal(fixture_scan(b.bytes, b.size, &f), KILN_OK);
    assert_true(f.damages > 0);
    assert_true(f.reads < (uint64_t)LEVELS * 8);
    buffer_fini(&b);
}

static void bad_headers_are_named(void **state)
{
    struct buffer b = fixture_file(GOLDEN "plain.fatbin");
    struct found f;

    (void)state;
    b.bytes[8] ^= 0x40;
    assert_int_equal(fixture_scan(b.bytes, b.size, &f), KILN_OK);
    assert_int_equal(f.damages, 1);
    assert_non_null(strstr(f.damage, "left"));
    b.bytes[4] = 2;
    assert_int_equal(fixture_scan(b.bytes, b.size, &f), KILN_E_FORMAT);
    buffer_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_and_archives_tell_section_and_member),
        cmocka_unit_test(a_file_cut_before_its_sections_keeps_its_containers),
        cmocka_unit_test(tables_that_lie_are_told_and_searched_without),
        cmocka_unit_test(a_lie_names_the_member),
        cmocka_unit_test(containers_stand_anywhere_in_other_files),
        cmocka_unit_test(containers_stand_at_any_byte_behind_an_elf_file),
        cmocka_unit_test(every_cut_is_survived),
        cmocka_unit_test(every_byte_may_be_0_or_255),
        cmocka_unit_test(nested_damage_takes_linear_time),
        cmocka_unit_test(bad_headers_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
