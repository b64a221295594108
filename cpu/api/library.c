/* SPDX-License-Identifier: MIT
 *
 * Library management: images apart from contexts. As with NVIDIA's driver a
 * bad image is no error of the load: the first call that needs it fails.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cpu/api/driver.h"
#include "cpu/api/module.h"

static struct library *libraries; /* guarded by driver.lock */

static void unlink_module(struct library *library, struct module *module)
{
    struct module **at = &library->modules;

    while (*at && *at != module)
        at = &(*at)->next_of_library;
    if (*at)
        *at = module->next_of_library;
}

void library_release_context(struct context *context)
{
    pthread_mutex_lock(&driver.lock);
    for (struct library *l = libraries; l; l = l->next) {
        struct module *m;

        pthread_mutex_lock(&l->lock);
        for (m = l->modules; m && m->context != context;)
            m = m->next_of_library;
        if (m)
            unlink_module(l, m);
        pthread_mutex_unlock(&l->lock);
        /* The module itself goes with the context's. */
    }
    pthread_mutex_unlock(&driver.lock);
}

CUresult library_module(struct library *library, struct context *context,
                        struct module **out)
{
    struct module *m;
    CUresult result = CUDA_SUCCESS;

    if (library->result)
        return library->result;
    pthread_mutex_lock(&library->lock);
    for (m = library->modules; m && m->context != context;)
        m = m->next_of_library;
    if (!m) {
        result = module_new(context, library->image, library, &m);
        if (!result) {
            m->next_of_library = library->modules;
            library->modules = m;
        }
    }
    pthread_mutex_unlock(&library->lock);
    if (!result)
        *out = m;
    return result;
}

static void library_free(struct library *library)
{
    uint32_t count = library->image ? library->image->info.kernel_count : 0;

    handle_free(library->handle);
    for (uint32_t i = 0; library->kernels && i < count; i++)
        handle_free(library->kernels[i].handle);
    while (library->modules) {
        struct module *m = library->modules;

        library->modules = m->next_of_library;
        module_free(m);
    }
    kiln_release(library->kernels);
    image_unref(library->image);
    pthread_mutex_destroy(&library->lock);
    kiln_release(library);
}

