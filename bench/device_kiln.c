/* SPDX-License-Identifier: MIT
 *
 * Kiln's CPU device through the driver API alone, as any program uses it:
 * libkiln-cpu.so beside this program's folder, or what KILN_DRIVER names.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data.h"
#include "device.h"
#include "driver/cuda_abi.h"

#define ENTRY_POINTS(X)                                                        \
    X(cuInit, "cuInit", (unsigned))                                            \
    X(cuDeviceGet, "cuDeviceGet", (CUdevice *, int))                           \
    X(retain, "cuDevicePrimaryCtxRetain", (CUcontext *, CUdevice))             \
    X(set_current, "cuCtxSetCurrent", (CUcontext))                             \
    X(synchronize, "cuCtxSynchronize", (void))                                 \
    X(mem_alloc, "cuMemAlloc_v2", (CUdeviceptr *, size_t))                     \
    X(to_device, "cuMemcpyHtoD_v2", (CUdeviceptr, const void *, size_t))       \
    X(to_host, "cuMemcpyDtoH_v2", (void *, CUdeviceptr, size_t))               \
    X(module_load, "cuModuleLoadDataEx",                                       \
      (CUmodule *, const void *, unsigned, CUjit_option *, void **))           \
    X(get_function, "cuModuleGetFunction",                                     \
      (CUfunction *, CUmodule, const char *))                                  \
    X(launch_kernel, "cuLaunchKernel",                                         \
      (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
       unsigned, CUstream, void **, void **))                                  \
    X(error_name, "cuGetErrorName", (CUresult, const char **))

static struct {
#define MEMBER(name, symbol, arguments) CUresult(*name) arguments;
    ENTRY_POINTS(MEMBER)
#undef MEMBER
} cu;

/* Compiled before any kernel, so that the compiler has started. */
static const char start_ptx[] = ".version 7.0\n.target sm_75\n"
                                ".address_size 64\n"
                                ".visible .entry bench_start()\n{\n"
                                "ret;\n}\n";

static CUfunction function;
static CUdeviceptr buffers[BUFFERS];
static struct {
    void *list[BUFFERS + 3];
    int ints[2];
    float factor;
} arguments = {.factor = 0.7f};
static char *ptx;

static int fail(char *why, const char *what, CUresult r, const char *log)
{
    const char *name = "?";

    if (cu.error_name)
        cu.error_name(r, &name);
    snprintf(why, WHY, "Kiln: %s: %s (%d) %s", what, name ? name : "?", (int)r,
             log);
    return -1;
}

static int open_driver(char *why)
{
    static const struct {
        const char *name;
        void *slot;
    } entries[] = {
#define ENTRY(name, symbol, arguments) {symbol, &cu.name},
        ENTRY_POINTS(ENTRY)
#undef ENTRY
    };
    const char *named = getenv("KILN_DRIVER");
    char path[4096] = "";
    char *slash;
    void *lib;

    if (named) {
        snprintf(path, sizeof path, "%s", named);
    } else if (readlink("/proc/self/exe", path, sizeof path - 64) > 0) {
        slash = strrchr(path, '/');
        strcpy(slash ? slash : path, "/../lib/libkiln-cpu.so");
    }
    lib = dlopen(path, RTLD_NOW);
    if (!lib) {
        snprintf(why, WHY, "Kiln: %s", dlerror());
        return -1;
    }
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        void *f = dlsym(lib, entries[i].name);

        if (!f) {
            snprintf(why, WHY, "Kiln: %s has no %s", path, entries[i].name);
            return -1;
        }
        memcpy(entries[i].slot, &f, sizeof f);
    }
    return 0;
}

static int load_module(const char *text, const char *name, CUfunction *out,
                       char *why)
{
    char log[WHY] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    CUmodule module;
    CUresult r = cu.module_load(&module, text, 2, options, values);

    if (r)
        return fail(why, "cuModuleLoadDataEx", r, log);
    r = cu.get_function(out, module, name);
    return r ? fail(why, "cuModuleGetFunction", r, name) : 0;
}

