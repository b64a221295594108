/* SPDX-License-Identifier: MIT
 *
 * From a name to a kernel, and what is known of it.
 */
#include <string.h>

#include "base/alloc.h"
#include "compile/names.h"
#include "image/cubin.h"
#include "image/object_head.h"
#include "image/ptx_header.h"
#include "kernel/handle.h"
#include "kernel/parameters.h"

/* The symbols of an image's kernels, in the arena. */
static void image_symbols(const struct kiln_image *image, struct arena *arena,
                          const char ***symbols, size_t *count)
{
    struct object_head object;
    struct cubin cubin;
    const char **list;

    *count = 0;
    if (image->kind == KILN_IMAGE_PTX) {
        if (ptx_entry_names(image->bytes, image->size, arena, symbols, count,
                            NULL))
            *count = 0;
        return;
    }
    if (!object_head_read(image->bytes, image->size, arena, &object, NULL)) {
        list = arena_array(arena, object.kernel_count, sizeof *list);
        for (size_t i = 0; list && i < object.kernel_count; i++)
            list[i] = object.kernels[i].name;
        *symbols = list;
        *count = list ? object.kernel_count : 0;
        return;
    }
    if (cubin_read(image->bytes, image->size, arena, &cubin, NULL))
        return;
    list = arena_array(arena, cubin.kernel_count + 1, sizeof *list);
    for (size_t i = 0; list && i < cubin.kernel_count; i++)
        list[i] = cubin.kernels[i].name;
    *symbols = list;
    *count = list ? cubin.kernel_count : 0;
}

/* Of more than so many names a message tells no better, and each is compared
 * with those before it. */
enum { NAMES_MAX = 1 << 10 };

/* The one symbol whose C++ name is `name`; the error lists all there are, or
 * the several that match. */
static enum kiln_status search(const struct kiln_library *l, const char *name,
                               char **symbol, struct kiln_error *err)
{
    struct arena arena = {0};
    struct name_list all = {.arena = &arena}, fit = {.arena = &arena};
    const char **symbols = NULL, *found = NULL;
    size_t count = 0, fits = 0;
    enum kiln_status st = KILN_OK;

    image_symbols(l->image, &arena, &symbols, &count);
    for (size_t i = 0; i < count; i++) {
        char text[512];

        names_demangle(symbols[i], text, sizeof text);
        if (all.count < NAMES_MAX)
            names_add(&all, text, strlen(text));
        if (!strcmp(symbols[i], name) || names_match(name, text)) {
            if (fit.count < NAMES_MAX)
                names_add(&fit, symbols[i], strlen(symbols[i]));
            fits += !found || strcmp(found, symbols[i]) != 0;
            found = symbols[i];
        }
    }
    if (fit.count == 1) {
        *symbol = kiln_strdup(found);
        if (!*symbol)
            st = kiln_fail(err, KILN_E_MEMORY, "kernel: out of memory");
    } else if (fit.count > 1) {
        st = kiln_fail(err, KILN_E_NOT_FOUND,
                       "kernel \"%s\": %zu of that name in %s, among them %s "
                       "and %s; give the whole one",
                       name, fits, l->image->name, fit.items[0], fit.items[1]);
    } else {
        st = names_not_found(&all, name, l->image->name, err);
    }
    arena_fini(&arena);
    return st;
}

static enum kiln_status get_function(struct kiln_kernel *k, const char *name,
                                     struct kiln_error *err)
{
    struct kiln_library *l = k->library;
    const struct driver *d = &l->kiln->driver;
    const char *symbol = kiln_image_symbol(l->image, name);
    enum kiln_status st = KILN_OK;
    CUresult result;

