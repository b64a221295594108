/* SPDX-License-Identifier: MIT
 *
 * Module management.
 */
#include "cpu/api/module.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cpu/api/driver.h"
#include "cpu/api/memory.h"

int image_kernel(const struct image *image, const char *name)
{
    for (uint32_t i = 0; i < image->info.kernel_count; i++)
        if (!strcmp(image->info.kernels[i].name, name))
            return (int)i;
    return -1;
}

const struct object_variable *image_variable(const struct image *image,
                                             const char *name)
{
    for (uint32_t i = 0; i < image->info.variable_count; i++)
        if (!strcmp(image->info.variables[i].name, name))
            return &image->info.variables[i];
    return NULL;
}

static uint64_t page_down(uint64_t at)
{
    return at & ~(uint64_t)(OBJECT_CONST_PAGE - 1);
}

/* Kernels only read constant variables, which have pages of their own in what
 * this driver compiles. */
static CUresult protect_constants(const struct module *module)
{
    const struct object_info *info = &module->image->info;
    uint64_t from = UINT64_MAX, to = 0;
    struct kiln_error err = {0};

    for (uint32_t i = 0; i < info->variable_count; i++) {
        const struct object_variable *v = &info->variables[i];
        const uint64_t end =
            page_down(v->offset + v->size + OBJECT_CONST_PAGE - 1);

        if (v->space != OBJECT_CONST || v->is_extern || !v->size)
            continue;
        from = v->offset < from ? page_down(v->offset) : from;
        to = end > to ? end : to;
    }
    for (uint32_t i = 0; i < info->variable_count; i++) {
        const struct object_variable *v = &info->variables[i];

        if (v->space != OBJECT_CONST && !v->is_extern && v->offset < to &&
            v->offset + v->size > from)
            return CUDA_SUCCESS;
    }
    if (from >= to || to > info->data_size)
        return CUDA_SUCCESS;
    return exec_memory_constant(module->data->base + from, to - from, &err)
               ? api_result(&err)
               : CUDA_SUCCESS;
}

/* The module's variables: initial values, then the addresses among them. */
static CUresult fill_data(struct module *module)
{
    const struct object_info *info = &module->image->info;
    unsigned char *data;
    CUresult result;

    if (!info->data_size)
        return CUDA_SUCCESS;
    result = memory_alloc(module->context, info->data_size, ALLOCATION_MODULE,
                          &module->data);
    if (result)
        return result;
    data = (unsigned char *)(uintptr_t)module->data->base;
    if (info->data_init_size)
        memcpy(data, info->data_init, info->data_init_size);
    for (uint32_t i = 0; i < info->ref_count; i++) {
        uint64_t address = module->data->base + info->refs[i].addend;

        memcpy(data + info->refs[i].at, &address, sizeof address);
    }
    return protect_constants(module);
}

