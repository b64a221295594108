/* SPDX-License-Identifier: MIT
 *
 * libkiln by its public header, on a stand-in for NVIDIA's driver: what is
 * checked before the driver sees a launch, and what is told afterwards.
 */
#include "../compile/cmocka_all.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "kiln/kiln.h"

static const char ptx[] = ".version 8.4\n.target sm_90\n.address_size 64\n"
                          ".visible .entry _Z5saxpyfPKfPfi(\n"
                          "\t.param .f32 a,\n"
                          "\t.param .u64 .ptr .align 4 x,\n"
                          "\t.param .u64 .ptr .align 4 y,\n"
                          "\t.param .u32 n\n"
                          ")\n{ ret; }\n"
                          ".visible .entry _Z4axpyIfEvT_(.param .f32 a)\n"
                          "{ ret; }\n"
                          ".visible .entry _Z4axpyIdEvT_(.param .f64 a)\n"
                          "{ ret; }\n"
                          ".visible .entry word(.param .u64 a) { ret; }\n";

struct job {
    struct kiln *kiln;
    struct kiln_image *image;
    struct kiln_library *library;
    struct kiln_kernel *kernel;
    struct kiln_buffer *x, *y;
    uint64_t addresses[2];
    float a;
    int n;
    struct kiln_arg args[4];
    struct kiln_error err;
};

static int setup(void **state)
{
    struct job *j = calloc(1, sizeof *j);
    struct kiln_open_options open = {
        .size = sizeof open, .device = "nvidia", .no_cache = 1};
    struct kiln_source source = {.size = sizeof source,
                                 .name = "k.ptx",
                                 .text = ptx,
                                 .text_size = sizeof ptx - 1};

    setenv("KILN_NVIDIA_DRIVER", STANDIN_NVIDIA_FILE, 1);
    unsetenv("STANDIN");
    *state = j;
    if (kiln_open(&open, &j->kiln, &j->err) ||
        kiln_compile(j->kiln, &source, NULL, &j->image, &j->err) ||
        kiln_load(j->kiln, j->image, NULL, &j->library, &j->err) ||
        kiln_find_kernel(j->library, "saxpy", &j->kernel, &j->err) ||
        kiln_buffer_new(j->kiln, 64, &j->x, &j->err) ||
        kiln_buffer_new(j->kiln, 64, &j->y, &j->err)) {
        printf("%s\n", j->err.text);
        return -1;
    }
    j->addresses[0] = kiln_buffer_address(j->x);
    j->addresses[1] = kiln_buffer_address(j->y);
    j->args[0] = (struct kiln_arg){KILN_ARG_VALUE, sizeof j->a, &j->a};
    j->args[1] = (struct kiln_arg){KILN_ARG_BUFFER, 8, &j->addresses[0]};
    j->args[2] = (struct kiln_arg){KILN_ARG_BUFFER, 8, &j->addresses[1]};
    j->args[3] = (struct kiln_arg){KILN_ARG_VALUE, sizeof j->n, &j->n};
    return 0;
}

static int teardown(void **state)
{
    struct job *j = *state;

    kiln_buffer_free(j->x);
    kiln_buffer_free(j->y);
    kiln_library_free(j->library);
    kiln_image_free(j->image);
    kiln_close(j->kiln);
    free(j);
    return 0;
}

static unsigned launches(void)
{
    void *library = dlopen(STANDIN_NVIDIA_FILE, RTLD_NOW | RTLD_NOLOAD);
    unsigned (*count)(void);
    void *symbol = dlsym(library, "standin_launches");

    memcpy(&count, &symbol, sizeof count);
    dlclose(library);
    return count();
}

static void a_right_launch_reaches_the_driver(void **state)
{
    struct job *j = *state;
    struct kiln_shape shape = {.block = {32, 0, 0}};
    unsigned before = launches();

    assert_int_equal(kiln_launch(j->kernel, &shape, j->args, 4, &j->err),
                     KILN_OK);
    assert_int_equal(launches(), before + 1);
    assert_int_equal(kiln_synchronize(j->kiln, NULL), KILN_OK);
}

static void refused(struct job *j, const struct kiln_shape *shape, size_t count,
                    enum kiln_status status, const char *text)
{
    unsigned before = launches();

