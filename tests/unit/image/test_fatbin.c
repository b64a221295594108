/* SPDX-License-Identifier: MIT
 *
 * Containers: what is written is read, and what is damaged is refused in
 * words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "image/fatbin.h"

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                          ".visible .entry k()\n{\n    ret;\n}\n"
                          "// one two three one two three one two three\n";
static unsigned char code[5000];

static struct fatbin_item item(enum fatbin_kind kind,
                               enum fatbin_packing packing)
{
    struct fatbin_item it = {.kind = kind, .sm = 80, .packing = packing};

    if (kind == FATBIN_PTX) {
        it.payload = ptx;
        it.size = sizeof ptx - 1;
        it.major = 8;
    } else {
        it.payload = code;
        it.size = sizeof code;
        it.major = 1;
        it.minor = 8;
    }
    return it;
}

static struct buffer written(const struct fatbin_item *items, size_t count)
{
    struct buffer out = {0};

    assert_int_equal(fatbin_write(items, count, &out, NULL), KILN_OK);
    return out;
}

static void what_is_written_is_read(void **state)
{
    const enum fatbin_packing packings[] = {FATBIN_PLAIN, FATBIN_PACKED_LZ4,
                                            FATBIN_PACKED_ZSTD};
    struct fatbin_item items[6];
    struct fatbin_entry *entries;
    struct arena arena = {0};
    struct fatbin fatbin;
    struct buffer bytes;
    size_t count;

    (void)state;
    for (int i = 0; i < 6; i++)
        items[i] = item(i < 3 ? FATBIN_PTX : FATBIN_ELF, packings[i % 3]);
    items[1].variant = 'a';
    items[4].variant = 'f';
    items[4].identifier = "saxpy.cu";
    items[5].options = "-O3 ";
    items[5].sm = 120;
    bytes = written(items, 6);
    assert_int_equal(fatbin_open(bytes.bytes, bytes.size, &fatbin, NULL),
                     KILN_OK);
    assert_int_equal(fatbin.size, bytes.size);
    assert_int_equal(fatbin_list(&fatbin, &arena, &entries, &count, NULL),
                     KILN_OK);
    assert_int_equal(count, 6);
    for (int i = 0; i < 6; i++) {
        struct buffer plain = {0};
        unsigned char first[64];
        size_t got = 0;

        assert_int_equal(entries[i].kind, items[i].kind);
        assert_int_equal(entries[i].sm, items[i].sm);
        assert_int_equal(entries[i].variant, items[i].variant);
        assert_int_equal(entries[i].packing, items[i].packing);
        assert_int_equal(entries[i].major, items[i].major);
        assert_int_equal(entries[i].minor, items[i].minor);
        assert_non_null(entries[i].options);
        buffer_text(&plain, "kept"); /* unpacking appends */
        assert_int_equal(fatbin_unpack(&entries[i], 0, &plain, NULL), KILN_OK);
        assert_int_equal(plain.size, items[i].size + 4);
        assert_memory_equal(plain.bytes + 4, items[i].payload, items[i].size);
        assert_int_equal(plain.bytes[plain.size], 0);
        assert_int_equal(
            fatbin_peek(&entries[i], first, sizeof first, &got, NULL), KILN_OK);
        assert_int_equal(got, sizeof first);
        assert_memory_equal(first, items[i].payload, sizeof first);
        buffer_fini(&plain);
    }
    assert_int_equal(entries[4].identifier_size, 8);
    assert_memory_equal(entries[4].identifier, "saxpy.cu", 8);
    assert_int_equal(entries[5].options_size, 4);
    arena_fini(&arena);
    buffer_fini(&bytes);
}

/* Go through everything; the first failure. */
static enum kiln_status all(const void *bytes, size_t size,
                            struct kiln_error *err)
{
    struct fatbin_entry e;
    struct fatbin fatbin;
    enum kiln_status st = fatbin_open(bytes, size, &fatbin, err);
    int more = 1;

