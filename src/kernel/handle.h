/* SPDX-License-Identifier: MIT
 *
 * What stands behind the handles of include/kiln/kiln.h. This folder ties
 * driver, compiler, cache and images together; nothing but src/tool stands
 * above it.
 */
#ifndef KILN_KERNEL_HANDLE_H
#define KILN_KERNEL_HANDLE_H

#include "base/arena.h"
#include "base/buffer.h"
#include "cache/cache.h"
#include "compile/compile.h"
#include "driver/driver.h"
#include "kernel/timeline.h"
#include "kiln/kiln.h"

struct kiln {
    struct driver driver;
    struct driver_device device;
    CUcontext context;
    struct cache *cache; /* NULL: off */
    struct timeline timeline;
    struct buffer log;  /* of the last stage that had one */
    char launched[128]; /* the kernel launched last, for messages */
};

struct kiln_image {
    enum kiln_image_kind kind;
    char *name;           /* of the source, for messages */
    unsigned char *bytes; /* one NUL past size */
    size_t size;
    char *log;
    char *target;
    char *compiler;
    char **names; /* wanted names and the symbols they became */
    char **symbols;
    size_t name_count;
};

struct kiln_kernel {
    struct kiln_kernel *next; /* of the same library */
    struct kiln_library *library;
    CUfunction function;
    char *symbol;
    char name[128]; /* as C++ writes it, for messages */
    struct kiln_kernel_info info;
    struct kiln_parameter *parameters;
    unsigned required[3];    /* threads a block; 0: any */
    unsigned shared_allowed; /* dynamic bytes that need no opting in */
};

struct kiln_library {
    struct kiln *kiln;
    struct kiln_image *image; /* a copy of its own */
    CUmodule module;
    struct kiln_kernel *kernels;
};

struct kiln_buffer {
    struct kiln *kiln;
    CUdeviceptr address;
    uint64_t size;
};

struct kiln_image *image_copy(const struct kiln_image *image);

/* An option struct of the caller's size, read into one of ours. */
#define OPTIONS_READ(to, from)                                                 \
    options_read(&(to), sizeof(to), (from), (from) ? (from)->size : 0)
void options_read(void *to, size_t size, const void *from, size_t from_size);
/* The other way: no more than the caller has room for; size stays. */
void options_write(void *to, const void *from, size_t size);

#endif