    assert_int_equal(kiln_launch(j->kernel, shape, j->args, count, &j->err),
                     status);
    assert_int_equal(kiln_check_launch(j->kernel, shape, j->args, count, NULL),
                     status);
    if (!strstr(j->err.text, text))
        fail_msg("\"%s\" is not in \"%s\"", text, j->err.text);
    assert_int_equal(launches(), before);
}

static void wrong_arguments_are_refused_by_their_number(void **state)
{
    struct job *j = *state;
    struct kiln_shape shape = {.block = {32, 1, 1}};
    double wide = 2;

    refused(j, &shape, 3, KILN_E_ARGUMENT,
            "saxpy of k.ptx takes 4 arguments, 3 given");
    j->args[0] = (struct kiln_arg){KILN_ARG_VALUE, sizeof wide, &wide};
    refused(j, &shape, 4, KILN_E_ARGUMENT, "argument 1 of saxpy");
    j->args[0] = (struct kiln_arg){KILN_ARG_VALUE, sizeof j->a, &j->a};
    j->args[1].kind = KILN_ARG_VALUE;
    refused(j, &shape, 4, KILN_E_ARGUMENT, "argument 2 of saxpy: a value");
    j->args[1].kind = KILN_ARG_BUFFER;
    j->args[3] = j->args[2];
    refused(j, &shape, 4, KILN_E_ARGUMENT, "argument 4 of saxpy");
    j->args[3] = (struct kiln_arg){(enum kiln_arg_kind)7, 4, &j->n};
    refused(j, &shape, 4, KILN_E_ARGUMENT, "neither a value nor a buffer");
    j->args[3] = (struct kiln_arg){KILN_ARG_VALUE, 4, NULL};
    refused(j, &shape, 4, KILN_E_ARGUMENT, "neither a value nor a buffer");
}

static void a_shape_past_a_limit_is_refused_by_the_limit(void **state)
{
    struct job *j = *state;
    struct kiln_shape wide = {.block = {2048, 1, 1}};
    struct kiln_shape many = {.block = {1024, 2, 1}};
    struct kiln_shape kernel = {.block = {1024, 1, 1}};
    struct kiln_shape grid = {.grid = {1, 70000, 1}};
    struct kiln_shape shared = {.shared = 5000};

    refused(j, &wide, 4, KILN_E_INVALID, "block x of 2048");
    refused(j, &many, 4, KILN_E_INVALID, "a block of 2048 threads");
    refused(j, &kernel, 4, KILN_E_RESOURCES, "takes up to 512");
    refused(j, &grid, 4, KILN_E_INVALID, "grid y of 70000");
    refused(j, &shared, 4, KILN_E_INVALID, "5000 bytes of dynamic");
}

static void names_are_found_as_cxx_writes_them_or_as_symbols(void **state)
{
    static const char *const good[] = {"axpy<float>", "axpy< double >",
                                       "_Z4axpyIfEvT_", "word", "::saxpy"};
    struct job *j = *state;
    struct kiln_kernel *k;

    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(kiln_find_kernel(j->library, good[i], &k, NULL),
                         KILN_OK);
    assert_int_equal(kiln_find_kernel(j->library, "axpy", &k, &j->err),
                     KILN_E_NOT_FOUND);
    assert_non_null(strstr(j->err.text, "2 of that name"));
    assert_int_equal(kiln_find_kernel(j->library, "sacpy", &k, &j->err),
                     KILN_E_NOT_FOUND);
    assert_non_null(strstr(j->err.text, "defines saxpy, "));
}

static void a_kernel_tells_its_parameters(void **state)
{
    struct job *j = *state;
    struct kiln_kernel_info info = {.size = sizeof info};
    struct kiln_parameter p;

    assert_int_equal(kiln_get_kernel(j->kernel, &info, NULL), KILN_OK);
    assert_int_equal(info.parameter_count, 4);
    assert_int_equal(info.registers, 40);
    assert_int_equal(kiln_get_parameter(j->kernel, 1, &p, NULL), KILN_OK);
    assert_int_equal(p.pointer, 1);
    assert_int_equal(p.offset, 8);
    assert_int_equal(kiln_get_parameter(j->kernel, 4, &p, NULL),
                     KILN_E_INVALID);
}

