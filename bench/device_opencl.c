/* SPDX-License-Identifier: MIT
 *
 * OpenCL: the first platform that the loader finds, which is PoCL where
 * Debian's package is the only one.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "device.h"

#define OPTIONS "-cl-std=CL3.0 -cl-fast-relaxed-math -cl-mad-enable"

static cl_context context;
static cl_command_queue queue;
static cl_device_id device;
static cl_kernel kernel;
static cl_mem buffers[BUFFERS];
static int has_shuffle;

static int fail(char *why, const char *what, int code)
{
    snprintf(why, WHY, "OpenCL: %s (%d)", what, code);
    return -1;
}

static int build(const char *name, const char *options, cl_kernel *out,
                 char *why)
{
    char *words = data_slurp("kernels.cl");
    char *section = data_source(name);
    const char *text[2] = {words, section};
    char log[WHY] = "";
    int e;
    cl_program p = clCreateProgramWithSource(context, 2, text, NULL, &e);

    free(words);
    free(section);
    if (e)
        return fail(why, "clCreateProgramWithSource", e);
    e = clBuildProgram(p, 1, &device, options, NULL, NULL);
    if (e) {
        clGetProgramBuildInfo(p, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1,
                              log, NULL);
        return fail(why, log, e);
    }
    *out = clCreateKernel(p, name, &e);
    return e ? fail(why, "clCreateKernel", e) : 0;
}

static int cl_open(const char *cache, char *why)
{
    cl_platform_id platform;
    cl_kernel start;
    char extensions[8192] = "";
    int e;

    setenv("POCL_CACHE_DIR", cache, 1);
    e = clGetPlatformIDs(1, &platform, NULL);
    if (!e)
        e = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    if (e)
        return fail(why, "no device", e);
    clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof extensions - 1,
                    extensions, NULL);
    has_shuffle = strstr(extensions, "cl_khr_subgroup_shuffle") != NULL;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &e);
    if (!e)
        queue = clCreateCommandQueue(context, device, 0, &e);
    if (e)
        return fail(why, "context", e);
    /* -DSTART keeps this build out of the cache entries of the others. */
    return build("saxpy", OPTIONS " -DSTART", &start, why);
}

static int cl_buffers(const struct kern *k, void **in, void **out, char *why)
{
    int e = 0;

    (void)in;
    for (int j = 0; k->buf[j] && !e; j++)
        buffers[j] =
            clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                           data_bytes(k, j), out[j], &e);
    return e ? fail(why, "buffers", e) : 0;
}

static int cl_load(const struct kern *k, char *why)
{
    const float factor = 0.7f;
    cl_uint a = 0;
    int e = 0;

    if (k->shuffle && !has_shuffle)
        return fail(why, "no sub-group shuffles", 0);
    if (build(k->name, OPTIONS, &kernel, why))
        return -1;
    for (int j = 0; k->buf[j] && !e; j++)
        e = clSetKernelArg(kernel, a++, sizeof buffers[j], &buffers[j]);
    for (int j = 0; j < k->int_count && !e; j++)
        e = clSetKernelArg(kernel, a++, sizeof(int), &k->ints[j]);
    if (k->has_float && !e)
        e = clSetKernelArg(kernel, a++, sizeof factor, &factor);
    return e ? fail(why, "arguments", e) : 0;
}

static int cl_launch(const size_t grid[3], const size_t block[3], char *why)
{
    size_t all[3];
    int e;

    for (int d = 0; d < 3; d++)
        all[d] = grid[d] * block[d];
    e = clEnqueueNDRangeKernel(queue, kernel, 3, NULL, all, block, 0, NULL,
                               NULL);
    if (!e)
        e = clFinish(queue);
    return e ? fail(why, "launch", e) : 0;
}

/* The buffers are the host's own memory, so both are plain. */
static int cl_reset(const struct kern *k, void **in, void **out, char *why)
{
    (void)why;
    for (int j = 0; k->buf[j]; j++)
        if (data_is_reset(k, j))
            memcpy(out[j], in[j], data_bytes(k, j));
    return 0;
}

static int cl_fetch(const struct kern *k, void **out, char *why)
{
    (void)k;
    (void)out;
    (void)why;
    return 0;
}

static int cl_compile(const struct kern *k, const char *cache, char *why)
{
    (void)k;
    (void)cache;
    (void)why;
    return 0;
}

const struct device device_opencl = {"PoCL",  cl_open,   cl_compile, cl_buffers,
                                     cl_load, cl_launch, cl_reset,   cl_fetch};
