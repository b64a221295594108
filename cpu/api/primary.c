/* SPDX-License-Identifier: MIT
 *
 * The device's primary context: one for everybody, counted.
 */
#include "cpu/api/context.h"
#include "cpu/api/driver.h"

/* Creating and destroying are serialised apart from driver.lock, which those
 * take themselves. */
static pthread_mutex_t change = PTHREAD_MUTEX_INITIALIZER;

API(cuDevicePrimaryCtxRetain, CUcontext *out, CUdevice device)
{
    CUresult result = api_device(device);

    if (result)
        return result;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&change);
    if (!driver.primary.handle)
        driver.primary.handle = handle_new(HANDLE_CONTEXT, NULL);
    if (!driver.primary.handle)
        result = CUDA_ERROR_OUT_OF_MEMORY;
    else if (!driver.primary.context)
        result = context_new(driver.primary.flags, driver.primary.handle,
                             &driver.primary.context);
    if (!result) {
        driver.primary.references++;
        *out = driver.primary.handle;
    }
    pthread_mutex_unlock(&change);
    return result;
}

static void destroy_primary(void)
{
    if (driver.primary.context)
        context_destroy(driver.primary.context);
    driver.primary.context = NULL;
}

API(cuDevicePrimaryCtxRelease_v2, CUdevice device)
{
    CUresult result = api_device(device);

    if (result)
        return result;
    pthread_mutex_lock(&change);
    if (!driver.primary.references)
        result = CUDA_ERROR_INVALID_CONTEXT;
    else if (!--driver.primary.references)
        destroy_primary();
    pthread_mutex_unlock(&change);
    return result;
}

API_ALIAS(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2,
          (CUdevice device), (device))

/* Those who retained it hold a dead context until somebody retains it anew;
 * the handle stays the same. */
API(cuDevicePrimaryCtxReset_v2, CUdevice device)
{
    CUresult result = api_device(device);

    if (result)
        return result;
    pthread_mutex_lock(&change);
    destroy_primary();
    driver.primary.references = 0;
    pthread_mutex_unlock(&change);
    return CUDA_SUCCESS;
}

API_ALIAS(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2,
          (CUdevice device), (device))

API(cuDevicePrimaryCtxSetFlags_v2, CUdevice device, unsigned int flags)
{
    CUresult result = api_device(device);

    if (result)
        return result;
    if (flags & ~(unsigned)CU_CTX_FLAGS_MASK)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&change);
    driver.primary.flags = flags;
    if (driver.primary.context)
        driver.primary.context->flags = flags;
    pthread_mutex_unlock(&change);
    return CUDA_SUCCESS;
}

API_ALIAS(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2,
          (CUdevice device, unsigned int flags), (device, flags))

API(cuDevicePrimaryCtxGetState, CUdevice device, unsigned int *flags,
    int *active)
{
    CUresult result = api_device(device);

    if (result)
        return result;
    if (!flags || !active)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&change);
    *flags = driver.primary.flags;
    *active = driver.primary.context != NULL;
    pthread_mutex_unlock(&change);
    return CUDA_SUCCESS;
}