static CUresult make_functions(struct module *module)
{
    const struct object_info *info = &module->image->info;

    module->functions =
        kiln_zalloc((info->kernel_count + 1) * sizeof *module->functions);
    if (!module->functions)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < info->kernel_count; i++) {
        struct function *f = &module->functions[i];

        f->module = module;
        f->kernel = &info->kernels[i];
        f->own.dynamic_shared = -1;
        f->own.carveout = -1;
        f->settings =
            module->library ? &module->library->kernels[i].settings : &f->own;
        f->loaded = driver_config()->eager;
        f->handle = handle_new(HANDLE_FUNCTION, f);
        if (!f->handle)
            return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

CUresult module_new(struct context *context, struct image *image,
                    struct library *library, struct module **out)
{
    struct module *module = kiln_zalloc(sizeof *module);
    CUresult result;

    if (!module)
        return CUDA_ERROR_OUT_OF_MEMORY;
    module->context = context;
    module->library = library;
    module->image = image;
    image_ref(image);
    pthread_mutex_lock(&context->lock);
    module->next = context->modules;
    context->modules = module;
    pthread_mutex_unlock(&context->lock);
    module->handle = handle_new(HANDLE_MODULE, module);
    result = module->handle ? fill_data(module) : CUDA_ERROR_OUT_OF_MEMORY;
    if (!result)
        result = make_functions(module);
    if (result) {
        module_free(module);
        return result;
    }
    *out = module;
    return CUDA_SUCCESS;
}

void module_free(struct module *module)
{
    struct context *context = module->context;
    struct module **at = &context->modules;

    pthread_mutex_lock(&context->lock);
    while (*at && *at != module)
        at = &(*at)->next;
    if (*at)
        *at = module->next;
    pthread_mutex_unlock(&context->lock);
    for (uint32_t i = 0;
         module->functions && i < module->image->info.kernel_count; i++)
        handle_free(module->functions[i].handle);
    kiln_release(module->functions);
    if (module->data)
        memory_free(module->data);
    handle_free(module->handle);
    image_unref(module->image);
    kiln_release(module);
}

void module_release_context(struct context *context)
{
    while (context->modules)
        module_free(context->modules);
}

static CUresult load(CUmodule *out, const void *bytes, unsigned count,
                     CUjit_option *options, void **values)
{
    struct load_options o;
    struct kiln_error err = {0};
    struct context *context;
    struct module *module;
    struct image *image = NULL;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    if (!out || !bytes)
        return CUDA_ERROR_INVALID_VALUE;
    result = options_read(count, options, values, &o);
    if (result) {
        options_fini(&o);
        return result;
    }
    if (load_image(bytes, 0, &o, &image, &err))
        result = api_result(&err);
    options_write_logs(&o);
    options_fini(&o);
    if (!result)
        result = module_new(context, image, NULL, &module);
    image_unref(image);
    if (!result)
        *out = module->handle;
    return result;
}

API(cuModuleLoadData, CUmodule *out, const void *bytes)
{
    return load(out, bytes, 0, NULL, NULL);
}

API(cuModuleLoadDataEx, CUmodule *out, const void *bytes, unsigned int count,
    CUjit_option *options, void **values)
{
    return load(out, bytes, count, options, values);
}

API(cuModuleLoadFatBinary, CUmodule *out, const void *bytes)
{
    return load(out, bytes, 0, NULL, NULL);
}

API(cuModuleLoad, CUmodule *out, const char *path)
{
    struct buffer file = {0};
    struct kiln_error err = {0};
    struct context *context;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    if (!out || !path)
        return CUDA_ERROR_INVALID_VALUE;
    if (file_read(path, 0, &file, &err))
        result = api_result(&err);
    else if (!file.size)
        result = CUDA_ERROR_INVALID_IMAGE;
    else
        result = load(out, file.bytes, 0, NULL, NULL);
    buffer_fini(&file);
    return result;
}

static CUresult find(CUmodule handle, struct module **out)
{
    struct context *context;
    CUresult result = api_enter(&context);

    if (result)
        return result;
    *out = handle_get(handle, HANDLE_MODULE);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

API(cuModuleUnload, CUmodule handle)
{
    struct module *module;
    CUresult result = find(handle, &module);

    if (result)
        return result;
    if (module->library)
        return CUDA_ERROR_NOT_PERMITTED;
    result = api_status(exec_context_sync(module->context->exec, NULL));
    module_free(module);
    return result;
}

API(cuModuleGetFunction, CUfunction *out, CUmodule handle, const char *name)
{
    struct module *module;
    CUresult result = find(handle, &module);
    int i;

    if (result)
        return result;
    if (!out || !name || !*name)
        return CUDA_ERROR_INVALID_VALUE;
    i = image_kernel(module->image, name);
    if (i < 0)
        return CUDA_ERROR_NOT_FOUND;
    module->functions[i].loaded = 1;
    *out = module->functions[i].handle;
    return CUDA_SUCCESS;
}

API(cuModuleGetFunctionCount, unsigned int *count, CUmodule handle)
{
    struct module *module;
    CUresult result = find(handle, &module);

    if (result)
        return result;
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    *count = module->image->info.kernel_count;
    return CUDA_SUCCESS;
}

API(cuModuleEnumerateFunctions, CUfunction *out, unsigned int count,
    CUmodule handle)
{
    struct module *module;
    CUresult result = find(handle, &module);

    if (result)
        return result;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count && i < module->image->info.kernel_count; i++)
        out[i] = module->functions[i].handle;
    return CUDA_SUCCESS;
}

CUresult module_global(struct module *module, const char *name,
                       CUdeviceptr *address, size_t *size)
{
    const struct object_variable *v;

    if (!name || !*name || (!address && !size))
        return CUDA_ERROR_INVALID_VALUE;
    if (image_kernel(module->image, name) >= 0)
        return CUDA_ERROR_INVALID_VALUE;
    v = image_variable(module->image, name);
    if (!v || v->is_extern || !module->data)
        return CUDA_ERROR_NOT_FOUND;
    if (address)
        *address = module->data->base + v->offset;
    if (size)
        *size = v->size;
    return CUDA_SUCCESS;
}

API(cuModuleGetGlobal_v2, CUdeviceptr *address, size_t *size, CUmodule handle,
    const char *name)
{
    struct module *module;
    CUresult result = find(handle, &module);

    return result ? result : module_global(module, name, address, size);
}

API(cuModuleGetLoadingMode, CUmoduleLoadingMode *mode)
{
    CUresult result = api_initialized();

    if (result)
        return result;
    if (!mode)
        return CUDA_ERROR_INVALID_VALUE;
    *mode = driver_config()->eager ? CU_MODULE_EAGER_LOADING
                                   : CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}
