/* SPDX-License-Identifier: MIT
 *
 * Module management: the linker. One input becomes one object; several would
 * need a link of their own, which is refused by name.
 */
#include "base/alloc.h"
#include "base/file.h"
#include "cpu/api/api.h"
#include "cpu/api/driver.h"
#include "cpu/api/image.h"

struct link {
    CUlinkState handle;
    struct load_options options;
    struct image *image;
    int complete;
};

API(cuLinkCreate_v2, unsigned int count, CUjit_option *options, void **values,
    CUlinkState *out)
{
    struct context *context;
    struct link *link;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    link = kiln_zalloc(sizeof *link);
    if (!link)
        return CUDA_ERROR_OUT_OF_MEMORY;
    result = options_read(count, options, values, &link->options);
    if (!result) {
        link->handle = handle_new(HANDLE_LINK, link);
        if (!link->handle)
            result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (result) {
        options_fini(&link->options);
        kiln_release(link);
        return result;
    }
    *out = link->handle;
    return CUDA_SUCCESS;
}

API_ALIAS(cuLinkCreate, cuLinkCreate_v2,
          (unsigned int count, CUjit_option *options, void **values,
           CUlinkState *out),
          (count, options, values, out))

static CUresult find(CUlinkState handle, struct link **out)
{
    CUresult result = api_initialized();

    if (result)
        return result;
    *out = handle_get(handle, HANDLE_LINK);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult add(struct link *link, CUjitInputType type, const void *bytes,
                    const char *name)
{
    struct kiln_error err = {0};
    CUresult result = CUDA_SUCCESS;

    if (link->complete)
        return CUDA_ERROR_INVALID_VALUE;
    if (type == CU_JIT_INPUT_LIBRARY || type == CU_JIT_INPUT_OBJECT ||
        type == CU_JIT_INPUT_NVVM)
        return api_unsupported("cuLinkAddData of host objects, archives and "
                               "NVVM IR");
    if (link->image) {
        options_error(&link->options,
                      "error   : linking more than one input is not supported "
                      "by the CPU device");
        options_write_logs(&link->options);
        return api_unsupported("cuLinkAddData of a second input");
    }
    if (load_image(bytes, 0, &link->options, &link->image, &err)) {
        kiln_prefix(&err, "%s", name ? name : "link input");
        result = api_result(&err);
    }
    options_write_logs(&link->options);
    return result;
}

API(cuLinkAddData_v2, CUlinkState handle, CUjitInputType type, void *data,
    size_t size, const char *name, unsigned int count, CUjit_option *options,
    void **values)
{
    struct link *link;
    struct buffer copy = {0};
    struct load_options unused;
    CUresult result = find(handle, &link);

    if (result)
        return result;
    /* Options of one input, which the manual limits to those of the whole
     * link, are checked and otherwise those of cuLinkCreate count. */
    result = options_read(count, options, values, &unused);
    options_fini(&unused);
    if (result)
        return result;
    if (!data || !size || (unsigned)type >= CU_JIT_NUM_INPUT_TYPES)
        return CUDA_ERROR_INVALID_VALUE;
    /* A copy ends in a NUL, which PTX of a given size need not. */
    buffer_add(&copy, data, size);
    result =
        copy.bad ? CUDA_ERROR_OUT_OF_MEMORY : add(link, type, copy.bytes, name);
    buffer_fini(&copy);
    return result;
}

API_ALIAS(cuLinkAddData, cuLinkAddData_v2,
          (CUlinkState handle, CUjitInputType type, void *data, size_t size,
           const char *name, unsigned int count, CUjit_option *options,
           void **values),
          (handle, type, data, size, name, count, options, values))

API(cuLinkAddFile_v2, CUlinkState handle, CUjitInputType type, const char *path,
    unsigned int count, CUjit_option *options, void **values)
{
    struct buffer file = {0};
    struct kiln_error err = {0};
    struct link *link;
    CUresult result = find(handle, &link);

    if (result)
        return result;
    if (!path)
        return CUDA_ERROR_INVALID_VALUE;
    if (file_read(path, 0, &file, &err))
        result = api_result(&err);
    else
        result = cuLinkAddData_v2(handle, type, file.bytes, file.size, path,
                                  count, options, values);
    buffer_fini(&file);
    return result;
}

API_ALIAS(cuLinkAddFile, cuLinkAddFile_v2,
          (CUlinkState handle, CUjitInputType type, const char *path,
           unsigned int count, CUjit_option *options, void **values),
          (handle, type, path, count, options, values))

/* The bytes live as long as the link. */
API(cuLinkComplete, CUlinkState handle, void **bytes, size_t *size)
{
    struct link *link;
    CUresult result = find(handle, &link);

    if (result)
        return result;
    if (!bytes)
        return CUDA_ERROR_INVALID_VALUE;
    if (!link->image)
        return CUDA_ERROR_INVALID_IMAGE;
    link->complete = 1;
    *bytes = link->image->bytes;
    if (size)
        *size = link->image->size;
    options_write_logs(&link->options);
    return CUDA_SUCCESS;
}

API(cuLinkDestroy, CUlinkState handle)
{
    struct link *link;
    CUresult result = find(handle, &link);

    if (result)
        return result;
    handle_free(link->handle);
    image_unref(link->image);
    options_fini(&link->options);
    kiln_release(link);
    return CUDA_SUCCESS;
}
