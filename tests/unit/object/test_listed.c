/* SPDX-License-Identifier: MIT
 *
 * What a listing tells of the CPU driver's objects is what their writer put
 * in, and damage in them is a sentence.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "image/object_head.h"
#include "kiln/image.h"
#include "sample.h"

static struct buffer object(void)
{
    struct object_info info = sample_info();
    struct buffer plain = {0}, section = {0}, out = {0};

    assert_int_equal(file_read(OBJECTS "/pic.o", 0, &plain, NULL), KILN_OK);
    object_info_write(&info, &section);
    sample_add_section(&plain, ".kiln.info", &section, &out);
    buffer_fini(&plain);
    buffer_fini(&section);
    return out;
}

static void an_object_is_listed_as_one(void **state)
{
    struct object_info info = sample_info();
    struct buffer b = object();
    struct kiln_container c = {.size = sizeof c};
    struct kiln_entry e = {.size = sizeof e};
    struct kiln_symbol s = {.size = sizeof s};
    struct kiln_variable v = {.size = sizeof v};
    struct kiln_symbols *symbols;
    struct kiln_file *file;

    (void)state;
    assert_int_equal(kiln_file_open_bytes("o", b.bytes, b.size, &file, NULL),
                     KILN_OK);
    assert_non_null(strstr(kiln_file_looks(file), "Kiln object"));
    assert_int_equal(kiln_file_entry_count(file), 1);
    assert_int_equal(kiln_file_container(file, 0, &c, NULL), KILN_OK);
    assert_true(c.single);
    assert_int_equal(kiln_file_entry(file, 0, &e, NULL), KILN_OK);
    assert_int_equal(e.kind, KILN_ENTRY_OBJECT);
    assert_int_equal(e.sm, info.target);
    assert_int_equal(e.major * 10 + e.minor, info.ptx_version);
    assert_int_equal(e.plain, b.size);
    assert_non_null(strstr(e.note, info.build));
    assert_string_equal(e.options, info.features);
    assert_int_equal(kiln_symbols_read(file, 0, &symbols, NULL), KILN_OK);
    assert_int_equal(kiln_symbols_count(symbols), info.kernel_count);
    for (uint32_t i = 0; i < info.kernel_count; i++) {
        const struct object_kernel *k = &info.kernels[i];

        assert_int_equal(kiln_symbols_get(symbols, i, &s, NULL), KILN_OK);
        assert_string_equal(s.name, k->name);
        assert_int_equal(s.parameter_count, k->param_count);
        assert_int_equal(s.parameter_bytes, k->param_bytes);
        assert_int_equal(s.static_shared, k->static_shared);
        assert_int_equal(s.local_bytes, k->local_bytes);
        assert_int_equal(s.max_threads, k->max_threads);
        for (uint32_t n = 0; n < k->param_count; n++) {
            struct kiln_parameter p;

            assert_int_equal(kiln_symbols_parameter(symbols, i, n, &p, NULL),
                             KILN_OK);
            assert_int_equal(p.offset, k->params[n].offset);
            assert_int_equal(p.size, k->params[n].size);
            assert_int_equal(p.pointer, k->params[n].is_pointer);
        }
    }
    assert_int_equal(kiln_symbols_variable_count(symbols), info.variable_count);
    for (uint32_t i = 0; i < info.variable_count; i++) {
        assert_int_equal(kiln_symbols_variable(symbols, i, &v, NULL), KILN_OK);
        assert_string_equal(v.name, info.variables[i].name);
        assert_int_equal(v.bytes, info.variables[i].size);
        assert_int_equal(v.constant, info.variables[i].space == OBJECT_CONST);
    }
    kiln_symbols_free(symbols);
    kiln_file_close(file);
    buffer_fini(&b);
}

static void explained(const struct kiln_file *file, enum kiln_device_kind kind,
                      enum kiln_status st, const char *reason)
{
    struct kiln_target target = {
        .size = sizeof target, .kind = kind, .sm = 90, .driver_version = 13000};
    struct kiln_verdict v = {.size = sizeof v};
    struct kiln_walk *walk;

    assert_int_equal(kiln_walk_new(file, 0, &target, &walk, NULL), KILN_OK);
    assert_int_equal(kiln_walk_status(walk), st);
    assert_int_equal(kiln_walk_verdict(walk, 0, &v, NULL), KILN_OK);
    assert_string_equal(v.reason, reason);
    kiln_walk_free(walk);
}

static void an_object_is_for_the_cpu_device_alone(void **state)
{
    struct buffer b = object();
    struct kiln_file *file;

    (void)state;
    assert_int_equal(kiln_file_open_bytes("o", b.bytes, b.size, &file, NULL),
                     KILN_OK);
    explained(file, KILN_DEVICE_CPU, KILN_OK, "taken");
    explained(file, KILN_DEVICE_NVIDIA, KILN_E_NO_BINARY, "other-isa");
    kiln_file_close(file);
    buffer_fini(&b);
}

static enum kiln_status head(const void *bytes, size_t size)
{
    struct arena arena = {0};
    struct object_head h;
    struct kiln_error err = {0};
    enum kiln_status st = object_head_read(bytes, size, &arena, &h, &err);

    assert_true(!st || *err.text);
    arena_fini(&arena);
    return st;
}

static void any_damage_is_a_sentence(void **state)
{
    static const unsigned char values[] = {0, 1, 0x7f, 0xff};
    struct buffer b = object();

    (void)state;
    assert_int_equal(head(b.bytes, b.size), KILN_OK);
    for (size_t n = 0; n < b.size; n++) {
        unsigned char *copy = malloc(n + 1);

        assert_non_null(copy);
        memcpy(copy, b.bytes, n);
        assert_int_not_equal(head(copy, n), KILN_OK);
        free(copy);
    }
    for (size_t i = 0; i < b.size; i++)
        for (size_t k = 0; k < sizeof values; k++) {
            unsigned char old = b.bytes[i];

            b.bytes[i] = values[k];
            head(b.bytes, b.size);
            b.bytes[i] = old;
        }
    buffer_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_object_is_listed_as_one),
        cmocka_unit_test(an_object_is_for_the_cpu_device_alone),
        cmocka_unit_test(any_damage_is_a_sentence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