    while (!st) {
        struct buffer plain = {0};
        unsigned char first[64];
        size_t got;

        st = fatbin_next(&fatbin, &e, &more, err);
        if (st || !more)
            break;
        fatbin_peek(&e, first, sizeof first, &got, err);
        st = fatbin_unpack(&e, 1 << 20, &plain, err);
        buffer_fini(&plain);
    }
    return st;
}

/* In a heap block of exactly its size, for the address sanitizer. */
static enum kiln_status all_of_copy(const struct buffer *b, size_t size,
                                    size_t at, const void *patch, size_t n)
{
    struct kiln_error err = {0};
    unsigned char *copy = malloc(size ? size : 1);
    enum kiln_status st;

    assert_non_null(copy);
    if (size)
        memcpy(copy, b->bytes, size);
    if (n)
        memcpy(copy + at, patch, n);
    st = all(copy, size, &err);
    free(copy);
    assert_true(!st || *err.text);
    return st;
}

static void every_cut_is_refused(void **state)
{
    struct fatbin_item items[] = {item(FATBIN_PTX, FATBIN_PACKED_ZSTD),
                                  item(FATBIN_ELF, FATBIN_PACKED_LZ4)};
    struct buffer b = written(items, 2);

    (void)state;
    for (size_t n = 0; n < b.size; n++)
        assert_int_not_equal(all_of_copy(&b, n, 0, NULL, 0), KILN_OK);
    assert_int_equal(all_of_copy(&b, b.size, 0, NULL, 0), KILN_OK);
    buffer_fini(&b);
}

static void no_header_value_does_harm(void **state)
{
    const uint64_t values[] = {0,
                               1,
                               7,
                               64,
                               0x7fffffff,
                               0xffffffff,
                               0x8000000000000000,
                               UINT64_MAX,
                               UINT64_MAX - 63};
    struct fatbin_item items[] = {item(FATBIN_PTX, FATBIN_PACKED_ZSTD),
                                  item(FATBIN_ELF, FATBIN_PLAIN)};
    struct buffer b;

    (void)state;
    items[0].identifier = "name";
    b = written(items, 2);
    for (size_t at = 0; at + 8 <= FATBIN_HEADER + 120; at++)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++)
            for (size_t n = 1; n <= 8; n *= 2)
                all_of_copy(&b, b.size, at, &values[v], n);
    buffer_fini(&b);
}

static void refused(struct buffer *b, size_t at, uint64_t value, size_t n,
                    const char *words)
{
    unsigned char old[8];
    struct kiln_error err = {0};

    memcpy(old, b->bytes + at, n);
    memcpy(b->bytes + at, &value, n);
    assert_int_equal(all(b->bytes, b->size, &err), KILN_E_FORMAT);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" without \"%s\"", err.text, words);
    memcpy(b->bytes + at, old, n);
}

static void refusals_say_what_was_found(void **state)
{
    struct fatbin_item items[] = {item(FATBIN_PTX, FATBIN_PACKED_ZSTD)};
    struct buffer b = written(items, 1);

    (void)state;
    refused(&b, 0, 0x12345678, 4, "magic 0x12345678");
    refused(&b, 4, 2, 2, "version 2");
    refused(&b, 8, 1 << 20, 8, "entries of 1048576 bytes");
    refused(&b, 8, 64, 8, "64 left");
    refused(&b, 16 + 4, 60, 4, "header of 60");
    refused(&b, 16 + 8, 1 << 20, 8, "payload of 1048576");
    refused(&b, 16 + 16, 1 << 20, 4, "1048576 bytes compressed");
    refused(&b, 16 + 20, 4, 4, "options block at 4");
    refused(&b, 16 + 32, 200, 4, "at 200");
    refused(&b, 16 + 40, 0xa011, 8, "unknown way");
    refused(&b, 16 + 40, 0x2011, 8, "LZ4 payload");
    refused(&b, 16 + 56, 77, 8, "the 77 that it states");
    refused(&b, 16 + 56, 1 << 21, 8, "the limit is");
    buffer_fini(&b);
}

