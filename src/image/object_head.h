/* SPDX-License-Identifier: MIT
 *
 * The CPU driver's own object (docs/format-object.md), as far as a listing
 * tells of it. Only the driver loads one, and checks all of it before.
 */
#ifndef KILN_IMAGE_OBJECT_HEAD_H
#define KILN_IMAGE_OBJECT_HEAD_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

/* The section that makes an ELF object one of these. */
#define OBJECT_HEAD_SECTION ".kiln.info"

struct object_head_param {
    uint32_t offset;
    uint32_t size;
    int pointer;
};

/* Strings borrow from the bytes. */
struct object_head_kernel {
    const char *name;
    const struct object_head_param *params;
    uint32_t param_count;
    uint32_t param_bytes;
    uint32_t static_shared;
    uint32_t local_bytes;
    uint32_t max_threads;
};

struct object_head_variable {
    const char *name;
    uint64_t size;
    int constant;
};

struct object_head {
    uint32_t version;
    uint32_t abi;
    uint32_t ptx_version; /* 90 is 9.0 */
    uint32_t target;      /* capability that it was compiled for, 121 */
    const char *build;
    const char *codegen;
    const char *cpu;
    const char *features;
    const struct object_head_kernel *kernels;
    uint32_t kernel_count;
    const struct object_head_variable *variables;
    uint32_t variable_count;
};

/* E_NOT_FOUND where the ELF file has no such section, E_FORMAT where it is
 * damaged or of another version. Arrays are the arena's. */
enum kiln_status object_head_read(const void *bytes, size_t size,
                                  struct arena *arena, struct object_head *out,
                                  struct kiln_error *err);

#endif
