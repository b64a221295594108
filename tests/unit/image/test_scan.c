/* SPDX-License-Identifier: MIT
 *
 * Finding containers in files, and cubins that a driver must not be given.
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
#include "image/scan.h"

struct found {
    const unsigned char *bytes;
    size_t size;
    uint64_t reads;
    unsigned places, entries, damages, lies;
    struct image_place first;
    char section[64], member[64], text[252], lie[252];
};

static enum kiln_status read_at(void *data, uint64_t offset, void *to,
                                size_t size, struct kiln_error *err)
{
    struct found *f = data;

    (void)err;
    assert_true(offset <= f->size && size <= f->size - offset);
    f->reads++;
    if (size)
        memcpy(to, f->bytes + offset, size);
    return KILN_OK;
}

static enum kiln_status place(void *data, const struct image_place *p,
                              struct kiln_error *err)
{
    struct found *f = data;

    (void)err;
    assert_true(p->offset <= f->size && p->size <= f->size - p->offset);
    if (!f->places++) {
        f->first = *p;
        snprintf(f->section, sizeof f->section, "%s", p->section);
        snprintf(f->member, sizeof f->member, "%s", p->member);
    }
    return KILN_OK;
}

static enum kiln_status entry(void *data, const struct fatbin_entry *e,
                              uint64_t stored, struct kiln_error *err)
{
    struct found *f = data;

    (void)err;
    assert_true(e->payload_size <= stored && stored <= f->size);
    f->entries++;
    return KILN_OK;
}

static enum kiln_status damage(void *data, const struct kiln_error *what,
                               struct kiln_error *err)
{
    struct found *f = data;

    (void)err;
    assert_true(*what->text);
    snprintf(f->text, sizeof f->text, "%s", what->text);
    f->damages++;
    return KILN_OK;
}

static enum kiln_status lie(void *data, const struct kiln_error *what,
                            struct kiln_error *err)
{
    struct found *f = data;

    (void)err;
    assert_true(*what->text);
    snprintf(f->lie, sizeof f->lie, "%s", what->text);
    f->lies++;
    return KILN_OK;
}

static enum kiln_status scan(const void *bytes, size_t size, struct found *f)
{
    const struct image_visitor visitor = {f, place, entry, damage, lie};
    const struct image_source source = {
        .read = read_at, .data = f, .size = size};
    struct image_guess guess;
    struct kiln_error err = {0};
    enum kiln_status st;

    *f = (struct found){.bytes = bytes, .size = size};
    st = image_scan(&source, &visitor, &guess, &err);
    assert_true(!st || *err.text);
    return st;
}

static struct buffer file(const char *name)
{
    struct buffer b = {0};
    struct kiln_error err;

    assert_int_equal(file_read(name, 0, &b, &err), KILN_OK);
    return b;
}

static void objects_and_archives_tell_section_and_member(void **state)
{
    struct buffer object = file(GOLDEN "host.o"), archive;
    struct found f;

    (void)state;
    archive = file(GOLDEN "archive.a");
    assert_int_equal(scan(object.bytes, object.size, &f), KILN_OK);
    assert_int_equal(f.places, 2);
    assert_int_equal(f.entries, 3);
    assert_string_equal(f.section, ".nv_fatbin");
    assert_int_equal(scan(archive.bytes, archive.size, &f), KILN_OK);
    assert_int_equal(f.places, 4);
    assert_int_equal(f.entries, 6);
    assert_string_equal(f.member, "unit.o");
    buffer_fini(&object);
    buffer_fini(&archive);
}

/* The container of this object is at an odd place, told by its section. */
static void a_file_cut_before_its_sections_keeps_its_containers(void **state)
{
    struct buffer object = file(GOLDEN "host.o");
    struct found f;

    (void)state;
    assert_int_equal(scan(object.bytes, object.size - 1, &f), KILN_OK);
    assert_int_equal(f.places, 2);
    assert_int_equal(f.entries, 3);
    assert_int_equal(f.first.offset % 4, 2);
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
    assert_int_equal(scan(b.bytes, b.size, f), KILN_OK);
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
        {EI_DATA, 1, 255, "ELF: class 2 and byte order 255, 1 or 2 expected"},
        {40, 8, 0, "sections of 64 bytes at 0x0, 64 bytes each expected"},
        {40, 8, UINT64_MAX, "sections at 0xffffffffffffffff, the file has"},
        {56, 2, 1, "ELF: 1 segments of 0 bytes at 0x0, expected 56"},
        {58, 2, 0, "sections of 0 bytes at"},
        {58, 2, 0xffff, "sections of 65535 bytes at"},
        {60, 2, 0, "ELF: a table of 0 sections at"},
        {60, 2, 0xffff, "ELF: a table of 65535 sections at"},
        {62, 2, 0xff, "ELF: names of sections in section 255 of"}};
    struct buffer object = file(GOLDEN "host.o");
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
    assert_int_equal(scan(object.bytes, 30, &f), KILN_OK);
    assert_string_equal(f.lie, "ELF: 30 bytes, a header has 64");
    buffer_fini(&object);
}

