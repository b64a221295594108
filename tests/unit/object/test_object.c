/* SPDX-License-Identifier: MIT
 *
 * Loading real objects, in three code models, and damaged ones.
 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cpu/exec/abi.h"
#include "sample.h"

static struct buffer plain(const char *name)
{
    struct buffer file = {0};
    struct kiln_error err;
    char path[512];

    snprintf(path, sizeof path, "%s/%s.o", OBJECTS, name);
    assert_int_equal(file_read(path, 0, &file, &err), 0);
    return file;
}

/* The named object with the sample's information. */
static struct buffer complete(const char *name)
{
    const struct object_info info = sample_info();
    struct buffer in = plain(name);
    struct buffer contents = {0};
    struct buffer out = {0};

    object_info_write(&info, &contents);
    sample_add_section(&in, OBJECT_INFO_SECTION, &contents, &out);
    assert_int_equal(out.bad, 0);
    buffer_fini(&in);
    buffer_fini(&contents);
    return out;
}

typedef const char *word_fn(unsigned);
typedef int count_fn(unsigned);
typedef float outside_fn(float, char *, const char *, size_t);
typedef int choose_fn(int);

static void runs(const char *name)
{
    struct buffer object = complete(name);
    struct object_code *code = NULL;
    struct kiln_error err = {0};
    char text[8] = "";
    struct abi_block block = {0};
    uintptr_t begin;
    uintptr_t end;

    if (object_load(object.bytes, object.size, &code, &err))
        fail_msg("%s: %s", name, err.text);
    /* nothing of the file is needed any more */
    memset(object.bytes, 0xee, object.size);
    buffer_fini(&object);
    {
        word_fn *word = (word_fn *)object_symbol(code, "word");
        count_fn *count = (count_fn *)object_symbol(code, "count");
        outside_fn *outside = (outside_fn *)object_symbol(code, "call_outside");
        choose_fn *choose = (choose_fn *)object_symbol(code, "choose");
        abi_kernel *kernel = (abi_kernel *)object_symbol(code, "kernel");

        assert_string_equal(word(2), "two");
        assert_int_equal(count(7), 40);
        assert_int_equal(count(7), 81);
        assert_int_equal(choose(3), 'o');
        assert_int_equal(choose(5), 100);
        assert_int_equal(choose(9), -1);
        assert_true(outside(3.0f, text, "abc", 4) == 9.0f);
        assert_string_equal(text, "abc");
        kernel(&block, 3, 4);
        assert_int_equal(block.ctaid[0], 7);
        object_code_range(code, &begin, &end);
        assert_true((uintptr_t)kernel >= begin && (uintptr_t)kernel < end);
        assert_true((uintptr_t)word(0) >= end);
    }
    assert_null(object_symbol(code, "words"));
    assert_null(object_symbol(code, "memcpy"));
    object_unload(code);
}

static void position_independent_code_runs(void **state)
{
    (void)state;
    runs("pic");
}

static void static_code_runs_below_2_gib(void **state)
{
    (void)state;
    runs("static");
}

static void the_large_code_model_runs(void **state)
{
    (void)state;
    runs("large");
}

static void no_page_is_writable_and_executable(void **state)
{
    struct buffer object = complete("pic");
    struct object_code *code;
    uintptr_t begin;
    uintptr_t end;
    char line[512];
    FILE *maps;
    int seen = 0;

    (void)state;
    assert_int_equal(object_load(object.bytes, object.size, &code, NULL), 0);
    object_code_range(code, &begin, &end);
    maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) {
        unsigned long from;
        unsigned long to;
        char access[8];

        assert_int_equal(sscanf(line, "%lx-%lx %7s", &from, &to, access), 3);
        assert_false(access[1] == 'w' && access[2] == 'x');
        if (from <= begin && end <= to) {
            assert_string_equal(access, "r-xp");
            seen++;
        }
    }
    fclose(maps);
    assert_int_equal(seen, 1);
    object_unload(code);
    buffer_fini(&object);
}