static void a_struct_of_an_older_caller_is_filled_no_further(void **state)
{
    struct job *j = *state;
    struct kiln_device device;

    memset(&device, 0x55, sizeof device);
    device.size = offsetof(struct kiln_device, driver_version);
    assert_int_equal(kiln_get_device(j->kiln, &device, NULL), KILN_OK);
    assert_int_equal(device.major, 9);
    assert_int_equal(device.driver_version, 0x55555555);
    device.size = 0;
    assert_int_equal(kiln_get_device(j->kiln, &device, NULL), KILN_E_INVALID);
}

static void a_buffer_is_read_and_written_within_its_bounds(void **state)
{
    struct job *j = *state;
    char in[64], out[64];

    memset(in, 7, sizeof in);
    assert_int_equal(kiln_buffer_write(j->x, 0, in, 64, NULL), KILN_OK);
    assert_int_equal(kiln_buffer_read(j->x, 32, out, 32, NULL), KILN_OK);
    assert_memory_equal(in, out, 32);
    assert_int_equal(kiln_buffer_write(j->x, 1, in, 64, &j->err),
                     KILN_E_INVALID);
    assert_int_equal(kiln_buffer_read(j->x, UINT64_MAX, out, 1, NULL),
                     KILN_E_INVALID);
    assert_int_equal(kiln_buffer_zero(j->x, NULL), KILN_OK);
    assert_int_equal(kiln_buffer_read(j->x, 0, out, 1, NULL), KILN_OK);
    assert_int_equal(out[0], 0);
}

static void the_last_stages_are_kept(void **state)
{
    struct job *j = *state;
    struct kiln_shape shape = {.block = {32, 1, 1}};
    struct kiln_stage stage = {.size = sizeof stage};

    assert_int_equal(kiln_get_stage(j->kiln, 0, &stage, NULL), KILN_OK);
    assert_string_equal(stage.name, "driver");
    for (int i = 0; i < 1500; i++)
        assert_int_equal(kiln_launch(j->kernel, &shape, j->args, 4, NULL),
                         KILN_OK);
    assert_int_equal(kiln_synchronize(j->kiln, NULL), KILN_OK);
    assert_int_equal(kiln_stage_count(j->kiln), 1024);
    assert_int_equal(kiln_get_stage(j->kiln, 0, &stage, NULL), KILN_OK);
    assert_string_equal(stage.name, "launch");
    assert_int_equal(kiln_get_stage(j->kiln, 1023, &stage, NULL), KILN_OK);
    assert_string_equal(stage.name, "sync");
    assert_int_equal(kiln_get_stage(j->kiln, 1024, &stage, NULL),
                     KILN_E_INVALID);
}

static void an_unknown_jit_option_is_refused(void **state)
{
    struct job *j = *state;
    struct kiln_jit_option jit = {"no-such-key", 1};
    struct kiln_load_options load = {
        .size = sizeof load, .jit = &jit, .jit_count = 1};
    struct kiln_library *library;

    assert_int_equal(kiln_load(j->kiln, j->image, &load, &library, &j->err),
                     KILN_E_INVALID);
    assert_non_null(strstr(j->err.text, "no-such-key"));
    jit.key = "opt-level";
    jit.value = 5;
    assert_int_equal(kiln_load(j->kiln, j->image, &load, &library, &j->err),
                     KILN_E_INVALID);
    assert_string_equal(j->err.text, "JIT option opt-level=5: 0 to 4 expected");
    jit.key = kiln_jit_key(0);
    assert_int_equal(kiln_load(j->kiln, j->image, &load, &library, NULL),
                     KILN_OK);
    kiln_library_free(library);
}

