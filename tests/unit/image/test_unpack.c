/* SPDX-License-Identifier: MIT
 *
 * Payloads that do not unpack: cut anywhere, changed anywhere, of a wrong
 * length, or larger than anybody would pack them.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "image/fatbin.h"

static const char text[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n"
    "{\n    ret;\n}\n// and once more, and once more, and once more\n";

static const enum fatbin_packing packings[] = {FATBIN_PACKED_LZ4,
                                               FATBIN_PACKED_ZSTD};

static struct buffer container(enum fatbin_kind kind,
                               enum fatbin_packing packing)
{
    const struct fatbin_item item = {.kind = kind,
                                     .packing = packing,
                                     .payload = text,
                                     .size = sizeof text - 1};
    struct buffer out = {0};

    assert_int_equal(fatbin_write(&item, 1, &out, NULL), KILN_OK);
    return out;
}

static struct fatbin_entry first_of(const struct buffer *b)
{
    struct fatbin_entry e;
    struct fatbin fatbin;
    int more;

    assert_int_equal(fatbin_open(b->bytes, b->size, &fatbin, NULL), KILN_OK);
    assert_int_equal(fatbin_next(&fatbin, &e, &more, NULL), KILN_OK);
    assert_true(more);
    return e;
}

/* Unpack and look at the beginning, in blocks of exactly their size; what
 * was in the buffer before is still there. */
static enum kiln_status both(const struct fatbin_entry *entry, size_t size)
{
    unsigned char *copy = malloc(size ? size : 1), first[48];
    struct fatbin_entry e = *entry;
    struct buffer out = {0};
    struct kiln_error err = {0};
    enum kiln_status st;
    size_t got = 0;

    assert_non_null(copy);
    if (size)
        memcpy(copy, entry->payload, size);
    e.payload = copy;
    e.payload_size = size;
    st = fatbin_peek(&e, first, sizeof first, &got, &err);
    assert_true(st ? *err.text : got <= sizeof first);
    memset(&err, 0, sizeof err);
    buffer_text(&out, "kept");
    st = fatbin_unpack(&e, 1 << 20, &out, &err);
    assert_true(st ? *err.text && out.size == 4 : out.size >= 4);
    assert_memory_equal(out.bytes, "kept", 4);
    assert_int_equal(out.bytes[out.size], 0);
    buffer_fini(&out);
    free(copy);
    return st;
}

static void a_payload_cut_anywhere_does_not_unpack(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct buffer b = container(FATBIN_PTX, packings[i]);
        struct fatbin_entry e = first_of(&b);

        assert_int_equal(e.packing, packings[i]);
        assert_int_equal(both(&e, (size_t)e.payload_size), KILN_OK);
        for (size_t n = 0; n < e.payload_size; n++)
            assert_int_equal(both(&e, n), KILN_E_FORMAT);
        buffer_fini(&b);
    }
}

static void any_byte_of_a_payload_may_be_anything(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct buffer b = container(FATBIN_ELF, packings[i]);
        struct fatbin_entry e = first_of(&b);
        size_t at = (size_t)(e.payload - b.bytes);

        for (size_t n = 0; n < e.payload_size; n++)
            for (int value = 0; value < 256; value += 5) {
                unsigned char old = b.bytes[at + n];

                b.bytes[at + n] = (unsigned char)value;
                both(&e, (size_t)e.payload_size);
                b.bytes[at + n] = old;
            }
        buffer_fini(&b);
    }
}

static void a_length_that_is_not_the_payloads_is_refused(void **state)
{
    static const uint64_t wild[] = {0, 1, UINT64_MAX, (uint64_t)1 << 40};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct buffer b = container(FATBIN_PTX, packings[i]);
        struct fatbin_entry e = first_of(&b);
        uint64_t length = e.plain_size;

        for (int d = -1; d < 2; d++) {
            e.plain_size = length + (uint64_t)d;
            assert_int_equal(both(&e, (size_t)e.payload_size),
                             d ? KILN_E_FORMAT : KILN_OK);
        }
        for (size_t w = 0; w < sizeof wild / sizeof *wild; w++) {
            e.plain_size = wild[w];
            assert_int_equal(both(&e, (size_t)e.payload_size), KILN_E_FORMAT);
        }
        buffer_fini(&b);
    }
}

/* More than the library that unpacks can count. */
static void lengths_past_what_lz4_counts_are_refused(void **state)
{
    struct fatbin_entry e = {.packing = FATBIN_PACKED_LZ4,
                             .payload = (const unsigned char *)text,
                             .payload_size = (uint64_t)INT_MAX + 1,
                             .plain_size = 100};
    struct buffer out = {0};
    unsigned char first[8];
    size_t got;

    (void)state;
    assert_int_equal(fatbin_unpack(&e, 0, &out, NULL), KILN_E_FORMAT);
    assert_int_equal(fatbin_peek(&e, first, sizeof first, &got, NULL),
                     KILN_E_FORMAT);
    buffer_fini(&out);
}