static CUresult make_kernels(struct library *library)
{
    uint32_t count = library->image ? library->image->info.kernel_count : 0;

    library->kernels = kiln_zalloc((count + 1) * sizeof *library->kernels);
    if (!library->kernels)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        struct kernel *k = &library->kernels[i];

        k->library = library;
        k->index = i;
        k->settings.dynamic_shared = -1;
        k->settings.carveout = -1;
        k->handle = handle_new(HANDLE_KERNEL, k);
        if (!k->handle)
            return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

static CUresult check_options(unsigned count, const CUlibraryOption *options)
{
    if (count && !options)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++)
        if ((unsigned)options[i] >= CU_LIBRARY_NUM_OPTIONS)
            return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

API(cuLibraryLoadData, CUlibrary *out, const void *bytes,
    CUjit_option *jit_options, void **jit_values, unsigned int jit_count,
    CUlibraryOption *options, void **values, unsigned int count)
{
    struct load_options o;
    struct kiln_error err = {0};
    struct library *library;
    CUresult result = api_initialized();

    (void)values;
    if (result)
        return result;
    if (!out || !bytes)
        return CUDA_ERROR_INVALID_VALUE;
    result = check_options(count, options);
    if (result)
        return result;
    result = options_read(jit_count, jit_options, jit_values, &o);
    library = result ? NULL : kiln_zalloc(sizeof *library);
    if (!library) {
        options_fini(&o);
        return result ? result : CUDA_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_init(&library->lock, NULL);
    if (load_image(bytes, 1, &o, &library->image, &err))
        library->result = api_result(&err);
    options_write_logs(&o);
    options_fini(&o);
    result = make_kernels(library);
    library->handle = handle_new(HANDLE_LIBRARY, library);
    if (result || !library->handle) {
        library_free(library);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_lock(&driver.lock);
    library->next = libraries;
    libraries = library;
    pthread_mutex_unlock(&driver.lock);
    *out = library->handle;
    return CUDA_SUCCESS;
}

API(cuLibraryLoadFromFile, CUlibrary *out, const char *path,
    CUjit_option *jit_options, void **jit_values, unsigned int jit_count,
    CUlibraryOption *options, void **values, unsigned int count)
{
    struct buffer file = {0};
    struct kiln_error err = {0};
    CUresult result = api_initialized();

    if (result)
        return result;
    if (!out || !path)
        return CUDA_ERROR_INVALID_VALUE;
    if (file_read(path, 0, &file, &err))
        result = api_result(&err);
    else
        result = cuLibraryLoadData(out, file.size ? (void *)file.bytes : "",
                                   jit_options, jit_values, jit_count, options,
                                   values, count);
    buffer_fini(&file);
    return result;
}

static CUresult find(CUlibrary handle, struct library **out)
{
    CUresult result = api_initialized();

    if (result)
        return result;
    *out = handle_get(handle, HANDLE_LIBRARY);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

API(cuLibraryUnload, CUlibrary handle)
{
    struct library *library;
    struct library **at = &libraries;
    CUresult result = find(handle, &library);

    if (result)
        return result;
    pthread_mutex_lock(&driver.lock);
    while (*at && *at != library)
        at = &(*at)->next;
    if (*at)
        *at = library->next;
    pthread_mutex_unlock(&driver.lock);
    for (struct module *m = library->modules; m; m = m->next_of_library)
        exec_context_sync(m->context->exec, NULL);
    library_free(library);
    return CUDA_SUCCESS;
}

API(cuLibraryGetKernel, CUkernel *out, CUlibrary handle, const char *name)
{
    struct library *library;
    CUresult result = find(handle, &library);
    int i;

    if (result)
        return result;
    if (!out || !name)
        return CUDA_ERROR_INVALID_VALUE;
    if (library->result)
        return library->result;
    i = image_kernel(library->image, name);
    if (i < 0)
        return CUDA_ERROR_NOT_FOUND;
    *out = library->kernels[i].handle;
    return CUDA_SUCCESS;
}

API(cuLibraryGetKernelCount, unsigned int *count, CUlibrary handle)
{
    struct library *library;
    CUresult result = find(handle, &library);

    if (result)
        return result;
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    if (library->result)
        return library->result;
    *count = library->image->info.kernel_count;
    return CUDA_SUCCESS;
}

API(cuLibraryEnumerateKernels, CUkernel *out, unsigned int count,
    CUlibrary handle)
{
    struct library *library;
    CUresult result = find(handle, &library);

    if (result)
        return result;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    if (library->result)
        return library->result;
    for (unsigned i = 0; i < count && i < library->image->info.kernel_count;
         i++)
        out[i] = library->kernels[i].handle;
    return CUDA_SUCCESS;
}

static CUresult current_module(CUlibrary handle, struct module **out)
{
    struct library *library;
    struct context *context;
    CUresult result = find(handle, &library);

    if (!result)
        result = api_enter(&context);
    return result ? result : library_module(library, context, out);
}

API(cuLibraryGetModule, CUmodule *out, CUlibrary handle)
{
    struct module *module;
    CUresult result;

    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    result = current_module(handle, &module);
    if (!result)
        *out = module->handle;
    return result;
}

API(cuLibraryGetGlobal, CUdeviceptr *address, size_t *size, CUlibrary handle,
    const char *name)
{
    struct module *module;
    CUresult result = current_module(handle, &module);

    return result ? result : module_global(module, name, address, size);
}

/* There are no managed variables: the compiler refuses them. */
API(cuLibraryGetManaged, CUdeviceptr *address, size_t *size, CUlibrary handle,
    const char *name)
{
    struct library *library;
    CUresult result = find(handle, &library);

    if (result)
        return result;
    if (!name || (!address && !size))
        return CUDA_ERROR_INVALID_VALUE;
    return library->result ? library->result : CUDA_ERROR_NOT_FOUND;
}
