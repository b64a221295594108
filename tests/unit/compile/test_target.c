/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <string.h>

#include "compile/target.h"

static const int nvrtc13[] = {75, 80,  86,  87,  88,  89,
                              90, 100, 103, 110, 120, 121};
enum { COUNT = sizeof nvrtc13 / sizeof *nvrtc13 };

static enum kiln_status choose(const char *asked, int capability, int sass,
                               struct target *out, struct kiln_error *err)
{
    struct compile_device device = {capability, sass};

    return target_choose(asked, &device, nvrtc13, COUNT, "NVRTC 13.0", out,
                         err);
}

static void a_gpu_that_the_compiler_knows_gets_machine_code(void **state)
{
    struct target t;

    (void)state;
    assert_int_equal(choose(NULL, 90, 1, &t, NULL), KILN_OK);
    assert_int_equal(t.kind, COMPILE_CUBIN);
    assert_string_equal(t.name, "sm_90");
}

static void a_newer_gpu_gets_the_newest_ptx(void **state)
{
    struct target t;

    (void)state;
    assert_int_equal(choose(NULL, 125, 1, &t, NULL), KILN_OK);
    assert_int_equal(t.kind, COMPILE_PTX);
    assert_string_equal(t.name, "compute_121");
    assert_int_equal(choose(NULL, 105, 1, &t, NULL), KILN_OK);
    assert_string_equal(t.name, "compute_103");
}

static void the_cpu_device_gets_ptx_even_where_sass_is_known(void **state)
{
    struct target t;

    (void)state;
    assert_int_equal(choose(NULL, 121, 0, &t, NULL), KILN_OK);
    assert_int_equal(t.kind, COMPILE_PTX);
    assert_string_equal(t.name, "compute_121");
    assert_int_equal(choose(NULL, 92, 0, &t, NULL), KILN_OK);
    assert_string_equal(t.name, "compute_90");
}

static void a_device_older_than_the_compiler_is_refused(void **state)
{
    struct kiln_error err;
    struct target t;

    (void)state;
    assert_int_equal(choose(NULL, 70, 1, &t, &err), KILN_E_NO_BINARY);
    assert_non_null(strstr(err.text, "7.0"));
    assert_non_null(strstr(err.text, "makes only 75 80"));
}

static void a_target_by_request_is_taken_or_refused_with_the_list(void **state)
{
    struct kiln_error err;
    struct target t;

    (void)state;
    assert_int_equal(choose("sm_90a", 90, 1, &t, NULL), KILN_OK);
    assert_string_equal(t.name, "sm_90a");
    assert_int_equal(choose("compute_80", 90, 1, &t, NULL), KILN_OK);
    assert_int_equal(t.kind, COMPILE_PTX);
    assert_int_equal(choose("compute_60", 90, 1, &t, &err), KILN_E_INVALID);
    assert_non_null(strstr(err.text, "it makes 75 80"));
    assert_int_equal(choose("sm_90", 121, 0, &t, &err), KILN_E_NO_BINARY);
    assert_non_null(strstr(err.text, "needs compute_90"));
}

static void what_is_no_target_is_refused(void **state)
{
    static const char *const bad[] = {"",
                                      "sm90",
                                      "sm_",
                                      "sm_x",
                                      "sm_90b",
                                      "sm_90aa",
                                      "compute_",
                                      "compute_9999",
                                      "sm_-90",
                                      "90",
                                      "sm_ 90",
                                      "compute_90 ",
                                      "sm_99999999999999999999"};
    struct target t;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(choose(bad[i], 90, 1, &t, NULL), KILN_E_INVALID);
}

static void a_compiler_that_tells_no_list_is_believed(void **state)
{
    struct compile_device device = {90, 1};
    struct target t;

    (void)state;
    assert_int_equal(
        target_choose(NULL, &device, NULL, 0, "NVRTC 11.2", &t, NULL), KILN_OK);
    assert_string_equal(t.name, "sm_90");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gpu_that_the_compiler_knows_gets_machine_code),
        cmocka_unit_test(a_newer_gpu_gets_the_newest_ptx),
        cmocka_unit_test(the_cpu_device_gets_ptx_even_where_sass_is_known),
        cmocka_unit_test(a_device_older_than_the_compiler_is_refused),
        cmocka_unit_test(a_target_by_request_is_taken_or_refused_with_the_list),
        cmocka_unit_test(what_is_no_target_is_refused),
        cmocka_unit_test(a_compiler_that_tells_no_list_is_believed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