static void refused(const struct buffer *object, enum kiln_status status,
                    const char *words)
{
    struct object_code *code = NULL;
    struct kiln_error err = {0};

    assert_int_equal(object_load(object->bytes, object->size, &code, &err),
                     status);
    assert_null(code);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

static void an_undefined_symbol_is_named(void **state)
{
    struct buffer object = complete("undefined");

    (void)state;
    refused(&object, KILN_E_SYMBOL, "unheard_of");
    buffer_fini(&object);
}

static void a_thread_local_section_is_refused(void **state)
{
    struct buffer object = complete("thread");

    (void)state;
    refused(&object, KILN_E_FORMAT, ".tbss");
    buffer_fini(&object);
}

static void a_plain_object_is_not_ours(void **state)
{
    struct buffer object = plain("pic");
    struct buffer ours = complete("pic");

    (void)state;
    refused(&object, KILN_E_IMAGE, ".kiln.info");
    assert_false(object_is(object.bytes, object.size));
    assert_true(object_is(ours.bytes, ours.size));
    assert_false(object_is("\177ELF", 4));
    assert_false(object_is(NULL, 0));
    buffer_fini(&object);
    buffer_fini(&ours);
}

static void a_variant_without_its_function_is_refused(void **state)
{
    struct object_info info = sample_info();
    const struct object_variant variant = {OBJECT_SHAPE_ANY, "counters"};
    struct object_kernel kernel = info.kernels[1];
    struct buffer in = plain("pic");
    struct buffer contents = {0};
    struct buffer out = {0};

    (void)state;
    kernel.variants = &variant;
    info.kernels = &kernel;
    info.kernel_count = 1;
    object_info_write(&info, &contents);
    sample_add_section(&in, OBJECT_INFO_SECTION, &contents, &out);
    refused(&out, KILN_E_SYMBOL, "counters");
    buffer_fini(&in);
    buffer_fini(&contents);
    buffer_fini(&out);
}

static void every_truncation_is_survived(void **state)
{
    struct buffer object = complete("pic");

    (void)state;
    for (size_t n = 0; n < object.size; n++) {
        /* exactly n bytes, so that a sanitizer sees any read past them */
        unsigned char *copy = malloc(n ? n : 1);
        struct object_code *code = NULL;

        memcpy(copy, object.bytes, n);
        assert_int_not_equal(object_load(copy, n, &code, NULL), 0);
        assert_null(code);
        free(copy);
    }
    buffer_fini(&object);
}

/* Loads it if it loads; the code of a damaged object is never run. */
static void every_changed_byte_is_survived(void **state)
{
    struct buffer object = complete("static");
    int refusals = 0;

    (void)state;
    for (size_t i = 0; i < object.size; i++) {
        static const unsigned char tries[] = {0x00, 0x01, 0x7f, 0xff};
        const unsigned char old = object.bytes[i];

        for (size_t k = 0; k < sizeof tries; k++) {
            struct object_code *code = NULL;

            object.bytes[i] = tries[k];
            refusals +=
                object_load(object.bytes, object.size, &code, NULL) != 0;
            object_unload(code);
        }
        object.bytes[i] = old;
    }
    assert_true(refusals > 1000);
    buffer_fini(&object);
}

static void a_sealed_object_tells_every_change(void **state)
{
    struct buffer object = complete("pic");
    struct kiln_error err = {0};

    (void)state;
    assert_int_equal(object_verify(object.bytes, object.size, &err),
                     KILN_E_IMAGE);
    assert_non_null(strstr(err.text, "digest"));
    assert_int_equal(object_seal(object.bytes, object.size, &err), KILN_OK);
    assert_int_equal(object_verify(object.bytes, object.size, &err), KILN_OK);
    for (size_t i = 0; i < object.size; i += 7) {
        const unsigned char bit = (unsigned char)(1u << (i % 8));

        object.bytes[i] ^= bit;
        assert_int_not_equal(object_verify(object.bytes, object.size, NULL),
                             KILN_OK);
        object.bytes[i] ^= bit;
    }
    assert_int_not_equal(object_verify(object.bytes, object.size - 1, NULL),
                         KILN_OK);
    buffer_fini(&object);
}

/* A section of zeros may name any place and any size. */
static void a_section_without_bytes_has_no_digest(void **state)
{
    struct buffer object = complete("pic");
    struct kiln_error err = {0};
    int changed = 0;
    Elf64_Ehdr h;

    (void)state;
    memcpy(&h, object.bytes, sizeof h);
    for (unsigned i = 0; i < h.e_shnum; i++) {
        unsigned char *row = object.bytes + h.e_shoff + i * sizeof(Elf64_Shdr);
        Elf64_Shdr s;

        memcpy(&s, row, sizeof s);
        if (s.sh_offset >= object.size || s.sh_size < 48 ||
            memcmp(object.bytes + s.sh_offset, "KILNINFO", 8))
            continue;
        s.sh_type = SHT_NOBITS;
        s.sh_offset = object.size - 20;
        memcpy(row, &s, sizeof s);
        changed++;
    }
    assert_int_equal(changed, 1);
    assert_int_equal(object_verify(object.bytes, object.size, &err),
                     KILN_E_FORMAT);
    assert_non_null(strstr(err.text, "digest"));
    assert_int_equal(object_seal(object.bytes, object.size, &err),
                     KILN_E_FORMAT);
    buffer_fini(&object);
}

static void running_out_of_memory_is_reported(void **state)
{
    struct buffer object = complete("pic");
    enum kiln_status st = KILN_E_MEMORY;
    int failures = 0;

    (void)state;
    for (long n = 0; st == KILN_E_MEMORY; n++) {
        struct object_code *code = NULL;

        kiln_alloc_fail_after(n);
        st = object_load(object.bytes, object.size, &code, NULL);
        kiln_alloc_fail_after(-1);
        failures += st == KILN_E_MEMORY;
        object_unload(code);
        assert_true(n < 1000);
    }
    assert_int_equal(st, 0);
    assert_true(failures > 3);
    buffer_fini(&object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(position_independent_code_runs),
        cmocka_unit_test(static_code_runs_below_2_gib),
        cmocka_unit_test(the_large_code_model_runs),
        cmocka_unit_test(no_page_is_writable_and_executable),
        cmocka_unit_test(an_undefined_symbol_is_named),
        cmocka_unit_test(a_thread_local_section_is_refused),
        cmocka_unit_test(a_plain_object_is_not_ours),
        cmocka_unit_test(a_variant_without_its_function_is_refused),
        cmocka_unit_test(every_truncation_is_survived),
        cmocka_unit_test(every_changed_byte_is_survived),
        cmocka_unit_test(a_sealed_object_tells_every_change),
        cmocka_unit_test(a_section_without_bytes_has_no_digest),
        cmocka_unit_test(running_out_of_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
