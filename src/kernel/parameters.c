/* SPDX-License-Identifier: MIT */
#include "kernel/parameters.h"

#include <string.h>

#include "base/alloc.h"
#include "image/cubin.h"

static enum kiln_status add(struct kiln_parameter **list, size_t *count,
                            const char *symbol, size_t offset, size_t size,
                            int pointer, struct kiln_error *err)
{
    struct kiln_parameter *larger;

    if (*count == PARAMETERS_MAX)
        return kiln_fail(err, KILN_E_FORMAT, "%s: more than %d parameters",
                         symbol, PARAMETERS_MAX);
    larger = kiln_array(*list, *count + 1, sizeof **list);
    if (!larger)
        return kiln_fail(err, KILN_E_MEMORY, "parameters: out of memory");
    *list = larger;
    larger[(*count)++] = (struct kiln_parameter){offset, size, pointer};
    return KILN_OK;
}

static enum kiln_status from_driver(struct kiln *kiln, CUfunction function,
                                    const char *symbol,
                                    struct kiln_parameter **out, size_t *count,
                                    struct kiln_error *err)
{
    enum kiln_status st = KILN_OK;
    size_t offset, size;

    while (!st &&
           !kiln->driver.cuFuncGetParamInfo(function, *count, &offset, &size))
        st = add(out, count, symbol, offset, size, size == 8 ? -1 : 0, err);
    return st;
}

static enum kiln_status from_cubin(const struct kiln_image *image,
                                   const char *symbol,
                                   struct kiln_parameter **out, size_t *count,
                                   struct kiln_error *err)
{
    struct arena arena = {0};
    struct cubin cubin;
    const struct cubin_kernel *kernel = NULL;
    enum kiln_status st =
        cubin_read(image->bytes, image->size, &arena, &cubin, err);

    if (!st) {
        kernel = cubin_kernel_find(&cubin, symbol);
        if (!kernel)
            st = kiln_fail(err, KILN_E_NOT_FOUND, "%s: not in the image",
                           symbol);
    }
    for (uint32_t i = 0; !st && i < kernel->param_count; i++) {
        const struct cubin_param *p = &kernel->params[i];
        int pointer = p->pointer == CUBIN_YES  ? 1
                      : p->pointer == CUBIN_NO ? 0
                      : p->size == 8           ? -1
                                               : 0;

        st = add(out, count, symbol, p->offset, p->size, pointer, err);
    }
    arena_fini(&arena);
    return st;
}

static enum kiln_status from_image(const struct kiln_image *image,
                                   const char *symbol,
                                   struct kiln_parameter **out, size_t *count,
                                   struct kiln_error *err)
{
    if (image->kind == KILN_IMAGE_PTX)
        return parameters_from_ptx((const char *)image->bytes,
                                   image->compiler && *image->compiler, symbol,
                                   out, count, err);
    return from_cubin(image, symbol, out, count, err);
}

void required_block(const struct kiln_image *image, const char *symbol,
                    unsigned out[3])
{
    struct arena arena = {0};
    struct cubin cubin;
    const struct cubin_kernel *kernel;

    out[0] = out[1] = out[2] = 0;
    if (image->kind == KILN_IMAGE_PTX) {
        required_block_ptx((const char *)image->bytes, symbol, out);
    } else if (!cubin_read(image->bytes, image->size, &arena, &cubin, NULL)) {
        kernel = cubin_kernel_find(&cubin, symbol);
        for (int i = 0; kernel && i < 3; i++)
            out[i] = kernel->reqntid[i];
    }
    arena_fini(&arena);
}

enum kiln_status parameters_read(struct kiln *kiln,
                                 const struct kiln_image *image,
                                 CUfunction function, const char *symbol,
                                 struct kiln_parameter **out, size_t *count,
                                 struct kiln_error *err)
{
    struct kiln_parameter *driver = NULL, *told = NULL;
    size_t n = 0, m = 0;
    enum kiln_status st;

    if (!kiln->driver.cuFuncGetParamInfo) {
        st = from_image(image, symbol, &told, &m, err);
        n = m;
    } else {
        st = from_driver(kiln, function, symbol, &driver, &n, err);
        /* The image only adds what the driver does not know. */
        if (!st && !from_image(image, symbol, &told, &m, NULL) && m == n)
            for (size_t i = 0; i < n; i++)
                if (told[i].size == driver[i].size)
                    driver[i].pointer = told[i].pointer;
    }
    if (st) {
        kiln_release(driver);
        kiln_release(told);
        return st;
    }
    *out = driver ? driver : told;
    if (driver || !n)
        kiln_release(told);
    if (!n)
        *out = NULL;
    *count = n;
    return KILN_OK;
}