static int kiln_open(const char *cache, char *why)
{
    CUdevice device;
    CUcontext context;
    CUfunction start;
    CUresult r;

    setenv("CUDA_CACHE_PATH", cache, 1);
    setenv("KILN_CACHE_DIR", cache, 1);
    if (open_driver(why))
        return -1;
    r = cu.cuInit(0);
    if (!r)
        r = cu.cuDeviceGet(&device, 0);
    if (!r)
        r = cu.retain(&context, device);
    if (!r)
        r = cu.set_current(context);
    if (r)
        return fail(why, "no context", r, "");
    return load_module(start_ptx, "bench_start", &start, why);
}

/* The PTX stays in the cache's folder for the process that measures a warm
 * start, so that the CUDA compiler is no part of that. */
static int kiln_compile(const struct kern *k, const char *cache, char *why)
{
    char path[4096];
    char *head, *section, *all;
    FILE *f;

    snprintf(path, sizeof path, "%s/%s.ptx", cache, k->name);
    if (!access(path, R_OK)) {
        ptx = data_slurp(path);
        return 0;
    }
    head = data_source(NULL);
    section = data_source(k->name);
    all = malloc(strlen(head) + strlen(section) + 1);
    strcat(strcpy(all, head), section);
    ptx = compile_ptx(all, why);
    free(head);
    free(section);
    free(all);
    if (!ptx)
        return -1;
    f = fopen(path, "w");
    if (f) {
        fputs(ptx, f);
        fclose(f);
    }
    return 0;
}

static int kiln_buffers(const struct kern *k, void **in, void **out, char *why)
{
    int a = 0;
    CUresult r = CUDA_SUCCESS;

    (void)out;
    for (int j = 0; k->buf[j] && !r; j++) {
        r = cu.mem_alloc(&buffers[j], data_bytes(k, j));
        if (!r)
            r = cu.to_device(buffers[j], in[j], data_bytes(k, j));
        arguments.list[a++] = &buffers[j];
    }
    for (int j = 0; j < k->int_count; j++) {
        arguments.ints[j] = k->ints[j];
        arguments.list[a++] = &arguments.ints[j];
    }
    if (k->has_float)
        arguments.list[a++] = &arguments.factor;
    return r ? fail(why, "buffers", r, "") : 0;
}

static int kiln_load(const struct kern *k, char *why)
{
    return load_module(ptx, k->name, &function, why);
}

static int kiln_launch(const size_t grid[3], const size_t block[3], char *why)
{
    CUresult r = cu.launch_kernel(
        function, (unsigned)grid[0], (unsigned)grid[1], (unsigned)grid[2],
        (unsigned)block[0], (unsigned)block[1], (unsigned)block[2], 0, NULL,
        arguments.list, NULL);

    if (!r)
        r = cu.synchronize();
    return r ? fail(why, "launch", r, "") : 0;
}

static int kiln_reset(const struct kern *k, void **in, void **out, char *why)
{
    CUresult r = CUDA_SUCCESS;

    (void)out;
    for (int j = 0; k->buf[j] && !r; j++)
        if (data_is_reset(k, j))
            r = cu.to_device(buffers[j], in[j], data_bytes(k, j));
    return r ? fail(why, "cuMemcpyHtoD", r, "") : 0;
}

static int kiln_fetch(const struct kern *k, void **out, char *why)
{
    CUresult r = CUDA_SUCCESS;

    for (int j = 0; k->buf[j] && !r; j++)
        if (data_is_output(k, j))
            r = cu.to_host(out[j], buffers[j], data_bytes(k, j));
    return r ? fail(why, "cuMemcpyDtoH", r, "") : 0;
}

const struct device device_kiln = {"Kiln",       kiln_open, kiln_compile,
                                   kiln_buffers, kiln_load, kiln_launch,
                                   kiln_reset,   kiln_fetch};
