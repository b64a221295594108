/* SPDX-License-Identifier: MIT
 *
 * See device.h. Inputs stay on the device until the next kinds of operands.
 */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    const struct fid_inputs *of;
    CUdeviceptr data[FID_IN], out, scratch;
    size_t out_bytes, scratch_bytes;
} kept;

static CUcontext context;

static void must(CUresult result, const char *what)
{
    if (!result)
        return;
    fprintf(stderr, "fidelity: %s: %d (%s)\n", what, (int)result,
            result_name(result));
    exit(2);
}

void device_open(char *name, size_t size)
{
    char device[48] = "";
    int version = 0;

    context = test_start();
    test_need_compiler();
    must(cuDeviceGetName(device, sizeof device, 0), "cuDeviceGetName");
    must(cuDriverGetVersion(&version), "cuDriverGetVersion");
    snprintf(name, size, "%s, CUDA %d.%d", device, version / 1000,
             version % 1000 / 10);
}

static void load(struct loaded *l, const struct fid_case *const *cases,
                 size_t first, size_t count, enum fid_way way)
{
    char log[1024] = "", *text = fid_module(cases + first, count, way);
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    CUmodule module = NULL;
    CUresult result = cuModuleLoadDataEx(&module, text, 2, options, values);

    free(text);
    if (result && count > 1) {
        load(l, cases, first, count / 2, way);
        load(l, cases, first + count / 2, count - count / 2, way);
        return;
    }
    if (result) {
        log[strcspn(log, "\n")] = 0;
        l->why[first] = fid_format("%s: %s", result_name(result), log);
        return;
    }
    l->modules[l->module_count++] = module;
    for (size_t i = 0; i < count; i++) {
        char name[16];

        snprintf(name, sizeof name, "k%zu", i);
        must(cuModuleGetFunction(&l->functions[first + i], module, name),
             "cuModuleGetFunction");
    }
}

void device_load(struct loaded *l, const struct fid_case *const *cases,
                 size_t count, enum fid_way way)
{
    memset(l, 0, sizeof *l);
    load(l, cases, 0, count, way);
}

void device_unload(struct loaded *l)
{
    for (unsigned i = 0; i < l->module_count; i++)
        cuModuleUnload(l->modules[i]); /* fails after a fault */
    for (size_t i = 0; i < sizeof l->why / sizeof *l->why; i++)
        free(l->why[i]);
}

static void need(CUdeviceptr *p, size_t *have, size_t bytes)
{
    if (*have >= bytes)
        return;
    if (*p)
        must(cuMemFree_v2(*p), "cuMemFree");
    must(cuMemAlloc_v2(p, bytes), "cuMemAlloc");
    *have = bytes;
}

void device_forget(void)
{
    for (unsigned s = 0; s < FID_IN; s++) {
        if (kept.data[s])
            must(cuMemFree_v2(kept.data[s]), "cuMemFree");
        kept.data[s] = 0;
    }
    kept.of = NULL;
}

static void upload(const struct fid_inputs *in)
{
    if (kept.of == in)
        return;
    device_forget();
    for (unsigned s = 0; in->kinds[s]; s++) {
        const size_t bytes = in->count * in->bytes[s];

        must(cuMemAlloc_v2(&kept.data[s], bytes), "cuMemAlloc");
        must(cuMemcpyHtoD_v2(kept.data[s], in->data[s], bytes), "cuMemcpyHtoD");
    }
    kept.of = in;
}

uint32_t *device_run(const struct fid_case *c, CUfunction function,
                     const struct fid_inputs *in, enum fid_way way)
{
    const size_t bytes = (size_t)in->count * c->words * 4;
    const unsigned threads = way == FID_UNIFORM ? 1
                             : c->threads       ? c->threads
                                                : 256;
    const unsigned run = way == FID_UNIFORM ? in->edges : in->count;
    unsigned n = in->count;
    uint32_t *out;
    void *args[3 + FID_IN] = {&kept.out, &kept.scratch, &n};
    CUresult result;

    upload(in);
    need(&kept.out, &kept.out_bytes, bytes);
    if (c->scratch)
        need(&kept.scratch, &kept.scratch_bytes, (size_t)n * 64);
    for (unsigned s = 0; s < FID_IN; s++)
        args[3 + s] = &kept.data[s];
    must(cuMemsetD32_v2(kept.out, 0, bytes / 4), "cuMemsetD32");
    if (c->scratch)
        must(cuMemsetD32_v2(kept.scratch, 0, (size_t)n * 16), "cuMemsetD32");
    result = cuLaunchKernel(function, (run + threads - 1) / threads, 1, 1,
                            threads, 1, 1, 0, NULL, args, NULL);
    if (!result)
        result = cuCtxSynchronize();
    if (result) {
        printf("FAIL %s: %d (%s)\n", c->name, (int)result, result_name(result));
        return NULL;
    }
    out = fid_alloc(in->count, c->words * sizeof *out);
    must(cuMemcpyDtoH_v2(out, kept.out, bytes), "cuMemcpyDtoH");
    return out;
}

void device_restart(void)
{
    cuCtxDestroy_v2(context);
    memset(&kept, 0, sizeof kept);
    must(cuCtxCreate_v2(&context, 0, 0), "cuCtxCreate");
}
