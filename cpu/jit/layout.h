/* SPDX-License-Identifier: MIT
 *
 * Where a module's variables lie: globals and constants in the module's data
 * segment, static shared memory of each kernel, frames of local memory,
 * parameters; and the object's info section made of it.
 */
#ifndef KILN_CPU_JIT_LAYOUT_H
#define KILN_CPU_JIT_LAYOUT_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/status.h"
#include "cpu/jit/graph.h"
#include "cpu/object/object.h"
#include "cpu/ptx/ptx.h"

struct layout_place {
    const struct ptx_var *var;
    uint64_t offset;
};

/* What an H200 has: 1024 bytes, of which 288 are in use, by cooperative groups
 * of CUDA C++ for tiles of several warps. */
enum { LAYOUT_RESERVED = 1024, LAYOUT_RESERVED_USED = 288 };

struct layout_kernel {
    const struct ptx_func *func;
    uint32_t static_shared; /* bytes; where dynamic shared memory starts */
    uint32_t dynamic_align;
    uint32_t local_bytes;          /* a thread, a multiple of 16 */
    uint32_t flags;                /* OBJECT_KERNEL_* */
    uint64_t const_at, const_size; /* the module's constants in its data */
    /* Shared memory that a kernel finds by %reserved_smem_offset_*: zeros when
     * a block begins. Only where it names one of these. */
    uint32_t reserved, reserved_size;
    struct layout_place *places; /* shared and local variables in use */
    size_t place_count;
};

struct layout {
    struct arena *arena;
    const struct ptx_module *module;
    struct object_variable *variables;
    uint32_t variable_count;
    struct layout_place *globals;
    size_t global_count;
    uint64_t data_size;
    uint64_t const_at, const_size; /* where in it constants are */
    uint32_t data_align;
    uint8_t *data_init; /* data_size bytes, or NULL when all are zero */
    struct object_ref *refs;
    uint32_t ref_count;
};

/* Lay out the module-scope .global and .const variables. */
enum kiln_status layout_module(struct layout *l, struct kiln_error *err);
/* Lay out one kernel: the shared variables it names, its locals. */
enum kiln_status layout_kernel(struct layout *l, const struct ptx_func *func,
                               struct layout_kernel *out,
                               struct kiln_error *err);
/* Offset of a variable in its space; UINT64_MAX when it has none. */
uint64_t layout_offset(const struct layout_kernel *k,
                       const struct ptx_var *var);

#endif
