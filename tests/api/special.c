/* SPDX-License-Identifier: MIT
 *
 * What kernels are told about themselves and find ready: clocks, sizes of
 * shared memory, initialised and managed variables; and lanes that end inside
 * functions.
 */
#include <stdlib.h>
#include <string.h>

#include "api.h"

static CUmodule module;

static CUfunction function(const char *name)
{
    CUfunction f = NULL;

    OK(cuModuleGetFunction(&f, module, name));
    return f;
}

static void run(const char *name, unsigned threads, unsigned dynamic, void *out,
                size_t bytes)
{
    CUdeviceptr p = 0;
    void *args[] = {&p};

    OK(cuMemAlloc_v2(&p, bytes));
    OK(cuMemsetD8_v2(p, 0xee, bytes));
    OK(cuLaunchKernel(function(name), 1, 1, 1, threads, 1, 1, dynamic, NULL,
                      args, NULL));
    OK(cuMemcpyDtoH_v2(out, p, bytes));
    OK(cuMemFree_v2(p));
}

static void clocks_advance(void)
{
    struct {
        uint64_t cycles[2], ns[2];
        uint32_t cycles32, rest;
    } found;

    run("clocks", 1, 0, &found, sizeof found);
    CHECK(found.cycles[1] > found.cycles[0]);
    CHECK(found.ns[1] - found.ns[0] >= 1000000);
    CHECK(found.ns[1] - found.ns[0] < 60000000000);
    CHECK(found.cycles32 != 0);
}

static void lanes_end_inside_functions(void)
{
    uint32_t found[64][2];
    int bad = 0;

    run("exits", 64, 0, found, sizeof found);
    for (uint32_t t = 0; t < 64; t++) {
        const uint32_t wanted = t % 2    ? 0xeeeeeeee
                                : t < 16 ? 2 * t
                                         : 2 * t + 1000;

        bad += found[t][0] != wanted;
        bad += found[t][1] != (t % 2 ? 0xeeeeeeee : 0x55555555);
    }
    CHECK(!bad);
}

static void shared_memory_is_as_large_as_asked(void)
{
    const unsigned large = 90 * 1024;
    CUfunction f = function("large_shared");
    CUdeviceptr p = 0;
    void *args[] = {&p};
    uint32_t found[4];

    run("large_shared", 32, 4096, found, sizeof found);
    CHECK(found[0] == 4096 && found[1] >= 5120 && found[2] >= 5120);
    CHECK(found[3] == 77);
    OK(cuMemAlloc_v2(&p, 16));
    IS(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, large, NULL, args, NULL),
       CUDA_ERROR_INVALID_VALUE);
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                          (int)large));
    OK(cuMemFree_v2(p));
    run("large_shared", 32, large, found, sizeof found);
    CHECK(found[0] == large && found[1] >= large + 1024);
    CHECK(found[3] == 77);
}

static void variables_hold_values_and_addresses(void)
{
    static const uint32_t wanted[8] = {7, 3, 5, 7, 3, 4, 7, 5};
    uint32_t found[8];
    CUdeviceptr managed = 0;
    size_t bytes = 0;

    run("variables", 1, 0, found, sizeof found);
    for (size_t i = 0; i < 8; i++)
        CHECK_SAYS(found[i] == wanted[i], "variable %zu holds %u, not %u", i,
                   found[i], wanted[i]);
    OK(cuModuleGetGlobal_v2(&managed, &bytes, module, "shared_with_host"));
    CHECK(bytes == 4);
    OK(cuCtxSynchronize());
    CHECK(*(volatile uint32_t *)(uintptr_t)managed == 6);
    *(volatile uint32_t *)(uintptr_t)managed = 40;
    run("variables", 1, 0, found, sizeof found);
    CHECK(found[7] == 40);
}

int main(void)
{
    char *text;

    test_start();
    test_need_compiler();
    text = test_read_file(TEST_DATA "/special.ptx");
    OK(cuModuleLoadData(&module, text));
    free(text);
    clocks_advance();
    lanes_end_inside_functions();
    shared_memory_is_as_large_as_asked();
    variables_hold_values_and_addresses();
    return test_end();
}
