/* SPDX-License-Identifier: MIT
 *
 * Driver entry point access, and private tables.
 */
#include "cpu/api/api.h"
#include "cpu/api/entry.h"

API(cuGetProcAddress_v2, const char *symbol, void **pfn, int cudaVersion,
    uint64_t flags, CUdriverProcAddressQueryResult *symbolStatus)
{
    CUdriverProcAddressQueryResult status;

    if (!symbol || !pfn ||
        flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
        return CUDA_ERROR_INVALID_VALUE;
    *pfn = entry_find(symbol, cudaVersion,
                      flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
                      &status);
    if (symbolStatus)
        *symbolStatus = status;
    return *pfn ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

API(cuGetProcAddress, const char *symbol, void **pfn, int cudaVersion,
    uint64_t flags)
{
    return cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, NULL);
}

/* Private tables of NVIDIA's driver: Kiln has none of them, and says so. A
 * table of the wrong shape would be worse than none. */
API(cuGetExportTable, const void **table, const CUuuid *id)
{
    if (!table || !id)
        return CUDA_ERROR_INVALID_VALUE;
    *table = NULL;
    return CUDA_ERROR_NOT_FOUND;
}
