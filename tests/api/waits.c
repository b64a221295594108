/* SPDX-License-Identifier: MIT */
#include "waits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static CUmodule module;

CUfunction function(const char *name)
{
    CUfunction f = NULL;

    OK(cuModuleGetFunction(&f, module, name));
    return f;
}

CUdeviceptr words(size_t n)
{
    CUdeviceptr p = 0;

    OK(cuMemAlloc_v2(&p, n * sizeof(unsigned)));
    OK(cuMemsetD32_v2(p, 0, n));
    OK(cuCtxSynchronize()); /* streams that do not wait for it use it */
    return p;
}

unsigned word(CUdeviceptr p, size_t i)
{
    unsigned v = 0;

    OK(cuMemcpyDtoH_v2(&v, p + i * sizeof v, sizeof v));
    return v;
}

void run(const char *name, unsigned blocks, unsigned threads, void **args)
{
    OK(cuLaunchKernel(function(name), blocks, 1, 1, threads, 1, 1, 0, NULL,
                      args, NULL));
    OK(cuCtxSynchronize());
}

int wait_tests(const char *file, const struct wait_test *tests, size_t count,
               int argc, char **argv)
{
    const char *only = argc > 1 ? argv[1] : NULL;
    char *text;

    if (!cuInit)
        test_start();
    test_need_compiler();
    text = test_read_file(file);
    OK(cuModuleLoadData(&module, text));
    free(text);
    for (size_t i = 0; i < count; i++) {
        if (only && strcmp(only, tests[i].name))
            continue;
        printf("%s\n", tests[i].name);
        fflush(stdout);
        tests[i].test();
    }
    return test_end();
}
