/* SPDX-License-Identifier: MIT
 *
 * Symbols come in the order of the file, each once, however many entries
 * there are and wherever the caller stops.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "image/fatbin.h"
#include "tests/unit/kernel/hostile.h"
#include "tool/inspect.h"

enum { COUNT = 5000 };

/* Entry i defines the kernel "k<i>"; every 7th is no PTX that can be read. */
static struct kiln_file *many(struct buffer *bytes)
{
    static struct fatbin_item items[COUNT];
    static char texts[COUNT][64];
    struct kiln_file *file;

    for (int i = 0; i < COUNT; i++) {
        snprintf(texts[i], sizeof texts[i],
                 ".version 7.0\n.target sm_70\n.entry k%d() {}", i);
        items[i] = (struct fatbin_item){.kind = i % 7 ? FATBIN_PTX : FATBIN_ELF,
                                        .sm = 70,
                                        .major = 7,
                                        .payload = texts[i],
                                        .size = strlen(texts[i])};
    }
    assert_int_equal(fatbin_write(items, COUNT, bytes, NULL), KILN_OK);
    assert_int_equal(
        kiln_file_open_bytes("many", bytes->bytes, bytes->size, &file, NULL),
        KILN_OK);
    assert_int_equal(kiln_file_entry_count(file), COUNT);
    return file;
}

static void symbols_come_in_order(void **state)
{
    struct buffer bytes = {0};
    struct kiln_file *file = many(&bytes);
    struct symbol_stream *stream = symbols_start(file);

    (void)state;
    assert_non_null(stream);
    for (int i = 0; i < COUNT; i++) {
        const struct entry_symbols *e = symbols_next(stream);
        struct kiln_symbol s = {.size = sizeof s};
        char name[16];

        assert_int_equal(!e->symbols, i % 7 == 0);
        assert_int_equal(e->error.status != KILN_OK, i % 7 == 0);
        if (!e->symbols)
            continue;
        snprintf(name, sizeof name, "k%d", i);
        assert_int_equal(kiln_symbols_count(e->symbols), 1);
        assert_int_equal(kiln_symbols_get(e->symbols, 0, &s, NULL), KILN_OK);
        assert_string_equal(s.name, name);
    }
    symbols_end(stream);
    kiln_file_close(file);
    buffer_fini(&bytes);
}

static void a_caller_may_stop_anywhere(void **state)
{
    struct buffer bytes = {0};
    struct kiln_file *file = many(&bytes);

    (void)state;
    for (int stop = 0; stop < 3000; stop = stop * 3 + 1) {
        struct symbol_stream *stream = symbols_start(file);

        assert_non_null(stream);
        for (int i = 0; i < stop; i++)
            symbols_next(stream);
        symbols_end(stream);
    }
    kiln_file_close(file);
    buffer_fini(&bytes);
}

/* Names that are listed of a hostile file, and the entries whose are not. */
static uint64_t listed(const char *kind, size_t size, size_t *left_out)
{
    struct buffer b = hostile_make(kind, size);
    struct symbol_stream *stream;
    struct kiln_file *file;
    uint64_t names = 0;

    *left_out = 0;
    assert_int_equal(kiln_file_open_bytes(kind, b.bytes, b.size, &file, NULL),
                     KILN_OK);
    stream = symbols_start(file);
    assert_non_null(stream);
    for (size_t i = 0; i < kiln_file_entry_count(file); i++) {
        const struct entry_symbols *e = symbols_next(stream);

        if (e->symbols) {
            assert_int_equal(*left_out, 0);
            names += kiln_symbols_count(e->symbols);
        } else {
            assert_true(*e->error.text);
            ++*left_out;
        }
    }
    symbols_end(stream);
    kiln_file_close(file);
    buffer_fini(&b);
    return names;
}

/* The same each time, whichever thread comes first. */
static void names_are_listed_in_proportion_to_the_file(void **state)
{
    enum { SIZE = 1 << 20, MOST = (1 << 16) + SIZE / 1024 };
    uint64_t names = 0;
    size_t left_out;

    (void)state;
    for (int i = 0; i < 5; i++) {
        uint64_t n = listed("packed-kernels", SIZE, &left_out);

        assert_true(left_out > 0);
        assert_true(n > MOST / 2 && n <= MOST);
        assert_true(!names || n == names);
        names = n;
    }
    names = listed("plain-kernels", SIZE, &left_out);
    assert_true(left_out > 0 && names <= MOST);
    /* As many as a file of this size may well define. */
    names = listed("plain-kernels", SIZE / 2, &left_out);
    assert_true(!left_out && names > 1 << 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_listed_in_proportion_to_the_file),
        cmocka_unit_test(symbols_come_in_order),
        cmocka_unit_test(a_caller_may_stop_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