static void an_unknown_packing_is_refused_by_its_flags(void **state)
{
    struct buffer b = container(FATBIN_LTO, FATBIN_PACKED_LZ4), out = {0};
    struct kiln_error err;
    struct fatbin_entry e;
    uint64_t flags = FATBIN_LZ4 | FATBIN_SCRAMBLED;
    unsigned char first[8];
    size_t got;

    (void)state;
    e = first_of(&b);
    assert_int_equal(e.packing, FATBIN_PACKED_LZ4);
    memcpy(b.bytes + FATBIN_HEADER + 40, &flags, sizeof flags);
    e = first_of(&b);
    assert_int_equal(e.packing, FATBIN_PACKED_UNKNOWN);
    assert_int_equal(fatbin_unpack(&e, 0, &out, &err), KILN_E_FORMAT);
    assert_non_null(strstr(err.text, "LTO IR payload packed in an unknown"));
    assert_non_null(strstr(err.text, "0x12000"));
    assert_int_equal(fatbin_peek(&e, first, sizeof first, &got, NULL),
                     KILN_E_FORMAT);
    buffer_fini(&b);
}

static void zeros_are_no_part_of_ptx(void **state)
{
    const struct fatbin_item item = {.kind = FATBIN_PTX,
                                     .packing = FATBIN_PACKED_ZSTD,
                                     .payload =
                                         "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                                         "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
                                     .size = 30};
    struct buffer b = {0}, out = {0};
    struct fatbin_entry e;
    struct fatbin fatbin;
    unsigned char first[8];
    size_t got = 1;
    int more;

    (void)state;
    assert_int_equal(fatbin_write(&item, 1, &b, NULL), KILN_OK);
    e = first_of(&b);
    assert_int_equal(e.packing, FATBIN_PACKED_ZSTD);
    assert_int_equal(fatbin_unpack(&e, 0, &out, NULL), KILN_OK);
    assert_int_equal(out.size, 0);
    /* an entry of no bytes */
    memset(b.bytes + FATBIN_HEADER + 8, 0, 12);
    memset(b.bytes + FATBIN_HEADER + 40, 0, 8);
    b.size = FATBIN_HEADER + e.header_size;
    memset(b.bytes + 8, 0, 8);
    b.bytes[8] = (unsigned char)e.header_size;
    assert_int_equal(fatbin_open(b.bytes, b.size, &fatbin, NULL), KILN_OK);
    assert_int_equal(fatbin_next(&fatbin, &e, &more, NULL), KILN_OK);
    assert_int_equal(e.payload_size, 0);
    assert_int_equal(fatbin_peek(&e, first, sizeof first, &got, NULL), KILN_OK);
    assert_int_equal(got, 0);
    assert_int_equal(fatbin_unpack(&e, 0, &out, NULL), KILN_OK);
    assert_int_equal(out.size, 0);
    buffer_fini(&b);
    buffer_fini(&out);
}

/* What is asked of the writer and cannot be. */
static void what_cannot_be_written_is_refused_by_its_number(void **state)
{
    struct fatbin_item items[] = {
        {.kind = FATBIN_PTX, .payload = text, .size = 10},
        {.kind = FATBIN_ELF, .payload = text, .size = SIZE_MAX}};
    struct kiln_error err = {0};
    struct buffer out = {0};

    (void)state;
    assert_int_equal(fatbin_write(items, 2, &out, &err), KILN_E_INVALID);
    assert_non_null(strstr(err.text, "item 1"));
    items[1].size = 10;
    items[1].packing = FATBIN_PACKED_UNKNOWN;
    assert_int_equal(fatbin_write(items, 2, &out, &err), KILN_E_INVALID);
    buffer_fini(&out);
}

/* Packing that gains nothing is left. */
static void what_does_not_shrink_is_stored_plain(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct fatbin_item item = {.kind = FATBIN_ELF,
                                         .packing = packings[i],
                                         .payload = "0123456789abcdef",
                                         .size = 16};
        struct buffer b = {0};
        struct fatbin_entry e;

        assert_int_equal(fatbin_write(&item, 1, &b, NULL), KILN_OK);
        e = first_of(&b);
        assert_int_equal(e.packing, FATBIN_PLAIN);
        assert_int_equal(e.payload_size, 16);
        buffer_fini(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_payload_cut_anywhere_does_not_unpack),
        cmocka_unit_test(any_byte_of_a_payload_may_be_anything),
        cmocka_unit_test(a_length_that_is_not_the_payloads_is_refused),
        cmocka_unit_test(lengths_past_what_lz4_counts_are_refused),
        cmocka_unit_test(an_unknown_packing_is_refused_by_its_flags),
        cmocka_unit_test(zeros_are_no_part_of_ptx),
        cmocka_unit_test(what_cannot_be_written_is_refused_by_its_number),
        cmocka_unit_test(what_does_not_shrink_is_stored_plain),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
