/* SPDX-License-Identifier: MIT
 *
 * Device management: there is one device, the host CPU.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cpu/api/api.h"
#include "cpu/api/driver.h"
#include "cpu/exec/exec.h"

API(cuDeviceGetCount, int *count)
{
    CUresult result = api_initialized();

    if (result)
        return result;
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    *count = 1;
    return CUDA_SUCCESS;
}

API(cuDeviceGet, CUdevice *device, int ordinal)
{
    CUresult result = api_initialized();

    if (result)
        return result;
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    if (ordinal != 0)
        return CUDA_ERROR_INVALID_DEVICE;
    *device = 0;
    return CUDA_SUCCESS;
}

API(cuDeviceGetName, char *name, int size, CUdevice device)
{
    CUresult result = api_device(device);

    if (result)
        return result;
    if (!name || size <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(name, (size_t)size, "%s", driver_config()->name);
    return CUDA_SUCCESS;
}

API(cuDeviceGetUuid_v2, CUuuid *uuid, CUdevice device)
{
    CUresult result = api_device(device);

    if (result)
        return result;
    if (!uuid)
        return CUDA_ERROR_INVALID_VALUE;
    *uuid = driver_config()->uuid;
    return CUDA_SUCCESS;
}

API_ALIAS(cuDeviceGetUuid, cuDeviceGetUuid_v2, (CUuuid * uuid, CUdevice device),
          (uuid, device))

API(cuDeviceTotalMem_v2, size_t *bytes, CUdevice device)
{
    CUresult result = api_device(device);
    uint64_t unused;
    uint64_t total;

    if (result)
        return result;
    if (!bytes)
        return CUDA_ERROR_INVALID_VALUE;
    exec_memory_info(&unused, &total);
    *bytes = total;
    return CUDA_SUCCESS;
}

/* What the kernel says of the first processor's highest clock, else a figure
 * that programs can divide by. */
static int clock_khz(void)
{
    FILE *f =
        fopen("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "re");
    int khz = 0;

    if (f) {
        if (fscanf(f, "%9d", &khz) != 1)
            khz = 0;
        fclose(f);
    }
    return khz > 0 ? khz : 2000000;
}

static int l2_bytes(void)
{
    long n = sysconf(_SC_LEVEL3_CACHE_SIZE);

    if (n <= 0)
        n = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return n > 0 && n < 0x7fffffff ? (int)n : 1 << 20;
}

API(cuDeviceGetAttribute, int *value, CUdevice_attribute attribute,
    CUdevice device)
{
    CUresult result = api_device(device);
    uint32_t sm = driver_config()->walk.sm;
    int runners;
    int khz = 0;

    if (result)
        return result;
    if (!value || (int)attribute < 1 || attribute >= CU_DEVICE_ATTRIBUTE_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    runners = (int)exec_runners();
    if (attribute == CU_DEVICE_ATTRIBUTE_CLOCK_RATE)
        khz = clock_khz();
    switch (attribute) {
#define ATTRIBUTE(name, answer)                                                \
    case CU_DEVICE_ATTRIBUTE_##name:                                           \
        *value = answer;                                                       \
        break;
#include "cpu/api/attributes.def"
#undef ATTRIBUTE
    default:
        *value = 0;
    }
    return CUDA_SUCCESS;
}

API(cuDeviceComputeCapability, int *major, int *minor, CUdevice device)
{
    CUresult result = api_device(device);

    if (result)
        return result;
    if (!major || !minor)
        return CUDA_ERROR_INVALID_VALUE;
    *major = (int)(driver_config()->walk.sm / 10);
    *minor = (int)(driver_config()->walk.sm % 10);
    return CUDA_SUCCESS;
}

API(cuDeviceGetProperties, CUdevprop *prop, CUdevice device)
{
    CUresult result = api_device(device);

    if (result)
        return result;
    if (!prop)
        return CUDA_ERROR_INVALID_VALUE;
    *prop = (CUdevprop){
        .maxThreadsPerBlock = 1024,
        .maxThreadsDim = {1024, 1024, 64},
        .maxGridSize = {0x7fffffff, 65535, 65535},
        .sharedMemPerBlock = EXEC_MAX_SHARED_DEFAULT,
        .totalConstantMemory = 65536,
        .SIMDWidth = 32,
        .memPitch = 0x7fffffff,
        .regsPerBlock = 65536,
        .clockRate = clock_khz(),
        .textureAlign = 512,
    };
    return CUDA_SUCCESS;
}

/* The CPU is on no PCI bus; programs want an identifier all the same. */
static const char bus_id[] = "0000:00:00.0";

API(cuDeviceGetPCIBusId, char *text, int size, CUdevice device)
{
    CUresult result = api_device(device);

    if (result)
        return result;
    if (!text || size <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(text, (size_t)size, "%s", bus_id);
    return CUDA_SUCCESS;
}

API(cuDeviceGetByPCIBusId, CUdevice *device, const char *text)
{
    CUresult result = api_initialized();
    unsigned domain = 0;
    unsigned bus;
    unsigned slot;
    unsigned function = 0;

    if (result)
        return result;
    if (!device || !text)
        return CUDA_ERROR_INVALID_VALUE;
    if (sscanf(text, "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4) {
        domain = function = 0;
        if (sscanf(text, "%x:%x.%x", &bus, &slot, &function) != 3)
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (domain || bus || slot || function)
        return CUDA_ERROR_INVALID_DEVICE;
    *device = 0;
    return CUDA_SUCCESS;
}

API(cuDeviceGetExecAffinitySupport, int *supported, CUexecAffinityType type,
    CUdevice device)
{
    CUresult result = api_device(device);

    if (result)
        return result;
    if (!supported || type != CU_EXEC_AFFINITY_TYPE_SM_COUNT)
        return CUDA_ERROR_INVALID_VALUE;
    *supported = 0;
    return CUDA_SUCCESS;
}

/* ---- peers: there are none ---- */

API(cuDeviceCanAccessPeer, int *can, CUdevice device, CUdevice peer)
{
    CUresult result = api_device(device);

    if (!result)
        result = api_device(peer);
    if (result)
        return result;
    if (!can)
        return CUDA_ERROR_INVALID_VALUE;
    *can = 0;
    return CUDA_SUCCESS;
}

API(cuDeviceGetP2PAttribute, int *value, CUdevice_P2PAttribute attribute,
    CUdevice device, CUdevice peer)
{
    CUresult result = api_device(device);

    if (!result)
        result = api_device(peer);
    if (result)
        return result;
    (void)attribute;
    /* A device is no peer of itself. */
    return value ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
}

API(cuCtxEnablePeerAccess, CUcontext peer, unsigned int flags)
{
    CUresult result = api_initialized();

    if (result)
        return result;
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    return handle_get(peer, HANDLE_CONTEXT) ? CUDA_ERROR_PEER_ACCESS_UNSUPPORTED
                                            : CUDA_ERROR_INVALID_CONTEXT;
}

API(cuCtxDisablePeerAccess, CUcontext peer)
{
    CUresult result = api_initialized();

    if (result)
        return result;
    return handle_get(peer, HANDLE_CONTEXT) ? CUDA_ERROR_PEER_ACCESS_NOT_ENABLED
                                            : CUDA_ERROR_INVALID_CONTEXT;
}
