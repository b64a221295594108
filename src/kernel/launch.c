/* SPDX-License-Identifier: MIT
 *
 * Arguments and shape are checked against what kernel and device say of
 * themselves; only then does the driver see them.
 */
#include <stdio.h>
#include <string.h>

#include "kernel/handle.h"

enum { ARGS_MAX = 4096 };

static unsigned at_least_one(unsigned n)
{
    return n ? n : 1;
}

/* Of .reqntid, of which the driver says no more than the product. */
static enum kiln_status check_required(const struct kiln_kernel *k,
                                       const struct kiln_shape *s,
                                       struct kiln_error *err)
{
    for (int i = 0; k->required[0] && i < 3; i++)
        if (at_least_one(s->block[i]) != at_least_one(k->required[i]))
            return kiln_fail(
                err, KILN_E_INVALID,
                "launch of %s: a block of %u,%u,%u threads, this "
                "kernel takes %u,%u,%u only (.reqntid)",
                k->name, at_least_one(s->block[0]), at_least_one(s->block[1]),
                at_least_one(s->block[2]), k->required[0],
                at_least_one(k->required[1]), at_least_one(k->required[2]));
    return KILN_OK;
}

static enum kiln_status check_shape(const struct kiln_kernel *k,
                                    const struct kiln_shape *s,
                                    struct kiln_error *err)
{
    const struct driver_device *d = &k->library->kiln->device;
    static const char axis[] = "xyz";
    unsigned long long threads = 1;
    long long room = d->max_shared_optin - k->info.static_shared;
    enum kiln_status st;

    for (int i = 0; i < 3; i++) {
        unsigned block = s->block[i] ? s->block[i] : 1;
        unsigned grid = s->grid[i] ? s->grid[i] : 1;

        threads *= block;
        if (block > (unsigned)d->max_block[i])
            return kiln_fail(err, KILN_E_INVALID,
                             "launch of %s: block %c of %u threads, the "
                             "device takes up to %d",
                             k->name, axis[i], block, d->max_block[i]);
        if (grid > (unsigned)d->max_grid[i])
            return kiln_fail(err, KILN_E_INVALID,
                             "launch of %s: grid %c of %u blocks, the device "
                             "takes up to %d",
                             k->name, axis[i], grid, d->max_grid[i]);
    }
    if (threads > (unsigned)d->max_threads)
        return kiln_fail(err, KILN_E_INVALID,
                         "launch of %s: a block of %llu threads, the device "
                         "takes up to %d",
                         k->name, threads, d->max_threads);
    if (threads > (unsigned)k->info.max_threads)
        return kiln_fail(err, KILN_E_RESOURCES,
                         "launch of %s: a block of %llu threads, this kernel "
                         "takes up to %d",
                         k->name, threads, k->info.max_threads);
    st = check_required(k, s, err);
    if (st)
        return st;
    if (s->shared > room)
        return kiln_fail(err, KILN_E_INVALID,
                         "launch of %s: %u bytes of dynamic and %d of static "
                         "shared memory, the device has %d a block",
                         k->name, s->shared, k->info.static_shared,
                         d->max_shared_optin);
    return KILN_OK;
}

