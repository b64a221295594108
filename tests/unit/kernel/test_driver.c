/* SPDX-License-Identifier: MIT
 *
 * Opening drivers, on stand-ins: which one is taken, what is said when none
 * can be.
 */
#include "../compile/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"

static int setup(void **state)
{
    (void)state;
    setenv("KILN_NVIDIA_DRIVER", STANDIN_NVIDIA_FILE, 1);
    setenv("KILN_CPU_DRIVER", STANDIN_CPU_FILE, 1);
    unsetenv("STANDIN");
    return 0;
}

static void every_entry_point_is_asked_for_by_its_own_version(void **state)
{
    struct driver d;

    (void)state;
    assert_int_equal(driver_open_nvidia(&d, NULL), KILN_OK);
    assert_int_equal(d.kind, DRIVER_NVIDIA);
    assert_int_equal(d.version, 12040);
    assert_non_null(d.cuLaunchKernel);
    assert_non_null(strstr(d.file, "standin"));
}

static void an_optional_entry_point_that_is_missing_is_null(void **state)
{
    struct driver d;

    (void)state;
    assert_int_equal(driver_open_nvidia(&d, NULL), KILN_OK);
    assert_null(d.cuFuncGetParamInfo);
    assert_null(d.cuLibraryLoadData);
}

static void a_driver_without_a_required_one_is_refused_by_name(void **state)
{
    struct kiln_error err;
    struct driver d;

    (void)state;
    setenv("STANDIN", "missing=cuLaunchKernel", 1);
    assert_int_equal(driver_open_nvidia(&d, &err), KILN_E_NO_DRIVER);
    assert_non_null(strstr(err.text, "no cuLaunchKernel (version 4000)"));
}

static void kilns_own_driver_is_known_by_its_extra_entry_point(void **state)
{
    struct kiln_error err;
    struct driver d;

    (void)state;
    assert_int_equal(driver_open_cpu(&d, NULL), KILN_OK);
    assert_int_equal(d.kind, DRIVER_CPU);
    assert_string_equal(d.text, "stand-in, none");
    setenv("KILN_NVIDIA_DRIVER", STANDIN_CPU_FILE, 1);
    assert_int_equal(driver_open_nvidia(&d, &err), KILN_E_NO_DRIVER);
    assert_non_null(strstr(err.text, "Kiln's CPU driver"));
    setenv("KILN_CPU_DRIVER", STANDIN_NVIDIA_FILE, 1);
    assert_int_equal(driver_open_cpu(&d, &err), KILN_E_NO_DRIVER);
    assert_non_null(strstr(err.text, "not Kiln's CPU driver"));
}

static void nvidia_comes_first_and_the_cpu_where_it_has_no_device(void **state)
{
    struct driver d;

    (void)state;
    assert_int_equal(driver_open_default(&d, NULL), KILN_OK);
    assert_int_equal(d.kind, DRIVER_NVIDIA);
    setenv("KILN_NVIDIA_DRIVER", "/nonexistent", 1);
    assert_int_equal(driver_open_default(&d, NULL), KILN_OK);
    assert_int_equal(d.kind, DRIVER_CPU);
}

static void an_error_of_the_driver_keeps_its_name_and_number(void **state)
{
    struct kiln_error err;
    struct driver d;

    (void)state;
    setenv("STANDIN", "nodevice", 1);
    assert_int_equal(driver_open_nvidia(&d, &err), KILN_E_NO_DEVICE);
    assert_non_null(strstr(err.text, "CUDA_ERROR_NO_DEVICE (100)"));
    /* The CPU stand-in has no device either: both are told of. */
    assert_int_not_equal(driver_open_default(&d, &err), KILN_OK);
    assert_non_null(strstr(err.text, "NVIDIA: "));
    assert_non_null(strstr(err.text, "CPU: "));
}

static void a_device_past_the_last_is_refused_with_their_number(void **state)
{
    struct driver_device device;
    struct kiln_error err;
    struct driver d;

    (void)state;
    assert_int_equal(driver_open_nvidia(&d, NULL), KILN_OK);
    assert_int_equal(driver_device_get(&d, 1, &device, NULL), KILN_OK);
    assert_string_equal(device.name, "stand-in 1");
    assert_int_equal(driver_device_get(&d, 2, &device, &err), KILN_E_NO_DEVICE);
    assert_non_null(strstr(err.text, "2 devices"));
    assert_int_equal(driver_device_get(&d, -1, &device, NULL),
                     KILN_E_NO_DEVICE);
}

static void a_scope_restores_what_was_current(void **state)
{
    CUcontext mine = (CUcontext)(uintptr_t)0x77, now = NULL;
    struct driver_scope scope = {0};
    struct driver d;

    (void)state;
    assert_int_equal(driver_open_nvidia(&d, NULL), KILN_OK);
    d.cuCtxSetCurrent(mine);
    assert_int_equal(
        driver_scope_begin(&scope, &d, (CUcontext)(uintptr_t)0x88, NULL),
        KILN_OK);
    d.cuCtxGetCurrent(&now);
    assert_ptr_equal(now, (void *)0x88);
    driver_scope_end(&scope);
    driver_scope_end(&scope);
    d.cuCtxGetCurrent(&now);
    assert_ptr_equal(now, mine);
    d.cuCtxSetCurrent(NULL);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup(name, setup)
    const struct CMUnitTest tests[] = {
        T(every_entry_point_is_asked_for_by_its_own_version),
        T(an_optional_entry_point_that_is_missing_is_null),
        T(a_driver_without_a_required_one_is_refused_by_name),
        T(kilns_own_driver_is_known_by_its_extra_entry_point),
        T(nvidia_comes_first_and_the_cpu_where_it_has_no_device),
        T(an_error_of_the_driver_keeps_its_name_and_number),
        T(a_device_past_the_last_is_refused_with_their_number),
        T(a_scope_restores_what_was_current),
    };
#undef T

    return cmocka_run_group_tests(tests, NULL, NULL);
}
