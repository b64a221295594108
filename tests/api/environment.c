/* SPDX-License-Identifier: MIT
 *
 * What the environment changes: no compiler, the JIT disabled, another device
 * and driver version, loading modes. Runs itself anew for each, on the CPU
 * driver only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.h"

static CUresult load(char *log, unsigned size)
{
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)size};
    CUmodule module = NULL;
    CUresult result =
        cuModuleLoadDataEx(&module, ptx_saxpy, 2, options, values);

    if (!result)
        OK(cuModuleUnload(module));
    return result;
}

static void no_compiler(void)
{
    char log[1000] = "";

    IS(load(log, sizeof log), CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
    CHECK_SAYS(strstr(log, "/no/such/plugin.so") != NULL,
               "the log names the file: %s", log);
}

static void jit_disabled(void)
{
    char log[1000] = "";

    IS(load(log, sizeof log), CUDA_ERROR_JIT_COMPILATION_DISABLED);
}

static int attribute(CUdevice_attribute what)
{
    int value = -1;

    OK(cuDeviceGetAttribute(&value, what, 0));
    return value;
}

static void capability(void)
{
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) == 8);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) == 6);
}

static void default_capability(void)
{
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) == 12);
    CHECK(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) == 1);
}

static void target_above(void)
{
    static const char ptx[] = ".version 7.8\n.target sm_90\n"
                              ".address_size 64\n"
                              ".visible .entry k() { ret; }\n";
    CUmodule module;

    IS(cuModuleLoadData(&module, ptx), CUDA_ERROR_INVALID_PTX);
}

static void loading_mode(int wanted)
{
    CUmoduleLoadingMode mode = (CUmoduleLoadingMode)0;

    OK(cuModuleGetLoadingMode(&mode));
    CHECK((int)mode == wanted);
}

static void lazy(void)
{
    loading_mode(CU_MODULE_LAZY_LOADING);
}

static void eager(void)
{
    loading_mode(CU_MODULE_EAGER_LOADING);
}

static void bad_driver_version(void)
{
    int version = 0;

    OK(cuDriverGetVersion(&version));
    CHECK(version == 13000);
}

static const struct {
    const char *name;
    const char *value;
    void (*test)(void);
} cases[] = {
    {"KILN_PTXJIT", "/no/such/plugin.so", no_compiler},
    {"CUDA_DISABLE_PTX_JIT", "1", jit_disabled},
    {"KILN_CPU_CC", "8.6", capability},
    {"KILN_CPU_CC", "nonsense", default_capability},
    {"KILN_CPU_CC", "8.0", target_above},
    {"KILN_CPU_DRIVER_VERSION", "99999", bad_driver_version},
    {"CUDA_MODULE_LOADING", "EAGER", eager},
    {"CUDA_MODULE_LOADING", "eager", lazy},
};

static void again(const char *self, unsigned which)
{
    char number[12];
    int ended = -1;
    pid_t child;

    snprintf(number, sizeof number, "%u", which);
    child = fork();
    if (!child) {
        setenv("CUDA_CACHE_DISABLE", "1", 1);
        setenv(cases[which].name, cases[which].value, 1);
        execl(self, self, number, (char *)NULL);
        _exit(2);
    }
    waitpid(child, &ended, 0);
    CHECK_SAYS(WIFEXITED(ended) && WEXITSTATUS(ended) == 0, "%s=%s",
               cases[which].name, cases[which].value);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        CUcontext context = test_start();

        cases[atoi(argv[1])].test();
        OK(cuCtxDestroy_v2(context));
        return test_end();
    }
    test_open();
    if (!is_kiln) {
        printf("skip these variables are the CPU driver's\n");
        return 77;
    }
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        again(argv[0], i);
    return test_end();
}
