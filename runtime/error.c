/* SPDX-License-Identifier: MIT
 *
 * Error names, texts, and each thread's last error.
 */
#include "runtime/start.h"

static _Thread_local cudaError_t last;

static const struct {
    cudaError_t number;
    const char *name;
    const char *text;
} errors[] = {
#define X(name, number, text) {name, #name, text},
#include "error.def"
#undef X
};

cudaError_t rt_from_cuda(CUresult result)
{
    /* One numbering since CUDA 10.1: what the driver returns means the same
     * here, under another name. */
    return (cudaError_t)result;
}

cudaError_t rt_note(cudaError_t error)
{
    /* Not ready is an answer, not a failure. */
    if (error && error != cudaErrorNotReady)
        last = error;
    return error;
}

cudaError_t rt_result(CUresult result)
{
    return rt_note(rt_from_cuda(result));
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = last;

    last = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void)
{
    return last;
}

const char *cudaGetErrorName(cudaError_t error)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].number == error)
            return errors[i].name;
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
    const char *start = rt_start_text();

    /* The facts of a failed start say more than the fixed text. */
    if (error == cudaErrorInsufficientDriver && start)
        return start;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].number == error)
            return errors[i].text;
    return "unrecognized error code";
}
