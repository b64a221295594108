/* SPDX-License-Identifier: MIT
 *
 * Every difference in what goes into a key is a different key.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cache/cache.h"

static struct hash hash_of(struct cache_key *key)
{
    struct hash h;

    assert_int_equal(cache_key_hash(key, &h), 0);
    cache_key_fini(key);
    return h;
}

/* fields: label, value, label, value ...; a value of NULL is absent. */
static struct hash texts(const char *kind, int count, ...)
{
    struct cache_key key;
    va_list args;

    cache_key_init(&key, kind);
    va_start(args, count);
    for (int i = 0; i < count; i++) {
        const char *label = va_arg(args, const char *);

        cache_key_text(&key, label, va_arg(args, const char *));
    }
    va_end(args);
    return hash_of(&key);
}

static void no_two_of_a_set_are_alike(void **state)
{
    const char *none = NULL;
    struct hash h[] = {
        texts("a", 0),
        texts("b", 0),
        texts("a", 1, "x", "1"),
        texts("a", 1, "y", "1"),
        texts("a", 1, "x", ""),
        texts("a", 1, "x", none),
        texts("a", 2, "x", "1", "x", "1"),
        texts("a", 2, "x", "1", "y", "2"),
        texts("a", 2, "y", "2", "x", "1"),
        texts("a", 2, "x", "12", "y", ""),
        texts("a", 2, "x", "", "y", "12"),
        texts("a", 2, "x", "1", "xy", "2"),
        texts("a", 2, "xx", "1", "y", "2"),
    };
    size_t n = sizeof h / sizeof *h;

    (void)state;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            assert_memory_not_equal(&h[i], &h[j], sizeof *h);
}

static void the_same_fields_give_the_same_key(void **state)
{
    struct hash a = texts("a", 2, "x", "1", "y", NULL);
    struct hash b = texts("a", 2, "x", "1", "y", NULL);

    (void)state;
    assert_memory_equal(&a, &b, sizeof a);
}

static void the_type_of_a_field_counts(void **state)
{
    struct cache_key key[3];
    struct hash h[3];
    uint64_t v = 0x3131313131313131;

    (void)state;
    for (int i = 0; i < 3; i++)
        cache_key_init(&key[i], "a");
    cache_key_text(&key[0], "x", "11111111");
    cache_key_bytes(&key[1], "x", "11111111", 8);
    cache_key_u64(&key[2], "x", v);
    for (int i = 0; i < 3; i++)
        h[i] = hash_of(&key[i]);
    assert_memory_not_equal(&h[0], &h[1], sizeof *h);
    assert_memory_not_equal(&h[0], &h[2], sizeof *h);
    assert_memory_not_equal(&h[1], &h[2], sizeof *h);
}

static void every_byte_of_a_long_value_counts(void **state)
{
    static unsigned char bytes[4000];
    struct hash first, other;
    struct cache_key key;

    (void)state;
    cache_key_init(&key, "a");
    cache_key_bytes(&key, "x", bytes, sizeof bytes);
    assert_true(key.fields.size < 200);
    first = hash_of(&key);
    for (size_t i = 0; i < sizeof bytes; i += 37) {
        bytes[i] ^= 1;
        cache_key_init(&key, "a");
        cache_key_bytes(&key, "x", bytes, sizeof bytes);
        other = hash_of(&key);
        bytes[i] ^= 1;
        assert_memory_not_equal(&first, &other, sizeof first);
    }
}

static void fields_can_be_read_back(void **state)
{
    static const char big[2000];
    struct cache_key key;
    struct cache_field f;
    struct cursor c;

    (void)state;
    cache_key_init(&key, "a");
    cache_key_text(&key, "none", NULL);
    cache_key_u64(&key, "n", 7);
    cache_key_bytes(&key, "big", big, sizeof big);
    c = cursor_of(key.fields.bytes, key.fields.size);
    assert_true(cache_field_next(&c, &f));
    assert_memory_equal(f.label, "kind", f.label_size);
    assert_memory_equal(f.value, "a", f.value_size);
    assert_true(cache_field_next(&c, &f));
    assert_null(f.value);
    assert_true(cache_field_next(&c, &f));
    assert_int_equal(f.type, CACHE_FIELD_U64);
    assert_true(cache_field_next(&c, &f));
    assert_int_equal(f.type, CACHE_FIELD_DIGEST);
    assert_int_equal(f.full_size, sizeof big);
    assert_false(cache_field_next(&c, &f));
    assert_false(c.bad);
    /* Cut anywhere, the walk ends with the cursor bad or at a boundary. */
    for (size_t n = 0; n < key.fields.size; n++) {
        c = cursor_of(key.fields.bytes, n);
        while (cache_field_next(&c, &f))
            ;
    }
    cache_key_fini(&key);
}

static void a_label_that_cannot_be_written_spoils_the_key(void **state)
{
    char label[300];
    struct cache_key key;
    struct hash h;

    (void)state;
    memset(label, 'x', sizeof label);
    label[299] = 0;
    cache_key_init(&key, "a");
    cache_key_text(&key, label, "1");
    assert_int_equal(cache_key_hash(&key, &h), -1);
    cache_key_fini(&key);
    cache_key_init(&key, "a");
    cache_key_text(&key, "", "1");
    assert_int_equal(cache_key_hash(&key, &h), -1);
    cache_key_fini(&key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_two_of_a_set_are_alike),
        cmocka_unit_test(the_same_fields_give_the_same_key),
        cmocka_unit_test(the_type_of_a_field_counts),
        cmocka_unit_test(every_byte_of_a_long_value_counts),
        cmocka_unit_test(fields_can_be_read_back),
        cmocka_unit_test(a_label_that_cannot_be_written_spoils_the_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
