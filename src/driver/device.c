/* SPDX-License-Identifier: MIT
 *
 * What a device can do, and making its context current for a while.
 */
#include <string.h>

#include "driver/driver.h"

enum kiln_status driver_device_get(const struct driver *d, int ordinal,
                                   struct driver_device *out,
                                   struct kiln_error *err)
{
    struct driver_device device = {.ordinal = ordinal};
    const struct {
        CUdevice_attribute attribute;
        int *value;
    } wanted[] = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &device.major},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &device.minor},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &device.max_threads},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, &device.max_block[0]},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, &device.max_block[1]},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, &device.max_block[2]},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, &device.max_grid[0]},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, &device.max_grid[1]},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, &device.max_grid[2]},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &device.max_shared},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
         &device.max_shared_optin},
    };
    size_t memory = 0;
    int count = 0;
    CUresult result = d->cuDeviceGetCount(&count);

    if (result)
        return driver_fail(d, result, err, "cuDeviceGetCount");
    if (ordinal < 0 || ordinal >= count)
        return kiln_fail(err, KILN_E_NO_DEVICE,
                         "device %d: the driver %s has %d device%s", ordinal,
                         d->file, count, count == 1 ? "" : "s");
    result = d->cuDeviceGet(&device.handle, ordinal);
    if (result)
        return driver_fail(d, result, err, "cuDeviceGet of %d", ordinal);
    result =
        d->cuDeviceGetName(device.name, (int)sizeof device.name, device.handle);
    if (result)
        return driver_fail(d, result, err, "cuDeviceGetName of %d", ordinal);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        result = d->cuDeviceGetAttribute(wanted[i].value, wanted[i].attribute,
                                         device.handle);
        if (result)
            return driver_fail(d, result, err, "attribute %d of device %d",
                               (int)wanted[i].attribute, ordinal);
    }
    if (device.max_shared_optin < device.max_shared)
        device.max_shared_optin = device.max_shared;
    result = d->cuDeviceTotalMem(&memory, device.handle);
    if (result)
        return driver_fail(d, result, err, "cuDeviceTotalMem of %d", ordinal);
    device.memory = memory;
    *out = device;
    return KILN_OK;
}

enum kiln_status driver_scope_begin(struct driver_scope *scope,
                                    const struct driver *d, CUcontext context,
                                    struct kiln_error *err)
{
    CUresult result = d->cuCtxPushCurrent(context);

    scope->driver = d;
    scope->entered = !result;
    return result ? driver_fail(d, result, err, "cuCtxPushCurrent") : KILN_OK;
}

void driver_scope_end(struct driver_scope *scope)
{
    CUcontext ignored;

    if (scope->entered)
        scope->driver->cuCtxPopCurrent(&ignored);
    scope->entered = 0;
}