static void a_bomb_is_refused_before_it_takes_memory(void **state)
{
    size_t size = 64 << 20;
    char *zeros = calloc(1, size);
    struct fatbin_item items[] = {{.kind = FATBIN_ELF,
                                   .payload = zeros,
                                   .size = size,
                                   .sm = 90,
                                   .packing = FATBIN_PACKED_ZSTD}};
    struct buffer b, out = {0};
    struct kiln_error err;
    struct fatbin_entry e;
    struct fatbin fatbin;
    int more;

    (void)state;
    assert_non_null(zeros);
    b = written(items, 1);
    assert_true(b.size < 100000);
    assert_int_equal(fatbin_open(b.bytes, b.size, &fatbin, NULL), KILN_OK);
    assert_int_equal(fatbin_next(&fatbin, &e, &more, NULL), KILN_OK);
    assert_int_equal(fatbin_unpack(&e, 0, &out, &err), KILN_E_FORMAT);
    assert_non_null(strstr(err.text, "more than 200 to 1"));
    assert_int_equal(out.cap, 0);
    buffer_fini(&b);
    free(zeros);
}

static void unknown_kinds_and_old_headers_are_kept(void **state)
{
    struct fatbin_item items[] = {item(FATBIN_PTX, FATBIN_PLAIN),
                                  item(FATBIN_ELF, FATBIN_PLAIN)};
    struct buffer b = written(items, 2);
    struct fatbin_entry e;
    struct fatbin fatbin;
    uint16_t kind = 77;
    uint32_t none = 0;
    int more;

    (void)state;
    memcpy(b.bytes + 16, &kind, 2);
    memcpy(b.bytes + 16 + 20, &none, 4);
    assert_int_equal(fatbin_open(b.bytes, b.size, &fatbin, NULL), KILN_OK);
    assert_int_equal(fatbin_next(&fatbin, &e, &more, NULL), KILN_OK);
    assert_int_equal(e.kind, 77);
    assert_null(e.options);
    assert_string_equal(fatbin_kind_name(e.kind), "unknown");
    assert_int_equal(fatbin_next(&fatbin, &e, &more, NULL), KILN_OK);
    assert_int_equal(e.kind, FATBIN_ELF);
    assert_int_equal(fatbin_next(&fatbin, &e, &more, NULL), KILN_OK);
    assert_int_equal(more, 0);
    assert_int_equal(fatbin_next(&fatbin, &e, &more, NULL), KILN_OK);
    assert_int_equal(more, 0);
    buffer_fini(&b);
}

static void wrappers_of_both_versions_are_read(void **state)
{
    const void *linked[] = {code, NULL};
    struct {
        uint32_t magic, version;
        const void *data;
        const void *third;
    } w = {FATBIN_WRAPPER_MAGIC, 1, code, linked};
    struct fatbin_wrapper out;
    struct kiln_error err;

    (void)state;
    assert_int_equal(sizeof w, FATBIN_WRAPPER);
    assert_int_equal(fatbin_wrapper_read(&w, &out, NULL), KILN_OK);
    assert_ptr_equal(out.data, code);
    assert_null(out.prelinked);
    w.version = 2;
    assert_int_equal(fatbin_wrapper_read(&w, &out, NULL), KILN_OK);
    assert_ptr_equal(out.prelinked[0], code);
    w.version = 9;
    assert_int_equal(fatbin_wrapper_read(&w, &out, &err), KILN_E_FORMAT);
    assert_non_null(strstr(err.text, "version 9"));
    w.version = 1;
    w.data = NULL;
    assert_int_equal(fatbin_wrapper_read(&w, &out, &err), KILN_E_FORMAT);
    assert_int_equal(fatbin_wrapper_read(NULL, &out, &err), KILN_E_FORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(every_cut_is_refused),
        cmocka_unit_test(no_header_value_does_harm),
        cmocka_unit_test(refusals_say_what_was_found),
        cmocka_unit_test(a_bomb_is_refused_before_it_takes_memory),
        cmocka_unit_test(unknown_kinds_and_old_headers_are_kept),
        cmocka_unit_test(wrappers_of_both_versions_are_read),
    };

    for (size_t i = 0; i < sizeof code; i++)
        code[i] = (unsigned char)(i / 9);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
