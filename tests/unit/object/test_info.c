/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cpu/exec/abi.h"
#include "sample.h"

static void read_gives_back_what_was_written(void **state)
{
    const struct object_info in = sample_info();
    struct object_info out;
    struct buffer bytes = {0};
    struct arena arena = {0};
    struct kiln_error err;

    (void)state;
    object_info_write(&in, &bytes);
    assert_int_equal(bytes.bad, 0);
    assert_int_equal(
        object_info_read(bytes.bytes, bytes.size, &arena, &out, &err), 0);
    assert_int_equal(out.abi, ABI_VERSION);
    assert_string_equal(out.build, "build-1");
    assert_string_equal(out.features, "sse2");
    assert_int_equal(out.kernel_count, 2);
    assert_string_equal(out.kernels[0].name, "kernel_name");
    assert_int_equal(out.kernels[0].param_count, 3);
    assert_int_equal(out.kernels[0].params[2].offset, 16);
    assert_int_equal(out.kernels[0].params[2].size, 24);
    assert_int_equal(out.kernels[0].params[0].is_pointer, 1);
    assert_int_equal(out.kernels[0].variant_count, 2);
    assert_int_equal(out.kernels[0].variants[0].shape, OBJECT_SHAPE_ROWS);
    assert_string_equal(out.kernels[0].variants[1].symbol, "kernel");
    assert_int_equal(out.kernels[0].static_shared, 128);
    assert_int_equal(out.kernels[0].local_bytes, 64);
    assert_int_equal(out.kernels[0].max_threads, 512);
    assert_int_equal(out.kernels[0].reqntid[1], 2);
    assert_int_equal(out.kernels[0].frame_bytes, 192);
    assert_int_equal(out.kernels[0].maxnreg, 40);
    assert_int_equal(out.kernels[0].flags, 11);
    assert_int_equal(out.variable_count, 3);
    assert_string_equal(out.variables[1].name, "counter");
    assert_int_equal(out.variables[1].offset, 16);
    assert_int_equal(out.variables[2].is_extern, 1);
    assert_int_equal(out.data_size, 24);
    assert_memory_equal(out.data_init, in.data_init, 5);
    assert_int_equal(out.refs[0].addend, 16);
    arena_fini(&arena);
    buffer_fini(&bytes);
}

static void every_truncation_is_refused(void **state)
{
    const struct object_info in = sample_info();
    struct buffer bytes = {0};

    (void)state;
    object_info_write(&in, &bytes);
    for (size_t n = 0; n < bytes.size; n++) {
        struct object_info out;
        struct arena arena = {0};
        struct kiln_error err;
        const uint32_t size = (uint32_t)n;

        if (n >= 16) /* an honest header, so that the rest is looked at */
            memcpy(bytes.bytes + 12, &size, sizeof size);
        assert_int_not_equal(
            object_info_read(bytes.bytes, n, &arena, &out, &err), 0);
        assert_true(strlen(err.text) > 0);
        arena_fini(&arena);
    }
    buffer_fini(&bytes);
}

/* Whatever single byte changes, the reader answers and stays in bounds. */
static void every_changed_byte_is_survived(void **state)
{
    const struct object_info in = sample_info();
    struct buffer bytes = {0};
    int refused = 0;

    (void)state;
    object_info_write(&in, &bytes);
    for (size_t i = 0; i < bytes.size; i++) {
        static const unsigned char tries[] = {0, 1, 0x7f, 0x80, 0xff};
        const unsigned char old = bytes.bytes[i];

        for (size_t k = 0; k < sizeof tries; k++) {
            struct object_info out;
            struct arena arena = {0};

            bytes.bytes[i] = tries[k];
            refused += object_info_read(bytes.bytes, bytes.size, &arena, &out,
                                        NULL) != KILN_OK;
            arena_fini(&arena);
        }
        bytes.bytes[i] = old;
    }
    assert_true(refused > 500);
    buffer_fini(&bytes);
}

static void a_huge_count_takes_no_memory(void **state)
{
    struct object_info in = sample_info();
    struct buffer bytes = {0};
    struct object_info out;
    struct arena arena = {0};
    struct kiln_error err;
    const uint32_t many = 0xffffffff;

    (void)state;
    in.kernel_count = 0;
    in.variable_count = 0;
    in.ref_count = 0;
    object_info_write(&in, &bytes);
    memcpy(bytes.bytes + bytes.size - 4, &many, 4); /* refs */
    assert_int_equal(
        object_info_read(bytes.bytes, bytes.size, &arena, &out, &err),
        KILN_E_FORMAT);
    assert_non_null(strstr(err.text, "4294967295 references"));
    assert_true(arena.total < 65536);
    arena_fini(&arena);
    buffer_fini(&bytes);
}

static void refused_with(struct object_info *in, const char *words)
{
    struct buffer bytes = {0};
    struct object_info out;
    struct arena arena = {0};
    struct kiln_error err;

    object_info_write(in, &bytes);
    assert_int_equal(
        object_info_read(bytes.bytes, bytes.size, &arena, &out, &err),
        KILN_E_FORMAT);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
    arena_fini(&arena);
    buffer_fini(&bytes);
}

static void contradictions_are_named(void **state)
{
    struct object_info in = sample_info();
    struct object_kernel kernel = in.kernels[0];
    struct object_param param = {36, 8, 4, 0};
    struct object_variable variable = in.variables[0];
    const struct object_ref ref = {17, 0};

    (void)state;
    kernel.params = &param;
    kernel.param_count = 1;
    in.kernels = &kernel;
    in.kernel_count = 1;
    refused_with(&in, "parameter 0: 8 bytes at 36");
    param.offset = 32;
    kernel.max_threads = 1025;
    refused_with(&in, "1025 threads");
    kernel.max_threads = 1;
    kernel.flags = 64;
    refused_with(&in, "flags 0x40");
    kernel.flags = OBJECT_KERNEL_RESUME;
    kernel.frame_bytes = 100;
    refused_with(&in, "frames of 100 bytes");
    kernel.flags = 0;
    kernel.chunk_lanes = 12;
    refused_with(&in, "chunks of 12 lanes");
    kernel.chunk_lanes = 16;
    variable.offset = 9;
    in.variables = &variable;
    in.variable_count = 1;
    refused_with(&in, "variable table: 16 bytes at 9");
    variable.offset = 8;
    in.refs = &ref;
    refused_with(&in, "reference 0 at 17");
}

static void another_host_or_build_is_refused(void **state)
{
    struct object_info in = sample_info();
    struct kiln_error err;

    (void)state;
    assert_int_equal(object_check(&in, "build-1", &err), 0);
    assert_int_equal(object_check(&in, "build-2", &err), KILN_E_NO_BINARY);
    assert_non_null(strstr(err.text, "build-1"));
    in.features = "sse2,sse9.9";
    assert_int_equal(object_check(&in, "build-1", &err), KILN_E_NO_BINARY);
    assert_non_null(strstr(err.text, "sse9.9"));
    in.features = object_host_features();
    assert_int_equal(object_check(&in, "build-1", &err), 0);
    in.features = "";
    in.abi++;
    assert_int_equal(object_check(&in, "build-1", &err), KILN_E_NO_BINARY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_gives_back_what_was_written),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(every_changed_byte_is_survived),
        cmocka_unit_test(a_huge_count_takes_no_memory),
        cmocka_unit_test(contradictions_are_named),
        cmocka_unit_test(another_host_or_build_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
