/* SPDX-License-Identifier: MIT
 *
 * Modules, functions, libraries, kernels. A module is an image in one
 * context, with variables of its own; a library is an image apart from any
 * context, which becomes a module in each context that uses it.
 */
#ifndef KILN_CPU_API_MODULE_H
#define KILN_CPU_API_MODULE_H

#include <stdatomic.h>

#include "cpu/api/context.h"
#include "cpu/api/image.h"

struct library;

/* What SetAttribute changes; functions of a library share their kernel's. */
struct settings {
    atomic_int dynamic_shared; /* -1: never set */
    atomic_int carveout;
    atomic_int cluster_policy;
    atomic_int any_cluster;
};

struct function {
    CUfunction handle;
    struct module *module;
    const struct object_kernel *kernel;
    struct settings *settings;
    struct settings own;
    atomic_int loaded;
};

struct module {
    CUmodule handle;
    struct context *context;
    struct library *library; /* NULL: loaded by cuModuleLoad... */
    struct image *image;
    struct allocation *data;    /* NULL: no variables */
    struct function *functions; /* one a kernel of the image */
    struct module *next;        /* of the context */
    struct module *next_of_library;
};

struct kernel {
    CUkernel handle;
    struct library *library;
    unsigned index;
    struct settings settings;
};

struct library {
    CUlibrary handle;
    struct image *image; /* NULL: the load failed */
    CUresult result;     /* what it failed with */
    struct kernel *kernels;
    pthread_mutex_t lock; /* guards modules */
    struct module *modules;
    struct library *next;
};

/* Takes its own reference of the image. */
CUresult module_new(struct context *context, struct image *image,
                    struct library *library, struct module **out);
void module_free(struct module *module);
/* Index of a kernel in an image, or -1. */
int image_kernel(const struct image *image, const char *name);
const struct object_variable *image_variable(const struct image *image,
                                             const char *name);
/* Address and size of a variable in a module, with the CUresult that
 * cuModuleGetGlobal gives. */
CUresult module_global(struct module *module, const char *name,
                       CUdeviceptr *address, size_t *size);
/* The library's module in a context, made at first use. */
CUresult library_module(struct library *library, struct context *context,
                        struct module **out);
/* The function that a launch or a query means, in the current context:
 * a CUfunction, or a CUkernel cast to one. */
CUresult function_find(CUfunction handle, struct context *context,
                       struct function **out);
/* Attribute of a kernel; settings may be NULL. */
CUresult kernel_attribute(const struct image *image,
                          const struct object_kernel *kernel,
                          const struct settings *settings,
                          CUfunction_attribute what, int *value);
CUresult kernel_set_attribute(const struct object_kernel *kernel,
                              struct settings *settings,
                              CUfunction_attribute what, int value);
unsigned kernel_registers(const struct object_kernel *kernel);
/* Most dynamic shared memory that a launch may ask for. */
unsigned kernel_dynamic_limit(const struct object_kernel *kernel,
                              const struct settings *settings);
/* Threads a block may have. */
unsigned kernel_max_threads(const struct object_kernel *kernel);
/* Blocks that share a multiprocessor; 0 where not even one fits (occupancy.c).
 */
unsigned kernel_occupancy(const struct function *f, unsigned threads,
                          size_t dynamic);

#endif
