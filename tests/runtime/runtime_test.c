/* SPDX-License-Identifier: MIT
 *
 * The runtime against a driver that counts: what is asked, and when.
 * KILN_DRIVER and FAKE_LIBRARY name that driver.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake_driver.h"
#include "runtime/api.h"

static struct fake *fake;

/* A fat binary's wrapper, as a compiler leaves it in a program. */
static struct {
    int magic;
    int version;
    const void *data;
    void *linked;
} wrapper = {0x466243b1, 1, "data", NULL};

static void host_kernel(void)
{
}

static void host_missing(void)
{
}

static void host_unknown(void)
{
}

static char host_variable[16];

static const void *as_data(void (*f)(void))
{
    const void *p;

    memcpy(&p, &f, sizeof p);
    return p;
}

static const dim3 one = {1, 1, 1};

static void **enrol(void)
{
    void **handle = __cudaRegisterFatBinary(&wrapper);

    __cudaRegisterFunction(handle, as_data(host_kernel), NULL, "_Z6kernelv", -1,
                           NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFunction(handle, as_data(host_missing), NULL, "_Z7missingv",
                           -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterVar(handle, host_variable, NULL, "variable", 0, 16, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    return handle;
}

/* First, while nothing has opened the driver. */
static void registration_touches_no_driver(void **state)
{
    void **handle = enrol();

    (void)state;
    assert_null(dlopen(getenv("FAKE_LIBRARY"), RTLD_LAZY | RTLD_NOLOAD));
    __cudaUnregisterFatBinary(handle);
    assert_null(dlopen(getenv("FAKE_LIBRARY"), RTLD_LAZY | RTLD_NOLOAD));
}

static int find_fake(void **state)
{
    void *lib = dlopen(getenv("FAKE_LIBRARY"), RTLD_LAZY);
    void *symbol = lib ? dlsym(lib, "fake_record") : NULL;
    fake_record_fn *get;

    (void)state;
    memcpy(&get, &symbol, sizeof get);
    fake = symbol ? get() : NULL;
    cudaGetLastError();
    return fake ? 0 : -1;
}

static void the_first_launch_loads_the_wrapper_once(void **state)
{
    void **handle = enrol();
    const dim3 grid = {2, 3, 4};
    const dim3 block = {8, 4, 2};
    const int loads = fake->loads;

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(
            cudaLaunchKernel(as_data(host_kernel), grid, block, NULL, 96, NULL),
            cudaSuccess);
    assert_int_equal(fake->loads, loads + 1);
    assert_ptr_equal(fake->code, &wrapper);
    assert_int_equal(fake->launches, 3);
    assert_memory_equal(fake->shape, ((unsigned[]){2, 3, 4, 8, 4, 2}),
                        sizeof fake->shape);
    assert_int_equal(fake->shared, 96);
    __cudaUnregisterFatBinary(handle);
    assert_int_equal(fake->unloads, 1);
    /* Gone with its module. */
    assert_int_equal(
        cudaLaunchKernel(as_data(host_kernel), grid, block, NULL, 0, NULL),
        cudaErrorInvalidDeviceFunction);
}

static void a_handle_launches_as_its_function_does(void **state)
{
    void **handle = enrol();
    cudaKernel_t kernel = NULL;
    const int launches = fake->launches;

    (void)state;
    assert_int_equal(__cudaGetKernel(&kernel, as_data(host_kernel)),
                     cudaSuccess);
    assert_non_null(kernel);
    assert_int_equal(__cudaLaunchKernel(kernel, one, one, NULL, 0, NULL),
                     cudaSuccess);
    assert_null(fake->stream);
    assert_int_equal(__cudaLaunchKernel_ptsz(kernel, one, one, NULL, 0, NULL),
                     cudaSuccess);
    assert_ptr_equal(fake->stream, CU_STREAM_PER_THREAD);
    assert_int_equal(cudaLaunchKernel(kernel, one, one, NULL, 0, NULL),
                     cudaSuccess);
    assert_int_equal(fake->launches, launches + 3);
    __cudaUnregisterFatBinary(handle);
}

static void failures_are_named_and_remembered(void **state)
{
    void **handle = enrol();
    const dim3 none = {0, 1, 1};
    const dim3 large = {2048, 1, 1};
    cudaKernel_t kernel = NULL;
    const int launches = fake->launches;

    (void)state;
    assert_int_equal(
        cudaLaunchKernel(as_data(host_unknown), one, one, NULL, 0, NULL),
        cudaErrorInvalidDeviceFunction);
    assert_int_equal(cudaLaunchKernel(NULL, one, one, NULL, 0, NULL),
                     cudaErrorInvalidDeviceFunction);
    assert_int_equal(
        cudaLaunchKernel(as_data(host_kernel), none, one, NULL, 0, NULL),
        cudaErrorInvalidConfiguration);
    assert_int_equal(
        cudaLaunchKernel(as_data(host_kernel), one, large, NULL, 0, NULL),
        cudaErrorInvalidConfiguration);
    assert_int_equal(cudaPeekAtLastError(), cudaErrorInvalidConfiguration);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidConfiguration);
    assert_int_equal(cudaGetLastError(), cudaSuccess);
    /* Generated code ignores this error and launches handle 0. */
    assert_int_equal(__cudaGetKernel(&kernel, as_data(host_missing)),
                     cudaErrorSymbolNotFound);
    cudaGetLastError();
    assert_int_equal(__cudaLaunchKernel(kernel, one, one, NULL, 0, NULL),
                     cudaErrorSymbolNotFound);
    assert_int_equal(fake->launches, launches);
    /* Not ready is an answer. */
    cudaGetLastError();
    assert_int_equal(cudaStreamQuery(NULL), cudaErrorNotReady);
    assert_int_equal(cudaGetLastError(), cudaSuccess);
    __cudaUnregisterFatBinary(handle);
}

static void a_failed_load_is_tried_again(void **state)
{
    void **handle = enrol();

    (void)state;
    fake->fail_load = CUDA_ERROR_NO_BINARY_FOR_GPU;
    assert_int_equal(
        cudaLaunchKernel(as_data(host_kernel), one, one, NULL, 0, NULL),
        cudaErrorNoKernelImageForDevice);
    fake->fail_load = 0;
    assert_int_equal(
        cudaLaunchKernel(as_data(host_kernel), one, one, NULL, 0, NULL),
        cudaSuccess);
    __cudaUnregisterFatBinary(handle);
}

static void configurations_nest(void **state)
{
    const dim3 outer = {7, 1, 1};
    const dim3 inner = {9, 1, 1};
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;

    (void)state;
    assert_int_equal(__cudaPushCallConfiguration(outer, one, 1, NULL), 0);
    assert_int_equal(__cudaPushCallConfiguration(inner, one, 2, NULL), 0);
    assert_int_equal(
        __cudaPopCallConfiguration(&grid, &block, &shared, &stream),
        cudaSuccess);
    assert_int_equal(grid.x, 9);
    assert_int_equal(shared, 2);
    assert_int_equal(
        __cudaPopCallConfiguration(&grid, &block, &shared, &stream),
        cudaSuccess);
    assert_int_equal(grid.x, 7);
    assert_int_equal(
        __cudaPopCallConfiguration(&grid, &block, &shared, &stream),
        cudaErrorMissingConfiguration);
}

static void *other_thread(void *data)
{
    int *seen = data;
    int device = -1;

    cudaGetDevice(&device);
    seen[0] = device;
    cudaSetDevice(1);
    cudaLaunchKernel(as_data(host_kernel), one, one, NULL, 0, NULL);
    cudaGetDevice(&device);
    seen[1] = device;
    seen[2] = (int)cudaSetDevice(2);
    return NULL;
}

static void each_thread_has_its_own_device_and_error(void **state)
{
    void **handle = enrol();
    int seen[3] = {-1, -1, -1};
    int device = -1;
    pthread_t thread;

    (void)state;
    cudaGetLastError();
    assert_int_equal(cudaSetDevice(0), cudaSuccess);
    assert_int_equal(pthread_create(&thread, NULL, other_thread, seen), 0);
    pthread_join(thread, NULL);
    assert_int_equal(seen[0], 0);
    assert_int_equal(seen[1], 1);
    assert_int_equal(seen[2], cudaErrorInvalidDevice);
    assert_int_equal(fake->device, 1);
    assert_int_equal(cudaGetDevice(&device), cudaSuccess);
    assert_int_equal(device, 0);
    assert_int_equal(cudaGetLastError(), cudaSuccess);
    __cudaUnregisterFatBinary(handle);
}

static void memory_and_symbols_reach_the_driver(void **state)
{
    void **handle = enrol();
    void *p = NULL;
    char out[16] = "";
    size_t size = 0;

    (void)state;
    assert_int_equal(cudaMalloc(&p, 16), cudaSuccess);
    assert_int_equal(
        cudaMemcpy(p, "0123456789abcde", 16, cudaMemcpyHostToDevice),
        cudaSuccess);
    assert_int_equal(cudaMemcpy(out, p, 16, cudaMemcpyDeviceToHost),
                     cudaSuccess);
    assert_string_equal(out, "0123456789abcde");
    assert_int_equal(cudaMemcpy(out, p, 16, (enum cudaMemcpyKind)9),
                     cudaErrorInvalidMemcpyDirection);
    assert_int_equal(cudaFree(p), cudaSuccess);
    assert_int_equal(cudaFree(NULL), cudaSuccess);
    assert_int_equal(cudaMalloc(&p, (size_t)1 << 50),
                     cudaErrorMemoryAllocation);
    assert_int_equal(cudaMalloc(NULL, 1), cudaErrorInvalidValue);
    assert_int_equal(
        cudaMemcpyToSymbol(host_variable, "xyz", 3, 1, cudaMemcpyHostToDevice),
        cudaSuccess);
    assert_memory_equal(fake->variable, "\0xyz", 4);
    assert_int_equal(
        cudaMemcpyToSymbol(host_variable, "xyz", 3, 14, cudaMemcpyHostToDevice),
        cudaErrorInvalidValue);
    assert_int_equal(cudaGetSymbolSize(&size, host_variable), cudaSuccess);
    assert_int_equal(size, 16);
    assert_int_equal(cudaGetSymbolSize(&size, out), cudaErrorInvalidSymbol);
    __cudaUnregisterFatBinary(handle);
}

static void *launch_many(void *data)
{
    int *failed = data;

    for (int i = 0; i < 200; i++)
        *failed |= cudaLaunchKernel(as_data(host_missing), one, one, NULL, 0,
                                    NULL) != cudaErrorSymbolNotFound;
    return NULL;
}

static void threads_load_a_module_once(void **state)
{
    void **handle = enrol();
    const int loads = fake->loads;
    pthread_t threads[4];
    int failed[4] = {0};

    (void)state;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, launch_many, &failed[i]);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(failed[i], 0);
    }
    assert_int_equal(fake->loads, loads + 1);
    __cudaUnregisterFatBinary(handle);
}

static void every_error_has_name_and_text(void **state)
{
    (void)state;
    assert_string_equal(cudaGetErrorName(cudaErrorInvalidPtx),
                        "cudaErrorInvalidPtx");
    assert_string_equal(cudaGetErrorString(cudaSuccess), "no error");
    assert_string_equal(cudaGetErrorName((cudaError_t)12345),
                        "unrecognized error code");
}

int main(void)
{
    const struct CMUnitTest first[] = {
        cmocka_unit_test(registration_touches_no_driver),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_launch_loads_the_wrapper_once),
        cmocka_unit_test(a_handle_launches_as_its_function_does),
        cmocka_unit_test(failures_are_named_and_remembered),
        cmocka_unit_test(a_failed_load_is_tried_again),
        cmocka_unit_test(configurations_nest),
        cmocka_unit_test(each_thread_has_its_own_device_and_error),
        cmocka_unit_test(memory_and_symbols_reach_the_driver),
        cmocka_unit_test(threads_load_a_module_once),
        cmocka_unit_test(every_error_has_name_and_text),
    };
    int failed = cmocka_run_group_tests(first, NULL, NULL);

    return failed + cmocka_run_group_tests(tests, find_fake, NULL);
}