static void a_lie_names_the_member(void **state)
{
    struct buffer archive = file(GOLDEN "archive.a");
    unsigned char *elf = memmem(archive.bytes, archive.size, ELFMAG, SELFMAG);
    struct found f;

    (void)state;
    assert_non_null(elf);
    elf[58] = 1;
    assert_int_equal(scan(archive.bytes, archive.size, &f), KILN_OK);
    assert_int_equal(f.places, 4);
    assert_int_equal(f.lies, 1);
    assert_non_null(strstr(f.lie, ".o: ELF: "));
    buffer_fini(&archive);
}

static void containers_stand_anywhere_in_other_files(void **state)
{
    struct buffer one = file(GOLDEN "plain.fatbin"), all = {0};
    struct found f;

    (void)state;
    for (size_t gap = 0; gap < 11; gap++) {
        buffer_text(&all, "some text, not device code;");
        buffer_zeros(&all, gap);
        buffer_add(&all, one.bytes, one.size);
    }
    buffer_add(&all, one.bytes, one.size);
    assert_int_equal(scan(all.bytes, all.size, &f), KILN_OK);
    assert_int_equal(f.places, 12);
    assert_int_equal(f.entries, 12);
    assert_int_equal(f.damages, 0);
    buffer_fini(&one);
    buffer_fini(&all);
}

static void containers_stand_at_any_byte_behind_an_elf_file(void **state)
{
    struct buffer one = file(GOLDEN "plain.fatbin");
    struct found f;

    (void)state;
    for (size_t gap = 0; gap < 5; gap++) {
        struct buffer all = file(GOLDEN "host.o");

        buffer_zeros(&all, gap);
        buffer_add(&all, one.bytes, one.size);
        assert_int_equal(scan(all.bytes, all.size, &f), KILN_OK);
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
        struct buffer b = file(names[i]);

        for (size_t n = 0; n < b.size; n++) {
            unsigned char *copy = malloc(n + 1);
            struct found f;

            assert_non_null(copy);
            memcpy(copy, b.bytes, n);
            scan(copy, n, &f);
            free(copy);
        }
        buffer_fini(&b);
    }
}

/* Every field of the ELF header, the section table and the containers. */
static void every_byte_may_be_0_or_255(void **state)
{
    struct buffer b = file(GOLDEN "archive.a");

    (void)state;
    for (size_t i = 0; i < b.size; i++)
        for (int v = 0; v < 256; v += 255) {
            unsigned char old = b.bytes[i];
            struct found f;

            b.bytes[i] = (unsigned char)v;
            scan(b.bytes, b.size, &f);
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
    assert_int_equal(scan(b.bytes, b.size, &f), KILN_OK);
    assert_true(f.damages > 0);
    assert_true(f.reads < (uint64_t)LEVELS * 8);
    buffer_fini(&b);
}

static void bad_headers_are_named(void **state)
{
    struct buffer b = file(GOLDEN "plain.fatbin");
    struct found f;

    (void)state;
    b.bytes[8] ^= 0x40;
    assert_int_equal(scan(b.bytes, b.size, &f), KILN_OK);
    assert_int_equal(f.damages, 1);
    assert_non_null(strstr(f.text, "left"));
    b.bytes[4] = 2;
    assert_int_equal(scan(b.bytes, b.size, &f), KILN_E_FORMAT);
    buffer_fini(&b);
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
        struct buffer b = file(names[i]);

        assert_int_equal(check(b.bytes, b.size, text), KILN_OK);
        for (size_t n = 0; n < b.size; n++)
            assert_int_not_equal(check(b.bytes, n, text), KILN_OK);
        buffer_fini(&b);
    }
}

/* The changes that were seen to end a process inside NVIDIA's driver. */
static void what_crashes_a_driver_is_refused(void **state)
{
    struct buffer b = file(UNITS "c90.cubin"), copy = {0};
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
    struct buffer b = file(UNITS "r90.cubin");
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
        cmocka_unit_test(sound_cubins_pass),
        cmocka_unit_test(what_crashes_a_driver_is_refused),
        cmocka_unit_test(any_byte_of_a_cubin_may_be_anything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
