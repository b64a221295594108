/* SPDX-License-Identifier: MIT
 *
 * Entry points by name and version. Runs itself again as an older driver.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.h"

static CUdriverProcAddressQueryResult status;

static void *find(const char *name, int version, uint64_t flags)
{
    void *f = (void *)(uintptr_t)1;
    CUresult result = cuGetProcAddress_v2(name, &f, version, flags, &status);

    return result ? NULL : f;
}

static void names(void)
{
    CUuuid id = {{1, 2, 3}};
    const void *table = "";
    void *f;

    CHECK(find("cuInit", 13000, 0) == (void *)(uintptr_t)cuInit);
    CHECK(find("cuMemAlloc", 13000, 0) == (void *)(uintptr_t)cuMemAlloc_v2);
    CHECK(status == CU_GET_PROC_ADDRESS_SUCCESS);
    CHECK(find("cuCtxCreate", 3020, 0) == (void *)(uintptr_t)cuCtxCreate_v2);
    CHECK(find("cuCtxCreate", 11040, 0) == (void *)(uintptr_t)cuCtxCreate_v3);
    CHECK(find("cuCtxCreate", 12040, 0) == (void *)(uintptr_t)cuCtxCreate_v3);
    CHECK(find("cuLaunchKernel", 12000, 0) ==
          (void *)(uintptr_t)cuLaunchKernel);
    CHECK(find("cuLaunchKernel", 12000, 2) ==
          (void *)(uintptr_t)cuLaunchKernel_ptsz);
    CHECK(find("cuMemcpyHtoD", 12000, 2) ==
          (void *)(uintptr_t)cuMemcpyHtoD_v2_ptds);
    CHECK(find("cuMemFree", 12000, 2) == (void *)(uintptr_t)cuMemFree_v2);
    CHECK(!find("cuNoSuchFunction", 13000, 0));
    CHECK(status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    CHECK(!find("cuMemAlloc_v2", 13000, 0));
    CHECK(!find("", 0, 0));
    CHECK(!find("cuLibraryLoadData", 11000, 0));
    CHECK(status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    if (is_kiln) { /* NVIDIA's driver crashes */
        IS(cuGetProcAddress_v2(NULL, &f, 13000, 0, NULL),
           CUDA_ERROR_INVALID_VALUE);
        IS(cuGetProcAddress_v2("cuInit", NULL, 13000, 0, NULL),
           CUDA_ERROR_INVALID_VALUE);
    }
    OK(cuGetProcAddress_v2("cuInit", &f, 13000, 0, NULL));
    CHECK(cuGetExportTable(&table, &id) != CUDA_SUCCESS);
}

/* The CPU driver says that what it does not do is not there. */
static void stubs(void)
{
    CHECK(!find("cuGraphCreate", 13000, 0));
    CHECK(status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    CHECK(!find("cuMipmappedArrayCreate", 13000, 0));
}

static int as_older_driver(const char *self)
{
    pid_t child = fork();
    int ended = -1;

    if (!child) {
        setenv("KILN_CPU_DRIVER_VERSION", "12040", 1);
        execl(self, self, "older", (char *)NULL);
        _exit(2);
    }
    waitpid(child, &ended, 0);
    return WIFEXITED(ended) && WEXITSTATUS(ended) == 0;
}

static void older(void)
{
    int version = 0;
    CUcontext context;
    CUmodule module;
    static const char newer[] = ".version 8.5\n.target sm_70\n"
                                ".address_size 64\n"
                                ".visible .entry k() { ret; }\n";

    OK(cuDriverGetVersion(&version));
    CHECK(version == 12040);
    CHECK(find("cuCtxCreate", 13000, 0) == (void *)(uintptr_t)cuCtxCreate_v3);
    CHECK(!find("cuLibraryGetKernelCount", 13000, 0) || version >= 12040);
    CHECK(!find("cuKernelGetLibrary", 13000, 0));
    CHECK(status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    IS(cuModuleLoadData(&module, newer), CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    OK(cuCtxDestroy_v2(context));
}

int main(int argc, char **argv)
{
    test_open();
    if (argc > 1 && !strcmp(argv[1], "older")) {
        older();
        return test_end();
    }
    names();
    if (is_kiln) {
        stubs();
        CHECK_SAYS(as_older_driver(argv[0]), "as a driver of CUDA 12.4");
    }
    return test_end();
}
