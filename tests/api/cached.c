/* SPDX-License-Identifier: MIT
 *
 * What a cache hit costs: run twice by cached.sh. Prints whether the compiler
 * is mapped into the process after a load; in one process the second load
 * compiles nothing, even without a store.
 */
#include <stdio.h>
#include <string.h>

#include "api.h"

static int mapped(const char *what)
{
    FILE *f = fopen("/proc/self/maps", "re");
    char line[4096];
    int found = 0;

    while (f && fgets(line, sizeof line, f))
        found |= strstr(line, what) != NULL;
    if (f)
        fclose(f);
    return found;
}

static float load(void)
{
    CUjit_option wall = CU_JIT_WALL_TIME;
    void *value = NULL;
    CUmodule m;
    float ms;

    OK(cuModuleLoadDataEx(&m, ptx_saxpy, 1, &wall, &value));
    memcpy(&ms, &value, sizeof ms);
    OK(cuModuleUnload(m));
    return ms;
}

int main(int argc, char **argv)
{
    CUcontext context = test_start();
    int want = argc > 1 && !strcmp(argv[1], "compiles");
    float first;
    float second;

    if (argc < 2)
        test_need_compiler();
    first = load();
    second = load();
    printf("     first load %.2f ms, second %.2f ms\n", (double)first,
           (double)second);
    if (argc > 1) {
        CHECK_SAYS(mapped("ptxjit") == want, "compiler plugin %smapped",
                   want ? "" : "not ");
        CHECK_SAYS(mapped("LLVM") == want, "LLVM %smapped", want ? "" : "not ");
    }
    if (want)
        CHECK_SAYS(second < first / 2, "the second load compiles nothing");
    OK(cuCtxDestroy_v2(context));
    return test_end();
}
