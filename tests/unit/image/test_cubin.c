/* SPDX-License-Identifier: MIT
 *
 * Cubins made from data/sample.ptx by ptxas 13.0, and every damage to them.
 */
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
#include "image/guess.h"

static struct buffer file(const char *name)
{
    char path[512];
    struct buffer b = {0};
    struct kiln_error err;

    snprintf(path, sizeof path, "%s%s", DATA, name);
    if (file_read(path, 0, &b, &err))
        fail_msg("%s", err.text);
    return b;
}

static void sample(const char *name, uint32_t sm, char variant, int relocatable)
{
    static const uint32_t offsets[] = {0, 8, 32, 40, 48, 52};
    static const uint32_t sizes[] = {8, 24, 1, 8, 3, 4};
    struct buffer b = file(name);
    struct arena arena = {0};
    const struct cubin_kernel *k;
    struct kiln_error err;
    struct cubin c;
    size_t extent;

    if (cubin_read(b.bytes, b.size, &arena, &c, &err))
        fail_msg("%s", err.text);
    assert_int_equal(c.sm, sm);
    assert_int_equal(c.variant, variant);
    assert_int_equal(c.abi, 8);
    assert_int_equal(c.relocatable, relocatable);
    assert_int_equal(c.toolkit, 130);
    assert_int_equal(c.kernel_count, 2);
    k = cubin_kernel_find(&c, "mixed");
    assert_non_null(k);
    assert_int_equal(k->param_count, 6);
    assert_int_equal(k->param_bytes, 56);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(k->params[i].offset, offsets[i]);
        assert_int_equal(k->params[i].size, sizes[i]);
        assert_int_equal(k->params[i].pointer,
                         sizes[i] == 8 ? CUBIN_UNKNOWN : CUBIN_NO);
    }
    assert_int_equal(k->static_shared, 269);
    assert_int_equal(k->max_threads, 512);
    assert_in_range(k->registers, 1, 255);
    k = cubin_kernel_find(&c, "plain");
    assert_non_null(k);
    assert_int_equal(k->param_count, 0);
    assert_int_equal(k->reqntid[0], 64);
    assert_null(cubin_kernel_find(&c, "none"));
    assert_int_equal(c.variable_count, 2);
    assert_int_equal(elf_extent(b.bytes, b.size, &extent, NULL), KILN_OK);
    assert_int_equal(extent, b.size);
    arena_fini(&arena);
    buffer_fini(&b);
}

static void kernels_and_their_parameters_are_found(void **state)
{
    (void)state;
    sample("sm75.cubin", 75, 0, 0);
    sample("sm90a.cubin", 90, 'a', 0);
    sample("sm100.cubin", 100, 0, 0);
    sample("sm90-relocatable.cubin", 90, 0, 1);
}

static enum kiln_status read_copy(const unsigned char *bytes, size_t size)
{
    unsigned char *copy = malloc(size ? size : 1);
    struct arena arena = {0};
    struct kiln_error err = {0};
    enum kiln_status st;
    struct cubin c;
    size_t extent, sum = 0;

    assert_non_null(copy);
    if (size)
        memcpy(copy, bytes, size);
    elf_extent(copy, size, &extent, NULL);
    st = cubin_read(copy, size, &arena, &c, &err);
    assert_true(!st || *err.text);
    for (size_t i = 0; !st && i < c.kernel_count; i++)
        sum += strlen(c.kernels[i].name) + c.kernels[i].param_count;
    arena_fini(&arena);
    free(copy);
    return sum == SIZE_MAX ? KILN_E_INTERNAL : st;
}

static void every_cut_is_survived(void **state)
{
    struct buffer b = file("sm90a.cubin");

    (void)state;
    for (size_t n = 0; n < b.size; n++)
        assert_int_not_equal(read_copy(b.bytes, n), KILN_OK);
    buffer_fini(&b);
}

static void every_byte_may_be_anything(void **state)
{
    const unsigned char values[] = {0x00, 0xff, 0x80, 0x7f, 0x01};
    struct buffer b = file("sm75.cubin");

    (void)state;
    for (size_t at = 0; at < b.size; at++) {
        unsigned char old = b.bytes[at];

        for (size_t v = 0; v < sizeof values; v++) {
            b.bytes[at] = values[v];
            read_copy(b.bytes, b.size);
        }
        b.bytes[at] = old;
    }
    buffer_fini(&b);
}

static void other_files_are_named(void **state)
{
    unsigned char elf[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    struct kiln_error err;
    struct cubin c;

    (void)state;
    elf[18] = 62;
    assert_int_equal(cubin_identify(elf, sizeof elf, &c, &err), KILN_E_FORMAT);
    assert_non_null(strstr(err.text, "machine 62, expected 190"));
    assert_int_equal(cubin_identify("hello", 5, &c, &err), KILN_E_FORMAT);
    /* ABI 7: the SM number in the low bits, 0x800 for "a". */
    elf[18] = 190;
    elf[16] = 2;
    elf[8] = 7;
    elf[48] = 0x5a;
    elf[49] = 0x0d;
    elf[50] = 0x5a;
    assert_int_equal(cubin_identify(elf, sizeof elf, &c, &err), KILN_OK);
    assert_int_equal(c.sm, 90);
    assert_int_equal(c.variant, 'a');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_and_their_parameters_are_found),
        cmocka_unit_test(every_cut_is_survived),
        cmocka_unit_test(every_byte_may_be_anything),
        cmocka_unit_test(other_files_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
