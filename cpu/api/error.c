/* SPDX-License-Identifier: MIT
 *
 * Error handling: names and texts of results, and how a status inside
 * becomes one.
 */
#include <stddef.h>

#include "base/log.h"
#include "cpu/api/api.h"
#include "cpu/api/driver.h"

struct row {
    CUresult number;
    const char *name;
    const char *text;
};

static const struct row rows[] = {
#define CU_RESULT(name, number, text) {name, #name, text},
#include "driver/cuda_result.def"
#undef CU_RESULT
};

static const struct row *find(CUresult number)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].number == number)
            return &rows[i];
    return NULL;
}

API(cuGetErrorName, CUresult error, const char **name)
{
    const struct row *row = find(error);

    if (!name)
        return CUDA_ERROR_INVALID_VALUE;
    *name = row ? row->name : NULL;
    return row ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

API(cuGetErrorString, CUresult error, const char **text)
{
    const struct row *row = find(error);

    if (!text)
        return CUDA_ERROR_INVALID_VALUE;
    *text = row ? row->text : NULL;
    return row ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* For kilnDriverInfo: what a number alone does not tell. */
static _Thread_local struct kiln_error last, taken;

CUresult api_status(enum kiln_status status)
{
    return (CUresult)kiln_status_cuda(status);
}

CUresult api_result(const struct kiln_error *err)
{
    CUresult result = api_status(err->status);

    if (result) {
        log_line(LOG_INFO, "%s", err->text);
        last = *err;
    }
    return result;
}

int api_last_error(const char **text)
{
    taken = last;
    last = (struct kiln_error){0};
    *text = taken.text;
    return (int)api_status(taken.status);
}

CUresult api_unsupported(const char *what)
{
    log_line(LOG_WARN, "%s: not supported by the CPU device", what);
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult api_initialized(void)
{
    return atomic_load_explicit(&driver.ready, memory_order_acquire)
               ? CUDA_SUCCESS
               : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult api_device(CUdevice device)
{
    CUresult result = api_initialized();

    if (result)
        return result;
    return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