    if (symbol) {
        k->symbol = kiln_strdup(symbol);
        if (!k->symbol)
            return kiln_fail(err, KILN_E_MEMORY, "kernel: out of memory");
    } else {
        st = search(l, name, &k->symbol, err);
    }
    if (st)
        return st;
    result = d->cuModuleGetFunction(&k->function, l->module, k->symbol);
    if (result == CUDA_ERROR_NOT_FOUND && symbol) {
        char *other = NULL;

        /* The name is something else than a kernel. */
        st = search(l, name, &other, err);
        kiln_release(other);
        if (st)
            return st;
    }
    return result ? driver_fail(d, result, err, "kernel %s", k->symbol)
                  : KILN_OK;
}

static void get_facts(struct kiln_kernel *k)
{
    const struct driver *d = &k->library->kiln->driver;
    const struct {
        CUfunction_attribute attribute;
        int *value;
    } wanted[] = {
        {CU_FUNC_ATTRIBUTE_NUM_REGS, &k->info.registers},
        {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &k->info.static_shared},
        {CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, &k->info.constant_bytes},
        {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &k->info.local_bytes},
        {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &k->info.max_threads},
    };

    k->info.registers = -1;
    k->info.max_threads = k->library->kiln->device.max_threads;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        int value = 0;

        if (!d->cuFuncGetAttribute(&value, wanted[i].attribute, k->function))
            *wanted[i].value = value;
    }
    if (d->kind == DRIVER_CPU)
        k->info.registers = -1;
}

enum kiln_status kiln_find_kernel(struct kiln_library *library,
                                  const char *name, struct kiln_kernel **out,
                                  struct kiln_error *err)
{
    struct kiln *kiln = library->kiln;
    struct driver_scope scope = {0};
    struct stage stage;
    struct kiln_kernel *k = kiln_zalloc(sizeof *k);
    enum kiln_status st;

    stage_begin(&stage, &kiln->timeline, "kernel");
    if (!k) {
        st = kiln_fail(err, KILN_E_MEMORY, "kernel: out of memory");
        goto out;
    }
    k->library = library;
    st = driver_scope_begin(&scope, &kiln->driver, kiln->context, err);
    if (!st)
        st = get_function(k, name, err);
    if (!st)
        st = parameters_read(kiln, library->image, k->function, k->symbol,
                             &k->parameters, &k->info.parameter_count, err);
    if (st)
        goto out;
    get_facts(k);
    required_block(library->image, k->symbol, k->required);
    names_demangle(k->symbol, k->name, sizeof k->name);
    k->info.size = sizeof k->info;
    k->info.symbol = k->symbol;
    k->shared_allowed =
        kiln->device.max_shared > k->info.static_shared
            ? (unsigned)(kiln->device.max_shared - k->info.static_shared)
            : 0;
    k->next = library->kernels;
    library->kernels = k;
    stage_text(&stage, "%s, %zu parameters", k->symbol,
               k->info.parameter_count);
    *out = k;
    k = NULL;
out:
    driver_scope_end(&scope);
    stage_end(&stage);
    if (k) {
        kiln_release(k->symbol);
        kiln_release(k->parameters);
        kiln_release(k);
    }
    return st;
}

enum kiln_status kiln_get_kernel(const struct kiln_kernel *kernel,
                                 struct kiln_kernel_info *info,
                                 struct kiln_error *err)
{
    struct kiln_kernel_info out = kernel->info;

    if (info->size < sizeof info->size)
        return kiln_fail(err, KILN_E_INVALID,
                         "kiln_kernel_info: size is not set");
    out.size = info->size;
    options_write(info, &out, sizeof out);
    return KILN_OK;
}

enum kiln_status kiln_get_parameter(const struct kiln_kernel *kernel,
                                    size_t index,
                                    struct kiln_parameter *parameter,
                                    struct kiln_error *err)
{
    if (index >= kernel->info.parameter_count)
        return kiln_fail(err, KILN_E_INVALID, "%s: parameter %zu of %zu",
                         kernel->symbol, index + 1,
                         kernel->info.parameter_count);
    *parameter = kernel->parameters[index];
    return KILN_OK;
}
