/* SPDX-License-Identifier: MIT
 *
 * alloca in kernels and functions, against arrays of the host.
 */
#include <stdlib.h>

#include "api.h"

enum { THREADS = 96, VALUES = 64 };

static int doubled(int n, const int *q)
{
    int s = 0;

    if (n % 3 == 1)
        return q[n - 1] * 2;
    for (int i = n - 1; i >= 0; i--)
        s += q[i] * 2 * i;
    return s;
}

static int deeper(int n, int seed)
{
    const int kept = seed + n % 7;

    return n ? seed + deeper(n - 1, seed + 1) + kept : seed;
}

static void pieces(CUmodule m)
{
    CUdeviceptr q = 0, out = 0;
    CUfunction f = NULL;
    int values[VALUES], found[THREADS], bad = 0, n = 9, rounds = 200;
    void *args[] = {&q, &out, &n, &rounds};

    for (int i = 0; i < VALUES; i++)
        values[i] = i * 7 % 31 - 11;
    OK(cuModuleGetFunction(&f, m, "pieces"));
    OK(cuMemAlloc_v2(&q, sizeof values));
    OK(cuMemAlloc_v2(&out, sizeof found));
    OK(cuMemcpyHtoD_v2(q, values, sizeof values));
    OK(cuLaunchKernel(f, 1, 1, 1, THREADS, 1, 1, 0, NULL, args, NULL));
    OK(cuMemcpyDtoH_v2(found, out, sizeof found));
    for (int t = 0; t < THREADS; t++) {
        int s = 0;

        for (int i = 0; i < rounds; i++)
            s += doubled(n + i % 5 + t % 4, values);
        s += deeper(t % 30, s);
        bad += found[t] != t % 5 + s;
    }
    CHECK_SAYS(!bad, "%d of %d threads find another sum", bad, THREADS);
    OK(cuMemFree_v2(q));
    OK(cuMemFree_v2(out));
}

static void too_much(CUmodule m, int n, CUresult wanted)
{
    CUdeviceptr out = 0;
    CUfunction f = NULL;
    void *args[] = {&out, &n};

    OK(cuModuleGetFunction(&f, m, "too_much"));
    OK(cuMemAlloc_v2(&out, THREADS * sizeof(int)));
    OK(cuLaunchKernel(f, 1, 1, 1, THREADS, 1, 1, 0, NULL, args, NULL));
    IS(cuCtxSynchronize(), wanted);
}

int main(void)
{
    char *text;
    CUmodule m = NULL;

    test_start();
    test_need_compiler();
    text = test_read_file(TEST_DATA "/stack.ptx");
    OK(cuModuleLoadData(&m, text));
    pieces(m);
    too_much(m, 4000, CUDA_SUCCESS);
    if (is_kiln) /* where a GPU has its limit is the driver's matter */
        too_much(m, 5000, CUDA_ERROR_LAUNCH_FAILED);
    free(text);
    return test_end();
}
