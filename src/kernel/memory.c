/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"
#include "kernel/handle.h"

enum kiln_status kiln_buffer_new(struct kiln *kiln, uint64_t bytes,
                                 struct kiln_buffer **out,
                                 struct kiln_error *err)
{
    struct driver_scope scope = {0};
    struct kiln_buffer *b = kiln_zalloc(sizeof *b);
    enum kiln_status st;
    CUresult result;

    if (!b)
        return kiln_fail(err, KILN_E_MEMORY, "buffer: out of memory");
    b->kiln = kiln;
    b->size = bytes;
    if (!bytes)
        st = kiln_fail(err, KILN_E_INVALID, "buffer of 0 bytes");
    else
        st = driver_scope_begin(&scope, &kiln->driver, kiln->context, err);
    if (st)
        goto out;
    result = kiln->driver.cuMemAlloc(&b->address, bytes);
    if (result) {
        b->address = 0;
        st = driver_fail(&kiln->driver, result, err,
                         "buffer of %llu bytes (the device has %llu)",
                         (unsigned long long)bytes,
                         (unsigned long long)kiln->device.memory);
        goto out;
    }
    *out = b;
    b = NULL;
out:
    driver_scope_end(&scope);
    kiln_release(b);
    return st;
}

uint64_t kiln_buffer_address(const struct kiln_buffer *buffer)
{
    return buffer->address;
}

uint64_t kiln_buffer_size(const struct kiln_buffer *buffer)
{
    return buffer->size;
}

static enum kiln_status check_range(const struct kiln_buffer *b,
                                    uint64_t offset, size_t size,
                                    struct kiln_error *err)
{
    if (offset > b->size || size > b->size - offset)
        return kiln_fail(err, KILN_E_INVALID,
                         "buffer of %llu bytes: %zu bytes at offset %llu "
                         "pass its end",
                         (unsigned long long)b->size, size,
                         (unsigned long long)offset);
    return KILN_OK;
}

enum kiln_status kiln_buffer_zero(struct kiln_buffer *buffer,
                                  struct kiln_error *err)
{
    const struct driver *d = &buffer->kiln->driver;
    struct driver_scope scope = {0};
    enum kiln_status st =
        driver_scope_begin(&scope, d, buffer->kiln->context, err);

    if (!st) {
        CUresult result = d->cuMemsetD8(buffer->address, 0, buffer->size);

        if (result)
            st = driver_fail(d, result, err, "buffer to zero");
    }
    driver_scope_end(&scope);
    return st;
}

enum kiln_status kiln_buffer_write(struct kiln_buffer *buffer, uint64_t offset,
                                   const void *bytes, size_t size,
                                   struct kiln_error *err)
{
    const struct driver *d = &buffer->kiln->driver;
    struct driver_scope scope = {0};
    enum kiln_status st = check_range(buffer, offset, size, err);

    if (st || !size)
        return st;
    st = driver_scope_begin(&scope, d, buffer->kiln->context, err);
    if (!st) {
        CUresult result =
            d->cuMemcpyHtoD(buffer->address + offset, bytes, size);

        if (result)
            st = driver_fail(d, result, err, "copy to the device");
    }
    driver_scope_end(&scope);
    return st;
}

enum kiln_status kiln_buffer_read(const struct kiln_buffer *buffer,
                                  uint64_t offset, void *bytes, size_t size,
                                  struct kiln_error *err)
{
    const struct driver *d = &buffer->kiln->driver;
    struct driver_scope scope = {0};
    enum kiln_status st = check_range(buffer, offset, size, err);

    if (st || !size)
        return st;
    st = driver_scope_begin(&scope, d, buffer->kiln->context, err);
    if (!st) {
        CUresult result =
            d->cuMemcpyDtoH(bytes, buffer->address + offset, size);

        if (result)
            st = driver_fail(d, result, err, "copy from the device");
    }
    driver_scope_end(&scope);
    return st;
}

void kiln_buffer_free(struct kiln_buffer *buffer)
{
    struct driver_scope scope = {0};

    if (!buffer)
        return;
    if (!driver_scope_begin(&scope, &buffer->kiln->driver,
                            buffer->kiln->context, NULL))
        buffer->kiln->driver.cuMemFree(buffer->address);
    driver_scope_end(&scope);
    kiln_release(buffer);
}
