/* SPDX-License-Identifier: MIT
 *
 * Opening the driver and entering a context. KILN_DRIVER names a driver; else
 * libcuda.so.1 is asked, whoever made it; else the CPU driver beside this
 * library. A driver that is there but too old is refused, not passed over:
 * its owner wants to hear of it.
 */
#include "runtime/start.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/env.h"
#include "base/log.h"

enum { DEVICES_MAX = 64 };

static struct {
    pthread_once_t once;
    pthread_mutex_t lock;
    struct driver driver;
    cudaError_t failed;
    struct kiln_error why;
    _Atomic(const char *) text; /* of why, once the start has failed */
    int retained[DEVICES_MAX];
    CUcontext primary[DEVICES_MAX];
} rt = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local int chosen;

static cudaError_t refuse_old(const char *file, int version)
{
    kiln_fail(&rt.why, KILN_E_NO_DRIVER,
              "%s: the CUDA driver is version %d.%d; this runtime needs %d.%d "
              "or later",
              file, version / 1000, version % 1000 / 10,
              CUDART_DRIVER_NEEDED / 1000, CUDART_DRIVER_NEEDED % 1000 / 10);
    return cudaErrorInsufficientDriver;
}

/* The version comes first: an old driver lacks the very entry point through
 * which the table is filled. 0 when the file cannot say. */
static int version_of(const char *file)
{
    void *library = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
    CUresult (*ask)(int *);
    void *entry;
    int version = 0;

    if (!library)
        return 0;
    entry = dlsym(library, "cuDriverGetVersion");
    memcpy(&ask, &entry, sizeof ask);
    if (entry && ask(&version))
        version = 0;
    return version;
}

static cudaError_t open_file(const char *file)
{
    int version = version_of(file);
    enum kiln_status st;

    if (version && version < CUDART_DRIVER_NEEDED)
        return refuse_old(file, version);
    st = driver_open_file(&rt.driver, file, &rt.why);
    if (!st && rt.driver.version < CUDART_DRIVER_NEEDED)
        return refuse_old(file, rt.driver.version);
    return st ? (cudaError_t)kiln_status_runtime(st) : cudaSuccess;
}

static int has_device(void)
{
    int count = 0;

    return !rt.driver.cuDeviceGetCount(&count) && count > 0;
}

static cudaError_t open_any(void)
{
    const char *named = env_get("KILN_DRIVER");
    int version;
    cudaError_t e;
    enum kiln_status st;

    if (named)
        return open_file(named);
    version = version_of("libcuda.so.1");
    e = open_file("libcuda.so.1");
    if (e == cudaSuccess && has_device())
        return cudaSuccess;
    if (version && version < CUDART_DRIVER_NEEDED)
        return e;
    if (e == cudaSuccess)
        kiln_fail(&rt.why, KILN_E_NO_DEVICE, "%s: no device", rt.driver.file);
    log_line(LOG_INFO, "cudart: libcuda.so.1: %s; trying the CPU driver",
             rt.why.text);
    st = driver_open_cpu(&rt.driver, &rt.why);
    return st ? (cudaError_t)kiln_status_runtime(st) : cudaSuccess;
}

static void start(void)
{
    rt.failed = open_any();
    if (rt.failed) {
        log_line(LOG_WARN, "cudart: %s", rt.why.text);
        atomic_store(&rt.text, rt.why.text);
        return;
    }
    log_line(LOG_INFO, "cudart: driver %s, version %d", rt.driver.file,
             rt.driver.version);
}

const struct driver *rt_driver(cudaError_t *error)
{
    pthread_once(&rt.once, start);
    *error = rt.failed;
    return rt.failed ? NULL : &rt.driver;
}

const char *rt_start_text(void)
{
    return atomic_load(&rt.text);
}

int rt_chosen_device(void)
{
    return chosen;
}

static cudaError_t retain(const struct driver *d, int device, CUcontext *out)
{
    CUdevice handle;
    CUresult result;

    result = d->cuDeviceGet(&handle, device);
    if (result)
        return rt_from_cuda(result);
    pthread_mutex_lock(&rt.lock);
    if (!rt.retained[device]) {
        result = d->cuDevicePrimaryCtxRetain(&rt.primary[device], handle);
        rt.retained[device] = result == CUDA_SUCCESS;
    }
    *out = rt.primary[device];
    pthread_mutex_unlock(&rt.lock);
    return rt_from_cuda(result);
}

cudaError_t rt_use_device(const struct driver *d, int device)
{
    CUcontext context = NULL;
    CUresult result;
    int count = 0;
    cudaError_t e;

    result = d->cuDeviceGetCount(&count);
    if (result)
        return rt_from_cuda(result);
    if (count == 0)
        return cudaErrorNoDevice;
    if (device < 0 || device >= count || device >= DEVICES_MAX)
        return cudaErrorInvalidDevice;
    e = retain(d, device, &context);
    if (e == cudaSuccess)
        e = rt_from_cuda(d->cuCtxSetCurrent(context));
    if (e == cudaSuccess)
        chosen = device;
    return e;
}

void rt_forget_device(int device)
{
    if (device < 0 || device >= DEVICES_MAX)
        return;
    pthread_mutex_lock(&rt.lock);
    rt.retained[device] = 0;
    rt.primary[device] = NULL;
    pthread_mutex_unlock(&rt.lock);
}

const struct driver *rt_enter(cudaError_t *error)
{
    const struct driver *d = rt_driver(error);
    CUcontext current = NULL;

    if (!d)
        return NULL;
    if (!d->cuCtxGetCurrent(&current) && current)
        return d;
    *error = rt_use_device(d, chosen);
    return *error ? NULL : d;
}