/* Whether a device address lies in memory that is allocated now. */
static int is_live(const struct kiln *kiln, uint64_t address)
{
    const struct driver *d = &kiln->driver;
    CUdeviceptr base = 0;
    size_t size = 0;
    unsigned type = 0;

    if (d->cuMemGetAddressRange)
        return !d->cuMemGetAddressRange(&base, &size, address);
    if (d->cuPointerGetAttribute)
        return !d->cuPointerGetAttribute(
            &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
    return 1;
}

static const char *kind_of(const struct kiln_parameter *p)
{
    return p->pointer == 1 ? " (a pointer)" : p->pointer ? "" : " (a value)";
}

static enum kiln_status check_arg(const struct kiln_kernel *k, size_t i,
                                  const struct kiln_arg *arg,
                                  struct kiln_error *err)
{
    const struct kiln_parameter *p = &k->parameters[i];
    uint64_t address;

    if ((arg->kind != KILN_ARG_VALUE && arg->kind != KILN_ARG_BUFFER) ||
        !arg->value)
        return kiln_fail(err, KILN_E_ARGUMENT,
                         "argument %zu of %s: neither a value nor a buffer",
                         i + 1, k->name);
    if (arg->size != p->size)
        return kiln_fail(err, KILN_E_ARGUMENT,
                         "argument %zu of %s: %s of %zu bytes given, the "
                         "parameter at offset %zu has %zu bytes%s",
                         i + 1, k->name,
                         arg->kind == KILN_ARG_BUFFER ? "a buffer's address"
                                                      : "a value",
                         arg->size, p->offset, p->size, kind_of(p));
    if (p->pointer == 1 && arg->kind == KILN_ARG_VALUE)
        return kiln_fail(err, KILN_E_ARGUMENT,
                         "argument %zu of %s: a value given, the parameter is "
                         "a pointer: a buffer is needed",
                         i + 1, k->name);
    if (p->pointer == 0 && arg->kind == KILN_ARG_BUFFER)
        return kiln_fail(err, KILN_E_ARGUMENT,
                         "argument %zu of %s: a buffer given, the parameter "
                         "is a value of %zu bytes",
                         i + 1, k->name, p->size);
    if (arg->kind != KILN_ARG_BUFFER)
        return KILN_OK;
    memcpy(&address, arg->value, sizeof address);
    if (!is_live(k->library->kiln, address))
        return kiln_fail(err, KILN_E_ARGUMENT,
                         "argument %zu of %s: address 0x%llx is not in device "
                         "memory that is allocated now",
                         i + 1, k->name, (unsigned long long)address);
    return KILN_OK;
}

static const char *image_name(const struct kiln_kernel *k)
{
    const char *name = k->library->image->name;

    return name ? name : "an image";
}

static enum kiln_status check(struct kiln_kernel *k,
                              const struct kiln_shape *shape,
                              const struct kiln_arg *args, size_t count,
                              struct kiln_error *err)
{
    enum kiln_status st = check_shape(k, shape, err);

    if (st)
        return st;
    if (count != k->info.parameter_count)
        return kiln_fail(err, KILN_E_ARGUMENT,
                         "%.100s of %.80s takes %zu argument%s, %zu given",
                         k->name, image_name(k), k->info.parameter_count,
                         k->info.parameter_count == 1 ? "" : "s", count);
    for (size_t i = 0; i < count && !st; i++)
        st = check_arg(k, i, &args[i], err);
    return st;
}

enum kiln_status kiln_check_launch(struct kiln_kernel *kernel,
                                   const struct kiln_shape *shape,
                                   const struct kiln_arg *args, size_t count,
                                   struct kiln_error *err)
{
    struct kiln *kiln = kernel->library->kiln;
    struct driver_scope scope = {0};
    struct stage stage;
    enum kiln_status st;

    stage_begin(&stage, &kiln->timeline, "check");
    st = driver_scope_begin(&scope, &kiln->driver, kiln->context, err);
    if (!st)
        st = check(kernel, shape, args, count, err);
    driver_scope_end(&scope);
    stage_end(&stage);
    return st;
}

/* Dynamic shared memory past what every kernel may use must be asked for. */
static enum kiln_status allow_shared(struct kiln_kernel *k, unsigned shared,
                                     struct kiln_error *err)
{
    const struct driver *d = &k->library->kiln->driver;
    CUresult result;

    if (shared <= k->shared_allowed)
        return KILN_OK;
    if (!d->cuFuncSetAttribute)
        return kiln_fail(err, KILN_E_NOT_SUPPORTED,
                         "launch of %s: %u bytes of dynamic shared memory, "
                         "the driver gives no more than %u",
                         k->name, shared, k->shared_allowed);
    result = d->cuFuncSetAttribute(
        k->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
        (int)shared);
    if (result)
        return driver_fail(d, result, err, "%u bytes of shared memory for %s",
                           shared, k->name);
    k->shared_allowed = shared;
    return KILN_OK;
}

static enum kiln_status start(struct kiln_kernel *k, const struct kiln_shape *s,
                              const struct kiln_arg *args, size_t count,
                              struct kiln_error *err)
{
    const struct driver *d = &k->library->kiln->driver;
    void *values[ARGS_MAX];
    CUresult result;

    for (size_t i = 0; i < count; i++)
        values[i] = (void *)(uintptr_t)args[i].value;
    result = d->cuLaunchKernel(
        k->function, at_least_one(s->grid[0]), at_least_one(s->grid[1]),
        at_least_one(s->grid[2]), at_least_one(s->block[0]),
        at_least_one(s->block[1]), at_least_one(s->block[2]), s->shared, NULL,
        values, NULL);
    return result ? driver_fail_told(d, result, err, "launch of %s", k->name)
                  : KILN_OK;
}

enum kiln_status kiln_launch(struct kiln_kernel *kernel,
                             const struct kiln_shape *shape,
                             const struct kiln_arg *args, size_t count,
                             struct kiln_error *err)
{
    struct kiln *kiln = kernel->library->kiln;
    struct driver_scope scope = {0};
    struct stage stage;
    enum kiln_status st;

    stage_begin(&stage, &kiln->timeline, "launch");
    st = driver_scope_begin(&scope, &kiln->driver, kiln->context, err);
    if (!st)
        st = check(kernel, shape, args, count, err);
    if (!st)
        st = allow_shared(kernel, shape->shared, err);
    if (!st)
        st = start(kernel, shape, args, count, err);
    if (!st)
        memcpy(kiln->launched, kernel->name, sizeof kiln->launched);
    driver_scope_end(&scope);
    stage_end(&stage);
    return st;
}

enum kiln_status kiln_synchronize(struct kiln *kiln, struct kiln_error *err)
{
    struct driver_scope scope = {0};
    struct stage stage;
    enum kiln_status st;

    stage_begin(&stage, &kiln->timeline, "sync");
    st = driver_scope_begin(&scope, &kiln->driver, kiln->context, err);
    if (!st) {
        CUresult result = kiln->driver.cuCtxSynchronize();

        if (result)
            st = driver_fail_told(&kiln->driver, result, err,
                                  "waiting for %s, launched last",
                                  *kiln->launched ? kiln->launched : "nothing");
    }
    driver_scope_end(&scope);
    stage_end(&stage);
    return st;
}