static void source_that_is_none_is_refused_before_any_compiler(void **state)
{
    static const char zero[] = "__global__ void k()\0{}";
    struct job *j = *state;
    struct kiln_image *image;
    struct kiln_source source = {.size = sizeof source, .name = "e.cu"};

    assert_int_equal(kiln_compile(j->kiln, &source, NULL, &image, &j->err),
                     KILN_E_SOURCE);
    assert_non_null(strstr(j->err.text, "e.cu: 0 bytes"));
    source.text = " \n\t ";
    source.text_size = 4;
    assert_int_equal(kiln_compile(j->kiln, &source, NULL, &image, &j->err),
                     KILN_E_SOURCE);
    source.text = zero;
    source.text_size = sizeof zero;
    assert_int_equal(kiln_compile(j->kiln, &source, NULL, &image, &j->err),
                     KILN_E_SOURCE);
    assert_non_null(strstr(j->err.text, "zero byte at offset 19"));
    source.kind = KILN_SOURCE_PTX;
    source.text = "hello";
    source.text_size = 5;
    assert_int_equal(kiln_compile(j->kiln, &source, NULL, &image, &j->err),
                     KILN_E_PTX);
}

static void a_device_by_a_wrong_name_is_refused(void **state)
{
    static const char *const names[] = {"gpu",       "nvidia:", "nvidia:x",
                                        "nvidia:-1", "cpu:0",   ""};
    struct kiln *kiln;

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct kiln_open_options open = {.size = sizeof open,
                                         .device = names[i]};

        assert_int_equal(kiln_open(&open, &kiln, NULL), KILN_E_INVALID);
    }
}

/* The whole path; whatever was made is freed. */
static enum kiln_status whole_path(struct kiln_error *err)
{
    struct job j = {.n = 1};
    struct kiln_open_options open = {
        .size = sizeof open, .device = "nvidia", .no_cache = 1};
    struct kiln_source source = {.size = sizeof source,
                                 .name = "k.ptx",
                                 .text = ptx,
                                 .text_size = sizeof ptx - 1};
    struct kiln_shape shape = {.block = {32, 1, 1}};
    enum kiln_status st = kiln_open(&open, &j.kiln, err);
    float a = 1;

    if (!st)
        st = kiln_compile(j.kiln, &source, NULL, &j.image, err);
    if (!st)
        st = kiln_load(j.kiln, j.image, NULL, &j.library, err);
    if (!st)
        st = kiln_find_kernel(j.library, "axpy<float>", &j.kernel, err);
    if (!st)
        st = kiln_buffer_new(j.kiln, 64, &j.x, err);
    if (!st) {
        j.args[0] = (struct kiln_arg){KILN_ARG_VALUE, sizeof a, &a};
        st = kiln_launch(j.kernel, &shape, j.args, 1, err);
    }
    kiln_buffer_free(j.x);
    kiln_library_free(j.library);
    kiln_image_free(j.image);
    kiln_close(j.kiln);
    return st;
}

static void running_out_of_memory_anywhere_is_an_error(void **state)
{
    struct kiln_error err;
    enum kiln_status st = KILN_E_MEMORY;
    long n;

    (void)state;
    setenv("KILN_NVIDIA_DRIVER", STANDIN_NVIDIA_FILE, 1);
    for (n = 0; st && n < 1000; n++) {
        memset(&err, 0, sizeof err);
        kiln_alloc_fail_after(n);
        st = whole_path(&err);
        kiln_alloc_fail_after(-1);
        if (st)
            assert_true(strlen(err.text) > 0);
    }
    assert_int_equal(st, KILN_OK);
    assert_true(n > 10);
}

static void free_functions_take_nothing(void **state)
{
    (void)state;
    kiln_buffer_free(NULL);
    kiln_library_free(NULL);
    kiln_image_free(NULL);
    kiln_close(NULL);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(a_right_launch_reaches_the_driver),
        T(wrong_arguments_are_refused_by_their_number),
        T(a_shape_past_a_limit_is_refused_by_the_limit),
        T(names_are_found_as_cxx_writes_them_or_as_symbols),
        T(a_kernel_tells_its_parameters),
        T(a_struct_of_an_older_caller_is_filled_no_further),
        T(a_buffer_is_read_and_written_within_its_bounds),
        T(the_last_stages_are_kept),
        T(an_unknown_jit_option_is_refused),
        T(source_that_is_none_is_refused_before_any_compiler),
        T(a_device_by_a_wrong_name_is_refused),
        cmocka_unit_test(running_out_of_memory_anywhere_is_an_error),
        cmocka_unit_test(free_functions_take_nothing),
    };
#undef T

    return cmocka_run_group_tests(tests, NULL, NULL);
}
