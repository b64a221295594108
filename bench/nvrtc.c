/* SPDX-License-Identifier: MIT
 *
 * CUDA C++ to PTX by NVRTC, opened at run time from the toolkit's folder or
 * the loader's path. One target for all kernels: the highest that this NVRTC
 * knows and the CPU device takes.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

enum { TARGET_MAX = 121 };

typedef struct nvrtc_program *program;
static int (*create)(program *, const char *, const char *, int,
                     const char *const *, const char *const *);
static int (*compile)(program, int, const char *const *);
static int (*log_size)(program, size_t *);
static int (*get_log)(program, char *);
static int (*ptx_size)(program, size_t *);
static int (*get_ptx)(program, char *);
static int (*arch_count)(int *);
static int (*archs)(int *);
static int target;

static int find(void *lib, const char *name, void *slot)
{
    void *f = dlsym(lib, name);

    memcpy(slot, &f, sizeof f);
    return f != NULL;
}

static void *open_any(void)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12",
                                        "libnvrtc.so"};
    const char *home = getenv("CUDA_HOME");
    char path[4096];
    void *lib = NULL;

    for (size_t i = 0; !lib && i < sizeof names / sizeof *names; i++) {
        lib = dlopen(names[i], RTLD_NOW);
        if (!lib) {
            snprintf(path, sizeof path, "%s/lib64/%s",
                     home ? home : "/usr/local/cuda", names[i]);
            lib = dlopen(path, RTLD_NOW);
        }
    }
    return lib;
}

static int start(char *why)
{
    int list[64];
    int count = 0;
    void *lib = open_any();

    if (!lib) {
        snprintf(why, WHY, "no NVRTC found");
        return -1;
    }
    if (!find(lib, "nvrtcCreateProgram", &create) ||
        !find(lib, "nvrtcCompileProgram", &compile) ||
        !find(lib, "nvrtcGetProgramLogSize", &log_size) ||
        !find(lib, "nvrtcGetProgramLog", &get_log) ||
        !find(lib, "nvrtcGetPTXSize", &ptx_size) ||
        !find(lib, "nvrtcGetPTX", &get_ptx) ||
        !find(lib, "nvrtcGetNumSupportedArchs", &arch_count) ||
        !find(lib, "nvrtcGetSupportedArchs", &archs)) {
        snprintf(why, WHY, "NVRTC lacks a function: %s", dlerror());
        return -1;
    }
    if (arch_count(&count) || count > 64 || archs(list))
        count = 0;
    target = 75;
    for (int i = 0; i < count; i++)
        if (list[i] > target && list[i] <= TARGET_MAX)
            target = list[i];
    return 0;
}

char *nvrtc_ptx(const char *source, char *why)
{
    char arch[32];
    const char *const options[] = {arch, "--use_fast_math", "--no-cache"};
    program p = NULL;
    char *text = NULL;
    size_t size = 0;

    if (!target && start(why))
        return NULL;
    snprintf(arch, sizeof arch, "-arch=compute_%d", target);
    if (create(&p, source, "kernels.cu", 0, NULL, NULL)) {
        snprintf(why, WHY, "nvrtcCreateProgram failed");
        return NULL;
    }
    if (compile(p, 3, options)) {
        if (!log_size(p, &size) && (text = calloc(1, size + 1)))
            get_log(p, text);
        snprintf(why, WHY, "NVRTC: %s", text ? text : "no log");
        free(text);
        return NULL;
    }
    if (ptx_size(p, &size) || !(text = calloc(1, size + 1)) ||
        get_ptx(p, text)) {
        snprintf(why, WHY, "nvrtcGetPTX failed");
        return NULL;
    }
    return text;
}
