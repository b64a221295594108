/* SPDX-License-Identifier: MIT
 *
 * The bytes of an entry: what cannot be written, and what is no entry, each
 * with its reason.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "cache/entry.h"

static struct cache_key key_of(void)
{
    struct cache_key key;

    cache_key_init(&key, "test");
    cache_key_text(&key, "source", "text");
    return key;
}

static void not_written(const struct cache_section *sections, size_t count,
                        enum kiln_status status, const char *words)
{
    struct cache_key key = key_of();
    struct kiln_error err = {0};
    struct buffer out = {0};

    assert_int_equal(entry_write(&key, sections, count, 0, 0, &out, &err),
                     status);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" without \"%s\"", err.text, words);
    buffer_fini(&out);
    cache_key_fini(&key);
}

static void sections_that_do_not_fit_are_not_written(void **state)
{
    static struct cache_section many[ENTRY_SECTIONS_MAX + 1];
    const struct cache_section nameless = {"", "x", 1};
    const struct cache_section long_name = {"a name of too many bytes", "x", 1};
    const struct cache_section large = {"s", "x", (size_t)ENTRY_LARGEST + 1};
    const struct cache_section whole[] = {{"a", "x", (size_t)ENTRY_LARGEST}};

    (void)state;
    for (size_t i = 0; i <= ENTRY_SECTIONS_MAX; i++)
        many[i] = (struct cache_section){"s", "x", 1};
    not_written(many, ENTRY_SECTIONS_MAX + 1, KILN_E_INVALID, "65 sections");
    not_written(&nameless, 1, KILN_E_INVALID, "section name \"\"");
    not_written(&long_name, 1, KILN_E_INVALID, "a name of too many");
    not_written(&large, 1, KILN_E_INVALID, "larger than");
    not_written(whole, 1, KILN_E_INVALID, "larger than");
}

static void a_key_that_was_lost_is_not_written(void **state)
{
    struct cache_key key = key_of();
    struct buffer out = {0};
    struct kiln_error err;

    (void)state;
    key.fields.bad = 1;
    assert_int_equal(entry_write(&key, NULL, 0, 0, 0, &out, &err),
                     KILN_E_MEMORY);
    assert_non_null(strstr(err.text, "the key is lost"));
    key.fields.bad = 0;
    cache_key_fini(&key);
}

static void writing_fails_for_want_of_memory_alone(void **state)
{
    const struct cache_section section = {"s", "bytes", 5};
    enum kiln_status st = KILN_E_MEMORY;
    long n = 0;

    (void)state;
    for (; st && n < 100; n++) {
        struct cache_key key = key_of();
        struct buffer out = {0};

        kiln_alloc_fail_after(n);
        st = entry_write(&key, &section, 1, 0, 0, &out, NULL);
        kiln_alloc_fail_after(-1);
        assert_true(!st || st == KILN_E_MEMORY);
        buffer_fini(&out);
        cache_key_fini(&key);
    }
    assert_int_equal(st, KILN_OK);
    assert_true(n > 1);
}

static struct buffer entry(void)
{
    const struct cache_section sections[] = {{"log", "a log", 5},
                                             {"object", "12345678", 8}};
    struct cache_key key = key_of();
    struct buffer out = {0};

    assert_int_equal(entry_write(&key, sections, 2, 77, 0, &out, NULL),
                     KILN_OK);
    cache_key_fini(&key);
    return out;
}

/* `value` written over n bytes at `at`, under a size and digest that fit. */
static void refused(size_t at, uint64_t value, size_t n, const char *words)
{
    struct buffer b = entry();
    struct kiln_error err = {0};
    struct hash digest;

    memcpy(b.bytes + at, &value, n);
    assert_int_equal(hash_bytes(b.bytes, b.size - HASH_SIZE, &digest), 0);
    memcpy(b.bytes + b.size - HASH_SIZE, &digest, HASH_SIZE);
    assert_int_equal(entry_check(b.bytes, b.size, &err), KILN_E_FORMAT);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" without \"%s\"", err.text, words);
    buffer_fini(&b);
}

static void each_field_is_refused_with_its_reason(void **state)
{
    struct buffer b = entry();
    uint32_t fields;
    size_t table, row, end = b.size - HASH_SIZE;

    (void)state;
    memcpy(&fields, b.bytes + 24, sizeof fields);
    table = (ENTRY_HEADER + fields + 15) / 16 * 16;
    row = table + ENTRY_ROW;
    assert_int_equal(entry_check(b.bytes, b.size, NULL), KILN_OK);
    assert_int_equal(entry_expires(b.bytes), 77);
    refused(0, 0, 1, "does not begin as");
    refused(8, 2, 4, "schema 2");
    refused(12, 65, 4, "65 sections");
    refused(12, 30, 4, "30 sections");
    refused(16, 1, 8, "its header says 1");
    refused(24, UINT32_MAX, 4, "4294967295 bytes of key");
    refused(table, 0, 1, "section 0: ");
    /* Rows: name, offset, size; a section has a zero behind it. */
    refused(row + 15, 'x', 1, "section 1: ");
    refused(row + 16, end - 1, 8, "section 1: ");
    refused(row + 16, 0, 8, "do not lie in the entry");
    refused(row + 16, end, 8, "section 1: ");
    refused(row + 24, UINT64_MAX, 8, "section 1: ");
    refused(row + 24, 7, 8, "section 1: 7 bytes");
    buffer_fini(&b);
}

static void a_cut_is_told_by_its_size(void **state)
{
    struct buffer b = entry();
    struct kiln_error err;

    (void)state;
    for (size_t n = 0; n < b.size; n++) {
        unsigned char *copy = malloc(n + 1);

        assert_non_null(copy);
        memcpy(copy, b.bytes, n);
        assert_int_equal(entry_check(copy, n, &err), KILN_E_FORMAT);
        assert_non_null(strstr(err.text, "bytes, "));
        free(copy);
    }
    buffer_fini(&b);
}

static void sections_are_found_by_their_whole_name(void **state)
{
    struct buffer b = entry();
    struct cache_entry e = {b.bytes, b.size}, none = {0};
    size_t size = 0;

    (void)state;
    assert_memory_equal(cache_entry_section(&e, "object", &size), "12345678",
                        9);
    assert_int_equal(size, 8);
    assert_non_null(cache_entry_section(&e, "log", NULL));
    assert_null(cache_entry_section(&e, "obj", &size));
    assert_null(cache_entry_section(&e, "a name of too many bytes", &size));
    assert_null(cache_entry_section(&none, "log", &size));
    {
        struct cursor fields = cache_entry_fields(&none);

        assert_int_equal(cursor_left(&fields), 0);
        fields = cache_entry_fields(&e);
        assert_true(cursor_left(&fields) > 0);
    }
    buffer_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_that_do_not_fit_are_not_written),
        cmocka_unit_test(a_key_that_was_lost_is_not_written),
        cmocka_unit_test(writing_fails_for_want_of_memory_alone),
        cmocka_unit_test(each_field_is_refused_with_its_reason),
        cmocka_unit_test(a_cut_is_told_by_its_size),
        cmocka_unit_test(sections_are_found_by_their_whole_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
