/* SPDX-License-Identifier: MIT
 *
 * One kernel on the device, with each seed, twice each. A fault spoils the
 * context; where a new one cannot be had (NVIDIA's driver) the process has
 * to be replaced.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../api/api.h"
#include "run.h"

enum { MEMORY = 4 << 20 };

static struct {
    CUcontext context;
    CUdeviceptr memory[2];
    uint64_t *before, *after;
} own;

static CUresult open_context(void)
{
    CUresult result = cuCtxCreate_v2(&own.context, 0, 0);

    for (int i = 0; !result && i < 2; i++)
        result = cuMemAlloc_v2(&own.memory[i], MEMORY);
    return result;
}

void launch_open(char *name, size_t size)
{
    char device[48] = "";
    int version = 0;

    test_open();
    if (cuInit(0) || cuDeviceGetName(device, sizeof device, 0) ||
        cuDriverGetVersion(&version) || open_context()) {
        fprintf(stderr, "run_kernels: no device\n");
        exit(2);
    }
    snprintf(name, size, "%s, CUDA %d.%d", device, version / 1000,
             version % 1000 / 10);
    own.before = malloc(MEMORY);
    own.after = malloc(MEMORY);
    if (!own.before || !own.after)
        exit(2);
}

static enum run_end end_of(CUresult result)
{
    switch (result) {
    case CUDA_SUCCESS:
        return RUN_SAME;
    case CUDA_ERROR_LAUNCH_TIMEOUT:
        return RUN_LIMIT;
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
        return RUN_FAULT;
    default:
        return RUN_TRAP;
    }
}

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * UINT64_C(0x9fb21c651e98df25);
    return h ^ h >> 32;
}

/* Of what changed, so that addresses which were there before do not count. */
static void digest(struct run *run, size_t units)
{
    uint64_t h = 1;

    run->changed = 0;
    for (size_t i = 0; i < units; i++)
        if (own.before[i] != own.after[i]) {
            h = mix(mix(h, i), own.after[i]);
            run->changed++;
        }
    run->digest = h;
}

/* One launch in memory `which`. The context is good as long as the launch
 * itself was not the error. */
static CUresult once(CUfunction f, const struct packed_kernel *k, unsigned seed,
                     int which, struct run *run)
{
    struct inputs in = {.image = own.before};
    size_t bytes = k->plan.param_bytes;
    void *extra[] = {(void *)1, in.params, (void *)2, &bytes, NULL};
    CUresult result;

    inputs_make(&in, &k->plan, k->key, seed, own.memory[which]);
    result = cuMemcpyHtoD_v2(own.memory[which], in.image, in.units * 8);
    if (result)
        return result;
    result = cuLaunchKernel(f, in.grid[0], in.grid[1], in.grid[2], in.block[0],
                            in.block[1], in.block[2], k->plan.shared, NULL,
                            NULL, extra);
    if (result) {
        run->end = RUN_LAUNCH;
        return result;
    }
    result = cuCtxSynchronize();
    if (!result)
        result = cuMemcpyDtoH_v2(own.after, own.memory[which], in.units * 8);
    run->end = end_of(result);
    if (result)
        return result;
    digest(run, in.units);
    if (run->changed)
        run->end = RUN_CHANGED;
    return result;
}

static CUresult both(CUfunction f, const struct packed_kernel *k, unsigned seed,
                     const struct answer *answer, struct run *run)
{
    struct run first = {0};
    CUresult result = once(f, k, seed, 0, run);

    first = *run;
    if (!result && run->end == RUN_CHANGED)
        result = once(f, k, seed, 1, run);
    if (!result && (first.end != run->end || first.digest != run->digest))
        run->end = RUN_VARIES;
    if (!result && run->end == RUN_CHANGED)
        compare_run(run, &k->plan, answer, own.before, own.after,
                    inputs_size(&k->plan) / 8);
    return result;
}

static CUresult load(const struct packed_kernel *k, CUmodule *module,
                     CUfunction *f, struct run *run)
{
    char log[2048] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    CUresult result;

    *module = NULL;
    result = cuModuleLoadDataEx(module, k->text, 2, options, values);
    if (!result)
        result = cuModuleGetFunction(f, *module, k->name);
    if (!result && k->plan.shared)
        result = cuFuncSetAttribute(
            *f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            (int)k->plan.shared);
    log[strcspn(log, "\n")] = 0;
    snprintf(run->why, sizeof run->why, "%.110s", log);
    return result;
}

int launch_kernel(const struct packed_kernel *k, const struct answers *answers,
                  int finished, struct run *runs, atomic_int *seed)
{
    const struct answer *of[SEEDS];
    CUmodule module = NULL;
    CUfunction f = NULL;
    CUresult result = CUDA_SUCCESS;

    for (unsigned s = 0; s < SEEDS; s++) {
        of[s] = answers_find(answers, k->key, s);
        if (finished && (!of[s] || of[s]->end != RUN_CHANGED))
            continue;
        if (!module && !result)
            result = load(k, &module, &f, runs);
        atomic_store(seed, (int)s);
        if (result) {
            runs[s].end = RUN_REFUSED;
            runs[s].error = (int)result;
            continue;
        }
        runs[s].error = (int)both(f, k, s, of[s], &runs[s]);
        if (!runs[s].error || runs[s].end == RUN_LAUNCH)
            continue;
        /* A fault: everything of the context is gone with it. */
        cuCtxDestroy_v2(own.context);
        if (open_context())
            return -1;
        module = NULL;
    }
    if (module)
        cuModuleUnload(module);
    return 0;
}
