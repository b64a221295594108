/* SPDX-License-Identifier: MIT
 *
 * Variables of the program by the address of their host shadow.
 */
#include "runtime/register.h"

cudaError_t cudaGetSymbolAddress(void **address, const void *symbol)
{
    cudaError_t e;
    CUdeviceptr p = 0;
    size_t bytes = 0;
    const struct driver *d;

    if (!address)
        return rt_note(cudaErrorInvalidValue);
    d = rt_enter(&e);
    if (d)
        e = register_variable(d, symbol, &p, &bytes);
    if (!e)
        *address = (void *)(uintptr_t)p;
    return rt_note(e);
}

cudaError_t cudaGetSymbolSize(size_t *bytes, const void *symbol)
{
    cudaError_t e;
    CUdeviceptr p = 0;
    const struct driver *d;

    if (!bytes)
        return rt_note(cudaErrorInvalidValue);
    d = rt_enter(&e);
    return rt_note(d ? register_variable(d, symbol, &p, bytes) : e);
}

/* The address of `bytes` bytes at `offset` into the variable. */
static cudaError_t place(const void *symbol, size_t bytes, size_t offset,
                         char **out)
{
    cudaError_t e;
    CUdeviceptr p = 0;
    size_t size = 0;
    const struct driver *d = rt_enter(&e);

    if (d)
        e = register_variable(d, symbol, &p, &size);
    if (!e && (offset > size || bytes > size - offset))
        e = cudaErrorInvalidValue;
    *out = (char *)(uintptr_t)p + offset;
    return e;
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from,
                               size_t bytes, size_t offset,
                               enum cudaMemcpyKind kind)
{
    char *to;
    cudaError_t e;

    if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice &&
        kind != cudaMemcpyDefault)
        return rt_note(cudaErrorInvalidMemcpyDirection);
    e = place(symbol, bytes, offset, &to);
    return e ? rt_note(e) : cudaMemcpy(to, from, bytes, kind);
}

cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes,
                                 size_t offset, enum cudaMemcpyKind kind)
{
    char *from;
    cudaError_t e;

    if (kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice &&
        kind != cudaMemcpyDefault)
        return rt_note(cudaErrorInvalidMemcpyDirection);
    e = place(symbol, bytes, offset, &from);
    return e ? rt_note(e) : cudaMemcpy(to, from, bytes, kind);
}
