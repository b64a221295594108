/* SPDX-License-Identifier: MIT
 *
 * Runs the kernels of a mutant's object by the CPU driver, on small buffers
 * and for a short time. What they do is of no interest, save that faults and
 * loops without an end are errors of their context.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "driver/cuda_abi.h"
#include "driver/kiln_driver_info.h"
#include "mutants.h"

#define FUNCTIONS(X)                                                           \
    X(cuInit, (unsigned))                                                      \
    X(cuCtxCreate_v2, (CUcontext *, unsigned, CUdevice))                       \
    X(cuCtxDestroy_v2, (CUcontext))                                            \
    X(cuCtxSynchronize, (void))                                                \
    X(cuMemAlloc_v2, (CUdeviceptr *, size_t))                                  \
    X(cuMemsetD8_v2, (CUdeviceptr, unsigned char, size_t))                     \
    X(cuModuleLoadData, (CUmodule *, const void *))                            \
    X(cuModuleUnload, (CUmodule))                                              \
    X(cuModuleEnumerateFunctions, (CUfunction *, unsigned, CUmodule))          \
    X(cuFuncGetParamInfo, (CUfunction, size_t, size_t *, size_t *))            \
    X(cuFuncGetAttribute, (int *, CUfunction_attribute, CUfunction))           \
    X(cuLaunchKernel,                                                          \
      (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
       unsigned, CUstream, void **, void **))
#define DECLARE(name, params) static CUresult(*name) params;
FUNCTIONS(DECLARE)
#undef DECLARE

enum { BUFFER = 1 << 16, PARAMS = 64, PARAM_BYTES = 8192 };

static CUcontext context;
static CUdeviceptr buffer;
static int found;

/* The build that objects for it must name; NULL: no such driver. */
const char *run_open(const char *driver)
{
    static struct kiln_driver_info info = {.struct_size = sizeof info};
    int (*get_info)(struct kiln_driver_info *);
    void *library;

    setenv("KILN_CPU_TIME_LIMIT", "0.1", 1);
    setenv("KILN_CPU_THREADS", "1", 1);
    setenv("KILN_CACHE_DISABLE", "1", 1);
    setenv("KILN_LOG", "error", 1); /* a warning for each limit is too much */
    library = dlopen(driver, RTLD_NOW);
    if (!library) {
        fprintf(stderr, "mutants: %s\n", dlerror());
        return NULL;
    }
    found = 1;
#define FIND(name, params)                                                     \
    found &= (*(void **)&(name) = dlsym(library, #name)) != NULL;
    FUNCTIONS(FIND)
#undef FIND
    *(void **)&get_info = dlsym(library, KILN_DRIVER_INFO_NAME);
    return found && get_info && !get_info(&info) ? info.build : NULL;
}

static CUresult start(void)
{
    CUresult r = cuInit(0);

    if (!r)
        r = cuCtxCreate_v2(&context, 0, 0);
    if (!r)
        r = cuMemAlloc_v2(&buffer, BUFFER);
    return r ? r : cuMemsetD8_v2(buffer, 1, BUFFER);
}

/* Pointers to the buffer where there is room for one, else a small number. */
static CUresult launch(CUfunction f)
{
    static uint64_t room[PARAM_BYTES / 8];
    void *params[PARAMS];
    size_t count = 0, used = 0, offset, size;
    int most = 64;
    unsigned threads;

    while (count < PARAMS && !cuFuncGetParamInfo(f, count, &offset, &size) &&
           used + size / 8 + 1 < PARAM_BYTES / 8) {
        params[count++] = &room[used];
        for (size_t i = 0; i < size / 8; i++)
            room[used + i] = buffer;
        if (size % 8)
            room[used + size / 8] = 48;
        used += size / 8 + 1;
    }
    cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f);
    threads = most < 64 ? (unsigned)most : 64;
    return cuLaunchKernel(f, 2, 1, 1, threads, 1, 1, 0, NULL, params, NULL);
}

/* What a launch or its end may come to. */
static int is_clean(CUresult r)
{
    switch (r) {
    case CUDA_SUCCESS:
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_NOT_SUPPORTED:
        return 1;
    default:
        return 0;
    }
}

static double cpu_seconds(void)
{
    struct timespec t = {0};

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Whether a kernel that was broken off goes on all the same. */
static int is_busy(void)
{
    const struct timespec wait = {.tv_nsec = 50000000};
    const double before = cpu_seconds();

    for (int i = 0; i < 4; i++) {
        const double start = cpu_seconds();

        nanosleep(&wait, NULL);
        if (cpu_seconds() - start < 0.001)
            return 0;
    }
    fprintf(stderr, "mutants: %.3f s of processor time after the end\n",
            cpu_seconds() - before);
    return 1;
}

/* In the child. */
static enum run_outcome run(const void *object)
{
    CUmodule module = NULL;
    CUfunction functions[4] = {NULL};
    enum run_outcome outcome = RAN;
    CUresult r = start();

    if (!r)
        r = cuModuleLoadData(&module, object);
    if (!r)
        r = cuModuleEnumerateFunctions(functions, 4, module);
    if (r) {
        fprintf(stderr, "mutants: the driver says %d of an object\n", (int)r);
        return RAN_BADLY;
    }
    for (int i = 0; i < 4 && functions[i] && outcome == RAN; i++) {
        r = launch(functions[i]);
        if (!r)
            r = cuCtxSynchronize();
        if (!is_clean(r)) {
            fprintf(stderr, "mutants: a launch ends with %d\n", (int)r);
            outcome = RAN_BADLY;
        } else if (r == CUDA_ERROR_LAUNCH_TIMEOUT) {
            outcome = RAN_LONG;
        } else if (r && r != CUDA_ERROR_INVALID_VALUE) {
            outcome = FAULTED;
        }
    }
    cuCtxDestroy_v2(context);
    return outcome != RAN && is_busy() ? RAN_BADLY : outcome;
}

/* A kernel that stores by a register that it never wrote may reach the process
 * itself, which cannot be caught (docs/cpu-driver.md, "Faults"): each is run in
 * a process of its own, and one that a signal ends is counted, no finding. */
enum run_outcome run_object(const void *object, char *why, size_t why_size)
{
    enum { LONGEST_MS = 20000, STEP_MS = 5 };
    const struct timespec step = {.tv_nsec = STEP_MS * 1000000};
    const pid_t child = fork();
    int status = 0, ms = 0;

    if (child == 0)
        _exit((int)run(object));
    if (child < 0)
        return NOT_RUN;
    while (waitpid(child, &status, WNOHANG) == 0) {
        nanosleep(&step, NULL);
        ms += STEP_MS;
        if (ms == LONGEST_MS)
            kill(child, SIGKILL);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) < RAN_BADLY)
        return (enum run_outcome)WEXITSTATUS(status);
    if (ms >= LONGEST_MS)
        snprintf(why, why_size, "its run does not end");
    else if (WIFSIGNALED(status))
        return WILD;
    else
        snprintf(why, why_size, "the driver fails");
    return RAN_BADLY;
}
